"""Time NumPy's gathers and scatters and ours; prints the table of docs/coming-from-numpy.md.

    python benchmarks/coming_from_numpy.py [--rounds N] [--threads N]

The two cells of a row are the timed code. Both get equal arrays and must give equal bytes; calls that write in place
get an array of their own. Each round runs both, so a machine that slows down slows both. The table has medians.
"""

import argparse
import platform
import statistics
import time
from typing import Any, NamedTuple

import gatherscatter as gs
import numpy as np

SIDE = 4096
SIZE = SIDE * SIDE  # of data: 16 Mi elements
MOVED = SIZE // 4  # by each call: 4 Mi


class Row(NamedTuple):
    numpy: str
    ours: str
    arrays: str


TABLE = [
    Row("np.take(data, i)", "gs.gather(data, i)", "line"),
    Row("np.take(data, i, axis=1)", "gs.gather(data, i, axis=1)", "columns"),
    Row("data[i[..., 0], i[..., 1]]", "gs.gather_nd(data, i)", "pairs"),
    Row("np.take_along_axis(data, i, 1)", "gs.gather_elements(data, i, axis=1)", "along"),
    Row("new = data.copy(); new[i] = u", "gs.scatter(data, i, u)", "line"),
    Row("data[i] = u", "gs.scatter(data, i, u, out=data)", "line"),
    Row("np.put(data, i, u)", "gs.scatter(data, i, u, out=data)", "line"),
    Row("data[i[..., 0], i[..., 1]] = u", "gs.scatter_nd(data, i, u, out=data)", "pairs"),
    Row("np.put_along_axis(data, i, u, 1)", "gs.scatter_elements(data, i, u, axis=1, out=data)", "along"),
    Row("np.add.at(data, i, u)", 'gs.scatter(data, i, u, reduction="add", out=data)', "line"),
    Row("np.multiply.at(data, i, u)", 'gs.scatter(data, i, u, reduction="mul", out=data)', "line"),
    Row("np.maximum.at(data, i, u)", 'gs.scatter(data, i, u, reduction="max", out=data)', "line"),
    Row("np.minimum.at(data, i, u)", 'gs.scatter(data, i, u, reduction="min", out=data)', "line"),
    Row("np.bincount(i, w, n)", 'gs.scatter(np.zeros(n), i, w, reduction="add")', "line"),
]


def operands(kind: str) -> dict[str, Any]:
    """The arrays and numbers that a row uses, by name."""
    rng = np.random.default_rng(0)
    data = rng.random(SIZE, dtype=np.float32)
    # Powers of two: products of however many rounds stay exact, finite and normal.
    u = np.exp2(rng.integers(-1, 2, MOVED)).astype(np.float32)
    if kind == "line":
        return {"data": data, "i": rng.integers(0, SIZE, MOVED), "u": u, "w": rng.random(MOVED), "n": SIZE}
    data = data.reshape(SIDE, SIDE)
    if kind == "columns":
        return {"data": data, "i": rng.integers(0, SIDE, MOVED // SIDE)}
    if kind == "pairs":
        return {"data": data, "i": rng.integers(0, SIDE, (MOVED, 2)), "u": u}
    shape = (SIDE, MOVED // SIDE)
    return {"data": data, "i": rng.integers(0, SIDE, shape), "u": u.reshape(shape)}


class Call:
    """A cell's code with operands of its own."""

    def __init__(self, code: str, given: dict[str, Any]):
        self.names = {**given, "data": given["data"].copy(), "gs": gs, "np": np, "new": None}
        statement = code if " = " in code else f"new = {code}"
        self.code = compile(statement, code, "exec")

    def seconds(self) -> float:
        start = time.perf_counter()
        exec(self.code, self.names)
        return time.perf_counter() - start

    def result(self) -> np.ndarray:
        return self.names["data"] if self.names["new"] is None else self.names["new"]


def measure(row: Row, rounds: int) -> tuple[float, float]:
    """Median seconds of NumPy's call and of ours."""
    given = operands(row.arrays)
    calls = [Call(row.numpy, given), Call(row.ours, given)]
    for call in calls:
        call.seconds()
    first, second = (call.result() for call in calls)
    if first.dtype != second.dtype or first.shape != second.shape or first.tobytes() != second.tobytes():
        raise SystemExit(f"{row.ours} gives another result than {row.numpy}")
    times = [[call.seconds() for call in calls] for _ in range(rounds)]
    numpys, ours = map(statistics.median, zip(*times, strict=True))
    return numpys, ours


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=gs.get_num_threads())
    options = parser.parse_args()
    gs.set_num_threads(options.threads)

    print(
        f"gatherscatter {gs.__version__}, NumPy {np.__version__}, Python {platform.python_version()}, "
        f"{options.threads} threads, medians of {options.rounds} rounds:\n"
    )
    print("| NumPy | gatherscatter | speedup | gatherscatter, ms | NumPy, ms |")
    print("|---|---|--:|--:|--:|")
    for row in TABLE:
        numpys, ours = measure(row, options.rounds)
        times = f"{numpys / ours:.1f} × | {ours * 1e3:.1f} | {numpys * 1e3:.1f}"
        print(f"| `{row.numpy}` | `{row.ours}` | {times} |", flush=True)


if __name__ == "__main__":
    main()
