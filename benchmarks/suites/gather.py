"""gather and gather_nd: as many random elements as the square array has."""

import gatherscatter as gs
import numpy as np

from .common import LARGE, LAYOUTS, SMALL, THREADS, numbers, places, timed, use_threads


@timed
class Gather:
    params = (["gather", "gather_nd"], ["uint8", "float32", "complex128"], [SMALL, LARGE], THREADS, LAYOUTS)
    param_names = ("operator", "dtype", "elements", "threads", "layout")

    def setup(self, operator, dtype, n, threads, layout):
        use_threads(threads, n)
        side = round(n**0.5)
        self.function = getattr(gs, operator)
        if operator == "gather":
            self.arrays = numbers((n,), dtype, layout), places(n, (n,), layout)
        else:
            self.arrays = numbers((side, side), dtype, layout), places(side, (n, 2), layout)

    def time_gather(self, *_):
        self.function(*self.arrays)


@timed
class Prepared:
    """Pairs that were prepared."""

    params = ([SMALL, LARGE], THREADS)
    param_names = ("elements", "threads")

    def setup(self, n, threads):
        use_threads(threads, n)
        side = round(n**0.5)
        self.data = numbers((side, side), "float32")
        self.prepared = gs.prepare("gather_nd", (side, side), places(side, (n, 2)))

    def time_gather(self, *_):
        self.prepared.gather(self.data)


@timed
class Rows:
    """Rows of 256 bytes, with indices of each width."""

    params = (["int32", "int64"], [SMALL, 100_000], THREADS)
    param_names = ("indices", "rows", "threads")

    def setup(self, dtype, n, threads):
        use_threads(threads, n)
        self.data, self.indices = numbers((n, 64), "float32"), places(n, (n,)).astype(dtype)

    def time_gather(self, *_):
        gs.gather(self.data, self.indices)


@timed
class ShortRows:
    """A million rows of 12 to 64 bytes, or pixels, of memory beyond the caches."""

    params = ([("uint8", 3), ("float32", 3), ("float32", 5), ("float32", 8), ("float64", 8)], THREADS)
    param_names = ("row", "threads")

    def setup(self, row, threads):
        use_threads(threads, 1_000_000)
        dtype, width = row
        n = (1 << 25) // (width * np.dtype(dtype).itemsize)
        self.data, self.indices = numbers((n, width), dtype), places(n, (1_000_000,))

    def time_gather(self, *_):
        gs.gather(self.data, self.indices)


@timed
class LastAxis:
    """Four million elements along the last axis, from rows of 4 to 128 KiB."""

    params = ([1024, 4096, 32_768], ["int32", "int64"], THREADS)
    param_names = ("row", "indices", "threads")

    def setup(self, row, index_dtype, threads):
        use_threads(threads, 1 << 22)
        shape = (1 << 22) // row, row
        self.data, self.indices = numbers(shape, "float32"), places(row, shape).astype(index_dtype)

    def time_gather(self, *_):
        gs.gather_elements(self.data, self.indices, axis=1)
