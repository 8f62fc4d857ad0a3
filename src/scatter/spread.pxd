# Updates that are spread out are copied to contiguous memory before a scatter: those in short runs, and scalars.
#
# A piece is contiguous memory, a run the pieces along the innermost axis, one stride apart. Kernels step through
# updates run by run. If the normal of a triangle is added to three corners, a run has three pieces.
from cython.parallel cimport prange
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy
cimport numpy as cnp

from common.items cimport bytes12, bytes16, bytes24, bytes32, inline_void, item_t
from common.scratch cimport SCRATCH_BYTES, allocate_scratch
from common.calls cimport PyDataType_REFCHK
from common.threads cimport chunk_start, team_size
from common.walk cimport OTHER, Cursor, Walk, add_axis, advance, finish_walk, is_linear, seek, start_walk

cdef enum:
    MIN_SCALARS = 1 << 12       # elements that are one scalar: a row of fewer takes longer to make
    SHORT_RUN = 64              # positions: loops that go from run to run take longer than to copy shorter ones
    MIN_SPREAD = 1 << 10        # positions: fewer are not worth a copy
    MAX_PIECE = 1 << 8          # bytes: longer pieces are read as fast where they are


cdef inline Py_ssize_t describe_spread(Walk* walk, cnp.ndarray updates) noexcept:
    """Describe a walk over the contiguous pieces of updates, and return the bytes of one."""
    cdef Py_ssize_t piece = cnp.PyArray_ITEMSIZE(updates)
    cdef int d, last = cnp.PyArray_NDIM(updates) - 1
    while last >= 0 and (cnp.PyArray_STRIDE(updates, last) == piece or cnp.PyArray_DIM(updates, last) == 1):
        piece *= cnp.PyArray_DIM(updates, last)
        last -= 1
    start_walk(walk)
    for d in range(last + 1):
        add_axis(walk, cnp.PyArray_DIM(updates, d), 0, 0, cnp.PyArray_STRIDE(updates, d))
    finish_walk(walk)
    return piece


cdef inline inline_void copy_runs_of(item_t* type, char* to, const char* source, Py_ssize_t run_step, Py_ssize_t n_runs,
                                     Py_ssize_t step, Py_ssize_t n, Py_ssize_t piece) noexcept nogil:
    """type: of pieces of a constant size; single bytes: of `piece` bytes."""
    cdef Py_ssize_t size = piece if item_t is uint8_t else <Py_ssize_t>sizeof(item_t)
    cdef Py_ssize_t _run, i
    for _run in range(n_runs):
        for i in range(n):
            memcpy(to + i * size, source + i * step, size)
        to += n * size
        source += run_step


cdef inline void copy_runs(char* to, const char* source, Py_ssize_t run_step, Py_ssize_t n_runs, Py_ssize_t step,
                           Py_ssize_t n, Py_ssize_t piece) noexcept nogil:
    """Copy runs of n pieces."""
    if piece == 4:
        copy_runs_of(<uint32_t*>NULL, to, source, run_step, n_runs, step, n, piece)
    elif piece == 8:
        copy_runs_of(<uint64_t*>NULL, to, source, run_step, n_runs, step, n, piece)
    elif piece == 12:
        copy_runs_of(<bytes12*>NULL, to, source, run_step, n_runs, step, n, piece)
    elif piece == 16:
        copy_runs_of(<bytes16*>NULL, to, source, run_step, n_runs, step, n, piece)
    elif piece == 24:
        copy_runs_of(<bytes24*>NULL, to, source, run_step, n_runs, step, n, piece)
    elif piece == 32:
        copy_runs_of(<bytes32*>NULL, to, source, run_step, n_runs, step, n, piece)
    elif piece == 2:
        copy_runs_of(<uint16_t*>NULL, to, source, run_step, n_runs, step, n, piece)
    else:
        copy_runs_of(<uint8_t*>NULL, to, source, run_step, n_runs, step, n, piece)


