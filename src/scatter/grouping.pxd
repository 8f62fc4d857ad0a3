# Updates grouped by destination row, for ROWS: CSR row pointers, and the updates in the order of their rows.
#
#     resolve_row_ids   each tuple becomes the row id of its destination
#     order_updates     each thread owns a range of rows. It groups their updates, in order, by histogram and prefix sum
#                       into CSR row pointers; for ASSIGN it keeps the last update of each row (last writer wins)
#     order_chunk       replaces order_updates where there are few rows: each thread groups a chunk of the updates
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memset

from common.codes cimport ASSIGN, INTERRUPTED, OK, TAKE
from common.interrupts cimport is_interrupted
from common.items cimport CACHE_LINE, prefetch_write
from common.resolve cimport BLOCK, SKIPPED, Tuples, find_trivial, resolve_block
from common.rows cimport Row
from common.stream cimport STREAM_ROW, fill_lines
from common.threads cimport TASKS_PER_THREAD, chunk_start
from common.walk cimport DATA, OTHER, Cursor, Walk, copy_walk, seek
from scatter.job cimport SCRATCH_BYTES, SHORT_ROW, Job
from scatter.loops.select_range cimport SELECT_SLACK, select_rows
from scatter.marks cimport Marks, add_to_mark
from scatter.means cimport divide_rows
from scatter.reductions cimport Step

cdef enum:
    MIN_ROW = CACHE_LINE
    MIN_SHORT_BYTES = 1 << 23   # of a result of such rows
    MAX_COMBINED_ROW = 1 << 12  # bytes: a scratch buffer in L1
    MAX_WIDE_ROW = 1 << 13      # bytes, with accumulate_dtype
    MIN_ROWS_BYTES = 1 << 22    # of a result, or of the updates
    ALONE_BYTES = 6 << 20       # of a result that fits the caches
    MAX_ROWS = 1 << 23          # 4 bytes of scratch memory each
    MAX_COUNTS = 1 << 22        # 4 bytes of scratch memory each
    FEW_THREADS = 8             # each reads the rows of all updates
    MANY_OF_A_ROW = 32          # updates of a chunk
    MAX_OF_A_THREAD = 1 << 19   # updates
    OWNED = 1024                # updates from which a thread selects those of its rows at a time
    MAX_BATCH = 64              # rows that are written at a time
    UPDATES_PER_ROW = 2         # in place
    AHEAD_BYTES = 10 << 10      # of updates that are prefetched: rows in any order need many outstanding misses
    ASKING = 1 << 10            # updates or rows between two questions for signals

cdef struct Rows:
    const Job* job
    Tuples tuples
    Walk walk                   # with row ids in the place of byte offsets in data
    Py_ssize_t n_rows
    const char* updates         # of the round
    const int32_t* update_rows  # of the round: see Job
    Py_ssize_t update_step
    Py_ssize_t start            # of the round's tuples
    Py_ssize_t n
    Py_ssize_t n_chunks
    int32_t* row                # row id of each tuple of the round; -1: skipped
    # CSR row pointers into order: the end of each row's updates, which is the begin of the next row's. Beyond the last
    # one, order is not written: there are as many as updates are skipped.
    # For ASSIGN: the number of the last update, counted from 1; 0: none.
    uint32_t* end
    uint32_t* order             # updates of the round, sorted by row, by their rows in rows.updates
    uint32_t* counts            # order_chunk's histograms; NULL: order_updates
    Marks marks                 # by row id
    bint divides                # means are divided in registers, without marks
    Py_ssize_t n_tasks
    bint fresh                  # in the first round: rows of out are not written yet
    bint is_last                # round
    bint streams


cdef inline Py_ssize_t tuple_bytes(const Job* job) noexcept nogil:
    return <Py_ssize_t>sizeof(int32_t) + (<Py_ssize_t>sizeof(uint32_t) if job.step.reduction != ASSIGN else 0)


cdef inline Py_ssize_t updates_of_a_round(const Job* job) noexcept nogil:
    return SCRATCH_BYTES // tuple_bytes(job)


