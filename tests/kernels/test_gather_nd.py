"""gather_nd on NumPy arrays against the scalar loop."""

import gatherscatter as gs
import ml_dtypes
import numpy as np
import pytest
from assertions import assert_same_bits
from constants import GATHER_MODES
from gatherscatter import reference
from gatherscatter.backends import kernels
from hypothesis import given
from hypothesis import strategies as st
from pairwise import each_pair, in_turn
from strategies import (
    DISTINCT_LAYOUTS,
    INDEX_DTYPES,
    LAYOUTS,
    PLAIN_DTYPES,
    REFERENCE_DTYPES,
    examples,
    gather_nd_cases,
    index_values,
    lay_out,
    values,
)

TEAMS = st.sampled_from([1, 2, 3, 8])  # for which small work is cut as large work is


@examples(200)
@given(case=gather_nd_cases(PLAIN_DTYPES), n_threads=TEAMS)
def test_equals_the_loop(case, n_threads):
    data, indices, options = case
    with kernels.forced(n_threads):
        result = gs.gather_nd(data, indices, **options)
    assert_same_bits(result, reference.gather_nd(data, indices, **options))


@given(case=gather_nd_cases(REFERENCE_DTYPES))
def test_equals_the_loop_for_items_with_references(case):
    data, indices, options = case
    if data.dtype.kind == "T":
        options["fill_value"] = "filled"
    elif data.dtype != object:
        options["fill_value"] = np.array((7, "x"), data.dtype)
    assert_same_bits(gs.gather_nd(data, indices, **options), reference.gather_nd(data, indices, **options))


@examples(200)
@given(case=gather_nd_cases([np.dtype("f4"), np.dtype("V48"), np.dtype(object)]), n_threads=TEAMS, data=st.data())
def test_out_of_any_layout(case, n_threads, data):
    source, indices, options = case
    expected = reference.gather_nd(source, indices, **options)
    layout = data.draw(st.sampled_from(["C", "F", "reversed", "sliced", "unaligned"]))
    out = lay_out(np.zeros(expected.shape, expected.dtype), layout)
    with kernels.forced(n_threads):
        assert gs.gather_nd(source, indices, out=out, **options) is out
    assert_same_bits(out, expected)


@in_turn("dtype", PLAIN_DTYPES + REFERENCE_DTYPES)
def test_every_dtype_in_every_layout(dtype):
    for layout in LAYOUTS:
        data = lay_out(values((5, 4, 3), dtype, 1), layout)
        indices = np.array([[4, -4], [0, 3], [-5, 0], [2, 2]])
        for k in range(3):
            part = indices[:, :k]
            assert_same_bits(gs.gather_nd(data, part), reference.gather_nd(data, part))


@in_turn("dtype", INDEX_DTYPES)
@pytest.mark.parametrize("mode", GATHER_MODES)
def test_every_index_dtype_in_every_layout(dtype, mode):
    for layout in DISTINCT_LAYOUTS:
        info = np.iinfo(dtype)
        sizes = (100, 3)
        data = np.arange(300).reshape(sizes)
        beyond = [[127, -7], [-128, 4], [info.max, info.min], [info.min, info.max], [100, 3], [-101, -4]]
        within = [[99, 2], [-100, -3], [0, 0], [-1, -1]]
        rows = within if mode in ("raise", "promise_in_bounds") else within + beyond
        rows = [[max(low, info.min) for low in row] for row in rows]
        indices = lay_out(np.array(rows, dtype), layout)
        assert_same_bits(gs.gather_nd(data, indices, mode=mode), reference.gather_nd(data, indices, mode=mode))


