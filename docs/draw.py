"""The pictures of these pages, light and dark: `python docs/draw.py [FOLDER [NAME ...]]`. Every build draws them.

Every value in them is computed by gatherscatter or read from the measurements in docs/benchmarks, so none can be wrong
or out of date. README.md shows a committed one: `python docs/draw.py docs/_static speed` draws it again.
"""

import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import charts
import gallery
import gatherscatter as gs
import numpy as np
from sheet import Sheet, both, shown

HERE = Path(__file__).parent

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


# Groups


def groups(sheet: Sheet) -> None:
    """What the functions of groups make of the same elements: a result for each group, or for each element."""
    ids, data = np.array([0, 1, 0, 2, 1, 0, 1]), np.array([3, 9, 4, 5, 2, 5, 2])
    hues, left, right = {(n,): int(i) for n, i in enumerate(ids)}, 4.6, 11.9
    grey = sheet.theme["faint"]
    for y, name, array in ((0, "segment_ids", ids), (1.05, "data", data)):
        sheet.grid(array, left, y, hues=hues)
        sheet.text(left - 0.3, y + 0.5, name, size=10, mono=True, weight="bold", align="right")
    sheet.text(left + 3.5, 2.65, "a result for each element", size=8.5, colour=grey)
    sheet.text(right + 4.2, 2.65, "a result for each group", size=8.5, colour=grey)
    scans: list[tuple[str, Any]] = [("reduction", name) for name in ("add", "max", "count")]
    for row, (option, value) in enumerate([*scans, ("exclusive", True), ("reverse", True)]):
        y = 3 + 1.12 * row
        sheet.text(left - 0.3, y + 0.5, f"{option}={value!r}".replace("'", '"'), size=8.5, mono=True, align="right")
        sheet.grid(gs.segment_scan(data, ids, **{option: value}), left, y, hues=hues)
    for row, reduction in enumerate(("add", "max", "count", "median", "nunique")):
        y = 3 + 1.12 * row
        sheet.text(right + 2.4, y + 0.5, f'"{reduction}"', size=8.5, mono=True, align="right")
        sheet.grid(gs.segment_reduce(data, ids, reduction=reduction), right + 2.7, y, hues={(n,): n for n in range(3)})
    bottom = 3 + 1.12 * 5 + 0.35
    sheet.text(left + 3.5, bottom, "segment_scan(data, segment_ids, …)", size=8.5, mono=True, colour=grey)
    sheet.text(right + 4.2, bottom, "segment_reduce(data, segment_ids, …)", size=8.5, mono=True, colour=grey)


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
    groups,
    modes,
    owners,
    *charts.CHARTS,
)


def everything(folder: Path, names: Sequence[str] = ()) -> None:
    for picture in PICTURES:
        if not names or picture.__name__ in names:
            both(picture, picture.__name__, folder)
    if not names:
        gallery.everything(folder)


if __name__ == "__main__":
    everything(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "pictures", sys.argv[2:])
