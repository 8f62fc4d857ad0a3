# cython: language_level=3, freethreading_compatible=True, boundscheck=False, wraparound=False, cdivision=True
"""Gathers: resolve index tuples to offsets, then copy a row from each.

choose (cost.pxd) takes the route of the least estimated time, and run runs it. Threads own parts of the result.

    direct   (direct.pxd) every job, and the fallback of the others. A block of tuples is resolved to offsets, and
             a row is copied from each. The next block is resolved and prefetched before. Copies are compiled per item
             width (common/copies.h). Large results are written with non-temporal stores.
    runs     (runs.pxd) short items, 64 or more along an innermost axis that is contiguous in the result, selected by
             simple tuples (one or two native int32 or int64 indices, contiguous and aligned): resolve and copy in one
             loop. Elements of 1 to 16 bytes; of data larger than L2 also rows of up to 64 bytes (far_items.pxd). If
             each run selects from a row of its own, the next row is prefetched meanwhile.
    columns  (columns.pxd) gather_elements along an axis with a long stride, if at least a quarter of it is read:
             columns of data are packed into a tile that fits L2, and gathered from the tile.
    tiles    (tiles.pxd) elements at prepared indices of large data: the values of each tile of data are picked
             while it is in L2, then moved to their places.

The shortest calls, for a few rows of a contiguous array, need no route (few_rows.pxd).

Page faults in the new memory of a large result cost more than the copy, so common/memory.pxi keeps freed memory for
it. Kernels return a Status or the position of the first bad index; Python raises the errors.
"""
from cython.parallel cimport prange
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t
from libc.string cimport memcpy
cimport numpy as cnp

from common.arrays cimport arrays_of, get_array, is_tuple_of_arrays
from common.codes cimport ARRAYS, AXIS, ELEMENTS, INCONSISTENT, INTERRUPTED, OK, REFERENCES, SKIP, UNSUITED, Kind, Mode
from common.describe cimport describe, index_of_rows, position_of, release, smallest_stride
from common.interrupts cimport (
    Interrupts, arm, disarm, is_interrupted, raise_if_interrupted, with_interrupts,
)
from common.items cimport MAX_ELEMENT_BYTES
from common.machine cimport import_shared, shared
from common.resolve cimport BLOCK, SKIPPED, Tuples, can_fail, resolve_block
from common.routes cimport AUTO, COLUMNS, DIRECT, MAX_TEAMS, N_ROUTES, RUNS, TILES
from common.rows cimport abs_stride, describe_row, empty_row
from common.calls cimport (
    Call, PyDataType_REFCHK, describe_arrays_shape, describe_call, describe_shape, has_shape, mode_of, new_array,
    overlap, overlaps_indices, usable_out, write_element,
)
from common.stream cimport STREAM_BYTES, can_stream
from common.threads cimport (
    MAX_TASKS, begin_call, chunk_start, end_call, first_error, may_have_team, most_threads, note_team, possible_threads,
    team_size,
)
from common.walk cimport MAX_DIMS, OTHER, Cursor, Walk, is_linear, seek
from gather.columns cimport Columns, run_columns
from gather.cost cimport Choice, choose, routes_of
from gather.direct cimport is_one_block, run_direct
from gather.few_rows cimport gather_few_rows
from gather.job cimport Job, describe_prefetches, describe_work, end_of_data, work_ns
from gather.masks cimport count_true, write_true
from gather.runs cimport run_runs
from gather.tiles cimport run_tiles
from prepared.tile_order cimport TileOrder, describe_order

cnp.import_array()
import_shared()

include "common/explain.pxi"
include "prepared/orders.pxi"

cdef object fail = None  # see fail_by
cdef int forced_route = AUTO


cdef int choose_route(Job* job, Columns* columns, unsigned int routes, int limit) noexcept:
    """Choose one of the routes and the number of threads, at most limit. Returns the route."""
    global explained_threads
    cdef double ns[N_ROUTES * MAX_TEAMS]
    cdef Choice choice
    cdef int max_threads = most_threads(limit, work_ns(job))
    job.n_threads = max_threads
    if max_threads == 1 and routes == 1 << DIRECT and not explains:
        return DIRECT
    choice = choose(job, columns, routes, allowed_routes, max_threads, ns)
    if explains and job.out != NULL:
        explained_threads = max_threads
        memcpy(estimates, ns, sizeof(ns))
    if forced_route != AUTO and routes >> forced_route & 1:
        choice.route = forced_route
        choice.n_threads = max_threads
    job.n_threads = choice.n_threads
    if choice.n_threads > 1 and not shared.forced:
        job.n_threads = possible_threads(choice.n_threads)
        note_team(job.n_threads)
    return choice.route


