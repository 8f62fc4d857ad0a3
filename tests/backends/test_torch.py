"""PyTorch: shapes without numbers, memory, and what comes in."""

import gatherscatter as gs
import ml_dtypes
import numpy as np
import pytest
import torch
from assertions import assert_same_numbers
from constants import FLOAT_REDUCTIONS
from libraries import from_torch
from torch_cases import each_device

# Shapes without numbers


@pytest.mark.parametrize("reduction", FLOAT_REDUCTIONS)
def test_meta_tensors_have_shapes(reduction):
    data, indices = torch.empty(4, 3, device="meta"), torch.empty(5, 1, dtype=torch.int64, device="meta")
    result = gs.gather_nd(data, indices)
    assert result.is_meta
    assert result.shape == (5, 3)
    result = gs.scatter_nd(data, indices, result, reduction=reduction)
    assert result.is_meta
    assert result.shape == (4, 3)


@pytest.mark.parametrize("reduction", FLOAT_REDUCTIONS)
def test_fake_tensors_have_shapes(reduction):
    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

    with FakeTensorMode():
        data, indices = torch.empty(4, 3), torch.empty(5, 1, dtype=torch.int64)
        result = gs.gather_nd(data, indices)
        assert isinstance(result, FakeTensor)
        assert result.shape == (5, 3)
        result = gs.scatter_nd(data, indices, result, reduction=reduction)
        assert isinstance(result, FakeTensor)
        assert result.shape == (4, 3)


# Memory and what comes in


def test_an_out_of_another_library_is_refused_by_small_calls_too():
    """Whatever has a method numpy() could hand out a copy, which would be written in its place."""

    class Other:
        def numpy(self):
            return np.zeros(2, np.float32)

    data, indices = torch.arange(4.0), torch.tensor([3, 1])
    for out in (Other(), np.zeros(2, np.float32)):
        with pytest.raises(TypeError, match="out"):
            gs.gather(data, indices, out=out)
        with pytest.raises(TypeError, match="out"):
            gs.scatter(data, indices, data[:2], out=out)


def test_cpu_tensors_share_their_memory_with_the_kernels(monkeypatch):
    from gatherscatter.backends.torch import NUMPY

    seen = []
    gather = NUMPY.gather
    # Else a small call has no plan.
    monkeypatch.setattr("gatherscatter.backends.torch.small_calls.try_gather", lambda *args: None)
    monkeypatch.setattr(NUMPY, "gather", lambda data, *rest: seen.append(data) or gather(data, *rest))
    data = torch.arange(12.0).reshape(3, 4).T
    assert gs.gather(data, torch.tensor([3, 1]), mode="clip").tolist() == data[[3, 1]].tolist()
    assert seen[0].ctypes.data == data.data_ptr()
    assert seen[0].strides == (4, 16)
    gs.gather(data.requires_grad_(), torch.tensor([3, 1]), mode="clip")
    assert seen[1].ctypes.data == data.data_ptr()  # with a gradient too
    with torch.no_grad():
        gs.gather(data, torch.tensor([3, 1]), mode="clip")
    assert len(seen) == 3


def test_views_that_numpy_does_not_know():
    data = torch.complex(torch.arange(4.0), torch.arange(4.0) + 1)
    indices = torch.tensor([3, 0])
    assert gs.gather(data.conj(), indices).equal(data.conj()[indices])
    assert gs.gather(data.conj().imag, indices).equal(data.conj().imag[indices])
    with torch.inference_mode():
        assert gs.gather(data, indices).equal(data[indices])


def test_parameters_and_subclasses():
    parameter = torch.nn.Parameter(torch.arange(3.0))
    result = gs.gather(parameter, torch.tensor([2]))
    assert result.requires_grad
    with torch.no_grad():
        assert gs.gather(parameter, torch.tensor([2])).tolist() == [2]

    class Own(torch.Tensor):
        pass

    own, indices = torch.arange(3.0).as_subclass(Own), torch.tensor([2]).as_subclass(Own)
    for _ in range(3):  # the first call selects the way, and later calls reuse the choice
        result = gs.gather(own, indices)
        assert type(result) is Own
        assert result.tolist() == [2]
        assert type(gs.scatter(own, indices, own[:1])) is Own


@each_device
@pytest.mark.parametrize("mode", ["raise", "clip", "wrap", "fill"])
def test_uint64_indices(mode, device):
    data = torch.arange(10.0, device=device).requires_grad_()  # by primitives, which have no uint64
    values = [3, 9] if mode == "raise" else [3, 2**64 - 1, 2**63, 12]
    indices = torch.tensor(values, dtype=torch.uint64, device=device)
    expected = gs.gather(np.arange(10.0), np.array(values, np.uint64), mode=mode)
    assert gs.gather(data, indices, mode=mode).tolist() == expected.tolist()
    assert gs.gather_nd(data, indices[:, None], mode=mode).tolist() == expected.tolist()
    if mode == "raise":
        with pytest.raises(IndexError, match=rf"indices\[0\] = {2**64 - 1} is out of bounds"):
            gs.gather(data, torch.tensor([2**64 - 1], dtype=torch.uint64, device=device))


@each_device
def test_an_index_outside_is_named(device):
    data = torch.zeros(4, 5, device=device)
    for grad_or_not in (False, True):
        data.requires_grad_(grad_or_not)
        with pytest.raises(IndexError) as caught:
            gs.gather_nd(data, torch.tensor([[0, 0], [2, 9]], device=device))
        message = "gather_nd: indices[1] = (2, 9) is out of bounds for data of shape (4, 5): axis 1 has size 5"
        assert str(caught.value) == message
        with pytest.raises(IndexError, match=r"^gather: indices\[1\] = -5 is out of bounds"):
            gs.gather(data, torch.tensor([0, -5], device=device))
    assert data.detach().sum().item() == 0  # the device still works


