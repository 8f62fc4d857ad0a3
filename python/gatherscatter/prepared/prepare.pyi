"""Types of `prepare`: the type of data determines the type of every result."""

from collections.abc import Sequence
from typing import Any, Literal, Self, SupportsIndex, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gatherscatter._typing import (
    Array,
    ArrayT,
    GatherMode,
    Integer,
    IntegerArray,
    Integers,
    IntLike,
    Nested,
    Reduction,
    ScalarT,
    ScatterMode,
    Values,
)

__all__ = ["Prepared", "prepare"]

def prepare(
    operator: Literal["gather", "scatter", "gather_nd", "scatter_nd", "gather_elements", "scatter_elements"],
    shape: Sequence[SupportsIndex],
    indices: IntegerArray | Array | Integers | Integer,
    *,
    axis: IntLike | None = None,
    batch_dims: IntLike | None = None,
    mode: GatherMode | ScatterMode = "raise",
    wrap_negative_indices: bool | np.bool = True,
) -> Prepared: ...

class Prepared:
    def __init__(self) -> None: ...  # always an error
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _: Any) -> Self: ...
    @property
    def operator(self) -> str: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def counts(self) -> NDArray[np.int64]: ...
    @overload
    def gather(
        self, data: NDArray[ScalarT], *, fill_value: object = 0, out: NDArray[Any] | None = None
    ) -> NDArray[ScalarT]: ...
    @overload
    def gather(self, data: Nested[Any], *, fill_value: object = 0, out: NDArray[Any] | None = None) -> NDArray[Any]: ...
    @overload
    def gather(self, data: ArrayT, *, fill_value: object = 0, out: ArrayT | None = None) -> ArrayT: ...
    @overload
    def scatter(
        self,
        data: NDArray[ScalarT],
        updates: NDArray[Any] | Values,
        *,
        reduction: Reduction = "none",
        include_self: bool | np.bool = True,
        accumulate_dtype: DTypeLike | None = None,
        out: NDArray[Any] | None = None,
    ) -> NDArray[ScalarT]: ...
    @overload
    def scatter(
        self,
        data: Nested[Any],
        updates: NDArray[Any] | Values,
        *,
        reduction: Reduction = "none",
        include_self: bool | np.bool = True,
        accumulate_dtype: DTypeLike | None = None,
        out: NDArray[Any] | None = None,
    ) -> NDArray[Any]: ...
    @overload
    def scatter(
        self,
        data: ArrayT,
        updates: ArrayT | Values,
        *,
        reduction: Reduction = "none",
        include_self: bool | np.bool = True,
        accumulate_dtype: DTypeLike | None = None,
        out: ArrayT | None = None,
    ) -> ArrayT: ...
