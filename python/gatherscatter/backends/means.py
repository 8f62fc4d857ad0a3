"""Means on NumPy arrays: after all updates are added, sums are divided by the number of their terms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gatherscatter.backends import kernels
from gatherscatter.plan import Plan

Array = NDArray[Any]

# Rows that are counted at a time: 16 MiB of counts.
COUNTED_ROWS = 1 << 21


def buffer(plan: Plan) -> NDArray[np.int64]:
    """Allocate the counts for `divide`. Call it before anything is written, since it may raise MemoryError."""
    return np.empty(max(min(COUNTED_ROWS, plan.n_rows), 1), np.int64)


def divide(out: Array, indices: Array, plan: Plan, counts: NDArray[np.int64]) -> None:
    """Divide the sums in `out` by their counts, some rows at a time."""
    step = max(kernels.BLOCK // max(int(np.prod(plan.row)), 1), 1)
    for start in range(0, plan.n_rows, len(counts)):
        counted = counts[: plan.n_rows - start]
        counted[...] = 0
        kernels.count(plan, indices, start, counted)
        for i in range(0, len(counted), step):
            rows = i + np.flatnonzero(counted[i : i + step])
            if len(rows) == 0:
                continue
            where = np.unravel_index(rows + start, plan.leading) if plan.leading else (None,)
            count = (counted[rows] + int(plan.include_self)).reshape(-1, *(1,) * len(plan.row))
            means = quotient(out[where], count)
            if plan.leading:
                out[where] = means
            else:
                out[...] = means[0]


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
