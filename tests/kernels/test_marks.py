"""include_self=False and means in each strategy: first updates are assigned, sums divided by the owner."""

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits, assert_same_numbers
from constants import DTYPES, reduces
from gatherscatter import reference
from gatherscatter._kernels import scatter as kernel
from gatherscatter._kernels.codes import ScatterStrategy
from gatherscatter.backends import kernels
from strategies import numbers, numpy_dtype

# What needs marks: (reduction, include_self).
MARKED = [("add", False), ("mul", False), ("max", False), ("min", False), ("mean", False), ("mean", True)]
marked = pytest.mark.parametrize(("reduction", "include_self"), MARKED)
STRATEGIES = ["serial", "units", "rows", "row_pieces", "ranges", "local_ranges"]
STRATEGIES += ["private", "partition", "column_tiles"]


def call(strategy, dtype, seed, n=300):
    """(function, arrays, axis) that the strategy can run."""
    rng = np.random.default_rng(seed)
    if strategy == "units":
        shape, index_shape, axis, function = (64, 20), (64, 30), 1, "scatter_elements"
    elif strategy == "column_tiles":
        shape, index_shape, axis, function = (20, 3, 70), (30, 3, 70), 0, "scatter_elements"
        if seed % 2:  # not all columns have updates
            index_shape = (30, 2, 66)
    elif strategy in ("rows", "row_pieces"):
        n = 40 if seed % 2 else n  # fewer updates than rows: they are applied in row order, not in update order
        shape, index_shape, axis, function = (50, 17), (n,), 0, "scatter"
    elif strategy == "ranges" or (
        strategy in ("serial", "local_ranges", "partition") and seed % 2
    ):  # rows, whose width is no power of 2
        shape, index_shape, axis, function = (100, 3), (n,), 0, "scatter"
    else:
        shape, index_shape, axis, function = (100,), (n,), 0, "scatter"
    indices = rng.integers(0, shape[axis] * 2 // 3, index_shape)  # some destinations have no update
    updates_shape = index_shape if function == "scatter_elements" else (*index_shape, *shape[1:])
    return function, [numbers(shape, dtype, seed), indices, numbers(updates_shape, dtype, seed + 1)], axis


def marked_dtypes():
    """Parameters: dtype, reduction, include_self. Each dtype has some of the reductions by default, and slowly all."""
    for n, dtype in enumerate((*DTYPES, ">f8", ">c8", ">i2")):
        for i, option in enumerate(MARKED):
            if reduces(option[0], dtype if dtype in DTYPES else np.dtype(dtype).name):
                yield pytest.param(dtype, *option, marks=[] if (n + i) % 3 == 0 else pytest.mark.slow)


@pytest.mark.parametrize("n_threads", [3, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(("dtype", "reduction", "include_self"), list(marked_dtypes()))
def test_each_strategy_gives_the_loop_s_bits(reduction, include_self, dtype, strategy, n_threads):
    dtype = numpy_dtype(dtype) if dtype in DTYPES else np.dtype(dtype)
    for seed in (0, 1, 2):
        function, arrays, axis = call(strategy, dtype, seed)
        options = {"axis": axis, "reduction": reduction, "include_self": include_self}
        expected = getattr(reference, function)(*arrays, **options)
        with kernels.forced(n_threads, scatter=strategy), np.errstate(all="ignore"):
            assert_same_numbers(getattr(gs, function)(*arrays, **options), expected)
            out = arrays[0].copy()
            assert getattr(gs, function)(out, *arrays[1:], out=out, **options) is out
        assert_same_numbers(out, expected)


@pytest.mark.parametrize("strategy", STRATEGIES)
@marked
def test_skipped_updates_count_for_nothing(reduction, include_self, strategy):
    function, (data, indices, updates), axis = call(strategy, np.dtype("f4"), 0)
    indices[::3] = 10**6
    options = {"axis": axis, "reduction": reduction, "include_self": include_self, "mode": "drop"}
    expected = getattr(reference, function)(data, indices, updates, **options)
    with kernels.forced(3, scatter=strategy):
        assert_same_numbers(getattr(gs, function)(data, indices, updates, **options), expected)


@pytest.mark.parametrize("strategy", STRATEGIES)
@marked
def test_a_bad_index_leaves_out_as_it_was(reduction, include_self, strategy):
    function, (data, indices, updates), axis = call(strategy, np.dtype("f4"), 0)
    indices[-1] = 10**6
    out = np.full_like(data, 7)
    for target in (out, data):
        before = target.copy()
        with kernels.forced(3, scatter=strategy), pytest.raises(IndexError, match="1000000 is out of bounds"):
            getattr(gs, function)(
                data, indices, updates, axis=axis, reduction=reduction, include_self=include_self, out=target
            )
        assert_same_bits(target, before)


@marked
@pytest.mark.parametrize("n", [1, 5, 300])
def test_few_updates_of_many_rows(reduction, include_self, n):
    """Marks are in a hash table then, which has to hold colliding offsets."""
    rng = np.random.default_rng(n)
    data = rng.random(10**5)
    indices = np.repeat(rng.integers(0, 10**5, n), 3)
    rng.shuffle(indices)
    updates = rng.random(len(indices))
    options = {"reduction": reduction, "include_self": include_self}
    expected = reference.scatter(data, indices, updates, **options)
    assert_same_bits(gs.scatter(data, indices, updates, **options), expected)
    out = data.copy()
    gs.scatter(out, indices, updates, out=out, **options)
    assert_same_bits(out, expected)


@marked
@pytest.mark.parametrize("layout", ["F", "sliced", "reversed"])
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


def test_unaligned_units_keep_their_marks():
    """scatter_elements with indices that are smaller than data: units are not where they would be in the result."""
    rng = np.random.default_rng(0)
    data, indices, updates = rng.random((60, 40, 3)), rng.integers(0, 3, (50, 30, 4)), rng.random((50, 30, 4))
    for reduction, include_self in MARKED:
        options = {"axis": 2, "reduction": reduction, "include_self": include_self}
        with kernels.forced(3, scatter="units"):
            result = gs.scatter_elements(data, indices, updates, **options)
        assert kernel.last_strategy() == ScatterStrategy.UNITS
        assert_same_bits(result, reference.scatter_elements(data, indices, updates, **options))


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("dtype", ["f2", "bfloat16", "f4", "i1", "i8", "u8"])
def test_quotients_round_as_the_loop_s(dtype, include_self):
    dtype = numpy_dtype(dtype)
    data = np.repeat(numbers((400,), dtype, 1), 5)
    counts = np.tile([0, 1, 2, 3, 255], 400)
    indices = np.repeat(np.arange(2000), counts)
    updates = np.zeros(len(indices), dtype)
    updates[np.unique(indices, return_index=True)[1]] = numbers((1600,), dtype, 2)
    options = {"reduction": "mean", "include_self": include_self}
    expected = reference.scatter(data, indices, updates, **options)
    assert_same_numbers(gs.scatter(data, indices, updates, **options), expected)


@pytest.mark.parametrize("n_rows", [3_000_000, 1 << 16])
@marked
def test_more_updates_than_a_round_takes(reduction, include_self, n_rows):
    """Marks last from round to round. Whole numbers, so that sums of any order are equal."""
    rng = np.random.default_rng(0)
    row = (32,) if n_rows == 1 << 16 else ()
    n = 4_100_000 if row else 5_500_000
    data = np.full((n_rows, *row), 3.0)
    indices = rng.integers(0, n_rows - 1, n, np.int32)
    indices[-1] = n_rows - 1  # only the last round names the last row
    scalar = 2.0
    updates = np.broadcast_to(np.full(row, scalar), (n, *row))
    with kernels.forced(2, scatter="rows" if row else "partition"):
        result = gs.scatter(data, indices, updates, reduction=reduction, include_self=include_self)
    assert kernel.last_strategy() == (ScatterStrategy.ROWS if row else ScatterStrategy.PARTITION)
    counts = np.bincount(indices, minlength=n_rows)
    start = 3.0 if include_self else 0.0
    with np.errstate(all="ignore"):
        named = {
            "add": counts * scalar,
            "mul": scalar**counts,
            "max": np.full(n_rows, scalar),
            "min": np.full(n_rows, scalar),
            "mean": (start + counts * scalar) / (counts + include_self),
        }[reduction]
    expected = np.where(counts > 0, named, 3.0)
    assert_same_bits(result, np.ascontiguousarray(np.broadcast_to(expected.reshape(-1, *(1,) * len(row)), data.shape)))


@pytest.mark.parametrize("strategy", ["serial", "private", "units"])
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduction", ["max", "min"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4"])
def test_extrema_of_many_updates_per_destination(dtype, reduction, include_self, strategy):
    """With many updates per destination there is a branch around the store: NaN stays, and the first of equal zeros."""
    for seed in (0, 1, 2):
        data, updates = numbers((12,), np.dtype(dtype), seed), numbers((2000,), np.dtype(dtype), seed + 1)
        indices = np.random.default_rng(seed).integers(0, 10, 2000)
        if seed == 0:  # zeros of both signs, and a NaN half-way for one destination
            data[:], updates[:] = data[:] * 0, np.copysign(0, np.random.default_rng(3).standard_normal(2000))
            updates[1000] = np.array(np.nan if dtype != "i4" else 0).astype(dtype)
        options = {"reduction": reduction, "include_self": include_self}
        expected = reference.scatter(data, indices, updates, **options)
        with kernels.forced(3, scatter=strategy):
            assert_same_numbers(gs.scatter(data, indices, updates, **options), expected)


@pytest.mark.parametrize("mode", ["raise", "drop"])
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("strategy", ["serial", "units", "row_pieces"])
def test_rows_that_are_counted_while_they_are_reduced(strategy, include_self, mode):
    """Rows of more than a cache line, in each of several units, whose marks are relative to the unit."""
    rng = np.random.default_rng(0)
    for n_items in (32, 33):
        shape = (30, n_items) if strategy == "row_pieces" else (3, 30, n_items)
        data = rng.standard_normal(shape, np.float32)
        indices = rng.integers(-30, 40 if mode == "drop" else 30, 1100)
        updates = rng.standard_normal((*shape[:-2], 1100, n_items), np.float32)
        options = {"axis": len(shape) - 2, "reduction": "mean", "include_self": include_self, "mode": mode}
        with kernels.forced(1, scatter=strategy):
            found = gs.scatter(data, indices, updates, **options)
        assert kernel.last_strategy() == ScatterStrategy[strategy.upper()]
        assert_same_bits(found, reference.scatter(data, indices, updates, **options))


def quotients(totals, counts, dtype):
    """Means of so many terms; besides, one of a single term."""
    indices = np.append(np.repeat(np.arange(len(totals)), counts), len(totals))
    updates = np.zeros(len(indices), dtype)
    updates[np.cumsum(counts) - counts] = totals
    data = np.zeros(len(totals) + 1, dtype)
    return gs.scatter(data, indices, updates, reduction="mean", include_self=False)[:-1]


def test_quotients_of_float16_round_once():
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
    result = quotients(totals[which[some], 0], count, dtype)
    assert_same_bits(result, exact[which[some], count - least].astype(dtype))


@pytest.mark.parametrize("n_threads", [1, 2, 3, 8])
@pytest.mark.parametrize("strategy", ["serial", "private"])
@pytest.mark.parametrize("index_dtype", ["i4", "i8", "i2"])
def test_many_updates_are_counted(n_threads, strategy, index_dtype):
    """More than between two questions for signals, at single indices and at pairs; some destinations have none."""
    rng = np.random.default_rng(n_threads)
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
            total, n_terms = (data + sums, counts + 1) if include_self else (sums, counts)
            divided = total // np.maximum(n_terms, 1) if dtype == "i8" else total / np.maximum(n_terms, 1).astype(dtype)
            for reduction, expected in (("add", total), ("mean", divided)):
                expected = np.where(n_terms == 0, data, expected)
                words = {"reduction": reduction, "include_self": include_self}
                with kernels.forced(n_threads, scatter=strategy):
                    assert_same_bits(gs.scatter_nd(data, pairs, updates, **words), expected)
                    found = gs.scatter(data.reshape(-1), flat.astype("i8"), updates, **words)
                assert_same_bits(found.reshape(shape), expected)


def test_quotients_of_bfloat16_round_once():
    totals, counts = np.array([129, 134, 156]), np.array([65791, 69559, 67931])
    mantissa, exponent = np.frexp(totals / counts)
    exact = np.ldexp(np.rint(mantissa * 256), exponent - 8).astype("f4")
    dtype = numpy_dtype("bfloat16")
    assert not ((totals / counts).astype("f4").astype(dtype) == exact).any()
    assert_same_bits(quotients(totals, counts, dtype), exact.astype(dtype))
