"""TensorFlow's gathers and scatters."""

from __future__ import annotations

from typing import Any

from gatherscatter import core, errors, values
from gatherscatter import plan as plans
from gatherscatter._typing import AnyIndices, AnyValues, DataT, Integer, IntLike, Listed, Scalar, TensorFlowPolicy
from gatherscatter.operators import GATHER, GATHER_ND, SCATTER_ND, Operator
from gatherscatter.reductions import DTYPES
from gatherscatter.tensorflow.tensors import enter

__all__ = [
    "gather",
    "gather_nd",
    "scatter_nd",
    "tensor_scatter_nd_add",
    "tensor_scatter_nd_max",
    "tensor_scatter_nd_min",
    "tensor_scatter_nd_sub",
    "tensor_scatter_nd_update",
]


# The values of bad_indices_policy: whether an index out of bounds raises.
POLICIES = {"": True, "DEFAULT": True, "ERROR": True, "IGNORE": False}


def _operator(like: Operator, name: str, data: str, index_dtypes: tuple[str, ...], **fields: Any) -> Operator:
    """The record of an operator, with the index dtypes of TensorFlow's definition."""
    return like.replace(
        name=name,
        data=data,
        wrap_negative_indices=False,
        broadcasts=False,
        negatives="TensorFlow's indices are not negative",
        index_dtypes=index_dtypes,
        source=f"tf.{name}",
        **fields,
    )


_INDICES = ("int16", "int32", "int64")
_COMBINE_INDICES = ("int32", "int64")
_GATHER_ND = _operator(GATHER_ND, "gather_nd", "params", _INDICES)
_GATHER = _operator(GATHER, "gather", "params", _INDICES)
_SCATTER_ND = _operator(SCATTER_ND, "scatter_nd", "the result", _INDICES)
_UPDATE = _operator(SCATTER_ND, "tensor_scatter_nd_update", "tensor", (*_INDICES, "uint16"))
_ADD = _operator(SCATTER_ND, "tensor_scatter_nd_add", "tensor", _COMBINE_INDICES)
_SUB = _operator(SCATTER_ND, "tensor_scatter_nd_sub", "tensor", _COMBINE_INDICES, data_dtypes=DTYPES[1:])
_MAX = _operator(SCATTER_ND, "tensor_scatter_nd_max", "tensor", _COMBINE_INDICES)
_MIN = _operator(SCATTER_ND, "tensor_scatter_nd_min", "tensor", _COMBINE_INDICES)


def gather_nd(
    params: DataT | Listed[DataT] | Scalar,
    indices: AnyIndices,
    batch_dims: IntLike = 0,
    name: object = None,
    bad_indices_policy: TensorFlowPolicy = "",
) -> DataT:
    """Gather elements or slices of `params` by index tuples (``tf.gather_nd``).

    It is `gatherscatter.gather_nd` without negative indices.

    Parameters
    ----------
    params : array, shape (d_0, …, d_{r−1})
        Any dtype.
    indices : array of int16, int32 or int64, shape (…, k)
        ``k ≤ r − batch_dims``, and k may be 0. Indices are in ``[0, size)``.
    batch_dims : int, default 0
        Number of leading axes that `params` and `indices` share.
    name : str, optional
        Ignored.
    bad_indices_policy : {"", "DEFAULT", "ERROR", "IGNORE"}, default ""
        With "IGNORE", an index out of bounds gives zeros (empty strings). The other policies raise an error.

    Returns
    -------
    array, shape ``indices.shape[:-1] + params.shape[batch_dims + k:]``
        The result, of params' library, dtype and device.

    Raises
    ------
    IndexError, TypeError, ValueError
        As `gatherscatter.gather_nd`.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter.tensorflow as gtf
    >>> params = np.array([[1, 2], [3, 4]])
    >>> gtf.gather_nd(params, [[0, 0], [1, 1]])
    array([1, 4])
    >>> gtf.gather_nd(params, [[1], [0]], batch_dims=1)
    array([2, 3])
    >>> gtf.gather_nd(params, [[0, -1], [1, 1]], bad_indices_policy="IGNORE")
    array([0, 4])
    """
    raises = _raises(_GATHER_ND, bad_indices_policy)
    (params, indices), leave = enter(_GATHER_ND, data=params, indices=indices)
    if raises:
        return leave(core.gather(_GATHER_ND, params, indices, 0, batch_dims))
    return leave(core.gather(_GATHER_ND, params, indices, 0, batch_dims, "fill", _zero(params)))


