# cython: cdivision=True
# The inner loops: updates are applied to accumulators, in order. Each is one loop for a step, a dtype and a mark, which
# are constants where the loop is inlined: a fused type for each of them would make thousands of functions.
#
# Accumulators that do not include data start from the reduction's identity, so that every update is combined, without a
# branch. Marks tell which rows have updates:
#     uint8_t     1: the row has an update
#     uint32_t    how many: means
# Counts of 8 bytes, for 2**31 updates or more, have no loops: see count_rows.
# A product of complex numbers has no identity: there, the first update of a row is assigned.
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from common.codes cimport (
    ADD, ASSIGN, BFLOAT16, BOOL, COMPLEX64, COMPLEX128, FLOAT16, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, MAX, MIN,
    MUL, UINT8, UINT16, UINT32, UINT64, ReductionCode, TypeCode,
)
from common.items cimport (
    AHEAD, CACHE_LINE, PREFETCHED, ROWS_AHEAD, STREAM_AHEAD, flat_void, const_restricted, inline_void, prefetch_l1,
    prefetch_row, prefetch_row_l2, prefetch_write, restricted, scalar,
)
from scatter.steps cimport bfloat16, boolean, combined, complex64, complex128, float16, value_t
from scatter.vectors cimport VECTOR, combine_vectors, has_vectors

cdef enum Mark:
    UNMARKED
    MARKED                  # uint8_t
    COUNTED                 # uint32_t

cdef struct Rows:
    const int64_t* rows     # row ids
    const char* updates
    Py_ssize_t step         # bytes from an update to the next,
    const int64_t* offsets  # or where each is; NULL: they are `step` bytes apart
    bint prefetches             # accumulators are prefetched

cdef enum Source:           # of the rows of elements
    SINGLE                  # an index of 8 bytes for each
    PAIRS                   # two: sums without marks alone
    RECORDS                 # a row id of 4 bytes, then the update

cdef struct Elements:
    # Updates of one element each, and where they go.
    Source source
    const char* indices
    int64_t size            # an index that is not below it, once it is wrapped, is out of bounds
    int64_t wrap            # added to a negative index
    Py_ssize_t index_step   # of pairs: bytes from an index to that of the next update
    Py_ssize_t to_second    # bytes to the second index
    int64_t stride          # rows from an index to the next one; second indices number these
    int64_t second_size
    int64_t second_wrap
    const char* updates
    Py_ssize_t step         # bytes from an update to the next
    bint prefetches             # accumulators are prefetched
    bint repeats            # most go to the same row as the one before; not for records

ctypedef fused updates_t:
    Elements
    Rows

cdef extern from "scatter/numbers.h":
    void add_three "gs_add_three" (char* sums, const char* numbers) nogil

cdef struct Kernel:
    ReductionCode step
    TypeCode type_code      # of accumulators; for ASSIGN one of their width, or BOOL: rows of bytes
    int mark_bytes          # 0: no marks
    Py_ssize_t n_items      # of a row
    Py_ssize_t row_bytes    # from an accumulator to the next


cdef inline bint assigns_first(ReductionCode step, value_t* type) noexcept nogil:
    """Whether the step has no identity."""
    return step == MUL and (value_t is complex64 or value_t is complex128)


cdef inline inline_void prefetch_element(Mark mark, const char* marks, const char* accumulators, int64_t row,
                                         Py_ssize_t row_bytes) noexcept nogil:
    """Of any row, also of one that is out of bounds."""
    prefetch_write(<const char*>(<size_t>accumulators + <size_t>row * <size_t>row_bytes))
    if mark == MARKED:
        prefetch_write(<const char*>(<size_t>marks + <size_t>row))
    elif mark == COUNTED:
        prefetch_write(<const char*>(<size_t>marks + <size_t>row * sizeof(uint32_t)))


cdef inline inline_void mark_row(Mark mark, char* marks, Py_ssize_t row) noexcept nogil:
    if mark == MARKED:
        marks[row] = 1
    elif mark == COUNTED:
        (<uint32_t*>marks)[row] += 1


