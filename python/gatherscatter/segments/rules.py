"""The rules of segments that need no array library: shapes, options and dtypes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from gatherscatter import errors
from gatherscatter import plan as plans
from gatherscatter.errors import segments as messages
from gatherscatter.operators import SCATTER, Operator
from gatherscatter.plan import Shape
from gatherscatter.reductions import COMPLEX, DTYPES, dtype_name, kind_of
from gatherscatter.segments.aggregations import AGGREGATIONS

MODES = ("raise", "drop", "promise_in_bounds")

# A negative id means no segment, for which the core says "out of bounds" and mode "drop".
_STRICT = SCATTER.strict or SCATTER


def operator(name: str, ids: str) -> Operator:
    """The record of a function of segments. ids: the name of its second argument."""
    return _STRICT.replace(name=name, indices=ids, updates="data", user_modes=MODES)


REDUCE = operator("segment_reduce", "segment_ids")
SOFTMAX = operator("segment_softmax", "segment_ids")
LOG_SOFTMAX = operator("segment_log_softmax", "segment_ids")
SCAN = operator("segment_scan", "segment_ids")
QUANTILE = operator("segment_quantile", "segment_ids")
ARGSORT = operator("segment_argsort", "segment_ids")

# Of quantiles, and those of them whose results are elements.
KEEP_DTYPE = ("lower", "higher", "nearest")
METHODS = ("linear", *KEEP_DTYPE, "midpoint")


class Layout(NamedTuple):
    """Where the segments of data lie: the ids number `depth` axes of data from `axis` on."""

    operator: Operator
    data: Shape
    axis: int
    depth: int
    batch_dims: int
    n: int  # segments

    @property
    def outer(self) -> Shape:
        return self.data[: self.axis]

    @property
    def inner(self) -> Shape:
        return self.data[self.axis + self.depth :]

    @property
    def numbered(self) -> Shape:
        return self.data[self.axis : self.axis + self.depth]

    @property
    def shape(self) -> Shape:
        """Of a result."""
        return (*self.outer, self.n, *self.inner)


def layout(op: Operator, data: Shape, ids: Shape, axis: Any, batch_dims: Any, is_indptr: bool) -> Layout:
    """Check the shapes. The number of segments is found later."""
    b = plans.integer(op, "batch_dims", batch_dims)
    axis = plans.integer(op, "axis", axis)
    plans.check_known(op, "data", data)
    plans.check_known(op, "indices", ids)
    if not data:
        raise errors.no_axis(op)
    if not -len(data) <= axis < len(data):
        raise errors.axis_range(op, axis, data)
    axis %= len(data)
    if not 0 <= b <= axis:
        raise errors.batch_range(op, b, axis, data, ids, axis)
    if len(ids) <= b:
        raise messages.no_ids(op, b)
    depth = 1 if is_indptr else len(ids) - b
    if ids[:b] != data[:b] or (is_indptr and (len(ids) != b + 1 or ids[b] < 1)):
        shape = messages.indptr_shape(op, ids, data, b) if is_indptr else messages.ids_shape(op, ids, data, axis, b)
        raise shape
    if not is_indptr and ids[b:] != data[axis : axis + depth]:
        raise messages.ids_shape(op, ids, data, axis, b)
    return Layout(op, data, axis, depth, b, 0)


# Elements of a block, and positions of one for each segment; elements of the results above which there is one block.
_BLOCK_ELEMENTS = 1 << 16
_BLOCK_SEGMENTS = 8
_MOST_RESULTS = 1 << 17


def block_length(layout: Layout) -> int:
    """Positions whose floating states are made alone, and merged in their order: of the shape alone."""
    columns = math.prod(layout.inner)
    if layout.n * columns > _MOST_RESULTS:
        return max(math.prod(layout.numbered), 1)
    return max(_BLOCK_ELEMENTS // max(columns, 1), _BLOCK_SEGMENTS * layout.n, 1)


def number(op: Operator, value: Any) -> int:
    n = plans.integer(op, "num_segments", value)
    if n < 0:
        raise messages.negative_number(op, n)
    if n > plans.MOST:
        raise errors.size_limit(op, f"num_segments={n}", plans.MOST)
    return n


def check_mode(op: Operator, mode: Any) -> str:
    mode = plans.string(op, "mode", mode, MODES)
    if mode in ("clip", "wrap", "fill"):
        raise messages.mode(op, mode, MODES)
    return plans.choice(op, "mode", mode, MODES)


def names(op: Operator, reduction: Any) -> tuple[str, ...]:
    """The reductions of a call, as a tuple."""
    if isinstance(reduction, list):
        raise messages.list_of_reductions(op, reduction)
    given = reduction if isinstance(reduction, tuple) else (reduction,)
    for name in given:
        plans.string(op, "reduction", name, tuple(AGGREGATIONS))
        if name not in AGGREGATIONS:
            word = str(name).lower()
            meant = next((ours for ours, what in AGGREGATIONS.items() if word in (ours, *what.synonyms)), None)
            raise errors.unknown_choice(op, "reduction", name, tuple(AGGREGATIONS), meant)
    if not given:
        raise errors.unknown_choice(op, "reduction", given, tuple(AGGREGATIONS))
    return given


def check_dtype(op: Operator, name: str, dtype: str, data_dtype: Any) -> None:
    """Whether a reduction supports data's dtype. dtype: by name."""
    rule = AGGREGATIONS[name]
    if dtype not in DTYPES and not (dtype[:8] == "datetime" or dtype[:9] == "timedelta"):
        raise messages.no_segments_of(op, name, data_dtype, "numbers, bools and dates")
    if rule.is_real and dtype in COMPLEX:
        raise messages.no_segments_of(op, name, data_dtype, "real numbers")
    takes_dates = rule.result in ("data", "index") or name in ("mean", "median")
    if dtype not in DTYPES and not takes_dates and not (name == "add" and dtype[:9] == "timedelta"):
        supported = "numbers and durations" if name == "add" else "numbers"
        raise messages.no_segments_of(op, name, data_dtype, supported, messages.seconds(dtype))


