# Copies of items of any width: common/copies.h has the loops.
from libc.stdint cimport int64_t, uint16_t

cdef extern from "common/copies.h":
    void fill_elements "gs_fill" (Py_ssize_t width, const char* element, char* out, Py_ssize_t n) noexcept nogil
    bint copy_items "gs_copy_items" (Py_ssize_t width, const char* data, const int64_t* offsets, Py_ssize_t n,
                                     char* out, Py_ssize_t step) noexcept nogil
    bint copy_strided "gs_copy_strided" (Py_ssize_t width, const char* data, const int64_t* offsets, Py_ssize_t n,
                                         const char* fill, char* out, Py_ssize_t step, Py_ssize_t m,
                                         Py_ssize_t item_step, Py_ssize_t out_item_step) noexcept nogil
    void copy_numbered "gs_copy_numbered" (Py_ssize_t width, const char* data, Py_ssize_t step,
                                           const uint16_t* numbers, Py_ssize_t n, char* out) noexcept nogil
