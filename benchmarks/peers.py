"""Time gatherscatter and the other libraries that are installed, on the same arrays, in the same run.

    pip install '.[peers]'
    python benchmarks/peers.py [--rounds N] [--threads N] [--write FOLDER] [WORKLOAD ...]

Each workload is one call (workloads.py). Each library runs it in its own way (systems.py) and returns a new array. The
page docs/benchmarks/peers.md explains the other columns; the C loops are in limit.c. Results are compared with NumPy's
before anything is timed, and one that differs is marked. Within each round every library runs once, so a machine that
slows down slows all of them: compare only times of one run.
"""

import argparse
import gc
import math
import os
import platform
import statistics
from pathlib import Path

import numpy as np
from measure import commit, copies, cpu, cpus, paragraph, seconds, show, table
from systems import installed, version
from tqdm import tqdm
from workloads import WORKLOADS

OURS, WITH_OUT, LIMIT = "gatherscatter", "with out=", "C"
GOAL = [f"W{i}" for i in range(1, 15)]


def measure(name, systems, rounds, progress):
    """Seconds per call of each system that has the workload, in the order of the rounds; which gave a wrong result."""
    workload = WORKLOADS[name]
    call = workload.make(np.random.default_rng(0))
    runs, wrong = {}, []
    for system in systems.values():
        run = system.prepare(call)
        if run is not None:
            runs[system.name] = run
    runs[WITH_OUT] = systems[OURS].prepare_out(call)
    expected = runs["NumPy"]()
    for system, run in runs.items():
        found = run()
        found = found.numpy() if hasattr(found, "numpy") and found.__class__.__module__ != "torch" else found
        if system == "PyTorch" and expected.dtype.name == "bfloat16":
            found = found.view(systems["PyTorch"].torch.int16).numpy().view(expected.dtype)
        if not np.array_equal(np.asarray(found).astype(expected.dtype), expected):
            if system in (OURS, WITH_OUT, LIMIT):
                raise SystemExit(f"{name}: {system} gives another result than NumPy")
            wrong.append(system)  # onnxruntime's threads race for the sums of ScatterND
        del found
    del expected
    gc.collect()
    times = {system: [] for system in runs}
    for _ in range(rounds):
        for system, run in runs.items():
            times[system].append(seconds(run, workload.repeat))
            progress.update()
    return times, wrong


def summary(name, times, wrong, bandwidth):
    least = {system: min(taken) for system, taken in times.items()}
    peers = {system: taken for system, taken in least.items() if system not in (OURS, WITH_OUT, LIMIT)}
    best = min(peers, key=peers.get)
    return {  # the JSON's keys; draw.py in docs/ reads some of them
        "description": WORKLOADS[name].description,
        "megabytes": WORKLOADS[name].moved,
        "floor": WORKLOADS[name].moved * 1e6 / bandwidth if bandwidth else None,
        "seconds": {s: {"min": min(t), "median": statistics.median(t)} for s, t in times.items()},
        "wrong": wrong,
        "best peer": best,
        "ahead of the best peer": peers[best] / least[OURS],
        "ahead of the best peer, with out=": peers[best] / least[WITH_OUT],
        "over the limit": least[OURS] / least[LIMIT] if LIMIT in least else None,
        "limit ahead of the best peer": peers[best] / least[LIMIT] if LIMIT in least else None,
    }


def cell(seconds):
    return f"{seconds * 1e6:.2f} µs" if seconds < 1e-4 else f"{seconds * 1e3:.1f}"


def ratio(number):
    return f"{number:.2f}" if number else "–"


def tables(results, names):
    """Markdown: the table of speedups, and that of all times."""
    columns = [OURS, WITH_OUT, LIMIT, *[name for name in names if name not in (OURS, LIMIT)]]
    speedups, times = [], []
    for name, result in results.items():
        marks = {system: " †" for system in result["wrong"]}
        taken = {system: cell(t["min"]) + marks.get(system, "") for system, t in result["seconds"].items()}
        ahead = [ratio(result["ahead of the best peer"]), taken[OURS]]
        floor = cell(result["floor"]) if result["floor"] else "–"
        speedups.append([f"{name}, {result['description']}", *ahead, floor, result["best peer"]])
        times.append([name, *(taken.get(column, "–") for column in columns), ratio(result["over the limit"])])
    head = ["workload", "speedup", "time", "lower bound", "fastest other library"]
    columns[2] = "C loop"
    all_times = table(["", *columns, "vs C loop"], times)
    if any(result["wrong"] for result in results.values()):
        all_times += "\n\n† Its result differs from that of NumPy and all other libraries."
    return table(head, speedups, numbers=3), all_times


def mean(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios)))


def conclusion(results):
    goal = {name: results[name] for name in GOAL if name in results}
    if not goal:
        return ""
    behind = [name for name, result in results.items() if result["ahead of the best peer"] < 1]
    which = "W1 to W14" if list(goal) == GOAL else ", ".join(goal)
    limited = [result for result in goal.values() if result["floor"] and result["over the limit"]]
    text = (
        f"The geometric mean of the speedups is {mean(r['ahead of the best peer'] for r in goal.values()):.2f} over "
        f"{which}. gatherscatter is slower than the fastest other library in: {', '.join(behind) or 'none'}."
    )
    if limited:
        ours, limit, over = (
            mean(result[key] for result in limited)
            for key in ("ahead of the best peer", "limit ahead of the best peer", "over the limit")
        )
        text += (
            f" Over the {len(limited)} of them that are large it is {ours:.2f}, and {limit:.2f} for the C loops. "
            f"gatherscatter takes {over:.2f} times as long as the C loops."
        )
    return paragraph(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=f"of {', '.join(WORKLOADS)}; default all")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=cpus())
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="where to put peers.json and peers.md")
    options = parser.parse_args()
    if unknown := set(options.workloads) - set(WORKLOADS):
        parser.error(f"no workload named {', '.join(sorted(unknown))}")
    names = options.workloads or list(WORKLOADS)

    # Every system finds as many CPUs as it may use, also those that have no setting of their own.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    systems = installed(options.threads)
    versions = {name: version(system) for name, system in systems.items()}
    about = ", ".join(f"{name} {number}" for name, number in versions.items())
    about += "".join(f"; {one}" for one in commit())
    about += f"; Python {platform.python_version()}; {cpu()}, {options.threads} threads; {options.rounds} rounds"

    bandwidth = systems[LIMIT].bandwidth() if LIMIT in systems else None
    if bandwidth:
        about += f"; {copies(bandwidth)}"

    results = {}
    with tqdm(total=len(names), unit="workload") as whole:
        for name in names:
            whole.set_description(name)
            with tqdm(leave=False, unit="run") as progress:
                results[name] = summary(name, *measure(name, systems, options.rounds, progress), bandwidth)
            whole.update()
    speedups, times = tables(results, list(systems))
    text = "\n\n".join(
        [
            paragraph(about),
            speedups,
            conclusion(results),
            f"<details><summary>All times, in milliseconds</summary>\n\n{times}\n\n</details>\n",
        ]
    )
    show(text, options.write, "peers", {"versions": versions, "about": about, "workloads": results})


if __name__ == "__main__":
    main()
