# cython: cdivision=True
# Accumulators: what a segment is while its elements are reduced. Each is one or more words and a step; Python opens
# them and makes results of them (segments/states.py).
#
#     COUNT     of elements
#     TRUES     of elements that are not 0
#     FIRST     position; -1: none
#     LAST      position; -1: none
#     TOTAL     count, and the sum in order; a complex sum is two words
#     PRODUCT   count, and the product in order
#     GREATEST  value and position; -1: none. NaN is greatest, of equals the first one
#     LEAST     the same
#     MOMENTS   count, the first element, and the sums of the distances from it and of their squares, each as two
#               numbers that add up to it; closed: the second word is the sum of the squared distances from the mean
#     POWERS    the greatest element, and the sum of exp(element - greatest)
#
# An error of MOMENTS: the distances are rounded once, and their sums are as exact as if made in twice the precision. So
# a variance is at least as exact as one of two passes, although the first element may be far from the mean.
from libc.math cimport INFINITY, fma
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from common.codes cimport (
    COUNT, FIRST, GREATEST, LAST, LEAST, MOMENTS, POWERS, PRODUCT, TOTAL, TRUES, Accumulator,
)
from common.items cimport CACHE_LINE, flat_void, inline_void, prefetch_write
from scatter.steps cimport add, complex128, multiply
from segments.job cimport COMPLEX, ITEMS, REAL, SIGNED, WORD, Block, Job

cdef extern from "segments/exp.h":
    double exp_of "gs_exp" (double x) nogil

cdef enum:
    AHEAD = 16                  # positions
    PREFETCHED = 256            # bytes of a row, at most

ctypedef fused number_t:
    double
    int64_t
    uint64_t
    complex128


cdef inline inline_void add_exactly(double x, char* sum, char* rest) noexcept nogil:
    cdef double* s = <double*>sum
    cdef double total = s[0] + x, part = total - s[0]
    (<double*>rest)[0] += (s[0] - (total - part)) + (x - part)
    s[0] = total


cdef inline inline_void add_moments(double x, char* cell, Py_ssize_t stride) noexcept nogil:
    cdef int64_t* count = <int64_t*>cell
    cdef double* first = <double*>(cell + stride)
    first[0] = first[0] if count[0] else x
    count[0] += 1
    x -= first[0]
    add_exactly(x, cell + 2 * stride, cell + 3 * stride)
    add_exactly(x * x, cell + 4 * stride, cell + 5 * stride)


cdef inline void close_moments(char* cell, Py_ssize_t stride) noexcept nogil:
    """n Σd² - (Σd)², of which most digits may cancel, with what rounding loses of the products."""
    cdef double n = <double>(<int64_t*>cell)[0], sum = (<double*>(cell + 2 * stride))[0]
    cdef double squares = (<double*>(cell + 4 * stride))[0], product = n * squares, square = sum * sum, rest
    rest = fma(n, squares, -product) - fma(sum, sum, -square)
    rest += n * (<double*>(cell + 5 * stride))[0] - 2 * sum * (<double*>(cell + 3 * stride))[0]
    rest = (product - square + rest) / n
    (<double*>(cell + stride))[0] = 0 if rest < 0 or n == 0 else rest


cdef inline inline_void accumulate(bint adds, bint rounds, bint is_first, number_t x, char* cell,
                                   Py_ssize_t stride) noexcept nogil:
    """Add to a sum, or multiply a product, which has no identity in complex numbers: 1 × (NaN + i) is NaN + NaN i."""
    cdef number_t* value = <number_t*>cell
    cdef number_t y
    if number_t is complex128:
        y.real = (<double*>cell)[0]
        y.imag = (<double*>(cell + stride))[0]
        y = add(y, x) if adds else (x if is_first else multiply(y, x))
        (<double*>cell)[0] = y.real
        (<double*>(cell + stride))[0] = y.imag
    else:
        y = value[0] + x if adds else value[0] * x
        if number_t is double and rounds:
            y = <double><float>y
        value[0] = y


cdef inline inline_void apply_step(Accumulator what, bint rounds, number_t x, int64_t position, char* cell,
                                   Py_ssize_t stride) noexcept nogil:
    """stride: bytes from a word to the next."""
    cdef number_t* value = <number_t*>cell
    cdef int64_t* number = <int64_t*>cell
    cdef bint wins
    if what == COUNT:
        number[0] += 1
    elif what == TOTAL or what == PRODUCT:
        accumulate(what == TOTAL, rounds, number[0] == 0, x, cell + stride, stride)
        number[0] += 1
    elif what == FIRST:
        number[0] = position if number[0] < 0 else number[0]
    elif what == LAST:
        number[0] = position
    elif what == TRUES:
        if number_t is complex128:
            number[0] += x.real != 0 or x.imag != 0
        else:
            number[0] += x != 0
    elif number_t is complex128:
        pass  # has no order
    elif what == GREATEST or what == LEAST:
        number = <int64_t*>(cell + stride)
        wins = (number[0] < 0) | (x > value[0] if what == GREATEST else x < value[0])
        if number_t is double:
            wins |= (x != x) & (value[0] == value[0])
        value[0] = x if wins else value[0]
        number[0] = position if wins else number[0]
    elif number_t is double:  # MOMENTS
        add_moments(x, cell, stride)


