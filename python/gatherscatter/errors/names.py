"""Names that people try, from other libraries, and the call that each of them is here."""

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar, cast

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

# Reductions by their names elsewhere; "" is an assignment.
_REDUCTIONS: Final = {
    "": "none", "add": "add", "sum": "add", "mul": "mul", "prod": "mul", "multiply": "mul", "max": "max",
    "amax": "max", "min": "min", "amin": "min", "mean": "mean", "set": "none", "update": "none", "reduce": "add",
}  # fmt: skip
# Those of segments alone.
OF_SEGMENTS: Final = (
    "argmax", "argmin", "var", "std", "any", "all", "count", "first", "last", "logsumexp", "median", "nunique",
)  # fmt: skip

_FAMILIES: Final = (
    (r"(unsorted_)?segment_(?P<word>\w+?)(_coo)?", "segment_reduce(data, segment_ids, reduction={word!r})"),
    (r"segment(_(?P<word>\w+))?_csr", "segment_reduce(data, indptr=indptr, reduction={word!r})"),
    (r"tensor_scatter_nd_(?P<word>\w+)", "scatter_nd(data, indices, updates, reduction={word!r})"),
    (r"scatter_nd_(?P<word>\w+)", "scatter_nd(data, indices, updates, reduction={word!r})"),
    (r"scatter_(?P<word>\w+)", "scatter_elements(data, indices, updates, reduction={word!r}), or of slices scatter"),
    (r"index_(?P<word>add|reduce)", "scatter(data, indices, updates, axis=axis, reduction={word!r})"),
)
_CALLS: Final = {
    "take": "gather(data, indices, axis=axis)",
    "index_select": "gather(data, indices, axis=axis)",
    "take_along_axis": "gather_elements(data, indices, axis=axis)",
    "put": "at(x)[index].set(values)",
    "index_put": "at(x)[index].set(values)",
    "index_copy": "scatter(data, indices, updates, axis=axis)",
    "put_along_axis": "scatter_elements(data, indices, updates, axis=axis)",
    "add_at": 'scatter(data, indices, updates, reduction="add"), or at(x)[index].add(values)',
    "groupby": 'segment_reduce(data, segment_ids, reduction="mean")',
    "group_by": 'segment_reduce(data, segment_ids, reduction="mean")',
    "median": 'segment_reduce(data, segment_ids, reduction="median")',
    "nunique": 'segment_reduce(data, segment_ids, reduction="nunique")',
    "unique": 'segment_reduce(data, segment_ids, reduction="nunique")',
    "quantile": "segment_quantile(data, q, segment_ids)",
    "percentile": "segment_quantile(data, q, segment_ids), with q from 0 to 1",
    "sort": "segment_argsort(data, segment_ids)",
    "argsort": "segment_argsort(data, segment_ids)",
    "segment_sort": "segment_argsort(data, segment_ids)",
    "softmax": "segment_softmax(data, segment_ids)",
    "scatter_softmax": "segment_softmax(data, segment_ids)",
    "softmax_csr": "segment_softmax(data, indptr=indptr)",
    "scatter_log_softmax": "segment_log_softmax(data, segment_ids)",
    "gather_coo": "gather(data, segment_ids)",
    "cumsum": "segment_scan(data, segment_ids)",
    "cumulative_sum": "segment_scan(data, segment_ids)",
    "segment_cumsum": "segment_scan(data, segment_ids)",
    "accumulate": "segment_scan(data, segment_ids)",
    "scan": "segment_scan(data, segment_ids)",
    "cumprod": 'segment_scan(data, segment_ids, reduction="mul")',
    "cummax": 'segment_scan(data, segment_ids, reduction="max")',
    "cummin": 'segment_scan(data, segment_ids, reduction="min")',
    "cumcount": 'segment_scan(data, segment_ids, reduction="count", exclusive=True)',
}

# Arguments of segments.
_WORDS: Final = {
    "num_segments": ("dim_size", "size", "minlength", "n_segments", "num_groups", "n_groups", "length"),
    "segment_ids": ("ids", "index", "indices", "labels", "by", "groups", "codes", "segments"),
    "data": ("src", "input", "values", "x", "a", "array"),
    "reduction": ("reduce", "func", "op", "aggr", "how", "agg"),
    "axis": ("dim", "axes"),
    "indptr": ("ptr", "offsets", "row_splits"),
    "skipna": ("skip_nan", "skipnan", "dropna", "ignore_nan", "nan_policy", "where"),
    "correction": ("ddof", "unbiased"),
    "fill_value": ("fill", "initial", "default", "empty_value"),
    "out": ("output",),
    "reverse": ("reversed", "flip", "backward"),
    "q": ("quantile", "quantiles", "probs"),
    "method": ("interpolation",),
    "descending": ("largest",),
}
_NO_MEANING: Final = ("sorted", "indices_are_sorted", "unique_indices", "bucket_size", "engine", "name", "sort")


def no_function(module: str, name: str) -> AttributeError:
    """The error for a name that the package lacks."""
    call = _CALLS.get(name, "")
    for pattern, made in _FAMILIES if not call else ():
        found = re.fullmatch(pattern, name)
        word = found and (found["word"] or "add")
        if word and (word in _REDUCTIONS or word in OF_SEGMENTS):
            reduction = _REDUCTIONS.get(word, word)
            if reduction in OF_SEGMENTS and not made.startswith("segment"):
                made = _FAMILIES[0][1]
            call = made.format(word=reduction)
            break
    fix = f"; call gs.{call}" if call else ""
    if name == "torch_scatter":
        fix = "; it imports PyTorch, so import it by name: from gatherscatter import torch_scatter"
    return AttributeError(f"module {module!r} has no attribute {name!r}{fix}")


def explained(function: FunctionT) -> FunctionT:
    """Decorator of the functions of segments: an argument beyond the signature raises an error that names ours."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*given: Any, **words: Any) -> Any:
        if not words.keys() <= signature.parameters.keys():
            raise _unknown(function.__name__, words, signature.parameters)
        return function(*given, **words)

    return cast(FunctionT, call)


def _unknown(name: str, words: Mapping[str, object], accepted: Mapping[str, object]) -> TypeError:
    word = next(word for word in words if word not in accepted)
    ours = next((ours for ours, theirs in _WORDS.items() if word in theirs and ours in accepted), None)
    if ours:
        return TypeError(f"{name}: {word}= is {ours}= here")
    if word in _NO_MEANING:
        return TypeError(f"{name}: {word}= has no meaning here; omit it")
    return TypeError(f"{name}: there is no {word}= here; pass some of {', '.join(accepted)}")
