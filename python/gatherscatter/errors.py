"""All error messages. Each has the operator, the argument, its value, and a fix."""

import difflib
import re
import sys
from collections.abc import Iterable, Sequence

from gatherscatter.operators import ELEMENTS, ND, Operator
from gatherscatter.reductions import REDUCTIONS

# Classes whose public name differs from the one built from their module.
_PUBLIC_NAMES = {
    "numpy.MaskedArray": "numpy.ma.MaskedArray",
    "dask.Array": "dask.array.Array",
    "tensorflow.EagerTensor": "tensorflow.Tensor",
}

# How to convert an array of another library to one of this library.
_MAKERS = {
    "numpy": "numpy.asarray",
    "torch": "torch.asarray",
    "jax": "jax.numpy.asarray",
    "cupy": "cupy.asarray",
    "dask": "numpy.asarray",  # a Dask call accepts NumPy arrays
    "array_api_strict": "array_api_strict.asarray",
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


def _a(name: str) -> str:
    return f"an {name}" if name.startswith(("a", "e", "i", "o", "xarray")) else f"a {name}"


def _axes(n: int) -> str:
    return "1 axis" if n == 1 else f"{n} axes"


def _listed(words: Iterable[str]) -> str:
    return ", ".join(map(repr, words))


def _shown(value: object) -> str:
    """The repr of a value on one line, shortened."""
    is_long = isinstance(value, int) and value.bit_length() > 10_000  # Python refuses to show it
    text = "<int>" if is_long else " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def kind_of(dtype: object) -> str:
    """Kind of a dtype of any library: "bool", "int", "float", "complex", or "" for others."""
    found = _KINDS.match(str(getattr(dtype, "name", dtype)).rpartition(".")[2])
    return found[found.lastindex or 0] if found else ""


def _cast(argument: str, dtype: object, to: str) -> str:
    """The expression that casts an array of this dtype in its own library. `to`: data.dtype or an integer dtype."""
    library, dot, _ = str(dtype).rpartition(".")
    if library == "torch":
        return f"{argument}.to({to if '.' in to else f'torch.{to}'})"
    if dot:  # a library that follows the array API standard
        return f"astype({argument}, {to})"
    return f"{argument}.astype({to if '.' in to else repr(to)})"


def out_of_bounds(
    op: Operator,
    position: Sequence[int],
    found: int | tuple[int, ...],
    shape: Sequence[int],
    axis: int,
    index: int,
) -> IndexError:
    """`found`: the tuple, or single index, at that position of the indices. `index`: the bad index in it."""
    place = f"{op.indices}[{', '.join(map(str, position))}]" if position else op.indices
    reason = f", and {op.negatives}" if index < 0 and op.negatives else ""
    return IndexError(
        f"{op.name}: {place} = {found} is out of bounds for {op.data} of shape {tuple(shape)}: "
        f"axis {axis} has size {shape[axis]}{reason}"
    )


def changed_meanwhile(op: Operator, what: str = "") -> RuntimeError:
    return RuntimeError(f"{op.name}: {what or op.indices} changed during the call; change nothing before it returns")


def no_memory(op: Operator) -> MemoryError:
    return MemoryError(
        f"{op.name}: no memory to note which destinations have updates; pass fewer rows of data at a time"
    )


def too_large(op: Operator, argument: str, shape: Sequence[int], n_bytes: int) -> Exception:
    """For more bytes than a size has, and for more than the system gives."""
    what = f"{op.argument(argument) if argument else 'a result'} of shape {tuple(shape)}"
    if n_bytes > sys.maxsize:
        return ValueError(
            f"{op.name}: {what} would be {n_bytes} bytes, more than an array can have; pass fewer indices"
        )
    return MemoryError(f"{op.name}: no memory for {what}, {n_bytes} bytes; pass fewer indices at a time")


def many_axes(op: Operator, argument: str, n: int, most: int) -> ValueError:
    name = op.argument(argument) if argument else op.indices
    what = name if argument else "the result"
    return ValueError(f"{op.name}: {what} has {n} axes, but at most {most} are possible; pass {name} with fewer axes")


# Synonyms of the words that options accept, from other libraries.
_SYNONYMS = (
    *((record.name, *record.synonyms) for record in REDUCTIONS.values()),
    ("sub", "subtract", "-"),
    ("raise", "error", "strict", "check"),
    ("clip", "clamp", "nearest", "edge", "border"),
    ("wrap", "modulo", "mod", "periodic", "circular"),
    ("fill", "drop", "constant", "zero", "zeros", "nan", "ignore", "skip"),  # fill: gathers; drop: scatters
    ("promise_in_bounds", "promise", "unchecked", "unsafe"),
)


def _nearest(word: str, accepted: Sequence[str]) -> str | None:
    """The accepted word that the user most likely meant, or None."""
    word = word.strip().lower()
    lowered = {ours.lower(): ours for ours in accepted}
    known = [same for same in _SYNONYMS if word in same]
    found = [ours for ours in lowered if ours in known[0]] if known else difflib.get_close_matches(word, lowered, n=1)
    return lowered[found[0]] if found else None


def unknown_word(op: Operator, argument: str, word: object, accepted: Sequence[str]) -> ValueError:
    meant = _nearest(str(word), accepted)
    hint = f"; did you mean {meant!r}?" if meant else ""
    return ValueError(f"{op.name}: {argument}={_shown(word)} is not one of {_listed(accepted)}{hint}")


def reduction_dtype(op: Operator, reduction: str, dtype: object, supported: Iterable[str]) -> TypeError:
    return TypeError(
        f"{op.name}: reduction={reduction!r} is not for dtype {dtype}; "
        f"convert {op.data} and {op.updates} to one that it takes: {', '.join(supported)}"
    )


def updates_shape(op: Operator, found: Sequence[int], expected: Sequence[int]) -> ValueError:
    found, expected = tuple(found), tuple(expected)
    fix = f"pass shape {expected}, or a Python scalar"
    if len(found) <= len(expected) and all(n in (1, m) for n, m in zip(found[::-1], expected[::-1], strict=False)):
        return ValueError(
            f"{op.name}: {op.updates} has shape {found} and is not broadcast; "
            f"pass broadcast_to({op.updates}, {expected})"
        )
    if len(found) == 2 and found[::-1] == expected:
        fix = f"pass shape {expected}, which {op.updates}.T has"
    return ValueError(f"{op.name}: {op.updates} has shape {found}; {fix}")


def updates_dtype(op: Operator, found: object, expected: object) -> TypeError:
    kinds = ("bool", "int", "float", "complex")
    ours, theirs = kind_of(expected), kind_of(found)
    # Suggest a cast to the wider kind, which loses no values.
    data_is_narrower = ours in kinds and theirs in kinds and kinds.index(ours) < kinds.index(theirs)
    if data_is_narrower:
        fix = _cast(op.data, expected, f"{op.updates}.dtype")
    else:
        fix = _cast(op.updates, found, f"{op.data}.dtype")
    return TypeError(f"{op.name}: {op.updates} has dtype {found}, but {op.data} has {expected}; pass {fix}")


def updates_values(op: Operator, found: object, expected: object) -> TypeError:
    return TypeError(
        f"{op.name}: {op.updates} is a list of {found} values, "
        f"not all of which {op.data}'s dtype {expected} holds unchanged; "
        f"pass values of that dtype, or {op.data} of theirs"
    )


def foreign_mode(op: Operator, mode: str, instead: str) -> ValueError:
    family = "scatters" if mode == "drop" else "gathers"
    return ValueError(f"{op.name}: mode={mode!r} is for {family} only; use mode={instead!r}")


def not_integer(op: Operator, argument: str, value: object) -> TypeError:
    fix = "pass an int"
    if (isinstance(value, float) and value.is_integer()) or (isinstance(value, str) and value.isdecimal()):
        fix = f"pass {argument}={int(value)}"
    elif argument == "axis" and value is None:
        fix = f"for all elements in one row pass reshape({op.data}, (-1,)) and axis=0"
    elif argument == "axis" and isinstance(value, (tuple, list)):
        fix = f"pass one axis, or call {op.name.partition('_')[0]}_nd for several"
    return TypeError(f"{op.name}: {argument}={_shown(value)} is not an integer; {fix}")


def not_bool(op: Operator, argument: str, value: object) -> TypeError:
    return TypeError(f"{op.name}: {argument}={_shown(value)} is not a bool; pass True or False")


def not_string(op: Operator, argument: str, value: object, accepted: Sequence[str] = ()) -> TypeError:
    # None by its repr, functions such as max and numpy.add by their names.
    meant = _nearest(str(getattr(value, "__name__", value)), accepted)
    fix = f"did you mean {meant!r}?" if meant else f"pass one of {_listed(accepted)}" if accepted else "pass a str"
    return TypeError(f"{op.name}: {argument}={_shown(value)} is not a string; {fix}")


def shape_rule(op: Operator, rule: str) -> ValueError:
    return ValueError(f"{op.name}: {rule}")


def no_axis(op: Operator) -> ValueError:
    return ValueError(f"{op.name}: {op.data} has shape () and so no axis to index; pass reshape({op.data}, (1,))")


def no_tuples(op: Operator) -> ValueError:
    return ValueError(
        f"{op.name}: {op.indices} has shape () and so no last axis that holds the tuples; "
        f"pass reshape({op.indices}, (1,))"
    )


def axis_range(op: Operator, axis: int, data: Sequence[int]) -> ValueError:
    r = len(data)
    return ValueError(
        f"{op.name}: axis={_shown(axis)} is not in [{-r}, {r - 1}] for {op.data} of shape {tuple(data)}; "
        "pass 0 for its first axis, -1 for its last"
    )


def batch_range(
    op: Operator, batch_dims: int, highest: int, data: Sequence[int], indices: Sequence[int], axis: int | None
) -> ValueError:
    fix = f"0 to {highest}" if highest else "0"
    if batch_dims < 0:
        reason = "it is a number of leading axes"
    elif axis is not None and highest == axis:
        reason = f"batch axes stand in front of axis={axis}"
        fix += ", or a later axis" if axis < len(data) - 1 else ""
    elif axis is None and highest == len(data):
        reason = f"{op.data} of shape {tuple(data)} has {_axes(highest)}"
    else:
        in_front = " in front of its tuples" if axis is None else ""
        reason = f"{op.indices} of shape {tuple(indices)} has {_axes(highest)}{in_front}"
    return ValueError(
        f"{op.name}: batch_dims={_shown(batch_dims)} is not in [0, {highest}], since {reason}; pass {fix}"
    )


def batch_sizes(op: Operator, data: Sequence[int], indices: Sequence[int], batch_dims: int) -> ValueError:
    ours, theirs = tuple(data[:batch_dims]), tuple(indices[:batch_dims])
    if all(m in (1, n) for n, m in zip(ours, theirs, strict=True)):
        fix = f"they are not broadcast: pass broadcast_to({op.indices}, {ours + tuple(indices[batch_dims:])})"
    else:
        fix = "pass arrays that have them in common, or another batch_dims"
    return ValueError(
        f"{op.name}: with batch_dims={batch_dims} {op.data} and {op.indices} share their leading sizes, "
        f"but {op.data} has {ours} and {op.indices} {theirs}; {fix}"
    )


def long_tuples(op: Operator, data: Sequence[int], indices: Sequence[int], batch_dims: int) -> ValueError:
    data, indices = tuple(data), tuple(indices)
    left = len(data) - batch_dims
    beyond = f" beyond batch_dims={batch_dims}" if batch_dims else ""
    if left == 0:
        fix = "pass a smaller batch_dims" if batch_dims else f"pass reshape({op.data}, (1,))"
    elif not batch_dims and len(indices) > 1 and 1 < indices[0] <= left:  # as returned by numpy.nonzero
        fix = f"tuples stand along the last axis: pass moveaxis({op.indices}, 0, -1)"
    else:
        fix = f"for tuples of 1 index pass {op.indices}[{':' if len(indices) == 1 else '...'}, None]"
    n = next(reversed(indices))
    held = "1 index" if n == 1 else f"{n} indices"
    return ValueError(
        f"{op.name}: {op.indices} of shape {indices} holds tuples of {held}, "
        f"but {op.data} of shape {data} has {_axes(left)}{beyond}; {fix}"
    )


def other_rank(op: Operator, data: Sequence[int], indices: Sequence[int]) -> ValueError:
    return ValueError(
        f"{op.name}: {op.indices} of shape {tuple(indices)} has {_axes(len(indices))}, "
        f"but {op.data} of shape {tuple(data)} "
        f"has {len(data)}; pass as many, or call {op.name.partition('_')[0]}, which takes any"
    )


def longer(op: Operator, data: Sequence[int], indices: Sequence[int], axis: int, other: int) -> ValueError:
    return ValueError(
        f"{op.name}: {op.indices} of shape {tuple(indices)} is longer than {op.data} of shape {tuple(data)} "
        f"along axis {other}, "
        f"but only axis={axis} may be longer; pass shorter {op.indices}, or axis={other}"
    )


def unknown_size(op: Operator, argument: str, axis: int) -> ValueError:
    argument = op.argument(argument)
    return ValueError(
        f"{op.name}: {argument} has unknown chunk sizes along axis {axis}, which has to be known; "
        f"call {argument}.compute_chunk_sizes() first"
    )


def unknown_chunks(op: Operator, axis: int, indices: int, updates: int) -> ValueError:
    return ValueError(
        f"{op.name}: along axis {axis} {op.indices} has {indices} chunks but {op.updates} has {updates}, "
        "and chunks of unknown sizes cannot be rechunked; call compute_chunk_sizes() on both first"
    )


def chunk_shape(op: Operator, found: Sequence[int], expected: Sequence[int]) -> ValueError:
    return ValueError(
        f"{op.name}: a chunk of {op.updates} has shape {tuple(found)}, "
        f"but the chunk of {op.indices} has {tuple(expected)}; "
        f"pass {op.updates} with chunks of the same sizes"
    )


def index_dtype(op: Operator, dtype: object, data: object = None) -> TypeError:
    """`data`: data's dtype, if known."""
    kind = kind_of(dtype)
    if kind == "bool":
        if op.kind == ND:
            fix = f"pass the tuples of its true elements, argwhere({op.indices})"
        elif op.kind == ELEMENTS:
            fix = f"pass integers, or use where({op.indices}, ..., ...)"
        else:
            fix = f"pass the numbers of its true elements, flatnonzero({op.indices})"
        return TypeError(f"{op.name}: {op.indices} has dtype {dtype}, which makes it a mask; {fix}")
    fix = f"pass {_cast(op.indices, dtype, 'int64')}"
    if kind_of(data) == "int" and kind in ("float", "complex"):
        fix += f", or swap {op.data} and {op.indices} if they are the wrong way round"
    return TypeError(f"{op.name}: {op.indices} has dtype {dtype}, but indices are integers of 8 to 64 bits; {fix}")


def index_values(op: Operator, dtype: object) -> TypeError:
    return TypeError(f"{op.name}: {op.indices} holds {dtype}, but indices are integers; pass integers of 8 to 64 bits")


def no_tuple_length(op: Operator, n_axes: int) -> ValueError:
    return ValueError(
        f"{op.name}: {op.indices} is an empty list, which does not say how long its tuples are; "
        f"pass an array of integers of shape (0, {n_axes})"
    )


def mixed_libraries(op: Operator, first: tuple[str, object], second: tuple[str, object]) -> TypeError:
    ours, theirs = type_name(first[1]), type_name(second[1])
    one, other = op.argument(first[0]), op.argument(second[0])
    maker = _MAKERS.get(ours.partition(".")[0])
    fix = f"pass {maker}({other})" if maker else "convert them to one library"
    return TypeError(f"{op.name}: {one} is {_a(ours)} but {other} is {_a(theirs)}; {fix}")


def not_an_array(op: Operator, argument: str, value: object) -> TypeError:
    otherwise = "pass an array of integers" if argument == "indices" else "pass an array"
    argument = op.argument(argument)
    if value is None:
        return TypeError(f"{op.name}: {argument} is None; pass an array")
    name = type_name(value)
    if name.startswith("tensorflow."):
        fix = f"call gatherscatter.tensorflow, or pass {argument}.numpy()"
    elif isinstance(value, type):
        fix = "pass an array, not its class"
    elif hasattr(value, "to_dask_array"):
        fix = f"pass {argument}.to_dask_array(lengths=True)"
    elif hasattr(value, "to_numpy"):  # pandas, xarray, Polars
        fix = f"pass {argument}.to_numpy()"
    elif hasattr(value, "toarray") or hasattr(value, "todense"):  # SciPy's sparse arrays, and others
        fix = f"pass {argument}.{'toarray' if hasattr(value, 'toarray') else 'todense'}()"
    elif hasattr(value, "__array__") or name in ("array.array", "bytearray", "memoryview"):
        fix = f"pass numpy.asarray({argument})"
    elif isinstance(value, dict):
        fix = f"pass list({argument}.values())"
    elif isinstance(value, Iterable):
        fix = f"pass list({argument})"
    else:
        fix = otherwise
    return TypeError(f"{op.name}: {argument} is {_a(name)}, which is not an array; {fix}")


def masked(op: Operator, argument: str) -> TypeError:
    argument = op.argument(argument)
    return TypeError(
        f"{op.name}: {argument} is a masked array, whose mask would be lost; pass {argument}.filled(...), "
        f"or {argument}.data and its mask in two calls"
    )


def meaningful_subclass(op: Operator, argument: str, value: object) -> TypeError:
    argument = op.argument(argument)
    return TypeError(
        f"{op.name}: {argument} is {_a(type_name(value))}, whose meaning beyond its numbers would be lost; "
        f"pass numpy.asarray({argument})"
    )


def not_convertible(op: Operator, argument: str, reason: object) -> ValueError:
    argument = op.argument(argument)
    text = " ".join(str(reason).split())
    if "inhomogeneous" in text or "expected sequence of length" in text:  # NumPy's and PyTorch's messages
        return ValueError(f"{op.name}: {argument} is a ragged list; pass lists of equal lengths, padded where need be")
    return ValueError(f"{op.name}: {argument} cannot be made an array ({text.rstrip('.')[:120]}); pass numbers")


def out_type(op: Operator, out: object, expected: str) -> TypeError:
    return TypeError(f"{op.name}: out is {_a(type_name(out))}; pass {_a(expected)}")


def out_shape(op: Operator, found: Sequence[int], expected: Sequence[int]) -> ValueError:
    found, expected = tuple(found), tuple(expected)
    return ValueError(f"{op.name}: out has shape {found}, but the result has shape {expected}; pass out of that shape")


def out_dtype(op: Operator, found: object, expected: object) -> TypeError:
    return TypeError(
        f"{op.name}: out has dtype {found}, but the result has {op.data}'s dtype {expected}; pass out of that dtype"
    )


def out_read_only(op: Operator) -> ValueError:
    return ValueError(f"{op.name}: out is read-only; pass an array that can be written to")


def out_gradient(op: Operator, argument: str) -> RuntimeError:
    return RuntimeError(
        f"{op.name}: {op.argument(argument)} requires grad, and autograd cannot differentiate a call with out=; leave "
        f"out= away, or call {op.name} in torch.no_grad()"
    )


def out_inference(op: Operator) -> RuntimeError:
    return RuntimeError(
        f"{op.name}: out is an inference tensor, which only torch.inference_mode() may write to; pass out.clone()"
    )


def storage(op: Operator, argument: str, shape: Sequence[int], n_bytes: int) -> ValueError:
    return ValueError(
        f"{op.name}: {op.argument(argument)} has shape {tuple(shape)}, but its storage has only {n_bytes} bytes; "
        "restore it by untyped_storage().resize_()"
    )


def not_scalar(op: Operator, argument: str, shape: Sequence[int]) -> ValueError:
    argument = op.argument(argument)
    return ValueError(f"{op.name}: {argument} has shape {tuple(shape)}; pass a scalar")


def not_readable(op: Operator, argument: str, value: object) -> TypeError:
    argument = op.argument(argument)
    return TypeError(f"{op.name}: {argument}={_shown(value)} has no value at the call; pass a Python number")


def value_dtype(op: Operator, argument: str, value: object, dtype: object, without: str = "") -> TypeError:
    """`without`: for a NumPy scalar, the Python type (without a dtype) in which its value would be accepted."""
    argument = op.argument(argument)
    fix = f"pass {without}({argument}), without a dtype of its own" if without else "pass a value of that dtype"
    return TypeError(
        f"{op.name}: {argument}={_shown(value)} cannot be held by {op.data}'s dtype {dtype} unchanged; {fix}"
    )


def devices_differ(op: Operator, argument: str, found: object, expected: object) -> ValueError:
    argument = op.argument(argument)
    return ValueError(f"{op.name}: {argument} is on {found}, but {op.data} is on {expected}; move it there")


def empty_axis(op: Operator, shape: Sequence[int], axis: int) -> IndexError:
    return IndexError(
        f"{op.name}: no index can be placed in axis {axis} of {op.data} of shape {tuple(shape)}: it has size 0"
    )


def untraceable_mode(backend: str, op: Operator, mode: str, instead: Iterable[str]) -> NotImplementedError:
    reason = f"an error cannot depend on values that are only known later; pass mode= one of {_listed(instead)}"
    return cannot(backend, op, f"mode={mode!r} with traced {op.indices} (jit, vmap)", reason)


def cannot(backend: str, op: Operator, argument: str, reason: str) -> NotImplementedError:
    return NotImplementedError(f"{op.name}: the {backend} backend cannot do {argument}: {reason}")


def source_dtype(op: Operator, argument: str, dtype: object, accepted: Iterable[str]) -> TypeError:
    """A dtype that the source's document does not allow."""
    return TypeError(
        f"{op.name}: {op.argument(argument)} has dtype {dtype}, but {op.source} takes {', '.join(accepted)}: "
        "convert it to one of these"
    )


def since_version(op: Operator, what: str, version: str) -> ValueError:
    """A feature that this version lacks. `version`: the one that introduced it."""
    return ValueError(f"{op.name}: {what}; it comes with {version}")
