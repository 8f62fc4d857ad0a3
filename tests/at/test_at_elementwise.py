"""`at(x, index)`, `divide`, `power`, and the keywords `copy` and `xp`."""

import operator

import gatherscatter as gs
import numpy as np
import pytest
from gatherscatter.errors.foreign import METHODS
from libraries import LIBRARIES, on_each, to_dask

X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
INDICES = {
    "integer": (1,),
    "slice": (slice(1, None), slice(None, None, -1)),
    "array": (np.array([2, 0]),),
    "apart": (np.array([2, 0]), None, np.array([1, 1])),
    "mask": (X > 4,),
    "all": (...,),
}
FUNCTIONS = {"divide": operator.truediv, "power": operator.pow}
UPDATES = ("set", "add", "subtract", "multiply", "divide", "power", "min", "max", "mean")


def expected(x, index, by, method):
    result = x.copy()
    result[index] = FUNCTIONS[method](x[index], by).astype(x.dtype)
    return result


@pytest.mark.parametrize("library", on_each(LIBRARIES))
@pytest.mark.parametrize("method", FUNCTIONS)
@pytest.mark.parametrize("name", INDICES)
def test_divide_and_power(library, method, name):
    index = INDICES[name]
    with library.way():
        for dtype in ("f8", "f4") if library.package == "numpy" else ("f8" if method == "divide" else "f4",):
            x = X.astype(dtype)
            given = [library.asarray(item) if isinstance(item, np.ndarray) else item for item in index]
            data = library.asarray(x.copy())
            found = getattr(gs.at(data)[tuple(given)], method)(2)
            assert type(found) is type(data)
            np.testing.assert_allclose(library.asnumpy(found), expected(x, index, 2, method), rtol=1e-6, strict=True)
            if name == "mask" and library.package == "dask":
                with pytest.raises(NotImplementedError, match="pass a scalar for updates, or use"):
                    getattr(gs.at(data)[tuple(given)], method)([2.0])
                continue
            by = np.full(x[index].shape[-1:], 0.5, dtype)
            for updates in (library.asarray(by), by.tolist()):
                found = getattr(gs.at(data, tuple(given)), method)(updates)
                np.testing.assert_allclose(library.asnumpy(found), expected(x, index, by, method), rtol=1e-6)
            np.testing.assert_array_equal(library.asnumpy(data), x)


def test_duplicates_are_computed_from_x_and_the_last_one_wins():
    x = np.array([1.0, 8.0])
    np.testing.assert_array_equal(gs.at(x)[[1, 1]].divide([2.0, 4.0]), [1.0, 2.0])
    x[[1, 1]] /= [2.0, 4.0]  # in NumPy
    np.testing.assert_array_equal(x, [1.0, 2.0])


def test_powers_of_integers():
    x = np.array([3, 2, 200], "u1")
    np.testing.assert_array_equal(gs.at(x)[[0, 2]].power([2, 2]), np.array([9, 2, 64], "u1"), strict=True)
    for by in (-1, [-1, 2], np.array([-1, 2])):
        with pytest.raises(
            ValueError, match=r"^at: updates has a negative exponent, and x holds integers; convert x to"
        ):
            gs.at(np.array([1, 2]))[:].power(by)


def test_dtypes_and_shapes():
    for x in (np.arange(3), np.arange(3, dtype="u1"), X > 2):
        with pytest.raises(TypeError, match=r"^at: divide does not support dtype .*; convert x to floats$"):
            gs.at(x)[0].divide(1)
    with pytest.raises(TypeError, match=r"^at: power does not support dtype bool; convert x to integers$"):
        gs.at(X > 2)[0].power(True)
    with pytest.raises(TypeError, match=r"^at: updates=1j cannot be held by x's dtype float64"):
        gs.at(X)[0].divide(1j)
    with pytest.raises(TypeError, match=r"cannot be cast to x's dtype float64 by the rule same_kind"):
        gs.at(X)[0].divide(np.ones(3, complex))
    with pytest.raises(ValueError, match=r"updates has shape \(2,\), which does not broadcast"):
        gs.at(X)[0].divide(np.ones(2))
    with pytest.raises(IndexError, match=r"^at: index 3 .* out of bounds"):
        gs.at(X)[[3]].divide(2.0, out=X)
    with pytest.raises(ValueError, match=r"^at: mode='fill' is for gathers only"):
        gs.at(X)[[0]].divide(2.0, mode="fill")
    with np.errstate(all="raise"):
        assert gs.at(X)[0].divide(0.0)[0, 0] == np.inf
    assert gs.at(np.array([1.0, 2.0], ">f4"))[0].divide(2).dtype == np.dtype(">f4")
    assert gs.at([1.0, 2.0])[0].divide(2).tolist() == [0.5, 2.0]


def test_indices_out_of_bounds():
    x = np.array([2.0, 4.0])
    np.testing.assert_array_equal(gs.at(x)[[0, 9, -9]].divide([2.0, 3.0, 4.0], mode="drop"), [1.0, 4.0])
    np.testing.assert_array_equal(gs.at(x)[[9]].power(2.0, mode="clip"), [2.0, 16.0])
    np.testing.assert_array_equal(gs.at(x)[[3]].power(2.0, mode="wrap"), [2.0, 16.0])
    np.testing.assert_array_equal(gs.at(x)[[-1]].power(2.0, mode="drop", wrap_negative_indices=False), x)


