"""Overloads of the functions: the types of the arguments determine the type of the result."""

from typing import Any, TypeAlias, overload

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
    ScalarT,
    TensorFlowPolicy,
    Values,
)

__all__ = [
    "gather",
    "gather_nd",
    "scatter_nd",
    "tensor_scatter_nd_add",
    "tensor_scatter_nd_max",
    "tensor_scatter_nd_min",
    "tensor_scatter_nd_sub",
    "tensor_scatter_nd_update",
]

_Shape: TypeAlias = Integers | IntegerArray | Array

@overload
def gather_nd(
    params: NDArray[ScalarT],
    indices: IntegerArray | Integers,
    batch_dims: IntLike = 0,
    name: object = None,
    bad_indices_policy: TensorFlowPolicy = "",
) -> NDArray[ScalarT]: ...
@overload
def gather_nd(
    params: Values,
    indices: IntegerArray | Integers,
    batch_dims: IntLike = 0,
    name: object = None,
    bad_indices_policy: TensorFlowPolicy = "",
) -> NDArray[Any]: ...
@overload
def gather_nd(
    params: LazyT,
    indices: LazyT | IntegerArray,
    batch_dims: IntLike = 0,
    name: object = None,
    bad_indices_policy: TensorFlowPolicy = "",
) -> LazyT: ...
@overload
def gather_nd(
    params: NDArray[Any],
    indices: LazyT,
    batch_dims: IntLike = 0,
    name: object = None,
    bad_indices_policy: TensorFlowPolicy = "",
) -> LazyT: ...
@overload
def gather_nd(
    params: ArrayT,
    indices: ArrayT | Integers,
    batch_dims: IntLike = 0,
    name: object = None,
    bad_indices_policy: TensorFlowPolicy = "",
) -> ArrayT: ...
@overload
def gather(
    params: NDArray[ScalarT],
    indices: IntegerArray | Integers | Integer,
    validate_indices: object = None,
    axis: IntLike | None = None,
    batch_dims: IntLike | None = 0,
    name: object = None,
) -> NDArray[ScalarT]: ...
@overload
def gather(
    params: Nested[Any],
    indices: IntegerArray | Integers | Integer,
    validate_indices: object = None,
    axis: IntLike | None = None,
    batch_dims: IntLike | None = 0,
    name: object = None,
) -> NDArray[Any]: ...
@overload
def gather(
    params: LazyT,
    indices: LazyT | IntegerArray,
    validate_indices: object = None,
    axis: IntLike | None = None,
    batch_dims: IntLike | None = 0,
    name: object = None,
) -> LazyT: ...
@overload
def gather(
    params: NDArray[Any],
    indices: LazyT,
    validate_indices: object = None,
    axis: IntLike | None = None,
    batch_dims: IntLike | None = 0,
    name: object = None,
) -> LazyT: ...
@overload
def gather(
    params: ArrayT,
    indices: ArrayT | Integers | Integer,
    validate_indices: object = None,
    axis: IntLike | None = None,
    batch_dims: IntLike | None = 0,
    name: object = None,
) -> ArrayT: ...
@overload
def scatter_nd(
    indices: IntegerArray | Integers,
    updates: NDArray[ScalarT],
    shape: _Shape,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> NDArray[ScalarT]: ...
@overload
def scatter_nd(
    indices: IntegerArray | Integers,
    updates: Values,
    shape: _Shape,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> NDArray[Any]: ...
@overload
def scatter_nd(
    indices: LazyT | IntegerArray | Integers,
    updates: LazyT,
    shape: _Shape,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> LazyT: ...
@overload
def scatter_nd(
    indices: LazyT,
    updates: NDArray[Any] | Values,
    shape: _Shape,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> LazyT: ...
@overload
def scatter_nd(
    indices: ArrayT | Integers,
    updates: ArrayT,
    shape: _Shape,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> ArrayT: ...
@overload
def scatter_nd(
    indices: ArrayT, updates: Values, shape: _Shape, bad_indices_policy: TensorFlowPolicy = "", name: object = None
) -> ArrayT: ...
@overload
def tensor_scatter_nd_update(
    tensor: NDArray[ScalarT], indices: IntegerArray | Integers, updates: NDArray[Any] | Values, name: object = None
) -> NDArray[ScalarT]: ...
@overload
def tensor_scatter_nd_update(
    tensor: Values, indices: IntegerArray | Integers, updates: NDArray[Any] | Values, name: object = None
) -> NDArray[Any]: ...
@overload
def tensor_scatter_nd_update(
    tensor: LazyT, indices: LazyT | IntegerArray | Integers, updates: LazyT | NDArray[Any] | Values, name: object = None
) -> LazyT: ...
@overload
def tensor_scatter_nd_update(
    tensor: NDArray[Any], indices: LazyT, updates: LazyT | NDArray[Any] | Values, name: object = None
) -> LazyT: ...
@overload
def tensor_scatter_nd_update(
    tensor: NDArray[Any], indices: IntegerArray | Integers, updates: LazyT, name: object = None
) -> LazyT: ...
@overload
def tensor_scatter_nd_update(
    tensor: ArrayT, indices: ArrayT | Integers, updates: ArrayT | Values, name: object = None
) -> ArrayT: ...
@overload
def tensor_scatter_nd_add(
    tensor: NDArray[ScalarT],
    indices: IntegerArray | Integers,
    updates: NDArray[Any] | Values,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> NDArray[ScalarT]: ...
@overload
def tensor_scatter_nd_add(
    tensor: Values,
    indices: IntegerArray | Integers,
    updates: NDArray[Any] | Values,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> NDArray[Any]: ...
@overload
def tensor_scatter_nd_add(
    tensor: LazyT,
    indices: LazyT | IntegerArray | Integers,
    updates: LazyT | NDArray[Any] | Values,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> LazyT: ...
@overload
def tensor_scatter_nd_add(
    tensor: NDArray[Any],
    indices: LazyT,
    updates: LazyT | NDArray[Any] | Values,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> LazyT: ...
@overload
def tensor_scatter_nd_add(
    tensor: NDArray[Any],
    indices: IntegerArray | Integers,
    updates: LazyT,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> LazyT: ...
@overload
def tensor_scatter_nd_add(
    tensor: ArrayT,
    indices: ArrayT | Integers,
    updates: ArrayT | Values,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> ArrayT: ...
@overload
def tensor_scatter_nd_sub(
    tensor: NDArray[ScalarT],
    indices: IntegerArray | Integers,
    updates: NDArray[Any] | Values,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> NDArray[ScalarT]: ...
@overload
def tensor_scatter_nd_sub(
    tensor: Values,
    indices: IntegerArray | Integers,
    updates: NDArray[Any] | Values,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> NDArray[Any]: ...
@overload
def tensor_scatter_nd_sub(
    tensor: LazyT,
    indices: LazyT | IntegerArray | Integers,
    updates: LazyT | NDArray[Any] | Values,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> LazyT: ...
@overload
def tensor_scatter_nd_sub(
    tensor: NDArray[Any],
    indices: LazyT,
    updates: LazyT | NDArray[Any] | Values,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> LazyT: ...
@overload
def tensor_scatter_nd_sub(
    tensor: NDArray[Any],
    indices: IntegerArray | Integers,
    updates: LazyT,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> LazyT: ...
@overload
def tensor_scatter_nd_sub(
    tensor: ArrayT,
    indices: ArrayT | Integers,
    updates: ArrayT | Values,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> ArrayT: ...
@overload
def tensor_scatter_nd_max(
    tensor: NDArray[ScalarT],
    indices: IntegerArray | Integers,
    updates: NDArray[Any] | Values,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> NDArray[ScalarT]: ...
@overload
def tensor_scatter_nd_max(
    tensor: Values,
    indices: IntegerArray | Integers,
    updates: NDArray[Any] | Values,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> NDArray[Any]: ...
@overload
def tensor_scatter_nd_max(
    tensor: LazyT,
    indices: LazyT | IntegerArray | Integers,
    updates: LazyT | NDArray[Any] | Values,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> LazyT: ...
@overload
def tensor_scatter_nd_max(
    tensor: NDArray[Any],
    indices: LazyT,
    updates: LazyT | NDArray[Any] | Values,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> LazyT: ...
@overload
def tensor_scatter_nd_max(
    tensor: NDArray[Any],
    indices: IntegerArray | Integers,
    updates: LazyT,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> LazyT: ...
@overload
def tensor_scatter_nd_max(
    tensor: ArrayT,
    indices: ArrayT | Integers,
    updates: ArrayT | Values,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> ArrayT: ...
@overload
def tensor_scatter_nd_min(
    tensor: NDArray[ScalarT],
    indices: IntegerArray | Integers,
    updates: NDArray[Any] | Values,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> NDArray[ScalarT]: ...
@overload
def tensor_scatter_nd_min(
    tensor: Values,
    indices: IntegerArray | Integers,
    updates: NDArray[Any] | Values,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> NDArray[Any]: ...
@overload
def tensor_scatter_nd_min(
    tensor: LazyT,
    indices: LazyT | IntegerArray | Integers,
    updates: LazyT | NDArray[Any] | Values,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> LazyT: ...
@overload
def tensor_scatter_nd_min(
    tensor: NDArray[Any],
    indices: LazyT,
    updates: LazyT | NDArray[Any] | Values,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> LazyT: ...
@overload
def tensor_scatter_nd_min(
    tensor: NDArray[Any],
    indices: IntegerArray | Integers,
    updates: LazyT,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> LazyT: ...
@overload
def tensor_scatter_nd_min(
    tensor: ArrayT,
    indices: ArrayT | Integers,
    updates: ArrayT | Values,
    bad_indices_policy: TensorFlowPolicy = "",
    name: object = None,
) -> ArrayT: ...
