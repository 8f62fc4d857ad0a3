# cython: language_level=3, freethreading_compatible=True, boundscheck=False, wraparound=False, cdivision=True
"""Scatters: copy data to out, then apply updates in row-major order, on any number of threads.

A scatter is three independent decisions:

    a route        who applies which updates, and in what order they are read. The cost model chooses it (cost.pxd):
        direct     (direct.pxd) one thread applies all updates, or those of a unit, or of a piece of long rows
        blocks     (blocks.pxd) sorted and neighbouring indices: a thread owns a range of rows
        partition  (partition.pxd) updates are partitioned by tiles of rows; a thread owns a tile
        private    (private.pxd) few destinations: a thread has a copy of them; for reductions that may be regrouped
    an accumulator what a destination is until all updates are applied (tile.pxd): the row of the result, or one in
                   scratch memory, of a wider dtype or in native byte order; and next to it a mark, for
                   include_self=False and means
    a step         the arithmetic of a reduction on a dtype (steps.pxd), in one loop (kernels.pxd)

A destination's updates are applied in their order on every route, so all of them give the same bits. Threads never
write to shared destinations, so there are no locks and no atomics. Between passes there is a barrier.
"""
from cython.parallel cimport prange
from libc.stdint cimport int32_t
from libc.string cimport memcpy, memset
cimport numpy as cnp

from common.arrays cimport arrays_of, get_array, is_tuple_of_arrays
from common.codes cimport (
    ADD, ARRAYS, ASSIGN, AXIS, BOOL, ELEMENTS, INCONSISTENT, MUL, N_CODES, NO_MEMORY, NONE, OK, UINT64, UNSUITED,
    Kind, Mode, ReductionCode, TypeCode,
)
from common.describe cimport PY_SSIZE_T_MAX, describe, index_of_rows, position_of, release
from common.interrupts cimport Interrupts, arm, block_of, raise_if_interrupted, with_interrupts
from common.items cimport MAX_ELEMENT_BYTES
from common.resolve cimport BLOCK, Tuples
from common.routes cimport AUTO, BLOCKS, DIRECT, PARTITION, PRIVATE
from common.rows cimport describe_row
from common.calls cimport (
    Call, PyDataType_REFCHK, describe_arrays_shape, describe_call, describe_shape, has_shape,
    is_writable_in_place, mode_of, new_array, overlap, overlaps_indices, repeated, same_dtype, type_code_of,
    usable_out, width_of, write_element,
)
from common.stream cimport STREAM_BYTES, can_stream
from common.machine cimport import_shared, shared
from common.threads cimport (
    begin_call, chunk_start, end_call, may_have_team, most_threads, note_team, possible_threads, team_size,
)
from common.walk cimport OTHER, Walk, is_linear
from prepared.order cimport Order, describe_order
from scatter.blocks cimport run_blocks
from scatter.convert cimport is_wider
from scatter.cost cimport Choice, can_run, choose, estimate_all
from scatter.describe cimport (
    choose_accumulators, contiguous_twin, describe_accumulators, describe_arrays, describe_strided, describe_units,
    number_rows,
)
from scatter.direct cimport run_direct
from scatter.dots cimport Dots, dot_chunk
from scatter.job cimport Job, Reduction, begin_writing
from scatter.partition cimport run_partition
from scatter.private cimport run_private
from scatter.source cimport are_rows, is_source
from scatter.spread cimport contiguous_copy, is_spread_out, row_of_scalar
from scatter.take cimport copy_data, take_rows
from scatter.weights cimport are_weights, describe_weights

include "common/explain.pxi"

cnp.import_array()
import_shared()

cdef enum:
    MANY_SWAPPED = 256  # indices: a reduction of as many in another byte order is left to a plan, which may copy them

cdef Reduction reductions[N_CODES]  # by ReductionCode
cdef dict code_of_name = {}
cdef object fail = None  # see fail_by
cdef int forced_route = AUTO