def gather(
    params: DataT | Listed[DataT],
    indices: AnyIndices | Integer,
    validate_indices: object = None,
    axis: IntLike | None = None,
    batch_dims: IntLike | None = 0,
    name: object = None,
) -> DataT:
    """Gather slices of `params` along one axis (``tf.gather``).

    It is `gatherscatter.gather` without negative indices. `batch_dims` may be negative.

    Parameters
    ----------
    params : array, shape (d_0, …, d_{r−1})
        Any dtype, r ≥ 1.
    indices : array of int16, int32 or int64
        Of any rank. Indices are in ``[0, size)``.
    validate_indices : ignored
        Deprecated in TensorFlow. Indices are always checked.
    axis : int, optional
        The axis of `params` to index. A negative axis counts from the end. By default the value of `batch_dims`; if
        that is negative, it counts from the end of params' axes.
    batch_dims : int, default 0
        Number of leading axes that `params` and `indices` share. If it is negative, the rank of `indices` is added.
        None is 0.
    name : str, optional
        Ignored.

    Returns
    -------
    array, shape ``params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1:]``
        The result, of params' library, dtype and device.

    Raises
    ------
    IndexError, TypeError, ValueError
        As `gatherscatter.gather`.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter.tensorflow as gtf
    >>> params = np.array([[1, 2, 3], [4, 5, 6]])
    >>> gtf.gather(params, [1, 0])
    array([[4, 5, 6],
           [1, 2, 3]])
    >>> gtf.gather(params, [2, 0], axis=1)
    array([[3, 1],
           [6, 4]])
    >>> gtf.gather(params, [[2], [0]], batch_dims=-1)
    array([[3],
           [4]])
    """
    (params, indices), leave = enter(_GATHER, data=params, indices=indices)
    batch_dims = 0 if batch_dims is None else plans.integer(_GATHER, "batch_dims", batch_dims)
    along = batch_dims if axis is None else plans.integer(_GATHER, "axis", axis)
    if batch_dims:
        batch_dims = _from_rank(batch_dims, values.shape_of(_GATHER, "indices", indices))
    return leave(core.gather(_GATHER, params, indices, along, batch_dims))


