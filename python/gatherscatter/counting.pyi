"""Overloads of `bincount`: the types of the arguments determine the type of the result."""

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from gatherscatter._typing import ArrayT, IntLike, Nested, ScalarT

__all__ = ["bincount"]

@overload
def bincount(
    x: NDArray[np.integer[Any]] | Nested[int],
    /,
    weights: None = None,
    minlength: IntLike = 0,
    *,
    length: IntLike | None = None,
    mode: Literal["raise", "drop"] = "raise",
) -> NDArray[np.int_]: ...
@overload
def bincount(
    x: NDArray[np.integer[Any]] | Nested[int],
    /,
    weights: NDArray[ScalarT],
    minlength: IntLike = 0,
    *,
    length: IntLike | None = None,
    mode: Literal["raise", "drop"] = "raise",
) -> NDArray[ScalarT]: ...
@overload
def bincount(
    x: NDArray[np.integer[Any]] | Nested[int],
    /,
    weights: Nested[Any],
    minlength: IntLike = 0,
    *,
    length: IntLike | None = None,
    mode: Literal["raise", "drop"] = "raise",
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
) -> ArrayT: ...
