"""Dask arrays: the tasks of their graphs, and what the tasks read and keep."""

import collections
import io
import math
import pickle

import dask
import dask.array as da
import gatherscatter as gs
import numpy as np
import pytest
from dask.callbacks import Callback
from dask.diagnostics import ProgressBar
from dask.sizeof import sizeof
from dask.utils import key_split
from gatherscatter.backends.dask import graphs

# Graphs

pytestmark = pytest.mark.usefixtures("dask_in_this_thread")


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
        "positions": n_i,
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


def test_two_thousand_by_two_thousand_chunks_get_tasks_for_hits_alone():
    n = 2000
    data = da.zeros(100 * n, chunks=100)
    indices = np.arange(0, 100 * n, 100)[::-1].repeat(2)
    with dask.config.set({"array.chunk-size": 16}):
        result = gs.gather(data, indices)
    assert (*result.numblocks, *data.numblocks) == (n, n)
    assert tasks_of(result) == {"pick": n, "result": n}
    updates = da.ones(len(indices), chunks=2)
    assert tasks_of(gs.scatter(data, indices, updates)) == {"parcel": n, "result": n}


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
