# accumulate_dtype: destinations are accumulated in a table of a wider dtype, and rounded once at the end.
#
#     data ── widen ──> table ── apply widened updates ──> table ── divide means, narrow ──> out
#
# The table is bounded. A large result is cut into windows of rows, and long rows into pieces; a task (wide.pxd) has a
# table for one piece of one window. It resolves all tuples and applies the updates of its rows, in order; other threads
# run other tasks. There are four ways to cut a result:
#
#     UNITS       a window is some units (units.pxd): it takes only their tuples
#     WINDOWS     a range of rows; for neighbouring tuples, cut anew in local_windows.pxd
#     ROW_PIECES  the same for a piece of each row
#     SERIAL      few updates of a large or strided result: the table has only the rows with updates, found by hashing
#
# Two other ways need no such table: ROWS, for rows of a cache line or more of a new result, widens some rows at a time
# (wide_rows.pxd), and PARTITION, for many updates of a large result, has tiles of accumulators (partition.pxd).
from libc.stdint cimport int32_t, int64_t
cimport numpy as cnp

from common.caches cimport cores_add_bandwidth
from common.codes cimport NO_MEMORY, OK, Kind, Mode, TypeCode
from common.describe cimport describe
from common.items cimport CACHE_LINE
from common.resolve cimport Tuples, find_trivial
from common.rows cimport empty_row
from common.strategies cimport AUTO, ROW_PIECES, SERIAL, UNITS, WINDOWS, ScatterStrategy
from common.walk cimport DATA, MAX_DIMS, OTHER, Walk, add_axis, finish_walk, is_linear, start_walk
from scatter.apply cimport finish_step
from scatter.conversions cimport pair_of
from scatter.job cimport SCRATCH_BYTES, Job, row_items
from scatter.loops.table cimport F32_F64
from scatter.marks cimport Marks, describe_marks
from scatter.reductions cimport Step
from scatter.units cimport Units
from scatter.widen cimport BUFFER_BYTES, adds_floats

cdef enum:
    UNITS_BYTES = 1 << 17       # of a window of units: L2 holds it
    SPARSE = 8                  # rows per update from which the table has only the rows with updates
    ADDED_ROW = 2 * CACHE_LINE  # bytes of a row of sums, in add_window; updates have half, and are one stream
    ONE_TABLE_BYTES = 1 << 20   # of a table of elements that one thread adds to: L2 holds it
    WINDOWS_THREADS = 4         # at most, each of which resolves all tuples
    SLOT_BYTES = 12             # of a hash table: a key, and the number of a table's row

cdef struct Wide:
    const Job* job
    # A tuple's offset is here that of its row in a table with all rows of the result.
    Tuples tuples
    Walk walk
    Walk leading                # the rows of the result: their offsets in it
    Step step                   # of accumulators and widened updates. Its row is a row of the table
    Marks marks
    Py_ssize_t n_rows           # of the result
    Py_ssize_t n_items          # of a row
    Py_ssize_t pitch            # bytes of a row of the table
    Py_ssize_t piece_items      # of a row of the table
    Py_ssize_t n_pieces
    Py_ssize_t window_rows
    Py_ssize_t window_tuples    # UNITS: the tuples that belong to a window; 0: all
    Py_ssize_t n_windows
    Py_ssize_t table_rows       # the most rows of a table
    Py_ssize_t n_slots          # SERIAL: of the hash table
    # WINDOWS by blocks of tuples (local_windows.pxd), if `blocks` is not NULL
    Py_ssize_t block_tuples
    Py_ssize_t n_blocks
    int32_t* first_window       # of each block
    int32_t* last_window        # less than the first one: its tuples are skipped
    Py_ssize_t* last_block      # where each window's end in `blocks`, which is where those of the next one begin
    int32_t* blocks
    bint is_guess               # the list is right if the tuples are sorted: n_applied tells whether it was
    Py_ssize_t* n_applied       # updates, by thread
    bint updates_are_linear
    bint rows_are_adjacent      # short rows of updates that are widened a block at a time
    bint is_flat                # data and the result are one run of items
    int n_threads
    char* memory
    Py_ssize_t memory_bytes     # of a thread

