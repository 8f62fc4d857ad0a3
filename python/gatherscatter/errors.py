"""Every message, built in one place: each names the operator, the argument, what was found, and the fix."""

import difflib
from collections.abc import Iterable, Sequence


def type_name(value: object) -> str:
    """Name a value's type as a user would import it: torch.Tensor, numpy.ndarray, list."""
    kind = type(value)
    module = kind.__module__.partition(".")[0]
    return kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}"


def _listed(words: Iterable[str]) -> str:
    return ", ".join(map(repr, words))


def out_of_bounds(
    operator: str, position: Sequence[int], found: int | tuple[int, ...], shape: Sequence[int], axis: int
) -> IndexError:
    place = f"indices[{', '.join(map(str, position))}]" if position else "indices"
    return IndexError(
        f"{operator}: {place} = {found} is out of bounds for data of shape {tuple(shape)}: "
        f"axis {axis} has size {shape[axis]}"
    )


def changed_meanwhile(operator: str) -> RuntimeError:
    return RuntimeError(f"{operator}: indices changed while they were read; do not write to them during the call")


def unknown_mode(operator: str, mode: object, accepted: Sequence[str]) -> ValueError:
    near = difflib.get_close_matches(str(mode), accepted, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return ValueError(f"{operator}: mode={mode!r} is not one of {_listed(accepted)}{hint}")


# What other libraries call our reductions.
_REDUCTION_NAMES = {
    "sum": "add",
    "prod": "mul",
    "multiply": "mul",
    "amax": "max",
    "maximum": "max",
    "amin": "min",
    "minimum": "min",
    "average": "mean",
    "assign": "none",
    "set": "none",
    "update": "none",
}


def unknown_reduction(operator: str, reduction: str, accepted: Sequence[str]) -> ValueError:
    known = _REDUCTION_NAMES.get(reduction.lower())
    near = [known] if known else difflib.get_close_matches(reduction, accepted, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return ValueError(f"{operator}: reduction={reduction!r} is not one of {_listed(accepted)}{hint}")


def reduction_dtype(operator: str, reduction: str, dtype: object, supported: Iterable[str]) -> TypeError:
    return TypeError(f"{operator}: reduction={reduction!r} is not for dtype {dtype}; it takes {', '.join(supported)}")


def updates_shape(operator: str, found: Sequence[int], expected: Sequence[int]) -> ValueError:
    return ValueError(f"{operator}: updates has shape {tuple(found)}; pass shape {tuple(expected)}, or a Python scalar")


def updates_dtype(operator: str, found: object, expected: object) -> TypeError:
    return TypeError(f"{operator}: updates has dtype {found}, but data has {expected}: convert it with astype")


def foreign_mode(operator: str, mode: str, instead: str) -> ValueError:
    return ValueError(f"{operator}: mode={mode!r} is not for this operator; use mode={instead!r}")


def not_integer(operator: str, argument: str, value: object) -> TypeError:
    return TypeError(f"{operator}: {argument}={value!r} is not an integer")


def not_bool(operator: str, argument: str, value: object) -> TypeError:
    return TypeError(f"{operator}: {argument}={value!r} is not a bool; pass True or False")


def not_string(operator: str, argument: str, value: object) -> TypeError:
    return TypeError(f"{operator}: {argument}={value!r} is not a string")


def shape_rule(operator: str, rule: str) -> ValueError:
    return ValueError(f"{operator}: {rule}")


def unknown_size(operator: str, argument: str, axis: int) -> ValueError:
    return ValueError(
        f"{operator}: {argument} has unknown chunk sizes along axis {axis}, which has to be known; "
        f"call {argument}.compute_chunk_sizes() first"
    )


def unknown_chunks(operator: str, axis: int, indices: int, updates: int) -> ValueError:
    return ValueError(
        f"{operator}: chunks of unknown sizes meet one by one, but along axis {axis} of indices there are {indices} of "
        f"indices and {updates} of updates; call compute_chunk_sizes() on both first"
    )


def chunk_shape(operator: str, found: Sequence[int], expected: Sequence[int]) -> ValueError:
    return ValueError(
        f"{operator}: a chunk of updates has shape {tuple(found)} where that of indices has {tuple(expected)}; "
        "make updates for the same places"
    )


def index_dtype(operator: str, dtype: object) -> TypeError:
    return TypeError(
        f"{operator}: indices has dtype {dtype}; indices are integers, signed or unsigned, 8 to 64 bits: "
        "convert them with astype"
    )


def mixed_libraries(operator: str, first: tuple[str, object], second: tuple[str, object]) -> TypeError:
    return TypeError(
        f"{operator}: {first[0]} is a {type_name(first[1])} but {second[0]} is a {type_name(second[1])}: "
        "convert them to one library"
    )


def not_an_array(operator: str, argument: str, value: object) -> TypeError:
    if value is None:
        return TypeError(f"{operator}: {argument} is None; pass an array")
    fix = f"{argument}.to_numpy()" if hasattr(value, "to_numpy") else f"numpy.asarray({argument})"
    return TypeError(f"{operator}: {argument} is a {type_name(value)}, which is not an array; pass {fix}")


def masked(operator: str, argument: str) -> TypeError:
    return TypeError(
        f"{operator}: {argument} is a masked array, whose mask would be lost; pass {argument}.filled(...), "
        f"or {argument}.data and its mask in two calls"
    )


def meaningful_subclass(operator: str, argument: str, value: object) -> TypeError:
    return TypeError(
        f"{operator}: {argument} is a {type_name(value)}, whose meaning beyond its numbers would be lost; "
        f"pass numpy.asarray({argument})"
    )


def not_convertible(operator: str, argument: str, reason: object) -> ValueError:
    return ValueError(f"{operator}: {argument} cannot be made an array: {reason}")


def out_type(operator: str, out: object, expected: str) -> TypeError:
    return TypeError(f"{operator}: out is a {type_name(out)}; pass a {expected}")


def out_shape(operator: str, found: Sequence[int], expected: Sequence[int]) -> ValueError:
    return ValueError(f"{operator}: out has shape {tuple(found)}, but the result has shape {tuple(expected)}")


def out_dtype(operator: str, found: object, expected: object) -> TypeError:
    return TypeError(f"{operator}: out has dtype {found}, but the result has data's dtype {expected}")


def out_read_only(operator: str) -> ValueError:
    return ValueError(f"{operator}: out is read-only")


def not_scalar(operator: str, argument: str, shape: Sequence[int]) -> ValueError:
    return ValueError(f"{operator}: {argument} has shape {tuple(shape)}; pass a scalar")


def value_dtype(operator: str, argument: str, value: object, dtype: object) -> TypeError:
    return TypeError(
        f"{operator}: {argument}={value!r} cannot be held by data's dtype {dtype} unchanged; pass a value of that dtype"
    )


def devices_differ(operator: str, argument: str, found: object, expected: object) -> ValueError:
    return ValueError(f"{operator}: {argument} is on {found}, but data is on {expected}: move it there")


def empty_axis(operator: str, shape: Sequence[int], axis: int) -> IndexError:
    return IndexError(
        f"{operator}: no index can be placed in axis {axis} of data of shape {tuple(shape)}: it has size 0"
    )


def untraceable_mode(backend: str, operator: str, mode: str, instead: Iterable[str]) -> NotImplementedError:
    reason = f"an error cannot depend on values that are only known later; pass mode= one of {_listed(instead)}"
    return cannot(backend, operator, f"mode={mode!r} with traced indices (jit, vmap)", reason)


def cannot(backend: str, operator: str, argument: str, reason: str) -> NotImplementedError:
    return NotImplementedError(f"{operator}: the {backend} backend cannot do {argument}: {reason}")
