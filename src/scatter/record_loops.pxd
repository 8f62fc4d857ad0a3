# The loop that applies the records of PARTITION, if there is one (loops/records.h), and the marks that it keeps.
#
# Bits, for include_self=False, and counts next to their elements, for means, cause fewer cache misses than a table of
# marks, and need no pass of their own.
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset

from common.codes cimport ADD, ASSIGN, MAX, MIN
from common.items cimport cloned_void, inline_void
from common.stream cimport stream_bytes
from scatter.accumulate cimport choose_element, start_elements
from scatter.cells cimport finish_cells, start_cells
from scatter.job cimport Job
from scatter.loops.records cimport (
    BITS, CELLS, FIRST_BITS, UNMARKED, assignment_of_records, reduction_of_records, short_sums,
)
from scatter.loops.table cimport F32_F64
from scatter.tiles cimport WIDE_SUMS_BYTES, Partition

cdef enum:
    WORD_BITS = 32
    MIN_BITS_SHIFT = 8      # log2 of a tile's bytes, so that no two tiles share a word of bits
    PIECE_BYTES = 1 << 12   # of a result, on the way to it from its accumulators

ctypedef fused marked_t:
    uint32_t
    uint64_t


cdef inline void choose_loop(Partition* partition) noexcept nogil:
    """Choose the loop, and its marks, with which the job needs no table of marks."""
    cdef const Job* job = partition.job
    partition.loop = NULL
    partition.marking = UNMARKED
    if partition.is_short:
        if job.conversion.pair == F32_F64 and job.step.reduction == ADD and not job.marks.width:
            partition.loop = short_sums()
        return
    if partition.widening or not job.step.by_value or job.step.row.item_bytes not in (4, 8):
        return
    if job.step.reduction == ASSIGN:
        partition.loop = assignment_of_records(job.step.row.item_bytes)
        return
    if (job.step.reduction == MAX or job.step.reduction == MIN) and job.step.is_rare:
        return
    if job.marks.width:
        if not job.accumulates or partition.low or partition.shift < MIN_BITS_SHIFT:
            return
        if job.divides and (job.marks.width != 4 or (<Py_ssize_t>2 << partition.shift) > WIDE_SUMS_BYTES):
            return
        partition.marking = CELLS if job.divides else BITS
    partition.loop = reduction_of_records(job.step.reduction, job.step.type_code, partition.marking)
    if partition.loop == NULL:
        partition.marking = UNMARKED


cdef inline bint has_bits(const Partition* partition) noexcept nogil:
    return partition.marking == BITS or partition.marking == FIRST_BITS


cdef inline void choose_first_bits(Partition* partition) noexcept nogil:
    """Use bits in a result that has its elements of data."""
    partition.marking = FIRST_BITS
    partition.loop = reduction_of_records(partition.job.step.reduction, partition.job.step.type_code, FIRST_BITS)


cdef inline Py_ssize_t words_for(const Partition* partition, Py_ssize_t n_bytes) noexcept nogil:
    """The words of bits for so many bytes of elements."""
    return n_bytes // partition.job.row_bytes // WORD_BITS + 1


cdef inline void start_marked(const Partition* partition, char* sums, uint32_t* bits, const char* data,
                              Py_ssize_t n) noexcept nogil:
    """Initialise the accumulators of n elements, and their marks."""
    cdef const Job* job = partition.job
    if partition.marking == BITS:
        start_elements(job, sums, data, n)
        memset(bits, 0, partition.tile_words * sizeof(uint32_t))
    else:
        start_cells(job, sums, data, n)


cdef inline inline_void choose_of_word(marked_t* type, uint32_t word, const char* sums, const char* data, char* out,
                                       Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        choose_element(type, word >> i & 1, sums, data, out, i)


cdef inline inline_void choose_typed(marked_t* type, const uint32_t* bits, const char* sums, const char* data,
                                     char* out, Py_ssize_t n) noexcept nogil:
    while n >= WORD_BITS:
        choose_of_word(type, bits[0], sums, data, out, WORD_BITS)
        bits += 1
        sums += WORD_BITS * sizeof(marked_t)
        data += WORD_BITS * sizeof(marked_t)
        out += WORD_BITS * sizeof(marked_t)
        n -= WORD_BITS
    if n:
        choose_of_word(type, bits[0], sums, data, out, n)


cdef inline cloned_void choose_by_bits(Py_ssize_t width, const uint32_t* bits, const char* sums, const char* data,
                                       char* out, Py_ssize_t n) noexcept nogil:
    """out[i] = sums[i] if bit i else data[i]."""
    if width == 4:
        choose_typed(<uint32_t*>NULL, bits, sums, data, out, n)
    else:
        choose_typed(<uint64_t*>NULL, bits, sums, data, out, n)


cdef inline void finish_piece(const Partition* partition, const char* sums, const uint32_t* bits, const char* data,
                              char* out, Py_ssize_t n) noexcept nogil:
    cdef const Job* job = partition.job
    if partition.marking == BITS:
        choose_by_bits(job.row_bytes, bits, sums, data, out, n)
    else:
        finish_cells(job, sums, data, out, n)


cdef inline Py_ssize_t finish_marked(const Partition* partition, const char* sums, const uint32_t* bits,
                                     const char* data, char* out, Py_ssize_t n_bytes) noexcept nogil:
    """Write elements of the result, each from its accumulator, or from data if it had no update.

    Returns the bytes of their accumulators.
    """
    cdef const Job* job = partition.job
    cdef char piece[PIECE_BYTES]
    cdef Py_ssize_t bytes = job.row_bytes, n = n_bytes // bytes, m = PIECE_BYTES // bytes
    cdef Py_ssize_t sum_bytes = 2 * bytes if partition.marking == CELLS else bytes
    if not job.streams:
        finish_piece(partition, sums, bits, data, out, n)
        return n * sum_bytes
    while n > 0:
        m = min(m, n)
        finish_piece(partition, sums, bits, data, piece, m)
        stream_bytes(out, piece, m * bytes, True)
        sums += m * sum_bytes
        bits += m // WORD_BITS
        data += m * bytes
        out += m * bytes
        n -= m
    return n_bytes // bytes * sum_bytes
