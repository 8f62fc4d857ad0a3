"""The memory that a call needs, and the arrays that it leaves unchanged."""

import gc
import sys
import tracemalloc

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits


def _peak(call):
    call()
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_gather_from_a_transposed_gibibyte():
    data = np.zeros((2**14, 2**14), np.float32).T
    assert data.nbytes == 2**30
    indices = np.random.default_rng(0).integers(0, 2**14, (1000, 2))
    assert _peak(lambda: gs.gather_nd(data, indices)) < 2**20


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "u8", ">i8"])
def test_indices_are_not_widened(dtype):
    data = np.zeros((100, 3), np.uint8)
    indices = np.zeros((1_000_000, 2), dtype)[:, ::-1]
    result = 1_000_000
    assert _peak(lambda: gs.gather_nd(data, indices)) < result + 2**16


def test_reference_items_are_moved_in_bounded_pieces():
    data = np.array([[str(i)] for i in range(10)], object)
    indices = np.zeros((1_000_000, 1), np.int8)
    result = 8 * 1_000_000
    assert _peak(lambda: gs.gather_nd(data, indices)) < result + 2**21


@pytest.mark.parametrize("mode", ["raise", "clip", "wrap"])
@pytest.mark.parametrize("dtype", ["f4", object, np.dtypes.StringDType()])
def test_out_is_left_as_it_was(mode, dtype):
    data = np.zeros((3000, 0) if mode != "raise" else (3000, 5), dtype)
    indices = np.zeros((3000, 1), np.int64)
    if mode == "raise":
        indices[2999] = 5
    out = np.ones(3000, dtype)
    before = out.copy()
    with pytest.raises(IndexError, match="out of bounds"):
        gs.gather_nd(data, indices, batch_dims=1, mode=mode, out=out)
    assert_same_bits(out, before)


def test_overlap_with_data():
    data = np.arange(10)
    gs.gather_nd(data, np.arange(9, -1, -1)[:, None], out=data)
    assert data.tolist() == list(range(9, -1, -1))


def test_overlap_with_a_part_of_data():
    data = np.arange(10)
    gs.gather_nd(data, np.array([[9], [8], [7], [0]]), out=data[5:9])
    assert data.tolist() == [0, 1, 2, 3, 4, 9, 8, 7, 0, 9]


def test_overlap_with_indices():
    indices = np.array([[3], [2], [1], [0]])
    gs.gather_nd(np.array([10, 11, 12, 13]), indices, out=indices[:, 0])
    assert indices.tolist() == [[13], [12], [11], [10]]


def test_interleaved_out_shares_no_byte():
    both = np.arange(20)
    gs.gather_nd(both[::2], np.arange(9, -1, -1)[:, None], out=both[1::2])
    assert both[1::2].tolist() == list(range(18, -1, -2))


# Strides of three elements of 8 bytes each, whose memory is shared: one, windows, rows that meet, parts of elements.
OVERLAPPING = [((3,), (0,)), ((3, 3), (8, 8)), ((3, 3), (16, 8)), ((2, 4), (32, 16)), ((3,), (4,)), ((3, 1), (0, 8))]
# Strides that look like it.
APART = [
    ((3, 3), (24, 16)),
    ((2, 4), (24, 16)),
    ((2, 2), (24, 16)),
    ((3,), (-8,)),
    ((1, 3), (0, 8)),
    ((3, 3), (8, 24)),
    ((0, 3), (8, 0)),
]


def calls_with_out(shape):
    """Calls whose result has a shape."""
    tuples = np.zeros((*shape, 0), int)
    ids, like = np.arange(shape[0]), np.ones(shape)
    yield gs.gather, (np.ones((9, *shape[1:])), ids)
    yield gs.gather_nd, (np.ones(()), tuples)
    yield gs.gather_elements, (like, np.zeros(shape, int))
    yield gs.scatter, (like, ids[:0], like[:0])
    yield gs.scatter_nd, (like, ids[:, None], like)
    yield gs.scatter_elements, (like, np.zeros(shape, int), like)
    yield gs.at(like)[...].get, ()
    yield gs.at(like)[ids].set, (2.0,)
    yield gs.at(like)[ids].divide, (2.0,)
    yield gs.gather_scatter, (like, ids, like, ids)
    yield gs.segment_softmax, (like, ids)
    yield gs.segment_reduce, (like, ids, shape[0])
    yield gs.segment_scan, (like, ids)
    yield gs.segment_quantile, (like, 0.5, ids, shape[0])
    yield gs.prepare("scatter", shape, ids).scatter, (like, like)
    yield gs.prepare("segment", shape, ids, shape[0]).reduce, (like,)


