# cython: cdivision=True
# Steps: the arithmetic of each reduction on two elements of a dtype. Loops are in kernels.pxd.
#
# To add a reduction: "Adding a reduction" in CONTRIBUTING.md has the list of files.
#
# 16-bit floats compute in float32 and round after each step. For +, × and ÷ this gives the correctly rounded result,
# since float32's 24 bits are at least 2 · 11 + 2. Integers wrap around (-fwrapv). Fused multiply-adds are disabled
# (-ffp-contract=off), so that every CPU gives the same bits.
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.math cimport floor

from common.codes cimport ADD, ASSIGN, MAX, MUL, ReductionCode

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
    float round_to_odd "gs_round_to_odd" (double x) nogil
    float max_float "gs_max_float" (float a, float b) nogil
    float min_float "gs_min_float" (float a, float b) nogil
    double max_double "gs_max_double" (double a, double b) nogil
    double min_double "gs_min_double" (double a, double b) nogil

cdef extern from "scatter/quotients.h":
    float16 mean_of_float16 "gs_mean_of_float16" (float16 total, int64_t terms) nogil
    bfloat16 mean_of_bfloat16 "gs_mean_of_bfloat16" (bfloat16 total, int64_t terms) nogil
    int64_t mean_of_int64 "gs_mean_of_int64" (int64_t total, int64_t terms) nogil
    uint64_t mean_of_uint64 "gs_mean_of_uint64" (uint64_t total, int64_t terms) nogil

# Members of the same C type would collapse, so 16-bit floats and bool are structs.
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

ctypedef fused floating:
    float
    double


cdef inline floating rounded(floating x) noexcept nogil:
    """An optimisation barrier."""
    if floating is float:
        return rounded_float(x)
    else:
        return rounded_double(x)


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
        # Barriers: gcc 12 contracts these to fused multiply-adds despite -ffp-contract=off.
        c.real = rounded(a.real * b.real) - rounded(a.imag * b.imag)
        c.imag = rounded(a.real * b.imag) + rounded(a.imag * b.real)
        return c
    else:
        return <value_t>(a * b)


# Numbers of 16 bits are compared as integers of 16, so that vectors hold as many, and without a branch, which random
# updates would mispredict. infinity: its bits.

cdef inline int16_t mask_nan(uint16_t bits, int16_t infinity) noexcept nogil:
    return <int16_t>-(<int16_t>(bits & 0x7fff) > infinity)


cdef inline int16_t place_of(uint16_t bits) noexcept nogil:
    """The place of a number in the order of these."""
    cdef int16_t place = <int16_t>bits
    place = <int16_t>(place ^ (<int16_t>(place >> 15) & 0x7fff))  # below 0, a greater magnitude is less
    return <int16_t>(place + (place == -1))  # -0 is 0


cdef inline uint16_t extreme_bits(bint greatest, int16_t infinity, uint16_t a, uint16_t b) noexcept nogil:
    cdef int16_t stays = <int16_t>-(place_of(a) >= place_of(b) if greatest else place_of(a) <= place_of(b))
    stays = <int16_t>((stays & ~mask_nan(b, infinity)) | mask_nan(a, infinity))
    return <uint16_t>((a & stays) | (b & ~stays))


# NaN propagates from either side, the first one stays; of equals (0.0 and -0.0) the destination stays.
cdef inline value_t extreme(bint greatest, bint one_by_one, value_t a, value_t b) noexcept nogil:
    """one_by_one: in a loop that cannot be vectorised, in which the compiler would branch on the order of a and b."""
    if value_t is boolean:
        a.bits = (a.bits != 0 or b.bits != 0) if greatest else (a.bits != 0 and b.bits != 0)
        return a
    elif value_t is float16:
        a.bits = extreme_bits(greatest, 0x7c00, a.bits, b.bits)
        return a
    elif value_t is bfloat16:
        a.bits = extreme_bits(greatest, 0x7f80, a.bits, b.bits)
        return a
    elif value_t is complex64 or value_t is complex128:
        return a  # never called: complex numbers have no order
    elif value_t is float:
        if one_by_one:
            return max_float(a, b) if greatest else min_float(a, b)
        return (b if a == a else a) if b != b else (b if (b > a if greatest else b < a) else a)
    elif value_t is double:
        if one_by_one:
            return max_double(a, b) if greatest else min_double(a, b)
        return (b if a == a else a) if b != b else (b if (b > a if greatest else b < a) else a)
    else:
        return a if (a >= b if greatest else a <= b) else b


cdef inline value_t combined(ReductionCode step, bint one_by_one, value_t a, value_t b) noexcept nogil:
    if step == ASSIGN:
        return b
    elif step == ADD:
        return add(a, b)
    elif step == MUL:
        return multiply(a, b)
    elif step == MAX:
        return extreme(True, one_by_one, a, b)
    else:
        return extreme(False, one_by_one, a, b)


ctypedef fused terms_t:
    int32_t
    int64_t


cdef inline value_t quotient(value_t total, terms_t count) noexcept nogil:
    """The last step of a mean: integers are floored, floats round once, complex numbers are divided part by part."""
    if value_t is float:
        return total / <float>count
    elif value_t is double:
        return total / <double>count
    elif value_t is float16:
        return mean_of_float16(total, count)
    elif value_t is bfloat16:
        return mean_of_bfloat16(total, count)
    elif value_t is complex64:
        total.real /= <float>count
        total.imag /= <float>count
        return total
    elif value_t is complex128:
        total.real /= <double>count
        total.imag /= <double>count
        return total
    elif value_t is boolean:
        return total  # never called: bools have no mean
    elif value_t is int64_t:
        return mean_of_int64(total, count)
    elif value_t is uint64_t:
        return mean_of_uint64(total, count)
    else:  # by way of float64, which is faster: quotients.h says why it is exact
        return <value_t>floor(<double>total / <double>count)
