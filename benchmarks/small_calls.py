"""The overhead of small calls: on PyTorch's CPU tensors over the primitive, and of gs.onnx, gs.openvino and
gs.tensorflow over the functions of gatherscatter itself.

    python benchmarks/small_calls.py

prints microseconds per call on one thread, the minimum over many rounds.
"""

import time

import gatherscatter as gs
import numpy as np
import torch

N, ROUNDS = 2000, 40


def least(calls):
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(ROUNDS):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(N):
                call()
            best[name] = min(best[name], (time.perf_counter() - start) / N * 1e6)
    return best


def dialects():
    rng = np.random.default_rng(0)
    square, pairs = rng.random((8, 8), np.float32), rng.integers(0, 8, (10, 2))
    rows, ten = rng.integers(0, 8, 10), rng.random(10, np.float32)
    tf = gs.tensorflow
    workloads = {
        "tensorflow.gather_nd": (lambda: tf.gather_nd(square, pairs), lambda: gs.gather_nd(square, pairs)),
        "tensorflow.gather": (lambda: tf.gather(square, rows), lambda: gs.gather(square, rows)),
        "tensorflow.scatter_nd": (
            lambda: tf.scatter_nd(pairs, ten, (8, 8)),
            lambda: gs.scatter_nd(np.zeros((8, 8), np.float32), pairs, ten, reduction="add"),
        ),
        "tensorflow.tensor_scatter_nd_add": (
            lambda: tf.tensor_scatter_nd_add(square, pairs, ten),
            lambda: gs.scatter_nd(square, pairs, ten, reduction="add"),
        ),
        "tensorflow.tensor_scatter_nd_sub": (
            lambda: tf.tensor_scatter_nd_sub(square, pairs, ten),
            lambda: gs.scatter_nd(square, pairs, -ten, reduction="add"),
        ),
        "onnx.gather_nd": (lambda: gs.onnx.gather_nd(square, pairs), lambda: gs.gather_nd(square, pairs)),
        "openvino.gather_nd": (lambda: gs.openvino.gather_nd(square, pairs), lambda: gs.gather_nd(square, pairs)),
    }
    print(f"\nNumPy {np.__version__}\n\n| call | dialect, µs | core, µs |\n|---|--:|--:|")
    for name, (dialect, core) in workloads.items():
        best = least({"dialect": dialect, "core": core})
        print(f"| {name}, 10 of (8, 8) | {best['dialect']:.2f} | {best['core']:.2f} |")


def main():
    torch.set_num_threads(1)
    square, columns = torch.rand(8, 8), torch.randint(0, 8, (8, 8))
    pairs, rows = torch.randint(0, 8, (10, 2)), torch.randint(0, 8, (10,))
    values, ten = torch.rand(10, 8), torch.rand(10)
    workloads = {
        "gather_elements, (8, 8)": (
            lambda: square.gather(1, columns),
            lambda: gs.gather_elements(square, columns, axis=1),
        ),
        "gather, 10 rows of (8, 8)": (lambda: square.index_select(0, rows), lambda: gs.gather(square, rows)),
        "gather_nd, 10 pairs of (8, 8)": (
            lambda: square[pairs[:, 0], pairs[:, 1]],
            lambda: gs.gather_nd(square, pairs),
        ),
        "scatter add, 10 rows of (8, 8)": (
            lambda: square.index_add(0, rows, values),
            lambda: gs.scatter(square, rows, values, reduction="add"),
        ),
        "scatter none, 10 rows of (8, 8)": (
            lambda: square.index_copy(0, rows, values),
            lambda: gs.scatter(square, rows, values),
        ),
        "scatter_nd none, 10 pairs of (8, 8)": (
            lambda: square.index_put((pairs[:, 0], pairs[:, 1]), ten),
            lambda: gs.scatter_nd(square, pairs, ten),
        ),
        "scatter_elements max, (8, 8)": (
            lambda: square.scatter_reduce(1, columns, square, "amax"),
            lambda: gs.scatter_elements(square, columns, square, axis=1, reduction="max"),
        ),
    }
    print(
        f"PyTorch {torch.__version__}\n\n"
        "| call | PyTorch's primitive, µs | gatherscatter, µs | difference |\n|---|--:|--:|--:|"
    )
    for name, (theirs, ours) in workloads.items():
        best = least({"theirs": theirs, "ours": ours})
        print(f"| {name} | {best['theirs']:.2f} | {best['ours']:.2f} | {best['ours'] - best['theirs']:+.2f} |")
    dialects()


if __name__ == "__main__":
    main()
