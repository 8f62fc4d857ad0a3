"""Types of the public functions: arguments and the values of their options.

The type of the arguments determines the type of the result, by three kinds of overloads: NumPy arrays, which keep
their dtype; lists, which become NumPy arrays; and arrays of other libraries, described by a protocol so that none is
imported. The functions of the dialects have no overloads: their result has the type of their data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, Protocol, Self, SupportsIndex, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

GatherMode: TypeAlias = Literal["raise", "clip", "wrap", "fill", "promise_in_bounds"]
ScatterMode: TypeAlias = Literal["raise", "clip", "wrap", "drop", "promise_in_bounds"]
Reduction: TypeAlias = Literal["none", "add", "mul", "max", "min", "mean"]
SegmentMode: TypeAlias = Literal["raise", "drop", "promise_in_bounds"]
SegmentReduction: TypeAlias = Literal[
    "add",
    "mul",
    "max",
    "min",
    "mean",
    "var",
    "std",
    "any",
    "all",
    "count",
    "first",
    "last",
    "argmax",
    "argmin",
    "logsumexp",
    "median",
    "nunique",
]
QuantileMethod: TypeAlias = Literal["linear", "lower", "higher", "nearest", "midpoint"]

# Options of the dialects.
ONNXReduction: TypeAlias = Literal["none", "add", "mul", "max", "min"]
OpenVINONDReduction: TypeAlias = Literal["none", "sum", "sub", "prod", "min", "max"]
OpenVINOElementsReduction: TypeAlias = Literal["none", "sum", "prod", "min", "max", "mean"]
OpenVINOBagReduction: TypeAlias = Literal["sum", "mean"]
OpenVINOFillMode: TypeAlias = Literal["ZERO", "LOWEST"]
TensorFlowPolicy: TypeAlias = Literal["", "DEFAULT", "ERROR", "IGNORE"]

# Anything with __index__; int is spelled out for help().
IntLike: TypeAlias = int | SupportsIndex

_Item_co = TypeVar("_Item_co", covariant=True)


class Nested(Protocol[_Item_co]):
    """A list or a tuple, nested to any depth."""

    def __reversed__(self) -> Iterator[_Item_co | Nested[_Item_co]]: ...
    def __contains__(self, item: object, /) -> bool: ...  # excludes str and bytes, which take no other object
    def __mul__(self, times: SupportsIndex, /) -> Any: ...  # excludes range and arrays


class Listed(Nested[Any], Protocol[_Item_co]):
    """A list as data of a function without overloads. The type variable becomes Any, so that the result is Any."""

    def __getattribute__(self, name: str, /) -> _Item_co: ...  # as `object` has it: Any


class _WithoutDtype(Protocol):
    def __add__(self, other: int, /) -> Self: ...


class Array(Protocol):
    """An array of a library whose static types have no dtype: PyTorch, JAX, CuPy, Dask, TensorFlow.

    The protocol excludes NumPy arrays, so that only the overloads for NumPy apply to them. In the other libraries
    ``a < 0`` and ``(a < 0) + 1`` have one static type; in NumPy they are arrays of bool and of int.
    """

    @property
    def shape(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def __lt__(self, other: int, /) -> _WithoutDtype: ...


class LazyArray(Array, Protocol):
    """A Dask array, which may be mixed with NumPy arrays in one call.

    The result is then a Dask array. If data is NumPy's, so is the static type of the result.
    """

    def __dask_graph__(self) -> Any: ...


ArrayT = TypeVar("ArrayT", bound=Array)
LazyT = TypeVar("LazyT", bound=LazyArray)
ScalarT = TypeVar("ScalarT", bound=np.generic)
DataT = TypeVar("DataT", bound=NDArray[Any] | Array)  # the dialects: of data and result

# Arguments that are not arrays (values.TYPES).
Scalar: TypeAlias = bool | int | float | complex | str | bytes | np.generic
Values: TypeAlias = Nested[Any] | Scalar

# Indices: NumPy arrays and lists; along an axis also a single integer.
Integer: TypeAlias = int | np.integer[Any]
IntegerArray: TypeAlias = NDArray[np.integer[Any]]
# Sequence is included for annotations: at run time such a value is most likely a list or a tuple.
Integers: TypeAlias = Nested[Integer | IntegerArray] | Sequence[Integer] | Sequence[Sequence[Integer]]

# Other arguments of the dialects: of any library, since one call may mix Dask's arrays with NumPy's.
AnyIndices: TypeAlias = Array | IntegerArray | Integers
AnyValues: TypeAlias = Array | NDArray[Any] | Values
