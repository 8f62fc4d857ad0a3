"""gather and gather_elements on NumPy arrays against the scalar loop, and what all three gathers have in common."""

import gc
import sys
import tracemalloc

import gatherscatter as gs
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
    WRITABLE_LAYOUTS,
    examples,
    gather_calls,
    lay_out,
    values,
)

FUNCTIONS = {"gather": gs.gather, "gather_elements": gs.gather_elements}
LOOPS = {"gather": reference.gather, "gather_elements": reference.gather_elements, "gather_nd": reference.gather_nd}
both = pytest.mark.parametrize("name", FUNCTIONS)

# One axis, one index an item: all three gathers do the same.
FLAT = {
    "gather": gs.gather,
    "gather_elements": gs.gather_elements,
    "gather_nd": lambda data, indices, **options: gs.gather_nd(data, indices[:, None], **options),
}
every = pytest.mark.parametrize("flat", FLAT.values(), ids=FLAT)
TEAMS = st.sampled_from([1, 2, 3, 8])  # for which small work is cut as large work is


@both
@examples(100)
@given(data=st.data())
def test_equals_the_loop(name, data):
    source, indices, options = data.draw(gather_calls(name, PLAIN_DTYPES))
    with kernels.forced(data.draw(TEAMS)):
        result = FUNCTIONS[name](source, indices, **options)
    assert_same_bits(result, LOOPS[name](source, indices, **options))


@both
@given(data=st.data())
def test_equals_the_loop_for_items_with_references(name, data):
    source, indices, options = data.draw(gather_calls(name, REFERENCE_DTYPES))
    if source.dtype.kind == "T":
        options["fill_value"] = "filled"
    elif source.dtype != object:
        options["fill_value"] = np.array((7, "x"), source.dtype)
    assert_same_bits(FUNCTIONS[name](source, indices, **options), LOOPS[name](source, indices, **options))


@both
@examples(100)
@given(data=st.data())
def test_out_of_any_layout(name, data):
    source, indices, options = data.draw(gather_calls(name, [np.dtype("f4"), np.dtype("V48"), np.dtype(object)]))
    expected = LOOPS[name](source, indices, **options)
    out = lay_out(np.zeros(expected.shape, expected.dtype), data.draw(st.sampled_from(WRITABLE_LAYOUTS)))
    with kernels.forced(data.draw(TEAMS)):
        assert FUNCTIONS[name](source, indices, out=out, **options) is out
    assert_same_bits(out, expected)


@pytest.mark.parametrize("dtype", PLAIN_DTYPES + REFERENCE_DTYPES, ids=str)
def test_every_dtype_in_every_layout(dtype):
    for layout in LAYOUTS:
        data = lay_out(values((5, 4, 3), dtype, 1), layout)
        for axis, size in enumerate(data.shape):
            indices = np.array([[size - 1, -size, 0], [-1, 0, 1 - size], [0, 0, size - 1]])
            assert_same_bits(gs.gather(data, indices, axis=axis), reference.gather(data, indices, axis=axis))
            elements = np.stack([indices, indices[::-1], indices.T])
            result = gs.gather_elements(data, elements, axis=axis)
            assert_same_bits(result, reference.gather_elements(data, elements, axis=axis))


@both
@in_turn("dtype", INDEX_DTYPES)
@pytest.mark.parametrize("mode", GATHER_MODES)
def test_every_index_dtype_in_every_layout(name, dtype, mode):
    for layout in DISTINCT_LAYOUTS:
        info = np.iinfo(dtype)
        data = np.arange(300).reshape(100, 3)
        within = [[99, 2, 0], [-100, -3, 50], [0, 0, 0], [-1, -1, -1]]
        beyond = [[127, -7, 100], [-128, 4, -101], [info.max, info.min, 100], [info.min, info.max, -101]]
        rows = within if mode in ("raise", "promise_in_bounds") else within + beyond
        indices = lay_out(np.array([[max(i, info.min) for i in row] for row in rows], dtype), layout)
        assert_same_bits(FUNCTIONS[name](data, indices, mode=mode), LOOPS[name](data, indices, mode=mode))


