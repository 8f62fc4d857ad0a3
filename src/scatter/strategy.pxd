# The choice of a strategy for a scatter.
from common.caches cimport cached_bytes, cores_add_bandwidth
from common.codes cimport ASSIGN, BFLOAT16, FLOAT16, RAISE
from common.items cimport CACHE_LINE
from common.strategies cimport (
    AUTO, COLUMN_TILES, LOCAL_RANGES, PARTITION, PRIVATE, RANGES, RESULT_TILES, ROW_PIECES, ROWS, SERIAL, UNITS,
    WINDOWS, ScatterStrategy,
)
from common.threads cimport n_tasks_for
from common.walk cimport OTHER
from scatter.columns cimport Columns
from scatter.direct cimport FAR_BYTES, direct_loop
from scatter.grouping cimport UPDATES_PER_ROW, Rows, describe_rows
from scatter.few_updates cimport can_reset
from scatter.job cimport SCRATCH_BYTES, Job, reduces_adjacent
from scatter.local_ranges cimport LocalRanges, describe_local_ranges
from scatter.private cimport can_be_private, has_private_elements, has_private_rows
from scatter.ranges cimport Ranges, are_long_rows, can_pass, describe_ranges
from scatter.result_tiles cimport can_use_tiles
from scatter.row_pieces cimport LONG_ROW, RowPieces, describe_row_pieces
from scatter.tiles cimport Partition, can_partition, can_partition_wide, describe_partition, is_scattered
from scatter.serial cimport FEW_COUNTED
from scatter.units cimport Units
from scatter.widen cimport wide_row_bytes
from scatter.windows cimport WINDOWS_THREADS

cdef enum:
    MIN_PARTITION = 1 << 16     # updates
    SMALLEST_ORDERED = 1 << 16  # bytes of a result
    COUNT_BYTES = 4
    BYTES_PER_UPDATE = 64       # of a result in place: about a cache line for each update
    # Bytes of wider accumulators of short rows that WINDOWS adds to faster than ROWS groups their updates
    WINDOWS_BYTES = 1 << 22

cdef struct Descriptions:
    # One per strategy. Units and columns are described by the caller; the others are valid once their strategy was
    # considered.
    Units units
    Columns columns
    bint has_columns            # columns are described; by_columns: they are also fast
    bint by_columns
    Rows rows
    RowPieces row_pieces
    Partition partition
    Ranges ranges
    LocalRanges local_ranges


cdef inline bint can_run(const Job* job, int strategy, Descriptions* descriptions) noexcept:
    """Whether the strategy can run the job, however little the work."""
    if strategy == COLUMN_TILES:
        return descriptions.has_columns
    if strategy == ROWS:
        return describe_rows(&descriptions.rows, job, True)
    if strategy == ROW_PIECES:
        return describe_row_pieces(&descriptions.row_pieces, job, True)
    if strategy == PRIVATE:
        describe_partition(&descriptions.partition, job)
        return can_be_private(job, True) and (has_private_rows(job) or has_private_elements(
            job, descriptions.partition.low, descriptions.partition.reach))
    if strategy == PARTITION:
        describe_partition(&descriptions.partition, job)
        return can_partition(&descriptions.partition)
    if strategy == RANGES:
        return describe_ranges(&descriptions.ranges, job, True)
    if strategy == LOCAL_RANGES:
        return describe_local_ranges(&descriptions.local_ranges, job, True)
    if strategy == RESULT_TILES:
        return can_use_tiles(job, True)
    return strategy != WINDOWS  # it is for accumulate_dtype


cdef inline bint has_room_for_marks(const Job* job, int forced) noexcept nogil:
    """Whether marks, if the job needs any, can be a table with one for each row.

    Otherwise the job is for PARTITION, whose tables are of a tile, or for SERIAL, which passes over few updates again
    or has a hash table.
    """
    if not job.marks.width:
        return True
    if not job.is_contiguous:
        return False
    # For few updates of many short rows, a table would be too large.
    return (forced != AUTO or job.walk.n >= job.n_rows // FEW_COUNTED or job.row_bytes >= LONG_ROW
            or (job.data != NULL and job.row_bytes >= CACHE_LINE))


cdef inline bint is_for_order(const Job* job) noexcept nogil:
    """Whether the order of prepared indices saves time.

    A small result is in the cache, so that it is faster to read the updates sequentially. ROWS visits every row, for
    which there have to be enough updates if the result holds data already.
    """
    return (job.order != NULL and job.row_bytes >= CACHE_LINE and job.out_bytes >= SMALLEST_ORDERED
            and (job.data != NULL or job.walk.n >= UPDATES_PER_ROW * job.n_rows))


