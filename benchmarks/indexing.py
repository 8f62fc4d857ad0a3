"""Time `gs.at`, the functions that it replaces and NumPy's indexing; and sums with and without `accumulate_dtype`.

    pip install '.[bench]'
    OMP_DYNAMIC=false python benchmarks/indexing.py [--rounds N] [--quick] [--write FOLDER]

Each row has three calls. Of indexing: `gs.at`, `gather_nd` or `scatter_nd` on ready index tuples, and NumPy, with equal
results. Of sums: with `accumulate_dtype`, without, and on copies in the wide dtype. Within each round each call runs
once, and the minimum counts. With --write the folder gets indexing.json and indexing.md.
"""

import argparse
import functools
from pathlib import Path

import gatherscatter as gs
import ml_dtypes
import numpy as np
from measure import about, cpus, enough, paragraph, seconds, show, table
from tqdm import tqdm

COMMAND = "OMP_DYNAMIC=false python benchmarks/indexing.py"
LASTS = 0.02  # seconds: shorter calls are repeated


def added(x, index, updates):
    """NumPy's scatter add into a copy."""
    result = x.copy()
    np.add.at(result, index, updates)
    return result


def assigned(x, index, value):
    result = x.copy()
    result[index] = value
    return result


def indexing(rng, less):
    """(what, at, gather_nd or scatter_nd or None, NumPy)."""
    side, n = 4096 // less, 4_000_000 // less**2
    image = rng.random((side, side), np.float32)
    channels = rng.random((3, side // 2, side // 2), np.float32)
    pixels = rng.random((side // 2, side // 2, 3), np.float32)
    rows, columns = rng.integers(0, side, (2, n))
    pairs, ones = np.stack([rows, columns], -1), np.ones(n, np.float32)
    near = np.minimum(rows, side // 2 - 1), np.minimum(columns, side // 2 - 1)
    near_pairs = np.stack(near, -1)
    ys, xs = np.arange(side)[:, None] // 2, np.arange(side)[None, :] // 2
    grid = np.stack(np.broadcast_arrays(ys, xs), -1)
    half, few = rng.random((side, side)) < 0.5, np.zeros((side, side), bool)
    few.reshape(-1)[:: side * 7] = True
    at, whole = gs.at, slice(None)
    return [
        (
            "x[rows, cols]",
            at(image)[rows, columns].get,
            lambda: gs.gather_nd(image, pairs),
            lambda: image[rows, columns],
        ),
        (
            "x[rows, cols], pixels of 3 channels",
            at(pixels)[near].get,
            lambda: gs.gather_nd(pixels, near_pairs),
            lambda: pixels[near],
        ),
        ("x[:, rows, cols], 3 planes", at(channels)[:, *near].get, None, lambda: channels[whole, *near]),
        ("x[ys[:, None], xs]", at(image)[ys, xs].get, lambda: gs.gather_nd(image, grid), lambda: image[ys, xs]),
        ("x[mask], half of it", at(image)[half].get, None, lambda: image[half]),
        ("x[mask], few", at(image)[few].get, None, lambda: image[few]),
        ("x[mask] = 0, half of it", lambda: at(image)[half].set(0), None, lambda: assigned(image, half, 0)),
        (
            "np.add.at(x, (rows, cols), u)",
            lambda: at(image)[rows, columns].add(ones),
            lambda: gs.scatter_nd(image, pairs, ones, reduction="add"),
            lambda: added(image, (rows, columns), ones),
        ),
        (
            "x[rows, cols] = u",
            lambda: at(image)[rows, columns].set(ones),
            lambda: gs.scatter_nd(image, pairs, ones),
            lambda: assigned(image, (rows, columns), ones),
        ),
        ("x[i], 10 rows", at(pixels[0])[rows[:10] % 9].get, lambda: gs.gather(pixels[0], rows[:10] % 9), None),
    ]


def sums(rng, less):
    """(what, with accumulate_dtype, without it, the scatter of wide copies)."""
    found = []
    for dtype, wide in (("float32", "float64"), ("float16", "float32"), ("bfloat16", "float32")):
        narrow = np.dtype(getattr(ml_dtypes, dtype)) if dtype == "bfloat16" else np.dtype(dtype)
        n, size = 4_000_000 // less**2, 16_000_000 // less**2
        cases = {
            f"{n / 1e6:g} M elements into {size / 1e6:g} M": ((size,), rng.integers(0, size, n), (n,)),
            f"{n / 1e6:g} M elements into 1000": ((1000,), rng.integers(0, 1000, n), (n,)),
            f"{size / 1e6:g} M elements into {size / 1e6:g} M": ((size,), rng.integers(0, size, size), (size,)),
            f"{n / 1e6:g} M elements into {size / 1e6:g} M, sorted": ((size,), np.sort(rng.integers(0, size, n)), (n,)),
            f"{size / 16e6:g} M elements into {size / 16e6:g} M": (
                (size // 16,),
                rng.integers(0, size // 16, size // 16),
                (size // 16,),
            ),
            "400 k rows of 64 into 20 k": ((20_000, 64), rng.integers(0, 20_000, 400_000 // less**2), (-1, 64)),
        }
        for what, (shape, indices, places) in cases.items():
            data = np.zeros(shape, narrow)
            updates = rng.integers(0, 3, (len(indices), *places[1:])).astype(narrow)
            add = functools.partial(gs.scatter, data, indices, updates, reduction="add")

            def copies(data=data, indices=indices, updates=updates, wide=wide):
                result = gs.scatter(data.astype(wide), indices, updates.astype(wide), reduction="add")
                return result.astype(data.dtype)

            found.append((f"{dtype} in {wide}: {what}", functools.partial(add, accumulate_dtype=wide), add, copies))
    return found


def least(calls, rounds):
    """The minimum time of each call in seconds. Each round runs every call."""
    repeats = [call and enough(call, LASTS) for call in calls]
    taken = [[] for _ in calls]
    for _ in range(rounds):
        for call, repeat, times in zip(calls, repeats, taken, strict=True):
            if call:
                times.append(seconds(call, repeat))
    return [min(times) if times else None for times in taken]


def cell(taken):
    return "–" if taken is None else f"{taken * 1e6:.3g} µs" if taken < 1e-4 else f"{taken * 1e3:.3g}"


def ratio(one, other):
    return "–" if one is None else f"{one / other:.3g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--quick", action="store_true", help="a sixteenth of the work")
    parser.add_argument("--write", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    less = 4 if given.quick else 1
    record, pages = {}, []
    for make, ours, core, numpys in (
        (indexing, "gs.at", "_nd", "NumPy"),
        (sums, "time", "without", "copies"),
    ):
        rows = []
        for what, *calls in tqdm(make(np.random.default_rng(0), less), desc=make.__name__, leave=False):
            if make is indexing:
                for other in filter(None, calls[1:]):
                    if not np.array_equal(calls[0](), other()):
                        raise SystemExit(f"{what}: the results differ")
            taken = least(calls, given.rounds)
            record[what] = dict(zip((ours, core, numpys), taken, strict=True))
            ratios = ratio(taken[1], taken[0]), ratio(taken[2], taken[0])
            rows.append([what, *ratios, *map(cell, taken)])
        pages.append(table(["", f"vs {core}", f"vs {numpys}", ours, core, numpys], rows))
    threads = f"{gs.get_num_threads()} threads"
    machine = about(["gatherscatter", "numpy"], f"{cpus()} CPUs", threads, f"{given.rounds} rounds")
    text = f"{paragraph(machine)}\n\n**`gs.at`**\n\n{pages[0]}\n\n**`accumulate_dtype`**\n\n{pages[1]}\n"
    show(text, given.write, "indexing", {"about": machine, "seconds": record})


if __name__ == "__main__":
    main()
