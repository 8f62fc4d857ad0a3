"""Dask arrays: lazily, chunk by chunk, on any scheduler.

Indices and updates are sent to the chunks of data that they select from, and only the selected rows are sent back.
Tasks call the public functions on chunks, so each chunk is handled by the backend of its library. If indices are a
NumPy array, they are checked at the call, and only the chunks that they select from get tasks.

``layout.py`` matches chunks of indices and data, ``tasks.py`` has the tasks' functions, ``graphs.py`` builds graphs,
and ``scans.py`` those of scans.
"""

from __future__ import annotations

from math import isnan
from typing import Any

import array_api_compat.dask.array as xp
import dask.array as da
import numpy as np

from gatherscatter import errors, values
from gatherscatter.backends.base import Backend
from gatherscatter.backends.dask import graphs, scans, tasks
from gatherscatter.backends.dask.layout import Axes, is_known
from gatherscatter.backends.numpy import BACKEND as NUMPY
from gatherscatter.plan import Plan


class DaskChunks:
    """See `Chunked`."""

    def segments(self, data: Any, ids: Any, skipna: bool) -> Any:
        from gatherscatter.backends.dask.segments import ChunkedSegments

        return ChunkedSegments(data, ids, skipna)

    def scanned(self, data: Any, ids: Any, dtype: str, reverse: bool, function: Any) -> Any:
        return scans.scan(graphs.chunked(data), ids, dtype, reverse, function)

    def mapped(self, array: Any, function: Any) -> Any | None:
        if isinstance(array, np.ndarray):
            return None
        return da.map_blocks(function, array, dtype=np.int64, meta=np.empty((0,) * array.ndim, np.int64))

    def by_segments(
        self, data: Any, ids: Any, layout: Any, function: Any, lead: tuple[int, ...], n: int, dtype: str
    ) -> Any:
        if any(isinstance(getattr(array, "_meta", None), np.ma.MaskedArray) for array in (data, ids)):
            raise errors.masked(layout.operator, "data")
        return graphs.by_segments(data, ids, layout, function, lead, n, dtype)


