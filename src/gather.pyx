# cython: language_level=3, freethreading_compatible=True, boundscheck=False, wraparound=False, cdivision=True
"""Gathers: resolve a block of index tuples to offsets, then copy a row from each.

    gather                 checks dtypes, describes the work (Job), decides on threads
      ├─ gather_columns        *_elements along an axis of long steps (Columns)
      └─ prange ─ run_task     one chunk of tuples × one chunk of the row
           ├─ run_runs             plain tuples that name single elements: a loop of their own
           ├─ resolve_block        a block of tuples → offsets            (resolve.pxd)
           └─ move_block           for each outer row position: the block's items
                └─ move_items          constant width, compiled per width

Kernels report, Python explains: what comes back is OK, the place of the first bad index, or why not.
"""
from cpython.mem cimport PyMem_RawFree as free, PyMem_RawMalloc as malloc  # so that tracemalloc sees it
from cython.parallel cimport prange, threadid
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.string cimport memcpy
cimport numpy as cnp

from items cimport (
    LINE, MAX_ITEM, bytes3, bytes6, bytes12, bytes16, bytes24, bytes32, bytes64, cloned_void, index_t, inline_void,
    item_t, prefetch,
)
from resolve cimport (
    BESIDE, BLOCK, DATA, INDEX_DTYPE, INDICES, OK, REFERENCES, SKIPPED, Kind, Mode, Place, Tuples, Walk,
    add_axis, advance, are_plain, describe, find_plain, finish_walk, is_linear, load_any, place, resolve_block,
    resolve_plain, seek, start_walk,
)
from rows cimport Row, abs_stride, cut_row, describe_row, empty_row
from stream cimport STREAM_BYTES, STREAM_ROW, can_stream, stream_block, stream_rows, streamed
from small cimport Small, describe_small, new_array
from threads cimport MAX_TASKS, TASKS_PER_THREAD, team_size

cnp.import_array()

cdef extern from "numpy/arrayobject.h":
    Py_ssize_t PY_SSIZE_T_MAX
    bint PyDataType_REFCHK(cnp.dtype) nogil  # whether items own references

cdef enum:
    # Data that spans less than this lies in the second cache level anyhow.
    PREFETCH_SPAN = 1 << 19

cdef struct Job:
    Tuples tuples
    Walk walk
    Row row
    const char* data
    char* out
    const char* fill       # one element
    bint has_runs
    bint streams           # what is long enough goes past the caches
    bint far               # data is too large for the caches near the core
    Py_ssize_t itemsize
    bint out_is_linear     # over the walk
    Py_ssize_t tuples_per_task
    Py_ssize_t row_units   # along the axis of the row that is cut
    Py_ssize_t units_per_task
    Py_ssize_t cuts        # of the row


cdef inline inline_void move_items(item_t* kind, const char* data, const int64_t* offsets, Py_ssize_t n,
                                   const char* fill, char* out, Py_ssize_t out_step, Py_ssize_t n_inner,
                                   Py_ssize_t inner_data, Py_ssize_t inner_out) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef const char* source
    cdef item_t item
    if n_inner == 1 and fill == NULL:
        for i in range(n):
            memcpy(&item, data + offsets[i], sizeof(item_t))
            memcpy(out + i * out_step, &item, sizeof(item_t))
        return
    if n_inner == 1:
        for i in range(n):
            source = fill if offsets[i] == SKIPPED else data + offsets[i]
            memcpy(&item, source, sizeof(item_t))
            memcpy(out + i * out_step, &item, sizeof(item_t))
        return
    for i in range(n):
        if offsets[i] == SKIPPED:
            for j in range(n_inner):
                memcpy(out + i * out_step + j * inner_out, fill, sizeof(item_t))
        else:
            for j in range(n_inner):
                memcpy(&item, data + offsets[i] + j * inner_data, sizeof(item_t))
                memcpy(out + i * out_step + j * inner_out, &item, sizeof(item_t))


cdef inline inline_void move_width(item_t* kind, const Row* row, const char* data, const int64_t* offsets,
                                   Py_ssize_t n, const char* fill, char* out, Py_ssize_t out_step) noexcept nogil:
    """Items as wide as what kind points to, which is never read."""
    # The common layout gets its strides as constants.
    if row.n_inner == 1 and out_step == sizeof(item_t) and fill == NULL:
        move_items(kind, data, offsets, n, NULL, out, sizeof(item_t), 1, 0, 0)
    elif row.n_inner == 1 and out_step == sizeof(item_t):
        move_items(kind, data, offsets, n, fill, out, sizeof(item_t), 1, 0, 0)
    else:
        move_items(kind, data, offsets, n, fill, out, out_step, row.n_inner, row.inner_data, row.inner_beside)


