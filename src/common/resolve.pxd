# Resolve, step 2 of every operator: a block of index tuples becomes a block of byte offsets into data.
#
#   indices ── load ──> one component of the tuples, as int64, on the stack
#                         │ resolve_axis: apply negatives and mode, check bounds, multiply by the axis' stride, add to
#                         v
#                       offsets of the block, on the stack; the block is moved while it is in L1
#
# An index is copied to the stack, and that copy is both checked and used. So another thread that writes to the index
# array during the call can change the result, but cannot cause an out-of-bounds access.
cimport cython
from libc.stdint cimport INT64_MAX, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.string cimport memcpy
cimport numpy as cnp

from common.codes cimport AXIS, CLIP, ELEMENTS, ND, RAISE, SKIP, WRAP, Kind, Mode
from common.items cimport CACHE_LINE, cloned_void, inline_void, prefetch_stream
from common.walk cimport DATA, INDICES, MAX_DIMS, Cursor, Walk, add_axis, advance, finish_walk, start_walk

cdef extern from "<stdint.h>":
    const int64_t SKIPPED "INT64_MIN"  # the offset of a tuple that is out of bounds in mode SKIP

ctypedef fused index_t:
    int8_t
    int16_t
    int32_t
    int64_t
    uint8_t
    uint16_t
    uint32_t
    uint64_t

ctypedef fused trivial_index_t:
    int32_t
    int64_t

cdef enum:
    MIN_STREAM = 1024  # tuples from which indices and updates are prefetched
    L1_BYTES = 1 << 14  # of data: random accesses to less do not disturb the hardware prefetcher
    BLOCK = 128  # tuples: few enough that out-of-order execution loads the next block while this one is moved

cdef struct Tuples:
    const char* base
    char kind        # of NumPy's dtype: 'i' or 'u'
    int width        # bytes of an index
    bint swapped     # not in native byte order
    Mode mode
    int k
    bint trivial     # the common case, for which resolve_trivial loads and resolves in one loop
    bint prefetches  # indices and updates: see prefetch_stream
    int shift        # if trivial: the last stride is 1 << shift
    Py_ssize_t component_stride
    Py_ssize_t size[MAX_DIMS]    # of the k axes of data that the tuple indexes
    Py_ssize_t wrap[MAX_DIMS]    # added to a negative index: size, or 0 if negative indices are out of bounds
    Py_ssize_t stride[MAX_DIMS]


cdef inline void find_trivial(Tuples* tuples) noexcept nogil:
    """Set trivial and shift. Trivial: 1 or 2 indices of native int64 or int32, mode RAISE, last stride a power of 2."""
    tuples.trivial = (tuples.mode == RAISE and not tuples.swapped and tuples.kind == c'i'
                      and (tuples.width == 8 or tuples.width == 4)
                      and (tuples.k == 1 or (tuples.k == 2 and tuples.component_stride == tuples.width)))
    tuples.shift = 0
    if tuples.trivial:
        while tuples.shift < 62 and (<int64_t>1 << tuples.shift) < tuples.stride[tuples.k - 1]:
            tuples.shift += 1
        tuples.trivial = (<int64_t>1 << tuples.shift) == tuples.stride[tuples.k - 1]


cdef inline bint are_trivial(const Tuples* tuples, const char* p, Py_ssize_t step) noexcept nogil:
    """Whether the tuples at p, step bytes apart, are trivial: contiguous and aligned in addition to find_trivial."""
    return tuples.trivial and step == tuples.k * tuples.width and <uintptr_t>p % tuples.width == 0


