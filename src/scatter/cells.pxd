# Means of float32 and float64, and of points of some of them: each accumulator stands next to the count of its updates,
# in a cell (loops/cells.hpp). One loop adds and counts, and both are in one cache line.
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from common.codes cimport FLOAT32, FLOAT64, OK
from scatter.accumulate cimport accumulates_rows, finish_elements
from scatter.direct cimport LoopInOrder, direct_loop, means_in_order
from scatter.job cimport Job, apply_and_count, counting_loop, row_items, run_in_order
from scatter.loops.table cimport loops
from scatter.marks cimport Marks


cdef inline bint have_cells(const Job* job) noexcept nogil:
    """Whether the elements of the result can be cells of one number. Their counts are also those of job.marks."""
    return (job.accumulates and job.divides and job.step.by_value and not job.step.swapped
            and (job.step.type_code == FLOAT32 or job.step.type_code == FLOAT64) and job.marks.width == 4)


cdef inline bint have_point_cells(const Job* job) noexcept nogil:
    """The same for cells of some numbers. It is faster to add to the numbers alone while another thread counts."""
    return (job.n_threads == 1 and job.divides and job.marks.width == 4 and accumulates_rows(job)
            and means_in_order(job.step.type_code, <int>job.step.row.n_inner) != NULL)


cdef inline Py_ssize_t cell_bytes(const Job* job) noexcept nogil:
    return job.row_bytes + job.step.row.item_bytes


cdef inline void start_cells(const Job* job, char* cells, const char* data, Py_ssize_t n) noexcept nogil:
    """Initialise n cells. data: the elements of data or, in place, of the result."""
    cdef const char* numbers = data if job.include_self else job.reduction.identity[<int>job.step.type_code]
    loops.start_cells(<int>job.step.row.item_bytes, row_items(job), cells, numbers, not job.include_self, n)


cdef inline void finish_cells(const Job* job, const char* cells, const char* data, char* out,
                              Py_ssize_t n) noexcept nogil:
    """Write n means, or, where there was no update, elements of data."""
    if job.include_self:
        data = NULL  # cells have it
    if job.step.type_code == FLOAT32:
        loops.divide_float_cells(row_items(job), cells, data, out, n, job.include_self)
    else:
        loops.divide_double_cells(row_items(job), cells, data, out, n, job.include_self)


cdef inline bint can_use_cells(const Job* job, const Marks* marks) noexcept nogil:
    """Whether there are loops for their updates, and for those that these leave to others."""
    return ((have_cells(job) or have_point_cells(job)) and job.repeats == 1
            and counting_loop(job, marks) != NULL
            and direct_loop(&job.tuples, &job.walk, &job.step, job.out_bytes) != NULL)


cdef inline Py_ssize_t apply_to_cells(const Job* job, char* cells, Py_ssize_t low, Py_ssize_t start,
                                      Py_ssize_t stop) noexcept nogil:
    """Apply tuples start to stop, from the offset low of the result on. Returns where it stopped."""
    cdef LoopInOrder loop = means_in_order(job.step.type_code, <int>row_items(job))
    return run_in_order(job, loop, cells, low, job.row_bytes, cell_bytes(job), job.updates, False, start, stop)


cdef inline void unpack_cells(const char* cells, Py_ssize_t row_bytes, Py_ssize_t width, char* sums, char* counts,
                              Py_ssize_t n) noexcept nogil:
    """Write sums and counts of n cells to two arrays, as loops other than this one need them."""
    cdef int32_t count
    cdef int64_t wide
    cdef Py_ssize_t i
    for i in range(n):
        memcpy(sums + i * row_bytes, cells + i * (row_bytes + width), row_bytes)
        if width == 4:
            memcpy(&count, cells + i * (row_bytes + width) + row_bytes, 4)
        else:
            memcpy(&wide, cells + i * (row_bytes + width) + row_bytes, 8)
            count = <int32_t>wide
        memcpy(counts + 4 * i, &count, 4)


cdef inline void average_in_cells(const Job* job, const Marks* marks, char* cells, char* sums, Py_ssize_t low,
                                  Py_ssize_t n, char* out, const char* data, Py_ssize_t start, Py_ssize_t stop,
                                  Py_ssize_t* status) noexcept nogil:
    """Write n elements of the result from tuples start to stop. low: the offset of the first element.

    cells: memory for n of them. sums, marks: for tuples that the loop leaves to others.
    """
    status[0] = OK
    start_cells(job, cells, data, n)
    start = apply_to_cells(job, cells, low, start, stop)
    if start < stop:
        unpack_cells(cells, job.row_bytes, job.step.row.item_bytes, sums, marks.table, n)
        apply_and_count(job, marks, <char*>(<size_t>sums - <size_t>low), start, stop, status)
        if status[0] == OK:
            finish_elements(job, marks, sums, data, out, n)
    else:
        finish_cells(job, cells, data, out, n)
