"""Steps 2 and 3 on any namespace of the array API: indices become numbers of rows, and rows of a table move.

The table is data with its leading axes in one: (n_rows, *row). A row number is counted in C order over the leading
axes; n_rows itself names no row, and what goes there is dropped. A backend brings `Moves`, the primitives that its
library has.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from gatherscatter import errors
from gatherscatter.shapes import AXIS, ND, Plan


class Moves(NamedTuple):
    """What a library does with rows of a table. Row numbers are 1-d; nothing is written in place."""

    backend: str  # its name, for messages
    xp: Any  # the namespace
    number: Any  # dtype of row numbers
    take: Callable[[Any, Any], Any]  # (table, rows): each row is one of the table's
    assign: Callable[[Any, Any, Any], Any]  # (table, rows, updates): the last update of a row wins
    # (table, rows, updates, reduction, include_self): in order
    combine: Callable[[Any, Any, Any, str, bool], Any]
    divide: Callable[[Any, Any], Any]  # real floating numbers, each quotient rounded once
    floor_divide: Callable[[Any, Any], Any]  # integers of any width by positive row numbers
    make_complex: Callable[[Any, Any], Any] | None = None  # of a real and an imaginary part


def resolve(xp: Any, indices: Any, plan: Plan, number: Any, where: Any) -> tuple[Any, Any | None]:
    """Number of the row that each place names, and which places name none, where the mode has to know.

    With mode "drop" what names none has the number n_rows, and there is nothing more to know.
    """
    n_places = len(plan.tuples)
    rows = outside = None
    for axis, size in enumerate(plan.leading):
        component = axis - plan.axis
        if not 0 <= component < plan.depth:  # the place itself names this axis
            n = plan.tuples[axis]
            along = xp.arange(n, dtype=number, device=where)
            along = xp.reshape(along, (n,) + (1,) * (n_places - axis - 1))
            rows = along if rows is None else rows * size + along
            continue
        raw = indices[..., component] if plan.kind == ND else indices
        index, bad = place(xp, raw, size, plan.mode, number)
        if plan.kind == AXIS:  # the same indices for all positions of the axes between
            shape = plan.data[: plan.batch_dims] + (1,) * (plan.axis - plan.batch_dims)
            shape += plan.tuples[plan.axis :]
            index = xp.reshape(index, shape)
            bad = None if bad is None else xp.reshape(bad, shape)
        if bad is not None:
            outside = bad if outside is None else outside | bad
        rows = index if rows is None else rows * size + index
    rows = xp.zeros((), dtype=number, device=where) if rows is None else rows  # empty tuples
    rows = xp.broadcast_to(rows, plan.tuples)
    if outside is not None and plan.mode == "drop":
        return xp.where(outside, xp.full_like(rows, math.prod(plan.leading)), rows), None
    if outside is not None and plan.mode == "fill":
        outside = xp.broadcast_to(outside, plan.tuples)
    return rows, outside


def place(xp: Any, index: Any, size: int, mode: str, number: Any) -> tuple[Any, Any | None]:
    """Indices into an axis with the mode applied, as row numbers are; which were outside, where the mode asks."""
    last = xp.iinfo(number).max
    if xp.iinfo(index.dtype).max > last:  # beyond that there is no index; the last number stands for all of them
        if mode == "wrap" and size:
            index = index % xp.asarray(size, dtype=index.dtype, device=device(index))
        else:
            end = xp.asarray(last, dtype=index.dtype, device=device(index))
            index = xp.where(index > end, end, index)
    index = xp.astype(index, number)
    index = xp.where(index < 0, index + size, index)
    if mode == "clip" and size:
        return xp.clip(index, 0, size - 1), None
    if mode == "wrap" and size:
        return index % size, None
    if mode == "promise_in_bounds" and size:
        return index, None
    return index, (index < 0) | (index >= size)


def explain(xp: Any, indices: Any, plan: Plan, outside: Any) -> IndexError:
    """Say which index was outside. `outside` has the places' axes, those of size 1 perhaps that indices lack."""
    number = int(xp.argmax(xp.astype(xp.reshape(outside, (-1,)), xp.uint8)))
    where: list[int] = []
    for n in reversed(outside.shape):
        number, i = divmod(number, n)
        where.insert(0, i)
    position = plan.position(tuple(where))
    if plan.kind != ND:
        return errors.out_of_bounds(plan.operator, position, _value(indices[position]), plan.data, plan.axis)
    found = tuple(_value(indices[(*position, component)]) for component in range(plan.depth))
    for axis, index in enumerate(found, start=plan.axis):
        if not -plan.data[axis] <= index < plan.data[axis]:
            break
    return errors.out_of_bounds(plan.operator, position, found, plan.data, axis)


def _value(index: Any) -> int:
    # PyTorch's __int__ overflows for uint64, its item() does not; the standard has no item().
    return int(index.item() if hasattr(index, "item") else index)


