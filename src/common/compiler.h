/* Attributes of functions, and software prefetches, in C and C++. */
#ifndef GS_COMPILER_H
#define GS_COMPILER_H
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__) || defined(__clang__)
  #define GS_ALWAYS_INLINE __attribute__((always_inline)) inline
  #define GS_INLINE_VOID __attribute__((always_inline)) void
  /* All that it calls is inlined: a loop for each of its cases. */
  #define GS_FLAT_VOID __attribute__((flatten, noinline)) void
  #define GS_NOINLINE __attribute__((noinline))
  #define GS_UNLIKELY(condition) __builtin_expect((condition), 0)
#else
  #define GS_ALWAYS_INLINE inline
  #define GS_INLINE_VOID void
  #define GS_FLAT_VOID void
  #define GS_NOINLINE
  #define GS_UNLIKELY(condition) (condition)
#endif

/* Pointers to what no other pointer of the function points to: a loop needs no test of that before it is vectorised. */
#if defined(__GNUC__) || defined(__clang__)
  #define GS_RESTRICT __restrict
#else
  #define GS_RESTRICT
#endif
typedef char *GS_RESTRICT gs_restricted;
typedef const char *GS_RESTRICT gs_const_restricted;

/* A number that stays in a register of its own: GCC packs some that are compared together into a vector, and takes them
   out again one by one. */
static GS_ALWAYS_INLINE int64_t gs_scalar(int64_t x) {
#if defined(__GNUC__) || defined(__clang__)
    __asm__("" : "+r"(x));
#endif
    return x;
}

/* Before a loop: unroll it so many times. */
#if defined(__GNUC__)
  #define GS_PRAGMA(text) _Pragma(#text)
  #define GS_UNROLL(times) GS_PRAGMA(GCC unroll times)
#else
  #define GS_UNROLL(times)
#endif

/* Prefetches into L2 allow more outstanding misses than those into L1, so that rows can be prefetched early; into L1 go
   rows that are used next. */
#if defined(__GNUC__) || defined(__clang__)
  #define GS_PREFETCH_L2(p) __builtin_prefetch((p), 0, 2)
  #define GS_PREFETCH_L1(p) __builtin_prefetch((p), 0, 3)
  #define GS_PREFETCH_WRITE(p) __builtin_prefetch((p), 1, 3)
#else
  #define GS_PREFETCH_L2(p) ((void)0)
  #define GS_PREFETCH_L1(p) ((void)0)
  #define GS_PREFETCH_WRITE(p) ((void)0)
#endif

/* Inlined always: GCC drops the calls of functions without effects. A row that is not aligned touches one cache line
   more, which the last prefetch is for; points are so short that few do. */
static GS_ALWAYS_INLINE void gs_prefetch_row(const char *row, ptrdiff_t size) {
    ptrdiff_t i;
    for (i = 0; i < size; i += 64) GS_PREFETCH_L1(row + i);
    if (size > 16) GS_PREFETCH_L1(row + size - 1);
}
static GS_ALWAYS_INLINE void gs_prefetch_row_l2(const char *row, ptrdiff_t size) {
    ptrdiff_t i;
    for (i = 0; i < size; i += 64) GS_PREFETCH_L2(row + i);
    GS_PREFETCH_L2(row + size - 1);
}

#endif
