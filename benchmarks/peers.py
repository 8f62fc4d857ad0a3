"""Time gatherscatter beside NumPy and PyTorch on the same arrays, in the same run.

    pip install '.[peers]'
    python benchmarks/peers.py [--rounds N] [--threads N] [WORKLOAD ...]

Every system computes into a result of its own. The systems take turns within each round, so that a machine that
slows down slows all of them; times are minima and medians over the rounds, and only the ratios count. Before a
workload is timed, all results are compared.
"""

import argparse
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import gatherscatter as gs
import numpy as np
import torch

Calls = dict[str, Callable[[], object]]


@dataclass(frozen=True)
class Workload:
    description: str
    calls: Callable[[np.random.Generator], Calls]
    repeat: int = 1  # calls per timing, for what is too short to time alone


WORKLOADS: dict[str, Workload] = {}


def workload(name: str, description: str, repeat: int = 1):
    def register(calls):
        WORKLOADS[name] = Workload(description, calls, repeat)
        return calls

    return register


@workload("W1", "gather_nd: 4 M elements of float32 (4096, 4096), int64 (4 M, 2)")
def w1(rng):
    data = rng.random((4096, 4096), dtype=np.float32)
    indices = rng.integers(0, 4096, (4_000_000, 2))
    t_data, t_indices = torch.from_numpy(data), torch.from_numpy(indices)
    return {
        "gatherscatter": lambda: gs.gather_nd(data, indices),
        "NumPy": lambda: data[indices[:, 0], indices[:, 1]],
        "PyTorch": lambda: t_data[t_indices[:, 0], t_indices[:, 1]],
    }


@workload("W2", "gather_nd: 500 k rows of float32 (1 M, 64), int64 (500 k, 1)")
def w2(rng):
    data = rng.random((1_000_000, 64), dtype=np.float32)
    indices = rng.integers(0, 1_000_000, (500_000, 1))
    t_data, t_indices = torch.from_numpy(data), torch.from_numpy(indices)
    return {
        "gatherscatter": lambda: gs.gather_nd(data, indices),
        "NumPy": lambda: data.take(indices[:, 0], axis=0),
        "PyTorch": lambda: t_data.index_select(0, t_indices[:, 0]),
    }


@workload("W3", "gather_nd, batch_dims=1: float32 (64, 4096, 128), int64 (64, 2048, 1)")
def w3(rng):
    data = rng.random((64, 4096, 128), dtype=np.float32)
    indices = rng.integers(0, 4096, (64, 2048, 1))
    t_data, t_indices = torch.from_numpy(data), torch.from_numpy(indices)
    batch, t_batch = np.arange(64)[:, None], torch.arange(64)[:, None]
    return {
        "gatherscatter": lambda: gs.gather_nd(data, indices, batch_dims=1),
        "NumPy": lambda: data[batch, indices[..., 0]],
        "PyTorch": lambda: t_data[t_batch, t_indices[..., 0]],
    }


@workload("W4", "gather_elements, axis=1: float32 (4096, 4096), int64 (4096, 4096)")
def w4(rng):
    data = rng.random((4096, 4096), dtype=np.float32)
    indices = rng.integers(0, 4096, (4096, 4096))
    t_data, t_indices = torch.from_numpy(data), torch.from_numpy(indices)
    return {
        "gatherscatter": lambda: gs.gather_elements(data, indices, axis=1),
        "NumPy": lambda: np.take_along_axis(data, indices, axis=1),
        "PyTorch": lambda: torch.gather(t_data, 1, t_indices),
    }


@workload("W5", "gather_elements, axis=0: float32 (4096, 4096), int64 (4096, 4096)")
def w5(rng):
    data = rng.random((4096, 4096), dtype=np.float32)
    indices = rng.integers(0, 4096, (4096, 4096))
    t_data, t_indices = torch.from_numpy(data), torch.from_numpy(indices)
    return {
        "gatherscatter": lambda: gs.gather_elements(data, indices, axis=0),
        "NumPy": lambda: np.take_along_axis(data, indices, axis=0),
        "PyTorch": lambda: torch.gather(t_data, 0, t_indices),
    }