@each_pair(
    layout=DISTINCT_LAYOUTS, order=[(0, 1, 2, 3), (1, 0, 2, 3), (3, 2, 1, 0), (2, 3, 0, 1), (0, 2, 1, 3)], b=[0, 1, 2]
)
def test_indices_of_several_axes_in_any_order(forced_threads, layout, order, b):
    """Axes are walked merged where strides allow it, which has to be seen for indices, data and out apart."""
    rng = np.random.default_rng(0)
    data = lay_out(rng.integers(0, 2**31, (3, 4, 5, 6)), layout).transpose(order)
    shape = (*data.shape[:2], 7, 2)
    indices = rng.integers(-3, 3, shape)
    indices = lay_out(indices.transpose(order).copy(), layout).transpose(np.argsort(order))
    expected = reference.gather_nd(data, indices, batch_dims=b)
    assert_same_bits(gs.gather_nd(data, indices, batch_dims=b), expected)
    for out_order in (order, (0, 1, 2, 3)):
        out_order = [axis for axis in out_order if axis < expected.ndim] + list(range(4, expected.ndim))
        out = np.zeros(np.array(expected.shape)[np.argsort(out_order)], expected.dtype).transpose(out_order)
        gs.gather_nd(data, indices, batch_dims=b, out=out)
        assert_same_bits(out, expected)


def test_many_tuples_cross_blocks_and_tasks(forced_threads):
    rng = np.random.default_rng(0)
    data = rng.integers(0, 2**31, (37, 41, 5))
    for n in (63, 64, 65, 127, 128, 129, 192, 9000):
        indices = rng.integers(-37, 37, (n, 2))
        np.testing.assert_array_equal(gs.gather_nd(data, indices), data[indices[:, 0], indices[:, 1]])


@pytest.mark.parametrize("inner", [1, 2, 3, 700])
def test_batches_of_every_length_share_a_block(forced_threads, inner):
    rng = np.random.default_rng(0)
    data = rng.integers(0, 2**31, (600, 9))
    indices = rng.integers(-9, 9, (600, inner, 1))
    expected = np.take_along_axis(data, indices[..., 0] % 9, axis=1)
    np.testing.assert_array_equal(gs.gather_nd(data, indices, batch_dims=1), expected)
    out = np.zeros((inner, 600), data.dtype).T
    gs.gather_nd(data, indices, batch_dims=1, out=out)
    np.testing.assert_array_equal(out, expected)


@in_turn("n", [1, 2, 3, 7])
@in_turn("order", ["contiguous", "transposed", "sliced"])
@pytest.mark.parametrize("mode", ["raise", "fill"])
def test_few_long_rows_are_cut(forced_threads, n, order, mode):
    """Rows are cut between threads where there are fewer tuples than tasks, also in the middle of the bytes."""
    shape = (4, 30, 1001)
    data = np.arange(4 * 30 * 1001, dtype="u2").reshape(shape)
    if order == "transposed":
        data = np.asfortranarray(data)
    elif order == "sliced":
        wide = np.zeros((4, 30, 2002), "u2")
        wide[..., ::2] = data
        data = wide[..., ::2]
    indices = np.arange(n)[:, None] % (6 if mode == "fill" else 4)
    expected = np.where((indices < 4)[..., None], data[indices[:, 0] % 4], np.uint16(9))
    result = gs.gather_nd(data, indices, mode=mode, fill_value=9)
    np.testing.assert_array_equal(result, expected)


def test_large_work_is_parallel_without_being_forced():
    rng = np.random.default_rng(0)
    data = rng.random((500, 700))
    indices = rng.integers(-500, 500, (300_000, 2))
    expected = data[indices[:, 0], indices[:, 1]]
    for n in (1, 2, 3, 4, 8):
        gs.set_num_threads(n)
        np.testing.assert_array_equal(gs.gather_nd(data, indices), expected)


