"""NumPy's index grammar: what an index selects, as a view and the arrays that index its axes.

No array library is needed: of arrays only the shape and the dtype are read.

An index is read in two steps. `items` makes it a tuple of None, ``...``, slices, ints, bools and arrays. `parse` says
which of the axes of ``x[view]``, a basic index, are indexed by which arrays.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gatherscatter import errors
from gatherscatter import plan as plans
from gatherscatter.errors import indexing as messages
from gatherscatter.operators import ARRAYS, AXIS, Operator
from gatherscatter.plan import Shape

FULL = slice(None)
_LONG = 1 << 10


# NumPy builds the name of a dtype each time, which takes as long as a small call.
_KINDS = {"b": "bool", "i": "int", "u": "int"}


def kind_of(dtype: Any) -> str:
    """As `errors.kind_of`."""
    return _KINDS.get(getattr(dtype, "kind", "")) or errors.kind_of(dtype)


class Selector(NamedTuple):
    """An array that indexes axes of the view: one axis, or for a mask as many as it has."""

    array: Any  # integers or a mask, of any library; or an int
    axis: int  # the first of these axes of the view
    depth: int  # how many they are
    axis_of_x: int  # the first of these axes of x; -1 for a new axis

    @property
    def is_mask(self) -> bool:
        return not isinstance(self.array, int) and kind_of(self.array.dtype) == "bool"


class Parsed(NamedTuple):
    """An index.

    The axes of the result are the axes of the view that no selector indexes, with the axes of the index arrays inserted
    at `place`.
    """

    view: tuple[Any, ...]  # the basic index that gives the view: ints, slices and None
    basic: tuple[Any, ...]  # the same without None: one item for each axis of x
    inserted: Shape  # the axes of the view that are new
    flipped: Shape  # the reversed axes of the view, if slices have no negative steps
    selectors: tuple[Selector, ...]
    place: int
    is_apart: bool  # whether the selectors are not adjacent in the index; then `place` is 0
    terms: tuple[tuple[int, int, int], ...]  # for messages: (axis of x, number of the selector or -1, the int)

    @property
    def is_whole(self) -> bool:
        """Whether the view has all elements of x."""
        return all(item is FULL for item in self.basic)

    @property
    def is_basic(self) -> bool:
        """Whether there are no index arrays: the one selector is for a new first axis."""
        return self.selectors[0].axis_of_x < 0 and isinstance(self.selectors[0].array, int)

    @property
    def indexed(self) -> Shape:
        """The axes of the view that selectors index."""
        return tuple(axis for s in self.selectors for axis in range(s.axis, s.axis + s.depth))


def items(op: Operator, index: Any, as_array: Callable[[Any], Any]) -> tuple[Any, ...]:
    """The items of an index: None, ``...``, slices, ints, bools, and arrays of rank 1 or of other libraries.

    as_array: makes an array of a list.
    """
    given = tuple(index) if isinstance(index, tuple) else (index,)
    return tuple([_item(op, item, as_array) for item in given])


def _item(op: Operator, item: Any, as_array: Callable[[Any], Any]) -> Any:
    if item is None or item is Ellipsis or isinstance(item, (slice, bool)):
        return item
    if isinstance(item, (int, np.integer)):
        return int(item)
    if isinstance(item, np.bool_):
        return bool(item)
    if isinstance(item, (list, tuple, range)):
        item = as_array(list(item))
    elif isinstance(item, np.generic) or not (hasattr(item, "shape") and hasattr(item, "dtype")):
        try:
            return operator.index(item)
        except TypeError:
            raise messages.not_an_index(op, item) from None
    kind = kind_of(item.dtype)
    if kind not in ("int", "bool"):
        raise messages.array_dtype(op, item.dtype)
    if isinstance(item, np.ndarray) and item.ndim == 0:
        return bool(item) if kind == "bool" else int(item)
    return item


def is_array(item: Any) -> bool:
    """Whether an item is an array."""
    return item is not None and item is not Ellipsis and not isinstance(item, (slice, int))


def _depth(item: Any) -> int:
    """How many axes of x an item is for."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    if isinstance(item, (slice, int)) or kind_of(item.dtype) != "bool":
        return 1
    return len(item.shape)


