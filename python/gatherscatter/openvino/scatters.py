"""OpenVINO's scatters."""

from __future__ import annotations

from math import prod
from typing import Any, Literal, cast

import numpy as np

from gatherscatter import core, errors, values
from gatherscatter import plan as plans
from gatherscatter._typing import (
    AnyIndices,
    AnyValues,
    DataT,
    Integer,
    IntLike,
    Listed,
    OpenVINOElementsReduction,
    OpenVINONDReduction,
)
from gatherscatter.backends.base import Backend
from gatherscatter.indexing import at
from gatherscatter.openvino.versions import (
    INT32_OR_INT64,
    INTEGERS,
    fitted,
    integers,
    of_version,
    one_axis,
    operator,
)
from gatherscatter.operators import SCATTER, SCATTER_ELEMENTS, SCATTER_ND, Operator

__all__ = ["scatter_elements_update", "scatter_nd_update", "scatter_update", "slice_scatter"]

# OpenVINO's reductions → the core's; "sub" adds the negated updates.
ND_REDUCTIONS = {"none": "none", "sum": "add", "sub": "add", "prod": "mul", "min": "min", "max": "max"}
ELEMENTS_REDUCTIONS = {"none": "none", "sum": "add", "prod": "mul", "min": "min", "max": "max", "mean": "mean"}

_SCATTER = operator(
    *(SCATTER, "scatter_update", "ScatterUpdate-3", INTEGERS),
    positive="add the size along the axis, or use gatherscatter.scatter",
)
_SLICES = operator(SCATTER, "slice_scatter", "", ())
_SCATTER_ND = {
    3: operator(
        *(SCATTER_ND, "scatter_nd_update", "ScatterNDUpdate-3", INT32_OR_INT64), "version=15 counts it from the end"
    ),
    15: operator(SCATTER_ND, "scatter_nd_update", "ScatterNDUpdate-15", INT32_OR_INT64),
}
_SCATTER_ELEMENTS = {
    3: operator(
        *(SCATTER_ELEMENTS, "scatter_elements_update", "ScatterElementsUpdate-3", INTEGERS),
        "version=12 counts it from the end",
    ),
    12: operator(SCATTER_ELEMENTS, "scatter_elements_update", "ScatterElementsUpdate-12", INTEGERS),
}


def scatter_update(
    data: DataT | Listed[DataT], indices: AnyIndices | Integer, updates: AnyValues, axis: IntLike | AnyIndices
) -> DataT:
    """Scatter slices into a copy of `data` along one axis (ScatterUpdate-3).

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Initial values of the result, r ≥ 1. Any dtype.
    indices : array of integers
        Signed or unsigned, 8 to 64 bits, of any rank. For an axis of size s, the range is ``[0, s − 1]``.
    updates : array, list or scalar
        Of shape ``data.shape[:axis] + indices.shape + data.shape[axis + 1:]`` and of data's dtype. A scalar is used for
        every destination.
    axis : int, or a list or array of one
        The axis of `data` to index. A negative axis counts from the end.

    Returns
    -------
    array, shape ``data.shape``
        The result, of data's library, dtype and device.

    Raises
    ------
    IndexError
        If an index is out of range; negative ones are.
    ValueError
        If the shapes do not match, or if `axis` is invalid.
    TypeError
        If `indices` holds no integers, or as `gatherscatter.scatter`.

    References
    ----------
    .. [1] OpenVINO, ScatterUpdate-3, https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/movement/scatter-update-3.html

    Examples
    --------
    >>> import numpy as np
    >>> from gatherscatter import openvino
    >>> openvino.scatter_update(np.zeros((2, 3), int), [2, 0], [[1, 2], [3, 4]], axis=1)
    array([[2, 0, 1],
           [4, 0, 3]])
    """
    axis = one_axis(_SCATTER, axis)
    return core.scatter(_SCATTER, data, indices, updates, axis)


