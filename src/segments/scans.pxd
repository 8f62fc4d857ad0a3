# cython: cdivision=True
# Scans of segments: for each element, the reduction of its segment's elements up to it.
#
# A table has a state for each segment and column. One pass over the positions, in their order or from the last one on,
# combines each element with its state and writes that, so the result is that of the loop on any number of threads. Who
# has which positions:
#
#     pieces   a thread has all positions of a unit, or of some of its columns, and a table of its own
#     parts    one unit of ids in ascending order: a thread has the positions of whole segments
from cython.parallel cimport prange, threadid
from libc.stdint cimport int64_t, uint64_t
cimport numpy as cnp

from common.codes cimport (
    ADD, COMPLEX128, FLOAT32, FLOAT64, INT64, MAX, MIN, MUL, NO_MEMORY, OK, UINT8, UINT64, ReductionCode,
)
from common.copies cimport fill_elements
from common.interrupts cimport is_interrupted
from common.items cimport AHEAD, CACHE_LINE, at_line, flat_void, inline_void, prefetch_write, whole_lines
from common.machine cimport shared
from common.scratch cimport SCRATCH_BYTES, allocate_scratch
from common.calls cimport width_of
from common.threads cimport BRIEF_ELEMENTS, TASKS_PER_THREAD, chunk_start, team_size
from scatter.convert cimport Conversion, is_wider, store_items
from scatter.steps cimport add, complex128, extreme, multiply
from segments.accumulators cimport is_nan, number_t, prefetch_ahead
from segments.job cimport (
    COMPLEX, ITEMS, REAL, SIGNED, SINGLE, UNSIGNED, Block, Job, expects_runs, ids_of, read_rows, read_values,
)
from segments.routes cimport FEWEST_COLUMNS, are_ascending, part_of

cdef struct Scan:
    Job job                     # row_bytes: of a segment's states, `size` and others: of data
    Conversion conversion       # from states to the result
    ReductionCode step
    bint is_narrow              # float32 with states of float64, converted one by one
    bint exclusive
    bint reverse
    const char* words           # the state that a segment begins with, and the result of an element of no segment
    char* out                   # of data's shape
    Py_ssize_t n_pieces         # of a unit's columns
    char* states
    Py_ssize_t of_unit          # bytes from a unit's table to the next one; 0: tables are made here,
    Py_ssize_t of_thread        # and so many bytes from a thread's to the next one
    char* none                  # rows for elements of no segment, one for each thread


cdef struct Place:
    const Block* block          # of elements: their numbers, and the rows of their segments in
    char* table
    int64_t no_row              # that of elements of no segment
    const int64_t* ids          # of one column
    bint has_runs               # which they let expect
    char* to                    # where the results go,
    Py_ssize_t step             # and so many bytes from a position to the next


cdef inline number_t following(ReductionCode step, bint one_by_one, number_t before, number_t x) noexcept nogil:
    if step == ADD:
        return add(before, x)
    elif step == MUL:
        if number_t is complex128:
            if before.real == 1 and before.imag == 0:  # 1 × (inf + i) would be inf + NaN i
                return x
        return multiply(before, x)
    else:
        return extreme(step == MAX, one_by_one, before, x)


cdef inline number_t number_at(bint is_narrow, const char* values, Py_ssize_t i, number_t* type) noexcept nogil:
    if number_t is double and is_narrow:
        return (<const float*>values)[i]
    return (<const number_t*>values)[i]


cdef inline inline_void scan_number(ReductionCode step, bint skips, bint is_narrow, bint one_by_one, bint exclusive,
                                    bint has_segment, number_t x, number_t none, number_t* state, char* to,
                                    Py_ssize_t i) noexcept nogil:
    cdef number_t before = state[0]
    cdef number_t after = following(step, one_by_one, before, x)
    cdef bint counts = True
    if skips:
        counts = not is_nan(x)
        after = after if counts else before
    state[0] = after
    after = before if exclusive else after
    after = after if has_segment & counts else none
    if number_t is double and is_narrow:
        (<float*>to)[i] = <float>after
    else:
        (<number_t*>to)[i] = after


