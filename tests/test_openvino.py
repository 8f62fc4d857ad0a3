"""OpenVINO's operators: the documents' examples with their values, each rule, and each refusal word for word."""

import subprocess
import sys

import libraries
import ml_dtypes
import numpy as np
import pytest
from conftest import assert_same_bits
from gatherscatter import openvino, reference
from libraries import LIBRARIES
from test_backends import on
from test_interplay import HERE


def call(library, function, *arguments, **options):
    """The result on a library, as a NumPy array; arrays among the arguments are converted."""
    given = [library.asarray(value) if isinstance(value, np.ndarray) else value for value in arguments]
    with library.way():
        result = function(*given, **options)
    assert type(result) is type(given[0])
    return library.asnumpy(result)


def array(values, dtype=np.int64, shape=None):
    made = np.array(values, dtype)
    return made if shape is None else made.reshape(shape)


COUNT = array(range(1, 25), shape=(2, 3, 4))
SQUARE = array([[1, 2], [3, 4]])
BATCHES = array([[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]])
DEEP = array(range(1, 21), shape=(2, 2, 5))
FOUR = array(range(1, 41), shape=(2, 1, 5, 4))

# (data, indices, batch_dims, output), numbered as in the documents of GatherND.
GATHER_ND = {
    "1": (SQUARE, [[0, 0], [1, 0]], 0, [1, 3]),
    "2": (SQUARE, [[1], [0]], 0, [[3, 4], [1, 2]]),
    "3": (SQUARE, [[[1]], [[0]]], 0, [[[3, 4]], [[1, 2]]]),
    "4": (SQUARE, [[1], [0]], 1, [2, 3]),
    "5": (COUNT, [[1], [0]], 1, [[5, 6, 7, 8], [13, 14, 15, 16]]),
}
LEADING = [[[[1]], [[0]], [[2]]], [[[0]], [[2]], [[2]]]]
GATHER_ND_5 = {**GATHER_ND, "6": (COUNT, LEADING, 2, [[2], [5], [11], [13], [19], [23]])}
GATHER_ND_8 = {
    **GATHER_ND,
    "6": (COUNT, LEADING, 2, [[[2], [5], [11]], [[13], [19], [23]]]),
    "7": (array(range(1, 17), shape=(1, 2, 2, 4)), [[[[1], [0]], [[3], [2]]]], 3, [[[2, 5], [12, 15]]]),
}


@pytest.mark.parametrize("library", HERE)
@pytest.mark.parametrize(
    ("version", "example"), [*((5, name) for name in GATHER_ND_5), *((8, name) for name in GATHER_ND_8)]
)
def test_gather_nd_gives_the_documents_examples(library, version, example):
    data, indices, batch_dims, output = {5: GATHER_ND_5, 8: GATHER_ND_8}[version][example]
    result = call(library, openvino.gather_nd, data, array(indices), batch_dims, version)
    assert_same_bits(result, array(output))


@pytest.mark.parametrize(
    ("version", "data", "indices", "batch_dims", "output"),
    [
        (5, (1000, 256, 10, 15), (25, 125, 3), 0, (25, 125, 15)),
        (8, (1000, 256, 10, 15), (25, 125, 3), 0, (25, 125, 15)),
        (5, (30, 2, 100, 35), (30, 2, 3, 1), 2, (60, 3, 35)),
        (8, (30, 2, 100, 35), (30, 2, 3, 1), 2, (30, 2, 3, 35)),
        (8, (1, 64, 64, 320), (1, 64, 64, 1, 1), 3, (1, 64, 64, 1)),
        (5, (2, 3, 0, 4), (2, 3, 0, 1), 2, (6, 0, 4)),
    ],
)
def test_gather_nd_has_the_shapes_of_the_documents_layers(version, data, indices, batch_dims, output):
    result = openvino.gather_nd(np.zeros(data, np.int8), np.zeros(indices, np.int32), batch_dims, version)
    assert result.shape == output


