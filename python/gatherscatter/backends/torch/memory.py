"""Conversion between tensors and NumPy arrays that share memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import forward_ad

from gatherscatter.reductions import DTYPES

NUMPY_DTYPES: dict[torch.dtype, np.dtype[Any]] = {
    getattr(torch, name): np.dtype(name) for name in DTYPES if name != "bfloat16" and hasattr(torch, name)
}
# Dtypes of ml_dtypes, if installed: the NumPy dtype, and a dtype of its width that Tensor.numpy() supports.
_CARRIED: dict[torch.dtype, tuple[np.dtype[Any], torch.dtype]] = {}
try:
    import ml_dtypes
except ImportError:
    pass
else:
    for _name in ("bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"):
        if hasattr(torch, _name) and hasattr(ml_dtypes, _name):
            _dtype = np.dtype(getattr(ml_dtypes, _name))
            NUMPY_DTYPES[getattr(torch, _name)] = _dtype
            _CARRIED[getattr(torch, _name)] = _dtype, (torch.int16 if _dtype.itemsize == 2 else torch.uint8)

_is_compiling = torch.compiler.is_compiling
_n_modes = torch._C._len_torch_dispatch_stack
_tracing_state = torch._C._get_tracing_state


def is_watched() -> bool:
    """Whether a trace, a dispatch mode or forward-mode autograd must record PyTorch's operators.

    torch.func needs no check here: its tensors raise in numpy().
    """
    return _is_compiling() or _n_modes() > 0 or forward_ad._current_level >= 0 or _tracing_state() is not None


def as_numpy(*tensors: Tensor) -> list[np.ndarray[Any, Any]] | None:
    """Arrays that share the tensors' memory; None if the tensors need PyTorch (gradient, trace, another device)."""
    if is_watched():
        return None
    arrays = []
    for tensor in tensors:
        if type(tensor) is not Tensor and type(tensor) is not torch.nn.Parameter:
            return None
        if tensor.requires_grad and torch.is_grad_enabled():
            return None
        try:
            arrays.append(on_memory(tensor))
        except (RuntimeError, TypeError):
            if not tensor.is_cpu:
                return None
            try:
                arrays.append(on_memory(tensor.detach().resolve_conj().resolve_neg()))
            except (RuntimeError, TypeError):
                return None
    return arrays


def on_memory(tensor: Tensor) -> np.ndarray[Any, Any]:
    """An array that shares the tensor's memory.

    Raises RuntimeError or TypeError if that is impossible: on another device, with a gradient, for a lazy negation or
    conjugate, or for a dtype that NumPy lacks.
    """
    carried = _CARRIED.get(tensor.dtype)
    if carried is None:
        array: np.ndarray[Any, Any] = tensor.numpy()
        return array
    return tensor.view(carried[1]).numpy().view(carried[0])


def from_numpy(array: np.ndarray[Any, Any], dtype: torch.dtype) -> Tensor:
    """A tensor that shares the array's memory."""
    carried = _CARRIED.get(dtype)
    if carried is None:
        return torch.from_numpy(array)
    return torch.from_numpy(array.view(np.int16 if carried[1] is torch.int16 else np.uint8)).view(dtype)