cdef inline bint reduces_in_order(const Job* job) noexcept nogil:
    """Whether rows are reduced faster by one thread, in the order of the updates, than by ROWS or PARTITION.

    One thread that prefetches updates and rows reads almost as fast as two. Those strategies read updates in another
    order, or twice.
    """
    cdef Py_ssize_t cached = cached_bytes(), most = 0
    # ROWS knows the first update of each row, and their number, which is a further pass for one thread.
    cdef bint is_marked = job.data != NULL and job.marks.width
    if not job.updates_are_linear or not reduces_adjacent(job, &job.step, job.walk.stride[job.walk.n_dims - 1][OTHER]):
        return False
    if job.n_threads == 1 and job.row_bytes <= CACHE_LINE:
        most = cached // 4 * 5 if is_marked and job.divides and job.walk.n > job.n_rows // 4 else 8 * cached
    elif job.n_threads == 1:
        most = cached if job.data != NULL else cached // 2 * 3
        if is_marked and job.n_rows // 4 < job.walk.n < job.n_rows:
            most = cached // 4
    elif job.n_threads == 2 and job.row_bytes < CACHE_LINE:
        most = 2 * cached
    elif job.n_threads == 2 and job.row_bytes <= 2 * CACHE_LINE and not (
            job.step.type_code == FLOAT16 or job.step.type_code == BFLOAT16):
        most = cached // (job.row_bytes // CACHE_LINE)
        if is_marked and job.row_bytes > CACHE_LINE:
            most = cached // 4
    return job.out_bytes <= most


cdef inline bint outruns_order(const Job* job) noexcept nogil:
    """Whether one thread that reduces in the order of the updates is also faster than ROWS at prepared indices."""
    return reduces_in_order(job) and job.out_bytes <= cached_bytes() // (2 if job.n_threads == 1 else 8)


cdef inline bint repeats_in_order(const Job* job) noexcept nogil:
    """Whether updates that successive tuples share are applied by one thread, in order, without copies of them."""
    return (job.repeats > 1 and job.n_threads <= 2 and job.tuples.mode == RAISE
            and not job.marks.width and job.out_bytes < FAR_BYTES
            and direct_loop(&job.tuples, &job.walk, &job.step) != NULL)


