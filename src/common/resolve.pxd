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

from common.arrays cimport Arrays, Component, array_at, array_stride, distance
from common.codes cimport CLIP, RAISE, SKIP, WRAP, Mode
from common.items cimport CACHE_LINE, inline_void, prefetch_stream
from common.walk cimport DATA, INDICES, MAX_DIMS, Cursor, Walk, advance

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

ctypedef fused simple_index_t:
    int32_t
    int64_t

cdef enum:
    MIN_STREAM = 1024  # tuples from which indices and updates, or items at indices far from each other, are prefetched
    BLOCK = 128  # tuples: few enough that out-of-order execution loads the next block while this one is moved

cdef struct Tuples:
    Arrays* arrays   # NULL, unless the components are in arrays that differ in dtype or strides; kind is 0 then
    const char* base
    char kind        # of NumPy's dtype: 'i' or 'u'
    int width        # bytes of an index
    bint swapped     # not in native byte order
    Mode mode
    int k
    bint simple      # see find_simple
    bint shifts      # simple, mode RAISE, and the last stride is
    int shift        # 1 << shift
    bint prefetches  # indices and updates: see prefetch_stream
    Py_ssize_t component_stride
    Py_ssize_t size[MAX_DIMS]    # of the k axes of data that the tuple indexes
    Py_ssize_t wrap[MAX_DIMS]    # added to a negative index: size, or 0 if negative indices are out of bounds
    Py_ssize_t stride[MAX_DIMS]


cdef inline void find_simple(Tuples* tuples) noexcept nogil:
    """Set simple, shifts and shift. Simple: one index, or two, of int64 or int32 in native byte order.

    Two are side by side, or in two arrays.
    """
    tuples.simple = (not tuples.swapped and tuples.kind == c'i' and (tuples.width == 8 or tuples.width == 4)
                     and (tuples.k == 1 or (tuples.k == 2 and tuples.component_stride & (tuples.width - 1) == 0)))
    tuples.shift = 0
    tuples.shifts = tuples.simple and tuples.mode == RAISE
    if tuples.shifts:
        while tuples.shift < 62 and (<int64_t>1 << tuples.shift) < tuples.stride[tuples.k - 1]:
            tuples.shift += 1
        tuples.shifts = (<int64_t>1 << tuples.shift) == tuples.stride[tuples.k - 1]


cdef inline bint are_simple(const Tuples* tuples, const char* p, Py_ssize_t step) noexcept nogil:
    """Whether the tuples at p, step bytes apart, are simple, and contiguous and aligned besides."""
    return (tuples.simple and <uintptr_t>p & (tuples.width - 1) == 0
            and (step == tuples.width
                 or (tuples.k == 2 and step == 2 * tuples.width and tuples.component_stride == tuples.width)))


cdef inline bint can_fail(const Tuples* tuples) noexcept nogil:
    """Whether an index may be out of bounds; not so in the modes other than RAISE, unless an axis is empty."""
    cdef int j
    for j in range(tuples.k):
        if tuples.size[j] == 0 and tuples.mode != SKIP:
            return True
    return tuples.mode == RAISE


# Load: one component of the tuples, widened to int64. A parameter `type` selects the specialisation of a fused type.

cdef inline inline_void load_strided(index_t* type, const char* p, Py_ssize_t step, Py_ssize_t n,
                                     int64_t* values) noexcept nogil:
    cdef Py_ssize_t i
    cdef index_t value
    for i in range(n):
        memcpy(&value, p + i * step, sizeof(index_t))
        values[i] = <int64_t>value


cdef inline inline_void load_swapped(index_t* type, const char* p, Py_ssize_t step, Py_ssize_t n,
                                     int64_t* values) noexcept nogil:
    cdef Py_ssize_t i
    cdef size_t byte
    cdef index_t value
    for i in range(n):
        for byte in range(sizeof(index_t)):
            (<char*>&value)[byte] = p[i * step + <Py_ssize_t>(sizeof(index_t) - 1 - byte)]
        values[i] = <int64_t>value


