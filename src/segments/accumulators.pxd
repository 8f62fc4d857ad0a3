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
#     MOMENTS   count and sum, then, in a second pass as SQUARES, the mean and the sums of the distances from it and of
#               their squares; at last, the fourth word is the sum of the squared distances from the exact mean
#     POWERS    the greatest element, and the sum of exp(element - greatest)
from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from common.codes cimport (
    COUNT, FIRST, GREATEST, LAST, LEAST, MOMENTS, POWERS, PRODUCT, SQUARES, TOTAL, TRUES,
    Accumulator,
)
from common.items cimport CACHE_LINE, STREAM_AHEAD, flat_void, inline_void, prefetch_l1, prefetch_write
from scatter.steps cimport add, complex128, multiply
from segments.job cimport COMPLEX, ITEMS, REAL, SIGNED, WORD, Block, Job

cdef extern from "segments/exp.h":
    double exp_of "gs_exp" (double x) nogil
    float exp_of_float "gs_exp_float" (float x) nogil

cdef enum:
    AHEAD = 16                  # positions
    PREFETCHED = 256            # bytes of a row, at most
    MAX_WORDS = 5               # of an accumulator

ctypedef fused number_t:
    double
    int64_t
    uint64_t
    complex128

ctypedef fused id_t:
    int64_t                     # that may have no segment
    uint32_t                    # of a record, which has one


cdef inline int64_t row_of(id_t id, uint64_t n, int64_t row_bytes, int64_t none) noexcept nogil:
    """Where the row of a segment is; none: of those that have none."""
    if id_t is uint32_t:
        return <int64_t>id * row_bytes
    else:
        return id * row_bytes if <uint64_t>id < n else none


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


cdef inline inline_void keep_extreme(bint greatest, bint selects, number_t x, int64_t position, char* cell,
                                     Py_ssize_t stride) noexcept nogil:
    """selects: in a vector. One by one, a branch is faster, since few elements win."""
    cdef number_t* value = <number_t*>cell
    cdef int64_t* at = <int64_t*>(cell + stride)
    cdef bint wins
    if number_t is not complex128:  # which has no order
        if selects:
            wins = (at[0] < 0) | (x > value[0] if greatest else x < value[0])
            if number_t is double:
                wins |= (x != x) & (value[0] == value[0])
            value[0] = x if wins else value[0]
            at[0] = position if wins else at[0]
        elif (not (x <= value[0] if greatest else x >= value[0])) | (at[0] < 0):  # NaN, too
            if at[0] < 0 or (x > value[0] if greatest else x < value[0]) or (x != x and value[0] == value[0]):
                value[0] = x
                at[0] = position


cdef inline inline_void apply_step(Accumulator what, bint rounds, bint selects, number_t x, int64_t position,
                                   char* cell, Py_ssize_t stride) noexcept nogil:
    """stride: bytes from a word to the next."""
    cdef int64_t* number = <int64_t*>cell
    cdef double* squares = <double*>(cell + 4 * stride)
    cdef double apart
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
    elif what == GREATEST or what == LEAST:
        keep_extreme(what == GREATEST, selects, x, position, cell, stride)
    elif number_t is double:  # SQUARES
        apart = x - (<double*>(cell + 2 * stride))[0]
        (<double*>(cell + 3 * stride))[0] += apart
        squares[0] += apart * apart


cdef inline int words_of(Accumulator what, bint is_complex) noexcept nogil:
    """Those that a step needs."""
    if what == SQUARES:
        return 5
    if what == TOTAL or what == PRODUCT:
        return 3 if is_complex else 2
    return 2 if what == GREATEST or what == LEAST else 1


cdef inline inline_void prefetch_ahead(id_t* ids, bint is_far, Py_ssize_t row_bytes, Py_ssize_t i, Py_ssize_t n,
                                       const char* table) noexcept nogil:
    cdef const char* row
    cdef Py_ssize_t line = CACHE_LINE
    if is_far and i + AHEAD < n:
        row = table + <int64_t>ids[i + AHEAD] * row_bytes
        prefetch_write(row)
        while line < min(row_bytes, <Py_ssize_t>PREFETCHED):
            prefetch_write(row + line)
            line += CACHE_LINE