cdef inline bint describe(Kind kind, cnp.ndarray data, cnp.ndarray indices, cnp.ndarray other, int axis,
                          int batch_dims, Mode mode, bint wrap_negative, Tuples* tuples, Walk* walk, int* row_axis,
                          int* other_axis) noexcept:
    """Describe an operator's tuples and the iteration over them. False: indices are not integers.

    IN   data: the array that is indexed (a gather's data, a scatter's result); other: a gather's result, a
         scatter's updates, or None; axis: for AXIS and ELEMENTS, not negative
    OUT  row_axis, other_axis: the first axis of the row in data and in other
    """
    cdef int q = cnp.PyArray_NDIM(indices)
    cdef int n_axes = q - 1 if kind == ND else q + axis - batch_dims if kind == AXIS else q
    cdef int first = batch_dims if kind == ND else axis  # of the axes that are indexed
    cdef int d, i
    cdef Py_ssize_t n, index_stride, data_stride

    tuples.kind = indices.descr.kind
    if tuples.kind != c'i' and tuples.kind != c'u':
        return False
    tuples.base = cnp.PyArray_BYTES(indices)
    tuples.width = <int>cnp.PyArray_ITEMSIZE(indices)
    tuples.swapped = cnp.PyArray_ISBYTESWAPPED(indices)
    tuples.mode = mode
    tuples.k = <int>cnp.PyArray_DIM(indices, q - 1) if kind == ND else 1
    tuples.component_stride = cnp.PyArray_STRIDE(indices, q - 1) if kind == ND else 0
    for d in range(tuples.k):
        tuples.size[d] = cnp.PyArray_DIM(data, first + d)
        tuples.wrap[d] = tuples.size[d] if wrap_negative else 0
        tuples.stride[d] = cnp.PyArray_STRIDE(data, first + d)
    find_trivial(tuples)
    start_walk(walk)
    for d in range(n_axes):
        if kind == AXIS and batch_dims <= d < axis:  # indices lack these axes and are broadcast over them
            n = cnp.PyArray_DIM(data, d)
            index_stride = 0
            data_stride = cnp.PyArray_STRIDE(data, d)
        else:
            i = d if kind != AXIS or d < batch_dims else d - axis + batch_dims
            n = cnp.PyArray_DIM(indices, i)
            index_stride = cnp.PyArray_STRIDE(indices, i)
            data_stride = cnp.PyArray_STRIDE(data, d) if (d != axis if kind == ELEMENTS else d < batch_dims) else 0
        add_axis(walk, n, index_stride, data_stride, cnp.PyArray_STRIDE(other, d) if other is not None else 0)
    finish_walk(walk)
    tuples.prefetches = walk.n > MIN_STREAM and cnp.PyArray_NBYTES(data) > L1_BYTES
    row_axis[0] = cnp.PyArray_NDIM(data) if kind == ELEMENTS else first + tuples.k
    other_axis[0] = n_axes
    return True


# Load: one component of the tuples, widened to int64.
# A parameter `kind` is never read: its type selects the specialisation of a fused type.

cdef inline inline_void load_strided(index_t* kind, const char* p, Py_ssize_t step, Py_ssize_t n,
                                     int64_t* values) noexcept nogil:
    cdef Py_ssize_t i
    cdef index_t value
    for i in range(n):
        memcpy(&value, p + i * step, sizeof(index_t))
        values[i] = <int64_t>value


cdef inline inline_void load_swapped(index_t* kind, const char* p, Py_ssize_t step, Py_ssize_t n,
                                     int64_t* values) noexcept nogil:
    cdef Py_ssize_t i
    cdef size_t byte
    cdef index_t value
    for i in range(n):
        for byte in range(sizeof(index_t)):
            (<char*>&value)[byte] = p[i * step + <Py_ssize_t>(sizeof(index_t) - 1 - byte)]
        values[i] = <int64_t>value


cdef inline inline_void load(index_t* kind, const char* p, Py_ssize_t step, Py_ssize_t n, bint swapped,
                             int64_t* values) noexcept nogil:
    if swapped:
        load_swapped(kind, p, step, n, values)
    # A constant stride lets the compiler vectorise. Pairs and triples have one for the common dtypes only.
    elif step == sizeof(index_t):
        load_strided(kind, p, sizeof(index_t), n, values)
    elif (index_t is int64_t or index_t is int32_t) and step == 2 * sizeof(index_t):
        load_strided(kind, p, 2 * sizeof(index_t), n, values)
    elif (index_t is int64_t or index_t is int32_t) and step == 3 * sizeof(index_t):
        load_strided(kind, p, 3 * sizeof(index_t), n, values)
    else:
        load_strided(kind, p, step, n, values)


