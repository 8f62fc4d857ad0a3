# cython: cdivision=True
# Order statistics of segments: quantiles, medians, numbers of distinct values, and the order of the elements.
#
# The elements of a line, which is a column of a unit, are copied as keys to where their segments are, by counting sort.
# Then those of each segment are sorted or selected. Threads share out lines or, if there are few, the steps of a line.
from cython.parallel cimport prange, threadid
from libc.math cimport ceil, floor, rint
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset
cimport numpy as cnp

from common.codes cimport NO_MEMORY, OK
from common.interrupts cimport WORK_STEP, Interrupts, is_interrupted
from common.items cimport CACHE_LINE, whole_lines
from common.machine cimport shared
from common.scratch cimport SCRATCH_BYTES, allocate_scratch
from common.threads cimport BRIEF_ELEMENTS, TASKS_PER_THREAD, chunk_start, team_size
from segments.select cimport (
    Numbers, bits_of, key_of, key_t, no_place, partition, rounds_for, select, sort,
)

cdef enum:
    ELEMENT_NS = 12             # nanoseconds, to place an element and to sort or select
    MANY_QUANTILES = 4          # for more, segments are sorted

cdef enum What:
    QUANTILES
    DISTINCT
    ORDER

cdef enum Method:
    LINEAR
    LOWER
    HIGHER
    NEAREST
    MIDPOINT
    MEDIAN

cdef struct Job:
    What what
    Method method
    Numbers numbers
    bint skips                  # NaN does not count
    bint to_real                # quantiles are float64; else they have the bits of an element
    Py_ssize_t n_units, size, columns, n, units_per_batch
    const char* ids             # of a batch: size of them, or n + 1 pointers
    int id_bytes
    bint are_pointers
    char* out
    const double* q             # ascending
    Py_ssize_t n_q
    int64_t least               # elements that a segment needs; fewer have
    uint64_t fill               # these bits
    int* has_few
    Py_ssize_t width            # columns that a thread takes at a time
    bint by_halves              # for tests: pivots that take over after uneven partitions
    Interrupts* interrupts

cdef struct Scratch:
    char* keys                  # (width, size)
    int64_t* places             # the same
    int64_t* starts             # of the segments, and of the elements without one, and the end
    int64_t* cursors            # of each chunk of positions: where the next element of each segment goes

ctypedef fused id_t:
    const int32_t
    const int64_t


# Counting sort

cdef inline int64_t segment_of(int64_t id, int64_t n) noexcept nogil:
    return id if <uint64_t>id < <uint64_t>n else n


cdef inline void count_ids(id_t* ids, Py_ssize_t start, Py_ssize_t stop, int64_t n, int64_t* counts,
                           Interrupts* interrupts) noexcept nogil:
    cdef Py_ssize_t i, end
    memset(counts, 0, (n + 1) * sizeof(int64_t))
    while start < stop and not is_interrupted(interrupts, WORK_STEP):
        end = min(start + WORK_STEP, stop)
        for i in range(start, end):
            counts[segment_of(ids[i], n)] += 1
        start = end


cdef inline void count(const Job* job, Py_ssize_t batch, Py_ssize_t start, Py_ssize_t stop,
                       int64_t* counts) noexcept nogil:
    cdef const char* ids = job.ids + batch * job.size * job.id_bytes
    if job.id_bytes == 4:
        count_ids(<const int32_t*>ids, start, stop, job.n, counts, job.interrupts)
    else:
        count_ids(<const int64_t*>ids, start, stop, job.n, counts, job.interrupts)


cdef inline void find_starts(const Job* job, Py_ssize_t n_chunks, int64_t* counts, int64_t* starts) noexcept nogil:
    """Of the counts of each chunk of positions, which become cursors."""
    cdef Py_ssize_t segment, chunk
    cdef int64_t start = 0, found
    for segment in range(job.n + 1):
        starts[segment] = start
        for chunk in range(n_chunks):
            found = counts[chunk * (job.n + 1) + segment]
            counts[chunk * (job.n + 1) + segment] = start
            start += found
    starts[job.n + 1] = job.size


