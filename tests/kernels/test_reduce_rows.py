"""Rows of every dtype and reduction that loops/reduce_rows.hpp has, beside NumPy row by row."""

import itertools

import gatherscatter as gs
import ml_dtypes
import numpy as np
import pytest
from assertions import assert_same_bits, assert_same_numbers
from gatherscatter._kernels import scatter
from gatherscatter._kernels.codes import ScatterStrategy
from gatherscatter.backends import kernels

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
FLOATS = ["f2", BFLOAT16, "f4", "f8"]
# Items of a row. Each way to cut it into vectors of 32, 16, 8 and 4 bytes and single numbers is one of them.
LENGTHS = [*range(2, 36), 48, 67, 128, 199]
N_ROWS, N_UPDATES = 7, 40


def step(reduction, a, b):
    """One row reduced with an update, with the rules of `gs.scatter` for NaN and equal numbers."""
    if a.dtype == bool:
        return a | b if reduction in ("add", "max") else a & b
    with np.errstate(all="ignore"):
        if reduction in ("add", "mul"):
            return (a + b if reduction == "add" else a * b).astype(a.dtype)
        return np.where((a >= b if reduction == "max" else a <= b) | np.isnan(a), a, b)


def random_rows(rng, dtype, shape):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        return rng.integers(bounds.min, bounds.max, shape, dtype, endpoint=True)
    if dtype.kind == "c":
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    values = [0.0, -0.0, 1, -1, 1e-7, -3e-5, 1e4, -6e4, 3.14, 0.1, np.inf, -np.inf]  # some subnormal, or infinite sums
    return np.where(rng.random(shape) < 0.5, rng.choice(values, shape), rng.standard_normal(shape)).astype(dtype)


