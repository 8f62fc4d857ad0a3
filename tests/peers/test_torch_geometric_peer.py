"""PyTorch Geometric with gatherscatter's functions, as in examples/graph_network.py, compared with its own."""

import contextlib
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
    from torch_geometric import nn, utils

pytestmark = pytest.mark.peers

EXAMPLE = Path(__file__).parents[2] / "examples" / "graph_network.py"
REDUCTIONS = ("sum", "add", "mean", "mul", "min", "max")
SHAPES = {0: (40, 3), 1: (2, 40, 3), -1: (3, 2, 40)}  # by dim, which has 40 elements
FLOATS = (torch.float32, torch.float64)
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


def assert_same(theirs, ours, *leaves):
    """Equal to the bit in value, with a gradient wanted and without; close in gradients."""
    expected, expected_gradients = with_gradients(theirs, *leaves)
    found, found_gradients = with_gradients(ours, *leaves)
    for value in (found, ours(*leaves)):
        torch.testing.assert_close(value, expected, rtol=0, atol=0)
    torch.testing.assert_close(found_gradients, expected_gradients)


# scatter


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
            lambda src: example.scatter(src, index, dim, dim_size, reduce),
            numbers(SHAPES[dim], dtype, ties=ties),
        )


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_scatter_of_integers(reduce):
    src, index = numbers((40, 3), torch.int64), groups(40, 8)
    expected = utils.scatter(src, index, 0, 9, reduce)
    torch.testing.assert_close(example.scatter(src, index, 0, 9, reduce), expected, rtol=0, atol=0)


@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("shape", [(20_000,), (20_000, 16)])
def test_scatter_of_many(shape, reduce):
    """As many as PyTorch sorts by their row, or gives to several threads."""
    index = groups(20_000, 3_000)
    assert_same(
        lambda src: utils.scatter(src, index, 0, 3_001, reduce),
        lambda src: example.scatter(src, index, 0, 3_001, reduce),
        numbers(shape),
    )


def test_scatter_any():
    """PyTorch Geometric leaves open which of the elements it is."""
    index, src = groups(40, 8), torch.arange(1.0, 41)
    for found in (utils.scatter(src, index, 0, 9, "any"), example.scatter(src, index, 0, 9, "any")):
        for i, value in enumerate(found):
            assert value in (src[index == i] if i in index else torch.zeros(1))


@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("dim_size", [None, 3])
def test_scatter_of_nothing(reduce, dim_size):
    src, index = torch.ones(0, 2), torch.ones(0, dtype=torch.int64)
    expected = utils.scatter(src, index, 0, dim_size, reduce)
    torch.testing.assert_close(example.scatter(src, index, 0, dim_size, reduce), expected, rtol=0, atol=0)


@pytest.mark.parametrize("function", [utils.scatter, example.scatter])
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
    assert_same(lambda x: utils.segment(x, ptr, reduce), lambda x: example.segment(x, ptr, reduce), src)


@pytest.mark.parametrize("reduce", ["sum", "mean", "min", "max"])
def test_segment_of_another_axis(reduce):
    """PyTorch Geometric alone rejects this call, because it needs torch_scatter."""
    ptr, src = torch.tensor([[0, 5, 5, 6, 28, 40]]), numbers((2, 40, 3))
    with pytest.raises(ImportError, match="torch-scatter"):
        utils.segment(src, ptr, reduce)
    expected = torch.stack([utils.segment(part, ptr[0], reduce) for part in src])
    torch.testing.assert_close(example.segment(src, ptr, reduce), expected, rtol=0, atol=0)


