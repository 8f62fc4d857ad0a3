# cython: language_level=3, freethreading_compatible=True, boundscheck=False, wraparound=False, cdivision=True
"""Scatters: out = data, then updates applied one after the other, in row-major order, on any number of threads.

Threads own destinations, never updates, so that each destination meets its updates in order. Which way they are
dealt out depends on the work (see run):

    SERIAL     one thread: little work, or few destinations
    UNITS      the leading axes of the result are walked with the tuples (batches, *_elements along a later axis):
               a thread copies one such unit of data and applies its updates while it is near
    ROWS       rows of a cache line or more into a fresh result. In rounds of a bounded number of updates,
                   number   each tuple becomes the number of the row that it names;
                   order    a thread owns a range of rows and lists the updates of each, in order (for "none" just the
                            last one);
                   write    then each row is written once, from data and its updates, past the caches where that pays
    PIECES     long rows: every thread walks all tuples and applies its own piece of each row
    PRIVATE    integers into few destinations: each thread has a copy of them for its run of the updates, and the copies
               are combined; the order of integers does not matter, to the bit
    PARTITION  anything else that is large: propagation blocking. Destinations are cut into tiles that fit L2. In
               rounds of a bounded number of updates,
                   count    each thread counts its run of the updates by tile,
                   place    and writes (place in the tile, update) to where tile and thread begin, in order;
                   apply    then a tile has one owner, which copies the tile of data and applies the tile's updates.

Nothing is shared while it is written, so there are no locks and no atomics.
"""
from cython.parallel cimport prange
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from cpython.mem cimport PyMem_RawFree as free, PyMem_RawMalloc as malloc  # so that tracemalloc sees it
from libc.string cimport memcpy, memset
cimport numpy as cnp

from apply cimport Step, apply_items, apply_row, combine_any_run, travels_by_value, word_t
from items cimport LINE, bytes16, cloned_void, inline_void, prefetch_near
from numbers cimport ADD, ASSIGN, INT8, MAX, MIN, MUL, UINT64, Number, Reduction
from resolve cimport (
    BESIDE, BLOCK, DATA, INDEX_DTYPE, OK, SKIPPED, Kind, Mode, Place, Tuples, Walk, copy_walk, describe,
    find_plain, is_linear, resolve_block, seek,
)
from rows cimport Row, cut_row, describe_row
from small cimport Small, describe_small, new_array
from stream cimport STREAM_BYTES, STREAM_ROW, can_stream, stream_rows, streamed
from threads cimport MAX_TASKS, TASKS_PER_THREAD, team_size

cnp.import_array()

cdef extern from "Python.h":
    Py_ssize_t PY_SSIZE_T_MAX

cdef extern from *:
    """
    #if defined(__linux__)
      #include <unistd.h>
    #endif
    static Py_ssize_t gs_last_cache(void) {
    #if defined(_SC_LEVEL3_CACHE_SIZE)
        static Py_ssize_t known = -1;
        if (known < 0) {
            long size = sysconf(_SC_LEVEL3_CACHE_SIZE);
            known = size > 0 ? size : 0;
        }
        return known;
    #else
        return 0;
    #endif
    }
    """
    Py_ssize_t last_cache "gs_last_cache" () noexcept nogil  # bytes of the third level; 0 where nobody says

cdef enum:
    TILE_BYTES = 1 << 18        # of the result: L2 holds it with the updates that stream by
    MAX_TILES = 2048            # more would not be written to side by side; tiles grow instead
    # Of the updates that wait between place and apply. glibc maps what is larger than 32 MiB anew for each call, and
    # touching 4 KiB pages for the first time then takes as long as the scatter.
    RECORD_BYTES = 31 << 20
    MIN_PARTITION = 1 << 16     # updates
    SAMPLE = 512
    NEAR_BYTES = 1 << 12
    NEAR_CACHE = 1 << 22        # what one core gets through fast enough by itself
    # A result of this size is worth a partition on one thread; less on more. A larger last cache moves the point where
    # it pays, twice as far if data lies there already, and not at all if it does not.
    FAR_CACHE = 1 << 25
    MAX_FAR_CACHE = 3 << 24
    LONG_ROW = 1 << 12          # bytes
    NEAR_UNIT = 1 << 15         # bytes of a unit that L1 holds

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

cdef cloned_void apply_values(const Step* step, char* out, const int64_t* offsets, const char* updates,
                              Py_ssize_t update_step, Py_ssize_t n) noexcept nogil:
    apply_items(step, out, offsets, updates, update_step, n)


cdef cloned_void apply_rows(const Step* step, char* out, const int64_t* offsets, const char* updates,
                            const int64_t* update_offsets, Py_ssize_t update_step, Py_ssize_t n) noexcept nogil:
    """Updates at update_offsets, or, where that is NULL, update_step bytes apart."""
    cdef Py_ssize_t i, update
    for i in range(n):
        if offsets[i] != SKIPPED:
            update = update_offsets[i] if update_offsets != NULL else i * update_step
            apply_row(step, out + offsets[i], updates + update)


