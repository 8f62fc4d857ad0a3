# The description of one scatter, for all strategies, and the passes that they share: copy data, check all tuples, apply
# a range of the updates.
#
# A strategy allocates its memory and checks the indices, then calls begin_writing. So a scatter into the caller's array
# changes nothing if it fails.
from cpython.object cimport PyObject
from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy
cimport numpy as cnp

from common.codes cimport (
    ADD, ASSIGN, INCONSISTENT, INTERRUPTED, NO_MEMORY, OK, SKIP, TAKE, UINT32, UINT64, ReductionCode,
)
from common.interrupts cimport STEP_BYTES, Interrupts, disarm, is_interrupted
from common.items cimport CACHE_LINE, MAX_WORD_BYTES, prefetch_row, prefetch_stream
from common.resolve cimport BLOCK, MIN_STREAM, SKIPPED, Tuples, are_native, can_fail, resolve_block
from common.rows cimport Row
from common.threads cimport BRIEF_NS, BRIEF_TUPLES, MAX_TASKS, chunk_start, first_error, team_size
from common.walk cimport DATA, INDICES, OTHER, Cursor, Walk, advance, seek
from prepared.order cimport Order
from prepared.tile_order cimport TileOrder
from scatter.apply cimport apply_elements, apply_rows
from scatter.conversions cimport Conversion
from scatter.direct cimport (
    DIRECT_RUN, FAR_BYTES, LoopInOrder, Pairs, assignment_in_order, direct_loop, pairs_of, point_to, reduction_in_order,
)
from scatter.fill cimport fill_elements, repeats_element
from scatter.loops.table cimport Ahead, loops
from scatter.marks cimport SINK_BYTES, Marks, fits_sink, mark_block, send_to_sinks, start_sinks
from scatter.reductions cimport Step

cdef enum:
    N_TYPES = 32  # bits of a mask of type codes
    # Scratch memory of a strategy. glibc maps and unmaps allocations of 32 MiB or more in every call, and their page
    # faults take as long as the scatter.
    SCRATCH_BYTES = 31 << 20
    COUNTED_RUN = 1 << 14   # tuples that are counted after they were applied: their indices are still in L2
    # Prefetches of rows of the result.
    PREFETCHED_BYTES = 1 << 19      # of a result: less fits L2
    LONGEST_PREFETCHED = 1 << 10    # bytes of a row
    PREFETCH_DISTANCE = 1 << 11     # bytes ahead
    ROWS_AT_A_TIME = 4              # between two bursts of prefetches
    SHORT_ROW = 32              # bytes: a vector
    # For reduce_each.
    MOST_AHEAD = 32             # rows
    UPDATES_AHEAD = 1 << 13     # bytes
    MOST_UPDATES_AHEAD = 128

cdef struct Reduction:
    # The arguments of register(). In masks bit t stands for TypeCode t.
    ReductionCode step
    uint32_t types              # mask: supported; 0: any dtype
    uint32_t associative        # mask: grouping the updates, in order, cannot change a bit of the result
    uint32_t has_identity
    bint idempotent
    bint divides                # a mean
    char identity[N_TYPES][MAX_WORD_BYTES]

cdef struct Job:
    Tuples tuples
    Walk walk
    Step step
    Marks marks                 # described, but not allocated; width 0: needed by neither of the next two
    bint include_self           # destinations start from their elements of data, not from their first updates
    bint divides                # a mean: destinations are divided by the number of their terms
    bint accumulates            # the result may be accumulated as in accumulate.pxd
    Conversion conversion       # to accumulators of a wider dtype; of no pair: not asked for
    Step wide_step              # on such accumulators, and updates that were widened
    const Reduction* reduction
    const char* data            # to be copied into out first; NULL if out holds it already, or begin_writing copies it
    Py_ssize_t data_step        # bytes from a row of it to the next; 0: one row stands for all (only with update_rows)
    PyObject* strided           # data to be copied by begin_writing: it, or out, is not contiguous; NULL: none
    PyObject* out_array
    char* out
    const char* updates
    Py_ssize_t updates_bytes    # of the array that they are in
    const int32_t* update_rows  # update t is this row of `updates`; NULL: `updates` has one row for each tuple
    bint is_contiguous          # the result; always if data is not NULL
    Py_ssize_t out_bytes        # of a contiguous result
    Py_ssize_t row_bytes        # of a row of a contiguous result; 0 if rows are empty
    Py_ssize_t n_rows           # of the result
    const Order* order          # of prepared indices; NULL: none
    const TileOrder* tile_order  # of prepared indices; NULL: none
    bint checks_first           # the caller's array must stay as it is if the call fails
    Interrupts* interrupts
    Py_ssize_t block            # tuples of a block
    Py_ssize_t tuple_work       # to apply one, in units of about a nanosecond
    bint updates_are_linear     # the offset in updates advances by one stride over the walk
    Py_ssize_t repeats          # so many successive tuples share an update: see direct.pxd
    bint streams                # the result is larger than the caches: non-temporal stores
    int max_threads             # 0: OpenMP's choice
    bint shares                 # the call shares the CPUs with others: see begin_call
    int forced_threads          # 0: not forced
    int n_threads               # the team size for this job


