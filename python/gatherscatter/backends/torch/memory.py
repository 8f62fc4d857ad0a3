"""NumPy arrays that share memory with tensors, and whether autograd or a trace has to record a call."""

from __future__ import annotations

import functools
import math
import sys
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

_LEAST_KEPT, _MOST_KEPT = 1 << 18, 1 << 26  # bytes of zeros

PLAIN = (Tensor, torch.nn.Parameter)
_is_compiling = torch.compiler.is_compiling
_n_modes = torch._C._len_torch_dispatch_stack
_tracing_state = torch._C._get_tracing_state
_transforms_are_active = torch._C._are_functorch_transforms_active
# What tells, besides is_compiling and the level of forward-mode autograd, that something has to record a call.
WATCHERS = _n_modes, _transforms_are_active, torch._C._is_tracing
_is_of_transform = torch._C._functorch.is_functorch_wrapped_tensor
_is_of_batched_gradient = torch._C._functorch.is_legacy_batchedtensor


# Whether something has to record the call


def is_watched() -> bool:
    """Whether a trace, a dispatch mode, a transform of torch.func or forward-mode autograd has to record the call."""
    return _is_compiling() or _n_modes() > 0 or is_transformed() or _tracing_state() is not None


def is_transformed() -> bool:
    """Whether torch.func or forward-mode autograd has to record the call."""
    return _transforms_are_active() or forward_ad._current_level >= 0


def is_recording() -> bool:
    """Whether reverse-mode autograd records calls: never in inference mode, even with gradients enabled."""
    # torch.compile can trace the first question only.
    return torch.is_grad_enabled() and (_is_compiling() or not torch.is_inference_mode_enabled())


def needs_gradient(*tensors: Tensor) -> bool:
    """Whether reverse-mode autograd has to record the call."""
    return is_recording() and any(tensor.requires_grad for tensor in tensors)


def is_plain(*tensors: Tensor) -> bool:
    """Whether the tensors are of PyTorch's own classes, hold numbers, and are not of torch.func."""
    # torch.func.vjp's function is called when its transform is no longer active, on tensors that still are of it.
    return all(
        type(t) in PLAIN and not t.is_meta and not _is_of_transform(t) and not _is_of_batched_gradient(t)
        for t in tensors
    )


# Arrays on the same memory


def fits(tensor: Tensor) -> bool:
    """Whether the tensor's elements lie in its storage, which `UntypedStorage.resize_` may have cut off."""
    n_bytes: int = tensor.untyped_storage().nbytes()
    if n_bytes == tensor.nbytes and not tensor.storage_offset():
        return True
    last = sum((n - 1) * stride for n, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return (tensor.storage_offset() + last + 1) * tensor.element_size() <= n_bytes or tensor.numel() == 0


def as_numpy(*tensors: Tensor) -> list[np.ndarray[Any, Any]] | None:
    """Arrays that share the tensors' memory; None for another device or a dtype that NumPy lacks."""
    arrays = []
    for tensor in tensors:
        if not tensor.is_cpu:
            return None
        # Detached from autograd: numpy() would raise.
        plain = tensor.detach() if tensor.requires_grad else tensor
        try:
            arrays.append(_on_memory(plain))
        except (RuntimeError, TypeError):
            try:
                if not fits(plain):  # of which no copy can be made
                    return None
                arrays.append(_on_memory(plain.detach().resolve_conj().resolve_neg()))
            except (RuntimeError, TypeError):
                return None
    return arrays


def _on_memory(tensor: Tensor) -> np.ndarray[Any, Any]:
    """An array that shares the tensor's memory.

    Raises RuntimeError or TypeError if that is impossible: for a lazy negation or conjugate, or for a dtype that NumPy
    lacks.
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


def zeros(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """Zeros that nobody writes to."""
    n_bytes = math.prod(shape) * dtype.itemsize
    if _LEAST_KEPT <= n_bytes <= _MOST_KEPT and sys.platform == "linux":
        return _kept_zeros()[:n_bytes].view(dtype).view(shape)
    known = dtype in NUMPY_DTYPES and dtype not in _CARRIED
    return torch.from_numpy(np.zeros(shape, NUMPY_DTYPES[dtype])) if known else torch.zeros(shape, dtype=dtype)


@functools.cache
def _kept_zeros() -> Tensor:
    """Bytes that are never written, so that Linux maps all of them to one page of zeros: they take no memory.

    To map new ones for each gradient took a tenth of its time.
    """
    with torch.inference_mode(False):  # or autograd could not save them
        return torch.from_numpy(np.zeros(_MOST_KEPT, np.uint8))
