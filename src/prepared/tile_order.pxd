# The order of prepared indices of elements and points: their positions, sorted by tile. orders.pyx makes it.
#
# The slices are cut into tiles of 1 << shift, which fit L2, and the indices into chunks. A chunk's indices of one tile
# are adjacent in `positions`, in their order. So threads can share first the chunks, then the tiles:
#
#     tile 0                      tile 1                      …   skipped
#     │ chunk 0 │ chunk 1 │ … │   │ chunk 0 │ chunk 1 │ … │       │ chunk 0 │ …
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy
cimport numpy as cnp

from common.caches cimport cached_bytes
from common.interrupts cimport Interrupts, is_interrupted
from common.items cimport (
    CACHE_LINE, bytes3, bytes6, bytes12, bytes16, cloned_void, inline_void, prefetch_l1, prefetch_l2, prefetch_write,
)
from common.threads cimport chunk_start

cdef enum:
    MIN_TILED = 1 << 17         # indices
    MAX_TILES = 512             # as many write streams as L1 sustains
    SMALL_SHIFT = 15            # log2 of a tile's slices
    LARGE_SHIFT = 16            # their positions in the tile have 16 bits
    MAX_VALUES = 1 << 26        # bytes of all values in the order, which are in scratch memory
    MAX_ORDER_CHUNKS = 64
    MIN_CHUNK = 1 << 16         # indices
    # All data are read, which takes as long as to gather one element from so many bytes of them, or to update it.
    PER_GATHERED = 48
    PER_SCATTERED = 64
    PER_SCATTERED_IN_PLACE = 128
    MAX_GATHERED = 4            # bytes of a slice
    STEP = 1 << 14              # indices between two questions for signals
    GROUP = 16                  # indices between prefetches
    AHEAD = 1 << 12             # bytes

# A slice: elements and points of at most 16 bytes, so that a small tile has half a MiB at most.
ctypedef fused value_t:
    uint8_t
    uint16_t
    bytes3
    uint32_t
    bytes6
    uint64_t
    bytes12
    bytes16

cdef struct TileOrder:
    const int32_t* slices       # the indices; -1: none
    const uint16_t* positions   # of their slices in the tile
    const uint32_t* begins      # of each chunk and tile, in positions; the tile n_tiles is that of skipped indices
    Py_ssize_t n
    Py_ssize_t n_slices
    Py_ssize_t n_tiles
    Py_ssize_t n_chunks
    int shift


cdef inline bint can_tile(Py_ssize_t n_slices, Py_ssize_t n) noexcept nogil:
    """Whether so many indices of so many slices can have a tile order."""
    return 0 < n <= MAX_VALUES and 0 < n_slices <= <Py_ssize_t>MAX_TILES << LARGE_SHIFT


cdef inline bint is_value(Py_ssize_t slice_bytes, Py_ssize_t n) noexcept nogil:
    """Whether so many slices of this size can be moved by tile."""
    return (0 < slice_bytes <= 4 or slice_bytes in (6, 8, 12, 16)) and n * slice_bytes <= MAX_VALUES


