"""Time common tasks, written as a user would write them, with gatherscatter and with other libraries.

    pip install '.[bench,peers,dask]'
    python benchmarks/jobs.py [--rounds N] [--threads N] [--quick] [--write FOLDER] [JOB ...]

The tasks ("jobs") are in jobs_images.py, jobs_numpy.py and jobs_others.py. Each has calls of gatherscatter and of
NumPy, SciPy, pandas, numpy_groupies, PyTorch, JAX, Dask and onnxruntime, where they are installed and have an idiom for
it. Results are compared with ours first; an alternative with a different result is named and does not count. Within
each round every call runs once (short ones repeatedly), and the fastest alternative counts.
"""

import argparse
import contextlib
import gc
import importlib.metadata
import math
import os
import statistics
import time
import warnings
from pathlib import Path

import gatherscatter as gs
import jobs_groups  # noqa: F401  (they fill JOBS)
import jobs_images  # noqa: F401
import jobs_numpy  # noqa: F401
import jobs_others  # noqa: F401
import numpy as np
from jobs_common import ABSENT, JOBS, OURS
from measure import about, copies, cpus, enough, paragraph, seconds, show, table
from systems import Limit
from tqdm import tqdm

LASTS = 0.02  # seconds: shorter calls are repeated
PAUSE = 0.005  # seconds between two turns, in which the threads of the one go to sleep and leave the CPUs to the other

# Why an alternative is faster; shown only for tasks in which one is.
EDGES = "L3: both read 1 M rows of 128 bytes in random order; PyTorch compiles a loop for this length"
NO_INDEX = "call overhead: a slice has no index to check"
NOTES = {
    "splat": "gatherscatter adds in order, on one thread",
    "normals": "gatherscatter adds in order, on one thread; the alternatives get three copies of each normal ready",
    "weights": "gatherscatter adds in order, on one thread",
    "group-sum": "memory: both read the rows (100 MB) once",
    "group-mean": "memory: both read the rows (100 MB) once",
    "centroids": "gatherscatter adds in order, on one thread: 64 rows are too few to divide",
    "cache": NO_INDEX,
    "cache-torch": NO_INDEX,
    "small-gather": "call overhead: the alternative is a C method, `gs.gather` a Python function",
    "fixed-graph": EDGES,
    "fixed-graph-gradient": EDGES,
    "small-gradient": "call overhead: gatherscatter checks the indices, then calls the same primitive",
    "onnx-model": "call overhead: onnx's evaluator calls each operator from Python, onnxruntime runs the whole model",
    "onnx": "memory: both copy the same rows",
    "experts": "memory: both copy the same rows",
    "edge-softmax": "JAX adds float32 numbers as float32, gatherscatter as float64",
    "group-climatology": "the alternative does not check the labels",
}

PACKAGES = ["gatherscatter", "numpy", "scipy", "pandas", "numpy-groupies", "numba", "torch", "jax", "dask", "onnx"]
PACKAGES += ["onnxruntime"]


def plain(result):
    """The arrays of a result, copied: the next call may write to the same memory."""
    parts = result if isinstance(result, (tuple, list)) else [result]
    return [np.array(part.detach() if hasattr(part, "detach") else part) for part in parts]


def agree(found, expected, tolerance):
    return len(found) == len(expected) and all(
        a.shape == b.shape
        and a.dtype == b.dtype
        and (np.array_equal(a, b) or (tolerance and np.allclose(a, b, rtol=0, atol=tolerance * np.abs(b).max())))
        for a, b in zip(found, expected, strict=True)
    )


def measure(name, rounds, less, progress):
    """Seconds per call of each, in the order of the rounds; which rivals gave another result; None without a rival."""
    job = JOBS[name]
    calls = job.make(np.random.default_rng(0), less)
    if OURS not in calls or len(calls) == 1:
        return None
    expected = plain(calls[OURS]())
    others = [rival for rival in calls if rival != OURS]
    wrong = [rival for rival in others if not agree(plain(calls[rival]()), expected, job.tolerance)]
    if wrong == others:
        raise SystemExit(f"{name}: gatherscatter gives another result than {', '.join(wrong)}")
    del expected
    gc.collect()
    repeats = {}
    for each, call in calls.items():
        time.sleep(PAUSE)
        repeats[each] = enough(call, LASTS)
    times = {each: [] for each in calls}
    progress.reset(total=rounds * len(calls))
    for _ in range(rounds):
        for each, call in calls.items():
            time.sleep(PAUSE)
            times[each].append(seconds(call, repeats[each]))
            progress.update()
    return times, wrong


