"""Scans of segments beside a loop over the elements, on every library."""

import gatherscatter as gs
import numpy as np
import pytest
import scan_loop
from assertions import assert_refused, assert_same_bits, each_refused
from constants import DTYPES
from gatherscatter.backends import kernels
from gatherscatter.reductions import COMPLEX
from libraries import LIBRARIES, has_dtype, has_gradients, on_each
from pairwise import in_turn, pairwise
from strategies import numpy_dtype

REDUCTIONS = ("add", "mul", "max", "min", "count")
SHAPES = {
    "elements": ((40,), (40,), 0, 0),
    "rows": ((30, 3), (30,), 0, 0),
    "columns": ((3, 30), (30,), -1, 0),
    "middle": ((2, 20, 3), (20,), 1, 0),
    "an image": ((2, 4, 2), (2, 4), 0, 0),
    "batches": ((3, 12, 2), (3, 12), 1, 1),
    "axes of batches": ((2, 3, 4, 2), (2, 4, 2), 2, 1),
    "many units": ((70, 3), (3,), 1, 0),
    "nothing": ((0, 2), (0,), 0, 0),
}
NUMBERS = ("f8", "f4", "f2", "i4", "i8", "u1", "?", "c8", "c16", ">f4", "M8[D]", "m8[s]")
BOOLS = (False, True)
# Of NumPy's calls: (reduction, shape, dtype, exclusive, reverse, skipna, indptr).
CASES = [case for case in pairwise(REDUCTIONS, [*SHAPES], NUMBERS, BOOLS, BOOLS, BOOLS, BOOLS)]


def draw(rng, shape, dtype):
    """Numbers whose sums and products are exact but for 16 bits, some of them NaN."""
    kind = np.dtype(dtype).kind
    data = rng.integers(0 if kind in "bu" else -3, 4, shape)
    data = (data / 2 if kind in "fc" else data).astype("i8" if kind in "mM" else dtype)
    if kind == "c":
        data += 1j * rng.integers(-3, 4, shape)
    if kind in "fc":
        data[rng.random(shape) < 0.1] = np.nan
    if kind in "mM":
        data = data.astype(dtype)
        data[rng.random(shape) < 0.1] = "NaT"
    return data


def takes(reduction, dtype, exclusive):
    kind = np.dtype(dtype).kind
    if kind in "mM":
        return reduction == "count" or (reduction in ("max", "min") and not exclusive)
    return kind != "c" or reduction not in ("max", "min")


def draw_pointers(rng, size, batch, n):
    """Pointers, and ids for them."""
    pointers = np.sort(rng.integers(0, size + 1, (*batch, n + 1)), axis=-1)
    places = np.arange(size)
    ids = np.array([np.searchsorted(row, places, side="right") - 1 for row in pointers.reshape(-1, n + 1)])
    return pointers, ids.reshape(*batch, size)


def same(found, expected):
    assert found.dtype.newbyteorder("=") == expected.dtype.newbyteorder("=")
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("n_threads", [1, 8])
@in_turn(("reduction", "shape", "dtype", "exclusive", "reverse", "skipna", "by_pointers"), CASES)
def test_numpy(reduction, shape, dtype, exclusive, reverse, skipna, by_pointers, n_threads):
    if not takes(reduction, dtype, exclusive):
        reduction, exclusive = "count" if np.dtype(dtype).kind in "mM" else "mul", exclusive
    sizes, ids_shape, axis, batch_dims = SHAPES[shape]
    rng = np.random.default_rng(0)
    data, ids = draw(rng, sizes, dtype), rng.integers(-1, 6, ids_shape)
    given, n = {"segment_ids": ids, "mode": "drop"}, 5
    if by_pointers and len(ids_shape) == batch_dims + 1:
        pointers, ids = draw_pointers(rng, ids_shape[-1], ids_shape[:-1], n)
        given = {"indptr": pointers}
    options = {"exclusive": exclusive, "reverse": reverse, "skipna": skipna, "batch_dims": batch_dims}
    with kernels.forced(n_threads):
        found = gs.segment_scan(data, num_segments=n, reduction=reduction, axis=axis, **given, **options)
    assert found.flags.writeable
    same(found, scan_loop.segment_scan(data, ids, n, reduction, axis=axis % data.ndim, **options))


