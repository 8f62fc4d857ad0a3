# cython: cdivision=True
# Conversions of rows between memory and accumulators: from strides, from another byte order, to a wider dtype, and
# back.
#
# Widening is exact and narrowing rounds once; integers are truncated.
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from common.codes cimport (
    BFLOAT16, COMPLEX64, COMPLEX128, FLOAT16, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32,
    UINT64,
)
from common.items cimport bytes16, flat_void, inline_void, word_t
from scatter.steps cimport (
    bfloat16, complex64, complex128, float16, round_bfloat16, round_float16, round_to_odd, widen_bfloat16,
    widen_float16,
)

cdef extern from "scatter/numbers.h":
    float widen_float16_exactly "gs_widen_float16_exactly" (float16 x) nogil
    double widen_float_exactly "gs_widen_float_exactly" (float x) nogil
    float quiet "gs_quiet" (float x) nogil

ctypedef fused narrow_t:
    int8_t
    int16_t
    int32_t
    uint8_t
    uint16_t
    uint32_t
    float16
    bfloat16
    float
    complex64

ctypedef fused wide_t:
    int16_t
    int32_t
    int64_t
    uint16_t
    uint32_t
    uint64_t
    float
    double
    complex128

ctypedef fused real_t:
    float
    double

cdef enum:
    ITEMS = 128     # that are converted at a time
    CONVERTED = 512  # at once, if they need no buffer

cdef struct Conversion:
    int narrow          # TypeCode in memory
    int wide            # TypeCode of accumulators; the same: only moved
    int swapped         # bytes of a number in non-native byte order; 0: native
    Py_ssize_t narrow_bytes
    Py_ssize_t wide_bytes


cdef inline bint is_wider(int narrow, int wide) noexcept nogil:
    """Whether values of one TypeCode can be accumulated as the other."""
    return (INT8 <= narrow < wide <= INT64 or UINT8 <= narrow < wide <= UINT64
            or (narrow == FLOAT32 and wide == FLOAT64) or (narrow == COMPLEX64 and wide == COMPLEX128)
            or ((narrow == FLOAT16 or narrow == BFLOAT16) and (wide == FLOAT32 or wide == FLOAT64)))


cdef inline wide_t widened(bint exactly, narrow_t x, wide_t* type) noexcept nogil:
    """exactly: a signalling NaN stays signalling."""
    cdef wide_t y
    if narrow_t is float16 and (wide_t is float or wide_t is double):
        if exactly and wide_t is double:
            return widen_float_exactly(widen_float16_exactly(x))
        return widen_float16_exactly(x) if exactly else quiet(widen_float16(x))
    elif narrow_t is bfloat16 and (wide_t is float or wide_t is double):
        if exactly and wide_t is double:
            return widen_float_exactly(widen_bfloat16(x))
        return widen_bfloat16(x) if exactly else quiet(widen_bfloat16(x))
    elif narrow_t is float and wide_t is double:
        return widen_float_exactly(x) if exactly else <double>x
    elif narrow_t is complex64 and wide_t is complex128:
        y.real = widen_float_exactly(x.real) if exactly else x.real
        y.imag = widen_float_exactly(x.imag) if exactly else x.imag
        return y
    elif (wide_t is not float and wide_t is not double and wide_t is not complex128 and narrow_t is not float
            and narrow_t is not float16 and narrow_t is not bfloat16 and narrow_t is not complex64):
        return <wide_t>x
    else:
        return type[0]  # never called


cdef inline narrow_t narrowed(wide_t x, narrow_t* type) noexcept nogil:
    cdef narrow_t y
    if narrow_t is float16 and wide_t is float:
        return round_float16(x)
    elif narrow_t is float16 and wide_t is double:
        return round_float16(round_to_odd(x))
    elif narrow_t is bfloat16 and wide_t is float:
        return round_bfloat16(x)
    elif narrow_t is bfloat16 and wide_t is double:
        return round_bfloat16(round_to_odd(x))
    elif narrow_t is float and wide_t is double:
        return <float>x
    elif narrow_t is complex64 and wide_t is complex128:
        y.real = <float>x.real
        y.imag = <float>x.imag
        return y
    elif (wide_t is not float and wide_t is not double and wide_t is not complex128 and narrow_t is not float
            and narrow_t is not float16 and narrow_t is not bfloat16 and narrow_t is not complex64):
        return <narrow_t>x
    else:
        return type[0]  # never called


cdef inline inline_void widen_of(narrow_t* narrow, wide_t* wide, bint exactly, const char* items, Py_ssize_t step,
                                 Py_ssize_t n, char* to) noexcept nogil:
    cdef Py_ssize_t i
    cdef narrow_t x
    cdef wide_t y
    for i in range(n):
        memcpy(&x, items + i * step, sizeof(narrow_t))
        y = widened(exactly, x, wide)
        memcpy(to + i * <Py_ssize_t>sizeof(wide_t), &y, sizeof(wide_t))


