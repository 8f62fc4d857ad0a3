"""Gradients of segments, and calls that are traced."""

import gatherscatter as gs
import numpy as np
import pytest
from libraries import LIBRARIES, has_gradients, on_each

DIFFERENTIABLE = ["add", "mul", "max", "min", "mean", "var", "std", "first", "last", "logsumexp", "median"]
OTHERS = ["softmax", "log_softmax", "linear", "higher"]
IDS = np.array([2, 0, -1, 0, 2, 2, 3])
VALUES = np.random.default_rng(0).permutation(14).reshape(7, 2) / 4 + 0.3
WEIGHTS = np.random.default_rng(1).standard_normal((5, 2))


def weighted(function, data, xp, like=np.asarray):
    """A number that depends on each result. NaN of empty segments is left out."""
    result = function(data)
    weights = like(WEIGHTS[: result.shape[0]] if result.shape[0] <= 5 else np.resize(WEIGHTS, result.shape))
    return xp.sum(xp.where(xp.isfinite(result), result, xp.zeros_like(result)) * weights)


def functions(ids):
    found = {"softmax": lambda x: gs.segment_softmax(x, ids, 5), "log_softmax": lambda x: log_softmax(x, ids)}
    for method in ("linear", "higher"):
        found[method] = lambda x, name=method: gs.segment_quantile(x, 0.3, ids, 5, method=name, mode="drop")
    for reduction in DIFFERENTIABLE:
        found[reduction] = lambda x, name=reduction: gs.segment_reduce(x, ids, 5, reduction=name, mode="drop")
    return found


def log_softmax(x, ids):
    return gs.segment_log_softmax(x, ids, 5, mode="drop")


def differences(name):
    """The gradient by finite differences."""
    function, gradient, step = functions(IDS)[name], np.zeros_like(VALUES), 1e-6
    for position in np.ndindex(VALUES.shape):
        change = np.zeros_like(VALUES)
        change[position] = step
        up, down = (weighted(function, VALUES + way * change, np) for way in (1, -1))
        gradient[position] = (up - down) / (2 * step)
    return gradient


@pytest.mark.parametrize("library", on_each(filter(has_gradients, LIBRARIES)))
@pytest.mark.parametrize("name", [*DIFFERENTIABLE, *OTHERS])
def test_libraries(library, name):
    data, function = library.asarray(VALUES), functions(library.asarray(IDS))[name]
    with library.way():
        if library.package == "torch":
            import torch

            data.requires_grad_()
            weighted(function, data, torch, library.asarray).backward()
            gradient = data.grad
        else:
            import jax

            gradient = jax.grad(lambda x: weighted(function, x, jax.numpy))(data)
    np.testing.assert_allclose(library.asnumpy(gradient), differences(name), rtol=1e-6, atol=1e-8)


def test_gradients_of_jit():
    """In one program, since each would take long to compile."""
    jax = pytest.importorskip("jax")
    of_names = functions(jax.numpy.asarray(IDS))

    def call(x):
        return [weighted(function, x, jax.numpy) for function in of_names.values()]

    gradients = jax.jacrev(jax.jit(call))(jax.numpy.asarray(VALUES))
    for name, gradient in zip(of_names, gradients, strict=True):
        np.testing.assert_allclose(np.asarray(gradient), differences(name), rtol=1e-6, atol=1e-8, err_msg=name)


def test_the_gradient_of_equal_neighbours():
    """By their weights; a median's halves."""
    torch = pytest.importorskip("torch")
    data = torch.tensor([1.0, 2.0, 2.0, 9.0], dtype=torch.float64, requires_grad=True)
    gs.segment_quantile(data, 0.4, torch.zeros(4, dtype=int)).sum().backward()
    np.testing.assert_allclose(data.grad.numpy(), [0, 0.8, 0.2, 0])
    data.grad = None
    gs.segment_reduce(data, torch.zeros(4, dtype=int), reduction="median").sum().backward()
    assert data.grad.tolist() == [0, 0.5, 0.5, 0]


def test_equal_maxima_share_the_gradient():
    torch = pytest.importorskip("torch")
    data = torch.tensor([1.0, 3.0, 3.0, 2.0], requires_grad=True)
    gs.segment_reduce(data, torch.tensor([0, 0, 0, 1]), reduction="max").sum().backward()
    assert data.grad.tolist() == [0, 0.5, 0.5, 1]


def test_a_standard_deviation_of_zero():
    torch = pytest.importorskip("torch")
    data = torch.tensor([2.0, 2.0, 5.0], dtype=torch.float64, requires_grad=True)
    gs.segment_reduce(data, torch.tensor([0, 0, 1]), reduction="std").sum().backward()
    assert data.grad.tolist() == [0, 0, 0]


def test_elements_that_do_not_count():
    torch = pytest.importorskip("torch")
    data = torch.tensor([2.0, float("nan"), 5.0, 1.0], dtype=torch.float64, requires_grad=True)
    for reduction in DIFFERENTIABLE:
        data.grad = None
        result = gs.segment_reduce(data, torch.tensor([0, 0, 0, 1]), reduction=reduction, skipna=True, min_count=2,
                                   fill_value=0)  # fmt: skip
        result.sum().backward()
        assert data.grad[1] == data.grad[3] == 0
        assert data.grad.isfinite().all()


def test_jit():
    jax = pytest.importorskip("jax")
    values, ids = jax.numpy.arange(6.0), jax.numpy.array([0, 2, 0, -1, 9, 2])

    def call(values, ids):
        for name in (*DIFFERENTIABLE, "argmax", "count"):
            yield gs.segment_reduce(values, ids, 3, reduction=name, mode="drop", fill_value=7)

    for found, expected in zip(jax.jit(lambda *a: tuple(call(*a)))(values, ids), call(values, ids), strict=True):
        assert np.array_equal(np.asarray(found), np.asarray(expected))
    with pytest.raises(ValueError, match="num_segments is missing"):
        jax.jit(lambda values, ids: gs.segment_reduce(values, ids))(values, ids)
