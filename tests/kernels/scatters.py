"""The three scatters: functions, scalar loops, and what they have in common."""

import gatherscatter as gs
import numpy as np
import pytest
from fuzz import vectorized
from gatherscatter import reference
from gatherscatter.reductions import REDUCTIONS as RECORDS

FUNCTIONS = {"scatter": gs.scatter, "scatter_nd": gs.scatter_nd, "scatter_elements": gs.scatter_elements}
LOOPS = {
    "scatter": reference.scatter,
    "scatter_nd": reference.scatter_nd,
    "scatter_elements": reference.scatter_elements,
}
each = pytest.mark.parametrize("name", FUNCTIONS)
# One axis, one index an item: all three do the same.
FLAT = {
    "scatter": gs.scatter,
    "scatter_nd": lambda data, indices, updates, **options: gs.scatter_nd(data, indices[:, None], updates, **options),
    "scatter_elements": gs.scatter_elements,
}
every = pytest.mark.parametrize("flat", FLAT.values(), ids=FLAT)


def along(data, indices, updates, reduction="none", include_self=True):
    """The loop for one axis of real numbers, quick enough for some hundred thousand updates."""
    if reduction not in ("max", "min"):  # whose rules for NaN and zeros are not NumPy's
        places = (indices % len(data)).astype(np.int64)
        result = vectorized.combine(data, updates, places, "add" if reduction == "mean" else reduction, include_self)
        if reduction == "mean":
            counts = np.bincount(places, minlength=len(data)) + include_self
            for i in np.unique(places).tolist():
                result[i] = RECORDS["mean"].finish(result[i], int(counts[i]))
        return result
    result, step = list(data), RECORDS[reduction].step
    seen = [include_self] * len(result)
    for i, update in zip(indices.tolist(), updates, strict=True):
        result[i] = step(result[i], update) if seen[i] else update
        seen[i] = True
    return np.array(result, data.dtype)


def step(reduction, a, b):
    """One step of a reduction, with the rules of `gs.scatter` for NaN and equal numbers."""
    if a.dtype == bool:
        return a | b if reduction in ("add", "max") else a & b
    with np.errstate(all="ignore"):
        if reduction == "mul" and a.dtype.kind == "c":  # no product is fused with the sum
            result = np.empty_like(a)
            result.real, result.imag = a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real
            return result
        if reduction in ("add", "mean", "mul"):
            return (a * b if reduction == "mul" else a + b).astype(a.dtype, copy=False)
        return np.where((a >= b if reduction == "max" else a <= b) | (a != a), a, b)


def applied(data, positions, updates, reduction):
    """data, whose first axis has the destinations, after one update after the other."""
    result = data.copy()
    if reduction == "none":
        result[positions] = updates
    elif reduction in ("add", "mul") or data.dtype.kind in "iu":  # in this order too, and sooner than this loop
        with np.errstate(all="ignore"):
            {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[reduction].at(
                result, positions, updates
            )
    else:
        for position, update in zip(positions, updates, strict=True):
            result[position] = step(reduction, result[position], update)
    return result
