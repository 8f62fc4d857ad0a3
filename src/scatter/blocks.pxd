# cython: cdivision=True
# Route "blocks": neighbouring tuples name neighbouring rows, as sorted indices do. Tuples are cut into spans. Each
# thread finds the lowest and the highest row of each span in its chunk of the tuples. Then a thread owns a tile of
# rows: it opens the tile, applies the updates of its rows, from the spans that may have some, and closes it.
from cython.parallel cimport prange, threadid
from libc.stdint cimport INT64_MAX, int64_t, uint64_t
cimport numpy as cnp

from common.codes cimport INTERRUPTED, OK
from common.interrupts cimport is_interrupted
from common.items cimport CACHE_LINE, MAX_TILES, at_line, whole_lines
from common.machine cimport shared
from common.resolve cimport BLOCK, resolve_block
from common.scratch cimport allocate_scratch
from common.stream cimport stream_fence
from common.threads cimport MAX_TASKS, TASKS_PER_THREAD, chunk_start, first_error
from common.walk cimport Cursor, seek
from scatter.buckets cimport APART, GROUP_BYTES
from scatter.job cimport Job, begin_writing, must_write_data
from scatter.tile cimport Tile, close_tile, open_tile
from scatter.updates cimport apply_tuples

cdef enum:
    SPANS = 16                  # of a tile, if all tiles have as many updates; and blocks of a span, at most

cdef struct Span:
    int64_t low
    int64_t high                # below low: all tuples of the span are skipped
    int64_t highest             # of this span and those before
    int64_t lowest              # of this span and those after

cdef struct Blocks:
    const Job* job
    Py_ssize_t span             # tuples of a span
    Py_ssize_t n_spans
    Span* spans
    Py_ssize_t tile_rows
    Py_ssize_t n_tiles
    char* accumulators          # of a tile for each thread; NULL: in the result
    Py_ssize_t tile_bytes
    char* marks                 # of a tile for each thread
    Py_ssize_t marks_bytes


