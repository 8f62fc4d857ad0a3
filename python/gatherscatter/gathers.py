"""The public gather functions: signatures and docstrings. `core` carries them out.

``gathers.pyi`` has the overloads for type checkers.
"""

from typing import Any

import numpy as np
from numpy import ndarray

from gatherscatter import core, threads
from gatherscatter._kernels.gather import try_gather
from gatherscatter._typing import IntLike
from gatherscatter.backends.base import small_gathers
from gatherscatter.errors.foreign import MISSING, plain_signature, unexpected
from gatherscatter.operators import AXIS, ELEMENTS, GATHER, GATHER_ELEMENTS, GATHER_ND, ND

__all__ = ["gather", "gather_elements", "gather_nd"]

# Fast path: a small call on NumPy arrays goes to the kernel without a plan, which would take longer than the kernel.
# The kernel returns None if it declines the call, before anything is run; `core` does not ask it again. Backends may
# register the same for other arrays.
#
# Options are keyword-only. A further positional argument is bound to `positional` and raises an error, as does an
# unknown keyword (`errors.foreign`). Python's keyword-only parameters would do the same, but Python looks up their
# defaults one by one in a dict, and a small call takes longer. `plain_signature` gives help() the signature with
# keyword-only parameters.


@plain_signature
def gather(
    data: Any = MISSING,
    indices: Any = MISSING,
    positional: Any = MISSING,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    mode: str = "raise",
    fill_value: Any = 0,
    wrap_negative_indices: bool | np.bool = True,
    out: Any = None,
    *rest: Any,
    **words: Any,
) -> Any:
    """Gather slices of `data` along one axis.

    Each index selects a slice. With ``b = batch_dims``, for every position ``p`` in ``data.shape[:axis]`` (its first
    ``b`` axes are shared with `indices`) and every position ``t`` in ``indices.shape[b:]``::

        result[p + t] = data[p + (indices[p[:b] + t],)]

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Any dtype and strides, r ≥ 1. Never copied.
    indices : array of integers
        Signed or unsigned, 8 to 64 bits, of any rank. Negative indices count from the end.
    axis : int, default 0
        The axis of `data` to index. A negative axis counts from the end.
    batch_dims : int, default 0
        Number of leading axes that `data` and `indices` share, with equal sizes:
        ``0 ≤ b ≤ min(axis, indices.ndim)``.
    mode : {"raise", "clip", "wrap", "fill", "promise_in_bounds"}, default "raise"
        How to treat an index that is out of bounds: see `gather_nd`.
    fill_value : scalar, default 0
        Value for ``mode="fill"``. It must fit data's dtype; 0 is the zero of any dtype.
    wrap_negative_indices : bool, default True
        Whether negative indices count from the end. If False, they are out of bounds: see `mode`.
    out : array, optional
        Array to write the result to, with the shape and dtype of the result. It may have any strides and may
        overlap the inputs.

    Returns
    -------
    array, shape ``data.shape[:axis] + indices.shape[b:] + data.shape[axis + 1:]``
        The result, of data's library, dtype and device. It is `out` if that is given.

    Raises
    ------
    IndexError, ValueError, TypeError
        As `gather_nd`.

    See Also
    --------
    gather_nd : Gather by index tuples for the leading axes.
    gather_elements : Gather by one index per element.
    scatter : The inverse.

    Notes
    -----
    This function is Gather of ONNX [1]_ and ``tf.gather`` [2]_. Without `batch_dims` it is ``numpy.take``.

    References
    ----------
    .. [1] ONNX operators, Gather-13, https://onnx.ai/onnx/operators/onnx__Gather.html
    .. [2] TensorFlow API, https://www.tensorflow.org/api_docs/python/tf/gather

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> data = np.array([[0, 1, 2], [3, 4, 5]])
    >>> gs.gather(data, [1, 0, 1])
    array([[3, 4, 5],
           [0, 1, 2],
           [3, 4, 5]])
    >>> gs.gather(data, [-1], axis=1)
    array([[2],
           [5]])
    >>> gs.gather(data, [[0, 2], [1, 1]], axis=1, batch_dims=1)
    array([[0, 2],
           [4, 4]])
    """
    if words or positional is not MISSING:
        raise unexpected(GATHER, gather, (data, indices), positional, words)
    attempt = try_gather if type(data) is ndarray else small_gathers.get(type(data).__name__)
    if attempt is not None:
        result = attempt(
            AXIS, wrap_negative_indices, data, indices, axis, batch_dims, mode, fill_value, out, threads.limit, GATHER
        )
        if result is not None:
            return result
    return core.gather(
        GATHER, data, indices, axis, batch_dims, mode, fill_value, wrap_negative_indices, out, attempt is not None
    )


