# cython: cdivision=True
# Updates are read, converted if need be, and applied to accumulators, in order.
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from common.codes cimport ADD, INTERRUPTED, OK, RAISE, SKIP
from common.interrupts cimport WORK_STEP, is_interrupted
from common.items cimport (
    AHEAD, CACHE_LINE, L1_BYTES, PREFETCHED, at_line, bytes16, element_t, inline_void, prefetch_row, prefetch_row_l2,
    prefetch_stream, prefetch_write,
)
from common.resolve cimport BLOCK, are_simple, resolve_block
from common.rows cimport Row
from common.walk cimport DATA, INDICES, OTHER, Cursor, advance, seek
from scatter.convert cimport load_items
from scatter.job cimport Job, update_step
from scatter.kernels cimport (
    PAIRS, SINGLE, Elements, Kernel, Rows, add_to_mark, apply_elements, apply_rows, are_points,
    count_rows, mark_of, rows_ahead,
)
from scatter.spread cimport SHORT_RUN
from scatter.weights cimport multiply_rows

cdef enum:
    BATCH_BYTES = L1_BYTES >> 2  # of converted updates, or of products: L1 holds them and their accumulators


cdef inline void load_row(const Job* job, const char* update, Py_ssize_t first, Py_ssize_t n, char* to) noexcept nogil:
    """Convert n items, from number `first` on, of an update."""
    cdef const Row* row = &job.row
    cdef Py_ssize_t m, skipped
    cdef Cursor cursor
    if row.outer.n == 1:
        load_items(&job.conversion, False, update + first * row.inner_other, row.inner_other, n, to)
        return
    seek(&row.outer, first // row.n_inner, &cursor)
    skipped = first % row.n_inner
    while n > 0:
        m = min(n, row.n_inner - skipped)
        load_items(&job.conversion, False, update + cursor.offset[OTHER] + skipped * row.inner_other, row.inner_other,
                   m, to)
        advance(&row.outer, 1, &cursor)
        to += m * job.conversion.wide_bytes
        n -= m
        skipped = 0


cdef inline void apply_long_row(const Job* job, char* accumulator, const char* update, bint assigns) noexcept nogil:
    """Convert and apply a row some items at a time."""
    cdef char buffer[BATCH_BYTES]
    cdef Kernel kernel = job.kernel
    cdef int64_t zero = 0
    cdef Rows one
    cdef Py_ssize_t width = job.conversion.wide_bytes, first = 0, n
    one.rows = one.offsets = &zero
    one.updates = buffer
    one.prefetches = False
    kernel.mark_bytes = 0
    while first < job.row_items:
        n = min(job.row_items - first, max(BATCH_BYTES // width, <Py_ssize_t>1))
        if width > BATCH_BYTES:  # of bytes, which are only moved
            load_row(job, update, first, n, accumulator + first * width)
        else:
            load_row(job, update, first, n, buffer)
            kernel.n_items = n * job.kernel.n_items // job.row_items
            if assigns:
                memcpy(accumulator + first * width, buffer, n * width)
            else:
                apply_rows(&kernel, &one, accumulator + first * width, NULL, 1)
        first += n


cdef inline void apply_converted(const Job* job, const Rows* rows, char* accumulators, char* marks,
                                 Py_ssize_t n) noexcept nogil:
    """Convert and apply rows, in batches."""
    cdef char buffer[BATCH_BYTES]
    cdef Py_ssize_t pitch = job.kernel.row_bytes, batch = BATCH_BYTES // pitch, step = rows.step, i = 0, j, m
    cdef const char* updates = rows.updates
    cdef const int64_t* offsets = rows.offsets
    cdef Rows some
    cdef bint adjacent = (offsets == NULL and job.row.outer.n == 1 and (
        job.row.n_inner == 1 or job.row.inner_other == job.row.item_bytes)
        and step == job.row_items * job.row.item_bytes)
    if batch == 0:
        for i in range(n):
            apply_long_row(job, accumulators + rows.rows[i] * pitch,
                           updates + (offsets[i] if offsets != NULL else i * step),
                           job.kernel.mark_bytes == 1 and job.identity == NULL
                           and mark_of(&job.kernel, marks, rows.rows[i]) == 0)
            if job.kernel.mark_bytes:
                add_to_mark(&job.kernel, marks, rows.rows[i], 1)
        return
    some.updates = buffer
    some.step = pitch
    some.offsets = NULL
    some.prefetches = False
    if offsets != NULL:
        for j in range(min(n, <Py_ssize_t>AHEAD)):
            prefetch_row(updates + offsets[j], job.row_bytes)
    while i < n:
        m = min(batch, n - i)
        if offsets != NULL:
            for j in range(i + AHEAD, min(n, i + m + AHEAD)):
                prefetch_row(updates + offsets[j], job.row_bytes)
        if adjacent:
            load_items(&job.conversion, False, updates + i * step, job.row.item_bytes, m * job.row_items, buffer)
        else:
            for j in range(m):
                load_row(job, updates + (offsets[i + j] if offsets != NULL else (i + j) * step), 0, job.row_items,
                         buffer + j * pitch)
        some.rows = rows.rows + i
        apply_rows(&job.kernel, &some, accumulators, marks, m)
        i += m


cdef inline inline_void pack_typed(element_t* type, const char* updates, const int64_t* offsets, Py_ssize_t n,
                                   char* to) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        memcpy(to + i * <Py_ssize_t>sizeof(element_t), updates + offsets[i], sizeof(element_t))


cdef inline void pack_elements(Py_ssize_t width, const char* updates, const int64_t* offsets, Py_ssize_t n,
                               char* to) noexcept nogil:
    """Copy the elements at these offsets to adjacent ones."""
    if width == 4:
        pack_typed(<uint32_t*>NULL, updates, offsets, n, to)
    elif width == 8:
        pack_typed(<uint64_t*>NULL, updates, offsets, n, to)
    elif width == 1:
        pack_typed(<uint8_t*>NULL, updates, offsets, n, to)
    elif width == 2:
        pack_typed(<uint16_t*>NULL, updates, offsets, n, to)
    else:
        pack_typed(<bytes16*>NULL, updates, offsets, n, to)


cdef inline void note_last(const Job* job, const Rows* rows, char* accumulators, Py_ssize_t n) noexcept nogil:
    """The numbers of the updates become the accumulators of their rows."""
    cdef Py_ssize_t i, step = update_step(job), number = (rows.updates - job.updates) // step + 1
    cdef uint32_t* last = <uint32_t*>accumulators
    if rows.offsets == NULL:
        for i in range(n):
            last[rows.rows[i]] = <uint32_t>(number + i)
    else:
        for i in range(n):
            last[rows.rows[i]] = <uint32_t>(number + rows.offsets[i] // step)


cdef inline void apply_products(const Job* job, const Rows* rows, const char* factors, const int64_t* places,
                                char* accumulators, char* marks, Py_ssize_t n) noexcept nogil:
    """Multiply rows, in batches, and apply the products. places: of their weights, from `factors` on."""
    cdef char memory[BATCH_BYTES + CACHE_LINE]
    cdef Py_ssize_t pitch = job.row_bytes, batch = BATCH_BYTES // pitch, i = 0, m
    cdef Rows some
    some.updates = at_line(memory)
    some.step = pitch
    some.offsets = NULL
    some.prefetches = rows.prefetches
    for i in range(min(n, rows_ahead(pitch))):
        prefetch_row_l2(rows.updates + rows.offsets[i], min(pitch, <Py_ssize_t>PREFETCHED))
    i = 0
    while i < n:
        m = min(batch, n - i)
        multiply_rows(&job.weights, factors, places + i, rows.updates, rows.offsets + i, m, n - i, <char*>some.updates)
        some.rows = rows.rows + i
        apply_rows(&job.kernel, &some, accumulators, marks, m)
        i += m


cdef inline void apply_weighted(const Job* job, const Rows* rows, char* accumulators, char* marks,
                                Py_ssize_t n) noexcept nogil:
    """apply_products; rows.offsets: the numbers of the updates."""
    cdef int64_t offsets[BLOCK]
    cdef int64_t places[BLOCK]
    cdef Rows some = rows[0]
    cdef Py_ssize_t i
    some.updates = job.updates
    some.offsets = offsets
    for i in range(n):
        offsets[i] = job.update_rows[rows.offsets[i]] * job.row_bytes
        places[i] = rows.offsets[i] * job.weights.n_bytes
        prefetch_row(job.weights.first + places[i], job.weights.n_bytes)
    apply_products(job, &some, job.weights.first, places, accumulators, marks, n)


cdef inline void apply_block(const Job* job, const Rows* rows, char* accumulators, char* marks,
                             Py_ssize_t n) noexcept nogil:
    """Apply n ≤ BLOCK updates, in order. No row is SKIPPED."""
    cdef char buffer[2][BLOCK * 16]
    cdef Elements elements
    cdef Py_ssize_t done
    if job.weights.n_bytes:
        apply_weighted(job, rows, accumulators, marks, n)
    elif job.rows_are_elements:
        elements.indices = <const char*>rows.rows
        elements.source = SINGLE
        elements.prefetches = False  # apply_tuples prefetches
        elements.repeats = job.repeats
        elements.size = INT64_MAX
        elements.wrap = 0
        elements.updates = rows.updates
        elements.step = rows.step
        if rows.offsets != NULL:
            elements.step = job.conversion.narrow_bytes
            pack_elements(elements.step, rows.updates, rows.offsets, n, buffer[0])
            elements.updates = buffer[0]
        if job.copies_updates:
            load_items(&job.conversion, False, elements.updates, elements.step, n, buffer[1])
            elements.updates = buffer[1]
            elements.step = job.conversion.wide_bytes
        if job.kernel.mark_bytes == 8:
            count_rows(&job.kernel, rows.rows, marks, n)
        apply_elements(&job.kernel, &elements, accumulators, marks, n, &done)
    elif job.by_last:
        note_last(job, rows, accumulators, n)
    elif job.copies_updates:
        apply_converted(job, rows, accumulators, marks, n)
    else:
        apply_rows(&job.kernel, rows, accumulators, marks, n)


cdef inline Py_ssize_t keep_rows(int64_t* rows, Py_ssize_t n, Py_ssize_t low, Py_ssize_t size) noexcept nogil:
    """Keep the rows from low to low + size. Returns their number."""
    cdef Py_ssize_t i, m = 0
    cdef int64_t row
    for i in range(n):
        row = rows[i]
        rows[m] = row
        m += <uint64_t>(row - low) < <uint64_t>size
    return m


cdef inline Py_ssize_t keep_window(int64_t* rows, int64_t* offsets, Py_ssize_t n, Py_ssize_t low,
                                   Py_ssize_t size) noexcept nogil:
    """As keep_rows, with the offsets of their updates."""
    cdef Py_ssize_t i, m = 0
    cdef int64_t row, offset
    for i in range(n):
        row = rows[i]
        offset = offsets[i]
        rows[m] = row
        offsets[m] = offset
        m += <uint64_t>(row - low) < <uint64_t>size  # without a branch, which would be mispredicted
    return m


cdef inline void read_update_rows(const Job* job, Py_ssize_t start, Py_ssize_t n, int64_t* offsets) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        offsets[i] = job.update_rows[start + i] * job.row_bytes if job.weights.n_bytes == 0 else start + i


cdef inline bint has_short_runs(const Job* job) noexcept nogil:
    """Whether updates are not adjacent, and the innermost axis of the tuples is short."""
    return not job.updates_are_linear and job.walk.shape[job.walk.n_dims - 1] < SHORT_RUN


cdef inline void walk_offsets(const Job* job, Cursor* cursor, Py_ssize_t n, int64_t* offsets) noexcept nogil:
    """Where n updates are, from the cursor on, which is advanced."""
    cdef int inner = job.walk.n_dims - 1
    cdef Py_ssize_t i = 0, stop, step = update_step(job)
    cdef int64_t offset
    while i < n:
        stop = min(n, i + job.walk.shape[inner] - cursor.coordinate[inner])
        offset = cursor.offset[OTHER]
        advance(&job.walk, stop - i, cursor)
        while i < stop:
            offsets[i] = offset
            offset += step
            i += 1


cdef inline void prefetch_short(const Job* job, const char* accumulators, const int64_t* rows,
                                Py_ssize_t n) noexcept nogil:
    """Of at most a cache line. One that is not aligned touches two; few points do."""
    cdef Py_ssize_t i
    for i in range(n):
        prefetch_write(accumulators + rows[i] * job.kernel.row_bytes)
        if job.kernel.row_bytes > 16:
            prefetch_write(accumulators + (rows[i] + 1) * job.kernel.row_bytes - 1)


cdef inline bint can_apply_directly(const Job* job) noexcept nogil:
    """Whether one loop resolves single indices, or pairs, and applies their elements or points."""
    cdef bint are_pairs = (job.tuples.k == 2 and job.rows_are_elements and job.kernel.step == ADD
                           and job.kernel.mark_bytes == 0)
    return ((job.tuples.k == 1 or are_pairs) and (job.rows_are_elements or are_points(&job.kernel))
            and not job.copies_updates and job.tuples.simple and job.tuples.mode == RAISE and job.tuples.arrays == NULL
            and job.tuples.stride[job.tuples.k - 1] == 1 and job.update_rows == NULL and job.kernel.mark_bytes != 8
            and not has_short_runs(job)
            and job.walk.stride[job.walk.n_dims - 1][DATA] == 0)


cdef inline void widen_indices(const int32_t* indices, Py_ssize_t step, Py_ssize_t n, int64_t* to) noexcept nogil:
    """step: bytes, those of an index or of a pair."""
    cdef Py_ssize_t i
    if step == sizeof(int32_t):
        for i in range(n):
            to[i] = indices[i]
    else:
        for i in range(n):
            to[i] = indices[2 * i]


cdef inline Py_ssize_t apply_directly(const Job* job, char* accumulators, char* marks, Py_ssize_t start,
                                      Py_ssize_t stop) noexcept nogil:
    """As apply_tuples, by that loop. Returns where it stopped: there apply_tuples has to go on."""
    cdef int64_t widened[2 * BLOCK]
    cdef Elements elements
    cdef Cursor cursor
    cdef int inner = job.walk.n_dims - 1
    cdef bint widens = job.tuples.width == 4
    cdef Py_ssize_t n, done, most = BLOCK if widens else WORK_STEP
    elements.source = SINGLE if job.tuples.k == 1 else PAIRS
    elements.size, elements.second_size = job.tuples.size[0], job.tuples.size[1]
    elements.wrap, elements.second_wrap = job.tuples.wrap[0], job.tuples.wrap[1]
    elements.stride = job.tuples.stride[0]
    elements.index_step = job.walk.stride[inner][INDICES]
    elements.to_second = job.tuples.component_stride
    elements.prefetches = job.prefetches
    elements.repeats = job.repeats
    elements.step = job.walk.stride[inner][OTHER]
    seek(&job.walk, start, &cursor)
    while start < stop:
        n = min(job.walk.shape[inner] - cursor.coordinate[inner], min(stop - start, most))
        elements.indices = job.tuples.base + cursor.offset[INDICES]
        elements.updates = job.updates + cursor.offset[OTHER]
        if not are_simple(&job.tuples, elements.indices, job.walk.stride[inner][INDICES]) or is_interrupted(
                job.interrupts, n):
            break
        if widens:
            widen_indices(<const int32_t*>elements.indices, job.walk.stride[inner][INDICES], n, widened)
            if elements.source == PAIRS:
                widen_indices(<const int32_t*>(elements.indices + job.tuples.component_stride),
                              job.walk.stride[inner][INDICES], n, widened + BLOCK)
                elements.index_step = sizeof(int64_t)
                elements.to_second = BLOCK * sizeof(int64_t)
            elements.indices = <const char*>widened
        apply_elements(&job.kernel, &elements, accumulators + cursor.offset[DATA] * job.kernel.row_bytes,
                       marks + cursor.offset[DATA] * job.kernel.mark_bytes, n, &done)
        start += done
        if done < n:
            break
        advance(&job.walk, n, &cursor)
    return start


cdef inline void apply_tuples(const Job* job, char* accumulators, char* marks, Py_ssize_t start, Py_ssize_t stop,
                              Py_ssize_t low, Py_ssize_t size, Py_ssize_t* status) noexcept nogil:
    """Resolve tuples start to stop and apply the updates of rows low to low + size, in order, a block at a time.

    accumulators, marks: of row 0; where others begin the memory, where that of row 0 would be.
    """
    cdef int64_t buffers[2][BLOCK]
    cdef int64_t update_offsets[2][BLOCK]
    cdef int64_t* rows = buffers[0]
    cdef int64_t* next_rows = buffers[1]
    cdef int64_t* offsets = update_offsets[0]
    cdef int64_t* next_offsets = update_offsets[1]
    cdef int64_t* swap
    cdef Cursor cursor, before
    cdef Py_ssize_t step = update_step(job), n = 0, n_next, resolved, first = 0, next_first, i
    cdef bint walks = has_short_runs(job), passes = walks or job.update_rows != NULL
    cdef bint filters = job.tuples.mode == SKIP or size < job.n_rows
    cdef bint by_offset = False, next_by_offset = False, is_short = job.kernel.row_bytes <= CACHE_LINE
    cdef bint is_same = step == 0 and not passes and job.updates_are_linear  # one update for all tuples
    cdef Rows some
    status[0] = OK
    if not filters and job.walk.n > job.block and can_apply_directly(job):  # see is_one_block
        start = apply_directly(job, accumulators, marks, start, stop)
        if start == stop:
            return
    seek(&job.walk, start, &cursor)
    # Software pipeline: a block is resolved, and its rows are prefetched, before the previous one is applied.
    while True:
        next_first = 0 if passes else cursor.offset[OTHER]
        n_next = resolved = 0
        if start < stop:
            if walks:
                before = cursor
            resolve_block(&job.tuples, &job.walk, &cursor, min(job.block, stop - start),
                          not job.updates_are_linear and not walks, next_rows, &resolved)
            if resolved < 0:
                status[0] = start * job.tuples.k - 1 - resolved
                return
            if is_interrupted(job.interrupts, resolved * job.tuple_work):
                status[0] = INTERRUPTED
                return
            n_next = resolved
            if walks and job.update_rows == NULL:
                walk_offsets(job, &before, resolved, next_offsets)
            elif passes:
                read_update_rows(job, start, resolved, next_offsets)
            elif filters and not is_same:
                for i in range(resolved):
                    next_offsets[i] = i * step
            if filters and is_same:
                n_next = keep_rows(next_rows, resolved, low, size)
            elif filters:
                n_next = keep_window(next_rows, next_offsets, resolved, low, size)
            next_by_offset = passes or (n_next < resolved and not is_same)
            start += resolved
            if job.tuples.prefetches and 0 < step <= CACHE_LINE and job.rows_are_elements:  # apply_rows prefetches rows
                prefetch_stream(job.updates + next_first, resolved * step)
            if job.prefetches and is_short:
                prefetch_short(job, accumulators, next_rows, n_next)
        if n:
            some.rows = rows
            some.updates = job.updates + first
            some.step = step
            some.offsets = offsets if by_offset else NULL
            some.prefetches = job.prefetches and not is_short
            apply_block(job, &some, accumulators, marks, n)
        if resolved == 0:
            return
        swap = rows
        rows = next_rows
        next_rows = swap
        swap = offsets
        offsets = next_offsets
        next_offsets = swap
        n = n_next
        first = next_first
        by_offset = next_by_offset
