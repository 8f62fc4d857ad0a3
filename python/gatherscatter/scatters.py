"""The public scatter functions: signatures and docstrings. `core` carries them out.

``scatters.pyi`` has the overloads for type checkers.
"""

from typing import Any

import numpy as np
from numpy import ndarray

from gatherscatter import core, threads
from gatherscatter._kernels.scatter import try_scatter
from gatherscatter._typing import IntLike
from gatherscatter.backends.base import small_scatters
from gatherscatter.errors.foreign import MISSING, plain_signature, unexpected
from gatherscatter.operators import AXIS, ELEMENTS, ND, SCATTER, SCATTER_ELEMENTS, SCATTER_ND

__all__ = ["scatter", "scatter_elements", "scatter_nd"]

# Fast path: a small call on NumPy arrays goes to the kernel without a plan, which would take longer than the kernel.
# The kernel returns None if it declines the call, before anything is run; `core` does not ask it again. Backends may
# register the same for other arrays.
#
# Options are keyword-only. A further positional argument is bound to `positional` and raises an error, as does an
# unknown keyword (`errors.foreign`). Python's keyword-only parameters would do the same, but Python looks up their
# defaults one by one in a dict, and a small call takes longer. `plain_signature` gives help() the signature with
# keyword-only parameters.


@plain_signature
def scatter(
    data: Any = MISSING,
    indices: Any = MISSING,
    updates: Any = MISSING,
    positional: Any = MISSING,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    reduction: str = "none",
    include_self: bool | np.bool = True,
    mode: str = "raise",
    wrap_negative_indices: bool | np.bool = True,
    accumulate_dtype: Any = None,
    out: Any = None,
    *rest: Any,
    **words: Any,
) -> Any:
    """Scatter `updates` into a copy of `data`, at slices along one axis.

    Each index selects a slice. With ``b = batch_dims``, for every position ``p`` in ``data.shape[:axis]`` (its first
    ``b`` axes are shared with `indices`) and every position ``t`` in ``indices.shape[b:]``, in row-major order::

        result[p + (indices[p[:b] + t],)] = f(result[p + (indices[p[:b] + t],)], updates[p + t])

    where `reduction` determines ``f``.

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Initial values of the result. The reduction must support its dtype: see `scatter_nd`.
    indices : array of integers
        Signed or unsigned, 8 to 64 bits, of any rank. Negative indices count from the end.
    updates : array or scalar
        Of data's dtype or one that casts to it without loss: see `scatter_nd`. Of shape
        ``data.shape[:axis] + indices.shape[b:] + data.shape[axis + 1:]`` or one that broadcasts to it.
    axis : int, default 0
        The axis of `data` to index. A negative axis counts from the end.
    batch_dims : int, default 0
        Number of leading axes that `data` and `indices` share, with equal sizes:
        ``0 ≤ b ≤ min(axis, indices.ndim)``.
    reduction : {"none", "add", "mul", "max", "min", "mean"}, default "none"
        How to combine an update with the element at its destination: see `scatter_nd`.
    include_self : bool, default True
        Whether a destination starts from its element of `data`. If False, it starts from its first update.
    mode : {"raise", "clip", "wrap", "drop", "promise_in_bounds"}, default "raise"
        How to treat an index that is out of bounds: see `scatter_nd`.
    wrap_negative_indices : bool, default True
        Whether negative indices count from the end. If False, they are out of bounds: see `mode`.
    accumulate_dtype : dtype, optional
        A wider dtype for sums and products: see `scatter_nd`.
    out : array, optional
        Array to write the result to: see `scatter_nd`. ``out=data`` scatters in place.

    Returns
    -------
    array, shape ``data.shape``
        The result, of data's library, dtype and device. It is `out` if that is given.

    Raises
    ------
    IndexError, ValueError, TypeError
        As `scatter_nd`.

    See Also
    --------
    scatter_nd : Scatter by index tuples for the leading axes.
    scatter_elements : Scatter by one index per element.
    gather : The inverse.

    Notes
    -----
    The result is bit for bit that of the sequential loop, at every thread count: see `scatter_nd`.

    ``torch.index_add`` and ``jax.ops.segment_sum`` [1]_ are special cases of this function.

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
    if words or positional is not MISSING:
        raise unexpected(SCATTER, scatter, (data, indices, updates), positional, words)
    attempt = try_scatter if type(data) is ndarray else small_scatters.get(type(data).__name__)
    if accumulate_dtype is not None:
        attempt = None
    if attempt is not None:
        result = attempt(
            AXIS, wrap_negative_indices, data, indices, updates, axis, batch_dims, reduction, mode, include_self, out,
            threads.limit, SCATTER,
        )  # fmt: skip
        if result is not None:
            return result
    return core.scatter(
        SCATTER, data, indices, updates, axis, batch_dims, reduction, include_self, mode, wrap_negative_indices,
        accumulate_dtype, out, attempt is not None,
    )  # fmt: skip


@plain_signature
def scatter_nd(
    data: Any = MISSING,
    indices: Any = MISSING,
    updates: Any = MISSING,
    positional: Any = MISSING,
    batch_dims: IntLike = 0,
    reduction: str = "none",
    include_self: bool | np.bool = True,
    mode: str = "raise",
    wrap_negative_indices: bool | np.bool = True,
    accumulate_dtype: Any = None,
    out: Any = None,
    *rest: Any,
    **words: Any,
) -> Any:
    """Scatter `updates` into a copy of `data` by index tuples.

    The last axis of `indices` contains the tuples. A tuple with one index for each axis of `data` selects an element;
    a shorter tuple selects a whole slice. With ``k = indices.shape[-1]`` and ``b = batch_dims``, for every position
    ``t`` in ``indices.shape[:-1]`` in row-major order::

        result[t[:b] + tuple(indices[t])] = f(result[t[:b] + tuple(indices[t])], updates[t])

    where `reduction` determines ``f``.

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Initial values of the result. "none" supports any dtype. The other reductions support bool, integers,
        float16/32/64, bfloat16 and complex64/128, except "max" and "min" of complex numbers and "mean" of bools.
    indices : array of integers, shape (…, k)
        Signed or unsigned, 8 to 64 bits; ``k ≤ r − b``. Negative indices count from the end. With ``k = 0``, each
        (empty) tuple selects the whole batch item.
    updates : array or scalar
        Of data's dtype, or one that ``numpy.can_cast`` casts to it by the rule "safe", such as float32 to float64. Of
        shape ``indices.shape[:-1] + data.shape[b + k:]`` or one that broadcasts to it. The value of a scalar must fit
        data's dtype; the dtype of a NumPy scalar does not matter.
    batch_dims : int, default 0
        Number of leading axes that `data` and `indices` share, with equal sizes:
        ``0 ≤ b ≤ min(indices.ndim − 1, r)``.
    reduction : {"none", "add", "mul", "max", "min", "mean"}, default "none"
        How to combine an update with the element at its destination: replace the element, add, multiply, take the
        maximum or minimum (NaN propagates), or average (the sum divided by the number of values; integers are rounded
        down). Updates are applied one after the other, in row-major order.
    include_self : bool, default True
        Whether a destination starts from its element of `data`. If False, it starts from its first update. Elements
        of `data` without an update are kept in both cases.
    mode : {"raise", "clip", "wrap", "drop", "promise_in_bounds"}, default "raise"
        How to treat an index that is out of bounds, that is, outside ``[−size, size)``: raise an `IndexError`; clip
        it to the nearest valid index; take it modulo the size; or skip its update. With "promise_in_bounds", the
        caller guarantees that there is no such index, and a backend may skip the check. The NumPy backend checks and
        raises.
    wrap_negative_indices : bool, default True
        Whether negative indices count from the end. If False, they are out of bounds: see `mode`.
    accumulate_dtype : dtype, optional
        For "add", "mul" and "mean": a wider dtype of the same kind as data's, such as ``"float32"`` for float16. Sums
        and products are computed in this dtype, in the same order, and rounded to data's dtype once, at the end.
    out : array, optional
        Array to write the result to, with the shape and dtype of `data`. It may have any strides and may overlap the
        inputs. ``out=data`` scatters in place.

    Returns
    -------
    array, shape ``data.shape``
        The result, of data's library, dtype and device. It is `out` if that is given.

    Raises
    ------
    IndexError
        If an index is out of bounds and the mode raises, or if the mode clips or wraps into an axis of size 0.
        `out` is unchanged.
    ValueError
        If the shapes do not match, or if `reduction`, `mode` or another option is invalid.
    TypeError
        If `indices` has no integer dtype, if the dtype of `updates` does not cast to data's without loss, if the
        reduction does not support the dtype, or if the arrays belong to different libraries.

    See Also
    --------
    scatter : Scatter slices along one axis.
    scatter_elements : Scatter by one index per element, along one axis.
    gather_nd : The inverse.

    Notes
    -----
    The result is bit for bit that of the sequential loop, duplicates included, at every thread count: with
    "none" the last update in row-major order wins, and float sums round in that order. Without `accumulate_dtype`
    float16 and bfloat16 round after every step. Floats that overflow become infinite without a warning. Integers wrap
    around. For bools, "add" and "max" are OR, "mul" and "min" are AND.

    A scatter uses at most 64 MiB of memory in addition to its result, or 128 MiB if it copies strided updates. With
    ``include_self=False`` it also keeps a mark of 1 byte, and for a mean a count of 4 bytes, for each row of data (up
    to 48 bytes if `out` is not contiguous).

    This function is ScatterND of ONNX [1]_, and ``tf.tensor_scatter_nd_update`` [2]_ and related functions.

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
    if words or positional is not MISSING:
        raise unexpected(SCATTER_ND, scatter_nd, (data, indices, updates), positional, words)
    attempt = try_scatter if type(data) is ndarray else small_scatters.get(type(data).__name__)
    if accumulate_dtype is not None:
        attempt = None
    if attempt is not None:
        result = attempt(
            ND, wrap_negative_indices, data, indices, updates, 0, batch_dims, reduction, mode, include_self, out,
            threads.limit, SCATTER_ND,
        )  # fmt: skip
        if result is not None:
            return result
    return core.scatter(
        SCATTER_ND, data, indices, updates, 0, batch_dims, reduction, include_self, mode, wrap_negative_indices,
        accumulate_dtype, out, attempt is not None,
    )  # fmt: skip


