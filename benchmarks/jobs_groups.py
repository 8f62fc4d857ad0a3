"""The jobs of jobs.py on groups: gs.segment_reduce and its family beside pandas, flox, numbagg, PyTorch and others."""

import gatherscatter as gs
import numpy as np
from jobs_common import OURS, Needs, job, library, on

REDUCTIONS = ("add", "mean", "var", "argmax", "count")


def with_gaps(rng, n):
    """Temperatures, of which a tenth is missing."""
    values = rng.standard_normal(n) + 280
    values[rng.random(n) < 0.1] = np.nan
    return values


def by_flox(name, values, labels, n):
    return Needs(
        "flox",
        lambda flox: lambda: flox.groupby_reduce(values, labels, func=name, expected_groups=np.arange(n))[0],
    )


def by_numbagg(name, values, labels, n):
    return Needs("numbagg", lambda numbagg: lambda: getattr(numbagg, name)(values, labels, num_labels=n, axis=-1))


def by_groupies(name, values, labels, n):
    return Needs("numpy_groupies", lambda groupies: lambda: groupies.aggregate_nb(labels, values, func=name, size=n))


def by_pandas(name, values, labels, **options):
    def prepare(pandas):
        groups = pandas.Series(values).groupby(labels)
        return lambda: getattr(groups, name)(**options).to_numpy()

    return Needs("pandas", prepare)


def labelled(name, title, reduction, numbagg, flox, pandas, skipna, tolerance=1e-9, **options):
    """A job: one reduction of 10 million numbers by 1000 labels."""

    @job(name, title, "10 M float64 by 1000 labels", tolerance, moved=160)
    def arrange(rng, less):
        n = 10_000_000 // less**2
        values, labels = with_gaps(rng, n) if skipna else rng.standard_normal(n) + 280, rng.integers(0, 1000, n)
        calls = {
            OURS: lambda: gs.segment_reduce(values, labels, 1000, reduction=reduction, skipna=skipna, **options),
            "flox": by_flox(flox, values, labels, 1000),
            "numpy_groupies": by_groupies(flox, values, labels, 1000),
        }
        if numbagg:
            calls["numbagg"] = by_numbagg(numbagg, values, labels, 1000)
        if pandas:
            calls["pandas"] = by_pandas(pandas[0], values, labels, **pandas[1])
        if reduction == "add" and not skipna:
            calls["NumPy, bincount"] = lambda: np.bincount(labels, values, 1000)
        return calls


labelled("group-total", "Sum of each group", "add", None, "sum", ("sum", {}), False)
labelled("group-nansum", "Sum of each group, without NaN", "add", "group_nansum", "nansum", ("sum", {}), True)
labelled("group-nanmean", "Mean of each group, without NaN", "mean", "group_nanmean", "nanmean", ("mean", {}), True)
labelled("group-argmax", "Position of each group's maximum", "argmax", None, "argmax", None, False)
labelled("group-var", "Variance of each group", "var", None, "var", ("var", {"ddof": 0}), False)


def ordered(name, title, n_groups, of_pandas, call, numbagg=None, flox=None, **options):
    """A job: an order statistic of a million numbers."""

    @job(name, title, f"1 M float64 by {n_groups} labels", 1e-9, moved=16)
    def arrange(rng, less):
        n = 1_000_000 // less**2
        values, labels = rng.standard_normal(n) + 280, rng.integers(0, n_groups, n)
        labels[:n_groups] = np.arange(n_groups)[:n]  # no group is empty
        calls = {
            OURS: lambda: call(values, labels, n_groups),
            "pandas": by_pandas(of_pandas, values, labels, **options),
        }
        if numbagg:
            calls["numbagg"] = by_numbagg(numbagg, values, labels, n_groups)
        if flox:
            calls["flox"] = by_flox(flox, values, labels, n_groups)
        return calls


def median_of_groups(values, labels, n):
    return gs.segment_reduce(values, labels, n, reduction="median")


