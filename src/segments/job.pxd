# cython: cdivision=True
# The description of a call, and blocks of elements.
#
# Data has the axes (units, positions, columns), the ids (batches, positions), and the table of accumulators (units,
# segments, words, columns): a word of 8 bytes of each column after the other, so that loops over columns are vectors.
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from common.codes cimport POWERS, Accumulator
from common.interrupts cimport Interrupts
from common.items cimport inline_void
from scatter.convert cimport Conversion, load_items

cdef enum:
    ITEMS = 1 << 10             # numbers of a block, which fits L1, and
    POSITIONS = 1 << 8          # of one column, whose ids and next block do, too
    WORD = 8                    # bytes of an accumulator, or of a part of it
    RUN_SAMPLE = 32             # positions of a block, of which runs are expected to have
    SHORTEST_RUN = 4            # positions, on average

ctypedef fused id_t:
    const int32_t
    const int64_t
    const uint32_t

cdef enum Numbers:
    REAL                        # float64
    SIGNED                      # int64
    UNSIGNED                    # uint64
    COMPLEX                     # complex128
    SINGLE                      # float32

cdef struct Job:
    const char* values          # NULL: no accumulator needs them
    Conversion conversion       # to numbers
    bint to_real                # integers are then converted to float64
    Numbers numbers
    bint skips_nan
    char* out                   # (units, positions, columns) numbers: what POWERS keeps for a softmax; NULL: nothing
    bint is_log
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
    Py_ssize_t block            # positions whose accumulators are made alone, and merged in order
    int* is_rough               # set where moments lose digits
    int* is_outside             # set where an id is too large
    char* table
    int n_accumulators
    Accumulator accumulators[POWERS + 1]
    Py_ssize_t offset[POWERS + 1]  # where the accumulator begins in a segment's row
    Py_ssize_t row_bytes        # of a segment
    bint prefetches                 # a unit's table does not fit L2
    Interrupts* interrupts

cdef struct Block:
    Py_ssize_t n                # positions
    Py_ssize_t columns
    Py_ssize_t first            # position
    const char* ids             # in memory, or anything, to prefetch what follows
    Py_ssize_t n_ids            # that are there, with those of later blocks
    int id_bytes
    bint by_ids                 # rows are not known: those of the ids, and
    int64_t none                # that of elements without a segment
    const uint32_t* sources     # of the records of a tile: their positions, from `first` on; NULL: these are in order
    Py_ssize_t n_runs           # of positions with one segment; 0: they are not known, or short
    int32_t ends[ITEMS]         # of the runs, from the block's begin on
    int64_t rows[ITEMS + 1]     # where the row of each position, or run, is in the table
    const char* values          # numbers
    Py_ssize_t step             # bytes from a position to the next
    bint by_sources             # the values of each are where its source says
    char* out                   # of the first value, or NULL
    char numbers[ITEMS * 16]    # values that were converted


