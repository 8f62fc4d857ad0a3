# Elements at single indices or pairs of them, reduced or assigned by one loop that also resolves their indices
# (loops/elements_in_order.cpp).
from libc.stdint cimport int64_t, uintptr_t

from common.codes cimport ASSIGN, CLIP, SKIP
from common.resolve cimport Tuples, can_fail
from common.walk cimport DATA, INDICES, OTHER, Walk
from scatter.reductions cimport Step

cdef extern from "scatter/loops/elements_in_order.h":
    ctypedef struct Pairs "gs_pairs_t":
        const char* first
        const char* second
        Py_ssize_t step
        int width
        int64_t size
        int64_t row_size
        int64_t wrap
        int64_t row_wrap
        Py_ssize_t repeats
        int64_t row
        int columns
        bint is_far
        bint skips
        bint clips

    ctypedef Py_ssize_t (*LoopInOrder "gs_loop_in_order")(
        const Pairs* pairs, char* out, const char* updates, Py_ssize_t step, Py_ssize_t n) noexcept nogil
    LoopInOrder reduction_in_order "gs_reduction_in_order" (int reduction, int type, int size,
                                                            bint is_rare) noexcept nogil
    LoopInOrder counted_in_order "gs_counted_in_order" (int reduction, int type, int size) noexcept nogil
    LoopInOrder assignment_in_order "gs_assignment_in_order" (Py_ssize_t bytes, bint is_near) noexcept nogil

cdef enum:
    DIRECT_RUN = 1 << 16    # updates between two questions for signals
    MOST_ITEMS = 4
    FAR_BYTES = 1 << 22     # of a result, most of which is not in L2


cdef inline LoopInOrder loop_in_order(const Step* step) noexcept nogil:
    """The loop for elements or points; NULL: there is none, or it would be slower."""
    cdef Py_ssize_t n_items = step.row.n_inner
    if step.by_value:
        return (assignment_in_order(step.row.item_bytes, step.is_near) if step.reduction == ASSIGN else
                reduction_in_order(step.reduction, step.type_code, 1, step.is_rare))
    if not step.row_loop or step.row.outer.n != 1 or n_items > MOST_ITEMS:
        return NULL
    return reduction_in_order(step.reduction, step.type_code, <int>n_items, False)


cdef inline LoopInOrder direct_loop(const Tuples* tuples, const Walk* walk, const Step* step) noexcept nogil:
    """The same for indices of this layout."""
    cdef Py_ssize_t bytes = step.row.n_inner * step.row.item_bytes
    if (not tuples.native or tuples.arrays != NULL or bytes == 0 or tuples.stride[tuples.k - 1] != bytes
            or tuples.stride[0] % bytes or walk.stride[walk.n_dims - 1][DATA] != 0):
        return NULL
    return loop_in_order(step)


cdef inline Py_ssize_t repeats_of(const Tuples* tuples, const Walk* walk) noexcept nogil:
    """How many successive single indices share an update, if both are otherwise one stride apart; else 1."""
    if (tuples.k != 1 or walk.n_dims != 2 or walk.stride[1][OTHER] != 0 or walk.stride[0][DATA] != 0
            or walk.stride[0][INDICES] != walk.shape[1] * walk.stride[1][INDICES]):
        return 1
    return walk.shape[1]


cdef inline Pairs pairs_of(const Tuples* tuples, const Walk* walk) noexcept nogil:
    """All but their addresses."""
    cdef Pairs pairs
    cdef int last = tuples.k - 1
    pairs.step = walk.stride[walk.n_dims - 1][INDICES]
    pairs.width = tuples.width
    pairs.size = tuples.size[0]
    pairs.wrap = tuples.wrap[0]
    pairs.row_size = tuples.size[last]
    pairs.row_wrap = tuples.wrap[last]
    pairs.repeats = 1
    pairs.columns = 0
    pairs.is_far = False
    pairs.row = tuples.stride[0] // tuples.stride[last]
    pairs.skips = tuples.mode == SKIP
    pairs.clips = tuples.mode == CLIP and not can_fail(tuples)
    return pairs


cdef inline void point_to(Pairs* pairs, const Tuples* tuples, const char* p) noexcept nogil:
    """Let the pairs start at the tuple at p."""
    pairs.first = p
    pairs.second = NULL
    if tuples.k == 2:
        pairs.second = <const char*>(<uintptr_t>p + <uintptr_t>tuples.component_stride)
