# Short items of data that are larger than L2, at indices of a simple layout: one loop in C++ resolves, prefetches and
# moves them (loops/far_items.cpp).
from libc.stdint cimport int64_t, uintptr_t

from common.codes cimport RAISE
from common.copies cimport fill_elements
from common.items cimport CACHE_LINE
from common.resolve cimport BLOCK, Tuples
from common.walk cimport DATA
from gather.job cimport Job

cdef extern from "gather/loops/far_items.h":
    ctypedef struct FarItems "gs_far_items_t":
        const char *data, *end, *first, *second, *fill, *next
        Py_ssize_t item_bytes, step, next_bytes
        int n_indices, width
        int64_t size, row_size, wrap, row_wrap, row
        bint streams

    ctypedef Py_ssize_t (*FarLoop "gs_far_loop")(const FarItems* items, char* out, Py_ssize_t n) noexcept nogil
    FarLoop far_loop_of "gs_shared->far_loop_of" (Py_ssize_t item_bytes) noexcept nogil

cdef enum:
    SHORTEST_ROW = 1 << 11  # bytes that are prefetched during the run before: fewer are read in time without,
    LONGEST_ROW = 1 << 17   # and more would take too much of L2


cdef inline Py_ssize_t row_extent(const Tuples* tuples) noexcept nogil:
    """The bytes that single indices select from."""
    return tuples.stride[0] * tuples.size[0]


cdef inline bint select_from_rows(const Job* job) noexcept nogil:
    """Whether each run selects from a row of its own, which fits L1 or L2, and touches many of its cache lines."""
    cdef int inner = job.walk.n_dims - 1
    cdef Py_ssize_t extent = row_extent(&job.tuples)
    return (job.tuples.arrays == NULL and job.tuples.k == 1 and inner > 0 and job.walk.stride[inner - 1][DATA] >= extent
            and SHORTEST_ROW <= extent <= LONGEST_ROW
            and job.walk.shape[inner] >= max(extent // CACHE_LINE, <Py_ssize_t>BLOCK))


cdef inline bint fills_items(const Job* job, const Tuples* tuples) noexcept nogil:
    """Whether the loop moves an item of the fill value for each single index that is out of bounds."""
    return job.fill != NULL and tuples.simple and tuples.k == 1 and job.row.item_bytes <= CACHE_LINE


cdef inline bint are_far(const Job* job, const Tuples* tuples, int64_t start_step) noexcept nogil:
    """Whether move_far_items can move the items at tuples, and is faster for long runs."""
    return ((job.prefetches or select_from_rows(job)) and start_step == 0
            and ((tuples.simple and tuples.mode == RAISE) or fills_items(job, tuples))
            and tuples.stride[tuples.k - 1] == job.row.item_bytes and far_loop_of(job.row.item_bytes) != NULL)


cdef inline Py_ssize_t move_far_items(const Job* job, const Tuples* tuples, const char* p, Py_ssize_t step,
                                      int64_t start, Py_ssize_t n, char* out, const char* next_row) noexcept nogil:
    """Move the items at n simple tuples, step bytes apart at p. Returns how many were moved: see far_items.h.

    next_row: NULL, or what the next run selects from, if it is prefetched as a whole.
    """
    cdef FarItems items
    cdef char fill[CACHE_LINE]
    cdef int last = tuples.k - 1
    cdef FarLoop loop = far_loop_of(job.row.item_bytes)
    items.data = <const char*>(<uintptr_t>job.data + <uintptr_t>start)
    items.end = job.data + job.end
    items.item_bytes = job.row.item_bytes
    items.n_indices = tuples.k
    items.width = tuples.width
    items.first = p
    items.second = <const char*>(<uintptr_t>p + <uintptr_t>tuples.component_stride)
    items.step = step
    items.size, items.wrap, items.row = tuples.size[0], tuples.wrap[0], tuples.stride[0]
    items.row_size, items.row_wrap = tuples.size[last], tuples.wrap[last]
    items.streams = job.streams
    items.fill = NULL
    if job.fill != NULL:
        fill_elements(job.itemsize, job.fill, fill, job.row.item_bytes // job.itemsize)
        items.fill = fill
    items.next = next_row
    items.next_bytes = row_extent(tuples)
    return loop(&items, out, n)
