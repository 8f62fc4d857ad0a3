"""Uses that must not type-check. A line that does is an unused `type: ignore`, which is an error. Never run."""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

import gatherscatter as gs
import jax
import numpy as np
import torch
from gatherscatter import torch_scatter as gts
from numpy.typing import NDArray

F8 = NDArray[np.float64]
I8 = NDArray[np.int64]


def indices(f8: F8, i8: I8, yes: NDArray[np.bool], t: torch.Tensor, halves: list[float]) -> None:
    gs.gather(f8, f8)  # type: ignore[arg-type]
    gs.gather(i8, f8)  # type: ignore[arg-type]
    gs.gather(f8, yes)  # type: ignore[arg-type]
    gs.gather(f8, [0.5])  # type: ignore[arg-type]
    gs.gather(f8, halves)  # type: ignore[arg-type]
    gs.gather(f8, "12")  # type: ignore[arg-type]
    gs.gather(f8, 0.5)  # type: ignore[call-overload]
    gs.gather(f8, None)  # type: ignore[call-overload]
    gs.gather(f8, [None])  # type: ignore[arg-type]
    gs.gather(t, [0.5])  # type: ignore[arg-type]
    gs.gather([1.0], [0.5])  # type: ignore[arg-type]
    gs.gather_nd(f8, 0)  # type: ignore[call-overload]
    gs.gather_nd(f8, f8)  # type: ignore[arg-type]
    gs.gather_nd(f8, [[0.5]])  # type: ignore[arg-type]
    gs.gather_elements(f8, f8)  # type: ignore[arg-type]
    gs.gather_elements(f8, 0)  # type: ignore[call-overload]
    gs.scatter(f8, f8, f8)  # type: ignore[arg-type]
    gs.scatter_nd(f8, f8, f8)  # type: ignore[arg-type]
    gs.scatter_elements(f8, f8, f8)  # type: ignore[arg-type]
    gs.scatter_elements(f8, [[0.5]], f8)  # type: ignore[arg-type]
    gs.onnx.gather(f8, f8)  # type: ignore[arg-type]
    gs.onnx.scatter_nd(f8, f8, f8)  # type: ignore[arg-type]
    gs.openvino.gather_nd(f8, f8)  # type: ignore[arg-type]
    gs.openvino.scatter_nd_update(f8, f8, f8)  # type: ignore[arg-type]
    gs.ndimage.histogram(f8, 0, 1, 2.5)  # type: ignore[arg-type]
    gs.tensorflow.gather(f8, f8)  # type: ignore[arg-type]
    gs.tensorflow.scatter_nd(f8, f8, [3])  # type: ignore[arg-type]
    gs.tensorflow.tensor_scatter_nd_add(f8, f8, f8)  # type: ignore[arg-type]


def data(i8: I8) -> None:
    gs.gather(7, i8)  # type: ignore[call-overload]
    gs.gather(np.float64(7), i8)  # type: ignore[call-overload]
    gs.gather(np.int64(7), [0])  # type: ignore[call-overload]
    gs.gather("abc", i8)  # type: ignore[call-overload]
    gs.gather({0: 1}, i8)  # type: ignore[call-overload]
    gs.gather(range(3), i8)  # type: ignore[call-overload]
    gs.gather_nd(None, i8)  # type: ignore[call-overload]
    gs.gather_nd(object(), i8)  # type: ignore[call-overload]
    gs.gather_elements(7, i8)  # type: ignore[call-overload]
    gs.scatter(7, i8, 1)  # type: ignore[call-overload]


def two_libraries(f8: F8, i8: I8, t: torch.Tensor, j: jax.Array) -> None:
    gs.gather(f8, t)  # type: ignore[call-overload]
    gs.gather(i8, t)  # type: ignore[call-overload]
    gs.gather(t, i8)  # type: ignore[call-overload]
    gs.gather_nd(j, i8)  # type: ignore[call-overload]
    gs.gather(f8, i8, out=t)  # type: ignore[call-overload]
    gs.gather(t, t, out=f8)  # type: ignore[call-overload]
    gs.scatter(f8, i8, t)  # type: ignore[call-overload]
    gs.scatter_nd(t, t, f8)  # type: ignore[call-overload]
    gs.scatter_elements(f8, t, f8)  # type: ignore[call-overload]


def updates(f8: F8, i8: I8) -> None:
    gs.scatter(f8, i8, None)  # type: ignore[call-overload]
    gs.scatter_nd(f8, i8, range(3))  # type: ignore[call-overload]
    gs.scatter_elements(f8, i8, {})  # type: ignore[call-overload]


