"""gatherscatter.tensorflow: TensorFlow's names, its dtypes, and the examples of its document."""

import inspect
import subprocess
import sys

import gatherscatter.tensorflow as gtf
import libraries
import ml_dtypes
import numpy as np
import pytest
from assertions import assert_same_bits
from constants import DTYPES
from libraries import EAGER, on, on_each
from pairwise import in_turn
from strategies import numpy_dtype
from tensorflow_calls import COMBINES, SORTED, refusal

LETTERS = [["a", "b"], ["c", "d"]]
CUBE = [[["a0", "b0"], ["c0", "d0"]], [["a1", "b1"], ["c1", "d1"]]]
# tf.gather_nd: every example of its document, in order. (params, indices, batch_dims, output)
EXAMPLES = {
    "simple indexing into a matrix": (LETTERS, [[0, 0], [1, 1]], 0, ["a", "d"]),
    "slice indexing into a matrix": (LETTERS, [[1], [0]], 0, [["c", "d"], ["a", "b"]]),
    "3-tensor, slices": (CUBE, [[1]], 0, [[["a1", "b1"], ["c1", "d1"]]]),
    "3-tensor, rows": (CUBE, [[0, 1], [1, 0]], 0, [["c0", "d0"], ["a1", "b1"]]),
    "3-tensor, elements": (CUBE, [[0, 0, 1], [1, 0, 1]], 0, ["b0", "b1"]),
    "batched indexing into a matrix": (LETTERS, [[[0, 0]], [[0, 1]]], 0, [["a"], ["b"]]),
    "batched slice indexing into a matrix": (LETTERS, [[[1]], [[0]]], 0, [[["c", "d"]], [["a", "b"]]]),
    "batched, 3-tensor, slices": (
        CUBE,
        [[[1]], [[0]]],
        0,
        [[[["a1", "b1"], ["c1", "d1"]]], [[["a0", "b0"], ["c0", "d0"]]]],
    ),
    "batched, 3-tensor, rows": (
        CUBE,
        [[[0, 1], [1, 0]], [[0, 0], [1, 1]]],
        0,
        [[["c0", "d0"], ["a1", "b1"]], [["a0", "b0"], ["c1", "d1"]]],
    ),
    "batched, 3-tensor, elements": (
        CUBE,
        [[[0, 0, 1], [1, 0, 1]], [[0, 1, 1], [1, 1, 0]]],
        0,
        [["b0", "b1"], ["d0", "c1"]],
    ),
    "batch_dims, rows": (CUBE, [[1], [0]], 1, [["c0", "d0"], ["a1", "b1"]]),
    "batch_dims, rows in a list": (CUBE, [[[1]], [[0]]], 1, [[["c0", "d0"]], [["a1", "b1"]]]),
    "batch_dims, elements": (CUBE, [[[1, 0]], [[0, 1]]], 1, [["c0"], ["b1"]]),
}


def numbered(strings):
    """The strings of an example as distinct numbers, for libraries without strings."""
    names = sorted({"a", "b", "c", "d", *(x + n for x in "abcd" for n in "01")})
    return np.searchsorted(names, np.array(strings)).astype(np.int32)


@in_turn("example", EXAMPLES)
@pytest.mark.parametrize("kind", ["U", "S", "O", "list"])
def test_examples_of_strings(example, kind):
    params, indices, batch_dims, output = EXAMPLES[example]
    if kind != "list":
        params, output = np.array(params).astype(kind), np.array(output).astype(kind)
    result = gtf.gather_nd(params, indices, batch_dims)
    assert_same_bits(result, np.array(output, result.dtype))


@in_turn("example", EXAMPLES)
@pytest.mark.parametrize("library", on_each(EAGER))
def test_examples_on_every_library(library, example):
    params, indices, batch_dims, output = EXAMPLES[example]
    with library.way():
        result = gtf.gather_nd(library.asarray(numbered(params)), library.asarray(np.int32(indices)), batch_dims)
    assert type(result) is type(library.asarray(numbered(params)))
    assert_same_bits(library.asnumpy(result), numbered(output))


