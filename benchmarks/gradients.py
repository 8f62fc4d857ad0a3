"""Gradients and JAX arrays: training steps and calls with gatherscatter and with PyTorch's and JAX's own functions.

    python benchmarks/gradients.py [--write FOLDER]

Milliseconds (microseconds for small calls), the minimum over many rounds, each of which runs every alternative.
"""

import argparse
import os
import time
from pathlib import Path

import gatherscatter as gs
import numpy as np
from measure import about, paragraph, show

SIZES = ((200_000, 1_000_000, 64), (100_000, 500_000, 32), (10_000, 200_000, 64))
ROUNDS = 9


def least(calls, rounds, repeats=1):
    """The minimum time of each call in seconds. Each round runs every call."""
    best = dict.fromkeys(calls, float("inf"))
    for call in calls.values():
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(repeats):
                call()
            best[name] = min(best[name], (time.perf_counter() - start) / repeats)
    return best


def table(head, rows, unit):
    """A Markdown table of the rows (name, our time, {alternative: its time}), with the speedup over the fastest."""
    others = list(rows[0][2])
    lines = [f"| {head} | speedup | gatherscatter, {unit} | " + " | ".join(f"{name}, {unit}" for name in others) + " |"]
    lines.append("|---|" + "--:|" * (len(others) + 2))
    scale = {"ms": 1e3, "µs": 1e6}[unit]
    for name, ours, times in rows:
        shown = " | ".join(f"{time * scale:.1f}" for time in times.values())
        lines.append(f"| {name} | {min(times.values()) / ours:.2f} | {ours * scale:.1f} | {shown} |")
    return lines


# PyTorch


def training_steps(torch):
    """Forward and backward: the features of each edge's source, combined at its target, squared and added up."""
    rows = []
    for nodes, edges, features in SIZES:
        generator = torch.Generator().manual_seed(0)
        x = torch.randn(nodes, features, generator=generator, requires_grad=True)
        source, target = torch.randint(0, nodes, (2, edges), generator=generator)
        at = target[:, None].expand(-1, features)

        def step(forward, x=x):
            result = forward()
            (slope,) = torch.autograd.grad((result * result).sum(), x)
            return slope

        def zeros(nodes=nodes, features=features):
            return torch.zeros(nodes, features)

        for reduction, theirs in (
            ("add", lambda x=x, s=source, t=target, z=zeros: z().index_add_(0, t, x.index_select(0, s))),
            ("mean", lambda x=x, s=source, t=target, z=zeros: z().index_reduce(
                0, t, x.index_select(0, s), "mean", include_self=False)),
            ("max", lambda x=x, s=source, a=at, z=zeros: z().scatter_reduce(
                0, a, x.index_select(0, s), "amax", include_self=False)),
        ):  # fmt: skip
            own = {"add": True, "mean": False, "max": False}[reduction]

            def one_call(x=x, s=source, t=target, z=zeros, r=reduction, own=own):
                return gs.gather_scatter(z(), t, x, s, reduction=r, include_self=own)

            def two_calls(x=x, s=source, t=target, z=zeros, r=reduction, own=own):
                return gs.scatter(z(), t, gs.gather(x, s), reduction=r, include_self=own)

            ways = {"theirs": theirs, "gather and scatter": two_calls}
            if reduction != "max":  # whose gradient takes the same steps in both ways
                ways["gather_scatter"] = one_call
            for way in list(ways)[1:]:
                torch.testing.assert_close(step(ways[way]), step(theirs), rtol=1e-3, atol=1e-3)
            rounds = ROUNDS if reduction == "add" else 3
            best = least({way: lambda f=forward: step(f) for way, forward in ways.items()}, rounds)
            size = f"{nodes // 1000} k nodes, {edges // 1000} k edges, {features} features"
            rows += [
                (f"{reduction}, {way}: {size}", best[way], {"PyTorch": best["theirs"]}) for way in list(ways)[:0:-1]
            ]
    order = ("add", "mean", "max")
    return sorted(rows, key=lambda row: order.index(row[0].partition(",")[0]))


