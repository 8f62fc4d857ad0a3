# WINDOWS where neighbouring tuples have neighbouring destinations, as sorted indices have: a window needs few tuples.
#
#     find_bounds   each thread resolves a chunk of the tuples, and stores the first and last window of each block
#     list_blocks   lists each window's blocks, in order
#
# For a new result guess_bounds replaces find_bounds: it supposes that the tuples are sorted, and looks at the first one
# of each block. The windows count the updates that they apply; if these are not all, they begin anew, without a guess.
#
# A task (wide.pxd) then resolves the blocks of its window only, and the window's table fits L2.
from cpython.mem cimport (  # so that tracemalloc sees it
    PyMem_RawCalloc as calloc, PyMem_RawFree as free, PyMem_RawMalloc as malloc,
)
from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint64_t

from common.codes cimport OK, SKIP
from common.resolve cimport BLOCK, SKIPPED, resolve_block
from common.threads cimport MAX_TASKS, chunk_start, first_error
from common.walk cimport Cursor, seek
from scatter.bounds cimport bounds_of
from scatter.job cimport SCRATCH_BYTES, Job
from scatter.wide cimport MISSED, run_windows
from scatter.windows cimport Wide, adds_in_windows, cut_windows

cdef enum:
    LOCAL_BYTES = 1 << 18       # of a window: L2 holds it
    MIN_LOCAL_BYTES = 1 << 20   # of all windows
    MIN_LOCAL_TUPLES = 1 << 16
    BLOCK_TUPLES = 1 << 10      # of a listed block; more if there are more than MAX_BLOCKS
    MAX_BLOCKS = 1 << 18
    SAMPLE = 256                # pairs of tuples
    FEW = 32                    # of these, after which the sampling may end


cdef inline bint is_local(const Wide* wide) noexcept nogil:
    """Whether neighbouring tuples of a sample have neighbouring destinations."""
    cdef int64_t pair[2]
    cdef Cursor cursor
    cdef Py_ssize_t i, n, n_neighbours = 0
    for i in range(SAMPLE):
        seek(&wide.walk, <Py_ssize_t>(<double>(wide.walk.n - 2) / SAMPLE * i), &cursor)
        resolve_block(&wide.tuples, &wide.walk, &cursor, 2, False, pair, &n)
        if n == 2 and pair[0] != SKIPPED and pair[1] != SKIPPED:
            n_neighbours += -LOCAL_BYTES // 4 < pair[1] - pair[0] < LOCAL_BYTES // 4
        if i == FEW and 2 * n_neighbours < FEW:
            return False
    return 4 * n_neighbours > 3 * SAMPLE


