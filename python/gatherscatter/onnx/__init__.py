"""ONNX's operators, name for name and version for version, over the core and on every array library.

`opset` is a model's opset: the newest version of the operator that is not newer rules, as in a model. What that
version lacks is refused, though the core can do it. Values follow the core: of duplicates the last wins, NaN stays in
max and min, an index out of bounds is an `IndexError`.

`reference_ops` puts these operators into onnx's own evaluator, and `gatherscatter.onnx.backend` makes an ONNX backend
of that. Only those two need onnx installed.

Source: https://onnx.ai/onnx/operators/
"""

from typing import Any

from gatherscatter import _dialect, errors, ops, shapes
from gatherscatter._typing import IntLike, ONNXReduction
from gatherscatter.backends import _rows

__all__ = [
    "gather",
    "gather_elements",
    "gather_nd",
    "reference_ops",
    "scatter",
    "scatter_elements",
    "scatter_nd",
    "tensor_scatter",
]

# The opsets in which a version of each operator began.
VERSIONS: dict[str, tuple[int, ...]] = {
    "Gather": (1, 11, 13),
    "GatherElements": (11, 13),
    "GatherND": (11, 12, 13),
    "Scatter": (9,),
    "ScatterElements": (11, 13, 16, 18),
    "ScatterND": (11, 13, 16, 18),
    "TensorScatter": (24,),
}

