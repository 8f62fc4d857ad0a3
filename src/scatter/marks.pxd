# Marks: which destinations have had an update, for include_self=False, and how many, for means.
#
# With include_self=False, elements are accumulated from the reduction's identity (accumulate.pxd), and a mark decides
# at the end between the sum and the element of data; so are rows of which accumulates_rows says that it is fast enough.
# Of few updates, the destinations become the identity first, and only means are marked (few_updates.pxd). Elsewhere the
# first update of a destination is assigned, and the others are combined with it (marks.assigns).
from cpython.mem cimport (  # so that tracemalloc sees it
    PyMem_RawCalloc as calloc, PyMem_RawFree as free, PyMem_RawMalloc as malloc,
)
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from common.codes cimport TAKE
from common.items cimport MAX_WORD_BYTES, bytes16, cloned_void, inline_void, word_t
from common.resolve cimport BLOCK, SKIPPED
from common.rows cimport Row
from scatter.apply cimport assign_row
from scatter.reductions cimport Step

ctypedef fused mark_t:
    uint8_t
    uint32_t
    uint64_t

cdef enum:
    SINK_BYTES = BLOCK * MAX_WORD_BYTES

cdef struct Marks:
    # The mark of a destination is 0 before its first update; then the number of its updates, or 1 if width is 1.
    char* table
    int width               # bytes of a mark; 0: the scatter needs none
    bint assigns            # include_self=False: the first update of a destination is assigned
    # Marks by row of a contiguous result: the index is the offset from origin, divided by the bytes of a row.
    int64_t origin
    int shift               # rows of 1 << shift bytes; -1: of other sizes
    double inverse          # 1 / bytes of a row
    # Marks in a hash table with linear probing, for few updates or a strided result; else keys is NULL.
    uint64_t* keys          # by slot: the key of an offset; 0: free
    int hash_shift          # of a 64-bit hash
    Py_ssize_t n_slots


cdef inline void describe_marks(Marks* marks, bint assigns, bint counts, Py_ssize_t n_updates,
                                Py_ssize_t row_bytes) noexcept nogil:
    marks.table = NULL
    marks.keys = NULL
    marks.n_slots = 0
    marks.hash_shift = 0
    marks.assigns = assigns
    marks.width = 0
    if counts:
        marks.width = 4 if n_updates < INT32_MAX else 8
    elif assigns:
        marks.width = 1
    marks.origin = 0
    marks.shift = 0
    while marks.shift < 62 and (<Py_ssize_t>1 << marks.shift) < row_bytes:
        marks.shift += 1
    if (<Py_ssize_t>1 << marks.shift) != row_bytes:
        marks.shift = -1
    marks.inverse = 1.0 / row_bytes if row_bytes else 0


cdef inline bint allocate_marks(Marks* marks, Py_ssize_t n_rows) noexcept nogil:
    """Allocate a mark for each row. False: there is no memory."""
    marks.table = <char*>calloc(max(n_rows, <Py_ssize_t>1), marks.width)
    return marks.table != NULL


cdef inline bint allocate_unset_marks(Marks* marks, Py_ssize_t n_rows) noexcept nogil:
    """The same for marks that are set before they are read."""
    marks.table = <char*>malloc(max(n_rows * marks.width, <Py_ssize_t>1))
    return marks.table != NULL


cdef inline bint allocate_slots(Marks* marks, Py_ssize_t n_destinations) noexcept nogil:
    """Allocate a hash table that is at most half full. False: there is no memory."""
    marks.hash_shift = 60
    marks.n_slots = 16
    while marks.n_slots < 2 * n_destinations:
        marks.n_slots *= 2
        marks.hash_shift -= 1
    marks.keys = <uint64_t*>calloc(marks.n_slots, sizeof(uint64_t))
    marks.table = <char*>calloc(marks.n_slots, marks.width)
    if marks.keys == NULL or marks.table == NULL:
        free_marks(marks)
        return False
    return True


cdef inline void free_marks(Marks* marks) noexcept nogil:
    free(marks.table)
    free(marks.keys)
    marks.table = NULL
    marks.keys = NULL


cdef inline int64_t count_of(const Marks* marks, Py_ssize_t index) noexcept nogil:
    """The number of updates; if width is 1, whether there were any."""
    if marks.width == 1:
        return (<uint8_t*>marks.table)[index]
    if marks.width == 4:
        return (<uint32_t*>marks.table)[index]
    return <int64_t>(<uint64_t*>marks.table)[index]


cdef inline void add_to_mark(Marks* marks, Py_ssize_t index, uint64_t n) noexcept nogil:
    if marks.width == 1:
        (<uint8_t*>marks.table)[index] |= n != 0
    elif marks.width == 4:
        (<uint32_t*>marks.table)[index] += <uint32_t>n
    else:
        (<uint64_t*>marks.table)[index] += n


