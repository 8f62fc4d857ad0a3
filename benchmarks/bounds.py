"""What limits the large workloads of peers.py: their times, and the share of a lower bound that is reached.

    python benchmarks/bounds.py [--rounds N] [--threads N] [--write FOLDER]

The page docs/benchmarks/bounds.md says what the bounds are.
"""

import argparse
from pathlib import Path

import gatherscatter as gs
import numpy as np
from measure import about, copies, cpus, enough, paragraph, seconds, show, table
from systems import Limit
from tqdm import tqdm
from workloads import WORKLOADS, Call

BOUNDS = ("bytes", "instructions")
LARGE = [f"W{i}" for i in range(1, 13)]


def near(name, rng):
    """The workload's operator on arrays of some 100 KiB in all, and how many tuples these have."""
    reduction = {"W7": "add", "W8": "max", "W10": "add", "W12": "add"}.get(name, "none")
    f4 = np.float32
    if name == "W1":
        return Call("gather_nd", rng.random((64, 64), f4), rng.integers(0, 64, (4096, 2)))
    if name == "W2":
        return Call("gather_nd", rng.random((128, 64), f4), rng.integers(0, 128, (256, 1)))
    if name == "W3":
        return Call(
            "gather_nd", rng.random((2, 64, 128), f4), rng.integers(0, 64, (2, 64, 1)), options={"batch_dims": 1}
        )
    if name in ("W4", "W5"):
        shape = (2, 4096) if name == "W4" else (4096, 32)
        axis = int(name == "W4")
        indices = rng.integers(0, shape[axis], shape)
        return Call("gather_elements", rng.random(shape, f4), indices, options={"axis": axis})
    if name in ("W6", "W7", "W8"):
        return Call(
            "scatter_nd", rng.random(4096, f4), rng.integers(0, 4096, (4096, 1)), rng.random(4096, f4),
            {"reduction": reduction},
        )  # fmt: skip
    if name in ("W9", "W10"):
        return Call(
            "scatter_nd", rng.random((256, 64), f4), rng.permutation(256)[:128, None].copy(),
            rng.random((128, 64), f4), {"reduction": reduction},
        )  # fmt: skip
    shape = (2, 4096)
    return Call(
        "scatter_elements", rng.random(shape, f4), rng.integers(0, 4096, shape), rng.random(shape, f4),
        {"axis": 1, "reduction": reduction},
    )  # fmt: skip


def tuples(call):
    return call.indices.size // (call.indices.shape[-1] if call.operator.endswith("_nd") else 1)


def runner(call):
    arrays = [array for array in (call.data, call.indices, call.updates) if array is not None]
    return lambda: getattr(gs, call.operator)(*arrays, **call.options)


def measure(name, rounds, threads, bandwidth):
    """Seconds of the workload, of its instructions and of its bytes."""
    whole = WORKLOADS[name].make(np.random.default_rng(0))
    small = near(name, np.random.default_rng(0))
    run, run_small = runner(whole), runner(small)
    run()
    gs.set_num_threads(1)
    repeat = enough(run_small, 2e-3)
    times = {"took": [], "instructions": []}
    for _ in range(rounds):
        gs.set_num_threads(threads)
        times["took"].append(seconds(run))
        gs.set_num_threads(1)
        times["instructions"].append(seconds(run_small, repeat))
    gs.set_num_threads(None)
    least = {what: min(taken) for what, taken in times.items()}
    least["instructions"] *= tuples(whole) / tuples(small) / threads
    least["bytes"] = WORKLOADS[name].moved * 1e6 / bandwidth
    return least


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=cpus())
    parser.add_argument("--write", type=Path, metavar="FOLDER")
    options = parser.parse_args()

    bandwidth = Limit(options.threads).bandwidth()
    rows = []
    for name in tqdm(LARGE, unit="workload"):
        found = measure(name, options.rounds, options.threads, bandwidth)
        bound, what = max((found[what], what) for what in BOUNDS)
        cells = [f"{found['took'] * 1e3:.1f}", f"{bound * 1e3:.1f}", f"{bound / found['took']:.0%}", what]
        rows.append([f"{name}, {WORKLOADS[name].description}", *cells])
    machine = about(["gatherscatter", "numpy"], f"{options.threads} threads", f"{options.rounds} rounds")
    machine += f"; {copies(bandwidth)}"
    figures = table(["workload", "time", "bound", "share", "of"], rows, numbers=3)
    show(f"{paragraph(machine)}\n\n{figures}\n", options.write, "bounds")


if __name__ == "__main__":
    main()
