"""COLUMN_TILES: scatter_elements along an axis with a long stride. The result is the sequential loop's to the bit."""

import contextlib
import threading
import time
import tracemalloc

import gatherscatter as gs
import ml_dtypes
import numpy as np
import pytest
from assertions import assert_same_bits
from gatherscatter import reference
from gatherscatter._kernels import scatter as kernel
from gatherscatter._kernels.codes import ScatterStrategy
from gatherscatter.backends import kernels

TEAMS = pytest.mark.parametrize("n_threads", [1, 3, 192])


def tiled(n_threads, data, indices, updates, **options):
    with kernels.forced(n_threads, scatter="column_tiles"):
        result = gs.scatter_elements(data, indices, updates, **options)
        assert kernel.last_strategy() == ScatterStrategy.COLUMN_TILES
    return result


def operands(shape, index_shape, dtype="f4", axis=0, seed=0):
    rng = np.random.default_rng(seed)
    data, updates = (rng.integers(-99, 99, s).astype(dtype) for s in (shape, index_shape))
    return data, rng.integers(-shape[axis], shape[axis], index_shape), updates


@TEAMS
@pytest.mark.parametrize("dtype", ["i1", "f2", ml_dtypes.bfloat16, "i4", "f4", "f8", "D"], ids=str)
@pytest.mark.parametrize("index_dtype", ["i1", "i4", "i8"])
def test_every_width(dtype, index_dtype, n_threads):
    data, indices, updates = operands((9, 2, 150), (14, 2, 150), dtype)
    for reduction in ("none", "add"):
        expected = reference.scatter_elements(data, indices, updates, reduction=reduction)
        result = tiled(n_threads, data, indices.astype(index_dtype), updates, reduction=reduction)
        assert_same_bits(result, expected)


@TEAMS
@pytest.mark.parametrize("columns", [1, 63, 64, 65, 127, 128, 129, 200])
def test_ends_of_tiles(columns, n_threads):
    data, indices, updates = operands((5, columns), (8, columns))
    expected = reference.scatter_elements(data, indices, updates, reduction="add")
    assert_same_bits(tiled(n_threads, data, indices, updates, reduction="add"), expected)


@TEAMS
@pytest.mark.parametrize("include_self", [True, False])
def test_columns_without_updates_are_data_s(include_self, n_threads):
    data, indices, updates = operands((7, 4, 90), (5, 3, 70))
    for reduction in ("none", "add", "mean"):
        options = {"reduction": reduction, "include_self": include_self}
        expected = reference.scatter_elements(data, indices, updates, **options)
        assert_same_bits(tiled(n_threads, data, indices, updates, **options), expected)
        out = data.copy()
        tiled(n_threads, out, indices, updates, out=out, **options)
        assert_same_bits(out, expected)


@TEAMS
@pytest.mark.parametrize("mode", ["clip", "wrap", "drop"])
def test_modes(mode, n_threads):
    data, indices, updates = operands((6, 80), (9, 80))
    indices = indices * 3
    for reduction in ("none", "add", "mean"):
        options = {"reduction": reduction, "mode": mode}
        expected = reference.scatter_elements(data, indices, updates, **options)
        assert_same_bits(tiled(n_threads, data, indices, updates, **options), expected)


@TEAMS
def test_operands_of_any_stride(n_threads):
    data, indices, updates = operands((6, 160), (9, 160))
    expected = reference.scatter_elements(data[:, ::-1], indices[::-1, ::-1], updates[::-1], reduction="add")
    result = tiled(n_threads, data[:, ::-1], indices[::-1, ::-1], updates[::-1], reduction="add")
    assert_same_bits(result, expected)
    one = np.broadcast_to(np.float32(2), indices.shape)
    expected = reference.scatter_elements(data, indices, one, reduction="add")
    assert_same_bits(tiled(n_threads, data, indices, one, reduction="add"), expected)
    wide = np.zeros((12, 200), "f4")
    out = wide[::2, 20:180]
    out[...] = data
    tiled(n_threads, out, indices, updates, out=out, reduction="add")
    assert_same_bits(out, reference.scatter_elements(data, indices, updates, reduction="add"))
    assert not wide[1::2].any()
    assert not wide[:, :20].any()


@TEAMS
def test_a_bad_index_leaves_out_as_it_was(n_threads):
    data, indices, updates = operands((6, 160), (9, 160))
    before = data.copy()
    indices[8, 159] = 6
    indices[8, 70] = -7
    for options in ({"out": data}, {}):
        with pytest.raises(IndexError, match=r"indices\[8, 70\] = -7"):
            tiled(n_threads, data, indices, updates, reduction="add", **options)
        assert_same_bits(data, before)