cdef void apply_tuples(const Job* job, const Step* step, char* out, const char* updates, Py_ssize_t start,
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


cdef void run_serial(const Job* job, Py_ssize_t* status) noexcept nogil:
    apply_tuples(job, &job.step, job.out, job.updates, 0, job.walk.n, status)


cdef void run_units(const Job* job, Py_ssize_t task, Py_ssize_t* status) noexcept nogil:
    cdef Py_ssize_t unit = task * job.units_per_task
    cdef Py_ssize_t stop = min(unit + job.units_per_task, job.n_units)
    if job.data != NULL and STREAM_ROW <= job.unit_bytes <= NEAR_UNIT and job.streams:
        run_near_units(job, unit, stop, status)
        return
    status[0] = OK
    while unit < stop and status[0] == OK:
        if job.data != NULL:
            memcpy(job.out + unit * job.unit_bytes, job.data + unit * job.unit_bytes, job.unit_bytes)
        apply_tuples(job, &job.step, job.out, job.updates, unit * job.unit_tuples, (unit + 1) * job.unit_tuples, status)
        unit += 1


cdef void run_near_units(const Job* job, Py_ssize_t unit, Py_ssize_t stop, Py_ssize_t* status) noexcept nogil:
    """Units that are made beside the result, in L1, and then go there past the caches."""
    cdef char room[NEAR_UNIT + LINE]
    cdef char* near = <char*>((<size_t>room + LINE - 1) & ~<size_t>(LINE - 1))
    cdef int64_t none = 0
    status[0] = OK
    while unit < stop and status[0] == OK:
        memcpy(near, job.data + unit * job.unit_bytes, job.unit_bytes)
        # Offsets count from the result's start.
        apply_tuples(job, &job.step, <char*>(<size_t>near - <size_t>(unit * job.unit_bytes)), job.updates,
                     unit * job.unit_tuples, (unit + 1) * job.unit_tuples, status)
        stream_rows(job.out + unit * job.unit_bytes, 0, near, &none, 1, job.unit_bytes)
        unit += 1
    streamed()


cdef void run_piece(const Job* job, Py_ssize_t task, Py_ssize_t* status) noexcept nogil:
    cdef Step step
    cdef Py_ssize_t out_shift = 0, updates_shift = 0
    cdef Py_ssize_t unit = task * job.row_units_per_task
    step.reduction = job.step.reduction
    step.number = job.step.number
    step.swapped = job.step.swapped
    cut_row(&job.step.row, unit, min(unit + job.row_units_per_task, job.row_units), &step.row, &out_shift,
            &updates_shift)
    apply_tuples(job, &step, job.out + out_shift, job.updates + updates_shift, 0, job.walk.n, status)


cdef inline Py_ssize_t chunk_start(const Job* job, Py_ssize_t chunk) noexcept nogil:
    cdef Py_ssize_t n = job.stop - job.start
    return job.start + n // job.n_chunks * chunk + min(n % job.n_chunks, chunk)


cdef cloned_void run_count(const Job* job, Py_ssize_t chunk, Py_ssize_t* status) noexcept nogil:
    """Count a chunk's updates by tile, into end."""
    cdef int64_t offsets[BLOCK]
    cdef Place at
    cdef Py_ssize_t start = chunk_start(job, chunk)
    cdef Py_ssize_t stop = chunk_start(job, chunk + 1)
    cdef Py_ssize_t n, i
    cdef Py_ssize_t* counts = job.end + chunk * job.n_tiles
    memset(counts, 0, job.n_tiles * sizeof(Py_ssize_t))
    status[0] = OK
    seek(&job.walk, start, &at)
    while start < stop:
        resolve_block(&job.tuples, &job.walk, &at, min(<Py_ssize_t>BLOCK, stop - start), False, offsets, &n)
        if n < 0:
            status[0] = start * job.tuples.k - 1 - n
            return
        for i in range(n):
            if offsets[i] != SKIPPED:
                counts[(offsets[i] - job.low) >> job.shift] += 1
        start += n


cdef inline inline_void place_block(word_t* kind, const Job* job, Py_ssize_t chunk, const int64_t* offsets,
                                    const char* updates, Py_ssize_t update_step, Py_ssize_t n) noexcept nogil:
    """Write a record of each update. kind: of the update itself, or of its offset (uint64_t)."""
    cdef Py_ssize_t i, record
    cdef int64_t offset, tile
    cdef word_t payload
    cdef uint32_t place
    cdef uint64_t update_offset
    cdef char* target
    cdef Py_ssize_t* end = job.end + chunk * job.n_tiles
    cdef const Py_ssize_t* limit = job.begin + chunk + 1
    for i in range(n):
        if offsets[i] == SKIPPED:
            continue
        offset = offsets[i] - job.low
        tile = offset >> job.shift
        record = end[tile]
        # More than were counted only if another thread changed the indices in between.
        if record >= limit[tile * job.n_chunks]:
            continue
        end[tile] = record + 1
        target = job.records + record * <Py_ssize_t>(sizeof(uint32_t) + sizeof(word_t))
        place = <uint32_t>(offset - (tile << job.shift))
        memcpy(target, &place, sizeof(uint32_t))
        if job.by_value:
            memcpy(&payload, updates + i * update_step, sizeof(word_t))
            memcpy(target + sizeof(uint32_t), &payload, sizeof(word_t))
        else:
            update_offset = <uint64_t>(updates + i * update_step - job.updates)
            memcpy(target + sizeof(uint32_t), &update_offset, 8)


cdef cloned_void run_place(const Job* job, Py_ssize_t chunk, Py_ssize_t* status) noexcept nogil:
    """Write the records of a chunk, for each tile in the order of the updates."""
    cdef int64_t offsets[BLOCK]
    cdef Place at
    cdef int inner = job.walk.n_dims - 1
    cdef Py_ssize_t start = chunk_start(job, chunk)
    cdef Py_ssize_t stop = chunk_start(job, chunk + 1)
    cdef Py_ssize_t update_step = job.walk.stride[inner][BESIDE]
    cdef Py_ssize_t n, tile
    cdef const char* updates
    cdef Py_ssize_t* end = job.end + chunk * job.n_tiles
    for tile in range(job.n_tiles):
        end[tile] = job.begin[tile * job.n_chunks + chunk]
    status[0] = OK
    seek(&job.walk, start, &at)
    while start < stop:
        updates = job.updates + at.offset[BESIDE]
        resolve_block(&job.tuples, &job.walk, &at, min(<Py_ssize_t>BLOCK, stop - start), not job.updates_are_linear,
                      offsets, &n)
        if n < 0:
            status[0] = start * job.tuples.k - 1 - n
            return
        if job.payload_bytes == 4:
            place_block(<uint32_t*>NULL, job, chunk, offsets, updates, update_step, n)
        elif job.payload_bytes == 8:
            place_block(<uint64_t*>NULL, job, chunk, offsets, updates, update_step, n)
        elif job.payload_bytes == 1:
            place_block(<uint8_t*>NULL, job, chunk, offsets, updates, update_step, n)
        elif job.payload_bytes == 2:
            place_block(<uint16_t*>NULL, job, chunk, offsets, updates, update_step, n)
        else:
            place_block(<bytes16*>NULL, job, chunk, offsets, updates, update_step, n)
        start += n


cdef inline Py_ssize_t first_row_at(const Job* job, Py_ssize_t tile) noexcept nogil:
    """Byte at which the first row starts that starts in this tile or later; the last tile has all that follows."""
    if tile == job.n_tiles:
        return job.out_bytes
    return min(((tile << job.shift) + job.row_bytes - 1) // job.row_bytes * job.row_bytes, job.out_bytes)


cdef void run_apply(const Job* job, Py_ssize_t tile, Py_ssize_t* status) noexcept nogil:
    """Copy the rows that start in this tile, and apply the tile's records in order."""
    cdef int64_t offsets[BLOCK]
    cdef int64_t update_offsets[BLOCK]
    cdef char* out = job.out + job.low + (tile << job.shift)
    cdef const char* records
    cdef uint32_t place
    cdef Py_ssize_t chunk, record, stop, n, i, start
    status[0] = OK
    if job.data != NULL:
        start = first_row_at(job, tile)
        memcpy(job.out + start, job.data + start, first_row_at(job, tile + 1) - start)
    for chunk in range(job.n_chunks):
        record = job.begin[tile * job.n_chunks + chunk]
        stop = job.end[chunk * job.n_tiles + tile]
        while record < stop:
            n = min(<Py_ssize_t>BLOCK, stop - record)
            records = job.records + record * job.record_bytes
            for i in range(n):
                memcpy(&place, records + i * job.record_bytes, sizeof(uint32_t))
                offsets[i] = place
            if job.by_value:
                apply_values(&job.step, out, offsets, records + sizeof(uint32_t), job.record_bytes, n)
            else:
                for i in range(n):
                    memcpy(&update_offsets[i], records + i * job.record_bytes + sizeof(uint32_t), 8)
                apply_rows(&job.step, out, offsets, job.updates, update_offsets, 0, n)
            record += n


cdef void run_copy(const Job* job, Py_ssize_t task, Py_ssize_t n_tasks) noexcept nogil:
    cdef Py_ssize_t share = (job.out_bytes + n_tasks - 1) // n_tasks
    cdef Py_ssize_t start = min(task * share, job.out_bytes)
    memcpy(job.out + start, job.data + start, min(share, job.out_bytes - start))


cdef void copy_data(Job* job, int limit) noexcept:
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


cdef bint is_scattered(const Job* job) noexcept nogil:
    """Whether a sample of the tuples names places all over the result.

    If few tiles get most of it (duplicates, a power law), or tuples that follow each other name neighbours (sorted
    indices), one thread that goes through them finds the caches warm, and dealing them out first costs more.
    """
    cdef int64_t pair[2]
    cdef Place at
    cdef uint16_t count[MAX_TILES + 1]
    cdef Py_ssize_t i, n, tile, near = 0, seen = 0, distinct = 0, most = 0
    memset(count, 0, sizeof(count))
    for i in range(SAMPLE):
        seek(&job.walk, job.walk.n // SAMPLE * i, &at)
        resolve_block(&job.tuples, &job.walk, &at, 2, False, pair, &n)
        if n != 2 or pair[0] == SKIPPED or pair[1] == SKIPPED:
            continue
        seen += 1
        near += -NEAR_BYTES < pair[1] - pair[0] < NEAR_BYTES
        tile = (pair[0] - job.low) >> job.shift
        distinct += count[tile] == 0
        count[tile] += 1
        most = max(most, <Py_ssize_t>count[tile])
    return 4 * most < seen and 2 * near < seen and distinct << job.shift > NEAR_CACHE


cdef bint run_partition(Job* job, int n_threads, Py_ssize_t* bad) noexcept:
    """False: there is no memory for the records, and nothing was done."""
    cdef Py_ssize_t status[MAX_TASKS]
    cdef Py_ssize_t* tile_status
    cdef Py_ssize_t n_tuples = job.walk.n
    cdef Py_ssize_t per_round = min(n_tuples, <Py_ssize_t>RECORD_BYTES // job.record_bytes)
    cdef Py_ssize_t n_rounds = (n_tuples + per_round - 1) // per_round
    cdef Py_ssize_t chunk, tile, total
    cdef size_t table

    per_round = (n_tuples + n_rounds - 1) // n_rounds
    job.n_chunks = n_threads
    table = (job.n_tiles * job.n_chunks + 1) * sizeof(Py_ssize_t)
    job.begin = <Py_ssize_t*>malloc(2 * table + job.n_tiles * sizeof(Py_ssize_t))
    job.records = <char*>malloc(per_round * job.record_bytes)
    if job.begin == NULL or job.records == NULL:
        free(job.begin)
        free(job.records)
        return False
    job.end = job.begin + job.n_tiles * job.n_chunks + 1
    tile_status = job.end + job.n_tiles * job.n_chunks + 1
    bad[0] = OK
    job.start = 0
    while job.start < n_tuples and bad[0] == OK:
        job.stop = min(job.start + per_round, n_tuples)
        for chunk in prange(job.n_chunks, num_threads=n_threads, schedule="static", nogil=True):
            run_count(job, chunk, &status[chunk])
        bad[0] = first_bad_of(status, job.n_chunks)
        if bad[0] != OK:
            break
        total = 0
        for tile in range(job.n_tiles):
            for chunk in range(job.n_chunks):
                job.begin[tile * job.n_chunks + chunk] = total
                total += job.end[chunk * job.n_tiles + tile]
        job.begin[job.n_tiles * job.n_chunks] = total
        for chunk in prange(job.n_chunks, num_threads=n_threads, schedule="static", nogil=True):
            run_place(job, chunk, &status[chunk])
        bad[0] = first_bad_of(status, job.n_chunks)
        if bad[0] != OK:
            break
        for tile in prange(job.n_tiles, num_threads=n_threads, schedule="dynamic", chunksize=1, nogil=True):
            run_apply(job, tile, &tile_status[tile])
        job.data = NULL
        job.start = job.stop
    free(job.begin)
    free(job.records)
    return True


# ROWS

cdef enum:
    MIN_ROW = LINE
    MIN_ROWS_BYTES = 1 << 22    # of a result
    MAX_ROWS = 1 << 23          # 4 bytes each, beside the result
    PIECE = 1 << 12             # bytes of a row that are combined while they lie in L1
    OWNED = 1024                # updates of which a thread picks its own
    AHEAD_BYTES = 1 << 11       # of rows that are asked for in front of the one that is combined

cdef struct Rows:
    const Job* job
    Tuples tuples
    Walk walk                   # whose places in data are numbers of rows
    Py_ssize_t n_rows
    Py_ssize_t update_step
    Py_ssize_t start            # of the round's tuples
    Py_ssize_t n
    Py_ssize_t n_chunks
    int32_t* row                # that each tuple of the round names; -1 for none
    # Where a row's updates end in order; they begin where those of the row in front of it end. With "none": the last
    # update, counted from 1.
    uint32_t* end
    uint32_t* order
    Py_ssize_t n_tasks
    bint by_update              # updates are applied as they lie, not as the rows do
    bint fresh                  # rows of out are yet to be written
    bint streams


cdef bint describe_rows(Rows* rows, const Job* job, int n_threads, bint forced) noexcept:
    """False: this is no work for ROWS."""
    cdef const Row* row = &job.step.row
    cdef int d
    if (job.data == NULL or job.row_bytes < MIN_ROW or not job.updates_are_linear
            or (job.out_bytes < MIN_ROWS_BYTES and not forced)
            or row.outer.n != 1 or job.step.swapped):
        return False
    if job.step.reduction == ASSIGN:
        if row.n_inner != 1 or row.item_bytes != job.row_bytes:
            return False
    elif (job.row_bytes >= LONG_ROW or row.n_inner * row.item_bytes != job.row_bytes
            or row.inner_data != row.item_bytes or row.inner_beside != row.item_bytes):
        return False
    rows.n_rows = job.out_bytes // job.row_bytes
    if rows.n_rows > MAX_ROWS or rows.n_rows < TASKS_PER_THREAD * n_threads:
        return False
    rows.job = job
    rows.tuples = job.tuples
    copy_walk(&job.walk, &rows.walk)
    for d in range(job.tuples.k):
        rows.tuples.stride[d] //= job.row_bytes
    find_plain(&rows.tuples)
    for d in range(job.walk.n_dims):
        rows.walk.stride[d][DATA] //= job.row_bytes
    rows.update_step = job.walk.stride[job.walk.n_dims - 1][BESIDE]
    rows.streams = job.streams and job.row_bytes >= STREAM_ROW
    return True


cdef inline Py_ssize_t share(Py_ssize_t n, Py_ssize_t n_parts, Py_ssize_t part) noexcept nogil:
    return n // n_parts * part + min(n % n_parts, part)


cdef void run_number(const Rows* rows, Py_ssize_t chunk, Py_ssize_t* status) noexcept nogil:
    cdef int64_t numbers[BLOCK]
    cdef Place at
    cdef Py_ssize_t start = share(rows.n, rows.n_chunks, chunk)
    cdef Py_ssize_t stop = share(rows.n, rows.n_chunks, chunk + 1)
    cdef Py_ssize_t n, i
    status[0] = OK
    seek(&rows.walk, rows.start + start, &at)
    while start < stop:
        resolve_block(&rows.tuples, &rows.walk, &at, min(<Py_ssize_t>BLOCK, stop - start), False, numbers, &n)
        if n < 0:
            status[0] = (rows.start + start) * rows.tuples.k - 1 - n
            return
        for i in range(n):
            rows.row[start + i] = -1 if numbers[i] == SKIPPED else <int32_t>numbers[i]
        start += n


cdef void run_order(const Rows* rows, Py_ssize_t owner) noexcept nogil:
    cdef uint32_t low = <uint32_t>share(rows.n_rows, rows.n_chunks, owner)
    cdef uint32_t width = <uint32_t>share(rows.n_rows, rows.n_chunks, owner + 1) - low
    cdef uint32_t* end = rows.end + low
    cdef uint32_t row, count, below = 0
    cdef Py_ssize_t i
    memset(end, 0, width * sizeof(uint32_t))
    if rows.job.step.reduction == ASSIGN:
        for i in range(rows.n):
            row = <uint32_t>rows.row[i] - low
            if row < width:
                end[row] = <uint32_t>i + 1
        return
    for i in range(rows.n):
        row = <uint32_t>rows.row[i]
        below += row < low
        if row - low < width:
            end[row - low] += 1
    for i in range(width):
        count = end[i]
        end[i] = below + count if rows.by_update else below  # or where it begins, from where it moves on
        below += count
    if rows.by_update:
        return
    for i in range(rows.n):
        row = <uint32_t>rows.row[i] - low
        if row < width:
            rows.order[end[row]] = <uint32_t>i
            end[row] += 1


cdef inline void put_rows(const Rows* rows, char* out, const char* source, const int64_t* offsets, Py_ssize_t n,
                          Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t i
    if rows.streams:
        stream_rows(out, size, source, offsets, n, size)
    else:
        for i in range(n):
            memcpy(out + i * size, source + offsets[i], size)


cdef void write_last(const Rows* rows, Py_ssize_t row, Py_ssize_t stop) noexcept nogil:
    """Rows from data, or from the last update of each."""
    cdef const Job* job = rows.job
    cdef int64_t offsets[BLOCK]
    cdef const char* updates = job.updates + rows.start * rows.update_step
    cdef int64_t shift = <int64_t>(<size_t>updates - <size_t>job.data)
    cdef Py_ssize_t n, i
    if not rows.fresh:
        for i in range(row, stop):
            if rows.end[i]:
                memcpy(job.out + i * job.row_bytes, updates + (rows.end[i] - 1) * rows.update_step, job.row_bytes)
        return
    while row < stop:
        n = min(<Py_ssize_t>BLOCK, stop - row)
        for i in range(n):
            offsets[i] = (row + i) * job.row_bytes
            if rows.end[row + i]:
                offsets[i] = shift + <int64_t>(rows.end[row + i] - 1) * rows.update_step
        put_rows(rows, job.out + row * job.row_bytes, job.data, offsets, n, job.row_bytes)
        row += n


cdef inline Py_ssize_t rows_ahead(Py_ssize_t row_bytes) noexcept nogil:
    return max(<Py_ssize_t>AHEAD_BYTES // row_bytes, <Py_ssize_t>1)


cdef inline void ask_for_row(const char* row, Py_ssize_t row_bytes) noexcept nogil:
    cdef Py_ssize_t line
    for line in range(row_bytes // LINE):
        prefetch_near(row + line * LINE)


cdef cloned_void combine_ordered(const Rows* rows, char* target, const char* updates, Py_ssize_t first,
                                 Py_ssize_t stop) noexcept nogil:
    """Combine target, a row, with its updates in order."""
    cdef const Step* step = &rows.job.step
    cdef Py_ssize_t i, ahead = rows_ahead(rows.job.row_bytes)
    for i in range(first, stop):
        if i + ahead < rows.n:
            ask_for_row(updates + rows.order[i + ahead] * rows.update_step, rows.job.row_bytes)
        combine_any_run(step.number, step.reduction, target, step.row.item_bytes,
                        updates + rows.order[i] * rows.update_step, step.row.item_bytes, step.row.n_inner)


cdef void write_combined(const Rows* rows, Py_ssize_t row, Py_ssize_t stop) noexcept nogil:
    """Rows from data, combined with the updates of each."""
    cdef const Job* job = rows.job
    cdef char room[PIECE + LINE]
    cdef char* near = <char*>((<size_t>room + LINE - 1) & ~<size_t>(LINE - 1))
    cdef const char* updates = job.updates + rows.start * rows.update_step
    cdef char* out
    cdef Py_ssize_t first = rows.end[row - 1] if row else 0
    cdef Py_ssize_t last, untouched = row
    cdef int64_t zero = 0
    while row < stop:
        last = rows.end[row]
        if first < last:
            out = job.out + row * job.row_bytes
            if rows.fresh and untouched < row:
                put_rows(rows, job.out + untouched * job.row_bytes, job.data + untouched * job.row_bytes, &zero, 1,
                         (row - untouched) * job.row_bytes)
            untouched = row + 1
            if rows.fresh and rows.streams:
                memcpy(near, job.data + row * job.row_bytes, job.row_bytes)
                combine_ordered(rows, near, updates, first, last)
                stream_rows(out, 0, near, &zero, 1, job.row_bytes)
            else:
                if rows.fresh:
                    memcpy(out, job.data + row * job.row_bytes, job.row_bytes)
                combine_ordered(rows, out, updates, first, last)
        first = last
        row += 1
    if rows.fresh and untouched < stop:
        put_rows(rows, job.out + untouched * job.row_bytes, job.data + untouched * job.row_bytes, &zero, 1,
                 (stop - untouched) * job.row_bytes)


cdef inline Py_ssize_t first_row_of(const Rows* rows, Py_ssize_t task) noexcept nogil:
    """Where a task's rows begin: all have as much to do, where updates crowd together too."""
    cdef Py_ssize_t low = 0, high = rows.n_rows, row, work
    if rows.job.step.reduction == ASSIGN:
        return share(rows.n_rows, rows.n_tasks, task)
    work = share(2 * rows.n_rows + rows.end[rows.n_rows - 1], rows.n_tasks, task)
    while low < high:  # the first row with at least so much in front of it: a row costs as much as two updates
        row = (low + high) // 2
        if 2 * row + (<Py_ssize_t>rows.end[row - 1] if row else 0) < work:
            low = row + 1
        else:
            high = row
    return low


cdef void run_write(const Rows* rows, Py_ssize_t task) noexcept nogil:
    cdef Py_ssize_t row = first_row_of(rows, task)
    cdef Py_ssize_t stop = first_row_of(rows, task + 1) if task + 1 < rows.n_tasks else rows.n_rows
    if rows.job.step.reduction == ASSIGN:
        write_last(rows, row, stop)
    else:
        write_combined(rows, row, stop)
    if rows.streams:
        streamed()


cdef cloned_void combine_owned(const Rows* rows, Py_ssize_t low, Py_ssize_t width) noexcept nogil:
    """Combine the rows from low on with the updates of the round, in their order."""
    cdef const Job* job = rows.job
    cdef const Step* step = &job.step
    cdef const char* updates = job.updates + rows.start * rows.update_step
    cdef uint32_t owned[OWNED]
    cdef Py_ssize_t block, i, j, n, ahead = rows_ahead(job.row_bytes)
    for block in range((rows.n + OWNED - 1) // OWNED):
        n = 0
        for i in range(block * OWNED, min((block + 1) * OWNED, rows.n)):
            owned[n] = <uint32_t>i
            n += <uint32_t>rows.row[i] - <uint32_t>low < <uint32_t>width
        for j in range(n):
            if j + ahead < n:
                i = owned[j + ahead]
                ask_for_row(job.out + rows.row[i] * job.row_bytes, job.row_bytes)
                ask_for_row(updates + i * rows.update_step, job.row_bytes)
            i = owned[j]
            combine_any_run(step.number, step.reduction, job.out + rows.row[i] * job.row_bytes, step.row.item_bytes,
                            updates + i * rows.update_step, step.row.item_bytes, step.row.n_inner)


cdef void run_own(const Rows* rows, Py_ssize_t owner) noexcept nogil:
    """All updates of one owner's rows, as the updates lie: where they are more than the result, that is what counts."""
    cdef const Job* job = rows.job
    cdef Py_ssize_t low = first_row_of(rows, owner)
    cdef Py_ssize_t stop = first_row_of(rows, owner + 1) if owner + 1 < rows.n_tasks else rows.n_rows
    if rows.fresh:
        memcpy(job.out + low * job.row_bytes, job.data + low * job.row_bytes, (stop - low) * job.row_bytes)
    combine_owned(rows, low, stop - low)


cdef bint run_rows(Rows* rows, int n_threads, Py_ssize_t* bad) noexcept:
    """False: there is no memory for the lists, and nothing was done."""
    cdef Py_ssize_t status[MAX_TASKS]
    cdef Py_ssize_t n_tuples = rows.walk.n
    cdef Py_ssize_t tuple_bytes = sizeof(int32_t) + (sizeof(uint32_t) if rows.job.step.reduction != ASSIGN else 0)
    cdef Py_ssize_t per_round = min(n_tuples, <Py_ssize_t>RECORD_BYTES // tuple_bytes)
    cdef Py_ssize_t chunk, task
    rows.end = <uint32_t*>malloc(rows.n_rows * sizeof(uint32_t))
    rows.row = <int32_t*>malloc(per_round * tuple_bytes)
    if rows.end == NULL or rows.row == NULL:
        free(rows.end)
        free(rows.row)
        return False
    rows.order = <uint32_t*>(rows.row + per_round)
    rows.n_chunks = n_threads
    rows.by_update = rows.job.step.reduction != ASSIGN and n_tuples * rows.job.row_bytes > rows.job.out_bytes
    rows.n_tasks = min(rows.n_rows, <Py_ssize_t>min(n_threads if rows.by_update else 16 * n_threads, <int>MAX_TASKS))
    rows.fresh = True
    rows.start = 0
    bad[0] = OK
    while rows.start < n_tuples:
        rows.n = min(per_round, n_tuples - rows.start)
        for chunk in prange(rows.n_chunks, num_threads=n_threads, schedule="static", nogil=True):
            run_number(rows, chunk, &status[chunk])
        bad[0] = first_bad_of(status, rows.n_chunks)
        if bad[0] != OK:
            break
        for chunk in prange(rows.n_chunks, num_threads=n_threads, schedule="static", nogil=True):
            run_order(rows, chunk)
        if rows.by_update:
            for task in prange(rows.n_tasks, num_threads=n_threads, schedule="static", nogil=True):
                run_own(rows, task)
        else:
            for task in prange(rows.n_tasks, num_threads=n_threads, schedule="dynamic", chunksize=1, nogil=True):
                run_write(rows, task)
        rows.fresh = False
        rows.streams = False
        rows.start += rows.n
    free(rows.end)
    free(rows.row)
    return True


# PRIVATE

cdef enum:
    PRIVATE_BYTES = 1 << 18     # of a result
    MIN_PRIVATE = 64            # updates to a destination and thread, so that copies of it are small beside them


cdef inline bint is_private(const Job* job, Py_ssize_t reach, int n_threads) noexcept nogil:
    return (n_threads > 1 and INT8 <= job.step.number <= UINT64 and job.step.reduction != ASSIGN and job.by_value
            and job.low == 0 and reach + job.step.row.item_bytes == job.out_bytes and job.out_bytes <= PRIVATE_BYTES
            and n_threads * job.out_bytes <= RECORD_BYTES
            and job.walk.n // (MIN_PRIVATE * n_threads) >= job.out_bytes // job.step.row.item_bytes)


cdef void run_private(const Job* job, char* copies, Py_ssize_t chunk, Py_ssize_t n_chunks,
                      Py_ssize_t* status) noexcept nogil:
    """A chunk of the updates; the first one into the result itself."""
    cdef char* out = copies + (chunk - 1) * job.out_bytes if chunk else job.out
    apply_tuples(job, &job.step, out, job.updates, share(job.walk.n, n_chunks, chunk),
                 share(job.walk.n, n_chunks, chunk + 1), status)


cdef void start_private(const Job* job, char* copy) noexcept nogil:
    """What combining with leaves a number as it is."""
    cdef Py_ssize_t width = job.step.row.item_bytes, i
    cdef int8_t one8 = 1
    cdef int16_t one16 = 1
    cdef int32_t one32 = 1
    cdef int64_t one64 = 1
    cdef void* one = &one8
    if width > 1:
        one = <void*>&one16 if width == 2 else <void*>&one32 if width == 4 else <void*>&one64
    if job.step.reduction == ADD:
        memset(copy, 0, job.out_bytes)
    elif job.step.reduction == MUL:
        for i in range(job.out_bytes // width):
            memcpy(copy + i * width, one, width)
    else:
        memcpy(copy, job.out, job.out_bytes)


cdef cloned_void combine_private(const Job* job, const char* copy) noexcept nogil:
    cdef Py_ssize_t width = job.step.row.item_bytes
    combine_any_run(job.step.number, job.step.reduction, job.out, width, copy, width, job.out_bytes // width)


cdef bint run_privates(Job* job, int n_threads, Py_ssize_t* bad) noexcept:
    """False: there is no memory for the copies, and nothing was done."""
    cdef Py_ssize_t status[MAX_TASKS]
    cdef Py_ssize_t chunk
    cdef char* copies = <char*>malloc((n_threads - 1) * job.out_bytes)
    if copies == NULL:
        return False
    for chunk in range(n_threads - 1):
        start_private(job, copies + chunk * job.out_bytes)
    for chunk in prange(n_threads, num_threads=n_threads, schedule="static", nogil=True):
        run_private(job, copies, chunk, n_threads, &status[chunk])
    for chunk in range(n_threads - 1):
        combine_private(job, copies + chunk * job.out_bytes)
    free(copies)
    bad[0] = first_bad_of(status, n_threads)
    return True


cdef Py_ssize_t run(Job* job, int limit) noexcept:
    """Choose the way and go it. Returns OK or the place of the first bad index, in row-major order."""
    cdef Py_ssize_t status[MAX_TASKS]
    cdef Py_ssize_t n_tuples = job.walk.n
    cdef Py_ssize_t row_items = job.step.row.outer.n * job.step.row.n_inner
    cdef double row_bytes = <double>row_items * job.step.row.item_bytes
    cdef double work_ns = <double>n_tuples * (job.tuples.k + row_items + row_bytes / 8)
    cdef int n_threads
    cdef Py_ssize_t task, n_tasks, wanted, bad, far, reach = 0
    cdef int d
    cdef Rows rows

    if job.data != NULL:
        work_ns += <double>job.out_bytes / 8
    n_threads = team_size(limit, work_ns)
    wanted = min(<Py_ssize_t>(n_threads * TASKS_PER_THREAD), <Py_ssize_t>MAX_TASKS)

    if job.n_units >= wanted and (n_threads > 1 or n_tuples >= MIN_PARTITION):
        job.units_per_task = (job.n_units + wanted - 1) // wanted
        n_tasks = (job.n_units + job.units_per_task - 1) // job.units_per_task
        if job.unit_bytes == 0:  # units of the result are not those of data's memory
            copy_data(job, limit)
        if n_threads == 1:
            with nogil:
                for task in range(n_tasks):
                    run_units(job, task, &status[task])
        else:
            for task in prange(n_tasks, num_threads=n_threads, schedule="dynamic", chunksize=1, nogil=True):
                run_units(job, task, &status[task])
        return first_bad_of(status, n_tasks)

    if describe_rows(&rows, job, n_threads, limit < -1) and run_rows(&rows, n_threads, &bad):
        return bad

    if n_threads > 1 and row_bytes >= LONG_ROW:
        if job.step.row.outer.n > 1:
            job.row_units = job.step.row.outer.shape[0]
        elif job.step.row.n_inner > 1:
            job.row_units = job.step.row.n_inner
        else:
            job.row_units = job.step.row.item_bytes
        if job.row_units >= n_threads:
            copy_data(job, limit)
            job.row_units_per_task = (job.row_units + n_threads - 1) // n_threads
            if job.row_units_per_task > LINE:
                job.row_units_per_task = (job.row_units_per_task + LINE - 1) // LINE * LINE
            n_tasks = (job.row_units + job.row_units_per_task - 1) // job.row_units_per_task
            for task in prange(n_tasks, num_threads=n_threads, schedule="static", nogil=True):
                run_piece(job, task, &status[task])
            return first_bad_of(status, n_tasks)

    # Every offset lies between low and low + reach.
    job.low = 0
    for d in range(job.walk.n_dims):
        reach += add_reach(job, job.walk.stride[d][DATA], job.walk.shape[d])
    for d in range(job.tuples.k):
        reach += add_reach(job, job.tuples.stride[d], job.tuples.size[d])
    job.shift = 18
    while reach >> job.shift >= MAX_TILES:
        job.shift += 1
    while job.shift > 6 and (reach >> job.shift) + 1 < min(4 * n_threads, <int>MAX_TILES // 2):
        job.shift -= 1
    job.n_tiles = (reach >> job.shift) + 1
    job.by_value = travels_by_value(&job.step)
    job.payload_bytes = job.step.row.item_bytes if job.by_value else 8
    job.record_bytes = <Py_ssize_t>sizeof(uint32_t) + job.payload_bytes
    if is_private(job, reach, n_threads):
        copy_data(job, limit)
        if run_privates(job, n_threads, &bad):
            return bad
    # Two passes more over the updates, shared by the threads, against one thread's misses.
    far = min(max(<Py_ssize_t>FAR_CACHE, last_cache()), <Py_ssize_t>MAX_FAR_CACHE)
    far = max(far // (n_threads * n_threads), <Py_ssize_t>(2 * TILE_BYTES))
    if ((n_tuples >= MIN_PARTITION and reach >= far) or limit < -1) and job.shift < 32 and row_items:
        if limit < -1 or is_scattered(job):
            if job.row_bytes == 0:  # rows of the result are not those of data's memory
                copy_data(job, limit)
            if run_partition(job, n_threads, &bad):
                return bad

    copy_data(job, limit)
    with nogil:
        run_serial(job, &status[0])
    return status[0]


cdef inline Py_ssize_t add_reach(Job* job, Py_ssize_t stride, Py_ssize_t n) noexcept nogil:
    if stride < 0:
        job.low += stride * (n - 1)
        stride = -stride
    return stride * (n - 1) if n > 0 else 0


cdef void describe_units(Job* job, Kind kind, cnp.ndarray out, cnp.ndarray indices, int axis, int batch_dims) noexcept:
    """Leading axes that place and destination share: updates of different positions there never meet."""
    cdef int leading = axis if kind != Kind.ND else batch_dims
    cdef int d
    cdef bint aligned = True
    job.n_units = 1
    job.unit_bytes = cnp.PyArray_ITEMSIZE(out)
    for d in range(cnp.PyArray_NDIM(out)):
        if d >= leading:
            job.unit_bytes *= cnp.PyArray_DIM(out, d)
        else:
            job.n_units *= cnp.PyArray_DIM(indices, d) if kind != Kind.AXIS else cnp.PyArray_DIM(out, d)
            if kind == Kind.ELEMENTS and cnp.PyArray_DIM(indices, d) != cnp.PyArray_DIM(out, d):
                aligned = False
    job.unit_tuples = job.walk.n // max(job.n_units, <Py_ssize_t>1)
    if not aligned or job.data == NULL:
        job.unit_bytes = 0


def scatter(int kind, cnp.ndarray data, cnp.ndarray indices not None, cnp.ndarray updates not None,
            cnp.ndarray out not None, int axis, int batch_dims, int mode, int reduction, int number, int limit):
    """Apply updates to out at the places that indices name, for a plan that holds.

    data: what out is to start from, contiguous as out then is; None if out holds it already. number: the dtype's
    arithmetic (no number for an assignment). out does not overlap itself nor any other array. With a bad index
    out may be partly written: the caller checks first where that matters. Answers as gather does.
    """
    return scatter_into(<Kind>kind, data, indices, updates, out, axis, batch_dims, <Mode>mode, reduction, number, limit)


cdef Py_ssize_t scatter_into(Kind kind, cnp.ndarray data, cnp.ndarray indices, cnp.ndarray updates, cnp.ndarray out,
                             int axis, int batch_dims, Mode mode, int reduction, int number, int limit) noexcept:
    cdef Job job
    cdef int row_axis, updates_axis, d
    cdef Py_ssize_t width

    if not describe(kind, out, indices, updates, axis, batch_dims, mode, &job.tuples, &job.walk,
                    &row_axis, &updates_axis):
        return INDEX_DTYPE
    job.out = cnp.PyArray_BYTES(out)
    job.out_bytes = cnp.PyArray_NBYTES(out)
    job.data = cnp.PyArray_BYTES(data) if data is not None else NULL
    job.updates = cnp.PyArray_BYTES(updates)
    job.step.reduction = <Reduction>reduction
    job.step.number = <Number>number
    job.step.swapped = 0
    if reduction != ASSIGN and cnp.PyArray_ISBYTESWAPPED(out):
        width = cnp.PyArray_ITEMSIZE(out)
        job.step.swapped = <int>(width // 2 if out.descr.kind == c'c' else width)
    if job.walk.n == 0:
        copy_data(&job, limit)
        return OK
    describe_row(&job.step.row, out, row_axis, updates, updates_axis, PY_SSIZE_T_MAX, reduction != ASSIGN)
    if job.step.row.item_bytes == 0:  # rows without elements: nothing but the indices to check
        job.step.reduction = ASSIGN
    job.row_bytes = 0
    if job.data != NULL:
        job.row_bytes = cnp.PyArray_ITEMSIZE(out)
        for d in range(row_axis, cnp.PyArray_NDIM(out)):
            job.row_bytes *= cnp.PyArray_DIM(out, d)
    job.updates_are_linear = is_linear(&job.walk, BESIDE)
    job.streams = job.out_bytes >= STREAM_BYTES and can_stream()
    describe_units(&job, kind, out, indices, axis, batch_dims)
    return run(&job, limit)


cdef dict REDUCTIONS = {"none": ASSIGN, "add": ADD, "mul": MUL, "max": MAX, "min": MIN}


cdef inline int number_of(cnp.dtype dtype) noexcept:
    """Arithmetic of NumPy's own dtypes: they stand in src/numbers.pxd by kind, then by width."""
    cdef Py_ssize_t width = dtype.itemsize
    cdef char kind = dtype.kind
    cdef int order = 0 if width == 1 else 1 if width == 2 else 2 if width == 4 else 3
    if kind == c'b':
        return Number.BOOLEAN
    if kind == c'i':
        return Number.INT8 + order
    if kind == c'u':
        return Number.UINT8 + order
    if kind == c'f' and width <= 8:
        return Number.FLOAT16 if width == 2 else Number.FLOAT32 + order - 2
    if kind == c'c' and width <= 16:
        return Number.COMPLEX64 if width == 8 else Number.COMPLEX128
    return Number.NO_NUMBER


def try_scatter(int kind, cnp.ndarray data not None, cnp.ndarray indices not None, cnp.ndarray updates not None, axis,
                batch_dims, reduction, int limit):
    """A copy of data with the updates in it; None for a call that has to be explained or done in another way."""
    cdef Small call
    cdef cnp.ndarray out
    cdef object found = REDUCTIONS.get(reduction)
    cdef int step, d, number = Number.NO_NUMBER

    if found is None or not describe_small(&call, <Kind>kind, data, indices, axis, batch_dims):
        return None
    step = found
    if step != ASSIGN:
        number = number_of(data.descr)
        if number == Number.NO_NUMBER or (number >= Number.COMPLEX64 and step >= MAX):
            return None
    if cnp.PyArray_NDIM(updates) != call.n_dims:
        return None
    for d in range(call.n_dims):
        if cnp.PyArray_DIM(updates, d) != call.shape[d]:
            return None
    if (updates.descr is not data.descr and updates.descr != data.descr) or not cnp.PyArray_IS_C_CONTIGUOUS(data):
        return None
    out = new_array(data, cnp.PyArray_NDIM(data), <const Py_ssize_t*>cnp.PyArray_DIMS(data))
    if out is None or scatter_into(<Kind>kind, data, indices, updates, out, call.axis, call.batch_dims, Mode.RAISE,
                                   step, number, limit) != OK:
        return None
    return out


def count_rows(int kind, cnp.ndarray numbering not None, cnp.ndarray indices not None, int axis, int batch_dims,
               int mode, Py_ssize_t start, cnp.ndarray counts not None):
    """counts[i] += how often indices name row start + i. numbering: an array whose offsets number the rows."""
    cdef Tuples tuples
    cdef Walk walk
    cdef Place at
    cdef int64_t offsets[BLOCK]
    cdef int64_t* count = <int64_t*>cnp.PyArray_DATA(counts)
    cdef int64_t n_counts = cnp.PyArray_SIZE(counts)
    cdef int row_axis, beside_axis
    cdef Py_ssize_t n = 0, i, done = 0
    if not describe(<Kind>kind, numbering, indices, None, axis, batch_dims, <Mode>mode, &tuples, &walk, &row_axis,
                    &beside_axis):
        return INDEX_DTYPE
    with nogil:
        seek(&walk, 0, &at)
        while done < walk.n:
            resolve_block(&tuples, &walk, &at, min(<Py_ssize_t>BLOCK, walk.n - done), False, offsets, &n)
            if n < 0:
                break
            for i in range(n):
                if offsets[i] != SKIPPED and 0 <= offsets[i] - start < n_counts:
                    count[offsets[i] - start] += 1
            done += n
    return OK if n >= 0 else done * tuples.k - 1 - n
