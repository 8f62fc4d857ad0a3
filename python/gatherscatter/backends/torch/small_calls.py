"""Small calls on CPU tensors: the compiled module `torch_tensors`, on arrays that share the tensors' memory.

PyTorch 2.10 and later have DLPack's C exchange API, which makes the arrays. With other versions `Tensor.numpy` and
`torch.from_numpy` make them, which take longer than the kernels.

Only `small_gather` and `small_scatter` may be called in a trace of torch.compile.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.autograd.graph import increment_version

from gatherscatter._kernels import torch_tensors
from gatherscatter.backends.base import small_gathers, small_scatters
from gatherscatter.backends.torch import memory

_is_compiling = torch.compiler.is_compiling


def _by_numpy(tensor: Tensor) -> Any:
    """An array on a tensor's memory; None if it needs more than `Tensor.numpy`."""
    try:
        if memory.fits(tensor):
            return tensor.detach().numpy() if tensor.requires_grad else tensor.numpy()
    except (RuntimeError, TypeError, ValueError):  # ValueError: more axes than NumPy has
        pass
    return None


def _increment_version(tensors: tuple[Tensor]) -> None:
    """As the function of PyTorch 2.10, for older versions, in which tensors of inference mode have no version."""
    if not tensors[0].is_inference():
        increment_version(tensors[0])


def load() -> bool:
    """Load the API. False: this version of PyTorch lacks it."""
    return torch_tensors.load(
        getattr(Tensor, "__dlpack_c_exchange_api__", None),
        torch.Tensor,
        torch.UntypedStorage,
        [(torch.empty(0, dtype=dtype), of_numpy) for dtype, of_numpy in memory.NUMPY_DTYPES.items()],
    )


torch_tensors.set_up(
    *memory.PLAIN,
    by_numpy=_by_numpy,
    tensor_by_numpy=torch.from_numpy,
    embedding=torch.embedding,
    watchers=memory.WATCHERS,
    forward_ad=forward_ad,
    grad_is_enabled=torch.is_grad_enabled,
    inference_mode_is_enabled=torch.is_inference_mode_enabled,
    increment_version=torch._C._increment_version if (IS_LOADED := load()) else _increment_version,
)

arrays, tensor = torch_tensors.arrays, torch_tensors.tensor
try_gather, try_scatter = torch_tensors.try_gather, torch_tensors.try_scatter


def small_gather(*arguments: Any) -> Tensor | None:
    """`try_gather`, but None in a trace of torch.compile."""
    return None if _is_compiling() else try_gather(*arguments)


def small_scatter(*arguments: Any) -> Tensor | None:
    """`try_scatter`, but None in a trace of torch.compile."""
    return None if _is_compiling() else try_scatter(*arguments)


small_gathers.update((kind.__name__, small_gather) for kind in memory.PLAIN)
small_scatters.update((kind.__name__, small_scatter) for kind in memory.PLAIN)
