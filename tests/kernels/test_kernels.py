"""The compiled modules' own interface: routes, the rule for negative indices, registered reductions."""

import os
import subprocess
import sys

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits
from gatherscatter import reference
from gatherscatter._kernels import common, gather, scatter
from gatherscatter._kernels.common import GatherRoute, Kind, Mode, ReductionCode, ScatterRoute, Status, TypeCode
from gatherscatter.backends import kernels
from pairwise import in_turn

OK = Status.OK


@pytest.fixture
def force():
    def both(route, n_threads):
        (gather if isinstance(route, GatherRoute) else scatter).force(route)
        common.force(n_threads)

    yield both
    gather.force(GatherRoute.AUTO)
    scatter.force(ScatterRoute.AUTO)
    common.force(0)


def run_scatter(kind, data, indices, updates, *, axis=0, mode=Mode.RAISE, wrap=True, code=ReductionCode.ASSIGN, **rest):
    out = np.empty_like(data)
    type_code = TypeCode[data.dtype.name.upper()] if code else TypeCode.NONE
    include_self, n_threads = rest.get("include_self", True), rest.get("n_threads", 1)
    status = scatter.scatter(
        kind, data, indices, updates, out, axis, 0, mode, wrap, code, type_code, TypeCode.NONE, include_self, False,
        n_threads,
    )  # fmt: skip
    return status, out


def test_codes_are_those_of_the_stub():
    assert [code.name for code in common.ReductionCode][:5] == ["ASSIGN", "ADD", "MUL", "MAX", "MIN"]
    assert TypeCode(0) is TypeCode.NONE
    assert [mode.name for mode in Mode] == ["RAISE", "CLIP", "WRAP", "SKIP"]
    assert (Status.OK, Status.INDEX_DTYPE, Status.REFERENCES, Status.NO_MEMORY) == (-1, -2, -3, -4)


class TestRoutes:
    @pytest.mark.parametrize("n_threads", [1, 2, 3, 8])
    @pytest.mark.parametrize("route", [GatherRoute.DIRECT, GatherRoute.RUNS, GatherRoute.COLUMNS])
    def test_every_gather_runs_what_is_forced(self, force, route, n_threads):
        rng = np.random.default_rng(0)
        data = rng.random((30, 70), np.float32)
        axis = 0 if route is GatherRoute.COLUMNS else 1
        indices = rng.integers(-30, 30, (30, 70))
        out = np.empty_like(data)
        force(route, n_threads)
        assert gather.gather(Kind.ELEMENTS, data, indices, out, axis, 0, Mode.RAISE, True, None, False, 1) == OK
        assert gather.last_route()[0] == route
        assert_same_bits(out, np.take_along_axis(data, indices, axis))
        indices[21, 33] = 99
        status = gather.gather(Kind.ELEMENTS, data, indices, out, axis, 0, Mode.RAISE, True, None, False, 1)
        assert status == 21 * 70 + 33
        assert gather.last_route()[0] == GatherRoute.DIRECT  # which finds the position

    @pytest.mark.parametrize(
        ("route", "n_threads", "code"),
        [
            (route, n_threads, code)
            for route in list(ScatterRoute)[1:]
            for n_threads in (1, 2, 3, 8, 192)
            for code in (ReductionCode.ASSIGN, ReductionCode.ADD)
            if n_threads > 1 or route not in (ScatterRoute.BLOCKS, ScatterRoute.PRIVATE)  # of several threads
        ],
    )
    def test_every_scatter_runs_what_is_forced(self, force, route, n_threads, code):
        rng = np.random.default_rng(0)
        data = rng.integers(0, 99, 501, np.int64)
        indices, updates = rng.integers(0, 501, 9000), rng.integers(0, 99, 9000, np.int64)
        expected = data.copy()
        for i, update in zip(indices, updates, strict=True):
            expected[i] = update if code == ReductionCode.ASSIGN else expected[i] + update
        force(route, n_threads)
        status, out = run_scatter(Kind.AXIS, data, indices, updates, code=code, n_threads=n_threads)
        assert (status, scatter.last_route()) == (OK, (route, n_threads))
        assert_same_bits(out, expected)

    def test_one_that_cannot_do_the_work_leaves_it_to_the_choice(self, force):
        data, indices = np.arange(6.0), np.array([[1], [4]])
        force(ScatterRoute.PRIVATE, 2)
        assert run_scatter(Kind.ND, data, indices, np.ones(2), code=ReductionCode.ADD)[0] == OK
        assert scatter.last_route()[0] != ScatterRoute.PRIVATE
        force(GatherRoute.COLUMNS, 2)
        assert gather.gather(Kind.ND, data, indices, np.empty(2), 0, 0, Mode.RAISE, True, None, False, 1) == OK
        assert gather.last_route()[0] == GatherRoute.DIRECT


