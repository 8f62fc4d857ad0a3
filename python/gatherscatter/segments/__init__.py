"""Group-wise reductions: scatters without data."""

from gatherscatter.segments.functions import segment_log_softmax, segment_reduce, segment_softmax
from gatherscatter.segments.scans import segment_scan
from gatherscatter.segments.statistics import segment_argsort, segment_quantile

__all__ = [
    "segment_argsort",
    "segment_log_softmax",
    "segment_quantile",
    "segment_reduce",
    "segment_scan",
    "segment_softmax",
]