def scatter_elements_of_16_m(rng, reduction, numpy_at, torch_reduce):
    """4 M updates into 16 M elements, duplicates included."""
    data = rng.random(16_000_000, dtype=np.float32)
    # Whole numbers add up to the same in any order, so that every system can be compared.
    data = np.floor(data * 8)
    indices = rng.integers(0, 16_000_000, (4_000_000, 1))
    updates = np.floor(rng.random(4_000_000, dtype=np.float32) * 8)
    if reduction == "none":  # which of several updates wins is unspecified elsewhere
        updates = indices[:, 0].astype(np.float32)
    t_data, t_indices, t_updates = map(torch.from_numpy, (data, indices, updates))

    def in_numpy():
        result = data.copy()
        if numpy_at is None:
            result[indices[:, 0]] = updates
        else:
            numpy_at(result, indices[:, 0], updates)
        return result

    return {
        "gatherscatter": lambda: gs.scatter_nd(data, indices, updates, reduction=reduction),
        "NumPy": in_numpy,
        "PyTorch": lambda: torch_reduce(t_data, t_indices[:, 0], t_updates),
    }


@workload("W6", "scatter_nd none: 4 M elements into float32 (16 M,), int64 (4 M, 1)")
def w6(rng):
    return scatter_elements_of_16_m(rng, "none", None, lambda d, i, u: d.scatter(0, i, u))


@workload("W7", "scatter_nd add: 4 M elements into float32 (16 M,), int64 (4 M, 1)")
def w7(rng):
    return scatter_elements_of_16_m(rng, "add", np.add.at, lambda d, i, u: d.index_add(0, i, u))


@workload("W8", "scatter_nd max: 4 M elements into float32 (16 M,), int64 (4 M, 1)")
def w8(rng):
    return scatter_elements_of_16_m(rng, "max", np.maximum.at, lambda d, i, u: d.scatter_reduce(0, i, u, reduce="amax"))


@workload("W9", "scatter_nd none: 500 k distinct rows into float32 (1 M, 64), int64 (500 k, 1)")
def w9(rng):
    data = rng.random((1_000_000, 64), dtype=np.float32)
    indices = rng.permutation(1_000_000)[:500_000, None].copy()
    updates = rng.random((500_000, 64), dtype=np.float32)
    t_data, t_indices, t_updates = map(torch.from_numpy, (data, indices, updates))

    def in_numpy():
        result = data.copy()
        result[indices[:, 0]] = updates
        return result

    return {
        "gatherscatter": lambda: gs.scatter_nd(data, indices, updates),
        "NumPy": in_numpy,
        "PyTorch": lambda: t_data.index_copy(0, t_indices[:, 0], t_updates),
    }


@workload("W10", "scatter_nd add: 500 k rows into float32 (1 M, 64), int64 (500 k, 1), duplicates")
def w10(rng):
    data = np.floor(rng.random((1_000_000, 64), dtype=np.float32) * 8)
    indices = rng.integers(0, 1_000_000, (500_000, 1))
    updates = np.floor(rng.random((500_000, 64), dtype=np.float32) * 8)
    t_data, t_indices, t_updates = map(torch.from_numpy, (data, indices, updates))

    def in_numpy():
        result = data.copy()
        np.add.at(result, indices[:, 0], updates)
        return result

    return {
        "gatherscatter": lambda: gs.scatter_nd(data, indices, updates, reduction="add"),
        "NumPy": in_numpy,
        "PyTorch": lambda: t_data.index_add(0, t_indices[:, 0], t_updates),
    }