@each_device
def test_out(device):
    data, indices = torch.arange(6.0, device=device).reshape(3, 2), torch.tensor([2, 0], device=device)
    out = torch.empty(2, 2, device=device)
    assert gs.gather(data, indices, out=out) is out
    assert out.tolist() == [[4, 5], [0, 1]]
    assert gs.scatter(data, indices, out, reduction="add", out=data) is data
    assert data.tolist() == [[0, 2], [2, 3], [8, 10]]
    before = data.clone()
    with pytest.raises(IndexError):
        gs.scatter(data, indices + 1, out, out=data)
    assert data.equal(before)
    overlapping = torch.arange(5.0, device=device)
    gs.gather(overlapping[:4], torch.tensor([3, 2, 1, 0], device=device), out=overlapping[1:])
    assert overlapping.tolist() == [0, 3, 2, 1, 0]


@each_device
def test_lists_and_scalars(device):
    data = torch.tensor([1.5, 2.5], dtype=torch.bfloat16, device=device)
    assert gs.gather(data, [1]).device == data.device
    assert gs.gather(data, []).shape == (0,)
    assert gs.scatter(data, [1], 7).tolist() == [1.5, 7]
    assert gs.scatter(data, [1], [7.0], reduction="add").tolist() == [1.5, 9.5]
    assert gs.gather(data, [9], mode="fill", fill_value=0.5).tolist() == [0.5]
    assert gs.gather([1.0, 2.0], torch.tensor([1])).dtype is torch.float32  # as torch.tensor makes it
    with pytest.raises(TypeError, match=r"^gather: fill_value=1.5 cannot be held by data's dtype int64 unchanged"):
        gs.gather(torch.tensor([1], device=device), [9], mode="fill", fill_value=1.5)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda x: gs.gather(x, np.array([0])),
            TypeError,
            "gather: data is a torch.Tensor but indices is a numpy.ndarray; pass torch.asarray(indices)",
        ),
        (
            lambda x: gs.gather(x, torch.tensor([0.0])),
            TypeError,
            "gather: indices has dtype torch.float32, but indices are integers of 8 to 64 bits; "
            "pass indices.to(torch.int64)",
        ),
        (
            lambda x: gs.scatter(x, torch.tensor([0]), torch.tensor([0])),
            TypeError,
            "scatter: updates has dtype torch.int64, but data has torch.float32; pass updates.to(data.dtype)",
        ),
        (
            lambda x: gs.scatter(x, torch.tensor([0]), torch.zeros(2)),
            ValueError,
            "scatter: updates has shape (2,); pass shape (1,), or one that broadcasts to it",
        ),
        (
            lambda x: gs.gather(x, torch.empty(1, dtype=torch.int64, device="meta")),
            ValueError,
            "gather: indices is on meta, but data is on cpu; move it there",
        ),
        (
            lambda x: gs.gather(x.to_sparse(), torch.tensor([0])),
            NotImplementedError,
            "gather: the PyTorch backend does not support data of layout torch.sparse_coo: pass data.to_dense()",
        ),
        (
            lambda x: gs.scatter(x.to(torch.float8_e5m2), torch.tensor([0]), 1, reduction="add"),
            TypeError,
            "scatter: reduction='add' does not support dtype torch.float8_e5m2; "
            "convert data and updates to one that it supports: bool, int8, int16, int32, int64, "
            "uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64, complex64, complex128",
        ),
        (
            lambda x: gs.gather(x, torch.tensor([0]), out=np.zeros(1)),
            TypeError,
            "gather: out is a numpy.ndarray; pass a torch.Tensor",
        ),
    ],
)
def test_message(call, kind, message):
    with pytest.raises(kind) as caught:
        call(torch.zeros(3))
    assert str(caught.value) == message


def test_float8_moves():
    data = torch.tensor([1.0, 2.0, 3.0]).to(torch.float8_e4m3fn)
    assert gs.gather(data, torch.tensor([2, 0])).float().tolist() == [3, 1]
    assert gs.scatter(data, torch.tensor([2]), data[:1]).float().tolist() == [1, 2, 1]


@pytest.mark.parametrize("reduction", FLOAT_REDUCTIONS)
def test_bfloat16_without_ml_dtypes(reduction, monkeypatch):
    """PyTorch does not bring ml_dtypes: then bfloat16 goes by primitives, to the same result."""
    from gatherscatter.backends.torch import memory as backend
    from gatherscatter.backends.torch import small_calls

    monkeypatch.setattr(small_calls, "try_scatter", lambda *args: None)  # which knows bfloat16 by now
    monkeypatch.delitem(backend.NUMPY_DTYPES, torch.bfloat16)
    monkeypatch.delitem(backend._CARRIED, torch.bfloat16)
    dtype = np.dtype(ml_dtypes.bfloat16)
    data, updates = np.arange(4).astype(dtype), np.arange(6).astype(dtype)  # small: no sum rounds
    indices = np.array([1, 1, 0, -1, 1, 2])
    expected = gs.scatter(data, indices, updates, reduction=reduction)
    tensors = [torch.from_numpy(a.astype(np.float32)).to(torch.bfloat16) for a in (data, updates)]
    result = gs.scatter(tensors[0], torch.from_numpy(indices), tensors[1], reduction=reduction)
    assert_same_numbers(from_torch(result), expected)
    assert gs.gather(tensors[0], [1], mode="fill", fill_value=0.5).tolist() == [1]
