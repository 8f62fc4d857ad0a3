# cython: language_level=3, freethreading_compatible=True, boundscheck=False, wraparound=False, cdivision=True
"""Scatters: copy data to out, then apply updates in row-major order, on any number of threads.

Except in PRIVATE, threads own destinations, not updates, so that each destination gets its updates in order.
choose_strategy (strategy.pxd) selects a strategy, and run runs it:

    SERIAL      (serial.pxd) one thread applies the updates, others may count them: little work, results near the
                caches, destinations close together, or no memory for another strategy
    UNITS       (units.pxd) the leading axes of the result are those of the tuples (batches, *_elements along a later
                axis): a thread copies one such unit of data and applies its updates while the unit is in the cache
    COLUMN_TILES  (columns.pxd) *_elements along an axis with a long stride: columns are packed into a tile that fits L2
    ROWS        (rows.pxd) rows of a cache line or more, or of 32 bytes into large results. In rounds of a bounded
                number of updates:
                    resolve_row_ids  each tuple becomes the row id of its destination
                    order_updates    each thread owns a range of rows and groups their updates, in order, by histogram
                                     and prefix sum; for ASSIGN it keeps the last update of each row
                    order_chunk      where there are few rows, each thread groups a chunk of the updates instead
                    write_rows       each row is written once, from data and its updates, with non-temporal stores for
                                     large results; in place, only rows with updates. Numbers are reduced while they
                                     are in registers (loops/reduce_rows.hpp)
                gather_scatter runs it, or RANGES, with updates that are rows of its source
    ROW_PIECES  (row_pieces.pxd) long or strided rows: every thread resolves all tuples, and applies a piece of each row
    RANGES      (ranges.pxd) rows, where cores read faster together than alone: every thread resolves all tuples and
                applies those of its range of rows
    LOCAL_RANGES  (local_ranges.pxd) neighbouring tuples with neighbouring destinations, as sorted indices have: each
                thread finds the bounds of a chunk of the tuples, then applies the blocks of its range of rows
    PRIVATE     (private.pxd) few destinations and a reduction that is associative bit for bit (of integers; max and
                min): a thread applies a chunk of the updates to a private copy; copies are combined in order
    PARTITION   (partition.pxd) other large scatters whose destinations are spread over more than the caches:
                propagation blocking. Destinations are cut into tiles that fit L2. In rounds of a bounded number of
                updates:
                    write_records  each thread resolves its chunk of the updates and writes them as records (position
                                   in the tile, update), in order, to a bucket for each tile
                    apply_records  the thread that owns a tile copies the tile of data and applies the tile's records
    RESULT_TILES  (result_tiles.pxd) the same for prepared indices, whose records' places are known

For ASSIGN the last writer wins, since updates are applied in order (in ROWS, order_updates keeps only the last).
For include_self=False and for means, marks (marks.pxd) record which destinations have had an update, and how many.
With accumulate_dtype, destinations are accumulated in a wider dtype and rounded once (conversions.pxd, widen.pxd): in
PARTITION's tiles, some rows at a time in ROWS (wide_rows.pxd), or in bounded tables (windows.pxd, wide.pxd):

    WINDOWS     a table for each range of rows: each thread resolves all tuples and applies those of its rows; or, where
                neighbouring tuples have neighbouring destinations, only the blocks that it needs (local_windows.pxd)

Means are divided (means.pxd) by the thread that owns the destinations, where possible while they are in the cache.
Threads never write to shared destinations, so there are no locks and no atomics. Between passes there is a barrier.
"""
from cpython.object cimport PyObject
from libc.stdint cimport int32_t
from libc.string cimport memcpy, memset
cimport numpy as cnp

