"""TensorFlow's gather and scatter operators, name for name, for the arrays of every library.

Arguments, their order and their defaults are those of TensorFlow 2.21, and so is the rule for indices: a negative one
is out of bounds. Arrays of NumPy, PyTorch, JAX and the array API go in, and an array of the same library comes out;
an eager ``tf.Tensor`` gives a ``tf.Tensor``. TensorFlow is never imported: a tensor of a library that nobody imported
cannot exist.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np

from gatherscatter import _dialect, errors, neutral, ops, shapes
from gatherscatter import _typing as core
from gatherscatter._typing import (
    IntLike,
)
from gatherscatter.backends import _rows
from gatherscatter.shapes import ND, Plan

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

# What bad_indices_policy may be, and whether it raises.
_POLICIES = {"": True, "DEFAULT": True, "ERROR": True, "IGNORE": False}

# The dtypes of indices in TensorFlow's definitions of the operators: GatherNd, GatherV2 and ScatterNd;
# TensorScatterUpdate; TensorScatterAdd and its kin.
_INDICES = ("int16", "int32", "int64")
_UPDATE_INDICES = ("int16", "int32", "int64", "uint16")
_COMBINE_INDICES = ("int32", "int64")


def gather_nd(
    params: Any, indices: Any, batch_dims: IntLike = 0, name: object = None, bad_indices_policy: str = ""
) -> Any:
    """Gather the elements or slices of `params` that index tuples name: ``tf.gather_nd``.

    With ``k = indices.shape[-1]`` and ``b = batch_dims``, for every position ``t`` in ``indices.shape[:-1]``::

        result[t] = params[t[:b] + tuple(indices[t])]

    Parameters
    ----------
    params : array, shape (d_0, …, d_{r−1})
        Any dtype.
    indices : array of int16, int32 or int64, shape (…, k)
        ``k ≤ r − b``; 0 is legal. An index lies in ``[0, size)``: a negative one is out of bounds.
    batch_dims : int, default 0
        Leading axes that `params` and `indices` share: ``0 ≤ b ≤ min(indices.ndim − 1, r)``.
    name : str, optional
        Ignored.
    bad_indices_policy : {"", "DEFAULT", "ERROR", "IGNORE"}, default ""
        "IGNORE" makes a slice 0 (empty strings) that an index out of bounds names. The others raise.

    Returns
    -------
    array, shape ``indices.shape[:-1] + params.shape[b + k:]``
        Of params' library, dtype and device.

    Raises
    ------
    IndexError
        If an index is out of bounds, or negative, and the policy raises.
    ValueError
        If the shapes or an option break a rule above.
    TypeError
        If `indices` has another dtype, or arrays of two libraries meet.
    NotImplementedError
        For symbolic tensors (inside of ``tf.function``), and for traced JAX indices with a policy that raises.

    References
    ----------
    TensorFlow API, https://www.tensorflow.org/api_docs/python/tf/gather_nd

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
    raises = _raises("gather_nd", bad_indices_policy)
    (params, indices), leave = _entered("gather_nd", _INDICES, params=params, indices=indices)
    batch_dims = shapes.integer("gather_nd", "batch_dims", batch_dims)

    def plan() -> Plan:
        return shapes.gather_nd(params.shape, indices.shape, batch_dims, "raise")

    indices = _without_negatives("gather_nd", indices, plan, raises)
    if raises:
        return leave(ops.gather_nd(params, indices, batch_dims=batch_dims))
    fill = _nothing(params)
    return leave(ops.gather_nd(params, indices, batch_dims=batch_dims, mode="fill", fill_value=fill))


