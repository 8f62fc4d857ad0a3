"""Messages about segments."""

from collections.abc import Sequence

from gatherscatter.errors.text import cast, kind_of, listed, n_axes, shown
from gatherscatter.operators import Operator

_UNIQUE = "ids of labels are numpy.unique(labels, return_inverse=True)[1]; pass these"


def one_of_ids(name: str, both: bool) -> TypeError:
    found = "both segment_ids and indptr are given" if both else "segment_ids and indptr are missing"
    return TypeError(f"{name}: {found}; pass one of them")


def not_ids(op: Operator, dtype: object) -> TypeError:
    fix = _UNIQUE
    if kind_of(dtype) == "float":
        fix = f"ids that are whole numbers are {cast(op.indices, dtype, 'int64')}; pass these"
    elif str(dtype) == "object":
        fix = "ids of labels, of which some may be missing, are pandas.factorize(labels)[0]; pass these"
    return TypeError(
        f"{op.name}: {op.indices} has dtype {dtype}, but ids are integers of 8 to 64 bits from 0 on; {fix}"
    )


def ids_shape(op: Operator, ids: Sequence[int], data: Sequence[int], axis: int, batch_dims: int) -> ValueError:
    ids, data = tuple(ids), tuple(data)
    depth = max(len(ids) - batch_dims, 1)
    expected = data[:batch_dims] + data[axis : axis + depth]
    return ValueError(
        f"{op.name}: segment_ids has shape {ids}; with axis={axis} and batch_dims={batch_dims} it has one id for each "
        f"position of data of shape {data}: pass shape {expected}"
    )


def no_ids(op: Operator, batch_dims: int) -> ValueError:
    more = f"more than batch_dims={batch_dims} axes" if batch_dims else "at least one axis"
    return ValueError(f"{op.name}: {op.indices} needs {more}; pass an id for each position along the axis")


def id_out_of_bounds(op: Operator, position: Sequence[int] | None, found: int, n: int) -> IndexError:
    """position: None if it is not known."""
    which = "an id of" if position is None else f"segment_ids[{', '.join(map(str, position))}] ="
    skipped = "a negative id" if op.source else "mode='drop'"  # dialects have no modes
    return IndexError(
        f"{op.name}: {which} {found} is not below num_segments={n}; pass num_segments={found + 1} or more, or "
        f"{skipped} to leave such elements out"
    )


def mode(op: Operator, given: str, accepted: Sequence[str]) -> ValueError:
    return ValueError(
        f"{op.name}: mode={given!r} is not for segment ids, of which a negative one means no segment; "
        f"pass one of {listed(accepted)}"
    )


def unknown_number(op: Operator) -> ValueError:
    return ValueError(
        f"{op.name}: num_segments is missing, and the ids are only known later (traced or lazy); pass num_segments="
    )


def many_segments(op: Operator, n: int, n_ids: int) -> ValueError:
    return ValueError(
        f"{op.name}: the greatest of {n_ids} ids is {n - 1}, so that there would be {n} segments; pass num_segments= "
        f"if that is meant; {_UNIQUE}"
    )


def negative_number(op: Operator, n: int) -> ValueError:
    return ValueError(f"{op.name}: num_segments={n} is negative; pass 0 or more")


def indptr_number(op: Operator, n: int, expected: int) -> ValueError:
    return ValueError(f"{op.name}: num_segments={n}, but indptr has {expected} segments; pass no num_segments")


def indptr_shape(op: Operator, found: Sequence[int], data: Sequence[int], batch_dims: int) -> ValueError:
    return ValueError(
        f"{op.name}: indptr has shape {tuple(found)}; pass shape {tuple(data[:batch_dims])} and one more axis, of the "
        "number of segments + 1"
    )


def indptr_decreases(op: Operator, position: Sequence[int], before: int, found: int) -> ValueError:
    where = ", ".join(map(str, position))
    return ValueError(f"{op.name}: indptr[{where}] = {found} is below the {before} before it; pass sorted pointers")