@pytest.mark.parametrize("library", HERE)
@pytest.mark.parametrize("batch_dims", [0, 1, 2])
def test_gather_nd_fuses_batch_axes_in_version_5_alone(library, batch_dims):
    data, indices = array(range(120), shape=(2, 3, 4, 5)), array(range(12), shape=(2, 3, 2, 1)) % (2, 3, 4)[batch_dims]
    expected = reference.gather_nd(data, indices, batch_dims=batch_dims)
    assert_same_bits(call(library, openvino.gather_nd, data, indices, batch_dims, 8), expected)
    fused = expected.reshape(6, *expected.shape[2:]) if batch_dims == 2 else expected
    assert_same_bits(call(library, openvino.gather_nd, data, indices, batch_dims, 5), fused)


# (data, indices, axis, batch_dims, output), numbered as in the documents of Gather.
GATHER = {
    "1": (BATCHES[0], [0, 0, 4], 0, 0, [1, 1, 5]),
    "2": (BATCHES, [[0, 0, 4], [4, 0, 0]], 1, 1, [[1, 1, 5], [10, 6, 6]]),
    "3": (DEEP, [[[0, 0, 4], [4, 0, 0]], [[1, 2, 4], [4, 3, 2]]], 2, 2,
          [[[1, 1, 5], [10, 6, 6]], [[12, 13, 15], [20, 19, 18]]]),
    "4": (FOUR, [[1, 2, 4], [4, 3, 2]], 2, 1,
          [[[[5, 6, 7, 8], [9, 10, 11, 12], [17, 18, 19, 20]]],
           [[[37, 38, 39, 40], [33, 34, 35, 36], [29, 30, 31, 32]]]]),
    "5": (BATCHES, [[0, 0, 4], [4, 0, 0]], 1, -1, [[1, 1, 5], [10, 6, 6]]),
}  # fmt: skip
GATHER_8 = {
    **GATHER,
    "6": (BATCHES[0], [0, -2, -1], 0, 0, [1, 4, 5]),
    "7": (BATCHES[0], [3, 10, -20], 0, 0, [4, 0, 0]),
}


@pytest.mark.parametrize("library", HERE)
@pytest.mark.parametrize(("version", "example"), [*((7, name) for name in GATHER), *((8, name) for name in GATHER_8)])
def test_gather_gives_the_documents_examples(library, version, example):
    data, indices, axis, batch_dims, output = {7: GATHER, 8: GATHER_8}[version][example]
    result = call(library, openvino.gather, data, array(indices), axis, batch_dims, version)
    assert_same_bits(result, array(output))


@pytest.mark.parametrize("library", HERE)
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_gather_7_gives_zeros_for_negative_indices(library, dtype):
    data = array(range(1, 401), np.float32, (2, 200))
    indices = array([[-1, 3], [100, -128]], dtype)
    assert_same_bits(call(library, openvino.gather, data, indices, 1, 1, 7), array([[0, 4], [301, 0]], np.float32))
    assert_same_bits(call(library, openvino.gather, data, indices, 1, 1, 8), array([[200, 4], [301, 273]], np.float32))


@pytest.mark.parametrize("version", [7, 8])
def test_gather_takes_unsigned_indices_for_what_they_are(version):
    result = openvino.gather(array([1, 2]), np.array([2**64 - 1, 1, 2**32], np.uint64), 0, version=version)
    assert result.tolist() == [0, 2, 0]


@pytest.mark.parametrize("library", HERE)
@pytest.mark.parametrize("axis", [1, -1, [1], (-1,), array(1), array([1], np.int32)])
def test_axis_is_a_scalar_or_one_element(library, axis):
    axis = library.asarray(axis) if isinstance(axis, np.ndarray) else axis
    assert call(library, openvino.gather, SQUARE, array([1]), axis).tolist() == [[2], [4]]
    result = call(library, openvino.scatter_elements_update, SQUARE, array([[1], [0]]), array([[8], [9]]), axis)
    assert result.tolist() == [[1, 8], [9, 4]]


@pytest.mark.parametrize("library", HERE)
def test_batch_dims_counts_back_from_the_rank_of_indices(library):
    data, indices = array(range(60), shape=(3, 4, 5)), array([[0, 1], [2, 3], [3, 1]])
    for negative, positive in ((-1, 1), (-2, 0)):
        result = call(library, openvino.gather, data, indices, 1, negative)
        assert_same_bits(result, reference.gather(data, indices, axis=1, batch_dims=positive))


