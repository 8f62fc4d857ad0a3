"""Error messages for arrays that are too large, have too many axes, or have no elements that could be read."""

import array_api_strict
import dask.array
import gatherscatter as gs
import jax
import numpy as np
import pytest
import torch
from assertions import assert_refused, each_refused

N = 2**40
WIDE, MANY = np.broadcast_to(np.uint8(0), (4, N)), np.broadcast_to(0, (N,))
TORCH_WIDE, TORCH_MANY = torch.zeros((), dtype=torch.uint8).expand(4, N), torch.zeros((), dtype=torch.int64).expand(N)
DEEP, DEEP_INDICES = np.zeros((1,) * 40), np.zeros((1,) * 40, int)
SHAPE, BYTES = f"shape ({N}, {N})", N**2
FEWER = "but at most 64 are possible; pass"
TORCH, AT, X = torch.zeros(4), torch.tensor([1]), np.zeros(3)


def nested(layout=torch.strided):
    return torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=layout)


def quantized():
    return torch.quantize_per_tensor(torch.ones(4), 0.1, 0, torch.quint8)


def filled(data, value, indices=AT):
    return gs.gather(data, indices, mode="fill", fill_value=value)


TOO_LARGE = {
    "gather": (
        lambda: gs.gather(WIDE, MANY),
        ValueError,
        f"gather: a result of {SHAPE} would be {BYTES} bytes, more than an array can have; pass fewer indices",
    ),
    "gather_nd": (
        lambda: gs.gather_nd(WIDE, MANY[:, None]),
        ValueError,
        f"gather_nd: a result of {SHAPE} would be {BYTES} bytes, more than an array can have; pass fewer indices",
    ),
    "gather_elements": (
        lambda: gs.gather_elements(
            np.broadcast_to(0.0, (1, 4, 1)), np.broadcast_to(np.uint8(0), (1, 2**60, 1)), axis=1
        ),
        ValueError,
        f"gather_elements: a result of shape (1, {2**60}, 1) would be {2**63} bytes, more than an array can have; "
        "pass fewer indices",
    ),
    "of no elements": (
        lambda: gs.gather(np.zeros((4, 0, 2**31)), MANY),
        ValueError,
        f"gather: a result of shape ({N}, 0, {2**31}) would be {2**74} bytes, more than an array can have; "
        "pass fewer indices",
    ),
    "scatter": (
        lambda: gs.scatter(WIDE, MANY, 1),
        ValueError,
        f"scatter: updates of {SHAPE} would be {BYTES} bytes, more than an array can have; pass fewer indices",
    ),
    "no memory": (
        lambda: gs.gather(np.broadcast_to(0.0, (4, 2**20)), MANY[: 2**30]),
        MemoryError,
        f"gather: no memory for a result of shape ({2**30}, {2**20}), {2**53} bytes; pass fewer indices at a time",
    ),
    "no memory for a scatter": (
        lambda: gs.scatter_nd(np.broadcast_to(np.uint8(0), (4, 2**58)), [[0]], 1),
        MemoryError,
        f"scatter_nd: no memory for a result of shape (4, {2**58}), {2**60} bytes; pass fewer indices at a time",
    ),
    "PyTorch": (
        lambda: gs.gather(TORCH_WIDE, TORCH_MANY),
        ValueError,
        f"gather: a result of {SHAPE} would be {BYTES} bytes, more than an array can have; pass fewer indices",
    ),
    "PyTorch, scatter": (
        lambda: gs.scatter(TORCH_WIDE, TORCH_MANY, 1),
        ValueError,
        f"scatter: updates of {SHAPE} would be {BYTES} bytes, more than an array can have; pass fewer indices",
    ),
    "PyTorch, meta": (
        lambda: gs.gather(torch.empty((4, N), device="meta"), torch.empty(N, dtype=torch.int64, device="meta")),
        ValueError,
        f"gather: a result of {SHAPE} would be {4 * BYTES} bytes, more than an array can have; pass fewer indices",
    ),
}

TOO_DEEP = {
    name: (
        lambda asarray=asarray: gs.gather(asarray(DEEP), asarray(DEEP_INDICES)),
        ValueError,
        f"gather: the result has 79 axes, {FEWER} indices with fewer axes",
    )
    for name, asarray in {
        "NumPy": np.asarray,
        "PyTorch": torch.as_tensor,
        "JAX": jax.numpy.asarray,
        "Dask": dask.array.from_array,
        "array API": array_api_strict.asarray,
    }.items()
} | {
    "PyTorch, scatter": (
        lambda: gs.scatter(torch.as_tensor(DEEP), torch.as_tensor(DEEP_INDICES), 1.0),
        ValueError,
        f"scatter: updates has 79 axes, {FEWER} updates with fewer axes",
    ),
    "PyTorch, data": (
        lambda: gs.gather_elements(torch.zeros((1,) * 70), torch.zeros((1,) * 70, dtype=torch.int64)),
        ValueError,
        f"gather_elements: data has 70 axes, {FEWER} data with fewer axes",
    ),
    "PyTorch, indices": (
        lambda: gs.gather(TORCH, torch.zeros((1,) * 70, dtype=torch.int64)),
        ValueError,
        f"gather: indices has 70 axes, {FEWER} indices with fewer axes",
    ),
}

