"""scatter, scatter_nd and scatter_elements on NumPy arrays against the scalar loop."""

import itertools

import gatherscatter as gs
import ml_dtypes
import numpy as np
import pytest
from assertions import assert_same_bits, assert_same_numbers
from constants import FLOAT_REDUCTIONS, REDUCTIONS, SCATTER_MODES, reduces
from gatherscatter import reference
from gatherscatter.backends import kernels
from hypothesis import given
from hypothesis import strategies as st
from pairwise import each_pair, in_turn
from scatters import FLAT, FUNCTIONS, LOOPS, each, every
from strategies import (
    DISTINCT_LAYOUTS,
    INDEX_DTYPES,
    LAYOUTS,
    PLAIN_DTYPES,
    REDUCTION_DTYPES,
    REFERENCE_DTYPES,
    SAME_DTYPE_LAYOUTS,
    WRITABLE_LAYOUTS,
    examples,
    lay_out,
    numbers,
    scatter_calls,
    values,
)

TEAMS = st.sampled_from([1, 2, 3, 8])  # for which small work is cut as large work is


class TestEqualsTheLoop:
    @each
    @examples(120)
    @given(data=st.data())
    def test_reductions(self, name, data):
        *arrays, options = data.draw(scatter_calls(name, REDUCTION_DTYPES, REDUCTIONS, scalars=True))
        with kernels.forced(data.draw(TEAMS)):
            result = FUNCTIONS[name](*arrays, **options)
        assert_same_numbers(result, LOOPS[name](*arrays, **options))

    @each
    @examples(60)
    @given(data=st.data())
    def test_assignment_of_every_dtype(self, name, data):
        *arrays, options = data.draw(scatter_calls(name, PLAIN_DTYPES))
        with kernels.forced(data.draw(TEAMS)):
            result = FUNCTIONS[name](*arrays, **options)
        assert_same_bits(result, LOOPS[name](*arrays, **options))

    @each
    @examples(100)
    @given(data=st.data())
    def test_items_with_references(self, name, data):
        *arrays, options = data.draw(scatter_calls(name, REFERENCE_DTYPES))
        assert_same_bits(FUNCTIONS[name](*arrays, **options), LOOPS[name](*arrays, **options))

    @each
    @examples(40)
    @given(data=st.data())
    def test_out_of_any_layout(self, name, data):
        dtypes = [np.dtype(spec) for spec in ("f4", "V48", "?", "D", ml_dtypes.bfloat16, object)]
        *arrays, options = data.draw(scatter_calls(name, dtypes, REDUCTIONS))
        expected = LOOPS[name](*arrays, **options)
        out = lay_out(np.zeros(expected.shape, expected.dtype), data.draw(st.sampled_from(WRITABLE_LAYOUTS)))
        with kernels.forced(data.draw(TEAMS)):
            assert FUNCTIONS[name](*arrays, out=out, **options) is out
        same = assert_same_numbers if arrays[0].dtype in REDUCTION_DTYPES else assert_same_bits
        same(out, expected)

    @each
    @examples(40)
    @given(data=st.data())
    def test_in_place(self, name, data):
        dtypes = [np.dtype(spec) for spec in ("f4", "V48", "u1", "D", "f2", object)]
        source, *arrays, options = data.draw(scatter_calls(name, dtypes, REDUCTIONS))
        expected = LOOPS[name](source, *arrays, **options)
        out = lay_out(np.array(source, source.dtype), data.draw(st.sampled_from(WRITABLE_LAYOUTS)))
        with kernels.forced(data.draw(TEAMS)):
            assert FUNCTIONS[name](out, *arrays, out=out, **options) is out
        same = assert_same_numbers if out.dtype in REDUCTION_DTYPES else assert_same_bits
        same(out, expected)


