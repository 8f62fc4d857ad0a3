# cython: cdivision=True
# Accumulators: what a segment is while its elements are reduced. Each is one or more words and a step; Python opens
# them and makes results of them (segments/by_kernels.py).
#
#     COUNT     of elements
#     TRUES     of elements that are not 0
#     FALSES    of others
#     FIRST     position; -1: none
#     LAST      position; -1: none
#     TOTAL     the sum; a complex one is two words
#     COUNTED_TOTAL  count, and the sum
#     PRODUCT   count, and the product
#     MAXIMUM   NaN is greatest, of equals the first one
#     MINIMUM   NaN is least
#     GREATEST  maximum and its position; -1: none
#     LEAST     the same of the minimum
#     MOMENTS   count, the first element, and the sums of the distances from it and of their squares
#     SQUARES   the mean, which is known, and the sums of the distances from it and of their squares
#     POWERS    the maximum, which is known, and the sum of exp(element - maximum)
#
# Each is made of elements in their order; those of two ranges of positions can be merged.
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from common.codes cimport (
    COUNT, COUNTED_TOTAL, FALSES, FIRST, GREATEST, LAST, LEAST, MAXIMUM, MINIMUM, MOMENTS, POWERS, PRODUCT, SQUARES,
    TOTAL, TRUES, Accumulator,
)
from common.items cimport (
    AHEAD, CACHE_LINE, STREAM_AHEAD, flat_void, inline_void, prefetch_l1, prefetch_write, scalar,
)
from scatter.steps cimport add, complex128, multiply
from segments.job cimport (
    COMPLEX, ITEMS, REAL, SIGNED, SINGLE, WORD, Block, Job, find_runs, id_t, number_bytes,
)

cdef extern from "segments/exp.h":
    ctypedef struct Rows "gs_rows":
        const char* x
        Py_ssize_t x_step
        char* table
        const int64_t* rows
        Py_ssize_t n
        Py_ssize_t columns
        Py_ssize_t stride
        char* out
        Py_ssize_t out_step
        const uint32_t* sources
        bint by_sources
        int64_t none
        bint skips_nan
        bint is_log

    void raise_doubles "gs_raise_double" (const double* x, Py_ssize_t n, double* powers) nogil
    void raise_floats "gs_raise_float" (const float* x, Py_ssize_t n, float* powers) nogil
    void power_doubles "gs_power_rows_double" (const Rows* rows) nogil
    void power_floats "gs_power_rows_float" (const Rows* rows) nogil

cdef enum:
    UNROLLED = 4                # positions by ids: eight take as long, and twice as long to compile
    MAX_WORDS = 4               # of an accumulator

ctypedef fused number_t:
    double
    int64_t
    uint64_t
    complex128
    float                       # of maxima and powers, whose accumulators are double

ctypedef fused real_t:
    double
    float


cdef inline bint is_nan(number_t x) noexcept nogil:
    if number_t is complex128:
        return (x.real != x.real) | (x.imag != x.imag)
    else:
        return x != x


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


cdef inline bint exceeds(bint greatest, bint has_nan, number_t x, number_t value) noexcept nogil:
    """Whether x is greater, or less; NaN is, than all but NaN. has_nan: x may be NaN."""
    cdef bint wins = False
    if number_t is not complex128:  # which has no order
        wins = x > value if greatest else x < value
        if number_t is double and has_nan:
            wins |= (x != x) & (value == value)
    return wins


cdef inline inline_void keep_extreme(bint greatest, bint selects, number_t x, int64_t position, char* cell,
                                     Py_ssize_t stride) noexcept nogil:
    """selects: in a vector. One by one, a branch is faster, since few elements win."""
    cdef number_t* value = <number_t*>cell
    cdef int64_t* at = <int64_t*>(cell + stride)
    cdef bint wins
    if number_t is not complex128:
        if selects:
            wins = (at[0] < 0) | exceeds(greatest, True, x, value[0])
            value[0] = x if wins else value[0]
            at[0] = position if wins else at[0]
        elif (not (x <= value[0] if greatest else x >= value[0])) | (at[0] < 0):  # NaN, too
            if at[0] < 0 or exceeds(greatest, True, x, value[0]):
                value[0] = x
                at[0] = position


