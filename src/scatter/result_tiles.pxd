# RESULT_TILES: elements and points at prepared indices that have a tile order. The updates are moved to their places in
# that order, then each tile is copied and its updates are applied while it is in L2. Tiles of a large new result are
# built in scratch memory and written with non-temporal stores.
from cython.parallel cimport prange, threadid
from libc.stdint cimport int64_t, uint16_t
from libc.string cimport memcpy, memset
cimport numpy as cnp

from common.caches cimport l2_bytes
from common.codes cimport INTERRUPTED, OK, TAKE
from common.interrupts cimport is_interrupted
from common.items cimport CACHE_LINE, at_line, cloned_void, inline_void, prefetch_row, prefetch_row_l2, whole_lines
from common.resolve cimport BLOCK
from common.scratch cimport allocate_scratch
from common.stream cimport stream_bytes, stream_fence
from common.threads cimport chunk_start, n_tasks_for
from common.walk cimport OTHER
from prepared.tile_order cimport (
    TileOrder, begin_of_run, is_value, slices_in, take_chunks, tiles_pay_scatters,
)
from scatter.apply cimport apply_elements, apply_rows
from scatter.direct cimport LoopInOrder, Pairs, loop_in_order
from scatter.fill cimport fill_elements
from scatter.job cimport Job, begin_writing, repeated_element, take_element

cdef enum:
    PIECES = 128    # of a tile
    RUNS_AHEAD = 4  # of updates

cdef struct ResultTiles:
    const Job* job
    const char* values          # the updates in the order
    LoopInOrder loop            # NULL: there is none
    const char* element         # which stands for all of data; else NULL
    Py_ssize_t element_bytes
    char* scratch               # a tile or two for each thread; NULL: tiles are updated in the result
    Py_ssize_t scratch_bytes    # of a tile
    bint writes_late            # a tile is written to the result while the thread works on the next one

cdef struct Tile:               # in scratch memory, of which something is still to be written
    const char* source
    char* out
    Py_ssize_t n_bytes          # 0: there is none


cdef inline bint can_use_tiles(const Job* job, bint forced) noexcept nogil:
    """Whether the job is for RESULT_TILES; with forced: whether that can run it."""
    cdef const TileOrder* order = job.tile_order
    cdef Py_ssize_t item = job.step.row.item_bytes
    return (order != NULL and job.is_contiguous and not job.marks.width and not job.step.swapped
            and job.step.reduction != TAKE and job.step.row.outer.n == 1 and job.updates_are_linear
            and (job.step.row.n_inner == 1 or job.step.row.inner_data == job.step.row.inner_other == item)
            and is_value(job.row_bytes, order.n)
            and (forced or tiles_pay_scatters(order.n_slices, job.row_bytes, order.n, job.data == NULL)))


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


cdef inline inline_void prefetch_run(const TileOrder* order, Py_ssize_t tile, Py_ssize_t chunk, const char* values,
                                     Py_ssize_t value_bytes) noexcept nogil:
    cdef Py_ssize_t begin, n
    if chunk < order.n_chunks:
        begin = begin_of_run(order, tile, chunk)
        n = begin_of_run(order, tile + 1, chunk) - begin
        if n:
            prefetch_row(<const char*>(order.positions + begin), n * <Py_ssize_t>sizeof(uint16_t))
            prefetch_row(values + begin * value_bytes, n * value_bytes)


