"""Overloads of `gather_scatter`: the types of the arguments determine the type of the result."""

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
)
from gatherscatter.prepared.indices import Prepared

__all__ = ["gather_scatter"]

@overload
def gather_scatter(
    data: NDArray[ScalarT],
    indices: IntegerArray | Integers | Integer | Prepared | LazyArray,
    source: NDArray[ScalarT] | Nested[Any] | LazyArray,
    source_indices: IntegerArray | Integers | Integer | Prepared | LazyArray,
    *,
    weights: Any = None,
    axis: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    wrap_negative_indices: bool | np.bool = True,
    out: NDArray[Any] | None = None,
) -> NDArray[ScalarT]: ...
@overload
def gather_scatter(
    data: Nested[Any],
    indices: IntegerArray | Integers | Integer | Prepared,
    source: NDArray[Any] | Nested[Any],
    source_indices: IntegerArray | Integers | Integer | Prepared,
    *,
    weights: Any = None,
    axis: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    wrap_negative_indices: bool | np.bool = True,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]: ...
@overload
def gather_scatter(
    data: LazyT,
    indices: LazyT | IntegerArray | Integers | Integer | Prepared,
    source: LazyT | NDArray[Any] | Nested[Any],
    source_indices: LazyT | IntegerArray | Integers | Integer | Prepared,
    *,
    weights: Any = None,
    axis: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    wrap_negative_indices: bool | np.bool = True,
    out: LazyT | None = None,
) -> LazyT: ...
@overload
def gather_scatter(
    data: ArrayT,
    indices: ArrayT | Integers | Integer | Prepared,
    source: ArrayT | Nested[Any],
    source_indices: ArrayT | Integers | Integer | Prepared,
    *,
    weights: Any = None,
    axis: IntLike = 0,
    reduction: Reduction = "none",
    include_self: bool | np.bool = True,
    mode: ScatterMode = "raise",
    wrap_negative_indices: bool | np.bool = True,
    out: ArrayT | None = None,
) -> ArrayT: ...