cdef inline inline_void load(index_t* type, const char* p, Py_ssize_t step, Py_ssize_t n, bint swapped,
                             int64_t* values) noexcept nogil:
    if swapped:
        load_swapped(type, p, step, n, values)
    # A constant stride lets the compiler vectorise. Pairs and triples have one for the common dtypes only.
    elif step == sizeof(index_t):
        load_strided(type, p, sizeof(index_t), n, values)
    elif (index_t is int64_t or index_t is int32_t) and step == 2 * sizeof(index_t):
        load_strided(type, p, 2 * sizeof(index_t), n, values)
    elif (index_t is int64_t or index_t is int32_t) and step == 3 * sizeof(index_t):
        load_strided(type, p, 3 * sizeof(index_t), n, values)
    else:
        load_strided(type, p, step, n, values)


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
cdef inline inline_void resolve_axis(Mode mode, int64_t* values, Py_ssize_t n, int64_t size, int64_t wrap,
                                     int64_t stride, bint is_first, int64_t start, int64_t start_step,
                                     int64_t* offsets, uint64_t* out_of_bounds) noexcept nogil:
    """Apply negatives and mode to the indices of one axis, and add them to the offsets.

    is_first: initialise the offsets with start + i × start_step; values may then be the same memory as offsets.
    values: changed.
    """
    cdef Py_ssize_t i
    cdef int64_t value, offset
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
            value += (value >> 63) & size
            value -= size if value >= size else 0
            values[i] = value
            outside |= <uint64_t>value >= <uint64_t>size
        if outside:
            for i in range(n):
                value = values[i]
                if <uint64_t>value >= <uint64_t>size:  # rarely; avoids the slow division
                    value = value % size
                    values[i] = value + ((value >> 63) & size)
        for i in range(n):
            offsets[i] = (start + i * start_step if is_first else offsets[i]) + values[i] * stride
    else:
        for i in range(n):
            value = values[i]
            value += (value >> 63) & wrap
            offset = <int64_t>(<uint64_t>(start + i * start_step if is_first else offsets[i])
                               + <uint64_t>value * <uint64_t>stride)
            offset = SKIPPED if <uint64_t>value >= <uint64_t>size else offset
            offsets[i] = offset if is_first or offsets[i] != SKIPPED else SKIPPED


cdef inline inline_void resolve_loop(simple_index_t* type, int k, int step, bint shifts, bint skips,
                                      const Tuples* tuples, const char* p, int64_t start, int64_t start_step,
                                      Py_ssize_t n, int64_t* offsets, int64_t* out_of_bounds) noexcept nogil:
    """Load and resolve simple tuples in one loop. out_of_bounds becomes negative if an index is out of bounds.

    step: from an index to the next one of its axis, in indices: 2 if pairs stand side by side, 1 for two arrays.
    shifts: as in Tuples. skips: mode SKIP; otherwise RAISE.
    """
    cdef Py_ssize_t i
    cdef const simple_index_t* index = <const simple_index_t*>p
    cdef const simple_index_t* second = <const simple_index_t*>(<uintptr_t>p + <uintptr_t>tuples.component_stride)
    cdef int64_t value, offset, outside = 0
    cdef int64_t size0 = tuples.size[0], wrap0 = tuples.wrap[0], stride0 = tuples.stride[0]
    cdef int64_t size = tuples.size[k - 1], wrap = tuples.wrap[k - 1]
    cdef int64_t stride = tuples.stride[k - 1]
    cdef int shift = tuples.shift
    for i in range(n):
        offset = start
        start += start_step  # a product would take longer
        if skips:
            outside = 0
        if k == 2:
            value = <int64_t>index[i * step]
            value += (value >> 63) & wrap0
            outside |= value | (size0 - 1 - value)
            offset += value * stride0
        # Compilers vectorise a pair as one access only if both addresses are of one pointer.
        value = <int64_t>(second[i] if k == 2 and step == 1 else index[i * step + k - 1])
        value += (value >> 63) & wrap
        outside |= value | (size - 1 - value)
        offset += value << shift if shifts else value * stride
        if skips:
            offset = SKIPPED if outside < 0 else offset
        offsets[i] = offset
    if not skips:
        out_of_bounds[0] |= outside


cdef inline inline_void resolve_layout(simple_index_t* type, bint shifts, bint skips, const Tuples* tuples,
                                          const char* p, Py_ssize_t step, int64_t start, int64_t start_step,
                                          Py_ssize_t n, int64_t* offsets, int64_t* out_of_bounds) noexcept nogil:
    if tuples.k == 1:
        resolve_loop(type, 1, 1, shifts, skips, tuples, p, start, start_step, n, offsets, out_of_bounds)
    elif step == 2 * sizeof(simple_index_t):
        resolve_loop(type, 2, 2, shifts, skips, tuples, p, start, start_step, n, offsets, out_of_bounds)
    else:
        resolve_loop(type, 2, 1, shifts, skips, tuples, p, start, start_step, n, offsets, out_of_bounds)