def with_nans(rng, array):
    """A tenth of the numbers becomes NaN, each with a sign and a payload of its own as far as there are any."""
    bits = array.reshape(-1).view(f"u{array.itemsize}")
    nan = np.array(np.nan, array.dtype).view(bits.dtype)
    places = rng.choice(bits.size, bits.size // 10 + 1, replace=False)
    payloads = np.arange(places.size).astype(bits.dtype) % 60
    bits[places] = nan | payloads | np.where(places % 3, 0, np.array(-0.0, array.dtype).view(bits.dtype))
    return array


@pytest.mark.parametrize(("strategy", "n_threads"), [("serial", 1), ("rows", 2)])
@pytest.mark.parametrize(
    ("dtype", "reduction"),
    [*itertools.product(["?", *INTEGERS, *FLOATS], ["add", "mul", "max", "min"]), ("F", "add"), ("D", "add")],
    ids=str,
)
def test_rows_are_reduced_as_by_numpy(dtype, reduction, strategy, n_threads):
    rng = np.random.default_rng(0)
    for length in LENGTHS:
        data = random_rows(rng, dtype, (N_ROWS, length))
        updates = random_rows(rng, dtype, (N_UPDATES, length))
        indices = rng.integers(0, N_ROWS - 1, N_UPDATES)  # the last row has none
        expected = data.copy()
        for i, update in zip(indices, updates, strict=True):
            expected[i] = step(reduction, expected[i], update)
        with kernels.forced(n_threads, scatter=strategy):
            assert_same_numbers(gs.scatter(data, indices, updates, reduction=reduction), expected)
            in_place = data.copy()
            gs.scatter(in_place, indices, updates, reduction=reduction, out=in_place)
            assert_same_numbers(in_place, expected)
        assert ScatterStrategy(scatter.last_strategy()).name == strategy.upper()


@pytest.mark.parametrize(("strategy", "n_threads"), [("serial", 1), ("rows", 1), ("rows", 2)])
@pytest.mark.parametrize("reduction", ["max", "min"])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_the_first_nan_and_the_first_of_equal_numbers_stay(dtype, reduction, strategy, n_threads):
    rng = np.random.default_rng(0)
    for length in (3, 4, 16, 23, 71):
        data = with_nans(rng, random_rows(rng, dtype, (N_ROWS, length)))
        updates = with_nans(rng, random_rows(rng, dtype, (N_UPDATES, length)))
        indices = rng.integers(0, N_ROWS, N_UPDATES)
        expected = data.copy()
        for i, update in zip(indices, updates, strict=True):
            expected[i] = step(reduction, expected[i], update)
        with kernels.forced(n_threads, scatter=strategy):
            assert_same_bits(gs.scatter(data, indices, updates, reduction=reduction), expected)
        assert np.isnan(expected.astype("f4")).sum() > 0


@pytest.mark.parametrize("dtype", ["f2", BFLOAT16], ids=str)
@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
def test_every_16_bit_float_is_reduced_with_every_class_of_number(dtype, reduction):
    """Zeros, subnormal and normal numbers, infinities, NaN: all 65 536 beside each of some of every class."""
    every = np.arange(1 << 16, dtype="u2").view(dtype)
    for bits in (0, 0x8000, 1, 0x8001, 0x3FF, 0x3C01, 0xBC01, 0x7BFF, 0x7C00, 0xFC00, 0x7F80, 0xFF80, 0x7FC1, 0x5555):
        other = np.full(1 << 16, bits, "u2").view(dtype)
        expected = step(reduction, every, other)
        result = gs.scatter(every[None], [0], other[None], reduction=reduction)[0]
        same = assert_same_bits if reduction in ("max", "min") else assert_same_numbers
        same(result, expected)


@pytest.mark.parametrize("include_self", [True, False])
def test_a_row_with_many_updates_between_others(include_self):
    """Its updates are reduced in several calls, and then those of the next row, in the same task."""
    rng = np.random.default_rng(0)
    indices = np.concatenate([rng.integers(0, 3000, 400_000), np.full(17_000, 1400)])
    data, updates = rng.integers(0, 9, (3000, 16)), rng.integers(0, 9, (len(indices), 16))
    words = {"reduction": "add", "include_self": include_self}
    with kernels.forced(1, scatter="serial"):
        expected = gs.scatter(data, indices, updates, **words)
    with kernels.forced(1, scatter="rows"):
        assert_same_bits(gs.scatter(data, indices, updates, **words), expected)
    assert ScatterStrategy(scatter.last_strategy()) == ScatterStrategy.ROWS


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("dtype", ["f4", "f8", "F", "D"])
def test_means(dtype, include_self):
    """Rows of every length, which ROWS divides while they are in registers."""
    rng = np.random.default_rng(0)
    for length in LENGTHS:
        data, updates = (random_rows(rng, dtype, (n, length)) for n in (N_ROWS, N_UPDATES))
        indices = rng.integers(0, N_ROWS - 1, N_UPDATES)
        expected = data.copy()
        for row in set(indices):
            terms = [*data[row : row + include_self], *updates[indices == row]]
            total = terms[0]
            for term in terms[1:]:
                total = step("add", total, term)
            parts = (total.view(dtype.lower()) if dtype in "FD" else total) / np.array(len(terms), dtype).real
            expected[row] = parts.view(dtype)
        with kernels.forced(2, scatter="rows"):
            result = gs.scatter(data, indices, updates, reduction="mean", include_self=include_self)
            assert scatter.last_strategy() == ScatterStrategy.ROWS
            assert_same_numbers(result, expected)
            gs.scatter(data, indices, updates, reduction="mean", include_self=include_self, out=data)
        assert_same_numbers(data, expected)


@pytest.mark.parametrize("strategy", ["serial", "rows"])
def test_rows_without_updates_keep_the_bits_of_a_signalling_nan(strategy):
    """A division, even by 1, would make it quiet."""
    data = np.full((9, 16), 0x7F800005, np.uint32).view(np.float32)
    updates = np.ones((20, 16), np.float32)
    for include_self in (True, False):
        with kernels.forced(1, scatter=strategy):
            result = gs.scatter(data, np.arange(20) % 8, updates, reduction="mean", include_self=include_self)
        assert (result[8].view(np.uint32) == 0x7F800005).all()
        assert np.isnan(result[:8]).all() == include_self
