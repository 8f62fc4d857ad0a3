"""Gather and scatter for every array.

One exact meaning for the operators that every framework has and each defines a little differently. The
functions take arrays of one library and give back an array of that library::

    import gatherscatter as gs

    gs.gather_nd(data, indices)
    gs.scatter_nd(data, indices, updates, reduction="add")

``gs.onnx``, ``gs.openvino`` and ``gs.tensorflow`` have them in those systems' own names and versions.
``gs.set_num_threads`` bounds the CPU kernels, ``gs.show_config`` says how they were built.
"""

from gatherscatter import onnx, openvino, tensorflow
from gatherscatter._version import __version__
from gatherscatter.config import show_config
from gatherscatter.gathers import gather, gather_elements, gather_nd
from gatherscatter.scatters import scatter, scatter_elements, scatter_nd
from gatherscatter.threads import get_num_threads, set_num_threads

__all__ = [
    "__version__",
    "gather",
    "gather_elements",
    "gather_nd",
    "get_num_threads",
    "onnx",
    "openvino",
    "scatter",
    "scatter_elements",
    "scatter_nd",
    "set_num_threads",
    "show_config",
    "tensorflow",
]
