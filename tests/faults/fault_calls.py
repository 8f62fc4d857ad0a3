"""The calls in which tests/faults injects faults: every function, route and reduction, and kind of `out`."""

import contextlib
import sys
from dataclasses import dataclass
from functools import partial
from unittest import mock

import gatherscatter as gs
import numpy as np
from constants import GATHERS
from gatherscatter._kernels import gather as gather_kernel
from gatherscatter._kernels import scatter as scatter_kernel
from gatherscatter._kernels.common import GatherRoute, ScatterRoute
from gatherscatter.backends import kernels

GUARD = 4096  # bytes
PATTERN = 0xA5
# Function and route, and the axis: how to make it run.
GATHER_RECIPES = {
    ("gather", "direct"): 0,
    ("gather_nd", "direct"): 0,
    ("gather_nd", "runs"): 0,
    ("gather_elements", "runs"): 1,
    ("gather_elements", "columns"): 0,
    ("gather", "runs"): 0,
}
# Behind a route: what its rows are, if they are no single elements.
SCATTER_RECIPES = {
    ("scatter", "direct"): 0,
    ("scatter_nd", "direct"): 0,
    ("scatter_elements", "direct: units"): 1,
    ("scatter_elements", "direct: columns"): 0,
    ("scatter_nd", "direct: rows"): 0,
    ("scatter", "direct: long rows"): 0,
    ("scatter", "blocks"): 0,
    ("scatter_nd", "blocks: points"): 0,
    ("scatter_nd", "private"): 0,
    ("scatter", "partition"): 0,
    ("scatter", "partition: rows"): 0,
    ("scatter_nd", "partition: points"): 0,
    ("scatter_elements", "partition: columns"): 0,
}
RECIPES = GATHER_RECIPES | SCATTER_RECIPES
# `at` by two index arrays of different dtypes and strides, and by a mask; and scatters with accumulate_dtype.
AT_RECIPES = {
    ("get at arrays", "direct"): 0,
    ("get at arrays", "runs"): 0,
    ("get at a mask", "direct"): 0,
    ("update at arrays", "direct"): 0,
    ("update at arrays", "partition"): 0,
    ("update at a mask", "direct"): 0,
}
WIDE_RECIPES = {
    ("wide scatter", "direct"): 0,
    ("wide scatter", "partition"): 0,
    ("wide scatter_nd", "auto"): 0,
    ("wide scatter_elements", "auto"): 1,
}
# In one pass: the updates are the source, in another order.
FUSED_RECIPES = {("gather_scatter", "direct: rows"): 0, ("gather_scatter", "partition: rows"): 0}
# With weights: in one pass; in two steps, since the rows are short.
WEIGHTED_RECIPES = {
    ("weighted gather_scatter", "direct: rows"): 0,
}
# By the methods of prepared indices; newly: prepared in the call itself.
PREPARED_RECIPES = {
    ("prepared scatter", "direct: rows"): 0,
    ("newly prepared gather", "direct"): 0,
    ("newly prepared gather_elements", "columns"): 0,
    ("newly prepared scatter_nd", "partition"): 0,
}
ALL_RECIPES = RECIPES | AT_RECIPES | WIDE_RECIPES | FUSED_RECIPES | WEIGHTED_RECIPES | PREPARED_RECIPES
METHODS = {"none": "set", "mul": "multiply"}
WIDTH = 50  # of data that two arrays index
REDUCED = [("none", True)] + [(name, own) for name in ("add", "mul", "max", "min", "mean") for own in (True, False)]
# Of these, a selection that runs every path of marks, counts and scratch.
SOME_REDUCED = [("none", True), ("add", False), ("max", True), ("mean", True), ("mean", False)]
OUTS = ("new", "other", "in place", "strided", "overlapping")
ROW = {"gather": 24, "rows": 24, "long rows": 1536, "points": 3}  # items