@pytest.mark.parametrize("library", HERE)
@pytest.mark.parametrize(
    ("data", "indices", "axis", "output"),
    [
        (SQUARE, [[0, 1], [0, 0]], 0, [[1, 4], [1, 2]]),
        ([[1, 7], [4, 3]], [[1, 1, 0], [1, 0, 1]], 1, [[7, 7, 1], [3, 4, 3]]),
        (array(range(1, 10), shape=(3, 3)), [[1, 0, 1], [1, 2, 0]], 0, [[4, 2, 6], [4, 8, 3]]),
        ([[1, 7], [4, 3]], [[1, 1, 0], [1, 0, 1]], -1, [[7, 7, 1], [3, 4, 3]]),
    ],
)
def test_gather_elements_gives_the_documents_examples(library, data, indices, axis, output):
    assert_same_bits(call(library, openvino.gather_elements, array(data), array(indices), axis), array(output))


# The layers of ScatterNDUpdate-15's document. It has [50, 20, 20, 4] for "none" and [500, 3600, 40, 4] for "prod",
# which no order of the updates gives: index −3 of 4 is 1 and gets 30 and 40, index 2 gets 20. OpenVINO gives these.
ND_INDICES = [[0], [2], [-3], [-3], [0]]
ND_UPDATES = [10, 20, 30, 40, 50]
ND_EXAMPLES = {
    "none": [50, 40, 20, 4],
    "sum": [61, 72, 23, 4],
    "sub": [-59, -68, -17, 4],
    "prod": [500, 2400, 60, 4],
    "min": [1, 2, 3, 4],
    "max": [50, 40, 20, 4],
}


@pytest.mark.parametrize("library", HERE)
@pytest.mark.parametrize("reduction", ND_EXAMPLES)
def test_scatter_nd_update_reduces(library, reduction):
    for dtype in (np.float32, np.int32):
        data, updates = array([1, 2, 3, 4], dtype), array(ND_UPDATES, dtype)
        result = call(library, openvino.scatter_nd_update, data, array(ND_INDICES), updates, reduction)
        assert_same_bits(result, array(ND_EXAMPLES[reduction], dtype))


@pytest.mark.parametrize("library", HERE)
@pytest.mark.parametrize("version", [3, 15])
def test_scatter_nd_update_gives_the_documents_examples(library, version):
    data = array(range(1, 9))
    result = call(library, openvino.scatter_nd_update, data, array([[4], [3], [1], [7]]), array([9, 10, 11, 12]),
                  version=version)  # fmt: skip
    assert result.tolist() == [1, 11, 3, 10, 9, 6, 7, 12]
    slices = array(range(64), shape=(4, 4, 4))
    updates = -array(range(32), shape=(2, 4, 4))
    result = call(library, openvino.scatter_nd_update, slices, array([[0], [2]]), updates, version=version)
    assert_same_bits(result, np.stack([updates[0], slices[1], updates[1], slices[3]]))


NUMBERS = [dtype for dtype in libraries.DTYPES if dtype != "bool" and not dtype.startswith("complex")]


@pytest.mark.parametrize(
    ("library", "dtype"),
    [
        pytest.param(library, dtype, marks=on(library), id=f"{library}-{dtype}")
        for library in LIBRARIES
        for dtype in NUMBERS
        if libraries.has_dtype(library, dtype)
    ],
)
def test_sub_takes_away_each_update(library, dtype):
    made = libraries.numpy_dtype(dtype)
    low, high = (ml_dtypes.finfo(made) if "float" in dtype else np.iinfo(made)).min, 3
    data = np.array([low, high, 5, 0], made)
    updates = np.array([high, low, 2, 2, 1], made)
    expected = data.copy()
    with np.errstate(over="ignore"):
        for place, update in zip([0, 1, 2, 2, 3], updates, strict=True):
            expected[place] = np.subtract(expected[place : place + 1], np.array([update], made))[0]
    result = call(library, openvino.scatter_nd_update, data, array([[0], [1], [2], [2], [3]]), updates, "sub")
    assert_same_bits(result, expected)


@pytest.mark.parametrize("library", HERE)
def test_sub_takes_lists_and_scalars(library):
    data, indices = array([1, 2, 250], np.uint8), array([[2], [0]])
    assert call(library, openvino.scatter_nd_update, data, indices, [251, 1], "sub").tolist() == [0, 2, 255]
    assert call(library, openvino.scatter_nd_update, data, indices, 2, "sub").tolist() == [255, 2, 248]


