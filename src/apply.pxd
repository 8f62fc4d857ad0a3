# What a scatter does to a block of destinations: assign by width, or combine by dtype, in the order of the block.
from libc.stdint cimport (
    int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t,
)
from libc.string cimport memcpy, memset
from items cimport bytes16, inline_void
from numbers cimport (
    ADD, ASSIGN, BFLOAT16, BOOLEAN, COMPLEX64, COMPLEX128, FLOAT16, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, MAX,
    MIN, MUL, UINT8, UINT16, UINT32, UINT64, Number, Reduction, add, bfloat16, boolean, complex64, complex128, float16,
    maximum, minimum, multiply, multiply_named, number_t,
)
from resolve cimport BESIDE, DATA, Place, advance, seek
from rows cimport Row

# Widths whose updates travel by value; any other by their place.
ctypedef fused word_t:
    uint8_t
    uint16_t
    uint32_t
    uint64_t
    bytes16

cdef struct Step:
    # How one update meets one destination.
    Reduction reduction
    Number number
    int swapped  # bytes of a number that are not in the machine's order, else 0
    Row row      # of the result, and of updates


cdef inline inline_void assign_items(word_t* kind, char* out, const int64_t* offsets, const char* updates,
                                     Py_ssize_t step, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef word_t item
    for i in range(n):
        memcpy(&item, updates + i * step, sizeof(word_t))
        memcpy(out + offsets[i], &item, sizeof(word_t))


cdef inline number_t combined(Reduction reduction, number_t a, number_t b) noexcept nogil:
    if reduction == ADD:
        return add(a, b)
    elif reduction == MUL:
        return multiply(a, b)
    elif reduction == MAX:
        return maximum(a, b)
    elif reduction == MIN:
        return minimum(a, b)
    return multiply_named(a, b)


cdef inline inline_void combine_each(number_t* kind, Reduction reduction, char* out, const int64_t* offsets,
                                     const char* updates, Py_ssize_t step, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef number_t a, b
    for i in range(n):
        memcpy(&a, out + offsets[i], sizeof(number_t))
        memcpy(&b, updates + i * step, sizeof(number_t))
        a = combined(reduction, a, b)
        memcpy(out + offsets[i], &a, sizeof(number_t))


cdef inline inline_void combine_items(number_t* kind, Reduction reduction, char* out, const int64_t* offsets,
                                      const char* updates, Py_ssize_t step, Py_ssize_t n) noexcept nogil:
    # The compiler makes one loop of each call: the reduction is a constant there.
    if reduction == ADD:
        combine_each(kind, ADD, out, offsets, updates, step, n)
    elif reduction == MUL:
        combine_each(kind, MUL, out, offsets, updates, step, n)
    elif reduction == MAX:
        combine_each(kind, MAX, out, offsets, updates, step, n)
    elif reduction == MIN:
        combine_each(kind, MIN, out, offsets, updates, step, n)
    else:
        combine_each(kind, reduction, out, offsets, updates, step, n)


cdef inline inline_void combine_strided(number_t* kind, Reduction reduction, char* out, Py_ssize_t out_step,
                                        const char* updates, Py_ssize_t step, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef number_t a, b
    for i in range(n):
        memcpy(&a, out + i * out_step, sizeof(number_t))
        memcpy(&b, updates + i * step, sizeof(number_t))
        a = combined(reduction, a, b)
        memcpy(out + i * out_step, &a, sizeof(number_t))


cdef inline inline_void combine_run(number_t* kind, Reduction reduction, char* out, Py_ssize_t out_step,
                                    const char* updates, Py_ssize_t step, Py_ssize_t n) noexcept nogil:
    """Along a row: n elements, each its own destination."""
    # Rows that lie together become vectors; addition, the common one, by itself.
    if out_step == sizeof(number_t) and step == sizeof(number_t):
        if reduction == ADD:
            combine_strided(kind, ADD, out, sizeof(number_t), updates, sizeof(number_t), n)
        elif reduction == MUL:
            combine_strided(kind, MUL, out, sizeof(number_t), updates, sizeof(number_t), n)
        elif reduction == MAX:
            combine_strided(kind, MAX, out, sizeof(number_t), updates, sizeof(number_t), n)
        elif reduction == MIN:
            combine_strided(kind, MIN, out, sizeof(number_t), updates, sizeof(number_t), n)
        else:
            combine_strided(kind, reduction, out, sizeof(number_t), updates, sizeof(number_t), n)
    else:
        combine_strided(kind, reduction, out, out_step, updates, step, n)


cdef inline void reverse(char* element, int width) noexcept nogil:
    """Turn the bytes of each number of this width (2, 4 or 8) around, in a buffer of 16 bytes."""
    cdef char turned[16]
    cdef int i
    for i in range(16):
        turned[i] = element[i ^ (width - 1)]
    memcpy(element, turned, 16)


cdef inline inline_void combine_any_run(Number number, Reduction reduction, char* out, Py_ssize_t out_step,
                                        const char* updates, Py_ssize_t step, Py_ssize_t n) noexcept nogil:
    if number == FLOAT32:
        combine_run(<float*>NULL, reduction, out, out_step, updates, step, n)
    elif number == FLOAT64:
        combine_run(<double*>NULL, reduction, out, out_step, updates, step, n)
    elif number == INT64:
        combine_run(<int64_t*>NULL, reduction, out, out_step, updates, step, n)
    elif number == INT32:
        combine_run(<int32_t*>NULL, reduction, out, out_step, updates, step, n)
    elif number == FLOAT16:
        combine_run(<float16*>NULL, reduction, out, out_step, updates, step, n)
    elif number == BFLOAT16:
        combine_run(<bfloat16*>NULL, reduction, out, out_step, updates, step, n)
    elif number == COMPLEX64:
        combine_run(<complex64*>NULL, reduction, out, out_step, updates, step, n)
    elif number == COMPLEX128:
        combine_run(<complex128*>NULL, reduction, out, out_step, updates, step, n)
    elif number == BOOLEAN:
        combine_run(<boolean*>NULL, reduction, out, out_step, updates, step, n)
    elif number == INT8:
        combine_run(<int8_t*>NULL, reduction, out, out_step, updates, step, n)
    elif number == INT16:
        combine_run(<int16_t*>NULL, reduction, out, out_step, updates, step, n)
    elif number == UINT8:
        combine_run(<uint8_t*>NULL, reduction, out, out_step, updates, step, n)
    elif number == UINT16:
        combine_run(<uint16_t*>NULL, reduction, out, out_step, updates, step, n)
    elif number == UINT32:
        combine_run(<uint32_t*>NULL, reduction, out, out_step, updates, step, n)
    elif number == UINT64:
        combine_run(<uint64_t*>NULL, reduction, out, out_step, updates, step, n)


cdef inline inline_void combine_any_items(Number number, Reduction reduction, char* out, const int64_t* offsets,
                                          const char* updates, Py_ssize_t step, Py_ssize_t n) noexcept nogil:
    if number == FLOAT32:
        combine_items(<float*>NULL, reduction, out, offsets, updates, step, n)
    elif number == FLOAT64:
        combine_items(<double*>NULL, reduction, out, offsets, updates, step, n)
    elif number == INT64:
        combine_items(<int64_t*>NULL, reduction, out, offsets, updates, step, n)
    elif number == INT32:
        combine_items(<int32_t*>NULL, reduction, out, offsets, updates, step, n)
    elif number == FLOAT16:
        combine_items(<float16*>NULL, reduction, out, offsets, updates, step, n)
    elif number == BFLOAT16:
        combine_items(<bfloat16*>NULL, reduction, out, offsets, updates, step, n)
    elif number == COMPLEX64:
        combine_items(<complex64*>NULL, reduction, out, offsets, updates, step, n)
    elif number == COMPLEX128:
        combine_items(<complex128*>NULL, reduction, out, offsets, updates, step, n)
    elif number == BOOLEAN:
        combine_items(<boolean*>NULL, reduction, out, offsets, updates, step, n)
    elif number == INT8:
        combine_items(<int8_t*>NULL, reduction, out, offsets, updates, step, n)
    elif number == INT16:
        combine_items(<int16_t*>NULL, reduction, out, offsets, updates, step, n)
    elif number == UINT8:
        combine_items(<uint8_t*>NULL, reduction, out, offsets, updates, step, n)
    elif number == UINT16:
        combine_items(<uint16_t*>NULL, reduction, out, offsets, updates, step, n)
    elif number == UINT32:
        combine_items(<uint32_t*>NULL, reduction, out, offsets, updates, step, n)
    elif number == UINT64:
        combine_items(<uint64_t*>NULL, reduction, out, offsets, updates, step, n)


cdef inline bint travels_by_value(const Step* step) noexcept nogil:
    """Whether an update is one element of a width that is moved in registers."""
    return (step.row.outer.n == 1 and step.row.n_inner == 1 and not step.swapped
            and (0 < step.row.item_bytes <= 2 or step.row.item_bytes == 4 or step.row.item_bytes == 8
                 or step.row.item_bytes == 16))


cdef inline inline_void apply_items(const Step* step, char* out, const int64_t* offsets, const char* updates,
                                    Py_ssize_t update_step, Py_ssize_t n) noexcept nogil:
    """Updates that travel by value, update_step bytes apart, to out + offsets, of which none is SKIPPED."""
    if step.reduction != ASSIGN:
        combine_any_items(step.number, step.reduction, out, offsets, updates, update_step, n)
    elif step.row.item_bytes == 4:
        assign_items(<uint32_t*>NULL, out, offsets, updates, update_step, n)
    elif step.row.item_bytes == 8:
        assign_items(<uint64_t*>NULL, out, offsets, updates, update_step, n)
    elif step.row.item_bytes == 1:
        assign_items(<uint8_t*>NULL, out, offsets, updates, update_step, n)
    elif step.row.item_bytes == 2:
        assign_items(<uint16_t*>NULL, out, offsets, updates, update_step, n)
    else:
        assign_items(<bytes16*>NULL, out, offsets, updates, update_step, n)


cdef inline inline_void combine_swapped(const Step* step, char* out, const char* updates) noexcept nogil:
    """One element in the other byte order, turned around on the stack."""
    cdef char a[16]
    cdef char b[16]
    memset(a, 0, 16)
    memset(b, 0, 16)
    memcpy(a, out, step.row.item_bytes)
    memcpy(b, updates, step.row.item_bytes)
    reverse(a, step.swapped)
    reverse(b, step.swapped)
    combine_any_run(step.number, step.reduction, a, 0, b, 0, 1)
    reverse(a, step.swapped)
    memcpy(out, a, step.row.item_bytes)


cdef inline inline_void apply_row(const Step* step, char* out, const char* updates) noexcept nogil:
    cdef Place at
    cdef Py_ssize_t _piece, j
    cdef char* target
    cdef const char* source
    seek(&step.row.outer, 0, &at)
    for _piece in range(step.row.outer.n):
        target = out + at.offset[DATA]
        source = updates + at.offset[BESIDE]
        if step.reduction == ASSIGN:
            for j in range(step.row.n_inner):
                memcpy(target + j * step.row.inner_data, source + j * step.row.inner_beside, step.row.item_bytes)
        elif step.swapped:
            for j in range(step.row.n_inner):
                combine_swapped(step, target + j * step.row.inner_data, source + j * step.row.inner_beside)
        else:
            combine_any_run(step.number, step.reduction, target, step.row.inner_data, source, step.row.inner_beside,
                            step.row.n_inner)
        advance(&step.row.outer, 1, &at)