def test_an_empty_axis():
    data, indices, updates = np.zeros((3, 0), "u1"), np.zeros((2, 2), "i4"), np.zeros((2, 2), "u1")
    with kernels.forced(0, scatter="column_tiles"):
        assert gs.scatter_elements(data, indices, updates, axis=1, mode="drop").shape == (3, 0)
        with pytest.raises(IndexError, match="axis 1 has size 0"):
            gs.scatter_elements(data, indices, updates, axis=1)


def test_large_work_takes_it():
    data, indices, updates = operands((512, 600), (700, 600))
    result = gs.scatter_elements(data, indices, updates, reduction="add")
    assert kernel.last_strategy() == ScatterStrategy.COLUMN_TILES
    expected = data.copy()
    np.add.at(expected, (indices, np.arange(600)), updates)
    assert_same_bits(result, expected)


def test_tiles_of_many_threads_take_a_bounded_memory():
    data, indices = np.zeros((8192, 64 * 192), "u1"), np.zeros((1, 64 * 192), "i1")
    tracemalloc.start()
    try:
        tiled(192, data, indices, np.broadcast_to(np.uint8(1), indices.shape), reduction="add", out=data)
        assert tracemalloc.get_traced_memory()[1] < 1 << 25
    finally:
        tracemalloc.stop()
    assert data[0].min() == 1


def test_an_index_that_another_thread_changes():
    """The kernel rejects the updates of the tile, and the index is in bounds again when its position is searched."""
    data, indices = np.ones((64, 6400), "f4"), np.zeros((64, 6400), np.int64)
    updates, stop = np.zeros(indices.shape, "f4"), threading.Event()

    def change():
        while not stop.wait(0.0003):
            indices[60, 3000] = 0 if indices[60, 3000] else 10**9

    thread = threading.Thread(target=change)
    thread.start()
    try:
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            with contextlib.suppress(IndexError, RuntimeError):
                result = tiled(1, data, indices, updates, reduction="add")
                assert result.min() == result.max() == 1
                result[...] = 7  # for who gets its memory
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("n_negative", [1, 17, 60])
@pytest.mark.parametrize("index_dtype", ["i4", "i8"])
@pytest.mark.parametrize("dtype", ["u1", "i4", "f4", "f8"])
def test_rows_with_negative_indices(dtype, index_dtype, n_negative):
    """One loop resolves and applies a row, up to its first negative index."""
    rng = np.random.default_rng(0)
    data, indices, updates = operands((50, 70), (100, 70), dtype)
    indices %= 50
    for row in rng.permutation(100)[:n_negative]:
        indices[row, rng.integers(70)] -= 50
    for reduction in ("none", "add", "mul", "max", "min", "mean"):
        if reduction == "mean" and dtype[0] != "f":
            continue
        for include_self in (True, False):
            options = {"reduction": reduction, "include_self": include_self}
            with np.errstate(all="ignore"):
                expected = reference.scatter_elements(data, indices, updates, **options)
            assert_same_bits(tiled(1, data, indices.astype(index_dtype), updates, **options), expected)


@TEAMS
@pytest.mark.parametrize("columns", [1024, 1021])
@pytest.mark.parametrize("reduction", ["none", "add", "max", "mean"])
def test_results_that_are_streamed(reduction, columns, n_threads):
    """Of 16 MiB or more, with rows that begin at cache lines, and with others."""
    data, indices, updates = operands((4400, columns), (9, columns))
    for include_self in (True, False):
        options = {"reduction": reduction, "include_self": include_self}
        expected = reference.scatter_elements(data, indices, updates, **options)
        assert_same_bits(tiled(n_threads, data, indices, updates, **options), expected)
        out = data.copy()
        tiled(n_threads, out, indices, updates, out=out, **options)
        assert_same_bits(out, expected)


@pytest.mark.parametrize("place", [(0, 0), (0, 63), (150, 64), (299, 129)])
@pytest.mark.parametrize("value", [50, -51, 2**31 - 1])
def test_an_index_out_of_bounds(value, place):
    data, indices, updates = operands((50, 130), (300, 130))
    indices %= 50
    indices[place] = value
    before = data.copy()
    for options in ({"reduction": "add"}, {"reduction": "mean"}, {"reduction": "max", "include_self": False}):
        position = ", ".join(map(str, place))
        with pytest.raises(IndexError, match=rf"indices\[{position}\] = {value} "):
            tiled(1, data, indices, updates, **options)
        with pytest.raises(IndexError, match=rf"indices\[{position}\] = {value} "):
            tiled(1, data, indices, updates, out=data, **options)
        assert_same_bits(data, before)
