/* A row of indices into a tile of columns (common/columns.pxd): one loop checks them and moves their items. */
#ifndef GS_COLUMN_LOOPS_H
#define GS_COLUMN_LOOPS_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
/* A loop that moves an item of each of n columns to contiguous memory: that of column j from row indices[j] of the tile,
   which has `size` rows. The indices are aligned native integers. It returns how many it has moved: fewer than n if the next
   index is negative or out of bounds. */
typedef ptrdiff_t (*gs_column_loop)(const char *tile, int64_t size, const char *indices, char *out, ptrdiff_t n);

/* The loop for items and indices of so many bytes, and tiles with rows of row_bytes; NULL: there is none. */
gs_column_loop gs_column_loop_of(ptrdiff_t item_bytes, int index_bytes, ptrdiff_t row_bytes);
#ifdef __cplusplus
}
#endif

#endif
