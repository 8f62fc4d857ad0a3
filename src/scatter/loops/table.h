/* Inner loops in C++ that Cython cannot express: vectors in registers, and pairs of number types.
 *
 * table.cpp is compiled once for any CPU and, on x86-64, once for CPUs with AVX2 and F16C. `gs_loops` points to the
 * functions for this CPU. Rows and numbers may be unaligned.
 */
#ifndef GS_TABLE_H
#define GS_TABLE_H
#include <stddef.h>
#include <stdint.h>

/* The values of ReductionCode and TypeCode (common/codes.pxd). */
enum { GS_ADD = 1, GS_MUL, GS_MAX, GS_MIN };
enum {
    GS_BOOL = 1, GS_INT8, GS_INT16, GS_INT32, GS_INT64, GS_UINT8, GS_UINT16, GS_UINT32, GS_UINT64, GS_FLOAT16,
    GS_BFLOAT16, GS_FLOAT32, GS_FLOAT64, GS_COMPLEX64, GS_COMPLEX128,
};

/* A reduction of a type of numbers, for reduce_rows and reduce_each. */
#define GS_ROW_LOOP(reduction, type) (16 * (reduction) + (type))
/* A type and the wider one in which it is accumulated. */
#define GS_PAIR(narrow, wide) (16 * (narrow) + (wide))

#define GS_F32_F64 GS_PAIR(GS_FLOAT32, GS_FLOAT64)
#define GS_C64_C128 GS_PAIR(GS_COMPLEX64, GS_COMPLEX128)

#if defined(__GNUC__)
  #define GS_HAS_VECTORS 1  /* the vector extensions of GCC and Clang, for reduce_rows and reduce_each */
#else
  #define GS_HAS_VECTORS 0
#endif

/* Updates that are grouped by row, for reduce_rows. */
typedef struct {
    const char *updates;
    ptrdiff_t step;         /* bytes from an update to the next one */
    const uint32_t *order;  /* the numbers of the updates, row by row */
    ptrdiff_t n;            /* of order */
    ptrdiff_t ahead;        /* updates are prefetched so many before their use: into L1 if are_cached, else into L2 */
    int are_cached;
    ptrdiff_t source_ahead; /* bytes: rows of source are prefetched so far ahead; 0: not */
    int assigns;            /* a row with updates starts from its first one */
    int divides;            /* means: a row with updates is divided by their number plus `more`; float32 and float64 only */
    ptrdiff_t more;
    int streams;            /* non-temporal stores: `to` and row_bytes are multiples of 32. The caller has the fence. */
} gs_grouped_t;

/* What reduce_each does while it reduces a row: it prefetches updates and rows of `out`, and counts the update. */
typedef struct {
    ptrdiff_t updates;      /* bytes ahead, of adjacent updates; rows ahead, if there are update_offsets */
    ptrdiff_t rows;         /* rows ahead; 0: none */
    const int64_t *next;    /* n_next offsets that follow the n; so many update_offsets follow theirs, too */
    ptrdiff_t n_next;
    uint32_t *counts;       /* of rows of 1 << shift bytes, the first one at offset `origin`; NULL: updates are not counted */
    int64_t origin;
    int shift;
} gs_ahead_t;

typedef struct {
    /* Whether reduce_rows and reduce_each have sums and products of float16. */
    int has_float16_sums;

    /* Write n rows of source, which are source_step bytes apart, each reduced with its updates, in order. Row i has the
       updates order[end[i - 1]:end[i]], the first one those from `first` on. Rows that have no updates are copied,
       unless source is `to`. */
    void (*reduce_rows)(int row_loop, char *to, const char *source, ptrdiff_t source_step, ptrdiff_t row_bytes,
                        const gs_grouped_t *grouped, const uint32_t *end, ptrdiff_t first, ptrdiff_t n);

    /* Reduce the rows at out + offsets, unless the offset is INT64_MIN (SKIPPED), with those at updates +
       update_offsets; if update_offsets is NULL, with rows that are `step` bytes apart. ahead: NULL: no prefetches. */
    void (*reduce_each)(int row_loop, char *out, const int64_t *offsets, const char *updates,
                        const int64_t *update_offsets, ptrdiff_t step, ptrdiff_t n, ptrdiff_t row_bytes,
                        const gs_ahead_t *ahead);

    /* Convert n numbers, which are `step` bytes apart if narrow, and adjacent if wide. keeps: a signalling NaN stays
       signalling. Otherwise it may become quiet. */
    void (*widen)(int pair, const char *narrow, ptrdiff_t step, ptrdiff_t n, int keeps, char *wide);
    void (*narrow)(int pair, const char *wide, ptrdiff_t n, int keeps, char *narrow, ptrdiff_t step);

    /* Widen the n rows at narrow + offsets, of n_items each that are `step` bytes apart, to rows that are `pitch` bytes
       apart. */
    void (*widen_rows)(int pair, const char *narrow, const int64_t *offsets, ptrdiff_t n, ptrdiff_t step,
                       ptrdiff_t n_items, char *wide, ptrdiff_t pitch);

    /* Whether one of n adjacent numbers, or a part of a complex one, is a signalling NaN. */
    int (*has_signals)(int pair, const char *narrow, ptrdiff_t n);

    /* Add the n rows of float32 at rows + row_offsets to those of float64 at sums + offsets. */
    void (*add_rows)(char *sums, const int64_t *offsets, const char *rows, const int64_t *row_offsets, ptrdiff_t n,
                     ptrdiff_t n_items);

    /* Add the rows order[:n] of float32 to one row of float64, or multiply it by them, in this order. While a part of a
       row is combined, that of the row `ahead` is prefetched, up to order[last - 1]. */
    void (*combine_run)(char *sums, const char *rows, ptrdiff_t step, const uint32_t *order, ptrdiff_t n,
                        ptrdiff_t last, ptrdiff_t n_items, ptrdiff_t ahead, int multiplies);

    /* Means: divide each of n sums of a TypeCode in `out` by its count, of `width` bytes (4 or 8), plus `more`; one whose
       count is 0 becomes that of data, which may be `out`. */
    void (*divide)(int type, char *out, const char *counts, int width, const char *data, ptrdiff_t n, int64_t more);

    /* Make n cells (cells.hpp) of `items` adjacent numbers each, of `size` bytes, 4 or 8, with counts of 0. repeats: one
       number stands for all. */
    void (*start_cells)(int size, ptrdiff_t items, char *cells, const char *numbers, int repeats, ptrdiff_t n);
    /* Apply n updates, `step` bytes apart, to cells of one number. offsets: in bytes, of their elements without counts. */
    void (*reduce_cells)(int reduction, int type, char *cells, const int64_t *offsets, const char *updates, ptrdiff_t step,
                         ptrdiff_t n);
    /* Write to `out` the numbers of each of n cells; if the count is 0, those of data. */
    void (*finish_cells)(int size, ptrdiff_t items, const char *cells, const char *data, char *out, ptrdiff_t n);
    /* The same, but divided by their count plus `more`. data may be NULL: then those of a cell whose count is 0 are
       written as they are. */
    void (*divide_cells)(int type, ptrdiff_t items, const char *cells, const char *data, char *out, ptrdiff_t n,
                         int32_t more);
} gs_loops_t;

#ifdef __cplusplus
extern "C" {
#endif
extern const gs_loops_t *const gs_loops;
extern const gs_loops_t gs_loops_base;
#if GS_HAS_AVX2_LOOPS
extern const gs_loops_t gs_loops_avx2;
#endif
#ifdef __cplusplus
}
#endif

#endif
