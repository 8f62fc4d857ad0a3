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


def expected(data, indices, source, source_indices, weights, axis=0, **options):
    gathered = gs.gather(source, source_indices, axis=axis)
    ones = (1,) * (gathered.ndim - axis - weights.ndim)
    return gs.scatter(
        data, indices, gathered * weights.reshape(*(1,) * axis, *weights.shape, *ones), axis=axis, **options
    )


@pytest.mark.parametrize("library", on_each(LIBRARIES))
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_libraries(library, reduction):
    for shape in ((20,), (20, 3), (20, 3, 2)):
        arrays = operands(shape)
        with library.way():
            found = gs.gather_scatter(*map(library.asarray, arrays[:4]), weights=library.asarray(arrays[4]),
                                      reduction=reduction)  # fmt: skip
        np.testing.assert_allclose(library.asnumpy(found), expected(*arrays, reduction=reduction), rtol=1e-12)


def test_axes_lists_and_prepared_pairs():
    for axis in (1, -2):
        data, indices, source, source_indices, weights = operands((20,), 1)
        found = gs.gather_scatter(data, indices, source, source_indices, weights=weights, axis=axis, reduction="add")
        assert np.array_equal(found, expected(data, indices, source, source_indices, weights, 1, reduction="add"))
    data, indices, source, source_indices, weights = operands((20, 3))
    wanted = expected(data, indices, source, source_indices, weights, reduction="add")
    pair = [gs.prepare("scatter", data.shape, indices), gs.prepare("gather", source.shape, source_indices)]
    found = gs.gather_scatter(data, pair[0], source, pair[1], weights=weights, reduction="add")
    assert np.array_equal(found, wanted)
    found = gs.gather_scatter(data, indices, source, source_indices, weights=weights.tolist(), reduction="add")
    assert np.array_equal(found, wanted)


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
