# Contiguous rows of numbers reduced with their updates, by the statements of vectors.pxd.
#
#     reduce_rows    for ROWS: each row of data with all its updates, while a part of the row is in registers
#     reduce_each    updates in turn, each with the row at its offset
from libc.stdint cimport int64_t, uint32_t

from common.items cimport prefetch_row_l2  # the C code below calls it, and that of the next file
from scatter.vectors cimport has_vectors

cdef extern from *:
    """
    #if GS_HAS_VECTORS
      /* A part of a row: `width` vectors of `bytes` bytes. Both are constants, so that it stays in registers. */
      #define GS_REDUCE_PART(name, number_t, statement, bytes, target) \
        typedef number_t gs_vector_##name##_##bytes \
            __attribute__((vector_size((bytes) < sizeof(number_t) ? sizeof(number_t) : (bytes)))); \
        typedef gs_vector_##name##_##bytes gs_unaligned_##name##_##bytes __attribute__((aligned(1), may_alias)); \
        target static GS_ALWAYS_INLINE void gs_part_##name##_##bytes( \
                char *to, const char *from, const char *updates, ptrdiff_t step, const uint32_t *order, ptrdiff_t n, \
                ptrdiff_t last, ptrdiff_t ahead, int width) { \
            gs_vector_##name##_##bytes results[8]; \
            _Pragma("GCC unroll 8") \
            for (int k = 0; k < width; k++) results[k] = ((const gs_unaligned_##name##_##bytes *)from)[k]; \
            for (ptrdiff_t i = 0; i < n; i++) { \
                const char *update = updates + order[i] * step; \
                if (i + ahead < last) gs_prefetch_row_l2(updates + order[i + ahead] * step, (bytes) * width); \
                _Pragma("GCC unroll 8") \
                for (int j = 0; j < width; j++) { \
                    /* the second of two lines first: see items.pxd */ \
                    int k = width * (bytes) < 128 ? j : j ^ (64 / (bytes)); \
                    gs_vector_##name##_##bytes b = ((const gs_unaligned_##name##_##bytes *)update)[k]; \
                    statement(results[k], b); \
                } \
            } \
            _Pragma("GCC unroll 8") \
            for (int k = 0; k < width; k++) ((gs_unaligned_##name##_##bytes *)to)[k] = results[k]; \
        }
      #define GS_REDUCE_PARTS(name, bytes, width) \
        for (; row_bytes - done >= (bytes) * (width); done += (bytes) * (width)) { \
            gs_part_##name##_##bytes(to + done, from + done, updates + done, step, order, n, last, ahead, width); \
        }
      /* Less than 4 bytes: the other numbers of the vectors are 0. */
      #define GS_REDUCE_REST(name, statement, bytes) \
        for (; row_bytes - done >= (bytes); done += (bytes)) { \
            gs_vector_##name##_4 result = {0}, b = {0}; \
            memcpy(&result, from + done, bytes); \
            for (ptrdiff_t i = 0; i < n; i++) { \
                memcpy(&b, updates + order[i] * step + done, bytes); \
                statement(result, b); \
            } \
            memcpy(to + done, &result, bytes); \
        }
      /* In vectors of `bytes` bytes or less. */
      #define GS_REDUCE(name, number_t, statement, bytes, target) \
        GS_REDUCE_PART(name, number_t, statement, 16, target) \
        GS_REDUCE_PART(name, number_t, statement, 8, target) \
        GS_REDUCE_PART(name, number_t, statement, 4, target) \
        target static GS_ALWAYS_INLINE void gs_row_##name( \
                char *to, const char *from, const char *updates, ptrdiff_t step, const uint32_t *order, ptrdiff_t n, \
                ptrdiff_t last, ptrdiff_t ahead, ptrdiff_t row_bytes) { \
            ptrdiff_t done = 0; \
            GS_REDUCE_PARTS(name, bytes, 8) \
            GS_REDUCE_PARTS(name, bytes, 4) \
            GS_REDUCE_PARTS(name, bytes, 2) \
            GS_REDUCE_PARTS(name, bytes, 1) \
            GS_REDUCE_PARTS(name, 16, 1) \
            GS_REDUCE_PARTS(name, 8, 1) \
            if (sizeof(number_t) <= 4) GS_REDUCE_PARTS(name, 4, 1) \
            if (sizeof(number_t) <= 2) GS_REDUCE_REST(name, statement, 2) \
            if (sizeof(number_t) == 1) GS_REDUCE_REST(name, statement, 1) \
        } \
        /* While a part of a row is reduced, that of the update `ahead` is prefetched. Rows that have no updates are \
           copied, unless `from` is `to`. */ \
        target static void gs_rows_##name( \
                char *to, const char *from, ptrdiff_t from_step, const char *updates, ptrdiff_t step, \
                const uint32_t *order, const uint32_t *end, ptrdiff_t first, ptrdiff_t n, ptrdiff_t last, \
                ptrdiff_t row_bytes, ptrdiff_t ahead, int assigns) { \
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
                gs_row_##name(to, start, updates, step, run, n_run, n_later, ahead, row_bytes); \
            } \
        } \
        target static GS_ALWAYS_INLINE void gs_each_of_##name( \
                char *out, const int64_t *offsets, const char *updates, const int64_t *update_offsets, \
                ptrdiff_t step, ptrdiff_t n, ptrdiff_t row_bytes) { \
            static const uint32_t first = 0; \
            for (ptrdiff_t i = 0; i < n; i++) { \
                if (offsets[i] == INT64_MIN) continue;  /* SKIPPED */ \
                const char *update = updates + (update_offsets ? update_offsets[i] : i * step); \
                char *row = out + offsets[i]; \
                gs_row_##name(row, row, update, 0, &first, 1, 0, 1, row_bytes); \
            } \
        } \
        /* The sizes of points and pixels are constants: choosing vectors would take longer than their use. */ \
        target static void gs_each_##name( \
                char *out, const int64_t *offsets, const char *updates, const int64_t *update_offsets, \
                ptrdiff_t step, ptrdiff_t n, ptrdiff_t row_bytes) { \
            switch (row_bytes) { \
                GS_EACH_SIZE(name, number_t, 2) GS_EACH_SIZE(name, number_t, 3) GS_EACH_SIZE(name, number_t, 4) \
                GS_EACH_SIZE(name, number_t, 6) GS_EACH_SIZE(name, number_t, 8) GS_EACH_SIZE(name, number_t, 12) \
                GS_EACH_SIZE(name, number_t, 16) GS_EACH_SIZE(name, number_t, 24) GS_EACH_SIZE(name, number_t, 32) \
                GS_EACH_SIZE(name, number_t, 48) GS_EACH_SIZE(name, number_t, 64) \
                default: gs_each_of_##name(out, offsets, updates, update_offsets, step, n, row_bytes); \
            } \
        }
      #define GS_EACH_SIZE(name, number_t, size) \
        case size: \
            if (size % sizeof(number_t) == 0) gs_each_of_##name(out, offsets, updates, update_offsets, step, n, size); \
            break;
      #define GS_REDUCE_KIND(reduction, type, number_t, statement) \
        GS_REDUCE(reduction##_##type, number_t, statement, 16, )
      #define GS_REDUCE_AVX2_KIND(reduction, type, number_t, statement) \
        GS_REDUCE_PART(reduction##_##type##_avx2, number_t, statement, 32, GS_AVX2) \
        GS_REDUCE(reduction##_##type##_avx2, number_t, statement, 32, GS_AVX2)
      #define GS_REDUCE_HALF(reduction, type, number_t, statement) \
        GS_REDUCE(reduction##_##type##_avx2, number_t, statement, 16, GS_AVX2)
      GS_EACH_KIND(GS_REDUCE_KIND)
      GS_EACH_AVX2_KIND(GS_REDUCE_AVX2_KIND)
      GS_EACH_HALF(GS_REDUCE_HALF)
    #endif
    #define GS_ROWS_CASE(kind, name) \
      case kind: \
        gs_rows_##name(to, from, from_step, updates, step, order, end, first, n, last, row_bytes, ahead, assigns); \
        break;
    #define GS_EACH_CASE(kind, name) \
      case kind: \
        gs_each_##name(out, offsets, updates, update_offsets, step, n, row_bytes); \
        break;
    #define GS_ROWS(reduction, type, number_t, statement) \
      GS_ROWS_CASE(GS_KIND(GS_##reduction, GS_##type), reduction##_##type)
    #define GS_AVX2_ROWS(reduction, type, number_t, statement) \
      GS_ROWS_CASE(GS_AVX2_KIND(GS_##reduction, GS_##type), reduction##_##type##_avx2)
    #define GS_EACH(reduction, type, number_t, statement) \
      GS_EACH_CASE(GS_KIND(GS_##reduction, GS_##type), reduction##_##type)
    #define GS_AVX2_EACH(reduction, type, number_t, statement) \
      GS_EACH_CASE(GS_AVX2_KIND(GS_##reduction, GS_##type), reduction##_##type##_avx2)
    static void gs_reduce_rows(int kind, char *to, const char *from, ptrdiff_t from_step, const char *updates,
                               ptrdiff_t step, const uint32_t *order, const uint32_t *end, ptrdiff_t first,
                               ptrdiff_t n, ptrdiff_t last, ptrdiff_t row_bytes, ptrdiff_t ahead, int assigns) {
        switch (kind) {
            GS_EACH_KIND(GS_ROWS) GS_EACH_AVX2_KIND(GS_AVX2_ROWS) GS_EACH_HALF(GS_AVX2_ROWS)
            default: break;
        }
    }
    static void gs_reduce_each(int kind, char *out, const int64_t *offsets, const char *updates,
                               const int64_t *update_offsets, ptrdiff_t step, ptrdiff_t n, ptrdiff_t row_bytes) {
        switch (kind) {
            GS_EACH_KIND(GS_EACH) GS_EACH_AVX2_KIND(GS_AVX2_EACH) GS_EACH_HALF(GS_AVX2_EACH)
            default: break;
        }
    }
    """
    # Write n rows of source, which are source_step bytes apart, each reduced with its updates, in order. Row i has the
    # updates order[end[i - 1]:end[i]], the first one those from `first` on. They are prefetched `ahead` of their use,
    # up to order[last - 1]. assigns: a row with updates starts from its first one.
    void reduce_rows "gs_reduce_rows" (int kind, char* to, const char* source, Py_ssize_t source_step,
                                       const char* updates, Py_ssize_t step, const uint32_t* order,
                                       const uint32_t* end, Py_ssize_t first, Py_ssize_t n, Py_ssize_t last,
                                       Py_ssize_t row_bytes, Py_ssize_t ahead, bint assigns) noexcept nogil
    # Reduce the rows at out + offsets, unless the offset is SKIPPED, with those at updates + update_offsets; if
    # update_offsets is NULL, with rows that are `step` bytes apart.
    void reduce_each "gs_reduce_each" (int kind, char* out, const int64_t* offsets, const char* updates,
                                       const int64_t* update_offsets, Py_ssize_t step, Py_ssize_t n,
                                       Py_ssize_t row_bytes) noexcept nogil
