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


def combine(
    xp: Any, table: Any, rows: Any, updates: Any, step: Callable[[Any, Any], Any], *, include_self: bool
) -> Any:
    """The table with updates combined into it, in order: the first update of every row, then the second ones, etc."""
    order, named, starts, counts = _grouped(xp, rows)
    # Rows sorted by their number of updates, descending, so that the rows with an n-th update are at the front.
    busiest = xp.argsort(counts, descending=True, stable=True)
    starts, counts = xp.take(starts, busiest, axis=0), xp.take(counts, busiest, axis=0)
    row_ids = xp.take(named, busiest, axis=0)
    result = xp.take(table, xp.where(row_ids < table.shape[0], row_ids, 0), axis=0)
    finished: list[Any] = []
    for n in range(int(xp.max(counts))):
        active = int(xp.sum(xp.astype(counts > n, xp.int64)))
        if active < result.shape[0]:
            finished.insert(0, result[active:, ...])
            result = result[:active, ...]
        update = xp.take(updates, xp.take(order, starts[:active] + n, axis=0), axis=0)
        result = update if n == 0 and not include_self else step(result, update)
    combined = xp.concat([result, *finished], axis=0)
    return _put(xp, table, named, xp.take(combined, xp.argsort(busiest), axis=0))


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


def _put(xp: Any, table: Any, named: Any, values: Any) -> Any:
    """The table with its rows `named` replaced by values. `named` is sorted; n_rows is ignored."""
    every = xp.arange(table.shape[0], dtype=named.dtype, device=getattr(table, "device", None))
    found = xp.clip(xp.astype(xp.searchsorted(named, every), named.dtype), 0, named.shape[0] - 1)
    hit = xp.take(named, found, axis=0) == every
    hit = xp.reshape(hit, (*hit.shape, *(1,) * (table.ndim - 1)))
    return xp.where(hit, xp.take(values, found, axis=0), table)
