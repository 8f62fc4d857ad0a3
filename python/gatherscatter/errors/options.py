"""Messages about options."""

from collections.abc import Iterable, Sequence

from gatherscatter.errors.foreign import OF_SEGMENTS
from gatherscatter.errors.text import listed, nearest, shown
from gatherscatter.operators import Operator
from gatherscatter.reductions import DTYPES


def unknown_choice(
    op: Operator, argument: str, word: object, accepted: Sequence[str], meant: str | None = None
) -> ValueError:
    """meant: the accepted string that means the same, if that is known."""
    meant = meant or nearest(str(word), accepted)
    hint = f"; did you mean {meant!r}?" if meant else ""
    if argument == "reduction" and word in OF_SEGMENTS:
        hint = "; call segment_reduce"
    return ValueError(f"{op.name}: {argument}={shown(word)} is not one of {listed(accepted)}{hint}")


def foreign_mode(op: Operator, mode: str, instead: str) -> ValueError:
    family = "scatters" if mode == "drop" else "gathers"
    return ValueError(f"{op.name}: mode={mode!r} is for {family} only; use mode={instead!r}")


def ignored_fill_value(error: IndexError, mode: str, value: object) -> IndexError:
    """The error of a gather, which mentions a fill_value that the mode ignores. 0 is the default of fill_value."""
    note = "; fill_value has an effect only with mode='fill'"
    if mode == "fill" or (type(value) is int and value == 0) or str(error).endswith(note):
        return error
    return IndexError(f"{error}{note}")


def not_integer(op: Operator, argument: str, value: object) -> TypeError:
    fix = "pass an int"
    if (isinstance(value, float) and value.is_integer()) or (isinstance(value, str) and value.isdecimal()):
        fix = f"pass {argument}={int(value)}"
    elif argument == "axis" and value is None:
        fix = f"for all elements in one row pass reshape({op.data}, (-1,)) and axis=0"
    elif argument == "axis" and isinstance(value, (tuple, list)):
        fix = f"pass one axis, or call {op.name.partition('_')[0]}_nd for several"
    return TypeError(f"{op.name}: {argument}={shown(value)} is not an integer; {fix}")


def not_integers(op: Operator, argument: str, value: object) -> TypeError:
    return TypeError(f"{op.name}: {argument}={shown(value)} is not a list of integers; pass one for each axis")


def not_bool(op: Operator, argument: str, value: object) -> TypeError:
    return TypeError(f"{op.name}: {argument}={shown(value)} is not a bool; pass True or False")


def not_string(op: Operator, argument: str, value: object, accepted: Sequence[str] = ()) -> TypeError:
    # Functions such as max and numpy.add are shown by their names.
    meant = nearest(str(getattr(value, "__name__", value)), accepted)
    fix = f"did you mean {meant!r}?" if meant else f"pass one of {listed(accepted)}" if accepted else "pass a str"
    return TypeError(f"{op.name}: {argument}={shown(value)} is not a string; {fix}")


def since_version(op: Operator, what: str, version: str) -> ValueError:
    """A feature that this version lacks. `version`: the one that introduced it."""
    return ValueError(f"{op.name}: {what}; it was added in {version}")


def reduction_dtype(op: Operator, reduction: str, dtype: object, supported: Iterable[str]) -> TypeError:
    return TypeError(
        f"{op.name}: reduction={reduction!r} does not support dtype {dtype}; "
        f"convert {op.data} and {op.updates} to one that it supports: {', '.join(supported)}"
    )


def accumulate_dtype(op: Operator, value: object, name: str, dtype: str, wider: Sequence[str]) -> TypeError:
    """`name`: of the dtype that the value names. `wider`: what can be passed."""
    fix = f"pass one of {listed(wider)}" if wider else f"no dtype is wider than {dtype}; omit it"
    if name not in DTYPES:
        return TypeError(f"{op.name}: accumulate_dtype={shown(value)} is not a dtype of reductions; {fix}")
    return TypeError(
        f"{op.name}: accumulate_dtype={name!r} is not a wider dtype of the same kind as {op.data}'s {dtype}; {fix}"
    )


def no_sum(op: Operator, reduction: str, dtype: str, summing: Sequence[str]) -> ValueError:
    return ValueError(
        f"{op.name}: accumulate_dtype={dtype!r} is for reduction= one of {listed(summing)}, and {reduction!r} never "
        "rounds; omit it"
    )
