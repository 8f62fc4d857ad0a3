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
    OpenVINOElementsReduction,
    OpenVINONDReduction,
    ScalarT,
    Values,
)

__all__ = ["gather", "gather_elements", "gather_nd", "scatter_elements_update", "scatter_nd_update"]

_Axis: TypeAlias = IntLike | Integers | IntegerArray | Array  # the last three of one element

@overload
def gather(
    data: NDArray[ScalarT],
    indices: IntegerArray | Integers | Integer,
    axis: _Axis,
    batch_dims: IntLike = 0,
    version: Literal[7, 8] = 8,
) -> NDArray[ScalarT]: ...
@overload
def gather(
    data: Nested[Any],
    indices: IntegerArray | Integers | Integer,
    axis: _Axis,
    batch_dims: IntLike = 0,
    version: Literal[7, 8] = 8,
) -> NDArray[Any]: ...
@overload
def gather(
    data: LazyT, indices: LazyT | IntegerArray, axis: _Axis, batch_dims: IntLike = 0, version: Literal[7, 8] = 8
) -> LazyT: ...
@overload
def gather(
    data: NDArray[Any], indices: LazyT, axis: _Axis, batch_dims: IntLike = 0, version: Literal[7, 8] = 8
) -> LazyT: ...
@overload
def gather(
    data: ArrayT, indices: ArrayT | Integers | Integer, axis: _Axis, batch_dims: IntLike = 0, version: Literal[7, 8] = 8
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
