"""Step 1 of every operator: shapes and options become a validated, frozen plan. No array library is needed.

Plans are cached by what they are made from, so that a small call does not validate twice.
"""

import math
from collections.abc import Callable, Iterable
from functools import lru_cache, wraps
from typing import Any, NamedTuple

from gatherscatter import errors

Shape = tuple[int, ...]

MODES = ("raise", "clip", "wrap", "fill", "drop", "promise_in_bounds")
GATHER_MODES = tuple(mode for mode in MODES if mode != "drop")
SCATTER_MODES = tuple(mode for mode in MODES if mode != "fill")
REDUCTIONS = ("none", "add", "mul", "max", "min", "mean")

# What is reduced, by NumPy's names; the numbers that src/numbers.pxd gives them follow this order.
REDUCED = (
    "bool",
    *("int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64"),
    *("complex64", "complex128"),
)

# Those that each reduction takes.
REDUCED_BY = {
    reduction: tuple(
        name
        for name in REDUCED
        if not (reduction in ("max", "min") and name.startswith("complex"))
        and not (reduction == "mean" and name == "bool")
    )
    for reduction in REDUCTIONS
}

# The three ways in which indices name places of data, as src/resolve.pxd has them.
ND, AXIS, ELEMENTS = range(3)


class Plan(NamedTuple):
    """What an operator does: at each of the places `tuples`, indices name one row of data."""

    operator: str
    kind: int  # ND, AXIS or ELEMENTS
    mode: str
    axis: int  # the first axis of data that is indexed
    depth: int  # how many axes are indexed: k for ND, else 1
    batch_dims: int  # b
    tuples: Shape
    row: Shape
    data: Shape  # a scatter's result has it
    reduction: str = "none"
    include_self: bool = True

    @property
    def shape(self) -> Shape:
        """Shape of a gather's result and of a scatter's updates."""
        return self.tuples + self.row

    @property
    def n_tuples(self) -> int:
        return math.prod(self.tuples)

    @property
    def leading(self) -> Shape:
        """The axes of data that a place and its indices name together; the others are the row."""
        return self.data[: len(self.data) - len(self.row)]

    def position(self, place: Shape) -> Shape:
        """Where in indices (for ND, in front of its last axis) the indices of a place stand."""
        return place[: self.batch_dims] + place[self.axis :] if self.kind == AXIS else place


def integer(operator: str, argument: str, value: object) -> int:
    try:
        return value.__index__()  # type: ignore[attr-defined,no-any-return]
    except (AttributeError, TypeError):  # arrays have the method, and refuse when they are no single integer
        raise errors.not_integer(operator, argument, value) from None


