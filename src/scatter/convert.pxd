# cython: cdivision=True
# Conversions of rows between memory and accumulators: from strides, from another byte order, to a wider dtype, and
# back.
#
# Widening is exact and narrowing rounds once; integers are truncated.
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from common.codes cimport (
    BFLOAT16, COMPLEX64, COMPLEX128, FLOAT16, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32,
    UINT64,
)
from common.items cimport bytes16, element_t, flat_void, inline_void
from common.resolve cimport BLOCK
from scatter.steps cimport (
    bfloat16, complex64, complex128, float16, round_bfloat16, round_float16, round_to_odd, widen_bfloat16,
    widen_float16,
)

cdef extern from "scatter/numbers.h":
    float widen_float16_exactly "gs_widen_float16_exactly" (float16 x) nogil
    double widen_float_exactly "gs_widen_float_exactly" (float x) nogil
    float quiet "gs_quiet" (float x) nogil

# A number of a dtype, and as one of a wider dtype.
cdef struct Float16AsFloat:
    float16 narrow
    float wide
cdef struct Float16AsDouble:
    float16 narrow
    double wide
cdef struct BFloat16AsFloat:
    bfloat16 narrow
    float wide
cdef struct BFloat16AsDouble:
    bfloat16 narrow
    double wide
cdef struct FloatAsDouble:
    float narrow
    double wide
cdef struct ComplexAsDoubles:
    complex64 narrow
    complex128 wide
cdef struct Int8As16:
    int8_t narrow
    int16_t wide
cdef struct Int8As32:
    int8_t narrow
    int32_t wide
cdef struct Int8As64:
    int8_t narrow
    int64_t wide
cdef struct Int16As32:
    int16_t narrow
    int32_t wide
cdef struct Int16As64:
    int16_t narrow
    int64_t wide
cdef struct Int32As64:
    int32_t narrow
    int64_t wide
cdef struct UInt8As16:
    uint8_t narrow
    uint16_t wide
cdef struct UInt8As32:
    uint8_t narrow
    uint32_t wide
cdef struct UInt8As64:
    uint8_t narrow
    uint64_t wide
cdef struct UInt16As32:
    uint16_t narrow
    uint32_t wide
cdef struct UInt16As64:
    uint16_t narrow
    uint64_t wide
cdef struct UInt32As64:
    uint32_t narrow
    uint64_t wide

ctypedef fused pair_t:
    Float16AsFloat
    Float16AsDouble
    BFloat16AsFloat
    BFloat16AsDouble
    FloatAsDouble
    ComplexAsDoubles
    Int8As16
    Int8As32
    Int8As64
    Int16As32
    Int16As64
    Int32As64
    UInt8As16
    UInt8As32
    UInt8As64
    UInt16As32
    UInt16As64
    UInt32As64

ctypedef fused real_t:
    float
    double

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


cdef inline inline_void widen(pair_t* pair, bint exactly) noexcept nogil:
    """exactly: a signalling NaN stays signalling."""
    if pair_t is Float16AsFloat:
        pair.wide = widen_float16_exactly(pair.narrow) if exactly else quiet(widen_float16(pair.narrow))
    elif pair_t is Float16AsDouble:
        pair.wide = (widen_float_exactly(widen_float16_exactly(pair.narrow)) if exactly
                     else quiet(widen_float16(pair.narrow)))
    elif pair_t is BFloat16AsFloat:
        pair.wide = widen_bfloat16(pair.narrow) if exactly else quiet(widen_bfloat16(pair.narrow))
    elif pair_t is BFloat16AsDouble:
        pair.wide = (widen_float_exactly(widen_bfloat16(pair.narrow)) if exactly
                     else quiet(widen_bfloat16(pair.narrow)))
    elif pair_t is FloatAsDouble:
        pair.wide = widen_float_exactly(pair.narrow) if exactly else <double>pair.narrow
    elif pair_t is ComplexAsDoubles:
        pair.wide.real = widen_float_exactly(pair.narrow.real) if exactly else pair.narrow.real
        pair.wide.imag = widen_float_exactly(pair.narrow.imag) if exactly else pair.narrow.imag
    else:
        pair.wide = pair.narrow


cdef inline inline_void narrow(pair_t* pair) noexcept nogil:
    if pair_t is Float16AsFloat:
        pair.narrow = round_float16(pair.wide)
    elif pair_t is Float16AsDouble:
        pair.narrow = round_float16(round_to_odd(pair.wide))
    elif pair_t is BFloat16AsFloat:
        pair.narrow = round_bfloat16(pair.wide)
    elif pair_t is BFloat16AsDouble:
        pair.narrow = round_bfloat16(round_to_odd(pair.wide))
    elif pair_t is FloatAsDouble:
        pair.narrow = <float>pair.wide
    elif pair_t is ComplexAsDoubles:
        pair.narrow.real = <float>pair.wide.real
        pair.narrow.imag = <float>pair.wide.imag
    else:
        pair.narrow = pair.wide


cdef inline inline_void widen_of(pair_t* type, bint exactly, const char* items, Py_ssize_t step, Py_ssize_t n,
                                 char* to) noexcept nogil:
    cdef Py_ssize_t i
    cdef pair_t pair
    for i in range(n):
        memcpy(&pair.narrow, items + i * step, sizeof(pair.narrow))
        widen(&pair, exactly)
        memcpy(to + i * <Py_ssize_t>sizeof(pair.wide), &pair.wide, sizeof(pair.wide))


