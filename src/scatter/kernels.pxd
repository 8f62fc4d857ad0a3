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
    MUL, TAKE, UINT8, UINT16, UINT32, UINT64, ReductionCode, TypeCode,
)
from common.items cimport (
    CACHE_LINE, STREAM_AHEAD, flat_void, const_restricted, inline_void, prefetch_l1, prefetch_l2,
    prefetch_row, prefetch_row_l2, prefetch_write, restricted, scalar,
)
from scatter.steps cimport bfloat16, boolean, combined, complex64, complex128, float16, value_t

cdef enum Mark:
    UNMARKED
    MARKED                  # uint8_t
    COUNTED                 # uint32_t

cdef struct Rows:
    const int64_t* rows     # row ids
    const char* updates
    Py_ssize_t step         # bytes from an update to the next,
    const int64_t* offsets  # or where each is; NULL: they are `step` bytes apart
    bint is_far             # accumulators are prefetched

cdef struct Elements:
    # Updates of one element each, and where they go.
    const char* indices
    bint are_records        # indices: not of 8 bytes, but records: a row id of 4 bytes, then the update
    int64_t size            # an index that is not below it, once it is wrapped, is out of bounds
    int64_t wrap            # added to a negative index
    const char* updates
    Py_ssize_t step         # bytes from an update to the next
    bint is_far             # accumulators are prefetched
    bint repeats            # most go to the same row as the one before; not for records

ctypedef fused updates_t:
    Elements
    Rows

cdef extern from "scatter/numbers.h":
    void add_three "gs_add_three" (char* sums, const char* numbers) nogil
cdef enum:
    PREFETCHED_ROW = 1024   # bytes of a row; the hardware prefetches the rest
    AHEAD = 16              # updates
    ROWS_AHEAD = 8
    MOST_AHEAD = 64         # rows

cdef struct Kernel:
    ReductionCode step
    TypeCode type_code      # of accumulators; for ASSIGN one of their width, or BOOL: rows of bytes
    int mark_bytes          # 0: no marks
    Py_ssize_t n_items      # of a row
    Py_ssize_t row_bytes    # from an accumulator to the next


cdef inline bint assigns_first(ReductionCode step, value_t* type) noexcept nogil:
    """Whether the step has no identity."""
    return step == MUL and (value_t is complex64 or value_t is complex128)


cdef inline const char* at(const char* accumulators, int64_t row, Py_ssize_t row_bytes) noexcept nogil:
    """Of any row, also of one that is out of bounds: for a prefetch."""
    return <const char*>(<size_t>accumulators + <size_t>row * <size_t>row_bytes)


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
    """n_items: of a point, which has no marks; else 1."""
    cdef char* accumulator = accumulators + row * <Py_ssize_t>sizeof(value_t)
    cdef value_t a, b
    if n_items > 1:
        combine_row(step, type, accumulators + row * n_items * <Py_ssize_t>sizeof(value_t), update, n_items)
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


cdef inline inline_void apply_elements_of(ReductionCode step, Mark mark, char* marks, value_t* type, int n_items,
                                          bint are_records, const Elements* elements, char* accumulators, Py_ssize_t n,
                                          Py_ssize_t* done) noexcept nogil:
    """Four at a time: their indices are checked together. From a negative index on, some are applied one by one."""
    cdef Py_ssize_t i = 0, stop, run, step_bytes = elements.step
    cdef Py_ssize_t row_bytes = n_items * <Py_ssize_t>sizeof(value_t)
    cdef uint64_t size = elements.size
    cdef int64_t row, a, b, c, d
    cdef const int64_t* indices = <const int64_t*>elements.indices
    cdef const char* update = elements.updates
    cdef bint is_far = elements.is_far
    if are_records:
        step_bytes = 4 + (4 if sizeof(value_t) < 4 else sizeof(value_t))
        update = elements.indices + 4
    if not are_records and step != ASSIGN and n_items == 1:
        while elements.repeats and i < n:
            row = scalar(indices[i])
            if <uint64_t>row >= size:
                break
            apply_run(step, mark, marks, type, row, indices + i, n - i, accumulators, update, step_bytes, &run)
            i += run
            update += run * step_bytes
    while True:
        while i + 4 <= n:
            if are_records:
                a = (<const uint32_t*>(update - 4))[0]
                b = (<const uint32_t*>(update + step_bytes - 4))[0]
                c = (<const uint32_t*>(update + 2 * step_bytes - 4))[0]
                d = (<const uint32_t*>(update + 3 * step_bytes - 4))[0]
            else:
                a, b = scalar(indices[i]), scalar(indices[i + 1])
                c, d = scalar(indices[i + 2]), scalar(indices[i + 3])
                if (<uint64_t>a >= size) | (<uint64_t>b >= size) | (<uint64_t>c >= size) | (<uint64_t>d >= size):
                    break
            if not are_records:
                prefetch_l1(update + STREAM_AHEAD)
                prefetch_l1(<const char*>(indices + i) + STREAM_AHEAD)
                # A store that misses delays all later ones.
                if (step == ASSIGN or n_items > 1) and is_far and i + AHEAD + 4 <= n:
                    prefetch_write(at(accumulators, indices[i + AHEAD], row_bytes))
                    prefetch_write(at(accumulators, indices[i + AHEAD + 1], row_bytes))
                    prefetch_write(at(accumulators, indices[i + AHEAD + 2], row_bytes))
                    prefetch_write(at(accumulators, indices[i + AHEAD + 3], row_bytes))
            apply_element(step, mark, marks, type, n_items, accumulators, a, update)
            apply_element(step, mark, marks, type, n_items, accumulators, b, update + step_bytes)
            apply_element(step, mark, marks, type, n_items, accumulators, c, update + 2 * step_bytes)
            apply_element(step, mark, marks, type, n_items, accumulators, d, update + 3 * step_bytes)
            update += 4 * step_bytes
            i += 4
        if i == n:
            break
        stop = min(n, i + 8)
        while i < stop:
            if are_records:
                row = (<const uint32_t*>(update - 4))[0]
            else:
                row = scalar(indices[i])
                row += (row >> 63) & elements.wrap
                if <uint64_t>row >= size:
                    done[0] = i
                    return
            apply_element(step, mark, marks, type, n_items, accumulators, row, update)
            update += step_bytes
            i += 1
    done[0] = n


