// A cell is a number, or a point of some numbers, and the count of its updates, an unsigned integer of as many bytes as a
// number. That of one number is loaded and stored as one word or vector where possible: an update takes about as many
// instructions as one of a number without a count.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "common/compiler.h"
#include "scatter/loops/steps.hpp"
#include "scatter/loops/table.h"

namespace {

template <class Number>
using CountOf = typename std::conditional<sizeof(Number) == 4, uint32_t, uint64_t>::type;

template <class Step>
struct PlainCell {
    typedef typename Step::Element Number;
    Number number;
    CountOf<Number> count;
    GS_ALWAYS_INLINE void reduce(Number b) {
        number = Step::reduce(number, b);
        count++;
    }
};

template <class Step, class Number = typename Step::Element>
struct Cell : PlainCell<Step> {};

#if GS_HAS_VECTORS
template <class Step>
struct Cell<Step, float> {
    typedef float Floats __attribute__((vector_size(16)));
    typedef uint32_t Counts __attribute__((vector_size(16)));
    typedef uint64_t Words __attribute__((vector_size(16)));
    uint64_t word;
    GS_ALWAYS_INLINE void reduce(float b) {
        Floats a = (Floats)Words{word, 0};
        a[0] = Step::reduce(a[0], b);
        word = ((Words)((Counts)a + Counts{0, 1, 0, 0}))[0];
    }
};

template <class Step>
struct Cell<Step, double> {
    typedef double Doubles __attribute__((vector_size(16)));
    typedef uint64_t Counts __attribute__((vector_size(16)));
    Doubles a;
    GS_ALWAYS_INLINE void reduce(double b) {
        a[0] = Step::reduce(a[0], b);
        a = (Doubles)((Counts)a + Counts{0, 1});
    }
};

template <>
struct Cell<Sum<uint32_t>, uint32_t> {
    typedef uint32_t Numbers __attribute__((vector_size(16)));
    typedef uint64_t Words __attribute__((vector_size(16)));
    uint64_t word;
    GS_ALWAYS_INLINE void reduce(uint32_t b) { word = ((Words)((Numbers)Words{word, 0} + Numbers{b, 1, 0, 0}))[0]; }
};

template <>
struct Cell<Sum<uint64_t>, uint64_t> {
    typedef uint64_t Numbers __attribute__((vector_size(16)));
    Numbers a;
    GS_ALWAYS_INLINE void reduce(uint64_t b) { a += Numbers{b, 1}; }
};
#endif

template <class Step>
GS_ALWAYS_INLINE void reduce_cell(char *to, typename Step::Element b) {
    Cell<Step> cell;
    memcpy(&cell, to, sizeof cell);
    cell.reduce(b);
    memcpy(to, &cell, sizeof cell);
}

// Call `with` with the step of a ReductionCode on cells of one number of a TypeCode, if there is one: not for products of
// integers, where reducing and counting take more instructions. Sums of integers are those of unsigned ones, which wrap
// around.
template <class With>
GS_ALWAYS_INLINE void with_cell_step(int reduction, int type, With with) {
    if (reduction == GS_ADD) {
        switch (type) {
            case GS_INT32:
            case GS_UINT32: return with(Sum<uint32_t>());
            case GS_INT64:
            case GS_UINT64: return with(Sum<uint64_t>());
            case GS_FLOAT32: return with(Sum<float>());
            case GS_FLOAT64: return with(Sum<double>());
            default: return;
        }
    }
    if (reduction == GS_MUL && type == GS_FLOAT32) with(Product<float>());
    if (reduction == GS_MUL && type == GS_FLOAT64) with(Product<double>());
}

}  // namespace