cdef inline inline_void combine_row(ReductionCode step, value_t* type, restricted accumulator, const_restricted update,
                                    Py_ssize_t n_items) noexcept nogil:
    cdef Py_ssize_t j
    cdef value_t a, b
    if step == ADD and value_t is float and n_items == 3:  # a constant, or rarely
        add_three(accumulator, update)
        return
    for j in range(n_items):
        memcpy(&a, accumulator + j * <Py_ssize_t>sizeof(value_t), sizeof(value_t))
        memcpy(&b, update + j * <Py_ssize_t>sizeof(value_t), sizeof(value_t))
        a = combined(step, False, a, b)
        memcpy(accumulator + j * <Py_ssize_t>sizeof(value_t), &a, sizeof(value_t))


cdef inline inline_void apply_element(ReductionCode step, Mark mark, char* marks, value_t* type, int n_items,
                                      char* accumulators, int64_t row, const char* update) noexcept nogil:
    """n_items: of a point; else 1."""
    cdef char* accumulator = accumulators + row * <Py_ssize_t>sizeof(value_t)
    cdef value_t a, b
    if n_items > 1:
        combine_row(step, type, accumulators + row * n_items * <Py_ssize_t>sizeof(value_t), update, n_items)
        mark_row(mark, marks, row)
        return
    memcpy(&b, update, sizeof(value_t))
    if step == ASSIGN:
        a = b
    else:
        memcpy(&a, accumulator, sizeof(value_t))
        a = combined(step, True, a, b)
        if mark == MARKED:
            if assigns_first(step, type) and marks[row] == 0:
                a = b
    mark_row(mark, marks, row)
    memcpy(accumulator, &a, sizeof(value_t))


cdef inline inline_void apply_run(ReductionCode step, Mark mark, char* marks, value_t* type, int64_t row,
                                  const int64_t* indices, Py_ssize_t n, char* accumulators, const char* update,
                                  Py_ssize_t step_bytes, Py_ssize_t* run) noexcept nogil:
    """Apply the first elements, all of the same row, in a register: of those in memory each waits for a store.

    row: the first index, read once.
    """
    cdef Py_ssize_t i = 1
    cdef char* accumulator = accumulators + row * <Py_ssize_t>sizeof(value_t)
    cdef value_t a, b
    memcpy(&a, accumulator, sizeof(value_t))
    memcpy(&b, update, sizeof(value_t))
    a = combined(step, True, a, b)
    if mark == MARKED:
        if assigns_first(step, type) and marks[row] == 0:
            a = b
        marks[row] = 1
    while i < n and indices[i] == row:
        memcpy(&b, update + i * step_bytes, sizeof(value_t))
        a = combined(step, True, a, b)
        i += 1
    if mark == COUNTED:
        (<uint32_t*>marks)[row] += <uint32_t>i
    memcpy(accumulator, &a, sizeof(value_t))
    run[0] = i


cdef inline int64_t row_at(Source source, const Elements* elements, const char* index, bint wraps,
                           uint64_t* outside) noexcept nogil:
    """outside: becomes not 0 if the row is out of bounds; that of a record is not."""
    cdef int64_t row, second
    if source == RECORDS:
        return (<const uint32_t*>index)[0]
    row = scalar((<const int64_t*>index)[0])
    if wraps:
        row += (row >> 63) & elements.wrap
    outside[0] |= <uint64_t>row >= <uint64_t>elements.size
    if source == PAIRS:
        second = scalar((<const int64_t*>(index + elements.to_second))[0])
        if wraps:
            second += (second >> 63) & elements.second_wrap
        outside[0] |= <uint64_t>second >= <uint64_t>elements.second_size
        row = row * elements.stride + second
    return row


