"""The groups that `labels` and `index` make of an array's elements, and what is computed of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gatherscatter._typing import SegmentReduction
from gatherscatter.counting import bincount
from gatherscatter.errors import labels as messages
from gatherscatter.gathers import gather
from gatherscatter.reductions import DTYPES
from gatherscatter.segments import segment_reduce
from gatherscatter.segments.ids import settled
from gatherscatter.values import Array

# Reductions that no elements have no result of. A label without elements has 0 here, as in SciPy.
_OF_SOME = ("min", "max", "argmin", "argmax")
# What a label without elements has.
_EMPTY = {"add": 0, "mean": np.nan, "var": np.nan, "median": np.nan} | dict.fromkeys(_OF_SOME, 0)
# For one group. NumPy's reductions of a whole array have the same rules, and need no ids.
_OF_ONE: dict[str, Callable[[Array], Any]] = {
    "add": np.sum,
    "mean": lambda values: np.mean(values, dtype=_wide(values)),
    "var": lambda values: np.var(values, dtype=_wide(values)).astype(_wide(values)),
    "median": lambda values: np.median(values.view(np.uint8) if values.dtype == bool else values),
    "min": np.min,
    "max": np.max,
    "argmin": np.argmin,
    "argmax": np.argmax,
}
_BLOCK = 1 << 15  # elements that are put into bins at a time, so that they stay in the cache
_FEW = 1024  # segments beside four for each label: fewer are not worth a pass over the labels


class One(NamedTuple):
    """One group: the elements where `mask` is true, or all of them."""

    name: str
    values: Array
    mask: Array | None
    index: Any

    def reduce(self, *reductions: SegmentReduction) -> tuple[Any, ...]:
        """A NumPy scalar for each reduction."""
        values = self.selected()
        if not values.size and not {*reductions}.isdisjoint(_OF_SOME):
            raise messages.no_element(self.name, self.mask is not None, self.index)
        if not values.size and reductions != ("add",):
            is_float = reductions == ("median",) and values.dtype.kind == "f"
            return (np.full((), np.nan, values.dtype if is_float else _wide(values))[()],)
        with np.errstate(all="ignore"):
            found = {one: _OF_ONE[one](values) for one in reductions}
        if self.mask is not None and not {"argmin", "argmax"}.isdisjoint(reductions):
            places = np.flatnonzero(self.mask)
            found |= {one: places[found[one]] for one in reductions if one in ("argmin", "argmax")}
        return tuple(found.values())

    def histogram(self, edges: Array) -> Any:
        values = self.selected()
        if not values.size and self.index is not None:
            return None
        return np.histogram(values.view(np.uint8) if values.dtype == bool else values, edges)[0]

    def selected(self) -> Array:
        return self.values if self.mask is None else self.values[self.mask]


class Many(NamedTuple):
    """A group for each element of an array of labels.

    ids: the segment of each element; those that are none of the n segments are of no group. at: the segment of each
    label, of the shape of the array of labels; -1: it has no elements.
    """

    name: str
    values: Array
    ids: Array
    n: int
    at: Array

    def reduce(self, *reductions: SegmentReduction) -> tuple[Any, ...]:
        """An array of a number for each label, for each reduction."""
        wide = _wide(self.values) if reductions[0] in ("add", "mean", "var") else None
        names = reductions
        if reductions == ("add",):  # beside a mean, a sum takes half the time
            names = ("add", "mean")
        fills = tuple(_EMPTY[one] for one in names)
        found = segment_reduce(
            self.values, self.ids, self.n, reduction=names, mode="drop", fill_value=fills, dtype=wide
        )
        pairs = list(zip(found, fills, strict=True))[: len(reductions)]
        # At -1, of labels without elements, is what these have.
        return tuple(np.append(one, np.asarray(fill, wide or one.dtype))[self.at] for one, fill in pairs)

    def histogram(self, edges: Array) -> Any:
        """An array of objects: the counts of each label; None: it has no elements."""
        ids, values, width = self.ids.reshape(-1), self.values.reshape(-1), edges.size + 1
        flat = np.empty(values.size, np.int64)
        for start in range(0, values.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            flat[block] = settled(ids[block], self.n) * width + _bins(values[block], edges)
        counts = bincount(flat, length=self.n * width, mode="drop").reshape(self.n, width)
        is_present, at = np.append(counts.any(axis=-1), False), np.atleast_1d(self.at)
        result = np.empty(at.shape, object)
        for position in np.argwhere(is_present[at]).tolist():
            result[tuple(position)] = counts[at[tuple(position)], 1:-1].copy()
        return result


def read(name: str, data: Any, labels: Any, index: Any, ordered: bool = False) -> One | Many:
    """The groups of a call. ordered: whether the elements have to have an order."""
    values = _array(name, "input", data)
    if values.dtype.kind not in ("biuf" if ordered else "biufc") or values.dtype.name not in DTYPES:
        raise messages.input_dtype(name, values.dtype, ordered)
    if labels is None:
        return One(name, values, None, None)
    labels = _array(name, "labels", labels)
    try:
        values, labels = np.broadcast_arrays(values, labels)
    except ValueError:
        raise messages.shapes(name, labels.shape, values.shape) from None
    numbers = labels if index is None else _array(name, "index", index)
    for argument, array in (("labels", labels), ("index", numbers)):
        if array.dtype.kind not in "biuf":
            raise messages.label_dtype(name, argument, array.dtype)
    if index is None or np.isscalar(index):
        return One(name, values, labels > 0 if index is None else labels == index, index)
    ids, n, at = _numbered(labels, numbers)
    return Many(name, np.atleast_1d(values), np.atleast_1d(ids), n, at)


def _array(name: str, argument: str, value: Any) -> Array:
    if isinstance(value, np.ma.MaskedArray):
        raise messages.masked(name, argument, value)
    return np.asarray(value)


def _bins(values: Array, edges: Array) -> Array:
    """The bin of each number, from 1 on, within edges of one distance; 0 or the number of edges for those beyond them.

    The last bin has both its edges.
    """
    bins = edges.size - 1
    with np.errstate(all="ignore"):
        scale = bins / (edges[-1] - edges[0])
        places = (values - edges[0]) * scale
    if not 0 < scale < np.inf:  # a range without a width
        return np.where(values == edges[-1], bins, np.searchsorted(edges, values, side="right"))
    found: Array = np.fmin(np.fmax(places, 0), bins - 1).astype(np.intp)  # rounded: at most one bin away; 0 for NaN
    found += values >= edges[found]
    ends = np.append(edges[:-1], np.nextafter(edges[-1], np.inf))
    found += values >= ends[found]
    return found


def _wide(values: Array) -> np.dtype[Any]:
    """In what sums are made: float64, or complex128."""
    return np.dtype(np.complex128 if values.dtype.kind == "c" else np.float64)


def _numbered(labels: Array, index: Array) -> tuple[Array, int, Array]:
    """The segment of each element, the number of segments, and the segment of each label of index, -1 for none."""
    at = np.full(index.shape, -1)
    wanted, is_label = index, np.ones(index.shape, bool)
    if labels.dtype.kind in "biu":
        labels = labels.view(np.uint8) if labels.dtype == bool else labels
        labels = labels.astype(labels.dtype.newbyteorder("="), copy=False)
        with np.errstate(invalid="ignore"):
            wanted = index.astype(labels.dtype)
        is_label = wanted == index
    if not labels.size or not is_label.any():
        return np.broadcast_to(np.int8(-1), labels.shape), 0, at
    if labels.dtype.kind in "iu":
        distinct, place = np.unique(wanted[is_label], return_inverse=True)
        least, greatest, few = int(distinct[0]), int(distinct[-1]), 4 * distinct.size + _FEW
        first = 0 if least >= 0 and greatest < few else least
        n = greatest - first + 1
        if n <= max(few, labels.size):
            wide = np.dtype(labels.dtype if labels.itemsize == 8 else np.int64).type
            if first:  # 64 bits wrap around, but no label from outside comes into the range
                labels = labels.astype(wide, copy=False) - wide(first)
            distinct = distinct.astype(wide) - wide(first)
            at[is_label] = distinct[place]
            if n > few:
                table = np.full(n, -1)
                table[distinct] = np.arange(distinct.size)
                labels = gather(table, labels, mode="fill", fill_value=-1, wrap_negative_indices=False)
                at[is_label], n = place, distinct.size
            return labels, n, at
    present, ids = np.unique(labels, return_inverse=True)
    place = np.minimum(np.searchsorted(present, wanted), present.size - 1)
    at = np.where(is_label & (present[place] == wanted), place, -1)
    return ids.reshape(labels.shape), present.size, at