def read(moves: Moves, data: Any, rows: Any, outside: Any | None, fill: Any | None, plan: Plan) -> Any:
    """Step 3 of a gather. `fill`, where the mode has one, is an array of data's dtype and rank 0."""
    xp = moves.xp
    if outside is None:
        fill = None
    table = xp.reshape(data, (math.prod(plan.leading), *plan.row))
    if table.shape[0] == 0:  # nothing can be taken: either nothing is asked for, or all of it is fill
        result = xp.broadcast_to(xp.zeros((), dtype=data.dtype, device=device(data)), plan.shape)
    else:
        if fill is not None:
            rows = xp.where(outside, xp.zeros_like(rows), rows)
        result = xp.reshape(moves.take(table, xp.reshape(rows, (-1,))), plan.shape)
    if fill is not None:
        result = xp.where(_column(xp, outside, plan.row), fill, result)
    return result


def write(moves: Moves, data: Any, rows: Any, updates: Any, plan: Plan) -> Any:
    """Step 3 of a scatter. `updates` has the plan's shape and data's dtype."""
    xp = moves.xp
    n_rows = math.prod(plan.leading)
    if n_rows == 0 or math.prod(plan.shape) == 0:
        return xp.asarray(data, copy=True)
    rows = xp.reshape(rows, (-1,))
    table = xp.reshape(data, (n_rows, *plan.row))
    updates = xp.reshape(updates, (plan.n_tuples, *plan.row))
    if plan.reduction == "none":
        result = moves.assign(table, rows, updates)
    elif plan.reduction == "mean":
        sums = moves.combine(table, rows, updates, "add", plan.include_self)
        nothing = xp.zeros((n_rows,), dtype=moves.number, device=device(rows))
        counts = moves.combine(nothing, rows, xp.ones_like(rows), "add", True)
        divisor = _column(xp, xp.where(counts > 0, counts + int(plan.include_self), 1), plan.row)
        result = xp.where(_column(xp, counts > 0, plan.row), _quotient(moves, sums, divisor, plan), sums)
    else:
        result = moves.combine(table, rows, updates, plan.reduction, plan.include_self)
    return xp.reshape(result, plan.data)


def _quotient(moves: Moves, sums: Any, counts: Any, plan: Plan) -> Any:
    """Sums over counts: integers go down to the next one, floats round once, complex ones part by part."""
    xp, dtype = moves.xp, sums.dtype
    name = str(dtype).rpartition(".")[2]  # isdtype is not told of every library's bfloat16
    if name.startswith(("int", "uint")):
        return moves.floor_divide(sums, counts)
    if name.startswith("complex"):
        if moves.make_complex is None:
            reason = "the standard makes no complex number of two parts; scatter those by themselves"
            raise errors.cannot(moves.backend, plan.operator, f"reduction='mean' of {dtype}", reason)
        real, imag = xp.real(sums), xp.imag(sums)
        counts = xp.astype(counts, real.dtype)
        return moves.make_complex(moves.divide(real, counts), moves.divide(imag, counts))
    wide = xp.float32 if name in ("float16", "bfloat16") else dtype
    return xp.astype(moves.divide(xp.astype(sums, wide), xp.astype(counts, wide)), dtype)


