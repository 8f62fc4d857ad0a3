"""Dask arrays: the answers of NumPy's arrays bit for bit, and what the graphs are like that give them."""

import itertools

import dask
import dask.array as da
import gatherscatter as gs
import numpy as np
import pytest
from conftest import assert_same_bits
from dask.core import flatten
from gatherscatter.backends.dask import graphs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from libraries import FUNCTIONS
from strategies import (
    PLAIN_DTYPES,
    REDUCTION_DTYPES,
    REDUCTIONS,
    REFERENCE_DTYPES,
    gather_calls,
    scatter_calls,
)


@pytest.fixture(autouse=True)
def _in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@st.composite
def chunks(draw, shape):
    """Any chunks of a shape, empty ones too."""
    found = []
    for n in shape:
        edges = sorted(draw(st.lists(st.integers(0, n), max_size=3)))
        found.append(tuple(b - a for a, b in itertools.pairwise([0, *edges, n])))
    return tuple(found)


@st.composite
def in_chunks(draw, array):
    return da.from_array(array, chunks=draw(chunks(array.shape)))


@st.composite
def mixes(draw, arrays):
    """The same arrays, at least one of them Dask's."""
    which = draw(st.lists(st.booleans(), min_size=len(arrays), max_size=len(arrays)).filter(any))
    return [draw(in_chunks(array)) if lazy else array for array, lazy in zip(arrays, which, strict=True)]


def native(array):
    return np.array(array, order="C")


def drawn(n):
    return settings(max_examples=n, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("function", FUNCTIONS[:3])
def test_gathers_are_numpys(function):
    @drawn(60)
    @given(st.data())
    def check(draw):
        data, indices, options = draw.draw(gather_calls(function, PLAIN_DTYPES + REFERENCE_DTYPES))
        expected = getattr(gs, function)(data, indices, **options)
        arrays = draw.draw(mixes([data, indices]))
        result = getattr(gs, function)(*arrays, **options)
        assert isinstance(result, da.Array)
        assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
        assert_same_bits(np.asarray(result.compute()), expected)
        for key in flatten(result.__dask_keys__()):
            block = np.asarray(dask.get(result.dask, key))
            assert block.shape == tuple(sizes[i] for sizes, i in zip(result.chunks, key[1:], strict=True))

    check()


@pytest.mark.parametrize("waiting", [0, 1, graphs.WAITING])
@pytest.mark.parametrize("function", FUNCTIONS[3:])
def test_scatters_are_numpys(function, waiting, monkeypatch):
    monkeypatch.setattr(graphs, "WAITING", waiting)

    @drawn(60)
    @given(st.data())
    def check(draw):
        data, indices, updates, options = draw.draw(scatter_calls(function, REDUCTION_DTYPES, REDUCTIONS, scalars=True))
        expected = getattr(gs, function)(data, indices, updates, **options)
        if isinstance(updates, np.ndarray):
            arrays = draw.draw(mixes([data, indices, updates]))
        else:
            arrays = [*draw.draw(mixes([data, indices])), updates]
        with np.errstate(all="ignore"):
            result = getattr(gs, function)(*arrays, **options)
            assert isinstance(result, da.Array)
            assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
            assert_same_bits(np.asarray(result.compute()), expected)

    check()
