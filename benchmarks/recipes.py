"""Time the recipes of docs/recipes.md and the code that they replace; prints the table of that page.

    python benchmarks/recipes.py [--rounds N] [--threads N] [--quick] [RECIPE ...]

The timed code is that of the page: below each heading, the first block is the recipe, without the lines that make its
inputs, and the block without prompts is what it replaces. Both get equal arrays and must give equal results. Each round
runs both; the table has the medians.
"""

import argparse
import contextlib
import copy
import statistics
import sys
import time
from pathlib import Path

import gatherscatter as gs
import numpy as np
from measure import about, cpus, enough, paragraph, seconds, table

DOCS = Path(__file__).parents[1] / "docs"
sys.path.insert(0, str(DOCS))

from page_code import pair  # noqa: E402

LASTS = 0.02  # seconds: shorter calls are repeated
PAUSE = 0.005  # seconds between two turns, in which the threads of the one go to sleep
RECIPES = {}  # by heading: what the arrays are, and a function of a generator and a divisor of sizes that makes them


def recipe(heading, detail):
    def register(arrange):
        RECIPES[heading] = detail, arrange
        return arrange

    return register


def whole(rng, shape, dtype=np.float32):
    """Small whole numbers, whose sums are exact in any order."""
    return rng.integers(0, 8, shape).astype(dtype)


def near(rng, height, width):
    """For each pixel a place near its own, some of them beyond the border."""
    row, column = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    row, column = row + 20 * np.sin(column / 50), column + 20 * np.cos(row / 50)
    return {"row": row.astype(np.int64), "column": column.astype(np.int64)}


