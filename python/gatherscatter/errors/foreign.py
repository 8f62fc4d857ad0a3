"""Names of other libraries: what a function, an argument or a method of theirs is here, and the errors that say so."""

import difflib
import functools
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from operator import index
from typing import Any, Final, NoReturn, TypeVar, cast

from numpy import ndarray

from gatherscatter.errors.text import nearest, shown
from gatherscatter.operators import ND, Operator
from gatherscatter.reductions import REDUCTIONS

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

# The reductions of segments alone.
OF_SEGMENTS: Final = (
    "argmax", "argmin", "var", "std", "any", "all", "count", "first", "last", "logsumexp", "median", "nunique",
)  # fmt: skip
# Reductions by their names in names of functions. scatter_reduce, index_reduce: the user chooses one.
_REDUCTIONS: Final = {
    **{word: ours.name for ours in REDUCTIONS.values() for word in (ours.name, *ours.synonyms)},
    **dict(zip(OF_SEGMENTS, OF_SEGMENTS, strict=True)),
    "reduce": "add",
}

# Functions: patterns of their names, and the call here. {reduction!r}: that of the group "word", or "add".
_BY_SEGMENT = "segment_reduce(data, segment_ids, reduction={reduction!r})"
_FUNCTIONS: Final = (
    # NumPy and the array API standard
    ("take|index_select", "gather(data, indices, axis=axis)"),
    ("take_along_axis", "gather_elements(data, indices, axis=axis)"),
    ("put|index_put", "at(x)[index].set(values)"),
    ("put_along_axis", "scatter_elements(data, indices, updates, axis=axis)"),
    ("add_at", 'scatter(data, indices, updates, reduction="add"), or at(x)[index].add(values)'),
    ("sort|argsort|segment_sort", "segment_argsort(data, segment_ids)"),
    ("cumsum|cumulative_sum|segment_cumsum|accumulate|scan", "segment_scan(data, segment_ids)"),
    # pandas
    ("groupby|group_by", 'segment_reduce(data, segment_ids, reduction="mean")'),
    ("median", 'segment_reduce(data, segment_ids, reduction="median")'),
    ("n?unique", 'segment_reduce(data, segment_ids, reduction="nunique")'),
    ("quantile", "segment_quantile(data, q, segment_ids)"),
    ("percentile", "segment_quantile(data, q, segment_ids), with q from 0 to 1"),
    ("cumprod", 'segment_scan(data, segment_ids, reduction="mul")'),
    ("cummax", 'segment_scan(data, segment_ids, reduction="max")'),
    ("cummin", 'segment_scan(data, segment_ids, reduction="min")'),
    ("cumcount", 'segment_scan(data, segment_ids, reduction="count", exclusive=True)'),
    # torch_scatter and torch_geometric
    ("(scatter_)?softmax", "segment_softmax(data, segment_ids)"),
    ("softmax_csr", "segment_softmax(data, indptr=indptr)"),
    ("scatter_log_softmax", "segment_log_softmax(data, segment_ids)"),
    ("gather_coo", "gather(data, segment_ids)"),
    (r"segment(_(?P<word>\w+))?_csr", "segment_reduce(data, indptr=indptr, reduction={reduction!r})"),
    # TensorFlow, JAX and torch_scatter
    (r"(unsorted_)?segment_(?P<word>\w+?)(_coo)?", _BY_SEGMENT),
    (r"(tensor_)?scatter_nd_(?P<word>\w+)", "scatter_nd(data, indices, updates, reduction={reduction!r})"),
    # PyTorch
    ("index_copy", "scatter(data, indices, updates, axis=axis)"),
    ("index_(?P<word>add|reduce)", "scatter(data, indices, updates, axis=axis, reduction={reduction!r})"),
    (
        r"scatter_(?P<word>\w+)",
        "scatter_elements(data, indices, updates, reduction={reduction!r}), or of slices scatter",
    ),
)

