"""Small calls skip the plan: both ways must agree, and a call that one rejects must not run in the other."""

import re

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_numbers
from constants import AXIS, ELEMENTS, ND, OPERATORS, REDUCTIONS
from gatherscatter import gathers, plan, reference, scatters, threads
from gatherscatter._kernels.gather import try_gather
from gatherscatter._kernels.scatter import try_scatter
from gatherscatter.backends.numpy import BACKEND as backend
from gatherscatter.operators import SCATTER
from hypothesis import given
from hypothesis import strategies as st
from pairwise import in_turn
from strategies import REDUCTION_DTYPES, numbers, scatter_calls

KINDS = {"gather": AXIS, "gather_nd": ND, "gather_elements": ELEMENTS}


def options(function, axis, batch_dims):
    return {
        "gather": {"axis": axis, "batch_dims": batch_dims},
        "gather_nd": {"batch_dims": batch_dims},
        "gather_elements": {"axis": axis},
    }[function]


@pytest.mark.parametrize("function", KINDS)
@given(data=st.data())
def test_answers_just_what_a_plan_allows(function, data):
    shape = st.lists(st.integers(0, 3), max_size=4).map(tuple)
    source, places = np.arange(81.0)[: int(np.prod(size := data.draw(shape)))].reshape(size), data.draw(shape)
    indices = np.zeros(places, int)
    axis, b = data.draw(st.integers(-4, 4)), data.draw(st.integers(-1, 4))
    given_options = options(function, axis, b)
    result = try_gather(KINDS[function], True, source, indices, axis, b, "raise", 0, None, 1)
    try:
        plan.gather(OPERATORS[function], source.shape, places, axis, b if function != "gather_elements" else 0, "raise")
        expected = getattr(reference, function)(source, indices, **given_options)
    except (ValueError, IndexError):
        assert result is None
        return
    if result is None:  # an empty axis in front of the indexed one leaves indices unchecked: the long way
        assert function == "gather"
        assert 0 in source.shape
    else:
        assert_same_numbers(result, expected)


@pytest.mark.parametrize("function", ["scatter", "scatter_nd", "scatter_elements"])
@given(data=st.data())
def test_scatters_agree(function, data):
    arrays_and_options = data.draw(scatter_calls(function, REDUCTION_DTYPES, REDUCTIONS))
    *arrays, given_options = arrays_and_options
    arrays[1] = np.zeros_like(arrays[1])  # in bounds wherever there is anything
    given_options.pop("accumulate_dtype", None)  # which needs a plan
    wraps = given_options.get("wrap_negative_indices", True)
    options = [given_options[name] for name in ("reduction", "mode", "include_self")]
    kind = KINDS[function.replace("scatter", "gather")]
    axis, b = given_options.get("axis", 0), given_options.get("batch_dims", 0)
    result = try_scatter(kind, wraps, *arrays, axis, b, *options, None, 1)
    try:
        expected = getattr(reference, function)(*arrays, **given_options)
    except IndexError:
        assert result is None
        return
    if result is not None:
        assert_same_numbers(result, expected)
    else:  # what only the long way does
        assert (
            not arrays[0].flags.c_contiguous
            or arrays[0].dtype.name == "bfloat16"
            or 0 in arrays[0].shape
            or any(type(array) is not np.ndarray for array in arrays)
        )


@in_turn("dtype", ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "F", "D", ">f4"])
@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_scatter_takes_the_short_way(dtype, reduction):
    data, updates = numbers((4, 2), np.dtype(dtype), 1), numbers((5, 2), np.dtype(dtype), 2)
    indices = np.array([1, 1, 0, -1, 1])
    result = try_scatter(AXIS, True, data, indices, updates, 0, 0, reduction, "raise", True, None, 1)
    if np.dtype(dtype).kind == "c" and reduction in ("max", "min"):
        assert result is None
    else:
        assert_same_numbers(result, reference.scatter(data, indices, updates, reduction=reduction))


