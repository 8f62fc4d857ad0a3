"""PyTorch: gradients, torch.func, torch.compile, shapes without numbers, and memory."""

import subprocess
import sys

import gatherscatter as gs
import ml_dtypes
import numpy as np
import pytest
import torch
from conftest import assert_same_numbers
from libraries import from_torch, torch_has_cuda
from strategies import numbers
from torch.autograd import gradcheck, gradgradcheck
from torch.func import grad, jacfwd, jacrev, jvp, vmap

# What PyTorch says of its own doings, in forward mode and in torch.compile.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.torch.jit.* is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*autograd.function.Function.* should not be instantiated:DeprecationWarning"),
]


@pytest.fixture(autouse=True)
def _nothing_compiled():
    torch.compiler.reset()


DEVICES = [
    "cpu",
    pytest.param(
        "cuda",
        marks=[pytest.mark.gpu, pytest.mark.skipif(not torch_has_cuda(), reason="torch finds no CUDA device")],
    ),
]
on_devices = pytest.mark.parametrize("device", DEVICES)

# One geometry for each function: shape of data, indices (duplicates, negatives, one far outside), options.
OUTSIDE = 9
GEOMETRIES = {
    "gather": ((2, 4, 3), [[1, -1, 1], [0, 0, 2]], {"axis": 1, "batch_dims": 1}),
    "gather_nd": ((4, 3, 2), [[0, 1], [-1, 2], [0, 1], [3, 0]], {}),
    "gather_elements": ((4, 3), [[1, -1, 1], [1, 0, 2], [0, 0, 1]], {"axis": 0}),
}
REDUCTIONS = ("none", "add", "mul", "max", "min", "mean")


def geometry(function, mode="raise", device="cpu"):
    shape, places, options = GEOMETRIES[function.replace("scatter", "gather")]
    indices = torch.tensor(places)
    if mode not in ("raise", "promise_in_bounds"):
        indices.view(-1)[-1] = OUTSIDE
    return shape, indices.to(device), dict(options)


def distinct(*shape, seed=0, device="cpu", dtype=torch.float64):
    """Numbers far enough apart for a finite difference, none near zero."""
    n = int(np.prod(shape))
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    return ((order.to(torch.float64) - n / 2 + 0.3) / n + 0.01 * seed).reshape(shape).to(dtype).to(device)


def updates_for(function, data, indices, options, mode):
    like = getattr(gs, function.replace("scatter", "gather"))
    shape = like(data, indices, mode="clip" if mode == "drop" else mode, **options).shape
    return distinct(*shape, seed=7, device=data.device, dtype=data.dtype)


@on_devices
@pytest.mark.parametrize("mode", ["raise", "clip", "wrap", "fill", "promise_in_bounds"])
@pytest.mark.parametrize("function", GEOMETRIES)
def test_gradients_of_gathers(function, mode, device):
    shape, indices, options = geometry(function, mode, device)
    data = distinct(*shape, device=device).requires_grad_()

    def call(data):
        return getattr(gs, function)(data, indices, mode=mode, **options)

    assert call(data.detach()).equal(call(data))
    assert gradcheck(call, data, check_forward_ad=True)
    assert gradgradcheck(call, data)


@on_devices
@pytest.mark.parametrize("mode", ["raise", "drop"])
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduction", REDUCTIONS)
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


@on_devices
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


@on_devices
@pytest.mark.parametrize("reduction", REDUCTIONS)
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


@on_devices
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


# torch.compile


@on_devices
@pytest.mark.parametrize("backend", ["aot_eager"])
@pytest.mark.parametrize("mode", ["raise", "clip", "wrap", "fill", "promise_in_bounds"])
@pytest.mark.parametrize("function", GEOMETRIES)
def test_gathers_compile(function, mode, backend, device):
    shape, indices, options = geometry(function, mode, device)
    data = distinct(*shape, device=device).requires_grad_()

    def call(data, indices):
        return getattr(gs, function)(data, indices, mode=mode, **options) * 2

    compiled = torch.compile(call, fullgraph=True, backend=backend)
    for _ in range(2):
        assert compiled(data, indices).equal(call(data, indices))
    compiled(data, indices).sum().backward()
    expected = torch.autograd.grad(call(data, indices).sum(), data)[0]
    assert data.grad.equal(expected)


