"""Calls of kind ARRAYS on NumPy arrays."""

from gatherscatter import plan as plans
from gatherscatter.backends.numpy import BACKEND
from gatherscatter.operators import ARRAYS, GATHER, SCATTER

GET, SET = GATHER.replace(kind=ARRAYS), SCATTER.replace(kind=ARRAYS)


def gather(data, arrays, axis=0, *, mode="raise", fill_value=0, out=None, op=GET):
    plan = plans.gather(op, data.shape, (*arrays[0].shape, len(arrays)), axis, 0, mode)
    return BACKEND.gather(data, arrays, plan, fill_value, out)


def scatter(data, arrays, updates, axis=0, *, reduction="none", include_self=True, mode="raise", out=None, op=SET):
    shape = (*arrays[0].shape, len(arrays))
    plan = plans.scatter(op, data.shape, shape, axis, 0, mode, reduction, include_self)
    return BACKEND.scatter(data, arrays, updates, plan, out)
