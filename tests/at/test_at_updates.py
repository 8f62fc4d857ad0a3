"""`at`: which updates are accepted, and what `out` may be."""

import sys

import gatherscatter as gs
import numpy as np
import pytest
from at_draws import loop

# Updates


def test_updates_are_cast_by_same_kind():
    x = np.zeros(3, "f4")
    assert gs.at(x)[[0, 1]].add(np.ones(2)).dtype == x.dtype
    assert gs.at(x)[[0, 1]].add(np.ones(2, int)).dtype == x.dtype
    np.testing.assert_array_equal(gs.at(x)[1:].set(np.float64(2.5)), [0, 2.5, 2.5])
    np.testing.assert_array_equal(gs.at(x)[1:].set([1, 2]), [0, 1, 2])
    np.testing.assert_array_equal(gs.at(np.zeros(3, "i2"))[1:].set(np.array([True, True])), [0, 1, 1])
    np.testing.assert_array_equal(gs.at(x)[[0, 1]].set(np.ones((1, 1, 2))), [1, 1, 0])  # as NumPy's assignment
    for updates in (np.ones(2), 2.5, [2.5, 1.0], np.float32(1)):
        with pytest.raises(TypeError, match=r"^at: updates"):
            gs.at(np.zeros(3, int))[1:].add(updates)


def test_an_array_of_rank_0_is_cast_as_any_array():
    x = np.zeros(3, "f4")
    for updates in (1.5, np.float64(1.5), np.array(1.5)):
        np.testing.assert_array_equal(gs.at(x)[1:].add(updates), np.array([0, 1.5, 1.5], "f4"), strict=True)
        np.testing.assert_array_equal(gs.at(x)[1:].subtract(updates), np.array([0, -1.5, -1.5], "f4"), strict=True)
    with pytest.raises(TypeError, match=r"at: updates=.*1e\+300\) cannot be held by x's dtype float32"):
        gs.at(x)[1:].add(np.float64(1e300))
    with pytest.raises(TypeError, match=r"at: updates of dtype complex128 cannot be cast to x's dtype float32"):
        gs.at(x)[1:].add(np.array(1j))
    assert gs.at(np.zeros(2, "U3"))[1:].set(np.array("ab")).tolist() == ["", "ab"]
    assert gs.at(np.zeros(2, object))[1:].set(np.array(2)).tolist() == [0, 2]


def test_lists_of_large_integers():
    large = [1, 2**63 + 1]  # of which NumPy makes floats
    assert gs.at(np.zeros(2, "u8"))[:].set(large).tolist() == large
    assert gs.at(np.zeros(2, "u8"))[:].subtract(large).tolist() == [2**64 - 1, 2**63 - 1]


def test_subtract_wraps_around():
    x = np.zeros(2, "u1")
    np.testing.assert_array_equal(gs.at(x)[[0, 0]].subtract(np.array([3, 4], "u1")), [249, 0])
    np.testing.assert_array_equal(gs.at(x)[0].subtract(3), [253, 0])
    np.testing.assert_array_equal(gs.at(np.zeros(1))[0].subtract(3.5, include_self=False), [-3.5])


@pytest.mark.parametrize("index", [[0, 0], ([0, 0], [1, 1]), (0, [1, 1]), slice(1), (0, 1)], ids=str)
def test_accumulate_dtype(index):
    x = np.full((2, 2), 2048, "f2")
    updates = np.full(x[index].shape, 1.25, "f2")
    expected = loop(x.astype("f8"), index, updates, "add").astype("f2")
    for wide in (np.float64, "float32", np.dtype("f8")):
        np.testing.assert_array_equal(gs.at(x)[index].add(updates, accumulate_dtype=wide), expected, strict=True)
    found = gs.at(x)[index].add(updates, accumulate_dtype="float16")
    np.testing.assert_array_equal(found, loop(x, index, updates, "add"))
    not_wider = "is not a wider dtype of the same kind as x's float16"
    for narrow, reason in [("int8", not_wider), (5, "is not a dtype of reductions"), ([1], "is not a dtype of red")]:
        with pytest.raises(TypeError, match=rf"^at: accumulate_dtype=.* {reason}"):
            gs.at(x)[index].add(updates, accumulate_dtype=narrow)


# out


@pytest.mark.parametrize(
    "index", [[0, 9], (slice(None), [0, 9]), ([0, 1], [0, 9]), (1, [0, 9]), (slice(0, 2), [0, 9]), (..., 9)], ids=str
)
def test_out_is_all_or_nothing(index):
    x = np.arange(20.0).reshape(4, 5)
    kept = x.copy()
    with pytest.raises(IndexError, match=r"^at: index"):
        gs.at(x)[index].add(1.0, out=x)
    np.testing.assert_array_equal(x, kept)
    out = np.full((4, 5), -1.0)
    with pytest.raises(IndexError, match=r"^at: index"):
        gs.at(x)[index].set(1.0, out=out)
    assert (out == -1.0).all()


def test_out_of_get_is_all_or_nothing():
    x, out = np.arange(20.0).reshape(4, 5), np.full((2, 5), -1.0)
    with pytest.raises(IndexError, match=r"^at: index"):
        gs.at(x)[[0, 9]].get(out=out)
    with pytest.raises(IndexError, match=r"^at: index"):
        gs.at(x)[[[0] * 5, [0] * 4 + [4]], [0, 1, 2, 3, 4]].get(out=out)
    assert (out == -1.0).all()


