"""Data that repeat one element, such as np.broadcast_to(0.0, shape): the result is filled with it."""

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits
from gatherscatter.backends import kernels
from pairwise import each_pair, in_turn
from routes import ROUTES

ELEMENTS = [
    *(np.array(7, dtype) for dtype in ("u1", "i2", "f4", "f8", "c16", "f2", ">f4", ">i8", "g")),
    np.array("abc"),
    np.array(b"ab", "S3"),
    np.array(True),
    np.array("2020-01-01", "M8[s]"),
]


@pytest.mark.parametrize("shape", [(6, 40), (240,), (6, 0), (), (1, 1)])
@in_turn("element", ELEMENTS)
def test_elements(element, shape):
    data = np.broadcast_to(element, shape)
    indices = np.zeros((1, len(shape)), int) if 0 not in shape else np.zeros((0, 2), int)
    updates = np.full(len(indices), np.zeros((), element.dtype))
    expected = np.full(shape, element)
    assert_same_bits(gs.scatter_nd(data, indices[:0], updates[:0]), expected)
    if len(indices):
        expected[(0,) * len(shape)] = np.zeros((), element.dtype)
    assert_same_bits(gs.scatter_nd(data, indices, updates), expected)
    out = np.empty(shape, element.dtype)
    assert gs.scatter_nd(data, indices, updates, out=out) is out
    assert_same_bits(out, expected)


@each_pair(route=ROUTES, reduction=["none", "add", "max", "mean"], include_self=[True, False], n_threads=[1, 2, 3, 192])
def test_routes(route, reduction, include_self, n_threads):
    rng = np.random.default_rng(0)
    data, indices = np.broadcast_to(np.float32(3), (50, 24)), rng.integers(0, 40, (300, 24))
    updates = rng.integers(-9, 9, (300, 24)).astype("f4")
    options = {"reduction": reduction, "include_self": include_self}
    with kernels.forced(n_threads, scatter=route):
        assert_same_bits(
            gs.scatter_elements(data, indices, updates, **options),
            gs.scatter_elements(data.copy(), indices, updates, **options),
        )
        assert_same_bits(
            gs.scatter(data, indices[:, 0], updates, **options),
            gs.scatter(data.copy(), indices[:, 0], updates, **options),
        )


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_large_result(order):
    """Which several threads fill, each in steps between which signals are handled."""
    shape, indices = (3000, 7001), np.array([[0, 0], [2999, 7000]])
    expected = np.full(shape, 5, "i2")
    expected[[0, 2999], [0, 7000]] = 1
    for n_threads in (1, 3):
        with kernels.forced(n_threads):
            out = np.zeros(shape, "i2", order)
            assert_same_bits(gs.scatter_nd(np.broadcast_to(np.int16(5), shape), indices, 1, out=out), expected)
            assert_same_bits(gs.scatter_nd(np.broadcast_to(np.int16(5), shape), indices, 1), expected)


@each_pair(rows=[3000, 10], dtype=["f4", "i8", "u1", "c16"], in_place=[False, True])
def test_tiles_that_are_streamed(rows, dtype, in_place):
    """On the route partition each tile of a large result is filled by itself."""
    rng = np.random.default_rng(0)
    columns = 17_000_000 // 3000 // np.dtype(dtype).itemsize + 1
    indices = rng.integers(0, columns, (rows, 40))
    updates, data = (
        rng.integers(0, 9, indices.shape).astype(dtype),
        np.broadcast_to(np.array(3, dtype), (3000, columns)),
    )
    for reduction in ("none", "add"):
        expected = gs.scatter_elements(data.copy(), indices, updates, axis=1, reduction=reduction)
        for n_threads in (1, 3):
            out = np.zeros_like(expected) if in_place else None
            with kernels.forced(n_threads, scatter="partition"):
                result = gs.scatter_elements(data, indices, updates, axis=1, reduction=reduction, out=out)
            assert_same_bits(result, expected)


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize(
    ("dtype", "width"), [("f4", 2), ("f4", 4), ("i1", 2), ("i1", 8), ("f8", 2), ("i2", 8), ("f4", 3)]
)
def test_tiles_of_rows(dtype, width, in_place):
    """An assignment takes a row of 2, 4, 8 or 16 bytes for one item, which is not the element that is repeated."""
    rng, n = np.random.default_rng(0), (17 << 20) // width // np.dtype(dtype).itemsize
    elements = np.array([7, 9, 11, 13, 15, 17, 19, 21], dtype)  # the others are neighbours in memory
    data, indices = np.broadcast_to(elements[:1], (n, width)), rng.integers(0, n, 200_000)
    updates = rng.integers(0, 6, (200_000, width)).astype(dtype)
    expected = gs.scatter(np.full((n, width), 7, dtype), indices, updates)
    for n_threads in (1, 2):
        out = np.empty_like(expected) if in_place else None
        with kernels.forced(n_threads, scatter="partition"):
            assert_same_bits(gs.scatter(data, indices, updates, out=out), expected)