cdef inline inline_void apply_kind_of(ReductionCode step, Mark mark, char* marks, value_t* type, Py_ssize_t n_items,
                                      const Elements* elements, char* accumulators, Py_ssize_t n,
                                      Py_ssize_t* done) noexcept nogil:
    if value_t is float and step == ADD and mark == UNMARKED and n_items > 1:
        if n_items == 3:
            apply_elements_of(step, mark, marks, type, 3, False, elements, accumulators, n, done)
        elif n_items == 2:
            apply_elements_of(step, mark, marks, type, 2, False, elements, accumulators, n, done)
        else:
            apply_elements_of(step, mark, marks, type, 4, False, elements, accumulators, n, done)
    elif elements.are_records:
        apply_elements_of(step, mark, marks, type, 1, True, elements, accumulators, n, done)
    else:
        apply_elements_of(step, mark, marks, type, 1, False, elements, accumulators, n, done)


cdef inline bint are_points(const Kernel* kernel) noexcept nogil:
    """Whether rows are so short that they are applied as elements are. Pieces of long rows are not adjacent."""
    return (kernel.type_code == FLOAT32 and kernel.step == ADD and kernel.mark_bytes == 0
            and 2 <= kernel.n_items <= 4 and kernel.row_bytes == kernel.n_items * 4)