@in_turn("dtype", ["float16", "float32", "float64", "complex64", "bool", "int16", "uint64"])
@pytest.mark.parametrize("reduction", ["add", "mul"])
def test_dtype(reduction, dtype):
    rng = np.random.default_rng(0)
    ids = rng.integers(0, 3, 30)
    for given in ("?", "u1", "i2", "f2", "f4", "c8"):
        data = draw(rng, 30, given)
        narrow = "bif".find(np.dtype(dtype).kind.replace("u", "i")), "bif".find(data.dtype.kind.replace("u", "i"))
        if np.dtype(dtype).kind != "c" and (data.dtype.kind == "c" or narrow[0] < narrow[1]):
            with pytest.raises(TypeError, match=f"dtype='{dtype}' cannot hold a result of data"):
                gs.segment_scan(data, ids, reduction=reduction, dtype=dtype)
            continue
        found = gs.segment_scan(data, ids, reduction=reduction, dtype=dtype)
        expected = scan_loop.segment_scan(data, ids, 3, reduction, dtype=dtype)
        same(found, expected)


def test_sums_are_rounded_once():
    """float32 in float64, 16 bits in float32."""
    values = np.array([2**24, 1, 1, 1], "f4")
    assert gs.segment_scan(values, [0, 0, 0, 0]).tolist() == [2**24, 2**24, 2**24 + 2, 2**24 + 4]
    found = gs.segment_scan(np.ones(3000, "f2"), np.zeros(3000, int))
    np.testing.assert_array_equal(found, np.arange(1, 3001).astype("f2"))
    wide = gs.segment_scan(np.array([1, 2**-12, 2**-24], "f2"), [0, 0, 0], dtype="f8")
    assert wide.tolist() == [1, 1 + 2**-12, 1 + 2**-12 + 2**-24]
    assert gs.segment_scan(np.array([-0.0, -0.0]), [0, 0]).tobytes() == np.array([-0.0, -0.0]).tobytes()
    assert gs.segment_scan(np.array([0.1, 0.2, 0.3]), [0, 0, 0]).tolist() == [0.1, 0.1 + 0.2, 0.1 + 0.2 + 0.3]


@pytest.mark.parametrize("library", on_each(LIBRARIES))
def test_sums_of_libraries_are_rounded_once(library):
    ids = library.asarray(np.zeros(4, "i8"))
    with library.way():
        found = gs.segment_scan(library.asarray(np.array([2**24, 1, 1, 1], "f4")), ids, 1)
    assert library.asnumpy(found).tolist() == [2**24, 2**24, 2**24 + 2, 2**24 + 4]


def test_infinite_numbers():
    """Of another segment they change nothing, as the difference of cumulative sums would."""
    data, ids = np.array([np.inf, 1, -np.inf, 2, np.nan, 3]), np.array([0, 1, 0, 1, 2, 1])
    np.testing.assert_array_equal(gs.segment_scan(data, ids), [np.inf, 1, np.nan, 3, np.nan, 6])
    factors = np.array([complex(np.inf, 1), 2j])
    np.testing.assert_array_equal(gs.segment_scan(factors, [0, 1], reduction="mul"), factors)


@pytest.mark.parametrize("kind", ["random", "sorted", "in runs", "one", "more than positions"])
@pytest.mark.parametrize("columns", [1, 3, 1500])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
def test_any_number_of_threads(dtype, columns, kind):
    rng = np.random.default_rng(0)
    n = 3000 if columns < 4 else 40
    n_segments = {"one": 1, "more than positions": 10_000}.get(kind, 30)
    ids = rng.integers(-1, n_segments, n)
    ids = np.sort(ids) if kind == "sorted" else np.repeat(ids, 40)[:n] if kind == "in runs" else ids
    data = rng.standard_normal((n, columns)).astype(dtype) if dtype[0] == "f" else rng.integers(0, 9, (n, columns))
    data = data.astype(dtype)[:, 0] if columns == 1 else data.astype(dtype)
    expected = np.empty(data.shape, "i8" if dtype == "i4" else dtype)
    expected[ids < 0] = 0 if dtype == "i4" else np.nan
    wide = {"f4": "f8", "i4": "i8"}.get(dtype, dtype)
    for segment in np.unique(ids[ids >= 0]):
        expected[ids == segment] = np.add.accumulate(data[ids == segment].astype(wide), axis=0)
    for reverse in BOOLS:
        for n_threads in (1, 2, 8, 64):
            with kernels.forced(n_threads):
                found = gs.segment_scan(data[:: -1 if reverse else 1], ids[:: -1 if reverse else 1], reverse=reverse)
                assert_same_bits(found[:: -1 if reverse else 1], expected)


