/* Steps on 32 bytes of floats or doubles: `to` becomes that of `to` and `update`. */
#ifndef GS_VECTORS_H
#define GS_VECTORS_H
#include <stdint.h>
#include <string.h>
#include "common/compiler.h"

#if defined(__GNUC__)
typedef float gs_floats __attribute__((vector_size(32)));
typedef double gs_doubles __attribute__((vector_size(32)));
typedef int32_t gs_float_masks __attribute__((vector_size(32)));
typedef int64_t gs_double_masks __attribute__((vector_size(32)));
#define GS_STEP(name, vector, number, result) \
    static GS_ALWAYS_INLINE void name(char *to, const char *update) { \
        vector a, b; \
        memcpy(&a, to, sizeof a); \
        memcpy(&b, update, sizeof b); \
        a = result; \
        memcpy(to, &a, sizeof a); \
    }
#define GS_EITHER(vector, masks, takes_update) (vector)(((masks)b & (takes_update)) | ((masks)a & ~(takes_update)))
#else
#define GS_STEP(name, vector, number, result) \
    static GS_ALWAYS_INLINE void name(char *to, const char *update) { \
        int i; \
        for (i = 0; i < 32; i += (int)sizeof(number)) { \
            number a, b; \
            memcpy(&a, to + i, sizeof a); \
            memcpy(&b, update + i, sizeof b); \
            a = result; \
            memcpy(to + i, &a, sizeof a); \
        } \
    }
#define GS_EITHER(vector, masks, takes_update) ((takes_update) ? b : a)
#endif
/* NaN propagates from either side, the first one stays; of equals `to` stays (`extreme` in steps.pxd). */
#define GS_TAKES_UPDATE(operation) ((b operation a) | ((b != b) & (a == a)))

/* `to` becomes the product of `update` and a weight, a number. */
#if defined(__GNUC__)
#define GS_SCALE(vector, number) \
    static GS_ALWAYS_INLINE void vector##_scale(char *to, const char *update, const char *weight) { \
        vector a; \
        number b; \
        memcpy(&a, update, sizeof a); \
        memcpy(&b, weight, sizeof b); \
        a *= b; \
        memcpy(to, &a, sizeof a); \
    }
#else
#define GS_SCALE(vector, number) \
    static GS_ALWAYS_INLINE void vector##_scale(char *to, const char *update, const char *weight) { \
        int i; \
        for (i = 0; i < 32; i += (int)sizeof(number)) { \
            number a, b; \
            memcpy(&a, update + i, sizeof a); \
            memcpy(&b, weight, sizeof b); \
            a *= b; \
            memcpy(to + i, &a, sizeof a); \
        } \
    }
#endif

#define GS_STEPS(vector, masks, number) \
    GS_SCALE(vector, number) \
    GS_STEP(vector##_add, vector, number, a + b) \
    GS_STEP(vector##_multiply, vector, number, a * b) \
    GS_STEP(vector##_max, vector, number, GS_EITHER(vector, masks, GS_TAKES_UPDATE(>))) \
    GS_STEP(vector##_min, vector, number, GS_EITHER(vector, masks, GS_TAKES_UPDATE(<)))
GS_STEPS(gs_floats, gs_float_masks, float)
GS_STEPS(gs_doubles, gs_double_masks, double)

#endif