def test_a_bad_index_leaves_out_as_it_is():
    out = np.arange(6.0)
    with pytest.raises(IndexError, match="out of bounds"):
        gs.scatter(np.broadcast_to(0.0, 6), np.array([1, 6]), np.ones(2), out=out)
    assert_same_bits(out, np.arange(6.0))


def test_one_row_is_no_element():
    data = np.broadcast_to(np.arange(4.0), (3, 4))
    assert_same_bits(gs.scatter(data, np.array([1]), np.zeros((1, 4))), np.stack([data[0], np.zeros(4), data[0]]))
    data = np.broadcast_to(np.arange(3.0)[:, None], (3, 4))
    expected = data.copy()
    expected[1] = 9
    assert_same_bits(gs.scatter(data, np.array([1]), np.full((1, 4), 9.0)), expected)


@pytest.mark.parametrize("dtype", ["f4", "O", ">i4", "U3"])
@pytest.mark.parametrize("n", [1 << 10, 1 << 15, (1 << 15) + 1])
def test_zeros_of_a_shape(n, dtype):
    """TensorFlow's scatter_nd starts from zeros, of which one stands for many."""
    updates = np.array([3, 4], dtype)
    expected = np.zeros(n, dtype)
    if dtype in ("f4", ">i4"):
        expected[[7, n - 1]] = updates
        result = gs.tensorflow.scatter_nd(np.array([[7], [n - 1]]), updates, (n,))
        assert_same_bits(result, expected)
        assert result.flags.writeable
    else:
        with pytest.raises(TypeError, match="add"):
            gs.tensorflow.scatter_nd(np.array([[7], [n - 1]]), updates, (n,))


@pytest.mark.parametrize("shape", [(2**40, 2**40), (2**62,)])
def test_a_shape_that_is_too_large(shape):
    with pytest.raises(ValueError, match="too big"):
        gs.tensorflow.scatter_nd(np.zeros((1, len(shape)), int), np.ones(1), shape)


def test_empty_indices_and_large_data():
    data = np.arange(3_000_000.0)
    assert_same_bits(gs.scatter(data, np.empty(0, int), np.empty(0), reduction="add"), data)
    assert_same_bits(gs.scatter(np.broadcast_to(2.0, 3), np.empty(0, int), np.empty(0)), np.full(3, 2.0))


@each_pair(
    data=[
        ("?", (70, 100), 1),
        ("f4", (70, 100), 1),
        ("f8", (9, 8, 30), 2),
        ("f4", (9, 30, 8), 1),
        ("f4", (4100, 1024), 1),
    ],
    reduction=["none", "add", "max", "mean"],
    include_self=[True, False],
    n_threads=[1, 3],
)
def test_units(data, reduction, include_self, n_threads):
    """Each unit is filled by the thread that updates it."""
    dtype, shape, axis = data
    if dtype == "?" and reduction == "mean":
        return
    rng = np.random.default_rng(0)
    counts = list(shape)
    counts[axis] = 13
    indices, updates = rng.integers(-shape[axis], shape[axis], counts), rng.integers(0, 9, counts).astype(dtype)
    data = np.broadcast_to(np.array(1, dtype), shape)
    options = {"axis": axis, "reduction": reduction, "include_self": include_self}
    expected = gs.scatter_elements(data.copy(), indices, updates, **options)
    with kernels.forced(n_threads, scatter="direct"):
        assert_same_bits(gs.scatter_elements(data, indices, updates, **options), expected)
        out = np.full(shape, 5, dtype)
        gs.scatter_elements(data, indices, updates, out=out, **options)
        assert_same_bits(out, expected)
        out[...], before = 7, np.full(shape, 7, dtype)
        indices[(-1,) * len(shape)] = 10**6
        with pytest.raises(IndexError, match="1000000 is out of bounds"):
            gs.scatter_elements(data, indices, updates, out=out, **options)
        assert_same_bits(out, before)
