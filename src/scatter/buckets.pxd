# cython: cdivision=True
# The buckets of partition.pxd: how a result is cut into tiles, and where the records of their updates are.
#
# Each thread has a pool of blocks of equal size, and for each tile a list of blocks, which it fills with the records of
# its chunk of the updates, in their order. So one pass over the updates is enough: no histogram tells beforehand how
# many records a tile gets.
#
#     pool ──> │ block 0: tile 0 │ block 1: tile 1 │ … │ next block of a tile whose block is full │ …
from libc.stdint cimport INT32_MAX, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from common.codes cimport INTERRUPTED, OK, SKIP
from common.interrupts cimport is_interrupted
from common.items cimport (
    CACHE_LINE, L1_BYTES, MAX_TILES, PREFETCHED, bytes16, element_t, fits_register, inline_void, prefetch_l1,
    prefetch_write, whole_lines,
)
from common.machine cimport shared
from common.resolve cimport BLOCK, resolve_block
from common.scratch cimport SCRATCH_BYTES
from common.threads cimport TASKS_PER_THREAD, chunk_start
from common.walk cimport OTHER, Cursor, seek
from scatter.job cimport Job, update_step

cdef extern from *:
    """
    /* Updates have numbers of 32 bits, and where a size has 32 bits too, that of all records has to fit. */
    #define GS_MOST_UPDATES (sizeof(Py_ssize_t) > 4 ? (Py_ssize_t)UINT32_MAX : PY_SSIZE_T_MAX / 64)
    """
    const Py_ssize_t MOST_UPDATES "GS_MOST_UPDATES"

cdef enum:
    MAX_ROW_TILES = 4 * MAX_TILES  # of longer rows, of which tiles that fit in L1 are worth more
    MIN_TILES = 1 << 6          # with fewer, an update's place often depends on the one just before
    RECORDS_BYTES = (SCRATCH_BYTES >> 4) * 15  # of records and accumulators: what is small besides takes the rest
    GROUP_BYTES = (SCRATCH_BYTES >> 3) * 3  # of accumulators of a group of tiles, so that records have more than half
    MIN_BLOCK = 8               # log2 of a block's bytes: links to smaller ones would take longer,
    MAX_BLOCK = 13              # and larger ones would be less full
    MIN_RECORDS = 1 << 16       # of a round: fewer do not pay for visiting all tiles
    APART = 2 * CACHE_LINE      # bytes between what two threads write: CPUs fetch pairs of lines

cdef struct Partition:
    const Job* job
    int shift                   # a tile has 1 << shift rows
    Py_ssize_t n_tiles
    Py_ssize_t n_chunks         # of the round's tuples, each with a pool
    Py_ssize_t start            # of the round's tuples
    Py_ssize_t n
    char* sorting               # memory of each thread
    Py_ssize_t sorting_bytes    # of all; 0: records are not sorted by row
    char* pools
    Py_ssize_t pool_bytes
    int block_shift             # log2 of a block's bytes
    Py_ssize_t n_blocks         # of a pool
    Py_ssize_t record_bytes
    bint by_value               # a record has the update; otherwise its number, or row of a source, and its weights
    char* accumulators          # of a tile for each thread, or of each tile of the group; NULL: in the result
    Py_ssize_t tile_bytes
    char* marks                 # of a tile for each thread, or of each tile of the group
    Py_ssize_t marks_bytes
    bint keeps                  # accumulators and marks are kept from round to round
    Py_ssize_t first_tile       # of the group
    Py_ssize_t stop_tile
    bint is_first               # round
    bint is_last                # round

cdef struct Reader:
    # The records of a tile, block by block, in the order of their updates.
    const Partition* partition
    Py_ssize_t tile
    Py_ssize_t chunk
    const char* pool
    uint32_t next               # offset of the next block in the pool
    const char* records         # of the block
    Py_ssize_t n


