"""Every example of the documents that define GatherND, unchanged.

ONNX GatherND 11, 12 and 13 (examples 1 to 5), OpenVINO GatherND-5 (examples 1 to 6 and its two layers),
TensorFlow's tf.gather_nd.
"""

import gatherscatter as gs
import numpy as np
import pytest
from pairwise import in_turn

SQUARE = [[0, 1], [2, 3]]
CUBE = [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]

ONNX = {
    "1": (SQUARE, [[0, 0], [1, 1]], 0, [0, 3]),
    "2": (SQUARE, [[1], [0]], 0, [[2, 3], [0, 1]]),
    "3": (CUBE, [[0, 1], [1, 0]], 0, [[2, 3], [4, 5]]),
    "4": (CUBE, [[[0, 1]], [[1, 0]]], 0, [[[2, 3]], [[4, 5]]]),
    "5": (CUBE, [[1], [0]], 1, [[2, 3], [4, 5]]),
}

PAIR = [[1, 2], [3, 4]]
TWO_BATCHES = [
    [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]],
    [[13, 14, 15, 16], [17, 18, 19, 20], [21, 22, 23, 24]],
]

# Example 6 is given there as (6, 1): version 5 fuses the batch axes of its result. Version 8 keeps them, as we do.
OPENVINO = {
    "1": (PAIR, [[0, 0], [1, 0]], 0, [1, 3]),
    "2": (PAIR, [[1], [0]], 0, [[3, 4], [1, 2]]),
    "3": (PAIR, [[[1]], [[0]]], 0, [[[3, 4]], [[1, 2]]]),
    "4": (PAIR, [[1], [0]], 1, [2, 3]),
    "5": (TWO_BATCHES, [[1], [0]], 1, [[5, 6, 7, 8], [13, 14, 15, 16]]),
    "6": (
        TWO_BATCHES,
        [[[[1]], [[0]], [[2]]], [[[0]], [[2]], [[2]]]],
        2,
        [[[2], [5], [11]], [[13], [19], [23]]],
    ),
}

LETTERS = [["a", "b"], ["c", "d"]]
LETTER_CUBE = [[["a0", "b0"], ["c0", "d0"]], [["a1", "b1"], ["c1", "d1"]]]

TENSORFLOW = {
    "simple indexing into a matrix": (LETTERS, [[0, 0], [1, 1]], 0, ["a", "d"]),
    "slice indexing into a matrix": (LETTERS, [[1], [0]], 0, [["c", "d"], ["a", "b"]]),
    "3-tensor, 1": (LETTER_CUBE, [[1]], 0, [[["a1", "b1"], ["c1", "d1"]]]),
    "3-tensor, 2": (LETTER_CUBE, [[0, 1], [1, 0]], 0, [["c0", "d0"], ["a1", "b1"]]),
    "3-tensor, 3": (LETTER_CUBE, [[0, 0, 1], [1, 0, 1]], 0, ["b0", "b1"]),
    "batched indexing into a matrix": (LETTERS, [[[0, 0]], [[0, 1]]], 0, [["a"], ["b"]]),
    "batched slice indexing into a matrix": (LETTERS, [[[1]], [[0]]], 0, [[["c", "d"]], [["a", "b"]]]),
    "batched, 3-tensor, 1": (
        LETTER_CUBE,
        [[[1]], [[0]]],
        0,
        [[[["a1", "b1"], ["c1", "d1"]]], [[["a0", "b0"], ["c0", "d0"]]]],
    ),
    "batched, 3-tensor, 2": (
        LETTER_CUBE,
        [[[0, 1], [1, 0]], [[0, 0], [1, 1]]],
        0,
        [[["c0", "d0"], ["a1", "b1"]], [["a0", "b0"], ["c1", "d1"]]],
    ),
    "batched, 3-tensor, 3": (
        LETTER_CUBE,
        [[[0, 0, 1], [1, 0, 1]], [[0, 1, 1], [1, 1, 0]]],
        0,
        [["b0", "b1"], ["d0", "c1"]],
    ),
    "batched params and indices, 1": (LETTER_CUBE, [[1], [0]], 1, [["c0", "d0"], ["a1", "b1"]]),
    "batched params and indices, 2": (LETTER_CUBE, [[[1]], [[0]]], 1, [[["c0", "d0"]], [["a1", "b1"]]]),
    "batched params and indices, 3": (LETTER_CUBE, [[[1, 0]], [[0, 1]]], 1, [["c0"], ["b1"]]),
}

CASES = {
    f"{system} {name}": case
    for system, cases in {"onnx": ONNX, "openvino": OPENVINO, "tensorflow": TENSORFLOW}.items()
    for name, case in cases.items()
}
STRINGS = ["U2", "S2", object, np.dtypes.StringDType()]
NUMBERS = ["i4", "f4", "u1", "D"]


@in_turn("name", CASES)
@pytest.mark.parametrize("index_dtype", ["i4", "i8"])
def test_example(name, index_dtype):
    data, indices, batch_dims, expected = CASES[name]
    for dtype in STRINGS if name.startswith("tensorflow") else NUMBERS:
        array = np.array(data, dtype)
        result = gs.gather_nd(array, np.array(indices, index_dtype), batch_dims=batch_dims)
        assert result.dtype == array.dtype
        np.testing.assert_array_equal(result, np.array(expected, dtype), strict=True)


def test_openvino_example_6_fused():
    data, indices, batch_dims, expected = OPENVINO["6"]
    result = gs.gather_nd(np.array(data), np.array(indices), batch_dims=batch_dims)
    assert result.reshape(6, 1).tolist() == [[2], [5], [11], [13], [19], [23]]
    assert result.tolist() == expected


@pytest.mark.parametrize(
    ("data", "indices", "batch_dims", "result"),
    [
        ((1000, 256, 10, 15), (25, 125, 3), 0, (25, 125, 15)),
        ((30, 2, 100, 35), (30, 2, 3, 1), 2, (30, 2, 3, 35)),  # (60, 3, 35) in version 5
    ],
)
def test_openvino_layer_shapes(data, indices, batch_dims, result):
    rng = np.random.default_rng(0)
    array = rng.random(data, dtype=np.float32)
    places = np.stack([rng.integers(0, data[batch_dims + j], indices[:-1]) for j in range(indices[-1])], axis=-1)
    gathered = gs.gather_nd(array, places, batch_dims=batch_dims)
    assert gathered.shape == result
    if batch_dims == 0:
        expected = array[places[..., 0], places[..., 1], places[..., 2]]
    else:
        expected = np.take_along_axis(array, places, axis=2)
    np.testing.assert_array_equal(gathered, expected)
