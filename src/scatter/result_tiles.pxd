# RESULT_TILES: elements and points at prepared indices that have a tile order. The updates are moved to their places in
# that order, then each tile is copied and its updates are applied while it is in L2. Tiles of a large new result are
# built in scratch memory and written with non-temporal stores.
from cython.parallel cimport prange, threadid
from libc.stdint cimport int64_t, uint16_t
from libc.string cimport memcpy
cimport numpy as cnp

from common.codes cimport INTERRUPTED, OK, TAKE
from common.interrupts cimport is_interrupted
from common.items cimport CACHE_LINE, at_line, cloned_void, prefetch_row_l2, whole_lines
from common.resolve cimport BLOCK
from common.scratch cimport allocate_scratch
from common.stream cimport stream_bytes, stream_fence
from common.threads cimport chunk_start, n_tasks_for
from common.walk cimport OTHER
from prepared.tile_order cimport (
    PER_SCATTERED, PER_SCATTERED_IN_PLACE, TileOrder, begin_of, is_value, move_chunk, slices_in, tiles_pay,
)
from scatter.apply cimport apply_elements, apply_rows
from scatter.direct cimport LoopInOrder, Pairs, loop_in_order
from scatter.fill cimport fill_elements
from scatter.job cimport Job, begin_writing, repeated_element, take_element

cdef enum:
    PIECES = 32  # of a tile's updates

cdef struct ResultTiles:
    const Job* job
    const char* values          # the updates in the order
    LoopInOrder loop            # NULL: there is none
    const char* element         # which stands for all of data; else NULL
    Py_ssize_t element_bytes
    char* scratch               # a tile for each thread; NULL: tiles are updated in the result
    Py_ssize_t scratch_bytes    # of a thread


cdef inline bint can_use_tiles(const Job* job, bint forced) noexcept nogil:
    """Whether the job is for RESULT_TILES; with forced: whether that can run it."""
    cdef const TileOrder* order = job.tile_order
    cdef Py_ssize_t item = job.step.row.item_bytes
    return (order != NULL and job.is_contiguous and not job.marks.width and not job.step.swapped
            and job.step.reduction != TAKE and job.step.row.outer.n == 1 and job.updates_are_linear
            and (job.step.row.n_inner == 1 or job.step.row.inner_data == job.step.row.inner_other == item)
            and is_value(job.row_bytes, order.n)
            and (forced or tiles_pay(order.n_slices, job.row_bytes, order.n,
                                     PER_SCATTERED if job.data != NULL else PER_SCATTERED_IN_PLACE)))


cdef inline cloned_void read_positions(const uint16_t* positions, Py_ssize_t n, Py_ssize_t row_bytes,
                                       int64_t* offsets) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        offsets[i] = positions[i] * row_bytes


cdef inline void apply_blocks(const Job* job, const uint16_t* positions, Py_ssize_t n, char* out,
                              const char* values) noexcept nogil:
    cdef int64_t offsets[BLOCK]
    cdef Py_ssize_t start = 0, m
    while start < n:
        m = min(<Py_ssize_t>BLOCK, n - start)
        read_positions(positions + start, m, job.row_bytes, offsets)
        if job.step.by_value:
            apply_elements(&job.step, out, offsets, values + start * job.row_bytes, job.row_bytes, m)
        else:
            apply_rows(&job.step, out, offsets, values + start * job.row_bytes, NULL, job.row_bytes, m)
        start += m


cdef inline void apply_positions(const ResultTiles* tiles, Py_ssize_t tile, char* out, Py_ssize_t begin,
                                 Py_ssize_t n) noexcept nogil:
    """Apply n updates of a tile, from `begin` in the order on."""
    cdef const Job* job = tiles.job
    cdef const TileOrder* order = job.tile_order
    cdef Pairs pairs
    cdef const char* values = tiles.values + begin * job.row_bytes
    if tiles.loop == NULL:
        apply_blocks(job, order.positions + begin, n, out, values)
        return
    pairs.first = <const char*>(order.positions + begin)
    pairs.second = NULL
    pairs.step = pairs.width = sizeof(uint16_t)
    pairs.size = slices_in(order, tile)
    pairs.repeats = 1
    pairs.wrap = pairs.row_wrap = pairs.row_size = pairs.row = 0
    pairs.skips = pairs.clips = False
    tiles.loop(&pairs, out, values, job.row_bytes, n)  # to the end: positions are within the tile, and not negative


