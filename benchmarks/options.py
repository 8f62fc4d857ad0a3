"""What include_self=False and means cost, compared with sums that start from data.

    python benchmarks/options.py [--rounds N] [--quick] [--write FOLDER]

Where indices select elements, points or short rows of float32, the loops of options.c do the same on one thread, each
in several ways of which the fastest counts. Their results are compared first, bit for bit. Within each round each call
runs for some milliseconds after one that does not count, and the minimum counts. With --write the folder gets
options.json and options.md.
"""

import argparse
import ctypes
import math
import statistics
from dataclasses import dataclass
from pathlib import Path

import gatherscatter as gs
import numpy as np
from measure import about, cpus, enough, paragraph, seconds, show, table
from systems import aligned, compiled
from tqdm import tqdm

LOOPS = Path(__file__).with_name("options.c")
LASTS = 0.005  # seconds: shorter calls are repeated
FAR = 1 << 20  # bytes of a result, from which the C loops prefetch
GOAL = 1.1
OPTIONS = {
    "sum": {"reduction": "add"},
    "False": {"reduction": "add", "include_self": False},
    "mean": {"reduction": "mean"},
}
IN_C = {
    "sum": ["add"],
    "False": ["first_by_marks", "first_in_cells", "first_by_updates"],
    "mean": ["mean_by_counts", "mean_in_passes", "mean_in_cells", "mean_by_updates"],
}


@dataclass(frozen=True)
class Case:
    name: str
    shape: tuple
    n: int = 0  # updates; 0: one for each element, along the axis
    axis: int = 0
    dtype: str = "float32"


CASES = [
    Case("4 M float32 into 1000", (1000,), 4_000_000),
    Case("1 M float32 into 100 k", (100_000,), 1_000_000),
    Case("1 M float32 into 1 M", (1_000_000,), 1_000_000),
    Case("100 k float32 into 1 M", (1_000_000,), 100_000),
    Case("4 M float32 into 16 M", (1 << 24,), 4_000_000),
    Case("1 M float64 into 100 k", (100_000,), 1_000_000, dtype="float64"),
    Case("1 M int64 into 100 k", (100_000,), 1_000_000, dtype="int64"),
    Case("1 M int32 into 1 M", (1_000_000,), 1_000_000, dtype="int32"),
    Case("1 M float16 into 100 k", (100_000,), 1_000_000, dtype="float16"),
    Case("2 M points of three float32 into 1000", (1000, 3), 2_000_000),
    Case("1 M points into 600 k", (600_000, 3), 1_000_000),
    Case("1 M rows of 16 float32 into 20 k", (20_000, 16), 1_000_000),
    Case("500 k rows of 16 into 500 k", (500_000, 16), 500_000),
    Case("100 k rows of 16 into 500 k", (500_000, 16), 100_000),
    Case("400 k rows of 64 float32 into 20 k", (20_000, 64), 400_000),
    Case("500 k rows of 64 into 1 M", (1_000_000, 64), 500_000),
    Case("scatter_elements, (4096, 4096) float32, axis 1", (4096, 4096), axis=1),
    Case("scatter_elements, (2048, 2048) float32, axis 0", (2048, 2048)),
]


