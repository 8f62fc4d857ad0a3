"""The functions that tasks run, on chunks of any library.

    gather    split(indices) → bucket → bundle(buckets) → pick(data, bundle) → merge(picks)
    scatter   split(indices) → send(split, updates) → parcel → apply(data, parcels)

A bucket holds the local tuples of one chunk of indices that select rows of one chunk of data: one resolved index for
each of data's leading axes, relative to that chunk. An empty bucket is None. No task writes to the result of another
task, so any task may run twice.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gatherscatter import dispatch, errors, gathers, memory, scatters, values
from gatherscatter.backends import kernels
from gatherscatter.backends.base import Backend
from gatherscatter.backends.dask import means
from gatherscatter.backends.dask.layout import Block, Cuts, is_known
from gatherscatter.backends.numpy import BACKEND as NUMPY
from gatherscatter.backends.numpy import is_masked
from gatherscatter.indexing import at as indexed
from gatherscatter.operators import GATHER_ND, ND, Operator
from gatherscatter.plan import Plan, index_error, inverse, unravel
from gatherscatter.reductions import REDUCTIONS

Array = NDArray[Any]

# A chunk of rank 0 may be a NumPy scalar.
_NUMPY = (np.ndarray, np.generic)

# Block size, in tuples, of `check`.
_BLOCK = 1 << 16


def on_host(array: Any) -> Array:
    """An array of any library as a NumPy array."""
    if isinstance(array, np.ndarray):
        return array
    from array_api_compat import to_device

    if type(array).__module__.partition(".")[0] in ("torch", "cupy"):
        array = to_device(array, "cpu")
    return np.asarray(array)


def like(array: Array, chunk: Any) -> Any:
    """NumPy indices as an array of the chunk's library, on its device."""
    if isinstance(chunk, _NUMPY):
        return array
    # As int64, since some libraries lack unsigned dtypes.
    return backend_of(chunk).asarray(array.astype(np.int64), chunk)


def backend_of(chunk: Any) -> Backend:
    return dispatch.backend_of(GATHER_ND, "data", chunk)


def permuted(array: Any, order: Sequence[int]) -> Any:
    if list(order) == sorted(order):
        return array
    if isinstance(array, np.ndarray):
        return array.transpose(order)
    return backend_of(array).namespace(array).permute_dims(array, tuple(order))


def reshaped(array: Any, shape: tuple[int, ...]) -> Any:
    return (
        array.reshape(shape) if isinstance(array, _NUMPY) else backend_of(array).namespace(array).reshape(array, shape)
    )


def concatenated(arrays: Sequence[Any]) -> Any:
    if len(arrays) == 1:
        return arrays[0]
    if isinstance(arrays[0], _NUMPY):
        return np.concatenate(arrays, dtype=arrays[0].dtype)  # dtype: keep the byte order
    return backend_of(arrays[0]).namespace(arrays[0]).concat(list(arrays), axis=0)


def of_segments(data: Any, ids: Array, function: Callable[[Any, Any], Any]) -> Any:
    """A function of a block of data and ids."""
    return function(data, like(on_host(ids), data))


def product(a: Any, b: Any) -> Any:
    is_numpy = isinstance(a, _NUMPY) and isinstance(b, _NUMPY) and not is_masked(b)
    return NUMPY.product(a, b) if is_numpy else a * b


def _keep_no_memory() -> None:
    """In Dask workers, keep no memory of freed results: it counts as used, and Dask pauses workers that use much."""
    distributed = sys.modules.get("distributed")
    if memory.limit and distributed is not None:
        with contextlib.suppress(ValueError):
            distributed.get_worker()
            memory.keep_less()


# Resolving


def resolve(indices: Array, component: int, plan: Plan, start: int, rows: NDArray[np.int64]) -> int:
    """Resolve one component of the tuples: write the indices with negatives and mode applied, or -1 for none, to rows.

    Returns the number of the first tuple with a bad index, or -1.
    """
    if len(rows) == 0:
        return -1
    tuples = indices[..., component : component + 1] if plan.kind == ND else indices[..., None]
    one_axis = plan._replace(kind=ND, axis=0, depth=1, batch_dims=0)
    return kernels.resolve(one_axis, kernels.row_ids((plan.data[plan.axis + component],)), tuples, start, rows)


