"""Small calls on CPU tensors: the kernels' fast path, on arrays that share the tensors' memory.

This module detects calls with a gradient and passes them on to ``native.py``.

PyTorch 2.10 and later have DLPack's C exchange API, with which the compiled module `tensors` does the whole call.
With other versions the same is done by `Tensor.numpy` and `torch.from_numpy`, which take longer than the kernels.

Only `small_gather` and `small_scatter` may be called in a trace of torch.compile.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.autograd.graph import increment_version

from gatherscatter._kernels import gather, scatter, tensors
from gatherscatter.backends.base import small_gathers, small_scatters
from gatherscatter.backends.torch import memory, native

_is_compiling = torch.compiler.is_compiling


def _load() -> bool:
    """Load the API. False: this version of PyTorch lacks it."""
    capsule = getattr(Tensor, "__dlpack_c_exchange_api__", None)
    return capsule is not None and tensors.load(
        capsule,
        *memory.PLAIN,
        torch.UntypedStorage,
        [(torch.empty(0, dtype=dtype), of_numpy) for dtype, of_numpy in memory.NUMPY_DTYPES.items()],
        native_gather=native.gather,
        native_scatter=native.scatter,
        embedding=torch.embedding,
        watchers=memory.WATCHERS,
        forward_ad=forward_ad,
        grad_is_enabled=torch.is_grad_enabled,
        inference_mode_is_enabled=torch.is_inference_mode_enabled,
        increment_version=torch._C._increment_version,
    )


def arrays_by_numpy(data: Any, indices: Any, updates: Any) -> tuple[Any, Any, Any] | None:
    """(data, indices, updates) as arrays on the same memory; what is no tensor, as it is.

    None if one of them needs more than `Tensor.numpy`.
    """
    # Not for subclasses of Tensor, whose results may be of the subclass.
    if type(data) not in memory.PLAIN or type(indices) is not Tensor:
        return None
    try:
        arrays = [_by_numpy(value) if type(value) in memory.PLAIN else value for value in (data, indices, updates)]
    except (RuntimeError, TypeError, ValueError):  # ValueError: more axes than NumPy has
        return None
    return arrays[0], arrays[1], arrays[2]


def _by_numpy(tensor: Tensor) -> Any:
    if not memory.fits(tensor):
        raise ValueError
    return tensor.detach().numpy() if tensor.requires_grad else tensor.numpy()


def tensor_by_numpy(array: Any, like: Tensor) -> Tensor:
    """A tensor on the memory of a new array, which has the dtype of `like`."""
    return torch.from_numpy(array)


def gather_by_numpy(
    kind: int, wrap: Any, data: Any, indices: Any, axis: Any, batch_dims: Any, mode: Any, fill_value: Any, out: Any,
    n_threads: int,
) -> Tensor | None:  # fmt: skip
    """As the kernels' `try_gather`, for tensors. None also if something other than reverse mode records it."""
    if memory.is_watched() or not _can_write(out):
        return None
    found = arrays_by_numpy(data, indices, out)
    if found is None:
        return None
    source, index, target = found
    if memory.needs_gradient(data, *(() if out is None else (out,))):
        return native.gather(kind, data, indices, axis, batch_dims, mode, source, index) if out is None else None
    target = source if out is data else target
    result = gather.try_gather(kind, wrap, source, index, axis, batch_dims, mode, fill_value, target, n_threads)
    return None if result is None else _delivered(result, out)


def scatter_by_numpy(
    kind: int, wrap: Any, data: Any, indices: Any, updates: Any, axis: Any, batch_dims: Any, reduction: Any, mode: Any,
    include_self: Any, out: Any, n_threads: int,
) -> Tensor | None:  # fmt: skip
    """As the kernels' `try_scatter`, for tensors. None also if something other than reverse mode records it."""
    if memory.is_watched() or not _can_write(out):
        return None
    found = arrays_by_numpy(data, indices, updates)
    into = None if out is None or out is data else arrays_by_numpy(out, indices, None)
    if found is None or (into is None and out is not None and out is not data):
        return None
    source, index, update = found
    is_tensor = update is not updates
    if memory.needs_gradient(data, *((updates,) if is_tensor else ()), *(() if out is None else (out,))):
        if out is not None or not is_tensor:  # the gradient of a scalar needs it as a tensor
            return None
        return native.scatter(
            kind, data, indices, updates, axis, batch_dims, reduction, mode, include_self, source, index, update
        )
    target = source if out is not None and out is data else None if into is None else into[0]
    result = scatter.try_scatter(
        kind, wrap, source, index, update, axis, batch_dims, reduction, mode, include_self, target, n_threads
    )
    return None if result is None else _delivered(result, out)


def _can_write(out: Any) -> bool:
    """Whether a call may write to `out`, or there is none."""
    if out is None:
        return True
    return type(out) in memory.PLAIN and (not out.is_inference() or torch.is_inference_mode_enabled())


def _delivered(result: Any, out: Any) -> Tensor:
    """A kernel's result as a new tensor, or `out` with a new version for autograd."""
    if out is None:
        return torch.from_numpy(result)
    if not out.is_inference():  # these have no version counter
        increment_version(out)
    delivered: Tensor = out
    return delivered


IS_LOADED: bool = _load()
arrays = tensors.arrays if IS_LOADED else arrays_by_numpy
tensor = tensors.tensor if IS_LOADED else tensor_by_numpy
try_gather = tensors.try_gather if IS_LOADED else gather_by_numpy
try_scatter = tensors.try_scatter if IS_LOADED else scatter_by_numpy


def small_gather(*arguments: Any) -> Tensor | None:
    """`try_gather`, but None in a trace of torch.compile."""
    return None if _is_compiling() else try_gather(*arguments)


def small_scatter(*arguments: Any) -> Tensor | None:
    """`try_scatter`, but None in a trace of torch.compile."""
    return None if _is_compiling() else try_scatter(*arguments)


small_gathers.update((kind.__name__, small_gather) for kind in memory.PLAIN)
small_scatters.update((kind.__name__, small_scatter) for kind in memory.PLAIN)
