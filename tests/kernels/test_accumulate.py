"""accumulate_dtype in the kernels: the scatter of widened operands, rounded once; and what it must not change."""

import itertools
import tracemalloc

import gatherscatter as gs
import ml_dtypes
import numpy as np
import pytest
from assertions import assert_same_bits, assert_same_numbers
from gatherscatter import plan as plans
from gatherscatter._kernels.common import Status
from gatherscatter.backends import kernels
from gatherscatter.operators import SCATTER, SCATTER_ELEMENTS, SCATTER_ND
from pairwise import in_turn, pairwise
from routes import ROUTES, routes_for

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [("f2", "f4"), ("f2", "f8"), (BFLOAT16, "f4"), (BFLOAT16, "f8"), ("f4", "f8"), ("F", "D")]
INTS = [(f"{kind}{a}", f"{kind}{b}") for kind in "iu" for a in (1, 2, 4) for b in (2, 4, 8) if a < b]
PAIRS = [(np.dtype(narrow), np.dtype(wide)) for narrow, wide in FLOATS + INTS]
OPERATORS = {"nd": SCATTER_ND, "axis": SCATTER, "elements": SCATTER_ELEMENTS}
FUNCTIONS = {"nd": gs.scatter_nd, "axis": gs.scatter, "elements": gs.scatter_elements}
ASKED = ["auto", *ROUTES]
by_pair = pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair[0]}-{pair[1]}")


def narrowed(array, dtype):
    """The array rounded once. (ml_dtypes rounds float64 to bfloat16 by way of float32, which is twice.)"""
    if array.dtype == dtype:
        return array
    if dtype == BFLOAT16 and array.dtype == np.float64:
        near = array.astype("f4")
        toward_zero = np.where(np.abs(near.astype("f8")) > np.abs(array), np.nextafter(near, np.float32(0)), near)
        odd = np.where(near.astype("f8") == array, near.view("u4"), toward_zero.view("u4") | 1).view("f4")
        array = np.where(np.isnan(array) | np.isinf(near), near, odd)
    return array.astype(dtype)


def run(kind, data, indices, updates, wide, out=None, axis=0, batch_dims=0, mode="raise", reduction="add",
        include_self=True):  # fmt: skip
    """The kernel's status and result."""
    plan = plans.scatter(OPERATORS[kind], data.shape, indices.shape, axis, batch_dims, mode, reduction, include_self)
    plan = plan._replace(accumulate_dtype=wide.name)
    result = np.empty(data.shape, data.dtype) if out is None else out
    status = kernels.scatter(plan, None if out is data else data, indices, updates, result, out is not None)
    return status, result


@np.errstate(all="ignore")
def expected_of(kind, data, indices, updates, wide, **options):
    """By the definition: with NumPy's conversions and the kernel of the wide dtype."""
    axis = {} if kind == "nd" else {"axis": options.pop("axis", 0)}
    options.pop("axis", None)
    if kind == "elements":
        options.pop("batch_dims", None)
    function = FUNCTIONS[kind]
    whole = narrowed(function(data.astype(wide), indices, updates.astype(wide), **axis, **options), data.dtype)
    # An element without an update keeps its bytes.
    options["reduction"] = "none"
    options.pop("include_self", None)
    had = function(np.zeros(data.shape, bool), indices, np.ones(updates.shape, bool), **axis, **options)
    return np.where(had, whole, data)


def numbers(rng, shape, dtype):
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        return rng.integers(bounds.min, bounds.max, shape, dtype, endpoint=True)
    values = rng.choice([-1.0, 1.0], shape) * 10.0 ** rng.integers(-3, 3, shape) * rng.random(shape)
    if dtype.kind == "c":
        values = values + 1j * rng.permutation(values.reshape(-1)).reshape(shape)
    return values.astype(dtype)


def drawn_indices(rng, shape, size, mode):
    return rng.integers(-size - 2, size + 3, shape) if mode in ("clip", "drop") else rng.integers(-size, size, shape)


def problem(kind, rng, narrow, mode, small=False):
    """data, indices, updates and options: several updates for each destination, and destinations without one."""
    n = 12 if small else 300
    if kind == "nd":
        data = numbers(rng, (2, 9, 7, 3), narrow)
        indices = np.stack([drawn_indices(rng, (2, n), 9, mode), drawn_indices(rng, (2, n), 3, mode)], -1)
        updates = numbers(rng, (2, n, 3), narrow)
        return data, indices, updates, {"batch_dims": 1}
    if kind == "axis":
        data = numbers(rng, (3, 40, 2, 5), narrow)
        return data, drawn_indices(rng, n, 40, mode), numbers(rng, (3, n, 2, 5), narrow), {"axis": 1}
    data = numbers(rng, (6, 50), narrow)
    return data, drawn_indices(rng, (6, n), 30, mode), numbers(rng, (6, n), narrow), {"axis": 1}


