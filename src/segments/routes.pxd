# cython: cdivision=True
# Who reduces which elements. The accumulators of each block of positions are made in order of the positions, and merged
# in order of the blocks. Blocks depend on the shape alone, so every route gives the same bits.
#
#     pieces (DIRECT)    one block: a thread has all positions of a unit, or of some of its columns
#     tiles (PARTITION)  one block: a thread owns the segments of a tile. In rounds of bounded memory, positions are
#                        partitioned; or each thread finds its own among all, and reads their rows in order
#     sorted (BLOCKS)    ids in ascending order: a thread has the positions of whole segments
#     blocks (PRIVATE)   a thread has the positions of a block, and a table of its own
from cython.parallel cimport prange, threadid
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset
cimport numpy as cnp

from common.codes cimport POWERS, SQUARES
from common.interrupts cimport is_interrupted
from common.items cimport CACHE_LINE, MAX_TILES, at_line, prefetch_row, whole_lines
from common.machine cimport shared
from common.scratch cimport SCRATCH_BYTES, allocate_scratch
from common.threads cimport TASKS_PER_THREAD, chunk_start
from segments.accumulators cimport UNROLLED, apply_block, is_nan
from segments.job cimport (
    COMPLEX, ITEMS, POSITIONS, SIGNED, SINGLE, UNSIGNED, WORD, Block, Job, check_ids, find_any_rows, id_at, id_t,
    ids_of, needs_conversion, no_values, number_bytes, positions_of, read_ids, read_row, read_rows, read_runs,
    read_values, table_of,
)
from segments.merge cimport merge_rows
from scatter.steps cimport complex128

cdef enum:
    FEWEST_COLUMNS = 1 << 5     # of a piece: several cache lines
    ROUND = 1 << 20             # positions: their records fit scratch memory
    CHUNK = 1 << 14             # positions that are partitioned at a time: L2 holds them and their records
    SCANNED = 1 << 12           # positions of which a thread finds its own at a time: L1 holds them
    FEWEST_MERGED = 1 << 9      # segments, by a thread: fewer take less time than its start

cdef struct Tiles:
    Py_ssize_t n
    int shift                   # of a segment's number: its tile
    Py_ssize_t first            # position of the round
    Py_ssize_t n_chunks
    uint32_t* begins            # of each chunk's records: by tile, then of those without a segment, and their end
    uint32_t* segments          # of the records
    uint32_t* sources           # their positions in the round
    char* values                # if there is one column


cdef inline bint takes_ids(const Job* job) noexcept nogil:
    """Whether the accumulators find the row of an element by its id."""
    return job.columns == 1 and job.accumulators[0] != POWERS


cdef inline bint leaves_ids(Block* block) noexcept nogil:
    """Cut a block to what apply_ids takes. False: it is shorter."""
    if block.n < UNROLLED:
        return False
    block.n -= block.n % UNROLLED
    return True


cdef inline void reduce_piece(const Job* job, char* table, Py_ssize_t unit, Py_ssize_t start, Py_ssize_t stop,
                              Py_ssize_t column, Py_ssize_t last_column, char* none) noexcept nogil:
    """Reduce positions start to stop of some columns. none: a row for elements that have no segment."""
    cdef Block block
    cdef Py_ssize_t position, most
    cdef bint by_ids = takes_ids(job) and job.pointers == NULL
    while column < last_column:
        block.columns = min(last_column - column, <Py_ssize_t>ITEMS)
        most = positions_of(block.columns) if job.pointers == NULL else ITEMS // block.columns  # after a search
        position = start
        while position < stop:
            block.n, block.n_ids = min(most, stop - position), stop - position
            if is_interrupted(job.interrupts, block.n * block.columns * job.n_accumulators):
                return
            if job.pointers == NULL:
                check_ids(job, unit, position, block.n)
            if by_ids and leaves_ids(&block) and read_ids(job, unit, position, none - table, &block):
                pass
            elif job.pointers != NULL and job.columns == 1:
                read_runs(job, unit, position, none - table, &block)
            else:
                read_rows(job, unit, position, job.row_bytes, none - table, &block)
            read_values(job, unit, position, column, &block)
            apply_block(job, &block, table + column * WORD)
            position += block.n
        column += block.columns


