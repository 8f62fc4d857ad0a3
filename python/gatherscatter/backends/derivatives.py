"""Derivatives of scatters: one set of formulas for all libraries that differentiate.

A formula is made of gathers and scatters by the same indices, of products, sums and selections. A library can
differentiate these again, so derivatives of any order follow.
"""

from __future__ import annotations

import math
from typing import Any

Shape = tuple[int, ...]


class Indexing:
    """The gathers and scatters of one library by the indices of one call. A backend derives from it.

    Attributes
    ----------
    xp : namespace
        The library's array-API namespace.
    integer : dtype
        For counts of updates.
    leading : tuple of int
        Shape of data without the axes of a row.
    tuples : tuple of int
        Shape of the positions, each of which has one tuple of indices.
    """

    xp: Any
    integer: Any
    leading: Shape
    tuples: Shape

    def gather(self, data: Any) -> Any:
        """The row of data at each position's destination; zeros where the update is dropped."""
        raise NotImplementedError

    def scatter(self, data: Any, updates: Any, reduction: str, include_self: bool = True) -> Any:
        """The scatter of updates into data."""
        raise NotImplementedError

    def assigned(self, grad: Any, wants: Any) -> tuple[Any, Any]:
        """The gradients of data and updates of an assignment, as `scatter_vjp`: a row's goes to its last writer."""
        xp, row = self.xp, grad.ndim - len(self.leading)
        order = self.numbers(self.tuples)
        last = self.of_rows().scatter(self.integers(self.leading, 0), order, "none")
        won = self.of_rows().gather(last) == order
        return (
            xp.where(_column(xp, last > 0, row), 0, grad) if wants[0] else None,
            xp.where(_column(xp, won, row), self.gather(grad), 0) if wants[1] else None,
        )

    def of_rows(self) -> Indexing:
        """The same indices, into data whose rows are single elements."""
        raise NotImplementedError

    def of_table(self, rows: Any) -> Indexing:
        """Indexing of the first axis by row ids. Negative ids are dropped."""
        raise NotImplementedError

    def integers(self, shape: Shape, value: int) -> Any:
        """An array that holds one integer, on the device of the indices."""
        raise NotImplementedError

    def numbers(self, shape: Shape) -> Any:
        """Row-major numbers of an array's elements, from 1 on."""
        raise NotImplementedError


# The two derivatives of a scatter


def scatter_vjp(
    at: Indexing, reduction: str, include_self: bool, data: Any, updates: Any, result: Any, grad: Any, wants: Any
) -> tuple[Any, Any]:
    """The gradients of data and updates, from that of the result. wants: which of the two; the other may be None.

    Only "mul", "max" and "min" use data, updates and the result. For complex numbers, a gradient is conjugated as in
    PyTorch.
    """
    xp = at.xp
    to_data, to_updates = wants
    row = grad.ndim - len(at.leading)
    if reduction == "none":
        return at.assigned(grad, wants)
    if reduction in ("add", "mean"):
        if reduction == "mean" or (to_data and not include_self):
            counts = _counts(at)
        if reduction == "mean":
            divisor = xp.where(counts > 0, counts + int(include_self), 1)
            grad = _divided(xp, grad, _column(xp, divisor, row))
        of_data = grad if include_self or not to_data else xp.where(_column(xp, counts > 0, row), 0, grad)
        return of_data, at.gather(grad) if to_updates else None
    if reduction == "mul":
        others_of_data, others_of_updates = products_of_others(at, data, updates, include_self)
        if xp.isdtype(grad.dtype, "complex floating"):
            others_of_data, others_of_updates = xp.conj(others_of_data), xp.conj(others_of_updates)
        return (
            grad * others_of_data if to_data else None,
            at.gather(grad) * others_of_updates if to_updates else None,
        )
    in_data, in_updates, count = _ties(at, include_self, data, updates, result)
    share = _divided(xp, grad, count)
    return (
        xp.where(in_data, share, 0) if to_data else None,
        xp.where(in_updates, at.gather(share), 0) if to_updates else None,
    )


def scatter_jvp(
    at: Indexing, reduction: str, include_self: bool, data: Any, updates: Any, result: Any, tangents: Any
) -> Any:
    """The tangent of the result, from those of data and updates."""
    xp = at.xp
    of_data, of_updates = tangents
    if reduction in ("none", "add", "mean"):  # linear
        return at.scatter(of_data, of_updates, reduction, include_self)
    if reduction == "mul":
        others_of_data, others_of_updates = products_of_others(at, data, updates, include_self)
        return at.scatter(of_data * others_of_data, of_updates * others_of_updates, "add")
    in_data, in_updates, count = _ties(at, include_self, data, updates, result)
    total = at.scatter(xp.where(in_data, of_data, 0), xp.where(in_updates, of_updates, 0), "add")
    return _divided(xp, total, count)


def _counts(at: Indexing) -> Any:
    """How many updates each row of data gets."""
    return at.of_rows().scatter(at.integers(at.leading, 0), at.integers(at.tuples, 1), "add")


