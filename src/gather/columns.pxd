# COLUMNS: elements along an axis with a long stride. Columns of data are first packed into a tile that fits L2.
# Without packing each element would take a separate cache line.
#
#     data (size × columns) ── pack ──> tile (size × COLUMN_BYTES) ── gather ──> the same columns of out
from cpython.mem cimport PyMem_RawFree as free, PyMem_RawMalloc as malloc  # so that tracemalloc sees it
from cython.parallel cimport prange, threadid
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy
cimport numpy as cnp

from common.items cimport CACHE_LINE, bytes16, cloned_void, inline_void, is_word, prefetch_l2, word_t
from common.resolve cimport SKIPPED, Tuples, find_trivial, resolve_strided, resolve_trivial, trivial_index_t
from common.threads cimport team_size
from common.walk cimport DATA, INDICES, OTHER, Cursor, Walk, add_axis, finish_walk, seek, start_walk
from gather.blocks cimport move_words
from gather.job cimport Job

cdef enum:
    COLUMN_BYTES = 256          # of a tile's row: long enough for the hardware to read and write whole lines
    MAX_TILE_BYTES = 1 << 21
    MIN_COLUMNS_BYTES = 1 << 20  # of data: for less, packing is slower
    ROWS_AHEAD = 8              # for the prefetch: the hardware's does not follow strides of more than a page

cdef struct Columns:
    const Job* job
    Tuples tuples               # indices into a tile
    Walk outer                  # all axes but the indexed one and that of the columns
    Py_ssize_t size             # of data along the axis
    Py_ssize_t n_rows           # of indices along the axis
    Py_ssize_t n_columns
    Py_ssize_t data_row, index_row, out_row     # strides along the axis
    Py_ssize_t index_column
    Py_ssize_t columns_per_tile
    Py_ssize_t n_tiles


cdef inline inline_void prefetch_row(const char* row, Py_ssize_t n_bytes) noexcept nogil:
    cdef Py_ssize_t i = 0
    while i < n_bytes:
        prefetch_l2(row + i)
        i += CACHE_LINE
    prefetch_l2(row + n_bytes - 1)  # a row that is not aligned touches one line more


cdef inline inline_void move_columns(word_t* kind, const char* tile, const int64_t* offsets, Py_ssize_t n_columns,
                                     const char* fill, char* out) noexcept nogil:
    cdef Py_ssize_t j
    cdef const char* source
    cdef word_t item
    for j in range(n_columns):
        source = tile + offsets[j]
        if fill != NULL:
            source = fill if offsets[j] == SKIPPED else source
        memcpy(&item, source, sizeof(word_t))
        memcpy(out + j * <Py_ssize_t>sizeof(word_t), &item, sizeof(word_t))