def gather(
    params: Any,
    indices: Any,
    validate_indices: object = None,
    axis: IntLike | None = None,
    batch_dims: IntLike = 0,
    name: object = None,
) -> Any:
    """Gather the slices of `params` along one axis that `indices` name: ``tf.gather``.

    With ``b = batch_dims``, for positions ``p`` in front of the axis and ``t`` in ``indices.shape[b:]``::

        result[p + t] = params[p + (indices[p[:b] + t],)]

    Parameters
    ----------
    params : array, shape (d_0, …, d_{r−1})
        Any dtype, r ≥ 1.
    indices : array of int16, int32 or int64
        Of any rank. An index lies in ``[0, size)``: a negative one is out of bounds.
    validate_indices : ignored
        As in TensorFlow, which has deprecated it: indices are always checked.
    axis : int, optional
        The axis of `params` that is indexed; negative counts from the back. If None, `batch_dims` as it was given,
        so that a negative one counts params' axes from the back.
    batch_dims : int, default 0
        Leading axes that `params` and `indices` share; a negative number is counted from indices' rank. Then
        ``0 ≤ b ≤ min(axis, indices.ndim)``.
    name : str, optional
        Ignored.

    Returns
    -------
    array, shape ``params.shape[:axis] + indices.shape[b:] + params.shape[axis + 1:]``
        Of params' library, dtype and device.

    Raises
    ------
    IndexError
        If an index is out of bounds, or negative.
    ValueError
        If the shapes or an option break a rule above.
    TypeError
        If `indices` has another dtype, or arrays of two libraries meet.
    NotImplementedError
        For symbolic tensors (inside of ``tf.function``), and for traced JAX indices.

    References
    ----------
    TensorFlow API, https://www.tensorflow.org/api_docs/python/tf/gather

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
    (params, indices), leave = _entered("gather", _INDICES, params=params, indices=indices)
    given = shapes.integer("gather", "batch_dims", batch_dims)
    along = given if axis is None else shapes.integer("gather", "axis", axis)
    rank = len(indices.shape)
    if not -rank <= given <= rank:
        rule = f"batch_dims={given} is not in [{-rank}, {rank}] for indices of shape {tuple(indices.shape)}"
        raise errors.shape_rule("gather", rule)
    b = given + rank if given < 0 else given

    def plan() -> Plan:
        return shapes.gather(params.shape, indices.shape, along, b, "raise")

    indices = _without_negatives("gather", indices, plan, raises=True)
    return leave(ops.gather(params, indices, axis=along, batch_dims=b))


def scatter_nd(indices: Any, updates: Any, shape: Any, bad_indices_policy: str = "", name: object = None) -> Any:
    """Add `updates` up in zeros, at the places that index tuples name: ``tf.scatter_nd``.

    With ``k = indices.shape[-1]``, for every position ``t`` in ``indices.shape[:-1]`` in row-major order::

        result[tuple(indices[t])] += updates[t]

    Parameters
    ----------
    indices : array of int16, int32 or int64, shape (…, k)
        ``k ≤ len(shape)``; 0 is legal. An index lies in ``[0, size)``: a negative one is out of bounds.
    updates : array, shape ``indices.shape[:-1] + shape[k:]``
        Of bool, integers, float16, bfloat16, float32, float64, complex64 or complex128; the result has its dtype.
    shape : sequence of int, or an array of them
        Shape of the result.
    bad_indices_policy : {"", "DEFAULT", "ERROR", "IGNORE"}, default ""
        "IGNORE" skips an update whose index is out of bounds. The others raise.
    name : str, optional
        Ignored.

    Returns
    -------
    array, shape `shape`
        Of updates' library, dtype and device.

    Raises
    ------
    IndexError
        If an index is out of bounds, or negative, and the policy raises.
    ValueError
        If the shapes or an option break a rule above.
    TypeError
        If a dtype is none of the above, or arrays of two libraries meet.
    NotImplementedError
        For symbolic tensors (inside of ``tf.function``), and for traced JAX indices with a policy that raises.

    References
    ----------
    TensorFlow API, https://www.tensorflow.org/api_docs/python/tf/scatter_nd

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter.tensorflow as gtf
    >>> gtf.scatter_nd(np.array([[4], [3], [1], [4]]), np.array([9, 10, 11, 12]), [8])
    array([ 0, 11,  0, 10, 21,  0,  0,  0])
    """
    raises = _raises("scatter_nd", bad_indices_policy)
    # Under that name a list of updates becomes an array by itself: there is no data whose dtype it could take.
    (updates, indices), leave = _entered("scatter_nd", _INDICES, **{"the updates": updates, "indices": indices})
    sizes = _sizes(shape)
    zeros = _dialect.namespace(updates).zeros(sizes, dtype=updates.dtype, device=_rows.device(updates))
    return leave(_scatter("scatter_nd", zeros, indices, updates, "add", raises))


def tensor_scatter_nd_update(tensor: Any, indices: Any, updates: Any, name: object = None) -> Any:
    """Put `updates` into a copy of `tensor`, at the places that index tuples name: ``tf.tensor_scatter_nd_update``.

    With ``k = indices.shape[-1]``, for every position ``t`` in ``indices.shape[:-1]`` in row-major order, so that
    of duplicates the last one wins::

        result[tuple(indices[t])] = updates[t]

    Parameters
    ----------
    tensor : array, shape (d_0, …, d_{r−1})
        Any dtype; it is left as it is.
    indices : array of int16, int32, int64 or uint16, shape (…, k)
        ``k ≤ r``; 0 is legal. An index lies in ``[0, size)``: a negative one is out of bounds.
    updates : array, shape ``indices.shape[:-1] + tensor.shape[k:]``
        Of tensor's dtype.
    name : str, optional
        Ignored.

    Returns
    -------
    array, shape ``tensor.shape``
        Of tensor's library, dtype and device.

    Raises
    ------
    IndexError
        If an index is out of bounds, or negative.
    ValueError
        If the shapes break a rule above.
    TypeError
        If a dtype is none of the above, or arrays of two libraries meet.
    NotImplementedError
        For symbolic tensors (inside of ``tf.function``), and for traced JAX indices.

    References
    ----------
    TensorFlow API, https://www.tensorflow.org/api_docs/python/tf/tensor_scatter_nd_update

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter.tensorflow as gtf
    >>> gtf.tensor_scatter_nd_update(np.array([1, 2, 3]), [[2], [0]], np.array([30, 10]))
    array([10,  2, 30])
    """
    return _tensor_scatter("tensor_scatter_nd_update", "none", _UPDATE_INDICES, tensor, indices, updates, "")


def tensor_scatter_nd_add(
    tensor: Any, indices: Any, updates: Any, bad_indices_policy: str = "", name: object = None
) -> Any:
    """Add `updates` to a copy of `tensor`, at the places that index tuples name: ``tf.tensor_scatter_nd_add``.

    With ``k = indices.shape[-1]``, for every position ``t`` in ``indices.shape[:-1]`` in row-major order::

        result[tuple(indices[t])] += updates[t]

    Parameters
    ----------
    tensor : array, shape (d_0, …, d_{r−1})
        bool, integers, float16, bfloat16, float32, float64, complex64 or complex128; it is left as it is.
    indices : array of int32 or int64, shape (…, k)
        ``k ≤ r``; 0 is legal. An index lies in ``[0, size)``: a negative one is out of bounds.
    updates : array, shape ``indices.shape[:-1] + tensor.shape[k:]``
        Of tensor's dtype.
    bad_indices_policy : {"", "DEFAULT", "ERROR", "IGNORE"}, default ""
        "IGNORE" skips an update whose index is out of bounds. The others raise.
    name : str, optional
        Ignored.

    Returns
    -------
    array, shape ``tensor.shape``
        Of tensor's library, dtype and device.

    Raises
    ------
    IndexError
        If an index is out of bounds, or negative, and the policy raises.
    ValueError
        If the shapes or an option break a rule above.
    TypeError
        If a dtype is none of the above, or arrays of two libraries meet.
    NotImplementedError
        For symbolic tensors (inside of ``tf.function``), and for traced JAX indices with a policy that raises.

    References
    ----------
    TensorFlow API, https://www.tensorflow.org/api_docs/python/tf/tensor_scatter_nd_add

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter.tensorflow as gtf
    >>> gtf.tensor_scatter_nd_add(np.array([1, 2, 3]), [[2], [0], [2]], np.array([10, 20, 30]))
    array([21,  2, 43])
    """
    return _tensor_scatter(
        "tensor_scatter_nd_add", "add", _COMBINE_INDICES, tensor, indices, updates, bad_indices_policy
    )


def tensor_scatter_nd_sub(
    tensor: Any, indices: Any, updates: Any, bad_indices_policy: str = "", name: object = None
) -> Any:
    """Subtract `updates` from a copy of `tensor`, at the places that index tuples name: ``tf.tensor_scatter_nd_sub``.

    With ``k = indices.shape[-1]``, for every position ``t`` in ``indices.shape[:-1]`` in row-major order::

        result[tuple(indices[t])] -= updates[t]

    Integers wrap around, unsigned ones too. Beside the result it takes the memory of `updates`.

    Parameters
    ----------
    tensor : array, shape (d_0, …, d_{r−1})
        Integers, float16, bfloat16, float32, float64, complex64 or complex128; it is left as it is.
    indices : array of int32 or int64, shape (…, k)
        ``k ≤ r``; 0 is legal. An index lies in ``[0, size)``: a negative one is out of bounds.
    updates : array, shape ``indices.shape[:-1] + tensor.shape[k:]``
        Of tensor's dtype.
    bad_indices_policy : {"", "DEFAULT", "ERROR", "IGNORE"}, default ""
        "IGNORE" skips an update whose index is out of bounds. The others raise.
    name : str, optional
        Ignored.

    Returns
    -------
    array, shape ``tensor.shape``
        Of tensor's library, dtype and device.

    Raises
    ------
    IndexError
        If an index is out of bounds, or negative, and the policy raises.
    ValueError
        If the shapes or an option break a rule above.
    TypeError
        If a dtype is none of the above, or arrays of two libraries meet.
    NotImplementedError
        For symbolic tensors (inside of ``tf.function``), and for traced JAX indices with a policy that raises.

    References
    ----------
    TensorFlow API, https://www.tensorflow.org/api_docs/python/tf/tensor_scatter_nd_sub

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter.tensorflow as gtf
    >>> gtf.tensor_scatter_nd_sub(np.array([1, 2, 3]), [[2], [0], [2]], np.array([10, 20, 30]))
    array([-19,   2, -37])
    """
    return _tensor_scatter(
        "tensor_scatter_nd_sub", "sub", _COMBINE_INDICES, tensor, indices, updates, bad_indices_policy
    )


def tensor_scatter_nd_max(
    tensor: Any, indices: Any, updates: Any, bad_indices_policy: str = "", name: object = None
) -> Any:
    """Take the larger of updates and a copy of `tensor`, where index tuples name it: ``tf.tensor_scatter_nd_max``.

    With ``k = indices.shape[-1]``, for every position ``t`` in ``indices.shape[:-1]`` in row-major order::

        result[tuple(indices[t])] = max(result[tuple(indices[t])], updates[t])    # NaN wins

    Parameters
    ----------
    tensor : array, shape (d_0, …, d_{r−1})
        bool, integers, float16, bfloat16, float32 or float64; it is left as it is.
    indices : array of int32 or int64, shape (…, k)
        ``k ≤ r``; 0 is legal. An index lies in ``[0, size)``: a negative one is out of bounds.
    updates : array, shape ``indices.shape[:-1] + tensor.shape[k:]``
        Of tensor's dtype.
    bad_indices_policy : {"", "DEFAULT", "ERROR", "IGNORE"}, default ""
        "IGNORE" skips an update whose index is out of bounds. The others raise.
    name : str, optional
        Ignored.

    Returns
    -------
    array, shape ``tensor.shape``
        Of tensor's library, dtype and device.

    Raises
    ------
    IndexError
        If an index is out of bounds, or negative, and the policy raises.
    ValueError
        If the shapes or an option break a rule above.
    TypeError
        If a dtype is none of the above, or arrays of two libraries meet.
    NotImplementedError
        For symbolic tensors (inside of ``tf.function``), and for traced JAX indices with a policy that raises.

    References
    ----------
    TensorFlow API, https://www.tensorflow.org/api_docs/python/tf/tensor_scatter_nd_max

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter.tensorflow as gtf
    >>> gtf.tensor_scatter_nd_max(np.array([1, 2, 3]), [[2], [0], [2]], np.array([10, 0, 5]))
    array([ 1,  2, 10])
    """
    return _tensor_scatter(
        "tensor_scatter_nd_max", "max", _COMBINE_INDICES, tensor, indices, updates, bad_indices_policy
    )


def tensor_scatter_nd_min(
    tensor: Any, indices: Any, updates: Any, bad_indices_policy: str = "", name: object = None
) -> Any:
    """Take the smaller of updates and a copy of `tensor`, where index tuples name it: ``tf.tensor_scatter_nd_min``.

    With ``k = indices.shape[-1]``, for every position ``t`` in ``indices.shape[:-1]`` in row-major order::

        result[tuple(indices[t])] = min(result[tuple(indices[t])], updates[t])    # NaN wins

    Parameters
    ----------
    tensor : array, shape (d_0, …, d_{r−1})
        bool, integers, float16, bfloat16, float32 or float64; it is left as it is.
    indices : array of int32 or int64, shape (…, k)
        ``k ≤ r``; 0 is legal. An index lies in ``[0, size)``: a negative one is out of bounds.
    updates : array, shape ``indices.shape[:-1] + tensor.shape[k:]``
        Of tensor's dtype.
    bad_indices_policy : {"", "DEFAULT", "ERROR", "IGNORE"}, default ""
        "IGNORE" skips an update whose index is out of bounds. The others raise.
    name : str, optional
        Ignored.

    Returns
    -------
    array, shape ``tensor.shape``
        Of tensor's library, dtype and device.

    Raises
    ------
    IndexError
        If an index is out of bounds, or negative, and the policy raises.
    ValueError
        If the shapes or an option break a rule above.
    TypeError
        If a dtype is none of the above, or arrays of two libraries meet.
    NotImplementedError
        For symbolic tensors (inside of ``tf.function``), and for traced JAX indices with a policy that raises.

    References
    ----------
    TensorFlow API, https://www.tensorflow.org/api_docs/python/tf/tensor_scatter_nd_min

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter.tensorflow as gtf
    >>> gtf.tensor_scatter_nd_min(np.array([1, 2, 3]), [[2], [0], [2]], np.array([1, 0, 5]))
    array([0, 2, 1])
    """
    return _tensor_scatter(
        "tensor_scatter_nd_min", "min", _COMBINE_INDICES, tensor, indices, updates, bad_indices_policy
    )


# Scatters


def _tensor_scatter(
    operator: str,
    reduction: core.Reduction | Literal["sub"],
    accepted: tuple[str, ...],
    tensor: Any,
    indices: Any,
    updates: Any,
    bad_indices_policy: str,
) -> Any:
    raises = _raises(operator, bad_indices_policy)
    (tensor, indices, updates), leave = _entered(operator, accepted, tensor=tensor, indices=indices, updates=updates)
    if reduction == "sub":
        reduction, updates = "add", _negated(operator, tensor, indices, updates)
    return leave(_scatter(operator, tensor, indices, updates, reduction, raises))


def _scatter(operator: str, data: Any, indices: Any, updates: Any, reduction: core.Reduction, raises: bool) -> Any:
    def plan() -> Plan:
        planned = _planned_scatter(data, indices)
        if not isinstance(updates, neutral.TYPES):  # as the core has it: what is said of updates comes first
            if updates.dtype != data.dtype:
                raise errors.updates_dtype(operator, updates.dtype, data.dtype)
            if tuple(updates.shape) != planned.shape:
                raise errors.updates_shape(operator, updates.shape, planned.shape)
        return planned

    with _named(operator):
        indices = _without_negatives(operator, indices, plan, raises)
        return ops.scatter_nd(data, indices, updates, reduction=reduction, mode="raise" if raises else "drop")


def _planned_scatter(data: Any, indices: Any) -> Plan:
    return shapes.scatter_nd(data.shape, indices.shape, 0, "raise", "none", True)


def _negated(operator: str, data: Any, indices: Any, updates: Any) -> Any:
    """The updates with their sign turned: to add those is to subtract, bit for bit, wrapping integers included."""
    name = _dialect.dtype_name(data)
    if name in ("bool", "str"):
        raise TypeError(f"{operator}: tensor has dtype {data.dtype}, which has no differences")
    xp = _dialect.namespace(data)
    with _named(operator):
        if isinstance(updates, neutral.TYPES):  # an array by the core's rules: one empty tuple names all of it
            shape = _planned_scatter(data, indices).shape
            where = _rows.device(data)
            zeros, all_of_it = (
                xp.zeros(shape, dtype=data.dtype, device=where),
                xp.zeros(0, dtype=xp.int64, device=where),
            )
            updates = ops.scatter_nd(zeros, all_of_it, updates)
        elif updates.dtype != data.dtype:
            raise errors.updates_dtype(operator, updates.dtype, data.dtype)
    if name in ("uint16", "uint32", "uint64") and "torch" in xp.__name__:  # for which PyTorch has no arithmetic
        return (-updates.view(getattr(xp, name[1:]))).view(updates.dtype)
    return xp.negative(updates)


@contextlib.contextmanager
def _named(operator: str) -> Iterator[None]:
    """Let the core's errors name the operator that was called."""
    try:
        yield
    except (IndexError, NotImplementedError, TypeError, ValueError) as error:
        core, _, rest = str(error).partition(": ")
        if core != "scatter_nd" or operator == core:
            raise
        raise type(error)(f"{operator}: {rest}") from None