class DaskBackend(Backend):
    """Arrays of Dask, alone or mixed with NumPy arrays."""

    name = "Dask"
    array_name = "dask.array.Array"
    mixes_with = ("NumPy",)
    takes_numpy_indices = True
    chunked = DaskChunks()
    has_negative_steps = False
    where_name = "dask.array.where"
    unknown_name = "Dask"

    def owns(self, value: Any) -> bool:
        return isinstance(value, da.Array)

    def namespace(self, array: Any) -> Any:
        return np if isinstance(array, np.ndarray) else xp

    def asarray(self, value: Any, like: Any) -> Any:
        """Lists and scalars become NumPy arrays, whose values are known when the graph is built."""
        return np.asarray(value)

    def from_numpy(self, array: values.Array, like: Any) -> Any:
        return array

    def numpy_dtype(self, array: Any) -> np.dtype[Any]:
        """Dask's dtypes are NumPy's."""
        dtype: np.dtype[Any] = array.dtype
        return dtype

    def zeros(self, shape: tuple[int, ...], like: Any) -> Any:
        return self.namespace(like).zeros(shape, dtype=like.dtype)

    def negative(self, array: Any) -> Any:
        return -array

    def gather(self, data: Any, indices: Any, plan: Plan, fill_value: Any, out: Any) -> Any:
        self._check(plan, data, indices, out)
        if plan.mode == "fill":
            values.element(plan.operator, "fill_value", fill_value, data.dtype)
        axes = Axes.of(plan, indices.ndim)
        data = graphs.chunked(data)
        layout, indices, _ = graphs.lay_out(plan, axes, data, indices)
        return graphs.gather(layout, data, indices, fill_value)

    def scatter(self, data: Any, indices: Any, updates: Any, plan: Plan, out: Any) -> Any:
        self.check_reduction(plan, data)
        self._check(plan, data, indices, out)
        scalar = None
        if isinstance(updates, (list, tuple)):
            updates = values.updates(plan.operator, updates, plan.shape, data.dtype)
        elif isinstance(updates, values.TYPES):
            values.element(plan.operator, "updates", updates, data.dtype)
            updates, scalar = None, updates
        else:
            updates = self.fit_updates(plan, updates, data)
        axes = Axes.of(plan, indices.ndim)
        data = graphs.chunked(data)
        layout, indices, updates = graphs.lay_out(plan, axes, data, indices, updates)
        return graphs.scatter(layout, data, indices, updates, scalar)

    def fit_updates(self, plan: Plan, updates: Any, data: Any) -> Any:
        if isinstance(getattr(updates, "_meta", None), np.ma.MaskedArray):
            raise errors.masked(plan.operator, "updates")
        updates = self.cast_updates(plan.operator, updates, data)
        if len(updates.shape) == len(plan.shape):  # unknown sizes are checked in the tasks
            pairs = list(zip(updates.shape, plan.shape, strict=True))
            if any(isinstance(n, float) or isinstance(m, float) for n, m in pairs):
                if not all(isinstance(n, float) or isinstance(m, float) or n == m for n, m in pairs):
                    raise errors.updates_shape(plan.operator, updates.shape, plan.shape)
                return updates
        elif not is_known(plan.data):  # to which nothing can be broadcast
            raise errors.unknown_size(plan.operator, "data", list(map(isnan, plan.data)).index(True))
        return super().fit_updates(plan, updates, data)

    def astype(self, array: Any, dtype: Any) -> Any:
        return array.astype(dtype)

    def product(self, a: Any, b: Any) -> Any:
        return da.core.elemwise(tasks.product, a, b, dtype=a.dtype)

    def dtype_of(self, name: str, like: Any) -> Any:
        return np.dtype(name)

    def check_out(self, plan: Plan, out: Any, data: Any, shape: tuple[int, ...]) -> None:
        raise errors.cannot(self.name, plan.operator, "out=", "a Dask array is computed later; use the returned array")

    def check_devices(self, plan: Plan, data: Any, **others: Any) -> None:
        """Dask's arrays have no device, and NumPy's, with which they mix, have one."""

    # For `at`

    def is_writable(self, array: Any) -> bool:
        return False

    def is_unknown(self, array: Any) -> bool:
        return isinstance(array, da.Array)

    def as_numpy(self, array: Any) -> values.Array | None:
        """Nothing is computed at the call."""
        return array if isinstance(array, np.ndarray) else None

    def nonzero(self, mask: Any, flat: bool) -> tuple[Any, ...]:
        return NUMPY.nonzero(mask, flat)  # others are unknown

    def masked(self, array: Any, key: tuple[Any, ...]) -> Any | None:
        """By Dask's own indexing, which takes one mask of one axis, or of all if their sizes are known."""
        arrays = [item for item in key if isinstance(item, da.Array)]
        if len(arrays) != 1 or not all(item is Ellipsis or isinstance(item, (slice, da.Array)) for item in key):
            return None
        n = arrays[0].ndim
        return array[key] if n == 1 or (n == array.ndim and is_known(array.shape)) else None

    def selected(self, array: Any, key: tuple[Any, ...]) -> Any | None:
        return None

    def replaced(self, plan: Plan, array: Any, key: tuple[Any, ...], part: Any) -> Any:
        if 0 in part.shape:
            return array
        return graphs.replaced(array, key, part)

    def _check(self, plan: Plan, data: Any, indices: Any, out: Any) -> None:
        if out is not None:
            self.check_out(plan, out, data, plan.data)
        if hasattr(data, "expr") or hasattr(indices, "expr"):
            reason = "they have no graph yet; set the option to False before dask.array is imported"
            raise errors.cannot(self.name, plan.operator, "arrays of Dask's option array.query-planning", reason)
        for argument, array in (("data", data), ("indices", indices)):
            if isinstance(getattr(array, "_meta", None), np.ma.MaskedArray):
                raise errors.masked(plan.operator, argument)
        if indices.dtype.kind not in "iu":
            raise errors.index_dtype(plan.operator, indices.dtype, data.dtype)
        if isinstance(indices, np.ndarray):
            tasks.check(indices, plan)


BACKEND = DaskBackend()