def check(indices: Array, plan: Plan, at: Sequence[int] = ()) -> None:
    """Raise the error for the first tuple, in row-major order, with a bad index. at: the chunk's first position."""
    n = indices.size // plan.depth if plan.kind == ND and plan.depth else indices.size
    rows = np.empty(min(n, _BLOCK), np.int64)
    for start in range(0, n, _BLOCK):
        block = rows[: n - start]
        found = [resolve(indices, component, plan, start, block) for component in range(plan.depth)]
        if bad := [number for number in found if number >= 0]:
            shape = indices.shape[:-1] if plan.kind == ND else indices.shape
            raise index_error(plan, indices, unravel(min(bad), shape), tuple(at))


@dataclass(frozen=True)
class Routes:
    """The tuples of one chunk of indices sorted by owner: one run of tuples for each owner."""

    shape: tuple[int, ...]  # of the chunk's positions
    order: NDArray[np.intp]  # the tuples that select a row, sorted by owner
    tuples: Array  # in that order; indices relative to the owner
    sequence: NDArray[np.int64] | None  # in that order; row-major numbers among all tuples of the call
    owners: Array  # the owners with tuples
    bounds: list[int]  # the starts of the owners' runs, and the end

    def runs(self) -> zip[tuple[int, int, int]]:
        return zip(self.owners.tolist(), self.bounds[:-1], self.bounds[1:], strict=True)

    def bucket(self, start: int, end: int) -> list[Any]:
        # Copies, not views: a view would keep the memory of all tuples alive.
        return [self.tuples[start:end].copy(), None if self.sequence is None else self.sequence[start:end].copy()]

    @property
    def positions(self) -> list[Any]:
        """The chunk's shape, and the positions that get rows, in the order of the concatenated rows of all owners."""
        return [self.shape, self.order.astype(np.min_scalar_type(int(np.prod(self.shape))))]


def route(indices: Array, block: Block, cuts: Cuts) -> Routes:
    plan, axes = cuts.plan, cuts.axes
    at = [int(cuts.starts[axis][i]) for axis, i in enumerate(block)]
    shape = indices.shape[:-1] if plan.kind == ND else indices.shape
    n = int(np.prod(shape, dtype=np.int64))
    columns: dict[int, Array] = {}
    for axis in axes.shared:
        first = cuts.shared_block(axis, at[axis])[1]
        along = np.arange(first, first + shape[axis]).astype(cuts.local)
        columns[axis] = np.broadcast_to(along.reshape(-1, *(1,) * (len(shape) - axis - 1)), shape).reshape(n)
    owners = np.zeros(n, np.int64)
    outside = np.zeros(n, bool)
    index = np.empty(n, np.int64)
    for component, axis in enumerate(axes.indexed):
        if resolve(indices, component, plan, 0, index) >= 0:
            check(indices, plan, at)
            raise errors.changed_meanwhile(plan.operator)
        outside |= index < 0
        if len(cuts.sizes[axis]) > 1:
            owner, local = cuts.localize(axis, index)
            owners *= len(cuts.sizes[axis])
            owners += owner
            columns[axis] = local.astype(cuts.local)
        else:
            columns[axis] = index.astype(cuts.local)
    owners[outside] = -1
    return _sorted(shape, columns, owners, _sequence(shape, block, cuts), cuts)


def _sequence(shape: tuple[int, ...], block: Block, cuts: Cuts) -> NDArray[np.int64] | None:
    if not cuts.sequenced:
        return None
    sequence = np.zeros((), np.int64)
    for axis, n in enumerate(shape):
        if axis not in cuts.axes.shared:
            starts = cuts.starts[axis]
            along = np.arange(starts[block[axis]], starts[block[axis]] + n)
            sequence = sequence[..., None] * starts[-1] + along
        else:  # the order along shared axes does not matter
            sequence = np.repeat(sequence[..., None], n, axis=-1)
    return sequence.reshape(-1)


