# cython: language_level=3, freethreading_compatible=True, boundscheck=False, wraparound=False, cdivision=True
"""Scatters: copy data to out, then apply updates in row-major order, on any number of threads.

Except in PRIVATE, threads own destinations, not updates, so that each destination gets its updates in order.
choose_strategy (strategy.pxd) selects a strategy, and run runs it:

    SERIAL      (job.pxd: apply_tuples) one thread: for little work, few destinations, or if memory is short
    UNITS       (units.pxd) the leading axes of the result are those of the tuples (batches, *_elements along a later
                axis): a thread copies one such unit of data and applies its updates while the unit is in the cache
    ROWS        (rows.pxd) rows of a cache line or more, into a new result. In rounds of a bounded number of updates:
                    resolve_row_ids  each tuple becomes the row id of its destination
                    order_updates    each thread owns a range of rows and groups their updates, in order, by histogram
                                     and prefix sum; for ASSIGN it keeps the last update of each row
                    write_rows       each row is written once from data and its updates, with non-temporal stores for
                                     large results
    ROW_PIECES  (row_pieces.pxd) long rows: every thread resolves all tuples and applies its piece of each row
    PRIVATE     (private.pxd) few destinations and a reduction that is associative bit for bit (of integers; max
                and min): each thread applies a chunk of the updates to a private copy of the destinations, and the
                copies are combined in order
    PARTITION   (partition.pxd) all other large scatters: propagation blocking. Destinations are cut into tiles that
                fit L2. In rounds of a bounded number of updates:
                    count_records  each thread counts the updates of its chunk by tile (histogram)
                    write_records  each thread writes records (position in the tile, update), in order, to its part of
                                   each tile
                    apply_records  the thread that owns a tile copies the tile of data and applies the tile's records

For ASSIGN the last writer wins, since updates are applied in order (in ROWS, order_updates keeps only the last).
Threads never write to shared destinations, so there are no locks and no atomics. Between passes there is a barrier.
"""
from cpython.object cimport PyTypeObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset
cimport numpy as cnp

from common.codes cimport (
    ASSIGN, BOOL, COMPLEX64, COMPLEX128, FLOAT16, FLOAT32, INDEX_DTYPE, INT8, MUL, MUL_MARKED, NONE, OK, RAISE, UINT8,
    Kind, Mode, ReductionCode, TypeCode,
)
from common.items cimport MAX_WORD_BYTES
from common.resolve cimport BLOCK, SKIPPED, Tuples, describe, resolve_block
from common.rows cimport describe_row
from common.small_calls cimport PyArray_NewFromDescr, SmallCall, describe_small, is_raise, new_array
from common.strategies cimport (
    AUTO, PARTITION, PRIVATE, ROW_PIECES, ROWS, SERIAL, UNITS, ScatterStrategy,
)
from common.stream cimport STREAM_BYTES, can_stream
from common.threads cimport team_size
from common.walk cimport MAX_DIMS, OTHER, Cursor, Walk, is_linear, seek
from scatter.apply cimport finish_step, swap_bytes
from scatter.job cimport N_TYPES, Job, Reduction, apply_tuples, copy_data, row_items
from scatter.partition cimport run_partition
from scatter.private cimport run_private
from scatter.reductions cimport write_marker
from scatter.row_pieces cimport run_row_pieces
from scatter.rows cimport run_rows
from scatter.strategy cimport Descriptions, choose_strategy
from scatter.units cimport describe_units, run_units

cnp.import_array()

cdef extern from "Python.h":
    Py_ssize_t PY_SSIZE_T_MAX

cdef enum:
    N_REDUCTIONS = 32  # codes that can be registered

cdef Reduction reductions[N_REDUCTIONS]  # by ReductionCode
cdef dict code_of_name = {}
cdef int forced_strategy = AUTO
cdef int forced_threads = 0
cdef int last = AUTO


