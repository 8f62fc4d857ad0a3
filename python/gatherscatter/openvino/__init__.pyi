"""Overloads of the functions: the types of the arguments determine the type of the result."""

from typing import Any, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from gatherscatter._typing import (
    Array,
    ArrayT,
    Integer,
    IntegerArray,
    Integers,
    IntLike,
    LazyT,
    Nested,
    OpenVINOBagReduction,
    OpenVINOElementsReduction,
    OpenVINOFillMode,
    OpenVINONDReduction,
    ScalarT,
    Values,
)

__all__ = [
    "embedding_bag_offsets",
    "embedding_bag_packed",
    "embedding_segments_sum",
    "gather",
    "gather_elements",
    "gather_nd",
    "scatter_elements_update",
    "scatter_nd_update",
    "scatter_update",
    "segment_max",
    "slice_scatter",
]

_Axis: TypeAlias = IntLike | Integers | IntegerArray | Array  # the last three of one element

_Integers: TypeAlias = Integers | IntegerArray | Array

@overload
def gather(
    data: NDArray[ScalarT],
    indices: IntegerArray | Integers | Integer,
    axis: _Axis,
    batch_dims: IntLike = 0,
    version: Literal[1, 7, 8] = 8,
) -> NDArray[ScalarT]: ...
@overload
def gather(
    data: Nested[Any],
    indices: IntegerArray | Integers | Integer,
    axis: _Axis,
    batch_dims: IntLike = 0,
    version: Literal[1, 7, 8] = 8,
) -> NDArray[Any]: ...
@overload
def gather(
    data: LazyT, indices: LazyT | IntegerArray, axis: _Axis, batch_dims: IntLike = 0, version: Literal[1, 7, 8] = 8
) -> LazyT: ...
@overload
def gather(
    data: NDArray[Any], indices: LazyT, axis: _Axis, batch_dims: IntLike = 0, version: Literal[1, 7, 8] = 8
) -> LazyT: ...
@overload
def gather(
    data: ArrayT,
    indices: ArrayT | Integers | Integer,
    axis: _Axis,
    batch_dims: IntLike = 0,
    version: Literal[1, 7, 8] = 8,
) -> ArrayT: ...
@overload
def gather_nd(
    data: NDArray[ScalarT], indices: IntegerArray | Integers, batch_dims: IntLike = 0, version: Literal[5, 8] = 8
) -> NDArray[ScalarT]: ...
@overload
def gather_nd(
    data: Nested[Any], indices: IntegerArray | Integers, batch_dims: IntLike = 0, version: Literal[5, 8] = 8
) -> NDArray[Any]: ...
@overload
def gather_nd(
    data: LazyT, indices: LazyT | IntegerArray, batch_dims: IntLike = 0, version: Literal[5, 8] = 8
) -> LazyT: ...
@overload
def gather_nd(data: NDArray[Any], indices: LazyT, batch_dims: IntLike = 0, version: Literal[5, 8] = 8) -> LazyT: ...
@overload
def gather_nd(
    data: ArrayT, indices: ArrayT | Integers, batch_dims: IntLike = 0, version: Literal[5, 8] = 8
) -> ArrayT: ...
@overload
def gather_elements(data: NDArray[ScalarT], indices: IntegerArray | Integers, axis: IntLike) -> NDArray[ScalarT]: ...
@overload
def gather_elements(data: Nested[Any], indices: IntegerArray | Integers, axis: IntLike) -> NDArray[Any]: ...
@overload
def gather_elements(data: LazyT, indices: LazyT | IntegerArray, axis: IntLike) -> LazyT: ...
@overload
def gather_elements(data: NDArray[Any], indices: LazyT, axis: IntLike) -> LazyT: ...
@overload
def gather_elements(data: ArrayT, indices: ArrayT | Integers, axis: IntLike) -> ArrayT: ...
@overload
def scatter_nd_update(
    data: NDArray[ScalarT],
    indices: IntegerArray | Integers,
    updates: NDArray[Any] | Values,
    reduction: OpenVINONDReduction = "none",
    version: Literal[3, 15] = 15,
) -> NDArray[ScalarT]: ...
@overload
def scatter_nd_update(
    data: Nested[Any],
    indices: IntegerArray | Integers,
    updates: NDArray[Any] | Values,
    reduction: OpenVINONDReduction = "none",
    version: Literal[3, 15] = 15,
) -> NDArray[Any]: ...
@overload
def scatter_nd_update(
    data: LazyT,
    indices: LazyT | IntegerArray | Integers,
    updates: LazyT | NDArray[Any] | Values,
    reduction: OpenVINONDReduction = "none",
    version: Literal[3, 15] = 15,
) -> LazyT: ...
@overload
def scatter_nd_update(
    data: NDArray[Any],
    indices: LazyT,
    updates: LazyT | NDArray[Any] | Values,
    reduction: OpenVINONDReduction = "none",
    version: Literal[3, 15] = 15,
) -> LazyT: ...
@overload
def scatter_nd_update(
    data: NDArray[Any],
    indices: IntegerArray | Integers,
    updates: LazyT,
    reduction: OpenVINONDReduction = "none",
    version: Literal[3, 15] = 15,
) -> LazyT: ...
@overload
def scatter_nd_update(
    data: ArrayT,
    indices: ArrayT | Integers,
    updates: ArrayT | Values,
    reduction: OpenVINONDReduction = "none",
    version: Literal[3, 15] = 15,
) -> ArrayT: ...
@overload
def scatter_elements_update(
    data: NDArray[ScalarT],
    indices: IntegerArray | Integers,
    updates: NDArray[Any] | Values,
    axis: _Axis,
    reduction: OpenVINOElementsReduction = "none",
    use_init_val: bool | np.bool = True,
    version: Literal[3, 12] = 12,
) -> NDArray[ScalarT]: ...
@overload
def scatter_elements_update(
    data: Nested[Any],
    indices: IntegerArray | Integers,
    updates: NDArray[Any] | Values,
    axis: _Axis,
    reduction: OpenVINOElementsReduction = "none",
    use_init_val: bool | np.bool = True,
    version: Literal[3, 12] = 12,
) -> NDArray[Any]: ...
@overload
def scatter_elements_update(
    data: LazyT,
    indices: LazyT | IntegerArray | Integers,
    updates: LazyT | NDArray[Any] | Values,
    axis: _Axis,
    reduction: OpenVINOElementsReduction = "none",
    use_init_val: bool | np.bool = True,
    version: Literal[3, 12] = 12,
) -> LazyT: ...
@overload
def scatter_elements_update(
    data: NDArray[Any],
    indices: LazyT,
    updates: LazyT | NDArray[Any] | Values,
    axis: _Axis,
    reduction: OpenVINOElementsReduction = "none",
    use_init_val: bool | np.bool = True,
    version: Literal[3, 12] = 12,
) -> LazyT: ...
@overload
def scatter_elements_update(
    data: NDArray[Any],
    indices: IntegerArray | Integers,
    updates: LazyT,
    axis: _Axis,
    reduction: OpenVINOElementsReduction = "none",
    use_init_val: bool | np.bool = True,
    version: Literal[3, 12] = 12,
) -> LazyT: ...
@overload
def scatter_elements_update(
    data: ArrayT,
    indices: ArrayT | Integers,
    updates: ArrayT | Values,
    axis: _Axis,
    reduction: OpenVINOElementsReduction = "none",
    use_init_val: bool | np.bool = True,
    version: Literal[3, 12] = 12,
) -> ArrayT: ...
@overload
def scatter_update(
    data: NDArray[ScalarT], indices: IntegerArray | Integers | Integer, updates: NDArray[Any] | Values, axis: _Axis
) -> NDArray[ScalarT]: ...
@overload
def scatter_update(
    data: Nested[Any], indices: IntegerArray | Integers | Integer, updates: NDArray[Any] | Values, axis: _Axis
) -> NDArray[Any]: ...
@overload
def scatter_update(
    data: LazyT, indices: LazyT | IntegerArray | Integers | Integer, updates: LazyT | NDArray[Any] | Values, axis: _Axis
) -> LazyT: ...
@overload
def scatter_update(
    data: NDArray[Any], indices: LazyT, updates: LazyT | NDArray[Any] | Values, axis: _Axis
) -> LazyT: ...
@overload
def scatter_update(data: NDArray[Any], indices: IntegerArray | Integers, updates: LazyT, axis: _Axis) -> LazyT: ...
@overload
def scatter_update(
    data: ArrayT, indices: ArrayT | Integers | Integer, updates: ArrayT | Values, axis: _Axis
) -> ArrayT: ...
@overload
def slice_scatter(
    data: NDArray[ScalarT],
    updates: NDArray[Any] | Values,
    start: _Integers,
    stop: _Integers,
    step: _Integers,
    axes: _Integers | None = None,
) -> NDArray[ScalarT]: ...
@overload
def slice_scatter(
    data: Nested[Any],
    updates: NDArray[Any] | Values,
    start: _Integers,
    stop: _Integers,
    step: _Integers,
    axes: _Integers | None = None,
) -> NDArray[Any]: ...
@overload
def slice_scatter(
    data: LazyT,
    updates: LazyT | NDArray[Any] | Values,
    start: _Integers,
    stop: _Integers,
    step: _Integers,
    axes: _Integers | None = None,
) -> LazyT: ...
@overload
def slice_scatter(
    data: NDArray[Any],
    updates: LazyT,
    start: _Integers,
    stop: _Integers,
    step: _Integers,
    axes: _Integers | None = None,
) -> LazyT: ...
@overload
def slice_scatter(
    data: ArrayT,
    updates: ArrayT | Values,
    start: _Integers,
    stop: _Integers,
    step: _Integers,
    axes: _Integers | None = None,
) -> ArrayT: ...
@overload
def segment_max(
    data: NDArray[ScalarT],
    segment_ids: IntegerArray | Integers,
    num_segments: IntLike | None = None,
    fill_mode: OpenVINOFillMode | None = None,
) -> NDArray[ScalarT]: ...
@overload
def segment_max(
    data: Nested[Any],
    segment_ids: IntegerArray | Integers,
    num_segments: IntLike | None = None,
    fill_mode: OpenVINOFillMode | None = None,
) -> NDArray[Any]: ...
@overload
def segment_max(
    data: LazyT,
    segment_ids: LazyT | IntegerArray | Integers,
    num_segments: IntLike | None = None,
    fill_mode: OpenVINOFillMode | None = None,
) -> LazyT: ...
@overload
def segment_max(
    data: NDArray[Any],
    segment_ids: LazyT,
    num_segments: IntLike | None = None,
    fill_mode: OpenVINOFillMode | None = None,
) -> LazyT: ...
@overload
def segment_max(
    data: ArrayT,
    segment_ids: ArrayT | Integers,
    num_segments: IntLike | None = None,
    fill_mode: OpenVINOFillMode | None = None,
) -> ArrayT: ...
@overload
def embedding_bag_offsets(
    emb_table: NDArray[ScalarT],
    indices: IntegerArray | Integers,
    offsets: IntegerArray | Integers,
    default_index: IntLike | None = None,
    per_sample_weights: NDArray[Any] | Values | None = None,
    reduction: OpenVINOBagReduction = "sum",
) -> NDArray[ScalarT]: ...
@overload
def embedding_bag_offsets(
    emb_table: Nested[Any],
    indices: IntegerArray | Integers,
    offsets: IntegerArray | Integers,
    default_index: IntLike | None = None,
    per_sample_weights: NDArray[Any] | Values | None = None,
    reduction: OpenVINOBagReduction = "sum",
) -> NDArray[Any]: ...
@overload
def embedding_bag_offsets(
    emb_table: LazyT,
    indices: LazyT | IntegerArray | Integers,
    offsets: LazyT | IntegerArray | Integers,
    default_index: IntLike | None = None,
    per_sample_weights: LazyT | NDArray[Any] | Values | None = None,
    reduction: OpenVINOBagReduction = "sum",
) -> LazyT: ...
@overload
def embedding_bag_offsets(
    emb_table: NDArray[Any],
    indices: LazyT,
    offsets: LazyT | IntegerArray | Integers,
    default_index: IntLike | None = None,
    per_sample_weights: LazyT | NDArray[Any] | Values | None = None,
    reduction: OpenVINOBagReduction = "sum",
) -> LazyT: ...
@overload
def embedding_bag_offsets(
    emb_table: ArrayT,
    indices: ArrayT | Integers,
    offsets: ArrayT | Integers,
    default_index: IntLike | None = None,
    per_sample_weights: ArrayT | Values | None = None,
    reduction: OpenVINOBagReduction = "sum",
) -> ArrayT: ...
@overload
def embedding_segments_sum(
    emb_table: NDArray[ScalarT],
    indices: IntegerArray | Integers,
    segment_ids: IntegerArray | Integers,
    num_segments: IntLike | None = None,
    default_index: IntLike | None = None,
    per_sample_weights: NDArray[Any] | Values | None = None,
) -> NDArray[ScalarT]: ...
@overload
def embedding_segments_sum(
    emb_table: Nested[Any],
    indices: IntegerArray | Integers,
    segment_ids: IntegerArray | Integers,
    num_segments: IntLike | None = None,
    default_index: IntLike | None = None,
    per_sample_weights: NDArray[Any] | Values | None = None,
) -> NDArray[Any]: ...
@overload
def embedding_segments_sum(
    emb_table: LazyT,
    indices: LazyT | IntegerArray | Integers,
    segment_ids: LazyT | IntegerArray | Integers,
    num_segments: IntLike | None = None,
    default_index: IntLike | None = None,
    per_sample_weights: LazyT | NDArray[Any] | Values | None = None,
) -> LazyT: ...
@overload
def embedding_segments_sum(
    emb_table: NDArray[Any],
    indices: LazyT,
    segment_ids: LazyT | IntegerArray | Integers,
    num_segments: IntLike | None = None,
    default_index: IntLike | None = None,
    per_sample_weights: LazyT | NDArray[Any] | Values | None = None,
) -> LazyT: ...
@overload
def embedding_segments_sum(
    emb_table: ArrayT,
    indices: ArrayT | Integers,
    segment_ids: ArrayT | Integers,
    num_segments: IntLike | None = None,
    default_index: IntLike | None = None,
    per_sample_weights: ArrayT | Values | None = None,
) -> ArrayT: ...
@overload
def embedding_bag_packed(
    emb_table: NDArray[ScalarT],
    indices: IntegerArray | Integers,
    per_sample_weights: NDArray[Any] | Values | None = None,
    reduction: OpenVINOBagReduction = "sum",
) -> NDArray[ScalarT]: ...
@overload
def embedding_bag_packed(
    emb_table: Nested[Any],
    indices: IntegerArray | Integers,
    per_sample_weights: NDArray[Any] | Values | None = None,
    reduction: OpenVINOBagReduction = "sum",
) -> NDArray[Any]: ...
@overload
def embedding_bag_packed(
    emb_table: LazyT,
    indices: LazyT | IntegerArray | Integers,
    per_sample_weights: LazyT | NDArray[Any] | Values | None = None,
    reduction: OpenVINOBagReduction = "sum",
) -> LazyT: ...
@overload
def embedding_bag_packed(
    emb_table: NDArray[Any],
    indices: LazyT,
    per_sample_weights: LazyT | NDArray[Any] | Values | None = None,
    reduction: OpenVINOBagReduction = "sum",
) -> LazyT: ...
@overload
def embedding_bag_packed(
    emb_table: ArrayT,
    indices: ArrayT | Integers,
    per_sample_weights: ArrayT | Values | None = None,
    reduction: OpenVINOBagReduction = "sum",
) -> ArrayT: ...
