"""Gather and scatter for every array.

One exact meaning for the operators that every framework has and each defines a little differently. The
functions take arrays of one library and give back an array of that library::

    import gatherscatter as gs

    gs.gather_nd(data, indices)

``gs.set_num_threads`` bounds the CPU kernels, ``gs.show_config`` says how they were built.
"""

from gatherscatter._version import __version__
from gatherscatter.config import show_config
from gatherscatter.ops import gather_nd
from gatherscatter.threads import get_num_threads, set_num_threads

__all__ = [
    "__version__",
    "gather_nd",
    "get_num_threads",
    "set_num_threads",
    "show_config",
]
