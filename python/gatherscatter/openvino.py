"""OpenVINO's operators, name for name and version for version, for arrays of every library.

Each function is an operator of OpenVINO's operation sets over the functions of `gatherscatter`; `version` chooses
among the documents that the operator has had. OpenVINO is not needed, and is never imported. Names of arguments are
those of ``openvino.opset15``; what is an input of one element there (`axis`) may be a scalar or a list or array of one
element here.

Negative indices count from the end where the version's document says so. Where it does not, they lie outside its range
as indices past the end do: `gather` gives zeros for either, every other operator raises an `IndexError`.
"""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from gatherscatter import _dialect, errors, neutral, ops, shapes
from gatherscatter import _typing as core
from gatherscatter._typing import (
    IntLike,
)

__all__ = ["gather", "gather_elements", "gather_nd", "scatter_elements_update", "scatter_nd_update"]

# The types T_IND of the documents.
_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_INT32_OR_INT64 = ("int32", "int64")

# Their reductions, by the core's names; "sub" adds minus the updates.
_ND_REDUCTIONS: dict[str, core.Reduction] = {
    "none": "none",
    "sum": "add",
    "sub": "add",
    "prod": "mul",
    "min": "min",
    "max": "max",
}
_ELEMENTS_REDUCTIONS: dict[str, core.Reduction] = {
    "none": "none",
    "sum": "add",
    "prod": "mul",
    "min": "min",
    "max": "max",
    "mean": "mean",
}


def gather(data: Any, indices: Any, axis: Any, batch_dims: IntLike = 0, version: int = 8) -> Any:
    """Gather slices of `data` along one axis, as Gather-8 or Gather-7; zeros for an index that is out of range.

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Any dtype, r ≥ 1.
    indices : array of integers
        Signed or unsigned, 8 to 64 bits, of any rank q. Version 8 takes ``[−s, s − 1]``, s being the size along the
        axis, and version 7 ``[0, s − 1]``; what lies outside gives zeros.
    axis : int, or a list or array of one
        The axis of `data` that is indexed; negative counts from the back.
    batch_dims : int, default 0
        Leading axes that `data` and `indices` share; negative stands for ``q + batch_dims``. At most the axis.
    version : {7, 8}, default 8
        Whose rule holds for negative indices.

    Returns
    -------
    array, shape ``data.shape[:axis] + indices.shape[batch_dims:] + data.shape[axis + 1:]``
        Of data's library, dtype and device.

    Raises
    ------
    ValueError
        If the shapes, `axis`, `batch_dims` or `version` break a rule above.
    TypeError
        If `indices` is not of integers, or if arrays of two libraries meet.

    Notes
    -----
    The document of Gather-7 does not say what an index outside of its range does. OpenVINO gives zeros, and so does
    this function.

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
    operator = "openvino.gather"
    _check_version(operator, version, (7, 8))
    axis = _axis(operator, axis)
    batch_dims = shapes.integer(operator, "batch_dims", batch_dims)
    data, indices = _dialect.arrays(operator, data=data, indices=indices)
    _dialect.check_dtype(operator, "indices", indices, _INTEGERS, f"Gather-{version}")
    if batch_dims < 0:
        rank = len(indices.shape)
        if batch_dims < -rank:
            rule = f"batch_dims={batch_dims} counts back beyond the {rank} axes of indices; pass {-rank} or more"
            raise errors.shape_rule(operator, rule)
        batch_dims += rank
    if version == 7:
        indices = _negatives_outside(indices, max(data.shape, default=0))
    return ops.gather(data, indices, axis=axis, batch_dims=batch_dims, mode="fill")


def gather_nd(data: Any, indices: Any, batch_dims: IntLike = 0, version: int = 8) -> Any:
    """Gather the elements or slices of `data` that tuples of indices name, as GatherND-8 or GatherND-5.

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Any dtype, r ≥ 1.
    indices : array of integers, shape (…, k)
        Signed or unsigned, 8 to 64 bits; ``k ≤ r − b``. Version 8 takes ``[−s, s − 1]``, s being the size along the
        axis that an index is for, and version 5 ``[0, s − 1]``.
    batch_dims : int, default 0
        The number b of leading axes that `data` and `indices` share, with equal sizes.
    version : {5, 8}, default 8
        Version 5 makes one axis of the batch axes, and takes no negative indices.

    Returns
    -------
    array, shape ``indices.shape[:-1] + data.shape[b + k:]``
        Of data's library, dtype and device. Of version 5 with b ≥ 1 the shape is
        ``(prod(indices.shape[:b]),) + indices.shape[b:-1] + data.shape[b + k:]``.

    Raises
    ------
    IndexError
        If an index is out of the version's range.
    ValueError
        If the shapes, `batch_dims` or `version` break a rule above.
    TypeError
        If `indices` is not of integers, or if arrays of two libraries meet.

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
    operator = "openvino.gather_nd"
    _check_version(operator, version, (5, 8))
    batch_dims = shapes.integer(operator, "batch_dims", batch_dims)
    data, indices = _dialect.arrays(operator, data=data, indices=indices)
    _dialect.check_dtype(operator, "indices", indices, _INTEGERS, f"GatherND-{version}")
    if version == 8:
        return ops.gather_nd(data, indices, batch_dims=batch_dims)
    fix = "version=8 counts it from the end"
    result = _from_zero(
        operator, data, indices, "GatherND-5", fix, lambda inside: ops.gather_nd(data, inside, batch_dims=batch_dims)
    )
    if batch_dims < 2:
        return result
    shape = tuple(result.shape)
    return _dialect.namespace(result).reshape(result, (prod(shape[:batch_dims]), *shape[batch_dims:]))