@pytest.mark.parametrize("library", on_each(LIBRARIES))
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_libraries(library, reduction):
    rng = np.random.default_rng(0)
    options = list(pairwise(BOOLS, BOOLS, BOOLS, ["axes of batches", "an image"]))
    # JAX compiles each step, Dask makes graphs.
    n = len(options) if library.package in ("jax", "dask") else 2
    for exclusive, reverse, skipna, shape in options[REDUCTIONS.index(reduction) % n :: n]:
        sizes, ids_shape, axis, batch_dims = SHAPES[shape]
        data, ids = draw(rng, sizes, "f8" if shape == "an image" else "i8"), rng.integers(-1, 3, ids_shape)
        how = {"exclusive": exclusive, "reverse": reverse, "skipna": skipna, "axis": axis, "batch_dims": batch_dims}
        array = library.asarray(data)
        with library.way():
            found = gs.segment_scan(array, library.asarray(ids), 5, reduction=reduction, **how)
            assert type(found) is type(array)
        same(library.asnumpy(found), scan_loop.segment_scan(data, ids, 5, reduction, **how))


@pytest.mark.parametrize("library", on_each(LIBRARIES))
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_dtypes_of_libraries(library, reduction):
    data, ids = np.array([3, 1, 2, 0, 2, 3]), np.array([1, 0, 1, -1, 1, 0])
    first = 3 * REDUCTIONS.index(reduction)
    some = slice(first, first + 1) if library.package in ("jax", "dask") else slice(None)
    for dtype in DTYPES[some]:
        if not has_dtype(library, dtype) or (dtype in COMPLEX and reduction in ("max", "min")):
            continue
        with library.way():
            array = library.asarray(data.astype(numpy_dtype(dtype)))
            found = library.asnumpy(
                gs.segment_scan(array, library.asarray(ids), 4, reduction=reduction, exclusive=dtype != "bfloat16")
            )
        if dtype == "bfloat16":
            found = found.astype("f4")
        expected = scan_loop.segment_scan(
            data.astype("f4" if dtype == "bfloat16" else dtype), ids, 4, reduction, exclusive=dtype != "bfloat16"
        )
        np.testing.assert_array_equal(found, expected, err_msg=dtype)


@pytest.mark.parametrize("library", on_each(LIBRARIES))
def test_pointers_of_libraries(library):
    data = np.arange(24.0).reshape(2, 6, 2)
    cases = [([1, 3, 3, 5], 0), ([[0, 2, 6], [3, 3, 4]], 1)]
    for indptr, batch_dims in cases[library.package == "jax" :]:
        pointers = np.array(indptr)
        ids = np.array(
            [np.searchsorted(row, np.arange(6), side="right") - 1 for row in pointers.reshape(-1, pointers.shape[-1])]
        )
        ids = ids if batch_dims else ids[0]
        with library.way():
            found = gs.segment_scan(
                library.asarray(data), indptr=library.asarray(pointers), axis=1, batch_dims=batch_dims
            )
        same(
            library.asnumpy(found),
            scan_loop.segment_scan(data, ids, pointers.shape[-1] - 1, axis=1, batch_dims=batch_dims),
        )


