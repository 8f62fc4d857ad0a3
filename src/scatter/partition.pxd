# PARTITION: propagation blocking. Updates are partitioned by tiles of the result that fit L2, then applied by tile.
#
# In rounds of a bounded number of updates:
#     write_records   each thread resolves its chunk of the updates and writes them as records (position in the tile,
#                     update), in order, to a bucket for each tile
#     apply_records   the thread that owns a tile copies the tile of data and applies the tile's buckets, in order
#
# A bucket is a linked list of segments, so there is no need to count its records first, and each index is read once.
#
# Accumulators of a wider dtype (accumulate_dtype), and those with counts, are those of one tile for each thread, so a
# tile has all its records at once. If there is no memory for all records, the tiles are taken in groups, and each group
# resolves all tuples.
#
#     bucket ──> │ record │ record │ … │ link │ ──> │ record │ … │ link │
#                 <────── segment_bytes ──────>
from cpython.mem cimport (  # so that tracemalloc sees it
    PyMem_RawCalloc as calloc, PyMem_RawFree as free, PyMem_RawMalloc as malloc,
)
from cython.parallel cimport prange, threadid
from libc.stdint cimport int64_t, uint32_t, uintptr_t
from libc.string cimport memcpy, memset
cimport numpy as cnp

from common.caches cimport l2_bytes, prefetches_buckets
from common.codes cimport OK
from common.interrupts cimport is_interrupted
from common.items cimport CACHE_LINE, prefetch_row_l2
from common.resolve cimport BLOCK
from common.scratch cimport allocate_scratch
from common.stream cimport stream_bytes, stream_fence
from common.threads cimport MAX_TASKS, first_error, n_tasks_for
from scatter.accumulate cimport elements_of_data, finish_elements, needs_scratch, start_elements
from scatter.apply cimport apply_elements, apply_rows
from scatter.fill cimport fill_elements
from scatter.job cimport Job, begin_writing, check_tuples, copy_bytes, repeated_element, take_element
from scatter.loops.records cimport BITS, CELLS, FIRST_BITS, UNMARKED
from scatter.marks cimport SINK_BYTES, Marks, allocate_marks, free_marks, mark_block, start_sinks
from scatter.means cimport divide_rows
from scatter.record_loops cimport (
    WORD_BITS, choose_first_bits, choose_loop, finish_marked, has_bits, start_marked, words_for,
)
from scatter.records cimport FULL, prefetch_segment, read_records, read_short_records, write_records
from scatter.tiles cimport WIDE_SUMS_BYTES, Partition, Sample, Unwritten, end_of_group, plan_rounds, take_sample
from scatter.widen cimport apply_wide_block, load_tile, store_tile

cdef enum:
    SUMS_BYTES = 1 << 22        # at most, of tiles of all threads in scratch memory
    TILES_AT_A_TIME = 8         # at most
    MAX_AHEAD_BYTES = 1 << 14
    RECORDS_AT_A_TIME = 64
    PART_BYTES = 1 << 10        # of a tile that is written while records are applied
    RECORDS_BYTES = 56 << 20    # at most, of all segments, and of wider accumulators

cdef struct Tile:
    char* base          # where records' positions count from: in the result, or in accumulators
    char* sums          # of the first row that starts in the tile, in accumulators
    char* out           # the same row in the result
    const char* data
    Py_ssize_t n_rows
    Py_ssize_t n_bytes
    const char* ahead       # what is still to be prefetched
    const char* ahead_stop
    bint signals        # data may have a signalling NaN
    uint32_t* bits
    Marks marks