cdef inline void copy_starts(const Job* job, Py_ssize_t batch, int64_t* cursors, int64_t* starts) noexcept nogil:
    """Of pointers, which another thread may change. cursors: gets the first one."""
    cdef const int64_t* pointers = <const int64_t*>job.ids + batch * (job.n + 1)
    cdef int64_t first = max(<int64_t>0, min(pointers[0], <int64_t>job.size)), pointer
    cdef Py_ssize_t segment
    cursors[0], starts[0] = first, 0
    for segment in range(1, job.n + 1):
        pointer = max(first, min(pointers[segment], <int64_t>job.size))  # before the difference, which could wrap around
        starts[segment] = max(starts[segment - 1], pointer - first)
    starts[job.n + 1] = job.size


cdef inline void place_one(const Job* job, key_t* values, Py_ssize_t position, Py_ssize_t at, key_t* keys,
                           int64_t* places, Py_ssize_t width) noexcept nogil:
    cdef Py_ssize_t j
    keys[at] = key_of(values[position * job.columns], job.numbers)
    for j in range(1, width):
        keys[j * job.size + at] = key_of(values[position * job.columns + j], job.numbers)
    if places != NULL:
        for j in range(width):
            places[j * job.size + at] = position


cdef inline void place_ids(const Job* job, id_t* ids, key_t* values, Py_ssize_t start, Py_ssize_t stop,
                           Scratch* to, key_t* keys, Py_ssize_t width) noexcept nogil:
    cdef int64_t* cursors = to.cursors
    cdef int64_t last = job.size - 1, segment, at
    cdef Py_ssize_t i
    for i in range(start, stop):
        segment = segment_of(ids[i], job.n)
        at = min(cursors[segment], last)  # another thread may have changed the ids since they were counted
        cursors[segment] += 1
        place_one(job, values, i, at, keys, to.places, width)


cdef inline void place(const Job* job, key_t* values, Py_ssize_t unit, Py_ssize_t start, Py_ssize_t stop,
                       Scratch* to, Py_ssize_t width) noexcept nogil:
    """Copy the elements of some positions to where their segments are. values: from the first one of the columns on."""
    cdef const char* ids = job.ids + unit // job.units_per_batch * job.size * job.id_bytes
    cdef key_t* keys = <key_t*>to.keys
    cdef Py_ssize_t i, at, end
    cdef int64_t first = to.cursors[0], last = first + to.starts[job.n]
    while start < stop and not is_interrupted(job.interrupts, 2 * WORK_STEP * width):
        end = min(start + WORK_STEP, stop)
        if job.are_pointers:
            for i in range(start, end):
                at = i - first
                at = at + last if at < 0 else i if i >= last else at
                place_one(job, values, i, at, keys, to.places, width)
        elif job.id_bytes == 4:
            place_ids(job, <const int32_t*>ids, values, start, end, to, keys, width)
        else:
            place_ids(job, <const int64_t*>ids, values, start, end, to, keys, width)
        start = end


# A segment

cdef inline double real_of(key_t key, Numbers numbers) noexcept nogil:
    cdef key_t bits = bits_of(key, numbers)
    cdef float single
    cdef double real
    if key_t is uint32_t:
        if numbers.is_float:
            memcpy(&single, &bits, sizeof(single))
            return single
        return <int32_t>bits if numbers.is_signed else <double>bits
    else:
        if numbers.is_float:
            memcpy(&real, &bits, sizeof(real))
            return real
        return <double><int64_t>bits if numbers.is_signed else <double>bits


cdef inline double interpolated(double a, double b, double weight) noexcept nogil:
    """As numpy.quantile does, but for infinities."""
    if a == b:
        return a
    return b - (b - a) * (1 - weight) if weight >= 0.5 else a + (b - a) * weight


