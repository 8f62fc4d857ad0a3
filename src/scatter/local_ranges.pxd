# LOCAL_RANGES: each thread applies the updates of its range of rows, where neighbouring tuples have neighbouring
# destinations, as sorted indices and smooth warps of an image have.
#
#     find_bounds   each thread resolves and checks a chunk of the tuples, and stores the lowest and the highest
#                   destination of each block
#     cut_ranges    so that the ranges have about as many tuples
#     run_range     each thread resolves and applies the blocks that have destinations in its range
#
# Few blocks have destinations in two ranges: each thread drops the updates of the other. A thread writes the data of
# its range just before the updates that need them, while they are in the cache.
from cpython.mem cimport PyMem_RawFree as free, PyMem_RawMalloc as malloc  # so that tracemalloc sees it
from cython.parallel cimport prange
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memset

from common.codes cimport INTERRUPTED, OK
from common.interrupts cimport is_interrupted
from common.resolve cimport BLOCK, resolve_block
from common.threads cimport MAX_TASKS, chunk_start, first_error
from common.walk cimport OTHER, Cursor, seek
from scatter.accumulate cimport accumulates_rows, elements_of_data, finish_elements, needs_scratch, start_elements
from scatter.apply cimport apply_elements, apply_rows
from scatter.bounds cimport BUCKETS, bounds_of, cut_at_counts, extend_bounds, no_bounds, skip_outside
from scatter.divide cimport divide_steps
from scatter.job cimport Job, apply_and_count, begin_writing, copy_bytes, fill_bytes, repeated_element, take_element
from scatter.marks cimport SINK_BYTES, Marks, allocate_marks, free_marks, mark_block, send_to_sinks, start_sinks

cdef enum:
    MIN_LOCAL_RANGES = 1 << 15  # tuples
    BLOCK_TUPLES = 1 << 10      # of a block; more if there are more than MAX_BLOCKS
    MAX_BLOCKS = 1 << 18
    MIN_SAMPLED = 8             # blocks
    MAX_SAMPLED = 48
    FEW_BLOCKS = 4              # after which the sampling may end
    RUN_BYTES = 1 << 17         # of data that are written at a time
    RUN_BLOCKS = 16             # that are applied at a time: their indices stay in L2

cdef struct LocalRanges:
    const Job* job
    Marks marks
    bint accumulates
    const char* element         # which stands for all of data; else NULL
    Py_ssize_t element_bytes
    Py_ssize_t block_tuples
    Py_ssize_t n_blocks
    uint64_t* low               # of each block the offset of the lowest destination
    int64_t* high               # and of the highest; -1: all tuples are dropped
    Py_ssize_t first[MAX_TASKS + 1]  # row of each range


cdef inline Py_ssize_t bucket_of(const Job* job, int64_t offset) noexcept nogil:
    return <Py_ssize_t>(<double>offset / job.out_bytes * BUCKETS)


cdef inline bint sample_block(const Job* job, Py_ssize_t start, Py_ssize_t n_tuples, uint64_t* low,
                              int64_t* high) noexcept nogil:
    """Find the bounds of the first and the last tuples of a block. False: an index is out of bounds."""
    cdef int64_t offsets[BLOCK]
    cdef Cursor cursor
    cdef Py_ssize_t n
    cdef bint is_last
    no_bounds(low, high)
    for is_last in range(2):
        seek(&job.walk, start + n_tuples - BLOCK if is_last else start, &cursor)
        resolve_block(&job.tuples, &job.walk, &cursor, BLOCK, False, offsets, &n)
        if n < 0:
            return False
        extend_bounds(offsets, n, low, high)
    return True


