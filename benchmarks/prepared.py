"""Time gathers and scatters with indices from `gs.prepare`, and the same calls with the indices themselves.

    pip install '.[bench]'
    OMP_DYNAMIC=false python benchmarks/prepared.py [--rounds N] [--quick] [--write FOLDER]

The results are compared first, bit for bit. Within each round each call runs once, and the minimum counts. Preparing is
timed too, with the order of the updates that the first scatter makes. With --write the folder gets prepared.json and
prepared.md.
"""

import argparse
import math
import statistics
from pathlib import Path

import gatherscatter as gs
import numpy as np
import torch
from measure import about, cpus, enough, paragraph, seconds, show, table
from tqdm import tqdm

COMMAND = "OMP_DYNAMIC=false python benchmarks/prepared.py"
LASTS = 0.02  # seconds: shorter calls are repeated


def scatter(rng, operator, shape, indices, dtype="float32", *, in_place=False, **options):
    """(prepare, the prepared call, the plain call)."""
    gather, plain = getattr(gs, operator.replace("scatter", "gather")), getattr(gs, operator)
    data = rng.integers(0, 9, shape).astype(dtype)
    updates = rng.integers(0, 3, gather(data, indices).shape).astype(dtype)
    out = data if in_place else None
    a_copy = data.copy()
    if bits(gs.prepare(operator, shape, indices).scatter(data, updates, **options)) != bits(
        plain(a_copy, indices, updates, out=a_copy, **options)
    ):
        raise SystemExit(f"{operator}: the results differ")

    def prepare():
        return gs.prepare(operator, shape, indices)

    def by_prepared(prepared):
        return lambda: prepared.scatter(data, updates, out=out, **options)

    return prepare, by_prepared, lambda: plain(data, indices, updates, out=out, **options)


def gather(data, operator, indices):
    plain = getattr(gs, operator)

    def prepare():
        return gs.prepare(operator, data.shape, indices)

    if bits(prepare().gather(data)) != bits(plain(data, indices)):
        raise SystemExit(f"{operator}: the results differ")
    return prepare, lambda prepared: lambda: prepared.gather(data), lambda: plain(data, indices)


def layer(rng, n_nodes, n_edges, width, *, trains, calls=1):
    """Messages of a graph: the features of the sources are added at the destinations, in one call or two."""
    features = torch.from_numpy(rng.standard_normal((n_nodes, width), np.float32))
    source, target = (torch.from_numpy(rng.integers(0, n_nodes, n_edges)) for _ in range(2))
    weights = torch.ones(n_nodes, width)
    zeros = torch.zeros(n_nodes, width)

    def step(passed):
        if not trains:
            return passed(features)
        x = features.clone().requires_grad_()
        (passed(x) * weights).sum().backward()
        return x.grad

    def prepare():
        return gs.prepare("gather", features.shape, source), gs.prepare("scatter", features.shape, target)

    def by_prepared(pair):
        take, put = pair
        if calls == 1:
            return lambda: step(lambda x: gs.gather_scatter(zeros, put, x, take, reduction="add"))
        return lambda: step(lambda x: put.scatter(zeros, take.gather(x), reduction="add"))

    def plain():
        if calls == 1:
            return step(lambda x: gs.gather_scatter(zeros, target, x, source, reduction="add"))
        return step(lambda x: gs.scatter(zeros, target, gs.gather(x, source), reduction="add"))

    if bits(by_prepared(prepare())()) != bits(plain()):
        raise SystemExit("graph layer: the results differ")
    return prepare, by_prepared, plain


