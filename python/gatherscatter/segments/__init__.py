"""Group-wise reductions: scatters without data."""

from gatherscatter.segments.functions import segment_log_softmax, segment_reduce, segment_softmax

__all__ = ["segment_log_softmax", "segment_reduce", "segment_softmax"]