from common.arrays cimport arrays_of, get_array, is_tuple_of_arrays
from common.caches cimport assume_bandwidth, assume_l2
from common.codes cimport (
    ADD, ARRAYS, ASSIGN, AXIS, BOOL, COMPLEX128, ELEMENTS, INCONSISTENT, MIN, MUL, NONE, OK, TAKE, UINT64, UNSUITED,
    Kind, Mode, ReductionCode, TypeCode,
)
from common.describe cimport PY_SSIZE_T_MAX, describe, index_of_rows, position_of, release, smallest_stride
from common.interrupts cimport Interrupts, arm, block_of, raise_if_interrupted, set_main_thread, with_interrupts
from common.items cimport MAX_WORD_BYTES
from common.resolve cimport BLOCK
from common.rows cimport describe_row, number_bytes
from common.small_calls cimport (
    PyDataType_REFCHK, SmallCall, describe_arrays_shape, describe_shape, describe_small, has_shape,
    is_writable_in_place, mode_of, new_array, overlap, overlaps_indices, repeated, same_dtype, type_code_of,
    usable_out, width_of, write_element,
)
from common.strategies cimport (
    AUTO, COLUMN_TILES, LOCAL_RANGES, PARTITION, PRIVATE, RANGES, RESULT_TILES, ROW_PIECES, ROWS, SERIAL, UNITS,
    WINDOWS, ScatterStrategy,
)
from common.stream cimport STREAM_BYTES, can_stream
from common.threads cimport begin_call, end_call, may_have_team, remember_choice, team_size
from common.walk cimport OTHER, is_linear
from prepared.order cimport Order, find_order, find_translation
from prepared.tile_order cimport TileOrder, find_tiles
from scatter.apply cimport finish_step
from scatter.columns cimport describe_columns, run_columns
from scatter.conversions cimport pair_of
from scatter.direct cimport repeats_of
from scatter.grouping cimport describe_rows
from scatter.job cimport N_TYPES, Job, Reduction, begin_writing, copy_data, row_items
from scatter.local_ranges cimport run_local_ranges
from scatter.local_windows cimport run_locally
from scatter.loops.table cimport GS_ADD, GS_BOOL, GS_COMPLEX128, GS_MIN
from scatter.marks cimport describe_marks
from scatter.partition cimport run_partition
from scatter.private cimport run_private
from scatter.ranges cimport run_ranges
from scatter.reductions cimport is_move
from scatter.result_tiles cimport run_result_tiles
from scatter.row_pieces cimport run_row_pieces
from scatter.rows cimport run_rows
from scatter.serial cimport run_serial
from scatter.source cimport are_rows, is_source, repeats_row
from scatter.spread cimport contiguous_copy, is_spread_out, row_of_scalar
from scatter.strategy cimport (
    Descriptions, choose_strategy, has_room_for_marks, is_for_passed_ranges, is_for_wide_rows, is_for_wide_tiles,
    repeats_in_order,
)
from scatter.units cimport describe_units, run_units
from scatter.wide cimport run_windows
from scatter.windows cimport Wide, choose_cut, describe_accumulators, describe_wide

from gatherscatter._kernels.orders import known as _known_orders, tiled as _tiled, translations as _translations

cnp.import_array()

cdef enum:
    N_REDUCTIONS = 32  # codes that can be registered
    NEAR_BYTES = 1 << 15  # of destinations that stay in L1
    RARE = 64          # updates per destination from which one rarely changes a maximum
    MANY_SWAPPED = 256  # indices: a reduction of as many in another byte order is left to a plan, which may copy them

cdef Reduction reductions[N_REDUCTIONS]  # by ReductionCode
cdef dict code_of_name = {}
cdef object orders = _known_orders  # dicts: see prepared/order.pxd
cdef object tiled = _tiled
cdef object translations = _translations
cdef int forced_strategy = AUTO
cdef int forced_threads = 0
cdef int last = AUTO
reductions[<int>TAKE].step = TAKE  # it is not registered: the function `take` has it
if GS_ADD != <int>ADD or GS_MIN != <int>MIN or GS_BOOL != <int>BOOL or GS_COMPLEX128 != <int>COMPLEX128:
    raise ImportError("loops/table.h does not have the codes of codes.pxd")


def register(str name not None, int code, int step, types, associative, bint idempotent, bint divides,
             dict identities not None):
    """Register a reduction under its name. types and associative are masks, in which bit t stands for TypeCode t.

    step: the ReductionCode whose step it has. types: supported; 0: any dtype. associative: grouping the updates, in
    order, cannot change a bit. idempotent: a repeated update changes nothing. divides: a mean. identities: {TypeCode:
    bytes in native byte order}, such that the step of the identity and an update is the update bit for bit.
    """
    cdef Reduction* reduction
    if not 0 <= code < N_REDUCTIONS:
        raise ValueError(f"a reduction's code is 0 to {N_REDUCTIONS - 1}, not {code}")
    reduction = &reductions[code]
    memset(reduction, 0, sizeof(Reduction))
    reduction.step = <ReductionCode>step
    reduction.types = types
    reduction.associative = associative
    reduction.idempotent = idempotent
    reduction.divides = divides
    for type_code, identity in identities.items():
        if not 0 <= type_code < N_TYPES or not 0 < len(identity) <= MAX_WORD_BYTES:
            raise ValueError(f"no identity of type code {type_code}: {identity!r}")
        memcpy(reduction.identity[<int>type_code], <const char*><bytes>identity, len(identity))
        reduction.has_identity |= <unsigned int>1 << <int>type_code
    code_of_name[name] = code


