"""PyTorch's primitives, as on a GPU: a call is few operators. Their values are compared in test_backends.py."""

import importlib.util
from functools import partial
from itertools import product
from pathlib import Path

import gatherscatter as gs
import pytest
import torch
from libraries import by_primitives, needs
from pairwise import in_turn

PATH = Path(__file__).parents[2] / "benchmarks" / "gpu_operators.py"
pytestmark = needs(PATH.exists(), "benchmarks/ is not part of the source distribution")

# At most so many operators, unchecked and checked.
LIMITS = {
    "gather_nd of elements": (4, 6),
    "gather of rows": (4, 6),
    "gather_elements": (4, 6),
    "set of elements": (10, 12),
    "set of rows": (10, 12),
    "add of elements": (5, 7),
    "add of rows": (5, 7),
    "max of rows": (5, 7),
    "mean of rows": (11, 13),
    "mean of rows, include_self=False": (11, 13),
}


@pytest.fixture(scope="module")
def counting():
    spec = importlib.util.spec_from_file_location("gpu_operators", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def calls(counting):
    return {name: call for name, _, call in counting.workloads()}


@pytest.mark.parametrize("name", LIMITS)
def test_a_call_is_few_operators(name, counting, calls):
    unchecked, checked = LIMITS[name]
    promised = counting.by_primitives(calls[name], mode="promise_in_bounds").names
    strict = counting.by_primitives(calls[name], mode="promise_in_bounds", wrap_negative_indices=False).names
    assert len(promised) <= unchecked, promised
    assert len(strict) <= len(promised), strict
    found = counting.by_primitives(calls[name]).names
    assert len(found) <= checked, found


def test_operators_inside_of_ours_are_counted(counting, calls):
    """And the counter sees PyTorch's own, views too."""
    x = torch.arange(6.0)
    counter = counting.by_primitives(lambda: x.reshape(2, 3).sum())
    assert counter.names == ["view", "sum"]
    assert counter.bytes == 24 + 4
    assert counting.by_primitives(calls["add of rows"], mode="promise_in_bounds").names[-1] == "index_add"


@in_turn("dtype", [torch.int8, torch.uint8, torch.int32, torch.int64, torch.uint32, torch.uint64])
@pytest.mark.parametrize("name", ["gather", "gather_nd", "gather_elements"])
def test_the_check_reads_indices_as_they_are(name, dtype):
    """Of every dtype the least and the greatest, at both ends."""
    data = torch.arange(100.0)
    ends = [0, 99] if dtype in (torch.uint8, torch.uint32, torch.uint64) else [-100, 99]
    last = torch.iinfo(dtype).max
    indices = torch.tensor([*ends, 3], dtype=dtype)
    shaped = indices[:, None] if name == "gather_nd" else indices
    with by_primitives():
        assert getattr(gs, name)(data, shaped).tolist() == [0.0, 99.0, 3.0]
        for bad in {100, last} | ({-101} if ends[0] < 0 else set()):
            wrong = torch.tensor([1, bad], dtype=dtype)
            with pytest.raises(IndexError, match=rf"^{name}: indices\[1\] = \(?{bad},?\)? is out of bounds"):
                getattr(gs, name)(data, wrong[:, None] if name == "gather_nd" else wrong)


def test_promised_indices_of_each_axis_count_from_the_end():
    data = torch.arange(12.0).reshape(3, 4)
    pairs = torch.tensor([[-1, 0], [2, -4], [-3, -1]])
    with by_primitives():
        assert gs.gather_nd(data, pairs, mode="promise_in_bounds").tolist() == [8.0, 8.0, 3.0]
        counts = gs.scatter_nd(torch.zeros(3, 4), pairs, 1.0, reduction="add", mode="promise_in_bounds")
    assert counts.nonzero().tolist() == [[0, 3], [2, 0]]
    assert counts[2, 0] == 2


@pytest.mark.parametrize("reduction", ["none", "add", "max", "mean"])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("name", ["", "_elements"])
def test_arguments_of_any_strides(name, axis, reduction):
    """Transposed data, every other index, one update for all: what the kernels give, and never a view of data."""
    data = torch.arange(60.0).reshape(5, 4, 3).transpose(0, 2)
    shape = data.shape if name else (10,)
    indices = torch.randint(-3, 3, (*shape, 2), generator=torch.Generator().manual_seed(axis))[..., 0]
    read, write = (getattr(gs, function + name) for function in ("gather", "scatter"))
    updates = torch.tensor(7.0).expand(read(data, indices, axis=axis).shape)
    calls = [partial(read, data, indices, axis=axis)]
    for include_self, mode in product((True, False), ("raise", "drop")):
        options = {"reduction": reduction, "include_self": include_self, "mode": mode}
        calls.append(partial(write, data, indices, updates, axis=axis, **options))
    for call in calls:
        expected = call()
        with by_primitives():
            found = call()
        assert torch.equal(found, expected)
        assert found.untyped_storage().data_ptr() != data.untyped_storage().data_ptr()
