"""`at` on the other libraries: the same results, in their own arrays, with gradients and in compiled programs."""

import gatherscatter as gs
import numpy as np
import pytest
from at_draws import STEPS, loop
from gatherscatter.indexing import views
from libraries import from_dask, to_dask, to_strict, to_torch

X = (np.arange(60) % 47 + 1.0).reshape(3, 4, 5)
ROWS, COLUMNS = np.array([0, 2, 2]), np.array([3, 0, 0])
INDICES = {
    "array": (ROWS,),
    "axis": (slice(None), ROWS),
    "pair": (ROWS, COLUMNS),
    "adjacent": (slice(1, None), ROWS, COLUMNS),
    "apart": (ROWS, slice(None), COLUMNS),
    "reversed": (slice(None, None, -2), 1, slice(None, None, -1)),
    "integers": (1, -1, 0),
    "broadcast": (ROWS[:, None].astype("i4"), None, COLUMNS),
    "mask": (X > 20,),
    "mask of axes": (slice(None), X[0] > 8, None),
    "true": (True, ..., ROWS),
    "none": (slice(2, 2), ROWS),
}
SOME = ("axis", "apart", "reversed")
OFTEN = [pytest.param(name, marks=[] if name in (*SOME, "mask") else pytest.mark.slow) for name in INDICES]


def jnp():
    import jax.numpy

    return jax.numpy


LIBRARIES = {
    "torch": (to_torch("cpu"), np.asarray),
    "jax": (lambda array: jnp().asarray(array), np.asarray),
    "array_api_strict": (to_strict, np.asarray),
    "dask": (to_dask, from_dask),
}


def converted(index, asarray, masks=True):
    return tuple(
        asarray(item) if isinstance(item, np.ndarray) and (masks or item.dtype != bool) else item for item in index
    )


@pytest.fixture(params=LIBRARIES)
def library(request):
    return request.param


@pytest.mark.parametrize("name", OFTEN)
def test_get(library, name):
    asarray, asnumpy = LIBRARIES[library]
    x, index = asarray(X), INDICES[name]
    for given in (converted(index, asarray, masks=library != "dask"), index):  # NumPy's index arrays, as lists, too
        found = gs.at(x)[given].get()
        assert type(found) is type(x)
        np.testing.assert_array_equal(asnumpy(found), X[index], strict=True)


def check_updates(library, name, methods):
    asarray, asnumpy = LIBRARIES[library]
    x, index = asarray(X), INDICES[name]
    given = converted(index, asarray, masks=library != "dask")
    updates = (np.arange(X[index].size) % 7 + 1.0).reshape(X[index].shape)
    for method in methods:
        found = getattr(gs.at(x)[given], method)(asarray(updates))
        assert type(found) is type(x)
        np.testing.assert_array_equal(asnumpy(found), loop(X, index, updates, method), strict=True)
        found = getattr(gs.at(x)[given], method)(3.0, include_self=False)
        np.testing.assert_array_equal(asnumpy(found), loop(X, index, 3.0, method, include_self=False), strict=True)
    np.testing.assert_array_equal(asnumpy(x), X)


@pytest.mark.parametrize(("name", "method"), [("axis", "set"), ("apart", "subtract"), ("reversed", "add")])
def test_updates(library, name, method):
    check_updates(library, name, [method])


@pytest.mark.slow
@pytest.mark.parametrize("name", INDICES)
def test_all_updates(library, name):
    check_updates(library, name, [*STEPS, "mean"])


@pytest.mark.parametrize("library", [name for name in LIBRARIES if name != "dask"])  # which takes NumPy's
def test_basic_indices_need_no_index_array(library, monkeypatch):
    asarray, asnumpy = LIBRARIES[library]
    monkeypatch.setattr(views, "constant", None)
    x, updates = asarray(X), asarray(X[0, :3] + 7)
    own = STEPS if library == "array_api_strict" else ["set"]  # the others' reductions are those of their kernels
    for index in ((1, slice(None, 0, -1)), (slice(None, None, 2), 0, None), (0, slice(3))):
        np.testing.assert_array_equal(asnumpy(gs.at(x)[index].get()), X[index], strict=True)
        for include_self, methods in ((True, own), (False, STEPS)):
            for method in methods:
                found = getattr(gs.at(x)[index], method)(3.0, include_self=include_self)
                expected = loop(X, index, 3.0, method, include_self=include_self)
                np.testing.assert_array_equal(asnumpy(found), expected, strict=True)
    np.testing.assert_array_equal(asnumpy(gs.at(x)[index].set(updates)), loop(X, index, X[0, :3] + 7, "set"))


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])  # whose arrays can be written to
def test_results_share_no_memory(library):
    asarray, asnumpy = LIBRARIES[library]
    x, updates = asarray(X.copy()), asarray(X + 7)
    for found in (gs.at(x)[...].set(updates), gs.at(x)[...].get(), gs.at(x)[1:].get()):
        found[...] = 0.0
    np.testing.assert_array_equal(asnumpy(x), X)
    np.testing.assert_array_equal(asnumpy(updates), X + 7)