@pytest.mark.parametrize("library", HERE)
@pytest.mark.parametrize(
    ("reduction", "expected"),
    [("sum", np.logical_or), ("sub", np.logical_xor), ("prod", np.logical_and), ("min", np.logical_and),
     ("max", np.logical_or)],
)  # fmt: skip
def test_bools_are_or_xor_and(library, reduction, expected):
    data, updates = np.array([False, True, False, True]), np.array([False, False, True, True])
    result = call(library, openvino.scatter_nd_update, data, array([[0], [1], [2], [3]]), updates, reduction)
    assert_same_bits(result, expected(data, updates))
    many = np.array([True] * 301)
    result = call(library, openvino.scatter_nd_update, np.array([False]), np.zeros((301, 1), np.int64), many, "sub")
    assert result.tolist() == [True]  # 301 is odd, and more than a byte counts
    if reduction != "sub":
        updates, data = updates[None], data[None]
        result = call(library, openvino.scatter_elements_update, data, array([[0, 1, 2, 3]]), updates, 1, reduction)
        assert_same_bits(result, expected(data, updates))


@pytest.mark.parametrize("library", HERE)
@pytest.mark.parametrize("reduction", ["none", "sub"])
def test_one_element_will_do_for_updates_of_rank_0(library, reduction):
    expected = [1, 9 if reduction == "none" else -7, 3]
    for updates in (array(9), array([9]), array([[9]]), 9, [9], [[9]]):
        result = call(library, openvino.scatter_nd_update, array([1, 2, 3]), array([1]), updates, reduction)
        assert result.tolist() == expected
    with pytest.raises(ValueError, match=r"updates has shape \(2,\); pass shape \(\)"):
        call(library, openvino.scatter_nd_update, array([1, 2, 3]), array([1]), array([9, 9]), reduction)


@pytest.mark.parametrize("library", HERE)
@pytest.mark.parametrize(
    ("use_init_val", "reduction", "expected"),
    [
        (True, "none", [30, 10, 60, 70]),
        (False, "none", [30, 10, 60, 70]),
        (True, "sum", [52, 13, 104, 76]),
        (False, "sum", [50, 10, 100, 70]),
        (True, "prod", [1200, 30, 9600, 420]),
        (False, "prod", [600, 10, 2400, 70]),
        (True, "min", [2, 3, 4, 6]),
        (False, "min", [20, 10, 40, 70]),
        (True, "max", [30, 10, 60, 70]),
        (False, "max", [30, 10, 60, 70]),
        (True, "mean", [17, 6, 34, 38]),  # 52 / 3, 13 / 2, 104 / 3, 76 / 2, rounded down
        (False, "mean", [25, 10, 50, 70]),
    ],
)
def test_scatter_elements_update_reduces(library, use_init_val, reduction, expected):
    """The document's examples 1 and 2, and the other reductions of the same arrays."""
    data, indices, updates = array([2, 3, 4, 6]), array([1, 0, 0, -2, -1, 2]), array([10, 20, 30, 40, 70, 60])
    result = call(library, openvino.scatter_elements_update, data, indices, updates, 0, reduction, use_init_val)
    assert result.tolist() == expected


@pytest.mark.parametrize("library", HERE)
def test_what_no_update_names_keeps_its_element_without_init_val(library):
    for reduction in ("sum", "prod", "min", "max", "mean"):
        result = call(library, openvino.scatter_elements_update, array([2, 3]), array([1]), array([7]), 0, reduction,
                      False)  # fmt: skip
        assert result.tolist() == [2, 7]


@pytest.mark.parametrize("library", HERE)
def test_a_mean_of_integers_rounds_down(library):
    result = call(library, openvino.scatter_elements_update, array([-1]), array([0]), array([-4]), 0, "mean")
    assert result.tolist() == [-3]


