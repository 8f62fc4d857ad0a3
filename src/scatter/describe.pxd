# cython: cdivision=True
# The description of a scatter's result, updates and accumulators (Job) from its arrays and options.
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport INT32_MAX, int32_t, uint32_t
cimport numpy as cnp

from common.codes cimport (
    ASSIGN, BOOL, COMPLEX128, ELEMENTS, ND, NONE, UINT8, UINT16, UINT32, UINT64, Kind, ReductionCode, TypeCode,
)
from common.describe cimport PY_SSIZE_T_MAX
from common.items cimport fits_register
from common.resolve cimport find_simple
from common.rows cimport describe_row, number_bytes
from common.calls cimport PyArray_NewFromDescr, width_of
from common.walk cimport DATA, add_axis, finish_walk, start_walk
from scatter.direct cimport LONG_ROW
from scatter.fill cimport repeats_element
from scatter.job cimport Job, must_write_data, update_step

cdef enum:
    ROWS_PER_UPDATE = 8         # of more, only those that have updates are opened and closed
    ELEMENTS_PER_UPDATE = 32    # the same for adjacent elements, which take less time to open and close
    SHORTEST_LAST = 32          # bytes of a row: for shorter ones, to assign all is as fast as to find the last one


cdef inline cnp.ndarray contiguous_twin(cnp.ndarray out):
    """An array of the same shape and address, with strides of a contiguous one: to number its rows, not to read it."""
    cdef cnp.dtype dtype = out.descr
    Py_INCREF(dtype)  # PyArray_NewFromDescr steals a reference
    return PyArray_NewFromDescr(<PyTypeObject*>cnp.ndarray, dtype, cnp.PyArray_NDIM(out),
                                <const Py_ssize_t*>cnp.PyArray_DIMS(out), NULL, cnp.PyArray_DATA(out), 0, NULL)


cdef inline void describe_arrays(Job* job, cnp.ndarray data, cnp.ndarray updates, cnp.ndarray out,
                                 cnp.ndarray update_rows) noexcept:
    """updates: or the source of which they are rows."""
    job.out = cnp.PyArray_BYTES(out)
    job.out_bytes = cnp.PyArray_NBYTES(out)
    job.out_array = <PyObject*>out
    job.updates = cnp.PyArray_BYTES(updates)
    job.update_rows = <const int32_t*>cnp.PyArray_DATA(update_rows) if update_rows is not None else NULL
    job.data = job.data_element = NULL
    job.strided = NULL
    if data is None:
        return
    if job.is_dense and cnp.PyArray_IS_C_CONTIGUOUS(data) and data.descr is out.descr:
        job.data = cnp.PyArray_BYTES(data)
    elif job.is_dense and repeats_element(data, out):
        job.data_element = cnp.PyArray_BYTES(data)
        job.element_bytes = cnp.PyArray_ITEMSIZE(out)
    else:
        job.strided = <PyObject*>data


cdef inline void number_rows(Job* job, cnp.ndarray out, int row_axis) noexcept:
    """Let tuples be resolved to row ids instead of byte offsets."""
    cdef int d, axis
    job.row_bytes = cnp.PyArray_ITEMSIZE(out)
    for axis in range(row_axis, cnp.PyArray_NDIM(out)):
        job.row_bytes *= cnp.PyArray_DIM(out, axis)
    job.n_rows = job.out_bytes // job.row_bytes if job.row_bytes else 0
    if job.row_bytes <= 1:
        return
    for d in range(job.tuples.k):
        job.tuples.stride[d] //= job.row_bytes
    for d in range(job.walk.n_dims):
        job.walk.stride[d][DATA] //= job.row_bytes
    find_simple(&job.tuples)


cdef inline void describe_strided(Job* job, cnp.ndarray out, int row_axis) noexcept:
    """A result that is not contiguous: its rows, and a walk over them."""
    cdef int d
    describe_row(&job.out_row, out, row_axis, out, row_axis, PY_SSIZE_T_MAX, True)
    start_walk(&job.out_walk)
    for d in range(row_axis):
        add_axis(&job.out_walk, cnp.PyArray_DIM(out, d), 0, cnp.PyArray_STRIDE(out, d), 0)
    finish_walk(&job.out_walk)