def distinct_of_groups(values, labels, n):
    return gs.segment_reduce(values, labels, n, reduction="nunique")


def quantile_of_groups(values, labels, n):
    return gs.segment_quantile(values, 0.9, labels, n)


ordered("group-median", "Median of each group", 1000, "median", median_of_groups, flox="median")
ordered("group-medians", "Medians of many groups", 100_000, "median", median_of_groups, flox="median")
ordered("group-quantile", "Quantile of each group", 1000, "quantile", quantile_of_groups, q=0.9)
ordered("group-quantiles", "Quantiles of many groups", 100_000, "quantile", quantile_of_groups, q=0.9)
ordered("group-nunique", "Distinct values of each group", 1000, "nunique", distinct_of_groups)


@job(
    "group-five",
    "Five statistics of each group",
    "sum, mean, variance, argmax and count of 10 M float64 by 1000",
    1e-9,
    moved=160,
)
def group_five(rng, less):
    n = 10_000_000 // less**2
    values, labels = rng.standard_normal(n) + 280, rng.integers(0, 1000, n)

    def with_pandas(pandas):
        groups = pandas.Series(values).groupby(labels)

        def call():
            found = groups.agg(["sum", "mean", lambda x: x.var(ddof=0), "idxmax", "count"])
            return tuple(found[column].to_numpy() for column in found)

        return call

    def with_bincount():
        count = np.bincount(labels, minlength=1000)
        total = np.bincount(labels, values, 1000)
        mean = total / count
        apart = values - mean[labels]
        variance = np.bincount(labels, apart * apart, 1000) / count
        best = np.full(1000, -np.inf)
        np.maximum.at(best, labels, values)
        hits = np.flatnonzero(values == best[labels])
        places = np.full(1000, n)
        np.minimum.at(places, labels[hits], hits)
        return total, mean, variance, places, count

    def each(name):
        return by_flox(name, values, labels, 1000)

    def with_flox(flox):
        calls = [each(name).prepare(flox) for name in ("sum", "mean", "var", "argmax", "count")]
        return lambda: tuple(call() for call in calls)

    return {
        OURS: lambda: gs.segment_reduce(values, labels, 1000, reduction=REDUCTIONS),
        "NumPy, bincount": with_bincount,
        "flox, each": Needs("flox", with_flox),
        "pandas, agg": Needs("pandas", with_pandas),
    }


def running(name, title, n_groups):
    """A job: the running sum of a million numbers in each group."""

    @job(name, title, f"1 M float64 by {n_groups // 1000} k labels", 1e-12, moved=24)
    def arrange(rng, less):
        n, groups = 1_000_000 // less**2, n_groups // less**2
        values, labels = rng.standard_normal(n), rng.integers(0, groups, n)

        def with_sort():
            order = np.argsort(labels, kind="stable")
            sums = np.cumsum(values[order])
            counts = np.bincount(labels, minlength=groups)
            before = np.append(0, sums)[np.cumsum(counts) - counts]
            result = np.empty_like(values)
            result[order] = sums - np.repeat(before, counts)
            return result

        return {
            OURS: lambda: gs.segment_scan(values, labels, groups),
            "pandas": by_pandas("cumsum", values, labels),
            "NumPy, argsort and cumsum": with_sort,
        }


running("group-cumsum", "Running sum of each group", 1000)
running("group-cumsum-many", "Running sum of each of many groups", 100_000)


@job(
    "group-climatology",
    "Monthly means of a series at each station",
    "float64 (8, 100 k) by 12, without NaN",
    1e-9,
    moved=7,
)
def group_climatology(rng, less):
    n = 100_000 // less
    values, months = with_gaps(rng, 8 * n).reshape(8, n), np.arange(n) // 30 % 12

    def by_station():
        valid = ~np.isnan(values)
        zeros = np.where(valid, values, 0)
        return np.stack(
            [np.bincount(months, z, 12) / np.bincount(months, v, 12) for z, v in zip(zeros, valid, strict=True)]
        )

    return {
        OURS: lambda: gs.segment_reduce(values, months, 12, axis=1, reduction="mean", skipna=True),
        "NumPy, bincount": by_station,
        "flox": by_flox("nanmean", values, months, 12),
        "numbagg": by_numbagg("group_nanmean", values, months, 12),
    }


