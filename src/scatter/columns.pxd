# COLUMN_TILES: elements along an axis with a long stride, by tiles of columns (common/columns.pxd). A thread owns whole
# tiles, and applies the updates of a tile's columns row by row: for each destination in the order of the updates.
#
#     data (size × columns) ── pack ──> tile (size × COLUMN_BYTES) ── apply the updates ──> the same columns of out
#
# Elements may be cells (cells.pxd), so that a tile has twice as many bytes.
from cpython.mem cimport PyMem_RawFree as free, PyMem_RawMalloc as malloc  # so that tracemalloc sees it
from cython.parallel cimport prange, threadid
from libc.stdint cimport int64_t, uint64_t, uintptr_t
from libc.string cimport memcpy, memset
cimport numpy as cnp

from common.codes cimport ELEMENTS, OK, SKIP, Kind
from common.columns cimport (
    COLUMN_BYTES, MOST_STOPS, ROWS_AHEAD, ROWS_PER_STEP, ColumnTiles, describe_column_tiles, prefetch_columns,
)
from common.interrupts cimport is_interrupted
from common.items cimport CACHE_LINE, at_line
from common.resolve cimport BLOCK, resolve_strided
from common.stream cimport stream_contiguous, stream_fence
from common.walk cimport DATA, INDICES, OTHER, Cursor, seek
from scatter.accumulate cimport finish_elements, start_elements
from scatter.apply cimport apply_elements
from scatter.cells cimport finish_cells, have_cells, start_cells
from scatter.direct cimport LoopInOrder, Pairs, counted_in_order, loop_in_order, pairs_of
from scatter.job cimport SCRATCH_BYTES, Job, begin_writing, check_tuples, copy_data
from scatter.late_marks cimport (
    REST_NOT_UPDATED, UNKNOWN, Unmarked, can_mark_late, choose_other, identity_of, unmarked_of,
)
from scatter.loops.table cimport loops
from scatter.marks cimport SINK_BYTES, Marks, mark_block, send_to_sinks, start_sinks

cdef struct Columns:
    const Job* job
    ColumnTiles tiles
    bint covers                 # the indices have all columns of the result
    bint has_cells              # elements of a tile are cells (cells.pxd)
    Py_ssize_t row_bytes        # of a tile
    Py_ssize_t tile_bytes
    Py_ssize_t marks_bytes      # of a tile


cdef inline bint describe_columns(Columns* columns, const Job* job, Kind kind, cnp.ndarray out, cnp.ndarray indices,
                                  cnp.ndarray updates, int axis, bint forced) noexcept:
    """Describe the job for COLUMN_TILES. False: it would be slower; with forced: it is impossible."""
    cdef int d
    if (kind != ELEMENTS or not job.step.by_value or (job.marks.width and not job.accumulates)
            or not describe_column_tiles(&columns.tiles, &job.tuples, out, indices, updates, axis, False, forced)):
        return False
    columns.job = job
    columns.covers = True
    for d in range(cnp.PyArray_NDIM(out)):
        columns.covers &= d == axis or cnp.PyArray_DIM(indices, d) == cnp.PyArray_DIM(out, d)
    columns.has_cells = have_cells(job) and job.tuples.mode != SKIP
    columns.row_bytes = 2 * COLUMN_BYTES if columns.has_cells else COLUMN_BYTES
    columns.tile_bytes = columns.tiles.size * columns.row_bytes
    columns.marks_bytes = 0
    if not columns.has_cells:
        columns.marks_bytes = columns.tiles.size * columns.tiles.columns_per_tile * job.marks.width
    return forced or columns.tiles.outer.n * columns.tiles.n_tiles >= job.n_threads


