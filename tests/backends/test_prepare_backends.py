"""Prepared indices on arrays of every library, with their gradients, traces and threads."""

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_refused, assert_same_numbers
from gatherscatter._kernels import scatter
from gatherscatter._kernels.common import ScatterRoute
from gatherscatter.backends import kernels
from libraries import LIBRARIES, on_each

CALLS = {
    "": ((6, 20), [3, -1, 0, 3], {}),
    "_nd": ((4, 5, 2), [[1, -1], [3, 2], [-3, 0], [3, 2]], {}),
    "_elements": ((3, 5), [[0, -1], [4, 4]], {"axis": 1}),
}


@pytest.mark.parametrize("library", on_each(LIBRARIES))
@pytest.mark.parametrize("suffix", CALLS)
def test_every_library(library, suffix):
    shape, indices, options = CALLS[suffix]
    rng = np.random.default_rng(0)
    data, indices = rng.integers(0, 9, shape).astype("f4"), np.array(indices)
    indices.reshape(-1)[0] = 50
    gathered = getattr(gs, f"gather{suffix}")(data, indices, mode="fill", fill_value=2, **options)
    updates = rng.integers(0, 9, gathered.shape).astype("f4")
    scattered = getattr(gs, f"scatter{suffix}")(data, indices, updates, reduction="add", mode="drop", **options)
    for given in (indices, indices.tolist(), *([] if library.package == "dask" else [library.asarray(indices)])):
        prepared = gs.prepare(f"gather{suffix}", shape, given, mode="fill", **options)
        for _ in range(2):
            with library.way():
                result = prepared.gather(library.asarray(data), fill_value=2)
                changed = prepared.scatter(library.asarray(data), library.asarray(updates), reduction="add")
            assert type(result) is type(library.asarray(data))
            assert_same_numbers(library.asnumpy(result), gathered)
            assert_same_numbers(library.asnumpy(changed), scattered)


def test_lazy_indices_are_refused():
    da = pytest.importorskip("dask.array")
    assert_refused(
        lambda: gs.prepare("gather", (9,), da.arange(3)),
        TypeError,
        "gather: indices is a Dask array, whose elements are unknown at the call; pass one whose elements are known, "
        "or call gather itself",
    )


