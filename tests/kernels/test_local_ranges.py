"""LOCAL_RANGES: neighbouring tuples have neighbouring destinations. Blocks have 1024 tuples, of 128 at a time."""

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits, assert_same_numbers
from constants import REDUCTIONS, reduces
from gatherscatter._kernels import scatter
from gatherscatter._kernels.codes import ScatterStrategy
from gatherscatter.backends import kernels
from test_gather_scatter import draw

every_team = pytest.mark.parametrize(
    "n_threads", [3, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2, 8, 192))]
)


def last():
    return ScatterStrategy(scatter.last_strategy()).name.lower()


def orders(rng, n_rows, n):
    """Indices by name: in the order of the rows, near it, in any order, …"""
    ordered = np.sort(rng.integers(0, n_rows, n))
    return {
        "sorted": ordered,
        "descending": ordered[::-1] - n_rows,
        "near": (ordered + rng.integers(-5, 5, n)) % n_rows,
        "twice": np.concatenate([ordered[::2], ordered[1::2]]),
        "random": rng.permutation(ordered),
        "one": np.full(n, n_rows // 2),
        "crowded": np.sort(rng.integers(0, n_rows, n) ** 3 // n_rows**2),
    }


ORDERS = list(orders(np.random.default_rng(0), 2, 2))


@every_team
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize(
    ("dtype", "row"), [("f4", ()), ("f8", ()), ("u1", ()), ("F", ()), ("f4", (3,)), ("i8", (4,)), ("f2", (17,))]
)
def test_bits(dtype, row, reduction, include_self, order, n_threads):
    if not reduces(reduction, np.dtype(dtype).name):
        return
    rng = np.random.default_rng(0)
    n_rows, n = 701, 9000
    indices = orders(rng, n_rows, n)[order]
    data, updates = draw((n_rows, *row), dtype, 1), draw((n, *row), dtype, 2)
    same = assert_same_numbers if np.dtype(dtype).kind in "fc" else assert_same_bits
    options = {"reduction": reduction, "include_self": include_self}
    with np.errstate(all="ignore"):
        with kernels.forced(1, scatter="serial"):
            expected = gs.scatter(data, indices, updates, **options)
        with kernels.forced(n_threads, scatter="local_ranges"):
            same(gs.scatter(data, indices, updates, **options), expected)
            assert last() == "local_ranges"
            out = data.copy()
            gs.scatter(out, indices, updates, out=out, **options)
        same(out, expected)


@every_team
@pytest.mark.parametrize("reduction", ["none", "add", "mean"])
def test_layouts(reduction, n_threads):
    """Pairs of indices, several axes of tuples, strided updates, one update for all, data that are one element."""
    rng = np.random.default_rng(0)
    where = np.sort(rng.integers(0, 700, (60, 70)).ravel()).reshape(60, 70)
    pairs = np.stack([where // 20, where % 20], axis=-1).astype("i4")
    updates = draw((70, 60), "f4").T
    for data in (draw((35, 20), "f4"), np.broadcast_to(np.float32(2), (35, 20)), draw((20, 35), "f4").T):
        for given in (updates, np.broadcast_to(np.float32(3), (60, 70))):
            with kernels.forced(1, scatter="serial"):
                expected = gs.scatter_nd(data, pairs, given, reduction=reduction)
            with kernels.forced(n_threads, scatter="local_ranges"):
                assert_same_numbers(gs.scatter_nd(data, pairs, given, reduction=reduction), expected)
            assert last() == "local_ranges"


@every_team
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduction", ["none", "add", "max", "mean"])
@pytest.mark.parametrize("row", [(), (3,)])
def test_dropped_updates(row, reduction, include_self, n_threads):
    """Some blocks are dropped as a whole."""
    rng = np.random.default_rng(0)
    indices = np.sort(rng.integers(-2000, 900, 9000))
    rng.shuffle(indices[5000:6000])
    data, updates = draw((701, *row), "f4", 1), draw((9000, *row), "f4", 2)
    options = {"reduction": reduction, "include_self": include_self, "mode": "drop", "wrap_negative_indices": False}
    with kernels.forced(1, scatter="serial"):
        expected = gs.scatter(data, indices, updates, **options)
    with kernels.forced(n_threads, scatter="local_ranges"):
        assert_same_numbers(gs.scatter(data, indices, updates, **options), expected)
    assert last() == "local_ranges"


@pytest.mark.parametrize("n_threads", [1, 2, 3, 8])
def test_successive_tuples_that_share_an_update(n_threads):
    """On three threads or more, they are copied before."""
    rng = np.random.default_rng(0)
    indices = np.sort(rng.integers(0, 701, 9000)).reshape(-1, 3)
    data, updates = draw((701, 3), "f4", 1), draw((3000, 1, 3), "f4", 2)
    with kernels.forced(1, scatter="serial"):
        expected = gs.scatter(data, indices, updates, reduction="add")
    with kernels.forced(n_threads, scatter="local_ranges"):
        assert_same_numbers(gs.scatter(data, indices, updates, reduction="add"), expected)
    assert last() == "local_ranges"


@pytest.mark.parametrize("value", [701, -702, 2**40])
@pytest.mark.parametrize("place", [0, 127, 1023, 1024, 8999])
def test_a_bad_index_changes_nothing(place, value):
    indices, updates, data = np.arange(9000) * 701 // 9000, draw((9000,), "f4"), draw((701,), "f4", 1)
    indices[place] = value
    out = data.copy()
    with kernels.forced(3, scatter="local_ranges"):
        for target in (out, None):
            with pytest.raises(IndexError, match=rf"indices\[{place}\] = {value} "):
                gs.scatter(data if target is None else out, indices, updates, reduction="add", out=target)
    assert_same_bits(out, data)


@pytest.mark.parametrize(
    ("order", "n_threads", "n_rows", "row", "reduction", "strategy"),
    [
        ("sorted", 2, 20_000, (), "add", "local_ranges"),
        ("descending", 2, 20_000, (), "add", "local_ranges"),
        ("near", 4, 20_000, (3,), "add", "local_ranges"),
        ("twice", 2, 20_000, (16,), "add", "local_ranges"),
        ("crowded", 2, 20_000, (), "add", "local_ranges"),
        ("sorted", 2, 100, (), "add", "local_ranges"),
        ("sorted", 3, 20_000, (), "mean", "local_ranges"),
        ("sorted", 2, 20_000, (), "mean", "serial"),  # the other thread counts
        ("sorted", 2, 20_000, (3,), "mean", "local_ranges"),
        ("sorted", 2, 20_000, (64,), "none", "rows"),  # only the last update of each
        ("sorted", 2, 40_000, (128,), "add", "rows"),  # which writes a large result once
        ("sorted", 2, 20_000, (), "none", "local_ranges"),
        ("sorted", 1, 20_000, (), "add", "serial"),
        ("random", 2, 20_000, (), "add", "serial"),
        ("one", 2, 20_000, (), "add", "serial"),  # one thread would have all updates
        ("sorted", 2, 6, (), "add", "serial"),
        ("sorted", 2, 1000, (), "max", "private"),  # which reads the indices once
    ],
)
def test_the_choice(order, n_threads, n_rows, row, reduction, strategy):
    indices = orders(np.random.default_rng(0), n_rows, 60_000)[order]
    data, updates = draw((n_rows, *row), "f4", 1), draw((60_000, *row), "f4", 2)
    with kernels.forced(n_threads, adds_bandwidth=True):
        gs.scatter(data, indices, updates, reduction=reduction)
    assert last() == strategy
