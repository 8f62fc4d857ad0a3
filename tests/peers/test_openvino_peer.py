"""gatherscatter.openvino against OpenVINO's CPU plugin: values, shapes, and whether a call is an error.

Indices are in range, except where OpenVINO defines the result of others. OpenVINO does not check the indices of
GatherND, or indices below the range of ScatterElementsUpdate, and reads and writes memory outside the arrays instead.
"""

import os
import subprocess
import sys
import warnings
from functools import cache
from pathlib import Path

import gatherscatter
import numpy as np
import pytest
from gatherscatter import openvino as ours
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it forks, of which JAX warns
    import openvino

pytestmark = pytest.mark.peers

DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float16", "float32", "float64")  # fmt: skip
INTEGERS = DTYPES[1:9]
INT32_OR_INT64 = ("int32", "int64")
# Which operation set has a version of an operator.
OPSETS = {
    ("gather", 1): "opset1",
    ("gather", 7): "opset7",
    ("gather", 8): "opset8",
    ("gather_nd", 5): "opset5",
    ("gather_nd", 8): "opset8",
    ("gather_elements", 6): "opset6",
    ("scatter_nd_update", 3): "opset4",
    ("scatter_nd_update", 15): "opset15",
    ("scatter_elements_update", 3): "opset3",
    ("scatter_elements_update", 12): "opset12",
}
SIZES = st.integers(1, 4)


@cache
def compiled(function, version, dtypes, shapes, axis, attributes):
    opset = __import__(f"openvino.{OPSETS[function, version]}", fromlist=["gather"])
    inputs = [
        opset.parameter(openvino.PartialShape(list(shape)), openvino.Type(np.dtype(dtype)))
        for dtype, shape in zip(dtypes, shapes, strict=True)
    ]
    axis_input = [] if axis is None else [opset.constant(np.array(axis[0], np.int64).reshape(axis[1]))]
    node = getattr(opset, function)(*inputs, *axis_input, *attributes)
    # Without the hint it may compute float32 in bfloat16, where the machine has instructions for that.
    model = openvino.Model([node], inputs, "model")
    return openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})


def theirs(function, version, arrays, axis=None, attributes=(), static=False):
    """OpenVINO's result. Shapes are dynamic, so that few models are compiled; a GatherND needs to know its k."""
    shapes = [array.shape if static else (-1,) * array.ndim for array in arrays]
    if function == "gather_nd":
        shapes[1] = (*shapes[1][:-1], arrays[1].shape[-1])
    dtypes = tuple(array.dtype.name for array in arrays)
    model = compiled(function, version, dtypes, tuple(map(tuple, shapes)), axis, tuple(attributes))
    return np.array(model(list(arrays))[0])


def compare(mine, function, version, arrays, axis=None, attributes=(), error=None, static=False):
    if error is not None:
        with pytest.raises(error):
            mine()
        with pytest.raises((RuntimeError, ValueError, TypeError)):
            theirs(function, version, arrays, axis, attributes, static)
        return
    result, expected = mine(), theirs(function, version, arrays, axis, attributes, static)
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    if result.dtype == np.float64:  # which OpenVINO computes in float32
        result = result.astype(np.float32).astype(np.float64)
    np.testing.assert_array_equal(result, expected)


def numbers(rng, shape, dtype, low=None, high=None):
    """Values of the whole range that OpenVINO keeps: its CPU plugin has no 64 bits."""
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.startswith("float"):
        return rng.integers(-2048 if low is None else low, 2048 if high is None else high, shape).astype(dtype)
    info = np.iinfo(dtype)
    lowest, highest = max(int(info.min), -(2**31)), min(int(info.max), 2**31 - 1)
    low = lowest if low is None else max(low, lowest)
    return rng.integers(low, (highest if high is None else high - 1) + 1, shape, dtype=np.int64).astype(dtype)


def index_values(rng, shape, size, dtype, negative):
    low = -size if negative and not dtype.startswith("u") else 0
    return rng.integers(low, size, shape).astype(dtype)


def often(draw, n):
    return draw(st.integers(0, n - 1)) == 0


@st.composite
def seeds(draw):
    return np.random.default_rng(draw(st.integers(0, 2**32 - 1)))


