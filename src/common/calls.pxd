# The shape of a gather's result or a scatter's updates, which every call checks; and what small calls check instead of
# a plan in Python, which would take longer than the kernel: options, scalars and `out`.
#
# A small call that breaks a rule is left to the plan, which raises the error.
cimport numpy as cnp
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_GET_SIZE

from libc.math cimport isinf
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from common.arrays cimport get_array, has_integers
from common.codes cimport (
    ARRAYS, AXIS, BFLOAT16, BOOL, CLIP, COMPLEX64, COMPLEX128, ELEMENTS, FLOAT16, FLOAT32, FLOAT64, INT8, INT64, ND,
    NONE, RAISE, SKIP, UINT8, UINT64, WRAP, Kind,
)
from common.items cimport MAX_ELEMENT_BYTES, is_little_endian
from common.rows cimport abs_stride
from common.scratch cimport KEPT_BYTES
from common.walk cimport MAX_DIMS

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object integer, int* overflow) except? -1

cdef extern from "numpy/arrayobject.h":
    int NPY_HALF  # the last of NumPy's own type numbers
    bint PyDataType_REFCHK(cnp.dtype dtype) nogil
    cnp.ndarray PyArray_NewFromDescr(PyTypeObject* subtype, cnp.dtype descr, int nd, const Py_ssize_t* dims,
                                     const Py_ssize_t* strides, void* data, int flags, PyObject* like)


cdef enum:
    SMALL_BYTES = 1 << 20   # of a result: for a larger one, a plan is a small part of the time


cdef struct Call:
    int axis            # counted from the front
    int batch_dims
    int n_dims
    Py_ssize_t shape[2 * MAX_DIMS]


cdef inline void append(Call* call, cnp.ndarray array, int start, int stop) noexcept:
    cdef int d
    for d in range(start, stop):
        call.shape[call.n_dims] = cnp.PyArray_DIM(array, d)
        call.n_dims += 1


cdef inline bint has_shape(cnp.ndarray array, int n_dims, const Py_ssize_t* shape) noexcept:
    cdef int d
    if cnp.PyArray_NDIM(array) != n_dims:
        return False
    for d in range(n_dims):
        if cnp.PyArray_DIM(array, d) != shape[d]:
            return False
    return True


cdef inline bint describe_arrays_shape(Call* call, cnp.ndarray data, tuple arrays, Py_ssize_t axis,
                                       Py_ssize_t batch_dims) noexcept:
    """Describe a call of kind ARRAYS and check the rules for shapes. False: a rule is broken."""
    cdef cnp.ndarray first = get_array(arrays, 0)
    cdef int r = cnp.PyArray_NDIM(data), k = <int>PyTuple_GET_SIZE(arrays), q = cnp.PyArray_NDIM(first), j
    call.n_dims = call.batch_dims = 0
    if axis < 0:
        axis += r
    if not 0 <= axis <= r - k or batch_dims != 0:
        return False
    for j in range(1, k):
        if not has_shape(get_array(arrays, j), q, <const Py_ssize_t*>cnp.PyArray_DIMS(first)):
            return False
    call.axis = <int>axis
    append(call, data, 0, call.axis)
    append(call, first, 0, q)
    append(call, data, call.axis + k, r)
    return call.n_dims <= MAX_DIMS


