"""What each group-wise reduction is: a state that is made of a segment's elements, and a result that is made of it.

A new reduction is a record in `AGGREGATIONS`, and runs on every library. If no state has what it needs, it takes a
record in `STATES` too; with a step in src/segments/accumulators.pxd and merge.pxd, the kernels make that state.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from gatherscatter._kernels.common import Accumulator
from gatherscatter.reductions import REDUCTIONS, kind_of

Words = tuple[Any, ...]
Segments = Any  # of by_scatters.py, which imports this module


class State(NamedTuple):
    """What a segment is while its elements are reduced: words, each an array with one number for every segment.

    Attributes
    ----------
    code : Accumulator or None
        The kernels' step. None: they have none, and the formula is used.
    words : tuple of str
        The kind of each word that the kernels make, which says what it is before the first element: see `begin`.
    merge : callable
        ``merge(xp, words, later)``: the words of two ranges of positions as those of both.
    reduction, terms : str and callable, or "" and None
        The scatter that makes the last word, and ``terms(segments, dtype)``, what is scattered.
    formula : callable or None
        ``formula(segments, dtype)``: the words by array functions that have gradients, if there are others than that.
    within : tuple of str and int
        A state that has the word too, and which of its words it is: for calls that need both.
    of_ids : bool
        Whether it depends on the ids alone, unless some elements do not count.
    """

    code: Accumulator | None
    words: tuple[str, ...]
    merge: Callable[[Any, Words, Words], Words]
    reduction: str = ""
    terms: Callable[[Segments, str], Any] | None = None
    formula: Callable[[Segments, str], Words] | None = None
    within: tuple[str, int] = ("", 0)
    of_ids: bool = False


@dataclass(frozen=True)
class Aggregation:
    """A reduction: its state, its result, and what it makes of dtypes and of a segment without elements.

    Attributes
    ----------
    state : str
        In `STATES`; "": there is none, since the elements are needed in order (ordering.py).
    finalize : callable or None
        ``finalize(segments, words, dtype)``: the result.
    result : str
        The result's dtype: "sum" (integers and bools: at least the default integer), "float" (integers and bools: the
        default float), "data", "index" or "bool".
    has_dtype : bool
        Whether the option `dtype` is for it.
    empty : number or None
        The result of an empty segment; None: NaN.
    is_real : bool
        Whether it refuses complex numbers.
    gradient : callable or None
        ``gradient(segments, data, result, grad)``: data's, of differentiable calls. None: the formula has one.
    synonyms : tuple of str
        Names in other libraries, for messages.
    """

    state: str
    finalize: Callable[[Segments, Words, str], Any] | None
    result: str
    has_dtype: bool = False
    empty: Any = None
    is_real: bool = False
    gradient: Callable[[Any, Any, Any, Any], Any] | None = None
    synonyms: tuple[str, ...] = ()


def begin(word: str, dtype: str) -> Any:
    """What a word is before the first element. dtype: of numbers."""
    if word in ("total", "product", "greatest", "least"):
        names = {"total": "add", "product": "mul", "greatest": "max", "least": "min"}
        identity = REDUCTIONS[names[word]].identity(dtype)
        return 1 if identity is None else identity  # None: a product of complex numbers
    return -1 if word == "place" else 0  # "count", "hits", "number"


# Merging


def _both(xp: Any, words: Words, later: Words) -> Words:
    """Counts and sums."""
    return tuple(None if a is None else a + b for a, b in zip(words, later, strict=True))


def _merged_product(xp: Any, words: Words, later: Words) -> Words:
    (n, product), (m, other) = words, later  # 1 + 0j is no identity: its 0 times infinity is NaN
    return n + m, xp.where(m == 0, product, xp.where(n == 0, other, product * other))


def _merged_extreme(best: str) -> Callable[[Any, Words, Words], Words]:
    def merge(xp: Any, words: Words, later: Words) -> Words:
        a, b = words[0], later[0]
        wins = ((b > a) if best == "max" else (b < a)) | ((b != b) & (a == a))  # NaN does
        if len(words) == 1:
            return (xp.where(wins, b, a),)
        at, later_at = words[1], later[1]
        is_earlier = ((a == b) | ((a != a) & (b != b))) & (later_at < at)  # chunks of several axes are not in order
        wins = (later_at >= 0) & ((at < 0) | wins | is_earlier)
        return xp.where(wins, b, a), xp.where(wins, later_at, at)

    return merge


def _merged_place(is_first: bool) -> Callable[[Any, Words, Words], Words]:
    def merge(xp: Any, words: Words, later: Words) -> Words:
        (at, value), (later_at, later_value) = words, later
        wins = (at < 0) | ((later_at >= 0) & (later_at < at)) if is_first else later_at > at
        return xp.where(wins, later_at, at), xp.where(wins, later_value, value)

    return merge


def _merged_moments(xp: Any, words: Words, later: Words) -> Words:
    """About the mean of both, of which the rounding error is kept, so that few digits are lost."""
    (n_a, first_a, apart_a, squares_a), (n_b, first_b, apart_b, squares_b) = words, later
    a, b = (xp.astype(xp.where(n > 0, n, 1), squares_a.dtype) for n in (n_a, n_b))
    both = a + b
    between = (first_b - first_a) + (apart_b / b - apart_a / a)
    squares = (squares_a - _squared(xp, apart_a, a)) + (squares_b - _squared(xp, apart_b, b))
    squares = squares + _squared(xp, between) * (a * (b / both))
    apart = apart_a + (apart_b + (first_b - first_a) * b)
    mean = first_a + apart / both
    rest = apart - (mean - first_a) * both
    merged = (mean, rest, squares + _squared(xp, rest, both))
    found = [
        xp.where(n_b == 0, x, xp.where(n_a == 0, y, z)) for x, y, z in zip(words[1:], later[1:], merged, strict=True)
    ]
    return n_a + n_b, *found


def _merged_powers(xp: Any, words: Words, later: Words) -> Words:
    (a, sums), (b, later_sums) = words, later
    both = REDUCTIONS["max"].array_step(xp, a, b)  # type: ignore[misc]
    shift = xp.where(both == -math.inf, xp.zeros_like(both), both)
    one = xp.ones_like(both)  # of infinite maxima
    sums = sums * xp.where(a == both, one, xp.exp(a - shift))
    return both, sums + later_sums * xp.where(b == both, one, xp.exp(b - shift))


def _merged_mean(xp: Any, words: Words, later: Words) -> Words:
    """Sums of the distances from a number: None is 0."""
    (n, total, base), (m, later_total, later_base) = words, later
    if base is not None:
        later_total = later_total + xp.astype(m, total.dtype) * (later_base - base)
    return n + m, total + later_total, base


def _squared(xp: Any, numbers: Any, n: Any = None) -> Any:
    """The squares of their distances from 0, divided by n, which may be finite where the squares are not."""
    if xp.isdtype(numbers.dtype, "complex floating"):
        return _squared(xp, xp.real(numbers), n) + _squared(xp, xp.imag(numbers), n)
    return numbers * (numbers if n is None else numbers / n)


# Formulas


def _addends(name: str) -> Callable[[Segments, str], Any]:
    return lambda s, dtype: s.terms(name, dtype)


def _comparable(best: str) -> Callable[[Segments, str], Any]:
    return lambda s, dtype: s.comparable(best)


def _truths(is_all: bool) -> Callable[[Segments, str], Any]:
    def terms(s: Segments, dtype: str) -> Any:
        truth = s.data if s.name == "bool" else s.data != 0
        counted = ~truth if is_all else truth
        return s.cast(s.where_valid(counted, False), s.defaults[0])

    return terms


def _extremes(best: str) -> Callable[[Segments, str], Words]:
    """The greatest or least element and its first position."""

    def formula(s: Segments, dtype: str) -> Words:
        xp, end = s.xp, math.prod(s.layout.numbered)
        values = s.comparable(best)
        extreme = s.scatter(values, 0, best)
        hits = values == s.spread(extreme, 0)
        if s.valid is not None:
            hits = hits & s.valid
        elif s.is_date or kind_of(s.name) == "f":
            hits = hits | (values != values)  # NaN wins
        found = s.scatter(xp.where(hits, s.positions(), end), end, "min")
        return extreme, xp.where(found == end, -1, found)

    return formula


def _ends(which: str) -> Callable[[Segments, str], Words]:
    def formula(s: Segments, dtype: str) -> Words:
        found: Words = s.at_places(s.places(which))
        return found

    return formula


def _product(s: Segments, dtype: str) -> Words:
    return s.counts, s.scatter(s.terms("mul", s.wide(dtype)), 1, "mul")


def _moments(s: Segments, dtype: str) -> Words:
    wide = s.wide(dtype)
    means = _mean(s, s.mean_of(dtype), wide)
    apart = s.where_valid(s.terms("add", wide) - s.spread(means, 0), 0)
    squares = s.scatter(_squared(s.xp, apart), 0, "add", include_self=True)
    is_rough = s.is_rough(s.backend.dtype_name(apart))
    rest = s.scatter(apart, 0, "add", include_self=True) if is_rough else s.full((), 0, apart)
    return s.counts, means, rest, squares


def _powers(s: Segments, dtype: str) -> Words:
    xp = s.xp
    terms, largest = s.terms_and_largest(dtype)
    finite = xp.isfinite(largest)
    shift = xp.where(finite, largest, s.full((), 0, largest))
    powers = s.where_valid(xp.exp(s.where_valid(terms - s.spread(shift, 0), 0)), 0)
    return largest, s.scatter(powers, 0, "add", s.accumulates(powers), include_self=True)


# Results: `finalize` of each reduction


def _last_word(s: Segments, words: Words, dtype: str) -> Any:
    return s.cast(words[-1], dtype)


def _counts(s: Segments, words: Words, dtype: str) -> Any:
    return s.cast(s.xp.broadcast_to(words[0], s.layout.shape) + 0, dtype)


def _mean(s: Segments, words: Words, dtype: str) -> Any:
    counts, totals, base = words
    means = s.divided(s.cast(totals, s.wide(dtype)), s.xp.where(counts > 0, counts, 1))
    return s.cast(means if base is None else base + means, dtype)


def _variance(s: Segments, words: Words, dtype: str) -> Any:
    xp = s.xp
    counts, _, apart, squares = words
    real = s.backend.dtype_name(squares)
    squares = squares - _squared(xp, apart, s.cast(xp.where(counts > 0, counts, 1), real))
    squares = xp.where(squares < 0, s.full((), 0, squares), squares)
    degrees = s.cast(counts, real) - s.correction
    safe = xp.where(degrees > 0, degrees, s.full((), 1, degrees))
    return s.cast(xp.where(degrees > 0, squares / safe, s.full((), float("nan"), squares)), dtype)


def _deviation(s: Segments, words: Words, dtype: str) -> Any:
    xp, variance = s.xp, _variance(s, words, s.backend.dtype_name(words[-1]))
    positive = variance > 0  # elsewhere the gradient is 0
    root = xp.where(positive, xp.sqrt(xp.where(positive, variance, xp.ones_like(variance))), variance)
    return s.cast(root, dtype)


def _logsumexp(s: Segments, words: Words, dtype: str) -> Any:
    xp = s.xp
    largest, sums = words
    shift = xp.where(largest == -math.inf, s.full((), 0, largest), largest)
    positive = sums > 0
    logs = xp.log(xp.where(positive, sums, xp.ones_like(sums)))
    least = s.full((), -math.inf, sums)
    result = xp.where(positive | xp.isnan(sums), xp.where(positive, logs, sums) + shift, least)
    return s.cast(result, dtype)


# Gradients of data, for libraries whose arrays the kernels read: from data, the result and the gradient of it


def _add_gradient(s: Segments, data: Any, result: Any, grad: Any) -> Any:
    return s.where_valid(s.spread(grad, 0), 0)


def _mean_gradient(s: Segments, data: Any, result: Any, grad: Any) -> Any:
    return _add_gradient(s, data, result, grad / s.cast(s.xp.where(s.counts > 0, s.counts, 1), s.name))


def _logsumexp_gradient(s: Segments, data: Any, result: Any, grad: Any) -> Any:
    shift = s.xp.where(result == -math.inf, s.full((), 0, result), result)
    powers = s.where_valid(s.xp.exp(s.where_valid(data - s.spread(shift, 0), 0)), 0)
    return s.spread(grad, 0) * powers


STATES: dict[str, State] = {
    "count": State(Accumulator.COUNT, ("count",), _both, formula=lambda s, dtype: (s.counts,), of_ids=True),
    "trues": State(Accumulator.TRUES, ("hits",), _both, "add", _truths(False)),
    "falses": State(Accumulator.FALSES, ("hits",), _both, "add", _truths(True)),
    "first": State(Accumulator.FIRST, ("place",), _merged_place(True), formula=_ends("first"), of_ids=True),
    "last": State(Accumulator.LAST, ("place",), _merged_place(False), formula=_ends("last"), of_ids=True),
    "total": State(Accumulator.TOTAL, ("total",), _both, "add", _addends("add"), within=("mean", 1)),
    "mean": State(
        Accumulator.COUNTED_TOTAL, ("count", "total"), _merged_mean, formula=lambda s, dtype: s.mean_of(dtype)
    ),
    "product": State(Accumulator.PRODUCT, ("count", "product"), _merged_product, "mul", _addends("mul"), _product),
    "greatest": State(
        Accumulator.MAXIMUM, ("greatest",), _merged_extreme("max"), "max", _comparable("max"), within=("argmax", 0)
    ),
    "least": State(
        Accumulator.MINIMUM, ("least",), _merged_extreme("min"), "min", _comparable("min"), within=("argmin", 0)
    ),
    "argmax": State(Accumulator.GREATEST, ("greatest", "place"), _merged_extreme("max"), formula=_extremes("max")),
    "argmin": State(Accumulator.LEAST, ("least", "place"), _merged_extreme("min"), formula=_extremes("min")),
    "moments": State(Accumulator.MOMENTS, ("count", "number", "number", "number"), _merged_moments, formula=_moments),
    "powers": State(Accumulator.POWERS, ("greatest", "number"), _merged_powers, formula=_powers),
}

AGGREGATIONS: dict[str, Aggregation] = {
    "add": Aggregation(
        "total", _last_word, "sum", has_dtype=True, empty=0, gradient=_add_gradient, synonyms=("sum", "plus")
    ),
    "mul": Aggregation("product", _last_word, "sum", has_dtype=True, empty=1, synonyms=("prod", "product", "multiply")),
    "max": Aggregation("greatest", _last_word, "data", is_real=True, synonyms=("amax", "maximum")),
    "min": Aggregation("least", _last_word, "data", is_real=True, synonyms=("amin", "minimum")),
    "mean": Aggregation("mean", _mean, "float", has_dtype=True, gradient=_mean_gradient, synonyms=("average", "avg")),
    "var": Aggregation("moments", _variance, "float", has_dtype=True, synonyms=("variance",)),
    "std": Aggregation("moments", _deviation, "float", has_dtype=True, synonyms=("stddev", "standard_deviation")),
    "any": Aggregation("trues", lambda s, words, dtype: words[0] > 0, "bool", empty=False),
    "all": Aggregation("falses", lambda s, words, dtype: words[0] == 0, "bool", empty=True),
    "count": Aggregation("count", _counts, "index", empty=0, synonyms=("size", "len", "n")),
    "first": Aggregation("first", _last_word, "data"),
    "last": Aggregation("last", _last_word, "data"),
    "argmax": Aggregation("argmax", _last_word, "index", empty=-1, is_real=True, synonyms=("idxmax",)),
    "argmin": Aggregation("argmin", _last_word, "index", empty=-1, is_real=True, synonyms=("idxmin",)),
    "logsumexp": Aggregation(
        "powers", _logsumexp, "float", has_dtype=True, empty=float("-inf"), is_real=True, gradient=_logsumexp_gradient
    ),
    "median": Aggregation("", None, "float", has_dtype=True, is_real=True, synonyms=("med", "quantile", "percentile")),
    "nunique": Aggregation(
        "", None, "index", empty=0, is_real=True, synonyms=("n_unique", "unique", "distinct", "count_distinct")
    ),
}
