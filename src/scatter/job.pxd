# cython: cdivision=True
# The description of one scatter, and what all routes do with it: check all indices, write data, begin to write.
#
# Destinations are rows of the result, numbered in row-major order. Tuples are resolved to row ids, whatever the strides
# of the result. updates.pxd applies updates.
from cpython.object cimport PyObject
from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy
cimport numpy as cnp

from common.codes cimport INCONSISTENT, INTERRUPTED, N_CODES, NO_MEMORY, OK, RAISE
from common.copies cimport fill_elements
from common.interrupts cimport CLOCK_WORK, WORK_STEP, Interrupts, disarm, is_interrupted
from common.resolve cimport BLOCK, Tuples, are_simple, can_fail, resolve_block
from common.rows cimport Row
from common.threads cimport BRIEF_NS, BRIEF_TUPLES, MAX_TASKS, chunk_start, first_error
from common.walk cimport INDICES, OTHER, Cursor, Walk, seek
from prepared.order cimport Order
from scatter.convert cimport Conversion
from scatter.kernels cimport Kernel
from scatter.weights cimport Weights

ctypedef fused index_t:
    int32_t
    int64_t

cdef struct Reduction:
    # The arguments of register(). In masks bit t stands for TypeCode t.
    int step                    # ReductionCode
    uint32_t types              # mask: supported; 0: any dtype
    uint32_t associative        # mask: grouping the updates, in order, cannot change a bit of the result
    uint32_t has_identity       # mask
    bint divides                # a mean
    char identity[N_CODES][16]

cdef struct Job:
    Tuples tuples               # strides are in rows
    Walk walk                   # of DATA in rows, of updates in bytes
    Kernel kernel
    Conversion conversion       # between memory and accumulators
    Row row                     # of a contiguous result, and of updates
    bint rows_are_elements      # of a width that fits a register
    bint copies_updates         # to scratch memory before they are applied: converted, or made contiguous
    bint in_result              # accumulators may be in the result itself
    bint include_self           # destinations start from their elements of data, not from their first updates
    bint divides                # a mean
    const char* identity        # accumulators start from it; NULL: from data
    bint is_associative
    bint by_updates             # few updates: only the rows that they name are opened and closed
    bint by_last                # an accumulator is the number of a row's last update, counted from 1; 0: none
    const Reduction* reduction
    # The result, and data that are to be copied into it
    PyObject* out_array
    char* out
    bint is_dense               # the result is contiguous
    Py_ssize_t n_rows
    Py_ssize_t row_items
    Py_ssize_t row_bytes        # of the result
    Py_ssize_t out_bytes
    const char* data            # contiguous; NULL: out holds it already, or begin_writing copies it
    PyObject* strided           # data to be copied by begin_writing: it, or out, is not contiguous; NULL: none
    const char* data_element    # of contiguous data that repeat one element; NULL: they do not
    Py_ssize_t element_bytes
    Walk out_walk               # of a result that is not contiguous: over its rows, in bytes
    Row out_row
    # The updates
    const char* updates
    bint updates_are_linear     # the offset in updates advances by one stride over the walk
    const int32_t* update_rows  # update t is this row of `updates`; NULL: `updates` has one row for each tuple
    Weights weights             # by which these rows are multiplied
    # Prepared indices
    const Order* order          # NULL: none
    # Batches: tuples of a unit name rows of this unit only
    Py_ssize_t n_units
    Py_ssize_t unit_tuples
    Py_ssize_t unit_rows
    # The call
    bint shares                 # the call shares the CPUs with others: see begin_call
    bint checks_first           # the caller's array must stay as it is if the call fails
    Interrupts* interrupts
    Py_ssize_t block            # tuples of a block
    Py_ssize_t tuple_work       # to apply one, in units of about a nanosecond
    bint repeats                # most updates go to the same row as the one before
    bint prefetches             # accumulators, which do not fit L2
    bint streams                # the result is larger than the caches: non-temporal stores
    int max_threads             # that the cost model may choose
    int n_threads               # that it chose


cdef inline Py_ssize_t update_step(const Job* job) noexcept nogil:
    return job.walk.stride[job.walk.n_dims - 1][OTHER]


cdef inline bint must_write_data(const Job* job) noexcept nogil:
    """Whether rows of the result are still to be written from data."""
    return job.data != NULL or job.data_element != NULL


cdef inline void open_all_rows(Job* job) noexcept nogil:
    """Let all rows be opened and closed, although few are named."""
    job.by_updates = False
    if job.identity != NULL and not job.divides:
        job.kernel.mark_bytes = 1
    if job.identity != NULL and not must_write_data(job):
        job.in_result = False  # data are needed until the end


