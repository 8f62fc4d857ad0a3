"""gatherscatter.torch_scatter: what it refuses, and each row of docs/differences.md.

The other side of each difference, in the comments, is what torch_scatter 2.1.2 gave, built with PyTorch 2.13.
"""

import math
import re
from pathlib import Path

import pytest
import torch
from assertions import assert_refused, each_refused
from gatherscatter import torch_scatter as gts
from libraries import needs, on_devices
from pairwise import in_turn

each_device = pytest.mark.parametrize("device", on_devices("torch"))
PAGE = Path(__file__).parents[2] / "docs" / "differences.md"
INF, NAN = math.inf, math.nan

tensor = torch.tensor
SRC, INDEX = torch.ones(4, 3), tensor([0, 1, 3, 1])
NEGATIVE = "and torch_scatter's indices are not negative"

CASES = {
    "an index too large": (
        lambda: gts.scatter_sum(SRC, INDEX, 0, dim_size=3),
        IndexError,
        "scatter_sum: index[2] = 3 is out of bounds for out of shape (3, 3): axis 0 has size 3",
    ),
    "a negative index": (
        lambda: gts.scatter_max(SRC, INDEX - 1, 0),
        IndexError,
        f"scatter_max: index[0] = -1 is out of bounds for the groups of shape (3,): axis 0 has size 3, {NEGATIVE}",
    ),
    "an index of rows": (
        lambda: gts.segment_mean_coo(SRC, tensor([[0, 0, 4]] * 4), dim_size=4),
        IndexError,
        "segment_mean_coo: index[0, 2] = 4 is out of bounds for out of shape (4, 4): axis 1 has size 4",
    ),
    "an index of elements": (
        lambda: gts.scatter_softmax(SRC, tensor([[0, 1, 5]] * 4), 0, dim_size=2),
        IndexError,
        "scatter_softmax: index[0, 2] = 5 is out of bounds for out of shape (2, 3): axis 0 has size 2",
    ),
    "an index of a gather": (
        lambda: gts.gather_coo(SRC, tensor([0, -1])),
        IndexError,
        f"gather_coo: index[1] = -1 is out of bounds for src of shape (4, 3): axis 0 has size 4, {NEGATIVE}",
    ),
    "pointers that decrease": (
        lambda: gts.segment_sum_csr(SRC, tensor([0, 3, 2])),
        ValueError,
        "segment_reduce: indptr[2] = 2 is below the 3 before it; pass sorted pointers",
    ),
    "pointers of a gather": (
        lambda: gts.gather_csr(SRC, tensor([0, 3, 2, 4, 5])),
        ValueError,
        "gather_csr: indptr decreases; pass sorted pointers",
    ),
    "pointers beyond the result": (
        lambda: gts.gather_csr(SRC[:2], tensor([0, 3, 4]), torch.zeros(3, 3)),
        IndexError,
        "gather_csr: a pointer of indptr is 4, but the result's axis 0 has size 3",
    ),
    "too few pointers": (
        lambda: gts.gather_csr(SRC, tensor([0, 3, 4])),
        ValueError,
        "gather_csr: indptr of shape (3,) has 2 segments, but src has 4; pass a pointer more than src has along axis 0",
    ),
    "a list": (
        lambda: gts.scatter_sum([1.0], tensor([0])),
        TypeError,
        "scatter_sum: src is a list; pass a torch.Tensor",
    ),
    "an index that is a list": (
        lambda: gts.segment_csr(SRC, [0, 4]),
        TypeError,
        "segment_csr: indptr is a list; pass a torch.Tensor",
    ),
    "an index of floats": (
        lambda: gts.scatter_sum(SRC, INDEX * 1.0, 0),
        TypeError,
        "scatter_sum: index has dtype torch.float32, but indices are integers of 8 to 64 bits; pass "
        "index.to(torch.int64)",
    ),
    "a dim too large": (
        lambda: gts.scatter_sum(SRC, INDEX, 2),
        ValueError,
        "scatter_sum: dim=2 is not in [-2, 1] for src of shape (4, 3); pass 0 for its first axis, -1 for its last",
    ),
    "a src without an axis": (
        lambda: gts.scatter_sum(SRC.sum(), INDEX),
        ValueError,
        "scatter_sum: src has shape (), so it has no axis; pass src.reshape(1)",
    ),
    "an index of more axes": (
        lambda: gts.segment_sum_coo(SRC, INDEX.reshape(1, 1, 4)),
        ValueError,
        "segment_sum_coo: index has shape (1, 1, 4); pass 1 to 2 axes for src of shape (4, 3)",
    ),
    "an index of another size": (
        lambda: gts.scatter_sum(SRC, INDEX),
        ValueError,
        "scatter_sum: index of shape (4,) does not broadcast to (4, 3); pass one axis of the size along dim, or src's "
        "first axes",
    ),
    "an out of another shape": (
        lambda: gts.scatter_mean(SRC, INDEX, 0, torch.zeros(4, 1)),
        ValueError,
        "scatter_mean: out has shape (4, 1), but the result has shape (4, 3); pass out of that shape",
    ),
    "an out of a gather": (
        lambda: gts.segment_sum_csr(SRC, tensor([0, 4]), torch.zeros(3)),
        ValueError,
        "segment_sum_csr: out has shape (3,), but the result has shape (1, 3); pass out of that shape",
    ),
    "an out of another dtype": (
        lambda: gts.scatter_sum(SRC, INDEX, 0, torch.zeros(4, 3).double()),
        TypeError,
        "scatter_sum: src has dtype torch.float32, but out has torch.float64; pass src.to(out.dtype)",
    ),
    "an out of another dtype of segments": (
        lambda: gts.segment_max_csr(SRC, tensor([0, 4]), torch.zeros(1, 3).double()),
        TypeError,
        "segment_max_csr: out has dtype torch.float64, but the result has dtype torch.float32; pass out of that dtype",
    ),
    "an out that is none": (
        lambda: gts.scatter_sum(SRC, INDEX, 0, 4),
        TypeError,
        "scatter_sum: out is an int; pass a torch.Tensor",
    ),
    "a negative dim_size": (
        lambda: gts.scatter_sum(SRC, INDEX, 0, dim_size=-1),
        ValueError,
        "scatter_sum: dim_size=-1 is negative; pass the number of groups",
    ),
    "a dim_size that is no integer": (
        lambda: gts.scatter_sum(SRC, INDEX, 0, dim_size=2.5),
        TypeError,
        "scatter_sum: dim_size=2.5 is not an integer; pass an int",
    ),
    "another word": (
        lambda: gts.scatter(SRC, INDEX, 0, reduce="prod"),
        ValueError,
        "scatter: reduce='prod' is not one of 'sum', 'add', 'mul', 'mean', 'min', 'max'; did you mean 'mul'?",
    ),
    "a word of segments": (
        lambda: gts.segment_coo(SRC, INDEX, reduce="median"),
        ValueError,
        "segment_coo: reduce='median' is not one of 'sum', 'add', 'mean', 'min', 'max'; did you mean 'mean'?",
    ),
    "integers": (
        lambda: gts.scatter_logsumexp(SRC.int(), INDEX, 0),
        ValueError,
        "scatter_logsumexp: src has dtype torch.int32; pass floating-point numbers",
    ),
}