cdef inline bint apply_tile(const Columns* columns, const Marks* marks, char* tile, Py_ssize_t n_columns,
                            const char* indices, const char* updates, bint only_marks) noexcept nogil:
    """Apply the updates of a tile, row by row. False: an index is out of bounds, or the kernel was interrupted."""
    cdef const Job* job = columns.job
    cdef const ColumnTiles* tiles = &columns.tiles
    cdef int64_t offsets[BLOCK]
    cdef char sinks[SINK_BYTES]
    cdef bint skips = job.tuples.mode == SKIP
    cdef Py_ssize_t update_step = tiles.other_column, width = job.step.row.item_bytes
    cdef Py_ssize_t row, start, n, n_stops = 0
    cdef LoopInOrder loop = NULL
    cdef Pairs pairs
    cdef const char* row_updates
    cdef uint64_t out_of_bounds = 0
    start_sinks(sinks, BLOCK)
    if tiles.tuples.trivial and update_step == width and not only_marks and (columns.has_cells or not marks.width):
        loop = loop_in_order(&job.step)
        if columns.has_cells:
            loop = counted_in_order(job.step.reduction, job.step.type_code, 1)
        pairs = pairs_of(&tiles.tuples, &tiles.outer)
        pairs.columns = <int>tiles.columns_per_tile
    for row in range(tiles.n_rows):
        prefetch_columns(<uintptr_t>indices + (row + ROWS_AHEAD) * tiles.index_row, n_columns * job.tuples.width)
        prefetch_columns(<uintptr_t>updates + (row + ROWS_AHEAD) * tiles.other_row, n_columns * width)
        if row % ROWS_PER_STEP == 0 and is_interrupted(job.interrupts, 2 * ROWS_PER_STEP * n_columns):
            return False
        start = 0
        if loop != NULL and n_stops <= MOST_STOPS + row // 8:
            pairs.first = indices + row * tiles.index_row
            start = loop(&pairs, tile, updates + row * tiles.other_row, width, n_columns)
            n_stops += start < n_columns
        while start < n_columns:
            n = min(<Py_ssize_t>BLOCK, n_columns - start)
            row_updates = updates + row * tiles.other_row + start * update_step
            resolve_strided(&tiles.tuples,
                            indices + row * tiles.index_row + start * tiles.index_column,
                            tiles.index_column, start * width, width, n, offsets, &out_of_bounds)
            if out_of_bounds:
                return False
            if columns.has_cells:
                loops.reduce_cells(job.step.reduction, job.step.type_code, tile, offsets, row_updates, update_step,
                                   n)
                start += n
                continue
            if marks.width:
                mark_block(marks, &job.step, skips, tile, offsets, row_updates, NULL, update_step, n, sinks)
            if only_marks:
                start += n
                continue
            if skips:
                send_to_sinks(offsets, n, tile, sinks)
            apply_elements(&job.step, tile, offsets, row_updates, update_step, n)
            start += n
    return True


