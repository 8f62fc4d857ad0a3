# Direct: resolve a block of tuples, then move the block. Works for every job.
from cython.parallel cimport prange
from libc.stdint cimport int64_t, uint32_t, uint64_t, uintptr_t
from libc.string cimport memcpy

from common.codes cimport INTERRUPTED, OK
from common.copies cimport copy_items, copy_strided, fill_elements
from common.interrupts cimport CLOCK_WORK, is_interrupted
from common.items cimport CACHE_LINE, STREAM_AHEAD, inline_void, is_little_endian, prefetch_l2
from common.resolve cimport BLOCK, SKIPPED, resolve_block
from common.rows cimport Row, cut_length, cut_row
from common.stream cimport (
    MOVED_AHEAD, STREAM_ROW, fill_lines, prefetch_ahead, prefetch_begin, stream_bytes, stream_fence, stream_rows,
)
from common.threads cimport BRIEF_NS, BRIEF_TUPLES, MAX_TASKS, first_error, n_tasks_for
from common.walk cimport DATA, INDICES, OTHER, Cursor, advance, seek
from gather.job cimport Job, work_ns

cdef enum:
    LONGEST_IN_SCRATCH = 32     # bytes of a row: a block of shorter ones is streamed as a whole
    MAX_FILL = 1 << 12          # bytes of an item that consists of the fill value

cdef struct Pieces:
    # A task is one chunk of the tuples and one piece of their rows.
    const Job* job
    Py_ssize_t tuples_per_task
    Py_ssize_t row_length       # as cut_row cuts it
    Py_ssize_t piece_length
    Py_ssize_t n_pieces


cdef inline void move_pixels(const char* data, Py_ssize_t end, const int64_t* offsets, Py_ssize_t n, Py_ssize_t width,
                             char* out) noexcept nogil:
    """Move n items of 3 or 6 bytes to contiguous memory, each by one store, of which the next one overwrites the end.

    Each is read by one load, too, unless one may be the last that can be read. A row of the fill value, which is
    in longer memory, may be beyond the end.
    """
    cdef Py_ssize_t i
    cdef uint32_t four
    cdef uint64_t eight
    cdef int64_t most = 0
    for i in range(n):
        most = max(most, offsets[i] if offsets[i] < end else <int64_t>0)
    if most + width + 2 > end:
        copy_items(width, data, offsets, n, out, width)
    elif width == 3:
        for i in range(n - 1):
            memcpy(&four, data + offsets[i], 4)
            memcpy(out + 3 * i, &four, 4)
        memcpy(out + 3 * (n - 1), data + offsets[n - 1], 3)
    else:
        for i in range(n - 1):
            memcpy(&eight, data + offsets[i], 8)
            memcpy(out + 6 * i, &eight, 8)
        memcpy(out + 6 * (n - 1), data + offsets[n - 1], 6)