# The documents' tensor types; bfloat16 came with version 13 of each operator.
TYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128", "str"),
)
BFLOAT16_SINCE = 13
CACHE_TYPES = (
    *TYPES,
    *("bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
    *("float4_e2m1fn", "int4", "uint4"),
)
INT64 = ("int64",)
INT32_OR_INT64 = ("int32", "int64")

# The opset that each reduction came with.
REDUCTIONS: dict[str, int] = {"none": 0, "add": 16, "mul": 16, "max": 18, "min": 18}


def gather(data: Any, indices: Any, *, axis: IntLike = 0, opset: IntLike | None = None) -> Any:
    """Gather: slices of `data` along one axis.

    Parameters
    ----------
    data : array, rank r ≥ 1
        Of a type of the document; bfloat16 from opset 13.
    indices : array of int32 or int64, any rank
        Each in [−s, s − 1] for an axis of size s. Version 1 leaves open what a negative index is; it counts from
        the back here too.
    axis : int, default 0
        In [−r, r − 1].
    opset : int, optional
        Opset of the model, at least 1; the newest if None.

    Returns
    -------
    array, shape ``data.shape[:axis] + indices.shape + data.shape[axis + 1:]``
        Of data's library and dtype.

    Raises
    ------
    IndexError
        If an index is out of bounds.
    TypeError
        If a type is not one of the version's.
    ValueError
        If the opset has no such operator, or a shape breaks a rule.

    References
    ----------
    .. [1] https://onnx.ai/onnx/operators/onnx__Gather.html

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> gs.onnx.gather(np.array([[1.0, 1.2], [2.3, 3.4]]), [1, 0], axis=1)
    array([[1.2, 1. ],
           [3.4, 2.3]])
    """
    data, indices = _accepted("gather", "Gather", opset, INT32_OR_INT64, data, indices)
    return ops.gather(data, indices, axis=axis)


def gather_elements(data: Any, indices: Any, *, axis: IntLike = 0, opset: IntLike | None = None) -> Any:
    """GatherElements: one element of `data` for each element of `indices`, along one axis.

    Parameters
    ----------
    data : array, rank r ≥ 1
        Of a type of the document; bfloat16 from opset 13.
    indices : array of int32 or int64, rank r
        Each in [−s, s − 1] for an axis of size s. Off the axis it may be smaller than `data`.
    axis : int, default 0
        In [−r, r − 1].
    opset : int, optional
        Opset of the model, at least 11; the newest if None.

    Returns
    -------
    array, shape ``indices.shape``
        Of data's library and dtype.

    Raises
    ------
    IndexError, TypeError, ValueError
        As `gather`.

    References
    ----------
    .. [1] https://onnx.ai/onnx/operators/onnx__GatherElements.html

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> gs.onnx.gather_elements(np.array([[1, 2], [3, 4]]), [[0, 0], [1, 0]], axis=1)
    array([[1, 1],
           [4, 3]])
    """
    data, indices = _accepted("gather_elements", "GatherElements", opset, INT32_OR_INT64, data, indices)
    return ops.gather_elements(data, indices, axis=axis)


def gather_nd(data: Any, indices: Any, *, batch_dims: IntLike = 0, opset: IntLike | None = None) -> Any:
    """GatherND: elements or slices of `data` that the tuples along the last axis of `indices` name.

    Parameters
    ----------
    data : array, rank r ≥ 1
        Of a type of the document; bfloat16 from opset 13.
    indices : array of int64, rank q ≥ 1
        Tuples of 1 to ``r − batch_dims`` indices, each in [−s, s − 1] for an axis of size s.
    batch_dims : int, default 0
        Leading axes that both share, fewer than min(q, r). From opset 12.
    opset : int, optional
        Opset of the model, at least 11; the newest if None.

    Returns
    -------
    array, shape ``indices.shape[:-1] + data.shape[batch_dims + indices.shape[-1]:]``
        Of data's library and dtype.

    Raises
    ------
    IndexError, TypeError, ValueError
        As `gather`.

    References
    ----------
    .. [1] https://onnx.ai/onnx/operators/onnx__GatherND.html

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> gs.onnx.gather_nd(np.array([[[0, 1], [2, 3]], [[4, 5], [6, 7]]]), [[1], [0]], batch_dims=1)
    array([[2, 3],
           [4, 5]])
    """
    data, indices = _accepted("gather_nd", "GatherND", opset, INT64, data, indices)
    if _version("gather_nd", "GatherND", opset) < 12 and shapes.integer("gather_nd", "batch_dims", batch_dims):
        raise _dialect.no_such("gather_nd", f"opset {opset} (GatherND-11) has no batch_dims", "opset 12")
    if len(indices.shape) and indices.shape[-1] == 0:
        raise ValueError(
            f"gather_nd: indices of shape {tuple(indices.shape)} holds empty tuples, which ONNX does not have; "
            "gatherscatter.gather_nd does"
        )
    return ops.gather_nd(data, indices, batch_dims=batch_dims)


def scatter_elements(
    data: Any,
    indices: Any,
    updates: Any,
    *,
    axis: IntLike = 0,
    reduction: ONNXReduction = "none",
    opset: IntLike | None = None,
) -> Any:
    """ScatterElements: a copy of `data` with one update for each element of `indices`, along one axis.

    Parameters
    ----------
    data : array, rank r ≥ 1
        Of a type of the document; bfloat16 from opset 13.
    indices : array of int32 or int64, rank r
        Each in [−s, s − 1] for an axis of size s.
    updates : array
        Of indices' shape and data's dtype.
    axis : int, default 0
        In [−r, r − 1].
    reduction : {"none", "add", "mul", "max", "min"}, default "none"
        "add" and "mul" from opset 16, "max" and "min" from opset 18. With "none" the document leaves duplicates
        open; here the last wins.
    opset : int, optional
        Opset of the model, at least 11; the newest if None.

    Returns
    -------
    array, shape ``data.shape``
        Of data's library and dtype.

    Raises
    ------
    IndexError, TypeError, ValueError
        As `gather`.

    References
    ----------
    .. [1] https://onnx.ai/onnx/operators/onnx__ScatterElements.html

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> gs.onnx.scatter_elements(np.array([[1.0, 2.0, 3.0]]), [[1, 1]], [[1.1, 2.1]], axis=1, reduction="add")
    array([[1. , 5.2, 3. ]])
    """
    data, indices, updates = _accepted(
        "scatter_elements", "ScatterElements", opset, INT32_OR_INT64, data, indices, updates
    )
    _reduction("scatter_elements", "ScatterElements", opset, reduction)
    return ops.scatter_elements(data, indices, updates, axis=axis, reduction=reduction)


def scatter(data: Any, indices: Any, updates: Any, *, axis: IntLike = 0, opset: IntLike = 9) -> Any:
    """Scatter, which opset 11 replaced by ScatterElements.

    Parameters
    ----------
    data : array, rank r ≥ 1
        Of a type of the document, without bfloat16.
    indices : array of int32 or int64, rank r
        As those of `scatter_elements`. The document leaves open what a negative index is; it counts from the back
        here.
    updates : array
        Of indices' shape and data's dtype.
    axis : int, default 0
        In [−r, r − 1].
    opset : int, default 9
        Opset of the model, 9 or 10.

    Returns
    -------
    array, shape ``data.shape``
        Of data's library and dtype.

    Raises
    ------
    IndexError, TypeError, ValueError
        As `gather`.

    References
    ----------
    .. [1] https://onnx.ai/onnx/operators/onnx__Scatter.html

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> gs.onnx.scatter(np.array([[1.0, 2.0, 3.0]]), [[1, 2]], [[1.1, 2.1]], axis=1)
    array([[1. , 1.1, 2.1]])
    """
    data, indices, updates = _accepted("scatter", "Scatter", opset, INT32_OR_INT64, data, indices, updates)
    return ops.scatter_elements(data, indices, updates, axis=axis)


def scatter_nd(
    data: Any, indices: Any, updates: Any, *, reduction: ONNXReduction = "none", opset: IntLike | None = None
) -> Any:
    """ScatterND: a copy of `data` with updates at the places that index tuples name.

    Parameters
    ----------
    data : array, rank r ≥ 1
        Of a type of the document; bfloat16 from opset 13.
    indices : array of int64, rank q ≥ 1
        Tuples of at most r indices, each in [−s, s − 1] for an axis of size s.
    updates : array
        Of shape ``indices.shape[:-1] + data.shape[indices.shape[-1]:]`` and data's dtype.
    reduction : {"none", "add", "mul", "max", "min"}, default "none"
        "add" and "mul" from opset 16, "max" and "min" from opset 18. With "none" the document leaves duplicates
        open; here the last wins.
    opset : int, optional
        Opset of the model, at least 11; the newest if None.

    Returns
    -------
    array, shape ``data.shape``
        Of data's library and dtype.

    Raises
    ------
    IndexError, TypeError, ValueError
        As `gather`.

    References
    ----------
    .. [1] https://onnx.ai/onnx/operators/onnx__ScatterND.html

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> gs.onnx.scatter_nd(np.array([1, 2, 3, 4, 5, 6, 7, 8]), [[4], [3], [1], [7]], [9, 10, 11, 12])
    array([ 1, 11,  3, 10,  9,  6,  7, 12])
    """
    data, indices, updates = _accepted("scatter_nd", "ScatterND", opset, INT64, data, indices, updates)
    _reduction("scatter_nd", "ScatterND", opset, reduction)
    return ops.scatter_nd(data, indices, updates, reduction=reduction)


def tensor_scatter(
    past_cache: Any,
    update: Any,
    write_indices: Any = None,
    *,
    axis: IntLike = -2,
    mode: str = "linear",
    opset: IntLike | None = None,
) -> Any:
    """TensorScatter: the update of a key-value cache, one run of positions along one axis for each sample.

    Parameters
    ----------
    past_cache : array, shape (B, …, S, …)
        The cache, S being its size along `axis`.
    update : array, shape (B, …, n, …)
        What is written, of past_cache's dtype and shape but for n ≤ S along `axis`.
    write_indices : array of int64, shape (B,), optional
        Where each sample's run starts; 0 if not given.
    axis : int, default −2
        Any axis but the first.
    mode : {"linear", "circular"}, default "linear"
        Whether a run that reaches the end goes on at the start.
    opset : int, optional
        Opset of the model, at least 24; the newest if None.

    Returns
    -------
    array, shape ``past_cache.shape``
        Of past_cache's library and dtype.

    Raises
    ------
    IndexError
        If a run in mode "linear" leaves the cache.
    TypeError, ValueError
        As `gather`.

    References
    ----------
    .. [1] https://onnx.ai/onnx/operators/onnx__TensorScatter.html

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> cache, update = np.zeros((1, 4, 2)), np.array([[[1.0, 2.0], [3.0, 4.0]]])
    >>> gs.onnx.tensor_scatter(cache, update, [3], mode="circular")
    array([[[3., 4.],
            [0., 0.],
            [0., 0.],
            [1., 2.]]])
    """
    _version("tensor_scatter", "TensorScatter", opset)
    if mode not in ("linear", "circular"):
        raise ValueError(f"tensor_scatter: mode={mode!r} is not one of 'linear', 'circular'")
    past_cache, update = _dialect.arrays("tensor_scatter", data=past_cache, indices=update)
    _dialect.check_dtype("tensor_scatter", "past_cache", past_cache, CACHE_TYPES, "TensorScatter-24")
    rank = len(past_cache.shape)
    place = shapes.integer("tensor_scatter", "axis", axis)
    if not -rank <= place < rank or place % rank == 0:
        raise ValueError(
            f"tensor_scatter: axis={axis} is not one of the axes after the first of past_cache of shape "
            f"{tuple(past_cache.shape)}"
        )
    place %= rank
    if len(update.shape) != rank or not 0 <= update.shape[place] <= past_cache.shape[place]:
        raise ValueError(
            f"tensor_scatter: update of shape {tuple(update.shape)} does not fit past_cache of shape "
            f"{tuple(past_cache.shape)}: along axis {place} it may be shorter, else it is alike"
        )
    if write_indices is None:
        xp = _dialect.namespace(past_cache)
        starts = xp.zeros(past_cache.shape[:1], dtype=xp.int64, device=_rows.device(past_cache))
    else:
        starts = _dialect.arrays("tensor_scatter", data=past_cache, indices=write_indices)[1]
        _dialect.check_dtype("tensor_scatter", "write_indices", starts, INT64, "TensorScatter-24")
        if tuple(starts.shape) != tuple(past_cache.shape[:1]):
            raise ValueError(
                f"tensor_scatter: write_indices has shape {tuple(starts.shape)}; pass one index for each sample, "
                f"shape {tuple(past_cache.shape[:1])}"
            )
    xp = _dialect.namespace(starts)  # NumPy's may stand beside Dask's
    run = xp.arange(update.shape[place], dtype=xp.int64, device=_rows.device(starts))
    indices = xp.reshape(starts, (-1, 1)) + run
    return ops.scatter(
        past_cache, indices, update, axis=place, batch_dims=1, mode="wrap" if mode == "circular" else "raise"
    )


def reference_ops(opset: int | None = None) -> list[type]:
    """Operator classes for ``onnx.reference.ReferenceEvaluator(model, new_ops=…)``.

    Parameters
    ----------
    opset : int, optional
        The opset whose versions rule; the model's own if None.

    Returns
    -------
    list of type
        Subclasses of ``onnx.reference.op_run.OpRun``: Gather, GatherElements, GatherND, Scatter, ScatterElements,
        ScatterND and TensorScatter.

    Raises
    ------
    ImportError
        If onnx is not installed.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> sorted(operator.__name__ for operator in gs.onnx.reference_ops())[:3]
    ['Gather', 'GatherElements', 'GatherND']
    """
    try:
        from gatherscatter.onnx import evaluator
    except ImportError as reason:
        raise ImportError("reference_ops: it needs onnx; pip install onnx") from reason
    return evaluator.operators(opset)


def _version(function: str, operator: str, opset: IntLike | None) -> int:
    """The version of an operator that rules in an opset."""
    versions = VERSIONS[operator]
    if opset is None:
        return versions[-1]
    opset = shapes.integer(function, "opset", opset)
    if opset < versions[0]:
        raise _dialect.no_such(function, f"opset {opset} has no {operator}", f"opset {versions[0]}")
    if operator == "Scatter" and opset >= 11:
        raise ValueError(f"{function}: opset {opset} has no Scatter any more; call scatter_elements")
    return max(version for version in versions if version <= opset)


def _accepted(
    function: str,
    operator: str,
    opset: IntLike | None,
    index_types: tuple[str, ...],
    data: Any,
    indices: Any,
    *rest: Any,
) -> list[Any]:
    """The arguments as arrays, once the version takes them."""
    version = _version(function, operator, opset)
    names = dict(zip(("data", "indices", "updates"), (data, indices, *rest), strict=False))
    arrays = _dialect.arrays(function, **names)
    source = f"{operator}-{version}"
    if _dialect.dtype_name(arrays[0]) == "bfloat16" and version < BFLOAT16_SINCE:
        has = f"opset {BFLOAT16_SINCE}" if VERSIONS[operator][-1] >= BFLOAT16_SINCE else "ScatterElements of opset 13"
        raise _dialect.no_such(function, f"{source} has no bfloat16", has)
    _dialect.check_dtype(function, "data", arrays[0], (*TYPES, "bfloat16"), source)
    _dialect.check_dtype(function, "indices", arrays[1], index_types, source)
    if len(arrays[0].shape) == 0:
        raise ValueError(f"{function}: data has shape (); {source} takes rank 1 and more: pass data[None]")
    return arrays


def _reduction(function: str, operator: str, opset: IntLike | None, reduction: str) -> None:
    if reduction not in REDUCTIONS:
        accepted = tuple(REDUCTIONS)
        reduction = shapes.string(function, "reduction", reduction, accepted)
        raise errors.unknown_word(function, "reduction", reduction, accepted)
    version = _version(function, operator, opset)
    if version < REDUCTIONS[reduction]:
        what = f"opset {opset} ({operator}-{version}) has no reduction={reduction!r}"
        raise _dialect.no_such(function, what, f"opset {REDUCTIONS[reduction]}")
