# UNITS and PIECES: a thread has a part of the result that is known before any index is, and applies what falls into it.
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from apply cimport Step
from items cimport LINE
from resolve cimport OK
from rows cimport cut_row
from scatter_job cimport Job, apply_tuples
from stream cimport STREAM_ROW, stream_rows, streamed

cdef enum:
    NEAR_UNIT = 1 << 15         # bytes of a unit that L1 holds


cdef inline void run_units(const Job* job, Py_ssize_t task, Py_ssize_t* status) noexcept nogil:
    cdef Py_ssize_t unit = task * job.units_per_task
    cdef Py_ssize_t stop = min(unit + job.units_per_task, job.n_units)
    if job.data != NULL and STREAM_ROW <= job.unit_bytes <= NEAR_UNIT and job.streams:
        run_near_units(job, unit, stop, status)
        return
    status[0] = OK
    while unit < stop and status[0] == OK:
        if job.data != NULL:
            memcpy(job.out + unit * job.unit_bytes, job.data + unit * job.unit_bytes, job.unit_bytes)
        apply_tuples(job, &job.step, job.out, job.updates, unit * job.unit_tuples, (unit + 1) * job.unit_tuples, status)
        unit += 1


cdef inline void run_near_units(const Job* job, Py_ssize_t unit, Py_ssize_t stop, Py_ssize_t* status) noexcept nogil:
    """Units that are made beside the result, in L1, and then go there past the caches."""
    cdef char room[NEAR_UNIT + LINE]
    cdef char* near = <char*>((<size_t>room + LINE - 1) & ~<size_t>(LINE - 1))
    cdef int64_t none = 0
    status[0] = OK
    while unit < stop and status[0] == OK:
        memcpy(near, job.data + unit * job.unit_bytes, job.unit_bytes)
        # Offsets count from the result's start.
        apply_tuples(job, &job.step, <char*>(<size_t>near - <size_t>(unit * job.unit_bytes)), job.updates,
                     unit * job.unit_tuples, (unit + 1) * job.unit_tuples, status)
        stream_rows(job.out + unit * job.unit_bytes, 0, near, &none, 1, job.unit_bytes)
        unit += 1
    streamed()


cdef inline void run_piece(const Job* job, Py_ssize_t task, Py_ssize_t* status) noexcept nogil:
    cdef Step step
    cdef Py_ssize_t out_shift = 0, updates_shift = 0
    cdef Py_ssize_t unit = task * job.row_units_per_task
    step.reduction = job.step.reduction
    step.number = job.step.number
    step.swapped = job.step.swapped
    cut_row(&job.step.row, unit, min(unit + job.row_units_per_task, job.row_units), &step.row, &out_shift,
            &updates_shift)
    apply_tuples(job, &step, job.out + out_shift, job.updates + updates_shift, 0, job.walk.n, status)
