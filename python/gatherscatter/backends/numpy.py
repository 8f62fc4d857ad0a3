"""NumPy arrays, on the compiled kernels."""

from __future__ import annotations

import contextlib
import itertools
import math
import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gatherscatter import errors, memory, threads, values
from gatherscatter._kernels.gather import true_elements, try_gather
from gatherscatter._kernels.scatter import try_scatter
from gatherscatter.backends import kernels, references
from gatherscatter.backends.base import Backend, GatherOptions, ScatterOptions
from gatherscatter.backends.library import each, merged_shape
from gatherscatter.backends.overlap import may_overlap_itself, share_memory
from gatherscatter.operators import ARRAYS, AXIS, Operator
from gatherscatter.plan import Plan

Array = NDArray[Any]
Indices = kernels.Indices

# The number of elements of a non-contiguous mask that are copied at a time.
_PIECE = 1 << 16

# Bytes. More zeros are one, repeated: the kernels fill a result with it. np.broadcast_to takes as long as a small call.
_MOST_ZEROS = 1 << 17


class NumPyBackend(Backend):
    """Arrays of NumPy, and calls with lists and scalars only."""

    name = "NumPy"
    array_name = "numpy.ndarray"
    takes_numpy_indices = True
    uses_orders = True
    where_name = "numpy.where"

    def owns(self, value: Any) -> bool:
        return isinstance(value, np.ndarray)

    def namespace(self, array: Any) -> Any:
        return np

    def asarray(self, value: Any, like: Any) -> Array:
        return np.asarray(value)

    def as_argument(self, op: Operator, argument: str, value: Any, like: Any) -> Array:
        array: Array = super().as_argument(op, argument, value, like)
        if argument == "indices" and array.dtype == np.int32 and isinstance(value, (list, tuple, int)):
            return array.astype(np.int64)  # NumPy's default has 32 bits in Pyodide, and some dialects take int64 alone
        return array

    def plain(self, array: Any) -> Any:
        return array if type(array) is np.ndarray else np.asarray(array)

    def numpy_dtype(self, array: Any) -> np.dtype[Any]:
        dtype: np.dtype[Any] = array.dtype
        return dtype

    def from_numpy(self, array: Array, like: Any) -> Array:
        return array

    def try_gather(self, op: Operator, data: Any, indices: Any, options: GatherOptions, out: Any) -> Array | None:
        return try_gather(op.kind, op.wrap_negative_indices, data, indices, *options, out, threads.limit, op)

    def try_scatter(
        self, op: Operator, data: Any, indices: Any, updates: Any, options: ScatterOptions, out: Any
    ) -> Array | None:
        return try_scatter(op.kind, op.wrap_negative_indices, data, indices, updates, *options, out, threads.limit, op)

    def gather(self, data: Array, indices: Indices, plan: Plan, fill_value: Any, out: Array | None) -> Array:
        """`indices`: for kind ARRAYS, a tuple of arrays of one shape; as in `scatter`."""
        _check_index_dtype(indices, plan, data)
        _check_unused(indices, plan)
        fill = None
        if kernels.MODES[plan.mode] == kernels.SKIP:
            fill = values.element(plan.operator, "fill_value", fill_value, data.dtype)
        if out is None:
            return _gather(data, indices, plan, fill)
        target = self._checked_out(plan, out, data, plan.shape)
        if (
            data.dtype.hasobject
            or share_memory(target, data)
            or _overlaps_indices(target, indices)
            or may_overlap_itself(target)
        ):
            target[...] = _gather(data, indices, plan, fill)
            return out
        kernels.check(kernels.gather(plan, data, indices, target, fill, checks_first=True), indices, plan)
        return out

    def scatter(self, data: Array, indices: Indices, updates: Any, plan: Plan, out: Array | None) -> Array:
        self.check_reduction(plan, data)
        _check_index_dtype(indices, plan, data)
        if isinstance(updates, np.ndarray):
            updates = self.fit_updates(plan, self.plain(updates), data)
        else:
            updates = self.as_updates(plan, updates, data)
        if data.dtype.kind in "mM" and plan.reduction != "none":
            return self._scatter_dates(data, indices, updates, plan, out)
        _check_unused(indices, plan)
        if out is None and _is_sooner_native(plan, data, updates):
            with contextlib.suppress(MemoryError):  # the call is possible without it
                return self._scatter_native(data, indices, updates, plan)
        if out is None:
            result = memory.empty(data.shape, data.dtype)
            _scatter(result, data, indices, updates, plan)
            return result
        target = self._checked_out(plan, out, data, data.shape)
        in_place = _is_same(target, data)
        if (
            data.dtype.hasobject
            or (not in_place and share_memory(target, data))
            or _overlaps_indices(target, indices)
            or share_memory(target, updates)
            or may_overlap_itself(target)
        ):
            target[...] = self.scatter(data, indices, updates, plan, None)
            return out
        _scatter(target, None if in_place else data, indices, updates, plan, checks_first=True)
        return out

    def _scatter_native(self, data: Array, indices: Indices, updates: Array, plan: Plan) -> Array:
        """A scatter into a new array, computed in native byte order."""
        native = data.dtype.newbyteorder("=")
        result = memory.empty(data.shape, native)
        result[...] = data
        _scatter(result, None, indices, updates.astype(native), plan)
        return result.byteswap(inplace=True).view(data.dtype)

    def _scatter_dates(self, data: Array, indices: Indices, updates: Array, plan: Plan, out: Any) -> Array:
        """A maximum or minimum, of the dates' numbers.

        NaT is the lowest int64. For a maximum all are shifted by one, which makes it the highest.
        """
        native, shift = data.dtype.newbyteorder("="), int(plan.reduction == "max")
        if out is not None:
            self.check_out(plan, out, data, data.shape)
        numbers = np.asarray(data.astype(native, copy=False).view(np.int64) - shift)
        terms = np.asarray(updates.astype(native, copy=False).view(np.int64) - shift)
        result = self.scatter(numbers, indices, terms, plan, None)
        result += shift
        return self.deliver(plan, result.view(native).astype(data.dtype, copy=False), out)

    def gather_scatter(self, arrays: Sequence[Any], to: Plan, of: Plan, out: Any) -> Any:
        data, indices, source, source_indices, *weights = arrays
        if data.dtype.hasobject or not source.flags.c_contiguous:
            return None
        self.check_reduction(to, data)
        if data.dtype.kind in "mM" and to.reduction != "none":
            return None
        for array in (indices, source_indices):
            if array.dtype.kind not in "iu":
                return None
        target = None if out is None else self._checked_out(to, out, data, data.shape)
        if target is not None and (
            may_overlap_itself(target)
            or (not _is_same(target, data) and share_memory(target, data))
            or _overlaps_indices(target, tuple(arrays[1:]))
        ):
            return None
        rows = kernels.numbers(of, source_indices)
        result = memory.empty(data.shape, data.dtype) if target is None else target
        kept = target is not None and _is_same(target, data)
        status = kernels.gather_scatter(
            to, of, None if kept else data, indices, source, rows, result, target is not None,
            np.ascontiguousarray(weights[0]) if weights else None,
        )  # fmt: skip
        if status == kernels.UNSUITED:
            return None
        kernels.check(status, indices, to)
        return result if out is None else out

    def readable(self, op: Operator, **arguments: Any) -> list[values.Array] | None:
        return [one for _, one in each(arguments) if isinstance(one, np.ndarray)]

    def is_writable(self, array: Any) -> bool:
        return bool(array.flags.writeable)

    def addresses(self, array: Any) -> Array:
        found: Array = self.plain(array)
        return found

    def writes_views(self, array: Any) -> bool:
        return not may_overlap_itself(array)

    def scatter_wide(self, data: Array, indices: Array, updates: Any, plan: Plan, out: Array | None) -> Array:
        """By the kernels, which need no wide copy."""
        return self.scatter(data, indices, updates, plan, out)

    def zeros(self, shape: tuple[int, ...], like: Any) -> Array:
        if not _MOST_ZEROS < math.prod(shape) * like.dtype.itemsize <= sys.maxsize:
            return np.zeros(shape, like.dtype)  # which raises an error for a shape that is too large
        return np.broadcast_to(np.zeros((), like.dtype), shape)

    def dtype_of(self, name: str, like: Any) -> Any:
        return like.dtype if name == self.dtype_name(like) else np.dtype(name)

    def astype(self, array: Any, dtype: Any) -> Array:
        result: Array = array.astype(dtype, copy=False)  # NumPy 2.0 has no astype function
        return result

    def product(self, a: Any, b: Any) -> Any:
        """With each step of complex products rounded: on some CPUs `numpy.multiply` fuses two."""
        with np.errstate(all="ignore"):
            if a.dtype.kind != "c":
                return a * b
            result = np.empty(np.broadcast_shapes(a.shape, b.shape), a.dtype)
            real, imag = result.real, result.imag
            np.multiply(a.imag, b.imag, out=imag)
            np.multiply(a.real, b.real, out=real)
            real -= imag
            np.multiply(a.real, b.imag, out=imag)
            imag += a.imag * b.real
        return result

    def as_updates(self, plan: Plan, updates: Any, data: Array) -> Array:
        return values.updates(plan.operator, updates, plan.shape, data.dtype)

    def negative(self, array: Any) -> Array:
        """In the array's byte order."""
        result: Array = np.negative(array, out=np.empty_like(array))
        return result

    def dtype_name(self, array: Any) -> str:
        return _name(array.dtype)

    def _checked_out(self, plan: Plan, out: Any, data: Array, shape: tuple[int, ...]) -> Array:
        """The array that is written for `out`, which may be of a subclass."""
        self.check_out(plan, out, data, shape)
        target: Array = self.plain(out)
        return target

    def check_out(self, plan: Plan, out: Any, data: Any, shape: tuple[int, ...]) -> None:
        if is_masked(out):
            raise errors.out_type(plan.operator, out, self.array_name)
        target = self.plain(out) if self.owns(out) else out
        super().check_out(plan, target, data, shape)

    def check_memory(self, op: Operator, *outs: Any) -> None:
        if not all(out.flags.writeable for out in outs):
            raise errors.out_read_only(op)
        super().check_memory(op, *outs)

    def check_devices(self, plan: Plan, data: Any, **others: Any) -> None:
        """NumPy has one device."""

    # For `at`

    def nonzero(self, mask: Any, flat: bool) -> tuple[Any, ...]:
        found = _true_elements(mask)
        return (found,) if flat or mask.ndim == 1 else np.unravel_index(found, mask.shape)

    def merged(self, array: Any, axis: int, depth: int) -> Array | None:
        shape = array.shape
        if array.size:
            axes = [a for a in range(axis, axis + depth) if shape[a] > 1]
            for outer, inner in itertools.pairwise(axes):
                if array.strides[outer] != array.strides[inner] * shape[inner]:
                    return None
        result: Array = array.reshape(merged_shape(shape, axis, depth))
        return result

    def copied(self, array: Any) -> Array:
        return self.selected(array, (...,))

    def selected(self, array: Any, key: tuple[Any, ...]) -> Array:
        part = array[key]
        result = memory.empty(part.shape, part.dtype)
        result[...] = part
        return result


