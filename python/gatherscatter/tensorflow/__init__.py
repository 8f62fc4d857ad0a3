"""The gathers, scatters and segment reductions of TensorFlow, with TensorFlow's names, for arrays of every library.

Arguments, their order, their defaults and the dtypes of indices are those of TensorFlow 2.21. Two things differ from
the functions of `gatherscatter`: a negative index is out of bounds, and `bad_indices_policy` replaces `mode`. The
reductions of segments, which TensorFlow has in ``tf.math``, have its rules for dtypes and empty segments.

The functions accept arrays of NumPy, PyTorch, JAX, CuPy, Dask and the array API standard, and return an array of the
same library. For an eager ``tf.Tensor`` they return a ``tf.Tensor``. TensorFlow is never imported. Symbolic tensors,
inside ``tf.function``, raise a `NotImplementedError`.

Source: https://www.tensorflow.org/api_docs/python/tf/
"""

from gatherscatter.tensorflow.functions import (
    gather,
    gather_nd,
    scatter_nd,
    tensor_scatter_nd_add,
    tensor_scatter_nd_max,
    tensor_scatter_nd_min,
    tensor_scatter_nd_sub,
    tensor_scatter_nd_update,
)
from gatherscatter.tensorflow.segments import (
    segment_max,
    segment_mean,
    segment_min,
    segment_prod,
    segment_sum,
)
from gatherscatter.tensorflow.unsorted import (
    unsorted_segment_max,
    unsorted_segment_mean,
    unsorted_segment_min,
    unsorted_segment_prod,
    unsorted_segment_sqrt_n,
    unsorted_segment_sum,
)

__all__ = [
    "gather",
    "gather_nd",
    "scatter_nd",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "segment_sum",
    "tensor_scatter_nd_add",
    "tensor_scatter_nd_max",
    "tensor_scatter_nd_min",
    "tensor_scatter_nd_sub",
    "tensor_scatter_nd_update",
    "unsorted_segment_max",
    "unsorted_segment_mean",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sqrt_n",
    "unsorted_segment_sum",
]


def __dir__() -> list[str]:
    return __all__  # tab completion shows what is public, not what the module imports
