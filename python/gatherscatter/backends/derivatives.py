"""Derivatives of "mul", "max" and "min", for libraries that lack them."""

from __future__ import annotations

from typing import Any

from gatherscatter.backends.table import TableBackend
from gatherscatter.reductions import REDUCTIONS


def factors(backend: TableBackend, table: Any, rows: Any, updates: Any) -> tuple[Any, Any]:
    """The partial derivatives of "mul": for each factor, in the table and in updates, the product of the others."""
    xp = backend.namespace(table)
    one = xp.ones((), dtype=table.dtype, device=backend.device(table))
    no_table, no_updates = table == 0, updates == 0
    # Division by a factor fails for zeros, so products leave them out, and the zeros of each product are counted.
    nonzero = xp.where(no_table, one, table), rows, xp.where(no_updates, one, updates)
    product = backend.combine(*nonzero, REDUCTIONS["mul"], True)
    count = xp.astype(no_table, rows.dtype), rows, xp.astype(no_updates, rows.dtype)
    zeros = backend.combine(*count, REDUCTIONS["add"], True)

    def others(factor: Any, is_zero: Any, product: Any, zeros: Any) -> Any:
        rest = product / xp.where(is_zero, one, factor)
        return xp.where(zeros > xp.astype(is_zero, rows.dtype), xp.zeros_like(rest), rest)

    taken = xp.where(rows < table.shape[0], rows, 0)  # n_rows stands for a dropped update, whose value is not used
    of_updates = others(updates, no_updates, backend.take(product, taken), backend.take(zeros, taken))
    return others(table, no_table, product, zeros), of_updates


def winners(backend: TableBackend, table: Any, rows: Any, updates: Any, result: Any) -> tuple[Any, Any, Any]:
    """For "max" and "min": masks of the elements of the table and of updates that equal the result, and their count.

    A derivative is divided equally among the elements that equal the result.
    """
    xp = backend.namespace(table)
    is_row = rows < table.shape[0]
    found = backend.take(result, xp.where(is_row, rows, 0))
    in_table = (table == result) | (xp.isnan(table) & xp.isnan(result))
    in_updates = (updates == found) | (xp.isnan(updates) & xp.isnan(found))
    in_updates = in_updates & xp.reshape(is_row, (*is_row.shape, *(1,) * (table.ndim - 1)))
    count = xp.astype(in_table, rows.dtype), rows, xp.astype(in_updates, rows.dtype)
    return in_table, in_updates, backend.combine(*count, REDUCTIONS["add"], True)