def result_dtype(op: Operator, name: str, dtype: str, asked: Any, defaults: tuple[str, str, str], alone: bool) -> str:
    """The name of a result's dtype.

    dtype: data's. asked: the option `dtype`. defaults: the library's signed and unsigned integer and its float.
    alone: whether the reduction is the only one, for which an option without effect is an error.
    """
    rule = AGGREGATIONS[name]
    signed, unsigned, floating = defaults
    kind = kind_of(dtype)
    if rule.result in ("index", "bool"):
        found = {"index": signed, "bool": "bool"}[rule.result]
    elif rule.result == "sum" and kind in "biu":
        least = unsigned if kind == "u" else signed
        found = dtype if kind == kind_of(least) and bits(dtype) > bits(least) else least
    else:
        found = floating if rule.result == "float" and kind in "biu" else dtype
    if asked is None or not rule.has_dtype:
        if asked is not None and alone:
            raise messages.no_dtype(op, name, asked, tuple(n for n, r in AGGREGATIONS.items() if r.has_dtype))
    elif dtype not in DTYPES:
        raise messages.dtype_of_dates(op, asked, dtype)
    else:
        word = dtype_name(asked)
        order = "bifc" if rule.result == "sum" else "f" if rule.is_real else "fc"
        mine, theirs = (order.find(one.replace("u", "i")) for one in (kind_of(word), kind))
        if word not in DTYPES or mine < 0 or mine < theirs:
            raise messages.narrow_dtype(op, word, dtype)
        found = word
    if name in ("var", "std") and found in COMPLEX:
        return {"complex64": "float32", "complex128": "float64"}[found]
    return found


def check_order(op: Operator, dtype: str, data_dtype: Any, method: str = "") -> None:
    """Whether data's dtype, by name, has an order and, for dates, the method of quantiles computes with none."""
    is_date = dtype[:8] == "datetime" or dtype[:9] == "timedelta"
    if dtype in COMPLEX or (dtype not in DTYPES and not is_date):
        raise messages.no_order(op, data_dtype)
    if is_date and method and method not in KEEP_DTYPE:
        raise messages.no_dates(op, method, data_dtype, KEEP_DTYPE, messages.seconds(dtype))


def quantile_dtype(op: Operator, method: str, dtype: str, asked: Any, defaults: tuple[str, str, str]) -> str:
    """The name of the dtype of quantiles; the arguments are as in `result_dtype`."""
    keeps = method in KEEP_DTYPE and asked is None
    return dtype if keeps else result_dtype(op, "median", dtype, asked, defaults, True)


def bits(dtype: str) -> int:
    return int("".join(c for c in dtype if c.isdigit()) or 8)
