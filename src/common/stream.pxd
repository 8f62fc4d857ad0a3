# Non-temporal (streaming) stores, for results that are larger than the caches.
#
# An ordinary store first reads the cache line that it writes to (a read for ownership): a third of the traffic of a
# copy. Non-temporal stores avoid this read, but lines must be written whole, and the result is then in memory, not in
# the caches. They are used for results of STREAM_BYTES or more by the kernels for AVX2; elsewhere these functions are
# ordinary copies. docs/benchmarks/bounds.md has what they gain on CPUs of Intel and AMD. GATHERSCATTER_STREAM=0 in the
# environment turns them off.
from libc.stdint cimport int64_t, uintptr_t

from common.items cimport CACHE_LINE, prefetch_row_l2  # the C code below calls it

cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>
    #include <stdlib.h>
    #include <string.h>
    enum { GS_MOVED_AHEAD = 32 };  /* rows from one that is moved to one whose begin is prefetched into L2 */
    enum { GS_SEVERAL_LINES = 512 };  /* bytes of a row from which on the hardware takes it for a stream anyway */
    static GS_ALWAYS_INLINE void gs_prefetch_begin(const char *row, size_t size) {
        gs_prefetch_row_l2(row, (ptrdiff_t)(size < GS_PREFETCHED ? size : GS_PREFETCHED));
    }
    static GS_ALWAYS_INLINE void gs_prefetch_ahead(const char *data, const int64_t *offsets, ptrdiff_t i,
                                                   ptrdiff_t n_known, size_t size) {
        if (i + GS_MOVED_AHEAD < n_known) gs_prefetch_begin(data + offsets[i + GS_MOVED_AHEAD], size);
    }
    #ifdef __AVX__
      #include <immintrin.h>
      static int gs_can_stream(void) {
          static int known = -1;
          if (known < 0) {
              const char *asked = getenv("GATHERSCATTER_STREAM");
              known = !(asked && *asked == '0');
          }
          return known;
      }
      static GS_ALWAYS_INLINE void gs_stream_line(char *out, const char *in) {
          __m256i a = _mm256_loadu_si256((const __m256i *)in);
          __m256i b = _mm256_loadu_si256((const __m256i *)(in + 32));
          _mm256_stream_si256((__m256i *)out, a);
          _mm256_stream_si256((__m256i *)(out + 32), b);
      }
      static GS_ALWAYS_INLINE void gs_stream_lines(char *out, const char *in, size_t n) {
          for (size_t i = 0; i < n; i += 64) gs_stream_line(out + i, in + i);
      }
      /* The lines of a row; of a short one, the second of two lines first: in ascending or descending order, the hardware
         would take each row for the start of a stream and read lines beyond it. */
      static GS_ALWAYS_INLINE void gs_stream_row(char *out, const char *in, size_t n) {
          size_t i = 0;
          for (; n < GS_SEVERAL_LINES && i + 128 <= n; i += 128) {
              gs_stream_line(out + i + 64, in + i + 64);
              gs_stream_line(out + i, in + i);
          }
          gs_stream_lines(out + i, in + i, n - i);
      }
      /* A part of a line; adjacent rows write its other parts. */
      static GS_ALWAYS_INLINE void gs_stream_part(char *out, const char *in, size_t n) {
          for (size_t i = 0; i < n; i += 16) {
              _mm_stream_si128((__m128i *)(out + i), _mm_loadu_si128((const __m128i *)(in + i)));
          }
      }
      static void gs_stream_rows(char *out, ptrdiff_t step, const char *data, const int64_t *offsets, ptrdiff_t n,
                                 ptrdiff_t n_known, size_t size) {
          int adjacent = (size_t)step == size && ((uintptr_t)out | size) % 16 == 0;
          if (((uintptr_t)out | step | size) % 64 == 0) {
              for (ptrdiff_t i = 0; i < n; i++) {
                  gs_prefetch_ahead(data, offsets, i, n_known, size);
                  gs_stream_row(out + i * step, data + offsets[i], size);
              }
              return;
          }
          for (ptrdiff_t i = 0; i < n; i++) {
              char *to = out + i * step;
              const char *from = data + offsets[i];
              size_t head = -(uintptr_t)to & 63, lines;
              gs_prefetch_ahead(data, offsets, i, n_known, size);
              if (head > size) head = size;
              lines = (size - head) & ~(size_t)63;
              if (adjacent) {
                  gs_stream_part(to, from, head);
                  gs_stream_lines(to + head, from + head, lines);
                  gs_stream_part(to + head + lines, from + head + lines, size - head - lines);
              } else {
                  memcpy(to, from, head);
                  gs_stream_row(to + head, from + head, lines);
                  memcpy(to + head + lines, from + head + lines, size - head - lines);
              }
          }
      }
      static void gs_stream_contiguous(char *out, const char *in, size_t n) { gs_stream_lines(out, in, n); }
      static void gs_stream_fence(void) { _mm_sfence(); }
    #else
      static int gs_can_stream(void) { return 0; }
      static void gs_stream_rows(char *out, ptrdiff_t step, const char *data, const int64_t *offsets, ptrdiff_t n,
                                 ptrdiff_t n_known, size_t size) {
          for (ptrdiff_t i = 0; i < n; i++) {
              gs_prefetch_ahead(data, offsets, i, n_known, size);
              memcpy(out + i * step, data + offsets[i], size);
          }
      }
      static void gs_stream_contiguous(char *out, const char *in, size_t n) { memcpy(out, in, n); }
      static void gs_stream_fence(void) {}
    #endif
    """
    enum:
        MOVED_AHEAD "GS_MOVED_AHEAD"
    bint can_stream "gs_can_stream" () noexcept nogil
    void prefetch_begin "gs_prefetch_begin" (const char* row, size_t size) noexcept nogil
    void prefetch_ahead "gs_prefetch_ahead" (const char* data, const int64_t* offsets, Py_ssize_t i,
                                             Py_ssize_t n_known, size_t size) noexcept nogil
    # Copy n rows of size bytes from data + offsets to out, step bytes apart, and prefetch those that follow, of n_known
    # offsets in all.
    void stream_rows "gs_stream_rows" (char* out, Py_ssize_t step, const char* data, const int64_t* offsets,
                                       Py_ssize_t n, Py_ssize_t n_known, size_t size) noexcept nogil
    # Copy whole cache lines to an aligned address.
    void stream_contiguous "gs_stream_contiguous" (char* out, const char* source, size_t n) noexcept nogil
    # Orders non-temporal stores before later stores. Call it once per task, after the last one.
    void stream_fence "gs_stream_fence" () noexcept nogil

cdef enum:
    STREAM_BYTES = 1 << 24  # bytes of a result: a shorter one may stay in L3
    STREAM_ROW = 256        # bytes of a row; too much of a shorter row may be partial lines


cdef inline void stream_bytes(char* out, const char* source, Py_ssize_t n, bint continues) noexcept nogil:
    """Copy n bytes. continues: those that follow in out are written at once, and complete a cache line with these."""
    cdef int64_t zero = 0
    stream_rows(out, n if continues else 0, source, &zero, 1, 1, n)


cdef inline bint fill_lines(const char* out, Py_ssize_t step, Py_ssize_t row_bytes) noexcept nogil:
    """Whether rows fill cache lines of out, alone or with adjacent ones, and so may be streamed if they are short.

    With adjacent ones only from 48 bytes on: shorter rows are mostly parts, each with a store of its own, of 16 bytes.
    """
    return (((<uintptr_t>out | <uintptr_t>step | <uintptr_t>row_bytes) & (CACHE_LINE - 1)) == 0
            or (step == row_bytes >= 48 and ((<uintptr_t>out | <uintptr_t>row_bytes) & 15) == 0))
