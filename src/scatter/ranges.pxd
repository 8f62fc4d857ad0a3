# RANGES: each thread resolves all tuples, selects those of its own range of rows, and applies their updates, in order.
#
#     block of tuples ── resolve ──> offsets ── select ──> queue of the range ── apply ──> rows of the range
#
# For rows that are longer than their indices, so that the threads together read little more than one would.
from cython.parallel cimport prange
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memmove, memset

from common.caches cimport cached_bytes, cores_add_bandwidth
from common.codes cimport INTERRUPTED, OK
from common.interrupts cimport is_interrupted
from common.items cimport CACHE_LINE
from common.resolve cimport BLOCK, SKIPPED, resolve_block
from common.threads cimport MAX_TASKS, first_error
from common.walk cimport OTHER, Cursor, seek
from scatter.accumulate cimport accumulates_rows, elements_of_data, finish_elements, start_elements
from scatter.apply cimport apply_rows
from scatter.bounds cimport BUCKETS, cut_at_counts
from scatter.divide cimport divide_steps
from scatter.job cimport (
    SHORT_ROW, Job, begin_writing, copy_bytes, prefetches_ahead, reduce_ahead, reduces_adjacent, updates_ahead,
)
from scatter.loops.select_range cimport SELECT_SLACK, select_range
from scatter.marks cimport Marks, allocate_marks, free_marks, mark_block

cdef enum:
    MIN_SAMPLE = 32             # groups of tuples
    MAX_SAMPLE = 256
    SAMPLED = 1 << 12           # tuples for which there is a group
    GROUP = 16                  # tuples
    QUEUE = 1024                # updates
    LONG_ROWS_THREADS = 4       # each resolves all tuples
    MIN_LONG_BYTES = 1 << 23    # of updates
    MIN_LONG_OUT = 1 << 20      # bytes of a result of rows that are shorter than a cache line
    LONGEST_ROW = 512           # bytes, exclusive; half as many in a result beyond LARGE_OUT. ROWS is as fast then
    LARGE_OUT = 1 << 22         # bytes
    # Bytes, of gather_scatter. ROWS reads the rows of a source in any order: fast if they are in the caches.
    LONGEST_OF_CACHED = 64
    LONGEST_OF_SOURCE = 128
    ROWS_PER_UPDATE = 2         # at most

cdef struct Ranges:
    const Job* job
    Py_ssize_t first[MAX_TASKS + 1]  # row of each range
    Marks marks
    bint accumulates

cdef struct Queue:
    Py_ssize_t n
    Py_ssize_t ahead            # updates that are kept until later ones are there to be prefetched
    int64_t offsets[QUEUE + SELECT_SLACK]
    int64_t updates[QUEUE + SELECT_SLACK]  # offsets of them


cdef inline bint are_long_rows(const Job* job) noexcept nogil:
    """Whether rows are so long that each thread saves more by reading only its own updates than all tuples cost."""
    cdef Py_ssize_t shortest = CACHE_LINE if job.out_bytes < MIN_LONG_OUT else SHORT_ROW
    cdef Py_ssize_t longest = LONGEST_ROW if job.out_bytes <= LARGE_OUT else LONGEST_ROW // 2
    if not cores_add_bandwidth() or not 1 < job.n_threads <= LONG_ROWS_THREADS:
        return False
    if not shortest <= job.row_bytes < longest or job.walk.n * job.row_bytes < MIN_LONG_BYTES:
        return False
    # ROWS writes each row once, and so it reads less where it reads updates in any order.
    if job.data != NULL and ROWS_PER_UPDATE * job.walk.n < job.n_rows:
        return False
    if job.update_rows != NULL and job.row_bytes > (
            LONGEST_OF_CACHED if job.updates_bytes <= cached_bytes() else LONGEST_OF_SOURCE):
        return False
    return job.updates_are_linear and reduces_adjacent(
        job, &job.step, job.walk.stride[job.walk.n_dims - 1][OTHER] if job.update_rows == NULL else job.row_bytes)


cdef inline bint can_pass(const Job* job) noexcept nogil:
    """Whether updates can be rows of a source (job.update_rows)."""
    return job.step.row_loop and job.step.row.n_inner * job.step.row.item_bytes == job.row_bytes