N = 5
# Where an index leads along an axis of 5: (index, wrap_negative) → by mode.
RESOLVED = {
    "clip": lambda i, wrap: min(max(i + N * (wrap and i < 0), 0), N - 1),
    "wrap": lambda i, wrap: i % N,
    "skip": lambda i, wrap: i + N * (wrap and i < 0) if (-N if wrap else 0) <= i < N else -1,
}


class TestNegativeIndices:
    @pytest.mark.parametrize("wrap", [True, False])
    @pytest.mark.parametrize("mode", ["clip", "wrap", "skip"])
    @in_turn("dtype", ["i1", "i2", "i4", "i8", ">i4", "u1", "u8"])
    def test_modes(self, dtype, mode, wrap):
        values = [N - 1, N, 0, 1, 2 * N + 1, 100] + ([-1, -N, -N - 1, -2 * N - 1, -100] if "u" not in dtype else [])
        indices, rows = np.array(values, dtype)[:, None], np.empty(len(values), np.int64)
        row_ids = np.lib.stride_tricks.as_strided(np.zeros(1, np.uint8), (N,), (1,))
        assert gather.resolve(Kind.ND, row_ids, indices, 0, 0, Mode[mode.upper()], wrap, 0, rows, 1) == OK
        expected = [RESOLVED[mode](i, wrap) for i in values]
        assert rows.tolist() == expected

    @in_turn("n", [1, 64, 100, 300])
    @in_turn("k", [1, 2, 3])
    @pytest.mark.parametrize("dtype", ["i1", "i4", "i8"])
    @pytest.mark.parametrize("route", [GatherRoute.AUTO, GatherRoute.DIRECT, GatherRoute.RUNS])
    def test_raise(self, force, route, dtype, k, n):
        force(route, 2)
        data = np.arange(4**k, dtype=np.float32).reshape((4,) * k)
        indices = np.zeros((n, k), dtype)
        for component in range(k):
            for value, fine in [(3, True), (4, False), (-1, True), (-4, True), (-5, False)]:
                indices[n - 1, component] = value
                for wrap in (True, False):
                    out = np.empty(n, np.float32)
                    good = fine and (wrap or value >= 0)
                    status = gather.gather(Kind.ND, data, indices, out, 0, 0, Mode.RAISE, wrap, None, False, 0)
                    assert status == (OK if good else (n - 1) * k + component)
                    if good:
                        assert_same_bits(out, data[tuple(indices.T)])
                    found = gather.try_gather(Kind.ND, wrap, data, indices, 0, 0, "raise", 0, None, 0)
                    assert (found is not None) == good
            indices[n - 1] = 0

    @in_turn("value", [0, 3, 4, -1, -4, -5])
    @pytest.mark.parametrize("wrap", [True, False])
    @pytest.mark.parametrize("route", list(ScatterRoute))
    def test_scatters(self, force, route, wrap, value):
        force(route, 2)
        data, indices = np.arange(4), np.array([1, value, 1])
        updates = np.array([10, 20, 40])
        status, out = run_scatter(Kind.AXIS, data, indices, updates, wrap=wrap, code=ReductionCode.ADD)
        good = 0 <= value < 4 or (wrap and -4 <= value < 0)
        assert status == (OK if good else 1)
        if good:
            expected = data.copy()
            np.add.at(expected, indices, updates)
            assert_same_bits(out, expected)

    def test_columns(self, force):
        force(GatherRoute.COLUMNS, 1)
        data, indices = np.arange(40.0).reshape(4, 10), np.zeros((4, 10), int)
        for value, wrap, good in [(-1, True, True), (-1, False, False), (3, False, True), (-4, True, True)]:
            indices[2, 7] = value
            out = np.empty((4, 10))
            status = gather.gather(Kind.ELEMENTS, data, indices, out, 0, 0, Mode.RAISE, wrap, None, False, 0)
            assert status == (OK if good else 27)
            assert (gather.last_route()[0] == GatherRoute.COLUMNS) == good
            if good:
                assert_same_bits(out, np.take_along_axis(data, indices, 0))


