"""The operators as scalar loops: slow, plain, and the one meaning that every backend is held to.

Tests and ``python -m gatherscatter`` compare with them.

Nothing but NumPy's basic indexing (integers, one element or slice at a time) is used, and arithmetic on single
elements of data's own dtype, each step of which rounds, or wraps around, as that dtype does.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

Array = Any  # NumPy's; its stubs know too little of indexing by tuples
Place = tuple[Any, ...]
Places = Iterable[tuple[Place, Place | None]]


def place(index: int, size: int, mode: str) -> int | None:
    """Where an index lands on an axis: a position, or None for none (fill, drop)."""
    index = operator.index(index)
    if index < 0:
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


def positions(shape: Place) -> Iterable[Place]:
    return itertools.product(*map(range, shape))


def gather_nd(data: Array, indices: Array, *, batch_dims: int = 0, mode: str = "raise", fill_value: Any = 0) -> Array:
    b, k = batch_dims, indices.shape[-1]
    result = np.zeros(indices.shape[:-1] + data.shape[b + k :], data.dtype)
    for t in positions(indices.shape[:-1]):
        where = [place(indices[(*t, j)], data.shape[b + j], mode) for j in range(k)]
        # The Ellipsis makes 0-d arrays of elements, so that nothing is converted on the way.
        if None not in where:
            result[(*t, ...)] = data[(*t[:b], *where, ...)]
        elif not (type(fill_value) is int and fill_value == 0):  # 0 is any dtype's zero, which is there already
            result[(*t, ...)] = fill_value
    return result


def gather_places(data: Array, indices: Array, axis: int, batch_dims: int, mode: str) -> Places:
    """For every element of gather's result, or of scatter's updates: its position, and that of its partner in data."""
    b, axis, size = batch_dims, axis % data.ndim, data.shape[axis]
    places = {t: place(indices[t], size, mode) for t in positions(indices.shape)}
    last = axis + indices.ndim - b
    for t in positions(data.shape[:axis] + indices.shape[b:] + data.shape[axis + 1 :]):
        i = places[t[:b] + t[axis:last]]
        yield t, None if i is None else (*t[:axis], i, *t[last:])


def gather_nd_places(data: Array, indices: Array, batch_dims: int, mode: str) -> Places:
    b, k = batch_dims, indices.shape[-1]
    for t in positions(indices.shape[:-1]):
        where = [place(indices[(*t, j)], data.shape[b + j], mode) for j in range(k)]
        for row in positions(data.shape[b + k :]):
            yield t + row, None if None in where else (*t[:b], *where, *row)


def gather_elements_places(data: Array, indices: Array, axis: int, mode: str) -> Places:
    axis, size = axis % data.ndim, data.shape[axis]
    for t in positions(indices.shape):
        i = place(indices[t], size, mode)
        yield t, None if i is None else (*t[:axis], i, *t[axis + 1 :])


def read(data: Array, shape: Place, places: Places, fill_value: Any) -> Array:
    result = np.zeros(shape, data.dtype)
    for t, where in places:
        if where is not None:
            result[(*t, ...)] = data[(*where, ...)]
        elif not (type(fill_value) is int and fill_value == 0):
            result[(*t, ...)] = fill_value
    return result


def gather(
    data: Array, indices: Array, *, axis: int = 0, batch_dims: int = 0, mode: str = "raise", fill_value: Any = 0
) -> Array:
    axis %= data.ndim
    shape = data.shape[:axis] + indices.shape[batch_dims:] + data.shape[axis + 1 :]
    return read(data, shape, gather_places(data, indices, axis, batch_dims, mode), fill_value)


def gather_elements(data: Array, indices: Array, *, axis: int = 0, mode: str = "raise", fill_value: Any = 0) -> Array:
    return read(data, indices.shape, gather_elements_places(data, indices, axis, mode), fill_value)


def add(a: Any, b: Any) -> Any:
    return a + b  # of two bools: or


def mul(a: Any, b: Any) -> Any:
    if isinstance(a, np.complexfloating):  # each product rounds, whatever the machine could fuse
        real = a.real * b.real - a.imag * b.imag
        imag = a.real * b.imag + a.imag * b.real
        return type(a)(complex(real, imag))
    return a * b  # of two bools: and


def largest(a: Any, b: Any) -> Any:
    return a if a >= b or a != a else b  # a NaN stays; of equals the destination stays


def smallest(a: Any, b: Any) -> Any:
    return a if a <= b or a != a else b


def quotient(total: Any, count: int) -> Any:
    """A sum divided by how many were summed: floats round once, integers go down to the next one."""
    if isinstance(total, np.integer):
        return type(total)(int(total) // count)
    if isinstance(total, np.complexfloating):
        part = type(total.real)
        return type(total)(complex(total.real / part(count), total.imag / part(count)))
    if total.dtype.char in "fd":
        return total / type(total)(count)
    return type(total)(np.float64(total) / count)


REDUCTIONS: dict[str, Callable[[Any, Any], Any] | None] = {
    "none": None,
    "add": add,
    "mul": mul,
    "max": largest,
    "min": smallest,
    "mean": add,
}


def combine(data: Array, updates: Any, places: Places, reduction: str, include_self: bool) -> Array:
    """The loop of all scatters: `places` are the positions in updates, in order, and where in data each goes."""
    result = np.array(data, data.dtype, order="C")
    step = REDUCTIONS[reduction]
    if not isinstance(updates, np.ndarray):
        updates = np.array(updates, data.dtype)  # a scalar, for every place
    counts: dict[Place, int] = {}
    with np.errstate(all="ignore"):
        for t, where in places:
            if where is None:
                continue
            update = updates[(*t[: updates.ndim], ...)]
            if step is None or (where not in counts and not include_self):
                result[(*where, ...)] = update
            else:
                result[where] = step(result[where], update[()])
            counts[where] = counts.get(where, int(include_self)) + 1
        if reduction == "mean":
            for where, count in counts.items():
                result[where] = quotient(result[where], count)
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
) -> Array:
    places = gather_places(data, indices, axis, batch_dims, mode)
    return combine(data, updates, places, reduction, include_self)


def scatter_nd(
    data: Array,
    indices: Array,
    updates: Any,
    *,
    batch_dims: int = 0,
    reduction: str = "none",
    include_self: bool = True,
    mode: str = "raise",
) -> Array:
    return combine(data, updates, gather_nd_places(data, indices, batch_dims, mode), reduction, include_self)


def scatter_elements(
    data: Array,
    indices: Array,
    updates: Any,
    *,
    axis: int = 0,
    reduction: str = "none",
    include_self: bool = True,
    mode: str = "raise",
) -> Array:
    return combine(data, updates, gather_elements_places(data, indices, axis, mode), reduction, include_self)
