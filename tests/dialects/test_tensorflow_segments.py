"""gatherscatter.tensorflow: reductions of segments, against a loop, and what they refuse."""

import gatherscatter.tensorflow as gtf
import ml_dtypes
import numpy as np
import pytest
from assertions import assert_same_bits
from libraries import EAGER, LIBRARIES, on_each
from pairwise import in_turn
from strategies import numpy_dtype
from tensorflow_calls import SORTED, refusal

UNSORTED = (*SORTED, "sqrt_n")
FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
STEPS = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}


def loop(what, data, ids, n, is_sorted):
    """The reduction, element by element, of integers small enough that no step rounds."""
    name = data.dtype.name
    rows = data.reshape(ids.size, *data.shape[ids.ndim :])
    groups = [[row for row, i in zip(rows, ids.reshape(-1), strict=True) if i == number] for number in range(n)]
    limits = ml_dtypes.finfo(name) if name in FLOATS else np.iinfo(name)
    empty = {"prod": 1, "min": 0 if is_sorted else limits.max, "max": 0 if is_sorted else limits.min}.get(what, 0)
    dtype = data.dtype
    if what == "mean" and not is_sorted and name in INTEGERS:
        dtype = np.dtype("float32" if dtype.itemsize < 4 else "float64")
    result = np.full((n, *rows.shape[1:]), empty, dtype)
    for number, group in enumerate(groups):
        if group:
            total = STEPS.get(what, np.add).reduce(np.stack(group).astype("f8"), axis=0)
            if what == "mean":
                total = total / len(group)
                total = np.trunc(total) if dtype.name in INTEGERS else total
            elif what == "sqrt_n":
                total = total / np.sqrt(len(group))
            result[number] = total.astype(dtype)
    return result


def arguments(dtype, shape, n, is_sorted, id_dtype="int64"):
    rng = np.random.default_rng(7)
    data = rng.integers(0 if dtype.startswith("u") else -3, 4, (*shape, 2)).astype(numpy_dtype(dtype))
    ids = rng.integers(0 if is_sorted else -1, n - 1, shape).astype(id_dtype)  # the last has no elements
    ids[ids == 1] = 2
    return data, np.sort(ids) if is_sorted else ids