cdef inline void copy_chunk(const Walk* runs, char* to, const char* updates, Py_ssize_t step, Py_ssize_t n,
                            Py_ssize_t piece, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    """Copy the runs start to stop."""
    cdef Cursor cursor
    cdef int inner = runs.n_dims - 1
    cdef Py_ssize_t n_runs
    seek(runs, start, &cursor)
    while start < stop:
        n_runs = min(runs.shape[inner] - cursor.coordinate[inner], stop - start)
        copy_runs(to + start * n * piece, updates + cursor.offset[OTHER], runs.stride[inner][OTHER], n_runs, step, n,
                  piece)
        advance(runs, n_runs, &cursor)
        start += n_runs


cdef inline bint is_spread_out(cnp.ndarray updates) noexcept:
    """Whether updates are many short pieces in short runs."""
    cdef Walk walk
    cdef Py_ssize_t piece
    if (cnp.PyArray_IS_C_CONTIGUOUS(updates) or cnp.PyArray_NBYTES(updates) > SCRATCH_BYTES
            or PyDataType_REFCHK(updates.descr)):
        return False
    piece = describe_spread(&walk, updates)
    return (walk.n >= MIN_SPREAD and walk.shape[walk.n_dims - 1] < SHORT_RUN and piece < MAX_PIECE
            and not is_linear(&walk, OTHER))


cdef inline cnp.ndarray contiguous_copy(cnp.ndarray updates, int max_threads):
    """A copy of updates that are spread out; None: there is no memory."""
    cdef Walk walk
    cdef Py_ssize_t piece = describe_spread(&walk, updates), step, n, n_runs, chunk
    cdef cnp.ndarray result
    cdef char* to
    cdef const char* source
    cdef int n_threads
    n = walk.shape[walk.n_dims - 1]
    step = walk.stride[walk.n_dims - 1][OTHER]
    try:
        from gatherscatter._kernels.common import empty
        result = empty((<object>updates).shape, (<object>updates).dtype)
    except (MemoryError, RuntimeError):  # the latter: the import system has no memory for a lock
        return None
    n_runs = walk.n // n
    walk.n_dims -= 1  # from here on, over the runs
    to = cnp.PyArray_BYTES(result)
    source = cnp.PyArray_BYTES(updates)
    n_threads = team_size(max_threads, <double>cnp.PyArray_NBYTES(updates) / 8)
    if n_threads == 1:
        with nogil:
            copy_chunk(&walk, to, source, step, n, piece, 0, n_runs)
    else:
        for chunk in prange(n_threads, num_threads=n_threads, schedule="static", nogil=True):
            copy_chunk(&walk, to, source, step, n, piece, chunk_start(n_runs, n_threads, chunk),
                       chunk_start(n_runs, n_threads, chunk + 1))
    return result


cdef inline cnp.ndarray row_of_scalar(cnp.ndarray updates, int row_axis):
    """The updates; if they are one scalar, as a contiguous row, which repeats along the axes before row_axis."""
    cdef object array = updates, row
    cdef Py_ssize_t row_bytes = cnp.PyArray_ITEMSIZE(updates)
    cdef cnp.ndarray memory
    cdef int d
    if (cnp.PyArray_SIZE(updates) < MIN_SCALARS or row_axis == cnp.PyArray_NDIM(updates)
            or PyDataType_REFCHK(updates.descr)):
        return updates
    for d in range(cnp.PyArray_NDIM(updates)):
        if cnp.PyArray_STRIDE(updates, d) != 0 and cnp.PyArray_DIM(updates, d) > 1:
            return updates
        row_bytes *= cnp.PyArray_DIM(updates, d) if d >= row_axis else 1
    if row_bytes > SCRATCH_BYTES:
        return updates
    memory = allocate_scratch(row_bytes)
    if memory is None:
        return updates
    try:  # in C alone: a function in Python may run a signal's handler
        row = (<object>cnp.ndarray)(array.shape[row_axis:], array.dtype, memory)
        row[...] = array[(0,) * row_axis]
        return (<object>cnp.ndarray)(array.shape, array.dtype, memory, 0, (0,) * row_axis + row.strides)
    except MemoryError:
        return updates