def test_errors_name_the_whole_index(library):
    asarray, asnumpy = LIBRARIES[library]
    with pytest.raises(IndexError) as info:
        asnumpy(gs.at(asarray(X))[asarray(np.array([0, 1])), :, asarray(np.array([4, 5]))].get())
    if library != "dask":  # whose tasks know their chunks alone
        assert str(info.value) == (
            "at: index (1, 5) at position (1,) is out of bounds for an array of shape (3, 4, 5): axis 2 has size 5"
        )
    with pytest.raises(
        TypeError, match=r"at: updates of dtype .* cannot be cast to x's dtype .* by the rule same_kind"
    ):
        gs.at(asarray(X.astype("i4")))[1:].add(asarray(X[1:]))
    with pytest.raises(ValueError, match=r"at: updates has shape \(2,\), which does not broadcast"):
        gs.at(asarray(X))[1:].add(asarray(np.zeros(2)))


@pytest.mark.parametrize("library", [name for name in LIBRARIES if name != "dask"])  # whose masks are not known
def test_masks_of_rank_0(library):
    asarray, asnumpy = LIBRARIES[library]
    x = asarray(X)
    for flag in (True, False):
        np.testing.assert_array_equal(asnumpy(gs.at(x)[asarray(np.array(flag))].get()), X[flag], strict=True)
        found = gs.at(x)[:, asarray(np.array(flag)), asarray(ROWS[:1])].add(1.0)
        np.testing.assert_array_equal(asnumpy(found), loop(X, (slice(None), flag, ROWS[:1]), 1.0, "add"))


def test_a_number_in_an_array(library):
    asarray, asnumpy = LIBRARIES[library]
    x, expected = X.astype("f4"), np.where(np.arange(3)[:, None, None] > 0, X - 1.5, X).astype("f4")
    given = (1.5, np.float64(1.5), np.array(1.5), *([asarray(np.array(1.5))] if library != "dask" else []))
    for updates in given:
        np.testing.assert_array_equal(asnumpy(gs.at(asarray(x))[1:].subtract(updates)), expected, strict=True)
        np.testing.assert_array_equal(asnumpy(gs.at(asarray(x))[1:].add(updates)), 2 * x - expected)
    with pytest.raises(TypeError, match=r"at: updates=.*1e\+300\) cannot be held by x's dtype .*float32"):
        gs.at(asarray(x))[1:].add(np.array(1e300))


@pytest.mark.parametrize("library", [name for name in LIBRARIES if name != "jax"])  # which has no uint64 by default
def test_index_arrays_of_two_dtypes_wrap_around(library):
    asarray, asnumpy = LIBRARIES[library]
    far = np.array([2**63, 2**63 + 5, 2**64 - 1, 7], "u8")
    for data in (asarray(X), asarray(X).requires_grad_() if library == "torch" else asarray(X)):
        found = gs.at(data)[asarray(far), :, asarray(COLUMNS[:1])].get(mode="wrap")
        found = found.detach() if library == "torch" else found
        np.testing.assert_array_equal(asnumpy(found), X[(far % np.uint64(3)).astype(int), :, 3])
        found = gs.at(data)[asarray(far), :, asarray(COLUMNS[:1])].get(mode="clip")
        found = found.detach() if library == "torch" else found
        np.testing.assert_array_equal(asnumpy(found), X[[2, 2, 2, 2], :, 3])


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("package", ["torch", "array_api_strict"])
def test_out(package, name):
    asarray, asnumpy = LIBRARIES[package]
    index = INDICES[name]
    given = converted(index, asarray)
    expected = X.copy()
    expected[index] = 0.5
    x, out, part = asarray(X.copy()), asarray(np.zeros_like(X)), asarray(np.zeros_like(X[index]))
    assert gs.at(x)[given].get(out=part) is part
    np.testing.assert_array_equal(asnumpy(part), X[index])
    assert gs.at(x)[given].set(0.5, out=out) is out
    np.testing.assert_array_equal(asnumpy(out), expected)
    assert gs.at(x)[given].set(0.5, out=x) is x
    np.testing.assert_array_equal(asnumpy(x), expected)
    bad = converted((np.array([0, 9]), *index[1:]), asarray) if name == "apart" else (..., asarray(np.array([0, 9])))
    with pytest.raises(IndexError):
        gs.at(x)[bad].set(0.0, out=x)
    np.testing.assert_array_equal(asnumpy(x), expected)
    with pytest.raises(ValueError, match="at: out has shape"):
        gs.at(x)[given].set(0.0, out=asarray(np.zeros(9)))