@in_turn("n", [63, 64, 65, 127, 128, 129, 192, 9000])
@pytest.mark.parametrize("b", [0, 1])
@pytest.mark.parametrize("order", ["C", "F"])
def test_gather_crosses_blocks_and_tasks(forced_threads, n, b, order):
    rng = np.random.default_rng(0)
    data = np.asarray(rng.integers(0, 2**31, (3, 41, 5)), order=order)
    indices = rng.integers(-41, 41, (3, n) if b else n)
    expected = np.stack([data[i, indices[i]] for i in range(3)]) if b else data[:, indices]
    np.testing.assert_array_equal(gs.gather(data, indices, axis=1, batch_dims=b), expected)


@each_pair(
    shape=[(9000,), (70, 131), (131, 70), (3, 700, 5), (5, 3, 700), (700, 5, 3), (1100, 1, 9)],
    order=["C", "F", "reversed"],
    dtype=["u1", "f4", "V3", "D"],
)
def test_elements_cross_tiles_along_every_axis(forced_threads, shape, order, dtype):
    """Also with indices smaller than data off the axis, and both smaller and larger along it."""
    rng = np.random.default_rng(0)
    data = lay_out(values(shape, np.dtype(dtype), 3), order)
    for axis, size in enumerate(shape):
        for along in (1, size, size + 7):
            part = [max(1, n - 3) for n in shape]
            part[axis] = along
            indices = rng.integers(0, size, part)
            source = data[tuple(slice(n) if i != axis else slice(None) for i, n in enumerate(part))]
            expected = np.take_along_axis(source, indices, axis)
            for places in (indices, np.asfortranarray(indices - size)):
                assert_same_bits(gs.gather_elements(data, places, axis=axis), expected)


def test_large_work_is_parallel_without_being_forced():
    rng = np.random.default_rng(0)
    data = rng.random((600, 700))
    places = rng.integers(-600, 600, 500)
    along = [rng.integers(-n, n, (600, 700)) for n in data.shape]
    expected = data[places], data[:, places], *(np.take_along_axis(data, i, axis) for axis, i in enumerate(along))
    for n in (1, 2, 3, 4, 8):
        gs.set_num_threads(n)
        results = (
            gs.gather(data, places),
            gs.gather(data, places, axis=1),
            gs.gather_elements(data, along[0], axis=0),
            gs.gather_elements(data, along[1], axis=1),
        )
        for result, wanted in zip(results, expected, strict=True):
            assert_same_bits(result, wanted)


@every
@in_turn("size", [1, 2, 127, 128, 32768])
@in_turn("dtype", INDEX_DTYPES)
def test_boundaries(flat, size, dtype):
    data = np.arange(size)
    info = np.iinfo(dtype)
    for index in (size - 1, 0, -size):
        if info.min <= index <= info.max:
            assert flat(data, np.array([index], dtype)).tolist() == [index % size]
    for index in (size, -size - 1):
        if info.min <= index <= info.max:
            indices = np.array([0, index, index], dtype)
            for mode in ("raise", "promise_in_bounds"):
                with pytest.raises(IndexError):
                    flat(data, indices, mode=mode)
            assert flat(data, indices, mode="fill", fill_value=-5).tolist() == [0, -5, -5]
            assert flat(data, indices, mode="wrap").tolist() == [0, index % size, index % size]
            end = size - 1 if index > 0 else 0
            assert flat(data, indices, mode="clip").tolist() == [0, end, end]


