"""PyTorch: small calls without a plan, by DLPack's C exchange API and by NumPy, and what they must leave to a plan."""

import ctypes
import gc
import tracemalloc

import gatherscatter as gs
import numpy as np
import pytest
import torch
from gatherscatter._kernels import torch_tensors
from gatherscatter.backends.torch import small_calls
from gatherscatter.operators import AXIS, GATHER, SCATTER
from pairwise import in_turn
from torch.autograd import forward_ad
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode


@pytest.fixture(params=["exchange", "numpy"], autouse=True)
def way(request, monkeypatch):
    """What makes the arrays: the API, or as for a PyTorch without it, NumPy."""
    if request.param == "exchange" and not small_calls.IS_LOADED:
        pytest.skip("this PyTorch lacks the exchange API")
    with monkeypatch.context() as patch:
        if request.param == "numpy":
            patch.setattr(small_calls, "Tensor", object)
        assert small_calls.load() == (request.param == "exchange")
    yield request.param
    small_calls.load()


def gather(data, indices, out=None):
    return small_calls.try_gather(AXIS, True, data, indices, 0, 0, "raise", 0, out, 0, GATHER)


def scatter(data, indices, updates, out=None):
    return small_calls.try_scatter(AXIS, True, data, indices, updates, 0, 0, "none", "raise", True, out, 0, SCATTER)


# What they do


@in_turn(
    "dtype",
    ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
     "complex64", "complex128"],
)  # fmt: skip
def test_every_dtype_and_layout(dtype):
    numbers = np.arange(24).reshape(4, 6).astype(dtype)
    whole, places = torch.from_numpy(numbers), torch.tensor([3, -4, 3], dtype=torch.int32)
    for array, data in ((numbers, whole), (numbers[1:].T, whole[1:].T), (numbers[:, 3], whole[:, 3])):
        at = places[:, None] % 3 if array.ndim == 1 else places % 3
        result = gather(data, at)
        assert result.dtype == data.dtype
        assert np.array_equal(result.numpy(), array[at.numpy()])
        out = torch.empty_like(result)
        assert gather(data, at, out) is out
        assert out.equal(result)
    result = scatter(whole, torch.tensor([1, 1]), whole[2:])
    assert np.array_equal(result.numpy(), numbers[[0, 3, 2, 3]])
    assert np.array_equal(whole.numpy(), numbers)
    assert scatter(whole, torch.tensor([1, 1]), whole[2:].clone(), whole) is whole
    assert whole.equal(result)


def test_empty_tensors_and_rank_0():
    assert gather(torch.zeros(3, 0), torch.tensor([2])).shape == (1, 0)
    assert gather(torch.zeros(3, 2), torch.zeros(0, dtype=torch.int64)).shape == (0, 2)
    assert gather(torch.arange(3.0), torch.tensor(2)).item() == 2
    assert scatter(torch.zeros(3, 0), torch.tensor([2]), torch.zeros(1, 0)).shape == (3, 0)


def test_results_own_their_memory():
    data, places = torch.arange(4.0), torch.tensor([1, 0])
    result = gather(data, places)
    data.fill_(7)
    del data
    gc.collect()
    result.add_(1)
    assert result.tolist() == [2, 1]
    result.untyped_storage()
    assert result[1:].clone().tolist() == [1]


def test_nothing_leaks():
    data, places, updates = torch.zeros(100, 8), torch.arange(50), torch.ones(50, 8)
    leaf = torch.zeros(100, 8, requires_grad=True)

    def calls():
        for _ in range(60):
            gather(data, places)
            scatter(data, places, updates)
            scatter(data, places, updates, data)
            gs.gather(leaf, places).sum().backward()
            gather(data.to_sparse(), places)
        gc.collect()

    calls()
    tracemalloc.start()
    try:
        calls()
        before = tracemalloc.get_traced_memory()[0]
        calls()
        assert tracemalloc.get_traced_memory()[0] - before < 20_000  # one result for each call were 96 000
    finally:
        tracemalloc.stop()


def test_a_storage_stays_resizable(way):
    data = torch.zeros(4)
    gather(data, torch.tensor([1]))
    if way == "exchange":
        data.untyped_storage().resize_(64)
        assert data.untyped_storage().nbytes() == 64


