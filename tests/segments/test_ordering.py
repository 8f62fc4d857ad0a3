"""The order of segments, quantiles and numbers of distinct values, beside NumPy on each segment."""

import itertools

import gatherscatter as gs
import loop
import numpy as np
import pytest
from assertions import assert_same_bits
from gatherscatter._kernels import segments as kernel
from gatherscatter.backends import kernels
from libraries import LIBRARIES, cannot, has_dtype, on_each
from pairwise import each_pair, in_turn

METHODS = ("linear", "lower", "higher", "nearest", "midpoint")
DTYPES = ("f8", "f4", "f2", "i8", "i4", "i1", "u8", "u4", "u2", "?", ">f4")
Q = [0.9, 0, 0.25, 1, 1 / 3, 0.5]  # more than the kernels select one by one; not in order

# Shapes of data and ids, the axis and the number of shared axes.
SHAPES = {
    "elements": ((60,), (60,), 0, 0),
    "rows": ((40, 11), (40,), 0, 0),
    "columns": ((3, 30), (30,), -1, 0),
    "an image": ((5, 6, 2), (5, 6), 0, 0),
    "axes of batches": ((2, 3, 4, 5), (2, 4, 5), 2, 1),
    "a large segment": ((700,), (700,), 0, 0),
    "nothing": ((2, 0, 3), (0,), 1, 0),
}


def draw(shape, dtype, kind="numbers", seed=0):
    """kind: "numbers", "special" ones (NaN, infinities, zeros), or "ties"."""
    rng, dtype = np.random.default_rng(seed), np.dtype(dtype)
    if dtype.kind == "f":
        values = rng.integers(-2, 3, shape) / 2 if kind == "ties" else rng.standard_normal(shape)
        if kind == "special":
            some = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], shape)
            values = np.where(rng.random(shape) < 0.3, some, values)
        return values.astype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    limits = (0, 3) if kind == "ties" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return rng.integers(*limits, shape, dtype=dtype, endpoint=True)


def draw_ids(shape, n=5):
    ids = np.random.default_rng(1).integers(-1, n, shape)
    return np.where(ids > 1, 0, ids) if ids.size == 700 else ids


@each_pair(
    dtype=DTYPES, shape=tuple(SHAPES), kind=("numbers", "special", "ties"), method=METHODS, skipna=(False, True),
    n_threads=(1, 2, 8), n_quantiles=(1, 3, 6), by_halves=(False, True),
)  # fmt: skip
def test_quantiles(dtype, shape, kind, method, skipna, n_threads, n_quantiles, by_halves):
    sizes, ids_shape, axis, batch_dims = SHAPES[shape]
    data, ids = draw(sizes, dtype, kind), draw_ids(ids_shape)
    keeps = method in ("lower", "higher", "nearest")
    fill = None if data.dtype.kind == "f" or not keeps else True
    options = {"axis": axis, "batch_dims": batch_dims, "skipna": skipna, "min_count": 3, "fill_value": fill}
    with kernels.forced(n_threads):
        kernel.force_halves(by_halves)
        found = gs.segment_quantile(data, Q[:n_quantiles], ids, 7, method=method, **options)
    options["axis"] %= data.ndim
    expected = loop.segment_quantile(data, ids, 7, Q[:n_quantiles], method, **options)
    assert found.dtype == expected.dtype.newbyteorder("=")
    np.testing.assert_array_equal(found, expected)


@each_pair(
    dtype=DTYPES, shape=tuple(SHAPES), kind=("numbers", "special", "ties"), descending=(False, True),
    n_threads=(1, 2, 8), by_halves=(False, True),
)  # fmt: skip
def test_argsort(dtype, shape, kind, descending, n_threads, by_halves):
    sizes, ids_shape, axis, batch_dims = SHAPES[shape]
    data, ids = draw(sizes, dtype, kind), draw_ids(ids_shape)
    with kernels.forced(n_threads):
        kernel.force_halves(by_halves)
        found = gs.segment_argsort(data, ids, 4, descending=descending, axis=axis, batch_dims=batch_dims, mode="drop")
        distinct = gs.segment_reduce(
            data, ids, 4, reduction="nunique", axis=axis, batch_dims=batch_dims, mode="drop", min_count=99
        )
    assert_same_bits(found, loop.segment_argsort(data, ids, 4, axis % data.ndim, batch_dims, descending))
    assert_same_bits(distinct, loop.segment_reduce(data, ids, 4, "nunique", axis % data.ndim, batch_dims))


