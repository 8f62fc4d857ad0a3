// The steps of reductions.pxd on two numbers, for loops over elements.
#pragma once
#include "common/compiler.h"
#include "scatter/numbers.h"

namespace {

// A barrier for the optimiser: one instruction chooses the greater of two floats, where a branch would be mispredicted.
template <class Number>
GS_ALWAYS_INLINE Number in_register(Number x) { return x; }
template <>
GS_ALWAYS_INLINE float in_register(float x) { return gs_rounded_float(x); }
template <>
GS_ALWAYS_INLINE double in_register(double x) { return gs_rounded_double(x); }

template <class Number>
struct Sum {
    typedef Number Element;
    static GS_ALWAYS_INLINE Number reduce(Number a, Number b) { return a + b; }
    static GS_ALWAYS_INLINE Number identity(Number) { return (Number)-0.0; }
};

template <class Number>
struct Product {
    typedef Number Element;
    static GS_ALWAYS_INLINE Number reduce(Number a, Number b) { return a * b; }
    static GS_ALWAYS_INLINE Number identity(Number) { return 1; }
};

// a if it is greater or NaN, else b, which may be NaN.
template <class Number, bool greatest>
struct Extreme {
    typedef Number Element;
    static GS_ALWAYS_INLINE Number reduce(Number a, Number b) {
        if (GS_UNLIKELY(b != b)) return with_nan(a, b);
        return in_register((greatest ? b > a : b < a) ? b : a);
    }
    // Not inlined: else floats would be moved between two kinds of registers.
    static GS_NOINLINE Number with_nan(Number a, Number b) { return a == a ? b : a; }
    static GS_ALWAYS_INLINE Number identity(Number b) { return b; }
};

// The same of 16-bit floats, by their bits, without a branch between numbers. Below 0, a greater magnitude is less, and -0
// equals 0. A NaN comes first, that in `a` before that in b.
template <bool greatest>
struct ExtremeFloat16 {
    typedef uint16_t Element;
    static GS_ALWAYS_INLINE int rank(uint16_t x, int of_nan) {
        const int magnitude = x & 0x7fff, number = (x >> 15 != 0) == greatest ? -magnitude : magnitude;
        return magnitude > 0x7c00 ? of_nan : number;
    }
    static GS_ALWAYS_INLINE uint16_t reduce(uint16_t a, uint16_t b) {
        const int changes = rank(a, 1 << 17) < rank(b, 1 << 16);
        return (uint16_t)(a ^ ((a ^ b) & -changes));
    }
};

// A bfloat16 is the upper half of a float.
template <bool greatest>
struct ExtremeBFloat16 {
    typedef uint16_t Element;
    static GS_ALWAYS_INLINE uint16_t reduce(uint16_t a, uint16_t b) {
        const float x = gs_widen_bfloat16({a}), y = gs_widen_bfloat16({b});
        if (GS_UNLIKELY(y != y)) return x == x ? b : a;
        const int changes = greatest ? y > x : y < x;
        return (uint16_t)(a ^ ((a ^ b) & -changes));
    }
};

}  // namespace
