"""Dask arrays: the answers of NumPy's arrays bit for bit, and what the graphs are like that give them."""

import collections
import contextlib
import io
import itertools
import math
import os
import pickle
import re
import subprocess
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import array_api_strict
import dask
import dask.array as da
import gatherscatter as gs
import numpy as np
import pytest
from conftest import assert_same_bits
from dask.callbacks import Callback
from dask.core import flatten
from dask.diagnostics import ProgressBar
from dask.sizeof import sizeof
from dask.utils import key_split
from gatherscatter.backends.dask import graphs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from libraries import FUNCTIONS, LIBRARIES, why_not_here
from strategies import (
    PLAIN_DTYPES,
    REDUCTION_DTYPES,
    REDUCTIONS,
    REFERENCE_DTYPES,
    gather_calls,
    numbers,
    scatter_calls,
)


@pytest.fixture(autouse=True)
def _in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@st.composite
def chunks(draw, shape):
    """Any chunks of a shape, empty ones too."""
    found = []
    for n in shape:
        edges = sorted(draw(st.lists(st.integers(0, n), max_size=3)))
        found.append(tuple(b - a for a, b in itertools.pairwise([0, *edges, n])))
    return tuple(found)


@st.composite
def in_chunks(draw, array):
    return da.from_array(array, chunks=draw(chunks(array.shape)))


@st.composite
def mixes(draw, arrays):
    """The same arrays, at least one of them Dask's."""
    which = draw(st.lists(st.booleans(), min_size=len(arrays), max_size=len(arrays)).filter(any))
    return [draw(in_chunks(array)) if lazy else array for array, lazy in zip(arrays, which, strict=True)]


def native(array):
    return np.array(array, order="C")


