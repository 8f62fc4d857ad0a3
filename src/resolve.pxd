# Step 2 of every operator: a block of index tuples becomes a block of byte offsets into data.
#
#   indices ── load ──> values of one tuple position, as int64, on the stack
#                         │ place: negatives, mode, bounds; times the axis' stride, added to
#                         v
#                       offsets of the block, on the stack, moved while they lie in L1
#
# Each index is read from memory once, so another thread that writes to the index array meanwhile can change
# the answer but can't move an access out of bounds.
cimport cython
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.stdint cimport INT64_MAX

cdef extern from "<stdint.h>":
    const int64_t SKIPPED "INT64_MIN"  # the offset of a tuple that names nothing

from libc.string cimport memcpy
cimport numpy as cnp
from items cimport cloned_void, index_t, inline_void

cdef enum:
    MAX_DIMS = 64  # NumPy's
    BLOCK = 128    # tuples: few enough for the core to load the next block's indices while it moves this one's rows

cdef enum Mode:
    RAISE = 0
    CLIP = 1
    WRAP = 2
    SKIP = 3  # gathers fill, scatters drop

cdef enum:
    OK = -1
    # What a kernel answers besides OK and the place of a bad index (tuple × k + position in the tuple).
    INDEX_DTYPE = -2
    REFERENCES = -3

# Axes walked together, outermost first, neighbours merged where every operand's strides allow it.
# Operands of the tuple walk: indices, data (batch axes; 0 along the others), and the array beside (out).
cdef enum:
    INDICES = 0
    DATA = 1
    BESIDE = 2
    N_OPERANDS = 3

cdef struct Walk:
    int n_dims
    Py_ssize_t n  # positions in all
    Py_ssize_t shape[MAX_DIMS]
    Py_ssize_t stride[MAX_DIMS][N_OPERANDS]

cdef struct Place:
    Py_ssize_t coordinate[MAX_DIMS]
    Py_ssize_t offset[N_OPERANDS]

cdef struct Tuples:
    const char* base
    char kind        # 'i' or 'u'
    int width        # bytes of an index
    bint swapped     # not in the machine's byte order
    Mode mode
    int k
    bint plain       # what is common, and has loops of its own (resolve_plain)
    int shift        # then: the last stride is 1 << shift
    Py_ssize_t component_stride
    Py_ssize_t size[MAX_DIMS]    # of the k axes of data that the tuple indexes
    Py_ssize_t stride[MAX_DIMS]


cdef inline void start_walk(Walk* walk) noexcept nogil:
    walk.n_dims = 0
    walk.n = 1


cdef inline void add_axis(Walk* walk, Py_ssize_t n, Py_ssize_t s0, Py_ssize_t s1, Py_ssize_t s2) noexcept nogil:
    """Put one more axis inside those there are."""
    cdef int last = walk.n_dims - 1
    walk.n *= n
    if n == 1:
        return
    if last >= 0 and (walk.stride[last][0] == n * s0 and walk.stride[last][1] == n * s1
                      and walk.stride[last][2] == n * s2):
        walk.shape[last] *= n
    else:
        last += 1
        walk.n_dims += 1
        walk.shape[last] = n
    walk.stride[last][0] = s0
    walk.stride[last][1] = s1
    walk.stride[last][2] = s2


cdef inline void finish_walk(Walk* walk) noexcept nogil:
    """Leave at least one axis, so that the innermost one always is there to run along."""
    cdef int operand
    if walk.n_dims == 0:
        walk.n_dims = 1
        walk.shape[0] = 1
        for operand in range(N_OPERANDS):
            walk.stride[0][operand] = 0


cdef inline void copy_walk(const Walk* source, Walk* target) noexcept nogil:
    """Copy the axes that are in use: the whole struct is 2 KiB."""
    target.n_dims = source.n_dims
    target.n = source.n
    memcpy(target.shape, source.shape, source.n_dims * sizeof(source.shape[0]))
    memcpy(target.stride, source.stride, source.n_dims * sizeof(source.stride[0]))


cdef inline bint is_linear(const Walk* walk, int operand) noexcept nogil:
    """Whether the operand advances by one stride over the whole walk."""
    cdef int d
    for d in range(walk.n_dims - 1):
        if walk.stride[d][operand] != walk.shape[d + 1] * walk.stride[d + 1][operand]:
            return False
    return True


