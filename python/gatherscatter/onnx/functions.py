"""The operators' functions; ``functions.pyi`` has their overloads for type checkers."""

from typing import Any

from gatherscatter import core, errors, values
from gatherscatter import plan as plans
from gatherscatter._typing import IntLike, ONNXReduction
from gatherscatter.onnx.versions import accepted, check_reduction, operator_of, version_of

__all__ = [
    "gather",
    "gather_elements",
    "gather_nd",
    "scatter",
    "scatter_elements",
    "scatter_nd",
    "tensor_scatter",
]


def gather(data: Any, indices: Any, *, axis: IntLike = 0, opset: IntLike | None = None) -> Any:
    """Gather: slices of `data` along one axis.

    Parameters
    ----------
    data : array, rank r ≥ 1
        Of a type of the document; bfloat16 from opset 13.
    indices : array of int32 or int64, any rank
        Each in [−s, s − 1] for an axis of size s. Version 1 leaves open what a negative index is; it counts from
        the back here too.
    axis : int, default 0
        In [−r, r − 1].
    opset : int, optional
        Opset of the model, at least 1; the newest if None.

    Returns
    -------
    array, shape ``data.shape[:axis] + indices.shape + data.shape[axis + 1:]``
        Of data's library and dtype.

    Raises
    ------
    IndexError
        If an index is out of bounds.
    TypeError
        If a type is not one of the version's.
    ValueError
        If the opset has no such operator, or a shape breaks a rule.

    References
    ----------
    .. [1] https://onnx.ai/onnx/operators/onnx__Gather.html

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


def gather_elements(data: Any, indices: Any, *, axis: IntLike = 0, opset: IntLike | None = None) -> Any:
    """GatherElements: one element of `data` for each element of `indices`, along one axis.

    Parameters
    ----------
    data : array, rank r ≥ 1
        Of a type of the document; bfloat16 from opset 13.
    indices : array of int32 or int64, rank r
        Each in [−s, s − 1] for an axis of size s. Off the axis it may be smaller than `data`.
    axis : int, default 0
        In [−r, r − 1].
    opset : int, optional
        Opset of the model, at least 11; the newest if None.

    Returns
    -------
    array, shape ``indices.shape``
        Of data's library and dtype.

    Raises
    ------
    IndexError, TypeError, ValueError
        As `gather`.

    References
    ----------
    .. [1] https://onnx.ai/onnx/operators/onnx__GatherElements.html

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


def gather_nd(data: Any, indices: Any, *, batch_dims: IntLike = 0, opset: IntLike | None = None) -> Any:
    """GatherND: elements or slices of `data` that the tuples along the last axis of `indices` name.

    Parameters
    ----------
    data : array, rank r ≥ 1
        Of a type of the document; bfloat16 from opset 13.
    indices : array of int64, rank q ≥ 1
        Tuples of 1 to ``r − batch_dims`` indices, each in [−s, s − 1] for an axis of size s.
    batch_dims : int, default 0
        Leading axes that both share, fewer than min(q, r). From opset 12.
    opset : int, optional
        Opset of the model, at least 11; the newest if None.

    Returns
    -------
    array, shape ``indices.shape[:-1] + data.shape[batch_dims + indices.shape[-1]:]``
        Of data's library and dtype.

    Raises
    ------
    IndexError, TypeError, ValueError
        As `gather`.

    References
    ----------
    .. [1] https://onnx.ai/onnx/operators/onnx__GatherND.html

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> gs.onnx.gather_nd(np.array([[[0, 1], [2, 3]], [[4, 5], [6, 7]]]), [[1], [0]], batch_dims=1)
    array([[2, 3],
           [4, 5]])
    """
    op, (data, indices) = accepted("GatherND", opset, data=data, indices=indices)
    if version_of("GatherND", opset) < 12 and plans.integer(op, "batch_dims", batch_dims):
        raise errors.since_version(op, f"opset {opset} (GatherND-11) has no batch_dims", "opset 12")
    if len(indices.shape) and indices.shape[-1] == 0:
        rule = f"indices of shape {tuple(indices.shape)} holds empty tuples, which ONNX does not have; "
        raise errors.shape_rule(op, rule + "gatherscatter.gather_nd does")
    return core.gather(op, data, indices, 0, batch_dims)


