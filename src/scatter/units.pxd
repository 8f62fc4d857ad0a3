# UNITS: the leading axes that indices and data share cut the result into units. A thread owns whole units.
from cython.parallel cimport prange
from libc.stdint cimport int64_t
from libc.string cimport memcpy
cimport numpy as cnp

from common.codes cimport AXIS, ELEMENTS, ND, OK, Kind
from common.items cimport CACHE_LINE
from common.stream cimport STREAM_ROW, stream_fence, stream_rows
from common.threads cimport MAX_TASKS, first_error, n_tasks_for
from scatter.job cimport Job, apply_tuples, copy_data

cdef enum:
    SCRATCH_UNIT = 1 << 15      # bytes of the largest unit for a scratch buffer in L1

cdef struct Units:
    const Job* job
    Py_ssize_t n_units
    Py_ssize_t unit_tuples
    Py_ssize_t unit_bytes       # 0: units are not contiguous in data
    Py_ssize_t units_per_task


cdef inline void describe_units(Units* units, const Job* job, Kind kind, cnp.ndarray out, cnp.ndarray indices,
                                int axis, int batch_dims) noexcept:
    """A unit is a position on the leading axes that tuples and destinations share. No update crosses units."""
    cdef int leading = axis if kind != ND else batch_dims
    cdef int d
    cdef bint aligned = True
    units.job = job
    units.n_units = 1
    units.unit_bytes = cnp.PyArray_ITEMSIZE(out)
    for d in range(cnp.PyArray_NDIM(out)):
        if d >= leading:
            units.unit_bytes *= cnp.PyArray_DIM(out, d)
        else:
            units.n_units *= cnp.PyArray_DIM(indices, d) if kind != AXIS else cnp.PyArray_DIM(out, d)
            if kind == ELEMENTS and cnp.PyArray_DIM(indices, d) != cnp.PyArray_DIM(out, d):
                aligned = False
    units.unit_tuples = job.walk.n // max(units.n_units, <Py_ssize_t>1)
    if not aligned or job.data == NULL:
        units.unit_bytes = 0


cdef inline void run_scratch_units(const Units* units, Py_ssize_t unit, Py_ssize_t stop,
                                   Py_ssize_t* status) noexcept nogil:
    """Update each unit in a scratch buffer in L1, then write it with non-temporal stores."""
    cdef const Job* job = units.job
    cdef char scratch_memory[SCRATCH_UNIT + CACHE_LINE]
    cdef char* scratch = <char*>((<size_t>scratch_memory + CACHE_LINE - 1) & ~<size_t>(CACHE_LINE - 1))
    cdef int64_t zero = 0
    status[0] = OK
    while unit < stop and status[0] == OK:
        memcpy(scratch, job.data + unit * units.unit_bytes, units.unit_bytes)
        # Offsets are relative to the start of the result, so pass the address where it would be.
        apply_tuples(job, &job.step, <char*>(<size_t>scratch - <size_t>(unit * units.unit_bytes)), job.updates,
                     unit * units.unit_tuples, (unit + 1) * units.unit_tuples, status)
        stream_rows(job.out + unit * units.unit_bytes, 0, scratch, &zero, 1, units.unit_bytes)
        unit += 1
    stream_fence()


cdef inline void run_units_task(const Units* units, Py_ssize_t task, Py_ssize_t* status) noexcept nogil:
    cdef const Job* job = units.job
    cdef Py_ssize_t unit = task * units.units_per_task
    cdef Py_ssize_t stop = min(unit + units.units_per_task, units.n_units)
    if job.data != NULL and STREAM_ROW <= units.unit_bytes <= SCRATCH_UNIT and job.streams:
        run_scratch_units(units, unit, stop, status)
        return
    status[0] = OK
    while unit < stop and status[0] == OK:
        if job.data != NULL:
            memcpy(job.out + unit * units.unit_bytes, job.data + unit * units.unit_bytes, units.unit_bytes)
        apply_tuples(job, &job.step, job.out, job.updates, unit * units.unit_tuples, (unit + 1) * units.unit_tuples,
                     status)
        unit += 1


cdef inline Py_ssize_t run_units(Units* units, Job* job) noexcept:
    cdef Py_ssize_t status[MAX_TASKS]
    cdef Py_ssize_t task, n_tasks = n_tasks_for(job.n_threads)
    units.units_per_task = (units.n_units + n_tasks - 1) // n_tasks
    n_tasks = (units.n_units + units.units_per_task - 1) // units.units_per_task
    if units.unit_bytes == 0:
        copy_data(job)
    if job.n_threads == 1:
        with nogil:
            for task in range(n_tasks):
                run_units_task(units, task, &status[task])
    else:
        for task in prange(n_tasks, num_threads=job.n_threads, schedule="dynamic", chunksize=1, nogil=True):
            run_units_task(units, task, &status[task])
    return first_error(status, n_tasks)
