"""OpenVINO's maxima of segments and sums of embeddings."""

from __future__ import annotations

from typing import Any

from gatherscatter import core, errors
from gatherscatter import plan as plans
from gatherscatter._typing import AnyIndices, AnyValues, DataT, IntLike, Listed, OpenVINOBagReduction, OpenVINOFillMode
from gatherscatter.backends.base import Backend
from gatherscatter.openvino.versions import INT32_OR_INT64, fitted, operator
from gatherscatter.operators import GATHER, Operator
from gatherscatter.reductions import COMPLEX, DTYPES, kind_of
from gatherscatter.segments import dialects, rules
from gatherscatter.segments.by_scatters import Segments

__all__ = ["embedding_bag_offsets", "embedding_bag_packed", "embedding_segments_sum", "segment_max"]

FILL_MODES = ("ZERO", "LOWEST")
BAG_REDUCTIONS = ("sum", "mean")
NUMBERS = DTYPES[1:]
REAL = tuple(name for name in NUMBERS if name not in COMPLEX)


def _embedding(name: str, source: str) -> Operator:
    """The record of an operator that gathers rows of a table."""
    advice = "it is the number of a row of emb_table, from 0 on"
    op = operator(GATHER, name, source, INT32_OR_INT64, positive=advice)
    return op.replace(data="emb_table", updates="per_sample_weights", data_dtypes=NUMBERS)


_SEGMENT_MAX = dialects.operator("openvino.segment_max", "SegmentMax-16", INT32_OR_INT64, REAL)
_OFFSETS = _embedding("embedding_bag_offsets", "EmbeddingBagOffsets-15")
_PACKED = _embedding("embedding_bag_packed", "EmbeddingBagPacked-15")
_SEGMENTS = _embedding("embedding_segments_sum", "EmbeddingSegmentsSum-3")


def segment_max(
    data: DataT | Listed[DataT],
    segment_ids: AnyIndices,
    num_segments: IntLike | None = None,
    fill_mode: OpenVINOFillMode | None = None,
) -> DataT:
    """Take the maximum of each segment of sorted ids (SegmentMax-16).

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Real numbers, r ≥ 1.
    segment_ids : array of int32 or int64, shape (d_0,)
        The segment of each position along data's first axis: sorted, from 0 on. Numbers may be missing.
    num_segments : int, optional
        The number of segments; those beyond it are left out. By default the last id + 1.
    fill_mode : {"ZERO", "LOWEST"}
        What a segment without elements has: 0, or the dtype's lowest finite number. It must be given.

    Returns
    -------
    array, shape ``(num_segments,) + data.shape[1:]``
        The result, of data's library, dtype and device. A segment with a NaN has NaN.

    Raises
    ------
    IndexError
        If an id is negative.
    ValueError
        If the ids are not sorted, `fill_mode` is missing, or a shape does not fit; if the ids are traced or lazy, and
        `num_segments` is missing.
    TypeError
        If the ids are not int32 or int64, or data holds no real numbers.

    See Also
    --------
    gatherscatter.segment_reduce : For ids in any order.

    References
    ----------
    .. [1] OpenVINO, SegmentMax-16, https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/arithmetic/segment-max-16.html

    Examples
    --------
    >>> import numpy as np
    >>> from gatherscatter import openvino
    >>> openvino.segment_max(np.array([4, 1, -3, -2], np.int8), [0, 0, 2, 2], fill_mode="LOWEST")
    array([   4, -128,   -2], dtype=int8)
    >>> openvino.segment_max(np.array([4, 1, -3, -2]), [0, 0, 2, 2], 4, "ZERO")
    array([ 4,  0, -2,  0])
    """
    op = _SEGMENT_MAX
    if fill_mode not in FILL_MODES:
        raise errors.unknown_choice(op, "fill_mode", fill_mode, FILL_MODES)
    segments = dialects.read_sorted(op, data, segment_ids, num_segments, "drop")
    return dialects.reduced(segments, "max", dialects.extreme(segments.name, "max") if fill_mode == "LOWEST" else 0)


