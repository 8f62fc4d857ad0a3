# PARTITION: propagation blocking. Updates are partitioned by tiles of the result that fit L2, then applied by tile.
#
# In rounds of a bounded number of updates:
#     write_records   each thread resolves its chunk of the updates and writes them as records (position in the tile,
#                     update), in order, to a bucket for each tile
#     apply_records   the thread that owns a tile copies the tile of data and applies the tile's buckets, in order
#
# A bucket is a linked list of segments, so there is no need to count its records first, and each index is read once.
#
#     bucket ──> │ record │ record │ … │ link │ ──> │ record │ … │ link │
#                 <────── segment_bytes ──────>
from cpython.mem cimport PyMem_RawFree as free, PyMem_RawMalloc as malloc  # so that tracemalloc sees it
from cython.parallel cimport prange, threadid
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.string cimport memcpy, memset
cimport numpy as cnp

from common.codes cimport INTERRUPTED, OK
from common.interrupts cimport is_interrupted
from common.items cimport (
    CACHE_LINE, bytes16, cloned_void, inline_void, prefetch_l1, prefetch_stream, prefetch_write, word_t,
)
from common.resolve cimport BLOCK, SKIPPED, resolve_block
from common.scratch cimport allocate_scratch
from common.stream cimport stream_fence, stream_rows
from common.threads cimport MAX_TASKS, chunk_start, first_error
from common.walk cimport OTHER, Cursor, seek
from scatter.accumulate cimport elements_of_data, finish_elements, needs_scratch, start_elements
from scatter.apply cimport apply_elements, apply_rows
from scatter.job cimport Job, begin_writing, check_tuples, copy_bytes
from scatter.marks cimport SINK_BYTES, Marks, allocate_marks, free_marks, mark_block, start_sinks
from scatter.means cimport divide_rows
from scatter.tiles cimport WIDE_SUMS_BYTES, Partition, plan_rounds
from scatter.widen cimport apply_wide_block, load_tile, store_tile

cdef extern from *:
    """
    #include <stdint.h>
    /* Two words that are adjacent in memory, so that one store writes both. */
    static inline uint64_t gs_pair(uint32_t first, uint32_t second) {
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        return (uint64_t)first << 32 | second;
    #else
        return first | (uint64_t)second << 32;
    #endif
    }
    """
    uint64_t pair "gs_pair" (uint32_t first, uint32_t second) noexcept nogil

cdef enum:
    SUMS_BYTES = 1 << 22        # at most, of accumulators
    RECORDS_BYTES = 56 << 20    # at most, of all segments
    # With accumulators of a wider dtype: in one round; and in several, which are for one group of tiles after another.
    WIDE_RECORDS_BYTES = 44 << 20
    GROUP_RECORDS_BYTES = 24 << 20
    GROUP_SUMS_BYTES = 31 << 20
    SEGMENTS_AHEAD = 4          # of a thread's next one, for the prefetch

cdef struct Tile:
    char* base          # where records' positions count from: in the result, or in accumulators
    char* sums          # of the first row that starts in the tile, in accumulators
    char* out           # the same row in the result
    const char* data
    Py_ssize_t n_rows
    Py_ssize_t n_bytes
    bint signals        # data may have a signalling NaN
    Marks marks


cdef inline Py_ssize_t chunk_begin(const Partition* partition, Py_ssize_t chunk) noexcept nogil:
    return partition.start + chunk_start(partition.stop - partition.start, partition.n_chunks, chunk)


cdef inline char* next_segment(const Partition* partition, uint32_t tile, char* end, char** unused) noexcept nogil:
    """Link a full segment, in which a bucket ends, to an unused one, and return this.

    The bucket of skipped updates, which nobody reads, gets the same segment again.
    """
    if tile == partition.n_tiles:
        return <char*>(<uintptr_t>end & ~<uintptr_t>(partition.segment_bytes - 1))
    cdef char* segment = unused[0]
    cdef char* link = end + (-<Py_ssize_t>end & (partition.segment_bytes - 1)) - sizeof(char*)
    memcpy(link, &segment, sizeof(char*))
    unused[0] = segment + partition.segment_bytes
    prefetch_write(segment + SEGMENTS_AHEAD * partition.segment_bytes)
    return segment


