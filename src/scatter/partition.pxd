# cython: cdivision=True
# Route "partition": updates are partitioned by tiles of rows, then a thread owns a tile (propagation blocking).
#
# In rounds of a bounded number of updates:
#     place_chunk    each thread resolves its chunk of the tuples, and copies its updates, in order, to the buckets of
#                    their tiles. A record is a row in the tile and an element or, for longer rows, an update's number
#     run_tile       a thread opens a tile, applies the records of its buckets, thread by thread, and closes it, in L2
#
# Prepared indices have their records already: the numbers of the updates in the order of their rows (Order).
#
# Accumulators in scratch memory are those of a tile for each thread, so a tile has to have all its records at once. If
# there is no memory for all records, tiles are taken in groups, whose accumulators are kept from round to round, and
# each group resolves all tuples.
from cython.parallel cimport prange, threadid
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy, memset
cimport numpy as cnp

from common.codes cimport ADD, FLOAT32, FLOAT64, OK
from common.interrupts cimport is_interrupted
from common.items cimport CACHE_LINE, PAGE, PREFETCHED, at_line, prefetch_row, prefetch_row_l2, whole_lines
from common.resolve cimport BLOCK
from common.scratch cimport allocate_scratch
from common.stream cimport stream_fence
from common.threads cimport MAX_TASKS, first_error
from common.walk cimport OTHER, Cursor, seek
from prepared.order cimport Order
from scatter.buckets cimport (
    APART, GROUP_BYTES, MIN_RECORDS, RECORDS_BYTES, Partition, Reader, next_block, place_chunk, plan_pools, read_tile,
    record_size, tile_shift,
)
from scatter.job cimport Job, begin_writing, check_tuples, must_write_data, update_step
from scatter.kernels cimport RECORDS, Elements, Rows, apply_elements, rows_ahead
from scatter.row_runs cimport RowRuns, add_widened_runs, can_reduce_runs, reduce_runs
from scatter.tile cimport Tile, close_rows, close_tile, open_rows, open_tile
from scatter.updates cimport apply_block, apply_products


cdef enum:
    SORTED = 1 << 11            # records at a time: L1 holds them
    MOST_SORTED_ROWS = 1 << 9   # of a tile, so that a row has several of the records

cdef struct Sorting:
    # In scratch memory, since a thread's stack may be small (MIN_STACK in load.h).
    uint32_t records[2 * SORTED]  # of each its row, and the number of the update
    uint32_t order[SORTED]
    uint32_t end[MOST_SORTED_ROWS]
    char apart[APART]

cdef enum Use:
    PREFETCH                    # the first ones
    OPEN
    APPLY
    CLOSE


# The records of a tile

cdef inline Py_ssize_t offset_of(const Job* job, Py_ssize_t number) noexcept nogil:
    """The offset of an update."""
    cdef Cursor cursor
    cdef uint32_t outer
    if job.updates_are_linear:
        return number * update_step(job)
    if job.walk.n_dims == 2:  # a division of 4 bytes takes a fraction of the time of 8
        outer = <uint32_t>number // <uint32_t>job.walk.shape[1]
        return outer * job.walk.stride[0][OTHER] + (number - outer * job.walk.shape[1]) * job.walk.stride[1][OTHER]
    seek(&job.walk, number, &cursor)
    return cursor.offset[OTHER]


