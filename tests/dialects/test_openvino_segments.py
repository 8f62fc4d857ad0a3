"""OpenVINO's operators on segments, slices and along an axis: documents' examples, a loop, and what they refuse."""

import ml_dtypes
import numpy as np
import pytest
from assertions import assert_same_bits
from gatherscatter import openvino
from libraries import LIBRARIES, on_each
from openvino_calls import array, call
from pairwise import in_turn
from strategies import numpy_dtype

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
TABLE = array([[-0.2, -0.6], [-0.1, -0.4], [-1.9, -1.8], [-1.0, 1.5], [0.8, -0.7]], np.float64)
INDICES = array([0, 2, 3, 4])
HALVES = array([0.5] * 4, np.float64)

# (function, arguments, options, output): the layers of the documents. Those of EmbeddingBagOffsets-15 use half of a sum
# as the mean of two.
EXAMPLES = {
    "offsets, weights": (
        openvino.embedding_bag_offsets,
        (TABLE, INDICES, array([0, 2, 2]), 0, HALVES),
        [[-1.05, -1.2], [-0.2, -0.6], [-0.1, 0.4]],
    ),
    "offsets, no default": (
        openvino.embedding_bag_offsets,
        (TABLE, INDICES, array([0, 2, 2]), -1, array([0.5, 0.2, -2, 1], np.float64)),
        [[-0.48, -0.66], [0, 0], [2.8, -3.7]],
    ),
    "offsets, mean": (
        openvino.embedding_bag_offsets,
        (TABLE, INDICES, array([0, 2, 2]), None, None, "mean"),
        [[-1.05, -1.2], [0, 0], [-0.1, 0.4]],
    ),
    "packed": (
        openvino.embedding_bag_packed,
        (TABLE, array([[0, 2], [1, 2], [3, 4]])),
        [[-2.1, -2.4], [-2, -2.2], [-0.2, 0.8]],
    ),
    "packed, weights": (
        openvino.embedding_bag_packed,
        (TABLE, array([[0, 2], [1, 2], [3, 4]]), np.full((3, 2), 0.5)),
        [[-1.05, -1.2], [-1, -1.1], [-0.1, 0.4]],
    ),
    "packed, mean": (
        openvino.embedding_bag_packed,
        (TABLE, array([[0, 2], [1, 2], [3, 4]]), None, "mean"),
        [[-1.05, -1.2], [-1, -1.1], [-0.1, 0.4]],
    ),
    "segments": (
        openvino.embedding_segments_sum,
        (TABLE, INDICES, array([0, 0, 2, 2]), 3, 0, HALVES),
        [[-1.05, -1.2], [-0.2, -0.6], [-0.1, 0.4]],
    ),
    "slice along axis 0": (
        openvino.slice_scatter,
        (array(range(10), float, (2, 5)), array([[10, 20, 30, 40, 50]], float), [0], [1], [1], [0]),
        [[10, 20, 30, 40, 50], [5, 6, 7, 8, 9]],
    ),
    "clamped slice": (
        openvino.slice_scatter,
        (array(range(10), float, (2, 5)), array([[10, 20, 30], [40, 50, 60]], float), [-25], [25], [2], [1]),
        [[10, 1, 20, 3, 30], [40, 6, 50, 8, 60]],
    ),
    "slices of both axes": (
        openvino.slice_scatter,
        (array(range(15), float, (3, 5)), array([[50, 60], [70, 80]], float), [0, 1], [3, 5], [2, 2]),
        [[0, 50, 2, 60, 4], [5, 6, 7, 8, 9], [10, 70, 12, 80, 14]],
    ),
    "update along axis 1": (
        openvino.scatter_update,
        (
            array([[-1, 1, -1, 3, 4], [-1, 6, -1, 8, 9], [-1, 11, 1, 13, 14]], float),
            array([0, 2]),
            array([[1, 1], [1, 1], [1, 2]], float),
            [1],
        ),
        [[1, 1, 1, 3, 4], [1, 6, 1, 8, 9], [1, 11, 2, 13, 14]],
    ),
    "maxima": (
        openvino.segment_max,
        (array([1, 5, 2, 8, 4, 7, 6, 3], float), array([0, 0, 0, 1, 1, 3, 5, 5]), None, "ZERO"),
        [5, 8, 0, 7, 0, 6],
    ),
    "fewer segments": (
        openvino.segment_max,
        (array([1, 5, 2, 8, 4], float), array([0, 0, 2, 3, 3]), 2, "ZERO"),
        [5, 0],
    ),
    "more segments": (
        openvino.segment_max,
        (array([1, 5, 2, 8, 4], float), array([0, 0, 2, 3, 3]), 8, "ZERO"),
        [5, 0, 2, 8, 0, 0, 0, 0],
    ),
}


