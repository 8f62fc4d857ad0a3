"""`bincount`: counts and sums on every library, sizes, modes, and errors."""

import gatherscatter as gs
import numpy as np
import pytest
from libraries import LIBRARIES, on_each
from pairwise import in_turn

X = np.array([1, 3, 1, 0])


@pytest.mark.parametrize("library", on_each(LIBRARIES))
def test_counts_and_sums(library):
    options = {"length": 5} if library.package == "dask" else {"minlength": 5}
    with library.way():
        for dtype in ("u1", "i8"):
            x = library.asarray(X.astype(dtype))
            found = gs.bincount(x, **options)
            assert type(found) is type(x)
            np.testing.assert_array_equal(library.asnumpy(found), np.bincount(X, minlength=5))
            assert library.asnumpy(found).dtype == np.dtype("i8")  # the tests' JAX has 64 bits
        for dtype in ("u1", "i4", "f4", "c8"):
            weights = np.array([100, 2, 200, 0.5]).astype(dtype)
            wide = {"u1": "i8" if library.package == "torch" else "u8", "i4": "i8"}.get(dtype, dtype)
            expected = np.zeros(5, wide)
            np.add.at(expected, X, weights)
            found = gs.bincount(library.asarray(X), library.asarray(weights), **options)
            np.testing.assert_array_equal(library.asnumpy(found), expected, strict=True)
        found = gs.bincount(library.asarray(X), library.asarray(np.ones(4, "i4")), dtype="float64", **options)
        np.testing.assert_array_equal(library.asnumpy(found), [1.0, 2, 0, 1, 0], strict=True)
        found = gs.bincount(library.asarray(X), dtype="float32", **options)
        np.testing.assert_array_equal(library.asnumpy(found), np.array([1, 2, 0, 1, 0], "f4"), strict=True)


@pytest.mark.parametrize("dtype", ["f2", "f4"])
def test_sums_are_rounded_once(dtype):
    n = {"f2": 2048, "f4": 2**24}[dtype]
    for weights in (np.ones(n + 1000, dtype), np.append(np.array(n, dtype), np.ones(1000, dtype))):
        assert gs.bincount(np.zeros(len(weights), int), weights)[0] == np.array(n + 1000, dtype)


@pytest.mark.parametrize("library", on_each(LIBRARIES))
def test_dropped_values(library):
    x = library.asarray(np.array([-1, 0, 2, 3, 9]))
    with library.way():
        found = gs.bincount(x, length=3, minlength=7, mode="drop")
    np.testing.assert_array_equal(library.asnumpy(found), [1, 0, 1])


def test_sizes():
    assert gs.bincount([]).shape == (0,)
    assert gs.bincount([], minlength=2).tolist() == [0, 0]
    assert gs.bincount([3], minlength=2).tolist() == [0, 0, 0, 1]
    assert gs.bincount([-3], mode="drop").shape == (0,)
    assert gs.bincount([0], length=np.int64(2)).tolist() == [1, 0]


@in_turn(
    ("call", "error", "message"),
    [
        (lambda: gs.bincount([-1, 2]), IndexError, r"x\[0\] = -1 is out of bounds .* negative values have no bin$"),
        (lambda: gs.bincount([1, 5], length=3), IndexError, r"x\[1\] = 5 is out of bounds"),
        (
            lambda: gs.bincount(X, X * 0.5, dtype="i8"),
            TypeError,
            "dtype='int64' cannot hold a result of weights of dtype float64",
        ),
        (lambda: gs.bincount(X, dtype="c8"), TypeError, "dtype='complex64' cannot hold counts"),
        (lambda: gs.bincount([1.5]), TypeError, "x holds float64"),
        (lambda: gs.bincount(np.ones(2)), TypeError, r"x has dtype float64, but only .*; pass x.astype\('int64'\)"),
        (lambda: gs.bincount(X > 1), TypeError, "x has dtype bool"),
        (lambda: gs.bincount([[1]]), ValueError, r"x has shape \(1, 1\), .*; pass reshape\(x, \(-1,\)\)"),
        (lambda: gs.bincount(X, X > 1), TypeError, "weights has dtype bool, which has no sums"),
        (lambda: gs.bincount(X, [1, 2]), ValueError, r"weights has shape \(2,\), but x has shape \(4,\)"),
        (lambda: gs.bincount(X, length=-1), ValueError, "length=-1 is negative"),
        (lambda: gs.bincount(X, minlength=-1), ValueError, "minlength=-1 is negative"),
        (lambda: gs.bincount(X, length=2**62), ValueError, "length=4611686018427387904 is more than an array can hold"),
        (lambda: gs.bincount([0, 2**62]), ValueError, r"max\(x\)=4611686018427387904 is more than an array can hold"),
        (lambda: gs.bincount(X, minlength=1.5), TypeError, "minlength=1.5 is not an int"),
        (lambda: gs.bincount(X, mode="clip"), ValueError, "mode='clip' is not one of 'raise', 'drop'"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=rf"^bincount: {message}"):
        call()


def test_known_values_with_lazy_weights():
    da = pytest.importorskip("dask.array")
    found = gs.bincount(np.array([1, 3, 1]), da.from_array(np.array([0.5, 1.0, 2.0]), chunks=2))
    assert found.compute(scheduler="synchronous").tolist() == [0, 2.5, 0, 1]


def test_known_values_in_a_trace():
    jax = pytest.importorskip("jax")
    x = jax.numpy.array([1, 3, 1])
    assert jax.jit(lambda weights: gs.bincount(x, weights))(jax.numpy.array([0.5, 1.0, 2.0])).tolist() == [0, 2.5, 0, 1]