cdef inline void repeat(const char* element, Py_ssize_t itemsize, Py_ssize_t n_bytes, char* out) noexcept nogil:
    cdef Py_ssize_t i = 0
    while i < n_bytes:
        memcpy(out + i, element, itemsize)
        i += itemsize


cdef inline void move_long(const Row* row, const char* data, const int64_t* offsets, Py_ssize_t n, const char* fill,
                           Py_ssize_t itemsize, char* out, Py_ssize_t out_step) noexcept nogil:
    """Items of any other width."""
    cdef Py_ssize_t i, j
    cdef char* target
    for i in range(n):
        for j in range(row.n_inner):
            target = out + i * out_step + j * row.inner_beside
            if offsets[i] == SKIPPED:
                repeat(fill, itemsize, row.item_bytes, target)
            else:
                memcpy(target, data + offsets[i] + j * row.inner_data, row.item_bytes)


cdef inline void move_lines(const char* data, const int64_t* offsets, Py_ssize_t n, Py_ssize_t item_bytes, char* out,
                            Py_ssize_t out_step) noexcept nogil:
    """Long items that lie together in data and in out."""
    cdef Py_ssize_t i
    for i in range(n):
        memcpy(out + i * out_step, data + offsets[i], item_bytes)


cdef cloned_void move_block(const Job* job, const Row* row, const char* data, const int64_t* offsets,
                            Py_ssize_t n, const char* fill, char* out, Py_ssize_t out_step) noexcept nogil:
    """One item each for the tuples of a block. fill: the whole item where it has a width of its own."""
    if row.item_bytes == 4:
        move_width(<uint32_t*>NULL, row, data, offsets, n, fill, out, out_step)
    elif row.item_bytes == 8:
        move_width(<uint64_t*>NULL, row, data, offsets, n, fill, out, out_step)
    elif row.item_bytes == 1:
        move_width(<uint8_t*>NULL, row, data, offsets, n, fill, out, out_step)
    elif row.item_bytes == 2:
        move_width(<uint16_t*>NULL, row, data, offsets, n, fill, out, out_step)
    elif row.item_bytes == 3:
        move_width(<bytes3*>NULL, row, data, offsets, n, fill, out, out_step)
    elif row.item_bytes == 6:
        move_width(<bytes6*>NULL, row, data, offsets, n, fill, out, out_step)
    elif row.item_bytes == 12:
        move_width(<bytes12*>NULL, row, data, offsets, n, fill, out, out_step)
    elif row.item_bytes == 16:
        move_width(<bytes16*>NULL, row, data, offsets, n, fill, out, out_step)
    elif row.item_bytes == 24:
        move_width(<bytes24*>NULL, row, data, offsets, n, fill, out, out_step)
    elif row.item_bytes == 32:
        move_width(<bytes32*>NULL, row, data, offsets, n, fill, out, out_step)
    elif row.item_bytes == 64:
        move_width(<bytes64*>NULL, row, data, offsets, n, fill, out, out_step)
    elif job.streams and row.item_bytes >= STREAM_ROW and row.n_inner == 1 and fill == NULL:
        stream_rows(out, out_step, data, offsets, n, row.item_bytes)
    elif row.n_inner == 1 and fill == NULL:
        move_lines(data, offsets, n, row.item_bytes, out, out_step)
    else:
        move_long(row, data, offsets, n, fill, job.itemsize, out, out_step)


cdef inline inline_void prefetch_block(const char* data, const int64_t* offsets, Py_ssize_t n) noexcept nogil:
    """Ask for a block's lines at once: on its own the core waits for fewer of them at a time."""
    cdef Py_ssize_t i
    for i in range(n):
        prefetch(<const void*>(<uintptr_t>data + <uintptr_t>offsets[i]))


# Plain tuples that name single elements, one beside the other in out: the whole run in one loop.

cdef enum:
    SHORT = 64      # elements resolved, and asked for, while those in front of them are moved
    MAX_PLAIN = 16  # bytes of the widest