def register(str name not None, int code, types, associative, bint idempotent, dict identities not None):
    """Register a reduction under its name. types and associative are masks, in which bit t stands for TypeCode t.

    types: supported; 0: any dtype. associative: grouping the updates, in order, cannot change a bit. idempotent:
    a repeated update changes nothing. identities: {TypeCode: bytes in native byte order}, such that the step of the
    identity and an update is the update bit for bit. Complex MUL has none: its destinations are marked instead.
    """
    cdef Reduction* reduction
    if not 0 <= code < N_REDUCTIONS:
        raise ValueError(f"a reduction's code is 0 to {N_REDUCTIONS - 1}, not {code}")
    reduction = &reductions[code]
    memset(reduction, 0, sizeof(Reduction))
    reduction.types = types
    reduction.associative = associative
    reduction.idempotent = idempotent
    for type_code, identity in identities.items():
        if not 0 <= type_code < N_TYPES or not 0 < len(identity) <= MAX_WORD_BYTES:
            raise ValueError(f"no identity of type code {type_code}: {identity!r}")
        memcpy(reduction.identity[<int>type_code], <const char*><bytes>identity, len(identity))
        reduction.has_identity |= <unsigned int>1 << <int>type_code
    code_of_name[name] = code


cdef Py_ssize_t run(Job* job, Descriptions* descriptions, ScatterStrategy strategy) noexcept:
    """Run the strategy. Returns OK or the position of the first bad index, in row-major order."""
    global last
    cdef Py_ssize_t status = OK
    cdef bint done = True
    if strategy == UNITS:
        status = run_units(&descriptions.units, job)
    elif strategy == ROWS:
        done = run_rows(&descriptions.rows, &status)
    elif strategy == ROW_PIECES:
        status = run_row_pieces(&descriptions.row_pieces, job)
    elif strategy == PRIVATE:
        done = run_private(job, &status)
    elif strategy == PARTITION:
        done = run_partition(&descriptions.partition, job, &status)
    if strategy == SERIAL or not done:
        strategy = SERIAL
        copy_data(job)
        with nogil:
            apply_tuples(job, &job.step, job.out, job.updates, 0, job.walk.n, &status)
    if last != strategy:  # write rarely: other threads read this cache line
        last = strategy
    return status


cdef Py_ssize_t scatter_into(Kind kind, cnp.ndarray data, cnp.ndarray indices, cnp.ndarray updates, cnp.ndarray out,
                             int axis, int batch_dims, Mode mode, bint wrap_negative, ReductionCode code,
                             TypeCode type_code, int n_threads) noexcept:
    cdef Job job
    cdef Descriptions descriptions
    cdef int row_axis, updates_axis, d
    cdef double work_ns

    if not describe(kind, out, indices, updates, axis, batch_dims, mode, wrap_negative, &job.tuples, &job.walk,
                    &row_axis, &updates_axis):
        return INDEX_DTYPE
    job.reduction = &reductions[<int>code]
    job.out = cnp.PyArray_BYTES(out)
    job.out_bytes = cnp.PyArray_NBYTES(out)
    job.data = cnp.PyArray_BYTES(data) if data is not None else NULL
    job.updates = cnp.PyArray_BYTES(updates)
    job.max_threads = n_threads
    job.forced_threads = forced_threads
    if job.walk.n == 0:
        copy_data(&job)
        return OK
    describe_row(&job.step.row, out, row_axis, updates, updates_axis, PY_SSIZE_T_MAX, code != ASSIGN)
    job.step.reduction = code if job.step.row.item_bytes else ASSIGN  # empty rows: only check the indices
    job.step.type_code = type_code
    job.step.swapped = number_bytes(out) if code != ASSIGN and cnp.PyArray_ISBYTESWAPPED(out) else 0
    finish_step(&job.step)
    job.row_bytes = 0
    if job.data != NULL:
        job.row_bytes = cnp.PyArray_ITEMSIZE(out)
        for d in range(row_axis, cnp.PyArray_NDIM(out)):
            job.row_bytes *= cnp.PyArray_DIM(out, d)
    job.updates_are_linear = is_linear(&job.walk, OTHER)
    job.streams = job.out_bytes >= STREAM_BYTES and can_stream()
    # Estimated time: one nanosecond each to resolve an index, to combine an item, and to move 8 bytes.
    work_ns = <double>row_items(&job)
    work_ns = job.walk.n * (job.tuples.k + work_ns + work_ns * job.step.row.item_bytes / 8)
    if job.data != NULL:
        work_ns += <double>job.out_bytes / 8
    job.n_threads = team_size(n_threads, forced_threads, work_ns)
    describe_units(&descriptions.units, &job, kind, out, indices, axis, batch_dims)
    return run(&job, &descriptions, choose_strategy(&job, forced_strategy, &descriptions))


