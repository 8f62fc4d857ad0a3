# cython: cdivision=True
# Route "direct": one thread applies all updates, or all those of a unit, in their order. It needs no second reading of
# the updates, and it can run every job.
#
#     whole     the result is opened and closed by all threads, and one applies the updates
#     units     the leading axes of the result are those of the tuples (batches, *_elements along a later axis): threads
#               take units
#     slots     few updates: accumulators of the rows that they name, found by a hash table
#     pieces    long rows: every thread resolves all tuples, and applies a piece of each row
#
# Accumulators in scratch memory are those of a window of rows at a time; for each window all tuples are resolved.
from cython.parallel cimport prange, threadid
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset
cimport numpy as cnp

from common.codes cimport ADD, COMPLEX128, FLOAT16, INTERRUPTED, MAX, MIN, OK
from common.copies cimport fill_elements
from common.interrupts cimport WORK_STEP, is_interrupted
from common.items cimport CACHE_LINE, at_line, whole_lines
from common.machine cimport shared
from common.resolve cimport BLOCK, resolve_block
from common.rows cimport cut_length, cut_row
from common.scratch cimport STACK_BYTES, WINDOW_BYTES, allocate_scratch
from common.stream cimport stream_fence
from common.threads cimport MAX_TASKS, chunk_start, first_error, n_tasks_for
from common.walk cimport OTHER, Cursor, add_axis, finish_walk, seek, start_walk
from scatter.finish cimport divide
from scatter.job cimport Job, begin_writing, is_brief, must_write_data, open_all_rows, update_step, write_data
from scatter.kernels cimport Rows, moves_bytes
from scatter.tile cimport Tile, close_tile, load_rows, open_tile, store_rows
from scatter.updates cimport apply_block, apply_tuples, keep_window, read_update_rows

cdef enum:
    LONG_ROW = 1 << 12          # bytes: see cuts_rows

cdef inline bint cuts_rows(const Job* job) noexcept nogil:
    """Whether rows are so long that it takes less time to resolve all tuples on every thread than to apply them."""
    return job.row_bytes >= LONG_ROW and not job.by_last


cdef struct Direct:
    const Job* job
    Py_ssize_t tile_rows        # of a unit or window
    Py_ssize_t units_per_task
    Py_ssize_t tile_bytes       # of its accumulators in scratch memory; 0: they are in the result
    Py_ssize_t marks_bytes
    char* memory                # for each thread: accumulators, then marks


cdef inline Tile tile_of(const Direct* direct, Py_ssize_t first, Py_ssize_t n, int thread) noexcept nogil:
    cdef Tile tile
    cdef char* memory = direct.memory + thread * (direct.tile_bytes + direct.marks_bytes)
    tile.first = first
    tile.n = n
    tile.accumulators = memory if direct.tile_bytes else direct.job.out + first * direct.job.row_bytes
    tile.marks = memory + direct.tile_bytes if direct.marks_bytes else NULL
    return tile


cdef inline void run_tuples(const Job* job, const Tile* tile, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t low,
                            Py_ssize_t size, Py_ssize_t* status) noexcept nogil:
    cdef char* marks = NULL
    if tile.marks != NULL:
        marks = <char*>(<size_t>tile.marks - <size_t>(tile.first * job.kernel.mark_bytes))
    apply_tuples(job, <char*>(<size_t>tile.accumulators - <size_t>(tile.first * job.kernel.row_bytes)), marks, start,
                 stop, low, size, status)


cdef inline Py_ssize_t run_units(const Direct* direct, Py_ssize_t task, int thread) noexcept nogil:
    """Returns OK, or the status of the first unit with another."""
    cdef const Job* job = direct.job
    cdef Py_ssize_t unit = task * direct.units_per_task, status = OK
    cdef Py_ssize_t stop = min(unit + direct.units_per_task, job.n_units)
    cdef Tile tile
    while unit < stop and status == OK:
        if is_interrupted(job.interrupts, job.unit_rows * job.row_bytes >> 2):
            return INTERRUPTED
        tile = tile_of(direct, unit * job.unit_rows, job.unit_rows, thread)
        open_tile(job, &tile)
        run_tuples(job, &tile, unit * job.unit_tuples, (unit + 1) * job.unit_tuples, 0, job.n_rows, &status)
        if status == OK:
            close_tile(job, &tile)
        unit += 1
    if job.streams:
        stream_fence()
    return status


