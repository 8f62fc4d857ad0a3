"""scatter and scatter_nd: as many random elements as the square array has."""

import gatherscatter as gs

from .common import LARGE, LAYOUTS, SMALL, THREADS, numbers, places, timed, use_threads


@timed
class Scatter:
    params = (["scatter", "scatter_nd"], ["none", "add"], ["float32", "complex128"], [SMALL, LARGE], THREADS, LAYOUTS)
    param_names = ("operator", "reduction", "dtype", "elements", "threads", "layout")

    def setup(self, operator, reduction, dtype, n, threads, layout):
        use_threads(threads, n)
        side = round(n**0.5)
        self.function = getattr(gs, operator)
        updates = numbers((n,), dtype, layout)
        if operator == "scatter":
            self.arrays = numbers((n,), dtype, layout), places(n, (n,), layout), updates
        else:
            self.arrays = numbers((side, side), dtype, layout), places(side, (n, 2), layout), updates

    def time_scatter(self, operator, reduction, *_):
        self.function(*self.arrays, reduction=reduction)


@timed
class Crowded:
    """A histogram, and maxima: updates that meet in few destinations, up to as many as fit L2."""

    params = ([1, 1000, 200_000], THREADS)
    param_names = ("bins", "threads")

    def setup(self, bins, threads):
        use_threads(threads, LARGE)
        self.arrays = numbers((max(bins, 1000),), "float32"), places(bins, (LARGE,)), numbers((LARGE,), "float32")

    def time_add(self, *_):
        gs.scatter(*self.arrays, reduction="add")

    def time_add_without_data(self, *_):
        gs.scatter(*self.arrays, reduction="add", include_self=False)

    def time_max(self, *_):
        gs.scatter(*self.arrays, reduction="max")

    def time_max_without_data(self, *_):
        gs.scatter(*self.arrays, reduction="max", include_self=False)


@timed
class Partitioned:
    """Updates of a result that is larger than the caches, also those that keep marks of their destinations."""

    params = (["none", "add", "add without data", "mean"], ["float32", "float64"], THREADS)
    param_names = ("reduction", "dtype", "threads")

    def setup(self, reduction, dtype, threads):
        use_threads(threads, LARGE)
        size = 16 * LARGE
        self.arrays = numbers((size,), dtype), places(size, (LARGE,)), numbers((LARGE,), dtype)
        name, _, without = reduction.partition(" without ")
        self.options = {"reduction": name, "include_self": not without}

    def time_scatter(self, *_):
        gs.scatter(*self.arrays, **self.options)


@timed
class Means:
    """Sums and means of elements, of coordinates, and of elements along the first axis."""

    params = (["elements", "integers", "points", "columns"], ["add", "mean"], [True, False], THREADS)
    param_names = ("of", "reduction", "include_self", "threads")

    def setup(self, of, reduction, include_self, threads):
        use_threads(threads, LARGE)
        self.options = {"reduction": reduction, "include_self": include_self}
        if of == "columns":
            self.call, shape, indices = gs.scatter_elements, (1000, 1000), places(1000, (1000, 1000))
            updates = numbers((1000, 1000), "float32")
        else:
            self.call, shape = gs.scatter, (10_000, 3) if of == "points" else (10_000,)
            dtype = "int32" if of == "integers" else "float32"
            indices, updates = places(10_000, (LARGE,)), numbers((LARGE, *shape[1:]), dtype)
        self.arrays = numbers(shape, updates.dtype), indices, updates

    def time_scatter(self, *_):
        self.call(*self.arrays, **self.options)


@timed
class Few:
    """An update for every second row, or every tenth element; most of the others have none."""

    params = (["elements", "points", "rows"], ["add", "mean"], [True, False], THREADS)
    param_names = ("of", "reduction", "include_self", "threads")

    def setup(self, of, reduction, include_self, threads):
        use_threads(threads, LARGE)
        self.options = {"reduction": reduction, "include_self": include_self}
        shape = {"elements": (LARGE,), "points": (LARGE // 10, 3), "rows": (LARGE // 10, 32)}[of]
        n = shape[0] // (10 if of == "elements" else 2)
        self.arrays = numbers(shape, "float32"), places(shape[0], (n,)), numbers((n, *shape[1:]), "float32")

    def time_scatter(self, *_):
        gs.scatter(*self.arrays, **self.options)

    def time_scatter_in_place(self, *_):
        data, *arrays = self.arrays
        gs.scatter(data, *arrays, **self.options, out=data)


@timed
class FewInPlace:
    """One update for each 100 bytes of a result that about fits the caches."""

    params = (THREADS,)
    param_names = ("threads",)

    def setup(self, threads):
        use_threads(threads, LARGE)
        size = 8 * LARGE
        self.data = numbers((size,), "float32")
        self.arrays = places(size, (size // 25,)), numbers((size // 25,), "float32")

    def time_add(self, *_):
        gs.scatter(self.data, *self.arrays, reduction="add", out=self.data)


@timed
class PreparedElements:
    """Elements at prepared indices, in a random order of data that are larger than the caches."""

    params = (["float32", "float64"], THREADS)
    param_names = ("dtype", "threads")

    def setup(self, dtype, threads):
        use_threads(threads, LARGE)
        size = 16 * LARGE
        self.data, self.updates = numbers((size,), dtype), numbers((2 * LARGE,), dtype)
        self.prepared = gs.prepare("scatter", self.data.shape, places(size, (2 * LARGE,)))

    def time_gather(self, *_):
        self.prepared.gather(self.data)

    def time_add(self, *_):
        self.prepared.scatter(self.data, self.updates, reduction="add")

    def time_add_in_place(self, *_):
        self.prepared.scatter(self.data, self.updates, reduction="add", out=self.data)


@timed
class Prepared:
    """Rows of 256 bytes, whose updates were grouped before; into a new array and in place."""

    params = (["add", "max", "none"], [False, True], THREADS)
    param_names = ("reduction", "in_place", "threads")

    def setup(self, reduction, in_place, threads):
        use_threads(threads, LARGE)
        self.data, self.updates = numbers((20_000, 64), "float32"), numbers((100_000, 64), "float32")
        self.prepared = gs.prepare("scatter", self.data.shape, places(20_000, (100_000,)))
        self.options = {"reduction": reduction, "out": self.data if in_place else None}

    def time_scatter(self, *_):
        self.prepared.scatter(self.data, self.updates, **self.options)


@timed
class GatherScatter:
    """The features of the sources of edges, added at their targets: in one pass, of plain and of prepared indices."""

    params = (["add", "mean", "max"], [False, True], THREADS)
    param_names = ("reduction", "prepared", "threads")

    def setup(self, reduction, prepared, threads):
        use_threads(threads, LARGE)
        self.data, self.source = numbers((20_000, 64), "float32"), numbers((20_000, 64), "float32")
        self.to, self.of = places(20_000, (200_000,)), places(20_000, (200_000,))
        if prepared:
            self.to, self.of = gs.prepare("scatter", (20_000,), self.to), gs.prepare("gather", (20_000,), self.of)
        self.options = {"reduction": reduction, "include_self": reduction == "add"}

    def time_gather_scatter(self, *_):
        gs.gather_scatter(self.data, self.to, self.source, self.of, **self.options)
