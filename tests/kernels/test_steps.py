"""The arithmetic of reductions on elements, points and rows of every dtype and length, beside NumPy step by step."""

import itertools

import gatherscatter as gs
import ml_dtypes
import numpy as np
import pytest
from assertions import assert_same_bits, assert_same_numbers
from gatherscatter.backends import kernels
from pairwise import each_pair, in_turn
from routes import routes_for
from scatters import applied, step

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
FLOATS = ["f2", BFLOAT16, "f4", "f8"]
# Items of a row. Each way to cut it into vectors of 64 to 4 bytes and single numbers is one of them.
LENGTHS = [*range(2, 36), 48, 67, 128, 199]
N_ROWS, N_UPDATES = 7, 30


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


def teams_for(reduction, dtype):
    return {("direct", 1), ("partition", 2), ("private", 2)}.intersection(routes_for(reduction, dtype, (1, 2)))


@pytest.mark.parametrize(
    ("dtype", "reduction"),
    [*itertools.product(["?", *INTEGERS, *FLOATS], ["add", "mul", "max", "min"]), ("F", "add"), ("D", "add")],
    ids=str,
)
def test_rows_are_reduced_as_by_numpy(dtype, reduction):
    rng = np.random.default_rng(0)
    for length in (n for n in LENGTHS if n > 40 or n * np.dtype(dtype).itemsize <= 144):
        data = random_rows(rng, dtype, (N_ROWS, length))
        updates = random_rows(rng, dtype, (N_UPDATES, length))
        indices = rng.integers(0, N_ROWS - 1, N_UPDATES)  # the last row has none
        expected = data.copy()
        for i, update in zip(indices, updates, strict=True):
            expected[i] = step(reduction, expected[i], update)
        for route, n_threads in teams_for(reduction, dtype):
            with kernels.forced(n_threads, scatter=route):
                assert_same_numbers(gs.scatter(data, indices, updates, reduction=reduction), expected)
                in_place = data.copy()
                gs.scatter(in_place, indices, updates, reduction=reduction, out=in_place)
            assert_same_numbers(in_place, expected)


@pytest.mark.parametrize("reduction", ["max", "min"])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_the_first_nan_and_the_first_of_equal_numbers_stay(dtype, reduction):
    rng = np.random.default_rng(0)
    for length in (3, 4, 16, 23, 71):
        data = with_nans(rng, random_rows(rng, dtype, (N_ROWS, length)))
        updates = with_nans(rng, random_rows(rng, dtype, (N_UPDATES, length)))
        indices = rng.integers(0, N_ROWS, N_UPDATES)
        expected = data.copy()
        for i, update in zip(indices, updates, strict=True):
            expected[i] = step(reduction, expected[i], update)
        for route, n_threads in teams_for(reduction, dtype):
            with kernels.forced(n_threads, scatter=route):
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
    """Whole numbers, whose sums are exact in any order."""
    rng = np.random.default_rng(0)
    indices = np.concatenate([rng.integers(0, 3000, 400_000), np.full(17_000, 1400)])
    data, updates = rng.integers(0, 9, (3000, 16)), rng.integers(0, 9, (len(indices), 16))
    expected = data * include_self
    for item in range(16):
        expected[:, item] += np.bincount(indices, updates[:, item], 3000).astype(int)
    for route, n_threads in routes_for("add", "i8", (1, 3)):
        with kernels.forced(n_threads, scatter=route):
            found = gs.scatter(data, indices, updates, reduction="add", include_self=include_self)
        assert_same_bits(found, expected)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("dtype", ["f4", "f8", "F", "D"])
def test_means(dtype, include_self):
    """Rows of every length."""
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
        for route, n_threads in routes_for("mean", dtype, (2,)):
            with kernels.forced(n_threads, scatter=route):
                result = gs.scatter(data, indices, updates, reduction="mean", include_self=include_self)
                assert_same_numbers(result, expected)
                out = data.copy()
                gs.scatter(out, indices, updates, reduction="mean", include_self=include_self, out=out)
            assert_same_numbers(out, expected)


ELEMENTS = ["i4", "i8", "u4", "u8", "f4", "f8", "F", "D"]
ORDERED = ["i4", "i8", "u4", "u8", "f4", "f8", "f2", ml_dtypes.bfloat16]
POINTS = [("f4", 2), ("f4", 3), ("f4", 4), ("f4", 5), ("f8", 2), ("f8", 3), ("f8", 4), ("i4", 2)]


def layouts(array):
    """The array, and views of the same numbers that are one further apart, and that start at an odd address."""
    yield array
    wide = np.empty((2 * len(array), *array.shape[1:]), array.dtype)
    wide[::2] = array
    yield wide[::2]
    memory = np.empty(array.nbytes + 1, np.uint8)
    unaligned = memory[1:].view(array.dtype).reshape(array.shape)
    unaligned[...] = array
    yield unaligned


