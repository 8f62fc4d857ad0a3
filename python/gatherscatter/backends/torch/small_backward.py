"""The backward pass of small calls: the kernels' fast path, and the formulas of gradients on NumPy arrays.

Each function returns None for a call that needs a plan.
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
from gatherscatter.backends import derivatives, kernels
from gatherscatter.backends.numpy import BACKEND as NUMPY
from gatherscatter.backends.torch import memory, small_calls
from gatherscatter.backends.torch.operators import IndexingByOptions, Options
from gatherscatter.operators import ND

_SUMS_BYTES = 1 << 18  # more take longer to fill with zeros than to make a plan for
_FORMULA_BYTES = 1 << 17  # of a result: PyTorch's threads take less time for more
_FLOATS = (torch.float32, torch.float64)
_is_compiling = torch.compiler.is_compiling


def gather(data: Tensor, indices: Tensor, options: Options) -> Tensor | None:
    """A gather without a gradient, with zeros outside."""
    return None if _is_compiling() else _gathered(data, indices, options, small_calls.try_gather)


def sums(shape: Any, indices: Tensor, updates: Tensor, options: Options) -> Tensor | None:
    """A scatter add into zeros, without a gradient."""
    if memory.is_watched() or math.prod(shape) * updates.element_size() > _SUMS_BYTES:
        return None
    found = small_calls.arrays(updates, indices, None)
    if found is None:
        return None
    update, index, _ = found
    zeros = np.zeros(shape, update.dtype)
    result = _scattered(zeros, index, update, "add", True, options, zeros)
    return None if result is None else small_calls.tensor(result, updates)


def _gathered(data: Any, indices: Any, options: Options, attempt: Any = None) -> Any:
    kind, wrap = options.kind, options.operator.wrap_negative_indices
    axis = 0 if kind == ND else options.axis
    return (attempt or try_gather)(
        kind, wrap, data, indices, axis, options.batch_dims, options.mode, 0, None, threads.limit
    )


def _scattered(
    data: Any, indices: Any, updates: Any, reduction: str, include_self: bool, options: Options, out: Any = None
) -> Any:
    kind, wrap = options.kind, options.operator.wrap_negative_indices
    axis = 0 if kind == ND else options.axis
    return try_scatter(
        kind, wrap, data, indices, updates, axis, options.batch_dims, reduction, options.mode, include_self, out,
        threads.limit,
    )  # fmt: skip


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

    def assigned(self, grad: Any, wants: Any) -> tuple[Any, Any]:
        plan = self.options.plan(True, grad.shape, self.indices.shape, "none", True)
        return kernels.take(plan, grad, self.indices)

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
