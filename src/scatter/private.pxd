# PRIVATE: each thread reduces its chunk of the updates into a private copy of the result; then copies are combined.
from cpython.mem cimport PyMem_RawFree as free, PyMem_RawMalloc as malloc  # so that tracemalloc sees it
from cython.parallel cimport prange
from libc.string cimport memcpy

from common.caches cimport cached_bytes
from common.codes cimport ASSIGN, BOOL, OK
from common.rows cimport empty_row
from common.threads cimport MAX_TASKS, chunk_start, first_error
from scatter.apply cimport combine_row, finish_step
from scatter.accumulate cimport elements_of_data, finish_elements, needs_scratch, start_elements
from scatter.cells cimport (
    apply_to_cells, can_use_cells, cell_bytes, finish_cells, start_cells, start_cells_from, unpack_cells,
)
from scatter.fill cimport fill_elements
from scatter.job cimport SCRATCH_BYTES, Job, apply_and_count, begin_writing, copy_data, count_tuples, row_items
from scatter.late_marks cimport can_mark_late, finish_unmarked
from scatter.marks cimport Marks, add_marks, allocate_marks, allocate_unset_marks, free_marks
from scatter.reductions cimport Step

cdef enum:
    PRIVATE_BYTES = 1 << 20     # of a result: its copy fits L2
    MIN_PRIVATE = 4             # updates per row and thread: enough to outweigh combining the copies


cdef inline bint has_private_elements(const Job* job, Py_ssize_t low, Py_ssize_t reach) noexcept nogil:
    """Whether updates are single elements, with destinations all over the result; else the copies would be large.

    low, reach: as in partition.pxd.
    """
    return (job.step.by_value and (job.accumulates or not job.marks.width)
            and low == 0 and reach + job.step.row.item_bytes == job.out_bytes)


cdef inline bint has_private_rows(const Job* job) noexcept nogil:
    """Whether updates are contiguous rows for reduce_each."""
    return (job.step.row_loop and not job.marks.width and job.is_contiguous and job.step.row.outer.n == 1
            and job.step.row.n_inner * job.step.row.item_bytes == job.row_bytes)