cdef inline bint is_brief(const Job* job) noexcept nogil:
    """Whether the work is done before another thread could use the GIL."""
    cdef double work_ns = <double>job.walk.n * job.tuple_work
    if must_write_data(job):
        work_ns += job.out_bytes / 8.0
    return work_ns < BRIEF_NS and job.walk.n <= BRIEF_TUPLES


cdef inline void check_native(index_t* indices, int64_t size, int64_t wrap, Py_ssize_t n,
                              uint64_t* outside) noexcept nogil:
    cdef Py_ssize_t i
    cdef int64_t index
    cdef uint64_t any = 0
    for i in range(n):
        index = indices[i]
        index += (index >> 63) & wrap
        any |= <uint64_t>index >= <uint64_t>size
    outside[0] = any


cdef inline bint are_inside(const Job* job, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    """Whether tuples start to stop, all of one index in one array, are in bounds. False: they may be."""
    cdef const char* indices = job.tuples.base + start * job.walk.stride[0][INDICES]
    cdef uint64_t outside = 1
    if (job.tuples.mode == RAISE and job.tuples.k == 1 and job.tuples.arrays == NULL and job.walk.n_dims == 1
            and are_simple(&job.tuples, indices, job.walk.stride[0][INDICES])):
        if job.tuples.width == 8:
            check_native(<int64_t*>indices, job.tuples.size[0], job.tuples.wrap[0], stop - start, &outside)
        else:
            check_native(<int32_t*>indices, job.tuples.size[0], job.tuples.wrap[0], stop - start, &outside)
    return not outside


cdef inline void check_chunk(const Job* job, Py_ssize_t chunk, Py_ssize_t n_chunks, Py_ssize_t* status) noexcept nogil:
    cdef int64_t rows[BLOCK]
    cdef Cursor cursor
    cdef Py_ssize_t start = chunk_start(job.walk.n, n_chunks, chunk)
    cdef Py_ssize_t stop = chunk_start(job.walk.n, n_chunks, chunk + 1)
    cdef Py_ssize_t n
    status[0] = OK
    while start < stop and are_inside(job, start, min(start + WORK_STEP, stop)):
        start = min(start + WORK_STEP, stop)
        if is_interrupted(job.interrupts, WORK_STEP):
            status[0] = INTERRUPTED
            return
    seek(&job.walk, start, &cursor)
    while start < stop:
        resolve_block(&job.tuples, &job.walk, &cursor, min(<Py_ssize_t>BLOCK, stop - start), False, rows, &n)
        if n < 0:
            status[0] = start * job.tuples.k - 1 - n
            return
        if is_interrupted(job.interrupts, n * job.tuples.k):
            status[0] = INTERRUPTED
            return
        start += n


cdef inline Py_ssize_t check_tuples(const Job* job) noexcept:
    """Resolve all tuples, for a route that writes before it has. Returns OK or the position of the first bad index."""
    cdef Py_ssize_t status[MAX_TASKS]
    cdef int n_threads = job.n_threads
    cdef Py_ssize_t chunk
    if not can_fail(&job.tuples):
        return OK
    if is_brief(job):
        check_chunk(job, 0, 1, &status[0])
        return status[0]
    if n_threads == 1:
        with nogil:
            check_chunk(job, 0, 1, &status[0])
        return status[0]
    for chunk in prange(n_threads, num_threads=n_threads, schedule="static", nogil=True):
        check_chunk(job, chunk, n_threads, &status[chunk])
    return first_error(status, n_threads)


cdef inline void write_data(const Job* job, Py_ssize_t first, Py_ssize_t n) noexcept nogil:
    """Write n rows of the result from data or its element. A signal may stop it."""
    cdef Py_ssize_t start = first * job.row_bytes, stop = start + n * job.row_bytes, m
    while start < stop:
        m = min(<Py_ssize_t>8 * CLOCK_WORK, stop - start)
        if is_interrupted(job.interrupts, m >> 3):
            return
        if job.data_element != NULL:
            m -= m % job.element_bytes
            fill_elements(job.element_bytes, job.data_element, job.out + start, m // job.element_bytes)
        else:
            memcpy(job.out + start, job.data + start, m)
        start += m


cdef inline Py_ssize_t begin_writing(const Job* job, bint check_now) noexcept:
    """Call this once, when all memory is allocated and before the result is written to. Returns a Status or a position.

    check_now: check all tuples first. Then data that is not contiguous is copied. From here on a scatter into the
    caller's array goes on to its end.
    """
    cdef Py_ssize_t status = OK
    if check_now:
        status = check_tuples(job)
    if status != OK:
        return status
    if job.checks_first:
        disarm(job.interrupts)
    if job.strided != NULL:
        try:
            cnp.PyArray_CopyInto(<cnp.ndarray>job.out_array, <cnp.ndarray>job.strided)
        except MemoryError:
            return NO_MEMORY
        except Exception:  # a signal's handler changed an array
            return INCONSISTENT
    return OK