@in_turn("axis", [0, 1, -1, -2])
@pytest.mark.parametrize("mode", ["raise", "promise_in_bounds"])
@in_turn("where", [0, 1700, 2999])
def test_one_bad_index_anywhere_leaves_out_as_it_was(forced_threads, axis, mode, where):
    data = np.zeros((3000, 3000), "u1") if axis in (1, -1) else np.zeros((3000, 2), "u1")
    size = data.shape[axis]
    for bad in (size, -size - 1):
        indices = np.zeros(3000, int)
        indices[where] = bad
        elements = np.zeros((3000, 2), int)
        elements[where, 1] = bad
        for call, places, shape in (
            (gs.gather, indices, (*data.shape[:axis], 3000, *data.shape[axis % 2 + 1 :])),
            (gs.gather_elements, elements, elements.shape),
        ):
            out = np.full(shape, 7, "u1")
            with pytest.raises(IndexError):
                call(data, places, axis=axis, mode=mode, out=out)
            assert (out == 7).all()


@pytest.mark.parametrize(
    ("data", "indices", "axis", "batch_dims", "result"),
    [
        ((4,), (), 0, 0, ()),
        ((4, 5), (), 1, 0, (4,)),
        ((4, 5), (), -2, 0, (5,)),
        ((4, 5), (0,), 1, 0, (4, 0)),
        ((4, 5, 6), (2, 3), 1, 0, (4, 2, 3, 6)),
        ((4, 5, 6), (4, 3), 1, 1, (4, 3, 6)),
        ((4, 5, 6), (4, 3), -1, 1, (4, 5, 3)),
        ((4, 5, 6), (4, 5), 2, 2, (4, 5)),
        ((4, 5, 6), (4, 5, 2, 0), 2, 2, (4, 5, 2, 0)),
        ((4, 0, 6), (0, 3), 1, 0, (4, 0, 3, 6)),
        ((0, 5), (3,), 1, 0, (0, 3)),
        ((4, 5, 6), (4,), 2, 1, (4, 5)),
    ],
)
def test_shape_of_gather(data, indices, axis, batch_dims, result):
    source, places = np.zeros(data), np.zeros(indices, int)
    for mode in GATHER_MODES:
        gathered = gs.gather(source, places, axis=axis, batch_dims=batch_dims, mode=mode)
        assert isinstance(gathered, np.ndarray)
        assert gathered.shape == result


@pytest.mark.parametrize(
    ("data", "indices", "axis"),
    [
        ((4,), (9,), 0),
        ((4, 5), (0, 5), 0),
        ((4, 5), (3, 0), 0),
        ((4, 5), (4, 9), -1),
        ((0, 5), (0, 2), 1),
        ((0, 3), (0, 2), 0),
    ],
)
def test_shape_of_gather_elements(data, indices, axis):
    for mode in GATHER_MODES:
        assert gs.gather_elements(np.zeros(data), np.zeros(indices, int), axis=axis, mode=mode).shape == indices


