"""Indices of `*_elements` that repeat along the axes after `axis`, and scalar updates: the same as written out."""

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits
from pairwise import each_pair, in_turn

SHAPES = [((50, 17), 0), ((50, 6, 5), 0), ((4, 50, 33), 1), ((3, 50, 4, 6), 1), ((2, 3, 50, 40), 2), ((50, 1, 9), 0)]


def expanded(rng, shape, axis, n, beyond=0):
    """Indices that are the same along the axes after `axis`, of n positions along it."""
    size = shape[axis]
    column = rng.integers(-size - beyond, size + beyond, (*shape[:axis], n, *(1,) * (len(shape) - axis - 1)))
    return np.broadcast_to(column, (*shape[:axis], n, *shape[axis + 1 :]))


@pytest.mark.parametrize("mode", ["raise", "clip", "wrap", "fill"])
@in_turn(("shape", "axis"), SHAPES)
def test_gathers(shape, axis, mode, forced_threads):
    rng = np.random.default_rng(0)
    data = rng.random(shape)
    for n in (1, 20, 300):
        indices = expanded(rng, shape, axis, n, beyond=0 if mode == "raise" else 3)
        expected = gs.gather_elements(data, indices.copy(), axis=axis, mode=mode, fill_value=7)
        assert_same_bits(gs.gather_elements(data, indices, axis=axis, mode=mode, fill_value=7), expected)
        out = np.empty_like(expected)
        gs.gather_elements(data, indices, axis=axis, mode=mode, fill_value=7, out=out)
        assert_same_bits(out, expected)
        strided = np.asfortranarray(data)
        assert_same_bits(gs.gather_elements(strided, indices, axis=axis, mode=mode, fill_value=7), expected)


@each_pair(of=SHAPES, reduction=["none", "add", "max", "mean"], mode=["raise", "wrap", "drop"])
def test_scatters(of, reduction, mode, forced_threads):
    shape, axis = of
    rng = np.random.default_rng(0)
    data = rng.random(shape, np.float32)
    for n in (1, 20, 300):
        indices = expanded(rng, shape, axis, n, beyond=0 if mode == "raise" else 3)
        updates = rng.random(indices.shape, np.float32)
        options = {"axis": axis, "mode": mode, "reduction": reduction, "include_self": False}
        expected = gs.scatter_elements(data, indices.copy(), updates, **options)
        assert_same_bits(gs.scatter_elements(data, indices, updates, **options), expected)
        in_place = data.copy()
        gs.scatter_elements(in_place, indices, updates, out=in_place, **options)
        assert_same_bits(in_place, expected)
        strided = np.array(data, order="F")
        gs.scatter_elements(strided, indices, updates, out=strided, **options)
        assert_same_bits(strided, expected)
        if reduction in ("add", "mean"):
            options["accumulate_dtype"] = "float64"
            expected = gs.scatter_elements(data, indices.copy(), updates, **options)
            assert_same_bits(gs.scatter_elements(data, indices, updates, **options), expected)


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_a_bad_index_is_named_at_its_first_position(shape, axis):
    rng = np.random.default_rng(0)
    data, column = rng.random(shape), expanded(rng, shape, axis, 30).copy()
    place = (*(n - 1 for n in shape[:axis]), 17)
    column[place] = 50
    indices = np.broadcast_to(column[(slice(None),) * (axis + 1) + (slice(1),) * (len(shape) - axis - 1)], column.shape)
    for call in (
        lambda i: gs.gather_elements(data, i, axis=axis),
        lambda i: gs.gather_elements(data, i, axis=axis, out=np.empty(column.shape)),
        lambda i: gs.scatter_elements(data, i, np.zeros(column.shape), axis=axis, reduction="add"),
        lambda i: gs.scatter_elements(data, i, 0.0, axis=axis, out=data),
    ):
        messages = []
        for given in (column, indices):
            with pytest.raises(IndexError) as error:
                call(given)
            messages.append(str(error.value))
        assert messages[0] == messages[1]
        assert str(list(place))[1:-1] in messages[0]


@in_turn("dtype", ["?", "i2", "f2", "f4", ">f8", "c16", "U5", "M8[s]"])
def test_scalar_updates(dtype, forced_threads):
    rng = np.random.default_rng(0)
    numeric = np.dtype(dtype).kind in "iufc"
    for shape, n in (((90, 70), 300), ((900, 3, 4), 2000), ((5000,), 9000)):
        data = rng.integers(0, 100, shape).astype(dtype)
        indices, value = rng.integers(0, shape[0], n), np.asarray(rng.integers(1, 100)).astype(dtype)
        updates = np.full((n, *shape[1:]), value, dtype)
        for reduction in ("none", *(("add", "mean") if numeric else ())):
            options = {"reduction": reduction, "include_self": False}
            expected = gs.scatter(data, indices, updates, **options)
            for scalar in (value, np.broadcast_to(value, updates.shape)):
                assert_same_bits(gs.scatter(data, indices, scalar, **options), expected)
                in_place = data.copy()
                gs.scatter(in_place, indices, scalar, out=in_place, **options)
                assert_same_bits(in_place, expected)


def test_a_bad_index_of_indices_that_repeat_along_one_axis_of_two():
    data, indices = np.zeros((4, 4, 2)), np.broadcast_to(np.array([0, -6]), (1, 4, 2))
    message = r"indices\[0, 0, 1\] = -6 is out of bounds for data of shape \(4, 4, 2\): axis 0 has size 4"
    with pytest.raises(IndexError, match=message):
        gs.gather_elements(data, indices, axis=0)
    with pytest.raises(IndexError, match=message):
        gs.scatter_elements(data, indices, 1.0, axis=0)
