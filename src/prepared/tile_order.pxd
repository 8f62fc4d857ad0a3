# The order of prepared indices of elements and points. orders.pxi makes it.
#
# The slices are cut into tiles of 1 << shift, which fit L2, and the indices into chunks, whose values fit L2 too. A
# chunk is sorted by tile. Its indices of one tile are a run, in their order:
#
#     chunk 0                               chunk 1
#     │ tile 0 │ tile 1 │ … │ skipped │     │ tile 0 │ tile 1 │ … │ skipped │     …
#
# A thread that owns a tile takes the values of its runs of all chunks. Then they are moved by chunk to the places of
# their indices.
from libc.stdint cimport int32_t, uint16_t, uint32_t, uintptr_t
cimport numpy as cnp

from common.copies cimport copy_numbered
from common.interrupts cimport Interrupts, is_interrupted
from common.items cimport CACHE_LINE, MAX_ELEMENT_BYTES, STREAM_AHEAD, prefetch_row_l2
from common.machine cimport shared
from common.scratch cimport SCRATCH_BYTES
from common.stream cimport STREAM_BYTES, can_stream, stream_contiguous, stream_fence

cdef enum:
    MIN_TILED = 1 << 17         # indices: fewer do not pay for reading all data
    MAX_ORDER_TILES = 512       # so that a chunk has 64 indices of a tile, if they are spread evenly
    TILE_SHIFT = 15             # log2 of a tile's slices, or one more; and of a chunk's indices: places have 16 bits
    MAX_GATHERED = 8            # bytes of a slice: gathers of longer ones take no less time by tile
    GROUP = 64                  # values between prefetches, which fill cache lines

cdef extern from *:
    """
    #define GS_HIDDEN_NS 0.7    /* of the ns to reach a slice: those that come next are reached meanwhile */
    """
    double HIDDEN_NS "GS_HIDDEN_NS"

cdef struct TileOrder:
    const uint16_t* positions   # in the order: of the slice in the tile
    const uint16_t* places      # of the indices: where they are in the order of the chunk
    const uint32_t* begins      # of the runs of each tile; the tile n_tiles is that of skipped indices
    Py_ssize_t n
    Py_ssize_t n_slices
    Py_ssize_t n_tiles
    Py_ssize_t n_chunks
    int shift


cdef inline bint can_tile(Py_ssize_t n_slices, Py_ssize_t n) noexcept nogil:
    """Whether n indices of so many slices can have a tile order. Scratch memory holds as many values of one byte."""
    return 0 < n <= SCRATCH_BYTES and 0 < n_slices <= <Py_ssize_t>MAX_ORDER_TILES << TILE_SHIFT + 1


cdef inline bint is_value(Py_ssize_t slice_bytes, Py_ssize_t n) noexcept nogil:
    """Whether so many slices of this size can be moved by tile."""
    return (0 < slice_bytes <= 4 or slice_bytes in (6, 8, 12, 16)) and n * slice_bytes <= SCRATCH_BYTES


cdef inline void describe_tiles(TileOrder* order, Py_ssize_t n_slices, Py_ssize_t n) noexcept nogil:
    """Describe all but the memory."""
    order.n = n
    order.n_slices = n_slices
    order.shift = TILE_SHIFT + (n_slices > <Py_ssize_t>MAX_ORDER_TILES << TILE_SHIFT)
    order.n_tiles = ((n_slices - 1) >> order.shift) + 1
    order.n_chunks = ((n - 1) >> TILE_SHIFT) + 1


cdef inline Py_ssize_t words_of(const TileOrder* order) noexcept nogil:
    """The size of its memory, in uint32_t."""
    return (order.n_tiles + 2) * order.n_chunks + order.n


cdef inline void set_memory(TileOrder* order, const char* memory) noexcept nogil:
    order.begins = <const uint32_t*>memory
    order.positions = <const uint16_t*>(order.begins + (order.n_tiles + 2) * order.n_chunks)
    order.places = order.positions + order.n


