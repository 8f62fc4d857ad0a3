# Tiles of columns, for elements along an axis with a long stride, in gathers and scatters. Columns of data are packed
# into a tile that fits L2. Without packing each element would take a separate cache line.
#
#     data (size × columns) ── pack ──> tile (size × COLUMN_BYTES)
from libc.stdint cimport uintptr_t
cimport numpy as cnp

from common.items cimport CACHE_LINE, inline_void, is_word, prefetch_l2
from common.resolve cimport Tuples, find_trivial
from common.walk cimport Walk, add_axis, finish_walk, start_walk

cdef enum:
    COLUMN_BYTES = 256          # of a tile's row: long enough for the hardware to read and write whole lines
    MAX_TILE_BYTES = 1 << 21
    MIN_COLUMNS_BYTES = 1 << 20  # of data: for less, packing is slower
    ROWS_PER_STEP = 16          # between two questions for signals
    MOST_STOPS = 16             # rows with negative indices, before the loop that stops at them is given up
    ROWS_AHEAD = 8              # for the prefetch: the hardware's does not follow strides of more than a page

cdef struct ColumnTiles:
    Tuples tuples               # indices into a tile
    Walk outer                  # all axes but the indexed one and that of the columns
    Py_ssize_t size             # of data along the axis
    Py_ssize_t n_rows           # of indices along the axis
    Py_ssize_t n_columns
    Py_ssize_t data_row, index_row, other_row   # strides along the axis
    Py_ssize_t index_column, other_column       # strides along the columns
    Py_ssize_t columns_per_tile
    Py_ssize_t n_tiles


cdef inline inline_void prefetch_columns(uintptr_t row, Py_ssize_t n_bytes) noexcept nogil:
    """row: an address, which may be past the end of an array."""
    cdef Py_ssize_t i = 0
    while i < n_bytes:
        prefetch_l2(<const void*>(row + i))
        i += CACHE_LINE
    prefetch_l2(<const void*>(row + n_bytes - 1))  # a row that is not aligned touches one line more


cdef inline bint describe_column_tiles(ColumnTiles* columns, const Tuples* tuples, cnp.ndarray data,
                                       cnp.ndarray indices, cnp.ndarray other, int axis, bint other_is_contiguous,
                                       bint forced) noexcept:
    """Describe the tiles. False: they would be slower; with forced: they are impossible.

    data: the array that is indexed. other: a gather's result, a scatter's updates; other_is_contiguous: its columns
    must be adjacent.
    """
    cdef Py_ssize_t width = cnp.PyArray_ITEMSIZE(data)
    cdef int r = cnp.PyArray_NDIM(data)
    cdef int d, column_axis = -1
    if not is_word(width):
        return False
    for d in range(r):
        if (d != axis and cnp.PyArray_STRIDE(data, d) == width
                and (not other_is_contiguous or cnp.PyArray_STRIDE(other, d) == width)):
            column_axis = d
    if column_axis < 0:
        return False
    columns.size = cnp.PyArray_DIM(data, axis)
    columns.n_rows = cnp.PyArray_DIM(indices, axis)
    columns.n_columns = cnp.PyArray_DIM(indices, column_axis)
    columns.columns_per_tile = COLUMN_BYTES // width
    if columns.size * COLUMN_BYTES > MAX_TILE_BYTES:
        return False
    # Packing pays off if the indices name much of a tile, and if the tile fills its cache lines.
    if not forced and (cnp.PyArray_NBYTES(data) < MIN_COLUMNS_BYTES
                       or 4 * columns.n_rows < columns.size or columns.n_columns < columns.columns_per_tile):
        return False
    columns.data_row = cnp.PyArray_STRIDE(data, axis)
    columns.index_row = cnp.PyArray_STRIDE(indices, axis)
    columns.other_row = cnp.PyArray_STRIDE(other, axis)
    columns.index_column = cnp.PyArray_STRIDE(indices, column_axis)
    columns.other_column = cnp.PyArray_STRIDE(other, column_axis)
    columns.n_tiles = (columns.n_columns + columns.columns_per_tile - 1) // columns.columns_per_tile
    columns.tuples.base = tuples.base
    columns.tuples.kind = tuples.kind
    columns.tuples.width = tuples.width
    columns.tuples.swapped = tuples.swapped
    columns.tuples.mode = tuples.mode
    columns.tuples.k = 1
    columns.tuples.component_stride = 0
    columns.tuples.prefetches = False
    columns.tuples.size[0] = columns.size
    columns.tuples.wrap[0] = tuples.wrap[0]
    columns.tuples.stride[0] = COLUMN_BYTES
    find_trivial(&columns.tuples)
    columns.tuples.trivial &= columns.index_column == columns.tuples.width and cnp.PyArray_ISALIGNED(indices)
    start_walk(&columns.outer)
    for d in range(r):
        if d != axis and d != column_axis:
            add_axis(&columns.outer, cnp.PyArray_DIM(indices, d), cnp.PyArray_STRIDE(indices, d),
                     cnp.PyArray_STRIDE(data, d), cnp.PyArray_STRIDE(other, d))
    finish_walk(&columns.outer)
    return True