cdef inline bint describe_local_ranges(LocalRanges* local, const Job* job, bint forced) noexcept nogil:
    """Describe the job for LOCAL_RANGES. False: it would be slower; with forced: it is impossible."""
    cdef Py_ssize_t i, block, n_sampled, n_local = 0, n_seen = 0, bucket, most = 0
    cdef Py_ssize_t count[BUCKETS]
    cdef Py_ssize_t largest = job.out_bytes // (4 * job.n_threads)  # extent of a block of which one range has most
    cdef uint64_t low
    cdef int64_t high
    if not job.is_contiguous or job.row_bytes <= 0 or job.update_rows != NULL:
        return False
    local.job = job
    local.block_tuples = max(<Py_ssize_t>BLOCK_TUPLES, job.walk.n // MAX_BLOCKS)
    if job.repeats <= local.block_tuples:  # apply_repeated begins at whole repeats
        local.block_tuples -= local.block_tuples % job.repeats
    local.n_blocks = (job.walk.n + local.block_tuples - 1) // local.block_tuples
    if forced:
        return True
    if job.n_threads == 1 or job.walk.n < MIN_LOCAL_RANGES or job.n_rows < 4 * job.n_threads:
        return False
    # SERIAL has a second thread that counts, and scratch memory for accumulators.
    if job.marks.width and job.step.by_value and (job.n_threads == 2 or needs_scratch(job)):
        return False
    memset(count, 0, sizeof(count))
    n_sampled = min(max(local.n_blocks // 16, max(<Py_ssize_t>MIN_SAMPLED, 4 * <Py_ssize_t>job.n_threads)),
                    min(<Py_ssize_t>MAX_SAMPLED, local.n_blocks))
    for i in range(n_sampled):
        block = (local.n_blocks - 2) * i // (n_sampled - 1)  # the last may be shorter
        if not sample_block(job, block * local.block_tuples, local.block_tuples, &low, &high):
            return False
        if high >= 0:
            n_seen += 1
            n_local += high - <int64_t>low <= largest
            bucket = bucket_of(job, high)
            count[bucket] += 1
            most = max(most, count[bucket])
        if i == FEW_BLOCKS and 2 * n_local < FEW_BLOCKS:
            return False
    # A bucket is in one range.
    return 8 * n_local >= 7 * n_seen and 2 * most * job.n_threads <= 3 * n_seen


cdef inline void find_bounds(const LocalRanges* local, Py_ssize_t chunk, Py_ssize_t n_chunks,
                             Py_ssize_t* status) noexcept nogil:
    cdef const Job* job = local.job
    cdef Cursor cursor
    cdef Py_ssize_t block = chunk_start(local.n_blocks, n_chunks, chunk)
    cdef Py_ssize_t last_block = chunk_start(local.n_blocks, n_chunks, chunk + 1)
    status[0] = OK
    seek(&job.walk, block * local.block_tuples, &cursor)
    while block < last_block and status[0] == OK:
        status[0] = bounds_of(&job.tuples, &job.walk, job.interrupts, &cursor, block * local.block_tuples,
                              min((block + 1) * local.block_tuples, job.walk.n), &local.low[block],
                              &local.high[block])
        block += 1


cdef inline void cut_ranges(LocalRanges* local) noexcept nogil:
    """Cut the rows into a range for each thread, so that each has about as many tuples."""
    cdef const Job* job = local.job
    cdef Py_ssize_t count[BUCKETS]
    cdef Py_ssize_t block, n_counted = 0
    memset(count, 0, sizeof(count))
    for block in range(local.n_blocks):
        if local.high[block] >= 0:
            count[bucket_of(job, (<int64_t>local.low[block] + local.high[block]) // 2)] += 1
            n_counted += 1
    cut_at_counts(count, n_counted, job.n_rows, job.n_threads, local.first)


cdef inline void write_rows(const LocalRanges* local, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    """Write data to rows of the result, or initialise their accumulators."""
    cdef const Job* job = local.job
    cdef char* out = job.out + start * job.row_bytes
    cdef Py_ssize_t n_bytes = (stop - start) * job.row_bytes
    if local.element != NULL:  # for accumulators too: then they start from data
        fill_bytes(job, local.element_bytes, local.element, out, n_bytes)
    elif local.accumulates:
        start_elements(job, out, elements_of_data(job) + start * job.row_bytes, stop - start)
    elif job.data != NULL:
        copy_bytes(job, out, job.data + start * job.row_bytes, n_bytes)


cdef inline void apply_in_range(const LocalRanges* local, Py_ssize_t start, Py_ssize_t stop, int64_t low,
                                uint64_t size, Py_ssize_t* status) noexcept nogil:
    """Apply those of the tuples start to stop whose destinations are `size` bytes from low on."""
    cdef const Job* job = local.job
    cdef int64_t offsets[BLOCK]
    cdef char sinks[SINK_BYTES]
    cdef Cursor cursor
    cdef Py_ssize_t update_step = job.walk.stride[job.walk.n_dims - 1][OTHER], first, n
    start_sinks(sinks, stop - start)
    seek(&job.walk, start, &cursor)
    while start < stop:
        first = cursor.offset[OTHER]
        resolve_block(&job.tuples, &job.walk, &cursor, min(job.block, stop - start), not job.updates_are_linear,
                      offsets, &n)
        if n < 0:
            status[0] = start * job.tuples.k - 1 - n
            return
        if is_interrupted(job.interrupts, n * job.tuple_work):
            status[0] = INTERRUPTED
            return
        start += n
        skip_outside(offsets, n, <uint64_t>low, size)
        if local.marks.width:
            mark_block(&local.marks, &job.step, True, job.out, offsets, job.updates + first, NULL, update_step, n,
                       sinks)
        if job.step.by_value:
            send_to_sinks(offsets, n, job.out, sinks)
            apply_elements(&job.step, job.out, offsets, job.updates + first, update_step, n)
        else:
            apply_rows(&job.step, job.out, offsets, job.updates + first, NULL, update_step, n)


cdef inline void run_range(const LocalRanges* local, Py_ssize_t task, Py_ssize_t* status) noexcept nogil:
    cdef const Job* job = local.job
    cdef Py_ssize_t written = local.first[task], stop_row = local.first[task + 1]
    cdef int64_t low = written * job.row_bytes, stop = stop_row * job.row_bytes
    cdef Py_ssize_t block = 0, first, row
    cdef Marks marks = local.marks
    status[0] = OK
    while block < local.n_blocks and low < stop:
        if local.high[block] < low or <int64_t>local.low[block] >= stop:
            block += 1
            continue
        # Blocks that are in this range only, as long as the data that they need fit the cache.
        first = block
        row = written
        while (block < local.n_blocks and block < first + RUN_BLOCKS and <int64_t>local.low[block] >= low
               and local.high[block] < stop
               and (block == first or local.high[block] < written * job.row_bytes + RUN_BYTES)):
            row = max(row, local.high[block] // job.row_bytes + 1)
            block += 1
        if block == first:
            row = max(row, min(local.high[block] // job.row_bytes + 1, stop_row))
        write_rows(local, written, row)
        written = row
        if block > first:
            apply_and_count(job, &marks, job.out, first * local.block_tuples,
                            min(block * local.block_tuples, job.walk.n), status)
        else:
            block += 1
            apply_in_range(local, first * local.block_tuples, min(block * local.block_tuples, job.walk.n), low,
                           <uint64_t>(stop - low), status)
        if status[0] != OK:
            return
    write_rows(local, written, stop_row)
    row = local.first[task]
    marks.table += row * marks.width
    if local.accumulates:
        finish_elements(job, &marks, job.out + low, elements_of_data(job) + low, job.out + low, stop_row - row)
    elif job.divides:
        divide_steps(job, &job.step, &marks, job.out + low, stop_row - row)


cdef inline bint run_local_ranges(LocalRanges* local, Job* job, Py_ssize_t* bad) noexcept:
    """False: there is no memory, and nothing was written."""
    cdef Py_ssize_t status[MAX_TASKS]
    cdef Py_ssize_t task, n_ranges = job.n_threads
    local.marks = job.marks
    local.accumulates = accumulates_rows(job) or (job.accumulates and not needs_scratch(job))
    local.marks.assigns = not job.include_self and not local.accumulates
    local.element = repeated_element(job)
    local.low = <uint64_t*>malloc(local.n_blocks * sizeof(uint64_t))
    local.high = <int64_t*>malloc(local.n_blocks * sizeof(int64_t))
    if local.low == NULL or local.high == NULL or (job.marks.width and not allocate_marks(&local.marks, job.n_rows)):
        free(local.low)
        free(local.high)
        return False
    for task in prange(n_ranges, num_threads=job.n_threads, schedule="static", nogil=True):
        find_bounds(local, task, n_ranges, &status[task])
    bad[0] = first_error(status, n_ranges)
    if bad[0] == OK:
        if local.element != NULL:
            local.element_bytes = take_element(job)
        cut_ranges(local)
        bad[0] = begin_writing(job, False)
    if bad[0] == OK:
        for task in prange(n_ranges, num_threads=job.n_threads, schedule="static", nogil=True):
            run_range(local, task, &status[task])
        bad[0] = first_error(status, n_ranges)
    free_marks(&local.marks)
    free(local.low)
    free(local.high)
    return True
