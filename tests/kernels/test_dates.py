"""Maxima and minima of NumPy's dates and spans of time: NaT as NaN."""

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits
from gatherscatter import reference

DTYPES = ["M8[D]", "m8[ns]", ">M8[s]"]


def dates(rng, shape, dtype):
    numbers = rng.integers(-5, 5, shape)
    numbers[rng.random(shape) < 0.2] = np.iinfo(np.int64).min
    return numbers.astype(np.dtype(dtype).newbyteorder("=")).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("reduction", ["max", "min"])
@pytest.mark.parametrize("include_self", [True, False])
def test_as_the_reference(dtype, reduction, include_self):
    rng = np.random.default_rng(0)
    for shape in ((9,), (9, 3)):
        data, updates = dates(rng, shape, dtype), dates(rng, (30, *shape[1:]), dtype)
        indices = rng.integers(-10, 10, 30)
        options = {"reduction": reduction, "include_self": include_self, "mode": "drop"}
        expected = reference.scatter(data, indices, updates, **options)
        assert_same_bits(gs.scatter(data, indices, updates, **options), expected)
        out = data.copy()
        assert gs.scatter(out, indices, updates, out=out, **options) is out
        assert_same_bits(out, expected)
        at = np.where(indices < -9, 9, indices % 9)
        source = gs.gather_scatter(data, at, updates, np.arange(30), **options)
        assert_same_bits(source, reference.scatter(data, at, updates, **options))


def test_the_limits():
    first, last = np.iinfo(np.int64).min + 1, np.iinfo(np.int64).max
    data = np.array([first, last, "NaT", 5], "M8[s]")
    assert_same_bits(gs.scatter(data, [0, 1, 2, 3], data[[1, 0, 0, 2]], reduction="max"), data[[1, 1, 2, 2]])
    assert_same_bits(gs.scatter(data, [0, 1, 2, 3], data[[1, 0, 0, 2]], reduction="min"), data[[0, 0, 2, 2]])


def test_a_bad_index_leaves_out_as_it_was():
    data = np.array(["2026-01-01", "2026-01-02"], "M8[D]")
    out = data.copy()
    with pytest.raises(IndexError, match=r"indices\[1\] = 2 is out of bounds"):
        gs.scatter(out, [0, 2], data, reduction="max", out=out)
    assert_same_bits(out, data)
    with pytest.raises(TypeError, match="reduction='add' does not support dtype datetime64"):
        gs.scatter(out, [0], data[0], reduction="add")


def test_dask():
    da = pytest.importorskip("dask.array")
    rng = np.random.default_rng(0)
    data, updates, indices = dates(rng, (9,), "M8[D]"), dates(rng, (30,), "M8[D]"), rng.integers(0, 9, 30)
    for reduction in ("max", "min"):
        lazy = gs.scatter(da.from_array(data, chunks=4), indices, da.from_array(updates, chunks=7), reduction=reduction)
        expected = gs.scatter(data, indices, updates, reduction=reduction)
        assert_same_bits(lazy.compute(scheduler="synchronous"), expected)