def register(str name not None, int code, int step, types, associative, bint divides, dict identities not None):
    """Register a reduction under its name. types and associative are masks, in which bit t stands for TypeCode t.

    step: the ReductionCode whose step it has. types: supported; 0: any dtype. associative: grouping the updates, in
    order, cannot change a bit. divides: a mean. identities: {TypeCode: bytes in native byte order}, such that the step
    of the identity and an update is the update bit for bit.
    """
    cdef Reduction* reduction
    if not 0 <= code < N_CODES:
        raise ValueError(f"a reduction's code is 0 to {N_CODES - 1}, not {code}")
    reduction = &reductions[code]
    memset(reduction, 0, sizeof(Reduction))
    reduction.step = step
    reduction.types = types
    reduction.associative = associative
    reduction.divides = divides
    for type_code, identity in identities.items():
        if not 0 <= type_code < N_CODES or not 0 < len(identity) <= MAX_ELEMENT_BYTES:
            raise ValueError(f"no identity of type code {type_code}: {identity!r}")
        memcpy(reduction.identity[<int>type_code], <const char*><bytes>identity, len(identity))
        reduction.has_identity |= <unsigned int>1 << <int>type_code
    code_of_name[name] = code


cdef bint is_consistent(Kind kind, cnp.ndarray data, cnp.ndarray indices, tuple arrays, cnp.ndarray updates,
                        cnp.ndarray out, int axis, int batch_dims, ReductionCode code,
                        TypeCode type_code, TypeCode accumulate) noexcept:
    """Whether the arrays are those of a valid plan.

    An array may have changed since: a subclass or a scalar's method can run any code between the plan and the kernel.
    """
    cdef Call call
    cdef Py_ssize_t itemsize = cnp.PyArray_ITEMSIZE(out)
    return ((describe_shape(&call, kind, out, indices, axis, batch_dims) if arrays is None else
             describe_arrays_shape(&call, out, arrays, axis, batch_dims))
            and has_shape(updates, call.n_dims, call.shape)
            and cnp.PyArray_ISWRITEABLE(out) and not PyDataType_REFCHK(out.descr)
            and cnp.PyArray_ITEMSIZE(updates) == itemsize
            and (data is None or (cnp.PyArray_ITEMSIZE(data) == itemsize
                                  and has_shape(data, cnp.PyArray_NDIM(out), <const Py_ssize_t*>cnp.PyArray_DIMS(out))))
            and (code == ASSIGN or itemsize == width_of(type_code))
            and (accumulate == NONE or (reductions[<int>code].step in (ADD, MUL)
                                        and is_wider(type_code, accumulate))))


cdef inline void describe_work(Job* job) noexcept:
    """The work, and the most threads that the call may have. It begins the call."""
    cdef double work_ns = <double>job.row_items
    work_ns = job.tuples.k + work_ns + work_ns * job.row.item_bytes / 8
    job.tuple_work = max(<Py_ssize_t>1, <Py_ssize_t>work_ns)
    job.block = block_of(job.tuple_work, BLOCK)
    work_ns = work_ns * job.walk.n + <double>job.out_bytes / 8
    job.shares = may_have_team(job.max_threads, work_ns)
    if job.shares:
        job.max_threads = begin_call(job.max_threads)
    job.max_threads = most_threads(job.max_threads, work_ns)
    job.n_threads = job.max_threads


