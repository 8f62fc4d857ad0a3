"""The figure of speed on the landing page and in README.md: its numbers, from the table in docs/benchmarks/peers.md.

Importing this takes no matplotlib, so a test compares the committed pictures and their alt text with the table.
draw.py draws it.
"""

from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parent / "benchmarks" / "peers.md"


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


def rows(page: Path = PAGE) -> list[Row]:
    lines = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    head, _, *table = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    found = []
    for cells in table:
        cell = dict(zip(head, cells, strict=True))
        if cell[""].startswith("W"):
            speedup, library = float(cell["speedup"]), cell["fastest other library"]
            numpy = _milliseconds(cell["NumPy"]) / _milliseconds(cell["gatherscatter"])
            name = cell["workload"].partition(":")[0]
            found.append(Row(name, speedup if library == "NumPy" else numpy, speedup, library))
    return found


def _milliseconds(cell: str) -> float:
    number, _, unit = cell.partition(" ")
    return float(number) / (1000 if unit == "µs" else 1)


def alt(rows: list[Row]) -> str:
    """The figure as text."""
    parts = [f"{row.workload} {row.labels[0]}, {row.labels[1]}" for row in rows]
    return (
        "Bar chart of the speedup of gatherscatter over NumPy, and over the fastest of six other libraries: "
        f"{'; '.join(parts)}."
    )
