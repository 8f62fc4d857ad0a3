// Conversions between a type of numbers and a wider one, in which it is accumulated, and sums in the wider one.
//
// Widening is exact and narrowing rounds once; integers are truncated.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "common/compiler.h"
#include "scatter/loops/table.h"
#include "scatter/numbers.h"
#if defined(__F16C__)
  #include <immintrin.h>
#endif

#if defined(_MSC_VER) && !defined(__clang__)
  #define GS_RESTRICT __restrict
#else
  #define GS_RESTRICT __restrict__
#endif
// Iterations are independent: arrays may be the same, which for the compiler would be a reason not to vectorise.
#if defined(__clang__)
  #define GS_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
  #define GS_INDEPENDENT _Pragma("GCC ivdep")
#else
  #define GS_INDEPENDENT
#endif

namespace {

template <class To, class From>
GS_ALWAYS_INLINE To bits_as(From x) {
    static_assert(sizeof(To) == sizeof(From));
    To y;
    memcpy(&y, &x, sizeof y);
    return y;
}

// All bits if x is a signalling NaN, else 0.
GS_ALWAYS_INLINE uint32_t signals(float x) {
    int32_t magnitude = (int32_t)(bits_as<uint32_t>(x) & 0x7fffffffu);
    return -(uint32_t)((magnitude > 0x7f800000) & (magnitude < 0x7fc00000));
}

GS_ALWAYS_INLINE uint64_t signals(double x) {
    int64_t magnitude = (int64_t)(bits_as<uint64_t>(x) & 0x7fffffffffffffff);
    return -(uint64_t)((magnitude > 0x7ff0000000000000) & (magnitude < 0x7ff8000000000000));
}

// x, if it is a NaN with that quiet bit.
GS_ALWAYS_INLINE float with_quiet_bit(float x, bool is_quiet) {
    uint32_t bits = bits_as<uint32_t>(x);
    uint32_t quiet_bit = -(uint32_t)((int32_t)(bits & 0x7fffffffu) > 0x7f800000) & 0x400000u;
    return bits_as<float>((bits & ~quiet_bit) | (quiet_bit & -(uint32_t)is_quiet));
}

// One number. keeps: a signalling NaN stays one.

GS_ALWAYS_INLINE void widen(gs_float16 x, bool keeps, float &y) {
    y = with_quiet_bit(gs_widen_float16(x), !keeps || (x.bits >> 9 & 1));
}

GS_ALWAYS_INLINE void widen(gs_bfloat16 x, bool keeps, float &y) {
    y = gs_widen_bfloat16(x);
    if (!keeps) y = with_quiet_bit(y, true);
}

GS_ALWAYS_INLINE void widen(float x, bool keeps, double &y) {
    y = x;
    if (keeps) {
        int64_t is_signalling = (int32_t)signals(x);
        y = bits_as<double>(bits_as<uint64_t>(y) & ~((uint64_t)is_signalling & (uint64_t)1 << 51));
    }
}

template <class Float16>  // or bfloat16
GS_ALWAYS_INLINE void widen(Float16 x, bool keeps, double &y) {
    float between;
    widen(x, keeps, between);
    widen(between, keeps, y);
}

GS_ALWAYS_INLINE void widen(gs_complex64 x, bool keeps, gs_complex128 &y) {
    widen(x.real, keeps, y.real);
    widen(x.imag, keeps, y.imag);
}

GS_ALWAYS_INLINE void narrow(float x, bool keeps, gs_float16 &y) {
    y = gs_round_float16(x);
    if (keeps) y.bits &= (uint16_t)~(signals(x) & 0x200u);
}

GS_ALWAYS_INLINE void narrow(double x, bool keeps, gs_float16 &y) {
    y = gs_round_float16(gs_round_to_odd(x));
    if (keeps) y.bits &= (uint16_t)~(signals(x) & 0x200u);
}

GS_ALWAYS_INLINE void narrow(float x, bool keeps, gs_bfloat16 &y) {
    y = gs_round_bfloat16(x);
    if (keeps) y.bits &= (uint16_t)~(signals(x) & 0x40u);
}

GS_ALWAYS_INLINE void narrow(double x, bool keeps, gs_bfloat16 &y) {
    y = gs_round_bfloat16(gs_round_to_odd(x));
    if (keeps) y.bits &= (uint16_t)~(signals(x) & 0x40u);
}

GS_ALWAYS_INLINE void narrow(double x, bool keeps, float &y) {
    y = (float)x;
    if (keeps) y = bits_as<float>(bits_as<uint32_t>(y) & ~((uint32_t)signals(x) & 0x400000u));
}

GS_ALWAYS_INLINE void narrow(gs_complex128 x, bool keeps, gs_complex64 &y) {
    narrow(x.real, keeps, y.real);
    narrow(x.imag, keeps, y.imag);
}

// Loops over many numbers of a pair of types.
template <class Narrow, class Wide>
struct Pair {
    static constexpr ptrdiff_t narrow_bytes = sizeof(Narrow), wide_bytes = sizeof(Wide);

