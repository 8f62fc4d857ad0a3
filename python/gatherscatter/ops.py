"""The public functions: docstring → plan → backend."""

from typing import Any

from numpy import ndarray as _ndarray

from gatherscatter import dispatch, shapes, threads
from gatherscatter._kernels.gather import try_gather_nd as _try_gather_nd

__all__ = ["gather_nd"]

_known = dispatch.known


def gather_nd(
    data: Any,
    indices: Any,
    *,
    batch_dims: int = 0,
    mode: str = "raise",
    fill_value: Any = 0,
    out: Any = None,
) -> Any:
    """Gather the elements or slices of `data` that the index tuples along the last axis of `indices` name.

    With ``k = indices.shape[-1]`` and ``b = batch_dims``, for every position ``t`` in
    ``indices.shape[:-1]``::

        result[t] = data[t[:b] + tuple(indices[t])]

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Any dtype, any strides; it is never copied.
    indices : array of integers, shape (…, k)
        Signed or unsigned, 8 to 64 bits; ``k ≤ r − b``. ``i < 0`` means ``i + size``. With ``k = 0`` each
        (empty) tuple names the whole batch item.
    batch_dims : int, default 0
        Leading axes that `data` and `indices` share: ``0 ≤ b ≤ min(indices.ndim − 1, r)``, with equal sizes.
    mode : {"raise", "clip", "wrap", "fill", "promise_in_bounds"}, default "raise"
        What an index does that is outside ``[0, size)`` after the rule for negatives: raise an `IndexError`;
        take the nearest end; count modulo the size; make the slice `fill_value`. With "promise_in_bounds" the
        caller vouches, and a backend may skip its check; the NumPy backend checks all the same, and raises.
    fill_value : scalar, default 0
        For ``mode="fill"``. It must fit data's dtype unchanged; 0 stands for any dtype's zero (an empty
        string, the epoch).
    out : array, optional
        Where to put the result: of its shape and dtype, with any strides; it may overlap the inputs.

    Returns
    -------
    array, shape ``indices.shape[:-1] + data.shape[b + k:]``
        Of data's library, dtype and device; `out` itself where it was given.

    Raises
    ------
    IndexError
        If an index is out of bounds and the mode raises, or if an axis of size 0 is to be clipped or wrapped
        into. The message names the first such tuple. `out` is then left as it was.
    ValueError
        If the shapes, `mode`, `batch_dims` or `out` break a rule above.
    TypeError
        If `indices` is not of integers, if arrays of two libraries meet, if `data` is a masked array, or if
        `fill_value` or `out` has another dtype.

    Notes
    -----
    This is GatherND of ONNX [1]_ and OpenVINO [2]_ and ``tf.gather_nd`` [3]_; where they differ (``k = 0``,
    negative indices, fused batch axes), this function takes the widest of them.

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
    # The small call: the kernel answers None for what it would have to explain, and that goes the long way.
    if type(data) is _ndarray and type(indices) is _ndarray and mode == "raise" and out is None:
        result = _try_gather_nd(data, indices, batch_dims, threads.limit)
        if result is not None:
            return result
    backend = _known.get((type(data), type(indices)))
    if backend is None:
        backend, (data, indices) = dispatch.route("gather_nd", {"data": data, "indices": indices})
    if type(batch_dims) is not int:
        batch_dims = shapes.integer("gather_nd", "batch_dims", batch_dims)
    if type(mode) is not str:
        mode = shapes.string("gather_nd", "mode", mode)
    plan = shapes.gather_nd(data.shape, indices.shape, batch_dims, mode)
    return backend.gather_nd(data, indices, plan, fill_value, out)