cdef inline int words_of(Accumulator what, bint is_complex) noexcept nogil:
    if what == MOMENTS:
        return 6
    if what == GREATEST or what == LEAST or what == POWERS:
        return 2
    if what == TOTAL or what == PRODUCT:
        return 3 if is_complex else 2
    return 1


cdef inline inline_void prefetch_cell(const Job* job, const Block* block, const char* table,
                                      Py_ssize_t i) noexcept nogil:
    cdef Py_ssize_t line = CACHE_LINE
    if i + AHEAD < block.n:
        prefetch_write(table + block.offsets[i + AHEAD])
        while line < min(job.row_bytes, <Py_ssize_t>PREFETCHED):
            prefetch_write(table + block.offsets[i + AHEAD] + line)
            line += CACHE_LINE


cdef inline inline_void apply_to(Accumulator what, bint rounds, bint skips, bint is_far, Py_ssize_t columns,
                                 number_t* type, const Job* job, const Block* block, char* table) noexcept nogil:
    cdef Py_ssize_t i, j, stride = columns * WORD if columns == 1 else job.columns * WORD
    cdef const char* values = block.values
    cdef const number_t* row
    cdef char* cell
    for i in range(block.n):
        if is_far:
            prefetch_cell(job, block, table, i)
        cell = table + block.offsets[i]
        row = <const number_t*>values
        for j in range(columns):
            if skips:
                if number_t is complex128:
                    if row[j].real != row[j].real or row[j].imag != row[j].imag:
                        continue
                elif row[j] != row[j]:
                    continue
            apply_step(what, rounds, row[j], block.positions[i], cell + j * WORD, stride)
        values += block.step


cdef inline inline_void apply_runs(Accumulator what, bint rounds, number_t* type, const Block* block,
                                   char* table) noexcept nogil:
    """One column of sorted ids: a segment's accumulator stays in registers."""
    cdef Py_ssize_t i, n_bytes = words_of(what, number_t is complex128) * WORD
    cdef const char* values = block.values
    cdef double cell[6]
    cdef int64_t offset = block.offsets[0]
    memcpy(cell, table + offset, n_bytes)
    for i in range(block.n):
        if block.offsets[i] != offset:
            memcpy(table + offset, cell, n_bytes)
            offset = block.offsets[i]
            memcpy(cell, table + offset, n_bytes)
        apply_step(what, rounds, (<const number_t*>values)[0], block.positions[i], <char*>cell, WORD)
        values += block.step
    memcpy(table + offset, cell, n_bytes)


cdef inline inline_void apply_columns(Accumulator what, bint rounds, number_t* type, const Job* job,
                                      const Block* block, char* table) noexcept nogil:
    # A single column skips NaN by the row of no segment (skip_nan), without a branch.
    if job.columns == 1 and job.is_sorted:
        apply_runs(what, rounds, type, block, table)
    elif job.columns == 1 and job.is_far:
        apply_to(what, rounds, False, True, 1, type, job, block, table)
    elif job.columns == 1:
        apply_to(what, rounds, False, False, 1, type, job, block, table)
    elif job.skips_nan and (number_t is double or number_t is complex128):
        apply_to(what, rounds, True, True, block.columns, type, job, block, table)
    else:
        apply_to(what, rounds, False, job.is_far, block.columns, type, job, block, table)


cdef inline inline_void apply_typed(Accumulator what, bint rounds, const Job* job, const Block* block,
                                    char* table) noexcept nogil:
    if job.numbers == REAL or job.to_real:
        apply_columns(what, rounds, <double*>NULL, job, block, table)
    elif what == MOMENTS or rounds:
        pass  # of real numbers
    elif job.numbers == COMPLEX:
        if what != GREATEST and what != LEAST:
            apply_columns(what, rounds, <complex128*>NULL, job, block, table)
    elif job.numbers == SIGNED:
        apply_columns(what, rounds, <int64_t*>NULL, job, block, table)
    else:
        apply_columns(what, rounds, <uint64_t*>NULL, job, block, table)


