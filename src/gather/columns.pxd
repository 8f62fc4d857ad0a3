# Columns: elements along an axis with a long stride. Columns of data are packed into a tile that fits L2, and gathered from
# it. Without packing each element would take a separate cache line.
#
#     data (size × columns) ── pack ──> tile (size × COLUMN_BYTES) ── gather ──> the same columns of out
from cpython.mem cimport PyMem_RawFree as free, PyMem_RawMalloc as malloc  # so that tracemalloc sees it
from cython.parallel cimport prange, threadid
from libc.stdint cimport int64_t, uint64_t, uintptr_t
from libc.string cimport memcpy
cimport numpy as cnp

from common.copies cimport copy_items
from common.interrupts cimport is_interrupted
from common.items cimport CACHE_LINE, ROWS_AHEAD, at_line, fits_register, inline_void, prefetch_l2
from common.resolve cimport BLOCK, Tuples, find_simple, resolve_strided
from common.stream cimport stream_contiguous, stream_fence
from common.walk cimport DATA, INDICES, OTHER, Cursor, Walk, add_axis, finish_walk, seek, start_walk
from gather.direct cimport select_fill
from gather.job cimport Job

cdef extern from "gather/loops/columns.h":
    ctypedef Py_ssize_t (*ColumnLoop "gs_column_loop")(const char* tile, int64_t size, const char* indices, char* out,
                                                       Py_ssize_t n) noexcept nogil
    ColumnLoop column_loop_of "gs_column_loop_of" (Py_ssize_t item_bytes, int index_bytes,
                                                   Py_ssize_t row_bytes) noexcept nogil

cdef enum:
    COLUMN_BYTES = 256          # of a tile's row: long enough for the hardware to read and write whole lines
    MAX_TILE_BYTES = 1 << 21    # so that L2 holds most of it
    MIN_COLUMNS_BYTES = 1 << 20  # of data: for less, packing is slower
    MOST_STOPS = 16             # rows with negative indices, before the loop that stops at them is given up

cdef struct Columns:
    const Job* job
    Tuples tuples               # indices into a tile
    Walk outer                  # all axes but the indexed one and that of the columns
    Py_ssize_t size             # of data along the axis
    Py_ssize_t n_rows           # of indices along the axis
    Py_ssize_t n_columns
    Py_ssize_t data_row, index_row, out_row     # strides along the axis
    Py_ssize_t index_column                     # stride along the columns, which are adjacent in data and in out
    Py_ssize_t columns_per_tile
    Py_ssize_t n_tiles
    ColumnLoop loop             # NULL: indices are not plain, or not adjacent


cdef inline bint describe_columns(Columns* columns, const Job* job, cnp.ndarray data, cnp.ndarray indices,
                                  cnp.ndarray out, int axis, bint forced) noexcept:
    """Describe the tiles of gather_elements. False: they would be slower; with forced: they are impossible."""
    cdef Tuples* tuples = &columns.tuples
    cdef int r = cnp.PyArray_NDIM(data)
    cdef int d, column_axis = -1
    if not fits_register(job.itemsize):
        return False
    for d in range(r):
        if d != axis and cnp.PyArray_STRIDE(data, d) == cnp.PyArray_STRIDE(out, d) == job.itemsize:
            column_axis = d
    if column_axis < 0:
        return False
    columns.job = job
    columns.size = cnp.PyArray_DIM(data, axis)
    columns.n_rows = cnp.PyArray_DIM(indices, axis)
    columns.n_columns = cnp.PyArray_DIM(indices, column_axis)
    columns.columns_per_tile = COLUMN_BYTES // job.itemsize
    if columns.size * COLUMN_BYTES > MAX_TILE_BYTES or not forced and (
            cnp.PyArray_NBYTES(data) < MIN_COLUMNS_BYTES or columns.n_columns < columns.columns_per_tile):
        return False
    columns.data_row = cnp.PyArray_STRIDE(data, axis)
    columns.index_row = cnp.PyArray_STRIDE(indices, axis)
    columns.out_row = cnp.PyArray_STRIDE(out, axis)
    columns.index_column = cnp.PyArray_STRIDE(indices, column_axis)
    columns.n_tiles = (columns.n_columns + columns.columns_per_tile - 1) // columns.columns_per_tile
    tuples.base = job.tuples.base
    tuples.kind = job.tuples.kind
    tuples.width = job.tuples.width
    tuples.swapped = job.tuples.swapped
    tuples.mode = job.tuples.mode
    tuples.k = 1
    tuples.component_stride = 0
    tuples.prefetches = False
    tuples.size[0] = columns.size
    tuples.wrap[0] = job.tuples.wrap[0]
    tuples.stride[0] = COLUMN_BYTES
    find_simple(tuples)
    columns.loop = NULL
    if tuples.shifts and columns.index_column == tuples.width and cnp.PyArray_ISALIGNED(indices):
        columns.loop = column_loop_of(job.itemsize, tuples.width, COLUMN_BYTES)
    start_walk(&columns.outer)
    for d in range(r):
        if d != axis and d != column_axis:
            add_axis(&columns.outer, cnp.PyArray_DIM(indices, d), cnp.PyArray_STRIDE(indices, d),
                     cnp.PyArray_STRIDE(data, d), cnp.PyArray_STRIDE(out, d))
    finish_walk(&columns.outer)
    return True


