"""Segments beside a loop over segments, on every library."""

import itertools

import gatherscatter as gs
import loop
import numpy as np
import pytest
from constants import DTYPES, SEGMENT_REDUCTIONS
from gatherscatter.backends import kernels
from gatherscatter.reductions import COMPLEX
from libraries import LIBRARIES, cannot, has_dtype, on, on_each
from strategies import numpy_dtype

REDUCTIONS = list(SEGMENT_REDUCTIONS)
EXACT = {"max", "min", "any", "all", "count", "first", "last", "argmax", "argmin", "nunique"}
COMPILED = ("JAX, XLA", "JAX, CUDA")
NAMELESS = {"max", "min", "mean", "var", "std", "first", "last", "median"}  # of an empty segment

# Shapes of data and ids, the axis and the number of shared axes.
SHAPES = {
    "elements": ((40,), (40,), 0, 0),
    "rows": ((30, 3), (30,), 0, 0),
    "columns": ((3, 30), (30,), -1, 0),
    "middle": ((2, 20, 3), (20,), 1, 0),
    "an image": ((5, 6, 2), (5, 6), 0, 0),
    "batches": ((3, 12, 2), (3, 12), 1, 1),
    "axes of batches": ((2, 3, 4, 5), (2, 4, 5), 2, 1),
    "nothing": ((0, 2), (0,), 0, 0),
}
# Data's dtype, skipna, min_count and fill_value: each shape gets a fifth of all.
OPTIONS = list(itertools.product(["f8", "f4", "f2", "i4", "u1", "?", "c8", ">f4"], [False, True], [0, 1, 2], [None, 1]))


def draw(rng, shape, dtype, has_nan):
    data = rng.integers(-3 if np.dtype(dtype).kind not in "bu" else 0, 4, shape)
    data = data / 2 if np.dtype(dtype).kind in "fc" else data
    data = data.astype(dtype)
    if data.dtype.kind == "c":
        data += 1j * rng.integers(-3, 4, shape)
    if has_nan:
        data[rng.random(shape) < 0.2] = np.nan
    return data


def check(found, expected, reduction, exact):
    found = np.asarray(found)
    assert found.shape == expected.shape
    if exact or reduction in EXACT:
        assert found.dtype.newbyteorder("=") == expected.dtype.newbyteorder("=")
        assert np.array_equal(found, expected, equal_nan=expected.dtype.kind in "fc")
    else:
        tolerance = {"float16": 2e-3, "float32": 2e-6, "complex64": 2e-6}.get(found.dtype.name, 1e-13)
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_numpy(reduction, shape):
    sizes, ids_shape, axis, batch_dims = SHAPES[shape]
    rng = np.random.default_rng(0)
    some = itertools.islice(OPTIONS, list(SHAPES).index(shape) % 5, None, 5)
    for dtype, skipna, min_count, fill in some:
        kind = np.dtype(dtype).kind
        if kind == "c" and not SEGMENT_REDUCTIONS[reduction].count("complex64"):
            continue
        result = loop.result_dtype(reduction, np.dtype(dtype)).kind
        has_default = result in "fc" or reduction in ("count", "nunique", "argmax", "argmin")
        if fill is None and not has_default and (min_count or reduction in NAMELESS):
            continue
        fill = True if fill is not None and result == "b" else fill
        data = draw(rng, sizes, dtype, kind in "f")
        ids = rng.integers(-1, 6, ids_shape)
        options = {"skipna": skipna, "min_count": min_count, "fill_value": fill}
        if reduction in ("var", "std"):
            options["correction"] = 1
        with np.errstate(all="ignore"):
            found = gs.segment_reduce(data, ids, 7, reduction=reduction, axis=axis, batch_dims=batch_dims, **options)
            expected = loop.segment_reduce(data, ids, 7, reduction, axis % data.ndim, batch_dims, **options)
        check(found, expected, reduction, reduction in ("add", "mul") and kind != "c")


