"""gatherscatter on PyTorch tensors against PyTorch's own functions: values, gradients, and what is an error."""

import gatherscatter as gs
import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.peers

DTYPES = (torch.float32, torch.float64, torch.int64, torch.int32, torch.uint8)
NAMES = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin", "mean": "mean"}


def tensor(shape, dtype, seed, distinct=False):
    """Small integers, so that no sum rounds; or distinct numbers, so that no maximum is shared."""
    rng = np.random.default_rng(seed)
    n = int(np.prod(shape))
    flat = rng.permutation(n) if distinct else rng.integers(0, 4, n)
    return torch.from_numpy(flat.reshape(shape)).to(dtype)


def places(draw, shape, size):
    """Indices that PyTorch's functions take, and now and then one that is out of bounds."""
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    indices = torch.from_numpy(rng.integers(0, size, shape))
    bad = indices.numel() > 0 and draw(st.integers(0, 9)) == 0
    if bad:
        indices.view(-1)[draw(st.integers(0, indices.numel() - 1))] = size + draw(st.integers(0, 3))
    return indices, bad


def compare(theirs, ours, bad, *leaves):
    """Values and gradients, or errors, of two functions of the leaves."""
    if bad:
        with pytest.raises((IndexError, RuntimeError)):
            theirs(*leaves)
        with pytest.raises(IndexError):
            ours(*leaves)
        return
    for need in (False, True):
        if need and not leaves[0].is_floating_point():
            continue
        a_leaves = [x.clone().requires_grad_(need) for x in leaves]
        b_leaves = [x.clone().requires_grad_(need) for x in leaves]
        a, b = theirs(*a_leaves), ours(*b_leaves)
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        assert a.equal(b)
        if need:
            weights = torch.arange(1.0, a.numel() + 1, dtype=a.dtype).reshape(a.shape)
            (a * weights).sum().backward()
            (b * weights).sum().backward()
            for x, y in zip(a_leaves, b_leaves, strict=True):
                torch.testing.assert_close(x.grad, y.grad)


def drawn(check, examples=400):
    settings(max_examples=examples, suppress_health_check=list(HealthCheck))(given(data=st.data())(check))()


def shape_of(draw, least=1, most=3):
    return tuple(draw(st.lists(st.integers(1, 4), min_size=least, max_size=most)))


def test_gather_elements():
    def check(data):
        shape = shape_of(data.draw)
        axis = data.draw(st.integers(0, len(shape) - 1))
        smaller = [data.draw(st.integers(0, n)) for n in shape]
        smaller[axis] = data.draw(st.integers(0, 5))
        indices, bad = places(data.draw, tuple(smaller), shape[axis])
        source = tensor(shape, data.draw(st.sampled_from(DTYPES)), 1)
        compare(
            lambda x: torch.gather(x, axis, indices), lambda x: gs.gather_elements(x, indices, axis=axis), bad, source
        )

    drawn(check)


def test_gather():
    def check(data):
        shape = shape_of(data.draw)
        axis = data.draw(st.integers(0, len(shape) - 1))
        indices, bad = places(data.draw, (data.draw(st.integers(0, 5)),), shape[axis])
        source = tensor(shape, data.draw(st.sampled_from(DTYPES)), 1)
        compare(lambda x: x.index_select(axis, indices), lambda x: gs.gather(x, indices, axis=axis), bad, source)

    drawn(check)


def test_gather_nd():
    def check(data):
        shape = shape_of(data.draw, least=2)
        indices, bad = places(data.draw, (data.draw(st.integers(0, 5)), 2), min(shape[:2]))
        if bad:
            indices[indices >= min(shape[:2])] = 9
        source = tensor(shape, data.draw(st.sampled_from(DTYPES)), 1)
        compare(lambda x: x[indices[:, 0], indices[:, 1]], lambda x: gs.gather_nd(x, indices), bad, source)

    drawn(check)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduction", NAMES)
