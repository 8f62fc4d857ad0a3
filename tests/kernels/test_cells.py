"""Accumulators that stand next to the count of their updates (cells.pxd), and the divisions of means."""

import itertools

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits
from gatherscatter._kernels import scatter
from gatherscatter._kernels.codes import ScatterStrategy
from gatherscatter.backends import kernels

# Dtypes, and the reductions and include_self for which elements may be cells.
FLOATS = [(dtype, *more) for dtype in ("f4", "f8") for more in (("mean", True), ("mean", False), ("mul", False))]
INTEGERS = [
    (dtype, *more) for dtype in ("i4", "u4", "i8", "u8") for more in (("mean", True), ("mean", False), ("add", False))
]
elements = pytest.mark.parametrize(("dtype", "reduction", "include_self"), FLOATS + INTEGERS)


def reduced(data, indices, updates, reduction, include_self):
    """Updates are reduced in their order, and a mean is divided once."""
    start = np.ones_like(data) if reduction == "mul" else np.zeros_like(data)
    result = data.copy() if include_self else start
    with np.errstate(all="ignore"):
        (np.multiply if reduction == "mul" else np.add).at(result, indices, updates)
        counts = np.bincount(indices, minlength=len(data))
        if reduction == "mean":
            terms = np.maximum(counts + include_self, 1)
            result = (
                result // terms.astype(data.dtype) if data.dtype.kind in "iu" else result / terms.astype(data.dtype)
            )
    return np.where(counts > 0, result, data)