cdef inline Py_ssize_t row_items(const Job* job) noexcept nogil:
    return job.step.row.outer.n * job.step.row.n_inner


cdef inline bint prefetches_rows(const Job* job, const Step* step) noexcept nogil:
    """Whether a row of the result is prefetched before it is read."""
    cdef const Row* row = &step.row
    return (step.reduction != ASSIGN and not step.by_value and not step.swapped and row.outer.n == 1
            and (row.inner_data == row.item_bytes or step.reduction == TAKE) and job.out_bytes >= PREFETCHED_BYTES
            and CACHE_LINE <= row.n_inner * row.item_bytes <= LONGEST_PREFETCHED)


cdef inline void combine_prefetched(const Step* step, char* out, const int64_t* offsets, const char* updates,
                                    Py_ssize_t update_step, Py_ssize_t n) noexcept nogil:
    """apply_rows, some rows at a time, between which those of the result are prefetched that come later."""
    cdef Py_ssize_t row_bytes = step.row.n_inner * step.row.item_bytes
    cdef Py_ssize_t ahead = max(<Py_ssize_t>ROWS_AT_A_TIME, PREFETCH_DISTANCE // row_bytes)
    cdef Py_ssize_t i, first = 0, m
    while first < n:
        m = min(<Py_ssize_t>ROWS_AT_A_TIME, n - first)
        for i in range(first + ahead if first else first, min(first + ahead + m, n)):
            if offsets[i] != SKIPPED:
                prefetch_row(out + offsets[i], row_bytes)
        apply_rows(step, out, offsets + first, updates + first * update_step, NULL, update_step, m)
        first += m


cdef inline bint reduces_adjacent(const Job* job, const Step* step, Py_ssize_t update_step) noexcept nogil:
    """Whether rows are reduced by reduce_each, with adjacent updates."""
    return (job.walk.n > MIN_STREAM and step.row_loop and step.row.outer.n == 1 and not step.swapped
            and not step.by_value and update_step == step.row.n_inner * step.row.item_bytes)


cdef inline bint prefetches_ahead(const Job* job, const Step* step, Py_ssize_t update_step) noexcept nogil:
    """Whether that is faster with prefetches for each row. Those of short rows take as long as the rows in L2."""
    return reduces_adjacent(job, step, update_step) and (update_step >= SHORT_ROW or job.out_bytes >= FAR_BYTES)


cdef inline Py_ssize_t updates_ahead(Py_ssize_t row_bytes) noexcept nogil:
    """How many updates at update_offsets reduce_ahead prefetches."""
    return min(max(UPDATES_AHEAD // row_bytes, <Py_ssize_t>ROWS_AT_A_TIME), <Py_ssize_t>MOST_UPDATES_AHEAD)


cdef inline bint counts_meanwhile(const Job* job, const Marks* marks) noexcept nogil:
    """Whether reduce_ahead sets these marks. For shorter rows, it is faster to count a block of updates at a time."""
    return (marks != NULL and marks.width == 4 and not marks.assigns and marks.keys == NULL and marks.shift >= 0
            and (job.row_bytes > CACHE_LINE or (job.row_bytes == CACHE_LINE and job.out_bytes >= FAR_BYTES)))


cdef inline void reduce_ahead(const Job* job, const Step* step, char* out, const int64_t* offsets, const char* updates,
                              const int64_t* update_offsets, Py_ssize_t row_bytes, Py_ssize_t n,
                              const int64_t* next_offsets, Py_ssize_t n_next, const Marks* marks) noexcept nogil:
    """Reduce n rows. Prefetch later updates meanwhile, and later rows if the result is large.

    update_offsets: NULL if updates are adjacent; otherwise there are n_next more of them. next_offsets: of the n_next
    rows that come after the n. marks: those that counts_meanwhile, or NULL.
    """
    cdef Ahead ahead
    ahead.updates = UPDATES_AHEAD if update_offsets == NULL else updates_ahead(row_bytes)
    ahead.rows = 0
    if job.out_bytes >= PREFETCHED_BYTES and row_bytes <= LONGEST_PREFETCHED:
        ahead.rows = min(max(<Py_ssize_t>ROWS_AT_A_TIME, PREFETCH_DISTANCE // row_bytes), <Py_ssize_t>MOST_AHEAD)
    ahead.next = next_offsets
    ahead.n_next = n_next
    ahead.counts = NULL
    if marks != NULL:
        ahead.counts = <uint32_t*>marks.table
        ahead.origin = marks.origin
        ahead.shift = marks.shift
    loops.reduce_each(step.row_loop, out, offsets, updates, update_offsets, row_bytes, n, row_bytes, &ahead)


cdef inline Py_ssize_t apply_repeated(const Job* job, LoopInOrder loop, char* out, const char* updates,
                                      Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    """apply_directly for updates that successive tuples share."""
    cdef Pairs pairs = pairs_of(&job.tuples, &job.walk)
    cdef Py_ssize_t run = max(<Py_ssize_t>1, DIRECT_RUN // job.repeats) * job.repeats, n, done
    cdef const char* p
    pairs.repeats = job.repeats
    while start % job.repeats == 0 and start + job.repeats <= stop:
        n = min(run, (stop - start) // job.repeats * job.repeats)
        p = job.tuples.base + start * pairs.step
        if not are_native(&job.tuples, p, pairs.step) or is_interrupted(job.interrupts, n):
            break
        point_to(&pairs, &job.tuples, p)
        done = loop(&pairs, out, updates + start // job.repeats * job.walk.stride[0][OTHER], job.walk.stride[0][OTHER],
                    n)
        start += done
        if done < n:
            break
    return start


cdef inline Py_ssize_t run_in_order(const Job* job, LoopInOrder loop, char* out, int64_t origin, Py_ssize_t row_bytes,
                                    Py_ssize_t pitch, const char* updates, bint one_update, Py_ssize_t start,
                                    Py_ssize_t stop) noexcept nogil:
    """Apply tuples start to stop by a loop of direct.pxd. Returns where it stopped: there the caller has to go on.

    out: of the row at offset origin of the result. Rows that are row_bytes apart there are pitch apart in out.
    one_update: it is for all tuples.
    """
    cdef Cursor cursor
    cdef Pairs pairs = pairs_of(&job.tuples, &job.walk)
    cdef int inner = job.walk.n_dims - 1
    cdef Py_ssize_t step = 0 if one_update else job.walk.stride[inner][OTHER]
    cdef Py_ssize_t n, done
    cdef const char* p
    pairs.is_far = job.out_bytes // row_bytes * pitch >= FAR_BYTES
    seek(&job.walk, start, &cursor)
    while start < stop:
        n = min(job.walk.shape[inner] - cursor.coordinate[inner], min(stop - start, <Py_ssize_t>DIRECT_RUN))
        p = job.tuples.base + cursor.offset[INDICES]
        if not are_native(&job.tuples, p, pairs.step) or is_interrupted(job.interrupts, n):
            break
        point_to(&pairs, &job.tuples, p)
        done = loop(&pairs, out + (cursor.offset[DATA] - origin) // row_bytes * pitch,
                    updates if one_update else updates + cursor.offset[OTHER], step, n)
        start += done
        if done < n:
            break
        advance(&job.walk, n, &cursor)
    return start


cdef inline Py_ssize_t apply_directly(const Job* job, LoopInOrder loop, char* out, const char* updates,
                                      Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    """As apply_tuples, by a loop of direct.pxd. Returns where it stopped: there apply_tuples has to go on."""
    if job.repeats > 1:
        return apply_repeated(job, loop, out, updates, start, stop)
    return run_in_order(job, loop, out, 0, 1, 1, updates, False, start, stop)


cdef inline void apply_tuples(const Job* job, const Step* step, const Marks* marks, char* out, const char* updates,
                              Py_ssize_t start, Py_ssize_t stop, Py_ssize_t* status) noexcept nogil:
    """Resolve tuples start to stop and apply their updates, in order, a block at a time.

    marks: allocated; of width 0, or NULL, if the scatter needs none.
    """
    cdef int64_t buffers[2][BLOCK]
    cdef int64_t* offsets = buffers[0]
    cdef int64_t* next_offsets = buffers[1]
    cdef int64_t* swap
    cdef Cursor cursor
    cdef int inner = job.walk.n_dims - 1
    cdef Py_ssize_t update_step = job.walk.stride[inner][OTHER]
    cdef Py_ssize_t n = 0, n_next, first = 0, next_first
    cdef bint skips = job.tuples.mode == SKIP
    cdef bint is_ahead = prefetches_ahead(job, step, update_step)
    cdef bint prefetches = job.tuples.prefetches and 0 < update_step <= CACHE_LINE and not is_ahead
    cdef bint is_counted = is_ahead and counts_meanwhile(job, marks)
    cdef bint is_marked = marks != NULL and marks.width and not is_counted
    cdef char sinks[SINK_BYTES]
    cdef LoopInOrder loop = NULL
    status[0] = OK
    if not (is_marked or is_counted):
        loop = direct_loop(&job.tuples, &job.walk, step)
    if loop != NULL:
        start = apply_directly(job, loop, out, updates, start, stop)
        if start == stop:
            return
    if is_marked or skips:
        start_sinks(sinks, stop - start)
    seek(&job.walk, start, &cursor)
    # Software pipeline: a block is resolved before the previous one is applied.
    while True:
        next_first = cursor.offset[OTHER]
        n_next = 0
        if start < stop:
            resolve_block(&job.tuples, &job.walk, &cursor, min(job.block, stop - start), not job.updates_are_linear,
                          next_offsets, &n_next)
            if n_next < 0:
                status[0] = start * job.tuples.k - 1 - n_next
                return
            if is_interrupted(job.interrupts, n_next * job.tuple_work):
                status[0] = INTERRUPTED
                return
            start += n_next
            if prefetches:
                prefetch_stream(updates + next_first, n_next * update_step)
            if is_marked:
                mark_block(marks, step, skips, out, next_offsets, updates + next_first, NULL, update_step, n_next,
                           sinks)
            if skips and fits_sink(step):
                send_to_sinks(next_offsets, n_next, out, sinks)
        if n and step.by_value:
            apply_elements(step, out, offsets, updates + first, update_step, n)
        elif n and is_ahead:
            reduce_ahead(job, step, out, offsets, updates + first, NULL, update_step, n, next_offsets, n_next,
                         marks if is_counted else NULL)
        elif n and prefetches_rows(job, step):
            combine_prefetched(step, out, offsets, updates + first, update_step, n)
        elif n:
            apply_rows(step, out, offsets, updates + first, NULL, update_step, n)
        elif n_next == 0:
            return
        swap = offsets
        offsets = next_offsets
        next_offsets = swap
        n = n_next
        first = next_first


cdef inline LoopInOrder counting_loop(const Job* job, const Marks* marks) noexcept nogil:
    """The loop of direct.pxd that marks the destinations; NULL: there is none."""
    cdef const Tuples* tuples = &job.tuples
    cdef int d
    if (not tuples.plain or tuples.arrays != NULL or marks.keys != NULL or job.row_bytes == 0
            or tuples.stride[tuples.k - 1] != job.row_bytes or tuples.stride[0] % job.row_bytes
            or job.walk.stride[job.walk.n_dims - 1][DATA] != 0):
        return NULL
    for d in range(job.walk.n_dims):
        if job.walk.stride[d][DATA] % job.row_bytes:
            return NULL
    if marks.width == 1:
        return assignment_in_order(1, job.step.is_near)
    return reduction_in_order(ADD, UINT32 if marks.width == 4 else UINT64, 1, False)


cdef inline Py_ssize_t count_directly(const Job* job, const Marks* marks, LoopInOrder loop, Py_ssize_t start,
                                      Py_ssize_t stop) noexcept nogil:
    """count_tuples by such a loop. Returns where it stopped, as apply_directly."""
    cdef uint8_t one = 1
    cdef uint32_t one_of_4 = 1
    cdef uint64_t one_of_8 = 1
    cdef const char* update = <const char*>&one
    if marks.width == 4:
        update = <const char*>&one_of_4
    elif marks.width == 8:
        update = <const char*>&one_of_8
    return run_in_order(job, loop, marks.table, marks.origin, job.row_bytes, marks.width, update, True, start, stop)


cdef inline void count_tuples(const Job* job, const Marks* marks, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    """Mark the destinations of tuples start to stop, which are checked elsewhere. Not with marks.assigns."""
    cdef int64_t offsets[BLOCK]
    cdef Cursor cursor
    cdef Py_ssize_t n
    cdef LoopInOrder loop = counting_loop(job, marks)
    if loop != NULL:
        start = count_directly(job, marks, loop, start, stop)
    seek(&job.walk, start, &cursor)
    while start < stop:
        resolve_block(&job.tuples, &job.walk, &cursor, min(<Py_ssize_t>BLOCK, stop - start), False, offsets, &n)
        if n < 0 or is_interrupted(job.interrupts, n):
            return
        mark_block(marks, &job.step, job.tuples.mode == SKIP, NULL, offsets, NULL, NULL, 0, n, NULL)
        start += n


cdef inline void apply_and_count(const Job* job, const Marks* marks, char* out, Py_ssize_t start, Py_ssize_t stop,
                                 Py_ssize_t* status) noexcept nogil:
    """apply_tuples with marks that only count. If each has a fast loop, they take turns, and indices come from L2."""
    cdef Py_ssize_t n
    if marks.width == 0 or marks.assigns or counting_loop(job, marks) == NULL or direct_loop(
            &job.tuples, &job.walk, &job.step) == NULL:
        apply_tuples(job, &job.step, marks, out, job.updates, start, stop, status)
        return
    status[0] = OK
    while start < stop and status[0] == OK:
        n = min(stop - start, <Py_ssize_t>COUNTED_RUN)
        apply_tuples(job, &job.step, NULL, out, job.updates, start, start + n, status)
        if status[0] == OK:
            count_tuples(job, marks, start, start + n)
        start += n


cdef inline void copy_bytes(const Job* job, char* out, const char* data, Py_ssize_t n_bytes) noexcept nogil:
    """A copy that a signal may stop."""
    cdef Py_ssize_t start = 0, n
    while start < n_bytes:
        n = min(<Py_ssize_t>STEP_BYTES, n_bytes - start)
        if is_interrupted(job.interrupts, n >> 3):
            return
        memcpy(out + start, data + start, n)
        start += n


cdef inline void fill_bytes(const Job* job, Py_ssize_t width, const char* element, char* out,
                            Py_ssize_t n_bytes) noexcept nogil:
    """Fill with an element of this width. A signal may stop it."""
    cdef Py_ssize_t start = 0, n
    while start < n_bytes:
        n = min(<Py_ssize_t>STEP_BYTES, n_bytes - start)
        if is_interrupted(job.interrupts, n >> 3):
            return
        fill_elements(width, element, out + start, n // width)
        start += n


cdef inline bint is_brief(const Job* job) noexcept nogil:
    """Whether the work is done before another thread could use the GIL."""
    cdef double work_ns = <double>job.walk.n * job.tuple_work
    if job.data != NULL:
        work_ns += <double>job.out_bytes / 8
    return work_ns < BRIEF_NS and job.walk.n <= BRIEF_TUPLES and job.n_threads == 1


cdef inline const char* repeated_element(const Job* job) noexcept:
    """The element that stands for all of data, such as np.broadcast_to(0.0, shape), if the result is contiguous."""
    if job.strided == NULL or not job.is_contiguous or not repeats_element(
            <cnp.ndarray>job.strided, <cnp.ndarray>job.out_array):
        return NULL
    return cnp.PyArray_BYTES(<cnp.ndarray>job.strided)


cdef inline Py_ssize_t take_element(Job* job) noexcept:
    """The bytes of the repeated element. The strategy fills the result with it, and begin_writing does not."""
    cdef Py_ssize_t width = cnp.PyArray_ITEMSIZE(<cnp.ndarray>job.strided)
    job.strided = NULL
    return width


cdef inline void write_chunk(const Job* job, const char* element, Py_ssize_t width, Py_ssize_t chunk,
                             Py_ssize_t n_chunks) noexcept nogil:
    """Write a chunk of the result, of elements of this width: all are `element` or, if that is NULL, those of data."""
    cdef Py_ssize_t start = chunk_start(job.out_bytes // width, n_chunks, chunk) * width
    cdef Py_ssize_t stop = chunk_start(job.out_bytes // width, n_chunks, chunk + 1) * width
    if element == NULL:
        copy_bytes(job, job.out + start, job.data + start, stop - start)
    else:
        fill_bytes(job, width, element, job.out + start, stop - start)


cdef inline void write_at_once(const Job* job, const char* element, Py_ssize_t width) noexcept:
    """write_chunk for the whole result."""
    cdef Py_ssize_t chunk
    cdef int n_threads = team_size(job.max_threads, job.forced_threads, <double>job.out_bytes / 32)  # within caches
    if n_threads == 1 and job.out_bytes < 8 * BRIEF_NS:
        write_chunk(job, element, width, 0, 1)
    elif n_threads == 1:
        with nogil:
            write_chunk(job, element, width, 0, 1)
    else:
        for chunk in prange(n_threads, num_threads=n_threads, schedule="static", nogil=True):
            write_chunk(job, element, width, chunk, n_threads)


cdef inline void copy_data(Job* job) noexcept:
    """Copy data into out at once, for a strategy that does not copy piece by piece."""
    if job.data != NULL:
        write_at_once(job, NULL, 1)
        job.data = NULL


cdef inline void check_chunk(const Job* job, Py_ssize_t chunk, Py_ssize_t n_chunks, Py_ssize_t* status) noexcept nogil:
    cdef int64_t offsets[BLOCK]
    cdef Cursor cursor
    cdef Py_ssize_t start = chunk_start(job.walk.n, n_chunks, chunk)
    cdef Py_ssize_t stop = chunk_start(job.walk.n, n_chunks, chunk + 1)
    cdef Py_ssize_t n
    status[0] = OK
    seek(&job.walk, start, &cursor)
    while start < stop:
        resolve_block(&job.tuples, &job.walk, &cursor, min(<Py_ssize_t>BLOCK, stop - start), False, offsets, &n)
        if n < 0:
            status[0] = start * job.tuples.k - 1 - n
            return
        if is_interrupted(job.interrupts, n * job.tuples.k):
            status[0] = INTERRUPTED
            return
        start += n


cdef inline Py_ssize_t check_tuples(const Job* job) noexcept:
    """Resolve all tuples, for a strategy that writes before it has. Returns OK or the position of the first bad one."""
    cdef Py_ssize_t status[MAX_TASKS]
    cdef int n_threads
    cdef Py_ssize_t chunk
    if not can_fail(&job.tuples):
        return OK
    n_threads = team_size(job.max_threads, job.forced_threads, <double>job.walk.n * job.tuples.k)
    if n_threads == 1 and is_brief(job):
        check_chunk(job, 0, 1, &status[0])
        return status[0]
    if n_threads == 1:
        with nogil:
            check_chunk(job, 0, 1, &status[0])
        return status[0]
    for chunk in prange(n_threads, num_threads=n_threads, schedule="static", nogil=True):
        check_chunk(job, chunk, n_threads, &status[chunk])
    return first_error(status, n_threads)


cdef inline bint is_one_block(const Job* job) noexcept nogil:
    """Whether apply_tuples resolves all tuples before it writes, in place."""
    return (job.walk.n <= job.block and job.updates_are_linear and job.data == NULL and job.strided == NULL
            and not job.marks.width and direct_loop(&job.tuples, &job.walk, &job.step) == NULL)


cdef inline Py_ssize_t begin_writing(const Job* job, bint check_now) noexcept:
    """Call this once, when all memory is allocated and before the result is written to. Returns a Status or a position.

    check_now: check all tuples first. Then data that is not contiguous is copied. From here on a scatter into the
    caller's array goes on to its end.
    """
    cdef Py_ssize_t status = OK
    if check_now:
        status = check_tuples(job)
    if status != OK:
        return status
    if job.checks_first:
        disarm(job.interrupts)
    if repeated_element(job) != NULL:
        write_at_once(job, repeated_element(job), cnp.PyArray_ITEMSIZE(<cnp.ndarray>job.strided))
    elif job.strided != NULL:
        try:
            cnp.PyArray_CopyInto(<cnp.ndarray>job.out_array, <cnp.ndarray>job.strided)
        except MemoryError:
            return NO_MEMORY
        except Exception:  # a signal's handler changed an array
            return INCONSISTENT
    return OK
