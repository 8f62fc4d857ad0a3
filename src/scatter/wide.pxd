# Run the windows of a scatter with accumulate_dtype (windows.pxd).
from cpython.mem cimport PyMem_RawFree as free, PyMem_RawMalloc as malloc  # so that tracemalloc sees it
from cython.parallel cimport prange, threadid
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset
cimport numpy as cnp

from common.codes cimport INTERRUPTED, NO_MEMORY, OK, SKIP
from common.interrupts cimport is_interrupted
from common.items cimport (
    CACHE_LINE, MAX_WORD_BYTES, at_line, prefetch_l1, prefetch_row, prefetch_stream, prefetch_write, whole_lines,
)
from common.resolve cimport BLOCK, SKIPPED, resolve_block
from common.scratch cimport MIN_SCRATCH, allocate_scratch
from common.stream cimport stream_fence
from common.threads cimport MAX_TASKS
from common.walk cimport DATA, OTHER, Cursor, advance, seek
from scatter.accumulate cimport elements_of_data
from scatter.apply cimport apply_elements, apply_rows
from scatter.bounds cimport skip_outside
from scatter.conversions cimport narrow_items, widen_data, widen_items
from scatter.job cimport Job, begin_writing, copy_data
from scatter.loops.table cimport loops
from scatter.marks cimport SINK_BYTES, Marks, first_slot, mark_block, send_to_sinks, slot_of, start_sinks
from scatter.means cimport divide_rows
from scatter.reductions cimport Step
from scatter.widen cimport (
    BUFFER_BYTES, add_floats, apply_wide_rows, narrow_row, pick_floats, pick_rows, store_items, widen_row,
)
from scatter.windows cimport SLOT_BYTES, Wide, adds_in_windows

cdef enum:
    LOAD_ITEMS = 1 << 16        # that are converted between two questions for signals
    MISSED = -65                # a status: updates were not applied, as blocks were guessed
    PICKED = 4 * BLOCK          # rows of updates

cdef struct Window:
    const Wide* wide
    Py_ssize_t first_row
    Py_ssize_t n_rows           # in the table
    Py_ssize_t first_item       # of the piece of each row
    Py_ssize_t n_items
    Step step
    Marks marks
    char* table
    Py_ssize_t n_applied        # updates, in add_window
    bint signals                # data may have a signalling NaN
    int64_t* row_ids            # SERIAL: of the table's rows
    Marks slots                 # SERIAL: a hash table of the numbers of the table's rows, counted from 1


# Move

cdef inline void convert_window(Window* window, bint stores) noexcept nogil:
    """Load a window of rows of data into the table, or store it in the result. A signal may stop it."""
    cdef const Wide* wide = window.wide
    cdef const Job* job = wide.job
    cdef const char* data = elements_of_data(job)
    cdef Py_ssize_t width = job.conversion.narrow_bytes
    cdef Py_ssize_t start = window.first_row * wide.n_items
    cdef Py_ssize_t n = window.n_rows * wide.n_items if wide.is_flat else window.n_rows
    cdef Py_ssize_t i = 0, m
    cdef Cursor cursor
    seek(&wide.leading, window.first_row, &cursor)
    while i < n:
        m = min(n - i, <Py_ssize_t>LOAD_ITEMS) if wide.is_flat else 1
        if is_interrupted(job.interrupts, m if wide.is_flat else window.n_items):
            return
        if wide.is_flat and stores:
            store_items(job, window.table + i * job.conversion.wide_bytes, m, window.signals,
                        job.out + (start + i) * width)
        elif wide.is_flat:
            widen_data(&job.conversion, data + (start + i) * width, m, window.table + i * job.conversion.wide_bytes,
                       &window.signals)
        else:
            if stores:
                narrow_row(job, window.table + i * wide.pitch, window.first_item, window.n_items, True,
                           job.out + cursor.offset[DATA])
            else:
                widen_row(job, DATA, data + cursor.offset[DATA], window.first_item, window.n_items, True,
                          window.table + i * wide.pitch)
            advance(&wide.leading, 1, &cursor)
        i += m
    stream_fence()


