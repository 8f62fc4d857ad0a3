"""Types of `at`: the array that it is called on determines the type of every result."""

from types import EllipsisType
from typing import Any, Never, SupportsIndex, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from gatherscatter._typing import Array, ArrayT, Nested, ScalarT, Values
from gatherscatter.indexing.indexed import At

__all__ = ["at"]

_X = TypeVar("_X")

_Arrays: TypeAlias = NDArray[np.integer[Any]] | NDArray[np.bool] | Array | Nested[Any] | range
_Item: TypeAlias = SupportsIndex | slice | EllipsisType | _Arrays | None
_Index: TypeAlias = _Item | tuple[_Item, ...]

# At run time at(x, index) is an `at` with the methods of `At`.
class at(At[_X]):
    @overload
    def __init__(self: at[NDArray[ScalarT]], x: NDArray[ScalarT], index: _Index = ...) -> None: ...
    @overload
    def __init__(self: at[NDArray[Any]], x: Values, index: _Index = ...) -> None: ...
    @overload
    def __init__(self: at[ArrayT], x: ArrayT, index: _Index = ...) -> None: ...
    def __getitem__(self, index: _Index) -> At[_X]: ...
    def __setitem__(self, index: Never, updates: Never) -> None: ...  # always an error
