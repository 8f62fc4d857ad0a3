"""Gather and scatter for every array.

Every framework has these operators, and each defines them a little differently. Here they have one exact definition.
The functions accept arrays of NumPy, PyTorch, JAX, CuPy, Dask and the array API standard, and return an array of the
same library::

    import gatherscatter as gs

    gs.gather_nd(data, indices)
    gs.scatter_nd(data, indices, updates, reduction="add")

``gs.gather_scatter`` gathers and scatters in one pass. ``gs.at(x)[index]`` gathers and scatters with any NumPy index.
``gs.segment_reduce`` reduces the elements of each group, ``gs.segment_quantile`` and ``gs.segment_argsort`` sort them,
``gs.segment_scan`` makes running sums, and ``gs.bincount`` counts integers. ``gs.prepare`` checks and orders indices
once, for many calls. ``gs.onnx``, ``gs.openvino`` and ``gs.tensorflow`` provide the operators with the names and
versions of those systems; so does ``gatherscatter.torch_scatter``, which imports PyTorch. ``gs.ndimage`` has SciPy's
measurements of labelled arrays.

``gs.set_num_threads`` limits the threads of the CPU kernels. ``gs.use_deterministic_algorithms`` makes float sums on
GPUs reproducible. ``gs.set_cache_limit`` and ``gs.empty_cache`` control the memory that is kept for later results.
``gs.show_config`` prints the version and how the kernels were built.
"""

from typing import NoReturn as _NoReturn

from gatherscatter import errors, ndimage, onnx, openvino, tensorflow
from gatherscatter._version import __version__
from gatherscatter.config import show_config
from gatherscatter.counting import bincount
from gatherscatter.determinism import are_deterministic_algorithms_enabled, use_deterministic_algorithms
from gatherscatter.gather_scatters import gather_scatter
from gatherscatter.gathers import gather, gather_elements, gather_nd
from gatherscatter.indexing import at
from gatherscatter.machine import explain, get_machine, set_machine
from gatherscatter.memory import empty_cache, get_cache_limit, set_cache_limit
from gatherscatter.prepared import Prepared, PreparedSegments, prepare
from gatherscatter.scatters import scatter, scatter_elements, scatter_nd
from gatherscatter.segments import (
    segment_argsort,
    segment_log_softmax,
    segment_quantile,
    segment_reduce,
    segment_scan,
    segment_softmax,
)
from gatherscatter.threads import get_num_threads, set_num_threads

__all__ = [
    "Prepared",
    "PreparedSegments",
    "__version__",
    "are_deterministic_algorithms_enabled",
    "at",
    "bincount",
    "empty_cache",
    "explain",
    "gather",
    "gather_elements",
    "gather_nd",
    "gather_scatter",
    "get_cache_limit",
    "get_machine",
    "get_num_threads",
    "ndimage",
    "onnx",
    "openvino",
    "prepare",
    "scatter",
    "scatter_elements",
    "scatter_nd",
    "segment_argsort",
    "segment_log_softmax",
    "segment_quantile",
    "segment_reduce",
    "segment_scan",
    "segment_softmax",
    "set_cache_limit",
    "set_machine",
    "set_num_threads",
    "show_config",
    "tensorflow",
    "use_deterministic_algorithms",
]


def __getattr__(name: str) -> _NoReturn:
    """The error for a name of another library names the call that it is here."""
    raise errors.no_function(__name__, name)


def __dir__() -> list[str]:
    return __all__  # tab completion shows what is public, not what the module imports