cdef inline void move_rows(const Job* job, const Row* row, const char* data, const int64_t* offsets,
                           Py_ssize_t n, const char* fill, char* out, Py_ssize_t out_step) noexcept nogil:
    cdef Py_ssize_t i, j, width = row.item_bytes
    cdef char* target
    if (width == 3 or width == 6) and out_step == width and row.n_inner == 1 and is_little_endian:
        move_pixels(data, job.end, offsets, n, width, out)
        return
    if row.n_inner == 1 and fill == NULL:
        if copy_items(width, data, offsets, n, out, out_step):
            return
    elif copy_strided(width, data, offsets, n, fill, out, out_step, row.n_inner, row.inner_data, row.inner_other):
        return
    for i in range(n):
        prefetch_ahead(data, offsets, i, n if fill == NULL and row.n_inner == 1 else 0, width)
        for j in range(row.n_inner):
            target = out + i * out_step + j * row.inner_other
            if offsets[i] == SKIPPED:
                fill_elements(job.itemsize, fill, target, width // job.itemsize)
            else:
                memcpy(target, data + offsets[i] + j * row.inner_data, width)


cdef inline void select_fill(const int64_t* offsets, Py_ssize_t n, int64_t fill,
                             int64_t* selected) noexcept nogil:
    """Let skipped tuples select the row at offset fill, so that moving rows needs no branch."""
    cdef Py_ssize_t i
    for i in range(n):
        selected[i] = fill if offsets[i] == SKIPPED else offsets[i]


cdef inline void move_block(const Job* job, const Row* row, const char* data, const int64_t* offsets, Py_ssize_t n,
                            const char* fill, char* out, Py_ssize_t out_step) noexcept nogil:
    """Move one piece of the row of each tuple: large results with non-temporal stores.

    fill: NULL, or an item that consists of the fill value; of longer ones than MAX_FILL, an element.
    """
    cdef char scratch[BLOCK * LONGEST_IN_SCRATCH]
    cdef int64_t selected[BLOCK]
    cdef Py_ssize_t n_bytes = n * row.item_bytes
    if fill != NULL and row.n_inner == 1 and row.item_bytes <= MAX_FILL:
        select_fill(offsets, n, <int64_t>(<size_t>fill - <size_t>data), selected)
        offsets = selected
        fill = NULL
    if job.streams and row.n_inner == 1:
        if fill == NULL and (row.item_bytes >= STREAM_ROW or fill_lines(out, out_step, row.item_bytes)):
            stream_rows(out, out_step, data, offsets, n, n, row.item_bytes)
            return
        # Pixels of images are not streamed: the stores would compete with their prefetches for fill buffers.
        if out_step == row.item_bytes <= LONGEST_IN_SCRATCH and row.item_bytes != 3 and row.item_bytes != 6:
            move_rows(job, row, data, offsets, n, fill, scratch, out_step)
            stream_bytes(out, scratch, n_bytes, True)
            return
    move_rows(job, row, data, offsets, n, fill, out, out_step)


cdef inline inline_void prefetch_block(const char* data, const int64_t* offsets, Py_ssize_t n,
                                       Py_ssize_t item_bytes) noexcept nogil:
    """Software prefetch of a block's cache lines: more outstanding misses than out-of-order execution achieves."""
    cdef Py_ssize_t i
    for i in range(n):
        prefetch_l2(<const void*>(<uintptr_t>data + <uintptr_t>offsets[i]))
        if item_bytes > <Py_ssize_t>sizeof(uint64_t):  # its end may be in the next cache line
            prefetch_l2(<const void*>(<uintptr_t>data + <uintptr_t>offsets[i] + item_bytes - 1))


cdef inline void prefetch_with_tuples(const Job* job, const char* tuples, Py_ssize_t step, const int64_t* offsets,
                                      Py_ssize_t n) noexcept nogil:
    """prefetch_block, and between its prefetches those of the tuples that follow the n ones at `tuples`.

    At once they would take all of the CPU's fill buffers, and what comes next would wait for memory.
    """
    cdef Py_ssize_t i = 0, j, of_line = CACHE_LINE // step
    while i < n:
        prefetch_l2(tuples + STREAM_AHEAD + (n + i) * step)
        for j in range(i, min(i + of_line, n)):
            prefetch_l2(<const void*>(<uintptr_t>job.data + <uintptr_t>offsets[j]))
        i += of_line


cdef inline void run_direct_task(const Pieces* pieces, Py_ssize_t task, Py_ssize_t* status) noexcept nogil:
    """status: OK or the position of the first bad index."""
    cdef const Job* job = pieces.job
    cdef int64_t buffers[2][BLOCK]
    cdef int64_t* offsets = buffers[0]
    cdef int64_t* next_offsets = buffers[1]
    cdef int64_t* swap
    cdef char fill_item[MAX_FILL]
    cdef Cursor cursor, piece, following
    cdef Row row_piece
    cdef const Row* row = &job.row
    cdef const char* data = job.data
    cdef char* out = job.out
    cdef const char* fill = job.fill
    cdef Py_ssize_t data_shift = 0, out_shift = 0
    cdef Py_ssize_t n, n_next, next_out, block_out = 0, _piece, i
    cdef const char* tuples
    cdef Py_ssize_t start = task // pieces.n_pieces * pieces.tuples_per_task
    cdef Py_ssize_t stop = min(start + pieces.tuples_per_task, job.walk.n)
    cdef Py_ssize_t piece_start = task % pieces.n_pieces * pieces.piece_length
    cdef Py_ssize_t out_step = job.walk.stride[job.walk.n_dims - 1][OTHER]

    status[0] = OK
    if pieces.n_pieces > 1:
        cut_row(&job.row, piece_start, min(piece_start + pieces.piece_length, pieces.row_length), &row_piece,
                &data_shift, &out_shift)
        row = &row_piece
        data += data_shift
        out += out_shift
    if fill != NULL and 0 < row.item_bytes <= MAX_FILL:
        fill_elements(job.itemsize, fill, fill_item, row.item_bytes // job.itemsize)
        fill = fill_item

    # Software pipeline: a block is resolved and prefetched before the previous one is moved.
    seek(&job.walk, start, &cursor)
    n = 0
    while True:
        next_out = cursor.offset[OTHER]
        n_next = 0
        if start < stop:
            tuples = job.tuples.base + cursor.offset[INDICES]
            resolve_block(&job.tuples, &job.walk, &cursor, min(job.block, stop - start), not job.out_is_linear,
                          next_offsets, &n_next)
            if n_next < 0:
                status[0] = start * job.tuples.k - 1 - n_next
                return
            if is_interrupted(job.interrupts, n_next * (job.tuples.k if row.outer.n > 1 else job.tuple_work)):
                status[0] = INTERRUPTED
                return
            start += n_next
            if job.spreads_prefetches:
                prefetch_with_tuples(job, tuples, job.walk.stride[job.walk.n_dims - 1][INDICES], next_offsets, n_next)
            elif (job.prefetches and 0 < row.item_bytes <= CACHE_LINE
                    # If offsets advance slowly (as for a warped image), the hardware prefetcher suffices.
                    and not -n_next * CACHE_LINE < next_offsets[n_next - 1] - next_offsets[0] < n_next * CACHE_LINE):
                prefetch_block(data, next_offsets, n_next, row.item_bytes)
            elif job.prefetches and row.item_bytes > CACHE_LINE and row.n_inner == 1:
                for i in range(min(n_next, <Py_ssize_t>MOVED_AHEAD)):  # prefetch_ahead has the others
                    prefetch_begin(<const char*>(<uintptr_t>data + <uintptr_t>next_offsets[i]), row.item_bytes)
        if n and row.outer.n == 1:
            move_block(job, row, data, offsets, n, fill, out + block_out, out_step)
        elif n:
            seek(&row.outer, 0, &piece)
            following = piece
            for _piece in range(row.outer.n):
                if job.prefetches and _piece + 1 < row.outer.n and row.n_inner == 1 and row.item_bytes <= CACHE_LINE:
                    advance(&row.outer, 1, &following)
                    prefetch_block(data + following.offset[DATA], offsets, n, row.item_bytes)
                if row.outer.n > 1 and is_interrupted(job.interrupts, n * row.n_inner * (8 + row.item_bytes) >> 3):
                    status[0] = INTERRUPTED
                    return
                move_block(job, row, data + piece.offset[DATA], offsets, n, fill,
                           out + block_out + piece.offset[OTHER], out_step)
                advance(&row.outer, 1, &piece)
        elif n_next == 0:
            break
        swap = offsets
        offsets = next_offsets
        next_offsets = swap
        n = n_next if row.item_bytes else 0
        block_out = next_out
    if job.streams:
        stream_fence()


cdef inline bint is_one_block(const Job* job) noexcept nogil:
    """Whether all tuples are resolved before the first is moved: they are a block, on one thread."""
    return (job.walk.n <= job.block and job.out_is_linear and (job.row.outer.n > 1 or job.tuple_work <= CLOCK_WORK)
            and job.n_threads == 1)


cdef inline Py_ssize_t run_alone(const Pieces* pieces, Py_ssize_t n_tasks) noexcept nogil:
    """Run all tasks on this thread."""
    cdef Py_ssize_t task, status = OK
    for task in range(n_tasks):
        run_direct_task(pieces, task, &status)
        if status != OK:
            break
    return status


cdef inline Py_ssize_t run_direct(const Job* job) noexcept:
    """Cut the job into tasks and run them. Returns OK or the position of the first bad index, in row-major order."""
    cdef Pieces pieces
    cdef Py_ssize_t status[MAX_TASKS]
    cdef Py_ssize_t n_tuples = job.walk.n
    cdef Py_ssize_t n_tasks = 1, wanted, task
    # A row without axes is cut at whole elements and whole cache lines.
    cdef Py_ssize_t whole = 1 if job.row.outer.n > 1 or job.row.n_inner > 1 else job.itemsize * CACHE_LINE
    cdef int n_threads = job.n_threads

    pieces.job = job
    pieces.row_length = cut_length(&job.row)
    pieces.n_pieces = 1
    pieces.tuples_per_task = n_tuples
    pieces.piece_length = max(pieces.row_length, <Py_ssize_t>1)
    if n_threads > 1:
        wanted = n_tasks_for(n_threads)
        if n_tuples >= wanted:
            pieces.tuples_per_task = (n_tuples + wanted - 1) // wanted
            if pieces.tuples_per_task > BLOCK:  # whole blocks
                pieces.tuples_per_task = (pieces.tuples_per_task + BLOCK - 1) // BLOCK * BLOCK
        else:  # few tuples with long rows: cut the rows too
            pieces.tuples_per_task = 1
            if pieces.row_length > whole:
                wanted = min((wanted + n_tuples - 1) // n_tuples, MAX_TASKS // n_tuples)
                pieces.piece_length = (pieces.row_length + wanted - 1) // wanted
                pieces.piece_length = (pieces.piece_length + whole - 1) // whole * whole
                pieces.n_pieces = (pieces.row_length + pieces.piece_length - 1) // pieces.piece_length
        n_tasks = (n_tuples + pieces.tuples_per_task - 1) // pieces.tuples_per_task * pieces.n_pieces
        n_threads = <int>min(<Py_ssize_t>n_threads, n_tasks)

    # prange enters a parallel region even for one thread, which costs more than a small gather.
    if n_threads == 1:
        pieces.n_pieces = 1
        pieces.tuples_per_task = n_tuples
        pieces.piece_length = max(pieces.row_length, <Py_ssize_t>1)
        n_tasks = 1
        if job.row.outer.n == 1 and job.tuple_work > CLOCK_WORK:  # long rows, piece by piece
            pieces.tuples_per_task = 1
            pieces.n_pieces = min(pieces.row_length, job.tuple_work // CLOCK_WORK)
            pieces.piece_length = (pieces.row_length + pieces.n_pieces - 1) // pieces.n_pieces
            pieces.piece_length = (pieces.piece_length + whole - 1) // whole * whole
            pieces.n_pieces = (pieces.row_length + pieces.piece_length - 1) // pieces.piece_length
            n_tasks = n_tuples * pieces.n_pieces
        if n_tuples <= BRIEF_TUPLES and work_ns(job) < BRIEF_NS:
            return run_alone(&pieces, n_tasks)
        with nogil:
            status[0] = run_alone(&pieces, n_tasks)
        return status[0]
    for task in prange(n_tasks, num_threads=n_threads, schedule="dynamic", chunksize=1, nogil=True):
        run_direct_task(&pieces, task, &status[task])
    return first_error(status, n_tasks)
