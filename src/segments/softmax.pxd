# cython: cdivision=True
# Softmax: the maximum of all segments, then their accumulators POWERS, then a last reading of each element. Ids in
# ascending order take all three steps in parts of whole segments that stay in the cache.
from cython.parallel cimport prange, threadid
from libc.math cimport INFINITY, NAN, log
from libc.stdint cimport int64_t

from common.interrupts cimport is_interrupted
from common.items cimport flat_void, inline_void
from common.threads cimport TASKS_PER_THREAD, chunk_start
from scatter.convert cimport Conversion, store_items
from segments.accumulators cimport prefetch_ahead, raise_to_powers, real_t
from segments.job cimport ITEMS, SINGLE, WORD, Block, Job, id_at, positions_of, read_rows, read_values, table_of
from segments.routes cimport none_bytes, part_of, reduce_piece, reduce_sorted

cdef enum:
    PART = 1 << 14              # numbers of a part

cdef struct Softmax:
    Job* job                    # of the accumulators POWERS
    Job* before                 # of maxima, in the same words
    Conversion conversion       # from the numbers of `job` to the result
    char* out                   # (units, positions, columns)
    bint is_log


cdef inline void settle(const Softmax* softmax, char* row) noexcept nogil:
    """Make what is subtracted from a segment's elements, and what their powers are divided by, of its accumulators."""
    cdef Py_ssize_t j
    cdef double* greatest = <double*>row
    cdef double* sums = greatest + softmax.job.columns
    for j in range(softmax.job.columns):
        if greatest[j] == -INFINITY:
            greatest[j] = 0
            sums[j] = 1
        elif greatest[j] == INFINITY:
            sums[j] = NAN
        if softmax.is_log:
            sums[j] = log(sums[j])


cdef inline inline_void divide_block(bint is_column, bint is_log, const Job* job, const Block* block,
                                     const char* table, int64_t none, real_t* results) noexcept nogil:
    cdef Py_ssize_t i, j, columns = 1 if is_column else block.columns, k = 0
    cdef real_t apart[ITEMS]
    cdef real_t divisors[ITEMS]
    cdef const double* row
    cdef const real_t* x
    for i in range(block.n):
        if job.is_far:
            prefetch_ahead(job, block, i, table)
        row = <const double*>(table + block.rows[i])
        x = <const real_t*>(block.values + i * block.step)
        if block.rows[i] == none:
            for j in range(columns):
                apart[k + j] = -INFINITY
                divisors[k + j] = not is_log
        else:
            for j in range(columns):
                apart[k + j] = x[j] - <real_t>row[j]
                divisors[k + j] = <real_t>row[(1 if is_column else job.columns) + j]
        k += columns
    if not is_log:
        raise_to_powers(<const real_t*>apart, k, results)
    for i in range(k):
        results[i] = apart[i] - divisors[i] if is_log else results[i] / divisors[i]


cdef inline flat_void divide(const Softmax* softmax, const Block* block, const char* table, int64_t none,
                             char* results) noexcept nogil:
    cdef const Job* job = softmax.job
    if job.numbers == SINGLE and job.columns == 1:
        divide_block(True, softmax.is_log, job, block, table, none, <float*>results)
    elif job.numbers == SINGLE:
        divide_block(False, softmax.is_log, job, block, table, none, <float*>results)
    elif job.columns == 1:
        divide_block(True, softmax.is_log, job, block, table, none, <double*>results)
    else:
        divide_block(False, softmax.is_log, job, block, table, none, <double*>results)


cdef inline void write_piece(const Softmax* softmax, Py_ssize_t unit, Py_ssize_t position, Py_ssize_t stop,
                             char* none) noexcept nogil:
    cdef const Job* job = softmax.job
    cdef Block block
    cdef double results[ITEMS]
    cdef char* table = table_of(job, unit)
    cdef char* to
    cdef int64_t at = none - table
    cdef Py_ssize_t column, width = softmax.conversion.narrow_bytes
    while position < stop:
        block.n = min(positions_of(job.columns), stop - position)
        if is_interrupted(job.interrupts, 4 * block.n * job.columns):
            return
        read_rows(job, unit, position, job.row_bytes, at, &block)
        column = 0
        while column < job.columns:
            block.columns = min(job.columns - column, <Py_ssize_t>ITEMS)
            read_values(job, unit, position, column, &block)
            divide(softmax, &block, table + column * WORD, at, <char*>results)
            to = softmax.out + ((unit * job.size + position) * job.columns + column) * width
            store_items(&softmax.conversion, <const char*>results, NULL, 0, block.n * block.columns, to, width)
            column += block.columns
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
    n_parts = max(job.size * job.columns // PART, <Py_ssize_t>(n_threads * TASKS_PER_THREAD) if n_threads > 1 else 1)
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
