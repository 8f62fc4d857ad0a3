"""The route private at its edges: many updates into few destinations, of which each thread has a copy."""

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits
from gatherscatter.backends import kernels
from pairwise import in_turn
from routes import ran

every_team = pytest.mark.parametrize("n_threads", [2, 8])


@every_team
@in_turn("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
def test_against_the_loop(dtype, reduction, n_threads):
    rng = np.random.default_rng(0)
    info = np.iinfo(dtype)
    data = rng.integers(info.min, info.max, 5, dtype, endpoint=True)
    indices = rng.integers(-5, 5, 6000)
    indices[indices % 5 == 3] = 2  # one that nobody names
    updates = rng.integers(info.min, info.max, 6000, dtype, endpoint=True) | 1
    expected = data.copy()
    ufunc = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[reduction]
    ufunc.at(expected, indices, updates)
    with kernels.forced(n_threads, scatter="private"):
        assert_same_bits(gs.scatter(data, indices, updates, reduction=reduction), expected)
        assert ran() == "private"
        out = data.copy()
        gs.scatter(out, indices, updates, reduction=reduction, out=out)
    assert_same_bits(out, expected)
    dropped = np.where(indices == 1, 7, indices)
    expected = data.copy()
    ufunc.at(expected, dropped[dropped < 7], updates[dropped < 7])
    with kernels.forced(n_threads, scatter="private"):
        assert_same_bits(gs.scatter(data, dropped, updates, reduction=reduction, mode="drop"), expected)


@every_team
def test_a_bad_index_leaves_out_as_it_was(n_threads):
    out = np.arange(4)
    indices = np.zeros(5000, np.int64)
    indices[4321] = 4
    with kernels.forced(n_threads, scatter="private"), pytest.raises(IndexError, match=r"indices\[4321\] = 4 "):
        gs.scatter(out, indices, np.ones(5000, np.int64), reduction="add", out=out)
    assert_same_bits(out, np.arange(4))


def test_a_route_that_cannot_run_a_job_leaves_it_to_another():
    """A private copy of sums of floats would change their order."""
    indices = np.zeros(90, int)
    with kernels.forced(2, scatter="private"):
        for dtype, reduction in (("f4", "add"), ("f8", "mean"), ("c8", "mul")):
            updates = np.ones((90, 8), dtype)
            result = gs.scatter(np.zeros((4, 8), dtype), indices, updates, reduction=reduction)
            assert ran() != "private"
            assert result[0].tolist() == [{"add": 90, "mean": 90 / 91, "mul": 0}[reduction]] * 8
