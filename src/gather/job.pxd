# The description of one gather, for all strategies.
from common.resolve cimport Tuples
from common.rows cimport Row
from common.walk cimport Walk

cdef struct Job:
    Tuples tuples
    Walk walk
    Row row
    const char* data
    char* out
    const char* fill        # one element, or NULL
    Py_ssize_t itemsize
    bint out_is_linear      # out's offset advances by one stride over the walk
    bint prefetches         # data is larger than L2: software prefetch
    bint streams            # the result is larger than the caches: non-temporal stores
    int max_threads         # 0: OpenMP's choice
    int forced_threads      # 0: not forced


cdef inline double work_ns(const Job* job) noexcept nogil:
    """Estimated time: one nanosecond each to resolve an index, to touch an item, and to move 8 bytes."""
    cdef double row_items = <double>job.row.outer.n * job.row.n_inner
    return job.walk.n * (job.tuples.k + row_items + row_items * job.row.item_bytes / 8)
