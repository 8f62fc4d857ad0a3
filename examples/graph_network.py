"""Train graph networks of PyTorch Geometric twice: with its own gathers and scatters, and with gatherscatter's.

    pip install '.[peers]' && python examples/graph_network.py

generates a graph whose nodes have classes: features are noisy, and most edges lead to a node of the same class. GCN,
GraphSAGE and GAT learn the classes, from the same initial weights, with PyTorch Geometric as it is and with its
`scatter`, `segment`, `softmax` and message passing done by `gs.gather` and `gs.scatter`. Both run alternately, step by
step. The losses must agree; it prints the time of a step of each, and writes graph_network.png.

To use gatherscatter in another program, copy `on_gatherscatter()`.
"""

import argparse
import contextlib
import functools
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import gatherscatter as gs
import matplotlib
import numpy as np
import torch
import torch_geometric
from torch_geometric.nn import GATConv, GCNConv, MessagePassing, SAGEConv

matplotlib.use("Agg")
import matplotlib.pyplot as plt

N_CLASSES = 8
N_HIDDEN = 64
N_HEADS = 4  # of GAT's attention
CONTRAST = 0.25  # standard deviation of the centres of the classes; the noise of the features has 1
WITHIN = 0.7  # the share of edges that stay within a class
RTOL, ATOL = 1e-4, 1e-5  # of losses: sums of float32 in another order differ, and training carries that on
THEIRS, OURS = "PyTorch Geometric", "on gatherscatter"


# PyTorch Geometric's functions

REDUCTIONS = {
    **{"sum": "add", "add": "add", "mean": "mean", "mul": "mul", "any": "none"},
    **{"min": "min", "amin": "min", "max": "max", "amax": "max"},
}


def scatter(src, index, dim=0, dim_size=None, reduce="sum"):
    """`torch_geometric.utils.scatter`: rows without updates are 0, of products 1."""
    if index.dim() != 1:
        raise ValueError(f"The `index` argument must be one-dimensional (got {index.dim()} dimensions)")
    if reduce not in REDUCTIONS:
        raise ValueError(f"Encountered invalid `reduce` argument '{reduce}'")
    if dim_size is None:
        dim_size = int(index.max()) + 1 if index.numel() > 0 else 0
    if reduce == "mean" and not src.is_floating_point() and not src.is_complex():
        src = src.to(torch.get_default_dtype())  # where a mean of gatherscatter would be of integers again
    reduction = REDUCTIONS[reduce]
    size = list(src.shape)
    size[dim] = dim_size
    initial = src.new_ones(size) if reduction == "mul" else src.new_zeros(size)
    # The zeros are no candidates of a maximum, and do not count in a mean.
    include_self = reduction not in ("mean", "min", "max")
    return gs.scatter(initial, index, src, axis=dim, reduction=reduction, include_self=include_self)


def index_of(ptr, n):
    """The number of the segment that each of n positions is in; segment i lies between ptr[i] and ptr[i + 1]."""
    return torch.repeat_interleave(ptr.diff(), output_size=n)


def segment(src, ptr, reduce="sum"):
    """`torch_geometric.utils.segment`: reduces ranges. A ptr of shape (1, ..., 1, n + 1) is of a later axis."""
    dim = ptr.dim() - 1
    index = index_of(ptr.reshape(ptr.shape[-1]), src.shape[dim])
    return scatter(src, index, dim, ptr.shape[-1] - 1, reduce)


def softmax(src, index=None, ptr=None, num_nodes=None, dim=0):
    """`torch_geometric.utils.softmax`: over the elements of each group."""
    if ptr is not None:
        index, num_nodes = index_of(ptr.reshape(-1), src.shape[dim]), ptr.numel() - 1
    if index is None:
        raise NotImplementedError("'softmax' requires 'index' to be specified")
    largest = scatter(src.detach(), index, dim, num_nodes, "max")
    powers = (src - gs.gather(largest, index, axis=dim)).exp()
    totals = scatter(powers, index, dim, num_nodes, "sum") + 1e-16
    return powers / gs.gather(totals, index, axis=dim)


def index_select(self, src, index):
    """`MessagePassing._index_select`: the features of the node at one end of each edge.

    Negative numbers count from the last node, where PyTorch Geometric refuses them.
    """
    return gs.gather(src, index, axis=self.node_dim)