cdef inline void load_found(const Window* window, Py_ssize_t first) noexcept nogil:
    """Load the rows from number `first` on of a table that has only those with updates."""
    cdef const Wide* wide = window.wide
    cdef const Job* job = wide.job
    cdef const char* data = elements_of_data(job)
    cdef char items[BLOCK * MAX_WORD_BYTES]
    cdef Py_ssize_t i, width = job.conversion.narrow_bytes
    cdef Cursor cursor
    if wide.is_flat and wide.n_items == 1:
        for i in range(first, window.n_rows):
            memcpy(items + (i - first) * width, data + window.row_ids[i] * width, width)
        widen_items(&job.conversion, items, width, window.n_rows - first, True, window.table + first * wide.pitch)
        return
    for i in range(first, window.n_rows):
        seek(&wide.leading, window.row_ids[i], &cursor)
        widen_row(job, DATA, data + cursor.offset[DATA], window.first_item, window.n_items, True,
                  window.table + i * wide.pitch)


cdef inline void store_elements(const Window* window) noexcept nogil:
    """store_found for elements of a contiguous result."""
    cdef const Job* job = window.wide.job
    cdef char items[BLOCK * MAX_WORD_BYTES]
    cdef Py_ssize_t i = 0, j, m, width = job.conversion.narrow_bytes
    while i < window.n_rows:
        m = min(<Py_ssize_t>BLOCK, window.n_rows - i)
        if is_interrupted(job.interrupts, m):
            return
        for j in range(i, i + m):
            prefetch_write(job.out + window.row_ids[j] * width)
        narrow_items(&job.conversion, window.table + i * window.wide.pitch, m, True, items, width)
        for j in range(m):
            memcpy(job.out + window.row_ids[i + j] * width, items + j * width, width)
        i += m


cdef inline void store_found(const Window* window) noexcept nogil:
    """Store the rows of a table that has only those with updates."""
    cdef const Wide* wide = window.wide
    cdef const Job* job = wide.job
    cdef Py_ssize_t i
    cdef Cursor cursor
    if wide.is_flat and wide.n_items == 1:
        store_elements(window)
        return
    for i in range(window.n_rows):
        if is_interrupted(job.interrupts, window.n_items):
            return
        seek(&wide.leading, window.row_ids[i], &cursor)
        narrow_row(job, window.table + i * wide.pitch, window.first_item, window.n_items, True,
                   job.out + cursor.offset[DATA])


# Apply