cdef inline void set_mark(Marks* marks, Py_ssize_t index, uint64_t n) noexcept nogil:
    if marks.width == 1:
        (<uint8_t*>marks.table)[index] = n != 0
    elif marks.width == 4:
        (<uint32_t*>marks.table)[index] = <uint32_t>n
    else:
        (<uint64_t*>marks.table)[index] = n


cdef inline void add_marks(Marks* marks, const Marks* more, Py_ssize_t n) noexcept nogil:
    """Add the first n marks of another table."""
    cdef Py_ssize_t i
    if marks.width == 1:
        for i in range(n):
            marks.table[i] |= more.table[i]
    elif marks.width == 4:
        for i in range(n):
            (<uint32_t*>marks.table)[i] += (<const uint32_t*>more.table)[i]
    else:
        for i in range(n):
            (<uint64_t*>marks.table)[i] += (<const uint64_t*>more.table)[i]


# An offset is never INT64_MIN (SKIPPED), so that its key is never 0.

cdef inline uint64_t key_of(int64_t offset) noexcept nogil:
    return <uint64_t>offset ^ <uint64_t>1 << 63


cdef inline int64_t offset_of(uint64_t key) noexcept nogil:
    return <int64_t>(key ^ <uint64_t>1 << 63)


cdef inline Py_ssize_t first_slot(const Marks* marks, int64_t offset) noexcept nogil:
    """Where the search for the slot of an offset begins."""
    return <Py_ssize_t>(key_of(offset) * <uint64_t>0x9e3779b97f4a7c15 >> marks.hash_shift)


cdef inline Py_ssize_t slot_of(const Marks* marks, int64_t offset) noexcept nogil:
    """The slot of an offset, which is inserted if it is new."""
    cdef uint64_t key = key_of(offset)
    cdef Py_ssize_t slot = first_slot(marks, offset)
    while marks.keys[slot] != key:
        if marks.keys[slot] == 0:
            marks.keys[slot] = key
            break
        slot = slot + 1 if slot + 1 < marks.n_slots else 0
    return slot


# There is no branch for skipped tuples, which would be mispredicted: they add 0 to the mark of one that is not skipped.
# (Any other mark may be another thread's.)

cdef inline int64_t first_not_skipped(const int64_t* offsets, Py_ssize_t n) noexcept nogil:
    """The first offset that is not skipped; SKIPPED: there is none."""
    cdef Py_ssize_t i
    for i in range(n):
        if offsets[i] != SKIPPED:
            return offsets[i]
    return SKIPPED


cdef inline cloned_void index_marks(const Marks* marks, const int64_t* offsets, Py_ssize_t n, int64_t of_skipped,
                                    int64_t* indices) noexcept nogil:
    """The index of each destination's mark. of_skipped: the offset whose mark skipped tuples get."""
    cdef Py_ssize_t i
    cdef int64_t offset
    cdef int64_t origin = marks.origin
    cdef int shift = marks.shift
    cdef double inverse = marks.inverse
    if marks.keys != NULL:
        for i in range(n):
            indices[i] = slot_of(marks, of_skipped if offsets[i] == SKIPPED else offsets[i])
    elif shift >= 0:
        for i in range(n):
            offset = of_skipped if offsets[i] == SKIPPED else offsets[i]
            indices[i] = (offset - origin) >> shift
    else:
        for i in range(n):  # exact: a multiple of the row, whose rounding error is less than 0.5
            offset = of_skipped if offsets[i] == SKIPPED else offsets[i]
            indices[i] = <int64_t>(<double>(offset - origin) * inverse + 0.5)


cdef inline inline_void note_typed(mark_t* table, const int64_t* indices, const int64_t* offsets, Py_ssize_t n,
                                   int32_t* firsts, Py_ssize_t* n_firsts) noexcept nogil:
    cdef Py_ssize_t i, m = 0
    cdef mark_t mark
    cdef int is_applied
    for i in range(n):
        is_applied = offsets[i] != SKIPPED
        mark = table[indices[i]]
        firsts[m] = <int32_t>i  # kept if this is the first update: without a branch, which would be mispredicted
        m += (mark == 0) & is_applied
        if mark_t is uint8_t:
            table[indices[i]] = mark | <mark_t>is_applied
        else:
            table[indices[i]] = mark + <mark_t>is_applied
    n_firsts[0] = m


cdef inline cloned_void note_firsts(const Marks* marks, const int64_t* indices, const int64_t* offsets, Py_ssize_t n,
                                    int32_t* firsts, Py_ssize_t* n_firsts) noexcept nogil:
    """Mark a block of updates, and find those that are the first ones of their destinations."""
    if marks.width == 1:
        note_typed(<uint8_t*>marks.table, indices, offsets, n, firsts, n_firsts)
    elif marks.width == 4:
        note_typed(<uint32_t*>marks.table, indices, offsets, n, firsts, n_firsts)
    else:
        note_typed(<uint64_t*>marks.table, indices, offsets, n, firsts, n_firsts)


