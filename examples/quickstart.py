"""Swirl a photograph with gather_nd, splat it back with scatter_nd, and check both against NumPy.

    python examples/quickstart.py

Gather: each pixel of the output is copied from one pixel of the photograph. The index pairs are computed per output
pixel; those that fall outside the photograph become the fill value. Scatter: each pixel of the swirl is added to the
coarse cell of the photograph that it came from, and the sums are divided by the counts. Writes quickstart.png.
"""

import statistics
import time

import gatherscatter as gs
import matplotlib
import matplotlib.cbook
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

ZOOM = 3  # output pixels per pixel of the photograph, along each axis
CELL = 16  # pixels of the photograph along the side of a cell
ROUNDS = 9
GREY = 40


def photograph():
    """Grace Hopper, 1984: the portrait that matplotlib ships, as uint8 (height, width, 3)."""
    with matplotlib.cbook.get_sample_data("grace_hopper.jpg") as file:
        return plt.imread(file)


def swirl(height, width, turns=0.35):
    """For every output pixel the (row, column) it comes from, as int32 (ZOOM·height, ZOOM·width, 2)."""
    y, x = np.mgrid[: height * ZOOM, : width * ZOOM] / ZOOM
    y, x = y - height / 2, x - width / 2
    radius = np.hypot(y, x) / (min(height, width) / 2)
    angle = np.arctan2(y, x) + 2 * np.pi * turns * np.exp(-radius * 1.5)
    radius = radius * min(height, width) / 2 * 1.12  # from a little beyond the edges, which is filled
    source = np.stack([radius * np.sin(angle) + height / 2, radius * np.cos(angle) + width / 2], axis=-1)
    return np.floor(source).astype(np.int32)


def with_gatherscatter(image, indices):
    # Pixels from before the first row or column are outside too: a negative index does not count from the end.
    return gs.gather_nd(image, indices, mode="fill", fill_value=GREY, wrap_negative_indices=False)


def with_numpy(image, indices):
    rows, columns = indices[..., 0], indices[..., 1]
    inside = (rows >= 0) & (rows < image.shape[0]) & (columns >= 0) & (columns < image.shape[1])
    gathered = image[np.where(inside, rows, 0), np.where(inside, columns, 0)]
    gathered[~inside] = GREY
    return gathered


def splat(swirled, cells, grid):
    """Mean colour of the pixels that fall into each cell; pixels from outside the grid are dropped."""
    options = {"reduction": "add", "mode": "drop", "wrap_negative_indices": False}
    sums = gs.scatter_nd(np.zeros((*grid, 3), np.uint32), cells, swirled, **options)
    counts = gs.scatter_nd(np.zeros(grid, np.uint32), cells, 1, **options)
    return sums / np.maximum(counts, 1)[..., None]


def splat_with_numpy(swirled, cells, grid):
    inside = (cells >= 0).all(-1) & (cells[..., 0] < grid[0]) & (cells[..., 1] < grid[1])
    rows, columns = cells[inside].T
    sums, counts = np.zeros((*grid, 3), np.uint32), np.zeros(grid, np.uint32)
    np.add.at(sums, (rows, columns), swirled[inside])
    np.add.at(counts, (rows, columns), 1)
    return sums / np.maximum(counts, 1)[..., None]


def seconds(rounds, *calls):
    """Median time of each call. Each round runs every call, so that a busy machine slows all of them."""
    times = [[] for _ in calls]
    for _ in range(rounds):
        for call, taken in zip(calls, times, strict=True):
            start = time.perf_counter()
            call()
            taken.append(time.perf_counter() - start)
    return [statistics.median(taken) for taken in times]


def compare(what, ours, theirs, call):
    """Time a call beside NumPy's and print both."""
    taken, numpys = seconds(ROUNDS, ours, theirs)
    print(f"\n{what}")
    print("  equal to NumPy's result: yes")
    print(f"  {call:24} {taken * 1e3:8.2f} ms")
    print(f"  {'NumPy':24} {numpys * 1e3:8.2f} ms")
    print(f"  {'ratio':24} {numpys / taken:8.1f} x")


def main():
    image = photograph()
    indices = swirl(*image.shape[:2])
    swirled = with_gatherscatter(image, indices)

    cells = indices // CELL
    grid = tuple(-(-n // CELL) for n in image.shape[:2])
    colours = swirled.astype(np.uint32)  # updates have the dtype of what they are added to
    mosaic = splat(colours, cells, grid)

    for ours, numpys in (
        (swirled, with_numpy(image, indices)),
        (mosaic, splat_with_numpy(colours, cells, grid)),
    ):
        if not np.array_equal(ours, numpys):
            raise SystemExit("gatherscatter and NumPy differ: please report this with gs.show_config()")

    gs.show_config()
    n = f"{indices.shape[0] * indices.shape[1]:,} index pairs"
    compare(
        f"swirl: {image.shape} uint8 -> {swirled.shape}, {n}",
        lambda: with_gatherscatter(image, indices),
        lambda: with_numpy(image, indices),
        "gather_nd",
    )
    compare(
        f"splat: {swirled.shape} uint32 -> {mosaic.shape}, {n}, sums and counts",
        lambda: splat(colours, cells, grid),
        lambda: splat_with_numpy(colours, cells, grid),
        "scatter_nd, add",
    )

    figure, axes = plt.subplots(1, 3, figsize=(14, 6), layout="constrained")
    for axis, picture, title in zip(
        axes,
        (image, swirled, mosaic.round().astype(np.uint8)),
        ("the photograph", "swirled by gather_nd", "splatted back by scatter_nd"),
        strict=True,
    ):
        axis.imshow(picture)
        axis.set_title(title)
        axis.set_axis_off()
    figure.savefig("quickstart.png", dpi=90)
    print("\nwrote quickstart.png")


if __name__ == "__main__":
    main()