cdef inline Py_ssize_t worth_of(const Job* job) noexcept nogil:
    """The bytes of destinations from which PARTITION is faster.

    It costs one more pass over the updates, shared by the threads; SERIAL costs one thread's cache misses, and with
    marks up to twice as many. (docs/benchmarks/bounds.md has the times.)
    """
    cdef Py_ssize_t eighth = cached_bytes() // 8
    if job.n_threads > 2:
        return eighth
    if cores_add_bandwidth():
        if job.n_threads == 2:
            return cached_bytes() // 6
        return 2 * eighth if job.marks.width else 8 * eighth
    if job.divides and job.n_threads == 1:
        return 7 * (eighth // 2)  # of as many bytes of counts
    if job.divides:
        return 7 * eighth * job.row_bytes // (job.row_bytes + COUNT_BYTES)
    if job.n_threads == 1 and not job.marks.width:
        return 8 * eighth if job.step.reduction == ASSIGN else 6 * eighth
    return 5 * eighth


cdef inline bint is_sparse_in_place(const Job* job) noexcept nogil:
    """Whether a result in place has so few updates that their cache misses cost less than a pass over all of it."""
    cdef bint resets = can_reset(job) and not job.divides
    return (job.data == NULL and (resets or not job.marks.width) and job.n_threads <= 2
            and job.walk.n < job.out_bytes // BYTES_PER_UPDATE and (resets or job.out_bytes <= 4 * cached_bytes()))


cdef inline Py_ssize_t wide_worth_of(const Job* job) noexcept nogil:
    """The same for bytes of wider accumulators, whose alternative has to convert a whole table on one thread."""
    cdef Py_ssize_t worth = cached_bytes()
    if job.n_threads == 1:
        return worth
    return worth // 32 * 15 if job.n_threads == 2 else worth // 8


cdef inline bint prefers_wide_rows(const Job* job) noexcept nogil:
    """Whether ROWS is faster than the other strategies for wider accumulators, if the rows are long enough for it."""
    cdef Py_ssize_t table_bytes = job.n_rows * wide_row_bytes(job)
    if job.row_bytes <= CACHE_LINE and (job.n_threads == 1 or (
            job.n_threads <= WINDOWS_THREADS
            and table_bytes <= (cached_bytes() // 2 if cores_add_bandwidth() else WINDOWS_BYTES))):
        return False  # WINDOWS
    return job.row_bytes > 2 * CACHE_LINE or job.walk.n > job.n_rows or table_bytes <= SCRATCH_BYTES  # else PARTITION


cdef inline bint prefers_rows(const Job* job) noexcept nogil:
    """Whether ROWS is faster than LOCAL_RANGES: it writes each row once, of assignments the last update."""
    return job.step.reduction == ASSIGN or (job.data != NULL and job.walk.n < 2 * job.n_rows and job.streams)


cdef inline bint pays_to_partition(const Job* job, Partition* partition) noexcept:
    describe_partition(partition, job)
    return (job.walk.n >= MIN_PARTITION and partition.reach >= worth_of(job) and not is_sparse_in_place(job)
            and can_partition(partition) and is_scattered(partition))


cdef inline ScatterStrategy choose_strategy(const Job* job, int forced, Descriptions* descriptions) noexcept:
    """forced: the strategy to choose if it can run the job; AUTO: none."""
    cdef Partition* partition = &descriptions.partition
    cdef Py_ssize_t n_tuples = job.walk.n
    if not has_room_for_marks(job, forced):
        return PARTITION if job.is_contiguous and pays_to_partition(job, partition) else SERIAL
    if forced != AUTO and can_run(job, forced, descriptions):
        return <ScatterStrategy>forced
    if forced == AUTO and is_for_order(job) and not outruns_order(job) and describe_rows(&descriptions.rows, job, True):
        return ROWS
    if forced == AUTO and can_use_tiles(job, False):
        return RESULT_TILES
    if (descriptions.units.n_units >= n_tasks_for(job.n_threads)
            and (job.n_threads > 1 or n_tuples >= MIN_PARTITION)):
        return UNITS
    if descriptions.by_columns:
        return COLUMN_TILES
    if job.n_threads > 1:
        describe_partition(partition, job)
        if can_be_private(job, False) and (has_private_rows(job) or has_private_elements(
                job, partition.low, partition.reach)):
            return PRIVATE
        if prefers_rows(job) and describe_rows(&descriptions.rows, job, False):
            return ROWS
        if describe_local_ranges(&descriptions.local_ranges, job, False):
            return LOCAL_RANGES
    if repeats_in_order(job):
        return SERIAL
    if describe_ranges(&descriptions.ranges, job, False):
        return RANGES
    if reduces_in_order(job):
        return SERIAL
    if describe_rows(&descriptions.rows, job, False):
        return ROWS
    if describe_row_pieces(&descriptions.row_pieces, job, False):
        return ROW_PIECES
    if job.n_threads == 1 and n_tuples < MIN_PARTITION:
        return SERIAL
    return PARTITION if pays_to_partition(job, partition) else SERIAL


cdef inline bint is_for_passed_ranges(const Job* job, int forced, Ranges* ranges) noexcept nogil:
    """Whether a scatter of rows of a source (job.update_rows) is for RANGES."""
    return (job.order == NULL and (forced == RANGES or (forced == AUTO and are_long_rows(job))) and can_pass(job)
            and describe_ranges(ranges, job, forced == RANGES))


cdef inline bint is_for_wide_rows(const Job* job, int forced, Rows* rows) noexcept:
    """Whether a scatter with accumulate_dtype is for ROWS."""
    if forced != AUTO:
        return forced == ROWS and describe_rows(rows, job, True)
    if is_for_order(job):
        return describe_rows(rows, job, True)
    return prefers_wide_rows(job) and describe_rows(rows, job, False)


cdef inline bint is_for_wide_tiles(const Job* job, int forced, Partition* partition) noexcept:
    """Whether a scatter with accumulate_dtype is for PARTITION."""
    describe_partition(partition, job)
    if not can_partition_wide(partition):
        return False
    if forced != AUTO:
        return forced == PARTITION
    return (job.walk.n >= MIN_PARTITION and partition.reach << partition.widening >= wide_worth_of(job)
            and (job.n_rows * wide_row_bytes(job) > SCRATCH_BYTES or (job.step.by_value and is_scattered(partition))))
