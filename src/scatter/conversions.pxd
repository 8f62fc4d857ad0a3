# Conversions between a dtype and a wider one, in which its sums are accumulated (accumulate_dtype).
#
# Widening is exact and narrowing rounds once; integers are truncated. A signalling NaN of data stays signalling in
# both directions. Arithmetic makes it quiet, so a NaN that is still signalling at the end had no update. A signalling
# NaN of updates becomes quiet.
from libc.string cimport memcpy

from common.codes cimport (
    BFLOAT16, COMPLEX64, COMPLEX128, FLOAT16, FLOAT32, FLOAT64, INT8, INT64, UINT8, UINT64,
)
from common.items cimport MAX_WORD_BYTES
from scatter.apply cimport swap_bytes
from scatter.loops.table cimport PAIR, loops

cdef enum:
    NATIVE_ITEMS = 128  # that are copied at a time to be converted
    DATA_ITEMS = 1 << 12

cdef struct Conversion:
    int pair
    int swapped             # for narrow items in non-native byte order: the width of a number; else 0
    Py_ssize_t narrow_bytes
    Py_ssize_t wide_bytes


cdef inline int pair_of(int type_code, int wide) noexcept nogil:
    """The pair of types in which values of `type_code` are accumulated as `wide`; 0: there is none."""
    if (INT8 <= type_code < wide <= INT64 or UINT8 <= type_code < wide <= UINT64
            or (type_code == FLOAT32 and wide == FLOAT64) or (type_code == COMPLEX64 and wide == COMPLEX128)
            or ((type_code == FLOAT16 or type_code == BFLOAT16) and (wide == FLOAT32 or wide == FLOAT64))):
        return PAIR(type_code, wide)
    return 0


cdef inline void swap_items(char* items, Py_ssize_t width, Py_ssize_t n, int swapped) noexcept nogil:
    """Reverse the bytes of the numbers of n items. swapped: a number's width."""
    cdef Py_ssize_t i
    cdef char element[16]
    for i in range(n):
        memcpy(element, items + i * width, width)
        swap_bytes(element, swapped)
        memcpy(items + i * width, element, width)


cdef inline void copy_items(const char* items, Py_ssize_t step, Py_ssize_t width, Py_ssize_t n,
                            char* to) noexcept nogil:
    cdef Py_ssize_t i
    if width == 2:  # a constant
        for i in range(n):
            memcpy(to + i * 2, items + i * step, 2)
        return
    for i in range(n):
        memcpy(to + i * width, items + i * step, width)


cdef inline void widen_items(const Conversion* conversion, const char* items, Py_ssize_t step, Py_ssize_t n,
                             bint keeps, char* wide) noexcept nogil:
    """Widen n items that are `step` bytes apart. keeps: signalling NaNs stay signalling."""
    cdef char native[NATIVE_ITEMS * MAX_WORD_BYTES]
    cdef Py_ssize_t width = conversion.narrow_bytes
    cdef Py_ssize_t m
    if not conversion.swapped:
        loops.widen(conversion.pair, items, step, n, keeps, wide)
        return
    while n > 0:
        m = min(n, <Py_ssize_t>NATIVE_ITEMS)
        copy_items(items, step, width, m, native)
        swap_items(native, width, m, conversion.swapped)
        loops.widen(conversion.pair, native, width, m, keeps, wide)
        items += m * step
        wide += m * conversion.wide_bytes
        n -= m


cdef inline void widen_data(const Conversion* conversion, const char* items, Py_ssize_t n, char* wide,
                            bint* signals) noexcept nogil:
    """Widen n adjacent items of data. signals: set if there is a signalling NaN."""
    cdef Py_ssize_t m
    cdef bint found
    while n > 0:
        m = min(n, <Py_ssize_t>DATA_ITEMS)  # read twice: L1 holds them
        found = conversion.swapped != 0 or loops.has_signals(conversion.pair, items, m)
        widen_items(conversion, items, conversion.narrow_bytes, m, found, wide)
        signals[0] |= found
        items += m * conversion.narrow_bytes
        wide += m * conversion.wide_bytes
        n -= m


cdef inline void narrow_items(const Conversion* conversion, const char* wide, Py_ssize_t n, bint keeps, char* items,
                              Py_ssize_t step) noexcept nogil:
    """Round n items to the narrow type, and write them `step` bytes apart. keeps: signalling NaNs stay signalling."""
    cdef char native[NATIVE_ITEMS * MAX_WORD_BYTES]
    cdef Py_ssize_t width = conversion.narrow_bytes
    cdef Py_ssize_t i, m
    if not conversion.swapped:
        loops.narrow(conversion.pair, wide, n, keeps, items, step)
        return
    while n > 0:
        m = min(n, <Py_ssize_t>NATIVE_ITEMS)
        loops.narrow(conversion.pair, wide, m, keeps, native, width)
        swap_items(native, width, m, conversion.swapped)
        for i in range(m):
            memcpy(items + i * step, native + i * width, width)
        items += m * step
        wide += m * conversion.wide_bytes
        n -= m
