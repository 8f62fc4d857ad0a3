# Arrays that are one element.
cimport numpy as cnp

from common.items cimport is_word


cdef inline bint repeats_element(cnp.ndarray array, cnp.ndarray like) noexcept:
    """Whether one element, of like's dtype and the width of a word, stands for all of an array."""
    cdef int d
    for d in range(cnp.PyArray_NDIM(array)):
        if cnp.PyArray_STRIDE(array, d) != 0 and cnp.PyArray_DIM(array, d) > 1:
            return False
    return cnp.PyArray_SIZE(array) > 0 and array.descr is like.descr and is_word(cnp.PyArray_ITEMSIZE(array))
