"""PyTorch Geometric on gatherscatter, compared with its own functions; and examples/graph_network.py."""

import contextlib
import functools
import importlib
import importlib.util
import sys
import warnings
from collections import Counter
from pathlib import Path

import pytest
import torch

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of torch.jit.script, which it decorates classes with
    import torch_geometric
    from gatherscatter.integrations import torch_geometric as integration
    from gatherscatter.integrations.torch_geometric import disable, enable, enabled
    from torch_geometric import nn, utils

pytestmark = pytest.mark.peers

EXAMPLE = Path(__file__).parents[2] / "examples" / "graph_network.py"
REDUCTIONS = ("sum", "add", "mean", "mul", "min", "max")
SHAPES = {0: (40, 3), 1: (2, 40, 3), -1: (3, 2, 40)}  # by dim, which has 40 elements
FLOATS = (torch.float32, torch.float64)
ROUNDED = {
    torch.float32: {"rtol": 1e-6, "atol": 1e-20},
    torch.float64: {"rtol": 1e-14, "atol": 1e-25},
}  # of exponentials
N_NODES, N_EDGES, N_FEATURES = 30, 90, 6


def load_example():
    spec = importlib.util.spec_from_file_location("graph_network", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, spec.name, module)  # where its data classes look for their names
        spec.loader.exec_module(module)
    return module


example = load_example()


def numbers(shape, dtype=torch.float32, seed=0, ties=False):
    """Numbers of either sign; or small integers, of which many are equal and some are 0."""
    generator = torch.Generator().manual_seed(seed)
    if ties or not dtype.is_floating_point:
        return torch.randint(-2, 3, shape, generator=generator).to(dtype)
    return torch.randn(shape, generator=generator, dtype=dtype)


