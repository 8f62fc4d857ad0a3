# Weights, by which the rows of a source are multiplied before they are applied: for gather_scatter.
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy
cimport numpy as cnp

from common.codes cimport (
    BFLOAT16, BOOL, COMPLEX64, FLOAT16, FLOAT32, FLOAT64, INT8, INT16, INT32, NONE, UINT8, UINT16, UINT32, TypeCode,
)
from common.items cimport (
    CACHE_LINE, L1_BYTES, PREFETCHED, const_restricted, flat_void, inline_void, prefetch_row_l2, restricted,
)
from common.calls cimport width_of
from scatter.kernels cimport rows_ahead
from scatter.steps cimport bfloat16, boolean, float16, multiply, value_t
from scatter.vectors cimport VECTOR, scale_vector

cdef struct Weights:
    const char* first
    TypeCode type_code
    Py_ssize_t n                # of each update,
    Py_ssize_t n_bytes          # which take so many; 0: none
    Py_ssize_t n_items          # of a row, that one multiplies; the next weight multiplies the next ones


cdef inline bint are_weights(cnp.ndarray weights, cnp.ndarray source, cnp.ndarray indices, int type_code) noexcept:
    """Whether they can multiply rows of source. Complex numbers cannot: NumPy rounds their products in another way.

    More of an update than a cache line, or for fewer items than a vector has each, are as fast in a pass of their own.
    """
    cdef Py_ssize_t n = cnp.PyArray_SIZE(indices), width = cnp.PyArray_ITEMSIZE(source), n_items, per_row
    if (n == 0 or cnp.PyArray_SIZE(source) == 0 or not NONE < type_code < COMPLEX64
            or width != width_of(<TypeCode>type_code) or cnp.PyArray_ITEMSIZE(weights) != width
            or not cnp.PyArray_ISCARRAY_RO(weights) or cnp.PyArray_ISBYTESWAPPED(source)):
        return False
    n_items = cnp.PyArray_SIZE(source) // cnp.PyArray_DIM(source, 0)
    per_row = cnp.PyArray_SIZE(weights) // n
    return (0 < per_row <= CACHE_LINE // width and n_items % per_row == 0 and n_items <= L1_BYTES // 4 // width
            and n_items * width >= per_row * VECTOR and cnp.PyArray_SIZE(weights) == n * per_row)


cdef inline Weights describe_weights(cnp.ndarray weights, cnp.ndarray source, cnp.ndarray indices,
                                     TypeCode type_code) noexcept:
    cdef Weights some
    some.n_bytes = 0
    if weights is not None:
        some.first = cnp.PyArray_BYTES(weights)
        some.type_code = type_code
        some.n = cnp.PyArray_SIZE(weights) // cnp.PyArray_SIZE(indices)
        some.n_bytes = some.n * cnp.PyArray_ITEMSIZE(weights)
        some.n_items = cnp.PyArray_SIZE(source) // cnp.PyArray_DIM(source, 0) // some.n
    return some


cdef inline inline_void multiply_items(value_t* type, value_t weight, const_restricted items, Py_ssize_t n,
                                       restricted products) noexcept nogil:
    cdef Py_ssize_t i = 0
    cdef value_t item
    if value_t is float or value_t is double:
        while (i + 1) * VECTOR <= n * <Py_ssize_t>sizeof(value_t):
            scale_vector(type, products + i * VECTOR, items + i * VECTOR, <const char*>&weight)
            i += 1
    for i in range(i * VECTOR // <Py_ssize_t>sizeof(value_t), n):
        memcpy(&item, items + i * <Py_ssize_t>sizeof(value_t), sizeof(value_t))
        item = multiply(item, weight)
        memcpy(products + i * <Py_ssize_t>sizeof(value_t), &item, sizeof(value_t))


cdef inline inline_void multiply_typed(value_t* type, const Weights* weights, const char* factors,
                                       const int64_t* places, const char* source, const int64_t* offsets,
                                       Py_ssize_t n, Py_ssize_t n_known, char* products) noexcept nogil:
    cdef Py_ssize_t i, j, per_row = weights.n, size = weights.n_items * <Py_ssize_t>sizeof(value_t)
    cdef Py_ssize_t ahead = rows_ahead(per_row * size)
    cdef const char* first
    cdef value_t weight
    for i in range(n):
        if i + ahead < n_known:
            prefetch_row_l2(source + offsets[i + ahead], min(per_row * size, <Py_ssize_t>PREFETCHED))
        first = factors + places[i]
        for j in range(per_row):
            memcpy(&weight, first + j * <Py_ssize_t>sizeof(value_t), sizeof(value_t))
            multiply_items(type, weight, source + offsets[i] + j * size, weights.n_items,
                           products + (i * per_row + j) * size)


cdef inline flat_void multiply_rows(const Weights* weights, const char* factors, const int64_t* places,
                                    const char* source, const int64_t* offsets, Py_ssize_t n, Py_ssize_t n_known,
                                    char* products) noexcept nogil:
    """The products of n rows of source, at offsets, and of weights, at places from `factors` on.

    n_known: how many offsets there are: those after the first n are of rows that are prefetched.
    """
    cdef int type_code = weights.type_code
    if type_code == FLOAT32:
        multiply_typed(<float*>NULL, weights, factors, places, source, offsets, n, n_known, products)
    elif type_code == FLOAT64:
        multiply_typed(<double*>NULL, weights, factors, places, source, offsets, n, n_known, products)
    elif type_code == FLOAT16:
        multiply_typed(<float16*>NULL, weights, factors, places, source, offsets, n, n_known, products)
    elif type_code == BFLOAT16:
        multiply_typed(<bfloat16*>NULL, weights, factors, places, source, offsets, n, n_known, products)
    elif type_code == BOOL:
        multiply_typed(<boolean*>NULL, weights, factors, places, source, offsets, n, n_known, products)
    elif type_code == INT8 or type_code == UINT8:  # modulo a power of 2, signs make no difference
        multiply_typed(<uint8_t*>NULL, weights, factors, places, source, offsets, n, n_known, products)
    elif type_code == INT16 or type_code == UINT16:
        multiply_typed(<uint16_t*>NULL, weights, factors, places, source, offsets, n, n_known, products)
    elif type_code == INT32 or type_code == UINT32:
        multiply_typed(<uint32_t*>NULL, weights, factors, places, source, offsets, n, n_known, products)
    else:
        multiply_typed(<uint64_t*>NULL, weights, factors, places, source, offsets, n, n_known, products)
