"""Any array-API namespace, here the strict one, against the scalar loop."""

import array_api_strict as xp
import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits
from gatherscatter import reductions, reference
from gatherscatter.backends import sorting
from hypothesis import given
from hypothesis import strategies as st
from strategies import gather_calls, gather_nd_cases

DTYPES = [np.dtype(spec) for spec in ("?", "i1", "i8", "u1", "u8", "f4", "f8", "F", "D")]


def strict(array):
    return xp.asarray(array.astype(array.dtype.newbyteorder("=")))


@given(case=gather_nd_cases(DTYPES))
def test_equals_the_loop(case):
    data, indices, options = case
    result = gs.gather_nd(strict(data), strict(indices), **options)
    assert type(result) is type(xp.asarray(0))
    expected = reference.gather_nd(data, indices, **options)
    assert_same_bits(np.asarray(result), expected.astype(expected.dtype.newbyteorder("=")))


@pytest.mark.parametrize("function", ["gather", "gather_elements"])
@given(draw=st.data())
def test_the_other_gathers_equal_the_loop(function, draw):
    data, indices, options = draw.draw(gather_calls(function, DTYPES))
    result = getattr(gs, function)(strict(data), strict(indices), **options)
    expected = getattr(reference, function)(data, indices, **options)
    assert_same_bits(np.asarray(result), expected.astype(expected.dtype.newbyteorder("=")))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: gs.gather(xp.zeros((2, 3, 4)), xp.asarray([[0, 1], [2, 3]]), axis=2, batch_dims=1),
            None,
        ),
        (
            lambda: gs.gather(xp.zeros((2, 3, 4)), xp.asarray([[0, 1], [2, -5]]), axis=2, batch_dims=1),
            "gather: indices[1, 1] = -5 is out of bounds for data of shape (2, 3, 4): axis 2 has size 4",
        ),
        (
            lambda: gs.gather(xp.zeros((0, 4)), xp.asarray([0, 4]), axis=1),
            "gather: indices[1] = 4 is out of bounds for data of shape (0, 4): axis 1 has size 4",
        ),
        (
            lambda: gs.gather_elements(xp.zeros((3, 4)), xp.asarray([[0, 1], [2, 3]]), axis=0),
            "gather_elements: indices[1, 1] = 3 is out of bounds for data of shape (3, 4): axis 0 has size 3",
        ),
    ],
)
def test_place_of_a_bad_index(call, message):
    if message is None:
        assert call().shape == (2, 3, 2)
        return
    with pytest.raises(IndexError) as caught:
        call()
    assert str(caught.value) == message


# Scatters with many updates of one row

CROWDS = [np.zeros(100, int), np.r_[np.zeros(70, int), np.arange(60) % 7, [9] * 3, [2, 0]], np.arange(9)]


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize(("crowd", "row"), [(0, ()), (1, ()), (1, (2,)), (2, ())])
@pytest.mark.parametrize("dtype", [np.dtype(spec) for spec in ("?", "i1", "u8", "f4", "D")], ids=str)
def test_crowds_equal_the_loop(dtype, crowd, row, include_self):
    rng = np.random.default_rng(crowd)
    indices = rng.permutation(CROWDS[crowd])
    updates = rng.choice([0, 1, 2, 3, 100, 127], (indices.size, *row)).astype(dtype)
    data = rng.choice([0, 1, 5], (9, *row)).astype(dtype)  # 9: is dropped
    if dtype.kind == "f":
        updates = updates * rng.choice([-0.1, 0.7, 1], updates.shape).astype(dtype)  # -0.0 too
        updates[rng.random(updates.shape) < 0.02] = np.nan
    for reduction in ("none", "add", "mul", "max", "min", "mean"):
        if not reductions.takes(reduction, dtype.name) or (dtype.kind == "c" and reduction in ("mul", "mean")):
            continue
        options = {"reduction": reduction, "include_self": include_self, "mode": "drop"}
        with np.errstate(all="ignore"):
            result = gs.scatter(strict(data), strict(indices), strict(updates), **options)
        assert_same_bits(np.asarray(result), gs.scatter(data, indices, updates, **options))


@pytest.mark.parametrize("reduction", ["max", "min"])
def test_the_first_of_equal_updates_stays(reduction):
    indices, zeros = np.arange(40) % 3, np.random.default_rng(0).choice([0.0, -0.0], 40)
    zeros[:3] = [0.0, -0.0, 0.0]
    options = {"reduction": reduction, "include_self": False}
    result = gs.scatter(strict(np.ones(3)), strict(indices), strict(zeros), **options)
    assert_same_bits(np.asarray(result), gs.scatter(np.ones(3), indices, zeros, **options))
    assert np.signbit(np.asarray(result)).tolist() == [False, True, False]


