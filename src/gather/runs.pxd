# Runs: simple tuples that select short items, into a contiguous result: resolve and move in one loop.
from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint64_t, uintptr_t

from common.arrays cimport Arrays, array_stride
from common.codes cimport RAISE
from common.copies cimport copy_items
from common.interrupts cimport CLOCK_WORK, is_interrupted
from common.items cimport CACHE_LINE, MAX_ELEMENT_BYTES, at_line, fits_register, inline_void, prefetch_row_l2
from common.resolve cimport (
    MIN_STREAM, Run, Tuples, are_simple, simple_index_t, prefetch_tuples, resolve_loop, resolve_strided, start_run,
)
from common.stream cimport stream_contiguous, stream_fence
from common.threads cimport n_tasks_for
from common.walk cimport DATA, INDICES, OTHER, Cursor, advance, seek
from gather.direct cimport prefetch_block
from gather.far_items cimport are_far, move_far_items, row_extent, select_from_rows
from gather.job cimport Job

cdef enum:
    RUN_BLOCK = 64  # elements, resolved and prefetched while the previous ones are moved

cdef struct Runs:
    const Job* job
    Py_ssize_t tuples_per_task


cdef inline inline_void move_run(simple_index_t* type, int k, int index_step, const Job* job, const Tuples* tuples,
                                 const char* p, int64_t start, int64_t start_step, Py_ssize_t n, char* out,
                                 int64_t* out_of_bounds) noexcept nogil:
    """k, index_step: as in resolve_loop."""
    cdef const char* data = job.data
    cdef int64_t buffers[2][RUN_BLOCK]
    cdef int64_t* offsets = buffers[0]
    cdef int64_t* next_offsets = buffers[1]
    cdef int64_t* swap
    cdef Py_ssize_t step = index_step * <Py_ssize_t>sizeof(simple_index_t), width = job.row.item_bytes
    cdef Py_ssize_t n_offsets = 0, n_next, resolved = 0
    cdef uint64_t outside = 0
    cdef char scratch_memory[RUN_BLOCK * MAX_ELEMENT_BYTES + CACHE_LINE]
    cdef char* scratch = at_line(scratch_memory)
    cdef bint streams = job.streams and <uintptr_t>out % <size_t>width == 0
    # The first block ends at a cache line of out, so that the others are whole ones.
    cdef Py_ssize_t length = (-<uintptr_t>out & (CACHE_LINE - 1)) // <size_t>width if streams else 0
    if length == 0:
        length = RUN_BLOCK
    while True:
        n_next = min(length, n - resolved)
        length = RUN_BLOCK
        if n_next == RUN_BLOCK:
            resolve_loop(type, k, index_step, True, False, tuples, p, start, start_step, RUN_BLOCK, next_offsets,
                          out_of_bounds)
            if out_of_bounds[0] < 0:
                return
        elif n_next:
            resolve_strided(tuples, p, step, start, start_step, n_next, next_offsets, &outside)
            if outside:
                out_of_bounds[0] = -1
                return
        if job.tuples.prefetches and not job.prefetches:
            prefetch_tuples(tuples, p, step, n_next)
        if job.prefetches:
            prefetch_block(data, next_offsets, n_next, width)
        p += n_next * step
        start += n_next * start_step
        resolved += n_next
        if n_offsets == RUN_BLOCK and streams:
            copy_items(width, data, offsets, RUN_BLOCK, scratch, width)
            stream_contiguous(out, scratch, RUN_BLOCK * width)
        else:
            copy_items(width, data, offsets, n_offsets, out, width)
        out += n_offsets * width
        if n_next == 0:
            return
        swap = offsets
        offsets = next_offsets
        next_offsets = swap
        n_offsets = n_next


