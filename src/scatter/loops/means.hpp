// The divisions of means, and the cells of records.h.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "scatter/loops/cells.hpp"
#include "scatter/loops/conversions.hpp"

namespace {

template <class Number>
void divide(char *out, const int32_t *counts, const char *data, ptrdiff_t n, int32_t more) {
    GS_INDEPENDENT
    for (ptrdiff_t i = 0; i < n; i++) {
        Number sum, start;
        int32_t terms = counts[i] + more;
        memcpy(&sum, out + i * (ptrdiff_t)sizeof sum, sizeof sum);
        memcpy(&start, data + i * (ptrdiff_t)sizeof start, sizeof start);
        Number mean = sum / (Number)(terms > 0 ? terms : 1);
        sum = counts[i] ? mean : start;
        memcpy(out + i * (ptrdiff_t)sizeof sum, &sum, sizeof sum);
    }
}

// step: of numbers, in bytes; 0: one stands for all.
template <class Count>
GS_ALWAYS_INLINE void start_cells_of(ptrdiff_t items, char *cells, const char *numbers, ptrdiff_t step, ptrdiff_t n) {
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

template <class Count>
GS_ALWAYS_INLINE void start_cells_by(ptrdiff_t items, char *cells, const char *numbers, bool repeats, ptrdiff_t n) {
    constexpr ptrdiff_t size = sizeof(Count);
    if (items == 1 && repeats) start_cells_of<Count>(1, cells, numbers, 0, n);
    else if (items == 1) start_cells_of<Count>(1, cells, numbers, size, n);
    else start_cells_of<Count>(items, cells, numbers, repeats ? 0 : size, n);
}

void start_cells(int size, ptrdiff_t items, char *cells, const char *numbers, int repeats, ptrdiff_t n) {
    if (size == 4) start_cells_by<int32_t>(items, cells, numbers, repeats, n);
    else start_cells_by<int64_t>(items, cells, numbers, repeats, n);
}

template <class Number>
GS_ALWAYS_INLINE void add_each(char *cells, const int64_t *offsets, const char *updates, ptrdiff_t step, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i++) {
        Number update;
        memcpy(&update, updates + i * step, sizeof update);
        add_to_cell(cells + 2 * offsets[i], update);
    }
}

void add_to_cells(int size, char *cells, const int64_t *offsets, const char *updates, ptrdiff_t step, ptrdiff_t n) {
    if (size == 8) add_each<double>(cells, offsets, updates, step, n);
    else if (step == sizeof(float)) add_each<float>(cells, offsets, updates, sizeof(float), n);
    else add_each<float>(cells, offsets, updates, step, n);
}

// step: from a row of data to the next, in bytes.
template <class Number>
GS_ALWAYS_INLINE void divide_each(ptrdiff_t items, const char *cells, const char *data, ptrdiff_t step, char *out,
                                  ptrdiff_t n, int32_t more) {
    constexpr ptrdiff_t size = sizeof(Number);
    GS_INDEPENDENT
    for (ptrdiff_t i = 0; i < n; i++) {
        Number sum, start;
        typename CountOf<Number>::type count;
        const char *cell = cells + i * (items + 1) * size;
        memcpy(&count, cell + items * size, size);
        const int32_t terms = (int32_t)count + more;
        const Number divisor = (Number)(terms > 0 ? terms : 1);
        for (ptrdiff_t j = 0; j < items; j++) {
            memcpy(&sum, cell + j * size, size);
            memcpy(&start, data + i * step + j * size, size);
            Number mean = sum / divisor;
            sum = count ? mean : start;
            memcpy(out + (i * items + j) * size, &sum, size);
        }
    }
}

template <class Number>
void divide_cells(ptrdiff_t items, const char *cells, const char *data, char *out, ptrdiff_t n, int32_t more) {
    constexpr ptrdiff_t size = sizeof(Number);
    if (items > 1) {
        divide_each<Number>(items, cells, data ? data : cells, (items + !data) * size, out, n, more);
    } else if (data) {
        divide_each<Number>(1, cells, data, size, out, n, more);
    } else {
        divide_each<Number>(1, cells, cells, 2 * size, out, n, more);
    }
}

}  // namespace
