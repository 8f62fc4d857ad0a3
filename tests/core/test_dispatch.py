"""Which backend handles a call, and arguments that are not arrays."""

import gc
import importlib
import inspect
import subprocess
import sys
import weakref

import array_api_strict as xp
import gatherscatter as gs
import numpy as np
import pytest
from gatherscatter import dispatch, gathers
from gatherscatter._kernels import gather as kernels
from gatherscatter._kernels import scatter as scatter_kernels
from gatherscatter._kernels.common import Status
from gatherscatter.backends import numpy as numpy_backend


def test_import_brings_no_array_library_but_numpy():
    code = (
        "import sys, gatherscatter\n"
        "gatherscatter.gather_nd([1, 2], [[0]])\n"
        "gatherscatter.show_config()\n"
        "print([name for name in sys.modules if name.split('.')[0] in"
        " ('torch', 'jax', 'cupy', 'dask', 'array_api_strict', 'array_api_compat', 'ml_dtypes')])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "[]"


def test_import_brings_no_module_that_takes_long():
    code = (
        "import sys, numpy\n"
        "before = set(sys.modules)\n"
        "import gatherscatter\n"
        "slow = {'importlib.metadata', 'inspect', 'pathlib', 'platform', 'asyncio'}\n"
        "print(sorted(slow & (set(sys.modules) - before)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


def test_all_is_what_there_is():
    assert sorted(gs.__all__) == gs.__all__
    for name in gs.__all__:
        assert hasattr(gs, name)
    functions = {name for name, value in vars(gs).items() if inspect.isfunction(value)}
    assert {name for name in functions if not name.startswith("_")} < set(gs.__all__)


PLUGIN = """
import numpy as np
from gatherscatter.backends.base import Backend
from gatherscatter.backends.numpy import BACKEND as NUMPY

class Array:
    def __init__(self, values):
        self.values = np.asarray(values)
        self.shape = self.values.shape

class Squares(Backend):
    name = "squares"

    def owns(self, value):
        return isinstance(value, Array)

    def asarray(self, value, like):
        return Array(value)

    def gather(self, data, indices, plan, fill_value, out):
        return Array(NUMPY.gather(data.values, indices.values, plan, fill_value, None))

    def scatter(self, data, indices, updates, plan, out):
        updates = updates.values if self.owns(updates) else updates
        return Array(NUMPY.scatter(data.values, indices.values, updates, plan, None))

BACKEND = Squares()
"""


def test_another_distribution_can_add_a_backend(tmp_path, monkeypatch):
    (tmp_path / "squares.py").write_text(PLUGIN)
    metadata = tmp_path / "squares-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: squares\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[gatherscatter.backends]\nsquares = squares:BACKEND\n")
    monkeypatch.syspath_prepend(tmp_path)
    dispatch._plugin.cache_clear()
    squares = importlib.import_module("squares")
    data, indices = squares.Array([1, 4, 9]), squares.Array([[2], [0]])
    for _ in range(2):  # the second time by the cached route
        result = gs.gather_nd(data, indices)
        assert type(result) is squares.Array
        assert result.values.tolist() == [9, 1]
    assert gs.scatter_nd(data, [[1]], 5).values.tolist() == [1, 5, 9]
    with pytest.raises(TypeError, match=r"^gather: data is a squares.Array but indices is a numpy.ndarray"):
        gs.gather(data, np.array([0]))


def test_an_unknown_class_is_refused():
    class Thing:
        pass

    with pytest.raises(TypeError, match=r"^gather: data is a test_dispatch\..*Thing, which is not an array"):
        gs.gather(Thing(), [0])


def test_lists_are_numpy_arrays():
    result = gs.gather_nd([[0, 1], [2, 3]], [[0, 1], [1, 1]])
    assert type(result) is np.ndarray
    assert result.tolist() == [1, 3]
    assert gs.gather_nd(("a", "b"), ((1,),)).tolist() == ["b"]
    assert gs.gather_nd(data=[5, 6], indices=[1]).tolist() == 6
    assert gs.gather_nd(7, []).tolist() == 7
    assert gs.gather_nd(np.float32(7), np.empty((2, 0), int)).dtype == np.float32


@pytest.mark.parametrize("index", [2, np.int64(2), np.uint8(2)], ids=repr)
def test_one_integer_is_an_index(index):
    assert gs.gather(np.arange(4.0), index) == 2
    assert gs.scatter(np.zeros(3), index, 5.0).tolist() == [0, 0, 5]


def test_a_list_of_arrays_is_an_array():
    assert gs.gather(np.arange(3), [np.array([0, 0]), np.array([0, 1])]).tolist() == [[0, 0], [0, 1]]


def test_an_empty_list_is_of_integers():
    assert gs.gather(np.arange(3), []).tolist() == []
    assert gs.gather_nd(np.arange(3), [[], []]).tolist() == [[0, 1, 2]] * 2
    with pytest.raises(TypeError, match="indices has dtype float64"):
        gs.gather_nd(np.arange(3), np.array([]))


@pytest.mark.parametrize("kind", [np.memmap, np.matrix, np.recarray])
def test_plain_subclasses_are_arrays(kind, tmp_path):
    data = np.arange(6).reshape(2, 3)
    if kind is np.memmap:
        view = np.memmap(tmp_path / "data", data.dtype, "w+", shape=data.shape)
        view[...] = data
    else:
        view = data.view(kind)
    for _ in range(2):  # the second time by the cached route
        result = gs.gather_nd(view, np.array([[1, 2], [0, 0]]))
        assert type(result) is np.ndarray
        assert result.tolist() == [5, 0]
        assert gs.gather_nd(view, np.array([[1]])).tolist() == [[3, 4, 5]]


def test_two_libraries_are_refused():
    data, indices = np.arange(3), xp.asarray([[0]])
    with pytest.raises(
        TypeError, match=r"^gather_nd: data is a numpy.ndarray but indices is an array_api_strict.Array"
    ):
        gs.gather_nd(data, indices)
    with pytest.raises(TypeError, match=r"data is an array_api_strict.Array but indices is a numpy.ndarray"):
        gs.gather_nd(xp.asarray(data), np.array([[0]]))


def test_batch_dims_takes_what_is_an_integer():
    data, indices = np.arange(6).reshape(2, 3), np.array([[2], [0]])
    for one in (1, np.int8(1), np.array(1), True):
        assert gs.gather_nd(data, indices, batch_dims=one).tolist() == [2, 3]
    for wrong in (1.0, "1", None, np.array([1, 2])):
        with pytest.raises(TypeError, match=r"^gather_nd: batch_dims=.* is not an integer; pass "):
            gs.gather_nd(data, indices, batch_dims=wrong)


def test_options_are_keyword_only():
    with pytest.raises(TypeError):
        gs.gather_nd(np.arange(3), np.array([[0]]), 0)


def test_a_writer_in_another_thread_is_noticed(monkeypatch):
    """The kernel reported a place where the array now holds a good index."""
    for module in (gathers, numpy_backend):
        monkeypatch.setattr(module, "try_gather", lambda *args: None)
    monkeypatch.setattr(kernels, "gather", lambda *args: 1)
    with pytest.raises(RuntimeError, match="indices changed during the call"):
        gs.gather_nd(np.zeros(3), np.zeros((2, 1), int), mode="promise_in_bounds")


def test_a_kernel_without_memory_raises(monkeypatch):
    monkeypatch.setattr(scatter_kernels, "scatter", lambda *args: int(Status.NO_MEMORY))
    with pytest.raises(MemoryError, match=r"^scatter: no memory to mark which destinations have updates"):
        gs.scatter(np.zeros((3, 2), ">f4"), [0], [[1, 2]], include_self=False, reduction="add")


def test_dead_classes_are_collected():
    def calls(n):
        class Own(np.ndarray):
            pass

        data = np.arange(4.0).view(Own)
        for _ in range(n):
            gs.gather_nd(data, [[1]])
            gs.gather_nd(data, np.array([[1]]))
            gs.scatter_nd(data, np.array([[1]]), data[:1])
        return weakref.ref(Own)

    n_known = len(dispatch.known)
    dead = calls(2)
    gc.collect()
    assert dead() is None
    assert len(dispatch.known) == n_known


def test_known_classes_are_bounded(monkeypatch):
    module = sys.modules[__name__]
    monkeypatch.setattr(dispatch, "_MAX_KNOWN", len(dispatch.known) + 4)
    monkeypatch.setattr(module, "Own", None, raising=False)
    for _ in range(8):  # as in a notebook, whose cell is run again
        module.Own = type("Own", (), {})
        dispatch._remember((module.Own, np.ndarray), numpy_backend.BACKEND)
        assert (module.Own, np.ndarray) in dispatch.known
    assert len(dispatch.known) <= dispatch._MAX_KNOWN