@plain_signature
def gather_nd(
    data: Any = MISSING,
    indices: Any = MISSING,
    positional: Any = MISSING,
    batch_dims: IntLike = 0,
    mode: str = "raise",
    fill_value: Any = 0,
    wrap_negative_indices: bool | np.bool = True,
    out: Any = None,
    *rest: Any,
    **words: Any,
) -> Any:
    """Gather elements or slices of `data` by index tuples.

    The last axis of `indices` contains the tuples. A tuple with one index for each axis of `data` selects an element;
    a shorter tuple selects a whole slice. With ``k = indices.shape[-1]`` and ``b = batch_dims``, for every position
    ``t`` in ``indices.shape[:-1]``::

        result[t] = data[t[:b] + tuple(indices[t])]

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Any dtype and strides. Never copied.
    indices : array of integers, shape (…, k)
        Signed or unsigned, 8 to 64 bits; ``k ≤ r − b``. Negative indices count from the end. With ``k = 0``, each
        (empty) tuple selects the whole batch item.
    batch_dims : int, default 0
        Number of leading axes that `data` and `indices` share, with equal sizes:
        ``0 ≤ b ≤ min(indices.ndim − 1, r)``.
    mode : {"raise", "clip", "wrap", "fill", "promise_in_bounds"}, default "raise"
        How to treat an index that is out of bounds, that is, outside ``[−size, size)``: raise an `IndexError`; clip
        it to the nearest valid index; take it modulo the size; or set its slice to `fill_value`. With
        "promise_in_bounds", the caller guarantees that there is no such index, and a backend may skip the check. The
        NumPy backend checks and raises.
    fill_value : scalar, default 0
        Value for ``mode="fill"``. It must fit data's dtype; 0 is the zero of any dtype (an empty string, the epoch).
    wrap_negative_indices : bool, default True
        Whether negative indices count from the end. If False, they are out of bounds: see `mode`.
    out : array, optional
        Array to write the result to, with the shape and dtype of the result. It may have any strides and may
        overlap the inputs.

    Returns
    -------
    array, shape ``indices.shape[:-1] + data.shape[b + k:]``
        The result, of data's library, dtype and device. It is `out` if that is given.

    Raises
    ------
    IndexError
        If an index is out of bounds and the mode raises, or if the mode clips or wraps into an axis of size 0. The
        message shows the first such tuple. `out` is unchanged.
    ValueError
        If the shapes do not match, or if `mode`, `batch_dims` or the shape of `out` is invalid.
    TypeError
        If `indices` has no integer dtype, if the arrays belong to different libraries, if `data` is a masked array,
        or if `fill_value` or the dtype of `out` does not fit data's dtype.

    See Also
    --------
    gather : Gather slices along one axis.
    gather_elements : Gather by one index per element, along one axis.
    scatter_nd : The inverse.

    Notes
    -----
    This function is GatherND of ONNX [1]_ and OpenVINO [2]_ and ``tf.gather_nd`` [3]_. It accepts what any of them
    accepts: ``k = 0`` and negative indices. Unlike GatherND-5 of OpenVINO, it does not fuse batch axes.

    References
    ----------
    .. [1] ONNX operators, GatherND-13, https://onnx.ai/onnx/operators/onnx__GatherND.html
    .. [2] OpenVINO operation set, GatherND-5 and GatherND-8,
       https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/movement/gather-nd-8.html
    .. [3] TensorFlow API, https://www.tensorflow.org/api_docs/python/tf/gather_nd

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> data = np.array([[0, 1], [2, 3]])
    >>> gs.gather_nd(data, [[0, 0], [1, 1]])
    array([0, 3])
    >>> gs.gather_nd(data, [[1], [0]])
    array([[2, 3],
           [0, 1]])
    >>> gs.gather_nd(data, [[1], [0]], batch_dims=1)
    array([1, 2])
    >>> gs.gather_nd(data, [[0, 5], [1, -1]], mode="fill", fill_value=-9)
    array([-9,  3])
    """
    if words or positional is not MISSING:
        raise unexpected(GATHER_ND, gather_nd, (data, indices), positional, words)
    attempt = try_gather if type(data) is ndarray else small_gathers.get(type(data).__name__)
    if attempt is not None:
        result = attempt(
            ND, wrap_negative_indices, data, indices, 0, batch_dims, mode, fill_value, out, threads.limit, GATHER_ND
        )
        if result is not None:
            return result
    return core.gather(
        GATHER_ND, data, indices, 0, batch_dims, mode, fill_value, wrap_negative_indices, out, attempt is not None
    )