def test_out_may_be_what_is_read():
    x = np.arange(6)
    assert gs.at(x)[::-1].get(out=x) is x
    np.testing.assert_array_equal(x, [5, 4, 3, 2, 1, 0])
    gs.at(x)[1:].set(x[:-1], out=x)
    np.testing.assert_array_equal(x, [5, 5, 4, 3, 2, 1])
    gs.at(x)[x].add(1, out=x)
    np.testing.assert_array_equal(x, [5, 6, 5, 4, 3, 3])
    gs.at(x)[::2].set(x[3:], out=x[:])  # another view of the same elements
    np.testing.assert_array_equal(x, [4, 6, 3, 4, 3, 3])


def test_out_may_share_memory_with_a_part_of_x():
    for index in (slice(2, 5), np.array([4, 2, 3]), slice(None, None, -1), np.arange(10) % 3 == 0):
        memory = np.arange(20)
        x, out = memory[:10], memory[5:15]
        expected = loop(x, index, 7, "add")
        assert gs.at(x)[index].add(7, out=out) is out
        np.testing.assert_array_equal(out, expected)
    memory = np.arange(20)
    x, out = memory[:10], memory[5:15].reshape(2, 5)
    index = np.array([[1, 2, 3, 4, 5], [5, 4, 3, 2, 9]])
    expected = x[index]
    np.testing.assert_array_equal(gs.at(x)[index].get(out=out), expected)


@pytest.mark.parametrize("index", [[2, 0], (slice(1, None), [2, 0]), ([1, 0], [2, 0]), (..., -1), slice(1, 2)], ids=str)
@pytest.mark.parametrize("shares", [True, False])
def test_out_is_written_in_one_step(index, shares, monkeypatch):
    """An exception of a signal's handler comes between two steps in Python, so one of them writes to `out`."""
    steps = []
    x = np.arange(12.0).reshape(3, 4)
    out = x if shares else np.zeros_like(x)
    known = [out.tobytes()]

    def trace(frame, event, argument):
        if out.tobytes() != known[-1]:
            known.append(out.tobytes())
            steps.append(frame.f_code.co_name)
        return trace

    expected = loop(x, index, 0.5, "subtract") if not isinstance(index, slice) else x - [[0], [0.5], [0]]
    sys.settrace(trace)
    try:
        gs.at(x)[index].subtract(0.5, out=out)
    finally:
        sys.settrace(None)
    np.testing.assert_array_equal(out, expected)
    assert len(known) <= 2, steps


def test_read_only_arrays():
    x, i = np.arange(4.0), np.array([1, 2])
    x.setflags(write=False)
    i.setflags(write=False)
    for index in (i, slice(1, 3), (x > 1), (None, i)):
        np.testing.assert_array_equal(gs.at(x)[index].get(), x[index])
        assert gs.at(x)[index].set(1).flags.writeable
        with pytest.raises(ValueError, match=r"at: out is read-only"):
            gs.at(x)[index].set(1, out=x)
        out = np.zeros(4)
        out.setflags(write=False)
        with pytest.raises(ValueError, match=r"at: out is read-only"):
            gs.at(x)[index].set(1, out=out)


@pytest.mark.parametrize("index", [[1], slice(1, 3), ([1], [2]), (0, slice(None, None, -1))], ids=str)
def test_out_is_checked(index):
    x = np.zeros((4, 5))
    shape = np.zeros((4, 5))[index].shape
    call = gs.at(x)[index]
    for out, kind in ((np.zeros((9, 9)), ValueError), (np.zeros((4, 5), "f4"), TypeError), ([0.0], TypeError)):
        with pytest.raises(kind, match=r"^at: out"):
            call.set(1.0, out=out)
    for out, kind in ((np.zeros((9, 9)), ValueError), (np.zeros(shape, "f4"), TypeError), ([0.0], TypeError)):
        with pytest.raises(kind, match=r"^at: out"):
            call.get(out=out)


@pytest.mark.parametrize("index", [slice(2), [0, 2], (slice(None, 2), None)], ids=str)
def test_nested_tuples_are_objects_as_in_numpy(index):
    expected = np.zeros(3, object)
    shape = expected[index].shape
    updates = [(1, 2), (3, [4])] if len(shape) == 1 else [[(1, 2)], [(3, [4])]]
    expected[index] = updates
    assert gs.at(np.zeros(3, object))[index].set(updates).tolist() == expected.tolist()


def test_an_object_may_be_a_list():
    x = np.zeros(2, object)
    assert gs.at(x)[1].set([1, (2, 3)]).tolist() == [0, [1, (2, 3)]]
    assert gs.scatter(x, [1, 0], [(1, 2), None]).tolist() == [None, (1, 2)]
    assert gs.scatter_nd(np.zeros((2, 2), object), [[1]], [[(1,), {}]]).tolist() == [[0, 0], [(1,), {}]]
    with pytest.raises(ValueError, match=r"^scatter: updates has shape \(2,\)"):
        gs.scatter(x, [0], (1, 2))
