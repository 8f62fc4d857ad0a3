# Index arrays of kind ARRAYS that differ in dtype or strides: each has its own description and its own strides along
# the axes of the walk.
from cpython.mem cimport PyMem_RawCalloc as calloc  # so that tracemalloc sees it
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport uintptr_t
cimport numpy as cnp

from common.walk cimport DATA, INDICES, MAX_DIMS, OTHER, Cursor, Walk

cdef struct Component:
    const char* base
    char kind       # as in Tuples
    int width
    bint swapped

cdef struct Arrays:
    int k
    int first               # the first axis of the walk that is one of the arrays; they are constant along those before
    Component* component    # k
    Py_ssize_t* stride      # k for each axis of the walk from `first` on


cdef inline cnp.ndarray get_array(tuple arrays, Py_ssize_t j):
    return <cnp.ndarray>PyTuple_GET_ITEM(arrays, j)


cdef inline bint is_tuple_of_arrays(indices, bint exactly) noexcept:
    """exactly: subclasses are refused."""
    cdef Py_ssize_t j
    if type(indices) is not tuple or not 1 <= PyTuple_GET_SIZE(indices) <= MAX_DIMS:
        return False
    for j in range(PyTuple_GET_SIZE(indices)):
        if not (type(<object>PyTuple_GET_ITEM(indices, j)) is cnp.ndarray if exactly
                else isinstance(<object>PyTuple_GET_ITEM(indices, j), cnp.ndarray)):
            return False
    return True


cdef inline tuple arrays_of(indices):
    """The indices of kind ARRAYS."""
    if not is_tuple_of_arrays(indices, False):
        raise TypeError("indices of kind ARRAYS are a tuple of numpy.ndarray, one for each axis")
    return indices


cdef inline bint has_integers(cnp.ndarray array) noexcept:
    return array.descr.kind == c'i' or array.descr.kind == c'u'


cdef inline bint are_alike(cnp.ndarray a, cnp.ndarray b) noexcept:
    """Whether two arrays of one shape have equal dtypes and strides."""
    cdef int d
    if (a.descr.kind != b.descr.kind or cnp.PyArray_ITEMSIZE(a) != cnp.PyArray_ITEMSIZE(b)
            or cnp.PyArray_ISBYTESWAPPED(a) != cnp.PyArray_ISBYTESWAPPED(b)):
        return False
    for d in range(cnp.PyArray_NDIM(a)):
        if cnp.PyArray_DIM(a, d) > 1 and cnp.PyArray_STRIDE(a, d) != cnp.PyArray_STRIDE(b, d):
            return False
    return True


cdef inline Arrays* new_arrays(tuple arrays) noexcept:
    """Describe the arrays, in one allocation. NULL: there is no memory."""
    cdef int k = <int>PyTuple_GET_SIZE(arrays), j
    cdef Py_ssize_t n_axes = max(cnp.PyArray_NDIM(get_array(arrays, 0)), 1)
    cdef Arrays* described = <Arrays*>calloc(1, sizeof(Arrays) + k * (sizeof(Component) + n_axes * sizeof(Py_ssize_t)))
    cdef cnp.ndarray array
    if described == NULL:
        return NULL
    described.k = k
    described.first = MAX_DIMS
    described.component = <Component*>(described + 1)
    described.stride = <Py_ssize_t*>(described.component + k)
    for j in range(k):
        array = get_array(arrays, j)
        described.component[j].base = cnp.PyArray_BYTES(array)
        described.component[j].kind = array.descr.kind
        described.component[j].width = <int>cnp.PyArray_ITEMSIZE(array)
        described.component[j].swapped = cnp.PyArray_ISBYTESWAPPED(array)
    return described


cdef inline void add_arrays_axis(Walk* walk, Arrays* described, tuple arrays, int axis, Py_ssize_t other) noexcept:
    """Add an axis of the arrays as add_axis does: it is coalesced if every array's strides allow it.

    other: the stride in the third operand of the walk. data has no such axis.
    """
    cdef int last = walk.n_dims - 1
    cdef int k = described.k, j
    cdef Py_ssize_t n = cnp.PyArray_DIM(get_array(arrays, 0), axis)
    cdef Py_ssize_t* stride
    cdef bint joins
    if described.first == MAX_DIMS:
        described.first = walk.n_dims
    walk.n *= n
    if n == 1:
        return
    joins = last >= described.first and walk.stride[last][OTHER] == n * other
    if joins:
        stride = described.stride + (last - described.first) * k
        for j in range(k):
            joins &= stride[j] == n * cnp.PyArray_STRIDE(get_array(arrays, j), axis)
    if joins:
        walk.shape[last] *= n
    else:
        last += 1
        walk.n_dims += 1
        walk.shape[last] = n
    stride = described.stride + (last - described.first) * k
    for j in range(k):
        stride[j] = cnp.PyArray_STRIDE(get_array(arrays, j), axis)
    walk.stride[last][INDICES] = 0
    walk.stride[last][DATA] = 0
    walk.stride[last][OTHER] = other


cdef inline Py_ssize_t array_stride(const Arrays* arrays, int axis, int j) noexcept nogil:
    """The stride of array j along an axis of the walk."""
    return arrays.stride[(axis - arrays.first) * arrays.k + j] if axis >= arrays.first else 0


cdef inline const char* array_at(const Arrays* arrays, const Walk* walk, const Cursor* cursor, int j) noexcept nogil:
    """The address of the cursor's element of array j."""
    cdef Py_ssize_t offset = 0
    cdef int d
    for d in range(arrays.first, walk.n_dims):
        offset += cursor.coordinate[d] * array_stride(arrays, d, j)
    return arrays.component[j].base + offset


cdef inline Py_ssize_t distance(const char* a, const char* b) noexcept nogil:
    """The bytes from one array to another."""
    return <Py_ssize_t>(<uintptr_t>b - <uintptr_t>a)