@each_refused(CASES)
def test_refused(call, kind, message):
    assert_refused(call, kind, message)


@each_device
@pytest.mark.parametrize("call", [gts.scatter_sum, gts.scatter_mean, gts.scatter_max])
def test_out_is_unchanged_by_a_call_that_fails(call, device):
    out = torch.full((3, 3), 7.0, device=device)
    with pytest.raises(IndexError):
        call(SRC.to(device), INDEX.to(device), 0, out)
    assert (out == 7).all()


# The rows of docs/differences.md


@each_device
@in_turn("name", ["sum", "mul", "mean", "min", "max", "std", "logsumexp", "softmax", "log_softmax"])
@pytest.mark.parametrize("bad", [-1, 2])
def test_difference_indices_are_checked(name, bad, device):
    index = tensor([0, bad], device=device)
    with pytest.raises(IndexError):  # writes to memory of others, except "sum" and "mean"
        getattr(gts, f"scatter_{name}")(torch.ones(2, device=device), index, dim_size=2)


def test_difference_pointers_are_checked():
    with pytest.raises(ValueError, match="sorted"):  # [3, 0]
        gts.segment_sum_csr(tensor([1.0, 2.0, 3.0]), tensor([0, 2, 1]))
    with pytest.raises(IndexError):  # reads memory of others
        gts.segment_sum_csr(tensor([1.0]), tensor([0, 2]))


@each_device
def test_difference_nan_wins(device):
    src, index = tensor([NAN, 1.0, NAN], device=device), tensor([0, 0, 1], device=device)
    for call in (gts.scatter_max, gts.scatter_min):
        values, arg = call(src, index)  # [1, 0], [1, 3]
        assert values.isnan().all()
        assert arg.tolist() == [0, 2]
    values, arg = gts.scatter_max(src, index, out=tensor([5.0, NAN], device=device))
    assert values.isnan().all()
    assert arg.tolist() == [0, 3]


@each_device
def test_difference_the_lowest_number_is_an_element(device):
    index = tensor([0], device=device)
    for call, lowest in ((gts.scatter_max, -INF), (gts.scatter_min, INF)):
        values, arg = call(tensor([lowest], device=device), index)  # 0, 1
        assert (values.tolist(), arg.tolist()) == ([lowest], [0])
    assert gts.scatter_max(tensor([0], dtype=torch.uint8, device=device), index)[1].tolist() == [0]  # 1


@each_device
def test_difference_logsumexp_of_infinities(device):
    src = tensor([-INF, INF, NAN], device=device)
    result = gts.scatter_logsumexp(src, tensor([0, 1, 2], device=device))  # [0, 3.4e38, 0]
    torch.testing.assert_close(result, src, equal_nan=True)


