"""Estimate what many threads give on a machine with few CPUs, and time the same routes on the CPUs that there are.

    python benchmarks/many_threads.py [--threads N] [--write FOLDER] [PATTERN]

A speedup on N threads is the CPU time of the caller alone, divided by that of the busiest of N threads, which sleep
while they wait. It leaves out what two CPUs cannot show: the bandwidth of memory, barriers, and cache lines that many
threads share; so it is an upper bound. Part of that shows in the second figure: the route that was chosen for N threads
on all CPUs of this machine, against itself on one. With --write the folder gets many-threads.json and many-threads.md.
"""

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

import gatherscatter as gs
import numpy as np
from gatherscatter.backends import kernels
from measure import about, cpus, paragraph, seconds, show, table

ELEMENTS = [
    (65_536, 1_000_000), (200_000, 1000), (200_000, 100_000), (1_000_000, 1000), (1_000_000, 65_536),
    (1_000_000, 1_000_000), (4_000_000, 1_000_000),
]  # fmt: skip
ROWS = [(20_000, 2000, 64), (100_000, 10_000, 64), (500_000, 20_000, 8), (200_000, 200_000, 16)]
WAYS = {
    "add": {"reduction": "add"},
    "max": {"reduction": "max"},
    "mul": {"reduction": "mul"},
    "mean": {"reduction": "mean"},
    "none": {},
    "add, include_self=False": {"reduction": "add", "include_self": False},
    "add in float64": {"reduction": "add", "accumulate_dtype": "float64"},
}
ROW_WAYS = ("add", "mean", "none")
SETTLES = 0.002  # seconds until sleeping threads have stopped
LASTS = 0.06  # seconds of a measurement
ROUNDS = 3


def orders(rng, n, rows):
    """Indices by how they are distributed."""
    return {
        "sorted": np.sort(rng.integers(0, rows, n)),
        "neighbouring": np.linspace(0, max(rows - 100, 1), n).astype(np.int64) + rng.integers(0, min(100, rows), n),
        "power law": (rows * rng.random(n) ** 4).astype(np.int64),
    }


def scatter(data, indices, updates, **options):
    out = np.empty_like(data)
    return lambda: gs.scatter(data, indices, updates, out=out, **options)


def jobs(pattern):
    """Calls by name, one after the other."""
    rng = np.random.default_rng(0)

    def wanted(name):
        return re.search(pattern, name)

    for n, rows in ELEMENTS:
        data, indices = rng.random(rows, np.float32), rng.integers(0, rows, n)
        updates, gathered = rng.random(n, np.float32), np.empty(n, np.float32)
        to = f"{n} into {rows}"
        for way, options in WAYS.items():
            if wanted(f"{way}: {to}"):
                yield f"{way}: {to}", scatter(data, indices, updates, **options)
        for kind, ordered in orders(rng, n, rows).items():
            if wanted(f"add, {kind}: {to}"):
                yield f"add, {kind}: {to}", scatter(data, ordered, updates, reduction="add")
        if wanted(f"gather: {n} of {rows}"):
            yield f"gather: {n} of {rows}", lambda d=data, i=indices, o=gathered: gs.gather(d, i, out=o)
    for n, rows, width in ROWS:
        data, indices = rng.random((rows, width), np.float32), rng.integers(0, rows, n)
        updates = rng.random((n, width), np.float32)
        for way in ROW_WAYS:
            name = f"{way}: {n} rows of {width} into {rows}"
            if wanted(name):
                yield name, scatter(data, indices, updates, **WAYS[way])


def nanoseconds_of_threads():
    """CPU time of each thread of the process. The caller, who runs now, reads it from its own clock."""
    found = {"caller": time.thread_time_ns()}
    for path in Path("/proc/self/task").glob("*/schedstat"):
        if path.parent.name != str(os.getpid()):
            found[path.parent.name] = int(path.read_text(encoding="ascii").split()[0])
    return found


def busiest(call):
    """Milliseconds of CPU time that a call takes of the thread that takes most."""
    call()
    start = time.thread_time()
    call()
    n = max(5, int(LASTS / max(time.thread_time() - start, 1e-5)))
    before = nanoseconds_of_threads()
    for _ in range(n):
        call()
    time.sleep(SETTLES)
    after = nanoseconds_of_threads()
    return max(after[name] - before.get(name, 0) for name in after) / n / 1e6


def simulate(threads, pattern):
    """Print a line of JSON for each job: milliseconds on one thread, of the busiest of many, and what was chosen."""
    for name, call in jobs(pattern):
        gs.set_num_threads(1)
        alone = min(busiest(call) for _ in range(ROUNDS))
        gs.set_num_threads(threads)
        shared = min(busiest(call) for _ in range(ROUNDS))
        chosen = None if name.startswith("gather") else gs.explain(call)
        line = [name, alone, shared, chosen and chosen["route"], chosen and chosen["threads"]]
        print(json.dumps(line), flush=True)


def real(routes, pattern):
    """Print, for each job, the milliseconds of its route on one thread and on all CPUs."""
    for name, call in jobs(pattern):
        if routes.get(name) is None:
            continue
        taken = {1: [], cpus(): []}
        for _ in range(2 * ROUNDS):
            for n_threads, times in taken.items():
                with kernels.forced(n_threads, scatter=routes[name]):
                    call()
                    times.append(seconds(call, 5) * 1e3)
        print(json.dumps([name, *(min(times) for times in taken.values())]), flush=True)


def child(*arguments, **environment):
    command = [sys.executable, __file__, *arguments]
    run = subprocess.run(command, env={**os.environ, **environment}, check=True, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def mean(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pattern", nargs="?", default="", help="a regular expression of jobs")
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="where to put the JSON and the table")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child == "simulate":
        simulate(options.threads, options.pattern)
        return
    if options.child:
        real(json.loads(options.child), options.pattern)
        return
    arguments = [options.pattern, "--threads", str(options.threads), "--child"]
    simulated = child(*arguments, "simulate", OMP_WAIT_POLICY="passive", OMP_DYNAMIC="false")
    routes = {name: route for name, _, _, route, threads in simulated if threads and threads > 1}
    timed = {name: times for name, *times in child(*arguments, json.dumps(routes), OMP_DYNAMIC="false")}
    rows, ratios = [], []
    for name, alone, shared, route, threads in simulated:
        one, some = timed.get(name, (0, 0))
        ratios.append((alone / shared, name))
        on_cpus = f"{some / one:.2f}" if one else ""
        way = f"{route}, {threads}" if route else ""
        rows.append([name, f"{alone:.3f}", f"{alone / shared:.1f}", on_cpus, way])
    head = ["call", "1 thread", f"speedup on {options.threads}", f"{cpus()} / 1", "route, threads"]
    least, worst = min(ratios)
    speedup = mean([ratio for ratio, _ in ratios])
    text = f"The geometric mean of the estimated speedups is {speedup:.2f} over {len(rows)} calls, "
    text += f"the least {least:.2f} ({worst}). "
    if timed:
        own = mean([some / one for one, some in timed.values()])
        text += f"On {cpus()} CPUs, the routes take {own:.2f} of their own time on one."
    versions = about(["gatherscatter", "numpy"], f"{cpus()} CPUs", f"{options.threads} threads")
    text = f"{paragraph(versions)}\n\n{table(head, rows, numbers=3)}\n\n{paragraph(text)}\n"
    show(text, options.write, "many-threads", {"about": versions, "simulated": simulated, "timed": timed})


if __name__ == "__main__":
    main()
