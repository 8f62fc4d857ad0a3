/* Elements at single indices, or at pairs of them, reduced or assigned by one loop that also resolves their indices. An
   element is a number or a point of some numbers. */
#ifndef GS_ELEMENTS_IN_ORDER_H
#define GS_ELEMENTS_IN_ORDER_H
#include <stddef.h>
#include <stdint.h>

/* Tuples of one or two indices, which are aligned native integers of 4 or 8 bytes; or single unsigned ones of 2 bytes, for
   adjacent updates. */
typedef struct {
    const char *first;
    const char *second;     /* NULL: one index each. It may be in the same array as the first, or in another. */
    ptrdiff_t step;         /* bytes from a tuple to the next: those of as many indices as lie side by side */
    int width;              /* bytes of an index; 2: single, adjacent, and in bounds, with adjacent updates: no checks */
    int64_t size, row_size; /* of the axes of the first index, and of the second */
    int64_t wrap, row_wrap; /* added to negative indices */
    ptrdiff_t repeats;      /* so many successive single indices share an update */
    int64_t row;            /* elements of `out` from one value of the first index to the next, if there is a second */
    int columns;            /* not 0: `out` is a tile of so many columns, and update i is for column i of the row that its single
                               index selects; updates are adjacent. The loop stops at a negative index too. */
    int is_far;             /* the destinations are not in L2: those of points are prefetched */
    int skips, clips;       /* an index that is out of bounds is skipped or clipped; else, and with repeats, the loop stops */
} gs_pairs_t;

#ifdef __cplusplus
extern "C" {
#endif
/* A loop that applies updates, `step` bytes apart, to elements of `out`, in the order of their n indices. It returns how
   many it has seen to: fewer than n if the next index is out of bounds, or if so many were negative, skipped or clipped, in
   no order, that blocks would be faster. */
typedef ptrdiff_t (*gs_loop_in_order)(const gs_pairs_t *pairs, char *out, const char *updates, ptrdiff_t step, ptrdiff_t n);

/* The loop for a ReductionCode of elements that are `size` numbers of a TypeCode; NULL: there is none. is_rare: an update
   rarely changes its destination. */
gs_loop_in_order gs_reduction_in_order(int reduction, int type, int size, int is_rare);
/* The same for cells (cells.hpp) of such elements. */
gs_loop_in_order gs_counted_in_order(int reduction, int type, int size);
/* The loop that assigns elements of so many bytes; NULL: there is none. is_near: the destinations are in L1. */
gs_loop_in_order gs_assignment_in_order(ptrdiff_t bytes, int is_near);
#ifdef __cplusplus
}
#endif

#endif
