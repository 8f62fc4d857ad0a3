# Apply a block of updates to their destinations, in order: assign by width, combine by dtype.
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.string cimport memcpy, memset

from common.codes cimport (
    ADD, ASSIGN, BFLOAT16, BOOL, COMPLEX64, COMPLEX128, FLOAT16, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, MAX, MIN,
    MUL, TAKE, UINT8, UINT16, UINT32, UINT64, ReductionCode, TypeCode,
)
from common.items cimport (
    CACHE_LINE, bytes3, bytes12, bytes16, bytes24, bytes32, cloned_v3_void, cloned_void, copy_lines, inline_void,
    is_word, prefetch_write, word_t,
)
from common.resolve cimport SKIPPED
from common.rows cimport Row
from common.walk cimport DATA, OTHER, Cursor, advance, finish_walk, seek, start_walk
from scatter.loops.table cimport ROW_LOOP, has_vectors, loops
from scatter.reductions cimport (
    Step, bfloat16, boolean, combine_typed, complex64, complex128, float16,
)

cdef enum:
    MAX_LINES = 1 << 10     # bytes of a row that assign_lines copies

ctypedef fused short_row_t:
    char
    uint8_t
    uint16_t
    bytes3
    uint32_t
    uint64_t
    bytes12
    bytes16
    bytes24
    bytes32


cdef inline int row_loop_of(ReductionCode reduction, TypeCode type_code) noexcept nogil:
    """For reduce_rows and reduce_each; 0: they do not have this reduction of this type."""
    cdef bint is_order = reduction == MAX or reduction == MIN
    cdef int number = type_code  # of the part, for complex numbers
    if not has_vectors or not (is_order or reduction == ADD or reduction == MUL):
        return 0
    if type_code == BOOL and is_order:
        reduction = ADD if reduction == MAX else MUL
    elif type_code == COMPLEX64 or type_code == COMPLEX128:  # added part by part
        if reduction != ADD:
            return 0
        number = FLOAT32 if type_code == COMPLEX64 else FLOAT64
    elif INT8 <= type_code <= INT64 and not is_order:
        number = type_code + (UINT8 - INT8)
    if number > FLOAT64 or (number == FLOAT16 and not is_order and not loops.has_float16_sums):
        return 0
    return ROW_LOOP(reduction, number)


cdef inline void finish_step(Step* step) noexcept nogil:
    """Derive what depends on the others."""
    step.by_value = (step.row.outer.n == 1 and step.row.n_inner == 1 and not step.swapped
                     and is_word(step.row.item_bytes) and step.reduction != TAKE)
    step.row_loop = 0
    if not (step.by_value or step.swapped) and step.row.inner_data == step.row.inner_other == step.row.item_bytes:
        step.row_loop = row_loop_of(step.reduction, step.type_code)


cdef inline bint divides_in_registers(const Step* step) noexcept nogil:
    """Whether reduce_rows divides the means of such rows."""
    return step.row_loop == ROW_LOOP(ADD, FLOAT32) or step.row_loop == ROW_LOOP(ADD, FLOAT64)


