"""gather_scatter with weights: `y[dst] += w * x[src]`."""

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_refused
from libraries import LIBRARIES, on_each

REDUCTIONS = ["add", "max", "mean"]


def operands(weights_shape, axis=0, dtype="f8"):
    rng = np.random.default_rng(0)
    shape = [4, 3, 2]
    shape.insert(axis, 7)
    shape.pop(axis + 1)
    source = rng.standard_normal(shape).astype(dtype)
    indices, source_indices = rng.integers(0, 7, (2, 20))
    return np.zeros_like(source), indices, source, source_indices, rng.standard_normal(weights_shape).astype(dtype)


def expected(data, indices, source, source_indices, weights, reduction="add"):
    """Pair by pair, along axis 0."""
    result, n = data.copy(), np.zeros(len(data), int)
    for to, of, weight in zip(indices, source_indices, weights, strict=True):
        message = np.reshape(weight, (*weight.shape, *[1] * (source.ndim - 1 - weight.ndim))) * source[of]
        result[to] = np.maximum(result[to], message) if reduction == "max" else result[to] + message
        n[to] += 1
    return result / (n + 1).reshape(-1, *[1] * (data.ndim - 1)) if reduction == "mean" else result


@pytest.mark.parametrize("library", on_each(LIBRARIES))
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_libraries(library, reduction):
    for shape in ((20,), (20, 3), (20, 3, 2)):
        arrays = operands(shape)
        with library.way():
            found = gs.gather_scatter(*map(library.asarray, arrays[:4]), weights=library.asarray(arrays[4]),
                                      reduction=reduction)  # fmt: skip
        np.testing.assert_allclose(library.asnumpy(found), expected(*arrays, reduction=reduction), rtol=1e-12)


def test_axes_and_lists():
    data, indices, source, source_indices, weights = operands((20,), 1)
    wanted = expected(data.swapaxes(0, 1), indices, source.swapaxes(0, 1), source_indices, weights).swapaxes(0, 1)
    for axis in (1, -2):
        found = gs.gather_scatter(data, indices, source, source_indices, weights=weights, axis=axis, reduction="add")
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    data, indices, source, source_indices, weights = operands((20, 3))
    found = gs.gather_scatter(data, indices, source, source_indices, weights=weights.tolist(), reduction="add")
    np.testing.assert_allclose(found, expected(data, indices, source, source_indices, weights), rtol=1e-12)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(20,), (4, 5)])
def test_prepared_pairs(axis, shape):
    data, indices, source, source_indices, weights = operands((20,), axis)
    moved = expected(data.swapaxes(0, axis), indices, source.swapaxes(0, axis), source_indices, weights)
    pair = [gs.prepare("scatter", data.shape, indices.reshape(shape), axis=axis),
            gs.prepare("gather", source.shape, source_indices.reshape(shape), axis=axis)]  # fmt: skip
    found = gs.gather_scatter(data, pair[0], source, pair[1], weights=weights.reshape(shape), reduction="add")
    np.testing.assert_allclose(found, moved.swapaxes(0, axis), rtol=1e-12)


def test_prepared_batches_and_elements():
    rng = np.random.default_rng(0)
    data, source, weights = np.zeros((2, 5)), rng.standard_normal((2, 6)), rng.standard_normal((2, 9))
    indices, source_indices = rng.integers(0, 5, (2, 9)), rng.integers(0, 6, (2, 9))
    wanted = np.stack([expected(*one) for one in zip(data, indices, source, source_indices, weights, strict=True)])
    for name, options in (("", {"axis": 1, "batch_dims": 1}), ("_elements", {"axis": 1})):
        pair = [gs.prepare(f"scatter{name}", data.shape, indices, **options),
                gs.prepare(f"gather{name}", source.shape, source_indices, **options)]  # fmt: skip
        found = gs.gather_scatter(data, pair[0], source, pair[1], weights=weights, reduction="add")
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_the_weight_of_a_pair_that_is_dropped_is_not_used():
    found = gs.gather_scatter(np.zeros(2), [0, 5, 1], np.ones(3), [0, 1, 7], weights=[2.0, np.nan, np.nan],
                              mode="drop", reduction="add")  # fmt: skip
    assert found.tolist() == [2, 0]


def test_gradients():
    torch = pytest.importorskip("torch")
    data, indices, source, source_indices, weights = (torch.from_numpy(array) for array in operands((20,)))
    source.requires_grad_(True)
    weights.requires_grad_(True)

    def call(source, weights):
        return gs.gather_scatter(data, indices, source, source_indices, weights=weights, reduction="add")

    assert torch.autograd.gradcheck(call, (source, weights))


def test_refusals():
    data, indices, source, source_indices, weights = operands((20,))
    call = gs.gather_scatter
    assert_refused(
        lambda: call(data, indices, source, source_indices, weights=weights[:5]),
        ValueError,
        "gather_scatter: weights has shape (5,); pass the shape of indices, (20,), or one followed by leading axes of "
        "a slice, (3, 2)",
    )
    assert_refused(
        lambda: call(data, indices, source, source_indices, weights=weights.astype("f4")),
        TypeError,
        "gather_scatter: weights has dtype float32, but source has float64; pass weights.astype(source.dtype)",
    )
