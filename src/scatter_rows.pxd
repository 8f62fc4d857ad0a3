# ROWS: numbered, ordered, and then each row of a fresh result is written once.
from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint32_t
from cpython.mem cimport PyMem_RawFree as free, PyMem_RawMalloc as malloc  # so that tracemalloc sees it
from libc.string cimport memcpy, memset

from apply cimport Step, combine_any_run
from items cimport LINE, cloned_void, prefetch_near
from numbers cimport ASSIGN
from resolve cimport (
    BESIDE, BLOCK, DATA, OK, SKIPPED, Place, Tuples, Walk, copy_walk, find_plain, resolve_block, seek,
)
from rows cimport Row
from scatter_job cimport LONG_ROW, RECORD_BYTES, Job, first_bad_of, share
from stream cimport STREAM_ROW, stream_rows, streamed
from threads cimport MAX_TASKS, TASKS_PER_THREAD

cdef enum:
    MIN_ROW = LINE
    MIN_ROWS_BYTES = 1 << 22    # of a result
    MAX_ROWS = 1 << 23          # 4 bytes each, beside the result
    PIECE = 1 << 12             # bytes of a row that are combined while they lie in L1
    OWNED = 1024                # updates of which a thread picks its own
    AHEAD_BYTES = 1 << 11       # of rows that are asked for in front of the one that is combined

cdef struct Rows:
    const Job* job
    Tuples tuples
    Walk walk                   # whose places in data are numbers of rows
    Py_ssize_t n_rows
    Py_ssize_t update_step
    Py_ssize_t start            # of the round's tuples
    Py_ssize_t n
    Py_ssize_t n_chunks
    int32_t* row                # that each tuple of the round names; -1 for none
    # Where a row's updates end in order; they begin where those of the row in front of it end. With "none": the last
    # update, counted from 1.
    uint32_t* end
    uint32_t* order
    Py_ssize_t n_tasks
    bint by_update              # updates are applied as they lie, not as the rows do
    bint fresh                  # rows of out are yet to be written
    bint streams


cdef inline bint describe_rows(Rows* rows, const Job* job, int n_threads, bint forced) noexcept:
    """False: this is no work for ROWS."""
    cdef const Row* row = &job.step.row
    cdef int d
    if (job.data == NULL or job.row_bytes < MIN_ROW or not job.updates_are_linear
            or (job.out_bytes < MIN_ROWS_BYTES and not forced)
            or row.outer.n != 1 or job.step.swapped):
        return False
    if job.step.reduction == ASSIGN:
        if row.n_inner != 1 or row.item_bytes != job.row_bytes:
            return False
    elif (job.row_bytes >= LONG_ROW or row.n_inner * row.item_bytes != job.row_bytes
            or row.inner_data != row.item_bytes or row.inner_beside != row.item_bytes):
        return False
    rows.n_rows = job.out_bytes // job.row_bytes
    if rows.n_rows > MAX_ROWS or rows.n_rows < TASKS_PER_THREAD * n_threads:
        return False
    rows.job = job
    rows.tuples = job.tuples
    copy_walk(&job.walk, &rows.walk)
    for d in range(job.tuples.k):
        rows.tuples.stride[d] //= job.row_bytes
    find_plain(&rows.tuples)
    for d in range(job.walk.n_dims):
        rows.walk.stride[d][DATA] //= job.row_bytes
    rows.update_step = job.walk.stride[job.walk.n_dims - 1][BESIDE]
    rows.streams = job.streams and job.row_bytes >= STREAM_ROW
    return True


cdef inline void run_number(const Rows* rows, Py_ssize_t chunk, Py_ssize_t* status) noexcept nogil:
    cdef int64_t numbers[BLOCK]
    cdef Place at
    cdef Py_ssize_t start = share(rows.n, rows.n_chunks, chunk)
    cdef Py_ssize_t stop = share(rows.n, rows.n_chunks, chunk + 1)
    cdef Py_ssize_t n, i
    status[0] = OK
    seek(&rows.walk, rows.start + start, &at)
    while start < stop:
        resolve_block(&rows.tuples, &rows.walk, &at, min(<Py_ssize_t>BLOCK, stop - start), False, numbers, &n)
        if n < 0:
            status[0] = (rows.start + start) * rows.tuples.k - 1 - n
            return
        for i in range(n):
            rows.row[start + i] = -1 if numbers[i] == SKIPPED else <int32_t>numbers[i]
        start += n


