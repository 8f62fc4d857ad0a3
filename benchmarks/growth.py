"""Time per element by array size, from 10 to 10^8 elements, and by the distribution of the scatters' destinations.

    python benchmarks/growth.py [--largest N] [--rounds N] [--write FOLDER] [OPERATOR ...]

Operators: gather, gather_nd, gather_elements, scatter, scatter_nd, scatter_elements. float32, int64 indices; n indices
(pairs for the _nd ones) select n random elements of data of n elements, so that all arrays grow in the same proportion.
Each round runs all sizes and numbers of threads, so that a machine that slows down slows all of them. 10^8 elements
take about 5 GB of memory, because the arrays of all sizes are in memory at the same time.

With --write the folder gets growth.json, a plot per operator (growth-….png) and growth.md with every factor above 1.5
between neighbouring sizes. The text of growth.md below "## Explanations" is written by hand and is kept.
"""

import argparse
import gc
import itertools
import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import gatherscatter as gs
import numpy as np
from gatherscatter import memory
from measure import about, at_each, cpus, enough, paragraph, seconds, table, write
from tqdm import tqdm

LEAST_SECONDS = 1e-3  # a sample lasts so long at least
CLIFF = 1.5
BY_HAND = "## Explanations"
# Sizes of a result at which the library changes its method: src/common/small_calls.pxd, src/common/memory.pyx.
RESULT_PASSES = {
    1 << 18: "the result exceeds 256 KiB: its memory is kept for later results",
    1 << 20: "the result exceeds 1 MiB: the fast path for small calls ends",
    4 << 20: "the result exceeds 4 MiB: it uses huge pages",
    memory.limit: f"the result exceeds {memory.limit >> 20} MiB: its memory is not kept for later results",
}
ZIPF = (1.1, 1.5, 2.0, 3.0)


@dataclass(frozen=True)
class Case:
    """An operator with a reduction, and how many bytes an element of it has to move."""

    operator: str
    reduction: str | None
    bytes: int  # each array once: data, indices, updates, result

    @property
    def name(self):
        return self.operator + (f" {self.reduction}" if self.reduction else "")


CASES = [
    Case("gather", None, 4 + 8 + 4),
    Case("gather_nd", None, 4 + 16 + 4),
    Case("gather_elements", None, 4 + 8 + 4),
    Case("scatter", "add", 4 + 8 + 4 + 4),
    Case("scatter_nd", "none", 4 + 16 + 4 + 4),
    Case("scatter_nd", "add", 4 + 16 + 4 + 4),
    Case("scatter_elements", "none", 4 + 8 + 4 + 4),
    Case("scatter_elements", "add", 4 + 8 + 4 + 4),
]
OPERATORS = list(dict.fromkeys(case.operator for case in CASES))


def sizes(largest):
    """Three per decade from 10 on."""
    return [n for i in range(3, 100) if (n := round(10 ** (i / 3))) <= largest]


def uniform(rng, below, shape):
    return rng.integers(0, below, shape)


