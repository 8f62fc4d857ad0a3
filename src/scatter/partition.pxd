# PARTITION: propagation blocking. Updates are partitioned by tiles of the result that fit L2, then applied by tile.
#
# In rounds of a bounded number of updates:
#     count_records   histogram: each thread counts the updates of its chunk by tile; then a prefix sum
#     write_records   each thread writes its records (position in the tile, update), in order, to its part of each tile
#     apply_records   the thread that owns a tile copies the tile of data and applies the tile's records, in order
from cpython.mem cimport PyMem_RawFree as free, PyMem_RawMalloc as malloc  # so that tracemalloc sees it
from cython.parallel cimport prange, threadid
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from common.codes cimport OK
from common.items cimport CACHE_LINE, bytes16, cloned_void, inline_void, prefetch_stream, word_t
from common.resolve cimport BLOCK, SKIPPED, resolve_block
from common.threads cimport MAX_TASKS, chunk_start, first_error
from common.walk cimport DATA, OTHER, Cursor, seek
from scatter.accumulate cimport elements_of_data, finish_elements, needs_scratch, start_elements
from scatter.apply cimport apply_elements, apply_rows
from scatter.job cimport SCRATCH_BYTES, Job, check_tuples, row_items
from scatter.marks cimport SINK_BYTES, Marks, allocate_marks, free_marks, mark_block, start_sinks
from scatter.means cimport divide_rows

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    /* Two adjacent words in one store: the compiler would emit two. */
    static inline void gs_store_pair(char *target, uint32_t first, uint32_t second) {
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        uint64_t both = (uint64_t)first << 32 | second;
    #else
        uint64_t both = first | (uint64_t)second << 32;
    #endif
        memcpy(target, &both, 8);
    }
    """
    void store_pair "gs_store_pair" (char* target, uint32_t first, uint32_t second) noexcept nogil

cdef enum:
    TILE_SHIFT = 18             # log2 of a tile's bytes: L2 holds it together with its records
    MAX_TILES = 2048            # as many write streams per thread as the TLB sustains; larger results get larger tiles
    SAMPLE = 512                # pairs of tuples
    NEIGHBOUR_BYTES = 1 << 12   # distance below which two destinations are neighbours
    CACHED_BYTES = 1 << 22      # of destinations that fit one core's caches without a partition

cdef struct Partition:
    const Job* job
    int64_t low                 # the lowest offset that a tuple can have
    Py_ssize_t reach            # the highest one is low + reach
    int shift                   # tile = (offset - low) >> shift
    Py_ssize_t n_tiles
    Py_ssize_t n_chunks         # of the round's tuples, one for each thread
    Py_ssize_t start            # of the round's tuples
    Py_ssize_t stop
    char* records               # position in the tile (uint32_t), then the update by value, or its offset (uint64_t)
    Py_ssize_t payload_bytes    # of the update or its offset
    Py_ssize_t record_bytes
    Py_ssize_t* begin           # prefix sum: the begin of the records of each (tile, chunk), and the total
    Py_ssize_t* end             # by (chunk, tile): the counts, then the end of the records written so far
    Marks marks                 # those of a tile for each thread; of the whole result if there are several rounds
    Py_ssize_t tile_rows        # the most rows that start in a tile; 0: marks are of the whole result
    bint accumulates
    char* sums                  # accumulators of a tile for each thread; NULL: in the result itself
    bint is_first               # round
    bint is_last                # round


cdef struct Tile:
    char* base          # where records' positions count from: in the result, or in accumulators
    char* out           # of the first row that starts in the tile
    const char* data
    Py_ssize_t n_rows
    Marks marks


cdef inline Py_ssize_t add_reach(Partition* partition, Py_ssize_t stride, Py_ssize_t n) noexcept nogil:
    if stride < 0:
        partition.low += stride * (n - 1)
        stride = -stride
    return stride * (n - 1) if n > 0 else 0


cdef inline void describe_partition(Partition* partition, const Job* job) noexcept nogil:
    """Cut the range of possible offsets into tiles."""
    cdef int d
    partition.job = job
    partition.low = 0
    partition.reach = 0
    for d in range(job.walk.n_dims):
        partition.reach += add_reach(partition, job.walk.stride[d][DATA], job.walk.shape[d])
    for d in range(job.tuples.k):
        partition.reach += add_reach(partition, job.tuples.stride[d], job.tuples.size[d])
    partition.shift = TILE_SHIFT
    while partition.reach >> partition.shift >= MAX_TILES:
        partition.shift += 1
    while partition.shift > 6 and (partition.reach >> partition.shift) + 1 < min(4 * job.n_threads, MAX_TILES // 2):
        partition.shift -= 1
    partition.n_tiles = (partition.reach >> partition.shift) + 1
    partition.payload_bytes = job.step.row.item_bytes if job.step.by_value else 8
    partition.record_bytes = <Py_ssize_t>sizeof(uint32_t) + partition.payload_bytes


cdef inline bint can_partition(const Partition* partition) noexcept nogil:
    return partition.shift < 32 and row_items(partition.job) > 0


cdef inline bint is_scattered(const Partition* partition) noexcept nogil:
    """Whether the destinations of a sample of the tuples are spread over the result.

    Otherwise a partition costs more than it saves, since a serial scatter hits the caches: few tiles get most updates
    (duplicates, a power law), or consecutive tuples have neighbouring destinations (sorted indices).
    """
    cdef const Job* job = partition.job
    cdef int64_t pair[2]
    cdef Cursor cursor
    cdef uint16_t count[MAX_TILES + 1]
    cdef Py_ssize_t i, n, tile, n_neighbours = 0, n_seen = 0, n_distinct = 0, most = 0
    memset(count, 0, sizeof(count))
    for i in range(SAMPLE):
        seek(&job.walk, job.walk.n // SAMPLE * i, &cursor)
        resolve_block(&job.tuples, &job.walk, &cursor, 2, False, pair, &n)
        if n != 2 or pair[0] == SKIPPED or pair[1] == SKIPPED:
            continue
        n_seen += 1
        n_neighbours += -NEIGHBOUR_BYTES < pair[1] - pair[0] < NEIGHBOUR_BYTES
        tile = (pair[0] - partition.low) >> partition.shift
        n_distinct += count[tile] == 0
        count[tile] += 1
        most = max(most, <Py_ssize_t>count[tile])
    return 4 * most < n_seen and 2 * n_neighbours < n_seen and n_distinct << partition.shift > CACHED_BYTES


cdef inline Py_ssize_t chunk_begin(const Partition* partition, Py_ssize_t chunk) noexcept nogil:
    return partition.start + chunk_start(partition.stop - partition.start, partition.n_chunks, chunk)


cdef inline cloned_void count_records(const Partition* partition, Py_ssize_t chunk, Py_ssize_t* status) noexcept nogil:
    """Count a chunk's updates by tile, into end."""
    cdef const Job* job = partition.job
    cdef int64_t offsets[BLOCK]
    cdef Cursor cursor
    cdef Py_ssize_t start = chunk_begin(partition, chunk)
    cdef Py_ssize_t stop = chunk_begin(partition, chunk + 1)
    cdef Py_ssize_t n, i
    cdef Py_ssize_t* counts = partition.end + chunk * partition.n_tiles
    memset(counts, 0, partition.n_tiles * sizeof(Py_ssize_t))
    status[0] = OK
    seek(&job.walk, start, &cursor)
    while start < stop:
        resolve_block(&job.tuples, &job.walk, &cursor, min(<Py_ssize_t>BLOCK, stop - start), False, offsets, &n)
        if n < 0:
            status[0] = start * job.tuples.k - 1 - n
            return
        for i in range(n):
            if offsets[i] != SKIPPED:
                counts[(offsets[i] - partition.low) >> partition.shift] += 1
        start += n