cdef inline inline_void prefetch_columns(uintptr_t row, Py_ssize_t n_bytes) noexcept nogil:
    """The hardware follows no strides of more than a page. row: an address, which may be past the end of an array."""
    cdef Py_ssize_t i = 0
    while i < n_bytes:
        prefetch_l2(<const void*>(row + i))
        i += CACHE_LINE
    prefetch_l2(<const void*>(row + n_bytes - 1))  # a row that is not aligned touches one line more


cdef inline bint move_tile(const Columns* columns, const char* tile, Py_ssize_t n_columns, const char* indices,
                           char* out) noexcept nogil:
    """Row by row: by the loop of loops/columns.h, unless too many rows have negative indices, or else in two steps.

    False: an index is out of bounds, or the kernel was interrupted.
    """
    cdef int64_t offsets[COLUMN_BYTES]
    cdef char memory[COLUMN_BYTES + CACHE_LINE]
    cdef char* packed = at_line(memory)
    cdef const char* fill = columns.job.fill
    cdef Py_ssize_t width = columns.job.itemsize
    cdef bint streams = (columns.job.streams and n_columns == columns.columns_per_tile
                         and ((<uintptr_t>out | <uintptr_t>columns.out_row) & (CACHE_LINE - 1)) == 0)
    cdef Py_ssize_t row, n_stops = 0
    cdef uint64_t outside = 0
    cdef bint done
    for row in range(columns.n_rows):
        prefetch_columns(<uintptr_t>indices + ROWS_AHEAD * columns.index_row, n_columns * columns.tuples.width)
        if row % BLOCK == 0 and is_interrupted(columns.job.interrupts, BLOCK * n_columns):
            outside = 1
            break
        done = False
        if columns.loop != NULL and n_stops <= MOST_STOPS + row // 8:
            done = columns.loop(tile, columns.size, indices, packed if streams else out, n_columns) == n_columns
            n_stops += not done
        if done and streams:
            stream_contiguous(out, packed, COLUMN_BYTES)
        if not done:
            resolve_strided(&columns.tuples, indices, columns.index_column, 0, width, n_columns, offsets, &outside)
            if outside:
                break
            if fill != NULL:
                select_fill(offsets, n_columns, <int64_t>(<size_t>fill - <size_t>tile), offsets)
            copy_items(width, tile, offsets, n_columns, out, width)
        indices += columns.index_row
        out += columns.out_row
    if streams:
        stream_fence()
    return outside == 0


cdef inline bint run_tile(const Columns* columns, Py_ssize_t task, char* tile) noexcept nogil:
    """One tile of columns at one position of the outer axes. False: as move_tile."""
    cdef Cursor cursor
    cdef Py_ssize_t width = columns.job.itemsize
    cdef Py_ssize_t column = task % columns.n_tiles * columns.columns_per_tile
    cdef Py_ssize_t n_columns = min(columns.columns_per_tile, columns.n_columns - column)
    cdef Py_ssize_t i
    cdef const char* data
    seek(&columns.outer, task // columns.n_tiles, &cursor)
    data = columns.job.data + cursor.offset[DATA] + column * width
    if n_columns == columns.columns_per_tile:
        for i in range(columns.size):
            prefetch_columns(<uintptr_t>data + (i + ROWS_AHEAD) * columns.data_row, COLUMN_BYTES)
            memcpy(tile + i * COLUMN_BYTES, data + i * columns.data_row, COLUMN_BYTES)
    else:
        for i in range(columns.size):
            memcpy(tile + i * COLUMN_BYTES, data + i * columns.data_row, n_columns * width)
    return move_tile(columns, tile, n_columns,
                     columns.tuples.base + cursor.offset[INDICES] + column * columns.index_column,
                     columns.job.out + cursor.offset[OTHER] + column * width)


cdef inline bint run_columns(const Columns* columns) noexcept:
    """False: take direct, to find an index that is out of bounds or for want of memory; or it was interrupted."""
    cdef Py_ssize_t n_tasks = columns.outer.n * columns.n_tiles, tile_bytes = columns.size * COLUMN_BYTES
    cdef int n_threads = <int>max(min(<Py_ssize_t>columns.job.n_threads, n_tasks), <Py_ssize_t>1)
    cdef Py_ssize_t task, n_bad = 0
    cdef char* memory = <char*>malloc(n_threads * tile_bytes)
    if memory == NULL:
        return False
    if n_threads == 1:
        with nogil:
            for task in range(n_tasks):
                n_bad += not run_tile(columns, task, memory)
    else:
        for task in prange(n_tasks, num_threads=n_threads, schedule="dynamic", chunksize=1, nogil=True):
            n_bad += not run_tile(columns, task, memory + threadid() * tile_bytes)
    free(memory)
    return n_bad == 0