cdef inline int number_bytes(cnp.ndarray array) noexcept:
    """Width of a number with a byte order: an element, or a part of a complex element."""
    cdef int width = <int>cnp.PyArray_ITEMSIZE(array)
    return width // 2 if array.descr.kind == c'c' else width


cdef Py_ssize_t assign_identity(Kind kind, cnp.ndarray data, cnp.ndarray indices, cnp.ndarray updates, cnp.ndarray out,
                                int axis, int batch_dims, Mode mode, bint wrap_negative, ReductionCode* code,
                                TypeCode type_code, int n_threads) except? -9:
    """Copy data to out, and assign the reduction's identity, or the marker, to each destination."""
    cdef const Reduction* reduction = &reductions[<int>code[0]]
    cdef char element[MAX_WORD_BYTES]
    cdef Py_ssize_t strides[MAX_DIMS]
    cdef cnp.dtype dtype = out.descr
    cdef cnp.ndarray identity
    if reduction.has_identity >> <int>type_code & 1:
        memcpy(element, reduction.identity[<int>type_code], MAX_WORD_BYTES)
    elif code[0] == MUL and write_marker(type_code, element):
        code[0] = MUL_MARKED
    else:
        raise ValueError(f"reduction {<int>code[0]} has no identity for type code {<int>type_code}")
    if cnp.PyArray_ISBYTESWAPPED(out):
        swap_bytes(element, number_bytes(out))
    memset(strides, 0, sizeof(strides))
    Py_INCREF(dtype)  # PyArray_NewFromDescr steals a reference
    identity = PyArray_NewFromDescr(<PyTypeObject*>cnp.ndarray, dtype, cnp.PyArray_NDIM(updates),
                                    <const Py_ssize_t*>cnp.PyArray_DIMS(updates), strides, element, 0, NULL)
    return scatter_into(kind, data, indices, identity, out, axis, batch_dims, mode, wrap_negative, ASSIGN, NONE,
                        n_threads)


def scatter(int kind, cnp.ndarray data, cnp.ndarray indices not None, cnp.ndarray updates not None,
            cnp.ndarray out not None, int axis, int batch_dims, int mode, bint wrap_negative, int reduction,
            int type_code, bint include_self, int n_threads):
    """Copy data to out, apply the updates, and return a status. The shapes must be those of a valid plan.

    data: contiguous, and out then too; None if out holds it already. reduction: a ReductionCode. type_code: of the
    dtype; ignored for ASSIGN. include_self=False: destinations start from the identity. out must not overlap itself or
    another array. If an index is bad, out may be partly written; the caller checks indices first if that matters.
    """
    cdef ReductionCode code = <ReductionCode>reduction
    cdef Py_ssize_t status
    if not include_self and code != ASSIGN:
        status = assign_identity(<Kind>kind, data, indices, updates, out, axis, batch_dims, <Mode>mode, wrap_negative,
                                 &code, <TypeCode>type_code, n_threads)
        if status != OK:
            return status
        data = None
    return scatter_into(<Kind>kind, data, indices, updates, out, axis, batch_dims, <Mode>mode, wrap_negative, code,
                        <TypeCode>type_code, n_threads)


