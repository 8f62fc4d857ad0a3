#include "scatter/loops/select_range.h"

#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
  #define GS_HAS_COMPRESSION 1
  #define GS_COMPRESSION __attribute__((target("avx512f,popcnt")))
  #include <immintrin.h>
#else
  #define GS_HAS_COMPRESSION 0
#endif

namespace {

// From i on, of which m are selected already.

ptrdiff_t select_range_from(ptrdiff_t i, ptrdiff_t m, const int64_t *offsets, ptrdiff_t n, int64_t low, uint64_t size,
                            int64_t first, int64_t step, int64_t *selected, int64_t *numbers) {
    for (; i < n; i++) {
        selected[m] = offsets[i];
        numbers[m] = first + i * step;
        m += (uint64_t)offsets[i] - (uint64_t)low < size;
    }
    return m;
}

ptrdiff_t select_rows_from(ptrdiff_t i, ptrdiff_t m, const int32_t *rows, ptrdiff_t n, uint32_t low, uint32_t size,
                           uint32_t first, uint32_t *selected, uint32_t *numbers, uint32_t *below) {
    for (; i < n; i++) {
        const uint32_t row = (uint32_t)rows[i];
        *below += row < low;
        selected[m] = row - low;
        numbers[m] = first + (uint32_t)i;
        m += row - low < size;
    }
    return m;
}

#if GS_HAS_COMPRESSION
// Compressed to a register, then stored: the instruction that does both is slow on Zen 4.

GS_COMPRESSION ptrdiff_t compress_range(const int64_t *offsets, ptrdiff_t n, int64_t low, uint64_t size, int64_t first,
                                        int64_t step, int64_t *selected, int64_t *numbers) {
    const __m512i lows = _mm512_set1_epi64(low), sizes = _mm512_set1_epi64((int64_t)size);
    const __m512i steps = _mm512_set1_epi64(8 * step);
    __m512i number = _mm512_setr_epi64(first, first + step, first + 2 * step, first + 3 * step, first + 4 * step,
                                       first + 5 * step, first + 6 * step, first + 7 * step);
    ptrdiff_t i = 0, m = 0;
    for (; i + 8 <= n; i += 8) {
        const __m512i offset = _mm512_loadu_si512(offsets + i);
        const __mmask8 in_range = _mm512_cmplt_epu64_mask(_mm512_sub_epi64(offset, lows), sizes);
        _mm512_storeu_si512(selected + m, _mm512_maskz_compress_epi64(in_range, offset));
        _mm512_storeu_si512(numbers + m, _mm512_maskz_compress_epi64(in_range, number));
        m += __builtin_popcount(in_range);
        number = _mm512_add_epi64(number, steps);
    }
    return select_range_from(i, m, offsets, n, low, size, first, step, selected, numbers);
}

GS_COMPRESSION ptrdiff_t compress_rows(const int32_t *rows, ptrdiff_t n, uint32_t low, uint32_t size, uint32_t first,
                                       uint32_t *selected, uint32_t *numbers, uint32_t *below) {
    const __m512i lows = _mm512_set1_epi32((int)low), sizes = _mm512_set1_epi32((int)size);
    __m512i number = _mm512_add_epi32(_mm512_set1_epi32((int)first), _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
                                                                                       11, 12, 13, 14, 15));
    ptrdiff_t i = 0, m = 0;
    for (; i + 16 <= n; i += 16) {
        const __m512i row = _mm512_loadu_si512(rows + i), above = _mm512_sub_epi32(row, lows);
        const __mmask16 in_range = _mm512_cmplt_epu32_mask(above, sizes);
        _mm512_storeu_si512(selected + m, _mm512_maskz_compress_epi32(in_range, above));
        _mm512_storeu_si512(numbers + m, _mm512_maskz_compress_epi32(in_range, number));
        m += __builtin_popcount(in_range);
        *below += (uint32_t)__builtin_popcount(_mm512_cmplt_epu32_mask(row, lows));
        number = _mm512_add_epi32(number, _mm512_set1_epi32(16));
    }
    return select_rows_from(i, m, rows, n, low, size, first, selected, numbers, below);
}

bool find_compression() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") != 0;
}

const bool compresses = find_compression();
#endif

}  // namespace

ptrdiff_t gs_select_range(const int64_t *offsets, ptrdiff_t n, int64_t low, uint64_t size, int64_t first, int64_t step,
                          int64_t *selected, int64_t *numbers) {
#if GS_HAS_COMPRESSION
    if (compresses) return compress_range(offsets, n, low, size, first, step, selected, numbers);
#endif
    return select_range_from(0, 0, offsets, n, low, size, first, step, selected, numbers);
}

ptrdiff_t gs_select_rows(const int32_t *rows, ptrdiff_t n, uint32_t low, uint32_t size, uint32_t first,
                         uint32_t *selected, uint32_t *numbers, uint32_t *below) {
#if GS_HAS_COMPRESSION
    if (compresses) return compress_rows(rows, n, low, size, first, selected, numbers, below);
#endif
    return select_rows_from(0, 0, rows, n, low, size, first, selected, numbers, below);
}
