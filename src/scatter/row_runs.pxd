# Updates sorted by row, as prepared indices have them: those of a row are reduced in registers.
from libc.stdint cimport uint32_t
from libc.string cimport memcpy

from common.codes cimport ADD, FLOAT32, FLOAT64, MAX, MIN, MUL, ReductionCode
from common.items cimport flat_void, inline_void, prefetch_row, prefetch_row_l2
from scatter.kernels cimport Kernel, add_to_mark
from scatter.steps cimport floating
from scatter.vectors cimport VECTOR, combine_vector, scale_vector
from scatter.weights cimport Weights

cdef enum:
    VECTORS = 4                 # in registers at once
    WIDENED = VECTORS * VECTOR >> 3  # float32 that are added to float64 at once

cdef struct RowRuns:
    const uint32_t* end         # of the updates of each row, in `order`
    const uint32_t* order       # the numbers of the updates, by row
    Py_ssize_t n                # of them
    const char* updates
    Py_ssize_t step             # bytes from an update to the next
    Py_ssize_t ahead            # updates: how far ahead they are prefetched
    const Weights* weights
    const uint32_t* numbers     # of the updates: those of their weights


cdef inline bint can_reduce_runs(const Kernel* kernel, const Weights* weights) noexcept nogil:
    return ((kernel.type_code == FLOAT32 or kernel.type_code == FLOAT64) and kernel.row_bytes % VECTOR == 0
            and (kernel.step == ADD or kernel.step == MUL or kernel.step == MAX or kernel.step == MIN)
            and (weights.n_bytes == 0 or kernel.row_bytes // weights.n % VECTOR == 0))


cdef inline inline_void reduce_columns(ReductionCode step, floating* type, int n_vectors, const RowRuns* runs,
                                       Py_ssize_t column, Py_ssize_t start, Py_ssize_t stop,
                                       char* accumulator) noexcept nogil:
    """Apply the updates start to stop, of one row, to some vectors of it."""
    cdef char sums[VECTORS * VECTOR]
    cdef char products[VECTORS * VECTOR]
    cdef Py_ssize_t shift[VECTORS]
    cdef Py_ssize_t i, k, ahead = runs.ahead
    cdef const char* update
    cdef const char* weight
    cdef const Weights* weights = runs.weights
    for k in range(n_vectors if weights.n_bytes else 0):
        shift[k] = (column + k * VECTOR) // (weights.n_items * <Py_ssize_t>sizeof(floating)) * sizeof(floating)
    memcpy(sums, accumulator + column, n_vectors * VECTOR)
    for i in range(start, stop):
        if i + ahead < runs.n:
            prefetch_row(runs.updates + runs.order[i + ahead] * runs.step + column, n_vectors * VECTOR)
            if weights.n_bytes and column == 0:
                prefetch_row_l2(weights.first + runs.numbers[i + ahead] * weights.n_bytes, weights.n_bytes)
        update = runs.updates + runs.order[i] * runs.step + column
        if weights.n_bytes:
            weight = weights.first + runs.numbers[i] * weights.n_bytes
            scale_vector(type, products, update, weight + shift[0])
            if n_vectors == VECTORS:
                scale_vector(type, products + VECTOR, update + VECTOR, weight + shift[1])
                scale_vector(type, products + 2 * VECTOR, update + 2 * VECTOR, weight + shift[2])
                scale_vector(type, products + 3 * VECTOR, update + 3 * VECTOR, weight + shift[3])
            update = products
        combine_vector(step, type, sums, update)
        if n_vectors == VECTORS:
            combine_vector(step, type, sums + VECTOR, update + VECTOR)
            combine_vector(step, type, sums + 2 * VECTOR, update + 2 * VECTOR)
            combine_vector(step, type, sums + 3 * VECTOR, update + 3 * VECTOR)
    memcpy(accumulator + column, sums, n_vectors * VECTOR)


cdef inline inline_void add_widened(int n_items, const RowRuns* runs, Py_ssize_t item, Py_ssize_t start,
                                    Py_ssize_t stop, double* accumulator) noexcept nogil:
    """Add some items of the updates start to stop, of one row, which are float32."""
    cdef double sums[WIDENED]
    cdef Py_ssize_t i, ahead = runs.ahead
    cdef const float* update
    cdef int k
    memcpy(sums, accumulator + item, n_items * sizeof(double))
    for i in range(start, stop):
        if i + ahead < runs.n:
            prefetch_row_l2(runs.updates + runs.order[i + ahead] * runs.step + item * <Py_ssize_t>sizeof(float),
                            n_items * <Py_ssize_t>sizeof(float))
        update = <const float*>(runs.updates + runs.order[i] * runs.step) + item
        for k in range(n_items):
            sums[k] += <double>update[k]
    memcpy(accumulator + item, sums, n_items * sizeof(double))


cdef inline flat_void add_widened_runs(const Kernel* kernel, const RowRuns* runs, Py_ssize_t start, Py_ssize_t stop,
                                       char* accumulators, char* marks, Py_ssize_t* row) noexcept nogil:
    """As reduce_runs, for sums of float32 in float64."""
    cdef Py_ssize_t last, item, r = row[0]
    cdef double* accumulator
    while start < stop:
        last = min(<Py_ssize_t>runs.end[r], stop)
        if last > start:
            accumulator = <double*>(accumulators + r * kernel.row_bytes)
            item = 0
            while item + WIDENED <= kernel.n_items:
                add_widened(WIDENED, runs, item, start, last, accumulator)
                item += WIDENED
            if item < kernel.n_items:
                add_widened(<int>(kernel.n_items - item), runs, item, start, last, accumulator)
            if kernel.mark_bytes:
                add_to_mark(kernel, marks, r, last - start)
        start = last
        r += last == <Py_ssize_t>runs.end[r]
    row[0] = r


cdef inline inline_void reduce_typed(ReductionCode step, floating* type, const Kernel* kernel, const RowRuns* runs,
                                     Py_ssize_t start, Py_ssize_t stop, char* accumulators, char* marks,
                                     Py_ssize_t* row) noexcept nogil:
    cdef Py_ssize_t last, column, r = row[0]
    while start < stop:
        last = min(<Py_ssize_t>runs.end[r], stop)
        if last > start:
            column = 0
            while column + VECTORS * VECTOR <= kernel.row_bytes:
                reduce_columns(step, type, VECTORS, runs, column, start, last, accumulators + r * kernel.row_bytes)
                column += VECTORS * VECTOR
            while column < kernel.row_bytes:
                reduce_columns(step, type, 1, runs, column, start, last, accumulators + r * kernel.row_bytes)
                column += VECTOR
            if kernel.mark_bytes:
                add_to_mark(kernel, marks, r, last - start)
        start = last
        r += last == <Py_ssize_t>runs.end[r]
    row[0] = r


cdef inline inline_void reduce_step(floating* type, const Kernel* kernel, const RowRuns* runs, Py_ssize_t start,
                                    Py_ssize_t stop, char* accumulators, char* marks, Py_ssize_t* row) noexcept nogil:
    if kernel.step == ADD:
        reduce_typed(ADD, type, kernel, runs, start, stop, accumulators, marks, row)
    elif kernel.step == MAX:
        reduce_typed(MAX, type, kernel, runs, start, stop, accumulators, marks, row)
    elif kernel.step == MIN:
        reduce_typed(MIN, type, kernel, runs, start, stop, accumulators, marks, row)
    else:
        reduce_typed(MUL, type, kernel, runs, start, stop, accumulators, marks, row)


cdef inline flat_void reduce_runs(const Kernel* kernel, const RowRuns* runs, Py_ssize_t start, Py_ssize_t stop,
                                  char* accumulators, char* marks, Py_ssize_t* row) noexcept nogil:
    """Apply the updates start to stop of the order. row: that of the first one; becomes that of the next one.

    accumulators, marks: of row 0.
    """
    if kernel.type_code == FLOAT32:
        reduce_step(<float*>NULL, kernel, runs, start, stop, accumulators, marks, row)
    else:
        reduce_step(<double*>NULL, kernel, runs, start, stop, accumulators, marks, row)
