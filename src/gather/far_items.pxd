# Short items of data that are larger than L2, at indices of a simple layout: one loop in C++ resolves, prefetches and
# moves them (loops/far_items.cpp).
from libc.stdint cimport int64_t, uintptr_t

from common.resolve cimport Tuples
from gather.job cimport Job

cdef extern from "gather/loops/far_items.h":
    ctypedef struct FarItems "gs_far_items_t":
        const char* data
        const char* end
        Py_ssize_t item_bytes
        int n_indices
        int width
        const char* first
        const char* second
        Py_ssize_t step
        int64_t size
        int64_t row_size
        int64_t wrap
        int64_t row_wrap
        int64_t row
        bint streams

    ctypedef Py_ssize_t (*FarLoop "gs_far_loop")(const FarItems* items, char* out, Py_ssize_t n) noexcept nogil
    FarLoop far_loop_of "gs_far_loop_of" (Py_ssize_t item_bytes) noexcept nogil

cdef enum:
    SHORTEST_FAR = 1024  # items of a run: the loop prefetches 256 ahead


cdef inline bint are_far(const Job* job, const Tuples* tuples, int64_t start_step) noexcept nogil:
    """Whether move_far_items can move the items at plain tuples, and is faster for long runs."""
    return (job.prefetches and start_step == 0 and tuples.plain and tuples.stride[tuples.k - 1] == job.row.item_bytes
            and far_loop_of(job.row.item_bytes) != NULL)


cdef inline Py_ssize_t move_far_items(const Job* job, const Tuples* tuples, const char* p, Py_ssize_t step,
                                      int64_t start, Py_ssize_t n, char* out) noexcept nogil:
    """Move the items at n plain tuples, step bytes apart at p. Returns how many were moved: see far_items.h."""
    cdef FarItems items
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
    return loop(&items, out, n)
