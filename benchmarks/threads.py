"""Time the workloads of peers.py on 1, 2, 4 … threads, and check that the results are equal bit for bit.

    python benchmarks/threads.py [--rounds N] [--threads N] [--write FOLDER] [WORKLOAD ...]

The small calls (W13, W14) are left out: they run on the caller's thread. Each timed call follows one that is not timed.
With --write the folder gets threads.json and threads.md.
"""

import argparse
import gc
import math
import statistics
from pathlib import Path

import gatherscatter as gs
import numpy as np
from measure import about, at_each, cpus, paragraph, show, table, thread_counts
from tqdm import tqdm
from workloads import WORKLOADS

LARGE = [name for name, workload in WORKLOADS.items() if workload.repeat == 1]


def measure(name, counts, rounds, progress):
    """Seconds of each round at each number of threads."""
    call = WORKLOADS[name].make(np.random.default_rng(0))
    arrays = [array for array in (call.data, call.indices, call.updates) if array is not None]
    function, options = getattr(gs, call.operator), call.options

    def run():
        return function(*arrays, **options)

    expected = None
    for count in counts:
        gs.set_num_threads(count)
        found = np.ascontiguousarray(run()).reshape(-1).view(np.uint8)
        expected = found if expected is None else expected
        if not np.array_equal(found, expected):
            raise SystemExit(f"{name}: {count} threads give other bits than {counts[0]}")
    del expected, found
    times = {count: [] for count in counts}
    for i in range(rounds):
        # Every other round backwards, so that no number of threads always follows the same one.
        for count, taken in at_each(counts[:: -1 if i % 2 else 1], run).items():
            times[count].append(taken)
            progress.update()
    return times


def page(results, counts):
    rows = []
    for name, times in results.items():
        least = [min(times[count]) for count in counts]
        cells = [f"{seconds * 1e3:.1f}" for seconds in least]
        rows.append([f"{name}, {WORKLOADS[name].description}", *(f"{least[0] / t:.2f}" for t in least[1:]), *cells])
    words = ["1 thread", *(f"{count} threads" for count in counts[1:])]
    return table(["workload", *(f"speedup on {count}" for count in counts[1:]), *words], rows)


def conclusion(results, counts):
    most = counts[-1]
    gains = {name: min(times[1]) / min(times[most]) for name, times in results.items()}
    mean = math.exp(statistics.fmean(map(math.log, gains.values())))
    slower = [name for name, gain in gains.items() if gain < 1]
    text = f"The geometric mean of the speedups on {most} threads is {mean:.2f} over {len(gains)} workloads. "
    return text + f"Slower than on one thread: {', '.join(slower) or 'none'}."


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=f"of {', '.join(LARGE)}; default all")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=cpus(), help="the most")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="where to put threads.json and threads.md")
    options = parser.parse_args()
    if unknown := set(options.workloads) - set(LARGE):
        parser.error(f"no workload named {', '.join(sorted(unknown))}")
    names, counts = options.workloads or LARGE, thread_counts(options.threads)
    if len(counts) == 1:
        parser.error("threads are compared: two at least")

    results = {}
    with tqdm(total=len(names) * len(counts) * options.rounds, unit="run") as progress:
        for name in names:
            progress.set_description(name)
            results[name] = measure(name, counts, options.rounds, progress)
            gc.collect()
    versions = about(["gatherscatter", "numpy"], f"{cpus()} CPUs", f"{options.rounds} rounds")
    text = f"{paragraph(versions)}\n\n{page(results, counts)}\n\n{conclusion(results, counts)}\n"
    seconds = {name: {str(count): times[count] for count in counts} for name, times in results.items()}
    show(text, options.write, "threads", {"about": versions, "seconds": seconds})


if __name__ == "__main__":
    main()