cdef inline inline_void move_short(item_t* kind, const char* data, const int64_t* offsets, char* out) noexcept nogil:
    """Four at a time, for which the compiler would want to be asked by a flag of its own."""
    cdef Py_ssize_t i
    cdef item_t item, item1, item2, item3
    for i in range(0, SHORT, 4):
        memcpy(&item, data + offsets[i], sizeof(item_t))
        memcpy(&item1, data + offsets[i + 1], sizeof(item_t))
        memcpy(&item2, data + offsets[i + 2], sizeof(item_t))
        memcpy(&item3, data + offsets[i + 3], sizeof(item_t))
        memcpy(out + i * <Py_ssize_t>sizeof(item_t), &item, sizeof(item_t))
        memcpy(out + (i + 1) * <Py_ssize_t>sizeof(item_t), &item1, sizeof(item_t))
        memcpy(out + (i + 2) * <Py_ssize_t>sizeof(item_t), &item2, sizeof(item_t))
        memcpy(out + (i + 3) * <Py_ssize_t>sizeof(item_t), &item3, sizeof(item_t))


cdef inline inline_void move_plain(item_t* kind, index_t* index_kind, int k, const Job* job, const char* data,
                                   const char* p, int64_t start, int64_t start_step, Py_ssize_t n, char* out,
                                   int64_t* outside) noexcept nogil:
    cdef int64_t even[SHORT]
    cdef int64_t odd[SHORT]
    cdef int64_t* offsets = even
    cdef int64_t* later = odd
    cdef int64_t* swap
    cdef Py_ssize_t i, n_offsets = 0, n_later, resolved = 0
    cdef item_t item
    cdef char room[SHORT * MAX_PLAIN + LINE]
    cdef char* near = <char*>((<uintptr_t>room + LINE - 1) & ~<uintptr_t>(LINE - 1))
    cdef bint streams = job.streams and <uintptr_t>out % LINE == 0
    while True:
        n_later = min(<Py_ssize_t>SHORT, n - resolved)
        if n_later == SHORT:
            resolve_plain(index_kind, k, &job.tuples, p, start, start_step, SHORT, later, outside)
        else:
            resolve_plain(index_kind, k, &job.tuples, p, start, start_step, n_later, later, outside)
        if outside[0] < 0:
            return
        if job.far:
            prefetch_block(data, later, n_later)
        p += n_later * k * <Py_ssize_t>sizeof(index_t)
        start += n_later * start_step
        resolved += n_later
        if n_offsets == SHORT:
            if streams:
                move_short(kind, data, offsets, near)
                stream_block(out, near, SHORT * sizeof(item_t))
            else:
                move_short(kind, data, offsets, out)
        else:
            for i in range(n_offsets):
                memcpy(&item, data + offsets[i], sizeof(item_t))
                memcpy(out + i * <Py_ssize_t>sizeof(item_t), &item, sizeof(item_t))
        out += n_offsets * <Py_ssize_t>sizeof(item_t)
        if n_later == 0:
            return
        swap = offsets
        offsets = later
        later = swap
        n_offsets = n_later


cdef inline inline_void move_plain_indices(item_t* kind, const Job* job, const char* data, const char* p,
                                           int64_t start, int64_t start_step, Py_ssize_t n, char* out,
                                           int64_t* outside) noexcept nogil:
    if job.tuples.width == 8 and job.tuples.k == 1:
        move_plain(kind, <int64_t*>NULL, 1, job, data, p, start, start_step, n, out, outside)
    elif job.tuples.width == 8:
        move_plain(kind, <int64_t*>NULL, 2, job, data, p, start, start_step, n, out, outside)
    elif job.tuples.k == 1:
        move_plain(kind, <int32_t*>NULL, 1, job, data, p, start, start_step, n, out, outside)
    else:
        move_plain(kind, <int32_t*>NULL, 2, job, data, p, start, start_step, n, out, outside)


cdef cloned_void move_run(const Job* job, const char* data, const char* p, int64_t start, int64_t start_step,
                          Py_ssize_t n, char* out, int64_t* outside) noexcept nogil:
    if job.itemsize == 4:
        move_plain_indices(<uint32_t*>NULL, job, data, p, start, start_step, n, out, outside)
    elif job.itemsize == 8:
        move_plain_indices(<uint64_t*>NULL, job, data, p, start, start_step, n, out, outside)
    elif job.itemsize == 2:
        move_plain_indices(<uint16_t*>NULL, job, data, p, start, start_step, n, out, outside)
    elif job.itemsize == 1:
        move_plain_indices(<uint8_t*>NULL, job, data, p, start, start_step, n, out, outside)
    else:
        move_plain_indices(<bytes16*>NULL, job, data, p, start, start_step, n, out, outside)


