"""NumPy arrays: the compiled kernels."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gatherscatter import errors, memory, neutral, threads
from gatherscatter._kernels import gather as _gather
from gatherscatter._kernels import scatter as _scatter
from gatherscatter._kernels.codes import Mode, Status, TypeCode
from gatherscatter.shapes import AXIS, ND, REDUCED, REDUCED_BY, Plan

NAME = "NumPy"

Array = NDArray[Any]

_RAISE, _CLIP, _WRAP, _SKIP = (int(mode) for mode in Mode)
_MODES = {
    "raise": _RAISE,
    "promise_in_bounds": _RAISE,
    "clip": _CLIP,
    "wrap": _WRAP,
    "fill": _SKIP,
    "drop": _SKIP,
}
_OK, _REFERENCES = int(Status.OK), int(Status.REFERENCES)

_ASSIGN, _ADD, _MUL, _MAX, _MIN = range(5)
_REDUCTIONS = {"none": _ASSIGN, "add": _ADD, "mul": _MUL, "max": _MAX, "min": _MIN, "mean": _ADD}
_TYPE_CODES = {name: int(TypeCode[name.upper()]) for name in REDUCED}

# Elements that are moved or divided at a time where NumPy does it.
_BLOCK = 1 << 14
# NumPy before 2.2 loses strings that arrays of indices or masks find; one by one it finds them.
_LOSES_STRINGS = np.lib.NumpyVersion(np.__version__) < "2.2.0"

# Rows whose updates are counted at a time for a mean: 16 MiB of counts.
_COUNTED = 1 << 21

# Effort to spend on whether two strided arrays share a byte. (NumPy's stubs know -1 and 0 only.)
_OVERLAP_WORK: Any = 10_000


def owns(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def as_array(operator: str, argument: str, value: Any, like: Array | None) -> Array:
    return neutral.as_array(operator, argument, value)


def same_library(a: Array, b: Array) -> bool:
    return True


def gather(data: Array, indices: Array, plan: Plan, fill_value: Any, out: Array | None) -> Array:
    if indices.dtype.kind not in "iu":
        raise errors.index_dtype(plan.operator, indices.dtype, data.dtype)
    mode = _MODES[plan.mode]
    _check_unplaced(indices, plan, mode)
    fill = neutral.element(plan.operator, "fill_value", fill_value, data.dtype) if mode == _SKIP else None
    if out is not None:
        return _gather_into(out, data, indices, plan, mode, fill)
    return _gather_new(data, indices, plan, mode, fill)


def _gather_new(data: Array, indices: Array, plan: Plan, mode: int, fill: Array | None) -> Array:
    result = memory.empty(plan.shape, data.dtype)
    status = _gather.gather(
        plan.kind, data, indices, result, plan.axis, plan.batch_dims, mode, True, fill, threads.limit
    )
    if status != _OK:
        if status != _REFERENCES:
            raise _explain(status, indices, plan)
        _gather_references(result, data, indices, plan, mode, fill)
    return result


def _gather_into(out: Array, data: Array, indices: Array, plan: Plan, mode: int, fill: Array | None) -> Array:
    _check_out(plan.operator, out, plan.shape, data.dtype)
    if data.dtype.hasobject or _shares(out, data) or _shares(out, indices) or _may_overlap_itself(out):
        # Through a result of its own; then NumPy assigns it.
        out[...] = _gather_new(data, indices, plan, mode, fill)
        return out
    _check_indices(data, indices, plan, mode)
    _gather.gather(plan.kind, data, indices, out, plan.axis, plan.batch_dims, mode, True, fill, threads.limit)
    return out


def scatter(data: Array, indices: Array, updates: Any, plan: Plan, out: Array | None) -> Array:
    dtype = data.dtype
    number = _number(plan.reduction, dtype)
    if number < 0:
        raise errors.reduction_dtype(plan.operator, plan.reduction, dtype, REDUCED_BY[plan.reduction])
    if indices.dtype.kind not in "iu":
        raise errors.index_dtype(plan.operator, indices.dtype, dtype)
    updates = _updates(updates, plan, dtype)
    mode = _MODES[plan.mode]
    _check_unplaced(indices, plan, mode)
    if out is None:
        result = memory.empty(data.shape, dtype)
        _scatter_into(result, data, indices, updates, plan, mode, number)
        return result

    _check_out(plan.operator, out, data.shape, dtype)
    in_place = _is_same(out, data)
    if (
        dtype.hasobject
        or (not in_place and _shares(out, data))
        or _shares(out, indices)
        or _shares(out, updates)
        or _may_overlap_itself(out)
    ):
        out[...] = scatter(data, indices, updates, plan, None)
        return out
    _check_indices(out, indices, plan, mode)
    _scatter_into(out, None if in_place else data, indices, updates, plan, mode, number)
    return out


def _scatter_into(
    out: Array, data: Array | None, indices: Array, updates: Array, plan: Plan, mode: int, number: int
) -> None:
    """Scatter into out, which starts as data, or as it is."""
    if out.dtype.hasobject:
        _assign_references(out, data, indices, updates, plan, mode)
        return
    counts = np.empty(max(min(_COUNTED, _n_rows(plan)), 1), np.int64) if plan.reduction == "mean" else None
    if data is not None and not (out.flags.c_contiguous and data.flags.c_contiguous):
        np.copyto(out, data)
        data = None
    reduction = _REDUCTIONS[plan.reduction]
    _run_scatter(out, data, indices, updates, plan, mode, reduction, number)
    if counts is not None:
        _divide(out, indices, plan, mode, counts)


def _run_scatter(
    out: Array,
    data: Array | None,
    indices: Array,
    updates: Array,
    plan: Plan,
    mode: int,
    reduction: int,
    number: int,
) -> None:
    status = _scatter.scatter(
        plan.kind,
        data,
        indices,
        updates,
        out,
        plan.axis,
        plan.batch_dims,
        mode,
        True,
        reduction,
        number,
        plan.include_self,
        threads.limit,
    )
    if status != _OK:
        raise _explain(status, indices, plan)


def _divide(out: Array, indices: Array, plan: Plan, mode: int, counts: NDArray[np.int64]) -> None:
    """Turn the sums of a mean into means, some rows at a time."""
    numbering = _numbering(plan.leading)
    n_rows = _n_rows(plan)
    step = max(_BLOCK // max(int(np.prod(plan.row)), 1), 1)
    for start in range(0, n_rows, len(counts)):
        counted = counts[: n_rows - start]
        counted[...] = 0
        _scatter.count_rows(plan.kind, numbering, indices, plan.axis, plan.batch_dims, mode, True, start, counted)
        for i in range(0, len(counted), step):
            some = i + np.flatnonzero(counted[i : i + step])
            if len(some) == 0:
                continue
            where = np.unravel_index(some + start, plan.leading) if plan.leading else (None,)
            count = (counted[some] + int(plan.include_self)).reshape(-1, *(1,) * len(plan.row))
            rows = _quotient(out[where], count)
            if plan.leading:
                out[where] = rows
            else:
                out[...] = rows[0]


def _quotient(sums: Array, count: NDArray[Any]) -> Array:
    dtype = sums.dtype
    if dtype.kind in "iu":
        wide = np.uint64 if dtype.kind == "u" else np.int64
        return np.floor_divide(sums.astype(wide), count.astype(wide)).astype(dtype)
    means: Array = np.empty_like(sums)
    with np.errstate(all="ignore"):
        if dtype.itemsize == 2:  # rounded once, to 16 bits
            means[...] = sums.astype(np.float32) / count.astype(np.float64)
        elif dtype.kind == "c":  # each part by itself, which rounds once
            count = count.astype(sums.real.dtype)  # pyright: ignore[reportAttributeAccessIssue]
            means.real, means.imag = sums.real / count, sums.imag / count  # pyright: ignore[reportAttributeAccessIssue]
        else:
            np.divide(sums, count.astype(dtype), out=means)
    return means


def _gather_references(result: Array, data: Array, indices: Array, plan: Plan, mode: int, fill: Array | None) -> None:
    """Items that own references (object, StringDType, structures of these): we resolve, NumPy moves."""
    flat = result.reshape((plan.n_tuples, *plan.row))
    for start, numbers in _numbered(indices, plan, mode):
        target = flat[start : start + len(numbers)]
        found = numbers >= 0
        if _LOSES_STRINGS and data.dtype.kind == "T":
            for i, number in enumerate(numbers.tolist()):
                target[i, ...] = data[(*_unravel(number, plan.leading), ...)] if number >= 0 else fill
        elif not found.all():
            target[~found] = fill
            target[found] = _rows(data, plan.leading, numbers[found])
        else:
            target[...] = _rows(data, plan.leading, numbers)


def _assign_references(out: Array, data: Array | None, indices: Array, updates: Array, plan: Plan, mode: int) -> None:
    if data is not None:
        out[...] = data
    for start, numbers in _numbered(indices, plan, mode):
        for number, place in zip(numbers, range(start, start + len(numbers)), strict=True):
            if number >= 0:  # one by one, in order; the Ellipsis keeps an object from being taken for a sequence
                out[(*_unravel(int(number), plan.leading), ...)] = updates[(*_unravel(place, plan.tuples), ...)]


def _numbered(indices: Array, plan: Plan, mode: int) -> Any:
    """Blocks of row numbers: (first tuple, the number of the row that each names, or -1)."""
    numbering = _numbering(plan.leading)
    block = max(_BLOCK // max(int(np.prod(plan.row)), 1), 1)
    rows = np.empty(min(block, plan.n_tuples), np.int64)
    for start in range(0, plan.n_tuples, block):
        numbers = rows[: plan.n_tuples - start]
        status = _gather.resolve(plan.kind, numbering, indices, plan.axis, plan.batch_dims, mode, True, start, numbers)
        if status != _OK:
            raise _explain(status, indices, plan)
        yield start, numbers


def _numbering(shape: tuple[int, ...]) -> Array:
    """An array whose offsets are 0, 1, 2 … in C order, on one byte of memory."""
    strides = [1]
    for n in shape[:0:-1]:
        strides.append(strides[-1] * max(n, 1))
    return np.lib.stride_tricks.as_strided(np.zeros(1, np.uint8), shape, strides[len(shape) - 1 :: -1] if shape else ())


def _unravel(number: int, shape: tuple[int, ...]) -> tuple[Any, ...]:
    return np.unravel_index(number, shape) if shape else ()


def _n_rows(plan: Plan) -> int:
    return int(np.prod(plan.leading, dtype=object))


def _rows(data: Array, axes: tuple[int, ...], numbers: NDArray[np.int64]) -> Array:
    """Rows of data by their number in C order over its leading axes."""
    if not axes:
        return np.broadcast_to(data, (len(numbers), *data.shape))
    if len(numbers) == 0:
        return np.empty((0, *data.shape[len(axes) :]), data.dtype)
    return data[np.unravel_index(numbers, axes)]


def _check_indices(data: Array, indices: Array, plan: Plan, mode: int) -> None:
    """Raise for a bad index before anything is written: nothing is half done."""
    if mode == _SKIP:
        return
    status = _gather.gather(plan.kind, data, indices, None, plan.axis, plan.batch_dims, mode, True, None, threads.limit)
    if status != _OK:
        raise _explain(status, indices, plan)


def _check_unplaced(indices: Array, plan: Plan, mode: int) -> None:
    """Check indices that an empty axis in front of theirs leaves without a place."""
    if plan.kind != AXIS or 0 not in plan.data[plan.batch_dims : plan.axis] or mode == _SKIP:
        return
    between = (1,) * (plan.axis - plan.batch_dims)
    shape = plan.data[: plan.batch_dims] + between + plan.data[plan.axis :]
    places = shape[: plan.axis] + plan.tuples[plan.axis :]
    stand_in = np.broadcast_to(np.zeros((), np.uint8), shape)
    _check_indices(stand_in, indices, plan._replace(tuples=places), mode)


def _explain(status: int, indices: Array, plan: Plan) -> Exception:
    """Say what a kernel reported."""
    number, component = divmod(status, plan.depth)
    place = tuple(int(i) for i in _unravel(number, plan.tuples))
    position = plan.position(place)
    axis = plan.axis + component
    if plan.kind == ND:
        found: Any = tuple(int(i) for i in indices[position])
        index = found[component]
    else:
        found = index = int(indices[position])
    size = plan.data[axis]
    if -size <= index < size:
        return errors.changed_meanwhile(plan.operator)
    return errors.out_of_bounds(plan.operator, position, found, plan.data, axis)


def _check_out(operator: str, out: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    if not isinstance(out, np.ndarray) or isinstance(out, np.ma.MaskedArray):
        raise errors.out_type(operator, out, "numpy.ndarray")
    if out.shape != shape:
        raise errors.out_shape(operator, out.shape, shape)
    if out.dtype != dtype:
        raise errors.out_dtype(operator, out.dtype, dtype)
    if not out.flags.writeable:
        raise errors.out_read_only(operator)


def _is_same(a: Array, b: Array) -> bool:
    """Whether two arrays of one shape are the same elements in the same memory."""
    return a is b or (a.ctypes.data == b.ctypes.data and a.strides == b.strides)


def _shares(out: Array, array: Array) -> bool:
    """Whether the two have a byte in common. Where that would take long to know: yes."""
    if not np.may_share_memory(out, array):
        return False
    try:
        return np.shares_memory(out, array, max_work=_OVERLAP_WORK)
    except np.exceptions.TooHardError:
        return True


def _may_overlap_itself(out: Array) -> bool:
    """Whether two of its elements may share a byte: False is certain."""
    span = out.itemsize
    for stride, n in sorted((abs(stride), n) for stride, n in zip(out.strides, out.shape, strict=True) if n > 1):
        if stride < span:
            return True
        span = stride * n
    return False


@cache
def _number(reduction: str, dtype: np.dtype[Any]) -> int:
    """The dtype's arithmetic for a reduction; -1 where it has none."""
    if reduction == "none":
        return 0
    return _TYPE_CODES[dtype.name] if dtype.name in REDUCED_BY[reduction] else -1