def test_signatures_are_those_of_tensorflow():
    combine = ["tensor", "indices", "updates", ("bad_indices_policy", ""), ("name", None)]
    expected = {
        "gather_nd": ["params", "indices", ("batch_dims", 0), ("name", None), ("bad_indices_policy", "")],
        "gather": ["params", "indices", ("validate_indices", None), ("axis", None), ("batch_dims", 0), ("name", None)],
        "scatter_nd": ["indices", "updates", "shape", ("bad_indices_policy", ""), ("name", None)],
        "tensor_scatter_nd_update": ["tensor", "indices", "updates", ("name", None)],
        **{f"tensor_scatter_nd_{what}": combine for what in COMBINES},
        **{f"segment_{what}": ["data", "segment_ids", ("name", None)] for what in SORTED},
        **{
            f"unsorted_segment_{what}": ["data", "segment_ids", "num_segments", ("name", None)]
            for what in (*SORTED, "sqrt_n")
        },
    }
    assert sorted(gtf.__all__) == sorted(expected)
    for name, parameters in expected.items():
        found = [
            p.name if p.default is p.empty else (p.name, p.default)
            for p in inspect.signature(getattr(gtf, name)).parameters.values()
        ]
        assert found == parameters, name


def test_no_array_library_but_numpy_is_imported():
    program = (
        "import sys, numpy as np, gatherscatter.tensorflow as gtf\n"
        "assert gtf.gather_nd(np.array([4, 5]), [[1]]).tolist() == [5]\n"
        "print([name for name in ('tensorflow', 'torch', 'jax', 'cupy', 'array_api_strict') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


# Gathers


def test_gather_axis_is_batch_dims():
    params = np.arange(24).reshape(2, 3, 4)
    indices = np.array([[0, 1], [1, 0]])
    assert_same_bits(gtf.gather(params, indices), params[indices])
    assert_same_bits(gtf.gather(params, indices, axis=1), params[:, indices])
    assert_same_bits(gtf.gather(params, indices, axis=-1), params[:, :, indices])
    by_rows = np.stack([params[b][indices[b]] for b in range(2)])
    assert_same_bits(gtf.gather(params, indices, batch_dims=1), by_rows)
    # A negative batch_dims counts indices' axes from the back, and as the axis it stands for, those of params.
    assert_same_bits(gtf.gather(params, indices, batch_dims=-1, axis=1), by_rows)
    last = np.stack([params[b][:, indices[b]] for b in range(2)])
    assert_same_bits(gtf.gather(params, indices, batch_dims=-1), last)
    assert_same_bits(gtf.gather(params, indices, False, 1, -2, "a name"), params[:, indices])
    assert_same_bits(gtf.gather(params, indices, axis=1, batch_dims=None), params[:, indices])
    assert_same_bits(gtf.gather(params, indices, batch_dims=None), params[indices])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_dims": 3}, "gather: batch_dims=3 is not in [-2, 2] for indices of shape (2, 2)"),
        ({"batch_dims": -3}, "gather: batch_dims=-3 is not in [-2, 2] for indices of shape (2, 2)"),
        (
            {"batch_dims": 1, "axis": 0},
            "gather: batch_dims=1 is not in [0, 0], since batch axes come before axis=0; pass 0, or a later axis",
        ),
        (
            {"axis": 3},
            "gather: axis=3 is not in [-3, 2] for params of shape (2, 3, 4); pass 0 for its first axis, "
            "-1 for its last",
        ),
    ],
)
def test_gather_options(options, message):
    assert refusal(ValueError, gtf.gather, np.zeros((2, 3, 4)), np.zeros((2, 2), int), **options) == message


def test_gather_nd_refuses_negative_batch_dims():
    with pytest.raises(ValueError, match=r"^gather_nd: batch_dims=-1 is not in \[0, 1\], since it is a number"):
        gtf.gather_nd(np.zeros((2, 2)), [[1], [0]], batch_dims=-1)


@pytest.mark.parametrize("library", on_each(EAGER))
def test_empty_tuples(library):
    params, indices = np.arange(3), np.zeros((2, 0), np.int32)
    with library.way():
        gathered = gtf.gather_nd(library.asarray(params), library.asarray(indices))
        updates = library.asarray(np.arange(6).reshape(2, 3))
        added = gtf.tensor_scatter_nd_add(library.asarray(params), library.asarray(indices), updates)
    assert_same_bits(library.asnumpy(gathered), np.array([params, params]))
    assert_same_bits(library.asnumpy(added), params + np.array([3, 5, 7]))


# Dtypes


