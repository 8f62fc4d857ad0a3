# PRIVATE: each thread has a copy of the destinations for its run of the updates, and the copies are combined.
from cython.parallel cimport prange
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t
from cpython.mem cimport PyMem_RawFree as free, PyMem_RawMalloc as malloc  # so that tracemalloc sees it
from libc.string cimport memcpy, memset

from apply cimport combine_any_run
from items cimport cloned_void
from numbers cimport ADD, ASSIGN, INT8, MUL, UINT64
from scatter_job cimport RECORD_BYTES, Job, apply_tuples, first_bad_of, share
from threads cimport MAX_TASKS

cdef enum:
    PRIVATE_BYTES = 1 << 18     # of a result
    MIN_PRIVATE = 64            # updates to a destination and thread, so that copies of it are small beside them


cdef inline bint is_private(const Job* job, Py_ssize_t reach, int n_threads) noexcept nogil:
    return (n_threads > 1 and INT8 <= job.step.number <= UINT64 and job.step.reduction != ASSIGN and job.by_value
            and job.low == 0 and reach + job.step.row.item_bytes == job.out_bytes and job.out_bytes <= PRIVATE_BYTES
            and n_threads * job.out_bytes <= RECORD_BYTES
            and job.walk.n // (MIN_PRIVATE * n_threads) >= job.out_bytes // job.step.row.item_bytes)


cdef inline void run_private(const Job* job, char* copies, Py_ssize_t chunk, Py_ssize_t n_chunks,
                             Py_ssize_t* status) noexcept nogil:
    """A chunk of the updates; the first one into the result itself."""
    cdef char* out = copies + (chunk - 1) * job.out_bytes if chunk else job.out
    apply_tuples(job, &job.step, out, job.updates, share(job.walk.n, n_chunks, chunk),
                 share(job.walk.n, n_chunks, chunk + 1), status)


cdef inline void start_private(const Job* job, char* copy) noexcept nogil:
    """What combining with leaves a number as it is."""
    cdef Py_ssize_t width = job.step.row.item_bytes, i
    cdef int8_t one8 = 1
    cdef int16_t one16 = 1
    cdef int32_t one32 = 1
    cdef int64_t one64 = 1
    cdef void* one = &one8
    if width > 1:
        one = <void*>&one16 if width == 2 else <void*>&one32 if width == 4 else <void*>&one64
    if job.step.reduction == ADD:
        memset(copy, 0, job.out_bytes)
    elif job.step.reduction == MUL:
        for i in range(job.out_bytes // width):
            memcpy(copy + i * width, one, width)
    else:
        memcpy(copy, job.out, job.out_bytes)


cdef inline cloned_void combine_private(const Job* job, const char* copy) noexcept nogil:
    cdef Py_ssize_t width = job.step.row.item_bytes
    combine_any_run(job.step.number, job.step.reduction, job.out, width, copy, width, job.out_bytes // width)


cdef inline bint run_privates(Job* job, int n_threads, Py_ssize_t* bad) noexcept:
    """False: there is no memory for the copies, and nothing was done."""
    cdef Py_ssize_t status[MAX_TASKS]
    cdef Py_ssize_t chunk
    cdef char* copies = <char*>malloc((n_threads - 1) * job.out_bytes)
    if copies == NULL:
        return False
    for chunk in range(n_threads - 1):
        start_private(job, copies + chunk * job.out_bytes)
    for chunk in prange(n_threads, num_threads=n_threads, schedule="static", nogil=True):
        run_private(job, copies, chunk, n_threads, &status[chunk])
    for chunk in range(n_threads - 1):
        combine_private(job, copies + chunk * job.out_bytes)
    free(copies)
    bad[0] = first_bad_of(status, n_threads)
    return True
