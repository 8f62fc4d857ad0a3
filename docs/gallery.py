"""The pictures of recipes.md and tour.md: `draw.py` draws them with the others.

Each shows the arrays that the code on the page computes. That code is run here, so no picture can differ from it.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from page_code import blocks, examples, numpy_alone, run, section, sections
from sheet import THEMES, Sheet

Names = dict[str, Any]
Theme = dict[str, Any]
Draw = Callable[[Axes, Theme, Names], None]

THUMB = (5.6, 4.2)  # the least size of a thumbnail in cells; all have these proportions

DPI = 100  # of photographs within the pictures


# What stands in one panel


def photo(name: str, axes: Axes, theme: Theme, names: Names, top: float | None = None) -> None:
    """An image; from `top` on, as much of it as has a thumbnail's proportions."""
    image = names[name]
    if image.max() > 50:  # of 255
        image = image / 255
    if top is not None:
        start = int(top * len(image))
        image = image[start : start + round(image.shape[1] * THUMB[1] / THUMB[0])]
    axes.imshow(np.clip(image, 0, 1))


def density(axes: Axes, theme: Theme, names: Names) -> None:
    """A histogram without its empty border; bins without points stay clear."""
    counts = names["histogram"]
    filled = (np.flatnonzero(counts.any(axis=axis)) for axis in (1, 0))
    counts = counts[tuple(slice(one[0], one[-1] + 1) for one in filled)]
    colours = mpl.colormaps["inferno" if theme is THEMES["dark"] else "magma_r"]
    axes.imshow(np.ma.masked_equal(np.log1p(counts), 0), cmap=colours, origin="lower", vmin=0)


def clusters(axes: Axes, theme: Theme, names: Names) -> None:
    points, labels, centroids = names["points"], names["labels"], names["centroids"]
    axes.scatter(*points.T, s=9, c=[theme["hues"][label] for label in labels], linewidths=0)
    axes.plot(*centroids.T, "X", markersize=11, color=theme["ink"], markeredgecolor=theme["paper"])


def climatology(axes: Axes, theme: Theme, names: Names) -> None:
    """The series by the day of the year, and its monthly means."""
    days, temperature, mean = (names[name] for name in ("days", "temperature", "mean"))
    place = (days - days.astype("M8[Y]")).astype(int) / 3
    axes.plot(place, 3 * temperature, ".", color=theme["line"], markersize=2)
    axes.plot((np.arange(12) + 0.5) * 365 / 36, 3 * mean, "o-", color=theme["hues"][0], markersize=5)


def edges(axes: Axes, theme: Theme, place: Any, source: Any, target: Any) -> None:
    lines = [(place[one], place[other]) for one, other in zip(source, target, strict=True) if one < other]
    axes.add_collection(LineCollection(lines, colors=theme["line"], linewidths=0.7, zorder=1))


def graph(name: str, axes: Axes, theme: Theme, names: Names) -> None:
    """Nodes in a deeper colour the larger their value."""
    place, values = names["place"], names[name][:, 0]
    edges(axes, theme, place, names["source"], names["target"])
    colours = LinearSegmentedColormap.from_list("", [theme["paper"], theme["hues"][1]])
    axes.scatter(*place.T, s=42, c=values, cmap=colours, vmin=0, edgecolors=theme["faint"], linewidths=0.8, zorder=2)


def classes(name: str, axes: Axes, theme: Theme, names: Names) -> None:
    """Nodes in the colour of the class that was predicted; those that are wrong have a ring."""
    place, found, truth = names["place"], np.asarray(names[name]), names["classes"]
    edges(axes, theme, place, names["source"], names["target"])
    axes.scatter(*place.T, s=30, c=[theme["hues"][one] for one in found], linewidths=0, zorder=2)
    wrong = place[found != truth]
    axes.scatter(*wrong.T, s=95, facecolors="none", edgecolors=theme["ink"], linewidths=1.3, zorder=3)


# Panels side by side, by the heading of the section: name of the picture, height, and titles with what is drawn