cdef inline int type_code_of(cnp.dtype dtype) noexcept:
    """TypeCode of a NumPy dtype; NONE for others. Type codes are ordered by kind, then by width."""
    cdef Py_ssize_t width = dtype.itemsize
    cdef char kind = dtype.kind
    cdef int order = 0 if width == 1 else 1 if width == 2 else 2 if width == 4 else 3
    if kind == c'b':
        return BOOL
    if kind == c'i':
        return <int>INT8 + order
    if kind == c'u':
        return <int>UINT8 + order
    if kind == c'f' and width <= 8:
        return FLOAT16 if width == 2 else <int>FLOAT32 + order - 2
    if kind == c'c' and width <= 16:
        return COMPLEX64 if width == 8 else COMPLEX128
    return NONE


def try_scatter(int kind, bint wrap_negative, data, indices, updates, axis, batch_dims, reduction, mode, include_self,
                out, int n_threads):
    """Fast path without a plan: a copy of data with the updates applied. None: the call needs a plan, or is an error.

    data to out are unchecked arguments of the user. For ND axis is 0, for ELEMENTS batch_dims is 0. reduction: the
    name of a registered reduction.
    """
    cdef SmallCall call
    cdef cnp.ndarray source, update, result
    cdef object found
    cdef int code, d, type_code = NONE

    if (type(data) is not cnp.ndarray or type(indices) is not cnp.ndarray or type(updates) is not cnp.ndarray
            or out is not None or include_self is not True or not is_raise(mode) or type(reduction) is not str):
        return None
    found = code_of_name.get(reduction)
    if found is None or not describe_small(&call, <Kind>kind, data, indices, axis, batch_dims):
        return None
    source = data
    update = updates
    code = found
    if reductions[code].types:
        type_code = type_code_of(source.descr)
        if not reductions[code].types >> type_code & 1:
            return None
    if cnp.PyArray_NDIM(update) != call.n_dims:
        return None
    for d in range(call.n_dims):
        if cnp.PyArray_DIM(update, d) != call.shape[d]:
            return None
    if (update.descr is not source.descr and update.descr != source.descr) or not cnp.PyArray_IS_C_CONTIGUOUS(source):
        return None
    result = new_array(source, cnp.PyArray_NDIM(source), <const Py_ssize_t*>cnp.PyArray_DIMS(source))
    if result is None or scatter_into(<Kind>kind, source, indices, update, result, call.axis, call.batch_dims, RAISE,
                                      wrap_negative, <ReductionCode>code, <TypeCode>type_code, n_threads) != OK:
        return None
    return result


def count_rows(int kind, cnp.ndarray row_ids not None, cnp.ndarray indices not None, int axis, int batch_dims,
               int mode, bint wrap_negative, Py_ssize_t start, cnp.ndarray counts not None):
    """Add the number of tuples that name row start + i to counts[i]. row_ids: an array whose offsets are row ids."""
    cdef Tuples tuples
    cdef Walk walk
    cdef Cursor cursor
    cdef int64_t offsets[BLOCK]
    cdef int64_t* count = <int64_t*>cnp.PyArray_DATA(counts)
    cdef int64_t n_counts = cnp.PyArray_SIZE(counts)
    cdef int row_axis, other_axis
    cdef Py_ssize_t n = 0, i, done = 0
    if not describe(<Kind>kind, row_ids, indices, None, axis, batch_dims, <Mode>mode, wrap_negative, &tuples, &walk,
                    &row_axis, &other_axis):
        return <Py_ssize_t>INDEX_DTYPE
    with nogil:
        seek(&walk, 0, &cursor)
        while done < walk.n:
            resolve_block(&tuples, &walk, &cursor, min(<Py_ssize_t>BLOCK, walk.n - done), False, offsets, &n)
            if n < 0:
                break
            for i in range(n):
                if offsets[i] != SKIPPED and 0 <= offsets[i] - start < n_counts:
                    count[offsets[i] - start] += 1
            done += n
    return <Py_ssize_t>OK if n >= 0 else done * tuples.k - 1 - n


def force(int strategy, int n_threads):
    """For tests: use this ScatterStrategy, if it can run the job, and exactly n_threads from now on. 0: not forced."""
    global forced_strategy, forced_threads
    forced_strategy = strategy
    forced_threads = n_threads


def last_strategy():
    """For tests: the ScatterStrategy that the last call ran."""
    return last
