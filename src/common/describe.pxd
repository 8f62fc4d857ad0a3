# Describe an operator's tuples, and the walk over them.
from cpython.mem cimport PyMem_RawFree as free
from cpython.tuple cimport PyTuple_GET_SIZE
cimport numpy as cnp

from common.arrays cimport add_arrays_axis, are_alike, distance, get_array, has_integers, new_arrays
from common.codes cimport ARRAYS, AXIS, ELEMENTS, INDEX_DTYPE, ND, NO_MEMORY, OK, Kind, Mode
from common.resolve cimport L1_BYTES, MIN_STREAM, Tuples, find_trivial
from common.walk cimport Walk, add_axis, finish_walk, start_walk


cdef inline Py_ssize_t describe_indices(Kind kind, cnp.ndarray indices, tuple arrays, Tuples* tuples) noexcept:
    """Describe how the tuples stand in memory. Returns a Status."""
    cdef cnp.ndarray array
    cdef Py_ssize_t j
    tuples.arrays = NULL
    if not has_integers(indices):
        return INDEX_DTYPE
    tuples.base = cnp.PyArray_BYTES(indices)
    tuples.kind = indices.descr.kind
    tuples.width = <int>cnp.PyArray_ITEMSIZE(indices)
    tuples.swapped = cnp.PyArray_ISBYTESWAPPED(indices)
    tuples.k = 1
    tuples.component_stride = 0
    if kind == ND:
        tuples.k = <int>cnp.PyArray_DIM(indices, cnp.PyArray_NDIM(indices) - 1)
        tuples.component_stride = cnp.PyArray_STRIDE(indices, cnp.PyArray_NDIM(indices) - 1)
    elif kind == ARRAYS:
        tuples.k = <int>PyTuple_GET_SIZE(arrays)
        for j in range(1, tuples.k):
            if not has_integers(get_array(arrays, j)):
                return INDEX_DTYPE
        if tuples.k == 2:
            array = get_array(arrays, 1)
            if are_alike(indices, array):
                tuples.component_stride = distance(tuples.base, cnp.PyArray_BYTES(array))
                return OK
        if tuples.k > 1:
            tuples.arrays = new_arrays(arrays)
            tuples.kind = 0
            if tuples.arrays == NULL:
                return NO_MEMORY
    return OK


cdef inline Py_ssize_t describe(Kind kind, cnp.ndarray data, cnp.ndarray indices, tuple arrays, cnp.ndarray other,
                                int axis, int batch_dims, Mode mode, bint wrap_negative, Tuples* tuples, Walk* walk,
                                int* row_axis, int* other_axis) noexcept:
    """Describe an operator's tuples and the iteration over them. Returns a Status; after OK, call `release`.

    IN   data: the array that is indexed (a gather's data, a scatter's result); indices: for ARRAYS, the first array;
         arrays: for ARRAYS, all of them; else None; other: a gather's result, a scatter's updates, or None; axis: for
         AXIS, ELEMENTS and ARRAYS, not negative
    OUT  row_axis, other_axis: the first axis of the row in data and in other
    """
    cdef int q = cnp.PyArray_NDIM(indices)
    cdef bint has_axis = kind == AXIS or kind == ARRAYS
    cdef int n_axes = q - 1 if kind == ND else q + axis - batch_dims if has_axis else q
    cdef int first = batch_dims if kind == ND else axis  # of the axes that are indexed
    cdef int d, i
    cdef Py_ssize_t n, index_stride, data_stride, other_stride, status

    status = describe_indices(kind, indices, arrays, tuples)
    if status != OK:
        return status
    tuples.mode = mode
    for d in range(tuples.k):
        tuples.size[d] = cnp.PyArray_DIM(data, first + d)
        tuples.wrap[d] = tuples.size[d] if wrap_negative else 0
        tuples.stride[d] = cnp.PyArray_STRIDE(data, first + d)
    find_trivial(tuples)
    start_walk(walk)
    for d in range(n_axes):
        other_stride = cnp.PyArray_STRIDE(other, d) if other is not None else 0
        if has_axis and batch_dims <= d < axis:  # indices lack these axes and are broadcast over them
            n = cnp.PyArray_DIM(data, d)
            index_stride = 0
            data_stride = cnp.PyArray_STRIDE(data, d)
        else:
            i = d if not has_axis or d < batch_dims else d - axis + batch_dims
            if tuples.arrays != NULL:
                add_arrays_axis(walk, tuples.arrays, arrays, i, other_stride)
                continue
            n = cnp.PyArray_DIM(indices, i)
            index_stride = cnp.PyArray_STRIDE(indices, i)
            data_stride = cnp.PyArray_STRIDE(data, d) if (d != axis if kind == ELEMENTS else d < batch_dims) else 0
        add_axis(walk, n, index_stride, data_stride, other_stride)
    finish_walk(walk)
    tuples.prefetches = walk.n > MIN_STREAM and cnp.PyArray_NBYTES(data) > L1_BYTES
    row_axis[0] = cnp.PyArray_NDIM(data) if kind == ELEMENTS else first + tuples.k
    other_axis[0] = n_axes
    return OK


cdef inline void release(Tuples* tuples) noexcept nogil:
    """Free what describe has allocated."""
    free(tuples.arrays)