cdef inline inline_void resolve_simple(simple_index_t* type, const Tuples* tuples, const char* p, Py_ssize_t step,
                                       int64_t start, int64_t start_step, Py_ssize_t n, int64_t* offsets,
                                       int64_t* out_of_bounds) noexcept nogil:
    if tuples.mode == SKIP:
        resolve_layout(type, False, True, tuples, p, step, start, start_step, n, offsets, out_of_bounds)
    elif tuples.shifts:
        resolve_layout(type, True, False, tuples, p, step, start, start_step, n, offsets, out_of_bounds)
    else:
        resolve_layout(type, False, False, tuples, p, step, start, start_step, n, offsets, out_of_bounds)


cdef inline inline_void prefetch_tuples(const Tuples* tuples, const char* p, Py_ssize_t step,
                                        Py_ssize_t n) noexcept nogil:
    """Prefetch what follows n tuples at p, step bytes apart. Two arrays are two streams."""
    prefetch_stream(p, n * step)
    if tuples.k == 2 and tuples.component_stride != tuples.width:
        prefetch_stream(<const char*>(<uintptr_t>p + <uintptr_t>tuples.component_stride), n * step)


cdef inline void resolve_strided(const Tuples* tuples, const char* p, Py_ssize_t step, int64_t start,
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
    if (tuples.mode == RAISE or tuples.mode == SKIP) and are_simple(tuples, p, step):
        if tuples.width == 8:
            resolve_simple(<int64_t*>NULL, tuples, p, step, start, start_step, n, offsets, &outside)
        else:
            resolve_simple(<int32_t*>NULL, tuples, p, step, start, start_step, n, offsets, &outside)
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


cdef inline void add_component(const Tuples* component, const char* p, Py_ssize_t step, Py_ssize_t n,
                               int64_t* offsets, uint64_t* out_of_bounds) noexcept nogil:
    """Add the offsets of n ≤ BLOCK indices of one component, step bytes apart at p."""
    cdef int64_t values[BLOCK]
    load_any(component, p, step, n, component.size[0], values)
    resolve_axis(component.mode, values, n, component.size[0], component.wrap[0], component.stride[0], False, 0, 0,
                 offsets, out_of_bounds)


# Kind ARRAYS, if the arrays differ in dtype or strides: run by run along the innermost axis of the walk.

cdef struct Run:
    int64_t start               # what each offset has in common; SKIPPED: all tuples of the run are skipped
    int n_varying               # components that are not constant along the run
    int varying[MAX_DIMS]
    Tuples along                # the first of them; the first two if they are alike; none if there is none
    const char* p
    Py_ssize_t step


cdef inline void take_component(const Tuples* tuples, int j, Tuples* one) noexcept nogil:
    """Array j as tuples of one index; find_simple is still to be called."""
    cdef const Component* component = &tuples.arrays.component[j]
    one.arrays = NULL
    one.kind = component.kind
    one.width = component.width
    one.swapped = component.swapped
    one.mode = tuples.mode
    one.k = 1
    one.simple = one.shifts = False
    one.prefetches = False
    one.component_stride = 0
    one.size[0] = tuples.size[j]
    one.wrap[0] = tuples.wrap[j]
    one.stride[0] = tuples.stride[j]


cdef inline void resolve_constant(const Tuples* tuples, int j, const char* p, int64_t* offset,
                                  uint64_t* out_of_bounds) noexcept nogil:
    """Resolve one index of array j."""
    cdef Tuples one  # never in memory: load_any is inlined
    one.kind = tuples.arrays.component[j].kind
    one.width = tuples.arrays.component[j].width
    one.swapped = tuples.arrays.component[j].swapped
    one.mode = tuples.mode
    load_any(&one, p, 0, 1, tuples.size[j], offset)
    resolve_axis(tuples.mode, offset, 1, tuples.size[j], tuples.wrap[j], tuples.stride[j], True, 0, 0, offset,
                 out_of_bounds)


cdef inline bint take_second(const Tuples* tuples, const Walk* walk, const Cursor* cursor, int j,
                             Run* run) noexcept nogil:
    """Add array j to the first one of a run. False: they are not alike."""
    cdef const Component* component = &tuples.arrays.component[j]
    if (component.kind != run.along.kind or component.width != run.along.width
            or component.swapped != run.along.swapped
            or array_stride(tuples.arrays, walk.n_dims - 1, j) != run.step):
        return False
    run.along.k = 2
    run.along.component_stride = distance(run.p, array_at(tuples.arrays, walk, cursor, j))
    run.along.size[1] = tuples.size[j]
    run.along.wrap[1] = tuples.wrap[j]
    run.along.stride[1] = tuples.stride[j]
    return True


cdef inline void start_run(const Tuples* tuples, const Walk* walk, const Cursor* cursor, Run* run,
                           uint64_t* out_of_bounds) noexcept nogil:
    """Describe the run at the cursor, and resolve the components that are constant along it."""
    cdef const Arrays* arrays = tuples.arrays
    cdef int inner = walk.n_dims - 1
    cdef int j
    cdef int64_t offset
    run.start = cursor.offset[DATA]
    run.n_varying = 0
    for j in range(tuples.k):
        if array_stride(arrays, inner, j) != 0:
            run.varying[run.n_varying] = j
            run.n_varying += 1
            continue
        resolve_constant(tuples, j, array_at(arrays, walk, cursor, j), &offset, out_of_bounds)
        if out_of_bounds[0]:
            return
        if offset == SKIPPED:
            run.start = SKIPPED
            return
        run.start += offset
    if run.n_varying == 0:
        run.along.k = 0
        return
    j = run.varying[0]
    take_component(tuples, j, &run.along)
    run.p = array_at(arrays, walk, cursor, j)
    run.step = array_stride(arrays, inner, j)
    if run.n_varying == 2:
        take_second(tuples, walk, cursor, run.varying[1], run)
    find_simple(&run.along)


cdef inline void resolve_run(const Tuples* tuples, const Walk* walk, const Cursor* cursor, Py_ssize_t n,
                             int64_t* offsets, uint64_t* out_of_bounds) noexcept nogil:
    """Resolve n ≤ BLOCK tuples along the innermost axis."""
    cdef const Arrays* arrays = tuples.arrays
    cdef int inner = walk.n_dims - 1
    cdef Run run
    cdef Tuples one
    cdef Py_ssize_t i, step
    start_run(tuples, walk, cursor, &run, out_of_bounds)
    if out_of_bounds[0]:
        return
    if run.start == SKIPPED:
        for i in range(n):
            offsets[i] = SKIPPED
        return
    if tuples.prefetches:
        for i in range(run.n_varying):
            step = array_stride(arrays, inner, run.varying[i])
            if 0 < step <= CACHE_LINE:
                prefetch_stream(array_at(arrays, walk, cursor, run.varying[i]), n * step)
    resolve_strided(&run.along, run.p, run.step, run.start, walk.stride[inner][DATA], n, offsets, out_of_bounds)
    for i in range(run.along.k, run.n_varying):
        take_component(tuples, run.varying[i], &one)
        add_component(&one, array_at(arrays, walk, cursor, run.varying[i]),
                      array_stride(arrays, inner, run.varying[i]), n, offsets, out_of_bounds)


cdef inline Py_ssize_t first_bad(const Tuples* tuples, const Walk* walk, const Cursor* cursor,
                                 Py_ssize_t n) noexcept nogil:
    """Find the first index out of bounds in n tuples along the innermost axis.

    Its position is tuple × k + component; 0 if another thread has changed it.
    """
    cdef int inner = walk.n_dims - 1
    cdef Tuples single
    cdef Py_ssize_t i, step
    cdef int j
    cdef int64_t offset
    cdef uint64_t out_of_bounds = 0
    cdef const char* p
    single.kind = tuples.kind
    single.width = tuples.width
    single.swapped = tuples.swapped
    single.mode = tuples.mode
    single.k = 1
    single.simple = single.shifts = False
    single.prefetches = False
    single.stride[0] = 0
    for i in range(n):
        for j in range(tuples.k):
            if tuples.arrays != NULL:
                take_component(tuples, j, &single)
                p = array_at(tuples.arrays, walk, cursor, j)
                step = array_stride(tuples.arrays, inner, j)
            else:
                p = <const char*>(<uintptr_t>(tuples.base + cursor.offset[INDICES])
                                  + <uintptr_t>(j * tuples.component_stride))
                step = walk.stride[inner][INDICES]
            single.size[0] = tuples.size[j]
            single.wrap[0] = tuples.wrap[j]
            resolve_strided(&single, p + i * step, step, 0, 0, 1, &offset, &out_of_bounds)
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
        if tuples.arrays != NULL:
            resolve_run(tuples, walk, cursor, run, offsets + done[0], &out_of_bounds)
        else:
            p = tuples.base + cursor.offset[INDICES]
            if tuples.prefetches and 0 < step <= CACHE_LINE:
                prefetch_tuples(tuples, p, step, run)
            resolve_strided(tuples, p, step, cursor.offset[DATA], walk.stride[inner][DATA], run, offsets + done[0],
                            &out_of_bounds)
        if out_of_bounds:
            done[0] = -1 - (done[0] * tuples.k + first_bad(tuples, walk, cursor, run))
            return
        advance(walk, run, cursor)
        done[0] += run
        if to_run_end:
            return