def embedding_bag_offsets(
    emb_table: DataT | Listed[DataT],
    indices: AnyIndices,
    offsets: AnyIndices,
    default_index: IntLike | None = None,
    per_sample_weights: AnyValues | None = None,
    reduction: OpenVINOBagReduction = "sum",
) -> DataT:
    """Sum or average rows of a table in consecutive bags (EmbeddingBagOffsets-15).

    It is PyTorch's ``embedding_bag`` with offsets.

    Parameters
    ----------
    emb_table : array, shape (d_0, …, d_{r−1})
        The rows: numbers, r ≥ 1.
    indices : array of int32 or int64, shape (m,)
        The rows of all bags, in ``[0, d_0 − 1]``.
    offsets : array of int32 or int64, shape (n,)
        Where each bag begins in `indices`: in ascending order, from 0 to m. The last bag ends at m. Indices before the
        first bag belong to none.
    default_index : int, optional
        The row that an empty bag has. By default, or if it is −1, an empty bag has zeros.
    per_sample_weights : array, shape (m,), optional
        Of emb_table's dtype: what each row is multiplied by, for "sum" only.
    reduction : {"sum", "mean"}, default "sum"
        A mean of integers is rounded toward zero.

    Returns
    -------
    array, shape ``(n,) + emb_table.shape[1:]``
        The result, of emb_table's library, dtype and device.

    Raises
    ------
    IndexError
        If an index, an offset or `default_index` is out of range.
    ValueError
        If the offsets are not sorted, a shape does not fit, or weights are given for "mean".
    TypeError
        If `indices` or `offsets` are not int32 or int64, or weights are not of emb_table's dtype.

    Notes
    -----
    The gathered rows take memory in addition to the result; `gatherscatter.gather_scatter` does without.

    References
    ----------
    .. [1] OpenVINO, EmbeddingBagOffsets-15, https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/sparse/embedding-bag-offsets-15.html

    Examples
    --------
    >>> import numpy as np
    >>> from gatherscatter import openvino
    >>> table = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> openvino.embedding_bag_offsets(table, [0, 2, 1], [0, 2, 2])
    array([[6., 8.],
           [0., 0.],
           [3., 4.]])
    """
    op = _OFFSETS
    _check_reduction(op, reduction, per_sample_weights)
    rows = _rows(op, emb_table, indices, per_sample_weights, 1)
    own, known, starts = _ids(op, "offsets", rows, offsets)
    if len(starts.shape) != 1:
        raise errors.shape_rule(op, f"offsets has shape {tuple(starts.shape)}; pass one for each bag, shape (n,)")
    if not own.is_unknown(known):
        with own.constants():
            _check_offsets(op, own, known, int(rows.shape[0]))
    segments = dialects.read_offsets(_of_segments(op), rows, starts)
    return _reduced(op, segments, emb_table, reduction, None if default_index == -1 else default_index)


def embedding_bag_packed(
    emb_table: DataT | Listed[DataT],
    indices: AnyIndices,
    per_sample_weights: AnyValues | None = None,
    reduction: OpenVINOBagReduction = "sum",
) -> DataT:
    """Sum or average rows of a table in bags of equal size (EmbeddingBagPacked-15).

    Parameters
    ----------
    emb_table : array, shape (d_0, …, d_{r−1})
        The rows: numbers, r ≥ 1.
    indices : array of int32 or int64, shape (n, m)
        The m rows of each bag, in ``[0, d_0 − 1]``.
    per_sample_weights : array, shape (n, m), optional
        Of emb_table's dtype: what each row is multiplied by, for "sum" only.
    reduction : {"sum", "mean"}, default "sum"
        A mean of integers is rounded toward zero.

    Returns
    -------
    array, shape ``(n,) + emb_table.shape[1:]``
        The result, of emb_table's library, dtype and device. With m = 0, zeros.

    Raises
    ------
    IndexError, ValueError, TypeError
        As `embedding_bag_offsets`.

    References
    ----------
    .. [1] OpenVINO, EmbeddingBagPacked-15, https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/sparse/embedding-bag-packed-15.html

    Examples
    --------
    >>> import numpy as np
    >>> from gatherscatter import openvino
    >>> table = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> openvino.embedding_bag_packed(table, [[0, 2], [1, 1]], [[1.0, 0.5], [1.0, 2.0]])
    array([[ 3.5,  5. ],
           [ 9. , 12. ]])
    """
    op = _PACKED
    _check_reduction(op, reduction, per_sample_weights)
    rows = _rows(op, emb_table, indices, per_sample_weights, 2)
    backend, (rows,) = core.arrays(op, data=rows)
    n, m = rows.shape[:2]
    xp = backend.namespace(rows)
    bags = xp.broadcast_to(xp.arange(n, device=backend.device(rows))[:, None], (n, m))
    return _reduced(op, dialects.read(_of_segments(op), rows, bags, n), emb_table, reduction, None)


