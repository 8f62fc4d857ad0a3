"""The operators as functions."""

from __future__ import annotations

from typing import Any, Literal

from gatherscatter import core, errors, values
from gatherscatter import plan as plans
from gatherscatter._typing import AnyIndices, AnyValues, DataT, Integer, IntLike, Listed, ONNXReduction
from gatherscatter.errors.foreign import raises_unexpected
from gatherscatter.onnx.versions import CORE, accepted, check_reduction, operator_of, version_of

__all__ = [
    "gather",
    "gather_elements",
    "gather_nd",
    "scatter",
    "scatter_elements",
    "scatter_nd",
    "tensor_scatter",
]


@raises_unexpected(CORE["Gather"])
def gather(
    data: DataT | Listed[DataT], indices: AnyIndices | Integer, *, axis: IntLike = 0, opset: IntLike | None = None
) -> DataT:
    """Gather slices of `data` along one axis (Gather).

    Parameters
    ----------
    data : array, rank r ≥ 1
        Any dtype in ONNX's document. bfloat16 requires opset 13.
    indices : array of int32 or int64, any rank
        In [−s, s − 1] for an axis of size s. Negative indices count from the end, also in version 1, which does not
        specify them.
    axis : int, default 0
        The axis to index, in [−r, r − 1].
    opset : int, optional
        Opset of the model, at least 1: the latest version of the operator that is not later applies. By default, the
        latest version.

    Returns
    -------
    array, shape ``data.shape[:axis] + indices.shape + data.shape[axis + 1:]``
        The result, of data's library and dtype.

    Raises
    ------
    IndexError
        If an index is out of bounds.
    TypeError
        If the version does not support the dtype.
    ValueError
        If the opset does not have the operator, or if a shape or an option is invalid.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> gs.onnx.gather(np.array([[1.0, 1.2], [2.3, 3.4]]), [1, 0], axis=1)
    array([[1.2, 1. ],
           [3.4, 2.3]])
    """
    op, (data, indices) = accepted("Gather", opset, data=data, indices=indices)
    return core.gather(op, data, indices, axis)


@raises_unexpected(CORE["GatherElements"])
def gather_elements(
    data: DataT | Listed[DataT], indices: AnyIndices, *, axis: IntLike = 0, opset: IntLike | None = None
) -> DataT:
    """Gather one element of `data` for each element of `indices`, along one axis (GatherElements).

    Parameters
    ----------
    data : array, rank r ≥ 1
        Any dtype in ONNX's document. bfloat16 requires opset 13.
    indices : array of int32 or int64, rank r
        In [−s, s − 1] for an axis of size s. Along the other axes, `indices` may be smaller than `data`.
    axis : int, default 0
        The axis to index, in [−r, r − 1].
    opset : int, optional
        Opset of the model, at least 11. By default, the latest version of the operator.

    Returns
    -------
    array, shape ``indices.shape``
        The result, of data's library and dtype.

    Raises
    ------
    IndexError, TypeError, ValueError
        As `gather`.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> gs.onnx.gather_elements(np.array([[1, 2], [3, 4]]), [[0, 0], [1, 0]], axis=1)
    array([[1, 1],
           [4, 3]])
    """
    op, (data, indices) = accepted("GatherElements", opset, data=data, indices=indices)
    return core.gather(op, data, indices, axis)


@raises_unexpected(CORE["GatherND"])
def gather_nd(
    data: DataT | Listed[DataT], indices: AnyIndices, *, batch_dims: IntLike = 0, opset: IntLike | None = None
) -> DataT:
    """Gather elements or slices of `data` by index tuples (GatherND).

    The last axis of `indices` contains the tuples.

    Parameters
    ----------
    data : array, rank r ≥ 1
        Any dtype in ONNX's document. bfloat16 requires opset 13.
    indices : array of int64, rank q ≥ 1
        Tuples of 1 to ``r − batch_dims`` indices, in [−s, s − 1] for an axis of size s. `gatherscatter.gather_nd` also
        accepts empty tuples.
    batch_dims : int, default 0
        Number of leading axes that `data` and `indices` share, less than min(q, r). Requires opset 12.
    opset : int, optional
        Opset of the model, at least 11. By default, the latest version of the operator.

    Returns
    -------
    array, shape ``indices.shape[:-1] + data.shape[batch_dims + indices.shape[-1]:]``
        The result, of data's library and dtype.

    Raises
    ------
    IndexError, TypeError, ValueError
        As `gather`.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> gs.onnx.gather_nd(np.array([[[0, 1], [2, 3]], [[4, 5], [6, 7]]]), [[1], [0]], batch_dims=1)
    array([[2, 3],
           [4, 5]])
    """
    op, (array, tuples) = accepted("GatherND", opset, data=data, indices=indices)
    if version_of("GatherND", opset) < 12 and plans.integer(op, "batch_dims", batch_dims):
        raise errors.since_version(op, f"opset {opset} (GatherND-11) has no batch_dims", "opset 12")
    if len(tuples.shape) and tuples.shape[-1] == 0:
        rule = f"indices of shape {tuple(tuples.shape)} holds empty tuples, which ONNX does not have; "
        raise errors.shape_rule(op, rule + "gatherscatter.gather_nd does")
    return core.gather(op, array, tuples, 0, batch_dims)


