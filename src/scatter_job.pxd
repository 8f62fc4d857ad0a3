# One scatter, whichever way it goes: what there is to do, and resolving and applying a run of the updates.
from cython.parallel cimport prange
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from apply cimport Step, apply_items, apply_row, travels_by_value
from items cimport cloned_void
from resolve cimport BESIDE, BLOCK, OK, SKIPPED, Mode, Place, Tuples, Walk, resolve_block, seek
from threads cimport team_size

cdef enum:
    # Of what waits between two steps of a scatter. glibc maps what is larger than 32 MiB anew for each call, and
    # touching 4 KiB pages for the first time then takes as long as the scatter.
    RECORD_BYTES = 31 << 20
    LONG_ROW = 1 << 12          # bytes

cdef struct Job:
    Tuples tuples
    Walk walk
    Step step
    const char* data            # to copy into out first; NULL where out holds it already
    char* out
    const char* updates
    Py_ssize_t out_bytes        # of a contiguous result
    bint updates_are_linear     # over the walk
    bint streams                # the result is large enough to go past the caches
    # UNITS
    Py_ssize_t unit_tuples
    Py_ssize_t unit_bytes
    Py_ssize_t units_per_task
    Py_ssize_t n_units
    # PIECES
    Py_ssize_t row_units
    Py_ssize_t row_units_per_task
    # PARTITION
    int64_t low                 # the lowest offset that a tuple can name
    Py_ssize_t row_bytes
    int shift                   # tile = (offset - low) >> shift
    Py_ssize_t n_tiles
    Py_ssize_t n_chunks         # of the round's tuples
    Py_ssize_t start
    Py_ssize_t stop
    bint by_value
    Py_ssize_t payload_bytes
    char* records               # place in the tile (uint32_t), then the update, or the update's offset
    Py_ssize_t record_bytes
    Py_ssize_t* begin           # of the records of (tile, chunk), and one more
    Py_ssize_t* end             # as far as they were written


# What is compiled for each kind of CPU: once, and called for a block at a time.

cdef inline cloned_void apply_values(const Step* step, char* out, const int64_t* offsets, const char* updates,
                                     Py_ssize_t update_step, Py_ssize_t n) noexcept nogil:
    apply_items(step, out, offsets, updates, update_step, n)


cdef inline cloned_void apply_rows(const Step* step, char* out, const int64_t* offsets, const char* updates,
                                   const int64_t* update_offsets, Py_ssize_t update_step, Py_ssize_t n) noexcept nogil:
    """Updates at update_offsets, or, where that is NULL, update_step bytes apart."""
    cdef Py_ssize_t i, update
    for i in range(n):
        if offsets[i] != SKIPPED:
            update = update_offsets[i] if update_offsets != NULL else i * update_step
            apply_row(step, out + offsets[i], updates + update)


cdef inline void apply_tuples(const Job* job, const Step* step, char* out, const char* updates, Py_ssize_t start,
                              Py_ssize_t stop, Py_ssize_t* status) noexcept nogil:
    """Resolve tuples start to stop and apply their updates at once, in order."""
    cdef int64_t even[BLOCK]
    cdef int64_t odd[BLOCK]
    cdef int64_t* offsets = even
    cdef int64_t* later = odd
    cdef int64_t* swap
    cdef Place at
    cdef int inner = job.walk.n_dims - 1
    cdef Py_ssize_t update_step = job.walk.stride[inner][BESIDE]
    cdef Py_ssize_t n = 0, n_later, i, first = 0, first_later
    cdef bint by_value = travels_by_value(step)
    cdef char sink[16]
    memset(sink, 0, sizeof(sink))
    status[0] = OK
    seek(&job.walk, start, &at)
    # A block is resolved before the one in front of it is applied, so that the core loads indices meanwhile.
    while True:
        first_later = at.offset[BESIDE]
        n_later = 0
        if start < stop:
            resolve_block(&job.tuples, &job.walk, &at, min(<Py_ssize_t>BLOCK, stop - start),
                          not job.updates_are_linear, later, &n_later)
            if n_later < 0:
                status[0] = start * job.tuples.k - 1 - n_later
                return
            start += n_later
            if by_value and job.tuples.mode == Mode.SKIP:
                for i in range(n_later):  # what is dropped goes where nobody looks
                    if later[i] == SKIPPED:
                        later[i] = <int64_t>(<size_t>sink - <size_t>out)
        if n and by_value:
            apply_values(step, out, offsets, updates + first, update_step, n)
        elif n:
            apply_rows(step, out, offsets, updates + first, NULL, update_step, n)
        elif n_later == 0:
            return
        swap = offsets
        offsets = later
        later = swap
        n = n_later
        first = first_later


cdef inline void run_copy(const Job* job, Py_ssize_t task, Py_ssize_t n_tasks) noexcept nogil:
    cdef Py_ssize_t share = (job.out_bytes + n_tasks - 1) // n_tasks
    cdef Py_ssize_t start = min(task * share, job.out_bytes)
    memcpy(job.out + start, job.data + start, min(share, job.out_bytes - start))


cdef inline void copy_data(Job* job, int limit) noexcept:
    """Bring data into out, where that is not done tile by tile."""
    cdef int n_threads
    cdef Py_ssize_t task
    if job.data == NULL:
        return
    n_threads = team_size(limit, <double>job.out_bytes / 8)
    if n_threads == 1:
        with nogil:
            run_copy(job, 0, 1)
    else:
        for task in prange(n_threads, num_threads=n_threads, schedule="static", nogil=True):
            run_copy(job, task, n_threads)
    job.data = NULL


cdef inline Py_ssize_t first_bad_of(const Py_ssize_t* status, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        if status[i] != OK:
            return status[i]
    return OK


cdef inline Py_ssize_t share(Py_ssize_t n, Py_ssize_t n_parts, Py_ssize_t part) noexcept nogil:
    """Where the part begins if n are shared out evenly."""
    return n // n_parts * part + min(n % n_parts, part)