def assignments(torch):
    """Forward and backward of assignments to distinct destinations, for which PyTorch's gradients are right too."""
    generator = torch.Generator().manual_seed(0)

    def numbers(*shape):
        return torch.randn(shape, generator=generator, requires_grad=True)

    def order(n):
        return torch.randperm(n, generator=generator)

    columns = torch.argsort(torch.rand(2000, 1000, generator=generator), dim=1)
    cases = {
        "scatter: 100 k rows of 64 into 200 k": (
            numbers(200_000, 64), numbers(100_000, 64), order(200_000)[:100_000],
            gs.scatter, lambda x, i, u: x.index_copy(0, i, u)),
        "scatter: 1 M elements into 4 M": (
            numbers(4_000_000), numbers(1_000_000), order(4_000_000)[:1_000_000],
            gs.scatter, lambda x, i, u: x.index_copy(0, i, u)),
        "scatter_elements: a permutation of each row of (2000, 1000)": (
            numbers(2000, 1000), numbers(2000, 1000), columns,
            lambda x, i, u: gs.scatter_elements(x, i, u, axis=1), lambda x, i, u: x.scatter(1, i, u)),
    }  # fmt: skip
    rows = []
    for name, (data, updates, indices, ours, theirs) in cases.items():
        slope = torch.randn(data.shape, generator=generator)

        def step(forward, x=data, u=updates, i=indices, slope=slope):
            return torch.autograd.grad(forward(x, i, u), (x, u), slope)

        for one, other in zip(step(ours), step(theirs), strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=0)
        best = least({way: lambda f=f, step=step: step(f) for way, f in (("ours", ours), ("theirs", theirs))}, ROUNDS)
        rows.append((name, best["ours"], {"PyTorch": best["theirs"]}))
    return rows


def small_calls(torch):
    """Forward and backward of ten rows."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)  # OpenMP's too, so the kernels'
    x, u = torch.randn(1000, 16, requires_grad=True), torch.randn(10, 16, requires_grad=True)
    rows, slopes, zeros = torch.randint(0, 1000, (10,)), torch.randn(1000, 16), torch.zeros(1000, 16)
    elements = rows[:, None].expand(10, 16).contiguous()
    pairs = torch.randint(0, 16, (10, 2))

    def grad(result, leaf):
        return torch.autograd.grad(
            result, leaf, slopes[: len(result)] if result.ndim == 2 else slopes[0, : len(result)]
        )

    calls = {
        "gather": (lambda: gs.gather(x, rows), lambda: x.index_select(0, rows), x),
        "gather_elements": (lambda: gs.gather_elements(x, elements), lambda: x.gather(0, elements), x),
        "gather_nd": (lambda: gs.gather_nd(x, pairs), lambda: x[pairs[:, 0], pairs[:, 1]], x),
        "scatter, add": (
            lambda: gs.scatter(zeros, rows, u, reduction="add"), lambda: zeros.index_add(0, rows, u), u),
        "scatter, none": (lambda: gs.scatter(zeros, rows, u), lambda: zeros.index_copy(0, rows, u), u),
        "scatter_elements, add": (
            lambda: gs.scatter_elements(zeros, elements, u, reduction="add"),
            lambda: zeros.scatter_add(0, elements, u), u),
        "scatter_elements, max": (
            lambda: gs.scatter_elements(zeros, elements, u, reduction="max"),
            lambda: zeros.scatter_reduce(0, elements, u, "amax"), u),
    }  # fmt: skip
    found = []
    for name, (ours, theirs, leaf) in calls.items():
        ways = {
            "ours": lambda f=ours, leaf=leaf: grad(f(), leaf),
            "theirs": lambda f=theirs, leaf=leaf: grad(f(), leaf),
        }
        best = least(ways, 30, 300)
        found.append((f"{name}: 10 rows of (1000, 16)", best["ours"], {"PyTorch": best["theirs"]}))
    torch.set_num_threads(n_threads)
    return found


# JAX


def on_jax(jax):
    """Eager calls on JAX arrays, and a training step, beside XLA's."""
    jnp, rng = jax.numpy, np.random.default_rng(0)
    ready = jax.block_until_ready
    flat, places = jnp.asarray(rng.random(16_000_000, np.float32)), rng.integers(0, 16_000_000, 4_000_000, np.int32)
    places, values = jnp.asarray(places), jnp.asarray(rng.random(4_000_000, np.float32))
    square, pairs = (
        jnp.asarray(rng.random((4096, 4096), np.float32)),
        jnp.asarray(rng.integers(0, 4096, (4_000_000, 2), np.int32)),
    )
    first, second = ready((pairs[:, 0].copy(), pairs[:, 1].copy()))

    def add(data, i, u):
        return data.at[i].add(u)

    def take(data, i, j):
        return data[i, j]

    cases = {
        "gather 4 M elements: gather_nd of (4096, 4096)": (
            lambda: gs.gather_nd(square, pairs), lambda f: f(square, first, second), take),
        "add 4 M elements: scatter add into 16 M": (
            lambda: gs.scatter(flat, places, values, reduction="add"), lambda f: f(flat, places, values), add),
    }  # fmt: skip
    rows = []
    for name, (ours, call, theirs) in cases.items():
        jitted = jax.jit(theirs)
        best = least(
            {
                "ours": lambda f=ours: ready(f()),
                "eager": lambda c=call, f=theirs: ready(c(f)),
                "compiled": lambda c=call, f=jitted: ready(c(f)),
            },
            ROUNDS,
        )
        rows.append((name, best["ours"], {"XLA, eager": best["eager"], "XLA, compiled": best["compiled"]}))
    rows.append(jax_gradient(jax))
    return rows


