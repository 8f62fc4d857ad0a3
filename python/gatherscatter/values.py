"""Values without a library of their own (Python's scalars, lists) as arrays of a NumPy dtype.

Every backend goes through here, so that one rule says what fits a dtype unchanged.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gatherscatter import errors
from gatherscatter.operators import Operator

Array = NDArray[Any]

# What a call may hold beside arrays.
TYPES = (bool, int, float, complex, str, bytes, list, tuple, np.generic)


def as_array(op: Operator, argument: str, value: Any) -> Array:
    """A list or scalar as NumPy makes an array of it."""
    try:
        return np.asarray(value)
    except ValueError as reason:  # a ragged list
        raise errors.not_convertible(op, argument, reason) from None


def shape_of(op: Operator, argument: str, value: Any) -> tuple[int, ...]:
    """Shape of an argument that is an array, a list or a scalar."""
    return tuple(as_array(op, argument, value).shape if isinstance(value, TYPES) else value.shape)


def updates(op: Operator, value: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Updates that came as a scalar or a list, as an array of that shape and dtype."""
    if not isinstance(value, (list, tuple)):
        return np.broadcast_to(element(op, "updates", value, dtype), shape)
    array = cast(as_array(op, "updates", value), dtype)
    if array.dtype != dtype:
        raise errors.updates_values(op, array.dtype, dtype)
    if array.shape != shape:
        raise errors.updates_shape(op, array.shape, shape)
    return array


def cast(array: Array, dtype: np.dtype[Any]) -> Array:
    """A list's values in data's dtype, if that holds them; rounding to a float's precision is no loss."""
    if array.size == 0:
        return array.astype(dtype)
    kind, target = array.dtype.kind, _kind(dtype)
    with np.errstate(all="ignore"):
        if kind in "iu" and target in "iufc":
            cast = array.astype(dtype)
            if target in "iu":
                back = cast.astype(np.int64) if dtype.kind == "V" else cast
                held = np.array_equal(back.astype(object), array.astype(object))
            else:
                held = _finite(cast)
        elif kind in "fc" and target in ("fc" if kind == "f" else "c"):
            cast = array.astype(dtype)
            held = bool(np.all(np.isfinite(cast.astype(array.dtype)) | ~np.isfinite(array)))
        else:
            try:
                held = np.result_type(array.dtype, dtype) == np.result_type(dtype, dtype)
            except TypeError:  # they have no dtype in common
                held = False
            cast = array.astype(dtype) if held else array
    return cast if held else array


def _kind(dtype: np.dtype[Any]) -> str:
    """NumPy's letter for the kind, which for the dtypes of ml_dtypes is "V" too: here they are integers or floats."""
    if dtype.kind != "V" or issubclass(dtype.type, np.void):
        return dtype.kind
    return "f" if np.array(0.5, dtype) == 0.5 else "i"


def _finite(array: Array) -> bool:
    return bool(np.all(np.isfinite(array.astype(np.complex128 if array.dtype.kind == "c" else np.float64))))


def element(op: Operator, argument: str, given: Any, dtype: np.dtype[Any]) -> Array:
    """One element of data's dtype, with the value unchanged."""
    if type(given) is int and given == 0:
        return np.zeros((), dtype)
    element: Array = np.empty((), dtype)
    if dtype.kind == "O":
        element[()] = given
        return element
    array = np.asarray(given)
    if array.ndim != 0:
        raise errors.not_scalar(op, argument, array.shape)
    try:
        with np.errstate(over="raise", invalid="raise"):
            element[()] = given
            # Python's numbers have no dtype of their own: they fit a dtype of their kind or a wider one.
            python_number = type(given) in (int, float, complex)
            if python_number and dtype.kind == "V":  # an ml_dtypes one, which NumPy knows no kind of
                rounded = type(given) is float and _kind(dtype) == "f"
                fits = (_finite(element) or not np.isfinite(given)) if rounded else element == given
            else:
                common = np.result_type(dtype, given if python_number else array.dtype)
                fits = common == np.result_type(dtype, dtype)  # in the machine's byte order, as the left side
    except (TypeError, ValueError, OverflowError, FloatingPointError):
        fits = False
    if not fits:
        raise errors.value_dtype(op, argument, given, dtype, _without_dtype(op, argument, given, dtype))
    return element


def _without_dtype(op: Operator, argument: str, given: Any, dtype: np.dtype[Any]) -> str:
    """Python's type that a NumPy scalar fits by, whose own dtype does not."""
    number = given.item() if isinstance(given, np.generic) else None
    if type(number) not in (int, float, complex):
        return ""
    try:
        element(op, argument, number, dtype)
    except TypeError:
        return ""
    return type(number).__name__
