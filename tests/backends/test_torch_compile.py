"""PyTorch: torch.compile, torch.export, and traces."""

import os
import shutil
import subprocess
import sys

import gatherscatter as gs
import numpy as np
import pytest
import torch
from constants import FLOAT_REDUCTIONS, GATHER_MODES, SCATTER_MODES
from gatherscatter import dispatch
from libraries import needs
from strategies import numbers
from torch_cases import GEOMETRIES, distinct, each_device, geometry, updates_for

# What PyTorch says of its own doings in torch.compile.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.torch.jit.* is deprecated"),
    pytest.mark.filterwarnings("ignore:.*autograd.function.Function.* should not be instantiated:DeprecationWarning"),
]


@pytest.fixture(autouse=True)
def _nothing_compiled():
    torch.compiler.reset()


@each_device
@pytest.mark.parametrize("backend", ["aot_eager"])
@pytest.mark.parametrize("mode", GATHER_MODES)
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


@each_device
@pytest.mark.parametrize(
    ("mode", "reduction"),
    # By default two or more of each mode, and of each reduction.
    [
        pytest.param(mode, reduction, marks=[] if (i - j) % 3 == 0 else pytest.mark.slow)
        for i, mode in enumerate(SCATTER_MODES)
        for j, reduction in enumerate(FLOAT_REDUCTIONS)
    ],
)
def test_scatters_compile(mode, reduction, device):
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


@pytest.mark.slow
@pytest.mark.compiler
@needs(any(map(shutil.which, (os.environ.get("CXX", "c++"), "g++", "clang++", "cl"))), "there is no C++ compiler")
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


EAGER = """
x = torch.arange(4.0, requires_grad=True)
at = torch.tensor([1])
gs.gather(x, at).sum().backward()
for reduction in ("none", "add", "mul", "max", "mean"):
    gs.scatter(x, at, x[:1], reduction=reduction).sum().backward()
large = torch.ones(200_000, requires_grad=True)
gs.scatter_nd(large, at[:, None], gs.gather(large, at, mode="clip"), reduction="mul").sum().backward()
torch.func.vmap(lambda row: gs.gather(row, at))(torch.ones(3, 4))
gs.gather(x.detach(), at, out=torch.empty(1))
gs.gather(x.to("meta"), at.to("meta"))
print("torch._dynamo" in sys.modules)
"""
COMPILED = """
warnings.simplefilter("error", UserWarning)
call = torch.compile(gs.scatter_nd, fullgraph=True, backend="aot_eager")
print(call(torch.zeros(3), torch.tensor([[0], [2]]), torch.ones(2), reduction="add").tolist())
"""
# An embedding: nothing was called before that a trace could do without.
PARAMETER = """
class Lookup(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Parameter(torch.arange(6.0).reshape(3, 2))
    def forward(self, rows):
        return gs.gather(self.table, rows)
model, rows = Lookup(), torch.tensor([2, 0])
"""
PARAMETER_COMPILED = PARAMETER + "print(torch.compile(model, fullgraph=True, backend='aot_eager')(rows).tolist())"
PARAMETER_EXPORTED = PARAMETER + "print(torch.export.export(model, (rows,), strict=True).module()(rows).tolist())"
FIRST_CALLS = {
    EAGER: "False",  # no call outside of torch.compile loads it
    COMPILED: "[1.0, 0.0, 1.0]",
    PARAMETER_COMPILED: "[[4.0, 5.0], [0.0, 1.0]]",
    PARAMETER_EXPORTED: "[[4.0, 5.0], [0.0, 1.0]]",
}
EACH_IN_A_PROCESS = """
import os, sys, traceback, warnings
import torch
for number, code in enumerate(CODES):
    if number == 1:
        import torch._dynamo  # once for the children that follow
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        continue
    try:
        import gatherscatter as gs
        exec(code)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    os._exit(0)
"""


@pytest.mark.slow
@needs(hasattr(os, "fork"), "processes cannot be forked here")
def test_first_calls():
    """Whatever the first call of a process is. PyTorch, which takes long to import, is imported once for all."""
    code = EACH_IN_A_PROCESS.replace("CODES", repr(list(FIRST_CALLS)))
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout.splitlines() == list(FIRST_CALLS.values()), run.stderr


def test_values_outside_and_scalar_updates_compile():
    data, indices = torch.zeros(4), torch.tensor([0, 9])
    for number in (2, 2.5, 0, True):

        def filled(data, indices, number=number):
            return gs.gather(data, indices, mode="fill", fill_value=number)

        def updated(data, indices, number=number):
            return gs.scatter(data, indices, number, reduction="add", mode="drop")

        for call in (filled, updated):
            compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
            assert compiled(data, indices).equal(call(data, indices))
    whole = torch.compile(lambda d, i: gs.scatter(d, i, 1.5, mode="drop"), backend="aot_eager")
    with pytest.raises(TypeError, match=r"updates=1.5 cannot be held by data's dtype"):
        whole(data.int(), indices)


def test_out_compiles():
    compiled = torch.compile(lambda d, i, o: gs.gather(d, i, out=o), fullgraph=True, backend="aot_eager")
    out = torch.zeros(2)
    assert compiled(torch.arange(4.0), torch.tensor([3, 1]), out).tolist() == [3, 1]
    assert out.tolist() == [3, 1]


@pytest.mark.parametrize("strict", [True, False])
def test_export_with_sizes_that_vary(strict, tmp_path):
    class Update(torch.nn.Module):
        def forward(self, data, indices, updates):
            return gs.scatter(gs.gather(data, indices), indices, updates, reduction="add", mode="drop")

    any_size = {0: torch.export.Dim.AUTO}
    data = torch.arange(8.0).reshape(4, 2)
    example = data, torch.tensor([0, 1]), torch.ones(2, 2)
    for kinds in [kinds for kinds in dispatch.known if torch.Tensor in kinds]:  # as in the program's first call
        del dispatch.known[kinds]
    program = torch.export.export(Update(), example, dynamic_shapes=(None, any_size, any_size), strict=strict)
    torch.export.save(program, tmp_path / "program.pt2")
    loaded = torch.export.load(tmp_path / "program.pt2").module()
    arguments = data, torch.tensor([3, 0, 1]), torch.ones(3, 2)
    assert loaded(*arguments).equal(Update()(*arguments))


def test_export():
    class Lookup(torch.nn.Module):
        def forward(self, table, rows):
            return gs.gather(table, rows)

    table, rows = torch.arange(6.0).reshape(3, 2), torch.tensor([2, 0])
    program = torch.export.export(Lookup(), (table, rows))
    assert program.module()(table, rows).equal(table[rows])


@pytest.mark.filterwarnings("ignore:.torch.jit.* is deprecated")
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
def test_traces_keep_the_call():
    from torch.fx.experimental.proxy_tensor import make_fx

    data, indices = torch.arange(4.0), torch.tensor([0, 3])

    def call(data, indices):
        return gs.scatter(data, indices, gs.gather(data, indices, mode="clip"), reduction="add", mode="drop")

    for traced in (make_fx(call)(data, indices), torch.jit.trace(call, (data, indices), check_trace=False)):
        other = torch.tensor([1, 1])
        assert traced(data * 2, other).equal(call(data * 2, other))
