/* Copies of items of any width, whatever their dtype. A memcpy of a constant size compiles to one or two instructions and
   needs no alignment. */
#ifndef GS_COPIES_H
#define GS_COPIES_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "common/compiler.h"

#define GS_CASE(bytes, loop) case bytes: { enum { size = bytes }; loop } break;
/* A loop over items of `width` bytes, compiled for each `size`: of elements, of pixels and points of 3 components, and of
   up to a cache line. `other`: for other widths. */
#define GS_BY_WIDTH(width, loop, other) \
    switch (width) { \
        GS_CASE(1, loop) GS_CASE(2, loop) GS_CASE(3, loop) GS_CASE(4, loop) GS_CASE(6, loop) GS_CASE(8, loop) \
        GS_CASE(12, loop) GS_CASE(16, loop) GS_CASE(24, loop) GS_CASE(32, loop) GS_CASE(64, loop) \
        default: other \
    }

/* n times the same item. */
static void gs_fill(ptrdiff_t width, const char *from, char *out, ptrdiff_t n) {
    ptrdiff_t i;
    GS_BY_WIDTH(width,
        struct { char all[size]; } item;
        memcpy(&item, from, size);
        for (i = 0; i < n; i++) memcpy(out + i * size, &item, size);,
        for (i = 0; i < n; i++) memcpy(out + i * width, from, width);)
}

/* The items at `offsets`, `step` bytes apart. 0: there is no loop for the width. */
static int gs_copy_items(ptrdiff_t width, const char *data, const int64_t *offsets, ptrdiff_t n, char *out,
                         ptrdiff_t step) {
    ptrdiff_t i;
    GS_BY_WIDTH(width,
        if (size > 16) {
            for (i = 0; i < n; i++) memcpy(out + i * step, data + offsets[i], size);
        } else if (step == size) {
            GS_UNROLL(4) for (i = 0; i < n; i++) memcpy(out + i * size, data + offsets[i], size);
        } else {
            GS_UNROLL(4) for (i = 0; i < n; i++) memcpy(out + i * step, data + offsets[i], size);
        },
        return 0;)
    return 1;
}

/* Of each offset m items, item_step bytes apart; m times the item at `fill` if it is INT64_MIN. */
static int gs_copy_strided(ptrdiff_t width, const char *data, const int64_t *offsets, ptrdiff_t n, const char *fill,
                           char *out, ptrdiff_t step, ptrdiff_t m, ptrdiff_t item_step, ptrdiff_t out_item_step) {
    ptrdiff_t i, j;
    GS_BY_WIDTH(width,
        for (i = 0; i < n; i++) {
            const char *from = offsets[i] == INT64_MIN ? fill : data + offsets[i];
            const ptrdiff_t from_step = offsets[i] == INT64_MIN ? 0 : item_step;
            for (j = 0; j < m; j++) memcpy(out + i * step + j * out_item_step, from + j * from_step, size);
        },
        return 0;)
    return 1;
}

/* The items numbers[0], numbers[1], …, `step` bytes apart in data, to contiguous memory. */
static void gs_copy_numbered(ptrdiff_t width, const char *data, ptrdiff_t step, const uint16_t *numbers, ptrdiff_t n,
                             char *out) {
    ptrdiff_t i;
    GS_BY_WIDTH(width,
        if (step == size) {
            for (i = 0; i < n; i++) memcpy(out + i * size, data + numbers[i] * (ptrdiff_t)size, size);
        } else {
            for (i = 0; i < n; i++) memcpy(out + i * size, data + numbers[i] * step, size);
        },
        return;)
}

#endif