cdef inline inline_void widen_steps(narrow_t* narrow, wide_t* wide, bint exactly, const char* items, Py_ssize_t step,
                                    Py_ssize_t n, char* to) noexcept nogil:
    if exactly:
        widen_of(narrow, wide, True, items, step, n, to)
    elif step == sizeof(narrow_t):  # a constant
        widen_of(narrow, wide, False, items, sizeof(narrow_t), n, to)
    else:
        widen_of(narrow, wide, False, items, step, n, to)


cdef inline inline_void narrow_of(narrow_t* narrow, wide_t* wide, bint replaces, const char* data, const char* items,
                                  Py_ssize_t n, char* to) noexcept nogil:
    """replaces: an item that is still what that of data was widened to becomes that of data, which keeps its bits."""
    cdef Py_ssize_t i
    cdef narrow_t x, y
    cdef wide_t wide_x, from_data
    for i in range(n):
        memcpy(&wide_x, items + i * <Py_ssize_t>sizeof(wide_t), sizeof(wide_t))
        x = narrowed(wide_x, narrow)
        if replaces:
            memcpy(&y, data + i * <Py_ssize_t>sizeof(narrow_t), sizeof(narrow_t))
            from_data = widened(True, y, wide)
            if same_bits(&wide_x, &from_data, wide):
                x = y
        memcpy(to + i * <Py_ssize_t>sizeof(narrow_t), &x, sizeof(narrow_t))


cdef inline bint same_bits(const void* a, const void* b, wide_t* type) noexcept nogil:
    cdef uint64_t x = 0, y = 0
    if sizeof(wide_t) > 8:
        memcpy(&x, a, 8)
        memcpy(&y, b, 8)
        if x != y:
            return False
        memcpy(&x, <const char*>a + 8, 8)
        memcpy(&y, <const char*>b + 8, 8)
        return x == y
    memcpy(&x, a, sizeof(wide_t))
    memcpy(&y, b, sizeof(wide_t))
    return x == y


cdef inline inline_void convert_of(narrow_t* narrow, wide_t* wide, bint widens, bint exactly, const char* source,
                                   Py_ssize_t step, const char* data, Py_ssize_t n, char* to) noexcept nogil:
    if widens:
        widen_steps(narrow, wide, exactly, source, step, n, to)
    elif data != NULL:
        narrow_of(narrow, wide, True, data, source, n, to)
    else:
        narrow_of(narrow, wide, False, data, source, n, to)