cdef inline inline_void scan_ids(ReductionCode step, bint skips, bint is_narrow, bint has_runs, number_t* type,
                                 const Scan* scan, const Place* where) noexcept nogil:
    """One column. has_runs: the state of the last id stays in a register."""
    # Copies, since stores could change what pointers point to.
    cdef Py_ssize_t n = where.block.n, direction = -1 if scan.reverse else 1, i = n - 1 if scan.reverse else 0, k
    cdef Py_ssize_t n_ahead = n - AHEAD if scan.job.prefetches else 0
    cdef bint exclusive = scan.exclusive, has_segment = False
    cdef const char* values = where.block.values
    cdef const int64_t* ids = where.ids
    cdef char* table = where.table
    cdef char* to = where.to
    cdef number_t* place = <number_t*>(table + where.no_row)
    cdef number_t none = (<const number_t*>scan.words)[1], x, state = place[0]
    cdef uint64_t n_segments = scan.job.n
    cdef int64_t id, last = -1, no_row = where.no_row
    for k in range(n):
        id, x = ids[i], number_at(is_narrow, values, i, type)
        if not has_runs and k < n_ahead:
            prefetch_write(table + ids[i + AHEAD * direction] * <int64_t>sizeof(number_t))
        if not has_runs or id != last:
            if has_runs:
                place[0] = state
            has_segment = <uint64_t>id < n_segments
            place = <number_t*>(table + (id * <int64_t>sizeof(number_t) if has_segment else no_row))
            if has_runs:
                state, last = place[0], id
        scan_number(step, skips, is_narrow, True, exclusive, has_segment, x, none, &state if has_runs else place, to, i)
        i += direction
    if has_runs:
        place[0] = state


cdef inline inline_void scan_columns(ReductionCode step, bint skips, bint is_narrow, number_t* type, const Scan* scan,
                                     const Place* where) noexcept nogil:
    cdef Py_ssize_t k, i, j
    cdef number_t none = (<const number_t*>scan.words)[1], x
    cdef const char* values
    cdef number_t* states
    cdef char* to
    for k in range(where.block.n):
        i = where.block.n - 1 - k if scan.reverse else k
        if scan.job.prefetches and not scan.reverse:
            prefetch_ahead(&scan.job, where.block, i, where.table)
        values, to = where.block.values + i * where.block.step, where.to + i * where.step
        states = <number_t*>(where.table + where.block.rows[i])
        if where.block.rows[i] == where.no_row:
            for j in range(where.block.columns):
                scan_number(step, False, is_narrow, False, False, False, none, none, states + j, to, j)
            continue
        for j in range(where.block.columns):
            x = number_at(is_narrow, values, j, type)
            scan_number(step, skips, is_narrow, False, scan.exclusive, True, x, none, states + j, to, j)


cdef inline inline_void scan_step(ReductionCode step, bint skips, bint is_narrow, number_t* type, const Scan* scan,
                                  const Place* where) noexcept nogil:
    if scan.job.columns != 1:
        scan_columns(step, skips, is_narrow, type, scan, where)
    elif where.has_runs:
        scan_ids(step, skips, is_narrow, True, type, scan, where)
    else:
        scan_ids(step, skips, is_narrow, False, type, scan, where)


cdef inline inline_void scan_numbers(bint skips, bint is_narrow, number_t* type, const Scan* scan,
                                     const Place* where) noexcept nogil:
    if scan.step == ADD:
        scan_step(ADD, skips, is_narrow, type, scan, where)
    elif scan.step == MUL:
        scan_step(MUL, skips, is_narrow, type, scan, where)
    elif number_t is complex128:
        pass  # which has no order
    elif scan.step == MAX:
        scan_step(MAX, skips, is_narrow, type, scan, where)
    else:
        scan_step(MIN, skips, is_narrow, type, scan, where)


