"""The path of every call: arguments → backend → plan → result.

The public functions and the dialects call `gather` and `scatter` with the record of their operator. All other
arguments are as the user passed them.
"""

from __future__ import annotations

import math
import sys
from typing import Any

from gatherscatter import dispatch, errors
from gatherscatter import plan as plans
from gatherscatter.backends.base import Backend
from gatherscatter.operators import ARRAYS, Operator
from gatherscatter.values import TYPES

# What libraries raise for an array that is too large.
_RAISED = (ValueError, MemoryError, RuntimeError)

# Cache: backends by the types of (data, indices) or (data, indices, updates), if no argument needs a conversion.
_known = dispatch.known


def gather(
    op: Operator,
    data: Any,
    indices: Any,
    axis: Any = 0,
    batch_dims: Any = 0,
    mode: Any = "raise",
    fill_value: Any = 0,
    wrap_negative_indices: Any = True,
    out: Any = None,
    asked: bool = False,
) -> Any:
    """A gather. For kind ND `axis` is 0; for kind ELEMENTS `batch_dims` is 0.

    asked: whether the fast path has declined the call as it was passed.
    """
    if wrap_negative_indices is not True:
        op = plans.without_negatives(op, wrap_negative_indices)
    backend = _known.get((type(data), type(indices)))
    if backend is None:
        backend, (data, indices) = dispatch.route(op, {"data": data, "indices": indices})
        asked = False
    if op.source:
        check_source(op, backend, data=data, indices=indices)
    return gather_on(backend, op, data, indices, axis, batch_dims, mode, fill_value, out, asked)


def gather_on(
    backend: Backend, op: Operator, data: Any, indices: Any, axis: Any, batch_dims: Any, mode: Any, fill_value: Any,
    out: Any, asked: bool = False, orders: Any = None,
) -> Any:  # fmt: skip
    """A gather of arrays of this backend's library. orders: of prepared indices, as in a plan."""
    result = None if asked else backend.try_gather(op, data, indices, (axis, batch_dims, mode, fill_value), out)
    if result is not None:
        return result
    backend.check_layout(op, data=data, indices=indices, out=out)
    axis, batch_dims, mode = _plain(op, axis, batch_dims, mode)
    try:
        plan = plans.gather(op, data.shape, plans.shape_of(indices, op.kind), axis, batch_dims, mode)
    except ValueError:  # a boolean mask has a wrong shape too, but its dtype is the better explanation
        if op.kind != ARRAYS:
            dispatch.check_index_dtype(op, data, indices)
        raise
    if orders is not None:
        plan = plan._replace(orders=orders)
    try:
        return backend.gather(data, indices, plan, fill_value, out)
    except IndexError as error:
        raise errors.ignored_fill_value(error, mode, fill_value) from None
    except _RAISED as error:
        _raise_if_too_large(error, plan, data, "", plan.shape)
        raise


def scatter(
    op: Operator,
    data: Any,
    indices: Any,
    updates: Any,
    axis: Any = 0,
    batch_dims: Any = 0,
    reduction: Any = "none",
    include_self: Any = True,
    mode: Any = "raise",
    wrap_negative_indices: Any = True,
    accumulate_dtype: Any = None,
    out: Any = None,
    asked: bool = False,
) -> Any:
    """A scatter; the arguments are as in `gather`."""
    if wrap_negative_indices is not True:
        op = plans.without_negatives(op, wrap_negative_indices)
    backend = _known.get((type(data), type(indices), type(updates)))
    if backend is None:
        arguments = {"data": data, "indices": indices, "updates": updates}
        backend, (data, indices, updates) = dispatch.route(op, arguments)
        asked = False
    if op.source:
        check_source(op, backend, data=data, indices=indices)
    return scatter_on(
        backend, op, data, indices, updates, axis, batch_dims, reduction, include_self, mode, accumulate_dtype, out,
        asked,
    )  # fmt: skip


