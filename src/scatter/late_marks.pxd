# Elements that are accumulated from the reduction's identity (include_self=False), with marks only where they are
# needed.
#
# An accumulator that differs from the identity has had an update. One that does not has had none, or updates whose
# reduction is the identity. For sums of floats, maxima and minima these are the identity themselves, so if no update
# is, the accumulator had none. Otherwise the destinations are marked in a second pass over the indices.
#
# Rows of accumulators are searched too. Their updates are not: that takes as long as to mark them.
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from common.codes cimport ADD, BFLOAT16, BOOL, FLOAT16, FLOAT32, FLOAT64, MAX, MIN, OK
from common.items cimport cloned_void, inline_void
from common.walk cimport OTHER
from scatter.accumulate cimport accumulates_rows, choose_element, finish_elements
from scatter.job cimport Job, apply_and_count, apply_tuples, count_tuples, row_items
from scatter.marks cimport Marks

cdef extern from *:
    """
    #include <float.h>
    /* Whether this thread flushes subnormal results to zero: then a sum of two numbers may be -0.0, its identity. */
    static int gs_flushes_to_zero(void) {
        volatile float least = FLT_MIN, more = 1.5f * FLT_MIN;
        return more - least == 0;
    }
    """
    bint flushes_to_zero "gs_flushes_to_zero" () noexcept nogil

cdef enum:
    PIECE = 1 << 10     # elements that are compared without a branch

cdef enum Unmarked:
    ALL_UPDATED         # no accumulator is the identity
    REST_NOT_UPDATED    # those that are had no update
    UNKNOWN             # the destinations have to be marked

ctypedef fused bits_t:
    uint8_t
    uint16_t
    uint32_t
    uint64_t


cdef inline inline_void find_typed(bits_t* type, const char* element, const char* elements, Py_ssize_t n,
                                   bint* found) noexcept nogil:
    cdef Py_ssize_t start = 0, i
    cdef bits_t item, other, equal
    memcpy(&item, element, sizeof(bits_t))
    while start < n and not found[0]:
        equal = 0
        for i in range(start, min(start + PIECE, n)):
            memcpy(&other, elements + i * <Py_ssize_t>sizeof(bits_t), sizeof(bits_t))
            equal |= other == item
        found[0] = equal != 0
        start += PIECE


cdef inline cloned_void find_in_rows(Py_ssize_t width, const char* element, const char* rows, Py_ssize_t step,
                                     Py_ssize_t n_rows, Py_ssize_t n, bint* found) noexcept nogil:
    """Whether rows of n elements, `step` bytes apart, contain this one, bit by bit."""
    cdef Py_ssize_t row
    found[0] = False
    if step == n * width:
        n *= n_rows
        n_rows = 1
    for row in range(n_rows):
        if width == 4:
            find_typed(<uint32_t*>NULL, element, rows + row * step, n, found)
        elif width == 8:
            find_typed(<uint64_t*>NULL, element, rows + row * step, n, found)
        elif width == 2:
            find_typed(<uint16_t*>NULL, element, rows + row * step, n, found)
        else:
            find_typed(<uint8_t*>NULL, element, rows + row * step, n, found)
        if found[0]:
            return


