"""Time per element by array size, from 10 to 10^8 elements, and by the distribution of the scatters' destinations.

    python benchmarks/growth.py [--largest N] [--rounds N] [--write FOLDER] [OPERATOR ...]

Operators: gather, gather_nd, gather_elements, scatter, scatter_nd, scatter_elements. float32, int64 indices; n indices
(pairs for the _nd ones) select n random elements of data of n elements, so that all arrays grow in the same proportion.
Each round runs all sizes and numbers of threads, so that a machine that slows down slows all of them. 10^8 elements
take about 5 GB of memory, because the arrays of all sizes are in memory at the same time.
"""

import argparse
import gc
from dataclasses import dataclass
from pathlib import Path

import gatherscatter as gs
import numpy as np
from measure import about, at_each, cpus, enough, paragraph, show, table
from tqdm import tqdm

LEAST_SECONDS = 1e-3  # a sample lasts so long at least
ZIPF = (1.1, 1.5, 2.0, 3.0)


@dataclass(frozen=True)
class Case:
    operator: str
    reduction: str | None

    @property
    def name(self):
        return self.operator + (f" {self.reduction}" if self.reduction else "")


CASES = [
    Case("gather", None),
    Case("gather_nd", None),
    Case("gather_elements", None),
    Case("scatter", "add"),
    Case("scatter_nd", "none"),
    Case("scatter_nd", "add"),
    Case("scatter_elements", "none"),
    Case("scatter_elements", "add"),
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


def page(cases, crowd):
    """Two tables, of a record of the cases by name."""
    first = next(iter(cases.values()))["seconds"]
    shown = [n for n in (10, 10**3, 10**5, 10**7, 10**8) if n <= max(first)]
    by_size, by_crowd = [], []
    for name, found in cases.items():
        line, skew = found["seconds"], found["ns an element, crowded"]
        for count in next(iter(line.values())):
            near = [min(line, key=lambda n, size=size: abs(n - size)) for size in shown]
            by_size.append([f"{name}, {count}", *(f"{line[n][count] / n * 1e9:.3g}" for n in near)])
            if skew:
                by_crowd.append([f"{name}, {count}", *(f"{best[count]:.2f}" for best in skew.values())])
    parts = ["**By size**", table(["elements", *(f"10^{len(str(n)) - 1}" for n in shown)], by_size)]
    if by_crowd:
        head = ["", *(name.removeprefix("Zipf ") for name in skew)]
        parts += [f"**By distribution of the destinations**, {crowd:,} updates", table(head, by_crowd)]
    return "\n\n".join(parts)


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

    cases = [case for case in CASES if case.operator in (options.operators or OPERATORS)]
    results = {case: grow(case, options, counts) for case in tqdm(cases, unit="operator")}
    versions = about(["gatherscatter", "numpy"], f"{options.threads} threads", f"{options.rounds} rounds")
    found = {case.name: {"seconds": line, "ns an element, crowded": skew} for case, (line, skew) in results.items()}
    text = f"{paragraph(versions)}\n\n{page(found, options.crowd)}\n"
    show(text, options.write, "growth", {"about": versions, "cases": found})


if __name__ == "__main__":
    main()
