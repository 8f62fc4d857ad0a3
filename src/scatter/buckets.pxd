# cython: cdivision=True
# The buckets of partition.pxd: how a result is cut into tiles, and how each thread places the records of its updates.
from libc.stdint cimport INT32_MAX, UINT32_MAX, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from common.codes cimport INTERRUPTED, OK, SKIP, TAKE
from common.interrupts cimport is_interrupted
from common.items cimport bytes16, cloned_void, inline_void, word_t
from common.resolve cimport BLOCK, resolve_block
from common.threads cimport chunk_start
from common.walk cimport OTHER, Cursor, advance, seek
from scatter.job cimport Job, update_step
from scatter.machine cimport machine

cdef enum:
    MAX_TILES = 1 << 10         # as many write streams as L1 and the TLB sustain
    TILES_PER_THREAD = 8        # so that threads that come late find no work left
    SCRATCH_BYTES = 60 << 20    # of records and accumulators
    GROUP_BYTES = 24 << 20      # of accumulators of a group of tiles
    MIN_RECORDS = 1 << 16       # of a round

cdef struct Partition:
    const Job* job
    int shift                   # a tile has 1 << shift rows
    Py_ssize_t n_tiles
    Py_ssize_t n_chunks         # of the round's tuples, one for each thread
    Py_ssize_t start            # of the round's tuples
    Py_ssize_t n
    uint32_t* rows              # of the round's tuples; UINT32_MAX: skipped
    uint32_t* counts            # of each chunk, for each tile, on cache lines of their own
    Py_ssize_t pitch            # of these
    uint32_t* begins            # of each tile: its first record; then their number
    char* records
    Py_ssize_t record_bytes
    bint by_value
    char* accumulators          # of a tile for each thread, or of each tile of the group; NULL: in the result
    Py_ssize_t tile_bytes
    char* marks                 # of a tile for each thread, or of each tile of the group
    Py_ssize_t marks_bytes
    bint keeps                  # accumulators and marks are kept from round to round
    Py_ssize_t first_tile       # of the group
    Py_ssize_t stop_tile
    bint is_first               # round
    bint is_last                # round


