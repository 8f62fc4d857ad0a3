# Few updates, for SERIAL: with include_self=False, and for means, it passes over the updates again rather than over the
# result or a table with a mark for each row.
#
#     reset_tuples    include_self=False: each destination becomes the reduction's identity, before the updates are
#                     applied as with include_self=True
#     divide_tuples   means: after the updates are applied and counted, each destination is divided
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from common.codes cimport ASSIGN, FLOAT32, FLOAT64, INTERRUPTED, OK
from common.interrupts cimport is_interrupted
from common.items cimport inline_void
from common.resolve cimport BLOCK, SKIPPED, resolve_block
from common.walk cimport Cursor, seek
from scatter.apply cimport assign_rows
from scatter.direct cimport LoopInOrder, direct_loop
from scatter.fill cimport fill_elements
from scatter.job cimport Job, row_items, run_in_order
from scatter.marks cimport Marks, count_of, first_not_skipped, index_marks
from scatter.means cimport divide_items, divide_row
from scatter.reductions cimport Step, value_t

cdef enum:
    LONGEST_RESET = 1 << 8  # bytes of a row; to find and assign the first update of a longer one is faster


cdef inline bint has_contiguous_rows(const Job* job) noexcept nogil:
    return (job.step.row.item_bytes and job.step.row.outer.n == 1 and not job.step.swapped
            and (job.step.row.n_inner == 1 or job.step.row.inner_data == job.step.row.item_bytes))


cdef inline bint can_reset(const Job* job) noexcept nogil:
    """Whether reset_tuples can prepare the destinations."""
    return (not job.include_self and has_contiguous_rows(job)
            and row_items(job) * job.step.row.item_bytes <= LONGEST_RESET
            and job.reduction.has_identity >> <int>job.step.type_code & 1)


cdef inline Py_ssize_t reset_directly(const Job* job, const char* identity, Py_ssize_t start,
                                      Py_ssize_t stop) noexcept nogil:
    """reset_tuples by a loop of direct.pxd. Returns where it stopped, as run_in_order."""
    cdef Step step = job.step
    cdef LoopInOrder loop = NULL
    step.reduction = ASSIGN
    if step.by_value:
        loop = direct_loop(&job.tuples, &job.walk, &step)
    return start if loop == NULL else run_in_order(job, loop, job.out, 0, 1, 1, identity, True, start, stop)


cdef inline Py_ssize_t reset_tuples(const Job* job) noexcept nogil:
    """Let the destinations become the identity. Returns OK, INTERRUPTED or the position of a bad index."""
    cdef char row[LONGEST_RESET]
    cdef int64_t offsets[BLOCK]
    cdef Cursor cursor
    cdef const char* identity = job.reduction.identity[<int>job.step.type_code]
    cdef Py_ssize_t width = job.step.row.item_bytes, items = row_items(job)
    cdef Py_ssize_t start = reset_directly(job, identity, 0, job.walk.n), n
    fill_elements(width, identity, row, items)
    seek(&job.walk, start, &cursor)
    while start < job.walk.n:
        resolve_block(&job.tuples, &job.walk, &cursor, min(job.block, job.walk.n - start), False, offsets, &n)
        if n < 0:
            return start * job.tuples.k - 1 - n
        if is_interrupted(job.interrupts, n * job.tuple_work):
            return INTERRUPTED
        assign_rows(items * width, job.out, offsets, row, NULL, 0, n)
        start += n
    return OK


cdef inline inline_void divide_items_of(value_t* type, Py_ssize_t n_items, int32_t* counts, const int64_t* indices,
                                        const int64_t* offsets, Py_ssize_t n, int32_t more, char* out) noexcept nogil:
    cdef Py_ssize_t i
    cdef int32_t count
    for i in range(n):
        count = counts[indices[i]]
        if count and offsets[i] != SKIPPED:
            divide_items(type, out + offsets[i], n_items, sizeof(value_t), count + more)
            counts[indices[i]] = 0


cdef inline inline_void divide_block_typed(value_t* type, const Job* job, int32_t* counts, const int64_t* indices,
                                           const int64_t* offsets, Py_ssize_t n) noexcept nogil:
    """The numbers of elements and points are constants: their loop would take longer than the divisions."""
    cdef Py_ssize_t n_items = row_items(job)
    if n_items == 1:
        divide_items_of(type, 1, counts, indices, offsets, n, job.include_self, job.out)
    elif n_items == 2:
        divide_items_of(type, 2, counts, indices, offsets, n, job.include_self, job.out)
    elif n_items == 3:
        divide_items_of(type, 3, counts, indices, offsets, n, job.include_self, job.out)
    elif n_items == 4:
        divide_items_of(type, 4, counts, indices, offsets, n, job.include_self, job.out)
    else:
        divide_items_of(type, n_items, counts, indices, offsets, n, job.include_self, job.out)


cdef inline void divide_block(const Job* job, const Marks* marks, const int64_t* indices, const int64_t* offsets,
                              Py_ssize_t n) noexcept nogil:
    """Divide the destinations of a block whose counts are not 0, and set these to 0."""
    cdef Py_ssize_t i
    cdef int64_t count
    if marks.width == 4 and has_contiguous_rows(job) and job.step.type_code == FLOAT32:
        divide_block_typed(<float*>NULL, job, <int32_t*>marks.table, indices, offsets, n)
        return
    if marks.width == 4 and has_contiguous_rows(job) and job.step.type_code == FLOAT64:
        divide_block_typed(<double*>NULL, job, <int32_t*>marks.table, indices, offsets, n)
        return
    for i in range(n):
        count = count_of(marks, indices[i])
        if count and offsets[i] != SKIPPED:
            divide_row(&job.step, job.out + offsets[i], count + job.include_self)
            memset(marks.table + indices[i] * marks.width, 0, marks.width)


cdef inline void divide_tuples(const Job* job, const Marks* marks) noexcept nogil:
    """Divide each destination by its count. A signal may stop it."""
    cdef int64_t offsets[BLOCK]
    cdef int64_t indices[BLOCK]
    cdef Cursor cursor
    cdef Py_ssize_t start = 0, n
    cdef int64_t of_skipped
    seek(&job.walk, 0, &cursor)
    while start < job.walk.n:
        resolve_block(&job.tuples, &job.walk, &cursor, min(job.block, job.walk.n - start), False, offsets, &n)
        if n < 0 or is_interrupted(job.interrupts, n * job.tuple_work):
            return
        of_skipped = first_not_skipped(offsets, n)
        if of_skipped != SKIPPED:
            index_marks(marks, offsets, n, of_skipped, indices)
            divide_block(job, marks, indices, offsets, n)
        start += n
