"""The public scatters: signature, documentation, and the record of the operator, which `core` carries out.

``scatters.pyi`` has their overloads for type checkers.
"""

from typing import Any

import numpy as np
from numpy import ndarray

from gatherscatter import core, threads
from gatherscatter._kernels.scatter import try_scatter
from gatherscatter._typing import IntLike
from gatherscatter.operators import AXIS, ELEMENTS, ND, SCATTER, SCATTER_ELEMENTS, SCATTER_ND

__all__ = ["scatter", "scatter_elements", "scatter_nd"]

# Small calls on NumPy arrays have no time for a plan: each function tries them first, and the kernel answers None to
# what a plan has to explain, or what has to be done in another way.


def scatter(
    data: Any,
    indices: Any,
    updates: Any,
    *,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    reduction: str = "none",
    include_self: bool | np.bool = True,
    mode: str = "raise",
    out: Any = None,
) -> Any:
    """Scatter `updates` into a copy of `data`, at the slices along one axis that `indices` name.

    With ``b = batch_dims``, for positions ``p`` in front of the axis (the first ``b`` of them shared with
    `indices`) and ``t`` in ``indices.shape[b:]``, in row-major order::

        result[p + (indices[p[:b] + t],)] = f(result[p + (indices[p[:b] + t],)], updates[p + t])

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        What the result starts from; of a dtype that the reduction takes, as for `scatter_nd`.
    indices : array of integers
        Signed or unsigned, 8 to 64 bits, of any rank. ``i < 0`` means ``i + size``.
    updates : array or Python scalar
        Of shape ``data.shape[:axis] + indices.shape[b:] + data.shape[axis + 1:]`` and of data's
        dtype; a scalar goes to every destination.
    axis : int, default 0
        The axis of `data` that is indexed; negative counts from the back.
    batch_dims : int, default 0
        Leading axes that `data` and `indices` share: ``0 ≤ b ≤ min(axis, indices.ndim)``, with equal sizes.
    reduction : {"none", "add", "mul", "max", "min", "mean"}, default "none"
        What an update does to the element at its destination: see `scatter_nd`.
    include_self : bool, default True
        Whether a destination starts from its element of `data`, or else from its first update.
    mode : {"raise", "clip", "wrap", "drop", "promise_in_bounds"}, default "raise"
        What an index does that is outside ``[0, size)`` after the rule for negatives: see `scatter_nd`.
    out : array, optional
        Where to put the result: see `scatter_nd`. ``out=data`` scatters in place.

    Returns
    -------
    array, shape ``data.shape``
        Of data's library, dtype and device; `out` itself where it was given.

    Raises
    ------
    IndexError, ValueError, TypeError
        As `scatter_nd`.

    See Also
    --------
    scatter_nd : By tuples of indices along the leading axes.
    scatter_elements : By an index for each element.
    gather : The inverse.

    Notes
    -----
    The result is bit for bit that of the sequential loop, at every thread count: see `scatter_nd`.

    This is the counterpart of `gather`; ``torch.index_add`` and ``jax.ops.segment_sum`` [1]_ are of its kind.

    References
    ----------
    .. [1] JAX API, https://docs.jax.dev/en/latest/_autosummary/jax.ops.segment_sum.html

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> gs.scatter(np.zeros((3, 2)), [2, 0, 2], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], reduction="add")
    array([[3., 4.],
           [0., 0.],
           [6., 8.]])
    >>> gs.scatter(np.arange(4), [1, -1], 9)
    array([0, 9, 2, 9])
    """
    if type(data) is ndarray:
        result = try_scatter(
            AXIS, True, data, indices, updates, axis, batch_dims, reduction, mode, include_self, out, threads.limit
        )
        if result is not None:
            return result
    return core.scatter(SCATTER, data, indices, updates, axis, batch_dims, reduction, include_self, mode, out)


