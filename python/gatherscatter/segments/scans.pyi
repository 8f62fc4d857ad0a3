"""Overloads of `segment_scan`: the types of the arguments determine the type of the result."""

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from gatherscatter._typing import ArrayT, IntegerArray, Integers, IntLike, Nested, SegmentMode
from gatherscatter.segments.ids import Ids

__all__ = ["segment_scan"]

@overload
def segment_scan(
    data: NDArray[Any] | Nested[Any],
    segment_ids: IntegerArray | Integers | None = None,
    num_segments: IntLike | None = None,
    *,
    reduction: Literal["add", "mul", "max", "min", "count"] = "add",
    exclusive: bool | np.bool = False,
    reverse: bool | np.bool = False,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    indptr: IntegerArray | Integers | None = None,
    mode: SegmentMode = "raise",
    skipna: bool | np.bool = False,
    dtype: Any = None,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]: ...
@overload
def segment_scan(
    data: ArrayT,
    segment_ids: ArrayT | IntegerArray | Integers | None = None,
    num_segments: IntLike | None = None,
    *,
    reduction: Literal["add", "mul", "max", "min", "count"] = "add",
    exclusive: bool | np.bool = False,
    reverse: bool | np.bool = False,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    indptr: ArrayT | IntegerArray | Integers | None = None,
    mode: SegmentMode = "raise",
    skipna: bool | np.bool = False,
    dtype: Any = None,
    out: ArrayT | None = None,
) -> ArrayT: ...
@overload
def segment_scan(
    data: NDArray[Any] | Nested[Any],
    segment_ids: ArrayT,
    num_segments: IntLike | None = None,
    *,
    reduction: Literal["add", "mul", "max", "min", "count"] = "add",
    exclusive: bool | np.bool = False,
    reverse: bool | np.bool = False,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    indptr: None = None,
    mode: SegmentMode = "raise",
    skipna: bool | np.bool = False,
    dtype: Any = None,
    out: ArrayT | None = None,
) -> ArrayT: ...
def scan_segments(
    data: Any, ids: Ids, reduction: Any, exclusive: Any, reverse: Any, skipna: Any, dtype: Any, out: Any
) -> Any: ...
