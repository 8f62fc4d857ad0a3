# BLOCKS: resolve a block of tuples, then move the block. Works for every job.
from cython.parallel cimport prange
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.string cimport memcpy

from common.codes cimport INTERRUPTED, OK
from common.interrupts cimport STEP_BYTES, is_interrupted
from common.items cimport (
    CACHE_LINE, STREAM_AHEAD, bytes3, bytes6, bytes12, bytes16, bytes24, bytes32, bytes64, inline_void,
    is_little_endian, item_t, prefetch_l2, word_t,
)
from common.machine cimport shared
from common.resolve cimport BLOCK, SKIPPED, resolve_block
from common.rows cimport Row, cut_length, cut_row
from common.stream cimport (
    ROWS_AHEAD, STREAM_ROW, fill_lines, prefetch_ahead, prefetch_begin, stream_bytes, stream_fence, stream_rows,
)
from common.threads cimport BRIEF_NS, BRIEF_TUPLES, MAX_TASKS, MIN_TEAM_NS, first_error, n_tasks_for, team_size
from common.walk cimport DATA, INDICES, OTHER, Cursor, advance, seek
from gather.job cimport Job, work_ns

cdef enum:
    LONGEST_IN_SCRATCH = 32     # bytes of a row: a block of shorter ones is streamed as a whole
    MAX_FILL = 1 << 12          # bytes of an item that consists of the fill value

# Pixels of three channels.
ctypedef fused pixel_t:
    bytes3
    bytes6

cdef struct Blocks:
    # A task is one chunk of the tuples and one piece of their rows.
    const Job* job
    Py_ssize_t tuples_per_task
    Py_ssize_t row_length       # as cut_row cuts it
    Py_ssize_t piece_length
    Py_ssize_t n_pieces


# Parameters `type` are never read: they select the specialisation of a fused type.

cdef inline inline_void move_items(item_t* type, const char* data, const int64_t* offsets, Py_ssize_t n,
                                   const char* fill, char* out, Py_ssize_t out_step, Py_ssize_t n_inner,
                                   Py_ssize_t inner_data, Py_ssize_t inner_out) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef item_t item
    if n_inner == 1:  # skipped tuples select a row of the fill value: see move_block
        for i in range(n):
            memcpy(&item, data + offsets[i], sizeof(item_t))
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


cdef inline inline_void move_words(word_t* type, const char* data, const int64_t* offsets, Py_ssize_t n,
                                   char* out) noexcept nogil:
    """Move n items, a multiple of 4, none of them skipped, to contiguous memory.

    Unrolled, which compilers do not do at -O3: the CPU predicts the end of a short loop.
    """
    cdef Py_ssize_t i
    cdef word_t item0, item1, item2, item3
    for i in range(0, n, 4):
        memcpy(&item0, data + offsets[i], sizeof(word_t))
        memcpy(&item1, data + offsets[i + 1], sizeof(word_t))
        memcpy(&item2, data + offsets[i + 2], sizeof(word_t))
        memcpy(&item3, data + offsets[i + 3], sizeof(word_t))
        memcpy(out + i * <Py_ssize_t>sizeof(word_t), &item0, sizeof(word_t))
        memcpy(out + (i + 1) * <Py_ssize_t>sizeof(word_t), &item1, sizeof(word_t))
        memcpy(out + (i + 2) * <Py_ssize_t>sizeof(word_t), &item2, sizeof(word_t))
        memcpy(out + (i + 3) * <Py_ssize_t>sizeof(word_t), &item3, sizeof(word_t))


cdef inline inline_void move_pixels(pixel_t* type, const char* data, Py_ssize_t end, const int64_t* offsets,
                                    Py_ssize_t n, char* out) noexcept nogil:
    """Move n items to contiguous memory, each by one store, of which the next one overwrites the end.

    Each is read by one load, too, unless one may be the last that can be read. A row of the fill value, which is
    in longer memory, may be beyond the end.
    """
    cdef Py_ssize_t i
    cdef uint16_t two
    cdef uint32_t four
    cdef uint64_t item
    cdef int64_t most = 0
    for i in range(n):
        most = max(most, offsets[i] if offsets[i] < end else <int64_t>0)
    if most + <Py_ssize_t>sizeof(pixel_t) + 2 <= end:
        for i in range(n - 1):
            if pixel_t is bytes3:
                memcpy(&four, data + offsets[i], 4)
                memcpy(out + 3 * i, &four, 4)
            else:
                memcpy(&item, data + offsets[i], 8)
                memcpy(out + 6 * i, &item, 8)
        memcpy(out + (n - 1) * <Py_ssize_t>sizeof(pixel_t), data + offsets[n - 1], sizeof(pixel_t))
        return
    for i in range(n - 1):
        if pixel_t is bytes3:
            memcpy(&two, data + offsets[i], 2)
            item = two | <uint64_t><uint8_t>data[offsets[i] + 2] << 16
            four = <uint32_t>item
            memcpy(out + 3 * i, &four, 4)
        else:
            memcpy(&four, data + offsets[i], 4)
            memcpy(&two, data + offsets[i] + 4, 2)
            item = four | <uint64_t>two << 32
            memcpy(out + 6 * i, &item, 8)
    memcpy(out + (n - 1) * <Py_ssize_t>sizeof(pixel_t), data + offsets[n - 1], sizeof(pixel_t))


