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

template <class Count>
GS_ALWAYS_INLINE void start_cells_of(char *cells, const char *elements, ptrdiff_t step, ptrdiff_t n) {
    GS_INDEPENDENT
    for (ptrdiff_t i = 0; i < n; i++) {
        Count element, zero = 0;
        memcpy(&element, elements + i * step, sizeof element);
        memcpy(cells + 2 * i * (ptrdiff_t)sizeof element, &element, sizeof element);
        memcpy(cells + (2 * i + 1) * (ptrdiff_t)sizeof element, &zero, sizeof zero);
    }
}

void start_cells(int size, char *cells, const char *elements, ptrdiff_t step, ptrdiff_t n) {
    if (size == 4 && step) start_cells_of<int32_t>(cells, elements, 4, n);
    else if (size == 4) start_cells_of<int32_t>(cells, elements, 0, n);
    else if (step) start_cells_of<int64_t>(cells, elements, 8, n);
    else start_cells_of<int64_t>(cells, elements, 0, n);
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

template <class Number>
GS_ALWAYS_INLINE void divide_each(const char *cells, const char *data, ptrdiff_t step, char *out, ptrdiff_t n,
                                  int32_t more) {
    typedef typename CountOf<Number>::type Count;
    GS_INDEPENDENT
    for (ptrdiff_t i = 0; i < n; i++) {
        Number sum, start;
        Count count;
        memcpy(&sum, cells + 2 * i * (ptrdiff_t)sizeof sum, sizeof sum);
        memcpy(&count, cells + (2 * i + 1) * (ptrdiff_t)sizeof sum, sizeof count);
        memcpy(&start, data + i * step, sizeof start);
        const int32_t terms = (int32_t)count + more;
        Number mean = sum / (Number)(terms > 0 ? terms : 1);
        sum = count ? mean : start;
        memcpy(out + i * (ptrdiff_t)sizeof sum, &sum, sizeof sum);
    }
}

template <class Number>
void divide_cells(const char *cells, const char *data, char *out, ptrdiff_t n, int32_t more) {
    constexpr ptrdiff_t size = sizeof(Number);
    if (data) divide_each<Number>(cells, data, size, out, n, more);
    else divide_each<Number>(cells, cells, 2 * size, out, n, more);
}

}  // namespace
