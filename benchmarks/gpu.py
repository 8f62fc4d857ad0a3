"""Time gatherscatter and the equivalent primitives of PyTorch, CuPy and JAX on a CUDA device.

    python benchmarks/gpu.py

prints a Markdown table for each library that is installed: milliseconds (microseconds for small calls) per call, the
minimum over several rounds, each of which times every call once. The device is synchronized before and after each call.
"Unchecked" is mode="promise_in_bounds" with wrap_negative_indices=False. The last column is the share of the device's
bandwidth that the checked call reaches: the bytes of its arguments and result, over its time, over what a copy moves.
"""

import time
from functools import partial

import gatherscatter as gs
import numpy as np

ROUNDS = 15
UNCHECKED = {"mode": "promise_in_bounds", "wrap_negative_indices": False}
rng = np.random.default_rng(0)


def timed(calls, synchronize, repeats):
    """The minimum time of each call over the rounds; every round runs each call once."""
    best = dict.fromkeys(calls, np.inf)
    for call in calls.values():
        call()
        call()
    for _ in range(ROUNDS):
        for name, call in calls.items():
            synchronize()
            start = time.perf_counter()
            for _ in range(repeats):
                call()
            synchronize()
            best[name] = min(best[name], (time.perf_counter() - start) / repeats)
    return best


def arrays():
    f4 = np.float32
    return {
        "a": rng.random((4096, 4096), f4),
        "pairs": rng.integers(0, 4096, (4_000_000, 2)),
        "rows": rng.random((1_000_000, 64), f4),
        "some_rows": rng.integers(0, 1_000_000, 500_000),
        "row_values": rng.random((500_000, 64), f4),
        "columns": rng.integers(0, 4096, (4096, 4096)),
        "flat": rng.random(16_000_000, f4),
        "places": rng.integers(0, 16_000_000, 4_000_000),
        "values": rng.random(4_000_000, f4),
        "bins": np.minimum(rng.zipf(1.2, 4_000_000), 1000) - 1,
        "few": rng.random(1000, f4),
        "nodes": rng.random((200_000, 64), f4),
        "targets": rng.integers(0, 200_000, 1_000_000),
        "square": rng.random((64, 64), f4),
        "ten": rng.integers(0, 64, 10),
        "ten_values": rng.random((10, 64), f4),
    }


# (name, our function, the keys of its arguments in `arrays`, options)
SCATTERS = [
    ("set: 4 M elements into 16 M", gs.scatter, ("flat", "places", "values"), {}),
    ("add: 4 M elements into 16 M", gs.scatter, ("flat", "places", "values"), {"reduction": "add"}),
    ("add: 4 M elements into 1000, power law", gs.scatter, ("few", "bins", "values"), {"reduction": "add"}),
    ("add: 500 k rows into (1 M, 64)", gs.scatter, ("rows", "some_rows", "row_values"), {"reduction": "add"}),
    ("max: 4 M elements into 16 M", gs.scatter, ("flat", "places", "values"), {"reduction": "max"}),
    ("mul: 4 M elements into 16 M", gs.scatter, ("flat", "places", "values"), {"reduction": "mul"}),
    ("mean: 1 M rows into (200 k, 64), include_self=False", gs.scatter, ("nodes", "targets", "rows"),
     {"reduction": "mean", "include_self": False}),
    ("max: 1 M rows into (200 k, 64), include_self=False", gs.scatter, ("nodes", "targets", "rows"),
     {"reduction": "max", "include_self": False}),
]  # fmt: skip
GATHERS = [
    ("gather_nd: 4 M elements of (4096, 4096)", gs.gather_nd, ("a", "pairs"), {}),
    ("gather: 500 k rows of (1 M, 64)", gs.gather, ("rows", "some_rows"), {}),
    ("gather_elements: axis 0 of (4096, 4096)", gs.gather_elements, ("a", "columns"), {}),
]
SMALL = [
    ("small gather: 10 rows of (64, 64)", gs.gather, ("square", "ten"), {}),
    ("small add: 10 rows into (64, 64)", gs.scatter, ("square", "ten", "ten_values"), {"reduction": "add"}),
]


def moved(keys, x):
    """Bytes: indices; of a gather what is read, and the result; of a scatter data, updates, and the result."""
    data, index, *updates = (x[key] for key in keys)
    if updates:
        return 2 * data.nbytes + index.nbytes + updates[0].nbytes
    n = index.shape[0] if keys[1] != "columns" else index.size
    row = 4 * (data.shape[1] if keys[1] in ("some_rows", "ten") else 1)
    return index.nbytes + 2 * n * row


