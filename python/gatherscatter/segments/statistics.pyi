"""Overloads of the functions of ordered segments: the types of the arguments determine the type of the result."""

from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from gatherscatter._typing import (
    ArrayT,
    IntegerArray,
    Integers,
    IntLike,
    Nested,
    QuantileMethod,
    SegmentMode,
)

__all__ = ["segment_argsort", "segment_quantile"]

@overload
def segment_quantile(
    data: NDArray[Any] | Nested[Any],
    q: Any,
    segment_ids: IntegerArray | Integers | None = None,
    num_segments: IntLike | None = None,
    *,
    method: QuantileMethod = "linear",
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    indptr: IntegerArray | Integers | None = None,
    mode: SegmentMode = "raise",
    skipna: bool | np.bool = False,
    min_count: IntLike = 0,
    fill_value: Any = None,
    dtype: Any = None,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]: ...
@overload
def segment_quantile(
    data: ArrayT,
    q: Any,
    segment_ids: ArrayT | IntegerArray | Integers | None = None,
    num_segments: IntLike | None = None,
    *,
    method: QuantileMethod = "linear",
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    indptr: ArrayT | IntegerArray | Integers | None = None,
    mode: SegmentMode = "raise",
    skipna: bool | np.bool = False,
    min_count: IntLike = 0,
    fill_value: Any = None,
    dtype: Any = None,
    out: ArrayT | None = None,
) -> ArrayT: ...
@overload
def segment_quantile(
    data: NDArray[Any] | Nested[Any],
    q: Any,
    segment_ids: ArrayT,
    num_segments: IntLike | None = None,
    *,
    method: QuantileMethod = "linear",
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    indptr: None = None,
    mode: SegmentMode = "raise",
    skipna: bool | np.bool = False,
    min_count: IntLike = 0,
    fill_value: Any = None,
    dtype: Any = None,
    out: ArrayT | None = None,
) -> ArrayT: ...
@overload
def segment_argsort(
    data: NDArray[Any] | Nested[Any],
    segment_ids: IntegerArray | Integers | None = None,
    num_segments: IntLike | None = None,
    *,
    descending: bool | np.bool = False,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    indptr: IntegerArray | Integers | None = None,
    mode: SegmentMode = "raise",
) -> NDArray[np.int64]: ...
@overload
def segment_argsort(
    data: ArrayT,
    segment_ids: ArrayT | IntegerArray | Integers | None = None,
    num_segments: IntLike | None = None,
    *,
    descending: bool | np.bool = False,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    indptr: ArrayT | IntegerArray | Integers | None = None,
    mode: SegmentMode = "raise",
) -> ArrayT: ...
@overload
def segment_argsort(
    data: NDArray[Any] | Nested[Any],
    segment_ids: ArrayT,
    num_segments: IntLike | None = None,
    *,
    descending: bool | np.bool = False,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    indptr: None = None,
    mode: SegmentMode = "raise",
) -> ArrayT: ...