cdef inline inline_void apply_to(Accumulator what, bint rounds, bint skips, Py_ssize_t columns, number_t* type,
                                 id_t* ids, const Job* job, const Block* block, char* table,
                                 int64_t none) noexcept nogil:
    cdef Py_ssize_t i, j, stride = columns * WORD if columns == 1 else job.columns * WORD, step = block.step
    cdef Py_ssize_t n = block.n, row_bytes = job.row_bytes, first = block.first
    cdef uint64_t n_segments = job.n
    cdef bint is_far = job.is_far
    cdef const char* values = block.values
    cdef const number_t* row
    cdef int64_t position, offset, skipped
    for i in range(n):
        if columns == 1 and i & 7 == 0:  # between random accesses the hardware prefetcher loses a stream
            prefetch_l1(values + STREAM_AHEAD)
            prefetch_l1(<const char*>(ids + i) + STREAM_AHEAD)
        prefetch_ahead(ids, is_far, row_bytes, i, n, table)
        offset = row_of(ids[i], n_segments, row_bytes, none)
        row = <const number_t*>values
        if id_t is uint32_t:
            position = first + block.sources[i]
        else:
            position = first + i
        if columns == 1:
            if skips:
                skipped = -<int64_t>is_nan(row[0])  # a mask: a branch would be mispredicted
                offset = (offset & ~skipped) | (none & skipped)
            apply_step(what, rounds, False, row[0], position, table + offset, stride)
        else:
            for j in range(columns):
                if skips:
                    if is_nan(row[j]):
                        continue
                apply_step(what, rounds, True, row[j], position, table + offset + j * WORD, stride)
        values += step


cdef inline Py_ssize_t end_of_run(const Job* job, const Block* block, Py_ssize_t i, int64_t* segment) noexcept nogil:
    """Where the run of a segment ends, in a block of sorted ids that is not at its end. segment: of the run."""
    cdef Py_ssize_t stop = i + 1
    if block.pointers == NULL:
        segment[0] = block.ids[i]
        while stop < block.n and block.ids[stop] == segment[0]:
            stop += 1
        return stop
    while segment[0] < job.n:
        stop = block.pointers[segment[0] + 1] - block.first  # read once: another thread may write to it
        if stop > i:
            return min(block.n, stop)
        segment[0] += 1
    return block.n


cdef inline inline_void apply_runs(Accumulator what, bint rounds, bint skips, number_t* type, const Job* job,
                                   const Block* block, char* table, int64_t none) noexcept nogil:
    """One column of sorted ids: the accumulator of a segment stays in registers."""
    cdef Py_ssize_t i = 0, stop, n_bytes = words_of(what, number_t is complex128) * WORD
    cdef const number_t* values = <const number_t*>block.values
    cdef char cell[MAX_WORDS * WORD]  # of char, which words of any type may alias
    cdef char* row
    cdef int64_t segment = block.segment
    while i < block.n:
        stop = end_of_run(job, block, i, &segment)
        row = table + row_of(segment, job.n, job.row_bytes, none)
        memcpy(cell, row, n_bytes)
        while i < stop:
            if not skips or not is_nan(values[i]):
                apply_step(what, rounds, True, values[i], block.first + i, cell, WORD)
            i += 1
        memcpy(row, cell, n_bytes)


cdef inline inline_void apply_columns(Accumulator what, bint rounds, bint skips, number_t* type, const Job* job,
                                      const Block* block, char* table, int64_t none) noexcept nogil:
    if block.segments != NULL:
        if job.columns == 1:  # records of NaN have no segment
            apply_to(what, rounds, False, 1, type, <uint32_t*>block.segments, job, block, table, none)
        else:
            apply_to(what, rounds, skips, block.columns, type, <uint32_t*>block.segments, job, block, table, none)
    elif job.columns != 1:
        apply_to(what, rounds, skips, block.columns, type, <int64_t*>block.ids, job, block, table, none)
    elif job.is_sorted:
        apply_runs(what, rounds, skips, type, job, block, table, none)
    else:
        apply_to(what, rounds, skips, 1, type, <int64_t*>block.ids, job, block, table, none)


cdef inline inline_void apply_typed(Accumulator what, bint rounds, const Job* job, const Block* block, char* table,
                                    int64_t none) noexcept nogil:
    if job.numbers == REAL or job.to_real:
        if job.skips_nan:
            apply_columns(what, rounds, True, <double*>NULL, job, block, table, none)
        else:
            apply_columns(what, rounds, False, <double*>NULL, job, block, table, none)
    elif what == SQUARES or rounds:
        pass  # of real numbers
    elif job.numbers == COMPLEX:
        if what != GREATEST and what != LEAST:
            if job.skips_nan:
                apply_columns(what, rounds, True, <complex128*>NULL, job, block, table, none)
            else:
                apply_columns(what, rounds, False, <complex128*>NULL, job, block, table, none)
    elif job.numbers == SIGNED:
        apply_columns(what, rounds, False, <int64_t*>NULL, job, block, table, none)
    else:
        apply_columns(what, rounds, False, <uint64_t*>NULL, job, block, table, none)