cdef inline void find_rows(Window* window, int64_t* offsets, Py_ssize_t n) noexcept nogil:
    """Replace offsets in the result by those in the table. A row that is new there is loaded."""
    cdef const Wide* wide = window.wide
    cdef const Job* job = wide.job
    cdef const char* data = elements_of_data(job)
    cdef uint32_t* numbers = <uint32_t*>window.slots.table
    cdef Py_ssize_t i, slot, first = window.n_rows
    for i in range(n):
        if offsets[i] != SKIPPED:
            prefetch_l1(window.slots.keys + first_slot(&window.slots, offsets[i]))
            prefetch_l1(data + offsets[i] // wide.pitch * job.row_bytes)  # a hint: right if the result is contiguous
    for i in range(n):
        if offsets[i] == SKIPPED:
            continue
        slot = slot_of(&window.slots, offsets[i])
        if numbers[slot] == 0:
            window.row_ids[window.n_rows] = offsets[i] // wide.pitch
            window.n_rows += 1
            numbers[slot] = <uint32_t>window.n_rows
        offsets[i] = (<int64_t>numbers[slot] - 1) * wide.pitch
    load_found(window, first)


cdef inline void apply_widened(const Window* window, bint skips, char* to, int64_t* offsets, const char* updates,
                               Py_ssize_t update_step, Py_ssize_t n, char* buffer, char* sinks) noexcept nogil:
    """Widen the updates of a block, elements or short rows, and apply them at to + offsets."""
    cdef const Wide* wide = window.wide
    cdef const Job* job = wide.job
    cdef Py_ssize_t i
    if wide.n_items > 1:
        for i in range(n):
            if offsets[i] != SKIPPED:
                prefetch_l1(to + offsets[i])
    if wide.n_items == 1:
        widen_items(&job.conversion, updates, update_step, n, False, buffer)
    else:
        widen_items(&job.conversion, updates, job.conversion.narrow_bytes, n * wide.n_items, False, buffer)
    if window.marks.width:
        mark_block(&window.marks, &window.step, skips, to, offsets, buffer, NULL, wide.pitch, n, sinks)
    if not window.step.by_value:
        apply_rows(&window.step, to, offsets, buffer, NULL, wide.pitch, n)
        return
    if skips:
        send_to_sinks(offsets, n, to, sinks)
    apply_elements(&window.step, to, offsets, buffer, wide.pitch, n)


cdef inline void apply_window(Window* window, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t* status) noexcept nogil:
    """Resolve tuples start to stop, and apply the updates of the window's rows in order."""
    cdef const Wide* wide = window.wide
    cdef const Job* job = wide.job
    cdef int64_t offsets[BLOCK]
    cdef char memory[BUFFER_BYTES + CACHE_LINE]
    cdef char* buffer = at_line(memory)
    cdef char sinks[SINK_BYTES]
    cdef Cursor cursor
    cdef Py_ssize_t update_step = wide.walk.stride[wide.walk.n_dims - 1][OTHER]
    cdef bint finds = wide.n_slots > 0
    cdef bint selects = not finds and wide.window_tuples == 0 and wide.n_windows > 1
    cdef bint skips = selects or wide.tuples.mode == SKIP
    cdef bint prefetches = wide.tuples.prefetches and 0 < update_step <= CACHE_LINE
    cdef uint64_t low = <uint64_t>(window.first_row * wide.pitch)
    cdef uint64_t size = <uint64_t>(window.n_rows * wide.pitch)
    # Offsets are relative to the first row of the result, so pass the address where it would be.
    cdef char* to = <char*>(<size_t>window.table - <size_t>(window.first_row * wide.pitch))
    cdef const char* updates
    # Rows are picked from several blocks, so that the prefetch rarely starts anew.
    cdef bint picks = not window.step.by_value and not wide.rows_are_adjacent
    cdef int64_t picked[PICKED]
    cdef int64_t update_offsets[PICKED]
    cdef Py_ssize_t n, i, n_picked = 0
    start_sinks(sinks, BLOCK)
    status[0] = OK
    seek(&wide.walk, start, &cursor)
    while start < stop:
        updates = job.updates + cursor.offset[OTHER]
        resolve_block(&wide.tuples, &wide.walk, &cursor, min(job.block, stop - start), not wide.updates_are_linear,
                      offsets, &n)
        if n < 0:
            status[0] = start * wide.tuples.k - 1 - n
            return
        if is_interrupted(job.interrupts, n * job.tuple_work):
            status[0] = INTERRUPTED
            return
        if prefetches:
            prefetch_stream(updates, n * update_step)
        if finds:
            find_rows(window, offsets, n)
        elif selects:
            skip_outside(offsets, n, low, size)
        start += n
        if not picks:
            apply_widened(window, skips, to, offsets, updates, update_step, n, buffer, sinks)
            continue
        for i in range(n):
            picked[n_picked] = offsets[i]
            update_offsets[n_picked] = updates - job.updates + i * update_step
            n_picked += offsets[i] != SKIPPED  # without a branch, which would be mispredicted
        if n_picked > PICKED - BLOCK or start >= stop:
            apply_wide_rows(job, &window.step, &window.marks, to, picked, window.first_item, job.updates,
                            update_offsets, n_picked, buffer, sinks)
            n_picked = 0


cdef inline void add_window(Window* window, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t* status) noexcept nogil:
    """apply_window for sums of float32 in float64 (adds_floats)."""
    cdef const Wide* wide = window.wide
    cdef const Job* job = wide.job
    cdef int64_t buffers[2][BLOCK]
    cdef int64_t update_offsets[2][BLOCK]  # of rows
    cdef char picked[2][BLOCK * 4]  # elements
    cdef int64_t* offsets = NULL
    cdef int64_t* next_offsets
    cdef const char* updates = NULL
    cdef const char* next_updates
    cdef Cursor cursor
    cdef Py_ssize_t update_step = wide.walk.stride[wide.walk.n_dims - 1][OTHER]
    cdef bint selects = (wide.window_tuples == 0 and wide.n_windows > 1) or wide.tuples.mode == SKIP
    cdef bint prefetches = wide.tuples.prefetches and 0 < update_step <= CACHE_LINE
    cdef uint64_t low = <uint64_t>(window.first_row * wide.pitch)
    cdef uint64_t size = <uint64_t>(window.n_rows * wide.pitch)
    cdef char* to = <char*>(<size_t>window.table - <size_t>(window.first_row * wide.pitch))
    cdef Py_ssize_t n = 0, n_next, n_resolved = 0, i
    cdef Py_ssize_t[2] steps
    cdef int turn = 0
    steps[0] = steps[1] = update_step
    status[0] = OK
    seek(&wide.walk, start, &cursor)
    # Software pipeline: a block is resolved before the previous one is applied.
    while True:
        n_next = 0
        next_offsets = buffers[turn]
        next_updates = job.updates + cursor.offset[OTHER]
        if start < stop:
            resolve_block(&wide.tuples, &wide.walk, &cursor, min(job.block, stop - start), not wide.updates_are_linear,
                          next_offsets, &n_resolved)
            if n_resolved < 0:
                status[0] = start * wide.tuples.k - 1 - n_resolved
                return
            if is_interrupted(job.interrupts, n_resolved * job.tuple_work):
                status[0] = INTERRUPTED
                return
            start += n_resolved
            n_next = n_resolved
            if prefetches:
                prefetch_stream(next_updates, n_resolved * update_step)
            if window.n_items > 1:
                for i in range(n_resolved):
                    update_offsets[turn][i] = i * update_step
                if selects:
                    pick_rows(low, size, next_offsets, update_offsets[turn], n_resolved, &n_next)
                for i in range(n_next):
                    prefetch_row(to + next_offsets[i], wide.pitch)
            elif selects:
                pick_floats(low, size, next_offsets, next_updates, update_step, n_resolved, picked[turn], &n_next)
                if n_next < n_resolved:
                    next_updates = picked[turn]
                steps[turn] = sizeof(float) if n_next < n_resolved else update_step
            window.n_applied += n_next
            if window.marks.width:
                mark_block(&window.marks, &window.step, False, to, next_offsets, NULL, NULL, 0, n_next, NULL)
        elif updates == NULL:
            return
        if updates != NULL and window.n_items > 1:
            loops.add_rows(to, offsets, updates, update_offsets[1 - turn], n, window.n_items)
        elif updates != NULL:
            add_floats(to, offsets, updates, steps[1 - turn], n)
        updates = next_updates if n_resolved else NULL
        n_resolved = 0
        offsets = next_offsets
        n = n_next
        turn = 1 - turn


cdef inline void start_window(const Wide* wide, Py_ssize_t task, int thread, Window* window) noexcept nogil:
    """Describe a task's window and its table, in the memory of a thread."""
    cdef char* memory = wide.memory + thread * wide.memory_bytes
    window.wide = wide
    window.first_row = task // wide.n_pieces * wide.window_rows
    window.n_rows = min(wide.window_rows, wide.n_rows - window.first_row)
    window.first_item = task % wide.n_pieces * wide.piece_items
    window.n_items = min(wide.piece_items, wide.n_items - window.first_item)
    window.step = wide.step
    window.step.row.n_inner = window.n_items
    window.table = memory
    window.n_applied = 0
    window.signals = False
    memory += whole_lines(wide.table_rows * wide.pitch)
    window.marks = wide.marks
    window.marks.origin = window.first_row * wide.pitch
    window.marks.table = memory
    memset(memory, 0, wide.table_rows * wide.marks.width)
    memory += whole_lines(wide.table_rows * wide.marks.width)
    if wide.n_slots:
        window.first_row = 0
        window.n_rows = 0
        window.row_ids = <int64_t*>memory
        memory += whole_lines(wide.table_rows * sizeof(int64_t))
        window.slots = wide.marks
        window.slots.n_slots = wide.n_slots
        window.slots.hash_shift = 64
        while <Py_ssize_t>1 << (64 - window.slots.hash_shift) < wide.n_slots:
            window.slots.hash_shift -= 1
        window.slots.keys = <uint64_t*>memory
        window.slots.table = memory + wide.n_slots * sizeof(uint64_t)
        memset(memory, 0, wide.n_slots * SLOT_BYTES)


cdef inline void apply_any(Window* window, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t* status) noexcept nogil:
    cdef const Wide* wide = window.wide
    if adds_in_windows(wide):
        add_window(window, start, stop, status)
    else:
        apply_window(window, start, stop, status)


cdef inline void apply_blocks(Window* window, Py_ssize_t task, Py_ssize_t* status) noexcept nogil:
    """Apply the listed blocks of tuples, adjacent ones together."""
    cdef const Wide* wide = window.wide
    cdef Py_ssize_t i = wide.last_block[task - 1] if task else 0
    cdef Py_ssize_t first, end
    while i < wide.last_block[task] and status[0] == OK:
        first = wide.blocks[i]
        end = first
        while i < wide.last_block[task] and wide.blocks[i] == end:
            end += 1
            i += 1
        apply_any(window, first * wide.block_tuples, min(end * wide.block_tuples, wide.walk.n), status)


cdef inline void run_window(const Wide* wide, Py_ssize_t task, int thread, Py_ssize_t* status) noexcept nogil:
    cdef const Job* job = wide.job
    cdef Window window
    cdef Py_ssize_t start = 0, stop = wide.walk.n
    status[0] = OK
    if job.interrupts.stopped:
        return
    start_window(wide, task, thread, &window)
    if wide.window_tuples:
        start = task * wide.window_tuples
        stop = min(start + wide.window_tuples, wide.walk.n)
    if not wide.n_slots:
        convert_window(&window, False)
    if wide.blocks != NULL:
        apply_blocks(&window, task, status)
    else:
        apply_any(&window, start, stop, status)
    wide.n_applied[thread] += window.n_applied
    if status[0] != OK:
        return
    if job.divides:
        divide_rows(&window.step, &window.marks, job.include_self, window.table, wide.pitch, window.n_rows)
    if wide.n_slots:
        store_found(&window)
    else:
        convert_window(&window, True)


cdef inline void run_task(const Wide* wide, Py_ssize_t task, int thread, Py_ssize_t* status) noexcept nogil:
    """status: of the thread's tasks. The bad index that comes first in the indices is kept."""
    cdef Py_ssize_t found
    run_window(wide, task, thread, &found)
    if found != OK and (status[0] == OK or found < status[0]):
        status[0] = found


cdef inline Py_ssize_t run_tasks(const Wide* wide, Py_ssize_t n_tasks, int n_threads) noexcept:
    cdef Py_ssize_t status[MAX_TASKS]
    cdef Py_ssize_t task, bad = OK, n_applied = 0
    cdef int thread
    for thread in range(n_threads):
        status[thread] = OK
        wide.n_applied[thread] = 0
    if n_threads == 1:
        with nogil:
            for task in range(n_tasks):
                run_task(wide, task, 0, &status[0])
    else:
        for task in prange(n_tasks, num_threads=n_threads, schedule="dynamic", chunksize=1, nogil=True):
            run_task(wide, task, threadid(), &status[threadid()])
    for thread in range(n_threads):
        if status[thread] != OK and (bad == OK or status[thread] < bad):
            bad = status[thread]
        n_applied += wide.n_applied[thread]
    return MISSED if bad == OK and wide.is_guess and n_applied != wide.walk.n else bad


cdef inline Py_ssize_t run_windows(Wide* wide, Job* job) noexcept:
    """Run all tasks. Returns OK, NO_MEMORY, MISSED or the position of the first bad index."""
    cdef Py_ssize_t n_applied[MAX_TASKS]
    cdef Py_ssize_t n_tasks = wide.n_windows * wide.n_pieces
    cdef Py_ssize_t result
    cdef cnp.ndarray scratch
    cdef char* memory = NULL
    cdef int n_threads = <int>max(<Py_ssize_t>1, min(<Py_ssize_t>wide.n_threads, n_tasks))
    wide.memory_bytes = whole_lines(wide.table_rows * wide.pitch) + whole_lines(wide.table_rows * wide.marks.width)
    if wide.n_slots:
        wide.memory_bytes += whole_lines(wide.table_rows * sizeof(int64_t)) + whole_lines(wide.n_slots * SLOT_BYTES)
    wide.n_applied = n_applied
    if n_threads * wide.memory_bytes < MIN_SCRATCH:
        memory = <char*>malloc(n_threads * wide.memory_bytes + CACHE_LINE)
        wide.memory = memory
    else:
        scratch = allocate_scratch(n_threads * wide.memory_bytes + CACHE_LINE)
        wide.memory = NULL if scratch is None else cnp.PyArray_BYTES(scratch)
    if wide.memory == NULL:
        return NO_MEMORY
    wide.memory = at_line(wide.memory)
    result = begin_writing(job, (job.checks_first or n_tasks == 0) and wide.blocks == NULL)
    if result == OK and wide.n_slots:
        copy_data(job)
    if result == OK:
        result = run_tasks(wide, n_tasks, n_threads)
    free(memory)
    return result
