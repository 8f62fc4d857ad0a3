"""The public functions: docstring → plan → backend."""

from collections.abc import Callable
from typing import Any, overload

import numpy as np
from numpy import ndarray as _ndarray
from numpy.typing import NDArray

from gatherscatter import dispatch, shapes, threads
from gatherscatter._kernels.gather import try_gather as _try_gather
from gatherscatter._kernels.scatter import try_scatter as _try_scatter
from gatherscatter._typing import (
    ArrayT,
    GatherMode,
    Integer,
    IntegerArray,
    Integers,
    IntLike,
    LazyT,
    Nested,
    Reduction,
    ScalarT,
    ScatterMode,
    Values,
)
from gatherscatter.shapes import AXIS, ELEMENTS, ND, Plan

__all__ = ["gather", "gather_elements", "gather_nd", "scatter", "scatter_elements", "scatter_nd"]

# Backends by the types of (data, indices) or (data, indices, updates); what is not there goes down the ladder.
_known, _route = dispatch.known, dispatch.route

# Small calls have no time for a plan. Kernels and backends try them first, and answer None to what they would have to
# explain or do in another way: that goes the long way.
_small_gathers, _small_scatters = dispatch.small_gathers, dispatch.small_scatters


def _plan(make: Callable[..., Plan], data: Any, indices: Any, *options: Any) -> Plan:
    try:
        return make(data.shape, indices.shape, *options)
    except ValueError:  # a mask has the wrong shape too, but what is wrong with it is its dtype
        dispatch.check_index_dtype(make.__name__, data, indices)
        raise


@overload
def gather(
    data: NDArray[ScalarT],
    indices: IntegerArray | Integers | Integer,
    *,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    out: NDArray[Any] | None = None,
) -> NDArray[ScalarT]: ...
@overload
def gather(
    data: Nested[Any],
    indices: IntegerArray | Integers | Integer,
    *,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]: ...