class TestReductions:
    @pytest.mark.parametrize("n_threads", [1, 3])
    @in_turn(
        ("dtype", "code"),
        [
            (dtype, code)
            for dtype in ("?", "i1", "u2", "f2", "f4", "f8", "c8", "c16", ">f8", ">c8")
            for code in list(ReductionCode)[1 : 3 if "c" in dtype else 5]
        ],
    )
    def test_include_self_false_replaces_what_is_named(self, force, code, dtype, n_threads):
        dtype = np.dtype(dtype)
        force(ScatterRoute.AUTO, n_threads)
        data = np.array([7, 7, 7, 7]).astype(dtype)
        updates = np.array([3, 5, 1]).astype(dtype)
        step = {ReductionCode.ADD: np.add, ReductionCode.MUL: np.multiply}.get(
            code, np.maximum if code == ReductionCode.MAX else np.minimum
        )
        indices = np.array([2, 2, 0])
        status, out = run_scatter(Kind.AXIS, data, indices, updates, code=code, include_self=False)
        assert status == OK
        assert_same_bits(out, np.array([updates[2], data[1], step(updates[0], updates[1]), data[3]], dtype))

    def test_a_bad_index_is_reported_with_include_self_false_too(self):
        call = Kind.AXIS, np.zeros(3), np.array([1, 3]), np.ones(2)
        assert run_scatter(*call, code=ReductionCode.ADD, include_self=False)[0] == 1

    def test_only_registered_names_and_types_take_the_short_way(self):
        data, indices, updates = np.zeros(3), np.array([1]), np.ones(1)

        def call(data=data, updates=updates, reduction="add", mode="raise", include_self=True, out=None):
            return scatter.try_scatter(1, True, data, indices, updates, 0, 0, reduction, mode, include_self, out, 1)

        assert call().tolist() == [0, 1, 0]
        for refused in ("xor", None, ["add"], np.str_("add"), 1):
            assert call(reduction=refused) is None
        assert call(mode="clip").tolist() == [0, 1, 0]
        for refused in ("fill", "Raise", None, np.str_("raise"), np.array(["raise", "clip"])):
            assert call(mode=refused) is None
        assert call(include_self=1) is None
        assert call(data=data.view(np.recarray)) is None
        assert call(data=data + 0j, updates=updates + 0j, reduction="max") is None
        assert call(data=data.astype("M8[s]"), updates=updates.astype("M8[s]")) is None
        assert call(data=data.astype("M8[s]"), updates=updates.astype("M8[s]"), reduction="none") is not None

    def test_what_cannot_be_registered(self):
        with pytest.raises(ValueError, match="code is 0 to 31, not 32"):
            scatter.register("xor", 32, 1, 0, 0, False, {})
        with pytest.raises(ValueError, match="no identity of type code 32"):
            scatter.register("xor", 30, 1, 0, 0, False, {32: b"0"})
        with pytest.raises(ValueError, match="no identity of type code 1"):
            scatter.register("xor", 30, 1, 0, 0, False, {1: b""})


NAMED = {
    "elements": (gs.scatter, (50,), (400,), 0),
    "points": (gs.scatter, (50, 3), (40,), 0),
    "rows": (gs.scatter, (50, 32), (40,), 0),
    "units": (gs.scatter_elements, (64, 50), (64, 50), 1),
}


@in_turn("name", NAMED)
@pytest.mark.parametrize("route", list(ScatterRoute)[1:], ids=lambda route: route.name)
def test_a_public_call_runs_the_route_that_is_asked_for(route, name):
    function, shape, index_shape, axis = NAMED[name]
    rng = np.random.default_rng(0)
    data = rng.integers(-9, 9, shape)
    indices = rng.integers(-shape[axis], shape[axis], index_shape)
    updates = rng.integers(-9, 9, indices.shape + shape[1:] if function is gs.scatter else shape)
    options = {"axis": axis, "reduction": "max"}
    expected = getattr(reference, function.__name__)(data, indices, updates, **options)
    with kernels.forced(3, scatter=route.name.lower()):
        result = function(data, indices, updates, **options)
    assert_same_bits(result, expected)
    assert scatter.last_route()[0] == route