cdef inline inline_void scan_floats(bint is_narrow, number_t* type, const Scan* scan,
                                    const Place* where) noexcept nogil:
    if scan.job.skips_nan:
        scan_numbers(True, is_narrow, type, scan, where)
    else:
        scan_numbers(False, is_narrow, type, scan, where)


cdef inline flat_void scan_block(const Scan* scan, const Place* where) noexcept nogil:
    if scan.is_narrow:
        scan_floats(True, <double*>NULL, scan, where)
    elif scan.job.to_real or scan.job.numbers == REAL:
        scan_floats(False, <double*>NULL, scan, where)
    elif scan.job.numbers == SINGLE:
        scan_floats(False, <float*>NULL, scan, where)
    elif scan.job.numbers == COMPLEX:
        scan_floats(False, <complex128*>NULL, scan, where)
    elif scan.job.numbers == SIGNED:
        scan_numbers(False, False, <int64_t*>NULL, scan, where)
    else:
        scan_numbers(False, False, <uint64_t*>NULL, scan, where)


cdef inline void scan_piece(const Scan* scan, Py_ssize_t unit, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t column,
                            Py_ssize_t n_columns, char* table, char* none) noexcept nogil:
    """Positions start to stop of some columns, at most ITEMS."""
    cdef const Job* job = &scan.job
    cdef Block block
    cdef Place where
    cdef char numbers[ITEMS * 16]
    cdef Py_ssize_t most = ITEMS // n_columns, n_blocks = (stop - start + most - 1) // most, b, i, position
    cdef Py_ssize_t width = scan.conversion.narrow_bytes, step = job.columns * width
    cdef bint converts = scan.conversion.narrow != scan.conversion.wide
    cdef char* to
    block.columns = n_columns
    where.block, where.table, where.no_row = &block, table, none - table
    for b in range(n_blocks):
        position = start + (n_blocks - 1 - b if scan.reverse else b) * most
        block.n = min(most, stop - position)
        if is_interrupted(job.interrupts, 2 * block.n * n_columns):
            return
        if job.columns != 1:
            read_rows(job, unit, position, job.row_bytes, where.no_row, &block)
        else:
            where.ids = <const int64_t*>ids_of(job, unit) + position
            if job.pointers != NULL or job.id_bytes == 4:  # rows of 1 byte are ids
                read_rows(job, unit, position, 1, -1, &block)
                where.ids = block.rows
            where.has_runs = expects_runs(where.ids, block.n)
        read_values(job, unit, position, column, &block)
        to = scan.out + (unit * job.size + position) * step + column * width
        where.to, where.step = to, step
        if converts:
            where.to, where.step = <char*>numbers, n_columns * scan.conversion.wide_bytes
        scan_block(scan, &where)
        if converts and n_columns == job.columns:
            store_items(&scan.conversion, numbers, NULL, 0, block.n * n_columns, to, width)
        elif converts:
            for i in range(block.n):
                store_items(&scan.conversion, numbers + i * where.step, NULL, 0, n_columns, to + i * step, width)