cdef inline inline_void write_block(word_t* kind, const Partition* partition, Py_ssize_t chunk, const int64_t* offsets,
                                    const char* updates, Py_ssize_t update_step, Py_ssize_t n,
                                    char** unused) noexcept nogil:
    """Write a record for each update. kind: the type of the update by value, or of its offset (uint64_t)."""
    cdef bint by_value = partition.job.step.by_value
    cdef const char* all_updates = partition.job.updates
    cdef int64_t low = partition.low
    cdef int shift = partition.shift
    cdef uint32_t n_tiles = <uint32_t>partition.n_tiles
    cdef uintptr_t in_segment = partition.segment_bytes - 1
    # A segment is full when the next record would reach the link.
    cdef uintptr_t full = partition.segment_bytes - sizeof(char*) - partition.record_bytes
    cdef char** end = partition.end + chunk * (partition.n_tiles + 1)
    cdef uint32_t tiles[BLOCK]
    cdef uint32_t positions[BLOCK]
    cdef uint64_t words[BLOCK]
    cdef Py_ssize_t i
    cdef int64_t offset, tile
    cdef word_t payload
    cdef uint32_t low_half
    cdef uint64_t update_offset
    cdef char* target
    # First what can be vectorised. The records of skipped updates go to a bucket of their own, which no tile has.
    for i in range(n):
        offset = offsets[i] - low
        tile = offset >> shift
        positions[i] = <uint32_t>(offset - (tile << shift))
        tiles[i] = n_tiles if offsets[i] == SKIPPED else <uint32_t>tile
    if word_t is uint8_t or word_t is uint16_t or word_t is uint32_t:
        if update_step == sizeof(word_t):  # a constant stride lets the compiler vectorise
            for i in range(n):
                low_half = 0
                memcpy(&low_half, updates + i * <Py_ssize_t>sizeof(word_t), sizeof(word_t))
                words[i] = pair(positions[i], low_half)
        else:
            for i in range(n):
                low_half = 0
                memcpy(&low_half, updates + i * update_step, sizeof(word_t))
                words[i] = pair(positions[i], low_half)
        for i in range(n):
            target = end[tiles[i]]
            memcpy(target, &words[i], 8)
            target += 8
            if <uintptr_t>target & in_segment > full:
                target = next_segment(partition, tiles[i], target, unused)
            end[tiles[i]] = target
    else:
        for i in range(n):
            target = end[tiles[i]]
            memcpy(target, &positions[i], sizeof(uint32_t))
            if by_value:
                memcpy(&payload, updates + i * update_step, sizeof(word_t))
                memcpy(target + sizeof(uint32_t), &payload, sizeof(word_t))
            else:
                update_offset = <uint64_t>(updates + i * update_step - all_updates)
                memcpy(target + sizeof(uint32_t), &update_offset, 8)
            target += sizeof(uint32_t) + sizeof(word_t)
            if <uintptr_t>target & in_segment > full:
                target = next_segment(partition, tiles[i], target, unused)
            end[tiles[i]] = target


