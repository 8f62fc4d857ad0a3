"""gatherscatter.torch_scatter: the functions of torch_scatter, against loops over the elements of each group."""

import inspect
import itertools
import math
import random
import sys
from pathlib import Path

import pytest
import torch
from gatherscatter import torch_scatter as gts
from libraries import on_devices
from pairwise import in_turn

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.* is deprecated")  # what PyTorch says of its own doings
each_device = pytest.mark.parametrize("device", on_devices("torch"))

FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
DTYPES = (*FLOATS, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 2e-2}
REDUCTIONS = ("sum", "mul", "mean", "min", "max")
COMPOSITES = ("scatter_std", "scatter_logsumexp", "scatter_softmax", "scatter_log_softmax")


def lines(sizes, dim):
    """The positions of all lines along an axis."""
    ranges = [[slice(None)] if axis == dim else range(n) for axis, n in enumerate(sizes)]
    return itertools.product(*ranges)


def reduced(elements, before, reduction):
    """One group, and which of its elements is the result. before: what is in out, or None."""
    wide = elements.double() if elements.is_floating_point() else elements
    if reduction in ("min", "max"):
        best, arg = before, -1
        for position, element in enumerate(elements.tolist()):
            if best is None or (element < best if reduction == "min" else element > best):
                best, arg = element, position
        return 0 if best is None else best, arg
    if reduction == "mul":
        return wide.prod() * (1 if before is None else before), -1
    total = wide.sum() + (0 if before is None else before)
    if reduction == "mean":
        n = max(len(elements), 1)
        total = total / n if elements.is_floating_point() else total // n
    return total, -1


def loop(src, index, dim, n, reduction, out=None):
    """The reduction of each group, and the positions. index has src's shape."""
    sizes = list(src.shape)
    sizes[dim] = n
    result, args = torch.zeros(sizes, dtype=src.dtype), torch.full(sizes, src.shape[dim])
    for where in lines(src.shape, dim):
        for k in range(n):
            places = (index[where] == k).nonzero()[:, 0]
            before = None if out is None else out[where][k].item()
            value, arg = reduced(src[where][places], before, reduction)
            result[where][k] = value
            if arg >= 0:
                args[where][k] = places[arg]
    return result, args


def numbers(draw, shape, dtype):
    """Small numbers with many ties, whose products do not overflow; or, of floats, any."""
    if dtype.is_floating_point and draw.random() < 0.5:
        return torch.randn(shape, dtype=torch.float64).to(dtype)
    low = 0 if dtype == torch.uint8 else -2
    return torch.randint(low, 3, shape).to(dtype)


def close(found, expected):
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    if found.dtype.is_floating_point:
        tolerance = TOLERANCE[found.dtype]
        torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)
    else:
        assert found.equal(expected)


def drawn(seed):
    """A source, its index in one of the forms that broadcast, the same of src's shape, dim and the number of groups."""
    draw = random.Random(seed)
    torch.manual_seed(seed)
    shape = [draw.choice([1, 2, 3, 4]) for _ in range(draw.randint(1, 4))]
    if draw.random() < 0.1:
        shape[draw.randrange(len(shape))] = 0
    dim, n, form = draw.randrange(len(shape)), draw.choice([1, 3, 5]), draw.choice(["one", "front", "full", "ones"])
    src = numbers(draw, shape, draw.choice(DTYPES))
    if form == "one":
        index = torch.randint(0, n, [shape[dim]])
        full = index.reshape([-1 if axis == dim else 1 for axis in range(len(shape))]) if shape[dim] else index
    else:
        sizes = shape[: dim + 1] if form == "front" and dim else list(shape)
        sizes = [m if form != "ones" or axis == dim or draw.random() < 0.5 else 1 for axis, m in enumerate(sizes)]
        index = torch.randint(0, n, sizes)
        full = index.reshape(*sizes, *[1] * (len(shape) - len(sizes)))
    if not src.numel():
        full = full.new_zeros(shape)
    if draw.random() < 0.3:
        src = src.transpose(0, -1).contiguous().transpose(0, -1)
    return draw, src, index, full.expand(shape), dim, n


