"""gatherscatter.openvino's operators on segments and slices, and ScatterUpdate, against OpenVINO's CPU plugin."""

import importlib
import subprocess
import sys
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from gatherscatter import openvino as ours
from hypothesis import given
from hypothesis import strategies as st
from test_openvino_peer import DTYPES, INT32_OR_INT64, INTEGERS, SIZES, numbers, often, proved, seeds

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it forks, of which JAX warns
    import openvino

pytestmark = pytest.mark.peers

NUMBERS = DTYPES[1:]  # test_difference_bools_are_no_numbers
OPSETS = {
    "scatter_update": "opset3",
    "segment_max": "opset16",
    "embedding_bag_offsets": "opset15",
    "embedding_bag_packed": "opset15",
    "embedding_segments_sum": "opset3",
    "slice_scatter": "opset15",
}


@cache
def compiled(function, dtypes, shapes, constants, attributes):
    """A model. Some inputs are constants."""
    opset = importlib.import_module(f"openvino.{OPSETS[function]}")
    inputs = [
        None if dtype is None else opset.parameter(openvino.PartialShape(list(shape)), openvino.Type(np.dtype(dtype)))
        for dtype, shape in zip(dtypes, shapes, strict=True)
    ]
    fixed = [opset.constant(np.array(value, np.int64)) for value in constants]
    node = getattr(opset, function)(*inputs, *fixed, *attributes)
    model = openvino.Model([node], [one for one in inputs if one is not None], "model")
    return openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})


def theirs(function, arrays, constants=(), attributes=(), fails=False):
    """OpenVINO's result. None among the arrays is an input that is left out. fails: then the model is not used again.

    Shapes are dynamic, so that few models are compiled; but then the plugin has no weights, which are the last input.
    """
    last = {"embedding_bag_offsets": 5, "embedding_bag_packed": 3, "embedding_segments_sum": 6}.get(function, 0)
    static = len(arrays) == last and arrays[-1] is not None
    dtypes = tuple(None if array is None else array.dtype.name for array in arrays)
    shapes = tuple(None if array is None else array.shape if static else (-1,) * array.ndim for array in arrays)
    make = compiled.__wrapped__ if fails else compiled
    model = make(function, dtypes, shapes, constants, attributes)
    return np.array(model([array for array in arrays if array is not None])[0])


def compare(function, arrays, constants=(), attributes=(), error=None, rtol=0.0):
    def mine():
        return getattr(ours, function)(*arrays, *constants, *attributes)

    if error is not None:
        with pytest.raises(error):
            mine()
        with pytest.raises((RuntimeError, ValueError, TypeError)):
            theirs(function, arrays, constants, attributes, fails=True)
        return
    result, expected = mine(), theirs(function, arrays, constants, attributes)
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    if result.dtype == np.float64:  # which OpenVINO computes in float32
        result = result.astype(np.float32).astype(np.float64)
    np.testing.assert_allclose(result.astype("f8"), expected.astype("f8"), rtol=rtol)


@proved(400)
@given(st.data(), seeds(), st.sampled_from(DTYPES), st.sampled_from(INTEGERS))
def test_scatter_update(data, rng, dtype, index_dtype):
    draw = data.draw
    shape = [draw(SIZES) for _ in range(draw(st.integers(1, 4)))]
    axis = draw(st.integers(0, len(shape) - 1))
    places = [draw(SIZES) for _ in range(draw(st.integers(1, 2)))]
    indices = rng.integers(0, shape[axis], places).astype(index_dtype)
    source, error = numbers(rng, shape, dtype), None
    updates = np.take(source, indices.astype(np.int64), axis)  # one value for each place, whichever update wins
    # test_difference_scatter_update_of_few_integers_writes_foreign_memory
    is_checked = len(shape) > 1 or len(places) > 1 or dtype not in INTEGERS or dtype.endswith("int8")
    if is_checked and often(draw, 8):
        indices.reshape(-1)[rng.integers(indices.size)] = shape[axis] + draw(st.integers(0, 3))
        error = IndexError
    elif is_checked and not index_dtype.startswith("u") and often(draw, 8):
        indices.reshape(-1)[rng.integers(indices.size)] = -1
        error = IndexError
    elif often(draw, 12):
        indices, error = indices.astype("float32"), TypeError
    elif often(draw, 12):
        updates, error = updates[..., None], ValueError
    axis_given = axis - len(shape) if often(draw, 2) else axis
    compare("scatter_update", [numbers(rng, shape, dtype), indices, updates], (axis_given,), (), error)


