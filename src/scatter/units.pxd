# UNITS: the leading axes that indices and data share cut the result into units. A thread owns whole units.
from cpython.mem cimport PyMem_RawFree as free, PyMem_RawMalloc as malloc  # so that tracemalloc sees it
from cython.parallel cimport prange, threadid
from libc.string cimport memset
cimport numpy as cnp

from common.codes cimport ELEMENTS, INTERRUPTED, ND, OK, Kind
from common.interrupts cimport is_interrupted
from common.items cimport CACHE_LINE, at_line, whole_lines
from common.stream cimport STREAM_ROW, can_stream_units, stream_bytes, stream_fence
from common.threads cimport MAX_TASKS, first_error, n_tasks_for
from scatter.accumulate cimport elements_of_data, needs_scratch, start_elements
from scatter.cells cimport can_use_cells, cell_bytes, reduce_in_cells
from scatter.divide cimport divide_means, divide_steps
from scatter.job cimport (
    SCRATCH_BYTES, Job, apply_and_count, begin_writing, copy_bytes, copy_data, fill_bytes, repeated_element,
    take_element,
)
from scatter.late_marks cimport accumulate_elements
from scatter.marks cimport Marks, allocate_marks, free_marks

cdef enum:
    SCRATCH_UNIT = 1 << 15      # bytes of the largest unit for a scratch buffer in L1

cdef struct Units:
    const Job* job
    Py_ssize_t n_units
    Py_ssize_t unit_tuples
    Py_ssize_t unit_bytes       # 0: units are not contiguous in the result
    Py_ssize_t unit_rows
    Py_ssize_t units_per_task
    bint accumulates
    const char* element         # which stands for all of data, and fills each unit; else NULL
    Py_ssize_t element_bytes
    bint streams                # each unit is written with non-temporal stores
    char* scratch               # a unit in L1 for each thread; NULL: units are updated in the result
    Py_ssize_t scratch_bytes    # of a thread
    char* cells                 # of the elements of a unit for each thread (cells.pxd), or NULL
    Py_ssize_t cells_bytes      # of a thread
    Marks marks                 # those of a unit for each thread; of the whole result if unit_bytes is 0


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
            units.n_units *= cnp.PyArray_DIM(indices, d) if kind == ND or kind == ELEMENTS else cnp.PyArray_DIM(out, d)
            if kind == ELEMENTS and cnp.PyArray_DIM(indices, d) != cnp.PyArray_DIM(out, d):
                aligned = False
    units.unit_tuples = job.walk.n // max(units.n_units, <Py_ssize_t>1)
    if not aligned or not job.is_contiguous:
        units.unit_bytes = 0
    units.unit_rows = units.unit_bytes // max(job.row_bytes, <Py_ssize_t>1)


cdef inline void run_unit(const Units* units, Marks* marks, char* cells, Py_ssize_t unit, char* sums, char* unit_out,
                          Py_ssize_t* status) noexcept nogil:
    """Copy a unit of data, if it is not in place, and update it at sums; the result is written to unit_out."""
    cdef const Job* job = units.job
    cdef Py_ssize_t start = unit * units.unit_bytes
    cdef const char* data = elements_of_data(job) + start
    # Offsets are relative to the start of the result, so pass the address where it would be.
    cdef char* out = <char*>(<size_t>sums - <size_t>start)
    if is_interrupted(job.interrupts, units.unit_bytes >> 2):
        status[0] = INTERRUPTED
        return
    if marks.width and units.unit_bytes:
        marks.origin = start
        if cells == NULL:  # which set them
            memset(marks.table, 0, units.unit_rows * marks.width)
    if units.accumulates:
        if cells != NULL:
            reduce_in_cells(job, marks, cells, sums, start, units.unit_rows, unit_out, data,
                            unit * units.unit_tuples, (unit + 1) * units.unit_tuples, status)
            return
        start_elements(job, sums, data, units.unit_rows)
        accumulate_elements(job, marks, sums, start, units.unit_rows, unit_out, data, unit * units.unit_tuples,
                            (unit + 1) * units.unit_tuples, status)
        return
    if units.element != NULL:
        fill_bytes(job, units.element_bytes, units.element, sums, units.unit_bytes)
    elif job.data != NULL and units.unit_bytes:
        copy_bytes(job, sums, data, units.unit_bytes)
    apply_and_count(job, marks, out, unit * units.unit_tuples, (unit + 1) * units.unit_tuples, status)
    if status[0] == OK and job.divides and units.unit_bytes:
        divide_steps(job, &job.step, marks, unit_out, units.unit_rows)


