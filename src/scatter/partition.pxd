# cython: cdivision=True
# Route "partition": updates are partitioned by tiles of rows, then a thread owns a tile (propagation blocking).
#
# In rounds of a bounded number of updates:
#     assign_chunk   each thread resolves its chunk of the tuples to row ids and counts those of each tile (a histogram)
#     place_chunk    each thread copies its chunk's updates, in order, to the buckets of their tiles. A record is a row
#                    in the tile and an element or, for longer rows, the number of an update
#     run_tile       a thread opens a tile, applies the records of its bucket in order, and closes it, all in L2
#
#     records ──> │ tile 0: chunk 0, chunk 1, … │ tile 1: chunk 0, chunk 1, … │ …
#
# Prepared indices have their records already: the numbers of the updates in the order of their rows (Order).
#
# Accumulators in scratch memory are those of a tile for each thread, so a tile has to have all its records at once. If
# there is no memory for all records, tiles are taken in groups, whose accumulators are kept from round to round, and
# each group resolves all tuples.
from cython.parallel cimport prange, threadid
from libc.stdint cimport INT32_MAX, UINT32_MAX, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset
cimport numpy as cnp

from common.codes cimport INTERRUPTED, OK, SKIP, TAKE
from common.interrupts cimport is_interrupted
from common.items cimport (
    CACHE_LINE, at_line, bytes16, cloned_void, inline_void, prefetch_row_l2, prefetch_stream, whole_lines, word_t,
)
from common.resolve cimport BLOCK, resolve_block
from common.scratch cimport allocate_scratch
from common.stream cimport stream_fence
from common.threads cimport MAX_TASKS, chunk_start, first_error
from common.walk cimport OTHER, Cursor, advance, seek
from prepared.order cimport Order
from scatter.job cimport RUN, Job, apply_block, begin_writing, check_tuples, is_fresh, update_step
from scatter.kernels cimport RECORDS, Elements, Rows, apply_elements
from scatter.machine cimport machine
from scatter.tile cimport Tile, close_rows, close_tile, open_rows, open_tile

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


# The records of a tile

cdef inline Py_ssize_t offset_of(const Job* job, Py_ssize_t number) noexcept nogil:
    """The offset of an update."""
    cdef Cursor cursor
    if job.updates_are_linear:
        return number * update_step(job)
    seek(&job.walk, number, &cursor)
    return cursor.offset[OTHER]


cdef inline cloned_void read_rows(const char* records, Py_ssize_t record_bytes, Py_ssize_t n,
                                  int64_t* rows) noexcept nogil:
    cdef Py_ssize_t i
    cdef uint32_t row
    if record_bytes == 8:  # a constant
        for i in range(n):
            memcpy(&row, records + i * 8, 4)
            rows[i] = row
        return
    for i in range(n):
        memcpy(&row, records + i * record_bytes, 4)
        rows[i] = row


cdef inline void read_offsets(const Partition* partition, const char* records, Py_ssize_t n,
                              int64_t* offsets) noexcept nogil:
    cdef const Job* job = partition.job
    cdef Py_ssize_t i, step = job.row_bytes if job.update_rows != NULL else update_step(job)
    cdef uint32_t number
    for i in range(n):
        memcpy(&number, records + i * 8 + 4, 4)
        if job.update_rows != NULL or job.updates_are_linear:
            offsets[i] = number * step + (partition.start * step if job.update_rows == NULL else 0)
        else:
            offsets[i] = offset_of(job, partition.start + number)


cdef inline bint applies_records(const Partition* partition) noexcept nogil:
    """Whether a record has the very value that is applied."""
    return partition.job.by_last or (partition.by_value and not partition.job.loads)


cdef inline void each_block(const Partition* partition, const Tile* tile, const char* records, Py_ssize_t n,
                            int what) noexcept nogil:
    """what: 0 apply the records, 1 open their rows, 2 close them."""
    cdef const Job* job = partition.job
    cdef int64_t rows[BLOCK]
    cdef int64_t offsets[BLOCK]
    cdef Rows some
    cdef Elements elements
    cdef Py_ssize_t m, done, size = partition.record_bytes
    elements.kind = RECORDS
    elements.is_far = True  # records come from memory
    some.rows = rows
    some.is_far = False
    while n > 0:
        m = min(<Py_ssize_t>(RUN if what == 0 and applies_records(partition) else BLOCK), n)
        if is_interrupted(job.interrupts, m * job.tuple_work):
            return
        if what == 0 and applies_records(partition):
            elements.indices = records
            apply_elements(&job.kernel, &elements, tile.accumulators, tile.marks, m, &done)
            records += m * size
            n -= m
            continue
        read_rows(records, size, m, rows)
        if what == 1:
            open_rows(job, tile, rows, m)
        elif what == 2:
            close_rows(job, tile, rows, m)
        else:
            some.updates = records + 4
            some.step = size
            some.offsets = NULL
            if not partition.by_value:
                read_offsets(partition, records, m, offsets)
                some.updates = job.updates
                some.offsets = offsets
            apply_block(job, &some, tile.accumulators, tile.marks, m)
        records += m * size
        n -= m