@pytest.mark.parametrize("library", HERE)
@pytest.mark.parametrize(
    ("version", "fill", "reduction", "output"),
    [
        (3, 0, "none", [[0, 11, 12, 0], [13, 0, 0, 14], [0, 0, 0, 0]]),
        (12, 0, "none", [[0, 11, 12, 0], [13, 0, 0, 14], [0, 0, 0, 0]]),
        (12, 1, "sum", [[1, 24, 1, 1], [14, 1, 1, 15], [1, 1, 1, 1]]),
        (12, 2, "prod", [[2, 264, 2, 2], [26, 2, 2, 28], [2, 2, 2, 2]]),
    ],
)
def test_scatter_elements_update_gives_the_documents_examples(library, version, fill, reduction, output):
    """Examples 3, 4 and 5; the last two have both updates of the first row in one place."""
    indices = array([[1, 2], [0, 3]] if reduction == "none" else [[1, 1], [0, 3]])
    data, updates = np.full((3, 4), fill), array([[11, 12], [13, 14]])
    result = call(library, openvino.scatter_elements_update, data, indices, updates, 1, reduction, version=version)
    assert_same_bits(result, array(output))


def one(function, indices, **options):
    """The shortest call of each function with indices for an axis of size 3, as tuples where it takes those."""
    tuples = function in (openvino.gather_nd, openvino.scatter_nd_update)
    arguments = [array([1, 2, 3]), array(indices)[..., None] if tuples else array(indices)]
    if function in (openvino.scatter_nd_update, openvino.scatter_elements_update):
        arguments.append(array([7] * len(indices)))
    if function not in (openvino.gather_nd, openvino.scatter_nd_update):
        arguments.append(0)
    return arguments, options


REFUSED_NEGATIVES = [
    (openvino.gather_nd, {"version": 5}, "openvino.gather_nd: indices[1, 0] = -1 is negative, which GatherND-5 does "
     "not take: version=8 counts it from the end"),
    (openvino.gather_elements, {}, "openvino.gather_elements: indices[1] = -1 is negative, which GatherElements-6 "
     "does not take: add the size along the axis, or use gatherscatter.gather_elements"),
    (openvino.scatter_nd_update, {"version": 3}, "openvino.scatter_nd_update: indices[1, 0] = -1 is negative, which "
     "ScatterNDUpdate-3 does not take: version=15 counts it from the end"),
    (openvino.scatter_elements_update, {"version": 3}, "openvino.scatter_elements_update: indices[1] = -1 is "
     "negative, which ScatterElementsUpdate-3 does not take: version=12 counts it from the end"),
]  # fmt: skip


@pytest.mark.parametrize("library", HERE)
@pytest.mark.parametrize(("function", "options", "message"), REFUSED_NEGATIVES)
def test_documents_without_negative_indices_refuse_them(library, function, options, message):
    arguments, options = one(function, [2, -1, 0], **options)
    with pytest.raises(IndexError) as error:
        call(library, function, *arguments, **options)
    assert str(error.value) == message
    arguments, options = one(function, [2, 1, 0], **options)
    call(library, function, *arguments, **options)


@pytest.mark.parametrize("library", HERE)
@pytest.mark.parametrize(
    ("function", "options"),
    [
        (openvino.gather_nd, {"version": 5}),
        (openvino.gather_nd, {"version": 8}),
        (openvino.gather_elements, {}),
        (openvino.scatter_nd_update, {"version": 3}),
        (openvino.scatter_nd_update, {"version": 15}),
        (openvino.scatter_nd_update, {"reduction": "sub"}),
        (openvino.scatter_elements_update, {"version": 3}),
        (openvino.scatter_elements_update, {"version": 12}),
    ],
)
def test_an_index_past_the_end_is_an_error(library, function, options):
    arguments, options = one(function, [0, 3], **options)
    with pytest.raises(IndexError, match=r"indices\[1\] = (\(3,\)|3) is out of bounds for data of shape \(3,\)"):
        call(library, function, *arguments, **options)


def test_narrow_negative_indices_are_refused_where_their_dtype_cannot_hold_the_size():
    data, indices = np.arange(300), np.array([-1], np.int8)
    with pytest.raises(IndexError, match=r"indices\[0\] = -1 is negative"):
        openvino.gather_nd(data, indices[:, None][0], version=5)
    with pytest.raises(IndexError, match=r"indices\[0\] = -1 is negative"):
        openvino.scatter_elements_update(data, indices, array([0]), 0, version=3)
    assert openvino.gather_nd(data, indices).tolist() == 299


