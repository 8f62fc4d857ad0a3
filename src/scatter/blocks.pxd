# cython: cdivision=True
# Route "blocks": neighbouring tuples name neighbouring rows, as sorted indices do. Each thread finds the lowest and the
# highest row of the blocks of its chunk of the tuples. Then it owns a range of rows, and applies, of the blocks that
# may meet it, the updates of its rows.
#
# Ranges begin at quantiles of the blocks' middles, so that each has about as many updates.
from cython.parallel cimport prange
from libc.stdint cimport INT64_MAX, int64_t
cimport numpy as cnp

from common.codes cimport INTERRUPTED, OK, TAKE
from common.interrupts cimport is_interrupted
from common.items cimport CACHE_LINE, at_line, whole_lines
from common.resolve cimport BLOCK, SKIPPED, resolve_block
from common.scratch cimport allocate_scratch
from common.stream cimport stream_fence
from common.threads cimport MAX_TASKS, chunk_start, first_error
from common.walk cimport Cursor, seek
from scatter.job cimport Job, begin_writing
from scatter.tile cimport Tile, close_tile, open_tile
from scatter.updates cimport apply_tuples

cdef enum:
    SPAN = 1 << 11              # tuples of a block
    BINS = 1 << 10              # of rows, of which ranges are made
    MARKS_BYTES = 31 << 20      # of all rows

cdef struct Span:
    int64_t low
    int64_t high                # below low: all tuples of the block are skipped

cdef struct Blocks:
    const Job* job
    Py_ssize_t n_spans
    Span* spans
    char* marks                 # of all rows; NULL: none
    Py_ssize_t begins[MAX_TASKS + 1]  # of each thread's range of rows


cdef inline bint can_take_blocks(const Job* job, int n_threads) noexcept nogil:
    return (n_threads > 1 and job.in_result and job.kernel.step != TAKE and not job.by_updates
            and job.n_rows >= n_threads
            and job.n_rows * job.kernel.mark_bytes <= MARKS_BYTES and job.order == NULL)


cdef inline void find_spans(const Blocks* blocks, Py_ssize_t chunk, Py_ssize_t* status) noexcept nogil:
    cdef const Job* job = blocks.job
    cdef int64_t rows[BLOCK]
    cdef Cursor cursor
    cdef Py_ssize_t span = chunk_start(blocks.n_spans, job.n_threads, chunk), at = span * SPAN, n, i, end
    cdef Py_ssize_t stop = chunk_start(blocks.n_spans, job.n_threads, chunk + 1)
    cdef int64_t low, high
    status[0] = OK
    seek(&job.walk, at, &cursor)
    while span < stop:
        low = INT64_MAX
        high = -1
        end = min((span + 1) * SPAN, job.walk.n)
        while at < end:
            resolve_block(&job.tuples, &job.walk, &cursor, min(<Py_ssize_t>BLOCK, end - at), False, rows, &n)
            if n < 0:
                status[0] = at * job.tuples.k - 1 - n
                return
            for i in range(n):
                high = max(high, rows[i])  # SKIPPED is below all rows
                low = min(low, INT64_MAX if rows[i] == SKIPPED else rows[i])
            at += n
        if is_interrupted(job.interrupts, SPAN * job.tuples.k):
            status[0] = INTERRUPTED
            return
        blocks.spans[span].low = low
        blocks.spans[span].high = high
        span += 1


cdef inline void find_ranges(Blocks* blocks) noexcept nogil:
    """Where the threads' ranges begin: a histogram of the blocks' middles, in bins of rows."""
    cdef const Job* job = blocks.job
    cdef Py_ssize_t counts[BINS]
    cdef Py_ssize_t per_bin = (job.n_rows + BINS - 1) // BINS, i, thread = 1, sum = 0, total = 0
    for i in range(BINS):
        counts[i] = 0
    for i in range(blocks.n_spans):
        if blocks.spans[i].high >= blocks.spans[i].low:
            counts[(blocks.spans[i].low + (blocks.spans[i].high - blocks.spans[i].low) // 2) // per_bin] += 1
            total += 1
    blocks.begins[0] = 0
    for i in range(BINS):
        while thread < job.n_threads and sum * job.n_threads >= total * thread and sum:
            blocks.begins[thread] = min(i * per_bin, job.n_rows)
            thread += 1
        sum += counts[i]
    while thread <= job.n_threads:
        blocks.begins[thread] = job.n_rows
        thread += 1


cdef inline int meets(const Span* span, const Tile* tile) noexcept nogil:
    """Whether rows of a block are in the tile: 2: all, 1: perhaps some."""
    if span.low >= tile.first and span.high < tile.first + tile.n:
        return 2
    return span.low < tile.first + tile.n and span.high >= tile.first


cdef inline void run_range(const Blocks* blocks, Py_ssize_t thread, Py_ssize_t* status) noexcept nogil:
    cdef const Job* job = blocks.job
    cdef Tile tile
    cdef Py_ssize_t span = 0, first
    cdef char* marks = blocks.marks
    status[0] = OK
    tile.first = blocks.begins[thread]
    tile.n = blocks.begins[thread + 1] - tile.first
    tile.accumulators = job.out + tile.first * job.row_bytes
    tile.marks = marks + tile.first * job.kernel.mark_bytes if marks != NULL else NULL
    open_tile(job, &tile)
    while span < blocks.n_spans and status[0] == OK:
        first = span
        while span < blocks.n_spans and meets(&blocks.spans[span], &tile) == 2:
            span += 1
        if span > first:  # no other thread's rows
            apply_tuples(job, job.out, marks, first * SPAN, min(span * SPAN, job.walk.n), 0, job.n_rows, status)
        elif meets(&blocks.spans[span], &tile):
            span += 1
            apply_tuples(job, job.out, marks, first * SPAN, min(span * SPAN, job.walk.n), tile.first, tile.n, status)
        else:
            span += 1
    if status[0] == OK:
        close_tile(job, &tile)
    if job.streams:
        stream_fence()


cdef inline bint run_blocks(Job* job, Py_ssize_t* bad) noexcept:
    """False: there is no memory, and nothing was written."""
    cdef Py_ssize_t status[MAX_TASKS]
    cdef Blocks blocks
    cdef Py_ssize_t chunk, marks_bytes = job.n_rows * job.kernel.mark_bytes, spans_bytes
    cdef int n_threads = job.n_threads
    cdef cnp.ndarray memory
    blocks.job = job
    blocks.n_spans = (job.walk.n + SPAN - 1) // SPAN
    spans_bytes = whole_lines(blocks.n_spans * sizeof(Span))
    memory = allocate_scratch(marks_bytes + spans_bytes + CACHE_LINE)
    if memory is None:
        return False
    blocks.spans = <Span*>at_line(cnp.PyArray_BYTES(memory))
    blocks.marks = <char*>blocks.spans + spans_bytes if marks_bytes else NULL
    for chunk in prange(n_threads, num_threads=n_threads, schedule="static", nogil=True):
        find_spans(&blocks, chunk, &status[chunk])
    bad[0] = first_error(status, n_threads)
    if bad[0] == OK:
        bad[0] = begin_writing(job, False)
    if bad[0] != OK or job.interrupts.stopped:
        return True
    find_ranges(&blocks)
    for chunk in prange(n_threads, num_threads=n_threads, schedule="static", nogil=True):
        run_range(&blocks, chunk, &status[chunk])
    bad[0] = first_error(status, n_threads)
    return True
