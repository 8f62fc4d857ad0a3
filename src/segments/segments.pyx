# cython: language_level=3, freethreading_compatible=True, boundscheck=False, wraparound=False, cdivision=True
"""Segments: group-wise reductions. Python makes their results of accumulators (segments/by_kernels.py).

job.pxd describes a call, accumulators.pxd has the arithmetic, routes.pxd says which thread reduces which elements.
scans.pxd has scans, ordering.pxd order statistics.
"""
from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset
cimport numpy as cnp

from common.codes cimport (
    BOOL, COMPLEX64, COMPLEX128, FLOAT16, FLOAT32, FLOAT64, INCONSISTENT, INT64, MAXIMUM, MINIMUM,
    NO_MEMORY, OK, POWERS, UINT8, UINT64, Accumulator, ReductionCode, TypeCode,
)
from common.interrupts cimport Interrupts, arm, raise_if_interrupted, with_interrupts
from common.items cimport CACHE_LINE, at_line
from common.machine cimport import_shared, shared
from common.routes cimport BLOCKS, DIRECT, N_ROUTES, PARTITION, PRIVATE
from common.scratch cimport allocate_scratch
from common.calls cimport width_of
from common.threads cimport (
    BRIEF_ELEMENTS, MAX_TASKS, begin_call, chunk_start, end_call, may_have_team, most_threads, note_team,
    possible_threads, team_size,
)
from segments.cost cimport Choice, block_for, can_run, choose, route_ns, takes_slices, work_ns
from segments.job cimport COMPLEX, REAL, SIGNED, SINGLE, UNSIGNED, WORD, Job
from segments.merge cimport ROUGH
from segments.ordering cimport (
    DISTINCT, ELEMENT_NS, HIGHER, LINEAR, LOWER, MEDIAN, MIDPOINT, NEAREST, ORDER, QUANTILES, Method, What, run_any,
)
from segments.ordering cimport Job as OrderingJob
from segments.routes cimport are_ascending, none_bytes, run_blocks, run_pieces, run_slices, run_sorted, run_tiles
from segments.scans cimport Scan, describe_scan, run_scan
from segments.softmax cimport Softmax, run_parts, write_all

cnp.import_array()
import_shared()

include "common/explain.pxi"

ROUGH_MOMENTS = <int>ROUGH
WHAT = {"quantiles": QUANTILES, "distinct": DISTINCT, "order": ORDER}
METHODS = {"linear": LINEAR, "lower": LOWER, "higher": HIGHER, "nearest": NEAREST, "midpoint": MIDPOINT,
           "median": MEDIAN}

cdef bint forced_halves = False


cdef inline void describe_numbers(Job* job, TypeCode type_code, bint to_real, bint is_exact) noexcept:
    """After the accumulators are known. is_exact: maxima and powers are of data's precision."""
    cdef TypeCode narrow = UINT8 if type_code == BOOL else type_code
    cdef TypeCode wide
    cdef int a
    for a in range(job.n_accumulators):
        is_exact = is_exact and job.accumulators[a] in (MAXIMUM, MINIMUM, POWERS)
    if narrow >= COMPLEX64:
        job.numbers, wide = COMPLEX, COMPLEX128
    elif FLOAT16 <= narrow <= FLOAT32 and is_exact:
        job.numbers, wide = SINGLE, FLOAT32
    elif narrow > UINT64:
        job.numbers, wide = REAL, FLOAT64
    elif narrow >= UINT8:
        job.numbers, wide = UNSIGNED, UINT64
    else:
        job.numbers, wide = SIGNED, INT64
    job.to_real = to_real and narrow <= UINT64
    job.conversion.narrow, job.conversion.wide = narrow, wide
    job.conversion.narrow_bytes, job.conversion.wide_bytes = width_of(narrow), width_of(wide)
    job.conversion.swapped = 0