cdef inline void run_scratch_units(const Units* units, Marks* marks, char* cells, Py_ssize_t unit, Py_ssize_t stop,
                                   char* scratch, Py_ssize_t* status) noexcept nogil:
    """Update each unit in a scratch buffer; write large results with non-temporal stores."""
    cdef char* unit_out
    while unit < stop and status[0] == OK:
        unit_out = units.job.out + unit * units.unit_bytes
        if units.streams:
            run_unit(units, marks, cells, unit, scratch, scratch, status)
            stream_bytes(unit_out, scratch, units.unit_bytes, False)
        else:
            run_unit(units, marks, cells, unit, scratch, unit_out, status)
        unit += 1
    stream_fence()


cdef inline Py_ssize_t run_units_task(const Units* units, Py_ssize_t task, int thread) noexcept nogil:
    """Returns OK, or the status of the first unit with another. Statuses of tasks share cache lines, so that a thread
    writes its own once.
    """
    cdef const Job* job = units.job
    cdef Marks marks = units.marks
    cdef Py_ssize_t unit = task * units.units_per_task
    cdef Py_ssize_t stop = min(unit + units.units_per_task, units.n_units)
    cdef Py_ssize_t status = OK
    cdef char* out
    cdef char* cells = units.cells + thread * units.cells_bytes if units.cells != NULL else NULL
    if marks.width and units.unit_bytes:
        marks.table += thread * units.unit_rows * marks.width
    if units.scratch != NULL:
        run_scratch_units(units, &marks, cells, unit, stop, units.scratch + thread * units.scratch_bytes, &status)
        return status
    while unit < stop and status == OK:
        out = job.out + unit * units.unit_bytes
        run_unit(units, &marks, cells, unit, out, out, &status)
        unit += 1
    return status


cdef inline bint run_units(Units* units, Job* job, Py_ssize_t* bad) noexcept:
    """False: there is no memory, and nothing was written."""
    cdef Py_ssize_t status[MAX_TASKS]
    cdef Py_ssize_t task, n_tasks = n_tasks_for(job.n_threads)
    cdef int n_threads
    cdef char* memory
    cdef char* cells
    units.units_per_task = (units.n_units + n_tasks - 1) // n_tasks
    n_tasks = (units.n_units + units.units_per_task - 1) // units.units_per_task
    n_threads = <int>min(<Py_ssize_t>job.n_threads, n_tasks)
    units.accumulates = (job.accumulates and units.unit_bytes
                         and (not needs_scratch(job) or units.unit_bytes <= SCRATCH_UNIT))
    units.element = repeated_element(job) if units.unit_bytes and not units.accumulates else NULL
    units.streams = ((job.data != NULL or units.element != NULL) and STREAM_ROW <= units.unit_bytes <= SCRATCH_UNIT
                     and job.streams and can_stream_units())
    units.marks = job.marks
    units.marks.assigns = not job.include_self and not units.accumulates
    if job.marks.width and not allocate_marks(&units.marks, job.n_threads * units.unit_rows if units.unit_bytes
                                              else job.n_rows):
        return False
    memory = units.scratch = units.cells = cells = NULL
    units.cells_bytes = whole_lines(units.unit_rows * cell_bytes(job)) + CACHE_LINE
    if (units.accumulates and can_use_cells(job, &units.marks)
            and job.n_threads * units.cells_bytes <= SCRATCH_BYTES):
        units.cells = cells = <char*>malloc(job.n_threads * units.cells_bytes)
    if units.streams or (units.accumulates and needs_scratch(job)):
        units.scratch_bytes = whole_lines(units.unit_bytes)
        memory = <char*>malloc(job.n_threads * units.scratch_bytes + CACHE_LINE)
        if memory == NULL:
            free(cells)
            free_marks(&units.marks)
            return False
        units.scratch = at_line(memory)
    if units.element != NULL:
        units.element_bytes = take_element(job)
    bad[0] = begin_writing(job, job.checks_first)
    if bad[0] == OK:
        if units.unit_bytes == 0:
            copy_data(job)
        if n_threads == 1:
            with nogil:
                for task in range(n_tasks):
                    status[task] = run_units_task(units, task, 0)
        else:
            for task in prange(n_tasks, num_threads=n_threads, schedule="dynamic", chunksize=1, nogil=True):
                status[task] = run_units_task(units, task, threadid())
        bad[0] = first_error(status, n_tasks)
        if bad[0] == OK and units.unit_bytes == 0:
            divide_means(job, &units.marks)
    free_marks(&units.marks)
    free(cells)
    free(memory)
    return True
