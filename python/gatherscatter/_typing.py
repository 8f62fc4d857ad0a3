"""Types of the public functions: what they take, and the names of their options.

The array that comes in says what goes out, in overloads of three kinds: NumPy's arrays, which carry their dtype and
keep it; lists, which become NumPy's; and the arrays of every other library, by a protocol, so that none is imported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, Protocol, Self, SupportsIndex, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

GatherMode: TypeAlias = Literal["raise", "clip", "wrap", "fill", "promise_in_bounds"]
ScatterMode: TypeAlias = Literal["raise", "clip", "wrap", "drop", "promise_in_bounds"]
Reduction: TypeAlias = Literal["none", "add", "mul", "max", "min", "mean"]

# Options of the dialects.
ONNXReduction: TypeAlias = Literal["none", "add", "mul", "max", "min"]
OpenVINONDReduction: TypeAlias = Literal["none", "sum", "sub", "prod", "min", "max"]
OpenVINOElementsReduction: TypeAlias = Literal["none", "sum", "prod", "min", "max", "mean"]
TensorFlowPolicy: TypeAlias = Literal["", "DEFAULT", "ERROR", "IGNORE"]

# What has __index__; help() shows it by the usual case.
IntLike: TypeAlias = int | SupportsIndex

_Item_co = TypeVar("_Item_co", covariant=True)


class Nested(Protocol[_Item_co]):
    """A list or a tuple, as deep as it goes."""

    def __reversed__(self) -> Iterator[_Item_co | Nested[_Item_co]]: ...
    def __contains__(self, item: object, /) -> bool: ...  # not str and bytes, which hold nothing else
    def __mul__(self, times: SupportsIndex, /) -> Any: ...  # not range, nor arrays


class _WithoutDtype(Protocol):
    def __add__(self, other: int, /) -> Self: ...


class Array(Protocol):
    """An array of a library whose types do not carry dtypes, as PyTorch's, JAX's, CuPy's, Dask's and TensorFlow's.

    There a comparison is of the array's own type, and one more than it too. Not so NumPy's: `a < 0` is an array of
    bool, and `(a < 0) + 1` one of integers. So this takes no NumPy array, and the overloads for those alone say which
    indices they take.
    """

    @property
    def shape(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def __lt__(self, other: int, /) -> _WithoutDtype: ...


class LazyArray(Array, Protocol):
    """A Dask array, which has NumPy's beside it."""

    def __dask_graph__(self) -> Any: ...


ArrayT = TypeVar("ArrayT", bound=Array)
LazyT = TypeVar("LazyT", bound=LazyArray)
ScalarT = TypeVar("ScalarT", bound=np.generic)

# What stands beside arrays (neutral.TYPES).
Scalar: TypeAlias = bool | int | float | complex | str | bytes | np.generic
Values: TypeAlias = Nested[Any] | Scalar

# Indices: NumPy's arrays, and lists; along an axis, one integer too.
Integer: TypeAlias = int | np.integer[Any]
IntegerArray: TypeAlias = NDArray[np.integer[Any]]
# What is declared to be a Sequence is a list or a tuple at run time, most likely.
Integers: TypeAlias = Nested[Integer | IntegerArray] | Sequence[Integer] | Sequence[Sequence[Integer]]