def _sorted(
    shape: tuple[int, ...], columns: dict[int, Array], owners: Array, sequence: NDArray[np.int64] | None, cuts: Cuts
) -> Routes:
    n_owners = int(np.prod(cuts.grid, dtype=np.int64))
    # Tuples that select no row get the last key. NumPy uses radix sort for keys of 8 and 16 bits.
    keys = np.where(owners < 0, n_owners, owners).astype(np.min_scalar_type(n_owners))
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    n = int(np.searchsorted(keys, n_owners))
    order, keys = order[:n], keys[:n]
    tuples = np.empty((n, len(columns)), cuts.local)
    for at, axis in enumerate(cuts.axes.leading):
        tuples[:, at] = columns[axis][order]
    starts = np.flatnonzero(np.r_[n > 0, keys[1:] != keys[:-1]])
    return Routes(
        shape, order, tuples, None if sequence is None else sequence[order], keys[starts], [*starts.tolist(), n]
    )


# Tasks


def shape_of(chunk: Any) -> tuple[int, ...]:
    return tuple(chunk.shape)


def measure(cuts: Cuts, shapes: Sequence[tuple[int, ...]]) -> Cuts:
    """The cuts with unknown sizes filled in from the shapes of all chunks of indices."""
    grid = tuple(len(sizes) for sizes in cuts.positions)
    found = []
    for axis, sizes in enumerate(cuts.positions):
        along = [[0] * i for i in (axis, len(grid) - axis - 1)]
        found.append(
            tuple(shapes[int(np.ravel_multi_index((*along[0], i, *along[1]), grid))][axis] for i in range(len(sizes)))
        )
    return replace(cuts, positions=tuple(found))


def split_gather(block: Block, indices: Any, cuts: Cuts) -> list[Any]:
    """[the positions that get rows, a bucket of tuples for each owner...]."""
    routes = route(on_host(indices), block, cuts)
    buckets: list[Any] = [None] * int(np.prod(cuts.grid, dtype=np.int64))
    for owner, start, end in routes.runs():
        buckets[owner] = routes.bucket(start, end)[0]
    return [routes.positions, *buckets]


def split_scatter(block: Block, indices: Any, cuts: Cuts) -> list[Any]:
    """[the chunk's shape, a bucket for each owner...]. A bucket: numbers of updates, tuples, sequence numbers."""
    routes = route(on_host(indices), block, cuts)
    buckets: list[Any] = [None] * int(np.prod(cuts.grid, dtype=np.int64))
    for owner, start, end in routes.runs():
        buckets[owner] = [routes.order[start:end].copy(), *routes.bucket(start, end)]
    return [routes.shape, *buckets]


def done(split: Any) -> None:
    """Signal that a split is done. The result is None, so that the barrier holds no split in memory."""


def all_done(signs: Sequence[None]) -> None:
    """A barrier: no data is read before all indices are split, so that each chunk of data is loaded once."""


def pick(order: tuple[int, ...], width: int, chunk: Any, tuples: Array | None) -> Any:
    """The rows of a chunk that local tuples select; None for no tuples.

    width: 0, or the length of the tuples if rows have an unknown shape, which no rows then have too.
    """
    if tuples is None and not width:
        return None
    if tuples is None:
        tuples = np.empty((0, width), np.int64)
    _keep_no_memory()
    return gathers.gather_nd(permuted(chunk, order), like(tuples, chunk), mode="promise_in_bounds")


def pick_of(order: tuple[int, ...], width: int, n: int, chunk: Any, bundle: Sequence[Array | None], after: None) -> Any:
    """The rows that the n-th bucket of a bundle selects."""
    return pick(order, width, chunk, bundle[n])