CANNOT = "the PyTorch backend does not support"
PADDED = "pass torch.nested.to_padded_tensor"
TENSORS = {
    "nested data": (
        lambda: gs.gather(nested(), AT),
        NotImplementedError,
        f"gather: {CANNOT} nested data: {PADDED}(data, 0)",
    ),
    "jagged data": (
        lambda: gs.scatter(nested(torch.jagged), AT, 1.0),
        NotImplementedError,
        f"scatter: {CANNOT} nested data: {PADDED}(data, 0)",
    ),
    "nested updates": (
        lambda: gs.scatter(TORCH, AT, nested()),
        NotImplementedError,
        f"scatter: {CANNOT} nested updates: {PADDED}(updates, 0)",
    ),
    "nested indices": (
        lambda: gs.gather(TORCH, nested()),
        NotImplementedError,
        f"gather: {CANNOT} nested indices: {PADDED}(indices, 0)",
    ),
    "nested out": (
        lambda: gs.gather(TORCH, AT, out=nested()),
        NotImplementedError,
        f"gather: {CANNOT} nested out: {PADDED}(out, 0)",
    ),
    "quantized": (
        lambda: gs.scatter(quantized(), AT, quantized()[:1]),
        NotImplementedError,
        f"scatter: {CANNOT} quantized data: pass data.dequantize()",
    ),
    "sparse out": (
        lambda: gs.gather(TORCH, AT, out=torch.zeros(1).to_sparse()),
        NotImplementedError,
        f"gather: {CANNOT} out of layout torch.sparse_coo: pass out.to_dense()",
    ),
    "a dtype without primitives": (
        lambda: gs.gather(torch.zeros(3, dtype=torch.uint8).view(torch.bits8), AT),
        NotImplementedError,
        f"gather: {CANNOT} dtype torch.bits8 on the device cpu: its primitives lack it; pass data.view(torch.uint8)",
    ),
}

UNREADABLE = "has no value at the call; pass a Python number"
SCALARS = {
    "fill_value, of a gradient": (
        lambda: filled(TORCH, torch.tensor(2.0, requires_grad=True)),
        TypeError,
        f"gather: fill_value=tensor(2., requires_grad=True) {UNREADABLE}",
    ),
    "fill_value, meta": (
        lambda: filled(TORCH, torch.tensor(2.0, device="meta")),
        TypeError,
        f"gather: fill_value=tensor(..., device='meta', size=()) {UNREADABLE}",
    ),
    "fill_value, ragged": (
        lambda: filled(X, [[1], [1, 2]], [1]),
        TypeError,
        f"gather: fill_value=[[1], [1, 2]] {UNREADABLE}",
    ),
    "fill_value, thousands of digits": (
        lambda: filled(X, 10**5000, [1]),
        TypeError,
        "gather: fill_value=<int> cannot be held by data's dtype float64 unchanged; pass a value of that dtype",
    ),
    "axis, thousands of digits": (
        lambda: gs.gather(X, [1], axis=10**5000),
        ValueError,
        "gather: axis=<int> is not in [-1, 0] for data of shape (3,); pass 0 for its first axis, -1 for its last",
    ),
    "axis, meta": (
        lambda: gs.gather(TORCH, AT, axis=torch.tensor(0, device="meta")),
        TypeError,
        "gather: axis=tensor(..., device='meta', size=(), dtype=torch.int64) is not an integer; pass an int",
    ),
    "updates, a list of tensors": (
        lambda: gs.scatter(TORCH, AT, [torch.tensor(1.0, requires_grad=True)]),
        ValueError,
        "scatter: updates cannot be made an array (Can't call numpy() on Tensor that requires grad. Use "
        "tensor.detach().numpy() instead); pass numbers",
    ),
    "OpenVINO's axis, two": (
        lambda: gs.openvino.gather(X, [1], np.array([0, 1])),
        TypeError,
        "openvino.gather: axis=array([0, 1]) is not an integer; pass an int",
    ),
    "OpenVINO's axis, none": (
        lambda: gs.openvino.scatter_elements_update(X, [1], [1.0], torch.zeros(0, dtype=torch.int64)),
        TypeError,
        "openvino.scatter_elements_update: axis=tensor([], dtype=torch.int64) is not an integer; pass an int",
    ),
}


@pytest.mark.filterwarnings("ignore:.*(nested tensors is in prototype|quantized tensor creation):UserWarning")
@each_refused(TOO_LARGE | {f"rank: {name}": case for name, case in TOO_DEEP.items()} | TENSORS | SCALARS)
def test_message(call, kind, message):
    assert_refused(call, kind, message)


@pytest.mark.parametrize("transform", [jax.jit, jax.grad])
def test_traced_fill_values(transform):
    with pytest.raises(
        TypeError, match=r"^gather: fill_value=.*Tracer.* has no value at the call; pass a Python number"
    ):
        transform(lambda value: filled(jax.numpy.zeros(3), value, [1]).sum())(1.0)


@pytest.mark.parametrize("asarray", [np.asarray, torch.as_tensor, jax.numpy.asarray, array_api_strict.asarray])
@pytest.mark.parametrize("shape", [(), (1,)])
def test_openvinos_axis_may_be_an_array_of_one_element(shape, asarray):
    axis = asarray(np.full(shape, -1))
    assert gs.openvino.gather([[1, 2]], [1], axis).tolist() == [[2]]
    assert gs.openvino.scatter_elements_update([[1, 2]], [[1]], [[9]], axis).tolist() == [[1, 9]]
