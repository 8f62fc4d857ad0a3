"""The jobs of jobs.py on NumPy arrays: images, meshes and points."""

import gatherscatter as gs
import numpy as np
from jobs_common import OURS, Needs, columns, grouped, job, numbers, on, sums


def near(height, width):
    """For each pixel a place (y, x) near its own."""
    y, x = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    where = np.stack([y + 20 * np.sin(x / 50), x + 20 * np.cos(y / 50)], axis=-1).astype(np.int64)
    return np.clip(where, 0, [height - 1, width - 1])


def warps(rng, less, fixed):
    """Where the map is fixed, as a camera's is, what is made of it is made beforehand; else in each call."""
    height, width = 2160 // less, 3840 // less
    image, where = rng.integers(0, 256, (height, width, 3), np.uint8), near(height, width)
    y, x = columns(where)
    pixels, flat = image.reshape(-1, 3), y * width + x
    take = gs.prepare("gather_nd", (height, width), where)

    def numpys():
        return pixels.take(flat if fixed else y * width + x, axis=0)

    def embedding(torch, pixels, flat, y, x):
        return torch.nn.functional.embedding(flat if fixed else torch.add(x, y, alpha=width), pixels)

    return {
        OURS: (lambda: take.gather(image)) if fixed else (lambda: gs.gather_nd(image, where)),
        "NumPy, [y, x]": lambda: image[y, x],
        "NumPy, take": numpys,
        "PyTorch, [y, x]": on("torch", lambda torch, image, y, x: image[y, x], image, y, x),
        "PyTorch, embedding": on("torch", embedding, pixels, flat, y, x),
        "JAX, [y, x]": on("jax", lambda jax, image, y, x: image[y, x], image, y, x),
        "JAX, [flat]": on("jax", lambda jax, p, flat, y, x: p[flat if fixed else y * width + x], *(pixels, flat, y, x)),
    }


@job("warp", "Image warp", "nearest neighbour, uint8 (2160, 3840, 3)", moved=183)
def warp(rng, less):
    return warps(rng, less, fixed=False)


@job(
    "fixed-warp",
    "Image warp by a fixed map",
    "its indices made beforehand, nearest neighbour, uint8 (2160, 3840, 3)",
    moved=83,
)
def fixed_warp(rng, less):
    return warps(rng, less, fixed=True)


@job("splat", "Splat", "forward warp: pixels added to an image, float32 (1080, 1920, 3)", moved=83)
def splat(rng, less):
    height, width = 1080 // less, 1920 // less
    image, where = numbers(rng, (height, width, 3)), near(height, width)
    y, x = columns(where)
    n = height * width
    pixels, flat = image.reshape(-1, 3), (y * width + x).ravel()

    def each_channel():
        result = np.zeros((n, 3), np.float32)
        for c in range(3):
            np.add.at(result[:, c], flat, pixels[:, c])
        return result.reshape(image.shape)

    return {
        # data is not written to, so that one element stands for all zeros
        OURS: lambda: gs.scatter_nd(np.broadcast_to(np.float32(0), image.shape), where, image, reduction="add"),
        "NumPy, add.at of each channel": each_channel,
        "SciPy, sparse product": on("scipy.sparse", lambda s: sums(s, flat, pixels, n).reshape(image.shape)),
        "PyTorch, index_add_": on(
            "torch", lambda torch, p, i: torch.zeros_like(p).index_add_(0, i, p).view(image.shape), pixels, flat
        ),
        "PyTorch, scatter_add_": on(
            "torch",
            lambda torch, p, i: torch.zeros_like(p).scatter_add_(0, i[:, None].expand(-1, 3), p).view(image.shape),
            *(pixels, flat),
        ),
        "JAX, .at[].add": on("jax", lambda jax, im, y, x: jax.numpy.zeros_like(im).at[y, x].add(im), image, y, x),
    }


