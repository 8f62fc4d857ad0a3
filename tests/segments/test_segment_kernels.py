"""The kernels of segments: every route and number of threads gives the same bits, and how exact they are."""

import itertools
from fractions import Fraction

import gatherscatter as gs
import numpy as np
import pytest
from gatherscatter.backends import kernels
from gatherscatter.segments import rules
from pairwise import each_pair, in_turn

REAL = ("add", "mul", "max", "min", "mean", "var", "any", "all", "count", "first", "last", "argmax", "logsumexp")
NOT_COMPLEX = ("max", "min", "argmax", "logsumexp")
TEAMS = (2, 9)

# Shapes of data, the axis of the ids: one column; few columns; more than a block has; units.
SHAPES = {"elements": ((3000,), 0), "rows": ((900, 3), 0), "long rows": ((40, 1500), 0), "units": ((5, 700), 1)}


def draw(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape) * 3
    if dtype[0] == "c":
        values = values + 1j * rng.standard_normal(shape)
    values = values.astype(dtype)
    if dtype[0] in "fc":
        values.flat[::7] = np.nan
    return values


KINDS = {
    "random": lambda ids: ids,
    "sorted": np.sort,
    "skewed": lambda ids: np.where(ids > 20, 3, ids),
    "in runs": lambda ids: np.repeat(ids, 1 + np.arange(len(ids)) // 40)[: len(ids)],
}


BLOCKS = (None, 7, 100)


@pytest.fixture(params=BLOCKS)
def block(request, monkeypatch):
    """Positions of a block of floating sums; None: as many as the shape says, more than these have."""
    if request.param:
        monkeypatch.setattr(rules, "block_length", lambda layout: request.param)
    return request.param


def draw_ids(n, kind, n_segments=40):
    return KINDS[kind](np.random.default_rng(1).integers(-2, n_segments, n))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "c8"])
def test_one_column_has_the_bits_of_two(dtype, kind):
    data, ids = draw(3000, dtype), draw_ids(3000, kind)
    names = tuple(name for name in REAL if dtype[0] != "c" or name not in NOT_COMPLEX)
    for name, skipna in itertools.product(names, [False, True]):
        # "last", so that no scatter does it
        options = {"reduction": (name, "last"), "skipna": skipna, "fill_value": (name in ("any", "all") or 1, 1)}
        column, _ = gs.segment_reduce(data, ids, 40, **options)
        columns, _ = gs.segment_reduce(np.stack([data, data], axis=1), ids, 40, **options)
        np.testing.assert_array_equal(column, columns[:, 0])
    if dtype[0] == "f":
        found = gs.segment_softmax(np.stack([data, data], axis=1), ids, 40)[:, 1]
        np.testing.assert_array_equal(gs.segment_softmax(data, ids, 40), found)


@each_pair(
    ["block"], kind=KINDS, shape=SHAPES, dtype=("f8", "f4", "f2", "i4", "?", "c8"), skipna=(False, True), block=BLOCKS
)
@pytest.mark.usefixtures("block")
def test_bits_do_not_depend_on_threads(shape, kind, dtype, skipna):
    sizes, axis = SHAPES[shape]
    data, ids = draw(sizes, dtype), draw_ids(sizes[axis], kind)
    names = tuple(name for name in REAL if dtype[0] != "c" or name not in NOT_COMPLEX)
    of_bools = ("any", "all", *(("max", "min", "first", "last") if dtype == "?" else ()))
    fills = tuple(True if name in of_bools else 1 for name in names)

    def call(names, fills):
        results = gs.segment_reduce(data, ids, 40, reduction=names, fill_value=fills, axis=axis, skipna=skipna)
        return [result.tobytes() for result in results]

    expected = call(names, fills)
    for n_threads in (*TEAMS, *([64] if kind == "random" else [])):  # which take long to start
        with kernels.forced(n_threads):
            assert call(names, fills) == expected
    assert [call((name,), (fill,))[0] for name, fill in zip(names, fills, strict=True)] == expected


@each_pair(["block"], name=("softmax", "log_softmax"), kind=KINDS, shape=SHAPES, dtype=("f8", "f4", "f2"), block=BLOCKS)
@pytest.mark.usefixtures("block")
def test_bits_of_softmax_do_not_depend_on_threads(name, shape, kind, dtype):
    sizes, axis = SHAPES[shape]
    softmax, data, ids = getattr(gs, f"segment_{name}"), draw(sizes, dtype), draw_ids(sizes[axis], kind)
    expected = softmax(data, ids, 40, axis=axis).tobytes()
    for n_threads in (*TEAMS, 64):
        with kernels.forced(n_threads):
            assert softmax(data, ids, 40, axis=axis).tobytes() == expected