    static GS_ALWAYS_INLINE void widen_loop(const char *GS_RESTRICT from, ptrdiff_t step, ptrdiff_t n, bool keeps,
                                            char *GS_RESTRICT to) {
        for (ptrdiff_t i = 0; i < n; i++) {
            Narrow x;
            Wide y;
            memcpy(&x, from + i * step, narrow_bytes);
            if constexpr (std::is_integral_v<Narrow>) y = x;
            else widen(x, keeps, y);
            memcpy(to + i * wide_bytes, &y, wide_bytes);
        }
    }

    static GS_ALWAYS_INLINE void narrow_loop(const char *GS_RESTRICT from, ptrdiff_t n, bool keeps,
                                             char *GS_RESTRICT to, ptrdiff_t step) {
        for (ptrdiff_t i = 0; i < n; i++) {
            Wide x;
            Narrow y;
            memcpy(&x, from + i * wide_bytes, wide_bytes);
            if constexpr (std::is_integral_v<Narrow>) y = (Narrow)x;
            else narrow(x, keeps, y);
            memcpy(to + i * step, &y, narrow_bytes);
        }
    }

    // The constants make loops that the compiler vectorises.
    static GS_ALWAYS_INLINE void widen_all(const char *from, ptrdiff_t step, ptrdiff_t n, bool keeps, char *to) {
        if (step != narrow_bytes) widen_loop(from, step, n, keeps, to);
        else if (keeps) widen_loop(from, narrow_bytes, n, true, to);
        else widen_loop(from, narrow_bytes, n, false, to);
    }

    static GS_ALWAYS_INLINE void narrow_all(const char *from, ptrdiff_t n, bool keeps, char *to, ptrdiff_t step) {
        if (step != narrow_bytes) narrow_loop(from, n, keeps, to, step);
        else if (keeps) narrow_loop(from, n, true, to, narrow_bytes);
        else narrow_loop(from, n, false, to, narrow_bytes);
    }
};

#if defined(__F16C__)
// By instructions that the compiler does not use in loops. They make signalling NaNs quiet.
template <>
GS_ALWAYS_INLINE void Pair<gs_float16, float>::widen_all(const char *from, ptrdiff_t step, ptrdiff_t n, bool keeps,
                                                        char *to) {
    ptrdiff_t i = 0;
    if (step != 2 || keeps) return widen_loop(from, step, n, keeps, to);
    for (; i + 8 <= n; i += 8) {
        _mm256_storeu_ps((float *)(to + 4 * i), _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + 2 * i))));
    }
    widen_loop(from + 2 * i, 2, n - i, false, to + 4 * i);
}

