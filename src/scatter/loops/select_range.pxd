# What is in a range, of a block of destinations. select_range.h describes the functions.
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

cdef extern from "scatter/loops/select_range.h":
    enum:
        SELECT_SLACK "GS_SELECT_SLACK"
    Py_ssize_t select_range "gs_select_range" (const int64_t* offsets, Py_ssize_t n, int64_t low, uint64_t size,
                                               int64_t first, int64_t step, int64_t* selected,
                                               int64_t* numbers) noexcept nogil
    Py_ssize_t select_rows "gs_select_rows" (const int32_t* rows, Py_ssize_t n, uint32_t low, uint32_t size,
                                             uint32_t first, uint32_t* selected, uint32_t* numbers,
                                             uint32_t* below) noexcept nogil