cdef inline void find_bounds(const Wide* wide, Py_ssize_t chunk, Py_ssize_t n_chunks,
                             Py_ssize_t* status) noexcept nogil:
    cdef Cursor cursor
    cdef Py_ssize_t window_bytes = wide.window_rows * wide.pitch
    cdef Py_ssize_t block = chunk_start(wide.n_blocks, n_chunks, chunk)
    cdef Py_ssize_t last_block = chunk_start(wide.n_blocks, n_chunks, chunk + 1)
    cdef uint64_t low
    cdef int64_t high
    status[0] = OK
    seek(&wide.walk, block * wide.block_tuples, &cursor)
    while block < last_block:
        status[0] = bounds_of(&wide.tuples, &wide.walk, wide.job.interrupts, &cursor, block * wide.block_tuples,
                              min((block + 1) * wide.block_tuples, wide.walk.n), &low, &high)
        if status[0] != OK:
            return
        wide.first_window[block] = <int32_t>(<int64_t>low // window_bytes) if high >= 0 else 0
        wide.last_window[block] = <int32_t>(high // window_bytes) if high >= 0 else -1
        block += 1


cdef inline bint guess_bounds(Wide* wide) noexcept nogil:
    """False: an index is out of bounds."""
    cdef Cursor cursor
    cdef Py_ssize_t block, n
    cdef int64_t offset
    cdef int32_t window, before = 0
    for block in range(wide.n_blocks + 1):
        seek(&wide.walk, min(block * wide.block_tuples, wide.walk.n - 1), &cursor)
        resolve_block(&wide.tuples, &wide.walk, &cursor, 1, False, &offset, &n)
        if n != 1:
            return False
        window = <int32_t>(offset // (wide.window_rows * wide.pitch))
        if block:
            wide.first_window[block - 1] = min(before, window)
            wide.last_window[block - 1] = max(before, window)
        before = window
    return True


cdef inline bint list_blocks(Wide* wide) noexcept nogil:
    """False: windows need many blocks, or there is no memory."""
    cdef Py_ssize_t block, window, n = 0
    for block in range(wide.n_blocks):
        n += wide.last_window[block] - wide.first_window[block] + 1
    if n > 2 * wide.n_blocks + wide.n_windows:
        return False
    wide.last_block = <Py_ssize_t*>calloc(wide.n_windows + 1, sizeof(Py_ssize_t))
    wide.blocks = <int32_t*>malloc(max(n, <Py_ssize_t>1) * sizeof(int32_t))
    if wide.last_block == NULL or wide.blocks == NULL:
        return False
    for block in range(wide.n_blocks):
        for window in range(wide.first_window[block], wide.last_window[block] + 1):
            wide.last_block[window + 1] += 1
    for window in range(wide.n_windows):
        wide.last_block[window + 1] += wide.last_block[window]
    for block in range(wide.n_blocks):
        for window in range(wide.first_window[block], wide.last_window[block] + 1):
            wide.blocks[wide.last_block[window]] = <int32_t>block
            wide.last_block[window] += 1
    return True


cdef inline void free_blocks(Wide* wide) noexcept nogil:
    free(wide.first_window)
    free(wide.last_block)
    free(wide.blocks)


cdef inline bint cut_locally(Wide* wide, const Job* job, bint guesses, Py_ssize_t* status) noexcept:
    """Cut the result into windows that list their blocks of tuples. False: that is slower.

    guesses: suppose that the tuples are sorted. status: of resolving all tuples. The caller calls free_blocks.
    """
    cdef Py_ssize_t found[MAX_TASKS]
    cdef Py_ssize_t chunk, n_chunks = job.n_threads
    cdef Py_ssize_t most = min(<Py_ssize_t>LOCAL_BYTES, SCRATCH_BYTES // n_chunks)  # bytes of a window: one per thread
    # One thread gains if otherwise there would be several tables.
    if (wide.n_pieces != 1 or wide.pitch > most or wide.walk.n < MIN_LOCAL_TUPLES
            or wide.n_rows * wide.pitch < MIN_LOCAL_BYTES
            or (job.n_threads == 1 and wide.n_rows * wide.pitch <= SCRATCH_BYTES) or not is_local(wide)):
        return False
    cut_windows(wide, min(most // wide.pitch, (wide.n_rows + 4 * n_chunks - 1) // (4 * n_chunks)))
    wide.n_threads = job.n_threads
    wide.block_tuples = max(<Py_ssize_t>BLOCK_TUPLES, wide.walk.n // MAX_BLOCKS // BLOCK * BLOCK + BLOCK)
    wide.n_blocks = (wide.walk.n + wide.block_tuples - 1) // wide.block_tuples
    wide.first_window = <int32_t*>malloc(2 * wide.n_blocks * sizeof(int32_t))
    if wide.first_window == NULL or wide.n_windows > 1 << 30:
        return False
    wide.last_window = wide.first_window + wide.n_blocks
    # With data as it was, the call can begin anew. Skipped tuples would not be counted.
    wide.is_guess = (guesses and job.data != NULL and not job.checks_first and wide.tuples.mode != SKIP
                     and adds_in_windows(wide))
    if wide.is_guess:
        return guess_bounds(wide) and list_blocks(wide)
    if n_chunks == 1:
        with nogil:
            find_bounds(wide, 0, 1, &found[0])
    else:
        for chunk in prange(n_chunks, num_threads=n_chunks, schedule="static", nogil=True):
            find_bounds(wide, chunk, n_chunks, &found[chunk])
    status[0] = first_error(found, n_chunks)
    return status[0] != OK or list_blocks(wide)


cdef inline bint run_locally(const Wide* wide, Job* job, Py_ssize_t* status) noexcept:
    """Run windows that list their blocks of tuples. False: that is slower, and nothing was written."""
    cdef Wide cut
    cdef bint done = False, guesses
    for guesses in range(1, -1, -1):
        cut = wide[0]
        status[0] = OK
        done = cut_locally(&cut, job, guesses, status)
        if done and status[0] == OK:
            status[0] = run_windows(&cut, job)
        free_blocks(&cut)
        if status[0] != MISSED:
            return done
    return done
