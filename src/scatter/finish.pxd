# cython: cdivision=True
# What opens and closes accumulators besides conversions: the division of means, and rows without updates, which become
# those of data.
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from common.codes cimport (
    BFLOAT16, COMPLEX64, COMPLEX128, FLOAT16, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32,
    UINT64,
)
from common.items cimport flat_void, inline_void
from scatter.kernels cimport Kernel, mark_of
from scatter.steps cimport bfloat16, complex64, complex128, float16, quotient, terms_t, value_t

ctypedef fused count_t:
    uint32_t
    uint64_t

cdef struct Equal:          # no mark
    char _

ctypedef fused any_mark_t:
    Equal
    uint8_t
    uint32_t
    uint64_t


# Means: accumulators are divided by their counts.

cdef inline inline_void divide_of(value_t* type, count_t* counts, int more, Py_ssize_t n_items,
                                  Py_ssize_t row_bytes, char* accumulators, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef value_t a
    if n_items == 1 and row_bytes == sizeof(value_t):  # without a branch, so that it is vectorised
        for i in range(n):
            memcpy(&a, accumulators + i * <Py_ssize_t>sizeof(value_t), sizeof(value_t))
            a = quotient_of(a, counts, i, more)
            memcpy(accumulators + i * <Py_ssize_t>sizeof(value_t), &a, sizeof(value_t))
        return
    for i in range(n):
        if counts[i]:
            if count_t is uint32_t:
                divide_row(type, <int32_t>counts[i] + more, n_items, accumulators + i * row_bytes)
            else:
                divide_row(type, <int64_t>counts[i] + more, n_items, accumulators + i * row_bytes)


cdef inline inline_void divide_row(value_t* type, terms_t terms, Py_ssize_t n_items, char* row) noexcept nogil:
    cdef Py_ssize_t j
    cdef value_t a
    for j in range(n_items):
        memcpy(&a, row + j * <Py_ssize_t>sizeof(value_t), sizeof(value_t))
        a = quotient(a, terms)
        memcpy(row + j * <Py_ssize_t>sizeof(value_t), &a, sizeof(value_t))


cdef inline value_t quotient_of(value_t total, count_t* counts, Py_ssize_t i, int more) noexcept nogil:
    """The quotient, if the count is not 0."""
    cdef int32_t terms
    if count_t is uint32_t:
        terms = <int32_t>counts[i] + more
        return quotient(total, terms) if counts[i] else total
    else:
        return quotient(total, <int64_t>counts[i] + more) if counts[i] else total


cdef inline inline_void divide_counted(count_t* counts, const Kernel* kernel, int more, char* accumulators,
                                       Py_ssize_t n) noexcept nogil:
    cdef int type_code = kernel.type_code
    cdef Py_ssize_t items = kernel.n_items, row_bytes = kernel.row_bytes
    if type_code == FLOAT32:
        divide_of(<float*>NULL, counts, more, items, row_bytes, accumulators, n)
    elif type_code == FLOAT64:
        divide_of(<double*>NULL, counts, more, items, row_bytes, accumulators, n)
    elif type_code == INT64:
        divide_of(<int64_t*>NULL, counts, more, items, row_bytes, accumulators, n)
    elif type_code == INT32:
        divide_of(<int32_t*>NULL, counts, more, items, row_bytes, accumulators, n)
    elif type_code == FLOAT16:
        divide_of(<float16*>NULL, counts, more, items, row_bytes, accumulators, n)
    elif type_code == BFLOAT16:
        divide_of(<bfloat16*>NULL, counts, more, items, row_bytes, accumulators, n)
    elif type_code == COMPLEX64:
        divide_of(<complex64*>NULL, counts, more, items, row_bytes, accumulators, n)
    elif type_code == COMPLEX128:
        divide_of(<complex128*>NULL, counts, more, items, row_bytes, accumulators, n)
    elif type_code == INT8:
        divide_of(<int8_t*>NULL, counts, more, items, row_bytes, accumulators, n)
    elif type_code == INT16:
        divide_of(<int16_t*>NULL, counts, more, items, row_bytes, accumulators, n)
    elif type_code == UINT8:
        divide_of(<uint8_t*>NULL, counts, more, items, row_bytes, accumulators, n)
    elif type_code == UINT16:
        divide_of(<uint16_t*>NULL, counts, more, items, row_bytes, accumulators, n)
    elif type_code == UINT32:
        divide_of(<uint32_t*>NULL, counts, more, items, row_bytes, accumulators, n)
    elif type_code == UINT64:
        divide_of(<uint64_t*>NULL, counts, more, items, row_bytes, accumulators, n)


cdef inline flat_void divide(const Kernel* kernel, bint more, char* accumulators, char* counts,
                             Py_ssize_t n) noexcept nogil:
    """Divide n adjacent accumulators, each by its count plus `more`, except where the count is 0."""
    if kernel.mark_bytes == 4:
        divide_counted(<uint32_t*>counts, kernel, more, accumulators, n)
    else:
        divide_counted(<uint64_t*>counts, kernel, more, accumulators, n)


# include_self=False: accumulators without updates are replaced.

ctypedef fused replaced_t:
    uint8_t
    uint16_t
    uint32_t
    uint64_t
    complex128


cdef inline inline_void replace_of(replaced_t* type, any_mark_t* marks, const char* identity, const char* data,
                                   char* accumulators, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef replaced_t a, b, start, kept
    cdef bint has_update
    if any_mark_t is Equal:
        memcpy(&start, identity, sizeof(replaced_t))
    for i in range(n):
        memcpy(&a, accumulators + i * <Py_ssize_t>sizeof(replaced_t), sizeof(replaced_t))
        memcpy(&b, data + i * <Py_ssize_t>sizeof(replaced_t), sizeof(replaced_t))
        if any_mark_t is not Equal:
            has_update = marks[i] != 0
        elif replaced_t is complex128:
            has_update = memcmp(&a, &start, sizeof(replaced_t)) != 0
        else:
            has_update = a != start
        if replaced_t is complex128:
            a = a if has_update else b
        else:
            kept = -<replaced_t>has_update  # a branch would be mispredicted
            a = (a & kept) | (b & ~kept)
        memcpy(accumulators + i * <Py_ssize_t>sizeof(replaced_t), &a, sizeof(replaced_t))


cdef inline flat_void replace_short_rows(const Kernel* kernel, const char* marks, const char* data,
                                         char* accumulators, Py_ssize_t n) noexcept nogil:
    """Let rows of few bytes without updates become those of data. No branch: it would be mispredicted."""
    cdef Py_ssize_t i, j, n_words = kernel.row_bytes // <Py_ssize_t>sizeof(uint32_t)
    cdef uint32_t a, b, kept
    for i in range(n):
        kept = -<uint32_t>(mark_of(kernel, marks, i) != 0)
        for j in range(i * n_words, (i + 1) * n_words):
            memcpy(&a, accumulators + 4 * j, 4)
            memcpy(&b, data + 4 * j, 4)
            a = (a & kept) | (b & ~kept)
            memcpy(accumulators + 4 * j, &a, 4)


cdef inline inline_void replace_typed(replaced_t* type, int mark_bytes, const char* marks, const char* identity,
                                      const char* data, char* accumulators, Py_ssize_t n) noexcept nogil:
    if mark_bytes == 0:
        replace_of(type, <Equal*>NULL, identity, data, accumulators, n)
    elif mark_bytes == 1:
        replace_of(type, <uint8_t*>marks, identity, data, accumulators, n)
    elif mark_bytes == 4:
        replace_of(type, <uint32_t*>marks, identity, data, accumulators, n)
    else:
        replace_of(type, <uint64_t*>marks, identity, data, accumulators, n)


cdef inline flat_void replace_unmarked(Py_ssize_t width, int mark_bytes, const char* marks, const char* identity,
                                       const char* data, char* accumulators, Py_ssize_t n) noexcept nogil:
    """Let accumulators of one element without updates become those of data.

    mark_bytes: 0: those that are still the identity have none.
    """
    if width == 4:
        replace_typed(<uint32_t*>NULL, mark_bytes, marks, identity, data, accumulators, n)
    elif width == 8:
        replace_typed(<uint64_t*>NULL, mark_bytes, marks, identity, data, accumulators, n)
    elif width == 1:
        replace_typed(<uint8_t*>NULL, mark_bytes, marks, identity, data, accumulators, n)
    elif width == 2:
        replace_typed(<uint16_t*>NULL, mark_bytes, marks, identity, data, accumulators, n)
    else:
        replace_typed(<complex128*>NULL, mark_bytes, marks, identity, data, accumulators, n)