@dataclass(frozen=True)
class Merge:
    """Merge rows from all owners into a chunk of a gather's result."""

    operator: Operator
    meta: Any
    fill_value: Any
    order: tuple[int, ...]
    row: tuple[int, ...]

    def __call__(self, positions: list[Any], pieces: Sequence[Any]) -> Any:
        _keep_no_memory()
        shape, order = positions
        shape, pieces = tuple(shape), [piece for piece in pieces if piece is not None]
        if isinstance(pieces[0] if pieces else self.meta, _NUMPY):
            result = self._written(shape, order, pieces)
        else:
            result = self._read(shape, order, pieces)
        return permuted(result, self.order)

    def _written(self, shape: tuple[int, ...], order: Array, pieces: list[Array]) -> Array:
        """Write rows into the result, which needs no memory other than the result and the pieces."""
        dtype = self.meta.dtype
        row = self.row if is_known(self.row) else pieces[0].shape[1:]
        result = np.empty((int(np.prod(shape)), *row), dtype)
        if len(order) < len(result):
            result[...] = values.element(self.operator, "fill_value", self.fill_value, dtype)
        start = 0
        for piece in pieces:
            scatters.scatter(result, order[start : start + len(piece)], piece, out=result)
            start += len(piece)
        return result.reshape((*shape, *row))

    def _read(self, shape: tuple[int, ...], order: Array, pieces: list[Any]) -> Any:
        """For arrays that cannot be written to: gather the rows of the result from the concatenated pieces."""
        sources = np.full(int(np.prod(shape)), len(order))  # out of bounds: filled
        sources[order] = np.arange(len(order))
        rows = concatenated(pieces) if pieces else _no_rows(self.meta, self.row)
        filled = len(order) < len(sources)
        sources = like(sources.reshape((*shape, 1)), rows)
        return gathers.gather_nd(
            rows, sources, mode="fill" if filled else "promise_in_bounds", fill_value=self.fill_value
        )


def _no_rows(meta: Any, row: tuple[int, ...]) -> Any:
    return backend_of(meta).zeros((0, *row), meta)


@dataclass(frozen=True)
class Send:
    """Split the updates of a chunk into a parcel for each owner: [tuples, sequence numbers, updates]."""

    operator: Operator
    order: tuple[int, ...]  # axes of the updates, the positions' axes first
    n_position_axes: int

    def __call__(self, split: list[Any], updates: Any) -> list[Any]:
        _keep_no_memory()
        shape, *buckets = split
        flat = self.flat(updates, tuple(shape))
        return [None if bucket is None else self.parcel(flat, *bucket) for bucket in buckets]

    def one(self, updates: Any, shape: tuple[int, ...], bucket: list[Any]) -> list[Any]:
        """The parcel for one owner."""
        _keep_no_memory()
        return self.parcel(self.flat(updates, tuple(shape)), *bucket)

    def flat(self, updates: Any, shape: tuple[int, ...]) -> Any:
        updates = permuted(updates, self.order)
        if tuple(updates.shape[: self.n_position_axes]) != shape:
            raise errors.chunk_shape(self.operator, updates.shape[: self.n_position_axes], shape)
        return reshaped(updates, (int(np.prod(shape)), *updates.shape[self.n_position_axes :]))

    def parcel(self, flat: Any, which: Array, tuples: Array, sequence: Array | None) -> list[Any]:
        return [tuples, sequence, gathers.gather(flat, like(which, flat), mode="promise_in_bounds")]


def replaced(key: tuple[Any, ...], chunk: Any, part: Any) -> Any:
    """A copy of a chunk in which the part that a basic index selects is replaced."""
    return indexed(chunk)[key].set(part)


def parcel_of_scalar(split: list[Any], at: int) -> list[Any] | None:
    bucket = split[1 + at]
    return None if bucket is None else [*bucket[1:], None]


@dataclass(frozen=True)
class State:
    """A chunk of data with some of its updates applied, and the parcels that wait."""

    chunk: Any
    named: Array | None  # the number of applied updates of each destination; None if none was applied
    waiting: list[Any]

    def __sizeof__(self) -> int:
        return _size([[self.chunk, self.named], *self.waiting]) + object.__sizeof__(self)