cdef inline inline_void apply_step(Accumulator what, bint rounds, bint selects, bint has_nan, number_t x,
                                   int64_t position, char* cell, Py_ssize_t stride) noexcept nogil:
    """stride: bytes from a word to the next."""
    cdef int64_t* number = <int64_t*>cell
    cdef number_t* value = <number_t*>cell
    cdef double* squares = <double*>(cell + 2 * stride)
    cdef double* first = <double*>(cell + stride)
    cdef double apart
    if number_t is float:
        apply_step(what, rounds, selects, has_nan, <double>x, position, cell, stride)
    elif what == COUNT:
        number[0] += 1
    elif what == TOTAL:
        accumulate(True, rounds, False, x, cell, stride)
    elif what == COUNTED_TOTAL or what == PRODUCT:
        accumulate(what == COUNTED_TOTAL, rounds, number[0] == 0, x, cell + stride, stride)
        number[0] += 1
    elif what == FIRST:
        number[0] = position if number[0] < 0 else number[0]
    elif what == LAST:
        number[0] = position
    elif what == TRUES or what == FALSES:
        if number_t is complex128:
            number[0] += (x.real != 0 or x.imag != 0) == (what == TRUES)
        else:
            number[0] += (x != 0) == (what == TRUES)
    elif what == MAXIMUM or what == MINIMUM:
        if number_t is not complex128:
            if selects:
                value[0] = x if exceeds(what == MAXIMUM, has_nan, x, value[0]) else value[0]
            elif exceeds(what == MAXIMUM, has_nan, x, value[0]):
                value[0] = x
    elif what == GREATEST or what == LEAST:
        keep_extreme(what == GREATEST, selects, x, position, cell, stride)
    elif what == MOMENTS:
        if number_t is double:
            first[0] = first[0] if number[0] else x
            apart = x - first[0]
            number[0] += 1
            squares[0] += apart
            (<double*>(cell + 3 * stride))[0] += apart * apart
    elif number_t is double:  # SQUARES
        apart = x - (<double*>cell)[0]
        (<double*>(cell + stride))[0] += apart
        squares[0] += apart * apart


cdef inline int words_of(Accumulator what, bint is_complex) noexcept nogil:
    if what == MOMENTS or what == SQUARES:
        return 4 if what == MOMENTS else 3
    if what == TOTAL or what == COUNTED_TOTAL or what == PRODUCT:
        return 1 + is_complex + (what != TOTAL)
    return 2 if what == GREATEST or what == LEAST else 1


cdef inline inline_void prefetch_ahead(const Job* job, const Block* block, Py_ssize_t i,
                                       const char* table) noexcept nogil:
    """Of a table that is far: at most four cache lines of a row."""
    cdef const char* row
    cdef Py_ssize_t line = CACHE_LINE
    if i + AHEAD < block.n:
        row = table + block.rows[i + AHEAD]
        prefetch_write(row)
        while line < min(job.row_bytes, <Py_ssize_t>4 * CACHE_LINE):
            prefetch_write(row + line)
            line += CACHE_LINE


cdef inline inline_void add_unless_nan(bint has_count, bint rounds, double x, char* cell) noexcept nogil:
    """A sum, without a branch. -0.0 is its identity."""
    if has_count:
        (<int64_t*>cell)[0] += x == x
    accumulate(True, rounds, False, x if x == x else -0.0, cell + (WORD if has_count else 0), WORD)


