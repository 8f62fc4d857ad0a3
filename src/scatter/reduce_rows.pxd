# Sums of contiguous rows of numbers, for ROWS: a row of data and its updates, in order, while a part of the row is in
# registers.
from libc.stdint cimport uint32_t

from common.codes cimport ADD, COMPLEX64, COMPLEX128, FLOAT32, FLOAT64, INT32, INT64, UINT32, UINT64
from common.items cimport cloned_v3_void
from scatter.reductions cimport Step

cdef extern from *:
    """
    #if defined(__GNUC__)
      #define GS_HAS_VECTORS 1
      /* `width` vectors of a row: a constant, so that they stay in registers. */
      #define GS_SUM_PART(name, number_t) \
        typedef number_t gs_vector_##name __attribute__((vector_size(32), aligned(1), may_alias)); \
        static GS_ALWAYS_INLINE void gs_sum_part_##name(char *to, const char *from, const char *updates, \
                                                        ptrdiff_t step, const uint32_t *order, ptrdiff_t n, \
                                                        ptrdiff_t last, ptrdiff_t ahead, int width) { \
            gs_vector_##name sums[8]; \
            _Pragma("GCC unroll 8") \
            for (int k = 0; k < width; k++) sums[k] = ((const gs_vector_##name *)from)[k]; \
            for (ptrdiff_t i = 0; i < n; i++) { \
                const gs_vector_##name *update = (const gs_vector_##name *)(updates + order[i] * step); \
                if (i + ahead < last) gs_prefetch_row_l2(updates + order[i + ahead] * step, 32 * width); \
                _Pragma("GCC unroll 8") \
                for (int k = 0; k < width; k++) sums[k] += update[k]; \
            } \
            _Pragma("GCC unroll 8") \
            for (int k = 0; k < width; k++) ((gs_vector_##name *)to)[k] = sums[k]; \
        }
      #define GS_SUM_PARTS(name, done, width) \
        for (; row_bytes - done >= 32 * width; done += 32 * width) { \
            gs_sum_part_##name(to + done, from + done, updates + done, step, order, n, last, ahead, width); \
        }
    #else
      #define GS_HAS_VECTORS 0
      #define GS_SUM_PART(name, number_t)
      #define GS_SUM_PARTS(name, done, width)
    #endif
    #define GS_SUM_RUN(name, number_t) \
      GS_SUM_PART(name, number_t) \
      static GS_ALWAYS_INLINE void gs_sum_run_##name(char *to, const char *from, const char *updates, \
                                                     ptrdiff_t step, const uint32_t *order, ptrdiff_t n, \
                                                     ptrdiff_t last, ptrdiff_t ahead, ptrdiff_t row_bytes) { \
          ptrdiff_t done = 0; \
          GS_SUM_PARTS(name, done, 8) \
          GS_SUM_PARTS(name, done, 4) \
          GS_SUM_PARTS(name, done, 2) \
          GS_SUM_PARTS(name, done, 1) \
          for (; done < row_bytes; done += sizeof(number_t)) { \
              number_t sum, update; \
              memcpy(&sum, from + done, sizeof(number_t)); \
              for (ptrdiff_t i = 0; i < n; i++) { \
                  memcpy(&update, updates + order[i] * step + done, sizeof(number_t)); \
                  sum += update; \
              } \
              memcpy(to + done, &sum, sizeof(number_t)); \
          } \
      }
    GS_SUM_RUN(f32, float)
    GS_SUM_RUN(f64, double)
    GS_SUM_RUN(u32, uint32_t)
    GS_SUM_RUN(u64, uint64_t)
    /* While a part of a row is summed, that of the update `ahead` is prefetched. Rows that have no updates are copied,
       unless `from` is `to`. */
    #define GS_SUM_ROWS(name) \
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
          gs_sum_run_##name(to, start, updates, step, run, n_run, n_later, ahead, row_bytes); \
      }
    static GS_ALWAYS_INLINE void gs_sum_rows(int type, char *to, const char *from, ptrdiff_t from_step,
                                             const char *updates, ptrdiff_t step, const uint32_t *order,
                                             const uint32_t *end, ptrdiff_t first, ptrdiff_t n, ptrdiff_t last,
                                             ptrdiff_t row_bytes, ptrdiff_t ahead, int assigns) {
        switch (type) {
            case 1: GS_SUM_ROWS(f32) break;
            case 2: GS_SUM_ROWS(f64) break;
            case 3: GS_SUM_ROWS(u32) break;
            case 4: GS_SUM_ROWS(u64) break;
        }
    }
    """
    bint has_vectors "GS_HAS_VECTORS"
    void sum_rows_of "gs_sum_rows" (int kind, char* to, const char* source, Py_ssize_t source_step,
                                    const char* updates, Py_ssize_t step, const uint32_t* order, const uint32_t* end,
                                    Py_ssize_t first, Py_ssize_t n, Py_ssize_t last, Py_ssize_t row_bytes,
                                    Py_ssize_t ahead, bint assigns) noexcept nogil


cdef inline int numbers_of(const Step* step) noexcept nogil:
    """For sum_rows: the kind of numbers that the elements of a sum consist of; 0: it is for other loops."""
    if step.reduction != ADD or not has_vectors:
        return 0
    if step.type_code == FLOAT32 or step.type_code == COMPLEX64:
        return 1
    if step.type_code == FLOAT64 or step.type_code == COMPLEX128:
        return 2
    if step.type_code == INT32 or step.type_code == UINT32:
        return 3
    return 4 if step.type_code == INT64 or step.type_code == UINT64 else 0


cdef inline cloned_v3_void sum_rows(int kind, char* to, const char* source, Py_ssize_t source_step,
                                    const char* updates, Py_ssize_t step, const uint32_t* order, const uint32_t* end,
                                    Py_ssize_t first, Py_ssize_t n, Py_ssize_t last, Py_ssize_t row_bytes,
                                    Py_ssize_t ahead, bint assigns) noexcept nogil:
    """Write the sums of n rows of source, which are source_step bytes apart, and their updates, in order.

    Row i has the updates order[end[i - 1]:end[i]], the first one those from `first` on. They are prefetched `ahead`
    of their use, up to order[last - 1]. assigns: a row with updates starts from its first one.
    """
    sum_rows_of(kind, to, source, source_step, updates, step, order, end, first, n, last, row_bytes, ahead, assigns)