cdef inline void write_quantile(const Job* job, key_t* keys, Py_ssize_t n, Py_ssize_t i, Py_ssize_t* placed,
                                Py_ssize_t at) noexcept nogil:
    """placed: up to which the keys from the last rank on are where sorting puts them."""
    cdef double virtual = job.q[i] * <double>(n - 1), weight = 0.5
    cdef Py_ssize_t low = <Py_ssize_t>floor(virtual), high = low
    cdef int rounds = 0 if job.by_halves else rounds_for(n)
    if job.method == MEDIAN:
        low, high = (n - 1) // 2, n // 2
    elif job.method == NEAREST:
        low = high = <Py_ssize_t>rint(virtual)
    elif job.method == HIGHER:
        low = high = <Py_ssize_t>ceil(virtual)
    elif job.method != LOWER:
        high = <Py_ssize_t>ceil(virtual)
        weight = virtual - <double>low if job.method == LINEAR else 0.5
    if low >= placed[0]:
        placed[0] += select(keys + placed[0], n - placed[0], low - placed[0], rounds, job.interrupts)
    if high >= placed[0]:
        placed[0] += select(keys + placed[0], n - placed[0], high - placed[0], rounds, job.interrupts)
    if not job.to_real:
        (<key_t*>job.out)[at] = bits_of(keys[low], job.numbers)
    elif job.method == MEDIAN and low < high:
        (<double*>job.out)[at] = (real_of(keys[low], job.numbers) + real_of(keys[high], job.numbers)) / 2
    else:
        (<double*>job.out)[at] = interpolated(real_of(keys[low], job.numbers), real_of(keys[high], job.numbers),
                                              weight)


cdef inline void finish_segment(const Job* job, key_t* keys, int64_t* places, Py_ssize_t n,
                                Py_ssize_t at) noexcept nogil:
    """Sort or select the keys of a segment, and write its results. at: the place in a result."""
    cdef key_t nan = <key_t>-1
    cdef no_place* nowhere = NULL
    cdef Py_ssize_t counted = n, i, placed = 0, n_results = job.n_units * job.n * job.columns
    cdef int64_t distinct
    cdef int rounds = 0 if job.by_halves else rounds_for(n)
    if job.what == ORDER:
        sort(keys, places, n, rounds, job.interrupts)
        return
    if job.numbers.has_nan:
        counted = 0
        for i in range(n):
            counted += keys[i] != nan
        if counted < n and job.skips:
            n = partition(keys, nowhere, 0, n, nan, 0)
    if job.what == DISTINCT or (job.n_q > MANY_QUANTILES and counted == n):
        sort(keys, nowhere, n, rounds, job.interrupts)
        placed = n
    if job.what == DISTINCT:
        distinct = n > 0
        for i in range(1, n):
            distinct += keys[i] != keys[i - 1]
        (<int64_t*>job.out)[at] = distinct
        return
    for i in range(job.n_q):
        if n >= job.least and counted == n:
            write_quantile(job, keys, n, i, &placed, i * n_results + at)
        elif n >= job.least and job.to_real:
            (<double*>job.out)[i * n_results + at] = real_of(nan, job.numbers)
        elif job.to_real:
            memcpy(job.out + (i * n_results + at) * sizeof(double), &job.fill, sizeof(double))
        else:
            (<key_t*>job.out)[i * n_results + at] = (
                bits_of(nan, job.numbers) if n >= job.least else <key_t>job.fill
            )
    if n < job.least:
        job.has_few[0] = True


