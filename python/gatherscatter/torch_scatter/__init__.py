"""The functions of torch_scatter, with its names and rules, for PyTorch's tensors.

Arguments, their order, their defaults and the shapes of results are those of torch_scatter 2.1.2, which
``pyg_lib.ops`` has too, with `softmax_csr`. An empty group has 0, and `arg_out` is the size of `src` there. Indices and
pointers are checked: one out of bounds raises an `IndexError`, on every device.

The functions run on every device, and have gradients; those of maxima and minima go to the element that `arg_out`
names. torch_scatter is never imported. PyTorch is, so this module has to be imported by name:
``from gatherscatter import torch_scatter``.

Source: https://pytorch-scatter.readthedocs.io
"""

from gatherscatter.torch_scatter import composite
from gatherscatter.torch_scatter.composite import (
    scatter_log_softmax,
    scatter_logsumexp,
    scatter_softmax,
    scatter_std,
    softmax_csr,
)
from gatherscatter.torch_scatter.coo import (
    gather_coo,
    segment_add_coo,
    segment_coo,
    segment_max_coo,
    segment_mean_coo,
    segment_min_coo,
    segment_sum_coo,
)
from gatherscatter.torch_scatter.csr import (
    gather_csr,
    segment_add_csr,
    segment_csr,
    segment_max_csr,
    segment_mean_csr,
    segment_min_csr,
    segment_sum_csr,
)
from gatherscatter.torch_scatter.scatters import (
    scatter,
    scatter_add,
    scatter_max,
    scatter_mean,
    scatter_min,
    scatter_mul,
    scatter_sum,
)

__all__ = [
    "composite",
    "gather_coo",
    "gather_csr",
    "scatter",
    "scatter_add",
    "scatter_log_softmax",
    "scatter_logsumexp",
    "scatter_max",
    "scatter_mean",
    "scatter_min",
    "scatter_mul",
    "scatter_softmax",
    "scatter_std",
    "scatter_sum",
    "segment_add_coo",
    "segment_add_csr",
    "segment_coo",
    "segment_csr",
    "segment_max_coo",
    "segment_max_csr",
    "segment_mean_coo",
    "segment_mean_csr",
    "segment_min_coo",
    "segment_min_csr",
    "segment_sum_coo",
    "segment_sum_csr",
    "softmax_csr",
]


def __dir__() -> list[str]:
    return __all__  # tab completion shows what is public, not what the module imports
