"""Conversion of Python scalars and lists to arrays of a NumPy dtype.

All backends convert here, so that one rule decides which values a dtype holds unchanged.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gatherscatter import errors
from gatherscatter.operators import Operator

Array = NDArray[Any]

# Types of arguments that are accepted in addition to arrays.
TYPES = (bool, int, float, complex, str, bytes, list, tuple, np.generic)


def as_array(op: Operator, argument: str, value: Any) -> Array:
    """A list or scalar as a NumPy array."""
    try:
        return np.asarray(value)
    except (ValueError, TypeError, RuntimeError) as reason:  # a ragged list, or one of traced numbers
        raise errors.not_convertible(op, argument, reason) from None


def shape_of(op: Operator, argument: str, value: Any) -> tuple[int, ...]:
    """Shape of an argument that is an array, a list or a scalar."""
    return tuple(as_array(op, argument, value).shape if isinstance(value, TYPES) else value.shape)


def updates(op: Operator, value: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Updates passed as a scalar or a list, as an array of that shape and dtype."""
    if not isinstance(value, (list, tuple)):
        return np.broadcast_to(element(op, "updates", value, dtype), shape)
    if dtype.kind == "O" and op.broadcasts and (nested := _objects(value, shape)) is not None:
        return nested
    array = as_array(op, "updates", value)
    if dtype.kind == "u" and array.dtype == np.float64:
        array = _integers(value, array)
    array = cast(array, dtype)
    if array.dtype != dtype:
        raise errors.updates_values(op, array.dtype, dtype)
    if array.shape == shape:
        return array
    try:
        if op.broadcasts:
            return np.broadcast_to(array, shape)
    except ValueError:
        pass
    raise errors.updates_shape(op, array.shape, shape)


def _objects(value: list[Any] | tuple[Any, ...], shape: tuple[int, ...]) -> Array | None:
    """A list as an array of objects of that shape; what is nested deeper is an object. None: it does not broadcast."""
    try:
        array = np.empty(shape, object)
        array[...] = value
    except (TypeError, ValueError):  # the former: a size that Dask does not know
        return None
    return array


def _integers(value: list[Any] | tuple[Any, ...], array: Array) -> Array:
    """A list of integers as uint64, if NumPy made it floats because some are below 2⁶³ and some above."""
    exact = np.array(value, object)
    if all(isinstance(one, (int, np.integer)) and 0 <= one < 1 << 64 for one in exact.flat):
        return exact.astype(np.uint64)
    return array


def cast(array: Array, dtype: np.dtype[Any]) -> Array:
    """The array cast to a dtype that holds its values, else unchanged. Rounding to a float's precision is allowed."""
    if array.size == 0:
        return array.astype(dtype)
    kind, target = array.dtype.kind, _kind(dtype)
    with np.errstate(all="ignore"):
        if kind in "iu" and target in "iufc":
            cast = array.astype(dtype)
            if target in "iu" and dtype.isbuiltin != 2:
                info = np.iinfo(dtype)
                held = info.min <= int(array.min()) and int(array.max()) <= info.max
            elif target in "iu":
                held = np.array_equal(cast.astype(np.int64).astype(object), array.astype(object))
            else:
                held = _finite(cast)
        elif kind in "fc" and target in ("fc" if kind == "f" else "c"):
            cast = array.astype(dtype)
            back = cast if target == "c" else cast.astype(array.dtype)  # complex to float would warn
            held = bool(np.all(np.isfinite(back) | ~np.isfinite(array)))
        else:
            try:
                held = np.result_type(array.dtype, dtype) == np.result_type(dtype, dtype)
            except TypeError:  # no common dtype
                held = False
            cast = array.astype(dtype) if held else array
    return cast if held else array


def is_number(dtype: np.dtype[Any]) -> bool:
    """Whether it is a dtype of bools or numbers."""
    return _kind(dtype) in "biufc"


def _kind(dtype: np.dtype[Any]) -> str:
    """NumPy's letter for the kind; "f" or "i" for the dtypes of ml_dtypes, most of which NumPy reports as "V"."""
    if dtype.isbuiltin != 2:  # 2: registered by another package
        return dtype.kind
    return "f" if np.array(0.5, dtype) == 0.5 else "i"


def _finite(array: Array) -> bool:
    return bool(np.all(np.isfinite(array.astype(np.complex128 if array.dtype.kind == "c" else np.float64))))


def element(op: Operator, argument: str, given: Any, dtype: np.dtype[Any]) -> Array:
    """A value as an array of rank 0 and data's dtype. An error if the dtype does not hold it unchanged."""
    if type(given) is int and given == 0:
        return np.zeros((), dtype)
    element: Array = np.empty((), dtype)
    if dtype.kind == "O":
        element[()] = given
        return element
    value = given
    try:
        array = np.asarray(given)
    except (ValueError, TypeError, RuntimeError):  # a traced array, a ragged list, a tensor that keeps a gradient
        raise errors.not_readable(op, argument, given) from None
    if array.ndim != 0:
        raise errors.not_scalar(op, argument, array.shape)
    if array.dtype.kind in "iufcV":  # of NumPy and ml_dtypes: their numbers count as Python's
        number = array.item()
        value = number if type(number) in (int, float, complex) else value
    try:
        with np.errstate(over="raise", invalid="raise"):
            element[()] = value
            # Weak promotion, as in NEP 50: a Python number fits a dtype of its kind or a wider kind.
            python_number = type(value) in (int, float, complex)
            if python_number and dtype.isbuiltin == 2:  # of ml_dtypes, for which NumPy has no promotion rule
                rounded = type(value) is float and _kind(dtype) == "f"
                fits = (_finite(element) or not np.isfinite(value)) if rounded else element == value
            else:
                common = np.result_type(dtype, value if python_number else array.dtype)
                fits = common == np.result_type(dtype, dtype)  # in native byte order, as `common`
    except (TypeError, ValueError, OverflowError, FloatingPointError):
        fits = False
    if not fits:
        raise errors.value_dtype(op, argument, given, dtype)
    return element