X = np.zeros((4, 5))
REFUSED = {
    "gather: data is 0-d": lambda: gs.gather(np.array(1.0), [0]),
    "gather: axis too large": lambda: gs.gather(X, [0], axis=2),
    "gather: axis too small": lambda: gs.gather(X, [0], axis=-3),
    "gather: batch_dims beyond axis": lambda: gs.gather(X, np.zeros((4, 5), int), axis=0, batch_dims=1),
    "gather: batch_dims beyond indices": lambda: gs.gather(X, np.zeros(4, int), axis=1, batch_dims=2),
    "gather: batch_dims negative": lambda: gs.gather(X, [0], batch_dims=-1),
    "gather: batch sizes differ": lambda: gs.gather(X, np.zeros((3, 1), int), axis=1, batch_dims=1),
    "gather: batch sizes are not broadcast": lambda: gs.gather(X, np.zeros((1, 1), int), axis=1, batch_dims=1),
    "gather: mode of scatters": lambda: gs.gather(X, [0], mode="drop"),
    "gather: unknown mode": lambda: gs.gather(X, [0], mode="skip"),
    "elements: data is 0-d": lambda: gs.gather_elements(np.array(1.0), np.array(0)),
    "elements: ranks differ": lambda: gs.gather_elements(X, np.array([0])),
    "elements: larger off the axis": lambda: gs.gather_elements(X, np.zeros((1, 6), int)),
    "elements: larger off the other axis": lambda: gs.gather_elements(X, np.zeros((5, 1), int), axis=1),
    "elements: axis too large": lambda: gs.gather_elements(X, np.zeros((1, 1), int), axis=2),
    "elements: axis too small": lambda: gs.gather_elements(X, np.zeros((1, 1), int), axis=-3),
    "elements: mode of scatters": lambda: gs.gather_elements(X, np.zeros((1, 1), int), mode="drop"),
    "elements: unknown mode": lambda: gs.gather_elements(X, np.zeros((1, 1), int), mode="skip"),
    "gather: out of another shape": lambda: gs.gather(X, [0], out=np.zeros(5)),
    "elements: out of another shape": lambda: gs.gather_elements(X, np.zeros((1, 1), int), out=np.zeros(1)),
    "gather: out read-only": lambda: gs.gather(X, [0], out=np.broadcast_to(0.0, (1, 5))),
    "elements: out read-only": lambda: gs.gather_elements(X, np.zeros((1, 1), int), out=np.broadcast_to(0.0, (1, 1))),
}
REFUSED_TYPES = {
    "gather: float indices": lambda: gs.gather(X, [0.0]),
    "gather: bool indices": lambda: gs.gather(X, np.array([True])),
    "gather: axis no integer": lambda: gs.gather(X, [0], axis=0.0),
    "gather: batch_dims no integer": lambda: gs.gather(X, [0], batch_dims="0"),
    "gather: mode no string": lambda: gs.gather(X, [0], mode=0),
    "gather: masked": lambda: gs.gather(np.ma.zeros(3), [0]),
    "gather: masked indices": lambda: gs.gather(X, np.ma.zeros(3, int)),
    "gather: fill_value does not fit": lambda: gs.gather(np.zeros(3, int), [0], mode="fill", fill_value=1.5),
    "gather: out of another dtype": lambda: gs.gather(X, [0], out=np.zeros((1, 5), "f4")),
    "elements: float indices": lambda: gs.gather_elements(X, [[0.0]]),
    "elements: bool indices": lambda: gs.gather_elements(X, np.array([[True]])),
    "elements: axis no integer": lambda: gs.gather_elements(X, [[0]], axis=0.5),
    "elements: masked": lambda: gs.gather_elements(np.ma.zeros(3), [0]),
    "elements: fill_value does not fit": lambda: gs.gather_elements(
        np.zeros(3, "u1"), [0], mode="fill", fill_value=256
    ),
    "elements: out of another dtype": lambda: gs.gather_elements(X, [[0]], out=np.zeros((1, 1), ">f8")),
}


@in_turn("call", REFUSED.values())
def test_refused(call):
    for _ in range(2):  # a plan that was refused is not cached as one that holds
        with pytest.raises(ValueError, match=r"^gather(_elements)?: "):
            call()


@in_turn("call", REFUSED_TYPES.values())
def test_refused_types(call):
    with pytest.raises(TypeError, match=r"^gather(_elements)?: "):
        call()


def test_an_empty_slice_does_not_hide_a_bad_index():
    for shape, axis in (((4, 0), 0), ((0, 4), 1)):
        with pytest.raises(IndexError):
            gs.gather(np.zeros(shape), np.array([4]), axis=axis)


@every
@in_turn("mode", ["raise", "clip", "wrap", "promise_in_bounds"])
@pytest.mark.parametrize("dtype", ["f4", object])
def test_nothing_lies_on_an_empty_axis(flat, mode, dtype):
    with pytest.raises(IndexError):
        flat(np.zeros(0, dtype), np.array([0]), mode=mode)
    assert flat(np.zeros(0, dtype), np.array([0, -1]), mode="fill", fill_value=5).tolist() == [5, 5]
    assert flat(np.zeros(0, dtype), np.zeros(0, int), mode=mode).shape == (0,)