cdef inline Py_ssize_t rows_ahead(Py_ssize_t size) noexcept nogil:
    """How many rows ahead one in random order is prefetched: 4 KiB of them."""
    return max(min(STREAM_AHEAD // size, <Py_ssize_t>MOST_AHEAD), <Py_ssize_t>ROWS_AHEAD)


cdef inline inline_void prefetch_later(const int64_t* offsets, const char* updates, const char* update,
                                       Py_ssize_t size, Py_ssize_t ahead, Py_ssize_t i, Py_ssize_t n) noexcept nogil:
    """What follows update i."""
    cdef Py_ssize_t line = CACHE_LINE
    if offsets == NULL:
        prefetch_l2(update + STREAM_AHEAD)
        while line < min(size, <Py_ssize_t>PREFETCHED_ROW):
            prefetch_l2(update + STREAM_AHEAD + line)
            line += CACHE_LINE
    elif i + ahead < n:
        prefetch_row_l2(updates + offsets[i + ahead], min(size, <Py_ssize_t>PREFETCHED_ROW))


cdef inline inline_void apply_rows_of(ReductionCode step, Mark mark, char* marks, value_t* type, Py_ssize_t n_items,
                                      Py_ssize_t row_bytes, const Rows* rows, char* accumulators,
                                      Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i, size = n_items * <Py_ssize_t>sizeof(value_t), ahead = rows_ahead(size)
    cdef Py_ssize_t update_step = rows.step if rows.offsets == NULL else 0
    cdef const int64_t* ids = rows.rows  # locals: for the compiler, stores of bytes might change `rows`
    cdef const int64_t* offsets = rows.offsets
    cdef const char* updates = rows.updates
    cdef const char* update = updates
    cdef char* accumulator
    cdef bint assigns, is_far = rows.is_far
    for i in range(n):
        accumulator = accumulators + ids[i] * row_bytes
        if offsets != NULL:
            update = updates + offsets[i]
        prefetch_later(offsets, updates, update, size, ahead, i, n)
        if is_far and i + ROWS_AHEAD < n:
            prefetch_row(accumulators + ids[i + ROWS_AHEAD] * row_bytes, min(size, <Py_ssize_t>PREFETCHED_ROW))
        assigns = step == ASSIGN
        if mark == MARKED:
            assigns = assigns or (assigns_first(step, type) and marks[ids[i]] == 0)
        mark_row(mark, marks, ids[i])
        if assigns:
            memcpy(accumulator, update, size)
        else:
            combine_row(step, type, accumulator, update, n_items)
        update += update_step


cdef inline inline_void apply_rows_any(ReductionCode step, Mark mark, char* marks, value_t* type, const Kernel* kernel,
                                       const Rows* rows, char* accumulators, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t n_items = kernel.n_items, size = sizeof(value_t)
    cdef bint is_point = kernel.row_bytes == n_items * size  # a constant number of items
    if value_t is not float and value_t is not double and step != ASSIGN:
        is_point = False
    if is_point and n_items == 2:
        apply_rows_of(step, mark, marks, type, 2, 2 * size, rows, accumulators, n)
    elif is_point and n_items == 3:
        apply_rows_of(step, mark, marks, type, 3, 3 * size, rows, accumulators, n)
    elif is_point and n_items == 4:
        apply_rows_of(step, mark, marks, type, 4, 4 * size, rows, accumulators, n)
    else:
        apply_rows_of(step, mark, marks, type, n_items, kernel.row_bytes, rows, accumulators, n)


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
    """Dispatch on the dtype; assignments on the width."""
    cdef int type_code = kernel.type_code
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
    elif type_code == INT64:
        apply_of(step, mark, marks, <int64_t*>NULL, kernel, updates, accumulators, n, done)
    elif type_code == INT32:
        apply_of(step, mark, marks, <int32_t*>NULL, kernel, updates, accumulators, n, done)
    elif type_code == FLOAT16:
        apply_of(step, mark, marks, <float16*>NULL, kernel, updates, accumulators, n, done)
    elif type_code == BFLOAT16:
        apply_of(step, mark, marks, <bfloat16*>NULL, kernel, updates, accumulators, n, done)
    elif type_code == BOOL:
        apply_of(step, mark, marks, <boolean*>NULL, kernel, updates, accumulators, n, done)
    elif type_code == INT8:
        apply_of(step, mark, marks, <int8_t*>NULL, kernel, updates, accumulators, n, done)
    elif type_code == INT16:
        apply_of(step, mark, marks, <int16_t*>NULL, kernel, updates, accumulators, n, done)
    elif type_code == UINT8:
        apply_of(step, mark, marks, <uint8_t*>NULL, kernel, updates, accumulators, n, done)
    elif type_code == UINT16:
        apply_of(step, mark, marks, <uint16_t*>NULL, kernel, updates, accumulators, n, done)
    elif type_code == UINT32:
        apply_of(step, mark, marks, <uint32_t*>NULL, kernel, updates, accumulators, n, done)
    elif type_code == UINT64:
        apply_of(step, mark, marks, <uint64_t*>NULL, kernel, updates, accumulators, n, done)
    elif step != MAX and step != MIN:  # complex numbers have no order
        if type_code == COMPLEX64:
            apply_of(step, mark, marks, <complex64*>NULL, kernel, updates, accumulators, n, done)
        elif type_code == COMPLEX128:
            apply_of(step, mark, marks, <complex128*>NULL, kernel, updates, accumulators, n, done)


cdef inline inline_void apply_step(Mark mark, char* marks, const Kernel* kernel, const updates_t* updates,
                                   char* accumulators, Py_ssize_t n, Py_ssize_t* done) noexcept nogil:
    """Dispatch on the step."""
    if kernel.step == ADD:
        apply_typed(ADD, mark, marks, kernel, updates, accumulators, n, done)
    elif mark == UNMARKED or mark == MARKED:  # counts are of means
        if kernel.step == MAX:
            apply_typed(MAX, mark, marks, kernel, updates, accumulators, n, done)
        elif kernel.step == MIN:
            apply_typed(MIN, mark, marks, kernel, updates, accumulators, n, done)
        elif kernel.step == MUL:
            apply_typed(MUL, mark, marks, kernel, updates, accumulators, n, done)
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
    cdef Py_ssize_t i, prefetched = min(kernel.n_items, <Py_ssize_t>PREFETCHED_ROW)
    for i in range(n):
        if rows.offsets != NULL and i + AHEAD < n:
            prefetch_row(rows.updates + rows.offsets[i + AHEAD], prefetched)
        memcpy(accumulators + rows.rows[i] * kernel.row_bytes,
               rows.updates + (rows.offsets[i] if rows.offsets != NULL else i * rows.step), kernel.n_items)
        if marks != NULL:
            marks[rows.rows[i]] = 1


cdef inline bint moves_bytes(const Kernel* kernel) noexcept nogil:
    """Whether rows are bytes, which n_items counts then."""
    return kernel.step == TAKE or (kernel.step == ASSIGN and kernel.type_code == BOOL)


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
                prefetch_row_l2(rows.updates + rows.offsets[i], min(kernel.row_bytes, <Py_ssize_t>PREFETCHED_ROW))
        combine_rows(kernel, rows, accumulators, marks, n)