def rounding(rng, dtype, shape):
    """Numbers of which each order has another sum, without infinity and NaN, which would hide it."""
    if np.dtype(dtype).kind in "iu":
        return random_rows(rng, dtype, shape)
    values = rng.standard_normal(shape) * 10.0 ** rng.integers(-2, 4, shape)
    return (values * (1 + 0.5j) if np.dtype(dtype).kind == "c" else values).astype(dtype)


def at_pairs(data, indices, updates, reduction):
    place = gs.at(data)[indices]
    return place.set(updates) if reduction == "none" else getattr(place, reduction)(updates)


def calls(shape, flat, dtype):
    """Shapes of data, functions and indices: single ones, pairs side by side, and two arrays."""
    rows, columns = (part.astype(dtype) for part in divmod(flat, shape[1]))
    yield (shape[0] * shape[1],), gs.scatter, flat.astype(dtype)
    yield shape, gs.scatter_nd, np.stack([rows, columns], axis=1)
    yield shape, at_pairs, (rows, columns)


def check(data, flat, updates, reduction, shape, index_dtype):
    """shape: of data's first axis, cut in two."""
    expected = applied(data, flat, updates, reduction)
    negative = flat - np.where(np.arange(len(flat)) % 5 == 3, len(data), 0)
    row = data.shape[1:]
    for data_shape, call, indices in calls(shape, flat, index_dtype):
        for each in layouts(updates):
            result = call(data.reshape(data_shape + row), indices, each, reduction=reduction)
            assert_same_bits(result.reshape(data.shape), expected)
    assert_same_bits(gs.scatter(data, negative.astype(index_dtype), updates, reduction=reduction), expected)


@pytest.mark.parametrize("index_dtype", ["i4", "i8"])
@in_turn(
    ("dtype", "reduction"),
    [*itertools.product(ELEMENTS, ["none", "add"]), *itertools.product(ORDERED, ["max", "min"])],
)
def test_elements(dtype, reduction, index_dtype):
    rng = np.random.default_rng(0)
    for n in (1, 4, 7, 1500):  # 1500: for maxima, an update rarely changes one of 12 destinations
        data, updates = random_rows(rng, dtype, 12), random_rows(rng, dtype, n)
        if dtype not in ("i4", "i8", "u4", "u8") and reduction in ("max", "min"):
            with_nans(rng, updates)
        check(data, rng.integers(0, 12, n), updates, reduction, (3, 4), index_dtype)


