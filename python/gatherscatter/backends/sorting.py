"""Scatters for libraries that have none: updates are sorted by row id.

Tables and row ids are as in ``table.py``: an update with row id n_rows is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def assign(xp: Any, table: Any, rows: Any, updates: Any) -> Any:
    """The table with its rows replaced: the last update of a row wins."""
    order, named, starts, counts = _grouped(xp, rows)
    last = xp.take(order, starts + counts - 1, axis=0)
    return _put(xp, table, named, xp.take(updates, last, axis=0))


def counts(xp: Any, n_rows: int, rows: Any) -> Any:
    """How many updates each row of a table has."""
    every = xp.arange(n_rows + 1, dtype=rows.dtype, device=getattr(rows, "device", None))
    ends = xp.astype(xp.searchsorted(xp.sort(rows), every), rows.dtype)
    return ends[1:] - ends[:-1]


def combine(
    xp: Any,
    table: Any,
    rows: Any,
    updates: Any,
    step: Callable[[Any, Any], Any],
    *,
    include_self: bool,
    associative: bool = False,
) -> Any:
    """The table with updates combined into it, with the result of the loop over the updates.

    associative: whether regrouping the updates leaves every bit of the result as it is. The number of passes over the
    updates is then the logarithm of the most updates that a row has; else it is that number.
    """
    order, named, starts, counts = _grouped(xp, rows)
    elements = xp.take(table, xp.where(named < table.shape[0], named, 0), axis=0) if include_self else None
    method = _by_halves if associative else _one_by_one
    return _put(xp, table, named, method(xp, elements, updates, order, starts, counts, step))


def _by_halves(
    xp: Any, elements: Any | None, updates: Any, order: Any, starts: Any, counts: Any, step: Callable[[Any, Any], Any]
) -> Any:
    """Each group combined into its element: neighbours in pairs, then pairs of these, and so on."""
    group, place = _places(xp, starts, order.shape[0])
    values = xp.take(updates, order, axis=0)
    for _ in range(int(xp.max(counts) - 1).bit_length()):
        left = xp.astype(xp.nonzero(place % 2 == 0)[0], order.dtype)
        right = xp.where(left + 1 < values.shape[0], left + 1, left)
        is_pair = (left != right) & (xp.take(group, left, axis=0) == xp.take(group, right, axis=0))
        group, place = xp.take(group, left, axis=0), xp.take(place, left, axis=0) // 2
        first = xp.take(values, left, axis=0)
        both = step(first, xp.take(values, right, axis=0))
        values = xp.where(_column(xp, is_pair, values), both, first)
    return values if elements is None else step(elements, values)


def _one_by_one(
    xp: Any, elements: Any | None, updates: Any, order: Any, starts: Any, counts: Any, step: Callable[[Any, Any], Any]
) -> Any:
    """Each group combined into its element, in order: the first updates of all groups, then the second ones, etc."""
    # Groups by their number of updates, descending, so that those with an n-th update are at the front.
    busiest = xp.argsort(counts, descending=True, stable=True)
    unsort = xp.argsort(busiest, stable=True)
    group, place = _places(xp, starts, order.shape[0])
    rank = xp.take(unsort, group, axis=0)
    by_rank = xp.argsort(rank, stable=True)
    turns = xp.take(by_rank, xp.argsort(xp.take(place, by_rank, axis=0), stable=True), axis=0)
    updates = xp.take(updates, xp.take(order, turns, axis=0), axis=0)  # all first updates, then all second ones, etc.
    most = xp.arange(int(xp.max(counts)), dtype=counts.dtype, device=getattr(counts, "device", None))
    n_left = xp.searchsorted(xp.sort(counts, stable=True), most, side="right")  # groups without an n-th update
    result = None if elements is None else xp.take(elements, busiest, axis=0)
    finished: list[Any] = []
    start = 0
    for n in range(most.shape[0]):
        active = counts.shape[0] - int(n_left[n])
        update = updates[start : start + active, ...]
        start += active
        if result is None:
            result = update
            continue
        if active < result.shape[0]:
            finished.insert(0, result[active:, ...])
            result = result[:active, ...]
        result = step(result, update)
    return xp.take(xp.concat([result, *finished], axis=0), unsort, axis=0)


def _grouped(xp: Any, rows: Any) -> tuple[Any, Any, Any, Any]:
    """Updates grouped by row: their order, the distinct row ids, and the start and length of each group."""
    device = getattr(rows, "device", None)
    order = xp.argsort(rows, stable=True)
    ordered = xp.take(rows, order, axis=0)
    n = rows.shape[0]
    new = xp.concat([xp.ones((1,), dtype=xp.bool, device=device), ordered[1:] != ordered[:-1]])
    starts = xp.astype(xp.nonzero(new)[0], rows.dtype)
    ends = xp.concat([starts[1:], xp.full((1,), n, dtype=rows.dtype, device=device)])
    return order, xp.take(ordered, starts, axis=0), starts, ends - starts


def _places(xp: Any, starts: Any, n: int) -> tuple[Any, Any]:
    """Of n grouped updates: the number of the group, and the place in it."""
    every = xp.arange(n, dtype=starts.dtype, device=getattr(starts, "device", None))
    group = xp.astype(xp.searchsorted(starts, every, side="right"), starts.dtype) - 1
    return group, every - xp.take(starts, group, axis=0)


def _column(xp: Any, mask: Any, like: Any) -> Any:
    """A mask of rows, with axes of size 1 appended for the row."""
    return xp.reshape(mask, (*mask.shape, *(1,) * (like.ndim - 1)))


def _put(xp: Any, table: Any, named: Any, values: Any) -> Any:
    """The table with its rows `named` replaced by values. `named` is sorted; n_rows is ignored."""
    every = xp.arange(table.shape[0], dtype=named.dtype, device=getattr(table, "device", None))
    found = xp.clip(xp.astype(xp.searchsorted(named, every), named.dtype), 0, named.shape[0] - 1)
    hit = _column(xp, xp.take(named, found, axis=0) == every, table)
    return xp.where(hit, xp.take(values, found, axis=0), table)
