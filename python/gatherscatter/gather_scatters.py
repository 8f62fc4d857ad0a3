"""`gather_scatter`: a gather and a scatter in one pass. ``gather_scatters.pyi`` has the overloads for type checkers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gatherscatter import core, errors, values
from gatherscatter import plan as plans
from gatherscatter._typing import IntLike
from gatherscatter.backends import kernels
from gatherscatter.backends.base import Backend
from gatherscatter.errors.foreign import raises_unexpected
from gatherscatter.operators import GATHER, SCATTER, Operator
from gatherscatter.plan import Shape
from gatherscatter.prepared.indices import Prepared, axes_of, positions_of, rows_of
from gatherscatter.reductions import REDUCTIONS

__all__ = ["gather_scatter"]


def _part(op: Operator, **names: str) -> Operator:
    """The record of one of the two steps, with our names for its arguments."""
    fields: dict[str, Any] = {"name": "gather_scatter", "user_modes": SCATTER.modes, **names}
    return op.replace(**fields, strict=op.strict.replace(**fields) if op.strict else None)


_TAKE = _part(GATHER, data="source", indices="source_indices")
_PUT = _part(SCATTER, updates="gather(source, source_indices)")
# For the weights, which have source's dtype.
_WEIGHTS = _part(SCATTER, updates="weights", data="source")
# For a source of another dtype than data's, which may be an error.
_PUT_OTHER = _part(SCATTER, updates="source")


@raises_unexpected(_PUT)
def gather_scatter(
    data: Any,
    indices: Any,
    source: Any,
    source_indices: Any,
    *,
    weights: Any = None,
    axis: IntLike = 0,
    reduction: str = "none",
    include_self: bool | np.bool = True,
    mode: str = "raise",
    wrap_negative_indices: bool | np.bool = True,
    out: Any = None,
) -> Any:
    """Gather slices of `source`, and scatter them into a copy of `data`.

    The result is that of ``scatter(data, indices, gather(source, source_indices))``, bit for bit, and so are its
    gradients. With weights, what is gathered is multiplied by them, rounded, and then scattered. This function does not
    store what it gathers where it can avoid that, so it is faster.

    An example is message passing on a graph: each edge adds the features of its source node to its target node. It is
    also the product of a sparse matrix of zeros and ones, and a dense one.

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Initial values of the result.
    indices : array of integers, or Prepared
        Destinations: positions along `axis` of `data`, as for `scatter`.
    source : array
        Of data's dtype, and of data's shape but for the size of `axis`. What is gathered from another dtype or shape is
        cast and broadcast as `updates` of `scatter` are.
    source_indices : array of integers, or Prepared
        What to gather: positions along `axis` of `source`. Of the shape of `indices`.
    weights : array, optional
        Factors of what is gathered, of source's dtype: of the shape of `indices`, followed by any number of leading
        axes of a slice after `axis`, such as one weight for each edge, or for each edge and head.
    axis : int, default 0
        The axis of `data` and of `source` to index. A negative axis counts from the end.
    reduction : {"none", "add", "mul", "max", "min", "mean"}, default "none"
        How to combine a slice with the one at its destination: see `scatter_nd`.
    include_self : bool, default True
        Whether a destination starts from its slice of `data`. If False, it starts from the first one that is scattered
        to it.
    mode : {"raise", "clip", "wrap", "drop", "promise_in_bounds"}, default "raise"
        How to treat an index that is out of bounds, in either array: see `scatter_nd`. With ``"drop"``, the
        pair is skipped, so pairs of indices can be padded to a constant number.
    wrap_negative_indices : bool, default True
        Whether negative indices count from the end. If False, they are out of bounds: see `mode`.
    out : array, optional
        Array to write the result to: see `scatter_nd`. ``out=data`` scatters in place.

    Returns
    -------
    array, shape ``data.shape``
        The result, of data's library, dtype and device. It is `out` if that is given.

    Raises
    ------
    IndexError, ValueError, TypeError
        As `gather` and `scatter`.

    See Also
    --------
    gather : The first step.
    scatter : The second step.
    prepare : Makes the indices of many calls, such as the edges of a graph, ready once.

    Notes
    -----
    There is one pass on NumPy arrays and on CPU tensors of PyTorch, if `axis` is 0, `source` is contiguous, a slice has
    64 to 4095 bytes, and 2 MiB or more are gathered; with weights, if a pair has at most 64 bytes of them, each for 32
    bytes of a slice or more. The gradients of PyTorch's ``"add"`` and ``"mean"`` take one pass too. All else is done in
    two steps. The user guide has all conditions.

    `indices` and `source_indices` may both be objects of `prepare`, for the shapes of `data` and of `source`. They have
    options of their own, so `axis`, `mode` and `wrap_negative_indices` cannot be passed then.

    Examples
    --------
    The edges 0 → 1, 0 → 2 and 1 → 2 of a graph of three nodes:

    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> features = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> gs.gather_scatter(np.zeros((3, 2)), [1, 2, 2], features, [0, 0, 1], reduction="add")
    array([[0., 0.],
           [1., 2.],
           [4., 6.]])

    With a weight for each edge:

    >>> weights = np.array([0.5, 2.0, 1.0])
    >>> gs.gather_scatter(np.zeros((3, 2)), [1, 2, 2], features, [0, 0, 1], weights=weights, reduction="add")
    array([[0. , 0. ],
           [0.5, 1. ],
           [5. , 8. ]])
    """
    reduction = plans.choice(_PUT, "reduction", reduction, tuple(REDUCTIONS))
    prepared = [isinstance(array, Prepared) for array in (indices, source_indices)]
    if any(prepared):
        given = {"axis": (axis, 0), "mode": (mode, "raise"), "wrap_negative_indices": (wrap_negative_indices, True)}
        others = {
            name: value
            for name, (value, default) in given.items()
            if not (isinstance(value, int | str | np.generic) and value == default)  # == of arrays is another array
        }
        if not all(prepared) or others:
            raise errors.prepared_pair(_PUT, prepared, others)
        return _with_prepared(data, indices, source, source_indices, weights, reduction, include_self, out)
    mode = plans.choice(_PUT, "mode", mode, _PUT.modes)
    _check_shapes(_shape(indices), _shape(source_indices))
    take, put = _TAKE, _PUT
    if getattr(source, "dtype", None) != getattr(data, "dtype", None):
        put = _PUT_OTHER
    if wrap_negative_indices is not True:
        take, put = (plans.without_negatives(op, wrap_negative_indices) for op in (take, put))
    if mode == "drop":
        indices, source_indices = _kept(data, indices, source, source_indices, take, put, axis)
        take, put = (plans.without_negatives(op, False) for op in (take, put))
    if type(axis) is int and axis == 0:
        backend, (table, at, slices) = core.arrays(put, data=data, indices=indices, updates=source)
        if type(source_indices) is type(at) and not isinstance(slices, values.TYPES):
            arrays = table, at, slices, source_indices
            result = _in_one_pass(backend, put, take, arrays, weights, mode, reduction, include_self, out)
            if result is not None:
                return result
    updates = core.gather(take, source, source_indices, axis, 0, "fill" if mode == "drop" else mode)
    if weights is not None:
        updates = _weighted(updates, weights, _shape(indices) or (), plans.integer(put, "axis", axis))
    return core.scatter(put, data, indices, updates, axis, 0, reduction, include_self, mode, True, None, out)


def _in_one_pass(
    backend: Backend, put: Operator, take: Operator, arrays: tuple[Any, ...], weights: Any, mode: str,
    reduction: Any, include_self: Any, out: Any, orders: Sequence[Any] = (None, None),
) -> Any:  # fmt: skip
    """The result; None if it takes two steps, or is an error. All arrays are of the backend's library.

    orders: of prepared indices and source indices.
    """
    data, indices, source, source_indices = arrays
    if weights is not None:
        owner, (_, weights) = core.arrays(_WEIGHTS, data=source, updates=weights, convert_updates=True)
        if owner is not backend or isinstance(weights, values.TYPES):
            return None
        arrays = *arrays, weights
    if not backend.uses_orders or backend.is_unknown(data) or type(include_self) is not bool:
        return None
    backend.check_layout(take, data=source, indices=source_indices)  # others may have no shape
    backend.check_layout(put, data=data, indices=indices)
    shape, n = tuple(data.shape), tuple(indices.shape)
    if (
        len(shape) < 2
        or tuple(source.shape[1:]) != shape[1:]
        or data.dtype != source.dtype
        or not kernels.one_pass_pays(math.prod(n), math.prod(shape[1:]) * data.dtype.itemsize)
        or (weights is not None and _misfit(weights, source, n))
    ):
        return None
    if mode == "drop":  # a pair that is skipped has no destination: its row of source, -1, may be any
        if not isinstance(source, np.ndarray) or not len(source):  # gradients have a mode for both indices
            return None
        source_indices = np.asarray(np.maximum(source_indices, 0))
    to = plans.scatter(put, shape, n, 0, 0, mode, reduction, include_self)._replace(orders=orders[0])
    of = plans.gather(take, tuple(source.shape), n, 0, 0, "raise" if mode == "drop" else mode)
    of = of._replace(orders=orders[1])
    arrays = *arrays[:3], source_indices, *arrays[4:]
    return backend.gather_scatter(arrays, to, of, out)


def _misfit(weights: Any, source: Any, positions: Shape) -> bool:
    """Whether weights along axis 0 are not of source's dtype and shape. `_weighted` has the errors."""
    found, shape = tuple(weights.shape), positions + tuple(source.shape[1:])
    return weights.dtype != source.dtype or len(found) < len(positions) or found != shape[: len(found)]