cdef inline bint describe_ranges(Ranges* ranges, const Job* job, bint forced) noexcept nogil:
    """Describe the job for RANGES. False: it would be slower; with forced: it is impossible."""
    cdef int64_t offsets[GROUP]
    cdef Py_ssize_t count[BUCKETS]
    cdef Cursor cursor
    cdef Py_ssize_t i, j, n, most, n_seen = 0
    cdef Py_ssize_t sample = min(max(job.walk.n // SAMPLED, <Py_ssize_t>MIN_SAMPLE), <Py_ssize_t>MAX_SAMPLE)
    ranges.job = job
    if not job.is_contiguous or job.row_bytes <= 0 or job.step.by_value:
        return False
    if not forced and not are_long_rows(job):
        return False
    memset(count, 0, sizeof(count))
    for i in range(sample if job.walk.n > GROUP else 0):
        seek(&job.walk, <Py_ssize_t>(<double>(job.walk.n - GROUP) / sample * i), &cursor)
        resolve_block(&job.tuples, &job.walk, &cursor, GROUP, False, offsets, &n)
        for j in range(n):
            if offsets[j] != SKIPPED:
                n_seen += 1
                count[offsets[j] // job.row_bytes * BUCKETS // job.n_rows] += 1
    most = cut_at_counts(count, n_seen, job.n_rows, job.n_threads, ranges.first)
    # Each thread should have about as many updates: one row may have more.
    return forced or most * job.n_threads <= n_seen + n_seen // 4


cdef inline void apply_queue(const Job* job, Queue* queue, bint is_ahead, Py_ssize_t n) noexcept nogil:
    """Apply the first n updates of the queue."""
    if is_ahead:
        reduce_ahead(job, &job.step, job.out, queue.offsets, job.updates, queue.updates, job.row_bytes, n,
                     queue.offsets + n, queue.n - n, NULL)
    else:
        apply_rows(&job.step, job.out, queue.offsets, job.updates, queue.updates, 0, n)
    queue.n -= n
    memmove(queue.offsets, queue.offsets + n, queue.n * sizeof(int64_t))
    memmove(queue.updates, queue.updates + n, queue.n * sizeof(int64_t))


cdef inline void start_range(const Ranges* ranges, Py_ssize_t low, Py_ssize_t n_rows) noexcept nogil:
    """Copy the range's data, or initialise its accumulators."""
    cdef const Job* job = ranges.job
    cdef char* out = job.out + low * job.row_bytes
    cdef Py_ssize_t i
    if ranges.accumulates:
        start_elements(job, out, elements_of_data(job) + low * job.row_bytes, n_rows)
    elif job.data != NULL and job.data_step:
        copy_bytes(job, out, job.data + low * job.row_bytes, n_rows * job.row_bytes)
    elif job.data != NULL:
        for i in range(n_rows):
            if i % BLOCK == 0 and is_interrupted(job.interrupts, BLOCK * job.row_bytes >> 3):
                return
            memcpy(out + i * job.row_bytes, job.data, job.row_bytes)


cdef inline void finish_range(const Ranges* ranges, Py_ssize_t low, Py_ssize_t n_rows) noexcept nogil:
    cdef const Job* job = ranges.job
    cdef Marks marks = ranges.marks
    cdef char* out = job.out + low * job.row_bytes
    marks.table += low * marks.width
    if ranges.accumulates:
        finish_elements(job, &marks, out, elements_of_data(job) + low * job.row_bytes, out, n_rows)
    elif job.divides:
        divide_steps(job, &job.step, &marks, out, n_rows)


cdef inline void run_range(const Ranges* ranges, Py_ssize_t task, Py_ssize_t* status) noexcept nogil:
    cdef const Job* job = ranges.job
    cdef Queue queue
    cdef int64_t offsets[BLOCK]
    cdef Cursor cursor
    cdef Py_ssize_t low = ranges.first[task], n_rows = ranges.first[task + 1] - ranges.first[task]
    cdef int64_t low_byte = low * job.row_bytes
    cdef uint64_t size = <uint64_t>(n_rows * job.row_bytes)
    cdef Py_ssize_t step = 1 if job.update_rows != NULL else job.walk.stride[job.walk.n_dims - 1][OTHER]
    cdef Py_ssize_t start = 0, first, n, n_selected, i
    cdef int64_t* updates
    cdef bint is_ahead = job.update_rows != NULL or prefetches_ahead(job, &job.step, step)
    queue.n = 0
    queue.ahead = updates_ahead(job.row_bytes) if is_ahead else 0
    status[0] = OK
    start_range(ranges, low, n_rows)
    seek(&job.walk, 0, &cursor)
    while start < job.walk.n:
        first = start if job.update_rows != NULL else cursor.offset[OTHER]
        resolve_block(&job.tuples, &job.walk, &cursor, min(job.block, job.walk.n - start), not job.updates_are_linear,
                      offsets, &n)
        if n < 0:
            status[0] = start * job.tuples.k - 1 - n
            return
        start += n
        updates = queue.updates + queue.n
        n_selected = select_range(offsets, n, low_byte, size, first, step, queue.offsets + queue.n, updates)
        if is_interrupted(job.interrupts, n + n_selected * job.tuple_work):
            status[0] = INTERRUPTED
            return
        if job.update_rows != NULL:
            for i in range(n_selected):
                updates[i] = <int64_t>job.update_rows[updates[i]] * job.row_bytes
        if ranges.marks.width:
            mark_block(&ranges.marks, &job.step, False, job.out, queue.offsets + queue.n, job.updates, updates, 0,
                       n_selected, NULL)
        queue.n += n_selected
        if queue.n > QUEUE - BLOCK:
            apply_queue(job, &queue, is_ahead, queue.n - queue.ahead)
    apply_queue(job, &queue, is_ahead, queue.n)
    finish_range(ranges, low, n_rows)


cdef inline bint run_ranges(Ranges* ranges, Job* job, Py_ssize_t* bad) noexcept:
    """False: there is no memory, and nothing was written."""
    cdef Py_ssize_t status[MAX_TASKS]
    cdef Py_ssize_t task, n_ranges = job.n_threads
    ranges.marks = job.marks
    ranges.accumulates = job.data_step == job.row_bytes and accumulates_rows(job)
    ranges.marks.assigns = not job.include_self and not ranges.accumulates
    if job.marks.width and not allocate_marks(&ranges.marks, job.n_rows):
        return False
    bad[0] = begin_writing(job, job.checks_first)
    if bad[0] == OK:
        for task in prange(n_ranges, num_threads=job.n_threads, schedule="static", nogil=True):
            run_range(ranges, task, &status[task])
        bad[0] = first_error(status, n_ranges)
    free_marks(&ranges.marks)
    return True
