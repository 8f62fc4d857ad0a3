# SERIAL: one thread applies all updates to a copy of data. It is for little work, for results in the caches, whose
# updates one thread reads about as fast as memory delivers them, and for every job that the other strategies cannot
# run, also if memory is short.
#
# Where destinations are accumulated from the identity (accumulate.pxd), the other threads count the updates meanwhile.
# Alone, or for few elements, a thread counts those of a mean itself, in cells (cells.pxd). Few updates are applied to
# the result itself (few_updates.pxd).
from cpython.mem cimport PyMem_RawFree as free, PyMem_RawMalloc as malloc  # so that tracemalloc sees it
from cython.parallel cimport prange

cimport numpy as cnp

from common.caches cimport cached_bytes
from common.codes cimport NO_MEMORY, OK
from common.scratch cimport MIN_SCRATCH, allocate_scratch
from common.threads cimport chunk_start
from scatter.accumulate cimport (
    accumulates_rows, elements_of_data, finish_all, needs_scratch, start_all, start_elements,
)
from scatter.cells cimport can_use_cells, cell_bytes, reduce_in_cells
from scatter.divide cimport divide_means
from scatter.few_updates cimport can_reset, divide_tuples, reset_tuples
from scatter.job cimport (
    SCRATCH_BYTES, Job, apply_and_count, apply_tuples, begin_writing, copy_data, count_tuples, is_brief, is_one_block,
)
from scatter.late_marks cimport accumulate_elements
from scatter.marks cimport Marks, add_marks, allocate_marks, allocate_slots, allocate_unset_marks, free_marks

cdef enum:
    # Rows for each update. With more than this,
    MOST_ROWS_PER_UPDATE = 64   # counts are in a hash table
    FEW_COUNTED = 32            # there are few updates: of elements, for a mean
    FEW_ELEMENTS = 8            # the same with include_self=False
    MOST_CELLS = 1 << 16    # bytes of elements: from more, it is faster if a second thread counts


cdef inline void run_part(const Job* job, const Marks* marks, char* sums, int task, int n_tables,
                          Py_ssize_t* status) noexcept nogil:
    """Task 0 applies all updates; the others count a chunk of them in a table of their own."""
    cdef Marks some = marks[0]
    if task == 0:
        apply_tuples(job, &job.step, NULL, sums, job.updates, 0, job.walk.n, status)
        return
    some.table += (task - 1) * job.n_rows * marks.width
    count_tuples(job, &some, chunk_start(job.walk.n, n_tables, task - 1), chunk_start(job.walk.n, n_tables, task))


cdef inline Py_ssize_t run_accumulated(Job* job, Marks* marks, char* sums, char* cells) noexcept:
    """Apply all updates on one thread; on more threads, the others count meanwhile. cells: see cells.pxd, or NULL."""
    cdef Py_ssize_t status = OK
    cdef Marks more = marks[0]
    cdef int task, n_tasks = job.n_threads
    if n_tasks == 1:
        with nogil:
            if cells != NULL:
                reduce_in_cells(job, marks, cells, sums, 0, job.n_rows, job.out, elements_of_data(job), 0, job.walk.n,
                                &status)
                return status
            start_elements(job, sums, elements_of_data(job), job.n_rows)
            accumulate_elements(job, marks, sums, 0, job.n_rows, job.out, elements_of_data(job), 0, job.walk.n, &status)
        return status
    start_all(job, sums)
    for task in prange(n_tasks, num_threads=n_tasks, schedule="static", nogil=True):
        run_part(job, marks, sums, task, n_tasks - 1, &status)
    for task in range(1, n_tasks - 1):
        more.table = marks.table + task * job.n_rows * marks.width
        add_marks(marks, &more, job.n_rows)
    if status == OK:
        finish_all(job, marks, sums)
    return status


cdef inline bint has_cells(const Job* job, const Marks* marks) noexcept nogil:
    """Whether accumulators are cells. With include_self=False, a second pass is faster if these take too much cache."""
    cdef Py_ssize_t most = SCRATCH_BYTES
    if not job.divides:
        most = cached_bytes() // 3 * 2 if job.step.by_value else cached_bytes()
    return (can_use_cells(job, marks) and (job.n_threads == 1 or job.out_bytes <= MOST_CELLS)
            and job.n_rows * cell_bytes(job) <= most)


