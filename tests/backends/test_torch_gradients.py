"""PyTorch: gradients, and torch.func."""

import gatherscatter as gs
import pytest
import torch
from constants import FLOAT_REDUCTIONS, GATHER_MODES
from torch.autograd import gradcheck, gradgradcheck
from torch.func import grad, jacfwd, jacrev, jvp, vmap
from torch_cases import GEOMETRIES, distinct, each_device, geometry, updates_for

# What PyTorch says of its own doings in forward mode.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.torch.jit.* is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*autograd.function.Function.* should not be instantiated:DeprecationWarning"),
]


@each_device
@pytest.mark.parametrize("mode", GATHER_MODES)
@pytest.mark.parametrize("function", GEOMETRIES)
def test_gradients_of_gathers(function, mode, device):
    shape, indices, options = geometry(function, mode, device)
    data = distinct(*shape, device=device).requires_grad_()

    def call(data):
        return getattr(gs, function)(data, indices, mode=mode, **options)

    assert call(data.detach()).equal(call(data))
    assert gradcheck(call, data, check_forward_ad=True)
    assert gradgradcheck(call, data)


@each_device
@pytest.mark.parametrize("mode", ["raise", "drop"])
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduction", FLOAT_REDUCTIONS)
@pytest.mark.parametrize("function", ["scatter", "scatter_nd", "scatter_elements"])
def test_gradients_of_scatters(function, reduction, include_self, mode, device):
    shape, indices, options = geometry(function, mode, device)
    data = distinct(*shape, device=device).requires_grad_()
    updates = updates_for(function, data.detach(), indices, options, mode).requires_grad_()
    options |= {"mode": mode, "reduction": reduction, "include_self": include_self}

    def call(data, updates):
        return getattr(gs, function)(data, indices, updates, **options)

    torch.testing.assert_close(call(data.detach(), updates.detach()), call(data, updates))
    assert gradcheck(call, (data, updates))
    assert gradgradcheck(call, (data, updates))


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "mean"])
def test_gradients_of_complex_scatters(reduction):
    data = torch.complex(distinct(4), distinct(4, seed=1)).requires_grad_()
    updates = torch.complex(distinct(5, seed=2), distinct(5, seed=3)).requires_grad_()
    indices = torch.tensor([[1], [1], [0], [-1], [1]])

    def call(data, updates):
        return gs.scatter_nd(data, indices, updates, reduction=reduction)

    assert gradcheck(call, (data, updates))
    assert gradgradcheck(call, (data, updates))


def test_gradient_of_a_product_with_zeros():
    data = torch.tensor([2.0, 0.0, 3.0], requires_grad=True)
    updates = torch.tensor([5.0, 0.0, 7.0, 0.0, 4.0], requires_grad=True)
    # 2·5·7 has no zero; 0·4 has one, and so has 3·0·0 two.
    result = gs.scatter(data, torch.tensor([0, 2, 0, 2, 1]), updates, reduction="mul")
    result.sum().backward()
    assert result.tolist() == [70, 0, 0]
    assert data.grad.tolist() == [35, 4, 0]
    assert updates.grad.tolist() == [14, 0, 10, 0, 0]


def test_equal_maxima_share_the_gradient():
    data = torch.tensor([1.0, 5.0], requires_grad=True)
    updates = torch.tensor([5.0, 5.0, 2.0, 1.0], requires_grad=True)
    result = gs.scatter(data, torch.tensor([1, 1, 1, 0]), updates, reduction="max")
    (result * torch.tensor([2.0, 3.0])).sum().backward()
    assert data.grad.tolist() == [1, 1]
    assert updates.grad.tolist() == [1, 1, 0, 1]


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


# torch.func


@each_device
@pytest.mark.parametrize("mode", ["raise", "fill"])
@pytest.mark.parametrize("function", GEOMETRIES)
def test_vmap_of_gathers(function, mode, device):
    shape, indices, options = geometry(function, mode, device)
    data = distinct(3, *shape, device=device)
    places = torch.stack([indices, indices.flip(0), indices])

    def call(data, indices):
        return getattr(gs, function)(data, indices, mode=mode, **options)

    expected = torch.stack([call(*pair) for pair in zip(data, places, strict=True)])
    assert vmap(call)(data, places).equal(expected)
    assert vmap(call, (0, None))(data, indices).equal(torch.stack([call(d, indices) for d in data]))
    assert vmap(call, (None, 0))(data[0], places).equal(torch.stack([call(data[0], i) for i in places]))
    assert vmap(vmap(call))(data[None], places[None]).equal(expected[None])


@each_device
@pytest.mark.parametrize("reduction", FLOAT_REDUCTIONS)
@pytest.mark.parametrize("include_self", [True, False])
def test_vmap_of_scatters(reduction, include_self, device):
    data, updates = distinct(3, 4, 2, device=device), distinct(3, 5, 2, seed=1, device=device)
    indices = torch.tensor([[1, 1, 0, -1, 9], [0, 0, 0, 2, 1], [3, 2, 1, 9, 9]], device=device)

    def call(data, indices, updates):
        options = {"reduction": reduction, "include_self": include_self, "mode": "drop"}
        return gs.scatter(data, indices, updates, **options)

    expected = torch.stack([call(*each) for each in zip(data, indices, updates, strict=True)])
    torch.testing.assert_close(vmap(call)(data, indices, updates), expected)
    torch.testing.assert_close(vmap(call, (None, 0, 0))(data[0], indices, updates)[0], expected[0])

    def loss(data, indices, updates):
        return (call(data, indices, updates) * torch.arange(4.0, device=device)[:, None]).sum()

    both = (0, 2)
    gradients = vmap(grad(loss, both))(data, indices, updates)
    one_by_one = [grad(loss, both)(*each) for each in zip(data, indices, updates, strict=True)]
    for i in range(2):
        torch.testing.assert_close(gradients[i], torch.stack([g[i] for g in one_by_one]))


@each_device
def test_vmap_names_the_index_outside(device):
    data = torch.zeros(2, 4, device=device)
    places = torch.tensor([[[0], [1]], [[2], [4]]], device=device)
    with pytest.raises(IndexError, match=r"^gather_nd: indices\[1\] = \(4,\) is out of bounds"):
        vmap(gs.gather_nd)(data, places)
    with pytest.raises(IndexError, match=r"indices\[1\] = \(4,\) is out of bounds"):
        vmap(vmap(gs.gather_nd))(data[None], places[None])


def test_forward_mode_and_jacobians():
    indices = torch.tensor([1, 1, 0])

    def call(updates):
        return gs.scatter(torch.ones(2, dtype=torch.float64), indices, updates, reduction="add")

    updates = distinct(3)
    assert jvp(call, (updates,), (torch.ones_like(updates),))[1].tolist() == [1, 2]
    assert jacfwd(call)(updates).equal(jacrev(call)(updates))
