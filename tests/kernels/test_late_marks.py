"""include_self=False: which accumulators had an update is told from their bits, if that is possible."""

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_numbers
from gatherscatter import reference
from gatherscatter._kernels import scatter as kernel
from gatherscatter._kernels.codes import ScatterStrategy
from gatherscatter.backends import kernels

DTYPES = ["u1", "i2", "f2", "f4", "i4", "f8", "i8"]
REDUCTIONS = ["add", "mul", "max", "min"]
SIZE = 70


def identity(dtype, reduction):
    dtype = np.dtype(dtype)
    if reduction in ("add", "mul"):
        return dtype.type({"add": -0.0 if dtype.kind == "f" else 0, "mul": 1}[reduction])
    if dtype.kind == "f":
        return dtype.type(-np.inf if reduction == "max" else np.inf)
    return np.iinfo(dtype).min if reduction == "max" else np.iinfo(dtype).max


def operands(shape, dtype, reduction, some):
    """Data, indices along the last axis, and updates.

    some: "all" destinations have updates; or a "few" have none; or, besides, one has "neutral" updates, which are the
    identity, or some that are "inverse": they are reduced to it.
    """
    rng = np.random.default_rng(0)
    data = rng.integers(3, 9, (*shape[:-1], SIZE)).astype(dtype)
    indices = rng.integers(0, SIZE - (0 if some == "all" else 9), shape)
    updates = rng.integers(2, 5, shape).astype(dtype)
    if some == "all":
        indices[..., :SIZE] = np.arange(SIZE)
    if some == "neutral":
        indices[..., 7::50] = SIZE - 2
        updates[..., 7::50] = identity(dtype, reduction)
    if some == "inverse" and reduction in ("add", "mul"):
        is_product_of_floats = reduction == "mul" and dtype[0] == "f"
        indices[..., 7:9] = SIZE - 2
        updates[..., 7:9] = (
            [2, 0.5] if is_product_of_floats else np.array([-1, 1 if reduction == "add" else -1]).astype(dtype)
        )
    return data, indices, updates


@pytest.mark.parametrize("some", ["all", "few", "neutral", "inverse"])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("strategy", "n_threads", "shape", "axis"),
    [
        ("serial", 1, (3000,), 0),
        ("serial", 1, (600,), 0),  # for sums of integers, with counts instead (cells.pxd)
        ("serial", 2, (3000,), 0),
        ("private", 3, (3000,), 0),
        ("private", 3, (600,), 0),
        ("units", 2, (40, 300), 1),
        ("column_tiles", 2, (40, 300), 0),
    ],
)
def test_bits_and_marks(strategy, n_threads, shape, axis, dtype, reduction, some):
    data, indices, updates = operands(shape, dtype, reduction, some)
    if axis == 0 and len(shape) == 2:
        data, indices, updates = (np.ascontiguousarray(array.T) for array in (data, indices, updates))
    words = {"axis": axis, "reduction": reduction, "include_self": False}
    with np.errstate(all="ignore"):
        expected = reference.scatter_elements(data, indices, updates, **words)
    with kernels.forced(n_threads, scatter=strategy):
        found = gs.scatter_elements(data, indices, updates, **words)
        if strategy != "private" or reduction in ("max", "min") or dtype[0] != "f":
            assert kernel.last_strategy() == ScatterStrategy[strategy.upper()]
        assert_same_numbers(found, expected)
        gs.scatter_elements(data, indices, updates, out=data, **words)
    assert_same_numbers(data, expected)


@pytest.mark.parametrize("items", [3, 17])
@pytest.mark.parametrize("some", ["all", "few", "neutral", "inverse"])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows(dtype, reduction, some, items):
    """Only the middle number of a row may have been reduced to the identity."""
    data, indices, updates = operands((700,), dtype, reduction, some)
    rows = np.tile(data[:, None], items)
    updates = np.tile(updates[:, None], items)
    updates[:, 0] = 3
    words = {"reduction": reduction, "include_self": False}
    with np.errstate(all="ignore"):
        expected = reference.scatter(rows, indices, updates, **words)
    with kernels.forced(1, scatter="serial"):
        assert_same_numbers(gs.scatter(rows, indices, updates, **words), expected)
        assert kernel.last_strategy() == ScatterStrategy.SERIAL
        gs.scatter(rows, indices, updates, out=rows, **words)
    assert_same_numbers(rows, expected)


@pytest.mark.parametrize("reduction", ["add", "max"])
@pytest.mark.parametrize("value", [2.0, None])
def test_layouts_of_updates(reduction, value):
    """A scalar, which may be the identity; strided and reversed updates; updates that are skipped."""
    data, indices, updates = operands((3000,), "f4", reduction, "few")
    scalar = np.float32(identity("f4", reduction) if value is None else value)
    wide = np.repeat(updates, 3).reshape(-1, 3)
    if value is None:
        wide[::50] = scalar
    indices[7::50] = SIZE + 5
    for given in (scalar, wide[:, 1], wide[::-1, 0]):
        words = {"reduction": reduction, "include_self": False, "mode": "drop"}
        expected = reference.scatter(data, indices, np.broadcast_to(given, indices.shape), **words)
        with kernels.forced(1):
            assert_same_numbers(gs.scatter(data, indices, given, **words), expected)


def test_zeros_have_two_signs():
    data = np.array([5, 6, 7, 8], "f4")
    found = gs.scatter(data, [0, 1, 1, 2], np.array([-0.0, 1, -1, 0.0], "f4"), reduction="add", include_self=False)
    assert_same_numbers(found, np.array([-0.0, 0.0, 0.0, 8], "f4"))
    assert np.signbit(found).tolist() == [True, False, False, False]


def test_a_thread_that_flushes_subnormal_numbers_to_zero():
    """There a sum may be -0.0 although no update is."""
    torch = pytest.importorskip("torch")
    data = np.array([5, 6], "f4")
    least = np.finfo("f4").tiny
    if not torch.set_flush_denormal(True):
        pytest.skip("this CPU does not flush")
    try:
        found = gs.scatter(data, [0, 0], np.array([1.5 * least, -2 * least], "f4"), reduction="add", include_self=False)
    finally:
        torch.set_flush_denormal(False)
    assert found[0] == 0
    assert found[1] == 6


@pytest.mark.parametrize("reduction", ["max", "min", "add", "mul"])
def test_any_byte_of_a_bool_is_true(reduction):
    data = np.array([2, 0, 0], "u1").view("?")
    updates = np.array([255, 2], "u1").view("?")
    found = gs.scatter(data, [2, 1], updates, reduction=reduction, include_self=False)
    assert found.tolist() == [True, True, True]
