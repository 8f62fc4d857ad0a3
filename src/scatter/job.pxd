# The description of one scatter, for all strategies, and the serial loop over a range of its updates.
from cython.parallel cimport prange
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy, memset

from common.codes cimport OK, SKIP
from common.items cimport MAX_WORD_BYTES
from common.resolve cimport BLOCK, SKIPPED, Tuples, resolve_block
from common.threads cimport chunk_start, team_size
from common.walk cimport OTHER, Cursor, Walk, seek
from scatter.apply cimport apply_elements, apply_rows
from scatter.reductions cimport Step

cdef enum:
    N_TYPES = 32  # bits of a mask of type codes
    # Scratch memory of a strategy. glibc maps and unmaps allocations of 32 MiB or more in every call, and their page
    # faults take as long as the scatter.
    SCRATCH_BYTES = 31 << 20

cdef struct Reduction:
    # The arguments of register(). In masks bit t stands for TypeCode t.
    uint32_t types              # mask: supported; 0: any dtype
    uint32_t associative        # mask: grouping the updates, in order, cannot change a bit of the result
    uint32_t has_identity
    bint idempotent
    char identity[N_TYPES][MAX_WORD_BYTES]

cdef struct Job:
    Tuples tuples
    Walk walk
    Step step
    const Reduction* reduction
    const char* data            # to be copied into out first; NULL if out holds it already
    char* out
    const char* updates
    Py_ssize_t out_bytes        # of a contiguous result
    Py_ssize_t row_bytes        # of a row of data; 0 if data is NULL
    bint updates_are_linear     # the offset in updates advances by one stride over the walk
    bint streams                # the result is larger than the caches: non-temporal stores
    int max_threads             # 0: OpenMP's choice
    int forced_threads          # 0: not forced
    int n_threads               # the team size for this job


cdef inline Py_ssize_t row_items(const Job* job) noexcept nogil:
    return job.step.row.outer.n * job.step.row.n_inner


cdef inline void apply_tuples(const Job* job, const Step* step, char* out, const char* updates, Py_ssize_t start,
                              Py_ssize_t stop, Py_ssize_t* status) noexcept nogil:
    """Resolve tuples start to stop and apply their updates, in order, a block at a time."""
    cdef int64_t buffers[2][BLOCK]
    cdef int64_t* offsets = buffers[0]
    cdef int64_t* next_offsets = buffers[1]
    cdef int64_t* swap
    cdef Cursor cursor
    cdef int inner = job.walk.n_dims - 1
    cdef Py_ssize_t update_step = job.walk.stride[inner][OTHER]
    cdef Py_ssize_t n = 0, n_next, i, first = 0, next_first
    cdef char sink[MAX_WORD_BYTES]
    memset(sink, 0, sizeof(sink))
    status[0] = OK
    seek(&job.walk, start, &cursor)
    # Software pipeline: a block is resolved before the previous one is applied.
    while True:
        next_first = cursor.offset[OTHER]
        n_next = 0
        if start < stop:
            resolve_block(&job.tuples, &job.walk, &cursor, min(<Py_ssize_t>BLOCK, stop - start),
                          not job.updates_are_linear, next_offsets, &n_next)
            if n_next < 0:
                status[0] = start * job.tuples.k - 1 - n_next
                return
            start += n_next
            if step.by_value and job.tuples.mode == SKIP:
                for i in range(n_next):  # skipped updates are applied to a scratch element: apply is branch-free
                    if next_offsets[i] == SKIPPED:
                        next_offsets[i] = <int64_t>(<size_t>sink - <size_t>out)
        if n and step.by_value:
            apply_elements(step, out, offsets, updates + first, update_step, n)
        elif n:
            apply_rows(step, out, offsets, updates + first, NULL, update_step, n)
        elif n_next == 0:
            return
        swap = offsets
        offsets = next_offsets
        next_offsets = swap
        n = n_next
        first = next_first


cdef inline void copy_chunk(const Job* job, Py_ssize_t chunk, Py_ssize_t n_chunks) noexcept nogil:
    cdef Py_ssize_t start = chunk_start(job.out_bytes, n_chunks, chunk)
    cdef Py_ssize_t stop = chunk_start(job.out_bytes, n_chunks, chunk + 1)
    memcpy(job.out + start, job.data + start, stop - start)


cdef inline void copy_data(Job* job) noexcept:
    """Copy data into out at once, for a strategy that does not copy piece by piece."""
    cdef int n_threads
    cdef Py_ssize_t chunk
    if job.data == NULL:
        return
    n_threads = team_size(job.max_threads, job.forced_threads, <double>job.out_bytes / 8)
    if n_threads == 1:
        with nogil:
            copy_chunk(job, 0, 1)
    else:
        for chunk in prange(n_threads, num_threads=n_threads, schedule="static", nogil=True):
            copy_chunk(job, chunk, n_threads)
    job.data = NULL