@recipe("One-hot", "1 M labels, 32 classes")
def one_hot(rng, less):
    return {"labels": rng.integers(0, 32, 1_000_000 // less), "n": 32}


@recipe("Group by", "500 k rows × 16, 10 k groups")
def group_by(rng, less):
    m = 500_000 // less
    return {"groups": rng.integers(0, 10_000, m), "values": whole(rng, (m, 16)), "n": 10_000}


@recipe("Bincount", "1000 rows of 4096, 256 bins")
def bincount(rng, less):
    shape = 1000 // less, 4096
    return {"bins": rng.integers(0, 256, shape), "weights": whole(rng, shape, float), "n": 256}


@recipe("2-D histogram", "4 M points, 1024 × 1024 bins")
def histogram(rng, less):
    x, y = rng.random((2, 4_000_000 // less))
    return {"x": x, "y": y, "n": 1024, "low": 0.0, "high": 1.0}


@recipe("Top-k mask", "k = 16 of (4096, 4096)")
def top_k(rng, less):
    scores = rng.random((4096 // less, 4096), np.float32)
    return {"scores": scores, "top": np.argpartition(scores, -16)[:, -16:].copy()}


@recipe("Confusion matrix", "4 M samples, 100 classes")
def confusion(rng, less):
    truth, predicted = rng.integers(0, 100, (2, 4_000_000 // less))
    return {"truth": truth, "predicted": predicted, "n": 100}


@recipe("k-means centroids", "200 k points × 32, 64 clusters")
def centroids(rng, less):
    m = 200_000 // less
    labels = rng.permutation(np.arange(m) % 64)
    return {"xp": np, "labels": labels, "points": whole(rng, (m, 32)), "k": 64}


@recipe("Embedding gradient", "64 × 512 tokens, table (50 k, 256)")
def embedding(rng, less):
    tokens = rng.integers(0, 50_000, (64 // min(less, 64), 512))
    return {
        "table": np.zeros((50_000, 256), np.float32),
        "tokens": tokens,
        "gradient": whole(rng, (*tokens.shape, 256)),
    }


@recipe("Graph messages", "100 k nodes × 64, 1 M edges")
def messages(rng, less):
    nodes, edges = 100_000 // less, 1_000_000 // less
    source, target = rng.integers(0, nodes, (2, edges))
    return {"features": whole(rng, (nodes, 64)), "source": source, "target": target}


@recipe("Image warp", "uint8 (2160, 3840, 3)")
def warp(rng, less):
    shape = 2160 // less, 3840, 3
    return {"image": rng.integers(0, 256, shape, np.uint8), **near(rng, *shape[:2])}


@recipe("Splat", "float32 (1080, 1920, 3)")
def splat(rng, less):
    shape = 1080 // less, 1920, 3
    return {"image": whole(rng, shape), **near(rng, *shape[:2])}


@recipe("Segmentation", "float64 (1080, 1920, 3), 2 k labels")
def segmentation(rng, less):
    height, width, n = 1080 // less, 1920, 2000
    row, column = np.indices((height, width))
    labels = row * 40 // height * 50 + column * 50 // width  # blocks
    return {"image": whole(rng, (height, width, 3), float), "labels": labels, "n": n}


@recipe("KV cache update", "one token into (64, 32, 2048, 128) float16")
def cache(rng, less):
    batch, heads, length, width = 64 // min(less, 32), 32, 2048, 128
    return {
        "cache": np.zeros((batch, heads, length, width), np.float16),
        "new": whole(rng, (batch, heads, width), np.float16),
        "position": rng.integers(0, length, batch),
    }


@recipe("Sparse COO to dense", "4 M values into (4096, 4096)")
def dense(rng, less):
    row, column = rng.integers(0, 4096, (2, 4_000_000 // less))
    return {"row": row, "column": column, "values": whole(rng, len(row), float), "shape": (4096, 4096)}


class Code:
    """A block of code with arrays of its own."""

    def __init__(self, code, given):
        self.names = {name: copy.deepcopy(value) if isinstance(value, np.ndarray) else value for name, value in given}
        self.names |= {"gs": gs, "np": np}
        self.code = compile(code, "recipes.md", "exec")

    def __call__(self):
        exec(self.code, self.names)

    def arrays(self):
        return {name: value for name, value in self.names.items() if isinstance(value, np.ndarray)}


def check(heading, ours, idiom):
    """The two have the same arrays of a name, and made or changed at least one of them."""
    one, other = ours.arrays(), idiom.arrays()
    for name in one.keys() & other.keys():
        if one[name].dtype != other[name].dtype or not np.array_equal(one[name], other[name]):
            raise SystemExit(f"{heading}: {name} is another array in the second block than in the first")


@recipe("FEM assembly", "500 k triangles, 250 k nodes, in SciPy")
def assembly(rng, less):
    side = int(501 / less**0.5)
    corner = (np.arange(side - 1)[:, None] * side + np.arange(side - 1)).reshape(-1, 1)
    triangles = np.concatenate([corner + np.array(three) for three in ([0, 1, side], [1, side + 1, side])])
    n, row, column = side**2, np.repeat(triangles, 3, axis=1).ravel(), np.tile(triangles, 3).ravel()
    pattern, place = np.unique(row * n + column, return_inverse=True)
    places = gs.prepare("scatter", pattern.shape, place)
    local = whole(rng, (len(triangles), 3, 3), np.float64)
    return {"n": n, "row": row, "column": column, "pattern": pattern, "places": places, "local": local, "indices": 0}


@recipe("Climatology", "365 k hours × 100 stations, float64")
def climatology(rng, less):
    n = 365_000 // less
    return {"month": np.arange(n) // 730 % 12, "temperature": whole(rng, (n, 100), float)}


def measure(heading, rounds, less):
    """Median seconds of ours and of the idiom."""
    given = RECIPES[heading][1](np.random.default_rng(0), less)
    calls = [Code(code, given.items()) for code in pair("recipes.md", heading, given)]
    for call in calls:
        call()
    check(heading, *calls)
    repeats = [enough(call, LASTS) for call in calls]
    times = [[], []]
    for _ in range(rounds):
        for call, repeat, taken in zip(calls, repeats, times, strict=True):
            time.sleep(PAUSE)
            taken.append(seconds(call, repeat))
    return [statistics.median(taken) for taken in times]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("recipes", nargs="*", metavar="RECIPE", help=f"of {', '.join(RECIPES)}; default all")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=cpus())
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes: does it run?")
    options = parser.parse_args()
    if unknown := set(options.recipes) - set(RECIPES):
        parser.error(f"no recipe named {', '.join(sorted(unknown))}")
    gs.set_num_threads(options.threads)

    rows = []
    for heading in options.recipes or RECIPES:
        ours, idiom = measure(heading, options.rounds, 10 if options.quick else 1)
        detail = RECIPES[heading][0]
        rows.append([heading, detail, f"{idiom / ours:.1f} ×", f"{ours * 1e3:.2f}", f"{idiom * 1e3:.2f}"])
    with contextlib.suppress(BrokenPipeError):
        print(paragraph(about(["gatherscatter", "numpy"], f"{options.threads} threads", f"{options.rounds} rounds")))
        print()
        print(table(["recipe", "arrays", "speedup", "gatherscatter, ms", "NumPy, ms"], rows, left=2))


if __name__ == "__main__":
    main()
