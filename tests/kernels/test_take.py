"""The gradients of an assignment in one pass (`kernels.take`), beside a loop."""

import itertools

import ml_dtypes
import numpy as np
import pytest
from assertions import assert_same_bits
from gatherscatter import plan as plans
from gatherscatter.backends import kernels
from gatherscatter.operators import SCATTER, SCATTER_ELEMENTS, SCATTER_ND
from pairwise import in_turn
from routes import ROUTES

# operator, shape of data, shape of indices, axis, batch_dims
CASES = {
    "elements of a vector": (SCATTER, (50,), (200,), 0, 0),
    "rows": (SCATTER, (50, 7), (40, 5), 0, 0),
    "rows of two cache lines": (SCATTER, (50, 40), (200,), 0, 0),
    "rows along axis 1": (SCATTER, (3, 50, 7), (20, 5), 1, 0),
    "rows of batches": (SCATTER, (5, 50, 7), (5, 60), 1, 1),
    "rows along axis 2 of batches": (SCATTER, (5, 3, 50, 2), (5, 60), 2, 1),
    "elements along axis 0": (SCATTER_ELEMENTS, (30, 20), (40, 15), 0, 0),
    "elements along axis 1": (SCATTER_ELEMENTS, (30, 20), (30, 50), 1, 0),
    "tuples": (SCATTER_ND, (10, 8, 3), (20, 6, 2), 0, 0),
    "tuples of batches": (SCATTER_ND, (4, 10, 8), (4, 100, 2), 0, 1),
    "rank 0": (SCATTER_ND, (), (0,), 0, 0),
    "rank 0, three times": (SCATTER_ND, (), (3, 0), 0, 0),
    "one": (SCATTER, (3, 2), (1,), 0, 0),
    "none": (SCATTER, (3, 2), (0,), 0, 0),
    "into nothing": (SCATTER, (3, 0), (4,), 0, 0),
}


def make(case, mode, dtype, seed=0):
    operator, shape, indices_shape, axis, batch_dims = CASES[case]
    rng = np.random.default_rng(seed)
    grad = np.asarray(rng.integers(1, 100, shape)).astype(dtype)  # no zeros
    sizes = shape[batch_dims : batch_dims + 2] if operator is SCATTER_ND else (shape[axis],)
    beyond = 3 if mode in ("drop", "wrap") else 0
    indices = np.empty(indices_shape, int)
    tuples = indices if operator is SCATTER_ND else indices[..., None]
    for k, n in enumerate(sizes):
        tuples[..., k] = rng.integers(-n - beyond, n + beyond, tuples.shape[:-1])
    return plans.scatter(operator, shape, indices.shape, axis, batch_dims, mode, "none", True), grad, indices


def loop(plan, grad, indices):
    """The gradients, by the row ids of all tuples, from the last one to the first."""
    to_data, to_updates = grad.copy(), np.zeros(plan.shape, grad.dtype)
    rows = to_data.reshape(plan.n_rows, *plan.row)
    updates = to_updates.reshape(plan.n_tuples, *plan.row)
    blocks = [(start, ids.copy()) for start, ids in kernels.resolved(plan, indices)] if plan.n_tuples else []
    for start, ids in reversed(blocks):
        for i in range(len(ids) - 1, -1, -1):
            if ids[i] >= 0:
                updates[start + i] = rows[ids[i]]
                rows[ids[i]] = 0
    return to_data, to_updates


@pytest.mark.parametrize("mode", ["raise", "drop", "wrap"])
@in_turn("case", CASES)
def test_the_last_writer_takes_the_gradient(case, mode):
    for dtype in ("f4", "f8", "f2", ml_dtypes.bfloat16, "c16"):
        plan, grad, indices = make(case, mode, dtype)
        for result, expected in zip(kernels.take(plan, grad, indices), loop(plan, grad, indices), strict=True):
            assert_same_bits(result, expected)


@in_turn("case", CASES)
def test_on_each_route(case):
    """Those that group the updates otherwise do not run it."""
    plan, grad, indices = make(case, "raise", "f4")
    expected = loop(plan, grad, indices)
    for route, n_threads in itertools.product(ROUTES, (2, 3, 8)):
        with kernels.forced(n_threads, scatter=route):
            results = kernels.take(plan, grad, indices)
        for result, each in zip(results, expected, strict=True):
            assert_same_bits(result, each)


def test_large_rows():
    rng = np.random.default_rng(0)
    grad = rng.random((3000, 64))
    indices = rng.integers(0, 3000, 9000)
    plan = plans.scatter(SCATTER, grad.shape, indices.shape, 0, 0, "raise", "none", True)
    expected = loop(plan, grad, indices)
    for n_threads in (1, 2, 5):
        with kernels.forced(n_threads):
            results = kernels.take(plan, grad, indices)
        for result, each in zip(results, expected, strict=True):
            assert_same_bits(result, each)


def test_a_bad_index_is_an_error():
    """The scatter has checked the indices, so they have changed since."""
    plan, grad, indices = make("rows", "raise", "f4")
    indices[3, 2] = 50
    with pytest.raises(RuntimeError, match="indices changed during the call"):
        kernels.take(plan, grad, indices)