cdef inline void describe_accumulators(Job* job, cnp.ndarray out, ReductionCode step, TypeCode type_code,
                                       TypeCode accumulate, bint include_self) noexcept:
    cdef Py_ssize_t width = job.row.item_bytes
    cdef bint moves = step == ASSIGN, converts
    job.row_items = job.row.outer.n * job.row.n_inner
    job.rows_are_elements = job.row_items == 1 and fits_register(width)
    job.include_self = include_self or moves
    job.divides = job.reduction.divides
    job.kernel.step = step
    job.kernel.mark_bytes = 0
    if job.divides:
        job.kernel.mark_bytes = 4 if job.walk.n < INT32_MAX else 8
    elif not job.include_self:
        job.kernel.mark_bytes = 1
    job.conversion.narrow_bytes = job.conversion.wide_bytes = width
    job.conversion.swapped = 0
    if moves:
        job.conversion.narrow = job.conversion.wide = NONE
        job.kernel.type_code = BOOL
        job.kernel.n_items = job.row_bytes
        if job.rows_are_elements:
            job.kernel.n_items = 1
            job.kernel.type_code = UINT32 if width == 4 else UINT64 if width == 8 else UINT8 if width == 1 else (
                UINT16 if width == 2 else COMPLEX128)
        elif job.row_bytes == 12 or job.row_bytes == 24:  # points
            job.kernel.n_items = 3
            job.kernel.type_code = UINT32 if job.row_bytes == 12 else UINT64
    else:
        job.conversion.narrow = type_code
        job.conversion.wide = accumulate if accumulate != NONE else type_code
        job.conversion.wide_bytes = width_of(job.conversion.wide)
        if cnp.PyArray_ISBYTESWAPPED(out):
            job.conversion.swapped = number_bytes(out)
        job.kernel.type_code = <TypeCode>job.conversion.wide
        job.kernel.n_items = job.row_items
    job.kernel.row_bytes = job.row_items * job.conversion.wide_bytes
    job.is_associative = moves or (job.reduction.associative >> <int>type_code & 1 and type_code != BOOL)
    converts = job.conversion.narrow != job.conversion.wide or job.conversion.swapped != 0
    job.copies_updates = converts or (not job.rows_are_elements and (job.row.outer.n > 1 or (
        job.row.n_inner > 1 and job.row.inner_other != width)))


cdef inline void choose_accumulators(Job* job) noexcept:
    """Where accumulators are, and what they start from."""
    cdef bint converts = job.conversion.narrow != job.conversion.wide or job.conversion.swapped != 0
    cdef Py_ssize_t least = ELEMENTS_PER_UPDATE if job.rows_are_elements and job.is_dense else ROWS_PER_UPDATE
    cdef bint few = 0 < job.walk.n < job.n_rows // least and job.row_bytes < LONG_ROW and job.order == NULL
    job.identity = NULL
    if not job.include_self and job.reduction.has_identity >> <int>job.kernel.type_code & 1:
        job.identity = job.reduction.identity[<int>job.kernel.type_code]
    job.by_updates = few and (job.kernel.mark_bytes != 0 or converts or not job.is_dense)
    if job.by_updates and job.identity != NULL and not job.divides:
        job.kernel.mark_bytes = 0  # rows without updates are never opened
    # In place, data are needed until the end.
    job.in_result = (job.is_dense and not converts
                     and (job.identity == NULL or must_write_data(job) or job.by_updates))
    job.by_last = (job.kernel.step == ASSIGN and not job.rows_are_elements and not job.copies_updates
                   and job.is_dense and not few
                   and job.row_bytes >= SHORTEST_LAST and job.updates_are_linear and update_step(job) > 0
                   and job.walk.n < INT32_MAX and job.update_rows == NULL and job.order == NULL
                   and job.strided == NULL)
    if job.by_last:
        job.in_result = False
        job.kernel.type_code = UINT32
        job.kernel.n_items = 1
        job.kernel.row_bytes = sizeof(uint32_t)


cdef inline void describe_units(Job* job, Kind kind, cnp.ndarray out, cnp.ndarray indices, int axis,
                                int batch_dims) noexcept:
    """A unit is a position on the leading axes that tuples and destinations share. No update crosses units."""
    cdef int leading = axis if kind != ND else batch_dims
    cdef int d
    job.n_units = 1
    for d in range(leading):
        job.n_units *= cnp.PyArray_DIM(out, d)
        if kind == ELEMENTS and cnp.PyArray_DIM(indices, d) != cnp.PyArray_DIM(out, d):
            job.n_units = 1
            break
    job.n_units = max(job.n_units, <Py_ssize_t>1)
    job.unit_tuples = job.walk.n // job.n_units
    job.unit_rows = job.n_rows // job.n_units
