"""OpenVINO's gathers, scatters and reductions of segments, with its names and versions, for arrays of every library.

Arguments have the names of ``openvino.opset16``. `version` selects the version of an operator that has several; each
has a document. `axis` is an input of one element in OpenVINO; here it may be a scalar, or a list or array of one
element. OpenVINO is never imported.

Negative indices count from the end if the document of the version says so. Otherwise they are out of range. For an
index out of range, `gather` returns zeros, and every other operator raises an `IndexError`.

The documents do not specify the order of updates with the same destination. Here it is row-major: the last of
duplicates wins, and float sums are reproducible bit for bit.
"""

from gatherscatter.openvino.gathers import gather, gather_elements, gather_nd
from gatherscatter.openvino.scatters import scatter_elements_update, scatter_nd_update, scatter_update, slice_scatter
from gatherscatter.openvino.segments import (
    embedding_bag_offsets,
    embedding_bag_packed,
    embedding_segments_sum,
    segment_max,
)

__all__ = [
    "embedding_bag_offsets",
    "embedding_bag_packed",
    "embedding_segments_sum",
    "gather",
    "gather_elements",
    "gather_nd",
    "scatter_elements_update",
    "scatter_nd_update",
    "scatter_update",
    "segment_max",
    "slice_scatter",
]


def __dir__() -> list[str]:
    return __all__  # tab completion shows what is public, not what the module imports