cdef inline bint can_take_blocks(const Job* job) noexcept nogil:
    return (not job.by_updates and job.order == NULL and job.walk.n > 0
            and job.kernel.row_bytes + job.kernel.mark_bytes <= GROUP_BYTES // 8)


cdef inline bint has_scratch_tiles(const Job* job) noexcept nogil:
    """Whether accumulators are in scratch memory; for streamed rows that are long enough for a test of each update."""
    return not job.in_result or (job.streams and must_write_data(job) and job.row_bytes >= CACHE_LINE)


cdef inline void find_spans(const Blocks* blocks, Py_ssize_t chunk, Py_ssize_t* status) noexcept nogil:
    cdef const Job* job = blocks.job
    cdef int64_t rows[BLOCK]
    cdef Cursor cursor
    cdef Py_ssize_t span = chunk_start(blocks.n_spans, job.n_threads, chunk), at = span * blocks.span, n, i, end
    cdef Py_ssize_t stop = chunk_start(blocks.n_spans, job.n_threads, chunk + 1)
    cdef int64_t high
    cdef uint64_t low
    status[0] = OK
    seek(&job.walk, at, &cursor)
    while span < stop:
        low = INT64_MAX
        high = -1
        end = min((span + 1) * blocks.span, job.walk.n)
        while at < end:
            resolve_block(&job.tuples, &job.walk, &cursor, min(<Py_ssize_t>BLOCK, end - at), False, rows, &n)
            if n < 0:
                status[0] = at * job.tuples.k - 1 - n
                return
            for i in range(n):  # SKIPPED is below all rows and, unsigned, above them
                high = rows[i] if rows[i] > high else high
                low = <uint64_t>rows[i] if <uint64_t>rows[i] < low else low
            at += n
        if is_interrupted(job.interrupts, blocks.span * job.tuples.k):
            status[0] = INTERRUPTED
            return
        blocks.spans[span].low = <int64_t>low
        blocks.spans[span].high = high
        span += 1


cdef inline void find_extremes(Blocks* blocks) noexcept nogil:
    cdef int64_t highest = -1, lowest = INT64_MAX
    cdef Py_ssize_t i
    for i in range(blocks.n_spans):
        highest = max(highest, blocks.spans[i].high)
        blocks.spans[i].highest = highest
    for i in range(blocks.n_spans - 1, -1, -1):
        lowest = min(lowest, blocks.spans[i].low)
        blocks.spans[i].lowest = lowest


cdef inline void widen_tiles(Blocks* blocks) noexcept nogil:
    """Let tiles in the result be so large that few spans meet several: each tile resolves the tuples anew."""
    cdef const Job* job = blocks.job
    cdef Py_ssize_t i, meetings
    while (blocks.n_tiles > TASKS_PER_THREAD * job.n_threads
           and 2 * blocks.tile_rows * job.row_bytes * job.n_threads <= shared.machine.l3_bytes // 2):
        meetings = 0
        for i in range(blocks.n_spans):
            if blocks.spans[i].high >= 0:
                meetings += blocks.spans[i].high // blocks.tile_rows - blocks.spans[i].low // blocks.tile_rows + 1
        if meetings <= blocks.n_spans + blocks.n_spans // 4:
            return
        blocks.tile_rows *= 2
        blocks.n_tiles = (job.n_rows + blocks.tile_rows - 1) // blocks.tile_rows


cdef inline Py_ssize_t first_span(const Blocks* blocks, int64_t row, bint by_highest) noexcept nogil:
    """The first span from which on the highest, or the lowest, is `row` or above."""
    cdef Py_ssize_t low = 0, high = blocks.n_spans, middle
    while low < high:
        middle = (low + high) // 2
        if (blocks.spans[middle].highest if by_highest else blocks.spans[middle].lowest) < row:
            low = middle + 1
        else:
            high = middle
    return low


cdef inline int meets(const Span* span, const Tile* tile) noexcept nogil:
    """Whether rows of a span are in the tile: 2: all, 1: perhaps some."""
    if span.low >= tile.first and span.high < tile.first + tile.n:
        return 2
    return span.low < tile.first + tile.n and span.high >= tile.first


cdef inline void run_tile_of_blocks(const Blocks* blocks, Py_ssize_t index, int thread,
                                    Py_ssize_t* status) noexcept nogil:
    cdef const Job* job = blocks.job
    cdef Tile tile
    cdef Py_ssize_t span, stop, first
    cdef char* accumulators
    cdef char* marks = NULL
    status[0] = OK
    tile.first = index * blocks.tile_rows
    tile.n = min(blocks.tile_rows, job.n_rows - tile.first)
    tile.accumulators = job.out + tile.first * job.row_bytes
    if blocks.accumulators != NULL:
        tile.accumulators = blocks.accumulators + thread * blocks.tile_bytes
    tile.marks = blocks.marks + thread * blocks.marks_bytes if job.kernel.mark_bytes else NULL
    if is_interrupted(job.interrupts, tile.n * job.row_bytes >> 3):
        return
    open_tile(job, &tile)
    accumulators = <char*>(<size_t>tile.accumulators - <size_t>(tile.first * job.kernel.row_bytes))  # of row 0
    if tile.marks != NULL:
        marks = <char*>(<size_t>tile.marks - <size_t>(tile.first * job.kernel.mark_bytes))
    span = first_span(blocks, tile.first, True)
    stop = first_span(blocks, tile.first + tile.n, False)
    while span < stop and status[0] == OK:
        first = span
        # All rows are the tile's, but another thread may change indices: rows in the result are in bounds anyway.
        while (span < stop and meets(&blocks.spans[span], &tile) == 2 and blocks.accumulators == NULL
               and tile.marks == NULL):
            span += 1
        if span > first:
            apply_tuples(job, accumulators, marks, first * blocks.span, min(span * blocks.span, job.walk.n), 0,
                         job.n_rows, status)
        elif meets(&blocks.spans[span], &tile):
            span += 1
            apply_tuples(job, accumulators, marks, first * blocks.span, min(span * blocks.span, job.walk.n),
                         tile.first, tile.n, status)
        else:
            span += 1
    if status[0] == OK:
        close_tile(job, &tile)
    if job.streams:
        stream_fence()


cdef inline void plan_blocks(Blocks* blocks) noexcept nogil:
    cdef const Job* job = blocks.job
    cdef Py_ssize_t per_row = job.kernel.row_bytes + job.kernel.mark_bytes, least
    cdef bint scratch = has_scratch_tiles(job)
    least = 2 * TASKS_PER_THREAD * job.n_threads if job.n_threads > 1 else 1
    blocks.n_tiles = max(least, job.n_rows * per_row // (shared.machine.l2_bytes // 4))
    blocks.tile_rows = max(job.n_rows // min(blocks.n_tiles, <Py_ssize_t>MAX_TILES), <Py_ssize_t>1)
    if scratch or job.kernel.mark_bytes:
        blocks.tile_rows = min(blocks.tile_rows, max(GROUP_BYTES // per_row // job.n_threads, <Py_ssize_t>1))
    blocks.n_tiles = (job.n_rows + blocks.tile_rows - 1) // blocks.tile_rows
    blocks.tile_bytes = whole_lines(blocks.tile_rows * job.kernel.row_bytes) + APART if scratch else 0
    blocks.marks_bytes = whole_lines(blocks.tile_rows * job.kernel.mark_bytes) + APART if job.kernel.mark_bytes else 0
    blocks.span = BLOCK
    while blocks.span < SPANS * BLOCK and blocks.span * SPANS * blocks.n_tiles < job.walk.n:
        blocks.span *= 2
    blocks.n_spans = (job.walk.n + blocks.span - 1) // blocks.span


cdef inline bint run_blocks(Job* job, Py_ssize_t* bad) noexcept:
    """False: there is no memory, and nothing was written."""
    cdef Py_ssize_t status[MAX_TASKS]
    cdef Blocks blocks
    cdef Py_ssize_t chunk, tile, spans_bytes
    cdef int n_threads = job.n_threads, thread
    cdef cnp.ndarray memory
    cdef char* at
    blocks.job = job
    plan_blocks(&blocks)
    spans_bytes = whole_lines(blocks.n_spans * sizeof(Span)) + APART
    memory = allocate_scratch(spans_bytes + n_threads * (blocks.tile_bytes + blocks.marks_bytes) + CACHE_LINE)
    if memory is None:
        return False
    at = at_line(cnp.PyArray_BYTES(memory))
    blocks.spans = <Span*>at
    blocks.accumulators = at + spans_bytes if blocks.tile_bytes else NULL
    blocks.marks = at + spans_bytes + n_threads * blocks.tile_bytes
    if n_threads == 1:
        with nogil:
            find_spans(&blocks, 0, &status[0])
    else:
        for chunk in prange(n_threads, num_threads=n_threads, schedule="static", nogil=True):
            find_spans(&blocks, chunk, &status[chunk])
    bad[0] = first_error(status, n_threads)
    if bad[0] == OK:
        bad[0] = begin_writing(job, False)
    if bad[0] != OK or job.interrupts.stopped:
        return True
    with nogil:
        find_extremes(&blocks)
        if not blocks.tile_bytes and not blocks.marks_bytes:
            widen_tiles(&blocks)
        for thread in range(n_threads):
            status[thread] = OK
    if n_threads == 1:
        with nogil:
            for tile in range(blocks.n_tiles):
                if status[0] == OK:
                    run_tile_of_blocks(&blocks, tile, 0, &status[0])
    else:
        for tile in prange(blocks.n_tiles, num_threads=n_threads, schedule="dynamic", chunksize=1, nogil=True):
            run_task(&blocks, tile, threadid(), status)
    bad[0] = first_error(status, n_threads)
    return True


cdef inline void run_task(const Blocks* blocks, Py_ssize_t tile, int thread, Py_ssize_t* status) noexcept nogil:
    """Keep the status of the thread's first failure."""
    if status[thread] == OK:
        run_tile_of_blocks(blocks, tile, thread, &status[thread])
