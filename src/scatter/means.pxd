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
from scatter.reductions cimport Step, bfloat16, boolean, complex64, complex128, float16, value_t

cdef extern from "scatter/quotients.h":
    float16 mean_of_float16 "gs_mean_of_float16" (float16 total, int64_t terms) nogil
    bfloat16 mean_of_bfloat16 "gs_mean_of_bfloat16" (bfloat16 total, int64_t terms) nogil
    int32_t mean_of_int32 "gs_mean_of_int32" (int32_t total, int64_t terms) nogil
    uint32_t mean_of_uint32 "gs_mean_of_uint32" (uint32_t total, int64_t terms) nogil
    int64_t mean_of_int64 "gs_mean_of_int64" (int64_t total, int64_t terms) nogil
    uint64_t mean_of_uint64 "gs_mean_of_uint64" (uint64_t total, int64_t terms) nogil


cdef inline value_t quotient(value_t total, int64_t count) noexcept nogil:
    cdef value_t result = total
    if value_t is float:
        return total / <float>count
    elif value_t is double:
        return total / <double>count
    elif value_t is float16:
        return mean_of_float16(total, count)
    elif value_t is bfloat16:
        return mean_of_bfloat16(total, count)
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
    elif value_t is int64_t:
        return mean_of_int64(total, count)
    elif value_t is uint64_t:
        return mean_of_uint64(total, count)
    elif value_t is uint32_t:
        return mean_of_uint32(total, count)
    else:
        return <value_t>mean_of_int32(total, count)


# A parameter `type` is never read: it selects the specialisation of a fused type.

cdef inline void divide_elements(int type_code, const Marks* marks, char* out, const char* data, Py_ssize_t n,
                                 int64_t more) noexcept nogil:
    """Divide n elements, each by its own count plus `more`. One without updates becomes that of data."""
    loops.divide(type_code, out, marks.table, marks.width, data, n, more)


cdef inline inline_void divide_items(value_t* type, char* out, Py_ssize_t n, Py_ssize_t step,
                                     int64_t count) noexcept nogil:
    cdef Py_ssize_t i
    cdef value_t a
    for i in range(n):
        memcpy(&a, out + i * step, sizeof(value_t))
        a = quotient(a, count)
        memcpy(out + i * step, &a, sizeof(value_t))


cdef inline inline_void divide_typed(value_t* type, char* out, Py_ssize_t n, Py_ssize_t step,
                                     int64_t count) noexcept nogil:
    if step == sizeof(value_t):
        divide_items(type, out, n, sizeof(value_t), count)
    else:
        divide_items(type, out, n, step, count)


cdef inline cloned_void divide_any(int type_code, char* out, Py_ssize_t n, Py_ssize_t step,
                                   int64_t count) noexcept nogil:
    """Divide n elements that are `step` bytes apart by count."""
    if type_code == FLOAT32:
        divide_typed(<float*>NULL, out, n, step, count)
    elif type_code == FLOAT64:
        divide_typed(<double*>NULL, out, n, step, count)
    elif type_code == INT64:
        divide_typed(<int64_t*>NULL, out, n, step, count)
    elif type_code == INT32:
        divide_typed(<int32_t*>NULL, out, n, step, count)
    elif type_code == FLOAT16:
        divide_typed(<float16*>NULL, out, n, step, count)
    elif type_code == BFLOAT16:
        divide_typed(<bfloat16*>NULL, out, n, step, count)
    elif type_code == COMPLEX64:
        divide_typed(<complex64*>NULL, out, n, step, count)
    elif type_code == COMPLEX128:
        divide_typed(<complex128*>NULL, out, n, step, count)
    elif type_code == INT8:
        divide_typed(<int8_t*>NULL, out, n, step, count)
    elif type_code == INT16:
        divide_typed(<int16_t*>NULL, out, n, step, count)
    elif type_code == UINT8:
        divide_typed(<uint8_t*>NULL, out, n, step, count)
    elif type_code == UINT16:
        divide_typed(<uint16_t*>NULL, out, n, step, count)
    elif type_code == UINT32:
        divide_typed(<uint32_t*>NULL, out, n, step, count)
    elif type_code == UINT64:
        divide_typed(<uint64_t*>NULL, out, n, step, count)


cdef inline void divide_swapped(const Step* step, char* out, int64_t count) noexcept nogil:
    cdef char native[16]
    memset(native, 0, 16)
    memcpy(native, out, step.row.item_bytes)
    swap_bytes(native, step.swapped)
    divide_any(step.type_code, native, 1, 0, count)
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
            divide_any(step.type_code, out + cursor.offset[DATA], step.row.n_inner, step.row.inner_data, count)
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
        divide_elements(step.type_code, marks, out, out, n, include_self)
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
