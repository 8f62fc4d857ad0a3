"""Scans of segments by array functions, for arrays that the kernel cannot read.

Positions are sorted by segment. Then each element is combined with the one before it, with what that has of the two
before it, and so on: after log2(n) steps with all before it, and with none of another segment. A difference of
cumulative sums would lose digits, and spread NaN and infinities. Gradients are those of these steps.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from gatherscatter import core
from gatherscatter.operators import GATHER, Operator
from gatherscatter.reductions import COMPLEX, REDUCTIONS, kind_of
from gatherscatter.segments.arguments import has_float64
from gatherscatter.segments.ids import Ids, expanded, has_segment

_SIGN = -(2**63)


class Scan(NamedTuple):
    """What a call asks for.

    skips: whether NaN and NaT do not count. dtype: the name of the result's.
    """

    reduction: str
    exclusive: bool
    reverse: bool
    skips: bool
    dtype: str

    @property
    def step(self) -> str:
        """The reduction of its step: sums and products that are bools are "or" and "and"."""
        if self.reduction == "count":
            return "add"
        return (
            {"add": "max", "mul": "min"}.get(self.reduction, self.reduction)
            if self.dtype == "bool"
            else (self.reduction)
        )

    def identity(self, dtype: str, wide: str) -> Any:
        """What a segment begins with. dtype: data's. wide: that of the states."""
        if self.step == "add":
            return 0.0 if self.exclusive or kind_of(wide) in "iu" else REDUCTIONS["add"].identity(wide)
        return 1 if self.step == "mul" else REDUCTIONS[self.step].identity(dtype)

    @property
    def none(self) -> Any:
        """The result of an element of no segment."""
        if self.reduction == "count":
            return -1 if self.exclusive else 0
        return math.nan if kind_of(self.dtype) in "fc" else 0


def scan(data: Any, ids: Ids, asked: Scan) -> Any:
    """The scan of an array, of data's shape."""
    backend, layout, xp = ids.backend, ids.layout, ids.backend.namespace(data)
    device, b, size = backend.device(data), layout.batch_dims, math.prod(layout.numbered)
    name, wide = backend.dtype_name(data), _wide(data, ids, asked)
    valid = ~xp.isnan(data) if asked.skips and kind_of(name) in "fc" else None
    if asked.reduction == "count":
        numbers = xp.ones(layout.data, dtype=backend.dtype_of(wide, data), device=device)
    else:
        numbers = _numbers(data, ids, asked, wide)
    identity = xp.full((), asked.identity(name, wide), dtype=backend.dtype_of(wide, data), device=device)
    identity = _numbers(identity, ids, asked, wide)
    if valid is not None:
        numbers = xp.where(valid, numbers, identity)
    own = xp.reshape(_checked(ids, data), (*layout.data[:b], size))
    order = xp.argsort(own, axis=b, stable=True)
    order = xp.flip(order, axis=b) if asked.reverse else order
    own = _taken(ids, own, order, b)
    numbers = _taken(ids, xp.reshape(numbers, (*layout.outer, size, *layout.inner)), order, layout.axis)
    step, distance = REDUCTIONS[asked.step].array_step, 1
    assert step is not None
    while distance < size:
        before, after = _part(numbers, layout.axis, None, -distance), _part(numbers, layout.axis, distance, None)
        after = xp.where(_same(ids, own, distance), step(xp, before, after), after)
        numbers = xp.concat([_part(numbers, layout.axis, None, distance), after], axis=layout.axis)
        distance *= 2
    if asked.exclusive and size:
        before = xp.where(_same(ids, own, 1), _part(numbers, layout.axis, None, -1), identity)
        first = xp.broadcast_to(identity, _part(numbers, layout.axis, None, 1).shape)
        numbers = xp.concat([first, before], axis=layout.axis)
    numbers = _taken(ids, numbers, xp.argsort(order, axis=b), layout.axis)
    result = _result(xp.reshape(numbers, layout.data), data, ids, asked)
    none = xp.full((), asked.none, dtype=result.dtype, device=device)
    if valid is not None and asked.reduction != "count":
        result = xp.where(valid, result, none)
    is_all = ids.mode == "promise_in_bounds" and not ids.has_rest
    return result if is_all else xp.where(has_segment(ids), result, none)


def _checked(ids: Ids, data: Any) -> Any:
    """The ids. Where they are known only later, one that is too large is then an error."""
    array = expanded(ids)
    if ids.mode != "raise":
        return array
    xp = ids.backend.namespace(data)
    every = xp.arange(ids.layout.n + 1, dtype=array.dtype, device=ids.backend.device(data))
    op = (GATHER.strict or GATHER).replace(name=ids.layout.operator.name, indices=ids.layout.operator.indices)
    return core.gather_on(ids.backend, op, every, array, 0, 0, "raise", 0, None)


def _taken(ids: Ids, array: Any, order: Any, axis: int) -> Any:
    op: Operator = GATHER.replace(name=ids.layout.operator.name)
    return core.gather_on(ids.backend, op, array, order, axis, ids.layout.batch_dims, "promise_in_bounds", 0, None)


def _part(array: Any, axis: int, start: int | None, stop: int | None) -> Any:
    return array[(*[slice(None)] * axis, slice(start, stop), ...)]


def _same(ids: Ids, own: Any, distance: int) -> Any:
    """Whether positions have the segment of those before them. Broadcasts to numbers of these positions."""
    layout, b = ids.layout, ids.layout.batch_dims
    same = _part(own, b, distance, None) == _part(own, b, None, -distance)
    shape = (*same.shape[:b], *[1] * (layout.axis - b), same.shape[b], *[1] * len(layout.inner))
    return ids.backend.namespace(own).reshape(same, shape)


def _wide(data: Any, ids: Ids, asked: Scan) -> str:
    """The dtype of the steps: that of the kernel's states for floats, if the library has it."""
    name, kind = ids.backend.dtype_name(data), kind_of(asked.dtype)
    if kind == "f":
        narrow = kind_of(name) == "f" and name in ("float16", "bfloat16") and asked.dtype != "float64"
        return "float32" if narrow or not has_float64(ids.backend, data) else "float64"
    if kind == "c":
        return COMPLEX[has_float64(ids.backend, data)]
    return asked.dtype


# PyTorch's unsigned integers have few operators: their sums are those of int64, whose bits are the same, and so are
# maxima and minima, of uint64 with the other sign.


def _is_unsigned_tensor(ids: Ids, wide: str) -> bool:
    return ids.backend.name == "PyTorch" and wide in ("uint16", "uint32", "uint64")


def _numbers(array: Any, ids: Ids, asked: Scan, wide: str) -> Any:
    backend = ids.backend
    if not _is_unsigned_tensor(ids, wide):
        return backend.astype(array, backend.dtype_of(wide, array))
    numbers = backend.astype(array, backend.dtype_of("int64", array))
    return numbers + _SIGN if wide == "uint64" and asked.step in ("max", "min") else numbers


def _result(numbers: Any, data: Any, ids: Ids, asked: Scan) -> Any:
    backend = ids.backend
    if _is_unsigned_tensor(ids, asked.dtype) and asked.dtype == "uint64" and asked.step in ("max", "min"):
        numbers = numbers - _SIGN
    dtype = backend.dtype_of(asked.dtype, data)
    return numbers if numbers.dtype == dtype else backend.astype(numbers, dtype)