def test_arguments_by_name_and_lists():
    assert gs.gather(data=[[1, 2], [3, 4]], indices=[1, 0]).tolist() == [[3, 4], [1, 2]]
    assert gs.gather([1, 2, 3], -1).tolist() == 3
    assert gs.gather_elements(data=[[1, 2], [3, 4]], indices=[[1, 0]]).tolist() == [[3, 2]]


def test_overlap_of_out_with_data_and_indices(forced_threads):
    start = np.arange(5000)
    turned = np.arange(4999, -1, -1)
    for call in (gs.gather, gs.gather_elements):
        data = start.copy()
        call(data, turned, out=data)
        np.testing.assert_array_equal(data, turned)
        data = start.copy()
        call(data, turned[:4000], out=data[1000:])
        np.testing.assert_array_equal(data, np.concatenate([start[:1000], turned[:4000]]))
        indices = turned.copy()
        call(start + 7, indices, out=indices)
        np.testing.assert_array_equal(indices, turned + 7)
        indices = np.tile(turned, 2)
        call(start, indices[:5000], out=indices[1:5001])
        np.testing.assert_array_equal(indices, np.concatenate([turned[:1], turned, turned[1:]]))


def test_reference_counts():
    class Thing:
        pass

    things = [Thing() for _ in range(3)]
    data = np.array(things, object)
    start = [sys.getrefcount(thing) for thing in things]

    def more():
        now = [sys.getrefcount(thing) for thing in things]
        return [n - s for n, s in zip(now, start, strict=True)]

    for call in (gs.gather, gs.gather_elements):
        result = call(data, np.array([0, 0, 2, 7]), mode="fill", fill_value=things[1])
        assert more() == [2, 1, 1]
        call(data, np.array([1, 1, 1, 1]), out=result)
        assert more() == [0, 4, 0]
        with pytest.raises(IndexError):
            call(data, np.array([0, 3]), out=result[:2])
        assert more() == [0, 4, 0]
        del result
        gc.collect()
        assert more() == [0, 0, 0]


def test_no_reference_to_the_arguments_is_kept():
    data, indices = np.arange(3.0), np.array([1])
    for call in (gs.gather, gs.gather_elements):
        before = sys.getrefcount(data), sys.getrefcount(indices)
        for _ in range(100):
            call(data, indices)
            with pytest.raises(IndexError):
                call(data, indices + 9)
        assert (sys.getrefcount(data), sys.getrefcount(indices)) == before


def test_beyond_2_to_the_31_by_strides_of_0():
    n = 2**33
    row = np.arange(3, dtype=np.uint8)
    for dtype in (np.int64, np.uint64):
        indices = np.array([n - 1, 2**31, 2**32 + 5], dtype)
        tall, wide = np.broadcast_to(row, (n, 3)), np.broadcast_to(row[:, None], (3, n))
        assert gs.gather(tall, indices).tolist() == [[0, 1, 2]] * 3
        assert gs.gather(wide, indices, axis=1).tolist() == [[0] * 3, [1] * 3, [2] * 3]
        assert gs.gather_elements(tall, indices[:, None]).tolist() == [[0]] * 3
        assert gs.gather_elements(tall, np.stack([indices] * 3)).tolist() == [[0, 1, 2]] * 3
        assert gs.gather_elements(wide, np.stack([indices] * 2), axis=1).tolist() == [[0] * 3, [1] * 3]
    for call in (gs.gather, gs.gather_elements):
        with pytest.raises(IndexError):
            call(np.broadcast_to(row[:1], (n,)), np.array([0, n]))
        with pytest.raises(IndexError):
            call(np.broadcast_to(row[:1], (n,)), np.array([0, -n - 1]))


