/* Means of the types that C does not divide as means are: a sum divided by the number of its terms, which is not 0.
 * Integers are floored, 16-bit floats round once.
 */
#ifndef GS_QUOTIENTS_H
#define GS_QUOTIENTS_H
#include <stdint.h>

#include "scatter/numbers.h"

/* Up to so many terms, a mean of 16-bit floats can be rounded twice, to float and to 16 bits: it is a midpoint of two such
   numbers, or further from one, by more than 2 ** -23 of it, than the first rounding moves it. (A midpoint has 12 bits
   for float16 and 9 for bfloat16; the divisor has 11 and 14.) */
enum { GS_FEW_TERMS_OF_FLOAT16 = 1 << 11, GS_FEW_TERMS_OF_BFLOAT16 = 1 << 14 };

static inline gs_float16 gs_mean_of_float16(gs_float16 sum, int64_t terms) {
    if (terms <= GS_FEW_TERMS_OF_FLOAT16) return gs_round_float16(gs_widen_float16(sum) / (float)terms);
    return gs_round_float16(gs_round_to_odd((double)gs_widen_float16(sum) / (double)terms));
}

static inline gs_bfloat16 gs_mean_of_bfloat16(gs_bfloat16 sum, int64_t terms) {
    if (terms <= GS_FEW_TERMS_OF_BFLOAT16) return gs_round_bfloat16(gs_widen_bfloat16(sum) / (float)terms);
    return gs_round_bfloat16(gs_round_to_odd((double)gs_widen_bfloat16(sum) / (double)terms));
}

/* Means of integers of at most 32 bits are divided in float64 (steps.pxd): a quotient that is no integer differs from each
   by more than 2 ** -33 of it, and is rounded by at most 2 ** -53. */
static inline int64_t gs_mean_of_int64(int64_t sum, int64_t terms) { return sum / terms - (sum % terms < 0); }

static inline uint64_t gs_mean_of_uint64(uint64_t sum, int64_t terms) { return sum / (uint64_t)terms; }

#endif