def _sizes(shape: Any) -> tuple[int, ...]:
    """The argument `shape`: a sequence, or an array of one axis."""
    if isinstance(shape, (list, tuple)):
        given = list(shape)
    elif len(getattr(shape, "shape", ())) == 1:
        given = [shape[i] for i in range(int(shape.shape[0]))]
    else:
        raise TypeError(f"scatter_nd: shape={shape!r} is not a sequence of integers")
    sizes = tuple(shapes.integer("scatter_nd", "shape", n) for n in given)
    if min(sizes, default=0) < 0:
        raise errors.shape_rule("scatter_nd", f"shape={sizes} holds a negative size")
    return sizes


# Indices


def _raises(operator: str, policy: Any) -> bool:
    """Whether an index out of bounds is an error."""
    if not isinstance(policy, str) or policy not in _POLICIES:
        raise errors.unknown_word(operator, "bad_indices_policy", policy, tuple(_POLICIES))
    return _POLICIES[policy]


def _without_negatives(operator: str, indices: Any, plan: Callable[[], Plan], raises: bool) -> Any:
    """The same indices, without any that the core would count from the back."""
    if _dialect.dtype_name(indices).startswith("uint"):
        return indices
    xp = _dialect.namespace(indices)
    if _are_known(indices):
        with _now(indices):
            if not bool(xp.any(indices < 0)):
                return indices
            if raises:
                raise _explained(xp, operator, indices, plan())
    # Values that are known later only: the core checks them then, or says that it cannot.
    wide = _widened(xp, indices)
    return xp.where(wide < 0, _scalar(xp, xp.iinfo(wide.dtype).max, wide), wide)


