"""Time every route of scatters over a grid of jobs, and tell how far from the fastest the chosen one is.

    python benchmarks/routes.py [--rounds N] [--threads N,N] [--slowest N] [--write FILE] [PATTERN]

For each job and number of threads the routes run in turns: the one that the cost model chooses with up to so many
threads, and each route that can run the job, on one thread and on all. The ratio is the time of the choice over that of
the fastest. Jobs are adds, maxima, means and assignments of float32 into rows of several lengths, with indices in
random order, by a power law, neighbouring or sorted, and adds into new results and at prepared indices. PATTERN selects
jobs by name. With --write, a JSON file of all times is written.
"""

import argparse
import functools
import itertools
import json
import math
import re
import statistics
from pathlib import Path

import gatherscatter as gs
import numpy as np
from gatherscatter._kernels import scatter
from gatherscatter._kernels.common import ScatterRoute
from gatherscatter.backends import kernels
from measure import cpus, seconds

WIDTHS = (1, 2, 3, 8, 32, 48, 64, 512)  # numbers of a row
UPDATES = (10_000, 100_000, 1_000_000)
ROWS = (100, 10_000, 1_000_000)
MOST_BYTES = 1 << 27  # of updates, and of the result
WAYS = {
    "add": {"reduction": "add"},
    "max": {"reduction": "max"},
    "mean": {"reduction": "mean", "include_self": False},
    "none": {},
    "new add": {"reduction": "add", "out": None},
    "prepared add": {"reduction": "add"},
}
ORDERS = {
    "random": lambda rng, n, rows: rng.integers(0, rows, n),
    "power law": lambda rng, n, rows: (rows * rng.random(n) ** 3).astype(int),
    "near": lambda rng, n, rows: (np.arange(n) * rows // n + rng.integers(0, 50, n)) % rows,
    "sorted": lambda rng, n, rows: np.sort(rng.integers(0, rows, n)),
}
ROUTES = [route for route in ScatterRoute if route != ScatterRoute.AUTO]
LASTS = 0.002  # seconds of a turn, at least


def jobs(pattern):
    rng = np.random.default_rng(0)
    for width, n, rows, order in itertools.product(WIDTHS, UPDATES, ROWS, ORDERS):
        if max(n, rows) * width * 4 > MOST_BYTES:
            continue
        names = {way: f"{way}: {n} {order} into {rows} of {width}" for way in WAYS}
        if not any(re.search(pattern, name) for name in names.values()):
            continue
        indices = ORDERS[order](rng, n, rows)
        data, updates = rng.random((rows, width), np.float32), rng.random((n, width), np.float32)
        for way, name in names.items():
            if re.search(pattern, name):
                options = {"out": np.empty_like(data), **WAYS[way]}
                if way.startswith("prepared"):
                    rows_of = gs.prepare("scatter", data.shape, indices)
                    yield name, functools.partial(rows_of.scatter, data, updates, **options)
                else:
                    yield name, functools.partial(gs.scatter, data, indices, updates, **options)


def times(call, n_threads, rounds):
    """Milliseconds of the choice and of each route, by name."""
    ways = {"chosen": (0, "auto")} | {
        f"{route.name.lower()} on {t}": (t, route.name.lower()) for route in ROUTES for t in sorted({1, n_threads})
    }
    gs.set_num_threads(n_threads)
    found = {name: [] for name in ways}
    for _ in range(rounds + 1):  # the first round does not count
        for name, (t, route) in list(ways.items()):
            with kernels.forced(t, scatter=route):
                once = seconds(call)
                if route != "auto" and scatter.last_route()[0] != ScatterRoute[route.upper()]:
                    del ways[name], found[name]  # it cannot run the job
                    continue
                found[name].append(1000 * seconds(call, max(1, math.ceil(LASTS / max(once, 1e-6)))))
        slow = 20 * min(min(each) for each in found.values())
        ways = {name: way for name, way in ways.items() if name == "chosen" or min(found[name]) < slow}
    return {name: statistics.median(each[1:] or each) for name, each in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", default=f"1,{cpus()}")
    parser.add_argument("--slowest", type=int, default=20, help="how many of the worst choices are printed")
    parser.add_argument("--write", type=Path)
    parser.add_argument("pattern", nargs="?", default="")
    args = parser.parse_args()
    counts, rows = [int(n) for n in args.threads.split(",")], []
    for name, call in jobs(args.pattern):
        for n in counts:
            found = times(call, n, args.rounds)
            gs.set_num_threads(n)
            call()
            route, used = scatter.last_route()
            best = min(found, key=found.get)
            rows.append(
                {"job": name, "threads": n, "route": f"{ScatterRoute(route).name.lower()} on {used}", "best": best}
                | {"ratio": found["chosen"] / min(found.values()), "ms": found}
            )
    for row in sorted(rows, key=lambda row: -row["ratio"])[: args.slowest]:
        ms = row["ms"]
        print(
            f"{row['ratio']:5.2f}  {row['threads']} threads  {row['job']:45s} {row['route']} {ms['chosen']:.3f} ms, "
            f"{row['best']} {ms[row['best']]:.3f} ms"
        )
    ratios = [row["ratio"] for row in rows]
    mean = statistics.geometric_mean(ratios)
    print(
        f"{len(rows)} jobs: the choice takes {mean:.3f} × of the fastest route in the mean, {max(ratios):.2f} × at most"
    )
    if args.write:
        args.write.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
