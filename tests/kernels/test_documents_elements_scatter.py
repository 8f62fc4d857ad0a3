"""Every example of the documents that define GatherElements and ScatterND, unchanged.

ONNX GatherElements 11 and 13 (examples 1 and 2, and the three named ones), ScatterND 11, 13, 16 and 18 (examples
1 and 2), and the equations and loops that the two give as definitions.
"""

import gatherscatter as gs
import ml_dtypes
import numpy as np
import pytest
from pairwise import in_turn

SQUARE = [[1, 2], [3, 4]]
NINE = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]

# Version 11 prints its outputs with one more pair of brackets around them; by its text, the shape is indices'.
GATHER_ELEMENTS = {
    "example 1": (SQUARE, [[0, 0], [1, 0]], 1, [[1, 1], [4, 3]]),
    "example 2": (NINE, [[1, 2, 0], [2, 0, 0]], 0, [[4, 8, 3], [7, 2, 3]]),
    "_gather_elements_0": (SQUARE, [[0, 0], [1, 0]], 1, [[1, 1], [4, 3]]),
    "_gather_elements_1": (NINE, [[1, 2, 0], [2, 0, 0]], 0, [[4, 8, 3], [7, 2, 3]]),
    "_gather_elements_negative_indices": (NINE, [[-1, -2, 0], [-2, 0, 0]], 0, [[7, 5, 3], [4, 2, 3]]),
}

UP = [[1, 2, 3, 4], [5, 6, 7, 8], [8, 7, 6, 5], [4, 3, 2, 1]]
DOWN = [[8, 7, 6, 5], [4, 3, 2, 1], [1, 2, 3, 4], [5, 6, 7, 8]]
FIVES = [[5, 5, 5, 5], [6, 6, 6, 6], [7, 7, 7, 7], [8, 8, 8, 8]]
ONES = [[1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3], [4, 4, 4, 4]]

SCATTER_ND = {
    "example 1": (
        [1, 2, 3, 4, 5, 6, 7, 8],
        [[4], [3], [1], [7]],
        [9, 10, 11, 12],
        [1, 11, 3, 10, 9, 6, 7, 12],
    ),
    "example 2": ([UP, UP, DOWN, DOWN], [[0], [2]], [FIVES, ONES], [FIVES, UP, ONES, DOWN]),
}
# What the documents list under T, with tensor(string) as each of NumPy's
TYPES = [
    ml_dtypes.bfloat16, "?", "D", "F", "f8", "f4", "f2", "i2", "i4", "i8", "i1", "u2", "u4", "u8", "u1",
    "U2", "S2", object, np.dtypes.StringDType(),
]  # fmt: skip


@pytest.mark.parametrize("name", GATHER_ELEMENTS)
@pytest.mark.parametrize("index_dtype", ["i4", "i8"])
@in_turn("dtype", TYPES)
def test_gather_elements(name, index_dtype, dtype):
    data, indices, axis, expected = GATHER_ELEMENTS[name]
    array = np.array(data).astype(dtype)
    for sign in (axis, axis - array.ndim):
        result = gs.gather_elements(array, np.array(indices, index_dtype), axis=sign)
        assert result.dtype == array.dtype
        np.testing.assert_array_equal(result, np.array(expected).astype(dtype), strict=True)


@pytest.mark.parametrize("name", SCATTER_ND)
@in_turn("dtype", TYPES)
def test_scatter_nd(name, dtype):
    data, indices, updates, expected = (np.array(value) for value in SCATTER_ND[name])
    result = gs.scatter_nd(data.astype(dtype), indices, updates.astype(dtype))
    np.testing.assert_array_equal(result, expected.astype(dtype), strict=True)


@pytest.mark.parametrize(
    ("axis", "equation"),
    [
        (0, lambda data, index, i, j, k: data[index[i, j, k], j, k]),
        (1, lambda data, index, i, j, k: data[i, index[i, j, k], k]),
        (2, lambda data, index, i, j, k: data[i, j, index[i, j, k]]),
    ],
)
def test_gather_elements_equations(axis, equation):
    rng = np.random.default_rng(0)
    data = rng.random((3, 4, 5))
    for shape in ((3, 4, 5), (2, 3, 4)):
        index = rng.integers(-data.shape[axis], data.shape[axis], shape)
        result = gs.gather_elements(data, index, axis=axis)
        assert result.shape == shape
        for i, j, k in np.ndindex(shape):
            assert result[i, j, k] == equation(data, index, i, j, k)


def test_gather_elements_default_axis_is_the_outermost():
    data, indices, _, expected = GATHER_ELEMENTS["example 2"]
    assert gs.gather_elements(np.array(data), np.array(indices)).tolist() == expected


@in_turn(
    ("reduction", "f"),
    [
        ("none", lambda a, b: b),
        ("add", lambda a, b: a + b),
        ("mul", lambda a, b: a * b),
        ("max", max),
        ("min", min),
    ],
)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_scatter_nd_loop(reduction, f, k):
    """The document's own loop over np.ndindex, with f as that version 18 gives; duplicates in the loop's order."""
    rng = np.random.default_rng(k)
    data = rng.integers(-9, 9, (4, 4, 4))
    indices = rng.integers(-4, 4, (5, 6, k))
    updates = rng.integers(-9, 9, (5, 6, *data.shape[k:]))
    output = np.copy(data)
    for idx in np.ndindex(indices.shape[:-1]):
        where = tuple(indices[idx])
        output[where] = np.vectorize(f)(output[where], updates[idx])
    np.testing.assert_array_equal(gs.scatter_nd(data, indices, updates, reduction=reduction), output, strict=True)


@pytest.mark.parametrize(
    ("reduction", "expected"),
    [
        ("none", [1, 11, 3, 10, 9, 6, 7, 12]),
        ("add", [1, 13, 3, 14, 14, 6, 7, 20]),
        ("mul", [1, 22, 3, 40, 45, 6, 7, 96]),
        ("max", [1, 11, 3, 10, 9, 6, 7, 12]),
        ("min", [1, 2, 3, 4, 5, 6, 7, 8]),
    ],
)
def test_scatter_nd_example_1_with_every_reduction(reduction, expected):
    data, indices, updates, _ = (np.array(value) for value in SCATTER_ND["example 1"])
    assert gs.scatter_nd(data, indices, updates, reduction=reduction).tolist() == expected


def test_each_is_the_inverse_of_the_other():
    """As both documents state: a gather from the same distinct positions returns the scattered updates."""
    rng = np.random.default_rng(0)
    data = rng.random((6, 7))
    along = np.argsort(rng.random((6, 7)), axis=1)[:, :4]
    tuples = rng.permutation(list(np.ndindex(6, 7)))[:20].reshape(4, 5, 2)
    cells, places = rng.random((6, 4)), rng.random((4, 5))
    np.testing.assert_array_equal(
        gs.gather_elements(gs.scatter_elements(data, along, cells, axis=1), along, axis=1), cells, strict=True
    )
    np.testing.assert_array_equal(gs.gather_nd(gs.scatter_nd(data, tuples, places), tuples), places, strict=True)
    unchanged = gs.scatter_nd(data, tuples, gs.gather_nd(data, tuples))
    np.testing.assert_array_equal(unchanged, data, strict=True)
