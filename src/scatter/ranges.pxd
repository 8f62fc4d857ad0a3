# RANGES: each thread resolves all tuples and applies the updates of its own range of rows, in order.
#
# For short rows whose destinations are neighbours if their tuples are, as in a smooth warp of an image: most blocks of
# tuples are then in one range, and a thread passes over those of other ranges at once.
from cython.parallel cimport prange
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memset

from common.codes cimport INTERRUPTED, OK
from common.interrupts cimport is_interrupted
from common.items cimport cloned_void
from common.resolve cimport BLOCK, SKIPPED, resolve_block
from common.threads cimport MAX_TASKS, first_error
from common.walk cimport OTHER, Cursor, seek
from scatter.apply cimport apply_rows
from scatter.job cimport Job, begin_writing, copy_data, divide_steps, prefetches_ahead, reduce_ahead, row_items
from scatter.marks cimport SINK_BYTES, Marks, allocate_marks, free_marks, mark_block, start_sinks
from scatter.reductions cimport is_move

cdef enum:
    MIN_ITEMS = 3               # of a row: to apply fewer takes no longer than to resolve their tuple
    MIN_RANGES_TUPLES = 1 << 15
    SAMPLE = 256                # pairs of tuples
    FEW = 32                    # of these, after which the sampling may end
    NEIGHBOUR_BYTES = 1 << 12   # distance below which two destinations are neighbours
    BUCKETS = 256               # of the result, in which the sample is counted

cdef struct Ranges:
    const Job* job
    Py_ssize_t first[MAX_TASKS + 1]  # row of each range
    Marks marks


cdef inline void cut_ranges(Ranges* ranges, const Py_ssize_t* count, Py_ssize_t n_seen) noexcept nogil:
    """Cut the rows into a range for each thread, so that each has as many of the sample's tuples."""
    cdef Py_ssize_t n_ranges = ranges.job.n_threads
    cdef Py_ssize_t bucket = 0, below = 0, i
    ranges.first[0] = 0
    for i in range(1, n_ranges):
        while bucket < BUCKETS and below * n_ranges < i * n_seen:
            below += count[bucket]
            bucket += 1
        ranges.first[i] = ranges.job.n_rows * bucket // BUCKETS
    ranges.first[n_ranges] = ranges.job.n_rows


cdef inline bint describe_ranges(Ranges* ranges, const Job* job, bint forced) noexcept nogil:
    """Describe the job for RANGES. False: it would be slower; with forced: it is impossible."""
    cdef int64_t pair[2]
    cdef Py_ssize_t count[BUCKETS]
    cdef Cursor cursor
    cdef Py_ssize_t i, n, n_neighbours = 0, n_seen = 0
    ranges.job = job
    if not job.is_contiguous or job.row_bytes <= 0 or job.step.by_value:
        return False
    if not forced and (job.n_threads == 1 or job.walk.n < MIN_RANGES_TUPLES
                       or job.out_bytes < 32 * NEIGHBOUR_BYTES
                       or (row_items(job) < MIN_ITEMS and not is_move(job.step.reduction))):
        return False
    memset(count, 0, sizeof(count))
    for i in range(SAMPLE if job.walk.n > 1 else 0):
        seek(&job.walk, <Py_ssize_t>(<double>(job.walk.n - 2) / SAMPLE * i), &cursor)
        resolve_block(&job.tuples, &job.walk, &cursor, 2, False, pair, &n)
        if n == 2 and pair[0] != SKIPPED and pair[1] != SKIPPED:
            n_seen += 1
            n_neighbours += -NEIGHBOUR_BYTES < pair[1] - pair[0] < NEIGHBOUR_BYTES
            count[pair[0] // job.row_bytes * BUCKETS // job.n_rows] += 1
        if i == FEW and 2 * n_neighbours < FEW and not forced:
            return False
    cut_ranges(ranges, count, n_seen)
    return forced or 4 * n_neighbours > 3 * SAMPLE


cdef inline cloned_void select_range(int64_t* offsets, Py_ssize_t n, int64_t low, uint64_t size,
                                     Py_ssize_t* n_selected) noexcept nogil:
    """Skip the tuples whose offset is not one of low to low + size, and count the others."""
    cdef Py_ssize_t i, found = 0
    for i in range(n):
        found += <uint64_t>(offsets[i] - low) < size
    n_selected[0] = found
    if 0 < found < n:
        for i in range(n):
            offsets[i] = offsets[i] if <uint64_t>(offsets[i] - low) < size else SKIPPED


cdef inline void run_range(const Ranges* ranges, Py_ssize_t task, Py_ssize_t* status) noexcept nogil:
    cdef const Job* job = ranges.job
    cdef Marks marks = ranges.marks
    cdef int64_t offsets[BLOCK]
    cdef char sinks[SINK_BYTES]
    cdef Cursor cursor
    cdef Py_ssize_t low = ranges.first[task], n_rows = ranges.first[task + 1] - ranges.first[task]
    cdef Py_ssize_t update_step = job.walk.stride[job.walk.n_dims - 1][OTHER]
    cdef Py_ssize_t start = 0, n, n_selected
    cdef const char* updates
    cdef bint is_ahead = prefetches_ahead(job, &job.step, update_step)
    start_sinks(sinks, BLOCK)
    status[0] = OK
    seek(&job.walk, 0, &cursor)
    while start < job.walk.n:
        updates = job.updates + cursor.offset[OTHER]
        resolve_block(&job.tuples, &job.walk, &cursor, min(job.block, job.walk.n - start), not job.updates_are_linear,
                      offsets, &n)
        if n < 0:
            status[0] = start * job.tuples.k - 1 - n
            return
        select_range(offsets, n, low * job.row_bytes, <uint64_t>(n_rows * job.row_bytes), &n_selected)
        if is_interrupted(job.interrupts, n + n_selected * job.tuple_work):
            status[0] = INTERRUPTED
            return
        start += n
        if n_selected:
            if marks.width:
                mark_block(&marks, &job.step, n_selected < n, job.out, offsets, updates, NULL, update_step, n, sinks)
            if is_ahead:
                reduce_ahead(job, &job.step, job.out, offsets, updates, update_step, n, NULL, 0)
            else:
                apply_rows(&job.step, job.out, offsets, updates, NULL, update_step, n)
    if job.divides:
        marks.table += low * marks.width
        divide_steps(job, &job.step, &marks, job.out + low * job.row_bytes, n_rows)


cdef inline bint run_ranges(Ranges* ranges, Job* job, Py_ssize_t* bad) noexcept:
    """False: there is no memory, and nothing was written."""
    cdef Py_ssize_t status[MAX_TASKS]
    cdef Py_ssize_t task, n_ranges = job.n_threads
    ranges.marks = job.marks
    if job.marks.width and not allocate_marks(&ranges.marks, job.n_rows):
        return False
    bad[0] = begin_writing(job, job.checks_first)
    if bad[0] == OK:
        copy_data(job)
        for task in prange(n_ranges, num_threads=job.n_threads, schedule="static", nogil=True):
            run_range(ranges, task, &status[task])
        bad[0] = first_error(status, n_ranges)
    free_marks(&ranges.marks)
    return True
