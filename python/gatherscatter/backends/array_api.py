"""Any array-API namespace that array-api-compat knows: the standard's own functions.

The index tuples become numbers of rows of a reshaped `data`, in the widest signed integer of the namespace, and
``take`` moves the rows.
"""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

from array_api_compat import array_namespace, device

from gatherscatter import errors
from gatherscatter.shapes import AXIS, ND, Plan

NAME = "array API"

_INT64_MAX = 2**63 - 1


def as_array(operator: str, argument: str, value: Any, like: Any) -> Any:
    xp = array_namespace(like)
    try:
        array = xp.asarray(value, device=device(like))
    except (TypeError, ValueError) as reason:
        raise errors.not_convertible(operator, argument, reason) from None
    if argument == "indices" and math.prod(array.shape) == 0 and isinstance(value, (list, tuple)):
        return xp.astype(array, xp.int64)
    return array


def same_library(a: Any, b: Any) -> bool:
    return array_namespace(a) is array_namespace(b)


def gather(data: Any, indices: Any, plan: Plan, fill_value: Any, out: Any) -> Any:
    xp = array_namespace(data, indices)
    if not xp.isdtype(indices.dtype, "integral"):
        raise errors.index_dtype(plan.operator, indices.dtype)
    if out is not None:
        _check_out(xp, out, data, plan)

    rows, outside = _row_numbers(xp, data, indices, plan)
    table = xp.reshape(data, (math.prod(plan.leading), *plan.row))
    if table.shape[0] == 0:
        # Nothing can be taken from: either nothing is asked for, or all of it is fill.
        result = xp.zeros(plan.shape, dtype=data.dtype, device=device(data))
    else:
        result = xp.reshape(xp.take(table, xp.reshape(rows, (-1,)), axis=0), plan.shape)
    if outside is not None:
        outside = xp.reshape(outside, plan.tuples + (1,) * len(plan.row))
        result = xp.where(outside, _fill(xp, plan.operator, fill_value, data), result)
    if out is not None:
        out[...] = result
        return out
    return result


def scatter(data: Any, indices: Any, updates: Any, plan: Plan, out: Any) -> Any:
    raise errors.cannot(NAME, plan.operator, "scatters", "it has gathers only so far; convert with numpy.asarray")


def _row_numbers(xp: ModuleType, data: Any, indices: Any, plan: Plan) -> tuple[Any, Any | None]:
    """Number of the row that each place names, in C order over data's leading axes; for fill, which name none."""
    where = device(data)
    n_places = len(plan.tuples)
    rows = xp.zeros(plan.tuples, dtype=xp.int64, device=where)
    outside = None
    for axis, size in enumerate(plan.leading):
        component = axis - plan.axis
        if not 0 <= component < plan.depth:  # the place itself names this axis
            n = plan.tuples[axis]
            along = xp.arange(n, dtype=xp.int64, device=where)
            rows = rows * size + xp.reshape(along, (n,) + (1,) * (n_places - axis - 1))
            continue
        raw = indices[..., component] if plan.kind == ND else indices
        index, bad = _place(xp, raw, size, plan.mode)
        if plan.kind == AXIS:  # the same indices for all positions of the axes between
            shape = indices.shape[: plan.batch_dims] + (1,) * (plan.axis - plan.batch_dims)
            index = xp.reshape(index, shape + indices.shape[plan.batch_dims :])
            bad = None if bad is None else xp.reshape(bad, index.shape)
        if bad is not None:
            outside = bad if outside is None else outside | bad
        rows = rows * size + index
    if outside is None:
        return rows, None
    if plan.mode == "fill":
        outside = xp.broadcast_to(outside, plan.tuples)
        return xp.where(outside, xp.zeros_like(rows), rows), outside
    if bool(xp.any(outside)):
        raise _explain(xp, indices, plan._replace(tuples=outside.shape), outside)
    return rows, None


def _place(xp: ModuleType, index: Any, size: int, mode: str) -> tuple[Any, Any | None]:
    """Indices into an axis as int64 with the mode applied; which were outside, where the mode must know."""
    if index.dtype == xp.uint64:
        # Beyond int64 there is no index; the end of int64 stands for it.
        if mode == "wrap" and size:
            index = index % xp.asarray(size, dtype=xp.uint64, device=device(index))
        else:
            end = xp.asarray(_INT64_MAX, dtype=xp.uint64, device=device(index))
            index = xp.where(index > end, end, index)
    index = xp.astype(index, xp.int64)
    index = xp.where(index < 0, index + size, index)
    if mode == "clip" and size:
        return xp.clip(index, 0, size - 1), None
    if mode == "wrap" and size:
        return index % size, None
    if mode == "promise_in_bounds" and size:
        return index, None
    return index, (index < 0) | (index >= size)


def _explain(xp: ModuleType, indices: Any, plan: Plan, outside: Any) -> Exception:
    flat = xp.reshape(xp.astype(outside, xp.int64), (-1,))
    number = int(xp.argmax(flat))
    place: list[int] = []
    for n in reversed(plan.tuples):
        number, i = divmod(number, n)
        place.insert(0, i)
    position = plan.position(tuple(place))
    if plan.kind != ND:
        return errors.out_of_bounds(plan.operator, position, int(indices[position]), plan.data, plan.axis)
    found = tuple(int(indices[(*position, component)]) for component in range(plan.depth))
    for axis, index in enumerate(found, start=plan.axis):
        if not -plan.data[axis] <= index < plan.data[axis]:
            break
    return errors.out_of_bounds(plan.operator, position, found, plan.data, axis)


def _check_out(xp: ModuleType, out: Any, data: Any, plan: Plan) -> None:
    if type(out) is not type(data):
        raise errors.out_type(plan.operator, out, errors.type_name(data))
    if out.shape != plan.shape:
        raise errors.out_shape(plan.operator, out.shape, plan.shape)
    if out.dtype != data.dtype:
        raise errors.out_dtype(plan.operator, out.dtype, data.dtype)
    if not hasattr(type(out), "__setitem__"):
        raise errors.cannot(NAME, plan.operator, "out=", f"a {errors.type_name(out)} cannot be written to")


def _fill(xp: ModuleType, operator: str, fill_value: Any, data: Any) -> Any:
    if fill_value == 0 and type(fill_value) is int:
        return xp.zeros((), dtype=data.dtype, device=device(data))
    try:
        value = xp.asarray(fill_value, dtype=data.dtype, device=device(data))
        unchanged = bool(value == fill_value) or fill_value != fill_value
    except (TypeError, ValueError, OverflowError):
        unchanged = False
    if not unchanged:
        raise errors.value_dtype(operator, "fill_value", fill_value, data.dtype)
    return value
