"""The gather and scatter operators of OpenVINO, with OpenVINO's names and versions, for arrays of every library.

Arguments have the names of ``openvino.opset15``. `version` selects the version of the operator; OpenVINO has a document
for each version. `axis` is an input of one element in OpenVINO; here it may be a scalar, or a list or array of one
element. OpenVINO is never imported.

Negative indices count from the end if the document of the version says so. Otherwise they are out of range. For an
index out of range, `gather` returns zeros, and every other operator raises an `IndexError`.

``openvino.pyi`` has the overloads for type checkers.
"""

from math import prod
from typing import Any

import numpy as np

from gatherscatter import core, errors, values
from gatherscatter import plan as plans
from gatherscatter._typing import IntLike
from gatherscatter.backends.base import Backend
from gatherscatter.operators import GATHER, GATHER_ELEMENTS, GATHER_ND, SCATTER_ELEMENTS, SCATTER_ND, Operator

__all__ = ["gather", "gather_elements", "gather_nd", "scatter_elements_update", "scatter_nd_update"]


def __dir__() -> list[str]:
    return __all__  # tab completion shows what is public, not what the module imports


# The index types (T_IND) in the documents.
_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_INT32_OR_INT64 = ("int32", "int64")

# OpenVINO's reductions → the core's; "sub" adds the negated updates.
ND_REDUCTIONS = {"none": "none", "sum": "add", "sub": "add", "prod": "mul", "min": "min", "max": "max"}
ELEMENTS_REDUCTIONS = {"none": "none", "sum": "add", "prod": "mul", "min": "min", "max": "max", "mean": "mean"}


def _operator(like: Operator, name: str, source: str, index_dtypes: tuple[str, ...], positive: str = "") -> Operator:
    """The record of an operator. positive: if it takes no negative indices, the advice in the error message."""
    return like.replace(
        name=f"openvino.{name}",
        source=source,
        index_dtypes=index_dtypes,
        wrap_negative_indices=not positive,
        broadcasts=False,
        negatives=f"{source} takes no negative index: {positive}" if positive else "",
    )


_GATHER = {
    7: _operator(GATHER, "gather", "Gather-7", _INTEGERS, "version=8 counts it from the end"),
    8: _operator(GATHER, "gather", "Gather-8", _INTEGERS),
}
_GATHER_ND = {
    5: _operator(GATHER_ND, "gather_nd", "GatherND-5", _INTEGERS, "version=8 counts it from the end"),
    8: _operator(GATHER_ND, "gather_nd", "GatherND-8", _INTEGERS),
}
_GATHER_ELEMENTS = _operator(
    *(GATHER_ELEMENTS, "gather_elements", "GatherElements-6", _INT32_OR_INT64),
    positive="add the size along the axis, or use gatherscatter.gather_elements",
)
_SCATTER_ND = {
    3: _operator(
        *(SCATTER_ND, "scatter_nd_update", "ScatterNDUpdate-3", _INT32_OR_INT64), "version=15 counts it from the end"
    ),
    15: _operator(SCATTER_ND, "scatter_nd_update", "ScatterNDUpdate-15", _INT32_OR_INT64),
}
_SCATTER_ELEMENTS = {
    3: _operator(
        *(SCATTER_ELEMENTS, "scatter_elements_update", "ScatterElementsUpdate-3", _INTEGERS),
        "version=12 counts it from the end",
    ),
    12: _operator(SCATTER_ELEMENTS, "scatter_elements_update", "ScatterElementsUpdate-12", _INTEGERS),
}