@pytest.mark.parametrize(
    ("what", "accepted"),
    [
        ("gather_nd", "int16 int32 int64"),
        ("gather", "int16 int32 int64"),
        ("scatter_nd", "int16 int32 int64"),
        ("tensor_scatter_nd_update", "int16 int32 int64 uint16"),
        *((f"tensor_scatter_nd_{what}", "int32 int64") for what in COMBINES),
    ],
)
def test_index_dtypes(what, accepted):
    data = np.zeros(3, np.float32)
    for dtype in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32"):
        indices = np.zeros((3, 1), dtype)
        arguments = {
            "gather_nd": (data, indices),
            "gather": (data, indices),
            "scatter_nd": (indices, data, [3]),
        }.get(what, (data, indices, data))
        if dtype in accepted.split():
            getattr(gtf, what)(*arguments)
            continue
        with pytest.raises(TypeError) as caught:
            getattr(gtf, what)(*arguments)
        assert str(caught.value) == (
            f"{what}: indices has dtype {dtype}, but tf.{what} takes {', '.join(accepted.split())}: "
            "convert it to one of these"
        )


@pytest.mark.parametrize(
    ("library", "dtype"),
    [
        pytest.param(library, dtype, marks=on(library))
        for i, library in enumerate(libraries.LIBRARIES)
        for dtype in (DTYPES[1:] if library.name == "NumPy" else DTYPES[1 + i % 3 :: 3])
        if libraries.has_dtype(library, dtype)
    ],
)
def test_sub_is_exact(library, dtype):
    tensor = np.array([1, 2, 100]).astype(numpy_dtype(dtype))
    updates = np.array([3, 1, 7, 0]).astype(tensor.dtype)
    indices = np.array([[0], [1], [0], [2]])
    expected = tensor.copy()
    with np.errstate(over="ignore"):
        for (i,), update in zip(indices, updates, strict=True):
            expected[i] = expected[i] - update
    with library.way():
        result = gtf.tensor_scatter_nd_sub(*map(library.asarray, (tensor, indices, updates)))
    assert_same_bits(library.asnumpy(result), expected)


def test_sub_of_lists_and_scalars():
    tensor = np.uint8([1, 2, 3])
    assert_same_bits(gtf.tensor_scatter_nd_sub(tensor, [[0], [2]], [2, 1]), np.uint8([255, 2, 2]))
    assert_same_bits(gtf.tensor_scatter_nd_sub(tensor, [[0], [0]], 1), np.uint8([255, 2, 3]))
    with pytest.raises(TypeError, match=r"^tensor_scatter_nd_sub: updates is a list of float64 values .* dtype uint8"):
        gtf.tensor_scatter_nd_sub(tensor, [[0], [2]], [2.5, 1.0])
    with pytest.raises(TypeError, match=r"^tensor_scatter_nd_sub: updates has dtype int64, but tensor has uint8"):
        gtf.tensor_scatter_nd_sub(tensor, [[0]], np.array([256]))
    with pytest.raises(TypeError) as caught:
        gtf.tensor_scatter_nd_sub(np.array([True]), [[0]], np.array([True]))
    assert str(caught.value) == (
        "tensor_scatter_nd_sub: tensor has dtype bool, but tf.tensor_scatter_nd_sub takes int8, int16, int32, int64, "
        "uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64, complex64, complex128: convert it to one "
        "of these"
    )


# Scatters


@pytest.mark.parametrize("library", on_each(EAGER))
def test_scatters_combine_duplicates(library):
    tensor, updates = np.float64([[1, 2], [3, 4], [5, 6]]), np.float64([[1, 10], [2, 20], [9, -9]])
    indices = np.array([[2], [0], [2]])
    arrays = [library.asarray(array) for array in (tensor, indices, updates)]
    expected = {what: tensor.copy() for what in ("update", *COMBINES)}
    for (i,), update in zip(indices, updates, strict=True):
        expected["update"][i] = update
        for what, step in COMBINES.items():
            expected[what][i] = step(expected[what][i], update)
    for what, wanted in expected.items():
        with library.way():
            result = getattr(gtf, f"tensor_scatter_nd_{what}")(*arrays)
        assert type(result) is type(arrays[0])
        assert_same_bits(library.asnumpy(result), wanted)
    with library.way():
        result = gtf.scatter_nd(*arrays[1:], [3, 2])
    assert_same_bits(library.asnumpy(result), np.float64([[2, 20], [0, 0], [10, 1]]))