def test_scatter_leaves_to_the_long_way_what_is_to_be_explained():
    data, indices, updates = np.zeros((3, 2)), np.array([0, 1]), np.ones((2, 2))

    def call(data=data, indices=indices, updates=updates, axis=0, batch_dims=0, reduction="none"):
        return try_scatter(AXIS, True, data, indices, updates, axis, batch_dims, reduction, "raise", True, None, 1)

    assert call() is not None
    assert call(updates=updates[:1]) is None
    assert call(updates=updates[0]) is None
    assert call(updates=updates.astype("f4")) is None
    assert call(updates=updates.astype(">f8")) is None
    assert call(indices=indices + 2) is None
    assert call(indices=indices + 0.0) is None
    assert call(axis=2) is None
    assert call(axis=1.0) is None
    assert call(batch_dims=1) is None
    assert call(reduction="sum") is None
    assert call(reduction=None) is None
    assert call(data=data.T, axis=1, updates=updates.T) is None  # not contiguous
    assert call(data=data.astype(object), updates=updates.astype(object)) is None
    assert call(data=data.astype("M8[s]"), updates=updates.astype("M8[s]"), reduction="add") is None
    assert call(data=data.astype("g"), updates=updates.astype("g"), reduction="add") is None


def test_a_kernel_that_fails_is_not_entered_again(monkeypatch):
    """The error is made from its status, whatever the way to the call."""

    def entered(*_, **__):
        raise AssertionError

    data, indices = np.zeros((3, 2)), np.array([0, 4])
    prepared = gs.prepare("gather_nd", (3,), [[0], [2]])
    with monkeypatch.context() as patch:
        for name in ("gather", "scatter"):
            patch.setattr(f"gatherscatter.backends.kernels._{name}.{name}", entered)
        message = re.escape("indices[1] = 4 is out of bounds for data of shape (3, 2): axis 0 has size 3")
        for given in (indices, indices.tolist()):
            for call in (
                lambda given=given: gs.gather(data, given),
                lambda given=given: gs.scatter(data, given, 1.0),
                lambda given=given: gs.scatter(data.copy(), given, 1.0, out=data),
            ):
                with pytest.raises(IndexError, match=message):
                    call()
        for index, shown in ((indices, "4"), ((indices, indices % 2), "(4, 0)"), ((slice(1, 3), indices), "4")):
            place = re.escape(f"at: index {shown} at position (1,) is out of bounds")
            for call in (gs.at(data)[index].get, lambda index=index: gs.at(data)[index].add(1.0)):
                with pytest.raises(IndexError, match=place):
                    call()
        assert prepared.gather(data).shape == (2, 2)
    assert not data.any()


def test_a_declined_call_is_not_asked_again(monkeypatch):
    asked = []
    monkeypatch.setattr(type(backend), "try_gather", lambda *_: asked.append("gather"))
    monkeypatch.setattr(type(backend), "try_scatter", lambda *_: asked.append("scatter"))
    data, indices = np.zeros((400, 400)), np.arange(400)  # large results
    gs.gather(data, indices)
    gs.scatter(data, indices, data)
    assert not asked
    gs.gather(data, indices.tolist())  # which the fast path had not been asked as an array
    gs.scatter(data, indices.tolist(), data)
    assert asked == ["gather", "scatter"]


def test_the_limit_of_threads_is_handed_on(monkeypatch):
    seen = []
    monkeypatch.setattr(gathers, "try_gather", lambda *args: seen.append(args[-2]))
    monkeypatch.setattr(scatters, "try_scatter", lambda *args: seen.append(args[-2]))
    gs.set_num_threads(3)
    gs.gather_nd(np.zeros(3), np.zeros((1, 1), int))
    gs.scatter(np.zeros(3), np.zeros(1, int), np.zeros(1))
    assert seen == [threads.limit] * 2 == [3, 3]


