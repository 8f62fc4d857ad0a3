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
from gatherscatter.shapes import TuplePlan

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


def gather_nd(data: Any, indices: Any, plan: TuplePlan, fill_value: Any, out: Any) -> Any:
    xp = array_namespace(data, indices)
    if not xp.isdtype(indices.dtype, "integral"):
        raise errors.index_dtype(plan.operator, indices.dtype)
    if out is not None:
        _check_out(xp, out, data, plan)

    axes = data.shape[: plan.batch_dims + plan.depth]
    rows, outside = _row_numbers(xp, data, indices, plan)
    table = xp.reshape(data, (math.prod(axes), *plan.row))
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


def _row_numbers(xp: ModuleType, data: Any, indices: Any, plan: TuplePlan) -> tuple[Any, Any | None]:
    """Number of the row that each tuple names, in C order over data's leading axes; for fill, which name none."""
    where = device(data)
    rows = xp.zeros(plan.tuples, dtype=xp.int64, device=where)
    for axis in range(plan.batch_dims):
        n = data.shape[axis]
        along = xp.reshape(xp.arange(n, dtype=xp.int64, device=where), (n,) + (1,) * (len(plan.tuples) - axis - 1))
        rows = rows * n + along
    outside = None
    for component in range(plan.depth):
        size = data.shape[plan.batch_dims + component]
        index, bad = _place(xp, indices[..., component], size, plan.mode)
        if bad is not None:
            outside = bad if outside is None else outside | bad
        rows = rows * size + index
    if outside is None:
        return rows, None
    if plan.mode == "fill":
        return xp.where(outside, xp.zeros_like(rows), rows), outside
    if bool(xp.any(outside)):
        raise _explain(xp, data, indices, plan, outside)
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


def _explain(xp: ModuleType, data: Any, indices: Any, plan: TuplePlan, outside: Any) -> Exception:
    flat = xp.reshape(xp.astype(outside, xp.int64), (-1,))
    place = int(xp.argmax(flat))
    position: list[int] = []
    for n in reversed(plan.tuples):
        place, i = divmod(place, n)
        position.insert(0, i)
    found = tuple(int(i) for i in (indices[(*position, component)] for component in range(plan.depth)))
    for component, index in enumerate(found):
        axis = plan.batch_dims + component
        if not -data.shape[axis] <= index < data.shape[axis]:
            break
    return errors.out_of_bounds(plan.operator, position, found, data.shape, axis)


def _check_out(xp: ModuleType, out: Any, data: Any, plan: TuplePlan) -> None:
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
        raise errors.fill_dtype(operator, fill_value, data.dtype)
    return value
