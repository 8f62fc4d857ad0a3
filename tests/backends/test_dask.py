"""Dask arrays: the results equal those of NumPy arrays bit for bit."""

import contextlib
import itertools

import dask
import dask.array as da
import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits
from constants import FLOAT_REDUCTIONS, GATHERS, REDUCTIONS, SCATTERS, reduces
from dask.core import flatten
from gatherscatter.backends.dask import graphs
from hypothesis import given
from hypothesis import strategies as st
from libraries import LIBRARIES, on
from strategies import PLAIN_DTYPES, REDUCTION_DTYPES, REFERENCE_DTYPES, examples, gather_calls, numbers, scatter_calls

pytestmark = pytest.mark.usefixtures("dask_in_this_thread")


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


@pytest.mark.drawn
@pytest.mark.parametrize("waiting", [0, graphs.WAITING])
@pytest.mark.parametrize("function", GATHERS)
def test_gathers_are_numpys(function, waiting, monkeypatch):
    monkeypatch.setattr(graphs, "WAITING", waiting)

    @examples(60)
    @given(st.data())
    def check(draw):
        data, indices, options = draw.draw(gather_calls(function, PLAIN_DTYPES + REFERENCE_DTYPES))
        expected = getattr(gs, function)(data, indices, **options)
        arrays = draw.draw(mixes([data, indices]))
        result = getattr(gs, function)(*arrays, **options)
        assert isinstance(result, da.Array)
        assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
        assert_same_bits(np.asarray(result.compute()), expected)
        keys = list(flatten(result.__dask_keys__()))
        for key, block in zip(keys, dask.get(result.dask, keys), strict=True):
            shape = tuple(sizes[i] for sizes, i in zip(result.chunks, key[1:], strict=True))
            assert np.asarray(block).shape == shape

    check()


@pytest.mark.drawn
@pytest.mark.parametrize("waiting", [0, 1, graphs.WAITING])
@pytest.mark.parametrize("function", SCATTERS)
def test_scatters_are_numpys(function, waiting, monkeypatch):
    monkeypatch.setattr(graphs, "WAITING", waiting)

    @examples(60)
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


@st.composite
def tiny_calls(draw):
    """(data, indices, updates, batch_dims): empty tuples, data and tables of rank 0, sizes 0 and 1."""
    sizes = st.integers(0, 3)
    tuples = tuple(draw(st.lists(sizes, max_size=3)))
    b = draw(st.integers(0, min(len(tuples), 1)))
    row = tuple(draw(st.lists(sizes, max_size=2)))
    k = draw(st.sampled_from([0, 0, 0, 1, 2]))
    indexed = tuple(draw(st.integers(0 if 0 in tuples else 1, 2)) for _ in range(k))
    data = numbers(tuples[:b] + indexed + row, draw(st.sampled_from(REDUCTION_DTYPES)), draw(st.integers(0, 99)))
    indices = np.zeros((*tuples, k), draw(st.sampled_from([np.int64, np.uint8])))
    return data, indices, numbers(tuples + row, data.dtype, draw(st.integers(0, 99))), b


@pytest.mark.drawn
@pytest.mark.parametrize("waiting", [0, graphs.WAITING])
def test_tiny_calls_are_numpys(waiting, monkeypatch):
    monkeypatch.setattr(graphs, "WAITING", waiting)

    @examples(60)
    @given(st.data())
    def check(draw):
        data, indices, updates, b = draw.draw(tiny_calls())
        arrays = draw.draw(mixes([data, indices]))
        expected = gs.gather_nd(data, indices, batch_dims=b)
        result = gs.gather_nd(*arrays, batch_dims=b)
        assert result.shape == expected.shape
        assert_same_bits(np.asarray(result.compute()), expected)
        options = {
            "batch_dims": b,
            "reduction": draw.draw(st.sampled_from([name for name in REDUCTIONS if reduces(name, data.dtype.name)])),
            "include_self": draw.draw(st.booleans()),
        }
        arrays = draw.draw(mixes([data, indices, updates]))
        with np.errstate(all="ignore"):
            expected = gs.scatter_nd(data, indices, updates, **options)
            assert_same_bits(np.asarray(gs.scatter_nd(*arrays, **options).compute()), expected)

    check()


def test_a_mean_of_empty_tuples_in_steps():
    data, indices, updates = np.array([2, 3, 4], "u1"), np.zeros((2, 2, 0), int), np.ones((2, 2, 3), "u1")
    lazy = da.from_array(indices, chunks=(1, 1, 1)), da.from_array(updates, chunks=(1, 1, 2))
    result = gs.scatter_nd(da.from_array(data), *lazy, reduction="mean")
    assert_same_bits(result.compute(), gs.scatter_nd(data, indices, updates, reduction="mean"))


