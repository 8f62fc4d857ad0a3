"""The calls of segments in which tests/faults injects faults: as fault_calls.Call, of every function and route."""

import itertools
from dataclasses import dataclass
from functools import partial

import gatherscatter as gs
import numpy as np
from constants import SEGMENT_REDUCTIONS
from fault_calls import Arrays, guarded
from gatherscatter.backends import kernels

# Of each route of src/segments/routes.pxd: how many threads take it, the order of the ids, positions of a segment.
ROUTES = {
    "pieces": (1, "random", 40),
    "sorted": (2, "sorted", 40),
    "pointers": (2, "pointers", 40),
    "private": (2, "random", 150),
    "tiles": (2, "random", 8),
}
# prepared: by methods of prepared ids; newly: prepared in the call itself.
FUNCTIONS = {
    "segment_reduce": ROUTES,
    "segment_softmax": ("sorted", "tiles"),
    "segment_log_softmax": ("pointers",),
    "segment_scan": ("pieces", "pointers"),
    "segment_quantile": ("pointers", "tiles"),
    "segment_argsort": ("sorted", "tiles"),
    "prepared reduce": ("tiles",),
    "newly prepared reduce": ("tiles",),
    "newly prepared gather": ("tiles",),
    "newly prepared order": ("tiles",),
}
RECIPES = [(function, route) for function, routes in FUNCTIONS.items() for route in routes]
# Behind the route: NumPy computes without the GIL.
CRASHING = [("segment_reduce", f"{route}: large results") for route in ("pieces", "tiles")]
LARGE = 60_000  # items
SHAPES = ((1500, 0), (1500, 3), (LARGE, 0))  # items, columns
MOST_SEGMENTS = 150  # unless results are large: of up to 500 items, NumPy computes with the GIL
# Every accumulator and every pass; alone, some are scatters.
REDUCED = (
    *("add", "mean", "var", "argmax", "first", "logsumexp", "count"),
    ("mean", "count"),
    ("mul", "var", "last", "any", "count"),
    ("max", "argmin", "std", "logsumexp", "first"),
    ("median", "nunique"),
)
DTYPES = ("f4", "f8", "c8", "i4")
OUTS = ("new", "other", "strided")


@dataclass(frozen=True)
class SegmentCall:
    """One call. width: of data's second dimension; 0: there is none."""

    function: str
    route: str
    reduction: str | tuple[str, ...] = "add"
    dtype: str = "f4"
    n: int = 1500
    width: int = 0
    skipna: bool = False
    out: str = "new"

    def __str__(self):
        skips = ", skipna" if self.skipna else ""
        shape = f"({self.n}, {self.width})" if self.width else f"({self.n},)"
        return f"{self.function} by {self.route}, {self.reduction}{skips}, out: {self.out}, {self.dtype} of {shape}"

    @property
    def name(self):
        """Of the function or method, without what is special about the call."""
        return self.function.split()[-1]

    @property
    def reductions(self):
        return self.reduction if isinstance(self.reduction, tuple) else (self.reduction,)

    @property
    def has_large_results(self):
        return self.route.endswith("large results")

    @property
    def is_possible(self):
        if self.name in ("gather", "order", "segment_argsort") and self.out != "new":
            return False
        if not self.name.endswith("reduce"):
            return self.dtype != "c8" and self.reduction == "add" and not self.skipna
        if (self.skipna and self.dtype == "i4") or (self.n == LARGE and self.dtype == "c8"):
            return False
        return all(np.dtype(self.dtype).name in SEGMENT_REDUCTIONS[name] for name in self.reductions)

    def inputs(self, seed=0):
        """Data and ids or pointers. Every 10th segment is empty, and some elements have none."""
        rng = np.random.default_rng(seed)
        _, kind, positions = ROUTES[self.route.partition(":")[0]]
        size = self.n // max(self.width, 1)
        n = size // positions if self.has_large_results else min(size // positions, MOST_SEGMENTS)
        ids = rng.integers(-1, n, size)
        ids[ids % 10 == 7] = 3
        data = rng.integers(1, 200, (size, self.width) if self.width else size).astype(self.dtype)
        if self.dtype != "i4":
            data.flat[::7] = np.nan
        if kind == "random":
            return data, ids, n
        ids.sort()
        return data, (np.searchsorted(ids, np.arange(n + 1)) if kind == "pointers" else ids), n

    def arrays(self, seed=0):
        """Data, ids or pointers, and out, of values that show which of them were written."""
        data, ids, _ = self.inputs(seed)
        pairs = [guarded(data), guarded(ids)]
        out = None
        if self.out != "new":
            expected = self.expected(seed)
            made = [
                guarded(np.full((*array.shape[:-1], 2 * array.shape[-1]), 77, array.dtype))
                if self.out == "strided"
                else guarded(np.full_like(array, 77))
                for array in (expected if isinstance(expected, tuple) else (expected,))
            ]
            pairs += made
            outs = tuple(array[..., ::2] if self.out == "strided" else array for array, _ in made)
            out = outs if isinstance(expected, tuple) else outs[0]
        return Arrays(pairs[0][0], pairs[1][0], None, out, tuple(memory for _, memory in pairs))

    def arguments(self, arrays):
        """The function and its arguments."""
        n, options = self.inputs()[2], {}
        if self.name.endswith("reduce"):
            options = {"reduction": self.reduction, "skipna": self.skipna}
            if self.dtype == "i4":  # which has no NaN for empty segments
                fills = tuple(True if name == "any" else 1 for name in self.reductions)
                options["fill_value"] = fills if isinstance(self.reduction, tuple) else fills[0]
        if self.name == "segment_quantile":
            options["q"] = [0.5, 0.1]
        if arrays.out is not None:
            options["out"] = arrays.out
        ids = {"indptr" if self.route == "pointers" else "segment_ids": arrays.indices}
        if self.function.startswith("newly"):
            return partial(newly_prepared, self.name), [arrays.data, ids, n], options
        if self.function.startswith("prepared"):
            made = gs.prepare("segment", arrays.data.shape, num_segments=n, **ids)
            return getattr(made, self.name), [arrays.data], options
        return getattr(gs, self.name), [arrays.data], options | ids | {"num_segments": n}

    def run(self, arrays):
        function, values, options = self.arguments(arrays)
        with self.forced():
            return function(*values, **options)

    def forced(self):
        return kernels.forced(ROUTES[self.route.partition(":")[0]][0])

    def expected(self, seed=0):
        """The result on one thread, from arrays of its own."""
        data, ids, _ = self.inputs(seed)
        function, values, options = self.arguments(Arrays(data, ids, None, None, ()))
        with kernels.forced(1):
            return function(*values, **options)


def newly_prepared(method, data, ids, n, **options):
    made = gs.prepare("segment", data.shape, num_segments=n, **ids)
    if method == "order":
        return made.order, made.indptr, made.counts
    return getattr(made, method)(data[:n].astype("f8") if method == "gather" else data, **options)


def calls(function, route, *, shapes=SHAPES, outs=OUTS, step=23):
    """Every so many of the calls of a recipe, so that each value of each option is among them."""
    shapes = [(LARGE, 3)] if (function, route) in CRASHING else shapes
    options = itertools.product(REDUCED, DTYPES, shapes, (False, True), outs)
    made = [SegmentCall(function, route, name, dtype, *shape, *rest) for name, dtype, shape, *rest in options]
    return [call for call in made if call.is_possible][:: step if function.endswith("reduce") else 1]
