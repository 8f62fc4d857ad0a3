# Means: after the updates are added, each destination that has updates is divided by the number of its terms.
#
# Integers are floored, floats round once, and complex numbers are divided part by part.
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from common.codes cimport (
    BFLOAT16, COMPLEX64, COMPLEX128, FLOAT16, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32,
    UINT64,
)
from common.items cimport cloned_void, inline_void
from common.walk cimport DATA, Cursor, advance, seek
from scatter.apply cimport swap_bytes
from scatter.loops.table cimport loops
from scatter.marks cimport Marks, count_of, offset_of
from scatter.reductions cimport (
    Step, bfloat16, boolean, complex64, complex128, float16, round_bfloat16, round_float16, round_to_odd, value_t,
    widen_bfloat16, widen_float16,
)

cdef extern from *:
    """
    static inline int64_t gs_floor_divide(int64_t a, int64_t b) { return a / b - (a % b < 0); }  /* b > 0 */
    static inline uint64_t gs_divide_unsigned(uint64_t a, uint64_t b) { return a / b; }
    """
    int64_t floor_divide "gs_floor_divide" (int64_t a, int64_t b) nogil
    uint64_t divide_unsigned "gs_divide_unsigned" (uint64_t a, uint64_t b) nogil


cdef enum:
    # Terms of a float16 for which its mean can be rounded twice, to float32 and to float16: it is a midpoint of two
    # float16, or further from one (by 2 ** -23 of it, as a midpoint has 12 bits and the divisor 11) than the first
    # rounding moves it.
    FEW_TERMS = 1 << 11

ctypedef fused count_t:
    int32_t
    int64_t


cdef inline value_t quotient(value_t total, count_t count) noexcept nogil:
    cdef value_t result = total
    if value_t is float:
        return total / <float>count
    elif value_t is double:
        return total / <double>count
    elif value_t is float16:
        if count <= FEW_TERMS:
            return round_float16(widen_float16(total) / <float>count)
        return round_float16(round_to_odd(<double>widen_float16(total) / <double>count))
    elif value_t is bfloat16:
        return round_bfloat16(round_to_odd(<double>widen_bfloat16(total) / <double>count))
    elif value_t is complex64:
        result.real = total.real / <float>count
        result.imag = total.imag / <float>count
        return result
    elif value_t is complex128:
        result.real = total.real / <double>count
        result.imag = total.imag / <double>count
        return result
    elif value_t is boolean:
        return total  # never called: bools have no mean
    elif value_t is uint8_t or value_t is uint16_t or value_t is uint32_t or value_t is uint64_t:
        return <value_t>divide_unsigned(<uint64_t>total, <uint64_t>count)
    else:
        return <value_t>floor_divide(<int64_t>total, count)


# A parameter `type` is never read: it selects the specialisation of a fused type.

cdef inline inline_void divide_elements(value_t* type, count_t* counts, char* out, const char* data, Py_ssize_t n,
                                        count_t more) noexcept nogil:
    cdef Py_ssize_t i
    cdef value_t a
    if value_t is float and count_t is int32_t:
        loops.divide_floats(out, counts, data, n, more)
        return
    if value_t is double and count_t is int32_t:
        loops.divide_doubles(out, counts, data, n, more)
        return
    for i in range(n):
        if counts[i]:
            memcpy(&a, out + i * sizeof(value_t), sizeof(value_t))
            a = quotient(a, <count_t>(counts[i] + more))
        else:
            memcpy(&a, data + i * sizeof(value_t), sizeof(value_t))
        memcpy(out + i * sizeof(value_t), &a, sizeof(value_t))


cdef inline inline_void divide_items(value_t* type, char* out, Py_ssize_t n, Py_ssize_t step,
                                     int64_t count) noexcept nogil:
    cdef Py_ssize_t i
    cdef value_t a
    for i in range(n):
        memcpy(&a, out + i * step, sizeof(value_t))
        a = quotient(a, count)
        memcpy(out + i * step, &a, sizeof(value_t))


cdef inline inline_void divide_typed(value_t* type, char* out, Py_ssize_t n, Py_ssize_t step, const Marks* marks,
                                     const char* data, int64_t count) noexcept nogil:
    if marks != NULL and marks.width == 4:
        divide_elements(type, <int32_t*>marks.table, out, data, n, <int32_t>count)
    elif marks != NULL:
        divide_elements(type, <int64_t*>marks.table, out, data, n, count)
    elif step == sizeof(value_t):
        divide_items(type, out, n, sizeof(value_t), count)
    else:
        divide_items(type, out, n, step, count)


