"""Small calls with a gradient: the forward pass.

PyTorch's own operators have less overhead than a ``torch.autograd.Function``. They are used for calls whose result is
the same, if all indices are in bounds and none is negative. The kernels' fast path takes the others, and a ``Function``
records them. Each function returns None for a call that needs a plan.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gatherscatter import plan as plans
from gatherscatter import threads
from gatherscatter._kernels import torch_tensors
from gatherscatter._kernels.gather import try_gather
from gatherscatter._kernels.scatter import try_scatter
from gatherscatter.backends.torch import autograd, operators, small_calls
from gatherscatter.operators import AXIS, ELEMENTS, ND, Operator

_FEW = 64  # indices that are compared with one another in Python
_FLOATS = (torch.float32, torch.float64)
_COMPLEX = (torch.complex64, torch.complex128)
_HALVES = (torch.float16, torch.bfloat16)
_CHECKED = ("raise", "promise_in_bounds")


def gather(
    kind: int, wrap: Any, data: Tensor, indices: Tensor, axis: Any, batch_dims: Any, mode: Any, fill_value: Any,
    source: Any, index: Any, op: Operator,
) -> Tensor | None:  # fmt: skip
    """A gather. source, index: data and indices as arrays."""
    if _gathers(kind, data, batch_dims, mode, axis, source, index):
        return _by_primitive(kind, data, indices, axis, source, index)
    result = try_gather(kind, wrap, source, index, axis, batch_dims, mode, fill_value, None, threads.limit, op)
    if result is None:
        return None
    options = _options(op, wrap, source, axis, batch_dims, mode)
    return autograd.with_gather(small_calls.tensor(result, data), data, indices, options)


def scatter(
    kind: int, wrap: Any, data: Tensor, indices: Tensor, updates: Tensor, axis: Any, batch_dims: Any, reduction: Any,
    mode: Any, include_self: Any, source: Any, index: Any, update: Any, op: Operator,
) -> Tensor | None:  # fmt: skip
    """A scatter. source, index, update: data, indices and updates as arrays."""
    if (
        include_self is True
        and data.dtype in _FLOATS
        and updates.dtype is data.dtype
        and _scatters(kind, reduction, index)
        and _is_checked(kind, index, batch_dims, mode)
        and torch_tensors.fitting_shape(kind, source, index, axis, 0) == update.shape
    ):
        if reduction == "none":
            return data.index_copy(axis, indices, updates)
        if kind == ELEMENTS:
            return data.scatter_add(axis, indices, updates)
        if axis == 0 and source.ndim > 1:  # index_add starts threads
            return data.index_put((indices,), updates, accumulate=True)
        return data.index_add(axis, indices, updates)
    result = try_scatter(
        kind, wrap, source, index, update, axis, batch_dims, reduction, mode, include_self, None, threads.limit, op
    )
    if result is None:
        return None
    options = _options(op, wrap, source, axis, batch_dims, mode)
    new = small_calls.tensor(result, data)
    return autograd.with_scatter(new, data, indices, updates, reduction, include_self, options)


def _gathers(kind: int, data: Tensor, batch_dims: Any, mode: Any, axis: Any, source: Any, index: Any) -> bool:
    """Whether PyTorch has a primitive for a gather."""
    by_rows = kind == AXIS and type(axis) is int and axis == 0 and source.ndim > 1
    return (
        # The gradients of the other primitives are sums of halves in float32.
        (data.dtype in _FLOATS or data.dtype in _COMPLEX or (by_rows and data.dtype in _HALVES))
        # With more axes of indices, the order of the gradient's sums depends on its strides.
        and not (kind == ND and index.ndim > 2)
        and _is_checked(kind, index, batch_dims, mode)
        and torch_tensors.fitting_shape(kind, source, index, axis, 0) is not None
    )


def _by_primitive(kind: int, data: Tensor, indices: Tensor, axis: int, source: Any, index: Any) -> Tensor:
    if kind == ND:
        return data[indices.unbind(-1)]
    if kind == ELEMENTS:
        return data.gather(axis, indices)
    if axis == 0 and source.ndim > 1:
        # The gradient of index_select starts threads. These two sum in the same order, on one thread. The first has
        # none for complex numbers, and no second derivative without indices.
        is_embedding = source.ndim == 2 and index.size > 0 and data.dtype not in _COMPLEX
        return torch.embedding(data, indices) if is_embedding else data[indices]
    return data.index_select(axis, indices)


def _scatters(kind: int, reduction: Any, index: Any) -> bool:
    """Whether PyTorch has a primitive for a reduction. It does not specify which of two updates wins."""
    if type(reduction) is not str or kind == ND:
        return False
    if reduction == "none":
        return kind == AXIS and index.ndim == 1 and len(index) <= _FEW and len(set(index.tolist())) == len(index)
    return reduction == "add"


def _is_checked(kind: int, index: Any, batch_dims: Any, mode: Any) -> bool:
    """Whether PyTorch has a primitive for indices that are in bounds and not negative."""
    # Other types of options, such as arrays, are for the messages.
    if type(batch_dims) is not int or batch_dims or type(mode) is not str or mode not in _CHECKED:
        return False
    if kind == AXIS:
        return bool(index.ndim == 1)
    return kind == ELEMENTS or (index.ndim > 1 and index.shape[-1] > 0)


def _options(op: Operator, wrap: bool, source: Any, axis: int, batch_dims: int, mode: str) -> operators.Options:
    """Options of a small call, in the form that a plan uses."""
    op = plans.without_negatives(op, wrap)
    return operators.Options(op, axis if axis >= 0 else axis + source.ndim, batch_dims, mode)