cdef inline bint run_column_tile(const Columns* columns, Py_ssize_t task, char* tile, char* table) noexcept nogil:
    """One tile of columns at one position of the outer axes. False: an index is out of bounds."""
    cdef const Job* job = columns.job
    cdef const ColumnTiles* tiles = &columns.tiles
    cdef Cursor cursor
    cdef Marks marks = job.marks
    cdef Marks none = job.marks
    cdef bint is_late = can_mark_late(job) and not columns.has_cells, streams
    cdef char memory[COLUMN_BYTES + CACHE_LINE]
    cdef char* piece = at_line(memory)
    cdef char* tile_row
    cdef char* row_out
    cdef Unmarked what = UNKNOWN
    cdef Py_ssize_t width = job.step.row.item_bytes
    cdef Py_ssize_t column = task % tiles.n_tiles * tiles.columns_per_tile
    cdef Py_ssize_t n_columns = min(tiles.columns_per_tile, tiles.n_columns - column)
    cdef Py_ssize_t offset, row
    cdef const char* data
    cdef const char* indices
    cdef const char* updates
    cdef char* out
    seek(&tiles.outer, task // tiles.n_tiles, &cursor)
    offset = cursor.offset[DATA] + column * width
    out = job.out + offset
    data = job.data + offset if job.data != NULL else out
    indices = tiles.tuples.base + cursor.offset[INDICES] + column * tiles.index_column
    updates = job.updates + cursor.offset[OTHER] + column * tiles.other_column
    streams = (job.data != NULL and job.streams and n_columns == tiles.columns_per_tile
               and ((<uintptr_t>out | <uintptr_t>tiles.data_row) & (CACHE_LINE - 1)) == 0)
    marks.assigns = False
    marks.table = table
    none.width = 0
    memset(table, 0, columns.marks_bytes)
    for row in range(tiles.size):
        prefetch_columns(<uintptr_t>data + (row + ROWS_AHEAD) * tiles.data_row, n_columns * width)
        if columns.has_cells:
            start_cells(job, tile + row * columns.row_bytes, data + row * tiles.data_row, n_columns)
        elif marks.width:
            start_elements(job, tile + row * COLUMN_BYTES, data + row * tiles.data_row, n_columns)
        else:
            memcpy(tile + row * COLUMN_BYTES, data + row * tiles.data_row, n_columns * width)
    if not apply_tile(columns, &none if is_late else &marks, tile, n_columns, indices, updates, False):
        return False
    if is_late:
        what = unmarked_of(job, tile, COLUMN_BYTES, tiles.size, n_columns,
                           updates if tiles.other_column == width else NULL, tiles.other_row, tiles.n_rows, n_columns)
        if what == UNKNOWN and not apply_tile(columns, &marks, tile, n_columns, indices, updates, True):
            return False
    for row in range(tiles.size):
        tile_row = tile + row * columns.row_bytes
        row_out = out + row * tiles.data_row
        if streams:
            row_out = piece
        if what == REST_NOT_UPDATED:
            choose_other(width, identity_of(job), tile_row, data + row * tiles.data_row, row_out, n_columns)
        elif columns.has_cells:
            finish_cells(job, tile_row, data + row * tiles.data_row, row_out, n_columns)
        elif marks.width and what == UNKNOWN:
            finish_elements(job, &marks, tile_row, data + row * tiles.data_row, row_out, n_columns)
            marks.table += tiles.columns_per_tile * marks.width
        elif streams:
            row_out = tile_row
        else:
            memcpy(row_out, tile_row, n_columns * width)
        if streams:
            stream_contiguous(out + row * tiles.data_row, row_out, COLUMN_BYTES)
    if streams:
        stream_fence()
    return True


cdef inline Py_ssize_t run_columns_task(const Columns* columns, Py_ssize_t task, int thread,
                                        char* tiles) noexcept nogil:
    """1 if an index is out of bounds, else 0."""
    cdef char* tile = tiles + thread * (columns.tile_bytes + columns.marks_bytes)
    return not run_column_tile(columns, task, tile, tile + columns.tile_bytes)


cdef inline bint run_columns(const Columns* columns, Job* job, Py_ssize_t* bad) noexcept:
    """False: there is no memory, and nothing was written."""
    cdef Py_ssize_t n_tasks = columns.tiles.outer.n * columns.tiles.n_tiles
    cdef Py_ssize_t task, n_bad = 0
    cdef Py_ssize_t bytes_each = max(columns.tile_bytes + columns.marks_bytes, <Py_ssize_t>1)
    # At least one task for the caller's thread, which alone asks for signals.
    cdef Py_ssize_t most = max(min(n_tasks, SCRATCH_BYTES // bytes_each), <Py_ssize_t>1)
    cdef int n_threads = <int>min(<Py_ssize_t>job.n_threads, most)
    cdef char* tiles = <char*>malloc(n_threads * bytes_each)
    if tiles == NULL:
        return False
    bad[0] = begin_writing(job, job.checks_first)
    if bad[0] == OK:
        if not columns.covers:
            copy_data(job)
        if n_threads == 1:
            with nogil:
                for task in range(n_tasks):
                    n_bad += run_columns_task(columns, task, 0, tiles)
        else:
            for task in prange(n_tasks, num_threads=n_threads, schedule="dynamic", chunksize=1, nogil=True):
                n_bad += run_columns_task(columns, task, threadid(), tiles)
        if n_bad:
            bad[0] = check_tuples(job)  # finds the position
            if bad[0] == OK and not job.interrupts.stopped:  # another thread has changed the index back
                bad[0] = 0
    free(tiles)
    return True