def reduced(library, data, ids, n, names, **options):
    """The result of each reduction, as NumPy's. Programs are made of all of them, since each takes long to compile."""

    fills = {name: True if name in ("any", "all") or data.dtype == bool else 1 for name in names}

    def call(data, ids):
        return [gs.segment_reduce(data, ids, n, reduction=name, fill_value=fills[name], **options) for name in names]

    if library.name in COMPILED:
        import jax

        options["mode"] = "drop"
        call = jax.jit(call)
    with library.way():
        return [library.asnumpy(result) for result in call(library.asarray(data), library.asarray(ids))]


@pytest.mark.parametrize("library", on_each(LIBRARIES))
@pytest.mark.parametrize(("shape", "dtype"), [("axes of batches", "f8"), ("an image", "i8")])
def test_libraries(library, shape, dtype):
    rng = np.random.default_rng(0)
    sizes, ids_shape, axis, batch_dims = SHAPES[shape]
    data, ids = draw(rng, sizes, dtype, False), rng.integers(-1, 5, ids_shape)
    some = REDUCTIONS[dtype == "i8" :: 2] if library.name in COMPILED else REDUCTIONS
    for reduction, found in zip(
        some, reduced(library, data, ids, 6, some, axis=axis, batch_dims=batch_dims), strict=True
    ):
        fill = True if reduction in ("any", "all") else 1
        expected = loop.segment_reduce(data, ids, 6, reduction, axis % data.ndim, batch_dims, fill_value=fill)
        check(found, expected, reduction, False)