@pytest.mark.parametrize("library", on_each(LIBRARIES))
@pytest.mark.parametrize("example", EXAMPLES)
def test_documents_examples(library, example):
    function, arguments, output = EXAMPLES[example]
    if example == "maxima" and library.package == "dask":
        arguments = (*arguments[:2], 6, "ZERO")  # lazy ids do not tell their number
    np.testing.assert_allclose(call(library, function, *arguments), output, rtol=1e-12, atol=1e-12)


@in_turn("dtype", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("mode", ["ZERO", "LOWEST"])
def test_segment_max_by_a_loop(dtype, mode):
    rng = np.random.default_rng(5)
    data = rng.integers(0 if dtype[0] == "u" else -9, 9, (12, 2)).astype(numpy_dtype(dtype))
    ids = np.sort(rng.integers(0, 3, 12) * 2)
    lowest = (ml_dtypes.finfo if dtype in FLOATS else np.iinfo)(data.dtype).min
    expected = np.full((6, 2), 0 if mode == "ZERO" else lowest, data.dtype)
    for i in set(ids.tolist()):
        expected[i] = data[ids == i].max(axis=0)
    assert_same_bits(openvino.segment_max(data, ids.astype("int32"), 6, mode), expected)


def bags(table, groups, default, weights, is_mean):
    """The sum or mean of each group of (index, position), one after the other."""
    result = []
    for group in groups:
        rows = [table[i].astype("f8") * (1 if weights is None else float(weights[p])) for i, p in group]
        row = np.zeros(table.shape[1:]) if default is None else table[default].astype("f8")
        if rows:
            row = sum(rows) / (len(rows) if is_mean else 1)
        result.append(np.trunc(row) if table.dtype.name in INTEGERS else row)
    return np.array(result).reshape(len(groups), *table.shape[1:]).astype(table.dtype)


@in_turn("dtype", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("default", [None, 1])
@pytest.mark.parametrize("kind", ["sum", "mean", "weights"])
def test_bags_by_a_loop(dtype, default, kind):
    rng = np.random.default_rng(6)
    low = 0 if dtype[0] == "u" else -3
    table, weights = (rng.integers(low, 4, shape).astype(numpy_dtype(dtype)) for shape in ((5, 2, 2), 12))
    indices, reduction = rng.integers(0, 5, 12), "mean" if kind == "mean" else "sum"
    weights = weights if kind == "weights" else None
    pairs = list(zip(indices.tolist(), range(12), strict=True))
    cuts = [2, 2, 5, 9, 12, 12]
    groups = [pairs[a:b] for a, b in zip(cuts, [*cuts[1:], 12], strict=True)]
    found = openvino.embedding_bag_offsets(table, indices, cuts, default, weights, reduction)
    assert_same_bits(found, bags(table, groups, default, weights, kind == "mean"))
    packed = None if weights is None else weights.reshape(3, 4)
    found = openvino.embedding_bag_packed(table, indices.reshape(3, 4), packed, reduction)
    assert_same_bits(found, bags(table, [pairs[0:4], pairs[4:8], pairs[8:12]], None, weights, kind == "mean"))
    if reduction == "sum":
        ids = rng.integers(0, 3, 12) * 2
        found = openvino.embedding_segments_sum(table, indices, ids, 6, default, weights)
        groups = [[pair for pair, i in zip(pairs, ids, strict=True) if i == number] for number in range(6)]
        assert_same_bits(found, bags(table, groups, default, weights, False))


def test_complex_weights():
    """Each step of a product is rounded, which numpy.multiply does not do on every CPU."""
    rng = np.random.default_rng(0)
    for dtype in ("c8", "c16"):
        a, b = ((rng.standard_normal(100) + 1j * rng.standard_normal(100)).astype(dtype) for _ in "ab")
        expected = np.empty_like(a)
        expected.real = a.real * b.real - a.imag * b.imag
        expected.imag = a.real * b.imag + a.imag * b.real
        every = np.arange(100)
        assert_same_bits(openvino.embedding_segments_sum(a, every, every, 100, None, b), expected)


def test_embeddings_have_the_values_and_gradients_of_pytorch():
    import torch

    table = torch.arange(12.0).reshape(6, 2).requires_grad_()
    indices, offsets = torch.tensor([0, 5, 5, 3]), torch.tensor([0, 1, 3])
    weights = torch.tensor([1.0, 2.0, 3.0, 4.0])
    theirs = torch.nn.functional.embedding_bag(indices, table, offsets, mode="sum", per_sample_weights=weights)
    ours = openvino.embedding_bag_offsets(table, indices, offsets, per_sample_weights=weights)
    torch.testing.assert_close(ours, theirs)
    gradients = [torch.autograd.grad((out**2).sum(), table)[0] for out in (ours, theirs)]
    torch.testing.assert_close(*gradients)


def test_jax_traced():
    import jax
    import jax.numpy as jnp

    table, indices, offsets = jnp.arange(8.0).reshape(4, 2), jnp.array([0, 3, 1]), jnp.array([0, 2])
    found = jax.jit(lambda table: openvino.embedding_bag_offsets(table, indices, offsets))(table)
    assert found.tolist() == [[6, 8], [2, 3]]
    found = jax.jit(lambda offsets: openvino.embedding_bag_offsets(table, indices, offsets))(jnp.array([1, 1]))
    assert found.tolist() == [[0, 0], [8, 10]]
    found = jax.jit(lambda x: openvino.segment_max(x, jnp.array([0, 0, 2, 2]), 3, "ZERO"))(jnp.arange(4.0))
    assert found.tolist() == [1, 0, 3]
    found = jax.jit(lambda x, u: openvino.slice_scatter(x, u, [3], [-9], [-1]))(jnp.arange(4.0), jnp.ones(4))
    assert found.tolist() == [1] * 4


@pytest.mark.parametrize("dtype", INTEGERS)
def test_slices_are_those_of_numpy(dtype):
    rng = np.random.default_rng(8)
    for _ in range(40):
        data = rng.integers(0, 99, (4, 5, 3))
        axes = rng.permutation(3)[: rng.integers(0, 4)] - 3 * rng.integers(0, 2)
        step = rng.choice([1, 2, 3] if dtype[0] == "u" else [-3, -1, 1, 2], len(axes))
        start, stop = (rng.integers(0 if dtype[0] == "u" else -7, 8, len(axes)) for _ in range(2))
        key = [slice(None)] * 3
        for axis, *bounds in zip(axes, start, stop, step, strict=True):
            key[axis] = slice(*map(int, bounds))
        expected = data.copy()
        updates = rng.integers(0, 99, data[tuple(key)].shape)
        expected[tuple(key)] = updates
        given = [one.astype(dtype) for one in (start, stop, step)]
        assert_same_bits(openvino.slice_scatter(data, updates, *given, axes), expected)


def test_scatter_update_along_each_axis():
    rng = np.random.default_rng(9)
    data, indices = rng.integers(0, 99, (4, 5, 3)), np.array([[2, 0], [1, 2]])
    for axis in (-3, -1, 0, 1, 2):
        shape = (*data.shape[: axis % 3], 2, 2, *data.shape[axis % 3 + 1 :])
        updates, expected = rng.integers(0, 99, shape), data.copy()
        for position in np.ndindex(2, 2):
            key = (slice(None),) * (axis % 3)
            expected[(*key, indices[position])] = updates[(*key, *position)]
        assert_same_bits(openvino.scatter_update(data, indices, updates, axis), expected)
    assert openvino.scatter_update(data, 3, 0, 0)[3].any() == 0


def test_gather_1():
    data = array([[1, 2, 3], [4, 5, 6]])
    assert openvino.gather(data, [2, 0, -1, 9], [1], version=1).tolist() == [[3, 1, 0, 0], [6, 4, 0, 0]]


def test_known_ids_of_lazy_data_are_checked():
    import dask.array as da

    lazy = da.from_array(TABLE, chunks=2)
    with pytest.raises(ValueError, match="offsets decrease"):
        openvino.embedding_bag_offsets(lazy, INDICES, [0, 3, 1])
    with pytest.raises(IndexError, match="segment_ids has 2, which is not in"):
        openvino.embedding_segments_sum(lazy, INDICES, SORTED, 2)
    with pytest.raises(ValueError, match="is below the 2 before it"):
        openvino.segment_max(lazy, [0, 2, 1, 1, 1], 3, "ZERO")
    assert openvino.segment_max(lazy, [0, 0, 2, 2, 2], fill_mode="ZERO").shape == (3, 2)


I1 = array([0])
SORTED = array([0, 0, 2, 2])
FOUR = array([1, 2, 3, 4])
REFUSALS = [
    (ValueError, lambda: openvino.gather(SORTED, I1, 0, 1, version=1),
     "openvino.gather: version 1 has no batch_dims=1; it was added in version 7"),
    (IndexError, lambda: openvino.scatter_update(FOUR, array([-1]), I1, 0),
     "openvino.scatter_update: indices[0] = -1 is out of bounds for data of shape (4,): axis 0 has size 4, and "
     "ScatterUpdate-3 takes no negative index: add the size along the axis, or use gatherscatter.scatter"),
    (TypeError, lambda: openvino.scatter_update(FOUR, I1, array([1.5], float), 0),
     "openvino.scatter_update: updates has dtype float64, but data has int64; pass data.astype(updates.dtype)"),
    (ValueError, lambda: openvino.segment_max(FOUR, SORTED),
     "openvino.segment_max: fill_mode=None is not one of 'ZERO', 'LOWEST'"),
    (ValueError, lambda: openvino.segment_max(FOUR, array([0, 2, 1, 1]), 3, "ZERO"),
     "openvino.segment_max: segment_ids[2] = 1 is below the 2 before it; sort the ids"),
    (IndexError, lambda: openvino.segment_max(FOUR, array([-1, 0, 1, 1]), 3, "ZERO"),
     "openvino.segment_max: segment_ids[0] = -1 is negative; SegmentMax-16 takes ids from 0 on"),
    (ValueError, lambda: openvino.segment_max(FOUR, SORTED, -1, "ZERO"),
     "openvino.segment_max: num_segments=-1 is negative; pass 0 or more"),
    (TypeError, lambda: openvino.segment_max(FOUR, SORTED.astype("i2"), 3, "ZERO"),
     "openvino.segment_max: segment_ids has dtype int16, but SegmentMax-16 takes int32, int64: convert it to one of "
     "these"),
    (IndexError, lambda: openvino.embedding_bag_offsets(TABLE, array([0, -1]), I1),
     "openvino.embedding_bag_offsets: indices[1] = -1 is out of bounds for emb_table of shape (5, 2): axis 0 has size "
     "5, and EmbeddingBagOffsets-15 takes no negative index: it is the number of a row of emb_table, from 0 on"),
    (IndexError, lambda: openvino.embedding_bag_offsets(TABLE, INDICES, array([0, 5])),
     "openvino.embedding_bag_offsets: offsets has 5, which is not in [0, 4]; pass positions in indices, or their "
     "number"),
    (ValueError, lambda: openvino.embedding_bag_offsets(TABLE, INDICES, array([0, 3, 1])),
     "openvino.embedding_bag_offsets: offsets decrease; pass them in ascending order"),
    (ValueError, lambda: openvino.embedding_bag_offsets(TABLE, INDICES, I1[None]),
     "openvino.embedding_bag_offsets: offsets has shape (1, 1); pass one for each bag, shape (n,)"),
    (ValueError, lambda: openvino.embedding_bag_offsets(TABLE, INDICES[None], I1),
     "openvino.embedding_bag_offsets: indices has shape (1, 4); pass shape (m,)"),
    (IndexError, lambda: openvino.embedding_bag_offsets(TABLE, INDICES, I1, 5),
     "openvino.embedding_bag_offsets: default_index=5 is not in [0, 4]; pass the number of a row of emb_table"),
    (IndexError, lambda: openvino.embedding_bag_offsets(TABLE, INDICES, I1, -2),
     "openvino.embedding_bag_offsets: default_index=-2 is not in [0, 4]; pass the number of a row of emb_table"),
    (ValueError, lambda: openvino.embedding_bag_offsets(TABLE, INDICES, I1, None, HALVES, "mean"),
     "openvino.embedding_bag_offsets: per_sample_weights are for reduction='sum'; pass none for 'mean'"),
    (ValueError, lambda: openvino.embedding_bag_offsets(TABLE, INDICES, I1, reduction="max"),
     "openvino.embedding_bag_offsets: reduction='max' is not one of 'sum', 'mean'"),
    (TypeError, lambda: openvino.embedding_bag_offsets(TABLE, INDICES, I1, None, HALVES.astype("f4")),
     "openvino.embedding_bag_offsets: per_sample_weights has dtype float32, but emb_table has float64; pass "
     "per_sample_weights.astype(emb_table.dtype)"),
    (ValueError, lambda: openvino.embedding_bag_packed(TABLE, INDICES),
     "openvino.embedding_bag_packed: indices has shape (4,); pass shape (bags, indices of each)"),
    (ValueError, lambda: openvino.embedding_bag_packed(TABLE, INDICES[None], HALVES),
     "openvino.embedding_bag_packed: per_sample_weights has shape (4,) and is not broadcast; pass "
     "broadcast_to(per_sample_weights, (1, 4))"),
    (TypeError, lambda: openvino.embedding_segments_sum(TABLE, INDICES, SORTED),
     "openvino.embedding_segments_sum: num_segments=None is not an integer; pass an int"),
    (IndexError, lambda: openvino.embedding_segments_sum(TABLE, INDICES, SORTED, 2),
     "openvino.embedding_segments_sum: segment_ids has 2, which is not in [0, 1]; pass a segment for each index"),
    (IndexError, lambda: openvino.embedding_segments_sum(TABLE, INDICES, SORTED - 1, 2),
     "openvino.embedding_segments_sum: segment_ids has -1, which is not in [0, 1]; pass a segment for each index"),
    (ValueError, lambda: openvino.embedding_segments_sum(TABLE, INDICES, SORTED[:3], 3),
     "openvino.embedding_segments_sum: segment_ids has shape (3,), but indices has (4,); pass equal shapes"),
    (IndexError, lambda: openvino.embedding_segments_sum(TABLE, INDICES, SORTED, 3, -1),
     "openvino.embedding_segments_sum: default_index=-1 is not in [0, 4]; pass the number of a row of emb_table"),
    (ValueError, lambda: openvino.slice_scatter(FOUR, I1, [0], [1], [0]),
     "openvino.slice_scatter: step=[0] has a 0; pass 1 for a slice without gaps"),
    (ValueError, lambda: openvino.slice_scatter(FOUR, I1, [0], [1], [1], [1]),
     "openvino.slice_scatter: axis=1 is not in [-1, 0] for data of shape (4,); pass 0 for its first axis, -1 for its "
     "last"),
    (ValueError, lambda: openvino.slice_scatter(FOUR, I1, [0, 0], [1, 1], [1, 1], [0, -1]),
     "openvino.slice_scatter: axes=[0, -1] names axis 0 twice; name it once"),
    (ValueError, lambda: openvino.slice_scatter(FOUR, I1, [0, 0], [1], [1]),
     "openvino.slice_scatter: start has 2, stop has 1, step has 1, axes has 2 elements; pass one in each for each "
     "axis"),
    (TypeError, lambda: openvino.slice_scatter(FOUR, I1, 0, [1], [1]),
     "openvino.slice_scatter: start=0 is not a list of integers; pass one for each axis"),
    (ValueError, lambda: openvino.slice_scatter(FOUR, I1, [0], [2], [1]),
     "openvino.slice_scatter: updates has shape (1,) and is not broadcast; pass broadcast_to(updates, (2,))"),
    (TypeError, lambda: openvino.slice_scatter(FOUR, HALVES, [0], [4], [1]),
     "openvino.slice_scatter: updates has dtype float64, but data has int64; pass data.astype(updates.dtype)"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "refused", "message"), REFUSALS, ids=[message for _, _, message in REFUSALS])
def test_refusals_word_for_word(kind, refused, message):
    with pytest.raises(kind) as error:
        refused()
    assert str(error.value) == message