cdef inline inline_void meet(double x, bint skips, double* greatest, double* above) noexcept nogil:
    above[0] = 0 if x == greatest[0] else x - greatest[0]  # 0: of infinities
    if skips and x != x:
        above[0] = -INFINITY
    greatest[0] = x if x > greatest[0] else greatest[0]


cdef inline inline_void add_power(double above, double power, double* sum) noexcept nogil:
    sum[0] = sum[0] * power + 1 if above > 0 else sum[0] + power


cdef inline inline_void raise_to_powers(bint is_narrow, const double* above, Py_ssize_t n,
                                        double* powers) noexcept nogil:
    """is_narrow: of float32 and 16-bit floats, whose powers are as exact as these."""
    cdef Py_ssize_t k
    for k in range(n):
        if is_narrow:
            powers[k] = exp_of_float(<float>(-above[k] if above[k] > 0 else above[k]))
        else:
            powers[k] = exp_of(-above[k] if above[k] > 0 else above[k])


cdef inline inline_void apply_powers(Py_ssize_t columns, id_t* ids, const Job* job, const Block* block, char* table,
                                     int64_t none) noexcept nogil:
    """In three loops, of which the second is a vector's."""
    cdef Py_ssize_t i, j, k = 0, n = block.n, stride = columns * WORD if columns == 1 else job.columns * WORD
    cdef double above[ITEMS]
    cdef double powers[ITEMS]
    cdef const double* row
    cdef char* cell
    for i in range(n):
        prefetch_ahead(ids, job.is_far, job.row_bytes, i, n, table)
        cell = table + row_of(ids[i], job.n, job.row_bytes, none)
        row = <const double*>(block.values + i * block.step)
        for j in range(columns):
            meet(row[j], job.skips_nan, <double*>cell + j, above + k)
            k += 1
    if is_narrow(job):
        raise_to_powers(True, above, k, powers)
    else:
        raise_to_powers(False, above, k, powers)
    k = 0
    for i in range(n):
        cell = table + row_of(ids[i], job.n, job.row_bytes, none)
        for j in range(columns):
            add_power(above[k], powers[k], <double*>(cell + stride) + j)
            k += 1


cdef inline inline_void apply_powers_of_runs(const Job* job, const Block* block, char* table,
                                             int64_t none) noexcept nogil:
    """One column of sorted ids: see apply_runs."""
    cdef Py_ssize_t i = 0, stop
    cdef const double* values = <const double*>block.values
    cdef double above[ITEMS]
    cdef double powers[ITEMS]
    cdef double* cell
    cdef double kept
    cdef int64_t segment = block.segment
    while i < block.n:
        stop = end_of_run(job, block, i, &segment)
        cell = <double*>(table + row_of(segment, job.n, job.row_bytes, none))
        kept = cell[0]
        while i < stop:
            meet(values[i], job.skips_nan, &kept, above + i)
            i += 1
        cell[0] = kept
    if is_narrow(job):
        raise_to_powers(True, above, block.n, powers)
    else:
        raise_to_powers(False, above, block.n, powers)
    i = 0
    segment = block.segment
    while i < block.n:
        stop = end_of_run(job, block, i, &segment)
        cell = <double*>(table + row_of(segment, job.n, job.row_bytes, none))
        kept = cell[1]
        while i < stop:
            add_power(above[i], powers[i], &kept)
            i += 1
        cell[1] = kept


cdef inline bint is_narrow(const Job* job) noexcept nogil:
    """Whether powers are made in float32."""
    return job.conversion.narrow_bytes < 8 and not job.to_real


cdef inline flat_void apply_any_powers(const Job* job, const Block* block, char* table, int64_t none) noexcept nogil:
    if block.segments != NULL:
        apply_powers(block.columns, <uint32_t*>block.segments, job, block, table, none)
    elif job.columns == 1 and job.is_sorted:
        apply_powers_of_runs(job, block, table, none)
    elif job.columns == 1:
        apply_powers(1, <int64_t*>block.ids, job, block, table, none)
    else:
        apply_powers(block.columns, <int64_t*>block.ids, job, block, table, none)


