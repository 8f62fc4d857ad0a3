"""Messages about the arguments of `bincount`."""

from collections.abc import Sequence

from gatherscatter.errors.text import a, cast, kind_of
from gatherscatter.operators import Operator


def values_dtype(op: Operator, dtype: object) -> TypeError:
    return TypeError(
        f"{op.name}: x has dtype {dtype}, but only integers can be counted; pass {cast('x', dtype, 'int64')}"
    )


def values_shape(op: Operator, shape: Sequence[int]) -> ValueError:
    return ValueError(f"{op.name}: x has shape {tuple(shape)}, but it must have one axis; pass reshape(x, (-1,))")


def weights_dtype(op: Operator, dtype: object) -> TypeError:
    fix = cast("weights", dtype, "int64") if kind_of(dtype) == "bool" else "integers, floats or complex numbers"
    return TypeError(f"{op.name}: weights has dtype {dtype}, which has no sums; pass {fix}")


def weights_shape(op: Operator, found: Sequence[int], expected: Sequence[int]) -> ValueError:
    return ValueError(
        f"{op.name}: weights has shape {tuple(found)}, but x has shape {tuple(expected)}; pass as many weights"
    )


def counts_dtype(op: Operator, name: str) -> TypeError:
    return TypeError(f"{op.name}: dtype={name!r} cannot hold counts; pass an integer or real floating dtype")


def negative_size(op: Operator, option: str, size: int) -> ValueError:
    return ValueError(f"{op.name}: {option}={size} is negative; pass 0 or more")


def unknown_size(op: Operator, kind: str) -> NotImplementedError:
    """`kind`: the name of arrays of which no element is known at the call."""
    return NotImplementedError(
        f"{op.name}: the greatest value of {a(f'{kind} x')} is unknown at the call; pass length="
    )
