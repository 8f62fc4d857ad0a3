# The description of one gather, for all strategies.
from common.interrupts cimport Interrupts, block_of
from common.resolve cimport BLOCK, Tuples
from common.rows cimport Row
from common.walk cimport Walk
from prepared.tile_order cimport TileOrder

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
    Py_ssize_t end          # of the items that can be selected, in bytes from data; if the row is one item
    bint prefetches         # data is larger than L2: software prefetch
    bint spreads_prefetches  # of tuples, among those of data: see prefetch_with_tuples
    bint streams            # the result is larger than the caches: non-temporal stores
    int max_threads         # 0: OpenMP's choice
    int forced_threads      # 0: not forced
    Interrupts* interrupts
    Py_ssize_t block        # tuples of a block
    Py_ssize_t tuple_work   # to move one, in units of about a nanosecond


cdef inline double work_ns(const Job* job) noexcept nogil:
    """Estimated time: one nanosecond each to resolve an index, to touch an item, and to move 8 bytes."""
    return <double>job.walk.n * job.tuple_work


cdef inline void describe_work(Job* job) noexcept nogil:
    cdef double row_items = <double>job.row.outer.n * job.row.n_inner
    job.tuple_work = max(<Py_ssize_t>1, <Py_ssize_t>(job.tuples.k + row_items + row_items * job.row.item_bytes / 8))
    # The rows of a whole block share cache lines if they are cut into pieces: a question for each piece then.
    job.block = BLOCK if job.row.outer.n > 1 else block_of(job.tuple_work, BLOCK)
