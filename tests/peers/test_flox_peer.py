"""The engine of docs/flox.md beside flox's own: random arrays, labels, functions and options; Dask and xarray."""

import random
import warnings
from collections import Counter

import flox
import flox_engine
import numpy as np
import pytest
import xarray as xr

pytestmark = pytest.mark.peers

FUNCTIONS = (
    "sum", "nansum", "prod", "nanprod", "mean", "nanmean", "var", "nanvar", "std", "max", "nanmax", "min", "nanmin",
    "any", "all", "first", "last", "nanfirst", "nanlast", "count", "argmax", "nanargmin", "median", "nanmedian",
    "quantile", "nanquantile",
)  # fmt: skip
DTYPES = ("f8", "f4", "i8", "i2", "u1", "?")


@pytest.fixture(autouse=True)
def installed():
    flox_engine.install(flox_engine.engine)
    yield
    flox_engine.install(flox_engine.theirs)


def reduced(array, labels, func, engine, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of NumPy's, about groups of NaN alone
        return flox.groupby_reduce(array, labels, func=func, engine=engine, **options)[0]


def draw_array(draw, rng, shape, func):
    array = rng.integers(0, 5, shape).astype(draw.choice(DTYPES if "quantile" not in func else ("f8", "f4", "i8")))
    # flox's argmax leaves open which position it has where there is a NaN.
    has_nan = array.dtype.kind == "f" and not func.startswith("arg") and draw.random() < 0.7
    return np.where(rng.random(shape) < 0.3, np.nan, array).astype(array.dtype) if has_nan else array


@pytest.mark.parametrize("func", FUNCTIONS)
def test_beside_numpy(func):
    dtypes = Counter()
    for number in range(60):
        draw, rng = random.Random(number), np.random.default_rng(number)
        n = draw.choice([1, 6, 40])
        shape, labels = draw.choice([(n,), (3, n)]), rng.integers(0, 4, n)
        array = draw_array(draw, rng, shape, func)
        options = {"finalize_kwargs": {"q": draw.choice([0, 0.4, 1])}} if "quantile" in func else {}
        if draw.random() < 0.5:  # of which some are absent
            options |= {"expected_groups": np.arange(6), "fill_value": draw.choice([None, 7, np.nan])}
        if func in ("any", "all"):
            array, options["fill_value"] = array > 0, None
        if func == "count" or "arg" in func:
            options["fill_value"] = draw.choice([None, 0])
        found, expected = (reduced(array, labels, func, engine, **options) for engine in ("gatherscatter", "numpy"))
        assert found.dtype == expected.dtype, (number, options)
        tolerance = 1e-6 if "f4" in array.dtype.str else 1e-12
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance, err_msg=f"{number} {options}")
        dtypes[array.dtype.name] += 1
    assert len(dtypes) > 2 or func in ("any", "all")


@pytest.mark.parametrize("chunks", [None, 5])
def test_xarray(chunks, monkeypatch):
    """Also what it takes: monthly means, variances and maxima of an axis in the middle."""
    calls = []
    segment_reduce = flox_engine.names["gs"].segment_reduce
    monkeypatch.setattr(
        flox_engine.names["gs"],
        "segment_reduce",
        lambda *args, **options: calls.append(1) or segment_reduce(*args, **options),
    )
    values = np.random.default_rng(0).normal(size=(2, 24, 3))
    values[:, ::5] = np.nan
    days = np.datetime64("2024-01-01", "ns") + np.arange(24) * np.timedelta64(9, "D")
    array = xr.DataArray(values, dims=("model", "day", "place"), coords={"day": days})
    array = array if chunks is None else array.chunk(day=chunks)
    for name in ("mean", "var", "max", "sum", "count"):
        calls.clear()
        groups = array.groupby("day.month")
        found = getattr(groups, name)(engine="gatherscatter").compute()
        assert calls
        xr.testing.assert_allclose(found, getattr(groups, name)(engine="numpy").compute(), rtol=1e-13)


def test_what_is_left_to_flox():
    labels = np.array([0, 0, 1])
    found = reduced(np.array(["a", "b", "a"]), labels, "first", "gatherscatter")
    assert found.tolist() == ["a", "a"]
    flox_engine.install(flox_engine.by_gatherscatter)
    assert flox.groupby_scan(np.array([1.0, 2.0, 1.0]), labels, func="nancumsum").tolist() == [1, 3, 1]