def _explained(xp: Any, operator: str, indices: Any, plan: Plan) -> IndexError:
    """Say which index comes first, in row-major order, that is negative or beyond its axis."""
    wide = _widened(xp, indices)
    sizes = list(plan.data[plan.axis : plan.axis + plan.depth])
    # An array, since JAX and the standard compare with no Python integer that the dtype does not hold.
    limits = xp.asarray(sizes if plan.kind == ND else sizes[0], dtype=wide.dtype, device=_rows.device(wide))
    outside = (wide < 0) | (wide >= limits)
    if plan.kind == ND:
        outside = xp.any(outside, axis=-1)
    number = int(xp.argmax(xp.astype(xp.reshape(outside, (-1,)), xp.uint8)))
    position: list[int] = []
    for n in reversed(outside.shape):
        number, i = divmod(number, n)
        position.insert(0, i)
    if plan.kind == ND:
        found = tuple(int(wide[(*position, component)]) for component in range(plan.depth))
    else:
        found = (int(wide[tuple(position)]),)
    component = next(c for c, index in enumerate(found) if not 0 <= index < sizes[c])
    shown = found if plan.kind == ND else found[0]
    error = errors.out_of_bounds(operator, position, shown, plan.data, plan.axis + component)
    return IndexError(f"{error}, and TensorFlow's indices are not negative") if found[component] < 0 else error


