"""Time scatter adds with many duplicate indices, on one thread (the sequential loop) and on all.

    python benchmarks/skew.py

The ratio shows what dividing the work among threads costs in the worst cases: all updates to one destination, to two
destinations, and a power law.
"""

import time

import gatherscatter as gs
import numpy as np

UPDATES = 4_000_000
ROUNDS = 7


def main() -> None:
    rng = np.random.default_rng(0)
    updates = rng.random(UPDATES, dtype=np.float32)
    threads = gs.get_num_threads()
    print(f"gatherscatter {gs.__version__}, NumPy {np.__version__}, minima of {ROUNDS} rounds, ms")
    for size in (16_000_000, 1_000_000, 1_000):
        data, out = rng.random(size, dtype=np.float32), np.empty(size, np.float32)
        cases = {
            "uniform": rng.integers(0, size, UPDATES),
            "all to one": np.full(UPDATES, size // 3),
            "two": rng.choice([size // 5, size - 3], UPDATES),
            "Zipf 1.5, shuffled": rng.permutation(size)[np.minimum(rng.zipf(1.5, UPDATES) - 1, size - 1)],
            "sorted": np.sort(rng.integers(0, size, UPDATES)),
        }
        for name, indices in cases.items():
            times: dict[int, list[float]] = {1: [], threads: []}
            results = set()
            for _ in range(ROUNDS):
                for n, taken in times.items():
                    gs.set_num_threads(n)
                    start = time.perf_counter()
                    gs.scatter(data, indices, updates, reduction="add", out=out)
                    taken.append(time.perf_counter() - start)
                    results.add(out.tobytes())
            if len(results) != 1:
                raise SystemExit(f"{name}: the result depends on the number of threads")
            one, many = (min(taken) * 1e3 for taken in (times[1], times[threads]))
            print(f"{size:>10,} {name:20} 1 thread {one:7.1f}   {threads} threads {many:7.1f}   ratio {many / one:.2f}")


if __name__ == "__main__":
    main()