@plain_signature
def scatter_elements(
    data: Any = MISSING,
    indices: Any = MISSING,
    updates: Any = MISSING,
    positional: Any = MISSING,
    axis: IntLike = 0,
    reduction: str = "none",
    include_self: bool | np.bool = True,
    mode: str = "raise",
    wrap_negative_indices: bool | np.bool = True,
    accumulate_dtype: Any = None,
    out: Any = None,
    *rest: Any,
    **words: Any,
) -> Any:
    """Scatter one update into a copy of `data` for each element of `indices`, along one axis.

    An index replaces the position along `axis`; the positions along the other axes stay the same. For every position
    ``t`` in ``indices.shape`` in row-major order, where ``t'`` is ``t`` with ``t'[axis] = indices[t]``::

        result[t'] = f(result[t'], updates[t])

    where `reduction` determines ``f``.

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Initial values of the result. The reduction must support its dtype: see `scatter_nd`.
    indices : array of integers, rank r
        Signed or unsigned, 8 to 64 bits. Negative indices count from the end. Any size along `axis`; along the other
        axes, at most the size of `data`.
    updates : array or scalar
        Of data's dtype or one that casts to it without loss: see `scatter_nd`. Of shape ``indices.shape`` or one that
        broadcasts to it.
    axis : int, default 0
        The axis of `data` to index. A negative axis counts from the end.
    reduction : {"none", "add", "mul", "max", "min", "mean"}, default "none"
        How to combine an update with the element at its destination: see `scatter_nd`.
    include_self : bool, default True
        Whether a destination starts from its element of `data`. If False, it starts from its first update.
    mode : {"raise", "clip", "wrap", "drop", "promise_in_bounds"}, default "raise"
        How to treat an index that is out of bounds: see `scatter_nd`.
    wrap_negative_indices : bool, default True
        Whether negative indices count from the end. If False, they are out of bounds: see `mode`.
    accumulate_dtype : dtype, optional
        A wider dtype for sums and products: see `scatter_nd`.
    out : array, optional
        Array to write the result to: see `scatter_nd`. ``out=data`` scatters in place.

    Returns
    -------
    array, shape ``data.shape``
        The result, of data's library, dtype and device. It is `out` if that is given.

    Raises
    ------
    IndexError, ValueError, TypeError
        As `scatter_nd`.

    See Also
    --------
    scatter : Scatter slices along one axis.
    scatter_nd : Scatter by index tuples for the leading axes.
    gather_elements : The inverse.

    Notes
    -----
    The result is bit for bit that of the sequential loop, at every thread count: see `scatter_nd`.

    This function is ScatterElements of ONNX [1]_ and ``torch.scatter_reduce``. ``numpy.put_along_axis`` is a special
    case.

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
    if words or positional is not MISSING:
        raise unexpected(SCATTER_ELEMENTS, scatter_elements, (data, indices, updates), positional, words)
    attempt = try_scatter if type(data) is ndarray else small_scatters.get(type(data).__name__)
    if accumulate_dtype is not None:
        attempt = None
    if attempt is not None:
        result = attempt(
            ELEMENTS, wrap_negative_indices, data, indices, updates, axis, 0, reduction, mode, include_self, out,
            threads.limit, SCATTER_ELEMENTS,
        )  # fmt: skip
        if result is not None:
            return result
    return core.scatter(
        SCATTER_ELEMENTS, data, indices, updates, axis, 0, reduction, include_self, mode, wrap_negative_indices,
        accumulate_dtype, out, attempt is not None,
    )  # fmt: skip
