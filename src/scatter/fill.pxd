# Memory filled with one element.
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy
cimport numpy as cnp

from common.items cimport bytes16, inline_void, is_word, word_t


cdef inline inline_void fill_typed(word_t* type, const char* element, char* out, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef word_t item
    memcpy(&item, element, sizeof(word_t))
    for i in range(n):
        memcpy(out + i * sizeof(word_t), &item, sizeof(word_t))


cdef inline void fill_elements(Py_ssize_t width, const char* element, char* out, Py_ssize_t n) noexcept nogil:
    if width == 4:
        fill_typed(<uint32_t*>NULL, element, out, n)
    elif width == 8:
        fill_typed(<uint64_t*>NULL, element, out, n)
    elif width == 1:
        fill_typed(<uint8_t*>NULL, element, out, n)
    elif width == 2:
        fill_typed(<uint16_t*>NULL, element, out, n)
    else:
        fill_typed(<bytes16*>NULL, element, out, n)


cdef inline bint repeats_element(cnp.ndarray array, cnp.ndarray like) noexcept:
    """Whether one element, of like's dtype and known to fill_elements, stands for all of an array."""
    cdef int d
    for d in range(cnp.PyArray_NDIM(array)):
        if cnp.PyArray_STRIDE(array, d) != 0 and cnp.PyArray_DIM(array, d) > 1:
            return False
    return cnp.PyArray_SIZE(array) > 0 and array.descr is like.descr and is_word(cnp.PyArray_ITEMSIZE(array))