cdef inline void describe_tiles(TileOrder* order, Py_ssize_t n_slices, Py_ssize_t n) noexcept nogil:
    """Describe all but the memory."""
    order.n = n
    order.n_slices = n_slices
    order.shift = SMALL_SHIFT if n_slices <= <Py_ssize_t>MAX_TILES << SMALL_SHIFT else LARGE_SHIFT
    order.n_tiles = ((n_slices - 1) >> order.shift) + 1
    order.n_chunks = min(max(n // MIN_CHUNK, <Py_ssize_t>1), <Py_ssize_t>MAX_ORDER_CHUNKS)


cdef inline bint tiles_pay(Py_ssize_t n_slices, Py_ssize_t slice_bytes, Py_ssize_t n,
                           Py_ssize_t bytes_per_index) noexcept nogil:
    """Whether calls with this order are faster, if successive indices select slices that are far from each other.

    bytes_per_index: the constant above for the call.
    """
    cdef Py_ssize_t data_bytes = n_slices * slice_bytes
    if bytes_per_index == PER_GATHERED and (slice_bytes > MAX_GATHERED or data_bytes < 2 * cached_bytes()):
        return False
    return (can_tile(n_slices, n) and is_value(slice_bytes, n) and n >= MIN_TILED
            and cached_bytes() <= data_bytes <= n * bytes_per_index)


cdef inline uint32_t tile_of(int32_t slice, int shift, uint32_t n_tiles) noexcept nogil:
    """Skipped indices, which are -1, have the last tile."""
    return min(<uint32_t>slice >> shift, n_tiles)


cdef inline Py_ssize_t begin_of(const TileOrder* order, Py_ssize_t tile) noexcept nogil:
    """Where the tile begins in positions. (The tile after that of skipped indices begins at their end.)"""
    return order.begins[tile] if tile <= order.n_tiles else order.n


cdef inline Py_ssize_t slices_in(const TileOrder* order, Py_ssize_t tile) noexcept nogil:
    return min(order.n_slices - (tile << order.shift), <Py_ssize_t>1 << order.shift)


# As in order.pxd, the dict is not typed as such.
cdef inline cnp.ndarray find_tiles(object known, cnp.ndarray indices, Py_ssize_t n_slices, Py_ssize_t n,
                                   TileOrder* order):
    """Describe the tile order of indices of so many slices. Returns its memory, which the caller keeps; None: no order.
    """
    try:
        entry = known.get(<size_t>cnp.PyArray_DATA(indices))
        if entry is None:
            return None
        alive, memory, slices, size = entry
        if alive() is None or slices != n_slices or size != n:
            return None
    except MemoryError:
        return None
    describe_tiles(order, n_slices, n)
    order.slices = <const int32_t*>cnp.PyArray_DATA(indices)
    order.begins = <const uint32_t*>cnp.PyArray_DATA(<cnp.ndarray>memory)
    order.positions = <const uint16_t*>(order.begins + order.n_chunks * (order.n_tiles + 1))
    return memory


cdef inline inline_void find_tiles_of(const int32_t* slices, Py_ssize_t n, int shift, uint32_t n_tiles,
                                      uint32_t* tiles) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        tiles[i] = tile_of(slices[i], shift, n_tiles)


cdef inline inline_void deal_values(value_t* type, const TileOrder* order, char** ends, Py_ssize_t start,
                                    Py_ssize_t stop, const char* source, Py_ssize_t step) noexcept nogil:
    """Append the values of indices start to stop, `step` bytes apart from `source` on, to those of their tiles.

    The next line of each tile is prefetched: a store that misses L1 delays all others.
    """
    cdef uint32_t tiles[GROUP]
    cdef Py_ssize_t i, n
    cdef value_t value
    source += start * step
    while start < stop:
        # More than one prefetch for each cache line, since a part of them is dropped.
        prefetch_l2(<const char*>(order.slices + start) + AHEAD)
        prefetch_l2(source + AHEAD)
        n = min(<Py_ssize_t>GROUP, stop - start)
        find_tiles_of(order.slices + start, n, order.shift, <uint32_t>order.n_tiles, tiles)
        for i in range(n):
            memcpy(&value, source + i * step, sizeof(value_t))
            prefetch_write(ends[tiles[i]] + CACHE_LINE)
            memcpy(ends[tiles[i]], &value, sizeof(value_t))
            ends[tiles[i]] += sizeof(value_t)
        source += n * step
        start += n


cdef inline inline_void collect_values(value_t* type, const TileOrder* order, char** ends, Py_ssize_t start,
                                       Py_ssize_t stop, char* to) noexcept nogil:
    """The inverse, to adjacent values."""
    cdef uint32_t tiles[GROUP]
    cdef Py_ssize_t i, n
    cdef value_t value
    to += start * <Py_ssize_t>sizeof(value_t)
    while start < stop:
        prefetch_l2(<const char*>(order.slices + start) + AHEAD)
        n = min(<Py_ssize_t>GROUP, stop - start)
        find_tiles_of(order.slices + start, n, order.shift, <uint32_t>order.n_tiles, tiles)
        for i in range(n):
            prefetch_l1(ends[tiles[i]] + CACHE_LINE)
            memcpy(&value, ends[tiles[i]], sizeof(value_t))
            memcpy(to + i * <Py_ssize_t>sizeof(value_t), &value, sizeof(value_t))
            ends[tiles[i]] += sizeof(value_t)
        to += n * <Py_ssize_t>sizeof(value_t)
        start += n


cdef inline inline_void move_values(value_t* type, const TileOrder* order, char** ends, Py_ssize_t start,
                                    Py_ssize_t stop, const char* source, Py_ssize_t step, char* to) noexcept nogil:
    if to != NULL:
        collect_values(type, order, ends, start, stop, to)
    elif step == sizeof(value_t):  # a constant stride saves instructions
        deal_values(type, order, ends, start, stop, source, sizeof(value_t))
    else:
        deal_values(type, order, ends, start, stop, source, step)


cdef inline cloned_void move_chunk(const TileOrder* order, Py_ssize_t chunk, Py_ssize_t value_bytes, char* values,
                                   const char* source, Py_ssize_t step, char* to,
                                   Interrupts* interrupts) noexcept nogil:
    """Move the values of a chunk's indices from `source` to their places in the order; or, with `to`, from there to it.

    values: one for each index, in the order.
    """
    cdef char* ends[MAX_TILES + 1]
    cdef Py_ssize_t tile, start = chunk_start(order.n, order.n_chunks, chunk), n
    cdef Py_ssize_t stop = chunk_start(order.n, order.n_chunks, chunk + 1)
    for tile in range(order.n_tiles + 1):
        ends[tile] = values + order.begins[chunk * (order.n_tiles + 1) + tile] * value_bytes
    while start < stop and not is_interrupted(interrupts, STEP):
        n = min(start + STEP, stop)
        if value_bytes == 4:
            move_values(<uint32_t*>NULL, order, ends, start, n, source, step, to)
        elif value_bytes == 8:
            move_values(<uint64_t*>NULL, order, ends, start, n, source, step, to)
        elif value_bytes == 1:
            move_values(<uint8_t*>NULL, order, ends, start, n, source, step, to)
        elif value_bytes == 2:
            move_values(<uint16_t*>NULL, order, ends, start, n, source, step, to)
        elif value_bytes == 3:
            move_values(<bytes3*>NULL, order, ends, start, n, source, step, to)
        elif value_bytes == 6:
            move_values(<bytes6*>NULL, order, ends, start, n, source, step, to)
        elif value_bytes == 12:
            move_values(<bytes12*>NULL, order, ends, start, n, source, step, to)
        else:
            move_values(<bytes16*>NULL, order, ends, start, n, source, step, to)
        start = n