@lru_cache(maxsize=256)  # NumPy builds the name each time, which takes as long as a small call
def _name(dtype: np.dtype[Any]) -> str:
    return "str" if dtype.kind in "USOT" else str(dtype.name)


def _true_elements(mask: Array) -> Array:
    """The row-major numbers of a mask's true elements. A mask that is not contiguous is copied in parts."""
    if mask.flags.c_contiguous or mask.size <= _PIECE:
        found: Array = true_elements(np.ascontiguousarray(mask), memory.empty, threads.limit)
        return found
    width = mask.size // len(mask)
    n = max(_PIECE // width, 1)
    dtype = np.dtype(np.int32 if mask.size < 1 << 31 else np.int64)
    return np.concatenate([
        _true_elements(mask[start : start + n]).astype(dtype) + dtype.type(start * width)
        for start in range(0, len(mask), n)
    ])  # fmt: skip


def _gather(data: Array, indices: Indices, plan: Plan, fill: Array | None) -> Array:
    """A gather into a new array."""
    result = memory.empty(plan.shape, data.dtype)
    status = kernels.gather(plan, data, indices, result, fill)
    if status == kernels.REFERENCES:
        references.gather(result, data, indices, plan, fill)
    else:
        kernels.check(status, indices, plan)
    return result


def _is_sooner_native(plan: Plan, data: Array, updates: Array) -> bool:
    """Whether to reduce copies in native byte order: the kernels reverse the bytes of one element at a time."""
    swapped = plan.reduction != "none" and not data.dtype.isnative and data.dtype.kind in "iufc"
    repeats = any(step == 0 and n > 1 for step, n in zip(updates.strides, updates.shape, strict=True))
    return swapped and data.size <= 4 * updates.size and not repeats


def _scatter(
    out: Array, data: Array | None, indices: Indices, updates: Array, plan: Plan, checks_first: bool = False
) -> None:
    """A scatter into `out`. data: copied to `out` first; None if `out` holds it already.

    checks_first: if the call fails, nothing is written.
    """
    if out.dtype.hasobject:
        references.assign(out, data, indices, updates, plan)
        return
    kernels.check(kernels.scatter(plan, data, indices, updates, out, checks_first), indices, plan)


def _check_index_dtype(indices: Indices, plan: Plan, data: Array) -> None:
    for array in indices if isinstance(indices, tuple) else (indices,):
        if array.dtype.kind not in "iu":
            raise errors.index_dtype(plan.operator, array.dtype, data.dtype)


def _check_unused(indices: Indices, plan: Plan) -> None:
    """Check indices that no kernel reads, because an axis of data before the indexed one is empty."""
    if plan.kind not in (AXIS, ARRAYS) or 0 not in plan.data[plan.batch_dims : plan.axis]:
        return
    # Check with a plan in which those axes have size 1.
    data = plan.outer + plan.data[plan.axis :]
    tuples = data[: plan.axis] + plan.tuples[plan.axis :]
    kernels.check_indices(plan._replace(tuples=tuples), np.broadcast_to(np.zeros((), np.uint8), data), indices)


def is_masked(array: Any) -> bool:
    """Whether an object is a masked array, without importing numpy.ma: there is none before that is imported."""
    ma = None if type(array) is np.ndarray else sys.modules.get("numpy.ma")
    return ma is not None and isinstance(array, ma.MaskedArray)


def _is_same(a: Array, b: Array) -> bool:
    """Whether two arrays of equal shape are views of the same elements."""
    return a is b or (a.ctypes.data == b.ctypes.data and a.strides == b.strides)


def _overlaps_indices(out: Array, indices: Indices) -> bool:
    # No generator: Python 3.11 keeps a reference to `out` where it has no memory to enter one.
    for array in indices if isinstance(indices, tuple) else (indices,):  # noqa: SIM110
        if share_memory(out, array):
            return True
    return False


BACKEND = NumPyBackend()