@plain_signature
def gather_elements(
    data: Any = MISSING,
    indices: Any = MISSING,
    positional: Any = MISSING,
    axis: IntLike = 0,
    mode: str = "raise",
    fill_value: Any = 0,
    wrap_negative_indices: bool | np.bool = True,
    out: Any = None,
    *rest: Any,
    **words: Any,
) -> Any:
    """Gather one element of `data` for each element of `indices`, along one axis.

    An index replaces the position along `axis`; the positions along the other axes stay the same. For every position
    ``t`` in ``indices.shape``, where ``t'`` is ``t`` with ``t'[axis] = indices[t]``::

        result[t] = data[t']

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Any dtype and strides, r ≥ 1. Never copied.
    indices : array of integers, rank r
        Signed or unsigned, 8 to 64 bits. Negative indices count from the end. Any size along `axis`; along the other
        axes, at most the size of `data`.
    axis : int, default 0
        The axis of `data` to index. A negative axis counts from the end.
    mode : {"raise", "clip", "wrap", "fill", "promise_in_bounds"}, default "raise"
        How to treat an index that is out of bounds: see `gather_nd`.
    fill_value : scalar, default 0
        Value for ``mode="fill"``. It must fit data's dtype; 0 is the zero of any dtype.
    wrap_negative_indices : bool, default True
        Whether negative indices count from the end. If False, they are out of bounds: see `mode`.
    out : array, optional
        Array to write the result to, with the shape and dtype of the result. It may have any strides and may
        overlap the inputs.

    Returns
    -------
    array, shape ``indices.shape``
        The result, of data's library, dtype and device. It is `out` if that is given.

    Raises
    ------
    IndexError, ValueError, TypeError
        As `gather_nd`.

    See Also
    --------
    gather : Gather slices along one axis.
    gather_nd : Gather by index tuples for the leading axes.
    scatter_elements : The inverse.

    Notes
    -----
    This function is GatherElements of ONNX [1]_ and ``torch.gather``. With equal sizes along the other axes it is
    ``numpy.take_along_axis``.

    References
    ----------
    .. [1] ONNX operators, GatherElements-13, https://onnx.ai/onnx/operators/onnx__GatherElements.html

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> data = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    >>> gs.gather_elements(data, [[1, 2, 0], [2, 0, 0]])
    array([[4, 8, 3],
           [7, 2, 3]])
    >>> gs.gather_elements(data, [[-1], [0]], axis=1)
    array([[3],
           [4]])
    """
    if words or positional is not MISSING:
        raise unexpected(GATHER_ELEMENTS, gather_elements, (data, indices), positional, words)
    attempt = try_gather if type(data) is ndarray else small_gathers.get(type(data).__name__)
    if attempt is not None:
        result = attempt(
            ELEMENTS,
            wrap_negative_indices,
            data,
            indices,
            axis,
            0,
            mode,
            fill_value,
            out,
            threads.limit,
            GATHER_ELEMENTS,
        )
        if result is not None:
            return result
    return core.gather(
        GATHER_ELEMENTS, data, indices, axis, 0, mode, fill_value, wrap_negative_indices, out, attempt is not None
    )