cdef inline inline_void apply_ids(Accumulator what, bint rounds, bint skips, bint is_tile, id_t* ids,
                                  number_t* type, const Job* job, const Block* block, char* table) noexcept nogil:
    """One column, by ids in memory, of which there is a multiple of UNROLLED."""
    cdef Py_ssize_t group, start, i, j, n = block.n
    cdef int64_t id, position, row, row_bytes = job.row_bytes, none = block.none
    cdef uint64_t n_segments = job.n
    cdef const number_t* values = <const number_t*>block.values
    cdef bint prefetches, adds = skips and number_t is double and (what == TOTAL or what == COUNTED_TOTAL)
    cdef number_t x
    for group in range(n // UNROLLED):
        start = group * UNROLLED
        prefetch_l1(<const char*>(values + start) + STREAM_AHEAD)  # which the hardware loses between random accesses
        prefetch_l1(<const char*>(ids + start) + STREAM_AHEAD)
        prefetches = job.prefetches and start + AHEAD + UNROLLED <= block.n_ids
        for j in range(UNROLLED):
            i = start + j
            if prefetches:
                prefetch_write(table + <int64_t>ids[i + AHEAD] * row_bytes)
            id, x = ids[i], values[i]
            row = id * row_bytes
            row = row if <uint64_t>id < n_segments else none
            if adds:  # to choose a value takes less time than an address
                add_unless_nan(what == COUNTED_TOTAL, rounds, (<const double*>values)[i], table + row)
                continue
            if skips:
                row = none if is_nan(x) else row
            position = block.first + (block.sources[i] if is_tile else i)
            apply_step(what, rounds, False, True, x, position, table + row, WORD)


cdef inline inline_void apply_any_ids(Accumulator what, bint rounds, bint skips, number_t* type, const Job* job,
                                      const Block* block, char* table) noexcept nogil:
    if block.sources != NULL:
        apply_ids(what, rounds, False, True, <const uint32_t*>block.ids, type, job, block, table)
    elif block.id_bytes == 4:
        apply_ids(what, rounds, skips, False, <const int32_t*>block.ids, type, job, block, table)
    else:
        apply_ids(what, rounds, skips, False, <const int64_t*>block.ids, type, job, block, table)


cdef inline inline_void apply_columns(Accumulator what, bint rounds, bint skips, number_t* type, const Job* job,
                                      const Block* block, char* table) noexcept nogil:
    cdef Py_ssize_t i, j, stride = job.columns * WORD
    cdef const number_t* row
    cdef char* cell
    cdef int64_t position
    for i in range(block.n):
        if job.prefetches:
            prefetch_ahead(job, block, i, table)
        position = i if block.sources == NULL else block.sources[i]
        row = <const number_t*>(block.values + (position if block.by_sources else i) * block.step)
        cell = table + block.rows[i]
        position += block.first
        for j in range(block.columns):
            if skips:
                if is_nan(row[j]):
                    continue
            apply_step(what, rounds, True, True, row[j], position, cell + j * WORD, stride)


cdef inline inline_void apply_runs(Accumulator what, bint rounds, bint skips, bint has_nan, number_t* type,
                                   const Job* job, const Block* block, char* table) noexcept nogil:
    """One column: the accumulator of a run's segment stays in registers."""
    cdef Py_ssize_t i = 0, run, word, n_words = words_of(what, number_t is complex128)
    cdef const number_t* values = <const number_t*>block.values
    cdef int64_t value
    cdef char cell[MAX_WORDS * WORD]  # of char, which words of any type may alias
    cdef char* row
    for run in range(block.n_runs):
        row = table + block.rows[run]
        memcpy(cell, row, n_words * WORD)
        while i < block.ends[run]:
            if skips and (what == TOTAL or what == COUNTED_TOTAL) and number_t is double:
                add_unless_nan(what == COUNTED_TOTAL, rounds, (<const double*>values)[i], cell)
            elif not skips or not is_nan(values[i]):
                apply_step(what, rounds, True, has_nan, values[i], block.first + i, cell, WORD)
            i += 1
        for word in range(n_words):  # one by one, as they were written: a vector would wait for the stores
            memcpy(&value, cell + word * WORD, WORD)
            value = scalar(value)
            memcpy(row + word * WORD, &value, WORD)


cdef inline bint any_nan(const number_t* values, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef int found = 0
    for i in range(n):
        found |= is_nan(values[i])
    return found != 0


cdef inline inline_void apply_numbers(Accumulator what, bint rounds, bint skips, number_t* type, const Job* job,
                                      const Block* block, char* table) noexcept nogil:
    if block.by_ids:
        apply_any_ids(what, rounds, skips, type, job, block, table)
    elif job.columns != 1 or not block.n_runs:
        apply_columns(what, rounds, skips, type, job, block, table)
    else:
        if (what == MAXIMUM or what == MINIMUM) and (number_t is double or number_t is float):
            if not any_nan(<const number_t*>block.values, block.n):
                apply_runs(what, rounds, False, False, type, job, block, table)
                return
        apply_runs(what, rounds, skips, True, type, job, block, table)


cdef inline inline_void apply_typed(Accumulator what, bint rounds, const Job* job, const Block* block,
                                    char* table) noexcept nogil:
    if job.numbers == SINGLE:
        if what == MAXIMUM or what == MINIMUM:
            if job.skips_nan:
                apply_numbers(what, rounds, True, <float*>NULL, job, block, table)
            else:
                apply_numbers(what, rounds, False, <float*>NULL, job, block, table)
    elif job.numbers == REAL or job.to_real:
        if job.skips_nan:
            apply_numbers(what, rounds, True, <double*>NULL, job, block, table)
        else:
            apply_numbers(what, rounds, False, <double*>NULL, job, block, table)
    elif what == MOMENTS or what == SQUARES or rounds:
        pass  # of real numbers
    elif job.numbers == COMPLEX:
        if what not in (MAXIMUM, MINIMUM, GREATEST, LEAST):
            if job.skips_nan:
                apply_numbers(what, rounds, True, <complex128*>NULL, job, block, table)
            else:
                apply_numbers(what, rounds, False, <complex128*>NULL, job, block, table)
    elif job.numbers == SIGNED or what not in (MAXIMUM, MINIMUM, GREATEST, LEAST):  # which alone depend on the sign
        apply_numbers(what, rounds, False, <int64_t*>NULL, job, block, table)
    else:
        apply_numbers(what, rounds, False, <uint64_t*>NULL, job, block, table)


cdef inline inline_void apply_to_column(real_t* type, const Job* job, const Block* block, char* table) noexcept nogil:
    """Powers of one column, in three loops, of which the second is a vector's."""
    cdef real_t apart[ITEMS]
    cdef real_t powers[ITEMS]
    cdef Py_ssize_t i = 0, run
    cdef const real_t* values = <const real_t*>block.values
    cdef real_t* out = <real_t*>block.out
    cdef real_t greatest
    cdef double* row
    cdef double kept
    for run in range(block.n_runs):
        greatest = <real_t>(<double*>(table + block.rows[run]))[0]
        while i < block.ends[run]:
            apart[i] = distance(values[i], greatest, job.skips_nan)
            i += 1
    for i in range(i, block.n):
        if job.prefetches:
            prefetch_ahead(job, block, i, table)
        apart[i] = distance(values[i], <real_t>(<double*>(table + block.rows[i]))[0], job.skips_nan)
    if real_t is float:
        raise_floats(apart, block.n, powers)
    else:
        raise_doubles(apart, block.n, powers)
    i = 0
    for run in range(block.n_runs):
        row = <double*>(table + block.rows[run])
        kept = row[1]
        while i < block.ends[run]:
            kept += powers[i]
            i += 1
        row[1] = kept
    for i in range(i, block.n):
        (<double*>(table + block.rows[i]))[1] += powers[i]
    if out != NULL:
        for i in range(block.n):
            out[i if block.sources == NULL else block.sources[i]] = apart[i] if job.is_log else powers[i]


cdef inline real_t distance(real_t x, real_t greatest, bint skips_nan) noexcept nogil:
    """From the greatest element; 0 for equal infinities."""
    if skips_nan and x != x:
        return -INFINITY
    return 0 if x == greatest else x - greatest


cdef inline flat_void apply_powers(const Job* job, const Block* block, char* table) noexcept nogil:
    cdef Rows rows
    if job.columns == 1:
        if job.numbers == SINGLE:
            apply_to_column(<float*>NULL, job, block, table)
        else:
            apply_to_column(<double*>NULL, job, block, table)
        return
    rows.x, rows.x_step, rows.table, rows.rows = block.values, block.step, table, block.rows
    rows.n, rows.columns, rows.stride = block.n, block.columns, job.columns
    rows.out, rows.out_step, rows.sources = block.out, job.columns * number_bytes(job), block.sources
    rows.by_sources = block.by_sources
    rows.skips_nan, rows.is_log = job.skips_nan, job.is_log
    if job.numbers == SINGLE:
        power_floats(&rows)
    else:
        power_doubles(&rows)


cdef inline flat_void apply_one(Accumulator what, const Job* job, const Block* block, char* table) noexcept nogil:
    if what == TOTAL and job.rounds:
        apply_typed(TOTAL, True, job, block, table)
    elif what == COUNTED_TOTAL and job.rounds:
        apply_typed(COUNTED_TOTAL, True, job, block, table)
    elif what == PRODUCT and job.rounds:
        apply_typed(PRODUCT, True, job, block, table)
    elif what == TOTAL:
        apply_typed(TOTAL, False, job, block, table)
    elif what == COUNTED_TOTAL:
        apply_typed(COUNTED_TOTAL, False, job, block, table)
    elif what == COUNT:
        apply_typed(COUNT, False, job, block, table)
    elif what == MAXIMUM:
        apply_typed(MAXIMUM, False, job, block, table)
    elif what == MINIMUM:
        apply_typed(MINIMUM, False, job, block, table)
    elif what == GREATEST:
        apply_typed(GREATEST, False, job, block, table)
    elif what == LEAST:
        apply_typed(LEAST, False, job, block, table)
    elif what == MOMENTS:
        apply_typed(MOMENTS, False, job, block, table)
    elif what == SQUARES:
        apply_typed(SQUARES, False, job, block, table)
    elif what == FIRST:
        apply_typed(FIRST, False, job, block, table)
    elif what == LAST:
        apply_typed(LAST, False, job, block, table)
    elif what == TRUES:
        apply_typed(TRUES, False, job, block, table)
    elif what == FALSES:
        apply_typed(FALSES, False, job, block, table)
    else:
        apply_typed(PRODUCT, False, job, block, table)


cdef inline void apply_block(const Job* job, Block* block, char* table) noexcept nogil:
    """Reduce the elements of a block, whose rows and values were read.

    table: that of its unit, from its column on.
    """
    cdef int a
    if job.columns == 1 and not block.n_runs and not block.by_ids and block.sources == NULL:
        find_runs(block)
    for a in range(job.n_accumulators):
        if job.accumulators[a] == POWERS:
            apply_powers(job, block, table + job.offset[a])
        else:
            apply_one(job.accumulators[a], job, block, table + job.offset[a])