@pytest.mark.parametrize("reduction", REDUCTIONS)
@in_turn("seed", range(40))
def test_scatters_are_loops(seed, reduction):
    draw, src, index, full, dim, n = drawn(seed)
    out = numbers(draw, [n if axis == dim else m for axis, m in enumerate(src.shape)], src.dtype)
    out = out if draw.random() < 0.3 else None
    expected, args = loop(src, full, dim, n, reduction, out)
    given = None if out is None else out.clone()
    axis = draw.choice([dim, dim - src.dim()])
    result = getattr(gts, f"scatter_{reduction}")(src, index, axis, given, n)
    if reduction in ("min", "max"):
        result, found = result
        assert found.equal(args)
    close(result, expected)
    assert out is None or result is given
    again = None if out is None else out.clone()
    assert gts.scatter(src, index, axis, again, n, reduction).equal(result)


@pytest.mark.parametrize("reduction", ["sum", "mean", "min", "max"])
@in_turn("seed", range(40, 70))
def test_sorted_groups_are_loops(seed, reduction):
    draw, src, _, _, dim, n = drawn(seed)
    sizes = [m if draw.random() < 0.5 else 1 for m in src.shape[:dim]]
    index = torch.randint(0, n, (*sizes, src.shape[dim])).sort(-1).values
    full = index.reshape(*index.shape, *[1] * (src.dim() - dim - 1)).expand(src.shape)
    expected, args = loop(src, full, dim, n, reduction)
    indptr = torch.searchsorted(index, torch.arange(n + 1).expand(*sizes, n + 1).contiguous())
    calls = [
        (f"segment_{reduction}_coo", (src, index, None, n), gts.segment_coo(src, index, None, n, reduction)),
        (f"segment_{reduction}_csr", (src, indptr), gts.segment_csr(src, indptr, None, reduction)),
    ]
    for name, arguments, same in calls:
        result = getattr(gts, name)(*arguments)
        if reduction in ("min", "max"):
            result, found = result
            assert found.equal(args)
        close(result, expected)
        assert same.equal(result)
    out = torch.full_like(expected, 1)
    close(gts.segment_csr(src, indptr, out, reduction), expected)  # which is overwritten
    close(out, expected)


@in_turn("seed", range(70, 90))
def test_gathers_are_loops(seed):
    _, src, _, _, dim, n = drawn(seed)
    index = torch.randint(0, n, (*src.shape[:dim], 4)).sort(-1).values
    groups = torch.randn(*src.shape[:dim], n, *src.shape[dim + 1 :])
    expected = torch.zeros(*src.shape[:dim], 4, *src.shape[dim + 1 :])
    for where in lines(expected.shape, dim):
        expected[where] = groups[where][index[where[: dim + 1]]]
    indptr = torch.searchsorted(index, torch.arange(n + 1).expand(*src.shape[:dim], n + 1).contiguous())
    for result in (gts.gather_coo(groups, index), gts.gather_csr(groups, indptr, torch.empty_like(expected))):
        assert result.equal(expected)


@pytest.mark.parametrize("name", COMPOSITES)
@in_turn("seed", range(20))
def test_composites_are_pytorchs_functions_of_each_group(seed, name):
    _, src, index, full, dim, n = drawn(seed)
    src = torch.randn(src.shape, dtype=FLOATS[seed % 4])
    result = getattr(gts, name)(src, index, dim, dim_size=n)
    function = {
        "scatter_std": lambda x: x.std() if len(x) > 1 else torch.zeros(()),
        "scatter_logsumexp": lambda x: x.logsumexp(0) if len(x) else torch.zeros(()),
        "scatter_softmax": lambda x: x.softmax(0),
        "scatter_log_softmax": lambda x: x.log_softmax(0),
    }[name]
    assert result.dtype == src.dtype
    for where in lines(src.shape, dim):
        for k in range(n):
            places = full[where] == k
            expected = function(src[where][places].double()).to(src.dtype)
            found = result[where][places] if "softmax" in name else result[where][k]
            few = 1e-2 if src.itemsize == 2 else 1e-5
            torch.testing.assert_close(found, expected, rtol=max(few, 4 * TOLERANCE[src.dtype]), atol=few)


@each_device
def test_softmax_csr(device):
    src = torch.randn(5, 3, dtype=torch.float64, device=device)
    ptr = torch.tensor([0, 2, 2, 4], device=device)
    parts = [src[:2].softmax(0), src[2:4].softmax(0), torch.zeros_like(src[4:])]
    torch.testing.assert_close(gts.softmax_csr(src, ptr), torch.cat(parts))
    ptr = torch.tensor([0, 1, 3], device=device)
    parts = [src[:, :1].softmax(1), src[:, 1:].softmax(1)]
    torch.testing.assert_close(gts.softmax_csr(src, ptr, -1), torch.cat(parts, 1))


