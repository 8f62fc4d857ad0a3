/* exp(x) for x <= 0 and NaN, within one unit in the last place, in float64 and float32.
 *
 * The same operations for every element, none of them fused, so that vectors and single numbers have the same bits on
 * every CPU; the C library's exp is not vectorised, and differs between systems.
 */
#ifndef GS_EXP_H
#define GS_EXP_H
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "common/compiler.h"

static GS_ALWAYS_INLINE double gs_power_of_2(int64_t n) {
    int64_t bits = (n + 1023) << 52;
    double y;
    memcpy(&y, &bits, 8);
    return y;
}

static GS_ALWAYS_INLINE double gs_exp(double x) {
    const double magic = 0x1.8p52;  /* a sum with it has an integer in its last bits */
    double t, n, r, p, half;
    int64_t t_bits, half_bits, magic_bits;
    x = x < -746.0 ? -746.0 : x;
    t = x * 0x1.71547652b82fep0 + magic;  /* x = n ln 2 + r */
    n = t - magic;
    r = (x - n * 0x1.62e42fefa0000p-1) - n * 0x1.cf79abc9e3b3ap-40;
    p = 1.0 / 6227020800.0;  /* the Taylor series: |r| <= 0.347, so the term of r^14 is below 2^-57 */
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = (p * r) * r + r;
    p = p + 1.0;
    half = n * 0.5 + magic;  /* 2^n in two steps, since it may be subnormal */
    memcpy(&t_bits, &t, 8);
    memcpy(&half_bits, &half, 8);
    memcpy(&magic_bits, &magic, 8);
    return p * gs_power_of_2(half_bits - magic_bits) * gs_power_of_2(t_bits - half_bits);
}

static GS_ALWAYS_INLINE float gs_float_power_of_2(int32_t n) {
    int32_t bits = (n + 127) << 23;
    float y;
    memcpy(&y, &bits, 4);
    return y;
}

static GS_ALWAYS_INLINE float gs_exp_float(float x) {
    const float magic = 0x1.8p23f;
    float t, n, r, p, half;
    int32_t t_bits, half_bits, magic_bits;
    x = x < -104.0f ? -104.0f : x;
    t = x * 0x1.715476p0f + magic;
    n = t - magic;
    r = (x - n * 0x1.62ep-1f) - n * 0x1.0bfbe8p-15f;
    p = 1.0f / 5040.0f;  /* the term of r^8 is below 2^-27 */
    p = p * r + 1.0f / 720.0f;
    p = p * r + 1.0f / 120.0f;
    p = p * r + 1.0f / 24.0f;
    p = p * r + 1.0f / 6.0f;
    p = p * r + 0.5f;
    p = (p * r) * r + r;
    p = p + 1.0f;
    half = n * 0.5f + magic;
    memcpy(&t_bits, &t, 4);
    memcpy(&half_bits, &half, 4);
    memcpy(&magic_bits, &magic, 4);
    return p * gs_float_power_of_2(half_bits - magic_bits) * gs_float_power_of_2(t_bits - half_bits);
}

/* x: elements, in rows of `columns` that are x_step bytes apart. Each belongs to the row of the table at its number of
 * bytes, which has the greatest elements and, `stride` numbers on, the sums of powers. Where out is not NULL, what makes
 * the softmax of an element is kept, in the row that `sources` says, if it is not NULL: its power, or its distance from
 * the greatest one, which is 0 for equal infinities. Eight columns are a constant, so that a row is a vector. */
typedef struct {
    const char* x;
    ptrdiff_t x_step;
    char* table;
    const int64_t* rows;
    ptrdiff_t n;
    ptrdiff_t columns;
    ptrdiff_t stride;
    char* out;
    ptrdiff_t out_step;
    const uint32_t* sources;
    int by_sources; /* of x, too */
    int64_t none; /* the row of elements without a segment */
    int skips_nan;
    int is_log;
} gs_rows;

#define GS_AHEAD_ROWS 12 /* from one that is read to one whose sums are prefetched */

