# cython: cdivision=True
# Softmax: the maximum of all segments, then their accumulators POWERS, which keep each element's power in the result, then
# its division. Ids in ascending order take all three steps in parts of whole segments that stay in the cache.
from cython.parallel cimport prange, threadid
from libc.math cimport INFINITY, NAN, log
from libc.stdint cimport int64_t

from common.interrupts cimport is_interrupted
from common.threads cimport TASKS_PER_THREAD, chunk_start
from segments.accumulators cimport Rows
from segments.job cimport SINGLE, Block, Job, id_at, number_bytes, positions_of, read_rows, table_of
from segments.routes cimport none_bytes, part_of, reduce_piece, reduce_sorted

cdef extern from "segments/exp.h":
    void divide_doubles "gs_divide_rows_double" (const Rows* rows) nogil
    void divide_floats "gs_divide_rows_float" (const Rows* rows) nogil

cdef enum:
    SOFTMAX_PART = 1 << 14      # numbers: L2 holds them in all three steps

cdef struct Softmax:
    Job* job                    # of the accumulators POWERS, which has the result
    Job* before                 # of maxima, in the same words


cdef inline void settle(const Softmax* softmax, char* row) noexcept nogil:
    """Make of a segment's sums what its powers are divided by, or their distances reduced by."""
    cdef Py_ssize_t j
    cdef double* greatest = <double*>row
    cdef double* sums = greatest + softmax.job.columns
    for j in range(softmax.job.columns):
        if greatest[j] == -INFINITY:
            sums[j] = INFINITY
        elif greatest[j] == INFINITY:
            sums[j] = NAN
        if softmax.job.is_log:
            sums[j] = log(sums[j])


cdef inline void write_piece(const Softmax* softmax, Py_ssize_t unit, Py_ssize_t position, Py_ssize_t stop,
                             char* none) noexcept nogil:
    cdef const Job* job = softmax.job
    cdef Block block
    cdef Rows rows
    cdef char* table = table_of(job, unit)
    cdef Py_ssize_t width = job.columns * number_bytes(job)
    rows.table, rows.rows, rows.columns, rows.stride, rows.none = (table, block.rows, job.columns, job.columns,
                                                                   none - table)
    rows.out_step, rows.is_log = width, job.is_log
    while position < stop:
        block.n = rows.n = min(positions_of(job.columns), stop - position)
        if is_interrupted(job.interrupts, block.n * job.columns):
            return
        read_rows(job, unit, position, job.row_bytes, rows.none, &block)
        rows.out = job.out + (unit * job.size + position) * width
        if job.numbers == SINGLE:
            divide_floats(&rows)
        else:
            divide_doubles(&rows)
        position += block.n


cdef inline void run_part(const Softmax* softmax, Py_ssize_t task, Py_ssize_t n_parts, char* none) noexcept nogil:
    """Sorted ids: a part of a unit."""
    cdef const Job* job = softmax.job
    cdef Py_ssize_t start, stop, unit = task // n_parts
    cdef int64_t segment, last
    part_of(job, unit, task % n_parts, n_parts, &start, &stop)
    if start >= stop:  # also where another thread changes the ids between the two searches
        return
    reduce_piece(softmax.before, table_of(job, unit), unit, start, stop, 0, job.columns, none)
    reduce_sorted(job, unit, start, stop, none)
    segment = max(id_at(job, unit, start), <int64_t>0)
    last = min(id_at(job, unit, stop - 1), <int64_t>job.n - 1)
    while segment <= last:
        settle(softmax, table_of(job, unit) + segment * job.row_bytes)
        segment += 1
    write_piece(softmax, unit, start, stop, none)


cdef inline void run_parts(const Softmax* softmax, int n_threads, char* none) noexcept nogil:
    cdef const Job* job = softmax.job
    cdef Py_ssize_t task, n_parts
    n_parts = n_threads * TASKS_PER_THREAD if n_threads > 1 else 1
    n_parts = max(job.size * job.columns // SOFTMAX_PART, n_parts)
    if n_threads == 1:
        for task in range(job.n_units * n_parts):
            run_part(softmax, task, n_parts, none)
    else:
        for task in prange(job.n_units * n_parts, num_threads=n_threads, schedule="dynamic", chunksize=1):
            run_part(softmax, task, n_parts, none + threadid() * none_bytes(job))


cdef inline void settle_rows(const Softmax* softmax, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    for start in range(start, stop):
        settle(softmax, softmax.job.table + start * softmax.job.row_bytes)


cdef inline void write_task(const Softmax* softmax, Py_ssize_t task, Py_ssize_t n_tasks, char* none) noexcept nogil:
    cdef Py_ssize_t size = softmax.job.size, part = task % n_tasks
    write_piece(softmax, task // n_tasks, chunk_start(size, n_tasks, part), chunk_start(size, n_tasks, part + 1), none)


cdef inline void write_all(const Softmax* softmax, int n_threads, char* none) noexcept nogil:
    """After all accumulators are known. none: not read."""
    cdef Py_ssize_t n_tasks = n_threads * TASKS_PER_THREAD, rows = softmax.job.n_units * softmax.job.n, task
    if n_threads == 1:
        settle_rows(softmax, 0, rows)
        for task in range(softmax.job.n_units):
            write_piece(softmax, task, 0, softmax.job.size, none)
        return
    for task in prange(n_tasks, num_threads=n_threads, schedule="static"):
        settle_rows(softmax, chunk_start(rows, n_tasks, task), chunk_start(rows, n_tasks, task + 1))
    for task in prange(softmax.job.n_units * n_tasks, num_threads=n_threads, schedule="dynamic", chunksize=1):
        write_task(softmax, task, n_tasks, none)