def test_sizes_of_0_in_several_chunks():
    """Dask's rechunk leaves an array alone whose sizes are all 0."""
    data, updates = da.zeros((0,), chunks=((0, 0),)), da.ones((0,), chunks=((0,),))
    for indices in (np.zeros((0,), int), da.zeros((0,), dtype=int)):
        assert gs.scatter_nd(data, indices, updates).compute().shape == (0,)
    data, indices = da.zeros((0, 2), chunks=((0, 0), 1)), da.zeros((0, 0), dtype=int, chunks=((0,), (0, 0)))
    assert gs.gather_nd(data, indices, batch_dims=1).compute().shape == (0, 2)


def test_what_stands_beside_a_dask_array():
    data = np.arange(12.0).reshape(4, 3)
    lazy = da.from_array(data, chunks=2)
    tuples = [[0, 1], [3, -1]]
    for indices in (tuples, np.array(tuples), da.from_array(np.array(tuples), chunks=1)):
        assert gs.gather_nd(lazy, indices).compute().tolist() == [1, 11]
        for updates in ([5.0, 6.0], np.array([5.0, 6.0]), da.from_array(np.array([5.0, 6.0]), chunks=1)):
            assert gs.scatter_nd(lazy, indices, updates).compute()[0, 1] == 5
        assert gs.scatter_nd(lazy, indices, 7).compute()[3, 2] == 7
    indices = da.from_array(np.array(tuples), chunks=1)
    for known in (data, data.tolist()):
        assert gs.gather_nd(known, indices).compute().tolist() == [1, 11]
    updates = da.ones(2, chunks=1)
    assert gs.scatter_nd(data, tuples, updates, reduction="add").compute()[0, 1] == 2
    assert gs.scatter_nd([1.0, 2.0], [[0], [0]], updates, reduction="add").compute().tolist() == [3, 2]


def test_data_without_axes_may_be_a_scalar_of_numpys():
    total = da.from_array(np.arange(4.0), chunks=2).sum()
    assert gs.gather_nd(total, []).compute() == 6
    assert gs.scatter_nd(total, [[], []], total + da.arange(2, chunks=1), reduction="add").compute() == 19
    assert gs.gather(da.arange(5, chunks=2), da.arange(5, chunks=2).max()).compute() == 4


# Order


@pytest.mark.parametrize("reduction", ["none", "add", "mean"])
def test_updates_meet_in_row_major_order_of_all_chunks(reduction):
    """Chunks along the second axis interleave: a chunk's tuples are no run of all tuples."""
    rng = np.random.default_rng(0)
    data = numbers((20,), np.dtype("f4"), 0)
    indices, updates = rng.integers(0, 20, (12, 20, 1)), numbers((12, 20), np.dtype("f4"), 3)
    expected = gs.scatter_nd(data, indices, updates, reduction=reduction)
    all_cuts = [(12, 3), (2, 20), (5, 4), (1, 4)] if reduction == "add" else [(5, 4)]
    for known, cuts in itertools.product([False, True], all_cuts):
        lazy = da.from_array(updates, chunks=cuts)
        places = indices if known else da.from_array(indices, chunks=(*cuts, 1))
        for data_chunks in (20, 9):
            result = gs.scatter_nd(da.from_array(data, chunks=data_chunks), places, lazy, reduction=reduction)
            assert_same_bits(result.compute(), expected)
            assert_same_bits(result.compute(scheduler="threads"), expected)


# Unknown sizes


def some(array, keep):
    """A part of an array along its first axis, of which Dask does not know the sizes."""
    return array[da.from_array(keep, chunks=array.chunks[0])]


def test_unknown_sizes_of_indices_and_updates():
    rng = np.random.default_rng(1)
    data, keep = numbers((20, 3), np.dtype("f4"), 0), rng.random(30) < 0.6
    lazy = da.from_array(data, chunks=(6, 2))
    tuples, updates = rng.integers(-20, 20, (30, 7, 1)), numbers((30, 7, 3), np.dtype("f4"), 2)
    indices = some(da.from_array(tuples, chunks=(4, 3, 1)), keep)
    result = gs.gather_nd(lazy, indices)
    assert np.isnan(result.shape[0])
    assert_same_bits(result.compute(), gs.gather_nd(data, tuples[keep]))
    given = some(da.from_array(updates, chunks=(4, 2, 3)), keep)
    for reduction in ("none", "add"):
        expected = gs.scatter_nd(data, tuples[keep], updates[keep], reduction=reduction)
        # Along the other axis, where sizes are known, chunks of indices and updates need not be the same.
        assert_same_bits(gs.scatter_nd(lazy, indices, given, reduction=reduction).compute(), expected)
    assert_same_bits(gs.scatter_nd(lazy, indices, 1.0).compute(), gs.scatter_nd(data, tuples[keep], 1.0))
    # Beside a batch axis that is cut.
    table = da.from_array(numbers((4, 20), np.dtype("f4"), 5), chunks=(3, 6))
    batches = some(da.from_array(tuples[:, :4, 0], chunks=(4, 2)), keep).T
    result = gs.gather(table, batches, axis=1, batch_dims=1)
    assert_same_bits(result.compute(), gs.gather(table.compute(), tuples[keep, :4, 0].T, axis=1, batch_dims=1))
    result = gs.scatter(table, batches, 1.0, axis=1, batch_dims=1, reduction="add")
    expected = gs.scatter(table.compute(), tuples[keep, :4, 0].T, 1.0, axis=1, batch_dims=1, reduction="add")
    assert_same_bits(result.compute(), expected)
    # The same number of chunks, of known sizes on one side.
    sizes = tuple(int(part.sum()) for part in np.split(keep, range(4, 30, 4)))
    known = da.from_array(updates[keep], chunks=(sizes, 7, 3))
    assert_same_bits(gs.scatter_nd(lazy, indices, known).compute(), gs.scatter_nd(data, tuples[keep], updates[keep]))