cdef inline inline_void move_width(item_t* type, const Row* row, const char* data, const int64_t* offsets,
                                   Py_ssize_t n, const char* fill, char* out, Py_ssize_t out_step) noexcept nogil:
    # Constant strides for the common layouts, so that the compiler can optimise the loops.
    if row.n_inner == 1 and out_step == sizeof(item_t):
        move_items(type, data, offsets, n, NULL, out, sizeof(item_t), 1, 0, 0)
    else:
        move_items(type, data, offsets, n, fill, out, out_step, row.n_inner, row.inner_data, row.inner_other)


cdef inline void repeat(const char* element, Py_ssize_t itemsize, Py_ssize_t n_bytes, char* out) noexcept nogil:
    cdef Py_ssize_t i = 0
    while i < n_bytes:
        memcpy(out + i, element, itemsize)
        i += itemsize


cdef inline void move_other_widths(const Row* row, const char* data, const int64_t* offsets, Py_ssize_t n,
                                   const char* fill, Py_ssize_t itemsize, char* out,
                                   Py_ssize_t out_step) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef char* target
    for i in range(n):
        for j in range(row.n_inner):
            target = out + i * out_step + j * row.inner_other
            if offsets[i] == SKIPPED:
                repeat(fill, itemsize, row.item_bytes, target)
            else:
                memcpy(target, data + offsets[i] + j * row.inner_data, row.item_bytes)


cdef inline void move_contiguous(const char* data, const int64_t* offsets, Py_ssize_t n, Py_ssize_t item_bytes,
                                 char* out, Py_ssize_t out_step) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        prefetch_ahead(data, offsets, i, n, item_bytes)
        memcpy(out + i * out_step, data + offsets[i], item_bytes)


cdef inline void move_rows(const Job* job, const Row* row, const char* data, const int64_t* offsets,
                           Py_ssize_t n, const char* fill, char* out, Py_ssize_t out_step) noexcept nogil:
    if row.item_bytes == 4:
        move_width(<uint32_t*>NULL, row, data, offsets, n, fill, out, out_step)
    elif row.item_bytes == 8:
        move_width(<uint64_t*>NULL, row, data, offsets, n, fill, out, out_step)
    elif row.item_bytes == 1:
        move_width(<uint8_t*>NULL, row, data, offsets, n, fill, out, out_step)
    elif row.item_bytes == 2:
        move_width(<uint16_t*>NULL, row, data, offsets, n, fill, out, out_step)
    elif row.item_bytes == out_step == 3 and row.n_inner == 1 and is_little_endian:
        move_pixels(<bytes3*>NULL, data, job.end, offsets, n, out)
    elif row.item_bytes == out_step == 6 and row.n_inner == 1 and is_little_endian:
        move_pixels(<bytes6*>NULL, data, job.end, offsets, n, out)
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
    elif row.n_inner == 1 and fill == NULL:
        move_contiguous(data, offsets, n, row.item_bytes, out, out_step)
    else:
        move_other_widths(row, data, offsets, n, fill, job.itemsize, out, out_step)


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


