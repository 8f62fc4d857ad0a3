"""Time gatherscatter and the equivalent primitives of PyTorch and CuPy on a CUDA device.

    python benchmarks/gpu.py

prints Markdown tables: milliseconds per call, the minimum over several rounds, each of which times every call once. The
device is synchronized before and after each call. "No check" is mode="promise_in_bounds".
"""

import time

import gatherscatter as gs
import numpy as np

ROUNDS = 15
rng = np.random.default_rng(0)


def timed(calls, synchronize):
    """The minimum time of each call over the rounds; every round runs each call once."""
    best = dict.fromkeys(calls, np.inf)
    for call in calls.values():
        call()
        call()
    for _ in range(ROUNDS):
        for name, call in calls.items():
            synchronize()
            start = time.perf_counter()
            call()
            synchronize()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def arrays():
    f4 = np.float32
    return {
        "a": rng.random((4096, 4096), f4),
        "pairs": rng.integers(0, 4096, (4_000_000, 2)),
        "rows": rng.random((1_000_000, 64), f4),
        "some_rows": rng.integers(0, 1_000_000, 500_000),
        "columns": rng.integers(0, 4096, (4096, 4096)),
        "flat": rng.random(16_000_000, f4),
        "places": rng.integers(0, 16_000_000, 4_000_000),
        "values": rng.random(4_000_000, f4),
        "row_values": rng.random((500_000, 64), f4),
        "bins": np.minimum(rng.zipf(1.2, 4_000_000), 1000) - 1,
    }


def workloads(xp_functions, x):
    """(name, what the library has, what ours does) for each."""
    f = xp_functions
    a, flat, rows = x["a"], x["flat"], x["rows"]
    return [
        ("gather_nd: 4 M elements of (4096, 4096)", f["index"], lambda **m: gs.gather_nd(a, x["pairs"], **m)),
        ("gather: 500 k rows of (1 M, 64)", f["take"], lambda **m: gs.gather(rows, x["some_rows"], **m)),
        ("gather_elements: axis 0 of (4096, 4096)", f["along"],
         lambda **m: gs.gather_elements(a, x["columns"], axis=0, **m)),
        ("scatter none: 4 M elements into 16 M", f["set"], lambda **m: gs.scatter(flat, x["places"], x["values"], **m)),
        ("scatter add: 4 M elements into 16 M", f["add"],
         lambda **m: gs.scatter(flat, x["places"], x["values"], reduction="add", **m)),
        ("scatter add: 500 k rows into (1 M, 64)", f["add rows"],
         lambda **m: gs.scatter(rows, x["some_rows"], x["row_values"], reduction="add", **m)),
        ("scatter add: 4 M elements into 1000, power law", f["histogram"],
         lambda **m: gs.scatter(flat[:1000], x["bins"], x["values"], reduction="add", **m)),
        ("scatter max: 4 M elements into 16 M", f["max"],
         lambda **m: gs.scatter(flat, x["places"], x["values"], reduction="max", **m)),
        ("scatter mul: 4 M elements into 16 M", f["mul"],
         lambda **m: gs.scatter(flat, x["places"], x["values"], reduction="mul", **m)),
    ]  # fmt: skip


def torch_functions(x):
    flat, rows = x["flat"], x["rows"]

    def reduced(name):
        return lambda: flat.scatter_reduce(0, x["places"], x["values"], name)

    return {
        "index": lambda: x["a"][x["pairs"][:, 0], x["pairs"][:, 1]],
        "take": lambda: rows.index_select(0, x["some_rows"]),
        "along": lambda: x["a"].gather(0, x["columns"]),
        "set": lambda: flat.index_copy(0, x["places"], x["values"]),
        "add": lambda: flat.index_add(0, x["places"], x["values"]),
        "add rows": lambda: rows.index_add(0, x["some_rows"], x["row_values"]),
        "histogram": lambda: flat[:1000].index_add(0, x["bins"], x["values"]),
        "max": reduced("amax"),
        "mul": reduced("prod"),
    }


def cupy_functions(x):
    import cupy

    flat, rows = x["flat"], x["rows"]

    def at(function, table, where, values):
        def call():
            result = table.copy()
            function(result, where, values)
            return result

        return call

    return {
        "index": lambda: x["a"][x["pairs"][:, 0], x["pairs"][:, 1]],
        "take": lambda: cupy.take(rows, x["some_rows"], axis=0),
        "along": lambda: cupy.take_along_axis(x["a"], x["columns"], 0),
        "set": at(lambda r, w, v: r.__setitem__(w, v), flat, x["places"], x["values"]),
        "add": at(cupy.add.at, flat, x["places"], x["values"]),
        "add rows": at(cupy.add.at, rows, x["some_rows"], x["row_values"]),
        "histogram": at(cupy.add.at, flat[:1000], x["bins"], x["values"]),
        "max": at(cupy.maximum.at, flat, x["places"], x["values"]),
        "mul": None,
    }


def report(library, device, functions, x, synchronize):
    print(f"\n{library}, {device}\n")
    print("| workload | library's primitive | gatherscatter, no check | gatherscatter |")
    print("|---|--:|--:|--:|")
    for name, theirs, ours in workloads(functions, x):
        calls = {"ours": lambda ours=ours: ours(mode="promise_in_bounds"), "checked": ours}
        if theirs is not None:
            calls["theirs"] = theirs
        best = timed(calls, synchronize)
        their_time = f"{best['theirs'] * 1e3:.2f}" if theirs is not None else "–"
        print(f"| {name} | {their_time} | {best['ours'] * 1e3:.2f} | {best['checked'] * 1e3:.2f} |")


def main():
    found = arrays()
    try:
        import torch
    except ImportError:
        pass
    else:
        if torch.cuda.is_available():
            x = {name: torch.from_numpy(array).cuda() for name, array in found.items()}
            name = torch.cuda.get_device_name()
            library = f"PyTorch {torch.__version__} (CUDA {torch.version.cuda})"
            report(library, name, torch_functions(x), x, torch.cuda.synchronize)
            del x
            torch.cuda.empty_cache()
    try:
        import cupy
    except ImportError:
        return
    x = {name: cupy.asarray(array) for name, array in found.items()}
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    report(f"CuPy {cupy.__version__}", name, cupy_functions(x), x, cupy.cuda.Device().synchronize)


if __name__ == "__main__":
    main()
