"""Times of flox's engines and of the one of docs/flox.md, whose table this prints.

    pip install '.[peers]' && python benchmarks/flox_engines.py [--rounds N]

100 rows of 20 000 values, of which a tenth is NaN, in 1000 groups. They take turns; the least time of each counts.
"""

import argparse
import re
import time
import warnings
from pathlib import Path

import flox
import numpy as np

PAGE = Path(__file__).parents[1] / "docs" / "flox.md"
FUNCTIONS = ("nansum", "nanmean", "nanvar", "nanmax", "nanargmax", "nanfirst", "nanmedian", "count")
ENGINES = ("flox", "numpy", "numbagg", "gatherscatter")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    exec(re.search(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[1], {})
    warnings.simplefilter("ignore")  # of NumPy's, about groups of NaN alone
    rng = np.random.default_rng(0)
    values, groups = rng.normal(size=(100, 20_000)), rng.integers(0, 1000, 20_000)
    values[:, ::10] = np.nan
    print(f"| `func` | {' | '.join(ENGINES)} |\n|---|{'--:|' * len(ENGINES)}")
    for func in FUNCTIONS:
        least = dict.fromkeys(ENGINES, float("inf"))
        for _ in range(rounds):
            for engine in ENGINES:
                if engine == "flox" and "arg" in func:  # which it does not have
                    continue
                start = time.perf_counter()
                flox.groupby_reduce(values, groups, func=func, engine=engine)
                least[engine] = min(least[engine], time.perf_counter() - start)
        cells = ("" if seconds == float("inf") else f"{seconds * 1e3:.1f}" for seconds in least.values())
        print(f"| {func} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