def slice_scatter(
    data: DataT | Listed[DataT],
    updates: AnyValues,
    start: AnyIndices,
    stop: AnyIndices,
    step: AnyIndices,
    axes: AnyIndices | None = None,
) -> DataT:
    """Write `updates` to a slice of a copy of `data` (SliceScatter-15).

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Initial values of the result, r ≥ 1. Any dtype.
    updates : array, list or scalar
        Of the slice's shape and data's dtype. A scalar is written to each element of the slice.
    start, stop, step : list or array of integers, shape (m,)
        The slice of each axis, as ``start[i]:stop[i]:step[i]`` of NumPy: a negative start or stop counts from the end,
        ends are clamped, and a negative step goes backwards. A stop of −2³¹ includes the first position.
    axes : list or array of integers, shape (m,), optional
        The axes, each at most once. A negative axis counts from the end. By default the first m axes.

    Returns
    -------
    array, shape ``data.shape``
        The result, of data's library, dtype and device.

    Raises
    ------
    ValueError
        If `start`, `stop`, `step` and `axes` differ in length, an axis is out of range or named twice, a step is 0, or
        `updates` is not of the slice's shape.
    TypeError
        If a position is not an integer that is known, or `updates` is not of data's dtype.

    References
    ----------
    .. [1] OpenVINO, SliceScatter-15, https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/movement/slice-scatter-15.html

    Examples
    --------
    >>> import numpy as np
    >>> from gatherscatter import openvino
    >>> openvino.slice_scatter(np.zeros((2, 5), int), [[1, 2], [3, 4]], start=[-1], stop=[0], step=[-2], axes=[1])
    array([[0, 0, 2, 0, 1],
           [0, 0, 4, 0, 3]])
    """
    op = _SLICES
    _, (array, updates) = core.arrays(op, data=data, updates=updates)
    sizes = tuple(array.shape)
    if not sizes:
        raise errors.no_axis(op)
    given = {"start": start, "stop": stop, "step": step}
    parts = {name: integers(op, name, value) for name, value in given.items()}
    parts["axes"] = list(range(len(parts["start"]))) if axes is None else integers(op, "axes", axes)
    if len(set(map(len, parts.values()))) > 1:
        found = ", ".join(f"{name} has {len(part)}" for name, part in parts.items())
        raise errors.shape_rule(op, f"{found} elements; pass one in each for each axis")
    key = [slice(None)] * len(sizes)
    for first, end, by, axis in zip(*parts.values(), strict=True):
        if not -len(sizes) <= axis < len(sizes):
            raise errors.axis_range(op, axis, sizes)
        if key[axis] != slice(None):
            raise errors.shape_rule(op, f"axes={parts['axes']} names axis {axis % len(sizes)} twice; name it once")
        if by == 0:
            raise errors.shape_rule(op, f"step={parts['step']} has a 0; pass 1 for a slice without gaps")
        key[axis] = slice(first, end, by)
    shape = tuple(len(range(*one.indices(size))) for one, size in zip(key, sizes, strict=True))
    return cast(DataT, at(array)[tuple(key)].set(fitted(op, array, updates, shape)))


def scatter_nd_update(
    data: DataT | Listed[DataT],
    indices: AnyIndices,
    updates: AnyValues,
    reduction: OpenVINONDReduction = "none",
    version: Literal[3, 15] = 15,
) -> DataT:
    """Scatter `updates` into a copy of `data` by index tuples (ScatterNDUpdate-15, ScatterNDUpdate-3).

    The last axis of `indices` contains the tuples.

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Initial values of the result, r ≥ 1. Dtypes are as in `gatherscatter.scatter_nd`.
    indices : array of int32 or int64, shape (…, k)
        ``k ≤ r``. For an axis of size s, the range is ``[−s, s − 1]`` in version 15 and ``[0, s − 1]`` in version 3.
    updates : array, list or scalar
        Of shape ``indices.shape[:-1] + data.shape[k:]`` and of data's dtype. If that shape is (), any shape with one
        element is accepted. A scalar is used for every destination.
    reduction : {"none", "sum", "sub", "prod", "min", "max"}, default "none"
        How to combine an update with the element at its destination. For bools, "sum" and "max" are OR, "prod" and
        "min" are AND, and "sub" is XOR.
    version : {3, 15}, default 15
        Version of the operator. Version 3 has no reductions, and accepts no negative indices.

    Returns
    -------
    array, shape ``data.shape``
        The result, of data's library, dtype and device.

    Raises
    ------
    IndexError
        If an index is out of range.
    ValueError
        If the shapes do not match, or if `reduction` or `version` is invalid.
    TypeError
        If `indices` is not int32 or int64, or as `gatherscatter.scatter_nd`.

    References
    ----------
    .. [1] OpenVINO, ScatterNDUpdate-3, https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/movement/scatter-nd-update-3.html
    .. [2] OpenVINO, ScatterNDUpdate-15, https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/movement/scatter-nd-update-15.html

    Examples
    --------
    >>> import numpy as np
    >>> from gatherscatter import openvino
    >>> data, indices = np.array([1, 2, 3, 4]), [[0], [2], [-3], [-3], [0]]
    >>> openvino.scatter_nd_update(data, indices, [10, 20, 30, 40, 50])
    array([50, 40, 20,  4])
    >>> openvino.scatter_nd_update(data, indices, [10, 20, 30, 40, 50], reduction="sub")
    array([-59, -68, -17,   4])
    """
    op = of_version(_SCATTER_ND, version)
    _check_reduction(op, version, reduction, ND_REDUCTIONS, 15)
    backend, (array, tuples, updates) = core.arrays(op, data=data, indices=indices, updates=updates)
    k = tuples.shape[-1] if len(tuples.shape) else 0
    if (*tuples.shape[:-1], *array.shape[k:]) == ():
        updates = _one_element(backend, updates)
    if reduction != "sub":
        return core.scatter(op, array, tuples, updates, reduction=ND_REDUCTIONS[reduction])
    if backend.dtype_name(array) == "bool":
        return _exclusive_or(op, backend, array, tuples, updates)
    return core.scatter_negative(op, array, tuples, updates)