def _are_known(indices: Any) -> bool:
    """Whether values can be looked at: not in a trace, where an array stands for its shape, or is lazy."""
    jax, torch = sys.modules.get("jax"), sys.modules.get("torch")
    if jax is not None and isinstance(indices, jax.core.Tracer):
        return False
    if torch is not None and isinstance(indices, torch.Tensor):
        from gatherscatter.backends import torch as backend

        plain = type(indices) in (torch.Tensor, torch.nn.Parameter) and not indices.is_meta
        return plain and not backend._is_watched() and not torch._C._are_functorch_transforms_active()
    dask = sys.modules.get("dask.array")
    return dask is None or not isinstance(indices, dask.Array)


def _now(indices: Any) -> contextlib.AbstractContextManager[Any]:
    """Within it, what is computed from known indices is known, in a trace too."""
    jax = sys.modules.get("jax")
    if jax is not None and isinstance(indices, jax.Array):
        context: contextlib.AbstractContextManager[Any] = jax.ensure_compile_time_eval()
        return context
    return contextlib.nullcontext()


def _widened(xp: Any, indices: Any) -> Any:
    """The same indices in the library's widest signed dtype, whose largest value is beyond any axis."""
    jax = sys.modules.get("jax")
    if jax is not None and isinstance(indices, jax.Array) and not jax.config.read("jax_enable_x64"):
        return xp.astype(indices, xp.int32)
    return xp.astype(indices, xp.int64)


