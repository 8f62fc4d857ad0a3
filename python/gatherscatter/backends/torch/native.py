"""Small calls with a gradient, by PyTorch's primitives.

PyTorch's own operators have less overhead than a ``torch.autograd.Function``. They are used for calls whose result is
the same, after the kernels have found all indices in bounds and none negative. For other calls each function returns
None.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from gatherscatter import threads
from gatherscatter._kernels.gather import try_gather
from gatherscatter.operators import AXIS, ELEMENTS, ND

_MAX_BYTES = 1 << 15  # of rows: more take longer to move than autograd's function in Python
_FEW = 64  # indices that are compared with one another in Python
_FLOATS = (torch.float32, torch.float64)
_COMPLEX = (torch.complex64, torch.complex128)
_HALVES = (torch.float16, torch.bfloat16)
_CHECKED = ("raise", "promise_in_bounds")
_INT64 = np.dtype("int64")


def gather(
    kind: int, data: Tensor, indices: Tensor, axis: Any, batch_dims: Any, mode: Any, source: Any, index: Any
) -> Tensor | None:
    """A gather. source, index: data and indices as arrays."""
    if not _is_native(kind, index, batch_dims, mode):
        return None
    by_rows = kind == AXIS and axis == 0 and source.ndim > 1
    # The gradients of the other primitives are sums of halves in float32.
    if data.dtype not in (*_FLOATS, *_COMPLEX) and not (by_rows and data.dtype in _HALVES):
        return None
    # With more axes of indices, the order of the gradient's sums depends on its strides.
    if kind == ND and index.ndim > 2:
        return None
    checked = try_gather(kind, False, source, index, axis, 0, mode, 0, None, threads.limit)
    if checked is None or checked.nbytes > _MAX_BYTES:
        return None
    if kind == ND:
        result = data[indices.unbind(-1)]
    elif kind == ELEMENTS:
        result = data.gather(axis, indices)
    elif by_rows:
        # The gradient of index_select starts threads. These two sum in the same order, on one thread. The first has
        # none for complex numbers, and no second derivative without indices.
        is_embedding = source.ndim == 2 and index.size > 0 and data.dtype not in _COMPLEX
        result = torch.embedding(data, indices) if is_embedding else data[indices]
    else:
        result = data.index_select(axis, indices)
    return result


def scatter(
    kind: int,
    data: Tensor,
    indices: Tensor,
    updates: Tensor,
    axis: Any,
    batch_dims: Any,
    reduction: Any,
    mode: Any,
    include_self: Any,
    source: Any,
    index: Any,
    update: Any,
) -> Tensor | None:
    """A scatter. source, index, update: data, indices and updates as arrays."""
    if kind == ND or include_self is not True or type(reduction) is not str or not _is_native(
        kind, index, batch_dims, mode
    ):  # fmt: skip
        return None
    if data.dtype not in _FLOATS or updates.dtype is not data.dtype or update.nbytes > _MAX_BYTES:
        return None
    if reduction == "none":  # PyTorch does not specify which update wins, and gives all of them a gradient
        if kind != AXIS or len(index) > _FEW or len(set(index.tolist())) < len(index):
            return None
    elif reduction != "add":
        return None
    # A gather by these indices checks the bounds, and its result has the shape that updates must have.
    checked = try_gather(kind, False, source, index, axis, 0, mode, 0, None, threads.limit)
    if checked is None or checked.shape != update.shape:
        return None
    if reduction == "none":
        result = data.index_copy(axis, indices, updates)
    elif kind == ELEMENTS:
        result = data.scatter_add(axis, indices, updates)
    elif axis == 0 and source.ndim > 1:  # index_add starts threads
        result = data.index_put((indices,), updates, accumulate=True)
    else:
        result = data.index_add(axis, indices, updates)
    return result


def _is_native(kind: int, index: Any, batch_dims: Any, mode: Any) -> bool:
    """Whether PyTorch has a primitive for indices that are in bounds and not negative."""
    # Other types of options, such as arrays, are for the messages.
    if type(batch_dims) is not int or batch_dims or type(mode) is not str or mode not in _CHECKED:
        return False
    if index.dtype is not _INT64:
        return False
    if kind == AXIS:
        return bool(index.ndim == 1)
    return kind == ELEMENTS or (index.ndim > 1 and index.shape[-1] > 0)