cdef inline cloned_void divide_any(int type_code, char* out, Py_ssize_t n, Py_ssize_t step, const Marks* marks,
                                   const char* data, int64_t count) noexcept nogil:
    """Divide n elements that are `step` bytes apart by count.

    marks not NULL: adjacent elements. Each is divided by its own count plus `count`; one without updates is data's.
    """
    if type_code == FLOAT32:
        divide_typed(<float*>NULL, out, n, step, marks, data, count)
    elif type_code == FLOAT64:
        divide_typed(<double*>NULL, out, n, step, marks, data, count)
    elif type_code == INT64:
        divide_typed(<int64_t*>NULL, out, n, step, marks, data, count)
    elif type_code == INT32:
        divide_typed(<int32_t*>NULL, out, n, step, marks, data, count)
    elif type_code == FLOAT16:
        divide_typed(<float16*>NULL, out, n, step, marks, data, count)
    elif type_code == BFLOAT16:
        divide_typed(<bfloat16*>NULL, out, n, step, marks, data, count)
    elif type_code == COMPLEX64:
        divide_typed(<complex64*>NULL, out, n, step, marks, data, count)
    elif type_code == COMPLEX128:
        divide_typed(<complex128*>NULL, out, n, step, marks, data, count)
    elif type_code == INT8:
        divide_typed(<int8_t*>NULL, out, n, step, marks, data, count)
    elif type_code == INT16:
        divide_typed(<int16_t*>NULL, out, n, step, marks, data, count)
    elif type_code == UINT8:
        divide_typed(<uint8_t*>NULL, out, n, step, marks, data, count)
    elif type_code == UINT16:
        divide_typed(<uint16_t*>NULL, out, n, step, marks, data, count)
    elif type_code == UINT32:
        divide_typed(<uint32_t*>NULL, out, n, step, marks, data, count)
    elif type_code == UINT64:
        divide_typed(<uint64_t*>NULL, out, n, step, marks, data, count)


cdef inline void divide_swapped(const Step* step, char* out, int64_t count) noexcept nogil:
    cdef char native[16]
    memset(native, 0, 16)
    memcpy(native, out, step.row.item_bytes)
    swap_bytes(native, step.swapped)
    divide_any(step.type_code, native, 1, 0, NULL, NULL, count)
    swap_bytes(native, step.swapped)
    memcpy(out, native, step.row.item_bytes)


cdef inline void divide_row(const Step* step, char* out, int64_t count) noexcept nogil:
    cdef Cursor cursor
    cdef Py_ssize_t _piece, j
    seek(&step.row.outer, 0, &cursor)
    for _piece in range(step.row.outer.n):
        if step.swapped:
            for j in range(step.row.n_inner):
                divide_swapped(step, out + cursor.offset[DATA] + j * step.row.inner_data, count)
        else:
            divide_any(step.type_code, out + cursor.offset[DATA], step.row.n_inner, step.row.inner_data, NULL,
                       NULL, count)
        advance(&step.row.outer, 1, &cursor)


cdef inline inline_void divide_rows_typed(value_t* type, char* out, Py_ssize_t row_bytes, Py_ssize_t n_items,
                                          const Marks* marks, bint include_self, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef int64_t count
    for i in range(n):
        count = count_of(marks, i)
        if count:
            divide_items(type, out + i * row_bytes, n_items, sizeof(value_t), count + include_self)


cdef inline cloned_void divide_short_rows(int type_code, char* out, Py_ssize_t row_bytes, Py_ssize_t n_items,
                                          const Marks* marks, bint include_self, Py_ssize_t n) noexcept nogil:
    """Divide contiguous rows of floats, as divide_rows does."""
    if type_code == FLOAT32:
        divide_rows_typed(<float*>NULL, out, row_bytes, n_items, marks, include_self, n)
    else:
        divide_rows_typed(<double*>NULL, out, row_bytes, n_items, marks, include_self, n)


cdef inline void divide_rows(const Step* step, const Marks* marks, bint include_self, char* out, Py_ssize_t row_bytes,
                             Py_ssize_t n) noexcept nogil:
    """Divide the n rows from out on, whose marks begin the table."""
    cdef Py_ssize_t i
    cdef int64_t count
    if step.by_value:
        divide_any(step.type_code, out, n, 0, marks, out, include_self)
        return
    if (step.row.outer.n == 1 and not step.swapped and step.row.inner_data == step.row.item_bytes
            and (step.type_code == FLOAT32 or step.type_code == FLOAT64)):
        divide_short_rows(step.type_code, out, row_bytes, step.row.n_inner, marks, include_self, n)
        return
    for i in range(n):
        count = count_of(marks, i)
        if count:
            divide_row(step, out + i * row_bytes, count + include_self)


cdef inline void divide_slots(const Step* step, const Marks* marks, bint include_self, char* out) noexcept nogil:
    """Divide the rows that are in the hash table."""
    cdef Py_ssize_t slot
    for slot in range(marks.n_slots):
        if marks.keys[slot]:
            divide_row(step, out + offset_of(marks.keys[slot]), count_of(marks, slot) + include_self)
