# A few rows of a contiguous array: describing a job would take longer than copying them.
from libc.stdint cimport int64_t
from libc.string cimport memcpy
cimport numpy as cnp

from common.codes cimport AXIS, OK, RAISE, Kind, Mode
from common.items cimport CACHE_LINE, copy_lines

cdef enum:
    MOST_ROWS = 64
    MOST_BYTES = 1 << 13    # of the result


cdef inline bint are_few_rows(Kind kind, cnp.ndarray data, cnp.ndarray indices, cnp.ndarray out, int axis,
                              int batch_dims, Mode mode, bint wrap_negative) noexcept:
    return (kind == AXIS and axis == 0 and batch_dims == 0 and mode == RAISE and wrap_negative
            and cnp.PyArray_SIZE(indices) <= MOST_ROWS and cnp.PyArray_NBYTES(out) <= MOST_BYTES
            and cnp.PyArray_DIM(data, 0) > 0
            and cnp.PyArray_ISSIGNED(indices) and cnp.PyArray_ITEMSIZE(indices) == sizeof(int64_t)
            and cnp.PyArray_ISCARRAY_RO(indices) and cnp.PyArray_IS_C_CONTIGUOUS(data)
            and cnp.PyArray_IS_C_CONTIGUOUS(out))


cdef inline Py_ssize_t gather_few_rows(cnp.ndarray data, cnp.ndarray indices, cnp.ndarray out) noexcept:
    """Returns OK or the position of the first bad index. Nothing was written then."""
    cdef int64_t rows[MOST_ROWS]
    cdef Py_ssize_t n = cnp.PyArray_SIZE(indices), n_rows = cnp.PyArray_DIM(data, 0), i
    cdef Py_ssize_t row_bytes = cnp.PyArray_NBYTES(data) // n_rows
    cdef char* source = cnp.PyArray_BYTES(data)
    cdef char* target = cnp.PyArray_BYTES(out)
    memcpy(rows, cnp.PyArray_DATA(indices), n * sizeof(int64_t))
    for i in range(n):
        if rows[i] < 0:
            rows[i] += n_rows
        if not 0 <= rows[i] < n_rows:
            return i
    if row_bytes % CACHE_LINE == 0:
        for i in range(n):
            copy_lines(target + i * row_bytes, source + rows[i] * row_bytes, row_bytes)
    else:
        for i in range(n):
            memcpy(target + i * row_bytes, source + rows[i] * row_bytes, row_bytes)
    return OK