@each_pair(["block"], reduction=("add", "mul", "mean"), dtype=("f8", "f4", "f2", "i4", "c8"), kind=KINDS, block=BLOCKS)
@np.errstate(over="ignore", invalid="ignore")
def test_sums_are_those_of_blocks_in_their_order(reduction, dtype, kind, block):
    """Begun with -0.0, products with 1, and rounded once."""
    data, ids = draw(900, dtype), draw_ids(900, kind)
    data[data != data] = 0.3
    wide = {"f4": "f8", "i4": "f8" if reduction == "mean" else "i8", "f2": "f4", "c8": "c16"}.get(dtype, dtype)
    step = np.multiply if reduction == "mul" else np.add
    expected, counts = np.full(40, 1 if reduction == "mul" else -0.0, wide), np.zeros(40)
    for start in range(0, 900, block or 900):
        own, values = ids[start : start + (block or 900)], data[start : start + (block or 900)].astype(wide)
        for segment in np.unique(own[own >= 0]):
            total = expected.dtype.type(1 if reduction == "mul" else -0.0)
            for value in values[own == segment]:
                total = step(total, value)
            expected[segment] = step(expected[segment], total)
            counts[segment] += np.sum(own == segment)
    expected = expected.view(expected.real.dtype).reshape(40, -1)
    expected = expected / counts[:, None].astype(expected.dtype) if reduction == "mean" else expected
    expected = expected.reshape(-1).view(wide)
    for n_threads in (1, 2, 8):
        with kernels.forced(n_threads):
            found = gs.segment_reduce(data, ids, 40, reduction=reduction)
            np.testing.assert_array_equal(found, expected.astype(found.dtype))


def test_blocks_depend_on_the_shape_alone():
    def length(*shape, n, axis=0):
        return rules.block_length(rules.Layout(rules.REDUCE, shape, axis, 1, 0, n))

    assert length(10**7, n=1000) == 1 << 16
    assert length(10**7, n=100_000) == 800_000
    assert length(10**7, n=(1 << 17) + 1) == 10**7  # one
    assert length(500_000, 8, n=5000) == 40_000
    assert length(5, 500_000, 64, n=100, axis=1) == 1024
    assert length(100, 1 << 20, n=0) == 1


@pytest.mark.usefixtures("block")
@in_turn("kind", KINDS)
@pytest.mark.parametrize(("dtype", "unit"), [("f8", 1e-15), ("f4", 1e-6), ("f2", 1e-3)])
def test_softmax_is_numpys(dtype, unit, kind):
    data, ids = np.random.default_rng(0).normal(scale=9, size=3000).astype(dtype), draw_ids(3000, kind)
    expected = np.zeros(3000)
    for segment in range(40):
        own = ids == segment
        powers = np.exp(data[own].astype("f8") - data[own].max(initial=-np.inf))
        expected[own] = powers / powers.sum()
    for found in (gs.segment_softmax(data, ids, 40), gs.segment_softmax(data[:, None].repeat(2, 1), ids, 40)[:, 1]):
        np.testing.assert_allclose(found, expected, rtol=4 * unit, atol=1e-7 if dtype == "f2" else 0)


@pytest.mark.parametrize("shape", [(3000,), (3000, 2)])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "c8"])
@pytest.mark.usefixtures("block")
def test_pointers_and_ids_have_the_same_bits(dtype, shape):
    rng = np.random.default_rng(0)
    indptr = np.sort(rng.integers(5, 2990, 200).repeat(rng.integers(1, 4, 200)))  # some segments are empty
    ids = np.searchsorted(indptr, np.arange(3000), side="right") - 1
    n, data = len(indptr) - 1, draw(shape, dtype)
    ids[ids == n] = -1
    names = tuple(name for name in REAL if dtype[0] != "c" or name not in NOT_COMPLEX)
    for name, skipna in itertools.product(names, [False, True]):
        options = {"reduction": name, "skipna": skipna, "fill_value": name in ("any", "all") or 1}
        found = gs.segment_reduce(data, indptr=indptr, **options)
        np.testing.assert_array_equal(found, gs.segment_reduce(data, ids, n, **options))
    if dtype[0] == "f":
        found = gs.segment_softmax(data, indptr=indptr)
        np.testing.assert_array_equal(found, gs.segment_softmax(data, ids, n))


@pytest.mark.parametrize("n_columns", [1, 2])
def test_more_positions_than_a_round(n_columns):
    n = (1 << 20) + 40_000
    rng = np.random.default_rng(0)
    ids, data = rng.integers(0, 3000, n), rng.integers(-1000, 1000, (n, n_columns)).astype("f8")
    with kernels.forced(3):
        sums, where, last = gs.segment_reduce(data, ids, 3000, reduction=("add", "argmax", "last"))
    for column in range(n_columns):
        np.testing.assert_array_equal(sums[:, column], np.bincount(ids, data[:, column], 3000))
    order = np.argsort(ids, kind="stable")
    begins = np.searchsorted(ids[order], np.arange(3000))
    np.testing.assert_array_equal(last, data[order[np.append(begins[1:], n) - 1]])
    for segment in range(0, 3000, 500):
        own = np.flatnonzero(ids == segment)
        np.testing.assert_array_equal(where[segment], own[data[own].argmax(axis=0)])