Panels = Sequence[tuple[str, Draw]]
RECIPES: dict[str, tuple[str, float, Panels]] = {
    "Image warp": ("warp", 3.7, [("image", partial(photo, "image")), ("warped", partial(photo, "warped"))]),
    "Splat": ("splat", 3.7, [("splat", partial(photo, "splat")), ("mean", partial(photo, "mean"))]),
    "2-D histogram": ("histogram", 3.4, [("", density)]),
    "Segmentation": (
        "segmentation",
        3.7,
        [("image", partial(photo, "image")), ("painted", partial(photo, "painted"))],
    ),
    "Graph messages": (
        "graph",
        3.4,
        [("features", partial(graph, "features")), ("received", partial(graph, "received"))],
    ),
    "k-means": ("k_means", 3.2, [("", clusters)]),
    "Climatology": ("climatology", 2.8, [("", climatology)]),
}

# Thumbnails


def _nonzero(array: Any) -> dict[tuple[int, ...], int]:
    return {tuple(place): 0 for place in np.argwhere(array).tolist()}


def _grid(sheet: Sheet, array: Any, hues: dict[tuple[int, ...], int], x: float = 0) -> None:
    sheet.grid(array, x, 0, hues=hues, faded=True)


def one_hot(sheet: Sheet, names: Names) -> None:
    _grid(sheet, names["one_hot"], _nonzero(names["one_hot"]))


def group_by(sheet: Sheet, names: Names) -> None:
    groups, values, mean = names["groups"], names["values"], names["mean"]
    _grid(sheet, values, {(row, column): g for row, g in enumerate(groups.tolist()) for column in range(2)})
    _grid(sheet, mean, {(g, column): g for g in set(groups.tolist()) for column in range(2)}, 4)
    sheet.arrow((2.4, 2.4), (3.7, 2.4))


def _by_group(sheet: Sheet, groups: Any, order: Any) -> None:
    """Numbers of groups in a column, beside the same by group."""
    for x, column in ((0, groups), (3, groups[order])):
        _grid(sheet, column[:, None], {(row, 0): g for row, g in enumerate(column.tolist())}, x)
    sheet.arrow((1.4, len(groups) / 2), (2.7, len(groups) / 2))


def _to_groups(sheet: Sheet, groups: Any, values: Any, results: Any) -> None:
    """Values in a column, in the colours of their groups, beside the results of the groups."""
    _grid(sheet, values[:, None], {(row, 0): g for row, g in enumerate(groups.tolist())})
    _grid(sheet, results[:, None], {(g, 0): g for g in set(groups.tolist())}, 3)
    sheet.arrow((1.4, len(results) / 2), (2.7, len(results) / 2))


def attention(sheet: Sheet, names: Names) -> None:
    _to_groups(sheet, names["target"], names["attention"].round(1), names["received"][:, 0].round(1))


def best(sheet: Sheet, names: Names) -> None:
    _to_groups(sheet, names["groups"], names["scores"], names["best"])


def statistics(sheet: Sheet, names: Names) -> None:
    _to_groups(sheet, names["groups"], names["values"], names["mean"])


def csr(sheet: Sheet, names: Names) -> None:
    rows = np.repeat(np.arange(3), np.diff(names["indptr"]))
    _to_groups(sheet, rows, names["values"], names["total"])


def assembly(sheet: Sheet, names: Names) -> None:
    n, indptr, indices = names["n"], names["indptr"], names["indices"]
    matrix = np.zeros((n, n))
    matrix[np.repeat(np.arange(n), np.diff(indptr)), indices] = names["values"]
    _grid(sheet, matrix, _nonzero(matrix))


def binned(sheet: Sheet, names: Names) -> None:
    _grid(sheet, names["median"], _nonzero(~np.isnan(names["median"])))


def median(sheet: Sheet, names: Names) -> None:
    _by_group(sheet, names["groups"], names["rows"].order)


def experts(sheet: Sheet, names: Names) -> None:
    _by_group(sheet, names["experts"].reshape(-1), names["routes"].order)


def bincount(sheet: Sheet, names: Names) -> None:
    _grid(sheet, names["counts"], _nonzero(names["counts"]))


def top_k(sheet: Sheet, names: Names) -> None:
    _grid(sheet, names["scores"], _nonzero(names["mask"]))


def confusion(sheet: Sheet, names: Names) -> None:
    table = names["confusion"]
    _grid(sheet, table, {place: int(place[0] != place[1]) for place in _nonzero(table)})


def embedding(sheet: Sheet, names: Names) -> None:
    _grid(sheet, names["table_gradient"], _nonzero(names["table_gradient"]))