@pytest.mark.parametrize("function", ["scatter", "scatter_nd", "scatter_elements"])
@given(data=st.data())
def test_in_place_and_into_out(function, data):
    """out=data and another out give what a new array would hold; if None, nothing is written."""
    *arrays, given_options = data.draw(scatter_calls(function, REDUCTION_DTYPES, REDUCTIONS))
    arrays = [np.array(array, order="C", subok=False) for array in arrays]
    kind = KINDS[function.replace("scatter", "gather")]
    axis, b = given_options.get("axis", 0), given_options.get("batch_dims", 0)
    given_options.pop("accumulate_dtype", None)  # which needs a plan
    wraps = given_options.get("wrap_negative_indices", True)
    options = [given_options[name] for name in ("reduction", "mode", "include_self")]
    try:
        expected = getattr(reference, function)(*arrays, **given_options)
    except IndexError:
        expected = None
    for in_place in (True, False):
        source = arrays[0].copy()
        out = source if in_place else np.zeros_like(source)
        before = out.copy()
        result = try_scatter(kind, wraps, source, *arrays[1:], axis, b, *options, out, 1)
        if result is None:
            assert out.tobytes() == before.tobytes()
            # What needs a plan beside errors: an empty axis, whose indices no kernel reads, and bfloat16.
            assert expected is None or 0 in source.shape or source.dtype.name == "bfloat16"
        else:
            assert result is out
            assert_same_numbers(out, expected)


@in_turn("dtype", ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "F", ">f4", "S3"])
def test_scalars_fit_as_in_a_plan(dtype):
    """The short way takes a scalar only if the plan would, and writes the same element."""
    data, indices = np.zeros(3, dtype), np.array([1, -1])
    long_way = plan.scatter(SCATTER, (3,), (2,), 0, 0, "raise", "none", True)
    values = [0, 1, -1, 127, 128, -128, -129, 255, 256, 65535, 2**31, -(2**31) - 1, 2**63, 2**64]
    for value in (*values, 1.5, 1e39, np.inf, True):
        short = try_scatter(AXIS, True, data, indices, value, 0, 0, "none", "raise", True, None, 1)
        filled = try_gather(AXIS, True, data, indices + 5, 0, 0, "fill", value, None, 1)
        if short is None:
            assert filled is None
        else:
            long = backend.scatter(data, indices, value, long_way, None)
            assert_same_numbers(short, long)
            assert_same_numbers(filled, long[[1, 1]])


@pytest.mark.parametrize(
    "into", ["read-only", "another dtype", "another shape", "strided", "a list", "updates", "indices"]
)
def test_outs_that_need_a_plan(into):
    data, indices, updates = np.zeros(4), np.array([0, 1, 2, 3]), np.ones(4)
    out = np.zeros(4)
    out.flags.writeable = into != "read-only"
    out = {
        "another dtype": np.zeros(4, "f4"),
        "another shape": np.zeros(5),
        "strided": np.zeros(8)[::2],
        "a list": [0.0] * 4,
        "updates": updates,
        "indices": indices.view("f8"),
    }.get(into, out)
    before = np.array(out)
    assert try_scatter(AXIS, True, data, indices, updates, 0, 0, "add", "raise", True, out, 1) is None
    if into != "updates":
        assert try_gather(AXIS, True, data, indices, 0, 0, "raise", 0, out, 1) is None
    assert_same_numbers(np.array(out), before)


def test_a_bad_index_leaves_out_to_the_long_way():
    """All or nothing, at the edges of a block of 128 tuples."""
    for n in (1, 127, 128, 129, 300):
        for bad in {0, n - 1}:
            indices = np.zeros(n, int)
            indices[bad] = 9
            for out in (np.arange(5.0), data := np.arange(5.0)):
                assert try_scatter(AXIS, True, data, indices, 7.0, 0, 0, "add", "raise", True, out, 1) is None
                assert out.tolist() == [0, 1, 2, 3, 4]
            out = np.full(n, 3.0)
            assert try_gather(AXIS, True, data, indices, 0, 0, "raise", 0, out, 1) is None
            assert (out == 3).all()