@job(
    "voxel-argmax",
    "Highest point of each voxel",
    "float32 (1 M, 4) by 100 k voxels: maximum and its position",
    moved=29,
)
def voxel_argmax(rng, less):
    n, n_voxels = 1_000_000 // less**2, 100_000 // less**2
    points, voxels = rng.standard_normal((n, 4)).astype(np.float32), rng.integers(0, n_voxels, n)
    voxels[:n_voxels] = np.arange(n_voxels)  # none is empty

    def with_torch_scatter(module):
        torch = library("torch")
        src, index = torch.from_numpy(points), torch.from_numpy(voxels)
        return lambda: module.scatter_max(src, index, dim=0)

    def with_sort():
        begins = np.append(0, np.cumsum(np.bincount(voxels, minlength=n_voxels)[:-1]))
        best = np.stack([np.lexsort((-column, voxels))[begins] for column in points.T], axis=1)
        return np.take_along_axis(points, best, 0), best

    def with_jax(jax, x, ids):
        best = jax.ops.segment_max(x, ids, n_voxels)
        places = jax.numpy.where(x == best[ids], jax.numpy.arange(n)[:, None], n)
        return best, jax.ops.segment_min(places, ids, n_voxels)

    return {
        OURS: lambda: gs.segment_reduce(points, voxels, n_voxels, reduction=("max", "argmax")),
        "torch_scatter": Needs("torch_scatter", with_torch_scatter),
        "NumPy, lexsort": with_sort,
        "JAX": on("jax", with_jax, points, voxels),
    }


def attention(rng, less):
    n, nodes = 500_000 // less**2, 50_000 // less**2
    return rng.standard_normal((n, 8)).astype(np.float32), rng.integers(0, nodes, n), nodes


def softmax_of_parts(torch, scores, targets, nodes):
    at = targets[:, None].expand(-1, 8)
    best = torch.full((nodes, 8), -torch.inf).scatter_reduce(0, at, scores.detach(), "amax")
    powers = (scores - best.index_select(0, targets)).exp()
    return powers / torch.zeros((nodes, 8)).index_add(0, targets, powers).index_select(0, targets)


def softmax_jax(jax, scores, targets, nodes):
    powers = jax.numpy.exp(scores - jax.ops.segment_max(scores, targets, nodes)[targets])
    return powers / jax.ops.segment_sum(powers, targets, nodes)[targets]


@job(
    "edge-softmax",
    "Attention over the edges of each node",
    "softmax of 500 k edges × 8 heads, 50 k nodes",
    1e-5,
    moved=36,
)
def edge_softmax(rng, less):
    scores, targets, nodes = attention(rng, less)

    def with_torch_scatter(module):
        torch = library("torch")
        src, index = torch.from_numpy(scores), torch.from_numpy(targets)
        return lambda: module.composite.scatter_softmax(src, index, dim=0)

    return {
        OURS: on("torch", lambda torch, s, t: gs.segment_softmax(s, t, nodes), scores, targets),
        "PyTorch, scatter_reduce": on(
            "torch", lambda torch, s, t: softmax_of_parts(torch, s, t, nodes), scores, targets
        ),
        "torch_scatter": Needs("torch_scatter", with_torch_scatter),
        "JAX": on("jax", lambda jax, s, t: softmax_jax(jax, s, t, nodes), scores, targets),
    }