def _with_prepared(
    data: Any, indices: Prepared, source: Any, source_indices: Prepared, weights: Any, reduction: Any,
    include_self: Any, out: Any,
) -> Any:  # fmt: skip
    """With indices that need no more checks."""
    _check_shapes(positions_of(indices), positions_of(source_indices))
    backend, (table, slices) = core.arrays(_PUT, data=data, updates=source)
    if out is not None:  # the steps would name the scatter
        backend.check_out(indices._plan._replace(operator=_PUT), out, table, tuple(table.shape))
    if not isinstance(slices, values.TYPES):
        at, of = rows_of(indices, backend, _PUT, table), rows_of(source_indices, backend, _TAKE, slices)
        if at is not None and of is not None:
            put, take = (plans.without_negatives(op, False) for op in (_PUT, _TAKE))
            arrays, orders = (table, at[0], slices, of[0]), (at[1], of[1])
            result = _in_one_pass(backend, put, take, arrays, weights, "raise", reduction, include_self, out, orders)
            if result is not None:
                return result
    updates = source_indices.gather(source)
    if weights is not None:
        updates = _weighted(updates, weights, positions_of(source_indices), *axes_of(source_indices))
    return indices.scatter(data, updates, reduction=reduction, include_self=include_self, out=out)


def _weighted(updates: Any, weights: Any, positions: Shape, axis: int, batch_dims: int = 0) -> Any:
    """What was gathered, times the weights.

    positions: the shape of the indices, whose axes follow `axis` axes of data, of which they share the first ones.
    """
    backend, (messages, factors) = core.arrays(_WEIGHTS, data=updates, updates=weights, convert_updates=True)
    if isinstance(weights, values.TYPES):
        factors = backend.as_updates(_plan_of(tuple(factors.shape)), weights, messages)
    if errors.kind_of(messages.dtype) not in ("bool", "int", "float", "complex"):
        raise errors.reduction_dtype(_WEIGHTS, "mul", messages.dtype, REDUCTIONS["mul"].dtypes)
    if factors.dtype != messages.dtype:
        raise errors.updates_dtype(_WEIGHTS, factors.dtype, messages.dtype)
    shape, found, b = tuple(messages.shape), tuple(factors.shape), batch_dims
    axis %= len(shape) - (len(positions) - b) + 1  # of data
    n = len(found) - b  # axes of weights from `axis` on
    if len(found) < len(positions) or found != shape[:b] + shape[axis : axis + n]:
        plans.check_known(_WEIGHTS, "indices", positions)
        plans.check_known(_WEIGHTS, "updates", found)
        raise errors.weights_shape(_WEIGHTS, found, positions, shape[axis + len(positions) - b :])
    backend.check_devices(_plan_of(found), messages, weights=factors)
    aligned = (*found[:b], *[1] * (axis - b), *found[b:], *[1] * (len(shape) - axis - n))
    product = backend.product(messages, backend.namespace(factors).reshape(factors, aligned))
    return product if product.dtype == messages.dtype else backend.astype(product, messages.dtype)  # byte order


