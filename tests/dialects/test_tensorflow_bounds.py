"""gatherscatter.tensorflow: indices out of bounds, and the policies for them."""

import gatherscatter.tensorflow as gtf
import ml_dtypes
import numpy as np
import pytest
from assertions import assert_same_bits
from libraries import EAGER, on_each
from pairwise import in_turn
from tensorflow_calls import COMBINES, refusal

POLICIES = ("", "DEFAULT", "ERROR")


# Indices out of bounds


@in_turn("policy", POLICIES)
@in_turn(
    ("indices", "message"),
    [
        (
            [[0, 1], [1, -1], [9, 9]],
            "gather_nd: indices[1] = (1, -1) is out of bounds for params of shape (2, 3): axis 1 has size 3, "
            "and TensorFlow's indices are not negative",
        ),
        (
            [[0, 3], [1, -1]],
            "gather_nd: indices[0] = (0, 3) is out of bounds for params of shape (2, 3): axis 1 has size 3",
        ),
        ([[2, -1]], "gather_nd: indices[0] = (2, -1) is out of bounds for params of shape (2, 3): axis 0 has size 2"),
        ([[2, 0]], "gather_nd: indices[0] = (2, 0) is out of bounds for params of shape (2, 3): axis 0 has size 2"),
    ],
)
@pytest.mark.parametrize("library", on_each(EAGER))
def test_gather_nd_raises(library, indices, message, policy):
    params = library.asarray(np.zeros((2, 3)))
    with library.way(), pytest.raises(IndexError) as caught:
        gtf.gather_nd(params, library.asarray(np.int64(indices)), bad_indices_policy=policy)
    assert str(caught.value) == message


@pytest.mark.parametrize("library", on_each(EAGER))
def test_gather_raises(library):
    params = library.asarray(np.zeros((2, 3)))
    with library.way(), pytest.raises(IndexError) as caught:
        gtf.gather(params, library.asarray(np.int32([[0, -3], [3, 0]])), axis=1)
    assert str(caught.value) == (
        "gather: indices[0, 1] = -3 is out of bounds for params of shape (2, 3): axis 1 has size 3, "
        "and TensorFlow's indices are not negative"
    )
    with library.way(), pytest.raises(IndexError) as caught:
        gtf.gather(params, library.asarray(np.int32([[0, 2], [3, -1]])), axis=1)
    assert str(caught.value) == (
        "gather: indices[1, 0] = 3 is out of bounds for params of shape (2, 3): axis 1 has size 3"
    )


@in_turn("index", [-1, -4, 3, -(2**31), 2**31 - 1])
@in_turn("what", ["scatter_nd", "tensor_scatter_nd_update", *(f"tensor_scatter_nd_{w}" for w in COMBINES)])
@pytest.mark.parametrize("library", on_each(EAGER))
def test_scatters_raise(library, what, index):
    tensor, updates = library.asarray(np.zeros(3)), library.asarray(np.ones(2))
    indices = library.asarray(np.int32([[0], [index]]))
    arguments = (indices, updates, [3]) if what == "scatter_nd" else (tensor, indices, updates)
    with library.way():
        found = refusal(IndexError, getattr(gtf, what), *arguments)
    reason = ", and TensorFlow's indices are not negative" if index < 0 else ""
    where = "the result" if what == "scatter_nd" else "tensor"
    assert found == (
        f"{what}: indices[1] = ({index},) is out of bounds for {where} of shape (3,): axis 0 has size 3{reason}"
    )


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64"])
@pytest.mark.parametrize("library", on_each(EAGER))
def test_ignore_gathers_zeros(library, dtype):
    # Longer than int16 counts: what stands for a negative index has to be wider.
    params = np.arange(1, 40_001, dtype=np.int32)
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    indices = np.array([[0], [-1], [least], [most], [-40_000 if dtype != "int16" else -2]], dtype)
    with library.way():
        result = gtf.gather_nd(library.asarray(params), library.asarray(indices), bad_indices_policy="IGNORE")
    expected = np.int32([1, 0, 0, most + 1 if dtype == "int16" else 0, 0])
    assert_same_bits(library.asnumpy(result), expected)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@in_turn("what", ["scatter_nd", *COMBINES])
@pytest.mark.parametrize("library", on_each(EAGER))
def test_ignore_skips_updates(library, what, dtype):
    tensor, updates = np.float32([5, 6, 7]), np.float32([1, 10, 100, 1000, 20])
    indices = np.array([[1], [-1], [3], [np.iinfo(dtype).min], [1]], dtype)
    start = np.zeros(3, np.float32) if what == "scatter_nd" else tensor
    expected = start.copy()
    for place in (0, 4):
        expected[1] = COMBINES.get(what, np.add)(expected[1], updates[place])
    arrays = [library.asarray(array) for array in (tensor, indices, updates)]
    with library.way():
        if what == "scatter_nd":
            result = gtf.scatter_nd(*arrays[1:], (3,), "IGNORE")
        else:
            result = getattr(gtf, f"tensor_scatter_nd_{what}")(*arrays, bad_indices_policy="IGNORE")
    assert_same_bits(library.asnumpy(result), expected)


def test_ignore_with_a_narrow_dtype_scatters():
    result = gtf.scatter_nd(np.int16([[-1], [2], [-(2**15)]]), np.ones(3), [40_000], "IGNORE")
    assert result.sum() == result[2] == 1.0


@pytest.mark.parametrize(
    ("params", "nothing"),
    [
        (np.array(["a", "b"]), ""),
        (np.array([b"a", b"b"]), b""),
        (np.array(["a", "b"], object), ""),
        (np.array([b"a", b"b"], object), b""),
        (np.array(["a", "b"], np.dtypes.StringDType()), ""),
        (np.array([True, True]), False),
        (np.array([1, 2], ml_dtypes.bfloat16), 0),
    ],
)
def test_ignore_gathers_nothing(params, nothing):
    result = gtf.gather_nd(params, [[1], [-1], [2]], bad_indices_policy="IGNORE")
    assert result.dtype == params.dtype
    assert result.tolist() == [params[1], nothing, nothing]


def test_unknown_policy():
    message = "bad_indices_policy='ignore' is not one of '', 'DEFAULT', 'ERROR', 'IGNORE'; did you mean 'IGNORE'?"
    found = refusal(ValueError, gtf.gather_nd, np.zeros(2), [[0]], bad_indices_policy="ignore")
    assert found == f"gather_nd: {message}"
    found = refusal(ValueError, gtf.tensor_scatter_nd_max, np.zeros(2), [[0]], np.ones(1), "ignore")
    assert found == f"tensor_scatter_nd_max: {message}"


def test_shapes_are_checked_before_indices():
    with pytest.raises(ValueError, match=r"^gather_nd: indices of shape \(1, 3\) holds tuples of 3 indices"):
        gtf.gather_nd(np.zeros((2, 2)), [[-1, -1, -1]])
    with pytest.raises(ValueError, match=r"^tensor_scatter_nd_min: indices of shape \(1, 2\) holds tuples of 2"):
        gtf.tensor_scatter_nd_min(np.zeros(2), [[-1, -1]], np.zeros(1))
    with pytest.raises(ValueError, match=r"^tensor_scatter_nd_min: updates has shape \(2,\); pass shape \(1,\)"):
        gtf.tensor_scatter_nd_min(np.zeros(2), [[-1]], np.zeros(2))
    with pytest.raises(TypeError, match=r"^tensor_scatter_nd_min: updates has dtype <U1, but tensor has float64"):
        gtf.tensor_scatter_nd_min(np.zeros(2), [[-1]], np.array(["1"]))