cdef inline bint describe_shape(Call* call, Kind kind, cnp.ndarray data, cnp.ndarray indices, Py_ssize_t axis,
                                Py_ssize_t batch_dims) noexcept:
    """Describe a call and check the rules for shapes. False: a rule is broken. For ARRAYS see describe_arrays_shape."""
    cdef int r = cnp.PyArray_NDIM(data), q = cnp.PyArray_NDIM(indices)
    cdef int a = 0, b, d
    cdef Py_ssize_t k

    call.n_dims = call.axis = call.batch_dims = 0
    if kind == ND:
        q -= 1
        if q < 0 or not 0 <= batch_dims <= min(q, r):
            return False
        b = <int>batch_dims
        k = cnp.PyArray_DIM(indices, q)
        if k > r - b:
            return False
        append(call, indices, 0, q)
        append(call, data, b + <int>k, r)
    else:
        if not -r <= axis < r:
            return False
        a = <int>axis
        if a < 0:
            a += r
        if kind == ELEMENTS:
            b = 0
            if q != r:
                return False
            for d in range(r):
                if d != a and cnp.PyArray_DIM(indices, d) > cnp.PyArray_DIM(data, d):
                    return False
            append(call, indices, 0, q)
        else:
            if not 0 <= batch_dims <= min(a, q):
                return False
            b = <int>batch_dims
            append(call, data, 0, a)
            append(call, indices, b, q)
            append(call, data, a + 1, r)
    for d in range(b):
        if cnp.PyArray_DIM(data, d) != cnp.PyArray_DIM(indices, d):
            return False
    call.axis = a
    call.batch_dims = b
    return call.n_dims <= MAX_DIMS


cdef inline bint describe_call(Call* call, Kind kind, cnp.ndarray data, cnp.ndarray indices, tuple arrays, axis,
                                batch_dims):
    """Describe a call and check all rules. False: a rule is broken, or the call needs a plan.

    arrays: for ARRAYS, all of them, of which indices are the first; else None.
    """
    cdef int d, overflow = 0
    cdef Py_ssize_t j
    cdef long long axis_, batch_dims_
    if type(axis) is not int or type(batch_dims) is not int or not has_integers(indices):
        return False
    if arrays is not None:
        for j in range(1, PyTuple_GET_SIZE(arrays)):
            if not has_integers(get_array(arrays, j)):
                return False
    axis_ = PyLong_AsLongLongAndOverflow(axis, &overflow)
    batch_dims_ = PyLong_AsLongLongAndOverflow(batch_dims, &overflow) if not overflow else 0
    if overflow or not (describe_shape(call, kind, data, indices, axis_, batch_dims_) if arrays is None else
                        describe_arrays_shape(call, data, arrays, axis_, batch_dims_)):
        return False
    if kind == AXIS or kind == ARRAYS:
        for d in range(call.batch_dims, call.axis):
            if cnp.PyArray_DIM(data, d) == 0:  # no position, so the kernel would not check the indices
                return False
    return True


cdef inline cnp.ndarray new_array(cnp.ndarray like, int n_dims, const Py_ssize_t* shape):
    """An uninitialised array of like's dtype; None if it is large or its items own references."""
    cdef cnp.dtype dtype = like.descr
    cdef Py_ssize_t size = dtype.itemsize
    cdef int d
    if PyDataType_REFCHK(dtype) or size >= SMALL_BYTES:
        return None
    for d in range(n_dims):
        if shape[d] >= SMALL_BYTES:  # even if another axis is empty: the product may be too large for NumPy
            return None
        size *= shape[d]
        if size >= SMALL_BYTES:
            return None
    if size >= KEPT_BYTES:
        try:
            from gatherscatter._kernels.common import empty
            # Not a list comprehension: Cython 3.3.1 frees an item twice if there is no memory for the list.
            return empty(cnp.PyArray_IntTupleFromIntp(n_dims, <cnp.npy_intp*>shape), dtype)
        except (MemoryError, RuntimeError):  # the latter: the import system has no memory for a lock
            return None
    Py_INCREF(dtype)  # PyArray_NewFromDescr steals a reference
    return PyArray_NewFromDescr(<PyTypeObject*>cnp.ndarray, dtype, n_dims, shape, NULL, NULL, 0, NULL)