cdef inline flat_void apply_one(Accumulator what, const Job* job, const Block* block, char* table,
                                int64_t none) noexcept nogil:
    if (what == TOTAL or what == MOMENTS) and job.rounds:
        apply_typed(TOTAL, True, job, block, table, none)
    elif what == PRODUCT and job.rounds:
        apply_typed(PRODUCT, True, job, block, table, none)
    elif what == TOTAL or what == MOMENTS:
        apply_typed(TOTAL, False, job, block, table, none)
    elif what == COUNT:
        apply_typed(COUNT, False, job, block, table, none)
    elif what == GREATEST:
        apply_typed(GREATEST, False, job, block, table, none)
    elif what == LEAST:
        apply_typed(LEAST, False, job, block, table, none)
    elif what == SQUARES:
        apply_typed(SQUARES, False, job, block, table, none)
    elif what == FIRST:
        apply_typed(FIRST, False, job, block, table, none)
    elif what == LAST:
        apply_typed(LAST, False, job, block, table, none)
    elif what == TRUES:
        apply_typed(TRUES, False, job, block, table, none)
    else:
        apply_typed(PRODUCT, False, job, block, table, none)


cdef inline void apply_block(const Job* job, const Block* block, char* table, int64_t none) noexcept nogil:
    """Reduce the elements of a block.

    table: that of its unit, from its column on. none: where the row of elements without a segment is from there on.
    """
    cdef int a
    for a in range(job.n_accumulators):
        if job.accumulators[a] == POWERS:
            apply_any_powers(job, block, table + job.at[a], none)
        else:
            apply_one(job.accumulators[a], job, block, table + job.at[a], none)


# Private copies of the table, of accumulators whose elements may be regrouped

cdef inline bint can_merge(const Job* job) noexcept nogil:
    cdef int a
    cdef bint of_integers = job.numbers != REAL and job.numbers != COMPLEX and not job.to_real
    for a in range(job.n_accumulators):
        if job.accumulators[a] in (MOMENTS, SQUARES, POWERS) or (
                job.accumulators[a] in (TOTAL, PRODUCT) and not of_integers):
            return False
    return True


cdef inline inline_void merge_typed(Accumulator what, number_t* type, char* cell, const char* later,
                                    Py_ssize_t stride) noexcept nogil:
    """Let an accumulator have the elements of another one, too, whose positions are later."""
    cdef const int64_t* number = <const int64_t*>later
    if what == COUNT or what == TRUES:
        (<int64_t*>cell)[0] += number[0]
    elif what == TOTAL or what == PRODUCT:
        (<int64_t*>cell)[0] += number[0]
        accumulate(what == TOTAL, False, False, (<number_t*>(later + stride))[0], cell + stride, stride)
    elif what == FIRST or what == LAST:
        if number[0] >= 0:
            apply_step(what, False, False, (<number_t*>later)[0], number[0], cell, stride)
    elif (<const int64_t*>(later + stride))[0] >= 0:
        keep_extreme(what == GREATEST, True, (<number_t*>later)[0], (<const int64_t*>(later + stride))[0], cell, stride)


cdef inline void merge_row(const Job* job, char* row, const char* later) noexcept nogil:
    cdef Py_ssize_t j, at, stride = job.columns * WORD
    cdef int a
    for a in range(job.n_accumulators):
        for j in range(job.columns):
            at = job.at[a] + j * WORD
            if job.numbers == REAL or job.numbers == COMPLEX or job.to_real:
                merge_typed(job.accumulators[a], <double*>NULL, row + at, later + at, stride)
            elif job.numbers == SIGNED:
                merge_typed(job.accumulators[a], <int64_t*>NULL, row + at, later + at, stride)
            else:
                merge_typed(job.accumulators[a], <uint64_t*>NULL, row + at, later + at, stride)


# MOMENTS, after the first pass and after the second one

cdef inline void close_row(const Job* job, bint is_second, char* row) noexcept nogil:
    cdef Py_ssize_t j, stride = job.columns * WORD
    cdef char* cell
    cdef double n
    cdef int a
    for a in range(job.n_accumulators):
        for j in range(job.columns if job.accumulators[a] == MOMENTS else 0):
            cell = row + job.at[a] + j * WORD
            n = max(<double>(<int64_t*>cell)[0], 1.0)
            if not is_second:
                (<double*>(cell + 2 * stride))[0] = (<double*>(cell + stride))[0] / n
            else:
                (<double*>(cell + 3 * stride))[0] = (<double*>(cell + 4 * stride))[0] - (
                    (<double*>(cell + 3 * stride))[0] * ((<double*>(cell + 3 * stride))[0] / n))
