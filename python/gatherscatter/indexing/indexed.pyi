"""Types of the methods of ``at(x)[index]``."""

from typing import Any, Generic, Never, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gatherscatter._typing import GatherMode, ScatterMode, Values

__all__ = ["At"]

_X = TypeVar("_X")

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
        copy: bool | np.bool | None = None,
        xp: object = None,
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
        copy: bool | np.bool | None = None,
        xp: object = None,
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
        copy: bool | np.bool | None = None,
        xp: object = None,
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
        copy: bool | np.bool | None = None,
        xp: object = None,
    ) -> _X: ...
    def divide(
        self,
        updates: _X | NDArray[Any] | Values,
        *,
        mode: ScatterMode = "raise",
        wrap_negative_indices: bool | np.bool = True,
        out: _X | None = None,
        copy: bool | np.bool | None = None,
        xp: object = None,
    ) -> _X: ...
    def power(
        self,
        updates: _X | NDArray[Any] | Values,
        *,
        mode: ScatterMode = "raise",
        wrap_negative_indices: bool | np.bool = True,
        out: _X | None = None,
        copy: bool | np.bool | None = None,
        xp: object = None,
    ) -> _X: ...
    def min(
        self,
        updates: _X | NDArray[Any] | Values,
        *,
        mode: ScatterMode = "raise",
        include_self: bool | np.bool = True,
        wrap_negative_indices: bool | np.bool = True,
        out: _X | None = None,
        copy: bool | np.bool | None = None,
        xp: object = None,
    ) -> _X: ...
    def max(
        self,
        updates: _X | NDArray[Any] | Values,
        *,
        mode: ScatterMode = "raise",
        include_self: bool | np.bool = True,
        wrap_negative_indices: bool | np.bool = True,
        out: _X | None = None,
        copy: bool | np.bool | None = None,
        xp: object = None,
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
        copy: bool | np.bool | None = None,
        xp: object = None,
    ) -> _X: ...
