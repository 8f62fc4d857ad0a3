"""gather_scatter with weights on PyTorch: one pass for the result and for each gradient."""

import tracemalloc

import gatherscatter as gs
import pytest
import torch
from gatherscatter.backends import kernels
from gatherscatter.backends.torch import operators
from pairwise import in_turn
from torch_cases import distinct

HEADS = [(), (3,), (3, 16)]  # the last ones are as many as a slice has elements: they take two steps
INDICES, ROWS = torch.tensor([1, -1, 3, 3, 0, 3, 1, 4]), torch.tensor([4, 0, 2, -5, 2, 1, 1, 0])


@pytest.fixture
def passes(monkeypatch):
    """Takes one pass for calls of any size. The kernels that ran."""
    made = []

    def watched(name):
        run = getattr(operators, name)

        def call(*arguments):
            result = run(*arguments)
            if result is not None:
                made.append(name)
            return result

        monkeypatch.setattr(operators, name, call)

    monkeypatch.setattr(kernels, "ONE_PASS_BYTES", 0)
    watched("passed")
    watched("dots")
    return made


def leaves(heads=(), dtype=torch.float64):
    given = (distinct(*shape, seed=i, dtype=dtype) for i, shape in enumerate([(6, 3, 16), (5, 3, 16), (8, *heads)]))
    return [tensor.requires_grad_() for tensor in given]


def one_call(data, source, weights, reduction="add", pair=(INDICES, ROWS), **options):
    return gs.gather_scatter(data, pair[0], source, pair[1], weights=weights, reduction=reduction, **options)


def in_steps(data, source, weights, reduction="add"):
    products = gs.gather(source, ROWS) * weights.reshape(*weights.shape, *[1] * (3 - weights.ndim))
    return gs.scatter(data, INDICES, products, reduction=reduction)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@in_turn("reduction", ["none", "add", "mul", "max", "min", "mean"])
def test_gradients_are_those_of_the_steps(passes, reduction, dtype):
    if dtype.itemsize == 2 and reduction == "mul":
        return  # quotients of 16 bits
    rtol = {8: 1e-12, 4: 1e-5, 2: 0.03}[dtype.itemsize]
    for heads in HEADS:
        passes.clear()
        given = leaves(heads, dtype)
        results = one_call(*given, reduction), in_steps(*given, reduction)
        assert torch.equal(*results)
        for found, expected in zip(*(torch.autograd.grad((r * r.sin()).sum(), given) for r in results), strict=True):
            torch.testing.assert_close(found, expected, rtol=rtol, atol=rtol)
        whole = heads != (3, 16) and reduction in ("add", "mean")
        assert passes == ((["passed", "passed"] + ["dots"] * (dtype.itemsize > 2)) if whole else [])


@pytest.mark.parametrize("reduction", ["add", "mean"])
@pytest.mark.parametrize("heads", HEADS)
def test_finite_differences(passes, heads, reduction):
    def call(*given):
        return one_call(*given, reduction)

    assert torch.autograd.gradcheck(call, leaves(heads), check_batched_grad=True, fast_mode=True)
    assert torch.autograd.gradgradcheck(call, leaves(heads), fast_mode=True)


@pytest.mark.parametrize("wanted", [(0,), (1,), (2,), (0, 2), (1, 2)])
def test_some_gradients(passes, wanted):
    given = leaves((3,))
    given = [tensor if i in wanted else tensor.detach() for i, tensor in enumerate(given)]
    chosen = [given[i] for i in wanted]
    found, expected = (torch.autograd.grad(f(*given).sin().sum(), chosen) for f in (one_call, in_steps))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)
    assert passes == ["passed"] + ["passed"] * (1 in wanted) + ["dots"] * (2 in wanted)


def test_prepared_pairs_and_parameters(passes):
    pair = gs.prepare("scatter", (6,), INDICES), gs.prepare("gather", (5,), ROWS)
    data, source, weights = leaves((3,))
    weights = torch.nn.Parameter(weights.detach())
    for found, expected in zip(
        torch.autograd.grad(one_call(data, source, weights, pair=pair).sin().sum(), (source, weights)),
        torch.autograd.grad(in_steps(data, source, weights).sin().sum(), (source, weights)),
        strict=True,
    ):
        torch.testing.assert_close(found, expected)
    assert passes == ["passed", "passed", "dots"]


@pytest.mark.filterwarnings("ignore:.torch.jit.* is deprecated")
def test_transforms(passes):
    given = [tensor.detach() for tensor in leaves((3,))]
    for call in (
        lambda f: torch.func.jvp(f, tuple(given), tuple(given)),
        lambda f: torch.func.vjp(f, *given)[1](torch.ones_like(given[0])),
        lambda f: torch.func.vmap(f, in_dims=(None, None, 0))(*given[:2], torch.stack([given[2], -given[2]])),
        lambda f: torch.func.hessian(lambda w: (f(*given[:2], w) ** 2).sum())(given[2]),
    ):
        for found, expected in zip(call(one_call), call(in_steps), strict=True):
            torch.testing.assert_close(found, expected)
    assert passes == []


def test_out(passes):
    data, source, weights = leaves((3,))
    out = torch.empty(6, 3, 16, dtype=torch.float64)
    with torch.no_grad():
        assert one_call(data, source, weights, out=out) is out
        assert torch.equal(out, in_steps(data, source, weights))
    with pytest.raises(RuntimeError, match="requires grad, and autograd cannot differentiate"):
        one_call(data.detach(), source.detach(), weights, out=out)


def test_memory():
    """Less than a fifth of what is gathered, for the result and for the gradients."""
    made, n = torch.Generator().manual_seed(0), 200_000
    indices, rows = torch.randint(1000, (2, n), generator=made)
    source = torch.randn(1000, 32, generator=made, requires_grad=True)
    weights = torch.randn(n, generator=made, requires_grad=True)
    tracemalloc.start()
    try:
        result = one_call(torch.zeros(1000, 32), source, weights, pair=(indices, rows))
        result.backward(torch.ones_like(result))
        assert tracemalloc.get_traced_memory()[1] < n * 32 * 4 // 5
    finally:
        tracemalloc.stop()