@cython.cdivision(True)
cdef inline void seek(const Walk* walk, Py_ssize_t position, Place* place) noexcept nogil:
    cdef int d, operand
    cdef Py_ssize_t c
    for operand in range(N_OPERANDS):
        place.offset[operand] = 0
    for d in range(walk.n_dims - 1, -1, -1):
        c = 0
        if position != 0:  # else an axis may have size 0
            c = position % walk.shape[d]
            position = position // walk.shape[d]
        place.coordinate[d] = c
        for operand in range(N_OPERANDS):
            place.offset[operand] += c * walk.stride[d][operand]


cdef inline void advance(const Walk* walk, Py_ssize_t run, Place* place) noexcept nogil:
    """Go run positions on along the innermost axis, at most to its end, and carry."""
    cdef int d = walk.n_dims - 1
    cdef int operand
    place.coordinate[d] += run
    for operand in range(N_OPERANDS):
        place.offset[operand] += run * walk.stride[d][operand]
    while d > 0 and place.coordinate[d] == walk.shape[d]:
        place.coordinate[d] = 0
        place.coordinate[d - 1] += 1
        for operand in range(N_OPERANDS):
            place.offset[operand] += walk.stride[d - 1][operand] - walk.shape[d] * walk.stride[d][operand]
        d -= 1


cdef inline bint read_tuples(Tuples* tuples, cnp.ndarray indices, Mode mode) noexcept:
    """Describe how indices are read. False: their dtype is no integer."""
    tuples.kind = indices.descr.kind
    tuples.base = cnp.PyArray_BYTES(indices)
    tuples.width = <int>cnp.PyArray_ITEMSIZE(indices)
    tuples.swapped = cnp.PyArray_ISBYTESWAPPED(indices)
    tuples.mode = mode
    return tuples.kind == c'i' or tuples.kind == c'u'


cdef inline void find_plain(Tuples* tuples) noexcept nogil:
    """Single indices or pairs of int64 or int32, in bounds or an error, the last into steps of a power of two."""
    tuples.plain = (tuples.mode == RAISE and not tuples.swapped and tuples.kind == c'i'
                    and (tuples.width == 8 or tuples.width == 4)
                    and (tuples.k == 1 or (tuples.k == 2 and tuples.component_stride == tuples.width)))
    tuples.shift = 0
    if tuples.plain:
        while tuples.shift < 62 and (<int64_t>1 << tuples.shift) < tuples.stride[tuples.k - 1]:
            tuples.shift += 1
        tuples.plain = (<int64_t>1 << tuples.shift) == tuples.stride[tuples.k - 1]


cdef inline bint are_plain(const Tuples* tuples, const char* p, Py_ssize_t step) noexcept nogil:
    return tuples.plain and step == tuples.k * tuples.width and <uintptr_t>p % tuples.width == 0


# The three ways in which an operator's indices name places of data.
cdef enum Kind:
    ND = 0        # tuples along the last axis of indices
    AXIS = 1      # single indices into one axis; every slice beyond it is a row
    ELEMENTS = 2  # one index for each element of the result

cdef inline bint describe(Kind kind, cnp.ndarray data, cnp.ndarray indices, cnp.ndarray beside, int axis,
                          int batch_dims, Mode mode, Tuples* tuples, Walk* walk, int* row_axis,
                          int* beside_axis) noexcept:
    """The walk over an operator's tuples. False: the dtype of indices is no integer.

    IN   data: the array that is indexed (a gather's data, a scatter's result); beside: a gather's result, a
         scatter's updates, or None; axis: of AXIS and ELEMENTS, not negative
    OUT  row_axis, beside_axis: the first axis of the rows in data, in beside
    """
    cdef int q = cnp.PyArray_NDIM(indices)
    cdef int n_axes = q - 1 if kind == ND else q + axis - batch_dims if kind == AXIS else q
    cdef int first = batch_dims if kind == ND else axis  # of the axes that are indexed
    cdef int d, i
    cdef Py_ssize_t n, index_stride, data_stride

    if not read_tuples(tuples, indices, mode):
        return False
    tuples.k = <int>cnp.PyArray_DIM(indices, q - 1) if kind == ND else 1
    tuples.component_stride = cnp.PyArray_STRIDE(indices, q - 1) if kind == ND else 0
    for d in range(tuples.k):
        tuples.size[d] = cnp.PyArray_DIM(data, first + d)
        tuples.stride[d] = cnp.PyArray_STRIDE(data, first + d)
    find_plain(tuples)
    start_walk(walk)
    for d in range(n_axes):
        if kind == AXIS and batch_dims <= d < axis:  # between: the same indices for every position
            n = cnp.PyArray_DIM(data, d)
            index_stride = 0
            data_stride = cnp.PyArray_STRIDE(data, d)
        else:
            i = d if kind != AXIS or d < batch_dims else d - axis + batch_dims
            n = cnp.PyArray_DIM(indices, i)
            index_stride = cnp.PyArray_STRIDE(indices, i)
            data_stride = cnp.PyArray_STRIDE(data, d) if (d != axis if kind == ELEMENTS else d < batch_dims) else 0
        add_axis(walk, n, index_stride, data_stride, cnp.PyArray_STRIDE(beside, d) if beside is not None else 0)
    finish_walk(walk)
    row_axis[0] = cnp.PyArray_NDIM(data) if kind == ELEMENTS else first + tuples.k
    beside_axis[0] = n_axes
    return True