cdef inline int mode_of(mode, str skip) noexcept:
    """The Mode of a name; -1: unknown. skip: the name of SKIP, "fill" or "drop"."""
    if mode is "raise":  # the default, an interned string
        return RAISE
    # The type is checked first: == of other types may raise or return an array.
    if type(mode) is not str:
        return -1
    if mode == "raise" or mode == "promise_in_bounds":  # checked anyway
        return RAISE
    if mode == "clip":
        return CLIP
    if mode == "wrap":
        return WRAP
    return SKIP if mode == skip else -1


cdef inline bint same_dtype(cnp.ndarray a, cnp.ndarray b):
    return a.descr is b.descr or a.descr == b.descr


cdef inline int type_code_of(cnp.dtype dtype) noexcept:
    """TypeCode of a NumPy dtype; NONE for others. Type codes are ordered by kind, then by width."""
    cdef Py_ssize_t width = dtype.itemsize
    cdef char kind = dtype.kind
    cdef int order = 0 if width == 1 else 1 if width == 2 else 2 if width == 4 else 3
    if not 0 <= dtype.type_num <= NPY_HALF:  # of another package, such as ml_dtypes' float8, whose kind is 'f' too
        return NONE
    if kind == c'b':
        return BOOL
    if kind == c'i':
        return <int>INT8 + order
    if kind == c'u':
        return <int>UINT8 + order
    if kind == c'f' and width <= 8:
        return FLOAT16 if width == 2 else <int>FLOAT32 + order - 2
    if kind == c'c' and width <= 16:
        return COMPLEX64 if width == 8 else COMPLEX128
    return NONE


cdef inline Py_ssize_t width_of(int type_code) noexcept nogil:
    """Bytes of an element; 0 for NONE."""
    if type_code == BOOL:
        return 1
    if INT8 <= type_code <= INT64:
        return <Py_ssize_t>1 << (type_code - <int>INT8)
    if UINT8 <= type_code <= UINT64:
        return <Py_ssize_t>1 << (type_code - <int>UINT8)
    if type_code == FLOAT16 or type_code == BFLOAT16:
        return 2
    return (4 if type_code == FLOAT32 else 8 if type_code == FLOAT64 or type_code == COMPLEX64
            else 16 if type_code == COMPLEX128 else 0)


