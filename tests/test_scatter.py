"""scatter, scatter_nd and scatter_elements on NumPy arrays against the scalar loop."""

import functools
import gc
import itertools
import operator
import sys
import tracemalloc

import gatherscatter as gs
import ml_dtypes
import numpy as np
import pytest
from conftest import assert_same_bits, assert_same_numbers
from gatherscatter import reference
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import (
    DISTINCT_LAYOUTS,
    INDEX_DTYPES,
    LAYOUTS,
    PLAIN_DTYPES,
    REDUCTION_DTYPES,
    REDUCTIONS,
    REFERENCE_DTYPES,
    SAME_DTYPE_LAYOUTS,
    SCATTER_MODES,
    WRITABLE_LAYOUTS,
    lay_out,
    numbers,
    reduces,
    scatter_calls,
    values,
)


def limits(max_examples):
    return settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=max_examples)


FUNCTIONS = {"scatter": gs.scatter, "scatter_nd": gs.scatter_nd, "scatter_elements": gs.scatter_elements}
LOOPS = {
    "scatter": reference.scatter,
    "scatter_nd": reference.scatter_nd,
    "scatter_elements": reference.scatter_elements,
}
each = pytest.mark.parametrize("name", FUNCTIONS)

# One axis, one index an item: all three do the same.
FLAT = {
    "scatter": gs.scatter,
    "scatter_nd": lambda data, indices, updates, **options: gs.scatter_nd(data, indices[:, None], updates, **options),
    "scatter_elements": gs.scatter_elements,
}
every = pytest.mark.parametrize("flat", FLAT.values(), ids=FLAT)

STEPS = {
    "none": lambda a, b: b,
    "add": operator.add,
    "mul": operator.mul,
    "max": reference.largest,
    "min": reference.smallest,
    "mean": operator.add,
}


def along(data, indices, updates, reduction="none", include_self=True):
    """The loop for one axis of real numbers, quick enough for some hundred thousand updates."""
    result, step = list(data), STEPS[reduction]
    counts = [int(include_self)] * len(result)
    with np.errstate(all="ignore"):
        for i, update in zip(indices.tolist(), updates, strict=True):
            result[i] = step(result[i], update) if counts[i] or reduction == "none" else update
            counts[i] += 1
        if reduction == "mean":
            named = np.unique(indices).tolist()
            for i in named:
                result[i] = reference.quotient(result[i], counts[i])
    return np.array(result, data.dtype)


class TestEqualsTheLoop:
    @each
    @limits(120)
    @given(data=st.data())
    def test_reductions(self, name, forced_threads, data):
        call = data.draw(scatter_calls(name, REDUCTION_DTYPES, REDUCTIONS, scalars=True))
        *arrays, options = call
        assert_same_numbers(FUNCTIONS[name](*arrays, **options), LOOPS[name](*arrays, **options))

    @each
    @limits(60)
    @given(data=st.data())
    def test_assignment_of_every_dtype(self, name, forced_threads, data):
        *arrays, options = data.draw(scatter_calls(name, PLAIN_DTYPES))
        assert_same_bits(FUNCTIONS[name](*arrays, **options), LOOPS[name](*arrays, **options))

    @each
    @limits(100)
    @given(data=st.data())
    def test_items_with_references(self, name, data):
        *arrays, options = data.draw(scatter_calls(name, REFERENCE_DTYPES))
        assert_same_bits(FUNCTIONS[name](*arrays, **options), LOOPS[name](*arrays, **options))

    @each
    @limits(40)
    @given(data=st.data())
    def test_out_of_any_layout(self, name, forced_threads, data):
        dtypes = [np.dtype(spec) for spec in ("f4", "V48", "?", "D", ml_dtypes.bfloat16, object)]
        *arrays, options = data.draw(scatter_calls(name, dtypes, REDUCTIONS))
        expected = LOOPS[name](*arrays, **options)
        out = lay_out(np.zeros(expected.shape, expected.dtype), data.draw(st.sampled_from(WRITABLE_LAYOUTS)))
        assert FUNCTIONS[name](*arrays, out=out, **options) is out
        same = assert_same_numbers if arrays[0].dtype in REDUCTION_DTYPES else assert_same_bits
        same(out, expected)

    @each
    @limits(40)
    @given(data=st.data())
    def test_in_place(self, name, forced_threads, data):
        dtypes = [np.dtype(spec) for spec in ("f4", "V48", "u1", "D", "f2", object)]
        source, *arrays, options = data.draw(scatter_calls(name, dtypes, REDUCTIONS))
        expected = LOOPS[name](source, *arrays, **options)
        out = lay_out(np.array(source, source.dtype), data.draw(st.sampled_from(WRITABLE_LAYOUTS)))
        assert FUNCTIONS[name](out, *arrays, out=out, **options) is out
        same = assert_same_numbers if out.dtype in REDUCTION_DTYPES else assert_same_bits
        same(out, expected)


@each
@pytest.mark.parametrize("dtype", REDUCTION_DTYPES, ids=str)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_every_reduction_of_every_dtype(name, dtype, reduction):
    """With include_self either way, in every mode, layouts taking turns; refused where the dtype has no such one."""
    shape, axis = (3, 5, 4), 1
    indices = {
        "scatter": np.array([3, -5, 4, 0, 4, 3, 4, -9, 6], "i2"),
        "scatter_nd": np.array([[0, 3], [0, -5], [-1, 4], [2, 4], [0, 3], [1, 6], [2, -9], [0, 3]], "i1"),
        "scatter_elements": np.array([[[4, 0], [-5, 4], [4, 6]], [[4, -1], [4, -9], [0, 4]]], "i8"),
    }[name]
    written = {"scatter": (3, 9, 4), "scatter_nd": (8, 4), "scatter_elements": (2, 3, 2)}[name]
    extra = {} if name == "scatter_nd" else {"axis": axis}
    layouts = itertools.cycle(itertools.product(LAYOUTS, SAME_DTYPE_LAYOUTS, DISTINCT_LAYOUTS))
    for include_self, mode, seed in itertools.product([True, False], SCATTER_MODES, [0, 1, 2]):
        of_data, of_updates, of_indices = next(itertools.islice(layouts, 37, None))
        data = lay_out(numbers(shape, dtype, seed), of_data)
        updates = lay_out(numbers(written, data.dtype, seed + 3), of_updates)
        places = indices % 5 if mode in ("raise", "promise_in_bounds") and name != "scatter_nd" else indices
        if mode in ("raise", "promise_in_bounds") and name == "scatter_nd":
            places = indices % [3, 5]
        places = lay_out(places.astype(indices.dtype), of_indices)
        options = {"reduction": reduction, "include_self": include_self, "mode": mode, **extra}
        if reduces(dtype, reduction):
            result = FUNCTIONS[name](data, places, updates, **options)
            assert_same_numbers(result, LOOPS[name](data, places, updates, **options))
        else:
            with pytest.raises(TypeError):
                FUNCTIONS[name](data, places, updates, **options)


