# cython: cdivision=True
# Route "private": few destinations and a reduction that may be regrouped without changing a bit. Each thread applies a
# chunk of the updates to a copy of its own, which starts from the identity; then copies are merged, in the order of the
# chunks: a thread takes a range of rows of all copies.
from cython.parallel cimport prange
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset
cimport numpy as cnp

from common.codes cimport ASSIGN, OK
from common.copies cimport fill_elements
from common.items cimport CACHE_LINE, at_line, whole_lines
from common.resolve cimport BLOCK
from common.scratch cimport WINDOW_BYTES, allocate_scratch
from common.threads cimport MAX_TASKS, chunk_start, first_error
from scatter.job cimport Job, begin_writing
from scatter.kernels cimport Kernel, Rows, apply_rows, mark_of
from scatter.tile cimport Tile, close_tile, open_tile
from scatter.updates cimport apply_tuples

cdef struct Private:
    const Job* job
    Kernel kernel               # of copies
    char start[16]              # what their accumulators start from
    Py_ssize_t copy_bytes
    Py_ssize_t copy_marks
    char* copies                # of each thread: accumulators, then marks
    char* marks                 # of the whole result; NULL: none


cdef inline int copy_mark_bytes(const Job* job) noexcept nogil:
    """Assignments have no identity: a mark tells which rows of a copy have updates."""
    return 1 if job.kernel.step == ASSIGN else job.kernel.mark_bytes


cdef inline Py_ssize_t private_bytes(const Job* job) noexcept nogil:
    """Bytes of a copy."""
    return (whole_lines(job.n_rows * job.kernel.row_bytes) + whole_lines(job.n_rows * copy_mark_bytes(job))
            + 2 * CACHE_LINE)


cdef inline bint can_be_private(const Job* job, int n_threads) noexcept nogil:
    # Not for bool: a step normalises any true byte to 1, so merging would change rows without updates.
    return (n_threads > 1 and job.is_associative and not job.divides and job.in_result
            and not job.by_updates
            and (job.kernel.step == ASSIGN or job.reduction.has_identity >> <int>job.kernel.type_code & 1)
            and (n_threads + 1) * private_bytes(job) <= WINDOW_BYTES and job.order == NULL)


cdef inline void run_copy(const Private* private, Py_ssize_t chunk, Py_ssize_t* status) noexcept nogil:
    cdef Job job = private.job[0]
    cdef char* copy = private.copies + chunk * (private.copy_bytes + private.copy_marks)
    job.kernel = private.kernel
    if job.kernel.step != ASSIGN:
        fill_elements(job.conversion.wide_bytes, private.start, copy, job.n_rows * job.row_items)
    memset(copy + private.copy_bytes, 0, private.copy_marks)
    apply_tuples(&job, copy, copy + private.copy_bytes, chunk_start(job.walk.n, job.n_threads, chunk),
                 chunk_start(job.walk.n, job.n_threads, chunk + 1), 0, job.n_rows, status)


cdef inline void merge_rows(const Private* private, const Tile* tile, const char* copy,
                            const char* marks) noexcept nogil:
    """Apply the rows of a copy that have updates to those of the tile."""
    cdef const Job* job = private.job
    cdef int64_t rows[BLOCK]
    cdef int64_t offsets[BLOCK]
    cdef Rows some
    cdef Py_ssize_t row = 0, n
    some.rows = rows
    some.offsets = offsets
    some.prefetches = False
    some.updates = copy
    while row < tile.n:
        n = 0
        while row < tile.n and n < BLOCK:
            if private.kernel.mark_bytes == 0 or mark_of(&private.kernel, marks, tile.first + row):
                rows[n] = row
                offsets[n] = (tile.first + row) * job.kernel.row_bytes
                n += 1
            row += 1
        apply_rows(&job.kernel, &some, tile.accumulators, tile.marks, n)


cdef inline void merge_part(const Private* private, Py_ssize_t part) noexcept nogil:
    cdef const Job* job = private.job
    cdef Tile tile
    cdef Py_ssize_t chunk
    cdef const char* copy
    tile.first = chunk_start(job.n_rows, job.n_threads, part)
    tile.n = chunk_start(job.n_rows, job.n_threads, part + 1) - tile.first
    tile.accumulators = job.out + tile.first * job.row_bytes
    tile.marks = private.marks + tile.first * job.kernel.mark_bytes if private.marks != NULL else NULL
    open_tile(job, &tile)
    for chunk in range(job.n_threads):
        copy = private.copies + chunk * (private.copy_bytes + private.copy_marks)
        merge_rows(private, &tile, copy, copy + private.copy_bytes)
    close_tile(job, &tile)


cdef inline bint run_private(Job* job, Py_ssize_t* bad) noexcept:
    """False: there is no memory, and nothing was written."""
    cdef Py_ssize_t status[MAX_TASKS]
    cdef Private private
    cdef Py_ssize_t chunk
    cdef int n_threads = job.n_threads
    cdef cnp.ndarray memory = allocate_scratch((n_threads + 1) * private_bytes(job) + CACHE_LINE)
    if memory is None:
        return False
    private.job = job
    private.kernel = job.kernel
    private.kernel.mark_bytes = copy_mark_bytes(job)
    memcpy(private.start, job.reduction.identity[<int>job.kernel.type_code], 16)
    private.copy_bytes = whole_lines(job.n_rows * job.kernel.row_bytes) + CACHE_LINE
    private.copy_marks = whole_lines(job.n_rows * private.kernel.mark_bytes)
    private.copies = at_line(cnp.PyArray_BYTES(memory))
    private.marks = NULL
    if job.kernel.mark_bytes:
        private.marks = private.copies + n_threads * (private.copy_bytes + private.copy_marks)
    for chunk in prange(n_threads, num_threads=n_threads, schedule="static", nogil=True):
        run_copy(&private, chunk, &status[chunk])
    bad[0] = first_error(status, n_threads)
    if bad[0] == OK:
        bad[0] = begin_writing(job, False)
    if bad[0] == OK and not job.interrupts.stopped:
        for chunk in prange(n_threads, num_threads=n_threads, schedule="static", nogil=True):
            merge_part(&private, chunk)
    return True