cdef bint has_runs(const Job* job) noexcept nogil:
    cdef int inner = job.walk.n_dims - 1
    return (job.walk.shape[inner] >= SHORT and job.row.outer.n == 1 and job.row.n_inner == 1
            and job.row.item_bytes == job.itemsize and job.walk.stride[inner][BESIDE] == job.itemsize
            and (job.itemsize <= 2 or job.itemsize == 4 or job.itemsize == 8 or job.itemsize == 16)
            and are_plain(&job.tuples, job.tuples.base, job.walk.stride[inner][INDICES]))


cdef bint run_runs(const Job* job, Py_ssize_t task) noexcept nogil:
    """As run_task. False: an index is out of bounds, or indices that are not aligned. The plain way finds out."""
    cdef Place at
    cdef Py_ssize_t start = task * job.tuples_per_task
    cdef Py_ssize_t stop = min(start + job.tuples_per_task, job.walk.n)
    cdef Py_ssize_t n
    cdef int inner = job.walk.n_dims - 1
    cdef int64_t outside = 0
    cdef const char* p
    seek(&job.walk, start, &at)
    while start < stop:
        n = min(job.walk.shape[inner] - at.coordinate[inner], stop - start)
        p = job.tuples.base + at.offset[INDICES]
        if <uintptr_t>p % job.tuples.width != 0:
            return False
        move_run(job, job.data, p, at.offset[DATA], job.walk.stride[inner][DATA], n, job.out + at.offset[BESIDE],
                 &outside)
        if outside < 0:
            return False
        advance(&job.walk, n, &at)
        start += n
    if job.streams:
        streamed()
    return True


cdef void run_task(const Job* job, Py_ssize_t task, Py_ssize_t* status) noexcept nogil:
    """One chunk of the tuples, one part of their rows. status: OK or the place of the first bad index."""
    cdef int64_t even[BLOCK]
    cdef int64_t odd[BLOCK]
    cdef int64_t* offsets = even
    cdef int64_t* later = odd
    cdef char fill_item[MAX_ITEM]
    cdef Place at, piece
    cdef Row row
    cdef const char* data = job.data
    cdef char* out = job.out
    cdef const char* fill = job.fill
    cdef Py_ssize_t data_shift = 0, out_shift = 0
    cdef Py_ssize_t n, n_later, later_out, block_out = 0, _piece
    cdef int64_t* swap
    cdef Py_ssize_t start = task // job.cuts * job.tuples_per_task
    cdef Py_ssize_t stop = min(start + job.tuples_per_task, job.walk.n)
    cdef Py_ssize_t unit = task % job.cuts * job.units_per_task
    cdef int inner = job.walk.n_dims - 1
    cdef Py_ssize_t out_step = job.walk.stride[inner][BESIDE]

    status[0] = OK
    if job.has_runs and run_runs(job, task):
        return
    cut_row(&job.row, unit, min(unit + job.units_per_task, job.row_units), &row, &data_shift, &out_shift)
    data += data_shift
    out += out_shift
    if fill != NULL and row.item_bytes <= MAX_ITEM and row.item_bytes > job.itemsize:
        repeat(fill, job.itemsize, row.item_bytes, fill_item)
        fill = fill_item

    # A block is resolved, and its lines are asked for, before the block in front of it is moved: so the core has loads
    # to wait for side by side.
    seek(&job.walk, start, &at)
    n = 0
    while True:
        later_out = at.offset[BESIDE]
        n_later = 0
        if start < stop:
            resolve_block(&job.tuples, &job.walk, &at, min(<Py_ssize_t>BLOCK, stop - start), not job.out_is_linear,
                          later, &n_later)
            if n_later < 0:
                status[0] = start * job.tuples.k - 1 - n_later
                return
            start += n_later
            # Tuples that walk along, as in a warped image, are seen coming by the hardware.
            if (job.far and 0 < row.item_bytes <= LINE
                    and not -n_later * LINE < later[n_later - 1] - later[0] < n_later * LINE):
                prefetch_block(data, later, n_later)
        if n:
            seek(&row.outer, 0, &piece)
            for _piece in range(row.outer.n):
                move_block(job, &row, data + piece.offset[DATA], offsets, n, fill,
                           out + block_out + piece.offset[BESIDE], out_step)
                advance(&row.outer, 1, &piece)
        elif n_later == 0:
            break
        swap = offsets
        offsets = later
        later = swap
        n = n_later if row.item_bytes else 0
        block_out = later_out
    if job.streams:
        streamed()
    status[0] = OK


