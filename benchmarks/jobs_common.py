"""The parts of the tasks ("jobs") of jobs.py: calls by name, ours first, and the libraries that they need.

A job is a function of a random generator and of `less`, which makes it smaller for a quick run: it divides the sides,
and its square divides the counts. Inputs that a user would already have (tensors, data frames, indices in another form)
are made before the timing. Every library gets the same arrays with the same dtypes. Numbers that are added are small
integers, so sums are exact in any order.
"""

import functools
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gatherscatter as gs
import numpy as np

OURS = "gatherscatter"
ABSENT: set[str] = set()  # libraries that were asked for and are not installed


@functools.cache
def library(name):
    """The module, told to use as many threads as we do (JAX has no such setting)."""
    module = importlib.import_module(name)
    if name == "torch":
        module.set_num_threads(gs.get_num_threads())
    elif name == "jax":
        module.config.update("jax_platforms", "cpu")
        module.config.update("jax_enable_x64", True)  # or its arrays would have other dtypes than everybody's
    elif name == "dask.array":
        importlib.import_module("dask").config.set(scheduler="threads", num_workers=gs.get_num_threads())
    return module


@dataclass(frozen=True)
class Needs:
    """A call that takes a library to make: prepare(module) returns it."""

    library: str
    prepare: Callable[[Any], Callable[[], Any]]

    def make(self):
        try:
            return self.prepare(library(self.library))
        except ImportError as error:
            ABSENT.add(error.name or self.library)
            return None


def on(name, function, *arrays, jit=True):
    """The call function(module, *arrays), with the arrays of that library; JAX compiles it unless told otherwise."""

    def prepare(module):
        if name == "torch":
            return functools.partial(function, module, *map(module.from_numpy, arrays))
        if name != "jax":
            return functools.partial(function, module, *arrays)
        run = functools.partial(function, module)
        run, given = module.jit(run) if jit else run, [module.numpy.asarray(array) for array in arrays]
        return lambda: module.block_until_ready(run(*given))

    return Needs(name, prepare)


@dataclass(frozen=True)
class Job:
    title: str
    detail: str
    arrange: Callable[[np.random.Generator, int], dict[str, Callable[[], Any] | Needs]]
    tolerance: float  # of a result, relative to our greatest number; 0: equal to the bit
    moved: int  # MB that have to move at least: each array once, of data the selected elements; 0: too few to count

    def make(self, rng, less=1):
        """The calls by name, ours first; without those whose library is not installed."""
        calls = self.arrange(rng, less)
        made = {name: call.make() if isinstance(call, Needs) else call for name, call in calls.items()}
        return {name: call for name, call in made.items() if call is not None}

    def ours(self, rng):
        """Our call alone, or None without its library."""
        call = self.arrange(rng, 1)[OURS]
        return call.make() if isinstance(call, Needs) else call


JOBS: dict[str, Job] = {}


def job(name, title, detail, tolerance=0.0, moved=0):
    def register(arrange):
        JOBS[name] = Job(title, detail, arrange, tolerance, moved)
        return arrange

    return register


def numbers(rng, shape, dtype=np.float32):
    """Small whole numbers."""
    return rng.integers(0, 8, shape).astype(dtype)


def columns(pairs):
    """The two columns of (…, 2), each in memory of its own, as NumPy, PyTorch and JAX want them."""
    return [np.ascontiguousarray(pairs[..., 0]), np.ascontiguousarray(pairs[..., 1])]


def sums(sparse, labels, rows, groups):
    """Sums of the rows of each label, as a product with a matrix of one 1 in each column, which is quick to make."""
    ones, starts = np.ones(len(rows), rows.dtype), np.arange(len(rows) + 1)
    return sparse.csc_array((ones, labels, starts), shape=(groups, len(rows))) @ rows


def grouped(pandas, labels, rows, groups, reduction):
    """A reduction of the rows of each label, by categories, which pandas need not find out first."""
    frame = pandas.Series(rows) if rows.ndim == 1 else pandas.DataFrame(rows)
    categories = pandas.Categorical.from_codes(labels, categories=np.arange(groups))
    return lambda: getattr(frame.groupby(categories, observed=False), reduction)()
