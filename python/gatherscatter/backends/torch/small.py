"""Small calls, which take less time than their plan: the kernels' fast path, with gradients.

Each function returns None if it cannot do a call, or if the call is an error. Then the call is made with a plan.
"""

from __future__ import annotations

import math
from typing import Any

import array_api_compat.numpy as xp
import numpy as np
import torch
from torch import Tensor

from gatherscatter import threads
from gatherscatter._kernels.gather import try_gather
from gatherscatter._kernels.scatter import try_scatter
from gatherscatter.backends import derivatives
from gatherscatter.backends.base import GatherOptions, ScatterOptions
from gatherscatter.backends.numpy import BACKEND as NUMPY
from gatherscatter.backends.torch import memory
from gatherscatter.backends.torch.operators import IndexingByOptions, Options
from gatherscatter.operators import AXIS, ELEMENTS, ND, Operator

_OUT = (Tensor, type(None))
_SUMS_BYTES = 1 << 18  # more take longer to fill with zeros than to make a plan for
_NATIVE_BYTES = 1 << 15  # of rows: more take longer to move than autograd's function in Python
_FORMULA_BYTES = 1 << 17  # of a result: PyTorch's threads take less time for more
_FEW = 64  # indices that are compared with one another in Python
_FLOATS = (torch.float32, torch.float64)
_CHECKED = ("raise", "promise_in_bounds")


def arrays(data: Any, indices: Any, out: Any, updates: Any) -> tuple[Any, Any, Any, Any] | None:
    """(data, indices, out, updates) as arrays on the same memory; what is no tensor, as it is.

    None if one of them needs more than `Tensor.numpy`, if `out` is no tensor, or if it is and a gradient is wanted.
    """
    # Not for subclasses of Tensor, whose results may be of the subclass.
    if type(data) not in memory.PLAIN or type(indices) is not Tensor or type(out) not in _OUT or memory.is_watched():
        return None
    is_tensor = type(updates) in memory.PLAIN
    try:
        if not (memory.fits(data) and memory.fits(indices)) or (is_tensor and not memory.fits(updates)):
            return None
        source = data.detach().numpy() if data.requires_grad else data.numpy()
        target = None
        if out is not None:
            if out.requires_grad or data.requires_grad or (is_tensor and updates.requires_grad):
                return None
            if out.is_inference() or not memory.fits(out):
                return None
            target = source if out is data else out.numpy()
        if is_tensor:
            updates = updates.detach().numpy() if updates.requires_grad else updates.numpy()
        return source, indices.numpy(), target, updates
    except (RuntimeError, TypeError, ValueError):  # ValueError: more axes than NumPy has
        return None


def gather(data: Tensor, indices: Tensor, options: Options) -> Tensor | None:
    """A gather without a gradient, with zeros outside."""
    found = arrays(data, indices, None, None)
    if found is None:
        return None
    result = _gathered(found[0], found[1], options)
    return None if result is None else torch.from_numpy(result)


def sums(shape: Any, indices: Tensor, updates: Tensor, options: Options) -> Tensor | None:
    """A scatter add into zeros, without a gradient."""
    if memory.is_watched() or math.prod(shape) * updates.element_size() > _SUMS_BYTES:
        return None
    found = arrays(updates, indices, None, None)
    if found is None:
        return None
    update, index, *_ = found
    zeros = np.zeros(shape, update.dtype)
    result = _scattered(zeros, index, update, "add", True, options, zeros)
    return None if result is None else torch.from_numpy(result)


def _gathered(data: Any, indices: Any, options: Options) -> Any:
    kind, axis, batch_dims, mode, wrap, *_ = options
    axis = 0 if kind == ND else axis
    return try_gather(kind, wrap, data, indices, axis, batch_dims, mode, 0, None, threads.limit)


def _scattered(
    data: Any, indices: Any, updates: Any, reduction: str, include_self: bool, options: Options, out: Any = None
) -> Any:
    kind, axis, batch_dims, mode, wrap, *_ = options
    axis = 0 if kind == ND else axis
    return try_scatter(
        kind, wrap, data, indices, updates, axis, batch_dims, reduction, mode, include_self, out, threads.limit
    )


# Gradients: the formulas on NumPy arrays, each step of which takes half the time of one on tensors