def scatter_nd(
    data: Any,
    indices: Any,
    updates: Any,
    *,
    batch_dims: IntLike = 0,
    reduction: str = "none",
    include_self: bool | np.bool = True,
    mode: str = "raise",
    out: Any = None,
) -> Any:
    """Scatter `updates` into a copy of `data`, where index tuples say.

    With ``k = indices.shape[-1]`` and ``b = batch_dims``, for every position ``t`` in ``indices.shape[:-1]`` in
    row-major order::

        result[t[:b] + tuple(indices[t])] = f(result[t[:b] + tuple(indices[t])], updates[t])

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        What the result starts from. Reductions: bool, all integers, float16/32/64, bfloat16, complex64/128 (no
        max and min); "none": any dtype.
    indices : array of integers, shape (…, k)
        Signed or unsigned, 8 to 64 bits; ``k ≤ r − b``. ``i < 0`` means ``i + size``. With ``k = 0`` each
        (empty) tuple names the whole batch item.
    updates : array or Python scalar
        Of shape ``indices.shape[:-1] + data.shape[b + k:]`` and of data's dtype; a scalar goes to every destination.
    batch_dims : int, default 0
        Leading axes that `data` and `indices` share: ``0 ≤ b ≤ min(indices.ndim − 1, r)``, with equal sizes.
    reduction : {"none", "add", "mul", "max", "min", "mean"}, default "none"
        What an update does to the element at its destination, one after the other in row-major order: it replaces
        it, is added, is multiplied, is compared (NaN wins), or is averaged (the sum over the count; integers are
        floored).
    include_self : bool, default True
        Whether a destination starts from its element of `data`. If not, one that is named at least once starts
        from its first update; the others keep data's element.
    mode : {"raise", "clip", "wrap", "drop", "promise_in_bounds"}, default "raise"
        What an index does that is outside ``[0, size)`` after the rule for negatives: raise an `IndexError`;
        take the nearest end; take it modulo the size; skip that update. With "promise_in_bounds" the caller
        guarantees that there is none, and a backend may skip its check; the NumPy backend checks and raises.
    out : array, optional
        Where to put the result: of data's shape and dtype, with any strides; it may overlap the inputs.
        ``out=data`` scatters in place.

    Returns
    -------
    array, shape ``data.shape``
        Of data's library, dtype and device; `out` itself where it was given.

    Raises
    ------
    IndexError
        If an index is out of bounds and the mode raises. `out` then holds every byte it held before.
    ValueError
        If the shapes, `reduction`, `mode` or another option break a rule above.
    TypeError
        If `indices` is not of integers, if updates' dtype is not data's, if the dtype has no such reduction, or if
        arrays of two libraries meet.

    See Also
    --------
    scatter : Slices along one axis.
    scatter_elements : By an index for each element, along one axis.
    gather_nd : The inverse.

    Notes
    -----
    The result is bit for bit that of the sequential loop, duplicates included, at every thread count: with
    "none" the last update in row-major order wins, and float sums round in that order. float16 and bfloat16
    round after every step, integers wrap around, bool is added and maximised as "or", multiplied and
    minimised as "and". A scatter takes at most 64 MiB of memory beside its result.

    This is ScatterND of ONNX [1]_ and ``tf.tensor_scatter_nd_update`` [2]_ and related functions.

    References
    ----------
    .. [1] ONNX operators, ScatterND-18, https://onnx.ai/onnx/operators/onnx__ScatterND.html
    .. [2] TensorFlow API, https://www.tensorflow.org/api_docs/python/tf/tensor_scatter_nd_update

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> data = np.array([1, 2, 3, 4, 5, 6, 7, 8])
    >>> gs.scatter_nd(data, [[4], [3], [1], [7]], [9, 10, 11, 12])
    array([ 1, 11,  3, 10,  9,  6,  7, 12])
    >>> gs.scatter_nd(np.zeros(3), [[0], [2], [0]], [1.0, 2.0, 4.0], reduction="add")
    array([5., 0., 2.])
    """
    if type(data) is ndarray:
        result = try_scatter(
            ND, True, data, indices, updates, 0, batch_dims, reduction, mode, include_self, out, threads.limit
        )
        if result is not None:
            return result
    return core.scatter(SCATTER_ND, data, indices, updates, 0, batch_dims, reduction, include_self, mode, out)


def scatter_elements(
    data: Any,
    indices: Any,
    updates: Any,
    *,
    axis: IntLike = 0,
    reduction: str = "none",
    include_self: bool | np.bool = True,
    mode: str = "raise",
    out: Any = None,
) -> Any:
    """Scatter one update into a copy of `data` for each element of `indices`, along one axis.

    For every position ``t`` in ``indices.shape`` in row-major order, with ``t'`` the same but for
    ``t'[axis] = indices[t]``::

        result[t'] = f(result[t'], updates[t])

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        What the result starts from; of a dtype that the reduction takes, as for `scatter_nd`.
    indices : array of integers, rank r
        Signed or unsigned, 8 to 64 bits. Off the axis it may be smaller than `data`, not larger.
        ``i < 0`` means ``i + size``.
    updates : array or Python scalar
        Of shape ``indices.shape`` and of data's dtype; a scalar goes to every destination.
    axis : int, default 0
        The axis of `data` that is indexed; negative counts from the back.
    reduction : {"none", "add", "mul", "max", "min", "mean"}, default "none"
        What an update does to the element at its destination: see `scatter_nd`.
    include_self : bool, default True
        Whether a destination starts from its element of `data`, or else from its first update.
    mode : {"raise", "clip", "wrap", "drop", "promise_in_bounds"}, default "raise"
        What an index does that is outside ``[0, size)`` after the rule for negatives: see `scatter_nd`.
    out : array, optional
        Where to put the result: see `scatter_nd`. ``out=data`` scatters in place.

    Returns
    -------
    array, shape ``data.shape``
        Of data's library, dtype and device; `out` itself where it was given.

    Raises
    ------
    IndexError, ValueError, TypeError
        As `scatter_nd`.

    See Also
    --------
    scatter : Slices along one axis.
    scatter_nd : By tuples of indices along the leading axes.
    gather_elements : The inverse.

    Notes
    -----
    The result is bit for bit that of the sequential loop, at every thread count: see `scatter_nd`.

    This is ScatterElements of ONNX [1]_ and ``torch.scatter_reduce``; ``numpy.put_along_axis`` is a case of it.

    References
    ----------
    .. [1] ONNX operators, ScatterElements-18, https://onnx.ai/onnx/operators/onnx__ScatterElements.html

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> data = np.zeros((3, 3))
    >>> gs.scatter_elements(data, [[1, 0, 2], [0, 2, 1]], [[1.0, 1.1, 1.2], [2.0, 2.1, 2.2]])
    array([[2. , 1.1, 0. ],
           [1. , 0. , 2.2],
           [0. , 2.1, 1.2]])
    >>> gs.scatter_elements(np.array([1, 2, 3]), [1, 1], [5, 9], reduction="max")
    array([1, 9, 3])
    """
    if type(data) is ndarray:
        result = try_scatter(
            ELEMENTS, True, data, indices, updates, axis, 0, reduction, mode, include_self, out, threads.limit
        )
        if result is not None:
            return result
    return core.scatter(SCATTER_ELEMENTS, data, indices, updates, axis, 0, reduction, include_self, mode, out)
