"""RANGES: each thread applies the updates of its own range of rows. Queues hold 1024 updates, of blocks of 128."""

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits, assert_same_numbers
from constants import REDUCTIONS, reduces
from gatherscatter import fused
from gatherscatter._kernels import scatter
from gatherscatter._kernels.codes import ScatterStrategy
from gatherscatter.backends import kernels
from test_gather_scatter import draw, in_two

every_team = pytest.mark.parametrize(
    "n_threads", [3, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2, 8, 192))]
)
every_rule = pytest.mark.parametrize(
    ("reduction", "include_self"), [(each, include_self) for each in REDUCTIONS for include_self in (True, False)]
)


def runs_ranges():
    return scatter.last_strategy() == ScatterStrategy.RANGES


def orders(rng, n_rows, n):
    """Indices in any order, in that of the rows, and most of them of one row; of some rows none is left."""
    shuffled = rng.integers(-n_rows, n_rows, n)
    shuffled[shuffled % n_rows == 5] = 6
    yield shuffled
    yield np.sort(shuffled)
    yield np.where(rng.random(n) < 0.9, 7, shuffled)


@every_team
@every_rule
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "u1", "i8", "F", "?"])
def test_rows(dtype, reduction, include_self, n_threads):
    if not reduces(reduction, np.dtype(dtype).name):
        return
    rng = np.random.default_rng(0)
    options = {"reduction": reduction, "include_self": include_self}
    for n, n_bytes in ((300, 48), (5000, 64), (2000, 136)):
        width = n_bytes // np.dtype(dtype).itemsize
        data, updates = draw((61, width), dtype, 1), draw((n, width), dtype, 2)
        for indices in orders(rng, 61, n):
            with np.errstate(all="ignore"):
                with kernels.forced(1, scatter="serial"):
                    expected = gs.scatter(data, indices, updates, **options)
                with kernels.forced(n_threads, scatter="ranges"):
                    result = gs.scatter(data, indices, updates, **options)
                    assert runs_ranges()
                    changed = data.copy()
                    gs.scatter(changed, indices, updates, out=changed, **options)
            # Which NaN a sum of two is depends on the machine.
            (assert_same_numbers if np.dtype(dtype).kind in "fc" else assert_same_bits)(result, expected)
            (assert_same_numbers if np.dtype(dtype).kind in "fc" else assert_same_bits)(changed, expected)


@pytest.mark.parametrize("reduction", ["none", "add", "max"])
def test_dropped_and_strided_updates(reduction):
    rng = np.random.default_rng(0)
    indices = rng.integers(-99, 99, 3000)
    updates = draw((2, 32, 3000), "f4")[1].T  # each a column
    data = draw((61, 32), "f4", 1)
    options = {"reduction": reduction, "mode": "drop", "wrap_negative_indices": False}
    with kernels.forced(1, scatter="serial"):
        expected = gs.scatter(data, indices, updates, **options)
    with kernels.forced(3, scatter="ranges"):
        assert_same_numbers(gs.scatter(data, indices, updates, **options), expected)
        assert runs_ranges()


@pytest.mark.parametrize("value", [61, -62, 2**40])
@pytest.mark.parametrize("place", [0, 7, 127, 128, 2500, 2999])
def test_a_bad_index_changes_nothing(place, value):
    rng = np.random.default_rng(0)
    indices, updates, data = rng.integers(0, 61, 3000), draw((3000, 16), "f4"), draw((61, 16), "f4", 1)
    indices[place] = value
    out = data.copy()
    with kernels.forced(3, scatter="ranges"), pytest.raises(IndexError, match=rf"indices\[{place}\] = {value} "):
        gs.scatter(out, indices, updates, reduction="add", out=out)
    assert_same_bits(out, data)
    with kernels.forced(3, scatter="ranges"), pytest.raises(IndexError, match=rf"indices\[{place}\] = {value} "):
        gs.scatter(data, indices, updates, reduction="add")  # whose indices are not checked beforehand


