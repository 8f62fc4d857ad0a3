"""The pictures of these pages, light and dark: `python docs/draw.py [FOLDER]`; a build of the pages draws them too.

Every value in them is computed by gatherscatter or read from the figures in docs/benchmarks, so none can be wrong or
out of date. One unit of a drawing is the side of an array's cell.
"""

import hashlib
import itertools
import json
import math
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gatherscatter as gs
import matplotlib as mpl
import numpy as np
from matplotlib import patheffects
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.path import Path as Curve

mpl.use("svg")
mpl.rcParams["svg.fonttype"] = "path"  # looks alike on machines with other fonts
mpl.rcParams["svg.hashsalt"] = "gatherscatter"  # the same bytes each time
mpl.rcParams["font.family"] = "DejaVu Sans"

HERE = Path(__file__).parent

# Hues are Okabe's and Ito's, which people with any colour vision tell apart, moved until each is legible on its theme.
THEMES = {
    "light": {
        "ink": "#22272e",
        "faint": "#6a737d",
        "line": "#b4bcc6",
        "paper": "#ffffff",
        "hues": ["#0072b2", "#c65a00", "#008560", "#a8487f", "#8a6d00", "#3a6f9c"],
        "tint": 0.18,
    },
    "dark": {
        "ink": "#e6edf3",
        "faint": "#9aa5b1",
        "line": "#56606c",
        "paper": "#14181e",
        "hues": ["#56b4e9", "#ff9f45", "#2fd1a3", "#e58fc0", "#e6c84a", "#8fb8e0"],
        "tint": 0.30,
    },
}

CELL_INCHES = 0.42