@proved(400)
@given(
    st.data(), seeds(), st.sampled_from(NUMBERS), st.sampled_from(INT32_OR_INT64), st.sampled_from(["ZERO", "LOWEST"])
)
def test_segment_max(data, rng, dtype, index_dtype, mode):
    draw = data.draw
    if dtype in ("int16", "uint32", "int64", "uint64", "float16", "float64"):
        mode = "ZERO"  # test_difference_lowest_number
    shape = [draw(st.integers(1, 7)), *(draw(SIZES) for _ in range(draw(st.integers(0, 2))))]
    ids, error = np.sort(rng.integers(0, 6, shape[0])).astype(index_dtype), None
    n = draw(st.sampled_from([None, None, 0, 1, 4, 7]))
    if shape[0] > 1 and ids[0] < ids[-1] and often(draw, 8):
        ids, error = ids[::-1].copy(), ValueError
    elif often(draw, 12):
        ids, error = ids[None] if draw(st.booleans()) else ids.repeat(2), ValueError
    elif often(draw, 12):
        ids, error = ids.astype("int16"), TypeError
    arrays = [numbers(rng, shape, dtype), ids]
    compare("segment_max", arrays, () if n is None else (n,), (mode,) if n is not None else (None, mode), error)


def table_and_indices(draw, rng, dtype, index_dtype, places):
    table = numbers(rng, [draw(SIZES), *(draw(SIZES) for _ in range(draw(st.integers(1, 2))))], dtype, -2, 4)
    indices, error = rng.integers(0, len(table), places).astype(index_dtype), None
    if indices.size and often(draw, 8):
        indices.reshape(-1)[rng.integers(indices.size)] = draw(st.sampled_from([-1, len(table)]))
        error = IndexError
    elif often(draw, 15):
        indices, error = indices.astype("int16"), TypeError
    return table, indices, error


def rounding(dtype):
    return {"float16": 2e-3, "float32": 1e-6, "float64": 1e-6}.get(dtype, 0)


@proved(500)
@given(st.data(), seeds(), st.sampled_from(NUMBERS), st.sampled_from(INT32_OR_INT64), st.sampled_from(["sum", "mean"]))
def test_embedding_bag_offsets(data, rng, dtype, index_dtype, reduction):
    draw = data.draw
    m = draw(st.integers(1, 9))
    table, indices, error = table_and_indices(draw, rng, dtype, index_dtype, m)
    offsets = np.sort(rng.integers(0, m, draw(st.integers(1, 5))))
    if error is not None:  # the plugin checks the indices of bags alone
        offsets[0] = 0
    elif offsets[0] < offsets[-1] and often(draw, 8):
        offsets, error = offsets[::-1].copy(), ValueError
    elif often(draw, 12):
        offsets[-1], error = m + draw(st.integers(1, 3)), IndexError
    default = draw(st.sampled_from([None, -1, 0, len(table) - 1]))
    weights = numbers(rng, m, dtype, -2, 4) if draw(st.booleans()) else None
    if weights is not None and reduction == "mean":
        error = ValueError
    if weights is not None and default is None:
        default = -1  # an input may be left out at the end alone
    arrays = [table, indices, offsets.astype(indices.dtype)]
    arrays.append(None if default is None else np.array(default, indices.dtype))
    compare("embedding_bag_offsets", [*arrays, weights], (), (reduction,), error, rounding(dtype))


@proved(300)
@given(st.data(), seeds(), st.sampled_from(NUMBERS), st.sampled_from(INT32_OR_INT64), st.sampled_from(["sum", "mean"]))
def test_embedding_bag_packed(data, rng, dtype, index_dtype, reduction):
    draw = data.draw
    places = (draw(st.integers(1, 4)), draw(SIZES))
    table, indices, error = table_and_indices(draw, rng, dtype, index_dtype, places)
    weights = numbers(rng, places, dtype, -2, 4) if draw(st.booleans()) else None
    if weights is not None and reduction == "mean":
        error = ValueError
    elif weights is not None and error is None and often(draw, 8):
        weights, error = weights[:, :1].repeat(places[1] + 1, 1), ValueError
    compare("embedding_bag_packed", [table, indices, weights], (), (reduction,), error, rounding(dtype))


@proved(300)
@given(st.data(), seeds(), st.sampled_from(NUMBERS), st.sampled_from(INT32_OR_INT64))
def test_embedding_segments_sum(data, rng, dtype, index_dtype):
    draw = data.draw
    m, n = draw(st.integers(0, 9)), draw(st.integers(1, 5))
    table, indices, error = table_and_indices(draw, rng, dtype, index_dtype, m)
    ids = np.sort(rng.integers(0, n, m)).astype(indices.dtype)  # test_difference_unsorted_ids_of_embeddings
    if error is None and often(draw, 12):
        ids, error = np.append(ids, ids[:1] * 0) if m else ids[None], ValueError
    default = draw(st.sampled_from([None, 0, len(table) - 1]))
    default = None if default is None else np.array(default, indices.dtype)
    weights = numbers(rng, m, dtype, -2, 4) if default is not None and draw(st.booleans()) else None
    arrays = [table, indices, ids, np.array(n, indices.dtype)]
    arrays += [one for one in (default, weights) if one is not None]
    compare("embedding_segments_sum", arrays, (), (), error)