def scatter_on(
    backend: Backend, op: Operator, data: Any, indices: Any, updates: Any, axis: Any, batch_dims: Any,
    reduction: Any, include_self: Any, mode: Any, accumulate_dtype: Any, out: Any, asked: bool = False,
    orders: Any = None,
) -> Any:  # fmt: skip
    """A scatter of arrays of this backend's library; see `gather_on`."""
    accumulates = ""
    if accumulate_dtype is not None:
        accumulates = plans.accumulate_dtype(op, accumulate_dtype, backend.dtype_name(data))
    if not (accumulates or asked):
        options = axis, batch_dims, reduction, mode, include_self
        result = backend.try_scatter(op, data, indices, updates, options, out)
        if result is not None:
            return result
    backend.check_layout(op, data=data, indices=indices, updates=updates, out=out)
    axis, batch_dims, mode = _plain(op, axis, batch_dims, mode)
    if type(reduction) is not str:
        reduction = plans.string(op, "reduction", reduction)
    if type(include_self) is not bool:
        include_self = plans.boolean(op, "include_self", include_self)
    try:
        shape = plans.shape_of(indices, op.kind)
        plan = plans.scatter(op, data.shape, shape, axis, batch_dims, mode, reduction, include_self, accumulates)
    except ValueError:
        if op.kind != ARRAYS:
            dispatch.check_index_dtype(op, data, indices)
        raise
    if orders is not None:
        plan = plan._replace(orders=orders)
    call = backend.scatter_wide if accumulates else backend.scatter
    try:
        return call(data, indices, updates, plan, out)
    except _RAISED as error:
        _raise_if_too_large(error, plan, data, *max(("", plan.data), ("updates", plan.shape), key=_n_elements))
        raise


def _plain(op: Operator, axis: Any, batch_dims: Any, mode: Any) -> tuple[int, int, str]:
    """The options as ints and a string."""
    return (
        axis if type(axis) is int else plans.integer(op, "axis", axis),
        batch_dims if type(batch_dims) is int else plans.integer(op, "batch_dims", batch_dims),
        mode if type(mode) is str else plans.string(op, "mode", mode),
    )


def _n_elements(named: tuple[str, plans.Shape]) -> int:
    return math.prod(n or 1 for n in named[1])  # NumPy too ignores sizes of 0 here


def _raise_if_too_large(error: Exception, plan: plans.Plan, data: Any, argument: str, shape: plans.Shape) -> None:
    """Raise our error if a library could not allocate an array. Return for any other error."""
    if str(error).startswith(f"{plan.operator.name}: "):
        return
    if isinstance(error, MemoryError) and type(error).__module__ not in ("builtins", "numpy._core._exceptions"):
        return  # raised by a signal handler
    n_bytes = _n_elements((argument, shape)) * int(getattr(data.dtype, "itemsize", 1))
    if n_bytes > sys.maxsize or isinstance(error, MemoryError):
        raise errors.too_large(plan.operator, argument, shape, n_bytes) from None


# For dialects


def arrays(op: Operator, *, convert_updates: bool = False, **arguments: Any) -> tuple[Backend, list[Any]]:
    """The backend, and the arguments ("data", "indices", "updates") as arrays of its library: see `dispatch.route`."""
    given = list(arguments.values())
    backend = _known.get(tuple(map(type, given)))
    return dispatch.route(op, arguments, convert_updates=convert_updates) if backend is None else (backend, given)


def check_source(op: Operator, backend: Backend, **arguments: Any) -> None:
    """Check that the source document of the operator allows the dtypes of "data" and "indices"."""
    for argument, array in arguments.items():
        accepted = op.index_dtypes if argument == "indices" else op.data_dtypes
        if accepted and backend.dtype_name(array) not in accepted:
            raise errors.source_dtype(op, argument, array.dtype, accepted)


def scatter_negative(
    op: Operator, data: Any, indices: Any, updates: Any, axis: Any = 0, batch_dims: Any = 0, mode: Any = "raise"
) -> Any:
    """A scatter that subtracts, by adding the negated updates: the result is the same bit for bit.

    The negated updates take memory in addition to the result.
    """
    backend, (data, indices, updates) = arrays(op, data=data, indices=indices, updates=updates)
    check_source(op, backend, data=data, indices=indices)
    if isinstance(updates, TYPES):
        plan = plans.scatter(op, data.shape, indices.shape, axis, batch_dims, mode, "add", True)
        updates = backend.as_updates(plan, updates, data)
    elif updates.dtype != data.dtype:
        raise errors.updates_dtype(op, updates.dtype, data.dtype)
    return scatter(op, data, indices, backend.negative(updates), axis, batch_dims, "add", True, mode)