@dataclass(frozen=True)
class Apply:
    """Apply parcels of updates to the chunk of data that owns their destinations.

    The updates are applied by a chain of tasks, so that no task has to hold all of them. Parcels wait until their size
    reaches a limit, since each application copies the chunk.
    """

    operator: Operator
    reduction: str
    include_self: bool
    order: tuple[int, ...]  # data's axes, free ones last
    scalar: Any  # the update, if it is a scalar; parcels then have none
    limit: float  # bytes of waiting parcels

    def __call__(self, state: Any, parcels: Sequence[list[Any] | None], last: bool) -> Any:
        _keep_no_memory()
        if not isinstance(state, State):
            state = State(state, None, [])
        waiting = state.waiting + [parcel for parcel in parcels if parcel is not None]
        state = replace(state, waiting=waiting)
        if last:
            return self._finished(state)
        return self._applied(state) if _size(waiting) > self._limit(state.chunk) else state

    def _limit(self, chunk: Any) -> float:
        # Sums in steps become means on NumPy chunks only. For other libraries all updates wait for one scatter.
        return float("inf") if REDUCTIONS[self.reduction].finish and not isinstance(chunk, np.ndarray) else self.limit

    def _finished(self, state: State) -> Any:
        if state.named is None:  # no updates were applied before: apply all at once
            if not state.waiting:
                return state.chunk
            tuples, updates = self._joined(state)
            return self._scattered(state.chunk, tuples, updates, self.reduction, self.include_self)
        state = self._applied(state)
        if REDUCTIONS[self.reduction].finish is None:
            return state.chunk
        table = permuted(state.chunk, self.order).copy()
        assert state.named is not None
        where = state.named > 0  # a mask: numpy.nonzero rejects rank 0
        count = state.named[where] + int(self.include_self)
        table[where] = means.quotient(table[where], count.reshape(-1, *(1,) * (table.ndim - state.named.ndim)))
        return permuted(table, inverse(self.order))

    def _applied(self, state: State) -> State:
        """The state with all waiting parcels applied."""
        if not state.waiting:
            return state
        chunk, named = state.chunk, state.named
        tuples, updates = self._joined(state)
        if named is None:
            named = np.zeros(permuted(chunk, self.order).shape[: tuples.shape[1]], np.int64)
        reduction: Any = REDUCTIONS[self.reduction].step_of or self.reduction
        if self.include_self or reduction == "none":
            chunk = self._scattered(chunk, tuples, updates, reduction, True)
        else:
            # A destination with an update in an earlier step starts from its current element, as include_self=True.
            was_named = gathers.gather_nd(named, tuples) > 0
            for include_self in (False, True):
                which = np.flatnonzero(was_named == include_self)
                if len(which):
                    some = updates if state.waiting[0][2] is None else gathers.gather(updates, like(which, updates))
                    chunk = self._scattered(chunk, tuples[which], some, reduction, include_self)
        return State(chunk, scatters.scatter_nd(named, tuples, 1, reduction="add"), [])

    def _joined(self, state: State) -> tuple[Array, Any]:
        tuples = concatenated([parcel[0] for parcel in state.waiting])
        if state.waiting[0][2] is None:
            return tuples, self.scalar
        updates = concatenated([parcel[2] for parcel in state.waiting])
        if state.waiting[0][1] is not None:
            order = np.argsort(concatenated([parcel[1] for parcel in state.waiting]))
            tuples, updates = tuples[order], gathers.gather(updates, like(order, updates))
        return tuples, updates

    def _scattered(self, chunk: Any, tuples: Array, updates: Any, reduction: Any, include_self: bool) -> Any:
        table = permuted(chunk, self.order)
        tuples = like(tuples, chunk)
        if isinstance(updates, np.ndarray) and not isinstance(chunk, _NUMPY):
            updates = backend_of(chunk).asarray(updates, chunk)
        result = scatters.scatter_nd(
            table, tuples, updates, reduction=reduction, include_self=include_self, mode="promise_in_bounds"
        )
        return permuted(result, inverse(self.order))


def _size(parcels: Sequence[list[Any]]) -> int:
    return sum(int(getattr(array, "nbytes", 0)) for parcel in parcels for array in parcel)