cdef inline void run_blocks_task(const Blocks* blocks, Py_ssize_t task, Py_ssize_t* status) noexcept nogil:
    """status: OK or the position of the first bad index."""
    cdef const Job* job = blocks.job
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
    cdef Py_ssize_t start = task // blocks.n_pieces * blocks.tuples_per_task
    cdef Py_ssize_t stop = min(start + blocks.tuples_per_task, job.walk.n)
    cdef Py_ssize_t piece_start = task % blocks.n_pieces * blocks.piece_length
    cdef Py_ssize_t out_step = job.walk.stride[job.walk.n_dims - 1][OTHER]

    status[0] = OK
    if blocks.n_pieces > 1:
        cut_row(&job.row, piece_start, min(piece_start + blocks.piece_length, blocks.row_length), &row_piece,
                &data_shift, &out_shift)
        row = &row_piece
        data += data_shift
        out += out_shift
    if fill != NULL and row.item_bytes <= MAX_FILL:
        repeat(fill, job.itemsize, row.item_bytes, fill_item)
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
                for i in range(min(n_next, <Py_ssize_t>ROWS_AHEAD)):  # prefetch_ahead has the others
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
    return (job.walk.n <= job.block and job.out_is_linear and (job.row.outer.n > 1 or job.tuple_work <= STEP_BYTES)
            and work_ns(job) < MIN_TEAM_NS and not shared.forced)


cdef inline Py_ssize_t run_alone(const Blocks* blocks, Py_ssize_t n_tasks) noexcept nogil:
    """Run all tasks on this thread."""
    cdef Py_ssize_t task, status = OK
    for task in range(n_tasks):
        run_blocks_task(blocks, task, &status)
        if status != OK:
            break
    return status


cdef inline Py_ssize_t run_blocks(const Job* job) noexcept:
    """Cut the job into tasks and run them. Returns OK or the position of the first bad index, in row-major order."""
    cdef Blocks blocks
    cdef Py_ssize_t status[MAX_TASKS]
    cdef Py_ssize_t n_tuples = job.walk.n
    cdef Py_ssize_t n_tasks = 1, wanted, task
    # A row without axes is cut at whole elements and whole cache lines.
    cdef Py_ssize_t whole = 1 if job.row.outer.n > 1 or job.row.n_inner > 1 else job.itemsize * CACHE_LINE
    cdef int n_threads = team_size(job.max_threads, work_ns(job))

    blocks.job = job
    blocks.row_length = cut_length(&job.row)
    blocks.n_pieces = 1
    blocks.tuples_per_task = n_tuples
    blocks.piece_length = max(blocks.row_length, <Py_ssize_t>1)
    if n_threads > 1:
        wanted = n_tasks_for(n_threads)
        if n_tuples >= wanted:
            blocks.tuples_per_task = (n_tuples + wanted - 1) // wanted
            if blocks.tuples_per_task > BLOCK:  # whole blocks
                blocks.tuples_per_task = (blocks.tuples_per_task + BLOCK - 1) // BLOCK * BLOCK
        else:  # few tuples with long rows: cut the rows too
            blocks.tuples_per_task = 1
            if blocks.row_length > whole:
                wanted = min((wanted + n_tuples - 1) // n_tuples, MAX_TASKS // n_tuples)
                blocks.piece_length = (blocks.row_length + wanted - 1) // wanted
                blocks.piece_length = (blocks.piece_length + whole - 1) // whole * whole
                blocks.n_pieces = (blocks.row_length + blocks.piece_length - 1) // blocks.piece_length
        n_tasks = (n_tuples + blocks.tuples_per_task - 1) // blocks.tuples_per_task * blocks.n_pieces
        n_threads = <int>min(<Py_ssize_t>n_threads, n_tasks)

    # prange enters a parallel region even for one thread, which costs more than a small gather.
    if n_threads == 1:
        blocks.n_pieces = 1
        blocks.tuples_per_task = n_tuples
        blocks.piece_length = max(blocks.row_length, <Py_ssize_t>1)
        n_tasks = 1
        if job.row.outer.n == 1 and job.tuple_work > STEP_BYTES:  # long rows, piece by piece
            blocks.tuples_per_task = 1
            blocks.n_pieces = min(blocks.row_length, job.tuple_work // (STEP_BYTES // 8))
            blocks.piece_length = (blocks.row_length + blocks.n_pieces - 1) // blocks.n_pieces
            blocks.piece_length = (blocks.piece_length + whole - 1) // whole * whole
            blocks.n_pieces = (blocks.row_length + blocks.piece_length - 1) // blocks.piece_length
            n_tasks = n_tuples * blocks.n_pieces
        if n_tuples <= BRIEF_TUPLES and work_ns(job) < BRIEF_NS:
            return run_alone(&blocks, n_tasks)
        with nogil:
            status[0] = run_alone(&blocks, n_tasks)
        return status[0]
    for task in prange(n_tasks, num_threads=n_threads, schedule="dynamic", chunksize=1, nogil=True):
        run_blocks_task(&blocks, task, &status[task])
    return first_error(status, n_tasks)
