# Arrays that repeat one element.
cimport numpy as cnp

from common.items cimport fits_register


cdef inline bint repeats_element(cnp.ndarray array, cnp.ndarray like) noexcept:
    """Whether an array of like's dtype repeats one element that fits a register."""
    cdef int d
    for d in range(cnp.PyArray_NDIM(array)):
        if cnp.PyArray_STRIDE(array, d) != 0 and cnp.PyArray_DIM(array, d) > 1:
            return False
    return cnp.PyArray_SIZE(array) > 0 and array.descr is like.descr and fits_register(cnp.PyArray_ITEMSIZE(array))