@job("edge-softmax-gradient", "The same, and its gradient", "with a loss on the attention", 1e-4, moved=88)
def edge_softmax_gradient(rng, less):
    scores, targets, nodes = attention(rng, less)
    weights = rng.standard_normal(scores.shape).astype(np.float32)

    def both_ways(softmax):
        def call(torch, s, t, w):
            s = s.clone().requires_grad_()
            (softmax(torch, s, t) * w).sum().backward()
            return s.grad

        return call

    def with_jax(jax, s, t, w):
        return jax.grad(lambda s: (softmax_jax(jax, s, t, nodes) * w).sum())(s)

    def with_torch_scatter(module):
        torch = library("torch")
        call = both_ways(lambda torch, s, t: module.composite.scatter_softmax(s, t, dim=0))
        return lambda: call(torch, *map(torch.from_numpy, (scores, targets, weights)))

    given = scores, targets, weights
    return {
        OURS: on("torch", both_ways(lambda torch, s, t: gs.segment_softmax(s, t, nodes)), *given),
        "PyTorch, scatter_reduce": on(
            "torch", both_ways(lambda torch, s, t: softmax_of_parts(torch, s, t, nodes)), *given
        ),
        "torch_scatter": Needs("torch_scatter", with_torch_scatter),
        "JAX": on("jax", with_jax, *given),
    }


def csr(name, title, reduction):
    @job(name, title, "5 M float32 in 500 k rows of a CSR matrix", 1e-5, moved=26)
    def arrange(rng, less):
        n, rows = 5_000_000 // less**2, 500_000 // less**2
        pointers = np.append(0, np.cumsum(rng.multinomial(n - rows, np.full(rows, 1 / rows)) + 1))
        values = rng.standard_normal(n).astype(np.float32)
        ufunc = np.add if reduction == "add" else np.maximum

        def with_torch_scatter(module):
            torch = library("torch")
            src, indptr = torch.from_numpy(values), torch.from_numpy(pointers)
            return lambda: module.segment_csr(src, indptr, reduce="sum" if reduction == "add" else "max")

        def with_torch(torch, x, indptr):
            return torch.segment_reduce(x, "sum" if reduction == "add" else "max", offsets=indptr)

        return {
            OURS: lambda: gs.segment_reduce(values, indptr=pointers, reduction=reduction),
            "NumPy, reduceat": lambda: ufunc.reduceat(values, pointers[:-1]),
            "torch_scatter": Needs("torch_scatter", with_torch_scatter),
            "PyTorch, segment_reduce": on("torch", with_torch, values, pointers),
        }


csr("csr-sum", "Sum of each row of a sparse matrix", "add")
csr("csr-max", "Maximum of each row of a sparse matrix", "max")


@job(
    "experts",
    "Tokens to their experts and back",
    "16 k tokens of 1024 float32, 2 of 64 experts each, with weights",
    1e-5,
    moved=402,
)
def experts(rng, less):
    n = 16_384 // less**2
    tokens, chosen = rng.standard_normal((n, 1024)).astype(np.float32), rng.integers(0, 64, (n, 2)).reshape(-1)
    weights = rng.random(2 * n).astype(np.float32)

    def by_ours(torch, x, chosen, w):
        order = gs.prepare("segment", (2 * n,), chosen, 64).order
        rows = order // 2
        sent = gs.gather(x, rows)
        every = torch.arange(2 * n)
        back = gs.gather_scatter(torch.zeros_like(x), rows, sent, every, weights=w[order], reduction="add")
        return sent, back

    def by_argsort(torch, x, chosen, w):
        order = chosen.argsort(stable=True)
        rows = order // 2
        sent = x.index_select(0, rows)
        return sent, torch.zeros_like(x).index_add_(0, rows, sent * w[order][:, None])

    def by_jax(jax, x, chosen, w):
        order = jax.numpy.argsort(chosen, stable=True)
        rows = order // 2
        sent = x[rows]
        return sent, jax.numpy.zeros_like(x).at[rows].add(sent * w[order][:, None])

    given = tokens, chosen, weights
    return {
        OURS: on("torch", by_ours, *given),
        "PyTorch, argsort and index_add": on("torch", by_argsort, *given),
        "JAX": on("jax", by_jax, *given),
    }
