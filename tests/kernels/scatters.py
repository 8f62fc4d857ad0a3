"""The three scatters: functions, scalar loops, and what they have in common."""

import operator

import gatherscatter as gs
import numpy as np
import pytest
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
# Operators where the reference has functions: quicker, and of another hand.
STEPS = {name: record.step or (lambda a, b: b) for name, record in RECORDS.items()}
STEPS |= {"add": operator.add, "mul": operator.mul, "mean": operator.add}


def along(data, indices, updates, reduction="none", include_self=True):
    """The loop for one axis of real numbers, quick enough for some hundred thousand updates."""
    result, step = list(data), STEPS[reduction]
    counts = [int(include_self)] * len(result)
    with np.errstate(all="ignore"):
        for i, update in zip(indices.tolist(), updates, strict=True):
            result[i] = step(result[i], update) if counts[i] or reduction == "none" else update
            counts[i] += 1
        if reduction == "mean":
            named = np.unique(indices).tolist()
            for i in named:
                result[i] = RECORDS["mean"].finish(result[i], counts[i])
    return np.array(result, data.dtype)