@on_devices
@pytest.mark.parametrize("mode", ["raise", "clip", "wrap", "drop", "promise_in_bounds"])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_scatters_compile(reduction, mode, device):
    shape, indices, options = geometry("scatter_nd", mode, device)
    data = distinct(*shape, device=device).requires_grad_()
    updates = updates_for("scatter_nd", data.detach(), indices, options, mode).requires_grad_()

    def call(data, indices, updates):
        return gs.scatter_nd(data, indices, updates, mode=mode, reduction=reduction, include_self=False) * 2

    compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(data, indices, updates), call(data, indices, updates))
    found = torch.autograd.grad(compiled(data, indices, updates).sum(), (data, updates))
    expected = torch.autograd.grad(call(data, indices, updates).sum(), (data, updates))
    torch.testing.assert_close(found, expected)


def test_a_compiled_graph_raises():
    compiled = torch.compile(gs.gather_nd, fullgraph=True, backend="aot_eager")
    data, indices = torch.arange(4.0), torch.tensor([[0], [3]])
    assert compiled(data, indices).tolist() == [0, 3]
    with pytest.raises(IndexError, match=r"^gather_nd: indices\[1\] = \(4,\) is out of bounds"):
        compiled(data, indices + 1)


@pytest.mark.compiler
def test_inductor_keeps_the_order_of_sums():
    data = torch.from_numpy(numbers((64,), np.dtype("f4"), 3))
    updates = torch.from_numpy(numbers((100_000,), np.dtype("f4"), 3))
    indices = torch.from_numpy(np.random.default_rng(0).integers(0, 64, (100_000, 1)))

    def call(data, indices, updates):
        return gs.scatter_nd(data, indices, updates.abs(), reduction="add")

    compiled = torch.compile(call, fullgraph=True)
    for _ in range(3):
        assert compiled(data, indices, updates).equal(call(data, indices, updates))


def test_shapes_may_change_in_a_compiled_graph():
    compiled = torch.compile(gs.gather_nd, fullgraph=True, dynamic=True, backend="aot_eager")
    for n in (3, 5, 8):
        data, indices = torch.arange(2.0 * n).reshape(n, 2), torch.arange(n)[:, None]
        assert compiled(data, indices).equal(data)