@each_device
def test_the_options_of_std_and_logsumexp(device):
    src, index = torch.tensor([1.0, 3.0, 5.0], device=device), torch.tensor([0, 0, 1], device=device)
    torch.testing.assert_close(gts.scatter_std(src, index, unbiased=False).cpu(), torch.tensor([1.0, 0.0]))
    torch.testing.assert_close(gts.scatter_std(src.int(), index).cpu(), torch.tensor([math.sqrt(2), 0]))
    exactly = gts.scatter_std(src.double(), index)[0].item()
    assert exactly == pytest.approx(math.sqrt(2 / (1 + 1e-6)), rel=1e-12)
    squares = torch.tensor([7.0, 0.0], device=device)
    torch.testing.assert_close(gts.scatter_std(src, index, out=squares).cpu(), torch.tensor([3.0, 0.0]))
    assert squares.tolist() == [9, 0]
    large = gts.scatter_logsumexp(src, index, eps=1.0)
    torch.testing.assert_close(large.cpu(), torch.tensor([3 + math.log(2 + math.exp(-2)), 5 + math.log(2)]))
    probability = gts.scatter_log_softmax(src, index, eps=1.0)[2]
    torch.testing.assert_close(probability.item(), -math.log(2))


def test_large_numbers_do_not_overflow():
    src, index = torch.tensor([1e4, 1e4, -1e4]), torch.tensor([0, 0, 1])
    assert gts.scatter_logsumexp(src, index).tolist() == pytest.approx([1e4 + math.log(2), -1e4])
    assert gts.scatter_softmax(src, index).tolist() == [0.5, 0.5, 1]
    assert gts.scatter_logsumexp(src[:1], index[:1], out=torch.tensor([2e4])).tolist() == [2e4]


# Gradients

INDEX = torch.tensor([0, 2, 0, 2, 3])
SORTED = torch.tensor([0, 0, 2, 2, 3])
INDPTR = torch.tensor([0, 2, 2, 4, 5])
FULL = torch.tensor([[0, 1, 3], [2, 1, 0], [0, 0, 0], [3, 3, 1], [0, 2, 3]])
DIFFERENTIABLE = {
    **{f"scatter_{name}": (INDEX, 0) for name in REDUCTIONS},
    **{name: (INDEX, 0) for name in COMPOSITES},
    **{f"segment_{name}_coo": (SORTED,) for name in ("sum", "mean", "min", "max")},
    **{f"segment_{name}_csr": (INDPTR,) for name in ("sum", "mean", "min", "max")},
    "gather_coo": (SORTED,),
    "gather_csr": (torch.tensor([0, 2, 2, 4, 5, 7]),),
    "softmax_csr": (INDPTR,),
}


def distinct(*shape, device="cpu"):
    """Numbers far enough apart for a finite difference, none near zero."""
    n = math.prod(shape)
    order = torch.randperm(n, generator=torch.Generator().manual_seed(0)).double()
    return ((order - n / 2 + 0.3) / n).reshape(shape).to(device).requires_grad_()


def first(result):
    return result[0] if isinstance(result, tuple) else result


@each_device
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients(name, device):
    arguments = [a.to(device) if isinstance(a, torch.Tensor) else a for a in DIFFERENTIABLE[name]]
    src = distinct(5, 3, device=device)
    if name == "scatter_std":  # which has no derivative where it is 0
        arguments[0] = torch.tensor([0, 1, 0, 1, 1], device=device)
    call = lambda x: first(getattr(gts, name)(x, *arguments))  # noqa: E731
    assert torch.autograd.gradcheck(call, src, check_forward_ad=True, fast_mode=True)
    assert torch.autograd.gradgradcheck(call, src, fast_mode=True)


@pytest.mark.parametrize("name", [*(f"scatter_{name}" for name in REDUCTIONS), "scatter_softmax", "scatter_logsumexp"])
def test_gradients_of_one_index_for_each_element(name):
    assert torch.autograd.gradcheck(lambda x: first(getattr(gts, name)(x, FULL, 0)), distinct(5, 3))