cdef inline void note(int strategy) noexcept:
    global last
    if last != strategy:  # write rarely: other threads read this cache line
        last = strategy


cdef Py_ssize_t run(Job* job, Descriptions* descriptions, ScatterStrategy strategy) noexcept:
    """Run the strategy. Returns OK, NO_MEMORY or the position of the first bad index, in row-major order."""
    cdef Py_ssize_t status = OK
    cdef bint done = True
    if strategy == UNITS:
        job.step.is_near = 0 < descriptions.units.unit_bytes <= NEAR_BYTES
        done = run_units(&descriptions.units, job, &status)
    elif strategy == COLUMN_TILES:
        done = run_columns(&descriptions.columns, job, &status)
    elif strategy == ROWS:
        done = run_rows(&descriptions.rows, &status)
    elif strategy == ROW_PIECES:
        done = run_row_pieces(&descriptions.row_pieces, job, &status)
    elif strategy == PRIVATE:
        done = run_private(job, &status)
    elif strategy == PARTITION:
        done = run_partition(&descriptions.partition, job, &status)
    elif strategy == RESULT_TILES:
        done = run_result_tiles(job, &status)
    elif strategy == RANGES:
        done = run_ranges(&descriptions.ranges, job, &status)
    elif strategy == LOCAL_RANGES:
        done = run_local_ranges(&descriptions.local_ranges, job, &status)
    if strategy == SERIAL or not done:
        strategy = SERIAL
        status = run_serial(job)
    note(strategy)
    return status


cdef Py_ssize_t run_wide(Wide* wide, Job* job, Descriptions* descriptions) noexcept:
    """Run a scatter with accumulate_dtype."""
    global last
    cdef Py_ssize_t status = OK
    cdef ScatterStrategy strategy = choose_cut(wide, &descriptions.units, forced_strategy)
    cdef bint done = False
    if strategy == SERIAL or strategy == UNITS:
        pass
    elif is_for_wide_rows(job, forced_strategy, &descriptions.rows):
        done = run_rows(&descriptions.rows, &status)
        strategy = ROWS if done else strategy
    elif strategy == WINDOWS and forced_strategy == AUTO and run_locally(wide, job, &status):
        done = True
    elif is_for_wide_tiles(job, forced_strategy, &descriptions.partition):
        job.marks = wide.marks
        done = run_partition(&descriptions.partition, job, &status)
        strategy = PARTITION if done else strategy
    if not done:
        status = run_windows(wide, job)
    if last != strategy:
        last = strategy
    return status


cdef bint is_consistent(Kind kind, cnp.ndarray data, cnp.ndarray indices, tuple arrays, cnp.ndarray updates,
                        cnp.ndarray out, int axis, int batch_dims, ReductionCode code,
                        TypeCode type_code, TypeCode accumulate) noexcept:
    """Whether the arrays are those of a valid plan.

    An array may have changed since: a subclass or a scalar's method can run any code between the plan and the kernel.
    """
    cdef SmallCall call
    cdef Py_ssize_t itemsize = cnp.PyArray_ITEMSIZE(out)
    return ((describe_shape(&call, kind, out, indices, axis, batch_dims) if arrays is None else
             describe_arrays_shape(&call, out, arrays, axis, batch_dims))
            and has_shape(updates, call.n_dims, call.shape)
            and cnp.PyArray_ISWRITEABLE(out) and not PyDataType_REFCHK(out.descr)
            and cnp.PyArray_ITEMSIZE(updates) == itemsize
            and (data is None or (cnp.PyArray_ITEMSIZE(data) == itemsize
                                  and has_shape(data, cnp.PyArray_NDIM(out), <const Py_ssize_t*>cnp.PyArray_DIMS(out))))
            and (is_move(code) or itemsize == width_of(type_code))
            and (accumulate == NONE or (reductions[<int>code].step in (ADD, MUL)
                                        and pair_of(type_code, accumulate) != 0)))


