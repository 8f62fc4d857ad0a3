"""The jobs of jobs.py on NumPy arrays: statistics, models, small calls."""

import gatherscatter as gs
import numpy as np
from jobs_common import OURS, Needs, columns, grouped, job, numbers, on, sums

# Statistics


@job("histogram", "2-D histogram", "2 M ready bins, (256, 256) of int64", moved=33)
def histogram(rng, less):
    bins = rng.integers(0, 256, (2_000_000 // less**2, 2))
    y, x = columns(bins)

    def add_at():
        result = np.zeros(65536, np.int64)
        np.add.at(result, y * 256 + x, 1)
        return result.reshape(256, 256)

    def torch_bincount(torch, y, x):
        return torch.bincount(torch.add(x, y, alpha=256), minlength=65536).view(256, 256)

    def jax_bincount(jax, y, x):
        return jax.numpy.bincount(y * 256 + x, length=65536).reshape(256, 256)

    ones = np.ones(len(bins), np.int64)
    return {
        OURS: lambda: gs.scatter_nd(np.zeros((256, 256), np.int64), bins, 1, reduction="add"),
        "NumPy, bincount": lambda: np.bincount(y * 256 + x, minlength=65536).reshape(256, 256),
        "NumPy, add.at": add_at,
        "SciPy, COO to dense": on("scipy.sparse", lambda s: s.coo_array((ones, (y, x)), shape=(256, 256)).toarray()),
        "numpy_groupies": on(
            "numpy_groupies", lambda npg: npg.aggregate(y * 256 + x, 1, "sum", 65536).reshape(256, 256)
        ),
        "PyTorch, bincount": on("torch", torch_bincount, y, x),
        "JAX, bincount": on("jax", jax_bincount, y, x),
    }


@job("outliers", "2-D histogram with outliers", "2 M bins of which 6 % are outside of (256, 256), int64", moved=33)
def outliers(rng, less):
    bins = np.floor(rng.normal(128, 60, (2_000_000 // less**2, 2))).astype(np.int64)
    y, x = columns(bins)
    to = {"reduction": "add", "mode": "drop", "wrap_negative_indices": False}

    def masked():
        inside = (y >= 0) & (y < 256) & (x >= 0) & (x < 256)
        return np.bincount(y[inside] * 256 + x[inside], minlength=65536).reshape(256, 256)

    def one_more_bin():
        inside = (y.view(np.uint64) < 256) & (x.view(np.uint64) < 256)
        return np.bincount(np.where(inside, y * 256 + x, 65536), minlength=65537)[:65536].reshape(256, 256)

    def torch_bincount(torch, y, x):
        inside = (y >= 0) & (y < 256) & (x >= 0) & (x < 256)
        flat = torch.where(inside, torch.add(x, y, alpha=256), 65536)
        return torch.bincount(flat, minlength=65537)[:65536].view(256, 256)

    def at_add(jax, y, x):
        zeros = jax.numpy.zeros((256, 256), np.int64)
        return zeros.at[y, x].add(1, mode="drop", wrap_negative_indices=False)

    return {
        OURS: lambda: gs.scatter_nd(np.zeros((256, 256), np.int64), bins, 1, **to),
        "NumPy, bincount of those inside": masked,
        "NumPy, bincount with one more bin": one_more_bin,
        "PyTorch, bincount with one more bin": on("torch", torch_bincount, y, x),
        "JAX, .at[].add": on("jax", at_add, y, x),
    }


@job("weights", "Weighted histogram", "4 M float64 into 1000 bins", moved=64)
def weights(rng, less):
    n = 4_000_000 // less**2
    i, w = rng.integers(0, 1000, n), numbers(rng, n, np.float64)

    def add_at():
        result = np.zeros(1000)
        np.add.at(result, i, w)
        return result

    return {
        OURS: lambda: gs.scatter(np.zeros(1000), i, w, reduction="add"),
        "NumPy, bincount": lambda: np.bincount(i, w, 1000),
        "NumPy, add.at": add_at,
        "numpy_groupies": on("numpy_groupies", lambda npg: npg.aggregate(i, w, "sum", 1000)),
        "PyTorch, bincount": on("torch", lambda torch, i, w: torch.bincount(i, w, 1000), i, w),
        "PyTorch, scatter_add_": on(
            "torch", lambda torch, i, w: torch.zeros(1000, dtype=w.dtype).scatter_add_(0, i, w), i, w
        ),
        "JAX, segment_sum": on("jax", lambda jax, i, w: jax.ops.segment_sum(w, i, 1000), i, w),
    }


def added(labels, rows, groups):
    """The sum of the rows of each label, element by element: add.at is slow for rows."""
    width = rows.shape[1]
    result = np.zeros(groups * width, rows.dtype)
    np.add.at(result, (labels[:, None] * width + np.arange(width)).ravel(), rows.ravel())
    return result.reshape(groups, width)


def bag(torch, labels, rows, groups, mode):
    """The rows in the order of their labels, reduced as they are read."""
    counts = torch.bincount(labels, minlength=groups)
    return torch.nn.functional.embedding_bag(labels.argsort(), rows, counts.cumsum(0) - counts, mode=mode)


@job(
    "particles",
    "Particles back in their own order",
    "8 M float32 that were computed cell by cell, by indices made beforehand",
    moved=128,
)
def particles(rng, less):
    n = 8_000_000 // less**2
    order, values = np.argsort(rng.integers(0, 64**3, n), kind="stable"), numbers(rng, n)
    where = np.empty(n, np.int64)
    where[order] = np.arange(n)
    prepared = gs.prepare("gather", (n,), where)

    def assigned():
        result = np.empty_like(values)
        result[order] = values
        return result

    return {
        OURS: lambda: prepared.gather(values),
        "NumPy, take": lambda: values.take(where),
        "NumPy, assignment": assigned,
        "PyTorch, index_select": on("torch", lambda torch, x, i: x.index_select(0, i), values, where),
        "PyTorch, [i]": on("torch", lambda torch, x, i: x[i], values, where),
        "JAX, [i]": on("jax", lambda jax, x, i: x[i], values, where),
    }


@job("group-sum", "Group-by sum", "400 k rows of 64 float32 into 20 k groups", moved=111)
def group_sum(rng, less):
    n, groups = 400_000 // less**2, 20_000 // less**2
    labels, rows = rng.integers(0, groups, n), numbers(rng, (n, 64))

    def ours():
        return gs.scatter(np.zeros((groups, 64), np.float32), labels, rows, reduction="add", include_self=False)

    def index_add(torch, labels, rows):
        return torch.zeros(groups, 64).index_add_(0, labels, rows)

    def scatter_add(torch, labels, rows):
        return torch.zeros(groups, 64).scatter_add_(0, labels[:, None].expand(-1, 64), rows)

    return {
        OURS: ours,
        "NumPy, add.at of elements": lambda: added(labels, rows, groups),
        "SciPy, sparse product": on("scipy.sparse", lambda sparse: sums(sparse, labels, rows, groups)),
        "pandas": Needs("pandas", lambda pandas: grouped(pandas, labels, rows, groups, "sum")),
        "numpy_groupies": on("numpy_groupies", lambda npg: npg.aggregate(labels, rows, "sum", groups, axis=0)),
        "PyTorch, index_add_": on("torch", index_add, labels, rows),
        "PyTorch, scatter_add_": on("torch", scatter_add, labels, rows),
        "PyTorch, embedding_bag": on("torch", lambda torch, i, r: bag(torch, i, r, groups, "sum"), labels, rows),
        "JAX, segment_sum": on("jax", lambda jax, i, r: jax.ops.segment_sum(r, i, groups), labels, rows),
    }


def means(labels, rows, groups):
    """The calls for the mean of the rows of each label, for what is large and for what is crowded."""
    width = rows.shape[1]

    def numpys():
        return added(labels, rows, groups) / np.bincount(labels, minlength=groups).astype(rows.dtype)[:, None]

    def product(sparse):
        counts = np.bincount(labels, minlength=groups).astype(rows.dtype)
        return sums(sparse, labels, rows, groups) / counts[:, None]

    def scatter_reduce(torch, labels, rows):
        labels = labels[:, None].expand(-1, width)
        return torch.zeros(groups, width).scatter_reduce_(0, labels, rows, "mean", include_self=False)

    def index_add(torch, labels, rows):
        counts = torch.bincount(labels, minlength=groups)
        return torch.zeros(groups, width).index_add_(0, labels, rows) / counts[:, None]

    def segments(jax, labels, rows):
        counts = jax.numpy.bincount(labels, length=groups).astype(rows.dtype)
        return jax.ops.segment_sum(rows, labels, groups) / counts[:, None]

    def ours():
        return gs.scatter(np.zeros((groups, width), np.float32), labels, rows, reduction="mean", include_self=False)

    return {
        OURS: ours,
        "NumPy, add.at of elements over bincount": numpys,
        "SciPy, sparse product over bincount": on("scipy.sparse", product),
        "pandas": Needs("pandas", lambda pandas: grouped(pandas, labels, rows, groups, "mean")),
        "numpy_groupies": on("numpy_groupies", lambda npg: npg.aggregate(labels, rows, "mean", groups, axis=0)),
        "PyTorch, scatter_reduce_": on("torch", scatter_reduce, labels, rows),
        "PyTorch, index_add_ over bincount": on("torch", index_add, labels, rows),
        "PyTorch, embedding_bag": on("torch", lambda torch, i, r: bag(torch, i, r, groups, "mean"), labels, rows),
        "JAX, segment_sum over bincount": on("jax", segments, labels, rows),
    }


# Where sums are exact, means differ in how the division rounds.
@job("group-mean", "Group-by mean", "400 k rows of 64 float32 into 20 k groups", tolerance=1e-6, moved=111)
def group_mean(rng, less):
    n, groups = 400_000 // less**2, 20_000 // less**2
    return means(rng.integers(0, groups, n), numbers(rng, (n, 64)), groups)


@job(
    "centroids",
    "Centroids of k-means",
    "the mean of 1 M points of 8 float32 in each of 64 clusters",
    tolerance=1e-6,
    moved=40,
)
def centroids(rng, less):
    n = 1_000_000 // less**2
    return means(rng.integers(0, 64, n), numbers(rng, (n, 8)), 64)


@job("group-max", "Group-by maximum", "2 M float64 into 5 k groups", moved=32)
def group_max(rng, less):
    n, groups = 2_000_000 // less**2, 5000 // less**2
    labels, values = rng.integers(0, groups, n), rng.random(n)

    def maximum_at():
        result = np.full(groups, -np.inf)
        np.maximum.at(result, labels, values)
        return result

    def scatter_reduce(torch, labels, values):
        return torch.full((groups,), -torch.inf, dtype=values.dtype).scatter_reduce_(0, labels, values, "amax")

    return {
        OURS: lambda: gs.scatter(np.full(groups, -np.inf), labels, values, reduction="max"),
        "NumPy, maximum.at": maximum_at,
        "pandas": Needs("pandas", lambda pandas: grouped(pandas, labels, values, groups, "max")),
        "numpy_groupies": on("numpy_groupies", lambda npg: npg.aggregate(labels, values, "max", groups)),
        "PyTorch, scatter_reduce_": on("torch", scatter_reduce, labels, values),
        "JAX, segment_max": on("jax", lambda jax, i, v: jax.ops.segment_max(v, i, groups), labels, values),
    }


@job("segments", "Segment sum", "4 M float32 in 50 k segments, by sorted labels", moved=48)
def segments(rng, less):
    groups = 50_000 // less**2
    lengths = rng.integers(1, 160, groups)
    labels = np.repeat(np.arange(groups), lengths)
    values = numbers(rng, len(labels))

    def reduceat():
        return np.add.reduceat(values, np.flatnonzero(np.diff(labels, prepend=-1)))

    def segment_sum(jax, labels, values):
        return jax.ops.segment_sum(values, labels, groups, indices_are_sorted=True)

    def segment_reduce(torch, labels, values):
        return torch.segment_reduce(values, "sum", lengths=torch.bincount(labels, minlength=groups))

    return {
        OURS: lambda: gs.scatter(np.zeros(groups, np.float32), labels, values, reduction="add"),
        "NumPy, add.reduceat": reduceat,
        "NumPy, bincount": lambda: np.bincount(labels, values, groups).astype(np.float32),
        "pandas, groupby": on("pandas", lambda pandas: grouped(pandas, labels, values, groups, "sum")().to_numpy()),
        "numpy_groupies": on("numpy_groupies", lambda npg: npg.aggregate(labels, values, "sum", groups)),
        "PyTorch, scatter_add_": on(
            "torch", lambda torch, i, v: torch.zeros(groups).scatter_add_(0, i, v), labels, values
        ),
        "PyTorch, segment_reduce": on("torch", segment_reduce, labels, values),
        "JAX, segment_sum": on("jax", segment_sum, labels, values),
    }


@job("dense", "Sparse to dense", "5 M entries with duplicates into float32 (4096, 4096)", moved=167)
def dense(rng, less):
    side = 4096 // less
    where = rng.integers(0, side, (5_000_000 // less**2, 2))
    row, column = columns(where)
    values = numbers(rng, len(where))

    def add_at():
        result = np.zeros(side * side, np.float32)
        np.add.at(result, row * side + column, values)
        return result.reshape(side, side)

    def scatter_add(torch, row, column, values):
        return torch.zeros(side * side).scatter_add_(0, torch.add(column, row, alpha=side), values).view(side, side)

    def bincount():
        return np.bincount(row * side + column, values, side * side).astype(np.float32).reshape(side, side)

    def at_add(jax, row, column, values):
        return jax.numpy.zeros((side, side), values.dtype).at[row, column].add(values)

    def to_dense(sparse):
        return sparse.coo_array((values, (row, column)), shape=(side, side)).toarray

    return {
        OURS: lambda: gs.scatter_nd(np.broadcast_to(np.float32(0), (side, side)), where, values, reduction="add"),
        "NumPy, add.at": add_at,
        "NumPy, bincount": bincount,
        "SciPy, COO to dense": Needs("scipy.sparse", to_dense),
        "PyTorch, scatter_add_": on("torch", scatter_add, row, column, values),
        "JAX, .at[].add": on("jax", at_add, row, column, values),
    }


# Models


@job("embedding", "Embedding", "64 k tokens, power law, of a table of (100 k, 256) float32", moved=76)
def embedding(rng, less):
    words = 100_000 // less**2
    table = numbers(rng, (words, 256))
    tokens = np.minimum(rng.zipf(1.2, (128 // less, 512 // less)), words) - 1
    return {
        OURS: lambda: gs.gather(table, tokens),
        "NumPy, take": lambda: np.take(table, tokens, axis=0),
        "PyTorch, embedding": on("torch", lambda torch, t, i: torch.nn.functional.embedding(i, t), table, tokens),
        "JAX, [tokens]": on("jax", lambda jax, table, tokens: table[tokens], table, tokens),
    }


@job(
    "padded",
    "Padded neighbours",
    "features of 16 neighbours of 100 k points, a fifth of them none, of (100 k, 8) float32",
    moved=67,
)
def padded(rng, less):
    points = 100_000 // less**2
    features = numbers(rng, (points, 8))
    neighbours = rng.integers(0, points, (points, 16))
    neighbours[rng.random(neighbours.shape) < 0.2] = points  # none
    zero = np.zeros((1, 8), np.float32)

    def masked():
        found = features[np.minimum(neighbours, points - 1)]
        found[neighbours == points] = 0
        return found

    def jax_take(jax, features, neighbours):
        return jax.numpy.take(features, neighbours, axis=0, mode="fill", fill_value=0)

    def torch_embedding(torch, features, neighbours):
        return torch.nn.functional.embedding(neighbours, torch.nn.functional.pad(features, (0, 0, 0, 1)))

    return {
        OURS: lambda: gs.gather(features, neighbours, mode="fill"),
        "NumPy, a mask": masked,
        "NumPy, take with one more row": lambda: np.take(np.concatenate([features, zero]), neighbours, axis=0),
        "PyTorch, embedding with one more row": on("torch", torch_embedding, features, neighbours),
        "JAX, take, mode fill": on("jax", jax_take, features, neighbours),
    }


@job("cache", "Key-value cache", "one position of float32 (8, 16, 2048, 64), in place")
def cache(rng, less):
    length = 2048 // less
    kept, new = numbers(rng, (8, 16, length, 64)), numbers(rng, (8, 16, 1, 64))
    at = length // 2
    ours, slices, indexed, position = kept.copy(), kept.copy(), kept.copy(), np.array([at])

    def with_slice():
        slices[:, :, at : at + 1] = new
        return slices

    def with_index():
        indexed[:, :, position] = new
        return indexed

    return {
        OURS: lambda: gs.scatter(ours, position, new, axis=2, out=ours),
        "NumPy, a slice": with_slice,
        "NumPy, [:, :, i]": with_index,
        "PyTorch, index_copy_": on("torch", lambda torch, c, i, n: c.index_copy_(2, i, n), kept.copy(), position, new),
    }


@job("top-k", "Top-k mask", "bool (4096, 1000), 50 of each row", moved=6)
def top_k(rng, less):
    shape = 4096 // less, 1000 // less
    top = np.argpartition(rng.random(shape, np.float32), -50, axis=1)[:, -50:].copy()
    rows = np.arange(shape[0])[:, None]

    def put_along_axis():
        mask = np.zeros(shape, bool)
        np.put_along_axis(mask, top, True, axis=1)
        return mask

    def flat():
        mask = np.zeros(shape, bool)
        mask.ravel()[top + rows * shape[1]] = True
        return mask

    def scatter(torch, top):
        return torch.zeros(shape, dtype=torch.bool).scatter_(1, top, True)

    return {
        # data is not written to, so that one element stands for all zeros
        OURS: lambda: gs.scatter_elements(np.broadcast_to(False, shape), top, True, axis=1),
        "NumPy, put_along_axis": put_along_axis,
        "NumPy, [flat]": flat,
        "PyTorch, scatter_": on("torch", scatter, top),
        "JAX, .at[].set": on("jax", lambda jax, r, i: jax.numpy.zeros(shape, bool).at[r, i].set(True), rows, top),
    }


@job("one-hot", "One-hot", "1 M labels of 100 classes, float32", moved=408)
def one_hot(rng, less):
    n = 1_000_000 // less**2
    labels = rng.integers(0, 100, n)

    def put_along_axis():
        result = np.zeros((n, 100), np.float32)
        np.put_along_axis(result, labels[:, None], 1, axis=1)
        return result

    def ones():
        result = np.zeros((n, 100), np.float32)
        result[np.arange(n), labels] = 1
        return result

    return {
        OURS: lambda: gs.gather(np.eye(100, dtype=np.float32), labels),
        "NumPy, eye[labels]": lambda: np.eye(100, dtype=np.float32)[labels],
        "NumPy, eye.take": lambda: np.eye(100, dtype=np.float32).take(labels, axis=0),
        "NumPy, put_along_axis": put_along_axis,
        "NumPy, [row, label] = 1": ones,
        "PyTorch, one_hot": on("torch", lambda torch, i: torch.nn.functional.one_hot(i, 100).float(), labels),
        "PyTorch, scatter_": on("torch", lambda torch, i: torch.zeros(n, 100).scatter_(1, i[:, None], 1), labels),
        "PyTorch, eye.index_select": on("torch", lambda torch, i: torch.eye(100).index_select(0, i), labels),
        "JAX, one_hot": on("jax", lambda jax, i: jax.nn.one_hot(i, 100, dtype=np.float32), labels),
    }


# Small calls


@job("small-add", "Small add", "10 float64 into 1000, in place")
def small_add(rng, less):
    data, i, u = numbers(rng, 1000, np.float64), rng.integers(0, 1000, 10), numbers(rng, 10, np.float64)
    at, counted = data.copy(), data.copy()

    def add_at():
        np.add.at(at, i, u)
        return at

    return {
        OURS: lambda: gs.scatter(data, i, u, reduction="add", out=data),
        "NumPy, add.at": add_at,
        "NumPy, bincount": lambda: np.add(counted, np.bincount(i, u, 1000), out=counted),
        "PyTorch, index_add_": on("torch", lambda torch, d, i, u: d.index_add_(0, i, u), data.copy(), i, u),
    }


@job("small-gather", "Small gather", "10 rows of (1000, 16) float32, into memory that is there")
def small_gather(rng, less):
    data, i = numbers(rng, (1000, 16)), rng.integers(0, 1000, 10)
    ours, checked, clipped, method, new = (np.empty((10, 16), np.float32) for _ in range(5))

    def select(torch, data, i, out):
        return torch.index_select(data, 0, i, out=out)

    return {
        OURS: lambda: gs.gather(data, i, out=ours),
        "NumPy, take": lambda: np.take(data, i, axis=0, out=checked),
        "NumPy, take, mode clip": lambda: np.take(data, i, axis=0, out=clipped, mode="clip"),
        "NumPy, data.take, mode clip": lambda: data.take(i, 0, method, "clip"),  # which spares a layer of Python
        "PyTorch, index_select": on("torch", select, data, i, new),
    }