def cases(rng, less):
    def some(n):
        return n // less

    many, rows = some(1_000_000), rng.integers(0, some(200_000), some(1_000_000))
    wide = rng.integers(0, some(1_000_000), some(500_000))
    groups = rng.integers(0, 20_000 // less, some(400_000))
    height, width = 1080 // less, 1920
    image = rng.integers(0, 255, (height, width, 3)).astype(np.uint8)
    y, x = np.indices((height, width))
    lens = np.stack([y + 3 * np.sin(x / 50), x + 3 * np.cos(y / 50)], -1).round().astype(np.int64)
    lens = np.clip(lens, 0, (height - 1, width - 1))
    side = 4096 // less
    pairs = rng.integers(0, side, (4_000_000 // less**2, 2))
    table_shape, bins = (some(200_000), 64), (some(20_000), 64)
    return {
        "graph layer, 1 M edges of 64 features (PyTorch)": layer(rng, some(200_000), many, 64, trains=False),
        "the same with its gradient": layer(rng, some(200_000), many, 64, trains=True),
        "graph layer in two calls": layer(rng, some(200_000), many, 64, trains=False, calls=2),
        "the same with its gradient ": layer(rng, some(200_000), many, 64, trains=True, calls=2),
        "add 1 M rows of 64 into 200 k": scatter(rng, "scatter", table_shape, rows, reduction="add"),
        "the same in place": scatter(rng, "scatter", table_shape, rows, reduction="add", in_place=True),
        "maximum of 1 M rows of 64 into 200 k": scatter(rng, "scatter", table_shape, rows, reduction="max"),
        "mean of 400 k rows of 64 into 20 k": scatter(rng, "scatter", bins, groups, reduction="mean"),
        "set 1 M rows of 64 into 200 k": scatter(rng, "scatter", table_shape, rows),
        "add 500 k rows of 64 into 1 M": scatter(rng, "scatter", (some(1_000_000), 64), wide, reduction="add"),
        "the same in place ": scatter(rng, "scatter", (some(1_000_000), 64), wide, reduction="add", in_place=True),
        "lens distortion, 2 M pixels of 3 uint8": gather(image, "gather_nd", lens),
        "gather 4 M pairs from (4096, 4096)": gather(np.ones((side, side), np.float32), "gather_nd", pairs),
        "add 4 M pairs into (4096, 4096)": scatter(rng, "scatter_nd", (side, side), pairs, reduction="add"),
        "gather 10 pairs from (8, 8)": gather(np.ones((8, 8)), "gather_nd", rng.integers(0, 8, (10, 2))),
        "add 10 elements": scatter(rng, "scatter", (1000,), rng.integers(0, 1000, 10), reduction="add"),
    }


def bits(result):
    return np.asarray(result).tobytes()


def cell(taken):
    return f"{taken * 1e6:.3g} µs" if taken < 1e-4 else f"{taken * 1e3:.3g}"


def measured(case, rounds):
    """Seconds: to prepare, of the prepared call, of the plain call."""
    prepare, by_prepared, plain = case
    prepared = prepare()
    call = by_prepared(prepared)
    repeats = [enough(one, LASTS) for one in (call, plain)]
    times = [[], [], []]
    for number in range(rounds):
        if number < 3:
            times[0].append(first_use(prepare, by_prepared))
        for one, repeat, each in zip((call, plain), repeats, times[1:], strict=True):
            each.append(seconds(one, repeat))
    return [statistics.median(times[0]), *(min(each) for each in times[1:])]


def first_use(prepare, by_prepared):
    """Seconds to prepare and to make the first call, less those of a later call."""
    found = []
    first = seconds(lambda: found.append(prepare()) or by_prepared(found[0])())
    return max(first - min(seconds(by_prepared(found[0])) for _ in range(3)), 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--quick", action="store_true", help="a fraction of the work")
    parser.add_argument("--write", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    record, rows = {}, []
    for name, case in tqdm(cases(np.random.default_rng(0), 4 if given.quick else 1).items(), leave=False):
        taken = measured(case, given.rounds)
        record[name] = dict(zip(("prepare", "prepared", "plain"), taken, strict=True))
        first, ours, plain = taken
        pays = f"{math.ceil(first / (plain - ours))}" if plain > 1.02 * ours else "–"
        rows.append([name.strip(), f"{plain / ours:.2f}", cell(ours), cell(plain), cell(first), pays])
    threads = f"{gs.get_num_threads()} threads"
    machine = about(["gatherscatter", "numpy", "torch"], f"{cpus()} CPUs", threads, f"{given.rounds} rounds")
    figures = table(["call", "speedup", "prepared", "plain", "prepare", "pays after"], rows)
    show(f"{paragraph(machine)}\n\n{figures}\n", given.write, "prepared", {"about": machine, "seconds": record})


if __name__ == "__main__":
    main()
