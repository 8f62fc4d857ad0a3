"""CuPy arrays: ``cupy.take`` and ``cupy.add.at``, and kernels of our own where CuPy has no primitive.

CuPy takes every index modulo the axis, so bounds are checked before anything moves: one reduction over the indices,
one synchronisation. Which update comes first on a GPU is open, so float sums and products round in any order; which
update wins with reduction "none" is settled beforehand: the last one.
"""

from __future__ import annotations

import math
from functools import cache, partial
from typing import Any

import array_api_compat.cupy as xp
import cupy

from gatherscatter import errors, neutral
from gatherscatter.backends import _checks, _rows
from gatherscatter.shapes import ELEMENTS, ND, Plan

NAME = "CuPy"


def owns(value: Any) -> bool:
    return isinstance(value, cupy.ndarray)


def as_array(operator: str, argument: str, value: Any, like: Any) -> Any:
    with like.device:
        return cupy.asarray(neutral.as_array(operator, argument, value))


def same_library(a: Any, b: Any) -> bool:
    return True


def gather(data: Any, indices: Any, plan: Plan, fill_value: Any, out: Any) -> Any:
    _check(plan, data, indices)
    if out is not None:
        _check_out(out, data, plan.shape, plan)
    with data.device:
        fill = None
        if plan.mode == "fill":
            fill = cupy.asarray(neutral.element(plan.operator, "fill_value", fill_value, data.dtype))
        if plan.kind == ND or plan.batch_dims or 0 in data.shape:
            rows, outside = _resolve(indices, plan)
            result = _rows.read(_MOVES, _movable(data), rows, outside, _movable(fill), plan)
        else:
            result = _gather_along(_movable(data), indices, _movable(fill), plan)
        return _deliver(result.view(data.dtype), out)


def _gather_along(data: Any, indices: Any, fill: Any, plan: Plan) -> Any:
    """Along one axis CuPy has primitives that take data of any strides."""
    index, outside = _rows.place(xp, indices, data.shape[plan.axis], plan.mode, cupy.int64)
    if outside is not None:
        if fill is None:
            _demand(outside, indices, plan)
        else:
            index = cupy.where(outside, 0, index)
    if plan.kind == ELEMENTS:
        # take_along_axis wants equal sizes off the axis.
        same = tuple(slice(None) if d == plan.axis else slice(n) for d, n in enumerate(indices.shape))
        result = cupy.take_along_axis(data[same], index, plan.axis)
    else:
        result = cupy.take(data, index, axis=plan.axis)
        if outside is not None:
            outside = outside.reshape(outside.shape + (1,) * len(plan.row))
    return result if fill is None else cupy.where(outside, fill, result)


def scatter(data: Any, indices: Any, updates: Any, plan: Plan, out: Any) -> Any:
    _checks.reduction(plan, data)
    _check(plan, data, indices)
    with data.device:
        if isinstance(updates, neutral.TYPES):
            updates = cupy.asarray(neutral.updates(plan.operator, updates, plan.shape, data.dtype))
        _checks.updates(plan, updates, data)
        _checks.same_device(plan, data, updates=updates)
        if out is not None:
            _check_out(out, data, plan.data, plan)
        rows, _ = _resolve(indices, plan)
        result = _rows.write(_MOVES, data, rows, updates, plan)
        return _deliver(result.astype(data.dtype, copy=False), out)  # CuPy may make float32 of bfloat16


def _movable(array: Any) -> Any:
    """The same bits, in a dtype that CuPy's functions know: of bfloat16 some make float32."""
    return array.view(cupy.int16) if array is not None and array.dtype.name == "bfloat16" else array


def _check(plan: Plan, data: Any, indices: Any) -> None:
    if indices.dtype.kind not in "iu":
        raise errors.index_dtype(plan.operator, indices.dtype, data.dtype)
    _checks.same_device(plan, data, indices=indices)


def _check_out(out: Any, data: Any, shape: tuple[int, ...], plan: Plan) -> None:
    _checks.out(plan, out, data, shape, cupy.ndarray, "cupy.ndarray")
    _checks.same_device(plan, data, out=out)


def _deliver(result: Any, out: Any) -> Any:
    if out is None:
        return result
    out[...] = result
    return out


def _resolve(indices: Any, plan: Plan) -> tuple[Any, Any]:
    rows, outside = _rows.resolve(xp, indices, plan, cupy.int64, indices.device)
    if outside is not None and plan.mode != "fill":
        _demand(outside, indices, plan)
    return rows, outside