template <>
GS_ALWAYS_INLINE void Pair<gs_float16, float>::narrow_all(const char *from, ptrdiff_t n, bool keeps, char *to,
                                                         ptrdiff_t step) {
    ptrdiff_t i = 0;
    if (step != 2 || keeps) return narrow_loop(from, n, keeps, to, step);
    for (; i + 8 <= n; i += 8) {
        __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps((const float *)(from + 4 * i)), _MM_FROUND_TO_NEAREST_INT);
        _mm_storeu_si128((__m128i *)(to + 2 * i), halves);
    }
    narrow_loop(from + 4 * i, n - i, false, to + 2 * i, 2);
}
#endif

// Call `with` with the Pair of that number. pair_of in conversions.pxd knows which there are.
template <class With>
GS_ALWAYS_INLINE void with_pair(int pair, With with) {
    switch (pair) {
        case GS_PAIR(GS_FLOAT32, GS_FLOAT64): return with(Pair<float, double>());
        case GS_PAIR(GS_FLOAT16, GS_FLOAT32): return with(Pair<gs_float16, float>());
        case GS_PAIR(GS_FLOAT16, GS_FLOAT64): return with(Pair<gs_float16, double>());
        case GS_PAIR(GS_BFLOAT16, GS_FLOAT32): return with(Pair<gs_bfloat16, float>());
        case GS_PAIR(GS_BFLOAT16, GS_FLOAT64): return with(Pair<gs_bfloat16, double>());
        case GS_PAIR(GS_COMPLEX64, GS_COMPLEX128): return with(Pair<gs_complex64, gs_complex128>());
        case GS_PAIR(GS_INT8, GS_INT16): return with(Pair<int8_t, int16_t>());
        case GS_PAIR(GS_INT8, GS_INT32): return with(Pair<int8_t, int32_t>());
        case GS_PAIR(GS_INT8, GS_INT64): return with(Pair<int8_t, int64_t>());
        case GS_PAIR(GS_INT16, GS_INT32): return with(Pair<int16_t, int32_t>());
        case GS_PAIR(GS_INT16, GS_INT64): return with(Pair<int16_t, int64_t>());
        case GS_PAIR(GS_INT32, GS_INT64): return with(Pair<int32_t, int64_t>());
        case GS_PAIR(GS_UINT8, GS_UINT16): return with(Pair<uint8_t, uint16_t>());
        case GS_PAIR(GS_UINT8, GS_UINT32): return with(Pair<uint8_t, uint32_t>());
        case GS_PAIR(GS_UINT8, GS_UINT64): return with(Pair<uint8_t, uint64_t>());
        case GS_PAIR(GS_UINT16, GS_UINT32): return with(Pair<uint16_t, uint32_t>());
        case GS_PAIR(GS_UINT16, GS_UINT64): return with(Pair<uint16_t, uint64_t>());
        case GS_PAIR(GS_UINT32, GS_UINT64): return with(Pair<uint32_t, uint64_t>());
        default: return;
    }
}

void widen_numbers(int pair, const char *from, ptrdiff_t step, ptrdiff_t n, int keeps, char *wide) {
    with_pair(pair, [=](auto types) { types.widen_all(from, step, n, keeps, wide); });
}

void narrow_numbers(int pair, const char *wide, ptrdiff_t n, int keeps, char *to, ptrdiff_t step) {
    with_pair(pair, [=](auto types) { types.narrow_all(wide, n, keeps, to, step); });
}

void widen_rows(int pair, const char *from, const int64_t *offsets, ptrdiff_t n, ptrdiff_t step, ptrdiff_t n_items,
                char *wide, ptrdiff_t pitch) {
    with_pair(pair, [=](auto types) {
        for (ptrdiff_t row = 0; row < n; row++) {
            types.widen_all(from + offsets[row], step, n_items, false, wide + row * pitch);
        }
    });
}

// Whether one of n adjacent numbers is a signalling NaN: its magnitude is above infinity, by n_signals at most.
template <class Bits>
int any_signals(const char *numbers, ptrdiff_t n, Bits infinity, Bits n_signals) {
    const Bits magnitude = (Bits)((Bits)-1 >> 1);
    Bits found = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        Bits x;
        memcpy(&x, numbers + i * (ptrdiff_t)sizeof x, sizeof x);
        x = (Bits)((x & magnitude) - infinity - 1);
        found |= (Bits)(x < n_signals);
    }
    return found != 0;
}

