# Means of single float32 and float64: each accumulator stands next to the count of its updates, in a cell (records.h).
# One loop adds and counts, and both are in one cache line.
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from common.codes cimport FLOAT32, FLOAT64, OK
from common.interrupts cimport is_interrupted
from common.resolve cimport are_native
from common.walk cimport DATA, INDICES, OTHER, Cursor, seek, advance
from scatter.accumulate cimport finish_elements
from scatter.direct cimport DIRECT_RUN, LoopInOrder, Pairs, direct_loop, means_in_order, pairs_of, point_to
from scatter.job cimport Job, apply_and_count, counting_loop
from scatter.loops.table cimport loops
from scatter.marks cimport Marks


cdef inline bint have_cells(const Job* job) noexcept nogil:
    """Whether the elements of the result can be cells. Then, their counts are also those of job.marks."""
    return (job.accumulates and job.divides and job.step.by_value and not job.step.swapped
            and (job.step.type_code == FLOAT32 or job.step.type_code == FLOAT64) and job.marks.width == 4)


cdef inline void start_cells(const Job* job, char* cells, const char* data, Py_ssize_t n) noexcept nogil:
    """Initialise n cells. data: the elements of data or, in place, of the result."""
    cdef int width = <int>job.step.row.item_bytes
    if job.include_self:
        loops.start_cells(width, cells, data, width, n)
    else:
        loops.start_cells(width, cells, job.reduction.identity[<int>job.step.type_code], 0, n)


cdef inline void finish_cells(const Job* job, const char* cells, const char* data, char* out,
                              Py_ssize_t n) noexcept nogil:
    """Write n means, or, where there was no update, elements of data."""
    if job.include_self:
        data = NULL  # cells have it
    if job.step.type_code == FLOAT32:
        loops.divide_float_cells(cells, data, out, n, job.include_self)
    else:
        loops.divide_double_cells(cells, data, out, n, job.include_self)


cdef inline bint can_use_cells(const Job* job, const Marks* marks) noexcept nogil:
    """Whether there are loops for their updates, and for those that these leave to others."""
    return (have_cells(job) and job.repeats == 1 and job.row_bytes == job.step.row.item_bytes
            and counting_loop(job, marks) != NULL
            and direct_loop(&job.tuples, &job.walk, &job.step, job.out_bytes) != NULL)


cdef inline Py_ssize_t apply_to_cells(const Job* job, char* cells, Py_ssize_t low, Py_ssize_t start,
                                      Py_ssize_t stop) noexcept nogil:
    """Apply tuples start to stop, from the offset low of the result on. Returns where it stopped."""
    cdef Cursor cursor
    cdef Pairs pairs = pairs_of(&job.tuples, &job.walk)
    cdef LoopInOrder loop = means_in_order(job.step.type_code)
    cdef int inner = job.walk.n_dims - 1
    cdef Py_ssize_t n, done
    cdef const char* p
    seek(&job.walk, start, &cursor)
    while start < stop:
        n = min(job.walk.shape[inner] - cursor.coordinate[inner], min(stop - start, <Py_ssize_t>DIRECT_RUN))
        p = job.tuples.base + cursor.offset[INDICES]
        if not are_native(&job.tuples, p, pairs.step) or is_interrupted(job.interrupts, n):
            break
        point_to(&pairs, &job.tuples, p)
        done = loop(&pairs, cells + 2 * (cursor.offset[DATA] - low), job.updates + cursor.offset[OTHER],
                    job.walk.stride[inner][OTHER], n)
        start += done
        if done < n:
            break
        advance(&job.walk, n, &cursor)
    return start


cdef inline void unpack_cells(const char* cells, Py_ssize_t width, char* sums, char* counts,
                              Py_ssize_t n) noexcept nogil:
    """Write sums and counts of n cells to two arrays, as loops other than this one need them."""
    cdef int32_t count
    cdef int64_t wide
    cdef Py_ssize_t i
    for i in range(n):
        memcpy(sums + i * width, cells + 2 * i * width, width)
        if width == 4:
            memcpy(&count, cells + (2 * i + 1) * width, 4)
        else:
            memcpy(&wide, cells + (2 * i + 1) * width, 8)
            count = <int32_t>wide
        memcpy(counts + 4 * i, &count, 4)


cdef inline void average_in_cells(const Job* job, const Marks* marks, char* cells, char* sums, Py_ssize_t low,
                                  Py_ssize_t n, char* out, const char* data, Py_ssize_t start, Py_ssize_t stop,
                                  Py_ssize_t* status) noexcept nogil:
    """Write n elements of the result from tuples start to stop. low: the offset of the first element.

    cells: twice as many bytes as the elements. sums, marks: for tuples that the loop leaves to others.
    """
    status[0] = OK
    start_cells(job, cells, data, n)
    start = apply_to_cells(job, cells, low, start, stop)
    if start < stop:
        unpack_cells(cells, job.row_bytes, sums, marks.table, n)
        apply_and_count(job, marks, <char*>(<size_t>sums - <size_t>low), start, stop, status)
        if status[0] == OK:
            finish_elements(job, marks, sums, data, out, n)
    else:
        finish_cells(job, cells, data, out, n)
