// The divisions of means, and the cells of elements_in_order.h and records.h.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "scatter/loops/cells.hpp"
#include "scatter/loops/conversions.hpp"
#include "scatter/quotients.h"

namespace {

constexpr ptrdiff_t piece = 256;  // so many numbers have one choice of a loop

GS_ALWAYS_INLINE int8_t mean_of(int8_t sum, int64_t terms) { return (int8_t)gs_mean_of_int32(sum, terms); }
GS_ALWAYS_INLINE int16_t mean_of(int16_t sum, int64_t terms) { return (int16_t)gs_mean_of_int32(sum, terms); }
GS_ALWAYS_INLINE int32_t mean_of(int32_t sum, int64_t terms) { return gs_mean_of_int32(sum, terms); }
GS_ALWAYS_INLINE int64_t mean_of(int64_t sum, int64_t terms) { return gs_mean_of_int64(sum, terms); }
GS_ALWAYS_INLINE uint8_t mean_of(uint8_t sum, int64_t terms) { return (uint8_t)gs_mean_of_int32(sum, terms); }
GS_ALWAYS_INLINE uint16_t mean_of(uint16_t sum, int64_t terms) { return (uint16_t)gs_mean_of_int32(sum, terms); }
GS_ALWAYS_INLINE uint32_t mean_of(uint32_t sum, int64_t terms) { return gs_mean_of_uint32(sum, terms); }
GS_ALWAYS_INLINE uint64_t mean_of(uint64_t sum, int64_t terms) { return gs_mean_of_uint64(sum, terms); }
GS_ALWAYS_INLINE gs_float16 mean_of(gs_float16 sum, int64_t terms) { return gs_mean_of_float16(sum, terms); }
GS_ALWAYS_INLINE gs_bfloat16 mean_of(gs_bfloat16 sum, int64_t terms) { return gs_mean_of_bfloat16(sum, terms); }
GS_ALWAYS_INLINE float mean_of(float sum, int64_t terms) { return sum / (float)terms; }
GS_ALWAYS_INLINE double mean_of(double sum, int64_t terms) { return sum / (double)terms; }
GS_ALWAYS_INLINE gs_complex64 mean_of(gs_complex64 sum, int64_t terms) {
    return {mean_of(sum.real, terms), mean_of(sum.imag, terms)};
}
GS_ALWAYS_INLINE gs_complex128 mean_of(gs_complex128 sum, int64_t terms) {
    return {mean_of(sum.real, terms), mean_of(sum.imag, terms)};
}

// Call `with` with a number of a TypeCode that has means.
template <class With>
GS_ALWAYS_INLINE void with_number(int type, With with) {
    switch (type) {
        case GS_INT8: return with(int8_t());
        case GS_INT16: return with(int16_t());
        case GS_INT32: return with(int32_t());
        case GS_INT64: return with(int64_t());
        case GS_UINT8: return with(uint8_t());
        case GS_UINT16: return with(uint16_t());
        case GS_UINT32: return with(uint32_t());
        case GS_UINT64: return with(uint64_t());
        case GS_FLOAT16: return with(gs_float16());
        case GS_BFLOAT16: return with(gs_bfloat16());
        case GS_FLOAT32: return with(float());
        case GS_FLOAT64: return with(double());
        case GS_COMPLEX64: return with(gs_complex64());
        case GS_COMPLEX128: return with(gs_complex128());
        default: return;
    }
}

// What becomes of a number with so many terms.
struct Mean {
    template <class Number>
    static GS_ALWAYS_INLINE Number of(Number sum, int64_t terms) { return mean_of(sum, terms); }
};
struct MeanOfSmall {
    template <class Number>
    static GS_ALWAYS_INLINE Number of(Number sum, int64_t terms) {
        return (Number)gs_mean_of_small((int64_t)sum, terms);
    }
};

// Whether n integers of 64 bits, `step` bytes apart, are for MeanOfSmall.
template <class Number>
GS_ALWAYS_INLINE bool are_small(const char *numbers, ptrdiff_t step, ptrdiff_t n) {
    uint64_t large = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        int64_t number;
        memcpy(&number, numbers + i * step, sizeof number);
        large |= (uint64_t)(!gs_is_small(number) | (std::is_unsigned_v<Number> && number < 0));
    }
    return !large;
}

// Without a branch, which would be mispredicted, and would prevent vectors.
template <class Result, class Number, class Count>
GS_ALWAYS_INLINE void divide_each(const char *counts, char *out, const char *data, ptrdiff_t n, Count more) {
    constexpr ptrdiff_t size = sizeof(Number);
    GS_INDEPENDENT
    for (ptrdiff_t i = 0; i < n; i++) {
        Number sum, start;
        Count count;
        memcpy(&count, counts + i * (ptrdiff_t)sizeof count, sizeof count);
        memcpy(&sum, out + i * size, size);
        memcpy(&start, data + i * size, size);
        const Count terms = count + more;
        const Number mean = Result::of(sum, terms > 0 ? terms : 1);
        sum = count ? mean : start;
        memcpy(out + i * size, &sum, size);
    }
}