cdef Py_ssize_t run(Job* job) noexcept:
    """Choose a route and run it. Returns OK, a Status, or the position of the first bad index."""
    global explained_threads
    cdef Choice choice
    cdef Py_ssize_t status = OK
    cdef bint done = False
    job.repeats = False
    if explains:
        explained_threads = job.max_threads
        estimate_all(job, job.max_threads, estimates)
    choice = choose(job, job.max_threads, allowed_routes, job.max_threads if shared.forced else 1)
    if forced_route != AUTO and can_run(job, forced_route, job.max_threads):
        choice.route = forced_route
        choice.n_threads = job.max_threads
    job.n_threads = choice.n_threads
    if choice.n_threads > 1 and not shared.forced:
        job.n_threads = possible_threads(choice.n_threads)
        if job.n_threads == 1:
            choice.route = DIRECT
        note_team(job.n_threads)
    if choice.route == PARTITION:
        done = run_partition(job, &status)
    elif choice.route == BLOCKS:
        done = run_blocks(job, &status)
    elif choice.route == PRIVATE:
        done = run_private(job, &status)
    if not done:
        choice.route = DIRECT
        if not run_direct(job, &status):
            status = NO_MEMORY
    remember(choice.route, job.n_threads)
    return status


cdef Py_ssize_t scatter_into(Kind kind, cnp.ndarray data, cnp.ndarray indices, tuple arrays, cnp.ndarray updates,
                             cnp.ndarray out, int axis, int batch_dims, Mode mode, bint wrap_negative,
                             ReductionCode code, TypeCode type_code, TypeCode accumulate, bint include_self,
                             bint checks_first, int n_threads, cnp.ndarray source, cnp.ndarray update_rows,
                             tuple prepared, cnp.ndarray weights=None) noexcept:
    """arrays: as in describe. source to weights: as in scatter."""
    cdef Job job
    cdef Interrupts interrupts
    cdef Order order
    cdef cnp.ndarray copy = None, twin = out
    cdef int row_axis, updates_axis
    cdef Py_ssize_t status, repeats = 1
    cdef cnp.ndarray of_rows
    job.is_dense = cnp.PyArray_IS_C_CONTIGUOUS(out)
    if not job.is_dense:
        try:
            twin = contiguous_twin(out)
        except MemoryError:
            return NO_MEMORY
    of_rows = index_of_rows(twin, indices, axis, &repeats) if kind == ELEMENTS else None
    if of_rows is not None:
        kind, indices, batch_dims = AXIS, of_rows, axis
    status = describe(kind, twin, indices, arrays, updates, axis, batch_dims, mode, wrap_negative, &job.tuples,
                      &job.walk, &row_axis, &updates_axis)
    if status != OK:
        return status
    updates = row_of_scalar(updates, updates_axis)
    describe_arrays(&job, data, updates if source is None else source, out, update_rows)
    job.reduction = &reductions[<int>code]
    job.checks_first = checks_first
    job.interrupts = &interrupts
    arm(&interrupts)
    job.order = NULL
    job.max_threads = n_threads
    job.shares = False
    describe_row(&job.row, twin, row_axis, updates, updates_axis, PY_SSIZE_T_MAX, job.reduction.types != 0
                 or not job.is_dense)
    number_rows(&job, out, row_axis)
    if job.n_rows == 0 or job.row_bytes == 0:  # only check the indices
        job.n_threads = 1
        job.tuple_work = 1
        status = begin_writing(&job, True)
        release(&job.tuples)
        return with_interrupts(&interrupts, position_of(status, repeats))
    describe_accumulators(&job, out, <ReductionCode>job.reduction.step, type_code, accumulate, include_self)
    if not job.is_dense:
        describe_strided(&job, out, row_axis)
    job.weights = describe_weights(weights, source, indices, type_code)
    describe_units(&job, kind, out, indices, axis, batch_dims)
    if prepared is not None and kind == AXIS and axis == 0 and describe_order(
            prepared, job.n_rows, job.walk.n, update_rows is not None, &order):
        job.order = &order
    job.updates_are_linear = is_linear(&job.walk, OTHER)
    choose_accumulators(&job)
    job.streams = job.out_bytes >= STREAM_BYTES and can_stream()
    job.prefetches = job.n_rows * (job.kernel.row_bytes + job.kernel.mark_bytes) >= (
        shared.machine.l2_bytes if job.rows_are_elements or job.by_last else shared.machine.l2_bytes // 8)
    if update_rows is not None and ((order.n_source > cnp.PyArray_DIM(source, 0)) if job.order != NULL else
                                    not are_rows(job.update_rows, job.walk.n, cnp.PyArray_DIM(source, 0))):
        release(&job.tuples)
        return with_interrupts(&interrupts, INCONSISTENT)
    describe_work(&job)  # begins the call
    if source is None and is_spread_out(updates):
        copy = contiguous_copy(updates, job.max_threads)
    if copy is not None:
        if job.shares:
            end_call()
            job.shares = False
        status = scatter_into(kind, data, indices, arrays, copy, out, axis, batch_dims, mode, wrap_negative, code,
                              type_code, accumulate, include_self, checks_first, n_threads, source, update_rows,
                              prepared)
    else:
        status = run(&job)
    if job.shares:
        end_call()
    release(&job.tuples)
    return with_interrupts(&interrupts, position_of(status, repeats))


def scatter(int kind, cnp.ndarray data, indices not None, cnp.ndarray updates not None,
            cnp.ndarray out not None, int axis, int batch_dims, int mode, bint wrap_negative, int reduction,
            int type_code, int accumulate, bint include_self, bint checks_first, int n_threads,
            cnp.ndarray source=None, cnp.ndarray update_rows=None, tuple prepared=None, cnp.ndarray weights=None):
    """Copy data to out, apply the updates, and return a status. The shapes must be those of a valid plan.

    data: None if out holds it already. indices: for ARRAYS, a tuple of arrays. reduction: a registered ReductionCode.
    type_code: of the dtype; ignored for ASSIGN. accumulate: of a wider dtype, in which the reduction is computed; NONE:
    in the dtype itself. checks_first: if the call fails, nothing is written; otherwise out may be partly written then.
    out must not overlap itself or another array.

    update_rows: update t is row update_rows[t] of source. Nobody writes to update_rows meanwhile. Of `updates`, one row
    that is repeated, only shape, dtype and strides are used. For kind AXIS and axis 0. UNSUITED: gather them first.

    prepared: of prepared indices, what orders.group has made of them for so many rows; with update_rows, what
    orders.translate has made of that.

    weights: of rows of source, by which they are multiplied: one or several for each index, each of as many items.
    """
    cdef Py_ssize_t status
    cdef tuple arrays = arrays_of(indices) if kind == ARRAYS else None
    cdef cnp.ndarray first = get_array(arrays, 0) if kind == ARRAYS else indices
    if not is_consistent(<Kind>kind, data, first, arrays, updates, out, axis, batch_dims, <ReductionCode>reduction,
                         <TypeCode>type_code, <TypeCode>accumulate):
        return <Py_ssize_t>INCONSISTENT
    if update_rows is not None and not is_source(source, update_rows, kind, first, out, axis, accumulate):
        return <Py_ssize_t>UNSUITED
    if weights is not None and (update_rows is None or not are_weights(weights, source, first, type_code)):
        return <Py_ssize_t>UNSUITED
    if BOOL < type_code <= UINT64 and not reductions[reduction].divides:
        accumulate = NONE  # modulo a power of 2, the bits that remain are the same
    status = scatter_into(<Kind>kind, data, first, arrays, updates, out, axis, batch_dims, <Mode>mode, wrap_negative,
                          <ReductionCode>reduction, <TypeCode>type_code, <TypeCode>accumulate, include_self,
                          checks_first, n_threads, source, update_rows, prepared, weights)
    raise_if_interrupted(status)
    return status


def take(int kind, cnp.ndarray data not None, cnp.ndarray indices not None, cnp.ndarray updates not None,
         cnp.ndarray out not None, int axis, int batch_dims, int mode, bint wrap_negative):
    """The derivatives of an assignment: copy data to out, and move the rows of out to the updates.

    Each update, in order, becomes the row at its destination, which becomes 0; one that is dropped stays as it is. All
    arrays but indices are C-contiguous, except for the leading axes of updates. Returns a status.
    """
    cdef Tuples tuples
    cdef Walk walk
    cdef Interrupts interrupts
    cdef int row_axis, updates_axis, d
    cdef Py_ssize_t status, row_bytes = cnp.PyArray_ITEMSIZE(out)
    if (not cnp.PyArray_ISWRITEABLE(updates) or not cnp.PyArray_IS_C_CONTIGUOUS(data)
            or not cnp.PyArray_IS_C_CONTIGUOUS(out)
            or not is_consistent(<Kind>kind, data, indices, None, updates, out, axis, batch_dims, ASSIGN, NONE, NONE)):
        return <Py_ssize_t>INCONSISTENT
    status = describe(<Kind>kind, out, indices, None, updates, axis, batch_dims, <Mode>mode, wrap_negative, &tuples,
                      &walk, &row_axis, &updates_axis)
    if status != OK:
        return status
    for d in range(row_axis, cnp.PyArray_NDIM(out)):
        row_bytes *= cnp.PyArray_DIM(out, d)
    arm(&interrupts)
    with nogil:
        status = copy_data(cnp.PyArray_BYTES(data), cnp.PyArray_BYTES(out), cnp.PyArray_NBYTES(out), &interrupts)
        if status == OK:
            status = take_rows(&tuples, &walk, row_bytes, cnp.PyArray_BYTES(out), cnp.PyArray_BYTES(updates),
                               &interrupts)
    release(&tuples)
    status = with_interrupts(&interrupts, status)
    raise_if_interrupted(status)
    return status


def dot_rows(cnp.ndarray a not None, cnp.ndarray numbers_a not None, cnp.ndarray b not None,
             cnp.ndarray numbers_b not None, cnp.ndarray out not None, int n_threads):
    """Write dot products of rows of a and of b to out, and return a status.

    numbers_a, numbers_b: of the rows of each pair, int32. out: one or several products for each pair, each of as many
    items. All arrays are contiguous; a, b and out are of dtype float32 or float64. UNSUITED: they are not.
    """
    cdef Dots dots
    cdef Interrupts interrupts
    cdef cnp.ndarray array
    cdef Py_ssize_t chunk, items, n = cnp.PyArray_SIZE(numbers_a), products = cnp.PyArray_SIZE(out)
    cdef int team, kind = cnp.PyArray_TYPE(out)
    if (kind != cnp.NPY_FLOAT64 and kind != cnp.NPY_FLOAT32) or cnp.PyArray_SIZE(numbers_b) != n or n == 0:
        return <Py_ssize_t>UNSUITED
    for array in (a, b, numbers_a, numbers_b, out):
        if not cnp.PyArray_ISCARRAY_RO(array) or cnp.PyArray_SIZE(array) == 0 or cnp.PyArray_TYPE(array) != (
                cnp.NPY_INT32 if array is numbers_a or array is numbers_b else kind):
            return <Py_ssize_t>UNSUITED
    items = cnp.PyArray_SIZE(a) // cnp.PyArray_DIM(a, 0)
    dots.n_items = n * items // products
    if (cnp.PyArray_SIZE(b) != cnp.PyArray_DIM(b, 0) * items or dots.n_items * products != n * items
            or items % dots.n_items or not cnp.PyArray_ISWRITEABLE(out)):
        return <Py_ssize_t>UNSUITED
    dots.rows[0], dots.rows[1] = cnp.PyArray_BYTES(a), cnp.PyArray_BYTES(b)
    dots.numbers[0] = <const int32_t*>cnp.PyArray_DATA(numbers_a)
    dots.numbers[1] = <const int32_t*>cnp.PyArray_DATA(numbers_b)
    if not (are_rows(dots.numbers[0], n, cnp.PyArray_DIM(a, 0)) and are_rows(dots.numbers[1], n, cnp.PyArray_DIM(b, 0))):
        return <Py_ssize_t>INCONSISTENT
    dots.row_bytes = items * cnp.PyArray_ITEMSIZE(out)
    dots.n_pairs = n
    dots.is_double = kind == cnp.NPY_FLOAT64
    dots.products = cnp.PyArray_BYTES(out)
    dots.interrupts = &interrupts
    arm(&interrupts)
    team = team_size(n_threads, <double>n * dots.row_bytes / 8)
    for chunk in prange(team, num_threads=team, schedule="static", nogil=True):
        dot_chunk(&dots, chunk_start(n, team, chunk), chunk_start(n, team, chunk + 1))
    raise_if_interrupted(with_interrupts(&interrupts, OK))
    return <Py_ssize_t>OK


def try_scatter(int kind, wrap_negative, data, indices, updates, axis, batch_dims, reduction, mode, include_self,
                out, int n_threads, op=None, tuple prepared=None):
    """Fast path without a plan: the result. None: the call needs a plan; see gather.try_gather.

    data to out are unchecked arguments of the user. For ND axis is 0, for ELEMENTS batch_dims is 0. reduction: the
    name of a registered reduction. prepared: as in scatter.
    """
    cdef Call call
    cdef object found
    cdef cnp.ndarray source, update, result, first
    cdef tuple arrays = None
    cdef int code, mode_code, type_code = NONE
    cdef Py_ssize_t status
    cdef char element[MAX_ELEMENT_BYTES]

    if kind == ARRAYS:
        if not is_tuple_of_arrays(indices, True):
            return None
        arrays = indices
        first = get_array(arrays, 0)
    elif type(indices) is cnp.ndarray:
        first = indices
    else:
        return None
    if (type(data) is not cnp.ndarray or type(include_self) is not bool or type(reduction) is not str
            or type(wrap_negative) is not bool):
        return None
    found = code_of_name.get(reduction)
    mode_code = mode_of(mode, "drop")
    if found is None or mode_code < 0 or not describe_call(&call, <Kind>kind, data, first, arrays, axis, batch_dims):
        return None
    source = data
    code = found
    if reductions[code].types:
        type_code = type_code_of(source.descr)
        if (not reductions[code].types >> type_code & 1
                or (cnp.PyArray_ISBYTESWAPPED(source) and cnp.PyArray_SIZE(first) >= MANY_SWAPPED)):
            return None
    if type(updates) is cnp.ndarray:
        update = updates
        if not has_shape(update, call.n_dims, call.shape) or not same_dtype(update, source):
            return None
    else:
        if not write_element(source, updates, element):
            return None
        update = repeated(source, element, call.n_dims, call.shape)
        if update is None:
            return None
    if out is None:
        result = None
        if cnp.PyArray_IS_C_CONTIGUOUS(source):
            result = new_array(source, cnp.PyArray_NDIM(source), <const Py_ssize_t*>cnp.PyArray_DIMS(source))
    else:
        result = usable_out(out, source, cnp.PyArray_NDIM(source), <const Py_ssize_t*>cnp.PyArray_DIMS(source))
        if result is None and out is data and is_writable_in_place(source):
            result = source
        if result is not None and (overlaps_indices(result, first, arrays) or overlap(result, update) or (
                result is not source and (not cnp.PyArray_IS_C_CONTIGUOUS(source) or overlap(result, source)))):
            return None
    if result is None:
        return None
    status = scatter_into(<Kind>kind, None if result is source else source, first, arrays, update, result, call.axis,
                          call.batch_dims, <Mode>mode_code, wrap_negative, <ReductionCode>code, <TypeCode>type_code,
                          NONE, include_self, out is not None, n_threads, None, None, prepared)
    raise_if_interrupted(status)
    if status == OK:
        return result
    if op is not None:
        fail(op, kind, wrap_negative, source, indices, axis, batch_dims, mode, 0, status)
    return None


def fail_by(function):
    """Set the function that raises the error of a small call."""
    global fail
    fail = function


def force(int route):
    """For tests: use this route for jobs that it can run. AUTO: not forced."""
    global forced_route
    forced_route = route
