"""Each route at its edges: teams, tiles, blocks, rounds and ranges that are empty, whole, or end in an odd place."""

import contextlib
import itertools
import threading
import time
import tracemalloc

import gatherscatter as gs
import ml_dtypes
import numpy as np
import pytest
from assertions import assert_same_bits, assert_same_numbers
from constants import DTYPES, REDUCTIONS, reduces
from gatherscatter import reference
from gatherscatter.backends import kernels
from pairwise import in_turn, pairwise
from routes import ROUTES, draw, every_route, ran, routes_for
from scatters import along
from strategies import numpy_dtype

every_rule = pytest.mark.parametrize(
    ("reduction", "include_self"), [(each, include_self) for each in REDUCTIONS for include_self in (True, False)]
)


@pytest.fixture(params=[(1, 3), pytest.param((2, 64), marks=pytest.mark.slow)], ids=["some", "others"])
def teams(request):
    """More threads than rows, blocks or updates too; some of each by default, where operands take longer than calls."""
    return request.param


@contextlib.contextmanager
def on(route, n_threads):
    with kernels.forced(n_threads, scatter=route), np.errstate(all="ignore"):
        yield


def assert_alike(function, arrays, options, expected, teams):
    """A new result, and in place, on each route that can run it."""
    for route, n_threads in routes_for(options["reduction"], arrays[0].dtype, teams):
        with on(route, n_threads):
            assert_same_numbers(function(*arrays, **options), expected)
            out = arrays[0].copy()
            assert function(out, *arrays[1:], out=out, **options) is out
        assert_same_numbers(out, expected)