def parse(
    op: Operator, given: Sequence[Any], shape: Shape, mode: str = "raise", *, negative_steps: bool = True
) -> Parsed:
    """Read the items of an index of an array of that shape. negative_steps: whether the library's slices have them."""
    n_axes = sum(_depth(item) for item in given)
    n_ellipses = sum(1 for item in given if item is Ellipsis)
    if n_ellipses > 1:
        raise messages.ellipses(op, n_ellipses)
    if n_axes > len(shape):
        raise messages.too_many(op, n_axes, shape)
    left = len(shape) - n_axes

    view: list[Any] = []
    basic: list[Any] = []
    inserted: list[int] = []
    flipped: list[int] = []
    selectors: list[Selector] = []
    terms: list[tuple[int, int, int]] = []
    n_view = n_kept = 0  # axes of the view so far, and those that no selector indexes
    place = -1
    was_advanced = is_apart = False
    for item in given if n_ellipses else (*given, Ellipsis):
        axis = len(basic)
        is_advanced = is_array(item) or isinstance(item, int)
        if is_advanced and not was_advanced:
            is_apart = place >= 0
            place = 0 if is_apart else n_kept
        was_advanced = is_advanced
        if item is Ellipsis:
            view += [FULL] * left
            basic += [FULL] * left
            n_view += left
            n_kept += left
        elif item is None:
            view.append(None)
            inserted.append(n_view)
            n_view += 1
            n_kept += 1
        elif isinstance(item, bool):  # selects from a new axis of size 1
            view.append(None)
            inserted.append(n_view)
            selectors.append(Selector(np.zeros(int(item), np.int64), n_view, 1, -1))
            n_view += 1
        elif isinstance(item, int):
            found = _position(op, item, axis, shape, mode)
            terms.append((axis, -1, item))
            if found is None:
                selectors.append(Selector(shape[axis], n_view, 1, axis))
                n_view += 1
            view.append(FULL if found is None else found)
            basic.append(view[-1])
        elif isinstance(item, slice):
            cut, is_reversed = _slice(op, item, shape[axis], negative_steps)
            if is_reversed:
                flipped.append(n_view)
            view.append(cut)
            basic.append(cut)
            n_view += 1
            n_kept += 1
        else:
            depth = _depth(item)
            if kind_of(item.dtype) == "bool":
                _check_mask(op, item, shape, axis)
            else:
                terms.append((axis, len(selectors), 0))
            selectors.append(Selector(item, n_view, depth, axis))
            view += [FULL] * depth
            basic += [FULL] * depth
            n_view += depth
    if not selectors:  # a basic index: select the one element of a new first axis
        view.insert(0, None)
        inserted = [0, *(n + 1 for n in inserted)]
        flipped = [n + 1 for n in flipped]
        selectors = [Selector(0, 0, 1, -1)]
        place, is_apart = 0, False
    return Parsed(
        tuple(view), tuple(basic), tuple(inserted), tuple(flipped), tuple(selectors), place, is_apart, tuple(terms)
    )


def _position(op: Operator, index: int, axis: int, shape: Shape, mode: str) -> int | None:
    """The position of an integer on its axis; None if the mode skips it."""
    size = shape[axis]
    if not isinstance(size, int):  # unknown to Dask
        return index
    wrapped = index + size if index < 0 and op.wrap_negative_indices else index
    if 0 <= wrapped < size:
        return wrapped
    if mode in ("fill", "drop"):
        return None
    if mode in ("clip", "wrap") and size:
        return wrapped % size if mode == "wrap" else min(max(wrapped, 0), size - 1)
    raise messages.out_of_bounds(op, (), index, shape, axis, index)


