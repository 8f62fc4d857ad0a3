"""Parts of messages: names of types and dtypes, values, suggestions for misspelled words."""

import difflib
import re
from collections.abc import Iterable, Sequence

from gatherscatter.reductions import REDUCTIONS

# Classes whose public name differs from the one built from their module.
_PUBLIC_NAMES = {
    "numpy.MaskedArray": "numpy.ma.MaskedArray",
    "dask.Array": "dask.array.Array",
    "tensorflow.EagerTensor": "tensorflow.Tensor",
}

_KINDS = re.compile("(bool)|u?(int)|b?(float)|(complex)")


def type_name(value: object) -> str:
    """The public name of a value's type: torch.Tensor, numpy.ndarray, list."""
    kind = type(value)
    module = kind.__module__.partition(".")[0]
    if module in ("jax", "jaxlib"):  # tracers too
        return "jax.Array"
    name = kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}"
    return _PUBLIC_NAMES.get(name, name)


def a(name: str) -> str:
    return f"an {name}" if name.startswith(("a", "e", "i", "o", "xarray")) else f"a {name}"


def n_axes(n: int) -> str:
    return "1 axis" if n == 1 else f"{n} axes"


def listed(words: Iterable[str]) -> str:
    return ", ".join(map(repr, words))


def shown(value: object) -> str:
    """The repr of a value on one line, shortened."""
    is_long = isinstance(value, int) and value.bit_length() > 10_000  # Python refuses to show it
    text = "<int>" if is_long else " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def kind_of(dtype: object) -> str:
    """Kind of a dtype of any library: "bool", "int", "float", "complex", or "" for others."""
    found = _KINDS.match(str(getattr(dtype, "name", dtype)).rpartition(".")[2])
    return found[found.lastindex or 0] if found else ""


def cast(argument: str, dtype: object, to: str) -> str:
    """The expression that casts an array of this dtype in its own library. `to`: data.dtype or an integer dtype."""
    library, dot, _ = str(dtype).rpartition(".")
    if library == "torch":
        return f"{argument}.to({to if '.' in to else f'torch.{to}'})"
    if dot:  # a library that follows the array API standard
        return f"astype({argument}, {to})"
    return f"{argument}.astype({to if '.' in to else repr(to)})"


# Synonyms of the strings that options accept, from other libraries.
_SYNONYMS = (
    *((record.name, *record.synonyms) for record in REDUCTIONS.values()),
    ("sub", "subtract", "-"),
    ("raise", "error", "strict", "check"),
    ("clip", "clamp", "nearest", "edge", "border", "saturate", "replicate"),
    ("wrap", "wraparound", "modulo", "mod", "modular", "periodic", "circular", "cyclic"),
    ("fill", "drop", "constant", "zero", "zeros", "nan", "ignore", "skip"),  # fill: gathers; drop: scatters
    ("promise_in_bounds", "promise", "unchecked", "unsafe"),
)


def nearest(word: str, accepted: Sequence[str]) -> str | None:
    """The accepted string that the user most likely meant, or None."""
    word = word.strip().lower()
    lowered = {ours.lower(): ours for ours in accepted}
    parts = (word, *re.split(r"[^a-z]+", word))  # "wrap_around", "grid-wrap", "fill_or_drop"
    known = [same for part in parts for same in _SYNONYMS if part in same]
    found = [ours for ours in lowered if ours in known[0]] if known else difflib.get_close_matches(word, lowered, n=1)
    return lowered[found[0]] if found else None
