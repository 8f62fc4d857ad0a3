"""gatherscatter.tensorflow's reductions of segments compared with TensorFlow on the CPU."""

import os
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import tensorflow as tf

import gatherscatter.tensorflow as gtf
from gatherscatter.tensorflow import segments, unsorted

pytestmark = pytest.mark.peers

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
DTYPES = (*INTEGERS, *FLOATS, "complex64", "complex128", "bool", "string")
SORTED = ("sum", "mean", "min", "max", "prod")
UNSORTED = (*SORTED, "sqrt_n")
SEEDS = st.integers(0, 2**32 - 1)


def outcome(function, *arguments):
    """The result as an array, or the error."""
    try:
        result = function(*arguments)
    except (IndexError, TypeError, ValueError, tf.errors.OpError) as error:
        return error
    assert isinstance(result, tf.Tensor)
    return np.asarray(result.numpy(), result.dtype.as_numpy_dtype)


def agree(name, *arguments):
    ours, theirs = (outcome(getattr(module, name), *arguments) for module in (gtf, tf.math))
    case = f"{name}{arguments}: ours {ours!r}, theirs {theirs!r}"
    assert isinstance(ours, Exception) == isinstance(theirs, Exception), case
    if isinstance(theirs, Exception):
        return
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), case
    if name.endswith("sqrt_n") and ours.dtype.itemsize == 2:  # its roots are rounded to 16 bits
        info = ml_dtypes.finfo(ours.dtype)
        np.testing.assert_allclose(ours.astype("f8"), theirs.astype("f8"), rtol=2 * float(info.eps), err_msg=case)
    else:
        np.testing.assert_array_equal(ours, theirs, err_msg=case)


def numbers(rng, shape, dtype, what):
    """Numbers that no step rounds; of extremes and of sums of integers, all of the dtype's."""
    if dtype == "string":
        return np.array([b"%x" % n for n in rng.integers(0, 99, int(np.prod(shape)))], object).reshape(shape)
    dtype = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    if dtype.kind in "iu" and what in ("sum", "prod", "min", "max"):
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    values = rng.integers(0 if dtype.kind in "ub" else -2, 3, shape)
    if dtype.kind == "c":
        return (values + 1j * rng.integers(-1, 2, shape)).astype(dtype)
    if what in ("min", "max"):
        values = np.where(rng.random(shape) < 0.5, values, rng.standard_normal(shape))
    return np.asarray(values).astype(dtype)


def often(draw, n):
    return draw(st.integers(0, n - 1)) == 0


@given(st.data(), SEEDS, st.sampled_from(SORTED), st.sampled_from(DTYPES))
@settings(max_examples=900, deadline=None, derandomize=True)
def test_sorted(data, seed, what, dtype):
    rng, draw = np.random.default_rng(seed), data.draw
    shape = tuple(draw(st.lists(st.integers(0, 6), min_size=not often(draw, 20), max_size=3)))
    n = (shape or (1,))[0] + often(draw, 20)
    ids = np.sort(rng.integers(0, 7, n))
    if n and often(draw, 8):  # sometimes out of order, or negative
        ids[rng.integers(n)] = rng.integers(-1, 7)
    id_dtype = draw(st.sampled_from(("int32", "int64", "int32", "int64", "int16", "float32")))
    ids = ids.astype(id_dtype)
    ids = ids[None] if often(draw, 30) else ids
    agree(f"segment_{what}", tf.constant(numbers(rng, shape, dtype, what)), tf.constant(ids))


@given(st.data(), SEEDS, st.sampled_from(UNSORTED), st.sampled_from(DTYPES))
@settings(max_examples=1200, deadline=None, derandomize=True)
def test_unsorted(data, seed, what, dtype):
    rng, draw = np.random.default_rng(seed), data.draw
    shape = tuple(draw(st.lists(st.integers(0, 4), max_size=4)))
    n = draw(st.integers(0, 6)) if draw(st.booleans()) else 6
    k = draw(st.integers(0, len(shape)))
    positions = tuple(size + often(draw, 30) for size in shape[:k])
    high = 7 if often(draw, 6) and 0 not in shape else n  # test_difference_ids_of_nothing_are_unchecked
    ids = rng.integers(-2, max(high, -1), positions)
    ids = np.asarray(ids).astype(draw(st.sampled_from(("int32", "int64", "int32", "int64", "int16", "int8"))))
    n = -1 if often(draw, 30) else n
    agree(f"unsorted_segment_{what}", tf.constant(numbers(rng, shape, dtype, what)), tf.constant(ids), n)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["segment_sum", "segment_mean", "unsorted_segment_sum", "unsorted_segment_mean"])
