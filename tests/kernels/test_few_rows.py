"""The shortest gathers: a few rows of a contiguous array, copied without describing a job."""

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits
from gatherscatter.backends import kernels
from pairwise import in_turn

LONGEST = 64  # MOST_ROWS of few_rows.pxd


def numbers(shape, dtype):
    return (np.arange(np.prod(shape)) % 100).reshape(shape).astype(dtype)


@in_turn("row", [(), (1,), (3,), (16,), (2, 5), (0,), (40,), (4000,)])
@pytest.mark.parametrize("dtype", ["f4", "u1", "c16", ">i2", "U3", "M8[s]", "V7", "?"])
def test_rows(dtype, row):
    for n in (0, 1, 10, LONGEST, LONGEST + 1):
        data, indices = numbers((7, *row), dtype if dtype != "V7" else "S7").astype(dtype), np.arange(n) * 5 % 14 - 7
        expected = data[indices]
        assert_same_bits(gs.gather(data, indices), expected)
        out = np.empty_like(expected)
        assert gs.gather(data, indices, out=out) is out
        assert_same_bits(out, expected)


@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (2, 0, 3)])
@in_turn("dtype", ["i8", "i4", "u8", ">i8", "i1"])
def test_indices_of_any_rank_and_dtype(dtype, shape):
    data, indices = numbers((9, 4), "f8"), numbers(shape, dtype) % 9
    assert_same_bits(gs.gather(data, indices), data[indices.astype(int)])


@in_turn("bad", [7, -8, 2**40, -(2**63), 2**63 - 1])
@pytest.mark.parametrize("at", [0, 4, 9])
def test_a_bad_index_is_named_and_out_stays_as_it_is(bad, at):
    data, indices, out = numbers((7, 3), "f4"), np.arange(10) % 7, np.full((10, 3), -1, "f4")
    indices[at] = bad
    for options in ({}, {"out": out}):
        with pytest.raises(IndexError, match=rf"indices\[{at}\] = {bad} is out of bounds"):
            gs.gather(data, indices, **options)
    assert (out == -1).all()


def test_no_rows():
    data = np.empty((0, 3))
    assert gs.gather(data, np.empty(0, int)).shape == (0, 3)
    with pytest.raises(IndexError, match="out of bounds"):
        gs.gather(data, np.array([0]))


@pytest.mark.parametrize("mode", ["clip", "wrap", "fill", "promise_in_bounds"])
def test_other_modes(mode):
    data, indices = numbers((7, 3), "f4"), np.array([1, 9, -9] if mode != "promise_in_bounds" else [1, 6, -7])
    expected = {"clip": data[[1, 6, 0]], "wrap": data[[1, 2, 5]], "promise_in_bounds": data[[1, 6, 0]]}
    filled = np.concatenate([data[[1]], np.zeros((2, 3), "f4")])
    assert_same_bits(gs.gather(data, indices, mode=mode), expected.get(mode, filled))


def test_without_negative_indices():
    data = numbers((7, 3), "f4")
    assert_same_bits(gs.gather(data, np.array([6, 0]), wrap_negative_indices=False), data[[6, 0]])
    with pytest.raises(IndexError, match="out of bounds"):
        gs.gather(data, np.array([6, -1]), wrap_negative_indices=False)


def test_data_and_indices_of_any_layout():
    data, indices = numbers((14, 6), "f4"), np.arange(20) % 7 - 3
    unaligned = np.frombuffer(b"." + indices[:7].tobytes(), np.uint8)[1:].view(np.int64)
    assert_same_bits(gs.gather(data[::2], indices[::2]), data[::2][indices[::2]])
    assert_same_bits(gs.gather(data[:, ::2], indices), data[:, ::2][indices])
    assert_same_bits(gs.gather(np.asfortranarray(data), indices), data[indices])
    assert_same_bits(gs.gather(data, unaligned), data[indices[:7]])
    assert_same_bits(gs.gather(data, np.broadcast_to(3, 5)), data[[3] * 5])


def test_out_that_overlaps_or_is_strided():
    data = numbers((8, 3), "i8")
    expected = data[[7, 0, 2, 2]]
    out = data.copy()
    assert_same_bits(gs.gather(out, np.array([7, 0, 2, 2]), out=out[:4]), expected)
    indices = np.array([7, 0, 2, 2])
    assert_same_bits(gs.gather(numbers(8, "i8"), indices, out=indices), np.array([7, 0, 2, 2]))
    out = np.zeros((4, 6), "i8")[:, ::2]
    assert_same_bits(gs.gather(data, np.array([7, 0, 2, 2]), out=out), expected)
    frozen = np.zeros((4, 3), "i8")
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        gs.gather(data, np.array([7, 0, 2, 2]), out=frozen)


def test_a_forced_route_runs():
    with kernels.forced(2, gather="direct"):
        assert_same_bits(gs.gather(numbers((7, 3), "f4"), np.array([1, -1])), numbers((7, 3), "f4")[[1, -1]])
