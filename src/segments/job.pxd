# cython: cdivision=True
# The description of a call, and blocks of elements with what they are reduced to.
#
# Data has the axes (units, positions, columns), the ids (batches, positions), and the table of accumulators (units,
# segments, words, columns): a word of 8 bytes of each column after the other, so that loops over columns are vectors.
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from common.codes cimport Accumulator
from common.interrupts cimport Interrupts
from scatter.convert cimport Conversion, load_items

cdef enum:
    ITEMS = 1 << 10             # numbers of a block: with its offsets and positions it fits L1
    WORD = 8                    # bytes
    MAX_ACCUMULATORS = 12

ctypedef fused id_t:
    int32_t
    int64_t

cdef enum Numbers:
    REAL                        # float64
    SIGNED                      # int64
    UNSIGNED                    # uint64
    COMPLEX                     # complex128

cdef struct Job:
    const char* values          # NULL: no accumulator needs them
    Conversion conversion       # to numbers of 64 bits
    bint to_real                # integers are then converted to float64
    Numbers numbers
    bint skips_nan
    bint rounds                 # sums and products are rounded to float32 after each step
    const char* ids
    int id_bytes
    Py_ssize_t n_units
    Py_ssize_t units_per_batch
    Py_ssize_t size             # positions
    Py_ssize_t columns
    Py_ssize_t n                # segments
    char* table
    bint has_positions          # accumulators need the positions of elements
    bint closes                 # accumulators are closed: see close_row
    int n_accumulators
    Accumulator accumulators[MAX_ACCUMULATORS]
    Py_ssize_t at[MAX_ACCUMULATORS]  # where the accumulator begins in a segment's row
    Py_ssize_t row_bytes        # of a segment
    bint is_sorted              # the ids are in ascending order
    bint is_far                 # a unit's table does not fit L2
    Interrupts* interrupts

cdef struct Block:
    Py_ssize_t n                # positions
    Py_ssize_t columns
    const char* values          # numbers of 64 bits
    Py_ssize_t step             # bytes from a position to the next
    int64_t offsets[ITEMS]      # in a unit's table, of the row of each position's segment
    int64_t positions[ITEMS]
    char numbers[ITEMS * 16]    # values that were converted


cdef inline char* table_of(const Job* job, Py_ssize_t unit) noexcept nogil:
    return job.table + unit * job.n * job.row_bytes


cdef inline const char* ids_of(const Job* job, Py_ssize_t unit) noexcept nogil:
    return job.ids + unit // job.units_per_batch * job.size * job.id_bytes


cdef inline int64_t id_at(const Job* job, const char* ids, Py_ssize_t position) noexcept nogil:
    if job.id_bytes == 4:
        return (<const int32_t*>ids)[position]
    return (<const int64_t*>ids)[position]


cdef inline void to_offsets(const id_t* ids, Py_ssize_t n, uint64_t n_segments, uint64_t row_bytes, int64_t none,
                            int64_t* offsets) noexcept nogil:
    cdef Py_ssize_t i
    if n_segments >> 32 == 0 and row_bytes >> 32 == 0:  # vectors multiply numbers of 32 bits
        for i in range(n):
            offsets[i] = (<int64_t>(<uint64_t><uint32_t>ids[i] * <uint64_t><uint32_t>row_bytes)
                          if <uint64_t><int64_t>ids[i] < n_segments else none)
        return
    for i in range(n):
        offsets[i] = <int64_t>(<uint64_t>ids[i] * row_bytes) if <uint64_t><int64_t>ids[i] < n_segments else none


cdef inline void read_ids(const Job* job, const char* ids, Py_ssize_t start, Py_ssize_t row_bytes, int64_t none,
                          Py_ssize_t n, int64_t* offsets) noexcept nogil:
    """The rows of the segments of n positions from start on. none: of those that have no segment."""
    if job.id_bytes == 4:
        to_offsets(<const int32_t*>ids + start, n, job.n, row_bytes, none, offsets)
    else:
        to_offsets(<const int64_t*>ids + start, n, job.n, row_bytes, none, offsets)


cdef inline void to_reals(const Job* job, char* numbers, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef double x
    for i in range(n):
        if job.numbers == UNSIGNED:
            x = <double>(<uint64_t*>numbers)[i]
        else:
            x = <double>(<int64_t*>numbers)[i]
        memcpy(numbers + i * WORD, &x, WORD)


cdef inline Py_ssize_t number_bytes(const Job* job) noexcept nogil:
    return 16 if job.numbers == COMPLEX else 8


cdef inline void read_row(const Job* job, const char* values, Py_ssize_t n, char* to) noexcept nogil:
    load_items(&job.conversion, False, values, job.conversion.narrow_bytes, n, to)
    if job.to_real:
        to_reals(job, to, n)


cdef inline void read_values(const Job* job, Py_ssize_t unit, Py_ssize_t start, Py_ssize_t column,
                             Block* block) noexcept nogil:
    """The values of the positions from start on, from a column on."""
    cdef Py_ssize_t i, width = job.conversion.narrow_bytes
    cdef const char* values = job.values + ((unit * job.size + start) * job.columns + column) * width
    block.step = job.columns * width
    block.values = values
    if job.values == NULL or (job.conversion.narrow == job.conversion.wide and not job.to_real):
        return
    block.step = block.columns * number_bytes(job)
    block.values = block.numbers
    if block.columns == job.columns:
        read_row(job, values, block.n * block.columns, block.numbers)
        return
    for i in range(block.n):
        read_row(job, values + i * job.columns * width, block.columns, block.numbers + i * block.step)