cdef inline inline_void meet(double x, bint skips, double* greatest, double* above) noexcept nogil:
    above[0] = 0 if x == greatest[0] else x - greatest[0]  # 0: of infinities
    if skips and x != x:
        above[0] = -INFINITY
    greatest[0] = x if x > greatest[0] else greatest[0]


cdef inline inline_void add_power(double above, double power, double* sum) noexcept nogil:
    sum[0] = sum[0] * power + 1 if above > 0 else sum[0] + power


cdef inline inline_void apply_powers(bint runs, Py_ssize_t columns, const Job* job, const Block* block,
                                     char* table) noexcept nogil:
    """In three loops, of which the second is a vector's. runs: as in apply_runs."""
    cdef Py_ssize_t i, j, k = 0, stride = columns * WORD if columns == 1 else job.columns * WORD
    cdef double above[ITEMS]
    cdef double powers[ITEMS]
    cdef int64_t offset = block.offsets[0]
    cdef double greatest = (<double*>(table + offset))[0], sum = (<double*>(table + offset + stride))[0]
    for i in range(block.n):
        if runs:
            if block.offsets[i] != offset:
                (<double*>(table + offset))[0] = greatest
                offset = block.offsets[i]
                greatest = (<double*>(table + offset))[0]
            meet((<const double*>(block.values + i * block.step))[0], False, &greatest, above + i)
            continue
        prefetch_cell(job, block, table, i)
        for j in range(columns):
            meet((<const double*>(block.values + i * block.step))[j], columns != 1 and job.skips_nan,
                 <double*>(table + block.offsets[i]) + j, above + k)
            k += 1
    if runs:
        (<double*>(table + offset))[0] = greatest
    for k in range(block.n * columns):
        powers[k] = exp_of(-above[k] if above[k] > 0 else above[k])
    k = 0
    offset = block.offsets[0]
    for i in range(block.n):
        if runs:
            if block.offsets[i] != offset:
                (<double*>(table + offset + stride))[0] = sum
                offset = block.offsets[i]
                sum = (<double*>(table + offset + stride))[0]
            add_power(above[i], powers[i], &sum)
            continue
        for j in range(columns):
            add_power(above[k], powers[k], <double*>(table + block.offsets[i] + stride) + j)
            k += 1
    if runs:
        (<double*>(table + offset + stride))[0] = sum


cdef inline flat_void apply_one(Accumulator what, const Job* job, const Block* block, char* table) noexcept nogil:
    if what == TOTAL and job.rounds:
        apply_typed(TOTAL, True, job, block, table)
    elif what == PRODUCT and job.rounds:
        apply_typed(PRODUCT, True, job, block, table)
    elif what == TOTAL:
        apply_typed(TOTAL, False, job, block, table)
    elif what == COUNT:
        apply_typed(COUNT, False, job, block, table)
    elif what == GREATEST:
        apply_typed(GREATEST, False, job, block, table)
    elif what == LEAST:
        apply_typed(LEAST, False, job, block, table)
    elif what == MOMENTS:
        apply_typed(MOMENTS, False, job, block, table)
    elif what == POWERS:
        if job.columns == 1 and job.is_sorted:
            apply_powers(True, 1, job, block, table)
        elif job.columns == 1:
            apply_powers(False, 1, job, block, table)
        else:
            apply_powers(False, block.columns, job, block, table)
    elif what == FIRST:
        apply_typed(FIRST, False, job, block, table)
    elif what == LAST:
        apply_typed(LAST, False, job, block, table)
    elif what == TRUES:
        apply_typed(TRUES, False, job, block, table)
    else:
        apply_typed(PRODUCT, False, job, block, table)


cdef inline void skip_nan(const Job* job, int64_t none, Block* block) noexcept nogil:
    """Let NaN have no segment, where there is one column."""
    cdef Py_ssize_t i
    cdef const double* x = <const double*>block.values
    for i in range(block.n):
        if job.numbers == COMPLEX:
            block.offsets[i] = none if (x[2 * i] != x[2 * i]) | (x[2 * i + 1] != x[2 * i + 1]) else block.offsets[i]
        else:
            block.offsets[i] = none if x[i] != x[i] else block.offsets[i]


cdef inline void apply_block(const Job* job, const Block* block, char* table) noexcept nogil:
    """Reduce the elements of a block. table: that of its unit, from its column on."""
    cdef int a
    for a in range(job.n_accumulators):
        apply_one(job.accumulators[a], job, block, table + job.at[a])


cdef inline void close_row(const Job* job, char* row) noexcept nogil:
    cdef Py_ssize_t j
    cdef int a
    for a in range(job.n_accumulators):
        if job.accumulators[a] == MOMENTS:
            for j in range(job.columns):
                close_moments(row + job.at[a] + j * WORD, job.columns * WORD)