@pytest.mark.parametrize("call", [gts.scatter_max, gts.scatter_min])
def test_the_gradient_of_an_extremum_goes_to_its_arg(call):
    src = torch.tensor([5.0, 5.0, 1.0, 1.0], requires_grad=True)
    values, arg = call(src, torch.tensor([0, 0, 2, 2]))
    (values * torch.tensor([10.0, 20.0, 30.0])).sum().backward()
    assert arg.tolist() == [0, 4, 2]
    assert not arg.requires_grad
    assert src.grad.tolist() == [10, 0, 30, 0]
    # In forward mode too, also where the positions are not asked for.
    tangent = torch.tensor([1.0, 2.0, 3.0, 4.0])
    for function in (lambda x: call(x, INDEX[:1])[0], lambda x: gts.scatter(x, INDEX[:1], reduce=call.__name__[8:])):
        assert torch.func.jvp(function, (torch.full((4,), 5.0),), (tangent,))[1].tolist() == [1]


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_gradients_through_out(reduction):
    src, before = distinct(5, 3), distinct(4, 3) if reduction in ("sum", "mul", "mean") else torch.full((4, 3), -0.1)

    def call(src, before):
        return first(getattr(gts, f"scatter_{reduction}")(src, INDEX, 0, before.clone()))

    given = [src, before.double().requires_grad_()]
    assert torch.autograd.gradcheck(call, given)


def test_out_that_is_a_leaf_is_refused_as_by_pytorch():
    with pytest.raises(RuntimeError, match="leaf Variable"):
        gts.scatter_sum(torch.ones(2), torch.tensor([0, 0]), out=torch.zeros(1, requires_grad=True))


@pytest.mark.parametrize("name", [*(f"scatter_{name}" for name in REDUCTIONS), *COMPOSITES])
def test_transforms_of_torch_func(name):
    def call(src):
        return first(getattr(gts, name)(src, INDEX, 0, dim_size=4))

    def through_scatter(src):
        return gts.scatter(src, INDEX, 0, dim_size=4, reduce=name[8:])

    src = torch.randn(2, 5, 3, dtype=torch.float64)
    expected = torch.stack([call(one) for one in src])
    torch.testing.assert_close(torch.func.vmap(call)(src), expected)
    for function in (call, through_scatter)[: 1 + (name[8:] in REDUCTIONS)]:
        backward, forward = torch.func.jacrev(function)(src[0]), torch.func.jacfwd(function)(src[0])
        assert backward.abs().sum() > 0
        torch.testing.assert_close(forward, backward)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_no_elements_keep_the_graph(reduction):
    src = torch.zeros(0, 3, requires_grad=True)
    result = gts.scatter(src, INDEX[:0], 0, dim_size=2, reduce=reduction)
    assert result.tolist() == [[int(reduction == "mul")] * 3] * 2
    result.sum().backward()
    assert src.grad.shape == (0, 3)


# Forms of the arguments


def test_the_forms_of_one_index_give_the_same_bits():
    """One axis, expanded by the caller or not: both are reduced by rows; and copied for each element."""
    src = torch.randn(2, 5, 3)
    expected = gts.scatter_sum(src, INDEX, 1)
    assert gts.scatter_sum(src, INDEX[None, :, None].expand(2, 5, 3), 1).equal(expected)
    assert gts.scatter_sum(src, INDEX[None, :].expand(2, 5), 1).equal(expected)
    assert gts.scatter_sum(src, INDEX[None, :, None].expand(2, 5, 3).contiguous(), 1).equal(expected)
    assert gts.scatter_sum(torch.ones(2, 5), torch.tensor([1])).tolist() == [[0, 5]] * 2


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int32, torch.uint16])
def test_an_index_of_any_integer_dtype(dtype):
    src = torch.tensor([1.0, 3.0, 2.0, 4.0, 9.0])
    for name in ("scatter_sum", "scatter_max", "scatter_softmax"):
        result, expected = (first(getattr(gts, name)(src, index)) for index in (INDEX.to(dtype), INDEX))
        assert result.equal(expected)


def test_the_number_of_groups():
    src = torch.ones(5)
    assert gts.scatter(src, INDEX).shape == (4,)
    assert gts.scatter(src, INDEX, dim_size=6).shape == (6,)
    assert gts.scatter(src, INDEX, out=torch.zeros(5), dim_size=9).shape == (5,)  # as torch_scatter
    assert gts.scatter(src[:0], INDEX[:0]).shape == (0,)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_sums_of_16_bits_round_once(dtype):
    src = torch.ones(4096, dtype=dtype)
    for call in (gts.scatter_sum, gts.segment_sum_coo):
        assert call(src, torch.zeros(4096, dtype=torch.int64)).tolist() == [4096]
    assert gts.segment_sum_csr(src, torch.tensor([0, 4096])).tolist() == [4096]
    assert gts.scatter_mean(src, torch.zeros(4096, dtype=torch.int64)).tolist() == [1]


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_scripts():
    """With arguments by their names and the defaults."""

    def calls(src: torch.Tensor, index: torch.Tensor, indptr: torch.Tensor, n: int):
        means = gts.scatter(src, index, 0, dim_size=n, reduce="mean")
        return (
            means,
            gts.scatter_max(src, index, dim=0),
            gts.segment_csr(src, indptr, reduce="max"),
            gts.scatter(src, index),
        )

    src, index = torch.tensor([1.0, 4, 2, 3], requires_grad=True), torch.tensor([0, 2, 0, 2])
    scripted = torch.jit.script(calls)
    assert "calls" in scripted.code
    arguments = src, index, torch.tensor([0, 1, 4]), 4
    for found, expected in zip(scripted(*arguments), calls(*arguments), strict=True):
        torch.testing.assert_close(found, expected)
    assert torch.autograd.grad(scripted(*arguments)[1][0].sum(), src)[0].tolist() == [0, 1, 1, 0]