def _demand(outside: Any, indices: Any, plan: Plan) -> None:
    if bool(outside.any()):
        raise _rows.explain(xp, indices, plan, outside)


# The primitives on rows of a table


def _take(table: Any, rows: Any) -> Any:
    return cupy.take(table, rows, axis=0)


def _assign(table: Any, rows: Any, updates: Any) -> Any:
    # Two updates of one row would race.
    return _set(table, _rows.only_last(_MOVES, table.shape[0], rows), updates)


def _set(table: Any, rows: Any, updates: Any) -> Any:
    return _run(_assigning(), table, rows, updates)


def _combine(table: Any, rows: Any, updates: Any, reduction: str, include_self: bool) -> Any:
    if not include_self:
        first, rows = _rows.without_first(_MOVES, table.shape[0], rows)
        table = _set(table, first, updates)
    dtype = table.dtype
    if dtype.kind == "b":
        reduction = {"add": "max", "mul": "min"}.get(reduction, reduction)
    if dtype.itemsize == 1:  # there is no atomic operation on a byte; 32 bits wrap around to the same byte
        wide = _combine(table.astype(cupy.int32), rows, updates.astype(cupy.int32), reduction, True)
        return wide.astype(dtype)
    if reduction == "add" and dtype.kind == "c":
        parts = [array.reshape(*array.shape, 1).view(f"f{dtype.itemsize // 2}") for array in (table, updates)]
        return _combine(parts[0], rows, parts[1], reduction, True).view(dtype)[..., 0]
    if reduction == "add" and dtype.name in _ADDED:
        longer = cupy.concatenate([table, cupy.zeros((1, *table.shape[1:]), dtype)])
        cupy.add.at(longer, rows, updates)
        return longer[:-1]
    if dtype.itemsize == 16:  # nor on 16 bytes
        return _rows.combine_in_rounds(xp, table, rows, updates, cupy.multiply, include_self=True)
    return _run(_combining(reduction, dtype.itemsize), table, rows, updates)


_ADDED = ("int32", "int64", "uint32", "uint64", "float16", "float32", "float64")


def _complex(real: Any, imag: Any) -> Any:
    parts = cupy.stack([real, imag], axis=-1)
    return parts.view(cupy.result_type(real.dtype, cupy.complex64))[..., 0]


_MOVES = _rows.Moves(
    NAME, xp, cupy.int64, _take, _assign, _combine, cupy.divide, partial(_rows.floor_divide, xp), _complex
)


def _run(kernel: Any, table: Any, rows: Any, updates: Any) -> Any:
    result = table.copy(order="C")
    width = math.prod(table.shape[1:])
    if width:
        kernel(updates.reshape(-1), rows, width, table.shape[0], result.reshape(-1))
    return result


@cache
def _assigning() -> Any:
    return cupy.ElementwiseKernel(
        "T update, raw int64 rows, int64 width, int64 n_rows",
        "raw T table",
        """
        const long long row = rows[i / width];
        if (row < n_rows) table[row * width + i % width] = update;
        """,
        "gatherscatter_assign",
    )


_STEPS = {
    "add": "a + b",
    "mul": "a * b",
    # A NaN stays, and of equals what is there.
    "max": "(a >= b || a != a) ? a : b",
    "min": "(a <= b || a != a) ? a : b",
}


@cache
def _combining(reduction: str, itemsize: int) -> Any:
    """Combine by compare-and-swap, on words of the item's size."""
    word = {2: "unsigned short", 4: "unsigned int", 8: "unsigned long long"}[itemsize]
    return cupy.ElementwiseKernel(
        "T update, raw int64 rows, int64 width, int64 n_rows",
        "raw T table",
        f"""
        const long long row = rows[i / width];
        if (row < n_rows) {{
            {word}* address = reinterpret_cast<{word}*>(&table[row * width + i % width]);
            {word} found = *address, assumed;
            do {{
                assumed = found;
                const T a = *reinterpret_cast<const T*>(&assumed);
                const T b = update;
                const T c = {_STEPS[reduction]};
                found = atomicCAS(address, assumed, *reinterpret_cast<const {word}*>(&c));
            }} while (found != assumed);
        }}
        """,
        f"gatherscatter_{reduction}",
    )
