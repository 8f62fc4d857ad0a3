# Destinations in ranges: the bounds of a block of tuples, ranges with as many tuples, and what is outside of one.
from libc.stdint cimport INT64_MAX, int64_t, uint64_t

from common.codes cimport INTERRUPTED, OK
from common.interrupts cimport Interrupts, is_interrupted
from common.items cimport cloned_void
from common.resolve cimport BLOCK, SKIPPED, Tuples, resolve_block
from common.walk cimport Cursor, Walk

cdef enum:
    BUCKETS = 256   # of the result, in which tuples are counted to cut it into ranges


cdef inline void no_bounds(uint64_t* low, int64_t* high) noexcept nogil:
    """The bounds of no tuples; if all are dropped, these remain."""
    low[0] = INT64_MAX
    high[0] = -1


cdef inline cloned_void extend_bounds(const int64_t* offsets, Py_ssize_t n, uint64_t* low,
                                      int64_t* high) noexcept nogil:
    """SKIPPED is the least number as a signed one, and larger than any offset as an unsigned one."""
    cdef Py_ssize_t i
    cdef uint64_t least = low[0]
    cdef int64_t most = high[0]
    for i in range(n):
        least = <uint64_t>offsets[i] if <uint64_t>offsets[i] < least else least
        most = offsets[i] if offsets[i] > most else most
    low[0] = least
    high[0] = most


cdef inline Py_ssize_t bounds_of(const Tuples* tuples, const Walk* walk, Interrupts* interrupts, Cursor* cursor,
                                 Py_ssize_t start, Py_ssize_t stop, uint64_t* low, int64_t* high) noexcept nogil:
    """Find the bounds of tuples start to stop, from the cursor on. Returns OK, the position of a bad index, or
    INTERRUPTED.
    """
    cdef int64_t offsets[BLOCK]
    cdef Py_ssize_t n
    no_bounds(low, high)
    while start < stop:
        resolve_block(tuples, walk, cursor, min(<Py_ssize_t>BLOCK, stop - start), False, offsets, &n)
        if n < 0:
            return start * tuples.k - 1 - n
        if is_interrupted(interrupts, n * tuples.k):
            return INTERRUPTED
        extend_bounds(offsets, n, low, high)
        start += n
    return OK


cdef inline Py_ssize_t cut_at_counts(const Py_ssize_t* count, Py_ssize_t n_counted, Py_ssize_t n_rows,
                                     Py_ssize_t n_ranges, Py_ssize_t* first) noexcept nogil:
    """Cut rows into ranges that have about as many tuples each.

    count: of the tuples in each of BUCKETS; n_counted in all. first: becomes the row at which each range begins, and at
    last n_rows. Returns how many tuples the range has that has the most.
    """
    cdef Py_ssize_t bucket = 0, below = 0, before, most = 0, i
    first[0] = 0
    for i in range(1, n_ranges):
        before = below
        while bucket < BUCKETS and below * n_ranges < i * n_counted:
            below += count[bucket]
            bucket += 1
        first[i] = <Py_ssize_t>(<double>n_rows / BUCKETS * bucket)
        most = max(most, below - before)
    first[n_ranges] = n_rows
    return max(most, n_counted - below)


cdef inline cloned_void skip_outside(int64_t* offsets, Py_ssize_t n, uint64_t low, uint64_t size) noexcept nogil:
    """Skip the tuples whose offsets are not among the `size` from low on.

    Without a branch, which would be mispredicted.
    """
    cdef Py_ssize_t i
    for i in range(n):
        offsets[i] = offsets[i] if <uint64_t>offsets[i] - low < size else SKIPPED