@in_turn("dtype", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("what", SORTED)
def test_sorted_segments_by_a_loop(what, dtype):
    data, ids = arguments(dtype, (9,), 5, True)
    expected = loop(what, data, ids, int(ids[-1]) + 1, True)
    assert_same_bits(getattr(gtf, f"segment_{what}")(data, ids.astype("int32")), expected)


@in_turn("dtype", [*FLOATS, *INTEGERS])
@in_turn("what", UNSORTED)
@pytest.mark.parametrize("shape", [(9,), (4, 3)])
def test_unsorted_segments_by_a_loop(what, dtype, shape):
    if what == "sqrt_n" and dtype in INTEGERS:
        return  # refused below
    data, ids = arguments(dtype, shape, 5, False)
    found = getattr(gtf, f"unsorted_segment_{what}")(data, ids, 5)
    assert_same_bits(found, loop(what, data, ids, 5, False))


@pytest.mark.parametrize("library", on_each(LIBRARIES))
@pytest.mark.parametrize("what", UNSORTED)
def test_every_library(library, what):
    for is_sorted in (True, False):
        if is_sorted and (what == "sqrt_n" or library.package == "dask"):
            continue
        data, ids = arguments("float32", (9,), 5, is_sorted)
        function = getattr(gtf, f"segment_{what}" if is_sorted else f"unsorted_segment_{what}")
        number = () if is_sorted else (5,)
        with library.way():
            result = function(library.asarray(data), library.asarray(ids), *number)
        assert type(result) is type(library.asarray(data))
        n = int(ids[-1]) + 1 if is_sorted else 5
        np.testing.assert_allclose(library.asnumpy(result), loop(what, data, ids, n, is_sorted), rtol=1e-6)


@pytest.mark.parametrize("library", on_each(EAGER))
def test_means_of_integers(library):
    """Sorted: in data's dtype, toward zero. Unsorted: floats. Neither overflows on the way."""
    for dtype, wide in (("int8", "float32"), ("int32", "float64")):
        data, ids = library.asarray(np.array([-3, -2, 100, 101], dtype)), library.asarray(np.array([0, 0, 2, 2]))
        with library.way():
            found = library.asnumpy(gtf.segment_mean(data, ids))
            floats = library.asnumpy(gtf.unsorted_segment_mean(data, ids, 3))
        assert_same_bits(found, np.array([-2, 0, 100], dtype))
        assert_same_bits(floats, np.array([-2.5, 0, 100.5], wide))


def test_ids_of_rank_0_are_for_data_as_a_whole():
    for data in (np.array(3.0), np.array([[1.0, 2.0]])):
        found = gtf.unsorted_segment_sum(data, np.array(1), 3)
        assert_same_bits(found, np.stack([data * 0, data, data * 0]))
        assert_same_bits(gtf.unsorted_segment_sum(data, -1, 3), np.stack([data * 0] * 3))


def test_sizes_of_0():
    assert gtf.segment_sum(np.zeros((0, 3)), []).shape == (0, 3)
    assert gtf.segment_max(np.zeros((2, 0)), [0, 3]).shape == (4, 0)
    assert gtf.unsorted_segment_sum(np.zeros((0, 3)), [], 2).tolist() == [[0] * 3] * 2
    assert gtf.unsorted_segment_min(np.zeros(3), [-1, -1, -1], 0).shape == (0,)


def test_complex_numbers():
    data = np.array([1 + 1j, 2, 3j, 4])
    assert gtf.segment_sum(data, [0, 0, 2, 2]).tolist() == [3 + 1j, 0, 4 + 3j]
    assert gtf.segment_mean(data, [0, 0, 2, 2]).tolist() == [1.5 + 0.5j, 0, 2 + 1.5j]
    assert gtf.unsorted_segment_prod(data, [1, -1, 1, 1], 2).tolist() == [1, (1 + 1j) * 3j * 4]


def test_gradients():
    import torch

    data = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    ids = torch.tensor([0, 0, 2, 2])
    for function, arguments, expected in (
        (gtf.segment_sum, (), [1, 1, 1, 1]),
        (gtf.segment_mean, (), [0.5] * 4),
        (gtf.segment_max, (), [0, 1, 0, 1]),
        (gtf.unsorted_segment_prod, (3,), [2, 1, 4, 3]),
        (gtf.unsorted_segment_sqrt_n, (3,), [0.5**0.5] * 4),
    ):
        (found,) = torch.autograd.grad(function(data, ids, *arguments).sum(), data)
        torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float32))


def test_jax_traced():
    """The number of segments is given, and ids above it cannot raise."""
    import jax
    import jax.numpy as jnp

    known, in_order = jnp.array([1, -1, 0]), jnp.array([0, 0, 1])
    assert jax.jit(lambda x: gtf.unsorted_segment_sum(x, known, 2))(jnp.arange(3.0)).tolist() == [2, 0]
    assert jax.jit(lambda x: gtf.segment_sum(x, in_order))(jnp.arange(3.0)).tolist() == [1, 2]
    with pytest.raises(NotImplementedError, match=r"call a function of gatherscatter with mode= one of 'drop'"):
        jax.jit(lambda ids: gtf.unsorted_segment_sum(jnp.arange(3.0), ids, 2))(known)
    with pytest.raises(ValueError, match="call unsorted_segment_sum, which takes num_segments"):
        jax.jit(lambda ids: gtf.segment_sum(jnp.arange(3.0), ids))(known)


FOUR = np.array([1.0, 2.0, 3.0, 4.0])
ACCEPTED = "int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64"