cdef inline Py_ssize_t run_windows(const Direct* direct, int thread) noexcept nogil:
    """All rows, on this thread alone."""
    cdef const Job* job = direct.job
    cdef Py_ssize_t first = 0, status = OK
    cdef Tile tile
    while first < job.n_rows and status == OK:
        tile = tile_of(direct, first, min(direct.tile_rows, job.n_rows - first), thread)
        open_tile(job, &tile)
        run_tuples(job, &tile, 0, job.walk.n, first, tile.n, &status)
        if status == OK:
            close_tile(job, &tile)
        first += tile.n
    return status


cdef inline void write_part(const Job* job, Py_ssize_t part, Py_ssize_t n_parts) noexcept nogil:
    cdef Py_ssize_t first = chunk_start(job.n_rows, n_parts, part)
    write_data(job, first, chunk_start(job.n_rows, n_parts, part + 1) - first)


cdef struct Slots:
    # Few updates: accumulators of the rows that they name, in the order in which they come first.
    Py_ssize_t n
    int64_t* rows               # of each slot
    char* accumulators
    char* marks
    # A hash table with linear probing: of the slots' numbers, counted from 1; 0: free
    uint32_t* table
    Py_ssize_t mask


cdef inline Py_ssize_t slots_bytes(const Job* job) noexcept nogil:
    """Bytes of memory for slots of all updates."""
    return job.walk.n * (8 + 2 * 2 * sizeof(uint32_t) + job.kernel.row_bytes + job.kernel.mark_bytes) + 4 * CACHE_LINE


cdef inline void start_slots(Slots* slots, const Job* job, char* memory) noexcept nogil:
    slots.n = 0
    slots.mask = 1
    while slots.mask < 2 * job.walk.n:
        slots.mask *= 2
    slots.table = <uint32_t*>memory
    memset(slots.table, 0, slots.mask * sizeof(uint32_t))
    slots.rows = <int64_t*>at_line(memory + slots.mask * sizeof(uint32_t))
    slots.accumulators = <char*>(slots.rows + job.walk.n)
    slots.marks = at_line(slots.accumulators + job.walk.n * job.kernel.row_bytes)
    memset(slots.marks, 0, job.walk.n * job.kernel.mark_bytes)
    slots.mask -= 1


cdef inline int64_t slot_of(Slots* slots, const Job* job, int64_t row) noexcept nogil:
    """The slot of a row; a new one is opened."""
    cdef Py_ssize_t place = <Py_ssize_t>((<uint64_t>row * <uint64_t>0x9e3779b97f4a7c15) >> 32) & slots.mask
    cdef char* accumulator
    while slots.table[place]:
        if slots.rows[slots.table[place] - 1] == row:
            return slots.table[place] - 1
        place = (place + 1) & slots.mask
    slots.rows[slots.n] = row
    accumulator = slots.accumulators + slots.n * job.kernel.row_bytes
    if job.identity != NULL:
        fill_elements(job.conversion.wide_bytes, job.identity, accumulator, job.row_items)
    else:
        load_rows(job, row, 1, accumulator)
    slots.n += 1
    slots.table[place] = <uint32_t>slots.n
    return slots.n - 1


cdef inline Py_ssize_t apply_to_slots(const Job* job, Slots* slots) noexcept nogil:
    cdef int64_t ids[BLOCK]
    cdef int64_t offsets[BLOCK]
    cdef Cursor cursor
    cdef Rows rows
    cdef Py_ssize_t start = 0, step = update_step(job), first, i, n
    rows.rows = ids
    rows.offsets = offsets
    rows.prefetches = False
    seek(&job.walk, 0, &cursor)
    while start < job.walk.n:
        first = cursor.offset[OTHER]
        resolve_block(&job.tuples, &job.walk, &cursor, min(job.block, job.walk.n - start), not job.updates_are_linear,
                      ids, &n)
        if n < 0:
            return start * job.tuples.k - 1 - n
        if is_interrupted(job.interrupts, n * job.tuple_work):
            return INTERRUPTED
        rows.updates = job.updates + first
        for i in range(n):
            offsets[i] = i * step
        if job.update_rows != NULL:
            rows.updates = job.updates
            read_update_rows(job, start, n, offsets)
        start += n
        n = keep_window(ids, offsets, n, 0, job.n_rows)
        for i in range(n):
            ids[i] = slot_of(slots, job, ids[i])
        apply_block(job, &rows, slots.accumulators, slots.marks, n)
    return OK


cdef inline void close_slots(const Job* job, Slots* slots) noexcept nogil:
    cdef Py_ssize_t i
    if job.divides:
        divide(&job.kernel, job.include_self, slots.accumulators, slots.marks, slots.n)
    for i in range(slots.n):
        store_rows(job, slots.accumulators + i * job.kernel.row_bytes, slots.rows[i], 1, False)
    if job.streams:
        stream_fence()


