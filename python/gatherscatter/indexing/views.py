"""An index as a view of x and the index arrays of a gather or scatter along axes of it.

A basic index is a view. Index arrays index one axis of it, or several adjacent axes. If the indexed axes are not
adjacent, the view is transposed so that they come first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gatherscatter.backends.base import Backend
from gatherscatter.errors import indexing as messages
from gatherscatter.indexing import grammar
from gatherscatter.indexing.grammar import Parsed, Selector
from gatherscatter.operators import Operator
from gatherscatter.plan import Shape, inverse


class View(NamedTuple):
    """The steps that make a view of an array, in this order. An empty step is skipped."""

    key: tuple[Any, ...] = ()  # a basic index
    inserted: Shape = ()  # the new axes in its result
    order: Shape = ()  # a permutation of the axes
    shape: Shape = ()  # with the axes of a mask merged
    before: Shape = ()  # the shape before the merge

    def of(self, xp: Any, array: Any) -> Any:
        """The view of an array of x's shape."""
        if self.key:
            array = array[(*self.key, ...)]
        if self.order:
            array = xp.permute_dims(array, self.order)
        return xp.reshape(array, self.shape) if self.shape else array

    def undone(self, xp: Any, part: Any) -> Any:
        """The inverse of `of`. With a key: the part of the array that the key without None selects."""
        if self.shape:
            part = xp.reshape(part, self.before)
        if self.order:
            part = xp.permute_dims(part, inverse(self.order))
        return xp.squeeze(part, axis=self.inserted) if self.inserted else part


class Call(NamedTuple):
    """A gather or scatter of the core, on a view of x."""

    backend: Backend
    op: Operator
    parsed: Parsed
    x: Any
    view: View
    data: Any  # the view of x
    arrays: tuple[Any, ...]  # index arrays, one for each axis of data from `axis` on; none of a basic index
    axis: int
    shape: Shape  # of x[index]
    common: Shape  # of the index arrays together: axes of x[index] from number `place` on
    place: int
    flips: Shape  # axes of x[index] that are in reverse order
    takes_arrays: bool  # whether the backend takes several index arrays as they are

    @property
    def xp(self) -> Any:
        return self.backend.namespace(self.x)

    @property
    def is_moved(self) -> bool:
        """Whether the axes of the index arrays come first in the core but not in x[index]."""
        return self.axis == 0 and self.place > 0 and bool(self.common)

    def to_core(self, array: Any) -> Any:
        """Convert an array that broadcasts to the shape of x[index] to the core's order of axes."""
        if not (self.flips or self.is_moved):
            return array
        xp = np if isinstance(array, np.ndarray) else self.xp  # Dask takes NumPy's arrays
        pairs = zip(array.shape, self.shape, strict=False)
        if len(array.shape) < len(self.shape) or any(n != m and m == m for n, m in pairs):  # NaN: unknown to Dask
            array = xp.broadcast_to(array, self.shape)
        if self.flips:
            array = xp.flip(array, axis=self.flips)
        return xp.permute_dims(array, inverse(self._order)) if self.is_moved else array

    def from_core(self, array: Any) -> Any:
        """The inverse of `to_core`."""
        if self.is_moved:
            array = self.xp.permute_dims(array, self._order)
        return self.xp.flip(array, axis=self.flips) if self.flips else array

    @property
    def _order(self) -> Shape:
        n, k = len(self.common), self.place
        return (*range(n, n + k), *range(n), *range(n + k, len(self.shape)))


# The call of the core


def call(backend: Backend, op: Operator, x: Any, parsed: Parsed, updates: Any = None, out: Any = None) -> Call:
    """The view of x and the index arrays. updates, out: of the call."""
    xp = backend.namespace(x)
    arrays_given = tuple(selector.array for selector in parsed.selectors)
    takes_arrays = len(parsed.indexed) > 1 and (
        backend.readable(op, data=x, indices=arrays_given, updates=updates, out=out) is not None
    )
    key = parsed.view if parsed.inserted or not parsed.is_whole else ()
    view = View(key, parsed.inserted)
    try:
        data = view.of(xp, x)
    except IndexError:  # NumPy has at most 64 dimensions, and the view of a basic index one more than x
        raise messages.too_many_dimensions(op, x.ndim) from None
    selectors, indexed = parsed.selectors, parsed.indexed
    rest = tuple(axis for axis in range(data.ndim) if axis not in indexed)
    axis = parsed.place
    if parsed.is_apart:
        axis = 0
    elif len(indexed) > 1 and axis and not takes_arrays:  # tuples index leading axes
        is_one = len(selectors) == 1 and backend.merged(data, axis, len(indexed)) is not None
        axis = axis if is_one else 0
    order = (*rest[:axis], *indexed, *rest[axis:])
    if order != tuple(range(data.ndim)):
        view = view._replace(order=order)
        data = xp.permute_dims(data, order)
    merged = None
    if len(selectors) == 1 and len(indexed) > 1:  # a mask
        merged = backend.merged(data, axis, len(indexed))
        if merged is not None:
            view = view._replace(shape=tuple(merged.shape), before=tuple(data.shape))
            data = merged
    arrays: list[Any] = []
    for selector in () if parsed.is_basic else selectors:
        arrays += _index_arrays(backend, x, selector, merged is not None)
    common = grammar.broadcast(op, [tuple(array.shape) for array in arrays])
    kept = tuple(rest)
    shape_of = {a: n for a, n in zip(order, view.before or data.shape, strict=True)}
    place = parsed.place
    shape = (*(shape_of[a] for a in kept[:place]), *common, *(shape_of[a] for a in kept[place:]))
    flips = tuple(n + (len(common) if n >= place else 0) for n in (kept.index(a) for a in parsed.flipped))
    return Call(backend, op, parsed, x, view, data, tuple(arrays), axis, shape, common, place, flips, takes_arrays)


def _index_arrays(backend: Backend, x: Any, selector: Selector, is_merged: bool) -> tuple[Any, ...]:
    """The arrays of integers of a selector, one for each of its axes; for axes that were merged, one."""
    array = selector.array
    if isinstance(array, int):
        return (constant(backend, np.asarray(array), x),)
    if selector.is_mask:
        found = backend.nonzero(array, is_merged)
        return tuple([constant(backend, one, x) if isinstance(one, np.ndarray) else one for one in found])
    return (constant(backend, array, x) if selector.axis_of_x < 0 else array,)


def constant(backend: Backend, array: Any, like: Any) -> Any:
    """A NumPy array as indices for a backend, known in a trace as well."""
    if backend.takes_numpy_indices:
        return array
    with backend.constants():
        return backend.asarray(array, like)