def proved(examples):
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
    return settings(max_examples=examples, deadline=None, derandomize=True, suppress_health_check=checks)


@proved(800)
@given(st.data(), seeds(), st.sampled_from([1, 7, 8]), st.sampled_from(DTYPES), st.sampled_from(INTEGERS))
def test_gather(data, rng, version, dtype, index_dtype):
    draw = data.draw
    rank = draw(st.integers(1, 4))
    axis = draw(st.integers(0, rank - 1))
    shape = [draw(SIZES) for _ in range(rank)]
    batch_dims = draw(st.integers(0, axis if version > 1 else 0))
    index_shape = shape[:batch_dims] + [draw(SIZES) for _ in range(draw(st.integers(0, 2)))]
    if len(index_shape) > batch_dims and often(draw, 12):
        index_shape[-1] = 0
    q = len(index_shape)
    if rank == 1 and q <= 1 and dtype in INTEGERS and not dtype.endswith("int8"):
        # Not out of range: test_difference_gather_of_few_integers_reads_foreign_memory.
        indices = index_values(rng, index_shape, shape[axis], index_dtype, version == 8)
    else:
        low = 0 if index_dtype.startswith("u") else -shape[axis] - 3
        indices = rng.integers(low, shape[axis] + 3, index_shape).astype(index_dtype)
        if indices.size and often(draw, 4):
            indices.reshape(-1)[rng.integers(indices.size)] = min(int(np.iinfo(index_dtype).max), 2**31 - 1)
    error = None
    if often(draw, 20):
        axis, error = rank + 1, ValueError
    elif q and version > 1 and often(draw, 20):
        batch_dims, axis, error = q + 1, min(axis, q), ValueError
    axis_given = axis - rank if error is None and often(draw, 2) else axis
    # −q stands for 0, and no other negative number does.
    is_negative = version > 1 and batch_dims < q and error is None and often(draw, 3)
    batch_given = batch_dims - q if is_negative else batch_dims
    axis_shape = draw(st.sampled_from([(), (1,)]))
    arrays = [numbers(rng, shape, dtype), indices]
    axis_argument = np.array(axis_given).reshape(axis_shape)
    compare(lambda: ours.gather(*arrays, axis_argument, batch_given, version), "gather", version, arrays,
            (axis_given, axis_shape), (batch_given,) if version > 1 else (), error)  # fmt: skip


@proved(700)
@given(st.data(), seeds(), st.sampled_from([5, 8]), st.sampled_from(DTYPES), st.sampled_from(INTEGERS))
def test_gather_nd(data, rng, version, dtype, index_dtype):
    draw = data.draw
    batch_dims = draw(st.integers(0, 2))
    k = draw(st.integers(1, 3))
    batch, named, row = ([draw(SIZES) for _ in range(n)] for n in (batch_dims, k, draw(st.integers(0, 2))))
    tuples = [draw(st.integers(0, 3) if often(draw, 4) else SIZES) for _ in range(draw(st.integers(0, 2)))]
    indices = np.stack([index_values(rng, batch + tuples, size, index_dtype, version == 8) for size in named], axis=-1)
    error = None
    if batch_dims and often(draw, 20):
        error = ValueError
        batch = [size + 1 for size in batch]
    arrays = [numbers(rng, batch + named + row, dtype), indices]
    compare(lambda: ours.gather_nd(*arrays, batch_dims, version), "gather_nd", version, arrays,
            attributes=(batch_dims,), error=error, static=error is not None)  # fmt: skip