def embedding_segments_sum(
    emb_table: DataT | Listed[DataT],
    indices: AnyIndices,
    segment_ids: AnyIndices,
    num_segments: IntLike | None = None,
    default_index: IntLike | None = None,
    per_sample_weights: AnyValues | None = None,
) -> DataT:
    """Sum rows of a table by the segment of each (EmbeddingSegmentsSum-3).

    Parameters
    ----------
    emb_table : array, shape (d_0, …, d_{r−1})
        The rows: numbers, r ≥ 1.
    indices : array of int32 or int64, shape (m,)
        The rows that are added, in ``[0, d_0 − 1]``.
    segment_ids : array of int32 or int64, shape (m,)
        The segment of each, in ``[0, num_segments − 1]``. They need not be sorted.
    num_segments : int
        The number of segments. It must be given.
    default_index : int, optional
        The row that a segment without rows has. By default it has zeros.
    per_sample_weights : array, shape (m,), optional
        Of emb_table's dtype: what each row is multiplied by.

    Returns
    -------
    array, shape ``(num_segments,) + emb_table.shape[1:]``
        The result, of emb_table's library, dtype and device.

    Raises
    ------
    IndexError
        If an index, an id or `default_index` is out of range.
    ValueError, TypeError
        As `embedding_bag_offsets`; TypeError if `num_segments` is missing.

    References
    ----------
    .. [1] OpenVINO, EmbeddingSegmentsSum-3, https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/sparse/embedding-segments-sum-3.html

    Examples
    --------
    >>> import numpy as np
    >>> from gatherscatter import openvino
    >>> table = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> openvino.embedding_segments_sum(table, [0, 2, 1], [0, 0, 2], 3, default_index=1)
    array([[6., 8.],
           [3., 4.],
           [3., 4.]])
    """
    op = _SEGMENTS
    n = rules.number(op, num_segments)
    rows = _rows(op, emb_table, indices, per_sample_weights, 1)
    own, known, ids = _ids(op, "segment_ids", rows, segment_ids)
    found, expected = tuple(ids.shape), tuple(rows.shape[:1])
    if found != expected:
        raise errors.shape_rule(op, f"segment_ids has shape {found}, but indices has {expected}; pass equal shapes")
    if not own.is_unknown(known):
        _check_range(op, own, "segment_ids", known, n, "pass a segment for each index")
    segments = dialects.read(_of_segments(op), rows, ids, n)
    return _reduced(op, segments, emb_table, "sum", default_index)


def _check_reduction(op: Operator, reduction: Any, weights: Any) -> None:
    plans.choice(op, "reduction", reduction, BAG_REDUCTIONS)
    if reduction == "mean" and weights is not None:
        raise errors.shape_rule(op, "per_sample_weights are for reduction='sum'; pass none for 'mean'")


def _rows(op: Operator, table: Any, indices: Any, weights: Any, depth: int) -> Any:
    """The gathered rows, times their weights. depth: the number of axes of the indices."""
    backend, (table, indices) = core.arrays(op, data=table, indices=indices)
    shape = tuple(indices.shape)
    if len(shape) != depth:
        wanted = "(m,)" if depth == 1 else "(bags, indices of each)"
        raise errors.shape_rule(op, f"indices has shape {shape}; pass shape {wanted}")
    rows = core.gather(op, table, indices)
    if weights is None:
        return rows
    factors = fitted(op, table, weights, shape)
    factors = backend.namespace(factors).reshape(factors, (*shape, *[1] * (len(rows.shape) - depth)))
    return backend.product(rows, factors)


def _ids(op: Operator, name: str, rows: Any, given: Any) -> tuple[Backend, Any, Any]:
    """Offsets or ids as an array of their own library, where they may be known, and of the rows'."""
    op = op.replace(indices=name)
    own, (known,) = core.arrays(op, indices=given)
    backend, (_, ids) = core.arrays(op, data=rows, indices=given)
    core.check_source(op, backend, indices=ids)
    return own, known, ids


def _check_offsets(op: Operator, backend: Backend, offsets: Any, n: int) -> None:
    _check_range(op, backend, "offsets", offsets, n + 1, "pass positions in indices, or their number")
    down = offsets[1:] < offsets[:-1]
    if 0 not in down.shape and bool(backend.namespace(offsets).any(down)):
        raise errors.shape_rule(op, "offsets decrease; pass them in ascending order")


def _check_range(op: Operator, backend: Backend, name: str, array: Any, end: int, fix: str) -> None:
    least, greatest = backend.extremes(array)
    if least < 0 or greatest >= end:
        found = least if least < 0 else greatest
        raise IndexError(f"{op.name}: {name} has {found}, which is not in [0, {end - 1}]; {fix}")


def _of_segments(op: Operator) -> Operator:
    """The record of the second step."""
    return dialects.operator(op.name, op.source, op.index_dtypes)


def _reduced(op: Operator, segments: Segments, table: Any, reduction: str, default: Any) -> Any:
    """The sums or means. default: the row of the table that empty ones have, or None for zeros."""
    if reduction == "mean" and kind_of(segments.name) in "iu":
        result = dialects.mean_of_integers(segments)
    else:
        result = dialects.reduced(segments, "add" if reduction == "sum" else "mean", 0)
    if default is None:
        return result
    _, (table,) = core.arrays(op, data=table)
    row, n = plans.integer(op, "default_index", default), int(table.shape[0])
    if not 0 <= row < n:
        raise IndexError(
            f"{op.name}: default_index={row} is not in [0, {n - 1}]; pass the number of a row of emb_table"
        )
    return segments.xp.where(segments.counts == 0, table[row, ...], result)