def _slice(op: Operator, item: slice, size: Any, negative_steps: bool) -> tuple[slice, bool]:
    """The slice with bounds in [0, size], and whether its elements are in reverse order."""
    if item.start is None and item.stop is None and item.step is None:
        return FULL, False
    try:
        start, stop, step = (None if n is None else operator.index(n) for n in (item.start, item.stop, item.step))
    except TypeError:
        raise messages.slice_item(op, item) from None
    if step == 0:
        raise messages.slice_step(op, item)
    if not isinstance(size, int):
        return item, False
    step = 1 if step is None else step
    lowest, highest = (0, size) if step > 0 else (-1, size - 1)
    start = (lowest if step > 0 else highest) if start is None else _bound(start, size, lowest, highest)
    stop = (highest if step > 0 else lowest) if stop is None else _bound(stop, size, lowest, highest)
    n = max((stop - start + step - (1 if step > 0 else -1)) // step, 0)
    if n == size and step == 1:
        return FULL, False
    if n == 0:
        return slice(0, 0), False
    if step > 0:
        return slice(start, stop, step), False
    if not negative_steps:
        return slice(start + (n - 1) * step, start + 1, -step), True
    return slice(start, None if stop < 0 else stop, step), False


def _bound(bound: int, size: int, lowest: int, highest: int) -> int:
    return max(bound + size, lowest) if bound < 0 else min(bound, highest)


def _check_mask(op: Operator, mask: Any, shape: Shape, axis: int) -> None:
    expected = tuple(shape[axis : axis + len(mask.shape)])
    for n, m in zip(mask.shape, expected, strict=True):
        if n != m and n == n and m == m:  # NaN: a size that Dask does not know
            raise messages.mask_shape(op, mask.shape, shape, axis)


def broadcast(op: Operator, shapes: Sequence[Shape]) -> Shape:
    """The shape to which index arrays of these shapes broadcast."""
    result: list[int] = []
    for shape in shapes:
        result = [1] * (len(shape) - len(result)) + result
        for axis, n in enumerate(reversed(shape), start=1):
            if n != 1:
                if result[-axis] != 1 and result[-axis] != n:  # not `in`, which compares no symbolic sizes
                    raise messages.arrays_shapes(op, shapes)
                result[-axis] = n
    return tuple(result)


def index_error(op: Operator, parsed: Parsed, shape: Shape, mode: str, arrays: Sequence[Any]) -> IndexError | None:
    """The error for the first index out of bounds, or None if there is none.

    arrays: for each selector the index array as a NumPy array, or None for a mask.
    """
    found = [(axis, value if number < 0 else arrays[number]) for axis, number, value in parsed.terms]
    shapes = [array.shape for array in arrays if array is not None]
    common = broadcast(op, shapes)
    outside = np.zeros(common, bool)
    for axis, index in found:
        if not isinstance(index, int):
            outside |= _outside(op, index, shape[axis], mode)
    if not outside.any():
        return None
    position = plans.unravel(int(np.argmax(outside)), common)
    values = [index if isinstance(index, int) else int(np.broadcast_to(index, common)[position]) for _, index in found]
    for (axis, index), value in zip(found, values, strict=True):
        if not isinstance(index, int) and _outside(op, np.array(value), shape[axis], mode):
            shown = tuple(values) if len(values) > 1 else value
            return messages.out_of_bounds(op, position, shown, shape, axis, value)
    return None


def _outside(op: Operator, index: Any, size: int, mode: str) -> Any:
    if mode in ("clip", "wrap"):
        return np.full(index.shape, size == 0)
    return (index >= size) | (index < (-size if op.wrap_negative_indices else 0))


# The fast path


def adjacent(index: tuple[Any, ...], n_axes: int) -> tuple[int, int, Any]:
    """The kind, the first axis and the items of an index that has one item for each of adjacent axes, and full slices.

    The items may be of any type. For another index they are None.
    """
    first, last = 0, len(index)
    while first < last and is_full(index[first]):
        first += 1
    while last > first and is_full(index[last - 1]):
        last -= 1
    axis = first
    if first < last and index[first] is Ellipsis:
        axis = n_axes - (len(index) - first - 1)
        first += 1
    elif first < last and index[last - 1] is Ellipsis:
        last -= 1
    if last - first == 1:
        return AXIS, axis, index[first]
    return ARRAYS, axis, index[first:last]


def simplified(x: NDArray[Any], index: Any, wrap: Any) -> tuple[NDArray[Any], int, int, Any] | None:
    """The view of x that the slices and integers of an index select, and `adjacent` of the rest.

    None: the index has other items than slices, integers, ``...``, integer arrays and lists of integers, selects one
    element, or is an error. Its integers and arrays must be adjacent, since NumPy treats integers as arrays.
    """
    basic: list[Any] = []
    rest: list[Any] = []
    last = -1  # the last item that is an integer or an array
    for number, item in enumerate(index if type(index) is tuple else (index,)):
        if item is Ellipsis or type(item) is slice:
            basic.append(item)
            rest.append(FULL if type(item) is slice else item)
            continue
        if 0 <= last < number - 1:
            return None
        last = number
        if type(item) is int and (item >= 0 or wrap is True):
            basic.append(item)
            continue
        array = item
        if type(item) is list and len(item) < _LONG:  # to read a long one twice would take time
            try:
                array = np.asarray(item)
            except ValueError:  # ragged
                return None
        if not (type(array) is np.ndarray and array.ndim and array.dtype.kind in "iu"):
            return None
        basic.append(FULL)
        rest.append(array)
    if Ellipsis not in basic:
        basic.append(Ellipsis)  # with which one element is an array too
    try:
        view = x[tuple(basic)]
    except (IndexError, TypeError, ValueError):
        return None
    return (view, *adjacent(tuple(rest), view.ndim)) if view.ndim else None


def is_full(item: Any) -> bool:
    """Whether an item of an index is the slice of a whole axis."""
    return type(item) is slice and item.start is None and item.stop is None and item.step is None