cdef inline bint describe_rows(Rows* rows, const Job* job, bint forced) noexcept:
    """Describe the job for ROWS. False: it would be slower; with forced: it is impossible."""
    cdef const Row* row = &job.step.row
    cdef int d
    if (job.row_bytes <= 0 or not job.updates_are_linear or row.outer.n != 1 or job.step.swapped
            or job.step.reduction == TAKE):
        return False
    # If the result holds data already, other strategies visit only the rows that have updates.
    if job.data == NULL and (job.conversion.pair or (not forced and (
            job.walk.n < UPDATES_PER_ROW * job.n_rows or (job.n_threads == 1 and job.row_bytes <= CACHE_LINE)))):
        return False
    if not forced and job.row_bytes < MIN_ROW and (
            job.row_bytes < SHORT_ROW or (not job.step.row_loop and job.step.reduction != ASSIGN)
            or job.conversion.pair or job.out_bytes < MIN_SHORT_BYTES or job.walk.n < job.n_rows):
        return False
    # A small result is worth it if the updates are large: several threads read them sooner than one.
    if not forced and job.out_bytes < MIN_ROWS_BYTES and (
            job.n_threads == 1 or job.walk.n < MIN_ROWS_BYTES // job.row_bytes):
        return False
    # One thread combines the updates of such a result faster in their own order, in which it reads them (SERIAL).
    if (not forced and job.n_threads == 1 and job.out_bytes <= ALONE_BYTES and job.step.reduction != ASSIGN
            and job.walk.n * job.row_bytes > job.out_bytes):
        return False
    if job.conversion.pair and (row.n_inner * job.conversion.wide_bytes > MAX_WIDE_ROW
                                or (job.order == NULL and job.walk.n > updates_of_a_round(job))):
        return False
    if job.step.reduction == ASSIGN:
        if row.n_inner != 1 or row.item_bytes != job.row_bytes:
            return False
    elif (job.row_bytes >= MAX_COMBINED_ROW or row.n_inner * row.item_bytes != job.row_bytes
            or (row.n_inner > 1 and (row.inner_data != row.item_bytes or row.inner_other != row.item_bytes))):
        return False
    rows.n_rows = job.out_bytes // job.row_bytes
    if rows.n_rows > MAX_ROWS or (not forced and rows.n_rows < TASKS_PER_THREAD * job.n_threads):
        return False
    rows.job = job
    rows.tuples = job.tuples
    copy_walk(&job.walk, &rows.walk)
    for d in range(job.tuples.k):
        rows.tuples.stride[d] //= job.row_bytes
    find_trivial(&rows.tuples)
    for d in range(job.walk.n_dims):
        rows.walk.stride[d][DATA] //= job.row_bytes
    rows.update_step = job.row_bytes if job.update_rows != NULL else job.walk.stride[job.walk.n_dims - 1][OTHER]
    rows.streams = job.streams and job.data != NULL and (
        job.row_bytes >= STREAM_ROW or fill_lines(job.out, job.row_bytes, job.row_bytes))
    return True


cdef inline void resolve_row_ids(const Rows* rows, Py_ssize_t chunk, Py_ssize_t* status) noexcept nogil:
    cdef int64_t row_ids[BLOCK]
    cdef Cursor cursor
    cdef Py_ssize_t start = chunk_start(rows.n, rows.n_chunks, chunk)
    cdef Py_ssize_t stop = chunk_start(rows.n, rows.n_chunks, chunk + 1)
    cdef Py_ssize_t n, i
    cdef uint32_t* counts = NULL  # the chunk's histogram; the first count is of skipped tuples, whose row id is -1
    status[0] = OK
    if rows.counts != NULL:
        counts = rows.counts + chunk * (rows.n_rows + 1)
        memset(counts, 0, (rows.n_rows + 1) * sizeof(uint32_t))
    seek(&rows.walk, rows.start + start, &cursor)
    while start < stop:
        resolve_block(&rows.tuples, &rows.walk, &cursor, min(<Py_ssize_t>BLOCK, stop - start), False, row_ids, &n)
        if n < 0:
            status[0] = (rows.start + start) * rows.tuples.k - 1 - n
            return
        if is_interrupted(rows.job.interrupts, n * rows.tuples.k):
            status[0] = INTERRUPTED
            return
        for i in range(n):
            rows.row[start + i] = -1 if row_ids[i] == SKIPPED else <int32_t>row_ids[i]
        if counts != NULL:
            for i in range(n):
                counts[rows.row[start + i] + 1] += 1
        start += n


cdef inline Py_ssize_t select_owned(const Rows* rows, Py_ssize_t block, uint32_t low, uint32_t width, uint32_t* owned,
                                    uint32_t* owned_rows, uint32_t* below) noexcept nogil:
    """Select the updates of a block of OWNED whose row is one of low to low + width, and return how many there are.

    OUT  owned: the updates; owned_rows: their rows, less low; below: is advanced by the number of rows below low
    """
    cdef Py_ssize_t start = block * OWNED
    return select_rows(rows.row + start, min(rows.n - start, <Py_ssize_t>OWNED), low, width, <uint32_t>start,
                       owned_rows, owned, below)


cdef inline uint32_t number_of(const Rows* rows, uint32_t update) noexcept nogil:
    """The row of rows.updates that is an update of the round."""
    return <uint32_t>rows.update_rows[update] if rows.update_rows != NULL else update


cdef inline void order_updates(const Rows* rows, Py_ssize_t owner) noexcept nogil:
    """Group the updates of the owner's rows."""
    cdef uint32_t low = <uint32_t>chunk_start(rows.n_rows, rows.n_chunks, owner)
    cdef uint32_t width = <uint32_t>chunk_start(rows.n_rows, rows.n_chunks, owner + 1) - low
    cdef uint32_t* end = rows.end + low
    cdef uint32_t owned[OWNED + SELECT_SLACK]
    cdef uint32_t owned_rows[OWNED + SELECT_SLACK]
    cdef uint32_t count, begin, below = 0
    cdef Py_ssize_t block, i
    memset(end, 0, width * sizeof(uint32_t))
    for block in range((rows.n + OWNED - 1) // OWNED):
        if is_interrupted(rows.job.interrupts, OWNED):
            return
        for i in range(select_owned(rows, block, low, width, owned, owned_rows, &below)):
            if rows.job.step.reduction == ASSIGN:
                prefetch_write(&end[owned_rows[i]])
                end[owned_rows[i]] = number_of(rows, owned[i]) + 1  # the last writer wins
            else:
                end[owned_rows[i]] += 1  # histogram
    if rows.job.step.reduction == ASSIGN:
        return
    begin = below
    for i in range(width):  # prefix sum
        count = end[i]
        end[i] = begin  # the next loop advances it to the end
        begin += count
    for block in range((rows.n + OWNED - 1) // OWNED):
        if is_interrupted(rows.job.interrupts, OWNED):
            return
        for i in range(select_owned(rows, block, low, width, owned, owned_rows, &below)):
            prefetch_write(&rows.order[end[owned_rows[i]]])
            rows.order[end[owned_rows[i]]] = number_of(rows, owned[i])
            end[owned_rows[i]] += 1


cdef inline bint counts_chunks(const Rows* rows, Py_ssize_t n) noexcept nogil:
    """Whether a round of n updates is grouped by order_chunk: there are few rows, and so short histograms.

    A few threads group them sooner by order_updates if a chunk has few updates of each row: threads would write to the
    same cache lines of the order. But each thread's part of the order has to fit L2.
    """
    return (rows.job.step.reduction != ASSIGN and (rows.n_rows + 1) * rows.n_chunks <= min(n, <Py_ssize_t>MAX_COUNTS)
            and (rows.n_chunks > FEW_THREADS or n >= MANY_OF_A_ROW * rows.n_rows * rows.n_chunks
                 or n > MAX_OF_A_THREAD * rows.n_chunks))


cdef inline void add_counts(const Rows* rows) noexcept nogil:
    """Set `end` to the prefix sum of the chunks' histograms, and these to where a chunk's updates of a row begin."""
    cdef Py_ssize_t row, chunk
    cdef uint32_t below = 0, count
    for row in range(rows.n_rows):
        for chunk in range(rows.n_chunks):
            count = rows.counts[chunk * (rows.n_rows + 1) + row + 1]
            rows.counts[chunk * (rows.n_rows + 1) + row + 1] = below
            below += count
        rows.end[row] = below


cdef inline void order_chunk(const Rows* rows, Py_ssize_t chunk) noexcept nogil:
    """Write one chunk's updates to their places in the order."""
    cdef uint32_t* place = rows.counts + chunk * (rows.n_rows + 1) + 1
    cdef Py_ssize_t i
    for i in range(chunk_start(rows.n, rows.n_chunks, chunk), chunk_start(rows.n, rows.n_chunks, chunk + 1)):
        if rows.row[i] >= 0:
            prefetch_write(&rows.order[place[rows.row[i]]])
            rows.order[place[rows.row[i]]] = number_of(rows, <uint32_t>i)
            place[rows.row[i]] += 1


cdef inline Py_ssize_t first_row_of(const Rows* rows, Py_ssize_t task) noexcept nogil:
    """The first row of a task. Tasks have equal work, even if the histogram is skewed; a row costs as two updates."""
    cdef Py_ssize_t low = 0, high = rows.n_rows, row, work
    if rows.job.step.reduction == ASSIGN:
        return chunk_start(rows.n_rows, rows.n_tasks, task)
    work = chunk_start(2 * rows.n_rows + rows.end[rows.n_rows - 1], rows.n_tasks, task)
    while low < high:  # binary search for the first row with at least that much work before it
        row = (low + high) // 2
        if 2 * row + (<Py_ssize_t>rows.end[row - 1] if row else 0) < work:
            low = row + 1
        else:
            high = row
    return low


cdef inline void finish_rows(const Rows* rows, const Step* step, char* target, Py_ssize_t pitch, Py_ssize_t row,
                             Py_ssize_t n) noexcept nogil:
    """Count the round's updates of n rows, and in the last round divide the rows, which are `pitch` bytes apart."""
    cdef Marks marks = rows.marks
    cdef Py_ssize_t i
    for i in range(row, row + n):
        add_to_mark(&marks, i, rows.end[i] - (rows.end[i - 1] if i else 0))
    if rows.is_last and rows.job.divides:
        marks.table += row * marks.width
        divide_rows(step, &marks, rows.job.include_self, target, pitch, n)