cdef inline bint run_slots(Job* job, Py_ssize_t* bad) noexcept:
    """Few updates. The result is not written before all of them are applied. False: there is no memory."""
    cdef Slots slots
    cdef Py_ssize_t part
    cdef int n_threads = job.n_threads
    cdef char small[STACK_BYTES]
    cdef cnp.ndarray memory = None
    cdef char* at = at_line(small)
    if slots_bytes(job) > STACK_BYTES - CACHE_LINE:
        memory = allocate_scratch(slots_bytes(job) + CACHE_LINE)
        if memory is None:
            return False
        at = at_line(cnp.PyArray_BYTES(memory))
    with nogil:
        start_slots(&slots, job, at)
        bad[0] = apply_to_slots(job, &slots)
    if bad[0] == OK:
        bad[0] = begin_writing(job, False)
    if bad[0] != OK or job.interrupts.stopped:
        return True
    if must_write_data(job) and n_threads == 1:
        with nogil:
            write_data(job, 0, job.n_rows)
    elif must_write_data(job):
        for part in prange(n_threads, num_threads=n_threads, schedule="static", nogil=True):
            write_part(job, part, n_threads)
    with nogil:
        close_slots(job, &slots)
    return True


cdef inline bint can_use_slots(const Job* job) noexcept nogil:
    return job.by_updates and slots_bytes(job) <= WINDOW_BYTES and job.strided == NULL


cdef inline Py_ssize_t run_whole(const Job* job, const Tile* tile) noexcept nogil:
    """The rows of the result itself, on this thread alone."""
    cdef Py_ssize_t status
    open_tile(job, tile)
    run_tuples(job, tile, 0, job.walk.n, 0, job.n_rows, &status)
    if status == OK:
        close_tile(job, tile)
    return status


cdef inline Tile part_of(const Job* job, const Tile* tile, Py_ssize_t part, Py_ssize_t n_parts) noexcept nogil:
    cdef Tile some
    some.first = chunk_start(job.n_rows, n_parts, part)
    some.n = chunk_start(job.n_rows, n_parts, part + 1) - some.first
    some.accumulators = tile.accumulators + some.first * job.kernel.row_bytes
    some.marks = tile.marks + some.first * job.kernel.mark_bytes if tile.marks != NULL else NULL
    return some


cdef inline void open_part(const Job* job, const Tile* tile, Py_ssize_t part, Py_ssize_t n_parts) noexcept nogil:
    cdef Tile some = part_of(job, tile, part, n_parts)
    open_tile(job, &some)


cdef inline void close_part(const Job* job, const Tile* tile, Py_ssize_t part, Py_ssize_t n_parts) noexcept nogil:
    cdef Tile some = part_of(job, tile, part, n_parts)
    close_tile(job, &some)


cdef inline Py_ssize_t run_whole_by_team(const Job* job, const Tile* tile) noexcept:
    """run_whole; the result is opened and closed by all threads."""
    cdef Py_ssize_t status = OK, part
    cdef int n_threads = job.n_threads
    for part in prange(n_threads, num_threads=n_threads, schedule="static", nogil=True):
        open_part(job, tile, part, n_threads)
    with nogil:
        run_tuples(job, tile, 0, job.walk.n, 0, job.n_rows, &status)
    if status == OK and job.kernel.mark_bytes:
        for part in prange(n_threads, num_threads=n_threads, schedule="static", nogil=True):
            close_part(job, tile, part, n_threads)
    return status


cdef inline Py_ssize_t run_piece(const Job* whole, const Direct* direct, Py_ssize_t piece, Py_ssize_t n_pieces,
                                 int thread) noexcept nogil:
    """A piece of each row. Data are in the result already."""
    cdef Job job = whole[0]
    cdef Direct one = direct[0]
    cdef Py_ssize_t length = cut_length(&whole.row), start = chunk_start(length, n_pieces, piece)
    cdef Py_ssize_t stop = chunk_start(length, n_pieces, piece + 1), shift = 0, other_shift = 0
    cut_row(&whole.row, start, stop, &job.row, &shift, &other_shift)
    job.row_items = job.row.outer.n * job.row.n_inner
    job.kernel.n_items = job.row_items * (job.row.item_bytes if moves_bytes(&job.kernel) else 1)
    job.updates += other_shift
    if not job.in_result:
        cut_row(&whole.out_row, start, stop, &job.out_row, &shift, &other_shift)
        job.conversion.narrow_bytes = job.row.item_bytes
        if job.conversion.narrow == job.conversion.wide:
            job.conversion.wide_bytes = job.row.item_bytes
        job.kernel.row_bytes = job.row_items * job.conversion.wide_bytes
        job.is_dense = False
    job.out += shift
    one.job = &job
    return run_windows(&one, thread)


