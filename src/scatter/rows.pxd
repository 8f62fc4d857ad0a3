# ROWS: updates are grouped by destination row (grouping.pxd), then each row of a new result is written once.
#
# In rounds of a bounded number of updates:
#     resolve_row_ids, order_updates    group them
#     write_rows                        each row is written from data and its updates
#                                       (with accumulate_dtype, by write_widened: wide_rows.pxd)
# For prepared indices the updates are grouped already (orders.pyx). In place, only rows with updates are written.
from cpython.mem cimport PyMem_RawFree as free, PyMem_RawMalloc as malloc  # so that tracemalloc sees it
from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memcpy
cimport numpy as cnp

from common.caches cimport cached_bytes
from common.codes cimport ASSIGN, INTERRUPTED, OK
from common.interrupts cimport block_of, is_interrupted
from common.items cimport CACHE_LINE, STREAM_AHEAD, at_line, prefetch_row_l2, prefetch_stream
from common.resolve cimport BLOCK, SKIPPED
from common.scratch cimport allocate_scratch
from common.stream cimport ROWS_AHEAD, stream_bytes, stream_fence, stream_rows
from common.threads cimport MAX_TASKS, first_error
from prepared.order cimport Order
from scatter.apply cimport combine_rows_block, divides_in_registers
from scatter.grouping cimport (
    AHEAD_BYTES, ASKING, MAX_BATCH, MAX_COMBINED_ROW, Rows, add_counts, counts_chunks, finish_rows, first_row_of,
    order_chunk, order_updates, resolve_row_ids, tuple_bytes, updates_of_a_round,
)
from scatter.job cimport Job, begin_writing, check_tuples
from scatter.loops.table cimport Grouped, loops
from scatter.marks cimport allocate_marks, count_of, free_marks
from scatter.wide_rows cimport write_widened

cdef enum:
    BATCH = 4                   # updates that are combined in one call; others are prefetched between the calls
    # Bytes of updates that reduce_rows prefetches: from memory into L2, which allows more outstanding misses; from L3
    # into L1, if rows are not longer than LONGEST_NEAR.
    FAR_AHEAD = 1 << 14
    NEAR_AHEAD = 1 << 12
    LONGEST_NEAR = 1 << 10
    STREAM_WHOLE = 32           # bytes of a non-temporal store from registers
    MAX_REDUCED = 1 << 14       # updates of some rows, between two questions for signals


