"""The charts of these pages, from the records of the benchmarks in docs/benchmarks.

Each is as wide as the window of a phone, so that its text is legible there.
"""

import json
import math
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import speed as measured
from sheet import Sheet

FOLDER = measured.RECORD.parents[1]
WIDTH, STEP, THICK = 6.6, 0.68, 0.27  # of the plot, from row to row, and of a bar


def record(name: str, machine: str = "zen4") -> dict[str, Any]:
    return json.loads((FOLDER / machine / f"{name}.json").read_text(encoding="utf-8"))


class Scale:
    """Places on a logarithmic axis."""

    def __init__(self, low: float, high: float, length: float) -> None:
        self.low, self.high, self.length = low, high, length

    def __call__(self, value: float) -> float:
        value = min(max(value, self.low), self.high)
        return self.length * math.log(value / self.low) / math.log(self.high / self.low)


def ratios(sheet: Sheet, place: Scale, bottom: float, *marks: float, one: str = "1 ×") -> None:
    """Vertical lines at the ratios that are marked; that of 1 is dark."""
    for ratio in (1, *marks):
        colour, line = (sheet.theme["ink"], 1.0) if ratio == 1 else (sheet.theme["line"], 0.5)
        sheet.axes.plot([place(ratio)] * 2, [-0.3, bottom], color=colour, linewidth=line, zorder=1)
        label = one if ratio == 1 else f"{ratio:g} ×"
        sheet.text(place(ratio), -0.55, label, size=8, colour=sheet.theme["faint"])


def bar(sheet: Sheet, place: Scale, y: float, ratio: float, label: str, colour: str) -> None:
    """A bar from 1 to a ratio, and a label behind it."""
    start, end = sorted((place(1), place(ratio)))
    sheet.axes.barh(y, end - start, THICK * 0.92, left=start, color=colour, zorder=2)
    sheet.text(end + 0.1, y, label, size=7.5, align="left")


def speed(sheet: Sheet) -> None:
    """Speedups over NumPy and over the fastest other library."""
    rows, grey = measured.rows(), sheet.theme["line"]
    place, bottom = Scale(1, max(row.numpy for row in rows), WIDTH), STEP * len(rows) - 0.2
    ratios(sheet, place, bottom, 2, 5, 10, 20)
    for number, row in enumerate(rows):
        y = number * STEP
        sheet.text(-0.2, y, row.workload, size=9, align="right")
        numpy, fastest = row.labels
        bar(sheet, place, y - THICK / 2, row.fastest, fastest, sheet.hue(0))
        bar(sheet, place, y + THICK / 2, row.numpy, numpy, grey)
    top = -1.25
    for x, colour, label in ((0.0, sheet.hue(0), "fastest of six other libraries"), (5.4, grey, "NumPy")):
        sheet.axes.barh(top, 0.3, 0.3, left=x, color=colour)
        sheet.text(x + 0.42, top, label, size=8.5, align="left")
    sheet.text(-0.2, top, "speedup over the", size=8.5, align="right")
    sheet.reach(WIDTH + 1, bottom)


def jobs(sheet: Sheet) -> None:
    """Speedups over the fastest alternative, the largest first."""
    found = sorted(record("jobs", "xeon")["jobs"].values(), key=lambda job: -job["ratio"])
    shown = [job["ratio"] for job in found]
    place, bottom = Scale(min(shown), max(shown), WIDTH), STEP * len(found) - 0.2
    ratios(sheet, place, bottom, 0.5, 2, 5)
    for number, job in enumerate(found):
        y, hue = number * STEP, sheet.hue(0 if job["ratio"] >= 1 else 1)
        sheet.text(-0.2, y, textwrap.fill(job["title"], 24), size=8.5, align="right")
        bar(sheet, place, y, job["ratio"], f"{job['ratio']:.2f} ×", hue)
    sheet.reach(WIDTH + 1, bottom)