# pieces

cdef inline Py_ssize_t pieces_of(const Job* job, int n_threads) noexcept nogil:
    """Into how many pieces the columns of a unit are cut."""
    return max(<Py_ssize_t>1, min(job.columns // FEWEST_COLUMNS, n_threads * TASKS_PER_THREAD // job.n_units))


cdef inline Py_ssize_t none_bytes(const Job* job) noexcept nogil:
    """Of a row for elements without a segment; with blocks, of two more: what is carried over, and a blank one."""
    return whole_lines((3 if job.block < job.size else 1) * job.row_bytes) + CACHE_LINE


cdef inline void run_piece(const Job* job, Py_ssize_t task, Py_ssize_t n_pieces, char* none) noexcept nogil:
    cdef Py_ssize_t piece = task % n_pieces, unit = task // n_pieces
    reduce_piece(job, table_of(job, unit), unit, 0, job.size, chunk_start(job.columns, n_pieces, piece),
                 chunk_start(job.columns, n_pieces, piece + 1), none)


cdef inline void run_pieces(const Job* job, int n_threads, char* none) noexcept nogil:
    """none: a row for each thread; for one unit, whose pieces have different columns, one row."""
    cdef Py_ssize_t n_pieces = pieces_of(job, n_threads), task, step = none_bytes(job) if job.n_units > 1 else 0
    if n_threads == 1:
        for task in range(job.n_units * n_pieces):
            run_piece(job, task, n_pieces, none)
    else:
        for task in prange(job.n_units * n_pieces, num_threads=n_threads, schedule="dynamic", chunksize=1):
            run_piece(job, task, n_pieces, none + threadid() * step)


# sorted

cdef inline bint ascend(id_t* ids, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t start = 1, i
    cdef int descents = 0
    while start < n and not descents:
        for i in range(start, min(start + POSITIONS, n)):
            descents += ids[i] < ids[i - 1]
        start += POSITIONS
    return not descents


cdef inline bint are_ascending(const Job* job) noexcept nogil:
    """Whether the ids of each batch are in ascending order."""
    cdef Py_ssize_t unit = 0
    while unit < job.n_units:
        if not (ascend(<const int32_t*>ids_of(job, unit), job.size) if job.id_bytes == 4
                else ascend(<const int64_t*>ids_of(job, unit), job.size)):
            return False
        unit += job.units_per_batch
    return True


cdef inline Py_ssize_t end_of_segment(const Job* job, Py_ssize_t unit, Py_ssize_t position) noexcept nogil:
    """The first position from here on whose segment is not that of the one before, of sorted ids."""
    cdef Py_ssize_t low = position, high, step = 1
    cdef int64_t id
    if position == 0 or position == job.size:
        return position
    id = id_at(job, unit, position - 1)
    while low < job.size and id_at(job, unit, low) == id:  # in steps that double
        low += step
        step *= 2
    high = min(low, job.size)
    low = max(position, low - step // 2)
    while low < high:
        step = (low + high) // 2
        if id_at(job, unit, step) == id:
            low = step + 1
        else:
            high = step
    return low


cdef inline void part_of(const Job* job, Py_ssize_t unit, Py_ssize_t part, Py_ssize_t n_parts, Py_ssize_t* start,
                         Py_ssize_t* stop) noexcept nogil:
    """The positions of a part of a unit with sorted ids: whole segments."""
    start[0] = end_of_segment(job, unit, chunk_start(job.size, n_parts, part))
    stop[0] = end_of_segment(job, unit, chunk_start(job.size, n_parts, part + 1))


cdef inline bint has_known(const Job* job) noexcept nogil:
    """Whether the first word of each segment is known before the pass."""
    return job.accumulators[0] == SQUARES or job.accumulators[0] == POWERS


cdef inline void reopen(const Job* job, const char* blank, char* row) noexcept nogil:
    cdef Py_ssize_t known = job.columns * WORD if has_known(job) else 0
    memcpy(row + known, blank + known, job.row_bytes - known)


cdef inline void reduce_sorted(const Job* job, Py_ssize_t unit, Py_ssize_t start, Py_ssize_t stop,
                               char* none) noexcept nogil:
    """Whole segments of sorted ids. Those that go on in another block are carried over. none: see none_bytes."""
    cdef Py_ssize_t position = start, end
    cdef char* carried = none + job.row_bytes
    cdef char* blank = carried + job.row_bytes
    cdef char* row
    cdef int64_t segment
    while position < stop and not job.interrupts.stopped:
        end = min(stop, (position // job.block + 1) * job.block)
        segment = id_at(job, unit, position) if position > start else -1
        if not 0 <= segment < job.n or id_at(job, unit, position - 1) != segment:
            reduce_piece(job, table_of(job, unit), unit, position, end, 0, job.columns, none)
        else:
            row = table_of(job, unit) + segment * job.row_bytes
            memcpy(carried, row, job.row_bytes)
            reopen(job, blank, row)
            reduce_piece(job, table_of(job, unit), unit, position, end, 0, job.columns, none)
            merge_rows(job, 1, carried, row)
            memcpy(row, carried, job.row_bytes)
        position = end


cdef inline void run_part(const Job* job, Py_ssize_t task, Py_ssize_t n_parts, char* none) noexcept nogil:
    cdef Py_ssize_t start, stop, unit = task // n_parts
    part_of(job, unit, task % n_parts, n_parts, &start, &stop)
    reduce_sorted(job, unit, start, stop, none)


cdef inline void run_sorted(const Job* job, int n_threads, char* none) noexcept nogil:
    cdef Py_ssize_t n_parts = n_threads * TASKS_PER_THREAD, task
    if n_threads == 1:
        for task in range(job.n_units):
            run_part(job, task, 1, none)
    else:
        for task in prange(job.n_units * n_parts, num_threads=n_threads, schedule="dynamic", chunksize=1):
            run_part(job, task, n_parts, none + threadid() * none_bytes(job))


# blocks

cdef struct Blocks:
    Py_ssize_t n_of_unit
    Py_ssize_t first            # of those that are reduced at a time,
    Py_ssize_t n                # and how many they are
    char* tables
    const char* blank           # the row that a segment begins with


cdef inline Py_ssize_t table_bytes(const Job* job) noexcept nogil:
    """Of a block's table."""
    return whole_lines(job.n * job.row_bytes) + CACHE_LINE


cdef inline void open_table(const Job* job, Py_ssize_t unit, const char* blank, char* table) noexcept nogil:
    cdef Py_ssize_t size = job.n * job.row_bytes, filled = min(job.row_bytes, size), row
    memcpy(table, blank, filled)
    while filled < size:
        memcpy(table + filled, table, min(filled, size - filled))
        filled *= 2
    if has_known(job):
        for row in range(job.n):
            memcpy(table + row * job.row_bytes, table_of(job, unit) + row * job.row_bytes, job.columns * WORD)


cdef inline void run_block(const Job* job, const Blocks* blocks, Py_ssize_t i, char* none) noexcept nogil:
    cdef Py_ssize_t unit = (blocks.first + i) // blocks.n_of_unit
    cdef Py_ssize_t start = (blocks.first + i) % blocks.n_of_unit * job.block
    cdef char* table = blocks.tables + i * table_bytes(job)
    open_table(job, unit, blocks.blank, table)
    reduce_piece(job, table, unit, start, min(start + job.block, job.size), 0, job.columns, none)


cdef inline void merge_part(const Job* job, const Blocks* blocks, Py_ssize_t part, Py_ssize_t n_parts) noexcept nogil:
    """A part of the segments, of all blocks in their order."""
    cdef Py_ssize_t start = chunk_start(job.n, n_parts, part), stop = chunk_start(job.n, n_parts, part + 1), i
    for i in range(blocks.n):
        merge_rows(job, stop - start,
                   table_of(job, (blocks.first + i) // blocks.n_of_unit) + start * job.row_bytes,
                   blocks.tables + i * table_bytes(job) + start * job.row_bytes)


cdef inline bint run_blocks(const Job* job, int n_threads, char* none):
    """False: there is no memory."""
    cdef Blocks blocks
    cdef Py_ssize_t n_blocks, most, i, n_parts = min(job.n // FEWEST_MERGED + 1, <Py_ssize_t>n_threads)
    cdef cnp.ndarray memory
    blocks.n_of_unit = (job.size - 1) // job.block + 1
    n_blocks = job.n_units * blocks.n_of_unit
    most = min(SCRATCH_BYTES // 2 // table_bytes(job), n_blocks, n_threads * TASKS_PER_THREAD * 4)
    most = 1 if n_threads == 1 else max(most, <Py_ssize_t>1)
    memory = allocate_scratch(most * table_bytes(job) + CACHE_LINE)
    if memory is None:
        return False
    blocks.tables = at_line(cnp.PyArray_BYTES(memory))
    blocks.blank = none + 2 * job.row_bytes
    blocks.first = 0
    with nogil:
        while blocks.first < n_blocks and not job.interrupts.stopped:
            blocks.n = min(most, n_blocks - blocks.first)
            if n_threads == 1:
                run_block(job, &blocks, 0, none)
                merge_part(job, &blocks, 0, 1)
            else:
                for i in prange(blocks.n, num_threads=n_threads, schedule="dynamic", chunksize=1):
                    run_block(job, &blocks, i, none + threadid() * none_bytes(job))
                for i in prange(n_parts, num_threads=n_threads, schedule="static"):
                    merge_part(job, &blocks, i, n_parts)
            blocks.first += blocks.n
    return True


# tiles

cdef inline bint skips_records(const Job* job) noexcept nogil:
    return job.skips_nan and job.columns == 1 and job.numbers not in (SIGNED, UNSIGNED)


cdef inline bint has_nan(const Job* job, const char* value) noexcept nogil:
    if job.numbers == COMPLEX:
        return is_nan((<const complex128*>value)[0])
    if job.numbers == SINGLE:
        return is_nan((<const float*>value)[0])
    return is_nan((<const double*>value)[0])


cdef inline void place_chunk(const Job* job, Py_ssize_t unit, const Tiles* tiles, Py_ssize_t chunk) noexcept nogil:
    """Partition a chunk of positions by tile."""
    cdef Block block
    cdef uint32_t ends[MAX_TILES + 1]
    cdef uint32_t segments[CHUNK]
    cdef uint32_t* begins = tiles.begins + chunk * (tiles.n + 2)
    cdef int shift = tiles.shift
    cdef Py_ssize_t start = tiles.first + chunk * CHUNK, n = min(<Py_ssize_t>CHUNK, job.size - start), begin = 0, i
    cdef Py_ssize_t tile, width = number_bytes(job) if job.values != NULL and job.columns == 1 else 0
    cdef uint32_t place = <uint32_t>(chunk * CHUNK), count, none = <uint32_t>(tiles.n << shift)
    memset(ends, 0, (tiles.n + 1) * sizeof(uint32_t))
    block.columns = 1
    block.values = NULL
    while begin < n:
        block.n = min(<Py_ssize_t>ITEMS, n - begin)
        if job.pointers == NULL:
            check_ids(job, unit, start + begin, block.n)
        read_rows(job, unit, start + begin, 1, none, &block)
        for i in range(block.n):
            segments[begin + i] = <uint32_t>block.rows[i]
        if skips_records(job):
            read_values(job, unit, start + begin, 0, &block)
            for i in range(block.n):
                segments[begin + i] = none if has_nan(job, block.values + i * block.step) else segments[begin + i]
        for i in range(block.n):
            ends[segments[begin + i] >> shift] += 1
        begin += block.n
    for tile in range(tiles.n + 1):
        count = ends[tile]
        begins[tile] = ends[tile] = place
        place += count
    begins[tiles.n + 1] = place
    begin = 0
    while begin < n:
        block.n = min(<Py_ssize_t>ITEMS, n - begin)
        if width:
            read_values(job, unit, start + begin, 0, &block)
        for i in range(begin, begin + block.n):
            tile = segments[i] >> shift
            place = ends[tile]
            ends[tile] += 1
            tiles.segments[place] = segments[i]
            tiles.sources[place] = <uint32_t>(chunk * CHUNK + i)
            if width == 4:
                memcpy(tiles.values + <Py_ssize_t>place * 4, block.values, 4)
            elif width == 8:
                memcpy(tiles.values + <Py_ssize_t>place * 8, block.values, 8)
            elif width == 16:
                memcpy(tiles.values + <Py_ssize_t>place * 16, block.values, 16)
            block.values += width
        begin += block.n


cdef inline void read_records(const Job* job, Py_ssize_t unit, const Tiles* tiles, Py_ssize_t record, char* items,
                              Block* block) noexcept nogil:
    """items: memory for the rows of a block."""
    cdef Py_ssize_t i, width = job.columns * job.conversion.narrow_bytes
    block.first = tiles.first
    block.n_runs = 0
    block.by_ids, block.none = takes_ids(job) and leaves_ids(block), 0  # all have a segment
    block.by_sources = False
    block.ids, block.id_bytes = <const char*>(tiles.segments + record), sizeof(uint32_t)
    if not block.by_ids:
        find_any_rows(<const uint32_t*>block.ids, job.n, job.row_bytes, 0, block.n, block.rows)
    block.sources = tiles.sources + record
    block.step = job.columns * number_bytes(job)
    block.out = NULL if job.out == NULL else job.out + (unit * job.size + tiles.first) * block.step
    if job.values == NULL:
        no_values(block)
        return
    if job.columns == 1:
        block.values = tiles.values + record * block.step
        return
    block.values = job.values + (unit * job.size + tiles.first) * width
    block.by_sources = not needs_conversion(job)
    for i in range(block.n):
        prefetch_row(block.values + block.sources[i] * width, width)
    if not block.by_sources:
        for i in range(block.n):
            memcpy(items + i * width, block.values + block.sources[i] * width, width)
        read_row(job, items, block.n * job.columns, block.numbers)
        block.values = block.numbers


cdef inline void reduce_records(const Job* job, Py_ssize_t unit, const Tiles* tiles, Py_ssize_t record,
                                Py_ssize_t stop) noexcept nogil:
    cdef Block block
    cdef char items[ITEMS * 16]
    cdef Py_ssize_t most = positions_of(job.columns)
    block.columns = job.columns
    while record < stop:
        block.n, block.n_ids = min(most, stop - record), stop - record
        if is_interrupted(job.interrupts, block.n * block.columns * job.n_accumulators):
            return
        read_records(job, unit, tiles, record, items, &block)
        apply_block(job, &block, table_of(job, unit))
        record += block.n


cdef inline void reduce_tile(const Job* job, Py_ssize_t unit, const Tiles* tiles, Py_ssize_t tile) noexcept nogil:
    cdef Py_ssize_t chunk
    cdef const uint32_t* begins
    for chunk in range(tiles.n_chunks):
        begins = tiles.begins + chunk * (tiles.n + 2) + tile
        reduce_records(job, unit, tiles, begins[0], begins[1])


cdef inline Py_ssize_t find_own(id_t* ids, Py_ssize_t n, int64_t first, uint64_t n_own, Tiles* tiles) noexcept nogil:
    """The records of some segments, and how many they are."""
    cdef Py_ssize_t i, found = 0
    cdef int64_t id
    for i in range(n):
        id = ids[i]
        tiles.segments[found], tiles.sources[found] = <uint32_t>id, <uint32_t>i
        found += <uint64_t>(id - first) < n_own
    return found


cdef inline void reduce_slice(const Job* job, Py_ssize_t unit, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    """Reduce the positions of segments from first on and before last, found among all ids."""
    cdef Tiles tiles
    cdef uint32_t segments[SCANNED]
    cdef uint32_t sources[SCANNED]
    cdef const char* ids = ids_of(job, unit)
    cdef Py_ssize_t n, found
    tiles.segments, tiles.sources, tiles.first = segments, sources, 0
    while tiles.first < job.size:
        n = min(<Py_ssize_t>SCANNED, job.size - tiles.first)
        if is_interrupted(job.interrupts, n):
            return
        check_ids(job, unit, tiles.first, n)
        if job.id_bytes == 4:
            found = find_own(<const int32_t*>ids + tiles.first, n, first, last - first, &tiles)
        else:
            found = find_own(<const int64_t*>ids + tiles.first, n, first, last - first, &tiles)
        reduce_records(job, unit, &tiles, 0, found)
        tiles.first += n


cdef inline void describe_tiles(const Job* job, int n_threads, Tiles* tiles) noexcept nogil:
    cdef Py_ssize_t wanted = n_threads * 2 * TASKS_PER_THREAD
    wanted = max(wanted, 2 * job.n * job.row_bytes // shared.machine.l2_bytes)
    tiles.shift = 0
    while (job.n - 1) >> tiles.shift >= min(wanted, <Py_ssize_t>MAX_TILES):
        tiles.shift += 1
    tiles.n = ((job.n - 1) >> tiles.shift) + 1


cdef inline bint can_tile(const Job* job) noexcept nogil:
    return 1 < job.n < <Py_ssize_t>1 << 30 and job.columns <= ITEMS


cdef inline void run_slices(const Job* job, int n_threads) noexcept nogil:
    cdef Py_ssize_t task, unit
    for task in prange(job.n_units * n_threads, num_threads=n_threads, schedule="dynamic", chunksize=1):
        unit = task // n_threads
        reduce_slice(job, unit, chunk_start(job.n, n_threads, task % n_threads),
                     chunk_start(job.n, n_threads, task % n_threads + 1))


cdef inline bint run_tiles(const Job* job, int n_threads):
    """False: there is no memory."""
    cdef Tiles tiles
    cdef cnp.ndarray memory
    cdef Py_ssize_t unit, chunk, tile, most = min(job.size, <Py_ssize_t>ROUND), begins
    cdef Py_ssize_t width = number_bytes(job) if job.columns == 1 and job.values != NULL else 0
    describe_tiles(job, n_threads, &tiles)
    begins = ((most - 1) // CHUNK + 1) * (tiles.n + 2) * <Py_ssize_t>sizeof(uint32_t)
    memory = allocate_scratch(most * (2 * <Py_ssize_t>sizeof(uint32_t) + width) + begins + CACHE_LINE)
    if memory is None:
        return False
    tiles.values = at_line(cnp.PyArray_BYTES(memory))
    tiles.segments = <uint32_t*>(tiles.values + most * width)
    tiles.sources = tiles.segments + most
    tiles.begins = tiles.sources + most
    for unit in range(job.n_units):
        tiles.first = 0
        while tiles.first < job.size:
            tiles.n_chunks = (min(<Py_ssize_t>ROUND, job.size - tiles.first) - 1) // CHUNK + 1
            for chunk in prange(tiles.n_chunks, num_threads=n_threads, schedule="dynamic", chunksize=1, nogil=True):
                place_chunk(job, unit, &tiles, chunk)
            for tile in prange(tiles.n, num_threads=n_threads, schedule="dynamic", chunksize=1, nogil=True):
                reduce_tile(job, unit, &tiles, tile)
            if job.interrupts.stopped:
                return True
            tiles.first += ROUND
    return True