def boolean(operator: str, argument: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    if type(value).__name__ in ("bool", "bool_"):  # NumPy's
        return bool(value)
    raise errors.not_bool(operator, argument, value)


def string(operator: str, argument: str, value: object, accepted: tuple[str, ...] = ()) -> str:
    if not isinstance(value, str):
        modes = SCATTER_MODES if operator.startswith("scatter") else GATHER_MODES
        words = accepted or {"mode": modes, "reduction": REDUCTIONS}.get(argument, ())
        raise errors.not_string(operator, argument, value, words)
    return str(value)


def _mode(operator: str, mode: str, accepted: tuple[str, ...]) -> None:
    if mode in accepted:
        return
    if mode in MODES:
        raise errors.foreign_mode(operator, mode, "fill" if mode == "drop" else "drop")
    raise errors.unknown_word(operator, "mode", mode, accepted)


def _batch(operator: str, data: Shape, indices: Shape, batch_dims: int, axis: int | None = None) -> None:
    """Check batch_dims, for indices of tuples or along an axis."""
    r, q = len(data), len(indices)
    highest = min(q - 1, r) if axis is None else min(q, axis)
    if not 0 <= batch_dims <= highest:
        raise errors.batch_range(operator, batch_dims, highest, data, indices, axis)
    _sized(operator, "data", data, range(len(data)))
    _sized(operator, "indices", indices, range(batch_dims))
    if data[:batch_dims] != indices[:batch_dims]:
        raise errors.batch_sizes(operator, data, indices, batch_dims)


def _sized(operator: str, argument: str, shape: Shape, axes: Iterable[int]) -> None:
    """Refuse sizes that nobody knows yet (NaN, as Dask has them) where a rule asks for them."""
    for axis in axes:
        if isinstance(shape[axis], float):
            raise errors.unknown_size(operator, argument, axis)


def _axis(operator: str, data: Shape, axis: int) -> int:
    r = len(data)
    if r == 0:
        raise errors.no_axis(operator)
    if not -r <= axis < r:
        raise errors.axis_range(operator, axis, data)
    return axis % r


def _nd(operator: str, data: Shape, indices: Shape, batch_dims: int, mode: str) -> Plan:
    data, indices = tuple(data), tuple(indices)  # a library may have a class of its own for shapes
    r, q = len(data), len(indices)
    if q == 0:
        raise errors.no_tuples(operator)
    _batch(operator, data, indices, batch_dims)
    _sized(operator, "indices", indices, (q - 1,))
    k = indices[-1]
    if batch_dims + k > r:
        raise errors.long_tuples(operator, data, indices, batch_dims)
    return Plan(operator, ND, mode, batch_dims, k, batch_dims, indices[:-1], data[batch_dims + k :], data)


def _along(operator: str, data: Shape, indices: Shape, axis: int, batch_dims: int, mode: str) -> Plan:
    data, indices = tuple(data), tuple(indices)
    axis = _axis(operator, data, axis)
    _batch(operator, data, indices, batch_dims, axis)
    places = data[:axis] + indices[batch_dims:]
    return Plan(operator, AXIS, mode, axis, 1, batch_dims, places, data[axis + 1 :], data)


def _elements(operator: str, data: Shape, indices: Shape, axis: int, mode: str) -> Plan:
    data, indices = tuple(data), tuple(indices)
    axis = _axis(operator, data, axis)
    if len(indices) != len(data):
        raise errors.other_rank(operator, data, indices)
    _sized(operator, "data", data, range(len(data)))
    _sized(operator, "indices", indices, (d for d in range(len(data)) if d != axis))
    for d, (n, size) in enumerate(zip(indices, data, strict=True)):
        if d != axis and n > size:
            raise errors.longer(operator, data, indices, axis, d)
    return Plan(operator, ELEMENTS, mode, axis, 1, 0, indices, (), data)


def _reduced(plan: Plan, reduction: str, include_self: bool) -> Plan:
    if reduction not in REDUCTIONS:
        raise errors.unknown_word(plan.operator, "reduction", reduction, REDUCTIONS)
    return plan._replace(reduction=reduction, include_self=include_self)


# One cached function an operator, with what its plan is made from.


def _planned(make: Callable[..., Plan]) -> Callable[..., Plan]:
    cached = lru_cache(maxsize=4096)(make)

    @wraps(make)  # a function, since torch.compile can be told how to follow one
    def plan(*arguments: Any) -> Plan:
        return cached(*arguments)

    return plan


@_planned
def gather_nd(data: Shape, indices: Shape, batch_dims: int, mode: str) -> Plan:
    _mode("gather_nd", mode, GATHER_MODES)
    return _nd("gather_nd", data, indices, batch_dims, mode)


@_planned
def gather(data: Shape, indices: Shape, axis: int, batch_dims: int, mode: str) -> Plan:
    _mode("gather", mode, GATHER_MODES)
    return _along("gather", data, indices, axis, batch_dims, mode)


@_planned
def gather_elements(data: Shape, indices: Shape, axis: int, mode: str) -> Plan:
    _mode("gather_elements", mode, GATHER_MODES)
    return _elements("gather_elements", data, indices, axis, mode)


@_planned
def scatter_nd(data: Shape, indices: Shape, batch_dims: int, mode: str, reduction: str, include_self: bool) -> Plan:
    _mode("scatter_nd", mode, SCATTER_MODES)
    return _reduced(_nd("scatter_nd", data, indices, batch_dims, mode), reduction, include_self)


@_planned
def scatter(
    data: Shape, indices: Shape, axis: int, batch_dims: int, mode: str, reduction: str, include_self: bool
) -> Plan:
    _mode("scatter", mode, SCATTER_MODES)
    return _reduced(_along("scatter", data, indices, axis, batch_dims, mode), reduction, include_self)


@_planned
def scatter_elements(data: Shape, indices: Shape, axis: int, mode: str, reduction: str, include_self: bool) -> Plan:
    _mode("scatter_elements", mode, SCATTER_MODES)
    return _reduced(_elements("scatter_elements", data, indices, axis, mode), reduction, include_self)
