"""Indices as the numbers of the slices that they select, in the smallest dtype that holds them, and as tuples."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gatherscatter import plan as plans
from gatherscatter.backends import kernels
from gatherscatter.operators import ELEMENTS, ND
from gatherscatter.plan import Plan, Shape

Array = NDArray[Any]

# The number of indices that are resolved at a time.
_BLOCK = 1 << 18


def _outer(plan: Plan) -> Shape:
    """The sizes of the axes before the first indexed one, as the indices have them: 1 for those that they lack."""
    if plan.kind == ELEMENTS:
        return plan.data[: plan.axis]
    return plan.data[: plan.batch_dims] + (1,) * (plan.axis - plan.batch_dims)


def numbers(plan: Plan, indices: Array) -> Array:
    """The number of the slice that each index or tuple selects, among those of its batch; -1 for none."""
    outer, sizes = _outer(plan), plan.sizes
    inner = plan.data[plan.axis + 1 :] if plan.kind == ELEMENTS else ()
    counted = plans.gather(plan.operator, outer + sizes + inner, indices.shape, plan.axis, plan.batch_dims, plan.mode)
    # In this array the offset of an element is the number: only the indexed axes have strides.
    strides = (0,) * len(outer) + kernels.row_ids(sizes).strides + (0,) * len(inner)
    numbers = np.lib.stride_tricks.as_strided(np.zeros(1, np.uint8), counted.data, strides)
    shape = indices.shape[:-1] if plan.kind == ND else indices.shape
    result = np.empty(shape, np.int32 if math.prod(sizes) <= np.iinfo(np.int32).max else np.int64)
    flat = result.reshape(-1)
    buffer = np.empty(min(_BLOCK, flat.size), np.int64)
    for start in range(0, flat.size, _BLOCK):
        found = buffer[: flat.size - start]
        status = kernels.resolve(counted, numbers, indices, start, found)
        kernels.check(status, indices, counted._replace(data=plan.data))
        flat[start : start + _BLOCK] = found
    return result


def tuples(found: Array, sizes: Shape) -> Array:
    """The tuples of numbers along axes of these sizes. -1, for none, becomes a tuple of -1."""
    result = np.empty((*found.shape, len(sizes)), found.dtype)
    if result.size:
        result[...] = np.stack(np.unravel_index(np.maximum(found, 0), sizes), axis=-1)
    result[found < 0] = -1
    return result
