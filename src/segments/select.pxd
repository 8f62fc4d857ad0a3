# cython: cdivision=True
# Numbers as unsigned keys of the same order, and how keys are sorted and selected. Equal numbers have equal keys; all
# NaN have the greatest one. Loops over keys have no branch that depends on them, which random keys would mispredict.
#
# Keys may have places, their positions: then equal keys are in order of these, so that sorting is stable.
from libc.stdint cimport int64_t, uint32_t, uint64_t

from common.interrupts cimport Interrupts, is_interrupted

cdef extern from *:
    """
    typedef struct { char none; } gs_no_place;
    """
    ctypedef struct no_place "gs_no_place":
        pass

ctypedef fused key_t:
    uint32_t
    uint64_t

ctypedef fused place_t:
    int64_t
    no_place

cdef enum:
    FEW_KEYS = 24               # are sorted by exchanges, in n² / 2 steps of half a nanosecond
    MAX_SAMPLE = 63             # keys, from which a pivot is estimated: one more for each as many

cdef struct Numbers:            # how a number's bits become a key
    bint is_float
    bint is_signed
    bint has_nan                # the greatest key is NaN's, or NaT's
    bint is_reversed            # the greatest number comes first


cdef inline key_t key_of(key_t bits, Numbers numbers) noexcept nogil:
    cdef key_t all = <key_t>-1, top = all ^ (all >> 1), magnitude = bits & ~top, key
    cdef key_t infinity = <key_t>0x7f800000 if key_t is uint32_t else <key_t>0x7ff0000000000000
    if numbers.is_float:
        key = bits ^ (top | (<key_t>0 - (bits >> (8 * sizeof(key_t) - 1))))
        key = top if magnitude == 0 else key  # -0.0 as 0.0
        key = ~key if numbers.is_reversed else key
        return all if magnitude > infinity else key
    key = bits ^ top if numbers.is_signed else bits
    if numbers.is_reversed:
        return ~key
    return key - numbers.has_nan  # NaT is the least integer


cdef inline key_t bits_of(key_t key, Numbers numbers) noexcept nogil:
    """The number of a key that is not reversed."""
    cdef key_t all = <key_t>-1, top = all ^ (all >> 1)
    if numbers.is_float:
        return key ^ top if key & top else ~key
    key += numbers.has_nan
    return key ^ top if numbers.is_signed else key


cdef inline Py_ssize_t partition(key_t* keys, place_t* places, Py_ssize_t start, Py_ssize_t stop, key_t pivot,
                                 int64_t pivot_place) noexcept nogil:
    """Move the keys below the pivot to the front. Returns where the others start."""
    cdef Py_ssize_t i, end = start
    cdef key_t key
    cdef int64_t place
    for i in range(start, stop):
        key = keys[i]
        keys[i] = keys[end]
        keys[end] = key
        if place_t is int64_t:
            place = places[i]
            places[i] = places[end]
            places[end] = place
            end += (key < pivot) | ((key == pivot) & (place < pivot_place))
        else:
            end += key < pivot
    return end


cdef inline void sort_few(key_t* keys, place_t* places, Py_ssize_t n) noexcept nogil:
    """By exchanges of neighbours."""
    cdef Py_ssize_t i, j
    cdef key_t key, other
    cdef int64_t place = 0, its
    cdef bint is_less
    for i in range(1, n):
        key = keys[i]
        if place_t is int64_t:
            place = places[i]
        for j in range(i - 1, -1, -1):
            other = keys[j]
            if place_t is int64_t:
                its = places[j]
                is_less = (key < other) | ((key == other) & (place < its))
                places[j + 1] = its if is_less else place
                place = place if is_less else its
            else:
                is_less = key < other
            keys[j + 1] = other if is_less else key
            key = key if is_less else other
        keys[0] = key
        if place_t is int64_t:
            places[0] = place