cdef inline inline_void narrow_of(pair_t* type, bint replaces, const char* data, const char* items, Py_ssize_t n,
                                  char* to) noexcept nogil:
    """replaces: an item that is still what that of data was widened to becomes that of data, which keeps its bits."""
    cdef Py_ssize_t i
    cdef pair_t pair, before
    for i in range(n):
        memcpy(&pair.wide, items + i * <Py_ssize_t>sizeof(pair.wide), sizeof(pair.wide))
        narrow(&pair)
        if replaces:
            memcpy(&before.narrow, data + i * <Py_ssize_t>sizeof(pair.narrow), sizeof(pair.narrow))
            widen(&before, True)
            if memcmp(&pair.wide, &before.wide, sizeof(pair.wide)) == 0:
                pair.narrow = before.narrow
        memcpy(to + i * <Py_ssize_t>sizeof(pair.narrow), &pair.narrow, sizeof(pair.narrow))


cdef inline inline_void convert_of(pair_t* type, bint widens, bint exactly, const char* source, Py_ssize_t step,
                                   const char* data, Py_ssize_t n, char* to) noexcept nogil:
    cdef pair_t pair
    if widens and exactly:
        widen_of(type, True, source, step, n, to)
    elif widens and step == sizeof(pair.narrow):  # a constant
        widen_of(type, False, source, sizeof(pair.narrow), n, to)
    elif widens:
        widen_of(type, False, source, step, n, to)
    elif data != NULL:
        narrow_of(type, True, data, source, n, to)
    else:
        narrow_of(type, False, data, source, n, to)


cdef inline flat_void convert(int narrow_code, int wide_code, bint widens, bint exactly, const char* source,
                              Py_ssize_t step, const char* data, Py_ssize_t n, char* to) noexcept nogil:
    """Widen n items that are `step` bytes apart, or narrow n adjacent ones; see is_wider."""
    if narrow_code == FLOAT32:
        convert_of(<FloatAsDouble*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow_code == FLOAT16 and wide_code == FLOAT32:
        convert_of(<Float16AsFloat*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow_code == FLOAT16:
        convert_of(<Float16AsDouble*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow_code == BFLOAT16 and wide_code == FLOAT32:
        convert_of(<BFloat16AsFloat*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow_code == BFLOAT16:
        convert_of(<BFloat16AsDouble*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow_code == COMPLEX64:
        convert_of(<ComplexAsDoubles*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow_code == INT8 and wide_code == INT16:
        convert_of(<Int8As16*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow_code == INT8 and wide_code == INT32:
        convert_of(<Int8As32*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow_code == INT8:
        convert_of(<Int8As64*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow_code == INT16 and wide_code == INT32:
        convert_of(<Int16As32*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow_code == INT16:
        convert_of(<Int16As64*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow_code == INT32:
        convert_of(<Int32As64*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow_code == UINT8 and wide_code == UINT16:
        convert_of(<UInt8As16*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow_code == UINT8 and wide_code == UINT32:
        convert_of(<UInt8As32*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow_code == UINT8:
        convert_of(<UInt8As64*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow_code == UINT16 and wide_code == UINT32:
        convert_of(<UInt16As32*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow_code == UINT16:
        convert_of(<UInt16As64*>NULL, widens, exactly, source, step, data, n, to)
    elif narrow_code == UINT32:
        convert_of(<UInt32As64*>NULL, widens, exactly, source, step, data, n, to)


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


cdef inline inline_void copy_elements(element_t* type, Py_ssize_t width, const char* source, Py_ssize_t step,
                                     Py_ssize_t n, char* to, Py_ssize_t to_step) noexcept nogil:
    """width: of items without a type, which are uint8_t here."""
    cdef Py_ssize_t i, size = width if element_t is uint8_t else <Py_ssize_t>sizeof(element_t)
    for i in range(n):
        memcpy(to + i * to_step, source + i * step, size)


cdef inline void copy_items(Py_ssize_t width, const char* source, Py_ssize_t step, Py_ssize_t n, char* to,
                            Py_ssize_t to_step) noexcept nogil:
    if step == width and to_step == width:
        memcpy(to, source, n * width)
    elif width == 4:
        copy_elements(<uint32_t*>NULL, 4, source, step, n, to, to_step)
    elif width == 8:
        copy_elements(<uint64_t*>NULL, 8, source, step, n, to, to_step)
    elif width == 2:
        copy_elements(<uint16_t*>NULL, 2, source, step, n, to, to_step)
    elif width == 16:
        copy_elements(<bytes16*>NULL, 16, source, step, n, to, to_step)
    else:
        copy_elements(<uint8_t*>NULL, width, source, step, n, to, to_step)


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
    cdef char native[BLOCK * 16]
    cdef Py_ssize_t width = conversion.narrow_bytes, m
    cdef uint64_t nan
    if conversion.narrow == conversion.wide:
        copy_items(width, items, step, n, to, width)
        if conversion.swapped:
            swap_bytes(to, n * width, conversion.swapped)
        return
    if not conversion.swapped:
        while n > 0:
            m = min(n, <Py_ssize_t>4 * BLOCK)
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
        m = min(n, <Py_ssize_t>BLOCK)
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
    cdef char native[BLOCK * 16]
    cdef char before[BLOCK * 16]
    cdef Py_ssize_t width = conversion.narrow_bytes, m
    cdef uint64_t nan = 0
    if conversion.narrow == conversion.wide and not conversion.swapped:
        copy_items(width, accumulators, width, n, to, step)
        return
    while n > 0:
        m = min(n, <Py_ssize_t>BLOCK)
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