def scatter_elements(
    data: Any,
    indices: Any,
    updates: Any,
    *,
    axis: IntLike = 0,
    reduction: ONNXReduction = "none",
    opset: IntLike | None = None,
) -> Any:
    """ScatterElements: a copy of `data` with one update for each element of `indices`, along one axis.

    Parameters
    ----------
    data : array, rank r ≥ 1
        Of a type of the document; bfloat16 from opset 13.
    indices : array of int32 or int64, rank r
        Each in [−s, s − 1] for an axis of size s.
    updates : array
        Of indices' shape and data's dtype.
    axis : int, default 0
        In [−r, r − 1].
    reduction : {"none", "add", "mul", "max", "min"}, default "none"
        "add" and "mul" from opset 16, "max" and "min" from opset 18. With "none" the document leaves duplicates
        open; here the last wins.
    opset : int, optional
        Opset of the model, at least 11; the newest if None.

    Returns
    -------
    array, shape ``data.shape``
        Of data's library and dtype.

    Raises
    ------
    IndexError, TypeError, ValueError
        As `gather`.

    References
    ----------
    .. [1] https://onnx.ai/onnx/operators/onnx__ScatterElements.html

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


def scatter(data: Any, indices: Any, updates: Any, *, axis: IntLike = 0, opset: IntLike = 9) -> Any:
    """Scatter, which opset 11 replaced by ScatterElements.

    Parameters
    ----------
    data : array, rank r ≥ 1
        Of a type of the document, without bfloat16.
    indices : array of int32 or int64, rank r
        As those of `scatter_elements`. The document leaves open what a negative index is; it counts from the back
        here.
    updates : array
        Of indices' shape and data's dtype.
    axis : int, default 0
        In [−r, r − 1].
    opset : int, default 9
        Opset of the model, 9 or 10.

    Returns
    -------
    array, shape ``data.shape``
        Of data's library and dtype.

    Raises
    ------
    IndexError, TypeError, ValueError
        As `gather`.

    References
    ----------
    .. [1] https://onnx.ai/onnx/operators/onnx__Scatter.html

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> gs.onnx.scatter(np.array([[1.0, 2.0, 3.0]]), [[1, 2]], [[1.1, 2.1]], axis=1)
    array([[1. , 1.1, 2.1]])
    """
    op, (data, indices, updates) = accepted("Scatter", opset, data=data, indices=indices, updates=updates)
    return core.scatter(op, data, indices, updates, axis)


def scatter_nd(
    data: Any, indices: Any, updates: Any, *, reduction: ONNXReduction = "none", opset: IntLike | None = None
) -> Any:
    """ScatterND: a copy of `data` with updates where index tuples say.

    Parameters
    ----------
    data : array, rank r ≥ 1
        Of a type of the document; bfloat16 from opset 13.
    indices : array of int64, rank q ≥ 1
        Tuples of at most r indices, each in [−s, s − 1] for an axis of size s.
    updates : array
        Of shape ``indices.shape[:-1] + data.shape[indices.shape[-1]:]`` and data's dtype.
    reduction : {"none", "add", "mul", "max", "min"}, default "none"
        "add" and "mul" from opset 16, "max" and "min" from opset 18. With "none" the document leaves duplicates
        open; here the last wins.
    opset : int, optional
        Opset of the model, at least 11; the newest if None.

    Returns
    -------
    array, shape ``data.shape``
        Of data's library and dtype.

    Raises
    ------
    IndexError, TypeError, ValueError
        As `gather`.

    References
    ----------
    .. [1] https://onnx.ai/onnx/operators/onnx__ScatterND.html

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


def tensor_scatter(
    past_cache: Any,
    update: Any,
    write_indices: Any = None,
    *,
    axis: IntLike = -2,
    mode: str = "linear",
    opset: IntLike | None = None,
) -> Any:
    """TensorScatter: the update of a key-value cache, one run of positions along one axis for each sample.

    Parameters
    ----------
    past_cache : array, shape (B, …, S, …)
        The cache, S being its size along `axis`.
    update : array, shape (B, …, n, …)
        What is written, of past_cache's dtype and shape but for n ≤ S along `axis`.
    write_indices : array of int64, shape (B,), optional
        Where each sample's run starts; 0 if not given.
    axis : int, default −2
        Any axis but the first.
    mode : {"linear", "circular"}, default "linear"
        Whether a run that reaches the end goes on at the start.
    opset : int, optional
        Opset of the model, at least 24; the newest if None.

    Returns
    -------
    array, shape ``past_cache.shape``
        Of past_cache's library and dtype.

    Raises
    ------
    IndexError
        If a run in mode "linear" leaves the cache.
    TypeError, ValueError
        As `gather`.

    References
    ----------
    .. [1] https://onnx.ai/onnx/operators/onnx__TensorScatter.html

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
    mode = plans.word(op, "mode", mode, ("linear", "circular"))
    arguments = {"data": past_cache, "indices": 0 if write_indices is None else write_indices, "updates": update}
    backend, (past_cache, starts, update) = core.arrays(op, **arguments)
    core.check_source(op, backend, data=past_cache)
    shape, rank = tuple(past_cache.shape), len(past_cache.shape)
    along = plans.integer(op, "axis", axis)
    if not -rank <= along < rank or along % rank == 0:
        rule = f"axis={axis} is not one of the axes after the first of past_cache of shape {shape}"
        raise errors.shape_rule(op, rule)
    along %= rank
    written = values.shape_of(op, "updates", update)
    if len(written) != rank or not 0 <= written[along] <= shape[along]:
        raise errors.shape_rule(
            op,
            f"update of shape {written} does not fit past_cache of shape {shape}: along axis {along} it may be "
            "shorter, else it is alike",
        )
    xp, device = backend.namespace(starts), backend.device(starts)
    if write_indices is None:
        starts = xp.zeros(shape[:1], dtype=xp.int64, device=device)
    core.check_source(op, backend, indices=starts)
    if tuple(starts.shape) != shape[:1]:
        raise errors.shape_rule(
            op,
            f"write_indices has shape {tuple(starts.shape)}; pass one index for each sample, shape {shape[:1]}",
        )
    indices = xp.reshape(starts, (-1, 1)) + xp.arange(written[along], dtype=xp.int64, device=device)
    return core.scatter(op, past_cache, indices, update, along, 1, mode="wrap" if mode == "circular" else "raise")