cdef inline bint describe(Job* job, cnp.ndarray values, cnp.ndarray ids, bint are_pointers, cnp.ndarray table,
                          tuple accumulators, int type_code, bint to_real, bint is_exact, bint skips_nan,
                          bint rounds, Py_ssize_t block) noexcept:
    """False: the arrays do not fit each other."""
    cdef Py_ssize_t words = 0
    cdef int what, n_words
    if cnp.PyArray_NDIM(values) != 3 or cnp.PyArray_NDIM(ids) != 2 or cnp.PyArray_NDIM(table) != 4 or len(
            accumulators) > POWERS + 1:
        return False
    job.n_units, job.size, job.columns = (cnp.PyArray_DIM(values, 0), cnp.PyArray_DIM(values, 1),
                                          cnp.PyArray_DIM(values, 2))
    job.n = cnp.PyArray_DIM(table, 1)
    job.block = block
    job.row_bytes = cnp.PyArray_DIM(table, 2) * job.columns * WORD
    job.units_per_batch = job.n_units // max(cnp.PyArray_DIM(ids, 0), <Py_ssize_t>1)
    job.values, job.ids, job.table = cnp.PyArray_BYTES(values), cnp.PyArray_BYTES(ids), cnp.PyArray_BYTES(table)
    job.id_bytes = <int>cnp.PyArray_ITEMSIZE(ids)
    job.pointers = <const int64_t*>cnp.PyArray_DATA(ids) if are_pointers else NULL
    job.prefetches = job.n * job.row_bytes > shared.machine.l2_bytes
    job.n_accumulators = 0
    job.out = NULL
    for what, n_words in accumulators:
        job.accumulators[job.n_accumulators] = <Accumulator>what
        job.offset[job.n_accumulators] = words * job.columns * WORD
        job.n_accumulators += 1
        words += n_words
    describe_numbers(job, <TypeCode>type_code, to_real, is_exact)
    job.skips_nan, job.rounds = skips_nan and job.numbers not in (SIGNED, UNSIGNED), rounds
    return (block > 0 and words <= cnp.PyArray_DIM(table, 2) and cnp.PyArray_DIM(table, 0) == job.n_units
            and cnp.PyArray_DIM(table, 3) == job.columns
            and cnp.PyArray_DIM(ids, 1) == (job.n + 1 if are_pointers else job.size)
            and cnp.PyArray_DIM(ids, 0) * job.units_per_batch == job.n_units
            and cnp.PyArray_ISCARRAY_RO(values) and cnp.PyArray_ISCARRAY_RO(ids) and cnp.PyArray_ISCARRAY(table)
            and cnp.PyArray_ITEMSIZE(table) == WORD and (job.id_bytes == 8 or (job.id_bytes == 4 and not are_pointers))
            and cnp.PyArray_ITEMSIZE(values) == width_of(<TypeCode>type_code))


cdef bint is_sorted(const Job* job):
    cdef bint found
    if job.size < BRIEF_ELEMENTS:
        return are_ascending(job)
    with nogil:
        found = are_ascending(job)
    return found


cdef cnp.ndarray allocate_none(const Job* job, int n_threads):
    """What routes.none_bytes says, for each thread. None: there is no memory."""
    cdef Py_ssize_t n_bytes = n_threads * none_bytes(job) + CACHE_LINE, thread
    cdef cnp.ndarray memory = allocate_scratch(n_bytes)
    cdef char* none
    if memory is not None and job.n:
        none = at_line(cnp.PyArray_BYTES(memory))
        for thread in range(n_threads):
            memset(none + thread * none_bytes(job), 0, job.row_bytes)
            if job.block < job.size:
                memcpy(none + thread * none_bytes(job) + 2 * job.row_bytes, job.table, job.row_bytes)
    return memory


