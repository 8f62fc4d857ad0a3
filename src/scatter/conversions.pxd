# Conversions between a dtype and a wider one, in which its sums are accumulated (accumulate_dtype).
#
# Widening is exact and narrowing rounds once; integers are truncated. A signalling NaN of data stays signalling both
# ways: arithmetic would make it quiet, so one that is left at the end has had no update. One of updates becomes quiet.
from libc.string cimport memcpy

from common.codes cimport (
    BFLOAT16, COMPLEX64, COMPLEX128, FLOAT16, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32,
    UINT64,
)
from common.items cimport MAX_WORD_BYTES, cloned_void
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

    static inline gs_float16 gs_narrow_32_16(float x) {
        gs_float16 y = gs_round_float16(x);
        y.bits &= (uint16_t)~(gs_float_signals(x) & 0x200u);
        return y;
    }
    static inline gs_float16 gs_narrow_64_16(double x) {
        gs_float16 y = gs_round_float16(gs_round_to_odd(x));
        y.bits &= (uint16_t)~(gs_double_signals(x) & 0x200u);
        return y;
    }
    static inline gs_bfloat16 gs_narrow_32_b16(float x) {
        gs_bfloat16 y = gs_round_bfloat16(x);
        y.bits &= (uint16_t)~(gs_float_signals(x) & 0x40u);
        return y;
    }
    static inline gs_bfloat16 gs_narrow_64_b16(double x) {
        gs_bfloat16 y = gs_round_bfloat16(gs_round_to_odd(x));
        y.bits &= (uint16_t)~(gs_double_signals(x) & 0x40u);
        return y;
    }
    static inline float gs_narrow_64_32(double x) {
        return gs_float_of(gs_float_bits((float)x) & ~((uint32_t)gs_double_signals(x) & 0x400000u));
    }
    static inline gs_complex64 gs_narrow_c128_c64(gs_complex128 x) {
        gs_complex64 y;
        y.real = gs_narrow_64_32(x.real);
        y.imag = gs_narrow_64_32(x.imag);
        return y;
    }

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
    #define GS_NARROW(step_, narrow_t, wide_t, narrowed) \
      GS_LOOP(wide_t, narrow_t, wide + i * (ptrdiff_t)sizeof(wide_t), narrow + i * (ptrdiff_t)(step_), \
              narrowed(x))
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
      static GS_ALWAYS_INLINE void gs_narrow_all_##name(const char *GS_RESTRICT wide, ptrdiff_t n, \
                                                    char *GS_RESTRICT narrow, ptrdiff_t step) { \
          if (step != (ptrdiff_t)sizeof(narrow_t)) { \
              GS_NARROW(step, narrow_t, wide_t, narrowed) \
          } else { \
              GS_NARROW(sizeof(narrow_t), narrow_t, wide_t, narrowed) \
          } \
      }
    #define GS_EXTEND(x, keeps) (x)
    #define GS_PAIRS(pair) \
      pair(f32_f64, float, double, gs_widen_32_64, gs_narrow_64_32) \
      pair(f16_f32, gs_float16, float, gs_widen_16_32, gs_narrow_32_16) \
      pair(f16_f64, gs_float16, double, gs_widen_16_64, gs_narrow_64_16) \
      pair(b16_f32, gs_bfloat16, float, gs_widen_b16_32, gs_narrow_32_b16) \
      pair(b16_f64, gs_bfloat16, double, gs_widen_b16_64, gs_narrow_64_b16) \
      pair(c64_c128, gs_complex64, gs_complex128, gs_widen_c64_c128, gs_narrow_c128_c64) \
      pair(i8_i16, int8_t, int16_t, GS_EXTEND, (int8_t)) \
      pair(i8_i32, int8_t, int32_t, GS_EXTEND, (int8_t)) \
      pair(i8_i64, int8_t, int64_t, GS_EXTEND, (int8_t)) \
      pair(i16_i32, int16_t, int32_t, GS_EXTEND, (int16_t)) \
      pair(i16_i64, int16_t, int64_t, GS_EXTEND, (int16_t)) \
      pair(i32_i64, int32_t, int64_t, GS_EXTEND, (int32_t)) \
      pair(u8_u16, uint8_t, uint16_t, GS_EXTEND, (uint8_t)) \
      pair(u8_u32, uint8_t, uint32_t, GS_EXTEND, (uint8_t)) \
      pair(u8_u64, uint8_t, uint64_t, GS_EXTEND, (uint8_t)) \
      pair(u16_u32, uint16_t, uint32_t, GS_EXTEND, (uint16_t)) \
      pair(u16_u64, uint16_t, uint64_t, GS_EXTEND, (uint16_t)) \
      pair(u32_u64, uint32_t, uint64_t, GS_EXTEND, (uint32_t))
    #define GS_CODE(name, narrow_t, wide_t, widen, narrowed) GS_PAIR_##name,
    enum { GS_NO_PAIR, GS_PAIRS(GS_CODE) };
    GS_PAIRS(GS_PAIR)

    #define GS_WIDEN_CASE(name, narrow_t, wide_t, widen, narrowed) \
      case GS_PAIR_##name: gs_widen_all_##name(narrow, step, n, keeps, wide); break;
    #define GS_NARROW_CASE(name, narrow_t, wide_t, widen, narrowed) \
      case GS_PAIR_##name: gs_narrow_all_##name(wide, n, narrow, step); break;
    static GS_ALWAYS_INLINE void gs_widen(int pair, const char *narrow, ptrdiff_t step, ptrdiff_t n, int keeps,
                                          char *wide) {
        switch (pair) { GS_PAIRS(GS_WIDEN_CASE) }
    }
    static GS_ALWAYS_INLINE void gs_narrow(int pair, const char *wide, ptrdiff_t n, char *narrow, ptrdiff_t step) {
        switch (pair) { GS_PAIRS(GS_NARROW_CASE) }
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
    void narrow "gs_narrow" (int pair, const char* wide, Py_ssize_t n, char* narrow, Py_ssize_t step) noexcept nogil

cdef enum:
    SWAPPED_ITEMS = 64  # that are converted at a time if they are byte-swapped

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


cdef inline cloned_void narrow_native(int pair, const char* wide, Py_ssize_t n, char* items,
                                      Py_ssize_t step) noexcept nogil:
    narrow(pair, wide, n, items, step)


cdef inline void swap_items(char* items, Py_ssize_t width, Py_ssize_t n, int swapped) noexcept nogil:
    """Reverse the bytes of the numbers of n items, which are MAX_WORD_BYTES at most. swapped: a number's width."""
    cdef Py_ssize_t i
    cdef char element[16]
    for i in range(n):
        memcpy(element, items + i * width, width)
        swap_bytes(element, swapped)
        memcpy(items + i * width, element, width)


cdef inline void widen_items(const Conversion* conversion, const char* items, Py_ssize_t step, Py_ssize_t n,
                             bint keeps, char* wide) noexcept nogil:
    """Widen n items that are `step` bytes apart. keeps: signalling NaNs stay signalling."""
    cdef char native[SWAPPED_ITEMS * MAX_WORD_BYTES]
    cdef Py_ssize_t width = conversion.narrow_bytes
    cdef Py_ssize_t i, m
    if not conversion.swapped:
        widen_native(conversion.pair, items, step, n, keeps, wide)
        return
    while n > 0:
        m = min(n, <Py_ssize_t>SWAPPED_ITEMS)
        for i in range(m):
            memcpy(native + i * width, items + i * step, width)
        swap_items(native, width, m, conversion.swapped)
        widen_native(conversion.pair, native, width, m, keeps, wide)
        items += m * step
        wide += m * conversion.wide_bytes
        n -= m


cdef inline void narrow_items(const Conversion* conversion, const char* wide, Py_ssize_t n, char* items,
                              Py_ssize_t step) noexcept nogil:
    """Round n items to the narrow type, and write them `step` bytes apart."""
    cdef char native[SWAPPED_ITEMS * MAX_WORD_BYTES]
    cdef Py_ssize_t width = conversion.narrow_bytes
    cdef Py_ssize_t i, m
    if not conversion.swapped:
        narrow_native(conversion.pair, wide, n, items, step)
        return
    while n > 0:
        m = min(n, <Py_ssize_t>SWAPPED_ITEMS)
        narrow_native(conversion.pair, wide, m, native, width)
        swap_items(native, width, m, conversion.swapped)
        for i in range(m):
            memcpy(items + i * step, native + i * width, width)
        items += m * step
        wide += m * conversion.wide_bytes
        n -= m
