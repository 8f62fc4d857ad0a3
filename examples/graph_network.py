"""Train graph networks of PyTorch Geometric twice: with its own gathers and scatters, and with gatherscatter's.

    pip install '.[peers]' && python examples/graph_network.py

generates a graph whose nodes have classes: features are noisy, and most edges lead to a node of the same class. GCN,
GraphSAGE, GAT and PNA learn the classes, from the same initial weights, with PyTorch Geometric as it is and with its
segment operations done by gatherscatter, as `gatherscatter.integrations.torch_geometric.enable()` turns on. Both run
alternately, step by step. The losses must agree; it prints the time of a step of each, and writes graph_network.png.
"""

import argparse
import contextlib
import time
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib
import numpy as np
import torch
import torch_geometric
from gatherscatter.integrations.torch_geometric import enabled
from torch_geometric.nn import GATConv, GCNConv, PNAConv, SAGEConv

matplotlib.use("Agg")
import matplotlib.pyplot as plt

N_CLASSES = 8
N_HIDDEN = 64
N_HEADS = 4  # of GAT's attention
CONTRAST = 0.25  # standard deviation of the centres of the classes; the noise of the features has 1
WITHIN = 0.7  # the share of edges that stay within a class
RTOL, ATOL = 1e-4, 1e-5  # of losses: sums of float32 in another order differ, and training carries that on
THEIRS, OURS = "PyTorch Geometric", "on gatherscatter"


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


PNA = {"aggregators": ["mean", "min", "max", "std"], "scalers": ["identity", "amplification", "attenuation"]}
PNA["deg"] = torch.tensor([0, 10, 20, 30, 20, 10])  # how many nodes have as many edges: the scale of its features

# The two layers of each network. GCN's weights of the edges depend on the graph alone, and are kept.
LAYERS = {
    "GCN": lambda n: (GCNConv(n, N_HIDDEN, cached=True), GCNConv(N_HIDDEN, N_CLASSES, cached=True)),
    "SAGE, mean": lambda n: (SAGEConv(n, N_HIDDEN, aggr="mean"), SAGEConv(N_HIDDEN, N_CLASSES, aggr="mean")),
    "SAGE, max": lambda n: (SAGEConv(n, N_HIDDEN, aggr="max"), SAGEConv(N_HIDDEN, N_CLASSES, aggr="max")),
    "GAT": lambda n: (GATConv(n, N_HIDDEN // N_HEADS, heads=N_HEADS), GATConv(N_HIDDEN, N_CLASSES)),
    "PNA": lambda n: (PNAConv(n, N_HIDDEN, **PNA), PNAConv(N_HIDDEN, N_CLASSES, **PNA)),
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
    module: str = ""  # whose scatter the layers called
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
    ways, runs, trained = {THEIRS: contextlib.nullcontext, OURS: enabled}, {}, {}
    for name in ways:
        torch.manual_seed(0)
        network = Network(kind, graph.features.shape[1])
        runs[name], trained[name] = Run(), (network, torch.optim.Adam(network.parameters(), lr=0.01))
    for i in range(n_steps):
        for name in list(ways)[:: 1 if i % 2 else -1]:
            with ways[name]():
                start = time.perf_counter()
                runs[name].losses.append(step_of(*trained[name], graph))
                runs[name].seconds.append(time.perf_counter() - start)
                runs[name].module = torch_geometric.utils.scatter.__module__
    for name, run in runs.items():
        with ways[name](), torch.no_grad():
            found = trained[name][0](graph).argmax(dim=1)
        run.accuracy = (found == graph.classes)[~graph.known].float().mean().item()
    return runs


def check(kind, runs):
    """Whether gatherscatter computed the one of them, and the losses agree."""
    theirs, ours = runs[THEIRS], runs[OURS]
    if not ours.module.startswith("gatherscatter."):
        raise SystemExit(f"{kind}: the scatter was that of {ours.module}")
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
    parser.add_argument("--edges", type=int, default=100_000)
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
    print(f"\nall losses agree within {RTOL:g} of their size or {ATOL:g}")
    draw(results, given.out)
    print(f"\nwrote {given.out}")
    return results


if __name__ == "__main__":
    main()
