# RESULT_TILES: elements and points at prepared indices that have a tile order. The updates are moved to their places in
# that order, then each tile is copied and its updates are applied while it is in L2.
from cython.parallel cimport prange
from libc.stdint cimport int64_t, uint16_t
from libc.string cimport memcpy
cimport numpy as cnp

from common.codes cimport INTERRUPTED, OK, TAKE
from common.interrupts cimport is_interrupted
from common.items cimport cloned_void, prefetch_row_l2
from common.resolve cimport BLOCK
from common.scratch cimport allocate_scratch
from common.threads cimport chunk_start, n_tasks_for
from common.walk cimport OTHER
from prepared.tile_order cimport (
    PER_SCATTERED, PER_SCATTERED_IN_PLACE, TileOrder, begin_of, is_value, move_chunk, slices_in, tiles_pay,
)
from scatter.apply cimport apply_elements, apply_rows
from scatter.direct cimport LoopInOrder, Pairs, loop_in_order
from scatter.job cimport Job, begin_writing

cdef enum:
    PIECES = 32  # of a tile's updates


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


cdef inline void apply_positions(const Job* job, Py_ssize_t tile, LoopInOrder loop, Py_ssize_t begin, Py_ssize_t n,
                                 const char* values) noexcept nogil:
    """Apply n updates of a tile, from `begin` in the order on."""
    cdef const TileOrder* order = job.tile_order
    cdef char* out = job.out + (tile << order.shift) * job.row_bytes
    cdef Pairs pairs
    values += begin * job.row_bytes
    if loop == NULL:
        apply_blocks(job, order.positions + begin, n, out, values)
        return
    pairs.first = <const char*>(order.positions + begin)
    pairs.second = NULL
    pairs.step = pairs.width = sizeof(uint16_t)
    pairs.size = slices_in(order, tile)
    pairs.repeats = 1
    pairs.wrap = pairs.row_wrap = pairs.row_size = pairs.row = 0
    loop(&pairs, out, values, job.row_bytes, n)


cdef inline void apply_tile(const Job* job, Py_ssize_t tile, LoopInOrder loop, const char* values,
                            bint prefetches_next) noexcept nogil:
    cdef const TileOrder* order = job.tile_order
    cdef Py_ssize_t offset = (tile << order.shift) * job.row_bytes, n_bytes = slices_in(order, tile) * job.row_bytes
    cdef Py_ssize_t begin = begin_of(order, tile), n = begin_of(order, tile + 1) - begin, piece
    if is_interrupted(job.interrupts, n * job.tuple_work + slices_in(order, tile)):
        return
    if job.data != NULL:
        memcpy(job.out + offset, job.data + offset, n_bytes)
        apply_positions(job, tile, loop, begin, n, values)
        return
    # In place, the next tile is prefetched meanwhile.
    for piece in range(PIECES):
        if prefetches_next:
            prefetch_row_l2(job.out + offset + n_bytes + chunk_start(n_bytes, PIECES, piece), n_bytes // PIECES)
        apply_positions(job, tile, loop, begin + chunk_start(n, PIECES, piece),
                        chunk_start(n, PIECES, piece + 1) - chunk_start(n, PIECES, piece), values)


cdef inline void apply_tiles(const Job* job, Py_ssize_t start, Py_ssize_t stop, LoopInOrder loop,
                             const char* values) noexcept nogil:
    cdef Py_ssize_t tile
    for tile in range(start, stop):
        apply_tile(job, tile, loop, values, tile + 1 < stop)


cdef inline bint run_result_tiles(Job* job, Py_ssize_t* status) noexcept:
    """False: there is no memory, and nothing was written."""
    cdef const TileOrder* order = job.tile_order
    cdef Py_ssize_t update_step = job.walk.stride[job.walk.n_dims - 1][OTHER], n_tasks, task, chunk
    cdef LoopInOrder loop = loop_in_order(&job.step)
    cdef cnp.ndarray memory = allocate_scratch(order.n * job.row_bytes)
    cdef char* values
    if memory is None:
        return False
    values = cnp.PyArray_BYTES(memory)
    for chunk in prange(order.n_chunks, num_threads=job.n_threads, schedule="dynamic", chunksize=1, nogil=True):
        move_chunk(order, chunk, job.row_bytes, values, job.updates, update_step, NULL, job.interrupts)
    status[0] = INTERRUPTED if job.interrupts.stopped else begin_writing(job, False)
    if status[0] == OK:
        n_tasks = min(order.n_tiles, n_tasks_for(job.n_threads))
        for task in prange(n_tasks, num_threads=job.n_threads, schedule="dynamic", chunksize=1, nogil=True):
            apply_tiles(job, chunk_start(order.n_tiles, n_tasks, task), chunk_start(order.n_tiles, n_tasks, task + 1),
                        loop, values)
    return True
