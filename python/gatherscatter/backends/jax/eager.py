"""Calls outside of traces on arrays of one CPU device: the kernels, on NumPy arrays that share JAX's memory.

A jax.Array never changes, so nothing here writes to an array that shares memory with one: the kernels write to memory
that no jax.Array has yet.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from gatherscatter import memory
from gatherscatter.backends import kernels
from gatherscatter.backends.numpy import BACKEND as NUMPY
from gatherscatter.operators import ARRAYS
from gatherscatter.plan import Plan

# Dtypes that NumPy and the kernels have too. (JAX's bfloat16 is that of ml_dtypes.)
_DTYPES = frozenset(
    np.dtype(name)
    for name in (
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "float16", jnp.bfloat16, "float32", "float64", "complex64", "complex128",
    )
)  # fmt: skip
_BYTES = np.dtype(np.uint8)

# XLA shares memory that is aligned to so many bytes and copies other memory.
_ALIGNMENT = 64
# Below so many bytes a copy takes less time than the call that shares memory.
_SMALL = 1 << 16

_copied = jax.jit(lambda array: jnp.asarray(array))  # asarray: with jax.disable_jit, the argument is NumPy's


class Shared:
    """Arrays of one CPU device, as NumPy arrays on the same memory.

    Attributes
    ----------
    arrays : list of ndarray
        Read-only.
    device : Device or None
        The device that a result is committed to, if an array is. JAX's own results have the same.
    """

    __slots__ = ("arrays", "device")

    def __init__(self, arrays: list[NDArray[Any]], device: Any) -> None:
        self.arrays = arrays
        self.device = device

    def result(self, array: NDArray[Any]) -> Any:
        """A result as a JAX array. The NumPy array is not used for anything else."""
        with jax.transfer_guard_host_to_device("allow"):  # nothing leaves the CPU
            if self.device is None and array.nbytes < _SMALL:
                return _copied(array)
            return jax.device_put(array, self.device)


def share(*arrays: Any) -> Shared | None:
    """The arrays for the kernels; None if one is traced, on another device than the others, or of another dtype.

    NumPy arrays may be among them, as constants of a traced function are.
    """
    device = target = None
    for array in arrays:
        if isinstance(array, jax.core.Tracer) or array.dtype not in _DTYPES:  # pyright: ignore[reportAttributeAccessIssue]
            return None
        if not isinstance(array, Array):
            continue
        if device is None:
            device = array.device
            if getattr(device, "platform", "") != "cpu":  # an array on several devices has a sharding for a device
                return None
        elif array.device != device:
            return None
        if array.committed:
            target = device
    return Shared([np.asarray(array) for array in arrays], target)


def gather(data: Any, indices: Any, plan: Plan, fill: NDArray[Any] | None) -> Array | None:
    """A gather by the kernels; None if they cannot. fill: of data's dtype and rank 0, for mode "fill"."""
    is_tuple = plan.kind == ARRAYS
    shared = share(data, *indices) if is_tuple else share(data, indices)
    if shared is None:
        return None
    source, *each = shared.arrays
    index = tuple(np.broadcast_to(one, plan.tuples[plan.axis :]) for one in each) if is_tuple else each[0]
    if 0 in plan.data:  # the indices may select nothing, but are checked
        return shared.result(NUMPY.gather(source, index, plan, 0 if fill is None else fill[()], None))
    result = _empty(plan.shape, source.dtype)
    kernels.check(kernels.gather(plan, source, index, result, fill), index, plan)
    return shared.result(result)


def scatter(data: Any | None, indices: Any, updates: Any, plan: Plan) -> Array | None:
    """A scatter by the kernels; None if they cannot. data: None for zeros."""
    is_tuple = plan.kind == ARRAYS
    each = indices if is_tuple else (indices,)
    shared = share(updates, *each, *(() if data is None else (data,)))
    if shared is None:
        return None
    update, *rest = shared.arrays
    index = tuple(np.broadcast_to(one, plan.tuples[plan.axis :]) for one in rest[: len(each)]) if is_tuple else rest[0]
    rest = rest[len(each) :]
    update = np.broadcast_to(update, plan.shape)
    # Zeros of NumPy take no time to make, and little to read: the system maps them to one page.
    source = rest[0] if rest else np.zeros(plan.data, update.dtype)
    if 0 in plan.data or not source.flags.c_contiguous:
        return shared.result(NUMPY.scatter(source, index, update, plan, None))
    result = _empty(plan.data, update.dtype)
    kernels.check(kernels.scatter(plan, source, index, update, result), index, plan)
    return shared.result(result)


def check_indices(indices: Any, plan: Plan) -> bool:
    """Raise the error for a bad index; False if the kernels cannot check the indices."""
    shared = None if 0 in plan.data else share(indices)
    if shared is None:
        return False
    kernels.check_indices(plan, np.broadcast_to(np.zeros((), _BYTES), plan.data), shared.arrays[0])
    return True


def _empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """An array whose memory XLA can share."""
    size = math.prod(shape) * dtype.itemsize
    if size < _SMALL:
        return np.empty(shape, dtype)
    larger = memory.empty((size + _ALIGNMENT,), _BYTES)
    start = -larger.ctypes.data % _ALIGNMENT
    return larger[start : start + size].view(dtype).reshape(shape)