@proved(500)
@given(st.data(), seeds(), st.sampled_from(DTYPES), st.sampled_from(INTEGERS))
def test_slice_scatter(data, rng, dtype, index_dtype):
    draw = data.draw
    shape = [draw(SIZES) for _ in range(draw(st.integers(1, 4)))]
    axes = list(draw(st.permutations(range(len(shape)))))[: draw(st.integers(1, len(shape)))]
    low = 0 if index_dtype.startswith("u") else -6
    start, stop = (rng.integers(low, 7, len(axes)) for _ in range(2))
    step = rng.choice([1, 2, 3] if low == 0 else [-3, -1, 1, 2], len(axes))
    start = np.where(step < 0, np.maximum(start, -np.array(shape)[axes]), start)  # test_difference_slices_from_below
    key = [slice(None)] * len(shape)
    for axis, *bounds in zip(axes, start, stop, step, strict=True):
        key[axis] = slice(*map(int, bounds))
    source, error = numbers(rng, shape, dtype), None
    updates = numbers(rng, source[tuple(key)].shape, dtype)
    if often(draw, 10):
        step[0], error = 0, ValueError
    elif often(draw, 10):
        axes[0], error = len(shape) + 1, ValueError
    elif len(axes) > 1 and often(draw, 10):
        axes[0], error = axes[1], ValueError
    elif often(draw, 10):
        updates, error = updates[..., None], ValueError
    bounds = [one.astype(index_dtype) for one in (start, stop, step)]
    if axes == list(range(len(axes))) and draw(st.booleans()):
        compare("slice_scatter", [source, updates, *bounds], (), (), error)
    else:
        given_axes = np.array(axes) - (len(shape) if error is None and low < 0 and often(draw, 2) else 0)
        compare("slice_scatter", [source, updates, *bounds, given_axes], (), (), error)


# The differences. Each shows that OpenVINO still does what docs/differences.md says of it.


def refused(*arguments):
    with pytest.raises(RuntimeError):
        theirs(*arguments, fails=True)


FOUR = np.array([1, 2, 3, 4], "f4")
TABLE = np.array([[1, 2], [3, 4]], "f4")


