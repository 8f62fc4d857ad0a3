# The tiles and rounds that PARTITION (partition.pxd) cuts a job into, and whether that pays.
from libc.stdint cimport int64_t, uint16_t, uint32_t
from libc.string cimport memset

from common.codes cimport TAKE
from common.items cimport CACHE_LINE
from common.resolve cimport SKIPPED, resolve_block
from common.walk cimport DATA, Cursor, seek
from scatter.job cimport Job, row_items
from scatter.loops.records cimport RecordLoop
from scatter.marks cimport Marks
from scatter.widen cimport BUFFER_BYTES, wide_row_bytes

cdef enum:
    MIN_TILE_SHIFT = 12         # log2 of a tile's bytes
    TILE_SHIFT = 18             # L2 holds the tile and its next records
    # With few tiles, an end of a bucket that is read was often just written, and the CPU guesses wrong that it was not.
    TILES = 512                 # at most, of less than 1 << TILE_SHIFT bytes
    MAX_TILES = 2048            # as many write streams per thread as the TLB sustains; larger results get larger tiles
    MAX_BUCKETS = 1 << 16       # of all threads
    SEGMENT_BYTES = 1 << 11
    MIN_SEGMENT_BYTES = 1 << 7  # on many threads: each has a bucket for each tile
    BUCKETS_BYTES = 1 << 24     # at most, of segments that are not full
    MIN_RECORDS_BYTES = 1 << 24
    SAMPLE = 512                # pairs of tuples
    NEIGHBOUR_BYTES = 1 << 12   # distance below which two destinations are neighbours
    WIDE_SUMS_BYTES = 12 << 20  # at most, of accumulators of a wider dtype
    CACHED_BYTES = 1 << 22      # of destinations that fit one core's caches without a partition

    GROUP_SAMPLE = 1 << 12      # tuples; more if there are more than GROUP_TUPLES times as many
    GROUP_TUPLES = 1 << 10

cdef struct Sample:
    double tuples               # for which one stands
    uint32_t count[MAX_TILES + 1]

# What is still to be written of the tile that a thread worked on before.
cdef struct Unwritten:
    const char* sums
    const uint32_t* bits
    const char* data
    char* out
    Py_ssize_t n_bytes
    Py_ssize_t due              # bytes to write before more records are applied
    Py_ssize_t is_second        # whether the next tile takes the second place in scratch memory
    char padding[2 * CACHE_LINE]

cdef struct Partition:
    const Job* job
    int64_t low                 # the lowest offset that a tuple can have
    Py_ssize_t reach            # the highest one is low + reach
    int shift                   # tile = (offset - low) >> shift
    Py_ssize_t n_tiles
    Py_ssize_t n_chunks         # of the round's tuples, one for each thread
    Py_ssize_t start            # of the round's tuples
    Py_ssize_t stop
    Py_ssize_t payload_bytes    # of the update or its offset
    Py_ssize_t record_bytes     # position in the tile (uint32_t), then the update by value, or its offset (uint64_t)
    Py_ssize_t segment_bytes    # a power of 2, and segments are aligned to it
    bint prefetches             # the next line of each bucket
    char* segments
    Py_ssize_t chunk_bytes      # of segments, for each chunk
    char** first                # of each (chunk, tile): the first record of the bucket
    char** end                  # and the end of the last
    Py_ssize_t tiles_at_a_time  # that a thread takes
    Py_ssize_t ahead_bytes      # of data that are prefetched for each segment of records
    RecordLoop loop             # that applies records; NULL: they are applied by blocks
    int marking                 # the marks that the loop keeps: UNMARKED, BITS, FIRST_BITS or CELLS (loops/records.h)
    uint32_t* bits              # BITS: those of a tile for each thread; FIRST_BITS: of the whole result
    Py_ssize_t tile_words       # of bits; 0: they are of the whole result
    # A table, if the loop keeps no marks: of a tile for each thread; of the whole result if there are several rounds
    Marks marks
    Py_ssize_t tile_rows        # the most rows that start in a tile; 0: marks are of the whole result
    bint accumulates
    bint streams                # a tile is written in scratch memory, then to the result by non-temporal stores
    # While a thread works on a tile in scratch memory, it writes the one before to the result: the non-temporal stores
    # overlap with the cache misses of the records. So a thread has two tiles there.
    bint writes_late
    Unwritten* unwritten        # of each thread
    const char* element         # which stands for all of data; only if a tile is streamed, else NULL
    Py_ssize_t element_bytes    # an item of the step may be several elements
    char* sums                  # accumulators of a tile or two for each thread; NULL: in the result itself
    int widening                # log2 of how many times wider an accumulator is than an element
    Py_ssize_t sums_bytes       # of a tile's accumulators
    int wide_shift              # log2 of the bytes of a wider accumulator
    int n_sums                  # tiles whose accumulators there is memory for
    bint is_short               # records have 2 bytes for the number of an element in the tile
    # Wider accumulators and cells can't be in the result, so they are of whole tiles. If there is no memory for all
    # records, the tiles are taken in groups, for each of which all tuples are resolved, in one round.
    Py_ssize_t first_tile       # of the group
    Py_ssize_t stop_tile
    bint is_single              # a group of one tile whose records need several rounds
    bint is_first               # round
    bint is_last                # round