def options(f8: F8, i8: I8, t: torch.Tensor, mode: str) -> None:
    gs.gather(f8, i8, mode="drop")  # type: ignore[call-overload]
    gs.gather_nd(f8, i8, mode="clamp")  # type: ignore[call-overload]
    gs.gather_nd(f8, i8, mode=mode)  # type: ignore[call-overload]
    gs.gather_elements(t, t, mode="drop")  # type: ignore[call-overload]
    gs.scatter(f8, i8, f8, mode="fill")  # type: ignore[call-overload]
    gs.scatter_nd(t, t, t, mode="fill")  # type: ignore[call-overload]
    gs.scatter_elements(f8, i8, f8, mode="fill")  # type: ignore[call-overload]
    gs.scatter(f8, i8, f8, reduction="sum")  # type: ignore[call-overload]
    gs.scatter_nd(t, t, t, reduction="prod")  # type: ignore[call-overload]
    gs.scatter_elements(f8, i8, f8, reduction="")  # type: ignore[call-overload]
    gs.gather(f8, i8, axis=1.0)  # type: ignore[call-overload]
    gs.gather(f8, i8, axis="0")  # type: ignore[call-overload]
    gs.gather(f8, i8, axis=None)  # type: ignore[call-overload]
    gs.gather_nd(f8, i8, batch_dims=0.0)  # type: ignore[call-overload]
    gs.scatter(f8, i8, f8, include_self=1)  # type: ignore[call-overload]
    gs.gather(f8, i8, 1)  # type: ignore[call-overload]
    gs.gather_nd(f8, i8, axis=1)  # type: ignore[call-overload]
    gs.gather_elements(f8, i8, batch_dims=1)  # type: ignore[call-overload]
    gs.scatter(f8, i8)  # type: ignore[call-overload]
    gs.at(f8)[1.5].get()  # type: ignore[index]
    gs.at(f8)[0] = 1.0  # type: ignore[index, assignment]
    gs.at(f8)[i8].get(mode="drop")  # type: ignore[arg-type]
    gs.at(f8)[i8].set(0.0, mode="fill")  # type: ignore[arg-type]
    gs.at(f8)[i8].set(0.0, accumulate_dtype="float64")  # type: ignore[call-arg]
    gs.at(f8)[i8].add()  # type: ignore[call-arg]
    gs.at(t)[t].add(1.0, out=f8)  # type: ignore[arg-type]
    gs.prepare("gathers", (3,), i8)  # type: ignore[call-overload]
    gs.prepare("gather", 3, i8)  # type: ignore[call-overload]
    gs.prepare("gather", (3,), i8, 3)  # type: ignore[call-overload]
    gs.prepare("segment", (3,), i8, wrap_negative_indices=False)  # type: ignore[call-overload]
    gs.segment_reduce(f8, i8, reduction="sum")  # type: ignore[call-overload]
    gs.segment_reduce(f8, i8, reduction=["max"])  # type: ignore[call-overload]
    gs.segment_reduce(f8, i8, mode="wrap")  # type: ignore[call-overload]
    gs.segment_quantile(f8, 0.5, i8, method="hazen")  # type: ignore[call-overload]
    gs.segment_argsort(f8, i8, 3, True)  # type: ignore[call-overload]
    gs.segment_softmax(f8, f8)  # type: ignore[arg-type]
    gs.segment_scan(f8, i8, reduction="mean")  # type: ignore[call-overload]
    gs.prepare("segment", (3,), i8).reduce(i8, "max")  # type: ignore[call-arg]
    gs.prepare("gather", (3,), i8).scatter(f8, f8, reduction="sum")  # type: ignore[call-overload]
    gs.prepare("gather", (3,), i8).gather(f8, mode="fill")  # type: ignore[call-overload]
    gs.gather_scatter(f8, f8, f8, i8)  # type: ignore[arg-type]
    gs.gather_scatter(f8, i8, f8, i8, mode="fill")  # type: ignore[call-overload]
    gs.gather_scatter(f8, i8, t, i8)  # type: ignore[call-overload]
    gs.gather_scatter(f8, i8, f8, i8, reduction="sum")  # type: ignore[call-overload]
    gs.onnx.scatter_nd(f8, i8, f8, reduction="mean")  # type: ignore[arg-type]
    gs.onnx.gather(f8, i8, opset="13")  # type: ignore[arg-type]
    gs.onnx.tensor_scatter(f8, f8, mode="wrap")  # type: ignore[arg-type]
    gs.openvino.gather(f8, i8, 0, version=6)  # type: ignore[arg-type]
    gs.openvino.scatter_nd_update(f8, i8, f8, "add")  # type: ignore[arg-type]
    gs.openvino.scatter_nd_update(f8, i8, f8, "mean")  # type: ignore[arg-type]
    gs.openvino.scatter_elements_update(f8, i8, f8, 0, "sub")  # type: ignore[arg-type]
    gs.tensorflow.gather_nd(f8, i8, bad_indices_policy="IGNROE")  # type: ignore[arg-type]
    gts.scatter(f8, t)  # type: ignore[arg-type]
    gts.scatter_max(t, t, 0.5)  # type: ignore[arg-type]
    gts.scatter_softmax(t, t, eps=1.0)  # type: ignore[call-arg]
    gs.set_num_threads("2")  # type: ignore[arg-type]
    gs.set_num_threads(1.5)  # type: ignore[arg-type]
    gs.set_cache_limit(1e9)  # type: ignore[arg-type]
    gs.use_deterministic_algorithms("yes")  # type: ignore[arg-type]
    gs.show_config("dict")  # type: ignore[call-overload]