@pytest.mark.parametrize("num_nodes", [None, 9])
@pytest.mark.parametrize("dim", SHAPES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax_by_index(dtype, dim, num_nodes):
    index = groups(40, 8)
    assert_same(
        lambda src: utils.softmax(src, index, num_nodes=num_nodes, dim=dim),
        lambda src: example.softmax(src, index, num_nodes=num_nodes, dim=dim),
        30 * numbers(SHAPES[dim], dtype),
    )


@pytest.mark.parametrize("and_index", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax_by_ptr(dtype, and_index):
    ptr = torch.tensor([0, 5, 5, 6, 28, 40])
    index = torch.arange(5).repeat_interleave(ptr.diff()) if and_index else None
    src = numbers((40, 3), dtype)
    assert_same(lambda x: utils.softmax(x, index, ptr), lambda x: example.softmax(x, index, ptr), src)


@pytest.mark.parametrize("dim", [1, -1])
def test_softmax_by_ptr_of_another_axis(dim):
    """PyTorch Geometric alone rejects this call, because it needs torch_scatter."""
    ptr, src = torch.tensor([0, 5, 5, 6, 28, 40]), numbers((3, 40))
    with pytest.raises(ImportError, match="torch-scatter"):
        utils.softmax(src, ptr=ptr, dim=dim)
    expected = torch.cat([piece.softmax(dim=1) for piece in src.tensor_split(ptr[1:-1], dim=1)], dim=1)
    torch.testing.assert_close(example.softmax(src, ptr=ptr, dim=dim), expected)


@pytest.mark.parametrize("function", [utils.softmax, example.softmax])
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
    with example.on_gatherscatter() as calls:
        found, found_gradients = outcome(layer, edges)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(found_gradients, expected_gradients)
    return [calls[name] for name in ("scatter", "segment", "softmax", "index_select")]


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
    with example.on_gatherscatter() as calls:
        found = pool(src, ptr=ptr)
    torch.testing.assert_close(found, expected, rtol=0, atol=0)
    assert calls == {"segment": 1}


def test_bad_edges_are_errors_of_the_same_kind():
    layer, features = nn.SAGEConv(N_FEATURES, 4), numbers((N_NODES, N_FEATURES))
    for way in (contextlib.nullcontext, example.on_gatherscatter):
        with way(), pytest.raises(IndexError):
            layer(features, torch.tensor([[N_NODES], [0]]))
        # Raised by PyTorch Geometric, from the error of the scatter.
        with way(), pytest.raises(ValueError, match="invalid 'dim_size'"):
            nn.SumAggregation()(features, torch.full((N_NODES,), 7), dim_size=7)


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


def test_all_is_put_back():
    before = held()
    replaced = {}

    def run(way):
        with way():
            replaced.update({key: value for key, value in held().items() if value is not before[key]})
            raise RuntimeError("within")

    with pytest.raises(RuntimeError, match="within"):
        run(example.on_gatherscatter)
    assert held() == before
    assert {
        "method",
        ("torch_geometric.utils", "scatter"),
        ("torch_geometric.nn.aggr.base", "scatter"),
        ("torch_geometric.nn.aggr.base", "segment"),
        ("torch_geometric.nn.aggr.fused", "scatter"),
        ("torch_geometric.nn.conv.gcn_conv", "scatter"),
        ("torch_geometric.nn.conv.gat_conv", "softmax"),
    } <= set(replaced)
    originals = [utils.scatter, utils.segment, utils.softmax, nn.MessagePassing._index_select]
    assert set(replaced) == {key for key, value in before.items() if any(value is one for one in originals)}


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
        assert ours.losses[-1] < ours.losses[0]
        assert not theirs.calls
    # Two layers; GCN sums the degrees for each once, GAT gathers features and the two parts of its attention.
    assert results["GCN"][example.OURS].calls == {"scatter": 12, "index_select": 10}
    assert results["SAGE, mean"][example.OURS].calls == {"scatter": 10, "index_select": 10}
    assert results["GAT"][example.OURS].calls == {"scatter": 10, "softmax": 10, "index_select": 30}
    assert (tmp_path / "picture.png").stat().st_size > 10_000


def test_the_example_can_be_learnt_from():
    graph = example.planted_graph(400, 4000, 32)
    assert graph.edges.shape == (2, 4000)
    ends = graph.classes[graph.edges]
    # Those drawn from one class, and of the others one in as many as there are classes.
    expected = example.WITHIN + (1 - example.WITHIN) / example.N_CLASSES
    assert (ends[0] == ends[1]).float().mean().item() == pytest.approx(expected, abs=0.05)
    assert example.train("SAGE, mean", graph, 30)[example.OURS].accuracy > 0.7


@pytest.mark.parametrize("function", ["scatter", "gather"])
def test_the_example_finds_a_fault(function, monkeypatch):
    """A result that is off by a hundredth makes it fail."""
    right = getattr(example.gs, function)
    monkeypatch.setattr(example.gs, function, lambda *arguments, **options: right(*arguments, **options) * 1.01)
    graph = example.planted_graph(100, 1000, 16)
    runs = example.train("SAGE, mean", graph, 3)
    with pytest.raises(AssertionError, match=r"SAGE, mean: the losses differ\. Tensor-likes are not close"):
        example.check("SAGE, mean", runs)


def test_the_example_finds_that_nothing_was_replaced(monkeypatch):
    monkeypatch.setattr(example, "on_gatherscatter", lambda: contextlib.nullcontext(Counter()))
    graph = example.planted_graph(100, 1000, 16)
    runs = example.train("GCN", graph, 2)
    with pytest.raises(SystemExit, match=r"GCN: all calls that came to gatherscatter: \{\}"):
        example.check("GCN", runs)
