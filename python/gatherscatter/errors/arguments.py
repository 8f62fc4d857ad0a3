"""Messages about arrays and scalars: their types, dtypes, values, devices and memory."""

import math
from collections.abc import Collection, Iterable, Sequence

from gatherscatter.errors.foreign import MISSING, missing
from gatherscatter.errors.text import a, cast, kind_of, listed, shown, type_name
from gatherscatter.operators import ELEMENTS, ND, Operator

# How to convert an array of another library to one of this library.
_MAKERS = {
    "numpy": "numpy.asarray",
    "torch": "torch.asarray",
    "jax": "jax.numpy.asarray",
    "cupy": "cupy.asarray",
    "dask": "numpy.asarray",  # a Dask call accepts NumPy arrays
    "array_api_strict": "array_api_strict.asarray",
}


def changed_meanwhile(op: Operator, what: str = "") -> RuntimeError:
    return RuntimeError(
        f"{op.name}: {what or op.indices} changed during the call; do not change an array before the call returns"
    )


def no_memory(op: Operator) -> MemoryError:
    return MemoryError(
        f"{op.name}: no memory to mark which destinations have updates; pass fewer rows of data at a time"
    )


def updates_shape(op: Operator, found: Sequence[int], expected: Sequence[int]) -> ValueError:
    found, expected = tuple(found), tuple(expected)
    fix = f"pass shape {expected}, or {'one that broadcasts to it' if op.broadcasts else 'a Python scalar'}"
    if len(found) <= len(expected) and all(n in (1, m) for n, m in zip(found[::-1], expected[::-1], strict=False)):
        return ValueError(
            f"{op.name}: {op.updates} has shape {found} and is not broadcast; "
            f"pass broadcast_to({op.updates}, {expected})"
        )
    if len(found) == 2 and found[::-1] == expected:
        fix = f"pass shape {expected}, which {op.updates}.T has"
    elif len(expected) == 1 < len(found) and math.prod(found) == expected[0]:
        fix = f"pass shape {expected}, which {op.updates}.reshape(-1) has"
    return ValueError(f"{op.name}: {op.updates} has shape {found}; {fix}")


def updates_dtype(op: Operator, found: object, expected: object) -> TypeError:
    kinds = ("bool", "int", "float", "complex")
    ours, theirs = kind_of(expected), kind_of(found)
    # Suggest a cast to the wider kind, which loses no values.
    data_is_narrower = ours in kinds and theirs in kinds and kinds.index(ours) < kinds.index(theirs)
    if "." in str(expected) and "." not in str(found):  # NumPy's array of rank 0, with arrays of another library
        fix = f"{op.updates}.item()"
    elif data_is_narrower:
        fix = cast(op.data, expected, f"{op.updates}.dtype")
    else:
        fix = cast(op.updates, found, f"{op.data}.dtype")
    return TypeError(f"{op.name}: {op.updates} has dtype {found}, but {op.data} has {expected}; pass {fix}")