cdef inline inline_void write_block(word_t* kind, const Partition* partition, Py_ssize_t chunk, const int64_t* offsets,
                                    const char* updates, Py_ssize_t update_step, Py_ssize_t n) noexcept nogil:
    """Write a record for each update. kind: the type of the update by value, or of its offset (uint64_t)."""
    # Local copies of the fields: for the compiler, a store to a record may alias them.
    cdef bint by_value = partition.job.step.by_value
    cdef int64_t low = partition.low
    cdef int shift = partition.shift
    cdef Py_ssize_t n_chunks = partition.n_chunks
    cdef Py_ssize_t* end = partition.end + chunk * partition.n_tiles
    cdef const Py_ssize_t* limit = partition.begin + chunk + 1
    cdef char* records = partition.records
    cdef Py_ssize_t i, record
    cdef int64_t offset, tile
    cdef word_t payload
    cdef uint32_t position
    cdef uint64_t update_offset
    cdef char* target
    for i in range(n):
        if offsets[i] == SKIPPED:
            continue
        offset = offsets[i] - low
        tile = offset >> shift
        record = end[tile]
        # Stay within the counted records, even if another thread has changed the indices since.
        if record >= limit[tile * n_chunks]:
            continue
        end[tile] = record + 1
        target = records + record * <Py_ssize_t>(sizeof(uint32_t) + sizeof(word_t))
        position = <uint32_t>(offset - (tile << shift))
        if word_t is uint32_t:
            if by_value:
                memcpy(&payload, updates + i * update_step, sizeof(word_t))
                store_pair(target, position, payload)
                continue
        memcpy(target, &position, sizeof(uint32_t))
        if by_value:
            memcpy(&payload, updates + i * update_step, sizeof(word_t))
            memcpy(target + sizeof(uint32_t), &payload, sizeof(word_t))
        else:
            update_offset = <uint64_t>(updates + i * update_step - partition.job.updates)
            memcpy(target + sizeof(uint32_t), &update_offset, 8)