cdef inline inline_void combine_any(bint by_value, const Step* step, char* out, const int64_t* offsets,
                                    const char* updates, const int64_t* update_offsets, Py_ssize_t update_step,
                                    Py_ssize_t n) noexcept nogil:
    """Dispatch on dtype. by_value: a constant, so that combine_typed is specialised for it."""
    if step.type_code == FLOAT32:
        combine_typed(<float*>NULL, by_value, step, out, offsets, updates, update_offsets, update_step, n)
    elif step.type_code == FLOAT64:
        combine_typed(<double*>NULL, by_value, step, out, offsets, updates, update_offsets, update_step, n)
    elif step.type_code == INT64:
        combine_typed(<int64_t*>NULL, by_value, step, out, offsets, updates, update_offsets, update_step, n)
    elif step.type_code == INT32:
        combine_typed(<int32_t*>NULL, by_value, step, out, offsets, updates, update_offsets, update_step, n)
    elif step.type_code == FLOAT16:
        combine_typed(<float16*>NULL, by_value, step, out, offsets, updates, update_offsets, update_step, n)
    elif step.type_code == BFLOAT16:
        combine_typed(<bfloat16*>NULL, by_value, step, out, offsets, updates, update_offsets, update_step, n)
    elif step.type_code == COMPLEX64:
        combine_typed(<complex64*>NULL, by_value, step, out, offsets, updates, update_offsets, update_step, n)
    elif step.type_code == COMPLEX128:
        combine_typed(<complex128*>NULL, by_value, step, out, offsets, updates, update_offsets, update_step, n)
    elif step.type_code == BOOL:
        combine_typed(<boolean*>NULL, by_value, step, out, offsets, updates, update_offsets, update_step, n)
    elif step.type_code == INT8:
        combine_typed(<int8_t*>NULL, by_value, step, out, offsets, updates, update_offsets, update_step, n)
    elif step.type_code == INT16:
        combine_typed(<int16_t*>NULL, by_value, step, out, offsets, updates, update_offsets, update_step, n)
    elif step.type_code == UINT8:
        combine_typed(<uint8_t*>NULL, by_value, step, out, offsets, updates, update_offsets, update_step, n)
    elif step.type_code == UINT16:
        combine_typed(<uint16_t*>NULL, by_value, step, out, offsets, updates, update_offsets, update_step, n)
    elif step.type_code == UINT32:
        combine_typed(<uint32_t*>NULL, by_value, step, out, offsets, updates, update_offsets, update_step, n)
    elif step.type_code == UINT64:
        combine_typed(<uint64_t*>NULL, by_value, step, out, offsets, updates, update_offsets, update_step, n)


# Two functions, each with the loops for all reductions and dtypes: in one function the loops would lack registers.

cdef inline cloned_void combine_elements_block(const Step* step, char* out, const int64_t* offsets,
                                               const char* updates, Py_ssize_t update_step,
                                               Py_ssize_t n) noexcept nogil:
    combine_any(True, step, out, offsets, updates, NULL, update_step, n)


cdef inline cloned_v3_void combine_other_rows(const Step* step, char* out, const int64_t* offsets, const char* updates,
                                              const int64_t* update_offsets, Py_ssize_t update_step,
                                              Py_ssize_t n) noexcept nogil:
    combine_any(False, step, out, offsets, updates, update_offsets, update_step, n)


cdef inline void combine_rows_block(const Step* step, char* out, const int64_t* offsets, const char* updates,
                                    const int64_t* update_offsets, Py_ssize_t update_step,
                                    Py_ssize_t n) noexcept nogil:
    """Combine rows without outer axes, in native byte order."""
    if step.row_loop:
        loops.reduce_each(step.row_loop, out, offsets, updates, update_offsets, update_step, n,
                          step.row.n_inner * step.row.item_bytes, NULL)
    else:
        combine_other_rows(step, out, offsets, updates, update_offsets, update_step, n)


cdef inline void combine_row(const Step* step, char* out, const char* update) noexcept nogil:
    """Combine one row without outer axes, in native byte order."""
    cdef int64_t zero = 0
    combine_rows_block(step, out, &zero, update, NULL, 0, 1)


