# cython: language_level=3, freethreading_compatible=True, boundscheck=False, wraparound=False
"""Small calls on PyTorch's CPU tensors: as NumPy arrays on the same memory, by DLPack's C exchange API.

`Tensor.numpy` and `torch.from_numpy` would take longer than the kernel. The API describes a tensor without a Python
object, and without a reference to the tensor, which thus lives as long as the caller's argument. It says nothing about
the storage, which `UntypedStorage.resize_` may have cut off, nor about lazy negation and conjugation: PyTorch's methods
tell these. The methods are called as C functions, which takes half the time of a call through Python.

With a PyTorch that lacks the API, the methods make the arrays.

The structs are those of DLPack 1.3: https://github.com/dmlc/dlpack, include/dlpack/dlpack.h.
"""
from cpython.exc cimport PyErr_Clear
from cpython.object cimport PyObject, PyTypeObject
from cpython.pycapsule cimport PyCapsule_GetPointer
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
cimport numpy as cnp

from common.codes cimport AXIS, N_CODES, ND, RAISE, Kind
from common.calls cimport Call, describe_call, mode_of
from common.items cimport MAX_ELEMENT_BYTES
from common.walk cimport MAX_DIMS

from gatherscatter._kernels.gather import try_gather as _try_gather
from gatherscatter._kernels.scatter import try_scatter as _try_scatter

cnp.import_array()

cdef extern from "Python.h":
    bint Py_IsInitialized() nogil

cdef extern from *:
    """
    /* The C function of a method without arguments; NULL for anything else. */
    static PyCFunction gs_method(PyObject* type, const char* name) {
        PyCFunction function = NULL;
        PyObject* method = PyObject_GetAttrString(type, name);
        if (method == NULL) PyErr_Clear();
        else if (Py_TYPE(method) == &PyMethodDescr_Type) {
            PyMethodDef* def = ((PyMethodDescrObject*)method)->d_method;
            if (def->ml_flags == METH_NOARGS) function = def->ml_meth;
        }
        Py_XDECREF(method);
        return function;
    }
    /* The getter of an attribute that needs no closure. */
    static getter gs_getter(PyObject* type, const char* name) {
        getter function = NULL;
        PyObject* attribute = PyObject_GetAttrString(type, name);
        if (attribute == NULL) PyErr_Clear();
        else if (Py_TYPE(attribute) == &PyGetSetDescr_Type) {
            PyGetSetDef* def = ((PyGetSetDescrObject*)attribute)->d_getset;
            if (def->closure == NULL) function = def->get;
        }
        Py_XDECREF(attribute);
        return function;
    }
    """
    ctypedef object (*Method "PyCFunction")(object, PyObject*)
    ctypedef object (*Getter "getter")(object, void*)
    Method method_of "gs_method"(object kind, const char* name)
    Getter getter_of "gs_getter"(object kind, const char* name)

cdef extern from "numpy/arrayobject.h":
    cnp.ndarray PyArray_NewFromDescr(PyTypeObject* subtype, cnp.dtype descr, int nd, const Py_ssize_t* dims,
                                     const Py_ssize_t* strides, void* data, int flags, PyObject* like)

cdef enum DLPack:
    MAJOR = 1    # version of the structs below
    CPU = 1      # a type of device
    COMPLEX = 5  # a code of dtypes

cdef enum:
    ROWS_BYTES = 1 << 15  # of a result that PyTorch's own operators make sooner

cdef struct DLTensor:
    char* data
    int32_t device_type
    int32_t device_id
    int32_t n_dims
    uint8_t code
    uint8_t bits
    uint16_t lanes
    int64_t* shape
    int64_t* strides  # in elements
    uint64_t byte_offset

cdef struct Managed:
    uint32_t major
    uint32_t minor
    void* context
    void (*delete)(Managed*) noexcept nogil
    uint64_t flags
    DLTensor tensor

cdef struct Exchange:
    uint32_t major
    uint32_t minor
    Exchange* older
    void* allocate
    void* managed_of
    int (*object_of)(Managed*, PyObject**) noexcept  # -1: a Python error is set
    int (*describe)(PyObject*, DLTensor*) noexcept   # -1: a Python error is set
    void* stream

cdef Exchange* exchange = NULL  # NULL: this PyTorch lacks it
cdef PyObject* dtypes[N_CODES][MAX_ELEMENT_BYTES + 1]  # by a dtype's code and bytes; owned
cdef dict torch_dtypes = {}  # by the NumPy dtype
cdef Method is_neg, is_conj, storage_offset, untyped_storage, storage_bytes
cdef Getter requires_grad = NULL, torch_dtype
cdef object Tensor = None, Parameter = None, Storage = None
cdef object by_numpy = None, tensor_by_numpy = None
cdef object n_modes = None, has_transform = None, is_tracing = None, forward_ad = None
cdef object recorded_gather = None, recorded_scatter = None, embedding = None
cdef object grad_is_enabled = None, inference_mode_is_enabled = None, increment_version = None


