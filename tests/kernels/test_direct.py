"""The route direct at its edges: fewer updates than rows, windows of accumulators, and pieces of long rows.

Where there are fewer updates than rows, only the rows that they name are opened and closed, on partition too.
"""

import itertools

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits, assert_same_numbers
from constants import reduces
from gatherscatter import reference
from gatherscatter.backends import kernels
from pairwise import each_pair, in_turn
from routes import ROUTES, routes_for
from scatters import along, applied
from strategies import numbers, numpy_dtype

MARKED = [("add", False), ("mul", False), ("max", False), ("min", False), ("mean", False), ("mean", True)]
marked = pytest.mark.parametrize(("reduction", "include_self"), MARKED)
N_ROWS = 2000
NUMBERS = [1, 20, 50, 200, 1400]


def operands(dtype, row, n, seed=0):
    """The last destination has one update, the others about three each."""
    rng = np.random.default_rng(seed)
    some = rng.integers(0, N_ROWS - 1, n // 3 + 1)
    some[::2] -= N_ROWS
    indices = rng.choice(some, n)
    indices[-1] = N_ROWS - 1
    return numbers((N_ROWS, *row), dtype, seed), indices, numbers((n, *row), dtype, seed + 1)


def assert_as_reference(data, indices, updates, **options):
    """Into a new result, and in place."""
    expected = reference.scatter(data, indices, updates, **options)
    for route, n_threads in {("direct", 1), ("partition", 1), *routes_for(options["reduction"], data.dtype, (2,))}:
        with kernels.forced(n_threads, scatter=route):
            assert_same_numbers(gs.scatter(data, indices, updates, **options), expected)
            out = data.copy()
            gs.scatter(out, indices, updates, out=out, **options)
            assert_same_numbers(out, expected)
            assert_same_numbers(gs.scatter_nd(data[None], indices_of_pairs(indices), updates, **options)[0], expected)


def indices_of_pairs(indices):
    return np.stack([np.zeros_like(indices), indices], axis=1)


@each_pair(row=[(), (1,), (2,), (3,), (4,), (16,), (17,)], rule=MARKED, dtype=["f4", "f8", "i4"])
def test_rows(row, rule, dtype):
    reduction, include_self = rule
    for n in NUMBERS:
        assert_as_reference(*operands(np.dtype(dtype), row, n), reduction=reduction, include_self=include_self)


@pytest.mark.parametrize(
    ("dtype", "reduction", "include_self"),
    [
        (dtype, *options)
        for dtype, options in itertools.product(["i1", "u2", "i8", "f2", "bfloat16", "c8", "c16", ">f4", ">i2"], MARKED)
        if reduces(options[0], dtype) or dtype[0] == ">"
    ],
)
def test_dtypes(dtype, reduction, include_self):
    dtype = np.dtype(dtype) if dtype[0] == ">" else numpy_dtype(dtype)
    for row in ((), (5,)):
        for n in (20, 50, 200):
            assert_as_reference(*operands(dtype, row, n), reduction=reduction, include_self=include_self)


@each_pair(rule=MARKED, mode=["drop", "clip", "wrap"], row=[(), (3,), (16,)])
def test_modes(rule, mode, row):
    reduction, include_self = rule
    for n in (20, 50, 200):
        data, indices, updates = operands(np.dtype("f4"), row, n)
        indices[::3] *= 2
        assert_as_reference(data, indices, updates, reduction=reduction, include_self=include_self, mode=mode)
        outside = np.full(n, N_ROWS)
        assert_as_reference(data, outside, updates, reduction=reduction, include_self=include_self, mode=mode)


@pytest.mark.parametrize(("length", "rule"), [*zip([32, 33, 130] * 2, MARKED, strict=True)])
def test_long_rows(length, rule):
    reduction, include_self = rule
    assert_as_reference(*operands(np.dtype("f8"), (length,), 30), reduction=reduction, include_self=include_self)


@marked
def test_rows_that_are_not_contiguous(reduction, include_self):
    data, indices, updates = operands(np.dtype("f4"), (6, 4), 50)
    options = {"reduction": reduction, "include_self": include_self}
    expected = reference.scatter(data, indices, updates, **options)
    for memory, place in (
        (np.full((N_ROWS, 12, 4), -9, "f4"), np.s_[:, ::2]),
        (np.full((N_ROWS, 6, 8), -9, "f4"), np.s_[:, :, ::2]),
        (np.full((N_ROWS, 9, 9), -9, "f4"), np.s_[:, :6, :4]),
        (np.full((2 * N_ROWS, 6, 4), -9, "f4"), np.s_[::2]),
    ):
        for route in ROUTES:
            memory[place] = data
            with kernels.forced(2, scatter=route):
                gs.scatter(memory[place], indices, updates, out=memory[place], **options)
            assert_same_bits(np.ascontiguousarray(memory[place]), expected)
        memory[place] = -9
        assert (memory == -9).all()


@marked
@in_turn("row", [(), (3,), (16,)])
@in_turn("bad", [N_ROWS, -N_ROWS - 1, 2**40])
def test_an_index_out_of_bounds(bad, row, reduction, include_self):
    for n in (20, 50, 200):
        data, indices, updates = operands(np.dtype("f4"), row, n)
        indices[n - 3] = bad
        out = data.copy()
        for target in (None, out):
            for route in ROUTES:
                words = {"reduction": reduction, "include_self": include_self, "out": target}
                match = rf"indices\[{n - 3}\] = {bad} "
                with kernels.forced(2, scatter=route), pytest.raises(IndexError, match=match):
                    gs.scatter(data, indices, updates, **words)
        assert_same_bits(out, data)


@pytest.mark.parametrize(("n", "rule"), list(zip([20_000, 80_000] * 3, MARKED, strict=True)))
def test_large_results(n, rule):
    """The other routes leave it to these: rows are opened and closed by updates."""
    rng = np.random.default_rng(0)
    reduction, include_self = rule
    data, updates = rng.random(5_000_000, np.float32), rng.standard_normal(n, np.float32)
    indices = rng.choice(rng.integers(0, len(data), n // 3), n)
    options = {"reduction": reduction, "include_self": include_self}
    some, places = np.unique(indices, return_inverse=True)
    expected = data.copy()
    with np.errstate(all="ignore"):
        expected[some] = along(data[some], places, updates, reduction, include_self)
    for route, n_threads in (("direct", 1), ("direct", 3), ("partition", 1), ("partition", 3)):
        with kernels.forced(n_threads, scatter=route):
            assert_same_bits(gs.scatter(data, indices, updates, **options), expected)
            out = data.copy()
            gs.scatter(out, indices, updates, out=out, **options)
        assert_same_bits(out, expected)


class TestWindows:
    """One thread applies all updates to accumulators that take more memory than there is: some rows at a time.

    Each window has its rows once, those at its edges too; the more threads may run, the smaller it is.
    """

    @pytest.mark.parametrize(
        ("reduction", "include_self"), [("add", True), ("add", False), ("mul", True), ("mean", True), ("mean", False)]
    )
    @pytest.mark.parametrize(("row", "n_rows"), [((), 90_000), ((3,), 40_000), ((700,), 300)])
    @pytest.mark.parametrize("n_threads", [64, 192])
    def test_in_place(self, n_threads, row, n_rows, reduction, include_self):
        rng = np.random.default_rng(0)
        indices = np.concatenate([np.arange(n_rows), rng.integers(0, n_rows, n_rows // 2)])
        data, updates = (rng.integers(1, 4, (n, *row)).astype("i2") for n in (n_rows, len(indices)))
        options = {"reduction": reduction, "include_self": include_self}
        expected = gs.scatter(data.astype("i8"), indices, updates.astype("i8"), **options).astype("i2")
        memory = np.full((2 * n_rows, *row), 7, "i2")
        view, swapped, wide = memory[::2], data.astype(">i2"), data.copy()
        view[...] = data
        with kernels.forced(n_threads, scatter="direct"):
            gs.scatter(view, indices, updates, out=view, **options)
            gs.scatter(swapped, indices, updates.astype(">i2"), out=swapped, **options)
            gs.scatter(wide, indices, updates, out=wide, accumulate_dtype="int64", **options)
        for found in (view.copy(), swapped.astype("i2"), wide):
            assert_same_bits(found, expected)
        assert (memory[1::2] == 7).all()

    def test_of_one_thread(self):
        data = np.ones(5_000_000, "u1")
        indices = np.arange(len(data))
        with kernels.forced(1, scatter="direct"):
            gs.scatter(data, indices, 2, out=data, reduction="add", accumulate_dtype="uint64")
        assert (data == 3).all()


def test_long_rows_whose_axes_merge_in_the_result_only():
    """Threads take pieces of such rows."""
    data = np.arange(4 * 5 * 9 * 100, dtype=np.float32).reshape(4, 5, 9, 100)
    updates = np.empty((1, 5, 9, 120), np.float32)[..., :100]
    updates[...] = -1
    out = np.empty((4, 4503 * 10), np.float32)[:, : 5 * 9 * 100].reshape(4, 5, 9, 100)
    expected = data.copy()
    expected[1] += updates[0]
    for n_threads in (1, 8):
        for route in ROUTES:
            with kernels.forced(n_threads, scatter=route):
                assert np.array_equal(gs.scatter(data, [1], updates, reduction="add", out=out), expected)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2"])
@pytest.mark.parametrize("n_threads", [2, 85, 128, 400])
def test_pieces_of_long_rows_of_any_length(n_threads, dtype):
    """On many threads they have a few items, as points have."""
    rng = np.random.default_rng(0)
    for width in (513, 1024, 3000):
        data, indices = rng.integers(0, 9, (8, width)).astype(dtype), rng.integers(0, 8, 150)
        updates = rng.integers(0, 9, (150, width)).astype(dtype)
        expected, out = applied(data, indices, updates, "add"), data.copy()
        with kernels.forced(n_threads, scatter="direct"):
            assert_same_bits(gs.scatter(data, indices, updates, reduction="add"), expected)
            gs.scatter(out, indices, updates, reduction="add", out=out)
        assert_same_bits(out, expected)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("width", [2, 3, 4, 5])
@pytest.mark.parametrize("index_dtype", ["i8", "i4"])
def test_points(small_l2, index_dtype, width, dtype):
    """Into few rows and into more than L2 holds; negative indices, and one out of bounds."""
    for n_rows, n in ((70, 130), (70, 3001), (small_l2 // 4, 7000)):
        data, updates = numbers((n_rows, width), np.dtype(dtype), 0), numbers((n, width), np.dtype(dtype), 1)
        indices = np.random.default_rng(2).integers(0, n_rows, n).astype(index_dtype)
        indices[5:40] -= n_rows
        indices[n // 2 :: 7] -= n_rows
        rules = [("add", True), ("add", False), ("mean", True), ("mean", False)]
        cases = [
            (np.stack([along(a, indices, b, *rule) for a, b in zip(data.T, updates.T, strict=True)], 1), updates, *rule)
            for rule in rules
        ]
        cases.append((applied(data, indices, updates[0], "add"), updates[0], "add", True))
        for n_threads in (1, 2):
            with kernels.forced(n_threads, scatter="direct"):
                for expected, some, reduction, include_self in cases:
                    found = gs.scatter(data, indices, some, reduction=reduction, include_self=include_self)
                    assert_same_numbers(found, expected)
                for place, some in itertools.product((70, n - 2), (True, False)):
                    bad, out = indices.copy(), data.copy()
                    bad[place] = n_rows
                    with pytest.raises(IndexError, match=rf"indices\[{place}\]"):
                        gs.scatter(out, bad, updates, reduction="add", out=out if some else None)
                    assert_same_bits(out, data)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "u1", "?"])
@pytest.mark.parametrize("index_dtype", ["i8", "i4"])
def test_pairs(index_dtype, dtype):
    """Side by side and in two arrays; negative indices, and one out of bounds in each place."""
    shape = (7, 300)
    for n in (130, 3001):
        data, updates = numbers(shape, np.dtype(dtype), 0), numbers((n,), np.dtype(dtype), 1)
        pairs = np.random.default_rng(2).integers(0, shape, (n, 2)).astype(index_dtype)
        pairs[5:40] -= np.array(shape, index_dtype)
        pairs[n // 2 :: 7, 1] -= shape[1]
        cases = [(some, reference.scatter_nd(data, pairs, some, reduction="add")) for some in (updates, updates[0])]
        for n_threads, (some, expected) in itertools.product((1, 2), cases):
            with kernels.forced(n_threads, scatter="direct"):
                assert_same_numbers(gs.scatter_nd(data, pairs, some, reduction="add"), expected)
                assert_same_numbers(gs.at(data)[tuple(pairs.T.copy())].add(some), expected)
                assert_same_numbers(gs.at(data)[pairs[:, 0], pairs[:, 1]].add(some), expected)
        for component, place in itertools.product(
            (0, 1), (70, n - 2)
        ):  # among four that are checked together, and alone
            bad = pairs.copy()
            bad[place, component] = shape[component]
            out = data.copy()
            for some in (out, None):
                with kernels.forced(1, scatter="direct"), pytest.raises(IndexError, match=rf"indices\[{place}\]"):
                    gs.scatter_nd(out, bad, updates, reduction="add", out=some)
            assert_same_bits(out, data)
