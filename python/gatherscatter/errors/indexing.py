"""Messages about the index of `at`, and about updates that do not fit the indexed shape."""

from collections.abc import Sequence

from gatherscatter.errors.text import a, kind_of, n_axes, shown, type_name
from gatherscatter.operators import Operator

_ITEMS = "integers, slices, ..., None, and arrays of integers or bools"


def not_an_index(op: Operator, item: object) -> IndexError:
    fix = f"pass {_ITEMS}"
    if isinstance(item, float) and item.is_integer():
        fix = f"pass {int(item)}"
    elif hasattr(item, "__array__") or hasattr(item, "__iter__"):
        fix = "pass numpy.asarray(...) of it"
    if isinstance(item, (str, bytes)):
        fix = f"pass {_ITEMS}"
    return IndexError(f"{op.name}: {shown(item)} is {a(type_name(item))}, which is not an index; {fix}")


def array_dtype(op: Operator, dtype: object) -> IndexError:
    held = "numbers" if kind_of(dtype) in ("float", "complex") else "elements"
    return IndexError(
        f"{op.name}: an index array holds {held} of dtype {dtype}; pass integers of 8 to 64 bits, or bools for a mask"
    )


def slice_item(op: Operator, item: slice) -> TypeError:
    return TypeError(f"{op.name}: {shown(item)} has a bound that is not an integer; pass ints or None")


def slice_step(op: Operator, item: slice) -> ValueError:
    return ValueError(f"{op.name}: {shown(item)} has the step 0; pass a step of 1, or omit it")


def too_many(op: Operator, n: int, shape: Sequence[int]) -> IndexError:
    r = len(shape)
    fix = f"pass at most {r}" if r else "pass (), ... or None"
    return IndexError(
        f"{op.name}: the index has items for {n_axes(n)}, but {op.data} of shape {tuple(shape)} has {n_axes(r)}; {fix}"
    )


def ellipses(op: Operator, n: int) -> IndexError:
    return IndexError(f"{op.name}: the index has {n} ellipses (...); pass one, and : for each other axis")


def mask_shape(op: Operator, found: Sequence[int], shape: Sequence[int], axis: int) -> IndexError:
    found = tuple(found)
    expected = tuple(shape[axis : axis + len(found)])
    axes, has = (f"axis {axis}", "has") if len(found) == 1 else (f"axes {axis} to {axis + len(found) - 1}", "have")
    return IndexError(
        f"{op.name}: a mask has shape {found}, but {axes} of {op.data} of shape {tuple(shape)} {has} {expected}; "
        f"pass a mask of shape {expected}"
    )


def arrays_shapes(op: Operator, shapes: Sequence[Sequence[int]]) -> IndexError:
    listed = ", ".join(str(tuple(shape)) for shape in shapes)
    return IndexError(
        f"{op.name}: index arrays of shapes {listed} do not broadcast to one shape; pass arrays that do, "
        "or numpy.ix_(...) of them for every combination"
    )


def out_of_bounds(
    op: Operator, position: Sequence[int], found: int | tuple[int, ...], shape: Sequence[int], axis: int, index: int
) -> IndexError:
    """`found`: the indices at that position of the index arrays. `index`: the bad one. `shape`: of x."""
    place = f" at position {tuple(position)}" if position else ""
    reason = f", and {op.negatives}" if index < 0 and op.negatives and shape[axis] else ""
    return IndexError(
        f"{op.name}: index {shown(found)}{place} is out of bounds for an array of shape {tuple(shape)}: "
        f"axis {axis} has size {shape[axis]}{reason}"
    )


def unknown_mask(op: Operator, kind: str, where: str) -> NotImplementedError:
    """`kind`: the name of masks of which no element is known at the call. `where`: the library's function."""
    if op.scatters:
        fix = f"pass a scalar for {op.updates}, or use {where}(mask, {op.updates}, {op.data})"
    else:
        fix = f"use {where}(mask, {op.data}, fill_value), or pass integers"
    return NotImplementedError(
        f"{op.name}: the number of elements that {a(f'{kind} mask')} selects is unknown at the call; {fix}"
    )


def updates_broadcast(op: Operator, found: Sequence[int], expected: Sequence[int]) -> ValueError:
    return ValueError(
        f"{op.name}: {op.updates} has shape {tuple(found)}, which does not broadcast to the indexed shape "
        f"{tuple(expected)}; pass a scalar, or an array that does"
    )


def updates_kind(op: Operator, found: object, expected: object) -> TypeError:
    return TypeError(
        f"{op.name}: {op.updates} of dtype {found} cannot be cast to {op.data}'s dtype {expected} by the rule "
        f"same_kind; convert {op.updates}, or {op.data} to the wider dtype"
    )


def too_many_dimensions(op: Operator, n: int) -> IndexError:
    return IndexError(
        f"{op.name}: {op.data} has {n} dimensions, too many for slices and integers alone, which take one more here; "
        "reshape it to fewer, or index an axis by an array"
    )


def no_subtract(op: Operator, dtype: object) -> TypeError:
    return TypeError(
        f"{op.name}: subtract does not support dtype {dtype}; convert {op.data} and {op.updates} to integers"
    )


def no_function(op: Operator, method: str, dtype: object) -> TypeError:
    """`method`: divide or power."""
    kind = kind_of(dtype)
    fix = f"convert {op.data} to floats" if kind in ("int", "bool") else f"convert {op.data} to numbers"
    if kind == "bool" and method == "power":
        fix = f"convert {op.data} to integers"
    return TypeError(f"{op.name}: {method} does not support dtype {dtype}; {fix}")


def negative_exponent(op: Operator) -> ValueError:
    return ValueError(
        f"{op.name}: {op.updates} has a negative exponent, and {op.data} holds integers; convert {op.data} to floats"
    )


def copy_value(op: Operator, copy: object) -> ValueError:
    return ValueError(f"{op.name}: copy={shown(copy)} is not one of None, True and False; pass one of these")


def copy_and_out(op: Operator, copy: object) -> ValueError:
    own = "out is x" if copy else "out is another array than x"
    return ValueError(f"{op.name}: copy={shown(copy)}, but {own}; omit copy= or out=")


def copy_read_only(op: Operator, array: object) -> ValueError:
    return ValueError(
        f"{op.name}: copy=False, but {op.data}, {a(type_name(array))}, cannot be written to; omit copy=, and use the "
        "returned array"
    )


def not_writable(op: Operator, array: object) -> NotImplementedError:
    return NotImplementedError(
        f"{op.name}: {a(type_name(array))} cannot be written to, so a slice of it cannot be updated; "
        f"index whole axes, or pass numpy.asarray({op.data})"
    )
