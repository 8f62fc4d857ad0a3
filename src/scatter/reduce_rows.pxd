# Contiguous rows of numbers reduced with their updates, for ROWS: a row of data and its updates, in order, while a part
# of the row is in registers.
from libc.stdint cimport uint32_t

from common.codes cimport (
    ADD, ASSIGN, COMPLEX64, COMPLEX128, FLOAT32, FLOAT64, INT32, INT64, MAX, MUL, UINT32, UINT64,
)
from common.items cimport cloned_v3_void
from scatter.reductions cimport Step

cdef extern from *:
    """
    /* Operations (0 added, 1 multiplied, 2 greater, 3 less) and types of numbers (see `number_of`). Complex numbers are
       added as floats, and integers as unsigned ones. */
    #define GS_EACH_KIND(of) \
        of(0, 1, float, gs_added) of(0, 2, double, gs_added) \
        of(0, 3, uint32_t, gs_added) of(0, 4, uint64_t, gs_added) \
        of(1, 1, float, gs_multiplied) of(1, 2, double, gs_multiplied) \
        of(2, 1, float, gs_greater) of(2, 2, double, gs_greater) \
        of(2, 3, uint32_t, gs_greater) of(2, 4, uint64_t, gs_greater) \
        of(2, 5, int32_t, gs_greater) of(2, 6, int64_t, gs_greater) \
        of(3, 1, float, gs_less) of(3, 2, double, gs_less) \
        of(3, 3, uint32_t, gs_less) of(3, 4, uint64_t, gs_less) \
        of(3, 5, int32_t, gs_less) of(3, 6, int64_t, gs_less)
    #define GS_KIND(operation, number) (8 * (operation) + (number))
    /* a, a vector, reduced with b. Maximum and minimum are those of reductions.pxd: the first NaN, and the first of
       equal numbers. Comparisons of vectors give vectors of integers: masks. */
    #define gs_added(a, b) a += b
    #define gs_multiplied(a, b) a *= b
    #define gs_greater(a, b) gs_replaced(a, b, a >= b)
    #define gs_less(a, b) gs_replaced(a, b, a <= b)
    #define gs_replaced(a, b, stays) do { \
        __typeof__(stays) replaced = ~(stays) & (a == a); \
        a = (__typeof__(a))(((__typeof__(stays))b & replaced) | ((__typeof__(stays))a & ~replaced)); \
    } while (0)
    #if defined(__GNUC__)
      #define GS_HAS_VECTORS 1
      /* `width` vectors of a row: a constant, so that they stay in registers. */
      #define GS_REDUCE_PART(name, number_t, reduced) \
        typedef number_t gs_vector_##name __attribute__((vector_size(32))); \
        typedef number_t gs_single_##name __attribute__((vector_size(sizeof(number_t)))); \
        typedef number_t gs_unaligned_##name __attribute__((vector_size(32), aligned(1), may_alias)); \
        static GS_ALWAYS_INLINE void gs_part_##name(char *to, const char *from, const char *updates, ptrdiff_t step, \
                                                    const uint32_t *order, ptrdiff_t n, ptrdiff_t last, \
                                                    ptrdiff_t ahead, int width) { \
            gs_vector_##name results[8]; \
            _Pragma("GCC unroll 8") \
            for (int k = 0; k < width; k++) results[k] = ((const gs_unaligned_##name *)from)[k]; \
            for (ptrdiff_t i = 0; i < n; i++) { \
                const gs_unaligned_##name *update = (const gs_unaligned_##name *)(updates + order[i] * step); \
                if (i + ahead < last) gs_prefetch_row_l2(updates + order[i + ahead] * step, 32 * width); \
                _Pragma("GCC unroll 8") \
                for (int j = 0; j < width; j++) { \
                    int k = width < 4 ? j : j ^ 2;  /* the second of two lines first: see items.pxd */ \
                    gs_vector_##name b = update[k]; \
                    reduced(results[k], b); \
                } \
            } \
            _Pragma("GCC unroll 8") \
            for (int k = 0; k < width; k++) ((gs_unaligned_##name *)to)[k] = results[k]; \
        }
      #define GS_REDUCE_PARTS(name, width) \
        for (; row_bytes - done >= 32 * width; done += 32 * width) { \
            gs_part_##name(to + done, from + done, updates + done, step, order, n, last, ahead, width); \
        }
      /* The rest of a row in vectors of one number. */
      #define GS_REDUCE_KIND(operation, number, number_t, reduced) GS_REDUCE(operation##_##number, number_t, reduced)
      #define GS_REDUCE(name, number_t, reduced) \
        GS_REDUCE_PART(name, number_t, reduced) \
        static GS_ALWAYS_INLINE void gs_run_##name(char *to, const char *from, const char *updates, ptrdiff_t step, \
                                                   const uint32_t *order, ptrdiff_t n, ptrdiff_t last, \
                                                   ptrdiff_t ahead, ptrdiff_t row_bytes) { \
            ptrdiff_t done = 0; \
            GS_REDUCE_PARTS(name, 8) \
            GS_REDUCE_PARTS(name, 4) \
            GS_REDUCE_PARTS(name, 2) \
            GS_REDUCE_PARTS(name, 1) \
            for (; done < row_bytes; done += sizeof(number_t)) { \
                gs_single_##name result, b; \
                memcpy(&result, from + done, sizeof(number_t)); \
                for (ptrdiff_t i = 0; i < n; i++) { \
                    memcpy(&b, updates + order[i] * step + done, sizeof(number_t)); \
                    reduced(result, b); \
                } \
                memcpy(to + done, &result, sizeof(number_t)); \
            } \
        } \
        /* While a part of a row is reduced, that of the update `ahead` is prefetched. Rows that have no updates are \
           copied, unless `from` is `to`. */ \
        static GS_ALWAYS_INLINE void gs_rows_##name(char *to, const char *from, ptrdiff_t from_step, \
                                                    const char *updates, ptrdiff_t step, const uint32_t *order, \
                                                    const uint32_t *end, ptrdiff_t first, ptrdiff_t n, \
                                                    ptrdiff_t last, ptrdiff_t row_bytes, ptrdiff_t ahead, \
                                                    int assigns) { \
            for (ptrdiff_t row = 0; row < n; row++, to += row_bytes, from += from_step) { \
                const char *start = from; \
                const uint32_t *run = order + first; \
                ptrdiff_t n_run = end[row] - first; \
                ptrdiff_t n_later = last - first; \
                first = end[row]; \
                if (n_run == 0 && from == to) continue; \
                if (n_run > 0 && assigns) { \
                    start = updates + *run * step; \
                    if (ahead < n_later) gs_prefetch_row_l2(updates + run[ahead] * step, row_bytes); \
                    run++; \
                    n_run--; \
                    n_later--; \
                } \
                gs_run_##name(to, start, updates, step, run, n_run, n_later, ahead, row_bytes); \
            } \
        }
      GS_EACH_KIND(GS_REDUCE_KIND)
      #define GS_REDUCE_CASE(operation, number, number_t, reduced) \
        case GS_KIND(operation, number): \
            gs_rows_##operation##_##number(to, from, from_step, updates, step, order, end, first, n, last, row_bytes, \
                                           ahead, assigns); \
            break;
    #else
      #define GS_HAS_VECTORS 0
      #define GS_REDUCE_CASE(operation, number, number_t, reduced)
    #endif
    static GS_ALWAYS_INLINE void gs_reduce_rows(int kind, char *to, const char *from, ptrdiff_t from_step,
                                                const char *updates, ptrdiff_t step, const uint32_t *order,
                                                const uint32_t *end, ptrdiff_t first, ptrdiff_t n, ptrdiff_t last,
                                                ptrdiff_t row_bytes, ptrdiff_t ahead, int assigns) {
        switch (kind) {
            GS_EACH_KIND(GS_REDUCE_CASE)
        }
    }
    """
    bint has_vectors "GS_HAS_VECTORS"
    int KIND "GS_KIND" (int operation, int number) nogil
    void reduce_rows_of "gs_reduce_rows" (int kind, char* to, const char* source, Py_ssize_t source_step,
                                          const char* updates, Py_ssize_t step, const uint32_t* order,
                                          const uint32_t* end, Py_ssize_t first, Py_ssize_t n, Py_ssize_t last,
                                          Py_ssize_t row_bytes, Py_ssize_t ahead, bint assigns) noexcept nogil