cdef inline double scattered_ns(Py_ssize_t n_slices, Py_ssize_t slice_bytes, Py_ssize_t n) noexcept nogil:
    """What a gather at n indices takes longer one by one than by tile, if successive ones are far from each other."""
    cdef double n_bytes = <double>n_slices * slice_bytes, cached = min(1.0, shared.machine.l3_bytes / n_bytes)
    if slice_bytes > MAX_GATHERED or n < MIN_TILED or n_bytes < shared.machine.l3_bytes // 4:
        return 0
    # The times are those of four bytes. Of shorter slices more share a cache line, which tiles reach once.
    return (4 * n / <double>slice_bytes
            * (cached * shared.machine.step_l3 + (1 - cached) * shared.machine.step_memory - HIDDEN_NS))


cdef inline double read_ns(Py_ssize_t n_slices, Py_ssize_t slice_bytes) noexcept nogil:
    """To read all data, tile by tile."""
    return n_slices * slice_bytes / shared.machine.bandwidth


cdef inline uint32_t tile_of(int32_t slice, int shift, uint32_t n_tiles) noexcept nogil:
    """Skipped indices, which are -1, have the last tile."""
    return min(<uint32_t>slice >> shift, n_tiles)


cdef inline Py_ssize_t begin_of_chunk(const TileOrder* order, Py_ssize_t chunk) noexcept nogil:
    return min(chunk << TILE_SHIFT, order.n)


cdef inline Py_ssize_t begin_of_run(const TileOrder* order, Py_ssize_t tile, Py_ssize_t chunk) noexcept nogil:
    """Where a chunk's run of a tile begins in the order. It ends where that of the next tile begins."""
    return order.begins[tile * order.n_chunks + chunk]


cdef inline Py_ssize_t slices_in(const TileOrder* order, Py_ssize_t tile) noexcept nogil:
    return min(order.n_slices - (tile << order.shift), <Py_ssize_t>1 << order.shift)


cdef inline bint describe_order(cnp.ndarray memory, Py_ssize_t n_slices, Py_ssize_t n, TileOrder* order) noexcept:
    """Describe the tile order of n indices of so many slices. False: it is another one."""
    if not can_tile(n_slices, n):
        return False
    describe_tiles(order, n_slices, n)
    if cnp.PyArray_NBYTES(memory) != words_of(order) * <Py_ssize_t>sizeof(uint32_t):
        return False
    set_memory(order, cnp.PyArray_BYTES(memory))
    return True


cdef inline void take_values(Py_ssize_t width, const uint16_t* places, Py_ssize_t n, const char* values, char* to,
                             bint streams, Py_ssize_t following) noexcept nogil:
    """to[i] = values[places[i]].

    following: bytes from the values to those of the next chunk, which are prefetched meanwhile; 0: none are.
    """
    cdef char group[GROUP * MAX_ELEMENT_BYTES]
    cdef Py_ssize_t i = 0, bytes = GROUP * width
    while i + GROUP <= n:
        prefetch_row_l2(<const char*>(places + i) + STREAM_AHEAD, GROUP * sizeof(uint16_t))
        if following:
            prefetch_row_l2(values + following + i * width, bytes)
        if streams:
            copy_numbered(width, values, width, places + i, GROUP, group)
            stream_contiguous(to, group, bytes)
        else:
            copy_numbered(width, values, width, places + i, GROUP, to)
        to += bytes
        i += GROUP
    copy_numbered(width, values, width, places + i, n - i, to)


cdef inline void take_chunks(const TileOrder* order, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t value_bytes,
                             const char* values, char* to, Interrupts* interrupts) noexcept nogil:
    """Move the values of some chunks from the order to the places of their indices."""
    cdef Py_ssize_t chunk, begin, n
    cdef bint streams = (order.n * value_bytes >= STREAM_BYTES and can_stream()
                         and (<uintptr_t>to & (CACHE_LINE - 1)) == 0)
    for chunk in range(start, stop):
        begin = begin_of_chunk(order, chunk)
        n = begin_of_chunk(order, chunk + 1) - begin
        if is_interrupted(interrupts, n):
            return
        # Not the last chunk, which may have fewer values.
        take_values(value_bytes, order.places + begin, n, values + begin * value_bytes, to + begin * value_bytes,
                    streams, n * value_bytes if chunk + 1 < stop and chunk + 2 < order.n_chunks else 0)
    if streams:
        stream_fence()