def is_refused(call):
    """Whether OpenVINO refuses a call that may crash, in a process of its own."""
    here = Path(__file__).parent
    code = (
        "import sys; sys.path[:0] = sys.argv[1:]\n"
        "from test_openvino_peer_segments import np, theirs\n"
        f"try: theirs({call})\n"
        "except RuntimeError: print('refused')\n"
    )
    command = [sys.executable, "-c", code, str(here), str(here.parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert "Error" not in done.stderr, done.stderr
    return "refused" in done.stdout


def test_difference_scatter_update_of_few_integers_writes_foreign_memory():
    """As a gather: indices into one axis of few integers of 16 to 64 bits are not checked, though they should raise."""
    for index in (-1, 2):
        assert not is_refused(f"'scatter_update', [np.zeros(2, 'i4'), np.array([{index}]), np.ones(1, 'i4')], (0,)")
        with pytest.raises(IndexError):
            ours.scatter_update(np.zeros(2, "i4"), np.array([index]), np.ones(1, "i4"), 0)


def test_difference_negative_ids_of_segment_max():
    """The document excludes them; the CPU plugin writes before its output, after which the process may crash."""
    assert not is_refused("'segment_max', [np.ones(4, 'f4'), np.array([-9, 0, 1, 1])], (), (None, 'ZERO')")
    with pytest.raises(IndexError, match="negative"):
        ours.segment_max(FOUR, [-1, 0, 1, 1], None, "ZERO")


def test_difference_lowest_number():
    """LOWEST is made in 32 bits and converted: it is 0 of int16, 2³¹ of uint32, and −inf of float16."""
    cases = ("i2", 0, -(2**15)), ("u4", 2**31, 0), ("f2", -np.inf, -65504), ("i8", -(2**31), -(2**63))
    for dtype, wrong, right in cases:
        arrays = [np.ones(1, dtype), np.array([1])]
        assert theirs("segment_max", arrays, (), (None, "LOWEST")).tolist() == [wrong, 1]
        assert ours.segment_max(*arrays, None, "LOWEST").tolist() == [right, 1]


def test_difference_segment_max_starts_from_a_number():
    """A segment of −inf has the lowest finite number, and a NaN loses."""
    arrays = [np.array([-np.inf, np.nan, 1], "f4"), np.array([0, 1, 1])]
    assert theirs("segment_max", arrays, (), (None, "ZERO")).tolist() == [float(np.finfo("f4").min), 1]
    np.testing.assert_array_equal(ours.segment_max(*arrays, None, "ZERO"), [-np.inf, np.nan])


def test_difference_segment_max_without_ids():
    """The plugin fails where there are no ids."""
    arrays = [np.ones((0, 2), "f4"), np.zeros(0, int)]
    refused("segment_max", arrays, (), (None, "ZERO"))
    assert ours.segment_max(*arrays, None, "ZERO").shape == (0, 2)


def test_difference_scatter_update_at_one_index():
    """The document has an example of indices of rank 0, which the plugin does not support."""
    arrays = [TABLE, np.array(1), np.array([7, 8], "f4")]
    refused("scatter_update", arrays, (0,))
    assert ours.scatter_update(*arrays, 0).tolist() == [[1, 2], [7, 8]]


def test_difference_bags_at_the_end():
    """An offset may be the number of indices, says the document; the plugin refuses it."""
    arrays = [TABLE, np.array([0, 1]), np.array([0, 2])]
    refused("embedding_bag_offsets", arrays)
    assert ours.embedding_bag_offsets(*arrays).tolist() == [[4, 6], [0, 0]]


def test_difference_packed_bags_without_indices():
    """The sum of nothing is 0; the plugin refuses it."""
    arrays = [TABLE, np.zeros((3, 0), int)]
    refused("embedding_bag_packed", arrays)
    assert ours.embedding_bag_packed(*arrays).tolist() == [[0, 0]] * 3


def test_difference_ids_beyond_the_segments():
    """EmbeddingSegmentsSum-3 calls segment_ids indices into the output; the plugin ignores those outside."""
    for id_ in (-1, 2):
        arrays = [TABLE, np.array([0, 1]), np.array([0, id_]), np.array(2)]
        assert theirs("embedding_segments_sum", arrays).tolist() == [[1, 2], [0, 0]]
        with pytest.raises(IndexError):
            ours.embedding_segments_sum(*arrays)


def test_difference_unsorted_ids_of_embeddings():
    """The document says that ids should be sorted; of others, the plugin sums the wrong rows."""
    arrays = [np.array([[1], [10], [100], [1000]], "f4"), np.arange(4), np.array([1, 0, 1, 0]), np.array(2)]
    assert theirs("embedding_segments_sum", arrays).tolist() != [[1010], [101]]
    assert ours.embedding_segments_sum(*arrays).tolist() == [[1010], [101]]


def test_difference_bools_are_no_numbers():
    """The documents have numeric types; the plugin takes bools as well."""
    truths, index = np.array([[True], [False]]), np.array([0, 0])
    assert theirs("segment_max", [truths, index], (), (None, "ZERO")).tolist() == [[True]]
    assert theirs("embedding_bag_offsets", [truths, index, index[:1]]).tolist() == [[True]]
    with pytest.raises(TypeError):
        ours.segment_max(truths, index, None, "ZERO")
    with pytest.raises(TypeError):
        ours.embedding_bag_offsets(truths, index, index[:1])


def test_difference_slices_of_another_dtype():
    """SliceScatter-15 has one type for data and updates; OpenVINO converts the updates."""
    one = np.array([1])
    arrays = [FOUR, np.array([7, 8], "i4"), one, one * 3, one]
    assert theirs("slice_scatter", arrays).tolist() == [1, 7, 8, 4]
    with pytest.raises(TypeError):
        ours.slice_scatter(*arrays)


def test_difference_slices_from_below():
    """A start before the first position, going backwards: NumPy's slice is empty, OpenVINO's has the first one."""
    arrays = [FOUR, np.zeros(0, "f4"), np.array([-6]), np.array([-9]), np.array([-1])]
    refused("slice_scatter", arrays)
    assert theirs("slice_scatter", [FOUR, FOUR[3:], *arrays[2:]]).tolist() == [4, 2, 3, 4]
    assert ours.slice_scatter(*arrays).tolist() == FOUR.tolist()


def test_difference_slices_of_no_axis():
    """Without axes the slice is all of data; the plugin fails."""
    none = np.zeros(0, int)
    arrays = [FOUR, FOUR + 1, none, none, none]
    refused("slice_scatter", arrays)
    assert ours.slice_scatter(*arrays).tolist() == [2, 3, 4, 5]
