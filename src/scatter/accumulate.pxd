# Accumulators: elements or rows are accumulated from the reduction's identity (include_self=False) or from data (a
# mean). At the end, those without updates, by their marks, are replaced by those of data. So the updates are applied by
# the same loops as without marks.
from cython.parallel cimport prange
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from common.items cimport bytes16, cloned_void, inline_void, word_t
from common.interrupts cimport is_interrupted
from common.threads cimport chunk_start
from scatter.fill cimport fill_elements
from scatter.job cimport Job, row_items
from scatter.marks cimport Marks, count_of
from scatter.means cimport divide_elements, divide_rows

cdef enum:
    STEP_ELEMENTS = 1 << 20  # of a pass over the result, between two questions for signals

cdef inline inline_void choose_element(word_t* type, int mark, const char* sums, const char* data, char* out,
                                       Py_ssize_t i) noexcept nogil:
    """out[i] = sums[i] if mark else data[i]. The mark is 0 or 1."""
    cdef word_t a, b
    memcpy(&a, sums + i * sizeof(word_t), sizeof(word_t))
    memcpy(&b, data + i * sizeof(word_t), sizeof(word_t))
    if word_t is bytes16:
        if not mark:
            a = b
    else:
        a = b ^ ((a ^ b) & <word_t>-mark)
    memcpy(out + i * sizeof(word_t), &a, sizeof(word_t))