@pytest.mark.parametrize(("shape", "strides"), OVERLAPPING)
def test_out_that_overlaps_itself(shape, strides):
    for call, arguments in calls_with_out(shape):
        store = np.full(30, 7.0)
        out = np.lib.stride_tricks.as_strided(store, shape, strides)
        with pytest.raises(ValueError, match="elements of out share memory, as after broadcast_to or expand"):
            call(*arguments, out=out)
        assert (store == 7).all()


@pytest.mark.parametrize(("shape", "strides"), APART)
def test_out_of_elements_apart(shape, strides):
    for call, arguments in calls_with_out(shape):
        out = np.lib.stride_tricks.as_strided(np.full(30, 7.0)[9:], shape, strides)
        assert call(*arguments, out=out) is out
        np.testing.assert_array_equal(out, call(*arguments))


def test_reference_counts():
    class Thing:
        pass

    things = [Thing() for _ in range(3)]
    data = np.array(things, object)
    start = [sys.getrefcount(thing) for thing in things]

    def more():
        now = [sys.getrefcount(thing) for thing in things]
        return [n - s for n, s in zip(now, start, strict=True)]

    result = gs.gather_nd(data, np.array([[0], [0], [2], [7]]), mode="fill", fill_value=things[1])
    assert more() == [2, 1, 1]
    gs.gather_nd(data, np.array([[1], [1], [1], [1]]), out=result)
    assert more() == [0, 4, 0]
    with pytest.raises(IndexError):
        gs.gather_nd(data, np.array([[0], [3]]))
    del result
    gc.collect()
    assert more() == [0, 0, 0]


def test_strings_live_on_after_data():
    data = np.array(["a string that does not fit into sixteen bytes"] * 3, np.dtypes.StringDType())
    result = gs.gather_nd(data, np.array([[2], [0]]))
    del data
    gc.collect()
    assert result.tolist() == ["a string that does not fit into sixteen bytes"] * 2


def test_no_reference_to_the_arguments_is_kept():
    data, indices = np.arange(3.0), np.array([[1]])
    before = sys.getrefcount(data), sys.getrefcount(indices), sys.getrefcount(data.dtype)
    for _ in range(100):
        gs.gather_nd(data, indices)
        with pytest.raises(IndexError):
            gs.gather_nd(data, indices + 9)
    assert (sys.getrefcount(data), sys.getrefcount(indices)) == before[:2]
    assert abs(sys.getrefcount(data.dtype) - before[2]) < 50


def test_beyond_2_to_the_31_by_strides_of_0():
    data = np.broadcast_to(np.arange(3, dtype=np.uint8), (2**33, 3))
    for dtype in (np.int64, np.uint64):
        indices = np.array([[2**33 - 1, 2], [2**31, 1], [2**32 + 5, 0]], dtype)
        assert gs.gather_nd(data, indices).tolist() == [2, 1, 0]
    assert gs.gather_nd(data, np.array([[2**32 - 1, 1]], np.uint32)).tolist() == [1]
    with pytest.raises(IndexError, match=rf"\({2**33}, 0\) .* axis 0 has size {2**33}$"):
        gs.gather_nd(data, np.array([[2**33, 0]]))


def test_beyond_2_to_the_31_bytes_of_a_file(tmp_path):
    n = 2**31 + 2**12
    data = np.memmap(tmp_path / "sparse", np.uint8, "w+", shape=(n,))
    places = [0, 2**31 - 1, 2**31, n - 1]
    data[places] = [1, 2, 3, 4]
    indices = np.array(places)[:, None]
    result = gs.gather_nd(data, indices)
    assert type(result) is np.ndarray
    assert result.tolist() == [1, 2, 3, 4]
    assert gs.gather_nd(data, indices - n).tolist() == [1, 2, 3, 4]
    assert gs.gather_nd(data[::-1], n - 1 - indices).tolist() == [1, 2, 3, 4]
    with pytest.raises(IndexError):
        gs.gather_nd(data, np.array([[n]]))


def test_out_that_runs_into_indices_not_yet_read():
    n = 5000
    both = np.arange(n, -1, -1)
    expected = both[:n] * 10
    gs.gather_nd(np.arange(0, 10 * n + 1, 10), both[:n, None], out=both[1:])
    np.testing.assert_array_equal(both[1:], expected)