cdef inline void finish(const Job* job, key_t* keys, int64_t* places, const int64_t* starts, Py_ssize_t unit,
                        Py_ssize_t column, Py_ssize_t segment, Py_ssize_t last) noexcept nogil:
    """Finish segments of a column; of ORDER also the elements without one, which are segment n."""
    cdef Py_ssize_t i, at = (unit * job.n + segment) * job.columns + column
    cdef int64_t* out = <int64_t*>job.out + unit * job.size * job.columns + column
    while segment < last and not is_interrupted(job.interrupts, 50):
        if segment < job.n:
            finish_segment(job, keys + starts[segment], places + starts[segment] if places != NULL else NULL,
                           starts[segment + 1] - starts[segment], at)
        if job.what == ORDER and job.columns > 1:
            for i in range(starts[segment], starts[segment + 1]):
                out[i * job.columns] = places[i]
        segment += 1
        at += job.columns


# Who does what

cdef inline Py_ssize_t scratch_bytes(const Job* job, Py_ssize_t n_chunks, Py_ssize_t key_bytes) noexcept nogil:
    """Of a thread, with a cache line more, so that no two write to one."""
    cdef Py_ssize_t n_keys = whole_lines(job.width * job.size * key_bytes) // 8
    cdef Py_ssize_t n_places = job.width * job.size if job.what == ORDER and job.columns > 1 else 0
    return whole_lines((n_keys + n_places + (n_chunks + 1) * (job.n + 1) + 1) * 8) + CACHE_LINE


cdef inline Scratch scratch_of(const Job* job, char* memory, Py_ssize_t thread, Py_ssize_t n_chunks,
                               Py_ssize_t key_bytes) noexcept nogil:
    cdef Scratch scratch
    scratch.keys = memory + thread * scratch_bytes(job, n_chunks, key_bytes)
    scratch.starts = <int64_t*>(scratch.keys + whole_lines(job.width * job.size * key_bytes))
    scratch.cursors = scratch.starts + job.n + 2
    scratch.places = scratch.cursors + n_chunks * (job.n + 1) if job.what == ORDER and job.columns > 1 else NULL
    return scratch


cdef inline void run_block(const Job* job, key_t* values, Py_ssize_t block, char* memory,
                           Py_ssize_t thread) noexcept nogil:
    """All of some columns of a unit."""
    cdef Scratch own = scratch_of(job, memory, thread, 1, sizeof(key_t))
    cdef Py_ssize_t per_unit = (job.columns + job.width - 1) // job.width
    cdef Py_ssize_t unit = block // per_unit, column = block % per_unit * job.width, j, size = job.size
    cdef Py_ssize_t width = min(job.width, job.columns - column), batch = unit // job.units_per_batch
    if job.what == ORDER and job.columns == 1:
        own.places = <int64_t*>job.out + unit * size
    if job.are_pointers:
        copy_starts(job, batch, own.cursors, own.starts)
    else:
        count(job, batch, 0, size, own.cursors)
        find_starts(job, 1, own.cursors, own.starts)
    place(job, values + unit * size * job.columns + column, unit, 0, size, &own, width)
    for j in range(width):
        finish(job, <key_t*>own.keys + j * size, own.places + j * size if own.places != NULL else NULL, own.starts,
               unit, column + j, 0, job.n + 1)


cdef inline Py_ssize_t first_segment(const Job* job, const int64_t* starts, Py_ssize_t part,
                                     Py_ssize_t n) noexcept nogil:
    """Of a part of n that have as many elements and segments each as the others."""
    cdef Py_ssize_t low = 0, high = job.n + 1, middle, least = chunk_start(job.size + job.n + 1, n, part)
    while low < high:
        middle = (low + high) // 2
        if starts[middle] + middle < least:
            low = middle + 1
        else:
            high = middle
    return low if part < n else job.n + 1


cdef inline void place_chunk(const Job* job, key_t* values, Py_ssize_t unit, Py_ssize_t chunk, Py_ssize_t n_chunks,
                             const Scratch* all) noexcept nogil:
    cdef Scratch own = all[0]
    if not job.are_pointers:
        own.cursors += chunk * (job.n + 1)
    place(job, values, unit, chunk_start(job.size, n_chunks, chunk), chunk_start(job.size, n_chunks, chunk + 1), &own,
          1)


