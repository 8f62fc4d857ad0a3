# Reductions of vectors: the kinds of reduce_rows.pxd, and the statements in C that reduce one vector with another.
#
# A kind is a reduction, a type of numbers and the size of the CPU's vectors. The statements give the bits of the steps
# in reductions.pxd. There are none for products of complex numbers, and none without the vector extensions of GCC and
# Clang.
from common.codes cimport (
    ADD, BOOL, COMPLEX64, COMPLEX128, FLOAT16, FLOAT32, FLOAT64, INT8, INT64, MAX, MIN, MUL, UINT8, ReductionCode,
    TypeCode,
)

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    enum { GS_ADD = 1, GS_MUL, GS_MAX, GS_MIN };  /* the values of ReductionCode and TypeCode: common/codes.pxd */
    enum {
        GS_BOOL = 1, GS_INT8, GS_INT16, GS_INT32, GS_INT64, GS_UINT8, GS_UINT16, GS_UINT32, GS_UINT64, GS_FLOAT16,
        GS_BFLOAT16, GS_FLOAT32, GS_FLOAT64,
    };
    #define GS_KIND(reduction, type) (16 * (reduction) + (type))
    #define GS_AVX2_KIND(reduction, type) (128 + GS_KIND(reduction, type))
    #if defined(__GNUC__)
      #define GS_HAS_VECTORS 1
      /* of(reduction, type, type in C, statement). Sums and products of integers are those of unsigned ones. */
      #define GS_EACH_KIND(of) \
          of(ADD, BOOL, uint8_t, gs_or) of(MUL, BOOL, uint8_t, gs_and) \
          of(ADD, UINT8, uint8_t, gs_add) of(ADD, UINT16, uint16_t, gs_add) \
          of(ADD, UINT32, uint32_t, gs_add) of(ADD, UINT64, uint64_t, gs_add) \
          of(ADD, FLOAT32, float, gs_add) of(ADD, FLOAT64, double, gs_add) \
          of(ADD, BFLOAT16, uint16_t, gs_add_bfloats) \
          of(MUL, UINT8, uint8_t, gs_multiply) of(MUL, UINT16, uint16_t, gs_multiply) \
          of(MUL, UINT32, uint32_t, gs_multiply) of(MUL, UINT64, uint64_t, gs_multiply) \
          of(MUL, FLOAT32, float, gs_multiply) of(MUL, FLOAT64, double, gs_multiply) \
          of(MUL, BFLOAT16, uint16_t, gs_multiply_bfloats) \
          GS_EACH_ORDERED(of, MAX, gs_max) GS_EACH_ORDERED(of, MIN, gs_min)
      #define GS_EACH_ORDERED(of, reduction, statement) \
          of(reduction, INT8, int8_t, statement) of(reduction, INT16, int16_t, statement) \
          of(reduction, INT32, int32_t, statement) of(reduction, INT64, int64_t, statement) \
          of(reduction, UINT8, uint8_t, statement) of(reduction, UINT16, uint16_t, statement) \
          of(reduction, UINT32, uint32_t, statement) of(reduction, UINT64, uint64_t, statement) \
          of(reduction, FLOAT32, float, statement) of(reduction, FLOAT64, double, statement) \
          of(reduction, FLOAT16, uint16_t, statement##_halves) of(reduction, BFLOAT16, uint16_t, statement##_bfloats)

      /* Statements that reduce the vector a with the vector b. Comparisons of vectors give masks: 0 or -1. */
      #define gs_or(a, b) a = (__typeof__(a))(((a | b) != 0) & 1)  /* any byte but 0 is true */
      #define gs_and(a, b) a = (__typeof__(a))((a != 0) & (b != 0) & 1)
      #define gs_add(a, b) a += b
      #define gs_multiply(a, b) a *= b
      /* The first NaN stays, and the first of equal numbers. */
      #define gs_max(a, b) gs_replace(a, b, ~(a >= b) & (a == a))
      #define gs_min(a, b) gs_replace(a, b, ~(a <= b) & (a == a))
      #define gs_replace(a, b, where) do { \
          __typeof__(where) replaced = where; \
          a = (__typeof__(a))(((__typeof__(where))b & replaced) | ((__typeof__(where))a & ~replaced)); \
      } while (0)
      /* 16-bit floats are compared as integers: below 0, a greater magnitude is less, and -0 equals 0. */
      #define gs_max_halves(a, b) gs_replace_16(a, b, >=, 0x7c00)
      #define gs_min_halves(a, b) gs_replace_16(a, b, <=, 0x7c00)
      #define gs_max_bfloats(a, b) gs_replace_16(a, b, >=, 0x7f80)
      #define gs_min_bfloats(a, b) gs_replace_16(a, b, <=, 0x7f80)
      #define gs_replace_16(a, b, compared, infinity) do { \
          typedef int16_t integers __attribute__((vector_size(sizeof(a)))); \
          integers x = (integers)a, y = (integers)b; \
          integers x_is_nan = (x & 0x7fff) > (infinity), y_is_nan = (y & 0x7fff) > (infinity); \
          x ^= (x >> 15) & 0x7fff; \
          y ^= (y >> 15) & 0x7fff; \
          x -= x == -1; \
          y -= y == -1; \
          gs_replace(a, b, (~(x compared y) | y_is_nan) & ~x_is_nan); \
      } while (0)
      /* A bfloat16 is the upper half of a float. Those in even and in odd places are reduced as floats, and rounded.
         The lower half of a NaN is 0, so that it is not rounded to infinity. */
      #define gs_add_bfloats(a, b) gs_reduce_bfloats(a, b, +)
      #define gs_multiply_bfloats(a, b) gs_reduce_bfloats(a, b, *)
      #define gs_reduce_bfloats(a, b, operator) do { \
          typedef uint32_t integers __attribute__((vector_size(sizeof(a)))); \
          typedef float floats __attribute__((vector_size(sizeof(a)))); \
          integers x = (integers)a, y = (integers)b; \
          floats even = (floats)(x << 16) operator (floats)(y << 16); \
          floats odd = (floats)(x & 0xffff0000u) operator (floats)(y & 0xffff0000u); \
          x = (integers)even + 0x7fff + ((integers)even >> 16 & 1); \
          y = (integers)odd + 0x7fff + ((integers)odd >> 16 & 1); \
          a = (__typeof__(a))(x >> 16 | (y & 0xffff0000u)); \
      } while (0)
    #else
      #define GS_HAS_VECTORS 0
      #define GS_EACH_KIND(of)
    #endif
    #if defined(__GNUC__) && __GNUC__ >= 11 && defined(__x86_64__)
      #include <immintrin.h>
      #define GS_AVX2 __attribute__((target("avx2,f16c")))
      #define GS_EACH_AVX2_KIND(of) GS_EACH_KIND(of)
      /* Sums and products of float16, by instructions that the compiler does not use in loops. */
      #define GS_EACH_HALF(of) \
          of(ADD, FLOAT16, uint16_t, gs_add_halves) of(MUL, FLOAT16, uint16_t, gs_multiply_halves)
      static int gs_has_avx2(void) {
          static int known = -1;
          if (known < 0) {
              __builtin_cpu_init();
              known = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
          }
          return known;
      }
      #define gs_add_halves(a, b) gs_reduce_halves(a, b, _mm256_add_ps)
      #define gs_multiply_halves(a, b) gs_reduce_halves(a, b, _mm256_mul_ps)
      #define gs_reduce_halves(a, b, operation) do { \
          __m128i x = _mm_setzero_si128(), y = x;  /* a and b may be shorter */ \
          memcpy(&x, &a, sizeof(a)); \
          memcpy(&y, &b, sizeof(b)); \
          x = _mm256_cvtps_ph(operation(_mm256_cvtph_ps(x), _mm256_cvtph_ps(y)), _MM_FROUND_TO_NEAREST_INT); \
          memcpy(&a, &x, sizeof(a)); \
      } while (0)
    #else
      #define GS_EACH_AVX2_KIND(of)
      #define GS_EACH_HALF(of)
      static int gs_has_avx2(void) { return 0; }
    #endif
    """
    bint has_vectors "GS_HAS_VECTORS"
    bint has_avx2 "gs_has_avx2" () noexcept nogil
    int KIND "GS_KIND" (int reduction, int type_code) nogil
    int AVX2_KIND "GS_AVX2_KIND" (int reduction, int type_code) nogil


cdef inline int kind_of(ReductionCode reduction, TypeCode type_code) noexcept nogil:
    """The kind of a reduction on this CPU; 0: there is none."""
    cdef bint is_order = reduction == MAX or reduction == MIN
    cdef int number = type_code  # of the part, for complex numbers
    if not has_vectors or not (is_order or reduction == ADD or reduction == MUL):
        return 0
    if type_code == BOOL and is_order:
        reduction = ADD if reduction == MAX else MUL
    elif type_code == COMPLEX64 or type_code == COMPLEX128:  # added part by part
        if reduction != ADD:
            return 0
        number = FLOAT32 if type_code == COMPLEX64 else FLOAT64
    elif INT8 <= type_code <= INT64 and not is_order:
        number = type_code + (UINT8 - INT8)
    if number > FLOAT64:
        return 0
    if has_avx2():
        return AVX2_KIND(reduction, number)
    return 0 if type_code == FLOAT16 and not is_order else KIND(reduction, number)