def _scalar(xp: Any, value: int, like: Any) -> Any:
    return xp.asarray(value, dtype=like.dtype, device=_rows.device(like))


def _nothing(params: Any) -> Any:
    """What IGNORE makes of a slice: 0, and for strings, of which an object array has either kind, an empty one."""
    if getattr(params.dtype, "kind", "") != "O":
        return 0
    first = next(iter(params.flat), b"")
    return type(first)() if isinstance(first, (bytes, str)) else 0


# Tensors of TensorFlow itself


def _entered(operator: str, accepted: tuple[str, ...], **arguments: Any) -> tuple[list[Any], Callable[[Any], Any]]:
    """Make the arguments arrays of one library, and say how the result leaves. The first one is the data."""
    tf = sys.modules.get("tensorflow")
    leave: Callable[[Any], Any] = _as_it_is
    # Without Tensor it is being imported, or is another module of that name.
    if tf is not None and hasattr(tf, "Tensor"):
        tensors = [isinstance(value, (tf.Tensor, tf.Variable)) for value in arguments.values()]
        if any(tensors):
            arguments = _on_tensors(tf, operator, arguments)
            leave = _as_tensor
    arrays = _dialect.arrays(operator, **arguments)
    _dialect.check_dtype(operator, "indices", arrays[1], accepted, f"tf.{operator}")
    return arrays, leave