def replace_in_modules(pairs):
    """Replace functions wherever a module of PyTorch Geometric holds them, under whatever name."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "torch_geometric":
            for attribute, value in list(vars(module).items()):
                for old, new in pairs:
                    if value is old:
                        setattr(module, attribute, new)


@contextlib.contextmanager
def on_gatherscatter():
    """Within it, PyTorch Geometric computes with gatherscatter. Gives a count of the calls that came here."""
    calls = Counter()

    def counted(function):
        @functools.wraps(function)
        def call(*arguments, **options):
            calls[function.__name__] += 1
            return function(*arguments, **options)

        return call

    pairs = [(getattr(torch_geometric.utils, ours.__name__), counted(ours)) for ours in (scatter, segment, softmax)]
    selected = MessagePassing._index_select
    replace_in_modules(pairs)
    MessagePassing._index_select = counted(index_select)
    try:
        yield calls
    finally:
        MessagePassing._index_select = selected
        # In all modules again: one that was imported meanwhile holds the new functions.
        replace_in_modules([(new, old) for old, new in pairs])


# The graph and the networks


@dataclass
class Graph:
    features: torch.Tensor
    edges: torch.Tensor  # (2, n_edges): from, to
    classes: torch.Tensor
    known: torch.Tensor  # bool: of which nodes the class is trained on


def planted_graph(n_nodes, n_edges, n_features, seed=0):
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, N_CLASSES, n_nodes)
    centres = CONTRAST * rng.standard_normal((N_CLASSES, n_features))
    features = centres[classes] + rng.standard_normal((n_nodes, n_features))

    sources, targets = rng.integers(0, n_nodes, (2, n_edges))
    # In order of the classes, those of one class lie side by side: draw again, between its first and its last.
    by_class = np.argsort(classes, kind="stable")
    first, count = np.searchsorted(classes[by_class], np.arange(N_CLASSES)), np.bincount(classes, minlength=N_CLASSES)
    within, wanted = rng.random(n_edges) < WITHIN, classes[sources]
    same = by_class[first[wanted] + (rng.random(n_edges) * count[wanted]).astype(np.int64)]
    edges = np.stack([sources, np.where(within, same, targets)])
    return Graph(
        torch.from_numpy(features.astype(np.float32)),
        torch.from_numpy(edges),
        torch.from_numpy(classes),
        torch.from_numpy(rng.random(n_nodes) < 0.5),
    )


# The two layers of each network. GCN's weights of the edges depend on the graph alone, and are kept.
LAYERS = {
    "GCN": lambda n: (GCNConv(n, N_HIDDEN, cached=True), GCNConv(N_HIDDEN, N_CLASSES, cached=True)),
    "SAGE, mean": lambda n: (SAGEConv(n, N_HIDDEN, aggr="mean"), SAGEConv(N_HIDDEN, N_CLASSES, aggr="mean")),
    "SAGE, max": lambda n: (SAGEConv(n, N_HIDDEN, aggr="max"), SAGEConv(N_HIDDEN, N_CLASSES, aggr="max")),
    "GAT": lambda n: (GATConv(n, N_HIDDEN // N_HEADS, heads=N_HEADS), GATConv(N_HIDDEN, N_CLASSES)),
}


class Network(torch.nn.Module):
    def __init__(self, kind, n_features):
        super().__init__()
        self.first, self.second = LAYERS[kind](n_features)

    def forward(self, graph):
        return self.second(self.first(graph.features, graph.edges).relu(), graph.edges)


# Training


@dataclass
class Run:
    """What one way of computing gave."""

    losses: list = field(default_factory=list)
    seconds: list = field(default_factory=list)  # of each step
    calls: Counter = field(default_factory=Counter)  # that came to gatherscatter
    accuracy: float = 0.0  # on the nodes that were not trained on

    @property
    def step(self):
        """The least seconds of a step: other programs only add to it."""
        return min(self.seconds)


def step_of(network, optimizer, graph):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(network(graph)[graph.known], graph.classes[graph.known])
    loss.backward()
    optimizer.step()
    return loss.item()


def train(kind, graph, n_steps):
    """Train both ways from the same weights, step by step alternately. Return a Run of each, by name."""
    ways, runs, trained = {THEIRS: contextlib.nullcontext, OURS: on_gatherscatter}, {}, {}
    for name in ways:
        torch.manual_seed(0)
        network = Network(kind, graph.features.shape[1])
        runs[name], trained[name] = Run(), (network, torch.optim.Adam(network.parameters(), lr=0.01))
    for i in range(n_steps):
        for name in list(ways)[:: 1 if i % 2 else -1]:
            with ways[name]() as calls:
                start = time.perf_counter()
                runs[name].losses.append(step_of(*trained[name], graph))
                runs[name].seconds.append(time.perf_counter() - start)
            runs[name].calls.update(calls)
    for name, run in runs.items():
        with ways[name](), torch.no_grad():
            found = trained[name][0](graph).argmax(dim=1)
        run.accuracy = (found == graph.classes)[~graph.known].float().mean().item()
    return runs


def check(kind, runs):
    """Whether it was gatherscatter that computed the one of them, and the losses agree."""
    theirs, ours = runs[THEIRS], runs[OURS]
    if not ours.calls["scatter"] + ours.calls["softmax"] or not ours.calls["index_select"]:
        raise SystemExit(f"{kind}: all calls that came to gatherscatter: {dict(ours.calls)}")
    torch.testing.assert_close(
        torch.tensor(ours.losses),
        torch.tensor(theirs.losses),
        rtol=RTOL,
        atol=ATOL,
        msg=lambda why: f"{kind}: the losses differ. {why}",
    )


def print_table(results):
    print(f"\n{'':28}least ms of a step{'':8}loss of a step{'':12}largest difference")
    print(f"{'':10}{THEIRS:>18}{OURS:>18}{'ratio':>7}{'first':>9}{'last':>9}{'accuracy':>10}  of losses")
    for kind, runs in results.items():
        theirs, ours = runs[THEIRS], runs[OURS]
        difference = max(abs(a - b) for a, b in zip(theirs.losses, ours.losses, strict=True))
        times = f"{theirs.step * 1e3:18.1f}{ours.step * 1e3:18.1f}{theirs.step / ours.step:7.2f}"
        learnt = f"{ours.losses[0]:9.4f}{ours.losses[-1]:9.4f}{ours.accuracy:10.3f}"
        print(f"{kind:10}{times}{learnt}  {f'{difference:.1e}' if difference else 'none: equal to the bit'}")


def draw(results, path):
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for i, (kind, runs) in enumerate(results.items()):
        left.plot(runs[THEIRS].losses, color=f"C{i}", linewidth=5, alpha=0.35)
        left.plot(runs[OURS].losses, color=f"C{i}", linewidth=1.2, label=kind)
    left.set(title="Losses: wide PyTorch Geometric, thin on gatherscatter", xlabel="step", ylabel="cross entropy")
    left.xaxis.get_major_locator().set_params(integer=True)
    left.legend()
    places = np.arange(len(results))
    for name, offset, colour in ((THEIRS, -0.2, "lightgrey"), (OURS, 0.2, "C0")):
        bars = right.bar(places + offset, [runs[name].step * 1e3 for runs in results.values()], 0.4, color=colour)
        bars.set_label(name)
        right.bar_label(bars, fmt="%.0f")
    right.set_xticks(places, results)
    right.set(title="Time of a step of training", ylabel="ms")
    right.margins(y=0.1)
    right.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--edges", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path("graph_network.png"), help="the picture")
    given = parser.parse_args(arguments)

    graph = planted_graph(given.nodes, given.edges, given.features)
    print(f"PyTorch {torch.__version__}, PyTorch Geometric {torch_geometric.__version__}, ", end="")
    print(f"{torch.get_num_threads()} threads; {given.nodes} nodes, {given.edges} edges, {given.features} features")
    results = {}
    for kind in LAYERS:
        results[kind] = train(kind, graph, given.steps)
        check(kind, results[kind])
    print_table(results)
    print(f"\nall losses agree within {RTOL:g} of their size or {ATOL:g}; calls that came to gatherscatter:")
    for kind, runs in results.items():
        print(f"{kind:10}  {', '.join(f'{n} {name}' for name, n in sorted(runs[OURS].calls.items()))}")
    draw(results, given.out)
    print(f"\nwrote {given.out}")
    return results


if __name__ == "__main__":
    main()
