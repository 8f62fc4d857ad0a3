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
