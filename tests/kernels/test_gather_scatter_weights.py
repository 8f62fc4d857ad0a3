"""gather_scatter with weights on NumPy arrays, in one pass: the bits of the gather, the product and the scatter."""

import itertools
from fractions import Fraction

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits, assert_same_numbers
from constants import REDUCTIONS, reduces
from gatherscatter import plan as plans
from gatherscatter.backends import kernels
from gatherscatter.operators import GATHER
from pairwise import in_turn
from routes import draw, routes_for

N_ROWS, N_SOURCE, N_HEADS = 61, 37, 3
HEADS = [(), (N_HEADS,)]
RULES = list(itertools.product(REDUCTIONS, (True, False)))


def operands(dtype, heads=(), n=700, width=None):
    """With slices of three heads, each of 32 bytes or more, and a row without updates."""
    rng = np.random.default_rng(n)
    row = N_HEADS, width or 40 // np.dtype(dtype).itemsize
    indices, rows = rng.integers(-N_ROWS, N_ROWS, n), rng.integers(-N_SOURCE, N_SOURCE, n)
    indices[indices % N_ROWS == 7] = 8
    data, source = draw((N_ROWS, *row), dtype, 1), draw((N_SOURCE, *row), dtype, 2)
    return data, indices, source, rows, draw((n, *heads), dtype, 3)


def multiplied(a, b):
    """With each step of complex products rounded: numpy.multiply fuses some of them on some CPUs."""
    if a.dtype.kind != "c":
        return a * b
    result = np.empty(np.broadcast_shapes(a.shape, b.shape), a.dtype)
    result.real = a.real * b.real - a.imag * b.imag
    result.imag = a.real * b.imag + a.imag * b.real
    return result


def in_steps(data, indices, source, rows, weights, mode="raise", wraps=True, **options):
    words = {"mode": mode, "wrap_negative_indices": wraps}
    aligned = weights.reshape(*weights.shape, *[1] * (source.ndim - 1 + indices.ndim - weights.ndim))
    with np.errstate(all="ignore"), kernels.forced(1, scatter="direct"):
        products = multiplied(gs.gather(source, rows, **words), aligned).astype(data.dtype)  # in its byte order
        return gs.scatter(data, indices, products, **words, **options)


def assert_equal(found, expected):
    """Which NaN comes of two depends on the machine."""
    (assert_same_numbers if expected.dtype.kind == "f" else assert_same_bits)(found, expected)


@in_turn(("reduction", "include_self"), RULES)
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "u2", "i1", "?"])
def test_every_reduction_and_dtype_on_every_route(passes, dtype, reduction, include_self):
    if not reduces(reduction, np.dtype(dtype).name):
        return
    options = {"reduction": reduction, "include_self": include_self}
    for heads, n in zip(HEADS, (40, 700), strict=True):
        given = operands(dtype, heads, n)
        expected = in_steps(*given, **options)
        for route, n_threads in routes_for(reduction, dtype, (1, 3)):
            with kernels.forced(n_threads, scatter=route):
                assert_equal(gs.gather_scatter(*given[:4], weights=given[4], **options), expected)
                out = given[0].copy()
                assert gs.gather_scatter(out, *given[1:4], weights=given[4], out=out, **options) is out
            assert_equal(out, expected)
    assert all(passes)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize(("dtype", "width"), [("f8", 8), ("f4", 8), ("f8", 4), ("f4", 11), ("f2", 24), ("i8", 5)])
