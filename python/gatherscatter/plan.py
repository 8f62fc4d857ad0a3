"""Step 1 of every operator: shapes and options become a validated, frozen plan. No array library is needed.

Plans are cached by shapes and options, so that a repeated call is not validated again.
"""

import math
from collections.abc import Callable, Iterable
from functools import lru_cache, wraps
from typing import Any, NamedTuple

import numpy as np

from gatherscatter import errors
from gatherscatter.operators import ARRAYS, AXIS, ELEMENTS, MODES, ND, Operator
from gatherscatter.reductions import REDUCTIONS, dtype_name, wider_dtypes

Shape = tuple[int, ...]

MOST = 1 << 48  # of a size that an argument states: as many bytes as a process can address


class Plan(NamedTuple):
    """A validated call: the indices at each position of `tuples` select one row of data."""

    operator: Operator  # for messages
    kind: int  # ND, AXIS, ELEMENTS or ARRAYS
    mode: str
    wrap_negative_indices: bool
    axis: int  # the first axis of data that is indexed
    depth: int  # how many axes are indexed: k for ND, the number of arrays for ARRAYS, else 1
    batch_dims: int
    tuples: Shape  # the shape of the positions
    row: Shape  # the shape of one row
    data: Shape  # the shape of data, and of a scatter's result
    reduction: str = "none"
    include_self: bool = True
    accumulate_dtype: str = ""  # in which sums and products are made; "": data's dtype
    orders: Any = None  # of prepared indices: a `kernels.Orders`, which only the kernels read

    @property
    def shape(self) -> Shape:
        """Shape of a gather's result and of a scatter's updates."""
        return self.tuples + self.row

    @property
    def n_tuples(self) -> int:
        return math.prod(self.tuples)

    @property
    def leading(self) -> Shape:
        """Sizes of the axes of data before those of the row; a position and its tuple index all of them."""
        return self.data[: len(self.data) - len(self.row)]

    @property
    def n_rows(self) -> int:
        return math.prod(self.leading)

    @property
    def sizes(self) -> Shape:
        """Sizes of the axes of data that are indexed."""
        return self.data[self.axis : self.axis + self.depth]

    @property
    def outer(self) -> Shape:
        """Sizes of the axes of data before the first indexed one, as indices have them: 1 for those that they lack."""
        b = self.axis if self.kind == ELEMENTS else self.batch_dims
        return self.data[:b] + (1,) * (self.axis - b)

    def index_position(self, position: Shape) -> Shape:
        """Convert a position in `tuples` to the position in indices (for ND, without the last axis) of its tuple."""
        return position[: self.batch_dims] + position[self.axis :] if self.kind in (AXIS, ARRAYS) else position


# Options


def integer(operator: Operator, option: str, value: object) -> int:
    try:
        return value.__index__()  # type: ignore[attr-defined]
    except (AttributeError, TypeError, RuntimeError):  # arrays have the method, but raise unless they are one integer
        raise errors.not_integer(operator, option, value) from None