cdef inline inline_void count_elements(mark_t* table, int64_t origin, int shift, const int64_t* offsets,
                                       Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        if mark_t is uint8_t:
            table[(offsets[i] - origin) >> shift] = 1
        else:
            table[(offsets[i] - origin) >> shift] += 1


cdef inline inline_void count_typed(mark_t* table, const Marks* marks, const int64_t* offsets,
                                    Py_ssize_t n) noexcept nogil:
    if marks.shift == 2:  # constants, so that the index is part of an address
        count_elements(table, marks.origin, 2, offsets, n)
    elif marks.shift == 3:
        count_elements(table, marks.origin, 3, offsets, n)
    else:
        count_elements(table, marks.origin, marks.shift, offsets, n)


cdef inline cloned_void count_block(const Marks* marks, const int64_t* offsets, Py_ssize_t n) noexcept nogil:
    """Mark a block of updates of rows of 1 << marks.shift bytes, none of them skipped."""
    if marks.width == 1:
        count_typed(<uint8_t*>marks.table, marks, offsets, n)
    elif marks.width == 4:
        count_typed(<uint32_t*>marks.table, marks, offsets, n)
    else:
        count_typed(<uint64_t*>marks.table, marks, offsets, n)


cdef inline inline_void assign_firsts(word_t* type, char* out, int64_t* offsets, const char* updates,
                                      Py_ssize_t update_step, const int32_t* firsts, Py_ssize_t n_firsts,
                                      int64_t sinks) noexcept nogil:
    cdef Py_ssize_t j, i
    cdef word_t item
    for j in range(n_firsts):
        i = firsts[j]
        memcpy(&item, updates + i * update_step, sizeof(word_t))
        memcpy(out + offsets[i], &item, sizeof(word_t))
        offsets[i] = sinks + i * MAX_WORD_BYTES


cdef inline void start_sinks(char* sinks, Py_ssize_t n) noexcept nogil:
    memset(sinks, 0, min(n, <Py_ssize_t>BLOCK) * MAX_WORD_BYTES)


cdef inline bint fits_sink(const Step* step) noexcept nogil:
    """Whether an update can be applied to a sink: an element, or a contiguous row that is not longer."""
    cdef const Row* row = &step.row
    return step.by_value or (step.reduction != TAKE and row.outer.n == 1 and row.inner_data == row.item_bytes
                             and row.n_inner * row.item_bytes <= MAX_WORD_BYTES)


cdef inline cloned_void send_to_sinks(int64_t* offsets, Py_ssize_t n, char* out, char* sinks) noexcept nogil:
    """Let skipped updates go to sinks, each to its own, so that applying them needs no branch."""
    cdef int64_t to_sinks = <int64_t>(<size_t>sinks - <size_t>out)
    cdef Py_ssize_t i
    for i in range(n):
        offsets[i] = to_sinks + i * MAX_WORD_BYTES if offsets[i] == SKIPPED else offsets[i]


cdef inline void mark_block(const Marks* marks, const Step* step, bint skips, char* out, int64_t* offsets,
                            const char* updates, const int64_t* update_offsets, Py_ssize_t update_step, Py_ssize_t n,
                            char* sinks) noexcept nogil:
    """Mark the destinations of a block of updates, before it is applied; assign first updates if marks.assigns.

    The offset of an assigned update becomes SKIPPED, or, for elements, that of a sink: elements of no use, one for each
    update of the block, so that applying a block needs no branch.
    """
    cdef int64_t indices[BLOCK]
    cdef int32_t firsts[BLOCK + 1]
    cdef Py_ssize_t n_firsts = 0, j, i
    cdef int64_t to_sinks = <int64_t>(<size_t>sinks - <size_t>out)
    cdef int64_t of_skipped
    if not skips and not marks.assigns and marks.keys == NULL and marks.shift >= 0:
        count_block(marks, offsets, n)
        return
    of_skipped = first_not_skipped(offsets, n)
    if of_skipped == SKIPPED:
        return
    index_marks(marks, offsets, n, of_skipped, indices)
    note_firsts(marks, indices, offsets, n, firsts, &n_firsts)
    if not marks.assigns or n_firsts == 0:
        return
    if not step.by_value:
        for j in range(n_firsts):
            i = firsts[j]
            assign_row(&step.row, out + offsets[i],
                       updates + (update_offsets[i] if update_offsets != NULL else i * update_step))
            offsets[i] = SKIPPED
    elif step.row.item_bytes == 4:
        assign_firsts(<uint32_t*>NULL, out, offsets, updates, update_step, firsts, n_firsts, to_sinks)
    elif step.row.item_bytes == 8:
        assign_firsts(<uint64_t*>NULL, out, offsets, updates, update_step, firsts, n_firsts, to_sinks)
    elif step.row.item_bytes == 1:
        assign_firsts(<uint8_t*>NULL, out, offsets, updates, update_step, firsts, n_firsts, to_sinks)
    elif step.row.item_bytes == 2:
        assign_firsts(<uint16_t*>NULL, out, offsets, updates, update_step, firsts, n_firsts, to_sinks)
    else:
        assign_firsts(<bytes16*>NULL, out, offsets, updates, update_step, firsts, n_firsts, to_sinks)