@cython.cdivision(True)
cdef inline inline_void load_any(const Tuples* tuples, const char* p, Py_ssize_t step, Py_ssize_t n,
                                 Py_ssize_t size, int64_t* values) noexcept nogil:
    cdef Py_ssize_t i
    cdef uint64_t value
    if tuples.kind == c'i':
        if tuples.width == 8:
            load(<int64_t*>NULL, p, step, n, tuples.swapped, values)
        elif tuples.width == 4:
            load(<int32_t*>NULL, p, step, n, tuples.swapped, values)
        elif tuples.width == 2:
            load(<int16_t*>NULL, p, step, n, tuples.swapped, values)
        else:
            load(<int8_t*>NULL, p, step, n, tuples.swapped, values)
    elif tuples.width == 8:
        load(<uint64_t*>NULL, p, step, n, tuples.swapped, values)
        for i in range(n):
            value = <uint64_t>values[i]
            if value > <uint64_t>INT64_MAX:  # would be negative as int64; it is past the end of any axis
                values[i] = <int64_t>(value % <uint64_t>size) if tuples.mode == WRAP and size else INT64_MAX
    elif tuples.width == 4:
        load(<uint32_t*>NULL, p, step, n, tuples.swapped, values)
    elif tuples.width == 2:
        load(<uint16_t*>NULL, p, step, n, tuples.swapped, values)
    else:
        load(<uint8_t*>NULL, p, step, n, tuples.swapped, values)


@cython.cdivision(True)
cdef inline inline_void resolve_axis(Mode mode, const int64_t* values, Py_ssize_t n, int64_t size, int64_t wrap,
                                     int64_t stride, bint is_first, int64_t start, int64_t start_step,
                                     int64_t* offsets, uint64_t* out_of_bounds) noexcept nogil:
    """Apply negatives and mode to the indices of one axis, and add them to the offsets.

    is_first: initialise the offsets with start + i × start_step; values may then be the same memory as offsets.
    """
    cdef Py_ssize_t i
    cdef int64_t value
    cdef uint64_t outside = 0
    if mode == RAISE or (size == 0 and mode != SKIP):  # CLIP and WRAP raise on an axis of size 0
        for i in range(n):
            value = values[i]
            value += (value >> 63) & wrap
            outside |= <uint64_t>value >= <uint64_t>size
            offsets[i] = <int64_t>(<uint64_t>(start + i * start_step if is_first else offsets[i])
                                   + <uint64_t>value * <uint64_t>stride)
        out_of_bounds[0] |= outside
    elif mode == CLIP:
        for i in range(n):
            value = values[i]
            value += (value >> 63) & wrap
            value = 0 if value < 0 else value
            value = size - 1 if value >= size else value
            offsets[i] = (start + i * start_step if is_first else offsets[i]) + value * stride
    elif mode == WRAP:
        for i in range(n):
            value = values[i]
            value += (value >> 63) & wrap
            if <uint64_t>value >= <uint64_t>size:  # rarely; avoids the slow division
                value = value % size
                value += (value >> 63) & size
            offsets[i] = (start + i * start_step if is_first else offsets[i]) + value * stride
    else:
        for i in range(n):
            value = values[i]
            value += (value >> 63) & wrap
            if <uint64_t>value >= <uint64_t>size or (not is_first and offsets[i] == SKIPPED):
                offsets[i] = SKIPPED
            else:
                offsets[i] = (start + i * start_step if is_first else offsets[i]) + value * stride


cdef inline inline_void resolve_trivial(trivial_index_t* kind, int k, const Tuples* tuples, const char* p,
                                        int64_t start, int64_t start_step, Py_ssize_t n, int64_t* offsets,
                                        int64_t* out_of_bounds) noexcept nogil:
    """Load and resolve trivial tuples in one loop. out_of_bounds becomes negative if an index is out of bounds."""
    cdef Py_ssize_t i
    cdef const trivial_index_t* index = <const trivial_index_t*>p
    cdef int64_t value, offset, outside = 0
    cdef int64_t size0 = tuples.size[0], wrap0 = tuples.wrap[0], stride0 = tuples.stride[0]
    cdef int64_t size = tuples.size[k - 1], wrap = tuples.wrap[k - 1]
    cdef int shift = tuples.shift
    for i in range(n):
        offset = start + i * start_step if start_step else start
        if k == 2:
            value = <int64_t>index[2 * i]
            value += (value >> 63) & wrap0
            outside |= value | (size0 - 1 - value)
            offset += value * stride0
        value = <int64_t>index[i * k + k - 1]
        value += (value >> 63) & wrap
        outside |= value | (size - 1 - value)
        offsets[i] = offset + (value << shift)
    out_of_bounds[0] |= outside


