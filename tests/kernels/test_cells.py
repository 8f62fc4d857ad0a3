"""Means of single elements, where each accumulator is next to the count of its updates (cells.pxd)."""

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits
from gatherscatter._kernels import scatter
from gatherscatter._kernels.codes import ScatterStrategy
from gatherscatter.backends import kernels


def means(data, indices, updates, include_self):
    """Sums in the order of the updates, divided once."""
    sums = data.copy() if include_self else np.zeros_like(data)
    np.add.at(sums, indices, updates)
    counts = np.bincount(indices, minlength=len(data))
    with np.errstate(invalid="ignore"):
        return np.where(counts > 0, sums / (counts + include_self).astype(data.dtype), data)


def draw(n, dtype, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(n) * 10.0 ** rng.integers(-3, 4, n)).astype(dtype)


@pytest.mark.parametrize("n", [1, 3, 100, 5000, 140_000])
@pytest.mark.parametrize("index_dtype", ["i4", "i8", "i2"])
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_one_thread(dtype, include_self, index_dtype, n):
    rng = np.random.default_rng(n)
    for n_rows in (1, 7, 3000, 30_000):
        data, updates = draw(n_rows, dtype, 1), draw(n, dtype, 2)
        chosen = {
            "anywhere": rng.integers(0, n_rows, n),
            "sorted": np.sort(rng.integers(0, n_rows, n)),
            "mostly one": np.where(rng.random(n) < 0.001, 0, n_rows - 1),
        }
        for indices in chosen.values():
            expected = means(data, indices, updates, include_self)
            for some_are_negative in (0, 0.0005, 0.5):
                given = np.where(rng.random(n) < some_are_negative, indices - n_rows, indices).astype(index_dtype)
                with kernels.forced(1, scatter="serial"):
                    assert_same_bits(
                        gs.scatter(data, given, updates, reduction="mean", include_self=include_self), expected
                    )
                    out = data.copy()
                    gs.scatter(out, given, updates, reduction="mean", include_self=include_self, out=out)
                    assert_same_bits(out, expected)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_units(dtype, include_self, n_threads):
    rng = np.random.default_rng(0)
    for rows, columns, n in ((70, 30, 50), (40, 3000, 900), (5, 100, 30_000)):
        data, updates = draw(rows * columns, dtype, 1).reshape(rows, -1), draw(rows * n, dtype, 2).reshape(rows, -1)
        indices = rng.integers(0, columns, (rows, n))
        expected = np.stack([means(*each, include_self) for each in zip(data, indices, updates, strict=True)])
        indices[3, ::7] -= columns
        indices[4] -= rng.integers(0, 2, n) * columns
        options = {"axis": 1, "reduction": "mean", "include_self": include_self}
        with kernels.forced(n_threads, scatter="units"):
            assert_same_bits(gs.scatter_elements(data, indices, updates, **options), expected)
            assert scatter.last_strategy() == ScatterStrategy.UNITS
            out = data.copy()
            gs.scatter_elements(out, indices, updates, out=out, **options)
        assert_same_bits(out, expected)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_column_tiles(dtype, include_self, n_threads):
    rng = np.random.default_rng(0)
    for size, columns, n in ((70, 30, 900), (300, 150, 40), (1, 64, 5)):
        data, updates = draw(size * columns, dtype, 1).reshape(size, -1), draw(n * columns * 2, dtype, 2).reshape(n, -1)
        indices = rng.integers(-size, size, (n, columns))
        for some in (updates[:, :columns], updates[:, ::2]):
            each = (means(data[:, j], indices[:, j] % size, some[:, j], include_self) for j in range(columns))
            expected = np.stack(list(each), axis=1)
            for index_dtype in ("i2", "i8"):
                given = indices.astype(index_dtype)
                out = data.copy()
                options = {"axis": 0, "reduction": "mean", "include_self": include_self}
                with kernels.forced(n_threads, scatter="column_tiles"):
                    assert_same_bits(gs.scatter_elements(data, given, some, **options), expected)
                    assert scatter.last_strategy() == ScatterStrategy.COLUMN_TILES
                    gs.scatter_elements(out, given, some, out=out, **options)
                assert_same_bits(out, expected)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("mode", ["clip", "wrap", "drop"])
