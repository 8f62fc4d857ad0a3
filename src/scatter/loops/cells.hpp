// A cell is a number, or a point of some numbers, and the count of its updates, an unsigned integer of as many bytes as a
// number. That of one number is loaded and stored as one word or vector where possible: an update takes as many
// instructions as one of a number without a count.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/compiler.h"
#include "scatter/loops/table.h"

namespace {

template <class Number>
struct CountOf {
    typedef uint32_t type;
};
template <>
struct CountOf<double> {
    typedef uint64_t type;
};

template <class Number>
struct PlainCell {
    Number sum;
    typename CountOf<Number>::type count;
    GS_ALWAYS_INLINE void add(Number b) {
        sum += b;
        count++;
    }
};

template <class Number>
struct Cell : PlainCell<Number> {};

#if GS_HAS_VECTORS
template <>
struct Cell<float> {
    typedef float Floats __attribute__((vector_size(16)));
    typedef uint32_t Counts __attribute__((vector_size(16)));
    typedef uint64_t Words __attribute__((vector_size(16)));
    uint64_t word;
    GS_ALWAYS_INLINE void add(float b) {
        Floats a = (Floats)Words{word, 0};
        a[0] += b;
        word = ((Words)((Counts)a + Counts{0, 1, 0, 0}))[0];
    }
};

template <>
struct Cell<double> {
    typedef double Doubles __attribute__((vector_size(16)));
    typedef uint64_t Counts __attribute__((vector_size(16)));
    Doubles a;
    GS_ALWAYS_INLINE void add(double b) {
        a[0] += b;
        a = (Doubles)((Counts)a + Counts{0, 1});
    }
};
#endif

template <class Number>
GS_ALWAYS_INLINE void add_to_cell(char *to, Number b) {
    Cell<Number> cell;
    memcpy(&cell, to, sizeof cell);
    cell.add(b);
    memcpy(to, &cell, sizeof cell);
}

}  // namespace
