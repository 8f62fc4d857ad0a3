# The tiles that PARTITION (partition.pxd) cuts a result into, and whether that pays.
from libc.stdint cimport int64_t, uint16_t, uint32_t
from libc.string cimport memset

from common.resolve cimport SKIPPED, resolve_block
from common.walk cimport DATA, Cursor, seek
from scatter.job cimport Job, row_items
from scatter.marks cimport Marks

cdef enum:
    MIN_TILE_SHIFT = 12         # log2 of a tile's bytes
    TILE_SHIFT = 18             # L2 holds the tile and its next records
    # With few tiles, an end of a bucket that is read was often just written, and the CPU guesses wrong that it was not.
    TILES = 512                 # at most, of less than 1 << TILE_SHIFT bytes
    MAX_TILES = 2048            # as many write streams per thread as the TLB sustains; larger results get larger tiles
    MAX_BUCKETS = 1 << 16       # of all threads
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
    Py_ssize_t payload_bytes    # of the update or its offset
    Py_ssize_t record_bytes     # position in the tile (uint32_t), then the update by value, or its offset (uint64_t)
    Py_ssize_t segment_bytes    # a power of 2, and segments are aligned to it
    char* segments
    Py_ssize_t chunk_bytes      # of segments, for each chunk
    char** first                # of each (chunk, tile): the first record of the bucket
    char** end                  # and the end of the last
    Marks marks                 # those of a tile for each thread; of the whole result if there are several rounds
    Py_ssize_t tile_rows        # the most rows that start in a tile; 0: marks are of the whole result
    bint accumulates
    char* sums                  # accumulators of a tile for each thread; NULL: in the result itself
    bint is_first               # round
    bint is_last                # round


cdef inline Py_ssize_t add_reach(Partition* partition, Py_ssize_t stride, Py_ssize_t n) noexcept nogil:
    if stride < 0:
        partition.low += stride * (n - 1)
        stride = -stride
    return stride * (n - 1) if n > 0 else 0


cdef inline void describe_partition(Partition* partition, const Job* job) noexcept nogil:
    """Cut the range of possible offsets into tiles."""
    cdef int d
    cdef Py_ssize_t limit
    partition.job = job
    partition.low = 0
    partition.reach = 0
    for d in range(job.walk.n_dims):
        partition.reach += add_reach(partition, job.walk.stride[d][DATA], job.walk.shape[d])
    for d in range(job.tuples.k):
        partition.reach += add_reach(partition, job.tuples.stride[d], job.tuples.size[d])
    limit = MAX_BUCKETS // job.n_threads - 1
    partition.shift = MIN_TILE_SHIFT
    while partition.reach >> partition.shift >= min(limit, TILES if partition.shift < TILE_SHIFT else MAX_TILES):
        partition.shift += 1
    while partition.shift > 6 and (partition.reach >> partition.shift) + 1 < min(4 * job.n_threads, limit // 2):
        partition.shift -= 1
    partition.n_tiles = (partition.reach >> partition.shift) + 1
    partition.payload_bytes = job.step.row.item_bytes if job.step.by_value else 8
    partition.record_bytes = <Py_ssize_t>sizeof(uint32_t) + max(partition.payload_bytes, <Py_ssize_t>sizeof(uint32_t))


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
