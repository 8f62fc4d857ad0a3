"""OpenVINO's gathers."""

from __future__ import annotations

from math import prod
from typing import Literal

from gatherscatter import core, errors, values
from gatherscatter import plan as plans
from gatherscatter._typing import AnyIndices, DataT, Integer, IntLike, Listed
from gatherscatter.openvino.versions import INT32_OR_INT64, INTEGERS, of_version, one_axis, operator
from gatherscatter.operators import GATHER, GATHER_ELEMENTS, GATHER_ND

__all__ = ["gather", "gather_elements", "gather_nd"]

_GATHER = {
    1: operator(GATHER, "gather", "Gather-1", INTEGERS, "version=8 counts it from the end"),
    7: operator(GATHER, "gather", "Gather-7", INTEGERS, "version=8 counts it from the end"),
    8: operator(GATHER, "gather", "Gather-8", INTEGERS),
}
_GATHER_ND = {
    5: operator(GATHER_ND, "gather_nd", "GatherND-5", INTEGERS, "version=8 counts it from the end"),
    8: operator(GATHER_ND, "gather_nd", "GatherND-8", INTEGERS),
}
_GATHER_ELEMENTS = operator(
    *(GATHER_ELEMENTS, "gather_elements", "GatherElements-6", INT32_OR_INT64),
    positive="add the size along the axis, or use gatherscatter.gather_elements",
)


def gather(
    data: DataT | Listed[DataT],
    indices: AnyIndices | Integer,
    axis: IntLike | AnyIndices,
    batch_dims: IntLike = 0,
    version: Literal[1, 7, 8] = 8,
) -> DataT:
    """Gather slices of `data` along one axis, with zeros for indices out of range (Gather-8, -7 and -1).

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Any dtype, r ≥ 1.
    indices : array of integers
        Signed or unsigned, 8 to 64 bits, of any rank q. For an axis of size s, the range is ``[−s, s − 1]`` in
        version 8 and ``[0, s − 1]`` in versions 1 and 7. An index out of range gives zeros.
    axis : int, or a list or array of one
        The axis of `data` to index. A negative axis counts from the end.
    batch_dims : int, default 0
        Number of leading axes that `data` and `indices` share, at most `axis`. A negative number means
        ``q + batch_dims``. Version 1 has none.
    version : {1, 7, 8}, default 8
        Version of the operator, which determines the range of the indices.

    Returns
    -------
    array, shape ``data.shape[:axis] + indices.shape[batch_dims:] + data.shape[axis + 1:]``
        The result, of data's library, dtype and device.

    Raises
    ------
    ValueError
        If the shapes do not match, or if `axis`, `batch_dims` or `version` is invalid.
    TypeError
        As `gatherscatter.gather_nd`.

    Notes
    -----
    The documents of Gather-1 and Gather-7 do not specify the result of a negative index. OpenVINO's CPU plugin gives
    zeros; its constant folding and its reference tests count from the end. This function gives zeros.

    References
    ----------
    .. [1] OpenVINO, Gather-7, https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/movement/gather-7.html
    .. [2] OpenVINO, Gather-8, https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/movement/gather-8.html
    .. [3] OpenVINO, Gather-1, https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/movement/gather-1.html

    Examples
    --------
    >>> import numpy as np
    >>> from gatherscatter import openvino
    >>> data = np.array([1, 2, 3, 4, 5])
    >>> openvino.gather(data, [0, -2, 10], 0)
    array([1, 4, 0])
    >>> openvino.gather(data, [0, -2, 10], 0, version=7)
    array([1, 0, 0])
    >>> openvino.gather(np.array([[1, 2, 3], [4, 5, 6]]), [[0, 2], [1, 1]], [1], batch_dims=-1)
    array([[1, 3],
           [5, 5]])
    """
    op = of_version(_GATHER, version)
    batch_dims = plans.integer(op, "batch_dims", batch_dims)
    axis = one_axis(op, axis)
    if version == 1 and batch_dims:
        raise errors.since_version(op, f"version 1 has no batch_dims={batch_dims}", "version 7")
    if batch_dims < 0:
        rank = len(values.shape_of(op, "indices", indices))
        if batch_dims < -rank:
            rule = f"batch_dims={batch_dims} counts back beyond the {rank} axes of indices; pass {-rank} or more"
            raise errors.shape_rule(op, rule)
        batch_dims += rank
    return core.gather(op, data, indices, axis, batch_dims, "fill")