cdef Choice route_of(Job* job, int n_threads) noexcept:
    """The choice, or what the settings force."""
    global explained_threads
    cdef Choice choice
    cdef int most = most_threads(n_threads, work_ns(job)), team = 1, route, i = 0
    if explains:
        explained_threads = most
        while True:
            for route in range(1, <int>N_ROUTES):
                estimates[i * N_ROUTES + route] = route_ns(job, route, team)
            if team >= most:
                break
            i, team = i + 1, min(2 * team, most)
    choice = choose(job, most, allowed_routes, most if shared.forced else 1)
    if choice.n_threads > 1 and not shared.forced:
        choice.n_threads = possible_threads(choice.n_threads)
        if not can_run(job, choice.route, choice.n_threads):
            choice.route, choice.n_threads = DIRECT, 1
        note_team(choice.n_threads)
    remember(choice.route, choice.n_threads)
    return choice


cdef Py_ssize_t run_pass(Job* job, int n_threads):
    """Choose a route, and run it."""
    cdef cnp.ndarray memory
    cdef Choice choice = route_of(job, n_threads)
    cdef bint in_pieces, is_brief = job.n_units * job.size * job.columns < BRIEF_ELEMENTS
    cdef char* none
    if choice.route == PARTITION and takes_slices(job, choice.n_threads):
        with nogil:
            run_slices(job, choice.n_threads)
        return OK
    if choice.route == PARTITION:
        return OK if run_tiles(job, choice.n_threads) else NO_MEMORY
    job.block = block_for(job, choice.n_threads)
    in_pieces = choice.route == DIRECT and job.block >= job.size
    memory = allocate_none(job, 1 if in_pieces and job.n_units == 1 else choice.n_threads)
    if memory is None:
        return NO_MEMORY
    none = at_line(cnp.PyArray_BYTES(memory))
    if choice.route == PRIVATE or (choice.route == DIRECT and not in_pieces and not job.is_sorted):
        return OK if run_blocks(job, choice.n_threads, none) else NO_MEMORY
    if in_pieces and is_brief:
        run_pieces(job, choice.n_threads, none)
        return OK
    with nogil:
        if in_pieces:
            run_pieces(job, choice.n_threads, none)
        else:
            run_sorted(job, choice.n_threads, none)
    return OK


cdef Py_ssize_t run_softmax(Softmax* softmax, int n_threads):
    cdef Job* job = softmax.job
    cdef cnp.ndarray memory
    cdef Py_ssize_t status
    cdef Choice choice = route_of(job, n_threads)
    cdef int team = choice.n_threads if choice.route == BLOCKS else 1
    cdef bint by_segments = job.is_sorted and (team == 1 or choice.route == BLOCKS)
    cdef char* none
    memory = allocate_none(job, team if by_segments else 1)
    if memory is None:
        return NO_MEMORY
    none = at_line(cnp.PyArray_BYTES(memory))
    if by_segments:
        with nogil:
            run_parts(softmax, team, none)
        return OK
    status = run_pass(softmax.before, n_threads)
    if status == OK and not job.interrupts.stopped:
        status = run_pass(job, n_threads)
    if status == OK and not job.interrupts.stopped:
        with nogil:
            write_all(softmax, team_size(n_threads, work_ns(softmax.before)), none)
    return status


cdef Py_ssize_t finish(Interrupts* interrupts, Py_ssize_t status) except? -10:
    status = with_interrupts(interrupts, status)
    raise_if_interrupted(status)
    return status