def _on_tensors(tf: Any, operator: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """NumPy arrays on the memory of eager tensors; strings, which TensorFlow keeps in its own form, are copied."""
    result = {}
    for position, (argument, given) in enumerate(arguments.items()):
        value: Any = given
        if position == 0 and isinstance(given, neutral.TYPES) and not isinstance(given, np.generic):
            value = tf.convert_to_tensor(given)  # with TensorFlow's dtype for it
        if isinstance(value, tf.Variable):
            value = value.value()
        if isinstance(value, tf.Tensor):
            if tf.is_symbolic_tensor(value):
                raise NotImplementedError(
                    f"{operator}: {argument} is a symbolic tensor, which has no values yet; inside of tf.function call "
                    "this through tf.numpy_function or tf.py_function"
                )
            # With a dtype __array__ would copy. For one number of bfloat16 it gives no array.
            value = np.asarray(value) if value.shape.rank else np.asarray(value.numpy(), value.dtype.as_numpy_dtype)
        result[argument] = value
    return result


def _as_it_is(result: Any) -> Any:
    return result


def _as_tensor(result: Any) -> Any:
    # A copy. TensorFlow takes over memory through DLPack alone, and then ends the process (tensor.cc, IsAligned())
    # at the first operator that wants it aligned as NumPy's is not.
    tf: Any = sys.modules["tensorflow"]
    return tf.convert_to_tensor(result, dtype=tf.string if result.dtype.kind in "OSU" else None)