class _Indexing(IndexingByOptions):
    """Gathers and scatters on arrays by the indices of one call."""

    xp = xp
    integer = np.int32

    def gather(self, data: Any) -> Any:
        data = np.asarray(data)  # arithmetic on arrays of rank 0 gives scalars
        options = self.options._replace(mode="fill") if self.options.mode == "drop" else self.options
        result = _gathered(data, self.indices, options)
        if result is None:
            plan = options.plan(False, data.shape, self.indices.shape)
            result = NUMPY.gather(data, self.indices, plan, 0, None)
        return result

    def scatter(self, data: Any, updates: Any, reduction: str, include_self: bool = True) -> Any:
        data, updates = np.asarray(data), np.asarray(updates)
        result = _scattered(data, self.indices, updates, reduction, include_self, self.options)
        if result is None:
            plan = self.options.plan(True, data.shape, self.indices.shape, reduction, include_self)
            result = NUMPY.scatter(data, self.indices, updates, plan, None)
        return result

    def integers(self, shape: Any, value: int) -> Any:
        return np.full(shape, value)

    def numbers(self, shape: Any) -> Any:
        return np.arange(1, math.prod(shape) + 1).reshape(shape)


def scatter_vjp(
    indices: Tensor, values: Any, grad: Tensor, reduction: str, include_self: bool, options: Options, wants: Any
) -> tuple[Any, Any] | None:
    """The gradients of data and updates: see `derivatives.scatter_vjp`. values: what is saved of a scatter."""
    if memory.is_watched() or not memory.is_plain(indices, grad, *values):  # first: in a trace, sizes are symbols
        return None
    if grad.dtype not in _FLOATS or max(grad.nbytes, indices.nbytes) > _FORMULA_BYTES:
        return None
    found = memory.as_numpy(indices, grad, *values)
    if found is None:
        return None
    index, slope, *arrays = found
    data, updates, result, *_ = (*arrays, None, None, None)
    at = _Indexing(index, slope.shape, options)
    with np.errstate(all="ignore"):  # infinities and NaN are no reason for a warning in PyTorch
        gradients = derivatives.scatter_vjp(at, reduction, include_self, data, updates, result, slope, wants)
    to_data, to_updates = (
        None if g is None else grad if g is slope else torch.from_numpy(np.asarray(g)) for g in gradients
    )
    return to_data, to_updates


# With a gradient: a function of autograd in Python takes longer than a small call of PyTorch's own primitives. They
# are called where they do the same, once the kernels have found all indices in bounds and none negative.


def native_gather(op: Operator, data: Tensor, indices: Tensor, options: GatherOptions, found: Any) -> Tensor | None:
    """A gather by PyTorch's primitive. found: the arguments as arrays."""
    axis, batch_dims, mode, fill_value = options
    if not _is_native(op, indices, batch_dims, mode):
        return None
    checked = try_gather(op.kind, False, found[0], found[1], axis, 0, mode, fill_value, None, threads.limit)
    if checked is None or checked.nbytes > _NATIVE_BYTES:
        return None
    result: Tensor
    if op.kind == ND:
        result = data[indices.unbind(-1)]
    elif op.kind == ELEMENTS:
        result = data.gather(axis, indices)
    else:
        result = data.index_select(axis, indices)
    return result


def native_scatter(
    op: Operator, data: Tensor, indices: Tensor, updates: Tensor, options: ScatterOptions, found: Any
) -> Tensor | None:
    """A scatter by PyTorch's primitive. found: the arguments as arrays."""
    axis, batch_dims, reduction, mode, include_self = options
    if (
        op.kind == ND
        or include_self is not True
        or type(reduction) is not str
        or data.dtype not in _FLOATS
        or updates.dtype is not data.dtype
    ):
        return None
    if not _is_native(op, indices, batch_dims, mode) or updates.nbytes > _NATIVE_BYTES:
        return None
    if reduction == "none":  # PyTorch does not specify which update wins, and gives all of them a gradient
        if op.kind != AXIS or len(indices) > _FEW or len(set(indices.tolist())) < len(indices):
            return None
    elif reduction != "add":
        return None
    # A gather by these indices checks the bounds, and its result has the shape that updates must have.
    checked = try_gather(op.kind, False, found[0], found[1], axis, 0, mode, 0, None, threads.limit)
    if checked is None or checked.shape != found[3].shape:
        return None
    add = data.scatter_add if op.kind == ELEMENTS else data.index_add
    result: Tensor = (data.index_copy if reduction == "none" else add)(axis, indices, updates)
    return result


def _is_native(op: Operator, indices: Tensor, batch_dims: Any, mode: Any) -> bool:
    """Whether PyTorch has a primitive for indices that are in bounds and not negative."""
    # Other types of options, such as arrays, are for the messages.
    if type(batch_dims) is not int or batch_dims or type(mode) is not str or mode not in _CHECKED:
        return False
    if indices.dtype is not torch.int64:
        return False
    if op.kind == ND:
        return indices.ndim > 1 and indices.shape[-1] > 0
    return op.kind == ELEMENTS or indices.ndim == 1