def test_scatter_elements(reduction, include_self):
    def check(data):
        shape = shape_of(data.draw)
        axis = data.draw(st.integers(0, len(shape) - 1))
        smaller = [data.draw(st.integers(1, n)) for n in shape]
        smaller[axis] = data.draw(st.integers(1, 5))
        indices, bad = places(data.draw, tuple(smaller), shape[axis])
        dtype = data.draw(st.sampled_from(DTYPES))
        # PyTorch's gradient of a product through its own factors of zero needs none here.
        distinct = reduction in ("max", "min", "mul") and dtype.is_floating_point
        source, updates = (tensor(s, dtype, i, distinct) + distinct for i, s in enumerate((shape, tuple(smaller))))
        if distinct and reduction != "mul":
            updates = updates + 0.5
        compare(
            lambda x, u: x.scatter_reduce(axis, indices, u, NAMES[reduction], include_self=include_self),
            lambda x, u: gs.scatter_elements(x, indices, u, axis=axis, reduction=reduction, include_self=include_self),
            bad,
            source,
            updates,
        )

    drawn(check, 150)


def test_scatter_add():
    def check(data):
        shape = shape_of(data.draw)
        axis = data.draw(st.integers(0, len(shape) - 1))
        n = data.draw(st.integers(1, 5))
        indices, bad = places(data.draw, (n,), shape[axis])
        dtype = data.draw(st.sampled_from(DTYPES))
        source, updates = tensor(shape, dtype, 1), tensor((*shape[:axis], n, *shape[axis + 1 :]), dtype, 2)
        compare(
            lambda x, u: x.index_add(axis, indices, u),
            lambda x, u: gs.scatter(x, indices, u, axis=axis, reduction="add"),
            bad,
            source,
            updates,
        )

    drawn(check)


@pytest.mark.parametrize("accumulate", [False, True])
def test_scatter_nd(accumulate):
    def check(data):
        shape = shape_of(data.draw, least=2)
        n = data.draw(st.integers(1, 4))
        if accumulate:
            indices, bad = places(data.draw, (n, 2), min(shape[:2]))
            if bad:
                indices[indices >= min(shape[:2])] = 9
        else:  # PyTorch leaves duplicates open
            rng = np.random.default_rng(data.draw(st.integers(0, 99)))
            flat = rng.permutation(shape[0] * shape[1])[:n]
            indices, bad = torch.from_numpy(np.stack(np.divmod(flat, shape[1]), axis=-1)), False
        dtype = data.draw(st.sampled_from(DTYPES))
        source, updates = tensor(shape, dtype, 1), tensor((len(indices), *shape[2:]), dtype, 2)
        compare(
            lambda x, u: x.index_put((indices[:, 0], indices[:, 1]), u, accumulate=accumulate),
            lambda x, u: gs.scatter_nd(x, indices, u, reduction="add" if accumulate else "none"),
            bad,
            source,
            updates,
        )

    drawn(check, 200)


def test_difference_replaced_updates_have_no_gradient():
    """PyTorch gives every update of one place a gradient, the replaced ones too; here only the last one has it."""
    indices = torch.tensor([0, 0])
    updates = torch.tensor([1.0, 2.0], requires_grad=True)
    torch.zeros(2).index_put((indices,), updates).sum().backward()
    assert updates.grad.tolist() == [1, 1]
    updates.grad = None
    gs.scatter(torch.zeros(2), indices, updates).sum().backward()
    assert updates.grad.tolist() == [0, 1]


def test_difference_negative_indices():
    """torch.gather rejects negative indices; here they count from the end."""
    data, indices = torch.arange(3), torch.tensor([-1])
    assert gs.gather_elements(data, indices).tolist() == [2]
    with pytest.raises(RuntimeError, match="out of bounds"):
        torch.gather(data, 0, indices)


def test_difference_16_bit_sums_round_each_step():
    """torch.scatter_add sums float16 in float32 on the CPU and rounds once; here each step rounds, as the loop does."""
    data, updates = torch.zeros(1, 2, dtype=torch.float16), torch.tensor([[1.0], [2.0**-11], [2.0**-11]]).half()
    indices, updates = torch.zeros(3, 2, dtype=torch.int64), updates.expand(3, 2)
    assert gs.scatter_elements(data, indices, updates, reduction="add").tolist() == [[1.0, 1.0]]
    found = data.scatter_add(0, torch.zeros(1, dtype=torch.int64).expand(3, 2), updates)
    assert found.tolist() == [[1 + 2.0**-10] * 2]
    wide = gs.scatter_elements(data, indices, updates, reduction="add", accumulate_dtype=torch.float32)
    assert wide.tolist() == found.tolist()