cdef inline void copy_rows(const Rows* rows, char* out, const char* source, const int64_t* offsets, Py_ssize_t n,
                           Py_ssize_t n_known, Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t i
    if rows.streams:
        stream_rows(out, size, source, offsets, n, n_known, size)
    else:
        for i in range(n):
            memcpy(out + i * size, source + offsets[i], size)


cdef inline uint32_t last_update(const Rows* rows, Py_ssize_t row) noexcept nogil:
    """The number of the last update of a row, counted from 1; 0: none."""
    cdef uint32_t begin
    if rows.job.order == NULL:
        return rows.end[row]
    begin = rows.end[row - 1] if row else 0
    return rows.order[rows.end[row] - 1] + 1 if rows.end[row] > begin else 0


cdef inline void write_assigned(const Rows* rows, Py_ssize_t row, Py_ssize_t stop) noexcept nogil:
    """Write rows, each from its last update or from data."""
    cdef const Job* job = rows.job
    cdef int64_t offsets[BLOCK + ROWS_AHEAD]
    cdef const char* updates = rows.updates
    cdef int64_t shift = <int64_t>(<size_t>updates - <size_t>job.data)
    cdef int64_t from_data, has_update
    cdef Py_ssize_t n, n_known, i
    cdef uint32_t last
    if not rows.fresh:
        for i in range(row, stop):
            last = last_update(rows, i)
            if last:
                memcpy(job.out + i * job.row_bytes, updates + (last - 1) * rows.update_step, job.row_bytes)
        return
    cdef Py_ssize_t most = block_of(job.row_bytes, BLOCK)
    while row < stop:
        n = min(most, stop - row)
        if is_interrupted(job.interrupts, n * job.row_bytes >> 3):
            return
        n_known = min(n + ROWS_AHEAD, stop - row)
        for i in range(n_known):
            from_data = (row + i) * job.data_step
            last = last_update(rows, row + i)
            has_update = -<int64_t>(last != 0)  # a mask: a branch would be mispredicted
            offsets[i] = from_data + ((shift + (<int64_t>last - 1) * rows.update_step - from_data) & has_update)
        copy_rows(rows, job.out + row * job.row_bytes, job.data, offsets, n, n_known, job.row_bytes)
        row += n


cdef inline void combine_ordered(const Rows* rows, char* target, const char* updates, Py_ssize_t row, Py_ssize_t first,
                                 Py_ssize_t stop) noexcept nogil:
    """Combine the rows at target, which begin with `row`, with the updates order[first:stop].

    If the scatter does not include data, the first update of a row is assigned.
    """
    cdef int64_t offsets[BATCH]
    cdef int64_t update_offsets[BATCH]
    cdef Py_ssize_t row_bytes = rows.job.row_bytes, at = row, n, i
    cdef Py_ssize_t ahead = AHEAD_BYTES // row_bytes, n_ordered = rows.end[rows.n_rows - 1]
    cdef bint is_first = True
    while first < stop:
        if (first & (ASKING - 1)) < BATCH and is_interrupted(rows.job.interrupts, ASKING * row_bytes >> 2):
            return
        n = min(<Py_ssize_t>BATCH, stop - first)
        for i in range(n):
            while rows.end[at] <= first + i:
                at += 1
                is_first = True
            offsets[i] = (at - row) * row_bytes
            update_offsets[i] = rows.order[first + i] * rows.update_step
            if is_first and rows.marks.assigns and (rows.start == 0 or count_of(&rows.marks, at) == 0):
                memcpy(target + offsets[i], updates + update_offsets[i], row_bytes)
                offsets[i] = SKIPPED
            is_first = False
            if first + i + ahead < n_ordered:
                prefetch_row_l2(updates + rows.order[first + i + ahead] * rows.update_step, row_bytes)
        combine_rows_block(&rows.job.step, target, offsets, updates, update_offsets, 0, n)
        first += n


cdef inline void reduce_ordered(const Rows* rows, Grouped* grouped, char* to, const char* source,
                                Py_ssize_t source_step, Py_ssize_t row, Py_ssize_t first, Py_ssize_t n) noexcept nogil:
    """Write n rows, which begin with `row`, from source and the updates from order[first] on."""
    cdef Py_ssize_t row_bytes = rows.job.row_bytes, i
    cdef int row_loop = rows.job.step.row_loop
    cdef bint assigns = rows.marks.assigns
    cdef const char* start
    cdef uint32_t stop
    grouped.assigns = assigns
    grouped.divides = rows.divides
    grouped.more = rows.job.include_self
    if rows.end[row + n - 1] - first <= MAX_REDUCED:
        loops.reduce_rows(row_loop, to, source, source_step, row_bytes, grouped, rows.end + row, first, n)
        return
    for i in range(n):
        start = source + i * source_step
        while True:  # some of a row's updates at a time
            if is_interrupted(rows.job.interrupts, MAX_REDUCED * row_bytes >> 2):
                return
            stop = <uint32_t>min(<Py_ssize_t>rows.end[row + i], first + MAX_REDUCED)
            grouped.divides = rows.divides and stop == rows.end[row + i]
            loops.reduce_rows(row_loop, to + i * row_bytes, start, 0, row_bytes, grouped, &stop, first, 1)
            grouped.more += stop - first
            first = stop
            if first == rows.end[row + i]:
                break
            start = to + i * row_bytes
            grouped.assigns = False
        grouped.assigns = assigns
        grouped.more = rows.job.include_self


cdef inline void copy_starts(const Rows* rows, char* out, const char* data, Py_ssize_t row,
                             Py_ssize_t n) noexcept nogil:
    """Copy those of n rows of data that start from them."""
    cdef Py_ssize_t row_bytes = rows.job.row_bytes, step = rows.job.data_step, i
    if not rows.marks.assigns and step == row_bytes:
        memcpy(out, data, n * row_bytes)
        return
    for i in range(n):
        if not rows.marks.assigns or rows.end[row + i] == (rows.end[row + i - 1] if row + i else 0):
            memcpy(out + i * row_bytes, data + i * step, row_bytes)


cdef inline void write_combined(const Rows* rows, Py_ssize_t row, Py_ssize_t stop) noexcept nogil:
    """Write rows from data, combined with their updates, some rows at a time."""
    cdef const Job* job = rows.job
    cdef char scratch_memory[MAX_COMBINED_ROW + CACHE_LINE]
    cdef char* scratch = at_line(scratch_memory)
    cdef Py_ssize_t batch = MAX_BATCH
    cdef Py_ssize_t first = rows.end[row - 1] if row else 0
    cdef Py_ssize_t step = job.data_step if rows.fresh else job.row_bytes, last, n, n_bytes
    cdef bint in_registers = job.step.row_loop != 0 and (not rows.marks.assigns or rows.start == 0)
    # With more updates for each row, too few rows start from data to prefetch them. One thread has bandwidth for more.
    cdef double most_updates = 3 if job.n_threads == 1 else 1.5
    cdef Grouped grouped
    cdef const char* data
    cdef char* out
    cdef char* target
    grouped.updates = rows.updates
    grouped.step = rows.update_step
    grouped.order = rows.order
    grouped.n = rows.end[rows.n_rows - 1]
    grouped.are_cached = job.updates_bytes <= cached_bytes() and job.row_bytes <= LONGEST_NEAR
    grouped.ahead = (NEAR_AHEAD if grouped.are_cached else FAR_AHEAD) // job.row_bytes
    # From registers to the result, unless rows are counted after it. Stores of 16 bytes only would be slower than those
    # from scratch memory.
    grouped.streams = (rows.streams and in_registers and not rows.marks.width
                       and ((<size_t>job.out | <size_t>job.row_bytes) & (STREAM_WHOLE - 1)) == 0)
    if not in_registers or rows.marks.width or (rows.streams and not grouped.streams):  # rows are read again, from L1
        batch = min(batch, max(<Py_ssize_t>1, MAX_COMBINED_ROW // job.row_bytes))
    while row < stop:
        n = min(batch, stop - row)
        n_bytes = n * job.row_bytes
        last = rows.end[row + n - 1]
        if is_interrupted(job.interrupts, (n + last - first) * job.row_bytes >> 3):
            return
        out = job.out + row * job.row_bytes
        data = job.data + row * step if rows.fresh else out
        target = scratch if rows.streams and not grouped.streams else out
        grouped.source_ahead = STREAM_AHEAD if rows.fresh and step and (
            not rows.marks.assigns or last - first < most_updates * n) else 0
        if in_registers:
            reduce_ordered(rows, &grouped, target, data, step, row, first, n)
        else:
            if grouped.source_ahead:
                prefetch_stream(data, n_bytes)
            if rows.fresh:
                copy_starts(rows, target, data, row, n)
            combine_ordered(rows, target, rows.updates, row, first, last)
        if rows.marks.width:
            finish_rows(rows, &job.step, target, job.row_bytes, row, n)
        if target == scratch:
            stream_bytes(out, scratch, n_bytes, True)
        first = last
        row += n


cdef inline void write_rows(const Rows* rows, Py_ssize_t task) noexcept nogil:
    cdef Py_ssize_t row = first_row_of(rows, task)
    cdef Py_ssize_t stop = first_row_of(rows, task + 1) if task + 1 < rows.n_tasks else rows.n_rows
    if rows.job.step.reduction == ASSIGN:
        write_assigned(rows, row, stop)
    elif rows.job.conversion.pair:
        write_widened(rows, row, stop)
    else:
        write_combined(rows, row, stop)
    if rows.streams:
        stream_fence()


cdef inline Py_ssize_t group_updates(Rows* rows, int n_threads) noexcept:
    """Group the updates of a round. Returns OK or the position of the first bad index."""
    cdef Py_ssize_t status[MAX_TASKS]
    cdef Py_ssize_t chunk
    for chunk in prange(rows.n_chunks, num_threads=n_threads, schedule="static", nogil=True):
        resolve_row_ids(rows, chunk, &status[chunk])
    if first_error(status, rows.n_chunks) != OK:
        return first_error(status, rows.n_chunks)
    if rows.counts != NULL:
        add_counts(rows)
        for chunk in prange(rows.n_chunks, num_threads=n_threads, schedule="static", nogil=True):
            order_chunk(rows, chunk)
    else:
        for chunk in prange(rows.n_chunks, num_threads=n_threads, schedule="static", nogil=True):
            order_updates(rows, chunk)
    return INTERRUPTED if rows.job.interrupts.stopped else OK


cdef inline bint run_rows(Rows* rows, Py_ssize_t* bad) noexcept:
    """False: there is no scratch memory, and nothing was written."""
    cdef int n_threads = rows.job.n_threads, n_writers
    cdef const Order* order = rows.job.order
    cdef Py_ssize_t n_tuples = rows.walk.n
    cdef Py_ssize_t per_round = n_tuples if order != NULL else min(n_tuples, updates_of_a_round(rows.job))
    cdef Py_ssize_t task
    cdef cnp.ndarray lists = None
    if order == NULL:
        lists = allocate_scratch(rows.n_rows * sizeof(uint32_t) + per_round * tuple_bytes(rows.job))
    rows.marks = rows.job.marks
    # In a single round a row's first update is known without a mark, and the number of its updates without a count.
    rows.divides = (rows.job.divides and per_round >= n_tuples and divides_in_registers(&rows.job.step)
                    and not rows.job.conversion.pair)
    if per_round >= n_tuples and (rows.divides or not rows.job.divides):
        rows.marks.width = 0
    if (order == NULL and lists is None) or (rows.marks.width and not allocate_marks(&rows.marks, rows.n_rows)):
        return False
    if order != NULL:
        rows.end = <uint32_t*>order.end
        rows.order = <uint32_t*>order.updates
    else:
        rows.end = <uint32_t*>cnp.PyArray_DATA(lists)
        rows.row = <int32_t*>(rows.end + rows.n_rows)
        rows.order = <uint32_t*>(rows.row + per_round)
    rows.counts = NULL
    rows.n_chunks = n_threads
    rows.n_tasks = min(rows.n_rows, <Py_ssize_t>min(16 * n_threads, <int>MAX_TASKS))
    n_writers = <int>min(<Py_ssize_t>n_threads, rows.n_tasks)
    if order == NULL and counts_chunks(rows, per_round):
        rows.counts = <uint32_t*>malloc((rows.n_rows + 1) * n_threads * sizeof(uint32_t))
    rows.fresh = rows.job.data != NULL
    rows.update_rows = NULL
    rows.start = 0
    if rows.job.checks_first and per_round < n_tuples:  # else the first pass checks all tuples
        bad[0] = check_tuples(rows.job)
    while bad[0] == OK and rows.start < n_tuples:
        rows.n = min(per_round, n_tuples - rows.start)
        rows.is_last = rows.start + rows.n == n_tuples
        rows.updates = rows.job.updates
        if rows.job.update_rows != NULL:
            rows.update_rows = rows.job.update_rows + rows.start
        else:
            rows.updates += rows.start * rows.update_step
        if order == NULL:
            bad[0] = group_updates(rows, n_threads)
        if bad[0] == OK and rows.start == 0:
            bad[0] = begin_writing(rows.job, False)
        if bad[0] != OK or rows.job.interrupts.stopped:
            break
        for task in prange(rows.n_tasks, num_threads=n_writers, schedule="dynamic", chunksize=1, nogil=True):
            write_rows(rows, task)
        rows.fresh = False
        rows.streams = False
        rows.start += rows.n if not rows.job.interrupts.stopped else n_tuples
    free_marks(&rows.marks)
    free(rows.counts)
    return True