def indptr_range(op: Operator, position: Sequence[int], found: int, size: int) -> IndexError:
    where = ", ".join(map(str, position))
    return IndexError(f"{op.name}: indptr[{where}] = {found} is not within [0, {size}], data's size along the axis")


def no_segments_of(op: Operator, reduction: str, dtype: object, supported: str, fix: str = "convert data") -> TypeError:
    return TypeError(f"{op.name}: reduction={reduction!r} does not support dtype {dtype}; it takes {supported}: {fix}")


def no_order(op: Operator, dtype: object) -> TypeError:
    return TypeError(f"{op.name}: data has dtype {dtype}; pass real numbers, bools or dates, which have an order")


def no_dates(op: Operator, method: str, dtype: object, accepted: Sequence[str], fix: str) -> TypeError:
    return TypeError(f"{op.name}: method={method!r} does not support dtype {dtype}; pass {listed(accepted)}, or {fix}")


def q_type(op: Operator, q: object) -> TypeError:
    return TypeError(f"{op.name}: q={shown(q)} is not a number from 0 to 1; pass one, or an array of one axis of them")


def q_axes(op: Operator, shape: Sequence[int]) -> ValueError:
    return ValueError(f"{op.name}: q has shape {tuple(shape)}; pass a number, or an array of one axis of numbers")


def q_unknown(op: Operator, kind: str) -> ValueError:
    return ValueError(f"{op.name}: q is a {kind} array, whose numbers are only known later; pass known ones")


def q_range(op: Operator, value: float) -> ValueError:
    fix = f"{value / 100:g} for {value:g} %" if 1 < value <= 100 else "numbers of that range"
    return ValueError(f"{op.name}: q={value:g} is not within 0 to 1; pass {fix}")


def seconds(dtype: str) -> str:
    """The call that makes numbers of dates or durations. As int64, NaT would be a number."""
    durations = "data" if dtype.startswith("timedelta") else "(data - numpy.datetime64(0, 's'))"
    return f"pass {durations} / numpy.timedelta64(1, 's'), in which NaT is NaN"


def list_of_reductions(op: Operator, value: list[object]) -> TypeError:
    return TypeError(f"{op.name}: reduction={shown(value)} is a list; pass a tuple, reduction={shown(tuple(value))}")


def not_real(op: Operator, value: object) -> TypeError:
    return TypeError(f"{op.name}: correction={shown(value)} is not a real number; pass 0 or 1")


def large_correction(op: Operator) -> ValueError:
    return ValueError(f"{op.name}: correction is an integer that no float64 holds; pass 0 or 1")


def no_correction(op: Operator, value: object) -> ValueError:
    return ValueError(f"{op.name}: correction={shown(value)} is for reduction='var' and 'std'; pass no correction")


def no_dtype(op: Operator, reduction: str, value: object, accepted: Sequence[str]) -> ValueError:
    return ValueError(
        f"{op.name}: dtype={shown(value)} is for reduction= one of {listed(accepted)}, not {reduction!r}; pass no dtype"
    )


def narrow_dtype(op: Operator, name: str, dtype: object) -> TypeError:
    return TypeError(
        f"{op.name}: dtype={name!r} cannot hold a result of {op.updates} of dtype {dtype}; pass a dtype of its kind"
    )


def dtype_of_dates(op: Operator, value: object, dtype: str) -> TypeError:
    return TypeError(
        f"{op.name}: dtype={shown(value)}, but results of dates have data's dtype, {dtype}; pass no dtype, "
        "and convert them"
    )


def empty_segment(op: Operator, reduction: str, position: Sequence[int] | None, dtype: object) -> ValueError:
    where = f"segment {', '.join(map(str, position))} has" if position else "some segment may have"
    option = "method" if op.name == "segment_quantile" else "reduction"
    return ValueError(
        f"{op.name}: {where} too few elements for {option}={reduction!r}, and {dtype} has no NaN to say so; "
        "pass fill_value="
    )


