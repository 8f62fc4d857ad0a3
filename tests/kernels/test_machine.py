"""The numbers of the machine, and the question how a call ran."""

import re

import gatherscatter as gs
import numpy as np
import pytest
from gatherscatter._kernels import common as kernel
from gatherscatter._kernels import gather as _gather
from gatherscatter._kernels import segments as _segments
from gatherscatter._kernels.common import ScatterRoute
from gatherscatter.backends import kernels
from libraries import needs


@pytest.fixture
def machine():
    before = gs.get_machine()
    yield before
    gs.set_machine(**before)


def job(n, rows, **options):
    rng = np.random.default_rng(0)
    data, indices = rng.random(rows, np.float32), rng.integers(0, rows, n)
    return gs.scatter, data, indices, rng.random(n, np.float32), options


def explained(n, rows, **options):
    function, *arrays, options = job(n, rows, **options)
    return gs.explain(function, *arrays, **options)


def test_explain_says_what_ran():
    with kernels.forced(1, scatter="partition"):
        found = explained(20_000, 1000, reduction="add")
    assert (found["route"], found["threads"]) == ("partition", 1)
    found = explained(20_000, 1000, reduction="add")
    assert found["estimates"]["direct"][1] > 0


@pytest.mark.parametrize(
    ("ids", "n", "route"),
    [
        (np.arange(200_000) % 50, 50, "private"),
        (np.arange(200_000) // 1000, 200, "blocks"),
        (np.arange(200_000) * 7919 % 150_000, 150_000, "partition"),
    ],
    ids=["few", "sorted", "many"],
)
def test_groups_are_explained(ids, n, route):
    data = np.random.default_rng(0).random(len(ids))
    reductions = ("add", "mean")
    with kernels.forced(2):
        found = gs.explain(gs.segment_reduce, data, ids, n, reduction=reductions)
        expected = gs.segment_reduce(data, ids, n, reduction=reductions)
        assert (found["route"], found["threads"]) == (route, 2)
        assert set(found["estimates"][route]) == {2}
        _segments.allow_routes(0)
        try:
            found = gs.explain(gs.segment_reduce, data, ids, n, reduction=reductions)
            alone = gs.segment_reduce(data, ids, n, reduction=reductions)
        finally:
            _segments.allow_routes(-1 % 2**32)
    assert (found["route"], found["threads"]) == ("direct", 1)
    np.testing.assert_equal(alone, expected)


GATHERS = {
    "direct": lambda rng: (gs.gather, rng.random((500, 3)), rng.integers(-500, 500, 60)),
    "runs": lambda rng: (gs.gather, rng.random(500), rng.integers(-500, 500, 300)),
    "columns": lambda rng: (gs.gather_elements, rng.random((500, 300)), rng.integers(-500, 500, (500, 300))),
    "tiles": lambda rng: (gs.prepare("gather", (50_000,), rng.integers(0, 50_000, 200_000)).gather, rng.random(50_000)),
}


@pytest.mark.parametrize("route", GATHERS)
def test_gathers_are_explained(machine, route):
    gs.set_machine(l3_bytes=1 << 16)
    gather, *arrays = GATHERS[route](np.random.default_rng(0))
    for forced in (0, 3):
        with kernels.forced(forced):
            found = gs.explain(gather, *arrays)
        assert found["route"] == route
        assert found["estimates"][route][found["threads"]] == min(
            by_threads.get(forced or found["threads"], np.inf) for by_threads in found["estimates"].values()
        )
    _gather.allow_routes(0)
    try:
        found = gs.explain(gather, *arrays)
        alone = gather(*arrays)
    finally:
        _gather.allow_routes(-1 % 2**32)
    assert found["route"] == "direct"
    assert {"direct", route} <= set(found["estimates"])
    np.testing.assert_equal(alone, gather(*arrays))


def test_the_caches_choose_the_order_of_prepared_indices(machine):
    indices = np.random.default_rng(0).integers(0, 100_000, 200_000)
    for l3_bytes, uses in ((1 << 16, True), (1 << 25, False)):
        gs.set_machine(l3_bytes=l3_bytes)
        prepared = gs.prepare("gather", (100_000,), indices)
        found = gs.explain(prepared.gather, np.arange(100_000.0))
        assert (found["route"] == "tiles") == uses
        assert (prepared.nbytes > 4 * len(indices)) == uses


def test_the_least_estimate_is_taken():
    gs.set_num_threads(8)
    for n, rows in ((10, 1000), (100_000, 1000), (1_000_000, 1_000_000)):
        found = explained(n, rows, reduction="add")
        least = found["estimates"][found["route"]][found["threads"]]
        assert least == min(min(by_threads.values()) for by_threads in found["estimates"].values())


@needs(kernel.openmp_version, "this build has no threads")
def test_numbers_of_the_machine_choose(machine, monkeypatch):
    gs.set_num_threads(2)
    choices = []
    for region in (1, 10**12):
        gs.set_machine(region=region)
        found = explained(1_000_000, 100_000, reduction="max")
        choices.append((found["threads"], set(found["estimates"]["direct"])))
    assert choices[1][0] == 1  # a team would take too long
    assert choices[0][1] == choices[1][1]


def test_a_call_without_kernels_is_not_explained():
    with pytest.raises(ValueError, match="explain: 'sorted' ran no gather or scatter by the CPU kernels"):
        gs.explain(sorted, [1])


@pytest.mark.parametrize("end", [0, 1])
@pytest.mark.parametrize("name", kernel.limits)
def test_the_limits_of_a_number_are_safe(machine, name, end):
    rng = np.random.default_rng(0)
    ids, data = rng.integers(0, 5000, 40_000), rng.integers(0, 9, 40_000).astype("f8")
    expected = np.bincount(ids, data, 5000)
    gs.set_machine(**{name: kernel.limits[name][end]})
    for n_threads in (1, 3):
        assert (gs.segment_reduce(data, ids, 5000, reduction=("add", "var"))[0] == expected).all()
        for route in ScatterRoute:
            with kernels.forced(n_threads, scatter=route.name.lower()):
                assert (gs.scatter(np.zeros(5000), ids, data, reduction="add") == expected).all()
                assert (gs.segment_reduce(data, ids, 5000, reduction=("add", "var"))[0] == expected).all()
        assert (gs.scatter(np.zeros(5000), ids, data, reduction="add") == expected).all()


def test_numbers_are_set(machine):
    gs.set_machine(bandwidth=40, l2_bytes=1e6)
    assert gs.get_machine() == machine | {"bandwidth": 40.0, "l2_bytes": 1_000_000}
    assert gs.show_config("dicts")["machine"]["bandwidth"] == 40


@pytest.mark.parametrize(
    ("numbers", "kind", "message"),
    [
        ({"speed": 1}, ValueError, "set_machine: 'speed' is not a number of the machine; pass some of l2_bytes, "),
        ({"bandwidth": 0}, ValueError, "set_machine: bandwidth=0 is not within 0.001 to 1000000.0"),
        ({"bandwidth": float("nan")}, ValueError, "set_machine: bandwidth=nan is not within 0.001 to 1000000.0"),
        ({"l2_bytes": 0.5}, ValueError, "set_machine: l2_bytes=0.5 is not within 4096 to 4294967296"),
        ({"region": 2, "l3_bytes": 4095}, ValueError, "set_machine: l3_bytes=4095 is not within 4096 to"),
        ({"bandwidth": "1"}, TypeError, "set_machine: bandwidth='1' is not a number"),
        ({"region": 2, "bandwidth": True}, TypeError, "set_machine: bandwidth=True is not a number"),
    ],
)
def test_numbers_that_are_refused(machine, numbers, kind, message):
    with pytest.raises(kind, match=re.escape(message)):
        gs.set_machine(**numbers)
    assert gs.get_machine() == machine