def test_difference_logsumexp_into_empty_groups():
    result = gts.scatter_logsumexp(tensor([1.0]), tensor([0]), out=tensor([0.0, 5.0]))  # [1.3133, 0]
    torch.testing.assert_close(result, tensor([1 + math.log1p(math.exp(-1)), 5]))


@each_device
def test_difference_softmax_of_masked_groups(device):
    src = torch.full((2,), -INF, device=device, requires_grad=True)
    result = gts.scatter_softmax(src, tensor([0, 0], device=device))  # [nan, nan]
    assert result.tolist() == [0, 0]


@each_device
def test_difference_standard_deviations_of_integers(device):
    found = gts.scatter_std(tensor([1, 3, 5], device=device), tensor([0, 0, 1], device=device))
    assert found.dtype == torch.float32  # pyg_lib: ValueError
    torch.testing.assert_close(found.cpu(), tensor([math.sqrt(2), 0]))


@each_device
def test_difference_gradient_of_std_at_0(device):
    src = tensor([1.0, 2.0, 2.0], device=device, requires_grad=True)
    gts.scatter_std(src, tensor([0, 1, 1], device=device)).sum().backward()
    assert src.grad.tolist() == [0, 0, 0]  # nan


@each_device
def test_difference_gradient_of_products_of_zeros(device):
    src = tensor([0.0, 3.0], device=device, requires_grad=True)
    gts.scatter_mul(src, tensor([0, 0], device=device)).sum().backward()
    assert src.grad.tolist() == [3, 0]  # [0, 0]


@each_device
def test_difference_products_of_16_bits(device):
    src = tensor([300.0, 300.0, 0.01], device=device, dtype=torch.float16)
    assert gts.scatter_mul(src, tensor([0, 0, 0], device=device)).tolist() == [900]  # inf


@each_device
def test_difference_integer_means_round_down(device):
    src = tensor([-1, 0], device=device)
    assert gts.segment_mean_csr(src, tensor([0, 2], device=device)).tolist() == [-1]  # 0
    assert gts.segment_mean_coo(src, tensor([0, 0], device=device)).tolist() == [-1]  # 0
    assert gts.scatter_mean(src, tensor([0, 0], device=device)).tolist() == [-1]  # the same
    assert gts.scatter_mean(src, tensor([0, 0], device=device), out=tensor([-2], device=device)).tolist() == [-2]


def test_difference_segment_coo_into_out():
    assert gts.segment_sum_coo(tensor([1.0]), tensor([1]), tensor([5.0, 0.0])).tolist() == [5, 1]  # [5, 6]
    values, arg = gts.segment_max_coo(tensor([1.0]), tensor([0]), tensor([5.0]))  # 5, and any number
    assert (values.tolist(), arg.tolist()) == ([5], [1])


def test_difference_elements_of_no_segment():
    src = tensor([1.0, 2.0, 3.0], requires_grad=True)
    gts.segment_sum_csr(src, tensor([1, 2])).sum().backward()
    assert src.grad.tolist() == [0, 1, 0]  # [?, 1, ?]
    assert gts.gather_csr(tensor([7.0]), tensor([2, 3])).tolist() == [0, 0, 7]  # [?, ?, 7]


def test_difference_sources_without_elements():
    assert gts.scatter_sum(torch.zeros(2, 0), tensor([0, 3]), 0).shape == (4, 0)  # (0, 0)
    assert gts.scatter_mul(torch.zeros(0), INDEX[:0], dim_size=2).tolist() == [1, 1]  # [0, 0]
    assert gts.segment_sum_csr(torch.zeros(0), tensor([0, 0]), tensor([5.0])).tolist() == [0]  # [5]


def test_difference_gradient_of_broadcast_segments():
    src = torch.ones(2, 2, requires_grad=True)
    gts.segment_sum_coo(src, tensor([[0, 1]])).sum().backward()  # an error
    assert src.grad.tolist() == [[1, 1], [1, 1]]


def test_difference_larger_out():
    with pytest.raises(ValueError, match="out has shape"):  # writes to a part of it
        gts.scatter_sum(torch.ones(2, 2), tensor([0, 1]), 0, torch.zeros(2, 3))


def test_difference_out_that_is_not_contiguous():
    out = torch.ones(1, 2).t()
    gts.scatter_mul(torch.full((2, 1), 2.0), tensor([0, 1]), 0, out[:, :1])
    assert out.tolist() == [[2], [2]]
    strided = torch.ones(2, 2).t()
    gts.scatter_max(torch.full((2, 2), 2.0), tensor([0, 1]), 0, strided)
    assert strided.tolist() == [[2, 2], [2, 2]]


@needs(PAGE.exists(), "the documentation is not here")
def test_each_difference_is_a_row():
    text = PAGE.read_text(encoding="utf-8")
    section = text.partition("\n## torch_scatter\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert sorted(rows) == sorted(name[16:] for name in globals() if name.startswith("test_difference_"))