def reduce(cnp.ndarray values not None, cnp.ndarray ids not None, bint are_pointers, cnp.ndarray table not None,
           tuple accumulators, int type_code, bint to_real, bint skips_nan, bint rounds, bint reads_values,
           Py_ssize_t block, int n_threads):
    """Reduce values into a table of opened accumulators.

    Returns a status; whether moments lose so many digits that variances need the mean first; whether an id is too large.

    values: (units, positions, columns). ids: (batches, positions), of 4 or 8 bytes; one below 0 or too great means no
    segment. are_pointers: ids are CSR pointers instead, (batches, segments + 1), of 8 bytes, never decreasing. table:
    (units, segments, words, columns), of 8 bytes. accumulators: of each, (Accumulator, words). to_real: numbers are
    reduced as float64. rounds: sums and products are rounded to float32 after each step. reads_values: False: their
    shape alone counts. block: positions whose accumulators are made alone, and merged in order.
    """
    cdef Job job
    cdef Interrupts interrupts
    cdef int is_rough = 0, is_outside = 0
    cdef Py_ssize_t status
    if not describe(&job, values, ids, are_pointers, table, accumulators, type_code, to_real, not to_real, skips_nan,
                    rounds, block):
        return <Py_ssize_t>INCONSISTENT, False, False
    job.is_rough, job.is_outside = &is_rough, &is_outside
    if not reads_values:
        job.values = NULL
    if job.size == 0 or job.n_units == 0 or job.columns == 0:
        return <Py_ssize_t>OK, False, False
    job.is_sorted = are_pointers or is_sorted(&job)
    job.interrupts = &interrupts
    arm(&interrupts)
    if not may_have_team(n_threads, work_ns(&job)):
        status = run_pass(&job, n_threads)
    else:
        n_threads = begin_call(n_threads)
        status = run_pass(&job, n_threads)
        end_call()
    return finish(&interrupts, status), is_rough != 0, is_outside != 0


def softmax(cnp.ndarray values not None, cnp.ndarray ids not None, bint are_pointers, cnp.ndarray table not None,
            cnp.ndarray out not None, int type_code, bint is_log, Py_ssize_t block, int n_threads):
    """Write the softmax of float32 or float64 values to out, contiguous, of their shape and dtype.

    Returns a status, and whether an id is too large.

    table: (units, segments, 2, columns), of -inf and 0. The others: as in reduce.
    """
    cdef Job job, before
    cdef Interrupts interrupts
    cdef Softmax softmax
    cdef Py_ssize_t status
    cdef int is_outside = 0
    if (not describe(&job, values, ids, are_pointers, table, ((<int>POWERS, 2),), type_code, False, True, False, False,
                     block)
            or not cnp.PyArray_ISCARRAY(out) or cnp.PyArray_SIZE(out) != cnp.PyArray_SIZE(values)
            or type_code not in (FLOAT32, FLOAT64) or cnp.PyArray_ITEMSIZE(out) != cnp.PyArray_ITEMSIZE(values)):
        return <Py_ssize_t>INCONSISTENT, False
    if job.size == 0 or job.n_units == 0 or job.columns == 0:
        return <Py_ssize_t>OK, False
    job.is_sorted = are_pointers or is_sorted(&job)
    job.interrupts = &interrupts
    job.is_rough, job.is_outside = NULL, &is_outside
    before = job
    before.accumulators[0] = MAXIMUM
    job.out, job.is_log = cnp.PyArray_BYTES(out), is_log
    softmax.job, softmax.before = &job, &before
    arm(&interrupts)
    if not may_have_team(n_threads, work_ns(&job)):
        return finish(&interrupts, run_softmax(&softmax, n_threads)), is_outside != 0
    n_threads = begin_call(n_threads)
    status = run_softmax(&softmax, n_threads)
    end_call()
    return finish(&interrupts, status), is_outside != 0


cdef inline void find_extremes(const char* ids, int id_bytes, Py_ssize_t start, Py_ssize_t stop,
                               int64_t* extremes) noexcept nogil:
    cdef Py_ssize_t i
    cdef int64_t least = extremes[0], greatest = extremes[1]
    if id_bytes == 8:
        for i in range(start, stop):
            least = min(least, (<const int64_t*>ids)[i])
            greatest = max(greatest, (<const int64_t*>ids)[i])
    else:
        for i in range(start, stop):
            least = min(least, <int64_t>(<const int32_t*>ids)[i])
            greatest = max(greatest, <int64_t>(<const int32_t*>ids)[i])
    extremes[0], extremes[1] = least, greatest