cdef inline cloned_void write_records(const Partition* partition, Py_ssize_t chunk,
                                      Py_ssize_t* status) noexcept nogil:
    """Write the records of a chunk: for each tile in the order of the updates."""
    cdef const Job* job = partition.job
    cdef int64_t offsets[BLOCK]
    cdef Cursor cursor
    cdef Py_ssize_t start = chunk_begin(partition, chunk)
    cdef Py_ssize_t stop = chunk_begin(partition, chunk + 1)
    cdef Py_ssize_t update_step = job.walk.stride[job.walk.n_dims - 1][OTHER]
    cdef Py_ssize_t n, tile
    cdef const char* updates
    cdef Py_ssize_t* end = partition.end + chunk * partition.n_tiles
    for tile in range(partition.n_tiles):
        end[tile] = partition.begin[tile * partition.n_chunks + chunk]
    status[0] = OK
    seek(&job.walk, start, &cursor)
    while start < stop:
        updates = job.updates + cursor.offset[OTHER]
        resolve_block(&job.tuples, &job.walk, &cursor, min(<Py_ssize_t>BLOCK, stop - start),
                      not job.updates_are_linear, offsets, &n)
        if n < 0:
            status[0] = start * job.tuples.k - 1 - n
            return
        if 0 < update_step <= CACHE_LINE:
            prefetch_stream(updates, n * update_step)
        if partition.payload_bytes == 4:
            write_block(<uint32_t*>NULL, partition, chunk, offsets, updates, update_step, n)
        elif partition.payload_bytes == 8:
            write_block(<uint64_t*>NULL, partition, chunk, offsets, updates, update_step, n)
        elif partition.payload_bytes == 1:
            write_block(<uint8_t*>NULL, partition, chunk, offsets, updates, update_step, n)
        elif partition.payload_bytes == 2:
            write_block(<uint16_t*>NULL, partition, chunk, offsets, updates, update_step, n)
        else:
            write_block(<bytes16*>NULL, partition, chunk, offsets, updates, update_step, n)
        start += n