class Sheet:
    """A drawing in units of cells, with y downwards."""

    def __init__(self, theme: str) -> None:
        self.theme = THEMES[theme]
        self.figure = Figure()
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set_axis_off()
        self.box = [math.inf, math.inf, -math.inf, -math.inf]

    def hue(self, number: int | None) -> str:
        return self.theme["line"] if number is None else self.theme["hues"][number % len(self.theme["hues"])]

    def tinted(self, number: int | None) -> str:
        """A hue thinned with paper, opaque: arrows may pass below it."""
        if number is None:
            return self.theme["paper"]
        hue, paper = (np.array(mpl.colors.to_rgb(c)) for c in (self.hue(number), self.theme["paper"]))
        return mpl.colors.to_hex(paper + (hue - paper) * self.theme["tint"])

    def reach(self, x: float, y: float) -> None:
        low_x, low_y, high_x, high_y = self.box
        self.box = [min(low_x, x), min(low_y, y), max(high_x, x), max(high_y, y)]

    def cell(
        self, x: float, y: float, value: Any, hue: int | None = None, width: float = 1, faded: bool = False
    ) -> None:
        self.axes.add_patch(
            FancyBboxPatch(
                (x + 0.04, y + 0.04),
                width - 0.08,
                0.92,
                boxstyle="round,pad=0,rounding_size=0.1",
                facecolor=self.tinted(hue),
                edgecolor=self.hue(hue),
                linewidth=0.8 if hue is None else 1.4,
                zorder=2,
            )
        )
        ink = self.theme["faint"] if faded else self.theme["ink"]
        self.text(x + width / 2, y + 0.5, value, size=11, colour=ink, weight="normal" if hue is None else "bold")
        self.reach(x, y)
        self.reach(x + width, y + 1)

    def grid(
        self,
        array: Any,
        x: float,
        y: float,
        title: str = "",
        hues: dict[tuple[int, ...], int] | None = None,
        faded: bool = False,
        note: str = "",
    ) -> None:
        """An array of one or two axes; of one, it is a row."""
        cells = np.atleast_2d(np.asarray(array))
        for (row, column), value in np.ndenumerate(cells):
            place = (row, column) if np.ndim(array) == 2 else (column,)
            hue = (hues or {}).get(place)
            self.cell(x + column, y + row, shown(value), hue, faded=faded and hue is None)
        if title:
            self.title(x, y, title, note)

    def title(self, x: float, y: float, title: str, note: str = "") -> None:
        self.text(x + 0.04, y - 0.62 if note else y - 0.3, title, size=10, mono=True, weight="bold", align="left")
        if note:
            self.text(x + 0.04, y - 0.22, note, size=7.5, colour=self.theme["faint"], align="left")
        self.reach(x, y - (0.95 if note else 0.6))

    def text(
        self,
        x: float,
        y: float,
        text: Any,
        *,
        size: float = 9,
        colour: str | None = None,
        mono: bool = False,
        weight: str = "normal",
        align: str = "center",
        over: bool = False,
    ) -> None:
        """Text; one that stands `over` a line hides it."""
        text = str(text)
        family = "DejaVu Sans Mono" if mono else "DejaVu Sans"
        self.axes.text(
            x,
            y,
            text,
            fontsize=size,
            color=colour or self.theme["ink"],
            ha=align,
            va="center_baseline",
            family=family,
            weight=weight,
            zorder=4,
            bbox={"facecolor": self.theme["paper"], "edgecolor": "none", "pad": 1.5} if over else None,
        )
        width = max(len(line) for line in text.split("\n")) * size * (0.0146 if mono or weight == "bold" else 0.0136)
        width *= 0.59 * 0.42 / CELL_INCHES / 0.42
        start = {"left": 0.0, "center": -width / 2, "right": -width}[align]
        self.reach(x + start, y - 0.25)
        self.reach(x + start + width, y + 0.25)

    def arrow(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        hue: int | None = None,
        *,
        bend: float = 0,
        lost: bool = False,
        over: float | None = None,
    ) -> None:
        """A curve from start to end: sideways with `bend`, or up over the height `over` and down again."""
        colour = self.theme["faint"] if hue is None else self.hue(hue)
        style: dict[str, Any] = {
            "arrowstyle": "-|>,head_length=4,head_width=2.2",
            "color": colour,
            "linewidth": 1.5,
            "linestyle": (0, (1.5, 1.5)) if lost else "solid",
            "shrinkA": 0,
            "shrinkB": 0,
            "zorder": 3,
            "joinstyle": "miter",
        }
        if over is None:
            patch = FancyArrowPatch(start, end, connectionstyle=f"arc3,rad={bend}", **style)
        else:
            points = [start, (start[0], over), (end[0], over), end]
            patch = FancyArrowPatch(path=Curve(points, [Curve.MOVETO, *[Curve.CURVE4] * 3]), **style)
            self.reach(start[0], (over + start[1]) / 2)
        outline = self.theme["paper"]
        patch.set_path_effects([patheffects.withStroke(linewidth=3.2, foreground=outline, alpha=0.85)])
        self.axes.add_patch(patch)
        self.reach(*start)
        self.reach(*end)

    def drop(
        self, start: tuple[float, float], end: tuple[float, float], hue: int, *, high: bool = False, lost: bool = False
    ) -> None:
        """An arrow that leaves to the right, runs between rows, low or high, and enters a cell from above."""
        (x0, y0), (x1, y1) = start, end
        lane = y1 - (0.38 if high else 0.24)
        bend = min(x0 + 1.9, x1 - 0.3)
        points = [start, ((x0 + bend) / 2, y0), ((x0 + bend) / 2, lane), (bend, lane), (x1 - 0.2, lane)]
        points += [(x1, lane), (x1, lane), end]
        codes = [Curve.MOVETO, *[Curve.CURVE4] * 3, Curve.LINETO, *[Curve.CURVE4] * 3]
        patch = FancyArrowPatch(
            path=Curve(points, codes),
            arrowstyle="-|>,head_length=3,head_width=2.2",
            color=self.hue(hue),
            linewidth=1.5,
            linestyle=(0, (1.5, 1.5)) if lost else "solid",
            shrinkA=0,
            shrinkB=0,
            zorder=3,
        )
        self.axes.add_patch(patch)

    def flow(self, start: tuple[float, float], end: tuple[float, float], hue: int | None = None) -> None:
        """An arrow that leaves and arrives horizontally."""
        middle = (start[0] + end[0]) / 2
        points = [start, (middle, start[1]), (middle, end[1]), end]
        self.axes.add_patch(
            FancyArrowPatch(
                path=Curve(points, [Curve.MOVETO, *[Curve.CURVE4] * 3]),
                arrowstyle="-|>,head_length=4,head_width=2.2",
                color=self.theme["faint"] if hue is None else self.hue(hue),
                linewidth=1.5,
                shrinkA=0,
                shrinkB=0,
                zorder=3,
            )
        )

    def save(self, file: Path) -> None:
        low_x, low_y, high_x, high_y = self.box
        margin = 0.15
        low_x, low_y, high_x, high_y = low_x - margin, low_y - margin, high_x + margin, high_y + margin
        self.axes.set_xlim(low_x, high_x)
        self.axes.set_ylim(high_y, low_y)
        self.figure.set_size_inches((high_x - low_x) * CELL_INCHES, (high_y - low_y) * CELL_INCHES)
        self.figure.savefig(file, transparent=True, metadata={"Date": None})