cdef inline inline_void apply_elements_of(ReductionCode step, Mark mark, char* marks, value_t* type, int n_items,
                                          Source source, const Elements* all_elements, char* accumulators,
                                          Py_ssize_t n, Py_ssize_t* done) noexcept nogil:
    """Four at a time: their indices are checked together. From a negative index on, some are applied one by one."""
    cdef Elements elements = all_elements[0]  # for the compiler, stores of bytes might change the other one
    cdef Py_ssize_t i = 0, stop, run, step_bytes = elements.step
    cdef Py_ssize_t index_step = elements.index_step if source == PAIRS else <Py_ssize_t>sizeof(int64_t)
    cdef Py_ssize_t row_bytes = n_items * <Py_ssize_t>sizeof(value_t)
    cdef int64_t row, a, b, c, d
    cdef uint64_t outside = 0
    cdef const char* index = elements.indices
    cdef const char* update = elements.updates
    if source == RECORDS:
        index_step = step_bytes = 4 + (4 if sizeof(value_t) < 4 else sizeof(value_t))
        update = index + 4
    if source == SINGLE and step != ASSIGN and n_items == 1:
        while elements.repeats and i < n:
            row = row_at(source, &elements, index, False, &outside)
            if outside:
                break
            apply_run(step, mark, marks, type, row, <const int64_t*>index, n - i, accumulators, update, step_bytes,
                      &run)
            i += run
            index += run * index_step
            update += run * step_bytes
    while True:
        while i + 4 <= n:
            outside = 0
            a = row_at(source, &elements, index, False, &outside)
            b = row_at(source, &elements, index + index_step, False, &outside)
            c = row_at(source, &elements, index + 2 * index_step, False, &outside)
            d = row_at(source, &elements, index + 3 * index_step, False, &outside)
            if source != RECORDS:
                if outside:
                    break
                prefetch_l1(update + STREAM_AHEAD)
                prefetch_l1(index + STREAM_AHEAD)
                if source == PAIRS:
                    prefetch_l1(index + elements.to_second + STREAM_AHEAD)
                # A store that misses delays all later ones.
                if (step == ASSIGN or n_items > 1) and elements.prefetches and i + AHEAD + 4 <= n:
                    prefetch_element(mark, marks, accumulators, (<const int64_t*>index)[AHEAD], row_bytes)
                    prefetch_element(mark, marks, accumulators, (<const int64_t*>index)[AHEAD + 1], row_bytes)
                    prefetch_element(mark, marks, accumulators, (<const int64_t*>index)[AHEAD + 2], row_bytes)
                    prefetch_element(mark, marks, accumulators, (<const int64_t*>index)[AHEAD + 3], row_bytes)
            apply_element(step, mark, marks, type, n_items, accumulators, a, update)
            apply_element(step, mark, marks, type, n_items, accumulators, b, update + step_bytes)
            apply_element(step, mark, marks, type, n_items, accumulators, c, update + 2 * step_bytes)
            apply_element(step, mark, marks, type, n_items, accumulators, d, update + 3 * step_bytes)
            index += 4 * index_step
            update += 4 * step_bytes
            i += 4
        if i == n:
            break
        stop = min(n, i + 8)
        while i < stop:
            outside = 0
            row = row_at(source, &elements, index, True, &outside)
            if outside:
                done[0] = i
                return
            apply_element(step, mark, marks, type, n_items, accumulators, row, update)
            index += index_step
            update += step_bytes
            i += 1
    done[0] = n


cdef inline inline_void apply_kind_of(ReductionCode step, Mark mark, char* marks, value_t* type, Py_ssize_t n_items,
                                      const Elements* elements, char* accumulators, Py_ssize_t n,
                                      Py_ssize_t* done) noexcept nogil:
    if value_t is float and step == ADD and n_items > 1:
        if n_items == 3:
            apply_elements_of(step, mark, marks, type, 3, SINGLE, elements, accumulators, n, done)
        elif n_items == 2:
            apply_elements_of(step, mark, marks, type, 2, SINGLE, elements, accumulators, n, done)
        else:
            apply_elements_of(step, mark, marks, type, 4, SINGLE, elements, accumulators, n, done)
    elif elements.source == RECORDS:
        apply_elements_of(step, mark, marks, type, 1, RECORDS, elements, accumulators, n, done)
    elif step == ADD and mark == UNMARKED and elements.source == PAIRS:
        apply_elements_of(step, mark, marks, type, 1, PAIRS, elements, accumulators, n, done)
    else:
        apply_elements_of(step, mark, marks, type, 1, SINGLE, elements, accumulators, n, done)


cdef inline bint are_points(const Kernel* kernel) noexcept nogil:
    """Whether rows are so short that they are applied as elements are. Pieces of long rows are not adjacent."""
    return (kernel.type_code == FLOAT32 and kernel.step == ADD and 2 <= kernel.n_items <= 4
            and kernel.row_bytes == kernel.n_items * 4)


