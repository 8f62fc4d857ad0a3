# Describe an operator's tuples, and the walk over them.
from cpython.mem cimport PyMem_RawFree as free
from cpython.tuple cimport PyTuple_GET_SIZE
cimport numpy as cnp

from common.arrays cimport add_arrays_axis, are_alike, distance, get_array, has_integers, new_arrays
from common.codes cimport ARRAYS, AXIS, ELEMENTS, INDEX_DTYPE, ND, NO_MEMORY, OK, Kind, Mode
from common.items cimport L1_BYTES
from common.resolve cimport MIN_STREAM, Tuples, find_simple
from common.rows cimport abs_stride
from common.walk cimport Walk, add_axis, finish_walk, start_walk

cdef extern from "Python.h":
    Py_ssize_t PY_SSIZE_T_MAX


cdef inline Py_ssize_t describe_arrays(tuple arrays, Tuples* tuples) noexcept:
    """Describe the tuples of kind ARRAYS, whose first array is described. Returns a Status."""
    cdef cnp.ndarray first = get_array(arrays, 0), last
    cdef Py_ssize_t j
    tuples.k = <int>PyTuple_GET_SIZE(arrays)
    for j in range(1, tuples.k):
        if not has_integers(get_array(arrays, j)):
            return INDEX_DTYPE
    if tuples.k == 1:
        return OK
    if tuples.k == 2:
        last = get_array(arrays, 1)
        if are_alike(first, last):  # one stream, whose components stand some distance apart
            tuples.component_stride = distance(cnp.PyArray_BYTES(first), cnp.PyArray_BYTES(last))
            return OK
    tuples.kind = 0
    tuples.arrays = new_arrays(arrays)
    return OK if tuples.arrays != NULL else NO_MEMORY


cdef inline cnp.ndarray index_of_rows(cnp.ndarray data, cnp.ndarray indices, int axis, Py_ssize_t* repeats):
    """For ELEMENTS: the indices without the axes after `axis`, if they repeat along these; else None.

    Such as expanded ones: `torch.Tensor.expand`, `np.broadcast_to`. They select rows as those of kind AXIS do, with all
    axes before `axis` as batch axes. They must have data's size along every axis but `axis`, and the elements of
    a row must be closer in memory than rows: in Fortran order, elements are faster one by one.
    OUT  repeats: how many elements of indices each stands for
    """
    cdef int d, q = cnp.PyArray_NDIM(indices)
    cdef Py_ssize_t n = 1
    repeats[0] = 1
    for d in range(q):
        if d != axis and cnp.PyArray_DIM(indices, d) != cnp.PyArray_DIM(data, d):
            return None
        if d > axis:
            if cnp.PyArray_DIM(indices, d) > 1 and (
                    cnp.PyArray_STRIDE(indices, d) != 0
                    or abs_stride(cnp.PyArray_STRIDE(data, d)) > abs_stride(cnp.PyArray_STRIDE(data, axis))):
                return None
            n *= cnp.PyArray_DIM(indices, d)
    if n <= 1:
        return None
    try:
        rows = indices[(slice(None),) * (axis + 1) + (0,) * (q - axis - 1)]
    except MemoryError:
        return None
    repeats[0] = n
    return rows


cdef inline Py_ssize_t position_of(Py_ssize_t status, Py_ssize_t repeats) noexcept:
    """A kernel's status, with the position of a bad index in the user's indices."""
    return status * repeats if status > 0 else status


cdef inline Py_ssize_t smallest_stride(const Tuples* tuples) noexcept:
    """The smallest distance in data between two neighbours along an indexed axis."""
    cdef Py_ssize_t stride = PY_SSIZE_T_MAX
    cdef int d
    for d in range(tuples.k):
        stride = min(stride, abs_stride(tuples.stride[d]))
    return stride


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
    cdef int n_axes, first, d, i
    cdef Py_ssize_t n, index_stride, data_stride, status

    tuples.kind = indices.descr.kind
    if tuples.kind != c'i' and tuples.kind != c'u':
        return INDEX_DTYPE
    tuples.arrays = NULL
    tuples.base = cnp.PyArray_BYTES(indices)
    tuples.width = <int>cnp.PyArray_ITEMSIZE(indices)
    tuples.swapped = cnp.PyArray_ISBYTESWAPPED(indices)
    tuples.mode = mode
    tuples.k = <int>cnp.PyArray_DIM(indices, q - 1) if kind == ND else 1
    tuples.component_stride = cnp.PyArray_STRIDE(indices, q - 1) if kind == ND else 0
    if kind == ARRAYS:
        status = describe_arrays(arrays, tuples)
        if status != OK:
            return status
        kind = AXIS  # but for k
    n_axes = q - 1 if kind == ND else q + axis - batch_dims if kind == AXIS else q
    first = batch_dims if kind == ND else axis  # of the axes that are indexed
    for d in range(tuples.k):
        tuples.size[d] = cnp.PyArray_DIM(data, first + d)
        tuples.wrap[d] = tuples.size[d] if wrap_negative else 0
        tuples.stride[d] = cnp.PyArray_STRIDE(data, first + d)
    find_simple(tuples)
    start_walk(walk)
    for d in range(n_axes):
        if kind == AXIS and batch_dims <= d < axis:  # indices lack these axes and are broadcast over them
            n = cnp.PyArray_DIM(data, d)
            index_stride = 0
            data_stride = cnp.PyArray_STRIDE(data, d)
        else:
            i = d if kind != AXIS or d < batch_dims else d - axis + batch_dims
            if tuples.arrays != NULL:
                add_arrays_axis(walk, tuples.arrays, arrays, i,
                                cnp.PyArray_STRIDE(other, d) if other is not None else 0)
                continue
            n = cnp.PyArray_DIM(indices, i)
            index_stride = cnp.PyArray_STRIDE(indices, i)
            data_stride = cnp.PyArray_STRIDE(data, d) if (d != axis if kind == ELEMENTS else d < batch_dims) else 0
        add_axis(walk, n, index_stride, data_stride, cnp.PyArray_STRIDE(other, d) if other is not None else 0)
    finish_walk(walk)
    # Random accesses to data that stay in L1 do not disturb the hardware prefetcher.
    tuples.prefetches = walk.n > MIN_STREAM and cnp.PyArray_NBYTES(data) > L1_BYTES // 4
    row_axis[0] = cnp.PyArray_NDIM(data) if kind == ELEMENTS else first + tuples.k
    other_axis[0] = n_axes
    return OK


cdef inline void release(Tuples* tuples) noexcept nogil:
    """Free what describe has allocated."""
    if tuples.arrays != NULL:
        free(tuples.arrays)
