"""What the derivatives of products and of extremes are made of, for libraries that have none of their own."""

from __future__ import annotations

from typing import Any

from gatherscatter.backends.table import TableBackend
from gatherscatter.reductions import REDUCTIONS


def factors(backend: TableBackend, table: Any, rows: Any, updates: Any) -> tuple[Any, Any]:
    """For each factor of the products, in the table and in updates, the product of the others."""
    xp = backend.namespace(table)
    one = xp.ones((), dtype=table.dtype, device=backend.device(table))
    no_table, no_updates = table == 0, updates == 0
    # The products without their zeros, and how many zeros each has.
    nonzero = xp.where(no_table, one, table), rows, xp.where(no_updates, one, updates)
    product = backend.combine(*nonzero, REDUCTIONS["mul"], True)
    count = xp.astype(no_table, rows.dtype), rows, xp.astype(no_updates, rows.dtype)
    zeros = backend.combine(*count, REDUCTIONS["add"], True)

    def others(factor: Any, is_zero: Any, product: Any, zeros: Any) -> Any:
        rest = product / xp.where(is_zero, one, factor)
        return xp.where(zeros > xp.astype(is_zero, rows.dtype), xp.zeros_like(rest), rest)

    there = xp.where(rows < table.shape[0], rows, 0)  # of n_rows, what is found does not count
    of_updates = others(updates, no_updates, backend.take(product, there), backend.take(zeros, there))
    return others(table, no_table, product, zeros), of_updates


def winners(backend: TableBackend, table: Any, rows: Any, updates: Any, result: Any) -> tuple[Any, Any, Any]:
    """Which elements of the table, and of updates, equal a maximum or minimum; and how many do, for each of those."""
    xp = backend.namespace(table)
    is_row = rows < table.shape[0]
    found = backend.take(result, xp.where(is_row, rows, 0))
    in_table = (table == result) | (xp.isnan(table) & xp.isnan(result))
    in_updates = (updates == found) | (xp.isnan(updates) & xp.isnan(found))
    in_updates = in_updates & xp.reshape(is_row, (*is_row.shape, *(1,) * (table.ndim - 1)))
    count = xp.astype(in_table, rows.dtype), rows, xp.astype(in_updates, rows.dtype)
    return in_table, in_updates, backend.combine(*count, REDUCTIONS["add"], True)