def peers(sheet: Sheet) -> None:
    """Times of the other libraries divided by ours."""
    workloads = record("peers")["workloads"]
    systems = dict(zip(("NumPy", "PyTorch", "TensorFlow", "JAX", "onnxruntime", "OpenVINO"), "os^DvP", strict=True))
    place, bottom = Scale(0.8, 200, WIDTH), STEP * len(workloads) - 0.2
    ratios(sheet, place, bottom, 2, 5, 10, 20, 50, 100)
    for number, workload in enumerate(workloads.values()):
        y, seconds = number * STEP, workload["seconds"]
        name = textwrap.fill(workload["description"].partition(":")[0], 24)
        sheet.text(-0.2, y, name, size=8.5, align="right")
        least = {system: seconds[system]["min"] for system in ("gatherscatter", *systems) if system in seconds}
        for hue, (system, marker) in enumerate(systems.items()):
            if system in least:
                x = place(least[system] / least["gatherscatter"])
                sheet.axes.plot(x, y, marker, color=sheet.hue(hue), markersize=6, zorder=3, alpha=0.9)
    for hue, (system, marker) in enumerate(systems.items()):
        x, y = -2.6 + hue % 3 * 3.3, -2.0 + hue // 3 * 0.62
        sheet.axes.plot(x, y, marker, color=sheet.hue(hue), markersize=6)
        sheet.text(x + 0.25, y, system, size=8.5, align="left")
    sheet.reach(WIDTH + 0.3, bottom)
    sheet.reach(0, -2.3)


def threads(sheet: Sheet) -> None:
    """Speedups on all threads."""
    seconds, words = record("threads")["seconds"], record("peers")["workloads"]
    most = max(int(count) for times in seconds.values() for count in times)
    place, bottom = Scale(0.9, most * 1.1, WIDTH), STEP * len(seconds) - 0.2
    ratios(sheet, place, bottom, *(2**power for power in range(1, most.bit_length())), one="one thread")
    for number, (name, times) in enumerate(seconds.items()):
        y, ratio = number * STEP, min(times["1"]) / min(times[str(most)])
        sheet.text(-0.2, y, textwrap.fill(words[name]["description"].partition(":")[0], 24), size=8.5, align="right")
        bar(sheet, place, y, ratio, f"{ratio:.2f}", sheet.hue(0 if ratio >= 1 else 1))
    sheet.reach(WIDTH + 0.5, bottom)


def growth(sheet: Sheet) -> None:
    """Time per element by the number of elements, on all threads."""
    cases, height = record("growth")["cases"], 6.0
    chosen = ("gather", "gather_nd", "gather_elements", "scatter add", "scatter_nd add", "scatter_elements add")
    lines = {}
    for name in chosen:
        taken = {int(n): times[max(times, key=int)] for n, times in cases[name]["seconds"].items()}
        lines[name] = [(n, seconds / n * 1e9) for n, seconds in taken.items()]
    across, up = Scale(10, 1e8, WIDTH + 2), Scale(0.2, 200, height)
    for power in range(1, 9):
        sheet.axes.plot([across(10**power)] * 2, [0, height], color=sheet.theme["line"], linewidth=0.5, zorder=1)
        sheet.text(across(10**power), height + 0.4, f"$10^{power}$", size=8.5, colour=sheet.theme["faint"])
    for time in (0.2, 1, 10, 100):
        y = height - up(time)
        sheet.axes.plot([0, WIDTH + 2], [y, y], color=sheet.theme["line"], linewidth=0.5, zorder=1)
        sheet.text(-0.15, y, f"{time:g} ns", size=8.5, align="right", colour=sheet.theme["faint"])
    sheet.text(WIDTH / 2 + 1, height + 0.95, "elements", size=8.5, colour=sheet.theme["faint"])
    for hue, (name, points) in enumerate(lines.items()):
        xs, ys = zip(*((across(n), height - up(time)) for n, time in points), strict=True)
        sheet.axes.plot(xs, ys, color=sheet.hue(hue), linewidth=1.5, zorder=2)
        x, y = 3.9, 0.5 + hue * 0.55
        sheet.axes.plot([x, x + 0.5], [y, y], color=sheet.hue(hue), linewidth=2.5)
        sheet.text(x + 0.65, y, name, size=8.5, align="left")
    sheet.reach(WIDTH + 2.2, height + 1.2)
    sheet.reach(-1.2, -0.2)


CHARTS: Sequence[Callable[[Sheet], None]] = (speed, jobs, peers, threads, growth)