cdef inline void run_line(const Job* job, key_t* values, Py_ssize_t line, Scratch* all, Py_ssize_t n_chunks,
                          int team) noexcept nogil:
    """All of a column, by all threads."""
    cdef Py_ssize_t unit = line // job.columns, column = line % job.columns, batch = unit // job.units_per_batch, chunk
    cdef Py_ssize_t size = job.size, n_parts = team * TASKS_PER_THREAD
    cdef Scratch own = all[0]
    if job.what == ORDER and job.columns == 1:
        own.places = <int64_t*>job.out + unit * size
    if job.are_pointers:
        copy_starts(job, batch, own.cursors, own.starts)
    else:
        for chunk in prange(n_chunks, num_threads=team, schedule="static"):
            count(job, batch, chunk_start(size, n_chunks, chunk), chunk_start(size, n_chunks, chunk + 1),
                  own.cursors + chunk * (job.n + 1))
        find_starts(job, n_chunks, own.cursors, own.starts)
    for chunk in prange(n_chunks, num_threads=team, schedule="static"):
        place_chunk(job, values + unit * size * job.columns + column, unit, chunk, n_chunks, &own)
    for chunk in prange(n_parts, num_threads=team, schedule="dynamic", chunksize=1):
        finish(job, <key_t*>own.keys, own.places, own.starts, unit, column,
               first_segment(job, own.starts, chunk, n_parts), first_segment(job, own.starts, chunk + 1, n_parts))


cdef inline void run_blocks(const Job* job, key_t* values, char* memory, int team) noexcept nogil:
    cdef Py_ssize_t n_blocks = job.n_units * ((job.columns + job.width - 1) // job.width), block
    if team == 1:
        for block in range(n_blocks):
            run_block(job, values, block, memory, 0)
    else:
        for block in prange(n_blocks, num_threads=team, schedule="dynamic", chunksize=1):
            run_block(job, values, block, memory, threadid())


cdef inline Py_ssize_t run_job(Job* job, key_t* values, int n_threads):
    cdef Py_ssize_t n_lines = job.n_units * job.columns, line, n_chunks = 1, n_bytes
    cdef int team = team_size(n_threads, <double>ELEMENT_NS * n_lines * job.size)
    cdef bint by_line = team > 1 and n_lines < 2 * team
    cdef cnp.ndarray memory
    cdef Scratch own
    if by_line:
        job.width = 1
        n_chunks = max(<Py_ssize_t>1, min(<Py_ssize_t>team, SCRATCH_BYTES // 2 // (8 * (job.n + 1))))
    else:  # a line may take more
        job.width = min(n_lines // (2 * team), SCRATCH_BYTES // 2 // (team * (job.size + 1) * (sizeof(key_t) + 8)))
        job.width = max(<Py_ssize_t>1, min(job.width, min(<Py_ssize_t>CACHE_LINE // 8, job.columns)))
    n_bytes = scratch_bytes(job, n_chunks, sizeof(key_t))
    memory = allocate_scratch(n_bytes * (1 if by_line else team))
    if memory is None:
        return NO_MEMORY
    if n_lines * job.size < BRIEF_ELEMENTS and not shared.forced:
        run_blocks(job, values, cnp.PyArray_BYTES(memory), 1)
        return OK
    with nogil:
        if not by_line:
            run_blocks(job, values, cnp.PyArray_BYTES(memory), team)
        else:
            own = scratch_of(job, cnp.PyArray_BYTES(memory), 0, n_chunks, sizeof(key_t))
            for line in range(n_lines):
                run_line(job, values, line, &own, n_chunks, team)
    return OK


cdef inline Py_ssize_t run_any(Job* job, cnp.ndarray values, int n_threads):
    if cnp.PyArray_ITEMSIZE(values) == 4:
        return run_job(job, <uint32_t*>cnp.PyArray_DATA(values), n_threads)
    return run_job(job, <uint64_t*>cnp.PyArray_DATA(values), n_threads)