def extremes(cnp.ndarray ids not None, int n_threads):
    """The least and the greatest of contiguous int32 or int64, of which there is one at least."""
    cdef int64_t found[2 * MAX_TASKS]
    cdef Py_ssize_t part, n = cnp.PyArray_SIZE(ids)
    cdef int id_bytes = <int>cnp.PyArray_ITEMSIZE(ids)
    cdef const char* data = cnp.PyArray_BYTES(ids)
    cdef double work_ns = <double>n * id_bytes / shared.machine.bandwidth
    cdef int team = team_size(n_threads, work_ns)
    if not cnp.PyArray_ISCARRAY_RO(ids) or not cnp.PyArray_ISSIGNED(ids) or id_bytes < 4:
        raise ValueError("extremes: ids are not contiguous and aligned, of dtype int32 or int64")
    for part in range(team):
        found[2 * part] = (<const int64_t*>data)[0] if id_bytes == 8 else (<const int32_t*>data)[0]
        found[2 * part + 1] = found[2 * part]
    if n < BRIEF_ELEMENTS:
        find_extremes(data, id_bytes, 0, n, found)
    else:
        for part in prange(team, num_threads=team, schedule="static", nogil=True):
            find_extremes(data, id_bytes, chunk_start(n, team, part), chunk_start(n, team, part + 1), found + 2 * part)
    for part in range(1, team):
        found[0] = min(found[0], found[2 * part])
        found[1] = max(found[1], found[2 * part + 1])
    return found[0], found[1]


def scan(cnp.ndarray values not None, cnp.ndarray ids not None, bint are_pointers, Py_ssize_t n,
         cnp.ndarray words not None, cnp.ndarray states, cnp.ndarray out not None, int type_code, int number_code,
         int out_code, int reduction, bint exclusive, bint reverse, bint skips_nan, int n_threads):
    """Write the scan of n segments to out. Returns a status.

    values, out: (units, positions, columns). ids: (batches, positions), of 4 or 8 bytes; one below 0 or not below n
    means no segment. are_pointers: ids are CSR pointers instead, (batches, n + 1), of 8 bytes, never decreasing.
    words: the state that a segment begins with, and the result of an element of no segment or of a NaN that does not
    count, as numbers of number_code: float32, float64, int64, uint64 or complex128. states: None, or what the segments
    begin with, (units, n, columns), which become those after the last position. reduction: a ReductionCode.
    """
    cdef Scan job
    cdef Interrupts interrupts
    cdef Py_ssize_t status
    cdef double ns
    job.job.n = n
    if n < 0 or not describe_scan(&job, values, ids, are_pointers, words, states, out, type_code, number_code,
                                  out_code):
        return <Py_ssize_t>INCONSISTENT
    if job.job.size == 0 or job.job.n_units == 0 or job.job.columns == 0:
        return <Py_ssize_t>OK
    job.step, job.exclusive, job.reverse, job.job.skips_nan = <ReductionCode>reduction, exclusive, reverse, skips_nan
    job.job.interrupts = &interrupts
    arm(&interrupts)
    ns = <double>job.job.n_units * job.job.size * job.job.columns * 2 * shared.machine.step_l2
    if not may_have_team(n_threads, ns):
        status = run_scan(&job, states, n_threads, ns)
    else:
        n_threads = begin_call(n_threads)
        status = run_scan(&job, states, n_threads, ns)
        end_call()
    return finish(&interrupts, status)