def test_beyond_2_to_the_31_bytes_of_a_file(tmp_path):
    n = 2**31 + 2**12
    data = np.memmap(tmp_path / "sparse", np.uint8, "w+", shape=(n,))
    places = np.array([0, 2**31 - 1, 2**31, n - 1])
    data[places] = [1, 2, 3, 4]
    square = data[: 2**15 * 2**16].reshape(2**15, 2**16)
    for call in (gs.gather, gs.gather_elements):
        assert call(data, places).tolist() == [1, 2, 3, 4]
        assert call(data, places - n).tolist() == [1, 2, 3, 4]
        assert call(data[::-1], n - 1 - places).tolist() == [1, 2, 3, 4]
    assert gs.gather(square, np.array([2**15 - 1]))[0, -1] == 2
    assert gs.gather_elements(square, np.array([[0], [2**15 - 1]])).tolist() == [[1], [0]]
    assert gs.gather_elements(square[::-1].T, np.array([[2**16 - 1] * 3])).tolist() == [[2, 0, 0]]


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "u8", ">i8"])
def test_memory_is_the_results_alone(dtype):
    data = np.zeros((2**12, 2**13), "u1").T
    indices = np.zeros((1500, 1500), dtype)[::-1, ::-1]
    for call, places, result in (
        (lambda i: gs.gather(data, i, axis=1), indices[0], 2**13 * 1500),
        (lambda i: gs.gather_elements(data, i, axis=0), indices, 1500 * 1500),
        (lambda i: gs.gather_elements(data, i, axis=1), indices, 1500 * 1500),
    ):
        call(places)
        tracemalloc.start()
        try:
            call(places)
            assert tracemalloc.get_traced_memory()[1] < result + 2**21
        finally:
            tracemalloc.stop()


class TestColumns:
    """gather_elements along an axis with long steps goes through packed tiles of columns."""

    @each_pair(
        dtype=["u1", "f2", "f4", "i8", "c16", "S3"],
        shape=[(300, 70), (40, 1000), (5, 120, 33), (200, 3, 17)],
        mode=["raise", "clip", "wrap", "fill"],
    )
    def test_equals_take_along_axis(self, forced_threads, dtype, shape, mode):
        rng = np.random.default_rng(0)
        data = rng.integers(0, 100, shape).astype(dtype)
        for axis in range(len(shape) - 1):
            size = shape[axis]
            for n in (1, size // 2, size + 7):
                places = list(shape)
                places[axis] = n
                places[-1] -= 3
                beyond = 0 if mode == "raise" else 5
                indices = rng.integers(-size - beyond, size + beyond, places)
                index = np.where(indices < 0, indices + size, indices)
                inside = (index >= 0) & (index < size)
                index = np.clip(index, 0, size - 1) if mode == "clip" else index % size
                expected = np.take_along_axis(data[..., :-3], index, axis)
                if mode == "fill":
                    expected[~inside] = np.zeros((), dtype)
                for order in (data, np.asfortranarray(data)):
                    result = gs.gather_elements(order, indices, axis=axis, mode=mode)
                    np.testing.assert_array_equal(result, expected, strict=True)

    def test_large_work_without_being_forced(self):
        rng = np.random.default_rng(0)
        data = rng.random((1500, 700), dtype=np.float32)
        indices = rng.integers(-1500, 1500, (1400, 650), dtype=np.int16)
        expected = np.take_along_axis(data[:, :650], indices, 0)
        for n_threads in (1, 2, 4):
            gs.set_num_threads(n_threads)
            np.testing.assert_array_equal(gs.gather_elements(data, indices), expected)
            swapped = gs.gather_elements(data, indices.astype(">i4")[::-1], mode="promise_in_bounds")
            np.testing.assert_array_equal(swapped, expected[::-1])
            bad = indices.copy()
            bad[700, 3], bad[701, 2] = 1500, -1501
            with pytest.raises(IndexError, match=r"indices\[700, 3\] = 1500 is out of bounds .* axis 0 has size 1500$"):
                gs.gather_elements(data, bad)