cdef inline inline_void move_any_run(simple_index_t* type, const Job* job, const Tuples* tuples, const char* p,
                                     Py_ssize_t step, int64_t start, int64_t start_step, Py_ssize_t n, char* out,
                                     int64_t* out_of_bounds) noexcept nogil:
    if tuples.k == 1:
        move_run(type, 1, 1, job, tuples, p, start, start_step, n, out, out_of_bounds)
    elif step == 2 * sizeof(simple_index_t):
        move_run(type, 2, 2, job, tuples, p, start, start_step, n, out, out_of_bounds)
    else:
        move_run(type, 2, 1, job, tuples, p, start, start_step, n, out, out_of_bounds)


cdef inline void move_simple_run(const Job* job, const Tuples* tuples, const char* p, Py_ssize_t step, int64_t start,
                                 int64_t start_step, Py_ssize_t n, char* out, const char* next_row, bint* try_far,
                                 int64_t* out_of_bounds) noexcept nogil:
    """out_of_bounds also becomes negative if no loop can move the rest: direct can. next_row: as in move_far_items.

    try_far: whether to try move_far_items; becomes False where it stops.
    """
    cdef Py_ssize_t moved = 0
    cdef bint in_loop = tuples.shifts and fits_register(job.row.item_bytes)
    if try_far[0] and (n >= MIN_STREAM or next_row != NULL or not in_loop) and are_far(job, tuples, start_step):
        moved = move_far_items(job, tuples, p, step, start, n, out, next_row)
        if moved == n:
            return
        try_far[0] = False
    p += moved * step
    start += moved * start_step
    out += moved * job.row.item_bytes
    if not in_loop:
        out_of_bounds[0] = -1
    elif tuples.width == 8:
        move_any_run(<int64_t*>NULL, job, tuples, p, step, start, start_step, n - moved, out, out_of_bounds)
    else:
        move_any_run(<int32_t*>NULL, job, tuples, p, step, start, start_step, n - moved, out, out_of_bounds)


cdef inline bint can_move(const Tuples* tuples, const char* p, Py_ssize_t step, bint far) noexcept nogil:
    """Whether move_run can move the items at tuples; with far: whether move_far_items can."""
    return are_simple(tuples, p, step) and (far or tuples.shifts)


cdef inline bint has_simple_runs(const Job* job, bint far) noexcept nogil:
    """Whether can_move is true of the tuples of every run. Parts of a run are as aligned as its start."""
    cdef const Arrays* arrays = job.tuples.arrays
    cdef int inner = job.walk.n_dims - 1
    cdef int d, i
    cdef Cursor cursor
    cdef Run run
    cdef uint64_t outside = 0
    if arrays == NULL:
        if not can_move(&job.tuples, job.tuples.base, job.walk.stride[inner][INDICES], far):
            return False
        for d in range(inner):
            if job.walk.stride[d][INDICES] % job.tuples.width != 0:
                return False
        return True
    if job.tuples.mode != RAISE:
        return False
    seek(&job.walk, 0, &cursor)
    start_run(&job.tuples, &job.walk, &cursor, &run, &outside)
    if outside or run.along.k == 0 or run.along.k != run.n_varying or not can_move(&run.along, run.p, run.step, far):
        return False
    if far and not are_far(job, &run.along, job.walk.stride[inner][DATA]):
        return False
    for d in range(arrays.first, inner):
        for i in range(run.n_varying):
            if array_stride(arrays, d, run.varying[i]) % run.along.width != 0:
                return False
        # Pairs that are side by side in one run are so in every run only if both arrays advance alike.
        if (run.step != run.along.width
                and array_stride(arrays, d, run.varying[0]) != array_stride(arrays, d, run.varying[1])):
            return False
    return True


cdef inline bint has_runs(const Job* job, bint forced) noexcept nogil:
    """Whether runs are faster than direct; with forced: whether they can run the job."""
    cdef int inner = job.walk.n_dims - 1
    if not forced and job.walk.shape[inner] < RUN_BLOCK:
        return False
    if (job.row.outer.n != 1 or job.row.n_inner != 1 or job.row.item_bytes == 0
            or job.walk.stride[inner][OTHER] != job.row.item_bytes):
        return False
    if fits_register(job.row.item_bytes) and has_simple_runs(job, False):
        return True
    return (job.walk.shape[inner] >= MIN_STREAM
            and (job.tuples.arrays != NULL or are_far(job, &job.tuples, job.walk.stride[inner][DATA]))
            and has_simple_runs(job, True))