cdef inline Py_ssize_t first_row_at(const Partition* partition, Py_ssize_t tile) noexcept nogil:
    """Offset of the first row that starts in this tile or later; for n_tiles, the end of the result."""
    cdef Py_ssize_t row_bytes = partition.job.row_bytes
    if tile == partition.n_tiles:
        return partition.job.out_bytes
    return min(((tile << partition.shift) + row_bytes - 1) // row_bytes * row_bytes, partition.job.out_bytes)


cdef inline void start_tile(const Partition* partition, Py_ssize_t tile, int thread, Tile* to) noexcept nogil:
    """Describe a tile for the thread that owns it. In the first round, copy its data or initialise its accumulators."""
    cdef const Job* job = partition.job
    cdef Py_ssize_t start = 0, end = 0
    to.n_rows = 0
    if job.row_bytes:
        start = first_row_at(partition, tile)
        end = first_row_at(partition, tile + 1)
        to.n_rows = (end - start) // job.row_bytes
    to.base = job.out + partition.low + (tile << partition.shift)
    if partition.sums != NULL:
        to.base = partition.sums + (thread << partition.shift)
    to.out = job.out + start
    to.data = elements_of_data(job) + start
    to.marks = partition.marks
    if to.marks.width:
        to.marks.origin = start - partition.low - (tile << partition.shift)
        if partition.tile_rows:
            to.marks.table += thread * partition.tile_rows * to.marks.width
            memset(to.marks.table, 0, to.n_rows * to.marks.width)
        else:
            to.marks.table += start // job.row_bytes * to.marks.width
    if partition.is_first and partition.accumulates:
        start_elements(job, to.base, to.data, to.n_rows)
    elif partition.is_first and job.data != NULL:
        memcpy(to.out, to.data, end - start)


cdef inline void apply_records(const Partition* partition, Py_ssize_t tile, int thread) noexcept nogil:
    """Apply the records of a tile, in order."""
    cdef const Job* job = partition.job
    cdef Tile to
    cdef int64_t offsets[BLOCK]
    cdef int64_t update_offsets[BLOCK]
    cdef const char* records
    cdef const char* updates
    cdef uint32_t position
    cdef bint by_value = job.step.by_value
    cdef Py_ssize_t record_bytes = partition.record_bytes
    cdef Py_ssize_t chunk, record, stop, n, i
    cdef char sinks[SINK_BYTES]
    start_tile(partition, tile, thread, &to)
    if to.marks.width:
        start_sinks(sinks, BLOCK)
    for chunk in range(partition.n_chunks):
        record = partition.begin[tile * partition.n_chunks + chunk]
        stop = partition.end[chunk * partition.n_tiles + tile]
        while record < stop:
            n = min(<Py_ssize_t>BLOCK, stop - record)
            records = partition.records + record * record_bytes
            prefetch_stream(records, n * record_bytes)
            updates = records + sizeof(uint32_t) if by_value else job.updates
            for i in range(n):
                memcpy(&position, records + i * record_bytes, sizeof(uint32_t))
                offsets[i] = position
                if not by_value:
                    memcpy(&update_offsets[i], records + i * record_bytes + sizeof(uint32_t), 8)
            if to.marks.width:
                mark_block(&to.marks, &job.step, False, to.base, offsets, updates,
                           NULL if by_value else update_offsets, record_bytes, n, sinks)
            if by_value:
                apply_elements(&job.step, to.base, offsets, updates, record_bytes, n)
            else:
                apply_rows(&job.step, to.base, offsets, updates, update_offsets, 0, n)
            record += n
    if partition.is_last and partition.accumulates:
        finish_elements(job, &to.marks, to.base, to.data, to.out, to.n_rows)
    elif partition.is_last and job.divides:
        divide_rows(&job.step, &to.marks, job.include_self, to.out, job.row_bytes, to.n_rows)


cdef inline bint run_partition(Partition* partition, Job* job, Py_ssize_t* bad) noexcept:
    """False: there is no scratch memory, and nothing was written."""
    cdef Py_ssize_t status[MAX_TASKS]
    cdef int n_threads = job.n_threads
    cdef Py_ssize_t n_tuples = job.walk.n
    cdef Py_ssize_t per_round = min(n_tuples, <Py_ssize_t>SCRATCH_BYTES // partition.record_bytes)
    cdef Py_ssize_t n_rounds = (n_tuples + per_round - 1) // per_round
    cdef Py_ssize_t n_counts = partition.n_tiles * n_threads
    cdef Py_ssize_t chunk, tile, total

    per_round = (n_tuples + n_rounds - 1) // n_rounds
    partition.n_chunks = n_threads
    partition.begin = <Py_ssize_t*>malloc((2 * n_counts + 1) * sizeof(Py_ssize_t))
    partition.records = <char*>malloc(per_round * partition.record_bytes)
    partition.accumulates = job.accumulates and (n_rounds == 1 or not needs_scratch(job))
    partition.sums = NULL
    if partition.accumulates and needs_scratch(job):
        partition.sums = <char*>malloc(n_threads << partition.shift)
    partition.marks = job.marks
    partition.marks.assigns = not job.include_self and not partition.accumulates
    partition.tile_rows = 0
    if n_rounds == 1 and job.marks.width:
        partition.tile_rows = (<Py_ssize_t>1 << partition.shift) // job.row_bytes + 1
    if (partition.begin == NULL or partition.records == NULL
            or (partition.accumulates and needs_scratch(job) and partition.sums == NULL)
            or (job.marks.width and not allocate_marks(
                &partition.marks, n_threads * partition.tile_rows if partition.tile_rows else job.n_rows))):
        free(partition.begin)
        free(partition.records)
        free(partition.sums)
        return False
    partition.end = partition.begin + n_counts + 1
    if job.checks_first and n_rounds > 1:  # else the first pass checks all tuples
        bad[0] = check_tuples(job)
    partition.start = 0
    while partition.start < n_tuples and bad[0] == OK:
        partition.stop = min(partition.start + per_round, n_tuples)
        partition.is_first = partition.start == 0
        partition.is_last = partition.stop == n_tuples
        for chunk in prange(n_threads, num_threads=n_threads, schedule="static", nogil=True):
            count_records(partition, chunk, &status[chunk])
        bad[0] = first_error(status, n_threads)
        if bad[0] != OK:
            break
        total = 0
        for tile in range(partition.n_tiles):
            for chunk in range(n_threads):
                partition.begin[tile * n_threads + chunk] = total
                total += partition.end[chunk * partition.n_tiles + tile]
        partition.begin[n_counts] = total
        for chunk in prange(n_threads, num_threads=n_threads, schedule="static", nogil=True):
            write_records(partition, chunk, &status[chunk])
        bad[0] = first_error(status, n_threads)
        if bad[0] != OK:
            break
        for tile in prange(partition.n_tiles, num_threads=n_threads, schedule="dynamic", chunksize=1, nogil=True):
            apply_records(partition, tile, threadid())
        partition.start = partition.stop
    free_marks(&partition.marks)
    free(partition.begin)
    free(partition.records)
    free(partition.sums)
    return True
