"""What a destination is until all updates are applied: include_self=False, means and what they divide, special numbers.

All combinations of options are in test_conformance.py; here are numbers that marks, counts and divisions stumble on.
"""

import itertools

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits, assert_same_numbers
from gatherscatter import reference
from gatherscatter.backends import kernels
from pairwise import each_pair, in_turn
from routes import every_route, routes_for
from strategies import numbers, numpy_dtype

# What needs marks: (reduction, include_self).
MARKED = [("add", False), ("mul", False), ("max", False), ("min", False), ("mean", False), ("mean", True)]
marked = pytest.mark.parametrize(("reduction", "include_self"), MARKED)
SIZE = 70


def identity(dtype, reduction):
    dtype = np.dtype(dtype)
    if reduction in ("add", "mul"):
        return dtype.type({"add": -0.0 if dtype.kind == "f" else 0, "mul": 1}[reduction])
    if dtype.kind == "f":
        return dtype.type(-np.inf if reduction == "max" else np.inf)
    return np.iinfo(dtype).min if reduction == "max" else np.iinfo(dtype).max


def operands(shape, dtype, reduction, some):
    """Data, indices along the last axis, and updates.

    some: "all" destinations have updates; or a "few" have none; or, besides, one has "neutral" updates, which are the
    identity, or some that are "inverse": they are reduced to it.
    """
    rng = np.random.default_rng(0)
    data = rng.integers(3, 9, (*shape[:-1], SIZE)).astype(dtype)
    indices = rng.integers(0, SIZE - (0 if some == "all" else 9), shape)
    updates = rng.integers(2, 5, shape).astype(dtype)
    if some == "all":
        indices[..., :SIZE] = np.arange(SIZE)
    if some == "neutral":
        indices[..., 7::50] = SIZE - 2
        updates[..., 7::50] = identity(dtype, reduction)
    if some == "inverse" and reduction in ("add", "mul"):
        is_product_of_floats = reduction == "mul" and dtype[0] == "f"
        indices[..., 7:9] = SIZE - 2
        updates[..., 7:9] = (
            [2, 0.5] if is_product_of_floats else np.array([-1, 1 if reduction == "add" else -1]).astype(dtype)
        )
    return data, indices, updates


class TestUpdatesThatAreTheIdentity:
    """An accumulator may start from the identity: whether it had an update is not to be told from its bits."""

    SOME = "all", "few", "neutral", "inverse"
    REDUCTIONS = "add", "mul", "max", "min"
    DTYPES = "u1", "i2", "f2", "f4", "i4", "f8", "i8"

    @each_pair(place=[((1500,), 0), ((10, 300), 1), ((10, 300), 0)], dtype=DTYPES, reduction=REDUCTIONS, some=SOME)
    def test_elements(self, place, dtype, reduction, some):
        shape, axis = place
        data, indices, updates = operands(shape, dtype, reduction, some)
        if axis == 0 and len(shape) == 2:
            data, indices, updates = (np.ascontiguousarray(array.T) for array in (data, indices, updates))
        words = {"axis": axis, "reduction": reduction, "include_self": False}
        with np.errstate(all="ignore"):
            expected = reference.scatter_elements(data, indices, updates, **words)
        for route, n_threads in routes_for(reduction, dtype, (1, 3)):
            with kernels.forced(n_threads, scatter=route):
                assert_same_numbers(gs.scatter_elements(data, indices, updates, **words), expected)
                out = data.copy()
                gs.scatter_elements(out, indices, updates, out=out, **words)
            assert_same_numbers(out, expected)

    @each_pair(items=[3, 17], dtype=DTYPES, reduction=REDUCTIONS, some=SOME)
    def test_rows(self, items, dtype, reduction, some):
        """Only the middle number of a row may have been reduced to the identity."""
        data, indices, updates = operands((150,), dtype, reduction, some)
        rows, updates = np.tile(data[:, None], items), np.tile(updates[:, None], items)
        updates[:, 0] = 3
        words = {"reduction": reduction, "include_self": False}
        with np.errstate(all="ignore"):
            expected = reference.scatter(rows, indices, updates, **words)
        for route, n_threads in routes_for(reduction, dtype, (1, 2)):
            with kernels.forced(n_threads, scatter=route):
                assert_same_numbers(gs.scatter(rows, indices, updates, **words), expected)
                out = rows.copy()
                gs.scatter(out, indices, updates, out=out, **words)
            assert_same_numbers(out, expected)

    @pytest.mark.parametrize("reduction", ["add", "max"])
    @pytest.mark.parametrize("value", [2.0, None])
    def test_layouts_of_updates(self, reduction, value):
        """A scalar, which may be the identity; strided and reversed updates; updates that are skipped."""
        data, indices, updates = operands((3000,), "f4", reduction, "few")
        scalar = np.float32(identity("f4", reduction) if value is None else value)
        wide = np.repeat(updates, 3).reshape(-1, 3)
        if value is None:
            wide[::50] = scalar
        indices[7::50] = SIZE + 5
        for given in (scalar, wide[:, 1], wide[::-1, 0]):
            words = {"reduction": reduction, "include_self": False, "mode": "drop"}
            expected = reference.scatter(data, indices, np.broadcast_to(given, indices.shape), **words)
            for route, n_threads in routes_for(reduction, "f4", (1, 2)):
                with kernels.forced(n_threads, scatter=route):
                    assert_same_numbers(gs.scatter(data, indices, given, **words), expected)