# Chunks of other libraries


def others():
    for library in LIBRARIES:
        if library.package in ("torch", "jax", "cupy", "array_api_strict") and library.way is contextlib.nullcontext:
            # JAX compiles programs for all shapes that there are, so it gets few.
            for waiting in [0, graphs.WAITING][library.package == "jax" :]:
                # By default PyTorch has the limit that there is, and the others 0.
                is_slow = library.package == "jax" or (library.package == "torch") == (waiting == 0)
                marks = [*on(library), *([pytest.mark.slow] if is_slow else [])]
                yield pytest.param(library, waiting, marks=marks, id=f"{library.name}, {waiting}")


@pytest.mark.parametrize(("library", "waiting"), list(others()))
def test_chunks_of_other_libraries_are_moved_by_them(library, waiting, monkeypatch):
    """Dask knows NumPy's arrays; what a function made of its chunks shows when they are computed."""

    def there(array, chunks):
        return da.from_array(array, chunks=chunks).map_blocks(library.asarray, dtype=array.dtype, meta=array[:0])

    def back(array):
        seen = []

        def convert(chunk):
            seen.append(type(chunk))
            return np.asarray(library.asnumpy(chunk))

        result = array.map_blocks(convert, dtype=array.dtype, meta=array._meta).compute()
        assert set(seen) == {type(library.asarray(np.zeros(1)))}
        return result

    monkeypatch.setattr(graphs, "WAITING", waiting)
    ways = [("mul", False)] if library.package == "jax" else list(itertools.product(FLOAT_REDUCTIONS, [True, False]))
    rng = np.random.default_rng(0)
    data, updates = rng.integers(0, 9, (9, 5)).astype("f4"), rng.integers(0, 9, (4, 9, 5)).astype("f4")
    indices = rng.integers(-12, 12, (4, 9))
    lazy = there(data, (4, 3))
    for turn, places in enumerate((indices, there(indices, (2, 5)))):
        result = gs.gather(lazy, places, mode="fill", fill_value=-1)
        assert_same_bits(back(result), gs.gather(data, indices, mode="fill", fill_value=-1))
        result = gs.gather(lazy, places, axis=1, mode="wrap")
        assert_same_bits(back(result), gs.gather(data, indices, axis=1, mode="wrap"))
        for i, (reduction, include_self) in enumerate(ways):
            options = {"mode": "drop", "reduction": reduction, "include_self": include_self}
            for known in (updates, 2.0)[(i // 2 + turn) % 2 :: 2] if len(ways) > 1 else (updates, 2.0):
                # Dask cuts the chunks of other libraries, but joins them as NumPy's.
                lazily = there(known, (2, 5, 3)) if known is updates and waiting else known
                result = gs.scatter(lazy, places, lazily, **options)
                expected = gs.scatter(data, indices, known, **options)
                np.testing.assert_allclose(back(result), expected, rtol=1e-6)


def test_products_of_weights_are_numpys():
    """Also complex ones, and with a source of NumPy."""
    rng, n = np.random.default_rng(0), 30
    for dtype in ("f4", "c8", "c16"):
        data, source, weights = (
            (rng.standard_normal((n, 3)) * (1 + 1j if dtype[0] == "c" else 1)).astype(dtype) for _ in range(3)
        )
        every = np.arange(n)
        expected = gs.gather_scatter(data, every, source, every[::-1], weights=weights, reduction="add")
        for table in (source, da.from_array(source, chunks=(7, 2))):
            lazy = da.from_array(data, chunks=(11, 3)), every, table, every[::-1]
            found = gs.gather_scatter(*lazy, weights=da.from_array(weights, chunks=8), reduction="add")
            assert_same_bits(native(found), expected)