cdef Py_ssize_t run(Job* job, int limit) noexcept:
    """Cut the job into tasks and run them. Returns OK or the place of the first bad index, in row-major order."""
    cdef Py_ssize_t status[MAX_TASKS]
    cdef Py_ssize_t n_tuples = job.walk.n
    cdef Py_ssize_t row_items = job.row.outer.n * job.row.n_inner
    cdef double bytes_moved = <double>n_tuples * row_items * job.row.item_bytes
    # Nanoseconds, roughly: a value resolved, an item touched, 8 bytes moved.
    cdef double work_ns = <double>n_tuples * (job.tuples.k + row_items) + bytes_moved / 8
    cdef int n_threads = team_size(limit, work_ns)
    cdef Py_ssize_t n_tasks = 1, wanted, task, unit

    job.cuts = 1
    job.tuples_per_task = n_tuples
    unit = 1
    if job.row.outer.n > 1:
        job.row_units = job.row.outer.shape[0]
    elif job.row.n_inner > 1:
        job.row_units = job.row.n_inner
    else:
        job.row_units = job.row.item_bytes
        unit = job.itemsize * MAX_ITEM  # whole elements, whole cache lines
    job.units_per_task = max(job.row_units, <Py_ssize_t>1)

    if n_threads > 1:
        wanted = min(<Py_ssize_t>(n_threads * TASKS_PER_THREAD), <Py_ssize_t>MAX_TASKS)
        if n_tuples >= wanted:
            job.tuples_per_task = (n_tuples + wanted - 1) // wanted
            if job.tuples_per_task > BLOCK:  # whole blocks
                job.tuples_per_task = (job.tuples_per_task + BLOCK - 1) // BLOCK * BLOCK
        else:  # few tuples, so long rows
            job.tuples_per_task = 1
            if job.row_units > unit:
                wanted = (wanted + n_tuples - 1) // n_tuples
                job.units_per_task = (job.row_units + wanted - 1) // wanted
                job.units_per_task = (job.units_per_task + unit - 1) // unit * unit
                job.cuts = (job.row_units + job.units_per_task - 1) // job.units_per_task
        n_tasks = (n_tuples + job.tuples_per_task - 1) // job.tuples_per_task * job.cuts
        n_threads = <int>min(<Py_ssize_t>n_threads, n_tasks)

    # prange enters a parallel region even for one thread, which costs more than a small gather.
    if n_threads == 1:
        job.cuts = 1
        job.tuples_per_task = n_tuples
        job.units_per_task = max(job.row_units, <Py_ssize_t>1)
        with nogil:
            run_task(job, 0, &status[0])
        return status[0]
    for task in prange(n_tasks, num_threads=n_threads, schedule="dynamic", chunksize=1, nogil=True):
        run_task(job, task, &status[task])
    for task in range(n_tasks):
        if status[task] != OK:
            return status[task]
    return OK


# Elements along an axis whose steps are long, other than the innermost: columns. A tile of columns is first packed
# so that it lies in L2 as a whole, where each element would otherwise cost a line of its own.
#
#     data (size × columns) ── pack ──> tile (size × TILE_COLUMNS bytes) ── gather ──> the same columns of out

cdef enum:
    COLUMN_BYTES = 128          # of a tile's rows: two lines, which the hardware fetches together
    COLUMN_TILE = 1 << 20       # bytes of a tile, at most
    COLUMN_WORK = 1 << 20       # bytes of data from which on it is worth it

cdef struct Columns:
    Tuples tuples
    Walk outer                  # the axes besides these two: INDICES, DATA, BESIDE (out)
    Py_ssize_t size             # of data along the axis
    Py_ssize_t n_rows           # of indices along the axis
    Py_ssize_t n_columns
    Py_ssize_t data_row, index_row, out_row     # steps along the axis
    Py_ssize_t index_column
    Py_ssize_t per_tile         # columns
    Py_ssize_t n_tiles
    int width                   # bytes of an element, which is also the step along the columns
    const char* data
    char* out
    const char* fill


