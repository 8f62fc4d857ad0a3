"""Dtypes that own references (object, StringDType, structures of these).

The kernels only resolve; NumPy moves the elements, and so keeps the reference counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gatherscatter.backends import kernels
from gatherscatter.plan import Plan, unravel

Array = Any  # a NumPy array, whose stubs do not cover indexing by tuples

# Bug in NumPy before 2.2: advanced indexing of StringDType loses strings. Basic indexing does not.
_LOSES_STRINGS = np.lib.NumpyVersion(np.__version__) < "2.2.0"


def gather(result: Array, data: Array, indices: Array, plan: Plan, fill: Array | None) -> None:
    """Write the rows of data that indices select to `result`."""
    # Without a row's axes of size 1, or NumPy would take one axis too many for an array of its highest rank.
    data = data[(..., *(0 if n == 1 else slice(None) for n in plan.row))]
    if result.size == 0:  # only the indices are checked
        for _ in kernels.resolved(plan, indices):
            pass
        return
    flat = result.reshape((plan.n_tuples, *(n for n in plan.row if n != 1)))
    for start, rows in kernels.resolved(plan, indices):
        target = flat[start : start + len(rows)]
        found = rows >= 0
        if _LOSES_STRINGS and data.dtype.kind == "T":
            for i, row in enumerate(rows.tolist()):
                target[i, ...] = data[(*unravel(row, plan.leading), ...)] if row >= 0 else fill
        elif not found.all():
            target[...] = fill  # by a mask, NumPy 2.4 loses long strings in rows of one element
            target[found] = _rows(data, plan.leading, rows[found])
        else:
            target[...] = _rows(data, plan.leading, rows)


def assign(out: Array, data: Array | None, indices: Array, updates: Array, plan: Plan) -> None:
    """Write `data` and then the updates, in order, to `out`. data: None if `out` holds it already."""
    if data is not None:
        out[...] = data
    for start, rows in kernels.resolved(plan, indices):
        for number, row in enumerate(rows.tolist(), start):
            if row >= 0:  # without the Ellipsis NumPy would unpack an object that is a sequence
                out[(*unravel(row, plan.leading), ...)] = updates[(*unravel(number, plan.tuples), ...)]


def _rows(data: Array, axes: tuple[int, ...], rows: NDArray[np.int64]) -> Array:
    """The rows of data with these row ids."""
    # Without axes of size 1: NumPy takes fewer index arrays than an array may have axes.
    data = data[(*(0 if n == 1 else slice(None) for n in axes), ...)]
    axes = tuple(n for n in axes if n != 1)
    if not axes:
        return np.broadcast_to(data, (len(rows), *data.shape))
    if len(rows) == 0:
        return np.empty((0, *data.shape[len(axes) :]), data.dtype)
    found: Array = data[np.unravel_index(rows, axes)]
    return found