cdef inline Py_ssize_t first_row_at(const Partition* partition, Py_ssize_t tile) noexcept nogil:
    """Offset of the first row that starts in this tile or later."""
    cdef Py_ssize_t row_bytes = partition.job.row_bytes
    return min(((tile << partition.shift) + row_bytes - 1) // row_bytes * row_bytes, partition.job.out_bytes)


cdef inline bint needs_whole_tiles(const Partition* partition) noexcept nogil:
    """Whether accumulators are only those of tiles."""
    return partition.widening or partition.marking == CELLS


cdef inline bint is_marked(const Partition* partition) noexcept nogil:
    """Whether accumulators with bits or counts are in scratch memory."""
    return partition.marking == BITS or partition.marking == CELLS


cdef inline bint reads_ahead(const Partition* partition) noexcept nogil:
    """Whether tiles are prefetched: their data, or what the first round made of them if most lines have records again.
    """
    cdef const Job* job = partition.job
    if partition.is_first:
        return partition.element == NULL and (job.data != NULL or partition.sums != NULL)
    return not needs_whole_tiles(partition) and (partition.stop - partition.start) * CACHE_LINE >= job.out_bytes


cdef inline void start_tile(const Partition* partition, Py_ssize_t tile, Py_ssize_t slot, Tile* to) noexcept nogil:
    """Describe a tile for the thread that owns it. In the first round, copy its data or initialise its accumulators.

    slot: of the memory for accumulators and marks of a tile.
    """
    cdef const Job* job = partition.job
    cdef Py_ssize_t start = 0, end = 0
    cdef const char* source
    cdef bint is_late
    to.n_rows = 0
    if job.row_bytes:
        start = first_row_at(partition, tile)
        end = first_row_at(partition, tile + 1)
        to.n_rows = (end - start) // job.row_bytes
    to.base = job.out + partition.low + (tile << partition.shift)
    if partition.sums != NULL:
        to.base = partition.sums + slot * partition.sums_bytes
    to.n_bytes = end - start
    to.out = job.out + start
    to.data = elements_of_data(job) + start
    to.marks = partition.marks
    if to.marks.width:
        to.marks.origin = (start - partition.low - (tile << partition.shift)) << partition.widening
        if partition.tile_rows:
            to.marks.table += slot * partition.tile_rows * to.marks.width
            if partition.is_first:
                memset(to.marks.table, 0, to.n_rows * to.marks.width)
        else:
            to.marks.table += start // job.row_bytes * to.marks.width
    to.bits = NULL
    if has_bits(partition):
        to.bits = partition.bits + (slot * partition.tile_words if partition.tile_words
                                    else start // job.row_bytes // WORD_BITS)
    to.sums = to.base + ((start - partition.low - (tile << partition.shift)) << partition.widening)
    to.ahead = to.ahead_stop = NULL
    if reads_ahead(partition):
        source = elements_of_data(job) if partition.is_first else job.out
        # Of this tile, if its data are read at the end only, else of the thread's next one.
        is_late = is_marked(partition) and not job.include_self
        to.ahead = source + (start if is_late else end)
        to.ahead_stop = min(to.ahead + to.n_bytes, source + job.out_bytes)
        if (tile - partition.first_tile) % partition.tiles_at_a_time == 0 and not partition.is_first:
            prefetch_row_l2(to.out, to.n_bytes)
        if (tile - partition.first_tile + 1) % partition.tiles_at_a_time == 0 and not is_late:
            to.ahead_stop = to.ahead
    to.signals = partition.is_single
    if partition.widening:
        if partition.is_first:
            load_tile(job, to.data, to.n_rows, to.sums, &to.signals)
    elif partition.is_first and is_marked(partition):
        start_marked(partition, to.base, to.bits, to.data, to.n_rows)
    elif partition.is_first and partition.accumulates:
        start_elements(job, to.base, to.data, to.n_rows)
    elif partition.element != NULL:
        fill_elements(partition.element_bytes, partition.element, to.base, to.n_bytes // partition.element_bytes)
    elif partition.is_first and (job.data != NULL or partition.streams):
        memcpy(to.base if partition.streams else to.out, to.data, end - start)


cdef inline void copy_tile(const Partition* partition, Py_ssize_t tile) noexcept nogil:
    """Copy the data of a tile that no tuple can name."""
    cdef const Job* job = partition.job
    cdef Py_ssize_t start = first_row_at(partition, tile), n_bytes = first_row_at(partition, tile + 1) - start
    if partition.element != NULL:
        fill_elements(partition.element_bytes, partition.element, job.out + start, n_bytes // partition.element_bytes)
    else:
        copy_bytes(job, job.out + start, job.data + start, n_bytes)


cdef inline void apply_block(const Partition* partition, Tile* to, const char* records, Py_ssize_t n,
                             char* sinks) noexcept nogil:
    cdef const Job* job = partition.job
    cdef int64_t offsets[BLOCK]
    cdef int64_t update_offsets[BLOCK]
    cdef Py_ssize_t i, record_bytes = partition.record_bytes
    cdef bint by_value = job.step.by_value
    cdef const char* updates = records + sizeof(uint32_t) if by_value else job.updates
    if partition.is_short:
        read_short_records(records, record_bytes, partition.wide_shift, n, offsets)
        apply_wide_block(job, &to.marks, to.base, offsets, records + 2, NULL, record_bytes, n, sinks)
        return
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


cdef inline void prefetch_next(const Partition* partition, Tile* to) noexcept nogil:
    """Prefetch a part of what will be read after these records, into L2."""
    cdef Py_ssize_t n = min(partition.ahead_bytes, to.ahead_stop - to.ahead)
    if n > 0:
        prefetch_row_l2(to.ahead, n)
        to.ahead += n


cdef inline void write_part(const Partition* partition, Unwritten* left, Py_ssize_t n_bytes) noexcept nogil:
    """Write some of what is left of a tile."""
    n_bytes = min(n_bytes, left.n_bytes)
    if partition.streams:
        stream_bytes(left.out, left.sums, n_bytes, True)
        left.sums += n_bytes
    else:
        left.sums += finish_marked(partition, left.sums, left.bits, left.data, left.out, n_bytes)
        left.bits += n_bytes // partition.job.row_bytes // WORD_BITS
        left.data += n_bytes
    left.out += n_bytes
    left.n_bytes -= n_bytes


cdef inline void write_next(const Partition* partition, Unwritten* left) noexcept nogil:
    """Write what is due of the tile before, in whole parts."""
    cdef Py_ssize_t n_bytes
    left.due += partition.ahead_bytes
    if left.due >= PART_BYTES and left.n_bytes > 0:
        n_bytes = left.due & -<Py_ssize_t>PART_BYTES
        left.due -= n_bytes
        if partition.streams:  # parts end with cache lines
            n_bytes -= <uintptr_t>left.out & (CACHE_LINE - 1)
        write_part(partition, left, n_bytes)


cdef inline void apply_bucket(const Partition* partition, Tile* to, Unwritten* left, const char* record,
                              const char* end, char* sinks) noexcept nogil:
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
            n = min(<Py_ssize_t>RECORDS_AT_A_TIME, n_left)
            prefetch_next(partition, to)
            if left != NULL:
                write_next(partition, left)
            if partition.loop != NULL:
                partition.loop(to.base, to.bits, record, n)
            else:
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
    # The one tile of several rounds stays where it is.
    cdef Unwritten* left = &partition.unwritten[thread] if partition.writes_late and not partition.is_single else NULL
    cdef Py_ssize_t chunk, bucket, slot = 0 if partition.is_single else thread
    cdef char sinks[SINK_BYTES]
    if tile >= partition.n_tiles or (needs_whole_tiles(partition) and partition.is_first and partition.is_last
                                     and is_empty(partition, tile)):
        if job.data != NULL or partition.element != NULL:
            copy_tile(partition, tile)
        return
    if is_interrupted(job.interrupts, <Py_ssize_t>1 << partition.shift >> 3):
        return
    if left != NULL:
        slot = 2 * slot + left.is_second
    start_tile(partition, tile, slot, &to)
    if to.marks.width:
        start_sinks(sinks, BLOCK)
    for chunk in range(partition.n_chunks):
        bucket = chunk * (partition.n_tiles + 1) + tile
        if chunk + 1 < partition.n_chunks:
            prefetch_segment(partition, partition.first[bucket + partition.n_tiles + 1])
        apply_bucket(partition, &to, left, partition.first[bucket], partition.end[bucket], sinks)
    if left != NULL:
        write_part(partition, left, left.n_bytes)
        stream_fence()
        left.sums = to.base
        left.bits = to.bits
        left.data = to.data
        left.out = to.out
        left.n_bytes = to.n_bytes
        left.due = 0
        left.is_second = not left.is_second
    elif partition.streams:
        stream_bytes(to.out, to.base, to.n_bytes, False)
        stream_fence()
    elif partition.is_last and partition.widening:
        store_tile(job, &to.marks, to.sums, to.n_rows, to.signals, to.out)
    elif partition.is_last and is_marked(partition):
        finish_marked(partition, to.base, to.bits, to.data, to.out, to.n_bytes)
        stream_fence()
    elif partition.is_last and partition.accumulates and partition.sums != NULL and job.streams:
        finish_elements(job, &to.marks, to.base, to.data, to.base, to.n_rows)
        stream_bytes(to.out, to.base, to.n_bytes, False)
        stream_fence()
    elif partition.is_last and partition.accumulates:
        finish_elements(job, &to.marks, to.base, to.data, to.out, to.n_rows)
    elif partition.is_last and job.divides:
        divide_rows(&job.step, &to.marks, job.include_self, to.out, job.row_bytes, to.n_rows)


cdef inline Py_ssize_t run_rounds(Partition* partition, Job* job, Py_ssize_t per_round) noexcept:
    """Run all rounds for a group of tiles. FULL: a round has too many records, and nothing was written."""
    cdef Py_ssize_t status[MAX_TASKS]
    cdef int n_threads = job.n_threads, n_appliers = job.n_threads
    cdef Py_ssize_t n_tuples = job.walk.n
    cdef Py_ssize_t chunk, tile, stop_tile, bad = OK
    if needs_whole_tiles(partition):
        n_appliers = partition.n_sums
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
        if partition.is_first and (job.data != NULL or partition.element != NULL) and stop_tile == partition.n_tiles:
            stop_tile = max(stop_tile, ((job.out_bytes - 1) >> partition.shift) + 1)
        for tile in prange(partition.first_tile, stop_tile, num_threads=n_appliers, schedule="dynamic",
                           chunksize=partition.tiles_at_a_time, nogil=True):
            apply_records(partition, tile, threadid())
        if partition.writes_late:
            for chunk in prange(n_appliers, num_threads=n_appliers, schedule="static", nogil=True):
                write_part(partition, &partition.unwritten[chunk], partition.unwritten[chunk].n_bytes)
                stream_fence()
        partition.start = partition.stop if not job.interrupts.stopped else n_tuples
    return bad


cdef inline bint describe_tiles(Partition* partition, bint has_one_round) noexcept:
    """Choose where tiles are accumulated, and how. Returns whether it is in scratch memory."""
    cdef const Job* job = partition.job
    cdef Py_ssize_t tile_bytes = <Py_ssize_t>1 << partition.shift
    # Accumulators in scratch memory: one write of the result less. Several rounds need them in the result.
    cdef bint has_scratch = has_one_round and tile_bytes * job.n_threads <= SUMS_BYTES
    partition.marks = job.marks
    if partition.marking == BITS and not has_scratch:
        choose_first_bits(partition)
    if partition.marking != UNMARKED:
        partition.marks.width = 0
    partition.accumulates = (job.accumulates and not needs_whole_tiles(partition) and partition.marking != FIRST_BITS
                             and (has_scratch or not needs_scratch(job)))
    partition.marks.assigns = not job.include_self and not partition.accumulates
    # In place, too: copies of whole tiles are read and written sequentially.
    partition.element = repeated_element(job)
    partition.streams = (job.streams and job.is_contiguous
                         and (job.data != NULL or partition.element != NULL
                              or job.walk.n >= job.out_bytes // (2 * CACHE_LINE))
                         and has_scratch and job.step.by_value and partition.low == 0
                         and not needs_whole_tiles(partition) and not job.marks.width)
    if not partition.streams:
        partition.element = NULL
    partition.writes_late = ((partition.streams or (is_marked(partition) and job.streams))
                             and 2 * partition.sums_bytes + tile_bytes <= l2_bytes()
                             and partition.n_sums * partition.sums_bytes <= SUMS_BYTES)
    return needs_whole_tiles(partition) or partition.streams or (partition.accumulates and has_scratch)


cdef inline bint allocate_marks_of_tiles(Partition* partition, bint of_tiles) noexcept:
    """Allocate bits or marks. of_tiles: those of a tile for each thread. False: there is no memory."""
    cdef const Job* job = partition.job
    cdef Py_ssize_t tile_bytes = <Py_ssize_t>1 << partition.shift
    cdef Py_ssize_t n
    partition.bits = NULL
    partition.tile_words = 0
    partition.tile_rows = 0
    if has_bits(partition):
        of_tiles = partition.marking == BITS
        n = words_for(partition, tile_bytes if of_tiles else job.out_bytes)
        if of_tiles:  # those of two threads have no pair of cache lines in common
            partition.tile_words = n + 2 * CACHE_LINE // <Py_ssize_t>sizeof(uint32_t)
            n = partition.tile_words * (job.n_threads << partition.writes_late)
        partition.bits = <uint32_t*>calloc(n, sizeof(uint32_t))
        return partition.bits != NULL
    if not partition.marks.width:
        return True
    if of_tiles:
        partition.tile_rows = tile_bytes // job.row_bytes + 1
        if job.n_threads * partition.tile_rows > job.n_rows:
            partition.tile_rows = 0
    return allocate_marks(&partition.marks, job.n_threads * partition.tile_rows if partition.tile_rows else job.n_rows)


cdef inline bint allocate_tiles(Partition* partition, bint of_tiles) noexcept:
    """Allocate what belongs to tiles, but for their accumulators. False: there is no memory."""
    partition.unwritten = <Unwritten*>calloc(partition.n_sums, sizeof(Unwritten))
    return allocate_marks_of_tiles(partition, of_tiles) and partition.unwritten != NULL


cdef inline void free_tiles(Partition* partition) noexcept:
    free_marks(&partition.marks)
    free(partition.bits)
    free(partition.unwritten)


cdef inline bint run_partition(Partition* partition, Job* job, Py_ssize_t* bad) noexcept:
    """False: there is no scratch memory, and nothing was written."""
    cdef int n_threads = job.n_threads
    cdef Py_ssize_t n_tuples = job.walk.n
    cdef Py_ssize_t n_buckets = n_threads * (partition.n_tiles + 1)
    cdef Py_ssize_t per_round, marks_bytes = 0, most = RECORDS_BYTES, width = partition.n_tiles, sums_bytes = 0
    cdef bint in_groups
    cdef Sample sample
    cdef cnp.ndarray records

    partition.n_chunks = n_threads
    partition.tiles_at_a_time = max(
        min(partition.n_tiles // n_tasks_for(n_threads), <Py_ssize_t>TILES_AT_A_TIME), <Py_ssize_t>1)
    partition.is_single = False
    partition.prefetches = prefetches_buckets()
    choose_loop(partition)
    partition.n_sums = n_threads
    if partition.marking == CELLS:
        partition.sums_bytes = <Py_ssize_t>2 << partition.shift
    elif not partition.widening:
        partition.sums_bytes = <Py_ssize_t>1 << partition.shift
    if needs_whole_tiles(partition):
        partition.n_sums = min(n_threads, <int>(WIDE_SUMS_BYTES // partition.sums_bytes))
        most -= partition.n_sums * partition.sums_bytes
    elif partition.marking == UNMARKED:
        marks_bytes = job.n_rows * job.marks.width
    per_round = plan_rounds(partition, most, marks_bytes)
    partition.ahead_bytes = job.out_bytes // max(per_round // RECORDS_AT_A_TIME, <Py_ssize_t>1)
    partition.ahead_bytes = min(partition.ahead_bytes, <Py_ssize_t>MAX_AHEAD_BYTES)
    in_groups = needs_whole_tiles(partition) and per_round < n_tuples
    if in_groups:
        partition.chunk_bytes = max(partition.chunk_bytes, most // n_threads & -partition.segment_bytes)
        take_sample(partition, &sample)
    if describe_tiles(partition, per_round == n_tuples):
        sums_bytes = (partition.n_sums << partition.writes_late) * partition.sums_bytes
    # One block, which has huge pages.
    records = allocate_scratch(n_threads * partition.chunk_bytes + partition.segment_bytes + sums_bytes)
    partition.first = <char**>malloc(2 * n_buckets * sizeof(char*))
    if (not allocate_tiles(partition, per_round == n_tuples or in_groups)
            or records is None or partition.first == NULL):
        free_tiles(partition)
        free(partition.first)
        return False
    if partition.element != NULL:
        partition.element_bytes = take_element(job)
    partition.end = partition.first + n_buckets
    partition.segments = cnp.PyArray_BYTES(records)
    partition.segments += -<Py_ssize_t>partition.segments & (partition.segment_bytes - 1)
    partition.sums = partition.segments + n_threads * partition.chunk_bytes if sums_bytes else NULL
    if job.checks_first and per_round < n_tuples and not in_groups:  # else the first pass checks all tuples
        bad[0] = check_tuples(job)
    partition.first_tile = 0
    while bad[0] == OK and partition.first_tile < partition.n_tiles and not job.interrupts.stopped:
        partition.stop_tile = partition.n_tiles
        if in_groups:
            partition.stop_tile = min(end_of_group(partition, &sample), partition.first_tile + width)
        bad[0] = run_rounds(partition, job, n_tuples if in_groups else per_round)
        if bad[0] == FULL and partition.stop_tile - partition.first_tile > 1:
            width = (partition.stop_tile - partition.first_tile) // 2
            bad[0] = OK
            continue
        if bad[0] == FULL:  # one tile has most of the updates
            bad[0] = check_tuples(job) if job.checks_first and partition.first_tile == 0 else OK
            if bad[0] == OK:
                partition.is_single = True
                bad[0] = run_rounds(partition, job, per_round)
                partition.is_single = False
        partition.first_tile = partition.stop_tile
        width = partition.n_tiles
    free_tiles(partition)
    free(partition.first)
    return True