def gather(data: Any, indices: Any, axis: Any, batch_dims: IntLike = 0, version: int = 8) -> Any:
    """Gather slices of `data` along one axis, with zeros for indices out of range (Gather-8, Gather-7).

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Any dtype, r ≥ 1.
    indices : array of integers
        Signed or unsigned, 8 to 64 bits, of any rank q. For an axis of size s, the range is ``[−s, s − 1]`` in
        version 8 and ``[0, s − 1]`` in version 7. An index out of range gives zeros.
    axis : int, or a list or array of one
        The axis of `data` to index. A negative axis counts from the end.
    batch_dims : int, default 0
        Number of leading axes that `data` and `indices` share, at most `axis`. A negative number means
        ``q + batch_dims``.
    version : {7, 8}, default 8
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
    The document of Gather-7 does not specify the result of a negative index. OpenVINO's CPU plugin gives zeros; its
    constant folding and its reference tests count from the end. This function gives zeros.

    References
    ----------
    .. [1] OpenVINO, Gather-7, https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/movement/gather-7.html
    .. [2] OpenVINO, Gather-8, https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/movement/gather-8.html

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
    op = _of_version(_GATHER, version)
    batch_dims = plans.integer(op, "batch_dims", batch_dims)
    axis = _axis(op, axis)
    if batch_dims < 0:
        rank = len(values.shape_of(op, "indices", indices))
        if batch_dims < -rank:
            rule = f"batch_dims={batch_dims} counts back beyond the {rank} axes of indices; pass {-rank} or more"
            raise errors.shape_rule(op, rule)
        batch_dims += rank
    return core.gather(op, data, indices, axis, batch_dims, "fill")


def gather_nd(data: Any, indices: Any, batch_dims: IntLike = 0, version: int = 8) -> Any:
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
    op = _of_version(_GATHER_ND, version)
    batch_dims = plans.integer(op, "batch_dims", batch_dims)
    result = core.gather(op, data, indices, 0, batch_dims)
    if version == 8 or batch_dims < 2:
        return result
    backend, _ = core.arrays(op, data=result)
    shape = tuple(result.shape)
    return backend.namespace(result).reshape(result, (prod(shape[:batch_dims]), *shape[batch_dims:]))


def gather_elements(data: Any, indices: Any, axis: IntLike) -> Any:
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
    _, (data, indices) = core.arrays(op, data=data, indices=indices)
    found, shape = tuple(indices.shape), tuple(data.shape)
    if len(found) == len(shape) and -len(shape) <= axis < len(shape):  # otherwise the core raises
        for d, (n, size) in enumerate(zip(found, shape, strict=True)):
            if d != axis % len(shape) and n != size:
                rule = (
                    f"indices of shape {found} and data of shape {shape} differ along axis {d}, but may differ only "
                    f"along axis={axis} (gatherscatter.gather_elements takes smaller indices)"
                )
                raise errors.shape_rule(op, rule)
    return core.gather(op, data, indices, axis)


def scatter_nd_update(data: Any, indices: Any, updates: Any, reduction: str = "none", version: int = 15) -> Any:
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

    Notes
    -----
    The documents do not specify the order of updates with the same destination. Here it is row-major: the last of
    duplicates wins, and float sums are reproducible bit for bit.

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
    op = _of_version(_SCATTER_ND, version)
    _check_reduction(op, version, reduction, ND_REDUCTIONS, 15)
    backend, (data, indices, updates) = core.arrays(op, data=data, indices=indices, updates=updates)
    k = indices.shape[-1] if len(indices.shape) else 0
    if (*indices.shape[:-1], *data.shape[k:]) == ():
        updates = _one_element(backend, updates)
    if reduction != "sub":
        return core.scatter(op, data, indices, updates, reduction=ND_REDUCTIONS[reduction])
    if backend.dtype_name(data) == "bool":
        return _exclusive_or(op, backend, data, indices, updates)
    return core.scatter_negative(op, data, indices, updates)


def scatter_elements_update(
    data: Any,
    indices: Any,
    updates: Any,
    axis: Any,
    reduction: str = "none",
    use_init_val: bool | np.bool = True,
    version: int = 12,
) -> Any:
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

    Notes
    -----
    The documents do not specify the order of updates with the same destination. Here it is row-major: the last of
    duplicates wins, and float sums are reproducible bit for bit.

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
    op = _of_version(_SCATTER_ELEMENTS, version)
    _check_reduction(op, version, reduction, ELEMENTS_REDUCTIONS, 12)
    use_init_val = plans.boolean(op, "use_init_val", use_init_val)
    if version == 3 and not use_init_val:
        raise errors.since_version(op, "version 3 has no use_init_val=False", "version 12")
    axis = _axis(op, axis)
    return core.scatter(op, data, indices, updates, axis, 0, ELEMENTS_REDUCTIONS[reduction], use_init_val)


def _of_version(operators: dict[int, Operator], version: object) -> Operator:
    """The record of a version of an operator."""
    for number, op in operators.items():
        if version == number:
            return op
    newest = list(operators.values())[-1]
    raise errors.shape_rule(newest, f"version={version!r} is not one of {', '.join(map(str, operators))}")


def _check_reduction(op: Operator, version: int, reduction: object, accepted: dict[str, str], since: int) -> None:
    reduction = plans.word(op, "reduction", reduction, tuple(accepted))
    if reduction != "none" and version < since:
        raise errors.since_version(op, f"version {version} has no reduction={reduction!r}", f"version {since}")


def _axis(op: Operator, axis: Any) -> int:
    """Convert an axis that is a scalar, or a list or array of one element."""
    one: Any = axis
    if (isinstance(axis, (list, tuple)) and len(axis) == 1) or tuple(getattr(axis, "shape", ())) == (1,):
        one = axis[0]
    if not isinstance(one, int) and hasattr(one, "item"):  # arrays of some libraries have no __index__
        try:
            one = one.item()
        except (ValueError, TypeError, RuntimeError):  # several elements, or none that is known
            raise errors.not_integer(op, "axis", axis) from None
    return plans.integer(op, "axis", one)


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