cdef inline bint write_element(cnp.ndarray like, value, char* element):
    """Write a Python scalar as an element of like's dtype, of at most MAX_ELEMENT_BYTES.

    False: the dtype or the value needs a plan (values.element), which also knows the values that do not fit.
    """
    cdef int type_code = type_code_of(like.descr)
    cdef int overflow = 0, bits
    cdef long long integer
    cdef double number
    cdef float single
    if cnp.PyArray_ITEMSIZE(like) > MAX_ELEMENT_BYTES or cnp.PyArray_ISBYTESWAPPED(like):
        return False
    memset(element, 0, MAX_ELEMENT_BYTES)
    if type(value) is float:
        number = value
    elif type(value) is int:
        integer = PyLong_AsLongLongAndOverflow(value, &overflow)
        if overflow:
            return False
        if integer == 0:  # the zero of any dtype
            return True
        if INT8 <= type_code <= INT64:
            bits = 8 << (type_code - <int>INT8)
            if integer >> (bits - 1) != (-1 if integer < 0 else 0):
                return False
        elif UINT8 <= type_code <= UINT64:
            bits = 8 << (type_code - <int>UINT8)
            if integer < 0 or (bits < 64 and integer >> bits):
                return False
        if INT8 <= type_code <= UINT64:
            memcpy(element, <char*>&integer + (0 if is_little_endian else 8 - bits // 8), bits // 8)
            return True
        number = <double>integer
    else:
        return False
    if type_code == FLOAT64:
        memcpy(element, &number, 8)
        return True
    if type_code == FLOAT32:
        single = <float>number
        memcpy(element, &single, 4)
        return not (isinf(single) and not isinf(number))
    return False


cdef inline cnp.ndarray repeated(cnp.ndarray like, char* element, int n_dims, const Py_ssize_t* shape):
    """An array of that shape in which each element is the one at `element`, which it does not own. None: too large."""
    cdef Py_ssize_t strides[2 * MAX_DIMS]
    cdef cnp.dtype dtype = like.descr
    cdef double size = dtype.itemsize
    cdef int d
    for d in range(n_dims):
        size *= max(shape[d], <Py_ssize_t>1)
    if size >= <double>((<int64_t>1) << 62):
        return None
    memset(strides, 0, sizeof(strides))
    Py_INCREF(dtype)
    return PyArray_NewFromDescr(<PyTypeObject*>cnp.ndarray, dtype, n_dims, shape, strides, element, 0, NULL)


cdef inline cnp.ndarray usable_out(out, cnp.ndarray like, int n_dims, const Py_ssize_t* shape):
    """out, if it is a writable contiguous array of that shape and like's dtype; else None."""
    cdef cnp.ndarray array
    if type(out) is not cnp.ndarray:
        return None
    array = out
    if (not cnp.PyArray_ISWRITEABLE(array) or not cnp.PyArray_IS_C_CONTIGUOUS(array)
            or not has_shape(array, n_dims, shape) or not same_dtype(array, like)
            or PyDataType_REFCHK(array.descr)):
        return None
    return array


cdef inline bint has_distinct_elements(cnp.ndarray array) noexcept:
    """Whether no two elements share memory: True is certain, False is not."""
    cdef int n_dims = cnp.PyArray_NDIM(array), d, e
    cdef Py_ssize_t stride, other, reach
    for d in range(n_dims):
        if cnp.PyArray_DIM(array, d) <= 1:
            continue
        stride = abs_stride(cnp.PyArray_STRIDE(array, d))
        reach = cnp.PyArray_ITEMSIZE(array)  # that the axes with smaller strides span
        for e in range(n_dims):
            other = abs_stride(cnp.PyArray_STRIDE(array, e))
            if e != d and cnp.PyArray_DIM(array, e) > 1 and other <= stride:
                reach += other * (cnp.PyArray_DIM(array, e) - 1)
        if stride < reach:
            return False
    return True


cdef inline bint is_writable_in_place(cnp.ndarray array) noexcept:
    return (cnp.PyArray_ISWRITEABLE(array) and not PyDataType_REFCHK(array.descr)
            and (cnp.PyArray_IS_C_CONTIGUOUS(array) or has_distinct_elements(array)))


cdef inline bint find_extent(cnp.ndarray array, const char** low, const char** high) noexcept:
    """False: the array is empty."""
    cdef int d
    cdef Py_ssize_t reach
    low[0] = cnp.PyArray_BYTES(array)
    high[0] = low[0] + cnp.PyArray_ITEMSIZE(array)
    for d in range(cnp.PyArray_NDIM(array)):
        reach = (cnp.PyArray_DIM(array, d) - 1) * cnp.PyArray_STRIDE(array, d)
        if cnp.PyArray_DIM(array, d) == 0:
            return False
        if reach > 0:
            high[0] += reach
        else:
            low[0] += reach
    return True


cdef inline bint overlap(cnp.ndarray a, cnp.ndarray b) noexcept:
    """Whether the memory extents of two arrays overlap: False is certain, True is not."""
    cdef const char* low
    cdef const char* high
    cdef const char* other_low
    cdef const char* other_high
    return (find_extent(a, &low, &high) and find_extent(b, &other_low, &other_high)
            and low < other_high and other_low < high)


cdef inline bint overlaps_indices(cnp.ndarray a, cnp.ndarray indices, tuple arrays) noexcept:
    """As overlap, with the indices: one array, or those of kind ARRAYS."""
    cdef Py_ssize_t j
    if arrays is not None:
        for j in range(1, PyTuple_GET_SIZE(arrays)):
            if overlap(a, get_array(arrays, j)):
                return True
    return overlap(a, indices)
