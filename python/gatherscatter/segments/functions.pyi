"""Overloads of the functions of segments: the types of the arguments determine the type of the result."""

from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from gatherscatter._typing import (
    ArrayT,
    IntegerArray,
    Integers,
    IntLike,
    Nested,
    SegmentMode,
    SegmentReduction,
)
from gatherscatter.segments.ids import Ids

__all__ = ["segment_log_softmax", "segment_reduce", "segment_softmax"]

@overload
def segment_reduce(
    data: NDArray[Any] | Nested[Any],
    segment_ids: IntegerArray | Integers | None = None,
    num_segments: IntLike | None = None,
    *,
    reduction: SegmentReduction = "add",
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    indptr: IntegerArray | Integers | None = None,
    mode: SegmentMode = "raise",
    skipna: bool | np.bool = False,
    min_count: IntLike = 0,
    fill_value: Any = None,
    correction: float = 0,
    dtype: Any = None,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]: ...
@overload
def segment_reduce(
    data: NDArray[Any] | Nested[Any],
    segment_ids: IntegerArray | Integers | None = None,
    num_segments: IntLike | None = None,
    *,
    reduction: tuple[SegmentReduction, ...],
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    indptr: IntegerArray | Integers | None = None,
    mode: SegmentMode = "raise",
    skipna: bool | np.bool = False,
    min_count: IntLike = 0,
    fill_value: Any = None,
    correction: float = 0,
    dtype: Any = None,
    out: tuple[NDArray[Any], ...] | None = None,
) -> tuple[NDArray[Any], ...]: ...
@overload
def segment_reduce(
    data: ArrayT,
    segment_ids: ArrayT | IntegerArray | Integers | None = None,
    num_segments: IntLike | None = None,
    *,
    reduction: SegmentReduction = "add",
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    indptr: ArrayT | IntegerArray | Integers | None = None,
    mode: SegmentMode = "raise",
    skipna: bool | np.bool = False,
    min_count: IntLike = 0,
    fill_value: Any = None,
    correction: float = 0,
    dtype: Any = None,
    out: ArrayT | None = None,
) -> ArrayT: ...
@overload
def segment_reduce(
    data: ArrayT,
    segment_ids: ArrayT | IntegerArray | Integers | None = None,
    num_segments: IntLike | None = None,
    *,
    reduction: tuple[SegmentReduction, ...],
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    indptr: ArrayT | IntegerArray | Integers | None = None,
    mode: SegmentMode = "raise",
    skipna: bool | np.bool = False,
    min_count: IntLike = 0,
    fill_value: Any = None,
    correction: float = 0,
    dtype: Any = None,
    out: tuple[ArrayT, ...] | None = None,
) -> tuple[ArrayT, ...]: ...
@overload
def segment_reduce(
    data: NDArray[Any] | Nested[Any],
    segment_ids: ArrayT,
    num_segments: IntLike | None = None,
    *,
    reduction: SegmentReduction = "add",
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    indptr: None = None,
    mode: SegmentMode = "raise",
    skipna: bool | np.bool = False,
    min_count: IntLike = 0,
    fill_value: Any = None,
    correction: float = 0,
    dtype: Any = None,
    out: ArrayT | None = None,
) -> ArrayT: ...
@overload
def segment_reduce(
    data: NDArray[Any] | Nested[Any],
    segment_ids: ArrayT,
    num_segments: IntLike | None = None,
    *,
    reduction: tuple[SegmentReduction, ...],
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    indptr: None = None,
    mode: SegmentMode = "raise",
    skipna: bool | np.bool = False,
    min_count: IntLike = 0,
    fill_value: Any = None,
    correction: float = 0,
    dtype: Any = None,
    out: tuple[ArrayT, ...] | None = None,
) -> tuple[ArrayT, ...]: ...
def reduce_segments(
    data: Any,
    ids: Ids,
    reduction: Any,
    skipna: Any,
    min_count: Any,
    fill_value: Any,
    correction: Any,
    dtype: Any,
    out: Any,
) -> Any: ...
def quantiles_of_segments(
    data: Any,
    ids: Ids,
    q: Any,
    method: Any,
    skipna: Any,
    min_count: Any,
    fill_value: Any,
    dtype: Any,
    out: Any,
) -> Any: ...
def order_of_segments(data: Any, ids: Ids, descending: Any) -> Any: ...
@overload
def segment_softmax(
    data: NDArray[Any] | Nested[Any],
    segment_ids: IntegerArray | Integers | None = None,
    num_segments: IntLike | None = None,
    *,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    indptr: IntegerArray | Integers | None = None,
    mode: SegmentMode = "raise",
    dtype: Any = None,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]: ...
@overload
def segment_softmax(
    data: ArrayT,
    segment_ids: ArrayT | IntegerArray | Integers | None = None,
    num_segments: IntLike | None = None,
    *,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    indptr: ArrayT | IntegerArray | Integers | None = None,
    mode: SegmentMode = "raise",
    dtype: Any = None,
    out: ArrayT | None = None,
) -> ArrayT: ...
@overload
def segment_softmax(
    data: NDArray[Any] | Nested[Any],
    segment_ids: ArrayT,
    num_segments: IntLike | None = None,
    *,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    indptr: None = None,
    mode: SegmentMode = "raise",
    dtype: Any = None,
    out: ArrayT | None = None,
) -> ArrayT: ...
@overload
def segment_log_softmax(
    data: NDArray[Any] | Nested[Any],
    segment_ids: IntegerArray | Integers | None = None,
    num_segments: IntLike | None = None,
    *,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    indptr: IntegerArray | Integers | None = None,
    mode: SegmentMode = "raise",
    dtype: Any = None,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]: ...
@overload
def segment_log_softmax(
    data: ArrayT,
    segment_ids: ArrayT | IntegerArray | Integers | None = None,
    num_segments: IntLike | None = None,
    *,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    indptr: ArrayT | IntegerArray | Integers | None = None,
    mode: SegmentMode = "raise",
    dtype: Any = None,
    out: ArrayT | None = None,
) -> ArrayT: ...
@overload
def segment_log_softmax(
    data: NDArray[Any] | Nested[Any],
    segment_ids: ArrayT,
    num_segments: IntLike | None = None,
    *,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    indptr: None = None,
    mode: SegmentMode = "raise",
    dtype: Any = None,
    out: ArrayT | None = None,
) -> ArrayT: ...
def softmax_of_segments(data: Any, ids: Ids, dtype: Any, out: Any, *, is_log: bool) -> Any: ...