cdef inline inline_void choose_typed(bits_t* type, const char* element, const char* sums, const char* data, char* out,
                                     Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef bits_t item, other
    memcpy(&item, element, sizeof(bits_t))
    for i in range(n):
        memcpy(&other, sums + i * <Py_ssize_t>sizeof(bits_t), sizeof(bits_t))
        choose_element(type, other != item, sums, data, out, i)


cdef inline cloned_void choose_other(Py_ssize_t width, const char* element, const char* sums, const char* data,
                                     char* out, Py_ssize_t n) noexcept nogil:
    """out[i] = data[i] if sums[i] is this element, else sums[i]."""
    if width == 4:
        choose_typed(<uint32_t*>NULL, element, sums, data, out, n)
    elif width == 8:
        choose_typed(<uint64_t*>NULL, element, sums, data, out, n)
    elif width == 2:
        choose_typed(<uint16_t*>NULL, element, sums, data, out, n)
    else:
        choose_typed(<uint8_t*>NULL, element, sums, data, out, n)


cdef inline const char* identity_of(const Job* job) noexcept nogil:
    return job.reduction.identity[<int>job.step.type_code]


cdef inline bint can_mark_late(const Job* job) noexcept nogil:
    """Whether an accumulator that differs from the identity has had an update, and needs no count.

    Not bool: any byte that is not 0 is true.
    """
    return (job.accumulates and not job.include_self and not job.divides and job.step.type_code != BOOL
            and not job.step.swapped and job.step.by_value and job.row_bytes == job.step.row.item_bytes
            and job.row_bytes in (1, 2, 4, 8))


cdef inline bint can_mark_rows_late(const Job* job) noexcept nogil:
    """The same for rows, whose elements are adjacent."""
    return (not job.include_self and not job.divides and job.step.type_code != BOOL
            and job.step.row.item_bytes in (1, 2, 4, 8) and accumulates_rows(job))


cdef inline bint has_one_way(const Job* job) noexcept nogil:
    """Whether only updates that are the identity reduce to it."""
    cdef int type_code = job.step.type_code
    if job.step.reduction == ADD:
        return type_code in (FLOAT16, BFLOAT16, FLOAT32, FLOAT64) and not flushes_to_zero()
    return job.step.reduction == MAX or job.step.reduction == MIN


cdef inline Unmarked unmarked_of(const Job* job, const char* sums, Py_ssize_t sum_step, Py_ssize_t n_sum_rows,
                                 Py_ssize_t n_sums, const char* updates, Py_ssize_t update_step, Py_ssize_t n_rows,
                                 Py_ssize_t n_updates) noexcept nogil:
    """What is known of accumulators after these updates. Both are rows of elements, so many bytes apart.

    updates: NULL if their elements are not adjacent. Then they are not searched.
    """
    cdef bint found
    find_in_rows(job.row_bytes, identity_of(job), sums, sum_step, n_sum_rows, n_sums, &found)
    if not found:
        return ALL_UPDATED
    if updates == NULL or not has_one_way(job):
        return UNKNOWN
    find_in_rows(job.row_bytes, identity_of(job), updates, update_step, n_rows, n_updates, &found)
    return UNKNOWN if found else REST_NOT_UPDATED


cdef inline bint finish_unmarked(const Job* job, const char* sums, char* out, const char* data, Py_ssize_t n,
                                 Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    """Write n elements, each from its accumulator or from data, if it is known which had one of the updates.

    False: the destinations have to be marked, and nothing was written.
    """
    cdef Py_ssize_t step = job.walk.stride[job.walk.n_dims - 1][OTHER], width = job.row_bytes
    cdef bint are_linear = job.updates_are_linear and (step == 0 or step == width)
    cdef Unmarked what = unmarked_of(job, sums, n * width, 1, n, job.updates + start * step if are_linear else NULL, 0,
                                     1, stop - start if step else 1)
    if what == REST_NOT_UPDATED:
        choose_other(width, identity_of(job), sums, data, out, n)
    elif what == ALL_UPDATED and sums != out:
        memcpy(out, sums, n * width)
    return what != UNKNOWN


cdef inline void accumulate_elements(const Job* job, const Marks* marks, char* sums, Py_ssize_t low, Py_ssize_t n,
                                     char* out, const char* data, Py_ssize_t start, Py_ssize_t stop,
                                     Py_ssize_t* status) noexcept nogil:
    """Apply tuples start to stop to n accumulators, and write each to `out`, or its element of data.

    low: the offset of the first accumulator in the result. marks: only count; their table begins with its mark.
    """
    # Offsets are relative to the start of the result, so pass the address where it would be.
    cdef char* origin = <char*>(<size_t>sums - <size_t>low)
    cdef bint found = True
    if not (can_mark_late(job) or can_mark_rows_late(job)):
        apply_and_count(job, marks, origin, start, stop, status)
        if status[0] == OK:
            finish_elements(job, marks, sums, data, out, n)
        return
    apply_tuples(job, &job.step, NULL, origin, job.updates, start, stop, status)
    if status[0] != OK:
        return
    if job.step.by_value:
        found = not finish_unmarked(job, sums, out, data, n, start, stop)
    else:
        find_in_rows(job.step.row.item_bytes, identity_of(job), sums, 0, 1, n * row_items(job), &found)
    if found:
        count_tuples(job, marks, start, stop)
        finish_elements(job, marks, sums, data, out, n)
