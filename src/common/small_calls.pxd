# Fast path for small calls, for which a plan in Python would take longer than the kernel: the checks of a plan, and the
# shape of a gather's result or a scatter's updates.
#
# A call that breaks a rule is left to the plan, which raises the error.
cimport numpy as cnp
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF

from common.codes cimport ELEMENTS, ND, Kind
from common.walk cimport MAX_DIMS

cdef extern from "numpy/arrayobject.h":
    bint PyDataType_REFCHK(cnp.dtype dtype) nogil
    cnp.ndarray PyArray_NewFromDescr(PyTypeObject* subtype, cnp.dtype descr, int nd, const Py_ssize_t* dims,
                                     const Py_ssize_t* strides, void* data, int flags, PyObject* like)


cdef enum:
    SMALL_BYTES = 1 << 20


cdef struct SmallCall:
    int axis            # counted from the front
    int batch_dims
    int n_dims
    Py_ssize_t shape[2 * MAX_DIMS]


cdef inline void append(SmallCall* call, cnp.ndarray array, int start, int stop) noexcept:
    cdef int d
    for d in range(start, stop):
        call.shape[call.n_dims] = cnp.PyArray_DIM(array, d)
        call.n_dims += 1


cdef inline bint describe_small(SmallCall* call, Kind kind, cnp.ndarray data, cnp.ndarray indices, axis, batch_dims):
    """Describe a call and check all rules. False: a rule is broken, or the call needs a plan."""
    cdef int r = cnp.PyArray_NDIM(data), q = cnp.PyArray_NDIM(indices)
    cdef int a = 0, b, d
    cdef Py_ssize_t k

    call.n_dims = call.axis = call.batch_dims = 0
    if type(axis) is not int or type(batch_dims) is not int:
        return False
    if kind == ND:
        q -= 1
        if q < 0 or not 0 <= batch_dims <= min(q, r):
            return False
        b = batch_dims
        k = cnp.PyArray_DIM(indices, q)
        if k > r - b:
            return False
        append(call, indices, 0, q)
        append(call, data, b + <int>k, r)
    else:
        if not -r <= axis < r:
            return False
        a = axis
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
            b = batch_dims
            for d in range(b, a):
                if cnp.PyArray_DIM(data, d) == 0:  # no position, so the kernel would not check the indices
                    return False
            append(call, data, 0, a)
            append(call, indices, b, q)
            append(call, data, a + 1, r)
    for d in range(b):
        if cnp.PyArray_DIM(data, d) != cnp.PyArray_DIM(indices, d):
            return False
    call.axis = a
    call.batch_dims = b
    return call.n_dims <= MAX_DIMS


cdef inline cnp.ndarray new_array(cnp.ndarray like, int n_dims, const Py_ssize_t* shape):
    """An uninitialised array of like's dtype; None if it is large or its items own references."""
    cdef cnp.dtype dtype = like.descr
    cdef Py_ssize_t size = dtype.itemsize
    cdef int d
    for d in range(n_dims):
        size *= shape[d]
    if PyDataType_REFCHK(dtype) or size >= SMALL_BYTES:
        return None
    Py_INCREF(dtype)  # PyArray_NewFromDescr steals a reference
    return PyArray_NewFromDescr(<PyTypeObject*>cnp.ndarray, dtype, n_dims, shape, NULL, NULL, 0, NULL)


cdef inline bint is_raise(mode) noexcept:
    """Whether mode is the str "raise". The type is checked first: == of other types may raise or return an array."""
    return type(mode) is str and mode == "raise"