@pytest.mark.parametrize(
    ("library", "every"),
    [
        pytest.param(one, every, marks=[*on(one), *([pytest.mark.slow] if every == 3 else [])])
        for one in LIBRARIES
        for every in ((3, 6) if one.package in ("jax", "dask") else (1,))
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_of_libraries(library, every, dtype):
    """As docs/backends-table.md states them. every: how many of the reductions, other ones for each dtype."""
    if not has_dtype(library, dtype):
        return
    rng = np.random.default_rng(0)
    data, ids = rng.integers(0, 4, (20, 2)), rng.integers(-1, 4, 20)
    ids[:4] = range(4)
    array, taken = data.astype(numpy_dtype(dtype)), []
    for reduction in REDUCTIONS[DTYPES.index(dtype) % every :: every]:
        if dtype not in SEGMENT_REDUCTIONS[reduction]:
            continue
        if reason := cannot(library, "segment_reduce", reduction, dtype):
            with library.way(), pytest.raises(NotImplementedError, match=reason):
                gs.segment_reduce(library.asarray(array), library.asarray(ids), 4, reduction=reduction)
        else:
            taken.append(reduction)
    values = (data != 0 if dtype == "bool" else data).astype(complex if dtype in COMPLEX else float)
    tolerance = {"float16": 2e-3, "bfloat16": 2e-2, "float64": 1e-13, "complex128": 1e-13}.get(dtype, 2e-6)
    for reduction, found in zip(taken, reduced(library, array, ids, 4, taken), strict=True):
        expected = loop.segment_reduce(values, ids, 4, reduction)
        np.testing.assert_allclose(found.astype(expected.dtype), expected, tolerance, tolerance, err_msg=reduction)


@pytest.mark.parametrize("library", on_each(LIBRARIES))
def test_softmax(library):
    rng = np.random.default_rng(0)
    data, ids = rng.standard_normal((12, 3)), rng.integers(-1, 4, 12)
    data[ids == 0, 0] = -np.inf
    data[np.flatnonzero(ids == 1)[0], 1] = np.inf
    data[np.flatnonzero(ids == 2)[0], 2] = np.nan
    expected = np.zeros_like(data)
    for segment, column in itertools.product(range(4), range(3)):
        own = ids == segment
        with np.errstate(all="ignore"):
            powers = np.exp(data[own, column] - data[own, column].max(initial=-np.inf))
            expected[own, column] = powers / powers.sum()
    expected[ids == 0, 0] = 0
    arrays = library.asarray(data), library.asarray(ids)
    with library.way(), np.errstate(invalid="ignore"):
        found, logs = gs.segment_softmax(*arrays, 4), gs.segment_log_softmax(*arrays, 4)
    with np.errstate(invalid="ignore"):  # Dask computes now
        found, logs = library.asnumpy(found), library.asnumpy(logs)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(logs, np.log(expected), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("library", on_each(LIBRARIES))
def test_indptr(library):
    """Elements before the first pointer and from the last one on belong to no segment."""
    data = np.arange(24.0).reshape(2, 6, 2)
    for indptr, batch_dims in (([1, 3, 3, 5], 0), ([[0, 2, 6], [3, 3, 4]], 1)):
        n = np.shape(indptr)[-1] - 1
        with library.way():
            found = gs.segment_reduce(
                library.asarray(data), indptr=library.asarray(np.array(indptr)), axis=1, batch_dims=batch_dims
            )
        expected = np.zeros((2, n, 2))
        for batch, segment in np.ndindex(2, n):
            own = indptr[batch] if batch_dims else indptr
            expected[batch, segment] = data[batch, own[segment] : own[segment + 1]].sum(0)
        assert np.array_equal(library.asnumpy(found), expected)


def test_a_tuple_gives_what_each_gives():
    rng = np.random.default_rng(0)
    data, ids = draw(rng, (50, 3), "f4", True), rng.integers(-1, 8, 50)
    for skipna in (False, True):
        results = gs.segment_reduce(data, ids, 9, reduction=tuple(REDUCTIONS), skipna=skipna)
        for reduction, result in zip(REDUCTIONS, results, strict=True):
            alone = gs.segment_reduce(data, ids, 9, reduction=reduction, skipna=skipna)
            assert result.tobytes() == alone.tobytes()
            assert result.shape == alone.shape


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_any_number_of_threads(reduction):
    rng = np.random.default_rng(0)
    data, ids = rng.standard_normal((4000, 5)).astype("f4"), rng.integers(-1, 300, 4000)
    results = []
    for n_threads in (1, 2, 8, 64):
        with kernels.forced(n_threads):
            results.append(gs.segment_reduce(data, ids, 300, reduction=reduction).tobytes())
    assert len(set(results)) == 1


def test_sums_are_rounded_once():
    data = np.ones(64 + (1 << 13), "f4")
    data[:64] = 1 << 24  # in float32, no 1 changes a sum that has one of these
    assert gs.segment_reduce(data, np.zeros(len(data), "i1")) == (1 << 30) + (1 << 13)
    assert gs.segment_reduce(np.ones(3000, "f2"), np.zeros(3000, int)) == 3000
    assert gs.segment_reduce(np.array([1, 2**-30, -1]), [0, 0, 0], dtype="f4") == np.float32(2**-30)
    assert gs.segment_reduce(np.ones(1), [1]).tobytes() == np.array([0.0, 1.0]).tobytes()
    assert gs.segment_reduce(np.array([-0.0]), [0]).tobytes() == np.array([-0.0]).tobytes()


def test_dates():
    """NaT as NaN."""
    days = np.array(["2020-01-03", "NaT", "2020-01-01", "2020-01-02", "2020-01-05"], "M8[D]")
    ids = [0, 0, 1, 1, 3]
    nat = np.datetime64("NaT", "D")
    expected = {
        "max": ([nat, days[3], nat, days[4]], [days[0], days[3], nat, days[4]]),
        "min": ([nat, days[2], nat, days[4]], [days[0], days[2], nat, days[4]]),
        "first": ([days[0], days[2], nat, days[4]],) * 2,
        "last": ([nat, days[3], nat, days[4]], [days[0], days[3], nat, days[4]]),
        "argmax": ([1, 3, -1, 4], [0, 3, -1, 4]),
        "argmin": ([1, 2, -1, 4], [0, 2, -1, 4]),
        "count": ([2, 2, 0, 1], [1, 2, 0, 1]),
    }
    for reduction, both in expected.items():
        for skipna, wanted in enumerate(both):
            for dates in (days, days - days[2]):
                found = gs.segment_reduce(dates, ids, reduction=reduction, skipna=bool(skipna))
                wanted = np.array(wanted)
                if wanted.dtype.kind == "M":
                    assert found.dtype == dates.dtype
                    wanted = wanted if dates is days else wanted - days[2]
                assert np.array_equal(found.astype("i8"), wanted.astype("i8")), reduction
    # As the message of a deviation says.
    numbers = (days - np.datetime64(0, "s")) / np.timedelta64(1, "s")
    found = gs.segment_reduce(numbers, ids, reduction="std", skipna=True)
    np.testing.assert_array_equal(found, [0, 12 * 60 * 60, np.nan, 0])


def test_dask_with_known_ids():
    """And with chunks along any axis."""
    da = pytest.importorskip("dask.array")
    rng = np.random.default_rng(0)
    data, ids = draw(rng, (20, 3), "f8", True), rng.integers(-1, 4, 20)
    for i, reduction in enumerate(REDUCTIONS):
        chunks = ((7, 2), (20, 1))[i % 2]
        lazy = gs.segment_reduce(da.from_array(data, chunks=chunks), ids, 5, reduction=reduction, skipna=True)
        with np.errstate(all="ignore"):
            expected = loop.segment_reduce(data, ids, 5, reduction, skipna=True)
            check(lazy.compute(scheduler="synchronous"), expected, reduction, False)
        known = gs.segment_reduce(data, da.from_array(ids, chunks=6), 5, reduction=reduction, skipna=True)
        with np.errstate(all="ignore"):
            check(known.compute(scheduler="synchronous"), expected, reduction, False)
    with pytest.raises(IndexError):
        gs.segment_reduce(data, da.from_array(ids, chunks=6), 2).compute(scheduler="synchronous")


def test_a_fill_value_of_a_tuple_is_for_counts_and_positions_too():
    data, ids = np.array([1.0, 2.0]), [1, 1]
    names = ("count", "argmax", "max")
    found = gs.segment_reduce(data, ids, 2, reduction=names, fill_value=(-5, 7, None))
    np.testing.assert_equal(found, (np.array([-5, 2]), np.array([7, 1]), np.array([np.nan, 2.0])))
    found = gs.segment_reduce(data, ids, 2, reduction=names, fill_value=9, min_count=3)
    np.testing.assert_equal(found, (np.array([0, 2]), np.array([-1, -1]), np.array([9.0, 9.0])))


@pytest.mark.parametrize("library", on_each(LIBRARIES))
def test_integers_have_nan_in_a_floating_dtype(library):
    data, ids = (library.asarray(np.array(one, "i4")) for one in ([3, 1, 5], [0, 2, 0]))
    options = {"min_count": 1, "dtype": library.asarray(np.zeros((), "f4")).dtype, "mode": "promise_in_bounds"}
    with library.way():
        for names, wanted in (("add", [8, np.nan, 1]), ("mul", [15, np.nan, 1]), (("add", "mean"), [8, np.nan, 1])):
            found = gs.segment_reduce(data, ids, 3, reduction=names, **options)
            one = library.asnumpy(found[0] if isinstance(names, tuple) else found)
            assert one.dtype == np.float32
            np.testing.assert_array_equal(one, wanted)


@pytest.mark.parametrize("reduction", ["add", "mul", "max", "count", "mean", ("max", "add")])
@pytest.mark.parametrize("dtype", ["i8", "i4", "f8", "f4"])
def test_many_elements_without_a_segment(reduction, dtype):
    """Of more ids than are checked at the call. Some segments are empty."""
    rng = np.random.default_rng(0)
    data, ids = rng.integers(0, 3, 9000).astype(dtype), rng.integers(-1, 900, 9000)
    ids[ids % 10 == 7] = 3
    names = reduction if isinstance(reduction, tuple) else (reduction,)
    found = gs.segment_reduce(data, ids, 900, reduction=names, fill_value=1)
    for name, result in zip(names, found, strict=True):
        check(result, loop.segment_reduce(data, ids, 900, name, fill_value=1), name, True)