@proved(500)
@given(st.data(), seeds(), st.sampled_from(DTYPES), st.sampled_from(INT32_OR_INT64))
def test_gather_elements(data, rng, dtype, index_dtype):
    draw = data.draw
    rank = draw(st.integers(1, 4))
    axis = draw(st.integers(0, rank - 1))
    shape = [draw(SIZES) for _ in range(rank)]
    index_shape = [*shape]
    index_shape[axis] = draw(st.integers(0, 6))
    error = None
    if rank > 1 and often(draw, 12):
        index_shape[axis - 1] += 1
        error = ValueError
    indices = index_values(rng, index_shape, shape[axis], index_dtype, negative=False)
    if error is None and indices.size and often(draw, 10):
        indices.reshape(-1)[rng.integers(indices.size)] = shape[axis] + draw(st.integers(0, 3))
        error = IndexError
    elif error is None and often(draw, 12):
        indices, error = (
            indices.astype(draw(st.sampled_from(["int8", "int16", "uint8", "uint32", "uint64"]))),
            TypeError,
        )
    arrays = [numbers(rng, shape, dtype), indices]
    axis_given = axis - rank if often(draw, 2) else axis
    compare(lambda: ours.gather_elements(*arrays, axis_given), "gather_elements", 6, arrays,
            attributes=(axis_given,), error=error, static=error is ValueError)  # fmt: skip


def operands(rng, reduction, shape, dtype, updates_shape, place):
    """Data, and updates by `place`, a function that gathers from an array of data's shape as the indices say.

    The order of updates is undefined in the documents. So what is scattered without a reduction to one place is
    one value, and sums and products are of numbers that no step rounds.
    """
    if reduction == "none":
        return numbers(rng, shape, dtype), place(numbers(rng, shape, dtype))
    # Means truncate in OpenVINO: test_difference_mean_of_integers_truncates.
    low = 0 if reduction == "mean" else -2
    return numbers(rng, shape, dtype, low, 3), numbers(rng, updates_shape, dtype, low, 3)


@proved(800)
@given(st.data(), seeds(), st.sampled_from(DTYPES), st.sampled_from(INT32_OR_INT64),
       st.sampled_from(["3", "none", "sum", "sub", "prod", "min", "max"]))  # fmt: skip
def test_scatter_nd_update(data, rng, dtype, index_dtype, reduction):
    draw = data.draw
    version, reduction = (3, "none") if reduction == "3" else (15, reduction)
    if dtype == "bool" and reduction == "sub":  # test_difference_sub_of_bools
        dtype = "int32"
    k = draw(st.integers(1, 3))
    named, row = ([draw(SIZES) for _ in range(n)] for n in (k, draw(st.integers(0, 2))))
    tuples = [draw(st.integers(0, 4) if often(draw, 6) else st.integers(1, 4)) for _ in range(draw(st.integers(0, 2)))]
    columns = [index_values(rng, tuples, size, index_dtype, version == 15) for size in named]
    values, updates = operands(rng, reduction, named + row, dtype, tuples + row, lambda table: table[tuple(columns)])
    error = None
    if version == 15 and updates.size and often(draw, 10):
        columns[0] = columns[0].copy()
        size = named[0]
        bad = draw(st.sampled_from([size, size + 2, -size - 1]))
        columns[0].reshape(-1)[rng.integers(columns[0].size)] = bad
        error = IndexError
    indices = np.stack(columns, axis=-1)
    if error is None and often(draw, 20):
        indices, error = indices.astype(draw(st.sampled_from(["int8", "uint8", "uint64"]))), TypeError
    arrays = [values, indices, np.asarray(updates)]
    attributes = (reduction,) if version == 15 else ()
    compare(lambda: ours.scatter_nd_update(*arrays, reduction, version), "scatter_nd_update", version, arrays,
            attributes=attributes, error=error)  # fmt: skip


@proved(900)
@given(st.data(), seeds(), st.sampled_from(DTYPES), st.sampled_from(INTEGERS),
       st.sampled_from(["3", "none", "sum", "prod", "min", "max", "mean"]), st.booleans())  # fmt: skip