def test_parameters_where_no_gradient_is_recorded():
    weights, rows = torch.nn.Parameter(torch.arange(6.0).reshape(3, 2)), torch.tensor([2, 0])
    assert gather(weights, rows).requires_grad
    with torch.no_grad():
        result = gather(weights, rows)
    assert not result.requires_grad
    assert result.tolist() == [[4, 5], [0, 1]]


def test_out_has_a_new_version():
    data, out = torch.arange(4.0), torch.zeros(2)
    version = out._version
    gather(data, torch.tensor([1, 0]), out)
    assert out._version == version + 1
    with pytest.raises(IndexError, match=r"indices\[0\] = 9 "):
        gather(data, torch.tensor([9, 0]), out)
    assert out._version == version + 1
    assert out.tolist() == [1, 0]


def test_inference_tensors_in_inference_mode():
    with torch.inference_mode():
        data = torch.zeros(3)
        assert scatter(data, torch.tensor([1]), torch.ones(1), data) is data
        assert gather(data, torch.tensor([1])).is_inference()
    assert data.tolist() == [0, 1, 0]
    assert gather(torch.ones(3), torch.arange(3), data) is None
    assert scatter(data, torch.tensor([1]), torch.ones(1), data) is None


# What they leave to a plan


def cut(tensor, n_bytes):
    tensor.untyped_storage().resize_(n_bytes)
    return tensor


def of_a_transform():
    kept = []
    torch.func.grad(lambda x: kept.append(x) or x.sum())(torch.ones(4))
    return kept[0]


class Subclass(torch.Tensor):
    pass


REFUSED = {
    "a lazy conjugate": lambda: torch.ones(4, dtype=torch.complex64).conj(),
    "a lazy negation": lambda: torch.ones(4, dtype=torch.complex64).conj().imag,
    "a storage cut off": lambda: cut(torch.ones(4), 12),
    "a storage cut off before a view": lambda: tail_of_cut(),
    "a freed storage": lambda: cut(torch.ones(4), 0),
    "a sparse tensor": lambda: torch.ones(4).to_sparse(),
    "a tensor without memory": lambda: torch.ones(4, device="meta"),
    "a nested tensor": lambda: torch.nested.nested_tensor([torch.ones(4)]),
    "a quantized tensor": lambda: torch.quantize_per_tensor(torch.ones(4), 0.1, 0, torch.quint8),
    "a tensor of zeros without memory": lambda: torch._efficientzerotensor(4),
    "a dtype that NumPy lacks": lambda: torch.ones(4, dtype=torch.complex32),
    "a tensor of torch.func": of_a_transform,
    "a subclass": lambda: torch.ones(4).as_subclass(Subclass),
    "no tensor": lambda: np.ones(4, np.float32),
}


def tail_of_cut():
    whole = torch.ones(5)
    tail = whole[1:]
    cut(whole, 16)  # as many bytes as the view shows
    return tail


@pytest.mark.filterwarnings("ignore::UserWarning")
@in_turn("name", REFUSED)
def test_arguments_that_need_more(name):
    given, places = REFUSED[name](), torch.tensor([0])
    dtype = given.dtype if isinstance(given, torch.Tensor) and not given.is_quantized else torch.float32
    whole = torch.ones(4, dtype=dtype)
    assert gather(given, places) is None
    assert scatter(given, places, 1.0) is None
    assert gather(whole, torch.arange(4), given) is None
    assert scatter(whole, torch.arange(4), 1.0, given) is None
    if isinstance(given, torch.Tensor):
        assert scatter(whole, torch.arange(4), given) is None
    assert small_calls.arrays(given, places, None) is None


def test_indices_that_need_more():
    data = torch.arange(4.0)
    for indices in (
        torch._neg_view(torch.tensor([1])),
        cut(torch.tensor([1]), 4),
        torch.tensor([1]).as_subclass(Subclass),
        torch.ones(1, dtype=torch.int64, device="meta"),
        [1],
    ):
        assert gather(data, indices) is None
        assert scatter(data, indices, 1.0) is None


