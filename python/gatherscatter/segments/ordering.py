"""Order statistics of segments: the order of their elements, quantiles, medians and numbers of distinct values.

By the kernels (src/segments/ordering.pxd), where they can read the array; otherwise from the elements in order. The
quantiles of arrays whose gradient is wanted are gathered from the positions that the kernels find.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gatherscatter import core, memory, threads
from gatherscatter._kernels import segments as _kernel
from gatherscatter.operators import GATHER_ELEMENTS
from gatherscatter.reductions import kind_of
from gatherscatter.segments import rules
from gatherscatter.segments.arguments import check_status
from gatherscatter.segments.by_kernels import BorrowedSegments, KernelSegments
from gatherscatter.segments.by_scatters import Segments
from gatherscatter.segments.gradients import RecordedSegments
from gatherscatter.values import Array


class Ordering:
    """The segments of an array in order.

    Attributes
    ----------
    segments : Segments
        Which say what counts.
    kernel : KernelSegments or None
        What the kernels read.
    """

    def __init__(self, segments: Segments, skipna: bool) -> None:
        self.segments, self.skipna = segments, skipna
        self.layout, self.xp = segments.layout, segments.xp
        self.kernel: KernelSegments | None = None
        if isinstance(segments, KernelSegments):
            self.kernel = segments
        elif isinstance(segments, BorrowedSegments):
            self.kernel = segments.by_kernels
        elif segments.is_date and segments.is_numpy:
            self.kernel = KernelSegments(segments.data.view(np.int64), segments.given, False)

    # By the kernels

    def _run(self, what: str, out: Array, least: int = 1, descending: bool = False, **quantiles: Any) -> bool:
        """Write to an array. Returns whether a segment has too few elements."""
        assert self.kernel is not None
        layout, data = self.layout, self.kernel.data
        if data.dtype.itemsize < 4:
            data = data.astype(np.float32 if kind_of(self.kernel.name) == "f" else np.int32)
        values = np.require(data, requirements=["C", "A"])
        values = values.reshape(math.prod(layout.outer), math.prod(layout.numbered), math.prod(layout.inner))
        q, fill, method = quantiles.get("q"), quantiles.get("fill"), quantiles.get("method", "linear")
        status, has_few = _kernel.order_statistics(
            _kernel.WHAT[what], values, self.kernel.kernel_ids, self.kernel.has_pointers, layout.n, out, q,
            _kernel.METHODS[method], least, fill, self.skipna, self.segments.is_date, descending, threads.limit,
        )  # fmt: skip
        check_status(layout.operator, status)
        return has_few

    def _returned(self, result: Array, dtype: str) -> Any:
        """An array of the kernels as one of the library."""
        segments = self.segments
        return segments.returned(result, dtype) if isinstance(segments, BorrowedSegments) else result

    # The order

    def order(self, descending: bool = False) -> Any:
        """Positions by segment, then by value: (the axes before, all positions, the axes after)."""
        layout, index = self.layout, self.segments.defaults[0]
        shape = (*layout.outer, math.prod(layout.numbered), *layout.inner)
        if self.kernel is not None:
            out = memory.empty(shape, np.dtype(np.int64))
            self._run("order", out, descending=descending)
            return self._returned(out, index)
        segments, xp, axis = self.segments, self.xp, layout.axis
        keys = segments.backend.without_gradient(segments.merged())
        if segments.name == "bool":
            keys = segments.cast(keys, "uint8")
        if descending:
            keys = -keys if kind_of(segments.name) == "f" else xp.bitwise_invert(keys)
        ids = xp.broadcast_to(self._ids(), shape)
        keys = xp.where(ids == layout.n, segments.full((), 0, keys), keys)  # those of no segment stay in order
        by_value = xp.argsort(keys, axis=axis, stable=True)
        by_segment = xp.argsort(self._taken(ids, by_value), axis=axis, stable=True)
        order = segments.cast(self._taken(by_value, by_segment), index)
        # Ids that are known later are checked when they are counted.
        return order + 0 * xp.sum(self._counts()) if segments.mode == "raise" else order

    def _taken(self, array: Any, positions: Any) -> Any:
        """Elements along the axis of the positions."""
        backend, op = self.segments.backend, (GATHER_ELEMENTS.strict or GATHER_ELEMENTS)
        op = op.replace(name=self.layout.operator.name)
        return core.gather_on(backend, op, array, positions, self.layout.axis, 0, "promise_in_bounds", 0, None)

    def _ids(self) -> Any:
        """The segment of each position; the number of segments for none. Broadcasts to the shape of an order."""
        layout, segments = self.layout, self.segments
        xp = segments.backend.namespace(segments.ids)
        ids = xp.astype(segments.ids, segments.backend.dtype_of(segments.defaults[0], segments.data))
        ids = xp.where((ids < 0) | (ids > layout.n), layout.n, ids)
        lead = (*layout.data[: layout.batch_dims], *[1] * (layout.axis - layout.batch_dims))
        return xp.reshape(ids, (*lead, math.prod(layout.numbered), *[1] * len(layout.inner)))

    def _counts(self) -> Any:
        """The number of elements of each segment, of those too that do not count. Broadcasts to a result's shape."""
        segments = self.segments
        return (segments if segments.valid is None else Segments(segments.data, segments.given, False)).counts

    # Results

    def distinct(self) -> Any:
        """The number of distinct values of each segment."""
        layout, index = self.layout, self.segments.defaults[0]
        if self.kernel is not None:
            out = memory.empty(layout.shape, np.dtype(np.int64))
            self._run("distinct", out)
            return self._returned(out, index)
        segments, xp, axis = self.segments, self.xp, layout.axis
        ids = xp.sort(self._ids(), axis=axis)
        values = self._taken(segments.backend.without_gradient(segments.merged()), self.order())
        if not math.prod(layout.numbered):
            return xp.broadcast_to(segments.counts, layout.shape) + 0

        def part(array: Any, start: int | None, stop: int | None) -> Any:
            return array[(slice(None),) * axis + (slice(start, stop), ...)]

        a, b = part(values, None, -1), part(values, 1, None)
        is_new = (part(ids, None, -1) != part(ids, 1, None)) | ((a != b) & ((a == a) | (b == b)))
        first = part(values, None, 1)
        is_new = xp.concat([xp.ones_like(first, dtype=xp.bool), is_new], axis=axis)
        if self.skipna:
            is_new = is_new & (values == values)
        merged = layout._replace(data=tuple(values.shape), depth=1)
        ids = xp.reshape(ids, (*layout.data[: layout.batch_dims], math.prod(layout.numbered)))
        given = segments.given._replace(layout=merged, array=ids, mode="drop", has_rest=False, counts=None,
                                        orders=None, pointers=None)  # fmt: skip
        terms = segments.cast(is_new, index)
        return Segments(terms, given, False).scatter(terms, 0, "add", include_self=True)

    def quantiles(self, q: tuple[float, ...], method: str, dtype: str, fill: Any, min_count: int) -> Any:
        """Quantiles, or medians: (quantiles, the shape of a result)."""
        segments, least = self.segments, max(min_count, 1)
        if segments.is_date and method == "median":
            method = "lower"
        if self.kernel is None or isinstance(segments, RecordedSegments):
            start = segments.element(dtype, fill) if fill is not None else segments.nan(method, dtype, min_count)
            if not q or not math.prod(self.layout.numbered):
                like = segments.cast(self.xp.zeros((), device=segments.backend.device(segments.data)), dtype)
                return self.xp.broadcast_to(segments.full((), start, like), (len(q), *self.layout.shape))
            counts = self._counts()
            begins = self.xp.cumulative_sum(counts, axis=self.layout.axis) - counts
            at = partial(self._at, begins, self.order())
            return self.xp.stack([self._gathered(at, one, method, dtype, start, least) for one in q])
        kernel, to_real = self.kernel, method not in rules.KEEP_DTYPE or dtype != segments.name
        wide = np.dtype(np.float64) if to_real else kernel.data.dtype
        if wide.itemsize < 4:
            wide = np.dtype(np.float32 if kind_of(kernel.name) == "f" else np.int32)
        none = self._fill(dtype, fill)
        out = memory.empty((len(q), *self.layout.shape), wide)
        numbers = np.array(q, np.float64)
        order = np.argsort(numbers, kind="stable")
        has_few = self._run("quantiles", out, least, q=numbers[order], method=method, fill=none.astype(wide))
        if has_few and fill is None and not segments.is_date and kind_of(dtype) != "f":
            segments.nan(method, dtype, min_count)  # an error
        if (order[1:] < order[:-1]).any():
            out = out[np.argsort(order)]
        if segments.is_date:
            return out.view(segments.data.dtype)
        return self._returned(_rounded(out, dtype) if dtype != wide.name else out, dtype)

    def _fill(self, dtype: str, fill: Any) -> Array:
        """What a segment with too few elements has, as an array of rank 0."""
        segments = self.segments
        if fill is None:
            return np.array(np.iinfo(np.int64).min if segments.is_date else math.nan if kind_of(dtype) == "f" else 0)
        element = segments.element(dtype, fill)
        if isinstance(segments, BorrowedSegments):
            (element,) = segments.backend.readable(segments.op, data=element) or (None,)
        return np.asarray(element).view(np.int64) if segments.is_date else np.asarray(element)

    def _at(self, begins: Any, order: Any, ranks: Any) -> Any:
        """The elements of some ranks in their segments, with a gradient. begins: where each segment is in the order."""
        ranks = self.segments.cast(ranks, self.segments.defaults[0])
        last = math.prod(self.layout.numbered) - 1
        places = self.xp.broadcast_to(self.xp.clip(begins + ranks, 0, last), self.layout.shape)
        return self._taken(self.segments.merged(), self._taken(order, places))

    def _gathered(self, at: Callable[[Any], Any], q: float, method: str, dtype: str, start: Any, least: int) -> Any:
        """A quantile. at: the elements of some ranks."""
        segments, xp = self.segments, self.xp
        work = "float64" if segments.has_float64 else "float32"
        counts = segments.counts
        most = segments.cast(xp.where(counts > 0, counts - 1, 0), work)
        virtual = most * q
        low, high = xp.floor(virtual), xp.ceil(virtual)
        weight = virtual - low if method == "linear" else xp.full_like(virtual, 0.5)
        if method in rules.KEEP_DTYPE:
            rank = {"lower": low, "higher": high, "nearest": xp.round(virtual)}[method]
            result = segments.cast(at(rank), dtype)
        elif method == "median":
            low, high = xp.floor(most / 2), xp.ceil(most / 2)
            a, b = (segments.cast(at(rank), work) for rank in (low, high))
            result = segments.cast(xp.where(low < high, (a + b) / 2, a), dtype)
        else:
            a, b = (segments.cast(at(rank), work) for rank in (low, high))
            apart = xp.where((a == b) & ~xp.isfinite(a), xp.zeros_like(a), b - a)
            result = segments.cast(xp.where(weight >= 0.5, b - apart * (1 - weight), a + apart * weight), dtype)
        if kind_of(segments.name) == "f" and segments.valid is None:
            greatest = segments.backend.without_gradient(at(most))
            result = xp.where(greatest == greatest, result, segments.full((), math.nan, result))
        return xp.where(counts < least, segments.full((), start, result), result)


def _rounded(numbers: Array, dtype: str) -> Array:
    """Numbers in another dtype, rounded once."""
    if dtype != "bfloat16" or numbers.dtype != np.float64:
        return numbers.astype(np.dtype(dtype))
    import ml_dtypes  # which has rounded such an array already

    single = numbers.astype(np.float32)
    bits = single.view(np.uint32)  # rounded to odd, so that the next rounding is as if it were the first
    bits[...] = np.where(single == numbers, bits, (bits - (np.abs(single) > np.abs(numbers))) | 1)
    return single.astype(ml_dtypes.bfloat16)
