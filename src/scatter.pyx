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
from libc.stdint cimport int64_t
cimport numpy as cnp

from items cimport LINE
from numbers cimport ADD, ASSIGN, MAX, MIN, MUL, Number, Reduction
from resolve cimport (
    BESIDE, BLOCK, DATA, INDEX_DTYPE, OK, SKIPPED, Kind, Mode, Place, Tuples, Walk, describe, is_linear, resolve_block,
    seek,
)
from rows cimport describe_row
from scatter_job cimport LONG_ROW, Job, apply_tuples, copy_data, first_bad_of
from scatter_partition cimport TILE_BYTES, describe_tiles, is_scattered, run_partition
from scatter_private cimport is_private, run_privates
from scatter_rows cimport Rows, describe_rows, run_rows
from scatter_units cimport run_piece, run_units
from small cimport Small, describe_small, new_array
from stream cimport STREAM_BYTES, can_stream
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
    MIN_PARTITION = 1 << 16     # updates
    # A result of this size is worth a partition on one thread; less on more. A larger last cache moves the point where
    # it pays, twice as far if data lies there already, and not at all if it does not.
    FAR_CACHE = 1 << 25
    MAX_FAR_CACHE = 3 << 24


cdef void run_serial(const Job* job, Py_ssize_t* status) noexcept nogil:
    apply_tuples(job, &job.step, job.out, job.updates, 0, job.walk.n, status)


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
    describe_tiles(job, reach, n_threads)
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