@pytest.mark.parametrize("size", [1, 2, 127, 128, 32768])
@in_turn("dtype", INDEX_DTYPES)
def test_boundaries(size, dtype):
    data = np.arange(size)
    info = np.iinfo(dtype)
    for index in (size - 1, 0, -size):
        if info.min <= index <= info.max:
            assert gs.gather_nd(data, np.array([index], dtype)) == index % size
    for index in (size, -size - 1):
        if info.min <= index <= info.max:
            indices = np.array([[0], [index], [index]], dtype)
            with pytest.raises(IndexError, match=rf"indices\[1\] = \({index},\) .* axis 0 has size {size}$"):
                gs.gather_nd(data, indices)
            assert gs.gather_nd(data, indices, mode="fill", fill_value=-5).tolist() == [0, -5, -5]
            assert gs.gather_nd(data, indices, mode="wrap").tolist() == [0, index % size, index % size]
            end = size - 1 if index > 0 else 0
            assert gs.gather_nd(data, indices, mode="clip").tolist() == [0, end, end]


def test_the_first_bad_tuple_is_named_at_every_thread_count(forced_threads):
    data = np.zeros((4, 5))
    indices = np.zeros((3000, 2, 2), int)
    indices[1700, 1] = [2, 9]
    indices[1701:, :, 0] = -5
    message = (
        r"^gather_nd: indices\[1700, 1\] = \(2, 9\) is out of bounds for data of shape \(4, 5\): axis 1 has size 5$"
    )
    with pytest.raises(IndexError, match=message):
        gs.gather_nd(data, indices)


def test_k_0_names_the_whole_item():
    data = np.arange(6).reshape(2, 3)
    assert gs.gather_nd(data, np.empty((4, 0), int)).tolist() == [data.tolist()] * 4
    assert gs.gather_nd(data, np.empty((2, 3, 0), int), batch_dims=1).tolist() == [[[0, 1, 2]] * 3, [[3, 4, 5]] * 3]
    assert gs.gather_nd(np.array(7), np.empty((2, 0), int)).tolist() == [7, 7]
    assert gs.gather_nd(data, np.empty(0, int)).tolist() == data.tolist()


def test_k_r_with_one_tuple_gives_a_0d_array():
    result = gs.gather_nd(np.arange(6).reshape(2, 3), np.array([1, 2]))
    assert isinstance(result, np.ndarray)
    assert result.shape == ()
    assert result == 5


@pytest.mark.parametrize(
    ("data", "indices", "result"),
    [
        ((0, 3), (0, 1), (0, 3)),
        ((0, 3), (0, 2), (0,)),
        ((4, 0), (5, 1), (5, 0)),
        ((4, 0, 3), (0, 1), (0, 0, 3)),
        ((4, 2), (0, 7, 2), (0, 7)),
        ((0,), (0, 0), (0, 0)),
    ],
)
def test_empty(data, indices, result):
    for dtype in ("f4", object):
        for mode in GATHER_MODES:
            gathered = gs.gather_nd(np.zeros(data, dtype), np.zeros(indices, int), mode=mode)
            assert gathered.shape == result


def test_an_empty_row_does_not_hide_a_bad_index():
    with pytest.raises(IndexError, match="axis 0 has size 4"):
        gs.gather_nd(np.zeros((4, 0)), np.array([[4]]))


@pytest.mark.parametrize("mode", ["raise", "clip", "wrap", "promise_in_bounds"])
@pytest.mark.parametrize("dtype", ["f4", object])
def test_nothing_lies_on_an_empty_axis(mode, dtype):
    indices = np.zeros((2, 1, 1), int)
    with pytest.raises(IndexError, match=r"indices\[0, 0\] = \(0,\) .* axis 1 has size 0$"):
        gs.gather_nd(np.zeros((2, 0), dtype), indices, batch_dims=1, mode=mode)
    filled = gs.gather_nd(np.zeros((0, 3), dtype), np.zeros((2, 1), int), mode="fill", fill_value=5)
    assert filled.tolist() == [[5, 5, 5]] * 2


