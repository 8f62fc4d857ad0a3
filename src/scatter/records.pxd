# The records of PARTITION (partition.pxd): an update on its way to its tile, in a bucket.
#
# Usually 4 bytes of position in the tile, then the update by value, or its offset. A short record has 2 bytes for the
# number of an element in the tile: for wider accumulators, whose passes over the tuples are fewer if records are short.
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.string cimport memcpy

from common.codes cimport INTERRUPTED, OK
from common.interrupts cimport is_interrupted
from common.items cimport (
    CACHE_LINE, MAX_WORD_BYTES, bytes16, cloned_void, inline_void, prefetch_l2, prefetch_stream, prefetch_write,
    word_t,
)
from common.resolve cimport BLOCK, SKIPPED, resolve_block
from common.threads cimport chunk_start
from common.walk cimport OTHER, Cursor, seek
from scatter.bounds cimport skip_outside
from scatter.job cimport Job
from scatter.tiles cimport Partition

ctypedef fused short_word_t:
    uint16_t
    uint32_t

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
    /* A short record in the first bytes of a word; the update has n_bytes. */
    static inline uint64_t gs_short_record(uint16_t position, uint32_t update, int n_bytes) {
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        return (uint64_t)position << 48 | (uint64_t)update << (48 - 8 * n_bytes);
    #else
        return position | (uint64_t)update << 16;
    #endif
    }
    """
    uint64_t pair "gs_pair" (uint32_t first, uint32_t second) noexcept nogil
    uint64_t short_record "gs_short_record" (uint16_t position, uint32_t update, int n_bytes) noexcept nogil

cdef enum:
    SEGMENTS_AHEAD = 4      # of a thread's next one, for the prefetch
    FULL = -64              # a status: there are more records than there is memory for

cdef struct Unused:
    # Segments of a chunk
    char* start
    char* stop
    bint is_full            # there were too few

cdef inline Py_ssize_t chunk_begin(const Partition* partition, Py_ssize_t chunk) noexcept nogil:
    return partition.start + chunk_start(partition.stop - partition.start, partition.n_chunks, chunk)


cdef inline char* link_segment(const Partition* partition, uint32_t tile, char* end, Unused* unused) noexcept nogil:
    """Return an unused segment for a bucket whose records end at `end`, at the end of a full segment, and link to it.

    The bucket of skipped updates, which nobody reads, gets the same segment again. So does a bucket for which there is
    none left, since the chunk's records will be written anew.
    """
    cdef char* link = end + (-<Py_ssize_t>end & (partition.segment_bytes - 1)) - sizeof(char*)
    cdef char* segment = <char*>(<uintptr_t>end & ~<uintptr_t>(partition.segment_bytes - 1))
    if tile != partition.n_tiles and unused.start < unused.stop:
        segment = unused.start
        unused.start += partition.segment_bytes
    elif tile != partition.n_tiles:
        unused.is_full = True
    memcpy(link, &segment, sizeof(char*))
    prefetch_write(segment + SEGMENTS_AHEAD * partition.segment_bytes)
    return segment


cdef inline inline_void store_words(const Partition* partition, Py_ssize_t chunk, const uint32_t* tiles,
                                    const uint64_t* words, Py_ssize_t n, Unused* unused) noexcept nogil:
    """Store records of 8 bytes.

    Where that pays, the next line of each bucket is prefetched: a store that misses L1 delays all others.
    """
    cdef uintptr_t in_segment = partition.segment_bytes - 1
    cdef uintptr_t full = partition.segment_bytes - 2 * sizeof(char*)
    cdef char** end = partition.end + chunk * (partition.n_tiles + 1)
    cdef bint prefetches = partition.prefetches
    cdef Py_ssize_t i
    cdef char* target
    for i in range(n):
        target = end[tiles[i]]
        if prefetches:
            prefetch_write(target + CACHE_LINE)
        memcpy(target, &words[i], 8)
        target += 8
        if <uintptr_t>target & in_segment > full:
            target = link_segment(partition, tiles[i], target, unused)
        end[tiles[i]] = target


cdef inline inline_void write_block(word_t* type, const Partition* partition, Py_ssize_t chunk, const int64_t* offsets,
                                    const char* updates, Py_ssize_t update_step, Py_ssize_t n,
                                    Unused* unused) noexcept nogil:
    """Write a record for each update. type: the type of the update by value, or of its offset (uint64_t)."""
    cdef bint by_value = partition.job.step.by_value
    cdef const char* all_updates = partition.job.updates
    cdef int64_t low = partition.low
    cdef int shift = partition.shift
    cdef uint32_t n_tiles = <uint32_t>partition.n_tiles
    cdef uintptr_t in_segment = partition.segment_bytes - 1
    # A segment is full when the next record would reach the link.
    cdef uintptr_t full = partition.segment_bytes - sizeof(char*) - partition.record_bytes
    cdef char** end = partition.end + chunk * (partition.n_tiles + 1)
    cdef bint prefetches = partition.prefetches
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
        store_words(partition, chunk, tiles, words, n, unused)
    else:
        for i in range(n):
            target = end[tiles[i]]
            if prefetches:
                prefetch_write(target + CACHE_LINE)
            memcpy(target, &positions[i], sizeof(uint32_t))
            if by_value:
                memcpy(&payload, updates + i * update_step, sizeof(word_t))
                memcpy(target + sizeof(uint32_t), &payload, sizeof(word_t))
            else:
                update_offset = <uint64_t>(updates + i * update_step - all_updates)
                memcpy(target + sizeof(uint32_t), &update_offset, 8)
            target += sizeof(uint32_t) + sizeof(word_t)
            if <uintptr_t>target & in_segment > full:
                target = link_segment(partition, tiles[i], target, unused)
            end[tiles[i]] = target


cdef inline void start_buckets(const Partition* partition, Py_ssize_t chunk, Unused* unused) noexcept nogil:
    """Give a chunk's buckets of the group a segment each.

    They start at different lines of it: as their ends proceed at the same pace, they would fall into few sets of L1.
    """
    cdef Py_ssize_t bucket = chunk * (partition.n_tiles + 1)
    cdef Py_ssize_t lines = max(partition.segment_bytes // (2 * CACHE_LINE), <Py_ssize_t>1)
    cdef Py_ssize_t i, tile
    unused.start = partition.segments + chunk * partition.chunk_bytes
    unused.stop = unused.start + partition.chunk_bytes
    unused.is_full = False
    for i in range(partition.first_tile, partition.stop_tile + 1):
        tile = i if i < partition.stop_tile else partition.n_tiles
        partition.first[bucket + tile] = unused.start + tile * 5 % lines * CACHE_LINE
        partition.end[bucket + tile] = partition.first[bucket + tile]
        unused.start += partition.segment_bytes


cdef inline inline_void pick_typed(word_t* type, uint64_t low, uint64_t size, int64_t* offsets, const char* updates,
                                   Py_ssize_t update_step, Py_ssize_t n, char* picked,
                                   Py_ssize_t* n_picked) noexcept nogil:
    cdef Py_ssize_t i, m = 0
    cdef int64_t offset
    cdef word_t update
    for i in range(n):  # without a branch, which would be mispredicted
        offset = offsets[i]
        memcpy(&update, updates + i * update_step, sizeof(word_t))
        offsets[m] = offset
        memcpy(picked + m * <Py_ssize_t>sizeof(word_t), &update, sizeof(word_t))
        m += <uint64_t>offset - low < size
    n_picked[0] = m


cdef inline inline_void pick_group(const Partition* partition, int64_t* offsets, const char* updates,
                                   Py_ssize_t update_step, Py_ssize_t n, uint64_t low, uint64_t size, char* picked,
                                   Py_ssize_t* n_picked) noexcept nogil:
    """Keep the offsets among the `size` from low on, and copy their updates, which are elements, to `picked`."""
    if partition.payload_bytes == 4 and update_step == 4:
        pick_typed(<uint32_t*>NULL, low, size, offsets, updates, 4, n, picked, n_picked)
    elif partition.payload_bytes == 4:
        pick_typed(<uint32_t*>NULL, low, size, offsets, updates, update_step, n, picked, n_picked)
    elif partition.payload_bytes == 8:
        pick_typed(<uint64_t*>NULL, low, size, offsets, updates, update_step, n, picked, n_picked)
    elif partition.payload_bytes == 2:
        pick_typed(<uint16_t*>NULL, low, size, offsets, updates, update_step, n, picked, n_picked)
    elif partition.payload_bytes == 1:
        pick_typed(<uint8_t*>NULL, low, size, offsets, updates, update_step, n, picked, n_picked)
    else:
        pick_typed(<bytes16*>NULL, low, size, offsets, updates, update_step, n, picked, n_picked)


cdef inline inline_void write_short(short_word_t* type, const Partition* partition, Py_ssize_t chunk,
                                    const int64_t* offsets, const char* updates, Py_ssize_t update_step, Py_ssize_t n,
                                    Unused* unused) noexcept nogil:
    """Write a short record for each update. type: the type of the update."""
    cdef int64_t low = partition.low
    cdef int item_shift = 1 if short_word_t is uint16_t else 2
    cdef int shift = partition.shift - item_shift
    cdef uint32_t mask = (<uint32_t>1 << shift) - 1
    cdef uint32_t n_tiles = <uint32_t>partition.n_tiles
    cdef uintptr_t in_segment = partition.segment_bytes - 1
    cdef Py_ssize_t record_bytes = 2 + <Py_ssize_t>sizeof(short_word_t)
    cdef uintptr_t full = partition.segment_bytes - sizeof(char*) - record_bytes
    cdef char** end = partition.end + chunk * (partition.n_tiles + 1)
    cdef bint prefetches = partition.prefetches
    cdef uint32_t tiles[BLOCK]
    cdef uint64_t words[BLOCK]
    cdef Py_ssize_t i
    cdef uint32_t item
    cdef short_word_t update
    cdef char* target
    for i in range(n):
        item = <uint32_t>((offsets[i] - low) >> item_shift)
        memcpy(&update, updates + i * update_step, sizeof(short_word_t))
        words[i] = short_record(<uint16_t>(item & mask), update, sizeof(short_word_t))
        tiles[i] = n_tiles if offsets[i] == SKIPPED else item >> shift
    for i in range(n):
        target = end[tiles[i]]
        if prefetches:
            prefetch_write(target + CACHE_LINE)
        # 8 bytes, more than the record: the next record, or the link, is written over the rest afterwards.
        memcpy(target, &words[i], 8)
        target += record_bytes
        if <uintptr_t>target & in_segment > full:
            target = link_segment(partition, tiles[i], target, unused)
        end[tiles[i]] = target


cdef inline cloned_void write_records(const Partition* partition, Py_ssize_t chunk,
                                      Py_ssize_t* status) noexcept nogil:
    """Write the records of a chunk: for each tile in the order of the updates."""
    cdef const Job* job = partition.job
    cdef int64_t offsets[BLOCK]
    cdef Cursor cursor
    cdef Py_ssize_t start = chunk_begin(partition, chunk)
    cdef Py_ssize_t stop = chunk_begin(partition, chunk + 1)
    cdef Py_ssize_t update_step = job.walk.stride[job.walk.n_dims - 1][OTHER]
    cdef Py_ssize_t n, n_resolved, step
    cdef const char* updates
    cdef char picked[BLOCK * MAX_WORD_BYTES]
    cdef bint selects = partition.stop_tile - partition.first_tile < partition.n_tiles
    cdef bint picks = selects and job.step.by_value
    cdef uint64_t low = <uint64_t>(partition.low + (partition.first_tile << partition.shift))  # of the group of tiles
    cdef uint64_t size = <uint64_t>(partition.stop_tile - partition.first_tile) << partition.shift
    cdef Unused unused
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
        n_resolved = n
        step = update_step
        if picks:
            pick_group(partition, offsets, updates, update_step, n_resolved, low, size, picked, &n)
            updates = picked
            step = partition.payload_bytes
        elif selects:
            skip_outside(offsets, n, low, size)
        if partition.is_short and partition.payload_bytes == 4:
            write_short(<uint32_t*>NULL, partition, chunk, offsets, updates, step, n, &unused)
        elif partition.is_short:
            write_short(<uint16_t*>NULL, partition, chunk, offsets, updates, step, n, &unused)
        elif partition.payload_bytes == 4:
            write_block(<uint32_t*>NULL, partition, chunk, offsets, updates, step, n, &unused)
        elif partition.payload_bytes == 8:
            write_block(<uint64_t*>NULL, partition, chunk, offsets, updates, step, n, &unused)
        elif partition.payload_bytes == 1:
            write_block(<uint8_t*>NULL, partition, chunk, offsets, updates, step, n, &unused)
        elif partition.payload_bytes == 2:
            write_block(<uint16_t*>NULL, partition, chunk, offsets, updates, step, n, &unused)
        else:
            write_block(<bytes16*>NULL, partition, chunk, offsets, updates, step, n, &unused)
        if unused.is_full:
            status[0] = FULL
            return
        start += n_resolved


cdef inline inline_void prefetch_segment(const Partition* partition, const char* record) noexcept nogil:
    """Prefetch the rest of a segment, from a record on."""
    cdef Py_ssize_t i = 0
    cdef Py_ssize_t n = partition.segment_bytes - (<uintptr_t>record & (partition.segment_bytes - 1))
    while i < n:
        prefetch_l2(record + i)
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


cdef inline inline_void read_short_positions(const char* records, Py_ssize_t record_bytes, int wide_shift, Py_ssize_t n,
                                             int64_t* offsets) noexcept nogil:
    cdef Py_ssize_t i
    cdef uint16_t item
    for i in range(n):
        memcpy(&item, records + i * record_bytes, sizeof(uint16_t))
        offsets[i] = <int64_t>item << wide_shift


cdef inline cloned_void read_short_records(const char* records, Py_ssize_t record_bytes, int wide_shift, Py_ssize_t n,
                                           int64_t* offsets) noexcept nogil:
    """The offsets of n records in accumulators of 1 << wide_shift bytes."""
    if record_bytes == 6:  # a constant stride lets the compiler vectorise
        read_short_positions(records, 6, wide_shift, n, offsets)
    else:
        read_short_positions(records, 4, wide_shift, n, offsets)