cdef inline key_t halfway(key_t* keys, place_t* places, Py_ssize_t n, int64_t* place) noexcept nogil:
    """A pivot halfway between the least and the greatest key or, of equal keys, place. So there are at most as many
    partitions, one within the other, as bits.
    """
    cdef key_t least = keys[0], greatest = keys[0]
    cdef int64_t first, last
    cdef Py_ssize_t i
    for i in range(1, n):
        least, greatest = min(least, keys[i]), max(greatest, keys[i])
    if place_t is int64_t and least == greatest:
        first = last = places[0]
        for i in range(1, n):
            first, last = min(first, places[i]), max(last, places[i])
        place[0] = first + (last - first) // 2 + 1
    return least + (greatest - least) // 2 + (least < greatest)


cdef inline int rounds_for(Py_ssize_t n) noexcept nogil:
    """How many partitions may be uneven, before pivots are halfway between the extremes."""
    cdef int rounds = 8
    while n > 1:
        n >>= 1
        rounds += 2
    return rounds


cdef inline void sort(key_t* keys, place_t* places, Py_ssize_t n, int rounds, Interrupts* interrupts) noexcept nogil:
    cdef Py_ssize_t end, a, b, c
    cdef key_t pivot
    cdef int64_t place
    while n > FEW_KEYS:
        if is_interrupted(interrupts, n):
            return
        place = 0
        if rounds == 0:
            pivot = halfway(keys, places, n, &place)
        else:
            rounds -= 1
            a, b, c = n // 4, n // 2, n - n // 4
            if keys[a] > keys[b]:
                a, b = b, a
            if keys[b] > keys[c]:
                b = c if keys[c] > keys[a] else a
            pivot = keys[b]
            if place_t is int64_t:
                place = places[b]
        end = partition(keys, places, 0, n, pivot, place)
        if end == 0:  # the pivot is the least key, and so are those equal to it
            if place_t is no_place and pivot == <key_t>-1:
                return
            end = partition(keys, places, 0, n, pivot + (place_t is no_place), place + 1)
        elif end <= n - end:
            sort(keys, places, end, rounds, interrupts)
        else:
            sort(keys + end, places + end if place_t is int64_t else places, n - end, rounds, interrupts)
            n = end
            continue
        keys += end
        if place_t is int64_t:
            places += end
        n -= end
    sort_few(keys, places, n)


cdef inline Py_ssize_t select(key_t* keys, Py_ssize_t n, Py_ssize_t rank, int rounds,
                              Interrupts* interrupts) noexcept nogil:
    """Move keys so that those from a rank on, up to that which is returned, are where sorting puts them.

    Less keys are before them, greater ones after them.
    """
    cdef key_t sample[MAX_SAMPLE]
    cdef key_t pivot
    cdef no_place* nowhere = NULL
    cdef int64_t place = 0
    cdef Py_ssize_t start = 0, end, i, n_sample, guess
    while n - start > FEW_KEYS:
        if is_interrupted(interrupts, n - start):
            return n
        if rounds == 0:
            pivot = halfway(keys + start, nowhere, n - start, &place)
        else:
            rounds -= 1
            n_sample = min(<Py_ssize_t>MAX_SAMPLE, 7 + (n - start) // MAX_SAMPLE)
            for i in range(n_sample):
                sample[i] = keys[start + i * (n - start) // n_sample]
            sort_few(sample, nowhere, n_sample)
            # A pivot a little beyond the rank leaves it on the smaller side.
            guess = (rank - start) * n_sample // (n - start)
            guess += 1 + n_sample // 8 if 2 * (rank - start) < n - start else -1 - n_sample // 8
            pivot = sample[max(<Py_ssize_t>0, min(guess, n_sample - 1))]
        end = partition(keys, nowhere, start, n, pivot, 0)
        if end == start:  # the pivot is the least key
            if pivot == <key_t>-1:
                return n
            end = partition(keys, nowhere, start, n, pivot + 1, 0)
            if rank < end:
                return end
            start = end
        elif rank < end:
            n = end
        else:
            start = end
    sort_few(keys + start, nowhere, n - start)
    return n