cdef inline flat_void convert(int narrow, int wide, bint widens, bint exactly, const char* source,
                              Py_ssize_t step, const char* data, Py_ssize_t n, char* to) noexcept nogil:
    """Widen n items that are `step` bytes apart, or narrow n adjacent ones; see is_wider."""
    if narrow == FLOAT32:
        convert_of(<float*>NULL, <double*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow == FLOAT16 and wide == FLOAT32:
        convert_of(<float16*>NULL, <float*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow == FLOAT16:
        convert_of(<float16*>NULL, <double*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow == BFLOAT16 and wide == FLOAT32:
        convert_of(<bfloat16*>NULL, <float*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow == BFLOAT16:
        convert_of(<bfloat16*>NULL, <double*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow == COMPLEX64:
        convert_of(<complex64*>NULL, <complex128*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow == INT8 and wide == INT16:
        convert_of(<int8_t*>NULL, <int16_t*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow == INT8 and wide == INT32:
        convert_of(<int8_t*>NULL, <int32_t*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow == INT8:
        convert_of(<int8_t*>NULL, <int64_t*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow == INT16 and wide == INT32:
        convert_of(<int16_t*>NULL, <int32_t*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow == INT16:
        convert_of(<int16_t*>NULL, <int64_t*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow == INT32:
        convert_of(<int32_t*>NULL, <int64_t*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow == UINT8 and wide == UINT16:
        convert_of(<uint8_t*>NULL, <uint16_t*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow == UINT8 and wide == UINT32:
        convert_of(<uint8_t*>NULL, <uint32_t*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow == UINT8:
        convert_of(<uint8_t*>NULL, <uint64_t*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow == UINT16 and wide == UINT32:
        convert_of(<uint16_t*>NULL, <uint32_t*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow == UINT16:
        convert_of(<uint16_t*>NULL, <uint64_t*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow == UINT32:
        convert_of(<uint32_t*>NULL, <uint64_t*>NULL, widens, exactly, source, step, data, n, to)


cdef inline inline_void has_nan_of(real_t* items, Py_ssize_t n, uint64_t* found) noexcept nogil:
    cdef Py_ssize_t i
    cdef uint64_t any = 0
    for i in range(n):
        any |= items[i] != items[i]
    found[0] = any


cdef inline flat_void find_nan(int wide, const char* accumulators, Py_ssize_t n, uint64_t* found) noexcept nogil:
    """Whether an accumulator is NaN, which alone keeps no bits of data in a conversion to a wider dtype and back."""
    if wide == FLOAT32:
        has_nan_of(<float*>accumulators, n, found)
    elif wide == FLOAT64 or wide == COMPLEX128:
        has_nan_of(<double*>accumulators, n * (1 + (wide == COMPLEX128)), found)
    else:
        found[0] = 0


cdef inline inline_void copy_words(word_t* type, Py_ssize_t width, const char* source, Py_ssize_t step, Py_ssize_t n,
                                   char* to, Py_ssize_t to_step) noexcept nogil:
    """width: of items without a type, which are uint8_t here."""
    cdef Py_ssize_t i, size = width if word_t is uint8_t else <Py_ssize_t>sizeof(word_t)
    for i in range(n):
        memcpy(to + i * to_step, source + i * step, size)


cdef inline void copy_items(Py_ssize_t width, const char* source, Py_ssize_t step, Py_ssize_t n, char* to,
                            Py_ssize_t to_step) noexcept nogil:
    if step == width and to_step == width:
        memcpy(to, source, n * width)
    elif width == 4:
        copy_words(<uint32_t*>NULL, 4, source, step, n, to, to_step)
    elif width == 8:
        copy_words(<uint64_t*>NULL, 8, source, step, n, to, to_step)
    elif width == 2:
        copy_words(<uint16_t*>NULL, 2, source, step, n, to, to_step)
    elif width == 16:
        copy_words(<bytes16*>NULL, 16, source, step, n, to, to_step)
    else:
        copy_words(<uint8_t*>NULL, width, source, step, n, to, to_step)


cdef inline void swap_bytes(char* items, Py_ssize_t n_bytes, int width) noexcept nogil:
    """Reverse the bytes of each number of this width."""
    cdef Py_ssize_t i = 0
    cdef int j
    cdef char swapped
    while i < n_bytes:
        for j in range(width // 2):
            swapped = items[i + j]
            items[i + j] = items[i + width - 1 - j]
            items[i + width - 1 - j] = swapped
        i += width


cdef inline void load_items(const Conversion* conversion, bint exactly, const char* items, Py_ssize_t step,
                            Py_ssize_t n, char* to) noexcept nogil:
    """n items that are `step` bytes apart become adjacent accumulators. exactly: signalling NaNs stay so."""
    cdef char native[ITEMS * 16]
    cdef Py_ssize_t width = conversion.narrow_bytes, m
    cdef uint64_t nan
    if conversion.narrow == conversion.wide:
        copy_items(width, items, step, n, to, width)
        if conversion.swapped:
            swap_bytes(to, n * width, conversion.swapped)
        return
    if not conversion.swapped:
        while n > 0:
            m = min(n, <Py_ssize_t>CONVERTED)
            convert(conversion.narrow, conversion.wide, True, False, items, step, NULL, m, to)
            if exactly:
                find_nan(conversion.wide, to, m, &nan)
                if nan:
                    convert(conversion.narrow, conversion.wide, True, True, items, step, NULL, m, to)
            items += m * step
            to += m * conversion.wide_bytes
            n -= m
        return
    while n > 0:
        m = min(n, <Py_ssize_t>ITEMS)
        copy_items(width, items, step, m, native, width)
        swap_bytes(native, m * width, conversion.swapped)
        convert(conversion.narrow, conversion.wide, True, exactly, native, width, NULL, m, to)
        items += m * step
        to += m * conversion.wide_bytes
        n -= m


cdef inline void store_items(const Conversion* conversion, const char* accumulators, const char* data,
                             Py_ssize_t data_step, Py_ssize_t n, char* to, Py_ssize_t step) noexcept nogil:
    """n adjacent accumulators become items that are `step` bytes apart.

    data: if not NULL, accumulators that are still what load_items made of these, exactly, become items of data.
    """
    cdef char native[ITEMS * 16]
    cdef char before[ITEMS * 16]
    cdef Py_ssize_t width = conversion.narrow_bytes, m
    cdef uint64_t nan = 0
    if conversion.narrow == conversion.wide and not conversion.swapped:
        copy_items(width, accumulators, width, n, to, step)
        return
    while n > 0:
        m = min(n, <Py_ssize_t>ITEMS)
        if conversion.narrow == conversion.wide:
            memcpy(native, accumulators, m * width)
        else:
            if data != NULL:
                find_nan(conversion.wide, accumulators, m, &nan)
            if nan:
                copy_items(width, data, data_step, m, before, width)
                if conversion.swapped:
                    swap_bytes(before, m * width, conversion.swapped)
            convert(conversion.narrow, conversion.wide, False, False, accumulators, 0,
                    before if nan else NULL, m, native)
            if data != NULL:
                data += m * data_step
        if conversion.swapped:
            swap_bytes(native, m * width, conversion.swapped)
        copy_items(width, native, width, m, to, step)
        accumulators += m * conversion.wide_bytes
        to += m * step
        n -= m
