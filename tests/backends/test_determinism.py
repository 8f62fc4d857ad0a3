"""Float sums and products in order, on devices whose primitives use an unspecified order."""

import contextlib

import gatherscatter as gs
import numpy as np
import pytest
import torch
from libraries import by_primitives, on_devices
from pairwise import in_turn

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128]


@contextlib.contextmanager
def by_gatherscatter():
    gs.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        gs.use_deterministic_algorithms(False)


@contextlib.contextmanager
def by_torch():
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def case(dtype, row, seed):
    """Some rows with many updates, some with none, and updates that are dropped."""
    generator = torch.Generator().manual_seed(seed)
    data = torch.randn(40, *row, generator=generator).to(dtype)
    indices = torch.randint(-20, 20, (500,), generator=generator) ** 3 % 40
    indices[::50] = 99
    updates = (torch.randn(500, *row, generator=generator) * 0.3 + 1).to(dtype)
    if dtype.is_complex:
        updates = torch.complex(updates.real, updates.real.flip(0) * 0.1)
    data[0] = -0.0  # which 0.0 + -0.0 is not
    return data, indices, updates


@pytest.mark.parametrize("setting", [by_gatherscatter, by_torch])
@in_turn("row", [(), (3,), (2, 2)])
@pytest.mark.parametrize("reduction", ["add", "mul", "mean"])
@in_turn("dtype", DTYPES)
@pytest.mark.parametrize("device", on_devices("torch"))
def test_torch_has_the_bits_of_the_loop(dtype, reduction, row, setting, device):
    """On the CPU by the same primitives as on a GPU."""
    data, indices, updates = case(dtype, row, 0)
    for include_self in (True, False):
        options = {"reduction": reduction, "include_self": include_self, "mode": "drop"}
        expected = gs.scatter(data, indices, updates, **options)
        on_device = [tensor.to(device) for tensor in (data, indices, updates)]
        with setting(), by_primitives() if device == "cpu" else contextlib.nullcontext():
            result = gs.scatter(*on_device, **options).cpu()
        as_bytes = [
            t.contiguous().view(torch.uint8).numpy().tobytes() for t in map(torch.atleast_1d, (result, expected))
        ]
        assert as_bytes[0] == as_bytes[1]


@pytest.mark.parametrize("device", on_devices("cupy")[1:])
@pytest.mark.parametrize("row", [(), (3,)])
@pytest.mark.parametrize("reduction", ["add", "mul", "mean"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_cupy_has_the_bits_of_the_loop(dtype, reduction, row, device):
    import cupy

    arrays = [tensor.numpy() for tensor in case(getattr(torch, dtype), row, 1)]
    for include_self in (True, False):
        options = {"reduction": reduction, "include_self": include_self, "mode": "drop"}
        expected = gs.scatter(*arrays, **options)
        with by_gatherscatter():
            result = gs.scatter(*map(cupy.asarray, arrays), **options)
        assert cupy.asnumpy(result).tobytes() == expected.tobytes()


def test_the_setting():
    assert gs.are_deterministic_algorithms_enabled() is False
    with by_gatherscatter():
        assert gs.are_deterministic_algorithms_enabled() is True
    gs.use_deterministic_algorithms(np.bool(False))
    assert gs.are_deterministic_algorithms_enabled() is False
    with pytest.raises(TypeError, match=r"^use_deterministic_algorithms: mode=1 is not a bool; pass True or False$"):
        gs.use_deterministic_algorithms(1)