def gather_elements(data: Any, indices: Any, axis: IntLike) -> Any:
    """Gather one element of `data` for each element of `indices`, along one axis, as GatherElements-6.

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Any dtype, r ≥ 1.
    indices : array of int32 or int64
        Of data's shape, but for the size along the axis. The range is ``[0, s − 1]``, s being data's size along it.
    axis : int
        The axis of `data` that is indexed; negative counts from the back.

    Returns
    -------
    array, shape ``indices.shape``
        Of data's library, dtype and device.

    Raises
    ------
    IndexError
        If an index is out of range.
    ValueError
        If the shapes or `axis` break a rule above.
    TypeError
        If `indices` is not of int32 or int64, or if arrays of two libraries meet.

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
    operator = "openvino.gather_elements"
    axis = shapes.integer(operator, "axis", axis)
    data, indices = _dialect.arrays(operator, data=data, indices=indices)
    _dialect.check_dtype(operator, "indices", indices, _INT32_OR_INT64, "GatherElements-6")
    found, shape = tuple(indices.shape), tuple(data.shape)
    if len(found) == len(shape) and -len(shape) <= axis < len(shape):  # else the core explains
        for d, (n, size) in enumerate(zip(found, shape, strict=True)):
            if d != axis % len(shape) and n != size:
                rule = (
                    f"indices of shape {found} and data of shape {shape} differ along axis {d}; only along "
                    f"axis={axis} they may (gatherscatter.gather_elements takes indices that are smaller)"
                )
                raise errors.shape_rule(operator, rule)
    fix = "add the size along the axis, or use gatherscatter.gather_elements"
    return _from_zero(
        operator, data, indices, "GatherElements-6", fix, lambda inside: ops.gather_elements(data, inside, axis=axis)
    )


def scatter_nd_update(data: Any, indices: Any, updates: Any, reduction: str = "none", version: int = 15) -> Any:
    """Scatter `updates` into a copy of `data`, where tuples of indices say, as ScatterNDUpdate-15 or -3.

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        What the result starts from, r ≥ 1. "none" takes any dtype; the others take those of the core's reductions.
    indices : array of int32 or int64, shape (…, k)
        ``k ≤ r``. Version 15 takes ``[−s, s − 1]``, s being the size along the axis that an index is for, and
        version 3 ``[0, s − 1]``.
    updates : array, list or scalar
        Of shape ``indices.shape[:-1] + data.shape[k:]`` and of data's dtype. Where that shape is (), any shape of
        one element will do. A scalar goes to every place.
    reduction : {"none", "sum", "sub", "prod", "min", "max"}, default "none"
        How an update meets what is there. Of bools, "sum" and "max" are OR, "prod" and "min" AND, "sub" is XOR.
    version : {3, 15}, default 15
        Version 3 has no reductions, and takes no negative indices.

    Returns
    -------
    array, shape ``data.shape``
        Of data's library, dtype and device.

    Raises
    ------
    IndexError
        If an index is out of the version's range.
    ValueError
        If the shapes, `reduction` or `version` break a rule above.
    TypeError
        If `indices` is not of int32 or int64, if updates' dtype is not data's, if the dtype has no such reduction, or
        if arrays of two libraries meet.

    Notes
    -----
    The documents leave the order of updates at one place undefined; here it is row-major, so that of duplicates the
    last one wins, and float sums have the same bits every time.

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
    operator = "openvino.scatter_nd_update"
    _check_version(operator, version, (3, 15))
    _check_reduction(operator, version, reduction, _ND_REDUCTIONS, 15)
    data, indices, updates = _dialect.arrays(operator, data=data, indices=indices, updates=updates)
    _dialect.check_dtype(operator, "indices", indices, _INT32_OR_INT64, f"ScatterNDUpdate-{version}")
    k = indices.shape[-1] if len(indices.shape) else 0
    shape = (*indices.shape[:-1], *data.shape[k:])
    if shape == ():
        updates = _one_element(updates)
    if version == 3:
        fix = "version=15 counts it from the end"
        return _from_zero(
            operator, data, indices, "ScatterNDUpdate-3", fix, lambda inside: ops.scatter_nd(data, inside, updates)
        )
    if reduction == "sub":
        return _subtract(data, indices, updates, shape)
    return ops.scatter_nd(data, indices, updates, reduction=_ND_REDUCTIONS[reduction])


