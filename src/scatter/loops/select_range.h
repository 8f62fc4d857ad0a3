/* What is in a range, of a block of destinations. No branch depends on a destination: half of such branches would be
   mispredicted. CPUs with AVX-512 select eight or sixteen at a time. */
#ifndef GS_SELECT_RANGE_H
#define GS_SELECT_RANGE_H
#include <stddef.h>
#include <stdint.h>

enum { GS_SELECT_SLACK = 15 };  /* elements that may be written after the selected ones */

#ifdef __cplusplus
extern "C" {
#endif
/* Of n offsets select those from `low` to low + size - 1, in order, and number them: the i-th has first + i * step. Writes
   them to `selected` and `numbers`, and returns how many there are. */
ptrdiff_t gs_select_range(const int64_t *offsets, ptrdiff_t n, int64_t low, uint64_t size, int64_t first, int64_t step,
                          int64_t *selected, int64_t *numbers);

/* Of n rows (-1: none) select those from `low` to low + size - 1. Writes them, less `low`, to `selected`, and their numbers,
   first + i, to `numbers`; returns how many there are, and adds to `below` how many are lower. */
ptrdiff_t gs_select_rows(const int32_t *rows, ptrdiff_t n, uint32_t low, uint32_t size, uint32_t first,
                         uint32_t *selected, uint32_t *numbers, uint32_t *below);
#ifdef __cplusplus
}
#endif

#endif