def orders(n_rows, n):
    """Indices by name: in the order of the rows, near it, in any order, …"""
    rng = np.random.default_rng(0)
    ordered = np.sort(rng.integers(0, n_rows, n))
    return {
        "sorted": ordered,
        "descending": ordered[::-1] - n_rows,
        "near": (ordered + rng.integers(-5, 5, n)) % n_rows,
        "twice": np.concatenate([ordered[::2], ordered[1::2]]),
        "random": rng.permutation(ordered) - n_rows * rng.integers(0, 2, n),
        "one": np.full(n, n_rows // 2),
        "mostly one": np.where(rng.random(n) < 0.9, 7, ordered),
        "crowded": np.sort(rng.integers(0, n_rows, n) ** 3 // n_rows**2),
    }


class TestOrders:
    """Blocks of neighbours are of 2048 tuples: three of them, the last one shorter."""

    @pytest.mark.parametrize("order", orders(9, 2))
    @pytest.mark.parametrize(
        ("dtype", "row"), [("f4", ()), ("u1", ()), ("F", ()), ("f8", (3,)), ("i8", (4,)), ("f2", (17,))]
    )
    def test_bits(self, dtype, row, order, teams):
        n_rows, n = 701, 5000
        indices = orders(n_rows, n)[order]
        data, updates = draw((n_rows, *row), dtype, 1), draw((n, *row), dtype, 2)
        rules = [("none", True), ("add", True), ("add", False), ("mul", False), ("max", True), ("mean", False)]
        for reduction, include_self in rules:
            if reduces(reduction, np.dtype(dtype).name):
                options = {"reduction": reduction, "include_self": include_self}
                with on("direct", 1):
                    expected = gs.scatter_nd(data, np.stack([indices], axis=-1), updates, **options)
                assert_alike(gs.scatter, (data, indices, updates), options, expected, teams)

    @pytest.mark.parametrize("include_self", [True, False])
    @in_turn("reduction", ["none", "add", "max", "mean"])
    @pytest.mark.parametrize("row", [(), (3,)])
    def test_dropped_updates(self, row, reduction, include_self, teams):
        """Some blocks are dropped as a whole."""
        rng = np.random.default_rng(0)
        indices = np.sort(rng.integers(-2000, 900, 9000))
        rng.shuffle(indices[5000:6000])
        data, updates = draw((701, *row), "f4", 1), draw((9000, *row), "f4", 2)
        options = {"reduction": reduction, "include_self": include_self}
        kept = (indices >= 0) & (indices < 701)
        with on("direct", 1):
            expected = gs.scatter(data, indices[kept], updates[kept], **options)
        options |= {"mode": "drop", "wrap_negative_indices": False}
        assert_alike(gs.scatter, (data, indices, updates), options, expected, teams)
        nothing = np.full(9000, 701)
        assert_alike(gs.scatter, (data, nothing, updates), options, data, teams)

    def test_successive_tuples_that_share_an_update(self):
        indices = np.sort(np.random.default_rng(0).integers(0, 701, 9000)).reshape(-1, 3)
        data, updates = draw((701, 3), "f4", 1), draw((3000, 1, 3), "f4", 2)
        with on("direct", 1):
            expected = gs.scatter(data, indices.ravel(), np.repeat(updates[:, 0], 3, axis=0), reduction="add")
        assert_alike(gs.scatter, (data, indices, updates), {"reduction": "add"}, expected, (1, 2, 3, 8))

    @pytest.mark.parametrize("row", [(), (5,), (40,), (1500,)])
    @pytest.mark.parametrize("n_rows", [1, 2, 5, 17])
    def test_fewer_rows_than_threads(self, n_rows, row):
        for n in (1, 2, 60):
            indices = np.random.default_rng(n).integers(-n_rows, n_rows, n)
            data, updates = draw((n_rows, *row), "f8", 1), draw((n, *row), "f8", 2)
            for reduction, include_self in (("add", True), ("max", False), ("mean", True)):
                options = {"reduction": reduction, "include_self": include_self}
                with on("direct", 1):
                    expected = gs.scatter(data, indices, updates, **options)
                teams = (2, 8, 192) if (n_rows, row, n) == (5, (), 60) else (3, 8)
                assert_alike(gs.scatter, (data, indices, updates), options, expected, teams)


class TestLayouts:
    @pytest.mark.parametrize("reduction", ["none", "add", "mean"])
    def test_operands(self, reduction, teams):
        """Pairs of indices, several axes of tuples, strided updates, one update for all, data that are one element."""
        where = np.sort(np.random.default_rng(0).integers(0, 700, (60, 70)).ravel()).reshape(60, 70)
        pairs = np.stack([where // 20, where % 20], axis=-1).astype("i4")
        updates = draw((70, 60), "f4").T
        for data in (draw((35, 20), "f4"), np.broadcast_to(np.float32(2), (35, 20)), draw((20, 35), "f4").T):
            for given in (updates, np.broadcast_to(np.float32(3), (60, 70))):
                expected = along(data.ravel(), where.ravel(), given.ravel(), reduction).reshape(data.shape)
                assert_alike(gs.scatter_nd, (data, pairs, given), {"reduction": reduction}, expected, teams)

    @pytest.mark.parametrize("reduction", ["none", "add", "max"])
    def test_columns_as_updates(self, reduction):
        rng = np.random.default_rng(0)
        indices = rng.integers(-99, 99, 3000)
        updates, data = draw((2, 32, 3000), "f4")[1].T, draw((61, 32), "f4", 1)
        kept = (indices >= 0) & (indices < 61)
        with on("direct", 1):
            expected = gs.scatter(data, indices[kept], updates[kept].copy(), reduction=reduction)
        options = {"reduction": reduction, "mode": "drop", "wrap_negative_indices": False}
        assert_alike(gs.scatter, (data, indices, updates), options, expected, (3,))

    @pytest.mark.parametrize("step", [-1, 2, -3])
    def test_results_of_any_stride(self, step):
        rng = np.random.default_rng(0)
        for row in ((), (3,), (20,)):
            data, updates = draw((2700, *row), "f4", 1), draw((5000, *row), "f4", 2)
            indices = rng.integers(0, len(data[::step]), 5000)
            expected = data.copy()
            with on("direct", 1):
                expected[::step] = gs.scatter(data[::step].copy(), indices, updates, reduction="add")
            for route, n_threads in routes_for("add", "f4", (1, 3)):
                out = data.copy()
                with on(route, n_threads):
                    gs.scatter(out[::step], indices, updates, reduction="add", out=out[::step])
                assert_same_numbers(out, expected)

    @pytest.mark.parametrize("mode", ["drop", "clip", "wrap"])
    def test_modes(self, mode):
        data, indices = draw((20, 5), "f8", 1), np.random.default_rng(0).integers(-50, 50, 600)
        updates = draw((600, 5), "f8", 2)
        for reduction in ("none", "add", "max", "mean"):
            options = {"reduction": reduction, "mode": mode}
            expected = reference.scatter(data, indices, updates, **options)
            assert_alike(gs.scatter, (data, indices, updates), options, expected, (1, 3))

    def test_rows_along_a_later_axis_and_of_a_batch(self):
        data, updates = draw((3, 20, 5), "f8", 1), draw((3, 600, 5), "f8", 2)
        indices = np.random.default_rng(0).integers(0, 20, (3, 600))
        for reduction, include_self in (("none", True), ("min", True), ("add", False), ("mean", True)):
            options = {"axis": 1, "reduction": reduction, "include_self": include_self}
            for given, more in ((indices[0], {}), (indices, {"batch_dims": 1})):
                expected = reference.scatter(data, given, updates, **options, **more)
                assert_alike(gs.scatter, (data, given, updates), options | more, expected, (1, 2, 3, 8))


class TestErrors:
    @every_route
    @in_turn("place", [0, 127, 128, 2047, 2048, 4321, 8999])
    def test_a_bad_index_changes_nothing(self, place, route):
        indices = np.arange(9000) * 701 // 9000
        rules = {"reduction": "add"}, {"reduction": "mean"}, {"reduction": "max", "include_self": False}
        targets = "data", "out", None
        for value, row, options, n_threads, target in pairwise(
            (701, -702, 2**40), ((), (3,), (16,)), rules, (1, 3), targets
        ):
            indices[place] = value
            data, updates = np.full((701, *row), 7.0), np.ones((9000, *row))
            arrays = {"data": data, "out": np.full_like(data, 7), None: None}
            with on(route, n_threads), pytest.raises(IndexError, match=rf"indices\[{place}\] = {value} "):
                gs.scatter(data, indices, updates, out=arrays[target], **options)
            assert (data == 7).all()
            assert (arrays["out"] == 7).all()

    @every_route
    @in_turn("n_threads", [1, 2, 3, 8, 192])
    def test_the_first_of_several_bad_indices_is_named(self, route, n_threads):
        indices = np.zeros(5000, int)
        indices[[777, 778, 2048, 4999]] = 9, 10, 11, 2**62
        with on(route, n_threads), pytest.raises(IndexError, match=r"indices\[777\] = 9 "):
            gs.scatter(np.zeros(5), indices, np.ones(5000), reduction="max")

    @every_route
    @pytest.mark.parametrize("n_threads", [1, 3])
    @pytest.mark.parametrize(
        ("shape", "index_shape", "axis"),
        [((3, 10), (3, 8), 1), ((2, 4, 13), (2, 4, 8), 2), ((13,), (8,), 0), ((13, 8), (9, 8), 0), ((2,), (2,), 0)],
    )
    def test_a_bad_index_of_a_small_call_changes_nothing(self, shape, index_shape, axis, n_threads, route):
        data, updates = draw(shape, "f4", 1), draw(index_shape, "f4", 2)
        for place in range(updates.size):
            indices = np.zeros(index_shape, int)
            indices.flat[place] = 100
            for reduction, include_self in (("none", True), ("add", True), ("add", False), ("mean", True)):
                out = data.copy()
                options = {"axis": axis, "reduction": reduction, "include_self": include_self, "out": out}
                with on(route, n_threads), pytest.raises(IndexError, match="= 100 is out of bounds"):
                    gs.scatter_elements(out, indices, updates, **options)
                assert_same_bits(out, data)

    @in_turn("dtype", DTYPES)
    @pytest.mark.parametrize("reduction", REDUCTIONS)
    def test_routes_that_are_forced_run_what_they_can(self, reduction, dtype):
        """The tests leave out those that leave it to another."""
        if not reduces(reduction, dtype):
            return
        indices = np.sort(np.random.default_rng(0).integers(0, 701, 9000))
        data, updates = np.ones(701, numpy_dtype(dtype)), np.ones(9000, numpy_dtype(dtype))
        for route, n_threads in itertools.product(ROUTES, (1, 3)):
            with on(route, n_threads):
                gs.scatter(data, indices, updates, reduction=reduction)
            assert (ran() == route) == ((route, n_threads) in routes_for(reduction, data.dtype, (1, 3)))


class TestColumns:
    """scatter_elements along an axis with a long stride."""

    def operands(self, shape, index_shape, dtype="f4", axis=0):
        rng = np.random.default_rng(0)
        data, updates = (rng.integers(-99, 99, s).astype(dtype) for s in (shape, index_shape))
        return data, rng.integers(-shape[axis], shape[axis], index_shape), updates

    def check(self, arrays, options, teams=(1, 3)):
        expected = reference.scatter_elements(*arrays, **options)
        assert_alike(gs.scatter_elements, arrays, options, expected, teams)

    @pytest.mark.parametrize("dtype", ["i1", "f2", ml_dtypes.bfloat16, "i4", "f4", "f8", "D"], ids=str)
    @pytest.mark.parametrize("index_dtype", ["i1", "i8"])
    def test_every_width(self, dtype, index_dtype):
        data, indices, updates = self.operands((9, 2, 50), (14, 2, 50), dtype)
        for reduction in ("none", "add"):
            self.check((data, indices.astype(index_dtype), updates), {"reduction": reduction})

    @pytest.mark.parametrize("columns", [1, 63, 64, 65, 129])
    def test_lengths(self, columns):
        self.check(self.operands((5, columns), (8, columns)), {"reduction": "add"}, (1, 3, 192))

    @pytest.mark.parametrize("include_self", [True, False])
    def test_columns_without_updates_are_data_s(self, include_self):
        arrays = self.operands((7, 4, 50), (5, 3, 40))
        for reduction in ("none", "add", "mean"):
            self.check(arrays, {"reduction": reduction, "include_self": include_self})

    @pytest.mark.parametrize("axis", [1, 2])
    def test_units_without_updates_are_data_s(self, axis):
        shape = [9, 8, 6]
        shape[axis] = 20
        arrays = self.operands((10, 20, 8) if axis == 1 else (10, 9, 20), shape, axis=axis)
        for reduction, include_self in (("none", True), ("add", False), ("max", False), ("mean", True)):
            options = {"axis": axis, "reduction": reduction, "include_self": include_self}
            self.check(arrays, options)

    def test_operands_of_any_stride(self):
        data, indices, updates = self.operands((6, 90), (9, 90))
        options, one = {"reduction": "add"}, np.broadcast_to(np.float32(2), indices.shape)
        self.check((data[:, ::-1], indices[::-1, ::-1], updates[::-1]), options)
        self.check((data, indices, one), options)
        expected = reference.scatter_elements(data, indices, updates, reduction="add")
        for route, n_threads in routes_for("add", "f4", (1, 3)):
            wide = np.zeros((12, 130), "f4")
            out = wide[::2, 20:110]
            out[...] = data
            with on(route, n_threads):
                gs.scatter_elements(out, indices, updates, out=out, reduction="add")
            assert_same_bits(out, expected)
            assert not wide[1::2].any()
            assert not wide[:, :20].any()

    @pytest.mark.parametrize("n_negative", [1, 17, 60])
    @pytest.mark.parametrize("index_dtype", ["i4", "i8"])
    def test_rows_with_negative_indices(self, index_dtype, n_negative):
        rng = np.random.default_rng(0)
        data, indices, updates = self.operands((50, 70), (100, 70), "f8")
        indices %= 50
        for row in rng.permutation(100)[:n_negative]:
            indices[row, rng.integers(70)] -= 50
        for reduction, include_self in (("none", True), ("add", True), ("max", False), ("mean", False)):
            options = {"reduction": reduction, "include_self": include_self}
            self.check((data, indices.astype(index_dtype), updates), options, (1,))

    @every_route
    @in_turn("place", [(0, 0), (0, 63), (150, 64), (299, 129)])
    @in_turn("value", [50, -51, 2**31 - 1])
    def test_an_index_out_of_bounds(self, value, place, route):
        data, indices, updates = self.operands((50, 130), (300, 130))
        indices %= 50
        indices[place] = value
        before = data.copy()
        position = ", ".join(map(str, place))
        for options in ({"reduction": "add"}, {"reduction": "mean"}, {"reduction": "max", "include_self": False}):
            for out in (None, data):
                with on(route, 2), pytest.raises(IndexError, match=rf"indices\[{position}\] = {value} "):
                    gs.scatter_elements(data, indices, updates, out=out, **options)
            assert_same_bits(data, before)

    @every_route
    def test_an_empty_axis(self, route):
        data, indices, updates = np.zeros((3, 0), "u1"), np.zeros((2, 2), "i4"), np.zeros((2, 2), "u1")
        with on(route, 2):
            assert gs.scatter_elements(data, indices, updates, axis=1, mode="drop").shape == (3, 0)
            with pytest.raises(IndexError, match="axis 1 has size 0"):
                gs.scatter_elements(data, indices, updates, axis=1)

    @every_route
    def test_many_threads_take_a_bounded_memory(self, route):
        data, indices = np.zeros((8192, 64 * 192), "u1"), np.zeros((1, 64 * 192), "i1")
        updates = np.broadcast_to(np.uint8(1), indices.shape)
        tracemalloc.start()
        try:
            with on(route, 192):
                gs.scatter_elements(data, indices, updates, reduction="add", out=data)
            assert tracemalloc.get_traced_memory()[1] < 1 << 26
        finally:
            tracemalloc.stop()
        assert data[0].min() == 1

    @every_route
    def test_an_index_that_another_thread_changes(self, route):
        """It is in bounds again when its position is searched."""
        data, indices = np.ones((64, 6400), "f4"), np.zeros((64, 6400), np.int64)
        updates, stop = np.zeros(indices.shape, "f4"), threading.Event()

        def change():
            while not stop.wait(0.0003):
                indices[60, 3000] = 0 if indices[60, 3000] else 10**9

        thread = threading.Thread(target=change)
        thread.start()
        try:
            end = time.monotonic() + 0.15
            while time.monotonic() < end:
                with contextlib.suppress(IndexError, RuntimeError), on(route, 2):
                    result = gs.scatter_elements(data, indices, updates, reduction="add")
                    assert result.min() == result.max() == 1
                    result[...] = 7  # for who gets its memory
        finally:
            stop.set()
            thread.join()


@every_rule
@pytest.mark.parametrize("dtype", ["f4", "i2", "D"])
def test_rows_of_a_source(monkeypatch, dtype, reduction, include_self, teams):
    """gather_scatter in one pass, where the route can."""
    if not reduces(reduction, np.dtype(dtype).name):
        return
    monkeypatch.setattr(kernels, "ONE_PASS_BYTES", 0)
    options = {"reduction": reduction, "include_self": include_self}
    for width, repeats, n in pairwise((4, 16, 24), (True, False), (40, 1500)):  # 8 to 384 bytes
        source, data = draw((37, width), dtype, 2), draw((61, width), dtype, 1)
        data = np.broadcast_to(data[:1], data.shape) if repeats else data
        rng = np.random.default_rng(n)
        indices, rows = rng.integers(-61, 61, n), rng.integers(-37, 37, n)
        indices[indices % 61 == 5] = 6
        with on("direct", 1):
            expected = gs.scatter(data.copy(), indices, source[rows], **options)
        for route, n_threads in routes_for(reduction, dtype, teams):
            with on(route, n_threads):
                assert_same_numbers(gs.gather_scatter(data, indices, source, rows, **options), expected)
                out = np.empty_like(expected)
                gs.gather_scatter(data, indices, source, rows, out=out, **options)
            assert_same_numbers(out, expected)


class TestTiles:
    @in_turn("route", ROUTES)
    @in_turn(
        ("reduction", "options"),
        [
            ("none", {}),
            ("add", {}),
            ("mean", {}),
            *((name, {"accumulate_dtype": "float64"}) for name in ("add", "mean")),
        ],
    )
    @pytest.mark.parametrize("shape", [(100,), (100, 3), (400_000,), (150_000, 3)])
    def test_no_updates(self, shape, reduction, options, route):
        data = np.ones(shape, "f4")
        for n_threads in (0, 1, 3):
            for out in (None, np.zeros(shape, "f4"), data):
                with on(route, n_threads):
                    found = gs.scatter(
                        data, np.empty(0, int), np.empty((0, *shape[1:]), "f4"), reduction=reduction, out=out, **options
                    )
                assert (found == 1).all()

    @pytest.mark.parametrize("include_self", [True, False])
    @pytest.mark.parametrize("reduction", ["none", "add", "mean"])
    def test_tuples_that_can_name_the_first_rows_only(self, reduction, include_self):
        """The tiles after them are data's."""
        data, updates = draw((40, 640), "f4", 1), draw((2, 300), "f4", 2)
        indices = np.random.default_rng(0).integers(0, 640, updates.shape)
        options = {"axis": 1, "reduction": reduction, "include_self": include_self}
        expected = reference.scatter_elements(data, indices, updates, **options)
        assert_alike(gs.scatter_elements, (data, indices, updates), options, expected, (1, 2, 192))

    @every_route
    @pytest.mark.parametrize("dtype", ["u1", "f8", "D"])
    def test_every_number_of_updates(self, dtype, route):
        """Up to some blocks of 128, and around them."""
        for n in (*range(1, 70), 127, 128, 129, 255, 256, 257, 2047, 2048, 2049):
            updates = (np.arange(1, n + 1) % 100).astype(dtype)
            with on(route, 2):
                result = gs.scatter(np.zeros(64, dtype), np.full(n, 7), updates)
                assert result[7] == updates[-1]
                assert np.count_nonzero(result) <= 1
                result = gs.scatter(np.zeros(64, dtype), np.full(n, 7), updates, reduction="add")
            assert result[7] == updates.sum(dtype=dtype)

    @pytest.mark.parametrize("dtype", ["f4", "f8"])
    def test_many_updates(self, dtype, teams):
        n = 300_000
        rng = np.random.default_rng(0)
        data, updates = rng.standard_normal(20_000).astype(dtype), rng.standard_normal(n).astype(dtype)
        for indices in (rng.integers(0, 20_000, n), np.full(n, 4321)):
            expected = data.copy()
            np.add.at(expected, indices, updates)  # one after the other
            assert_alike(gs.scatter, (data, indices, updates), {"reduction": "add"}, expected, teams)

    @pytest.mark.parametrize("reduction", ["none", "add", "max"])
    def test_large_results_in_place(self, reduction):
        """Of strided ones, nothing between their elements is written."""
        rng = np.random.default_rng(0)
        n_rows, n = 1 << 22, 1 << 19  # 16 MiB of float32, from which results are written with non-temporal stores
        indices, updates = rng.integers(0, n_rows, n), rng.standard_normal(n).astype("f4")
        for step in (1, 2):
            memory = rng.random(n_rows * step, np.float32)
            between, before = memory.reshape(-1, step)[:, 1:].copy(), memory[::step].copy()
            data = memory[::step]
            with on("direct", 1):
                expected = gs.scatter(before, indices, updates, reduction=reduction)
            for route in ("direct", "partition", "blocks"):
                data[...] = before
                with on(route, 2):
                    gs.scatter(data, indices, updates, reduction=reduction, out=data)
                assert_same_bits(data.copy(), expected)
            assert_same_bits(memory.reshape(-1, step)[:, 1:].copy(), between)


class TestRowsInPlace:
    """Rows that have many updates: only rows with updates are written."""

    @pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "mean"])
    @pytest.mark.parametrize("include_self", [True, False])
    def test_bits(self, reduction, include_self):
        rng = np.random.default_rng(1)
        data, updates = rng.standard_normal((70, 40)), rng.standard_normal((900, 40))
        indices = rng.integers(0, 60, 900)
        indices[7] = -100
        options = {"reduction": reduction, "include_self": include_self, "mode": "drop"}
        with kernels.forced(1, scatter="direct"):
            expected = gs.scatter(data, indices, updates, **options)
        for route, n_threads in routes_for(reduction, "f8", (1, 3, 8)):
            out = data.copy()
            with kernels.forced(n_threads, scatter=route):
                assert gs.scatter(out, indices, updates, out=out, **options) is out
            assert_same_bits(out, expected)

    @pytest.mark.parametrize("reduction", ["none", "add", "mean"])
    def test_more_updates_than_a_round_takes(self, reduction):
        """Nothing is written if the last index is bad."""
        n = (31 << 20) // 4 + 100
        data, indices = np.ones((20, 8)), np.arange(n, dtype=np.int32) % 19
        updates = np.broadcast_to(np.arange(8.0), (n, 8))
        options = {"reduction": reduction, "out": data}
        indices[-1] = 20
        with kernels.forced(2, scatter="partition"):
            with pytest.raises(IndexError):
                gs.scatter(data, indices, updates, **options)
            assert (data == 1).all()
            indices[-1] = 0
            gs.scatter(data, indices, updates, **options)
        counts = np.bincount(indices, minlength=20)[:, None]
        total = 1 + counts * np.arange(8.0)
        expected = {"add": total, "mean": total / (counts + 1), "none": np.where(counts, np.arange(8.0), 1.0)}
        assert_same_bits(data, expected[reduction])