cdef Py_ssize_t run_passed(Job* job, Descriptions* descriptions, Py_ssize_t n_source) noexcept:
    """Run ROWS or RANGES with updates that are rows of a source. Returns what `run` does, or UNSUITED."""
    cdef Py_ssize_t bad = OK
    cdef ScatterStrategy strategy = ROWS
    if (job.order.n_source > n_source) if job.order != NULL else not are_rows(job.update_rows, job.walk.n, n_source):
        return INCONSISTENT
    if is_for_passed_ranges(job, forced_strategy, &descriptions.ranges) and run_ranges(&descriptions.ranges, job, &bad):
        strategy = RANGES
    elif not (has_room_for_marks(job, AUTO) and describe_rows(&descriptions.rows, job, True)
              and run_rows(&descriptions.rows, &bad)):
        return UNSUITED
    note(strategy)
    return bad


cdef inline object find_orders(Job* job, cnp.ndarray indices, cnp.ndarray update_rows, Order* order,
                               TileOrder* tile_order):
    """Set the orders of indices along axis 0, if they are prepared. Returns the owner of their memory."""
    cdef cnp.ndarray memory = None, translation = None, tile_memory = None
    if orders:
        memory = find_order(orders, indices, job.n_rows, job.walk.n, order)
    if tiled:
        tile_memory = find_tiles(tiled, indices, job.n_rows, job.walk.n, tile_order)
    if memory is not None and update_rows is not None:
        translation = find_translation(translations, indices, update_rows, memory, order)
    job.tile_order = tile_order if tile_memory is not None else NULL
    job.order = order if memory is not None and (update_rows is None or translation is not None) else NULL
    return (memory, translation, tile_memory) if job.tile_order != NULL or job.order != NULL else None


cdef inline void describe_arrays(Job* job, cnp.ndarray data, cnp.ndarray updates, cnp.ndarray out,
                                 cnp.ndarray update_rows) noexcept:
    """updates: or the source of which they are rows."""
    job.out = cnp.PyArray_BYTES(out)
    job.out_bytes = cnp.PyArray_NBYTES(out)
    job.updates = cnp.PyArray_BYTES(updates)
    job.updates_bytes = cnp.PyArray_NBYTES(updates)
    job.update_rows = <const int32_t*>cnp.PyArray_DATA(update_rows) if update_rows is not None else NULL
    job.is_contiguous = cnp.PyArray_IS_C_CONTIGUOUS(out)
    job.data = job.strided = NULL
    job.out_array = <PyObject*>out
    if data is not None and job.is_contiguous and cnp.PyArray_IS_C_CONTIGUOUS(data):
        job.data = cnp.PyArray_BYTES(data)
    elif data is not None:
        job.strided = <PyObject*>data


cdef inline void describe_job_rows(Job* job, cnp.ndarray data, cnp.ndarray out, int row_axis) noexcept:
    """Describe the rows of the result: those from row_axis on."""
    cdef int d
    job.row_bytes = cnp.PyArray_ITEMSIZE(out)
    for d in range(row_axis, cnp.PyArray_NDIM(out)):
        job.row_bytes *= cnp.PyArray_DIM(out, d)
    job.n_rows = job.out_bytes // job.row_bytes if job.row_bytes else 0
    if not job.is_contiguous:
        job.row_bytes = 0
    job.data_step = job.row_bytes
    if job.update_rows != NULL and job.strided != NULL and job.is_contiguous and repeats_row(data):
        job.data = cnp.PyArray_BYTES(data)
        job.strided = NULL
        job.data_step = 0


