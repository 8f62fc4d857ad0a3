"""PyTorch: gradients in reverse and forward mode, to any order."""

from functools import partial

import gatherscatter as gs
import numpy as np
import pytest
import torch
from constants import FLOAT_REDUCTIONS, GATHER_MODES
from pairwise import in_turn
from torch.autograd import gradcheck, gradgradcheck
from torch.autograd.functional import hessian
from torch_cases import GEOMETRIES, distinct, each_device, geometry, updates_for

# What PyTorch says of its own doings in forward mode.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.torch.jit.* is deprecated"),
    pytest.mark.filterwarnings("ignore:.*autograd.function.Function.* should not be instantiated:DeprecationWarning"),
]

# Beside fast_mode, in which gradcheck compares products with random vectors instead of all of a Jacobian.
BATCHED = {"check_batched_grad": True, "check_batched_forward_grad": True}


@each_device
@pytest.mark.parametrize("mode", GATHER_MODES)
@pytest.mark.parametrize("function", GEOMETRIES)
def test_gradients_of_gathers(function, mode, device):
    shape, indices, options = geometry(function, mode, device)
    data = distinct(*shape, device=device).requires_grad_()

    def call(data):
        return getattr(gs, function)(data, indices, mode=mode, **options)

    assert call(data.detach()).equal(call(data))
    assert gradcheck(call, data, check_forward_ad=True, **BATCHED, fast_mode=True)
    assert gradgradcheck(call, data, check_fwd_over_rev=True, fast_mode=True)


@each_device
@pytest.mark.parametrize(
    ("function", "reduction", "mode", "include_self"),
    # By default a quarter: each reduction has all modes and both values of include_self.
    [
        pytest.param(function, reduction, mode, n == 0, marks=[] if (i + j) % 2 == m == n else pytest.mark.slow)
        for i, function in enumerate(["scatter", "scatter_nd", "scatter_elements"])
        for j, reduction in enumerate(FLOAT_REDUCTIONS)
        for m, mode in enumerate(["raise", "drop"])
        for n in range(2)
    ],
)
def test_gradients_of_scatters(function, reduction, include_self, mode, device):
    shape, indices, options = geometry(function, mode, device)
    data = distinct(*shape, device=device).requires_grad_()
    updates = updates_for(function, data.detach(), indices, options, mode).requires_grad_()
    options |= {"mode": mode, "reduction": reduction, "include_self": include_self}

    def call(data, updates):
        return getattr(gs, function)(data, indices, updates, **options)

    torch.testing.assert_close(call(data.detach(), updates.detach()), call(data, updates))
    assert gradcheck(call, (data, updates), check_forward_ad=True, **BATCHED, fast_mode=True)
    assert gradgradcheck(call, (data, updates), check_fwd_over_rev=True, fast_mode=True)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduction", ["none", "add", "mul", "mean"])
def test_gradients_of_complex_scatters(reduction, include_self):
    data = torch.complex(distinct(4), distinct(4, seed=1)).requires_grad_()
    updates = torch.complex(distinct(5, seed=2), distinct(5, seed=3)).requires_grad_()
    indices = torch.tensor([[1], [1], [0], [-1], [1]])

    def call(data, updates):
        return gs.scatter_nd(data, indices, updates, reduction=reduction, include_self=include_self)

    assert gradcheck(call, (data, updates), check_forward_ad=True, fast_mode=True)
    assert gradgradcheck(call, (data, updates), check_fwd_over_rev=True, fast_mode=True)


def test_gradient_of_a_product_with_zeros():
    data = torch.tensor([2.0, 0.0, 3.0], requires_grad=True)
    updates = torch.tensor([5.0, 0.0, 7.0, 0.0, 4.0], requires_grad=True)
    # 2·5·7 has no zero; 0·4 has one, and so has 3·0·0 two.
    result = gs.scatter(data, torch.tensor([0, 2, 0, 2, 1]), updates, reduction="mul")
    result.sum().backward()
    assert result.tolist() == [70, 0, 0]
    assert data.grad.tolist() == [35, 4, 0]
    assert updates.grad.tolist() == [14, 0, 10, 0, 0]


def test_gradients_of_two_products():
    """Of one after the other, each with as many factors."""
    data = torch.tensor([2.0, 3.0], requires_grad=True)
    updates = torch.tensor([5.0, 7.0, 11.0, 13.0], requires_grad=True)
    gs.scatter(data, torch.tensor([0, 0, 1, 1]), updates, reduction="mul").sum().backward()
    assert data.grad.tolist() == [35, 143]
    assert updates.grad.tolist() == [14, 10, 39, 33]