cdef inline int number_of(const Step* step) noexcept nogil:
    """The type of the numbers of an element; 0: one without loops."""
    cdef bint adds = step.reduction == ADD
    if step.type_code == FLOAT32 or (adds and step.type_code == COMPLEX64):
        return 1
    if step.type_code == FLOAT64 or (adds and step.type_code == COMPLEX128):
        return 2
    if step.reduction == MUL:
        return 0
    if step.type_code == UINT32 or (adds and step.type_code == INT32):
        return 3
    if step.type_code == UINT64 or (adds and step.type_code == INT64):
        return 4
    return 5 if step.type_code == INT32 else 6 if step.type_code == INT64 else 0


cdef inline int kind_of(const Step* step) noexcept nogil:
    """The kind of reduce_rows for this step; 0: it is for other loops."""
    cdef int number = number_of(step)
    if not has_vectors or number == 0 or step.reduction == ASSIGN:
        return 0
    return KIND(0 if step.reduction == ADD else 1 if step.reduction == MUL else 2 if step.reduction == MAX else 3,
                number)


cdef inline cloned_v3_void reduce_rows(int kind, char* to, const char* source, Py_ssize_t source_step,
                                       const char* updates, Py_ssize_t step, const uint32_t* order,
                                       const uint32_t* end, Py_ssize_t first, Py_ssize_t n, Py_ssize_t last,
                                       Py_ssize_t row_bytes, Py_ssize_t ahead, bint assigns) noexcept nogil:
    """Write n rows of source, which are source_step bytes apart, each reduced with its updates, in order.

    Row i has the updates order[end[i - 1]:end[i]], the first one those from `first` on. They are prefetched `ahead`
    of their use, up to order[last - 1]. assigns: a row with updates starts from its first one.
    """
    reduce_rows_of(kind, to, source, source_step, updates, step, order, end, first, n, last, row_bytes, ahead, assigns)