@each
@pytest.mark.parametrize("dtype", PLAIN_DTYPES + REFERENCE_DTYPES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_assignment_of_every_dtype_in_every_layout(name, dtype, layout):
    data = lay_out(values((5, 4, 3), dtype, 1), layout)
    indices, written = {
        "scatter": (np.array([[4, -5], [0, 4]]), (2, 2, 4, 3)),
        "scatter_nd": (np.array([[4, -4], [0, 3], [-5, 0], [4, 0]]), (4, 3)),
        "scatter_elements": (np.array([[[4, -5], [0, 4], [1, -1]]] * 2), (2, 3, 2)),
    }[name]
    updates = values(written, data.dtype, 2)
    for given_updates in (updates, lay_out(updates, layout if layout != "swapped" else "reversed")):
        result = FUNCTIONS[name](data, indices, given_updates)
        assert_same_bits(result, LOOPS[name](data, indices, given_updates))


@each
@pytest.mark.parametrize("dtype", INDEX_DTYPES, ids=str)
@pytest.mark.parametrize("layout", DISTINCT_LAYOUTS)
@pytest.mark.parametrize("mode", SCATTER_MODES)
def test_every_index_dtype_in_every_layout(name, dtype, layout, mode):
    info = np.iinfo(dtype)
    data = np.arange(300).reshape(100, 3)
    within = [[99, 2], [-100, -3], [0, 0], [-1, -1]]
    beyond = [[127, -7], [-128, 4], [info.max, info.min], [info.min, info.max], [100, 3], [-101, -4]]
    rows = within if mode in ("raise", "promise_in_bounds") else within + beyond
    indices = lay_out(np.array([[max(i, info.min) for i in row] for row in rows], dtype), layout)
    written = {
        "scatter": (*indices.shape, 3),
        "scatter_nd": indices.shape[:1],
        "scatter_elements": indices.shape,
    }[name]
    updates = np.arange(1000, 1000 + np.prod(written)).reshape(written)
    for reduction in ("none", "add"):
        options = {"mode": mode, "reduction": reduction}
        result = FUNCTIONS[name](data, indices, updates, **options)
        assert_same_bits(result, LOOPS[name](data, indices, updates, **options))


@functools.cache
def sums_that_cancel(dtype, n_destinations, reduction):
    """Operands and the loop's results by include_self, which are not those of another order."""
    rng = np.random.default_rng(n_destinations)
    n = 3000
    large = 10.0 ** rng.integers(-3, 4 if dtype.itemsize == 2 else 12, n)
    updates = (rng.choice([-1.0, 1.0], n) * large * rng.random(n)).astype(dtype)
    data = rng.standard_normal(n_destinations).astype(dtype)
    indices = rng.integers(0, n_destinations, n)
    expected = {}
    for include_self in (True, False):
        expected[include_self] = along(data, indices, updates, reduction, include_self)
        turned = along(data, indices[::-1], updates[::-1], reduction, include_self)
        assert n_destinations == 2000 or (expected[include_self] != turned).any()
    return (data, indices, updates), expected


@functools.cache
def large_sums(n_destinations, n_updates, dtype, reduction):
    data, updates = numbers((n_destinations,), dtype, 3), numbers((n_updates,), dtype, 6)
    indices = np.random.default_rng(0).integers(0, n_destinations, n_updates)
    return data, indices, updates, along(data, indices, updates, reduction)


class TestOrder:
    """Duplicates: the result is the sequential loop's, whatever cuts the work."""

    @every
    @pytest.mark.parametrize("dtype", ["f2", ml_dtypes.bfloat16, "f4", "f8", ">f4", "F"], ids=str)
    @pytest.mark.parametrize("n_destinations", [1, 3, 50, 2000])
    @pytest.mark.parametrize("reduction", ["add", "mean"])
    def test_sums_that_cancel(self, flat, dtype, n_destinations, reduction, forced_threads):
        arrays, expected = sums_that_cancel(np.dtype(dtype), n_destinations, reduction)
        for include_self, wanted in expected.items():
            result = flat(*arrays, reduction=reduction, include_self=include_self)
            assert_same_numbers(result, wanted)

    @every
    @pytest.mark.parametrize("dtype", ["u1", "i8", "V3", "D", "V32", object])
    @pytest.mark.parametrize("n_destinations", [1, 7, 3000])
    def test_the_last_assignment_wins(self, flat, dtype, n_destinations, forced_threads):
        rng = np.random.default_rng(0)
        data, updates = values((n_destinations,), np.dtype(dtype), 1), values((5000,), np.dtype(dtype), 2)
        indices = rng.integers(-n_destinations, n_destinations, 5000)
        expected = data.copy()
        for i, where in enumerate(indices.tolist()):
            expected[where] = updates[i]
        assert_same_bits(flat(data, indices, updates), expected)

    @pytest.mark.parametrize("reduction", REDUCTIONS)
    @pytest.mark.parametrize("row", [1, 2, 5, 16, 33, 300])
    @pytest.mark.parametrize("dtype", ["u2", "f4"])
    def test_rows(self, reduction, row, dtype, forced_threads):
        """The rows' elements are independent columns, each with the loop's order."""
        data, updates = numbers((23, row), np.dtype(dtype), 3), numbers((300, row), np.dtype(dtype), 6)
        indices = np.random.default_rng(0).integers(0, 23, 300)
        tail = slice(max(0, row - 2), row)
        parts = [along(data[:, j], indices, updates[:, j], reduction) for j in range(tail.start, row)]
        for result in (
            gs.scatter(data, indices, updates, reduction=reduction),
            gs.scatter_nd(data, indices[:, None], updates, reduction=reduction),
            gs.scatter(data.T, indices, updates.T, axis=1, reduction=reduction).T,
        ):
            assert_same_numbers(np.ascontiguousarray(result[:, tail]), np.stack(parts, axis=1))

    @pytest.mark.parametrize("reduction", REDUCTIONS)
    @pytest.mark.parametrize("shape", [(9000,), (5, 1300), (1300, 5), (3, 40, 50), (50, 3, 40)])
    @pytest.mark.parametrize("order", ["C", "F", "sliced"])
    def test_elements_along_every_axis(self, reduction, shape, order, forced_threads):
        rng = np.random.default_rng(0)
        data = lay_out(numbers(shape, np.dtype("f4"), 3), order)
        for axis, size in enumerate(shape):
            part = [max(1, n - 2) for n in shape]
            part[axis] = size + 9
            indices = rng.integers(0, max(1, size // 3), part)
            updates = lay_out(numbers(part, np.dtype("f4"), 6), order)
            result = gs.scatter_elements(data, indices, updates, axis=axis, reduction=reduction)
            lines = [
                np.moveaxis(array, axis, -1).reshape(-1, array.shape[axis])
                for array in (data[tuple(slice(n) for n in part)], indices, updates)
            ]
            column = len(lines[1]) - 1
            expected = along(*(line[column] for line in lines), reduction)
            inner = result[tuple(slice(n) if i != axis else slice(None) for i, n in enumerate(part))]
            got = np.moveaxis(inner, axis, -1).reshape(-1, size)[column]
            assert_same_numbers(np.ascontiguousarray(got), expected)
            untouched = np.ones(shape, bool)
            untouched[tuple(slice(n) if i != axis else slice(None) for i, n in enumerate(part))] = False
            assert_same_numbers(result[untouched], data[untouched])

    @every
    @pytest.mark.parametrize("n_destinations", [1000, 200_000])
    @pytest.mark.parametrize("reduction", REDUCTIONS)
    def test_large_work_is_parallel_without_being_forced(self, flat, n_destinations, reduction):
        data, indices, updates, expected = large_sums(n_destinations, 300_000, np.dtype("f4"), reduction)
        for n in (1, 2, 3, 4, 8):
            gs.set_num_threads(n)
            assert_same_numbers(flat(data, indices, updates, reduction=reduction), expected)
            in_place = data.copy()
            flat(in_place, indices, updates, reduction=reduction, out=in_place)
            assert_same_numbers(in_place, expected)

    @pytest.mark.parametrize("mode", ["clip", "wrap", "drop"])
    @pytest.mark.parametrize("index_dtype", ["i4", "u8"])
    def test_large_work_with_indices_beyond(self, mode, index_dtype):
        n = 100_000
        data, updates = np.zeros(n), np.random.default_rng(0).standard_normal(300_000)
        indices = np.random.default_rng(1).integers(0, 2 * n, 300_000).astype(index_dtype)
        named = {"clip": np.minimum(indices, n - 1), "wrap": indices % n, "drop": indices[indices < n]}[mode]
        expected = along(data, named, updates[indices < n] if mode == "drop" else updates, "add")
        for threads in (1, 2, 3, 8):
            gs.set_num_threads(threads)
            for call in FLAT.values():
                assert_same_bits(call(data, indices, updates, reduction="add", mode=mode), expected)

    def test_large_rows_and_batches(self):
        rng = np.random.default_rng(0)
        data, updates = rng.standard_normal((2, 3000, 24)), rng.standard_normal((2, 9000, 24))
        indices = rng.integers(0, 3000, (2, 9000))
        indices[:, ::3] = 7
        expected = data.copy()
        for b in range(2):
            for i, row in zip(indices[b].tolist(), updates[b], strict=True):
                expected[b, i] += row
        for n in (1, 2, 3, 4, 8):
            gs.set_num_threads(n)
            options = {"batch_dims": 1, "reduction": "add"}
            assert_same_bits(gs.scatter(data, indices, updates, axis=1, **options), expected)
            assert_same_bits(gs.scatter_nd(data, indices[..., None], updates, **options), expected)
            wide = np.ascontiguousarray(np.broadcast_to(indices[..., None], updates.shape))
            assert_same_bits(gs.scatter_elements(data, wide, updates, axis=1, reduction="add"), expected)


def destinations(kind, n, n_updates):
    rng = np.random.default_rng(0)
    if kind == "one":
        return np.full(n_updates, n - 1)
    if kind == "two":
        return rng.choice([0, n - 1], n_updates)
    if kind == "neighbours":
        return rng.integers(n // 2, n // 2 + 2, n_updates)
    if kind == "power law":
        return np.minimum(rng.zipf(1.3, n_updates), n) - 1
    if kind == "descending":
        return np.sort(rng.integers(0, n, n_updates))[::-1]
    return np.sort(rng.integers(0, n, n_updates))


class TestWorstCases:
    @every
    @pytest.mark.parametrize("kind", ["one", "two", "neighbours", "power law", "ascending", "descending"])
    @pytest.mark.parametrize("n", [10, 400_000])
    def test_destinations(self, flat, kind, n):
        """Integers, since NumPy's own scatters have the loop's result for these."""
        rng = np.random.default_rng(1)
        indices = destinations(kind, n, 400_000)
        data = rng.integers(-9, 9, n)
        updates = rng.integers(-(2**62), 2**62, 400_000)
        expected = {"none": data.copy(), "add": data.copy(), "max": data.copy(), "mul": data.copy()}
        expected["none"][indices] = updates
        np.add.at(expected["add"], indices, updates)
        np.maximum.at(expected["max"], indices, updates)
        np.multiply.at(expected["mul"], indices, updates)
        for threads in (1, 2, 3, 8):
            gs.set_num_threads(threads)
            for reduction, wanted in expected.items():
                assert_same_bits(flat(data, indices, updates, reduction=reduction), wanted)

    @every
    @pytest.mark.parametrize("kind", ["one", "two", "power law"])
    @pytest.mark.parametrize("dtype", ["f4", "f2", ml_dtypes.bfloat16], ids=str)
    def test_float_sums(self, flat, kind, dtype, forced_threads):
        indices = destinations(kind, 5000, 5000)
        data, updates = numbers((5000,), np.dtype(dtype), 3), numbers((5000,), np.dtype(dtype), 6)
        for reduction in ("add", "mean"):
            expected = along(data, indices, updates, reduction)
            assert_same_numbers(flat(data, indices, updates, reduction=reduction), expected)


class TestReductions:
    def test_nan_propagates_and_ties_keep_the_destination(self, forced_threads):
        nan, inf = np.nan, np.inf
        data = np.array([nan, 1.0, 1.0, 0.0, -0.0, -inf, 2.0])
        updates = np.array([5.0, nan, 0.0, -0.0, 0.0, inf, nan, 3.0, 7.0])
        indices = np.array([0, 1, 2, 3, 4, 5, 6, 6, 1])
        for dtype in ("f8", "f4", "f2", ml_dtypes.bfloat16, ">f8"):
            for call in FLAT.values():
                largest = call(data.astype(dtype), indices, updates.astype(dtype), reduction="max")
                smallest = call(data.astype(dtype), indices, updates.astype(dtype), reduction="min")
                expected = np.array([nan, nan, 1.0, 0.0, -0.0, inf, nan], dtype)
                assert_same_numbers(largest, expected)
                assert_same_numbers(smallest, np.array([nan, nan, 0.0, 0.0, -0.0, -inf, nan], dtype))

    def test_float16_and_bfloat16_round_at_every_step(self, forced_threads):
        """2048 + 1 is 2048 in float16, and 256 + 1 is 256 in bfloat16: a wider sum would end higher."""
        for dtype, stuck in ((np.float16, 2048), (ml_dtypes.bfloat16, 256)):
            for call in FLAT.values():
                data, ones = np.array([stuck], dtype), np.ones(1000, dtype)
                indices = np.zeros(1000, int)
                assert call(data, indices, ones, reduction="add") == dtype(stuck)
                assert call(data, indices, ones, reduction="mean") == dtype(stuck / 1001)
                assert call(data, indices, ones, reduction="mean", include_self=False) == dtype(min(stuck, 1000) / 1000)

    def test_every_float16_and_bfloat16_is_converted(self):
        """All 65536 bit patterns, with each of some partners."""
        for dtype in (np.dtype("f2"), np.dtype(ml_dtypes.bfloat16)):
            data = np.arange(2**16, dtype="u2").view(dtype)
            for partner in (0.0, -0.0, 1.0, 1e-7, 3e-5, 1e4, -1.0, np.inf, 1.001):
                updates = np.full(2**16, partner, dtype)
                with np.errstate(all="ignore"):
                    expected = {"add": data + updates, "mul": data * updates}
                for reduction, wanted in expected.items():
                    result = gs.scatter(data, np.arange(2**16), updates, reduction=reduction)
                    assert_same_numbers(result, wanted)

    def test_integers_wrap_around_and_means_floor(self, forced_threads):
        for call in FLAT.values():
            data = np.array([100, -7, 0], "i1")
            indices, updates = np.array([0, 1, 0, 2]), np.array([100, -2, 1, -1], "i1")
            assert call(data, indices, updates, reduction="add").tolist() == [-55, -9, -1]
            assert call(data, indices, updates, reduction="mul").tolist() == [16, 14, 0]
            assert call(data, indices, updates, reduction="mean").tolist() == [-19, -5, -1]
            alone = call(data, indices, updates, reduction="mean", include_self=False)
            assert alone.tolist() == [50, -2, -1]
            high = np.array([2**64 - 1], "u8")
            assert call(high, np.array([0]), high, reduction="add").tolist() == [2**64 - 2]
            assert call(high, np.array([0]), high, reduction="mean").tolist() == [2**63 - 1]

    def test_a_count_beyond_the_integers_range(self, forced_threads):
        """The mean of 300 int8 ones is 44 // 300: the sum wraps, the count does not."""
        for call in FLAT.values():
            zeros = np.zeros(300, int)
            data, ones = np.array([0], "i1"), np.ones(300, "i1")
            assert call(data, zeros, ones, reduction="mean", include_self=False).tolist() == [0]
            assert call(data, zeros, -ones, reduction="mean", include_self=False).tolist() == [-1]
            assert call(data.astype("u1"), zeros, ones.astype("u1") * 3, reduction="mean").tolist() == [0]

    def test_bools(self, forced_threads):
        data = np.array([False, False, True, True])
        indices, updates = np.array([0, 1, 2, 3]), np.array([False, True, False, True])
        for call in FLAT.values():
            for reduction, expected in (("add", data | updates), ("max", data | updates)):
                assert_same_bits(call(data, indices, updates, reduction=reduction), expected)
            for reduction, expected in (("mul", data & updates), ("min", data & updates)):
                assert_same_bits(call(data, indices, updates, reduction=reduction), expected)

    def test_bools_that_are_other_bytes_than_0_and_1(self, forced_threads):
        """A view of bytes may hold them: NumPy takes them for True."""
        data, updates = np.array([0, 2, 4, 0], "u1").view("?"), np.array([6, 1, 0, 0], "u1").view("?")
        for call in FLAT.values():
            for reduction, expected in (("add", [1, 1, 1, 0]), ("mul", [0, 1, 0, 0]), ("max", [1, 1, 1, 0])):
                result = call(data, np.arange(4), updates, reduction=reduction)
                assert result.astype("i1").astype(bool).tolist() == [bool(i) for i in expected]

    def test_complex_products_are_numpys(self, forced_threads):
        """Not C's, which repairs what infinities make NaN."""
        inf, nan = np.inf, np.nan
        data = np.array([complex(inf, 0), complex(inf, inf), complex(1e30, -1e30), complex(nan, 1), complex(-0.0, 0.0)])
        updates = np.array([1 + 1j, 1 - 1j, complex(1e30, 1e30), 2j, complex(-0.0, -1)])
        for dtype in ("F", "D", ">c8"):
            d, u = data.astype(dtype), updates.astype(dtype)
            expected = reference.scatter(d, np.arange(5), u, reduction="mul")
            for call in FLAT.values():
                assert_same_numbers(call(d, np.arange(5), u, reduction="mul"), expected)

    @every
    def test_include_self_false(self, flat, forced_threads):
        data = np.array([100, 200, 300, 400])
        indices, updates = np.array([2, 0, 2, 2]), np.array([5, 3, -4, 8])
        expected = {
            "none": [3, 200, 8, 400],
            "add": [3, 200, 9, 400],
            "mul": [3, 200, -160, 400],
            "max": [3, 200, 8, 400],
            "min": [3, 200, -4, 400],
            "mean": [3, 200, 3, 400],
        }
        for reduction, wanted in expected.items():
            assert flat(data, indices, updates, reduction=reduction, include_self=False).tolist() == wanted
            dropped = flat(data, np.append(indices, 9), np.append(updates, 1), reduction=reduction, mode="drop",
                           include_self=False)  # fmt: skip
            assert dropped.tolist() == wanted

    @every
    def test_include_self_false_with_only_dropped_updates_leaves_data(self, flat):
        for reduction in REDUCTIONS:
            result = flat(np.array([1.5, 2.5]), np.array([7, -9]), np.array([1.0, 2.0]), reduction=reduction,
                          mode="drop", include_self=False)  # fmt: skip
            assert result.tolist() == [1.5, 2.5]


class TestShapes:
    @pytest.mark.parametrize(
        ("data", "indices", "updates", "axis", "batch_dims"),
        [
            ((4,), (), (), 0, 0),
            ((4, 5), (), (4,), 1, 0),
            ((4, 5), (0,), (4, 0), 1, 0),
            ((4, 5, 6), (2, 3), (4, 2, 3, 6), 1, 0),
            ((4, 5, 6), (4, 3), (4, 3, 6), 1, 1),
            ((4, 5, 6), (4, 3), (4, 5, 3), -1, 1),
            ((4, 5, 6), (4, 5), (4, 5), 2, 2),
            ((4, 0, 6), (0, 3), (4, 0, 3, 6), 1, 0),
            ((0, 5), (3,), (0, 3), 1, 0),
            ((4, 5, 6), (4,), (4, 5), 2, 1),
        ],
    )
    def test_scatter(self, data, indices, updates, axis, batch_dims):
        for reduction, mode in itertools.product(REDUCTIONS, SCATTER_MODES):
            options = {"axis": axis, "batch_dims": batch_dims, "reduction": reduction, "mode": mode}
            arrays = np.ones(data), np.zeros(indices, int), np.full(updates, 3.0)
            assert_same_bits(gs.scatter(*arrays, **options), reference.scatter(*arrays, **options))

    @pytest.mark.parametrize(
        ("data", "indices", "updates", "batch_dims"),
        [
            ((), (0,), (), 0),
            ((), (3, 0), (3,), 0),
            ((2, 3), (0,), (2, 3), 0),
            ((2, 3), (4, 0), (4, 2, 3), 0),
            ((2, 3), (2, 3, 0), (2, 3, 3), 1),
            ((2, 3), (2,), (), 0),
            ((0, 3), (0, 1), (0, 3), 0),
            ((0, 3), (0, 2), (0,), 0),
            ((4, 0), (5, 1), (5, 0), 0),
            ((4, 2), (0, 7, 2), (0, 7), 0),
        ],
    )
    def test_scatter_nd(self, data, indices, updates, batch_dims):
        for reduction, mode in itertools.product(REDUCTIONS, SCATTER_MODES):
            options = {"batch_dims": batch_dims, "reduction": reduction, "mode": mode}
            arrays = np.ones(data), np.zeros(indices, int), np.full(updates, 3.0)
            assert_same_bits(gs.scatter_nd(*arrays, **options), reference.scatter_nd(*arrays, **options))

    @pytest.mark.parametrize(
        ("data", "indices", "axis"),
        [((4,), (9,), 0), ((4, 5), (0, 5), 0), ((4, 5), (3, 0), 0), ((4, 5), (2, 9), -1), ((0, 5), (0, 2), 1)],
    )
    def test_scatter_elements(self, data, indices, axis):
        for reduction, mode in itertools.product(REDUCTIONS, SCATTER_MODES):
            options = {"axis": axis, "reduction": reduction, "mode": mode}
            arrays = np.ones(data), np.zeros(indices, int), np.full(indices, 3.0)
            assert_same_bits(gs.scatter_elements(*arrays, **options), reference.scatter_elements(*arrays, **options))

    def test_an_empty_slice_does_not_hide_a_bad_index(self):
        for call in (
            lambda: gs.scatter(np.zeros((4, 0)), np.array([4]), np.zeros((1, 0))),
            lambda: gs.scatter(np.zeros((0, 4)), np.array([4]), np.zeros((0, 1)), axis=1),
            lambda: gs.scatter_nd(np.zeros((4, 0)), np.array([[4]]), np.zeros((1, 0))),
        ):
            with pytest.raises(IndexError):
                call()

    @every
    @pytest.mark.parametrize("mode", ["raise", "clip", "wrap", "promise_in_bounds"])
    @pytest.mark.parametrize("dtype", ["f4", object])
    def test_nothing_lies_on_an_empty_axis(self, flat, mode, dtype):
        with pytest.raises(IndexError):
            flat(np.zeros(0, dtype), np.array([0]), np.zeros(1, dtype), mode=mode)
        assert flat(np.zeros(0, dtype), np.array([0, -1]), np.zeros(2, dtype), mode="drop").shape == (0,)
        assert flat(np.zeros(0, dtype), np.zeros(0, int), np.zeros(0, dtype), mode=mode).shape == (0,)

    def test_the_result_is_new(self):
        """Also where nothing is written."""
        data = np.arange(5.0)
        for flat in FLAT.values():
            for indices in ([], [3]):
                result = flat(data, np.array(indices, int), np.full(len(indices), 9.0))
                assert not np.shares_memory(result, data)
                assert result.flags.writeable
        assert data.tolist() == [0, 1, 2, 3, 4]

    def test_arguments_by_name_and_lists(self):
        assert gs.scatter(data=[0, 0, 0], indices=[2, 0], updates=[5, 6]).tolist() == [6, 0, 5]
        assert gs.scatter_nd(data=[[0, 0]], indices=[[0, 1]], updates=[5]).tolist() == [[0, 5]]
        assert gs.scatter_elements(data=[[0, 0]], indices=[[1]], updates=[[5]], axis=1).tolist() == [[0, 5]]


class TestScalarUpdates:
    @pytest.mark.parametrize(
        ("dtype", "scalar"),
        [("?", True), ("i1", -3), ("u8", 2**64 - 1), ("f2", 1.5), (ml_dtypes.bfloat16, 2), ("f4", 2), ("f8", -0.0),
         ("F", 1 - 2j), ("D", 2.5), (">i8", 7), (">f4", 0.5)],
        ids=repr,
    )  # fmt: skip
    def test_is_broadcast(self, dtype, scalar, forced_threads):
        data = numbers((6,), np.dtype(dtype), 0)
        indices = np.array([5, 0, 5, -1, 2])
        for reduction, name in itertools.product(REDUCTIONS, FUNCTIONS):
            if reduces(data.dtype, reduction):
                places = indices[:, None] if name == "scatter_nd" else indices
                result = FUNCTIONS[name](data, places, scalar, reduction=reduction)
                assert_same_numbers(result, LOOPS[name](data, places, scalar, reduction=reduction))

    def test_rows_and_batches(self, forced_threads):
        data = np.arange(24.0).reshape(2, 3, 4)
        places = np.array([[2, 0], [1, 1]])
        result = gs.scatter(data, places, 1, axis=1, batch_dims=1, reduction="add")
        assert_same_bits(result, reference.scatter(data, places, 1, axis=1, batch_dims=1, reduction="add"))
        result = gs.scatter_nd(data, places, 1, batch_dims=1, reduction="add")
        assert_same_bits(result, reference.scatter_nd(data, places, 1, batch_dims=1, reduction="add"))

    def test_of_dtypes_that_only_move(self):
        assert gs.scatter(np.array(["a", "b"]), np.array([1]), "c").tolist() == ["a", "c"]
        assert gs.scatter(np.array([None, None]), np.array([1]), "c").tolist() == [None, "c"]
        words = np.array(["a", "b"], np.dtypes.StringDType())
        assert gs.scatter(words, np.array([1]), "long " * 9).tolist() == ["a", "long " * 9]

    @every
    @pytest.mark.parametrize(
        ("dtype", "scalar"), [("i4", 1.5), ("u1", 256), ("u1", -1), ("?", 2), ("f4", 1j), ("i4", "7"), ("f4", None)]
    )
    def test_that_do_not_fit(self, flat, dtype, scalar):
        data = np.zeros(3, dtype)
        with pytest.raises(TypeError):
            flat(data, np.array([0]), scalar, out=data)
        assert not data.any()


X = np.zeros((4, 5))
I1 = np.zeros((1, 1), int)
REFUSED = {
    "scatter: data is 0-d": lambda **o: gs.scatter(np.array(1.0), [0], [1.0], **o),
    "scatter: axis too large": lambda **o: gs.scatter(X, [0], np.zeros((1, 5)), axis=2, **o),
    "scatter: axis too small": lambda **o: gs.scatter(X, [0], np.zeros((1, 5)), axis=-3, **o),
    "scatter: batch_dims beyond axis": lambda **o: gs.scatter(X, np.zeros((4, 5), int), 0.0, batch_dims=1, **o),
    "scatter: batch_dims beyond indices": lambda **o: gs.scatter(X, np.zeros(4, int), 0.0, axis=1, batch_dims=2, **o),
    "scatter: batch sizes differ": lambda **o: gs.scatter(X, np.zeros((3, 1), int), 0.0, axis=1, batch_dims=1, **o),
    "scatter: updates too short": lambda **o: gs.scatter(X, np.array([0, 1]), np.zeros((1, 5)), **o),
    "scatter: updates of a row": lambda **o: gs.scatter(X, np.array([0, 1]), np.zeros(5), **o),
    "scatter: updates of the other axis": lambda **o: gs.scatter(X, np.array([0]), np.zeros((4, 1)), **o),
    "scatter: mode of gathers": lambda **o: gs.scatter(X, [0], 0.0, mode="fill", **o),
    "scatter: unknown mode": lambda **o: gs.scatter(X, [0], 0.0, mode="skip", **o),
    "scatter: unknown reduction": lambda **o: gs.scatter(X, [0], 0.0, reduction="sum", **o),
    "nd: indices is 0-d": lambda **o: gs.scatter_nd(X, np.array(0), 0.0, **o),
    "nd: tuples too long": lambda **o: gs.scatter_nd(X, np.zeros((2, 3), int), 0.0, **o),
    "nd: batch_dims too large": lambda **o: gs.scatter_nd(X, np.zeros((4, 1), int), 0.0, batch_dims=2, **o),
    "nd: batch sizes differ": lambda **o: gs.scatter_nd(X, np.zeros((3, 1), int), 0.0, batch_dims=1, **o),
    "nd: updates too short": lambda **o: gs.scatter_nd(X, np.zeros((2, 2), int), np.zeros(1), **o),
    "nd: updates are not broadcast": lambda **o: gs.scatter_nd(X, np.zeros((2, 1), int), np.zeros((1, 5)), **o),
    "nd: updates of elements for rows": lambda **o: gs.scatter_nd(X, np.zeros((2, 1), int), np.zeros(2), **o),
    "nd: mode of gathers": lambda **o: gs.scatter_nd(X, [[0]], 0.0, mode="fill", **o),
    "nd: unknown mode": lambda **o: gs.scatter_nd(X, [[0]], 0.0, mode="RAISE", **o),
    "nd: unknown reduction": lambda **o: gs.scatter_nd(X, [[0]], 0.0, reduction="Add", **o),
    "elements: data is 0-d": lambda **o: gs.scatter_elements(np.array(1.0), np.array(0), np.array(1.0), **o),
    "elements: ranks differ": lambda **o: gs.scatter_elements(X, np.array([0]), np.array([0.0]), **o),
    "elements: larger off the axis": lambda **o: gs.scatter_elements(X, np.zeros((1, 6), int), np.zeros((1, 6)), **o),
    "elements: axis too large": lambda **o: gs.scatter_elements(X, I1, np.zeros((1, 1)), axis=2, **o),
    "elements: updates of another shape": lambda **o: gs.scatter_elements(X, I1, np.zeros((1, 2)), **o),
    "elements: updates are not broadcast": lambda **o: gs.scatter_elements(
        X, np.zeros((2, 5), int), np.zeros((1, 5)), **o
    ),
    "elements: mode of gathers": lambda **o: gs.scatter_elements(X, I1, 0.0, mode="fill", **o),
    "elements: unknown mode": lambda **o: gs.scatter_elements(X, I1, 0.0, mode="skip", **o),
    "elements: unknown reduction": lambda **o: gs.scatter_elements(X, I1, 0.0, reduction="prod", **o),
}
REFUSED_TYPES = {
    "scatter: updates of a wider dtype": lambda **o: gs.scatter(X, [0], np.zeros((1, 5), "G"), **o),
    "scatter: updates of a narrower dtype": lambda **o: gs.scatter(X, [0], np.zeros((1, 5), "f4"), **o),
    "scatter: updates of integers": lambda **o: gs.scatter(X, [0], np.zeros((1, 5), int), **o),
    "scatter: float indices": lambda **o: gs.scatter(X, [0.0], 0.0, **o),
    "scatter: bool indices": lambda **o: gs.scatter(X, np.array([True]), 0.0, **o),
    "scatter: axis no integer": lambda **o: gs.scatter(X, [0], 0.0, axis=0.0, **o),
    "scatter: mode no string": lambda **o: gs.scatter(X, [0], 0.0, mode=0, **o),
    "scatter: reduction no string": lambda **o: gs.scatter(X, [0], 0.0, reduction=np.add, **o),
    "scatter: masked updates": lambda **o: gs.scatter(X, [0], np.ma.zeros((1, 5)), **o),
    "scatter: masked indices": lambda **o: gs.scatter(X, np.ma.zeros(1, int), 0.0, **o),
    "scatter: no updates": lambda **o: gs.scatter(X, [0], None, **o),
    "nd: updates of another dtype": lambda **o: gs.scatter_nd(X, [[0]], np.zeros((1, 5), "f4"), **o),
    "nd: updates of integers": lambda **o: gs.scatter_nd(X, [[0]], np.zeros((1, 5), "i8"), **o),
    "nd: float indices": lambda **o: gs.scatter_nd(X, [[0.0]], 0.0, **o),
    "nd: masked updates": lambda **o: gs.scatter_nd(X, [[0]], np.ma.zeros((1, 5)), **o),
    "nd: reduction no string": lambda **o: gs.scatter_nd(X, [[0]], 0.0, reduction=None, **o),
    "elements: updates of another dtype": lambda **o: gs.scatter_elements(X, I1, np.zeros((1, 1), "f4"), **o),
    "elements: float indices": lambda **o: gs.scatter_elements(X, np.zeros((1, 1)), 0.0, **o),
    "elements: masked updates": lambda **o: gs.scatter_elements(X, I1, np.ma.zeros((1, 1)), **o),
    "elements: axis no integer": lambda **o: gs.scatter_elements(X, I1, 0.0, axis="0", **o),
}


class TestRefused:
    @pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
    def test_values(self, call):
        out = np.full((4, 5), 7.0)
        for _ in range(2):  # a plan that was refused is not cached as one that holds
            with pytest.raises(ValueError, match=r"^scatter(_nd|_elements)?: "):
                call(out=out)
            with pytest.raises(ValueError, match=r"^scatter(_nd|_elements)?: "):
                call()
        assert (out == 7).all()

    @pytest.mark.parametrize("call", REFUSED_TYPES.values(), ids=REFUSED_TYPES)
    def test_types(self, call):
        out = np.full((4, 5), 7.0)
        for _ in range(2):
            with pytest.raises(TypeError, match=r"^scatter(_nd|_elements)?: "):
                call(out=out)
            with pytest.raises(TypeError, match=r"^scatter(_nd|_elements)?: "):
                call()
        assert (out == 7).all()

    @each
    def test_out(self, name):
        indices = np.array([[0]])
        call = FUNCTIONS[name]
        updates = np.zeros({"scatter": (1, 1, 5), "scatter_nd": (1, 5), "scatter_elements": (1, 1)}[name])
        assert call(X, indices, updates, out=np.ones((4, 5))).sum() == 0
        for out in (np.zeros((5, 4)), np.zeros(20), np.zeros((1, 4, 5)), np.broadcast_to(0.0, (4, 5))):
            with pytest.raises(ValueError, match=rf"^{name}: "):
                call(X, indices, updates, out=out)
        for out in (np.zeros((4, 5), "f4"), np.zeros((4, 5), ">f8"), np.ma.zeros((4, 5)), X.tolist()):
            with pytest.raises(TypeError, match=rf"^{name}: "):
                call(X, indices, updates, out=out)

    def test_read_only_data_in_place(self):
        data = np.zeros(3)
        data.flags.writeable = False
        for flat in FLAT.values():
            with pytest.raises(ValueError, match="read-only"):
                flat(data, np.array([0]), np.ones(1), out=data)
        assert not data.any()

    @every
    @pytest.mark.parametrize(
        "dtype",
        ["U3", "S3", object, np.dtypes.StringDType(), "M8[D]", "m8[s]", "V7", "g", "G", [("x", "f4"), ("y", "f4")],
         ml_dtypes.float8_e4m3fn, ml_dtypes.int4, ml_dtypes.uint4],
        ids=str,
    )  # fmt: skip
    def test_reductions_of_what_only_moves(self, flat, dtype):
        data, updates = values((3,), np.dtype(dtype), 1), values((2,), np.dtype(dtype), 2)
        before = data.copy()
        for reduction in REDUCTIONS[1:]:
            with pytest.raises(TypeError):
                flat(data, np.array([0, 1]), updates, reduction=reduction, out=data)
            with pytest.raises(TypeError):  # nor where there is nothing to reduce
                flat(data, np.zeros(0, int), updates[:0], reduction=reduction)
        assert_same_bits(data, before)
        result = flat(data, np.array([0, 1]), updates)
        assert_same_bits(result, np.concatenate([updates, data[2:]]).astype(data.dtype))

    @every
    def test_no_order_of_complex_numbers_and_no_mean_of_bools(self, flat):
        for dtype, reduction in (("F", "max"), ("D", "min"), ("?", "mean"), (">c16", "max")):
            with pytest.raises(TypeError):
                flat(np.zeros(3, dtype), np.array([0]), np.zeros(1, dtype), reduction=reduction)


def bad_calls(n, bad, where, dtype):
    """Every scatter's ways to meet one bad index: (call, shape of data, indices, updates, options)."""
    size = n // 4
    indices = np.random.default_rng(0).integers(-size, size, n)
    indices[where] = bad(size)
    updates = values((n,), dtype, 1)
    rows = values((n, 3), dtype, 1)
    pairs = np.stack([np.zeros_like(indices), indices], axis=1)
    square = np.broadcast_to(np.arange(size - 4)[:, None] % 5, (size - 4, 5)).copy()
    square[where * (size - 5) // (n - 1), 3] = bad(5)
    return {
        "scatter": (gs.scatter, (size,), indices, updates, {}),
        "scatter of rows": (gs.scatter, (size, 3), indices, rows, {}),
        "scatter along the last axis": (gs.scatter, (3, size), indices, rows.T, {"axis": 1}),
        "nd": (gs.scatter_nd, (size,), indices[:, None], updates, {}),
        "nd of rows": (gs.scatter_nd, (size, 3), indices[:, None], rows, {}),
        "nd of pairs": (gs.scatter_nd, (2, size), pairs, updates, {}),
        "nd in batches": (
            gs.scatter_nd, (2, size), indices.reshape(2, -1, 1), updates.reshape(2, -1), {"batch_dims": 1},
        ),
        "elements": (gs.scatter_elements, (size,), indices, updates, {}),
        "elements along the first axis": (
            gs.scatter_elements, (size, 4), indices.reshape(4, -1).T, updates.reshape(4, -1).T, {},
        ),
        "elements along the last axis": (
            gs.scatter_elements, (size, 5), square, values(square.shape, dtype, 1), {"axis": 1},
        ),
    }  # fmt: skip


class TestAllOrNothing:
    """In place, with one bad index: every byte is as it was."""

    @pytest.mark.parametrize("bad", [lambda n: n, lambda n: -n - 1, lambda n: 2**62], ids=["n", "-n-1", "2**62"])
    @pytest.mark.parametrize("where", [0, 2020, 3999])
    @pytest.mark.parametrize("dtype", ["f4", "V3", object])
    def test_small(self, forced_threads, bad, where, dtype):
        dtype = np.dtype(dtype)
        for call, shape, indices, updates, options in bad_calls(4000, bad, where, dtype).values():
            for layout in ("C", "sliced"):
                data = lay_out(values(shape, dtype, 2), layout)
                before = data.copy()
                for reduction in ("none", "add", "mean") if dtype == "f4" else ("none",):
                    for mode in ("raise", "promise_in_bounds"):
                        with pytest.raises(IndexError):
                            call(data, indices, updates, out=data, mode=mode, reduction=reduction, **options)
                    if dtype == "f4":
                        with pytest.raises(IndexError):
                            call(data, indices, 1, out=data, reduction=reduction, **options)
                assert_same_bits(data, before)

    @pytest.mark.parametrize("where", [0, 200_001, 399_999])
    def test_large(self, where):
        for call, shape, indices, updates, options in bad_calls(400_000, lambda n: n, where, np.dtype("f4")).values():
            data = values(shape, np.dtype("f4"), 2)
            before = data.copy()
            other = before + 1
            for threads in (1, 2, 8):
                gs.set_num_threads(threads)
                for reduction in ("none", "add", "mean"):
                    with pytest.raises(IndexError):
                        call(data, indices, updates, out=data, reduction=reduction, **options)
                    with pytest.raises(IndexError):
                        call(data, indices, updates, out=other, reduction=reduction, **options)
            assert_same_bits(data, before)
            assert_same_bits(other, before + 1)

    def test_clip_and_wrap_into_an_empty_axis(self):
        for dtype in ("f4", object):
            data = np.ones((3000, 0), dtype)
            for mode in ("clip", "wrap"):
                with pytest.raises(IndexError):
                    gs.scatter_elements(
                        data, np.zeros((3000, 1), int), np.ones((3000, 1), dtype), axis=1, mode=mode, out=data
                    )
                with pytest.raises(IndexError):
                    gs.scatter(data, np.zeros(1, int), np.ones((3000, 1), dtype), axis=1, mode=mode, out=data)


class TestOverlap:
    @every
    @pytest.mark.parametrize("reduction", REDUCTIONS)
    def test_out_with_updates(self, flat, reduction, forced_threads):
        for store_slice in (slice(0, 5000), slice(1, 5001), slice(None, None, 2), slice(9999, 4999, -1)):
            store = np.random.default_rng(0).standard_normal(10_000)
            indices = np.random.default_rng(1).integers(0, 5000, 5000)
            data = np.arange(5000.0)
            expected = along(data, indices, store[:5000].copy(), reduction)
            out = store[store_slice]
            assert flat(data, indices, store[:5000], reduction=reduction, out=out) is out
            assert_same_numbers(np.ascontiguousarray(out), expected)

    @every
    @pytest.mark.parametrize("reduction", ["none", "add"])
    def test_out_with_indices(self, flat, reduction, forced_threads):
        for start in (0, 1, 2500):
            store = np.random.default_rng(1).integers(0, 5000, 10_000)
            data, updates = np.arange(5000), np.arange(5000) * 7
            expected = along(data, store[:5000].copy(), updates, reduction)
            out = store[start : start + 5000]
            flat(data, store[:5000], updates, reduction=reduction, out=out)
            assert_same_bits(out, expected)

    @every
    @pytest.mark.parametrize("reduction", ["none", "add", "mean"])
    def test_out_with_a_part_of_data(self, flat, reduction, forced_threads):
        indices = np.random.default_rng(1).integers(0, 5000, 6000)
        updates = np.random.default_rng(2).standard_normal(6000)
        for pick in (slice(1, 5001), slice(5000, 10_000), slice(4999, None, -1), slice(None, None, 2)):
            store = np.random.default_rng(0).standard_normal(10_000)
            expected = along(store[:5000].copy(), indices, updates, reduction)
            out = store[pick]
            flat(store[:5000], indices, updates, reduction=reduction, out=out)
            assert_same_bits(np.ascontiguousarray(out), expected)

    def test_data_is_its_own_updates_and_indices(self, forced_threads):
        for flat in FLAT.values():
            data = np.random.default_rng(1).integers(0, 5000, 5000)
            expected = along(data, data.copy(), data.copy(), "add")
            flat(data, data, data, reduction="add", out=data)
            assert_same_bits(data, expected)

    def test_transposed_in_place(self, forced_threads):
        data = np.random.default_rng(0).integers(0, 60, (60, 60))
        expected = reference.scatter_elements(data.T, data.copy(), data.copy(), reduction="add")
        result = gs.scatter_elements(data.T, data, data, reduction="add", out=data)
        assert result is data
        assert_same_bits(data, expected)

    def test_out_that_overlaps_itself(self):
        """Every element of out is one: NumPy's assignment decides, and the last wins."""
        for flat in FLAT.values():
            store = np.zeros(1)
            out = np.lib.stride_tricks.as_strided(store, (5,), (0,))
            flat(np.arange(5.0), np.array([4, 0]), np.array([7.0, 8.0]), out=out)
            assert store == 7.0


class Thing:
    pass


class TestReferences:
    @every
    def test_counts(self, flat):
        things = [Thing() for _ in range(3)]
        data, updates = np.array([things[0]] * 4, object), np.array([things[1], things[2], things[1]], object)
        start = [sys.getrefcount(thing) for thing in things]

        def more():
            now = [sys.getrefcount(thing) for thing in things]
            return [n - s for n, s in zip(now, start, strict=True)]

        indices = np.array([0, 3, 0])
        result = flat(data, indices, updates)
        assert result.tolist() == [things[1], things[0], things[0], things[2]]
        assert more() == [2, 1, 1]
        flat(data, indices, updates[::-1], out=result)
        assert more() == [2, 1, 1]
        flat(result, np.array([0, 1, 2, 3]), np.array([things[2]] * 4), out=result)
        assert more() == [0, 0, 4]
        with pytest.raises(IndexError):
            flat(result, np.array([0, 1, 4]), updates, out=result)
        assert more() == [0, 0, 4]
        flat(data, np.array([9, 1, 9]), updates, mode="drop", out=result)
        assert more() == [3, 0, 1]
        del result
        gc.collect()
        assert more() == [0, 0, 0]

    @every
    def test_counts_of_many(self, flat):
        """More than NumPy is given at once, with the last of the duplicates in each place."""
        things = [Thing() for _ in range(40_000)]
        updates = np.array(things, object)
        indices = np.random.default_rng(0).integers(0, 1000, 40_000)
        before = [sys.getrefcount(thing) for thing in things]
        result = flat(np.full(1000, None), indices, updates)
        expected = [None] * 1000
        for i, where in enumerate(indices.tolist()):
            expected[where] = things[i]
        assert result.tolist() == expected
        kept = {id(thing) for thing in expected}
        after = [sys.getrefcount(thing) for thing in things]
        del expected
        more = [now - was - 2 * (id(thing) in kept) for now, was, thing in zip(after, before, things, strict=True)]
        assert set(more) == {0}

    @every
    def test_strings_live_on_after_their_arrays(self, flat):
        words = [f"{i} is a string that does not fit into sixteen bytes" for i in range(4)]
        data, updates = np.array(words[:2] * 2, np.dtypes.StringDType()), np.array(words[2:], np.dtypes.StringDType())
        result = flat(data, np.array([3, 0]), updates)
        flat(data, np.array([1, 2]), updates, out=data)
        del updates
        gc.collect()
        assert result.tolist() == [words[3], words[1], words[0], words[2]]
        assert data.tolist() == [words[0], words[2], words[3], words[1]]

    @every
    def test_no_reference_to_the_arguments_is_kept(self, flat):
        data, indices, updates = np.arange(3.0), np.array([1]), np.array([5.0])
        counts = [sys.getrefcount(array) for array in (data, indices, updates)]
        for _ in range(100):
            flat(data, indices, updates, reduction="add")
            with pytest.raises(IndexError):
                flat(data, indices + 9, updates, reduction="add")
        assert [sys.getrefcount(array) for array in (data, indices, updates)] == counts


@every
@pytest.mark.parametrize("size", [1, 2, 127, 128, 32768])
@pytest.mark.parametrize("dtype", INDEX_DTYPES, ids=str)
def test_boundaries(flat, size, dtype):
    info = np.iinfo(dtype)
    data = np.zeros(size, int)

    def changed(index, mode="raise", reduction="none"):
        indices = np.array([0, index, index], dtype)
        result = flat(data, indices, np.array([5, 6, 7]), mode=mode, reduction=reduction)
        return {i: result[i].item() for i in np.flatnonzero(result).tolist()}

    for index in (size - 1, 0, -size):
        if info.min <= index <= info.max:
            i = index % size
            assert changed(index) == {0: 5, i: 7}
            assert changed(index, reduction="add") == ({0: 18} if i == 0 else {0: 5, i: 13})
    for index in (size, -size - 1):
        if info.min <= index <= info.max:
            for mode in ("raise", "promise_in_bounds"):
                with pytest.raises(IndexError):
                    changed(index, mode)
            assert changed(index, "drop") == {0: 5}
            assert changed(index, "wrap") == {0: 5, index % size: 7}
            assert changed(index, "clip") == {0: 5, (size - 1 if index > 0 else 0): 7}


class TestMemory:
    def test_beyond_2_to_the_31_bytes_of_a_file(self, tmp_path):
        """In place: nothing of that size is read, copied or allocated."""
        n = 2**31 + 2**12
        data = np.memmap(tmp_path / "sparse", np.uint8, "w+", shape=(n,))
        places = np.array([0, 2**31 - 1, 2**31, n - 1, 2**31])
        updates = np.array([1, 2, 3, 4, 5], np.uint8)
        for flat in FLAT.values():
            for indices in (places, places - n, places.astype("u8"), places.astype(">u4")):
                for reduction, expected in (("none", [1, 2, 5, 4]), ("add", [1, 2, 8, 4]), ("max", [1, 2, 5, 4])):
                    data[places] = 0
                    tracemalloc.start()
                    assert flat(data, indices, updates, reduction=reduction, out=data) is data
                    assert tracemalloc.get_traced_memory()[1] < 2**26
                    tracemalloc.stop()
                    assert data[places[:4]].tolist() == expected
            flat(data[::-1], n - 1 - places, updates, reduction="add", out=data[::-1])
            assert data[places[:4]].tolist() == [2, 4, 13, 8]
            with pytest.raises(IndexError):
                flat(data, np.append(places[:4], n), updates, out=data)

    def test_beyond_2_to_the_31_bytes_in_two_axes(self, tmp_path):
        shape = (2**15 + 1, 2**16)
        data = np.memmap(tmp_path / "sparse", np.uint8, "w+", shape=shape)
        last = (2**15, 2**16 - 1)
        gs.scatter_nd(data, np.array([last, (0, 0), last], "u2"), np.array([1, 2, 3], "u1"), reduction="add", out=data)
        assert data[last] == 4
        assert data[0, 0] == 2
        gs.scatter(data, np.array([-1, 0]), np.full((2, 2**16), 5, "u1"), reduction="add", out=data)
        assert data[last] == 9
        assert data[0, 0] == 7
        assert data[2**14].max() == 0
        gs.scatter_elements(data, np.array([[-1, 2**15, 0]]), np.full((1, 3), 8, "u1"), reduction="add", out=data)
        assert data[-1, :4].tolist() == [13, 13, 5, 5]
        assert data[0, :4].tolist() == [7, 5, 13, 5]
        gs.scatter_elements(data, np.array([[-1, 2**16 - 1]]), np.full((1, 2), 1, "u1"), axis=1, out=data)
        assert data[0, -1] == 1

    @every
    @pytest.mark.parametrize("reduction", ["none", "add", "mean"])
    @pytest.mark.parametrize(("n_destinations", "index_dtype"), [(100, "i1"), (100, "i8"), (8_000_000, "i4")])
    def test_extra_is_bounded(self, flat, reduction, n_destinations, index_dtype):
        """At most 64 MiB beyond the result, whatever the number of updates; as C memory, it may not show here."""
        n = 8_000_000
        indices = np.random.default_rng(0).integers(0, n_destinations, n, dtype=index_dtype)
        data, updates = np.zeros(n_destinations, "u1"), np.ones(n, "u1")
        for options, allowed in (({}, data.nbytes + 2**26), ({"out": data}, 2**26)):
            tracemalloc.start()
            try:
                flat(data, indices, updates, reduction=reduction, **options)
                assert tracemalloc.get_traced_memory()[1] < allowed
            finally:
                tracemalloc.stop()

    def test_nothing_is_copied_for_its_strides(self):
        data = np.zeros((2**13, 2**13), "u1").T
        indices = np.zeros((2000, 2**13), "i1")[::-1, ::-1]
        updates = np.broadcast_to(np.uint8(1), (2000, 2**13))
        for call in (
            lambda: gs.scatter(data, indices[:, 0], updates, reduction="add", out=data),
            lambda: gs.scatter_nd(data, indices[:, :1], updates, reduction="add", out=data),
            lambda: gs.scatter_elements(data, indices, updates, reduction="add", out=data),
        ):
            tracemalloc.start()
            try:
                call()
                assert tracemalloc.get_traced_memory()[1] < 2**26  # what a copy of data alone would take
            finally:
                tracemalloc.stop()
        assert data[0].tolist() == [6000 % 256] * 2**13


class TestRounds:
    """More updates than records fit at a time: later rounds go on where earlier ones ended."""

    N = 13_000_000  # 4 bytes of place and 1 or 4 of update each, against 31 MiB

    @pytest.mark.parametrize("n_threads", [1, 2, 5])
    def test_sums_of_all_rounds(self, n_threads):
        gs.set_num_threads(n_threads)
        rng = np.random.default_rng(0)
        size = 40_000_000
        indices = rng.integers(0, size, self.N, dtype=np.int32)
        result = gs.scatter(np.ones(size, np.uint8), indices, np.uint8(1).item(), reduction="add")
        np.testing.assert_array_equal(result, (np.bincount(indices, minlength=size) + 1).astype(np.uint8))

    @pytest.mark.parametrize("n_threads", [1, 2, 5])
    def test_the_last_round_wins(self, n_threads):
        gs.set_num_threads(n_threads)
        rng = np.random.default_rng(0)
        size = 9_000_000
        indices = rng.integers(0, size, self.N, dtype=np.int32)
        updates = np.arange(self.N, dtype=np.int32)
        expected = np.full(size, -1, np.int32)
        np.maximum.at(expected, indices, updates)  # updates grow, so the last is the largest
        result = gs.scatter_nd(np.full(size, -1, np.int32), indices[:, None], updates)
        np.testing.assert_array_equal(result, expected)

    def test_a_bad_index_in_the_last_round_leaves_out_as_it_was(self):
        indices = np.arange(self.N)
        indices[-1] = self.N
        data = np.zeros(self.N, np.float32)
        with pytest.raises(IndexError, match=rf"indices\[{self.N - 1}\] = {self.N} is out of bounds"):
            gs.scatter(data, indices, 1.0, reduction="add", out=data)
        assert not data.any()


class TestListsOfUpdates:
    @pytest.mark.parametrize(
        ("dtype", "updates"),
        [("u1", [3]), ("f4", [1]), ("f4", [0.1]), ("f2", [np.inf]), ("D", [1j]), ("?", [True]), ("U2", ["ab"]),
         (object, [None]), (">i4", [7]), (ml_dtypes.bfloat16, [0.5]), ("u8", [2**64 - 1])],
    )  # fmt: skip
    def test_take_datas_dtype(self, dtype, updates):
        data = np.zeros(3, dtype)
        expected = data.copy()
        expected[1] = updates[0]
        assert_same_bits(gs.scatter(data, [1], updates), expected)

    @pytest.mark.parametrize(
        ("dtype", "updates"),
        [("i1", [300]), ("u1", [-1]), ("i8", [2**63]), ("f4", [1e300]), ("f2", [70000.0]), ("i4", [1.5]), ("f8", [1j]),
         ("U2", ["abc"]), ("?", [1]), ("i4", ["1"])],
    )  # fmt: skip
    def test_are_refused_where_it_does_not_hold_them(self, dtype, updates):
        with pytest.raises(TypeError, match=r"^scatter: updates is a list of .* values, not all of which data's dtype"):
            gs.scatter(np.zeros(3, dtype), [1], updates)


@pytest.mark.parametrize("include_self", [1, 0, None, "no", np.array([True, False])])
def test_include_self_is_a_bool(include_self):
    with pytest.raises(TypeError, match=r"^scatter: include_self=.* is not a bool; pass True or False$"):
        gs.scatter(np.zeros(3), [1], 1.0, reduction="add", include_self=include_self)
    assert gs.scatter(np.ones(3), [1], 1.0, reduction="add", include_self=np.bool(False)).tolist() == [1, 1, 1]