# Arguments: ours, and other libraries' names of them. A name of several counts for the first that a function has.
_ARGUMENTS: Final = {
    "source": "src",  # of gather_scatter
    "indices": "index idx ind inds ids segment_ids indexes start_indices scatter_indices",
    "updates": "src source update value values val vals u v",
    "data": "input self params tensor target a arr array x ref operand src values",
    "axis": "dim dimension axes dims",
    "batch_dims": "batch_dim batch_axes nbatch",
    "reduction": "reduce reduce_op op aggr combine operation func how agg",
    "include_self": "use_init_val",
    "mode": "bad_indices_policy boundary out_of_bounds",
    "fill_value": "fill default default_value cval initial empty_value",
    "out": "output result",
    "segment_ids": "ids index indices labels by groups codes segments",
    "num_segments": "dim_size size minlength n_segments num_groups n_groups length",
    "indptr": "ptr offsets row_splits",
    "skipna": "skip_nan skipnan dropna ignore_nan nan_policy where",
    "correction": "ddof unbiased",
    "reverse": "reversed flip backward",
    "q": "quantile quantiles probs",
    "method": "interpolation",
    "descending": "largest",
}
# Of scatters: names for the size of the result along the axis, or for its shape.
_SIZES: Final = ("dim_size", "num_segments", "minlength", "size")
_OF_TORCH: Final = ("gather", "scatter")  # which PyTorch has too, with another meaning
_NO_MEANING: Final = (
    "name", "validate_indices", "sparse_grad", "indices_are_sorted", "unique_indices", "sorted", "bucket_size",
    "engine", "sort",
)  # fmt: skip

# Options that only some of the functions have, with the reason why the others lack them.
_ELSEWHERE: Final = {
    "axis": "its tuples index the leading axes of data; for one axis call {family}, or {family}_elements",
    "batch_dims": "all its axes but axis are shared; omit batch_dims=, or call {family}",
    "fill_value": "it is for gathers; omit fill_value=",
    **dict.fromkeys(("reduction", "include_self", "accumulate_dtype", "updates"), "it is for scatters; call {scatter}"),
}

# Methods: those of `At`, and what computes the same as those of JAX's ``x.at[i]`` that it lacks.
METHODS: Final = ("get", "set", "add", "subtract", "multiply", "divide", "power", "min", "max", "mean")
_METHODS: Final = {
    "div": ".divide(updates)",
    "pow": ".power(updates)",
    "apply": ".set(f(gs.at(x)[index].get()))",  # for indices without duplicates
}


# Functions


def no_function(module: str, name: str) -> AttributeError:
    """The error for a name that the package lacks."""
    fix = ""
    for pattern, call in _FUNCTIONS:
        found = re.fullmatch(pattern, name)
        word = (found and found.groupdict().get("word")) or "add"
        if found and word in _REDUCTIONS:
            call = _BY_SEGMENT if word in OF_SEGMENTS and not call.startswith("segment") else call
            fix = f"; call gs.{call.format(reduction=_REDUCTIONS[word])}"
            break
    if name == "torch_scatter":
        fix = "; it imports PyTorch, so import it by name: from gatherscatter import torch_scatter"
    return AttributeError(f"module {module!r} has no attribute {name!r}{fix}")


# Arguments. The public functions accept any, so that these errors can replace Python's "unexpected keyword argument".


class Missing:
    """The default of a required argument."""

    def __repr__(self) -> str:
        return "<missing>"


MISSING: Final = Missing()


def plain_signature(function: FunctionT) -> FunctionT:
    """Decorator: help() and `inspect.signature` show the signature without the parameters for these errors.

    The parameter `positional` is removed, and the parameters after it become keyword-only.
    """
    signature = inspect.signature(function)
    kinds = inspect.Parameter
    shown, is_option = [], False
    for name, parameter in signature.parameters.items():
        if name == "positional":
            is_option = True
        elif parameter.kind == kinds.POSITIONAL_OR_KEYWORD:
            kind = kinds.KEYWORD_ONLY if is_option else kinds.POSITIONAL_OR_KEYWORD
            default = kinds.empty if parameter.default is MISSING else parameter.default
            shown.append(parameter.replace(kind=kind, default=default))
    vars(function)["__signature__"] = signature.replace(parameters=shown)
    return function


def raises_unexpected(op: Operator) -> Callable[[FunctionT], FunctionT]:
    """Decorator: arguments beyond the signature raise the error of `unexpected`.

    For functions that take long enough for one call more. Those of segments leave positional ones to Python.
    """

    def decorate(function: FunctionT) -> FunctionT:
        parameters = inspect.signature(function).parameters
        n = sum(parameter.kind == parameter.POSITIONAL_OR_KEYWORD for parameter in parameters.values())
        most = sys.maxsize if op.indices == "segment_ids" else n

        @functools.wraps(function)
        def call(*given: Any, **words: Any) -> Any:
            if len(given) > most or not words.keys() <= parameters.keys():
                unknown = {word: value for word, value in words.items() if word not in parameters}
                positional = given[n] if len(given) > n else MISSING
                raise unexpected(op, function, (*given[:n], *[MISSING] * (n - len(given))), positional, unknown)
            return function(*given, **words)

        return cast(FunctionT, call)

    return decorate