cdef inline inline_void move_columns(item_t* kind, const char* tile, const int64_t* offsets, Py_ssize_t n_columns,
                                     const char* fill, char* out) noexcept nogil:
    cdef Py_ssize_t j
    cdef const char* source
    cdef item_t item
    for j in range(n_columns):
        source = tile + offsets[j]
        if fill != NULL:
            source = fill if offsets[j] == SKIPPED else source
        memcpy(&item, source, sizeof(item_t))
        memcpy(out + j * <Py_ssize_t>sizeof(item_t), &item, sizeof(item_t))


cdef inline inline_void move_plain_columns(item_t* kind, index_t* index_kind, const Columns* job, const char* tile,
                                           Py_ssize_t n_columns, const char* indices, char* out,
                                           int64_t* outside) noexcept nogil:
    """Row by row, each resolved before the one in front of it is moved."""
    cdef int64_t offsets[2 * COLUMN_BYTES]
    cdef Py_ssize_t row
    for row in range(job.n_rows + 1):
        if row < job.n_rows:
            resolve_plain(index_kind, 1, &job.tuples, indices + row * job.index_row, 0, sizeof(item_t), n_columns,
                          offsets + (row & 1) * COLUMN_BYTES, outside)
            if outside[0] < 0:
                return
        if row > 0:
            move_columns(kind, tile, offsets + (row - 1 & 1) * COLUMN_BYTES, n_columns, NULL,
                         out + (row - 1) * job.out_row)