def test_equal_maxima_share_the_gradient():
    data = torch.tensor([1.0, 5.0], requires_grad=True)
    updates = torch.tensor([5.0, 5.0, 2.0, 1.0], requires_grad=True)
    result = gs.scatter(data, torch.tensor([1, 1, 1, 0]), updates, reduction="max")
    (result * torch.tensor([2.0, 3.0])).sum().backward()
    assert data.grad.tolist() == [1, 1]
    assert updates.grad.tolist() == [1, 1, 0, 1]


@pytest.mark.parametrize("reduction", ["max", "min"])
def test_nan_shares_the_gradient_of_nan(reduction):
    data = torch.tensor([1.0, torch.nan], requires_grad=True)
    updates = torch.tensor([torch.nan, 5.0, torch.nan], requires_grad=True)
    result = gs.scatter(data, torch.tensor([1, 1, 0]), updates, reduction=reduction)
    (result * torch.tensor([3.0, 8.0])).sum().backward()
    assert data.grad.tolist() == [0, 4]
    assert updates.grad.tolist() == [4, 0, 3]


def test_the_update_that_is_replaced_gets_no_gradient():
    updates = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    gs.scatter(torch.zeros(2), torch.tensor([0, 0, 1]), updates).sum().backward()
    assert updates.grad.tolist() == [0, 1, 1]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_gradients_of_16_bits(dtype):
    data = torch.tensor([1.0, 2.0], dtype=dtype, requires_grad=True)
    updates = torch.tensor([3.0, 4.0], dtype=dtype, requires_grad=True)
    gs.scatter(data, torch.tensor([1, 1]), updates, reduction="add").sum().backward()
    gs.gather(data, torch.tensor([1, 1])).sum().backward()
    assert data.grad.dtype is updates.grad.dtype is dtype
    assert data.grad.tolist() == [1, 3]
    assert updates.grad.tolist() == [1, 1]


@each_device
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("zeros", [(), (0,), (1, 3), (0, 1, 2, 3)])
def test_second_derivatives_of_a_product_with_zeros(zeros, include_self, device):
    """Row 0 has the updates 0, 1 and 3. The second derivatives are the products of the others."""
    indices = torch.tensor([0, 0, 1, 0], device=device)
    factors = [3.0, 2.0, 5.0, 7.0, 11.0, 13.0]  # data, then updates
    for n in zeros:
        factors[2 + n] = 0.0
    point = torch.tensor(factors, dtype=torch.float64, device=device)

    def call(factors):
        result = gs.scatter(factors[:2], indices, factors[2:], reduction="mul", include_self=include_self)
        return result[0]

    used = [2, 3, 5] if not include_self else [0, 2, 3, 5]
    expected = torch.zeros(6, 6, dtype=torch.float64)
    for i in used:
        for j in used:
            if i != j:
                expected[i, j] = np.prod([factors[k] for k in used if k not in (i, j)])
    assert hessian(call, point).cpu().equal(expected)


def test_the_third_derivative_of_a_product_of_zeros():
    updates = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    result = gs.scatter(torch.ones(1, dtype=torch.float64), torch.tensor([0, 0, 0]), updates, reduction="mul")
    for i in range(3):
        (slope,) = torch.autograd.grad(result, updates, torch.ones_like(result), create_graph=True)
        result = slope[i]
    assert result.item() == 1


@pytest.mark.parametrize("n", [1, 2, 3, 7, 64, 1000])
def test_gradient_of_a_long_product(n):
    """Infinity and many factors, of one row: nothing is divided."""
    updates = torch.full((n,), 1.0 + 1e-3, dtype=torch.float64)
    updates[n // 2] = torch.inf
    updates.requires_grad_()
    gs.scatter(
        torch.ones(1, dtype=torch.float64), torch.zeros(n, dtype=torch.int64), updates, reduction="mul"
    ).backward()
    expected = torch.full((n,), torch.inf, dtype=torch.float64)
    expected[n // 2] = (1.0 + 1e-3) ** (n - 1)
    torch.testing.assert_close(updates.grad, expected)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("n", [4, 60_000])  # with and without the fast path
def test_dropped_factors_have_no_gradient(n, include_self):
    """Their product may be infinite."""
    updates = torch.full((n,), 10.0)
    updates[1] = torch.inf
    updates.requires_grad_()
    data, indices = torch.ones(2, requires_grad=True), torch.full((n,), 7)
    indices[0] = 0
    gs.scatter(data, indices, updates, reduction="mul", mode="drop", include_self=include_self).sum().backward()
    assert updates.grad.tolist() == [1] + [0] * (n - 1)
    assert data.grad.tolist() == [10 if include_self else 0, 1]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("include_self", [True, False])
@in_turn("reduction", FLOAT_REDUCTIONS)
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 0)])
def test_gradients_of_rank_0(shape, reduction, include_self):
    """Empty tuples name data of rank 0."""
    data = torch.tensor(2.0, requires_grad=True)
    updates = torch.full(shape[:-1], 3.0, requires_grad=True)
    indices = torch.zeros(shape, dtype=torch.int64)
    gs.scatter_nd(data, indices, updates, reduction=reduction, include_self=include_self).backward()
    assert data.grad.shape == ()
    assert updates.grad.shape == updates.shape