def cache(sheet: Sheet, names: Names) -> None:
    head = names["cache"][:, 0, :, 0]
    _grid(sheet, head, _nonzero(head))


def sparse(sheet: Sheet, names: Names) -> None:
    _grid(sheet, names["dense"], _nonzero(names["dense"]))


CELLS: dict[str, Callable[[Sheet, Names], None]] = {
    "One-hot": one_hot,
    "Group by": group_by,
    "Graph attention": attention,
    "Best row": best,
    "Statistics": statistics,
    "Binned": binned,
    "Median": median,
    "Expert routing": experts,
    "Bincount": bincount,
    "Top-k mask": top_k,
    "Confusion matrix": confusion,
    "Embedding gradient": embedding,
    "KV cache": cache,
    "Sparse COO": sparse,
    "Sparse CSR": csr,
    "FEM assembly": assembly,
}
CROPS = {"warp": 0.04, "splat": 0.04, "segmentation": 0.04}  # of photographs: where a thumbnail begins


# Figures


def panels(file: Path, theme: Theme, names: Names, height: float, drawn: Panels) -> None:
    width = 1.3 if len(drawn) == 1 else 0.9 * len(drawn)
    figure = Figure(figsize=(height * width, height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.02, h_pad=0.02, wspace=0.04)
    for axes, (title, draw) in zip(np.atleast_1d(figure.subplots(1, len(drawn))), drawn, strict=True):
        axes.set_axis_off()
        axes.set_title(title, fontsize=10, color=theme["ink"], family="DejaVu Sans Mono")
        draw(axes, theme, names)
        axes.set_aspect("equal")
    figure.savefig(file, transparent=True, dpi=DPI, metadata={"Date": None})


def thumb(file: Path, theme: Theme, names: Names, draw: Draw) -> None:
    figure = Figure(figsize=(2.72, 2.04))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    draw(axes, theme, names)
    axes.set_aspect("equal", adjustable="datalim")
    figure.savefig(file, transparent=True, dpi=DPI, metadata={"Date": None})


def cells_thumb(file: Path, name: str, names: Names, draw: Callable[[Sheet, Names], None]) -> None:
    sheet = Sheet(name)
    draw(sheet, names)
    (x0, y0, x1, y1), (width, height) = sheet.box, THUMB
    x, y, scale = (x0 + x1) / 2, (y0 + y1) / 2, max(1, (x1 - x0 + 0.6) / width, (y1 - y0 + 0.6) / height)
    sheet.reach(x - width * scale / 2, y - height * scale / 2)
    sheet.reach(x + width * scale / 2, y + height * scale / 2)
    sheet.save(file)


def recipes(folder: Path) -> None:
    for heading in (*RECIPES, *CELLS):
        text = section("recipes.md", heading)
        names = run(numpy_alone(text))
        for theme_name, theme in THEMES.items():
            if heading in CELLS:
                draw = CELLS[heading]
                cells_thumb(folder / f"thumb-{draw.__name__}.{theme_name}.svg", theme_name, names, draw)
                continue
            name, height, drawn = RECIPES[heading]
            panels(folder / f"{name}.{theme_name}.svg", theme, names, height, drawn)
            last: Any = drawn[-1][1]
            if name in CROPS:
                last = partial(last, top=CROPS[name])
            thumb(folder / f"thumb-{name}.{theme_name}.svg", theme, names, last)


def tour(folder: Path) -> None:
    """The pages are built without PyTorch: what it computes is read from the outputs on the page, which are tested."""
    steps = "".join(sections("tour.md").values())
    names = run(numpy_alone(steps))
    (digits,) = (
        one.want for block in blocks(steps) for one in examples(block) if one.source.startswith("print(*predicted")
    )
    names["predicted"] = [int(digit) for digit in digits.strip()]
    for theme_name, theme in THEMES.items():
        warp = [("image", partial(photo, "image")), ("warped", partial(photo, "warped"))]
        panels(folder / f"tour-warp.{theme_name}.svg", theme, names, 3.7, warp)
        nodes = [("by their own feature", partial(classes, "alone")), ("by the layer", partial(classes, "predicted"))]
        panels(folder / f"tour-graph.{theme_name}.svg", theme, names, 3.4, nodes)


def everything(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    recipes(folder)
    tour(folder)