@pytest.mark.parametrize("index_dtype", ["i4", "i8"])
@pytest.mark.parametrize(("dtype", "length"), [*((dtype, 0) for dtype in ELEMENTS), *POINTS])
def test_sums_of_runs(dtype, length, index_dtype):
    """Groups of updates for one destination are summed in registers, one after the other."""
    rng, n = np.random.default_rng(0), 2001
    row = (length,) if length else ()
    for size in (3, 12, 60):
        data, updates = (rounding(rng, dtype, (count, *row)) for count in (size, n))
        flat = np.sort(rng.integers(0, size, n))
        for places in (flat, flat[::-1], np.where(rng.random(n) < 0.02, 0, flat)):
            check(data, places, updates, "add", (3, size // 3), index_dtype)
    # Within a run of one destination: some indices that are out of bounds, or negative.
    flat[1000:1600], run = 7, np.arange(1300, 1310)
    for value, places in itertools.product((size, -size - 1, 7 - size), ([1300], [1301], [1302], [1303], run)):
        flat[run] = 7
        flat[places] = value
        indices = flat.astype(index_dtype)
        if value == 7 - size:
            expected = applied(data, flat % size, updates, "add")
            assert_same_bits(gs.scatter(data, indices, updates, reduction="add"), expected)
            continue
        with pytest.raises(IndexError, match=rf"indices\[{places[0]}\] = {value} "):
            gs.scatter(data, indices, updates, reduction="add")
        expected = applied(data, np.delete(flat, places), np.delete(updates, places, axis=0), "add")
        assert_same_bits(gs.scatter(data, indices, updates, reduction="add", mode="drop"), expected)
        expected = applied(data, np.where(flat < 0, flat + size, flat).clip(0, size - 1), updates, "add")
        assert_same_bits(gs.scatter(data, indices, updates, reduction="add", mode="clip"), expected)


@each_pair(
    dtype=["f4", "i8", "F", ("f4", 3), ("f8", 2), "u1", "c16", ("u1", 5)],
    share=[0, 0.004, 0.3, 1],
    mode=["raise", "drop", "clip", "wrap"],
    index_dtype=["i4", "i8"],
)
def test_indices_that_are_negative_or_out_of_bounds(dtype, share, mode, index_dtype):
    """Few of them are seen to by the loop itself; from many in no order on, tuples are resolved by blocks."""
    rng, n, size = np.random.default_rng(0), 1500, 30
    dtype, row = (np.dtype(dtype), ()) if isinstance(dtype, str) else (np.dtype(dtype[0]), (dtype[1],))
    data, updates = (rng.integers(0, 9, (length, *row)).astype(dtype) for length in (size, n))
    for reduction, wrap_negative in itertools.product(("none", "add", "max"), (True, False)):
        if reduction == "max" and dtype.kind == "c":
            continue
        options = {} if wrap_negative or mode == "raise" else {"wrap_negative_indices": False}
        beyond = rng.integers(-size, 0, n) if mode == "raise" else rng.integers(-3 * size, 3 * size, n)
        flat = np.where(rng.random(n) < share, beyond, rng.integers(0, size, n))
        places = np.where((flat < 0) & (wrap_negative | (mode == "raise")), flat + size, flat)
        outside = (places < 0) | (places >= size)
        places = {"wrap": places % size}.get(mode, places.clip(0, size - 1))
        kept = ~outside if mode == "drop" else np.full(n, True)
        expected = applied(data, places[kept], updates[kept], reduction)
        options |= {"reduction": reduction, "mode": mode}
        assert_same_bits(gs.scatter(data, flat.astype(index_dtype), updates, **options), expected)
        pairs = np.stack([np.zeros(n, int), flat], axis=1).astype(index_dtype)
        assert_same_bits(gs.scatter_nd(data[None], pairs, updates, **options)[0], expected)
        pairs = np.stack([flat, np.zeros(n, int)], axis=1).astype(index_dtype)
        out = data[:, None].copy()
        assert_same_bits(gs.scatter_nd(out, pairs, updates, out=out, **options)[:, 0], expected)


@pytest.mark.parametrize("reduction", ["max", "min"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", ml_dtypes.bfloat16])
def test_the_first_of_equal_numbers_stays(dtype, reduction):
    rng = np.random.default_rng(0)
    check(np.zeros(12, dtype), rng.integers(0, 12, 1500), -np.zeros(1500, dtype), reduction, (3, 4), "i8")


@pytest.mark.parametrize(("dtype", "length"), POINTS)
def test_points(dtype, length):
    rng = np.random.default_rng(0)
    for n in (1, 5, 300):
        data, updates = random_rows(rng, dtype, (12, length)), random_rows(rng, dtype, (n, length))
        check(data, rng.integers(0, 12, n), updates, "add", (3, 4), "i8")


@pytest.mark.parametrize("length", [1, 3])
@pytest.mark.parametrize("axis", [0, 1])
@in_turn("value", [9, -10, 2**62, -(2**63)])
def test_an_index_out_of_bounds(value, axis, length):
    data, updates = np.zeros((9, 9, length), np.float32), np.ones((40, length), np.float32)
    for place in (0, 1, 3, 4, 38, 39):
        pairs = np.random.default_rng(0).integers(-9, 9, (40, 2))
        pairs[place, axis] = value
        with pytest.raises(IndexError, match=rf"indices\[{place}\] = .* axis {axis} has size 9"):
            gs.scatter_nd(data, pairs, updates, reduction="add", out=data)
        assert not data.any()
        with pytest.raises(IndexError, match=rf"indices\[{place}\] = .* axis {axis} has size 9"):
            gs.scatter_nd(data, pairs, updates, reduction="add")  # whose indices are not checked beforehand
        flat = np.where(np.arange(40) == place, value, 0)
        with pytest.raises(IndexError, match=rf"indices\[{place}\] = {value} "):
            gs.scatter(data[0], flat, updates, reduction="add")


@pytest.mark.parametrize("mode", ["raise", "drop"])
@pytest.mark.parametrize("reduction", ["add", "max"])
@pytest.mark.parametrize(("dtype", "length", "n_rows"), [("f4", 8, 300), ("f4", 24, 3000), ("i2", 3, 40_000)])
def test_rows_with_prefetches(small_l2, dtype, length, n_rows, reduction, mode, forced_threads):
    """Rows of a vector and more, and shorter ones of a result larger than L2."""
    rng = np.random.default_rng(0)
    n = 1500
    data, updates = random_rows(rng, dtype, (n_rows, length)), random_rows(rng, dtype, (n, length))
    indices = np.where(rng.random(n) < 0.5, rng.integers(0, 9, n), rng.integers(0, n_rows, n))
    kept = np.ones(n, bool)
    if mode == "drop":
        indices[[0, 7, 8, 127, 128, 1499]] = n_rows
        kept = indices < n_rows
    expected = applied(data, indices[kept], updates[kept], reduction)
    for each in layouts(updates):
        assert_same_bits(gs.scatter(data, indices, each, reduction=reduction, mode=mode), expected)
    for route, n_threads in routes_for(reduction, dtype, (3,)):
        with kernels.forced(n_threads, scatter=route):
            for each in layouts(updates):
                assert_same_bits(gs.scatter(data, indices, each, reduction=reduction, mode=mode), expected)
