"""Any array-API namespace that array-api-compat knows: the standard's own functions.

The standard gathers with ``take``. It has no scatter, so updates are sorted by their row, and the rows of the table
choose among them.
"""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj

from gatherscatter import errors, neutral
from gatherscatter.backends import _checks, _rows
from gatherscatter.shapes import Plan

NAME = "array API"


def owns(value: Any) -> bool:
    return is_array_api_obj(value) and not isinstance(value, type)


def as_array(operator: str, argument: str, value: Any, like: Any) -> Any:
    xp = array_namespace(like)
    try:
        array = xp.asarray(value, device=device(like))
    except (TypeError, ValueError, OverflowError) as reason:
        raise errors.not_convertible(operator, argument, reason) from None
    if argument == "indices" and array.size == 0 and isinstance(value, (list, tuple)):
        return xp.astype(array, xp.int64)
    return array


def same_library(a: Any, b: Any) -> bool:
    return array_namespace(a) is array_namespace(b)


def gather(data: Any, indices: Any, plan: Plan, fill_value: Any, out: Any) -> Any:
    moves = _moves(array_namespace(data, indices))
    xp = moves.xp
    _check_indices(indices, data, plan)
    fill = None
    if plan.mode == "fill":
        fill = _from_numpy(neutral.element(plan.operator, "fill_value", fill_value, _numpy_dtype(data)), data)
    if out is not None:
        _check_out(out, data, plan.shape, plan)
    rows, outside = _resolve(xp, indices, plan)
    return _deliver(_rows.read(moves, data, rows, outside, fill, plan), out)


def scatter(data: Any, indices: Any, updates: Any, plan: Plan, out: Any) -> Any:
    moves = _moves(array_namespace(data, indices))
    xp = moves.xp
    _checks.reduction(plan, data)
    _check_indices(indices, data, plan)
    if isinstance(updates, neutral.TYPES):
        updates = _from_numpy(neutral.updates(plan.operator, updates, plan.shape, _numpy_dtype(data)), data)
    _checks.updates(plan, updates, data)
    if device(updates) != device(data):
        raise errors.devices_differ(plan.operator, "updates", device(updates), device(data))
    if out is not None:
        _check_out(out, data, plan.data, plan)
    rows, _ = _resolve(xp, indices, plan)
    return _deliver(_rows.write(moves, data, rows, updates, plan), out)


def _resolve(xp: Any, indices: Any, plan: Plan) -> tuple[Any, Any]:
    rows, outside = _rows.resolve(xp, indices, plan, xp.int64, device(indices))
    if outside is not None and plan.mode != "fill" and bool(xp.any(outside)):
        raise _rows.explain(xp, indices, plan, outside)
    return rows, outside


def _deliver(result: Any, out: Any) -> Any:
    if out is None:
        return result
    out[...] = result
    return out


def _moves(xp: ModuleType) -> _rows.Moves:
    def take(table: Any, rows: Any) -> Any:
        return xp.take(table, rows, axis=0)

    def assign(table: Any, rows: Any, updates: Any) -> Any:
        return _rows.replace_sorted(xp, table, rows, updates)

    def combine(table: Any, rows: Any, updates: Any, reduction: str, include_self: bool) -> Any:
        return _rows.combine_in_rounds(xp, table, rows, updates, _step(xp, reduction, table.dtype), include_self)

    return _rows.Moves(NAME, xp, xp.int64, take, assign, combine, xp.divide, partial(_rows.floor_divide, xp))


def _step(xp: ModuleType, reduction: str, dtype: Any) -> Any:
    if xp.isdtype(dtype, "bool"):
        return xp.logical_or if reduction in ("add", "max") else xp.logical_and
    if reduction == "add":
        return xp.add
    if reduction == "mul":
        return xp.multiply
    # The standard leaves it open what maximum makes of NaN.
    floating = xp.isdtype(dtype, "real floating")

    def largest(now: Any, update: Any) -> Any:
        stays = now >= update
        return xp.where(stays | xp.isnan(now) if floating else stays, now, update)

    def smallest(now: Any, update: Any) -> Any:
        stays = now <= update
        return xp.where(stays | xp.isnan(now) if floating else stays, now, update)

    return largest if reduction == "max" else smallest


def _check_indices(indices: Any, data: Any, plan: Plan) -> None:
    if not array_namespace(indices).isdtype(indices.dtype, "integral"):
        raise errors.index_dtype(plan.operator, indices.dtype, data.dtype)
    if device(indices) != device(data):
        raise errors.devices_differ(plan.operator, "indices", device(indices), device(data))


def _check_out(out: Any, data: Any, shape: tuple[int, ...], plan: Plan) -> None:
    _checks.out(plan, out, data, shape, type(data), errors.type_name(data))
    if not hasattr(type(out), "__setitem__"):
        raise errors.cannot(NAME, plan.operator, "out=", f"a {errors.type_name(out)} cannot be written to")


def _name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def _numpy_dtype(array: Any) -> np.dtype[Any]:
    return np.dtype(_name(array.dtype))


def _from_numpy(array: neutral.Array, like: Any) -> Any:
    """An array of the same values, of like's library, dtype and device."""
    xp = array_namespace(like)
    flat = xp.asarray(array.reshape(-1).tolist(), dtype=like.dtype, device=device(like))
    return xp.reshape(flat, array.shape)