@dataclass(frozen=True)
class Arrays:
    data: np.ndarray
    indices: np.ndarray
    updates: np.ndarray | None
    out: np.ndarray | tuple[np.ndarray, ...] | None
    memory: tuple[np.ndarray, ...]  # bytes with the guards, of each of the above

    @property
    def outs(self):
        if self.out is None:
            return ()
        return self.out if isinstance(self.out, tuple) else (self.out,)

    def are_guarded(self):
        return all((m[:GUARD] == PATTERN).all() and (m[-GUARD:] == PATTERN).all() for m in self.memory)

    def named(self):
        arrays = {"data": self.data, "indices": self.indices, "updates": self.updates}
        arrays |= {f"out {i}": out for i, out in enumerate(self.outs)}
        return {name: array for name, array in arrays.items() if array is not None}

    def inputs(self):
        return {name: array for name, array in self.named().items() if name[:3] != "out" and array is not self.out}


def guarded(array, n_bytes=0):
    """A copy of the array between guards, and the bytes of both; n_bytes: between the guards, if more than its own."""
    size = max(array.nbytes, n_bytes)
    memory = np.full(size + 2 * GUARD, PATTERN, np.uint8)
    copy = memory[GUARD : GUARD + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy, memory


@dataclass(frozen=True)
class Call:
    """One call. n: about how many items it moves."""

    function: str
    recipe: str
    reduction: str = "none"
    include_self: bool = True
    out: str = "new"
    n: int = 3000
    threads: int = 2
    dtype: str = "f4"
    mode: str = "raise"

    def __str__(self):
        own = "" if self.include_self else ", include_self=False"
        return (
            f"{self.function} by {self.recipe}, {self.reduction}{own}, out: {self.out}, {self.dtype}, n={self.n}, "
            f"{self.mode}, {self.threads} threads"
        )

    @property
    def name(self):
        """Of the function in the package, without what is special about the call."""
        return self.function.split()[-1]

    @property
    def is_gather(self):
        return self.name in GATHERS or self.function.startswith("get at")

    @property
    def is_at(self):
        return " at " in self.function

    @property
    def has_mask(self):
        return self.function.endswith("mask")

    @property
    def is_wide(self):
        return self.function.startswith("wide")

    @property
    def is_fused(self):
        return self.name == "gather_scatter"

    @property
    def is_possible(self):
        if self.has_mask and (self.mode != "raise" or self.out == "overlapping"):
            return False
        if self.has_mask and self.is_gather and self.out != "new":  # its size is the mask's
            return False
        if self.function.startswith("weighted") and self.dtype == "O":
            return False
        if self.is_wide and (self.reduction not in ("add", "mul", "mean") or self.dtype != "f4"):
            return False
        if self.is_gather:
            return self.reduction == "none" and self.out != "in place" and self.mode != "drop"
        if self.mode == "fill" or (self.dtype in ("O", "T") and self.reduction != "none"):
            return False
        return self.recipe != "private" or (self.threads > 1 and self.out != "strided")

    @property
    def route(self):
        """The route that is forced."""
        return self.recipe.partition(":")[0]

    @property
    def n_items(self):
        """Of a row, or 0."""
        if self.is_at:
            return 0
        what = "gather" if self.is_gather and self.recipe == "direct" else self.recipe.partition(": ")[2]
        return ROW.get(what, 0)

    @property
    def is_forced(self):
        """Whether its route runs it. If not, none such has its strides, its mode or its team."""
        if self.recipe == "auto":
            return False
        if self.is_gather:
            return self.out != "strided" and (self.mode == "raise" or self.recipe != "runs")
        if self.route not in ("blocks", "private"):
            return True
        if self.route == "blocks":
            return True
        # It has accumulators in the result, and several threads. In place, those cannot start from an identity.
        alone = self.threads == 1 or self.out == "strided" or self.reduction == "mean"
        return not alone and (self.include_self or self.out != "in place")

    def arrays(self, seed=0):
        """Data, indices, updates and out, of values that show which of them were written."""
        rng = np.random.default_rng(seed)
        axis, row = ALL_RECIPES[self.function, self.recipe], self.n_items
        by_element = self.function.endswith("elements")
        if self.recipe == "private":
            shape, n_tuples = (97,), self.n
        elif row:
            shape, n_tuples = (max(self.n // row, 3), row), max(self.n // row, 5)
        elif self.is_at:
            shape, n_tuples = (max(self.n // WIDTH, 2), WIDTH), self.n
        elif by_element:
            shape = (max(self.n // 60, 2), 60) if self.recipe == "direct: units" else (7, max(self.n // 7, 9))
            if axis == 0:
                size = min(max(self.n // 60, 2), 500)
                shape = (size, max(self.n // size, 60))
            n_tuples = self.n
        else:
            shape, n_tuples = (self.n,), self.n
        size = shape[axis]
        if self.is_at:
            n_tuples = n_tuples // 2 if self.has_mask else n_tuples
            indices = np.stack([rng.integers(-n, n, n_tuples) for n in shape])
        elif by_element:
            indices = rng.integers(-size, size, shape)
        else:
            indices = rng.integers(-size, size, (n_tuples, 1) if self.function.endswith("_nd") else n_tuples)
        if self.mode in ("drop", "fill"):
            indices.flat[::7] = size + 5
        leading = indices.shape[:1]
        result_shape = indices.shape if by_element else leading + shape[1:]
        if self.is_at:
            result_shape = (n_tuples,)
        if self.has_mask:
            indices, result_shape = rng.random(shape) < 0.5, (1,)  # updates that broadcast to any number
        data = self._values(rng, shape)
        if self.is_gather:
            made = {"data": data, "indices": indices}
        else:
            made = {"data": data, "indices": indices, "updates": self._values(rng, result_shape)}
            result_shape = shape
        if self.dtype in ("O", "T"):
            return Arrays(made["data"], indices, made.get("updates"), self._plain_out(made, result_shape), ())
        made, memory = {name: guarded(array) for name, array in made.items()}, []
        memory = [around for _, around in made.values()]
        made = {name: array for name, (array, _) in made.items()}
        out = self._guarded_out(made, result_shape, memory)
        return Arrays(made["data"], made["indices"], made.get("updates"), out, tuple(memory))

    def _values(self, rng, shape):
        whole = rng.integers(1, 200, shape)
        if self.dtype == "O":
            return np.array([Thing(i) for i in range(whole.size)], object).reshape(shape)
        if self.dtype == "T":
            return np.array([f"{n} is too long for sixteen bytes" for n in whole.flat], self._dtype()).reshape(shape)
        if self.reduction == "mul":
            whole = whole % 3 + 1
        return whole.astype(self.dtype)

    def _dtype(self):
        return np.dtypes.StringDType() if self.dtype == "T" else np.dtype(self.dtype)

    def _plain_out(self, made, shape):
        if self.out in ("new", "overlapping"):
            return None
        if self.out == "in place":
            return made["data"]
        out = np.full((*shape[:-1], 2 * shape[-1]), Thing(-1) if self.dtype == "O" else "-" * 40, self._dtype())
        return out[..., ::2] if self.out == "strided" else out[..., : shape[-1]].copy()

    def _guarded_out(self, made, shape, memory):
        if self.out == "new":
            return None
        if self.out == "in place":
            return made["data"]
        if self.out == "overlapping":  # begins in the middle of what is read: updates of a scatter, data of a gather
            name = "data" if self.is_gather else "updates"
            read = made[name]
            step = read.nbytes // 2 // read.itemsize * read.itemsize
            n_bytes = int(np.prod(shape)) * read.itemsize
            made[name], around = guarded(read, step + n_bytes)
            around[GUARD + read.nbytes : -GUARD] = 0
            memory.append(around)
            return around[GUARD + step : GUARD + step + n_bytes].view(read.dtype).reshape(shape)
        wide = np.full((*shape[:-1], 2 * shape[-1]), 77, self.dtype)
        if self.out == "other":
            wide = wide[..., : shape[-1]].copy()
        out, around = guarded(wide)
        memory.append(around)
        return out[..., ::2] if self.out == "strided" else out

    def arguments(self, arrays):
        """The function and its arguments."""
        options = {"mode": self.mode}
        if self.mode == "fill":
            options["fill_value"] = {"T": "filled", "O": None}.get(self.dtype, 55)
        if arrays.out is not None:
            options["out"] = arrays.out
        axis = ALL_RECIPES[self.function, self.recipe]
        if self.is_at:
            return self._arguments_of_at(arrays, options)
        if axis:
            options["axis"] = axis
        values = [arrays.data, arrays.indices]
        if not self.is_gather:
            values.append(arrays.updates)
            if self.is_fused:
                values.append(np.arange(len(arrays.updates))[::-1])
            options |= {"reduction": self.reduction, "include_self": self.include_self}
        if self.is_wide:
            options["accumulate_dtype"] = "float64"
        if self.function.startswith("weighted"):
            options["weights"] = (np.arange(len(arrays.updates)) % 3 + 1).astype(self.dtype)
        if self.function.startswith("newly"):
            return partial(newly_prepared, self.name), values, options
        if self.function.startswith("prepared"):
            method, options = prepared(self.name, arrays.data, arrays.indices, **options)
            return method, [arrays.data, *values[2:]], options
        return getattr(gs, self.name), values, options

    def _arguments_of_at(self, arrays, options):
        index = arrays.indices
        if not self.has_mask:
            half = 0 if sys.byteorder == "little" else 1
            index = index[0], index[1].view(np.int32)[half::2]
        indexed = gs.at(arrays.data)[index]
        if self.is_gather:
            return indexed.get, [], options
        options["include_self"] = self.include_self
        return getattr(indexed, METHODS.get(self.reduction, self.reduction)), [arrays.updates], options

    def run(self, arrays):
        function, values, options = self.arguments(arrays)
        with self.forced():
            return function(*values, **options)

    @contextlib.contextmanager
    def forced(self):
        route = {"gather" if self.is_gather else "scatter": self.route}
        least = 0 if self.is_fused else kernels.ONE_PASS_BYTES
        with mock.patch.object(kernels, "ONE_PASS_BYTES", least), kernels.forced(self.threads, **route):
            yield

    def expected(self, seed=0):
        """The result on one thread, by itself, from arrays of its own."""
        arrays = self.arrays(seed)
        function, values, options = self.arguments(arrays)
        options.pop("out", None)
        gs.set_num_threads(1)
        with kernels.forced(1, scatter="direct"), contextlib.ExitStack() as stack:
            stack.callback(gs.set_num_threads, None)
            return function(*values, **options)

    def last_route(self):
        if self.is_gather:
            return GatherRoute(gather_kernel.last_route()[0]).name.lower()
        return ScatterRoute(scatter_kernel.last_route()[0]).name.lower()


def prepared(operator, data, indices, *, mode, axis=None, **options):
    """A method of prepared indices, and what is left of the options of the function."""
    made = gs.prepare(operator, data.shape, indices, axis=axis, mode=mode)
    return getattr(made, operator.partition("_")[0]), options


def newly_prepared(operator, data, indices, *updates, **options):
    method, options = prepared(operator, data, indices, **options)
    return method(data, *updates, **options)


class Thing:
    """An object that is equal to others of its number."""

    def __init__(self, number):
        self.number = number

    def __eq__(self, other):
        return isinstance(other, Thing) and self.number == other.number

    __hash__ = None


def same(a, b):
    """Whether two arrays of one dtype have the same bytes, or equal objects. Or tuples of arrays."""
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if a.dtype.hasobject or a.dtype.kind == "T":
        return a.shape == b.shape and a.tolist() == b.tolist()
    bits = f"u{a.itemsize}"  # compared where they are: copies of a megabyte take ten times as long
    return a.dtype == b.dtype and np.array_equal(a.view(bits), b.view(bits))


def calls(function, recipe, *, sizes=(3000,), outs=OUTS, threads=(2,), modes=("raise",), dtypes=None, reduced=REDUCED):
    """All calls of a recipe that can be."""
    if dtypes is None:
        dtypes = ("i4",) if recipe == "private" else ("f4",)
    made = [
        Call(function, recipe, reduction, include_self, out, n, count, dtype, mode)
        for n in sizes
        for dtype in dtypes
        for reduction, include_self in reduced
        for out in outs
        for count in threads
        for mode in modes
    ]
    return [call for call in made if call.is_possible]