PATTERNS = {
    "ascending": lambda n: np.arange(n),
    "descending": lambda n: -np.arange(n),
    "up and down": lambda n: np.minimum(np.arange(n), n - np.arange(n)),
    "a saw": lambda n: np.arange(n) % 64,
    "one value": np.zeros,
    "two values": lambda n: np.arange(n) % 2,
    "one other": lambda n: (np.arange(n) == n // 2) * 1,
    "greatest": lambda n: np.where(np.arange(n) % 3, np.iinfo(np.int64).max, 0),
}


@in_turn("pattern", PATTERNS)
@pytest.mark.parametrize("n", [23, 24, 25, 26, 5000])
def test_patterns(pattern, n):
    """Of which pivots may be bad. The sizes are those around which keys are exchanged one by one."""
    for data in (PATTERNS[pattern](n).astype("i8"), PATTERNS[pattern](n).astype("f4")):
        ids = np.zeros(n, int)
        for q in (0, 0.1, 0.5, 0.99, 1):
            assert gs.segment_quantile(data, q, ids, method="lower") == np.quantile(data, q, method="lower")
        assert gs.segment_argsort(data, ids).tolist() == np.argsort(data, kind="stable").tolist()
        assert gs.segment_reduce(data, ids, reduction="nunique") == len(np.unique(data))


def test_pointers_are_ids_in_order():
    data, indptr = draw((4, 20, 3), "f4", "special"), np.array([[2, 2, 9, 15], [0, 3, 20, 20]] * 2)
    ids = np.array([np.searchsorted(row, np.arange(20), side="right") - 1 for row in indptr])
    assert ids.max() == 3
    for n_threads, q in itertools.product((1, 8), (0.5, [0, 0.7])):
        with kernels.forced(n_threads):
            for array, options in ((data, {"axis": 1, "batch_dims": 1}), (data[:, :, 0], {"axis": 1, "batch_dims": 1})):
                expected = gs.segment_argsort(array, ids, 3, mode="drop", **options)
                assert_same_bits(gs.segment_argsort(array, indptr=indptr, **options), expected)
                expected = gs.segment_quantile(array, q, ids, 3, mode="drop", **options)
                assert_same_bits(gs.segment_quantile(array, q, indptr=indptr, **options), expected)
    expected = gs.segment_reduce(data, ids, 3, reduction=("median", "nunique"), axis=1, batch_dims=1, mode="drop")
    found = gs.segment_reduce(data, indptr=indptr, reduction=("median", "nunique"), axis=1, batch_dims=1)
    for one, other in zip(found, expected, strict=True):
        assert_same_bits(one, other)


def test_numpy_to_the_bit():
    """Also where the differences overflow."""
    rng = np.random.default_rng(0)
    q = rng.random(40)
    for scale in (1, 4e307, 5e-324):
        data = rng.standard_normal(301) * scale
        with np.errstate(over="ignore", invalid="ignore"):
            for method in METHODS:
                expected = np.quantile(data, q, method=method)
                found = gs.segment_quantile(data, q, np.zeros(301, int), method=method)[:, 0]
                np.testing.assert_array_equal(found, expected)  # 0.0 is -0.0
            for n in (1, 2, 300, 301):
                assert gs.segment_reduce(data[:n], np.zeros(n, int), reduction="median")[0] == np.median(data[:n])


def test_equal_neighbours():
    infinite = np.array([np.inf, np.inf, -np.inf, -np.inf, 1, np.inf])
    assert gs.segment_quantile(infinite, 0.3, [0, 0, 1, 1, 2, 2]).tolist() == [np.inf, -np.inf, np.inf]
    assert gs.segment_quantile(infinite[4:], [0, 1], [0, 0]).tolist() == [[1], [np.inf]]
    torch = pytest.importorskip("torch")  # by array functions, for a gradient
    infinite = torch.tensor(infinite, requires_grad=True)
    found = gs.segment_quantile(infinite, 0.3, torch.tensor([0, 0, 1, 1, 2, 2]))
    assert found.tolist() == [np.inf, -np.inf, np.inf]


def test_16_bits_are_rounded_once():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    data = np.array([1, 1 + 2**-7], ml_dtypes.bfloat16)
    for q in (0.5 - 2**-40, 0.5, 0.5 + 2**-40):  # of 1 and its neighbour the nearest one
        expected = 1 if q <= 0.5 else 1 + 2**-7
        assert gs.segment_quantile(data, q, [0, 0]).astype("f8") == expected
        assert gs.segment_quantile(-data, 1 - q, [0, 0]).astype("f8") == -expected
    assert gs.segment_quantile(np.float16([1, 2]), 0.5, [0, 0]).dtype == np.float16


def test_dates():
    days = np.array(["2020-01-03", "NaT", "2020-01-01", "2020-01-02", "2020-01-05", "2020-01-02"], "M8[D]")
    ids = np.array([0, 0, 1, 1, 3, 1])
    for dates in (days, days - days[2]):
        nat, few = dates[1], dates[4]
        for skipna, first in ((False, nat), (True, dates[0])):
            found = gs.segment_reduce(dates, ids, reduction=("median", "nunique"), skipna=skipna)
            assert found[0].astype("i8").tolist() == np.array([first, dates[3], nat, few]).astype("i8").tolist()
            assert found[1].tolist() == [1 + (not skipna), 2, 0, 1]
            assert found[0].dtype == dates.dtype
        found = gs.segment_quantile(dates, [0, 1], ids, method="higher", skipna=True, fill_value=few)
        assert (found == [[dates[0], dates[2], few, few], [dates[0], dates[3], few, few]]).all()
        for descending, expected in ((False, [0, 1, 2, 3, 5, 4]), (True, [0, 1, 3, 5, 2, 4])):
            assert gs.segment_argsort(dates, ids, descending=descending).tolist() == expected
    limits = np.array([-(2**63), -(2**63) + 1, 2**63 - 1]).view("m8[s]")
    assert gs.segment_argsort(limits, [0, 0, 0]).tolist() == [1, 2, 0]
    assert gs.segment_argsort(limits, [0, 0, 0], descending=True).tolist() == [2, 1, 0]


@pytest.mark.parametrize("library", on_each(LIBRARIES))
def test_libraries(library):
    for shape, kind, skipna, quantiles in (
        ("an image", "special", False, {"linear": [0.75, 0.1], "nearest": 0.3}),
        ("axes of batches", "special", True, {"linear": 0.2, "lower": 0.9, "higher": np.array([0.4]), "midpoint": 0.3}),
    ):
        sizes, ids_shape, axis, batch_dims = SHAPES[shape]
        data, ids = draw(sizes, "f8", kind), draw_ids(ids_shape)
        arrays, options = (library.asarray(data), library.asarray(ids)), {"axis": axis, "batch_dims": batch_dims}
        with library.way():
            order = gs.segment_argsort(*arrays, 4, descending=skipna, mode="drop", **options)
        expected = gs.segment_argsort(data, ids, 4, descending=skipna, mode="drop", **options)
        assert np.array_equal(library.asnumpy(order), expected)
        with library.way():
            distinct = gs.segment_reduce(*arrays, 6, reduction="nunique", skipna=skipna, **options)
        expected = loop.segment_reduce(data, ids, 6, "nunique", axis, batch_dims, skipna)
        assert np.array_equal(library.asnumpy(distinct), expected)
        for method, q in quantiles.items():
            settings = {"method": method, "skipna": skipna, "min_count": 2, "fill_value": 5, **options}
            own = q if library.package == "dask" or not isinstance(q, np.ndarray) else library.asarray(q)
            with library.way(), np.errstate(invalid="ignore"):
                found = library.asnumpy(gs.segment_quantile(arrays[0], own, arrays[1], 6, **settings))
            np.testing.assert_allclose(found, gs.segment_quantile(data, q, ids, 6, **settings), rtol=1e-13)


@pytest.mark.parametrize("library", on_each(LIBRARIES))
def test_dtypes_of_libraries(library):
    for dtype, descending in (("bool", True), ("int8", False), ("uint8", True), ("int64", True), ("uint64", True)):
        if library.package == "torch" and dtype == "uint64":
            continue
        if has_dtype(library, dtype) and not cannot(library, "segment_reduce", "median", dtype):
            data, ids = draw((20, 2), dtype), draw_ids(20)
            with library.way():
                order = gs.segment_argsort(library.asarray(data), library.asarray(ids), 5, descending=descending)
                found = gs.segment_quantile(
                    library.asarray(data), 0.4, library.asarray(ids), 5, method="nearest", fill_value=True
                )
            assert np.array_equal(library.asnumpy(order), gs.segment_argsort(data, ids, 5, descending=descending))
            expected = gs.segment_quantile(data, 0.4, ids, 5, method="nearest", fill_value=True)
            assert np.array_equal(library.asnumpy(found), expected)
            assert library.asnumpy(found).dtype == dtype


def test_programs():
    """jit, vmap and torch.compile give what eager calls give."""
    data, ids = draw((3, 30), "f8"), draw_ids(30)

    def calls(x, ids):
        options = {"axis": -1, "mode": "drop"}
        return (
            gs.segment_quantile(x, [0.2, 0.9], ids, 4, **options),
            gs.segment_argsort(x, ids, 4, **options),
            *gs.segment_reduce(x, ids, 4, reduction=("median", "nunique"), **options),
        )

    expected = calls(data, ids)
    programs = {}
    with_jax = pytest.importorskip("jax")
    programs["jit"] = with_jax.jit(calls)(data, ids)
    torch = pytest.importorskip("torch")
    tensors = torch.from_numpy(data), torch.from_numpy(ids)
    programs["compile"] = torch.compile(calls, fullgraph=True, backend="eager")(*tensors)
    programs["vmap"] = torch.vmap(calls, in_dims=(0, None), out_dims=(1, 0, 0, 0))(*tensors)
    for name, found in programs.items():
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(np.asarray(one), other, rtol=1e-6, err_msg=name)


def test_dask_chunks():
    """Whole along the numbered axes; a chunk keeps its bytes."""
    da = pytest.importorskip("dask.array")
    data, ids = draw((2, 40, 12), "f8", "special"), draw_ids((2, 40))
    options = {"axis": 1, "batch_dims": 1, "skipna": True}
    for chunks in ((1, 10, 12), (2, 40, 3), (2, 7, 5)):
        lazy = da.from_array(data, chunks=chunks)
        for some, q in ((ids, [0.1, 0.6]), (da.from_array(ids, chunks=(1, 9)), 0.5)):
            found = gs.segment_quantile(lazy, q, some, 6, **options)
            expected = gs.segment_quantile(data, q, ids, 6, **options)
            assert found.shape == expected.shape
            assert max(np.prod([max(sizes) for sizes in found.chunks[-3:]]) / 6 * 40, 1) <= np.prod(chunks) * 1.5
            np.testing.assert_array_equal(found.compute(scheduler="synchronous"), expected)
            order = gs.segment_argsort(lazy, some, 6, axis=1, batch_dims=1)
            assert_same_bits(order.compute(scheduler="synchronous"), gs.segment_argsort(data, ids, 6, axis=1,
                                                                                         batch_dims=1))  # fmt: skip


def test_prepared():
    data, ids = draw((30, 2), "f4", "special"), draw_ids(30)
    prepared = gs.prepare("segment", data.shape, ids, 6)
    for _ in range(2):
        assert_same_bits(prepared.quantile(data, [0.2, 0.6]), gs.segment_quantile(data, [0.2, 0.6], ids, 6))
        assert_same_bits(prepared.argsort(data, descending=True), gs.segment_argsort(data, ids, 6, descending=True))
    settings = {"method": "higher", "skipna": True, "min_count": 3, "fill_value": 2, "dtype": "f8"}
    assert_same_bits(prepared.quantile(data, 0.2, **settings), gs.segment_quantile(data, 0.2, ids, 6, **settings))
    order, begins = prepared.argsort(data[:, 0], descending=True), prepared.indptr[:-1]
    greatest = gs.segment_reduce(data[:, 0], ids, 6, reduction="argmax", skipna=True)
    counts = gs.segment_reduce(data[:, 0], ids, 6, reduction="count", skipna=True)
    assert order[begins[counts > 0]].tolist() == greatest[counts > 0].tolist()


def test_out():
    data, ids = draw(20, "f8"), draw_ids(20)
    out = np.empty((2, 10))[:, ::2]
    assert gs.segment_quantile(data, [0.5, 0.1], ids, 5, out=out) is out
    assert_same_bits(np.ascontiguousarray(out), gs.segment_quantile(data, [0.5, 0.1], ids, 5))
    both = np.empty(5), np.empty(5, int)
    assert gs.segment_reduce(data, ids, 5, reduction=("median", "nunique"), out=both) == both
    assert both[1].tolist() == gs.segment_reduce(data, ids, 5, reduction="nunique").tolist()


def test_tuples_and_dtypes():
    data, ids = draw((20, 2), "i4", "ties"), draw_ids(20)
    for name in ("median", "nunique"):
        alone = gs.segment_reduce(data, ids, 6, reduction=name)
        together = gs.segment_reduce(data, ids, 6, reduction=("add", name, "mean"))
        assert_same_bits(together[1], alone)
        assert_same_bits(together[0], gs.segment_reduce(data, ids, 6))
    assert gs.segment_reduce(data, ids, 6, reduction="median", dtype="f4").dtype == np.float32
    found = gs.segment_quantile(data, 0.5, ids, 6, method="lower", dtype="f4")
    assert found.dtype == np.float32
    assert np.isnan(found[5]).all()
