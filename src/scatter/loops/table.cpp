// The table of loops for a CPU: the compiler's options say which.
#include "scatter/loops/table.h"

#include "scatter/loops/conversions.hpp"
#include "scatter/loops/means.hpp"
#if GS_HAS_VECTORS
  #include "scatter/loops/reduce_rows.hpp"
#else
  #define reduce_rows nullptr
  #define reduce_each nullptr
#endif

#if defined(__F16C__)
  #define HAS_FLOAT16_SUMS 1
#else
  #define HAS_FLOAT16_SUMS 0
#endif

#define GS_TABLE \
    { \
        HAS_FLOAT16_SUMS, reduce_rows, reduce_each, widen_numbers, narrow_numbers, widen_rows, has_signals, add_rows, \
        combine_run, divide, start_cells, reduce_cells, finish_cells, divide_cells \
    }

extern "C" {
#if defined(GS_OF_AVX2)
const gs_loops_t gs_loops_avx2 = GS_TABLE;
#else
const gs_loops_t gs_loops_base = GS_TABLE;
#endif
}

#if !defined(GS_OF_AVX2)
static const gs_loops_t *loops_of_this_cpu() {
#if GS_HAS_AVX2_LOOPS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c")) return &gs_loops_avx2;
#endif
    return &gs_loops_base;
}

const gs_loops_t *const gs_loops = loops_of_this_cpu();
#endif