cdef inline int tile_shift(const Job* job, int n_threads) noexcept nogil:
    """log2 of a tile's rows: with its marks it takes a quarter of L2, and each thread has several."""
    cdef Py_ssize_t per_row = job.kernel.row_bytes + job.kernel.mark_bytes
    cdef Py_ssize_t most = max(machine.l2_bytes // 4 // per_row, <Py_ssize_t>1)
    cdef int shift = 0
    while (<Py_ssize_t>2 << shift) <= most:
        shift += 1
    while shift > 0 and (job.n_rows - 1) >> shift < min(<Py_ssize_t>(TILES_PER_THREAD * n_threads), <Py_ssize_t>MAX_TILES):
        shift -= 1
    while (job.n_rows - 1) >> shift >= MAX_TILES:
        shift += 1
    return shift


cdef inline Py_ssize_t record_size(const Job* job) noexcept nogil:
    """A row id, and the element or the number of an update."""
    return 4 + (max(job.conversion.narrow_bytes, <Py_ssize_t>4) if job.by_value else 4)


cdef inline bint can_partition(const Job* job) noexcept nogil:
    return (job.kernel.step != TAKE and 0 < job.n_rows <= INT32_MAX
            and job.walk.n < <Py_ssize_t>UINT32_MAX and job.kernel.row_bytes + job.kernel.mark_bytes <= GROUP_BYTES // 8
            and (job.order == NULL or job.n_rows * 4 < GROUP_BYTES * 16))


cdef inline cloned_void note_rows(const int64_t* rows, Py_ssize_t n, bint skips, uint32_t* to) noexcept nogil:
    cdef Py_ssize_t i
    if skips:
        for i in range(n):
            to[i] = UINT32_MAX if rows[i] < 0 else <uint32_t>rows[i]
    else:
        for i in range(n):
            to[i] = <uint32_t>rows[i]


cdef inline void count_rows(const Partition* partition, const uint32_t* rows, Py_ssize_t n,
                            uint32_t* counts) noexcept nogil:
    cdef Py_ssize_t i
    cdef int shift = partition.shift
    cdef uint32_t n_tiles = <uint32_t>partition.n_tiles
    if partition.job.tuples.mode == SKIP:
        for i in range(n):
            counts[min(rows[i] >> shift, n_tiles)] += 1
    else:
        for i in range(n):
            counts[rows[i] >> shift] += 1


cdef inline void assign_chunk(const Partition* partition, Py_ssize_t chunk, Py_ssize_t* status) noexcept nogil:
    """Resolve the chunk's tuples to row ids, and count those of each tile."""
    cdef const Job* job = partition.job
    cdef int64_t rows[BLOCK]
    cdef Cursor cursor
    cdef Py_ssize_t at = chunk_start(partition.n, partition.n_chunks, chunk), n
    cdef Py_ssize_t stop = chunk_start(partition.n, partition.n_chunks, chunk + 1)
    cdef uint32_t* counts = partition.counts + chunk * partition.pitch
    cdef bint skips = job.tuples.mode == SKIP
    status[0] = OK
    memset(counts, 0, (partition.n_tiles + 1) * sizeof(uint32_t))
    seek(&job.walk, partition.start + at, &cursor)
    while at < stop:
        resolve_block(&job.tuples, &job.walk, &cursor, min(<Py_ssize_t>BLOCK, stop - at), False, rows, &n)
        if n < 0:
            status[0] = (partition.start + at) * job.tuples.k - 1 - n
            return
        if is_interrupted(job.interrupts, n * job.tuples.k):
            status[0] = INTERRUPTED
            return
        note_rows(rows, n, skips, partition.rows + at)
        count_rows(partition, partition.rows + at, n, counts)
        at += n


cdef inline void find_places(const Partition* partition, Py_ssize_t chunk, char** places) noexcept nogil:
    """Where the chunk's first record of each tile goes: after those of all tiles before, and of chunks before.

    Each thread sums all histograms, which takes less time than to wait for one that does.
    """
    cdef uint32_t totals[MAX_TILES + 1]
    cdef uint32_t before[MAX_TILES + 1]
    cdef const uint32_t* counts
    cdef uint32_t sum = 0
    cdef Py_ssize_t tile, c, n_tiles = partition.n_tiles
    memset(totals, 0, n_tiles * sizeof(uint32_t))
    for c in range(partition.n_chunks):
        if c == chunk:
            memcpy(before, totals, n_tiles * sizeof(uint32_t))
        counts = partition.counts + c * partition.pitch
        for tile in range(n_tiles):
            totals[tile] += counts[tile]
    for tile in range(n_tiles):
        places[tile] = partition.records + (sum + before[tile]) * partition.record_bytes
        if chunk == 0:
            partition.begins[tile] = sum
        sum += totals[tile]
    if chunk == 0:
        partition.begins[n_tiles] = sum


cdef inline inline_void place_words(word_t* type, const Partition* partition, const uint32_t* rows,
                                    const char* updates, Py_ssize_t step, Py_ssize_t n, char** places) noexcept nogil:
    cdef Py_ssize_t i, record_bytes = 4 + (4 if sizeof(word_t) < 4 else sizeof(word_t))
    cdef uint32_t row, mask = (<uint32_t>1 << partition.shift) - 1
    cdef int shift = partition.shift
    cdef char* at
    cdef word_t value
    for i in range(n):
        row = rows[i]
        at = places[row >> shift]
        row &= mask
        memcpy(&value, updates + i * step, sizeof(word_t))
        memcpy(at, &row, 4)
        memcpy(at + 4, &value, sizeof(word_t))
        places[rows[i] >> shift] = at + record_bytes


cdef inline void place_kept(const Partition* partition, const uint32_t* rows, const char* updates, Py_ssize_t step,
                            Py_ssize_t n, char** places) noexcept nogil:
    """place_words, without skipped updates and those of other groups."""
    cdef Py_ssize_t i, tile, width = partition.job.conversion.narrow_bytes
    cdef uint32_t row
    cdef char* at
    for i in range(n):
        tile = rows[i] >> partition.shift
        if partition.first_tile <= tile < partition.stop_tile:
            at = places[tile]
            row = rows[i] & ((<uint32_t>1 << partition.shift) - 1)
            memcpy(at, &row, 4)
            memcpy(at + 4, updates + i * step, width)
            places[tile] = at + partition.record_bytes


cdef inline cloned_void place_values(const Partition* partition, bint all, const uint32_t* rows, const char* updates,
                                     Py_ssize_t step, Py_ssize_t n, char** places) noexcept nogil:
    cdef Py_ssize_t width = partition.job.conversion.narrow_bytes
    if not all:
        place_kept(partition, rows, updates, step, n, places)
    elif width == 4:
        place_words(<uint32_t*>NULL, partition, rows, updates, step, n, places)
    elif width == 8:
        place_words(<uint64_t*>NULL, partition, rows, updates, step, n, places)
    elif width == 1:
        place_words(<uint8_t*>NULL, partition, rows, updates, step, n, places)
    elif width == 2:
        place_words(<uint16_t*>NULL, partition, rows, updates, step, n, places)
    else:
        place_words(<bytes16*>NULL, partition, rows, updates, step, n, places)


cdef inline void place_numbers(const Partition* partition, const uint32_t* rows, Py_ssize_t at, Py_ssize_t n,
                               char** places) noexcept nogil:
    """Records with the number of the update in the round, or of the row of the source."""
    cdef const Job* job = partition.job
    cdef Py_ssize_t i, tile
    cdef uint32_t row, number, mask = (<uint32_t>1 << partition.shift) - 1
    cdef char* place
    for i in range(n):
        tile = rows[i] >> partition.shift
        if partition.first_tile <= tile < partition.stop_tile:
            row = rows[i] & mask
            number = <uint32_t>(at + i)
            if job.update_rows != NULL:
                number = <uint32_t>job.update_rows[partition.start + at + i]
            elif job.by_last:
                number += <uint32_t>partition.start + 1
            place = places[tile]
            memcpy(place, &row, 4)
            memcpy(place + 4, &number, 4)
            places[tile] = place + 8


cdef inline void place_chunk(const Partition* partition, Py_ssize_t chunk) noexcept nogil:
    cdef const Job* job = partition.job
    cdef char* places[MAX_TILES + 1]
    cdef Cursor cursor
    cdef int inner = job.walk.n_dims - 1
    cdef Py_ssize_t at = chunk_start(partition.n, partition.n_chunks, chunk), n, step = update_step(job)
    cdef Py_ssize_t stop = chunk_start(partition.n, partition.n_chunks, chunk + 1)
    cdef bint all = job.tuples.mode != SKIP and partition.stop_tile - partition.first_tile == partition.n_tiles
    find_places(partition, chunk, places)
    if not partition.by_value:
        while at < stop and not is_interrupted(job.interrupts, BLOCK):
            n = min(<Py_ssize_t>BLOCK, stop - at)
            place_numbers(partition, partition.rows + at, at, n, places)
            at += n
        return
    seek(&job.walk, partition.start + at, &cursor)
    while at < stop and not is_interrupted(job.interrupts, 2 * BLOCK):
        n = min(<Py_ssize_t>BLOCK, stop - at)
        if not job.updates_are_linear:
            n = min(n, job.walk.shape[inner] - cursor.coordinate[inner])
        place_values(partition, all, partition.rows + at, job.updates + cursor.offset[OTHER], step, n, places)
        at += n
        move(job, n, &cursor)


cdef inline void move(const Job* job, Py_ssize_t n, Cursor* cursor) noexcept nogil:
    """Advance by n ≤ BLOCK positions, also beyond the end of the innermost axis."""
    cdef int inner = job.walk.n_dims - 1
    cdef Py_ssize_t m
    while n > 0:
        m = min(n, job.walk.shape[inner] - cursor.coordinate[inner])
        advance(&job.walk, m, cursor)
        n -= m