cdef inline void apply_ordered(const Partition* partition, const Tile* tile) noexcept nogil:
    """Apply the updates of an Order."""
    cdef const Job* job = partition.job
    cdef const Order* order = job.order
    cdef int64_t rows[BLOCK]
    cdef int64_t offsets[BLOCK]
    cdef Py_ssize_t row = tile.first, n = 0, step = job.row_bytes if job.update_rows != NULL else update_step(job)
    cdef uint32_t at = order.end[row - 1] if row else 0
    cdef Rows some
    some.rows = rows
    some.updates = job.updates
    some.offsets = offsets
    some.is_far = False
    while row < tile.first + tile.n:
        while at < order.end[row]:
            rows[n] = row - tile.first
            if job.update_rows != NULL or job.updates_are_linear:
                offsets[n] = order.updates[at] * step
            else:
                offsets[n] = offset_of(job, order.updates[at])
            n += 1
            at += 1
            if n == BLOCK:
                if is_interrupted(job.interrupts, n * job.tuple_work):
                    return
                apply_block(job, &some, tile.accumulators, tile.marks, n)
                n = 0
        row += 1
    if n:
        apply_block(job, &some, tile.accumulators, tile.marks, n)


cdef inline void run_tile(const Partition* partition, Py_ssize_t index, int thread) noexcept nogil:
    cdef const Job* job = partition.job
    cdef Tile tile
    cdef Py_ssize_t slot = index - partition.first_tile if partition.keeps else thread, n = 0
    cdef const char* records = NULL
    tile.first = index << partition.shift
    tile.n = min(<Py_ssize_t>1 << partition.shift, job.n_rows - tile.first)
    tile.accumulators = job.out + tile.first * job.row_bytes
    if partition.accumulators != NULL:
        tile.accumulators = partition.accumulators + slot * partition.tile_bytes
    tile.marks = partition.marks + slot * partition.marks_bytes if job.kernel.mark_bytes else NULL
    if job.order == NULL:
        records = partition.records + partition.begins[index] * partition.record_bytes
        n = partition.begins[index + 1] - partition.begins[index]
    if job.by_updates and n == 0 and not is_fresh(job):
        return
    if is_interrupted(job.interrupts, tile.n * job.row_bytes >> 3):
        return
    if partition.is_first:
        open_tile(job, &tile)
    if job.by_updates:
        each_block(partition, &tile, records, n, 1)
    if job.order != NULL:
        apply_ordered(partition, &tile)
    else:
        each_block(partition, &tile, records, n, 0)
    if job.by_updates:
        each_block(partition, &tile, records, n, 2)
    elif partition.is_last:
        close_tile(job, &tile)
    if job.streams:
        stream_fence()


cdef inline Py_ssize_t run_round(const Partition* partition, bint begins_writing) noexcept:
    """Returns OK or the position of the first bad index."""
    cdef Py_ssize_t status[MAX_TASKS]
    cdef const Job* job = partition.job
    cdef Py_ssize_t chunk, tile, found
    cdef int n_threads = job.n_threads
    if n_threads == 1:
        with nogil:
            if job.order == NULL:
                assign_chunk(partition, 0, &status[0])
            else:
                status[0] = OK
    else:
        for chunk in prange(partition.n_chunks if job.order == NULL else 0, num_threads=n_threads, schedule="static",
                            nogil=True):
            assign_chunk(partition, chunk, &status[chunk])
    found = first_error(status, partition.n_chunks) if job.order == NULL else <Py_ssize_t>OK
    if found == OK and begins_writing:
        found = begin_writing(job, False)
    if found != OK or job.interrupts.stopped:
        return found
    if n_threads == 1:
        with nogil:
            if job.order == NULL:
                place_chunk(partition, 0)
            for tile in range(partition.first_tile, partition.stop_tile):
                run_tile(partition, tile, 0)
        return OK
    if job.order == NULL:
        for chunk in prange(partition.n_chunks, num_threads=n_threads, schedule="static", nogil=True):
            place_chunk(partition, chunk)
    for tile in prange(partition.first_tile, partition.stop_tile, num_threads=n_threads, schedule="dynamic",
                       chunksize=1, nogil=True):
        run_tile(partition, tile, threadid())
    return OK