@pytest.mark.parametrize("library", HERE)
@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8"])
def test_index_dtypes_are_those_of_the_documents(library, dtype):
    indices = array([2, 0, 1], dtype)
    for version in (7, 8):
        assert call(library, openvino.gather, array([1, 2, 3]), indices, 0, version=version).tolist() == [3, 1, 2]
    for version in (5, 8):
        result = call(library, openvino.gather_nd, array([1, 2, 3]), indices[:, None], version=version)
        assert result.tolist() == [3, 1, 2]
    for version in (3, 12):
        result = call(library, openvino.scatter_elements_update, array([1, 2, 3]), indices, array([7, 8, 9]), 0,
                      version=version)  # fmt: skip
        assert result.tolist() == [8, 9, 7]
    with pytest.raises(TypeError) as error:
        call(library, openvino.gather_elements, array([1, 2, 3]), indices, 0)
    name = library.asarray(indices).dtype
    assert str(error.value) == (
        f"openvino.gather_elements: indices has dtype {name}, but GatherElements-6 takes int32, int64: "
        "convert it to one of these"
    )
    for version in (3, 15):
        with pytest.raises(TypeError) as error:
            call(library, openvino.scatter_nd_update, array([1, 2, 3]), indices[:, None], array([7, 8, 9]),
                 version=version)  # fmt: skip
        assert str(error.value) == (
            f"openvino.scatter_nd_update: indices has dtype {name}, but ScatterNDUpdate-{version} takes int32, int64: "
            "convert it to one of these"
        )


I1 = array([0])
INTEGERS = "int8, int16, int32, int64, uint8, uint16, uint32, uint64"
REFUSALS = [
    (ValueError, lambda: openvino.gather(I1, I1, 0, version=1), "openvino.gather: version=1 is not one of 7, 8"),
    (ValueError, lambda: openvino.gather_nd(I1, I1, version=6), "openvino.gather_nd: version=6 is not one of 5, 8"),
    (ValueError, lambda: openvino.scatter_nd_update(I1, I1, I1, version=4),
     "openvino.scatter_nd_update: version=4 is not one of 3, 15"),
    (ValueError, lambda: openvino.scatter_elements_update(I1, I1, I1, 0, version=15),
     "openvino.scatter_elements_update: version=15 is not one of 3, 12"),
    *((ValueError, lambda name=name: openvino.scatter_nd_update(I1, I1, I1, name, version=3),
       f"openvino.scatter_nd_update: version 3 has no reduction={name!r}; it comes with version 15")
      for name in ("sum", "sub", "prod", "min", "max")),
    *((ValueError, lambda name=name: openvino.scatter_elements_update(I1, I1, I1, 0, name, version=3),
       f"openvino.scatter_elements_update: version 3 has no reduction={name!r}; it comes with version 12")
      for name in ("sum", "prod", "min", "max", "mean")),
    (ValueError, lambda: openvino.scatter_elements_update(I1, I1, I1, 0, use_init_val=False, version=3),
     "openvino.scatter_elements_update: version 3 has no use_init_val=False; it comes with version 12"),
    (ValueError, lambda: openvino.scatter_nd_update(I1, I1, I1, "mean"),
     "openvino.scatter_nd_update: reduction='mean' is not one of 'none', 'sum', 'sub', 'prod', 'min', 'max'"),
    (ValueError, lambda: openvino.scatter_nd_update(I1, I1, I1, "add", version=3),
     "openvino.scatter_nd_update: reduction='add' is not one of 'none', 'sum', 'sub', 'prod', 'min', 'max'; "
     "did you mean 'sum'?"),
    (ValueError, lambda: openvino.scatter_elements_update(I1, I1, I1, 0, "sub"),
     "openvino.scatter_elements_update: reduction='sub' is not one of 'none', 'sum', 'prod', 'min', 'max', 'mean'"),
    (TypeError, lambda: openvino.scatter_nd_update(I1, I1, I1, None),
     "openvino.scatter_nd_update: reduction=None is not a string; did you mean 'none'?"),
    (TypeError, lambda: openvino.scatter_elements_update(I1, I1, I1, 0, use_init_val=1),
     "openvino.scatter_elements_update: use_init_val=1 is not a bool; pass True or False"),
    (TypeError, lambda: openvino.gather(I1, I1, [0, 1]),
     "openvino.gather: axis=[0, 1] is not an integer; pass one axis, or call openvino.gather_nd for several"),
    (TypeError, lambda: openvino.gather_elements(I1, I1, "0"),
     "openvino.gather_elements: axis='0' is not an integer; pass axis=0"),
    (TypeError, lambda: openvino.gather_nd(I1, I1, 0.0),
     "openvino.gather_nd: batch_dims=0.0 is not an integer; pass batch_dims=0"),
    (ValueError, lambda: openvino.gather(BATCHES, I1, 1, -2),
     "openvino.gather: batch_dims=-2 counts back beyond the 1 axes of indices; pass -1 or more"),
    (ValueError, lambda: openvino.gather_elements(SQUARE, array([[0, 1, 1]]), 1),
     "openvino.gather_elements: indices of shape (1, 3) and data of shape (2, 2) differ along axis 0; only along "
     "axis=1 they may (gatherscatter.gather_elements takes indices that are smaller)"),
    (TypeError, lambda: openvino.gather(I1, array([0.0], float), 0),
     f"openvino.gather: indices has dtype float64, but Gather-8 takes {INTEGERS}: convert it to one of these"),
    (TypeError, lambda: openvino.gather_nd(I1, np.array([True]), version=5),
     f"openvino.gather_nd: indices has dtype bool, but GatherND-5 takes {INTEGERS}: convert it to one of these"),
    (TypeError, lambda: openvino.scatter_elements_update(I1, array([0.0], float), I1, 0),
     "openvino.scatter_elements_update: indices has dtype float64, but ScatterElementsUpdate-12 takes "
     f"{INTEGERS}: convert it to one of these"),
    (TypeError, lambda: openvino.scatter_nd_update(I1, I1, array(1.0, float), "sub"),
     "openvino.scatter_nd_update: updates has dtype float64, but data has int64; pass data.astype(updates.dtype)"),
    (TypeError, lambda: openvino.gather(None, I1, 0), "openvino.gather: data is None; pass an array"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "refused", "message"), REFUSALS, ids=[message for _, _, message in REFUSALS])