cdef inline inline_void load_strided(index_t* kind, const char* p, Py_ssize_t step, Py_ssize_t n,
                                     int64_t* values) noexcept nogil:
    cdef Py_ssize_t i
    cdef index_t value
    for i in range(n):
        memcpy(&value, p + i * step, sizeof(index_t))
        values[i] = <int64_t>value


cdef inline inline_void load(index_t* kind, const char* p, Py_ssize_t step, Py_ssize_t n, bint swapped,
                             int64_t* values) noexcept nogil:
    """Values of one tuple position, widened on the stack. kind is never read: its type says which dtype."""
    cdef Py_ssize_t i
    cdef size_t byte
    cdef index_t value
    if swapped:
        for i in range(n):
            for byte in range(sizeof(index_t)):
                (<char*>&value)[byte] = p[i * step + <Py_ssize_t>(sizeof(index_t) - 1 - byte)]
            values[i] = <int64_t>value
    # A stride that the compiler knows is what it makes vectors of.
    elif step == sizeof(index_t):
        load_strided(kind, p, sizeof(index_t), n, values)
    elif step == 2 * sizeof(index_t):
        load_strided(kind, p, 2 * sizeof(index_t), n, values)
    elif step == 3 * sizeof(index_t):
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
            if value > <uint64_t>INT64_MAX:  # past the end of any axis, and not negative
                values[i] = <int64_t>(value % <uint64_t>size) if tuples.mode == WRAP and size else INT64_MAX
    elif tuples.width == 4:
        load(<uint32_t*>NULL, p, step, n, tuples.swapped, values)
    elif tuples.width == 2:
        load(<uint16_t*>NULL, p, step, n, tuples.swapped, values)
    else:
        load(<uint8_t*>NULL, p, step, n, tuples.swapped, values)


@cython.cdivision(True)
cdef inline inline_void place(Mode mode, const int64_t* values, Py_ssize_t n, int64_t size, int64_t stride,
                              bint first, int64_t start, int64_t start_step, int64_t* offsets,
                              uint64_t* bad) noexcept nogil:
    """Add one axis to the offsets: the one home of what a negative index and each mode mean.

    first: the offsets are to be started at start + i × start_step; values may then be the offsets' own memory.
    """
    cdef Py_ssize_t i
    cdef int64_t value
    cdef uint64_t outside = 0
    if mode == RAISE or (size == 0 and mode != SKIP):  # an empty axis has no end to clip or wrap to
        for i in range(n):
            value = values[i]
            value += (value >> 63) & size
            outside |= <uint64_t>value >= <uint64_t>size
            offsets[i] = <int64_t>(<uint64_t>(start + i * start_step if first else offsets[i])
                                   + <uint64_t>value * <uint64_t>stride)
        bad[0] |= outside
    elif mode == CLIP:
        for i in range(n):
            value = values[i]
            value += (value >> 63) & size
            value = 0 if value < 0 else value
            value = size - 1 if value >= size else value
            offsets[i] = (start + i * start_step if first else offsets[i]) + value * stride
    elif mode == WRAP:
        for i in range(n):
            value = values[i]
            value += (value >> 63) & size
            if <uint64_t>value >= <uint64_t>size:  # rare, and a division is slow
                value = value % size
                value += (value >> 63) & size
            offsets[i] = (start + i * start_step if first else offsets[i]) + value * stride
    else:
        for i in range(n):
            value = values[i]
            value += (value >> 63) & size
            if <uint64_t>value >= <uint64_t>size or (not first and offsets[i] == SKIPPED):
                offsets[i] = SKIPPED
            else:
                offsets[i] = (start + i * start_step if first else offsets[i]) + value * stride