def test_modes(mode, include_self):
    rng = np.random.default_rng(0)
    data, updates, indices = draw(300, "f4", 1), draw(9000, "f4", 2), rng.integers(-400, 500, 9000)
    named = np.clip(np.where(indices < 0, indices + 300, indices), 0, 299) if mode == "clip" else indices % 300
    kept = (indices >= -300) & (indices < 300) if mode == "drop" else np.full(9000, True)
    expected = means(data, named[kept], updates[kept], include_self)
    options = {"reduction": "mean", "include_self": include_self, "mode": mode}
    with kernels.forced(1, scatter="serial"):
        assert_same_bits(gs.scatter(data, indices, updates, **options), expected)
    columns = [np.stack([a, a], axis=1) for a in (data, indices, updates)]
    with kernels.forced(1, scatter="column_tiles"):
        found = gs.scatter_elements(*columns, axis=0, **options)
        assert scatter.last_strategy() == ScatterStrategy.COLUMN_TILES
    assert_same_bits(found, np.stack([expected, expected], axis=1))


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("size", [2, 3, 4, 5])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_points(dtype, size, include_self):
    rng = np.random.default_rng(size)
    options = {"reduction": "mean", "include_self": include_self}
    for n_rows, n in ((1, 3), (7, 100), (3000, 5000), (200, 140_000)):
        data, updates = draw(n_rows * size, dtype, 1).reshape(-1, size), draw(n * size, dtype, 2).reshape(-1, size)
        # Sorted: runs of one destination.
        for indices in (rng.integers(0, n_rows, n), np.sort(rng.integers(0, n_rows, n))):
            numbers = zip(data.T, updates.T, strict=True)
            expected = np.stack([means(a, indices, b, include_self) for a, b in numbers], axis=1)
            for some_are_negative in (0, 0.0005, 0.5):
                given = np.where(rng.random(n) < some_are_negative, indices - n_rows, indices)
                for index_dtype in ("i2", "i4", "i8"):
                    out = data.copy()
                    with kernels.forced(1, scatter="serial"):
                        assert_same_bits(gs.scatter(data, given.astype(index_dtype), updates, **options), expected)
                        gs.scatter(out, given.astype(index_dtype), updates, out=out, **options)
                    assert_same_bits(out, expected)


@pytest.mark.parametrize("include_self", [True, False])
def test_layouts(include_self):
    """Pairs of indices, several axes of tuples, strided and broadcast updates, one element of data."""
    rng = np.random.default_rng(0)
    y, x = rng.integers(0, 20, (60, 50)), rng.integers(0, 30, (60, 50))
    flat = (y * 30 + x).ravel()
    every_other = draw(6000, "f8", 2)[::2]
    for data in (draw(600, "f8", 1), np.broadcast_to(np.float64(3), 600)):
        for updates in (every_other, np.broadcast_to(np.float64(0.1), 3000)):
            expected = means(np.array(data), flat, updates, include_self).reshape(20, 30)
            with kernels.forced(1, scatter="serial"):
                found = gs.scatter_nd(
                    data.reshape(20, 30),
                    np.stack([y, x], axis=-1),
                    updates.reshape(60, 50),
                    reduction="mean",
                    include_self=include_self,
                )
            assert_same_bits(found, expected)


@pytest.mark.parametrize("place", [0, 3, 4, 700, 4998, 4999])
@pytest.mark.parametrize("value", [300, -301, 2**62])
def test_an_index_out_of_bounds(value, place):
    data, updates, indices = draw(300, "f4", 1), draw(5000, "f4", 2), np.arange(5000) % 300
    indices[place] = value
    out = data.copy()
    for options in ({}, {"include_self": False}):
        with kernels.forced(1, scatter="serial"), pytest.raises(IndexError, match=rf"indices\[{place}\] = {value} "):
            gs.scatter(out, indices, updates, reduction="mean", out=out, **options)
        assert_same_bits(out, data)
