"""Uses that must type-check, each with the type that it has. Read by mypy and pyright, and never run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_type

import array_api_strict as strict
import cupy
import dask.array as da
import gatherscatter as gs
import jax
import numpy as np
import torch
from array_api_strict._array_object import Array as StrictArray
from gatherscatter import torch_scatter as gts
from numpy.typing import NDArray

F8 = NDArray[np.float64]
I8 = NDArray[np.int64]
Anything = NDArray[Any]


def numpy_keeps_the_dtype(f8: F8, i8: I8, u1: NDArray[np.uint8], texts: NDArray[np.str_], some: Anything) -> None:
    assert_type(gs.gather(f8, i8), F8)
    assert_type(gs.gather(f8, i8, axis=-1, batch_dims=1, mode="clip", out=f8), F8)
    assert_type(gs.gather_nd(f8, u1, batch_dims=1, mode="fill", fill_value=np.nan), F8)
    assert_type(gs.gather_elements(f8, i8, axis=1, mode="wrap", out=f8), F8)
    assert_type(gs.scatter(f8, i8, f8, axis=1, batch_dims=1, reduction="add"), F8)
    assert_type(gs.scatter_nd(f8, u1, 1.5, reduction="mean", include_self=False, mode="drop"), F8)
    assert_type(gs.scatter_elements(f8, i8, [[1.0]], axis=0, reduction="max", out=f8), F8)
    assert_type(gs.gather(f8, i8, mode="fill", wrap_negative_indices=False), F8)
    assert_type(
        gs.scatter(f8, i8, 1.0, reduction="add", wrap_negative_indices=np.True_, accumulate_dtype=np.float64), F8
    )
    assert_type(gs.gather(u1, some), NDArray[np.uint8])
    assert_type(gs.gather_nd(texts, i8), NDArray[np.str_])
    assert_type(gs.gather_nd(some, i8), Anything)
    assert_type(gs.gather_nd(f8, np.array([[0]])), F8)  # indices of any dtype, as np.array has them
    assert_type(gs.scatter_nd(f8, np.array([[0]]), np.array([1.0])), F8)
    assert_type(gs.scatter_nd(texts, i8, "word"), NDArray[np.str_])


def at_keeps_the_type(f8: F8, i8: I8, t: torch.Tensor, j: jax.Array, d: da.Array, rows: list[list[int]]) -> None:
    assert_type(gs.at(f8)[i8].get(mode="fill", fill_value=np.nan, wrap_negative_indices=False, out=f8), F8)
    assert_type(gs.at(f8)[1:, ..., None, [0, 1], i8, np.int8(3), True].add(f8, mode="drop", include_self=False), F8)
    assert_type(gs.at(f8)[f8 > 0].set(1.0, out=f8), F8)
    assert_type(gs.at(f8, [0]).divide(2.0, copy=False, xp=np), F8)
    assert_type(gs.at(t)[t].power(t), torch.Tensor)
    assert_type(gs.bincount(i8, f8, minlength=3), F8)
    assert_type(gs.bincount(t, length=3, mode="drop"), torch.Tensor)
    assert_type(gs.segment_reduce(t, t, reduction="argmax", out=t), torch.Tensor)
    assert_type(gs.segment_reduce(j, [0], reduction=("mean", "var")), tuple[jax.Array, ...])
    assert_type(gs.segment_reduce(f8, d, 3, mode="drop"), da.Array)
    assert_type(gs.segment_softmax(d, i8, 3), da.Array)
    assert_type(gs.segment_log_softmax(t, indptr=t), torch.Tensor)
    assert_type(gs.segment_scan(t, t, reduction="max", out=t), torch.Tensor)
    assert_type(gs.segment_scan(f8, d, 3), da.Array)
    assert_type(gs.segment_quantile(t, t, t, 3, method="lower"), torch.Tensor)
    assert_type(gs.segment_quantile(f8, 0.5, d, 3), da.Array)
    assert_type(gs.segment_argsort(j, [0]), jax.Array)
    assert_type(gs.at(i8)[()].mean(rows, accumulate_dtype="int64"), I8)
    assert_type(gs.at(rows)[0, rows].multiply(2), Anything)
    assert_type(gs.at(t)[t, :, [0]].subtract(t, accumulate_dtype=np.float64), torch.Tensor)
    assert_type(gs.at(t)[t > 0].min(0.0), torch.Tensor)
    assert_type(gs.at(j)[range(2), j].max(j), jax.Array)
    assert_type(gs.at(d)[i8, d].get(), da.Array)


def prepare_keeps_the_type(f8: F8, i8: I8, t: torch.Tensor, rows: list[list[int]]) -> None:
    prepared = gs.prepare("gather_nd", f8.shape, i8, batch_dims=0, mode="fill")
    assert_type(prepared, gs.Prepared)
    assert_type(gs.prepare("scatter", [2, 3], [0, 1], axis=-1, wrap_negative_indices=False).counts, I8)
    assert_type(gs.prepare("scatter_elements", t.shape, t, mode="drop").gather(t), torch.Tensor)
    assert_type(prepared.gather(f8, fill_value=0, out=f8), F8)
    assert_type(prepared.gather(rows), Anything)
    assert_type(prepared.scatter(f8, 1.0, reduction="mean", include_self=False, accumulate_dtype="float64"), F8)
    assert_type(prepared.scatter(t, t, out=t), torch.Tensor)


def segments() -> None:
    f8 = np.zeros(3)
    both = gs.segment_reduce(f8, [0, 1, 0], 2, reduction=("max", "count"), axis=0, skipna=True, fill_value=(0, None))
    assert_type(both, tuple[NDArray[Any], ...])
    assert_type(gs.segment_reduce([1.0, 2.0], [0, 1], reduction="var", correction=1), NDArray[Any])
    assert_type(gs.segment_quantile(f8, [0.1, 0.9], [0, 1, 0], 2, skipna=True, min_count=1, out=f8), NDArray[Any])
    assert_type(gs.segment_argsort([1.0, 2.0], indptr=[0, 2], descending=True), NDArray[np.int64])
    assert_type(gs.segment_reduce(f8, [0, 1, 0], reduction=("median", "nunique")), tuple[NDArray[Any], ...])
    assert_type(gs.segment_softmax(f8, indptr=[0, 3], mode="drop"), NDArray[Any])
    assert_type(gs.segment_log_softmax(f8, [0, 1, 0], 2, out=f8), NDArray[Any])
    assert_type(gs.segment_scan(f8, indptr=[0, 3], exclusive=True, reverse=True, skipna=True), NDArray[Any])
    prepared = gs.prepare("segment", f8.shape, [0, 1, 0], 2, axis=0, batch_dims=0, mode="drop")
    assert_type(prepared, gs.PreparedSegments)
    assert_type(gs.prepare("segment", [3], segment_ids=np.array([0, 1, 0])).num_segments, int)
    assert_type(gs.prepare("segment", (3,), indptr=[0, 3]).shape, tuple[int, ...])
    prepared.reduce(f8, reduction=("max", "count"), skipna=True, min_count=1, fill_value=(0, None))
    prepared.softmax(f8, dtype="float32")
    prepared.log_softmax(f8, out=f8)
    prepared.gather([1.0, 2.0], fill_value=0)


def gather_scatter_keeps_the_type(
    f8: F8, i8: I8, t: torch.Tensor, j: jax.Array, c: cupy.ndarray, d: da.Array, rows: list[list[float]]
) -> None:
    prepared = gs.prepare("gather", (3,), [0, 1])
    assert_type(gs.gather_scatter(f8, i8, f8, i8, axis=-1, reduction="mean", include_self=np.False_, out=f8), F8)
    assert_type(gs.gather_scatter(f8, [0], rows, 0, mode="drop", wrap_negative_indices=False), F8)
    assert_type(gs.gather_scatter(f8, prepared, f8, prepared, reduction="add"), F8)
    assert_type(gs.gather_scatter(rows, i8, f8, [0, 1]), Anything)
    assert_type(gs.gather_scatter(t, t, t, [0], reduction="max", out=t), torch.Tensor)
    assert_type(gs.gather_scatter(t, prepared, t, prepared), torch.Tensor)
    assert_type(gs.gather_scatter(j, [0], j, j, mode="drop"), jax.Array)
    assert_type(gs.gather_scatter(c, c, c, c), cupy.ndarray)
    assert_type(gs.gather_scatter(d, i8, f8, d), da.Array)
    gs.gather_scatter(f8, i8, d, [0])  # Dask arrays; their type is that of data
    gs.gather_scatter(f8, d, f8, i8)
    gs.gather_scatter(f8, [0], f8, d, mode="drop")


def numpy_classes(rows: np.ndarray[tuple[int, int], np.dtype[np.float32]], mapped: np.memmap[Any, Any]) -> None:
    index = np.array([0, 1])
    assert_type(gs.gather(rows, index), NDArray[np.float32])  # of another number of axes, maybe
    assert_type(gs.gather(mapped, index), NDArray[Any])


def sequences_are_lists(f8: F8, tensor: torch.Tensor, some: Sequence[int], pairs: Sequence[tuple[int, int]]) -> None:
    assert_type(gs.gather(f8, some), F8)
    assert_type(gs.gather(tensor, some), torch.Tensor)
    assert_type(gs.gather_nd(f8, pairs), F8)
    assert_type(gs.scatter_nd(f8, pairs, 1.0), F8)


def lists_are_numpys(f8: F8, rows: list[list[int]], one: list[np.int64]) -> None:
    assert_type(gs.gather(f8, [0, 1]), F8)
    assert_type(gs.gather(f8, 0), F8)
    assert_type(gs.gather(f8, np.int8(0)), F8)
    assert_type(gs.gather(f8, one), F8)
    assert_type(gs.gather(f8, [np.array([0]), np.array([1])]), F8)
    assert_type(gs.gather_nd(f8, [[]]), F8)
    assert_type(gs.gather_nd(f8, rows), F8)
    assert_type(gs.gather_nd(f8, ((0, 1), (2, 3))), F8)
    assert_type(gs.gather_elements(f8, [[0], [1]]), F8)
    assert_type(gs.scatter_nd(f8, [[0]], [1.0]), F8)
    assert_type(gs.gather([1.5, 2.5], [1]), Anything)
    assert_type(gs.gather([[1, 2], [3, 4]], np.array([1])), Anything)
    assert_type(gs.gather_nd(("a", "b"), ((1,),)), Anything)
    assert_type(gs.gather_nd(7, []), Anything)
    assert_type(gs.gather_elements(rows, rows), Anything)
    assert_type(gs.scatter([0, 0], [1], [5]), Anything)
    assert_type(gs.scatter_nd([0, 0], [[1]], 5, out=np.zeros(2, int)), Anything)
    assert_type(gs.scatter_elements(rows, rows, rows), Anything)


def torch_gives_torch(t: torch.Tensor, p: torch.nn.Parameter) -> None:
    assert_type(gs.gather(t, t, axis=1, mode="clip", out=t), torch.Tensor)
    assert_type(gs.gather(t, [0, 1]), torch.Tensor)
    assert_type(gs.gather(t, 0), torch.Tensor)
    assert_type(gs.gather([1.0, 2.0], t), torch.Tensor)
    assert_type(gs.gather(p, t), torch.Tensor)
    assert_type(gs.gather_nd(t, t, batch_dims=1), torch.Tensor)
    assert_type(gs.gather_elements(t, t, axis=1), torch.Tensor)
    assert_type(gs.scatter(t, t, t), torch.Tensor)
    assert_type(gs.scatter_nd(t, t, 1.0, reduction="add"), torch.Tensor)
    assert_type(gs.scatter_elements(t, [[0]], [[1.0]]), torch.Tensor)


def jax_gives_jax(j: jax.Array) -> None:
    assert_type(gs.gather(j, j), jax.Array)
    assert_type(gs.gather_nd(j, [[0, 1]], mode="fill", fill_value=-1), jax.Array)
    assert_type(gs.gather_elements(j, j), jax.Array)
    assert_type(gs.scatter(j, j, j, mode="drop"), jax.Array)
    assert_type(gs.scatter_nd(j, j, 1), jax.Array)
    assert_type(gs.scatter_elements(j, j, j), jax.Array)
    assert_type(jax.jit(lambda d, i: gs.gather_nd(d, i, mode="clip"))(j, j), Any)


def cupy_gives_cupy(c: cupy.ndarray) -> None:
    assert_type(gs.gather(c, c), cupy.ndarray)
    assert_type(gs.gather_nd(c, [[0]]), cupy.ndarray)
    assert_type(gs.gather_elements(c, c, out=c), cupy.ndarray)
    assert_type(gs.scatter(c, c, 0), cupy.ndarray)
    assert_type(gs.scatter_nd(c, c, c), cupy.ndarray)
    assert_type(gs.scatter_elements(c, c, c), cupy.ndarray)


def dask_gives_dask(d: da.Array, f8: F8, i8: I8) -> None:
    assert_type(gs.gather(d, d), da.Array)
    assert_type(gs.gather(d, i8), da.Array)
    gs.gather(f8, d)  # a Dask array; its type is that of data
    assert_type(gs.gather_nd(d, [[0]]), da.Array)
    assert_type(gs.gather_elements(d, d), da.Array)
    assert_type(gs.scatter(d, i8, f8), da.Array)
    assert_type(gs.scatter_nd(d, [[0]], 1.0), da.Array)
    assert_type(gs.scatter_nd(d, d, f8), da.Array)
    gs.scatter_elements(f8, i8, d)


def any_library(s: StrictArray) -> None:
    assert_type(gs.gather(s, s), StrictArray)
    assert_type(gs.gather_nd(s, [[0]]), StrictArray)
    assert_type(gs.gather_elements(s, s), StrictArray)
    assert_type(gs.scatter(s, s, s), StrictArray)
    assert_type(gs.scatter_nd(strict.zeros(3), s, 1.0), StrictArray)
    assert_type(gs.scatter_elements(s, s, s), StrictArray)


def options_as_the_functions_take_them(f8: F8, i8: I8) -> None:
    axis, yes = np.int64(1), np.any(f8 > 0)
    assert_type(gs.gather(f8, i8, axis=axis, batch_dims=True), F8)
    assert_type(gs.scatter(f8, i8, f8, axis=axis, include_self=yes), F8)
    assert_type(gs.gather_nd(data=f8, indices=i8), F8)


def onnx(f8: F8, i8: I8, t: torch.Tensor, j: jax.Array, d: da.Array) -> None:
    assert_type(gs.onnx.gather(f8, i8, axis=1, opset=13), F8)
    assert_type(gs.onnx.gather([1.0], [0]), Any)
    assert_type(gs.onnx.gather(t, t), torch.Tensor)
    assert_type(gs.onnx.gather_elements(f8, i8), F8)
    assert_type(gs.onnx.gather_elements(j, j), jax.Array)
    assert_type(gs.onnx.gather_nd(f8, [[0]], batch_dims=1), F8)
    assert_type(gs.onnx.gather_nd(d, i8), da.Array)
    assert_type(gs.onnx.scatter(f8, i8, f8), F8)
    assert_type(gs.onnx.scatter(t, t, t), torch.Tensor)
    assert_type(gs.onnx.scatter_elements(f8, i8, f8, reduction="add"), F8)
    assert_type(gs.onnx.scatter_elements(j, j, j), jax.Array)
    assert_type(gs.onnx.scatter_nd(f8, i8, f8, reduction="max", opset=18), F8)
    assert_type(gs.onnx.scatter_nd([1.0], [[0]], [2.0]), Any)
    assert_type(gs.onnx.scatter_nd(t, t, t), torch.Tensor)
    assert_type(gs.onnx.tensor_scatter(f8, f8, out=f8), F8)
    assert_type(gs.onnx.tensor_scatter(t, t, [0], mode="circular"), torch.Tensor)
    assert_type(gs.onnx.reference_ops(), list[type])


def openvino(f8: F8, i8: I8, t: torch.Tensor, j: jax.Array, d: da.Array) -> None:
    assert_type(gs.openvino.gather(f8, i8, 0), F8)
    assert_type(gs.openvino.gather(f8, i8, [1], version=7), F8)
    assert_type(gs.openvino.gather(f8, i8, i8), F8)
    assert_type(gs.openvino.gather(t, t, t, -1), torch.Tensor)
    assert_type(gs.openvino.gather_nd([[1.0]], [[0]]), Any)
    assert_type(gs.openvino.gather_nd(j, j, 1, version=5), jax.Array)
    assert_type(gs.openvino.gather_elements(f8, i8, 0), F8)
    assert_type(gs.openvino.gather_elements(d, i8, 0), da.Array)
    assert_type(gs.openvino.scatter_nd_update(f8, i8, f8, "sub"), F8)
    assert_type(gs.openvino.scatter_nd_update(t, t, 1.0), torch.Tensor)
    assert_type(gs.openvino.scatter_elements_update(f8, i8, f8, 0, "mean", use_init_val=False), F8)
    assert_type(gs.openvino.scatter_elements_update(j, j, j, 0), jax.Array)
    assert_type(gs.openvino.gather(f8, i8, 0, version=1), F8)
    assert_type(gs.openvino.scatter_update(f8, i8, 0.0, 0), F8)
    assert_type(gs.openvino.scatter_update(t, t, t, -1), torch.Tensor)
    assert_type(gs.openvino.slice_scatter(f8, f8, [0], [2], [1], i8), F8)
    assert_type(gs.openvino.slice_scatter(j, 0.0, [0], [2], [1]), jax.Array)
    assert_type(gs.openvino.segment_max(f8, i8, fill_mode="ZERO"), F8)
    assert_type(gs.openvino.segment_max(d, d, 3, "LOWEST"), da.Array)
    assert_type(gs.openvino.embedding_bag_offsets(t, t, t, reduction="mean"), torch.Tensor)
    assert_type(gs.openvino.embedding_bag_packed(f8, [[0, 1]], [[0.5, 0.5]]), F8)
    assert_type(gs.openvino.embedding_segments_sum(f8, i8, i8, 3, 0, f8), F8)


def tensorflow(f8: F8, i8: I8, t: torch.Tensor, j: jax.Array, d: da.Array) -> None:
    assert_type(gs.tensorflow.gather(f8, i8, axis=1), F8)
    assert_type(gs.tensorflow.gather(t, t, batch_dims=None), torch.Tensor)
    assert_type(gs.tensorflow.gather_nd(f8, i8, bad_indices_policy="IGNORE"), F8)
    assert_type(gs.tensorflow.gather_nd([1.0], [[0]]), Any)
    assert_type(gs.tensorflow.gather_nd(j, j), jax.Array)
    assert_type(gs.tensorflow.gather_nd(d, i8), da.Array)
    assert_type(gs.tensorflow.scatter_nd(i8, f8, (3, 4)), F8)
    assert_type(gs.tensorflow.scatter_nd([[0]], [1.0], [3]), Any)
    assert_type(gs.tensorflow.scatter_nd(t, t, t.shape), torch.Tensor)
    assert_type(gs.tensorflow.scatter_nd([[0]], j, j), jax.Array)
    assert_type(gs.tensorflow.tensor_scatter_nd_update(f8, i8, f8), F8)
    assert_type(gs.tensorflow.tensor_scatter_nd_add(f8, i8, f8), F8)
    assert_type(gs.tensorflow.tensor_scatter_nd_sub(t, t, t), torch.Tensor)
    assert_type(gs.tensorflow.tensor_scatter_nd_max(j, j, j), jax.Array)
    assert_type(gs.tensorflow.tensor_scatter_nd_min([1], [[0]], [2]), Any)
    assert_type(gs.tensorflow.segment_sum(f8, i8), F8)
    assert_type(gs.tensorflow.segment_mean(t, t), torch.Tensor)
    assert_type(gs.tensorflow.segment_min(j, [0, 0]), jax.Array)
    assert_type(gs.tensorflow.segment_max(f8, [0, 0]), F8)
    assert_type(gs.tensorflow.segment_prod([1.0], [0]), Any)
    assert_type(gs.tensorflow.unsorted_segment_sum(f8, i8, 3), F8)
    assert_type(gs.tensorflow.unsorted_segment_mean(i8, i8, 3), Any)  # of integers: floats
    assert_type(gs.tensorflow.unsorted_segment_min(t, t, 3), torch.Tensor)
    assert_type(gs.tensorflow.unsorted_segment_max(d, i8, 3), da.Array)
    gs.tensorflow.unsorted_segment_sqrt_n(f8, d, 3)
    gs.tensorflow.unsorted_segment_prod(1.0, 0, 3)


def ndimage(f8: F8, i8: I8) -> None:
    assert_type(gs.ndimage.sum_labels(f8, i8, [1, 2]), Any)
    assert_type(gs.ndimage.sum([1.0, 2.0], [1, 1], 1), Any)
    assert_type(gs.ndimage.mean(f8), Any)
    assert_type(gs.ndimage.variance(f8, i8), Any)
    assert_type(gs.ndimage.standard_deviation(f8, labels=i8, index=None), Any)
    assert_type(gs.ndimage.median(f8, i8, i8), Any)
    assert_type(gs.ndimage.minimum(f8, i8 > 0), Any)
    assert_type(gs.ndimage.maximum(f8, f8), Any)
    assert_type(gs.ndimage.minimum_position(f8, i8), Any)
    assert_type(gs.ndimage.maximum_position(f8, i8), Any)
    assert_type(gs.ndimage.extrema(f8, i8), Any)
    assert_type(gs.ndimage.center_of_mass(f8, i8), Any)
    assert_type(gs.ndimage.histogram(f8, 0, 1.5, 3, i8, [1]), Any)
    if f8.size:
        gs.ndimage.labeled_comprehension(f8, i8, [1], np.ptp, float, 0)


def torch_scatter(t: torch.Tensor) -> None:
    assert_type(gts.scatter(t, t, 0, dim_size=3, reduce="max"), torch.Tensor)
    assert_type(gts.scatter_sum(t, t, -1, t), torch.Tensor)
    assert_type(gts.scatter_add(t, t, dim=np.int64(1)), torch.Tensor)
    assert_type(gts.scatter_mul(t, t), torch.Tensor)
    assert_type(gts.scatter_mean(t, t, out=None), torch.Tensor)
    assert_type(gts.scatter_min(t, t), tuple[torch.Tensor, torch.Tensor])
    assert_type(gts.scatter_max(t, t), tuple[torch.Tensor, torch.Tensor])
    assert_type(gts.scatter_std(t, t, unbiased=False), torch.Tensor)
    assert_type(gts.scatter_logsumexp(t, t, eps=1e-6), torch.Tensor)
    assert_type(gts.scatter_softmax(t, t, 0, 3), torch.Tensor)
    assert_type(gts.scatter_log_softmax(t, t), torch.Tensor)
    assert_type(gts.segment_coo(t, t, None, 3, "mean"), torch.Tensor)
    assert_type(gts.segment_sum_coo(t, t), torch.Tensor)
    assert_type(gts.segment_add_coo(t, t), torch.Tensor)
    assert_type(gts.segment_mean_coo(t, t, t), torch.Tensor)
    assert_type(gts.segment_min_coo(t, t), tuple[torch.Tensor, torch.Tensor])
    assert_type(gts.segment_max_coo(t, t, dim_size=3), tuple[torch.Tensor, torch.Tensor])
    assert_type(gts.segment_csr(t, t, reduce="min"), torch.Tensor)
    assert_type(gts.segment_sum_csr(t, t), torch.Tensor)
    assert_type(gts.segment_add_csr(t, t), torch.Tensor)
    assert_type(gts.segment_mean_csr(t, t, t), torch.Tensor)
    assert_type(gts.segment_min_csr(t, t), tuple[torch.Tensor, torch.Tensor])
    assert_type(gts.segment_max_csr(t, t), tuple[torch.Tensor, torch.Tensor])
    assert_type(gts.gather_coo(t, t), torch.Tensor)
    assert_type(gts.gather_csr(t, t, t), torch.Tensor)
    assert_type(gts.softmax_csr(t, t, 1), torch.Tensor)
    assert_type(gts.composite.scatter_std(t, t), torch.Tensor)


def settings() -> None:
    gs.set_num_threads(None)
    gs.set_num_threads(np.int64(2))
    assert_type(gs.get_num_threads(), int)
    gs.set_cache_limit(np.int64(2))
    assert_type(gs.get_cache_limit(), int)
    gs.empty_cache()
    gs.use_deterministic_algorithms(True)
    gs.use_deterministic_algorithms(np.bool(False))
    assert_type(gs.are_deterministic_algorithms_enabled(), bool)
    assert_type(gs.show_config("dicts"), dict[str, Any])
    assert_type(gs.get_machine(), dict[str, float])
    gs.set_machine(bandwidth=40, step_l3=1.5)
    assert_type(gs.explain(gs.scatter, np.zeros(3), [0], [1.0], reduction="add"), dict[str, Any])
    gs.show_config()
    assert_type(gs.__version__, str)
