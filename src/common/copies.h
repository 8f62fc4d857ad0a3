/* Copies of items of any width, whatever their dtype. A memcpy of a constant size compiles to one or two instructions and
   needs no alignment. */
#ifndef GS_COPIES_H
#define GS_COPIES_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "common/compiler.h"

#define GS_CASE(bytes, loop) if (width_ == bytes) { struct { char all[bytes]; } item; loop } else
#define GS_WORD(type, loop) if (width_ == sizeof(type)) { type item; loop } else
/* A loop over an `item` of `width` bytes, compiled for each width: of words, of pixels and points of 3 components, and of
   up to a cache line. `other`: for other widths. */
#define GS_BY_WIDTH(width, loop, other) \
    do { const size_t width_ = (size_t)(width); \
        GS_WORD(uint32_t, loop) GS_WORD(uint64_t, loop) GS_WORD(uint8_t, loop) GS_WORD(uint16_t, loop) \
        GS_CASE(16, loop) GS_CASE(3, loop) GS_CASE(6, loop) GS_CASE(12, loop) GS_CASE(24, loop) GS_CASE(32, loop) \
        GS_CASE(64, loop) \
        { other } \
    } while (0);
#define GS_COPY(to, from) memcpy(&item, from, sizeof item); memcpy(to, &item, sizeof item);
#define GS_SIZE (ptrdiff_t)sizeof item

/* n times the same item. */
static void gs_fill(ptrdiff_t width, const char *from, char *out, ptrdiff_t n) {
    ptrdiff_t i;
    GS_BY_WIDTH(width,
        memcpy(&item, from, sizeof item);
        for (i = 0; i < n; i++) memcpy(out + i * GS_SIZE, &item, sizeof item);,
        for (i = 0; i < n; i++) memcpy(out + i * width, from, width);)
}

/* The items at `offsets`, `step` bytes apart. 0: there is no loop for the width. */
static int gs_copy_items(ptrdiff_t width, const char *data, const int64_t *offsets, ptrdiff_t n, char *out,
                         ptrdiff_t step) {
    ptrdiff_t i;
    GS_BY_WIDTH(width,
        if (step == GS_SIZE) {
            GS_UNROLL(4) for (i = 0; i < n; i++) { GS_COPY(out + i * GS_SIZE, data + offsets[i]) }
        } else {
            for (i = 0; i < n; i++) { GS_COPY(out + i * step, data + offsets[i]) }
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
            for (j = 0; j < m; j++) { GS_COPY(out + i * step + j * out_item_step, from + j * from_step) }
        },
        return 0;)
    return 1;
}

/* The items numbers[0], numbers[1], …, `step` bytes apart in data, to contiguous memory. */
static void gs_copy_numbered(ptrdiff_t width, const char *data, ptrdiff_t step, const uint16_t *numbers, ptrdiff_t n,
                             char *out) {
    ptrdiff_t i;
    GS_BY_WIDTH(width,
        if (step == GS_SIZE) {
            for (i = 0; i < n; i++) { GS_COPY(out + i * GS_SIZE, data + numbers[i] * GS_SIZE) }
        } else {
            for (i = 0; i < n; i++) { GS_COPY(out + i * GS_SIZE, data + numbers[i] * step) }
        },
        return;)
}

#endif