def set_up(tensor not None, parameter not None, **functions):
    """Set what small calls need of PyTorch: its classes, and the objects of the names above."""
    global Tensor, Parameter, requires_grad, by_numpy, tensor_by_numpy, n_modes, has_transform, is_tracing, forward_ad
    global embedding, grad_is_enabled, inference_mode_is_enabled, increment_version
    Tensor, Parameter, requires_grad = tensor, parameter, getter_of(tensor, "requires_grad")
    by_numpy, tensor_by_numpy = functions["by_numpy"], functions["tensor_by_numpy"]
    n_modes, has_transform, is_tracing = functions["watchers"]
    forward_ad = functions["forward_ad"]
    embedding = functions["embedding"]
    grad_is_enabled = functions["grad_is_enabled"]
    inference_mode_is_enabled = functions["inference_mode_is_enabled"]
    increment_version = functions["increment_version"]


def record_by(gather, scatter):
    """Set the functions of calls with a gradient: see backends/torch/small_forward.py."""
    global recorded_gather, recorded_scatter
    recorded_gather, recorded_scatter = gather, scatter


def load(capsule, tensor not None, storage not None, list samples not None):
    """Load the API of a capsule. False: there is none (None), or this version of PyTorch has something else.

    samples: (an empty tensor, its NumPy dtype), …
    """
    global exchange, is_neg, is_conj, storage_offset, untyped_storage, storage_bytes, torch_dtype, Storage
    cdef DLTensor view
    cdef Exchange* found = NULL
    exchange = NULL
    if capsule is not None:
        found = <Exchange*>PyCapsule_GetPointer(capsule, "dlpack_exchange_api")
    while found != NULL and found.major > MAJOR:
        found = found.older
    if found == NULL or found.major != MAJOR or found.describe == NULL or found.object_of == NULL:
        return False
    is_neg, is_conj = method_of(tensor, "is_neg"), method_of(tensor, "is_conj")
    storage_offset, untyped_storage = method_of(tensor, "storage_offset"), method_of(tensor, "untyped_storage")
    storage_bytes, torch_dtype = method_of(storage, "nbytes"), getter_of(tensor, "dtype")
    if (is_neg == NULL or is_conj == NULL or storage_offset == NULL or untyped_storage == NULL
            or storage_bytes == NULL or torch_dtype == NULL):
        return False
    for sample, dtype in samples:
        if found.describe(<PyObject*>sample, &view) != 0:
            PyErr_Clear()  # a dtype that DLPack lacks
        elif view.code < N_CODES and view.bits == 8 * dtype.itemsize and dtype.itemsize <= MAX_ELEMENT_BYTES:
            Py_INCREF(dtype)
            dtypes[view.code][dtype.itemsize] = <PyObject*>dtype
            torch_dtypes[dtype] = sample.dtype
    exchange, Storage = found, storage
    return True


cdef inline bint is_plain(value) noexcept:
    return type(value) is Tensor or type(value) is Parameter


cdef inline bint is_watched() except -1:
    """Whether something other than reverse mode has to record the call: see memory.is_watched."""
    return n_modes() or has_transform() or is_tracing() or forward_ad._current_level >= 0


cdef inline bint needs_gradient(tensor):
    return (tensor.requires_grad if requires_grad == NULL else requires_grad(tensor, NULL)) and grad_is_enabled()


cdef inline bint can_write(out):
    return not out.is_inference() or inference_mode_is_enabled()