cdef inline void describe_step(Job* job, cnp.ndarray out, ReductionCode code, TypeCode type_code,
                               bint include_self) noexcept:
    """Describe what is done to a row, but for job.step.row."""
    # Empty rows: only check the indices.
    job.step.reduction = job.reduction.step if job.step.row.item_bytes else ASSIGN
    job.step.type_code = type_code
    job.step.swapped = number_bytes(out) if not is_move(code) and cnp.PyArray_ISBYTESWAPPED(out) else 0
    finish_step(&job.step)
    job.step.is_rare = job.walk.n >= RARE * (job.out_bytes // max(cnp.PyArray_ITEMSIZE(out), <Py_ssize_t>1))
    job.step.is_near = job.out_bytes <= NEAR_BYTES
    job.include_self = include_self or job.step.reduction == ASSIGN
    job.divides = job.reduction.divides and job.step.reduction != ASSIGN
    describe_marks(&job.marks, not job.include_self, job.divides, job.walk.n, job.row_bytes)
    job.accumulates = (job.marks.width and job.step.by_value and job.is_contiguous
                       and (job.include_self or job.reduction.has_identity >> <int>type_code & 1))


cdef inline void describe_work(Job* job) noexcept:
    cdef double work_ns = <double>row_items(job)  # a nanosecond each to resolve an index, combine an item, move 8 bytes
    work_ns = job.tuples.k + work_ns + work_ns * job.step.row.item_bytes / 8
    job.tuple_work = max(<Py_ssize_t>1, <Py_ssize_t>work_ns)
    job.block = block_of(job.tuple_work, BLOCK)
    work_ns *= job.walk.n
    if job.data != NULL:
        work_ns += <double>job.out_bytes / 8
    job.shares = may_have_team(job.max_threads, job.forced_threads, work_ns)
    if job.shares:
        job.max_threads = begin_call(job.max_threads)
    job.n_threads = team_size(job.max_threads, job.forced_threads, work_ns)


cdef Py_ssize_t choose_and_run(Job* job, Kind kind, cnp.ndarray indices, tuple arrays, cnp.ndarray updates,
                               cnp.ndarray out, int axis, int row_axis, int batch_dims, Mode mode, bint wrap_negative,
                               TypeCode accumulate, Py_ssize_t n_source) noexcept:
    """Choose how to run the job, and run it. Returns what `run` does, or UNSUITED."""
    cdef Descriptions descriptions
    cdef Wide wide
    cdef Py_ssize_t status
    if job.update_rows != NULL:
        return run_passed(job, &descriptions, n_source)
    describe_units(&descriptions.units, job, kind, out, indices, axis, batch_dims)
    if accumulate != NONE and job.step.row.item_bytes:
        describe_accumulators(job, accumulate, width_of(accumulate))
        status = describe_wide(&wide, job, kind, indices, arrays, updates, out, axis, batch_dims, mode, wrap_negative,
                               row_axis)
        if status == OK:
            status = run_wide(&wide, job, &descriptions)
            release(&wide.tuples)
        return status
    descriptions.by_columns = describe_columns(&descriptions.columns, job, kind, out, indices, updates, axis, False)
    descriptions.has_columns = descriptions.by_columns or (
        forced_strategy == COLUMN_TILES
        and describe_columns(&descriptions.columns, job, kind, out, indices, updates, axis, True))
    return run(job, &descriptions, choose_strategy(job, forced_strategy, &descriptions))


cdef Py_ssize_t scatter_into(Kind kind, cnp.ndarray data, cnp.ndarray indices, tuple arrays, cnp.ndarray updates,
                             cnp.ndarray out, int axis, int batch_dims, Mode mode, bint wrap_negative,
                             ReductionCode code, TypeCode type_code, TypeCode accumulate, bint include_self,
                             bint checks_first, int n_threads, cnp.ndarray source, cnp.ndarray update_rows) noexcept:
    """arrays: as in describe. source, update_rows: as in scatter."""
    cdef Job job
    cdef Interrupts interrupts
    cdef Order order
    cdef TileOrder tile_order
    cdef object _of_orders = None  # keeps their memory
    cdef cnp.ndarray copy = None
    cdef int row_axis, updates_axis
    cdef Py_ssize_t status, repeats = 1
    cdef cnp.ndarray of_rows = index_of_rows(out, indices, axis, &repeats) if kind == ELEMENTS else None
    if of_rows is not None:
        kind, indices, batch_dims = AXIS, of_rows, axis
    status = describe(kind, out, indices, arrays, updates, axis, batch_dims, mode, wrap_negative, &job.tuples,
                      &job.walk, &row_axis, &updates_axis)
    if status != OK:
        return status
    updates = row_of_scalar(updates, updates_axis)
    describe_arrays(&job, data, updates if source is None else source, out, update_rows)
    job.reduction = &reductions[<int>code]
    job.checks_first = checks_first
    job.interrupts = &interrupts
    arm(&interrupts)
    job.max_threads = n_threads
    job.forced_threads = forced_threads
    job.tuple_work = job.n_threads = 1
    if job.walk.n == 0:
        status = begin_writing(&job, False)
        if status == OK:
            copy_data(&job)
        release(&job.tuples)
        return with_interrupts(&interrupts, status)
    describe_row(&job.step.row, out, row_axis, updates, updates_axis,
                 PY_SSIZE_T_MAX if job.is_contiguous or accumulate != NONE else smallest_stride(&job.tuples),
                 not is_move(code))
    describe_job_rows(&job, data, out, row_axis)
    describe_step(&job, out, code, type_code, include_self)
    job.order = NULL
    job.tile_order = NULL
    if (orders or tiled) and kind == AXIS and axis == 0:
        _of_orders = find_orders(&job, indices, update_rows, &order, &tile_order)
    job.updates_are_linear = is_linear(&job.walk, OTHER)
    job.repeats = repeats_of(&job.tuples, &job.walk)
    job.streams = job.out_bytes >= STREAM_BYTES and can_stream()
    job.conversion.pair = 0
    describe_work(&job)  # begins the call
    if code != TAKE and is_spread_out(updates) and (accumulate != NONE or not repeats_in_order(&job)):
        copy = contiguous_copy(updates, job.max_threads, forced_threads)
    if copy is not None:
        if job.shares:
            end_call()
            job.shares = False
        status = scatter_into(kind, data, indices, arrays, copy, out, axis, batch_dims, mode, wrap_negative, code,
                              type_code, accumulate, include_self, checks_first, n_threads, source, update_rows)
    else:
        status = choose_and_run(&job, kind, indices, arrays, updates, out, axis, row_axis, batch_dims, mode,
                                wrap_negative, accumulate, cnp.PyArray_DIM(source, 0) if source is not None else 0)
    if job.shares:
        end_call()
    release(&job.tuples)
    return with_interrupts(&interrupts, position_of(status, repeats))


def scatter(int kind, cnp.ndarray data, indices not None, cnp.ndarray updates not None,
            cnp.ndarray out not None, int axis, int batch_dims, int mode, bint wrap_negative, int reduction,
            int type_code, int accumulate, bint include_self, bint checks_first, int n_threads,
            cnp.ndarray source=None, cnp.ndarray update_rows=None):
    """Copy data to out, apply the updates, and return a status. The shapes must be those of a valid plan.

    data: None if out holds it already. indices: for ARRAYS, a tuple of arrays. reduction: a registered ReductionCode.
    type_code: of the dtype; ignored for ASSIGN. accumulate: of a wider dtype, in which the reduction is computed; NONE:
    in the dtype itself. checks_first: if the call fails, nothing is written; otherwise out may be partly written then.
    out must not overlap itself or another array.

    update_rows: update t is row update_rows[t] of source, which nobody writes to meanwhile; updates repeats one row, of
    which the shape, the dtype and the strides count. For kind AXIS and axis 0. UNSUITED: they have to be gathered.
    """
    cdef Py_ssize_t status
    cdef tuple arrays = arrays_of(indices) if kind == ARRAYS else None
    cdef cnp.ndarray first = get_array(arrays, 0) if kind == ARRAYS else indices
    if not is_consistent(<Kind>kind, data, first, arrays, updates, out, axis, batch_dims, <ReductionCode>reduction,
                         <TypeCode>type_code, <TypeCode>accumulate):
        return <Py_ssize_t>INCONSISTENT
    if update_rows is not None and not is_source(source, update_rows, kind, first, out, axis, accumulate):
        return <Py_ssize_t>UNSUITED
    if BOOL < type_code <= UINT64 and not reductions[reduction].divides:
        accumulate = NONE  # modulo a power of 2, the bits that remain are the same
    status = scatter_into(<Kind>kind, data, first, arrays, updates, out, axis, batch_dims, <Mode>mode, wrap_negative,
                          <ReductionCode>reduction, <TypeCode>type_code, <TypeCode>accumulate, include_self,
                          checks_first, n_threads, source, update_rows)
    raise_if_interrupted(status)
    return status


def take(int kind, cnp.ndarray data not None, cnp.ndarray indices not None, cnp.ndarray updates not None,
         cnp.ndarray out not None, int axis, int batch_dims, int mode, bint wrap_negative, int n_threads):
    """The derivatives of an assignment: copy data to out, and move the rows of out to the updates.

    Each update, in order, becomes the row at its destination, which becomes 0; one that is dropped stays as it is. All
    arrays but indices are C-contiguous, except for the leading axes of updates. Returns a status.
    """
    cdef Py_ssize_t status
    if not cnp.PyArray_ISWRITEABLE(updates) or not is_consistent(<Kind>kind, data, indices, None, updates, out, axis,
                                                                 batch_dims, TAKE, NONE, NONE):
        return <Py_ssize_t>INCONSISTENT
    status = scatter_into(<Kind>kind, data, indices, None, updates, out, axis, batch_dims, <Mode>mode, wrap_negative,
                          TAKE, NONE, NONE, True, False, n_threads, None, None)
    raise_if_interrupted(status)
    return status


def try_scatter(int kind, wrap_negative, data, indices, updates, axis, batch_dims, reduction, mode, include_self,
                out, int n_threads):
    """Fast path without a plan: the result. None: the call needs a plan, or is an error, and nothing was written.

    data to out are unchecked arguments of the user. For ND axis is 0, for ELEMENTS batch_dims is 0. reduction: the
    name of a registered reduction.
    """
    cdef SmallCall call
    cdef object found
    cdef cnp.ndarray source, update, result, first
    cdef tuple arrays = None
    cdef int code, mode_code, type_code = NONE
    cdef Py_ssize_t status
    cdef char element[MAX_WORD_BYTES]

    if kind == ARRAYS:
        if not is_tuple_of_arrays(indices, True):
            return None
        arrays = indices
        first = get_array(arrays, 0)
    elif type(indices) is cnp.ndarray:
        first = indices
    else:
        return None
    if (type(data) is not cnp.ndarray or type(include_self) is not bool or type(reduction) is not str
            or type(wrap_negative) is not bool):
        return None
    found = code_of_name.get(reduction)
    mode_code = mode_of(mode, "drop")
    if found is None or mode_code < 0 or not describe_small(&call, <Kind>kind, data, first, arrays, axis, batch_dims):
        return None
    source = data
    code = found
    if reductions[code].types:
        type_code = type_code_of(source.descr)
        if (not reductions[code].types >> type_code & 1
                or (cnp.PyArray_ISBYTESWAPPED(source) and cnp.PyArray_SIZE(first) >= MANY_SWAPPED)):
            return None
    if type(updates) is cnp.ndarray:
        update = updates
        if not has_shape(update, call.n_dims, call.shape) or not same_dtype(update, source):
            return None
    else:
        if not write_element(source, updates, element):
            return None
        update = repeated(source, element, call.n_dims, call.shape)
        if update is None:
            return None
    if out is None:
        result = None
        if cnp.PyArray_IS_C_CONTIGUOUS(source):
            result = new_array(source, cnp.PyArray_NDIM(source), <const Py_ssize_t*>cnp.PyArray_DIMS(source))
    else:
        result = usable_out(out, source, cnp.PyArray_NDIM(source), <const Py_ssize_t*>cnp.PyArray_DIMS(source))
        if result is None and out is data and is_writable_in_place(source):
            result = source
        if result is not None and (overlaps_indices(result, first, arrays) or overlap(result, update) or (
                result is not source and (not cnp.PyArray_IS_C_CONTIGUOUS(source) or overlap(result, source)))):
            return None
    if result is None:
        return None
    status = scatter_into(<Kind>kind, None if result is source else source, first, arrays, update, result, call.axis,
                          call.batch_dims, <Mode>mode_code, wrap_negative, <ReductionCode>code, <TypeCode>type_code,
                          NONE, include_self, out is not None, n_threads, None, None)
    raise_if_interrupted(status)
    return result if status == OK else None


def force(int strategy, int n_threads, int adds_bandwidth=-1, Py_ssize_t l2_bytes=-1):
    """For tests: see kernels.forced. 0: not forced; adds_bandwidth, l2_bytes -1: what caches.pxd finds."""
    global forced_strategy, forced_threads
    forced_strategy = strategy
    forced_threads = n_threads
    assume_bandwidth(adds_bandwidth)
    assume_l2(l2_bytes)


def main_thread_is(size_t ident):
    """Set the identifier of the interpreter's main thread, which asks for signals."""
    set_main_thread(ident)


def limit_is_set():
    """Remember OpenMP's choice of now, at which the user's limit was set."""
    remember_choice()


def last_strategy():
    """For tests: the ScatterStrategy that the last call ran."""
    return last