def rounded(turns: Sequence[tuple[float, float]], radius: float = 0.25) -> Curve:
    """A line through the points, with round corners."""
    points, codes = [turns[0]], [Curve.MOVETO]
    for before, corner, after in zip(turns, turns[1:], turns[2:], strict=False):
        for to, code in ((before, Curve.LINETO), (after, Curve.CURVE3)):
            length = math.dist(corner, to) or 1
            step = min(radius, length / 2) / length
            near = (corner[0] + (to[0] - corner[0]) * step, corner[1] + (to[1] - corner[1]) * step)
            points += [near] if code == Curve.LINETO else [corner, near]
            codes += [code] if code == Curve.LINETO else [code, code]
    return Curve([*points, turns[-1]], [*codes, Curve.LINETO])


def shown(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        return f"{value:.3g}"
    return str(value).replace("-", "\N{MINUS SIGN}")


# Gathers


def gather(sheet: Sheet) -> None:
    """Rows: an index names a slice of data."""
    data, indices = np.arange(10, 22).reshape(4, 3), np.array([2, 0, 2])
    result = gs.gather(data, indices)
    sheet.grid(indices[:, None], 0, 0.5, "indices", {(n, 0): n for n in range(3)}, note="shape (3,)")
    first = {int(i): n for n, i in reversed(list(enumerate(indices)))}
    hues = {(i, c): first[i] for i in first for c in range(3)}
    sheet.grid(data, 3.5, 0, "data", hues, note="shape (4, 3)")
    sheet.grid(result, 9, 0.5, "result", {(n, c): n for n in range(3) for c in range(3)}, note="shape (3, 3)")
    for n, i in enumerate(indices):
        nudge = {0: -0.14, 1: 0.0, 2: 0.14}[n]
        sheet.flow((1.02, n + 1), (3.5, i + 0.5 + nudge), n)
        sheet.flow((6.5, i + 0.5 + nudge), (8.98, n + 1), n)


def gather_axis(sheet: Sheet) -> None:
    """Columns: the same along axis 1."""
    data, indices = np.arange(10, 22).reshape(3, 4), np.array([3, 1])
    result = gs.gather(data, indices, axis=1)
    sheet.grid(indices, 1, 0, "indices", {(n,): n for n in range(2)}, note="shape (2,)")
    hues = {(r, int(i)): n for n, i in enumerate(indices) for r in range(3)}
    sheet.grid(data, 0, 2.6, "", hues)
    sheet.text(-0.2, 4.1, "data", size=10, mono=True, weight="bold", align="right")
    sheet.grid(result, 7, 2.6, "result", {(r, n): n for r in range(3) for n in range(2)}, note="shape (3, 2)")
    for n, i in enumerate(indices):
        sheet.arrow((n + 1.5, 1.04), (i + 0.5, 2.6), n)
    sheet.arrow((4.3, 4.1), (6.7, 4.1))
    sheet.text(5.5, 3.75, "axis=1", size=8, mono=True, colour=sheet.theme["faint"])


TABLE = np.arange(10, 26).reshape(4, 4)
PITCH = 1.5  # from row to row, where arrows need to pass between them
PAIRS = np.array([[0, 1], [1, 3], [3, 0], [-1, -1]])


def gather_nd(sheet: Sheet) -> None:
    """Whole tuples: an element each."""
    result = gs.gather_nd(TABLE, PAIRS)
    for n, pair in enumerate(PAIRS):
        sheet.grid(pair, 0, n * PITCH, hues={(0,): n, (1,): n})
        sheet.grid(result[n : n + 1], 10.6, n * PITCH, hues={(0,): n})
    places = {tuple(int(i) % 4 for i in pair): n for n, pair in enumerate(PAIRS)}
    for row in range(4):
        sheet.grid(TABLE[row], 4.2, row * PITCH, hues={(c,): n for (r, c), n in places.items() if r == row})
    for (row, column), n in places.items():
        sheet.drop((2.02, n * PITCH + 0.5), (4.7 + column, row * PITCH + 0.03), n, high=n == 2)
    sheet.arrow((8.5, 1.5 * PITCH + 0.5), (10.3, 1.5 * PITCH + 0.5))
    sheet.title(0, -0.35, "indices", "shape (4, 2)")
    sheet.title(4.2, -0.35, "data", "shape (4, 4)")
    sheet.title(10.6, -0.35, "result", "shape (4,)")


def gather_nd_rows(sheet: Sheet) -> None:
    """Tuples that name leading axes alone: a slice each."""
    indices = np.array([[2], [0]])
    result = gs.gather_nd(TABLE, indices)
    sheet.grid(indices, 0, 1, "indices", {(n, 0): n for n in range(2)}, note="shape (2, 1)")
    sheet.grid(TABLE, 3, 0, "data", {(int(i[0]), c): n for n, i in enumerate(indices) for c in range(4)}, note="(4, 4)")
    sheet.grid(result, 9, 1, "result", {(n, c): n for n in range(2) for c in range(4)}, note="shape (2, 4)")
    for n, (i,) in enumerate(indices):
        sheet.flow((1.02, n + 1.5), (3, i + 0.5), n)
        sheet.flow((7, i + 0.5), (8.98, n + 1.5), n)


def gather_nd_batches(sheet: Sheet) -> None:
    """Batch axes: the tuples of a batch item name places in that item."""
    data, indices = np.arange(10, 22).reshape(3, 4), np.array([[[1], [3]], [[0], [0]], [[2], [-1]]])
    result = gs.gather_nd(data, indices, batch_dims=1)
    for row in range(3):
        y = row * 2
        _in_own_row(sheet, y, indices[row, :, 0], data[row], result[row], row == 0)
    _own_row_titles(sheet, "shape (3, 2, 1)", "shape (3, 4)", "shape (3, 2)")


def gather_elements(sheet: Sheet) -> None:
    """An index per element, along the axis: each row for itself."""
    data, indices = np.arange(10, 22).reshape(3, 4), np.array([[1, 3], [0, 0], [2, -1]])
    result = gs.gather_elements(data, indices, axis=1)
    for row in range(3):
        _in_own_row(sheet, row * 2, indices[row], data[row], result[row], row == 0)
    _own_row_titles(sheet, "shape (3, 2)", "shape (3, 4)", "shape (3, 2)")


def _in_own_row(sheet: Sheet, y: float, indices: Any, data: Any, result: Any, first: bool) -> None:
    columns = [int(i) % len(data) for i in indices]
    sheet.grid(indices, 0, y, hues={(n,): n for n in range(len(indices))})
    sheet.grid(data, 3.6, y, hues={(c,): n for n, c in reversed(list(enumerate(columns)))})
    sheet.grid(result, 9.8, y, hues={(n,): n for n in range(len(result))})
    for n, column in enumerate(columns):
        nudge = 0.15 * (n - 0.5) if len(set(columns)) == 1 else 0
        sheet.arrow((n + 0.5, y + 0.02), (4.1 + column + nudge, y + 0.02), n, over=y - 0.55 - 0.12 * n)
    sheet.arrow((7.8, y + 0.5), (9.6, y + 0.5))


def _own_row_titles(sheet: Sheet, indices: str, data: str, result: str) -> None:
    y = -0.7
    sheet.title(0, y, "indices", indices)
    sheet.title(3.6, y, "data", data)
    sheet.title(9.8, y, "result", result)


# Scatters


def scatter_nd(sheet: Sheet) -> None:
    """Updates go where tuples name elements; of duplicates the last one wins."""
    data = np.zeros((4, 4), int)
    pairs, updates = np.array([[0, 1], [2, 2], [3, 0], [2, 2]]), np.array([5, 6, 7, 8])
    result = gs.scatter_nd(data, pairs, updates)
    last = {tuple(map(int, pair)): n for n, pair in enumerate(pairs)}
    for n in range(4):
        sheet.grid(pairs[n], 0, n * PITCH, hues={(0,): n, (1,): n})
        sheet.grid(updates[n : n + 1], 2.9, n * PITCH, hues={(0,): n})
        hues = {(c,): m for (r, c), m in last.items() if r == n}
        sheet.grid(result[n], 7.2, n * PITCH, hues=hues, faded=True)
    for n, (row, column) in enumerate(pairs.tolist()):
        lost = last[row, column] != n
        nudge = 0 if pairs.tolist().count([row, column]) == 1 else 0.2 if lost else -0.2
        sheet.drop((3.92, n * PITCH + 0.5), (7.7 + column + nudge, row * PITCH + 0.03), n, high=lost, lost=lost)
    sheet.title(0, -0.35, "indices", "shape (4, 2)")
    sheet.title(2.9, -0.35, "updates", "shape (4,)")
    sheet.title(7.2, -0.35, "result", "a copy of data, shape (4, 4)")


def scatter_rows(sheet: Sheet) -> None:
    """Each index places a row; rows that meet add up."""
    data = np.zeros((4, 3), int)
    indices, updates = np.array([2, 0, 2]), np.array([[1, 2, 3], [4, 5, 6], [10, 20, 30]])
    result = gs.scatter(data, indices, updates, reduction="add")
    sheet.grid(indices[:, None], 0, 0.5, "indices", {(n, 0): n for n in range(3)}, note="shape (3,)")
    sheet.grid(updates, 1.9, 0.5, "updates", {(n, c): n for n in range(3) for c in range(3)}, note="shape (3, 3)")
    last = {int(i): n for n, i in enumerate(indices)}
    sheet.grid(
        result, 8, 0, "result", {(i, c): last[i] for i in last for c in range(3)}, faded=True, note="shape (4, 3)"
    )
    for n, i in enumerate(indices):
        sheet.flow((4.92, n + 1), (8, i + 0.5 + {0: -0.16, 1: 0, 2: 0.16}[n]), n)
    sheet.text(6.45, 4.3, 'reduction="add"', size=8, mono=True, colour=sheet.theme["faint"])


def reductions(sheet: Sheet) -> None:
    """One scatter by each reduction."""
    data = np.array([1, 2, 3, 4, 5])
    indices, updates = np.array([[0], [3], [1], [3]]), np.array([6, 9, 7, 2])
    shift = 3.2
    sheet.grid(indices[:, 0], shift + 0.5, 0, hues={(n,): n for n in range(4)})
    sheet.grid(updates, shift + 0.5, 1.05, hues={(n,): n for n in range(4)})
    sheet.grid(data, shift, 3.6)
    grey = sheet.theme["faint"]
    for y, name in ((0.5, "indices"), (1.55, "updates"), (4.1, "data")):
        sheet.text(shift - 0.4, y, name, size=10, mono=True, weight="bold", align="right")
    nudges = {0: 0.0, 1: -0.18, 2: 0.0, 3: 0.18}
    for n, (i,) in enumerate(indices):
        sheet.arrow((shift + 1 + n, 2.07), (shift + 0.5 + i + nudges[n], 3.62), n)
    named = {(int(i[0]),): n for n, i in enumerate(indices)}
    columns = {True: shift, False: shift + 6.2}
    for include_self, x in columns.items():
        sheet.text(x + 2.5, 5.45, f"include_self={include_self}", size=8.5, mono=True, colour=grey)
    for number, reduction in enumerate(("none", "add", "mul", "max", "min", "mean")):
        y = 5.9 + number * 1.12
        sheet.text(shift - 0.4, y + 0.5, f'"{reduction}"', size=9, mono=True, align="right")
        for include_self, x in columns.items():
            result = gs.scatter_nd(data, indices, updates, reduction=reduction, include_self=include_self)
            sheet.grid(result, x, y, hues=named, faded=True)


def scatter_elements(sheet: Sheet) -> None:
    """An index per update, along the axis: each row for itself."""
    data = np.zeros((3, 4), int)
    indices, updates = np.array([[1, 3], [0, 2], [2, -1]]), np.array([[1, 2], [3, 4], [5, 6]])
    result = gs.scatter_elements(data, indices, updates, axis=1)
    for row in range(3):
        y = row * 2
        columns = [int(i) % 4 for i in indices[row]]
        sheet.grid(indices[row], 0, y, hues={(0,): 0, (1,): 1})
        sheet.grid(updates[row], 3, y, hues={(0,): 0, (1,): 1})
        sheet.grid(result[row], 7, y, hues={(c,): n for n, c in enumerate(columns)}, faded=True)
        for n, column in enumerate(columns):
            sheet.arrow((3.5 + n, y + 0.02), (7.5 + column, y + 0.02), n, over=y - 0.55 - 0.12 * n)
    sheet.title(0, -0.7, "indices", "shape (3, 2)")
    sheet.title(3, -0.7, "updates", "shape (3, 2)")
    sheet.title(7, -0.7, "result", "shape (3, 4), as data's")


# Rules


def modes(sheet: Sheet) -> None:
    """What each index gets from an axis of four, by mode."""
    data = np.array([10, 11, 12, 13])
    numbers = np.arange(-6, 7)
    sheet.grid(numbers, 0, 0)
    sheet.text(-0.35, 0.5, "index", size=9, weight="bold", align="right")
    inside = {int(i): int(i) % 4 for i in numbers if -4 <= i < 4}
    for row, mode in enumerate(("raise", "clip", "wrap", "fill", "drop")):
        y = 1.5 + 1.12 * row
        sheet.text(-0.35, y + 0.5, f'"{mode}"', size=9, mono=True, align="right")
        for column, i in enumerate(numbers):
            if mode == "drop":  # an update of 1 for this index: where does it land?
                landed = np.flatnonzero(gs.scatter(np.zeros(4, int), [i], 1, mode="drop"))
                value = data[landed[0]] if len(landed) else "–"
            else:
                try:
                    value = gs.gather(data, [i], mode=mode, fill_value=-1)[0]
                except IndexError:
                    value = "!"
            hue = int(value) - 10 if value not in ("–", "!") and value >= 0 else None
            sheet.cell(column, y, shown(value), hue, faded=int(i) not in inside and hue is None)
    bottom = 1.5 + 1.12 * 5
    for x in (2, 10):
        sheet.axes.plot(
            [x, x], [-0.1, bottom], color=sheet.theme["faint"], linewidth=1, linestyle=(0, (3, 2)), zorder=5
        )
    grey = sheet.theme["faint"]
    sheet.text(4, -0.45, "count from the end", size=8.5, colour=grey)
    sheet.text(8, -0.45, "in [0, 4)", size=8.5, colour=grey)
    sheet.text(1, -0.45, "outside", size=8.5, colour=grey)
    sheet.text(11.5, -0.45, "outside", size=8.5, colour=grey)


def owners(sheet: Sheet) -> None:
    """Threads own destinations: each walks the updates in order and applies its own."""
    indices, updates = np.array([5, 1, 6, 1, 2, 5, 0, 5]), np.array([1, 2, 3, 4, 5, 6, 7, 8])
    result = gs.scatter(np.zeros(8, int), indices, updates, reduction="add")
    owner = [int(i >= 4) for i in indices]
    hues = {(n,): o for n, o in enumerate(owner)}
    sheet.grid(indices, 1.5, 0, hues=hues)
    sheet.grid(updates, 1.5, 1.05, hues=hues)
    sheet.text(1.2, 0.5, "indices", size=10, mono=True, weight="bold", align="right")
    sheet.text(1.2, 1.55, "updates", size=10, mono=True, weight="bold", align="right")
    met: dict[int, list[int]] = defaultdict(list)
    for n, i in enumerate(indices):
        met[int(i)].append(n)
    starts = {0: 0.2, 1: 6.8}
    for o, x in starts.items():
        sheet.grid(result[o * 4 : o * 4 + 4], x, 4.4, hues={(c,): o for c in range(4)})
        sheet.text(
            x + 2, 5.85, f"thread {o + 1} owns [{o * 4}:{o * 4 + 4}]", size=9, colour=sheet.hue(o), weight="bold"
        )
    for i, numbers in met.items():
        for rank, n in enumerate(numbers):
            o = owner[n]
            nudge = (rank - (len(numbers) - 1) / 2) * 0.3
            sheet.arrow((2 + n, 2.07), (starts[o] + i % 4 + 0.5 + nudge, 4.42), o)
    sheet.text(-0.1, 4.9, "result", size=10, mono=True, weight="bold", align="right")


# Figures


def peers(sheet: Sheet) -> None:
    """Times of the systems over ours, from docs/benchmarks/peers.json."""
    workloads = json.loads((HERE / "benchmarks" / "peers.json").read_text())["workloads"]
    systems = ["NumPy", "PyTorch", "TensorFlow", "JAX", "onnxruntime", "OpenVINO"]
    markers = ["o", "s", "^", "D", "v", "P"]
    theme = sheet.theme
    left, width, row = 0.0, 9.5, 0.62
    most = 200.0

    def place(ratio: float) -> float:
        return left + width * math.log(ratio / 0.8) / math.log(most / 0.8)

    bottom = row * len(workloads)
    for ratio in (1, 2, 5, 10, 20, 50, 100):
        one = ratio == 1
        sheet.axes.plot(
            [place(ratio)] * 2,
            [-0.35, bottom - 0.25],
            color=theme["ink"] if one else theme["line"],
            linewidth=1.2 if one else 0.5,
            zorder=1,
        )
        sheet.text(place(ratio), -0.62, f"{ratio} ×" if not one else "ours", size=7.5, colour=theme["faint"])
    for number, (name, workload) in enumerate(workloads.items()):
        y = number * row
        seconds = workload["seconds"]
        sheet.text(left - 0.2, y, name, size=8, align="right")
        ratios = {s: seconds[s]["min"] / seconds["gatherscatter"]["min"] for s in systems if s in seconds}
        best = min(ratios.values())
        sheet.axes.plot([place(1), place(best)], [y, y], color=theme["ink"], linewidth=2.2, zorder=2, alpha=0.5)
        for system, ratio in ratios.items():
            s = systems.index(system)
            sheet.axes.plot(
                place(ratio), y, markers[s], color=sheet.hue(s), markersize=7, zorder=3, markeredgecolor=theme["paper"]
            )
    sheet.reach(left + width + 0.3, bottom)
    for s, system in enumerate(systems):
        x, y = left - 0.6 + (s % 3) * 3.6, -2.0 + (s // 3) * 0.62
        sheet.axes.plot(x, y, markers[s], color=sheet.hue(s), markersize=7, markeredgecolor=theme["paper"])
        sheet.text(x + 0.25, y, system, size=8.5, align="left")
    sheet.reach(left, -2.3)


def threads(sheet: Sheet) -> None:
    """Speed-ups from docs/benchmarks/threads.json."""
    seconds = json.loads((HERE / "benchmarks" / "threads.json").read_text())["seconds"]
    theme, unit, row = sheet.theme, 4.5, 0.62
    counts = sorted({int(n) for one in seconds.values() for n in one})
    most = counts[-1]
    for ratio in range(1, most + 1):
        sheet.axes.plot(
            [ratio * unit] * 2,
            [-0.35, row * len(seconds) - 0.25],
            color=theme["ink"] if ratio == 1 else theme["line"],
            linewidth=1.2 if ratio == 1 else 0.6,
            zorder=1,
        )
        sheet.text(ratio * unit, -0.62, f"{ratio} ×" if ratio > 1 else "one thread", size=7.5, colour=theme["faint"])
    for number, (name, times) in enumerate(seconds.items()):
        y, ratio = number * row, min(times["1"]) / min(times[str(most)])
        sheet.text(-0.2, y, name, size=8, align="right")
        sheet.axes.barh(y, ratio * unit, 0.4, color=sheet.hue(0), zorder=2)
        sheet.text(ratio * unit - 0.12, y, f"{ratio:.2f}", size=7.5, align="right", colour=theme["paper"])
    sheet.reach(most * unit + 0.6, row * len(seconds) - 0.3)


# Flow charts


def flow_chart(source: str, folder: Path) -> str:
    """Draw a flow chart in mermaid's language, of boxes, cylinders and arrows from left to right; return its name."""
    labels: dict[str, str] = {}
    stored: set[str] = set()
    edges: list[tuple[str, str, str, bool]] = []

    def node(text: str) -> str:
        match = re.fullmatch(r"(\w+)(?:\[\((.*)\)\]|\[(.*)\])?", text.strip())
        if match is None:
            raise ValueError(f"flow_chart: {text!r} is no node that this reads")
        name, cylinder, box = match.groups()
        if cylinder or box:
            labels[name] = cylinder or box
        if cylinder:
            stored.add(name)
        return name

    for line in source.strip().splitlines()[1:]:
        parts = re.split(r"\s*(-->|-\.->)\s*(?:\|(.*?)\|)?\s*", line.strip())
        for at in range(0, len(parts) - 3, 3):
            for a, b in itertools.product(parts[at].split("&"), parts[at + 3].split("&")):
                edges.append((node(a), node(b), parts[at + 2] or "", parts[at + 1] == "-.->"))

    rank = dict.fromkeys(labels, 0)
    for _ in labels:
        for a, b, _label, _dotted in edges:
            rank[b] = max(rank[b], rank[a] + 1)
    for name in labels:  # what starts in the middle stands in front of what it goes to
        if not any(b == name for _, b, _, _ in edges):
            rank[name] = min(rank[b] for a, b, _, _ in edges if a == name) - 1
    columns: dict[int, list[str]] = defaultdict(list)
    for name in labels:
        columns[rank[name]].append(name)
    tallest = max(map(len, columns.values()))
    width, gap = 2.3, 1.35
    at = {}
    for column, names in columns.items():
        for number, name in enumerate(names):
            at[name] = (column * (width + gap), (number + 0.5) * tallest / len(names) * 1.55)

    made = {b for _, b, _, _ in edges}

    def draw(sheet: Sheet) -> None:
        for name, (x, y) in at.items():
            sheet.cell(x, y - 0.5, "", 1 if name in stored else 0 if name in made else None, width=width)
            sheet.text(x + width / 2, y, labels[name], size=8)
        top, bottom = -0.15, tallest * 1.55 + 0.15
        for a, b, label, dotted in edges:
            (x0, y0), (x1, y1) = at[a], at[b]
            start, end = (x0 + width, y0), (x1, y1)
            middle = (start[0] + end[0]) / 2
            path = Curve([start, (middle, y0), (middle, y1), end], [Curve.MOVETO, *[Curve.CURVE4] * 3])
            if rank[b] - rank[a] > 1:  # around what stands between
                lane = top if y1 < (top + bottom) / 2 else bottom
                turns = [
                    start,
                    (x0 + width + 0.45, y0),
                    (x0 + width + 0.45, lane),
                    (x1 - 0.55, lane),
                    (x1 - 0.55, y1),
                    end,
                ]
                path = rounded(turns)
                sheet.text(middle, lane, label, size=7.5, colour=sheet.theme["faint"], over=True)
            sheet.axes.add_patch(
                FancyArrowPatch(
                    path=path,
                    arrowstyle="-|>,head_length=3.5,head_width=2",
                    color=sheet.theme["faint"],
                    linewidth=1.1,
                    linestyle=(0, (2, 1.5)) if dotted else "solid",
                    zorder=1,
                )
            )
        for column in range(max(columns)):  # a label once for all arrows between two columns
            said = {label for a, b, label, _ in edges if rank[a] == column and rank[b] == column + 1 and label}
            if said:
                x = column * (width + gap) + width + gap / 2
                sheet.text(x, top - 0.5, ", ".join(sorted(said)), size=7.5, colour=sheet.theme["faint"])

    name = "flow-" + hashlib.sha256(source.encode()).hexdigest()[:8]
    both(draw, name, folder)
    return name


PICTURES: Sequence[Callable[[Sheet], None]] = (
    gather,
    gather_axis,
    gather_nd,
    gather_nd_rows,
    gather_nd_batches,
    gather_elements,
    scatter_nd,
    scatter_rows,
    scatter_elements,
    reductions,
    modes,
    owners,
    peers,
    threads,
)


def both(picture: Callable[[Sheet], None], name: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for theme in THEMES:
        sheet = Sheet(theme)
        picture(sheet)
        sheet.save(folder / f"{name}.{theme}.svg")


def everything(folder: Path) -> None:
    for picture in PICTURES:
        both(picture, picture.__name__, folder)


if __name__ == "__main__":
    everything(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "pictures")