def test_sums_that_round(name, dtype):
    rng = np.random.default_rng(3)
    dtype = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    data, ids = tf.constant(rng.random((60, 3)).astype(dtype)), tf.constant(np.sort(rng.integers(0, 9, 60)))
    number = (9,) if name.startswith("un") else ()
    ours, theirs = (outcome(getattr(module, name), data, ids, *number).astype("f8") for module in (gtf, tf.math))
    np.testing.assert_allclose(ours, theirs, rtol=20 * float(ml_dtypes.finfo(dtype).eps))


def test_dtypes_are_those_of_the_definitions():
    from tensorflow.python.framework import op_def_registry

    ours = {
        **{f"Segment{what.title()}": getattr(segments, f"_{what.upper()}") for what in SORTED},
        **{f"UnsortedSegment{what.title()}": getattr(unsorted, f"_{what.upper()}") for what in ("sum", *SORTED[2:])},
    }
    for name, op in ours.items():
        attributes = {a.name: a for a in op_def_registry.get(name).attr}
        for attribute, accepted in (("T", op.data_dtypes), ("Tindices", op.index_dtypes)):
            found = [tf.dtypes.as_dtype(n).name for n in attributes[attribute].allowed_values.list.type]
            assert sorted(one for one in found if one[0] != "q") == sorted(accepted), name


# Differences: each test shows that one still stands


def test_difference_nan_in_max_and_min_of_segments():
    """TensorFlow keeps a NaN that comes first, and drops others."""
    nan = float("nan")
    for what in ("max", "min"):
        for data, theirs in (([nan, 1.0], [1.0]), ([1.0, nan], [nan])):
            arguments = tf.constant(data), tf.constant([0, 0])
            np.testing.assert_array_equal(getattr(tf.math, f"segment_{what}")(*arguments), theirs)
            np.testing.assert_array_equal(getattr(gtf, f"segment_{what}")(*arguments), [nan])
            np.testing.assert_array_equal(getattr(gtf, f"unsorted_segment_{what}")(*arguments, 1), [nan])


def test_difference_infinities_of_unsorted_segments():
    """The maximum of -inf is the lowest finite number, as of no element."""
    data, ids = tf.constant([-np.inf]), tf.constant([0])
    assert tf.math.unsorted_segment_max(data, ids, 1).numpy().tolist() == [float(np.finfo("f4").min)]
    assert tf.math.segment_max(data, ids).numpy().tolist() == [-np.inf]
    assert gtf.unsorted_segment_max(data, ids, 1).numpy().tolist() == [-np.inf]
    assert gtf.unsorted_segment_min(-data, ids, 1).numpy().tolist() == [np.inf]


def test_difference_16_bit_sums_of_segments():
    """TensorFlow rounds after each step."""
    data, ids = tf.constant([2048, 1, 1], tf.float16), tf.constant([0, 0, 0])
    assert tf.math.segment_sum(data, ids).numpy().tolist() == [2048]
    assert gtf.segment_sum(data, ids).numpy().tolist() == [2050]
    assert gtf.unsorted_segment_sum(data, ids, 1).numpy().tolist() == [2050]


def test_difference_sums_and_counts_of_means_overflow():
    """TensorFlow sums integers, and counts elements for the unsorted ones, in data's dtype."""
    data, ids = tf.constant([100, 100], tf.int8), tf.constant([0, 0])
    assert tf.math.segment_mean(data, ids).numpy().tolist() == [-28]
    assert gtf.segment_mean(data, ids).numpy().tolist() == [100]
    assert tf.math.unsorted_segment_mean(data, ids, 1).numpy().tolist() == [-28]
    assert gtf.unsorted_segment_mean(data, ids, 1).numpy().tolist() == [100]
    many = tf.ones(1024, tf.bfloat16)
    roots = [module.unsorted_segment_sqrt_n(many, tf.zeros(1024, tf.int32), 1) for module in (tf.math, gtf)]
    assert [float(root[0]) for root in roots] == [16, 32]


def test_difference_ids_of_nothing_are_unchecked():
    """TensorFlow checks no id where data has no elements."""
    data, ids = tf.zeros((2, 0)), tf.constant([0, 3])
    assert tf.math.unsorted_segment_sum(data, ids, 2).shape == (2, 0)
    with pytest.raises(IndexError, match=r"segment_ids\[1\] = 3 is not below num_segments=2"):
        gtf.unsorted_segment_sum(data, ids, 2)