def test_scatter_nd_shape():
    expected = np.int64([0, 3, 0])
    for shape in ([3], (3,), np.array([3]), np.int32([3])):
        assert_same_bits(gtf.scatter_nd([[1], [1]], [1, 2], shape), expected)
    assert gtf.scatter_nd(np.zeros((0, 1), int), np.zeros((0, 2)), [0, 2]).shape == (0, 2)
    for shape, error, message in (
        (3, TypeError, "scatter_nd: shape=3 is not a sequence of integers"),
        ([1.5], TypeError, "scatter_nd: shape=1.5 is not an integer; pass an int"),
        ([-1], ValueError, "scatter_nd: shape=(-1,) holds a negative size"),
        (
            [4, 2],
            ValueError,
            "scatter_nd: updates has shape (2,) and is not broadcast; pass broadcast_to(updates, (2, 2))",
        ),
    ):
        with pytest.raises(error) as caught:
            gtf.scatter_nd([[1], [1]], np.array([1, 2]), shape)
        assert str(caught.value) == message


@pytest.mark.parametrize("what", ["update", *COMBINES])
@in_turn(
    ("tensor", "updates"),
    [
        (np.zeros(3, "f4"), np.array([1.5])),  # rounds
        (np.zeros(3, "f4"), np.array([0.1])),
        (np.zeros(3, ml_dtypes.bfloat16), np.array([0.1], "f4")),
        (np.zeros(3), np.array([1.5], "f4")),
        (np.zeros(3, "f4"), np.array([3])),
        (np.zeros(3, "u1"), np.array([255])),
        (np.zeros(3, "i4"), np.array([True])),
        (np.zeros(3, "c8"), np.array([1.5])),
        (np.zeros(3, ">f4"), np.array([1.5])),
        ([0.0, 0.0, 0.0], np.array([1.5], "f4")),
    ],
)
def test_arrays_of_updates_are_cast(what, tensor, updates):
    scatter = getattr(gtf, f"tensor_scatter_nd_{what}")
    if what in ("max", "min") and getattr(tensor, "dtype", "") == "c8":
        return
    dtype = np.asarray(tensor).dtype
    expected = scatter(np.asarray(tensor), [[1]], updates.astype(dtype))
    assert_same_bits(scatter(tensor, [[1]], updates), expected)


@pytest.mark.parametrize(
    ("dtype", "updates"),
    [
        ("i4", np.array([1.5])),
        ("i4", np.array([1.0])),
        ("u1", np.array([256])),
        ("u1", np.array([-1], "i1")),
        ("i8", np.array([2**63], "u8")),
        ("f4", np.array([1e300])),
        ("f4", np.array([1j])),
        ("?", np.array([1])),
        ("f4", np.array(["1"])),
        ("U3", np.array([1])),
    ],
)
def test_arrays_of_updates_that_do_not_fit(dtype, updates):
    with pytest.raises(TypeError, match=r"^tensor_scatter_nd_update: updates has dtype .*, but tensor has "):
        gtf.tensor_scatter_nd_update(np.zeros(3, dtype), [[1]], updates)


def test_tensors_of_another_dtype_are_refused():
    import torch

    with pytest.raises(TypeError, match=r"^tensor_scatter_nd_update: updates has dtype torch.float64, but tensor has"):
        gtf.tensor_scatter_nd_update(torch.zeros(3), torch.tensor([[1]]), torch.ones(1, dtype=torch.float64))


def test_strings_are_updated_and_not_added():
    tensor = np.array(["a", "b", "c"], object)
    result = gtf.tensor_scatter_nd_update(tensor, [[1], [1]], np.array(["x", "y"], object))
    assert result.tolist() == ["a", "y", "c"]
    assert tensor.tolist() == ["a", "b", "c"]
    with pytest.raises(TypeError, match=r"^tensor_scatter_nd_add: reduction='add' does not support dtype object"):
        gtf.tensor_scatter_nd_add(tensor, [[1]], tensor[:1])


def test_arrays_of_two_libraries():
    import torch

    with pytest.raises(TypeError) as caught:
        gtf.gather_nd(np.zeros(2), torch.zeros((1, 1), dtype=torch.int64))
    assert str(caught.value) == (
        "gather_nd: params is a numpy.ndarray but indices is a torch.Tensor; pass numpy.asarray(indices)"
    )