def test_scatter_elements_update(data, rng, dtype, index_dtype, reduction, use_init_val):
    draw = data.draw
    version, reduction, use_init_val = (3, "none", True) if reduction == "3" else (12, reduction, use_init_val)
    rank = draw(st.integers(1, 3))
    axis = draw(st.integers(0, rank - 1))
    shape = [draw(SIZES) for _ in range(rank)]
    index_shape = [draw(st.integers(1, size)) for size in shape]
    index_shape[axis] = draw(st.integers(0, 6))
    indices = index_values(rng, index_shape, shape[axis], index_dtype, version == 12)
    cut = tuple(slice(None) if d == axis else slice(n) for d, n in enumerate(index_shape))
    values, updates = operands(
        rng, reduction, shape, dtype, index_shape,
        lambda table: np.take_along_axis(table[cut], indices.astype(np.int64), axis),
    )  # fmt: skip
    error = TypeError if dtype == "bool" and reduction == "mean" else None
    if error is None and indices.size and often(draw, 10):  # never below: it would write there
        indices.reshape(-1)[rng.integers(indices.size)] = shape[axis] + draw(st.integers(0, 3))
        error = IndexError
    elif error is None and often(draw, 20):
        indices, error = indices.astype("float32"), TypeError
    axis_given = axis - rank if often(draw, 2) else axis
    axis_shape = draw(st.sampled_from([(), (1,)]))
    attributes = (reduction, use_init_val) if version == 12 else ()
    arrays = [values, indices, updates]
    axis_argument = np.array(axis_given).reshape(axis_shape)
    compare(
        lambda: ours.scatter_elements_update(*arrays, axis_argument, reduction, use_init_val, version),
        "scatter_elements_update", version, arrays, (axis_given, axis_shape), attributes, error,
    )  # fmt: skip


# The differences. Each shows that OpenVINO still does what docs/openvino.md says of it.


def apart(code):
    """The exit status and the output of code that may crash, in a process of its own; `run` is like `theirs`."""
    header = (
        "import sys; import numpy as np; sys.path[:0] = sys.argv[1:]; from test_openvino_peer import theirs\n"
        "def run(*arguments, **options):\n"
        "    try:\n"
        "        print(theirs(*arguments, **options).tolist(), flush=True)\n"
        "    except RuntimeError:\n"
        "        print('refused', flush=True)\n"
    )
    here = Path(__file__).parent
    command = [sys.executable, "-c", header + code, str(here), str(here.parent)]
    # The C library fills memory that it hands out, which might be 0 by chance.
    environment = os.environ | {"MALLOC_PERTURB_": "165"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=environment)
    assert "Error" not in done.stderr, done.stderr
    return done.returncode, done.stdout.strip()


def test_difference_negative_indices():
    """OpenVINO counts them from the end, although the documents of these versions exclude them.

    GatherND-5, GatherElements-6 and both ScatterUpdate-3 have the range [0, s − 1], and ScatterElementsUpdate-3 says
    that a negative index raises.
    """
    data, last, tuples, update = np.array([1, 2, 3], "f4"), np.array([-1]), np.array([[-1]]), np.array([9], "f4")
    assert theirs("gather_nd", 5, [data, tuples], attributes=(0,)).tolist() == [3]
    assert theirs("gather_elements", 6, [data, last], attributes=(0,)).tolist() == [3]
    assert theirs("scatter_nd_update", 3, [data, tuples, update]).tolist() == [1, 2, 9]
    assert theirs("scatter_elements_update", 3, [data, last, update], (0, ())).tolist() == [1, 2, 9]
    for call in (
        lambda: ours.gather_nd(data, tuples, version=5),
        lambda: ours.gather_elements(data, last, 0),
        lambda: ours.scatter_nd_update(data, tuples, update, version=3),
        lambda: ours.scatter_elements_update(data, last, update, 0, version=3),
    ):
        with pytest.raises(IndexError, match="negative"):
            call()


def test_difference_gather_of_few_integers_reads_foreign_memory():
    """Gather-8 gives zeros out of range, but indices into a single axis of few integers are not checked.

    So it is for integers of 16 to 64 bits, with data of rank 1 and indices of rank 0 or 1.
    """
    memory = np.array([1, 2, 3, 4], "i4")
    data, indices = memory[:2], np.array([3])
    model = compiled("gather", 8, ("int32", "int64"), ((-1,), (-1,)), (0, ()), (0,))
    assert model([data, indices], share_inputs=True)[0].tolist() == [4]
    assert ours.gather(data, indices, 0).tolist() == [0]


