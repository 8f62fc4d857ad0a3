# The description of one gather, for all routes.
from common.interrupts cimport Interrupts, block_of
from common.items cimport CACHE_LINE
from common.machine cimport shared
from common.resolve cimport BLOCK, Tuples
from common.rows cimport Row
from common.walk cimport DATA, INDICES, Walk, is_linear
from prepared.tile_order cimport TileOrder

cdef enum:
    LARGEST_AMONG = 6           # bytes of an item: tuples are prefetched among no larger ones

cdef struct Job:
    Tuples tuples
    Walk walk
    Row row
    const char* data
    char* out
    const char* fill        # one element, or NULL
    const TileOrder* tile_order  # of prepared indices, if data is contiguous; NULL: none
    Py_ssize_t itemsize
    bint out_is_linear      # out's offset advances by one stride over the walk
    Py_ssize_t end          # see end_of_data
    bint prefetches         # data is larger than L2: software prefetch
    bint spreads_prefetches  # tuples are prefetched among the items (prefetch_with_tuples), not by resolve_block
    bint streams            # the result is larger than the caches: non-temporal stores
    int n_threads
    Interrupts* interrupts
    Py_ssize_t block        # tuples of a block
    Py_ssize_t tuple_work   # to move one, in units of about a nanosecond


cdef inline Py_ssize_t end_of_data(const Job* job) noexcept nogil:
    """Where the last item ends that can be selected, in bytes from data, if a row is one item."""
    cdef Py_ssize_t end = job.row.item_bytes
    cdef int d
    for d in range(job.tuples.k):
        end += max(job.tuples.stride[d], <Py_ssize_t>0) * (job.tuples.size[d] - 1)
    for d in range(job.walk.n_dims):
        end += max(job.walk.stride[d][DATA], <Py_ssize_t>0) * (job.walk.shape[d] - 1)
    return end


cdef inline void describe_prefetches(Job* job, Py_ssize_t extent) noexcept nogil:
    """extent: of the data that tuples select from, in bytes."""
    cdef Py_ssize_t step = job.walk.stride[job.walk.n_dims - 1][INDICES]
    job.prefetches = extent > shared.machine.l2_bytes // 4  # less stays in L2
    job.spreads_prefetches = (
        job.prefetches and job.tuples.prefetches and job.tuples.arrays == NULL and job.row.n_inner == 1
        and job.row.outer.n == 1 and 0 < job.row.item_bytes <= LARGEST_AMONG and is_linear(&job.walk, INDICES)
        and 0 < step <= CACHE_LINE and (job.tuples.k == 1 or job.tuples.component_stride == job.tuples.width))
    if job.spreads_prefetches:
        job.tuples.prefetches = False


cdef inline double work_ns(const Job* job) noexcept nogil:
    """Estimated time: one nanosecond each to resolve an index, to touch an item, and to move 8 bytes."""
    return <double>job.walk.n * job.tuple_work


cdef inline void describe_work(Job* job) noexcept nogil:
    cdef double row_items = <double>job.row.outer.n * job.row.n_inner
    job.tuple_work = max(<Py_ssize_t>1, <Py_ssize_t>(job.tuples.k + row_items + row_items * job.row.item_bytes / 8))
    # The rows of a whole block share cache lines if they are cut into pieces: a question for each piece then.
    job.block = BLOCK if job.row.outer.n > 1 else block_of(job.tuple_work, BLOCK)