cdef inline inline_void move_column_tile(item_t* kind, const Columns* job, const char* tile, Py_ssize_t n_columns,
                                         const char* indices, char* out, int64_t* outside) noexcept nogil:
    cdef int64_t offsets[COLUMN_BYTES]
    cdef Py_ssize_t row
    cdef uint64_t bad = 0
    if job.tuples.plain and n_columns * <Py_ssize_t>sizeof(item_t) == COLUMN_BYTES:  # which the compiler then knows
        if job.tuples.width == 8:
            move_plain_columns(kind, <int64_t*>NULL, job, tile, COLUMN_BYTES // sizeof(item_t), indices, out, outside)
        else:
            move_plain_columns(kind, <int32_t*>NULL, job, tile, COLUMN_BYTES // sizeof(item_t), indices, out, outside)
        return
    for row in range(job.n_rows):
        load_any(&job.tuples, indices + row * job.index_row, job.index_column, n_columns, job.size, offsets)
        place(job.tuples.mode, offsets, n_columns, job.size, n_columns * <Py_ssize_t>sizeof(item_t), True, 0,
              sizeof(item_t), offsets, &bad)
        if bad:
            outside[0] = -1
            return
        move_columns(kind, tile, offsets, n_columns, job.fill, out + row * job.out_row)


cdef cloned_void run_columns(const Columns* job, Py_ssize_t task, char* tile, Py_ssize_t* status) noexcept nogil:
    """One tile of columns at one position of the other axes. status: OK, or anything else for a bad index."""
    cdef Place at
    cdef Py_ssize_t column = task % job.n_tiles * job.per_tile
    cdef Py_ssize_t n_columns = min(job.per_tile, job.n_columns - column)
    cdef Py_ssize_t row_bytes = n_columns * job.width
    cdef Py_ssize_t i
    cdef const char* data
    cdef const char* indices
    cdef char* out
    cdef int64_t outside = 0

    seek(&job.outer, task // job.n_tiles, &at)
    data = job.data + at.offset[DATA] + column * job.width
    indices = job.tuples.base + at.offset[INDICES] + column * job.index_column
    out = job.out + at.offset[BESIDE] + column * job.width
    if row_bytes == COLUMN_BYTES:
        for i in range(job.size):
            memcpy(tile + i * COLUMN_BYTES, data + i * job.data_row, COLUMN_BYTES)
    else:
        for i in range(job.size):
            memcpy(tile + i * row_bytes, data + i * job.data_row, row_bytes)
    if job.width == 4:
        move_column_tile(<uint32_t*>NULL, job, tile, n_columns, indices, out, &outside)
    elif job.width == 8:
        move_column_tile(<uint64_t*>NULL, job, tile, n_columns, indices, out, &outside)
    elif job.width == 2:
        move_column_tile(<uint16_t*>NULL, job, tile, n_columns, indices, out, &outside)
    elif job.width == 1:
        move_column_tile(<uint8_t*>NULL, job, tile, n_columns, indices, out, &outside)
    else:
        move_column_tile(<bytes16*>NULL, job, tile, n_columns, indices, out, &outside)
    status[0] = -2 if outside < 0 else OK


cdef bint describe_columns(Columns* job, const Tuples* tuples, cnp.ndarray data, cnp.ndarray indices,
                           cnp.ndarray out, int axis, bint forced) noexcept:
    """False: this is no work for tiles of columns."""
    cdef int width = <int>cnp.PyArray_ITEMSIZE(data)
    cdef int r = cnp.PyArray_NDIM(data)
    cdef int d, columns = -1
    if width != 1 and width != 2 and width != 4 and width != 8 and width != 16:
        return False
    for d in range(r):
        if d != axis and cnp.PyArray_STRIDE(data, d) == width and cnp.PyArray_STRIDE(out, d) == width:
            columns = d
    if columns < 0:
        return False
    job.size = cnp.PyArray_DIM(data, axis)
    job.n_rows = cnp.PyArray_DIM(indices, axis)
    job.n_columns = cnp.PyArray_DIM(indices, columns)
    job.per_tile = COLUMN_BYTES // width
    if job.size * job.per_tile * width > COLUMN_TILE:
        return False
    # A tile is packed as a whole, which pays if much of it is asked for; and if it is no narrower than its lines.
    if not forced and (job.size * job.n_columns * width < COLUMN_WORK or 4 * job.n_rows < job.size
                       or job.n_columns < job.per_tile):
        return False
    job.index_column = cnp.PyArray_STRIDE(indices, columns)
    job.tuples.base = tuples.base
    job.tuples.kind = tuples.kind
    job.tuples.width = tuples.width
    job.tuples.swapped = tuples.swapped
    job.tuples.mode = tuples.mode
    job.tuples.k = 1
    # As in a tile: a step along the axis is one row of it.
    job.tuples.size[0] = job.size
    job.tuples.stride[0] = COLUMN_BYTES
    find_plain(&job.tuples)
    job.tuples.plain &= job.index_column == job.tuples.width and cnp.PyArray_ISALIGNED(indices)
    job.width = width
    job.data_row = cnp.PyArray_STRIDE(data, axis)
    job.index_row = cnp.PyArray_STRIDE(indices, axis)
    job.out_row = cnp.PyArray_STRIDE(out, axis)
    job.n_tiles = (job.n_columns + job.per_tile - 1) // job.per_tile
    job.data = cnp.PyArray_BYTES(data)
    job.out = cnp.PyArray_BYTES(out)
    start_walk(&job.outer)
    for d in range(r):
        if d != axis and d != columns:
            add_axis(&job.outer, cnp.PyArray_DIM(indices, d), cnp.PyArray_STRIDE(indices, d),
                     cnp.PyArray_STRIDE(data, d), cnp.PyArray_STRIDE(out, d))
    finish_walk(&job.outer)
    return True


cdef bint gather_columns(Columns* job, int limit) noexcept:
    """False: an index is out of bounds, or there is no memory for the tiles. The plain way finds out."""
    cdef Py_ssize_t n_tasks = job.outer.n * job.n_tiles
    cdef Py_ssize_t tile_bytes = job.size * job.per_tile * job.width
    cdef int n_threads = team_size(limit, <double>job.outer.n * job.n_columns * (job.size + 2 * job.n_rows))
    cdef Py_ssize_t task, bad = 0
    cdef Py_ssize_t status = OK
    cdef char* tiles
    n_threads = <int>max(min(<Py_ssize_t>n_threads, n_tasks), <Py_ssize_t>1)
    tiles = <char*>malloc(n_threads * tile_bytes)
    if tiles == NULL:
        return False
    if n_threads == 1:
        with nogil:
            for task in range(n_tasks):
                run_columns(job, task, tiles, &status)
                bad += status != OK
    else:
        for task in prange(n_tasks, num_threads=n_threads, schedule="dynamic", chunksize=1, nogil=True):
            bad += column_task(job, task, tiles + threadid() * tile_bytes)
    free(tiles)
    return bad == 0


cdef inline Py_ssize_t column_task(const Columns* job, Py_ssize_t task, char* tile) noexcept nogil:
    cdef Py_ssize_t status
    run_columns(job, task, tile, &status)
    return status != OK


cdef Py_ssize_t gather_into(Kind kind, cnp.ndarray data, cnp.ndarray indices, cnp.ndarray out, int axis,
                            int batch_dims, Mode mode, const char* fill, int limit) noexcept:
    cdef Job job
    cdef Columns columns
    cdef int d, row_axis, out_axis
    cdef Py_ssize_t stride, tuple_stride = PY_SSIZE_T_MAX, span = 0

    if not describe(kind, data, indices, out, axis, batch_dims, mode, &job.tuples, &job.walk, &row_axis, &out_axis):
        return INDEX_DTYPE
    if PyDataType_REFCHK(data.descr) and out is not None:
        return REFERENCES
    if job.walk.n == 0:
        return OK
    if kind == Kind.ELEMENTS and out is not None and describe_columns(&columns, &job.tuples, data, indices, out, axis,
                                                                      limit < -1):
        columns.fill = fill
        if gather_columns(&columns, limit):
            return OK
    for d in range(job.tuples.k):
        stride = abs_stride(job.tuples.stride[d])
        span += stride * (job.tuples.size[d] - 1)
        tuple_stride = min(tuple_stride, stride)
    if out is not None:
        describe_row(&job.row, data, row_axis, out, out_axis, tuple_stride, False)
        job.out = cnp.PyArray_BYTES(out)
    else:
        empty_row(&job.row)
        job.out = NULL
    job.data = cnp.PyArray_BYTES(data)
    job.itemsize = cnp.PyArray_ITEMSIZE(data)
    job.fill = fill
    job.out_is_linear = is_linear(&job.walk, BESIDE)
    job.far = span > PREFETCH_SPAN
    job.has_runs = out is not None and has_runs(&job)
    job.streams = out is not None and cnp.PyArray_NBYTES(out) >= STREAM_BYTES and can_stream()
    return run(&job, limit)


def gather(int kind, cnp.ndarray data not None, cnp.ndarray indices not None, cnp.ndarray out, int axis,
           int batch_dims, int mode, cnp.ndarray fill, int limit):
    """out = the rows of data that indices name, for a plan that holds.

    Every shape, stride, alignment and byte order of the index is taken as it is. fill: one element of data's
    dtype (mode SKIP). limit: the most threads to use, 0 for OpenMP's choice. Without out, the indices are
    checked and nothing is moved.
    """
    return gather_into(<Kind>kind, data, indices, out, axis, batch_dims, <Mode>mode,
                       cnp.PyArray_BYTES(fill) if fill is not None else NULL, limit)


def try_gather(int kind, cnp.ndarray data not None, cnp.ndarray indices not None, axis, batch_dims, int limit):
    """A new array with the gathered rows; None for a call that has to be explained or done in another way."""
    cdef Small call
    cdef cnp.ndarray out

    if not describe_small(&call, <Kind>kind, data, indices, axis, batch_dims):
        return None
    out = new_array(data, call.n_dims, call.shape)
    if out is None or gather_into(<Kind>kind, data, indices, out, call.axis, call.batch_dims, Mode.RAISE, NULL,
                                  limit) != OK:
        return None
    return out


def resolve(int kind, cnp.ndarray numbering not None, cnp.ndarray indices not None, int axis, int batch_dims,
            int mode, Py_ssize_t start, cnp.ndarray rows not None):
    """Resolve tuples without moving anything: rows[i] = number of the row that tuple start + i names.

    numbering: an array whose offsets number the rows, which is never read. -1 stands for a tuple that names none
    (mode SKIP). rows: int64, contiguous. Answers as gather does, the place counted from the whole array's start.
    """
    cdef Tuples tuples
    cdef Walk walk
    cdef Place at
    cdef int64_t* answer = <int64_t*>cnp.PyArray_DATA(rows)
    cdef int row_axis, beside_axis
    cdef Py_ssize_t n, i, done = 0, total = cnp.PyArray_SIZE(rows)

    if not describe(<Kind>kind, numbering, indices, None, axis, batch_dims, <Mode>mode, &tuples, &walk, &row_axis,
                    &beside_axis):
        return INDEX_DTYPE
    seek(&walk, start, &at)
    while done < total:
        resolve_block(&tuples, &walk, &at, min(<Py_ssize_t>BLOCK, total - done), False, answer + done, &n)
        if n < 0:
            return (start + done) * tuples.k - 1 - n
        for i in range(done, done + n):
            if answer[i] == SKIPPED:
                answer[i] = -1
        done += n
    return OK
