"""A plugin of pytest, with which the engine of docs/flox.md computes whatever it can, also for flox's other engines.

`nox -s flox` runs flox's own tests with it; test_flox_peer.py takes the engine from here.
"""

import re
from collections import Counter
from pathlib import Path

import flox

PAGE = Path(__file__).parents[2] / "docs" / "flox.md"
CODE = re.search(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[1]

names = {}
exec(CODE, names)
engine, theirs = names["generic_aggregate"], names["aggregate_by_flox"]
computed = Counter()


def by_gatherscatter(group_idx, array, *, engine, func, **options):
    name = func.removeprefix("nan")
    if (name in names["REDUCTIONS"] or name == "quantile") and array.dtype.kind != "O":
        computed[name] += 1
        engine = "gatherscatter"
    return names["generic_aggregate"](group_idx, array, engine=engine, func=func, **options)


def install(function):
    flox.core.generic_aggregate = flox.aggregations.generic_aggregate = function


def pytest_configure():
    install(by_gatherscatter)


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"calls of gatherscatter: {dict(computed)}")