class Dispatched(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


class OfFunctions(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


@pytest.mark.filterwarnings("ignore:.torch.jit.trace:DeprecationWarning")
def test_calls_that_something_records():
    data, places, found = torch.ones(4), torch.tensor([0]), []

    def call(x=data):
        found.append(gather(x, places))
        found.append(scatter(x, places, 1.0))
        return data

    with Dispatched():
        call()
    with forward_ad.dual_level():
        call()
    torch.func.vmap(lambda x: call() * x)(torch.ones(2))
    torch.jit.trace(lambda x: call(x) + x, torch.ones(4), check_trace=False)
    assert len(found) >= 8
    assert all(result is None for result in found)
    with OfFunctions():  # which PyTorch's C functions do not report to
        assert gs.gather(data, places).tolist() == [1]


def test_out_with_a_gradient():
    data, leaf, places = torch.ones(4), torch.ones(4, requires_grad=True), torch.arange(4)
    for call in (
        lambda: gather(leaf, places, data),
        lambda: gather(data, places, leaf),
        lambda: scatter(leaf, places, data, data),
        lambda: scatter(data, places, leaf, data),
        lambda: scatter(data, places, data.clone(), leaf),
        lambda: scatter(leaf, places, 1.0),
    ):
        assert call() is None
    assert leaf.equal(data)
    with torch.no_grad():
        assert scatter(leaf, places, torch.zeros(4), leaf) is leaf
    assert leaf.tolist() == [0, 0, 0, 0]


def test_more_axes_than_numpy_has():
    data = torch.ones((1,) * 65)
    assert gather(data, torch.tensor([0])) is None
    assert scatter(torch.ones(4), torch.tensor([0]), data) is None


def test_an_api_of_another_version_is_not_loaded():
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    table = (ctypes.c_uint32 * 32)(2, 0)  # version 2.0, and no older one
    capsule = new(ctypes.addressof(table), b"dlpack_exchange_api", None)
    assert not torch_tensors.load(capsule, torch.Tensor, torch.UntypedStorage, [])
    assert gather(torch.arange(3), torch.tensor([2])).tolist() == [2]


# Gradients by PyTorch's primitives: the sums are those of the sequential loop


@pytest.mark.parametrize("shape", [(7,), (7, 5), (7, 3, 2)])
def test_the_gradient_of_a_small_gather_sums_in_order(shape):
    generator = torch.Generator().manual_seed(0)
    leaf = torch.randn(shape, generator=generator, requires_grad=True)
    places = torch.randint(0, 3, (60,), generator=generator)
    grad = torch.randn(60, *shape[1:], generator=generator)
    strided = torch.randn(*shape[:0:-1], 60, generator=generator).permute(*range(len(shape))[::-1])
    for slope in (grad, strided, torch.tensor(0.1).expand(grad.shape)):
        result = gs.gather(leaf, places)
        assert "Gather" not in type(result.grad_fn).__name__  # a primitive
        (found,) = torch.autograd.grad(result, leaf, slope)
        expected = gs.scatter(np.zeros(shape, np.float32), places.numpy(), slope.numpy(), reduction="add")
        assert found.numpy().tobytes() == expected.tobytes()


@pytest.mark.parametrize("shape", [(7,), (7, 5), (7, 3, 2)])
def test_a_small_scatter_add_with_a_gradient_sums_in_order(shape):
    generator = torch.Generator().manual_seed(0)
    leaf = torch.randn(shape, generator=generator, requires_grad=True)
    places = torch.randint(0, 3, (60,), generator=generator)
    updates = torch.randn(60, *shape[1:], generator=generator)
    strided = torch.randn(*shape[:0:-1], 60, generator=generator).permute(*range(len(shape))[::-1])
    for update in (updates, strided, torch.tensor(0.1).expand(updates.shape)):
        result = gs.scatter(leaf, places, update, reduction="add")
        assert result.requires_grad
        expected = gs.scatter(leaf.detach().numpy(), places.numpy(), update.numpy(), reduction="add")
        assert result.detach().numpy().tobytes() == expected.tobytes()


@pytest.mark.parametrize("shape", [(4,), (4, 3), (4, 3, 2)])
def test_derivatives_of_small_calls(shape):
    data = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    updates = torch.randn(3, *shape[1:], dtype=torch.float64, requires_grad=True)
    places = torch.tensor([2, 0, 2])
    for call, inputs in (
        (lambda x: gs.gather(x, places), (data,)),
        (lambda x, u: gs.scatter(x, places, u, reduction="add"), (data, updates)),
    ):
        assert torch.autograd.gradcheck(call, inputs, check_batched_grad=True, fast_mode=True)
        assert torch.autograd.gradgradcheck(call, inputs, check_batched_grad=True, fast_mode=True)


@pytest.mark.parametrize("shape", [(3, 2), (0, 2), (3, 0)])
def test_the_gradient_of_no_rows(shape):
    leaf = torch.ones(shape, requires_grad=True)
    result = gs.gather(leaf, torch.zeros(0, dtype=torch.int64))
    slope = torch.ones_like(result, requires_grad=True)
    (found,) = torch.autograd.grad(result, leaf, slope, create_graph=True)
    assert found.equal(torch.zeros(shape))
    (second,) = torch.autograd.grad(found, slope, torch.ones(shape))
    assert second.shape == result.shape


def test_the_bounds_of_a_small_gather_with_a_gradient():
    leaf = torch.arange(6.0).reshape(3, 2).requires_grad_()
    for row in (3, -4, 2**62, -(2**63)):
        with pytest.raises(IndexError, match="out of bounds"):
            gs.gather(leaf, torch.tensor([0, row]))
        assert gs.gather(leaf, torch.tensor([0, row]), mode="clip")[1].tolist() in ([0, 1], [4, 5])
    assert gs.gather(leaf, torch.tensor([0, -1, 5])[:2]).tolist() == [[0, 1], [4, 5]]
    assert gs.gather(leaf, torch.tensor([2, 7, 0])[::2]).tolist() == [[4, 5], [0, 1]]
    with pytest.raises(IndexError, match="out of bounds"):
        gs.gather(leaf, torch.tensor([-1]), wrap_negative_indices=False)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_the_gradient_of_complex_rows(dtype):
    leaf = torch.ones((3, 2), dtype=getattr(torch, dtype), requires_grad=True)
    result = gs.gather(leaf, torch.tensor([2, 0, 2]))
    assert torch.autograd.grad(result, leaf, result.detach() * 1j)[0].tolist() == [[1j, 1j], [0, 0], [2j, 2j]]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_the_gradient_of_duplicates_is_summed_in_order(dtype):
    generator = torch.Generator().manual_seed(0)
    slope = torch.randn((9, 40), generator=generator).to(getattr(torch, dtype)).T
    places = torch.randint(3, (40, 9), generator=generator)
    expected = [torch.zeros(3, dtype=slope.dtype) for _ in range(2)]
    for place, value in zip(places.reshape(-1), slope.reshape(-1), strict=True):
        expected[0][place] += value
    for place, value in zip(places[:, 0], slope[:, 0], strict=True):
        expected[1][place] += value
    leaf = torch.zeros(3, dtype=slope.dtype, requires_grad=True)
    by_tuples = torch.autograd.grad(gs.gather_nd(leaf, places[..., None]), leaf, slope)[0]
    by_axis = torch.autograd.grad(gs.gather(leaf, places[:, 0]), leaf, slope[:, 0])[0]
    assert by_tuples.equal(expected[0])
    assert by_axis.equal(expected[1])


@pytest.mark.parametrize("name", [f"{kind}int{bits}" for kind in ("", "u") for bits in range(1, 8)])
def test_integers_of_less_than_a_byte(name):
    if not hasattr(torch, name):
        pytest.skip("a dtype of later versions")
    few = torch.zeros(3, dtype=torch.uint8).view(getattr(torch, name))
    assert gather(few, torch.tensor([0, 2])) is None
    assert gather(torch.ones(3), few) is None
    assert scatter(torch.ones(3, dtype=torch.uint8), torch.tensor([0, 1, 2]), few) is None


def test_more_bytes_than_numpy_has():
    many = torch.zeros(()).expand(2**62)
    with pytest.raises(ValueError, match="updates has shape"):
        gs.scatter(torch.zeros(3), torch.tensor([0]), many)


def test_a_mode_that_replaces_storages():
    class Mode(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            return [result] if isinstance(result, torch.UntypedStorage) else result

    with Mode(), pytest.raises(AttributeError, match="nbytes"):
        gs.gather(torch.ones(3), torch.tensor([0]))
