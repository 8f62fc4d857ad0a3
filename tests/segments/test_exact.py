"""Means and variances of numbers that are far from 0, on every library; Dask's merging of many chunks."""

import gatherscatter as gs
import numpy as np
import pytest
from constants import SEGMENT_REDUCTIONS
from libraries import LIBRARIES, on_each
from pairwise import each_pair

IDS = np.arange(2000) % 4
NUMBERS = (2e7 + np.arange(2000) % 7).astype("f4")
WITH_ZEROS, WITH_SENTINELS = NUMBERS.copy(), NUMBERS.copy()
WITH_ZEROS[:4], WITH_SENTINELS[:4] = 0, -9999


def check(data, mean, variance):
    groups = [data[group == IDS].astype("f8") for group in range(4)]
    np.testing.assert_allclose(mean, [group.mean() for group in groups], atol=2, rtol=0)
    np.testing.assert_allclose(variance, [group.var() for group in groups], rtol=0.01)


def in_chunks(library, array):
    """The array in the library; of Dask's in so many chunks that they are merged twice, not in hundreds."""
    if library.package == "dask":
        return pytest.importorskip("dask.array").from_array(array, chunks=30)
    return library.asarray(array)


@pytest.mark.parametrize("library", on_each(LIBRARIES))
@pytest.mark.parametrize("data", [NUMBERS, WITH_ZEROS, WITH_SENTINELS], ids=["plain", "zeros first", "sentinels first"])
def test_float32(library, data):
    with library.way():
        arrays = in_chunks(library, data), in_chunks(library, IDS)
        found = gs.segment_reduce(*arrays, 4, reduction=("mean", "var"), mode="promise_in_bounds")
    check(data, *map(library.asnumpy, found))


@pytest.mark.parametrize("trace", ["jit", "compile", "vmap"])
def test_programs(trace):
    """That of JAX has no float64."""

    def reduced(data, ids):
        return gs.segment_reduce(data, ids, 4, reduction=("mean", "var"), mode="promise_in_bounds")

    if trace == "jit":
        jax = pytest.importorskip("jax")
        with jax.enable_x64(False):
            for data in (WITH_ZEROS, WITH_SENTINELS, NUMBERS):
                mean, variance = jax.jit(reduced)(data, IDS.astype("i4"))
                check(data, mean, variance)
    else:
        torch = pytest.importorskip("torch")
        arrays = torch.tensor(NUMBERS), torch.tensor(IDS)
        if trace == "vmap":
            mean, variance = (one[0] for one in torch.func.vmap(reduced)(*(array[None] for array in arrays)))
        else:
            mean, variance = torch.compile(reduced, fullgraph=True, backend="aot_eager")(*arrays)
    check(NUMBERS, mean, variance)


@each_pair(dtype=["f8", "f4", "i4", "c8"], lazy_ids=[False, True], skipna=[False, True])
def test_dask_merges_chunks(dtype, lazy_ids, skipna):
    """More than are merged at a time, of two numbered axes, with infinities, NaN and segments that chunks lack."""
    da = pytest.importorskip("dask.array")
    rng = np.random.default_rng(1)
    data = (rng.normal(size=(2, 9, 11, 3)) * 4).astype(dtype)
    ids = rng.integers(-1, 7, (9, 11))
    ids[ids == 5] = 3
    ids[8, 10] = 5
    if dtype[0] == "f":
        data[1, 2, 3], data[0, 4, 5, 1], data[0, 8, 8, 2] = np.nan, np.inf, -np.inf
    names = tuple(name for name, dtypes in SEGMENT_REDUCTIONS.items() if np.dtype(dtype).name in dtypes)
    fills = tuple(None if name in ("any", "all", "count", "argmax", "argmin") else 1 for name in names)
    lazy = da.from_array(data, chunks=(1, 2, 3, 2))
    options = {"axis": 1, "reduction": names, "skipna": skipna, "fill_value": fills}
    expected = gs.segment_reduce(data, ids, 8, **options)
    found = gs.segment_reduce(lazy, da.from_array(ids, chunks=4) if lazy_ids else ids, 8, **options)
    for name, result, one in zip(names, da.compute(*found), expected, strict=True):
        assert result.dtype == one.dtype, name
        rounds = name in ("add", "mul", "mean", "var", "std", "logsumexp") and result.dtype.kind in "fc"
        tolerance = 1e-5 if rounds else 0
        np.testing.assert_allclose(result, one, rtol=tolerance, atol=tolerance, err_msg=name)


def test_dask_loses_no_digits_of_variances():
    """Merged by rounded means, chunks would give an error of 2e-9."""
    da = pytest.importorskip("dask.array")
    data = 1e8 + np.random.default_rng(0).normal(size=(400, 2))
    ids = np.arange(400) % 2
    found = gs.segment_reduce(da.from_array(data, chunks=(7, 2)), ids, 2, reduction="var")
    expected = [np.var(data[group == ids] - 1e8, axis=0) for group in range(2)]
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-13)