def floor_divide(xp: Any, sums: Any, counts: Any) -> Any:
    """`Moves.floor_divide` where the namespace divides integers of all dtypes."""
    dtype = sums.dtype
    if xp.iinfo(dtype).bits < xp.iinfo(counts.dtype).bits:
        return xp.astype(xp.astype(sums, counts.dtype) // counts, dtype)
    return sums // xp.astype(counts, dtype)


def only_last(moves: Moves, n_rows: int, rows: Any) -> Any:
    """The same rows, where an update that a later one replaces names none: no row comes twice."""
    return _only(moves, n_rows, rows, "max", -1)


def without_first(moves: Moves, n_rows: int, rows: Any) -> tuple[Any, Any]:
    """Rows of the updates that are a row's first, and of the others; n_rows where an update is not of the kind."""
    first = _only(moves, n_rows, rows, "min", rows.shape[0])
    return first, moves.xp.where(first == n_rows, rows, n_rows)


def _only(moves: Moves, n_rows: int, rows: Any, which: str, start: int) -> Any:
    xp = moves.xp
    order = xp.arange(rows.shape[0], dtype=moves.number, device=device(rows))
    chosen = xp.full((n_rows,), start, dtype=moves.number, device=device(rows))
    chosen = moves.combine(chosen, rows, order, which, True)
    somewhere = rows < n_rows
    chosen = moves.take(chosen, xp.where(somewhere, rows, 0))
    return xp.where(somewhere & (chosen == order), rows, n_rows)


# What the derivatives of products and of extremes need, for libraries that have none of their own.


def factors(moves: Moves, table: Any, rows: Any, updates: Any) -> tuple[Any, Any]:
    """For each factor of the products, in the table and in updates, the product of the others."""
    xp = moves.xp
    one = xp.ones((), dtype=table.dtype, device=device(table))
    no_table, no_updates = table == 0, updates == 0
    # The products without their zeros, and how many zeros each has.
    nonzero = xp.where(no_table, one, table), rows, xp.where(no_updates, one, updates)
    product = moves.combine(*nonzero, "mul", True)
    count = xp.astype(no_table, moves.number), rows, xp.astype(no_updates, moves.number)
    zeros = moves.combine(*count, "add", True)

    def others(factor: Any, is_zero: Any, product: Any, zeros: Any) -> Any:
        rest = product / xp.where(is_zero, one, factor)
        return xp.where(zeros > xp.astype(is_zero, moves.number), xp.zeros_like(rest), rest)

    there = xp.where(rows < table.shape[0], rows, 0)  # of a row that names none, what is found does not count
    of_updates = others(updates, no_updates, moves.take(product, there), moves.take(zeros, there))
    return others(table, no_table, product, zeros), of_updates


def winners(moves: Moves, table: Any, rows: Any, updates: Any, result: Any) -> tuple[Any, Any, Any]:
    """Which elements of the table, and of updates, equal a maximum or minimum; and how many do, for each of those."""
    xp = moves.xp
    somewhere = rows < table.shape[0]
    found = moves.take(result, xp.where(somewhere, rows, 0))
    in_table = (table == result) | (xp.isnan(table) & xp.isnan(result))
    in_updates = (updates == found) | (xp.isnan(updates) & xp.isnan(found))
    in_updates = in_updates & _column(xp, somewhere, table.shape[1:])
    count = xp.astype(in_table, moves.number), rows, xp.astype(in_updates, moves.number)
    return in_table, in_updates, moves.combine(*count, "add", True)


# Scatters for libraries that have none: updates are sorted by their row.


def replace_sorted(xp: Any, table: Any, rows: Any, updates: Any) -> Any:
    """`Moves.assign` with the standard's functions alone."""
    order, named, starts, counts = _grouped(xp, rows)
    last = xp.take(order, starts + counts - 1, axis=0)
    return _put(xp, table, named, xp.take(updates, last, axis=0))


def combine_in_rounds(
    xp: Any, table: Any, rows: Any, updates: Any, step: Callable[[Any, Any], Any], include_self: bool
) -> Any:
    """`Moves.combine` with the standard's functions alone: first updates at once, then second ones and on."""
    order, named, starts, counts = _grouped(xp, rows)
    # Rows of many updates first: those that meet an n-th update are always the front ones.
    busiest = xp.argsort(counts, descending=True, stable=True)
    starts, counts = xp.take(starts, busiest, axis=0), xp.take(counts, busiest, axis=0)
    own = xp.take(named, busiest, axis=0)
    now = xp.take(table, xp.where(own < table.shape[0], own, 0), axis=0)
    finished: list[Any] = []
    for n in range(int(xp.max(counts))):
        active = int(xp.sum(xp.astype(counts > n, xp.int64)))
        if active < now.shape[0]:
            finished.insert(0, now[active:, ...])
            now = now[:active, ...]
        update = xp.take(updates, xp.take(order, starts[:active] + n, axis=0), axis=0)
        now = update if n == 0 and not include_self else step(now, update)
    combined = xp.concat([now, *finished], axis=0)
    return _put(xp, table, named, xp.take(combined, xp.argsort(busiest), axis=0))


def _grouped(xp: Any, rows: Any) -> tuple[Any, Any, Any, Any]:
    """Sort updates by row: their order, the rows named, where each row's updates start, and how many they are."""
    order = xp.argsort(rows, stable=True)
    ordered = xp.take(rows, order, axis=0)
    n = rows.shape[0]
    new = xp.concat([xp.ones((1,), dtype=xp.bool, device=device(rows)), ordered[1:] != ordered[:-1]])
    starts = xp.astype(xp.nonzero(new)[0], rows.dtype)
    ends = xp.concat([starts[1:], xp.full((1,), n, dtype=rows.dtype, device=device(rows))])
    return order, xp.take(ordered, starts, axis=0), starts, ends - starts


def _put(xp: Any, table: Any, named: Any, values: Any) -> Any:
    """The table with new values in the rows named, which are sorted; those beyond it are left out."""
    every = xp.arange(table.shape[0], dtype=named.dtype, device=device(table))
    found = xp.clip(xp.astype(xp.searchsorted(named, every), named.dtype), 0, named.shape[0] - 1)
    hit = _column(xp, xp.take(named, found, axis=0) == every, table.shape[1:])
    return xp.where(hit, xp.take(values, found, axis=0), table)


def device(array: Any) -> Any:
    """Device of an array; a traced one may have none."""
    return getattr(array, "device", None)


def _column(xp: Any, array: Any, row: tuple[int, ...]) -> Any:
    """An array of places with axes of size 1 for the row."""
    return xp.reshape(array, (*array.shape, *(1,) * len(row)))
