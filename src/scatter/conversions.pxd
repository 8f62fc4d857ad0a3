# Conversions between a dtype and a wider one, in which its sums are accumulated (accumulate_dtype).
#
# Widening is exact and narrowing rounds once; integers are truncated. A signalling NaN of data stays signalling in
# both directions. Arithmetic makes it quiet, so a NaN that is still signalling at the end had no update. A signalling
# NaN of updates becomes quiet.
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy

from common.codes cimport (
    BFLOAT16, COMPLEX64, COMPLEX128, FLOAT16, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32,
    UINT64,
)
from common.items cimport MAX_WORD_BYTES, cloned_v3_void, cloned_void
from scatter.apply cimport swap_bytes
# The C code below calls that of these two files.
from scatter.means cimport round_to_odd
from scatter.reductions cimport float16

cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>
    #include <string.h>
    #if defined(_MSC_VER)
      #define GS_RESTRICT __restrict
    #else
      #define GS_RESTRICT restrict
    #endif
    static inline uint32_t gs_float_bits(float x) { uint32_t bits; memcpy(&bits, &x, 4); return bits; }
    static inline float gs_float_of(uint32_t bits) { float x; memcpy(&x, &bits, 4); return x; }
    static inline uint64_t gs_double_bits(double x) { uint64_t bits; memcpy(&bits, &x, 8); return bits; }
    static inline double gs_double_of(uint64_t bits) { double x; memcpy(&x, &bits, 8); return x; }
    /* All bits if x is a signalling NaN, else 0. */
    static inline uint32_t gs_float_signals(float x) {
        int32_t magnitude = (int32_t)(gs_float_bits(x) & 0x7fffffffu);
        return -(uint32_t)((magnitude > 0x7f800000) & (magnitude < 0x7fc00000));
    }
    static inline uint64_t gs_double_signals(double x) {
        int64_t magnitude = (int64_t)(gs_double_bits(x) & 0x7fffffffffffffff);
        return -(uint64_t)((magnitude > 0x7ff0000000000000) & (magnitude < 0x7ff8000000000000));
    }
    static inline float gs_with_quiet_bit(float x, uint32_t is_quiet) {
        uint32_t is_nan = -(uint32_t)((int32_t)(gs_float_bits(x) & 0x7fffffffu) > 0x7f800000);
        return gs_float_of((gs_float_bits(x) & ~(is_nan & 0x400000u)) | (is_nan & is_quiet & 0x400000u));
    }

    /* keeps: a signalling NaN stays one. */
    static inline float gs_widen_16_32(gs_float16 x, int keeps) {
        return gs_with_quiet_bit(gs_widen_float16(x), keeps ? -(uint32_t)(x.bits >> 9 & 1) : ~(uint32_t)0);
    }
    static inline float gs_widen_b16_32(gs_bfloat16 x, int keeps) {
        float y = gs_widen_bfloat16(x);
        return keeps ? y : gs_with_quiet_bit(y, ~(uint32_t)0);
    }
    static inline double gs_widen_32_64(float x, int keeps) {
        double y = x;
        int64_t signals;
        if (!keeps) return y;
        signals = (int32_t)gs_float_signals(x);
        return gs_double_of(gs_double_bits(y) & ~((uint64_t)signals & (uint64_t)1 << 51));
    }
    static inline double gs_widen_16_64(gs_float16 x, int keeps) {
        return gs_widen_32_64(gs_widen_16_32(x, keeps), keeps);
    }
    static inline double gs_widen_b16_64(gs_bfloat16 x, int keeps) {
        return gs_widen_32_64(gs_widen_b16_32(x, keeps), keeps);
    }
    static inline gs_complex128 gs_widen_c64_c128(gs_complex64 x, int keeps) {
        gs_complex128 y;
        y.real = gs_widen_32_64(x.real, keeps);
        y.imag = gs_widen_32_64(x.imag, keeps);
        return y;
    }

    static inline gs_float16 gs_narrow_32_16(float x, int keeps) {
        gs_float16 y = gs_round_float16(x);
        if (keeps) y.bits &= (uint16_t)~(gs_float_signals(x) & 0x200u);
        return y;
    }
    static inline gs_float16 gs_narrow_64_16(double x, int keeps) {
        gs_float16 y = gs_round_float16(gs_round_to_odd(x));
        if (keeps) y.bits &= (uint16_t)~(gs_double_signals(x) & 0x200u);
        return y;
    }
    static inline gs_bfloat16 gs_narrow_32_b16(float x, int keeps) {
        gs_bfloat16 y = gs_round_bfloat16(x);
        if (keeps) y.bits &= (uint16_t)~(gs_float_signals(x) & 0x40u);
        return y;
    }
    static inline gs_bfloat16 gs_narrow_64_b16(double x, int keeps) {
        gs_bfloat16 y = gs_round_bfloat16(gs_round_to_odd(x));
        if (keeps) y.bits &= (uint16_t)~(gs_double_signals(x) & 0x40u);
        return y;
    }
    static inline float gs_narrow_64_32(double x, int keeps) {
        float y = (float)x;
        return keeps ? gs_float_of(gs_float_bits(y) & ~((uint32_t)gs_double_signals(x) & 0x400000u)) : y;
    }
    static inline gs_complex64 gs_narrow_c128_c64(gs_complex128 x, int keeps) {
        gs_complex64 y;
        y.real = gs_narrow_64_32(x.real, keeps);
        y.imag = gs_narrow_64_32(x.imag, keeps);
        return y;
    }

    /* Whether one of n adjacent numbers is a signalling NaN: its magnitude is above `low`, by `n_signals` at most. */
    #define GS_HAS_SIGNALS(name, number_t, mask, low, n_signals) \
      static GS_ALWAYS_INLINE int name(const char *numbers, ptrdiff_t n) { \
          number_t found = 0; \
          for (ptrdiff_t i = 0; i < n; i++) { \
              number_t x; \
              memcpy(&x, numbers + i * (ptrdiff_t)sizeof x, sizeof x); \
              x = (number_t)((x & (mask)) - (low) - 1); \
              found |= (number_t)(x < (n_signals)); \
          } \
          return found != 0; \
      }
    GS_HAS_SIGNALS(gs_has_signals_f16, uint16_t, 0x7fffu, 0x7c00u, 0x1ffu)
    GS_HAS_SIGNALS(gs_has_signals_b16, uint16_t, 0x7fffu, 0x7f80u, 0x3fu)
    GS_HAS_SIGNALS(gs_has_signals_f32, uint32_t, 0x7fffffffu, 0x7f800000u, 0x3fffffu)

    /* Instructions for float16 that the compiler does not use in loops. They make signalling NaNs quiet. */
    #if defined(__GNUC__) && __GNUC__ >= 12 && !defined(__clang__) && defined(__x86_64__)
      #include <immintrin.h>
      static int gs_has_f16c(void) {
          static int known = -1;
          if (known < 0) {
              __builtin_cpu_init();
              known = __builtin_cpu_supports("f16c") != 0;
          }
          return known;
      }
      __attribute__((target("avx,f16c")))
      static void gs_widen_halves(const char *narrow, ptrdiff_t n, char *wide) {
          ptrdiff_t i;
          for (i = 0; i + 8 <= n; i += 8) {
              _mm256_storeu_ps((float *)(wide + 4 * i),
                               _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(narrow + 2 * i))));
          }
          for (; i < n; i++) {
              uint16_t bits;
              float x;
              memcpy(&bits, narrow + 2 * i, 2);
              x = _cvtsh_ss(bits);
              memcpy(wide + 4 * i, &x, 4);
          }
      }
      __attribute__((target("avx,f16c")))
      static void gs_narrow_halves(const char *wide, ptrdiff_t n, char *narrow) {
          ptrdiff_t i;
          for (i = 0; i + 8 <= n; i += 8) {
              _mm_storeu_si128((__m128i *)(narrow + 2 * i),
                               _mm256_cvtps_ph(_mm256_loadu_ps((const float *)(wide + 4 * i)), 0));
          }
          for (; i < n; i++) {
              float x;
              uint16_t bits;
              memcpy(&x, wide + 4 * i, 4);
              bits = (uint16_t)_cvtss_sh(x, 0);
              memcpy(narrow + 2 * i, &bits, 2);
          }
      }
    #else
      static int gs_has_f16c(void) { return 0; }
      static void gs_widen_halves(const char *narrow, ptrdiff_t n, char *wide) {}
      static void gs_narrow_halves(const char *wide, ptrdiff_t n, char *narrow) {}
    #endif

    /* Loops over n elements, which are `step` bytes apart if narrow, and adjacent if wide. */
    #define GS_LOOP(from_t, to_t, source, target, convert) \
      for (ptrdiff_t i = 0; i < n; i++) { \
          from_t x; \
          to_t y; \
          memcpy(&x, source, sizeof x); \
          y = convert; \
          memcpy(target, &y, sizeof y); \
      }
    #define GS_WIDEN(keeps_, step_, narrow_t, wide_t, widen) \
      GS_LOOP(narrow_t, wide_t, narrow + i * (ptrdiff_t)(step_), wide + i * (ptrdiff_t)sizeof(wide_t), \
              widen(x, keeps_))
    #define GS_NARROW(keeps_, step_, narrow_t, wide_t, narrowed) \
      GS_LOOP(wide_t, narrow_t, wide + i * (ptrdiff_t)sizeof(wide_t), narrow + i * (ptrdiff_t)(step_), \
              narrowed(x, keeps_))
    #define GS_PAIR(name, narrow_t, wide_t, widen, narrowed) \
      static GS_ALWAYS_INLINE void gs_widen_all_##name(const char *GS_RESTRICT narrow, ptrdiff_t step, ptrdiff_t n, \
                                                       int keeps, char *GS_RESTRICT wide) { \
          if (step != (ptrdiff_t)sizeof(narrow_t)) { \
              GS_WIDEN(keeps, step, narrow_t, wide_t, widen) \
          } else if (keeps) { \
              GS_WIDEN(1, sizeof(narrow_t), narrow_t, wide_t, widen) \
          } else { \
              GS_WIDEN(0, sizeof(narrow_t), narrow_t, wide_t, widen) \
          } \
      } \
      static GS_ALWAYS_INLINE void gs_narrow_all_##name(const char *GS_RESTRICT wide, ptrdiff_t n, int keeps, \
                                                        char *GS_RESTRICT narrow, ptrdiff_t step) { \
          if (step != (ptrdiff_t)sizeof(narrow_t)) { \
              GS_NARROW(keeps, step, narrow_t, wide_t, narrowed) \
          } else if (keeps) { \
              GS_NARROW(1, sizeof(narrow_t), narrow_t, wide_t, narrowed) \
          } else { \
              GS_NARROW(0, sizeof(narrow_t), narrow_t, wide_t, narrowed) \
          } \
      }
    #define GS_CAST(x, keeps) x  /* the assignment converts it */
    #define GS_PAIRS(pair) \
      pair(f32_f64, float, double, gs_widen_32_64, gs_narrow_64_32) \
      pair(f16_f32, gs_float16, float, gs_widen_16_32, gs_narrow_32_16) \
      pair(f16_f64, gs_float16, double, gs_widen_16_64, gs_narrow_64_16) \
      pair(b16_f32, gs_bfloat16, float, gs_widen_b16_32, gs_narrow_32_b16) \
      pair(b16_f64, gs_bfloat16, double, gs_widen_b16_64, gs_narrow_64_b16) \
      pair(c64_c128, gs_complex64, gs_complex128, gs_widen_c64_c128, gs_narrow_c128_c64) \
      pair(i8_i16, int8_t, int16_t, GS_CAST, GS_CAST) \
      pair(i8_i32, int8_t, int32_t, GS_CAST, GS_CAST) \
      pair(i8_i64, int8_t, int64_t, GS_CAST, GS_CAST) \
      pair(i16_i32, int16_t, int32_t, GS_CAST, GS_CAST) \
      pair(i16_i64, int16_t, int64_t, GS_CAST, GS_CAST) \
      pair(i32_i64, int32_t, int64_t, GS_CAST, GS_CAST) \
      pair(u8_u16, uint8_t, uint16_t, GS_CAST, GS_CAST) \
      pair(u8_u32, uint8_t, uint32_t, GS_CAST, GS_CAST) \
      pair(u8_u64, uint8_t, uint64_t, GS_CAST, GS_CAST) \
      pair(u16_u32, uint16_t, uint32_t, GS_CAST, GS_CAST) \
      pair(u16_u64, uint16_t, uint64_t, GS_CAST, GS_CAST) \
      pair(u32_u64, uint32_t, uint64_t, GS_CAST, GS_CAST)
    #define GS_CODE(name, narrow_t, wide_t, widen, narrowed) GS_PAIR_##name,
    enum { GS_NO_PAIR, GS_PAIRS(GS_CODE) };
    GS_PAIRS(GS_PAIR)

    #define GS_WIDEN_CASE(name, narrow_t, wide_t, widen, narrowed) \
      case GS_PAIR_##name: gs_widen_all_##name(narrow, step, n, keeps, wide); break;
    #define GS_NARROW_CASE(name, narrow_t, wide_t, widen, narrowed) \
      case GS_PAIR_##name: gs_narrow_all_##name(wide, n, keeps, narrow, step); break;
    static GS_ALWAYS_INLINE void gs_widen(int pair, const char *narrow, ptrdiff_t step, ptrdiff_t n, int keeps,
                                          char *wide) {
        switch (pair) { GS_PAIRS(GS_WIDEN_CASE) }
    }
    static GS_ALWAYS_INLINE void gs_narrow(int pair, const char *wide, ptrdiff_t n, int keeps, char *narrow,
                                           ptrdiff_t step) {
        switch (pair) { GS_PAIRS(GS_NARROW_CASE) }
    }
    #define GS_WIDEN_ROWS_CASE(name, narrow_t, wide_t, widen, narrowed) \
      case GS_PAIR_##name: \
        for (ptrdiff_t row = 0; row < n; row++) { \
            gs_widen_all_##name(narrow + offsets[row], step, n_items, 0, wide + row * pitch); \
        } \
        break;
    static GS_ALWAYS_INLINE void gs_widen_rows(int pair, const char *narrow, const int64_t *offsets, ptrdiff_t n,
                                               ptrdiff_t step, ptrdiff_t n_items, char *wide, ptrdiff_t pitch) {
        switch (pair) { GS_PAIRS(GS_WIDEN_ROWS_CASE) }
    }
    /* Widen and add rows in one loop, for the most common pair. */
    static GS_ALWAYS_INLINE void gs_add_rows_of(char *sums, const int64_t *offsets, const char *narrow,
                                                const int64_t *narrow_offsets, ptrdiff_t n, ptrdiff_t n_items) {
        for (ptrdiff_t row = 0; row < n; row++) {
            gs_unaligned_double *to = (gs_unaligned_double *)(sums + offsets[row]);
            const gs_unaligned_float *from = (const gs_unaligned_float *)(narrow + narrow_offsets[row]);
            GS_INDEPENDENT
            for (ptrdiff_t i = 0; i < n_items; i++) to[i] += from[i];
        }
    }
    #define GS_ADD_ROWS_CASE(k) case k: gs_add_rows_of(sums, offsets, narrow, narrow_offsets, n, k); break;
    static GS_ALWAYS_INLINE void gs_add_rows(char *sums, const int64_t *offsets, const char *narrow,
                                             const int64_t *narrow_offsets, ptrdiff_t n, ptrdiff_t n_items) {
        switch (n_items) {  /* constants: without the prologue of a loop, which GCC would not vectorise either */
            GS_ADD_ROWS_CASE(2) GS_ADD_ROWS_CASE(3) GS_ADD_ROWS_CASE(4)
            default: gs_add_rows_of(sums, offsets, narrow, narrow_offsets, n, n_items);
        }
    }
    /* Widen the rows rows[:n] of `narrow`, and add them to a row of sums, or multiply it by them, in this order. While
       a part of a row is combined, that of the row `ahead` is prefetched, up to rows[last - 1]. */
    enum { GS_PART = 64 };
    #define GS_COMBINE_RUN(operator) \
      for (ptrdiff_t row = 0; row < n; row++) { \
          const gs_unaligned_float *from = (const gs_unaligned_float *)(narrow + rows[row] * step); \
          const char *next = row + ahead < last ? narrow + rows[row + ahead] * step : NULL; \
          for (ptrdiff_t begin = 0; begin < n_items; begin += GS_PART) { \
              ptrdiff_t end = n_items - begin < GS_PART ? n_items : begin + GS_PART; \
              if (next) gs_prefetch_row_l2(next + 4 * begin, 4 * (end - begin)); \
              GS_INDEPENDENT \
              for (ptrdiff_t i = begin; i < end; i++) to[i] operator from[i]; \
          } \
      }
    static GS_ALWAYS_INLINE void gs_combine_run(char *sums, const char *narrow, ptrdiff_t step, const uint32_t *rows,
                                                ptrdiff_t n, ptrdiff_t last, ptrdiff_t n_items, ptrdiff_t ahead,
                                                int multiplies) {
        gs_unaligned_double *to = (gs_unaligned_double *)sums;
        if (multiplies) {
            GS_COMBINE_RUN(*=)
        } else {
            GS_COMBINE_RUN(+=)
        }
    }
    static GS_ALWAYS_INLINE int gs_has_signals(int pair, const char *narrow, ptrdiff_t n) {
        switch (pair) {
            case GS_PAIR_f32_f64: return gs_has_signals_f32(narrow, n);
            case GS_PAIR_c64_c128: return gs_has_signals_f32(narrow, 2 * n);
            case GS_PAIR_f16_f32: case GS_PAIR_f16_f64: return gs_has_signals_f16(narrow, n);
            case GS_PAIR_b16_f32: case GS_PAIR_b16_f64: return gs_has_signals_b16(narrow, n);
            default: return 0;
        }
    }
    """
    # Pairs of types; 0: none.
    int F32_F64 "GS_PAIR_f32_f64"
    int F16_F32 "GS_PAIR_f16_f32"
    int F16_F64 "GS_PAIR_f16_f64"
    int B16_F32 "GS_PAIR_b16_f32"
    int B16_F64 "GS_PAIR_b16_f64"
    int C64_C128 "GS_PAIR_c64_c128"
    int I8_I16 "GS_PAIR_i8_i16"
    int I8_I32 "GS_PAIR_i8_i32"
    int I8_I64 "GS_PAIR_i8_i64"
    int I16_I32 "GS_PAIR_i16_i32"
    int I16_I64 "GS_PAIR_i16_i64"
    int I32_I64 "GS_PAIR_i32_i64"
    int U8_U16 "GS_PAIR_u8_u16"
    int U8_U32 "GS_PAIR_u8_u32"
    int U8_U64 "GS_PAIR_u8_u64"
    int U16_U32 "GS_PAIR_u16_u32"
    int U16_U64 "GS_PAIR_u16_u64"
    int U32_U64 "GS_PAIR_u32_u64"
    void widen "gs_widen" (int pair, const char* narrow, Py_ssize_t step, Py_ssize_t n, bint keeps,
                           char* wide) noexcept nogil
    void narrow "gs_narrow" (int pair, const char* wide, Py_ssize_t n, bint keeps, char* narrow,
                             Py_ssize_t step) noexcept nogil
    void widen_rows "gs_widen_rows" (int pair, const char* narrow, const int64_t* offsets, Py_ssize_t n,
                                     Py_ssize_t step, Py_ssize_t n_items, char* wide, Py_ssize_t pitch) noexcept nogil
    void add_rows "gs_add_rows" (char* sums, const int64_t* offsets, const char* narrow,
                                 const int64_t* narrow_offsets, Py_ssize_t n, Py_ssize_t n_items) noexcept nogil
    void combine_run "gs_combine_run" (char* sums, const char* narrow, Py_ssize_t step, const uint32_t* rows,
                                       Py_ssize_t n, Py_ssize_t last, Py_ssize_t n_items, Py_ssize_t ahead,
                                       bint multiplies) noexcept nogil
    bint has_signals "gs_has_signals" (int pair, const char* narrow, Py_ssize_t n) noexcept nogil
    bint has_f16c "gs_has_f16c" () noexcept nogil
    void widen_halves "gs_widen_halves" (const char* narrow, Py_ssize_t n, char* wide) noexcept nogil
    void narrow_halves "gs_narrow_halves" (const char* wide, Py_ssize_t n, char* narrow) noexcept nogil

cdef enum:
    NATIVE_ITEMS = 128  # that are copied at a time to be converted
    DATA_ITEMS = 1 << 12

cdef struct Conversion:
    int pair
    int swapped             # for narrow items in non-native byte order: the width of a number; else 0
    Py_ssize_t narrow_bytes
    Py_ssize_t wide_bytes


cdef inline int pair_of(int type_code, int wide) noexcept nogil:
    """The pair of types in which values of `type_code` are accumulated as `wide`; 0: there is none."""
    if type_code == FLOAT32:
        return F32_F64 if wide == FLOAT64 else 0
    if type_code == FLOAT16:
        return F16_F32 if wide == FLOAT32 else F16_F64 if wide == FLOAT64 else 0
    if type_code == BFLOAT16:
        return B16_F32 if wide == FLOAT32 else B16_F64 if wide == FLOAT64 else 0
    if type_code == COMPLEX64:
        return C64_C128 if wide == COMPLEX128 else 0
    if type_code == INT8:
        return I8_I16 if wide == INT16 else I8_I32 if wide == INT32 else I8_I64 if wide == INT64 else 0
    if type_code == INT16:
        return I16_I32 if wide == INT32 else I16_I64 if wide == INT64 else 0
    if type_code == INT32:
        return I32_I64 if wide == INT64 else 0
    if type_code == UINT8:
        return U8_U16 if wide == UINT16 else U8_U32 if wide == UINT32 else U8_U64 if wide == UINT64 else 0
    if type_code == UINT16:
        return U16_U32 if wide == UINT32 else U16_U64 if wide == UINT64 else 0
    if type_code == UINT32:
        return U32_U64 if wide == UINT64 else 0
    return 0


cdef inline cloned_void widen_native(int pair, const char* items, Py_ssize_t step, Py_ssize_t n, bint keeps,
                                     char* wide) noexcept nogil:
    widen(pair, items, step, n, keeps, wide)


cdef inline cloned_void widen_native_rows(int pair, const char* items, const int64_t* offsets, Py_ssize_t n,
                                          Py_ssize_t step, Py_ssize_t n_items, char* wide,
                                          Py_ssize_t pitch) noexcept nogil:
    """Widen n rows of n_items that are `step` bytes apart."""
    widen_rows(pair, items, offsets, n, step, n_items, wide, pitch)


cdef inline cloned_v3_void add_float_rows(char* sums, const int64_t* offsets, const char* rows,
                                          const int64_t* row_offsets, Py_ssize_t n, Py_ssize_t n_items) noexcept nogil:
    """Add n rows of float32 to sums of float64."""
    add_rows(sums, offsets, rows, row_offsets, n, n_items)


cdef inline cloned_v3_void combine_floats(char* sums, const char* updates, Py_ssize_t step, const uint32_t* order,
                                          Py_ssize_t n, Py_ssize_t last, Py_ssize_t n_items, Py_ssize_t ahead,
                                          bint multiplies) noexcept nogil:
    """Combine a row of float64 with the rows order[:n] of float32, and prefetch order[ahead:last]."""
    combine_run(sums, updates, step, order, n, last, n_items, ahead, multiplies)


cdef inline cloned_void narrow_native(int pair, const char* wide, Py_ssize_t n, bint keeps, char* items,
                                      Py_ssize_t step) noexcept nogil:
    narrow(pair, wide, n, keeps, items, step)


cdef inline cloned_void find_signals(int pair, const char* items, Py_ssize_t n, bint* found) noexcept nogil:
    found[0] |= has_signals(pair, items, n)


cdef inline void swap_items(char* items, Py_ssize_t width, Py_ssize_t n, int swapped) noexcept nogil:
    """Reverse the bytes of the numbers of n items. swapped: a number's width."""
    cdef Py_ssize_t i
    cdef char element[16]
    for i in range(n):
        memcpy(element, items + i * width, width)
        swap_bytes(element, swapped)
        memcpy(items + i * width, element, width)


