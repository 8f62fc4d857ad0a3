"""Swirl a photograph with gather_nd, and check it against NumPy's fancy indexing.

    python examples/quickstart.py

Every pixel of the output asks for one pixel of the photograph. The index pairs are computed per output pixel;
those that fall outside the photograph become the fill value. Writes quickstart.png: before and after.
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
    # Negative indices count from the end, so what lies before the first row is sent past the last.
    source = np.floor(source)
    return np.where(source < 0, max(height, width), source).astype(np.int32)


def with_gatherscatter(image, indices):
    return gs.gather_nd(image, indices, mode="fill", fill_value=GREY)


def with_numpy(image, indices):
    rows, columns = indices[..., 0], indices[..., 1]
    inside = (rows < image.shape[0]) & (columns < image.shape[1])
    gathered = image[np.where(inside, rows, 0), np.where(inside, columns, 0)]
    gathered[~inside] = GREY
    return gathered


def seconds(rounds, *calls):
    """Median time of each call, measured in turns so that a busy machine slows all of them alike."""
    times = [[] for _ in calls]
    for _ in range(rounds):
        for call, taken in zip(calls, times, strict=True):
            start = time.perf_counter()
            call()
            taken.append(time.perf_counter() - start)
    return [statistics.median(taken) for taken in times]


def main():
    image = photograph()
    indices = swirl(*image.shape[:2])

    warped = with_gatherscatter(image, indices)
    if not np.array_equal(warped, with_numpy(image, indices)):
        raise SystemExit("gather_nd and NumPy's fancy indexing differ: please report this with gs.show_config()")

    gs.show_config()
    ours, numpys = seconds(ROUNDS, lambda: with_gatherscatter(image, indices), lambda: with_numpy(image, indices))
    print(f"\nswirl: {image.shape} uint8 -> {warped.shape}, {warped.shape[0] * warped.shape[1]:,} index pairs")
    print("  equal to NumPy's fancy indexing: yes")
    print(f"  gather_nd              {ours * 1e3:7.2f} ms")
    print(f"  NumPy fancy indexing   {numpys * 1e3:7.2f} ms")
    print(f"  ratio                  {numpys / ours:7.1f} x")

    figure, axes = plt.subplots(1, 2, figsize=(11, 6.5), layout="constrained")
    for axis, picture, title in zip(
        axes, (image, warped), ("before", 'after: gs.gather_nd(image, indices, mode="fill")'), strict=True
    ):
        axis.imshow(picture)
        axis.set_title(title)
        axis.set_axis_off()
    figure.savefig("quickstart.png", dpi=100)
    print("wrote quickstart.png")


if __name__ == "__main__":
    main()