def _plan_of(shape: Shape) -> plans.Plan:
    """For the conversion of a list or a scalar of this shape."""
    return plans.Plan(_WEIGHTS, _WEIGHTS.kind, "raise", True, 0, 1, 0, shape, (), shape)


def _kept(
    data: Any, indices: Any, source: Any, source_indices: Any, take: Operator, put: Operator, axis: Any
) -> tuple[Any, Any]:
    """With mode "drop": both indices, as positions; both -1 if one of them is out of bounds."""
    backend, to = _positions(put, data, indices, source, axis)
    _, of = _positions(take, source, source_indices, data, axis)
    xp = backend.namespace(to)
    return xp.where(of < 0, -1, to), xp.where(to < 0, -1, of)


def _positions(op: Operator, data: Any, indices: Any, other: Any, axis: Any) -> tuple[Backend, Any]:
    """The positions along the axis that indices select: not negative, but for -1, which stands for none."""
    backend, (data, indices, _) = core.arrays(op, data=data, indices=indices, updates=other)
    shapes = tuple(data.shape), tuple(indices.shape)
    axis = plans.gather(GATHER, *shapes, plans.integer(op, "axis", axis), 0, "fill").axis
    numbers = backend.namespace(indices).arange(data.shape[axis], device=backend.device(indices))
    chosen = GATHER if op.wrap_negative_indices else plans.without_negatives(GATHER, False)
    return backend, core.gather(chosen, numbers, indices, 0, 0, "fill", -1)


def _check_shapes(to: Shape | None, of: Shape | None) -> None:
    """Indices and source indices are pairs."""
    if to is None or of is None:  # of ragged lists, for which there is another error
        return
    if len(to) != len(of) or any(n != m for n, m in zip(to, of, strict=True) if n == n and m == m):  # not Dask's NaN
        raise errors.unlike_indices(_PUT, to, of)


def _shape(array: Any) -> Shape | None:
    if hasattr(array, "shape"):
        return tuple(array.shape)
    try:
        return np.shape(array)
    except ValueError:
        return None