cdef inline inline_void choose_typed(word_t* type, const uint8_t* marks, const char* sums, const char* data, char* out,
                                     Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        choose_element(type, marks[i], sums, data, out, i)


cdef inline cloned_void choose_elements(Py_ssize_t width, const uint8_t* marks, const char* sums, const char* data,
                                        char* out, Py_ssize_t n) noexcept nogil:
    """out[i] = sums[i] if marks[i] else data[i]. Marks are 0 or 1."""
    if width == 4:
        choose_typed(<uint32_t*>NULL, marks, sums, data, out, n)
    elif width == 8:
        choose_typed(<uint64_t*>NULL, marks, sums, data, out, n)
    elif width == 1:
        choose_typed(<uint8_t*>NULL, marks, sums, data, out, n)
    elif width == 2:
        choose_typed(<uint16_t*>NULL, marks, sums, data, out, n)
    else:
        choose_typed(<bytes16*>NULL, marks, sums, data, out, n)


cdef inline bint accumulates_rows(const Job* job) noexcept nogil:
    """Whether rows can be accumulated in the result itself, and soon enough: some are written twice."""
    return (job.marks.width and not job.step.by_value and job.is_contiguous and job.row_bytes > 0
            and job.step.row.outer.n == 1 and job.step.row.n_inner * job.step.row.item_bytes == job.row_bytes
            and not job.step.swapped
            and (job.include_self or (job.data != NULL and job.walk.n >= job.n_rows
                                      and job.reduction.has_identity >> <int>job.step.type_code & 1)))


cdef inline Py_ssize_t rows_of_a_step(const Job* job) noexcept nogil:
    return max(<Py_ssize_t>1, STEP_ELEMENTS // row_items(job))


cdef inline void start_elements(const Job* job, char* sums, const char* data, Py_ssize_t n) noexcept nogil:
    """Initialise n accumulators. data: the elements of data or, in place, of the result. A signal may stop it.

    For rows, here and below, n is a number of rows.
    """
    cdef Py_ssize_t most = rows_of_a_step(job), items = row_items(job)
    cdef Py_ssize_t m
    while n > 0:
        m = min(n, most)
        if m == most and is_interrupted(job.interrupts, m * items):
            return
        if not job.include_self:
            fill_elements(job.step.row.item_bytes, job.reduction.identity[<int>job.step.type_code], sums, m * items)
        elif sums != data:
            memcpy(sums, data, m * job.row_bytes)
        sums += m * job.row_bytes
        data += m * job.row_bytes
        n -= m


cdef inline void finish_step_of_rows(const Job* job, const Marks* marks, const char* data, char* out,
                                     Py_ssize_t n) noexcept nogil:
    """As finish_elements, for rows, whose accumulators are in out."""
    cdef Py_ssize_t i
    if not job.include_self:
        for i in range(n):
            if count_of(marks, i) == 0:
                memcpy(out + i * job.row_bytes, data + i * job.row_bytes, job.row_bytes)
    if job.divides:
        divide_rows(&job.step, marks, job.include_self, out, job.row_bytes, n)


cdef inline void finish_elements(const Job* job, const Marks* marks, char* sums, const char* data, char* out,
                                 Py_ssize_t n) noexcept nogil:
    """Write n elements of the result, each from its accumulator or from data. A signal may stop it.

    marks: their marks begin the table.
    """
    cdef Py_ssize_t most = rows_of_a_step(job)
    cdef Py_ssize_t m
    cdef Marks some = marks[0]
    while n > 0:
        m = min(n, most)
        if m == most and is_interrupted(job.interrupts, 2 * m * row_items(job)):
            return
        if not job.step.by_value:
            finish_step_of_rows(job, &some, data, out, m)
        elif job.divides:
            divide_elements(job.step.type_code, &some, sums, data, m, job.include_self)
            if sums != out:
                memcpy(out, sums, m * job.row_bytes)
        else:
            choose_elements(job.row_bytes, <const uint8_t*>some.table, sums, data, out, m)
        some.table += m * some.width
        sums += m * job.row_bytes
        data += m * job.row_bytes
        out += m * job.row_bytes
        n -= m


cdef inline bint needs_scratch(const Job* job) noexcept nogil:
    """Whether accumulators can't be in the result itself, since that holds the elements of data."""
    return job.data == NULL and not job.include_self


cdef inline const char* elements_of_data(const Job* job) noexcept nogil:
    return job.data if job.data != NULL else job.out


cdef inline void start_chunk(const Job* job, char* sums, Py_ssize_t chunk, Py_ssize_t n_chunks) noexcept nogil:
    cdef Py_ssize_t start = chunk_start(job.n_rows, n_chunks, chunk)
    cdef Py_ssize_t stop = chunk_start(job.n_rows, n_chunks, chunk + 1)
    start_elements(job, sums + start * job.row_bytes, elements_of_data(job) + start * job.row_bytes, stop - start)


cdef inline void finish_chunk(const Job* job, const Marks* marks, char* sums, Py_ssize_t chunk,
                              Py_ssize_t n_chunks) noexcept nogil:
    cdef Marks some = marks[0]
    cdef Py_ssize_t start = chunk_start(job.n_rows, n_chunks, chunk)
    cdef Py_ssize_t stop = chunk_start(job.n_rows, n_chunks, chunk + 1)
    some.table += start * marks.width
    finish_elements(job, &some, sums + start * job.row_bytes, elements_of_data(job) + start * job.row_bytes,
                    job.out + start * job.row_bytes, stop - start)


cdef inline void start_all(const Job* job, char* sums) noexcept:
    """Initialise the accumulators of the whole result."""
    cdef int n_threads = job.n_threads
    cdef Py_ssize_t chunk
    if n_threads == 1:
        with nogil:
            start_chunk(job, sums, 0, 1)
    else:
        for chunk in prange(n_threads, num_threads=n_threads, schedule="static", nogil=True):
            start_chunk(job, sums, chunk, n_threads)


cdef inline void finish_all(const Job* job, const Marks* marks, char* sums) noexcept:
    """Write the whole result."""
    cdef int n_threads = job.n_threads
    cdef Py_ssize_t chunk
    if n_threads == 1:
        with nogil:
            finish_chunk(job, marks, sums, 0, 1)
    else:
        for chunk in prange(n_threads, num_threads=n_threads, schedule="static", nogil=True):
            finish_chunk(job, marks, sums, chunk, n_threads)
