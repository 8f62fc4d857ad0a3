"""Whether arrays share memory. The elements are not read, so an array may stand for one on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# max_work of numpy.shares_memory. (Any: NumPy's stubs accept only -1 and 0.)
_WORK: Any = 10_000


class _Addresses:
    """What `numpy.asarray` makes an array of, at an address."""

    def __init__(self, address: int, shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> None:
        self.__array_interface__ = {
            "data": (address, True), "shape": shape, "strides": strides, "typestr": f"|V{itemsize}", "version": 3
        }  # fmt: skip


def addresses(address: int, shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> Array:
    """An array for the questions below, which must not be read. strides: in bytes."""
    return np.asarray(_Addresses(address, shape, strides, itemsize))


def share_memory(a: Array, b: Array) -> bool:
    """Whether two arrays share memory; True if that is too hard to decide."""
    if not np.may_share_memory(a, b):
        return False
    try:
        return np.shares_memory(a, b, max_work=_WORK)
    except (np.exceptions.TooHardError, RuntimeError):  # the latter: NumPy has no memory to decide it
        return True


def may_overlap_itself(array: Array) -> bool:
    """Whether two elements of an array may share memory; False is certain, True is not."""
    span = array.itemsize
    for stride, n in sorted((abs(stride), n) for stride, n in zip(array.strides, array.shape, strict=True) if n > 1):
        if stride < span:
            return True
        span = stride * n
    return False


def overlaps_itself(array: Array) -> bool:
    """Whether two elements of an array share memory, for certain.

    They differ along a first axis, and there one of them can be taken to have the position 0.
    """
    if not (array.nbytes and may_overlap_itself(array)):
        return False
    try:
        for axis in range(array.ndim):
            first: Any = (*(0,) * axis, slice(1))
            others: Any = (*(0,) * axis, slice(1, None))
            if np.shares_memory(array[first], array[others], max_work=_WORK):
                return True
        return False
    except (np.exceptions.TooHardError, RuntimeError):
        return False