def test_prepared():
    rng = np.random.default_rng(0)
    for shape in SHAPES:
        sizes, ids_shape, axis, batch_dims = SHAPES[shape]
        data, ids = draw(rng, sizes, "f4"), rng.integers(-1, 5, ids_shape)
        prepared = gs.prepare("segment", sizes, ids, 5, axis=axis, batch_dims=batch_dims)
        for options in (
            {},
            {"reduction": "count", "exclusive": True},
            {"reduction": "max", "reverse": True, "skipna": True},
        ):
            found = prepared.scan(data, **options)
            assert_same_bits(found, gs.segment_scan(data, ids, 5, axis=axis, batch_dims=batch_dims, **options))


@pytest.mark.parametrize("library", on_each(LIBRARIES))
def test_prepared_on_libraries(library):
    data, ids = np.arange(12.0).reshape(6, 2), np.array([0, 1, -1, 0, 1, 1])
    prepared = gs.prepare("segment", data.shape, ids)
    with library.way():
        found = prepared.scan(library.asarray(data), exclusive=True)
    same(library.asnumpy(found), scan_loop.segment_scan(data, ids, 2, exclusive=True))


def test_chunks_of_dask():
    """Their states travel unrounded: the bits of NumPy."""
    da = pytest.importorskip("dask.array")
    rng = np.random.default_rng(0)
    data, ids = draw(rng, (20, 4, 3), "f4"), rng.integers(-1, 5, (20, 4))
    data[data == data] *= np.float32(1.1)
    for reduction in REDUCTIONS:
        for chunks, options in (((7, 2, 2), {"reverse": True}), ((3, 4, 3), {"skipna": True, "exclusive": True})):
            expected = gs.segment_scan(data, ids, 5, reduction=reduction, **options)
            lazy = da.from_array(data, chunks=chunks)
            found = gs.segment_scan(lazy, ids, reduction=reduction, num_segments=5, **options)
            assert found.dtype == expected.dtype
            assert_same_bits(found.compute(scheduler="synchronous"), expected)
            found = gs.segment_scan(data, da.from_array(ids, chunks=(4, 3)), 5, reduction=reduction, **options)
            assert_same_bits(found.compute(scheduler="synchronous"), expected)
    flat = gs.segment_scan(da.from_array(data, chunks=(6, 4, 3)), ids[:, 0], 5)
    assert_same_bits(flat.compute(scheduler="synchronous"), gs.segment_scan(data, ids[:, 0], 5))
    with pytest.raises(IndexError, match="an id of 4 is not below num_segments=2"):
        gs.segment_scan(data, da.from_array(ids, chunks=6), 2).compute(scheduler="synchronous")


# Gradients

IDS = np.array([2, 0, -1, 0, 2, 2, 3])
VALUES = np.array([1, 3, 2, 3.5, 1, 0.25, -1])  # each difference is far above a step
WEIGHTS = np.random.default_rng(1).standard_normal(7)


def weighted(function, data, xp, weights):
    """A number that depends on each result, except for NaN and limits."""
    result = function(data)
    return xp.sum(xp.where(xp.isfinite(result), result, xp.zeros_like(result)) * weights)


def gradient(library, function, data):
    with library.way():
        if library.package == "torch":
            import torch

            data.requires_grad_()
            weighted(function, data, torch, library.asarray(WEIGHTS)).backward()
            return library.asnumpy(data.grad)
        import jax

        return np.asarray(jax.grad(lambda x: weighted(function, x, jax.numpy, library.asarray(WEIGHTS)))(data))


