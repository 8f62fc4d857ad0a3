# ROWS: updates are grouped by destination row, then each row of a new result is written once.
#
# In rounds of a bounded number of updates:
#     resolve_row_ids   each tuple becomes the row id of its destination
#     order_updates     each thread owns a range of rows. It groups their updates, in order, by histogram and prefix sum
#                       into CSR row pointers; for ASSIGN it keeps the last update of each row (last writer wins)
#     write_rows        each row is written from data and its updates
# If the updates are larger than the result, write_owned replaces write_rows: each thread applies the updates of its
# rows in update order, so that updates are read sequentially.
from cpython.mem cimport PyMem_RawFree as free, PyMem_RawMalloc as malloc  # so that tracemalloc sees it
from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memcpy, memset
cimport numpy as cnp

from common.codes cimport ASSIGN, INTERRUPTED, OK
from common.interrupts cimport block_of, is_interrupted
from common.items cimport CACHE_LINE, inline_void, prefetch_l1, prefetch_stream
from common.resolve cimport BLOCK, SKIPPED, Tuples, find_trivial, resolve_block
from common.rows cimport Row
from common.scratch cimport allocate_scratch
from common.stream cimport STREAM_ROW, stream_fence, stream_rows
from common.threads cimport MAX_TASKS, TASKS_PER_THREAD, chunk_start, first_error
from common.walk cimport DATA, OTHER, Cursor, Walk, copy_walk, seek
from scatter.apply cimport combine_rows_block
from scatter.job cimport SCRATCH_BYTES, Job, begin_writing, check_tuples, copy_bytes, divide_steps
from scatter.marks cimport Marks, add_to_mark, allocate_marks, count_of, free_marks, note_firsts
from scatter.means cimport divide_rows

cdef enum:
    MIN_ROW = CACHE_LINE
    MAX_COMBINED_ROW = 1 << 12  # bytes: a scratch buffer in L1
    MIN_ROWS_BYTES = 1 << 22    # of a result, or of the updates
    MAX_ROWS = 1 << 23          # 4 bytes of scratch memory each
    MAX_COUNTS = 1 << 22        # 4 bytes of scratch memory each
    OWNED = 1024                # updates from which a thread selects those of its rows at a time
    PREFETCH_DISTANCE = 1 << 11  # in bytes of rows
    MAX_BATCH = 64              # updates that are combined in one call
    ASKING = 1 << 10            # updates or rows between two questions for signals

cdef struct Rows:
    const Job* job
    Tuples tuples
    Walk walk                   # with row ids in the place of byte offsets in data
    Py_ssize_t n_rows
    Py_ssize_t update_step
    Py_ssize_t start            # of the round's tuples
    Py_ssize_t n
    Py_ssize_t n_chunks
    int32_t* row                # row id of each tuple of the round; -1: skipped
    # CSR row pointers into order: the end of each row's updates, which is the begin of the next row's.
    # For ASSIGN: the number of the last update, counted from 1; 0: none.
    uint32_t* end
    uint32_t* order             # updates of the round, sorted by row
    uint32_t* counts            # histograms by chunk, if the order is not needed; NULL: no memory
    Marks marks                 # by row id
    Py_ssize_t n_tasks
    bint in_update_order        # updates are applied in update order, not row by row
    bint fresh                  # in the first round: rows of out are not written yet
    bint is_last                # round
    bint streams