cdef inline void run_order(const Rows* rows, Py_ssize_t owner) noexcept nogil:
    cdef uint32_t low = <uint32_t>share(rows.n_rows, rows.n_chunks, owner)
    cdef uint32_t width = <uint32_t>share(rows.n_rows, rows.n_chunks, owner + 1) - low
    cdef uint32_t* end = rows.end + low
    cdef uint32_t row, count, below = 0
    cdef Py_ssize_t i
    memset(end, 0, width * sizeof(uint32_t))
    if rows.job.step.reduction == ASSIGN:
        for i in range(rows.n):
            row = <uint32_t>rows.row[i] - low
            if row < width:
                end[row] = <uint32_t>i + 1
        return
    for i in range(rows.n):
        row = <uint32_t>rows.row[i]
        below += row < low
        if row - low < width:
            end[row - low] += 1
    for i in range(width):
        count = end[i]
        end[i] = below + count if rows.by_update else below  # or where it begins, from where it moves on
        below += count
    if rows.by_update:
        return
    for i in range(rows.n):
        row = <uint32_t>rows.row[i] - low
        if row < width:
            rows.order[end[row]] = <uint32_t>i
            end[row] += 1


cdef inline void put_rows(const Rows* rows, char* out, const char* source, const int64_t* offsets, Py_ssize_t n,
                          Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t i
    if rows.streams:
        stream_rows(out, size, source, offsets, n, size)
    else:
        for i in range(n):
            memcpy(out + i * size, source + offsets[i], size)


cdef inline void write_last(const Rows* rows, Py_ssize_t row, Py_ssize_t stop) noexcept nogil:
    """Rows from data, or from the last update of each."""
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
    while row < stop:
        n = min(<Py_ssize_t>BLOCK, stop - row)
        for i in range(n):
            offsets[i] = (row + i) * job.row_bytes
            if rows.end[row + i]:
                offsets[i] = shift + <int64_t>(rows.end[row + i] - 1) * rows.update_step
        put_rows(rows, job.out + row * job.row_bytes, job.data, offsets, n, job.row_bytes)
        row += n


cdef inline Py_ssize_t rows_ahead(Py_ssize_t row_bytes) noexcept nogil:
    return max(<Py_ssize_t>AHEAD_BYTES // row_bytes, <Py_ssize_t>1)


cdef inline void ask_for_row(const char* row, Py_ssize_t row_bytes) noexcept nogil:
    cdef Py_ssize_t line
    for line in range(row_bytes // LINE):
        prefetch_near(row + line * LINE)


cdef inline cloned_void combine_ordered(const Rows* rows, char* target, const char* updates, Py_ssize_t first,
                                        Py_ssize_t stop) noexcept nogil:
    """Combine target, a row, with its updates in order."""
    cdef const Step* step = &rows.job.step
    cdef Py_ssize_t i, ahead = rows_ahead(rows.job.row_bytes)
    for i in range(first, stop):
        if i + ahead < rows.n:
            ask_for_row(updates + rows.order[i + ahead] * rows.update_step, rows.job.row_bytes)
        combine_any_run(step.number, step.reduction, target, step.row.item_bytes,
                        updates + rows.order[i] * rows.update_step, step.row.item_bytes, step.row.n_inner)


cdef inline void write_combined(const Rows* rows, Py_ssize_t row, Py_ssize_t stop) noexcept nogil:
    """Rows from data, combined with the updates of each."""
    cdef const Job* job = rows.job
    cdef char room[PIECE + LINE]
    cdef char* near = <char*>((<size_t>room + LINE - 1) & ~<size_t>(LINE - 1))
    cdef const char* updates = job.updates + rows.start * rows.update_step
    cdef char* out
    cdef Py_ssize_t first = rows.end[row - 1] if row else 0
    cdef Py_ssize_t last, untouched = row
    cdef int64_t zero = 0
    while row < stop:
        last = rows.end[row]
        if first < last:
            out = job.out + row * job.row_bytes
            if rows.fresh and untouched < row:
                put_rows(rows, job.out + untouched * job.row_bytes, job.data + untouched * job.row_bytes, &zero, 1,
                         (row - untouched) * job.row_bytes)
            untouched = row + 1
            if rows.fresh and rows.streams:
                memcpy(near, job.data + row * job.row_bytes, job.row_bytes)
                combine_ordered(rows, near, updates, first, last)
                stream_rows(out, 0, near, &zero, 1, job.row_bytes)
            else:
                if rows.fresh:
                    memcpy(out, job.data + row * job.row_bytes, job.row_bytes)
                combine_ordered(rows, out, updates, first, last)
        first = last
        row += 1
    if rows.fresh and untouched < stop:
        put_rows(rows, job.out + untouched * job.row_bytes, job.data + untouched * job.row_bytes, &zero, 1,
                 (stop - untouched) * job.row_bytes)


cdef inline Py_ssize_t first_row_of(const Rows* rows, Py_ssize_t task) noexcept nogil:
    """Where a task's rows begin: all have as much to do, where updates crowd together too."""
    cdef Py_ssize_t low = 0, high = rows.n_rows, row, work
    if rows.job.step.reduction == ASSIGN:
        return share(rows.n_rows, rows.n_tasks, task)
    work = share(2 * rows.n_rows + rows.end[rows.n_rows - 1], rows.n_tasks, task)
    while low < high:  # the first row with at least so much in front of it: a row costs as much as two updates
        row = (low + high) // 2
        if 2 * row + (<Py_ssize_t>rows.end[row - 1] if row else 0) < work:
            low = row + 1
        else:
            high = row
    return low


cdef inline void run_write(const Rows* rows, Py_ssize_t task) noexcept nogil:
    cdef Py_ssize_t row = first_row_of(rows, task)
    cdef Py_ssize_t stop = first_row_of(rows, task + 1) if task + 1 < rows.n_tasks else rows.n_rows
    if rows.job.step.reduction == ASSIGN:
        write_last(rows, row, stop)
    else:
        write_combined(rows, row, stop)
    if rows.streams:
        streamed()


cdef inline cloned_void combine_owned(const Rows* rows, Py_ssize_t low, Py_ssize_t width) noexcept nogil:
    """Combine the rows from low on with the updates of the round, in their order."""
    cdef const Job* job = rows.job
    cdef const Step* step = &job.step
    cdef const char* updates = job.updates + rows.start * rows.update_step
    cdef uint32_t owned[OWNED]
    cdef Py_ssize_t block, i, j, n, ahead = rows_ahead(job.row_bytes)
    for block in range((rows.n + OWNED - 1) // OWNED):
        n = 0
        for i in range(block * OWNED, min((block + 1) * OWNED, rows.n)):
            owned[n] = <uint32_t>i
            n += <uint32_t>rows.row[i] - <uint32_t>low < <uint32_t>width
        for j in range(n):
            if j + ahead < n:
                i = owned[j + ahead]
                ask_for_row(job.out + rows.row[i] * job.row_bytes, job.row_bytes)
                ask_for_row(updates + i * rows.update_step, job.row_bytes)
            i = owned[j]
            combine_any_run(step.number, step.reduction, job.out + rows.row[i] * job.row_bytes, step.row.item_bytes,
                            updates + i * rows.update_step, step.row.item_bytes, step.row.n_inner)


cdef inline void run_own(const Rows* rows, Py_ssize_t owner) noexcept nogil:
    """All updates of one owner's rows, as the updates lie: where they are more than the result, that is what counts."""
    cdef const Job* job = rows.job
    cdef Py_ssize_t low = first_row_of(rows, owner)
    cdef Py_ssize_t stop = first_row_of(rows, owner + 1) if owner + 1 < rows.n_tasks else rows.n_rows
    if rows.fresh:
        memcpy(job.out + low * job.row_bytes, job.data + low * job.row_bytes, (stop - low) * job.row_bytes)
    combine_owned(rows, low, stop - low)


cdef inline bint run_rows(Rows* rows, int n_threads, Py_ssize_t* bad) noexcept:
    """False: there is no memory for the lists, and nothing was done."""
    cdef Py_ssize_t status[MAX_TASKS]
    cdef Py_ssize_t n_tuples = rows.walk.n
    cdef Py_ssize_t tuple_bytes = sizeof(int32_t) + (sizeof(uint32_t) if rows.job.step.reduction != ASSIGN else 0)
    cdef Py_ssize_t per_round = min(n_tuples, <Py_ssize_t>RECORD_BYTES // tuple_bytes)
    cdef Py_ssize_t chunk, task
    rows.end = <uint32_t*>malloc(rows.n_rows * sizeof(uint32_t))
    rows.row = <int32_t*>malloc(per_round * tuple_bytes)
    if rows.end == NULL or rows.row == NULL:
        free(rows.end)
        free(rows.row)
        return False
    rows.order = <uint32_t*>(rows.row + per_round)
    rows.n_chunks = n_threads
    rows.by_update = rows.job.step.reduction != ASSIGN and n_tuples * rows.job.row_bytes > rows.job.out_bytes
    rows.n_tasks = min(rows.n_rows, <Py_ssize_t>min(n_threads if rows.by_update else 16 * n_threads, <int>MAX_TASKS))
    rows.fresh = True
    rows.start = 0
    bad[0] = OK
    while rows.start < n_tuples:
        rows.n = min(per_round, n_tuples - rows.start)
        for chunk in prange(rows.n_chunks, num_threads=n_threads, schedule="static", nogil=True):
            run_number(rows, chunk, &status[chunk])
        bad[0] = first_bad_of(status, rows.n_chunks)
        if bad[0] != OK:
            break
        for chunk in prange(rows.n_chunks, num_threads=n_threads, schedule="static", nogil=True):
            run_order(rows, chunk)
        if rows.by_update:
            for task in prange(rows.n_tasks, num_threads=n_threads, schedule="static", nogil=True):
                run_own(rows, task)
        else:
            for task in prange(rows.n_tasks, num_threads=n_threads, schedule="dynamic", chunksize=1, nogil=True):
                run_write(rows, task)
        rows.fresh = False
        rows.streams = False
        rows.start += rows.n
    free(rows.end)
    free(rows.row)
    return True