def order_statistics(int what, cnp.ndarray values not None, cnp.ndarray ids not None, bint are_pointers, Py_ssize_t n,
                     cnp.ndarray out not None, q, int method, int64_t least, cnp.ndarray fill, bint skips_nan,
                     bint is_date, bint is_reversed, int n_threads):
    """Write quantiles, numbers of distinct values or the order to out. Returns a status, and whether a segment has few.

    values: (units, positions, columns), of 4 or 8 bytes. ids: (batches, positions), of 4 or 8 bytes; one below 0 or
    too great means no segment. are_pointers: ids are CSR pointers instead, (batches, n + 1), of 8 bytes. n: segments.
    out: (quantiles, units, n, columns), of float64 or values' dtype; int64 for the others. q: ascending, float64, and
    None for the others. least: segments of fewer elements have `fill`, of out's dtype. is_date: integers that are
    dates. is_reversed: an order is descending.
    """
    cdef OrderingJob job
    cdef Interrupts interrupts
    cdef Py_ssize_t status, n_outs
    cdef int has_few = 0
    if cnp.PyArray_NDIM(values) != 3 or cnp.PyArray_NDIM(ids) != 2:
        return <Py_ssize_t>INCONSISTENT, False
    job.what, job.method, job.n = <What>what, <Method>method, n
    job.n_units, job.size, job.columns = (cnp.PyArray_DIM(values, 0), cnp.PyArray_DIM(values, 1),
                                          cnp.PyArray_DIM(values, 2))
    job.units_per_batch = job.n_units // max(cnp.PyArray_DIM(ids, 0), <Py_ssize_t>1)
    job.ids, job.out = cnp.PyArray_BYTES(ids), cnp.PyArray_BYTES(out)
    job.id_bytes, job.are_pointers = <int>cnp.PyArray_ITEMSIZE(ids), are_pointers
    job.numbers.is_float, job.numbers.is_signed = cnp.PyArray_ISFLOAT(values), cnp.PyArray_ISSIGNED(values)
    job.numbers.has_nan, job.numbers.is_reversed = job.numbers.is_float or is_date, is_reversed
    job.skips, job.least, job.has_few = skips_nan, least, &has_few
    job.q, job.n_q, job.to_real = NULL, 1, cnp.PyArray_TYPE(out) == cnp.NPY_FLOAT64
    if job.what == QUANTILES:
        job.q, job.n_q = <const double*>cnp.PyArray_DATA(q), cnp.PyArray_SIZE(q)
        memcpy(&job.fill, cnp.PyArray_DATA(fill), cnp.PyArray_ITEMSIZE(fill))
    n_outs = job.n_units * job.columns * (job.size if job.what == ORDER else job.n * job.n_q)
    if (n < 0 or cnp.PyArray_SIZE(out) != n_outs or cnp.PyArray_DIM(ids, 0) * job.units_per_batch != job.n_units
            or cnp.PyArray_DIM(ids, 1) != (n + 1 if are_pointers else job.size)
            or cnp.PyArray_ITEMSIZE(values) not in (4, 8)
            or cnp.PyArray_ITEMSIZE(ids) not in (8 if are_pointers else 4, 8)
            or cnp.PyArray_ITEMSIZE(out) != (cnp.PyArray_ITEMSIZE(values) if job.what == QUANTILES and not job.to_real
                                             else 8)
            or not cnp.PyArray_ISCARRAY_RO(values) or not cnp.PyArray_ISCARRAY_RO(ids)
            or not cnp.PyArray_ISCARRAY(out)):
        return <Py_ssize_t>INCONSISTENT, False
    if n_outs == 0:
        return <Py_ssize_t>OK, False
    job.by_halves, job.interrupts = forced_halves, &interrupts
    arm(&interrupts)
    if may_have_team(n_threads, ELEMENT_NS * <double>cnp.PyArray_SIZE(values)):
        n_threads = begin_call(n_threads)
        status = run_any(&job, values, n_threads)
        end_call()
    else:
        status = run_any(&job, values, n_threads)
    return finish(&interrupts, status), has_few != 0


def force_halves(bint by_halves):
    """For tests: take pivots halfway from now on."""
    global forced_halves
    forced_halves = by_halves