cdef inline Py_ssize_t rows_ahead(Py_ssize_t size) noexcept nogil:
    """How many rows ahead one in random order is prefetched: as many cache lines of them as of a stream."""
    return max(STREAM_AHEAD // max(size, <Py_ssize_t>CACHE_LINE), <Py_ssize_t>ROWS_AHEAD)


cdef inline inline_void apply_rows_of(ReductionCode step, Mark mark, char* marks, value_t* type, bint of_vectors,
                                      Py_ssize_t n_items, Py_ssize_t row_bytes, const Rows* rows, char* accumulators,
                                      Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i, size = n_items * <Py_ssize_t>sizeof(value_t), ahead = rows_ahead(size)
    cdef Py_ssize_t update_step = rows.step if rows.offsets == NULL else 0
    cdef Py_ssize_t prefetched = min(size, <Py_ssize_t>PREFETCHED)
    cdef const int64_t* ids = rows.rows  # locals: for the compiler, stores of bytes might change `rows`
    cdef const int64_t* offsets = rows.offsets
    cdef const char* updates = rows.updates
    cdef const char* update = updates
    cdef char* accumulator
    cdef const char* later_update
    cdef const char* later_accumulator
    cdef bint assigns, prefetches = rows.prefetches
    for i in range(n):
        accumulator = accumulators + ids[i] * row_bytes
        if offsets != NULL:
            update = updates + offsets[i]
        later_update = update + STREAM_AHEAD if offsets == NULL else updates + offsets[min(i + ahead, n - 1)]
        later_accumulator = accumulators + ids[min(i + ROWS_AHEAD, n - 1)] * row_bytes if prefetches else NULL
        assigns = step == ASSIGN
        if mark == MARKED:
            assigns = assigns or (assigns_first(step, type) and marks[ids[i]] == 0)
        mark_row(mark, marks, ids[i])
        if of_vectors:
            combine_vectors(step, type, accumulator, update, later_update, later_accumulator, size)
        else:
            prefetch_row_l2(later_update, prefetched)
            if later_accumulator != NULL:
                prefetch_row(later_accumulator, prefetched)
            if assigns:
                memcpy(accumulator, update, size)
            else:
                combine_row(step, type, accumulator, update, n_items)
        update += update_step


cdef inline inline_void apply_rows_any(ReductionCode step, Mark mark, char* marks, value_t* type, const Kernel* kernel,
                                       const Rows* rows, char* accumulators, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t n_items = kernel.n_items, size = sizeof(value_t)
    cdef bint are_floats = value_t is float or value_t is double
    cdef bint is_point = kernel.row_bytes == n_items * size and (are_floats or step == ASSIGN)
    if is_point and n_items == 2:
        apply_rows_of(step, mark, marks, type, False, 2, 2 * size, rows, accumulators, n)
    elif is_point and n_items == 3:
        apply_rows_of(step, mark, marks, type, False, 3, 3 * size, rows, accumulators, n)
    elif is_point and n_items == 4:
        apply_rows_of(step, mark, marks, type, False, 4, 4 * size, rows, accumulators, n)
    elif are_floats and has_vectors(step) and kernel.row_bytes == n_items * size == VECTOR:
        apply_rows_of(step, mark, marks, type, True, VECTOR // size, VECTOR, rows, accumulators, n)
    elif are_floats and has_vectors(step) and n_items * size % VECTOR == 0:
        apply_rows_of(step, mark, marks, type, True, n_items, kernel.row_bytes, rows, accumulators, n)
    else:
        apply_rows_of(step, mark, marks, type, False, n_items, kernel.row_bytes, rows, accumulators, n)


cdef inline inline_void apply_of(ReductionCode step, Mark mark, char* marks, value_t* type, const Kernel* kernel,
                                 const updates_t* updates, char* accumulators, Py_ssize_t n,
                                 Py_ssize_t* done) noexcept nogil:
    if updates_t is Elements:
        apply_kind_of(step, mark, marks, type, kernel.n_items, updates, accumulators, n, done)
    else:
        apply_rows_any(step, mark, marks, type, kernel, updates, accumulators, n)


cdef inline inline_void apply_typed(ReductionCode step, Mark mark, char* marks, const Kernel* kernel,
                                    const updates_t* updates, char* accumulators, Py_ssize_t n,
                                    Py_ssize_t* done) noexcept nogil:
    """Dispatch on the dtype; assignments on the width. Sums and products of integers have no signs."""
    cdef int type_code = kernel.type_code
    if (step == ADD or step == MUL) and INT8 <= type_code <= INT64:
        type_code += UINT8 - INT8
    if step == ASSIGN:
        if type_code == UINT32:
            apply_of(step, mark, marks, <uint32_t*>NULL, kernel, updates, accumulators, n, done)
        elif type_code == UINT64:
            apply_of(step, mark, marks, <uint64_t*>NULL, kernel, updates, accumulators, n, done)
        elif type_code == UINT8:
            apply_of(step, mark, marks, <uint8_t*>NULL, kernel, updates, accumulators, n, done)
        elif type_code == UINT16:
            apply_of(step, mark, marks, <uint16_t*>NULL, kernel, updates, accumulators, n, done)
        else:
            apply_of(step, mark, marks, <complex128*>NULL, kernel, updates, accumulators, n, done)
    elif type_code == FLOAT32:
        apply_of(step, mark, marks, <float*>NULL, kernel, updates, accumulators, n, done)
    elif type_code == FLOAT64:
        apply_of(step, mark, marks, <double*>NULL, kernel, updates, accumulators, n, done)
    elif type_code == FLOAT16:
        apply_of(step, mark, marks, <float16*>NULL, kernel, updates, accumulators, n, done)
    elif type_code == BFLOAT16:
        apply_of(step, mark, marks, <bfloat16*>NULL, kernel, updates, accumulators, n, done)
    elif type_code == UINT8:
        apply_of(step, mark, marks, <uint8_t*>NULL, kernel, updates, accumulators, n, done)
    elif type_code == UINT16:
        apply_of(step, mark, marks, <uint16_t*>NULL, kernel, updates, accumulators, n, done)
    elif type_code == UINT32:
        apply_of(step, mark, marks, <uint32_t*>NULL, kernel, updates, accumulators, n, done)
    elif type_code == UINT64:
        apply_of(step, mark, marks, <uint64_t*>NULL, kernel, updates, accumulators, n, done)
    elif step == MAX or step == MIN:
        if type_code == INT64:
            apply_of(step, mark, marks, <int64_t*>NULL, kernel, updates, accumulators, n, done)
        elif type_code == INT32:
            apply_of(step, mark, marks, <int32_t*>NULL, kernel, updates, accumulators, n, done)
        elif type_code == INT8:
            apply_of(step, mark, marks, <int8_t*>NULL, kernel, updates, accumulators, n, done)
        elif type_code == INT16:
            apply_of(step, mark, marks, <int16_t*>NULL, kernel, updates, accumulators, n, done)
    else:  # complex numbers have no order
        if type_code == BOOL:
            apply_of(step, mark, marks, <boolean*>NULL, kernel, updates, accumulators, n, done)
        elif type_code == COMPLEX64:
            apply_of(step, mark, marks, <complex64*>NULL, kernel, updates, accumulators, n, done)
        elif type_code == COMPLEX128:
            apply_of(step, mark, marks, <complex128*>NULL, kernel, updates, accumulators, n, done)


cdef inline inline_void apply_step(Mark mark, char* marks, const Kernel* kernel, const updates_t* updates,
                                   char* accumulators, Py_ssize_t n, Py_ssize_t* done) noexcept nogil:
    """Dispatch on the step. The maximum of bools is their sum, the minimum their product."""
    cdef bint are_bools = kernel.type_code == BOOL
    if kernel.step == ADD or (kernel.step == MAX and are_bools):
        apply_typed(ADD, mark, marks, kernel, updates, accumulators, n, done)
    elif mark == UNMARKED or mark == MARKED:  # counts are of means
        if kernel.step == MUL or (kernel.step == MIN and are_bools):
            apply_typed(MUL, mark, marks, kernel, updates, accumulators, n, done)
        elif kernel.step == MAX:
            apply_typed(MAX, mark, marks, kernel, updates, accumulators, n, done)
        elif kernel.step == MIN:
            apply_typed(MIN, mark, marks, kernel, updates, accumulators, n, done)
        elif kernel.step == ASSIGN:
            apply_typed(ASSIGN, mark, marks, kernel, updates, accumulators, n, done)


# Two functions, each with all loops of its kind. They dispatch on the mark.

cdef inline flat_void apply_elements(const Kernel* kernel, const Elements* elements, char* accumulators,
                                     char* marks, Py_ssize_t n, Py_ssize_t* done) noexcept nogil:
    """Apply n updates of one element each. done: how many were, before an index that is out of bounds.

    Counts of 8 bytes stay as they are: see count_rows.
    """
    if kernel.mark_bytes == 1:
        apply_step(MARKED, marks, kernel, elements, accumulators, n, done)
    elif kernel.mark_bytes == 4:
        apply_step(COUNTED, marks, kernel, elements, accumulators, n, done)
    else:
        apply_step(UNMARKED, marks, kernel, elements, accumulators, n, done)


cdef inline flat_void combine_rows(const Kernel* kernel, const Rows* rows, char* accumulators, char* marks,
                                   Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t done
    if kernel.mark_bytes == 1:
        apply_step(MARKED, marks, kernel, rows, accumulators, n, &done)
    elif kernel.mark_bytes == 4:
        apply_step(COUNTED, marks, kernel, rows, accumulators, n, &done)
    else:
        apply_step(UNMARKED, marks, kernel, rows, accumulators, n, &done)


cdef inline uint64_t mark_of(const Kernel* kernel, const char* marks, Py_ssize_t row) noexcept nogil:
    if kernel.mark_bytes == 1:
        return (<const uint8_t*>marks)[row]
    if kernel.mark_bytes == 4:
        return (<const uint32_t*>marks)[row]
    return (<const uint64_t*>marks)[row]


cdef inline void add_to_mark(const Kernel* kernel, char* marks, Py_ssize_t row, uint64_t n) noexcept nogil:
    if kernel.mark_bytes == 1:
        (<uint8_t*>marks)[row] |= n != 0
    elif kernel.mark_bytes == 4:
        (<uint32_t*>marks)[row] += <uint32_t>n
    else:
        (<uint64_t*>marks)[row] += n


cdef inline void count_rows(const Kernel* kernel, const int64_t* rows, char* marks, Py_ssize_t n) noexcept nogil:
    """Count n updates in marks of 8 bytes."""
    cdef Py_ssize_t i
    for i in range(n):
        add_to_mark(kernel, marks, rows[i], 1)


cdef inline void assign_rows(const Kernel* kernel, const Rows* rows, char* accumulators, char* marks,
                             Py_ssize_t n) noexcept nogil:
    """Rows of n_items bytes, whatever their dtype."""
    cdef Py_ssize_t i, prefetched = min(kernel.n_items, <Py_ssize_t>PREFETCHED)
    for i in range(n):
        if rows.offsets != NULL and i + AHEAD < n:
            prefetch_row(rows.updates + rows.offsets[i + AHEAD], prefetched)
        memcpy(accumulators + rows.rows[i] * kernel.row_bytes,
               rows.updates + (rows.offsets[i] if rows.offsets != NULL else i * rows.step), kernel.n_items)
        if marks != NULL:
            marks[rows.rows[i]] = 1


cdef inline bint moves_bytes(const Kernel* kernel) noexcept nogil:
    """Whether rows are bytes, which n_items counts then."""
    return kernel.step == ASSIGN and kernel.type_code == BOOL


cdef inline void apply_rows(const Kernel* kernel, const Rows* rows, char* accumulators, char* marks,
                            Py_ssize_t n) noexcept nogil:
    """Apply n contiguous rows."""
    cdef Py_ssize_t i
    if kernel.mark_bytes == 8:
        count_rows(kernel, rows.rows, marks, n)
    if moves_bytes(kernel):
        assign_rows(kernel, rows, accumulators, marks if kernel.mark_bytes else NULL, n)
    else:
        if rows.offsets != NULL:
            for i in range(min(n, rows_ahead(kernel.row_bytes))):
                prefetch_row_l2(rows.updates + rows.offsets[i], min(kernel.row_bytes, <Py_ssize_t>PREFETCHED))
        combine_rows(kernel, rows, accumulators, marks, n)