cdef inline void start_buckets(const Partition* partition, Py_ssize_t chunk, char** unused) noexcept nogil:
    """Give a chunk's buckets a segment each.

    They start at different lines of it: as their ends proceed at the same pace, they would fall into few sets of L1.
    """
    cdef Py_ssize_t bucket = chunk * (partition.n_tiles + 1)
    cdef Py_ssize_t lines = max(partition.segment_bytes // (2 * CACHE_LINE), <Py_ssize_t>1)
    cdef Py_ssize_t tile
    unused[0] = partition.segments + chunk * partition.chunk_bytes
    for tile in range(partition.n_tiles + 1):
        partition.first[bucket + tile] = unused[0] + tile * 5 % lines * CACHE_LINE
        partition.end[bucket + tile] = partition.first[bucket + tile]
        unused[0] += partition.segment_bytes


cdef inline inline_void select_group(const Partition* partition, int64_t* offsets, Py_ssize_t n) noexcept nogil:
    """Skip the updates of tiles outside the group."""
    cdef Py_ssize_t i
    cdef uint64_t low = <uint64_t>(partition.low + (partition.first_tile << partition.shift))
    cdef uint64_t size = <uint64_t>(partition.stop_tile - partition.first_tile) << partition.shift
    for i in range(n):
        offsets[i] = offsets[i] if <uint64_t>offsets[i] - low < size else SKIPPED


cdef inline cloned_void write_records(const Partition* partition, Py_ssize_t chunk,
                                      Py_ssize_t* status) noexcept nogil:
    """Write the records of a chunk: for each tile in the order of the updates."""
    cdef const Job* job = partition.job
    cdef int64_t offsets[BLOCK]
    cdef Cursor cursor
    cdef Py_ssize_t start = chunk_begin(partition, chunk)
    cdef Py_ssize_t stop = chunk_begin(partition, chunk + 1)
    cdef Py_ssize_t update_step = job.walk.stride[job.walk.n_dims - 1][OTHER]
    cdef Py_ssize_t n
    cdef const char* updates
    cdef char* unused
    start_buckets(partition, chunk, &unused)
    status[0] = OK
    seek(&job.walk, start, &cursor)
    while start < stop:
        updates = job.updates + cursor.offset[OTHER]
        resolve_block(&job.tuples, &job.walk, &cursor, min(<Py_ssize_t>BLOCK, stop - start),
                      not job.updates_are_linear, offsets, &n)
        if n < 0:
            status[0] = start * job.tuples.k - 1 - n
            return
        if is_interrupted(job.interrupts, 2 * n):
            status[0] = INTERRUPTED
            return
        if 0 < update_step <= CACHE_LINE:
            prefetch_stream(updates, n * update_step)
        if partition.stop_tile - partition.first_tile < partition.n_tiles:
            select_group(partition, offsets, n)
        if partition.payload_bytes == 4:
            write_block(<uint32_t*>NULL, partition, chunk, offsets, updates, update_step, n, &unused)
        elif partition.payload_bytes == 8:
            write_block(<uint64_t*>NULL, partition, chunk, offsets, updates, update_step, n, &unused)
        elif partition.payload_bytes == 1:
            write_block(<uint8_t*>NULL, partition, chunk, offsets, updates, update_step, n, &unused)
        elif partition.payload_bytes == 2:
            write_block(<uint16_t*>NULL, partition, chunk, offsets, updates, update_step, n, &unused)
        else:
            write_block(<bytes16*>NULL, partition, chunk, offsets, updates, update_step, n, &unused)
        start += n


cdef inline Py_ssize_t first_row_at(const Partition* partition, Py_ssize_t tile) noexcept nogil:
    """Offset of the first row that starts in this tile or later."""
    cdef Py_ssize_t row_bytes = partition.job.row_bytes
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
        to.base = partition.sums + (tile - partition.first_tile if partition.sums_by_tile else thread
                                    ) * partition.sums_bytes
    to.n_bytes = end - start
    to.out = job.out + start
    to.data = elements_of_data(job) + start
    to.marks = partition.marks
    if to.marks.width:
        to.marks.origin = (start - partition.low - (tile << partition.shift)) << partition.widening
        if partition.tile_rows:
            to.marks.table += thread * partition.tile_rows * to.marks.width
            memset(to.marks.table, 0, to.n_rows * to.marks.width)
        else:
            to.marks.table += start // job.row_bytes * to.marks.width
    to.sums = to.base + ((start - partition.low - (tile << partition.shift)) << partition.widening)
    to.signals = partition.sums_by_tile
    if partition.widening:
        if partition.is_first:
            load_tile(job, to.data, to.n_rows, to.sums, &to.signals)
    elif partition.is_first and partition.accumulates:
        start_elements(job, to.base, to.data, to.n_rows)
    elif partition.is_first and job.data != NULL:
        memcpy(to.base if partition.streams else to.out, to.data, end - start)


cdef inline void copy_tile(const Partition* partition, Py_ssize_t tile) noexcept nogil:
    """Copy the data of a tile that no tuple can name."""
    cdef const Job* job = partition.job
    cdef Py_ssize_t start = first_row_at(partition, tile)
    copy_bytes(job, job.out + start, job.data + start, first_row_at(partition, tile + 1) - start)


cdef inline inline_void prefetch_segment(const Partition* partition, const char* record) noexcept nogil:
    """Prefetch the rest of a segment, from a record on."""
    cdef Py_ssize_t i = 0
    cdef Py_ssize_t n = partition.segment_bytes - (<uintptr_t>record & (partition.segment_bytes - 1))
    while i < n:
        prefetch_l1(record + i)
        i += CACHE_LINE


cdef inline inline_void read_positions(const char* records, Py_ssize_t record_bytes, Py_ssize_t n,
                                       int64_t* offsets) noexcept nogil:
    cdef Py_ssize_t i
    cdef uint32_t position
    for i in range(n):
        memcpy(&position, records + i * record_bytes, sizeof(uint32_t))
        offsets[i] = position


cdef inline cloned_void read_records(const char* records, Py_ssize_t record_bytes, bint by_value, Py_ssize_t n,
                                     int64_t* offsets, int64_t* update_offsets) noexcept nogil:
    """The positions of n records and, unless by value, the offsets of their updates."""
    cdef Py_ssize_t i
    if record_bytes == 8:  # a constant stride lets the compiler vectorise
        read_positions(records, 8, n, offsets)
    elif record_bytes == 12:
        read_positions(records, 12, n, offsets)
    else:
        read_positions(records, record_bytes, n, offsets)
    if not by_value:
        for i in range(n):
            memcpy(&update_offsets[i], records + i * record_bytes + sizeof(uint32_t), 8)


cdef inline void apply_block(const Partition* partition, Tile* to, const char* records, Py_ssize_t n,
                             char* sinks) noexcept nogil:
    cdef const Job* job = partition.job
    cdef int64_t offsets[BLOCK]
    cdef int64_t update_offsets[BLOCK]
    cdef Py_ssize_t i, record_bytes = partition.record_bytes
    cdef bint by_value = job.step.by_value
    cdef const char* updates = records + sizeof(uint32_t) if by_value else job.updates
    read_records(records, record_bytes, by_value, n, offsets, update_offsets)
    if partition.widening:
        for i in range(n):
            offsets[i] <<= partition.widening
        apply_wide_block(job, &to.marks, to.base, offsets, updates, NULL if by_value else update_offsets,
                         record_bytes, n, sinks)
        return
    if to.marks.width:
        mark_block(&to.marks, &job.step, False, to.base, offsets, updates, NULL if by_value else update_offsets,
                   record_bytes, n, sinks)
    if by_value:
        apply_elements(&job.step, to.base, offsets, updates, record_bytes, n)
    else:
        apply_rows(&job.step, to.base, offsets, updates, update_offsets, 0, n)


cdef inline void apply_bucket(const Partition* partition, Tile* to, const char* record, const char* end,
                              char* sinks) noexcept nogil:
    cdef uintptr_t in_segment = partition.segment_bytes - 1
    cdef Py_ssize_t per_segment = partition.segment_bytes - <Py_ssize_t>sizeof(char*)
    cdef Py_ssize_t record_bytes = partition.record_bytes
    cdef const char* following = NULL
    cdef const char* link
    cdef Py_ssize_t n, n_left
    cdef bint is_last
    while True:
        is_last = (<uintptr_t>record ^ <uintptr_t>end) <= in_segment  # same segment
        if is_last:
            n_left = (end - record) // record_bytes
        else:
            n_left = (per_segment - <Py_ssize_t>(<uintptr_t>record & in_segment)) // record_bytes
            link = record - (<uintptr_t>record & in_segment) + per_segment
            memcpy(&following, link, sizeof(char*))
            prefetch_segment(partition, following)
        if is_interrupted(partition.job.interrupts, n_left * partition.job.tuple_work):
            return
        while n_left > 0:
            n = min(<Py_ssize_t>BLOCK, n_left)
            apply_block(partition, to, record, n, sinks)
            record += n * record_bytes
            n_left -= n
        if is_last:
            return
        record = following


cdef inline bint is_empty(const Partition* partition, Py_ssize_t tile) noexcept nogil:
    """Whether a tile has no records."""
    cdef Py_ssize_t chunk, bucket
    for chunk in range(partition.n_chunks):
        bucket = chunk * (partition.n_tiles + 1) + tile
        if partition.first[bucket] != partition.end[bucket]:
            return False
    return True


cdef inline void apply_records(const Partition* partition, Py_ssize_t tile, int thread) noexcept nogil:
    """Apply the records of a tile, in order."""
    cdef const Job* job = partition.job
    cdef Tile to
    cdef Py_ssize_t chunk, bucket
    cdef int64_t no_offset = 0
    cdef char sinks[SINK_BYTES]
    if tile >= partition.n_tiles or (partition.widening and partition.is_first and partition.is_last
                                     and is_empty(partition, tile)):
        if job.data != NULL:
            copy_tile(partition, tile)
        return
    if is_interrupted(job.interrupts, <Py_ssize_t>1 << partition.shift >> 3):
        return
    start_tile(partition, tile, thread, &to)
    if to.marks.width:
        start_sinks(sinks, BLOCK)
    for chunk in range(partition.n_chunks):
        bucket = chunk * (partition.n_tiles + 1) + tile
        if chunk + 1 < partition.n_chunks:
            prefetch_segment(partition, partition.first[bucket + partition.n_tiles + 1])
        apply_bucket(partition, &to, partition.first[bucket], partition.end[bucket], sinks)
    if partition.streams:
        stream_rows(to.out, to.n_bytes, to.base, &no_offset, 1, to.n_bytes)
        stream_fence()
    elif partition.is_last and partition.widening:
        store_tile(job, &to.marks, to.sums, to.n_rows, to.signals, to.out)
    elif partition.is_last and partition.accumulates:
        finish_elements(job, &to.marks, to.base, to.data, to.out, to.n_rows)
    elif partition.is_last and job.divides:
        divide_rows(&job.step, &to.marks, job.include_self, to.out, job.row_bytes, to.n_rows)


cdef inline Py_ssize_t run_rounds(Partition* partition, Job* job, Py_ssize_t per_round) noexcept:
    """Run all rounds for a group of tiles."""
    cdef Py_ssize_t status[MAX_TASKS]
    cdef int n_threads = job.n_threads, n_appliers = job.n_threads
    cdef Py_ssize_t n_tuples = job.walk.n
    cdef Py_ssize_t chunk, tile, stop_tile, bad = OK
    if partition.widening and not partition.sums_by_tile:
        n_appliers = <int>min(<Py_ssize_t>n_threads, WIDE_SUMS_BYTES // partition.sums_bytes)
    partition.start = 0
    while partition.start < n_tuples and bad == OK:
        partition.stop = min(partition.start + per_round, n_tuples)
        partition.is_first = partition.start == 0
        partition.is_last = partition.stop == n_tuples
        for chunk in prange(n_threads, num_threads=n_threads, schedule="static", nogil=True):
            write_records(partition, chunk, &status[chunk])
        bad = first_error(status, n_threads)
        if bad == OK and partition.is_first and partition.first_tile == 0:
            bad = begin_writing(job, False)
        if bad != OK:
            break
        # Tuples may be able to select only a part of the result; the tiles after it are copied.
        stop_tile = partition.stop_tile
        if partition.is_first and job.data != NULL and stop_tile == partition.n_tiles:
            stop_tile = max(stop_tile, ((job.out_bytes - 1) >> partition.shift) + 1)
        for tile in prange(partition.first_tile, stop_tile, num_threads=n_appliers, schedule="dynamic", chunksize=1,
                           nogil=True):
            apply_records(partition, tile, threadid())
        partition.start = partition.stop if not job.interrupts.stopped else n_tuples
    return bad


cdef inline bint run_partition(Partition* partition, Job* job, Py_ssize_t* bad) noexcept:
    """False: there is no scratch memory, and nothing was written."""
    cdef int n_threads = job.n_threads
    cdef Py_ssize_t n_tuples = job.walk.n
    cdef Py_ssize_t n_buckets = n_threads * (partition.n_tiles + 1)
    cdef Py_ssize_t tile_bytes = <Py_ssize_t>1 << partition.shift
    cdef Py_ssize_t per_round, n_sums = n_threads, group = partition.n_tiles  # tiles
    cdef bint in_scratch
    cdef cnp.ndarray records

    partition.n_chunks = n_threads
    per_round = plan_rounds(partition, WIDE_RECORDS_BYTES if partition.widening else RECORDS_BYTES,
                            job.n_rows * job.marks.width)
    if partition.widening and per_round < n_tuples:
        per_round = plan_rounds(partition, GROUP_RECORDS_BYTES, 0)
    records = allocate_scratch(n_threads * partition.chunk_bytes + partition.segment_bytes)
    partition.first = <char**>malloc(2 * n_buckets * sizeof(char*))
    # Accumulators in scratch memory: one write of the result less. Several rounds need them in the result.
    in_scratch = job.accumulates and per_round == n_tuples and tile_bytes * n_threads <= SUMS_BYTES
    partition.accumulates = in_scratch or (job.accumulates and not needs_scratch(job))
    partition.sums_by_tile = False
    if partition.widening:
        in_scratch = True
        partition.accumulates = False
        partition.sums_by_tile = per_round < n_tuples
        n_sums = min(<Py_ssize_t>n_threads, WIDE_SUMS_BYTES // partition.sums_bytes)
        if partition.sums_by_tile:
            group = n_sums = min(group, GROUP_SUMS_BYTES // partition.sums_bytes)
    else:
        partition.sums_bytes = tile_bytes
    partition.streams = (job.streams and job.data != NULL and per_round == n_tuples and job.step.by_value
                         and not partition.widening and not job.marks.width and partition.low == 0
                         and tile_bytes * n_threads <= SUMS_BYTES)
    in_scratch = in_scratch or partition.streams
    partition.sums = NULL
    if in_scratch:
        partition.sums = <char*>malloc(n_sums * partition.sums_bytes)
    partition.marks = job.marks
    partition.marks.assigns = not job.include_self and not partition.accumulates
    partition.tile_rows = 0
    if per_round == n_tuples and job.marks.width:
        partition.tile_rows = tile_bytes // job.row_bytes + 1
        if n_threads * partition.tile_rows > job.n_rows:
            partition.tile_rows = 0
    if (records is None or partition.first == NULL
            or (in_scratch and partition.sums == NULL)
            or (job.marks.width and not allocate_marks(
                &partition.marks, n_threads * partition.tile_rows if partition.tile_rows else job.n_rows))):
        free(partition.first)
        free(partition.sums)
        return False
    partition.end = partition.first + n_buckets
    partition.segments = cnp.PyArray_BYTES(records)
    partition.segments += -<Py_ssize_t>partition.segments & (partition.segment_bytes - 1)
    if job.checks_first and per_round < n_tuples:  # else the first pass checks all tuples
        bad[0] = check_tuples(job)
    partition.first_tile = 0
    while bad[0] == OK and partition.first_tile < partition.n_tiles and not job.interrupts.stopped:
        partition.stop_tile = min(partition.first_tile + group, partition.n_tiles)
        bad[0] = run_rounds(partition, job, per_round)
        partition.first_tile = partition.stop_tile
    free_marks(&partition.marks)
    free(partition.first)
    free(partition.sums)
    return True