def test_strided_arrays_in_place():
    """Elements that share memory are left to the plan, which computes in temporary memory."""
    memory = np.arange(200.0)
    indices, updates = np.array([0, 3, 0]), np.ones((3, 4))
    for data in (
        memory[:40].reshape(4, 10)[:, ::2][:, :4],
        memory[:40].reshape(10, 4)[::-2],
        memory[:16].reshape(4, 4).T,
        memory[:160].reshape(20, 8)[:4, 1:5],
    ):
        expected = data.copy()
        expected[0] += 2
        expected[3] += 1
        before = memory.copy()
        assert try_scatter(AXIS, True, data, indices, updates, 0, 0, "add", "raise", True, data, 1) is data
        np.testing.assert_array_equal(data, expected)
        memory[...] = before
        assert try_scatter(AXIS, True, data, indices + 2, updates, 0, 0, "add", "raise", True, data, 1) is None
        np.testing.assert_array_equal(memory, before)
    shared = np.lib.stride_tricks.as_strided(memory, (5, 4), (16, 8))
    assert try_scatter(AXIS, True, shared, indices, updates, 0, 0, "add", "raise", True, shared, 1) is None
    repeated = np.lib.stride_tricks.as_strided(memory, (5, 4), (0, 8))
    assert try_scatter(AXIS, True, repeated, indices, updates, 0, 0, "add", "raise", True, repeated, 1) is None
    readonly = memory[:40].reshape(4, 10)[:, :4]
    readonly.flags.writeable = False
    assert try_scatter(AXIS, True, readonly, indices, updates, 0, 0, "add", "raise", True, readonly, 1) is None


@in_turn("n", [1, 10, 63, 64, 65, 128, 129, 300])
@pytest.mark.parametrize("width", [(), (3,), (40,)])
def test_a_bad_last_index_leaves_out_as_it_is(n, width):
    """Whether the indices are one block, which is checked before the first row is moved, or more."""
    data = np.ones((5, *width))
    indices = np.arange(2 * n).reshape(2, n) % 5
    indices[-1, -1] = 5
    for out in (
        np.zeros((2, n, *width)),
        np.zeros((2, 2 * n, *width))[:, ::2],
        np.zeros((n, 2, *width)).swapaxes(0, 1),
        np.zeros((3, n, *width))[::2],
    ):
        for call in (
            lambda out=out: gs.gather(data, indices, out=out),
            lambda out=out: gs.gather_nd(data, indices[..., None], out=out),
        ):
            with pytest.raises(IndexError):
                call()
            assert not out.any()


@in_turn("n", [1, 10, 127, 128, 129, 300])
@pytest.mark.parametrize("width", [(), (3,), (40,)])
@pytest.mark.parametrize("reduction", ["none", "add", "mean"])
def test_a_bad_last_index_leaves_data_as_it_is(n, width, reduction):
    """Of a scatter in place, in blocks as above."""
    indices = np.arange(n) % 5
    indices[-1] = 5
    for data, updates in (
        (np.zeros((5, *width)), np.ones((n, *width))),
        (np.zeros((5, *width)), np.ones((2 * n, *width))[::2]),
        (np.zeros((10, *width))[::2], np.ones((n, *width))),
        (np.zeros((5, *width), "i2"), np.ones((n, *width), "i2")),
    ):
        for call in (
            lambda data=data, updates=updates, index=indices: gs.scatter(
                data, index, updates, reduction=reduction, out=data
            ),
            lambda data=data, updates=updates, index=indices: gs.scatter_nd(
                data, index[:, None], updates, reduction=reduction, out=data
            ),
        ):
            with pytest.raises(IndexError):
                call()
            assert not data.any()