def gather_nd(
    data: DataT | Listed[DataT], indices: AnyIndices, batch_dims: IntLike = 0, version: Literal[5, 8] = 8
) -> DataT:
    """Gather elements or slices of `data` by index tuples (GatherND-8, GatherND-5).

    The last axis of `indices` contains the tuples.

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Any dtype, r ≥ 1.
    indices : array of integers, shape (…, k)
        Signed or unsigned, 8 to 64 bits; ``k ≤ r − b``. For an axis of size s, the range is ``[−s, s − 1]`` in
        version 8 and ``[0, s − 1]`` in version 5.
    batch_dims : int, default 0
        The number b of leading axes that `data` and `indices` share, with equal sizes.
    version : {5, 8}, default 8
        Version of the operator. Version 5 reshapes the batch axes of the result to one axis, and accepts no negative
        indices.

    Returns
    -------
    array, shape ``indices.shape[:-1] + data.shape[b + k:]``
        The result, of data's library, dtype and device. In version 5 with b ≥ 1 the shape is
        ``(prod(indices.shape[:b]),) + indices.shape[b:-1] + data.shape[b + k:]``.

    Raises
    ------
    IndexError
        If an index is out of range.
    ValueError
        If the shapes do not match, or if `batch_dims` or `version` is invalid.
    TypeError
        As `gatherscatter.gather_nd`.

    References
    ----------
    .. [1] OpenVINO, GatherND-5, https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/movement/gather-nd-5.html
    .. [2] OpenVINO, GatherND-8, https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/movement/gather-nd-8.html

    Examples
    --------
    >>> import numpy as np
    >>> from gatherscatter import openvino
    >>> data = np.arange(1, 25).reshape(2, 3, 4)
    >>> indices = np.array([1, 0, 2, 0, 2, 2]).reshape(2, 3, 1, 1)
    >>> openvino.gather_nd(data, indices, batch_dims=2).shape
    (2, 3, 1)
    >>> openvino.gather_nd(data, indices, batch_dims=2, version=5)
    array([[ 2],
           [ 5],
           [11],
           [13],
           [19],
           [23]])
    """
    op = of_version(_GATHER_ND, version)
    batch_dims = plans.integer(op, "batch_dims", batch_dims)
    result = core.gather(op, data, indices, 0, batch_dims)
    if version == 8 or batch_dims < 2:
        return result
    backend, _ = core.arrays(op, data=result)
    shape = tuple(result.shape)
    return backend.namespace(result).reshape(result, (prod(shape[:batch_dims]), *shape[batch_dims:]))


def gather_elements(data: DataT | Listed[DataT], indices: AnyIndices, axis: IntLike) -> DataT:
    """Gather one element of `data` for each element of `indices`, along one axis (GatherElements-6).

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Any dtype, r ≥ 1.
    indices : array of int32 or int64
        Of data's shape, except for the size along `axis`. For an axis of size s, the range is ``[0, s − 1]``.
        `gatherscatter.gather_elements` also accepts smaller sizes along the other axes.
    axis : int
        The axis of `data` to index. A negative axis counts from the end.

    Returns
    -------
    array, shape ``indices.shape``
        The result, of data's library, dtype and device.

    Raises
    ------
    IndexError
        If an index is out of range.
    ValueError
        If the shapes do not match, or if `axis` is invalid.
    TypeError
        If `indices` is not int32 or int64, or as `gatherscatter.gather_elements`.

    References
    ----------
    .. [1] OpenVINO, GatherElements-6, https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/movement/gather-elements-6.html

    Examples
    --------
    >>> import numpy as np
    >>> from gatherscatter import openvino
    >>> openvino.gather_elements(np.array([[1, 7], [4, 3]]), [[1, 1, 0], [1, 0, 1]], axis=1)
    array([[7, 7, 1],
           [3, 4, 3]])
    """
    op = _GATHER_ELEMENTS
    axis = plans.integer(op, "axis", axis)
    _, (array, places) = core.arrays(op, data=data, indices=indices)
    found, shape = tuple(places.shape), tuple(array.shape)
    if len(found) == len(shape) and -len(shape) <= axis < len(shape):  # otherwise the core raises
        for d, (n, size) in enumerate(zip(found, shape, strict=True)):
            if d != axis % len(shape) and n != size:
                rule = (
                    f"indices of shape {found} and data of shape {shape} differ along axis {d}, but may differ only "
                    f"along axis={axis} (gatherscatter.gather_elements takes smaller indices)"
                )
                raise errors.shape_rule(op, rule)
    return core.gather(op, array, places, axis)
