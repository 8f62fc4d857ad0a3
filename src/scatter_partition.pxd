# PARTITION: updates are dealt out to tiles of the result that fit L2, and then applied tile by tile.
from cython.parallel cimport prange
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from cpython.mem cimport PyMem_RawFree as free, PyMem_RawMalloc as malloc  # so that tracemalloc sees it
from libc.string cimport memcpy, memset

from apply cimport travels_by_value, word_t
from items cimport bytes16, cloned_void, inline_void
from resolve cimport BESIDE, BLOCK, OK, SKIPPED, Place, resolve_block, seek
from scatter_job cimport RECORD_BYTES, Job, apply_rows, apply_values, first_bad_of, share
from threads cimport MAX_TASKS

cdef enum:
    TILE_BYTES = 1 << 18        # of the result: L2 holds it with the updates that stream by
    MAX_TILES = 2048            # more would not be written to side by side; tiles grow instead
    SAMPLE = 512
    NEAR_BYTES = 1 << 12
    NEAR_CACHE = 1 << 22        # what one core gets through fast enough by itself


cdef inline void describe_tiles(Job* job, Py_ssize_t reach, int n_threads) noexcept nogil:
    """Cut the reach of the offsets into tiles, and say what a record of an update is."""
    job.shift = 18
    while reach >> job.shift >= MAX_TILES:
        job.shift += 1
    while job.shift > 6 and (reach >> job.shift) + 1 < min(4 * n_threads, <int>MAX_TILES // 2):
        job.shift -= 1
    job.n_tiles = (reach >> job.shift) + 1
    job.by_value = travels_by_value(&job.step)
    job.payload_bytes = job.step.row.item_bytes if job.by_value else 8
    job.record_bytes = <Py_ssize_t>sizeof(uint32_t) + job.payload_bytes


cdef inline Py_ssize_t chunk_start(const Job* job, Py_ssize_t chunk) noexcept nogil:
    return job.start + share(job.stop - job.start, job.n_chunks, chunk)


cdef inline cloned_void run_count(const Job* job, Py_ssize_t chunk, Py_ssize_t* status) noexcept nogil:
    """Count a chunk's updates by tile, into end."""
    cdef int64_t offsets[BLOCK]
    cdef Place at
    cdef Py_ssize_t start = chunk_start(job, chunk)
    cdef Py_ssize_t stop = chunk_start(job, chunk + 1)
    cdef Py_ssize_t n, i
    cdef Py_ssize_t* counts = job.end + chunk * job.n_tiles
    memset(counts, 0, job.n_tiles * sizeof(Py_ssize_t))
    status[0] = OK
    seek(&job.walk, start, &at)
    while start < stop:
        resolve_block(&job.tuples, &job.walk, &at, min(<Py_ssize_t>BLOCK, stop - start), False, offsets, &n)
        if n < 0:
            status[0] = start * job.tuples.k - 1 - n
            return
        for i in range(n):
            if offsets[i] != SKIPPED:
                counts[(offsets[i] - job.low) >> job.shift] += 1
        start += n


cdef inline inline_void place_block(word_t* kind, const Job* job, Py_ssize_t chunk, const int64_t* offsets,
                                    const char* updates, Py_ssize_t update_step, Py_ssize_t n) noexcept nogil:
    """Write a record of each update. kind: of the update itself, or of its offset (uint64_t)."""
    cdef Py_ssize_t i, record
    cdef int64_t offset, tile
    cdef word_t payload
    cdef uint32_t place
    cdef uint64_t update_offset
    cdef char* target
    cdef Py_ssize_t* end = job.end + chunk * job.n_tiles
    cdef const Py_ssize_t* limit = job.begin + chunk + 1
    for i in range(n):
        if offsets[i] == SKIPPED:
            continue
        offset = offsets[i] - job.low
        tile = offset >> job.shift
        record = end[tile]
        # More than were counted only if another thread changed the indices in between.
        if record >= limit[tile * job.n_chunks]:
            continue
        end[tile] = record + 1
        target = job.records + record * <Py_ssize_t>(sizeof(uint32_t) + sizeof(word_t))
        place = <uint32_t>(offset - (tile << job.shift))
        memcpy(target, &place, sizeof(uint32_t))
        if job.by_value:
            memcpy(&payload, updates + i * update_step, sizeof(word_t))
            memcpy(target + sizeof(uint32_t), &payload, sizeof(word_t))
        else:
            update_offset = <uint64_t>(updates + i * update_step - job.updates)
            memcpy(target + sizeof(uint32_t), &update_offset, 8)


cdef inline cloned_void run_place(const Job* job, Py_ssize_t chunk, Py_ssize_t* status) noexcept nogil:
    """Write the records of a chunk, for each tile in the order of the updates."""
    cdef int64_t offsets[BLOCK]
    cdef Place at
    cdef int inner = job.walk.n_dims - 1
    cdef Py_ssize_t start = chunk_start(job, chunk)
    cdef Py_ssize_t stop = chunk_start(job, chunk + 1)
    cdef Py_ssize_t update_step = job.walk.stride[inner][BESIDE]
    cdef Py_ssize_t n, tile
    cdef const char* updates
    cdef Py_ssize_t* end = job.end + chunk * job.n_tiles
    for tile in range(job.n_tiles):
        end[tile] = job.begin[tile * job.n_chunks + chunk]
    status[0] = OK
    seek(&job.walk, start, &at)
    while start < stop:
        updates = job.updates + at.offset[BESIDE]
        resolve_block(&job.tuples, &job.walk, &at, min(<Py_ssize_t>BLOCK, stop - start), not job.updates_are_linear,
                      offsets, &n)
        if n < 0:
            status[0] = start * job.tuples.k - 1 - n
            return
        if job.payload_bytes == 4:
            place_block(<uint32_t*>NULL, job, chunk, offsets, updates, update_step, n)
        elif job.payload_bytes == 8:
            place_block(<uint64_t*>NULL, job, chunk, offsets, updates, update_step, n)
        elif job.payload_bytes == 1:
            place_block(<uint8_t*>NULL, job, chunk, offsets, updates, update_step, n)
        elif job.payload_bytes == 2:
            place_block(<uint16_t*>NULL, job, chunk, offsets, updates, update_step, n)
        else:
            place_block(<bytes16*>NULL, job, chunk, offsets, updates, update_step, n)
        start += n


cdef inline Py_ssize_t first_row_at(const Job* job, Py_ssize_t tile) noexcept nogil:
    """Byte at which the first row starts that starts in this tile or later; the last tile has all that follows."""
    if tile == job.n_tiles:
        return job.out_bytes
    return min(((tile << job.shift) + job.row_bytes - 1) // job.row_bytes * job.row_bytes, job.out_bytes)


cdef inline void run_apply(const Job* job, Py_ssize_t tile, Py_ssize_t* status) noexcept nogil:
    """Copy the rows that start in this tile, and apply the tile's records in order."""
    cdef int64_t offsets[BLOCK]
    cdef int64_t update_offsets[BLOCK]
    cdef char* out = job.out + job.low + (tile << job.shift)
    cdef const char* records
    cdef uint32_t place
    cdef Py_ssize_t chunk, record, stop, n, i, start
    status[0] = OK
    if job.data != NULL:
        start = first_row_at(job, tile)
        memcpy(job.out + start, job.data + start, first_row_at(job, tile + 1) - start)
    for chunk in range(job.n_chunks):
        record = job.begin[tile * job.n_chunks + chunk]
        stop = job.end[chunk * job.n_tiles + tile]
        while record < stop:
            n = min(<Py_ssize_t>BLOCK, stop - record)
            records = job.records + record * job.record_bytes
            for i in range(n):
                memcpy(&place, records + i * job.record_bytes, sizeof(uint32_t))
                offsets[i] = place
            if job.by_value:
                apply_values(&job.step, out, offsets, records + sizeof(uint32_t), job.record_bytes, n)
            else:
                for i in range(n):
                    memcpy(&update_offsets[i], records + i * job.record_bytes + sizeof(uint32_t), 8)
                apply_rows(&job.step, out, offsets, job.updates, update_offsets, 0, n)
            record += n


cdef inline bint is_scattered(const Job* job) noexcept nogil:
    """Whether a sample of the tuples names places all over the result.

    If few tiles get most of it (duplicates, a power law), or tuples that follow each other name neighbours (sorted
    indices), one thread that goes through them finds the caches warm, and dealing them out first costs more.
    """
    cdef int64_t pair[2]
    cdef Place at
    cdef uint16_t count[MAX_TILES + 1]
    cdef Py_ssize_t i, n, tile, near = 0, seen = 0, distinct = 0, most = 0
    memset(count, 0, sizeof(count))
    for i in range(SAMPLE):
        seek(&job.walk, job.walk.n // SAMPLE * i, &at)
        resolve_block(&job.tuples, &job.walk, &at, 2, False, pair, &n)
        if n != 2 or pair[0] == SKIPPED or pair[1] == SKIPPED:
            continue
        seen += 1
        near += -NEAR_BYTES < pair[1] - pair[0] < NEAR_BYTES
        tile = (pair[0] - job.low) >> job.shift
        distinct += count[tile] == 0
        count[tile] += 1
        most = max(most, <Py_ssize_t>count[tile])
    return 4 * most < seen and 2 * near < seen and distinct << job.shift > NEAR_CACHE


cdef inline bint run_partition(Job* job, int n_threads, Py_ssize_t* bad) noexcept:
    """False: there is no memory for the records, and nothing was done."""
    cdef Py_ssize_t status[MAX_TASKS]
    cdef Py_ssize_t* tile_status
    cdef Py_ssize_t n_tuples = job.walk.n
    cdef Py_ssize_t per_round = min(n_tuples, <Py_ssize_t>RECORD_BYTES // job.record_bytes)
    cdef Py_ssize_t n_rounds = (n_tuples + per_round - 1) // per_round
    cdef Py_ssize_t chunk, tile, total
    cdef size_t table

    per_round = (n_tuples + n_rounds - 1) // n_rounds
    job.n_chunks = n_threads
    table = (job.n_tiles * job.n_chunks + 1) * sizeof(Py_ssize_t)
    job.begin = <Py_ssize_t*>malloc(2 * table + job.n_tiles * sizeof(Py_ssize_t))
    job.records = <char*>malloc(per_round * job.record_bytes)
    if job.begin == NULL or job.records == NULL:
        free(job.begin)
        free(job.records)
        return False
    job.end = job.begin + job.n_tiles * job.n_chunks + 1
    tile_status = job.end + job.n_tiles * job.n_chunks + 1
    bad[0] = OK
    job.start = 0
    while job.start < n_tuples and bad[0] == OK:
        job.stop = min(job.start + per_round, n_tuples)
        for chunk in prange(job.n_chunks, num_threads=n_threads, schedule="static", nogil=True):
            run_count(job, chunk, &status[chunk])
        bad[0] = first_bad_of(status, job.n_chunks)
        if bad[0] != OK:
            break
        total = 0
        for tile in range(job.n_tiles):
            for chunk in range(job.n_chunks):
                job.begin[tile * job.n_chunks + chunk] = total
                total += job.end[chunk * job.n_tiles + tile]
        job.begin[job.n_tiles * job.n_chunks] = total
        for chunk in prange(job.n_chunks, num_threads=n_threads, schedule="static", nogil=True):
            run_place(job, chunk, &status[chunk])
        bad[0] = first_bad_of(status, job.n_chunks)
        if bad[0] != OK:
            break
        for tile in prange(job.n_tiles, num_threads=n_threads, schedule="dynamic", chunksize=1, nogil=True):
            run_apply(job, tile, &tile_status[tile])
        job.data = NULL
        job.start = job.stop
    free(job.begin)
    free(job.records)
    return True