def test_the_first_call_may_be_a_compiled_one():
    code = (
        "import warnings; warnings.simplefilter('error', UserWarning)\n"
        "import torch, gatherscatter as gs\n"
        "call = torch.compile(gs.scatter_nd, fullgraph=True, backend='aot_eager')\n"
        "print(call(torch.zeros(3), torch.tensor([[0], [2]]), torch.ones(2), reduction='add').tolist())\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout == "[1.0, 0.0, 1.0]\n", run.stderr


def test_export():
    class Lookup(torch.nn.Module):
        def forward(self, table, rows):
            return gs.gather(table, rows)

    table, rows = torch.arange(6.0).reshape(3, 2), torch.tensor([2, 0])
    program = torch.export.export(Lookup(), (table, rows))
    assert program.module()(table, rows).equal(table[rows])


@pytest.mark.filterwarnings("ignore:.torch.jit.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
def test_traces_keep_the_call():
    from torch.fx.experimental.proxy_tensor import make_fx

    data, indices = torch.arange(4.0), torch.tensor([0, 3])

    def call(data, indices):
        return gs.scatter(data, indices, gs.gather(data, indices, mode="clip"), reduction="add", mode="drop")

    for traced in (make_fx(call)(data, indices), torch.jit.trace(call, (data, indices), check_trace=False)):
        other = torch.tensor([1, 1])
        assert traced(data * 2, other).equal(call(data * 2, other))


# Shapes without numbers


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_meta_tensors_have_shapes(reduction):
    data, indices = torch.empty(4, 3, device="meta"), torch.empty(5, 1, dtype=torch.int64, device="meta")
    result = gs.gather_nd(data, indices)
    assert result.is_meta
    assert result.shape == (5, 3)
    result = gs.scatter_nd(data, indices, result, reduction=reduction)
    assert result.is_meta
    assert result.shape == (4, 3)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_fake_tensors_have_shapes(reduction):
    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

    with FakeTensorMode():
        data, indices = torch.empty(4, 3), torch.empty(5, 1, dtype=torch.int64)
        result = gs.gather_nd(data, indices)
        assert isinstance(result, FakeTensor)
        assert result.shape == (5, 3)
        result = gs.scatter_nd(data, indices, result, reduction=reduction)
        assert isinstance(result, FakeTensor)
        assert result.shape == (4, 3)


# Memory and what comes in


def test_cpu_tensors_share_their_memory_with_the_kernels(monkeypatch):
    from gatherscatter.backends import torch as backend

    seen = []
    gather = backend.kernels.gather
    monkeypatch.setattr(backend.kernels, "gather", lambda data, *rest: seen.append(data) or gather(data, *rest))
    data = torch.arange(12.0).reshape(3, 4).T
    assert gs.gather(data, torch.tensor([3, 1]), mode="clip").tolist() == data[[3, 1]].tolist()
    assert seen[0].ctypes.data == data.data_ptr()
    assert seen[0].strides == (4, 16)
    gs.gather(data.requires_grad_(), torch.tensor([3, 1]), mode="clip")
    assert len(seen) == 1  # a gradient is PyTorch's
    with torch.no_grad():
        gs.gather(data, torch.tensor([3, 1]), mode="clip")
    assert len(seen) == 2


def test_views_that_numpy_does_not_know():
    data = torch.complex(torch.arange(4.0), torch.arange(4.0) + 1)
    indices = torch.tensor([3, 0])
    assert gs.gather(data.conj(), indices).equal(data.conj()[indices])
    assert gs.gather(data.conj().imag, indices).equal(data.conj().imag[indices])
    with torch.inference_mode():
        assert gs.gather(data, indices).equal(data[indices])


def test_parameters_and_subclasses():
    parameter = torch.nn.Parameter(torch.arange(3.0))
    result = gs.gather(parameter, torch.tensor([2]))
    assert result.requires_grad
    with torch.no_grad():
        assert gs.gather(parameter, torch.tensor([2])).tolist() == [2]

    class Own(torch.Tensor):
        pass

    own, indices = torch.arange(3.0).as_subclass(Own), torch.tensor([2]).as_subclass(Own)
    for _ in range(3):  # by the ladder, and then by what it remembers
        result = gs.gather(own, indices)
        assert type(result) is Own
        assert result.tolist() == [2]
        assert type(gs.scatter(own, indices, own[:1])) is Own


@on_devices
@pytest.mark.parametrize("mode", ["raise", "clip", "wrap", "fill"])
def test_uint64_indices(mode, device):
    data = torch.arange(10.0, device=device).requires_grad_()  # by primitives, which have no uint64
    values = [3, 9] if mode == "raise" else [3, 2**64 - 1, 2**63, 12]
    indices = torch.tensor(values, dtype=torch.uint64, device=device)
    expected = gs.gather(np.arange(10.0), np.array(values, np.uint64), mode=mode)
    assert gs.gather(data, indices, mode=mode).tolist() == expected.tolist()
    assert gs.gather_nd(data, indices[:, None], mode=mode).tolist() == expected.tolist()
    if mode == "raise":
        with pytest.raises(IndexError, match=rf"indices\[0\] = {2**64 - 1} is out of bounds"):
            gs.gather(data, torch.tensor([2**64 - 1], dtype=torch.uint64, device=device))


@on_devices
def test_an_index_outside_is_named(device):
    data = torch.zeros(4, 5, device=device)
    for grad_or_not in (False, True):
        data.requires_grad_(grad_or_not)
        with pytest.raises(IndexError) as caught:
            gs.gather_nd(data, torch.tensor([[0, 0], [2, 9]], device=device))
        message = "gather_nd: indices[1] = (2, 9) is out of bounds for data of shape (4, 5): axis 1 has size 5"
        assert str(caught.value) == message
        with pytest.raises(IndexError, match=r"^gather: indices\[1\] = -5 is out of bounds"):
            gs.gather(data, torch.tensor([0, -5], device=device))
    assert data.detach().sum().item() == 0  # the device still works


@on_devices
def test_out(device):
    data, indices = torch.arange(6.0, device=device).reshape(3, 2), torch.tensor([2, 0], device=device)
    out = torch.empty(2, 2, device=device)
    assert gs.gather(data, indices, out=out) is out
    assert out.tolist() == [[4, 5], [0, 1]]
    assert gs.scatter(data, indices, out, reduction="add", out=data) is data
    assert data.tolist() == [[0, 2], [2, 3], [8, 10]]
    before = data.clone()
    with pytest.raises(IndexError):
        gs.scatter(data, indices + 1, out, out=data)
    assert data.equal(before)
    overlapping = torch.arange(5.0, device=device)
    gs.gather(overlapping[:4], torch.tensor([3, 2, 1, 0], device=device), out=overlapping[1:])
    assert overlapping.tolist() == [0, 3, 2, 1, 0]


@on_devices
def test_lists_and_scalars(device):
    data = torch.tensor([1.5, 2.5], dtype=torch.bfloat16, device=device)
    assert gs.gather(data, [1]).device == data.device
    assert gs.gather(data, []).shape == (0,)
    assert gs.scatter(data, [1], 7).tolist() == [1.5, 7]
    assert gs.scatter(data, [1], [7.0], reduction="add").tolist() == [1.5, 9.5]
    assert gs.gather(data, [9], mode="fill", fill_value=0.5).tolist() == [0.5]
    assert gs.gather([1.0, 2.0], torch.tensor([1])).dtype is torch.float32  # as torch.tensor makes it
    with pytest.raises(TypeError, match=r"^gather: fill_value=1.5 cannot be held by data's dtype int64 unchanged"):
        gs.gather(torch.tensor([1], device=device), [9], mode="fill", fill_value=1.5)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda x: gs.gather(x, np.array([0])),
            TypeError,
            "gather: data is a torch.Tensor but indices is a numpy.ndarray; pass torch.asarray(indices)",
        ),
        (
            lambda x: gs.gather(x, torch.tensor([0.0])),
            TypeError,
            "gather: indices has dtype torch.float32, but indices are integers of 8 to 64 bits; "
            "pass indices.to(torch.int64)",
        ),
        (
            lambda x: gs.scatter(x, torch.tensor([0]), torch.tensor([0])),
            TypeError,
            "scatter: updates has dtype torch.int64, but data has torch.float32; pass updates.to(data.dtype)",
        ),
        (
            lambda x: gs.scatter(x, torch.tensor([0]), torch.zeros(2)),
            ValueError,
            "scatter: updates has shape (2,); pass shape (1,), or a Python scalar",
        ),
        (
            lambda x: gs.gather(x, torch.empty(1, dtype=torch.int64, device="meta")),
            ValueError,
            "gather: indices is on meta, but data is on cpu; move it there",
        ),
        (
            lambda x: gs.gather(x.to_sparse(), torch.tensor([0])),
            NotImplementedError,
            "gather: the PyTorch backend cannot do a tensor of layout torch.sparse_coo: pass tensor.to_dense()",
        ),
        (
            lambda x: gs.scatter(x.to(torch.float8_e5m2), torch.tensor([0]), 1, reduction="add"),
            TypeError,
            "scatter: reduction='add' is not for dtype torch.float8_e5m2; "
            "convert data and updates to one that it takes: bool, int8, int16, int32, int64, "
            "uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64, complex64, complex128",
        ),
        (
            lambda x: gs.gather(x, torch.tensor([0]), out=np.zeros(1)),
            TypeError,
            "gather: out is a numpy.ndarray; pass a torch.Tensor",
        ),
    ],
)
def test_message(call, kind, message):
    with pytest.raises(kind) as caught:
        call(torch.zeros(3))
    assert str(caught.value) == message