@pytest.mark.parametrize("library", on_each(filter(has_gradients, LIBRARIES)))
@pytest.mark.parametrize("reduction", ["add", "max", "min"])
def test_gradients(library, reduction):
    values = VALUES + np.arange(7) * 1e-3  # no equals
    some = ((False, False), (True, True), (True, False), (False, True))
    for exclusive, reverse in some[: 2 if library.package == "jax" else 4]:

        def function(x, ids=IDS, exclusive=exclusive, reverse=reverse):
            return gs.segment_scan(x, ids, 4, reduction=reduction, exclusive=exclusive, reverse=reverse)

        ids = library.asarray(IDS)
        found = gradient(library, lambda x, ids=ids: function(x, ids), library.asarray(values))
        expected = np.zeros(7)
        for position in range(7):
            change = np.eye(7)[position] * 1e-6
            up, down = (weighted(function, values + way * change, np, WEIGHTS) for way in (1, -1))
            expected[position] = (up - down) / 2e-6
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("library", on_each(filter(has_gradients, LIBRARIES)))
def test_gradients_of_equals_and_nan(library):
    """To the first of equals; none to NaN that does not count, and to elements of no segment."""
    ids, values = library.asarray(np.array([0, 0, 0, -1, 0])), np.array([1.0, 3, 3, 9, np.nan])
    ones = library.asarray(np.ones(5))
    with library.way():
        for reverse, expected in ((False, [1, 2, 0, 0, 0]), (True, [0, 0, 3, 0, 0])):

            def function(x, reverse=reverse):
                return gs.segment_scan(x, ids, 1, reduction="max", reverse=reverse, skipna=True)

            if library.package == "torch":
                import torch

                data = library.asarray(values).requires_grad_()
                torch.nansum(function(data) * ones).backward()
                found = data.grad
            else:
                import jax

                found = jax.grad(lambda x, f=function: jax.numpy.nansum(f(x)))(library.asarray(values))
            assert library.asnumpy(found).tolist() == expected


def test_second_derivatives():
    torch = pytest.importorskip("torch")
    data = torch.arange(1.0, 5.0, dtype=torch.float64, requires_grad=True)
    ids = torch.tensor([0, 1, 0, 1])
    for reduction in ("add", "max"):
        assert torch.autograd.gradgradcheck(lambda x, how=reduction: gs.segment_scan(x**3, ids, reduction=how), data)


def test_programs():
    """JAX's jit and torch.compile."""
    jax = pytest.importorskip("jax")
    values = jax.numpy.asarray(VALUES)
    ids = jax.numpy.asarray(IDS)
    for reduction in ("add", "count"):

        def call(values, ids, how=reduction):
            return gs.segment_scan(values, ids, 4, reduction=how, mode="drop", skipna=True)

        np.testing.assert_array_equal(jax.jit(call)(values, ids), call(values, ids))
    found = jax.grad(lambda x: jax.numpy.nansum(jax.jit(lambda y: gs.segment_scan(y, ids, 4))(x)))(values)
    assert found.tolist() == [3, 2, 0, 1, 2, 1, 1]
    with pytest.raises(NotImplementedError, match="reduction='mul' has no gradient"):
        jax.grad(lambda x: jax.numpy.nansum(gs.segment_scan(x, ids, 4, reduction="mul")))(values)
    with pytest.raises(NotImplementedError, match=r"segment_scan: .*mode"):
        jax.jit(lambda x, i: gs.segment_scan(x, i, 4))(values, ids)
    batches = jax.vmap(lambda x: gs.segment_scan(x, ids, 4))(jax.numpy.stack([values, values + 1]))
    np.testing.assert_array_equal(batches[1], gs.segment_scan(values + 1, ids, 4))


def test_programs_of_pytorch():
    torch = pytest.importorskip("torch")
    values, ids = torch.from_numpy(VALUES), torch.from_numpy(IDS)

    def call(values, ids):
        return gs.segment_scan(values, ids, 4, reduction="max", exclusive=True, mode="drop")

    compiled = torch.compile(call, fullgraph=True, backend="eager")(values, ids)
    np.testing.assert_array_equal(compiled, call(values, ids))
    batches = torch.vmap(lambda x: gs.segment_scan(x, ids, 4))(torch.stack([values, values + 1]))
    np.testing.assert_array_equal(batches[1], gs.segment_scan(values + 1, ids, 4))
    with pytest.raises(NotImplementedError, match="reduction='mul' has no gradient"):
        gs.segment_scan(values.clone().requires_grad_(), ids, reduction="mul")


# `out` and errors

DATA = np.arange(6.0)
LABELS = np.array([0, 1, 1, -1, 2, 0])