int has_signals(int pair, const char *numbers, ptrdiff_t n) {
    switch (pair / 16) {
        case GS_FLOAT16: return any_signals<uint16_t>(numbers, n, 0x7c00u, 0x1ffu);
        case GS_BFLOAT16: return any_signals<uint16_t>(numbers, n, 0x7f80u, 0x3fu);
        case GS_FLOAT32: return any_signals<uint32_t>(numbers, n, 0x7f800000u, 0x3fffffu);
        case GS_COMPLEX64: return any_signals<uint32_t>(numbers, 2 * n, 0x7f800000u, 0x3fffffu);
        default: return 0;
    }
}

// Rows of float32 that are accumulated in float64, the most common pair: widened and combined in one loop.

// constant: the number of items, if it is constant; else 0.
template <int constant>
GS_ALWAYS_INLINE void add_rows_of(char *sums, const int64_t *offsets, const char *rows, const int64_t *row_offsets,
                                  ptrdiff_t n, ptrdiff_t n_items) {
    for (ptrdiff_t row = 0; row < n; row++) {
        char *to = sums + offsets[row];
        const char *from = rows + row_offsets[row];
        GS_INDEPENDENT
        for (ptrdiff_t i = 0; i < (constant ? constant : n_items); i++) {
            double sum;
            float x;
            memcpy(&sum, to + 8 * i, 8);
            memcpy(&x, from + 4 * i, 4);
            sum += x;
            memcpy(to + 8 * i, &sum, 8);
        }
    }
}

void add_rows(char *sums, const int64_t *offsets, const char *rows, const int64_t *row_offsets, ptrdiff_t n,
              ptrdiff_t n_items) {
    switch (n_items) {  // constants: without the prologue of a loop, which GCC would not vectorise either
        case 2: return add_rows_of<2>(sums, offsets, rows, row_offsets, n, n_items);
        case 3: return add_rows_of<3>(sums, offsets, rows, row_offsets, n, n_items);
        case 4: return add_rows_of<4>(sums, offsets, rows, row_offsets, n, n_items);
        default: return add_rows_of<0>(sums, offsets, rows, row_offsets, n, n_items);
    }
}

template <bool multiplies>
void combine_run_of(char *sums, const char *rows, ptrdiff_t step, const uint32_t *order, ptrdiff_t n, ptrdiff_t last,
                    ptrdiff_t n_items, ptrdiff_t ahead) {
    constexpr ptrdiff_t part = 64;  // items
    for (ptrdiff_t row = 0; row < n; row++) {
        const char *from = rows + order[row] * step;
        const char *next = row + ahead < last ? rows + order[row + ahead] * step : nullptr;
        for (ptrdiff_t begin = 0; begin < n_items; begin += part) {
            ptrdiff_t end = n_items - begin < part ? n_items : begin + part;
            if (next) gs_prefetch_row_l2(next + 4 * begin, 4 * (end - begin));
            GS_INDEPENDENT
            for (ptrdiff_t i = begin; i < end; i++) {
                double sum;
                float x;
                memcpy(&sum, sums + 8 * i, 8);
                memcpy(&x, from + 4 * i, 4);
                sum = multiplies ? sum * x : sum + x;
                memcpy(sums + 8 * i, &sum, 8);
            }
        }
    }
}

void combine_run(char *sums, const char *rows, ptrdiff_t step, const uint32_t *order, ptrdiff_t n, ptrdiff_t last,
                 ptrdiff_t n_items, ptrdiff_t ahead, int multiplies) {
    if (multiplies) combine_run_of<true>(sums, rows, step, order, n, last, n_items, ahead);
    else combine_run_of<false>(sums, rows, step, order, n, last, n_items, ahead);
}

}  // namespace
