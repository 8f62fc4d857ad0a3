# cython: cdivision=True
# Accumulators: what the rows of a tile are while updates are applied to them.
#
#     open     rows of data become accumulators
#     apply    apply_block, apply_tuples (updates.pxd)
#     close    accumulators become rows of the result
#
# The accumulator of a row is
#     the row of the result itself, or
#     a row in scratch memory: of a wider dtype (accumulate_dtype), in native byte order, or of a result that is not
#     contiguous or is written with non-temporal stores
#     for assignments of rows, the number of the row's last update
# and, with it, a mark (kernels.pxd) for include_self=False and for means.
# Where there are few updates, only the rows that they name are opened and closed (by_updates).
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy, memset

from common.copies cimport fill_elements
from common.interrupts cimport is_interrupted
from common.items cimport CACHE_LINE, PREFETCHED, prefetch_stream
from common.resolve cimport BLOCK
from common.scratch cimport STACK_BYTES
from common.stream cimport MOVED_AHEAD, prefetch_ahead, stream_bytes, stream_rows
from common.walk cimport DATA, Cursor, advance, seek
from scatter.convert cimport load_items, store_items
from scatter.finish cimport divide, replace_short_rows, replace_unmarked
from scatter.job cimport Job, must_write_data, update_step, write_data
from scatter.kernels cimport mark_of

cdef struct Tile:
    Py_ssize_t first            # row
    Py_ssize_t n                # rows
    char* accumulators          # of the first row
    char* marks                 # of the first row; NULL: none


cdef inline bint is_in_result(const Job* job, const Tile* tile) noexcept nogil:
    return tile.accumulators == job.out + tile.first * job.row_bytes


cdef inline const char* rows_of_data(const Job* job) noexcept nogil:
    """Contiguous rows that the result begins with; not if one element stands for all."""
    return job.data if job.data != NULL else job.out


cdef inline void load_strided(const Job* job, Py_ssize_t row, Py_ssize_t n, char* to) noexcept nogil:
    """n rows of a result that is not contiguous become accumulators."""
    cdef Cursor cursor, piece
    cdef const char* items
    seek(&job.out_walk, row, &cursor)
    for _row in range(n):
        items = job.out + cursor.offset[DATA]
        if job.out_row.outer.n == 1:
            load_items(&job.conversion, True, items, job.out_row.inner_data, job.out_row.n_inner, to)
            to += job.out_row.n_inner * job.conversion.wide_bytes
        else:
            seek(&job.out_row.outer, 0, &piece)
            for _piece in range(job.out_row.outer.n):
                load_items(&job.conversion, True, items + piece.offset[DATA], job.out_row.inner_data,
                           job.out_row.n_inner, to)
                to += job.out_row.n_inner * job.conversion.wide_bytes
                advance(&job.out_row.outer, 1, &piece)
        advance(&job.out_walk, 1, &cursor)


cdef inline void store_strided(const Job* job, const char* accumulators, Py_ssize_t row, Py_ssize_t n,
                               bint replaces) noexcept nogil:
    """Accumulators become n rows of a result that is not contiguous. replaces: see store_items."""
    cdef Cursor cursor, piece
    cdef char* items
    cdef Py_ssize_t step = job.out_row.inner_data
    seek(&job.out_walk, row, &cursor)
    for _row in range(n):
        seek(&job.out_row.outer, 0, &piece)
        for _piece in range(job.out_row.outer.n):
            items = job.out + cursor.offset[DATA] + piece.offset[DATA]
            store_items(&job.conversion, accumulators, items if replaces else NULL, step, job.out_row.n_inner, items,
                        step)
            accumulators += job.out_row.n_inner * job.conversion.wide_bytes
            advance(&job.out_row.outer, 1, &piece)
        advance(&job.out_walk, 1, &cursor)


