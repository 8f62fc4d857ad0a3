"""NumPy arrays: the compiled kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter import errors, threads
from gatherscatter._kernels import gather as _gather
from gatherscatter.shapes import TuplePlan

NAME = "NumPy"

# As src/resolve.pxd has them.
_RAISE, _CLIP, _WRAP, _SKIP = range(4)
_MODES = {"raise": _RAISE, "promise_in_bounds": _RAISE, "clip": _CLIP, "wrap": _WRAP, "fill": _SKIP}
_OK, _INDEX_DTYPE, _REFERENCES = -1, -2, -3

# Elements that are moved at a time where NumPy moves them.
_BLOCK = 1 << 14

# Effort to spend on whether two strided arrays share a byte. (NumPy's stubs know -1 and 0 only.)
_OVERLAP_WORK: Any = 10_000


def as_array(operator: str, argument: str, value: Any, like: np.ndarray | None) -> np.ndarray:
    try:
        array = np.asarray(value)
    except ValueError as reason:  # a ragged list
        raise errors.not_convertible(operator, argument, reason) from None
    if argument == "indices" and array.size == 0 and isinstance(value, (list, tuple)):
        return array.astype(np.intp)  # NumPy takes [] for floats
    return array


def same_library(a: np.ndarray, b: np.ndarray) -> bool:
    return True


def gather_nd(
    data: np.ndarray, indices: np.ndarray, plan: TuplePlan, fill_value: Any, out: np.ndarray | None
) -> np.ndarray:
    mode = _MODES[plan.mode]
    fill = _fill(plan.operator, fill_value, data.dtype) if mode == _SKIP else None
    if out is not None:
        return _gather_into(out, data, indices, plan, mode, fill)
    return _gather_new(data, indices, plan, mode, fill)


def _gather_new(
    data: np.ndarray, indices: np.ndarray, plan: TuplePlan, mode: int, fill: np.ndarray | None
) -> np.ndarray:
    result = np.empty(plan.shape, data.dtype)
    status = _gather.gather_nd(data, indices, result, plan.batch_dims, mode, fill, threads.limit)
    if status != _OK:
        if status != _REFERENCES:
            raise _explain(status, data, indices, plan)
        _gather_references(result, data, indices, plan, mode, fill)
    return result


def _gather_into(
    out: np.ndarray, data: np.ndarray, indices: np.ndarray, plan: TuplePlan, mode: int, fill: np.ndarray | None
) -> np.ndarray:
    _check_out(plan.operator, out, plan.shape, data.dtype)
    if data.dtype.hasobject or _shares(out, data) or _shares(out, indices) or _may_overlap_itself(out):
        # Through a result of its own; then NumPy assigns it.
        out[...] = _gather_new(data, indices, plan, mode, fill)
        return out
    # Nothing half written: where an index can be wrong, they are all checked before the first is moved.
    for target in (out,) if mode == _SKIP else (None, out):
        status = _gather.gather_nd(data, indices, target, plan.batch_dims, mode, fill, threads.limit)
        if status != _OK:
            raise _explain(status, data, indices, plan)
    return out


def _gather_references(
    result: np.ndarray, data: np.ndarray, indices: np.ndarray, plan: TuplePlan, mode: int, fill: np.ndarray | None
) -> None:
    """Items that own references (object, StringDType, structures of these): we resolve, NumPy moves."""
    n_tuples = plan.n_tuples
    axes = data.shape[: plan.batch_dims + plan.depth]
    flat = result.reshape((n_tuples, *plan.row))
    block = max(_BLOCK // max(flat[:1].size, 1), 1)
    rows = np.empty(min(block, n_tuples), np.int64)
    for start in range(0, n_tuples, block):
        numbers = rows[: n_tuples - start]
        status = _gather.resolve_nd(data.shape, indices, plan.batch_dims, mode, start, numbers)
        if status != _OK:
            raise _explain(status, data, indices, plan)
        target = flat[start : start + len(numbers)]
        found = numbers >= 0
        if not found.all():
            target[~found] = fill
            target[found] = _rows(data, axes, numbers[found])
        else:
            target[...] = _rows(data, axes, numbers)


def _rows(data: np.ndarray, axes: tuple[int, ...], numbers: np.ndarray) -> np.ndarray:
    """Rows of data by their number in C order over its leading axes."""
    if not axes:
        return np.broadcast_to(data, (len(numbers), *data.shape))
    if len(numbers) == 0:
        return np.empty((0, *data.shape[len(axes) :]), data.dtype)
    return data[np.unravel_index(numbers, axes)]


def _explain(status: int, data: np.ndarray, indices: np.ndarray, plan: TuplePlan) -> Exception:
    """Say what a kernel reported."""
    if status == _INDEX_DTYPE:
        return errors.index_dtype(plan.operator, indices.dtype)
    place, component = divmod(status, plan.depth)
    position = tuple(int(i) for i in np.unravel_index(place, plan.tuples)) if plan.tuples else ()
    found = tuple(int(i) for i in indices[position])
    axis = plan.batch_dims + component
    size = data.shape[axis]
    if -size <= found[component] < size:
        return errors.changed_meanwhile(plan.operator)
    return errors.out_of_bounds(plan.operator, position, found, data.shape, axis)


def _check_out(operator: str, out: Any, shape: tuple[int, ...], dtype: np.dtype) -> None:
    if not isinstance(out, np.ndarray) or isinstance(out, np.ma.MaskedArray):
        raise errors.out_type(operator, out, "numpy.ndarray")
    if out.shape != shape:
        raise errors.out_shape(operator, out.shape, shape)
    if out.dtype != dtype:
        raise errors.out_dtype(operator, out.dtype, dtype)
    if not out.flags.writeable:
        raise errors.out_read_only(operator)


def _shares(out: np.ndarray, array: np.ndarray) -> bool:
    """Whether the two have a byte in common. Where that would take long to know: yes."""
    if not np.may_share_memory(out, array):
        return False
    try:
        return np.shares_memory(out, array, max_work=_OVERLAP_WORK)
    except np.exceptions.TooHardError:
        return True


def _may_overlap_itself(out: np.ndarray) -> bool:
    """Whether two of its elements may share a byte: False is certain."""
    span = out.itemsize
    for stride, n in sorted((abs(stride), n) for stride, n in zip(out.strides, out.shape, strict=True) if n > 1):
        if stride < span:
            return True
        span = stride * n
    return False


def _fill(operator: str, fill_value: Any, dtype: np.dtype) -> np.ndarray:
    """One element of data's dtype, with the value unchanged."""
    if type(fill_value) is int and fill_value == 0:
        return np.zeros((), dtype)
    value = np.empty((), dtype)
    if dtype.kind == "O":
        value[()] = fill_value
        return value
    given = np.asarray(fill_value)
    if given.ndim != 0:
        raise errors.fill_not_scalar(operator, given.shape)
    try:
        with np.errstate(over="raise", invalid="raise"):
            value[()] = fill_value
            # Python's numbers have no dtype of their own: they fit a dtype of their kind or a wider one.
            python_number = type(fill_value) in (int, float, complex)
            if python_number and dtype.kind == "V":  # an ml_dtypes one, which NumPy knows no kind of
                has_fractions = np.array(0.5, dtype) == 0.5
                fits = (type(fill_value) is float and has_fractions) or value == fill_value
            else:
                fits = np.result_type(dtype, fill_value if python_number else given.dtype) == dtype
    except (TypeError, ValueError, OverflowError, FloatingPointError):
        fits = False
    if not fits:
        raise errors.fill_dtype(operator, fill_value, dtype)
    return value
