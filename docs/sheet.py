"""A sheet to draw on: arrays of cells, arrows and labels, in the colours of a theme.

One unit of a drawing is the side of an array's cell.
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

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


def both(picture: Callable[[Sheet], None], name: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for theme in THEMES:
        sheet = Sheet(theme)
        picture(sheet)
        sheet.save(folder / f"{name}.{theme}.svg")