class TestFillValue:
    @in_turn(
        ("dtype", "fill_value"),
        [
            ("f4", 0), ("f4", np.nan), ("f4", 1), ("f4", np.float32(1.5)), ("f8", np.float32(1.5)), ("i1", -128),
            ("u8", 2**64 - 1), ("?", True), ("D", 1j), ("U3", "abc"), ("S3", b"abc"),
            ("M8[D]", np.datetime64("NaT", "D")), (">f4", 1.5),
            ("M8[s]", np.datetime64("2026-11-20")), (object, None), (object, "x"), ("V2", np.void(b"ab")),
            (ml_dtypes.bfloat16, 1.5), (ml_dtypes.bfloat16, ml_dtypes.bfloat16(3)), (ml_dtypes.int4, -8),
            (ml_dtypes.float8_e5m2, 1.5), (ml_dtypes.float8_e5m2, np.zeros((), ml_dtypes.float8_e5m2)),
            (np.dtypes.StringDType(), "long " * 9), (ml_dtypes.bfloat16, 0.1), ("f2", 0.1), ("f4", np.inf),
        ],
    )  # fmt: skip
    def test_fits(self, dtype, fill_value):
        data = np.zeros(2, dtype)
        result = gs.gather_nd(data, np.array([[0], [2]]), mode="fill", fill_value=fill_value)
        expected = data.copy()
        expected[1] = fill_value
        assert_same_bits(result, expected)

    def test_long_strings_fill_rows(self):
        data = np.array([["a"]], np.dtypes.StringDType())
        result = gs.gather_nd(data, np.array([[0], [2], [3]]), mode="fill", fill_value="long " * 9)
        assert result.tolist() == [["a"], ["long " * 9], ["long " * 9]]

    @pytest.mark.parametrize(
        "dtype", ["f4", "i1", "?", "U3", "S3", "M8[D]", object, "V2", [("a", "i4"), ("b", "f8")], ml_dtypes.bfloat16]
    )
    def test_0_is_the_dtypes_zero(self, dtype):
        result = gs.gather_nd(np.zeros(2, dtype)[:0], np.array([[0]]), mode="fill")
        assert_same_bits(result, np.zeros(1, dtype))

    @in_turn(
        ("dtype", "fill_value"),
        [
            ("i4", 1.0), ("i4", np.nan), ("u1", 256), ("u1", -1), ("f4", 1j), ("f4", np.float64(1e39)), ("?", 1),
            ("U3", "abcd"), ("i4", "7"), ("i4", None), ("M8[D]", np.datetime64("2026-11-20T01")), ("f4", np.array("x")),
            ("f4", 1e300), ("f2", 70000), (ml_dtypes.int4, 1.5), (ml_dtypes.int4, 8),
        ],
    )  # fmt: skip
    def test_does_not_fit(self, dtype, fill_value):
        with pytest.raises(TypeError, match=r"^gather_nd: fill_value=.* cannot be held by data's dtype"):
            gs.gather_nd(np.zeros(2, dtype), np.array([[0]]), mode="fill", fill_value=fill_value)

    def test_is_a_scalar(self):
        with pytest.raises(ValueError, match=r"^gather_nd: fill_value has shape \(1,\); pass a scalar$"):
            gs.gather_nd(np.zeros(2), np.array([[0]]), mode="fill", fill_value=[1.0])

    def test_fills_items_of_several_elements(self, forced_threads):
        for row in (1, 2, 3, 4, 8, 16, 21, 100):
            data = np.zeros((2, row), "u4")
            result = gs.gather_nd(data, np.array([[5], [0], [-3]]), mode="fill", fill_value=0x01020304)
            assert result.tolist() == [[0x01020304] * row, [0] * row, [0x01020304] * row]

    @given(data=st.data())
    def test_is_sticky_over_the_tuple(self, data):
        """One component out of bounds is enough, whatever the others are."""
        indices = data.draw(index_values((6, 3), (2, 2, 2), np.dtype("i1"), "fill"))
        source = np.arange(1, 9).reshape(2, 2, 2)
        expected = reference.gather_nd(source, indices, mode="fill", fill_value=0)
        assert gs.gather_nd(source, indices, mode="fill").tolist() == expected.tolist()
