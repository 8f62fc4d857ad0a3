"""Overloads of `bincount`: the types of the arguments determine the type of the result."""

from typing import Any, Literal, TypeVar, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gatherscatter._typing import ArrayT, IntLike, Nested

__all__ = ["bincount"]

_InexactT = TypeVar("_InexactT", bound=np.inexact[Any])

@overload
def bincount(
    x: NDArray[np.integer[Any]] | Nested[int],
    /,
    weights: None = None,
    minlength: IntLike = 0,
    *,
    length: IntLike | None = None,
    mode: Literal["raise", "drop"] = "raise",
    dtype: None = None,
) -> NDArray[np.int_]: ...
@overload
def bincount(
    x: NDArray[np.integer[Any]] | Nested[int],
    /,
    weights: NDArray[_InexactT],
    minlength: IntLike = 0,
    *,
    length: IntLike | None = None,
    mode: Literal["raise", "drop"] = "raise",
    dtype: None = None,
) -> NDArray[_InexactT]: ...
@overload
def bincount(
    x: NDArray[np.integer[Any]] | Nested[int],
    /,
    weights: NDArray[Any] | Nested[Any] | None = None,
    minlength: IntLike = 0,
    *,
    length: IntLike | None = None,
    mode: Literal["raise", "drop"] = "raise",
    dtype: DTypeLike | None = None,
) -> NDArray[Any]: ...
@overload
def bincount(
    x: ArrayT,
    /,
    weights: ArrayT | Nested[Any] | None = None,
    minlength: IntLike = 0,
    *,
    length: IntLike | None = None,
    mode: Literal["raise", "drop"] = "raise",
    dtype: Any = None,
) -> ArrayT: ...