@pytest.mark.parametrize(("dtype", "reduction"), [("i8", "add"), ("u1", "mul"), ("f8", "max"), ("f4", "min")])
def test_the_number_of_steps_is_a_logarithm(monkeypatch, dtype, reduction):
    steps = []

    def combine(*arguments, **options):
        steps.append(options["associative"])
        *others, step = arguments
        return real(*others, lambda a, b: steps.append(a.shape) or step(a, b), **options)

    real = sorting.combine
    monkeypatch.setattr(sorting, "combine", combine)
    ones = strict(np.ones(1000, dtype))
    gs.scatter(ones[:2], strict(np.zeros(1000, int)), ones, reduction=reduction)
    assert steps[0] is True
    assert len(steps) == 12  # 10 halvings of 1000, and the element of data


def test_device_is_datas():
    device = xp.Device("device1")
    data = xp.asarray([1, 2, 3], device=device)
    indices = xp.asarray([[2], [7]], device=device)
    assert gs.gather_nd(data, indices, mode="fill").device == device
    assert gs.gather_nd(data, [[0], [-1]]).device == device


def test_lists_become_arrays_of_datas_library():
    result = gs.gather_nd(xp.asarray([[0, 1], [2, 3]]), [[1, 0]])
    assert type(result) is type(xp.asarray(0))
    assert np.asarray(result).tolist() == [2]
    assert np.asarray(gs.gather_nd(xp.asarray([4, 5]), [[]])).tolist() == [[4, 5]]
    assert np.asarray(gs.gather_nd([4, 5], xp.asarray([1]))).tolist() == 5


def test_out():
    data, indices = xp.asarray([1.0, 2.0, 3.0]), xp.asarray([[2], [0]])
    out = xp.zeros(2)
    assert gs.gather_nd(data, indices, out=out) is out
    assert np.asarray(out).tolist() == [3.0, 1.0]
    with pytest.raises(IndexError):
        gs.gather_nd(data, indices + 1, out=out)
    assert np.asarray(out).tolist() == [3.0, 1.0]


def test_fill_value():
    data, indices = xp.asarray([1.0, 2.0]), xp.asarray([[1], [2]])
    result = np.asarray(gs.gather_nd(data, indices, mode="fill", fill_value=float("nan")))
    assert result[0] == 2
    assert np.isnan(result[1])
    with pytest.raises(TypeError, match=r"^gather_nd: fill_value=1.5 cannot be held by data's dtype"):
        gs.gather_nd(xp.asarray([1]), indices, mode="fill", fill_value=1.5)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: gs.gather_nd(xp.zeros((4, 5)), xp.asarray([[[0, 0]], [[2, 9]]])),
            IndexError,
            "gather_nd: indices[1, 0] = (2, 9) is out of bounds for data of shape (4, 5): axis 1 has size 5",
        ),
        (
            lambda: gs.gather_nd(xp.zeros((4, 5)), xp.asarray([-5])),
            IndexError,
            "gather_nd: indices = (-5,) is out of bounds for data of shape (4, 5): axis 0 has size 4",
        ),
        (
            lambda: gs.gather_nd(xp.zeros((4, 5)), xp.asarray([2**64 - 1], dtype=xp.uint64)),
            IndexError,
            f"gather_nd: indices = ({2**64 - 1},) is out of bounds for data of shape (4, 5): axis 0 has size 4",
        ),
        (
            lambda: gs.gather_nd(xp.zeros((2, 0)), xp.asarray([[1], [0]]), batch_dims=1, mode="wrap"),
            IndexError,
            "gather_nd: indices[0] = (1,) is out of bounds for data of shape (2, 0): axis 1 has size 0",
        ),
        (
            lambda: gs.gather_nd(xp.zeros(4), xp.asarray([[True]])),
            TypeError,
            "gather_nd: indices has dtype array_api_strict.bool, which makes it a mask; "
            "pass the tuples of its true elements, argwhere(indices)",
        ),
        (
            lambda: gs.gather_nd(xp.zeros(4), xp.asarray([[1]]), out=xp.zeros(2)),
            ValueError,
            "gather_nd: out has shape (2,), but the result has shape (1,); pass out of that shape",
        ),
        (
            lambda: gs.gather_nd(xp.zeros(4), xp.asarray([[1]]), out=np.zeros(1)),
            TypeError,
            "gather_nd: out is a numpy.ndarray; pass an array_api_strict.Array",
        ),
    ],
)
def test_message(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == message