def test_libraries_do_not_mix():
    import torch

    with pytest.raises(TypeError, match=r"at: x is a numpy.ndarray but index is a torch.Tensor"):
        gs.at(X)[torch.tensor([0])].get()
    with pytest.raises(TypeError, match=r"at: x is a numpy.ndarray but updates is a torch.Tensor"):
        gs.at(X)[0].set(torch.zeros(5))
    assert isinstance(gs.at([1, 2, 3])[torch.tensor([0])].get(), torch.Tensor)


# PyTorch


@pytest.mark.parametrize(
    "name", ["axis", *(pytest.param(name, marks=pytest.mark.slow) for name in INDICES if name not in ("axis", "none"))]
)
def test_torch_gradients(name):
    import torch

    index = INDICES[name]
    given = converted(index, torch.from_numpy)
    rng = np.random.default_rng(0)
    x = torch.tensor(rng.normal(size=X.shape), requires_grad=True)
    updates = torch.tensor(rng.normal(size=X[index].shape), requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: gs.at(x)[given].get(), x, fast_mode=True)
    for method in ("set", "subtract", "max"):
        call = lambda x, updates, method=method: getattr(gs.at(x)[given], method)(updates)  # noqa: E731
        assert torch.autograd.gradcheck(call, (x, updates), fast_mode=True)


def test_torch_out_takes_no_gradient():
    import torch

    x = torch.zeros(3, 4, requires_grad=True)
    for index in (torch.tensor([0]), slice(1, None), ([0], [1])):
        for call in (lambda at: at.set(1.0, out=torch.zeros(3, 4)), lambda at: at.set(1.0, out=x)):
            with pytest.raises(RuntimeError, match="requires grad, and autograd cannot differentiate"):
                call(gs.at(x)[index])
        with pytest.raises(RuntimeError, match="at: out requires grad, and autograd cannot"):
            gs.at(x.detach())[index].set(1.0, out=x)


def test_torch_out_takes_no_gradient_of_wide_updates():
    import torch

    x, updates = torch.zeros(3, 4), torch.ones(2, 4, requires_grad=True)
    options = {"accumulate_dtype": "float64"}
    for call in (
        lambda out: gs.at(x)[1:].add(updates, **options, out=out),
        lambda out: gs.scatter(x, [0, 1], updates, reduction="add", **options, out=out),
    ):
        for out in (x, torch.zeros(3, 4)):
            with pytest.raises(RuntimeError, match="updates requires grad, and autograd cannot differentiate"):
                call(out)
            assert not out.any()
            assert not out.requires_grad


def test_torch_index_arrays():
    import torch

    x = torch.from_numpy(X)
    for index in (np.array([2, 0], ">i4"), np.array([2, 0])[::-1], np.array([True, False, True])[::-1]):
        np.testing.assert_array_equal(gs.at(x)[index].get().numpy(), X[index])
    np.testing.assert_array_equal(gs.at(x)[torch.tensor([1, 0, 1], dtype=torch.uint8)].get().numpy(), X[[1, 0, 1]])
    meta = torch.zeros(3, device="meta")
    assert gs.at(meta)[meta > 0].set(1.0).shape == (3,)
    with pytest.raises(NotImplementedError, match="at: the number of elements that a traced mask selects"):
        gs.at(meta)[meta > 0].get()


