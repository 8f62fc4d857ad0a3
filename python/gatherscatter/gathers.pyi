"""Overloads of the public gather functions: the types of the arguments determine the type of the result."""

from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from gatherscatter._typing import (
    ArrayT,
    GatherMode,
    Integer,
    IntegerArray,
    Integers,
    IntLike,
    LazyArray,
    LazyT,
    Nested,
    ScalarT,
    Values,
)

__all__ = ["gather", "gather_elements", "gather_nd"]

@overload
def gather(
    data: NDArray[ScalarT],
    indices: IntegerArray | Integers | Integer | LazyArray,
    *,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    wrap_negative_indices: bool | np.bool = True,
    out: NDArray[Any] | None = None,
) -> NDArray[ScalarT]: ...
@overload
def gather(
    data: Nested[Any],
    indices: IntegerArray | Integers | Integer,
    *,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    wrap_negative_indices: bool | np.bool = True,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]: ...
@overload
def gather(
    data: LazyT,
    indices: LazyT | IntegerArray,
    *,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    wrap_negative_indices: bool | np.bool = True,
    out: LazyT | None = None,
) -> LazyT: ...
@overload
def gather(
    data: ArrayT,
    indices: ArrayT | Integers | Integer,
    *,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    wrap_negative_indices: bool | np.bool = True,
    out: ArrayT | None = None,
) -> ArrayT: ...
@overload
def gather(
    data: Nested[Any],
    indices: ArrayT,
    *,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    wrap_negative_indices: bool | np.bool = True,
    out: ArrayT | None = None,
) -> ArrayT: ...
@overload
def gather_nd(
    data: NDArray[ScalarT],
    indices: IntegerArray | Integers | LazyArray,
    *,
    batch_dims: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    wrap_negative_indices: bool | np.bool = True,
    out: NDArray[Any] | None = None,
) -> NDArray[ScalarT]: ...
@overload
def gather_nd(
    data: Values,
    indices: IntegerArray | Integers,
    *,
    batch_dims: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    wrap_negative_indices: bool | np.bool = True,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]: ...
@overload
def gather_nd(
    data: LazyT,
    indices: LazyT | IntegerArray,
    *,
    batch_dims: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    wrap_negative_indices: bool | np.bool = True,
    out: LazyT | None = None,
) -> LazyT: ...
@overload
def gather_nd(
    data: ArrayT,
    indices: ArrayT | Integers,
    *,
    batch_dims: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    wrap_negative_indices: bool | np.bool = True,
    out: ArrayT | None = None,
) -> ArrayT: ...
@overload
def gather_nd(
    data: Values,
    indices: ArrayT,
    *,
    batch_dims: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    wrap_negative_indices: bool | np.bool = True,
    out: ArrayT | None = None,
) -> ArrayT: ...
@overload
def gather_elements(
    data: NDArray[ScalarT],
    indices: IntegerArray | Integers | LazyArray,
    *,
    axis: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    wrap_negative_indices: bool | np.bool = True,
    out: NDArray[Any] | None = None,
) -> NDArray[ScalarT]: ...
@overload
def gather_elements(
    data: Nested[Any],
    indices: IntegerArray | Integers,
    *,
    axis: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    wrap_negative_indices: bool | np.bool = True,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]: ...
@overload
def gather_elements(
    data: LazyT,
    indices: LazyT | IntegerArray,
    *,
    axis: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    wrap_negative_indices: bool | np.bool = True,
    out: LazyT | None = None,
) -> LazyT: ...
@overload
def gather_elements(
    data: ArrayT,
    indices: ArrayT | Integers,
    *,
    axis: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    wrap_negative_indices: bool | np.bool = True,
    out: ArrayT | None = None,
) -> ArrayT: ...
@overload
def gather_elements(
    data: Nested[Any],
    indices: ArrayT,
    *,
    axis: IntLike = 0,
    mode: GatherMode = "raise",
    fill_value: object = 0,
    wrap_negative_indices: bool | np.bool = True,
    out: ArrayT | None = None,
) -> ArrayT: ...
