"""The compiled kernels, called with a plan. They report a status; `check` makes an error of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gatherscatter import errors, threads
from gatherscatter._kernels import gather as _gather
from gatherscatter._kernels import scatter as _scatter
from gatherscatter._kernels.codes import GatherStrategy, Mode, ScatterStrategy, Status, TypeCode
from gatherscatter.plan import Plan, Shape, explain, unravel
from gatherscatter.reductions import DTYPES, REDUCTIONS, kind_of

Array = NDArray[Any]

OK, REFERENCES = int(Status.OK), int(Status.REFERENCES)
SKIP = int(Mode.SKIP)
MODES = {
    "raise": int(Mode.RAISE),
    "promise_in_bounds": int(Mode.RAISE),  # no input may make a kernel read or write outside of an array
    "clip": int(Mode.CLIP),
    "wrap": int(Mode.WRAP),
    "fill": SKIP,
    "drop": SKIP,
}
TYPE_CODES = {name: int(TypeCode[name.upper()]) for name in DTYPES}

# Elements that are resolved, moved or divided at a time where NumPy does it.
BLOCK = 1 << 14


def _mask(names: Any) -> int:
    return sum(1 << TYPE_CODES[name] for name in names)


for _record in REDUCTIONS.values():
    if _record.finish is None:  # the others have the step of one that is registered
        _identities = {TYPE_CODES[name]: _record.identity_bytes(name) for name in _record.dtypes}
        _scatter.register(
            _record.name,
            int(_record.code),
            _mask(_record.dtypes),
            _mask(name for name in _record.dtypes if kind_of(name) in _record.associative),
            _record.idempotent,
            {code: element for code, element in _identities.items() if element is not None},
        )


def gather(plan: Plan, data: Array, indices: Array, out: Array | None, fill: Array | None) -> int:
    """Out = the rows of data that indices name. Without out, the indices are checked and nothing is moved."""
    return _gather.gather(
        plan.kind, data, indices, out, plan.axis, plan.batch_dims, MODES[plan.mode], plan.wrap_negative_indices, fill,
        threads.limit,
    )  # fmt: skip


def scatter(plan: Plan, data: Array | None, indices: Array, updates: Array, out: Array) -> int:
    """Out = data, with updates combined into it. data: None if out holds it already. A mean is left a sum."""
    return _scatter.scatter(
        plan.kind, data, indices, updates, out, plan.axis, plan.batch_dims, MODES[plan.mode],
        plan.wrap_negative_indices, int(REDUCTIONS[plan.reduction].code), TYPE_CODES.get(out.dtype.name, 0),
        plan.include_self, threads.limit,
    )  # fmt: skip


def row_ids(shape: Shape) -> Array:
    """An array whose element at each position lies as many bytes in as the position's row-major number.

    The kernels turn indices into offsets; of this array, which takes one byte of memory, those are row ids.
    """
    strides = [1]
    for n in shape[:0:-1]:
        strides.append(strides[-1] * max(n, 1))
    return np.lib.stride_tricks.as_strided(np.zeros(1, np.uint8), shape, strides[len(shape) - 1 :: -1] if shape else ())


def resolve(plan: Plan, ids: Array, indices: Array, start: int, rows: NDArray[np.int64]) -> int:
    """Rows = the row ids that tuples from `start` on name, -1 for none. ids: `row_ids` of the leading axes."""
    return _gather.resolve(
        plan.kind, ids, indices, plan.axis, plan.batch_dims, MODES[plan.mode], plan.wrap_negative_indices, start, rows
    )


def resolved(plan: Plan, indices: Array) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Blocks of resolved tuples: the number of the first one, and the row id that each names, or -1."""
    ids = row_ids(plan.leading)
    block = max(BLOCK // max(int(np.prod(plan.row)), 1), 1)
    buffer = np.empty(min(block, plan.n_tuples), np.int64)
    for start in range(0, plan.n_tuples, block):
        rows = buffer[: plan.n_tuples - start]
        check(resolve(plan, ids, indices, start, rows), indices, plan)
        yield start, rows


def count(plan: Plan, indices: Array, start: int, counts: NDArray[np.int64]) -> None:
    """counts[i] += how many tuples name row start + i."""
    _scatter.count_rows(
        plan.kind, row_ids(plan.leading), indices, plan.axis, plan.batch_dims, MODES[plan.mode],
        plan.wrap_negative_indices, start, counts,
    )  # fmt: skip


def check(status: int, indices: Array, plan: Plan) -> None:
    """Raise for a status that reports a bad index."""
    if status == OK:
        return
    if plan.depth == 0:
        raise errors.changed_meanwhile(plan.operator)
    position = unravel(status // plan.depth, plan.tuples)
    raise explain(plan, indices, plan.index_position(position))


def check_indices(plan: Plan, data: Array, indices: Array) -> None:
    """Raise for a bad index before anything is written."""
    if MODES[plan.mode] != SKIP:
        check(gather(plan, data, indices, None, None), indices, plan)


@contextlib.contextmanager
def forced(n_threads: int = 0, *, gather: str = "auto", scatter: str = "auto") -> Iterator[None]:
    """For tests: within it, small work is cut for that many threads as large work is, or runs by a strategy.

    A strategy is a name in `codes.GatherStrategy` or `codes.ScatterStrategy`. Where it cannot do a job, another does.
    """
    _gather.force(GatherStrategy[gather.upper()], n_threads)
    _scatter.force(ScatterStrategy[scatter.upper()], n_threads)
    try:
        yield
    finally:
        _gather.force(GatherStrategy.AUTO, 0)
        _scatter.force(ScatterStrategy.AUTO, 0)
