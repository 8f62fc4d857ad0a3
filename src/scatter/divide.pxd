# Means: the division of a result's rows by the numbers of their terms, for all strategies.
from cython.parallel cimport prange

from common.interrupts cimport STEP_BYTES, is_interrupted
from common.threads cimport chunk_start, team_size
from scatter.job cimport Job, row_items
from scatter.marks cimport Marks
from scatter.means cimport divide_rows, divide_slots
from scatter.reductions cimport Step


cdef inline void divide_steps(const Job* job, const Step* step, const Marks* marks, char* out,
                              Py_ssize_t n_rows) noexcept nogil:
    """Divide rows as divide_rows does. A signal may stop it."""
    cdef Marks some = marks[0]
    cdef Py_ssize_t start = 0, n = max(<Py_ssize_t>1, STEP_BYTES // max(job.row_bytes, <Py_ssize_t>1))
    while start < n_rows:
        n = min(n, n_rows - start)
        if is_interrupted(job.interrupts, n * job.row_bytes >> 1):
            return
        some.table = marks.table + start * marks.width
        divide_rows(step, &some, job.include_self, out + start * job.row_bytes, job.row_bytes, n)
        start += n


cdef inline void divide_chunk(const Job* job, const Marks* marks, Py_ssize_t chunk,
                              Py_ssize_t n_chunks) noexcept nogil:
    cdef Marks some = marks[0]
    cdef Py_ssize_t start = chunk_start(job.n_rows, n_chunks, chunk)
    cdef Py_ssize_t stop = chunk_start(job.n_rows, n_chunks, chunk + 1)
    some.table = marks.table + start * marks.width
    divide_steps(job, &job.step, &some, job.out + start * job.row_bytes, stop - start)


cdef inline void divide_means(const Job* job, const Marks* marks) noexcept:
    """Divide at once, for a strategy that does not divide piece by piece."""
    cdef int n_threads
    cdef Py_ssize_t chunk
    if not job.divides:
        return
    if marks.keys != NULL:
        with nogil:
            divide_slots(&job.step, marks, job.include_self, job.out)
        return
    n_threads = team_size(job.max_threads, job.forced_threads, <double>job.n_rows * row_items(job))
    if n_threads == 1:
        with nogil:
            divide_chunk(job, marks, 0, 1)
    else:
        for chunk in prange(n_threads, num_threads=n_threads, schedule="static", nogil=True):
            divide_chunk(job, marks, chunk, n_threads)