def no_exclusive(op: Operator, reduction: str, dtype: str) -> ValueError:
    return ValueError(
        f"{op.name}: exclusive=True is not for reduction={reduction!r} of {dtype}, which has no least or greatest "
        "value for the first element of a segment; pass exclusive=False"
    )


def no_gradient(op: Operator, reduction: str) -> NotImplementedError:
    return NotImplementedError(
        f"{op.name}: reduction={reduction!r} has no gradient; pass data without one, or logarithms with reduction='add'"
    )


def outs(op: Operator, found: object, n: int) -> TypeError:
    return TypeError(f"{op.name}: out={shown(found)} is not a tuple; pass {n} arrays, one for each reduction")


def no_memory(op: Operator) -> MemoryError:
    return MemoryError(f"{op.name}: no memory to group the elements; pass fewer elements or segments at a time")


def fills(op: Operator, found: object, n: int) -> ValueError:
    return ValueError(
        f"{op.name}: fill_value={shown(found)} is not {n} values, one for each reduction; pass None for the default"
    )


def values_shape(op: Operator, found: Sequence[int], leading: Sequence[int]) -> ValueError:
    return ValueError(
        f"{op.name}: values has shape {tuple(found)}; pass a value for each segment, of a shape that begins with "
        f"{tuple(leading)}"
    )


def element_of_none(op: Operator, position: Sequence[int], dtype: object) -> ValueError:
    where = ", ".join(map(str, position))
    return ValueError(
        f"{op.name}: element {where} belongs to no segment, and {dtype} has no NaN to say so; pass fill_value="
    )


# Of dialects


def prefix(op: Operator, ids: Sequence[int], data: Sequence[int]) -> ValueError:
    ids, data = tuple(ids), tuple(data)
    fix = f"pass shape {data[: len(ids)]}" if len(ids) <= len(data) else f"pass at most {n_axes(len(data))}"
    return ValueError(f"{op.name}: segment_ids has shape {ids}, but data's shape {data} does not begin with it; {fix}")


def one_axis(op: Operator, ids: Sequence[int], data: Sequence[int]) -> ValueError:
    return ValueError(
        f"{op.name}: segment_ids has shape {tuple(ids)}, but {op.source} takes one axis; pass an id for each position "
        f"along data's first axis, shape {tuple(data[:1])}"
    )


def not_sorted(op: Operator, i: int, before: int, found: int, unsorted: str) -> ValueError:
    """unsorted: the function that takes ids in any order, if there is one."""
    other = f", or call {unsorted}" if unsorted else ""
    return ValueError(f"{op.name}: segment_ids[{i}] = {found} is below the {before} before it; sort the ids{other}")


def negative_id(op: Operator, found: int) -> IndexError:
    return IndexError(f"{op.name}: segment_ids[0] = {found} is negative; {op.source} takes ids from 0 on")


def unknown_last_id(op: Operator, unsorted: str) -> ValueError:
    fix = f"call {unsorted}, which takes num_segments" if unsorted else "pass num_segments="
    return ValueError(
        f"{op.name}: the number of segments is missing, and the ids are only known later (traced or lazy); {fix}"
    )


# Of prepare


def only_for_segments(op: Operator, option: str, value: object, operator: str) -> TypeError:
    word = option if option != "num_segments" else f"num_segments={shown(value)}"  # the others are arrays
    fix = "pass indices=" if option == "segment_ids" else "pass axis= and other options by keyword"
    return TypeError(f"{op.name}: {word} is for operator='segment', not {operator!r}; {fix}")


def no_wrapping(op: Operator, value: object) -> TypeError:
    return TypeError(
        f"{op.name}: wrap_negative_indices={shown(value)} is not for operator='segment', where a negative id means no "
        "segment; call prepare without it"
    )


def ids_twice(op: Operator) -> TypeError:
    return TypeError(f"{op.name}: segment_ids= is given by position too; pass the ids once")