cdef inline Py_ssize_t piece_count(const Job* job) noexcept nogil:
    """Into how many pieces rows are cut; 1: they are not."""
    cdef Py_ssize_t n = 1
    if job.by_last or not (job.is_dense or (
            job.row.outer.n == job.out_row.outer.n and cut_length(&job.row) == cut_length(&job.out_row))):
        return 1  # or rows of updates and of the result would be cut at different places
    if not job.in_result:  # a row of accumulators has to fit in scratch memory
        n = job.kernel.row_bytes * job.n_threads // (WINDOW_BYTES // 2) + 1
    if job.n_threads > 1 and cuts_rows(job):
        n = max(n, <Py_ssize_t>job.n_threads)
    return min(n, cut_length(&job.row))


cdef inline void start_strided(Job* job) noexcept nogil:
    """Describe a contiguous result as one that is not, for pieces of its rows."""
    if job.is_dense:
        start_walk(&job.out_walk)
        add_axis(&job.out_walk, job.n_rows, 0, job.row_bytes, 0)
        finish_walk(&job.out_walk)
        job.out_row = job.row


cdef inline Py_ssize_t run_pieces(Job* job, const Direct* direct, Py_ssize_t n_pieces) noexcept:
    cdef Py_ssize_t status[MAX_TASKS]
    cdef Py_ssize_t part, piece
    cdef int n_threads = job.n_threads
    if n_threads == 1:
        with nogil:
            if must_write_data(job):
                write_data(job, 0, job.n_rows)
            job.data = job.data_element = NULL
            for piece in range(n_pieces):
                status[0] = run_piece(job, direct, piece, n_pieces, 0)
                if status[0] != OK:
                    return status[0]
        return OK
    if must_write_data(job):
        for part in prange(n_threads, num_threads=n_threads, schedule="static", nogil=True):
            write_part(job, part, n_threads)
    job.data = job.data_element = NULL
    n_pieces = min(n_pieces, <Py_ssize_t>MAX_TASKS)
    for piece in prange(n_pieces, num_threads=n_threads, schedule="dynamic", chunksize=1, nogil=True):
        status[piece] = run_piece(job, direct, piece, n_pieces, threadid())
    return first_error(status, n_pieces)


cdef inline Py_ssize_t run_all_units(Job* job, Direct* direct) noexcept:
    cdef Py_ssize_t status[MAX_TASKS]
    cdef Py_ssize_t task, n_tasks = n_tasks_for(job.n_threads)
    cdef int n_threads
    direct.units_per_task = (job.n_units + n_tasks - 1) // n_tasks
    n_tasks = (job.n_units + direct.units_per_task - 1) // direct.units_per_task
    n_threads = <int>min(<Py_ssize_t>job.n_threads, n_tasks)
    if n_threads == 1:
        with nogil:
            direct.units_per_task = job.n_units
            status[0] = run_units(direct, 0, 0)
        return status[0]
    for task in prange(n_tasks, num_threads=n_threads, schedule="dynamic", chunksize=1, nogil=True):
        status[task] = run_units(direct, task, threadid())
    return first_error(status, n_tasks)


cdef inline bint by_units(const Job* job) noexcept nogil:
    """Whether a thread opens and closes one unit at a time: it stays in the cache, or each thread has some."""
    return job.n_units > 1 and job.unit_rows > 0 and (
        job.n_threads > 1 or (must_write_data(job) and job.out_bytes > shared.machine.l2_bytes
                              and job.unit_rows * job.row_bytes >= LONG_ROW)
        or not job.in_result or job.kernel.mark_bytes) and not job.by_last


ctypedef fused bits_t:
    uint16_t
    uint32_t
    uint64_t


