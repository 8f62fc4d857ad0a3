# Tiles: elements at prepared indices that have a tile order. First the values of each tile of data are picked while it is
# in L2, then they are moved to the places of their indices.
from cython.parallel cimport prange
from libc.stdint cimport uint16_t
cimport numpy as cnp

from common.copies cimport copy_numbered, fill_elements
from common.interrupts cimport is_interrupted
from common.items cimport CACHE_LINE, prefetch_row, prefetch_row_l2, prefetch_write
from common.scratch cimport allocate_scratch
from common.threads cimport chunk_start, n_tasks_for
from common.walk cimport OTHER
from gather.job cimport Job
from prepared.tile_order cimport TileOrder, begin_of_run, is_value, slices_in, take_chunks

cdef enum:
    TILE_PARTS = 32  # of the next tile, each of which is prefetched between two runs
    RUNS_AHEAD = 4   # from a run that is picked to one that is prefetched


cdef inline bint can_use_tiles(const Job* job) noexcept nogil:
    cdef const TileOrder* order = job.tile_order
    cdef Py_ssize_t bytes = job.row.item_bytes
    return (order != NULL and job.row.outer.n == 1 and job.row.n_inner == 1 and job.out_is_linear
            and job.walk.stride[job.walk.n_dims - 1][OTHER] == bytes and is_value(bytes, order.n))


cdef inline void pick_values(const TileOrder* order, Py_ssize_t tile, const char* data, Py_ssize_t width, bint has_next,
                             char* values) noexcept nogil:
    """Pick the values of a tile's runs. The next tile is prefetched meanwhile."""
    cdef Py_ssize_t chunk, begin, n, i, part = 0, n_bytes = slices_in(order, tile + 1) * width
    cdef const char* following = data + (width << order.shift)
    for chunk in range(order.n_chunks):
        if chunk + RUNS_AHEAD < order.n_chunks:
            begin = begin_of_run(order, tile, chunk + RUNS_AHEAD)
            n = begin_of_run(order, tile + 1, chunk + RUNS_AHEAD) - begin
            if n:
                prefetch_row(<const char*>(order.positions + begin), n * <Py_ssize_t>sizeof(uint16_t))
                for i in range(n * width // CACHE_LINE + 1):
                    prefetch_write(values + begin * width + i * CACHE_LINE)
        while has_next and part * order.n_chunks < TILE_PARTS * (chunk + 1):
            prefetch_row_l2(following + chunk_start(n_bytes, TILE_PARTS, part), n_bytes // TILE_PARTS)
            part += 1
        begin = begin_of_run(order, tile, chunk)
        n = begin_of_run(order, tile + 1, chunk) - begin
        copy_numbered(width, data, width, order.positions + begin, n, values + begin * width)


cdef inline void pick_tiles(const Job* job, Py_ssize_t start, Py_ssize_t stop, char* values) noexcept nogil:
    cdef const TileOrder* order = job.tile_order
    cdef Py_ssize_t bytes = job.row.item_bytes, tile
    for tile in range(start, stop):
        if is_interrupted(job.interrupts, order.n // order.n_tiles + slices_in(order, tile)):
            return
        pick_values(order, tile, job.data + (tile << order.shift) * bytes, bytes, tile + 1 < stop, values)


cdef inline void fill_skipped(const Job* job, char* values) noexcept nogil:
    cdef const TileOrder* order = job.tile_order
    cdef Py_ssize_t bytes = job.row.item_bytes, chunk, i
    for chunk in range(order.n_chunks):
        for i in range(begin_of_run(order, order.n_tiles, chunk), begin_of_run(order, order.n_tiles + 1, chunk)):
            fill_elements(job.itemsize, job.fill, values + i * bytes, bytes // job.itemsize)


cdef inline bint run_tiles(const Job* job) noexcept:
    """False: there is no memory."""
    cdef const TileOrder* order = job.tile_order
    cdef Py_ssize_t bytes = job.row.item_bytes, n_tasks, task
    cdef int n_threads = job.n_threads
    cdef cnp.ndarray memory = allocate_scratch(order.n * bytes)
    cdef char* values
    if memory is None:
        return False
    values = cnp.PyArray_BYTES(memory)
    n_tasks = min(order.n_tiles, n_tasks_for(n_threads))
    for task in prange(n_tasks, num_threads=n_threads, schedule="dynamic", chunksize=1, nogil=True):
        pick_tiles(job, chunk_start(order.n_tiles, n_tasks, task), chunk_start(order.n_tiles, n_tasks, task + 1),
                   values)
    if job.fill != NULL:
        fill_skipped(job, values)
    n_tasks = min(order.n_chunks, n_tasks_for(n_threads))
    for task in prange(n_tasks, num_threads=n_threads, schedule="dynamic", chunksize=1, nogil=True):
        take_chunks(order, chunk_start(order.n_chunks, n_tasks, task),
                    chunk_start(order.n_chunks, n_tasks, task + 1), bytes, values, job.out, job.interrupts)
    return True