cdef inline bint describe_rows(Rows* rows, const Job* job, bint forced) noexcept:
    """Describe the job for ROWS. False: it would be slower; with forced: it is impossible."""
    cdef const Row* row = &job.step.row
    cdef int d
    if job.data == NULL or job.row_bytes <= 0 or not job.updates_are_linear or row.outer.n != 1 or job.step.swapped:
        return False
    # A small result is worth it if the updates are large: several threads read them sooner than one.
    if not forced and (job.row_bytes < MIN_ROW or (job.out_bytes < MIN_ROWS_BYTES and (
            job.n_threads == 1 or job.walk.n < MIN_ROWS_BYTES // job.row_bytes))):
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
    rows.update_step = job.walk.stride[job.walk.n_dims - 1][OTHER]
    rows.streams = job.streams and job.row_bytes >= STREAM_ROW
    return True


cdef inline void resolve_row_ids(const Rows* rows, Py_ssize_t chunk, Py_ssize_t* status) noexcept nogil:
    cdef int64_t row_ids[BLOCK]
    cdef Cursor cursor
    cdef Py_ssize_t start = chunk_start(rows.n, rows.n_chunks, chunk)
    cdef Py_ssize_t stop = chunk_start(rows.n, rows.n_chunks, chunk + 1)
    cdef Py_ssize_t n, i
    status[0] = OK
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
        start += n


cdef inline Py_ssize_t select_owned(const Rows* rows, Py_ssize_t block, uint32_t low, uint32_t width, uint32_t* owned,
                                    uint32_t* owned_rows, uint32_t* below) noexcept nogil:
    """Select the updates of a block of OWNED whose row is one of low to low + width, and return how many there are.

    Without a branch, which could not be predicted. Unsigned comparisons also exclude -1 (skipped).
    OUT  owned: the updates; owned_rows: their rows, less low; below: is advanced by the number of rows below low
    """
    cdef Py_ssize_t i, n = 0
    cdef uint32_t row
    for i in range(block * OWNED, min((block + 1) * OWNED, rows.n)):
        row = <uint32_t>rows.row[i]
        below[0] += row < low
        owned[n] = <uint32_t>i
        owned_rows[n] = row - low
        n += row - low < width
    return n


cdef inline void order_updates(const Rows* rows, Py_ssize_t owner) noexcept nogil:
    """Group the updates of the owner's rows."""
    cdef uint32_t low = <uint32_t>chunk_start(rows.n_rows, rows.n_chunks, owner)
    cdef uint32_t width = <uint32_t>chunk_start(rows.n_rows, rows.n_chunks, owner + 1) - low
    cdef uint32_t* end = rows.end + low
    cdef uint32_t owned[OWNED]
    cdef uint32_t owned_rows[OWNED]
    cdef uint32_t count, begin, below = 0
    cdef Py_ssize_t block, i
    memset(end, 0, width * sizeof(uint32_t))
    for block in range((rows.n + OWNED - 1) // OWNED):
        if is_interrupted(rows.job.interrupts, OWNED):
            return
        for i in range(select_owned(rows, block, low, width, owned, owned_rows, &below)):
            if rows.job.step.reduction == ASSIGN:
                end[owned_rows[i]] = owned[i] + 1  # the last writer wins
            else:
                end[owned_rows[i]] += 1  # histogram
    if rows.job.step.reduction == ASSIGN:
        return
    begin = below
    for i in range(width):  # prefix sum
        count = end[i]
        end[i] = begin + count if rows.in_update_order else begin  # the next loop advances it to the end
        begin += count
    if rows.in_update_order:
        return
    for block in range((rows.n + OWNED - 1) // OWNED):
        if is_interrupted(rows.job.interrupts, OWNED):
            return
        for i in range(select_owned(rows, block, low, width, owned, owned_rows, &below)):
            rows.order[end[owned_rows[i]]] = owned[i]
            end[owned_rows[i]] += 1


cdef inline void count_chunk(const Rows* rows, Py_ssize_t chunk) noexcept nogil:
    """Histogram of one chunk of the round's tuples. The first count is that of skipped tuples, whose row id is -1."""
    cdef Py_ssize_t i
    cdef uint32_t* counts = rows.counts + chunk * (rows.n_rows + 1)
    memset(counts, 0, (rows.n_rows + 1) * sizeof(uint32_t))
    for i in range(chunk_start(rows.n, rows.n_chunks, chunk), chunk_start(rows.n, rows.n_chunks, chunk + 1)):
        counts[rows.row[i] + 1] += 1


cdef inline void add_counts(const Rows* rows) noexcept nogil:
    """Set `end` to the prefix sum of the chunks' histograms."""
    cdef Py_ssize_t row, chunk
    cdef uint32_t below = 0
    for row in range(rows.n_rows):
        for chunk in range(rows.n_chunks):
            below += rows.counts[chunk * (rows.n_rows + 1) + row + 1]
        rows.end[row] = below


cdef inline void copy_rows(const Rows* rows, char* out, const char* source, const int64_t* offsets, Py_ssize_t n,
                           Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t i
    if rows.streams:
        stream_rows(out, size, source, offsets, n, size)
    else:
        for i in range(n):
            memcpy(out + i * size, source + offsets[i], size)


cdef inline void write_assigned(const Rows* rows, Py_ssize_t row, Py_ssize_t stop) noexcept nogil:
    """Write rows, each from its last update or from data."""
    cdef const Job* job = rows.job
    cdef int64_t offsets[BLOCK]
    cdef const char* updates = job.updates + rows.start * rows.update_step
    cdef int64_t shift = <int64_t>(<size_t>updates - <size_t>job.data)
    cdef Py_ssize_t n, i
    if not rows.fresh:
        for i in range(row, stop):
            if rows.end[i]:
                memcpy(job.out + i * job.row_bytes, updates + (rows.end[i] - 1) * rows.update_step, job.row_bytes)
        return
    cdef Py_ssize_t most = block_of(job.row_bytes, BLOCK)
    while row < stop:
        n = min(most, stop - row)
        if is_interrupted(job.interrupts, n * job.row_bytes >> 3):
            return
        for i in range(n):
            offsets[i] = (row + i) * job.row_bytes
            if rows.end[row + i]:
                offsets[i] = shift + <int64_t>(rows.end[row + i] - 1) * rows.update_step
        copy_rows(rows, job.out + row * job.row_bytes, job.data, offsets, n, job.row_bytes)
        row += n


cdef inline inline_void prefetch_row(const char* row, Py_ssize_t row_bytes) noexcept nogil:
    cdef Py_ssize_t line
    for line in range(row_bytes // CACHE_LINE):
        prefetch_l1(row + line * CACHE_LINE)


cdef inline void combine_ordered(const Rows* rows, char* target, const char* updates, Py_ssize_t row, Py_ssize_t first,
                                 Py_ssize_t stop, Py_ssize_t batch) noexcept nogil:
    """Combine the rows at target, which begin with `row`, with the updates order[first:stop].

    In batches: while one batch is combined, the updates of the next are prefetched. If the scatter does not include
    data, the first update of a row is assigned.
    """
    cdef int64_t offsets[MAX_BATCH]
    cdef int64_t update_offsets[MAX_BATCH]
    cdef Py_ssize_t row_bytes = rows.job.row_bytes, at = row, n, i
    cdef bint is_first = True
    while first < stop:
        if (first & (ASKING - 1)) < batch and is_interrupted(rows.job.interrupts, ASKING * row_bytes >> 2):
            return
        n = min(batch, stop - first)
        for i in range(n):
            while rows.end[at] <= first + i:
                at += 1
                is_first = True
            offsets[i] = (at - row) * row_bytes
            update_offsets[i] = rows.order[first + i] * rows.update_step
            if is_first and rows.marks.assigns and count_of(&rows.marks, at) == 0:
                memcpy(target + offsets[i], updates + update_offsets[i], row_bytes)
                offsets[i] = SKIPPED
            is_first = False
            if first + i + batch < rows.n:
                prefetch_row(updates + rows.order[first + i + batch] * rows.update_step, row_bytes)
        combine_rows_block(&rows.job.step, target, offsets, updates, update_offsets, 0, n)
        first += n


cdef inline void finish_rows(const Rows* rows, char* target, Py_ssize_t row, Py_ssize_t n) noexcept nogil:
    """Count the round's updates of n rows, and in the last round divide them."""
    cdef Marks marks = rows.marks
    cdef Py_ssize_t i
    for i in range(row, row + n):
        add_to_mark(&marks, i, rows.end[i] - (rows.end[i - 1] if i else 0))
    if rows.is_last and rows.job.divides:
        marks.table += row * marks.width
        divide_rows(&rows.job.step, &marks, rows.job.include_self, target, rows.job.row_bytes, n)


cdef inline void stream_combined(const Rows* rows, char* scratch, const char* updates, Py_ssize_t row, Py_ssize_t first,
                                 Py_ssize_t n, Py_ssize_t batch) noexcept nogil:
    """Write n rows by non-temporal stores: from data, or from scratch if they have updates."""
    cdef const Job* job = rows.job
    cdef const char* data = job.data + row * job.row_bytes
    cdef int64_t offsets[MAX_BATCH]
    cdef Py_ssize_t i
    cdef Py_ssize_t end = first
    for i in range(n):
        offsets[i] = i * job.row_bytes
        if rows.end[row + i] > end or rows.marks.width:
            memcpy(scratch + offsets[i], data + offsets[i], job.row_bytes)
            offsets[i] += <int64_t>(<size_t>scratch - <size_t>data)
        end = rows.end[row + i]
    combine_ordered(rows, scratch, updates, row, first, end, batch)
    if rows.marks.width:
        finish_rows(rows, scratch, row, n)
    stream_rows(job.out + row * job.row_bytes, job.row_bytes, data, offsets, n, job.row_bytes)


cdef inline void write_combined(const Rows* rows, Py_ssize_t row, Py_ssize_t stop) noexcept nogil:
    """Write rows from data, combined with their updates, some rows at a time."""
    cdef const Job* job = rows.job
    cdef char scratch_memory[MAX_COMBINED_ROW + CACHE_LINE]
    cdef char* scratch = <char*>((<size_t>scratch_memory + CACHE_LINE - 1) & ~<size_t>(CACHE_LINE - 1))
    cdef const char* updates = job.updates + rows.start * rows.update_step
    cdef Py_ssize_t batch = min(max(<Py_ssize_t>1, MAX_COMBINED_ROW // job.row_bytes), <Py_ssize_t>MAX_BATCH)
    cdef Py_ssize_t first = rows.end[row - 1] if row else 0
    cdef Py_ssize_t last, n, n_bytes
    cdef const char* data
    cdef char* out
    while row < stop:
        if (row & (ASKING - 1)) < batch and is_interrupted(job.interrupts, ASKING * job.row_bytes >> 3):
            return
        n = min(batch, stop - row)
        n_bytes = n * job.row_bytes
        last = rows.end[row + n - 1]
        if rows.fresh:
            data = job.data + row * job.row_bytes
            prefetch_stream(data, n_bytes)
        if rows.streams:
            stream_combined(rows, scratch, updates, row, first, n, batch)
        else:
            out = job.out + row * job.row_bytes
            if rows.fresh:
                memcpy(out, data, n_bytes)
            combine_ordered(rows, out, updates, row, first, last, batch)
            if rows.marks.width:
                finish_rows(rows, out, row, n)
        first = last
        row += n


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


cdef inline void write_rows(const Rows* rows, Py_ssize_t task) noexcept nogil:
    cdef Py_ssize_t row = first_row_of(rows, task)
    cdef Py_ssize_t stop = first_row_of(rows, task + 1) if task + 1 < rows.n_tasks else rows.n_rows
    if rows.job.step.reduction == ASSIGN:
        write_assigned(rows, row, stop)
    else:
        write_combined(rows, row, stop)
    if rows.streams:
        stream_fence()


cdef inline void combine_owned(const Rows* rows, Py_ssize_t low, Py_ssize_t width) noexcept nogil:
    """Combine the rows low to low + width with their updates in this round, in update order."""
    cdef const Job* job = rows.job
    cdef const char* updates = job.updates + rows.start * rows.update_step
    cdef uint32_t owned[OWNED]
    cdef uint32_t owned_rows[OWNED]
    cdef uint32_t below = 0
    cdef int64_t offsets[MAX_BATCH]
    cdef int64_t update_offsets[MAX_BATCH]
    cdef int64_t ids[MAX_BATCH]
    cdef int32_t firsts[MAX_BATCH + 1]
    cdef Py_ssize_t n_firsts = 0
    cdef Py_ssize_t batch = min(max(<Py_ssize_t>1, PREFETCH_DISTANCE // job.row_bytes), <Py_ssize_t>MAX_BATCH)
    cdef char* out = job.out + low * job.row_bytes
    cdef Py_ssize_t block, i, j, n, m
    for block in range((rows.n + OWNED - 1) // OWNED):
        n = select_owned(rows, block, <uint32_t>low, <uint32_t>width, owned, owned_rows, &below)
        j = 0
        if is_interrupted(job.interrupts, OWNED + (n * job.row_bytes >> 2)):
            return
        while j < n:
            m = min(batch, n - j)
            for i in range(m):
                offsets[i] = owned_rows[j + i] * job.row_bytes
                update_offsets[i] = owned[j + i] * rows.update_step
                if j + i + batch < n:
                    prefetch_row(out + owned_rows[j + i + batch] * job.row_bytes, job.row_bytes)
                    prefetch_row(updates + owned[j + i + batch] * rows.update_step, job.row_bytes)
            if rows.marks.width:
                for i in range(m):
                    ids[i] = low + owned_rows[j + i]
                note_firsts(&rows.marks, ids, offsets, m, firsts, &n_firsts)
                for i in range(n_firsts if rows.marks.assigns else 0):
                    memcpy(out + offsets[firsts[i]], updates + update_offsets[firsts[i]], job.row_bytes)
                    offsets[firsts[i]] = SKIPPED
            combine_rows_block(&job.step, out, offsets, updates, update_offsets, 0, m)
            j += m


cdef inline void write_owned(const Rows* rows, Py_ssize_t owner) noexcept nogil:
    """Write the rows of one owner, with updates in update order, which reads the updates sequentially."""
    cdef const Job* job = rows.job
    cdef Marks marks = rows.marks
    cdef Py_ssize_t low = first_row_of(rows, owner)
    cdef Py_ssize_t stop = first_row_of(rows, owner + 1) if owner + 1 < rows.n_tasks else rows.n_rows
    cdef Py_ssize_t start = low * job.row_bytes
    if rows.fresh:
        copy_bytes(job, job.out + start, job.data + start, stop * job.row_bytes - start)
    combine_owned(rows, low, stop - low)
    if rows.is_last and job.divides:
        marks.table += low * marks.width
        divide_steps(job, &job.step, &marks, job.out + start, stop - low)


cdef inline bint run_rows(Rows* rows, Py_ssize_t* bad) noexcept:
    """False: there is no scratch memory, and nothing was written."""
    cdef Py_ssize_t status[MAX_TASKS]
    cdef int n_threads = rows.job.n_threads, n_writers
    cdef bint combines = rows.job.step.reduction != ASSIGN
    cdef Py_ssize_t n_tuples = rows.walk.n
    cdef Py_ssize_t tuple_bytes = sizeof(int32_t) + (sizeof(uint32_t) if combines else 0)
    cdef Py_ssize_t per_round = min(n_tuples, <Py_ssize_t>SCRATCH_BYTES // tuple_bytes)
    cdef Py_ssize_t chunk, task
    cdef cnp.ndarray lists = allocate_scratch(rows.n_rows * sizeof(uint32_t) + per_round * tuple_bytes)
    rows.marks = rows.job.marks
    if lists is None or (rows.marks.width and not allocate_marks(&rows.marks, rows.n_rows)):
        return False
    rows.end = <uint32_t*>cnp.PyArray_DATA(lists)
    rows.row = <int32_t*>(rows.end + rows.n_rows)
    rows.order = <uint32_t*>(rows.row + per_round)
    rows.counts = NULL
    rows.n_chunks = n_threads
    rows.in_update_order = combines and n_tuples * rows.job.row_bytes > rows.job.out_bytes
    rows.n_tasks = min(rows.n_rows, <Py_ssize_t>min(n_threads if rows.in_update_order else 16 * n_threads,
                                                    <int>MAX_TASKS))
    n_writers = <int>min(<Py_ssize_t>n_threads, rows.n_tasks)
    if rows.in_update_order and (rows.n_rows + 1) * n_threads <= MAX_COUNTS:
        rows.counts = <uint32_t*>malloc((rows.n_rows + 1) * n_threads * sizeof(uint32_t))
    rows.fresh = True
    rows.start = 0
    if rows.job.checks_first and per_round < n_tuples:  # else the first pass checks all tuples
        bad[0] = check_tuples(rows.job)
    while bad[0] == OK and rows.start < n_tuples:
        rows.n = min(per_round, n_tuples - rows.start)
        rows.is_last = rows.start + rows.n == n_tuples
        for chunk in prange(rows.n_chunks, num_threads=n_threads, schedule="static", nogil=True):
            resolve_row_ids(rows, chunk, &status[chunk])
        bad[0] = first_error(status, rows.n_chunks)
        if bad[0] != OK:
            break
        if rows.counts != NULL:
            for chunk in prange(rows.n_chunks, num_threads=n_threads, schedule="static", nogil=True):
                count_chunk(rows, chunk)
            add_counts(rows)
        else:
            for chunk in prange(rows.n_chunks, num_threads=n_threads, schedule="static", nogil=True):
                order_updates(rows, chunk)
        if rows.fresh:
            bad[0] = begin_writing(rows.job, False)
        if bad[0] != OK or rows.job.interrupts.stopped:
            break
        if rows.in_update_order:
            for task in prange(rows.n_tasks, num_threads=n_threads, schedule="static", nogil=True):
                write_owned(rows, task)
        else:
            for task in prange(rows.n_tasks, num_threads=n_writers, schedule="dynamic", chunksize=1, nogil=True):
                write_rows(rows, task)
        rows.fresh = False
        rows.streams = False
        rows.start += rows.n if not rows.job.interrupts.stopped else n_tuples
    free_marks(&rows.marks)
    free(rows.counts)
    return True