@overload
def gather(
    data: LazyT,
    indices: LazyT | IntegerArray,
    *,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    out: LazyT | None = None,
) -> LazyT: ...
@overload
def gather(
    data: NDArray[Any],
    indices: LazyT,
    *,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    out: LazyT | None = None,
) -> LazyT: ...
@overload
def gather(
    data: ArrayT,
    indices: ArrayT | Integers | Integer,
    *,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    out: ArrayT | None = None,
) -> ArrayT: ...
@overload
def gather(
    data: Nested[Any],
    indices: ArrayT,
    *,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    out: ArrayT | None = None,
) -> ArrayT: ...
def gather(
    data: Any,
    indices: Any,
    *,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    mode: str = "raise",
    fill_value: Any = 0,
    out: Any = None,
) -> Any:
    """Gather the slices of `data` along one axis that `indices` name.

    With ``b = batch_dims``, for positions ``p`` in front of the axis (the first ``b`` of them shared with
    `indices`) and ``t`` in ``indices.shape[b:]``::

        result[p + t] = data[p + (indices[p[:b] + t],)]

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Any dtype, any strides, r ≥ 1; it is never copied.
    indices : array of integers
        Signed or unsigned, 8 to 64 bits, of any rank. ``i < 0`` means ``i + size``.
    axis : int, default 0
        The axis of `data` that is indexed; negative counts from the back.
    batch_dims : int, default 0
        Leading axes that `data` and `indices` share: ``0 ≤ b ≤ min(axis, indices.ndim)``, with equal sizes.
    mode : {"raise", "clip", "wrap", "fill", "promise_in_bounds"}, default "raise"
        What an index does that is outside ``[0, size)`` after the rule for negatives: see `gather_nd`.
    fill_value : scalar, default 0
        For ``mode="fill"``. It must fit data's dtype unchanged; 0 stands for any dtype's zero.
    out : array, optional
        Where to put the result: of its shape and dtype, with any strides; it may overlap the inputs.

    Returns
    -------
    array, shape ``data.shape[:axis] + indices.shape[b:] + data.shape[axis + 1:]``
        Of data's library, dtype and device; `out` itself where it was given.

    Raises
    ------
    IndexError
        If an index is out of bounds and the mode raises. `out` is then left as it was.
    ValueError
        If the shapes, `mode` or another option break a rule above.
    TypeError
        If `indices` is not of integers, if arrays of two libraries meet, or if a dtype does not fit.

    See Also
    --------
    gather_nd : By tuples of indices along the leading axes.
    gather_elements : By an index for each element.
    scatter : The way back.

    Notes
    -----
    This is Gather of ONNX [1]_, ``tf.gather`` [2]_ and, without `batch_dims`, ``numpy.take``.

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
    if mode == "raise" and out is None and type(data) is type(indices):
        result = None
        if type(data) is _ndarray:
            result = _try_gather(AXIS, True, data, indices, axis, batch_dims, mode, out, threads.limit)
        elif type(data) in _small_gathers:
            result = _small_gathers[type(data)](AXIS, data, indices, axis, batch_dims)
        if result is not None:
            return result
    backend = _known.get((type(data), type(indices)))
    if backend is None:
        backend, (data, indices) = _route("gather", {"data": data, "indices": indices})
    if type(axis) is not int:
        axis = shapes.integer("gather", "axis", axis)
    if type(batch_dims) is not int:
        batch_dims = shapes.integer("gather", "batch_dims", batch_dims)
    if type(mode) is not str:
        mode = shapes.string("gather", "mode", mode)
    plan = _plan(shapes.gather, data, indices, axis, batch_dims, mode)
    return backend.gather(data, indices, plan, fill_value, out)


@overload
def gather_nd(
    data: NDArray[ScalarT],
    indices: IntegerArray | Integers,
    *,
    batch_dims: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    out: NDArray[Any] | None = None,
) -> NDArray[ScalarT]: ...
@overload
def gather_nd(
    data: Values,
    indices: IntegerArray | Integers,
    *,
    batch_dims: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]: ...
@overload
def gather_nd(
    data: LazyT,
    indices: LazyT | IntegerArray,
    *,
    batch_dims: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    out: LazyT | None = None,
) -> LazyT: ...
@overload
def gather_nd(
    data: NDArray[Any],
    indices: LazyT,
    *,
    batch_dims: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    out: LazyT | None = None,
) -> LazyT: ...
@overload
def gather_nd(
    data: ArrayT,
    indices: ArrayT | Integers,
    *,
    batch_dims: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    out: ArrayT | None = None,
) -> ArrayT: ...
@overload
def gather_nd(
    data: Values,
    indices: ArrayT,
    *,
    batch_dims: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    out: ArrayT | None = None,
) -> ArrayT: ...
def gather_nd(
    data: Any, indices: Any, *, batch_dims: IntLike = 0, mode: str = "raise", fill_value: Any = 0, out: Any = None
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

    See Also
    --------
    gather : Slices along one axis.
    gather_elements : By an index for each element, along one axis.
    scatter_nd : The way back.

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
    if mode == "raise" and out is None and type(data) is type(indices):
        result = None
        if type(data) is _ndarray:
            result = _try_gather(ND, True, data, indices, 0, batch_dims, mode, out, threads.limit)
        elif type(data) in _small_gathers:
            result = _small_gathers[type(data)](ND, data, indices, 0, batch_dims)
        if result is not None:
            return result
    backend = _known.get((type(data), type(indices)))
    if backend is None:
        backend, (data, indices) = _route("gather_nd", {"data": data, "indices": indices})
    if type(batch_dims) is not int:
        batch_dims = shapes.integer("gather_nd", "batch_dims", batch_dims)
    if type(mode) is not str:
        mode = shapes.string("gather_nd", "mode", mode)
    plan = _plan(shapes.gather_nd, data, indices, batch_dims, mode)
    return backend.gather(data, indices, plan, fill_value, out)


@overload
def gather_elements(
    data: NDArray[ScalarT],
    indices: IntegerArray | Integers,
    *,
    axis: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    out: NDArray[Any] | None = None,
) -> NDArray[ScalarT]: ...
@overload
def gather_elements(
    data: Nested[Any],
    indices: IntegerArray | Integers,
    *,
    axis: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]: ...
@overload
def gather_elements(
    data: LazyT,
    indices: LazyT | IntegerArray,
    *,
    axis: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    out: LazyT | None = None,
) -> LazyT: ...
@overload
def gather_elements(
    data: NDArray[Any],
    indices: LazyT,
    *,
    axis: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    out: LazyT | None = None,
) -> LazyT: ...
@overload
def gather_elements(
    data: ArrayT,
    indices: ArrayT | Integers,
    *,
    axis: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    out: ArrayT | None = None,
) -> ArrayT: ...
@overload
def gather_elements(
    data: Nested[Any],
    indices: ArrayT,
    *,
    axis: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    out: ArrayT | None = None,
) -> ArrayT: ...
def gather_elements(
    data: Any, indices: Any, *, axis: IntLike = 0, mode: str = "raise", fill_value: Any = 0, out: Any = None
) -> Any:
    """Gather one element of `data` for each element of `indices`, along one axis.

    For every position ``t`` in ``indices.shape``, with ``t'`` the same but for ``t'[axis] = indices[t]``::

        result[t] = data[t']

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Any dtype, any strides, r ≥ 1; it is never copied.
    indices : array of integers, rank r
        Signed or unsigned, 8 to 64 bits. Off the axis it may be smaller than `data`, not larger.
        ``i < 0`` means ``i + size``.
    axis : int, default 0
        The axis of `data` that is indexed; negative counts from the back.
    mode : {"raise", "clip", "wrap", "fill", "promise_in_bounds"}, default "raise"
        What an index does that is outside ``[0, size)`` after the rule for negatives: see `gather_nd`.
    fill_value : scalar, default 0
        For ``mode="fill"``. It must fit data's dtype unchanged; 0 stands for any dtype's zero.
    out : array, optional
        Where to put the result: of its shape and dtype, with any strides; it may overlap the inputs.

    Returns
    -------
    array, shape ``indices.shape``
        Of data's library, dtype and device; `out` itself where it was given.

    Raises
    ------
    IndexError
        If an index is out of bounds and the mode raises. `out` is then left as it was.
    ValueError
        If the shapes, `mode` or another option break a rule above.
    TypeError
        If `indices` is not of integers, if arrays of two libraries meet, or if a dtype does not fit.

    See Also
    --------
    gather : Slices along one axis.
    gather_nd : By tuples of indices along the leading axes.
    scatter_elements : The way back.

    Notes
    -----
    This is GatherElements of ONNX [1]_, ``torch.gather`` and, with equal sizes off the axis,
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
    if mode == "raise" and out is None and type(data) is type(indices):
        result = None
        if type(data) is _ndarray:
            result = _try_gather(ELEMENTS, True, data, indices, axis, 0, mode, out, threads.limit)
        elif type(data) in _small_gathers:
            result = _small_gathers[type(data)](ELEMENTS, data, indices, axis, 0)
        if result is not None:
            return result
    backend = _known.get((type(data), type(indices)))
    if backend is None:
        backend, (data, indices) = _route("gather_elements", {"data": data, "indices": indices})
    if type(axis) is not int:
        axis = shapes.integer("gather_elements", "axis", axis)
    if type(mode) is not str:
        mode = shapes.string("gather_elements", "mode", mode)
    plan = _plan(shapes.gather_elements, data, indices, axis, mode)
    return backend.gather(data, indices, plan, fill_value, out)


@overload
def scatter(
    data: NDArray[ScalarT],
    indices: IntegerArray | Integers | Integer,
    updates: NDArray[Any] | Values,
    *,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    out: NDArray[Any] | None = None,
) -> NDArray[ScalarT]: ...
@overload
def scatter(
    data: Nested[Any],
    indices: IntegerArray | Integers | Integer,
    updates: NDArray[Any] | Values,
    *,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    out: NDArray[Any] | None = None,
) -> NDArray[Any]: ...
@overload
def scatter(
    data: LazyT,
    indices: LazyT | IntegerArray | Integers | Integer,
    updates: LazyT | NDArray[Any] | Values,
    *,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    out: LazyT | None = None,
) -> LazyT: ...
@overload
def scatter(
    data: NDArray[Any],
    indices: LazyT,
    updates: LazyT | NDArray[Any] | Values,
    *,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    out: LazyT | None = None,
) -> LazyT: ...
@overload
def scatter(
    data: NDArray[Any],
    indices: IntegerArray | Integers | Integer,
    updates: LazyT,
    *,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    out: LazyT | None = None,
) -> LazyT: ...
@overload
def scatter(
    data: ArrayT,
    indices: ArrayT | Integers | Integer,
    updates: ArrayT | Values,
    *,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    out: ArrayT | None = None,
) -> ArrayT: ...
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
        What the result starts from. Reductions: bool, all integers, float16/32/64, bfloat16, complex64/128 (no
        max and min); "none": any dtype.
    indices : array of integers
        Signed or unsigned, 8 to 64 bits, of any rank. ``i < 0`` means ``i + size``.
    updates : array or Python scalar
        Of shape ``data.shape[:axis] + indices.shape[b:] + data.shape[axis + 1:]`` and of data's
        dtype; a scalar goes to every place.
    axis : int, default 0
        The axis of `data` that is indexed; negative counts from the back.
    batch_dims : int, default 0
        Leading axes that `data` and `indices` share: ``0 ≤ b ≤ min(axis, indices.ndim)``, with equal sizes.
    reduction : {"none", "add", "mul", "max", "min", "mean"}, default "none"
        How an update meets what is there, one update after the other in row-major order of their positions: it
        replaces it, is added, multiplied, compared (NaN wins), or averaged (the sum over the count; integers floor).
    include_self : bool, default True
        Whether a destination starts from its element of `data`. If not, one that is named at least once starts
        from its first update; the others keep data's element.
    mode : {"raise", "clip", "wrap", "drop", "promise_in_bounds"}, default "raise"
        What an index does that is outside ``[0, size)`` after the rule for negatives: raise an `IndexError`;
        take the nearest end; count modulo the size; skip that update. With "promise_in_bounds" the caller
        vouches, and a backend may skip its check; the NumPy backend checks all the same, and raises.
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
    scatter_nd : By tuples of indices along the leading axes.
    scatter_elements : By an index for each element.
    gather : The way back.

    Notes
    -----
    The result is bit for bit that of the sequential loop, duplicates included, at every thread count: with
    "none" the last update in row-major order wins, and float sums round in that order. float16 and bfloat16
    round after every step, integers wrap around, bool adds and maximises as "or", multiplies and minimises as
    "and". Beside the result a scatter takes at most 64 MiB of memory.

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
    if mode == "raise" and include_self is True and out is None and type(data) is type(indices) is type(updates):
        result = None
        if type(data) is _ndarray:
            result = _try_scatter(
                AXIS, True, data, indices, updates, axis, batch_dims, reduction, mode, include_self, out, threads.limit
            )
        elif type(data) in _small_scatters:
            result = _small_scatters[type(data)](AXIS, data, indices, updates, axis, batch_dims, reduction)
        if result is not None:
            return result
    backend = _known.get((type(data), type(indices), type(updates)))
    if backend is None:
        arguments = {"data": data, "indices": indices, "updates": updates}
        backend, (data, indices, updates) = _route("scatter", arguments)
    if type(axis) is not int:
        axis = shapes.integer("scatter", "axis", axis)
    if type(batch_dims) is not int:
        batch_dims = shapes.integer("scatter", "batch_dims", batch_dims)
    if type(mode) is not str:
        mode = shapes.string("scatter", "mode", mode)
    if type(reduction) is not str:
        reduction = shapes.string("scatter", "reduction", reduction)
    if type(include_self) is not bool:
        include_self = shapes.boolean("scatter", "include_self", include_self)
    plan = _plan(shapes.scatter, data, indices, axis, batch_dims, mode, reduction, include_self)
    return backend.scatter(data, indices, updates, plan, out)


@overload
def scatter_nd(
    data: NDArray[ScalarT],
    indices: IntegerArray | Integers,
    updates: NDArray[Any] | Values,
    *,
    batch_dims: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    out: NDArray[Any] | None = None,
) -> NDArray[ScalarT]: ...
@overload
def scatter_nd(
    data: Values,
    indices: IntegerArray | Integers,
    updates: NDArray[Any] | Values,
    *,
    batch_dims: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    out: NDArray[Any] | None = None,
) -> NDArray[Any]: ...
@overload
def scatter_nd(
    data: LazyT,
    indices: LazyT | IntegerArray | Integers,
    updates: LazyT | NDArray[Any] | Values,
    *,
    batch_dims: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    out: LazyT | None = None,
) -> LazyT: ...
@overload
def scatter_nd(
    data: NDArray[Any],
    indices: LazyT,
    updates: LazyT | NDArray[Any] | Values,
    *,
    batch_dims: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    out: LazyT | None = None,
) -> LazyT: ...
@overload
def scatter_nd(
    data: NDArray[Any],
    indices: IntegerArray | Integers,
    updates: LazyT,
    *,
    batch_dims: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    out: LazyT | None = None,
) -> LazyT: ...
@overload
def scatter_nd(
    data: ArrayT,
    indices: ArrayT | Integers,
    updates: ArrayT | Values,
    *,
    batch_dims: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    out: ArrayT | None = None,
) -> ArrayT: ...
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
    """Scatter `updates` into a copy of `data`, at the places that index tuples name.

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
        Of shape ``indices.shape[:-1] + data.shape[b + k:]`` and of data's dtype; a scalar goes to every place.
    batch_dims : int, default 0
        Leading axes that `data` and `indices` share: ``0 ≤ b ≤ min(indices.ndim − 1, r)``, with equal sizes.
    reduction : {"none", "add", "mul", "max", "min", "mean"}, default "none"
        How an update meets what is there, one update after the other in row-major order of their positions: it
        replaces it, is added, multiplied, compared (NaN wins), or averaged (the sum over the count; integers floor).
    include_self : bool, default True
        Whether a destination starts from its element of `data`. If not, one that is named at least once starts
        from its first update; the others keep data's element.
    mode : {"raise", "clip", "wrap", "drop", "promise_in_bounds"}, default "raise"
        What an index does that is outside ``[0, size)`` after the rule for negatives: raise an `IndexError`;
        take the nearest end; count modulo the size; skip that update. With "promise_in_bounds" the caller
        vouches, and a backend may skip its check; the NumPy backend checks all the same, and raises.
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
    gather_nd : The way back.

    Notes
    -----
    The result is bit for bit that of the sequential loop, duplicates included, at every thread count: with
    "none" the last update in row-major order wins, and float sums round in that order. float16 and bfloat16
    round after every step, integers wrap around, bool adds and maximises as "or", multiplies and minimises as
    "and". Beside the result a scatter takes at most 64 MiB of memory.

    This is ScatterND of ONNX [1]_ and ``tf.tensor_scatter_nd_update`` [2]_ with their kin.

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
    if mode == "raise" and include_self is True and out is None and type(data) is type(indices) is type(updates):
        result = None
        if type(data) is _ndarray:
            result = _try_scatter(
                ND, True, data, indices, updates, 0, batch_dims, reduction, mode, include_self, out, threads.limit
            )
        elif type(data) in _small_scatters:
            result = _small_scatters[type(data)](ND, data, indices, updates, 0, batch_dims, reduction)
        if result is not None:
            return result
    backend = _known.get((type(data), type(indices), type(updates)))
    if backend is None:
        arguments = {"data": data, "indices": indices, "updates": updates}
        backend, (data, indices, updates) = _route("scatter_nd", arguments)
    if type(batch_dims) is not int:
        batch_dims = shapes.integer("scatter_nd", "batch_dims", batch_dims)
    if type(mode) is not str:
        mode = shapes.string("scatter_nd", "mode", mode)
    if type(reduction) is not str:
        reduction = shapes.string("scatter_nd", "reduction", reduction)
    if type(include_self) is not bool:
        include_self = shapes.boolean("scatter_nd", "include_self", include_self)
    plan = _plan(shapes.scatter_nd, data, indices, batch_dims, mode, reduction, include_self)
    return backend.scatter(data, indices, updates, plan, out)


@overload
def scatter_elements(
    data: NDArray[ScalarT],
    indices: IntegerArray | Integers,
    updates: NDArray[Any] | Values,
    *,
    axis: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    out: NDArray[Any] | None = None,
) -> NDArray[ScalarT]: ...
@overload
def scatter_elements(
    data: Nested[Any],
    indices: IntegerArray | Integers,
    updates: NDArray[Any] | Values,
    *,
    axis: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    out: NDArray[Any] | None = None,
) -> NDArray[Any]: ...
@overload
def scatter_elements(
    data: LazyT,
    indices: LazyT | IntegerArray | Integers,
    updates: LazyT | NDArray[Any] | Values,
    *,
    axis: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    out: LazyT | None = None,
) -> LazyT: ...
@overload
def scatter_elements(
    data: NDArray[Any],
    indices: LazyT,
    updates: LazyT | NDArray[Any] | Values,
    *,
    axis: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    out: LazyT | None = None,
) -> LazyT: ...
@overload
def scatter_elements(
    data: NDArray[Any],
    indices: IntegerArray | Integers,
    updates: LazyT,
    *,
    axis: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    out: LazyT | None = None,
) -> LazyT: ...
@overload
def scatter_elements(
    data: ArrayT,
    indices: ArrayT | Integers,
    updates: ArrayT | Values,
    *,
    axis: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    out: ArrayT | None = None,
) -> ArrayT: ...
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
        What the result starts from. Reductions: bool, all integers, float16/32/64, bfloat16, complex64/128 (no
        max and min); "none": any dtype.
    indices : array of integers, rank r
        Signed or unsigned, 8 to 64 bits. Off the axis it may be smaller than `data`, not larger.
        ``i < 0`` means ``i + size``.
    updates : array or Python scalar
        Of shape ``indices.shape`` and of data's
        dtype; a scalar goes to every place.
    axis : int, default 0
        The axis of `data` that is indexed; negative counts from the back.
    reduction : {"none", "add", "mul", "max", "min", "mean"}, default "none"
        How an update meets what is there, one update after the other in row-major order of their positions: it
        replaces it, is added, multiplied, compared (NaN wins), or averaged (the sum over the count; integers floor).
    include_self : bool, default True
        Whether a destination starts from its element of `data`. If not, one that is named at least once starts
        from its first update; the others keep data's element.
    mode : {"raise", "clip", "wrap", "drop", "promise_in_bounds"}, default "raise"
        What an index does that is outside ``[0, size)`` after the rule for negatives: raise an `IndexError`;
        take the nearest end; count modulo the size; skip that update. With "promise_in_bounds" the caller
        vouches, and a backend may skip its check; the NumPy backend checks all the same, and raises.
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
    scatter_nd : By tuples of indices along the leading axes.
    gather_elements : The way back.

    Notes
    -----
    The result is bit for bit that of the sequential loop, duplicates included, at every thread count: with
    "none" the last update in row-major order wins, and float sums round in that order. float16 and bfloat16
    round after every step, integers wrap around, bool adds and maximises as "or", multiplies and minimises as
    "and". Beside the result a scatter takes at most 64 MiB of memory.

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
    if mode == "raise" and include_self is True and out is None and type(data) is type(indices) is type(updates):
        result = None
        if type(data) is _ndarray:
            result = _try_scatter(
                ELEMENTS, True, data, indices, updates, axis, 0, reduction, mode, include_self, out, threads.limit
            )
        elif type(data) in _small_scatters:
            result = _small_scatters[type(data)](ELEMENTS, data, indices, updates, axis, 0, reduction)
        if result is not None:
            return result
    backend = _known.get((type(data), type(indices), type(updates)))
    if backend is None:
        arguments = {"data": data, "indices": indices, "updates": updates}
        backend, (data, indices, updates) = _route("scatter_elements", arguments)
    if type(axis) is not int:
        axis = shapes.integer("scatter_elements", "axis", axis)
    if type(mode) is not str:
        mode = shapes.string("scatter_elements", "mode", mode)
    if type(reduction) is not str:
        reduction = shapes.string("scatter_elements", "reduction", reduction)
    if type(include_self) is not bool:
        include_self = shapes.boolean("scatter_elements", "include_self", include_self)
    plan = _plan(shapes.scatter_elements, data, indices, axis, mode, reduction, include_self)
    return backend.scatter(data, indices, updates, plan, out)