def _identity(reduction: int, name: str) -> bytes | None:
    """What any first update replaces: f(identity, update) is update, bit for bit."""
    kind = name[0]
    if name == "bfloat16":
        kind = "f"
    if kind == "c" and reduction == _MUL:  # none that is exact
        return None
    if reduction == _ADD:
        value: Any = 0 if kind in "biu" else complex(-0.0, -0.0) if kind == "c" else -0.0
    elif reduction == _MUL:
        value = 1
    elif kind == "b":
        value = reduction == _MIN
    elif kind in "iu":
        value = np.iinfo(name).min if reduction == _MAX else np.iinfo(name).max
    else:
        value = -np.inf if reduction == _MAX else np.inf
    if name == "bfloat16":  # NumPy lacks it: the upper half of a float32
        return (np.array(value, np.float32).view(np.uint32) >> 16).astype(np.uint16).tobytes()
    return np.array(value, name).tobytes()


def _register() -> None:
    for name, code in _REDUCTIONS.items():
        if name == "mean":
            continue
        types = {} if name == "none" else {t: _TYPE_CODES[t] for t in REDUCED_BY[name]}
        identities = {c: identity for t, c in types.items() if (identity := _identity(code, t)) is not None}
        reorderable = sum(1 << c for t, c in types.items() if t.startswith(("int", "uint")))
        _scatter.register(
            name, code, sum(1 << c for c in types.values()), reorderable, name in ("none", "max", "min"), identities
        )


_register()


def _updates(updates: Any, plan: Plan, dtype: np.dtype[Any]) -> Array:
    """Updates as an array of the plan's shape and data's dtype."""
    if not isinstance(updates, np.ndarray):
        return neutral.updates(plan.operator, updates, plan.shape, dtype)
    if updates.dtype != dtype:
        raise errors.updates_dtype(plan.operator, updates.dtype, dtype)
    if updates.shape != plan.shape:
        raise errors.updates_shape(plan.operator, updates.shape, plan.shape)
    return updates