cdef inline bint has_equal(bits_t* type, const char* items, const char* item, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef bits_t a, b
    cdef uint64_t any = 0
    memcpy(&b, item, sizeof(bits_t))
    for i in range(n):
        memcpy(&a, items + i * <Py_ssize_t>sizeof(bits_t), sizeof(bits_t))
        any |= a == b
    return any != 0


cdef inline void find_element(Py_ssize_t width, const char* elements, const char* element, Py_ssize_t n,
                              bint* found) noexcept nogil:
    """Whether one of the elements has the bits of this one. Of other widths: it may be."""
    if width == 4:
        found[0] = has_equal(<uint32_t*>NULL, elements, element, n)
    elif width == 8:
        found[0] = has_equal(<uint64_t*>NULL, elements, element, n)
    elif width == 2:
        found[0] = has_equal(<uint16_t*>NULL, elements, element, n)
    else:
        found[0] = True


cdef inline bint can_go_without_marks(const Job* job) noexcept nogil:
    """Whether an accumulator of one element is the identity only if it has no updates.

    True of maxima, minima and floating sums, whose identity is -0.0, if no update equals the identity.
    """
    cdef bint found = True
    cdef Py_ssize_t at = 0, n = job.walk.n, width = job.conversion.wide_bytes, step = update_step(job)
    if step == 0:
        n = step = 1
    elif step != width:
        return False
    if (job.identity != NULL and job.rows_are_elements and not job.copies_updates and not job.by_updates
            and job.updates_are_linear and (job.kernel.step == MAX or job.kernel.step == MIN
                 or (job.kernel.step == ADD and FLOAT16 <= job.kernel.type_code <= COMPLEX128))
            and job.update_rows == NULL):
        found = False
        while at < n and not found and not is_interrupted(job.interrupts, WORK_STEP >> 3):
            find_element(width, job.updates + at * step, job.identity, min(<Py_ssize_t>WORK_STEP, n - at), &found)
            at += WORK_STEP
    return not found


cdef inline bint is_one_block(const Job* job) noexcept nogil:
    """Whether apply_tuples resolves all tuples before it writes, in place."""
    return (job.walk.n <= job.block and job.updates_are_linear and not must_write_data(job) and job.strided == NULL
            and job.kernel.mark_bytes == 0 and job.in_result)


cdef inline bint run_direct(Job* job, Py_ssize_t* bad) noexcept:
    """False: there is no memory, and nothing was written."""
    cdef Direct direct
    cdef Tile tile
    cdef cnp.ndarray memory
    cdef char small[STACK_BYTES]
    cdef Py_ssize_t per_row, n_pieces = 1, n_tiles = job.n_threads
    cdef bint units, streams, brief = is_brief(job)
    if can_use_slots(job):
        return run_slots(job, bad)
    if job.by_updates:
        open_all_rows(job)
    units = by_units(job)
    streams = (units and job.streams and must_write_data(job)
               and job.unit_rows * job.row_bytes <= shared.machine.l2_bytes // 2)
    if job.kernel.mark_bytes == 1 and job.n_threads == 1 and not brief:
        with nogil:
            if can_go_without_marks(job):
                job.kernel.mark_bytes = 0
    direct.job = job
    direct.memory = NULL
    if not units:
        n_pieces = piece_count(job)
        if n_pieces > 1:
            start_strided(job)
            if job.identity != NULL:  # data are in the result already, and needed until the end
                job.in_result = False
        elif job.in_result:
            n_tiles = 1
    direct.tile_rows = job.unit_rows if units else job.n_rows
    per_row = job.kernel.mark_bytes
    if not job.in_result or streams:
        per_row += job.kernel.row_bytes // n_pieces + job.conversion.wide_bytes * (n_pieces > 1)
    if not units and (not job.in_result or n_pieces > 1) and per_row:
        direct.tile_rows = max(<Py_ssize_t>1, min(direct.tile_rows, WINDOW_BYTES // n_tiles // per_row))
    direct.tile_bytes = whole_lines(direct.tile_rows * (per_row - job.kernel.mark_bytes))
    direct.marks_bytes = whole_lines(direct.tile_rows * job.kernel.mark_bytes)
    if direct.tile_bytes + direct.marks_bytes > STACK_BYTES - CACHE_LINE or n_tiles > 1:
        if direct.tile_bytes + direct.marks_bytes:
            memory = allocate_scratch(n_tiles * (direct.tile_bytes + direct.marks_bytes) + CACHE_LINE)
            if memory is None:
                return False
            direct.memory = at_line(cnp.PyArray_BYTES(memory))
    else:
        direct.memory = at_line(small)
    bad[0] = begin_writing(job, job.checks_first and (units or n_pieces > 1 or not is_one_block(job)))
    if bad[0] != OK:
        return True
    if units:
        bad[0] = run_all_units(job, &direct)
    elif n_pieces > 1:
        bad[0] = run_pieces(job, &direct, n_pieces)
    elif not job.in_result:
        with nogil:
            bad[0] = run_windows(&direct, 0)
    else:
        tile = tile_of(&direct, 0, job.n_rows, 0)
        if job.n_threads > 1:
            bad[0] = run_whole_by_team(job, &tile)
        elif brief:
            bad[0] = run_whole(job, &tile)
        else:
            with nogil:
                bad[0] = run_whole(job, &tile)
    return True