def _ties(at: Indexing, include_self: bool, data: Any, updates: Any, result: Any) -> tuple[Any, Any, Any]:
    """For "max" and "min": masks of the elements of data and updates that equal the result, and how many do.

    The derivative is divided equally among them.
    """
    xp = at.xp
    in_data = _same(data, result)
    if not include_self:
        in_data = in_data & _column(xp, _counts(at) == 0, data.ndim - len(at.leading))
    in_updates = _same(updates, at.gather(result))
    count = at.scatter(xp.astype(in_data, at.integer), xp.astype(in_updates, at.integer), "add")
    return in_data, in_updates, count


def _same(terms: Any, result: Any) -> Any:
    """Which terms equal the result. Where a term is NaN, the result is."""
    return (terms == result) | (terms != terms)


def _divided(xp: Any, numbers: Any, counts: Any) -> Any:
    """Quotients of the numbers' dtype. Counts are not rounded to float16, which holds no more than 65504."""
    real = xp.float64 if xp.finfo(numbers.dtype).bits == 64 else xp.float32
    return xp.astype(numbers / xp.astype(counts, real), numbers.dtype, copy=False)


def _column(xp: Any, array: Any, n_axes: int) -> Any:
    """The array with axes of size 1 appended for the axes of a row."""
    return xp.reshape(array, (*array.shape, *(1,) * n_axes))


# Products


def products_of_others(at: Indexing, data: Any, updates: Any, include_self: bool) -> tuple[Any, Any]:
    """The derivatives of "mul": for each factor, in data and in updates, the product of the others.

    There is no division by the factor, so the result and its derivatives are right where factors are 0.
    """
    xp = at.xp
    n_rows, n = math.prod(at.leading), math.prod(at.tuples)
    table = xp.reshape(data, (n_rows, *data.shape[len(at.leading) :]))
    if n == 0 or n_rows == 0:
        return xp.ones_like(data), xp.ones_like(updates)
    rows = xp.reshape(at.of_rows().gather(at.numbers(at.leading)), (-1,)) - 1  # -1: dropped
    order = xp.argsort(rows, stable=True)
    sorting, unsorting = at.of_table(order), at.of_table(xp.argsort(order, stable=True))
    rows = xp.take(rows, order, axis=0)
    in_order = at.of_table(rows)
    factors = sorting.gather(xp.reshape(updates, (n, *table.shape[1:])))
    # Dropped updates are one segment, whose product may be infinite: its derivative is 0, not 0 times infinity.
    factors = xp.where(_column(xp, rows >= 0, factors.ndim - 1), factors, 1)
    # Products of the factors of each row, from its first one on and from its last one on. The factors of a row are a
    # segment: it starts where the row id differs from the one before, and ends where the next one differs.
    change = _column(xp, rows[1:] != rows[:-1], factors.ndim - 1)
    edge = xp.ones_like(change[:1, ...]) if n > 1 else _column(xp, rows == rows, factors.ndim - 1)
    starts, ends = xp.concat([edge, change], axis=0), xp.concat([change, edge], axis=0)
    forwards = _running_products(xp, factors, starts)
    backwards = xp.flip(_running_products(xp, xp.flip(factors, axis=0), xp.flip(ends, axis=0)), axis=0)
    one = xp.ones_like(factors[:1, ...])
    others = xp.where(starts, 1, xp.concat([one, forwards[:-1, ...]], axis=0))
    others = others * xp.where(ends, 1, xp.concat([backwards[1:, ...], one], axis=0))
    if include_self:
        others = others * in_order.gather(table)
        # The last of a row's products is that of all its updates.
        of_data = in_order.scatter(xp.ones_like(table), forwards, "none")
    else:
        of_data = in_order.scatter(xp.ones_like(table), xp.zeros_like(factors), "none")
    return xp.reshape(of_data, data.shape), xp.reshape(unsorting.gather(others), updates.shape)


def _running_products(xp: Any, factors: Any, starts: Any) -> Any:
    """Products of each factor and those before it in its segment: a segmented scan along the first axis.

    starts: where a segment starts. Of the factors a, b, c, d of one segment: a, ab, abc, abcd. The products of pairs,
    ab and cd, are scanned first, which gives ab and abcd; then a, and ab times c, fall between them.
    """
    n = factors.shape[0]
    if n < 2:
        return factors
    evens, odds = factors[0::2, ...], factors[1::2, ...]
    even_starts, odd_starts = starts[0::2, ...], starts[1::2, ...]
    m = odds.shape[0]
    # A factor is replaced by 1 before it is multiplied, not after: its derivative may be infinite.
    pairs = xp.where(odd_starts, 1, evens[:m, ...]) * odds
    at_odds = _running_products(xp, pairs, even_starts[:m, ...] | odd_starts)
    rest = evens[1:, ...] * xp.where(even_starts[1:, ...], 1, at_odds[: n - m - 1, ...])
    at_evens = xp.concat([evens[:1, ...], rest], axis=0)
    both = xp.reshape(xp.stack([at_evens[:m, ...], at_odds], axis=1), (2 * m, *factors.shape[1:]))
    return xp.concat([both, at_evens[m:, ...]], axis=0)
