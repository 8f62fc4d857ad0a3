"""OpenVINO's operators: the documents' examples with their values, and each rule."""

import subprocess
import sys

import libraries
import ml_dtypes
import numpy as np
import pytest
from assertions import assert_same_bits
from constants import DTYPES
from gatherscatter import openvino, reference
from libraries import EAGER, LIBRARIES, on, on_each
from openvino_calls import BATCHES, COUNT, DEEP, FOUR, SQUARE, array, call
from pairwise import in_turn
from strategies import numpy_dtype

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


@pytest.mark.parametrize("library", on_each(EAGER))
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


@pytest.mark.parametrize("library", on_each(EAGER))
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


@pytest.mark.parametrize("library", on_each(EAGER))
@pytest.mark.parametrize(("version", "example"), [*((7, name) for name in GATHER), *((8, name) for name in GATHER_8)])
def test_gather_gives_the_documents_examples(library, version, example):
    data, indices, axis, batch_dims, output = {7: GATHER, 8: GATHER_8}[version][example]
    result = call(library, openvino.gather, data, array(indices), axis, batch_dims, version)
    assert_same_bits(result, array(output))


@pytest.mark.parametrize("library", on_each(EAGER))
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


@pytest.mark.parametrize("library", on_each(EAGER))
@in_turn("axis", [1, -1, [1], (-1,), array(1), array([1], np.int32)])
def test_axis_is_a_scalar_or_one_element(library, axis):
    axis = library.asarray(axis) if isinstance(axis, np.ndarray) else axis
    assert call(library, openvino.gather, SQUARE, array([1]), axis).tolist() == [[2], [4]]
    result = call(library, openvino.scatter_elements_update, SQUARE, array([[1], [0]]), array([[8], [9]]), axis)
    assert result.tolist() == [[1, 8], [9, 4]]


@pytest.mark.parametrize("library", on_each(EAGER))
def test_batch_dims_counts_back_from_the_rank_of_indices(library):
    data, indices = array(range(60), shape=(3, 4, 5)), array([[0, 1], [2, 3], [3, 1]])
    for negative, positive in ((-1, 1), (-2, 0)):
        result = call(library, openvino.gather, data, indices, 1, negative)
        assert_same_bits(result, reference.gather(data, indices, axis=1, batch_dims=positive))


@pytest.mark.parametrize("library", on_each(EAGER))
@in_turn(
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


@pytest.mark.parametrize("library", on_each(EAGER))
@in_turn("reduction", ND_EXAMPLES)
def test_scatter_nd_update_reduces(library, reduction):
    for dtype in (np.float32, np.int32):
        data, updates = array([1, 2, 3, 4], dtype), array(ND_UPDATES, dtype)
        result = call(library, openvino.scatter_nd_update, data, array(ND_INDICES), updates, reduction)
        assert_same_bits(result, array(ND_EXAMPLES[reduction], dtype))


@pytest.mark.parametrize("library", on_each(EAGER))
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


NUMBERS = [dtype for dtype in DTYPES if dtype != "bool" and not dtype.startswith("complex")]


@pytest.mark.parametrize(
    ("library", "dtype"),
    [
        pytest.param(library, dtype, marks=on(library), id=f"{library}-{dtype}")
        for i, library in enumerate(LIBRARIES)
        for dtype in (NUMBERS if library.name == "NumPy" else NUMBERS[i % 3 :: 3])
        if libraries.has_dtype(library, dtype)
    ],
)
def test_sub_takes_away_each_update(library, dtype):
    made = numpy_dtype(dtype)
    low, high = (ml_dtypes.finfo(made) if "float" in dtype else np.iinfo(made)).min, 3
    data = np.array([low, high, 5, 0], made)
    updates = np.array([high, low, 2, 2, 1], made)
    expected = data.copy()
    with np.errstate(over="ignore"):
        for place, update in zip([0, 1, 2, 2, 3], updates, strict=True):
            expected[place] = np.subtract(expected[place : place + 1], np.array([update], made))[0]
    result = call(library, openvino.scatter_nd_update, data, array([[0], [1], [2], [2], [3]]), updates, "sub")
    assert_same_bits(result, expected)


@pytest.mark.parametrize("library", on_each(EAGER))
def test_sub_takes_lists_and_scalars(library):
    data, indices = array([1, 2, 250], np.uint8), array([[2], [0]])
    assert call(library, openvino.scatter_nd_update, data, indices, [251, 1], "sub").tolist() == [0, 2, 255]
    assert call(library, openvino.scatter_nd_update, data, indices, 2, "sub").tolist() == [255, 2, 248]


@pytest.mark.parametrize("library", on_each(EAGER))
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


@pytest.mark.parametrize("library", on_each(EAGER))
@pytest.mark.parametrize("reduction", ["none", "sub"])
def test_one_element_will_do_for_updates_of_rank_0(library, reduction):
    expected = [1, 9 if reduction == "none" else -7, 3]
    for updates in (array(9), array([9]), array([[9]]), 9, [9], [[9]]):
        result = call(library, openvino.scatter_nd_update, array([1, 2, 3]), array([1]), updates, reduction)
        assert result.tolist() == expected
    with pytest.raises(ValueError, match=r"updates has shape \(2,\); pass shape \(\)"):
        call(library, openvino.scatter_nd_update, array([1, 2, 3]), array([1]), array([9, 9]), reduction)


@pytest.mark.parametrize("library", on_each(EAGER))
@in_turn(
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


@pytest.mark.parametrize("library", on_each(EAGER))
def test_what_no_update_names_keeps_its_element_without_init_val(library):
    for reduction in ("sum", "prod", "min", "max", "mean"):
        result = call(library, openvino.scatter_elements_update, array([2, 3]), array([1]), array([7]), 0, reduction,
                      False)  # fmt: skip
        assert result.tolist() == [2, 7]


@pytest.mark.parametrize("library", on_each(EAGER))
def test_a_mean_of_integers_rounds_down(library):
    result = call(library, openvino.scatter_elements_update, array([-1]), array([0]), array([-4]), 0, "mean")
    assert result.tolist() == [-3]


@pytest.mark.parametrize("library", on_each(EAGER))
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


@pytest.mark.parametrize("version", [7, 8])
def test_gather_can_be_traced(version):
    import jax

    compiled = jax.jit(lambda data, indices: openvino.gather(data, indices, 0, version=version))
    result = compiled(jax.numpy.arange(1, 4), jax.numpy.asarray([-1, 5, 0]))
    assert result.tolist() == [3 if version == 8 else 0, 0, 1]
