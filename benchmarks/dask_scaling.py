"""How gathers and scatters of Dask arrays scale with workers and elements; writes the table in docs/dask.md.

    python benchmarks/dask_scaling.py --write docs/dask.md

Data are n float32 elements in 16 chunks, and indices are n random ones in 16 chunks of a Dask array, so that every pair
of chunks is used. Data, indices and updates are in the workers' memory when the time starts, and the result is when it
ends. The single process runs gatherscatter on NumPy arrays with one thread. Each time is the minimum over the rounds.
"""

import argparse
import os
import platform
import time
from pathlib import Path

import dask
import dask.array as da
import distributed
import gatherscatter as gs
import numpy as np
from distributed import Client, LocalCluster, wait

CHUNKS = 16
MARKS = "<!-- written by benchmarks/dask_scaling.py -->", "<!-- to here -->"


def least(rounds, prepare, *calls):
    """The least time of each call, on what was prepared for the round."""
    times = [[] for _ in calls]
    for number in range(rounds):
        prepared = prepare(number)
        for call, taken in zip(calls, times, strict=True):
            start = time.perf_counter()
            call(prepared)
            taken.append(time.perf_counter() - start)
    return [min(taken) for taken in times]


def by_one_process(n, rounds):
    data, updates = np.ones(n, "f4"), np.zeros(n, "f4")
    gs.set_num_threads(1)
    return least(
        rounds,
        lambda number: np.random.default_rng(number).integers(0, n, n),
        lambda indices: gs.gather(data, indices),
        lambda indices: gs.scatter(data, indices, updates, reduction="add"),
    )


def kept(array):
    array = array.persist()
    wait(array)
    return array


def by_workers(n, n_workers, rounds):
    options = {"n_workers": n_workers, "threads_per_worker": 1, "memory_limit": 0, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster):
        chunk = -(-n // CHUNKS)
        data, updates = kept(da.ones(n, chunks=chunk, dtype="f4")), kept(da.zeros(n, chunks=chunk, dtype="f4"))
        return least(
            rounds,
            # New indices in each round: Dask identifies a result by its inputs, and would reuse it.
            lambda number: kept(da.random.default_rng(number).integers(0, n, n, chunks=chunk)),
            lambda indices: kept(gs.gather(data, indices)),
            lambda indices: kept(gs.scatter(data, indices, updates, reduction="add")),
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--elements", type=float, nargs="+", default=[1e6, 1e7, 1e8])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", type=Path, help="the page whose table to write")
    given = parser.parse_args()

    ways = [("one process", by_one_process)]
    for n_workers in given.workers:
        name = f"{n_workers} worker{'s' if n_workers > 1 else ''}"
        ways.append((name, lambda n, rounds, n_workers=n_workers: by_workers(n, n_workers, rounds)))
    lines = [
        f"`python benchmarks/dask_scaling.py`, {os.cpu_count()} cores of {platform.machine()}, Python "
        f"{platform.python_version()}, NumPy {np.__version__}, Dask {dask.__version__}, distributed "
        f"{distributed.__version__}; seconds, the least of {given.rounds} rounds:",
        "",
        "| elements | | " + " | ".join(name for name, _ in ways) + " |",
        "|--:|---|" + "--:|" * len(ways),
    ]
    for n in map(int, given.elements):
        found = []
        for name, way in ways:
            found.append(way(n, given.rounds))
            print(f"{n:>12,} {name:12} gather {found[-1][0]:8.3f} s, scatter {found[-1][1]:8.3f} s", flush=True)
        for which, operator in enumerate(("gather", "scatter, add")):
            lines.append(
                f"| 10^{len(str(n)) - 1} | {operator} | " + " | ".join(f"{t[which]:.3g}" for t in found) + " |"
            )
    text = "\n".join(lines)
    print(text)
    if given.write:
        page = given.write.read_text(encoding="utf-8")
        front, rest = page.split(MARKS[0])
        given.write.write_text(f"{front}{MARKS[0]}\n{text}\n{MARKS[1]}{rest.split(MARKS[1])[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