cdef inline inline_void assign_elements(word_t* type, char* out, const int64_t* offsets, const char* updates,
                                        Py_ssize_t update_step, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef word_t item
    for i in range(n):
        memcpy(&item, updates + i * update_step, sizeof(word_t))
        prefetch_write(out + offsets[i])  # a store that misses L1 delays all others
        memcpy(out + offsets[i], &item, sizeof(word_t))


cdef inline inline_void assign_typed(word_t* type, char* out, const int64_t* offsets, const char* updates,
                                     Py_ssize_t update_step, Py_ssize_t n) noexcept nogil:
    if update_step == sizeof(word_t):
        assign_elements(type, out, offsets, updates, sizeof(word_t), n)
    else:
        assign_elements(type, out, offsets, updates, update_step, n)


cdef inline cloned_void assign(Py_ssize_t item_bytes, char* out, const int64_t* offsets, const char* updates,
                               Py_ssize_t update_step, Py_ssize_t n) noexcept nogil:
    """Assign a block of elements: dispatch on their width."""
    if item_bytes == 4:
        assign_typed(<uint32_t*>NULL, out, offsets, updates, update_step, n)
    elif item_bytes == 8:
        assign_typed(<uint64_t*>NULL, out, offsets, updates, update_step, n)
    elif item_bytes == 1:
        assign_typed(<uint8_t*>NULL, out, offsets, updates, update_step, n)
    elif item_bytes == 2:
        assign_typed(<uint16_t*>NULL, out, offsets, updates, update_step, n)
    else:
        assign_typed(<bytes16*>NULL, out, offsets, updates, update_step, n)


cdef inline void apply_elements(const Step* step, char* out, const int64_t* offsets, const char* updates,
                                Py_ssize_t update_step, Py_ssize_t n) noexcept nogil:
    """Apply elements, update_step bytes apart, at out + offsets. No offset is SKIPPED."""
    if step.reduction == ASSIGN:
        assign(step.row.item_bytes, out, offsets, updates, update_step, n)
    else:
        combine_elements_block(step, out, offsets, updates, update_step, n)


cdef inline void swap_bytes(char* element, int width) noexcept nogil:
    """Reverse the bytes of each number of this width (2, 4 or 8) in a buffer of 16 bytes."""
    cdef char swapped[16]
    cdef int i
    for i in range(16):
        swapped[i] = element[i ^ (width - 1)]
    memcpy(element, swapped, 16)


cdef inline void combine_swapped(const Step* step, char* out, const char* update) noexcept nogil:
    """Combine one element in non-native byte order, by way of native copies on the stack."""
    cdef Step native
    cdef char a[16]
    cdef char b[16]
    native.reduction = step.reduction
    native.type_code = step.type_code
    native.row_loop = 0
    native.is_rare = False
    native.is_near = False
    native.row.n_inner = 1
    native.row.inner_data = 0
    native.row.inner_other = 0
    memset(a, 0, 16)
    memset(b, 0, 16)
    memcpy(a, out, step.row.item_bytes)
    memcpy(b, update, step.row.item_bytes)
    swap_bytes(a, step.swapped)
    swap_bytes(b, step.swapped)
    combine_row(&native, a, b)
    swap_bytes(a, step.swapped)
    memcpy(out, a, step.row.item_bytes)


cdef inline inline_void assign_items_of(word_t* type, Py_ssize_t item_bytes, char* out, Py_ssize_t out_step,
                                        const char* update, Py_ssize_t update_step, Py_ssize_t n) noexcept nogil:
    """type: of items of a constant size; single bytes: of item_bytes."""
    cdef Py_ssize_t j
    cdef Py_ssize_t size = item_bytes if word_t is uint8_t else <Py_ssize_t>sizeof(word_t)
    for j in range(n):
        memcpy(out + j * out_step, update + j * update_step, size)


cdef inline void assign_items(const Row* row, char* out, const char* update) noexcept nogil:
    """Assign the items of one piece."""
    if row.item_bytes == 8:
        assign_items_of(<uint64_t*>NULL, 8, out, row.inner_data, update, row.inner_other, row.n_inner)
    elif row.item_bytes == 4:
        assign_items_of(<uint32_t*>NULL, 4, out, row.inner_data, update, row.inner_other, row.n_inner)
    elif row.item_bytes == 2:
        assign_items_of(<uint16_t*>NULL, 2, out, row.inner_data, update, row.inner_other, row.n_inner)
    elif row.item_bytes == 1:
        assign_items_of(<uint8_t*>NULL, 1, out, row.inner_data, update, row.inner_other, row.n_inner)
    elif row.item_bytes == 16:
        assign_items_of(<bytes16*>NULL, 16, out, row.inner_data, update, row.inner_other, row.n_inner)
    else:
        assign_items_of(<uint8_t*>NULL, row.item_bytes, out, row.inner_data, update, row.inner_other, row.n_inner)


cdef inline void assign_row(const Row* row, char* out, const char* update) noexcept nogil:
    cdef Cursor cursor
    cdef Py_ssize_t _piece
    cdef char* target
    cdef const char* source
    if row.outer.n == 1 and row.inner_data == row.item_bytes and row.inner_other == row.item_bytes:
        memcpy(out, update, row.n_inner * row.item_bytes)
        return
    seek(&row.outer, 0, &cursor)
    for _piece in range(row.outer.n):
        target = out + cursor.offset[DATA]
        source = update + cursor.offset[OTHER]
        if row.inner_data == row.item_bytes and row.inner_other == row.item_bytes:
            memcpy(target, source, row.n_inner * row.item_bytes)
        else:
            assign_items(row, target, source)
        advance(&row.outer, 1, &cursor)


cdef inline void apply_row(const Step* step, char* out, const char* update) noexcept nogil:
    cdef Cursor cursor
    cdef Py_ssize_t _piece, j
    cdef char* target
    cdef const char* source
    if step.reduction == ASSIGN:
        assign_row(&step.row, out, update)
        return
    seek(&step.row.outer, 0, &cursor)
    for _piece in range(step.row.outer.n):
        target = out + cursor.offset[DATA]
        source = update + cursor.offset[OTHER]
        if step.swapped:
            for j in range(step.row.n_inner):
                combine_swapped(step, target + j * step.row.inner_data, source + j * step.row.inner_other)
        else:
            combine_row(step, target, source)
        advance(&step.row.outer, 1, &cursor)


cdef inline inline_void assign_rows_of(short_row_t* type, Py_ssize_t row_bytes, char* out, const int64_t* offsets,
                                       const char* updates, const int64_t* update_offsets, Py_ssize_t update_step,
                                       Py_ssize_t n) noexcept nogil:
    """type: of rows of a constant size; chars: of row_bytes."""
    cdef Py_ssize_t i
    cdef const char* update
    for i in range(n):
        if offsets[i] != SKIPPED:
            update = updates + (update_offsets[i] if update_offsets != NULL else i * update_step)
            if short_row_t is not char:
                prefetch_write(out + offsets[i])
            memcpy(out + offsets[i], update, row_bytes if short_row_t is char else <Py_ssize_t>sizeof(short_row_t))


cdef inline void assign_lines(Py_ssize_t row_bytes, char* out, const int64_t* offsets, const char* updates,
                              const int64_t* update_offsets, Py_ssize_t update_step, Py_ssize_t n) noexcept nogil:
    """As assign_rows_of for rows of a few times 64 bytes."""
    cdef Py_ssize_t i
    cdef const char* update
    for i in range(n):
        if offsets[i] != SKIPPED:
            update = updates + (update_offsets[i] if update_offsets != NULL else i * update_step)
            copy_lines(out + offsets[i], update, row_bytes)


cdef inline void assign_rows(Py_ssize_t row_bytes, char* out, const int64_t* offsets, const char* updates,
                             const int64_t* update_offsets, Py_ssize_t update_step, Py_ssize_t n) noexcept nogil:
    """Assign contiguous rows, or pieces of rows: dispatch on the size of short ones, such as points."""
    if row_bytes == 4:
        assign_rows_of(<uint32_t*>NULL, 4, out, offsets, updates, update_offsets, update_step, n)
    elif row_bytes == 8:
        assign_rows_of(<uint64_t*>NULL, 8, out, offsets, updates, update_offsets, update_step, n)
    elif row_bytes == 1:
        assign_rows_of(<uint8_t*>NULL, 1, out, offsets, updates, update_offsets, update_step, n)
    elif row_bytes == 2:
        assign_rows_of(<uint16_t*>NULL, 2, out, offsets, updates, update_offsets, update_step, n)
    elif row_bytes == 16:
        assign_rows_of(<bytes16*>NULL, 16, out, offsets, updates, update_offsets, update_step, n)
    elif row_bytes == 3:
        assign_rows_of(<bytes3*>NULL, 3, out, offsets, updates, update_offsets, update_step, n)
    elif row_bytes == 12:
        assign_rows_of(<bytes12*>NULL, 12, out, offsets, updates, update_offsets, update_step, n)
    elif row_bytes == 24:
        assign_rows_of(<bytes24*>NULL, 24, out, offsets, updates, update_offsets, update_step, n)
    elif row_bytes == 32:
        assign_rows_of(<bytes32*>NULL, 32, out, offsets, updates, update_offsets, update_step, n)
    elif row_bytes % CACHE_LINE == 0 and row_bytes <= MAX_LINES:
        assign_lines(row_bytes, out, offsets, updates, update_offsets, update_step, n)
    else:
        assign_rows_of(<char*>NULL, row_bytes, out, offsets, updates, update_offsets, update_step, n)


cdef inline inline_void take_rows_of(word_t* type, Py_ssize_t row_bytes, char* out, const int64_t* offsets,
                                     char* updates, const int64_t* update_offsets, Py_ssize_t update_step,
                                     Py_ssize_t n) noexcept nogil:
    """type: of rows of a constant size; single bytes: of row_bytes."""
    cdef Py_ssize_t i
    cdef Py_ssize_t size = row_bytes if word_t is uint8_t else <Py_ssize_t>sizeof(word_t)
    for i in range(n):
        if offsets[i] != SKIPPED:
            memcpy(updates + (update_offsets[i] if update_offsets != NULL else i * update_step), out + offsets[i],
                   size)
            memset(out + offsets[i], 0, size)


cdef inline void take_rows(Py_ssize_t row_bytes, char* out, const int64_t* offsets, const char* updates,
                           const int64_t* update_offsets, Py_ssize_t update_step, Py_ssize_t n) noexcept nogil:
    """Move contiguous rows to the updates, which are an output here."""
    if row_bytes == 4:
        take_rows_of(<uint32_t*>NULL, 4, out, offsets, <char*>updates, update_offsets, update_step, n)
    elif row_bytes == 8:
        take_rows_of(<uint64_t*>NULL, 8, out, offsets, <char*>updates, update_offsets, update_step, n)
    elif row_bytes == 2:
        take_rows_of(<uint16_t*>NULL, 2, out, offsets, <char*>updates, update_offsets, update_step, n)
    elif row_bytes == 16:
        take_rows_of(<bytes16*>NULL, 16, out, offsets, <char*>updates, update_offsets, update_step, n)
    else:
        take_rows_of(<uint8_t*>NULL, row_bytes, out, offsets, <char*>updates, update_offsets, update_step, n)


cdef inline void apply_rows(const Step* step, char* out, const int64_t* offsets, const char* updates,
                            const int64_t* update_offsets, Py_ssize_t update_step, Py_ssize_t n) noexcept nogil:
    """Apply rows at updates + update_offsets; if update_offsets is NULL, rows that are update_step bytes apart."""
    cdef Py_ssize_t i
    if step.reduction == TAKE:
        take_rows(step.row.item_bytes, out, offsets, updates, update_offsets, update_step, n)
        return
    if step.reduction != ASSIGN and step.row.outer.n == 1 and not step.swapped:
        combine_rows_block(step, out, offsets, updates, update_offsets, update_step, n)
        return
    if step.row.outer.n == 1 and step.row.n_inner == 1 and step.reduction == ASSIGN:
        assign_rows(step.row.item_bytes, out, offsets, updates, update_offsets, update_step, n)
        return
    if step.row.outer.n > 1 and n > 1:
        apply_pieces(step, out, offsets, updates, update_offsets, update_step, n)
        return
    for i in range(n):
        if offsets[i] != SKIPPED:
            apply_row(step, out + offsets[i],
                      updates + (update_offsets[i] if update_offsets != NULL else i * update_step))


cdef inline void apply_pieces(const Step* step, char* out, const int64_t* offsets, const char* updates,
                              const int64_t* update_offsets, Py_ssize_t update_step, Py_ssize_t n) noexcept nogil:
    """Apply rows piece by piece: in Fortran order, column by column."""
    cdef Step piece = step[0]
    cdef Cursor cursor
    cdef Py_ssize_t _piece, i
    start_walk(&piece.row.outer)
    finish_walk(&piece.row.outer)
    seek(&step.row.outer, 0, &cursor)
    for _piece in range(step.row.outer.n):
        apply_rows(&piece, out + cursor.offset[DATA], offsets, updates + cursor.offset[OTHER], update_offsets,
                   update_step, n)
        advance(&step.row.outer, 1, &cursor)
        if _piece + 1 < step.row.outer.n and step.row.n_inner == 1:
            for i in range(n):
                prefetch_write(<const void*>(<uintptr_t>out + <uintptr_t>(cursor.offset[DATA] + offsets[i])))
