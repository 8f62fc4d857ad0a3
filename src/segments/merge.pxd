# cython: cdivision=True
# Merging: an accumulator gets the elements of another one, too, whose positions are later.
from libc.stdint cimport int64_t, uint64_t

from common.codes cimport (
    COUNT, COUNTED_TOTAL, FALSES, FIRST, GREATEST, LAST, LEAST, MAXIMUM, MINIMUM, MOMENTS, POWERS, PRODUCT, SQUARES,
    TOTAL, TRUES, Accumulator,
)
from common.items cimport flat_void, inline_void
from scatter.steps cimport complex128
from segments.accumulators cimport accumulate, apply_step, keep_extreme, number_t
from segments.job cimport COMPLEX, SIGNED, UNSIGNED, WORD, Job

cdef enum:
    ROUGH = 64                  # squares of distances from the first element, to those from the mean


cdef inline inline_void merge_moments(char* cell, const char* later, Py_ssize_t stride, int* is_rough) noexcept nogil:
    """The distances become those from the earlier first element.

    is_rough: where the first element is so far from the mean that the variance loses digits.
    """
    cdef int64_t n = (<const int64_t*>later)[0]
    cdef const double* first = <const double*>(later + stride)
    cdef double* apart = <double*>(cell + 2 * stride)
    cdef double* squares = <double*>(cell + 3 * stride)
    cdef double total = (<const double*>(later + 2 * stride))[0], own = (<const double*>(later + 3 * stride))[0], mean
    if n == 0:
        return
    if (<int64_t*>cell)[0] == 0:
        (<int64_t*>cell)[0], (<double*>(cell + stride))[0], apart[0], squares[0] = n, first[0], total, own
        return
    mean = total / <double>n
    if total * mean > ROUGH * (own - total * mean):
        is_rough[0] = 1
    own -= total * mean
    mean += first[0] - (<double*>(cell + stride))[0]
    (<int64_t*>cell)[0] += n
    apart[0] += <double>n * mean
    squares[0] += (0 if own < 0 else own) + <double>n * (mean * mean)


cdef inline inline_void merge_typed(Accumulator what, bint rounds, number_t* type, char* cell, const char* later,
                                    Py_ssize_t stride, int* is_rough) noexcept nogil:
    cdef const int64_t* number = <const int64_t*>later
    cdef number_t x
    if what == TOTAL or what == COUNTED_TOTAL or what == PRODUCT:
        later += 0 if what == TOTAL else stride
        if number_t is complex128:
            x.real, x.imag = (<const double*>later)[0], (<const double*>(later + stride))[0]
        else:
            x = (<const number_t*>later)[0]
        if what == TOTAL:
            accumulate(True, rounds, False, x, cell, stride)
        elif number[0]:
            accumulate(what == COUNTED_TOTAL, rounds, (<int64_t*>cell)[0] == 0, x, cell + stride, stride)
            (<int64_t*>cell)[0] += number[0]
    elif what == COUNT or what == TRUES or what == FALSES:
        (<int64_t*>cell)[0] += number[0]
    elif what == FIRST or what == LAST:
        if number[0] >= 0:
            apply_step(what, False, False, True, (<number_t*>later)[0], number[0], cell, stride)
    elif what == GREATEST or what == LEAST:
        if (<const int64_t*>(later + stride))[0] >= 0:
            keep_extreme(what == GREATEST, True, (<number_t*>later)[0], (<const int64_t*>(later + stride))[0], cell,
                         stride)
    elif what == MOMENTS:
        merge_moments(cell, later, stride, is_rough)
    elif what == SQUARES or what == POWERS:  # sums, behind what is known
        (<double*>(cell + stride))[0] += (<const double*>(later + stride))[0]
        if what == SQUARES:
            (<double*>(cell + 2 * stride))[0] += (<const double*>(later + 2 * stride))[0]
    else:
        apply_step(what, False, True, True, (<number_t*>later)[0], 0, cell, stride)


cdef inline inline_void merge_loop(Accumulator what, bint rounds, number_t* type, const Job* job, Py_ssize_t n,
                                   char* rows, const char* later) noexcept nogil:
    cdef Py_ssize_t i, j, stride = job.columns * WORD, at
    for i in range(n):
        for j in range(job.columns):
            at = i * job.row_bytes + j * WORD
            merge_typed(what, rounds, type, rows + at, later + at, stride, job.is_rough)


cdef inline inline_void merge_numbers(Accumulator what, bint rounds, const Job* job, Py_ssize_t n, char* rows,
                                      const char* later) noexcept nogil:
    if job.numbers == COMPLEX:
        merge_loop(what, rounds, <complex128*>NULL, job, n, rows, later)
    elif job.numbers == SIGNED and not job.to_real:
        merge_loop(what, rounds, <int64_t*>NULL, job, n, rows, later)
    elif job.numbers == UNSIGNED and not job.to_real:
        merge_loop(what, rounds, <uint64_t*>NULL, job, n, rows, later)
    else:
        merge_loop(what, rounds, <double*>NULL, job, n, rows, later)


cdef inline bint may_regroup(const Job* job) noexcept nogil:
    """Whether the accumulators have the same bits in blocks of any size."""
    cdef int a
    cdef Accumulator what
    cdef bint of_integers = job.numbers in (SIGNED, UNSIGNED) and not job.to_real
    for a in range(job.n_accumulators):
        what = job.accumulators[a]
        if what not in (COUNT, TRUES, FALSES, FIRST, LAST, MAXIMUM, MINIMUM, GREATEST, LEAST) and not (
                of_integers and what in (TOTAL, COUNTED_TOTAL, PRODUCT)):
            return False
    return True


cdef inline flat_void merge_rows(const Job* job, Py_ssize_t n, char* rows, const char* later) noexcept nogil:
    """Of n segments, those of a later range of positions into those of an earlier one."""
    cdef int a
    cdef Accumulator what
    cdef Py_ssize_t offset
    for a in range(job.n_accumulators):
        what, offset = job.accumulators[a], job.offset[a]
        if what == TOTAL and not job.rounds:
            merge_numbers(TOTAL, False, job, n, rows + offset, later + offset)
        elif what == COUNTED_TOTAL and not job.rounds:
            merge_numbers(COUNTED_TOTAL, False, job, n, rows + offset, later + offset)
        elif what == COUNT:
            merge_numbers(COUNT, False, job, n, rows + offset, later + offset)
        elif what == MAXIMUM or what == MINIMUM:
            if what == MAXIMUM:
                merge_numbers(MAXIMUM, False, job, n, rows + offset, later + offset)
            else:
                merge_numbers(MINIMUM, False, job, n, rows + offset, later + offset)
        elif what == MOMENTS:
            merge_numbers(MOMENTS, False, job, n, rows + offset, later + offset)
        else:
            merge_numbers(what, job.rounds, job, n, rows + offset, later + offset)