cdef inline void move_piece(Tile* previous, const char* following, Py_ssize_t n_bytes, Py_ssize_t piece) noexcept nogil:
    """Write a piece of the tile before, and prefetch a piece of the next one."""
    cdef Py_ssize_t start = chunk_start(previous.n_bytes, PIECES, piece) & -<Py_ssize_t>CACHE_LINE
    cdef Py_ssize_t stop = chunk_start(previous.n_bytes, PIECES, piece + 1)
    if previous.n_bytes:
        if piece + 1 < PIECES:
            stop &= -<Py_ssize_t>CACHE_LINE
        stream_bytes(previous.out + start, previous.source + start, stop - start, True)
    if following != NULL:
        prefetch_row_l2(following + chunk_start(n_bytes, PIECES, piece), n_bytes // PIECES)


cdef inline void write_tile(Tile* tile) noexcept nogil:
    if tile.n_bytes:
        stream_bytes(tile.out, tile.source, tile.n_bytes, False)
        stream_fence()
        tile.n_bytes = 0


cdef inline void apply_tile(const ResultTiles* tiles, Py_ssize_t tile, char* out, const char* following,
                            Tile* previous) noexcept nogil:
    """Copy a tile of data to `out` and apply its updates."""
    cdef const Job* job = tiles.job
    cdef const TileOrder* order = job.tile_order
    cdef Py_ssize_t offset = (tile << order.shift) * job.row_bytes, n_bytes = slices_in(order, tile) * job.row_bytes
    cdef Py_ssize_t chunk, begin, n, piece = 0
    cdef Pairs pairs
    if tiles.element != NULL:
        fill_elements(tiles.element_bytes, tiles.element, out, n_bytes // tiles.element_bytes)
    elif job.data != NULL:
        memcpy(out, job.data + offset, n_bytes)
    memset(&pairs, 0, sizeof(Pairs))
    pairs.width = sizeof(uint16_t)
    for chunk in range(RUNS_AHEAD):
        prefetch_run(order, tile, chunk, tiles.values, job.row_bytes)
    for chunk in range(order.n_chunks):
        prefetch_run(order, tile, chunk + RUNS_AHEAD, tiles.values, job.row_bytes)
        while piece * order.n_chunks < PIECES * (chunk + 1):
            move_piece(previous, following, n_bytes, piece)
            piece += 1
        begin = begin_of_run(order, tile, chunk)
        n = begin_of_run(order, tile + 1, chunk) - begin
        if tiles.loop == NULL:
            apply_blocks(job, order.positions + begin, n, out, tiles.values + begin * job.row_bytes)
        else:
            pairs.first = <const char*>(order.positions + begin)
            tiles.loop(&pairs, out, tiles.values + begin * job.row_bytes, job.row_bytes, n)


cdef inline void apply_tiles(const ResultTiles* tiles, Py_ssize_t start, Py_ssize_t stop, int thread) noexcept nogil:
    """Some tiles. In scratch memory there are two: one is written to the result while the next is made."""
    cdef const Job* job = tiles.job
    cdef const TileOrder* order = job.tile_order
    cdef const char* following
    cdef char* out
    cdef char* scratch = NULL
    cdef Py_ssize_t tile, tile_bytes = job.row_bytes << order.shift
    cdef Tile previous
    previous.n_bytes = 0
    for tile in range(start, stop):
        if is_interrupted(job.interrupts, order.n // order.n_tiles * job.tuple_work + slices_in(order, tile)):
            return
        out = job.out + tile * tile_bytes
        following = NULL
        if tile + 1 < stop and tiles.element == NULL:
            following = (job.data + tile * tile_bytes if job.data != NULL else out) + tile_bytes
        if tiles.scratch == NULL:
            apply_tile(tiles, tile, out, following, &previous)
            continue
        scratch = tiles.scratch + ((thread << tiles.writes_late) + (tile & tiles.writes_late)) * tiles.scratch_bytes
        apply_tile(tiles, tile, scratch, following, &previous)
        previous.source = scratch
        previous.out = out
        previous.n_bytes = slices_in(order, tile) * job.row_bytes
        if not tiles.writes_late:
            write_tile(&previous)
    write_tile(&previous)


cdef inline bint run_result_tiles(Job* job, Py_ssize_t* status) noexcept:
    """False: there is no memory, and nothing was written."""
    cdef ResultTiles tiles
    cdef const TileOrder* order = job.tile_order
    cdef Py_ssize_t update_step = job.walk.stride[job.walk.n_dims - 1][OTHER], n_tasks, task
    cdef Py_ssize_t values_bytes = whole_lines(order.n * job.row_bytes), scratch_bytes = 0
    cdef cnp.ndarray memory
    cdef char* values
    tiles.job = job
    tiles.loop = loop_in_order(&job.step)
    tiles.element = repeated_element(job)
    tiles.scratch_bytes = whole_lines(job.row_bytes << order.shift)
    tiles.writes_late = 3 * tiles.scratch_bytes <= l2_bytes()  # with the data of the tile that is prefetched
    if job.streams and (job.data != NULL or tiles.element != NULL):
        scratch_bytes = (job.n_threads << tiles.writes_late) * tiles.scratch_bytes
    memory = allocate_scratch(values_bytes + scratch_bytes + CACHE_LINE)  # one block, which has huge pages
    if memory is None:
        return False
    values = at_line(cnp.PyArray_BYTES(memory))
    tiles.values = values
    tiles.scratch = values + values_bytes if scratch_bytes else NULL
    n_tasks = min(order.n_chunks, n_tasks_for(job.n_threads))
    for task in prange(n_tasks, num_threads=job.n_threads, schedule="dynamic", chunksize=1, nogil=True):
        take_chunks(order, order.sources, chunk_start(order.n_chunks, n_tasks, task),
                    chunk_start(order.n_chunks, n_tasks, task + 1), job.row_bytes, job.updates, update_step, values,
                    job.interrupts)
    if tiles.element != NULL:
        tiles.element_bytes = take_element(job)
    status[0] = INTERRUPTED if job.interrupts.stopped else begin_writing(job, False)
    if status[0] == OK:
        n_tasks = min(order.n_tiles, n_tasks_for(job.n_threads))
        for task in prange(n_tasks, num_threads=job.n_threads, schedule="dynamic", chunksize=1, nogil=True):
            apply_tiles(&tiles, chunk_start(order.n_tiles, n_tasks, task),
                        chunk_start(order.n_tiles, n_tasks, task + 1), threadid())
    return True
