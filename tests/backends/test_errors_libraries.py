"""Error messages for invalid arguments in calls with arrays of PyTorch, JAX, Dask and others."""

import array_api_strict
import dask.array
import gatherscatter as gs
import jax
import numpy as np
import pandas
import pytest
import torch
from assertions import assert_refused, each_refused


def of_module(name, module):
    return type(name, (), {"__module__": module})()


D = np.zeros((4, 5))
I = np.zeros((3, 2), int)  # noqa: E741
STRICT = array_api_strict.zeros((4, 5))
TORCH = torch.zeros(4, 5)
JAX = jax.numpy.zeros((4, 5), "float32")
DASK = dask.array.zeros((4, 5), chunks=2)
NUMBERS = "int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64"

WRONG = {
    "gather_nd: a tensor alone": (
        lambda: gs.gather_nd(TORCH),
        TypeError,
        "gather_nd: indices is missing; pass an array of integers",
    ),
    "gather_nd: a tensor among integers": (
        lambda: gs.gather_nd(TORCH, (0, torch.tensor([1]))),
        TypeError,
        "gather_nd: indices is a tuple of arrays; for one array per axis call gs.at(data)[indices].get() "
        "or pass stack(indices, axis=-1), for arrays of tuples pass stack(indices)",
    ),
    "scatter: updates of another library": (
        lambda: gs.scatter(D, [0], STRICT[:1, :]),
        TypeError,
        "scatter: data is a numpy.ndarray but updates is an array_api_strict.Array; pass numpy.asarray(updates)",
    ),
    "scatter: array API": (
        lambda: gs.scatter(STRICT * 1j, [0], 1.0, reduction="mean"),
        NotImplementedError,
        "scatter: the array API backend does not support reduction='mean' of array_api_strict.complex128: "
        "the standard cannot make complex numbers from their parts; scatter the parts separately",
    ),
    "scatter_nd: array API": (
        lambda: gs.scatter_nd(STRICT * 1j, [[0]], 1.0, reduction="mean"),
        NotImplementedError,
        "scatter_nd: the array API backend does not support reduction='mean' of array_api_strict.complex128: "
        "the standard cannot make complex numbers from their parts; scatter the parts separately",
    ),
    "scatter_elements: array API": (
        lambda: gs.scatter_elements(STRICT * 1j, [[0]], 1.0, reduction="mean"),
        NotImplementedError,
        "scatter_elements: the array API backend does not support reduction='mean' of array_api_strict.complex128: "
        "the standard cannot make complex numbers from their parts; scatter the parts separately",
    ),
    "PyTorch: a mask": (
        lambda: gs.gather(TORCH, TORCH[:, 0] == 0),
        TypeError,
        "gather: indices has dtype torch.bool, which makes it a mask; pass the numbers of its true elements, "
        "flatnonzero(indices)",
    ),
    "PyTorch: float indices": (
        lambda: gs.gather(TORCH, torch.tensor([0.0])),
        TypeError,
        "gather: indices has dtype torch.float32, but indices are integers of 8 to 64 bits; pass "
        "indices.to(torch.int64)",
    ),
    "JAX: float indices": (
        lambda: gs.gather(JAX, jax.numpy.asarray([0.0], "float32")),
        TypeError,
        "gather: indices has dtype float32, but indices are integers of 8 to 64 bits; pass indices.astype('int64')",
    ),
    "Dask: float indices": (
        lambda: gs.gather(DASK, np.array([0.0])),
        TypeError,
        "gather: indices has dtype float64, but indices are integers of 8 to 64 bits; pass indices.astype('int64')",
    ),
    "array API: float indices": (
        lambda: gs.gather(STRICT, array_api_strict.asarray([0.0])),
        TypeError,
        "gather: indices has dtype array_api_strict.float64, but indices are integers of 8 to 64 bits; pass "
        "astype(indices, int64)",
    ),
    "PyTorch: a list of floats": (
        lambda: gs.gather(TORCH, [0.0, 1.0]),
        TypeError,
        "gather: indices holds torch.float32, but indices are integers; pass integers of 8 to 64 bits",
    ),
    "PyTorch: a ragged list": (
        lambda: gs.gather(TORCH, [[0], [1, 2]]),
        ValueError,
        "gather: indices is a ragged list; pass lists of equal lengths, padded where need be",
    ),
    "JAX: a ragged list": (
        lambda: gs.gather(JAX, [[0], [1, 2]]),
        ValueError,
        "gather: indices is a ragged list; pass lists of equal lengths, padded where need be",
    ),
    "array API: a ragged list": (
        lambda: gs.gather(STRICT, [[0], [1, 2]]),
        ValueError,
        "gather: indices is a ragged list; pass lists of equal lengths, padded where need be",
    ),
    "Dask: a ragged list": (
        lambda: gs.gather(DASK, [[0], [1, 2]]),
        ValueError,
        "gather: indices is a ragged list; pass lists of equal lengths, padded where need be",
    ),
    "PyTorch: beyond int64, unsigned": (
        lambda: gs.gather(TORCH, torch.tensor([2**63 + 1], dtype=torch.uint64)),
        IndexError,
        "gather: indices[0] = 9223372036854775809 is out of bounds for data of shape (4, 5): axis 0 has size 4",
    ),
    "PyTorch: out of bounds": (
        lambda: gs.gather(TORCH, torch.tensor([7])),
        IndexError,
        "gather: indices[0] = 7 is out of bounds for data of shape (4, 5): axis 0 has size 4",
    ),
    "JAX: out of bounds": (
        lambda: gs.gather(JAX, [7]),
        IndexError,
        "gather: indices[0] = 7 is out of bounds for data of shape (4, 5): axis 0 has size 4",
    ),
    "Dask: out of bounds": (
        lambda: gs.gather(DASK, [7]),
        IndexError,
        "gather: indices[0] = 7 is out of bounds for data of shape (4, 5): axis 0 has size 4",
    ),
    "array API: out of bounds": (
        lambda: gs.gather(STRICT, [7]),
        IndexError,
        "gather: indices[0] = 7 is out of bounds for data of shape (4, 5): axis 0 has size 4",
    ),
    "PyTorch: updates that do not broadcast": (
        lambda: gs.scatter(TORCH, [0, 1], torch.zeros(2)),
        ValueError,
        "scatter: updates has shape (2,); pass shape (2, 5), or one that broadcasts to it",
    ),
    "PyTorch: updates of another dtype": (
        lambda: gs.scatter(TORCH, [0], torch.zeros((1, 5), dtype=torch.float64)),
        TypeError,
        "scatter: updates has dtype torch.float64, but data has torch.float32; pass updates.to(data.dtype)",
    ),
    "PyTorch: updates of fractions into integers": (
        lambda: gs.scatter(TORCH.int(), [0], torch.zeros((1, 5))),
        TypeError,
        "scatter: updates has dtype torch.float32, but data has torch.int32; pass data.to(updates.dtype)",
    ),
    "array API: updates of another dtype": (
        lambda: gs.scatter(array_api_strict.zeros((4, 5), dtype=array_api_strict.float32), [0], STRICT[:1, :]),
        TypeError,
        "scatter: updates has dtype array_api_strict.float64, but data has array_api_strict.float32; pass "
        "astype(updates, data.dtype)",
    ),
    "out a tensor": (
        lambda: gs.gather(D, [0], out=TORCH),
        TypeError,
        "gather: out is a torch.Tensor; pass a numpy.ndarray",
    ),
    "PyTorch: out NumPy's": (
        lambda: gs.gather(TORCH, [0], out=D),
        TypeError,
        "gather: out is a numpy.ndarray; pass a torch.Tensor",
    ),
    "PyTorch: out of another shape": (
        lambda: gs.gather(TORCH, [0], out=torch.zeros(5)),
        ValueError,
        "gather: out has shape (5,), but the result has shape (1, 5); pass out of that shape",
    ),
    "JAX: out": (
        lambda: gs.gather(JAX, [0], out=JAX[:1]),
        NotImplementedError,
        "gather: the JAX backend does not support out=: a jax.Array is immutable; use the returned array",
    ),
    "Dask: out": (
        lambda: gs.gather(DASK, [0], out=D),
        NotImplementedError,
        "gather: the Dask backend does not support out=: a Dask array is computed later; use the returned array",
    ),
    "PyTorch: complex numbers have no order": (
        lambda: gs.scatter(torch.zeros(3, dtype=torch.complex64), [0], 1j, reduction="max"),
        TypeError,
        "scatter: reduction='max' does not support dtype torch.complex64; convert data and updates to one that it "
        f"supports: bool, {NUMBERS}",
    ),
    "a DataFrame": (
        lambda: gs.gather(pandas.DataFrame(D), [0]),
        TypeError,
        "gather: data is a pandas.DataFrame, which is not an array; pass data.to_numpy()",
    ),
    "a Series of data": (
        lambda: gs.gather(pandas.Series([1.0, 2.0]), [0]),
        TypeError,
        "gather: data is a pandas.Series, which is not an array; pass data.to_numpy()",
    ),
    "a Series of indices": (
        lambda: gs.gather(D, pandas.Series([0, 1])),
        TypeError,
        "gather: indices is a pandas.Series, which is not an array; pass indices.to_numpy()",
    ),
    "an Index": (
        lambda: gs.gather(D, pandas.Index([0, 1])),
        TypeError,
        "gather: indices is a pandas.Index, which is not an array; pass indices.to_numpy()",
    ),
    "a column of pandas' own dtype": (
        lambda: gs.gather(D, pandas.array([0, None], dtype="Int64")),
        TypeError,
        "gather: indices is a pandas.IntegerArray, which is not an array; pass indices.to_numpy()",
    ),
    "a Series of updates": (
        lambda: gs.scatter(D[0], [0, 1], pandas.Series([1.0, 2.0])),
        TypeError,
        "scatter: updates is a pandas.Series, which is not an array; pass updates.to_numpy()",
    ),
    "a Series as out": (
        lambda: gs.gather(D[0], [0, 1], out=pandas.Series([1.0, 2.0])),
        TypeError,
        "gather: out is a pandas.Series; pass a numpy.ndarray",
    ),
    "a tf.Tensor": (
        lambda: gs.gather_nd(of_module("EagerTensor", "tensorflow.python.framework.ops"), I),
        TypeError,
        "gather_nd: data is a tensorflow.Tensor, which is not an array; call gatherscatter.tensorflow, or "
        "pass data.numpy()",
    ),
    "xarray's": (
        lambda: gs.gather(of_module("DataArray", "xarray.core.dataarray"), [0]),
        TypeError,
        "gather: data is an xarray.DataArray, which is not an array; pass an array",
    ),
    "NumPy and PyTorch": (
        lambda: gs.gather(D, torch.tensor([0])),
        TypeError,
        "gather: data is a numpy.ndarray but indices is a torch.Tensor; pass numpy.asarray(indices)",
    ),
    "PyTorch and NumPy": (
        lambda: gs.gather(TORCH, np.array([0])),
        TypeError,
        "gather: data is a torch.Tensor but indices is a numpy.ndarray; pass torch.asarray(indices)",
    ),
    "NumPy and JAX": (
        lambda: gs.gather(D, jax.numpy.asarray([0])),
        TypeError,
        "gather: data is a numpy.ndarray but indices is a jax.Array; pass numpy.asarray(indices)",
    ),
    "JAX and NumPy": (
        lambda: gs.gather(JAX, np.array([0])),
        TypeError,
        "gather: data is a jax.Array but indices is a numpy.ndarray; pass jax.numpy.asarray(indices)",
    ),
    "JAX and PyTorch": (
        lambda: gs.gather(JAX, torch.tensor([0])),
        TypeError,
        "gather: data is a jax.Array but indices is a torch.Tensor; pass jax.numpy.asarray(indices)",
    ),
    "PyTorch and JAX": (
        lambda: gs.gather(TORCH, jax.numpy.asarray([0])),
        TypeError,
        "gather: data is a torch.Tensor but indices is a jax.Array; pass torch.asarray(indices)",
    ),
    "array API and NumPy": (
        lambda: gs.gather(STRICT, np.array([0])),
        TypeError,
        "gather: data is an array_api_strict.Array but indices is a numpy.ndarray; pass "
        "array_api_strict.asarray(indices)",
    ),
    "Dask and PyTorch": (
        lambda: gs.gather(DASK, torch.tensor([0])),
        TypeError,
        "gather: data is a dask.array.Array but indices is a torch.Tensor; pass numpy.asarray(indices)",
    ),
    "PyTorch and Dask": (
        lambda: gs.gather(TORCH, dask.array.zeros(3, int)),
        TypeError,
        "gather: data is a torch.Tensor but indices is a dask.array.Array; pass numpy.asarray(data)",
    ),
    "updates of a third library": (
        lambda: gs.scatter(TORCH, [0], JAX[:1]),
        TypeError,
        "scatter: data is a torch.Tensor but updates is a jax.Array; pass torch.asarray(updates)",
    ),
    "PyTorch: another device": (
        lambda: gs.gather(TORCH, torch.zeros(2, dtype=torch.int64, device="meta")),
        ValueError,
        "gather: indices is on meta, but data is on cpu; move it there",
    ),
    "PyTorch: sparse": (
        lambda: gs.gather(TORCH.to_sparse(), [0]),
        NotImplementedError,
        "gather: the PyTorch backend does not support data of layout torch.sparse_coo: pass data.to_dense()",
    ),
}


@each_refused(WRONG)
def test_message(call, kind, message):
    assert_refused(call, kind, message)


def test_advice_neither_loads_nor_expands():
    xarray, sparse = pytest.importorskip("xarray"), pytest.importorskip("scipy.sparse")

    def never(chunk):
        raise AssertionError("computed")

    lazy = xarray.DataArray(DASK.map_blocks(never, dtype=float, meta=np.zeros((0, 0))))
    with pytest.raises(TypeError, match=r"data is an xarray.DataArray, which is not an array; pass data.data$"):
        gs.gather(lazy, [0])
    assert isinstance(gs.gather(lazy.data, [0]), dask.array.Array)
    for kind, advice in (("csr", "data"), ("bsr", "data"), ("dok", r"tocoo\(\).data"), ("dia", r"tocoo\(\).data")):
        matrix = getattr(sparse, f"{kind}_array")(np.eye(3))
        with pytest.raises(TypeError, match=rf"; pass updates.{advice}, the elements that it stores$"):
            gs.scatter(np.zeros(3), [0, 1, 2], matrix)
