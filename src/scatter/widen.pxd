# Conversions of rows and tiles between a dtype and that of wider accumulators (conversions.pxd).
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from common.codes cimport ADD
from common.items cimport CACHE_LINE, at_line, cloned_void, inline_void, prefetch_row
from common.resolve cimport BLOCK
from common.stream cimport stream_bytes, stream_fence
from common.walk cimport DATA, OTHER, Cursor, advance, seek
from scatter.apply cimport apply_elements, apply_rows
from scatter.conversions cimport narrow_items, widen_data, widen_items
from scatter.job cimport Job, row_items
from scatter.loops.table cimport F32_F64, loops
from scatter.marks cimport Marks, mark_block
from scatter.means cimport divide_rows
from scatter.reductions cimport Step

cdef enum:
    BUFFER_BYTES = 1 << 13      # of widened updates: L1 holds them and their rows
    BATCH_BYTES = 1 << 10       # of widened rows
    AHEAD = 4                   # batches, for the prefetch
    STORE_BYTES = 1 << 12
    PREFETCHED = 1 << 10        # bytes of a row; the hardware prefetches the rest of a long one


cdef inline void widen_row(const Job* job, int operand, const char* row, Py_ssize_t first, Py_ssize_t n, bint keeps,
                           char* to) noexcept nogil:
    """Widen n items from number `first` on of a row of data or, if operand is OTHER, of updates."""
    cdef Py_ssize_t step = job.step.row.inner_other if operand == OTHER else job.step.row.inner_data
    cdef Py_ssize_t m, skipped
    cdef Cursor cursor
    if job.step.row.outer.n == 1:
        widen_items(&job.conversion, row + first * step, step, n, keeps, to)
        return
    seek(&job.step.row.outer, first // job.step.row.n_inner, &cursor)
    skipped = first % job.step.row.n_inner
    while n > 0:
        m = min(n, job.step.row.n_inner - skipped)
        widen_items(&job.conversion, row + cursor.offset[operand] + skipped * step, step, m, keeps, to)
        advance(&job.step.row.outer, 1, &cursor)
        to += m * job.conversion.wide_bytes
        n -= m
        skipped = 0


cdef inline void narrow_row(const Job* job, const char* accumulators, Py_ssize_t first, Py_ssize_t n, bint keeps,
                            char* row) noexcept nogil:
    """Round n accumulators into a row of the result, from its item number `first` on."""
    cdef Py_ssize_t step = job.step.row.inner_data
    cdef Py_ssize_t m, skipped
    cdef Cursor cursor
    if job.step.row.outer.n == 1:
        narrow_items(&job.conversion, accumulators, n, keeps, row + first * step, step)
        return
    seek(&job.step.row.outer, first // job.step.row.n_inner, &cursor)
    skipped = first % job.step.row.n_inner
    while n > 0:
        m = min(n, job.step.row.n_inner - skipped)
        narrow_items(&job.conversion, accumulators, m, keeps, row + cursor.offset[DATA] + skipped * step, step)
        advance(&job.step.row.outer, 1, &cursor)
        accumulators += m * job.conversion.wide_bytes
        n -= m
        skipped = 0


# Tiles of a contiguous result, which hold whole rows (partition.pxd)

cdef inline Py_ssize_t wide_row_bytes(const Job* job) noexcept nogil:
    return row_items(job) * job.conversion.wide_bytes


cdef inline void load_tile(const Job* job, const char* data, Py_ssize_t n_rows, char* sums,
                           bint* signals) noexcept nogil:
    """signals: set if there is a signalling NaN in data."""
    widen_data(&job.conversion, data, n_rows * row_items(job), sums, signals)


cdef inline void store_items(const Job* job, const char* sums, Py_ssize_t n_items, bint signals,
                             char* out) noexcept nogil:
    """Round adjacent accumulators into adjacent items of the result; by way of L1 if it is larger than the caches.

    The caller calls stream_fence after the last items.
    """
    cdef char items[STORE_BYTES]
    cdef Py_ssize_t width = job.conversion.narrow_bytes, m
    if not job.streams:
        narrow_items(&job.conversion, sums, n_items, signals, out, width)
        return
    while n_items > 0:
        m = min(n_items, STORE_BYTES // width)
        narrow_items(&job.conversion, sums, m, signals, items, width)
        stream_bytes(out, items, m * width, False)
        sums += m * job.conversion.wide_bytes
        out += m * width
        n_items -= m


cdef inline void store_tile(const Job* job, const Marks* marks, char* sums, Py_ssize_t n_rows, bint signals,
                            char* out) noexcept nogil:
    """marks: theirs begin the table."""
    if job.divides:
        divide_rows(&job.wide_step, marks, job.include_self, sums, wide_row_bytes(job), n_rows)
    store_items(job, sums, n_rows * row_items(job), signals, out)
    stream_fence()


cdef inline void apply_wide_rows(const Job* job, const Step* step, const Marks* marks, char* to,
                                 int64_t* offsets, Py_ssize_t first_item, const char* updates,
                                 const int64_t* update_offsets, Py_ssize_t n, char* buffer,
                                 char* sinks) noexcept nogil:
    """Widen rows of updates, from number first_item on, and apply them at to + offsets. No offset is SKIPPED.

    In batches: while one is applied, the rows of those that follow are prefetched.
    """
    cdef Py_ssize_t width = job.conversion.narrow_bytes
    cdef Py_ssize_t n_items = step.row.n_inner
    cdef Py_ssize_t pitch = n_items * job.conversion.wide_bytes
    cdef Py_ssize_t batch = min(max(<Py_ssize_t>1, BATCH_BYTES // pitch), <Py_ssize_t>BLOCK)
    cdef Py_ssize_t item_step = job.step.row.inner_other
    cdef bint are_native = job.step.row.outer.n == 1 and not job.conversion.swapped
    cdef bint are_adjacent = job.step.row.outer.n == 1 and item_step == width
    cdef Py_ssize_t i = 0, j, m
    cdef bint adds = (are_native and are_adjacent and job.conversion.pair == F32_F64 and step.reduction == ADD
                      and not (marks.width and marks.assigns))
    updates += first_item * item_step if job.step.row.outer.n == 1 else 0
    while i < n:
        m = min(n - i, batch)
        for j in range(i + AHEAD * batch if i else 0, min(i + (AHEAD + 1) * batch, n)):
            prefetch_row(to + offsets[j], min(pitch, <Py_ssize_t>PREFETCHED))
            if are_adjacent:
                prefetch_row(updates + update_offsets[j], min(n_items * width, <Py_ssize_t>PREFETCHED))
        if adds:
            if marks.width:
                mark_block(marks, step, False, to, offsets + i, updates, NULL, 0, m, sinks)
            loops.add_rows(to, offsets + i, updates, update_offsets + i, m, n_items)
            i += m
            continue
        if are_native:
            loops.widen_rows(job.conversion.pair, updates, update_offsets + i, m, item_step, n_items, buffer, pitch)
        else:
            for j in range(m):
                widen_row(job, OTHER, updates + update_offsets[i + j], first_item if job.step.row.outer.n > 1 else 0,
                          n_items, False, buffer + j * pitch)
        if marks.width:
            mark_block(marks, step, False, to, offsets + i, buffer, NULL, pitch, m, sinks)
        apply_rows(step, to, offsets + i, buffer, NULL, pitch, m)
        i += m


cdef inline bint adds_floats(const Job* job, const Marks* marks) noexcept nogil:
    """Whether updates are widened and added in one loop (add_floats, add_rows): the most common case."""
    return (job.conversion.pair == F32_F64 and job.step.reduction == ADD and not (marks.width and marks.assigns)
            and (job.step.by_value or (job.step.row.outer.n == 1 and not job.step.swapped
                                       and job.step.row.inner_other == sizeof(float))))


cdef inline cloned_void pick_floats(uint64_t low, uint64_t size, int64_t* offsets, const char* updates,
                                    Py_ssize_t update_step, Py_ssize_t n, char* picked,
                                    Py_ssize_t* n_picked) noexcept nogil:
    """Keep the offsets from low to low + size, and copy their updates of float32 to `picked`, unless all are kept."""
    cdef Py_ssize_t i, m = 0
    cdef int64_t offset
    cdef float update
    for i in range(n):
        m += <uint64_t>offsets[i] - low < size
    n_picked[0] = m
    if m == 0 or m == n:
        return
    m = 0
    for i in range(n):  # without a branch, which would be mispredicted
        offset = offsets[i]
        memcpy(&update, updates + i * update_step, sizeof(float))
        offsets[m] = offset
        memcpy(picked + m * <Py_ssize_t>sizeof(float), &update, sizeof(float))
        m += <uint64_t>offset - low < size


cdef inline cloned_void pick_rows(uint64_t low, uint64_t size, int64_t* offsets, int64_t* update_offsets,
                                  Py_ssize_t n, Py_ssize_t* n_picked) noexcept nogil:
    """Keep the offsets from low to low + size, and the offsets of their updates."""
    cdef Py_ssize_t i, m = 0
    cdef int64_t offset
    for i in range(n):
        offset = offsets[i]
        offsets[m] = offset
        update_offsets[m] = update_offsets[i]
        m += <uint64_t>offset - low < size
    n_picked[0] = m


cdef inline inline_void add_adjacent(char* sums, const int64_t* offsets, const char* updates, Py_ssize_t update_step,
                                     Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef float update
    for i in range(n):
        memcpy(&update, updates + i * update_step, sizeof(float))
        (<double*>(sums + offsets[i]))[0] += update


cdef inline cloned_void add_floats(char* sums, const int64_t* offsets, const char* updates, Py_ssize_t update_step,
                                   Py_ssize_t n) noexcept nogil:
    """Add elements of float32 to sums of float64. No offset is SKIPPED."""
    if update_step == sizeof(float):  # a constant
        add_adjacent(sums, offsets, updates, sizeof(float), n)
    else:
        add_adjacent(sums, offsets, updates, update_step, n)


cdef inline void apply_wide_block(const Job* job, const Marks* marks, char* sums, int64_t* offsets,
                                  const char* updates, const int64_t* update_offsets, Py_ssize_t update_step,
                                  Py_ssize_t n, char* sinks) noexcept nogil:
    """Widen a block of updates and apply them at sums + offsets. No offset is SKIPPED.

    Updates are at updates + update_offsets; if update_offsets is NULL, elements that are update_step bytes apart.
    """
    cdef char memory[BUFFER_BYTES + CACHE_LINE]
    cdef char* buffer = at_line(memory)
    if update_offsets != NULL:
        apply_wide_rows(job, &job.wide_step, marks, sums, offsets, 0, updates, update_offsets, n, buffer, sinks)
        return
    widen_items(&job.conversion, updates, update_step, n, False, buffer)
    if marks.width:
        mark_block(marks, &job.wide_step, False, sums, offsets, buffer, NULL, job.conversion.wide_bytes, n, sinks)
    apply_elements(&job.wide_step, sums, offsets, buffer, job.conversion.wide_bytes, n)