@every_team
@every_rule
@pytest.mark.parametrize("dtype", ["f4", "i2", "D"])
def test_rows_of_a_source(monkeypatch, dtype, reduction, include_self, n_threads):
    has_loop = reduction != "none" and (dtype, reduction) != ("D", "mul")
    if not has_loop or not reduces(reduction, np.dtype(dtype).name):
        return
    monkeypatch.setattr(fused, "_FEWEST_BYTES", 0)
    options = {"reduction": reduction, "include_self": include_self}
    for width in (4, 16, 24):  # 8 to 384 bytes
        source = draw((37, width), dtype, 2)
        for data in (draw((61, width), dtype, 1), np.broadcast_to(draw((1, width), dtype, 3), (61, width))):
            for n in (40, 3000):
                rng = np.random.default_rng(n)
                for indices in orders(rng, 61, n):
                    rows = rng.integers(-37, 37, n)
                    expected = in_two(data.copy(), indices, source, rows, **options)
                    with kernels.forced(n_threads, scatter="ranges"):
                        result = gs.gather_scatter(data, indices, source, rows, **options)
                        assert runs_ranges()
                        out = np.empty_like(expected)
                        gs.gather_scatter(data, indices, source, rows, out=out, **options)
                    assert_same_numbers(result, expected)
                    assert_same_numbers(out, expected)


@pytest.mark.parametrize(
    ("n_threads", "adds_bandwidth", "shape", "strategy"),
    [
        (2, True, (10_000, 64), "ranges"),
        (4, True, (10_000, 64), "ranges"),
        (2, False, (10_000, 64), "rows"),
        (1, True, (10_000, 64), "serial"),
        (8, True, (10_000, 64), "rows"),  # each would resolve all tuples
        (2, True, (20_000, 64), "rows"),  # as fast for rows of 256 bytes
        (2, True, (20_000, 63), "ranges"),
        (2, True, (5000, 128), "rows"),  # and of 512 bytes
        (2, True, (500_000, 64), "rows"),  # most rows have no update
        (2, True, (300_000, 9), "ranges"),
        (2, False, (300_000, 9), "serial"),
        (2, True, (3000, 8), "serial"),  # two rows in a cache line
    ],
)
def test_the_choice(n_threads, adds_bandwidth, shape, strategy):
    rng = np.random.default_rng(0)
    n = 300_000 if shape[1] < 64 else 100_000
    indices, updates = rng.integers(0, shape[0], n), rng.random((n, shape[1]), np.float32)
    data = np.broadcast_to(np.float32(0), shape)
    with kernels.forced(n_threads, adds_bandwidth=adds_bandwidth):
        gs.scatter(np.ascontiguousarray(data), indices, updates, reduction="add")
    assert ScatterStrategy(scatter.last_strategy()).name == strategy.upper()


def test_one_row_with_half_of_the_updates_has_a_thread_of_its_own():
    """For more of them, threads would not have equal work."""
    rng = np.random.default_rng(0)
    updates, data = rng.random((100_000, 64), np.float32), np.zeros((10_000, 64), np.float32)
    for share, is_shared in ((0.5, True), (0.7, False)):
        indices = np.where(rng.random(100_000) < share, 0, rng.integers(0, 10_000, 100_000))
        with kernels.forced(2, adds_bandwidth=True):
            gs.scatter(data, indices, updates, reduction="add")
        assert runs_ranges() == is_shared


@pytest.mark.parametrize(
    ("n_rows", "width", "is_in_ranges"),
    # 200 000 rows of 128 bytes are more than any cache is taken for.
    [(9000, 16, True), (9000, 17, False), (200_000, 32, True), (200_000, 33, False)],
)
def test_the_choice_for_rows_of_a_source(n_rows, width, is_in_ranges):
    rng = np.random.default_rng(0)
    source, data = rng.random((n_rows, width), np.float32), np.zeros((9000, width), np.float32)
    indices, rows = rng.integers(0, 9000, (2, 200_000))
    with kernels.forced(2, adds_bandwidth=True):
        gs.gather_scatter(data, indices, source, rows, reduction="add")
    assert runs_ranges() == is_in_ranges