@pytest.mark.usefixtures("block")
@in_turn(("offset", "scale"), [(0, 1), (1e8, 1), (1e15, 1), (-3e10, 1e-3), (1e150, 1e140), (0, 1e-140)])
def test_variance_of_distant_numbers(offset, scale):
    values = offset + scale * np.random.default_rng(0).standard_normal(500)
    exact = [Fraction(x) for x in values]
    mean = sum(exact) / len(exact)
    expected = sum((x - mean) ** 2 for x in exact) / len(exact)
    found = gs.segment_reduce(values, np.zeros(len(values), int), reduction="var")[0]
    assert abs(Fraction(found) - expected) <= expected * Fraction(50, 2**52)  # n is 500


@pytest.mark.usefixtures("block")
def test_variance_after_an_outlier():
    values = np.append(1e9, np.random.default_rng(0).standard_normal(2000))
    exact = [Fraction(x) for x in values]
    mean = sum(exact) / len(exact)
    expected = sum((x - mean) ** 2 for x in exact) / len(exact)
    for some in (values, values[::-1].copy(), np.roll(values, 1000)):
        found = gs.segment_reduce(some, np.zeros(len(some), int), reduction="var")[0]
        assert abs(Fraction(found) - expected) <= expected * Fraction(200, 2**52)


@pytest.mark.parametrize(("dtype", "least"), [("f8", -746), ("f4", -104)])
def test_softmax_is_exact_to_a_few_units(dtype, least):
    data = np.append(0, -np.logspace(-18, np.log10(750), 4000)).astype(dtype)
    ids = np.arange(len(data))
    ids = np.append(ids, ids)  # each with a 0, which is the greatest
    found = gs.segment_softmax(np.append(data, np.zeros_like(data)), ids)[: len(data)]
    power = np.exp(data.astype(np.longdouble))
    expected = (power / (power + 1)).astype(dtype)
    assert (np.abs(found - expected) <= 3 * np.spacing(expected)).all()
    assert found[data < least].max() == 0


def test_a_variance_of_few():
    data = np.array([1.0, 3.0, 5.0, 5.0, np.inf, 1.0, np.nan])
    ids = np.array([0, 0, 1, 1, 2, 2, 3])
    with np.errstate(all="ignore"):
        found = gs.segment_reduce(data, ids, 5, reduction="var", correction=1)
    np.testing.assert_array_equal(found, [2, 0, np.nan, np.nan, np.nan])


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_fill_value_of_tensors(dtype):
    torch = pytest.importorskip("torch")
    data = torch.tensor([1.0, 3.0], dtype=getattr(torch, dtype))
    found = gs.segment_reduce(data, torch.tensor([0, 0]), 2, reduction=("max", "mean"), fill_value=0.5)
    assert [result.tolist() for result in found] == [[3, 0.5], [2, 0.5]]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "c8"])
@pytest.mark.parametrize("shape", [(64, 3), (8, 8, 4, 2), (70, 0), (64, 8)])
def test_many_units_of_few_elements(dtype, shape):
    """The bits of the same call on each unit."""
    data, axis = draw(shape, dtype), len(shape) - 1 - (len(shape) == 4)
    ids = np.random.default_rng(0).integers(-1, 3, shape[axis])
    names = tuple(name for name in REAL if dtype[0] != "c" or name not in NOT_COMPLEX)
    units = list(np.ndindex(shape[:axis]))[::5]
    for skipna in (False, True):
        unfilled = ("any", "all", "count", "argmax", "argmin")
        options = {"skipna": skipna, "fill_value": tuple(None if one in unfilled else 1 for one in names)}
        found = gs.segment_reduce(data, ids, 4, axis=axis, reduction=names, **options)
        for unit in units:
            alone = gs.segment_reduce(data[unit], ids, 4, reduction=names, **options)
            for one, other in zip(found, alone, strict=True):
                np.testing.assert_array_equal(one[unit], other)
        for name, one in zip(names, found, strict=True):
            fill = {} if name in unfilled else {"fill_value": 1}
            np.testing.assert_array_equal(
                gs.segment_reduce(data, ids, 4, axis=axis, reduction=name, skipna=skipna, **fill), one
            )
    if dtype[0] == "f":
        found = gs.segment_softmax(data, ids, 4, axis=axis)
        for unit in units:
            np.testing.assert_array_equal(found[unit], gs.segment_softmax(data[unit], ids, 4))