def compare(kind, rng, pair, reduction, include_self, mode, route, n_threads, way):
    narrow, wide = pair
    data, indices, updates, options = problem(kind, rng, narrow, mode)
    options |= {"mode": mode, "reduction": reduction, "include_self": include_self}
    expected = expected_of(kind, data, indices, updates, wide, **options)
    before = data.copy(), updates.copy()
    out = {"new": None, "in place": data, "out": np.empty_like(data)}.get(way)
    if way == "strided":
        data = np.stack([data, data], -1)[..., 0]
        out = np.stack([data, data], -1)[..., 1]
        updates = np.stack([updates, updates])[0, ..., ::-1][..., ::-1]
    elif way == "transposed":  # the axes of out and of updates in another order
        out = np.empty(data.shape[::-1], narrow).T
        updates = np.asfortranarray(updates)
    elif way == "swapped":
        data = data.astype(narrow.newbyteorder())
        updates, out = updates.astype(data.dtype), data
    with kernels.forced(n_threads, scatter=route), np.errstate(all="ignore"):
        status, result = run(kind, data, indices, updates, wide, out, **options)
    assert status == Status.OK
    assert_same_numbers(result.astype(narrow), expected)
    assert_same_bits(updates.astype(narrow), before[1])
    if out is not data:
        assert_same_bits(data.astype(narrow), before[0])


WAYS = ["new", "in place", "out", "strided", "transposed", "swapped"]
# Of compare: kind, reduction, include_self, mode, route, n_threads and way.
AXES = [*OPERATORS], ["add", "mul", "mean"], [True, False], ["raise", "drop", "clip"], ASKED, [1, 2, 5], WAYS


def can_swap(pair, case):
    return case[-1] != "swapped" or (pair[0].itemsize > 1 and pair[0] != BFLOAT16)


@by_pair
def test_the_definition(pair):
    """A few of all cases, for every pair."""
    rng = np.random.default_rng(PAIRS.index(pair))
    cases = [*itertools.product(*AXES)]
    for case in rng.permutation(len(cases))[:25]:
        if can_swap(pair, cases[case]):
            kind, *rest = cases[case]
            compare(kind, rng, pair, *rest)


@pytest.mark.slow
@by_pair
def test_the_definition_in_more_cases(pair):
    rng = np.random.default_rng(0)
    for kind, *rest in pairwise(*AXES, strength=3):
        if can_swap(pair, rest):
            compare(kind, rng, pair, *rest)