def draw(n, dtype, seed=0):
    """Floats of several magnitudes; integers, of which only those of the first half of data (seed 1) are large."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return (rng.standard_normal(n) * 10.0 ** rng.integers(-3, 4, n)).astype(dtype)
    numbers = rng.integers(-(2**63), 2**63, n)
    return np.where((seed == 1) & (np.arange(n) < n // 2), numbers, numbers >> 45).astype(dtype)


@pytest.mark.parametrize(
    ("n", "index_dtype"),
    [*itertools.product((1, 100, 5000), ("i4", "i8", "i2")), (3, "i8"), (140_000, "i8")],
)
@elements
def test_one_thread(dtype, reduction, include_self, index_dtype, n):
    rng = np.random.default_rng(n)
    options = {"reduction": reduction, "include_self": include_self}
    for n_rows in (1, 7, 3000, 30_000):
        data, updates = draw(n_rows, dtype, 1), draw(n, dtype, 2)
        chosen = {
            "anywhere": rng.integers(0, n_rows, n),
            "sorted": np.sort(rng.integers(0, n_rows, n)),
            "mostly one": np.where(rng.random(n) < 0.001, 0, n_rows - 1),
        }
        for indices in chosen.values():
            expected = reduced(data, indices, updates, reduction, include_self)
            for some_are_negative in (0, 0.0005, 0.5):
                given = np.where(rng.random(n) < some_are_negative, indices - n_rows, indices).astype(index_dtype)
                with kernels.forced(1, scatter="serial"):
                    assert_same_bits(gs.scatter(data, given, updates, **options), expected)
                    out = data.copy()
                    gs.scatter(out, given, updates, out=out, **options)
                    assert_same_bits(out, expected)


@pytest.mark.parametrize(("dtype", "reduction", "include_self"), INTEGERS)
def test_private_copies(dtype, reduction, include_self):
    rng = np.random.default_rng(0)
    options = {"reduction": reduction, "include_self": include_self}
    for n_rows, n in ((1, 3), (7, 100), (3000, 40_000)):
        data, updates, indices = draw(n_rows, dtype, 1), draw(n, dtype, 2), rng.integers(0, n_rows, n)
        expected = reduced(data, indices, updates, reduction, include_self)
        in_the_middle = (np.arange(n) > n // 3) & (np.arange(n) < n // 2)
        for negative in (False, rng.random(n) < 0.0005, rng.random(n) < 0.5, in_the_middle & (rng.random(n) < 0.5)):
            given, out = np.where(negative, indices - n_rows, indices), data.copy()
            with kernels.forced(3, scatter="private"):
                assert_same_bits(gs.scatter(data, given, updates, **options), expected)
                assert scatter.last_strategy() == ScatterStrategy.PRIVATE
                gs.scatter(out, given, updates, out=out, **options)
            assert_same_bits(out, expected)


@pytest.mark.parametrize("n_threads", [1, 3])
@elements
def test_units(dtype, reduction, include_self, n_threads):
    rng = np.random.default_rng(0)
    for rows, columns, n in ((70, 30, 50), (40, 3000, 900), (5, 100, 30_000)):
        data, updates = draw(rows * columns, dtype, 1).reshape(rows, -1), draw(rows * n, dtype, 2).reshape(rows, -1)
        indices = rng.integers(0, columns, (rows, n))
        expected = np.stack(
            [reduced(*each, reduction, include_self) for each in zip(data, indices, updates, strict=True)]
        )
        indices[3, ::7] -= columns
        indices[4] -= rng.integers(0, 2, n) * columns
        options = {"axis": 1, "reduction": reduction, "include_self": include_self}
        with kernels.forced(n_threads, scatter="units"):
            assert_same_bits(gs.scatter_elements(data, indices, updates, **options), expected)
            assert scatter.last_strategy() == ScatterStrategy.UNITS
            out = data.copy()
            gs.scatter_elements(out, indices, updates, out=out, **options)
        assert_same_bits(out, expected)


@pytest.mark.parametrize("n_threads", [1, 3])
@elements
def test_column_tiles(dtype, reduction, include_self, n_threads):
    rng = np.random.default_rng(0)
    for size, columns, n in ((70, 30, 900), (300, 150, 40), (1, 64, 5)):
        data, updates = draw(size * columns, dtype, 1).reshape(size, -1), draw(n * columns * 2, dtype, 2).reshape(n, -1)
        indices = rng.integers(-size, size, (n, columns))
        for some in (updates[:, :columns], updates[:, ::2]):
            each = [
                reduced(data[:, j], indices[:, j] % size, some[:, j], reduction, include_self) for j in range(columns)
            ]
            expected = np.stack(each, axis=1)
            for index_dtype in ("i2", "i8"):
                given = indices.astype(index_dtype)
                out = data.copy()
                options = {"axis": 0, "reduction": reduction, "include_self": include_self}
                with kernels.forced(n_threads, scatter="column_tiles"):
                    assert_same_bits(gs.scatter_elements(data, given, some, **options), expected)
                    assert scatter.last_strategy() == ScatterStrategy.COLUMN_TILES
                    gs.scatter_elements(out, given, some, out=out, **options)
                assert_same_bits(out, expected)


@pytest.mark.parametrize("mode", ["clip", "wrap", "drop"])
@elements
def test_modes(dtype, reduction, include_self, mode):
    rng = np.random.default_rng(0)
    data, updates, indices = draw(300, dtype, 1), draw(900, dtype, 2), rng.integers(-400, 500, 900)
    named = np.clip(np.where(indices < 0, indices + 300, indices), 0, 299) if mode == "clip" else indices % 300
    kept = (indices >= -300) & (indices < 300) if mode == "drop" else np.full(900, True)
    expected = reduced(data, named[kept], updates[kept], reduction, include_self)
    options = {"reduction": reduction, "include_self": include_self, "mode": mode}
    with kernels.forced(1, scatter="serial"):
        assert_same_bits(gs.scatter(data, indices, updates, **options), expected)
    columns = [np.stack([a, a], axis=1) for a in (data, indices, updates)]
    with kernels.forced(1, scatter="column_tiles"):
        found = gs.scatter_elements(*columns, axis=0, **options)
        assert scatter.last_strategy() == ScatterStrategy.COLUMN_TILES
    assert_same_bits(found, np.stack([expected, expected], axis=1))


@pytest.mark.parametrize(("reduction", "include_self"), [("mean", True), ("mean", False), ("add", False)])
@pytest.mark.parametrize("size", [2, 3, 4, 5])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_points(dtype, size, reduction, include_self):
    rng = np.random.default_rng(size)
    options = {"reduction": reduction, "include_self": include_self}
    for n_rows, n in ((1, 3), (7, 100), (3000, 5000), (200, 140_000)):
        data, updates = draw(n_rows * size, dtype, 1).reshape(-1, size), draw(n * size, dtype, 2).reshape(-1, size)
        # Sorted: runs of one destination.
        for indices in (rng.integers(0, n_rows, n), np.sort(rng.integers(0, n_rows, n))):
            numbers = zip(data.T, updates.T, strict=True)
            expected = np.stack([reduced(a, indices, b, reduction, include_self) for a, b in numbers], axis=1)
            for some_are_negative in (0, 0.0005, 0.5):
                given = np.where(rng.random(n) < some_are_negative, indices - n_rows, indices)
                for index_dtype in ("i2", "i4", "i8") if n < 10_000 else ("i8",):
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
            expected = reduced(np.array(data), flat, updates, "mean", include_self).reshape(20, 30)
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


@pytest.mark.parametrize(
    ("reduction", "include_self"), [("add", True), ("add", False), ("mean", True), ("mean", False)]
)
@pytest.mark.parametrize(("dtype", "size"), [("f4", 2), ("f4", 3), ("f4", 4), ("f8", 2), ("f8", 3)])
def test_points_beyond_l2(dtype, size, reduction, include_self):
    """Their destinations are prefetched, and so are those of indices that are out of bounds."""
    rng = np.random.default_rng(0)
    n_rows, n = (5 << 20) // (size * np.dtype(dtype).itemsize), 300_000
    data, updates = draw(n_rows * size, dtype, 1).reshape(-1, size), draw(n * size, dtype, 2).reshape(-1, size)
    indices = rng.integers(0, n_rows, n)
    options = {"reduction": reduction, "include_self": include_self}
    numbers = zip(data.T, updates.T, strict=True)
    expected = np.stack([reduced(a, indices, b, reduction, include_self) for a, b in numbers], axis=1)
    for some_are_negative in (0, 0.0005, 0.5):
        given = np.where(rng.random(n) < some_are_negative, indices - n_rows, indices)
        with kernels.forced(1, scatter="serial"):
            assert_same_bits(gs.scatter(data, given, updates, **options), expected)
    indices[[5, 7777, n - 1]] = 2**62, -(2**63), n_rows
    before = data.copy()
    with kernels.forced(1, scatter="serial"), pytest.raises(IndexError, match=rf"indices\[5\] = {2**62} "):
        gs.scatter(data, indices, updates, out=data, **options)
    assert_same_bits(data, before)


@pytest.mark.parametrize("terms", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_means_of_integers_near_the_limits_of_their_division(dtype, terms):
    bounds = np.iinfo(dtype)
    near = [sign * 2**bits + d for sign in (1, -1) for bits in (0, 24, 31, 32, 51, 52, 53, 63) for d in range(-3, 4)]
    near += [bounds.min, bounds.max, *(terms * k + d for k in (1, -5, 100) for d in (-1, 0, 1))]
    near = [number for number in near if bounds.min <= number <= bounds.max]
    rng = np.random.default_rng(0)
    for numbers in ([number] * 300 for number in near):
        numbers[7] = int(rng.choice(near))
        # The counts are next to the sums in the first call, and in a table in the second.
        for n_threads, n_zeros in ((1, terms - 1), (3, terms)):
            indices = np.repeat(np.arange(300), n_zeros)
            zeros = np.zeros(len(indices), dtype)
            with kernels.forced(n_threads, scatter="serial"):
                found = gs.scatter(np.array(numbers, dtype), indices, zeros, reduction="mean")
            assert found.tolist() == [number // (n_zeros + 1) for number in numbers]