def all_to_one(rng, below, shape):
    return np.full(shape, below // 3)


def zipf(exponent):
    def draw(rng, below, shape):
        # Shuffled, so that the destinations that are hit most are no neighbours.
        return rng.permutation(below)[(rng.zipf(exponent, shape) - 1) % below]

    return draw


def prepared(case, n, draw=uniform):
    """How many elements there are (a square has no ten), and a function of no arguments that does the call."""
    rng, f4 = np.random.default_rng(0), np.float32
    side = round(n**0.5)
    options = {}
    if case.operator in ("gather", "scatter"):
        shape, indices = (n,), draw(rng, n, n)
    else:
        shape, n = (side, side), side * side
        if case.operator.endswith("_nd"):
            indices = np.empty((n, 2), np.int64)
            np.divmod(draw(rng, n, n), side, out=(indices[:, 0], indices[:, 1]))
        else:
            indices, options["axis"] = draw(rng, side, shape), 1
    arrays = [rng.random(shape, f4), indices]
    if case.reduction:
        options["reduction"] = case.reduction
        arrays.append(rng.random(n if case.operator.endswith("_nd") else shape, f4))
    function = getattr(gs, case.operator)
    return n, lambda: function(*arrays, **options)


def in_turns(calls, counts, rounds, progress):
    """Least seconds of each call at each number of threads."""
    gs.set_num_threads(counts[-1])
    repeats = {name: enough(call, LEAST_SECONDS) for name, call in calls.items()}
    best = {name: dict.fromkeys(counts, np.inf) for name in calls}
    for i in range(rounds):
        for name, call in calls.items():
            for count, taken in at_each(counts[:: -1 if i % 2 else 1], call, repeats[name]).items():
                best[name][count] = min(best[name][count], taken)
            progress.update()
    return best


def copy_bandwidth(threads, rounds):
    """Bytes a second, read and written, of a copy of 256 MiB by so many threads at once."""
    source, target = np.ones(1 << 26, np.float32), np.zeros(1 << 26, np.float32)
    parts = list(zip(np.array_split(target, threads), np.array_split(source, threads), strict=True))
    with ThreadPoolExecutor(threads) as pool:

        def copy():
            list(pool.map(lambda part: np.copyto(*part), parts))

        copy()
        return 2 * source.nbytes / min(seconds(copy) for _ in range(rounds))


def caches():
    """Bytes of the data caches of the first CPU and their names; {} where the system does not say."""
    found = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        if kind != "Instruction" and (match := re.fullmatch(r"(\d+)K", size)):
            found[int(match[1]) << 10] = f"L{level}"
    return found


def thresholds(case, before, after):
    """The thresholds between two sizes, in words: possible causes of a change."""
    words = [
        f"{what} exceed the {name} cache ({size >> 10} KiB)"
        for size, name in caches().items()
        for what, width in (("data", 4), ("all arrays", case.bytes))
        if before * width <= size < after * width
    ]
    return words + [text for size, text in RESULT_PASSES.items() if before * 4 <= size < after * 4]


def per_element(line, count):
    """[(elements, ns an element)] of a line's least times."""
    return [(n, best[count] / n * 1e9) for n, best in line.items()]


def cliffs(case, line, counts):
    """Rows of the table of factors above CLIFF where the call's fixed cost is no longer what counts."""
    rows = []
    for count in counts:
        smallest = next(iter(line.values()))[count]
        points = per_element(line, count)
        for (n, t), (larger, u) in itertools.pairwise(points):
            factor = max(t / u, u / t)
            if line[n][count] > 3 * smallest and factor > CLIFF:
                between = "; ".join(thresholds(case, n, larger)) or "–"
                where = f"{n:,} → {larger:,}"
                rows.append([f"{case.name}, {count}", where, f"{t:.2f} → {u:.2f}", f"{u / t:.2f}", between])
    return rows


def grow(case, options, counts):
    """{elements: {threads: least seconds}}, and, for a scatter, ns per element by distribution of the destinations."""
    with tqdm(total=options.rounds * len(sizes(options.largest)), unit="size", leave=False) as progress:
        progress.set_description(case.name)
        line = in_turns(dict(prepared(case, n) for n in sizes(options.largest)), counts, options.rounds, progress)
    gc.collect()
    if not case.reduction:
        return line, {}
    draws = {"uniform": uniform, **{f"Zipf {a}": zipf(a) for a in ZIPF}, "all to one": all_to_one}
    with tqdm(total=options.rounds * len(draws), unit="distribution", leave=False) as progress:
        progress.set_description(case.name)
        calls = {name: prepared(case, options.crowd, draw) for name, draw in draws.items()}
        n = next(iter(calls.values()))[0]
        skew = in_turns({name: call for name, (_, call) in calls.items()}, counts, options.rounds, progress)
    gc.collect()
    return line, {name: {count: t / n * 1e9 for count, t in best.items()} for name, best in skew.items()}


def plot(operator, results, counts, bandwidth, crowd, path):
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    cases = [case for case in results if case.operator == operator]
    crowded = bool(cases[0].reduction)
    figure, panels = plt.subplots(
        1, 1 + crowded, figsize=(11 if crowded else 7, 4.5), layout="constrained", sharey=False, squeeze=False
    )
    left, right = panels[0][0], panels[0][-1]
    for i, case in enumerate(cases):
        line, skew = results[case]
        for count, style in zip(counts, ("--", "-"), strict=False):
            label = f"{case.name}, {count} thread{'s' * (count > 1)}"
            left.loglog(*zip(*per_element(line, count), strict=True), f"C{i}{style}", marker=".", label=label)
            if crowded:
                right.plot(list(skew), [best[count] for best in skew.values()], f"C{i}{style}", marker=".", label=label)
    bound = cases[0].bytes / bandwidth * 1e9
    text = f"{cases[0].bytes} bytes per element at {bandwidth / 1e9:.1f} GB/s"
    for panel in {left, right}:
        panel.axhline(bound, color="black", linewidth=0.8, linestyle=":", label=text)
        panel.set_ylabel("time per element, ns")
        panel.grid(alpha=0.3)
    left.set_xlabel("elements")
    left.set_title(f"{operator}: float32, int64 indices, uniform", fontsize="medium")
    left.legend(fontsize="small")
    if crowded:
        right.set_ylim(bottom=0)
        right.set_xlabel(f"destinations of {crowd:,} updates")
        right.set_title(f"{operator}: distribution of destinations", fontsize="medium")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def page(results, counts, bandwidth, options, versions, old):
    words = [f"{case.name}, {count}" for case in results for count in counts]
    lines = {(case, count): dict(per_element(results[case][0], count)) for case in results for count in counts}
    decades = [10**i for i in range(1, 12) if 10**i <= options.largest]
    by_size = [
        [word, *(f"{line[min(line, key=lambda n: abs(n - size))]:.2f}" for size in decades)]
        for word, line in zip(words, lines.values(), strict=True)
    ]
    found = [row for case in results for row in cliffs(case, results[case][0], counts)]
    crowds = {case: skew for case, (_, skew) in results.items() if skew}
    by_crowd = [
        [f"{case.name}, {count}", *(f"{best[count]:.2f}" for best in skew.values())]
        for case, skew in crowds.items()
        for count in counts
    ]
    plots = "\n".join(f"![{o}](growth-{o}.png)" for o in OPERATORS if any(case.operator == o for case in results))
    parts = [
        "# Scaling with array size",
        paragraph(
            "Nanoseconds per element, the minimum over the rounds: n random indices into an array of n elements, "
            "float32 with int64 indices. The number after an operator's name is the number of threads. Written by "
            f"`python benchmarks/growth.py --write {options.write}`."
        ),
        f"{versions}; a copy by all threads moves {bandwidth / 1e9:.1f} GB/s (read + write)",
        plots,
        paragraph(
            "The dotted line is the time to move the bytes of all arrays once at the speed of that copy. Arrays that "
            "fit the caches can be faster. Larger ones are slower, because each random element loads a cache line of "
            "64 bytes."
        ),
        "## By size",
        table(["elements", *(f"10^{len(str(size)) - 1}" for size in decades)], by_size),
        f"## Changes by more than a factor of {CLIFF} between adjacent sizes",
        paragraph(
            "Each size is 2.15 times the one before. Sizes whose call takes less than three times as long as the "
            "smallest call are left out, because there the fixed cost of a call dominates. The last column lists the "
            "thresholds between the two sizes. They are possible causes, not proven ones."
        ),
        table(["", "elements", "ns per element", "factor", "thresholds between"], found, left=2) if found else "None.",
    ]
    if crowds:
        head = next(iter(crowds.values()))
        parts += [
            "## By distribution of the destinations",
            paragraph(
                f"{options.crowd:,} updates into as many elements (scatter_elements: within each row). The larger the "
                "exponent of Zipf's distribution, the more updates share a few destinations, which lie at random "
                "positions."
            ),
            table(["", *head], by_crowd),
        ]
    return "\n\n".join(parts) + "\n\n" + (old or f"{BY_HAND}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("operators", nargs="*", metavar="OPERATOR", help=f"of {', '.join(OPERATORS)}; default all")
    parser.add_argument("--largest", type=lambda text: int(float(text)), default=10**8, metavar="N")
    parser.add_argument("--crowd", type=lambda text: int(float(text)), default=4 * 10**6, metavar="N",
                        help="updates for the figures on how destinations crowd; default 4e6")  # fmt: skip
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=cpus(), help="beside 1")
    parser.add_argument("--write", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    if unknown := set(options.operators) - set(OPERATORS):
        parser.error(f"no operator named {', '.join(sorted(unknown))}")
    counts = sorted({1, options.threads})

    bandwidth = copy_bandwidth(options.threads, options.rounds)
    cases = [case for case in CASES if case.operator in (options.operators or OPERATORS)]
    results = {case: grow(case, options, counts) for case in tqdm(cases, unit="operator")}
    versions = about(["gatherscatter", "numpy"], f"{options.threads} threads", f"{options.rounds} rounds")
    old = options.write / "growth.md" if options.write else Path(os.devnull)
    by_hand = re.search(f"^{BY_HAND}.*", old.read_text() if old.exists() else "", re.DOTALL | re.MULTILINE)
    text = page(results, counts, bandwidth, options, versions, by_hand and by_hand[0])
    print(text)
    if options.write:
        record = {
            "about": versions,
            "copy, bytes a second": bandwidth,
            "cases": {
                case.name: {"bytes an element": case.bytes, "seconds": line, "ns an element, crowded": skew}
                for case, (line, skew) in results.items()
            },
        }
        write(options.write, "growth", record, text)
        for operator in dict.fromkeys(case.operator for case in cases):
            plot(operator, results, counts, bandwidth, options.crowd, options.write / f"growth-{operator}.png")


if __name__ == "__main__":
    main()
