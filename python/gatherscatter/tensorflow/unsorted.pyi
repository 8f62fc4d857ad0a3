"""Overloads of the functions: the types of the arguments determine the type of the result."""

from typing import Any, overload

from numpy.typing import NDArray

from gatherscatter._typing import ArrayT, Integer, IntegerArray, Integers, IntLike, LazyT, ScalarT, Values

__all__ = [
    "unsorted_segment_max",
    "unsorted_segment_mean",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sqrt_n",
    "unsorted_segment_sum",
]

@overload
def unsorted_segment_max(
    data: NDArray[ScalarT], segment_ids: IntegerArray | Integers | Integer, num_segments: IntLike, name: object = None
) -> NDArray[ScalarT]: ...
@overload
def unsorted_segment_max(
    data: Values, segment_ids: IntegerArray | Integers | Integer, num_segments: IntLike, name: object = None
) -> NDArray[Any]: ...
@overload
def unsorted_segment_max(
    data: LazyT, segment_ids: LazyT | IntegerArray | Integers, num_segments: IntLike, name: object = None
) -> LazyT: ...
@overload
def unsorted_segment_max(
    data: NDArray[Any], segment_ids: LazyT, num_segments: IntLike, name: object = None
) -> LazyT: ...
@overload
def unsorted_segment_max(
    data: ArrayT, segment_ids: ArrayT | Integers, num_segments: IntLike, name: object = None
) -> ArrayT: ...
@overload
def unsorted_segment_mean(
    data: NDArray[Any], segment_ids: IntegerArray | Integers | Integer, num_segments: IntLike, name: object = None
) -> NDArray[Any]: ...
@overload
def unsorted_segment_mean(
    data: Values, segment_ids: IntegerArray | Integers | Integer, num_segments: IntLike, name: object = None
) -> NDArray[Any]: ...
@overload
def unsorted_segment_mean(
    data: LazyT, segment_ids: LazyT | IntegerArray | Integers, num_segments: IntLike, name: object = None
) -> LazyT: ...
@overload
def unsorted_segment_mean(
    data: NDArray[Any], segment_ids: LazyT, num_segments: IntLike, name: object = None
) -> LazyT: ...
@overload
def unsorted_segment_mean(
    data: ArrayT, segment_ids: ArrayT | Integers, num_segments: IntLike, name: object = None
) -> ArrayT: ...
@overload
def unsorted_segment_min(
    data: NDArray[ScalarT], segment_ids: IntegerArray | Integers | Integer, num_segments: IntLike, name: object = None
) -> NDArray[ScalarT]: ...
@overload
def unsorted_segment_min(
    data: Values, segment_ids: IntegerArray | Integers | Integer, num_segments: IntLike, name: object = None
) -> NDArray[Any]: ...
@overload
def unsorted_segment_min(
    data: LazyT, segment_ids: LazyT | IntegerArray | Integers, num_segments: IntLike, name: object = None
) -> LazyT: ...
@overload
def unsorted_segment_min(
    data: NDArray[Any], segment_ids: LazyT, num_segments: IntLike, name: object = None
) -> LazyT: ...
@overload
def unsorted_segment_min(
    data: ArrayT, segment_ids: ArrayT | Integers, num_segments: IntLike, name: object = None
) -> ArrayT: ...
@overload
def unsorted_segment_prod(
    data: NDArray[ScalarT], segment_ids: IntegerArray | Integers | Integer, num_segments: IntLike, name: object = None
) -> NDArray[ScalarT]: ...
@overload
def unsorted_segment_prod(
    data: Values, segment_ids: IntegerArray | Integers | Integer, num_segments: IntLike, name: object = None
) -> NDArray[Any]: ...
@overload
def unsorted_segment_prod(
    data: LazyT, segment_ids: LazyT | IntegerArray | Integers, num_segments: IntLike, name: object = None
) -> LazyT: ...
@overload
def unsorted_segment_prod(
    data: NDArray[Any], segment_ids: LazyT, num_segments: IntLike, name: object = None
) -> LazyT: ...
@overload
def unsorted_segment_prod(
    data: ArrayT, segment_ids: ArrayT | Integers, num_segments: IntLike, name: object = None
) -> ArrayT: ...
@overload
def unsorted_segment_sqrt_n(
    data: NDArray[ScalarT], segment_ids: IntegerArray | Integers | Integer, num_segments: IntLike, name: object = None
) -> NDArray[ScalarT]: ...
@overload
def unsorted_segment_sqrt_n(
    data: Values, segment_ids: IntegerArray | Integers | Integer, num_segments: IntLike, name: object = None
) -> NDArray[Any]: ...
@overload
def unsorted_segment_sqrt_n(
    data: LazyT, segment_ids: LazyT | IntegerArray | Integers, num_segments: IntLike, name: object = None
) -> LazyT: ...
@overload
def unsorted_segment_sqrt_n(
    data: NDArray[Any], segment_ids: LazyT, num_segments: IntLike, name: object = None
) -> LazyT: ...
@overload
def unsorted_segment_sqrt_n(
    data: ArrayT, segment_ids: ArrayT | Integers, num_segments: IntLike, name: object = None
) -> ArrayT: ...
@overload
def unsorted_segment_sum(
    data: NDArray[ScalarT], segment_ids: IntegerArray | Integers | Integer, num_segments: IntLike, name: object = None
) -> NDArray[ScalarT]: ...
@overload
def unsorted_segment_sum(
    data: Values, segment_ids: IntegerArray | Integers | Integer, num_segments: IntLike, name: object = None
) -> NDArray[Any]: ...
@overload
def unsorted_segment_sum(
    data: LazyT, segment_ids: LazyT | IntegerArray | Integers, num_segments: IntLike, name: object = None
) -> LazyT: ...
@overload
def unsorted_segment_sum(
    data: NDArray[Any], segment_ids: LazyT, num_segments: IntLike, name: object = None
) -> LazyT: ...
@overload
def unsorted_segment_sum(
    data: ArrayT, segment_ids: ArrayT | Integers, num_segments: IntLike, name: object = None
) -> ArrayT: ...