def test_prepared(passes, dtype, width, reduction):
    """Rows of whole vectors, which stay in registers, and others."""
    n = 2400  # enough to be sorted
    for heads, include_self in itertools.product(HEADS, (True, False)):
        options = {"reduction": reduction, "include_self": include_self}
        data, indices, source, rows, weights = operands(dtype, heads, n, width)
        data, indices = np.tile(data, (30, 1, 1)), indices * 30
        expected = in_steps(data, indices, source, rows, weights, **options)
        for shape in ((n,), (40, n // 40)):
            put = gs.prepare("scatter", data.shape[:1], indices.reshape(shape))
            take = gs.prepare("gather", source.shape[:1], rows.reshape(shape))
            factors = weights.reshape(*shape, *heads)
            for n_threads in (1, 3):
                with kernels.forced(n_threads):
                    assert_equal(gs.gather_scatter(data, put, source, take, weights=factors, **options), expected)
            turned = factors[::-1]  # other weights, of the same pairs
            found = gs.gather_scatter(data, put, source, take, weights=turned, **options)
            assert_equal(found, in_steps(data, indices, source, rows, turned.reshape(weights.shape), **options))
    assert all(passes)


@pytest.mark.parametrize("mode", ["clip", "wrap", "drop"])
@pytest.mark.parametrize("wraps", [True, False])
def test_modes(passes, mode, wraps):
    data, indices, source, rows, weights = operands("f4", (N_HEADS,))
    indices, rows = indices * 2, rows * 2
    inside = np.ones(len(rows), bool)
    if mode == "drop":
        for index, size in ((indices, N_ROWS), (rows, N_SOURCE)):
            inside &= (index < size) & (index >= (-size if wraps else 0))
        weights[~inside] = np.nan  # are not read
    kept = (indices[inside], source, rows[inside], weights[inside])
    expected = in_steps(data, *kept, "raise" if mode == "drop" else mode, wraps, reduction="mean")
    words = {"mode": mode, "wrap_negative_indices": wraps, "reduction": "mean"}
    for route, n_threads in routes_for("mean", "f4", (1, 3)):
        with kernels.forced(n_threads, scatter=route):
            assert_equal(gs.gather_scatter(data, indices, source, rows, weights=weights, **words), expected)
    assert all(passes)


def test_layouts(passes):
    """Weights that are not contiguous are copied; `out` that overlaps them takes the steps."""
    data, indices, source, rows, weights = operands("f8", (N_HEADS,), 300)
    expected = in_steps(data, indices, source, rows, weights, reduction="add")
    for given in (np.asfortranarray(weights), np.repeat(weights, 2, axis=0)[::2], weights[::-1].copy()[::-1]):
        assert_equal(gs.gather_scatter(data, indices, source, rows, weights=given, reduction="add"), expected)
    assert passes == [True] * 3
    out = np.empty_like(data)
    shared = out.reshape(-1)[: weights.size].reshape(weights.shape)
    shared[...] = weights
    gs.gather_scatter(data, indices, source, rows, weights=shared, reduction="add", out=out)
    assert_equal(out, expected)
    assert not passes[3]


@pytest.mark.parametrize("reduction", ["none", "add"])
@pytest.mark.parametrize(
    ("dtype", "row", "heads"),
    [("F", (8, 4), ()), (">f8", (8, 4), ()), ("f8", (16, 4), (16,)), ("f4", (4, 4), (4,)), ("f8", (8, 4), (8, 4))],
)
def test_others_take_the_steps(passes, dtype, row, heads, reduction):
    """Complex numbers, another byte order, many weights of a pair, and few items of a weight."""
    rng = np.random.default_rng(0)
    indices, rows = rng.integers(0, 20, (2, 300))
    data, source, weights = (draw((n, *more), dtype, n) for n, more in ((20, row), (21, row), (300, heads)))
    found = gs.gather_scatter(data, indices, source, rows, weights=weights, reduction=reduction)
    assert_equal(found, in_steps(data, indices, source, rows, weights, reduction=reduction))
    assert passes == [False]


@pytest.mark.parametrize("dtype", ["c8", "c16", ">c8", ">c16"])
def test_complex_products_are_not_fused(passes, dtype):
    """Those with weights, and those of "mul", in one pass and in two steps."""
    rng, n = np.random.default_rng(0), 40
    a, b = ((rng.standard_normal((n, 8)) + 1j * rng.standard_normal((n, 8))).astype(dtype) for _ in "ab")
    expected, every = multiplied(a, b), np.arange(n)
    real = a.real.dtype.type
    fused = [  # the first product as it is, and the second one rounded
        real(float(Fraction(x.real.item()) * Fraction(y.real.item()) - Fraction((x.imag * y.imag).item())))
        for x, y in zip(a.flat, b.flat, strict=True)
    ]
    assert (fused != expected.real.ravel()).any()
    zeros = np.zeros_like(a)
    assert_same_bits(gs.gather_scatter(zeros, every, a, every, weights=b), expected)
    assert_same_bits(gs.gather_scatter(zeros, every, a, every, weights=b[:, 0]), multiplied(a, b[:, :1]))
    pair = gs.prepare("scatter", (n,), every), gs.prepare("gather", (n,), every)
    assert_same_bits(gs.gather_scatter(zeros, pair[0], a, pair[1], weights=b), expected)
    point = gs.gather_scatter(zeros[0], np.array(1), a[0], np.array(2), weights=b[0, 2, ...])
    assert_same_bits(point[1, ...], expected[0, 2, ...])
    assert not any(passes)
    assert_same_bits(gs.gather_scatter(a, every, b, every, reduction="mul"), expected)
    assert passes[-1]
    assert_same_bits(gs.scatter(a, every, gs.gather(b, every), reduction="mul"), expected)


def test_a_bad_index_leaves_out_as_it_was(passes):
    data, indices, source, rows, weights = operands("f8")
    for position, array, size in ((3, indices, N_ROWS), (650, rows, N_SOURCE)):
        changed, before = array.copy(), data.copy()
        changed[position] = size
        pair = (changed, rows) if array is indices else (indices, changed)
        with pytest.raises(IndexError, match=rf"\[{position}\] = {size} is out of bounds"):
            gs.gather_scatter(data, pair[0], source, pair[1], weights=weights, reduction="add", out=data)
        assert_same_bits(data, before)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("row", [(3,), (8,), (3, 8), (5, 7), (1000,)])
def test_dot_products_of_rows(dtype, row):
    """For the gradients of weights: the same bits on any number of threads."""
    rng, n = np.random.default_rng(0), 700
    a, b = (rng.standard_normal((size, *row)).astype(dtype) for size in (40, 30))
    at = rng.integers(-40, 40, n), rng.integers(-30, 30, n)
    pair = tuple(plans.gather(GATHER, array.shape, (n,), 0, 0, "raise") for array in (a, b))
    for shape in ((n,), (n, *row[:-1]), (n, *row)):
        products = (a[at[0]].astype("f8") * b[at[1]]).reshape(*shape, -1).sum(-1)
        results = []
        for n_threads in (1, 2, 8):
            with kernels.forced(n_threads):
                results.append(kernels.dots(a, at[0], b, at[1], pair, shape))
        np.testing.assert_allclose(results[0], products, rtol=1e-4, atol=1e-4)
        assert results[0].dtype == a.dtype
        assert_same_bits(results[1], results[0])
        assert_same_bits(results[2], results[0])
    assert kernels.dots(a.astype("f2"), at[0], b.astype("f2"), at[1], pair, (n,)) is None