def scatter_nd(
    indices: AnyIndices,
    updates: DataT | Listed[DataT] | Scalar,
    shape: AnyIndices,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> DataT:
    """Add `updates` to an array of zeros by index tuples (``tf.scatter_nd``).

    It is `gatherscatter.scatter_nd` with "add" into zeros, without negative indices.

    Parameters
    ----------
    indices : array of int16, int32 or int64, shape (…, k)
        ``k ≤ len(shape)``, and k may be 0. Indices are in ``[0, size)``.
    updates : array, shape ``indices.shape[:-1] + shape[k:]``
        Of a dtype that "add" supports. The result has the same dtype.
    shape : sequence of int, or an array of them
        Shape of the result.
    bad_indices_policy : {"", "DEFAULT", "ERROR", "IGNORE"}, default ""
        With "IGNORE", an update whose index is out of bounds is skipped. The other policies raise an error.
    name : str, optional
        Ignored.

    Returns
    -------
    array, shape `shape`
        The result, of updates' library, dtype and device.

    Raises
    ------
    IndexError, TypeError, ValueError
        As `gatherscatter.scatter_nd`.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter.tensorflow as gtf
    >>> gtf.scatter_nd(np.array([[4], [3], [1], [4]]), np.array([9, 10, 11, 12]), [8])
    array([ 0, 11,  0, 10, 21,  0,  0,  0])
    """
    mode = "raise" if _raises(_SCATTER_ND, bad_indices_policy) else "drop"
    (updates, indices), leave = enter(_SCATTER_ND, updates=updates, indices=indices)
    sizes = _sizes(shape)
    backend, (updates, _) = core.arrays(_SCATTER_ND, updates=updates, indices=indices, convert_updates=True)
    zeros = backend.zeros(sizes, updates)
    return leave(core.scatter(_SCATTER_ND, zeros, indices, updates, 0, 0, "add", True, mode))


def tensor_scatter_nd_update(
    tensor: DataT | Listed[DataT] | Scalar, indices: AnyIndices, updates: AnyValues, name: object = None
) -> DataT:
    """Scatter `updates` into a copy of `tensor` by index tuples (``tf.tensor_scatter_nd_update``).

    It is `gatherscatter.scatter_nd` with "none", without negative indices.

    Parameters
    ----------
    tensor : array, shape (d_0, …, d_{r−1})
        Any dtype. It is not modified.
    indices : array of int16, int32, int64 or uint16, shape (…, k)
        ``k ≤ r``, and k may be 0. Indices are in ``[0, size)``.
    updates : array, shape ``indices.shape[:-1] + tensor.shape[k:]``
        Of tensor's dtype. A NumPy array or a list is cast to it if it holds the values; floats are rounded.
    name : str, optional
        Ignored.

    Returns
    -------
    array, shape ``tensor.shape``
        The result, of tensor's library, dtype and device.

    Raises
    ------
    IndexError, TypeError, ValueError
        As `gatherscatter.scatter_nd`.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter.tensorflow as gtf
    >>> gtf.tensor_scatter_nd_update(np.array([1, 2, 3]), [[2], [0]], np.array([30, 10]))
    array([10,  2, 30])
    """
    return _tensor_scatter(_UPDATE, "none", tensor, indices, updates, "")


def tensor_scatter_nd_add(
    tensor: DataT | Listed[DataT] | Scalar,
    indices: AnyIndices,
    updates: AnyValues,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> DataT:
    """Add `updates` to a copy of `tensor` by index tuples (``tf.tensor_scatter_nd_add``).

    It is `gatherscatter.scatter_nd` with "add", without negative indices.

    Parameters
    ----------
    tensor : array, shape (d_0, …, d_{r−1})
        Of a dtype that "add" supports. It is not modified.
    indices : array of int32 or int64, shape (…, k)
        ``k ≤ r``, and k may be 0. Indices are in ``[0, size)``.
    updates : array, shape ``indices.shape[:-1] + tensor.shape[k:]``
        Of tensor's dtype. A NumPy array or a list is cast to it if it holds the values; floats are rounded.
    bad_indices_policy : {"", "DEFAULT", "ERROR", "IGNORE"}, default ""
        With "IGNORE", an update whose index is out of bounds is skipped. The other policies raise an error.
    name : str, optional
        Ignored.

    Returns
    -------
    array, shape ``tensor.shape``
        The result, of tensor's library, dtype and device.

    Raises
    ------
    IndexError, TypeError, ValueError
        As `gatherscatter.scatter_nd`.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter.tensorflow as gtf
    >>> gtf.tensor_scatter_nd_add(np.array([1, 2, 3]), [[2], [0], [2]], np.array([10, 20, 30]))
    array([21,  2, 43])
    """
    return _tensor_scatter(_ADD, "add", tensor, indices, updates, bad_indices_policy)


def tensor_scatter_nd_sub(
    tensor: DataT | Listed[DataT] | Scalar,
    indices: AnyIndices,
    updates: AnyValues,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> DataT:
    """Subtract `updates` from a copy of `tensor` by index tuples (``tf.tensor_scatter_nd_sub``).

    It is `gatherscatter.scatter_nd` with "add" of the negated updates, without negative indices. The negated updates
    take memory in addition to the result.

    Parameters
    ----------
    tensor : array, shape (d_0, …, d_{r−1})
        Of a dtype that "add" supports, except bool. Integers wrap around. It is not modified.
    indices : array of int32 or int64, shape (…, k)
        ``k ≤ r``, and k may be 0. Indices are in ``[0, size)``.
    updates : array, shape ``indices.shape[:-1] + tensor.shape[k:]``
        Of tensor's dtype. A NumPy array or a list is cast to it if it holds the values; floats are rounded.
    bad_indices_policy : {"", "DEFAULT", "ERROR", "IGNORE"}, default ""
        With "IGNORE", an update whose index is out of bounds is skipped. The other policies raise an error.
    name : str, optional
        Ignored.

    Returns
    -------
    array, shape ``tensor.shape``
        The result, of tensor's library, dtype and device.

    Raises
    ------
    IndexError, TypeError, ValueError
        As `gatherscatter.scatter_nd`.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter.tensorflow as gtf
    >>> gtf.tensor_scatter_nd_sub(np.array([1, 2, 3]), [[2], [0], [2]], np.array([10, 20, 30]))
    array([-19,   2, -37])
    """
    mode = "raise" if _raises(_SUB, bad_indices_policy) else "drop"
    (tensor, indices, updates), leave = enter(_SUB, data=tensor, indices=indices, updates=updates)
    return leave(core.scatter_negative(_SUB, tensor, indices, updates, mode=mode))


def tensor_scatter_nd_max(
    tensor: DataT | Listed[DataT] | Scalar,
    indices: AnyIndices,
    updates: AnyValues,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> DataT:
    """Take the maximum of a copy of `tensor` and `updates` by index tuples (``tf.tensor_scatter_nd_max``).

    It is `gatherscatter.scatter_nd` with "max", without negative indices.

    Parameters
    ----------
    tensor : array, shape (d_0, …, d_{r−1})
        Of a dtype that "max" supports. It is not modified.
    indices : array of int32 or int64, shape (…, k)
        ``k ≤ r``, and k may be 0. Indices are in ``[0, size)``.
    updates : array, shape ``indices.shape[:-1] + tensor.shape[k:]``
        Of tensor's dtype. A NumPy array or a list is cast to it if it holds the values; floats are rounded.
    bad_indices_policy : {"", "DEFAULT", "ERROR", "IGNORE"}, default ""
        With "IGNORE", an update whose index is out of bounds is skipped. The other policies raise an error.
    name : str, optional
        Ignored.

    Returns
    -------
    array, shape ``tensor.shape``
        The result, of tensor's library, dtype and device.

    Raises
    ------
    IndexError, TypeError, ValueError
        As `gatherscatter.scatter_nd`.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter.tensorflow as gtf
    >>> gtf.tensor_scatter_nd_max(np.array([1, 2, 3]), [[2], [0], [2]], np.array([10, 0, 5]))
    array([ 1,  2, 10])
    """
    return _tensor_scatter(_MAX, "max", tensor, indices, updates, bad_indices_policy)


def tensor_scatter_nd_min(
    tensor: DataT | Listed[DataT] | Scalar,
    indices: AnyIndices,
    updates: AnyValues,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> DataT:
    """Take the minimum of a copy of `tensor` and `updates` by index tuples (``tf.tensor_scatter_nd_min``).

    It is `gatherscatter.scatter_nd` with "min", without negative indices.

    Parameters
    ----------
    tensor : array, shape (d_0, …, d_{r−1})
        Of a dtype that "min" supports. It is not modified.
    indices : array of int32 or int64, shape (…, k)
        ``k ≤ r``, and k may be 0. Indices are in ``[0, size)``.
    updates : array, shape ``indices.shape[:-1] + tensor.shape[k:]``
        Of tensor's dtype. A NumPy array or a list is cast to it if it holds the values; floats are rounded.
    bad_indices_policy : {"", "DEFAULT", "ERROR", "IGNORE"}, default ""
        With "IGNORE", an update whose index is out of bounds is skipped. The other policies raise an error.
    name : str, optional
        Ignored.

    Returns
    -------
    array, shape ``tensor.shape``
        The result, of tensor's library, dtype and device.

    Raises
    ------
    IndexError, TypeError, ValueError
        As `gatherscatter.scatter_nd`.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter.tensorflow as gtf
    >>> gtf.tensor_scatter_nd_min(np.array([1, 2, 3]), [[2], [0], [2]], np.array([1, 0, 5]))
    array([0, 2, 1])
    """
    return _tensor_scatter(_MIN, "min", tensor, indices, updates, bad_indices_policy)


def _tensor_scatter(op: Operator, reduction: str, tensor: Any, indices: Any, updates: Any, policy: str) -> Any:
    mode = "raise" if _raises(op, policy) else "drop"
    (tensor, indices, updates), leave = enter(op, data=tensor, indices=indices, updates=updates)
    return leave(core.scatter(op, tensor, indices, updates, 0, 0, reduction, True, mode))


# Options


def _raises(op: Operator, policy: Any) -> bool:
    """Whether an index out of bounds is an error."""
    if not isinstance(policy, str) or policy not in POLICIES:
        raise errors.unknown_choice(op, "bad_indices_policy", policy, tuple(POLICIES))
    return POLICIES[policy]


def _from_rank(batch_dims: int, indices: tuple[int, ...]) -> int:
    """The batch_dims; if it is negative, the rank of indices is added."""
    rank = len(indices)
    if not -rank <= batch_dims <= rank:
        rule = f"batch_dims={batch_dims} is not in [{-rank}, {rank}] for indices of shape {indices}"
        raise errors.shape_rule(_GATHER, rule)
    return batch_dims + rank if batch_dims < 0 else batch_dims


def _sizes(shape: Any) -> tuple[int, ...]:
    """The argument `shape`: a sequence, or an array of one axis."""
    if isinstance(shape, (list, tuple)):
        given = list(shape)
    elif len(getattr(shape, "shape", ())) == 1:
        given = [shape[i] for i in range(int(shape.shape[0]))]
    else:
        raise TypeError(f"scatter_nd: shape={shape!r} is not a sequence of integers")
    sizes = tuple(plans.integer(_SCATTER_ND, "shape", n) for n in given)
    if min(sizes, default=0) < 0:
        raise errors.shape_rule(_SCATTER_ND, f"shape={sizes} holds a negative size")
    return sizes


def _zero(params: Any) -> Any:
    """The fill value of IGNORE: 0, or for an object array of strings an empty str or bytes, by its first element."""
    if getattr(getattr(params, "dtype", None), "kind", "") != "O":
        return 0
    first = next(iter(params.flat), b"")
    return type(first)() if isinstance(first, (bytes, str)) else 0
