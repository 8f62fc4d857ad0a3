"""PyTorch: torch.compile, torch.export, and traces."""

import itertools
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


# One program has the calls of all options: a program takes longer to compile than a call.


@each_device
@pytest.mark.parametrize("function", GEOMETRIES)
def test_gathers_compile(function, device):
    geometries = {mode: geometry(function, mode, device) for mode in GATHER_MODES}
    data = distinct(*geometries["raise"][0], device=device).requires_grad_()
    places = [indices for _, indices, _ in geometries.values()]

    def call(data, *places):
        for indices, (mode, (*_, options)) in zip(places, geometries.items(), strict=True):
            yield getattr(gs, function)(data, indices, mode=mode, **options) * 2

    compiled = torch.compile(lambda *arrays: tuple(call(*arrays)), fullgraph=True, backend="aot_eager")
    for _ in range(2):
        for found, expected in zip(compiled(data, *places), call(data, *places), strict=True):
            assert found.equal(expected)
            for one, other in zip(
                *(torch.autograd.grad(r.sum(), data, retain_graph=True) for r in (found, expected)), strict=True
            ):
                assert one.equal(other)


@each_device
@pytest.mark.parametrize("part", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2))])
def test_scatters_compile(part, device):
    """By default two or more of each mode, and of each reduction."""
    data = distinct(*GEOMETRIES["gather_nd"][0], device=device).requires_grad_()
    options, places = [], []
    for (i, mode), (j, reduction) in itertools.product(enumerate(SCATTER_MODES), enumerate(FLOAT_REDUCTIONS)):
        if (i - j) % 3 == part:
            options.append({"mode": mode, "reduction": reduction, "include_self": False})
            places.append(geometry("scatter_nd", mode, device)[1])
    updates = updates_for("scatter_nd", data.detach(), places[0], {}, "drop").requires_grad_()

    def call(data, updates, *places):
        for indices, words in zip(places, options, strict=True):
            yield gs.scatter_nd(data, indices, updates, **words) * 2

    compiled = torch.compile(lambda *arrays: tuple(call(*arrays)), fullgraph=True, backend="aot_eager")
    arrays = data, updates, *places
    for found, expected in zip(compiled(*arrays), call(*arrays), strict=True):
        torch.testing.assert_close(found, expected)
        one, other = (torch.autograd.grad(r.sum(), (data, updates), retain_graph=True) for r in (found, expected))
        torch.testing.assert_close(one, other)


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

    def call(data, indices):
        for number in (2, 2.5, 0, True):
            yield gs.gather(data, indices, mode="fill", fill_value=number)
            yield gs.scatter(data, indices, number, reduction="add", mode="drop")

    compiled = torch.compile(lambda *arrays: tuple(call(*arrays)), fullgraph=True, backend="aot_eager")
    for found, expected in zip(compiled(data, indices), call(data, indices), strict=True):
        assert found.equal(expected)
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