def test_difference_gather_from_an_axis_of_size_0():
    """Every index is out of range there, and Gather-8 gives zeros for those; the output is never written."""
    data, indices = np.ones((1, 0), "f4"), np.zeros(64, int)
    model = "[np.ones((1, 0), 'f4'), np.zeros(64, int)], (1, ()), (0,)"
    _, out = apart(f"run('gather', 8, {model})")
    assert out != str([[0.0] * 64])
    assert ours.gather(data, indices, 1).tolist() == [[0] * 64]


def test_difference_gather_of_static_shapes_without_elements():
    """With static shapes, a Gather with no indices divides by zero."""
    code, out = apart("run('gather', 8, [np.ones((2, 3), 'f4'), np.zeros(0, int)], (1, ()), (0,), static=True)")
    assert (code < 0, out) == (True, "")
    assert ours.gather(np.ones((2, 3), "f4"), np.zeros(0, int), 1).shape == (2, 0)


def test_difference_indices_of_64_bits():
    """The CPU plugin cuts indices to 32 bits: 2³² becomes 0, where Gather-8 gives zeros out of range."""
    data, indices = np.array([1, 2], "f4"), np.array([2**32])
    assert theirs("gather", 8, [data, indices], (0, ()), (0,)).tolist() == [1]
    assert ours.gather(data, indices, 0).tolist() == [0]


def test_difference_uint32_indices():
    """The CPU plugin takes uint32 indices for int32 ones: 2³² − 1 becomes −1."""
    data, indices = np.array([1, 2], "f4"), np.array([2**32 - 1], "u4")
    assert theirs("gather", 8, [data, indices], (0, ()), (0,)).tolist() == [2]
    assert ours.gather(data, indices, 0).tolist() == [0]


def test_difference_data_of_64_bits():
    """The CPU plugin moves int64 and uint64 data through int32, so that a gather changes it."""
    index = np.array([0])
    for dtype, value, changed in (("i8", 2**32 + 5, 5), ("i8", 2**31, -(2**31)), ("u8", 2**31, 2**64 - 2**31)):
        data = np.array([value], dtype)
        assert theirs("gather", 8, [data, index], (0, ()), (0,)).tolist() == [changed]
        assert ours.gather(data, index, 0).tolist() == [value]


def test_difference_float64():
    """The CPU plugin moves float64 data through float32."""
    data, index = np.array([0.1]), np.array([0])
    assert theirs("gather", 8, [data, index], (0, ()), (0,)).tolist() == [float(np.float32(0.1))]
    assert ours.gather(data, index, 0).tolist() == [0.1]


def test_difference_float16_sums():
    """The CPU plugin sums float16 in float32 and rounds once; here each step rounds, as float16 does."""
    data, indices, updates = np.array([2048], "f2"), np.array([0, 0]), np.array([1, 1], "f2")
    result = theirs("scatter_elements_update", 12, [data, indices, updates], (0, ()), ("sum", True))
    assert result.tolist() == [2050]
    assert ours.scatter_elements_update(data, indices, updates, 0, "sum").tolist() == [2048]
    wide = gatherscatter.scatter_elements(data, indices, updates, reduction="add", accumulate_dtype="float32")
    assert wide.tolist() == [2050]


def test_difference_sub_of_bools():
    """ScatterNDUpdate-15 says that it is XOR; the CPU plugin counts below zero, and two updates do not cancel out."""
    data, indices, updates = np.array([False]), np.array([[0], [0]]), np.array([True, True])
    assert theirs("scatter_nd_update", 15, [data, indices, updates], attributes=("sub",)).tolist() == [True]
    assert ours.scatter_nd_update(data, indices, updates, "sub").tolist() == [False]


def test_difference_mean_of_integers_truncates():
    """ScatterElementsUpdate-12 says that it is rounded towards negative infinity; the CPU plugin rounds to zero."""
    arrays = [np.array([-1], "i4"), np.array([0]), np.array([0], "i4")]
    assert theirs("scatter_elements_update", 12, arrays, (0, ()), ("mean", True)).tolist() == [0]
    assert ours.scatter_elements_update(*arrays, 0, "mean").tolist() == [-1]