class TestPyTorch:
    """Tensors on the CPU: the kernels, with the order of the updates, in the gradients too."""

    @pytest.mark.parametrize("reduction", ["add", "mul", "max", "mean"])
    @pytest.mark.parametrize("suffix", CALLS)
    def test_gradients(self, suffix, reduction):
        torch = pytest.importorskip("torch")
        shape, indices, options = CALLS[suffix]
        rng = np.random.default_rng(0)
        prepared = gs.prepare(f"scatter{suffix}", shape, indices, **options)
        data = torch.from_numpy(rng.standard_normal(shape)).requires_grad_()
        gathered = prepared.gather(data)
        updates = torch.from_numpy(rng.standard_normal(tuple(gathered.shape))).requires_grad_()
        ours = prepared.scatter(data, updates + gathered, reduction=reduction)
        index = torch.tensor(indices)
        theirs = getattr(gs, f"scatter{suffix}")(
            data,
            index,
            updates + getattr(gs, f"gather{suffix}")(data, index, **options),
            reduction=reduction,
            **options,
        )
        assert torch.equal(ours, theirs)
        weights = torch.from_numpy(rng.standard_normal(shape))
        found = torch.autograd.grad((ours * weights).sum(), (data, updates), create_graph=True)
        expected = torch.autograd.grad((theirs * weights).sum(), (data, updates), create_graph=True)
        for one, other in zip(found, expected, strict=True):
            assert torch.equal(one, other)
        if found[0].requires_grad:  # the second derivatives are not 0
            again = [
                torch.autograd.grad(sum((g**2).sum() for g in each), (data, updates)) for each in (found, expected)
            ]
            for one, other in zip(*again, strict=True):
                assert torch.equal(one, other)

    def test_the_gradient_of_a_gather_uses_the_order(self):
        torch = pytest.importorskip("torch")
        prepared = gs.prepare("gather", (2000, 64), torch.arange(8000) % 2000)
        data = torch.zeros(2000, 64, requires_grad=True)
        assert prepared.gather(data.detach()).shape == (8000, 64)
        assert prepared.nbytes == 4 * 8000  # no gradient, no order
        result = prepared.gather(data)
        assert prepared.nbytes == 4 * (8000 + 10_000)
        with kernels.forced(2, scatter="partition"):
            (result * torch.ones(8000, 64)).sum().backward()
        assert scatter.last_route()[0] == ScatterRoute.PARTITION
        assert (data.grad == 4).all()

    def test_gradients_outlive_the_object(self):
        torch = pytest.importorskip("torch")
        data = torch.zeros(50, 16, requires_grad=True)
        result = gs.prepare("gather", (50, 16), np.arange(200) % 50).gather(data)
        result.sum().backward()
        assert (data.grad == 4).all()

    def test_inference_mode_does_not_spoil_later_gradients(self):
        torch = pytest.importorskip("torch")
        prepared = gs.prepare("gather", (4,), [1, 1])
        with torch.inference_mode():
            assert prepared.gather(torch.arange(4.0)).tolist() == [1, 1]
        data = torch.arange(4.0, requires_grad=True)
        prepared.gather(data).sum().backward()
        assert data.grad.tolist() == [0, 2, 0, 0]

    def test_in_place(self):
        torch = pytest.importorskip("torch")
        data, updates = torch.zeros(4, 5, 2), torch.ones(3, 2)
        prepared = gs.prepare("scatter_nd", (4, 5, 2), [[1, 2], [1, 2], [3, 4]])
        version = data._version
        assert prepared.scatter(data, updates, reduction="add", out=data) is data
        assert data._version > version
        assert data[1, 2].tolist() == [2, 2]
        turned = torch.zeros(5, 4, 2).transpose(0, 1)
        assert prepared.scatter(turned, updates, reduction="add", out=turned) is turned
        assert torch.equal(turned, data)

    @pytest.mark.slow
    @pytest.mark.filterwarnings("ignore:.torch.jit.* is deprecated")
    @pytest.mark.filterwarnings("ignore:.*autograd.function.Function.* should not be instantiated:DeprecationWarning")
    @pytest.mark.parametrize("suffix", CALLS)
    def test_compile_and_transforms(self, suffix):
        torch = pytest.importorskip("torch")
        shape, indices, options = CALLS[suffix]
        prepared = gs.prepare(f"gather{suffix}", shape, indices, **options)
        data = torch.arange(float(np.prod(shape))).reshape(shape)
        expected = prepared.gather(data)
        assert torch.equal(torch.compile(prepared.gather, fullgraph=True)(data), expected)
        assert torch.equal(torch.func.vmap(prepared.gather)(data.expand(3, *shape))[1], expected)
        value, tangent = torch.func.jvp(prepared.gather, (data,), (data,))
        assert torch.equal(value, expected) and torch.equal(tangent, expected)  # noqa: PT018
        assert torch.equal(prepared.gather(data), expected)


@pytest.mark.parametrize("suffix", CALLS)
def test_jax_traces(suffix):
    jax = pytest.importorskip("jax")
    shape, indices, options = CALLS[suffix]
    prepared = gs.prepare(f"gather{suffix}", shape, indices, **options)
    data = jax.numpy.arange(np.prod(shape), dtype="float32").reshape(shape)

    def loss(data):
        return (prepared.scatter(data, prepared.gather(data), reduction="add") ** 2).sum()

    def plain(data):
        index = jax.numpy.array(indices)
        gathered = getattr(gs, f"gather{suffix}")(data, index, **options)
        return (getattr(gs, f"scatter{suffix}")(data, index, gathered, reduction="add", **options) ** 2).sum()

    assert loss(data) == plain(data) == jax.jit(loss)(data)  # the first call of a trace keeps no tracer
    assert (jax.grad(loss)(data) == jax.grad(plain)(data)).all()
    assert (jax.jit(jax.grad(loss))(data) == jax.grad(plain)(data)).all()
    assert (
        prepared.gather(data).shape == getattr(gs, f"gather{suffix}")(data, jax.numpy.array(indices), **options).shape
    )
