# cython: cdivision=True
# The description of a call, and blocks of elements.
#
# Data has the axes (units, positions, columns), the ids (batches, positions), and the table of accumulators (units,
# segments, words, columns): a word of 8 bytes of each column after the other, so that loops over columns are vectors.
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from common.codes cimport Accumulator
from common.interrupts cimport Interrupts
from scatter.convert cimport Conversion, load_items

cdef enum:
    ITEMS = 1 << 10             # numbers of a block, which fits L1
    WORD = 8                    # bytes
    MAX_ACCUMULATORS = 12

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
    const int64_t* pointers     # of CSR segments, instead of ids: (batches, segments + 1); NULL: there are ids
    bint is_sorted              # the ids are in ascending order
    Py_ssize_t n_units
    Py_ssize_t units_per_batch
    Py_ssize_t size             # positions
    Py_ssize_t columns
    Py_ssize_t n                # segments
    char* table
    int n_accumulators
    Accumulator accumulators[MAX_ACCUMULATORS]
    Py_ssize_t at[MAX_ACCUMULATORS]  # where the accumulator begins in a segment's row
    Py_ssize_t row_bytes        # of a segment
    bint is_far                 # a unit's table does not fit L2
    Interrupts* interrupts

cdef struct Block:
    Py_ssize_t n                # positions
    Py_ssize_t columns
    Py_ssize_t first            # position
    const int64_t* ids
    const uint32_t* segments    # instead of ids: of the records of a tile, and
    const uint32_t* sources     # their positions, from `first` on
    const int64_t* pointers     # of one column of CSR segments, instead of ids; NULL: there are ids
    int64_t segment             # of the first position, then
    const char* values          # numbers of 64 bits
    Py_ssize_t step             # bytes from a position to the next
    int64_t wide_ids[ITEMS]     # ids that were converted
    char numbers[ITEMS * 16]    # values that were converted


cdef inline char* table_of(const Job* job, Py_ssize_t unit) noexcept nogil:
    return job.table + unit * job.n * job.row_bytes


cdef inline const char* ids_of(const Job* job, Py_ssize_t unit) noexcept nogil:
    return job.ids + unit // job.units_per_batch * job.size * job.id_bytes


cdef inline const int64_t* pointers_of(const Job* job, Py_ssize_t unit) noexcept nogil:
    return job.pointers + unit // job.units_per_batch * (job.n + 1)


cdef inline int64_t segment_of(const int64_t* pointers, Py_ssize_t n, Py_ssize_t position) noexcept nogil:
    """The CSR segment of a position: -1 before all, n after them."""
    cdef Py_ssize_t low = 0, high = n + 1, middle
    while low < high:
        middle = (low + high) // 2
        if pointers[middle] <= position:
            low = middle + 1
        else:
            high = middle
    return low - 1


cdef inline int64_t id_at(const Job* job, Py_ssize_t unit, Py_ssize_t position) noexcept nogil:
    if job.pointers != NULL:
        return segment_of(pointers_of(job, unit), job.n, position)
    if job.id_bytes == 4:
        return (<const int32_t*>ids_of(job, unit))[position]
    return (<const int64_t*>ids_of(job, unit))[position]


cdef inline void read_ids(const Job* job, Py_ssize_t unit, Py_ssize_t start, bint needs_ids,
                          Block* block) noexcept nogil:
    """The ids of the positions from start on. needs_ids: also where pointers tell them."""
    cdef Py_ssize_t i
    cdef int64_t segment
    cdef const int64_t* pointers
    cdef const int32_t* ids
    block.first = start
    block.segments = NULL
    block.ids = block.wide_ids
    block.pointers = NULL
    block.segment = 0
    if job.pointers != NULL and job.columns == 1 and not needs_ids:
        block.pointers = pointers_of(job, unit)
        block.segment = segment_of(block.pointers, job.n, start)
    elif job.pointers != NULL:
        pointers = pointers_of(job, unit)
        segment = segment_of(pointers, job.n, start)
        for i in range(block.n):
            while segment < job.n and pointers[segment + 1] <= start + i:
                segment += 1
            block.wide_ids[i] = segment
    elif job.id_bytes == 4:
        ids = <const int32_t*>ids_of(job, unit) + start
        for i in range(block.n):
            block.wide_ids[i] = ids[i]
    else:
        block.ids = <const int64_t*>ids_of(job, unit) + start


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


cdef inline void no_values(Block* block) noexcept nogil:
    """Any numbers: no step depends on them."""
    block.values = block.numbers
    block.step = 0


cdef inline void read_values(const Job* job, Py_ssize_t unit, Py_ssize_t start, Py_ssize_t column,
                             Block* block) noexcept nogil:
    """The values of the positions from start on, from a column on."""
    cdef Py_ssize_t i, width = job.conversion.narrow_bytes
    cdef const char* values = job.values
    if values != NULL:
        values += ((unit * job.size + start) * job.columns + column) * width
    block.step = job.columns * width
    block.values = values
    if job.values == NULL:
        no_values(block)
    if job.values == NULL or (job.conversion.narrow == job.conversion.wide and not job.to_real):
        return
    block.step = block.columns * number_bytes(job)
    block.values = block.numbers
    if block.columns == job.columns:
        read_row(job, values, block.n * block.columns, block.numbers)
        return
    for i in range(block.n):
        read_row(job, values + i * job.columns * width, block.columns, block.numbers + i * block.step)