def test_zeros_have_two_signs():
    data = np.array([5, 6, 7, 8], "f4")
    found = gs.scatter(data, [0, 1, 1, 2], np.array([-0.0, 1, -1, 0.0], "f4"), reduction="add", include_self=False)
    assert_same_numbers(found, np.array([-0.0, 0.0, 0.0, 8], "f4"))
    assert np.signbit(found).tolist() == [True, False, False, False]


def test_a_thread_that_flushes_subnormal_numbers_to_zero():
    """There a sum may be -0.0 although no update is."""
    torch = pytest.importorskip("torch")
    data = np.array([5, 6], "f4")
    least = np.finfo("f4").tiny
    if not torch.set_flush_denormal(True):
        pytest.skip("this CPU does not flush")
    try:
        found = gs.scatter(data, [0, 0], np.array([1.5 * least, -2 * least], "f4"), reduction="add", include_self=False)
    finally:
        torch.set_flush_denormal(False)
    assert found[0] == 0
    assert found[1] == 6


@every_route
@in_turn("reduction", ["max", "min", "add", "mul"])
def test_any_byte_of_a_bool_is_true(reduction, route):
    data = np.array([2, 0, 0], "u1").view("?")
    updates = np.array([255, 2], "u1").view("?")
    for n_threads in (1, 2):
        with kernels.forced(n_threads, scatter=route):
            found = gs.scatter(data, [2, 1], updates, reduction=reduction, include_self=False)
        assert found.tolist() == [True, True, True]


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduction", ["max", "min"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4"])
def test_extrema_of_many_updates_per_destination(dtype, reduction, include_self):
    """NaN stays, and the first of equal zeros."""
    for seed in (0, 1, 2):
        data, updates = numbers((12,), np.dtype(dtype), seed), numbers((2000,), np.dtype(dtype), seed + 1)
        indices = np.random.default_rng(seed).integers(0, 10, 2000)
        if seed == 0:  # zeros of both signs, and a NaN half-way for one destination
            data[:], updates[:] = data[:] * 0, np.copysign(0, np.random.default_rng(3).standard_normal(2000))
            updates[1000] = np.array(np.nan if dtype != "i4" else 0).astype(dtype)
        options = {"reduction": reduction, "include_self": include_self}
        expected = reference.scatter(data, indices, updates, **options)
        for route, n_threads in routes_for(reduction, dtype, (1, 3)):
            with kernels.forced(n_threads, scatter=route):
                assert_same_numbers(gs.scatter(data, indices, updates, **options), expected)


@every_route
@pytest.mark.parametrize("row", [(), (2,), (16,)])
def test_rows_without_updates_keep_the_bits_of_a_signalling_nan(row, route):
    """A division, even by 1, would make it quiet."""
    data = np.full((9, *row), 0x7F800005, np.uint32).view(np.float32)
    updates = np.ones((20, *row), np.float32)
    for include_self, n_threads in itertools.product((True, False), (1, 2)):
        with kernels.forced(n_threads, scatter=route):
            result = gs.scatter(data, np.arange(20) % 8, updates, reduction="mean", include_self=include_self)
        assert (result[8:].view(np.uint32) == 0x7F800005).all()
        assert np.isnan(result[:8]).all() == include_self


