# COLUMNS: tiles of columns (common/columns.pxd). A tile is packed, then gathered from.
#
#     data (size × columns) ── pack ──> tile (size × COLUMN_BYTES) ── gather ──> the same columns of out
from cpython.mem cimport PyMem_RawFree as free, PyMem_RawMalloc as malloc  # so that tracemalloc sees it
from cython.parallel cimport prange, threadid
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.string cimport memcpy
cimport numpy as cnp

from common.columns cimport (
    COLUMN_BYTES, MOST_STOPS, ROWS_AHEAD, ROWS_PER_STEP, ColumnTiles, describe_column_tiles, prefetch_columns,
)
from common.interrupts cimport is_interrupted
from common.items cimport CACHE_LINE, at_line, bytes16, inline_void, word_t
from common.resolve cimport resolve_strided
from common.stream cimport stream_contiguous, stream_fence
from common.threads cimport team_size
from common.walk cimport DATA, INDICES, OTHER, Cursor, seek
from gather.blocks cimport select_fill
from gather.job cimport Job

cdef extern from "gather/loops/columns.h":
    ctypedef Py_ssize_t (*ColumnLoop "gs_column_loop")(const char* tile, int64_t size, const char* indices, char* out,
                                                       Py_ssize_t n) noexcept nogil
    ColumnLoop column_loop_of "gs_column_loop_of" (Py_ssize_t item_bytes, int index_bytes,
                                                   Py_ssize_t row_bytes) noexcept nogil

cdef struct Columns:
    const Job* job
    ColumnTiles tiles
    ColumnLoop loop     # NULL: indices are not plain, or not adjacent


cdef inline inline_void move_columns(word_t* type, const char* tile, const int64_t* offsets, Py_ssize_t n_columns,
                                     char* out) noexcept nogil:
    cdef Py_ssize_t j
    cdef word_t item
    for j in range(n_columns):
        memcpy(&item, tile + offsets[j], sizeof(word_t))
        memcpy(out + j * <Py_ssize_t>sizeof(word_t), &item, sizeof(word_t))


cdef inline inline_void move_tile(word_t* type, const Columns* columns, const char* tile, Py_ssize_t n_columns,
                                  const char* indices, char* out, int64_t* out_of_bounds) noexcept nogil:
    """Row by row: by the loop of loops/columns.h, unless too many rows have negative indices, or else in two steps."""
    cdef const ColumnTiles* tiles = &columns.tiles
    cdef int64_t offsets[COLUMN_BYTES]
    cdef char memory[COLUMN_BYTES + CACHE_LINE]
    cdef char* piece = at_line(memory)
    cdef char* row_out
    cdef const char* row_indices
    cdef const char* fill = columns.job.fill
    cdef bint streams = (columns.job.streams and n_columns == COLUMN_BYTES // sizeof(word_t)
                         and ((<uintptr_t>out | <uintptr_t>tiles.other_row) & (CACHE_LINE - 1)) == 0)
    cdef Py_ssize_t row, n_stops = 0
    cdef uint64_t outside = 0
    for row in range(tiles.n_rows):
        row_indices = indices + row * tiles.index_row
        row_out = out + row * tiles.other_row
        prefetch_columns(<uintptr_t>row_indices + ROWS_AHEAD * tiles.index_row, n_columns * tiles.tuples.width)
        if row % ROWS_PER_STEP == 0 and is_interrupted(columns.job.interrupts, ROWS_PER_STEP * n_columns):
            out_of_bounds[0] = -1
            break
        if columns.loop != NULL and n_stops <= MOST_STOPS + row // 8:
            if columns.loop(tile, tiles.size, row_indices, piece if streams else row_out, n_columns) == n_columns:
                if streams:
                    stream_contiguous(row_out, piece, COLUMN_BYTES)
                continue
            n_stops += 1
        resolve_strided(&tiles.tuples, row_indices, tiles.index_column, 0, sizeof(word_t), n_columns, offsets, &outside)
        if outside:
            out_of_bounds[0] = -1
            break
        if fill != NULL:
            select_fill(offsets, n_columns, <int64_t>(<size_t>fill - <size_t>tile), offsets)
        move_columns(type, tile, offsets, n_columns, row_out)
    if streams:
        stream_fence()