@raises_unexpected(CORE["ScatterElements"])
def scatter_elements(
    data: DataT | Listed[DataT],
    indices: AnyIndices,
    updates: AnyValues,
    *,
    axis: IntLike = 0,
    reduction: ONNXReduction = "none",
    opset: IntLike | None = None,
) -> DataT:
    """Scatter one update into a copy of `data` for each element of `indices`, along one axis (ScatterElements).

    Parameters
    ----------
    data : array, rank r ≥ 1
        Any dtype in ONNX's document. bfloat16 requires opset 13.
    indices : array of int32 or int64, rank r
        In [−s, s − 1] for an axis of size s.
    updates : array
        Of indices' shape and data's dtype.
    axis : int, default 0
        The axis to index, in [−r, r − 1].
    reduction : {"none", "add", "mul", "max", "min"}, default "none"
        "add" and "mul" require opset 16, "max" and "min" require opset 18.
    opset : int, optional
        Opset of the model, at least 11. By default, the latest version of the operator.

    Returns
    -------
    array, shape ``data.shape``
        The result, of data's library and dtype.

    Raises
    ------
    IndexError, TypeError, ValueError
        As `gather`.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> gs.onnx.scatter_elements(np.array([[1.0, 2.0, 3.0]]), [[1, 1]], [[1.1, 2.1]], axis=1, reduction="add")
    array([[1. , 5.2, 3. ]])
    """
    op, (data, indices, updates) = accepted("ScatterElements", opset, data=data, indices=indices, updates=updates)
    check_reduction(op, "ScatterElements", opset, reduction)
    return core.scatter(op, data, indices, updates, axis, reduction=reduction)


@raises_unexpected(CORE["Scatter"])
def scatter(
    data: DataT | Listed[DataT], indices: AnyIndices, updates: AnyValues, *, axis: IntLike = 0, opset: IntLike = 9
) -> DataT:
    """Scatter one update into a copy of `data` for each element of `indices`, along one axis (Scatter).

    In opset 11, ScatterElements replaced this operator.

    Parameters
    ----------
    data : array, rank r ≥ 1
        Any dtype in ONNX's document, which does not include bfloat16.
    indices : array of int32 or int64, rank r
        As in `scatter_elements`. Negative indices count from the end; ONNX's document does not specify them.
    updates : array
        Of indices' shape and data's dtype.
    axis : int, default 0
        The axis to index, in [−r, r − 1].
    opset : int, default 9
        Opset of the model, 9 or 10.

    Returns
    -------
    array, shape ``data.shape``
        The result, of data's library and dtype.

    Raises
    ------
    IndexError, TypeError, ValueError
        As `gather`.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> gs.onnx.scatter(np.array([[1.0, 2.0, 3.0]]), [[1, 2]], [[1.1, 2.1]], axis=1)
    array([[1. , 1.1, 2.1]])
    """
    op, (data, indices, updates) = accepted("Scatter", opset, data=data, indices=indices, updates=updates)
    return core.scatter(op, data, indices, updates, axis)


@raises_unexpected(CORE["ScatterND"])
def scatter_nd(
    data: DataT | Listed[DataT],
    indices: AnyIndices,
    updates: AnyValues,
    *,
    reduction: ONNXReduction = "none",
    opset: IntLike | None = None,
) -> DataT:
    """Scatter `updates` into a copy of `data` by index tuples (ScatterND).

    The last axis of `indices` contains the tuples.

    Parameters
    ----------
    data : array, rank r ≥ 1
        Any dtype in ONNX's document. bfloat16 requires opset 13.
    indices : array of int64, rank q ≥ 1
        Tuples of at most r indices, in [−s, s − 1] for an axis of size s.
    updates : array
        Of shape ``indices.shape[:-1] + data.shape[indices.shape[-1]:]`` and data's dtype.
    reduction : {"none", "add", "mul", "max", "min"}, default "none"
        "add" and "mul" require opset 16, "max" and "min" require opset 18.
    opset : int, optional
        Opset of the model, at least 11. By default, the latest version of the operator.

    Returns
    -------
    array, shape ``data.shape``
        The result, of data's library and dtype.

    Raises
    ------
    IndexError, TypeError, ValueError
        As `gather`.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> gs.onnx.scatter_nd(np.array([1, 2, 3, 4, 5, 6, 7, 8]), [[4], [3], [1], [7]], [9, 10, 11, 12])
    array([ 1, 11,  3, 10,  9,  6,  7, 12])
    """
    op, (data, indices, updates) = accepted("ScatterND", opset, data=data, indices=indices, updates=updates)
    check_reduction(op, "ScatterND", opset, reduction)
    return core.scatter(op, data, indices, updates, reduction=reduction)