def report(title, bandwidth, synchronize, rows):
    """rows: (name, bytes or None, the library's own call or None, our unchecked call or None, our call)."""
    print(f"\n{title}; a copy moves {bandwidth / 1e12:.2f} TB/s\n")
    print("| call | library's primitive | gatherscatter, unchecked | gatherscatter | share of bandwidth |")
    print("|---|--:|--:|--:|--:|")
    for name, n_bytes, *alternatives in rows:
        is_small = name.startswith("small")
        calls = dict(enumerate(call for call in alternatives if call is not None))
        best = iter(timed(calls, synchronize, 100 if is_small else 1).values())
        times = [None if call is None else next(best) for call in alternatives]
        unit = (1e6, " µs") if is_small else (1e3, "")
        cells = ["–" if t is None else f"{t * unit[0]:.2f}{unit[1]}" for t in times]
        share = "–" if n_bytes is None else f"{n_bytes / times[-1] / bandwidth:.0%}"
        print(f"| {name} | {' | '.join(cells)} | {share} |")


def common(found, x, theirs):
    """The rows that every library has. theirs: its primitives by the names of the calls."""
    for name, ours, keys, options in GATHERS + SCATTERS + SMALL:
        call = partial(ours, *(x[key] for key in keys), **options)
        yield name, moved(keys, found), theirs.get(name), partial(call, **UNCHECKED), call


def bandwidth_of(copy, n_bytes, synchronize):
    return 2 * n_bytes / timed({0: copy}, synchronize, 1)[0]


# PyTorch


def torch_rows(found, torch):
    x = {name: torch.from_numpy(array).cuda() for name, array in found.items()}
    a, flat, rows, nodes, targets = (x[key] for key in ("a", "flat", "rows", "nodes", "targets"))
    spread = targets[:, None].expand(-1, 64)
    places = x["places"], x["values"]
    mean, largest = (partial(nodes.scatter_reduce, 0, spread, rows, name, include_self=False)
                     for name in ("mean", "amax"))  # fmt: skip
    theirs = {
        GATHERS[0][0]: lambda: a[x["pairs"][:, 0], x["pairs"][:, 1]],
        GATHERS[1][0]: lambda: rows.index_select(0, x["some_rows"]),
        GATHERS[2][0]: lambda: a.gather(0, x["columns"]),
        SCATTERS[0][0]: lambda: flat.index_copy(0, *places),
        SCATTERS[1][0]: lambda: flat.index_add(0, *places),
        SCATTERS[2][0]: lambda: x["few"].index_add(0, x["bins"], x["values"]),
        SCATTERS[3][0]: lambda: rows.index_add(0, x["some_rows"], x["row_values"]),
        SCATTERS[4][0]: lambda: flat.scatter_reduce(0, *places, "amax"),
        SCATTERS[5][0]: lambda: flat.scatter_reduce(0, *places, "prod"),
        SCATTERS[6][0]: mean,
        SCATTERS[7][0]: largest,
        SMALL[0][0]: lambda: x["square"].index_select(0, x["ten"]),
        SMALL[1][0]: lambda: x["square"].index_add(0, x["ten"], x["ten_values"]),
    }
    yield from common(found, x, theirs)

    edges = rows.clone().requires_grad_()
    features = nodes.clone().requires_grad_()
    source = torch.randint(0, len(nodes), targets.shape, device="cuda")
    ours = partial(gs.scatter, nodes, targets, edges, include_self=False)

    def backward(call):
        def step():
            edges.grad = features.grad = None
            call().sum().backward()

        return step

    for name, reduction in (("mean", "mean"), ("max", "amax")):
        native = partial(nodes.scatter_reduce, 0, spread, edges, reduction, include_self=False)
        calls = partial(ours, reduction=name, **UNCHECKED), partial(ours, reduction=name)
        yield f"{name} of 1 M rows, with gradient", None, *map(backward, (native, *calls))

    def layer(table, **options):
        return gs.scatter(nodes, targets, gs.gather(table, source, **options), reduction="add", **options)

    def native_layer(table):
        return nodes.index_add(0, targets, table.index_select(0, source))

    each = native_layer, partial(layer, **UNCHECKED), layer
    yield "layer: gather and add, 1 M edges", None, *(partial(call, nodes) for call in each)
    yield (
        "layer: gather and add, 1 M edges, with gradient",
        None,
        *(backward(partial(call, features)) for call in each),
    )
    yield "small get: at(x)[ten]", None, lambda: x["square"][x["ten"]], None, lambda: gs.at(x["square"])[x["ten"]].get()

    def in_order(call):
        def run():
            torch.use_deterministic_algorithms(True)
            call()
            torch.use_deterministic_algorithms(False)

        return run

    add = partial(gs.scatter, rows, x["some_rows"], x["row_values"], reduction="add")
    each = (theirs[SCATTERS[3][0]], partial(add, **UNCHECKED), add)
    yield "add: 500 k rows into (1 M, 64), deterministic", None, *map(in_order, each)
    for name in ("add", "mean", "max", "var", "logsumexp"):
        call = partial(gs.segment_reduce, rows, targets, len(nodes), reduction=name, fill_value=0.0)
        yield f"segment_reduce: {name} of 1 M rows in 200 k segments", None, None, None, call


