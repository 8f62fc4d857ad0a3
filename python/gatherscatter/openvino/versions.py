"""The versions of OpenVINO's operators, and what they share."""

from typing import Any

from gatherscatter import core, errors, values
from gatherscatter import plan as plans
from gatherscatter.operators import Operator

# The index types (T_IND) in the documents.
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
INT32_OR_INT64 = ("int32", "int64")


def operator(like: Operator, name: str, source: str, index_dtypes: tuple[str, ...], positive: str = "") -> Operator:
    """The record of an operator. positive: if it takes no negative indices, the advice in the error message."""
    return like.replace(
        name=f"openvino.{name}",
        source=source,
        index_dtypes=index_dtypes,
        wrap_negative_indices=not positive,
        broadcasts=False,
        negatives=f"{source} takes no negative index: {positive}" if positive else "",
    )


def of_version(operators: dict[int, Operator], version: object) -> Operator:
    """The record of a version of an operator."""
    for number, op in operators.items():
        if version == number:
            return op
    newest = list(operators.values())[-1]
    raise errors.shape_rule(newest, f"version={version!r} is not one of {', '.join(map(str, operators))}")


def one_axis(op: Operator, axis: Any) -> int:
    """Convert an axis that is a scalar, or a list or array of one element."""
    one: Any = axis
    if (isinstance(axis, (list, tuple)) and len(axis) == 1) or tuple(getattr(axis, "shape", ())) == (1,):
        one = axis[0]
    if not isinstance(one, int) and hasattr(one, "item"):  # arrays of some libraries have no __index__
        try:
            one = one.item()
        except (ValueError, TypeError, RuntimeError):  # several elements, or none that is known
            raise errors.not_integer(op, "axis", axis) from None
    return plans.integer(op, "axis", one)


def integers(op: Operator, name: str, given: Any) -> list[int]:
    """A list or an array of integers of one axis."""
    if not isinstance(given, (list, tuple)):
        if len(getattr(given, "shape", ())) != 1:
            raise errors.not_integers(op, name, given)
        given = [given[i] for i in range(int(given.shape[0]))]
    return [plans.integer(op, name, one) for one in given]


def fitted(op: Operator, data: Any, updates: Any, shape: tuple[int, ...]) -> Any:
    """Updates as an array of data's library: of its dtype and of this shape, or an error."""
    backend, (data, updates) = core.arrays(op, data=data, updates=updates)
    plan = plans.Plan(op, op.kind, "raise", True, 0, 1, 0, shape, (), shape)
    if isinstance(updates, values.TYPES):
        return backend.as_updates(plan, updates, data)
    if updates.dtype != data.dtype:
        raise errors.updates_dtype(op, updates.dtype, data.dtype)
    if tuple(updates.shape) != shape:
        raise errors.updates_shape(op, updates.shape, shape)
    backend.check_devices(plan, data, updates=updates)
    return updates