@pytest.mark.filterwarnings("error")
def test_infinities_are_no_reason_for_a_warning():
    updates = torch.tensor([torch.inf, 3e38, 0.0, 3e38], requires_grad=True)
    with np.errstate(all="raise"):
        for reduction in FLOAT_REDUCTIONS:
            result = gs.scatter(torch.ones(2), torch.tensor([0, 0, 0, 0]), updates, reduction=reduction)
            result.backward(torch.tensor([1e-44, torch.inf]))


def test_inference_mode_records_nothing():
    data, updates = torch.ones(3, requires_grad=True), torch.ones(2, requires_grad=True)
    with torch.inference_mode(), torch.enable_grad():
        for result in (
            gs.gather(data, torch.tensor([0, -1])),
            gs.scatter(data, torch.tensor([0, 0]), updates, reduction="max"),
        ):
            assert not result.requires_grad


@pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning")
def test_a_sparse_gradient():
    data = torch.zeros(3, requires_grad=True)
    slope = torch.sparse_coo_tensor([[1]], [2.0], (2,))
    gs.gather(data, torch.tensor([0, -1])).backward(slope)
    assert data.grad.tolist() == [0, 0, 2]


EMPTY = {"scatter": (0,), "scatter_nd": (0, 1), "scatter_elements": (0, 2)}


@each_device
@pytest.mark.parametrize("include_self", [True, False])
@in_turn("reduction", FLOAT_REDUCTIONS)
@pytest.mark.parametrize("function", EMPTY)
def test_a_scatter_of_no_updates_keeps_the_graph(function, reduction, include_self, device):
    """A layer without edges: backward() must not fail."""
    data = torch.ones(3, 2, device=device)
    updates = torch.ones(0, 2, device=device, requires_grad=True)
    indices = torch.zeros(EMPTY[function], dtype=torch.int64, device=device)
    result = getattr(gs, function)(data, indices, updates, reduction=reduction, include_self=include_self)
    assert result.requires_grad
    result.sum().backward()
    assert updates.grad.shape == (0, 2)
    data.requires_grad_()
    getattr(gs, function)(data, indices, updates, reduction=reduction, include_self=include_self).sum().backward()
    assert data.grad.equal(torch.ones_like(data))


def test_gradients_reach_the_kernels(monkeypatch):
    """Forward and backward, of a small call without a primitive, and of a large one."""
    from gatherscatter.backends.torch import operators, small_backward, small_forward

    calls = []
    for module, name in [
        (operators.NUMPY, "gather"), (operators.NUMPY, "scatter"),
        (small_backward, "try_gather"), (small_backward, "try_scatter"),
        (small_forward, "try_gather"), (small_forward, "try_scatter"),
    ]:  # fmt: skip
        original = getattr(module, name)

        def counted(*args, original=original, name=name):
            calls.append(name.removeprefix("try_"))
            return original(*args)

        monkeypatch.setattr(module, name, counted)
    for n in (10, 100_000):
        data = torch.randn(n, 8, requires_grad=True)
        places = torch.arange(n)[:, None] - n  # negative: no primitive takes them
        calls.clear()
        gs.gather_nd(data, places).sum().backward()
        assert "scatter" in calls
        calls.clear()
        gs.scatter_nd(torch.zeros(n, 8), places, data, reduction="add").sum().backward()
        assert "gather" in calls


@pytest.mark.parametrize("n", [10, 3000])
@pytest.mark.parametrize("call", ["gather", "gather_elements", "scatter", "scatter_elements"])
def test_small_calls_with_a_gradient_are_those_without(call, n):
    """Small calls with a gradient are PyTorch's primitives, if no index is negative."""
    generator = torch.Generator().manual_seed(n)
    elements = "elements" in call
    data = torch.randn(50, 4, generator=generator)
    shape = (n, 4) if elements else (n,)
    updates = torch.randn(n, 4, generator=generator)
    for low in (0, -50):
        places = torch.randint(low, 50, shape, generator=generator)
        for dtype in (torch.int64, torch.int16):
            arguments = (data, places.to(dtype), updates)[: 3 if "scatter" in call else 2]
            options = {"reduction": "add"} if "scatter" in call else {}
            expected = getattr(gs, call)(*arguments, **options)
            leaf = data.clone().requires_grad_()
            found = getattr(gs, call)(leaf, *arguments[1:], **options)
            assert found.requires_grad
            assert found.equal(expected)
    leaf = data.clone().requires_grad_()
    outside = torch.full(shape, 50)
    with pytest.raises(IndexError, match=rf"^{call}: indices"):
        getattr(gs, call)(leaf, outside, *((updates,) if "scatter" in call else ()), **options)


