"""Types of `at`: the array that it is called on determines the type of every result."""

from types import EllipsisType
from typing import Any, Generic, Never, SupportsIndex, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gatherscatter._typing import Array, ArrayT, GatherMode, Nested, ScalarT, ScatterMode, Values

__all__ = ["At", "at"]

_X = TypeVar("_X")

_Arrays: TypeAlias = NDArray[np.integer[Any]] | NDArray[np.bool] | Array | Nested[Any] | range
_Item: TypeAlias = SupportsIndex | slice | EllipsisType | _Arrays | None

class at(Generic[_X]):
    @overload
    def __init__(self: at[NDArray[ScalarT]], x: NDArray[ScalarT]) -> None: ...
    @overload
    def __init__(self: at[NDArray[Any]], x: Values) -> None: ...
    @overload
    def __init__(self: at[ArrayT], x: ArrayT) -> None: ...
    def __getitem__(self, index: _Item | tuple[_Item, ...]) -> At[_X]: ...
    def __setitem__(self, index: Never, updates: Never) -> None: ...  # always an error

class At(Generic[_X]):
    def __init__(self, x: _X, index: Any) -> None: ...
    def __array__(self, dtype: Never = ..., copy: Never = ...) -> object: ...  # always an error, hence no array
    def get(
        self,
        *,
        mode: GatherMode = "raise",
        fill_value: object = 0,
        wrap_negative_indices: bool | np.bool = True,
        out: _X | None = None,
    ) -> _X: ...
    def set(
        self,
        updates: _X | NDArray[Any] | Values,
        *,
        mode: ScatterMode = "raise",
        include_self: bool | np.bool = True,
        wrap_negative_indices: bool | np.bool = True,
        out: _X | None = None,
    ) -> _X: ...
    def add(
        self,
        updates: _X | NDArray[Any] | Values,
        *,
        mode: ScatterMode = "raise",
        include_self: bool | np.bool = True,
        wrap_negative_indices: bool | np.bool = True,
        accumulate_dtype: DTypeLike | None = None,
        out: _X | None = None,
    ) -> _X: ...
    def subtract(
        self,
        updates: _X | NDArray[Any] | Values,
        *,
        mode: ScatterMode = "raise",
        include_self: bool | np.bool = True,
        wrap_negative_indices: bool | np.bool = True,
        accumulate_dtype: DTypeLike | None = None,
        out: _X | None = None,
    ) -> _X: ...
    def multiply(
        self,
        updates: _X | NDArray[Any] | Values,
        *,
        mode: ScatterMode = "raise",
        include_self: bool | np.bool = True,
        wrap_negative_indices: bool | np.bool = True,
        accumulate_dtype: DTypeLike | None = None,
        out: _X | None = None,
    ) -> _X: ...
    def min(
        self,
        updates: _X | NDArray[Any] | Values,
        *,
        mode: ScatterMode = "raise",
        include_self: bool | np.bool = True,
        wrap_negative_indices: bool | np.bool = True,
        out: _X | None = None,
    ) -> _X: ...
    def max(
        self,
        updates: _X | NDArray[Any] | Values,
        *,
        mode: ScatterMode = "raise",
        include_self: bool | np.bool = True,
        wrap_negative_indices: bool | np.bool = True,
        out: _X | None = None,
    ) -> _X: ...
    def mean(
        self,
        updates: _X | NDArray[Any] | Values,
        *,
        mode: ScatterMode = "raise",
        include_self: bool | np.bool = True,
        wrap_negative_indices: bool | np.bool = True,
        accumulate_dtype: DTypeLike | None = None,
        out: _X | None = None,
    ) -> _X: ...
