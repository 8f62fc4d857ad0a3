# Cells: each accumulator stands next to the count of its updates (loops/cells.hpp). One loop reduces and counts, and
# both are in one cache line. For means, and for include_self=False where an accumulator may be the identity of the
# reduction although it had updates.
from libc.stdint cimport INT32_MAX, uint32_t, uint64_t
from libc.string cimport memcpy

from common.codes cimport OK
from scatter.accumulate cimport accumulates_rows, finish_elements
from scatter.direct cimport LoopInOrder, counted_in_order, direct_loop
from scatter.job cimport Job, apply_and_count, counting_loop, row_items, run_in_order
from scatter.late_marks cimport has_one_way
from scatter.loops.table cimport loops
from scatter.marks cimport Marks, set_mark

cdef enum:
    MANY_UPDATES = 16   # for each row: probably all have had one, and no sum is the identity (late_marks.pxd)


cdef inline bint needs_counts(const Job* job) noexcept nogil:
    """Whether it is probably not enough to look at the accumulators."""
    return job.walk.n < INT32_MAX and (job.divides or (
        not job.include_self and job.walk.n // MANY_UPDATES < job.n_rows
        and not (job.step.by_value and has_one_way(job))))


cdef inline bint have_cells(const Job* job) noexcept nogil:
    """Whether the elements of the result can be cells of one number."""
    return (job.accumulates and job.step.by_value and not job.step.swapped and needs_counts(job)
            and counted_in_order(job.step.reduction, job.step.type_code, 1) != NULL)


cdef inline bint have_point_cells(const Job* job) noexcept nogil:
    """The same for cells of some numbers. It is faster to add to the numbers alone while another thread counts."""
    return (job.n_threads == 1 and accumulates_rows(job) and needs_counts(job)
            and counted_in_order(job.step.reduction, job.step.type_code, <int>job.step.row.n_inner) != NULL)


cdef inline Py_ssize_t cell_bytes(const Job* job) noexcept nogil:
    return job.row_bytes + job.step.row.item_bytes


cdef inline void start_cells_from(const Job* job, char* cells, const char* numbers, bint repeats,
                                  Py_ssize_t n) noexcept nogil:
    """Initialise n cells. repeats: one number is for all."""
    loops.start_cells(<int>job.step.row.item_bytes, row_items(job), cells, numbers, repeats, n)


cdef inline void start_cells(const Job* job, char* cells, const char* data, Py_ssize_t n) noexcept nogil:
    """The same for accumulators of n elements. data: these or, in place, those of the result."""
    if job.include_self:
        start_cells_from(job, cells, data, False, n)
    else:
        start_cells_from(job, cells, job.reduction.identity[<int>job.step.type_code], True, n)


cdef inline void finish_cells(const Job* job, const char* cells, const char* data, char* out,
                              Py_ssize_t n) noexcept nogil:
    """Write n elements of the result. Those without an update are elements of data."""
    if not job.divides:
        loops.finish_cells(<int>job.step.row.item_bytes, row_items(job), cells, data, out, n)
    elif job.include_self:  # cells have those of data
        loops.divide_cells(job.step.type_code, row_items(job), cells, NULL, out, n, 1)
    else:
        loops.divide_cells(job.step.type_code, row_items(job), cells, data, out, n, 0)


cdef inline bint can_use_cells(const Job* job, const Marks* marks) noexcept nogil:
    """Whether there are loops for their updates, and for those that these leave to others."""
    return ((have_cells(job) or have_point_cells(job)) and job.repeats == 1
            and counting_loop(job, marks) != NULL
            and direct_loop(&job.tuples, &job.walk, &job.step) != NULL)


cdef inline Py_ssize_t apply_to_cells(const Job* job, char* cells, Py_ssize_t low, Py_ssize_t start,
                                      Py_ssize_t stop) noexcept nogil:
    """Apply tuples start to stop, from the offset low of the result on. Returns where it stopped."""
    cdef LoopInOrder loop = counted_in_order(job.step.reduction, job.step.type_code, <int>row_items(job))
    return run_in_order(job, loop, cells, low, job.row_bytes, cell_bytes(job), job.updates, False, start, stop)


cdef inline void unpack_cells(const Job* job, const char* cells, char* sums, Marks* marks,
                              Py_ssize_t n) noexcept nogil:
    """Write the numbers and the counts of n cells to two arrays, as loops other than this one need them."""
    cdef Py_ssize_t width = job.step.row.item_bytes, i
    cdef uint32_t count
    cdef uint64_t wide
    for i in range(n):
        memcpy(sums + i * job.row_bytes, cells + i * cell_bytes(job), job.row_bytes)
        if width == 4:
            memcpy(&count, cells + i * cell_bytes(job) + job.row_bytes, 4)
            wide = count
        else:
            memcpy(&wide, cells + i * cell_bytes(job) + job.row_bytes, 8)
        set_mark(marks, i, wide)


cdef inline void reduce_in_cells(const Job* job, Marks* marks, char* cells, char* sums, Py_ssize_t low, Py_ssize_t n,
                                 char* out, const char* data, Py_ssize_t start, Py_ssize_t stop,
                                 Py_ssize_t* status) noexcept nogil:
    """Write n elements of the result from tuples start to stop. low: the offset of the first element.

    cells: memory for n of them. sums, marks: for tuples that the loop leaves to others; marks are unset.
    """
    status[0] = OK
    start_cells(job, cells, data, n)
    start = apply_to_cells(job, cells, low, start, stop)
    if start < stop:
        unpack_cells(job, cells, sums, marks, n)
        apply_and_count(job, marks, <char*>(<size_t>sums - <size_t>low), start, stop, status)
        if status[0] == OK:
            finish_elements(job, marks, sums, data, out, n)
    else:
        finish_cells(job, cells, data, out, n)
