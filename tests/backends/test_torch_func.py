"""PyTorch: the transforms of torch.func, alone, composed, and in torch.compile."""

import gatherscatter as gs
import pytest
import torch
from constants import FLOAT_REDUCTIONS
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap
from torch_cases import GEOMETRIES, distinct, each_device, geometry

# What PyTorch says of its own doings in forward mode.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.torch.jit.* is deprecated"),
    pytest.mark.filterwarnings("ignore:.*autograd.function.Function.* should not be instantiated:DeprecationWarning"),
]


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
    assert vmap(call, -1)(data.movedim(0, -1), places.movedim(0, -1)).equal(expected)
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
    last = (each.movedim(0, -1) for each in (data, indices, updates))
    torch.testing.assert_close(vmap(call, -1)(*last), expected)
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


# Compositions

INDICES = torch.tensor([1, 1, 0, 2, -1, 9])


def scatters(reduction):
    def call(data, updates):
        return gs.scatter(data, INDICES, updates, reduction=reduction, mode="drop")

    return call


@pytest.mark.parametrize("reduction", FLOAT_REDUCTIONS)
def test_hessians_in_all_modes_are_equal(reduction):
    call = scatters(reduction)
    data, updates = distinct(4, 2), distinct(6, 2, seed=1)

    def loss(updates):
        return (call(data, updates) ** 3).sum()

    expected = torch.autograd.functional.hessian(loss, updates)
    for outer in (jacfwd, jacrev):
        for inner in (jacfwd, jacrev):
            torch.testing.assert_close(outer(inner(loss))(updates), expected)
    torch.testing.assert_close(hessian(loss)(updates), expected)


def test_the_third_derivative_of_a_product_of_zeros():
    def call(updates):
        result = gs.scatter(torch.ones(1, dtype=torch.float64), torch.tensor([0, 0, 0]), updates, reduction="mul")
        return result.sum()

    zeros = torch.zeros(3, dtype=torch.float64)
    for third in (jacrev(jacrev(jacrev(call))), jacfwd(jacfwd(jacfwd(call))), jacfwd(jacrev(jacfwd(call)))):
        assert third(zeros)[0, 1, 2] == 1
        assert third(zeros).sum() == 6


@pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node:UserWarning")  # of torch.func.linearize
@pytest.mark.parametrize("reduction", FLOAT_REDUCTIONS)
def test_tangents_of_vmap(reduction):
    call = scatters(reduction)
    data, updates = distinct(3, 4, 2), distinct(3, 6, 2, seed=1)
    tangents = distinct(3, 4, 2, seed=2), distinct(3, 6, 2, seed=3)
    one_by_one = [jvp(call, (data[i], updates[i]), (tangents[0][i], tangents[1][i]))[1] for i in range(3)]
    torch.testing.assert_close(jvp(vmap(call), (data, updates), tangents)[1], torch.stack(one_by_one))
    mapped = vmap(lambda d, u, *t: jvp(call, (d, u), t)[1])(data, updates, *tangents)
    torch.testing.assert_close(mapped, torch.stack(one_by_one))
    torch.testing.assert_close(linearize(call, data[0], updates[0])[1](tangents[0][0], tangents[1][0]), one_by_one[0])


def test_no_grad_inside_a_transform():
    def call(data):
        with torch.no_grad():
            constant = gs.gather(data, INDICES, mode="clip")
        return (constant * gs.gather(data, INDICES, mode="clip")).sum()

    data = distinct(4)
    expected = torch.zeros(4, dtype=torch.float64).index_add(
        0, torch.tensor([1, 1, 0, 2, 3, 3]), data[[1, 1, 0, 2, 3, 3]]
    )
    torch.testing.assert_close(grad(call)(data), expected)
    # For the outer of two gradients, what no_grad made is a constant as well.
    torch.testing.assert_close(grad(lambda x: grad(call)(x).sum())(data), torch.tensor([0.0, 0, 0, 0]).double())


def test_a_vmap_of_models():
    class Lookup(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Parameter(distinct(4, 2))

        def forward(self, rows):
            return gs.gather(self.table, rows)

    model, rows = Lookup(), torch.tensor([3, 3, 0])
    tables = torch.stack([model.table.detach(), -model.table.detach()])

    def loss(table, rows):
        return (functional_call(model, {"table": table}, (rows,)) ** 2).sum()

    found = vmap(grad(loss), (0, None))(tables, rows)
    torch.testing.assert_close(found, torch.stack([grad(loss)(table, rows) for table in tables]))


ONCE = {("add", "grad"), ("add", "jvp"), ("mul", "vjp"), ("max", "vmap"), ("max", "vmap of grad")}


@pytest.mark.parametrize(
    ("reduction", "transform"),
    # By default each once.
    [
        pytest.param(reduction, transform, marks=[] if (reduction, transform) in ONCE else pytest.mark.slow)
        for reduction in ("add", "mul", "max")
        for transform in ("grad", "jvp", "vjp", "vmap", "vmap of grad")
    ],
)
def test_transforms_compile(reduction, transform):
    call = scatters(reduction)
    data, updates = distinct(3, 4, 2), distinct(3, 6, 2, seed=1)

    def loss(data, updates):
        return (call(data, updates) ** 2).sum()

    run = {
        "grad": lambda: grad(loss)(data[0], updates[0]),
        "jvp": lambda: jvp(call, (data[0], updates[0]), (data[1], updates[1]))[1],
        "vjp": lambda: vjp(call, data[0], updates[0])[1](data[1])[1],
        "vmap": lambda: vmap(call)(data, updates),
        "vmap of grad": lambda: vmap(grad(loss))(data, updates),
    }[transform]
    torch.compiler.reset()
    torch.testing.assert_close(torch.compile(run, fullgraph=True, backend="aot_eager")(), run())


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")  # of opcheck
@pytest.mark.parametrize(
    "reduction",
    [name if i % 3 == 1 else pytest.param(name, marks=pytest.mark.slow) for i, name in enumerate(FLOAT_REDUCTIONS)],
)
def test_the_dispatcher_finds_the_operators_well_formed(reduction):
    """PyTorch's own check of operators: schema, gradients, fake tensors and traces."""
    data, updates = distinct(4, 2).requires_grad_(), distinct(6, 2, seed=1).requires_grad_()
    words = "scatter\ndata\nindices\nupdates\n"
    options = 1, 0, 0, "drop", True, words, 0
    torch.library.opcheck(torch.ops.gatherscatter.scatter, (data, INDICES, updates, reduction, True, *options))
    options = 1, 0, 0, "clip", True, words, 0
    torch.library.opcheck(torch.ops.gatherscatter.gather, (data, INDICES, None, *options))