def missing(op: Operator, argument: str) -> TypeError:
    return TypeError(f"{op.name}: {argument} is missing; pass an array{' of integers' * (argument == 'indices')}")


def unexpected(
    op: Operator, function: object, given: Sequence[object], positional: object, words: Mapping[str, object]
) -> TypeError:
    """The error for arguments beyond the signature of a function.

    given: the values of data, indices and, for a scatter, updates. positional: the next positional one, or MISSING.
    """
    accepted = tuple(inspect.signature(function).parameters)  # type: ignore[arg-type]
    if op.indices == "segment_ids":
        return _of_segments(op, accepted, next(iter(words)))
    if positional is not MISSING or (_is_integer(given[1]) and "src" in words and given[-1] is not MISSING):
        return _by_position(op, accepted, given, positional)
    renamed = {word: _ours(word, (*accepted, *_ELSEWHERE)) for word in words}
    for word, ours in renamed.items():
        if ours not in accepted:
            return _unknown_name(op, accepted, word, words[word], ours or word)
    pairs = [_pair(op, word, words[word], ours) for word, ours in renamed.items()]
    text = f"{op.name}: {', '.join(pairs)} here"
    if op.name in _OF_TORCH and ("index" in words or "src" in words):
        text += f"; torch.{op.name} is {op.name}_elements"
    return TypeError(text)


def _of_segments(op: Operator, accepted: Sequence[str], word: str) -> TypeError:
    ours = _ours(word, accepted)
    fix = "has no meaning here; omit it" if word in _NO_MEANING else f"is {ours}= here"
    if ours or word in _NO_MEANING:
        return TypeError(f"{op.name}: {word}= {fix}")
    return TypeError(f"{op.name}: there is no {word}= here; pass some of {', '.join(accepted)}")


def _ours(word: str, accepted: Sequence[str]) -> str:
    """Our name of an argument, one of the accepted ones; "" if there is none."""
    return next((ours for ours, theirs in _ARGUMENTS.items() if word in theirs.split() and ours in accepted), "")


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _pair(op: Operator, theirs: str, value: object, ours: str) -> str:
    """The text "dim=0 is axis=0" or "src= is updates="."""
    accepted = op.accepted(ours)
    if accepted:
        meant = nearest(str(getattr(value, "__name__", value)), accepted)
        return f"{theirs}={shown(value)} is {ours}={meant!r}" if meant else f"{theirs}= is {ours}="
    if isinstance(value, (int, float)):
        return f"{theirs}={shown(value)} is {ours}={shown(value)}"
    return f"{theirs}= is {ours}="


def _unknown_name(op: Operator, accepted: Sequence[str], word: str, value: object, ours: str) -> TypeError:
    """The error for a keyword that this function does not have."""
    family, _, kind = op.name.partition("_")
    if op.scatters and word in (*_SIZES, "shape"):
        sizes = "data.shape" if word == "shape" else "data.shape[axis]"
        fix = f"{word}= is {sizes} here; pass zeros of that size as data, and the values as updates"
    elif word in _NO_MEANING:
        fix = f"{word}= has no meaning here; omit it"
    elif word == "accumulate" and op.scatters:
        known = isinstance(value, int)  # an array may be neither true nor false
        fix = f"{word}={shown(value)} is reduction={'add' if not known or value else 'none'!r} here"
    elif word == "inplace" and op.scatters:
        fix = f"{word}= is out= here: pass out=data"
    elif ours in _ELSEWHERE and family in ("gather", "scatter") and kind in ("", "nd", "elements"):
        reason = _ELSEWHERE[ours].format(family=family, scatter=f"scatter_{kind}" if kind else "scatter")
        fix = f"there is no {word}= here: {reason}"
    else:
        close = difflib.get_close_matches(word, accepted, n=1)
        names = ", ".join(accepted)
        fix = f"there is no {word}= here; " + (f"did you mean {close[0]}=?" if close else f"pass some of {names}")
    return TypeError(f"{op.name}: {fix}")