cdef inline void move_arrays_run(const Job* job, const Cursor* cursor, Py_ssize_t n, bint* try_far,
                                 int64_t* out_of_bounds) noexcept nogil:
    cdef Run run
    cdef uint64_t outside = 0
    start_run(&job.tuples, &job.walk, cursor, &run, &outside)
    if outside:
        out_of_bounds[0] = -1
        return
    move_simple_run(job, &run.along, run.p, run.step, run.start, job.walk.stride[job.walk.n_dims - 1][DATA], n,
                    job.out + cursor.offset[OTHER], NULL, try_far, out_of_bounds)


cdef inline Py_ssize_t run_runs_task(const Runs* runs, Py_ssize_t task) noexcept nogil:
    """1 if an index is out of bounds or the kernel was interrupted, else 0."""
    cdef const Job* job = runs.job
    cdef Cursor cursor
    cdef Py_ssize_t start = task * runs.tuples_per_task
    cdef Py_ssize_t stop = min(start + runs.tuples_per_task, job.walk.n)
    cdef Py_ssize_t n, most = max(<Py_ssize_t>CLOCK_WORK // job.tuple_work, <Py_ssize_t>RUN_BLOCK)
    cdef int inner = job.walk.n_dims - 1
    cdef int64_t out_of_bounds = 0
    cdef bint from_rows = select_from_rows(job), try_far = True
    cdef const char* next_row = NULL
    seek(&job.walk, start, &cursor)
    if from_rows:
        prefetch_row_l2(job.data + cursor.offset[DATA], row_extent(&job.tuples))
    while start < stop:
        n = min(min(job.walk.shape[inner] - cursor.coordinate[inner], stop - start), most)
        if from_rows:  # at the end of an axis, this row once more
            next_row = job.data + cursor.offset[DATA]
            if cursor.coordinate[inner - 1] + 1 < job.walk.shape[inner - 1]:
                next_row += job.walk.stride[inner - 1][DATA]
        if job.tuples.arrays != NULL:
            move_arrays_run(job, &cursor, n, &try_far, &out_of_bounds)
        else:
            move_simple_run(job, &job.tuples, job.tuples.base + cursor.offset[INDICES],
                            job.walk.stride[inner][INDICES], cursor.offset[DATA], job.walk.stride[inner][DATA], n,
                            job.out + cursor.offset[OTHER], next_row, &try_far, &out_of_bounds)
        if out_of_bounds < 0 or is_interrupted(job.interrupts, n * job.tuple_work):
            return 1
        advance(&job.walk, n, &cursor)
        start += n
    if job.streams:
        stream_fence()
    return 0


cdef inline bint run_runs(const Job* job) noexcept:
    """False: an index is out of bounds (direct finds it), or the kernel was interrupted."""
    cdef Runs runs
    cdef Py_ssize_t n_tasks, task, n_bad = 0
    cdef int n_threads = job.n_threads
    runs.job = job
    runs.tuples_per_task = job.walk.n
    if n_threads == 1:
        with nogil:
            n_bad = run_runs_task(&runs, 0)
        return n_bad == 0
    n_tasks = n_tasks_for(n_threads)
    runs.tuples_per_task = (job.walk.n + n_tasks - 1) // n_tasks
    if runs.tuples_per_task > RUN_BLOCK:  # whole blocks
        runs.tuples_per_task = (runs.tuples_per_task + RUN_BLOCK - 1) // RUN_BLOCK * RUN_BLOCK
    n_tasks = (job.walk.n + runs.tuples_per_task - 1) // runs.tuples_per_task
    n_threads = <int>min(<Py_ssize_t>n_threads, n_tasks)
    for task in prange(n_tasks, num_threads=n_threads, schedule="dynamic", chunksize=1, nogil=True):
        n_bad += run_runs_task(&runs, task)
    return n_bad == 0