def scatter_elements_update(
    data: Any,
    indices: Any,
    updates: Any,
    axis: Any,
    reduction: str = "none",
    use_init_val: bool | np.bool = True,
    version: int = 12,
) -> Any:
    """Scatter one update into a copy of `data` for each element of `indices`, as ScatterElementsUpdate-12 or -3.

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        What the result starts from, r ≥ 1. "none" takes any dtype; the others take those of the core's reductions.
    indices : array of integers, rank r
        Signed or unsigned, 8 to 64 bits. Off the axis it may be smaller than `data`, not larger. Version 12 takes
        ``[−s, s − 1]``, s being data's size along the axis, and version 3 ``[0, s − 1]``.
    updates : array, list or scalar
        Of indices' shape and data's dtype. A scalar goes to every place.
    axis : int, or a list or array of one
        The axis of `data` that is indexed; negative counts from the back.
    reduction : {"none", "sum", "prod", "min", "max", "mean"}, default "none"
        How an update meets what is there. Of bools, "sum" and "max" are OR, "prod" and "min" AND, and there is no
        mean. A mean of integers floors.
    use_init_val : bool, default True
        Whether a place starts from its element of `data`. If not, one that is named at least once starts from its
        first update; the others keep data's element. "none" does not ask.
    version : {3, 12}, default 12
        Version 3 has neither `reduction` nor `use_init_val`, and takes no negative indices.

    Returns
    -------
    array, shape ``data.shape``
        Of data's library, dtype and device.

    Raises
    ------
    IndexError
        If an index is out of the version's range.
    ValueError
        If the shapes, `axis`, `reduction`, `use_init_val` or `version` break a rule above.
    TypeError
        If `indices` is not of integers, if updates' dtype is not data's, if the dtype has no such reduction, or if
        arrays of two libraries meet.

    Notes
    -----
    The documents leave the order of updates at one place undefined; here it is row-major, so that of duplicates the
    last one wins, and float sums have the same bits every time.

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
    operator = "openvino.scatter_elements_update"
    _check_version(operator, version, (3, 12))
    _check_reduction(operator, version, reduction, _ELEMENTS_REDUCTIONS, 12)
    use_init_val = shapes.boolean(operator, "use_init_val", use_init_val)
    if version == 3 and not use_init_val:
        raise _dialect.no_such(operator, "version 3 has no use_init_val=False", "version 12")
    axis = _axis(operator, axis)
    data, indices, updates = _dialect.arrays(operator, data=data, indices=indices, updates=updates)
    _dialect.check_dtype(operator, "indices", indices, _INTEGERS, f"ScatterElementsUpdate-{version}")
    if version == 3:
        return _from_zero(
            operator,
            data,
            indices,
            "ScatterElementsUpdate-3",
            "version=12 counts it from the end",
            lambda inside: ops.scatter_elements(data, inside, updates, axis=axis),
        )
    return ops.scatter_elements(
        data, indices, updates, axis=axis, reduction=_ELEMENTS_REDUCTIONS[reduction], include_self=use_init_val
    )


def _check_version(operator: str, version: object, accepted: tuple[int, ...]) -> None:
    if version not in accepted:
        raise errors.shape_rule(operator, f"version={version!r} is not one of {', '.join(map(str, accepted))}")


def _check_reduction(operator: str, version: int, reduction: object, accepted: Any, since: int) -> None:
    reduction = shapes.string(operator, "reduction", reduction, tuple(accepted))
    if reduction not in accepted:
        raise errors.unknown_word(operator, "reduction", reduction, tuple(accepted))
    if reduction != "none" and version < since:
        raise _dialect.no_such(operator, f"version {version} has no reduction={reduction!r}", f"version {since}")


def _axis(operator: str, axis: Any) -> int:
    """An axis that is an input of the operator: a scalar, or a list or array of one element."""
    one: Any = axis
    if (isinstance(axis, (list, tuple)) and len(axis) == 1) or tuple(getattr(axis, "shape", ())) == (1,):
        one = axis[0]
    if not isinstance(one, int) and hasattr(one, "item"):  # not every library's array is an index
        one = one.item()
    return shapes.integer(operator, "axis", one)


def _one_element(updates: Any) -> Any:
    while isinstance(updates, (list, tuple)) and len(updates) == 1:
        updates = updates[0]
    if isinstance(updates, neutral.TYPES) or prod(updates.shape) != 1:
        return updates
    return _dialect.namespace(updates).reshape(updates, ())


def _negatives_outside(indices: Any, size: int) -> Any:
    """Indices for axes of at most that size, with the negative ones where the core takes them for out of range.

    Nothing asks for their values, so a call can still be traced.
    """
    name = _dialect.dtype_name(indices)
    if name.startswith("uint"):
        return indices
    xp = _dialect.namespace(indices)
    if name in ("int8", "int16") or (name == "int32" and size > 2**31 - 1):  # which may not hold the size
        indices = xp.astype(indices, xp.int64 if size > 2**31 - 1 else xp.int32)
    return xp.where(indices < 0, xp.full_like(indices, size), indices)


def _from_zero(operator: str, data: Any, indices: Any, source: str, fix: str, call: Callable[[Any], Any]) -> Any:
    """The result of a call with these indices, for a document that takes no negative ones."""
    try:
        return call(_negatives_outside(indices, max(data.shape, default=0)))
    except IndexError:
        if _dialect.dtype_name(indices).startswith("uint"):
            raise
        xp = _dialect.namespace(indices)
        flat = xp.reshape(indices, (-1,))
        if not bool(xp.any(flat < 0)):
            raise
        first = rest = int(xp.argmax(xp.astype(flat < 0, xp.int32)))
    position: list[str] = []
    for n in reversed(indices.shape):
        rest, i = divmod(rest, n)
        position.insert(0, str(i))
    place = f"indices[{', '.join(position)}]" if position else "indices"
    raise IndexError(f"{operator}: {place} = {int(flat[first])} is negative, which {source} does not take: {fix}")


def _subtract(data: Any, indices: Any, updates: Any, shape: tuple[int, ...]) -> Any:
    """What is there less each update: the sum of what is there and of minus the updates, bit for bit."""
    from array_api_compat import device

    xp, name = _dialect.namespace(data), _dialect.dtype_name(data)
    everywhere = xp.zeros((0,), dtype=xp.int32, device=device(data))  # an empty tuple of indices names the whole array
    if isinstance(updates, neutral.TYPES):
        updates = ops.scatter_nd(xp.zeros(shape, dtype=data.dtype, device=device(data)), everywhere, updates)
    if updates.dtype != data.dtype:
        raise errors.updates_dtype("openvino.scatter_nd_update", updates.dtype, data.dtype)
    if name == "bool":  # XOR: whether a count is odd, which a wrapped count tells as well
        counts = ops.scatter_nd(xp.astype(data, xp.uint8), indices, xp.astype(updates, xp.uint8), reduction="add")
        return counts % 2 == 1
    if name.startswith("uint"):  # times −1, modulo 2 to the number of bits; PyTorch negates no wide unsigned integers
        minus = ops.scatter_nd(updates, everywhere, 2 ** int(name[4:]) - 1, reduction="mul")
    else:
        minus = xp.negative(updates)
    return ops.scatter_nd(data, indices, minus, reduction="add")