def scatter_elements_update(
    data: DataT | Listed[DataT],
    indices: AnyIndices,
    updates: AnyValues,
    axis: IntLike | AnyIndices,
    reduction: OpenVINOElementsReduction = "none",
    use_init_val: bool | np.bool = True,
    version: Literal[3, 12] = 12,
) -> DataT:
    """Scatter one update into a copy of `data` for each element of `indices`, along one axis.

    This function is ScatterElementsUpdate-12 and ScatterElementsUpdate-3.

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Initial values of the result, r ≥ 1. Dtypes are as in `gatherscatter.scatter_nd`.
    indices : array of integers, rank r
        Signed or unsigned, 8 to 64 bits. Along the axes other than `axis`, at most the size of `data`. For an axis of
        size s, the range is ``[−s, s − 1]`` in version 12 and ``[0, s − 1]`` in version 3.
    updates : array, list or scalar
        Of indices' shape and data's dtype. A scalar is used for every destination.
    axis : int, or a list or array of one
        The axis of `data` to index. A negative axis counts from the end.
    reduction : {"none", "sum", "prod", "min", "max", "mean"}, default "none"
        How to combine an update with the element at its destination. For bools, "sum" and "max" are OR, "prod" and
        "min" are AND, and "mean" is not supported. A mean of integers is rounded down.
    use_init_val : bool, default True
        Whether a destination starts from its element of `data`. It is `include_self` of
        `gatherscatter.scatter_elements`. Ignored for "none".
    version : {3, 12}, default 12
        Version of the operator. Version 3 has neither `reduction` nor `use_init_val`, and accepts no negative indices.

    Returns
    -------
    array, shape ``data.shape``
        The result, of data's library, dtype and device.

    Raises
    ------
    IndexError
        If an index is out of range.
    ValueError
        If the shapes do not match, or if `axis`, `reduction`, `use_init_val` or `version` is invalid.
    TypeError
        As `gatherscatter.scatter_elements`.

    References
    ----------
    .. [1] OpenVINO, ScatterElementsUpdate-3, https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/movement/scatter-elements-update-3.html
    .. [2] OpenVINO, ScatterElementsUpdate-12, https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/movement/scatter-elements-update-12.html

    Examples
    --------
    >>> import numpy as np
    >>> from gatherscatter import openvino
    >>> data, indices = np.array([2, 3, 4, 6]), [1, 0, 0, -2, -1, 2]
    >>> openvino.scatter_elements_update(data, indices, [10, 20, 30, 40, 70, 60], 0, reduction="sum")
    array([ 52,  13, 104,  76])
    >>> openvino.scatter_elements_update(data, indices, [10, 20, 30, 40, 70, 60], 0, "sum", use_init_val=False)
    array([ 50,  10, 100,  70])
    """
    op = of_version(_SCATTER_ELEMENTS, version)
    _check_reduction(op, version, reduction, ELEMENTS_REDUCTIONS, 12)
    use_init_val = plans.boolean(op, "use_init_val", use_init_val)
    if version == 3 and not use_init_val:
        raise errors.since_version(op, "version 3 has no use_init_val=False", "version 12")
    axis = one_axis(op, axis)
    return core.scatter(op, data, indices, updates, axis, 0, ELEMENTS_REDUCTIONS[reduction], use_init_val)


def _check_reduction(op: Operator, version: int, reduction: object, accepted: dict[str, str], since: int) -> None:
    reduction = plans.choice(op, "reduction", reduction, tuple(accepted))
    if reduction != "none" and version < since:
        raise errors.since_version(op, f"version {version} has no reduction={reduction!r}", f"version {since}")


def _one_element(backend: Backend, updates: Any) -> Any:
    """Updates of one element, of any shape, as a scalar; others unchanged."""
    while isinstance(updates, (list, tuple)) and len(updates) == 1:
        updates = updates[0]
    if isinstance(updates, values.TYPES) or prod(updates.shape) != 1:
        return updates
    return backend.namespace(updates).reshape(updates, ())


def _exclusive_or(op: Operator, backend: Backend, data: Any, indices: Any, updates: Any) -> Any:
    """Subtraction of bools: the parity of a count, which is correct even if the uint8 count wraps around."""
    xp = backend.namespace(data)
    if isinstance(updates, values.TYPES):
        plan = plans.scatter(op, data.shape, indices.shape, 0, 0, "raise", "none", True)
        updates = backend.as_updates(plan, updates, data)
    elif updates.dtype != data.dtype:
        raise errors.updates_dtype(op, updates.dtype, data.dtype)
    counts = core.scatter(op, xp.astype(data, xp.uint8), indices, xp.astype(updates, xp.uint8), reduction="add")
    return counts % 2 == 1
