# Arithmetic of the reductions, dtype by dtype: what one step of a scatter does to one element.
#
# float16, bfloat16 and bool are structures: a fused type takes two C types of one size for the same. The 16-bit
# floats compute in float32 and round after each step, which for +, × and ÷ is the correctly rounded result (24
# bits are at least twice 11, plus 2). Integers wrap around (-fwrapv); nothing is contracted to fused multiply-adds
# (-ffp-contract=off), so that every CPU gives the same bits.
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from libc.string cimport memcpy

ctypedef fused floating:
    float
    double

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    typedef struct { uint16_t bits; } gs_float16;
    typedef struct { uint16_t bits; } gs_bfloat16;
    typedef struct { uint8_t bits; } gs_bool;
    typedef struct { float real, imag; } gs_complex64;
    typedef struct { double real, imag; } gs_complex128;

    #if defined(__FLT16_MAX__)  /* the compiler knows float16: one instruction where the CPU has it */
    static inline float gs_widen_float16(gs_float16 x) {
        _Float16 half;
        memcpy(&half, &x, 2);
        return (float)half;
    }
    static inline gs_float16 gs_round_float16(float x) {
        _Float16 half = (_Float16)x;
        gs_float16 y;
        memcpy(&y, &half, 2);
        return y;
    }
    #else
    static inline float gs_widen_float16(gs_float16 x) {
        uint32_t sign = (uint32_t)(x.bits & 0x8000u) << 16, exponent = (x.bits >> 10) & 31u, mantissa = x.bits & 1023u;
        uint32_t bits;
        float y;
        if (exponent == 31u) {
            bits = 0x7f800000u | mantissa << 13;
        } else if (exponent) {
            bits = (exponent + 112u) << 23 | mantissa << 13;
        } else {  /* subnormal: mantissa times 2^-24 */
            y = (float)mantissa * 5.9604644775390625e-08f;
            memcpy(&bits, &y, 4);
        }
        bits |= sign;
        memcpy(&y, &bits, 4);
        return y;
    }
    static inline gs_float16 gs_round_float16(float x) {
        uint32_t bits, sign, magnitude;
        gs_float16 y;
        memcpy(&bits, &x, 4);
        sign = bits >> 16 & 0x8000u;
        magnitude = bits & 0x7fffffffu;
        if (magnitude > 0x7f800000u) {
            y.bits = (uint16_t)(sign | 0x7e00u | (magnitude >> 13 & 1023u));
        } else if (magnitude >= 0x477ff000u) {  /* 65520 and above round to infinity */
            y.bits = (uint16_t)(sign | 0x7c00u);
        } else if (magnitude >= 0x38800000u) {
            magnitude += 0xfffu + (magnitude >> 13 & 1u);
            y.bits = (uint16_t)(sign | ((magnitude - 0x38000000u) >> 13));
        } else {  /* subnormal: adding 0.5 leaves the rounded multiple of 2^-24 in the last bits */
            float positive, half = 0.5f;
            memcpy(&positive, &magnitude, 4);
            positive += half;
            memcpy(&bits, &positive, 4);
            y.bits = (uint16_t)(sign | (bits - 0x3f000000u));
        }
        return y;
    }
    #endif
    #if defined(__GNUC__) && defined(__x86_64__)
      #define GS_BARRIER(x) __asm__("" : "+x"(x))
    #elif defined(__GNUC__) && defined(__aarch64__)
      #define GS_BARRIER(x) __asm__("" : "+w"(x))
    #else
      #define GS_BARRIER(x) ((void)0)
    #endif
    static inline float gs_rounded_float(float x) { GS_BARRIER(x); return x; }
    static inline double gs_rounded_double(double x) { GS_BARRIER(x); return x; }
    static inline float gs_widen_bfloat16(gs_bfloat16 x) {
        uint32_t bits = (uint32_t)x.bits << 16;
        float y;
        memcpy(&y, &bits, 4);
        return y;
    }
    static inline gs_bfloat16 gs_round_bfloat16(float x) {
        uint32_t bits;
        gs_bfloat16 y;
        memcpy(&bits, &x, 4);
        y.bits = (bits & 0x7fffffffu) > 0x7f800000u ? (uint16_t)(bits >> 16 | 64u)
                                                    : (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
        return y;
    }
    """
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

ctypedef fused number_t:
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

# As backends/numpy.py has them.
cdef enum Number:
    NO_NUMBER = 0
    BOOLEAN
    INT8
    INT16
    INT32
    INT64
    UINT8
    UINT16
    UINT32
    UINT64
    FLOAT16
    BFLOAT16
    FLOAT32
    FLOAT64
    COMPLEX64
    COMPLEX128

cdef enum Reduction:
    ASSIGN = 0
    ADD
    MUL
    MAX
    MIN
    MUL_NAMED  # complex: multiply, or assign where no update has come yet


cdef inline floating rounded(floating product) noexcept nogil:
    """Keep a product from being fused with the sum it goes into, which gcc 12 does for complex numbers anyway."""
    if floating is float:
        return rounded_float(product)
    else:
        return rounded_double(product)


cdef inline number_t add(number_t a, number_t b) noexcept nogil:
    if number_t is boolean:
        a.bits = a.bits != 0 or b.bits != 0  # any other byte than 0 is true
        return a
    elif number_t is float16:
        return round_float16(widen_float16(a) + widen_float16(b))
    elif number_t is bfloat16:
        return round_bfloat16(widen_bfloat16(a) + widen_bfloat16(b))
    elif number_t is complex64 or number_t is complex128:
        a.real += b.real
        a.imag += b.imag
        return a
    else:
        return <number_t>(a + b)


cdef inline number_t multiply(number_t a, number_t b) noexcept nogil:
    cdef number_t c
    if number_t is boolean:
        a.bits = a.bits != 0 and b.bits != 0
        return a
    elif number_t is float16:
        return round_float16(widen_float16(a) * widen_float16(b))
    elif number_t is bfloat16:
        return round_bfloat16(widen_bfloat16(a) * widen_bfloat16(b))
    elif number_t is complex64 or number_t is complex128:
        c.real = rounded(a.real * b.real) - rounded(a.imag * b.imag)
        c.imag = rounded(a.real * b.imag) + rounded(a.imag * b.real)
        return c
    else:
        return <number_t>(a * b)


cdef inline number_t multiply_named(number_t a, number_t b) noexcept nogil:
    """a × b, or b where a still is the mark of a destination that was named and has met no update.

    1 is no identity of complex multiplication (0 × inf is NaN), so a signalling NaN marks such a destination: no
    arithmetic gives one, and one that comes as an update is made quiet.
    """
    if number_t is complex64 or number_t is complex128:
        if not is_mark(a.real):
            return multiply(a, b)
        if is_mark(b.real):
            b.real = b.real + b.real
        return b
    else:
        return multiply(a, b)


cdef inline bint is_mark(floating x) noexcept nogil:
    cdef uint32_t bits32
    cdef uint64_t bits64
    if floating is float:
        memcpy(&bits32, &x, 4)
        return bits32 == 0x7f80a5a5u
    else:
        memcpy(&bits64, &x, 8)
        return bits64 == 0x7ff0a5a5a5a5a5a5u


# NaN stays, whichever side it came from: a if it is greater or no number, else b, which may be NaN.
cdef inline number_t choose(bint first, number_t a, number_t b) noexcept nogil:
    """a or b, bit for bit and without a branch: of random updates it would go wrong every other time."""
    cdef uint64_t a64, b64
    cdef uint32_t a32, b32
    cdef uint16_t a16, b16
    if number_t is double:
        memcpy(&a64, &a, 8)
        memcpy(&b64, &b, 8)
        b64 ^= (a64 ^ b64) & -<uint64_t>first
        memcpy(&a, &b64, 8)
    elif number_t is float:
        memcpy(&a32, &a, 4)
        memcpy(&b32, &b, 4)
        b32 ^= (a32 ^ b32) & -<uint32_t>first
        memcpy(&a, &b32, 4)
    elif number_t is float16 or number_t is bfloat16:
        memcpy(&a16, &a, 2)
        memcpy(&b16, &b, 2)
        b16 ^= (a16 ^ b16) & <uint16_t>-<int>first
        memcpy(&a, &b16, 2)
    return a


cdef inline number_t maximum(number_t a, number_t b) noexcept nogil:
    cdef float x, y
    if number_t is boolean:
        a.bits = a.bits != 0 or b.bits != 0  # any other byte than 0 is true
        return a
    elif number_t is float16 or number_t is bfloat16:
        if number_t is float16:
            x = widen_float16(a)
            y = widen_float16(b)
        else:
            x = widen_bfloat16(a)
            y = widen_bfloat16(b)
        return choose((x >= y) | (x != x), a, b)
    elif number_t is complex64 or number_t is complex128:
        return a  # never called: complex numbers have no order
    elif number_t is float or number_t is double:
        return choose((a >= b) | (a != a), a, b)
    else:
        return a if a >= b else b


cdef inline number_t minimum(number_t a, number_t b) noexcept nogil:
    cdef float x, y
    if number_t is boolean:
        a.bits = a.bits != 0 and b.bits != 0
        return a
    elif number_t is float16 or number_t is bfloat16:
        if number_t is float16:
            x = widen_float16(a)
            y = widen_float16(b)
        else:
            x = widen_bfloat16(a)
            y = widen_bfloat16(b)
        return choose((x <= y) | (x != x), a, b)
    elif number_t is complex64 or number_t is complex128:
        return a  # never called: complex numbers have no order
    elif number_t is float or number_t is double:
        return choose((a <= b) | (a != a), a, b)
    else:
        return a if a <= b else b