def test_float8_moves():
    data = torch.tensor([1.0, 2.0, 3.0]).to(torch.float8_e4m3fn)
    assert gs.gather(data, torch.tensor([2, 0])).float().tolist() == [3, 1]
    assert gs.scatter(data, torch.tensor([2]), data[:1]).float().tolist() == [1, 2, 1]


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_bfloat16_without_ml_dtypes(reduction, monkeypatch):
    """PyTorch does not bring ml_dtypes: then bfloat16 goes by primitives, to the same result."""
    from gatherscatter.backends import torch as backend

    monkeypatch.delitem(backend._NUMPY_DTYPES, torch.bfloat16)
    monkeypatch.delitem(backend._CARRIED, torch.bfloat16)
    dtype = np.dtype(ml_dtypes.bfloat16)
    data, updates = np.arange(4).astype(dtype), np.arange(6).astype(dtype)  # small: no sum rounds
    indices = np.array([1, 1, 0, -1, 1, 2])
    expected = gs.scatter(data, indices, updates, reduction=reduction)
    tensors = [torch.from_numpy(a.astype(np.float32)).to(torch.bfloat16) for a in (data, updates)]
    result = gs.scatter(tensors[0], torch.from_numpy(indices), tensors[1], reduction=reduction)
    assert_same_numbers(from_torch(result), expected)
    assert gs.gather(tensors[0], [1], mode="fill", fill_value=0.5).tolist() == [1]
