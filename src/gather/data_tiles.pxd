# DATA_TILES: elements at prepared indices that have a tile order. First the values of each tile of data are picked
# while it is in L2, then they are moved to the places of their indices.
from cython.parallel cimport prange
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy
cimport numpy as cnp

from common.interrupts cimport is_interrupted
from common.items cimport bytes3, bytes6, bytes12, bytes16, cloned_void, inline_void, prefetch_row_l2
from common.scratch cimport allocate_scratch
from common.threads cimport chunk_start, n_tasks_for, team_size
from common.walk cimport OTHER
from gather.blocks cimport repeat
from gather.job cimport Job, work_ns
from prepared.tile_order cimport (
    PER_GATHERED, TileOrder, begin_of, is_value, move_chunk, slices_in, tiles_pay, value_t,
)


cdef enum:
    PIECES = 32  # of a tile's values


cdef inline bint can_use_tiles(const Job* job, bint forced) noexcept nogil:
    """Whether the job is for DATA_TILES; with forced: whether that can run it."""
    cdef const TileOrder* order = job.tile_order
    cdef Py_ssize_t bytes = job.row.item_bytes
    return (order != NULL and job.row.outer.n == 1 and job.row.n_inner == 1 and job.out_is_linear
            and job.walk.stride[job.walk.n_dims - 1][OTHER] == bytes and is_value(bytes, order.n)
            and (forced or tiles_pay(order.n_slices, bytes, order.n, PER_GATHERED)))


cdef inline inline_void pick_values(value_t* type, const uint16_t* positions, Py_ssize_t n, const char* tile,
                                    char* values) noexcept nogil:
    cdef Py_ssize_t i
    cdef value_t value
    for i in range(n):
        memcpy(&value, tile + positions[i] * <Py_ssize_t>sizeof(value_t), sizeof(value_t))
        memcpy(values + i * <Py_ssize_t>sizeof(value_t), &value, sizeof(value_t))


cdef inline cloned_void pick(const uint16_t* positions, Py_ssize_t n, const char* tile, char* values,
                             Py_ssize_t value_bytes) noexcept nogil:
    if value_bytes == 4:
        pick_values(<uint32_t*>NULL, positions, n, tile, values)
    elif value_bytes == 8:
        pick_values(<uint64_t*>NULL, positions, n, tile, values)
    elif value_bytes == 1:
        pick_values(<uint8_t*>NULL, positions, n, tile, values)
    elif value_bytes == 2:
        pick_values(<uint16_t*>NULL, positions, n, tile, values)
    elif value_bytes == 3:
        pick_values(<bytes3*>NULL, positions, n, tile, values)
    elif value_bytes == 6:
        pick_values(<bytes6*>NULL, positions, n, tile, values)
    elif value_bytes == 12:
        pick_values(<bytes12*>NULL, positions, n, tile, values)
    else:
        pick_values(<bytes16*>NULL, positions, n, tile, values)


cdef inline void pick_tiles(const Job* job, Py_ssize_t start, Py_ssize_t stop, char* values) noexcept nogil:
    """Pick the values of some tiles. The next tile is prefetched meanwhile."""
    cdef const TileOrder* order = job.tile_order
    cdef Py_ssize_t bytes = job.row.item_bytes, tile_bytes = bytes << order.shift, tile, piece, begin, n, first, next
    cdef const char* data
    for tile in range(start, stop):
        begin = begin_of(order, tile)
        n = begin_of(order, tile + 1) - begin
        data = job.data + tile * tile_bytes
        next = slices_in(order, tile + 1) * bytes if tile + 1 < stop else 0
        if is_interrupted(job.interrupts, n + slices_in(order, tile)):
            return
        for piece in range(PIECES):
            if next:
                prefetch_row_l2(data + tile_bytes + chunk_start(next, PIECES, piece), next // PIECES)
            first = begin + chunk_start(n, PIECES, piece)
            pick(order.positions + first, begin + chunk_start(n, PIECES, piece + 1) - first, data,
                 values + first * bytes, bytes)


cdef inline bint run_data_tiles(const Job* job) noexcept:
    """False: there is no memory."""
    cdef const TileOrder* order = job.tile_order
    cdef Py_ssize_t bytes = job.row.item_bytes, n_tasks, task, chunk, i
    cdef int n_threads = team_size(job.max_threads, job.forced_threads, work_ns(job))
    cdef cnp.ndarray memory = allocate_scratch(order.n * bytes)
    cdef char* values
    if memory is None:
        return False
    values = cnp.PyArray_BYTES(memory)
    n_tasks = min(order.n_tiles, n_tasks_for(n_threads))
    for task in prange(n_tasks, num_threads=n_threads, schedule="dynamic", chunksize=1, nogil=True):
        pick_tiles(job, chunk_start(order.n_tiles, n_tasks, task), chunk_start(order.n_tiles, n_tasks, task + 1),
                   values)
    for i in range(begin_of(order, order.n_tiles), order.n if job.fill != NULL else 0):
        repeat(job.fill, job.itemsize, bytes, values + i * bytes)
    for chunk in prange(order.n_chunks, num_threads=n_threads, schedule="dynamic", chunksize=1, nogil=True):
        move_chunk(order, chunk, bytes, values, NULL, 0, job.out, job.interrupts)
    return True
