"""Messages about arguments that a function does not have: other libraries' names for them, and options by position.

The public functions accept any argument, so that these messages can replace Python's "unexpected keyword argument".
"""

import difflib
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from operator import index
from typing import Any, Final, TypeVar, cast

from gatherscatter.errors.text import nearest, shown
from gatherscatter.operators import AXIS, ND, Operator

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


class Missing:
    """The default of a required argument."""

    def __repr__(self) -> str:
        return "<missing>"


MISSING: Final = Missing()

# Other libraries' names of our arguments.
_NAMES = {
    "data": ("input", "self", "params", "tensor", "target", "a", "arr", "array", "x", "ref", "operand"),
    "indices": ("index", "idx", "ind", "inds", "ids", "segment_ids", "indexes", "start_indices", "scatter_indices"),
    "updates": ("src", "source", "update", "value", "values", "val", "vals", "u", "v"),
    "axis": ("dim", "dimension", "axes", "dims"),
    "batch_dims": ("batch_dim", "batch_axes", "nbatch"),
    "reduction": ("reduce", "reduce_op", "op", "aggr", "combine", "operation"),
    "include_self": ("use_init_val",),
    "mode": ("bad_indices_policy", "boundary", "out_of_bounds"),
    "fill_value": ("fill", "default", "default_value", "cval"),
    "out": ("output", "result"),
}
_OURS = {theirs: ours for ours, names in _NAMES.items() for theirs in names}

# Names for the size of the result along the axis, or for its shape.
_SIZES = ("dim_size", "num_segments", "minlength", "size")
_NO_MEANING = ("name", "validate_indices", "sparse_grad", "indices_are_sorted", "unique_indices")

# Options that only some of the functions have, with the reason why the others lack them.
_ELSEWHERE = {
    "axis": "its tuples index the leading axes of data; for one axis call {family}, or {family}_elements",
    "batch_dims": "all its axes but axis are shared; omit batch_dims=, or call {family}",
    "fill_value": "it is for gathers; omit fill_value=",
    "reduction": "it is for scatters; call {scatter}",
    "include_self": "it is for scatters; call {scatter}",
    "accumulate_dtype": "it is for scatters; call {scatter}",
    "updates": "it is for scatters; call {scatter}",
}


def plain_signature(function: FunctionT) -> FunctionT:
    """Decorator: help() and `inspect.signature` show the signature without the parameters for these messages.

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


def explained(op: Operator) -> Callable[[FunctionT], FunctionT]:
    """Decorator: arguments beyond the signature raise the error of `unexpected`.

    For functions that take long enough for one call more.
    """

    def decorate(function: FunctionT) -> FunctionT:
        parameters = inspect.signature(function).parameters
        n = sum(parameter.kind == parameter.POSITIONAL_OR_KEYWORD for parameter in parameters.values())

        @functools.wraps(function)
        def call(*given: Any, **words: Any) -> Any:
            if len(given) > n or not words.keys() <= parameters.keys():
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
    if positional is not MISSING or (_is_integer(given[1]) and "src" in words and given[-1] is not MISSING):
        return _by_position(op, accepted, given, positional)
    renamed = {}
    for word, value in words.items():
        ours = _OURS.get(word)
        if ours not in accepted:
            return _unknown_name(op, accepted, word, value)
        renamed[word] = ours
    pairs = [_pair(op, word, words[word], ours) for word, ours in renamed.items()]
    text = f"{op.name}: {', '.join(pairs)} here"
    if op.kind == AXIS and ("index" in words or "src" in words):
        text += f"; torch.{op.name} is {op.name}_elements"
    return TypeError(text)


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _pair(op: Operator, theirs: str, value: object, ours: str) -> str:
    """The words "dim=0 is axis=0" or "src= is updates="."""
    accepted = op.accepted(ours)
    if accepted:
        meant = nearest(str(getattr(value, "__name__", value)), accepted)
        return f"{theirs}={shown(value)} is {ours}={meant!r}" if meant else f"{theirs}= is {ours}="
    if isinstance(value, (int, float)):
        return f"{theirs}={shown(value)} is {ours}={shown(value)}"
    return f"{theirs}= is {ours}="


def _unknown_name(op: Operator, accepted: Sequence[str], word: str, value: object) -> TypeError:
    """The error for a keyword that this function does not have."""
    family, _, kind = op.name.partition("_")
    ours = _OURS.get(word, word)
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
        if op.kind == AXIS:
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


# Methods of JAX's ``x.at[i]`` that `At` lacks, with the call that computes the same.
UPDATES: Final = {
    "div": ".divide(updates)",
    "pow": ".power(updates)",
    "apply": ".set(f(gs.at(x)[index].get()))",  # for indices without duplicates
}


def no_attribute(name: str, methods: Sequence[str], array: type, *, is_indexed: bool) -> AttributeError:
    """The error for an attribute that `at` or `At` lacks. methods: of `At`. array: NumPy's class of arrays."""
    if not is_indexed:
        fix = f"call gs.at(x)[index].{name}(...)" if name in methods else "pass an index first: gs.at(x)[index]"
        return AttributeError(f"at: gs.at(x) has no attribute {name!r}; {fix}")
    meant = nearest(name, methods)
    fixes = [f"call .get() to pick the elements, then .{name}"] if hasattr(array, name) else []
    if name in UPDATES:
        fixes = [f"call {UPDATES[name]}"]
    elif meant:
        fixes.append(f"to update x call .{meant}(updates)" if fixes else f"did you mean .{meant}(updates)?")
    return AttributeError(f"at: gs.at(x)[index] has no attribute {name!r}; {'; '.join(fixes)}")


def no_assignment() -> TypeError:
    return TypeError("at: gs.at(x)[index] cannot be assigned to; call gs.at(x)[index].set(updates, out=x)")


def no_operator(operator: str, call: str) -> TypeError:
    return TypeError(f"at: gs.at(x)[index] {operator} updates does not change x; call gs.at(x)[index].{call}")


def not_an_array_yet() -> TypeError:
    return TypeError("at: gs.at(x)[index] is not an array; call .get() to pick the elements")
