"""Segments of arrays whose gradient is wanted: reduced by the kernels, with the gradients that have a short formula."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gatherscatter.segments.ids import Ids
from gatherscatter.segments.reduce import Segments
from gatherscatter.segments.states import BorrowedSegments, borrowed_segments

_CONSTANT = ("any", "all", "count", "argmax", "argmin")


def segments_of(data: Any, ids: Ids, skipna: bool) -> Segments:
    """The segments of an array: by the kernels where they can read it."""
    found = borrowed_segments(data, ids, skipna)
    if found is None and ids.backend.needs_gradient(data):
        by_kernels = borrowed_segments(ids.backend.without_gradient(data), ids, skipna)
        if isinstance(by_kernels, BorrowedSegments):
            return RecordedSegments(data, ids, by_kernels.by_kernels, skipna)
    return found or Segments(data, ids, skipna)


class RecordedSegments(BorrowedSegments):
    """The segments of an array whose gradient is wanted."""

    def reduce(self, name: str, dtype: str, fill: Any, min_count: int) -> Any:
        if name in _CONSTANT:
            return super().reduce(name, dtype, fill, min_count)
        if name not in ("add", "mean", "logsumexp") or min_count > 1 or dtype != self.name:
            return Segments.reduce(self, name, dtype, fill, min_count)
        return self.recorded(super().reduce(name, dtype, fill, min_count), getattr(self, f"{name}_gradient"))

    def softmax(self, dtype: str, is_log: bool) -> Any:
        if dtype != self.name:
            return Segments.softmax(self, dtype, is_log)
        formula = self.log_softmax_gradient if is_log else self.softmax_gradient
        return self.recorded(super().softmax(dtype, is_log), formula)

    def recorded(self, result: Any, formula: Callable[[Any, Any, Any], Any]) -> Any:
        given = self.ids if self.given.pointers is None else self.given.pointers
        return self.backend.recorded(result, self.data, given, formula)

    # Gradients of data: from data, the result and the gradient of it. They are made of differentiable calls.

    def add_gradient(self, data: Any, result: Any, grad: Any) -> Any:
        return self.where_valid(self.spread(grad, 0), 0)

    def mean_gradient(self, data: Any, result: Any, grad: Any) -> Any:
        counts = self.returned(self.by_kernels.counts, "int64")
        return self.add_gradient(data, result, grad / self.cast(self.xp.where(counts > 0, counts, 1), self.name))

    def logsumexp_gradient(self, data: Any, result: Any, grad: Any) -> Any:
        none = self.full((), 0, result)
        shift = self.xp.where(result == -math.inf, none, result)
        powers = self.where_valid(self.xp.exp(self.where_valid(data - self.spread(shift, 0), 0)), 0)
        return self.spread(grad, 0) * powers

    def sums(self, values: Any) -> Any:
        """The sum of each segment, for each element."""
        return self.spread(segments_of(values, self.given, False).reduce("add", self.name, None, 0), 0)

    def softmax_gradient(self, data: Any, result: Any, grad: Any) -> Any:
        products = result * grad
        return products - result * self.sums(products)

    def log_softmax_gradient(self, data: Any, result: Any, grad: Any) -> Any:
        powers = self.xp.exp(result)
        apart = grad - powers * self.sums(grad)
        # 0 for elements of no segment, and for segments of -inf alone.
        return self.xp.where(self.sums(self.backend.without_gradient(powers)) == 0, self.full((), 0, apart), apart)