cdef inline void apply_tile(const ResultTiles* tiles, Py_ssize_t tile, char* scratch, bint has_next) noexcept nogil:
    """scratch: memory for the tile; NULL: it is updated in the result."""
    cdef const Job* job = tiles.job
    cdef const TileOrder* order = job.tile_order
    cdef Py_ssize_t offset = (tile << order.shift) * job.row_bytes, n_bytes = slices_in(order, tile) * job.row_bytes
    cdef Py_ssize_t begin = begin_of(order, tile), n = begin_of(order, tile + 1) - begin, piece
    cdef char* out = job.out + offset if scratch == NULL else scratch
    cdef const char* following = (job.data if job.data != NULL else job.out) + offset + n_bytes
    if is_interrupted(job.interrupts, n * job.tuple_work + slices_in(order, tile)):
        return
    if tiles.element != NULL:
        fill_elements(tiles.element_bytes, tiles.element, out, n_bytes // tiles.element_bytes)
    elif job.data != NULL:
        memcpy(out, job.data + offset, n_bytes)
    # Meanwhile the next tile is prefetched.
    for piece in range(PIECES):
        if has_next and tiles.element == NULL:
            prefetch_row_l2(following + chunk_start(n_bytes, PIECES, piece), n_bytes // PIECES)
        apply_positions(tiles, tile, out, begin + chunk_start(n, PIECES, piece),
                        chunk_start(n, PIECES, piece + 1) - chunk_start(n, PIECES, piece))
    if scratch != NULL:
        stream_bytes(job.out + offset, scratch, n_bytes, False)
        stream_fence()


cdef inline void apply_tiles(const ResultTiles* tiles, Py_ssize_t start, Py_ssize_t stop, int thread) noexcept nogil:
    cdef char* scratch = tiles.scratch + thread * tiles.scratch_bytes if tiles.scratch != NULL else NULL
    cdef Py_ssize_t tile
    for tile in range(start, stop):
        apply_tile(tiles, tile, scratch, tile + 1 < stop)


cdef inline bint run_result_tiles(Job* job, Py_ssize_t* status) noexcept:
    """False: there is no memory, and nothing was written."""
    cdef ResultTiles tiles
    cdef const TileOrder* order = job.tile_order
    cdef Py_ssize_t update_step = job.walk.stride[job.walk.n_dims - 1][OTHER], n_tasks, task, chunk
    cdef cnp.ndarray memory = allocate_scratch(order.n * job.row_bytes), scratch = None
    cdef char* values
    if memory is None:
        return False
    tiles.job = job
    tiles.loop = loop_in_order(&job.step)
    tiles.element = repeated_element(job)
    tiles.scratch = NULL
    tiles.scratch_bytes = whole_lines(job.row_bytes << order.shift)
    if job.streams and (job.data != NULL or tiles.element != NULL):
        scratch = allocate_scratch(job.n_threads * tiles.scratch_bytes + CACHE_LINE)
        if scratch is not None:
            tiles.scratch = at_line(cnp.PyArray_BYTES(scratch))
    values = cnp.PyArray_BYTES(memory)
    tiles.values = values
    for chunk in prange(order.n_chunks, num_threads=job.n_threads, schedule="dynamic", chunksize=1, nogil=True):
        move_chunk(order, chunk, job.row_bytes, values, job.updates, update_step, NULL, job.interrupts)
    if tiles.element != NULL:
        tiles.element_bytes = take_element(job)
    status[0] = INTERRUPTED if job.interrupts.stopped else begin_writing(job, False)
    if status[0] == OK:
        n_tasks = min(order.n_tiles, n_tasks_for(job.n_threads))
        for task in prange(n_tasks, num_threads=job.n_threads, schedule="dynamic", chunksize=1, nogil=True):
            apply_tiles(&tiles, chunk_start(order.n_tiles, n_tasks, task),
                        chunk_start(order.n_tiles, n_tasks, task + 1), threadid())
    return True
