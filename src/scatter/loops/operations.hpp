// The operations of reduce_rows.hpp: each reduces a vector with another, and gives the bits of the steps in
// reductions.pxd. Vectors are those of GCC and Clang. Comparing two gives a mask: a vector of integers, 0 or -1.
#pragma once
#include <cstdint>
#include <cstring>

#include "common/compiler.h"
#if defined(__F16C__)
  #include <immintrin.h>
#endif

namespace {

template <class Number, int bytes>
struct VectorOf {
    typedef Number type __attribute__((vector_size(bytes)));
};

template <class Vector, class Mask>
GS_ALWAYS_INLINE Vector choose(Mask where, Vector a, Vector b) {
    return (Vector)(((Mask)a & where) | ((Mask)b & ~where));
}

// Sums and products of integers are those of unsigned ones, which wrap around.
struct Add {
    template <class Vector>
    static GS_ALWAYS_INLINE Vector reduce(Vector a, Vector b) { return a + b; }
};

struct Multiply {
    template <class Vector>
    static GS_ALWAYS_INLINE Vector reduce(Vector a, Vector b) { return a * b; }
};

// Of bool, any byte but 0 is true.
struct Or {
    template <class Vector>
    static GS_ALWAYS_INLINE Vector reduce(Vector a, Vector b) { return (Vector)(((a | b) != 0) & 1); }
};

struct And {
    template <class Vector>
    static GS_ALWAYS_INLINE Vector reduce(Vector a, Vector b) { return (Vector)((a != 0) & (b != 0) & 1); }
};

// The first NaN stays, and the first of equal numbers.
struct Max {
    template <class Vector>
    static GS_ALWAYS_INLINE Vector reduce(Vector a, Vector b) { return choose((a >= b) | (a != a), a, b); }
};

struct Min {
    template <class Vector>
    static GS_ALWAYS_INLINE Vector reduce(Vector a, Vector b) { return choose((a <= b) | (a != a), a, b); }
};

// 16-bit floats are compared as integers: below 0, a greater magnitude is less, and -0 equals 0.
// The bits 0x8001, below 0, become -2, and those of -0 become -1 and then 0. infinity: its bits.
template <bool greatest, int infinity>
struct Order16 {
    template <class Vector>
    static GS_ALWAYS_INLINE Vector reduce(Vector a, Vector b) {
        typedef typename VectorOf<int16_t, sizeof(Vector)>::type Integers;
        Integers x = (Integers)a, y = (Integers)b;
        Integers x_is_nan = (x & 0x7fff) > infinity, y_is_nan = (y & 0x7fff) > infinity;
        x ^= (x >> 15) & 0x7fff;
        y ^= (y >> 15) & 0x7fff;
        x -= x == -1;
        y -= y == -1;
        return choose(((greatest ? x >= y : x <= y) & ~y_is_nan) | x_is_nan, a, b);
    }
};

// A bfloat16 is the upper half of a float. Those in even and in odd places are reduced as floats, and rounded. The
// lower half of a NaN is 0, so that it is not rounded to infinity.
template <class Operation>
struct BFloat16 {
    template <class Vector>
    static GS_ALWAYS_INLINE Vector reduce(Vector a, Vector b) {
        typedef typename VectorOf<uint32_t, sizeof(Vector)>::type Integers;
        typedef typename VectorOf<float, sizeof(Vector)>::type Floats;
        const uint32_t upper = 0xffff0000u;
        Integers x = (Integers)a, y = (Integers)b;
        Integers even = (Integers)Operation::reduce((Floats)(x << 16), (Floats)(y << 16));
        Integers odd = (Integers)Operation::reduce((Floats)(x & upper), (Floats)(y & upper));
        even += 0x7fff + (even >> 16 & 1);
        odd += 0x7fff + (odd >> 16 & 1);
        return (Vector)(even >> 16 | (odd & upper));
    }
};

#if defined(__F16C__)
// By instructions that the compiler does not use in loops. Vectors have at most 16 bytes.
template <class Operation>
struct Float16 {
    template <class Vector>
    static GS_ALWAYS_INLINE Vector reduce(Vector a, Vector b) {
        __m128i x = _mm_setzero_si128(), y = x;
        memcpy(&x, &a, sizeof a);
        memcpy(&y, &b, sizeof b);
        x = _mm256_cvtps_ph(Operation::reduce(_mm256_cvtph_ps(x), _mm256_cvtph_ps(y)), _MM_FROUND_TO_NEAREST_INT);
        memcpy(&a, &x, sizeof a);
        return a;
    }
};
#endif

}  // namespace