cdef Py_ssize_t run(const Job* job, const Columns* columns, int route) noexcept:
    """Run the route. Returns OK or the position of the first bad index, in row-major order."""
    cdef Py_ssize_t status = OK
    if ((route == COLUMNS and not run_columns(columns)) or (route == RUNS and not run_runs(job))
            or (route == TILES and not run_tiles(job))):
        route = DIRECT
    if route == DIRECT:
        status = run_direct(job)
    if job.out != NULL:
        remember(route, job.n_threads)
    return status


cdef Py_ssize_t check_first(const Job* job, int route, int limit) noexcept:
    """Check all indices, unless the route does before it writes. Returns OK or the position of the first bad one."""
    cdef Job check
    if not can_fail(&job.tuples) or route == TILES or (route == DIRECT and is_one_block(job)):
        return OK
    check = job[0]
    empty_row(&check.row)
    check.out = NULL
    check.streams = False
    check.tuples.prefetches = job.tuples.prefetches or job.spreads_prefetches
    check.spreads_prefetches = False  # there are no items
    describe_work(&check)
    choose_route(&check, NULL, 1 << DIRECT, limit)
    return run_direct(&check)


cdef Py_ssize_t gather_into(Kind kind, cnp.ndarray data, cnp.ndarray indices, tuple arrays, cnp.ndarray out, int axis,
                            int batch_dims, Mode mode, bint wrap_negative, const char* fill, bint checks_first,
                            int n_threads, cnp.ndarray tiles) noexcept:
    """checks_first: all of out is written, or nothing. Else a signal or a bad index may end the gather between. arrays:
    as in describe. tiles: as in gather.
    """
    cdef Job job
    cdef Columns columns
    cdef Interrupts interrupts
    cdef TileOrder order
    cdef int d, row_axis, out_axis, route
    cdef Py_ssize_t extent = 0, status, repeats = 1
    cdef bint shares  # the call shares the CPUs with others
    cdef cnp.ndarray of_rows = index_of_rows(data, indices, axis, &repeats) if kind == ELEMENTS else None

    if of_rows is not None:
        kind, indices, batch_dims = AXIS, of_rows, axis
    status = describe(kind, data, indices, arrays, out, axis, batch_dims, mode, wrap_negative, &job.tuples, &job.walk,
                      &row_axis, &out_axis)
    if status != OK:
        return status
    if job.walk.n == 0:
        release(&job.tuples)
        return OK
    for d in range(job.tuples.k):
        extent += abs_stride(job.tuples.stride[d]) * (job.tuples.size[d] - 1)
    if out is not None:
        describe_row(&job.row, data, row_axis, out, out_axis, smallest_stride(&job.tuples), False)
        job.out = cnp.PyArray_BYTES(out)
    else:
        empty_row(&job.row)
        job.out = NULL
    job.data = cnp.PyArray_BYTES(data)
    job.itemsize = cnp.PyArray_ITEMSIZE(data)
    job.fill = fill
    job.out_is_linear = is_linear(&job.walk, OTHER)
    job.tile_order = NULL
    if (tiles is not None and kind == AXIS and axis == 0 and cnp.PyArray_IS_C_CONTIGUOUS(data) and job.row.item_bytes
            and describe_order(tiles, cnp.PyArray_NBYTES(data) // job.row.item_bytes, job.walk.n, &order)):
        job.tile_order = &order
    job.end = end_of_data(&job)
    describe_prefetches(&job, extent)
    job.streams = out is not None and cnp.PyArray_NBYTES(out) >= STREAM_BYTES and can_stream()
    describe_work(&job)
    shares = may_have_team(n_threads, work_ns(&job))
    if shares:
        n_threads = begin_call(n_threads)
    job.interrupts = &interrupts
    arm(&interrupts)
    route = choose_route(&job, &columns, routes_of(&job, kind, data, indices, out, axis, forced_route, &columns),
                         n_threads)
    if checks_first:
        status = check_first(&job, route, n_threads)
        disarm(&interrupts)
    if status == OK:
        status = run(&job, &columns, route)
    if shares:
        end_call()
    release(&job.tuples)
    return with_interrupts(&interrupts, position_of(status, repeats))


cdef bint is_consistent(Kind kind, cnp.ndarray data, cnp.ndarray indices, tuple arrays, cnp.ndarray out, int axis,
                        int batch_dims, cnp.ndarray fill) noexcept:
    """Whether the arrays are those of a valid plan.

    An array may have changed since: a subclass or a scalar's method can run any code between the plan and the kernel.
    """
    cdef Call call
    cdef Py_ssize_t itemsize = cnp.PyArray_ITEMSIZE(data)
    return ((describe_shape(&call, kind, data, indices, axis, batch_dims) if arrays is None else
             describe_arrays_shape(&call, data, arrays, axis, batch_dims))
            and (fill is None or cnp.PyArray_NBYTES(fill) == itemsize)
            and (out is None or (has_shape(out, call.n_dims, call.shape) and cnp.PyArray_ISWRITEABLE(out)
                                 and cnp.PyArray_ITEMSIZE(out) == itemsize and not PyDataType_REFCHK(out.descr))))


def gather(int kind, cnp.ndarray data not None, indices not None, cnp.ndarray out, int axis, int batch_dims,
           int mode, bint wrap_negative, cnp.ndarray fill, bint checks_first, int n_threads, cnp.ndarray tiles=None):
    """Write the rows of data that indices name to out, and return a status. The shapes must be those of a valid plan.

    data and indices may have any strides, alignment and byte order. indices: for ARRAYS, a tuple of arrays. out: None
    to only check the indices. fill: for mode SKIP, one element of data's dtype. checks_first: if the call fails,
    nothing is written. n_threads: the maximum; 0: OpenMP's choice. tiles: of prepared indices, what
    orders.sort_by_tile has made of them for data of so many slices.
    """
    cdef Py_ssize_t status
    cdef tuple arrays = arrays_of(indices) if kind == ARRAYS else None
    cdef cnp.ndarray first = get_array(arrays, 0) if kind == ARRAYS else indices
    if PyDataType_REFCHK(data.descr) and out is not None:
        return <Py_ssize_t>REFERENCES
    if (not is_consistent(<Kind>kind, data, first, arrays, out, axis, batch_dims, fill)
            or (out is not None and mode == SKIP and fill is None)):
        return <Py_ssize_t>INCONSISTENT
    status = gather_into(<Kind>kind, data, first, arrays, out, axis, batch_dims, <Mode>mode, wrap_negative,
                         cnp.PyArray_BYTES(fill) if fill is not None else NULL, checks_first, n_threads, tiles)
    raise_if_interrupted(status)
    return status


def try_gather(int kind, wrap_negative, data, indices, axis, batch_dims, mode, fill_value, out, int n_threads, op=None,
               cnp.ndarray tiles=None):
    """Fast path without a plan: the result. None: the call needs a plan, which raises its error if it has one.

    What the call needs is decided before the kernel runs. If the kernel fails, as on a bad index, the operator's error
    is raised; without an operator, the result is None. Nothing was written then.

    data to out are unchecked arguments of the user. For ND axis is 0, for ELEMENTS batch_dims is 0. tiles: as in
    gather.
    """
    cdef Call call
    cdef cnp.ndarray source, result, first
    cdef tuple arrays = None
    cdef int mode_code = mode_of(mode, "fill")
    cdef Py_ssize_t status
    cdef char element[MAX_ELEMENT_BYTES]

    if kind == ARRAYS:
        if not is_tuple_of_arrays(indices, True):
            return None
        arrays = indices
        first = get_array(arrays, 0)
    elif type(indices) is cnp.ndarray:
        first = indices
    else:
        return None
    if (type(data) is not cnp.ndarray or type(wrap_negative) is not bool or mode_code < 0
            or not describe_call(&call, <Kind>kind, data, first, arrays, axis, batch_dims)):
        return None
    source = data
    if mode_code == SKIP and not write_element(source, fill_value, element):
        return None
    if out is None:
        result = new_array(source, call.n_dims, call.shape)
    else:
        result = usable_out(out, source, call.n_dims, call.shape)
        if result is None or overlap(result, source) or overlaps_indices(result, first, arrays):
            return None
    if result is None or PyDataType_REFCHK(source.descr):
        return None
    status = <Py_ssize_t>UNSUITED
    if forced_route == AUTO and not explains and not shared.forced:
        status = gather_few_rows(<Kind>kind, source, first, result, call.axis, call.batch_dims, <Mode>mode_code,
                                 wrap_negative)
    if status == UNSUITED:
        status = gather_into(<Kind>kind, source, first, arrays, result, call.axis, call.batch_dims, <Mode>mode_code,
                             wrap_negative, element if mode_code == SKIP else NULL, out is not None, n_threads, tiles)
        raise_if_interrupted(status)
    if status == OK:
        return result
    if op is not None:
        fail(op, kind, wrap_negative, source, indices, axis, batch_dims, mode, fill_value, status)
    return None


def fail_by(function):
    """Set the function that raises the error of a small call."""
    global fail
    fail = function


cdef uint8_t never_read = 0


def strided(tuple shape not None, tuple strides not None):
    """An array of bytes whose elements are never read. (NumPy's as_strided crashes if there is no memory.)"""
    cdef cnp.npy_intp sizes[MAX_DIMS]
    cdef cnp.npy_intp steps[MAX_DIMS]
    cdef int d, n_dims = <int>len(shape)
    if n_dims > MAX_DIMS or len(strides) != n_dims:
        raise ValueError("strided: not the strides of an array")
    for d in range(n_dims):
        sizes[d], steps[d] = shape[d], strides[d]
    return cnp.PyArray_New(cnp.ndarray, n_dims, sizes, cnp.NPY_UINT8, steps, &never_read, 0, 0, None)


cdef void number_chunk(const Tuples* tuples, const Walk* walk, Interrupts* interrupts, void* numbers, bint is_wide,
                       Py_ssize_t start, Py_ssize_t stop, Py_ssize_t* status) noexcept nogil:
    """Write the numbers of the rows that tuples start to stop select."""
    cdef int64_t found[BLOCK]
    cdef Cursor cursor
    cdef Py_ssize_t n, i
    status[0] = OK
    seek(walk, start, &cursor)
    while start < stop:
        resolve_block(tuples, walk, &cursor, min(<Py_ssize_t>BLOCK, stop - start), False, found, &n)
        if n < 0:
            status[0] = start * tuples.k - 1 - n
            return
        if is_interrupted(interrupts, n * tuples.k):
            status[0] = INTERRUPTED
            return
        for i in range(n):
            if found[i] == SKIPPED:
                found[i] = -1
        if is_wide:
            memcpy(numbers, found, n * sizeof(int64_t))
            numbers = <int64_t*>numbers + n
        else:
            for i in range(n):
                (<int32_t*>numbers)[i] = <int32_t>found[i]
            numbers = <int32_t*>numbers + n
        start += n


def resolve(int kind, cnp.ndarray row_ids not None, indices not None, int axis, int batch_dims, int mode,
            bint wrap_negative, Py_ssize_t start, cnp.ndarray rows not None, int n_threads):
    """Resolve tuples without moving anything: rows[i] = id of the row that tuple start + i names, -1 if skipped.

    row_ids: an array whose byte offsets are the row ids; it is never read. rows: int32 or int64, contiguous. Returns a
    status as gather does, with positions counted from the start of indices.
    """
    cdef Tuples tuples
    cdef Walk walk
    cdef Interrupts interrupts
    cdef Py_ssize_t results[MAX_TASKS]
    cdef char* numbers = cnp.PyArray_BYTES(rows)
    cdef int width = <int>cnp.PyArray_ITEMSIZE(rows), row_axis, other_axis, team
    cdef Py_ssize_t chunk, n = cnp.PyArray_SIZE(rows), status
    cdef tuple arrays = arrays_of(indices) if kind == ARRAYS else None
    cdef cnp.ndarray first = get_array(arrays, 0) if kind == ARRAYS else indices

    status = describe(<Kind>kind, row_ids, first, arrays, None, axis, batch_dims, <Mode>mode, wrap_negative, &tuples,
                      &walk, &row_axis, &other_axis)
    if status != OK:
        return status
    if (not 0 <= start <= walk.n - n or not cnp.PyArray_ISCARRAY(rows) or rows.descr.kind != c'i'
            or (width != sizeof(int64_t) and width != sizeof(int32_t))):
        release(&tuples)
        return <Py_ssize_t>INCONSISTENT
    arm(&interrupts)
    team = team_size(n_threads, <double>n * tuples.k)
    for chunk in prange(team, num_threads=team, schedule="static", nogil=True):
        number_chunk(&tuples, &walk, &interrupts, numbers + chunk_start(n, team, chunk) * width,
                     width == sizeof(int64_t), start + chunk_start(n, team, chunk),
                     start + chunk_start(n, team, chunk + 1), &results[chunk])
    status = with_interrupts(&interrupts, first_error(results, team))
    release(&tuples)
    raise_if_interrupted(status)
    return status


def true_elements(cnp.ndarray mask not None, empty, int n_threads):
    """The row-major numbers of a mask's true elements, as int32 if these can hold them, else as int64.

    mask: of bools, in C order. empty: makes an array of a shape and a dtype.
    """
    cdef Py_ssize_t counts[MAX_TASKS]
    cdef Py_ssize_t size = cnp.PyArray_SIZE(mask)
    cdef const uint8_t* elements = <const uint8_t*>cnp.PyArray_BYTES(mask)
    cdef bint is_wide = size > INT32_MAX
    cdef int n_chunks
    cdef cnp.ndarray numbers
    if mask.descr.kind != c'b' or not cnp.PyArray_IS_C_CONTIGUOUS(mask):
        raise ValueError("a mask is an array of bools in C order")
    n_chunks = team_size(n_threads, <double>size / 8)  # some nanoseconds for a cache line
    dtype = cnp.PyArray_DescrFromType(cnp.NPY_INT64 if is_wide else cnp.NPY_INT32)
    numbers = empty((count_true(elements, size, n_chunks, counts),), dtype)
    write_true(is_wide, elements, size, n_chunks, counts, cnp.PyArray_BYTES(numbers))
    return numbers


def force(int route):
    """For tests: use this GatherRoute for jobs that it can run. AUTO: not forced."""
    global forced_route
    forced_route = route
