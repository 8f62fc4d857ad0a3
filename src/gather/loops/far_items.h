/* Items of up to 64 bytes, of data larger than L2: one loop resolves their indices, prefetches and moves them. */
#ifndef GS_FAR_ITEMS_H
#define GS_FAR_ITEMS_H
#include <stddef.h>
#include <stdint.h>

/* Tuples of one or two indices, which are aligned native integers. The (last) index selects one of adjacent items. */
typedef struct {
    const char *data;
    const char *end;        /* of the memory that may be read */
    ptrdiff_t item_bytes;
    int n_indices;          /* of a tuple: 1 or 2 */
    int width;              /* bytes of an index: 4 or 8 */
    const char *first;
    const char *second;     /* it may be in the same array as the first, or in another */
    ptrdiff_t step;         /* bytes from a tuple to the next: those of as many indices as lie side by side */
    int64_t size, row_size; /* of the axes of the first index, and of the second */
    int64_t wrap, row_wrap; /* added to negative indices */
    const char *fill;       /* NULL, or 64 bytes that start with the item for single indices that are out of bounds */
    int64_t row;            /* bytes from one value of the first of two indices to the next */
    int streams;            /* non-temporal stores, but not for pixels. The caller has the fence. */
    const char *next;       /* NULL, or what later items are of: these next_bytes are prefetched instead of each item */
    ptrdiff_t next_bytes;
} gs_far_items_t;

#ifdef __cplusplus
extern "C" {
#endif
/* A loop that moves n items to contiguous memory. It returns how many it has moved: fewer than n if the next index is
   out of bounds (without `fill`), or if so many were negative that blocks would be faster. */
typedef ptrdiff_t (*gs_far_loop)(const gs_far_items_t *items, char *out, ptrdiff_t n);

/* The loop for items of so many bytes; NULL: there is none. */
gs_far_loop gs_far_loop_of(ptrdiff_t item_bytes);
#ifdef __cplusplus
}
#endif

#endif
