"""The figure of speed on the landing page and in README.md: its numbers, from the record of benchmarks/peers.py.

Importing this takes no matplotlib, so a test compares the committed pictures and their alt text with the record.
draw.py draws it.
"""

import json
from pathlib import Path
from typing import NamedTuple

RECORD = Path(__file__).parent / "benchmarks" / "zen4" / "peers.json"


class Row(NamedTuple):
    """A workload with a W: its name in words, and the times of others divided by the time of gatherscatter."""

    workload: str
    numpy: float
    fastest: float
    library: str  # the fastest one

    @property
    def labels(self) -> tuple[str, str]:
        fastest = f"{self.fastest:.2f} ×"
        numpy = f"{self.numpy:.{0 if self.numpy >= 10 else 1}f} ×"
        return fastest if self.library == "NumPy" else numpy, f"{fastest} {self.library}"


def rows() -> list[Row]:
    found = []
    for name, workload in json.loads(RECORD.read_text(encoding="utf-8"))["workloads"].items():
        if name.startswith("W"):
            speedup, library = workload["ahead of the best peer"], workload["best peer"]
            seconds = {system: taken["min"] for system, taken in workload["seconds"].items()}
            numpy = seconds["NumPy"] / seconds["gatherscatter"]
            found.append(Row(workload["description"].partition(":")[0], numpy, speedup, library))
    return found


def alt(rows: list[Row]) -> str:
    """The figure as text."""
    parts = [f"{row.workload} {row.labels[0]}, {row.labels[1]}" for row in rows]
    return (
        "Bar chart of the speedup of gatherscatter over NumPy, and over the fastest of six other libraries: "
        f"{'; '.join(parts)}."
    )