cdef inline inline_void resolve_plain(index_t* kind, int k, const Tuples* tuples, const char* p, int64_t start,
                                      int64_t start_step, Py_ssize_t n, int64_t* offsets,
                                      int64_t* outside) noexcept nogil:
    """Plain tuples: load and place in one loop. outside: negative once an index is out of bounds."""
    cdef Py_ssize_t i
    cdef const index_t* index = <const index_t*>p
    cdef int64_t value, offset, wrong = 0
    cdef int64_t first = tuples.size[0], last = tuples.size[k - 1], stride = tuples.stride[0]
    cdef int shift = tuples.shift
    for i in range(n):
        offset = start + i * start_step if start_step else start
        if k == 2:
            value = <int64_t>index[2 * i]
            value += (value >> 63) & first
            wrong |= value | (first - 1 - value)
            offset += value * stride
        value = <int64_t>index[i * k + k - 1]
        value += (value >> 63) & last
        wrong |= value | (last - 1 - value)
        offsets[i] = offset + (value << shift)
    outside[0] |= wrong


cdef inline cloned_void resolve(const Tuples* tuples, const char* p, Py_ssize_t step, int64_t start,
                                int64_t start_step, Py_ssize_t n, int64_t* offsets, uint64_t* bad) noexcept nogil:
    """Offsets of n ≤ BLOCK tuples that lie step bytes apart, the first of them start bytes into data."""
    cdef int64_t values[BLOCK]
    cdef int64_t outside = 0
    cdef Py_ssize_t i
    cdef int j
    if tuples.k == 0:
        for i in range(n):
            offsets[i] = start + i * start_step
        return
    if are_plain(tuples, p, step):
        if tuples.width == 8 and tuples.k == 1:
            resolve_plain(<int64_t*>NULL, 1, tuples, p, start, start_step, n, offsets, &outside)
        elif tuples.width == 8:
            resolve_plain(<int64_t*>NULL, 2, tuples, p, start, start_step, n, offsets, &outside)
        elif tuples.k == 1:
            resolve_plain(<int32_t*>NULL, 1, tuples, p, start, start_step, n, offsets, &outside)
        else:
            resolve_plain(<int32_t*>NULL, 2, tuples, p, start, start_step, n, offsets, &outside)
        bad[0] |= outside < 0
        return
    # Into the offsets' own memory: a copy of the indices that no other thread can write to.
    load_any(tuples, p, step, n, tuples.size[0], offsets)
    place(tuples.mode, offsets, n, tuples.size[0], tuples.stride[0], True, start, start_step, offsets, bad)
    for j in range(1, tuples.k):
        load_any(tuples, p + j * tuples.component_stride, step, n, tuples.size[j], values)
        place(tuples.mode, values, n, tuples.size[j], tuples.stride[j], False, 0, 0, offsets, bad)


cdef inline Py_ssize_t first_bad(const Tuples* tuples, const char* p, Py_ssize_t step, Py_ssize_t n) noexcept nogil:
    """Place of the first index out of bounds, tuple × k + position; 0 if the array was changed meanwhile."""
    cdef Py_ssize_t i
    cdef int j
    cdef int64_t value, offset
    cdef uint64_t bad = 0
    for i in range(n):
        for j in range(tuples.k):
            load_any(tuples, p + i * step + j * tuples.component_stride, step, 1, tuples.size[j], &value)
            place(tuples.mode, &value, 1, tuples.size[j], 0, True, 0, 0, &offset, &bad)
            if bad:
                return i * tuples.k + j
    return 0


cdef inline void resolve_block(const Tuples* tuples, const Walk* walk, Place* at, Py_ssize_t n,
                               bint to_run_end, int64_t* offsets, Py_ssize_t* done) noexcept nogil:
    """Offsets of up to n ≤ BLOCK tuples from `at`, which goes on past them.

    Over the ends of runs, or only to the end of this one. done: how many; or, if a mode that raises met an index
    that is out of bounds, -1 - (place of the first one, counted from the block's first value).
    """
    cdef int inner = walk.n_dims - 1
    cdef Py_ssize_t step = walk.stride[inner][INDICES]
    cdef Py_ssize_t run
    cdef uint64_t bad = 0
    cdef const char* p
    done[0] = 0
    while done[0] < n:
        run = min(walk.shape[inner] - at.coordinate[inner], n - done[0])
        p = tuples.base + at.offset[INDICES]
        resolve(tuples, p, step, at.offset[DATA], walk.stride[inner][DATA], run, offsets + done[0], &bad)
        if bad:
            done[0] = -1 - (done[0] * tuples.k + first_bad(tuples, p, step, run))
            return
        advance(walk, run, at)
        done[0] += run
        if to_run_end:
            return
