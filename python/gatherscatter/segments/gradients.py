"""Segments of arrays whose gradient is wanted: reduced by the kernels, with the gradients that have a short formula."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from gatherscatter.segments.aggregations import AGGREGATIONS
from gatherscatter.segments.by_kernels import BorrowedSegments, borrowed_segments
from gatherscatter.segments.by_scatters import Segments
from gatherscatter.segments.ids import Ids, checked


def segments_of(data: Any, ids: Ids, skipna: bool) -> Segments:
    """The segments of an array: by the kernels where they can read it."""
    chunked = ids.backend.chunked
    found: Segments | None = chunked.segments(data, ids, skipna) if chunked else borrowed_segments(data, ids, skipna)
    if found is None and ids.backend.needs_gradient(data):
        by_kernels = borrowed_segments(ids.backend.without_gradient(data), ids, skipna)
        if isinstance(by_kernels, BorrowedSegments):
            return RecordedSegments(data, checked(ids), by_kernels.by_kernels, skipna)
    return found or Segments(data, checked(ids), skipna)


class RecordedSegments(BorrowedSegments):
    """The segments of an array whose gradient is wanted."""

    def reduce(self, name: str, dtype: str, fill: Any, min_count: int) -> Any:
        what = AGGREGATIONS[name]
        if what.result in ("index", "bool"):  # which have none
            return super().reduce(name, dtype, fill, min_count)
        if what.gradient is None or min_count > 1 or dtype != self.name:
            return Segments.reduce(self, name, dtype, fill, min_count)
        return self.recorded(super().reduce(name, dtype, fill, min_count), partial(what.gradient, self))

    def _count(self) -> Any:
        return self.returned(self.by_kernels.counts, "int64")

    def softmax(self, dtype: str, is_log: bool) -> Any:
        if dtype != self.name:
            return Segments.softmax(self, dtype, is_log)
        formula = self.log_softmax_gradient if is_log else self.softmax_gradient
        return self.recorded(super().softmax(dtype, is_log), formula)

    def recorded(self, result: Any, formula: Callable[[Any, Any, Any], Any]) -> Any:
        given = self.ids if self.given.pointers is None else self.given.pointers
        return self.backend.recorded(result, self.data, given, formula)

    # Gradients of data: from data, the result and the gradient of it. They are made of differentiable calls.

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
