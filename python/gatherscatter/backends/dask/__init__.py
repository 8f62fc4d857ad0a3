"""Dask arrays: lazily, chunk by chunk, on whatever scheduler is running.

Indices, or updates, go to the chunks of data that they name, and only the rows named come back. Each chunk goes through
the public functions again, so it is moved as its own library does it. What stays NumPy beside a Dask array is known:
known indices are checked at the call, and only the chunks that they hit get tasks.

``layout.py`` says how chunks meet, ``tasks.py`` what tasks do, ``graphs.py`` which tasks there are.
"""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np

from gatherscatter import errors, neutral
from gatherscatter.backends import numpy as kernels
from gatherscatter.backends.dask import graphs, tasks
from gatherscatter.backends.dask.layout import Axes
from gatherscatter.shapes import REDUCED_BY, Plan

NAME = "Dask"
BESIDE = (kernels,)


def owns(value: Any) -> bool:
    return isinstance(value, da.Array)


def as_array(operator: str, argument: str, value: Any, like: Any) -> Any:
    return neutral.as_array(operator, argument, value)


def same_library(a: Any, b: Any) -> bool:
    return True


def gather(data: Any, indices: Any, plan: Plan, fill_value: Any, out: Any) -> Any:
    _check(plan, data, indices, out)
    if plan.mode == "fill":
        neutral.element(plan.operator, "fill_value", fill_value, data.dtype)
    axes = Axes.of(plan, indices.ndim)
    data = graphs.chunked(data)
    layout, indices, _ = graphs.lay_out(plan, axes, data, indices)
    return graphs.gather(layout, data, indices, fill_value)


def scatter(data: Any, indices: Any, updates: Any, plan: Plan, out: Any) -> Any:
    if kernels._number(plan.reduction, data.dtype) < 0:
        raise errors.reduction_dtype(plan.operator, plan.reduction, data.dtype, REDUCED_BY[plan.reduction])
    _check(plan, data, indices, out)
    scalar = None
    if isinstance(updates, (list, tuple)):
        updates = neutral.updates(plan.operator, updates, plan.shape, data.dtype)
    elif isinstance(updates, neutral.TYPES):
        neutral.element(plan.operator, "updates", updates, data.dtype)
        updates, scalar = None, updates
    else:
        _check_updates(plan, updates, data)
    axes = Axes.of(plan, indices.ndim)
    data = graphs.chunked(data)
    layout, indices, updates = graphs.lay_out(plan, axes, data, indices, updates)
    return graphs.scatter(layout, data, indices, updates, scalar)


def _check(plan: Plan, data: Any, indices: Any, out: Any) -> None:
    if out is not None:
        raise errors.cannot(NAME, plan.operator, "out=", "a Dask array is computed later; use what is returned")
    if hasattr(data, "expr") or hasattr(indices, "expr"):
        reason = "their graphs are not there yet; set it to False before dask.array is imported"
        raise errors.cannot(NAME, plan.operator, "arrays of Dask's option array.query-planning", reason)
    for argument, array in (("data", data), ("indices", indices)):
        if isinstance(getattr(array, "_meta", None), np.ma.MaskedArray):
            raise errors.masked(plan.operator, argument)
    if indices.dtype.kind not in "iu":
        raise errors.index_dtype(plan.operator, indices.dtype, data.dtype)
    if isinstance(indices, np.ndarray):
        tasks.check(indices, plan)


def _check_updates(plan: Plan, updates: Any, data: Any) -> None:
    if isinstance(getattr(updates, "_meta", None), np.ma.MaskedArray):
        raise errors.masked(plan.operator, "updates")
    if updates.dtype != data.dtype:
        raise errors.updates_dtype(plan.operator, updates.dtype, data.dtype)
    # What is unknown is seen when the chunks meet.
    fits = len(updates.shape) == len(plan.shape) and all(
        isinstance(n, float) or isinstance(m, float) or n == m for n, m in zip(updates.shape, plan.shape, strict=True)
    )
    if not fits:
        raise errors.updates_shape(plan.operator, updates.shape, plan.shape)
