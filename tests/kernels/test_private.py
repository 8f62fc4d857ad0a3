"""PRIVATE for rows: each thread reduces its updates into a private copy of the result; the bits are those of SERIAL."""

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits
from gatherscatter._kernels import scatter
from gatherscatter._kernels.codes import ScatterStrategy
from gatherscatter.backends import kernels


def rows(rng, shape, dtype):
    numbers = rng.integers(-100, 100, shape).astype(dtype)
    if np.dtype(dtype).kind == "f":
        numbers.reshape(-1)[::7] = np.nan
        numbers.reshape(-1)[::5] = -0.0
        numbers.reshape(-1)[1::5] = 0.0
    return numbers


def ran():
    return ScatterStrategy(scatter.last_strategy())


@pytest.mark.parametrize("n_threads", [1, 2, 3, 8, 192])
@pytest.mark.parametrize("width", [2, 3, 8, 33])
@pytest.mark.parametrize(
    ("dtype", "reduction"),
    [
        *((dtype, reduction) for dtype in ("f2", "f4", "f8", "i4", "u1") for reduction in ("max", "min")),
        *((dtype, reduction) for dtype in ("i4", "u1", "i8", "u2") for reduction in ("add", "mul")),
    ],
)
def test_bits(dtype, reduction, width, n_threads):
    rng = np.random.default_rng(0)
    data, updates = rows(rng, (40, width), dtype), rows(rng, (900, width), dtype)
    indices = rng.integers(-40, 30, 900)  # ten rows are without updates
    with kernels.forced(1, scatter="serial"):
        expected = gs.scatter(data, indices, updates, reduction=reduction)
    with kernels.forced(n_threads, scatter="private"):
        assert_same_bits(gs.scatter(data, indices, updates, reduction=reduction), expected)
        assert (ran() is ScatterStrategy.PRIVATE) == (n_threads > 1)
        out = data.copy()
        assert_same_bits(gs.scatter(out, indices, updates, reduction=reduction, out=out), expected)


@pytest.mark.parametrize(("dtype", "reduction"), [("i4", "add"), ("f4", "max")])
def test_it_is_chosen_for_few_rows_with_many_updates(dtype, reduction):
    rng = np.random.default_rng(0)
    updates = rows(rng, (1_200_000, 8), dtype)

    def strategy(n_rows, options, n=100_000):
        data, indices = np.zeros((n_rows, 8), dtype), rng.integers(0, n_rows, n)
        with kernels.forced(1, scatter="serial"):
            expected = gs.scatter(data, indices, updates[:n], reduction=reduction, **options)
        with kernels.forced(2, adds_bandwidth=True):
            assert_same_bits(gs.scatter(data, indices, updates[:n], reduction=reduction, **options), expected)
        return ran()

    assert strategy(3000, {}) is ScatterStrategy.PRIVATE
    assert strategy(3000, {}, 20_000) is not ScatterStrategy.PRIVATE  # seven for each row
    # A copy is larger than L2, but both fit any L3; or not.
    assert strategy(45_000, {}, 400_000) is ScatterStrategy.PRIVATE
    assert strategy(150_000, {}, 1_200_000) is not ScatterStrategy.PRIVATE
    assert strategy(3000, {"include_self": False}) is not ScatterStrategy.PRIVATE


def test_neither_sums_of_floats_nor_bools_nor_spaced_rows():
    indices = np.zeros(90, int)
    with kernels.forced(2, scatter="private"):
        for out, reduction in [
            (np.empty((4, 8), "f4"), "add"),
            (np.empty((4, 8), bool), "max"),
            (np.empty((4, 8), ">i4"), "add"),
            (np.empty((4, 16), "i4")[:, ::2], "add"),
        ]:
            updates = np.ones((90, 8), out.dtype)
            result = gs.scatter(np.zeros((4, 8), out.dtype), indices, updates, reduction=reduction, out=out)
            assert ran() is not ScatterStrategy.PRIVATE, out.dtype
            assert result[0].tolist() == [90 if reduction == "add" else 1] * 8


@pytest.mark.parametrize("mode", ["drop", "clip", "wrap"])
def test_indices_that_are_out_of_bounds(mode):
    rng = np.random.default_rng(0)
    data, updates, indices = rng.random((20, 5)), rng.random((600, 5)), rng.integers(-50, 50, 600)
    with kernels.forced(1, scatter="serial"):
        expected = gs.scatter(data, indices, updates, reduction="max", mode=mode)
    with kernels.forced(3, scatter="private"):
        assert_same_bits(gs.scatter(data, indices, updates, reduction="max", mode=mode), expected)
        assert ran() is ScatterStrategy.PRIVATE


def test_a_bad_index_leaves_out_as_it_is():
    indices = np.zeros(600, int)
    indices[400] = 20
    out = np.zeros((20, 5))
    with kernels.forced(3, scatter="private"), pytest.raises(IndexError, match=r"20"):
        gs.scatter(out, indices, np.ones((600, 5)), reduction="max", out=out)
    assert not out.any()


def test_rows_along_a_later_axis_and_of_a_batch():
    rng = np.random.default_rng(0)
    data, updates, indices = rng.random((3, 20, 5)), rng.random((3, 600, 5)), rng.integers(0, 20, 600)
    with kernels.forced(1, scatter="serial"):
        expected = gs.scatter(data, indices, updates, axis=1, reduction="min")
    with kernels.forced(2, scatter="private"):
        assert_same_bits(gs.scatter(data, indices, updates, axis=1, reduction="min"), expected)
