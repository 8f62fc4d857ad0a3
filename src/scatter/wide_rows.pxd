# ROWS with accumulate_dtype: a few rows at a time are widened in L1, combined with their updates and rounded.
#
# All updates of a row are applied while the row is in L1, so the call must be one round.
from libc.stdint cimport int64_t
from libc.string cimport memset

from common.codes cimport ADD, MUL
from common.interrupts cimport is_interrupted
from common.items cimport CACHE_LINE, at_line, inline_void, prefetch_row_l2, prefetch_stream
from common.stream cimport stream_fence
from scatter.apply cimport apply_rows
from scatter.conversions cimport widen_data, widen_items
from scatter.grouping cimport AHEAD_BYTES, ASKING, MAX_BATCH, MAX_WIDE_ROW, Rows, finish_rows
from scatter.job cimport Job
from scatter.loops.table cimport C64_C128, F32_F64, loops
from scatter.widen cimport BUFFER_BYTES, store_items

cdef enum:
    TABLE_BYTES = MAX_WIDE_ROW  # of widened rows: one at least
    BATCH = 4               # rows of updates that are widened at a time


cdef inline inline_void prefetch_later(const Rows* rows, Py_ssize_t i) noexcept nogil:
    """Prefetch an update that is needed some time after order[i]."""
    i += AHEAD_BYTES // rows.job.row_bytes
    if i < <Py_ssize_t>rows.end[rows.n_rows - 1]:
        prefetch_row_l2(rows.job.updates + rows.order[i] * rows.update_step, rows.job.row_bytes)


cdef inline void combine_run(const Rows* rows, char* sums, char* buffer, Py_ssize_t first,
                             Py_ssize_t stop) noexcept nogil:
    """Combine one widened row with the updates order[first:stop]."""
    cdef const Job* job = rows.job
    cdef int64_t offsets[BATCH]
    cdef int64_t update_offsets[BATCH]
    cdef Py_ssize_t n_items = job.wide_step.row.n_inner
    cdef Py_ssize_t pitch = n_items * job.conversion.wide_bytes
    cdef Py_ssize_t ahead = AHEAD_BYTES // job.row_bytes
    cdef Py_ssize_t batch = min(max(<Py_ssize_t>1, BUFFER_BYTES // pitch), <Py_ssize_t>BATCH)
    cdef Py_ssize_t n, i
    if job.conversion.pair == F32_F64 or (job.conversion.pair == C64_C128 and job.wide_step.reduction == ADD):
        loops.combine_run(sums, job.updates, rows.update_step, rows.order + first, stop - first,
                          rows.end[rows.n_rows - 1] - first,
                          job.row_bytes // 4, ahead, job.wide_step.reduction == MUL)
        return
    memset(offsets, 0, sizeof(offsets))
    while first < stop:
        n = min(batch, stop - first)
        for i in range(n):
            update_offsets[i] = rows.order[first + i] * rows.update_step
            prefetch_later(rows, first + i)
        loops.widen_rows(job.conversion.pair, job.updates, update_offsets, n, job.conversion.narrow_bytes, n_items,
                         buffer, pitch)
        apply_rows(&job.wide_step, sums, offsets, buffer, NULL, pitch, n)
        first += n


cdef inline void combine_widened(const Rows* rows, char* sums, char* buffer, Py_ssize_t row, Py_ssize_t n,
                                 Py_ssize_t first) noexcept nogil:
    """Combine the n widened rows at sums, which begin with `row`, with their updates, which begin with order[first]."""
    cdef const Job* job = rows.job
    cdef Py_ssize_t pitch = job.wide_step.row.n_inner * job.conversion.wide_bytes
    cdef Py_ssize_t i, stop, part
    for i in range(n):
        stop = rows.end[row + i]
        if rows.marks.assigns and first < stop:
            prefetch_later(rows, first)
            widen_items(&job.conversion, job.updates + rows.order[first] * rows.update_step,
                        job.conversion.narrow_bytes, job.wide_step.row.n_inner, False, sums + i * pitch)
            first += 1
        while first < stop:
            part = min(first + ASKING, stop)
            if is_interrupted(job.interrupts, (part - first) * job.row_bytes >> 2):
                return
            combine_run(rows, sums + i * pitch, buffer, first, part)
            first = part


cdef inline void write_widened(const Rows* rows, Py_ssize_t row, Py_ssize_t stop) noexcept nogil:
    """Write rows from data, combined with their updates in the dtype of the accumulators."""
    cdef const Job* job = rows.job
    cdef char memory[TABLE_BYTES + BUFFER_BYTES + CACHE_LINE]
    cdef char* sums = at_line(memory)
    cdef char* buffer = sums + TABLE_BYTES
    cdef Py_ssize_t n_items = job.wide_step.row.n_inner
    cdef Py_ssize_t pitch = n_items * job.conversion.wide_bytes
    cdef Py_ssize_t batch = min(max(<Py_ssize_t>1, TABLE_BYTES // pitch), <Py_ssize_t>MAX_BATCH)
    cdef Py_ssize_t first = rows.end[row - 1] if row else 0
    cdef Py_ssize_t n
    cdef bint signals
    cdef const char* data
    cdef char* out
    while row < stop:
        n = min(batch, stop - row)
        if is_interrupted(job.interrupts, n * job.row_bytes >> 3):
            return
        data = job.data + row * job.row_bytes
        out = job.out + row * job.row_bytes
        prefetch_stream(data, n * job.row_bytes)
        signals = False
        widen_data(&job.conversion, data, n * n_items, sums, &signals)
        combine_widened(rows, sums, buffer, row, n, first)
        if rows.marks.width:
            finish_rows(rows, &job.wide_step, sums, pitch, row, n)
        store_items(job, sums, n * n_items, signals, out)
        row += n
        first = rows.end[row - 1]
    stream_fence()
