"""The reference implementation: every operator as a scalar loop. All backends must give the same results.

Tests and ``python -m gatherscatter`` compare with it.

It uses only basic indexing (integers, one element or slice at a time) and arithmetic on single elements of data's
dtype, so that each step rounds or wraps around as that dtype does.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from gatherscatter.reductions import REDUCTIONS

Array = Any  # a NumPy array, whose stubs do not cover indexing by tuples
Position = tuple[Any, ...]
Pairs = Iterable[tuple[Position, Position | None]]


def resolve(index: int, size: int, mode: str, wraps: bool) -> int | None:
    """The element of an axis that an index refers to in a mode; None if out of bounds with "fill" or "drop"."""
    index = operator.index(index)
    if index < 0 and wraps:
        index += size
    if 0 <= index < size:
        return index
    if mode in ("fill", "drop"):
        return None
    if mode == "clip" and size:
        return 0 if index < 0 else size - 1
    if mode == "wrap" and size:
        return index % size
    raise IndexError(index)


def positions(shape: Position) -> Iterable[Position]:
    return itertools.product(*map(range, shape))


def gather_nd(
    data: Array,
    indices: Array,
    *,
    batch_dims: int = 0,
    mode: str = "raise",
    fill_value: Any = 0,
    wrap_negative_indices: bool = True,
) -> Array:
    b, k = batch_dims, indices.shape[-1]
    result = np.zeros(indices.shape[:-1] + data.shape[b + k :], data.dtype)
    for t in positions(indices.shape[:-1]):
        where = [resolve(indices[(*t, j)], data.shape[b + j], mode, wrap_negative_indices) for j in range(k)]
        # With the Ellipsis an element is a 0-d array, not a scalar, so that it is not converted.
        if None not in where:
            result[(*t, ...)] = data[(*t[:b], *where, ...)]
        elif not (type(fill_value) is int and fill_value == 0):  # result is initialised with the zero of its dtype
            result[(*t, ...)] = fill_value
    return result


def gather_pairs(data: Array, indices: Array, axis: int, batch_dims: int, mode: str, wraps: bool) -> Pairs:
    """Pairs (position in gather's result or scatter's updates, position in data or None), for every element."""
    b, axis, size = batch_dims, axis % data.ndim, data.shape[axis]
    resolved = {t: resolve(indices[t], size, mode, wraps) for t in positions(indices.shape)}
    last = axis + indices.ndim - b
    for t in positions(data.shape[:axis] + indices.shape[b:] + data.shape[axis + 1 :]):
        i = resolved[t[:b] + t[axis:last]]
        yield t, None if i is None else (*t[:axis], i, *t[last:])


def gather_nd_pairs(data: Array, indices: Array, batch_dims: int, mode: str, wraps: bool) -> Pairs:
    b, k = batch_dims, indices.shape[-1]
    for t in positions(indices.shape[:-1]):
        where = [resolve(indices[(*t, j)], data.shape[b + j], mode, wraps) for j in range(k)]
        for row in positions(data.shape[b + k :]):
            yield t + row, None if None in where else (*t[:b], *where, *row)


def gather_elements_pairs(data: Array, indices: Array, axis: int, mode: str, wraps: bool) -> Pairs:
    axis, size = axis % data.ndim, data.shape[axis]
    for t in positions(indices.shape):
        i = resolve(indices[t], size, mode, wraps)
        yield t, None if i is None else (*t[:axis], i, *t[axis + 1 :])


def read(data: Array, shape: Position, pairs: Pairs, fill_value: Any) -> Array:
    result = np.zeros(shape, data.dtype)
    for t, where in pairs:
        if where is not None:
            result[(*t, ...)] = data[(*where, ...)]
        elif not (type(fill_value) is int and fill_value == 0):
            result[(*t, ...)] = fill_value
    return result


def gather(
    data: Array,
    indices: Array,
    *,
    axis: int = 0,
    batch_dims: int = 0,
    mode: str = "raise",
    fill_value: Any = 0,
    wrap_negative_indices: bool = True,
) -> Array:
    axis %= data.ndim
    shape = data.shape[:axis] + indices.shape[batch_dims:] + data.shape[axis + 1 :]
    return read(data, shape, gather_pairs(data, indices, axis, batch_dims, mode, wrap_negative_indices), fill_value)


def gather_elements(
    data: Array,
    indices: Array,
    *,
    axis: int = 0,
    mode: str = "raise",
    fill_value: Any = 0,
    wrap_negative_indices: bool = True,
) -> Array:
    return read(
        data, indices.shape, gather_elements_pairs(data, indices, axis, mode, wrap_negative_indices), fill_value
    )


def narrow(array: Array, dtype: np.dtype[Any]) -> Array:
    """The array in a narrower dtype, each element rounded once.

    ml_dtypes rounds float64 to float32 and that to bfloat16. Here float32 is rounded to odd, which loses no tie.
    """
    if dtype.name == "bfloat16" and array.dtype == np.float64:
        single = array.astype(np.float32)
        inexact = (single != array) & (array == array)
        single = np.where(np.abs(single) > np.abs(array), np.nextafter(single, np.float32(0)), single)
        array = (single.view(np.uint32) | inexact.astype(np.uint32)).view(np.float32)
    return array.astype(dtype)


def combine(data: Array, updates: Any, pairs: Pairs, reduction: str, include_self: bool, wide: Any) -> Array:
    """The loop of all scatters. `pairs`: (position in updates, position in data or None), in row-major order.

    wide: the dtype of the sums and products; None: data's.
    """
    if wide is not None:
        if isinstance(updates, np.ndarray):
            updates = updates.astype(wide)
        with np.errstate(over="ignore"):  # infinity, as in the sums of the dtype itself
            return narrow(combine(data.astype(wide), updates, pairs, reduction, include_self, None), data.dtype)
    result = np.array(data, data.dtype, order="C")
    record = REDUCTIONS[reduction]
    if not isinstance(updates, np.ndarray):
        updates = np.array(updates, data.dtype)  # a scalar, used at every position
    counts: dict[Position, int] = {}
    with np.errstate(all="ignore"):
        for t, where in pairs:
            if where is None:
                continue
            update = updates[(*t[: updates.ndim], ...)]
            if record.step is None or (where not in counts and not include_self):
                result[(*where, ...)] = update
            else:
                result[where] = record.step(result[where], update[()])
            counts[where] = counts.get(where, int(include_self)) + 1
        if record.finish is not None:
            for where, count in counts.items():
                result[where] = record.finish(result[where], count)
    return result


def scatter(
    data: Array,
    indices: Array,
    updates: Any,
    *,
    axis: int = 0,
    batch_dims: int = 0,
    reduction: str = "none",
    include_self: bool = True,
    mode: str = "raise",
    wrap_negative_indices: bool = True,
    accumulate_dtype: Any = None,
) -> Array:
    pairs = gather_pairs(data, indices, axis, batch_dims, mode, wrap_negative_indices)
    return combine(data, updates, pairs, reduction, include_self, accumulate_dtype)


def scatter_nd(
    data: Array,
    indices: Array,
    updates: Any,
    *,
    batch_dims: int = 0,
    reduction: str = "none",
    include_self: bool = True,
    mode: str = "raise",
    wrap_negative_indices: bool = True,
    accumulate_dtype: Any = None,
) -> Array:
    return combine(
        data,
        updates,
        gather_nd_pairs(data, indices, batch_dims, mode, wrap_negative_indices),
        reduction,
        include_self,
        accumulate_dtype,
    )


def scatter_elements(
    data: Array,
    indices: Array,
    updates: Any,
    *,
    axis: int = 0,
    reduction: str = "none",
    include_self: bool = True,
    mode: str = "raise",
    wrap_negative_indices: bool = True,
    accumulate_dtype: Any = None,
) -> Array:
    return combine(
        data,
        updates,
        gather_elements_pairs(data, indices, axis, mode, wrap_negative_indices),
        reduction,
        include_self,
        accumulate_dtype,
    )
