"""PyTorch: `out=` with autograd, and tensors whose storage does not match their shape."""

import gatherscatter as gs
import pytest
import torch
from torch_cases import each_device

SIZES = pytest.mark.parametrize("n", [6, 60_000])  # with and without a plan


@SIZES
@pytest.mark.parametrize("reduction", ["none", "mean"])
@pytest.mark.parametrize("function", ["gather", "scatter"])
@each_device
def test_backward_refuses_what_out_overwrote(function, reduction, n, device):
    weights = torch.ones(n, 3, requires_grad=True, device=device)
    data, rows = torch.ones(n, 3, device=device), torch.arange(n, device=device)
    loss = (weights * data).sum()
    version = data._version
    if function == "gather":
        assert gs.gather(torch.zeros(n, 3, device=device), rows, out=data) is data
    else:
        assert gs.scatter(data, rows, torch.zeros(n, 3, device=device), reduction=reduction, out=data) is data
    assert data._version == version + 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@SIZES
@pytest.mark.parametrize("argument", ["data", "updates", "out"])
@each_device
def test_out_has_no_gradient(argument, n, device):
    arguments = {name: torch.zeros(n, 3, device=device) for name in ("data", "updates", "out")}
    arguments[argument].requires_grad_()
    rows = torch.arange(n, device=device)
    message = (
        rf"^scatter: {argument} requires grad, and autograd cannot differentiate a call with out=; "
        r"omit out=, or call scatter in torch.no_grad\(\)"
    )
    with pytest.raises(RuntimeError, match=message):
        gs.scatter(arguments["data"], rows, arguments["updates"], out=arguments["out"])
    if argument != "updates":
        with pytest.raises(RuntimeError, match=rf"^gather: {argument} requires grad"):
            gs.gather(arguments["data"], rows, out=arguments["out"])
    with torch.no_grad():
        gs.scatter(arguments["data"], rows, arguments["updates"] + 1, out=arguments["out"])
    assert arguments["out"].detach().equal(torch.ones(n, 3, device=device))


@SIZES
def test_a_parameter_in_place(n):
    parameter = torch.nn.Parameter(torch.zeros(n, 3))
    with torch.no_grad():
        gs.scatter(parameter, torch.arange(n), torch.ones(n, 3), reduction="add", out=parameter)
    assert parameter.detach().equal(torch.ones(n, 3))
    assert parameter.requires_grad


@SIZES
def test_inference_tensors(n):
    rows = torch.arange(n)
    with torch.inference_mode():
        inference = torch.zeros(n, 3)
        gs.scatter(inference, rows, 1.0, out=inference)
        normal = torch.zeros(n, 3)
        gs.gather(inference, rows, out=normal)
    assert inference.equal(torch.ones(n, 3))
    for call in (
        lambda: gs.scatter(inference, rows, 1.0, out=inference),
        lambda: gs.gather(torch.zeros(n, 3), rows, out=inference),
    ):
        with pytest.raises(RuntimeError, match="out is an inference tensor, which only"):
            call()
    assert inference.equal(torch.ones(n, 3))
    assert gs.gather(inference, rows).equal(inference)


@SIZES
def test_a_storage_that_is_too_small_is_refused(n):
    """FSDP, for instance, frees the memory of parameters in this way."""
    rows = torch.arange(n)
    for n_bytes in (0, 12, n * 12 - 4):
        cut = torch.zeros(n, 3)
        cut.untyped_storage().resize_(n_bytes)
        whole = torch.zeros(n, 3)
        message = rf"has shape \({n}, 3\), but its storage has only {n_bytes} bytes"
        for call in (
            lambda cut=cut: gs.gather(cut, rows),
            lambda cut=cut: gs.gather(cut.requires_grad_(), rows),
            lambda cut=cut: gs.scatter(cut.detach(), rows, 1.0),
            lambda cut=cut, whole=whole: gs.scatter(whole, rows, cut.detach()),
            lambda cut=cut, whole=whole: gs.scatter(whole, rows, 1.0, out=cut.detach()),
            lambda cut=cut, whole=whole: gs.gather(whole, rows, out=cut.detach()),
        ):
            with pytest.raises(ValueError, match=message):
                call()
        assert whole.equal(torch.zeros(n, 3))
    places = torch.zeros(n, dtype=torch.int64)
    places.untyped_storage().resize_(8)
    with pytest.raises(ValueError, match="indices has shape"):
        gs.gather(torch.zeros(n, 3), places)


def test_views_need_no_more_than_they_show():
    for n_bytes, is_enough in ((40, True), (28, True), (24, False)):  # the last element of the view is number 6
        base = torch.arange(10.0)
        tail = base[2:8:2]
        base.untyped_storage().resize_(n_bytes)
        if is_enough:
            assert gs.gather(tail, torch.tensor([2, 0])).tolist() == [6, 2]
        else:
            with pytest.raises(ValueError, match="its storage has only 24 bytes"):
                gs.gather(tail, torch.tensor([2, 0]))
    shifted = torch.arange(10.0)
    view = shifted[1:]
    shifted.untyped_storage().resize_(36)  # as many bytes as the view shows, but it starts one element later
    with pytest.raises(ValueError, match="its storage has only 36 bytes"):
        gs.gather(view, torch.tensor([8]))
    assert gs.gather(torch.ones(3, 1).expand(3, 4)[1:], torch.tensor([0])).tolist() == [[1, 1, 1, 1]]
    assert gs.gather(torch.zeros(5, 0)[2:], torch.tensor([1])).shape == (1, 0)