cdef inline void run_tile(const Columns* columns, Py_ssize_t task, char* tile,
                          int64_t* out_of_bounds) noexcept nogil:
    """One tile of columns at one position of the outer axes.

    out_of_bounds becomes negative if an index is, or if the kernel was interrupted.
    """
    cdef const ColumnTiles* tiles = &columns.tiles
    cdef Cursor cursor
    cdef Py_ssize_t width = columns.job.itemsize
    cdef Py_ssize_t column = task % tiles.n_tiles * tiles.columns_per_tile
    cdef Py_ssize_t n_columns = min(tiles.columns_per_tile, tiles.n_columns - column)
    cdef Py_ssize_t i
    cdef const char* data
    cdef const char* indices
    cdef char* out

    seek(&tiles.outer, task // tiles.n_tiles, &cursor)
    data = columns.job.data + cursor.offset[DATA] + column * width
    indices = tiles.tuples.base + cursor.offset[INDICES] + column * tiles.index_column
    out = columns.job.out + cursor.offset[OTHER] + column * width
    if n_columns == tiles.columns_per_tile:
        for i in range(tiles.size):
            prefetch_columns(<uintptr_t>data + (i + ROWS_AHEAD) * tiles.data_row, COLUMN_BYTES)
            memcpy(tile + i * COLUMN_BYTES, data + i * tiles.data_row, COLUMN_BYTES)
    else:
        for i in range(tiles.size):
            memcpy(tile + i * COLUMN_BYTES, data + i * tiles.data_row, n_columns * width)
    if width == 4:
        move_tile(<uint32_t*>NULL, columns, tile, n_columns, indices, out, out_of_bounds)
    elif width == 8:
        move_tile(<uint64_t*>NULL, columns, tile, n_columns, indices, out, out_of_bounds)
    elif width == 2:
        move_tile(<uint16_t*>NULL, columns, tile, n_columns, indices, out, out_of_bounds)
    elif width == 1:
        move_tile(<uint8_t*>NULL, columns, tile, n_columns, indices, out, out_of_bounds)
    else:
        move_tile(<bytes16*>NULL, columns, tile, n_columns, indices, out, out_of_bounds)


cdef inline bint describe_columns(Columns* columns, const Job* job, cnp.ndarray data, cnp.ndarray indices,
                                  cnp.ndarray out, int axis, bint forced) noexcept:
    """Describe the job for COLUMNS. False: it would be slower; with forced: it is impossible."""
    columns.job = job
    if not describe_column_tiles(&columns.tiles, &job.tuples, data, indices, out, axis, True, forced):
        return False
    columns.loop = NULL
    if columns.tiles.tuples.trivial:
        columns.loop = column_loop_of(job.itemsize, columns.tiles.tuples.width, COLUMN_BYTES)
    return True


cdef inline Py_ssize_t run_columns_task(const Columns* columns, Py_ssize_t task, char* tile) noexcept nogil:
    """1 if an index is out of bounds or the kernel was interrupted, else 0."""
    cdef int64_t out_of_bounds = 0
    run_tile(columns, task, tile, &out_of_bounds)
    return out_of_bounds < 0


cdef inline bint run_columns(const Columns* columns) noexcept:
    """False: run BLOCKS, to find an index that is out of bounds or for want of memory; or it was interrupted."""
    cdef const ColumnTiles* tiles = &columns.tiles
    cdef Py_ssize_t n_tasks = tiles.outer.n * tiles.n_tiles
    cdef Py_ssize_t tile_bytes = tiles.size * COLUMN_BYTES
    cdef double work_ns = <double>tiles.outer.n * tiles.n_columns * (tiles.size + 2 * tiles.n_rows)
    cdef int n_threads = team_size(columns.job.max_threads, work_ns)
    cdef Py_ssize_t task, n_bad = 0
    cdef char* memory
    n_threads = <int>max(min(<Py_ssize_t>n_threads, n_tasks), <Py_ssize_t>1)
    memory = <char*>malloc(n_threads * tile_bytes)
    if memory == NULL:
        return False
    if n_threads == 1:
        with nogil:
            for task in range(n_tasks):
                n_bad += run_columns_task(columns, task, memory)
    else:
        for task in prange(n_tasks, num_threads=n_threads, schedule="dynamic", chunksize=1, nogil=True):
            n_bad += run_columns_task(columns, task, memory + threadid() * tile_bytes)
    free(memory)
    return n_bad == 0