cdef inline Py_ssize_t positions_of(Py_ssize_t columns) noexcept nogil:
    """In a block."""
    return POSITIONS if columns == 1 else max(ITEMS // columns, <Py_ssize_t>1)


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


cdef inline bint any_outside(id_t* ids, Py_ssize_t n_ids, int64_t n_segments) noexcept nogil:
    cdef Py_ssize_t i
    cdef int found = 0
    for i in range(n_ids):
        found |= ids[i] >= n_segments
    return found != 0


cdef inline void check_ids(const Job* job, Py_ssize_t unit, Py_ssize_t start, Py_ssize_t n) noexcept nogil:
    """Of the positions from start on, whose ids the caller reads next."""
    cdef const char* ids = ids_of(job, unit) + start * job.id_bytes
    if (any_outside(<const int32_t*>ids, n, job.n) if job.id_bytes == 4
            else any_outside(<const int64_t*>ids, n, job.n)):
        job.is_outside[0] = 1


cdef inline inline_void find_rows(id_t* ids, bint is_short, uint64_t n_segments, int64_t row_bytes, int64_t none,
                                  Py_ssize_t n, int64_t* rows) noexcept nogil:
    """is_short: a product of 32 bits each, which vectors have."""
    cdef Py_ssize_t i
    cdef int64_t id, row
    for i in range(n):
        id = ids[i]
        row = <int64_t>(<uint64_t><uint32_t>id * <uint64_t><uint32_t>row_bytes) if is_short else id * row_bytes
        rows[i] = row if <uint64_t>id < n_segments else none


cdef inline inline_void find_any_rows(id_t* ids, uint64_t n_segments, int64_t row_bytes, int64_t none, Py_ssize_t n,
                                      int64_t* rows) noexcept nogil:
    if n_segments <= INT32_MAX and row_bytes <= INT32_MAX:
        find_rows(ids, True, n_segments, row_bytes, none, n, rows)
    else:
        find_rows(ids, False, n_segments, row_bytes, none, n, rows)


cdef inline void read_rows(const Job* job, Py_ssize_t unit, Py_ssize_t start, int64_t row_bytes, int64_t none,
                           Block* block) noexcept nogil:
    """Where the rows of the positions from start on are. none: that of those without a segment."""
    cdef Py_ssize_t i = 0, end
    cdef int64_t segment
    cdef const int64_t* pointers
    block.first = start
    block.ids = job.ids
    block.id_bytes = job.id_bytes
    block.sources = NULL
    block.n_runs = 0
    block.by_ids = block.by_sources = False
    if job.pointers == NULL:
        block.ids = ids_of(job, unit) + start * job.id_bytes
        if job.id_bytes == 4:
            find_any_rows(<const int32_t*>block.ids, job.n, row_bytes, none, block.n, block.rows)
        else:
            find_any_rows(<const int64_t*>block.ids, job.n, row_bytes, none, block.n, block.rows)
        return
    pointers = pointers_of(job, unit)
    segment = segment_of(pointers, job.n, start)
    while i < block.n:
        end = end_in(pointers, job.n, start, block.n, &segment)
        while i < end:
            block.rows[i] = segment * row_bytes if <uint64_t>segment < <uint64_t>job.n else none
            i += 1
        segment += 1


cdef inline Py_ssize_t end_in(const int64_t* pointers, Py_ssize_t n, Py_ssize_t start, Py_ssize_t size,
                              int64_t* segment) noexcept nogil:
    """Where a CSR segment ends in a block. Another thread may write to pointers: any number is as good."""
    if segment[0] >= n:
        return size
    return min(<Py_ssize_t>pointers[segment[0] + 1] - start, size)


cdef inline void read_runs(const Job* job, Py_ssize_t unit, Py_ssize_t start, int64_t none,
                           Block* block) noexcept nogil:
    """Of one column of CSR segments: each is a run."""
    cdef Py_ssize_t end = 0, before
    cdef const int64_t* pointers = pointers_of(job, unit)
    cdef int64_t segment = segment_of(pointers, job.n, start)
    block.first = start
    block.sources = NULL
    block.n_runs = 0
    block.by_ids = block.by_sources = False
    while end < block.n:
        before = end
        end = end_in(pointers, job.n, start, block.n, &segment)
        if end > before:  # else it is empty
            block.rows[block.n_runs] = segment * job.row_bytes if <uint64_t>segment < <uint64_t>job.n else none
            block.ends[block.n_runs] = <int32_t>end
            block.n_runs += 1
        end = max(end, before)
        segment += 1


cdef inline bint expects_runs(id_t* ids, Py_ssize_t n) noexcept nogil:
    """Whether the first ids let expect runs that are long enough."""
    cdef Py_ssize_t i, n_changes = 0
    for i in range(1, min(n, <Py_ssize_t>RUN_SAMPLE)):
        n_changes += ids[i] != ids[i - 1]
    return n >= RUN_SAMPLE and n_changes <= RUN_SAMPLE // SHORTEST_RUN


cdef inline bint are_equal(id_t* ids, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef int n_others = 0
    for i in range(n):
        n_others += ids[i] != ids[0]
    return not n_others


cdef inline bint leave_ids(id_t* ids, const Job* job, Block* block) noexcept nogil:
    """Without rows, but of one run. False: there may be runs."""
    cdef int64_t id = ids[0]
    if not expects_runs(ids, block.n):
        return True
    if not are_equal(ids, block.n):
        return False
    block.by_ids = False
    block.n_runs = 1
    block.ends[0] = <int32_t>block.n
    block.rows[0] = id * job.row_bytes if <uint64_t>id < <uint64_t>job.n else block.none
    return True


cdef inline bint read_ids(const Job* job, Py_ssize_t unit, Py_ssize_t start, int64_t none, Block* block) noexcept nogil:
    """Leave the ids of one column where they are. False: there may be runs, so rows are needed."""
    block.first, block.none = start, none
    block.sources = NULL
    block.n_runs = 0
    block.by_ids, block.by_sources = True, False
    block.id_bytes = job.id_bytes
    block.ids = ids_of(job, unit) + start * job.id_bytes
    if job.id_bytes == 4:
        return leave_ids(<const int32_t*>block.ids, job, block)
    return leave_ids(<const int64_t*>block.ids, job, block)


cdef inline void find_runs(Block* block) noexcept nogil:
    """Of positions in order, if the first ones let expect runs that are long enough."""
    cdef Py_ssize_t i, n = block.n, run = 0
    cdef int64_t* rows = block.rows
    if not expects_runs(<const int64_t*>rows, n):
        return
    rows[n] = ~rows[n - 1]
    for i in range(n):
        rows[run] = rows[i]
        block.ends[run] = <int32_t>(i + 1)
        run += rows[i] != rows[i + 1]
    block.n_runs = run


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
    return job.conversion.wide_bytes


cdef inline bint needs_conversion(const Job* job) noexcept nogil:
    return job.conversion.narrow != job.conversion.wide or job.to_real


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
    block.out = NULL
    if job.out != NULL:
        block.out = job.out + ((unit * job.size + start) * job.columns + column) * number_bytes(job)
    if values != NULL:
        values += ((unit * job.size + start) * job.columns + column) * width
    block.step = job.columns * width
    block.values = values
    if job.values == NULL:
        no_values(block)
    if job.values == NULL or not needs_conversion(job):
        return
    block.step = block.columns * number_bytes(job)
    block.values = block.numbers
    if block.columns == job.columns:
        read_row(job, values, block.n * block.columns, block.numbers)
        return
    for i in range(block.n):
        read_row(job, values + i * job.columns * width, block.columns, block.numbers + i * block.step)