def test_refusals_word_for_word(kind, refused, message):
    with pytest.raises(kind) as error:
        refused()
    assert type(error.value) is kind
    assert str(error.value) == message


def test_bools_have_no_mean():
    with pytest.raises(TypeError, match="reduction='mean' is not for dtype bool"):
        openvino.scatter_elements_update(np.array([True]), I1, np.array([True]), 0, "mean")


def test_batch_axes_have_equal_sizes():
    for version in (5, 8):
        with pytest.raises(ValueError, match="data and indices share their leading sizes"):
            openvino.gather_nd(SQUARE, array([[0]]), 1, version)


def test_lists_will_do():
    assert openvino.gather([1, 2], [1], 0).tolist() == [2]
    assert openvino.gather_nd([1, 2], [[1]], version=5).tolist() == [2]
    assert openvino.gather_elements([1, 2], [1], 0).tolist() == [2]
    assert openvino.scatter_nd_update([1, 2], [[1]], [3]).tolist() == [1, 3]
    assert openvino.scatter_elements_update([1, 2], [1], [3], [0]).tolist() == [1, 3]


def test_arguments_are_left_as_they_are():
    data, indices, updates = array([1, 2, 3]), array([[0], [1]]), array([5, 6])
    copies = data.copy(), indices.copy(), updates.copy()
    openvino.scatter_nd_update(data, indices, updates, "sub")
    openvino.gather(data, indices - 1, 0, version=7)
    for given, copy in zip((data, indices, updates), copies, strict=True):
        assert_same_bits(given, copy)


def test_importing_it_imports_no_array_library():
    code = (
        "import sys; from gatherscatter import openvino; openvino.gather([1], [0], 0, version=7);"
        "print(sorted({'torch', 'jax', 'cupy', 'openvino', 'tensorflow', 'onnx'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.skipif(libraries.why_not_here(LIBRARIES[4]) is not None, reason="JAX is not installed")
@pytest.mark.parametrize("version", [7, 8])
def test_gather_can_be_traced(version):
    import jax

    compiled = jax.jit(lambda data, indices: openvino.gather(data, indices, 0, version=version))
    result = compiled(jax.numpy.arange(1, 4), jax.numpy.asarray([-1, 5, 0]))
    assert result.tolist() == [3 if version == 8 else 0, 0, 1]