@each_pair(dtype=REDUCTION_DTYPES, reduction=FLOAT_REDUCTIONS, name=[*FUNCTIONS])
def test_every_reduction_of_every_dtype(name, dtype, reduction):
    """In every mode, include_self and layouts taking turns; refused where the dtype has no such one."""
    shape, axis = (2 if name == "scatter" else 3, 5, 4), 1
    indices = {
        "scatter": np.array([3, -5, 4, 4, -9, 6], "i2"),
        "scatter_nd": np.array([[0, 3], [0, -5], [-1, 4], [2, 4], [0, 3], [1, 6], [2, -9], [0, 3]], "i1"),
        "scatter_elements": np.array([[[4, 0], [-5, 4], [4, 6]], [[4, -1], [4, -9], [0, 4]]], "i8"),
    }[name]
    written = {"scatter": (2, 6, 4), "scatter_nd": (8, 4), "scatter_elements": (2, 3, 2)}[name]
    extra = {} if name == "scatter_nd" else {"axis": axis}
    layouts = itertools.cycle(itertools.product(LAYOUTS, SAME_DTYPE_LAYOUTS, DISTINCT_LAYOUTS))
    for seed, (mode, include_self) in enumerate(zip(SCATTER_MODES, itertools.cycle([True, False]))):
        of_data, of_updates, of_indices = next(itertools.islice(layouts, 37, None))
        data = lay_out(numbers(shape, dtype, seed), of_data)
        updates = lay_out(numbers(written, data.dtype, seed + 3), of_updates)
        places = indices % 5 if mode in ("raise", "promise_in_bounds") and name != "scatter_nd" else indices
        if mode in ("raise", "promise_in_bounds") and name == "scatter_nd":
            places = indices % [3, 5]
        places = lay_out(places.astype(indices.dtype), of_indices)
        options = {"reduction": reduction, "include_self": include_self, "mode": mode, **extra}
        if reduces(reduction, dtype.name):
            result = FUNCTIONS[name](data, places, updates, **options)
            assert_same_numbers(result, LOOPS[name](data, places, updates, **options))
        else:
            with pytest.raises(TypeError):
                FUNCTIONS[name](data, places, updates, **options)


@each
@in_turn("dtype", PLAIN_DTYPES + REFERENCE_DTYPES)
def test_assignment_of_every_dtype_in_every_layout(name, dtype):
    for layout in LAYOUTS:
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
@in_turn("dtype", INDEX_DTYPES)
@in_turn("mode", SCATTER_MODES)
def test_every_index_dtype_in_every_layout(name, dtype, mode):
    for layout in DISTINCT_LAYOUTS:
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
        for reduction, mode in itertools.product(FLOAT_REDUCTIONS, SCATTER_MODES):
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
        for reduction, mode in itertools.product(FLOAT_REDUCTIONS, SCATTER_MODES):
            options = {"batch_dims": batch_dims, "reduction": reduction, "mode": mode}
            arrays = np.ones(data), np.zeros(indices, int), np.full(updates, 3.0)
            assert_same_bits(gs.scatter_nd(*arrays, **options), reference.scatter_nd(*arrays, **options))

    @pytest.mark.parametrize(
        ("data", "indices", "axis"),
        [((4,), (9,), 0), ((4, 5), (0, 5), 0), ((4, 5), (3, 0), 0), ((4, 5), (2, 9), -1), ((0, 5), (0, 2), 1)],
    )
    def test_scatter_elements(self, data, indices, axis):
        for reduction, mode in itertools.product(FLOAT_REDUCTIONS, SCATTER_MODES):
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
    @in_turn("mode", ["raise", "clip", "wrap", "promise_in_bounds"])
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

    def test_a_wide_sum_is_rounded_once(self):
        """Just above a tie of bfloat16, and on it as float32."""
        bfloat16 = np.dtype(ml_dtypes.bfloat16)
        data, updates = np.zeros(1, bfloat16), np.array([4.6875, 0.015625, 1e-7], bfloat16)
        options = {"reduction": "add", "accumulate_dtype": "float64"}
        for scatter in (gs.scatter, reference.scatter):
            for sign in (1, -1):
                found = scatter(data, np.zeros(3, int), updates * bfloat16.type(sign), **options)
                assert found.astype(float).tolist() == [sign * 4.71875]

    def test_lists_of_floats_into_complex_numbers(self):
        for dtype, value in (("c8", 1.5), ("c16", float("inf")), ("c16", 1e300)):
            assert gs.scatter(np.zeros(2, dtype), [1], [value]).tolist() == [0, value]
        with pytest.raises(TypeError, match="a list of float64 values that"):
            gs.scatter(np.zeros(2, "c8"), [1], [1e300])

    def test_arguments_by_name_and_lists(self):
        assert gs.scatter(data=[0, 0, 0], indices=[2, 0], updates=[5, 6]).tolist() == [6, 0, 5]
        large = gs.scatter(np.zeros(2, "u8"), [0, 1], [2**64 - 1, 1])  # NumPy makes floats of such a list
        assert large.tolist() == [2**64 - 1, 1]
        assert gs.scatter_nd(data=[[0, 0]], indices=[[0, 1]], updates=[5]).tolist() == [[0, 5]]
        assert gs.scatter_elements(data=[[0, 0]], indices=[[1]], updates=[[5]], axis=1).tolist() == [[0, 5]]


@every
@in_turn("size", [1, 2, 127, 128, 32768])
@in_turn("dtype", INDEX_DTYPES)
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