class TestMeans:
    @every_route
    @in_turn("terms", [1, 2, 3, 7, 1000])
    @in_turn("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
    def test_integers_near_the_limits_of_their_division(self, dtype, terms, route):
        bounds = np.iinfo(dtype)
        powers = [sign * 2**bits for sign in (1, -1) for bits in (0, 24, 31, 32, 51, 52, 53, 63)]
        near = [power + d for power in powers for d in range(-3, 4)]
        near += [bounds.min, bounds.max, *(terms * k + d for k in (1, -5, 100) for d in (-1, 0, 1))]
        near = [number for number in near if bounds.min <= number <= bounds.max]
        for n_threads in (1, 3):
            indices = np.repeat(np.arange(len(near)), terms - 1)
            zeros = np.zeros(len(indices), dtype)
            for data, updates in (
                (np.array(near, dtype), zeros),
                (np.array([near] * 3, dtype).T, np.zeros((len(indices), 3), dtype)),
            ):
                with kernels.forced(n_threads, scatter=route):
                    found = gs.scatter(data, indices, updates, reduction="mean")
                assert found.T.reshape(-1)[: len(near)].tolist() == [number // terms for number in near]

    @pytest.mark.parametrize("include_self", [True, False])
    @pytest.mark.parametrize("dtype", ["f2", "bfloat16", "f4", "i1", "i8", "u8"])
    def test_quotients_round_as_the_loop_s(self, dtype, include_self):
        dtype = numpy_dtype(dtype)
        data = np.repeat(numbers((100,), dtype, 1), 5)
        counts = np.tile([0, 1, 2, 3, 255], 100)
        indices = np.repeat(np.arange(500), counts)
        updates = np.zeros(len(indices), dtype)
        updates[np.unique(indices, return_index=True)[1]] = numbers((400,), dtype, 2)
        options = {"reduction": "mean", "include_self": include_self}
        expected = reference.scatter(data, indices, updates, **options)
        assert_same_numbers(gs.scatter(data, indices, updates, **options), expected)

    @staticmethod
    def quotients(totals, counts, dtype):
        """Means of so many terms; besides, one of a single term."""
        indices = np.append(np.repeat(np.arange(len(totals)), counts), len(totals))
        updates = np.zeros(len(indices), dtype)
        updates[np.cumsum(counts) - counts] = totals
        data = np.zeros(len(totals) + 1, dtype)
        return gs.scatter(data, indices, updates, reduction="mean", include_self=False)[:-1]

    def test_quotients_of_float16_round_once(self):
        """Rounded to float32 first, these quotients would fall on the wrong side of the middle of two 16-bit floats."""
        dtype, least = np.dtype("f2"), 30_000
        totals = np.arange(1024, 2048).astype(dtype)[:, None]
        counts = np.arange(least, least + 2000)
        exact = totals.astype(np.float64) / counts
        twice = exact.astype(np.float32).astype(dtype)
        which, count = np.nonzero(twice != exact.astype(dtype))
        assert len(which) >= 3
        some = np.linspace(0, len(which) - 1, 3).astype(int)
        count = counts[count[some]]
        result = self.quotients(totals[which[some], 0], count, dtype)
        assert_same_bits(result, exact[which[some], count - least].astype(dtype))

    def test_quotients_of_bfloat16_round_once(self):
        totals, counts = np.array([129, 134, 156]), np.array([65791, 69559, 67931])
        mantissa, exponent = np.frexp(totals / counts)
        exact = np.ldexp(np.rint(mantissa * 256), exponent - 8).astype("f4")
        dtype = numpy_dtype("bfloat16")
        assert not ((totals / counts).astype("f4").astype(dtype) == exact).any()
        assert_same_bits(self.quotients(totals, counts, dtype), exact.astype(dtype))

    @pytest.mark.parametrize("index_dtype", ["i4", "i8", "i2"])
    def test_many_updates_are_counted(self, index_dtype):
        """More than between two questions for signals, at single indices and at pairs; some destinations have none."""
        rng = np.random.default_rng(0)
        n, shape = 150_000, (40, 25)
        pairs = np.stack([rng.integers(0, size - 2, n) - size * rng.integers(0, 2, n) for size in shape], axis=-1)
        pairs = pairs.astype(index_dtype)
        flat = np.ravel_multi_index(tuple((pairs % shape).T), shape)
        counts = np.bincount(flat, minlength=1000).reshape(shape)
        assert (counts == 0).any()
        for dtype in ("f4", "i8"):
            data, updates = rng.integers(0, 99, shape).astype(dtype), rng.integers(0, 99, n).astype(dtype)
            sums = np.bincount(flat, updates, 1000).reshape(shape).astype(dtype)  # exact: less than 2**24
            for include_self in (True, False):
                total, terms = (data + sums, counts + 1) if include_self else (sums, counts)
                divided = total // np.maximum(terms, 1) if dtype == "i8" else total / np.maximum(terms, 1).astype(dtype)
                for reduction, expected in (("add", total), ("mean", divided)):
                    expected = np.where(terms == 0, data, expected)
                    words = {"reduction": reduction, "include_self": include_self}
                    for route, n_threads in routes_for(reduction, dtype, (1, 3)):
                        with kernels.forced(n_threads, scatter=route):
                            assert_same_bits(gs.scatter_nd(data, pairs, updates, **words), expected)
                            found = gs.scatter(data.reshape(-1), flat.astype("i8"), updates, **words)
                        assert_same_bits(found.reshape(shape), expected)


@marked
@in_turn("layout", ["F", "sliced", "reversed"])
def test_strided_results(reduction, include_self, layout):
    rng = np.random.default_rng(0)
    memory = rng.random((80, 9))
    out = {"F": memory.T, "sliced": memory[::2, ::3], "reversed": memory[::-1, ::-1]}[layout]
    indices, updates = rng.integers(0, len(out), (100, 1)), rng.random((100, out.shape[1]))
    options = {"reduction": reduction, "include_self": include_self}
    before, expected = memory.copy(), reference.scatter_nd(out, indices, updates, **options)
    gs.scatter_nd(out, indices, updates, out=out, **options)
    assert_same_bits(np.ascontiguousarray(out), expected)
    out[...] = {"F": before.T, "sliced": before[::2, ::3], "reversed": before[::-1, ::-1]}[layout]
    assert_same_bits(memory, before)  # nothing beside it


@marked
@pytest.mark.parametrize("shape", [(60, 40, 3), (3, 30, 32), (3, 30, 33)])
def test_units_keep_their_marks(shape, reduction, include_self):
    """Marks are relative to the unit; indices that are smaller than data, and rows behind the axis."""
    rng = np.random.default_rng(0)
    data = rng.random(shape)
    if shape[2] == 3:
        indices, axis = rng.integers(0, 3, (50, 30, 4)), 2
        function, loop, updates = gs.scatter_elements, reference.scatter_elements, rng.random(indices.shape)
    else:
        indices, axis, function, loop = rng.integers(-30, 30, 300), 1, gs.scatter, reference.scatter
        updates = rng.random((3, 300, shape[2]))
    options = {"axis": axis, "reduction": reduction, "include_self": include_self}
    expected = loop(data, indices, updates, **options)
    for route, n_threads in routes_for(reduction, "f8", (1, 3)):
        with kernels.forced(n_threads, scatter=route):
            assert_same_bits(function(data, indices, updates, **options), expected)


@pytest.mark.parametrize(
    ("reduction", "include_self"), [("add", True), ("add", False), ("mean", True), ("mean", False)]
)
@pytest.mark.parametrize(("dtype", "size"), [("f4", 1), ("f4", 2), ("f4", 3), ("f4", 4), ("f8", 2), ("f8", 3)])
def test_results_beyond_l2(small_l2, dtype, size, reduction, include_self):
    """Their destinations are prefetched, and so are those of indices that are out of bounds."""
    rng = np.random.default_rng(0)
    row = (size,) if size > 1 else ()
    n_rows, n = 8 * small_l2 // (size * np.dtype(dtype).itemsize), 30_000
    data, updates = rng.standard_normal((n_rows, *row)).astype(dtype), rng.standard_normal((n, *row)).astype(dtype)
    indices = rng.integers(0, n_rows, n)
    options = {"reduction": reduction, "include_self": include_self}
    counts = np.bincount(indices, minlength=n_rows)
    expected = data.copy()
    if not include_self:
        expected[counts > 0] = -0.0
    np.add.at(expected, indices, updates)
    if reduction == "mean":
        terms = np.maximum(counts + include_self, 1).reshape(-1, *(1,) * len(row)).astype(dtype)
        expected = np.where(counts.reshape(terms.shape) > 0, expected / terms, expected)
    for some_are_negative in (0, 0.0005, 0.5):
        given = np.where(rng.random(n) < some_are_negative, indices - n_rows, indices)
        with kernels.forced(1, scatter="direct"):
            assert_same_bits(gs.scatter(data, given, updates, **options), expected)
    indices[[5, 7777, n - 1]] = 2**62, -(2**63), n_rows
    before = data.copy()
    with kernels.forced(1, scatter="direct"), pytest.raises(IndexError, match=rf"indices\[5\] = {2**62} "):
        gs.scatter(data, indices, updates, out=data, **options)
    assert_same_bits(data, before)
