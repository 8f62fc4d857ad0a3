# cython: cdivision=True
# Dot products of rows of two arrays, one for each pair of indices: the gradients of the weights of gather_scatter.
from libc.stdint cimport int32_t
from libc.string cimport memcpy, memset

from common.codes cimport ADD, MUL
from common.interrupts cimport WORK_STEP, Interrupts, block_of, is_interrupted
from common.items cimport PREFETCHED, flat_void, inline_void, prefetch_row_l2
from scatter.kernels cimport rows_ahead
from scatter.steps cimport floating
from scatter.vectors cimport VECTOR, combine_vector

cdef struct Dots:
    const char* rows[2]         # of two arrays
    const int32_t* numbers[2]   # of the rows of each pair
    Py_ssize_t row_bytes
    Py_ssize_t n_items          # of a product: a row has one or several, of as many items
    Py_ssize_t n_pairs
    bint is_double
    char* products
    Interrupts* interrupts


cdef inline inline_void multiply_add(floating* type, const char* a, const char* b, Py_ssize_t n,
                                     char* result) noexcept nogil:
    """In one order on every CPU: partial sums of vectors, their sum, and the rest."""
    cdef char sums[VECTOR]
    cdef char product[VECTOR]
    cdef Py_ssize_t i, size = sizeof(floating), n_bytes = n * size, at = 0
    cdef floating total = 0, x, y
    memset(sums, 0, VECTOR)
    while at + VECTOR <= n_bytes:
        memcpy(product, a + at, VECTOR)
        combine_vector(MUL, type, product, b + at)
        combine_vector(ADD, type, sums, product)
        at += VECTOR
    for i in range(VECTOR // <Py_ssize_t>sizeof(floating)):
        memcpy(&x, sums + i * size, sizeof(floating))
        total += x
    while at < n_bytes:
        memcpy(&x, a + at, sizeof(floating))
        memcpy(&y, b + at, sizeof(floating))
        total += x * y
        at += size
    memcpy(result, &total, sizeof(floating))


cdef inline inline_void dot_typed(floating* type, const Dots* dots, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    cdef Py_ssize_t i, at, ahead = rows_ahead(dots.row_bytes), n_bytes = dots.n_items * <Py_ssize_t>sizeof(floating)
    cdef Py_ssize_t prefetched = min(dots.row_bytes, <Py_ssize_t>PREFETCHED)
    cdef char* to = dots.products + start * (dots.row_bytes // n_bytes) * <Py_ssize_t>sizeof(floating)
    cdef const char* a
    cdef const char* b
    for i in range(start, stop):
        if i + ahead < dots.n_pairs:
            prefetch_row_l2(dots.rows[0] + dots.numbers[0][i + ahead] * dots.row_bytes, prefetched)
            prefetch_row_l2(dots.rows[1] + dots.numbers[1][i + ahead] * dots.row_bytes, prefetched)
        a = dots.rows[0] + dots.numbers[0][i] * dots.row_bytes
        b = dots.rows[1] + dots.numbers[1][i] * dots.row_bytes
        at = 0
        while at < dots.row_bytes:
            multiply_add(type, a + at, b + at, dots.n_items, to)
            at += n_bytes
            to += sizeof(floating)


cdef inline flat_void dot_chunk(const Dots* dots, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    cdef Py_ssize_t work = 1 + (dots.row_bytes >> 3), n = block_of(work, WORK_STEP), last
    while start < stop and not is_interrupted(dots.interrupts, n * work):
        last = min(start + n, stop)
        if dots.is_double:
            dot_typed(<double*>NULL, dots, start, last)
        else:
            dot_typed(<float*>NULL, dots, start, last)
        start = last
