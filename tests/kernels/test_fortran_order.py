"""Rows whose elements are far apart, as in Fortran order: the same bits as of contiguous rows."""

import itertools

import gatherscatter as gs
import ml_dtypes
import numpy as np
import pytest
from assertions import assert_same_bits
from gatherscatter.backends import kernels
from pairwise import in_turn
from routes import routes_for

N = 1200
DTYPES = ["?", "u1", "f2", ml_dtypes.bfloat16, "f4", ">f4", "f8", "c16", "S3", "S7"]


def arrays(rng, dtype, shape):
    """An array in C order, and arrays of the same values whose rows are not contiguous."""
    values = rng.integers(0, 100, shape).astype(dtype)
    yield values
    yield np.asfortranarray(values)
    yield np.moveaxis(np.ascontiguousarray(np.moveaxis(values, 0, -1)), -1, 0)  # the rows are the last axis in memory
    wide = np.zeros((shape[0], *(2 * n for n in shape[1:])), values.dtype, order="F")
    yield wide[(slice(None), *(slice(None, None, 2) for _ in shape[1:]))]
    backwards = np.asfortranarray(values[::-1])
    yield backwards[::-1]


def reductions(dtype):
    if np.dtype(dtype).kind == "S":
        return ["none"]
    return ["none", "add", "mul"] if np.dtype(dtype).kind == "c" else ["none", "add", "mul", "max", "mean"]


@pytest.mark.parametrize("row", [(16,), (3,), (4, 5)], ids=str)
@in_turn("dtype", DTYPES)
def test_gathers(dtype, row, forced_threads):
    rng = np.random.default_rng(0)
    indices = rng.integers(-60, 60, N)
    contiguous, *others = arrays(rng, dtype, (60, *row))
    outside = np.where(indices == 7, 1000, indices)
    fill = contiguous.dtype.type(1)
    filled = contiguous[indices]
    filled[indices == 7] = fill
    for other in others:
        other[...] = contiguous
        assert_same_bits(gs.gather(other, indices), contiguous[indices])
        assert_same_bits(gs.gather(other, outside, mode="fill", fill_value=fill), filled)


def test_gathers_of_data_beyond_the_caches():
    """They prefetch the next column."""
    rng = np.random.default_rng(0)
    data, indices = np.asfortranarray(rng.random((50_000, 16))), rng.integers(-50_000, 50_000, 3000)
    expected = data[indices]
    indices[7] = 50_000
    expected[7] = -1
    for part in (data, data[::-1][::-1], data[:, ::-1]):
        found = gs.gather(part, indices, mode="fill", fill_value=-1)
        assert_same_bits(found, np.ascontiguousarray(expected[:, ::-1] if part.strides[1] < 0 else expected))


@in_turn(
    ("dtype", "reduction", "row"),
    [
        (dtype, name, [(16,), (3,), (4, 5)][(i + j) % 3])
        for i, dtype in enumerate(DTYPES)
        for j, name in enumerate(reductions(dtype))
        if (dtype, name) != ("?", "mean")
    ],
)
def test_scatters_in_place(dtype, reduction, row, forced_threads):
    rng = np.random.default_rng(0)
    indices = rng.integers(-60, 63, N)  # some are out of bounds
    updates = rng.integers(0, 100, (N, *row)).astype(dtype)
    contiguous, *others = arrays(rng, dtype, (60, *row))
    for include_self, mode in [(True, "drop"), (False, "drop"), (True, "wrap")]:
        options = {"reduction": reduction, "include_self": include_self, "mode": mode}
        expected = gs.scatter(contiguous, indices, updates, **options)
        for other, given in itertools.product(others, [updates, np.asfortranarray(updates)]):
            other[...] = contiguous
            assert gs.scatter(other, indices, given, out=other, **options) is other
            assert_same_bits(np.ascontiguousarray(other), expected)


@pytest.mark.parametrize("reduction", ["none", "max", "mean"])
def test_columns_are_shared_by_threads(reduction):
    rng = np.random.default_rng(0)
    data = np.asfortranarray(rng.random((300, 16)))
    indices, updates = rng.integers(0, 300, 50_000), rng.random((50_000, 16))
    expected = gs.scatter(np.ascontiguousarray(data), indices, updates, reduction=reduction)
    for route, n_threads in routes_for(reduction, "f8", (1, 2, 8)):
        result = data.copy(order="F")
        with kernels.forced(n_threads, scatter=route):
            gs.scatter(result, indices, updates, reduction=reduction, out=result)
        assert_same_bits(np.ascontiguousarray(result), expected)


def test_nothing_is_written_if_an_index_is_out_of_bounds():
    data = np.asfortranarray(np.random.default_rng(0).random((300, 16)))
    indices = np.arange(50_000) % 300
    indices[49_999] = 300
    before = data.copy(order="F")
    with kernels.forced(2), pytest.raises(IndexError, match=r"indices\[49999\] = 300 is out of bounds"):
        gs.scatter(data, indices, np.ones((50_000, 16)), out=data)
    assert_same_bits(data, before)
