"""The last step of a mean on NumPy arrays whose sums were made in several steps (``tasks.py``)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def quotient(sums: Array, count: NDArray[Any]) -> Array:
    """Sums divided by counts. Integers are floored, floats round once, complex numbers are divided part by part."""
    dtype = sums.dtype
    if dtype.kind in "iu":
        wide = np.uint64 if dtype.kind == "u" else np.int64
        return np.floor_divide(sums.astype(wide), count.astype(wide)).astype(dtype)
    means: Array = np.empty_like(sums)
    with np.errstate(all="ignore"):
        if dtype.itemsize == 2:  # the quotient is a float64, rounded once to 16 bits
            means[...] = sums.astype(np.float32) / count.astype(np.float64)
        elif dtype.kind == "c":
            count = count.astype(sums.real.dtype)  # pyright: ignore[reportAttributeAccessIssue]
            means.real, means.imag = sums.real / count, sums.imag / count  # pyright: ignore[reportAttributeAccessIssue]
        else:
            np.divide(sums, count.astype(dtype), out=means)
    return means