class Call(ctypes.Structure):
    """As in options.c."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("data", "at", "updates", "out", "scratch")] + [
        (name, ctypes.c_int64) for name in ("n_points", "n", "is_far")
    ]


def arrays_of(case, rng):
    shape = (case.n, *case.shape[1:]) if case.n else case.shape
    indices = rng.integers(0, case.shape[case.axis], case.n or shape)
    data, updates = rng.integers(1, 9, case.shape), rng.integers(1, 5, shape)
    return data.astype(case.dtype), indices, updates.astype(case.dtype)


def ours(case, arrays):
    function = gs.scatter if case.n else gs.scatter_elements
    return {name: lambda words=words: function(*arrays, axis=case.axis, **words) for name, words in OPTIONS.items()}


def in_c(library, case, arrays):
    """The ways of each option; {} if there are no loops for the case."""
    width = math.prod(case.shape[1:]) if case.n else 1
    if case.dtype != "float32" or width not in (1, 3, 16) or (not case.n and case.axis == 0):
        return {}
    data, indices, updates = arrays
    n_units, n_points = (1, len(data)) if case.n else data.shape
    padded = aligned(8 * (indices.size + 64)).view(np.int64)  # the loops read beyond the end
    padded[:] = 0
    padded[: indices.size] = indices.ravel()
    out = aligned(data.nbytes).view(np.float32).reshape(data.shape)
    scratch = aligned(n_points * 4 * (width + 1))
    call = Call(*(array.ctypes.data for array in (data, padded, updates, out, scratch)))
    call.n_points, call.n, call.is_far = n_points, indices.size // n_units, 4 * n_points * width > FAR

    def run(loop):
        library.in_units(loop, ctypes.byref(call), ctypes.c_int64(n_units), ctypes.c_int64(width))
        return out

    run.keeps = arrays, padded, scratch
    return {option: [lambda loop=library[f"{way}{width}"]: run(loop) for way in ways] for option, ways in IN_C.items()}


def least(calls, rounds):
    """Least seconds of each call, by its key."""
    repeats = {key: enough(call, LASTS) for key, call in calls.items()}
    found = dict.fromkeys(calls, math.inf)
    for _ in range(rounds):
        for key, call in calls.items():
            call()  # so that each one finds its own arrays in the caches
            found[key] = min(found[key], seconds(call, repeats[key]))
    return found


def measure(library, case, rounds):
    """Seconds by option: on one thread, by C loops and on all threads."""
    arrays = arrays_of(case, np.random.default_rng(0))
    calls, ways = ours(case, arrays), in_c(library, case, arrays)
    gs.set_num_threads(1)
    for option, loops in ways.items():
        expected = calls[option]()
        for loop in loops:
            if not np.array_equal(loop().view(np.uint32), expected.view(np.uint32)):
                raise SystemExit(f"{case.name}: {option} differs")
    loops = {(option, i): loop for option, each in ways.items() for i, loop in enumerate(each)}
    taken = least(calls | loops, rounds)
    record = {"one": {option: taken[option] for option in calls}}
    if ways:
        record["C"] = {option: min(taken[option, i] for i in range(len(each))) for option, each in ways.items()}
    gs.set_num_threads(None)
    record["all"] = least(calls, rounds)
    return record


def times_as_long(taken, option):
    return taken[option] / taken["sum"]


def page(record, threads):
    """The tables of one and of all threads, and what they say."""
    one, every, ratios, near_c = [], [], [], []
    for name, found in record.items():
        cells = {}
        for key in ("one", "C", "all"):
            taken = found.get(key)
            cells[key] = [f"{times_as_long(taken, option):.2f}" if taken else "–" for option in ("False", "mean")]
            if key != "C":
                cells[key].insert(0, f"{taken['sum'] * 1e3:.2f}")
                ratios += [times_as_long(taken, option) for option in ("False", "mean")]
        if "C" in found:
            near_c += [found["one"][option] / found["C"][option] for option in ("False", "mean")]
        one.append([name, *cells["one"], *cells["C"]])
        every.append([name, *cells["all"]])
    mean = statistics.geometric_mean
    text = (
        f"{sum(ratio <= GOAL for ratio in ratios)} of {len(ratios)} take at most {GOAL} times as long as a sum. The "
        f"geometric mean is {mean(ratios):.2f} times, the most {max(ratios):.2f}. On one thread, the calls with "
        f"`include_self=False` and the means take {mean(near_c):.2f} times as long as the fastest C loop in the "
        f"geometric mean, at most {max(near_c):.2f} times."
    )
    tables = (
        "**One thread**",
        table(["", "sum", "`False`", "mean", "C, `False`", "C, mean"], one),
        f"**{threads} threads**",
        table(["", "sum", "`False`", "mean"], every),
    )
    return "\n\n".join([*tables, paragraph(text)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--quick", action="store_true", help="one round")
    parser.add_argument("--write", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    library, record = compiled(LOOPS), {}
    rounds = 1 if given.quick else given.rounds
    for case in tqdm(CASES, leave=False):
        record[case.name] = measure(library, case, rounds)
    machine = about(["gatherscatter", "numpy"], f"{gs.get_num_threads()} of {cpus()} CPUs", f"{rounds} rounds")
    text = f"{paragraph(machine)}\n\n{page(record, gs.get_num_threads())}\n"
    show(text, given.write, "options", {"about": machine, "seconds": record})


if __name__ == "__main__":
    main()