def groups(n, n_groups, seed=0):
    """Group of each of n elements: the odd ones stay empty except the second last."""
    index = 2 * torch.randint(0, (n_groups + 1) // 2, (n,), generator=torch.Generator().manual_seed(seed))
    return index.clamp(max=n_groups - 2)


def with_gradients(function, *leaves):
    """The value, and the gradients of the leaves for weights that differ by element."""
    leaves = [leaf.clone().requires_grad_() for leaf in leaves]
    value = function(*leaves)
    weights = torch.linspace(1, 2, value.numel(), dtype=value.dtype).reshape(value.shape)
    return value.detach(), torch.autograd.grad((value * weights).sum(), leaves)


def assert_same(theirs, ours, *leaves, **tolerance):
    """Equal to the bit in value, or within a tolerance, with a gradient wanted and without; close in gradients."""
    tolerance = tolerance or {"rtol": 0, "atol": 0}
    expected, expected_gradients = with_gradients(theirs, *leaves)
    found, found_gradients = with_gradients(ours, *leaves)
    for value in (found, ours(*leaves)):
        torch.testing.assert_close(value, expected, **tolerance)
    torch.testing.assert_close(found_gradients, expected_gradients)


@pytest.fixture(autouse=True)
def takes_small_tensors(request, monkeypatch):
    """Let gatherscatter compute small tensors with a gradient, too."""
    if "by_size" not in request.node.name:
        monkeypatch.setattr(integration, "_FEWEST", dict.fromkeys(integration._FEWEST, 0))


@contextlib.contextmanager
def counted():
    """Enabled; a count of the calls that came, and of those that went on to PyTorch Geometric's functions."""
    calls = Counter()

    def counting(name, function):
        def call(*arguments):
            calls[name.removeprefix("_")] += 1
            return function(*arguments)

        return call

    with pytest.MonkeyPatch.context() as patch, enabled():
        for name in ("_scatter", "_segment", "_softmax", "_select", "pyg_scatter", "pyg_segment", "pyg_softmax"):
            patch.setattr(integration, name, counting(name, getattr(integration, name)))
        patch.setattr(integration, "_pyg_index_select", counting("pyg_select", integration._pyg_index_select))
        yield calls


def is_ours(function, *arguments):
    """Whether gatherscatter computes a call."""
    with counted() as calls:
        function(*arguments)
    return not any(name.startswith("pyg_") for name in calls)


# scatter


@pytest.mark.parametrize("reduce", ["sum", "mean", "max"])
def test_scatter_by_size(reduce):
    """With a gradient, small sums and means are PyTorch Geometric's; maxima have one rule for all sizes."""
    for n, takes in ((100, reduce == "max"), (1 << 19, True)):
        scatter = functools.partial(lambda index, src: utils.scatter(src, index, 0, 50, reduce), torch.arange(n) % 50)
        assert is_ours(scatter, torch.rand(n))
        assert is_ours(scatter, torch.rand(n).requires_grad_()) == takes


@pytest.mark.parametrize("dim_size", [None, 9])
@pytest.mark.parametrize("dim", SHAPES)
@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_scatter(dtype, reduce, dim, dim_size):
    index = groups(40, 8)
    assert len(index.unique()) < int(index.max()) + 1  # there are empty rows
    for ties in (False, True):
        assert_same(
            lambda src: utils.scatter(src, index, dim, dim_size, reduce),
            lambda src: integration.scatter(src, index, dim, dim_size, reduce),
            numbers(SHAPES[dim], dtype, ties=ties),
        )


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_scatter_of_integers(reduce):
    src, index = numbers((40, 3), torch.int64), groups(40, 8)
    expected = utils.scatter(src, index, 0, 9, reduce)
    torch.testing.assert_close(integration.scatter(src, index, 0, 9, reduce), expected, rtol=0, atol=0)


@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("shape", [(20_000,), (20_000, 16)])
def test_scatter_of_many(shape, reduce):
    """As many as PyTorch sorts by their row, or gives to several threads."""
    index = groups(20_000, 3_000)
    assert_same(
        lambda src: utils.scatter(src, index, 0, 3_001, reduce),
        lambda src: integration.scatter(src, index, 0, 3_001, reduce),
        numbers(shape),
    )


def test_scatter_any():
    """PyTorch Geometric leaves open which of the elements it is."""
    index, src = groups(40, 8), torch.arange(1.0, 41)
    for found in (utils.scatter(src, index, 0, 9, "any"), integration.scatter(src, index, 0, 9, "any")):
        for i, value in enumerate(found):
            assert value in (src[index == i] if i in index else torch.zeros(1))


@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("dim_size", [None, 3])
def test_scatter_of_nothing(reduce, dim_size):
    src, index = torch.ones(0, 2), torch.ones(0, dtype=torch.int64)
    expected = utils.scatter(src, index, 0, dim_size, reduce)
    torch.testing.assert_close(integration.scatter(src, index, 0, dim_size, reduce), expected, rtol=0, atol=0)


@pytest.mark.parametrize("function", [utils.scatter, integration.scatter])
def test_scatter_refuses(function):
    src = torch.ones(4)
    with pytest.raises(ValueError, match="must be one-dimensional"):
        function(src, torch.zeros(1, 4, dtype=torch.int64))
    with pytest.raises(ValueError, match="invalid `reduce`"):
        function(src, torch.zeros(4, dtype=torch.int64), reduce="median")
    with pytest.raises((IndexError, RuntimeError), match="out of bounds"):
        function(src, torch.tensor([0, 1, 2, 3]), dim_size=3)


# segment and softmax


@pytest.mark.parametrize("reduce", ["sum", "mean", "min", "max"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_segment(dtype, reduce):
    ptr = torch.tensor([0, 5, 5, 6, 28, 40])
    src = numbers((40, 3), dtype)
    assert_same(lambda x: utils.segment(x, ptr, reduce), lambda x: integration.segment(x, ptr, reduce), src)


@pytest.mark.parametrize("reduce", ["sum", "mean", "min", "max"])
def test_difference_pointers_of_another_axis(reduce):
    """PyTorch Geometric alone rejects this call, because it needs torch_scatter."""
    ptr, src = torch.tensor([[0, 5, 5, 6, 28, 40]]), numbers((2, 40, 3))
    with pytest.raises(ImportError, match="torch-scatter"):
        utils.segment(src, ptr, reduce)
    expected = torch.stack([utils.segment(part, ptr[0], reduce) for part in src])
    torch.testing.assert_close(integration.segment(src, ptr, reduce), expected, rtol=0, atol=0)


@pytest.mark.parametrize("num_nodes", [None, 9])
@pytest.mark.parametrize("dim", SHAPES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax_by_index(dtype, dim, num_nodes):
    index = groups(40, 8)
    assert_same(
        lambda src: utils.softmax(src, index, num_nodes=num_nodes, dim=dim),
        lambda src: integration.softmax(src, index, num_nodes=num_nodes, dim=dim),
        30 * numbers(SHAPES[dim], dtype),
        **ROUNDED[dtype],
    )


@pytest.mark.parametrize("and_index", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax_by_ptr(dtype, and_index):
    ptr = torch.tensor([0, 5, 5, 6, 28, 40])
    index = torch.arange(5).repeat_interleave(ptr.diff()) if and_index else None
    src = numbers((40, 3), dtype)
    assert_same(
        lambda x: utils.softmax(x, index, ptr), lambda x: integration.softmax(x, index, ptr), src, **ROUNDED[dtype]
    )


@pytest.mark.parametrize("dim", [1, -1])
def test_softmax_by_ptr_of_another_axis(dim):
    """PyTorch Geometric alone rejects this call, because it needs torch_scatter."""
    ptr, src = torch.tensor([0, 5, 5, 6, 28, 40]), numbers((3, 40))
    with pytest.raises(ImportError, match="torch-scatter"):
        utils.softmax(src, ptr=ptr, dim=dim)
    expected = torch.cat([piece.softmax(dim=1) for piece in src.tensor_split(ptr[1:-1], dim=1)], dim=1)
    torch.testing.assert_close(integration.softmax(src, ptr=ptr, dim=dim), expected)


@pytest.mark.parametrize("function", [utils.softmax, integration.softmax])
def test_softmax_needs_groups(function):
    with pytest.raises(NotImplementedError, match="'softmax' requires 'index'"):
        function(torch.ones(3))


# Layers


LAYERS = {
    # layer, and how often scatter, segment, softmax and index_select are called
    "GCN": (lambda: nn.GCNConv(N_FEATURES, 4), (2, 0, 0, 1)),
    "SAGE, mean": (lambda: nn.SAGEConv(N_FEATURES, 4, aggr="mean"), (1, 0, 0, 1)),
    "SAGE, max": (lambda: nn.SAGEConv(N_FEATURES, 4, aggr="max"), (1, 0, 0, 1)),
    "SAGE, many": (lambda: nn.SAGEConv(N_FEATURES, 4, aggr=["mean", "std", "min"]), (3, 0, 0, 1)),
    "SAGE, softmax": (lambda: nn.SAGEConv(N_FEATURES, 4, aggr=nn.SoftmaxAggregation(learn=True)), (1, 0, 1, 1)),
    "GIN": (lambda: nn.GINConv(torch.nn.Linear(N_FEATURES, 4)), (1, 0, 0, 1)),
    "GAT": (lambda: nn.GATConv(N_FEATURES, 4, heads=2), (1, 0, 1, 3)),
    "GATv2": (lambda: nn.GATv2Conv(N_FEATURES, 4, heads=2), (1, 0, 1, 3)),
    "Transformer": (lambda: nn.TransformerConv(N_FEATURES, 4, heads=2), (1, 0, 1, 3)),
}


def some_edges():
    """Random ones, of which none leads to the last node."""
    generator = torch.Generator().manual_seed(1)
    ends = torch.tensor([[N_NODES], [N_NODES - 1]])
    return (torch.rand(2, N_EDGES, generator=generator) * ends).to(torch.int64)


def outcome(layer, edges):
    """The layer's output, and the gradients of the features and of all weights."""
    features = numbers((N_NODES, N_FEATURES)).requires_grad_()
    output = layer(features, edges)
    weights = torch.linspace(1, 2, output.numel()).reshape(output.shape)
    gradients = torch.autograd.grad((output * weights).sum(), [features, *layer.parameters()])
    return output.detach(), gradients


def both_ways(layer, edges):
    expected, expected_gradients = outcome(layer, edges)
    with counted() as calls:
        found, found_gradients = outcome(layer, edges)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(found_gradients, expected_gradients)
    assert set(calls) <= {"scatter", "segment", "softmax", "select"}  # none went on to PyTorch Geometric
    return [calls[name] for name in ("scatter", "segment", "softmax", "select")]


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    make, expected_calls = LAYERS[name]
    torch.manual_seed(0)
    assert both_ways(make(), some_edges()) == list(expected_calls)


def test_sorted_edges():
    """Of which PyTorch Geometric knows the ranges, and gives them to the softmax."""
    torch.manual_seed(0)
    layer = nn.GATConv(N_FEATURES, 4, add_self_loops=False)
    edges = torch_geometric.EdgeIndex(some_edges(), sparse_size=(N_NODES, N_NODES)).sort_by("col").values
    assert edges.is_sorted_by_col
    assert both_ways(layer, edges) == [1, 0, 1, 3]


@pytest.mark.parametrize("reduce", ["sum", "mean", "max"])
def test_pooling_by_ranges(reduce):
    """The nodes of several graphs, each of which lie side by side."""
    ptr, src = torch.tensor([0, 5, 6, 28, 40]), numbers((40, 3))
    pool = nn.resolver.aggregation_resolver(reduce)
    expected = pool(src, ptr=ptr)
    with counted() as calls:
        found = pool(src, ptr=ptr)
    torch.testing.assert_close(found, expected, rtol=0, atol=0)
    assert calls == {"segment": 1, "scatter": 1}


def test_bad_edges_are_errors_of_the_same_kind():
    layer, features = nn.SAGEConv(N_FEATURES, 4), numbers((N_NODES, N_FEATURES))
    for way in (contextlib.nullcontext, enabled):
        with way(), pytest.raises(IndexError):
            layer(features, torch.tensor([[N_NODES], [0]]))
        # Raised by PyTorch Geometric, from the error of the scatter.
        with way(), pytest.raises(ValueError, match="invalid 'dim_size'"):
            nn.SumAggregation()(features, torch.full((N_NODES,), 7), dim_size=7)


# What goes on to PyTorch Geometric


SRC, INDEX = torch.ones(4, 2), torch.tensor([0, 2, 0, 1])
ELSEWHERE = {
    "bool": (SRC.bool(), INDEX, 0, 3, "sum"),
    "complex": (SRC.to(torch.complex64), INDEX, 0, 3, "sum"),
    "mean of integers": (SRC.int(), INDEX, 0, 3, "mean"),
    "any": (SRC, INDEX, 0, 3, "any"),
    "no elements": (SRC[:0], INDEX[:0], 0, 3, "sum"),
    "another device": (SRC.to("meta"), INDEX.to("meta"), 0, 3, "sum"),
    "one index for all": (SRC, INDEX[:1], 0, 3, "mean"),
    "gradient of a product": (SRC.clone().requires_grad_(), INDEX, 0, 3, "mul"),
}


@pytest.mark.parametrize("case", ELSEWHERE)
def test_calls_that_go_on(case):
    assert not is_ours(integration.scatter, *ELSEWHERE[case])
    expected, found = utils.scatter(*ELSEWHERE[case]), integration.scatter(*ELSEWHERE[case])
    assert found.dtype == expected.dtype
    if case != "another device":
        torch.testing.assert_close(found, expected)


def test_calls_that_stay():
    for dtype in (torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.uint8):
        assert is_ours(integration.scatter, SRC.to(dtype), INDEX, 0, 3, "max")
    assert is_ours(integration.scatter, SRC, torch_geometric.Index(INDEX), 0, 3, "sum")
    assert is_ours(integration.softmax, SRC, INDEX)
    assert is_ours(integration.softmax, SRC, None, torch.tensor([0, 1, 4]))


@pytest.mark.parametrize("index", [[0, 1, 2, 3], [0, -1, 2, 1]])
@pytest.mark.parametrize("name", ["scatter", "softmax"])
def test_indices_out_of_bounds_are_pytorch_geometrics_error(name, index):
    arguments = (SRC, torch.tensor(index), *((0, 3, "mean") if name == "scatter" else (None, 3)))
    with pytest.raises((IndexError, RuntimeError)) as theirs:
        getattr(utils, name)(*arguments)
    with pytest.raises(theirs.type) as ours:
        getattr(integration, name)(*arguments)
    assert str(ours.value) == str(theirs.value)


def test_pointers_that_cover_all():
    covers = [integration._covers(torch.tensor(ptr), SRC, 0) for ptr in ([0, 2, 2, 4], [0, 3, 2, 4], [0, 2, 5])]
    assert covers == [True, False, False]


@pytest.mark.parametrize("ptr", [[0, 2, 3], [1, 2, 4]])
def test_pointers_that_do_not_cover_all_go_on(ptr):
    def outcome(function, *arguments):
        try:
            return function(*arguments).tolist()
        except RuntimeError as error:
            return str(error)

    src, ptr = torch.arange(1.0, 5), torch.tensor(ptr)
    for ours, theirs, arguments in (
        (integration.segment, utils.segment, (src, ptr, "sum")),
        (integration.softmax, utils.softmax, (src, None, ptr)),
    ):
        with counted() as calls:
            found = outcome(ours, *arguments)
        assert any(name.startswith("pyg_") for name in calls)
        assert found == outcome(theirs, *arguments)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_compilers_see_pytorch_geometrics_functions():
    layer, features = nn.SAGEConv(N_FEATURES, 4, aggr="max"), numbers((N_NODES, N_FEATURES))
    expected = layer(features, some_edges())
    with enabled():
        for compiled in (torch.jit.script(layer), torch.jit.trace(layer, (features, some_edges()))):
            assert "scatter_reduce" in str(compiled.inlined_graph)
            torch.testing.assert_close(compiled(features, some_edges()), expected)
        transformed = torch.func.grad(lambda x: layer(x, some_edges()).sum())(features)
    x = features.clone().requires_grad_()
    torch.testing.assert_close(transformed, torch.autograd.grad(layer(x, some_edges()).sum(), x)[0])


# Differences, which docs/pytorch-geometric.md lists


def test_difference_maxima_that_are_0_share_their_gradient():
    src = torch.tensor([0.0, 0, -1], requires_grad=True)
    shares = [
        torch.autograd.grad(scatter(src, torch.zeros(3, dtype=torch.int64), reduce="max").sum(), src)[0].tolist()
        for scatter in (utils.scatter, integration.scatter)
    ]
    assert shares == [pytest.approx([1 / 3, 1 / 3, 0]), [0.5, 0.5, 0]]


def test_difference_softmax_of_masked_groups():
    src, index = torch.tensor([-torch.inf, -torch.inf, 1]), torch.tensor([0, 0, 1])
    assert utils.softmax(src, index)[:2].isnan().all()
    assert integration.softmax(src, index).tolist() == [0, 0, 1]


def test_difference_infinite_maxima_of_ranges():
    src, ptr = torch.tensor([1, torch.inf]), torch.tensor([0, 2])
    assert utils.segment(src, ptr, "max").tolist() == [0]
    assert integration.segment(src, ptr, "max").tolist() == [torch.inf]


# What is replaced


def held():
    """All functions that the modules of PyTorch Geometric hold."""
    return {
        (name, attribute): value
        for name, module in sys.modules.items()
        if name.partition(".")[0] == "torch_geometric"
        for attribute, value in vars(module).items()
        if callable(value)
    } | {"method": nn.MessagePassing._index_select}


REPLACED = {
    "method",
    ("torch_geometric.utils", "scatter"),
    ("torch_geometric.utils._scatter", "scatter"),
    ("torch_geometric.utils._softmax", "softmax"),
    ("torch_geometric.nn.aggr.base", "scatter"),
    ("torch_geometric.nn.aggr.base", "segment"),
    ("torch_geometric.nn.aggr.fused", "scatter"),
    ("torch_geometric.nn.conv.gcn_conv", "scatter"),
    ("torch_geometric.nn.conv.gat_conv", "softmax"),
}


def test_all_is_put_back():
    before, within = held(), {}

    def run():
        with enabled():
            within.update(held())
            raise RuntimeError("within")

    with pytest.raises(RuntimeError, match="within"):
        run()
    assert held() == before
    replaced = {key for key, value in within.items() if value is not before[key]}
    assert replaced >= REPLACED
    originals = [utils.scatter, utils.segment, utils.softmax, nn.MessagePassing._index_select]
    assert replaced == {key for key, value in before.items() if any(value is one for one in originals)}


def test_twice_and_within():
    before = held()
    enable()
    enable()
    once = held()
    with enabled():
        assert held() == once
    assert held() == once
    assert once != before
    disable()
    assert held() == before
    disable()
    assert held() == before


def test_modules_that_are_imported_later():
    with pytest.MonkeyPatch.context() as patch, enabled():
        patch.delitem(sys.modules, "torch_geometric.utils._spmm")
        later = importlib.import_module("torch_geometric.utils._spmm")
        assert later.scatter is integration.scatter
        disable()
        assert later.scatter is utils.scatter is integration.pyg_scatter


def test_a_function_of_another_signature_stays(monkeypatch):
    def scatter(src, index, dim=0, dim_size=None, reduce="sum", out=None): ...

    monkeypatch.setitem(integration._FUNCTIONS, "torch_geometric.utils.scatter", (scatter, integration.scatter))
    before = utils.scatter
    with pytest.warns(UserWarning, match="torch_geometric.utils.scatter has the parameters .*left as it was") as told:
        enable()
    assert len(told) == 1
    assert utils.scatter is before
    assert utils.softmax is integration.softmax
    disable()
    assert utils.softmax is integration.pyg_softmax


# The example

SMALL = ("--nodes=300", "--edges=3000", "--features=16", "--steps=5")


def test_the_example_runs(tmp_path, capsys):
    results = example.main([*SMALL, f"--out={tmp_path / 'picture.png'}"])
    printed = capsys.readouterr().out
    assert list(results) == list(example.LAYERS)
    for name, runs in results.items():
        assert f"\n{name} " in printed
        theirs, ours = runs[example.THEIRS], runs[example.OURS]
        assert len(theirs.losses) == len(ours.losses) == 5
        assert min(ours.losses[1:]) < ours.losses[0]
        assert theirs.module.startswith("torch_geometric.")
    assert (tmp_path / "picture.png").stat().st_size > 10_000


def test_the_example_can_be_learnt_from():
    graph = example.planted_graph(400, 4000, 32)
    assert graph.edges.shape == (2, 4000)
    ends = graph.classes[graph.edges]
    # Those drawn from one class, and of the others one in as many as there are classes.
    expected = example.WITHIN + (1 - example.WITHIN) / example.N_CLASSES
    assert (ends[0] == ends[1]).float().mean().item() == pytest.approx(expected, abs=0.05)
    assert example.train("SAGE, mean", graph, 30)[example.OURS].accuracy > 0.7


@pytest.mark.parametrize("function", ["_scatter", "_select"])
def test_the_example_finds_a_fault(function, monkeypatch):
    """A result that is off by a hundredth makes it fail."""
    right = getattr(integration, function)
    monkeypatch.setattr(integration, function, lambda *arguments: right(*arguments) * 1.01)
    graph = example.planted_graph(100, 1000, 16)
    runs = example.train("SAGE, mean", graph, 3)
    with pytest.raises(AssertionError, match=r"SAGE, mean: the losses differ\. Tensor-likes are not close"):
        example.check("SAGE, mean", runs)


def test_the_example_finds_that_nothing_was_replaced(monkeypatch):
    monkeypatch.setattr(example, "enabled", contextlib.nullcontext)
    graph = example.planted_graph(100, 1000, 16)
    runs = example.train("GCN", graph, 2)
    with pytest.raises(SystemExit, match=r"GCN: the scatter was that of torch_geometric\.utils"):
        example.check("GCN", runs)