cdef inline cloned_void resolve_strided(const Tuples* tuples, const char* p, Py_ssize_t step, int64_t start,
                                        int64_t start_step, Py_ssize_t n, int64_t* offsets,
                                        uint64_t* out_of_bounds) noexcept nogil:
    """Offsets of n tuples, step bytes apart at p; if k > 1, at most BLOCK. Tuple i adds start + i × start_step."""
    cdef int64_t values[BLOCK]
    cdef int64_t outside = 0
    cdef Py_ssize_t i
    cdef int j
    if tuples.k == 0:
        for i in range(n):
            offsets[i] = start + i * start_step
        return
    if are_trivial(tuples, p, step):
        if tuples.width == 8 and tuples.k == 1:
            resolve_trivial(<int64_t*>NULL, 1, tuples, p, start, start_step, n, offsets, &outside)
        elif tuples.width == 8:
            resolve_trivial(<int64_t*>NULL, 2, tuples, p, start, start_step, n, offsets, &outside)
        elif tuples.k == 1:
            resolve_trivial(<int32_t*>NULL, 1, tuples, p, start, start_step, n, offsets, &outside)
        else:
            resolve_trivial(<int32_t*>NULL, 2, tuples, p, start, start_step, n, offsets, &outside)
        out_of_bounds[0] |= outside < 0
        return
    # Indices are loaded into the offsets' memory: a private copy, which no other thread can change.
    load_any(tuples, p, step, n, tuples.size[0], offsets)
    resolve_axis(tuples.mode, offsets, n, tuples.size[0], tuples.wrap[0], tuples.stride[0], True, start, start_step,
                 offsets, out_of_bounds)
    for j in range(1, tuples.k):
        load_any(tuples, p + j * tuples.component_stride, step, n, tuples.size[j], values)
        resolve_axis(tuples.mode, values, n, tuples.size[j], tuples.wrap[j], tuples.stride[j], False, 0, 0, offsets,
                     out_of_bounds)


cdef inline Py_ssize_t first_bad(const Tuples* tuples, const char* p, Py_ssize_t step, Py_ssize_t n) noexcept nogil:
    """Position of the first index out of bounds, tuple × k + component; 0 if another thread has changed it."""
    cdef Tuples single
    cdef Py_ssize_t i
    cdef int j
    cdef int64_t offset
    cdef uint64_t out_of_bounds = 0
    single.kind = tuples.kind
    single.width = tuples.width
    single.swapped = tuples.swapped
    single.mode = tuples.mode
    single.k = 1
    single.trivial = False
    single.prefetches = False
    single.stride[0] = 0
    for i in range(n):
        for j in range(tuples.k):
            single.size[0] = tuples.size[j]
            single.wrap[0] = tuples.wrap[j]
            resolve_strided(&single, p + i * step + j * tuples.component_stride, step, 0, 0, 1, &offset,
                            &out_of_bounds)
            if out_of_bounds:
                return i * tuples.k + j
    return 0


cdef inline void resolve_block(const Tuples* tuples, const Walk* walk, Cursor* cursor, Py_ssize_t n,
                               bint to_run_end, int64_t* offsets, Py_ssize_t* done) noexcept nogil:
    """Resolve up to n ≤ BLOCK tuples from the cursor on, and advance the cursor.

    to_run_end: stop at the end of the innermost axis. done: the number of offsets; or, if an index is out of bounds
    in a mode that raises, -1 - (position of the first such index, relative to the block).
    """
    cdef int inner = walk.n_dims - 1
    cdef Py_ssize_t step = walk.stride[inner][INDICES]
    cdef Py_ssize_t run
    cdef uint64_t out_of_bounds = 0
    cdef const char* p
    done[0] = 0
    while done[0] < n:
        run = min(walk.shape[inner] - cursor.coordinate[inner], n - done[0])
        p = tuples.base + cursor.offset[INDICES]
        if tuples.prefetches and 0 < step <= CACHE_LINE:
            prefetch_stream(p, run * step)
        resolve_strided(tuples, p, step, cursor.offset[DATA], walk.stride[inner][DATA], run, offsets + done[0],
                        &out_of_bounds)
        if out_of_bounds:
            done[0] = -1 - (done[0] * tuples.k + first_bad(tuples, p, step, run))
            return
        advance(walk, run, cursor)
        done[0] += run
        if to_run_end:
            return
