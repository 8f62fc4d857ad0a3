"""Segments are scatters without data: into an array of what an empty segment has, with ``include_self=False``.

Each reduction is made of scatters and gathers, so it runs, and has gradients, on every library that these run on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gatherscatter import core
from gatherscatter import plan as plans
from gatherscatter.errors import segments as messages
from gatherscatter.operators import GATHER, GATHER_ELEMENTS
from gatherscatter.plan import unravel
from gatherscatter.reductions import REDUCTIONS, kind_of, wider_dtypes
from gatherscatter.segments import rules
from gatherscatter.segments.aggregations import AGGREGATIONS, STATES, Aggregation, State, Words, begin
from gatherscatter.segments.arguments import defaults, has_float64
from gatherscatter.segments.ids import Ids, expanded, has_segment


class Segments:
    """The segments of an array, and what several reductions need of it.

    Attributes
    ----------
    plan : Plan
        Of a result, for the backend's checks of arguments.
    valid : array of bools or None
        Which elements count; None: all of them.
    skips : bool
        Whether some elements may not count.
    defaults : tuple of str
        The library's integer, unsigned integer and float.
    correction : float
        Of variances.
    """

    def __init__(self, data: Any, ids: Ids, skipna: bool) -> None:
        self.data, self.given, self._ids = data, ids, ids.array
        self.backend, self.layout, self.mode, self.has_rest = ids.backend, ids.layout, ids.mode, ids.has_rest
        self.known_counts, self.orders = ids.counts, ids.orders
        self.all_have_one = ids.mode == "promise_in_bounds" and not ids.has_rest
        self.op = ids.layout.operator
        self.xp = self.backend.namespace(data)
        self.name = self.backend.dtype_name(data)
        self.is_numpy = self.backend.name == "NumPy"
        self.is_date = self.name[:8] == "datetime" or self.name[:9] == "timedelta"
        self.plan = plans.Plan(self.op, self.op.kind, "drop", False, 0, 1, 0, (), (), ids.layout.shape)
        self.valid = self._find_valid() if skipna else None
        self.skips = self.valid is not None
        self.defaults = defaults(self.backend, data)
        self.correction: Any = 0
        self._counts: Any = None

    @property
    def ids(self) -> Any:
        """The segment of each position."""
        if self._ids is None:  # torch.compile cannot trace a cached_property
            self._ids = expanded(self.given)
        return self._ids

    def expect(self, names: Sequence[str], dtypes: Sequence[str]) -> None:
        """Learn what a call reduces, so that one pass can do it."""

    # The two steps that everything is made of

    def scatter(self, values: Any, start: Any, reduction: str, wide: str = "", include_self: bool = False) -> Any:
        """Reduce values, of data's shape, into start, a number for empty segments."""
        layout = self.layout._replace(n=self.layout.n + self.has_rest)
        table = self.full(layout.shape, start, values)
        result = core.scatter_on(
            self.backend, self.op, table, self.ids, values, layout.axis, layout.batch_dims, reduction,
            include_self, self.mode, wide or None, None, self.orders is not None, self.orders,
        )  # fmt: skip
        return result[(slice(None),) * layout.axis + (slice(self.layout.n),)] if self.has_rest else result

    def spread(self, results: Any, fill: Any) -> Any:
        """The result of its segment for each element of data; fill for those of no segment."""
        op = (GATHER.strict or GATHER).replace(name=self.op.name, indices=self.op.indices)
        mode = self.mode if self.all_have_one else "fill"
        return core.gather_on(
            self.backend, op, results, self.ids, self.layout.axis, self.layout.batch_dims, mode, fill, None
        )

    def full(self, shape: tuple[int, ...], value: Any, like: Any) -> Any:
        """An array of like's dtype. value: a number that it holds, or an array of rank 0."""
        if not hasattr(value, "shape"):
            value = self.xp.full((), value, dtype=like.dtype, device=self.backend.device(self.data))
        return self.xp.broadcast_to(value, shape)

    # What several reductions need

    def _find_valid(self) -> Any:
        if self.is_date:
            return ~self.xp.isnat(self.data)
        return ~self.xp.isnan(self.data) if kind_of(self.name) in "fc" else None

    @property
    def has_float64(self) -> bool:
        return has_float64(self.backend, self.data)

    @property
    def counts(self) -> Any:
        """The number of elements of each segment that count. Broadcasts to a result's shape."""
        if self._counts is None:
            self._counts = self._count()
        return self._counts

    def _count(self) -> Any:
        layout, xp = self.layout, self.xp
        index = self.backend.dtype_of(self.defaults[0], self.data)
        if self.valid is not None:
            return self.scatter(self.backend.astype(self.valid, index), 0, "add", include_self=True)
        counts = self.known_counts
        if counts is None:
            ones = xp.broadcast_to(xp.ones((), dtype=index, device=self.backend.device(self.data)), self.ids.shape)
            counts = self.of_ids(ones).scatter(ones, 0, "add", include_self=True)
        lead = (*layout.data[: layout.batch_dims], *[1] * (layout.axis - layout.batch_dims))
        return xp.reshape(counts, (*lead, layout.n, *[1] * len(layout.inner)))

    def of_ids(self, values: Any) -> Segments:
        """The same segments of an array that has the shape of the ids."""
        layout = self.layout._replace(data=tuple(self.ids.shape), axis=self.layout.batch_dims)
        return Segments(values, Ids(self.backend, layout, self.ids, self.mode, self.has_rest), False)

    def positions(self) -> Any:
        """The position of each element along the axis. Broadcasts to data's shape."""
        layout, xp = self.layout, self.xp
        index = self.backend.dtype_of(self.defaults[0], self.data)
        numbers = xp.arange(math.prod(layout.numbered), dtype=index, device=self.backend.device(self.data))
        return xp.reshape(numbers, (*[1] * layout.axis, *layout.numbered, *[1] * len(layout.inner)))

    def merged(self) -> Any:
        """The array with the numbered axes as one."""
        layout = self.layout
        return self.xp.reshape(self.data, (*layout.outer, math.prod(layout.numbered), *layout.inner))

    def where_valid(self, values: Any, other: Any) -> Any:
        if self.valid is None:
            return values
        return self.xp.where(self.valid, values, self.full((), other, values))

    def wide_of(self, dtype: str) -> str:
        """In what sums of this dtype are made: one width up, where the library has that."""
        if dtype in ("float16", "bfloat16"):
            return "float32"
        return wider_dtypes(dtype)[0] if self.has_float64 and dtype in ("float32", "complex64") else dtype

    def wide(self, dtype: str) -> str:
        """In what data's elements are summed for a result of this dtype, so that the sum is rounded once."""
        kind = kind_of(self.name)
        if kind in "biu" and kind_of(dtype) == "f" and self.has_float64:
            return "float64"
        wide = self.wide_of(self.name if kind in ("c", kind_of(dtype)) else dtype)
        return wide if kind_of(wide) in "fc" and rules.bits(wide) > rules.bits(dtype) else dtype

    def cast(self, array: Any, dtype: str) -> Any:
        same = self.backend.dtype_name(array) == dtype
        return array if same else self.backend.astype(array, self.backend.dtype_of(dtype, self.data))

    # The reductions

    def reduce(self, name: str, dtype: str, fill: Any, min_count: int) -> Any:
        """One reduction. dtype: the name of the result's."""
        what, min_count = AGGREGATIONS[name], 0 if name == "count" else min_count
        start, few = self.start(name, dtype, fill, min_count), max(min_count, 1)
        if self.is_date and name in ("add", "mean"):
            result = self.of_ticks(name)
        elif self.is_scatter(what, dtype):
            result = self.scattered(STATES[what.state], dtype, start)
            if few == 1 and not self.skips:  # an empty segment has what it started with
                return result
        else:
            words = self.words(what.state, dtype)
            result = what.finalize(self, words, dtype)  # type: ignore[misc]
            if few == 1 and not self.needs_fill(name, start, words):
                return result
        return self.xp.where(self.counts < few, self.full((), start, result), result)

    def of_ticks(self, name: str) -> Any:
        """The sums of durations, or the means of dates or durations, of NumPy.

        A mean is the first element plus the mean of the differences from it, rounded toward zero. The differences may
        exceed 64 bits, so the sums of the upper and of the lower 32 bits are divided, the remainder of the former with
        the latter. That is exact for up to 2³¹ elements of a segment.
        """
        xp, is_nat = self.xp, self.xp.isnat(self.data)
        ticks = xp.where(is_nat, 0, self.data.astype("i8"))

        def total(numbers: Any) -> Any:
            return self.scatter(numbers, 0, "add", include_self=True)

        if name == "add":
            result = total(ticks)
        else:
            n = xp.where(self.counts > 0, self.counts, 1)
            upper, upper_rest = xp.divmod(total(ticks >> 32), n)
            lower, lower_rest = xp.divmod(total(ticks & 0xFFFFFFFF), n)
            carried, rest = xp.divmod((upper_rest << 32) + lower_rest, n)
            result = (upper << 32) + lower + carried  # rounded down
            result = result + ((rest > 0) & (result < self.at_places(self.places("first"))[1].astype("i8")))
        result = result.astype(self.data.dtype)
        if self.valid is None and xp.any(is_nat):
            return xp.where(total(is_nat.astype("i8")) > 0, xp.asarray("NaT", result.dtype), result)
        return result

    def is_scatter(self, what: Aggregation, dtype: str) -> bool:
        """Whether the result is one scatter."""
        return bool(STATES[what.state].reduction) and what.result in ("sum", "data")

    def scattered(self, state: State, dtype: str, start: Any) -> Any:
        """The last word of a state, by a scatter. start: that of a segment without elements."""
        if state.reduction in ("max", "min"):
            return self.scatter(self.comparable(state.reduction), start, state.reduction)
        work, wide = self.work(dtype)
        first = start if not hasattr(start, "shape") else self.cast(start, work)
        return self.cast(self.scatter(self.terms(state.reduction, work), first, state.reduction, wide), dtype)

    def words(self, state: str, dtype: str) -> Words:
        """The words of a state, of a result's shape, or broadcasting to it. dtype: of the result."""
        record = STATES[state]
        if record.formula is not None:
            return record.formula(self, dtype)
        work = self.wide(dtype) if record.reduction == "add" and record.words == ("total",) else dtype
        terms = record.terms(self, work)  # type: ignore[misc]
        first = begin(record.words[-1], self.backend.dtype_name(terms))
        return (self.scatter(terms, first, record.reduction, include_self=True),)

    def needs_fill(self, name: str, start: Any, words: Words) -> bool:
        """Whether what is made of the words of a segment without elements is not what it shall have."""
        empty = AGGREGATIONS[name].empty
        if empty is None or hasattr(start, "shape") or start != empty:
            return True
        return name == "add" and kind_of(self.backend.dtype_name(words[-1])) in "fc"  # a sum of none is -0.0

    def start(self, name: str, dtype: str, fill: Any, min_count: int) -> Any:
        """What a segment with too few elements has."""
        what = AGGREGATIONS[name]
        if fill is not None:
            return self.element(dtype, fill)
        if what.empty is not None and (min_count < 1 or what.result == "index"):
            return what.empty
        return self.nan(name, dtype, min_count)

    def element(self, dtype: str, fill: Any) -> Any:
        device = self.backend.device(self.data)
        like = self.xp.zeros((), dtype=self.backend.dtype_of(dtype, self.data), device=device)
        return self.backend.element(self.plan, "fill_value", fill, like)

    def nan(self, name: str, dtype: str, min_count: int) -> Any:
        """NaN, or NaT; an error where the dtype has none and some segment has too few elements."""
        if self.is_date:
            return self.xp.asarray("NaT", self.data.dtype)
        if kind_of(dtype) in "fc":
            return float("nan")
        few = None if self.backend.is_unknown(self.ids) else self.counts < max(min_count, 1)
        if few is None or self.backend.is_unknown(few):
            raise messages.empty_segment(self.op, name, None, dtype)
        xp = self.xp
        few = xp.reshape(xp.broadcast_to(few, self.layout.shape), (-1,))
        if 0 not in few.shape and bool(xp.any(few)):
            position = unravel(int(xp.argmax(xp.astype(few, xp.uint8))), self.layout.shape)
            raise messages.empty_segment(self.op, name, position, dtype)
        return 0

    def work(self, dtype: str) -> tuple[str, str]:
        """The dtype of a sum's terms, and the wider one that the kernels make the sum in; "" for the same."""
        wide = self.wide(dtype)
        if not (self.name == dtype != wide and self.backend.uses_orders):
            return wide, ""
        data = self.backend.without_gradient(self.data)
        return (wide, "") if self.backend.readable(self.op, data=data) is None else (dtype, wide)

    def terms(self, name: str, dtype: str) -> Any:
        """The elements in a dtype; where they do not count, the identity of a sum or product."""
        identity = REDUCTIONS[name].identity(dtype)
        return self.where_valid(self.cast(self.data, dtype), 1 if identity is None else identity)

    def mean_of(self, dtype: str) -> Words:
        """The number of elements, the sum of their distances from a number, and that number; None for 0."""
        xp, wide = self.xp, self.wide(dtype)
        terms = self.terms("add", wide)
        total = self.scatter(terms, 0, "add")
        if not self.is_rough(wide):
            return self.counts, total, None
        near = self.backend.without_gradient(self.divided(total, xp.where(self.counts > 0, self.counts, 1)))
        near = xp.where(xp.isfinite(near), near, self.full((), 0, near))
        return self.counts, self.scatter(self.where_valid(terms - self.spread(near, 0), 0), 0, "add"), near

    def divided(self, totals: Any, counts: Any) -> Any:
        return totals / self.cast(counts, self.backend.dtype_name(totals))

    def is_rough(self, wide: str) -> bool:
        """Whether sums of this dtype are not wider than the elements, so that a mean needs its distances' mean."""
        is_wider = kind_of(self.name) in "fc" and rules.bits(self.name) < rules.bits(wide)
        return not (is_wider and wide in ("float64", "complex128"))

    def comparable(self, name: str) -> Any:
        """The elements, or the worst one where they do not count."""
        if self.valid is None or not self.is_date:
            return self.where_valid(self.data, -math.inf if name == "max" else math.inf)
        limits = self.xp.iinfo("int64")  # the lowest is NaT
        return self.where_valid(
            self.data, self.xp.asarray(limits.min + 1 if name == "max" else limits.max, self.data.dtype)
        )

    def places(self, name: str) -> Any:
        """The position of the first or last element of each segment, or one outside. Of a result's shape if `skips`."""
        which, none = ("min", math.prod(self.layout.numbered)) if name == "first" else ("max", -1)
        if self.valid is not None:
            return self.scatter(self.xp.where(self.valid, self.positions(), none), none, which)
        numbers = self.xp.reshape(self.positions(), (*[1] * self.layout.batch_dims, *self.layout.numbered))
        numbers = self.xp.broadcast_to(numbers, self.ids.shape)
        return self.of_ids(numbers).scatter(numbers, none, which)

    def at_places(self, places: Any) -> Words:
        """Positions as `places` has them, -1 for none, and the elements there."""
        layout, end = self.layout, math.prod(self.layout.numbered)
        op = GATHER_ELEMENTS if self.skips else GATHER
        op = (op.strict or op).replace(name=self.op.name)
        none = self.xp.asarray("NaT", self.data.dtype) if self.is_date else False
        found = core.gather_on(
            self.backend, op, self.merged(), places, layout.axis, 0 if self.skips else layout.batch_dims, "fill", none,
            None,
        )  # fmt: skip
        if not self.skips:
            lead = (*layout.data[: layout.batch_dims], *[1] * (layout.axis - layout.batch_dims))
            places = self.xp.reshape(places, (*lead, layout.n, *[1] * len(layout.inner)))
        return self.xp.where(places == end, -1, places), found

    def accumulates(self, array: Any) -> str:
        name = self.backend.dtype_name(array)
        wide = self.wide_of(name)
        return "" if wide == name else wide

    def terms_and_largest(self, dtype: str) -> tuple[Any, Any]:
        """The elements in the dtype of their powers, and the greatest element of each segment, without a gradient."""
        work = self.name if kind_of(self.name) == "f" and rules.bits(self.name) > rules.bits(dtype) else dtype
        terms = self.cast(self.data, "float32" if work in ("float16", "bfloat16") else work)
        fixed = self.backend.without_gradient(self.where_valid(terms, -math.inf))
        return terms, self.scatter(fixed, -math.inf, "max")

    # Softmax

    def softmax(self, dtype: str, is_log: bool) -> Any:
        """Of data's shape; 0, or -inf of a logarithm, for elements of no segment."""
        xp = self.xp
        terms, largest = self.terms_and_largest(dtype)
        shift = xp.where(largest == -math.inf, self.full((), 0, largest), largest)
        apart = terms - self.spread(shift, 0)
        powers = xp.exp(apart)
        sums = self.scatter(powers, 0, "add", self.accumulates(powers), include_self=True)
        safe = xp.where(sums == 0, xp.ones_like(sums), sums)
        result = apart - self.spread(xp.log(safe), 0) if is_log else powers / self.spread(safe, 1)
        if not self.all_have_one:
            result = xp.where(has_segment(self.given), result, self.full((), -math.inf if is_log else 0, result))
        return self.cast(result, dtype)
