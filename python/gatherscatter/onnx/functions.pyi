"""Overloads of the functions: the types of the arguments determine the type of the result."""

from typing import Any, Literal, overload

from numpy.typing import NDArray

from gatherscatter._typing import (
    ArrayT,
    Integer,
    IntegerArray,
    Integers,
    IntLike,
    LazyT,
    Nested,
    ONNXReduction,
    ScalarT,
    Values,
)

__all__ = [
    "gather",
    "gather_elements",
    "gather_nd",
    "scatter",
    "scatter_elements",
    "scatter_nd",
    "tensor_scatter",
]

@overload
def gather(
    data: NDArray[ScalarT],
    indices: IntegerArray | Integers | Integer,
    *,
    axis: IntLike = 0,
    opset: IntLike | None = None,
) -> NDArray[ScalarT]: ...
@overload
def gather(
    data: Nested[Any], indices: IntegerArray | Integers | Integer, *, axis: IntLike = 0, opset: IntLike | None = None
) -> NDArray[Any]: ...
@overload
def gather(data: LazyT, indices: LazyT | IntegerArray, *, axis: IntLike = 0, opset: IntLike | None = None) -> LazyT: ...
@overload
def gather(data: NDArray[Any], indices: LazyT, *, axis: IntLike = 0, opset: IntLike | None = None) -> LazyT: ...
@overload
def gather(
    data: ArrayT, indices: ArrayT | Integers | Integer, *, axis: IntLike = 0, opset: IntLike | None = None
) -> ArrayT: ...
@overload
def gather_elements(
    data: NDArray[ScalarT], indices: IntegerArray | Integers, *, axis: IntLike = 0, opset: IntLike | None = None
) -> NDArray[ScalarT]: ...
@overload
def gather_elements(
    data: Nested[Any], indices: IntegerArray | Integers, *, axis: IntLike = 0, opset: IntLike | None = None
) -> NDArray[Any]: ...
@overload
def gather_elements(
    data: LazyT, indices: LazyT | IntegerArray, *, axis: IntLike = 0, opset: IntLike | None = None
) -> LazyT: ...
@overload
def gather_elements(
    data: NDArray[Any], indices: LazyT, *, axis: IntLike = 0, opset: IntLike | None = None
) -> LazyT: ...
@overload
def gather_elements(
    data: ArrayT, indices: ArrayT | Integers, *, axis: IntLike = 0, opset: IntLike | None = None
) -> ArrayT: ...
@overload
def gather_nd(
    data: NDArray[ScalarT], indices: IntegerArray | Integers, *, batch_dims: IntLike = 0, opset: IntLike | None = None
) -> NDArray[ScalarT]: ...
@overload
def gather_nd(
    data: Nested[Any], indices: IntegerArray | Integers, *, batch_dims: IntLike = 0, opset: IntLike | None = None
) -> NDArray[Any]: ...
@overload
def gather_nd(
    data: LazyT, indices: LazyT | IntegerArray, *, batch_dims: IntLike = 0, opset: IntLike | None = None
) -> LazyT: ...
@overload
def gather_nd(
    data: NDArray[Any], indices: LazyT, *, batch_dims: IntLike = 0, opset: IntLike | None = None
) -> LazyT: ...
@overload
def gather_nd(
    data: ArrayT, indices: ArrayT | Integers, *, batch_dims: IntLike = 0, opset: IntLike | None = None
) -> ArrayT: ...
@overload
def scatter_elements(
    data: NDArray[ScalarT],
    indices: IntegerArray | Integers,
    updates: NDArray[Any] | Values,
    *,
    axis: IntLike = 0,
    reduction: ONNXReduction = "none",
    opset: IntLike | None = None,
) -> NDArray[ScalarT]: ...
@overload
def scatter_elements(
    data: Nested[Any],
    indices: IntegerArray | Integers,
    updates: NDArray[Any] | Values,
    *,
    axis: IntLike = 0,
    reduction: ONNXReduction = "none",
    opset: IntLike | None = None,
) -> NDArray[Any]: ...
@overload
def scatter_elements(
    data: LazyT,
    indices: LazyT | IntegerArray | Integers,
    updates: LazyT | NDArray[Any] | Values,
    *,
    axis: IntLike = 0,
    reduction: ONNXReduction = "none",
    opset: IntLike | None = None,
) -> LazyT: ...
@overload
def scatter_elements(
    data: NDArray[Any],
    indices: LazyT,
    updates: LazyT | NDArray[Any] | Values,
    *,
    axis: IntLike = 0,
    reduction: ONNXReduction = "none",
    opset: IntLike | None = None,
) -> LazyT: ...
@overload
def scatter_elements(
    data: NDArray[Any],
    indices: IntegerArray | Integers,
    updates: LazyT,
    *,
    axis: IntLike = 0,
    reduction: ONNXReduction = "none",
    opset: IntLike | None = None,
) -> LazyT: ...
@overload
def scatter_elements(
    data: ArrayT,
    indices: ArrayT | Integers,
    updates: ArrayT | Values,
    *,
    axis: IntLike = 0,
    reduction: ONNXReduction = "none",
    opset: IntLike | None = None,
) -> ArrayT: ...
@overload
def scatter(
    data: NDArray[ScalarT],
    indices: IntegerArray | Integers,
    updates: NDArray[Any] | Values,
    *,
    axis: IntLike = 0,
    opset: IntLike = 9,
) -> NDArray[ScalarT]: ...
@overload
def scatter(
    data: Nested[Any],
    indices: IntegerArray | Integers,
    updates: NDArray[Any] | Values,
    *,
    axis: IntLike = 0,
    opset: IntLike = 9,
) -> NDArray[Any]: ...
@overload
def scatter(
    data: LazyT,
    indices: LazyT | IntegerArray | Integers,
    updates: LazyT | NDArray[Any] | Values,
    *,
    axis: IntLike = 0,
    opset: IntLike = 9,
) -> LazyT: ...
@overload
def scatter(
    data: NDArray[Any], indices: LazyT, updates: LazyT | NDArray[Any] | Values, *, axis: IntLike = 0, opset: IntLike = 9
) -> LazyT: ...
@overload
def scatter(
    data: NDArray[Any], indices: IntegerArray | Integers, updates: LazyT, *, axis: IntLike = 0, opset: IntLike = 9
) -> LazyT: ...
@overload
def scatter(
    data: ArrayT, indices: ArrayT | Integers, updates: ArrayT | Values, *, axis: IntLike = 0, opset: IntLike = 9
) -> ArrayT: ...
@overload
def scatter_nd(
    data: NDArray[ScalarT],
    indices: IntegerArray | Integers,
    updates: NDArray[Any] | Values,
    *,
    reduction: ONNXReduction = "none",
    opset: IntLike | None = None,
) -> NDArray[ScalarT]: ...
@overload
def scatter_nd(
    data: Nested[Any],
    indices: IntegerArray | Integers,
    updates: NDArray[Any] | Values,
    *,
    reduction: ONNXReduction = "none",
    opset: IntLike | None = None,
) -> NDArray[Any]: ...
@overload
def scatter_nd(
    data: LazyT,
    indices: LazyT | IntegerArray | Integers,
    updates: LazyT | NDArray[Any] | Values,
    *,
    reduction: ONNXReduction = "none",
    opset: IntLike | None = None,
) -> LazyT: ...
@overload
def scatter_nd(
    data: NDArray[Any],
    indices: LazyT,
    updates: LazyT | NDArray[Any] | Values,
    *,
    reduction: ONNXReduction = "none",
    opset: IntLike | None = None,
) -> LazyT: ...
@overload
def scatter_nd(
    data: NDArray[Any],
    indices: IntegerArray | Integers,
    updates: LazyT,
    *,
    reduction: ONNXReduction = "none",
    opset: IntLike | None = None,
) -> LazyT: ...
@overload
def scatter_nd(
    data: ArrayT,
    indices: ArrayT | Integers,
    updates: ArrayT | Values,
    *,
    reduction: ONNXReduction = "none",
    opset: IntLike | None = None,
) -> ArrayT: ...
@overload
def tensor_scatter(
    past_cache: NDArray[ScalarT],
    update: NDArray[Any] | Nested[Any],
    write_indices: IntegerArray | Integers | None = None,
    *,
    axis: IntLike = -2,
    mode: Literal["linear", "circular"] = "linear",
    opset: IntLike | None = None,
    out: NDArray[Any] | None = None,
) -> NDArray[ScalarT]: ...
@overload
def tensor_scatter(
    past_cache: Nested[Any],
    update: NDArray[Any] | Nested[Any],
    write_indices: IntegerArray | Integers | None = None,
    *,
    axis: IntLike = -2,
    mode: Literal["linear", "circular"] = "linear",
    opset: IntLike | None = None,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]: ...
@overload
def tensor_scatter(
    past_cache: LazyT,
    update: LazyT | NDArray[Any] | Nested[Any],
    write_indices: LazyT | IntegerArray | Integers | None = None,
    *,
    axis: IntLike = -2,
    mode: Literal["linear", "circular"] = "linear",
    opset: IntLike | None = None,
    out: LazyT | None = None,
) -> LazyT: ...
@overload
def tensor_scatter(
    past_cache: NDArray[Any],
    update: LazyT,
    write_indices: LazyT | IntegerArray | Integers | None = None,
    *,
    axis: IntLike = -2,
    mode: Literal["linear", "circular"] = "linear",
    opset: IntLike | None = None,
    out: LazyT | None = None,
) -> LazyT: ...
@overload
def tensor_scatter(
    past_cache: ArrayT,
    update: ArrayT | Nested[Any],
    write_indices: ArrayT | Integers | None = None,
    *,
    axis: IntLike = -2,
    mode: Literal["linear", "circular"] = "linear",
    opset: IntLike | None = None,
    out: ArrayT | None = None,
) -> ArrayT: ...