// Few terms: numbers are widened, divided and rounded in three loops, each of vectors.
template <class Half, int most_terms>
GS_ALWAYS_INLINE void divide_halves(const char *counts, char *out, const char *data, ptrdiff_t n, int32_t more) {
    typedef Pair<Half, float> Halves;
    float sums[piece];
    Half means[piece];
    int32_t most = 0, count;
    for (ptrdiff_t i = 0; i < n; i++) {
        memcpy(&count, counts + 4 * i, 4);
        most = count > most ? count : most;
    }
    if (most > most_terms - more) return divide_each<Mean, Half, int32_t>(counts, out, data, n, more);
    Halves::widen_all(out, 2, n, false, (char *)sums);
    for (ptrdiff_t i = 0; i < n; i++) {
        memcpy(&count, counts + 4 * i, 4);
        count += more;
        sums[i] /= (float)(count > 0 ? count : 1);
    }
    Halves::narrow_all((const char *)sums, n, false, (char *)means, 2);
    for (ptrdiff_t i = 0; i < n; i++) {
        Half start;
        memcpy(&count, counts + 4 * i, 4);
        memcpy(&start, data + 2 * i, 2);
        start.bits = count ? means[i].bits : start.bits;
        memcpy(out + 2 * i, &start, 2);
    }
}

template <class Number, class Count>
GS_ALWAYS_INLINE void divide_piece(const char *counts, char *out, const char *data, ptrdiff_t n, Count more) {
    if constexpr (std::is_same_v<Number, gs_float16> && sizeof(Count) == 4) {
        divide_halves<Number, GS_FEW_TERMS_OF_FLOAT16>(counts, out, data, n, more);
    } else if constexpr (std::is_same_v<Number, gs_bfloat16> && sizeof(Count) == 4) {
        divide_halves<Number, GS_FEW_TERMS_OF_BFLOAT16>(counts, out, data, n, more);
    } else if constexpr (std::is_integral_v<Number> && sizeof(Number) == 8) {
        if (are_small<Number>(out, 8, n)) divide_each<MeanOfSmall, Number, Count>(counts, out, data, n, more);
        else divide_each<Mean, Number, Count>(counts, out, data, n, more);
    } else {
        divide_each<Mean, Number, Count>(counts, out, data, n, more);
    }
}

template <class Number, class Count>
GS_ALWAYS_INLINE void divide_by(const char *counts, char *out, const char *data, ptrdiff_t n, Count more) {
    for (ptrdiff_t start = 0; start < n; start += piece) {
        constexpr ptrdiff_t size = sizeof(Number);
        divide_piece<Number, Count>(counts + start * (ptrdiff_t)sizeof more, out + start * size, data + start * size,
                                    n - start < piece ? n - start : piece, more);
    }
}

void divide(int type, char *out, const char *counts, int width, const char *data, ptrdiff_t n, int64_t more) {
    with_number(type, [=](auto number) {
        if (width == 4) divide_by<decltype(number), int32_t>(counts, out, data, n, (int32_t)more);
        else divide_by<decltype(number), int64_t>(counts, out, data, n, more);
    });
}

// step: of numbers, in bytes; 0: one stands for all.
template <class Count, ptrdiff_t items>
GS_ALWAYS_INLINE void start_cells_of(char *cells, const char *numbers, ptrdiff_t step, ptrdiff_t n) {
    constexpr ptrdiff_t size = sizeof(Count);
    GS_INDEPENDENT
    for (ptrdiff_t i = 0; i < n; i++) {
        Count number, zero = 0;
        char *cell = cells + i * (items + 1) * size;
        for (ptrdiff_t j = 0; j < items; j++) {
            memcpy(&number, numbers + (i * items + j) * step, size);
            memcpy(cell + j * size, &number, size);
        }
        memcpy(cell + items * size, &zero, size);
    }
}

// Call `with` with the number of items, a constant: cells have at most four numbers.
template <class With>
GS_ALWAYS_INLINE void with_items(ptrdiff_t items, With with) {
    switch (items) {
        case 1: return with(std::integral_constant<ptrdiff_t, 1>());
        case 2: return with(std::integral_constant<ptrdiff_t, 2>());
        case 3: return with(std::integral_constant<ptrdiff_t, 3>());
        default: return with(std::integral_constant<ptrdiff_t, 4>());
    }
}

template <class Count>
GS_ALWAYS_INLINE void start_cells_by(ptrdiff_t items, char *cells, const char *numbers, bool repeats, ptrdiff_t n) {
    with_items(items, [=](auto of_items) {
        if (repeats) start_cells_of<Count, decltype(of_items)::value>(cells, numbers, 0, n);
        else start_cells_of<Count, decltype(of_items)::value>(cells, numbers, sizeof(Count), n);
    });
}