cdef inline Py_ssize_t describe_wide(Wide* wide, const Job* job, Kind kind, cnp.ndarray indices, tuple arrays,
                                     cnp.ndarray updates, cnp.ndarray out, int axis, int batch_dims, Mode mode,
                                     bint wrap_negative, int row_axis) noexcept:
    """Describe all but the way to cut. Returns a Status, as `describe` does."""
    cdef cnp.npy_intp shape[MAX_DIMS]
    cdef cnp.ndarray row_ids
    cdef int d, _row_axis, _updates_axis
    cdef Py_ssize_t status
    wide.job = job
    wide.n_items = row_items(job)
    wide.n_rows = 1
    start_walk(&wide.leading)
    for d in range(cnp.PyArray_NDIM(out)):
        shape[d] = cnp.PyArray_DIM(out, d) if d < row_axis else 1
        wide.n_rows *= shape[d]
        if d < row_axis:
            add_axis(&wide.leading, shape[d], 0, cnp.PyArray_STRIDE(out, d), 0)
    finish_walk(&wide.leading)
    # In an array of one byte for each row, the offset of a row is its number.
    try:
        row_ids = cnp.PyArray_SimpleNewFromData(cnp.PyArray_NDIM(out), shape, cnp.NPY_UINT8, cnp.PyArray_DATA(out))
        status = describe(kind, row_ids, indices, arrays, updates, axis, batch_dims, mode, wrap_negative, &wide.tuples,
                          &wide.walk, &_row_axis, &_updates_axis)
    except Exception:
        status = NO_MEMORY
    if status != OK:
        return status
    wide.tuples.prefetches = job.tuples.prefetches
    wide.updates_are_linear = is_linear(&wide.walk, OTHER)
    wide.step = job.wide_step
    return OK


cdef inline void describe_accumulators(Job* job, TypeCode accumulate, Py_ssize_t width) noexcept nogil:
    """accumulate: of the dtype of accumulators; width: bytes of one."""
    job.conversion.pair = pair_of(job.step.type_code, accumulate)
    job.conversion.swapped = job.step.swapped
    job.conversion.narrow_bytes = job.step.row.item_bytes
    job.conversion.wide_bytes = width
    job.wide_step.reduction = job.step.reduction
    job.wide_step.type_code = accumulate
    job.wide_step.swapped = 0
    job.wide_step.is_rare = False
    job.wide_step.is_near = False
    empty_row(&job.wide_step.row)
    job.wide_step.row.item_bytes = width
    job.wide_step.row.n_inner = row_items(job)
    job.wide_step.row.inner_data = width
    job.wide_step.row.inner_other = width
    finish_step(&job.wide_step)


cdef inline void set_pitch(Wide* wide, Py_ssize_t piece_items) noexcept nogil:
    """Cut rows into pieces, which are adjacent in a table."""
    cdef const Job* job = wide.job
    cdef Py_ssize_t width = wide.job.conversion.narrow_bytes
    cdef int d
    wide.piece_items = piece_items
    wide.n_pieces = (wide.n_items + piece_items - 1) // piece_items
    wide.pitch = piece_items * wide.job.conversion.wide_bytes
    for d in range(wide.tuples.k):
        wide.tuples.stride[d] *= wide.pitch
    for d in range(wide.walk.n_dims):
        wide.walk.stride[d][DATA] *= wide.pitch
    find_trivial(&wide.tuples)
    wide.step.row.n_inner = piece_items
    describe_marks(&wide.marks, not job.include_self, job.divides, wide.walk.n, wide.pitch)
    wide.is_flat = job.is_contiguous and wide.n_pieces == 1
    wide.rows_are_adjacent = (
        wide.n_pieces == 1 and wide.pitch <= CACHE_LINE and job.step.row.outer.n == 1
        and (wide.n_items == 1 or job.step.row.inner_other == width)
        and (wide.n_items == 1 or wide.walk.stride[wide.walk.n_dims - 1][OTHER] == wide.n_items * width))


cdef inline bint adds_in_windows(const Wide* wide) noexcept nogil:
    """Whether add_window can apply the updates."""
    return (wide.n_slots == 0 and wide.n_pieces == 1 and wide.pitch <= ADDED_ROW
            and adds_floats(wide.job, &wide.marks))