@pytest.mark.parametrize(
    ("error", "ids", "message"),
    [
        (
            ValueError,
            [0, 2, 1, 1],
            "segment_sum: segment_ids[2] = 1 is below the 2 before it; sort the ids, or call unsorted_segment_sum",
        ),
        (
            IndexError,
            [-1, 0, 0, 0],
            "segment_sum: segment_ids[0] = -1 is negative; tf.math.segment_sum takes ids from 0 on",
        ),
        (
            ValueError,
            [0, 1],
            "segment_sum: segment_ids has shape (2,), but data's shape (4,) does not begin with it; pass shape (4,)",
        ),
        (
            ValueError,
            [[0, 1, 1, 1]],
            "segment_sum: segment_ids has shape (1, 4), but tf.math.segment_sum takes one axis; pass an id for each "
            "position along data's first axis, shape (4,)",
        ),
        (
            TypeError,
            np.zeros(4, np.int16),
            "segment_sum: segment_ids has dtype int16, but tf.math.segment_sum takes int32, int64: convert it to one "
            "of these",
        ),
    ],
)
def test_refusals_of_sorted_ids(error, ids, message):
    assert refusal(error, gtf.segment_sum, FOUR, ids) == message


@pytest.mark.parametrize(
    ("error", "ids", "n", "message"),
    [
        (
            IndexError,
            [0, 3, 0, 0],
            3,
            "unsorted_segment_max: segment_ids[1] = 3 is not below num_segments=3; pass num_segments=4 or more, or a "
            "negative id to leave such elements out",
        ),
        (ValueError, [0] * 4, -1, "unsorted_segment_max: num_segments=-1 is negative; pass 0 or more"),
        (TypeError, [0] * 4, None, "unsorted_segment_max: num_segments=None is not an integer; pass an int"),
        (
            ValueError,
            [[0, 0, 0, 0]],
            3,
            "unsorted_segment_max: segment_ids has shape (1, 4), but data's shape (4,) does not begin with it; pass at "
            "most 1 axis",
        ),
        (
            TypeError,
            np.zeros(4, np.int16),
            3,
            "unsorted_segment_max: segment_ids has dtype int16, but tf.math.unsorted_segment_max takes int32, int64: "
            "convert it to one of these",
        ),
    ],
)
def test_refusals_of_unsorted_ids(error, ids, n, message):
    assert refusal(error, gtf.unsorted_segment_max, FOUR, ids, n) == message


def test_dtypes_are_those_of_the_definitions():
    for dtype in (bool, "U1", "c8"):
        message = refusal(TypeError, gtf.unsorted_segment_max, np.ones(4, dtype), [0] * 4, 1)
        assert message.endswith(f"but tf.math.unsorted_segment_max takes {ACCEPTED}: convert it to one of these")
    with pytest.raises(TypeError, match=r"takes float16, bfloat16, float32, float64: convert"):
        gtf.unsorted_segment_sqrt_n(np.arange(4), [0] * 4, 1)
    for function in (gtf.unsorted_segment_sum, gtf.unsorted_segment_mean, gtf.unsorted_segment_sqrt_n):
        assert function(FOUR, np.zeros(4, np.int16), 1).shape == (1,)


def test_dask_blocks_check_their_ids():
    import dask.array as da

    data, ids = da.from_array(FOUR, chunks=2), da.from_array(np.array([0, 1, 2, 9]), chunks=2)
    with pytest.raises(IndexError, match="unsorted_segment_sum: an id of 9 is not below num_segments=3"):
        gtf.unsorted_segment_sum(data, ids, 3).compute()
    with pytest.raises(ValueError, match="call unsorted_segment_sum, which takes num_segments"):
        gtf.segment_sum(data, ids)
    assert gtf.segment_sum(data, [0, 0, 2, 2]).compute().tolist() == [3, 0, 7]
