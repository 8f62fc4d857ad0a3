# A few rows of a contiguous array: describing a job would take longer than copying them.
from libc.stdint cimport int64_t
from libc.string cimport memcpy
cimport numpy as cnp

from common.codes cimport AXIS, OK, RAISE, UNSUITED, Kind, Mode
from common.items cimport CACHE_LINE, L1_BYTES, copy_lines

cdef enum:
    MOST_ROWS = 64  # for more, and for a result that takes more of L1, describing a job is a small part of the time


cdef inline Py_ssize_t gather_few_rows(Kind kind, cnp.ndarray data, cnp.ndarray indices, cnp.ndarray out, int axis,
                                       int batch_dims, Mode mode, bint wrap_negative) noexcept:
    """Returns OK, the position of the first bad index, or UNSUITED. Nothing was written if it is not OK."""
    cdef int64_t rows[MOST_ROWS]
    cdef Py_ssize_t n, n_rows, row_bytes, i
    cdef int d
    cdef const char* source = cnp.PyArray_BYTES(data)
    cdef char* target = cnp.PyArray_BYTES(out)
    if (kind != AXIS or axis != 0 or batch_dims != 0 or mode != RAISE or not wrap_negative
            or not cnp.PyArray_ISSIGNED(indices) or cnp.PyArray_ITEMSIZE(indices) != sizeof(int64_t)
            or not (cnp.PyArray_ISCARRAY_RO(indices) and cnp.PyArray_IS_C_CONTIGUOUS(data)
                    and cnp.PyArray_IS_C_CONTIGUOUS(out))):
        return <Py_ssize_t>UNSUITED
    n, n_rows, row_bytes = cnp.PyArray_SIZE(indices), cnp.PyArray_DIM(data, 0), cnp.PyArray_ITEMSIZE(data)
    for d in range(1, cnp.PyArray_NDIM(data)):
        row_bytes *= cnp.PyArray_DIM(data, d)
    if n > MOST_ROWS or n_rows == 0 or row_bytes > L1_BYTES // 4 or n * row_bytes > L1_BYTES // 4:
        return <Py_ssize_t>UNSUITED
    memcpy(rows, cnp.PyArray_DATA(indices), n * sizeof(int64_t))
    for i in range(n):
        if rows[i] < 0:
            rows[i] += n_rows
        if not 0 <= rows[i] < n_rows:
            return i
    for i in range(n):
        if row_bytes % CACHE_LINE == 0:
            copy_lines(target + i * row_bytes, source + rows[i] * row_bytes, row_bytes)
        else:
            memcpy(target + i * row_bytes, source + rows[i] * row_bytes, row_bytes)
    return OK
