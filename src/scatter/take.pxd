# The derivatives of an assignment: each update, in order, becomes the row at its destination, which becomes 0.
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from common.codes cimport INTERRUPTED, OK
from common.interrupts cimport CLOCK_WORK, Interrupts, is_interrupted
from common.resolve cimport BLOCK, SKIPPED, Tuples, resolve_block
from common.walk cimport OTHER, Cursor, Walk, seek


cdef inline Py_ssize_t copy_data(const char* data, char* out, Py_ssize_t n_bytes,
                                 Interrupts* interrupts) noexcept nogil:
    cdef Py_ssize_t at = 0, n
    while at < n_bytes:
        if is_interrupted(interrupts, CLOCK_WORK):
            return INTERRUPTED
        n = min(n_bytes - at, <Py_ssize_t>8 * CLOCK_WORK)
        memcpy(out + at, data + at, n)
        at += n
    return OK


cdef inline Py_ssize_t take_rows(const Tuples* tuples, const Walk* walk, Py_ssize_t row_bytes, char* rows,
                                 char* updates, Interrupts* interrupts) noexcept nogil:
    """Returns OK, a Status, or the position of the first bad index. An update that is dropped stays as it is."""
    cdef int64_t offsets[BLOCK]
    cdef Cursor cursor
    cdef Py_ssize_t start = 0, step = walk.stride[walk.n_dims - 1][OTHER], i, n
    cdef char* update
    seek(walk, 0, &cursor)
    while start < walk.n:
        update = updates + cursor.offset[OTHER]
        resolve_block(tuples, walk, &cursor, min(<Py_ssize_t>BLOCK, walk.n - start), True, offsets, &n)
        if n < 0:
            return start * tuples.k - 1 - n
        if is_interrupted(interrupts, n * (tuples.k + (row_bytes >> 2))):
            return INTERRUPTED
        for i in range(n):
            if offsets[i] != SKIPPED:
                memcpy(update + i * step, rows + offsets[i], row_bytes)
                memset(rows + offsets[i], 0, row_bytes)
        start += n
    return OK