def _by_position(op: Operator, accepted: Sequence[str], given: Sequence[object], positional: object) -> TypeError:
    """The error for positional options, or for PyTorch's order of arguments."""
    if _is_integer(given[1]) and "axis" in accepted and not _is_integer(positional):
        call = ", ".join(accepted[: len(given)])
        text = f"axis is a keyword: call {op.name}({call}, axis={shown(given[1])})"
        if op.name in _OF_TORCH:
            text += f"; torch.{op.name} is {op.name}_elements"
        return TypeError(f"{op.name}: {text}")
    found = _option(op, accepted, positional)
    if found:
        return TypeError(f"{op.name}: {found[0]} is a keyword: pass {found[0]}={shown(found[1])}")
    names, last = ", ".join(accepted[: len(given) - 1]), accepted[len(given) - 1]
    options = ", ".join(f"{name}=" for name in accepted[len(given) :])
    return TypeError(f"{op.name}: only {names} and {last} may be positional; pass the others by keyword: {options}")


def _option(op: Operator, accepted: Sequence[str], value: object) -> tuple[str, object] | None:
    """The option and the value that a positional value most likely means."""
    if isinstance(value, str):
        for option in ("reduction", "mode"):
            meant = nearest(value, op.accepted(option)) if option in accepted else None
            if meant:
                return option, meant
        return None
    try:
        whole = index(value)  # type: ignore[arg-type]
    except TypeError:
        return None
    return ("batch_dims" if op.kind == ND else "axis"), whole


# Attributes of `at` and `At`. They are descriptors, because a class with ``__getattr__`` makes the call of every method
# slower: ``gs.at(x)[i].get()`` would take 17 % longer. `dir` does not list them, and `hasattr` is false.


class _Absent:
    """An attribute of other libraries. `at` keeps an `At` in place of x for ``at(x, index)``, and has its methods."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        indexed = getattr(instance, "_x", None)
        if isinstance(indexed, FromIndexed) and self._name in METHODS:
            return getattr(indexed, self._name)
        raise _no_attribute(self._name, is_indexed=issubclass(owner, FromIndexed))


def _no_attribute(name: str, *, is_indexed: bool) -> AttributeError:
    if not is_indexed:
        fix = f"call gs.at(x)[index].{name}(...)" if name in METHODS else "pass an index first: gs.at(x)[index]"
        return AttributeError(f"at: gs.at(x) has no attribute {name!r}; {fix}")
    meant = nearest(name, METHODS)
    fixes = [f"call .get() to pick the elements, then .{name}"] if hasattr(ndarray, name) else []
    if name in _METHODS:
        fixes = [f"call {_METHODS[name]}"]
    elif meant:
        fixes.append(f"to update x call .{meant}(updates)" if fixes else f"did you mean .{meant}(updates)?")
    return AttributeError(f"at: gs.at(x)[index] has no attribute {name!r}; {'; '.join(fixes)}")


class _Listed:
    __slots__ = ()

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if hasattr(self, name)]


class FromAt(_Listed):
    """The base of `at`."""

    __slots__ = ()

    def __setitem__(self, index: Any, updates: Any) -> None:
        raise TypeError("at: gs.at(x)[index] cannot be assigned to; call gs.at(x)[index].set(updates, out=x)")


class FromIndexed(_Listed):
    """The base of `At`."""

    __slots__ = ()

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        """Raise an error, since NumPy would make an array that contains this object."""
        raise TypeError("at: gs.at(x)[index] is not an array; call .get() to pick the elements")


def _no_operator(operator: str, method: str) -> Callable[[Any, Any], NoReturn]:
    def raises(self: Any, updates: Any) -> NoReturn:
        call = f"gs.at(x)[index].{method}(updates, out=x)"
        raise TypeError(f"at: gs.at(x)[index] {operator} updates does not change x; call {call}")

    return raises


_of_arrays = [name for name in dir(ndarray) if not name.startswith("_")]
_of_others = [
    *("sub", "mul", *_METHODS),
    *(word for one in REDUCTIONS.values() for word in one.synonyms if word.isidentifier()),
    *(f"{name}_" for name in ("set", "add", "sub", "mul", "multiply", "min", "max", "amin", "amax")),  # PyTorch's
]
for _name in (*METHODS, *_of_arrays):
    setattr(FromAt, _name, _Absent(_name))
for _name in {*_of_arrays, *_of_others}.difference(METHODS):
    setattr(FromIndexed, _name, _Absent(_name))
for _name, _operator, _method in (
    ("iadd", "+=", "add"), ("isub", "-=", "subtract"), ("imul", "*=", "multiply"), ("itruediv", "/=", "divide"),
    ("ipow", "**=", "power"),
):  # fmt: skip
    setattr(FromIndexed, f"__{_name}__", _no_operator(_operator, _method))