cdef inline void copy_items(const char* items, Py_ssize_t step, Py_ssize_t width, Py_ssize_t n,
                            char* to) noexcept nogil:
    cdef Py_ssize_t i
    if width == 2:  # a constant
        for i in range(n):
            memcpy(to + i * 2, items + i * step, 2)
        return
    for i in range(n):
        memcpy(to + i * width, items + i * step, width)


cdef inline void widen_items(const Conversion* conversion, const char* items, Py_ssize_t step, Py_ssize_t n,
                             bint keeps, char* wide) noexcept nogil:
    """Widen n items that are `step` bytes apart. keeps: signalling NaNs stay signalling."""
    cdef char native[NATIVE_ITEMS * MAX_WORD_BYTES]
    cdef Py_ssize_t width = conversion.narrow_bytes
    cdef Py_ssize_t m
    cdef bint as_halves = conversion.pair == F16_F32 and not keeps and has_f16c()
    if as_halves and step == width and not conversion.swapped:
        widen_halves(items, n, wide)
        return
    if not as_halves and not conversion.swapped:
        widen_native(conversion.pair, items, step, n, keeps, wide)
        return
    while n > 0:
        m = min(n, <Py_ssize_t>NATIVE_ITEMS)
        copy_items(items, step, width, m, native)
        if conversion.swapped:
            swap_items(native, width, m, conversion.swapped)
        if as_halves:
            widen_halves(native, m, wide)
        else:
            widen_native(conversion.pair, native, width, m, keeps, wide)
        items += m * step
        wide += m * conversion.wide_bytes
        n -= m