cdef inline void read_rows(const char* records, Py_ssize_t record_bytes, Py_ssize_t n,
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
    """Where the updates are: in their records, from the pools on, or in job.updates."""
    cdef const Job* job = partition.job
    cdef Py_ssize_t i, step = job.row_bytes if job.update_rows != NULL else update_step(job)
    cdef uint32_t number
    if partition.by_value:
        for i in range(n):
            offsets[i] = records + i * partition.record_bytes + 4 - partition.pools
        return
    for i in range(n):
        memcpy(&number, records + i * partition.record_bytes + 4, 4)
        if job.update_rows != NULL or job.updates_are_linear:
            offsets[i] = number * step
        else:
            offsets[i] = offset_of(job, number)


cdef inline void apply_values(const Partition* partition, const Tile* tile) noexcept nogil:
    """Apply records that have the very values."""
    cdef const Job* job = partition.job
    cdef Reader reader = read_tile(partition, tile.first >> partition.shift)
    cdef Elements elements
    cdef Py_ssize_t n, done
    cdef bint more = next_block(&reader)
    elements.source = RECORDS
    elements.prefetches = elements.repeats = False
    while more and not is_interrupted(job.interrupts, reader.n * job.tuple_work):
        elements.indices = reader.records
        n = reader.n
        more = next_block(&reader)  # prefetches it
        apply_elements(&job.kernel, &elements, tile.accumulators, tile.marks, n, &done)


cdef inline void apply_some(const Job* job, const Tile* tile, const Rows* rows, const char* factors,
                            const int64_t* weights, Py_ssize_t n) noexcept nogil:
    """weights: where those of each update are, from `factors` on, if there are any."""
    if job.weights.n_bytes:
        apply_products(job, rows, factors, weights, tile.accumulators, tile.marks, n)
    else:
        apply_block(job, rows, tile.accumulators, tile.marks, n)


cdef inline void use_some(const Partition* partition, const Tile* tile, Use use, const int64_t* rows,
                          const int64_t* offsets, const int64_t* weights, Py_ssize_t n) noexcept nogil:
    cdef Rows some
    cdef Py_ssize_t i
    if use == PREFETCH:
        for i in range(n):
            prefetch_row_l2(partition.job.updates + offsets[i],
                            min(partition.job.row_bytes, <Py_ssize_t>PREFETCHED))
    elif use == OPEN:
        open_rows(partition.job, tile, rows, n)
    elif use == CLOSE:
        close_rows(partition.job, tile, rows, n)
    else:
        some.rows = rows
        some.updates = partition.job.updates
        if partition.by_value:
            some.updates = partition.pools
        some.offsets = offsets
        some.prefetches = False
        apply_some(partition.job, tile, &some, partition.pools, weights, n)


cdef inline void use_records(const Partition* partition, const Tile* tile, Use use) noexcept nogil:
    """Prefetch the updates of the tile's records, open their rows, apply them, or close their rows."""
    cdef const Job* job = partition.job
    cdef Reader reader = read_tile(partition, tile.first >> partition.shift)
    cdef int64_t rows[BLOCK]
    cdef int64_t offsets[BLOCK]
    cdef int64_t weights[BLOCK]
    cdef Py_ssize_t i, m, n = 0
    while next_block(&reader):
        while reader.n:
            m = min(BLOCK - n, reader.n)
            read_rows(reader.records, partition.record_bytes, m, rows + n)
            read_offsets(partition, reader.records, m, offsets + n)
            for i in range(m if job.weights.n_bytes else 0):
                weights[n + i] = reader.records + i * partition.record_bytes + 8 - partition.pools
            reader.records += m * partition.record_bytes
            reader.n -= m
            n += m
            if n == BLOCK:
                if is_interrupted(job.interrupts, n * job.tuple_work):
                    return
                use_some(partition, tile, use, rows, offsets, weights, n)
                if use == PREFETCH:
                    return
                n = 0
    use_some(partition, tile, use, rows, offsets, weights, n)


cdef inline bint adds_floats_to_doubles(const Job* job) noexcept nogil:
    """Whether it is a sum of contiguous rows of float32, made in float64."""
    return (job.kernel.step == ADD and job.conversion.narrow == FLOAT32 and job.conversion.wide == FLOAT64
            and job.conversion.swapped == 0 and not job.rows_are_elements and job.row.outer.n <= 1
            and (job.row.n_inner <= 1 or job.row.inner_other == sizeof(float)))


cdef inline bint has_row_runs(const Job* job) noexcept nogil:
    """Whether the updates of a row, one after the other, are reduced in registers."""
    return ((adds_floats_to_doubles(job) and job.weights.n_bytes == 0
             or not job.copies_updates and can_reduce_runs(&job.kernel, &job.weights))
            and (job.update_rows != NULL or job.updates_are_linear))


cdef inline void apply_row_runs(const Job* job, const RowRuns* runs, Py_ssize_t at, Py_ssize_t stop, Py_ssize_t row,
                                char* accumulators, char* marks) noexcept nogil:
    """row: that of update `at`. accumulators, marks: of row 0."""
    while at < stop and not is_interrupted(job.interrupts, BLOCK * job.tuple_work):
        if job.copies_updates:
            add_widened_runs(&job.kernel, runs, at, min(at + BLOCK, stop), accumulators, marks, &row)
        else:
            reduce_runs(&job.kernel, runs, at, min(at + BLOCK, stop), accumulators, marks, &row)
        at += BLOCK


cdef inline bint sorts_records(const Partition* partition) noexcept nogil:
    """Whether the updates of a tile are sorted by row, which pays if a row has several."""
    cdef const Job* job = partition.job
    return (not partition.by_value and job.order == NULL and job.weights.n_bytes == 0
            and <Py_ssize_t>1 << partition.shift <= MOST_SORTED_ROWS and job.walk.n >= 2 * job.n_rows
            and job.n_threads * <Py_ssize_t>sizeof(Sorting) <= RECORDS_BYTES // 8 and has_row_runs(job))


cdef inline void apply_sorted(const Partition* partition, const Tile* tile, int thread) noexcept nogil:
    """Apply records that were sorted by row, some at a time."""
    cdef const Job* job = partition.job
    cdef Reader reader = read_tile(partition, tile.first >> partition.shift)
    cdef Sorting* sorting = <Sorting*>partition.sorting + thread
    cdef uint32_t* records = sorting.records
    cdef uint32_t* order = sorting.order
    cdef uint32_t* end = sorting.end
    cdef uint32_t total, count
    cdef Py_ssize_t i, m, n, row
    cdef bint more = next_block(&reader)
    cdef RowRuns runs
    while more:
        n = 0
        while more and n < SORTED:
            m = min(SORTED - n, reader.n)
            memcpy(records + 2 * n, reader.records, 2 * m * sizeof(uint32_t))
            reader.records += 2 * m * sizeof(uint32_t)
            reader.n -= m
            n += m
            if reader.n == 0:
                more = next_block(&reader)
        memset(end, 0, tile.n * sizeof(uint32_t))
        for i in range(n):
            end[records[2 * i]] += 1
        total = 0
        for row in range(tile.n):
            count = end[row]
            end[row] = total
            total += count
        for i in range(n):
            order[end[records[2 * i]]] = records[2 * i + 1]
            end[records[2 * i]] += 1
        runs = RowRuns(end, order, n, job.updates, job.row_bytes if job.update_rows != NULL else update_step(job),
                       rows_ahead(job.row_bytes), &job.weights, NULL)
        for i in range(min(n, runs.ahead)):
            prefetch_row_l2(runs.updates + order[i] * runs.step, job.row_bytes)
        apply_row_runs(job, &runs, 0, n, 0, tile.accumulators, tile.marks)


cdef inline void apply_ordered(const Partition* partition, const Tile* tile) noexcept nogil:
    """Apply the updates of an Order."""
    cdef const Job* job = partition.job
    cdef const Order* order = job.order
    cdef int64_t rows[BLOCK]
    cdef int64_t offsets[BLOCK]
    cdef int64_t weights[BLOCK]
    cdef Py_ssize_t row = tile.first, n = 0, step = job.row_bytes if job.update_rows != NULL else update_step(job)
    cdef Py_ssize_t at = order.end[row - 1] if row else 0
    cdef Py_ssize_t stop = order.end[row + tile.n - 1]
    cdef Rows some
    cdef RowRuns runs
    if has_row_runs(job):
        runs = RowRuns(order.end, order.updates, order.end[job.n_rows - 1], job.updates, step,
                       rows_ahead(job.row_bytes), &job.weights, order.numbers)
        apply_row_runs(job, &runs, at, stop, row,
                       <char*>(<size_t>tile.accumulators - <size_t>(tile.first * job.kernel.row_bytes)),
                       <char*>(<size_t>tile.marks - <size_t>(tile.first * job.kernel.mark_bytes)))
        return
    some.rows = rows
    some.updates = job.updates
    some.offsets = offsets
    some.prefetches = False
    while row < tile.first + tile.n:
        while at < order.end[row]:
            rows[n] = row - tile.first
            if job.update_rows != NULL or job.updates_are_linear:
                offsets[n] = order.updates[at] * step
            else:
                offsets[n] = offset_of(job, order.updates[at])
            if job.weights.n_bytes:
                weights[n] = order.numbers[at] * job.weights.n_bytes
                prefetch_row(job.weights.first + weights[n], job.weights.n_bytes)
            n += 1
            at += 1
            if n == BLOCK:
                if is_interrupted(job.interrupts, n * job.tuple_work):
                    return
                apply_some(job, tile, &some, job.weights.first, weights, n)
                n = 0
        row += 1
    if n:
        apply_some(job, tile, &some, job.weights.first, weights, n)


cdef inline void run_tile(const Partition* partition, Py_ssize_t index, int thread) noexcept nogil:
    cdef const Job* job = partition.job
    cdef Tile tile
    cdef Py_ssize_t slot = index - partition.first_tile if partition.keeps else thread
    cdef Reader reader
    tile.first = index << partition.shift
    tile.n = min(<Py_ssize_t>1 << partition.shift, job.n_rows - tile.first)
    tile.accumulators = job.out + tile.first * job.row_bytes
    if partition.accumulators != NULL:
        tile.accumulators = partition.accumulators + slot * partition.tile_bytes
    tile.marks = partition.marks + slot * partition.marks_bytes if job.kernel.mark_bytes else NULL
    if job.by_updates and not must_write_data(job):
        reader = read_tile(partition, index)
        if not next_block(&reader):
            return
    if is_interrupted(job.interrupts, tile.n * job.row_bytes >> 3):
        return
    if not (partition.by_value or partition.sorting_bytes or job.by_last or job.by_updates or job.order != NULL):
        use_records(partition, &tile, PREFETCH)
    if partition.is_first:
        open_tile(job, &tile)
    if job.by_updates:
        use_records(partition, &tile, OPEN)
    if job.order != NULL:
        apply_ordered(partition, &tile)
    elif job.by_last or (partition.by_value and not job.copies_updates):
        apply_values(partition, &tile)
    elif partition.sorting_bytes:
        apply_sorted(partition, &tile, thread)
    else:
        use_records(partition, &tile, APPLY)
    if job.by_updates:
        use_records(partition, &tile, CLOSE)
    elif partition.is_last:
        close_tile(job, &tile)
    if job.streams:
        stream_fence()


cdef inline Py_ssize_t run_round(const Partition* partition, bint begins_writing) noexcept:
    """Returns OK or the position of the first bad index."""
    cdef Py_ssize_t status[MAX_TASKS]
    cdef const Job* job = partition.job
    cdef Py_ssize_t chunk, tile, found = OK
    cdef int n_threads = job.n_threads
    if job.order == NULL and n_threads == 1:
        with nogil:
            place_chunk(partition, 0, &status[0])
        found = status[0]
    elif job.order == NULL:
        for chunk in prange(partition.n_chunks, num_threads=n_threads, schedule="static", nogil=True):
            place_chunk(partition, chunk, &status[chunk])
        found = first_error(status, partition.n_chunks)
    if found == OK and begins_writing:
        found = begin_writing(job, False)
    if found != OK or job.interrupts.stopped:
        return found
    if n_threads == 1:
        with nogil:
            for tile in range(partition.first_tile, partition.stop_tile):
                run_tile(partition, tile, 0)
        return OK
    for tile in prange(partition.first_tile, partition.stop_tile, num_threads=n_threads, schedule="dynamic",
                       chunksize=1, nogil=True):
        run_tile(partition, tile, threadid())
    return OK


cdef inline Py_ssize_t pools_bytes(const Partition* partition) noexcept nogil:
    return partition.n_chunks * partition.pool_bytes if partition.job.order == NULL else 0


cdef inline Py_ssize_t plan_rounds(Partition* partition, Py_ssize_t* n_slots) noexcept nogil:
    """Let a round's records, and accumulators and marks, fit in scratch memory. Returns the updates of a round.

    n_slots: how many tiles have accumulators and marks at once.
    """
    cdef const Job* job = partition.job
    cdef Py_ssize_t rows = <Py_ssize_t>1 << partition.shift, per_round = job.walk.n, fixed
    cdef Py_ssize_t tile_bytes = rows * job.kernel.row_bytes
    # Threads do not share the cache lines of tiles that are smaller than a page.
    cdef bint scratch = not job.in_result or (job.streams and must_write_data(job)) or (
        tile_bytes < PAGE and not job.by_updates)
    partition.tile_bytes = whole_lines(tile_bytes) + APART if scratch else 0
    partition.marks_bytes = whole_lines(rows * job.kernel.mark_bytes) + APART if job.kernel.mark_bytes else 0
    partition.first_tile = 0
    partition.stop_tile = partition.n_tiles
    n_slots[0] = job.n_threads
    fixed = n_slots[0] * (partition.tile_bytes + partition.marks_bytes) + partition.sorting_bytes
    plan_pools(partition, per_round)
    partition.keeps = job.order == NULL and pools_bytes(partition) > RECORDS_BYTES - fixed
    if not partition.keeps:
        return per_round
    if job.in_result:  # not streamed: accumulators stay in the result
        partition.tile_bytes = 0
    n_slots[0] = partition.n_tiles
    fixed = partition.sorting_bytes
    if partition.tile_bytes:
        n_slots[0] = min(n_slots[0],
                         max(GROUP_BYTES // (partition.tile_bytes + partition.marks_bytes), <Py_ssize_t>1))
        fixed += n_slots[0] * (partition.tile_bytes + partition.marks_bytes)
    partition.stop_tile = n_slots[0]
    # Blocks that are not full take up to a quarter as much as records.
    per_round = max((RECORDS_BYTES - fixed) // 4 * 3 // partition.record_bytes, <Py_ssize_t>MIN_RECORDS)
    per_round = (job.walk.n + per_round - 1) // per_round  # rounds
    per_round = (job.walk.n + per_round - 1) // per_round
    plan_pools(partition, per_round)
    return per_round


cdef inline bint run_partition(Job* job, Py_ssize_t* bad) noexcept:
    """False: there is no memory, and nothing was written."""
    cdef Partition partition
    cdef Py_ssize_t per_round, n_slots
    cdef cnp.ndarray memory
    cdef char* at
    cdef bint is_begun = False
    partition.job = job
    partition.shift = tile_shift(job, job.n_threads)
    partition.n_tiles = ((job.n_rows - 1) >> partition.shift) + 1
    partition.by_value = job.rows_are_elements and job.order == NULL and job.update_rows == NULL
    partition.record_bytes = record_size(job) if partition.by_value else 8 + job.weights.n_bytes
    partition.sorting_bytes = job.n_threads * <Py_ssize_t>sizeof(Sorting) if sorts_records(&partition) else 0
    per_round = plan_rounds(&partition, &n_slots)
    if partition.keeps and job.by_updates:  # tiles are opened once
        return False
    memory = allocate_scratch(n_slots * (partition.tile_bytes + partition.marks_bytes) + pools_bytes(&partition)
                              + partition.sorting_bytes + CACHE_LINE)
    if memory is None:
        return False
    at = at_line(cnp.PyArray_BYTES(memory))
    partition.sorting = at
    at += partition.sorting_bytes
    partition.pools = at
    at += pools_bytes(&partition)
    partition.accumulators = at if partition.tile_bytes else NULL
    partition.marks = at + n_slots * partition.tile_bytes
    if job.by_updates:
        memset(partition.marks, 0, n_slots * partition.marks_bytes)
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