def boolean(operator: Operator, option: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    if type(value).__name__ in ("bool", "bool_"):  # NumPy's
        return bool(value)
    raise errors.not_bool(operator, option, value)


def string(operator: Operator, option: str, value: object, accepted: tuple[str, ...] = ()) -> str:
    if not isinstance(value, str):
        raise errors.not_string(operator, option, value, accepted or operator.accepted(option))
    return str(value)


def choice(operator: Operator, option: str, value: object, accepted: tuple[str, ...]) -> str:
    """Check that the value of an option is one of the accepted ones."""
    found = string(operator, option, value, accepted)
    if found not in accepted:
        raise errors.unknown_choice(operator, option, found, accepted)
    return found


def without_negatives(operator: Operator, wrap_negative_indices: object) -> Operator:
    """The operator for this value of the option: negative indices are out of bounds if it is False."""
    wraps = boolean(operator, "wrap_negative_indices", wrap_negative_indices)
    return operator if wraps or not operator.wrap_negative_indices else operator.strict or operator


def accumulate_dtype(operator: Operator, value: object, dtype: str) -> str:
    """The name of the dtype to accumulate in; "" for data's own. dtype: data's, by name."""
    name = dtype_name(value)
    if name == dtype:
        return ""
    wider = wider_dtypes(dtype)
    if name not in wider:
        raise errors.accumulate_dtype(operator, value, name, dtype, wider)
    return name


# Shapes


def shape_of(indices: Any, kind: int) -> Shape:
    """The shape of indices, in the form that a plan uses; for kind ARRAYS, of the broadcast arrays and their number."""
    if kind != ARRAYS:
        return indices.shape
    shapes = [one.shape for one in indices]
    common = shapes[0] if shapes.count(shapes[0]) == len(shapes) else np.broadcast_shapes(*shapes)
    return (*common, len(indices))


def _check_mode(operator: Operator, mode: str) -> None:
    if mode in operator.modes:
        return
    if mode in MODES:
        raise errors.foreign_mode(operator, mode, "fill" if mode == "drop" else "drop")
    raise errors.unknown_choice(operator, "mode", mode, operator.modes)


def _check_batch(operator: Operator, data: Shape, indices: Shape, batch_dims: int, axis: int | None = None) -> None:
    """Check batch_dims. axis: for kind AXIS; None for kind ND."""
    r, q = len(data), len(indices)
    highest = min(q - 1, r) if axis is None else min(q, axis)
    if not 0 <= batch_dims <= highest:
        raise errors.batch_range(operator, batch_dims, highest, data, indices, axis)
    check_known(operator, "data", data, range(batch_dims))
    check_known(operator, "indices", indices, range(batch_dims))
    if data[:batch_dims] != indices[:batch_dims]:
        raise errors.batch_sizes(operator, data, indices, batch_dims)


def check_known(operator: Operator, argument: str, shape: Shape, axes: Iterable[int] | None = None) -> None:
    """Refuse unknown sizes (Dask's NaN) along axes whose sizes a rule needs, by default all."""
    for axis in range(len(shape)) if axes is None else axes:
        if isinstance(shape[axis], float):
            raise errors.unknown_size(operator, argument, axis)


def _positive_axis(operator: Operator, data: Shape, axis: int) -> int:
    r = len(data)
    if r == 0:
        raise errors.no_axis(operator)
    if not -r <= axis < r:
        raise errors.axis_range(operator, axis, data)
    return axis % r


def _plan_nd(operator: Operator, data: Shape, indices: Shape, axis: int, batch_dims: int, mode: str) -> Plan:
    r, q = len(data), len(indices)
    if q == 0:
        raise errors.no_tuples(operator)
    _check_batch(operator, data, indices, batch_dims)
    check_known(operator, "indices", indices, (q - 1,))
    k = indices[-1]
    if batch_dims + k > r:
        raise errors.long_tuples(operator, data, indices, batch_dims)
    check_known(operator, "data", data, range(batch_dims + k))
    row = data[batch_dims + k :]
    wrap = operator.wrap_negative_indices
    return Plan(operator, ND, mode, wrap, batch_dims, k, batch_dims, indices[:-1], row, data)


def _plan_axis(operator: Operator, data: Shape, indices: Shape, axis: int, batch_dims: int, mode: str) -> Plan:
    axis = _positive_axis(operator, data, axis)
    _check_batch(operator, data, indices, batch_dims, axis)
    check_known(operator, "data", data, (axis,))
    tuples = data[:axis] + indices[batch_dims:]
    wrap = operator.wrap_negative_indices
    return Plan(operator, AXIS, mode, wrap, axis, 1, batch_dims, tuples, data[axis + 1 :], data)


def _plan_elements(operator: Operator, data: Shape, indices: Shape, axis: int, batch_dims: int, mode: str) -> Plan:
    axis = _positive_axis(operator, data, axis)
    if len(indices) != len(data):
        raise errors.other_rank(operator, data, indices)
    check_known(operator, "data", data, range(len(data)))
    check_known(operator, "indices", indices, (d for d in range(len(data)) if d != axis))
    for d, (n, size) in enumerate(zip(indices, data, strict=True)):
        if d != axis and n > size:
            raise errors.longer(operator, data, indices, axis, d)
    return Plan(operator, ELEMENTS, mode, operator.wrap_negative_indices, axis, 1, 0, indices, (), data)


def _plan_arrays(operator: Operator, data: Shape, indices: Shape, axis: int, batch_dims: int, mode: str) -> Plan:
    """indices: the shape that the arrays have in common, and their number, as if they were one array of tuples."""
    *shape, k = indices
    axis = _positive_axis(operator, data, axis)
    if axis + k > len(data):
        raise errors.many_arrays(operator, data, axis, k)
    check_known(operator, "data", data, range(axis + k))
    row = data[axis + k :]
    return Plan(operator, ARRAYS, mode, operator.wrap_negative_indices, axis, k, 0, (*data[:axis], *shape), row, data)


_PLANNERS = {ND: _plan_nd, AXIS: _plan_axis, ELEMENTS: _plan_elements, ARRAYS: _plan_arrays}


# NumPy's limit, which the kernels have for the arrays of other libraries too.
_MOST_AXES = 64


def _check_ranks(plan: Plan, indices: Shape) -> Plan:
    last = "updates" if plan.operator.scatters else ""
    rank = len(indices) - (plan.kind == ARRAYS)
    ranks = {"data": len(plan.data), "indices": rank, last: len(plan.shape)}
    for argument, n in ranks.items():
        if n > _MOST_AXES:
            raise errors.many_axes(plan.operator, argument, n, _MOST_AXES)
    return plan


# Whether a library's compiler traces this module, and so makes plans without the cache. A backend sets it.
is_tracing: Callable[[], bool] = bool


def _cached(make: Callable[..., Plan]) -> Callable[..., Plan]:
    cached = lru_cache(maxsize=4096)(make)

    @wraps(make)
    def plan(*arguments: Any) -> Plan:
        if is_tracing():
            return make(*arguments)
        try:
            return cached(*arguments)
        except TypeError:  # sizes that are symbols, as in torch.export, cannot be hashed
            return make(*arguments)

    return plan


@_cached
def gather(operator: Operator, data: Shape, indices: Shape, axis: int, batch_dims: int, mode: str) -> Plan:
    """The plan of a gather. `axis` is ignored for ND, `batch_dims` for ELEMENTS and ARRAYS.

    indices: the shape of indices; for k arrays of shape B, (*B, k).
    """
    _check_mode(operator, mode)
    # Shapes become tuples, since some libraries have a custom class for them.
    return _check_ranks(
        _PLANNERS[operator.kind](operator, tuple(data), tuple(indices), axis, batch_dims, mode), indices
    )


@_cached
def scatter(
    operator: Operator,
    data: Shape,
    indices: Shape,
    axis: int,
    batch_dims: int,
    mode: str,
    reduction: str,
    include_self: bool,
    accumulate_dtype: str = "",
) -> Plan:
    """The plan of a scatter; arguments are as in `gather`."""
    _check_mode(operator, mode)
    plan = _PLANNERS[operator.kind](operator, tuple(data), tuple(indices), axis, batch_dims, mode)
    _check_ranks(plan, indices)
    if reduction not in REDUCTIONS:
        raise errors.unknown_choice(operator, "reduction", reduction, tuple(REDUCTIONS))
    if accumulate_dtype and not REDUCTIONS[reduction].rounds:
        raise errors.no_sum(
            operator, reduction, accumulate_dtype, tuple(r.name for r in REDUCTIONS.values() if r.rounds)
        )
    return plan._replace(reduction=reduction, include_self=include_self, accumulate_dtype=accumulate_dtype)


# Explaining a bad index


def index_error(plan: Plan, indices: Any, position: Shape, offset: Shape = ()) -> Exception:
    """The error for a tuple with a bad index. `position`: of the tuple in `indices`, an array of any library.

    For ARRAYS, `indices` is a tuple of arrays, and `position` is one in each of them.

    `offset`: if `indices` is a chunk of a larger array, the position where the chunk starts.
    """
    if plan.kind == ND:
        found = tuple(_value(indices[(*position, component)]) for component in range(plan.depth))
    elif plan.kind == ARRAYS:
        found = tuple(_value(array[position]) for array in indices)
    else:
        found = (_value(indices[position]),)
    places_all = plan.mode in ("clip", "wrap")  # except on an axis of size 0
    for axis, index in enumerate(found, start=plan.axis):
        lowest = -plan.data[axis] if plan.wrap_negative_indices else 0
        if plan.data[axis] == 0 if places_all else not lowest <= index < plan.data[axis]:
            where = tuple(i + start for i, start in zip(position, offset, strict=True)) if offset else position
            shown = found if plan.kind in (ND, ARRAYS) else index
            return errors.out_of_bounds(plan.operator, where, shown, plan.data, axis, index)
    return errors.changed_meanwhile(plan.operator)


def unravel(number: int, shape: Shape) -> Shape:
    """Convert a row-major number to a position, as ``numpy.unravel_index``."""
    position: list[int] = []
    for n in reversed(shape):
        number, i = divmod(number, n)
        position.insert(0, i)
    return tuple(position)


def inverse(order: Shape) -> Shape:
    """The inverse permutation."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def _value(index: Any) -> int:
    # PyTorch's __int__ overflows for uint64, its item() does not; the array API standard has no item().
    return int(index.item() if hasattr(index, "item") else index)
