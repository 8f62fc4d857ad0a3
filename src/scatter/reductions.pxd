# Reductions: the step of each on two elements of a dtype, and the loops over a block of updates.
#
# To add a reduction: its code in common/codes.pxd, and here its step and its lines in `step_of` and `combine_typed`.
#
# 16-bit floats compute in float32 and round after each step. For +, × and ÷ this gives the correctly rounded result,
# since float32's 24 bits are at least 2 · 11 + 2. Integers wrap around (-fwrapv). Fused multiply-adds are disabled
# (-ffp-contract=off), so that every CPU gives the same bits.
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from common.codes cimport ADD, ASSIGN, MAX, MIN, MUL, TAKE, ReductionCode, TypeCode
from common.items cimport inline_void
from common.resolve cimport SKIPPED
from common.rows cimport Row
from scatter.loops.table cimport has_vectors

cdef struct Step:
    # How one update is applied to one destination.
    ReductionCode reduction
    TypeCode type_code
    int swapped     # for non-native byte order: the width of a number; else 0
    bint by_value   # an update is one element that fits a register
    int row_loop    # for reduce_rows and reduce_each, if rows are contiguous; 0: other loops
    bint is_rare    # a destination has so many updates that one rarely changes its maximum or minimum
    bint is_near    # the destinations are in L1, so that their lines need no prefetch
    Row row         # of the result, and of updates


cdef inline bint is_move(ReductionCode code) noexcept nogil:
    """Whether elements are moved, whatever their dtype."""
    return code == ASSIGN or code == TAKE


ctypedef fused floating:
    float
    double

cdef extern from "scatter/numbers.h":
    ctypedef struct float16 "gs_float16":
        uint16_t bits
    ctypedef struct bfloat16 "gs_bfloat16":
        uint16_t bits
    ctypedef struct boolean "gs_bool":
        uint8_t bits
    ctypedef struct complex64 "gs_complex64":
        float real
        float imag
    ctypedef struct complex128 "gs_complex128":
        double real
        double imag
    float rounded_float "gs_rounded_float" (float x) nogil
    double rounded_double "gs_rounded_double" (double x) nogil
    float widen_float16 "gs_widen_float16" (float16 x) nogil
    float16 round_float16 "gs_round_float16" (float x) nogil
    float widen_bfloat16 "gs_widen_bfloat16" (bfloat16 x) nogil
    bfloat16 round_bfloat16 "gs_round_bfloat16" (float x) nogil

ctypedef fused value_t:
    boolean
    int8_t
    int16_t
    int32_t
    int64_t
    uint8_t
    uint16_t
    uint32_t
    uint64_t
    float16
    bfloat16
    float
    double
    complex64
    complex128


cdef inline floating rounded(floating product) noexcept nogil:
    """An optimisation barrier: gcc 12 contracts complex products to fused multiply-adds despite -ffp-contract=off."""
    if floating is float:
        return rounded_float(product)
    else:
        return rounded_double(product)


cdef inline value_t add(value_t a, value_t b) noexcept nogil:
    if value_t is boolean:
        a.bits = a.bits != 0 or b.bits != 0  # any byte but 0 is true
        return a
    elif value_t is float16:
        return round_float16(widen_float16(a) + widen_float16(b))
    elif value_t is bfloat16:
        return round_bfloat16(widen_bfloat16(a) + widen_bfloat16(b))
    elif value_t is complex64 or value_t is complex128:
        a.real += b.real
        a.imag += b.imag
        return a
    else:
        return <value_t>(a + b)


cdef inline value_t multiply(value_t a, value_t b) noexcept nogil:
    cdef value_t c
    if value_t is boolean:
        a.bits = a.bits != 0 and b.bits != 0
        return a
    elif value_t is float16:
        return round_float16(widen_float16(a) * widen_float16(b))
    elif value_t is bfloat16:
        return round_bfloat16(widen_bfloat16(a) * widen_bfloat16(b))
    elif value_t is complex64 or value_t is complex128:
        c.real = rounded(a.real * b.real) - rounded(a.imag * b.imag)
        c.imag = rounded(a.real * b.imag) + rounded(a.imag * b.real)
        return c
    else:
        return <value_t>(a * b)