def scatter_elements_of_a_matrix(rng, reduction):
    data = np.floor(rng.random((4096, 4096), dtype=np.float32) * 8)
    indices = rng.integers(0, 4096, (4096, 4096))
    updates = np.floor(rng.random((4096, 4096), dtype=np.float32) * 8)
    if reduction == "none":
        updates = indices.astype(np.float32)
    t_data, t_indices, t_updates = map(torch.from_numpy, (data, indices, updates))
    rows = np.arange(4096)[:, None]

    def in_numpy():
        result = data.copy()
        if reduction == "none":
            np.put_along_axis(result, indices, updates, axis=1)
        else:
            np.add.at(result, (rows, indices), updates)
        return result

    def in_torch():
        if reduction == "none":
            return t_data.scatter(1, t_indices, t_updates)
        return t_data.scatter_add(1, t_indices, t_updates)

    return {
        "gatherscatter": lambda: gs.scatter_elements(data, indices, updates, axis=1, reduction=reduction),
        "NumPy": in_numpy,
        "PyTorch": in_torch,
    }


@workload("W11", "scatter_elements none, axis=1: float32 (4096, 4096), int64 (4096, 4096)")
def w11(rng):
    return scatter_elements_of_a_matrix(rng, "none")


@workload("W12", "scatter_elements add, axis=1: float32 (4096, 4096), int64 (4096, 4096)")
def w12(rng):
    return scatter_elements_of_a_matrix(rng, "add")


@workload("W13", "one small call: gather_nd, 10 tuples of float32 (8, 8)", repeat=20_000)
def w13(rng):
    data = rng.random((8, 8), dtype=np.float32)
    i = rng.integers(0, 8, (10, 2))
    t_data, t_i = torch.from_numpy(data), torch.from_numpy(i)
    return {
        "gatherscatter": lambda: gs.gather_nd(data, i),
        "NumPy": lambda: data[i[:, 0], i[:, 1]],
        "PyTorch": lambda: t_data[t_i[:, 0], t_i[:, 1]],
    }


@workload("W14", "one small call: gather_elements, axis=1, float32 (8, 8)", repeat=20_000)
def w14(rng):
    data = rng.random((8, 8), dtype=np.float32)
    i = rng.integers(0, 8, (8, 8))
    t_data, t_i = torch.from_numpy(data), torch.from_numpy(i)
    return {
        "gatherscatter": lambda: gs.gather_elements(data, i, axis=1),
        "NumPy": lambda: np.take_along_axis(data, i, axis=1),
        "PyTorch": lambda: torch.gather(t_data, 1, t_i),
    }


def measure(work: Workload, rounds: int) -> dict[str, list[float]]:
    """Seconds per call, system by system, after checking that all of them agree."""
    calls = work.calls(np.random.default_rng(0))
    expected = np.asarray(calls["NumPy"]())
    for system, call in calls.items():
        if not np.array_equal(np.asarray(call()), expected):
            raise SystemExit(f"{system} gives another result than NumPy")
    times: dict[str, list[float]] = {system: [] for system in calls}
    for _ in range(rounds):
        for system, call in calls.items():
            start = time.perf_counter()
            for _ in range(work.repeat):
                call()
            times[system].append((time.perf_counter() - start) / work.repeat)
    return times


def duration(seconds: float) -> str:
    return f"{seconds * 1e3:8.2f} ms" if seconds > 1e-4 else f"{seconds * 1e6:8.3f} us"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=f"of {', '.join(WORKLOADS)}; default all")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=gs.get_num_threads())
    options = parser.parse_args()
    if unknown := set(options.workloads) - set(WORKLOADS):
        parser.error(f"no workload named {', '.join(sorted(unknown))}")

    gs.set_num_threads(options.threads)
    torch.set_num_threads(options.threads)
    print(
        f"gatherscatter {gs.__version__}, NumPy {np.__version__}, PyTorch {torch.__version__}, "
        f"Python {platform.python_version()}, {options.threads} threads, {options.rounds} rounds"
    )
    for name in options.workloads or WORKLOADS:
        work = WORKLOADS[name]
        times = measure(work, options.rounds)
        ours = times["gatherscatter"]
        print(f"\n{name}: {work.description}")
        for system, taken in times.items():
            ratio = min(taken) / min(ours)
            print(
                f"  {system:14} min {duration(min(taken))}   median {duration(statistics.median(taken))}"
                f"   {ratio:6.2f} x gatherscatter's minimum"
            )


if __name__ == "__main__":
    main()
