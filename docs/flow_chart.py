"""Flow charts in mermaid's language, drawn without its script."""

import hashlib
import itertools
import re
from collections import defaultdict
from pathlib import Path

from matplotlib.patches import FancyArrowPatch
from matplotlib.path import Path as Curve
from sheet import Sheet, both, rounded


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
    for name in labels:  # a node without incoming edges is placed one column before its successors
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