@job("pool", "Segmentation pool", "maximum over 500 k pixels × 8 channels by 3 k labels", moved=20)
def pool(rng, less):
    height, width, labels = 500 // less, 1000 // less, 3000
    y, x = np.ogrid[:height, :width]
    label = np.ascontiguousarray(y * 50 // height * 60 + x * 60 // width)  # superpixels: 50 × 60 of them
    features = rng.random((height, width, 8), np.float32)
    flat, rows = label.ravel(), features.reshape(-1, 8)

    def each_channel():
        result = np.full((8, labels), -np.inf, np.float32)
        for c in range(8):
            np.maximum.at(result[c], flat, rows[:, c])
        return result.T

    def sorted_first():
        order = np.argsort(flat, kind="stable")
        return np.maximum.reduceat(rows[order], np.searchsorted(flat[order], np.arange(labels)), axis=0)

    def of_each_channel(ndimage):
        return np.stack([ndimage.maximum(features[..., c], label, np.arange(labels)) for c in range(8)], axis=-1)

    def scatter_reduce(torch, label, rows):
        result = torch.full((labels, 8), -torch.inf)
        return result.scatter_reduce_(0, label[:, None].expand(-1, 8), rows, "amax")

    return {
        OURS: lambda: gs.scatter(np.full((labels, 8), -np.inf, np.float32), label, features, reduction="max"),
        "NumPy, maximum.at of each channel": each_channel,
        "NumPy, maximum.reduceat": sorted_first,
        "SciPy, ndimage.maximum of each channel": on("scipy.ndimage", of_each_channel),
        "pandas": Needs("pandas", lambda pandas: grouped(pandas, flat, rows, labels, "max")),
        "numpy_groupies": on("numpy_groupies", lambda npg: npg.aggregate(flat, rows, "max", labels, axis=0)),
        "PyTorch, scatter_reduce_": on("torch", scatter_reduce, flat, rows),
        "JAX, segment_max": on("jax", lambda jax, r, i: jax.ops.segment_max(r, i, labels), rows, flat),
    }


@job(
    "objects",
    "Statistics of the objects of a labelled image",
    "mean, maximum and centre of mass, float64 (2000, 2000), 20 k objects",
    1e-9,
    moved=144,  # the image and the labels, three times
)
def objects(rng, less):
    side = 2000 // less
    y, x = np.ogrid[:side, :side]
    label = np.ascontiguousarray(y // 14 * (side // 14 + 1) + x // 14, np.int32)
    image, index, flat = rng.random((side, side)), np.arange(label.max() + 1), label.ravel()

    def measured(ndimage):
        centres = np.array(ndimage.center_of_mass(image, label, index))
        return ndimage.mean(image, label, index), ndimage.maximum(image, label, index), centres

    def with_numpy():
        total, pixels = np.bincount(flat, image.ravel()), np.bincount(flat)
        greatest = np.full(index.size, -np.inf)
        np.maximum.at(greatest, flat, image.ravel())
        centres = [np.bincount(flat, (image * places).ravel()) / total for places in (y, x)]
        return total / pixels, greatest, np.stack(centres, axis=1)

    return {
        OURS: lambda: measured(gs.ndimage),
        "SciPy, ndimage": on("scipy.ndimage", measured),
        "NumPy, bincount and maximum.at": with_numpy,
    }


@job("normals", "Mesh normals", "those of 400 k triangles added to their three corners, float32 (200 k, 3)", moved=17)
def normals(rng, less):
    side = 450 // less
    corner = np.arange(side * side).reshape(side, side)
    a, b, c, d = (corner[y, x].ravel() for y in (slice(-1), slice(1, None)) for x in (slice(-1), slice(1, None)))
    faces = np.concatenate([np.stack([a, b, c], axis=1), np.stack([d, c, b], axis=1)])
    faces = rng.permutation(side * side)[faces]  # files list the points in any order
    n, each = side * side, numbers(rng, (len(faces), 3))
    flat, thrice = faces.ravel(), np.repeat(each, 3, axis=0)

    def add_at():
        result = np.zeros((n, 3), np.float32)
        for k in range(3):
            np.add.at(result, faces[:, k], each)
        return result

    def product(sparse):
        ones, starts = np.ones(flat.size, np.float32), np.arange(0, flat.size + 1, 3)
        return sparse.csc_array((ones, flat, starts), shape=(n, len(faces))) @ each

    return {
        OURS: lambda: gs.scatter(np.broadcast_to(np.float32(0), (n, 3)), faces, each[:, None], reduction="add"),
        "NumPy, add.at of each corner": add_at,
        "NumPy, bincount of each axis": lambda: np.stack(
            [np.bincount(flat, thrice[:, k], n) for k in range(3)], axis=1, dtype=np.float32, casting="same_kind"
        ),
        "SciPy, sparse product": on("scipy.sparse", product),
        "PyTorch, index_add_": on("torch", lambda torch, i, u: torch.zeros(n, 3).index_add_(0, i, u), flat, thrice),
        "JAX, segment_sum": on("jax", lambda jax, u, i: jax.ops.segment_sum(u, i, n), thrice, flat),
    }


@job("pool-half", "Maximum pool of half precision", "400 k points of 64 float16 into 20 k cells", moved=57)
def pool_half(rng, less):
    n, cells = 400_000 // less**2, 20_000 // less**2
    cell, features = rng.integers(0, cells, n), rng.random((n, 64), np.float32).astype(np.float16)

    def sorted_first():
        order = np.argsort(cell, kind="stable")
        result = np.full((cells, 64), -np.inf, np.float16)
        present, first = np.unique(cell[order], return_index=True)
        result[present] = np.maximum.reduceat(features[order], first, axis=0)
        return result

    def scatter_reduce(torch, cell, features):
        result = torch.full((cells, 64), -torch.inf, dtype=torch.float16)
        return result.scatter_reduce_(0, cell[:, None].expand(-1, 64), features, "amax")

    def index_reduce(torch, cell, features):
        return torch.full((cells, 64), -torch.inf, dtype=torch.float16).index_reduce_(0, cell, features, "amax")

    return {
        OURS: lambda: gs.scatter(np.full((cells, 64), -np.inf, np.float16), cell, features, reduction="max"),
        "NumPy, maximum.reduceat": sorted_first,
        "PyTorch, scatter_reduce_": on("torch", scatter_reduce, cell, features),
        "PyTorch, index_reduce_": on("torch", index_reduce, cell, features),
        "JAX, segment_max": on("jax", lambda jax, u, i: jax.ops.segment_max(u, i, cells), features, cell),
    }
