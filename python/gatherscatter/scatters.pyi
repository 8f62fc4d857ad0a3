"""Overloads of the public scatter functions: the types of the arguments determine the type of the result."""

from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from gatherscatter._typing import (
    ArrayT,
    Integer,
    IntegerArray,
    Integers,
    IntLike,
    LazyArray,
    LazyT,
    Nested,
    Reduction,
    ScalarT,
    ScatterMode,
    Values,
)

__all__ = ["scatter", "scatter_elements", "scatter_nd"]

@overload
def scatter(
    data: NDArray[ScalarT],
    indices: IntegerArray | Integers | Integer | LazyArray,
    updates: NDArray[Any] | Values | LazyArray,
    *,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    wrap_negative_indices: bool | np.bool = True,
    accumulate_dtype: object = None,
    out: NDArray[Any] | None = None,
) -> NDArray[ScalarT]: ...
@overload
def scatter(
    data: Nested[Any],
    indices: IntegerArray | Integers | Integer,
    updates: NDArray[Any] | Values,
    *,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    wrap_negative_indices: bool | np.bool = True,
    accumulate_dtype: object = None,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]: ...
@overload
def scatter(
    data: LazyT,
    indices: LazyT | IntegerArray | Integers | Integer,
    updates: LazyT | NDArray[Any] | Values,
    *,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    wrap_negative_indices: bool | np.bool = True,
    accumulate_dtype: object = None,
    out: LazyT | None = None,
) -> LazyT: ...
@overload
def scatter(
    data: ArrayT,
    indices: ArrayT | Integers | Integer,
    updates: ArrayT | Values,
    *,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    wrap_negative_indices: bool | np.bool = True,
    accumulate_dtype: object = None,
    out: ArrayT | None = None,
) -> ArrayT: ...
@overload
def scatter_nd(
    data: NDArray[ScalarT],
    indices: IntegerArray | Integers | LazyArray,
    updates: NDArray[Any] | Values | LazyArray,
    *,
    batch_dims: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    wrap_negative_indices: bool | np.bool = True,
    accumulate_dtype: object = None,
    out: NDArray[Any] | None = None,
) -> NDArray[ScalarT]: ...
@overload
def scatter_nd(
    data: Values,
    indices: IntegerArray | Integers,
    updates: NDArray[Any] | Values,
    *,
    batch_dims: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    wrap_negative_indices: bool | np.bool = True,
    accumulate_dtype: object = None,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]: ...
@overload
def scatter_nd(
    data: LazyT,
    indices: LazyT | IntegerArray | Integers,
    updates: LazyT | NDArray[Any] | Values,
    *,
    batch_dims: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    wrap_negative_indices: bool | np.bool = True,
    accumulate_dtype: object = None,
    out: LazyT | None = None,
) -> LazyT: ...
@overload
def scatter_nd(
    data: ArrayT,
    indices: ArrayT | Integers,
    updates: ArrayT | Values,
    *,
    batch_dims: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    wrap_negative_indices: bool | np.bool = True,
    accumulate_dtype: object = None,
    out: ArrayT | None = None,
) -> ArrayT: ...
@overload
def scatter_elements(
    data: NDArray[ScalarT],
    indices: IntegerArray | Integers | LazyArray,
    updates: NDArray[Any] | Values | LazyArray,
    *,
    axis: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    wrap_negative_indices: bool | np.bool = True,
    accumulate_dtype: object = None,
    out: NDArray[Any] | None = None,
) -> NDArray[ScalarT]: ...
@overload
def scatter_elements(
    data: Nested[Any],
    indices: IntegerArray | Integers,
    updates: NDArray[Any] | Values,
    *,
    axis: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    wrap_negative_indices: bool | np.bool = True,
    accumulate_dtype: object = None,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]: ...
@overload
def scatter_elements(
    data: LazyT,
    indices: LazyT | IntegerArray | Integers,
    updates: LazyT | NDArray[Any] | Values,
    *,
    axis: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    wrap_negative_indices: bool | np.bool = True,
    accumulate_dtype: object = None,
    out: LazyT | None = None,
) -> LazyT: ...
@overload
def scatter_elements(
    data: ArrayT,
    indices: ArrayT | Integers,
    updates: ArrayT | Values,
    *,
    axis: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    wrap_negative_indices: bool | np.bool = True,
    accumulate_dtype: object = None,
    out: ArrayT | None = None,
) -> ArrayT: ...