cdef inline int tile_shift(const Job* job, int n_threads) noexcept nogil:
    """log2 of a tile's rows: with its marks it takes a quarter of L2, and each thread has several."""
    cdef Py_ssize_t per_row = job.kernel.row_bytes + job.kernel.mark_bytes
    cdef Py_ssize_t most = max(shared.machine.l2_bytes // 4 // per_row, <Py_ssize_t>1), max_tiles = MAX_TILES
    cdef Py_ssize_t least
    cdef int shift = 0
    if per_row >= CACHE_LINE:
        most = max(L1_BYTES // per_row, <Py_ssize_t>1)
        max_tiles = MAX_ROW_TILES
    while (<Py_ssize_t>2 << shift) <= most:
        shift += 1
    least = min(<Py_ssize_t>max(2 * TASKS_PER_THREAD * n_threads, MIN_TILES), max_tiles)
    while shift > 0 and (job.n_rows - 1) >> shift < least:
        shift -= 1
    while (job.n_rows - 1) >> shift >= max_tiles:
        shift += 1
    return shift


cdef inline Py_ssize_t record_size(const Job* job) noexcept nogil:
    """A row id, and the element or the number of an update, and its weights."""
    return 4 + (max(job.conversion.narrow_bytes, <Py_ssize_t>4) if job.rows_are_elements else 4) + job.weights.n_bytes


cdef inline bint can_partition(const Job* job) noexcept nogil:
    return (job.kernel.mark_bytes != 8 and 0 < job.n_rows <= INT32_MAX
            and job.walk.n < MOST_UPDATES and job.kernel.row_bytes + job.kernel.mark_bytes <= GROUP_BYTES // 8
            and (job.order == NULL or job.n_rows * 4 < GROUP_BYTES * 16))


cdef inline void plan_pools(Partition* partition, Py_ssize_t per_round) noexcept nogil:
    """Let the pools hold the records of so many updates."""
    cdef Py_ssize_t per_chunk
    partition.n_chunks = min(<Py_ssize_t>partition.job.n_threads,
                             max((SCRATCH_BYTES // 4 >> MIN_BLOCK) // partition.n_tiles, <Py_ssize_t>1))
    per_chunk = (per_round + partition.n_chunks - 1) // partition.n_chunks
    partition.block_shift = MIN_BLOCK
    while (partition.block_shift < MAX_BLOCK
           and partition.n_tiles << partition.block_shift + 2 <= per_chunk * partition.record_bytes):
        partition.block_shift += 1
    partition.n_blocks = partition.n_tiles + per_chunk // ((1 << partition.block_shift) // partition.record_bytes) + 1
    partition.pool_bytes = ((partition.n_blocks << partition.block_shift) + APART
                            + whole_lines((partition.n_blocks + partition.n_tiles) * sizeof(uint32_t)))


cdef inline uint32_t* links_of(const Partition* partition, const char* pool) noexcept nogil:
    """The block after each block of a tile's list."""
    return <uint32_t*>(pool + (partition.n_blocks << partition.block_shift))


cdef inline uint32_t* ends_of(const Partition* partition, const char* pool) noexcept nogil:
    """Where each tile's list ends, as an offset in the pool."""
    return links_of(partition, pool) + partition.n_blocks


# Writing

cdef inline uint32_t after(const Partition* partition, uint32_t at, uint32_t* used, uint32_t* links) noexcept nogil:
    """Where the record after that at `at` goes: in the same block, or in an unused one."""
    cdef uint32_t next = at + <uint32_t>partition.record_bytes, last = next + <uint32_t>partition.record_bytes - 1
    if (last ^ at) >> partition.block_shift == 0:
        return next
    next = used[0]
    used[0] += 1
    links[at >> partition.block_shift] = next
    return next << partition.block_shift


cdef inline inline_void place_elements(element_t* type, const Partition* partition, const int64_t* rows,
                                       const char* updates, Py_ssize_t step, Py_ssize_t n, char* pool,
                                       uint32_t* places, uint32_t* used, uint32_t* links) noexcept nogil:
    cdef Py_ssize_t i
    cdef uint32_t row, at, next, record_bytes = 4 + (4 if sizeof(element_t) < 4 else sizeof(element_t))
    cdef uint32_t mask = (<uint32_t>1 << partition.shift) - 1
    cdef int shift = partition.shift, block_shift = partition.block_shift
    cdef element_t value
    for i in range(n):
        at = places[rows[i] >> shift]
        row = <uint32_t>rows[i] & mask
        prefetch_write(pool + at + 2 * CACHE_LINE)  # where later records of the block go
        memcpy(&value, updates + i * step, sizeof(element_t))
        memcpy(pool + at, &row, 4)
        memcpy(pool + at + 4, &value, sizeof(element_t))
        next = at + record_bytes
        if (next + record_bytes - 1 ^ at) >> block_shift:
            next = after(partition, at, used, links)
        places[rows[i] >> shift] = next


cdef inline void place_kept(const Partition* partition, Py_ssize_t width, const int64_t* rows, const char* updates,
                            Py_ssize_t step, Py_ssize_t n, char* pool, uint32_t* places, uint32_t* used,
                            uint32_t* links) noexcept nogil:
    """place_elements, without skipped updates and those of other groups."""
    cdef Py_ssize_t i
    cdef int64_t tile
    cdef uint32_t row
    for i in range(n):
        tile = rows[i] >> partition.shift  # SKIPPED is negative
        if partition.first_tile <= tile < partition.stop_tile:
            row = <uint32_t>rows[i] & ((<uint32_t>1 << partition.shift) - 1)
            memcpy(pool + places[tile], &row, 4)
            memcpy(pool + places[tile] + 4, updates + i * step, width)
            places[tile] = after(partition, places[tile], used, links)


cdef inline void place(const Partition* partition, bint all, Py_ssize_t width, const int64_t* rows,
                       const char* updates, Py_ssize_t step, Py_ssize_t n, char* pool, uint32_t* places,
                       uint32_t* used, uint32_t* links) noexcept nogil:
    if not all or not fits_register(width):
        place_kept(partition, width, rows, updates, step, n, pool, places, used, links)
    elif width == 4:
        place_elements(<uint32_t*>NULL, partition, rows, updates, step, n, pool, places, used, links)
    elif width == 8:
        place_elements(<uint64_t*>NULL, partition, rows, updates, step, n, pool, places, used, links)
    elif width == 1:
        place_elements(<uint8_t*>NULL, partition, rows, updates, step, n, pool, places, used, links)
    elif width == 2:
        place_elements(<uint16_t*>NULL, partition, rows, updates, step, n, pool, places, used, links)
    else:
        place_elements(<bytes16*>NULL, partition, rows, updates, step, n, pool, places, used, links)


cdef inline void number_updates(const Job* job, Py_ssize_t first, Py_ssize_t n, char* numbers) noexcept nogil:
    """What records have instead of updates: their numbers, or the rows of the source that they are, with weights."""
    cdef Py_ssize_t i, n_bytes = job.weights.n_bytes
    if n_bytes:
        for i in range(n):
            memcpy(numbers, job.update_rows + first + i, sizeof(uint32_t))
            memcpy(numbers + sizeof(uint32_t), job.weights.first + (first + i) * n_bytes, n_bytes)
            numbers += sizeof(uint32_t) + n_bytes
    elif job.update_rows != NULL:
        memcpy(numbers, job.update_rows + first, n * sizeof(uint32_t))
    else:
        for i in range(n):
            (<uint32_t*>numbers)[i] = <uint32_t>(first + i) + job.by_last  # there 0 is none


cdef inline void place_chunk(const Partition* partition, Py_ssize_t chunk, Py_ssize_t* status) noexcept nogil:
    """Resolve the chunk's tuples, and place the records of its updates."""
    cdef const Job* job = partition.job
    cdef int64_t rows[BLOCK]
    cdef char numbers[BLOCK * (4 + CACHE_LINE)]
    cdef uint32_t places[MAX_ROW_TILES]
    cdef char* pool = partition.pools + chunk * partition.pool_bytes
    cdef uint32_t* links = links_of(partition, pool)
    cdef uint32_t used = <uint32_t>partition.n_tiles
    cdef Cursor cursor
    cdef Py_ssize_t at = partition.start + chunk_start(partition.n, partition.n_chunks, chunk), n, tile
    cdef Py_ssize_t stop = partition.start + chunk_start(partition.n, partition.n_chunks, chunk + 1)
    cdef Py_ssize_t step = update_step(job), width = job.conversion.narrow_bytes
    cdef const char* updates
    cdef bint all = job.tuples.mode != SKIP and partition.stop_tile - partition.first_tile == partition.n_tiles
    cdef bint to_run_end = partition.by_value and not job.updates_are_linear
    status[0] = OK
    for tile in range(partition.n_tiles):
        places[tile] = <uint32_t>(tile << partition.block_shift)
    if not partition.by_value:
        step = width = partition.record_bytes - 4
    seek(&job.walk, at, &cursor)
    while at < stop:
        updates = job.updates + cursor.offset[OTHER]
        resolve_block(&job.tuples, &job.walk, &cursor, min(<Py_ssize_t>BLOCK, stop - at), to_run_end, rows, &n)
        if n < 0:
            status[0] = at * job.tuples.k - 1 - n
            return
        if is_interrupted(job.interrupts, n * (job.tuples.k + 1)):
            status[0] = INTERRUPTED
            return
        if not partition.by_value:
            number_updates(job, at, n, numbers)
            updates = numbers
        place(partition, all, width, rows, updates, step, n, pool, places, &used, links)
        at += n
    memcpy(ends_of(partition, pool), places, partition.n_tiles * sizeof(uint32_t))


# Reading

cdef inline Reader read_tile(const Partition* partition, Py_ssize_t tile) noexcept nogil:
    cdef Reader reader
    reader.partition = partition
    reader.tile = tile
    reader.chunk = 0
    reader.pool = partition.pools
    reader.next = <uint32_t>(tile << partition.block_shift)
    return reader


cdef inline bint next_block(Reader* reader) noexcept nogil:
    """Move to the next block with records, and prefetch it. False: there is none."""
    cdef const Partition* partition = reader.partition
    cdef uint32_t end, at
    cdef Py_ssize_t i, n_bytes
    while reader.chunk < partition.n_chunks:
        at = reader.next
        end = ends_of(partition, reader.pool)[reader.tile]
        reader.records = reader.pool + at
        if (at ^ end) >> partition.block_shift:
            reader.next = links_of(partition, reader.pool)[at >> partition.block_shift] << partition.block_shift
            n_bytes = <Py_ssize_t>1 << partition.block_shift
        else:  # the last one of this chunk
            reader.chunk += 1
            reader.pool += partition.pool_bytes
            reader.next = <uint32_t>(reader.tile << partition.block_shift)
            n_bytes = end - at
        reader.n = n_bytes // partition.record_bytes
        if reader.n:
            i = 0
            while i < min(n_bytes, <Py_ssize_t>PREFETCHED):
                prefetch_l1(reader.records + i)
                i += CACHE_LINE
            return True
    return False