cdef inline bint can_be_private(const Job* job, bint forced) noexcept nogil:
    """Whether such elements or rows are for PRIVATE; with forced: whether PRIVATE can run them."""
    cdef int type_code = job.step.type_code
    # Not for bool: a step normalises any true byte to 1, so combining would change destinations without updates.
    return (job.n_threads > 1 and job.step.reduction != ASSIGN and type_code != BOOL
            and job.reduction.associative >> type_code & 1
            and (job.reduction.idempotent or job.reduction.has_identity >> type_code & 1)
            and job.n_threads * (job.out_bytes + job.n_rows * job.marks.width) <= SCRATCH_BYTES
            and (forced or (job.out_bytes <= max(<Py_ssize_t>PRIVATE_BYTES, 3 * cached_bytes() // (8 * job.n_threads))
                            and job.walk.n // (MIN_PRIVATE * job.n_threads) >= job.n_rows)))


cdef inline void start_copy(const Job* job, char* copy) noexcept nogil:
    cdef int type_code = job.step.type_code
    if job.include_self and job.reduction.idempotent:  # applying data's elements twice changes nothing
        memcpy(copy, elements_of_data(job), job.out_bytes)
    else:
        fill_elements(job.step.row.item_bytes, job.reduction.identity[type_code], copy,
                      job.n_rows * row_items(job))


cdef inline Marks marks_of(const Job* job, const Marks* marks, Py_ssize_t chunk) noexcept nogil:
    cdef Marks some = marks[0]
    if some.width:
        some.table += chunk * job.n_rows * some.width
    return some


cdef inline void run_private_chunk(const Job* job, const Marks* marks, char* sums, char* copies, Py_ssize_t chunk,
                                   Py_ssize_t* status) noexcept nogil:
    """Apply a chunk of the updates to its copy; the first chunk is applied to sums."""
    cdef char* out = copies + (chunk - 1) * job.out_bytes if chunk else sums
    cdef Marks some = marks_of(job, marks, chunk)
    apply_and_count(job, &some, out, chunk_start(job.walk.n, job.n_threads, chunk),
                    chunk_start(job.walk.n, job.n_threads, chunk + 1), status)


cdef inline void count_private_chunk(const Job* job, const Marks* marks, Py_ssize_t chunk) noexcept nogil:
    cdef Marks some = marks_of(job, marks, chunk)
    count_tuples(job, &some, chunk_start(job.walk.n, job.n_threads, chunk),
                 chunk_start(job.walk.n, job.n_threads, chunk + 1))


cdef inline void finish_private(const Job* job, Marks* marks, char* sums, bint is_late) noexcept:
    """Write the result from the combined accumulators. is_late: nothing has been marked."""
    cdef Py_ssize_t chunk
    cdef Marks more
    cdef const char* data = elements_of_data(job)
    if is_late and finish_unmarked(job, sums, job.out, data, job.n_rows, 0, job.walk.n):
        return
    if is_late:
        for chunk in prange(job.n_threads, num_threads=job.n_threads, schedule="static", nogil=True):
            count_private_chunk(job, marks, chunk)
    for chunk in range(1, job.n_threads):
        more = marks_of(job, marks, chunk)
        add_marks(marks, &more, job.n_rows)
    finish_elements(job, marks, sums, data, job.out, job.n_rows)


cdef inline void combine_copy(const Job* job, char* sums, const char* copy, Py_ssize_t n_items) noexcept nogil:
    """Combine a copy into sums, both taken as one row."""
    cdef Step step
    cdef Py_ssize_t width = job.step.row.item_bytes
    step.reduction = job.step.reduction
    step.type_code = job.step.type_code
    step.is_rare = False
    step.is_near = False
    step.swapped = 0
    empty_row(&step.row)
    step.row.n_inner = n_items
    step.row.inner_data = width
    step.row.inner_other = width
    step.row.item_bytes = width
    finish_step(&step)
    combine_row(&step, sums, copy)


cdef inline Py_ssize_t run_chunk_of_cells(const Job* job, char* cells, Py_ssize_t chunk) noexcept nogil:
    """Apply a chunk of the updates to its cells. Returns where it stopped."""
    cdef Py_ssize_t start = chunk_start(job.walk.n, job.n_threads, chunk)
    cells += chunk * job.n_rows * cell_bytes(job)
    if chunk == 0:
        start_cells(job, cells, elements_of_data(job), job.n_rows)
    else:
        start_cells_from(job, cells, job.reduction.identity[<int>job.step.type_code], True, job.n_rows)
    return apply_to_cells(job, cells, 0, start, chunk_start(job.walk.n, job.n_threads, chunk + 1))


cdef inline bint finish_all_cells(const Job* job, char* cells, const Py_ssize_t* stopped) noexcept nogil:
    """Write the result from all cells. False: a chunk has updates left, and nothing was written."""
    cdef Py_ssize_t chunk
    for chunk in range(job.n_threads):
        if stopped[chunk] < chunk_start(job.walk.n, job.n_threads, chunk + 1):
            return False
    for chunk in range(1, job.n_threads):  # counts are added as the integers next to them are
        combine_copy(job, cells, cells + chunk * job.n_rows * cell_bytes(job), 2 * job.n_rows)
    finish_cells(job, cells, elements_of_data(job), job.out, job.n_rows)
    return True


cdef inline void run_rest_of_cells(const Job* job, const Marks* marks, char* sums, char* copies, const char* cells,
                                   Py_ssize_t chunk, Py_ssize_t start, Py_ssize_t* status) noexcept nogil:
    """run_private_chunk for the updates that are left."""
    cdef char* out = copies + (chunk - 1) * job.out_bytes if chunk else sums
    cdef Marks some = marks_of(job, marks, chunk)
    unpack_cells(job, cells + chunk * job.n_rows * cell_bytes(job), out, &some, job.n_rows)
    apply_and_count(job, &some, out, start, chunk_start(job.walk.n, job.n_threads, chunk + 1), status)


cdef inline bint run_private_cells(const Job* job, const Marks* marks, char* sums, char* copies, char* cells,
                                   Py_ssize_t* status) noexcept:
    """Sums of integers in cells. True: the result is written; else it is in sums, copies and marks."""
    cdef Py_ssize_t stopped[MAX_TASKS]
    cdef Py_ssize_t chunk
    for chunk in prange(job.n_threads, num_threads=job.n_threads, schedule="static", nogil=True):
        stopped[chunk] = run_chunk_of_cells(job, cells, chunk)
        status[chunk] = OK
    if finish_all_cells(job, cells, stopped):
        return True
    for chunk in prange(job.n_threads, num_threads=job.n_threads, schedule="static", nogil=True):
        run_rest_of_cells(job, marks, sums, copies, cells, chunk, stopped[chunk], &status[chunk])
    return False


cdef inline bint run_private(Job* job, Py_ssize_t* bad) noexcept:
    """False: there is no memory for the copies, and nothing was written."""
    cdef Py_ssize_t status[MAX_TASKS]
    cdef Py_ssize_t chunk
    cdef Marks marks = job.marks
    cdef Marks marks_now
    cdef bint is_late, is_written = False
    cdef bint uses_scratch = job.accumulates and needs_scratch(job)
    cdef char* copies = <char*>malloc((job.n_threads - 1 + uses_scratch) * job.out_bytes)
    cdef char* sums = copies + (job.n_threads - 1) * job.out_bytes if uses_scratch else job.out
    cdef char* cells = NULL
    marks.assigns = False
    if can_use_cells(job, &marks) and job.n_threads * job.n_rows * cell_bytes(job) <= SCRATCH_BYTES:
        cells = <char*>malloc(job.n_threads * job.n_rows * cell_bytes(job))
    if (copies == NULL or (cells != NULL and not allocate_unset_marks(&marks, job.n_threads * job.n_rows))
            or (cells == NULL and marks.width and not allocate_marks(&marks, job.n_threads * job.n_rows))):
        free(copies)
        free(cells)
        return False
    is_late = can_mark_late(job) and cells == NULL
    marks_now = marks
    if is_late:
        marks_now.width = 0
    bad[0] = begin_writing(job, job.checks_first)
    if bad[0] == OK and cells != NULL:
        is_written = run_private_cells(job, &marks, sums, copies, cells, status)
    elif bad[0] == OK:
        for chunk in range(job.n_threads - 1):
            start_copy(job, copies + chunk * job.out_bytes)
        if job.accumulates:
            start_elements(job, sums, elements_of_data(job), job.n_rows)
        else:
            copy_data(job)
        for chunk in prange(job.n_threads, num_threads=job.n_threads, schedule="static", nogil=True):
            run_private_chunk(job, &marks_now, sums, copies, chunk, &status[chunk])
    if bad[0] == OK and not is_written:
        for chunk in range(job.n_threads - 1):
            combine_copy(job, sums, copies + chunk * job.out_bytes, job.n_rows * row_items(job))
        bad[0] = first_error(status, job.n_threads)
        if bad[0] == OK and job.accumulates:
            finish_private(job, &marks, sums, is_late)
    free_marks(&marks)
    free(copies)
    free(cells)
    return True