cdef inline inline_void move_trivial_tile(word_t* kind, trivial_index_t* index_kind, const Columns* columns,
                                          const char* tile, const char* indices, char* out,
                                          int64_t* out_of_bounds) noexcept nogil:
    """A whole tile, row by row; each row is resolved before the previous one is moved."""
    cdef int64_t offsets[2][COLUMN_BYTES]
    cdef Py_ssize_t row
    for row in range(columns.n_rows + 1):
        if row < columns.n_rows:
            prefetch_row(indices + (row + ROWS_AHEAD) * columns.index_row,
                         COLUMN_BYTES // sizeof(word_t) * sizeof(trivial_index_t))
            resolve_trivial(index_kind, 1, &columns.tuples, indices + row * columns.index_row, 0, sizeof(word_t),
                            COLUMN_BYTES // sizeof(word_t), offsets[row & 1], out_of_bounds)
            if out_of_bounds[0] < 0:
                return
        if row > 0:
            move_words(kind, tile, offsets[row - 1 & 1], COLUMN_BYTES // sizeof(word_t),
                       out + (row - 1) * columns.out_row)


cdef inline inline_void move_tile(word_t* kind, const Columns* columns, const char* tile, Py_ssize_t n_columns,
                                  const char* indices, char* out, int64_t* out_of_bounds) noexcept nogil:
    cdef int64_t offsets[COLUMN_BYTES]
    cdef Py_ssize_t row
    cdef uint64_t outside = 0
    if columns.tuples.trivial and n_columns == COLUMN_BYTES // sizeof(word_t):
        if columns.tuples.width == 8:
            move_trivial_tile(kind, <int64_t*>NULL, columns, tile, indices, out, out_of_bounds)
        else:
            move_trivial_tile(kind, <int32_t*>NULL, columns, tile, indices, out, out_of_bounds)
        return
    for row in range(columns.n_rows):
        resolve_strided(&columns.tuples, indices + row * columns.index_row, columns.index_column, 0, sizeof(word_t),
                        n_columns, offsets, &outside)
        if outside:
            out_of_bounds[0] = -1
            return
        move_columns(kind, tile, offsets, n_columns, columns.job.fill, out + row * columns.out_row)


cdef inline cloned_void run_tile(const Columns* columns, Py_ssize_t task, char* tile,
                                 int64_t* out_of_bounds) noexcept nogil:
    """One tile of columns at one position of the outer axes. out_of_bounds becomes negative if an index is."""
    cdef Cursor cursor
    cdef Py_ssize_t width = columns.job.itemsize
    cdef Py_ssize_t column = task % columns.n_tiles * columns.columns_per_tile
    cdef Py_ssize_t n_columns = min(columns.columns_per_tile, columns.n_columns - column)
    cdef Py_ssize_t i
    cdef const char* data
    cdef const char* indices
    cdef char* out

    seek(&columns.outer, task // columns.n_tiles, &cursor)
    data = columns.job.data + cursor.offset[DATA] + column * width
    indices = columns.tuples.base + cursor.offset[INDICES] + column * columns.index_column
    out = columns.job.out + cursor.offset[OTHER] + column * width
    if n_columns == columns.columns_per_tile:
        for i in range(columns.size):
            prefetch_row(data + (i + ROWS_AHEAD) * columns.data_row, COLUMN_BYTES)
            memcpy(tile + i * COLUMN_BYTES, data + i * columns.data_row, COLUMN_BYTES)
    else:
        for i in range(columns.size):
            memcpy(tile + i * COLUMN_BYTES, data + i * columns.data_row, n_columns * width)
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
    cdef Py_ssize_t width = job.itemsize
    cdef int r = cnp.PyArray_NDIM(data)
    cdef int d, column_axis = -1
    if not is_word(width):
        return False
    for d in range(r):
        if d != axis and cnp.PyArray_STRIDE(data, d) == width and cnp.PyArray_STRIDE(out, d) == width:
            column_axis = d
    if column_axis < 0:
        return False
    columns.size = cnp.PyArray_DIM(data, axis)
    columns.n_rows = cnp.PyArray_DIM(indices, axis)
    columns.n_columns = cnp.PyArray_DIM(indices, column_axis)
    columns.columns_per_tile = COLUMN_BYTES // width
    if columns.size * COLUMN_BYTES > MAX_TILE_BYTES:
        return False
    # Packing pays off if the indices read much of a tile, and if the tile fills its cache lines.
    if not forced and (columns.size * columns.n_columns * width < MIN_COLUMNS_BYTES
                       or 4 * columns.n_rows < columns.size or columns.n_columns < columns.columns_per_tile):
        return False
    columns.job = job
    columns.index_column = cnp.PyArray_STRIDE(indices, column_axis)
    columns.tuples.base = job.tuples.base
    columns.tuples.kind = job.tuples.kind
    columns.tuples.width = job.tuples.width
    columns.tuples.swapped = job.tuples.swapped
    columns.tuples.mode = job.tuples.mode
    columns.tuples.k = 1
    columns.tuples.size[0] = columns.size
    columns.tuples.wrap[0] = job.tuples.wrap[0]
    columns.tuples.stride[0] = COLUMN_BYTES
    find_trivial(&columns.tuples)
    columns.tuples.trivial &= columns.index_column == columns.tuples.width and cnp.PyArray_ISALIGNED(indices)
    columns.data_row = cnp.PyArray_STRIDE(data, axis)
    columns.index_row = cnp.PyArray_STRIDE(indices, axis)
    columns.out_row = cnp.PyArray_STRIDE(out, axis)
    columns.n_tiles = (columns.n_columns + columns.columns_per_tile - 1) // columns.columns_per_tile
    start_walk(&columns.outer)
    for d in range(r):
        if d != axis and d != column_axis:
            add_axis(&columns.outer, cnp.PyArray_DIM(indices, d), cnp.PyArray_STRIDE(indices, d),
                     cnp.PyArray_STRIDE(data, d), cnp.PyArray_STRIDE(out, d))
    finish_walk(&columns.outer)
    return True


cdef inline Py_ssize_t run_columns_task(const Columns* columns, Py_ssize_t task, char* tile) noexcept nogil:
    """1 if an index is out of bounds, else 0."""
    cdef int64_t out_of_bounds = 0
    run_tile(columns, task, tile, &out_of_bounds)
    return out_of_bounds < 0


cdef inline bint run_columns(const Columns* columns) noexcept:
    """False: an index is out of bounds (run BLOCKS to find it), or there is no memory for the tiles."""
    cdef Py_ssize_t n_tasks = columns.outer.n * columns.n_tiles
    cdef Py_ssize_t tile_bytes = columns.size * COLUMN_BYTES
    cdef double work_ns = <double>columns.outer.n * columns.n_columns * (columns.size + 2 * columns.n_rows)
    cdef int n_threads = team_size(columns.job.max_threads, columns.job.forced_threads, work_ns)
    cdef Py_ssize_t task, n_bad = 0
    cdef char* tiles
    n_threads = <int>max(min(<Py_ssize_t>n_threads, n_tasks), <Py_ssize_t>1)
    tiles = <char*>malloc(n_threads * tile_bytes)
    if tiles == NULL:
        return False
    if n_threads == 1:
        with nogil:
            for task in range(n_tasks):
                n_bad += run_columns_task(columns, task, tiles)
    else:
        for task in prange(n_tasks, num_threads=n_threads, schedule="dynamic", chunksize=1, nogil=True):
            n_bad += run_columns_task(columns, task, tiles + threadid() * tile_bytes)
    free(tiles)
    return n_bad == 0