# CuPy


def cupy_rows(found, cupy):
    x = {name: cupy.asarray(array) for name, array in found.items()}

    def at(function, *keys):
        def call():
            table, index, values = (x[key] for key in keys)
            result = table.copy()
            function(result, index, values)

        return call

    yield from common(found, x, {
        GATHERS[0][0]: lambda: x["a"][x["pairs"][:, 0], x["pairs"][:, 1]],
        GATHERS[1][0]: lambda: cupy.take(x["rows"], x["some_rows"], axis=0),
        GATHERS[2][0]: lambda: cupy.take_along_axis(x["a"], x["columns"], 0),
        SCATTERS[0][0]: at(lambda r, w, v: r.__setitem__(w, v), "flat", "places", "values"),
        SCATTERS[1][0]: at(cupy.add.at, "flat", "places", "values"),
        SCATTERS[2][0]: at(cupy.add.at, "few", "bins", "values"),
        SCATTERS[3][0]: at(cupy.add.at, "rows", "some_rows", "row_values"),
        SCATTERS[4][0]: at(cupy.maximum.at, "flat", "places", "values"),
        SMALL[0][0]: lambda: cupy.take(x["square"], x["ten"], axis=0),
        SMALL[1][0]: at(cupy.add.at, "square", "ten", "ten_values"),
    })  # fmt: skip


# JAX


def jax_rows(found, jax):
    x = {name: jax.device_put(array, jax.devices("cuda")[0]) for name, array in found.items()}
    compiled = {
        GATHERS[0][0]: jax.jit(lambda a, p: a[p[:, 0], p[:, 1]]),
        GATHERS[1][0]: jax.jit(lambda a, i: a[i]),
        SCATTERS[0][0]: jax.jit(lambda a, i, u: a.at[i].set(u)),
        SCATTERS[1][0]: jax.jit(lambda a, i, u: a.at[i].add(u)),
        SCATTERS[3][0]: jax.jit(lambda a, i, u: a.at[i].add(u)),
        SCATTERS[4][0]: jax.jit(lambda a, i, u: a.at[i].max(u)),
    }
    for name, n_bytes, theirs, unchecked, ours in common(found, x, compiled):
        keys = next(keys for each, _, keys, _ in GATHERS + SCATTERS + SMALL if each == name)
        native = None if theirs is None else partial(theirs, *(x[key] for key in keys))
        calls = (None if call is None else waiting(jax, call) for call in (native, unchecked, ours))
        yield name, n_bytes, *calls


def waiting(jax, call):
    return lambda: jax.block_until_ready(call())


def main():
    found = arrays()
    n_bytes = found["rows"].nbytes
    try:
        import torch
    except ImportError:
        pass
    else:
        if torch.cuda.is_available():
            large = torch.empty(n_bytes, dtype=torch.uint8, device="cuda")
            title = f"PyTorch {torch.__version__} (CUDA {torch.version.cuda}), {torch.cuda.get_device_name()}"
            synchronize = torch.cuda.synchronize
            report(title, bandwidth_of(large.clone, n_bytes, synchronize), synchronize, torch_rows(found, torch))
            torch.cuda.empty_cache()
    try:
        import cupy
    except ImportError:
        pass
    else:
        large, synchronize = cupy.empty(n_bytes, cupy.uint8), cupy.cuda.Device().synchronize
        title = f"CuPy {cupy.__version__}, {cupy.cuda.runtime.getDeviceProperties(0)['name'].decode()}"
        report(title, bandwidth_of(large.copy, n_bytes, synchronize), synchronize, cupy_rows(found, cupy))
    try:
        import jax

        device = jax.devices("cuda")[0]
    except (ImportError, RuntimeError):
        return
    jax.config.update("jax_enable_x64", True)  # the indices have 64 bits
    large = jax.device_put(np.zeros(n_bytes, np.uint8), device)
    copy = waiting(jax, partial(jax.jit(lambda array: array + 1), large))
    report(f"JAX {jax.__version__}, {device.device_kind}", bandwidth_of(copy, n_bytes, int), int, jax_rows(found, jax))


if __name__ == "__main__":
    main()
