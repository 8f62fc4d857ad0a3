# Updates that are rows of a source, for gather_scatter: which arrays the kernel takes.
from libc.stdint cimport int32_t, uint32_t
cimport numpy as cnp

from common.codes cimport AXIS, NONE


cdef inline bint is_source(cnp.ndarray source, cnp.ndarray update_rows, int kind, cnp.ndarray indices,
                           cnp.ndarray out, int axis, int accumulate) noexcept:
    """Whether rows of source can be the updates."""
    cdef int d
    if (source is None or kind != AXIS or axis != 0 or accumulate != NONE or not cnp.PyArray_IS_C_CONTIGUOUS(source)
            or cnp.PyArray_NDIM(source) != cnp.PyArray_NDIM(out)
            or cnp.PyArray_ITEMSIZE(source) != cnp.PyArray_ITEMSIZE(out)
            or cnp.PyArray_TYPE(update_rows) != cnp.NPY_INT32 or not cnp.PyArray_ISCARRAY_RO(update_rows)
            or cnp.PyArray_SIZE(update_rows) != cnp.PyArray_SIZE(indices)):
        return False
    for d in range(1, cnp.PyArray_NDIM(out)):
        if cnp.PyArray_DIM(source, d) != cnp.PyArray_DIM(out, d):
            return False
    return True


cdef inline bint are_rows(const int32_t* numbers, Py_ssize_t n, Py_ssize_t size) noexcept nogil:
    """Whether all numbers are those of rows of an array of this size."""
    cdef uint32_t most = 0
    cdef Py_ssize_t i
    for i in range(n):
        most = max(most, <uint32_t>numbers[i])
    return n == 0 or <Py_ssize_t>most < size