COMPILED = {
    "axis": lambda x, i: gs.at(x)[:, i].get(),
    "apart": lambda x, i: gs.at(x)[i, :, i].get(),
    "slice": lambda x, i: gs.at(x)[1:, i].add(1.0),
    "reversed": lambda x, i: gs.at(x)[1, ::-1].set(2.0),
    "mask": lambda x, i: gs.at(x)[x > 20].multiply(2.0),
    "broadcast": lambda x, i: gs.at(x)[i, :, i].subtract(x[0, :, 0]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPILED)
def test_torch_compile(name):
    import torch

    x, i = torch.tensor(X, requires_grad=True), torch.from_numpy(ROWS)
    call = COMPILED[name]
    compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
    expected, found = call(x, i), compiled(x, i)
    assert torch.equal(found, expected)
    (slope,) = torch.autograd.grad(expected.square().sum(), x)
    assert torch.equal(torch.autograd.grad(found.square().sum(), x)[0], slope)


def test_torch_vmap():
    import torch

    x, i = torch.from_numpy(X), torch.from_numpy(ROWS)
    call = lambda x, i: gs.at(x)[1:, i].add(1.0)  # noqa: E731
    for axes in ((0, None), (None, 0), (0, 0)):
        x_each = x if axes[0] == 0 else x[0]
        i_each = i[:, None] if axes[1] == 0 else i
        found = torch.func.vmap(call, axes)(x_each, i_each)
        expected = [call(x[n] if axes[0] == 0 else x[0], i_each[n] if axes[1] == 0 else i) for n in range(3)]
        assert torch.equal(found, torch.stack(expected))


# JAX

TRACED = {
    "axis": lambda x, i: gs.at(x)[:, i].get(mode="clip"),
    "apart": lambda x, i: gs.at(x)[i, :, i].add(x.sum(), mode="drop"),
    "slice": lambda x, i: gs.at(x)[1:, i].set(1.0, mode="clip"),
    "mask": lambda x, i: gs.at(x)[x > 20].multiply(2.0),
    "known": lambda x, i: gs.at(x)[[0, 2], 1].get() + gs.at(x)[X > 20].get().sum(),
    "integer": lambda x, i: gs.at(x)[i[0], 9].get(mode="fill", fill_value=-1.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TRACED)
def test_jax_programs(name):
    import jax

    x, i, call = jax.numpy.asarray(X), jax.numpy.asarray(ROWS), TRACED[name]
    np.testing.assert_array_equal(jax.jit(call)(x, i), call(x, i), strict=True)
    total = lambda x: (call(x, i) ** 2).sum()  # noqa: E731
    np.testing.assert_array_equal(jax.jit(jax.grad(total))(x), jax.grad(total)(x))


def test_unknown_masks():
    import jax

    x = jax.numpy.asarray(X)
    with pytest.raises(
        NotImplementedError, match=r"at: the number of elements that a traced mask selects .*; use jax.numpy.where"
    ):
        jax.jit(lambda x: gs.at(x)[x > 3].get())(x)
    with pytest.raises(NotImplementedError, match=r"pass a scalar for updates, or use jax.numpy.where\(mask, "):
        jax.jit(lambda x: gs.at(x)[x > 3].add(x[0]))(x)
    with pytest.raises(NotImplementedError, match="pass a scalar for updates, or use"):
        jax.jit(lambda x: gs.at(x)[1:, x[0] > 3].set(0.0))(x)
    with pytest.raises(NotImplementedError, match=r"out=: a jax.Array is immutable"):
        gs.at(x)[1:].set(0.0, out=x)
    with pytest.raises(NotImplementedError, match="mode='raise' with traced index"):
        jax.jit(lambda x, i: gs.at(x)[1:, i].get())(x, jax.numpy.asarray(ROWS))


# Dask


def test_dask_is_lazy():
    import dask
    from dask.callbacks import Callback

    computed = []
    x = to_dask(X)
    with Callback(pretask=lambda key, *_: computed.append(key)), dask.config.set(scheduler="synchronous"):
        found = [gs.at(x)[1:, ROWS].get(), gs.at(x)[1:, ROWS].add(1.0), gs.at(x)[x > 20].set(0.0)]
        assert not computed
        for array, chunks in zip(found[1:], [x.chunks, x.chunks], strict=True):
            assert array.chunks == chunks
        expected = [X[1:, ROWS], loop(X, (slice(1, None), ROWS), 1.0, "add"), np.where(X > 20, 0.0, X)]
        for array, values in zip(found, expected, strict=True):
            np.testing.assert_array_equal(array.compute(), values)
    np.testing.assert_array_equal(from_dask(gs.at(x)[2:2].set(0.0)), X)
    with pytest.raises(NotImplementedError, match=r"pass a scalar for updates, or use dask\.array\.where"):
        gs.at(x)[x[:, 0, 0] > 3, np.array([0, 1])].set(0.0)
    with pytest.raises(
        NotImplementedError, match=r"a Dask mask selects .*; use dask.array.where\(mask, x, fill_value\)"
    ):
        gs.at(x)[x > 20, None].get()
    with pytest.raises(NotImplementedError, match="out="):
        gs.at(x)[1:].set(0.0, out=x)