def test_out():
    for library in (one for one in LIBRARIES if one.name in ("NumPy", "PyTorch") and one.installed):
        out = library.asarray(np.zeros(6))
        assert gs.segment_scan(library.asarray(DATA), library.asarray(LABELS), out=out) is out
        same(library.asnumpy(out), scan_loop.segment_scan(DATA, LABELS, 3))
    data = DATA.copy()
    gs.segment_scan(data, LABELS, out=data)
    same(data, scan_loop.segment_scan(DATA, LABELS, 3))
    before = data.copy()
    with pytest.raises(IndexError, match=r"segment_scan: segment_ids\[4\] = 2 is not below num_segments=2; pass num"):
        gs.segment_scan(data, LABELS, 2, out=data)
    np.testing.assert_array_equal(data, before)
    many = np.append(np.zeros(9999, int), 2)
    with pytest.raises(IndexError, match=r"segment_ids\[9999\] = 2 is not below num_segments=2"):
        gs.segment_scan(np.ones(10_000), many, 2)
    assert np.isnan(gs.segment_scan(np.ones(10_000), many, 2, mode="drop")[9998:]).tolist() == [False, True]


@each_refused({
    "no ids": (lambda: gs.segment_scan(DATA), TypeError,
               "segment_scan: segment_ids and indptr are missing; pass one of them"),
    "a name of another library": (lambda: gs.segment_scan(DATA, LABELS, reduction="cumsum"), ValueError,
                                  "segment_scan: reduction='cumsum' is not one of 'add', 'mul', 'max', 'min', "
                                  "'count'; did you mean 'add'?"),
    "a mean": (lambda: gs.segment_scan(DATA, LABELS, reduction="mean"), ValueError,
               "segment_scan: reduction='mean' is not one of 'add', 'mul', 'max', 'min', 'count'"),
    "several": (lambda: gs.segment_scan(DATA, LABELS, reduction=("add", "max")), TypeError,
                "segment_scan: reduction=('add', 'max') is not a string; did you mean 'add'?"),
    "no bool": (lambda: gs.segment_scan(DATA, LABELS, exclusive=1), TypeError,
                "segment_scan: exclusive=1 is not a bool; pass True or False"),
    "dates, exclusive": (lambda: gs.segment_scan(DATA.astype("M8[D]"), LABELS, reduction="max", exclusive=True),
                         ValueError,
                         "segment_scan: exclusive=True is not for reduction='max' of datetime64[D], which has no least "
                         "or greatest value for the first element of a segment; pass exclusive=False"),
    "sums of dates": (lambda: gs.segment_scan(DATA.astype("m8[s]"), LABELS), TypeError,
                      "segment_scan: reduction='add' does not support dtype timedelta64[s]; it takes numbers: pass "
                      "data / numpy.timedelta64(1, 's'), in which NaT is NaN"),
    "complex": (lambda: gs.segment_scan(DATA * 1j, LABELS, reduction="max"), TypeError,
                "segment_scan: reduction='max' does not support dtype complex128; it takes real numbers: convert data"),
    "dtype": (lambda: gs.segment_scan(DATA, LABELS, reduction="max", dtype="f4"), ValueError,
              "segment_scan: dtype='f4' is for reduction= one of 'add', 'mul', not 'max'; pass no dtype"),
    "out": (lambda: gs.segment_scan(DATA, LABELS, reduction="count", out=DATA.copy()), TypeError,
            "segment_scan: out has dtype float64, but the result has dtype int64; pass out of that dtype"),
    "shape of out": (lambda: gs.segment_scan(DATA, LABELS, out=DATA[:3].copy()), ValueError,
                     "segment_scan: out has shape (3,), but the result has shape (6,); pass out of that shape"),
    "mode": (lambda: gs.segment_scan(DATA, LABELS, mode="wrap"), ValueError,
             "segment_scan: mode='wrap' is not for segment ids, of which a negative one means no segment; pass one of "
             "'raise', 'drop', 'promise_in_bounds'"),
    "an option of reductions": (lambda: gs.segment_scan(DATA, LABELS, min_count=2), TypeError,
                                "segment_scan: there is no min_count= here; pass some of data, segment_ids, "
                                "num_segments, reduction, exclusive, reverse, axis, batch_dims, indptr, mode, skipna, "
                                "dtype, out"),
})  # fmt: skip
def test_refusals(call, kind, message):
    assert_refused(call, kind, message)
