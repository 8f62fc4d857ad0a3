"""`at` on the array library of another distribution, whose backend has the defaults of the base class."""

import importlib

import gatherscatter as gs
import numpy as np
import pytest
from at_draws import loop
from gatherscatter import dispatch

PLUGIN = """
import numpy as np
from gatherscatter.backends.base import Backend
from gatherscatter.backends.numpy import BACKEND as NUMPY


class Array:
    def __init__(self, values):
        self.values = np.array(values)

    shape = property(lambda self: self.values.shape)
    ndim = property(lambda self: self.values.ndim)
    dtype = property(lambda self: self.values.dtype)

    def __getitem__(self, key):
        return Array(self.values[key])  # a copy, so that no write to it is seen

    def __setitem__(self, key, part):
        self.values[key] = part.values


def values_of(value):
    if isinstance(value, (list, tuple)):
        return type(value)(map(values_of, value))
    return value.values if isinstance(value, Array) else value


class Namespace:
    def __getattr__(self, name):
        def function(*arguments, **options):
            result = getattr(np, name)(*map(values_of, arguments), **options)
            return tuple(map(Array, result)) if isinstance(result, tuple) else Array(result)

        return function


class Boxes(Backend):
    name = "boxes"

    def owns(self, value):
        return isinstance(value, Array)

    def namespace(self, array):
        return Namespace()

    def asarray(self, value, like):
        return Array(value)

    def from_numpy(self, array, like):
        return Array(array)

    def gather(self, data, indices, plan, fill_value, out):
        if out is not None:
            self.check_out(plan, out, data, plan.shape)
        return self.deliver(plan, Array(NUMPY.gather(data.values, indices.values, plan, fill_value, None)), out)

    def scatter(self, data, indices, updates, plan, out):
        if out is not None:
            self.check_out(plan, out, data, plan.data)
        return self.deliver(
            plan, Array(NUMPY.scatter(data.values, indices.values, values_of(updates), plan, None)), out
        )


BACKEND = Boxes()
"""

X = (np.arange(60) % 47 + 1.0).reshape(3, 4, 5)
ROWS, COLUMNS = np.array([0, 2, 2]), np.array([3, 0, 0])
INDICES = {
    "array": (slice(None), ROWS),
    "slice": (slice(1, None), slice(None, None, -1)),
    "apart": (ROWS, slice(None), COLUMNS),
    "behind": (slice(1, None), ROWS, COLUMNS),
    "mask": (slice(None), X[0] > 20),
    "integers": (1, 0),
}


@pytest.fixture
def asarray(tmp_path, monkeypatch):
    (tmp_path / "boxes.py").write_text(PLUGIN)
    metadata = tmp_path / "boxes-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: boxes\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[gatherscatter.backends]\nboxes = boxes:BACKEND\n")
    monkeypatch.syspath_prepend(tmp_path)
    dispatch._plugin.cache_clear()
    yield importlib.import_module("boxes").Array
    dispatch._plugin.cache_clear()


def test_another_distributions_arrays(asarray):
    for index in INDICES.values():
        given = tuple(asarray(item) if isinstance(item, np.ndarray) else item for item in index)
        x, updates = asarray(X), X[index] + 1
        found = gs.at(x)[given].get()
        assert type(found) is asarray
        np.testing.assert_array_equal(found.values, X[index])
        for method in ("set", "subtract"):
            found = getattr(gs.at(x)[given], method)(asarray(updates))
            np.testing.assert_array_equal(found.values, loop(X, index, updates, method))
        np.testing.assert_array_equal(x.values, X)
        part = asarray(np.zeros_like(X[index]))
        assert gs.at(x)[given].get(out=part) is part
        np.testing.assert_array_equal(part.values, X[index])
        assert gs.at(x)[given].add(2.0, out=x) is x
        np.testing.assert_array_equal(x.values, loop(X, index, 2.0, "add"))
    with pytest.raises(IndexError, match=r"^at: index.*\(0, 4\).* is out of bounds"):
        gs.at(asarray(X))[asarray([0, 0]), asarray([0, 4])].get()


def test_an_array_that_cannot_be_written_to(asarray, monkeypatch):
    monkeypatch.delattr(asarray, "__setitem__")
    x = asarray(X)
    np.testing.assert_array_equal(gs.at(x)[[0]].set(0.0).values, loop(X, [0], 0.0, "set"))
    with pytest.raises(NotImplementedError, match=r"at: a boxes.Array cannot be written to"):
        gs.at(x)[1:].set(0.0)
