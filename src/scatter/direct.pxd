# Elements at single indices, added or assigned by one loop that also resolves their indices.
#
# For destinations that fit L1, such as the bins of a histogram. With more, a loop over resolved offsets is faster: the
# CPU then has more accesses under way.
from libc.stdint cimport int32_t, int64_t, uint64_t, uintptr_t
from libc.string cimport memcpy

from common.codes cimport ADD, ASSIGN, FLOAT32, FLOAT64, INT32, INT64, UINT32, UINT64, ReductionCode
from common.items cimport inline_void, prefetch_l1
from common.resolve cimport Tuples, trivial_index_t
from common.walk cimport DATA, INDICES, Walk
from scatter.reductions cimport Step, add

ctypedef fused element_t:
    int32_t
    int64_t
    float
    double

cdef enum:
    DIRECT_BYTES = 1 << 14  # of destinations
    GROUP = 8               # updates between two prefetches
    AHEAD_BYTES = 1 << 11   # of indices and updates
    DIRECT_RUN = 1 << 16    # updates between two questions for signals


cdef inline bint can_apply_directly(const Tuples* tuples, const Walk* walk, const Step* step) noexcept nogil:
    cdef int inner = walk.n_dims - 1
    cdef int type_code = step.type_code
    if (not tuples.trivial or tuples.k != 1 or tuples.arrays != NULL or not step.by_value
            or tuples.stride[0] != step.row.item_bytes or tuples.size[0] * tuples.stride[0] > DIRECT_BYTES
            or walk.stride[inner][INDICES] != tuples.width or walk.stride[inner][DATA] != 0):
        return False
    if step.reduction == ASSIGN:
        return step.row.item_bytes == 4 or step.row.item_bytes == 8
    return step.reduction == ADD and type_code in (FLOAT32, FLOAT64, INT32, INT64, UINT32, UINT64)


cdef inline inline_void apply_one(element_t* type, ReductionCode code, char* out, const char* update) noexcept nogil:
    cdef element_t a, b
    memcpy(&b, update, sizeof(element_t))
    if code == ADD:
        memcpy(&a, out, sizeof(element_t))
        b = add(a, b)
    memcpy(out, &b, sizeof(element_t))


cdef inline inline_void apply_in_order(element_t* type, trivial_index_t* index_type, ReductionCode code,
                                       const Tuples* tuples, const char* p, char* out, const char* updates,
                                       Py_ssize_t update_step, Py_ssize_t n, Py_ssize_t* done) noexcept nogil:
    """As apply_run. code, and update_step if it is that of adjacent elements, are constants."""
    cdef const trivial_index_t* index = <const trivial_index_t*>p
    cdef int64_t size = tuples.size[0], wrap = tuples.wrap[0]
    cdef int64_t value
    cdef Py_ssize_t i = 0, stop
    while i < n:
        stop = min(i + GROUP, n)
        prefetch_l1(<const char*>(<uintptr_t>(index + i) + AHEAD_BYTES))
        prefetch_l1(<const char*>(<uintptr_t>updates + <uintptr_t>(i * update_step) + AHEAD_BYTES))
        while i < stop:
            value = <int64_t>index[i]
            value += (value >> 63) & wrap
            if <uint64_t>value >= <uint64_t>size:
                done[0] = i
                return
            apply_one(type, code, out + value * <int64_t>sizeof(element_t), updates + i * update_step)
            i += 1
    done[0] = n


cdef inline inline_void apply_any_index(element_t* type, ReductionCode code, const Tuples* tuples, const char* p,
                                        char* out, const char* updates, Py_ssize_t update_step, Py_ssize_t n,
                                        Py_ssize_t* done) noexcept nogil:
    if tuples.width == 8 and update_step == sizeof(element_t):
        apply_in_order(type, <int64_t*>NULL, code, tuples, p, out, updates, sizeof(element_t), n, done)
    elif tuples.width == 8:
        apply_in_order(type, <int64_t*>NULL, code, tuples, p, out, updates, update_step, n, done)
    elif update_step == sizeof(element_t):
        apply_in_order(type, <int32_t*>NULL, code, tuples, p, out, updates, sizeof(element_t), n, done)
    else:
        apply_in_order(type, <int32_t*>NULL, code, tuples, p, out, updates, update_step, n, done)


cdef inline void apply_run(const Step* step, const Tuples* tuples, const char* p, char* out,
                           const char* updates, Py_ssize_t update_step, Py_ssize_t n, Py_ssize_t* done) noexcept nogil:
    """Apply the updates of n indices at p, in order. done: how many, up to the first index that is out of bounds."""
    if step.reduction == ASSIGN and step.row.item_bytes == 4:
        apply_any_index(<int32_t*>NULL, ASSIGN, tuples, p, out, updates, update_step, n, done)
    elif step.reduction == ASSIGN:
        apply_any_index(<int64_t*>NULL, ASSIGN, tuples, p, out, updates, update_step, n, done)
    elif step.type_code == FLOAT32:
        apply_any_index(<float*>NULL, ADD, tuples, p, out, updates, update_step, n, done)
    elif step.type_code == FLOAT64:
        apply_any_index(<double*>NULL, ADD, tuples, p, out, updates, update_step, n, done)
    elif step.type_code == INT32 or step.type_code == UINT32:
        apply_any_index(<int32_t*>NULL, ADD, tuples, p, out, updates, update_step, n, done)
    else:
        apply_any_index(<int64_t*>NULL, ADD, tuples, p, out, updates, update_step, n, done)