#define GS_POWERS(name, real, exp_of)                                                                                  \
    static GS_ALWAYS_INLINE void gs_power_row_##name(const real* GS_RESTRICT x, const double* GS_RESTRICT greatest,    \
                                                     double* GS_RESTRICT sums, real* GS_RESTRICT out,                  \
                                                     ptrdiff_t columns, int skips_nan, int is_log) {                   \
        ptrdiff_t j;                                                                                                   \
        for (j = 0; j < columns; j++) {                                                                                \
            real y = (real)greatest[j], apart, power;                                                                  \
            apart = skips_nan && x[j] != x[j] ? -INFINITY : x[j] == y ? 0 : x[j] - y;                                  \
            power = exp_of(apart);                                                                                     \
            sums[j] += power;                                                                                          \
            out[j] = is_log ? apart : power;                                                                           \
        }                                                                                                              \
    }                                                                                                                  \
    static GS_ALWAYS_INLINE void gs_power_rows_of_##name(const gs_rows* r, ptrdiff_t columns) {                        \
        real unused[1024];                                                                                             \
        ptrdiff_t i;                                                                                                   \
        for (i = 0; i < r->n; i++) {                                                                                   \
            ptrdiff_t position = r->sources ? (ptrdiff_t)r->sources[i] : i;                                            \
            const real* x = (const real*)(r->x + (r->by_sources ? position : i) * r->x_step);                          \
            double* greatest = (double*)(r->table + r->rows[i]);                                                       \
            real* out = r->out ? (real*)(r->out + position * r->out_step) : unused;                                    \
            if (i + GS_AHEAD_ROWS < r->n) {                                                                            \
                GS_PREFETCH_WRITE(r->table + r->rows[i + GS_AHEAD_ROWS]);                                              \
                GS_PREFETCH_WRITE(r->table + r->rows[i + GS_AHEAD_ROWS] + 8 * r->stride);                              \
            }                                                                                                          \
            if (r->skips_nan)                                                                                          \
                gs_power_row_##name(x, greatest, greatest + r->stride, out, columns, 1, 0);                            \
            else if (r->is_log)                                                                                        \
                gs_power_row_##name(x, greatest, greatest + r->stride, out, columns, 0, 1);                            \
            else                                                                                                       \
                gs_power_row_##name(x, greatest, greatest + r->stride, out, columns, 0, 0);                            \
        }                                                                                                              \
    }                                                                                                                  \
    static GS_NOINLINE void gs_power_rows_##name(const gs_rows* r) {                                                   \
        if (r->columns == 8)                                                                                           \
            gs_power_rows_of_##name(r, 8);                                                                             \
        else                                                                                                           \
            gs_power_rows_of_##name(r, r->columns);                                                                    \
    }                                                                                                                  \
    /* What was kept becomes the softmax. */                                                                           \
    static GS_ALWAYS_INLINE void gs_divide_rows_of_##name(const gs_rows* r, ptrdiff_t columns) {                       \
        ptrdiff_t i, j;                                                                                                \
        for (i = 0; i < r->n; i++) {                                                                                   \
            real* GS_RESTRICT out = (real*)(r->out + i * r->out_step);                                                 \
            const double* GS_RESTRICT sums = (const double*)(r->table + r->rows[i]) + r->stride;                       \
            if (i + GS_AHEAD_ROWS < r->n) GS_PREFETCH_L1(r->table + r->rows[i + GS_AHEAD_ROWS] + 8 * r->stride);       \
            if (r->rows[i] == r->none)                                                                                 \
                for (j = 0; j < columns; j++) out[j] = r->is_log ? -INFINITY : 0;                                      \
            else if (r->is_log)                                                                                        \
                for (j = 0; j < columns; j++) out[j] -= (real)sums[j];                                                 \
            else                                                                                                       \
                for (j = 0; j < columns; j++) out[j] /= (real)sums[j];                                                 \
        }                                                                                                              \
    }                                                                                                                  \
    static GS_NOINLINE void gs_divide_rows_##name(const gs_rows* r) {                                                  \
        if (r->columns == 8)                                                                                           \
            gs_divide_rows_of_##name(r, 8);                                                                            \
        else                                                                                                           \
            gs_divide_rows_of_##name(r, r->columns);                                                                   \
    }                                                                                                                  \
    static GS_NOINLINE void gs_raise_##name(const real* GS_RESTRICT x, ptrdiff_t n, real* GS_RESTRICT powers) {        \
        ptrdiff_t k;                                                                                                   \
        for (k = 0; k < n; k++) powers[k] = exp_of(x[k]);                                                              \
    }

GS_POWERS(double, double, gs_exp)
GS_POWERS(float, float, gs_exp_float)

#endif