def drawn(n):
    return settings(max_examples=n, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("waiting", [0, graphs.WAITING])
@pytest.mark.parametrize("function", FUNCTIONS[:3])
def test_gathers_are_numpys(function, waiting, monkeypatch):
    monkeypatch.setattr(graphs, "WAITING", waiting)

    @drawn(60)
    @given(st.data())
    def check(draw):
        data, indices, options = draw.draw(gather_calls(function, PLAIN_DTYPES + REFERENCE_DTYPES))
        expected = getattr(gs, function)(data, indices, **options)
        arrays = draw.draw(mixes([data, indices]))
        result = getattr(gs, function)(*arrays, **options)
        assert isinstance(result, da.Array)
        assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
        assert_same_bits(np.asarray(result.compute()), expected)
        for key in flatten(result.__dask_keys__()):
            block = np.asarray(dask.get(result.dask, key))
            assert block.shape == tuple(sizes[i] for sizes, i in zip(result.chunks, key[1:], strict=True))

    check()


@pytest.mark.parametrize("waiting", [0, 1, graphs.WAITING])
@pytest.mark.parametrize("function", FUNCTIONS[3:])
def test_scatters_are_numpys(function, waiting, monkeypatch):
    monkeypatch.setattr(graphs, "WAITING", waiting)

    @drawn(60)
    @given(st.data())
    def check(draw):
        data, indices, updates, options = draw.draw(scatter_calls(function, REDUCTION_DTYPES, REDUCTIONS, scalars=True))
        expected = getattr(gs, function)(data, indices, updates, **options)
        if isinstance(updates, np.ndarray):
            arrays = draw.draw(mixes([data, indices, updates]))
        else:
            arrays = [*draw.draw(mixes([data, indices])), updates]
        with np.errstate(all="ignore"):
            result = getattr(gs, function)(*arrays, **options)
            assert isinstance(result, da.Array)
            assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
            assert_same_bits(np.asarray(result.compute()), expected)

    check()


def test_what_stands_beside_a_dask_array():
    data = np.arange(12.0).reshape(4, 3)
    lazy = da.from_array(data, chunks=2)
    tuples = [[0, 1], [3, -1]]
    for indices in (tuples, np.array(tuples), da.from_array(np.array(tuples), chunks=1)):
        assert gs.gather_nd(lazy, indices).compute().tolist() == [1, 11]
        for updates in ([5.0, 6.0], np.array([5.0, 6.0]), da.from_array(np.array([5.0, 6.0]), chunks=1)):
            assert gs.scatter_nd(lazy, indices, updates).compute()[0, 1] == 5
        assert gs.scatter_nd(lazy, indices, 7).compute()[3, 2] == 7
    indices = da.from_array(np.array(tuples), chunks=1)
    for known in (data, data.tolist()):
        assert gs.gather_nd(known, indices).compute().tolist() == [1, 11]
    updates = da.ones(2, chunks=1)
    assert gs.scatter_nd(data, tuples, updates, reduction="add").compute()[0, 1] == 2
    assert gs.scatter_nd([1.0, 2.0], [[0], [0]], updates, reduction="add").compute().tolist() == [3, 2]


def test_data_without_axes_may_be_a_scalar_of_numpys():
    total = da.from_array(np.arange(4.0), chunks=2).sum()
    assert gs.gather_nd(total, []).compute() == 6
    assert gs.scatter_nd(total, [[], []], total + da.arange(2, chunks=1), reduction="add").compute() == 19
    assert gs.gather(da.arange(5, chunks=2), da.arange(5, chunks=2).max()).compute() == 4


# Graphs


def tasks_of(array):
    """How many tasks of each name the call itself made."""
    names = collections.Counter(key_split(key) for key in array.dask.layers[array.name])
    operator = key_split(array.name)
    return {name.removeprefix(operator).removeprefix("-") or "result": n for name, n in names.items()}


def never(chunk):
    raise AssertionError("computed")


def unread(shape, chunks, dtype=float):
    """An array whose chunks must not be read."""
    return da.zeros(shape, chunks=chunks, dtype=dtype).map_blocks(never, dtype=dtype, meta=np.empty((0,) * len(shape)))


def test_a_call_computes_nothing():
    data, indices = unread((6, 4), 2), unread((5, 2), 2, int)
    assert gs.gather_nd(data, indices).shape == (5,)
    result = gs.scatter_nd(data, indices, unread((5,), 2), mode="clip", reduction="mean")
    with pytest.raises(AssertionError, match="computed"):
        result.compute()
    for dialect in (gs.onnx, gs.openvino, gs.tensorflow):
        assert dialect.gather_nd(data, indices).shape == (5,)


def test_only_chunks_that_known_indices_hit_are_read():
    def reads(block_info=None):
        hit = block_info[None]["chunk-location"]
        assert hit in ((0, 0), (0, 1), (3, 0), (3, 1)), hit
        return np.full(block_info[None]["chunk-shape"], 10 * hit[0] + hit[1])

    data = da.map_blocks(reads, chunks=((2,) * 5, (3, 3)), dtype=int, meta=np.empty((0, 0), int))
    result = gs.gather(data, [6, 1, -3, 0])
    assert result.compute()[:, [0, 3]].tolist() == [[30, 31], [0, 1], [30, 31], [0, 1]]
    assert tasks_of(result) == {"pick": 4, "result": 2}
    assert tasks_of(gs.scatter(data, [6, 1, -3, 0], 5)) == {"result": 10}


def test_dasks_conventions_choose_the_chunks():
    data = da.zeros((8, 9, 10), chunks=(4, 3, 5))
    indices = da.zeros((7, 6), chunks=(2, 6), dtype=int)
    assert gs.gather(data, indices, axis=1).chunks == ((4, 4), (2, 2, 2, 1), (6,), (5, 5))
    assert gs.gather_nd(data, indices[:, :2]).chunks == ((2, 2, 2, 1), (5, 5))
    # Where both are cut along a batch axis, its chunks are those of both.
    both = gs.gather(data, da.zeros((8, 3), chunks=(3, 3), dtype=int), axis=1, batch_dims=1)
    assert both.chunks == ((3, 1, 2, 2), (3,), (5, 5))
    assert gs.scatter(data, indices, 1.0, axis=1).chunks == data.chunks
    with dask.config.set({"array.chunk-size": 8 * 4 * 5 * 25}):
        assert gs.gather(data, np.zeros(100, int), axis=1).chunks == ((4, 4), (25,) * 4, (5, 5))
        assert gs.gather_nd(data, np.zeros((1000, 3), int)).chunks == ((500, 500),)


@pytest.mark.parametrize("size", [(12, 30), (100, 220), (8, 16), (1, 4)])
def test_the_number_of_tasks_follows_the_formulas(size):
    """Those of docs/dask.md, with n_i chunks of indices, n_o owners, C columns and h hits."""
    n_i, n_o, columns = size[0], size[1] // 2, 2
    data = da.zeros((3, size[1], 4), chunks=(3, 2, 2))
    indices = da.from_array(np.arange(size[0] * 2) % size[1], chunks=2)
    result = gs.gather(data, indices, axis=1)
    per_bundle = graphs.WAITING * (3 * 2 * 2) * 8 // 2  # two bytes of tuples in a chunk of indices
    smaller = math.prod(result.shape) <= math.prod(data.shape)
    assert tasks_of(result) == {
        "cuts": 1,
        "split": n_i,
        "places": n_i,
        "bucket": n_i * n_o,
        "pick": n_i * n_o * columns,
        "result": n_i * columns,
        **({"done": n_i, "all-done": 1, "bundle": math.ceil(n_i / per_bundle) * n_o} if smaller else {}),
    }
    updates = da.zeros(result.shape, chunks=(3, 2, 2))
    steps = math.ceil(n_i / graphs.WAITING)  # chunks of updates and of data are of one size here
    found = tasks_of(gs.scatter(data, indices, updates, axis=1))
    assert found.pop("apply", 0) == n_o * (steps - 1) * columns
    assert found == {
        "cuts": 1,
        "split": n_i,
        "send": n_i * columns,
        "parcel": n_i * n_o * columns,
        "result": n_o * columns,
    }
    known = indices.compute()
    hits = len({(i // 2, owner // 2) for i, owner in enumerate(known)})
    assert tasks_of(gs.scatter(data, known, updates, axis=1)) == {"parcel": hits * columns, "result": n_o * columns}
    with dask.config.set({"array.chunk-size": 3 * 2 * 2 * 8}):
        assert tasks_of(gs.gather(data, known, axis=1)) == {"pick": hits * columns, "result": n_i * columns}


def test_ten_thousand_by_ten_thousand_chunks_get_tasks_for_hits_alone():
    data = da.zeros(10**6, chunks=100)
    indices = np.arange(0, 10**6, 100)[::-1].repeat(2)
    with dask.config.set({"array.chunk-size": 16}):
        result = gs.gather(data, indices)
    assert (*result.numblocks, *data.numblocks) == (10**4, 10**4)
    assert tasks_of(result) == {"pick": 10**4, "result": 10**4}
    updates = da.ones(len(indices), chunks=2)
    assert tasks_of(gs.scatter(data, indices, updates)) == {"parcel": 10**4, "result": 10**4}


def test_tasks_do_not_carry_what_they_share():
    """Ten thousand times the sizes of ten thousand chunks would fill the scheduler."""
    data = da.zeros(10**5, chunks=10)
    result = gs.gather(data, da.zeros(20, chunks=10, dtype=int))
    layer = result.dask.layers[result.name]
    large = [key_split(key) for key, task in layer.items() if len(pickle.dumps(task)) > 10**4]
    assert set(large) == {"gather-cuts", "gather"}  # and the two merges, which name all their picks


def test_names_are_readable_and_depend_on_the_arguments_alone():
    data, indices = da.arange(10, chunks=3), da.from_array(np.array([1, 2]), chunks=1)
    assert gs.gather(data, indices).name == gs.gather(data, indices).name
    names = {
        gs.gather(data, indices).name,
        gs.gather(data, indices, mode="clip").name,
        gs.gather(data, indices, mode="fill").name,
        gs.gather(data, indices, mode="fill", fill_value=1).name,
        gs.gather(data, [1, 2]).name,
        gs.gather(data, [1, 3]).name,
        gs.gather(data + 1, [1, 3]).name,
        gs.scatter(data, indices, 1).name,
        gs.scatter(data, indices, 2).name,
        gs.scatter(data, indices, 2, reduction="add").name,
        gs.scatter(data, indices, [1, 2]).name,
    }
    assert len(names) == 11
    assert {key_split(name) for name in names} == {"gather", "scatter"}


def test_progress_is_shown():
    shown = io.StringIO()
    with ProgressBar(out=shown, minimum=0):
        gs.gather(da.arange(10, chunks=3), [1, 2]).compute()
    assert "100% Completed" in shown.getvalue()


class Watch(Callback):
    """The largest thing that any task made, and the most chunks of data there were at a time."""

    def __init__(self, data):
        super().__init__()
        self.largest = self.most = 0
        self.data = data.name

    def _posttask(self, key, result, dsk, state, worker_id):
        cache = state["cache"]
        self.largest = max(self.largest, sizeof(result))
        self.most = max(self.most, sum(key[0] == self.data for key in cache))


def chunk_by_chunk(shape, chunks, value=1.0):
    """An array whose chunks are made when they are asked for."""
    dtype = np.dtype(float)
    return da.map_blocks(
        lambda block_info=None: np.full(block_info[None]["chunk-shape"], value),
        chunks=da.core.normalize_chunks(chunks, shape),
        dtype=dtype,
        meta=np.empty((0,) * len(shape), dtype),
    )


CHUNK = 64 * 1024


@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize("known", [False, True])
def test_no_task_makes_more_than_a_few_chunks(skewed, known):
    """A chunk of 64 KiB; data of 32 of them, 4 of indices, 32 of updates or of a result."""
    n = 2 * CHUNK
    data = chunk_by_chunk((n, 2), (n // 32, 2))
    where = np.zeros(n, np.int32) if skewed else np.random.default_rng(0).integers(0, n, n, np.int32)
    indices = where if known else da.from_array(where, chunks=n // 32)
    with dask.config.set({"array.chunk-size": CHUNK}), Watch(data) as watch:
        store(gs.gather(data, indices))
    assert watch.largest < 2.5 * CHUNK
    assert watch.most <= 2
    updates = chunk_by_chunk((n, 2), (n // 32, 2), 2.0)
    with Watch(data) as watch:
        result = gs.scatter(data, indices, updates, reduction="add")
        store(result)
    # A chunk, what came to its rows, and what waits to be applied.
    assert watch.largest < (graphs.WAITING + 3.5) * CHUNK
    assert watch.most <= 2
    assert float(result.sum().compute()) == 3 * 2 * n


def store(array):
    """Compute each chunk, and keep none."""
    array.map_blocks(lambda chunk: np.zeros((1, 1)), chunks=(1,) * array.ndim, dtype=float).compute()


def test_data_is_kept_where_the_result_is_the_larger_one():
    data = chunk_by_chunk((32,), 8)
    result = gs.gather(data, da.from_array(np.arange(640) % 32, chunks=16))
    assert "all-done" not in tasks_of(result)
    assert result.compute().sum() == 640


def test_a_part_of_a_result_takes_a_part_of_the_graph():
    data = da.zeros(100, chunks=10)
    part = gs.gather(data, da.arange(100, chunks=10)[::-1])[:10]
    names = collections.Counter(map(key_split, part.__dask_optimize__(part.dask, part.__dask_keys__())))
    assert names["gather-pick"] == 10


# Order


@pytest.mark.parametrize("reduction", ["none", "add", "mean"])
def test_updates_meet_in_row_major_order_of_all_chunks(reduction):
    """Chunks along the second axis interleave: a chunk's tuples are no run of all tuples."""
    rng = np.random.default_rng(0)
    data = numbers((40,), np.dtype("f4"), 0)
    indices, updates = rng.integers(0, 40, (30, 50, 1)), numbers((30, 50), np.dtype("f4"), 3)
    expected = gs.scatter_nd(data, indices, updates, reduction=reduction)
    for known, cuts in itertools.product([False, True], [(30, 7), (4, 50), (7, 9), (1, 9)]):
        lazy = da.from_array(updates, chunks=cuts)
        places = indices if known else da.from_array(indices, chunks=(*cuts, 1))
        for data_chunks in (40, 9):
            result = gs.scatter_nd(da.from_array(data, chunks=data_chunks), places, lazy, reduction=reduction)
            assert_same_bits(result.compute(), expected)
            assert_same_bits(result.compute(scheduler="threads"), expected)


# Unknown sizes


def some(array, keep):
    """A part of an array along its first axis, of which Dask does not know the sizes."""
    return array[da.from_array(keep, chunks=array.chunks[0])]


def test_unknown_sizes_of_indices_and_updates():
    rng = np.random.default_rng(1)
    data, keep = numbers((20, 3), np.dtype("f4"), 0), rng.random(30) < 0.6
    lazy = da.from_array(data, chunks=(6, 2))
    tuples, updates = rng.integers(-20, 20, (30, 7, 1)), numbers((30, 7, 3), np.dtype("f4"), 2)
    indices = some(da.from_array(tuples, chunks=(4, 3, 1)), keep)
    result = gs.gather_nd(lazy, indices)
    assert np.isnan(result.shape[0])
    assert_same_bits(result.compute(), gs.gather_nd(data, tuples[keep]))
    given = some(da.from_array(updates, chunks=(4, 2, 3)), keep)
    for reduction in ("none", "add"):
        expected = gs.scatter_nd(data, tuples[keep], updates[keep], reduction=reduction)
        # Along the other axis, where sizes are known, chunks of indices and updates need not be the same.
        assert_same_bits(gs.scatter_nd(lazy, indices, given, reduction=reduction).compute(), expected)
    assert_same_bits(gs.scatter_nd(lazy, indices, 1.0).compute(), gs.scatter_nd(data, tuples[keep], 1.0))
    # Beside a batch axis that is cut.
    table = da.from_array(numbers((4, 20), np.dtype("f4"), 5), chunks=(3, 6))
    batches = some(da.from_array(tuples[:, :4, 0], chunks=(4, 2)), keep).T
    result = gs.gather(table, batches, axis=1, batch_dims=1)
    assert_same_bits(result.compute(), gs.gather(table.compute(), tuples[keep, :4, 0].T, axis=1, batch_dims=1))
    result = gs.scatter(table, batches, 1.0, axis=1, batch_dims=1, reduction="add")
    expected = gs.scatter(table.compute(), tuples[keep, :4, 0].T, 1.0, axis=1, batch_dims=1, reduction="add")
    assert_same_bits(result.compute(), expected)
    # The same number of chunks, of known sizes on one side.
    sizes = tuple(int(part.sum()) for part in np.split(keep, range(4, 30, 4)))
    known = da.from_array(updates[keep], chunks=(sizes, 7, 3))
    assert_same_bits(gs.scatter_nd(lazy, indices, known).compute(), gs.scatter_nd(data, tuples[keep], updates[keep]))


# Chunks of other libraries


def others():
    for library in LIBRARIES:
        if library.package in ("torch", "jax", "cupy", "array_api_strict") and library.way is contextlib.nullcontext:
            reason = why_not_here(library)
            marks = [pytest.mark.gpu] if library.device == "cuda" else []
            marks += [pytest.mark.skip(reason=reason)] if reason else []
            # JAX compiles programs for all shapes that there are, so it gets few.
            for waiting in [0, graphs.WAITING][library.package == "jax" :]:
                yield pytest.param(library, waiting, marks=marks, id=f"{library.name}, {waiting}")


@pytest.mark.parametrize(("library", "waiting"), list(others()))
def test_chunks_of_other_libraries_are_moved_by_them(library, waiting, monkeypatch):
    """Dask knows NumPy's arrays; what a function made of its chunks shows when they are computed."""

    def there(array, chunks):
        return da.from_array(array, chunks=chunks).map_blocks(library.asarray, dtype=array.dtype, meta=array[:0])

    def back(array):
        seen = []

        def convert(chunk):
            seen.append(type(chunk))
            return np.asarray(library.asnumpy(chunk))

        result = array.map_blocks(convert, dtype=array.dtype, meta=array._meta).compute()
        assert set(seen) == {type(library.asarray(np.zeros(1)))}
        return result

    monkeypatch.setattr(graphs, "WAITING", waiting)
    ways = [("mul", False)] if library.package == "jax" else list(itertools.product(REDUCTIONS, [True, False]))
    rng = np.random.default_rng(0)
    data, updates = rng.integers(0, 9, (9, 5)).astype("f4"), rng.integers(0, 9, (4, 9, 5)).astype("f4")
    indices = rng.integers(-12, 12, (4, 9))
    lazy = there(data, (4, 3))
    for places in (indices, there(indices, (2, 5))):
        result = gs.gather(lazy, places, mode="fill", fill_value=-1)
        assert_same_bits(back(result), gs.gather(data, indices, mode="fill", fill_value=-1))
        result = gs.gather(lazy, places, axis=1, mode="wrap")
        assert_same_bits(back(result), gs.gather(data, indices, axis=1, mode="wrap"))
        for reduction, include_self in ways:
            options = {"mode": "drop", "reduction": reduction, "include_self": include_self}
            for known in (updates, 2.0):
                # Dask cuts the chunks of other libraries, but joins them as NumPy's.
                lazily = there(known, (2, 5, 3)) if known is updates and waiting else known
                result = gs.scatter(lazy, places, lazily, **options)
                expected = gs.scatter(data, indices, known, **options)
                np.testing.assert_allclose(back(result), expected, rtol=1e-6)


# The dialects


@pytest.mark.parametrize("lazy", [(True, False), (False, True), (True, True)], ids=["data", "indices", "both"])
@pytest.mark.parametrize("known", [np.asarray, np.ndarray.tolist], ids=["arrays", "lists"])
def test_dialects_take_dask_arrays(lazy, known):
    """Beside arrays of NumPy's, and beside lists."""
    data = np.arange(12.0, dtype="f4").reshape(4, 3)
    tuples, updates = np.array([[0, 1], [3, 2]]), np.array([5.0, 6.0], "f4")
    along, rows = np.array([[0, 2, 1], [3, 3, 0]]), np.ones((4, 1, 3), "f4")
    caches, starts = np.stack([data] * 4), np.array([0, 1, 1, 0])

    def both(call, data, indices, *more):
        given = da.from_array(data, chunks=2) if lazy[0] else data
        places = da.from_array(indices, chunks=1) if lazy[1] else known(indices)
        result = call(given, places, *more)
        assert isinstance(result, da.Array)
        assert_same_bits(result.compute(), call(data, indices, *more))

    for call, *arrays in (
        (gs.onnx.gather, data, along),
        (gs.onnx.gather_nd, data, tuples),
        (gs.onnx.gather_elements, data, along),
        (partial(gs.onnx.scatter_nd, reduction="add"), data, tuples, updates),
        (gs.onnx.scatter_elements, data, along, rows[:2, 0]),
        (lambda cache, starts, rows: gs.onnx.tensor_scatter(cache, rows, starts, axis=1), caches, starts, rows),
        (gs.openvino.gather, data, along, 0),
        (gs.openvino.gather_nd, data, tuples),
        (gs.openvino.gather_elements, data, along, 0),
        (gs.openvino.scatter_nd_update, data, tuples, updates),
        (gs.openvino.scatter_elements_update, data, along, rows[:2, 0], 0),
        (gs.tensorflow.gather, data, along),
        (partial(gs.tensorflow.gather_nd, bad_indices_policy="IGNORE"), data, tuples - 1),
        (gs.tensorflow.tensor_scatter_nd_update, data, tuples, updates),
        (gs.tensorflow.tensor_scatter_nd_add, data, tuples, updates),
        (gs.tensorflow.tensor_scatter_nd_sub, data, tuples, updates),
        (gs.tensorflow.tensor_scatter_nd_min, data, tuples, updates),
        (gs.tensorflow.tensor_scatter_nd_max, data, tuples, updates),
        (lambda updates, indices: gs.tensorflow.scatter_nd(indices, updates, (4, 3)), updates, tuples),
    ):
        both(call, *arrays)


def test_what_dialects_refuse_of_dask_arrays():
    tuples = np.array([[0, 1], [3, 2]])
    lazy = da.zeros((4, 3), chunks=2)
    with pytest.raises(IndexError, match=r"^gather_nd: indices\[0\] = .* is out of bounds"):
        gs.tensorflow.gather_nd(lazy, da.from_array(tuples, chunks=1) - 1).compute()


# The page


PAGE = Path(__file__).parents[1] / "docs" / "dask.md"


def test_the_pages_examples_run():
    names = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL):
        exec(block, names)
    table, ids = names["table"][:, 0].compute(), names["ids"].compute()
    looked_up, counts = names["looked_up"], names["counts"]
    assert looked_up.dims == ("sentence", "position", "feature")
    assert looked_up.shape == (400, 500, 16)
    assert isinstance(looked_up.data, da.Array)
    assert isinstance(counts.data, da.Array)
    assert (counts.to_numpy() == np.bincount(ids, minlength=len(table))).all()
    assert looked_up[:3].to_numpy().sum() == 3 * 500 * 16
    assert names["updated"][:, 0].compute().tolist() == gs.scatter(table, ids, 0.5, reduction="add").tolist()


# Messages


LAZY = da.zeros((4, 5), chunks=(2, 3))
BAD = np.array([[0, 0]] * 5 + [[2, 9], [7, 7]])
HALVES = da.from_array(np.arange(6), chunks=3)
UNKNOWN = HALVES[HALVES > 1]
MASKED = da.ma.masked_array(LAZY, LAZY > 0)

WRONG = {
    "a bad tuple, known": (
        lambda: gs.gather_nd(LAZY, BAD),
        IndexError,
        "gather_nd: indices[5] = (2, 9) is out of bounds for data of shape (4, 5): axis 1 has size 5",
    ),
    "a bad index, known, the first in row-major order and not of the first chunk": (
        lambda: gs.scatter(LAZY, np.array([[0, 9], [8, 0]]), da.zeros((2, 2, 5), chunks=(2, 1, 5))),
        IndexError,
        "scatter: indices[0, 1] = 9 is out of bounds for data of shape (4, 5): axis 0 has size 4",
    ),
    "a bad index in an axis of size 0": (
        lambda: gs.gather(da.zeros((0, 5), chunks=2), [1], mode="clip"),
        IndexError,
        "gather: indices[0] = 1 is out of bounds for data of shape (0, 5): axis 0 has size 0",
    ),
    "out": (
        lambda: gs.gather_nd(LAZY, BAD, out=np.zeros(7)),
        NotImplementedError,
        "gather_nd: the Dask backend cannot do out=: a Dask array is computed later; use what is returned",
    ),
    "out of a scatter": (
        lambda: gs.scatter_nd(LAZY, BAD, 0, out=LAZY),
        NotImplementedError,
        "scatter_nd: the Dask backend cannot do out=: a Dask array is computed later; use what is returned",
    ),
    "data of unknown size": (
        lambda: gs.gather(UNKNOWN, [0]),
        ValueError,
        "gather: data has unknown chunk sizes along axis 0, which has to be known; "
        "call data.compute_chunk_sizes() first",
    ),
    "indices of unknown size along a batch axis": (
        lambda: gs.gather(LAZY, UNKNOWN, axis=1, batch_dims=1),
        ValueError,
        "gather: indices has unknown chunk sizes along axis 0, which has to be known; "
        "call indices.compute_chunk_sizes() first",
    ),
    "indices of unknown size off the axis": (
        lambda: gs.gather_elements(LAZY, UNKNOWN[:, None], axis=1),
        ValueError,
        "gather_elements: indices has unknown chunk sizes along axis 0, which has to be known; "
        "call indices.compute_chunk_sizes() first",
    ),
    "tuples of unknown length": (
        lambda: gs.gather_nd(LAZY, UNKNOWN),
        ValueError,
        "gather_nd: indices has unknown chunk sizes along axis 0, which has to be known; "
        "call indices.compute_chunk_sizes() first",
    ),
    "unknown sizes and known updates": (
        lambda: gs.scatter(LAZY, UNKNOWN, np.zeros((4, 5))),
        ValueError,
        "scatter: indices has unknown chunk sizes along axis 0, which has to be known; "
        "call indices.compute_chunk_sizes() first",
    ),
    "unknown sizes in other numbers of chunks": (
        lambda: gs.scatter(LAZY, UNKNOWN, da.zeros((4, 5), chunks=1)),
        ValueError,
        "scatter: chunks of unknown sizes meet one by one, but along axis 0 of indices there are 2 of indices and 4 of "
        "updates; call compute_chunk_sizes() on both first",
    ),
    "updates of another shape": (
        lambda: gs.scatter(LAZY, HALVES, da.zeros((6, 4), chunks=1)),
        ValueError,
        "scatter: updates has shape (6, 4); pass shape (6, 5), or a Python scalar",
    ),
    "updates of another dtype": (
        lambda: gs.scatter(LAZY, HALVES, da.zeros((6, 5), chunks=1, dtype="f4")),
        TypeError,
        "scatter: updates has dtype float32, but data has float64; pass updates.astype(data.dtype)",
    ),
    "float indices": (
        lambda: gs.gather(LAZY, LAZY),
        TypeError,
        "gather: indices has dtype float64, but indices are integers of 8 to 64 bits; pass indices.astype('int64')",
    ),
    "a fill value that does not fit": (
        lambda: gs.gather(LAZY.astype("u1"), HALVES, mode="fill", fill_value=256),
        TypeError,
        "gather: fill_value=256 cannot be held by data's dtype uint8 unchanged; pass a value of that dtype",
    ),
    "updates that do not fit": (
        lambda: gs.scatter(LAZY.astype("u1"), HALVES, 256),
        TypeError,
        "scatter: updates=256 cannot be held by data's dtype uint8 unchanged; pass a value of that dtype",
    ),
    "a reduction that the dtype lacks": (
        lambda: gs.scatter(LAZY.astype(bool), HALVES, True, reduction="mean"),
        TypeError,
        "scatter: reduction='mean' is not for dtype bool; "
        "convert data and updates to one that it takes: int8, int16, int32, int64, uint8, uint16, uint32, "
        "uint64, float16, bfloat16, float32, float64, complex64, complex128",
    ),
    "masked data": (
        lambda: gs.gather(MASKED, [0]),
        TypeError,
        "gather: data is a masked array, whose mask would be lost; pass data.filled(...), or data.data and its mask in "
        "two calls",
    ),
    "masked updates": (
        lambda: gs.scatter(LAZY, [0], MASKED[:1]),
        TypeError,
        "scatter: updates is a masked array, whose mask would be lost; pass updates.filled(...), or updates.data and "
        "its mask in two calls",
    ),
    "another library beside": (
        lambda: gs.gather(LAZY, array_api_strict.zeros(3, dtype=array_api_strict.int64)),
        TypeError,
        "gather: data is a dask.array.Array but indices is an array_api_strict.Array; pass numpy.asarray(indices)",
    ),
    "another library first": (
        lambda: gs.scatter(array_api_strict.zeros((4, 5)), np.array([0]), LAZY[:1]),
        TypeError,
        "scatter: data is an array_api_strict.Array but indices is a numpy.ndarray; "
        "pass array_api_strict.asarray(indices)",
    ),
}

WRONG_LATER = {
    "a bad tuple in a later chunk": (
        lambda: gs.gather_nd(LAZY, da.from_array(BAD, chunks=(3, 1))[:6]),
        IndexError,
        "gather_nd: indices[5] = (2, 9) is out of bounds for data of shape (4, 5): axis 1 has size 5",
    ),
    "a bad index in a grid": (
        lambda: gs.gather(LAZY, da.from_array(np.array([[0, 1, 1], [1, 0, -6]]), chunks=1), axis=1),
        IndexError,
        "gather: indices[1, 2] = -6 is out of bounds for data of shape (4, 5): axis 1 has size 5",
    ),
    "a bad index for an element": (
        lambda: gs.scatter_elements(LAZY, da.from_array(np.array([[0, 1], [1, 4]]), chunks=1), 1.0),
        IndexError,
        "scatter_elements: indices[1, 1] = 4 is out of bounds for data of shape (4, 5): axis 0 has size 4",
    ),
    "a bad index among unknown sizes": (
        lambda: gs.gather(LAZY, UNKNOWN),
        IndexError,
        "gather: indices[2] = 4 is out of bounds for data of shape (4, 5): axis 0 has size 4",
    ),
    "a bad index of no slice": (
        lambda: gs.gather(LAZY[:, :0], HALVES),
        IndexError,
        "gather: indices[4] = 4 is out of bounds for data of shape (4, 0): axis 0 has size 4",
    ),
    "promised in vain": (
        lambda: gs.gather(LAZY, HALVES, mode="promise_in_bounds"),
        IndexError,
        "gather: indices[4] = 4 is out of bounds for data of shape (4, 5): axis 0 has size 4",
    ),
    "clipped into nothing": (
        lambda: gs.scatter(LAZY[:0], HALVES, 1.0, mode="clip"),
        IndexError,
        "scatter: indices[0] = 0 is out of bounds for data of shape (0, 5): axis 0 has size 0",
    ),
    "chunks that do not meet": (
        lambda: gs.scatter(LAZY, UNKNOWN % 4, da.zeros((6, 5), chunks=3)),
        ValueError,
        "scatter: a chunk of updates has shape (3,) where that of indices has (1,); make updates for the same places",
    ),
}


@pytest.mark.skipif(find_spec("dask.array._array_expr") is None, reason="this Dask has none")
def test_the_message_for_arrays_of_expressions():
    """Which Dask has instead of its own where an option says so before they are imported."""
    code = "import dask.array, gatherscatter; gatherscatter.gather(dask.array.zeros(3), [0])"
    environment = {**os.environ, "DASK_ARRAY__QUERY_PLANNING": "True"}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert run.stderr.splitlines()[-1] == (
        "NotImplementedError: gather: the Dask backend cannot do arrays of Dask's option array.query-planning: "
        "their graphs are not there yet; set it to False before dask.array is imported"
    )


@pytest.mark.parametrize("case", WRONG)
def test_messages_at_the_call(case):
    call, error, message = WRONG[case]
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == message


@pytest.mark.parametrize("case", WRONG_LATER)
def test_messages_when_computed(case):
    call, error, message = WRONG_LATER[case]
    result = call()
    with pytest.raises(error) as raised:
        result.compute()
    assert str(raised.value) == message