def summary(name, times, wrong):
    least = {each: min(taken) for each, taken in times.items()}
    best = min((rival for rival in least if rival != OURS and rival not in wrong), key=least.get)
    ahead = least[best] / least[OURS]
    return {
        "title": JOBS[name].title,
        "detail": JOBS[name].detail,
        "tolerance": JOBS[name].tolerance,
        "megabytes": JOBS[name].moved,
        "seconds": {each: {"min": min(t), "median": statistics.median(t)} for each, t in times.items()},
        "wrong": wrong,
        "best rival": best,
        "ratio": ahead,
        "note": NOTES.get(name, "") if ahead < 1 else "",
    }


def cell(seconds):
    return f"{seconds * 1e6:.2f} µs" if seconds < 1e-4 else f"{seconds * 1e3:.2f}"


def ratio(number):
    return f"{number:.2f}" if number >= 0.1 else f"{number:.2g}"


def page(results, bandwidth):
    """Markdown: the table, its geometric mean, and the alternatives that are faster or have other results."""
    rows = []
    for result in results.values():
        taken, best = result["seconds"], result["best rival"]
        ours, theirs = taken[OURS]["min"], taken[best]["min"]
        share = f"{result['megabytes'] * 1e6 / ours / bandwidth:.0%}" if result["megabytes"] else "–"
        cells = [ratio(result["ratio"]), cell(ours), share, f"{best}: {cell(theirs)}"]
        rows.append([f"{result['title']}: {result['detail']}", *cells])
    head = ["task", "speedup", "time", "of a copy", "fastest alternative and its time"]
    ratios = [result["ratio"] for result in results.values()]
    behind = [result for result in results.values() if result["ratio"] < 1]
    text = f"The geometric mean of the speedups is {math.exp(statistics.fmean(map(math.log, ratios))):.2f}. "
    text += f"An alternative is faster in {len(behind)} of {len(ratios)} tasks{':' if behind else '.'}"
    parts = [table(head, rows, numbers=3), paragraph(text)]
    if behind:
        reasons = {}
        for result in behind:
            reasons.setdefault(result["note"] or "not known", []).append(result["title"])
        parts.append("\n".join(f"- {', '.join(titles)}: {reason}." for reason, titles in reasons.items()))
    differ = [f"{rival} ({result['title']})" for result in results.values() for rival in result["wrong"]]
    if differ:
        parts.append(paragraph(f"Not counted, because the result differs: {', '.join(differ)}."))
    return "\n\n".join(parts)


def installed(packages):
    """Those of the packages that are here."""
    here = []
    for package in packages:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            importlib.metadata.version(package)
            here.append(package)
    return here


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("jobs", nargs="*", metavar="JOB", help=f"of {', '.join(JOBS)}; default all")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=cpus())
    parser.add_argument("--quick", action="store_true", help="a hundredth of the sizes: does it run?")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="where to put jobs.json and jobs.md")
    options = parser.parse_args()
    if unknown := set(options.jobs) - set(JOBS):
        parser.error(f"no job named {', '.join(sorted(unknown))}")

    # Every library finds as many CPUs as it may use, also those that have no setting of their own.
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    gs.set_num_threads(options.threads)
    warnings.filterwarnings("ignore", message="Sparse ")  # PyTorch: its sparse matrices are in beta, and not checked

    bandwidth = Limit(options.threads).bandwidth()
    results = {}
    with tqdm(options.jobs or list(JOBS), unit="job") as names:
        for name in names:
            names.set_description(name)
            with tqdm(leave=False, unit="turn") as progress:
                taken = measure(name, options.rounds, 10 if options.quick else 1, progress)
            if taken is None:
                tqdm.write(f"{name}: left out, for want of its library or of a rival")
            else:
                results[name] = summary(name, *taken)
    if ABSENT:
        print(f"Not installed, and left out: {', '.join(sorted(ABSENT))}.\n")
    if not results:
        raise SystemExit("nothing to show")
    sizes = ["a hundredth of the sizes"] if options.quick else []
    heading = about(installed(PACKAGES), f"{options.threads} threads", f"{options.rounds} rounds", *sizes)
    heading += f"; {copies(bandwidth)}"
    text = f"{paragraph(heading)}\n\n{page(results, bandwidth)}\n"
    show(text, options.write, "jobs", {"about": heading, "copy, bytes a second": bandwidth, "jobs": results})


if __name__ == "__main__":
    main()