cdef inline bint has_few_updates(const Job* job) noexcept nogil:
    """Whether passes over the updates are faster than passes over the result."""
    if not job.is_contiguous:
        return True
    if job.step.by_value:
        return job.walk.n < job.n_rows // (FEW_COUNTED if job.divides else FEW_ELEMENTS)
    # For means with include_self=True, other threads can count while one passes over the result.
    return job.walk.n < job.n_rows // 4 * (1 if job.divides and job.include_self and job.n_threads > 1 else 3)


cdef inline Py_ssize_t apply_all(const Job* job, const Marks* marks, bint resets, bint divides) noexcept nogil:
    """Apply all updates to the result itself. resets, divides: its destinations, before and afterwards."""
    cdef Py_ssize_t status = reset_tuples(job) if resets else OK
    if status == OK:
        apply_and_count(job, marks, job.out, 0, job.walk.n, &status)
    if status == OK and divides:
        divide_tuples(job, marks)
    return status


cdef inline Py_ssize_t run_serial(Job* job) noexcept:
    cdef Py_ssize_t status = OK
    cdef Marks marks = job.marks
    cdef bint by_row = job.is_contiguous and job.walk.n >= job.n_rows // MOST_ROWS_PER_UPDATE
    cdef bint accumulates = not has_few_updates(job) and (accumulates_rows(job) or (
        job.accumulates and (not needs_scratch(job) or job.out_bytes <= SCRATCH_BYTES)))
    cdef bint resets = not accumulates and can_reset(job)
    cdef bint divides = not accumulates and job.divides and by_row and has_few_updates(job)
    cdef bint brief, in_cells
    cdef char* scratch = NULL
    cdef char* cells = NULL
    cdef char* memory = NULL
    cdef cnp.ndarray large
    cdef Py_ssize_t n_tables = 1
    if marks.width:
        marks.assigns = not (job.include_self or accumulates or resets)
        if resets and not job.divides:
            marks.width = 0
        if accumulates:
            in_cells = has_cells(job, &marks)
            if in_cells and job.n_rows * cell_bytes(job) < MIN_SCRATCH:
                cells = memory = <char*>malloc(max(job.n_rows * cell_bytes(job), <Py_ssize_t>1))
            elif in_cells:
                large = allocate_scratch(job.n_rows * cell_bytes(job))
                cells = NULL if large is None else cnp.PyArray_BYTES(large)
            # All threads but one count updates, each in a table of its own.
            n_tables = min(<Py_ssize_t>job.n_threads - 1, SCRATCH_BYTES // max(job.n_rows * marks.width, <Py_ssize_t>1))
            job.n_threads = <int>n_tables + 1 if cells == NULL else 1
            n_tables = max(job.n_threads - 1, 1)
            if needs_scratch(job):
                scratch = <char*>malloc(max(job.out_bytes, <Py_ssize_t>1))
        if ((accumulates and needs_scratch(job) and scratch == NULL)
                or (cells != NULL and not allocate_unset_marks(&marks, job.n_rows))
                or (cells == NULL and marks.width and by_row and not allocate_marks(&marks, n_tables * job.n_rows))
                or (marks.width and not by_row and not allocate_slots(&marks, min(job.walk.n, job.n_rows)))):
            free(scratch)
            free(memory)
            return NO_MEMORY
    status = begin_writing(job, job.checks_first and not is_one_block(job))
    if status == OK and accumulates:
        status = run_accumulated(job, &marks, scratch if scratch != NULL else job.out, cells)
    elif status == OK:
        brief = is_brief(job)
        copy_data(job)
        if brief:
            status = apply_all(job, &marks, resets, divides)
        else:
            with nogil:
                status = apply_all(job, &marks, resets, divides)
        if status == OK and not divides:
            divide_means(job, &marks)
    free_marks(&marks)
    free(scratch)
    free(memory)
    return status