cdef inline void widen_data(const Conversion* conversion, const char* items, Py_ssize_t n, char* wide,
                            bint* signals) noexcept nogil:
    """Widen n adjacent items of data. signals: set if there is a signalling NaN."""
    cdef Py_ssize_t m
    cdef bint found
    while n > 0:
        m = min(n, <Py_ssize_t>DATA_ITEMS)  # read twice: L1 holds them
        found = conversion.swapped != 0
        find_signals(conversion.pair, items, m, &found)
        widen_items(conversion, items, conversion.narrow_bytes, m, found, wide)
        signals[0] |= found
        items += m * conversion.narrow_bytes
        wide += m * conversion.wide_bytes
        n -= m


cdef inline void narrow_items(const Conversion* conversion, const char* wide, Py_ssize_t n, bint keeps, char* items,
                              Py_ssize_t step) noexcept nogil:
    """Round n items to the narrow type, and write them `step` bytes apart. keeps: signalling NaNs stay signalling."""
    cdef char native[NATIVE_ITEMS * MAX_WORD_BYTES]
    cdef Py_ssize_t width = conversion.narrow_bytes
    cdef Py_ssize_t i, m
    if conversion.pair == F16_F32 and not keeps and step == width and not conversion.swapped and has_f16c():
        narrow_halves(wide, n, items)
        return
    if not conversion.swapped:
        narrow_native(conversion.pair, wide, n, keeps, items, step)
        return
    while n > 0:
        m = min(n, <Py_ssize_t>NATIVE_ITEMS)
        narrow_native(conversion.pair, wide, m, keeps, native, width)
        swap_items(native, width, m, conversion.swapped)
        for i in range(m):
            memcpy(items + i * step, native + i * width, width)
        items += m * step
        wide += m * conversion.wide_bytes
        n -= m