cdef inline cnp.ndarray array_of(tensor):
    """An array on a tensor's memory. None: it is not on the CPU, lazy, cut off, or of a kind or dtype NumPy lacks.

    The array does not keep the tensor alive: what leaves this module needs it as its base.
    """
    cdef DLTensor view
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Py_ssize_t strides[MAX_DIMS]
    cdef cnp.dtype dtype
    cdef Py_ssize_t n_bytes, last = 0
    cdef bint is_empty = False
    cdef int d
    if exchange == NULL:
        return by_numpy(tensor)
    if exchange.describe(<PyObject*>tensor, &view) != 0:
        PyErr_Clear()  # no strides, no memory, or a wrapper of torch.func
        return None
    if (view.device_type != CPU or view.lanes != 1 or view.n_dims > MAX_DIMS or view.code >= N_CODES
            or view.bits % 8 != 0 or view.bits > 8 * MAX_ELEMENT_BYTES or dtypes[view.code][view.bits // 8] == NULL):
        return None
    n_bytes = view.bits // 8
    dtype = <cnp.dtype>dtypes[view.code][n_bytes]
    # DLPack describes PyTorch's integers of 1 to 7 bits as those of 8.
    if n_bytes == 1 and torch_dtype(tensor, NULL) is not torch_dtypes[dtype]:
        return None
    for d in range(view.n_dims):
        shape[d] = <Py_ssize_t>view.shape[d]
        strides[d] = <Py_ssize_t>view.strides[d] * n_bytes
        last += (shape[d] - 1) * strides[d]
        is_empty |= shape[d] == 0
    if not is_empty:
        if view.data == NULL or is_neg(tensor, NULL) or (view.code == COMPLEX and is_conj(tensor, NULL)):
            return None
        kept = untyped_storage(tensor, NULL)
        if type(kept) is not Storage:  # of a mode of __torch_function__; the C function would not check it
            return None
        if ((<Py_ssize_t>storage_offset(tensor, NULL) + 1) * n_bytes + last
                > <Py_ssize_t>storage_bytes(kept, NULL)):
            return None
    Py_INCREF(dtype)  # PyArray_NewFromDescr steals a reference
    try:
        return PyArray_NewFromDescr(<PyTypeObject*>cnp.ndarray, dtype, view.n_dims, shape, strides,
                                    NULL if is_empty else view.data + view.byte_offset, cnp.NPY_ARRAY_WRITEABLE, NULL)
    except ValueError:  # more bytes or axes than NumPy has
        return None


cdef inline own(cnp.ndarray array, tensor):
    """Let an array keep the tensor alive whose memory it has."""
    if exchange != NULL:
        cnp.set_array_base(array, tensor)


def arrays(data, indices, updates):
    """(data, indices, updates) as arrays on the same memory; what is no tensor, as it is. None: see array_of."""
    cdef cnp.ndarray source, index
    if not is_plain(data) or type(indices) is not Tensor:
        return None
    source = array_of(data)
    index = None if source is None else array_of(indices)
    if index is None:
        return None
    if is_plain(updates):
        given, updates = updates, array_of(updates)
        if updates is None:
            return None
        own(updates, given)
    own(source, data)
    own(index, indices)
    return source, index, updates


cdef void delete(Managed* managed) noexcept nogil:
    """Free what a tensor was made of, on any thread."""
    if Py_IsInitialized():
        with gil:
            Py_DECREF(<object>managed.context)
        free(managed)


cdef inline tensor_of(cnp.ndarray array, like):
    """A tensor on the memory of a new array, which has the dtype of the tensor `like`. None: no memory."""
    cdef int d, n = cnp.PyArray_NDIM(array)
    cdef Py_ssize_t n_bytes = cnp.PyArray_ITEMSIZE(array)
    cdef PyObject* made = NULL
    cdef DLTensor view
    cdef Managed* managed
    if exchange == NULL:
        return tensor_by_numpy(array)
    if exchange.describe(<PyObject*>like, &view) != 0:
        PyErr_Clear()
        return None
    managed = <Managed*>malloc(sizeof(Managed) + 2 * n * sizeof(int64_t))
    if managed == NULL:
        return None
    managed.major, managed.minor = exchange.major, exchange.minor
    managed.context = <void*>array
    managed.delete = delete
    managed.flags = 0
    managed.tensor = view  # the device and the dtype
    managed.tensor.data = cnp.PyArray_BYTES(array)
    managed.tensor.n_dims = n
    managed.tensor.byte_offset = 0
    managed.tensor.shape = <int64_t*>(managed + 1)
    managed.tensor.strides = managed.tensor.shape + n
    for d in range(n):
        managed.tensor.shape[d] = cnp.PyArray_DIM(array, d)
        managed.tensor.strides[d] = cnp.PyArray_STRIDE(array, d) // n_bytes
    Py_INCREF(array)
    if exchange.object_of(managed, &made) != 0:
        PyErr_Clear()  # whether `managed` was freed, DLPack does not say
        return None
    result = <object>made
    Py_DECREF(result)
    return result


def tensor(cnp.ndarray array not None, like not None):
    """A tensor on the memory of a new array, which has the dtype of the tensor `like`. None: no memory."""
    return tensor_of(array, like)


cdef inline delivered(cnp.ndarray result, data, out):
    if out is None:
        return tensor_of(result, data)
    increment_version((out,))
    return out


cdef inline bint fits(Call* call, int kind, cnp.ndarray data, cnp.ndarray indices, axis, batch_dims):
    """Describe a small gather whose indices, of int64, are in bounds and not negative. False: it is another call."""
    cdef Py_ssize_t n = cnp.PyArray_SIZE(indices), n_bytes = cnp.PyArray_ITEMSIZE(data), k, i
    cdef const int64_t* numbers
    cdef int d
    if (cnp.PyArray_TYPE(indices) != cnp.NPY_INT64 or n > ROWS_BYTES
            or not describe_call(call, <Kind>kind, data, indices, None, axis, batch_dims)):
        return False
    for d in range(call.n_dims):
        if call.shape[d] > ROWS_BYTES:
            return False
        n_bytes *= call.shape[d]
        if n_bytes > ROWS_BYTES:
            return False
    if not cnp.PyArray_ISCARRAY_RO(indices):
        indices = cnp.PyArray_GETCONTIGUOUS(indices)
    numbers = <const int64_t*>cnp.PyArray_DATA(indices)
    k = cnp.PyArray_DIM(indices, cnp.PyArray_NDIM(indices) - 1) if kind == ND else 1
    for i in range(n):
        if not 0 <= numbers[i] < cnp.PyArray_DIM(data, call.axis + <int>(i % k)):
            return False
    return True


def fitting_shape(int kind, cnp.ndarray data not None, cnp.ndarray indices not None, axis, batch_dims):
    """The shape of a small gather's result, if the indices, of int64, are in bounds and not negative; else None."""
    cdef Call call
    if not fits(&call, kind, data, indices, axis, batch_dims):
        return None
    return cnp.PyArray_IntTupleFromIntp(call.n_dims, <cnp.npy_intp*>call.shape)  # no list comprehension: see new_array


cdef inline bint is_embedding(cnp.ndarray data, cnp.ndarray indices, axis, batch_dims, mode):
    """Whether `recorded_gather` calls torch.embedding for a gather of kind AXIS. A shorter way for the commonest case.
    """
    cdef Call call
    return (cnp.PyArray_NDIM(data) == 2 and cnp.PyArray_NDIM(indices) == 1 and cnp.PyArray_SIZE(indices) > 0
            and cnp.PyArray_TYPE(data) in (cnp.NPY_FLOAT32, cnp.NPY_FLOAT64) and mode_of(mode, "fill") == RAISE
            and fits(&call, AXIS, data, indices, axis, batch_dims) and call.axis == 0)


def try_gather(int kind, wrap_negative, data, indices, axis, batch_dims, mode, fill_value, out, int n_threads, op=None):
    """A gather of tensors, as gather.try_gather does it for arrays, with a gradient if one is wanted.

    Who takes a small call is decided here, in this order: a plan takes it if something other than reverse mode has to
    record it, or if the kernels cannot read a tensor or write `out`. With a gradient, torch.embedding or
    `recorded_gather` takes it. The kernel's fast path takes the others. What they decline has a plan.
    """
    cdef cnp.ndarray source, index, target = None
    cdef bint records
    if not is_plain(data) or type(indices) is not Tensor or is_watched():
        return None
    records = needs_gradient(data)
    if out is not None and (records or not is_plain(out) or needs_gradient(out) or not can_write(out)):
        return None
    source = array_of(data)
    index = None if source is None else array_of(indices)
    if index is None:
        return None
    if records:
        if kind == AXIS and is_embedding(source, index, axis, batch_dims, mode):
            return embedding(data, indices)
        own(source, data)
        own(index, indices)
        return recorded_gather(kind, wrap_negative, data, indices, axis, batch_dims, mode, fill_value, source, index,
                               op)
    if out is not None:
        target = source if out is data else array_of(out)
        if target is None:
            return None
    target = _try_gather(kind, wrap_negative, source, index, axis, batch_dims, mode, fill_value, target, n_threads, op)
    return None if target is None else delivered(target, data, out)


def try_scatter(int kind, wrap_negative, data, indices, updates, axis, batch_dims, reduction, mode, include_self,
                out, int n_threads, op=None):
    """A scatter of tensors, as scatter.try_scatter does it for arrays: see try_gather."""
    cdef cnp.ndarray source, index, target = None
    cdef bint is_tensor = is_plain(updates), records
    if not is_plain(data) or type(indices) is not Tensor or is_watched():
        return None
    records = needs_gradient(data) or (is_tensor and needs_gradient(updates))
    if records and not is_tensor:  # the gradient of a scalar needs it as a tensor
        return None
    if out is not None and (records or not is_plain(out) or (out is not data and needs_gradient(out))
                            or not can_write(out)):
        return None
    source = array_of(data)
    index = None if source is None else array_of(indices)
    if index is None:
        return None
    update = array_of(updates) if is_tensor else updates
    if is_tensor and update is None:
        return None
    if records:
        own(source, data)
        own(index, indices)
        own(update, updates)
        return recorded_scatter(kind, wrap_negative, data, indices, updates, axis, batch_dims, reduction, mode,
                                include_self, source, index, update, op)
    if out is not None:
        target = source if out is data else array_of(out)
        if target is None:
            return None
    target = _try_scatter(kind, wrap_negative, source, index, update, axis, batch_dims, reduction, mode,
                          include_self, target, n_threads, op)
    return None if target is None else delivered(target, data, out)