@raises_unexpected(CORE["TensorScatter"])
def tensor_scatter(
    past_cache: DataT | Listed[DataT],
    update: AnyValues,
    write_indices: AnyIndices | None = None,
    *,
    axis: IntLike = -2,
    mode: Literal["linear", "circular"] = "linear",
    opset: IntLike | None = None,
    out: DataT | None = None,
) -> DataT:
    """Write n consecutive slices to a key-value cache for each sample of a batch (TensorScatter).

    Parameters
    ----------
    past_cache : array, shape (B, …, S, …)
        The cache, of size S along `axis`.
    update : array, shape (B, …, n, …)
        The slices to write. Of past_cache's dtype, and of its shape except for n ≤ S along `axis`.
    write_indices : array of int64, shape (B,), optional
        For each sample, the position of its first slice along `axis`. Not negative in mode "linear". By default 0.
    axis : int, default −2
        The axis to write along: any axis except the first, which is the batch.
    mode : {"linear", "circular"}, default "linear"
        With "circular", positions are taken modulo S: slices beyond the end of the axis continue at its start.
    opset : int, optional
        Opset of the model, at least 24. By default, the latest version of the operator.
    out : array, shape ``past_cache.shape``, optional
        Array of past_cache's library, dtype and device to which the result is written. With ``out=past_cache`` the
        cache is updated in place: only the written slices change. An error leaves it unchanged.

    Returns
    -------
    array, shape ``past_cache.shape``
        The result, of past_cache's library and dtype; `out`, if that was given.

    Raises
    ------
    IndexError
        In mode "linear", if an index is negative or the slices exceed the cache.
    TypeError, ValueError
        As `gather`.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> cache, update = np.zeros((1, 4, 2)), np.array([[[1.0, 2.0], [3.0, 4.0]]])
    >>> gs.onnx.tensor_scatter(cache, update, [3], mode="circular")
    array([[[3., 4.],
            [0., 0.],
            [0., 0.],
            [1., 2.]]])
    """
    op = operator_of("TensorScatter", version_of("TensorScatter", opset))
    is_circular = plans.choice(op, "mode", mode, ("linear", "circular")) == "circular"
    arguments: dict[str, Any] = {
        "data": past_cache,
        "indices": 0 if write_indices is None else write_indices,
        "updates": update,
    }
    backend, (cache, starts, update) = core.arrays(op, **arguments)
    core.check_source(op, backend, data=cache)
    shape, rank = tuple(cache.shape), len(cache.shape)
    along = plans.integer(op, "axis", axis)
    if not -rank <= along < rank or along % rank == 0:
        rule = f"axis={axis} is not one of the axes after the first of past_cache of shape {shape}"
        raise errors.shape_rule(op, rule)
    along %= rank
    written = values.shape_of(op, "updates", update)
    if len(written) != rank or not 0 <= written[along] <= shape[along]:
        raise errors.shape_rule(
            op,
            f"update of shape {written} does not fit past_cache of shape {shape}; "
            f"pass that shape, or a shorter one along axis {along}",
        )
    xp, device = backend.namespace(starts), backend.device(starts)
    if write_indices is None:
        starts = xp.zeros(shape[:1], dtype=starts.dtype, device=device)  # JAX may have no int64
        op = op.replace(index_dtypes=())
    else:
        core.check_source(op, backend, indices=starts)
    if tuple(starts.shape) != shape[:1]:
        raise errors.shape_rule(
            op,
            f"write_indices has shape {tuple(starts.shape)}; pass one index for each sample, shape {shape[:1]}",
        )
    if is_circular and shape[along]:
        starts = xp.remainder(starts, shape[along])  # first: the sum below may exceed int64
    indices = xp.reshape(starts, (-1, 1)) + xp.arange(written[along], dtype=starts.dtype, device=device)
    wrap = "wrap" if is_circular else "raise"
    return core.scatter(op, cache, indices, update, along, 1, mode=wrap, out=out)