def test_difference_nan_of_updates():
    """A NaN among the updates loses every min and max, one that is there wins; here it always wins."""
    one, nan, index = np.array([1], "f4"), np.array([np.nan], "f4"), np.array([0])
    for reduction in ("min", "max"):
        assert theirs("scatter_nd_update", 15, [one, index[:, None], nan], attributes=(reduction,)).tolist() == [1]
        assert theirs("scatter_elements_update", 12, [one, index, nan], (0, ()), (reduction, True)).tolist() == [1]
        assert np.isnan(theirs("scatter_nd_update", 15, [nan, index[:, None], one], attributes=(reduction,)))
        assert np.isnan(ours.scatter_nd_update(one, index[:, None], nan, reduction))
        assert np.isnan(ours.scatter_elements_update(one, index, nan, 0, reduction))


def test_difference_without_init_val_a_place_starts_from_a_number():
    """From the smallest number for a max, the largest for a min and 0 for a sum, and not from its first update."""
    data, index, highest = np.array([1], "f4"), np.array([0]), float(np.finfo("f4").max)
    for reduction, update, result in (
        ("max", -np.inf, -highest), ("max", np.nan, -highest), ("min", np.inf, highest), ("sum", -0.0, 0.0)
    ):  # fmt: skip
        arrays = [data, index, np.array([update], "f4")]
        found = theirs("scatter_elements_update", 12, arrays, (0, ()), (reduction, False))
        assert found.tobytes() == np.array([result], "f4").tobytes()
        mine = ours.scatter_elements_update(*arrays, 0, reduction, use_init_val=False)
        assert mine.tobytes() == arrays[2].tobytes()


def test_difference_empty_tuples():
    """An empty tuple selects all of data (the formulas of the documents hold for k = 0).

    ScatterNDUpdate leaves data as it is, and GatherND its output unwritten.
    """
    data, empty, updates = np.array([1], "f4"), np.zeros((1, 0), int), np.array([[5]], "f4")
    assert theirs("scatter_nd_update", 15, [data, empty, updates], attributes=("none",)).tolist() == [1]
    assert ours.scatter_nd_update(data, empty, updates).tolist() == [5]
    many = np.arange(1, 65, dtype="f4")
    _, out = apart("run('gather_nd', 8, [np.arange(1, 65, dtype='f4'), np.zeros((1, 0), int)], attributes=(0,))")
    assert out != str([many.tolist()])
    assert ours.gather_nd(many, empty).tolist() == [many.tolist()]


def test_difference_scatter_elements_below_the_range():
    """ScatterElementsUpdate-12 raises for an index outside of [−d, d − 1]; below, the CPU plugin writes before data."""
    arrays = "[np.zeros(4, 'f4'), np.array([-5]), np.ones(1, 'f4')], (0, ()), ('none', True)"
    _, out = apart(f"run('scatter_elements_update', 12, {arrays})")
    assert "refused" not in out
    with pytest.raises(IndexError):
        ours.scatter_elements_update(np.zeros(4, "f4"), np.array([-5]), np.ones(1, "f4"), 0)


def test_difference_one_element_for_updates_of_rank_0():
    """ScatterNDUpdate allows a tensor with a single element; with static shapes the CPU plugin rejects it."""
    arrays = [np.array([1, 2], "f4"), np.array([1]), np.array([9], "f4")]
    with pytest.raises(RuntimeError, match="tensor rank relationship"):
        theirs("scatter_nd_update", 15, arrays, attributes=("none",), static=True)
    assert theirs("scatter_nd_update", 15, arrays, attributes=("none",)).tolist() == [1, 9]
    assert ours.scatter_nd_update(*arrays).tolist() == [1, 9]


def test_examples_of_the_document_that_no_order_gives():
    """ScatterNDUpdate-15 has [50, 20, 20, 4] for "none" and [500, 3600, 40, 4] for "prod"; OpenVINO gives neither."""
    arrays = [np.arange(1, 5, dtype="f4"), np.array([[0], [2], [-3], [-3], [0]]), np.arange(10, 60, 10, dtype="f4")]
    for reduction, result in (("none", [50, 40, 20, 4]), ("prod", [500, 2400, 60, 4])):
        assert theirs("scatter_nd_update", 15, arrays, attributes=(reduction,)).tolist() == result
        assert ours.scatter_nd_update(*arrays, reduction).tolist() == result
