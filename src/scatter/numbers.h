/* The number types that C lacks, and how 16-bit floats are widened and rounded.
 *
 * Types of 16 bits and bool are structures, because a fused type cannot have two members of the same C type.
 */
#ifndef GS_NUMBERS_H
#define GS_NUMBERS_H
#include <stdint.h>
#include <string.h>

typedef struct { uint16_t bits; } gs_float16;
typedef struct { uint16_t bits; } gs_bfloat16;
typedef struct { uint8_t bits; } gs_bool;
typedef struct { float real, imag; } gs_complex64;
typedef struct { double real, imag; } gs_complex128;

#if defined(__FLT16_MAX__) && (defined(__F16C__) || !defined(__x86_64__))  /* an instruction, not a call */
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

/* Round to odd: a float that is then rounded to 16 bits gives the result of one rounding from double. */
static inline float gs_round_to_odd(double x) {
    float y = (float)x;
    uint32_t bits;
    if ((double)y == x || x != x) return y;
    memcpy(&bits, &y, 4);
    if ((x > 0) == ((double)y > x)) bits--;  /* rounded away from zero */
    bits |= 1u;
    memcpy(&y, &bits, 4);
    return y;
}

/* Conversions that keep a signalling NaN signalling, which arithmetic and the CPU's conversions make quiet. So an
   accumulator that is still signalling has had no update. */
static inline float gs_widen_float16_exactly(gs_float16 x) {
    float y = gs_widen_float16(x);
    uint32_t bits, magnitude = x.bits & 0x7fffu;
    memcpy(&bits, &y, 4);
    bits &= ~((uint32_t)((magnitude > 0x7c00u) & (magnitude < 0x7e00u)) << 22);
    memcpy(&y, &bits, 4);
    return y;
}
static inline double gs_widen_float_exactly(float x) {
    double y = x;
    uint32_t magnitude;
    uint64_t bits;
    memcpy(&magnitude, &x, 4);
    magnitude &= 0x7fffffffu;
    memcpy(&bits, &y, 8);
    bits &= ~((uint64_t)((magnitude > 0x7f800000u) & (magnitude < 0x7fc00000u)) << 51);
    memcpy(&y, &bits, 8);
    return y;
}
/* Of updates: always quiet, as the CPU's conversions are. */
static inline float gs_quiet(float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    bits |= (uint32_t)((bits & 0x7fffffffu) > 0x7f800000u) << 22;
    memcpy(&x, &bits, 4);
    return x;
}

/* The greater or the smaller of two floats: a if they are equal or a is NaN; b if only b is. By one instruction, where
   the compiler would branch on their order, which random updates mispredict. */
#if defined(__SSE2__)
  #include <emmintrin.h>
  #define GS_EXTREME(name, type, vector, of, to, operation) \
      static inline type name(type a, type b) { \
          type c = to(operation(of(b), of(a))); \
          return b == b || a != a ? c : b; \
      }
  GS_EXTREME(gs_max_float, float, __m128, _mm_set_ss, _mm_cvtss_f32, _mm_max_ss)
  GS_EXTREME(gs_min_float, float, __m128, _mm_set_ss, _mm_cvtss_f32, _mm_min_ss)
  GS_EXTREME(gs_max_double, double, __m128d, _mm_set_sd, _mm_cvtsd_f64, _mm_max_sd)
  GS_EXTREME(gs_min_double, double, __m128d, _mm_set_sd, _mm_cvtsd_f64, _mm_min_sd)
#else
  #define GS_EXTREME(name, type, operator) \
      static inline type name(type a, type b) { return b != b ? (a == a ? b : a) : b operator a ? b : a; }
  GS_EXTREME(gs_max_float, float, >)
  GS_EXTREME(gs_min_float, float, <)
  GS_EXTREME(gs_max_double, double, >)
  GS_EXTREME(gs_min_double, double, <)
#endif

/* Add three floats, the first two by one instruction: compilers make no vectors of a part. */
static inline void gs_add_three(char *sums, const char *numbers) {
#if defined(__GNUC__)
    typedef float two __attribute__((vector_size(8)));
    two a, b;
    memcpy(&a, sums, sizeof a);
    memcpy(&b, numbers, sizeof b);
    a += b;
#else
    float a[2], b[2];
    memcpy(a, sums, sizeof a);
    memcpy(b, numbers, sizeof b);
    a[0] += b[0];
    a[1] += b[1];
#endif
    {
        float c, d;
        memcpy(&c, sums + 8, sizeof c);
        memcpy(&d, numbers + 8, sizeof d);
        c += d;
        memcpy(sums, &a, sizeof a);
        memcpy(sums + 8, &c, sizeof c);
    }
}

#if defined(__GNUC__) && defined(__x86_64__)
  #define GS_KEEP(x) __asm__("" : "+x"(x))
#elif defined(__GNUC__) && defined(__aarch64__)
  #define GS_KEEP(x) __asm__("" : "+w"(x))
#else
  #define GS_KEEP(x) ((void)0)
#endif
/* Optimisation barriers. */
static inline float gs_rounded_float(float x) { GS_KEEP(x); return x; }
static inline double gs_rounded_double(double x) { GS_KEEP(x); return x; }

#endif
