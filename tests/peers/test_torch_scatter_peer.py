"""gatherscatter.torch_scatter compared with torch_scatter: results, positions, what is in `out`, and gradients.

torch_scatter has to be compiled for the PyTorch that is installed, so `.[peers]` leaves it out:
``pip install --no-build-isolation torch-scatter``.
"""

import importlib
import importlib.util
import random
from collections import Counter

import pytest
import torch
from gatherscatter import torch_scatter as gts
from libraries import needs

pytestmark = [
    pytest.mark.peers,
    needs(importlib.util.find_spec("torch_scatter"), "torch_scatter is not installed"),
]

DTYPES = (
    *(torch.float64, torch.float32, torch.float16, torch.bfloat16),
    *(torch.int64, torch.int32, torch.int16, torch.uint8),
)
TOLERANCE = {torch.float64: 1e-11, torch.float32: 1e-5, torch.float16: 2e-2, torch.bfloat16: 1.5e-1}
REDUCTIONS = ("sum", "add", "mul", "mean", "min", "max")
COMPOSITES = ("scatter_std", "scatter_logsumexp", "scatter_softmax", "scatter_log_softmax")


def numbers(draw, shape, dtype, least):
    """With ties, and without what docs/differences.md lists: no zeros for products, no negative integers for means."""
    if dtype.is_floating_point and draw.random() < 0.5:
        return torch.randn(shape, dtype=torch.float64).to(dtype)
    values = torch.randint(1 if dtype == torch.uint8 else least, 6, shape)
    return torch.where(values == 0, 1, values).to(dtype)


def scatter(draw, src, dim, n):
    """A call of a scatter: its name, arguments and options."""
    shape = list(src.shape)
    forms = [[shape[dim]], shape, [m if axis == dim or draw.random() < 0.5 else 1 for axis, m in enumerate(shape)]]
    if dim:
        forms.append(shape[: dim + 1])
    index = torch.randint(0, n, draw.choice(forms))
    name = draw.choice([f"scatter_{name}" for name in REDUCTIONS] + ["scatter", *COMPOSITES])
    options = {"reduce": draw.choice(REDUCTIONS)} if name == "scatter" else {}
    if draw.random() < 0.25 and name not in COMPOSITES:
        options["out"] = numbers(draw, [n if axis == dim else m for axis, m in enumerate(shape)], src.dtype, 1)
    elif draw.random() < 0.3:
        options["dim_size"] = n + draw.choice([0, 2])
    return name, (index, draw.choice([dim, dim - len(shape)])), options


def coo(draw, src, dim, n):
    index = torch.randint(0, n, src.shape[: dim + 1]).sort(-1).values
    reduction = draw.choice([name for name in REDUCTIONS if name != "mul"])
    return f"segment_{reduction}_coo", (index,), {"dim_size": n + 2} if draw.random() < 0.3 else {}


def csr(draw, src, dim, n):
    """Pointers that all elements are between."""
    lead = src.shape[:dim] if draw.random() < 0.5 else [1] * dim
    indptr = torch.randint(0, src.shape[dim] + 1, (*lead, n + 1)).sort(-1).values
    indptr[..., 0], indptr[..., -1] = 0, src.shape[dim]
    reduction = draw.choice([name for name in REDUCTIONS if name != "mul"])
    out = [n if axis == dim else m for axis, m in enumerate(src.shape)]
    options = {"out": numbers(draw, out, src.dtype, 1)} if draw.random() < 0.25 else {}
    return f"segment_{reduction}_csr", (indptr,), options


def gather(draw, src, dim, n):
    size = draw.choice([1, 4])
    if draw.random() < 0.5:
        return "gather_coo", (torch.randint(0, src.shape[dim], (*src.shape[:dim], size)).sort(-1).values,), {}
    indptr = torch.randint(0, size + 1, (*src.shape[:dim], src.shape[dim] + 1)).sort(-1).values
    indptr[..., 0], indptr[..., -1] = 0, size
    return "gather_csr", (indptr,), {}


def outcome(module, src, call):
    """The results, what is in out, and the gradient for weights that differ by element."""
    name, arguments, options = call
    src = src.clone().requires_grad_(src.dtype in (torch.float32, torch.float64))
    options = {key: value.clone() if key == "out" else value for key, value in options.items()}
    result = getattr(module, name)(src, *arguments, **options)
    results = list(result) if isinstance(result, tuple) else [result]
    if results[0].requires_grad:
        weights = torch.linspace(1, 2, results[0].numel(), dtype=src.dtype).reshape(results[0].shape)
        (gradient,) = torch.autograd.grad((results[0] * weights).sum(), src)
        results.append(gradient)
    return [one.detach() for one in (*results, *(options[key] for key in options if key == "out"))]


@pytest.mark.parametrize("family", [scatter, coo, csr, gather])
def test_drawn_calls(family):
    torch_scatter, compared = importlib.import_module("torch_scatter"), Counter()
    for seed in range(1500):
        draw = random.Random(seed)
        torch.manual_seed(seed)
        shape = [draw.choice([1, 2, 3, 5]) for _ in range(draw.randint(1, 4))]
        dim, n, dtype = draw.randrange(len(shape)), draw.choice([1, 2, 4, 6]), draw.choice(DTYPES)
        src = numbers(draw, shape, dtype, 1 if family in (coo, csr) else -5)
        call = family(draw, src, dim, n)
        if call[0] in COMPOSITES:
            src = src if dtype.is_floating_point else src.float()
        expected, found = outcome(torch_scatter, src, call), outcome(gts, src, call)
        compared[call[0]] += 1
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            if call[0] == "scatter_std":  # the gradient of a standard deviation of 0
                one = torch.where(other.isnan(), other, one)
            tolerance = TOLERANCE.get(one.dtype, 0)
            torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance, equal_nan=True, msg=f"{seed} {call}")
    print(f"\ncompared: {dict(compared)}")
