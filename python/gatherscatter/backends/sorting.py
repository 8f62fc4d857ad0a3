"""Scatters for libraries that have none: updates are sorted by row id.

Tables and row ids are as in ``table.py``: an update with row id n_rows is dropped. No function is called whose result
has a shape that depends on data, such as ``nonzero``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def assign(xp: Any, table: Any, rows: Any, updates: Any) -> Any:
    """The table with its rows replaced: the last update of a row wins."""
    order = xp.argsort(rows, stable=True)
    starts = _starts(xp, table.shape[0], xp.take(rows, order, axis=0))
    is_named = starts[1:] > starts[:-1]
    last = xp.take(order, xp.where(is_named, starts[1:] - 1, 0), axis=0)
    return xp.where(_column(xp, is_named, table), xp.take(updates, last, axis=0), table)


def counts(xp: Any, n_rows: int, rows: Any) -> Any:
    """How many updates each row of a table has."""
    starts = _starts(xp, n_rows, xp.sort(rows))
    return starts[1:] - starts[:-1]


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
    order = xp.argsort(rows, stable=True)
    ordered = xp.take(rows, order, axis=0)
    starts = _starts(xp, table.shape[0], ordered)
    if not associative:
        return _one_by_one(xp, table, updates, order, starts, step, include_self)
    counts = starts[1:] - starts[:-1]
    is_named = counts > 0
    place = _every(xp, order.shape[0], order) - xp.take(starts, ordered, axis=0)
    values = _by_halves(xp, xp.take(updates, order, axis=0), ordered, place, int(xp.max(counts)), step)
    number = xp.where(is_named, xp.cumulative_sum(xp.astype(is_named, order.dtype)) - 1, 0)
    values = xp.take(values, number, axis=0)
    return xp.where(_column(xp, is_named, table), step(table, values) if include_self else values, table)


def _by_halves(xp: Any, values: Any, rows: Any, place: Any, most: int, step: Callable[[Any, Any], Any]) -> Any:
    """The values of each row combined: neighbours in pairs, then pairs of these, and so on.

    rows: the sorted row ids. place: of each value among those of its row. most: how many values a row has; those that
    are dropped may be more.
    """
    while most > 1:
        n_left = xp.cumulative_sum(xp.astype(place % 2 == 0, rows.dtype))
        left = xp.searchsorted(n_left, _every(xp, int(n_left[-1]), rows), side="right")
        right = xp.where(left + 1 < values.shape[0], left + 1, left)
        is_pair = (left != right) & (xp.take(rows, left, axis=0) == xp.take(rows, right, axis=0))
        rows, place, most = xp.take(rows, left, axis=0), xp.take(place, left, axis=0) // 2, (most + 1) // 2
        first = xp.take(values, left, axis=0)
        both = step(first, xp.take(values, right, axis=0))
        values = xp.where(_column(xp, is_pair, values), both, first)
    return values


def _one_by_one(
    xp: Any, table: Any, updates: Any, order: Any, starts: Any, step: Callable[[Any, Any], Any], include_self: bool
) -> Any:
    """The table with each row combined with its updates in order: all first updates, then all second ones, etc."""
    # Rows by their number of updates, descending, so that those with an n-th update are at the front.
    busiest = xp.argsort(starts[1:] - starts[:-1], descending=True, stable=True)
    counts = xp.take(starts[1:] - starts[:-1], busiest, axis=0)
    ends = xp.cumulative_sum(counts)
    every = _every(xp, int(ends[-1]), counts)
    rank = xp.searchsorted(ends, every, side="right")
    place = every - xp.take(ends - counts, rank, axis=0)
    numbers = xp.take(xp.take(starts, busiest, axis=0), rank, axis=0) + place
    turns = xp.take(order, xp.take(numbers, xp.argsort(place, stable=True), axis=0), axis=0)
    updates = xp.take(updates, turns, axis=0)
    most = int(counts[0])
    n_left = xp.searchsorted(xp.flip(counts), _every(xp, most, counts), side="right")  # rows without an n-th update
    result = xp.take(table, busiest, axis=0)
    finished: list[Any] = []
    start = 0
    for n in range(most):
        active = counts.shape[0] - int(n_left[n])
        if active < result.shape[0]:
            finished.insert(0, result[active:, ...])
            result = result[:active, ...]
        update = updates[start : start + active, ...]
        start += active
        result = step(result, update) if n or include_self else update
    return xp.take(xp.concat([result, *finished], axis=0), xp.argsort(busiest, stable=True), axis=0)


def _starts(xp: Any, n_rows: int, ordered: Any) -> Any:
    """Where each row id starts among sorted ones, n_rows included."""
    return xp.astype(xp.searchsorted(ordered, _every(xp, n_rows + 1, ordered)), ordered.dtype)


def _every(xp: Any, n: int, like: Any) -> Any:
    """The numbers less than n."""
    return xp.arange(n, dtype=like.dtype, device=getattr(like, "device", None))


def _column(xp: Any, mask: Any, like: Any) -> Any:
    """A mask of rows, with axes of size 1 appended for the row."""
    return xp.reshape(mask, (*mask.shape, *(1,) * (like.ndim - 1)))