def test_torch_gradients_and_programs():
    """One program, since each takes long to compile."""
    import torch

    x = torch.tensor(X, requires_grad=True)
    by = torch.tensor([1.5, 2.5, 0.5], dtype=torch.float64, requires_grad=True)
    i = torch.tensor([2, 0])
    for method in FUNCTIONS:
        call = lambda x, by, method=method: getattr(gs.at(x)[:, i], method)(by[:2])  # noqa: E731
        assert torch.autograd.gradcheck(call, (x, by))

    def calls(x, by):
        for method in FUNCTIONS:
            yield getattr(gs.at(x, i), method)(by)
            yield getattr(gs.at(x, x > 4), method)(2.0, copy=True)
        yield gs.at(x, (i, 1)).add(by[1], copy=None, xp=torch)

    compiled = torch.compile(lambda *arrays: tuple(calls(*arrays)), fullgraph=True, backend="eager")
    assert all(map(torch.equal, compiled(x, by), calls(x, by)))


@pytest.mark.parametrize("method", FUNCTIONS)
def test_jax_gradients_and_programs(method):
    import jax
    import jax.numpy as jnp

    x, i = jnp.asarray(X), jnp.asarray([2, 0])
    call = lambda x, by: getattr(gs.at(x, i), method)(by, mode="drop")  # noqa: E731
    theirs = lambda x, by: x.at[i].set(FUNCTIONS[method](x[i], by))  # noqa: E731
    by = jnp.asarray([1.5, 2.5, 0.5])
    np.testing.assert_allclose(jax.jit(call)(x, by), theirs(x, by), rtol=1e-6)
    found, known = (jax.jit(jax.grad(lambda *a, f=f: (f(*a) ** 2).sum(), (0, 1)))(x, by) for f in (call, theirs))
    for one, other in zip(found, known, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    with pytest.raises(NotImplementedError, match=r"pass mode= one of 'clip', 'wrap', 'drop', 'promise_in_bounds'"):
        jax.jit(lambda x, i: getattr(gs.at(x, i), method)(2.0))(x, i)
    masked = jax.jit(lambda x: getattr(gs.at(x)[x > 4], method)(2.0))(x)
    np.testing.assert_allclose(masked, np.where(X > 4, FUNCTIONS[method](X, 2.0), X), rtol=1e-6)


@pytest.mark.parametrize("method", UPDATES)
def test_copy(method):
    for copy in (None, True, np.True_):
        x = X.copy()
        found = getattr(gs.at(x)[1:], method)(2.0, copy=copy, xp=np)
        np.testing.assert_array_equal(x, X)
        assert found is not x
    assert getattr(gs.at(x)[1:], method)(2.0, copy=False) is x
    np.testing.assert_array_equal(x, found)
    x = X.copy()
    assert getattr(gs.at(x)[x > 4], method)(2.0, copy=False, out=x) is x
    call = getattr(gs.at(x)[1:], method)
    with pytest.raises(ValueError, match=r"^at: copy='no' is not one of None, True and False; pass one of these$"):
        call(2.0, copy="no")
    with pytest.raises(ValueError, match=r"^at: copy=True, but out is x; omit copy= or out=$"):
        call(2.0, copy=True, out=x)
    with pytest.raises(ValueError, match=r"^at: copy=False, but out is another array than x; omit"):
        call(2.0, copy=False, out=X.copy())
    assert call(2.0, copy=True, out=(out := X.copy())) is out


def test_copy_of_what_cannot_be_written_to():
    import jax.numpy as jnp

    frozen = X.copy()
    frozen.flags.writeable = False
    for x in (frozen, jnp.asarray(X), to_dask(X), X.tolist(), 1.0, np.float64(1)):
        with pytest.raises(
            ValueError, match=r"^at: copy=False, but x, an? .*, cannot be written to; omit copy=, and use"
        ):
            gs.at(x)[...].set(1.0, copy=False)


WRITABLE = [library for library in LIBRARIES if library.package not in ("jax", "dask")]


@pytest.mark.parametrize("library", on_each(WRITABLE))
def test_copy_on_each_library(library):
    x = library.asarray(X.copy())
    assert gs.at(x)[1:].divide(2.0, copy=False) is x
    np.testing.assert_array_equal(library.asnumpy(x), expected(X, (slice(1, None),), 2.0, "divide"))


def test_an_index_as_the_second_argument():
    assert gs.at(X, (1, 2)).get() == 6.0
    assert gs.at(X, None).get().shape == (1, 3, 3)
    np.testing.assert_array_equal(gs.at(X, [0, 0]).add(1.0), gs.at(X)[[0, 0]].add(1.0))
    assert {name for name in dir(gs.at(X, 0)) if name[0] != "_"} == set(METHODS)
    assert not hasattr(gs.at(X), "set")
    with pytest.raises(TypeError, match=r"^at: x is a gatherscatter\.At, which is not an array; pass x\.get\(\)$"):
        gs.at(X, 0)[0].set(1.0)


@pytest.mark.parametrize("method", ["divide", "power"])
def test_the_error_of_a_bad_index_mentions_no_other_option(method):
    with pytest.raises(IndexError) as caught:
        getattr(gs.at(np.ones(3))[[2, 9]], method)(2.0)
    assert "9" in str(caught.value)
    assert "fill_value" not in str(caught.value)
