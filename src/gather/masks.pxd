# The row-major numbers of a mask's true elements, counted and then written in parallel.
#
# Another thread may write to the mask meanwhile, so never more numbers are written than were counted.
from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from common.items cimport CACHE_LINE, inline_void
from common.threads cimport MAX_TASKS, chunk_start

ctypedef fused number_t:
    int32_t
    int64_t


cdef inline void count_chunk(const uint8_t* mask, Py_ssize_t start, Py_ssize_t stop,
                             Py_ssize_t* count) noexcept nogil:
    cdef Py_ssize_t i = start, j
    cdef Py_ssize_t n = 0
    cdef uint8_t few
    while stop - i >= 2 * CACHE_LINE:  # a byte can hold their number
        few = 0
        for j in range(2 * CACHE_LINE):
            few += <uint8_t>(mask[i + j] != 0)
        n += few
        i += 2 * CACHE_LINE
    for j in range(i, stop):
        n += mask[j] != 0
    count[0] = n


cdef inline bint is_empty(const uint8_t* mask) noexcept nogil:
    """Whether the elements of a cache line are all false."""
    cdef uint64_t words[CACHE_LINE >> 3]
    cdef uint64_t some = 0
    cdef int j
    memcpy(words, mask, CACHE_LINE)
    for j in range(CACHE_LINE >> 3):
        some |= words[j]
    return some == 0


cdef inline inline_void write_chunk(number_t* type, const uint8_t* mask, Py_ssize_t start, Py_ssize_t stop,
                                    number_t* numbers, Py_ssize_t count) noexcept nogil:
    """Write the count numbers of the true elements from start to stop."""
    cdef Py_ssize_t i = start, n = 0, j
    cdef uint64_t word
    while i < stop and n < count:
        if stop - i >= CACHE_LINE and is_empty(mask + i):
            i += CACHE_LINE
            continue
        if stop - i >= 8:
            memcpy(&word, mask + i, 8)
            if word == 0:
                i += 8
                continue
            if count - n >= 8:  # each number is written, and the next one over it if the element is false
                for j in range(8):
                    numbers[n] = <number_t>(i + j)
                    n += mask[i + j] != 0
                i += 8
                continue
        if mask[i]:
            numbers[n] = <number_t>i
            n += 1
        i += 1
    while n < count:  # the mask has changed
        numbers[n] = 0
        n += 1


cdef inline void write_any(bint is_wide, const uint8_t* mask, Py_ssize_t start, Py_ssize_t stop, char* numbers,
                           Py_ssize_t first, Py_ssize_t count) noexcept nogil:
    if is_wide:
        write_chunk(<int64_t*>NULL, mask, start, stop, <int64_t*>numbers + first, count)
    else:
        write_chunk(<int32_t*>NULL, mask, start, stop, <int32_t*>numbers + first, count)


cdef inline Py_ssize_t count_true(const uint8_t* mask, Py_ssize_t size, int n_chunks, Py_ssize_t* counts) noexcept:
    """The number of true elements, and that of each chunk."""
    cdef Py_ssize_t chunk, total = 0
    if n_chunks == 1:
        with nogil:
            count_chunk(mask, 0, size, &counts[0])
    else:
        for chunk in prange(n_chunks, num_threads=n_chunks, schedule="static", nogil=True):
            count_chunk(mask, chunk_start(size, n_chunks, chunk), chunk_start(size, n_chunks, chunk + 1),
                        &counts[chunk])
    for chunk in range(n_chunks):
        total += counts[chunk]
    return total


cdef inline void write_true(bint is_wide, const uint8_t* mask, Py_ssize_t size, int n_chunks, const Py_ssize_t* counts,
                            char* numbers) noexcept:
    cdef Py_ssize_t firsts[MAX_TASKS]
    cdef Py_ssize_t chunk, total = 0
    for chunk in range(n_chunks):
        firsts[chunk] = total
        total += counts[chunk]
    if n_chunks == 1:
        with nogil:
            write_any(is_wide, mask, 0, size, numbers, 0, counts[0])
        return
    for chunk in prange(n_chunks, num_threads=n_chunks, schedule="static", nogil=True):
        write_any(is_wide, mask, chunk_start(size, n_chunks, chunk), chunk_start(size, n_chunks, chunk + 1), numbers,
                  firsts[chunk], counts[chunk])