cdef inline int is_nan(float16 a) noexcept nogil:
    return (a.bits & 0x7fff) > 0x7c00


cdef inline int place_of(float16 a) noexcept nogil:
    """The place of a number in the order of these, as an integer, without a branch and sooner than it is converted."""
    cdef int place = <int16_t>a.bits
    place ^= (place >> 16) & 0x7fff  # below 0, a greater magnitude is less
    return place + (place == -1)  # -0 is 0


# Maximum and minimum propagate NaN from either side: a if it is greater or NaN, else b, which may be NaN.
cdef inline value_t select(bint first, value_t a, value_t b) noexcept nogil:
    """a if first else b, bit for bit and without a branch, since random updates would mispredict half of them."""
    cdef uint16_t a16, b16
    if value_t is float16 or value_t is bfloat16:
        memcpy(&a16, &a, 2)
        memcpy(&b16, &b, 2)
        b16 ^= (a16 ^ b16) & <uint16_t>-<int>first
        memcpy(&a, &b16, 2)
    return a


cdef inline value_t maximum(value_t a, value_t b) noexcept nogil:
    if value_t is boolean:
        a.bits = a.bits != 0 or b.bits != 0  # any byte but 0 is true
        return a
    elif value_t is float16:
        return select(((place_of(a) >= place_of(b)) & ~is_nan(b)) | is_nan(a), a, b)
    elif value_t is bfloat16:
        return select((widen_bfloat16(a) >= widen_bfloat16(b)) | (widen_bfloat16(a) != widen_bfloat16(a)), a, b)
    elif value_t is complex64 or value_t is complex128:
        return a  # never called: complex numbers have no order
    elif value_t is float or value_t is double:
        if b != b:
            return b if a == a else a
        return b if b > a else a  # one instruction
    else:
        return a if a >= b else b


cdef inline value_t minimum(value_t a, value_t b) noexcept nogil:
    if value_t is boolean:
        a.bits = a.bits != 0 and b.bits != 0
        return a
    elif value_t is float16:
        return select(((place_of(a) <= place_of(b)) & ~is_nan(b)) | is_nan(a), a, b)
    elif value_t is bfloat16:
        return select((widen_bfloat16(a) <= widen_bfloat16(b)) | (widen_bfloat16(a) != widen_bfloat16(a)), a, b)
    elif value_t is complex64 or value_t is complex128:
        return a  # never called: complex numbers have no order
    elif value_t is float or value_t is double:
        if b != b:
            return b if a == a else a
        return b if b < a else a
    else:
        return a if a <= b else b


# Loops. A parameter `type` is never read: it selects the specialisation of a fused type.

cdef inline value_t step_of(ReductionCode code, value_t a, value_t b) noexcept nogil:
    if code == ADD:
        return add(a, b)
    elif code == MUL:
        return multiply(a, b)
    elif code == MAX:
        return maximum(a, b)
    elif code == MIN:
        return minimum(a, b)
    return a  # a code without a case


cdef inline value_t element_step_of(ReductionCode code, value_t a, value_t b) noexcept nogil:
    """As step_of, for loops that cannot be vectorised, in which the compiler would branch on the order of a and b."""
    if value_t is float or value_t is double:
        if (code == MAX or code == MIN) and b == b:
            return rounded(b if (b > a if code == MAX else b < a) else a)  # the barrier makes it one instruction
    return step_of(code, a, b)