cdef inline void open_rows(const Scan* scan, Py_ssize_t unit, Py_ssize_t n_columns, char* table) noexcept nogil:
    """The states of all segments; of the ids alone where these are fewer."""
    cdef const Job* job = &scan.job
    cdef Block block
    cdef Py_ssize_t width = scan.conversion.wide_bytes, position = 0, i
    if job.n <= job.size:
        fill_elements(width, scan.words, table, job.n * job.row_bytes // width)
        return
    while position < job.size:
        block.n = min(<Py_ssize_t>ITEMS, job.size - position)
        read_rows(job, unit, position, job.row_bytes, -1, &block)
        for i in range(block.n):
            if block.rows[i] >= 0:
                fill_elements(width, scan.words, table + block.rows[i], n_columns)
        position += block.n


cdef inline void run_piece(const Scan* scan, Py_ssize_t task, int thread) noexcept nogil:
    cdef Py_ssize_t unit = task // scan.n_pieces, piece = task % scan.n_pieces, columns = scan.job.columns
    cdef Py_ssize_t column = chunk_start(columns, scan.n_pieces, piece)
    cdef Py_ssize_t n_columns = chunk_start(columns, scan.n_pieces, piece + 1) - column
    cdef char* table = scan.states + unit * scan.of_unit + thread * scan.of_thread
    if scan.of_unit:
        table += column * scan.conversion.wide_bytes
    else:
        open_rows(scan, unit, n_columns, table)
    scan_piece(scan, unit, 0, scan.job.size, column, n_columns, table,
               scan.none + thread * whole_lines(scan.job.row_bytes))


cdef inline void run_part(const Scan* scan, Py_ssize_t part, Py_ssize_t n_parts, int thread) noexcept nogil:
    cdef Py_ssize_t start, stop
    part_of(&scan.job, 0, part, n_parts, &start, &stop)
    scan_piece(scan, 0, start, stop, 0, 1, scan.states, scan.none + thread * whole_lines(scan.job.row_bytes))


cdef inline void run_pieces(const Scan* scan, Py_ssize_t n_tasks, int team) noexcept nogil:
    cdef Py_ssize_t task
    if team == 1:
        for task in range(n_tasks):
            run_piece(scan, task, 0)
    else:
        for task in prange(n_tasks, num_threads=team, schedule="dynamic", chunksize=1):
            run_piece(scan, task, threadid())


cdef inline Py_ssize_t run_scan(Scan* scan, cnp.ndarray states, int n_threads, double ns):
    cdef Job* job = &scan.job
    cdef cnp.ndarray memory
    cdef Py_ssize_t width = scan.conversion.wide_bytes, columns = job.columns, n_columns, n_tasks, task
    cdef int team = team_size(n_threads, ns)
    cdef bint in_parts
    # A thread's table takes at most half of the scratch memory, unless a cache line of columns takes more.
    n_columns = max(SCRATCH_BYTES // 2 // (max(job.n, <Py_ssize_t>1) * width), CACHE_LINE // width)
    n_columns = min(n_columns, min(columns, <Py_ssize_t>ITEMS))
    scan.n_pieces = max((columns - 1) // n_columns + 1,
                        min(columns // FEWEST_COLUMNS, team * TASKS_PER_THREAD // job.n_units))
    n_tasks = job.n_units * scan.n_pieces
    in_parts = team > 1 and n_tasks == 1 and columns == 1
    if in_parts and job.pointers == NULL:
        with nogil:
            in_parts = are_ascending(job)
    team = team if in_parts else <int>min(<Py_ssize_t>team, n_tasks)
    job.row_bytes = (columns if states is not None else (columns - 1) // scan.n_pieces + 1) * width
    job.prefetches = job.n * job.row_bytes > shared.machine.l2_bytes
    scan.of_unit = job.n * job.row_bytes if states is not None else 0
    scan.of_thread = whole_lines(job.n * job.row_bytes) if states is None and not in_parts else 0
    memory = allocate_scratch(team * (whole_lines(job.row_bytes) + scan.of_thread) + CACHE_LINE
                              + (whole_lines(job.n * width) if in_parts else 0))
    if memory is None:
        return NO_MEMORY
    scan.none = at_line(cnp.PyArray_BYTES(memory))
    scan.states = scan.none + team * whole_lines(job.row_bytes)
    if states is not None:
        scan.states = cnp.PyArray_BYTES(states)
    if team == 1 and job.n_units * job.size * columns < BRIEF_ELEMENTS:
        run_pieces(scan, n_tasks, 1)
        return OK
    with nogil:
        if not in_parts:
            run_pieces(scan, n_tasks, team)
        else:
            if states is None:
                open_rows(scan, 0, 1, scan.states)
            for task in prange(team * TASKS_PER_THREAD, num_threads=team, schedule="dynamic", chunksize=1):
                run_part(scan, task, team * TASKS_PER_THREAD, threadid())
    return OK


cdef inline bint describe_scan(Scan* scan, cnp.ndarray values, cnp.ndarray ids, bint are_pointers, cnp.ndarray words,
                               cnp.ndarray states, cnp.ndarray out, int type_code, int number_code,
                               int out_code) noexcept:
    """False: the arrays do not fit each other."""
    cdef Job* job = &scan.job
    cdef Conversion* to_numbers = &job.conversion
    cdef Conversion* to_results = &scan.conversion
    cdef int axis
    if cnp.PyArray_NDIM(values) != 3 or cnp.PyArray_NDIM(ids) != 2 or cnp.PyArray_NDIM(out) != 3:
        return False
    for axis in range(3):
        if cnp.PyArray_DIM(values, axis) != cnp.PyArray_DIM(out, axis):
            return False
    job.n_units, job.size, job.columns = (cnp.PyArray_DIM(values, 0), cnp.PyArray_DIM(values, 1),
                                          cnp.PyArray_DIM(values, 2))
    job.units_per_batch = job.n_units // max(cnp.PyArray_DIM(ids, 0), <Py_ssize_t>1)
    job.values, job.ids = cnp.PyArray_BYTES(values), cnp.PyArray_BYTES(ids)
    job.id_bytes = <int>cnp.PyArray_ITEMSIZE(ids)
    job.pointers = <const int64_t*>cnp.PyArray_DATA(ids) if are_pointers else NULL
    scan.words, scan.out = cnp.PyArray_BYTES(words), cnp.PyArray_BYTES(out)
    job.out = NULL  # the results are not numbers
    job.to_real = number_code == FLOAT64 and type_code <= UINT64
    to_numbers.narrow = type_code
    to_numbers.wide = number_code if not job.to_real else INT64 if type_code < UINT8 else UINT64
    job.numbers = (SINGLE if number_code == FLOAT32 else COMPLEX if number_code == COMPLEX128 else
                   SIGNED if to_numbers.wide == INT64 else UNSIGNED if to_numbers.wide == UINT64 else REAL)
    to_results.narrow, to_results.wide = out_code, number_code
    if number_code == INT64 or number_code == UINT64:  # whose sums have the same bits
        to_results.wide = INT64 if out_code < UINT8 else UINT64
    to_numbers.narrow_bytes, to_results.narrow_bytes = width_of(type_code), width_of(out_code)
    to_numbers.wide_bytes = to_results.wide_bytes = width_of(number_code)
    to_numbers.swapped = to_results.swapped = 0
    scan.is_narrow = type_code == FLOAT32 and number_code == FLOAT64 and out_code == FLOAT32
    if scan.is_narrow:
        to_numbers.wide = to_results.wide = FLOAT32
    return ((type_code == to_numbers.wide or is_wider(type_code, to_numbers.wide))
            and (out_code == to_results.wide or is_wider(out_code, to_results.wide))
            and cnp.PyArray_ITEMSIZE(values) == to_numbers.narrow_bytes
            and cnp.PyArray_ITEMSIZE(out) == to_results.narrow_bytes
            and cnp.PyArray_SIZE(words) == 2 and cnp.PyArray_ITEMSIZE(words) == to_results.wide_bytes
            and cnp.PyArray_DIM(ids, 1) == (job.n + 1 if are_pointers else job.size)
            and cnp.PyArray_DIM(ids, 0) * job.units_per_batch == job.n_units
            and (job.id_bytes == 8 or (job.id_bytes == 4 and not are_pointers))
            and cnp.PyArray_ISCARRAY_RO(values) and cnp.PyArray_ISCARRAY_RO(ids) and cnp.PyArray_ISCARRAY_RO(words)
            and cnp.PyArray_ISCARRAY(out) and (states is None or (
                cnp.PyArray_SIZE(states) == job.n_units * job.n * job.columns and cnp.PyArray_ISCARRAY(states)
                and cnp.PyArray_ITEMSIZE(states) == to_numbers.wide_bytes)))