@pytest.mark.parametrize("route", ASKED)
@in_turn("pair", [pair for pair in PAIRS if pair[0].kind not in "iu"])
def test_signalling_nans(pair, route):
    """An element without an update keeps its bytes; one with an update is a quiet NaN."""
    narrow, wide = pair
    part, word, quiet = {
        2: (np.float16, "u2", 0x7E00 if narrow != BFLOAT16 else 0x7FC0),
        4: (np.float32, "u4", 0x7FC00000),
    }[min(narrow.itemsize, 4)]
    signalling = {"f2": 0x7C05, "f4": 0x7F800005}.get(np.dtype(part).str[1:]) if narrow != BFLOAT16 else 0x7F85
    data = np.full(70 * narrow.itemsize // np.dtype(word).itemsize, signalling, word).view(narrow)
    indices = np.array([3, 3, 68])
    updates = np.zeros(3, narrow)
    updates.view(word)[-1] = signalling
    for reduction, include_self, n_threads in itertools.product(("add", "mul", "mean"), (True, False), (1, 3)):
        with kernels.forced(n_threads, scatter=route), np.errstate(all="ignore"):
            status, result = run("axis", data, indices, updates, wide, reduction=reduction, include_self=include_self)
        assert status == Status.OK
        bits = result.view(word).reshape(70, -1)
        untouched = np.delete(bits, [3, 68], axis=0)
        assert (untouched == signalling).all()
        assert (bits[68, -1] & quiet) == quiet
        assert (bits[3, 0] & quiet) == (quiet if include_self else 0)


@in_turn("route", ASKED)
@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_a_bad_index_changes_nothing(route, n_threads):
    """The status is the position of the first bad index, in whichever part of the indices it is."""
    rng = np.random.default_rng(0)
    f4, f8 = np.dtype("f4"), np.dtype("f8")
    for kind, bad in itertools.product(OPERATORS, (0, 150, -1)):
        data, indices, updates, options = problem(kind, rng, f4, "raise")
        flat = indices.reshape(-1)
        flat[bad] = flat[-2] = 1000
        position = int(np.flatnonzero(flat == 1000)[0])
        for out in (data, np.zeros_like(data)):
            before = out.copy()
            for reduction in ("add", "mean"):
                with kernels.forced(n_threads, scatter=route):
                    status, _ = run(kind, data, indices, updates, f8, out, reduction=reduction, **options)
                assert status == position if kind != "axis" else status >= 0
                assert_same_bits(out, before)


def test_empty():
    f4, f8 = np.dtype("f4"), np.dtype("f8")
    for route, n_threads, reduction in itertools.product(ASKED, (1, 3), ("add", "mean")):
        with kernels.forced(n_threads, scatter=route):
            for shape, indices, mode, expected in (
                ((4,), np.zeros(0, int), "raise", Status.OK),
                ((0,), np.zeros(0, int), "raise", Status.OK),
                ((0,), np.zeros(2, int), "drop", Status.OK),
                ((0,), np.zeros(2, int), "raise", 0),
                ((0,), np.zeros(2, int), "clip", 0),
                ((4, 0), np.array([1, 2]), "raise", Status.OK),
                ((4, 0), np.array([1, 7]), "raise", 1),
                ((4, 3), np.zeros(0, int), "raise", Status.OK),
            ):
                data, updates = np.ones(shape, f4), np.ones(indices.shape + shape[1:], f4)
                for out in (None, data, np.empty_like(data)):
                    status, result = run("axis", data, indices, updates, f8, out, mode=mode, reduction=reduction)
                    assert status == expected
                    assert status != Status.OK or (result == 1).all()


def test_pairs_that_do_not_exist():
    for narrow, wide in (("f4", "f4"), ("f8", "f4"), ("f4", "D"), ("i4", "u8"), ("i8", "i4"), ("f4", "i8")):
        data = np.ones(2, narrow)
        status, _ = run("axis", data, np.array([0]), np.ones(1, narrow), np.dtype(wide))
        assert status == Status.INCONSISTENT
    for reduction in ("max", "none"):
        data = np.ones(2, "f4")
        status, _ = run("axis", data, np.array([0]), np.ones(1, "f4"), np.dtype("f8"), reduction=reduction)
        assert status == Status.INCONSISTENT


def test_what_the_sum_of_the_narrow_dtype_loses():
    ones = np.ones(5000, "f2")
    for n_threads in (1, 2, 5):
        with kernels.forced(n_threads):
            _, total = run("axis", np.zeros(1, "f2"), np.zeros(5000, int), ones, np.dtype("f4"))
            assert total.tolist() == [5000.0]  # in float16: 2048
            _, mean = run("axis", np.full(1, 100, "i1"), np.zeros(9, int), np.full(9, 100, "i1"), np.dtype("i8"),
                          reduction="mean")  # fmt: skip
            assert mean.tolist() == [100]


@pytest.mark.parametrize("n_columns", [1, 2, 3, 8, 16, 100, 5000])
def test_every_length_of_rows(n_columns):
    rng = np.random.default_rng(n_columns)
    n = max(4, 20_000 // n_columns)
    data, updates = numbers(rng, (60, n_columns), np.dtype("f4")), numbers(rng, (n, n_columns), np.dtype("f4"))
    indices = rng.integers(0, 50, n)
    for reduction, include_self in (("add", True), ("mean", False)):
        options = {"reduction": reduction, "include_self": include_self}
        expected = expected_of("axis", data, indices, updates, np.dtype("f8"), **options)
        for route, n_threads in itertools.product(ASKED, (1, 3)):
            with kernels.forced(n_threads, scatter=route):
                _, result = run("axis", data, indices, updates, np.dtype("f8"), **options)
            assert_same_bits(result, expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "n", "reduction"),
    [
        *(((9_000_000,), 3_000_000, "mean"), ((40_000, 200), 30_000, "add")),
        *(((30, 300_000), 60, "mean"), ((1_600_000, 5), 300_000, "add"), ((1_600_000, 5), 300_000, "mean")),
    ],
)
def test_memory_is_bounded(shape, n, reduction):
    rng = np.random.default_rng(0)
    data, updates = numbers(rng, shape, np.dtype("f4")), numbers(rng, (n, *shape[1:]), np.dtype("f4"))
    indices = rng.integers(0, shape[0], n)
    expected = expected_of("axis", data, indices, updates, np.dtype("f8"), reduction=reduction)
    outs = (np.empty_like(data), "C"), (np.empty(shape[::-1], "f4").T, "F")
    for route, (out, layout) in itertools.product(("auto", "direct", "blocks", "partition"), outs):
        with kernels.forced(3, scatter=route):
            tracemalloc.start()
            try:
                status, _ = run("axis", data, indices, updates, np.dtype("f8"), out, reduction=reduction)
                most = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
        assert status == Status.OK
        assert most < (1 << 26) + (4 * shape[0] if reduction == "mean" else 0), layout
        assert_same_bits(np.ascontiguousarray(out), expected)


@pytest.mark.slow
@pytest.mark.parametrize("reduction", ["add", "mean"])
def test_partition_in_groups_of_tiles(reduction):
    """More updates than there is memory for records: the tiles are taken in groups."""
    rng = np.random.default_rng(0)
    data, updates = numbers(rng, 12_000_000, np.dtype("f4")), numbers(rng, 11_000_000, np.dtype("f4"))
    indices = rng.integers(0, 11_000_000, len(updates))
    options = {"reduction": reduction, "include_self": False}
    expected = expected_of("axis", data, indices, updates, np.dtype("f8"), **options)
    for n_threads, out in ((1, None), (3, np.empty_like(data)), (2, data)):
        with kernels.forced(n_threads, scatter="partition"):
            tracemalloc.start()
            try:
                status, result = run("axis", data, indices, updates, np.dtype("f8"), out, **options)
                most = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
        assert status == Status.OK
        assert most < (1 << 26) + (5 if reduction == "mean" else 2) * len(data) + (result.nbytes if out is None else 0)
        assert_same_bits(result, expected)
    data = np.zeros_like(data)
    indices[-1] = len(data)
    with kernels.forced(2):
        status, _ = run("axis", data, indices, updates, np.dtype("f8"), data, **options)
    assert status == len(indices) - 1
    assert not data.any()


@pytest.mark.parametrize(("n_threads", "most"), [(1, 200_000), (3, 200_000), (2, 9)])
def test_partition_of_more_updates_than_records(n_threads, most):
    """The tiles are taken in groups. A tile that alone has too many updates takes several rounds."""
    rng = np.random.default_rng(most)
    data, updates = numbers(rng, 200_000, np.dtype("F")), np.resize(numbers(rng, 9973, np.dtype("F")), 5_200_000)
    indices = np.resize(rng.integers(0, most, 500_009), len(updates))
    options = {"reduction": "add", "include_self": True, "mode": "raise"}
    expected = expected_of("axis", data, indices, updates, np.dtype("D"), **options)
    out = data.copy()
    with kernels.forced(n_threads, scatter="partition"):
        status, _ = run("axis", out, indices, updates, np.dtype("D"), out, **options)
        assert status == Status.OK
        assert_same_bits(out, expected)
        indices[-1] = len(data)
        status, _ = run("axis", out, indices, updates, np.dtype("D"), out, **options)
    assert status == len(indices) - 1
    assert_same_bits(out, expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pair", "reduction"),
    [(("f4", "f8"), "add"), (("f2", "f4"), "mean"), (("i4", "i8"), "mean"), (("i1", "i8"), "add")],
    ids=str,
)
def test_partition_of_too_many_updates_of_one_tile(pair, reduction):
    narrow, wide = map(np.dtype, pair)
    rng = np.random.default_rng(0)
    data, updates = numbers(rng, 300_000, narrow), np.resize(numbers(rng, 9973, narrow), 15_000_000)
    spread = np.resize(rng.integers(0, len(data), 500_009), len(updates))
    options = {"reduction": reduction, "include_self": False, "mode": "drop"}
    for indices in (np.where(np.arange(len(updates)) % 8, 100_000, spread), np.sort(spread) * 2, spread):
        expected = expected_of("axis", data, indices, updates, wide, **options)
        for n_threads in (1, 3):
            with kernels.forced(n_threads, scatter="partition"):
                status, result = run("axis", data, indices, updates, wide, **options)
            assert status == Status.OK
            assert_same_bits(result, expected)


@pytest.mark.parametrize("order", ["sorted", "descending", "nearly", "in runs", "in part"])
@pytest.mark.parametrize("n_columns", [1, 3])
def test_orders_of_indices(order, n_columns):
    rng = np.random.default_rng(n_columns)
    n, n_rows = 70_000, 150_000
    indices = np.sort(rng.integers(0, n_rows, n))
    if order == "descending":
        indices = indices[::-1]
    elif order == "nearly":
        indices = np.clip(indices + rng.integers(-2000, 2000, n), 0, n_rows - 1)
    elif order == "in runs":  # of which two are out of bounds
        indices = indices.reshape(7, -1)[rng.permutation(7)].ravel() + np.repeat(
            [0, 0, n_rows, 0, 0, n_rows, 0], n // 7
        )
    elif order == "in part":
        indices[: n // 5] = rng.integers(0, n_rows, n // 5)
    narrow, wide = np.dtype("f4"), np.dtype("f8")
    data, updates = numbers(rng, (n_rows, n_columns), narrow), numbers(rng, (n, n_columns), narrow)
    mode = "drop" if order == "in runs" else "raise"
    for reduction, include_self, in_place in (
        ("add", True, False),
        ("add", True, True),
        ("mean", True, False),
        ("mul", False, True),
    ):
        options = {"reduction": reduction, "include_self": include_self, "mode": mode}
        expected = expected_of("axis", data, indices, updates, wide, **options)
        for route, n_threads in (("auto", 2), *routes_for("mean", narrow, (1, 5))):
            out = data.copy() if in_place else None
            with kernels.forced(n_threads, scatter=route):
                status, result = run("axis", data if out is None else out, indices, updates, wide, out, **options)
            assert status == Status.OK
            assert_same_bits(result, expected)
    indices = indices % n_rows
    indices[-1] = -n_rows - 1
    for out in (data.copy(), None):
        with kernels.forced(2):
            status, _ = run("axis", data if out is None else out, indices, updates, wide, out, mode="raise")
        assert status == n - 1
        assert out is None or (out == data).all()


@pytest.mark.parametrize("options", [{}, {"include_self": False}, {"reduction": "mean"}, {"reduction": "mul"}], ids=str)
def test_rows_of_a_large_result(options):
    """It is written by non-temporal stores."""
    rng = np.random.default_rng(0)
    data, updates = (rng.integers(1, 3, (n, 150), dtype="i1").astype("f4") / 3 for n in (30_000, 6_000))
    indices = rng.integers(0, 1000, len(updates)) * 29
    options = {"reduction": "add"} | options
    expected = expected_of("axis", data, indices, updates, np.dtype("f8"), **options)
    for route, n_threads in (("auto", 0), ("direct", 2), ("partition", 1), ("partition", 2)):
        with kernels.forced(n_threads, scatter=route):
            status, result = run("axis", data, indices, updates, np.dtype("f8"), **options)
        assert status == Status.OK
        assert_same_bits(result, expected)


@pytest.mark.parametrize(
    ("dtype", "wide"), [("f2", "f4"), ("f2", "f8"), ("f4", "f8"), ("i1", "i2"), ("i1", "i8"), ("u2", "u8")]
)
@pytest.mark.parametrize("n_items", [1023, 1025, 1500, 2047, 4000])
def test_long_rows(dtype, wide, n_items):
    """An accumulator may be eight times as wide as an item."""
    rng = np.random.default_rng(0)
    n_rows, n = 40, 100
    data, updates = (rng.integers(0, 9, (m, n_items)).astype(dtype) for m in (n_rows, n))
    indices = rng.integers(0, n_rows, n)
    expected = gs.scatter(data.astype(wide), indices, updates.astype(wide), reduction="mean").astype(dtype)
    for route, n_threads in itertools.product(ASKED, (1, 2)):
        with kernels.forced(n_threads, scatter=route):
            result = gs.scatter(data, indices, updates, reduction="mean", accumulate_dtype=wide)
        assert_same_bits(result, expected)


@pytest.mark.slow
def test_memory_of_500_threads():
    rng = np.random.default_rng(0)
    data = np.zeros(1 << 24, "f4")
    indices = np.sort(rng.integers(0, data.size, 1 << 20)).astype("i4")
    updates = np.ones(indices.size, "f4")
    for out in (None, np.zeros_like(data)):
        before = 0 if out is not None else data.nbytes
        tracemalloc.start()
        try:
            with kernels.forced(500):
                source = data if out is None else out
                result = gs.scatter(source, indices, updates, reduction="add", accumulate_dtype="f8", out=out)
            most = tracemalloc.get_traced_memory()[1] - before
        finally:
            tracemalloc.stop()
        assert most < 64 << 20
        assert_same_bits(result, np.bincount(indices, minlength=data.size).astype("f4"))