cdef inline Py_ssize_t cut_windows(Wide* wide, Py_ssize_t n_rows) noexcept nogil:
    wide.window_rows = max(<Py_ssize_t>1, min(n_rows, wide.n_rows))
    wide.n_windows = (wide.n_rows + wide.window_rows - 1) // wide.window_rows
    wide.table_rows = wide.window_rows
    return wide.n_windows


cdef inline bint is_sparse(Wide* wide, bint forced) noexcept nogil:
    """Whether the tables have only the rows with updates, found by hashing."""
    cdef Py_ssize_t most = min(wide.walk.n, wide.n_rows)
    if not forced and wide.n_rows // SPARSE < wide.walk.n:
        return False
    if most > SCRATCH_BYTES // wide.pitch:
        return False
    wide.n_slots = 16
    while wide.n_slots < 2 * most:
        wide.n_slots *= 2
    if most * (wide.pitch + <Py_ssize_t>sizeof(int64_t)) + wide.n_slots * SLOT_BYTES > SCRATCH_BYTES:
        wide.n_slots = 0
        return False
    cut_windows(wide, wide.n_rows)
    wide.table_rows = most
    return True


cdef inline ScatterStrategy choose_cut(Wide* wide, const Units* units, int forced) noexcept nogil:
    """Cut the result into windows and pieces."""
    cdef Py_ssize_t width = wide.job.conversion.wide_bytes
    cdef Py_ssize_t piece = max(<Py_ssize_t>1, min(wide.n_items, BUFFER_BYTES // width))
    cdef Py_ssize_t unit_tuples = units.unit_tuples, per_window, each
    cdef int n_threads = wide.job.n_threads
    wide.window_tuples = 0
    wide.n_slots = 0
    wide.first_window = NULL
    wide.last_block = NULL
    wide.blocks = NULL
    wide.is_guess = False
    if forced == ROW_PIECES:
        piece = max(<Py_ssize_t>1, min(piece, wide.n_items // n_threads))
    set_pitch(wide, piece)
    if (forced == AUTO or forced == SERIAL) and is_sparse(wide, forced == SERIAL):
        if wide.n_pieces == 1:
            n_threads = 1
        each = wide.table_rows * (wide.pitch + <Py_ssize_t>sizeof(int64_t)) + wide.n_slots * SLOT_BYTES
        wide.n_threads = <int>max(<Py_ssize_t>1, min(<Py_ssize_t>n_threads, SCRATCH_BYTES // each))
        return SERIAL
    each = max(<Py_ssize_t>1, SCRATCH_BYTES // n_threads // wide.pitch)  # rows of a table
    wide.n_threads = n_threads
    if ((forced == AUTO or forced == UNITS) and units.unit_bytes and 1 < units.n_units and wide.n_pieces == 1
            and units.unit_rows <= each and (forced == UNITS or units.n_units >= n_threads)):
        per_window = (units.n_units + 4 * n_threads - 1) // (4 * n_threads)
        per_window = max(<Py_ssize_t>1, min(per_window, UNITS_BYTES // (units.unit_rows * wide.pitch)))
        cut_windows(wide, per_window * units.unit_rows)
        wide.window_tuples = per_window * unit_tuples
        return UNITS
    # Each window resolves all tuples: more than one only if their rows take longer, or miss L2.
    if (forced == WINDOWS or forced == ROW_PIECES or wide.pitch >= CACHE_LINE
            or (cores_add_bandwidth() and n_threads <= WINDOWS_THREADS and wide.n_rows * wide.pitch > ONE_TABLE_BYTES
                and (wide.n_items == 1 or wide.job.conversion.pair == F32_F64))):
        each = min(each, (wide.n_rows + n_threads - 1) // n_threads)
    else:
        each = min(wide.n_rows, SCRATCH_BYTES // wide.pitch // n_threads)
        if wide.n_rows <= SCRATCH_BYTES // wide.pitch:
            each = wide.n_rows
    if cut_windows(wide, each) * wide.n_pieces < n_threads:
        wide.n_threads = <int>(wide.n_windows * wide.n_pieces)
    return WINDOWS if wide.n_pieces == 1 else ROW_PIECES