cdef inline bint run_partition(Job* job, Py_ssize_t* bad) noexcept:
    """False: there is no memory, and nothing was written."""
    cdef Partition partition
    cdef Py_ssize_t per_update, per_round, n_slots, table_bytes, marks_bytes, scratch_rows, fixed
    cdef cnp.ndarray memory
    cdef char* at
    cdef bint scratch, is_begun = False
    partition.job = job
    partition.shift = tile_shift(job, job.n_threads)
    partition.n_tiles = ((job.n_rows - 1) >> partition.shift) + 1
    partition.n_chunks = job.n_threads
    partition.pitch = (partition.n_tiles + 1 + 31) & ~<Py_ssize_t>31  # pairs of cache lines
    partition.by_value = job.by_value and job.order == NULL and job.update_rows == NULL
    partition.record_bytes = record_size(job) if partition.by_value else 8
    per_update = 4 + partition.record_bytes
    scratch_rows = <Py_ssize_t>1 << partition.shift
    partition.marks_bytes = whole_lines(scratch_rows * job.kernel.mark_bytes)
    table_bytes = 4 * (partition.pitch * (partition.n_chunks + 1) + 64)
    # One round, with accumulators and marks of a tile for each thread, if records take little enough memory
    scratch = not job.in_result or (job.streams and is_fresh(job))
    partition.tile_bytes = whole_lines(scratch_rows * job.kernel.row_bytes) if scratch else 0
    n_slots = job.n_threads
    fixed = table_bytes + n_slots * (partition.tile_bytes + partition.marks_bytes)
    partition.keeps = job.order == NULL and job.walk.n * per_update > SCRATCH_BYTES - fixed
    partition.first_tile = 0
    partition.stop_tile = partition.n_tiles
    per_round = job.walk.n
    if partition.keeps and job.by_updates:  # tiles are opened once
        return False
    if partition.keeps:
        if job.in_result:  # not streamed: accumulators stay in the result
            partition.tile_bytes = 0
        n_slots = partition.n_tiles
        if partition.tile_bytes:
            n_slots = min(n_slots, max(GROUP_BYTES // (partition.tile_bytes + partition.marks_bytes), <Py_ssize_t>1))
        fixed = table_bytes + n_slots * partition.tile_bytes
        if partition.tile_bytes:
            fixed += n_slots * partition.marks_bytes
        per_round = max((SCRATCH_BYTES - fixed) // per_update, <Py_ssize_t>MIN_RECORDS)
        per_round = (job.walk.n + per_round - 1) // per_round  # rounds
        per_round = (job.walk.n + per_round - 1) // per_round
        partition.stop_tile = n_slots
    marks_bytes = n_slots * partition.marks_bytes
    memory = allocate_scratch(table_bytes + n_slots * partition.tile_bytes + marks_bytes + 5 * CACHE_LINE
                              + (per_round * per_update if job.order == NULL else 0))
    if memory is None:
        return False
    at = at_line(cnp.PyArray_BYTES(memory))
    partition.counts = <uint32_t*>at
    partition.begins = partition.counts + partition.n_chunks * partition.pitch
    at = at_line(at + table_bytes)
    partition.accumulators = at if partition.tile_bytes else NULL
    at += n_slots * partition.tile_bytes
    partition.marks = at
    at += marks_bytes
    partition.records = at
    partition.rows = <uint32_t*>at_line(at + per_round * partition.record_bytes)
    if job.by_updates:
        memset(partition.marks, 0, marks_bytes)
    if job.checks_first and (per_round < job.walk.n or partition.stop_tile < partition.n_tiles):
        bad[0] = check_tuples(job)
    while bad[0] == OK and partition.first_tile < partition.n_tiles and not job.interrupts.stopped:
        partition.start = 0
        while bad[0] == OK and partition.start < max(job.walk.n, 1) and not job.interrupts.stopped:
            partition.n = min(per_round, job.walk.n - partition.start)
            partition.is_first = partition.start == 0
            partition.is_last = partition.start + partition.n == job.walk.n
            bad[0] = run_round(&partition, not is_begun)
            is_begun = True
            partition.start += max(partition.n, 1)
        n_slots = partition.stop_tile - partition.first_tile
        partition.first_tile = partition.stop_tile
        partition.stop_tile = min(partition.stop_tile + n_slots, partition.n_tiles)
    return True