def callbacks(jax):
    """Compiled programs: XLA's operations, and a callback to the kernels instead."""
    jnp, rng = jax.numpy, np.random.default_rng(0)
    ready = jax.block_until_ready
    flat, values = jnp.asarray(rng.random(16_000_000, np.float32)), jnp.asarray(rng.random(4_000_000, np.float32))
    places = jnp.asarray(rng.integers(0, 16_000_000, 4_000_000, np.int32))

    def by_kernels(*arrays):
        data, i, u = map(np.asarray, arrays)
        return gs.scatter(data, i, u, reduction="add")

    xla = jax.jit(lambda data, i, u: data.at[i].add(u))
    callback = jax.jit(lambda data, i, u: jax.pure_callback(by_kernels, jax.typeof(data), data, i, u))
    ours = jax.jit(lambda data, i, u: gs.scatter(data, i, u, reduction="add", mode="drop"))
    best = least(
        {
            "ours": lambda: ready(ours(flat, places, values)),
            "XLA": lambda: ready(xla(flat, places, values)),
            "callback": lambda: ready(callback(flat, places, values)),
        },
        ROUNDS,
    )
    name = "add 4 M elements: scatter add into 16 M"
    return [(name, best["ours"], {"XLA": best["XLA"], "callback to the kernels": best["callback"]})]


def jax_gradient(jax):
    """A training step, outside of compiled programs and in one."""
    jnp, rng = jax.numpy, np.random.default_rng(0)
    ready = jax.block_until_ready
    nodes, edges, features = SIZES[1]
    x = jnp.asarray(rng.standard_normal((nodes, features), np.float32))
    source, target = jnp.asarray(rng.integers(0, nodes, (2, edges), np.int32))
    zeros = jnp.zeros_like(x)

    def our_loss(x):
        result = gs.scatter(zeros, target, gs.gather(x, source), reduction="add")
        return (result * result).sum()

    def their_loss(x):
        result = zeros.at[target].add(x[source])
        return (result * result).sum()

    slope = jax.jit(jax.grad(their_loss))
    best = least(
        {
            "ours": lambda: ready(jax.grad(our_loss)(x)),
            "eager": lambda: ready(jax.grad(their_loss)(x)),
            "compiled": lambda: ready(slope(x)),
        },
        ROUNDS,
    )
    name = f"gradient of gather and scatter add: {nodes // 1000} k nodes, {edges // 1000} k edges, {features} features"
    return name, best["ours"], {"XLA, eager": best["eager"], "XLA, compiled": best["compiled"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, help="the folder for gradients.md")
    given = parser.parse_args()
    import torch

    torch.set_num_threads(gs.get_num_threads())
    sections = [
        ("Training steps in PyTorch", "gather, scatter and square, forward and backward", training_steps(torch), "ms"),
        ("Assignments in PyTorch", "forward and backward, distinct destinations", assignments(torch), "ms"),
        ("Small calls with gradients in PyTorch", "forward and backward, one thread", small_calls(torch), "µs"),
    ]
    import jax

    jax.config.update("jax_platforms", "cpu")
    sections.append(("JAX", "JAX arrays on the CPU, gatherscatter outside of `jit`", on_jax(jax), "ms"))
    sections.append(("Callbacks in compiled programs", "inside `jax.jit`", callbacks(jax), "ms"))
    versions = about(["gatherscatter", "numpy", "torch", "jax"], f"{gs.get_num_threads()} threads")
    lines = [paragraph(versions)]
    for title, detail, rows, unit in sections:
        lines += ["", f"**{title}**", "", *table(detail, rows, unit)]
    show("\n".join(lines) + "\n", given.write, "gradients")


if __name__ == "__main__":
    os.environ.setdefault("OMP_DYNAMIC", "false")  # other processes are noise here, which the turns share
    main()