cdef inline Py_ssize_t add_reach(Partition* partition, Py_ssize_t stride, Py_ssize_t n) noexcept nogil:
    if stride < 0:
        partition.low += stride * (n - 1)
        stride = -stride
    return stride * (n - 1) if n > 0 else 0


cdef inline void describe_partition(Partition* partition, const Job* job) noexcept nogil:
    """Cut the range of possible offsets into tiles."""
    cdef int d, tile_shift
    cdef Py_ssize_t limit
    partition.job = job
    partition.widening = 0
    partition.is_short = False
    while job.conversion.pair and job.conversion.narrow_bytes << partition.widening < job.conversion.wide_bytes:
        partition.widening += 1
    tile_shift = TILE_SHIFT - partition.widening
    partition.low = 0
    partition.reach = 0
    for d in range(job.walk.n_dims):
        partition.reach += add_reach(partition, job.walk.stride[d][DATA], job.walk.shape[d])
    for d in range(job.tuples.k):
        partition.reach += add_reach(partition, job.tuples.stride[d], job.tuples.size[d])
    limit = MAX_BUCKETS // job.n_threads - 1
    partition.shift = MIN_TILE_SHIFT
    while partition.reach >> partition.shift >= min(limit, TILES if partition.shift < tile_shift else MAX_TILES):
        partition.shift += 1
    while partition.shift > 6 and (partition.reach >> partition.shift) + 1 < min(4 * job.n_threads, limit // 2):
        partition.shift -= 1
    partition.n_tiles = (partition.reach >> partition.shift) + 1
    partition.payload_bytes = job.step.row.item_bytes if job.step.by_value else 8
    partition.record_bytes = <Py_ssize_t>sizeof(uint32_t) + max(partition.payload_bytes, <Py_ssize_t>sizeof(uint32_t))


cdef inline bint can_partition(const Partition* partition) noexcept nogil:
    return partition.shift < 32 and row_items(partition.job) > 0 and partition.job.step.reduction != TAKE


cdef inline bint can_partition_wide(Partition* partition) noexcept nogil:
    """can_partition for accumulators of a wider dtype."""
    cdef const Job* job = partition.job
    if not job.is_contiguous or job.step.swapped or job.step.row.outer.n != 1 or partition.shift >= 32:
        return False
    # A tile's last row may end in the next tile.
    partition.sums_bytes = ((<Py_ssize_t>1 << partition.shift) + job.row_bytes << partition.widening) + CACHE_LINE
    partition.sums_bytes &= -<Py_ssize_t>CACHE_LINE
    partition.wide_shift = 0
    while 1 << partition.wide_shift < job.conversion.wide_bytes:
        partition.wide_shift += 1
    if job.step.by_value and partition.payload_bytes in (2, 4) and partition.shift + partition.widening <= (
            partition.wide_shift + 16):
        partition.is_short = True
        partition.record_bytes = <Py_ssize_t>sizeof(uint16_t) + partition.payload_bytes
    return wide_row_bytes(job) <= BUFFER_BYTES and partition.sums_bytes <= WIDE_SUMS_BYTES


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
    n_distinct <<= partition.shift + partition.widening
    return 4 * most < n_seen and 2 * n_neighbours < n_seen and n_distinct > CACHED_BYTES


cdef inline Py_ssize_t plan_rounds(Partition* partition, Py_ssize_t most, Py_ssize_t marks_bytes) noexcept nogil:
    """Choose the segments' size and the number of rounds: the number of tuples of a round.

    most: bytes of records. marks_bytes: of the marks of the whole result, which several rounds need.
    """
    cdef Py_ssize_t n_tuples = partition.job.walk.n
    cdef Py_ssize_t n_buckets = partition.n_chunks * (partition.n_tiles + 1)
    cdef Py_ssize_t per_round = n_tuples, limit, per_segment
    partition.segment_bytes = SEGMENT_BYTES
    while (partition.segment_bytes > MIN_SEGMENT_BYTES
           and (2 * n_buckets * partition.segment_bytes > BUCKETS_BYTES
                or n_buckets * partition.segment_bytes > n_tuples * partition.record_bytes)):
        partition.segment_bytes //= 2
    per_segment = (partition.segment_bytes - <Py_ssize_t>sizeof(char*)) // partition.record_bytes
    limit = most // partition.segment_bytes - 2 * n_buckets
    if per_round > limit * per_segment:
        limit = max(most - marks_bytes, <Py_ssize_t>MIN_RECORDS_BYTES) // partition.segment_bytes
        limit = max(limit - 2 * n_buckets, limit // 2)
        per_round = (n_tuples + limit * per_segment - 1) // (limit * per_segment)  # rounds
        per_round = (n_tuples + per_round - 1) // per_round
    # A bucket's first and last segment may not be full.
    partition.chunk_bytes = ((per_round // partition.n_chunks + 1) // per_segment
                             + 2 * (partition.n_tiles + 1)) * partition.segment_bytes
    return per_round


cdef inline void take_sample(const Partition* partition, Sample* sample) noexcept nogil:
    """Estimate the number of updates of each tile."""
    cdef const Job* job = partition.job
    cdef Cursor cursor
    cdef Py_ssize_t i, n, size = min(max(<Py_ssize_t>GROUP_SAMPLE, job.walk.n // GROUP_TUPLES), job.walk.n)
    cdef int64_t offset
    memset(sample.count, 0, sizeof(sample.count))
    sample.tuples = <double>job.walk.n / size
    for i in range(size):
        seek(&job.walk, <Py_ssize_t>(i * sample.tuples), &cursor)
        resolve_block(&job.tuples, &job.walk, &cursor, 1, False, &offset, &n)
        if n == 1 and offset != SKIPPED:
            sample.count[(offset - partition.low) >> partition.shift] += 1


cdef inline Py_ssize_t end_of_group(const Partition* partition, Sample* sample) noexcept nogil:
    """Where the group that begins at first_tile should end, so that the groups that are left get as many records."""
    cdef Py_ssize_t per_segment = (partition.segment_bytes - <Py_ssize_t>sizeof(char*)) // partition.record_bytes
    cdef Py_ssize_t n_segments = partition.n_chunks * (partition.chunk_bytes // partition.segment_bytes)
    cdef Py_ssize_t tile, n_tiles = partition.n_tiles - partition.first_tile, left = 0, count = 0
    cdef double most, n_groups = 1
    for tile in range(partition.first_tile, partition.n_tiles):
        left += sample.count[tile]
    # The first and the last segment of a bucket are partly empty.
    while n_groups < n_tiles:
        most = 0.98 * per_segment * max(n_segments - partition.n_chunks * (n_tiles / n_groups + 1), n_segments / 4.0)
        if left * sample.tuples <= most * n_groups:
            break
        n_groups += 1
    tile = partition.first_tile
    while tile < partition.n_tiles and (count + sample.count[tile]) * n_groups <= left:
        count += sample.count[tile]
        tile += 1
    return max(tile, partition.first_tile + 1) if n_groups > 1 else partition.n_tiles