@pytest.mark.filterwarnings("ignore")  # of torch.compile's own
def test_compiles_to_one_graph():
    """All of them, since a program takes long to compile."""
    names = [*(f"scatter_{name}" for name in REDUCTIONS), *COMPOSITES, "segment_sum_csr", "segment_max_csr"]

    def call(src, index, indptr):
        for name in names:
            arguments, options = ((indptr,), {}) if "csr" in name else ((index, 0), {"dim_size": 4})
            yield getattr(gts, name)(src, *arguments, **options)

    torch.compiler.reset()
    arguments = torch.randn(5, 3), INDEX, INDPTR
    compiled = torch.compile(lambda *arguments: tuple(call(*arguments)), fullgraph=True, backend="aot_eager")
    for found, expected in zip(compiled(*arguments), call(*arguments), strict=True):
        torch.testing.assert_close(found, expected)


def test_everything_is_public_and_typed():
    good = (Path(__file__).parents[1] / "typing" / "good.py").read_text(encoding="utf-8")
    assert dir(gts) == sorted(gts.__all__)
    for name in gts.__all__:
        value = getattr(gts, name)
        assert not inspect.isfunction(value) or f"gts.{name}(" in good, name
    assert set(gts.composite.__all__) <= set(gts.__all__)


def test_signatures_are_those_of_torch_scatter():
    scatters = {"src": None, "index": None, "dim": -1, "out": None, "dim_size": None}
    expected = {
        **{f"scatter_{name}": scatters for name in ("sum", "add", "mul", "mean", "min", "max")},
        "scatter": {**scatters, "reduce": "sum"},
        "scatter_std": {**scatters, "unbiased": True},
        "scatter_logsumexp": {**scatters, "eps": 1e-12},
        "scatter_softmax": {"src": None, "index": None, "dim": -1, "dim_size": None},
        "scatter_log_softmax": {"src": None, "index": None, "dim": -1, "eps": 1e-12, "dim_size": None},
        "segment_coo": {"src": None, "index": None, "out": None, "dim_size": None, "reduce": "sum"},
        "segment_csr": {"src": None, "indptr": None, "out": None, "reduce": "sum"},
        **{
            f"segment_{name}_coo": {"src": None, "index": None, "out": None, "dim_size": None}
            for name in ("sum", "add", "mean", "min", "max")
        },
        **{
            f"segment_{name}_csr": {"src": None, "indptr": None, "out": None}
            for name in ("sum", "add", "mean", "min", "max")
        },
        "gather_coo": {"src": None, "index": None, "out": None},
        "gather_csr": {"src": None, "indptr": None, "out": None},
        "softmax_csr": {"src": None, "ptr": None, "dim": 0},
    }
    assert set(expected) == set(gts.__all__) - {"composite"}
    for name, parameters in expected.items():
        found = inspect.signature(getattr(gts, name)).parameters.values()
        defaults = {one.name: None if one.default is one.empty else one.default for one in found}
        assert list(defaults.items()) == list(parameters.items()), name


def test_it_can_take_the_place_of_torch_scatter(monkeypatch):
    """As docs/torch_scatter.md has it."""
    monkeypatch.setitem(sys.modules, "torch_scatter", gts)
    monkeypatch.setitem(sys.modules, "torch_scatter.composite", gts.composite)
    names = {}
    exec(
        "import torch_scatter as theirs\n"
        "from torch_scatter.composite import scatter_softmax\n"
        "import torch_scatter.composite\n"
        "assert theirs.scatter_softmax is scatter_softmax is torch_scatter.composite.scatter_softmax\n",
        names,
    )
    assert names["theirs"] is gts