def updates_values(op: Operator, found: object, expected: object) -> TypeError:
    return TypeError(
        f"{op.name}: {op.updates} is a list of {found} values that {op.data}'s dtype {expected} cannot hold unchanged; "
        f"pass values of that dtype, or {op.data} of another dtype"
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
    fix = f"pass {cast(op.indices, dtype, 'int64')}"
    if kind_of(data) == "int" and kind in ("float", "complex"):
        fix += f", or swap {op.data} and {op.indices} if they are the wrong way round"
    return TypeError(f"{op.name}: {op.indices} has dtype {dtype}, but indices are integers of 8 to 64 bits; {fix}")


def index_values(op: Operator, dtype: object) -> TypeError:
    return TypeError(f"{op.name}: {op.indices} holds {dtype}, but indices are integers; pass integers of 8 to 64 bits")


def index_arrays(op: Operator, indices: Sequence[object]) -> TypeError:
    """Indices that are a tuple or a list of arrays: one array for each axis, or arrays to be stacked."""
    at = f"gs.at({op.data})[{op.indices if isinstance(indices, tuple) else f'tuple({op.indices})'}]"
    call = f"{at}.set({op.updates}) or .add({op.updates})" if op.scatters else f"{at}.get()"
    if op.kind == ND:
        stacked = f" or pass stack({op.indices}, axis=-1), for arrays of tuples pass stack({op.indices})"
    else:
        stacked = f", for one array of indices pass stack({op.indices})"
    what = f"{op.indices} is {a(type_name(indices))} of arrays"
    return TypeError(f"{op.name}: {what}; for one array per axis call {call}{stacked}")


def mixed_libraries(op: Operator, first: tuple[str, object], second: tuple[str, object]) -> TypeError:
    ours, theirs = type_name(first[1]), type_name(second[1])
    one, other = op.argument(first[0]), op.argument(second[0])
    is_lazy = theirs.startswith("dask.")  # it is not computed for an array of another library
    maker = _MAKERS.get((theirs if is_lazy else ours).partition(".")[0])
    fix = f"pass {maker}({one if is_lazy else other})" if maker else "convert them to one library"
    return TypeError(f"{op.name}: {one} is {a(ours)} but {other} is {a(theirs)}; {fix}")


def not_an_array(op: Operator, argument: str, value: object) -> TypeError:
    if value is MISSING:
        return missing(op, argument)
    otherwise = "pass an array of integers" if argument == "indices" else "pass an array"
    is_data, argument = argument == "data", op.argument(argument)
    if value is None:
        return TypeError(f"{op.name}: {argument} is None; pass an array")
    name = type_name(value)
    if name.startswith("tensorflow."):
        fix = f"call gatherscatter.tensorflow, or pass {argument}.numpy()"
    elif isinstance(value, type):
        fix = "pass an array, not its class"
    elif name == "gatherscatter.Prepared":
        fix = f"call one of its methods, {argument}.gather(data) or {argument}.scatter(data, updates)"
    elif name == "gatherscatter.PreparedSegments":
        fix = f"call one of its methods, such as {argument}.reduce(data)"
    elif name == "gatherscatter.At":
        fix = f"pass {argument}.get()"
    elif hasattr(value, "to_dask_array"):  # only of data the lengths have to be known
        fix = f"pass {argument}.to_dask_array({'lengths=True' if is_data else ''})"
    elif str(getattr(value, "dtype", "")) == "category" and not is_data:  # pandas; the code of a missing label is -1
        fix = f"pass {argument}.{'codes' if hasattr(value, 'codes') else 'cat.codes.to_numpy()'}"
    elif hasattr(value, "to_numpy"):  # xarray, whose arrays may be lazy; pandas, Polars
        fix = f"pass {argument}.{'data' if hasattr(type(value), 'data') else 'to_numpy()'}"
    elif hasattr(value, "nnz"):  # a sparse array of SciPy or another library, which may be too large as a dense one
        others = getattr(value, "format", "") in ("dia", "dok", "lil")  # whose data is not a list of them
        fix = f"pass {argument}{'.tocoo()' if others else ''}.data, the elements that it stores"
    elif hasattr(value, "__array__") or name in ("array.array", "bytearray", "memoryview"):
        fix = f"pass numpy.asarray({argument})"
    elif isinstance(value, dict):
        fix = f"pass list({argument}.values())"
    elif isinstance(value, Iterable):
        fix = f"pass list({argument})"
    else:
        fix = otherwise
    return TypeError(f"{op.name}: {argument} is {a(name)}, which is not an array; {fix}")


def masked(op: Operator, argument: str) -> TypeError:
    argument = op.argument(argument)
    return TypeError(
        f"{op.name}: {argument} is a masked array, whose mask would be lost; pass {argument}.filled(...), "
        f"or {argument}.data and its mask in two calls"
    )


def meaningful_subclass(op: Operator, argument: str, value: object) -> TypeError:
    argument = op.argument(argument)
    return TypeError(
        f"{op.name}: {argument} is {a(type_name(value))}, whose additional information would be lost; "
        f"pass numpy.asarray({argument})"
    )


def not_convertible(op: Operator, argument: str, reason: object) -> ValueError:
    argument = op.argument(argument)
    text = " ".join(str(reason).split())
    if "inhomogeneous" in text or "expected sequence of length" in text:  # NumPy's and PyTorch's messages
        return ValueError(f"{op.name}: {argument} is a ragged list; pass lists of equal lengths, padded where need be")
    return ValueError(f"{op.name}: {argument} cannot be made an array ({text.rstrip('.')[:120]}); pass numbers")


def out_type(op: Operator, out: object, expected: str) -> TypeError:
    return TypeError(f"{op.name}: out is {a(type_name(out))}; pass {a(expected)}")


def out_shape(op: Operator, found: Sequence[int], expected: Sequence[int]) -> ValueError:
    found, expected = tuple(found), tuple(expected)
    return ValueError(f"{op.name}: out has shape {found}, but the result has shape {expected}; pass out of that shape")


def out_dtype(op: Operator, found: object, expected: object) -> TypeError:
    whose = (
        "" if op.updates == op.data else f"{op.data}'s "
    )  # without initial values, the result has a dtype of its own
    return TypeError(
        f"{op.name}: out has dtype {found}, but the result has {whose}dtype {expected}; pass out of that dtype"
    )


def size_limit(op: Operator, what: str, most: int) -> ValueError:
    return ValueError(f"{op.name}: {what} is more than an array can hold; pass at most {most}")


def out_read_only(op: Operator) -> ValueError:
    return ValueError(f"{op.name}: out is read-only; pass an array that can be written to")


def out_overlaps_itself(op: Operator) -> ValueError:
    return ValueError(
        f"{op.name}: elements of out share memory, as after broadcast_to or expand, so one would overwrite another; "
        "pass out with memory for each"
    )


def outs_share_memory(op: Operator) -> ValueError:
    return ValueError(f"{op.name}: two arrays of out share memory, so one result would overwrite another; pass others")


def out_gradient(op: Operator, argument: str) -> RuntimeError:
    return RuntimeError(
        f"{op.name}: {op.argument(argument)} requires grad, and autograd cannot differentiate a call with out=; omit "
        f"out=, or call {op.name} in torch.no_grad()"
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


def unknown_indices(op: Operator, kind: str) -> TypeError:
    """Indices to be prepared that cannot be read now. kind: the name of such arrays."""
    what = f"{op.indices} is {a(f'{kind} array')}, whose elements are unknown at the call"
    return TypeError(f"{op.name}: {what}; pass one whose elements are known, or call {op.name} itself")


def not_readable(op: Operator, argument: str, value: object) -> TypeError:
    argument = op.argument(argument)
    return TypeError(f"{op.name}: {argument}={shown(value)} has no value at the call; pass a Python number")


def value_dtype(op: Operator, argument: str, value: object, dtype: object) -> TypeError:
    return TypeError(
        f"{op.name}: {op.argument(argument)}={shown(value)} cannot be held by {op.data}'s dtype {dtype} unchanged; "
        f"pass {'True or False' if kind_of(dtype) == 'bool' else 'a value of that dtype'}"
    )


def devices_differ(op: Operator, argument: str, found: object, expected: object) -> ValueError:
    argument = op.argument(argument)
    return ValueError(f"{op.name}: {argument} is on {found}, but {op.data} is on {expected}; move it there")


def untraceable_mode(backend: str, op: Operator, mode: str, instead: Iterable[str]) -> NotImplementedError:
    whose = f"call a function of gatherscatter with mode= one of {listed(instead)}"  # dialects have no modes
    fix = whose if op.source else f"pass mode= one of {listed(instead)}"
    reason = f"an error cannot depend on values that are only known later; {fix}"
    return cannot(backend, op, f"mode={mode!r} with traced {op.indices} (jit, vmap)", reason)


def cannot(backend: str, op: Operator, argument: str, reason: str) -> NotImplementedError:
    return NotImplementedError(f"{op.name}: the {backend} backend does not support {argument}: {reason}")


def source_dtype(op: Operator, argument: str, dtype: object, accepted: Collection[str]) -> TypeError:
    """A dtype that the source's document does not allow."""
    return TypeError(
        f"{op.name}: {op.argument(argument)} has dtype {dtype}, but {op.source} takes {', '.join(accepted)}: "
        f"convert it{'' if len(accepted) == 1 else ' to one of these'}"
    )
