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
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy, memset
cimport numpy as cnp

from common.codes cimport OK
from common.interrupts cimport is_interrupted
from common.items cimport CACHE_LINE, at_line, cloned_void, prefetch_stream, whole_lines
from common.resolve cimport BLOCK
from common.scratch cimport allocate_scratch
from common.stream cimport stream_fence
from common.threads cimport MAX_TASKS, first_error
from common.walk cimport OTHER, Cursor, seek
from prepared.order cimport Order
from scatter.buckets cimport (
    GROUP_BYTES, MIN_RECORDS, SCRATCH_BYTES, Partition, assign_chunk, place_chunk, record_size, tile_shift,
)
from scatter.job cimport RUN, Job, begin_writing, check_tuples, is_fresh, update_step
from scatter.kernels cimport RECORDS, Elements, Rows, apply_elements
from scatter.tile cimport Tile, close_rows, close_tile, open_rows, open_tile
from scatter.updates cimport apply_block


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