cdef inline inline_void combine_elements(value_t* type, ReductionCode code, char* out, const int64_t* offsets,
                                         const char* updates, Py_ssize_t update_step, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef value_t a, b
    for i in range(n):
        memcpy(&a, out + offsets[i], sizeof(value_t))
        memcpy(&b, updates + i * update_step, sizeof(value_t))
        a = element_step_of(code, a, b)
        memcpy(out + offsets[i], &a, sizeof(value_t))


cdef inline inline_void combine_rarely(floating* type, ReductionCode code, char* out, const int64_t* offsets,
                                       const char* updates, Py_ssize_t update_step, Py_ssize_t n) noexcept nogil:
    """As combine_elements, with a branch around the store, which the CPU predicts if updates rarely change anything."""
    cdef Py_ssize_t i
    cdef floating a, b
    for i in range(n):
        memcpy(&a, out + offsets[i], sizeof(floating))
        memcpy(&b, updates + i * update_step, sizeof(floating))
        if not (a >= b if code == MAX else a <= b) and a == a:
            memcpy(out + offsets[i], &b, sizeof(floating))


cdef inline inline_void combine_rows(value_t* type, ReductionCode code, Py_ssize_t n_inner, Py_ssize_t inner_out,
                                     Py_ssize_t inner_updates, char* out, const int64_t* offsets, const char* updates,
                                     const int64_t* update_offsets, Py_ssize_t update_step,
                                     Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef value_t a, b
    cdef char* target
    cdef const char* source
    for i in range(n):
        if offsets[i] == SKIPPED:
            continue
        target = out + offsets[i]
        source = updates + (update_offsets[i] if update_offsets != NULL else i * update_step)
        for j in range(n_inner):
            memcpy(&a, target + j * inner_out, sizeof(value_t))
            memcpy(&b, source + j * inner_updates, sizeof(value_t))
            a = step_of(code, a, b)
            memcpy(target + j * inner_out, &a, sizeof(value_t))


cdef inline inline_void combine_constant(value_t* type, ReductionCode code, bint by_value, const Step* step, char* out,
                                         const int64_t* offsets, const char* updates, const int64_t* update_offsets,
                                         Py_ssize_t update_step, Py_ssize_t n) noexcept nogil:
    """code: a constant, so that the compiler makes separate loops for each reduction and vectorises those over rows."""
    if value_t is float or value_t is double:
        if by_value and (code == MAX or code == MIN) and step.is_rare:
            combine_rarely(type, code, out, offsets, updates, update_step, n)
            return
    if by_value and update_step == sizeof(value_t):
        combine_elements(type, code, out, offsets, updates, sizeof(value_t), n)
    elif by_value:
        combine_elements(type, code, out, offsets, updates, update_step, n)
    else:
        combine_rows(type, code, step.row.n_inner, sizeof(value_t), sizeof(value_t), out, offsets, updates,
                     update_offsets, update_step, n)


cdef inline inline_void combine_typed(value_t* type, bint by_value, const Step* step, char* out,
                                      const int64_t* offsets, const char* updates, const int64_t* update_offsets,
                                      Py_ssize_t update_step, Py_ssize_t n) noexcept nogil:
    """Combine a block of rows with their updates, in order. by_value: no offset is SKIPPED, update_offsets is NULL."""
    # Contiguous rows are mostly for reduce_each, and strided ones are memory-bound: one loop, with the reduction as
    # a variable, suffices.
    if not by_value and (
            (has_vectors and value_t is not float16 and value_t is not complex64 and value_t is not complex128)
            or step.row.inner_data != sizeof(value_t) or step.row.inner_other != sizeof(value_t)):
        combine_rows(type, step.reduction, step.row.n_inner, step.row.inner_data, step.row.inner_other, out, offsets,
                     updates, update_offsets, update_step, n)
    elif step.reduction == ADD:
        combine_constant(type, ADD, by_value, step, out, offsets, updates, update_offsets, update_step, n)
    elif step.reduction == MUL:
        combine_constant(type, MUL, by_value, step, out, offsets, updates, update_offsets, update_step, n)
    elif value_t is not complex64 and value_t is not complex128:  # complex numbers have no order
        if step.reduction == MAX:
            combine_constant(type, MAX, by_value, step, out, offsets, updates, update_offsets, update_step, n)
        elif step.reduction == MIN:
            combine_constant(type, MIN, by_value, step, out, offsets, updates, update_offsets, update_step, n)
