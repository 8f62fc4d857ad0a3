# Inner loops in C++, for this CPU. table.h describes them.
from libc.stdint cimport int32_t, int64_t, uint32_t

cdef extern from "scatter/loops/table.h":
    bint has_vectors "GS_HAS_VECTORS"
    int ROW_LOOP "GS_ROW_LOOP" (int reduction, int type_code) nogil
    int PAIR "GS_PAIR" (int narrow, int wide) nogil
    int F32_F64 "GS_F32_F64"
    int C64_C128 "GS_C64_C128"
    int GS_ADD
    int GS_MIN
    int GS_BOOL
    int GS_COMPLEX128

    ctypedef struct Grouped "gs_grouped_t":
        const char* updates
        Py_ssize_t step
        const uint32_t* order
        Py_ssize_t n
        Py_ssize_t ahead
        bint are_cached
        Py_ssize_t source_ahead
        bint assigns
        bint divides
        Py_ssize_t more
        bint streams

    ctypedef struct Ahead "gs_ahead_t":
        Py_ssize_t updates
        Py_ssize_t rows
        const int64_t* next
        Py_ssize_t n_next
        uint32_t* counts
        int64_t origin
        int shift

    ctypedef struct Loops "gs_loops_t":
        bint has_float16_sums
        void (*reduce_rows)(int row_loop, char* to, const char* source, Py_ssize_t source_step, Py_ssize_t row_bytes,
                            const Grouped* grouped, const uint32_t* end, Py_ssize_t first,
                            Py_ssize_t n) noexcept nogil
        void (*reduce_each)(int row_loop, char* out, const int64_t* offsets, const char* updates,
                            const int64_t* update_offsets, Py_ssize_t step, Py_ssize_t n, Py_ssize_t row_bytes,
                            const Ahead* ahead) noexcept nogil
        void (*widen)(int pair, const char* narrow, Py_ssize_t step, Py_ssize_t n, bint keeps,
                      char* wide) noexcept nogil
        void (*narrow)(int pair, const char* wide, Py_ssize_t n, bint keeps, char* narrow,
                       Py_ssize_t step) noexcept nogil
        void (*widen_rows)(int pair, const char* narrow, const int64_t* offsets, Py_ssize_t n, Py_ssize_t step,
                           Py_ssize_t n_items, char* wide, Py_ssize_t pitch) noexcept nogil
        bint (*has_signals)(int pair, const char* narrow, Py_ssize_t n) noexcept nogil
        void (*add_rows)(char* sums, const int64_t* offsets, const char* rows, const int64_t* row_offsets,
                         Py_ssize_t n, Py_ssize_t n_items) noexcept nogil
        void (*combine_run)(char* sums, const char* rows, Py_ssize_t step, const uint32_t* order, Py_ssize_t n,
                            Py_ssize_t last, Py_ssize_t n_items, Py_ssize_t ahead,
                            bint multiplies) noexcept nogil
        void (*divide)(int type_code, char* out, const char* counts, int width, const char* data, Py_ssize_t n,
                       int64_t more) noexcept nogil
        void (*start_cells)(int size, Py_ssize_t items, char* cells, const char* numbers, bint repeats,
                            Py_ssize_t n) noexcept nogil
        void (*reduce_cells)(int reduction, int type_code, char* cells, const int64_t* offsets, const char* updates,
                             Py_ssize_t step, Py_ssize_t n) noexcept nogil
        void (*finish_cells)(int size, Py_ssize_t items, const char* cells, const char* data, char* out,
                             Py_ssize_t n) noexcept nogil
        void (*divide_cells)(int type_code, Py_ssize_t items, const char* cells, const char* data, char* out,
                             Py_ssize_t n, int32_t more) noexcept nogil

    const Loops* loops "gs_loops"
