"""Values without a library of their own (Python's scalars, lists) as arrays of a NumPy dtype.

Every backend goes through here, so that one rule says what fits a dtype unchanged.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gatherscatter import errors

Array = NDArray[Any]

# What a call may hold beside arrays.
TYPES = (bool, int, float, complex, str, bytes, list, tuple, np.generic)


def as_array(operator: str, argument: str, value: Any) -> Array:
    try:
        array = np.asarray(value)
    except ValueError as reason:  # a ragged list
        raise errors.not_convertible(operator, argument, reason) from None
    if argument == "indices" and array.size == 0 and isinstance(value, (list, tuple)):
        return array.astype(np.intp)  # NumPy takes [] for floats
    return array


def updates(operator: str, value: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Updates that came as a scalar or a list, as an array of that shape and dtype."""
    if not isinstance(value, (list, tuple)):
        return np.broadcast_to(element(operator, "updates", value, dtype), shape)
    array = cast(as_array(operator, "updates", value), dtype)
    if array.dtype != dtype:
        raise errors.updates_values(operator, array.dtype, dtype)
    if array.shape != shape:
        raise errors.updates_shape(operator, array.shape, shape)
    return array


def cast(array: Array, dtype: np.dtype[Any]) -> Array:
    """A list's values in data's dtype, if that holds them; rounding to a float's precision is no loss."""
    kind, target = array.dtype.kind, dtype.kind
    if array.size == 0:
        return array.astype(dtype)
    with np.errstate(all="ignore"):
        if kind in "iu" and target in "iufcV":
            cast = array.astype(dtype)
            held = target not in "iu" or np.array_equal(cast.astype(object), array.astype(object))
        elif kind in "fc" and target in ("fcV" if kind == "f" else "c"):
            cast = array.astype(dtype)
            held = bool(np.all(np.isfinite(cast.astype(array.dtype)) | ~np.isfinite(array)))
        elif np.result_type(array.dtype, dtype) == np.result_type(dtype, dtype):
            cast, held = array.astype(dtype), True
        else:
            held = False
    return cast if held else array


def element(operator: str, argument: str, given: Any, dtype: np.dtype[Any]) -> Array:
    """One element of data's dtype, with the value unchanged."""
    if type(given) is int and given == 0:
        return np.zeros((), dtype)
    element: Array = np.empty((), dtype)
    if dtype.kind == "O":
        element[()] = given
        return element
    array = np.asarray(given)
    if array.ndim != 0:
        raise errors.not_scalar(operator, argument, array.shape)
    try:
        with np.errstate(over="raise", invalid="raise"):
            element[()] = given
            # Python's numbers have no dtype of their own: they fit a dtype of their kind or a wider one.
            python_number = type(given) in (int, float, complex)
            if python_number and dtype.kind == "V":  # an ml_dtypes one, which NumPy knows no kind of
                has_fractions = np.array(0.5, dtype) == 0.5
                fits = (type(given) is float and has_fractions) or element == given
            else:
                common = np.result_type(dtype, given if python_number else array.dtype)
                fits = common == np.result_type(dtype, dtype)  # in the machine's byte order, as the left side
    except (TypeError, ValueError, OverflowError, FloatingPointError):
        fits = False
    if not fits:
        raise errors.value_dtype(operator, argument, given, dtype)
    return element