@pytest.mark.parametrize("routes", [0, 1 << ScatterRoute.PARTITION, 1 << ScatterRoute.BLOCKS])
def test_only_routes_that_are_allowed_are_chosen(routes):
    rng = np.random.default_rng(0)
    indices = np.sort(rng.integers(0, 300_000, 500_000))
    allowed = {ScatterRoute.DIRECT} | {route for route in ScatterRoute if routes >> route & 1}
    scatter.allow_routes(routes)
    try:
        for n_threads in (1, 2, 3):
            for given in (indices, rng.permutation(indices)):
                with kernels.forced(n_threads):
                    found = gs.scatter(np.zeros(300_000, "i4"), given, 1, reduction="add")
                assert scatter.last_route()[0] in allowed
                assert_same_bits(found, np.bincount(indices, minlength=300_000).astype("i4"))
    finally:
        scatter.allow_routes(2**32 - 1)


def test_the_machine_s_numbers_change_no_bit():
    """They choose a route, tiles and windows: of small caches, and of large ones."""
    rng = np.random.default_rng(0)
    data, updates = rng.standard_normal((20_000, 3)), rng.standard_normal((50_000, 3))
    indices = rng.integers(0, 20_000, 50_000)
    before = common.get_machine()
    found = []
    try:
        for l2_bytes, l3_bytes in ((1 << 12, 1 << 14), (1 << 30, 1 << 34)):
            common.set_machine({"l2_bytes": l2_bytes, "l3_bytes": l3_bytes})
            assert common.get_machine() == before | {"l2_bytes": l2_bytes, "l3_bytes": l3_bytes}
            for n_threads in (1, 3):
                for route in ScatterRoute:
                    for reduction in ("add", "mean", "none"):
                        with kernels.forced(n_threads, scatter=route.name.lower()):
                            found.append((reduction, gs.scatter(data, indices, updates, reduction=reduction)))
    finally:
        common.set_machine(before)
    expected = dict(found)
    for reduction, result in found:
        assert_same_bits(result, expected[reduction])


@pytest.mark.parametrize("route", ["direct", "runs", "columns"])
def test_a_public_gather_runs_the_route_that_is_asked_for(route):
    rng = np.random.default_rng(0)
    data, axis = rng.random((70, 80)), 0 if route == "columns" else 1
    indices = rng.integers(-data.shape[axis], data.shape[axis], (70, 80))
    expected = np.take_along_axis(data, indices % data.shape[axis], axis)
    with kernels.forced(3, gather=route):
        result = gs.gather_elements(data, indices, axis=axis)
    assert_same_bits(result, expected)
    assert GatherRoute(gather.last_route()[0]).name == route.upper()


@pytest.mark.parametrize("n", [1500, 5000])
@in_turn("columns", [16, 31, 100])
@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum], ids=lambda ufunc: ufunc.__name__)
def test_rows_are_combined_in_batches(n, columns, ufunc):
    rng = np.random.default_rng(n)
    data = rng.integers(-9, 9, (2000, columns))
    indices, updates = rng.integers(0, 2000, n), rng.integers(-9, 9, (n, columns))
    expected = data.copy()
    ufunc.at(expected, indices, updates)
    reduction = {"add": "add", "multiply": "mul"}.get(ufunc.__name__, "max")
    for route in ScatterRoute:
        with kernels.forced(2, scatter=route.name.lower()):
            assert_same_bits(gs.scatter(data, indices, updates, reduction=reduction), expected)


@pytest.mark.parametrize("name", ["auto", ""])
def test_an_unknown_route_in_the_environment(name):
    environment = os.environ | {"GATHERSCATTER_ROUTES": f"direct,{name}"}
    command = [sys.executable, "-c", "import gatherscatter"]
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert run.returncode != 0
    known = "direct, blocks, partition, private, runs, columns, tiles"
    assert f"{name!r} is not a route; name some of {known}" in run.stderr
