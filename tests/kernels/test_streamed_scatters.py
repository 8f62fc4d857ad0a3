"""Scatters into results that are larger than the caches: into memory of each alignment."""

import itertools

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits
from gatherscatter.backends import kernels
from test_streamed_gathers import between_guards

ROUTES = [("direct", 3), ("partition", 3), ("blocks", 3)]
PLACES = 0, 4, 16  # bytes after a cache line
# What opens and closes rows in a way of its own, then the others.
RULES = [("none", True), ("add", True), ("add", False), ("mean", True), ("mean", False), ("max", True), ("max", False)]
# 64 to 260 bytes, whole cache lines and others, and longer ones; then more of them.
ROWS = [("f4", 16), ("f4", 20), ("f4", 32), ("f4", 65), ("f8", 24), ("f8", 64), ("f2", 32), ("i4", 300), ("u1", 4080)]
ROWS += [("f4", 64), ("f4", 68), ("f8", 32), ("f2", 128), ("f2", 136)]
RESULT_BYTES = (1 << 24) + 10_000  # of whole rows at least 1 << 24: such results are written with non-temporal stores


def scattered(rng, n_rows, skewed):
    """Indices: about half of the rows have none. With `skewed`, one row has many."""
    indices = rng.integers(-n_rows, n_rows, n_rows * 2 // 3)
    return np.concatenate([indices, np.full(17_000, n_rows // 2)]) if skewed else indices


def one_by_one(data, indices, updates, words):
    """The operands, and what one thread makes of them."""
    with kernels.forced(1, scatter="direct"):
        return data, indices, updates, words, gs.scatter(data, indices, updates, **words)


def assert_as_one_by_one(place, data, indices, updates, words, expected):
    """The routes give the same bits: into other memory, which begins at `place`, and in place; new results once."""
    for route, n_threads in ROUTES if place in (0, 4, 8) else [*ROUTES, ("direct", 1), ("partition", 1)]:
        with kernels.forced(n_threads, scatter=route):
            out, guards = between_guards(data.shape, data.dtype, place)
            gs.scatter(data, indices, updates, out=out, **words)
            assert_same_bits(out, expected)
            if place == 0:
                assert_same_bits(gs.scatter(data, indices, updates, **words), expected)
            out[...] = data
            assert_same_bits(gs.scatter(out, indices, updates, out=out, **words), expected)
            assert all((guard == 171).all() for guard in guards)


def selected(items, n_items, share):
    """Parameters: each item with each rule. By default the first n_items, each with some of the first five rules."""
    for (i, item), (j, rule) in itertools.product(enumerate(items), enumerate(RULES)):
        is_slow = i >= n_items or j >= 5 or (i + j) % share
        yield pytest.param(*item, *rule, PLACES[(i // 3 + j) % 3], marks=[pytest.mark.slow] * bool(is_slow))


@pytest.mark.parametrize(("dtype", "n_items", "reduction", "include_self", "place"), [*selected(ROWS, 9, 4)])
def test_rows(dtype, n_items, reduction, include_self, place):
    rng = np.random.default_rng(n_items)
    n_rows = RESULT_BYTES // (n_items * np.dtype(dtype).itemsize)
    indices = scattered(rng, n_rows, skewed=False)
    data = rng.integers(0, 50, (n_rows, n_items), np.int8).astype(dtype)
    updates = rng.integers(0, 50, (len(indices), n_items), np.int8).astype(dtype)
    words = {"reduction": reduction, "include_self": include_self}
    assert_as_one_by_one(place, *one_by_one(data, indices, updates, words))


@pytest.mark.parametrize(
    ("dtype", "reduction", "include_self", "place"), [*selected([("f4",), ("f8",), ("f2",), ("u1",)], 3, 3)]
)
def test_elements(dtype, reduction, include_self, place):
    rng = np.random.default_rng(0)
    n = RESULT_BYTES // np.dtype(dtype).itemsize
    indices = rng.integers(-n, n, 300_000)
    data, updates = (rng.integers(0, 50, size, np.int8).astype(dtype) for size in (n, len(indices)))
    words = {"reduction": reduction, "include_self": include_self}
    assert_as_one_by_one(max(place, 8) if place else 0, *one_by_one(data, indices, updates, words))


@pytest.mark.parametrize(
    ("reduction", "include_self", "place"), [("add", True, 0), ("add", False, 4), ("mean", True, 4), ("mean", False, 0)]
)
def test_a_row_with_many_updates(reduction, include_self, place):
    rng = np.random.default_rng(0)
    n_rows = RESULT_BYTES // 256
    indices = scattered(rng, n_rows, skewed=True)
    data = rng.standard_normal((n_rows, 64), np.float32)
    updates = rng.standard_normal((len(indices), 64), np.float32)
    words = {"reduction": reduction, "include_self": include_self}
    assert_as_one_by_one(place, *one_by_one(data, indices, updates, words))


def test_data_that_are_one_row():
    """gather_scatter reads a broadcast row where it is, as the row of data for each of the result."""
    rng = np.random.default_rng(0)
    n_rows = RESULT_BYTES // 256
    indices = scattered(rng, n_rows, skewed=False)
    data = np.broadcast_to(rng.standard_normal(64).astype("f4"), (n_rows, 64))
    source, rows = rng.standard_normal((900, 64), np.float32), rng.integers(0, 900, len(indices))
    with kernels.forced(1, scatter="direct"):
        expected = gs.scatter(data, indices, source[rows], reduction="add")
    for route, n_threads in ROUTES:
        with kernels.forced(n_threads, scatter=route):
            assert_same_bits(gs.gather_scatter(data, indices, source, rows, reduction="add"), expected)