void start_cells(int size, ptrdiff_t items, char *cells, const char *numbers, int repeats, ptrdiff_t n) {
    if (size == 4) start_cells_by<int32_t>(items, cells, numbers, repeats, n);
    else start_cells_by<int64_t>(items, cells, numbers, repeats, n);
}

template <class Step>
GS_ALWAYS_INLINE void reduce_each_cell(char *cells, const int64_t *offsets, const char *updates, ptrdiff_t step,
                                       ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i++) {
        typename Step::Element update;
        memcpy(&update, updates + i * step, sizeof update);
        reduce_cell<Step>(cells + 2 * offsets[i], update);
    }
}

void reduce_cells(int reduction, int type, char *cells, const int64_t *offsets, const char *updates, ptrdiff_t step,
                  ptrdiff_t n) {
    with_cell_step(reduction, type, [=](auto of_step) {
        reduce_each_cell<decltype(of_step)>(cells, offsets, updates, step, n);
    });
}

struct Whole {
    template <class Number>
    static GS_ALWAYS_INLINE Number of(Number number, int64_t) { return number; }
};

// step: from a row of data to the next, in bytes. The choice has no branch, which would be mispredicted.
template <class Result, class Number, ptrdiff_t items>
GS_ALWAYS_INLINE void finish_each(const char *cells, const char *data, ptrdiff_t step, char *out, ptrdiff_t n,
                                  int32_t more) {
    constexpr ptrdiff_t size = sizeof(Number);
    typedef CountOf<Number> Word;
    GS_INDEPENDENT
    for (ptrdiff_t i = 0; i < n; i++) {
        Number number;
        Word count, start;
        const char *cell = cells + i * (items + 1) * size;
        memcpy(&count, cell + items * size, size);
        int32_t terms = (int32_t)count + more;
        terms = terms > 0 ? terms : 1;
        const Word is_updated = -(Word)(count != 0);
        for (ptrdiff_t j = 0; j < items; j++) {
            memcpy(&number, cell + j * size, size);
            memcpy(&start, data + i * step + j * size, size);
            const Word result = bits_as<Word>(Result::of(number, terms));
            const Word chosen = start ^ ((start ^ result) & is_updated);
            memcpy(out + (i * items + j) * size, &chosen, size);
        }
    }
}

template <class Result, class Number, ptrdiff_t items>
GS_ALWAYS_INLINE void finish_cells_of(const char *cells, const char *data, char *out, ptrdiff_t n, int32_t more) {
    constexpr ptrdiff_t size = sizeof(Number);
    if (data) finish_each<Result, Number, items>(cells, data, items * size, out, n, more);
    else finish_each<Result, Number, items>(cells, cells, (items + 1) * size, out, n, more);
}

template <class Result, class Number>
GS_ALWAYS_INLINE void finish_points(ptrdiff_t items, const char *cells, const char *data, char *out, ptrdiff_t n,
                                    int32_t more) {
    with_items(items, [=](auto of_items) {
        finish_cells_of<Result, Number, decltype(of_items)::value>(cells, data, out, n, more);
    });
}

// Of single integers.
template <class Number>
GS_ALWAYS_INLINE void divide_long_cells(const char *cells, const char *data, char *out, ptrdiff_t n, int32_t more) {
    for (ptrdiff_t start = 0; start < n; start += piece, cells += 16 * piece, out += 8 * piece) {
        const ptrdiff_t m = n - start < piece ? n - start : piece;
        const char *some = data ? data + 8 * start : nullptr;
        if (are_small<Number>(cells, 16, m)) finish_cells_of<MeanOfSmall, Number, 1>(cells, some, out, m, more);
        else finish_cells_of<Mean, Number, 1>(cells, some, out, m, more);
    }
}

void finish_cells(int size, ptrdiff_t items, const char *cells, const char *data, char *out, ptrdiff_t n) {
    if (size == 4) finish_points<Whole, uint32_t>(items, cells, data, out, n, 0);
    else finish_points<Whole, uint64_t>(items, cells, data, out, n, 0);
}

// Of more than one number, they are floats.
void divide_cells(int type, ptrdiff_t items, const char *cells, const char *data, char *out, ptrdiff_t n, int32_t more) {
    switch (type) {
        case GS_INT32: return finish_cells_of<Mean, int32_t, 1>(cells, data, out, n, more);
        case GS_UINT32: return finish_cells_of<Mean, uint32_t, 1>(cells, data, out, n, more);
        case GS_INT64: return divide_long_cells<int64_t>(cells, data, out, n, more);
        case GS_UINT64: return divide_long_cells<uint64_t>(cells, data, out, n, more);
        case GS_FLOAT32: return finish_points<Mean, float>(items, cells, data, out, n, more);
        case GS_FLOAT64: return finish_points<Mean, double>(items, cells, data, out, n, more);
        default: return;
    }
}

}  // namespace