cdef inline void copy_stream(char* to, const char* data, Py_ssize_t n_bytes) noexcept nogil:
    """Copy, and prefetch what comes next: rows of the next tile."""
    cdef Py_ssize_t n
    while n_bytes > 0:
        n = min(n_bytes, <Py_ssize_t>PREFETCHED)
        prefetch_stream(data, n)
        memcpy(to, data, n)
        data += n
        to += n
        n_bytes -= n


cdef inline void load_rows(const Job* job, Py_ssize_t row, Py_ssize_t n, char* to) noexcept nogil:
    """n rows of data become accumulators in scratch memory."""
    cdef const char* data
    if not job.is_dense:
        load_strided(job, row, n, to)
    elif job.data_element != NULL and job.conversion.narrow == job.conversion.wide and not job.conversion.swapped:
        fill_elements(job.element_bytes, job.data_element, to, n * job.row_bytes // job.element_bytes)
    elif job.data_element != NULL:
        load_items(&job.conversion, True, job.data_element, 0, n * job.row_items, to)
    else:
        data = rows_of_data(job) + row * job.row_bytes
        if job.streams and job.conversion.narrow == job.conversion.wide and not job.conversion.swapped:
            copy_stream(to, data, n * job.row_bytes)
            return
        load_items(&job.conversion, True, data, job.row.item_bytes, n * job.row_items, to)


cdef inline void store_rows(const Job* job, const char* accumulators, Py_ssize_t row, Py_ssize_t n,
                            bint replaces) noexcept nogil:
    """Accumulators in scratch memory become n rows of the result."""
    cdef const char* data = NULL
    cdef Py_ssize_t step = job.row.item_bytes
    cdef char* out = job.out + row * job.row_bytes
    if not job.is_dense:
        store_strided(job, accumulators, row, n, replaces)
    elif job.streams and job.conversion.narrow == job.conversion.wide and not job.conversion.swapped:
        stream_bytes(out, accumulators, n * job.row_bytes, False)
    else:
        if replaces and job.data_element != NULL:
            data = job.data_element
            step = 0
        elif replaces:
            data = rows_of_data(job) + row * job.row_bytes
        store_items(&job.conversion, accumulators, data, step, n * job.row_items, out, job.row.item_bytes)


cdef inline void replace_rows(const Job* job, const Tile* tile) noexcept nogil:
    """Accumulators that started from the identity and have no updates become those of data."""
    cdef char buffer[STACK_BYTES]
    cdef Py_ssize_t row = 0, width = job.kernel.row_bytes, n
    # To copy a row of at most a cache line takes less time than a mispredicted branch.
    if job.row_items > 1 and (width > CACHE_LINE or width & 3):
        for row in range(tile.n):
            if mark_of(&job.kernel, tile.marks, row) == 0:
                load_rows(job, tile.first + row, 1, tile.accumulators + row * width)
        return
    while row < tile.n:
        n = min(STACK_BYTES // width, tile.n - row)
        load_rows(job, tile.first + row, n, buffer)
        if job.row_items > 1:
            replace_short_rows(&job.kernel, tile.marks + row * job.kernel.mark_bytes, buffer,
                               tile.accumulators + row * width, n)
            row += n
            continue
        replace_unmarked(width, job.kernel.mark_bytes, tile.marks + row * job.kernel.mark_bytes, job.identity, buffer,
                         tile.accumulators + row * width, n)
        row += n


cdef inline void write_last(const Job* job, const Tile* tile) noexcept nogil:
    """Write rows, each from its last update or from data."""
    cdef const uint32_t* last = <const uint32_t*>tile.accumulators
    cdef int64_t offsets[BLOCK + MOVED_AHEAD]
    cdef const char* data = rows_of_data(job)
    cdef char* out = job.out + tile.first * job.row_bytes
    cdef int64_t from_data, has_update, shift = <int64_t>(<size_t>job.updates - <size_t>data)
    cdef Py_ssize_t row = 0, i, n, n_known, step = update_step(job), size = job.row_bytes
    if job.data == NULL:
        if job.data_element != NULL:
            write_data(job, tile.first, tile.n)
        for row in range(tile.n):
            if last[row]:
                memcpy(out + row * size, job.updates + (last[row] - 1) * step, size)
        return
    while row < tile.n:
        n = min(<Py_ssize_t>BLOCK, tile.n - row)
        if is_interrupted(job.interrupts, n * size >> 3):
            return
        n_known = min(n + MOVED_AHEAD, tile.n - row)
        for i in range(n_known):
            from_data = (tile.first + row + i) * size
            has_update = -<int64_t>(last[row + i] != 0)  # a mask: a branch would be mispredicted
            offsets[i] = from_data + ((shift + (<int64_t>last[row + i] - 1) * step - from_data) & has_update)
        if job.streams:
            stream_rows(out, size, data, offsets, n, n_known, size)
        else:
            for i in range(n):
                prefetch_ahead(data, offsets, i, n_known, size)
                memcpy(out + i * size, data + offsets[i], size)
        out += n * size
        row += n


cdef inline void open_tile(const Job* job, const Tile* tile) noexcept nogil:
    cdef bint in_result = is_in_result(job, tile)
    if job.by_updates:
        if must_write_data(job):
            write_data(job, tile.first, tile.n)
        return  # marks are 0 already
    if job.by_last:
        memset(tile.accumulators, 0, tile.n * job.kernel.row_bytes)
    elif job.identity != NULL:
        fill_elements(job.conversion.wide_bytes, job.identity, tile.accumulators, tile.n * job.row_items)
    elif not in_result:
        load_rows(job, tile.first, tile.n, tile.accumulators)
    elif must_write_data(job):
        write_data(job, tile.first, tile.n)
    if tile.marks != NULL:
        memset(tile.marks, 0, tile.n * job.kernel.mark_bytes)


cdef inline void close_tile(const Job* job, const Tile* tile) noexcept nogil:
    if job.by_last:
        write_last(job, tile)
        return
    if job.divides:
        divide(&job.kernel, job.include_self, tile.accumulators, tile.marks, tile.n)
    if job.identity != NULL:
        replace_rows(job, tile)
    if not is_in_result(job, tile):
        store_rows(job, tile.accumulators, tile.first, tile.n, job.conversion.narrow != job.conversion.wide)


# By updates: rows are numbered from the tile's first one.

cdef inline void open_rows(const Job* job, const Tile* tile, const int64_t* rows, Py_ssize_t n) noexcept nogil:
    """Open the rows, before any update is applied."""
    cdef Py_ssize_t i
    cdef char* accumulator
    if job.identity == NULL and is_in_result(job, tile):
        return
    for i in range(n):
        accumulator = tile.accumulators + rows[i] * job.kernel.row_bytes
        if job.identity != NULL:
            fill_elements(job.conversion.wide_bytes, job.identity, accumulator, job.row_items)
        else:
            load_rows(job, tile.first + rows[i], 1, accumulator)


cdef inline void close_rows(const Job* job, const Tile* tile, const int64_t* rows, Py_ssize_t n) noexcept nogil:
    """Close the rows, after all updates are applied. Their marks become 0."""
    cdef Py_ssize_t i, row
    cdef bint in_result = is_in_result(job, tile)
    cdef char* accumulator
    for i in range(n):
        row = rows[i]
        accumulator = tile.accumulators + row * job.kernel.row_bytes
        if tile.marks != NULL:
            if mark_of(&job.kernel, tile.marks, row) == 0:
                continue  # an earlier update of the same row
            if job.divides:
                divide(&job.kernel, job.include_self, accumulator, tile.marks + row * job.kernel.mark_bytes, 1)
            memset(tile.marks + row * job.kernel.mark_bytes, 0, job.kernel.mark_bytes)
        if not in_result:
            store_rows(job, accumulator, tile.first + row, 1, False)
