"""Time calls while other processes keep the CPUs busy: on one thread, on all, and on as many as are free.

    python benchmarks/busy.py [--rounds N] [--write FOLDER]

One busy process per CPU runs meanwhile. By default a call uses only as many threads as there are free CPUs.
OMP_DYNAMIC=false turns that off. It is read once, so those calls run in a separate process. With --write the folder
gets busy.json and busy.md.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import gatherscatter as gs
import numpy as np
from measure import about, cpus, paragraph, show, table

LOOP = "while True: pass"
SETTLES = 1.0  # seconds until the load is there
WAYS = {"one": "one thread", "all": "all threads", "free": "free CPUs"}


def calls(rng):
    """Calls of some 0.2, 2 and 20 ms, by name, and how many of each make a round."""
    image, pairs = rng.random((512, 512), np.float32), rng.integers(0, 512, (200_000, 2))
    table, rows = rng.random((100_000, 64), np.float32), rng.integers(0, 100_000, 100_000)
    line, places = rng.random(16_000_000, np.float32), rng.integers(0, 16_000_000, 4_000_000)
    updates = rng.random(4_000_000, np.float32)
    return {
        "gather_nd: 200 k elements of (512, 512)": (lambda: gs.gather_nd(image, pairs), 200),
        "gather: 100 k rows of (100 k, 64)": (lambda: gs.gather(table, rows), 40),
        "scatter add: 4 M elements into 16 M": (lambda: gs.scatter(line, places, updates, reduction="add"), 8),
    }


def child(threads, rounds):
    """Print the milliseconds of each call, as JSON."""
    gs.set_num_threads(threads)
    taken = {}
    for name, (call, n) in calls(np.random.default_rng(0)).items():
        call()
        times = []
        for _ in range(rounds * n):
            start = time.perf_counter()
            call()
            times.append((time.perf_counter() - start) * 1e3)
        taken[name] = times
    print(json.dumps(taken))


def measure(load, rounds):
    """Milliseconds of all calls by way and name, with `load` busy processes."""
    loops = [subprocess.Popen([sys.executable, "-c", LOOP]) for _ in range(load)]
    try:
        time.sleep(SETTLES)
        found = {}
        for way in WAYS:
            environment = {name: value for name, value in os.environ.items() if name != "OMP_DYNAMIC"}
            if way == "all":
                environment["OMP_DYNAMIC"] = "false"
            command = [sys.executable, __file__, "--child", "1" if way == "one" else "0", "--rounds", str(rounds)]
            found[way] = json.loads(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)
        return found
    finally:
        for loop in loops:
            loop.kill()


def cell(times):
    return f"{statistics.median(times):.2f} ({statistics.quantiles(times, n=20)[-1]:.2f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="where to put busy.json and busy.md")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        child(options.child or None, options.rounds)
        return
    results = {load: measure(load, options.rounds) for load in (0, cpus())}
    rows = [
        [name, str(load), *(cell(ways[way][name]) for way in WAYS)]
        for name in calls_named(results)
        for load, ways in results.items()
    ]
    head = ["call", "busy", *WAYS.values()]
    versions = about(["gatherscatter", "numpy"], f"{cpus()} CPUs", f"{options.rounds} rounds")
    text = f"{paragraph(versions)}\n\n{table(head, rows)}\n"
    record = {"about": versions, "milliseconds": {str(load): ways for load, ways in results.items()}}
    show(text, options.write, "busy", record)


def calls_named(results):
    return next(iter(results.values()))["one"]


if __name__ == "__main__":
    main()