def test_scalar_updates():
    data = torch.tensor([2.0, 3.0], requires_grad=True)
    gs.scatter(data, torch.tensor([0, 0]), 5.0, reduction="mul").sum().backward()
    assert data.grad.tolist() == [25, 1]
    gs.scatter(data, torch.tensor([1]), 5.0).sum().backward()
    assert data.grad.tolist() == [26, 1]


# What training does besides


def step(data, updates):
    indices = torch.tensor([0, 4, 4, -3])
    return (gs.scatter(data, indices, gs.gather(data, indices) * updates, reduction="add") ** 2).sum()


def leaves():
    return distinct(5, 3).requires_grad_(), distinct(4, 3, seed=1).requires_grad_()


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_checkpoint(use_reentrant):
    data, updates = leaves()
    torch.utils.checkpoint.checkpoint(step, data, updates, use_reentrant=use_reentrant).backward()
    expected = torch.autograd.grad(step(data, updates), (data, updates))
    assert data.grad.equal(expected[0])
    assert updates.grad.equal(expected[1])


def test_selective_checkpoint_sees_the_operators():
    from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

    seen = []

    def policy(context, operator, *arguments, **options):
        ours = "gatherscatter" in str(operator)
        seen.append(ours)
        return CheckpointPolicy.MUST_SAVE if ours else CheckpointPolicy.PREFER_RECOMPUTE

    data, updates = leaves()
    contexts = partial(create_selective_checkpoint_contexts, policy)
    found = torch.autograd.grad(
        checkpoint(step, data, updates, use_reentrant=False, context_fn=contexts), (data, updates)
    )
    assert any(seen)
    torch.testing.assert_close(found, torch.autograd.grad(step(data, updates), (data, updates)))


def test_deterministic_algorithms():
    data, updates = leaves()
    expected = torch.autograd.grad(step(data, updates), (data, updates))
    torch.use_deterministic_algorithms(True)
    try:
        found = torch.autograd.grad(step(data, updates), (data, updates))
    finally:
        torch.use_deterministic_algorithms(False)
    assert found[0].equal(expected[0])
    assert found[1].equal(expected[1])


@pytest.mark.parametrize("reduction", FLOAT_REDUCTIONS)
def test_autocast(reduction):
    """As torch.scatter_add: the wider of the two dtypes."""
    layer, indices = torch.nn.Linear(3, 3), torch.tensor([0, 4, 4, 2])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        messages = gs.gather(layer(torch.ones(5, 3)), indices)
        result = gs.scatter(torch.ones(5, 3), indices, messages, reduction=reduction)
    assert messages.dtype is torch.bfloat16
    assert result.dtype is torch.float32
    result.sum().backward()
    assert layer.weight.grad.dtype is torch.float32
    with pytest.raises(TypeError, match=r"updates has dtype torch.float32, but data has torch.bf"):
        gs.scatter(torch.ones(5, 3).bfloat16(), indices, messages.float(), reduction=reduction)


def test_hooks_on_saved_tensors():
    data, updates = leaves()
    expected = torch.autograd.grad(step(data, updates), (data, updates))
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t.clone(), lambda t: t):
        found = torch.autograd.grad(step(data, updates), (data, updates))
    assert packed
    assert found[0].equal(expected[0])


@pytest.mark.parametrize("shape", [(5, 3), (4000, 64)], ids=["small", "large"])
@pytest.mark.parametrize("mode", ["raise", "drop"])
def test_an_assignment_with_the_gradient_of_one_array_only(shape, mode):
    rng = np.random.default_rng(0)
    n = shape[0]
    indices = torch.from_numpy(rng.integers(0, n + (3 if mode == "drop" else 0), 2 * n))
    data = torch.from_numpy(rng.random(shape)).requires_grad_()
    updates = torch.from_numpy(rng.random((2 * n, *shape[1:]))).requires_grad_()
    grad = torch.from_numpy(rng.random(shape))
    result = gs.scatter(data, indices, updates, mode=mode)
    to_data, to_updates = torch.autograd.grad(result, (data, updates), grad)
    result = gs.scatter(data, indices, updates.detach(), mode=mode)
    assert torch.equal(torch.autograd.grad(result, data, grad)[0], to_data)
    result = gs.scatter(data.detach(), indices, updates, mode=mode)
    assert torch.equal(torch.autograd.grad(result, updates, grad)[0], to_updates)
    assert to_data.ne(0).sum() == sum(n not in indices for n in range(n)) * shape[1]
