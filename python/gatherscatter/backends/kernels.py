"""Calls of the compiled kernels by a plan. Kernels return a status; `check` raises the error for it."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from gatherscatter import errors, memory, threads
from gatherscatter import plan as plans
from gatherscatter._kernels import common as _common
from gatherscatter._kernels import gather as _gather
from gatherscatter._kernels import scatter as _scatter
from gatherscatter._kernels import segments as _segments
from gatherscatter._kernels.common import GatherRoute, Mode, ScatterRoute, Status, TypeCode
from gatherscatter.operators import AXIS, ELEMENTS, ND, Operator
from gatherscatter.plan import Plan, Shape, index_error, unravel
from gatherscatter.reductions import DTYPES, REDUCTIONS, kind_of

Array = NDArray[Any]
Indices = Array | tuple[Array, ...]  # a tuple for ARRAYS

OK, REFERENCES, NO_MEMORY = int(Status.OK), int(Status.REFERENCES), int(Status.NO_MEMORY)
INCONSISTENT, UNSUITED = int(Status.INCONSISTENT), int(Status.UNSUITED)
SKIP = int(Mode.SKIP)
MODES = {
    "raise": int(Mode.RAISE),
    "promise_in_bounds": int(Mode.RAISE),  # checked anyway, so that no input causes an out-of-bounds access
    "clip": int(Mode.CLIP),
    "wrap": int(Mode.WRAP),
    "fill": SKIP,
    "drop": SKIP,
}
TYPE_CODES = {name: int(TypeCode[name.upper()]) for name in DTYPES}

# Block size, in elements, of loops in Python that move or divide with NumPy.
BLOCK = 1 << 14

# Bytes that `gather_scatter` gathers in one pass: of all rows, fewer of which would stay in a cache between two steps,
# and of a row, since there are loops for these lengths.
ONE_PASS_BYTES = 1 << 21
ONE_PASS_ROW = 64, 4095


def _mask(names: Any) -> int:
    return sum(1 << TYPE_CODES[name] for name in names)


for _record in REDUCTIONS.values():
    _identities = {TYPE_CODES[name]: _record.identity_bytes(name) for name in _record.dtypes}
    _scatter.register(
        _record.name,
        int(_record.code),
        int(REDUCTIONS[_record.step_of or _record.name].code),
        _mask(_record.dtypes),
        _mask(name for name in _record.dtypes if kind_of(name) in _record.associative),
        _record.finish is not None,
        {code: element for code, element in _identities.items() if element is not None},
    )


def _allow_routes(names: str) -> None:
    """Let calls take these routes, separated by commas, and "direct", which can run every call."""
    allowed = names.lower().replace(" ", "").split(",")
    known = dict.fromkeys(route.name.lower() for route in (*ScatterRoute, *GatherRoute) if route.value)
    for name in allowed:
        if name not in known:
            some = ", ".join(known)
            raise ValueError(f"GATHERSCATTER_ROUTES={names!r}: {name!r} is not a route; name some of {some}")
    for kernel, routes in ((_gather, GatherRoute), (_scatter, ScatterRoute), (_segments, ScatterRoute)):
        kernel.allow_routes(sum(1 << route for route in routes if route.name.lower() in allowed))


if os.environ.get("GATHERSCATTER_ROUTES"):
    _allow_routes(os.environ["GATHERSCATTER_ROUTES"])


def gather(
    plan: Plan, data: Array, indices: Indices, out: Array | None, fill: Array | None, checks_first: bool = False
) -> int:
    """Write the rows of data that indices select to `out`. If `out` is None, only check the indices.

    checks_first: if the call fails, nothing is written.
    """
    return _gather.gather(
        plan.kind, data, indices, out, plan.axis, plan.batch_dims, MODES[plan.mode], plan.wrap_negative_indices, fill,
        checks_first, threads.limit, None if plan.orders is None else plan.orders.tiles,
    )  # fmt: skip


def scatter(
    plan: Plan, data: Array | None, indices: Indices, updates: Array, out: Array, checks_first: bool = False
) -> int:
    """Write data, with updates combined into it, to `out`. data: None if `out` holds it already.

    checks_first: if the call fails, nothing is written.
    """
    return _scatter.scatter(
        plan.kind, data, indices, updates, out, plan.axis, plan.batch_dims, MODES[plan.mode],
        plan.wrap_negative_indices, int(REDUCTIONS[plan.reduction].code), TYPE_CODES.get(out.dtype.name, 0),
        TYPE_CODES.get(plan.accumulate_dtype, 0), plan.include_self, checks_first, threads.limit, None, None,
        None if plan.orders is None else plan.orders.by_row,
    )  # fmt: skip


def one_pass_pays(n_rows: int, row_bytes: int) -> bool:
    """Whether `gather_scatter` may take less time than a gather and a scatter."""
    return ONE_PASS_ROW[0] <= row_bytes <= ONE_PASS_ROW[1] and n_rows * row_bytes >= ONE_PASS_BYTES


def gather_scatter(
    plan: Plan, of: Plan, data: Array | None, indices: Array, source: Array, rows: Array, out: Array,
    checks_first: bool, weights: Array | None,
) -> int:  # fmt: skip
    """As `scatter`, of the updates source[rows], times the weights. UNSUITED: they have to be stored."""
    if not plan.n_tuples:
        return UNSUITED
    prepared = None if plan.orders is None or of.orders is None else plan.orders.for_rows(of.orders)
    return _scatter.scatter(
        plan.kind, data, indices, np.broadcast_to(source[0], plan.shape), out, plan.axis, plan.batch_dims,
        MODES[plan.mode], plan.wrap_negative_indices, int(REDUCTIONS[plan.reduction].code),
        TYPE_CODES.get(out.dtype.name, 0), 0, plan.include_self, checks_first, threads.limit, source, rows, prepared,
        weights,
    )  # fmt: skip


def dots(a: Array, of_a: Array, b: Array, of_b: Array, plans: tuple[Plan, Plan], shape: Shape) -> Array | None:
    """Dot products, of this shape, of rows of a and of b, both contiguous; None for a dtype that has none.

    of_a, of_b: indices. plans: of their gathers.
    """
    result = memory.empty(shape, a.dtype)
    rows = [numbers(plan, indices) for plan, indices in zip(plans, (of_a, of_b), strict=True)]
    status = _scatter.dot_rows(a, rows[0], b, rows[1], result, threads.limit)
    if status == UNSUITED:
        return None
    check(status, of_a, plans[0])
    return result


def take(plan: Plan, grad: Array, indices: Array) -> tuple[Array, Array]:
    """The gradients of an assignment, of data and of updates, in one pass. plan: of the assignment; not for ARRAYS.

    From the last update to the first, each takes the gradient of its destination and leaves 0 there: the last writer
    gets it, the others get 0, and what remains is the gradient of data.
    """
    to_data = memory.empty(grad.shape, grad.dtype)
    to_updates = (np.zeros if MODES[plan.mode] == SKIP else memory.empty)(plan.shape, grad.dtype)
    # Only along these axes can updates have the same destination.
    first = plan.batch_dims if plan.kind != ELEMENTS else plan.axis
    last = plan.axis + 1 if plan.kind == ELEMENTS else indices.ndim - (plan.kind == ND)
    shift = plan.axis - plan.batch_dims if plan.kind == AXIS else 0
    status = _scatter.take(
        plan.kind, np.asarray(grad, order="C"), _reversed(indices, first, last),
        _reversed(to_updates, first + shift, last + shift), to_data, plan.axis, plan.batch_dims, MODES[plan.mode],
        plan.wrap_negative_indices,
    )  # fmt: skip
    check(status, indices, plan)
    return to_data, to_updates


def _reversed(array: Array, first: int, last: int) -> Array:
    """A view in which the axes first to last - 1 run backwards."""
    return array[(slice(None),) * first + (slice(None, None, -1),) * (last - first) + (...,)]


def row_ids(shape: Shape) -> Array:
    """An array in which the byte offset of each element is the row-major number of its position.

    The kernels resolve indices to byte offsets; in this array these are row ids. It takes one byte of memory.
    """
    strides = [1]
    for n in shape[:0:-1]:
        strides.append(strides[-1] * max(n, 1))
    return _gather.strided(tuple(shape), tuple(strides[len(shape) - 1 :: -1]) if shape else ())


def resolve(plan: Plan, ids: Array, indices: Indices, start: int, rows: Array) -> int:
    """Write the row ids of the tuples from number `start` on to `rows`, or -1 for none; return a status.

    ids: `row_ids` of the leading axes.
    """
    return _gather.resolve(
        plan.kind, ids, indices, plan.axis, plan.batch_dims, MODES[plan.mode], plan.wrap_negative_indices, start, rows,
        threads.limit,
    )  # fmt: skip


class Orders:
    """The orders of prepared indices, which are numbers of slices. Each is made when a call can use it.

    Attributes
    ----------
    by_row : tuple of arrays or None
        For scatters of rows: see `group` in orders.pxi.
    tiles : array or None
        For gathers of elements and points: see `sort_by_tile` in orders.pxi.
    """

    __slots__ = ("__weakref__", "_is_tiled", "_n_slices", "_translated", "by_row", "numbers", "tiles")

    def __init__(self, numbers: Array, n_slices: int) -> None:
        self.numbers = numbers
        self.by_row: tuple[Array, Array] | None = None
        self.tiles: Array | None = None
        self._n_slices = n_slices
        self._is_tiled = False
        # For gather_scatter, by the orders of the rows: one at most.
        self._translated: WeakKeyDictionary[Orders, tuple[Array, ...] | None] = WeakKeyDictionary()

    @property
    def nbytes(self) -> int:
        arrays = [*(self.by_row or ()), self.tiles, *(found[1] for found in self._translated.values() if found)]
        return sum(array.nbytes for array in arrays if array is not None)

    def group(self) -> None:
        """Group the updates by row."""
        self.by_row = _gather.group(self.numbers, self._n_slices, memory.empty, threads.limit)

    def should_tile(self, slice_bytes: int) -> bool:
        """Whether `tile` has not been called, and would save time."""
        return not self._is_tiled and _gather.pays(self._n_slices, slice_bytes, self.numbers.size)

    def tile(self) -> None:
        """Sort the indices by tile, if they are in no order."""
        if _gather.is_scattered(self.numbers):
            self.tiles = _gather.sort_by_tile(self.numbers, self._n_slices, memory.empty, threads.limit)
        self._is_tiled = True

    def for_rows(self, rows: Orders) -> tuple[Array, ...] | None:
        """`by_row` for updates that are these rows of a source."""
        if self.by_row is None:
            return None
        if rows not in self._translated:
            try:
                found = _gather.translate(*self.by_row, rows.numbers, memory.empty, threads.limit)
            except MemoryError:  # the call is possible without it
                return None
            self._translated.clear()
            self._translated[rows] = found
        return self._translated.get(rows)


def grouped(rows: Array, n_rows: int) -> Array:
    """The positions of rows, of dtype int32, by row and in order; without those beyond n_rows."""
    end, positions = _gather.group(rows, n_rows, memory.empty, threads.limit)
    return positions[: end[-1]]


def numbers(plan: Plan, indices: Array) -> Array:
    """The number of the slice that each index or tuple selects, among those of its batch; -1 for none.

    Of the smallest dtype that holds them.
    """
    if plan.orders is not None:  # prepared indices, of which none is out of bounds
        return plan.orders.numbers
    outer, sizes = plan.outer, plan.sizes
    inner = plan.data[plan.axis + 1 :] if plan.kind == ELEMENTS else ()
    # In this array the offset of an element is the number: only the indexed axes have strides.
    strides = (0,) * len(outer) + row_ids(sizes).strides + (0,) * len(inner)
    ids = _gather.strided(outer + sizes + inner, strides)
    shape = indices.shape[:-1] if plan.kind == ND else indices.shape
    result = np.empty(shape, np.int32 if math.prod(sizes) <= np.iinfo(np.int32).max else np.int64)
    status = resolve(plan, ids, indices, 0, result)
    # Of the axes that the indices lack, the kernel has seen one position.
    seen = outer + indices.shape[plan.batch_dims :] if plan.kind == AXIS else plan.tuples
    check(status, indices, plan._replace(tuples=seen))
    return result


def resolved(plan: Plan, indices: Indices) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Iterate over blocks of tuples: the number of the first one, and the row id of each, or -1."""
    ids = row_ids(plan.leading)
    block = max(BLOCK // max(int(np.prod(plan.row)), 1), 1)
    buffer = np.empty(min(block, plan.n_tuples), np.int64)
    for start in range(0, plan.n_tuples, block):
        rows = buffer[: plan.n_tuples - start]
        check(resolve(plan, ids, indices, start, rows), indices, plan)
        yield start, rows


def check(status: int, indices: Indices, plan: Plan) -> None:
    """Raise the error if a status reports one."""
    if status == OK:
        return
    if status == NO_MEMORY:
        raise errors.no_memory(plan.operator)
    if status == INCONSISTENT:
        raise errors.changed_meanwhile(plan.operator, "the shape, dtype or flags of an array")
    if plan.depth == 0:
        raise errors.changed_meanwhile(plan.operator)
    position = unravel(status // plan.depth, plan.tuples)
    raise index_error(plan, indices, plan.index_position(position))


def _fail(
    op: Operator, kind: int, wrap: bool, data: Array, indices: Any, axis: int, batch_dims: int, mode: str,
    fill_value: Any, status: int,
) -> None:  # fmt: skip
    """Raise the error of a call on the fast path, which has no plan: its kernel returned this status."""
    op = plans.without_negatives(op, wrap).replace(kind=kind)  # a new record, for which no cache needs the plan
    make, reduction = (plans.scatter, ("none", True)) if op.scatters else (plans.gather, ())
    plan = make.__wrapped__(  # type: ignore[attr-defined]
        op, data.shape, plans.shape_of(indices, kind), axis, batch_dims, mode, *reduction
    )
    try:
        check(status, indices, plan)
    except IndexError as error:
        raise errors.ignored_fill_value(error, mode, fill_value) from None


_gather.fail_by(_fail)
_scatter.fail_by(_fail)


def check_indices(plan: Plan, data: Array, indices: Indices) -> None:
    """Raise the error for a bad index before anything is written."""
    if MODES[plan.mode] != SKIP:
        check(gather(plan, data, indices, None, None), indices, plan)


@contextlib.contextmanager
def forced(n_threads: int = 0, *, gather: str = "auto", scatter: str = "auto") -> Iterator[None]:
    """Context manager for tests: kernels use that many threads however small the call, and a given route.

    A name in `codes.GatherRoute` or `codes.ScatterRoute`. If it cannot run a job, another does.
    """
    _common.force(n_threads)
    _gather.force(GatherRoute[gather.upper()])
    _scatter.force(ScatterRoute[scatter.upper()])
    try:
        yield
    finally:
        _common.force(0)
        _segments.force_halves(False)
        _gather.force(GatherRoute.AUTO)
        _scatter.force(ScatterRoute.AUTO)
