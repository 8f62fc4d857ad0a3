"""Functions written once, against the array API and gatherscatter, that run unchanged on every library."""

import gatherscatter as gs
import numpy as np
import pytest
from array_api_compat import array_namespace
from libraries import EAGER, on_each


def nearest_average(points, values, queries, k):
    """For each query the mean of the values at its k nearest points."""
    xp = array_namespace(points, values, queries)
    squared = xp.sum((queries[:, None, :] - points[None, :, :]) ** 2, axis=-1)
    nearest = xp.argsort(squared, axis=-1, stable=True)[:, :k]
    return xp.mean(gs.gather(values, nearest), axis=1)


def sample_bilinearly(image, where):
    """Values of an (H, W, C) image between its pixels; outside of it the border goes on."""
    xp = array_namespace(image, where)
    corner = xp.floor(where)
    weight = where - corner
    corner = xp.astype(corner, xp.int64)
    result = 0.0
    for dy in (0, 1):
        for dx in (0, 1):
            pixels = gs.gather_nd(image, xp.stack([corner[:, 0] + dy, corner[:, 1] + dx], axis=-1), mode="clip")
            part = (weight[:, 0] if dy else 1 - weight[:, 0]) * (weight[:, 1] if dx else 1 - weight[:, 1])
            result = result + pixels * part[:, None]
    return result


def pass_messages(features, edges):
    """For each node of a graph the mean of the messages of its edges; a node without edges keeps its value."""
    messages = gs.gather(features, edges[:, 0])
    return gs.scatter(features, edges[:, 1], messages, reduction="mean", include_self=False)


def bins_of(values, edges):
    """A histogram: how many values lie in each of the bins."""
    xp = array_namespace(values, edges)
    bins = xp.searchsorted(edges, values)
    return gs.scatter_nd(xp.zeros(edges.shape[0] + 1, dtype=xp.int64, device=values.device), bins[:, None], 1,
                         reduction="add")  # fmt: skip


rng = np.random.default_rng(0)
FUNCTIONS = [
    (nearest_average, (rng.random((50, 3)), rng.random((50, 2)), rng.random((20, 3))), (4,)),
    (sample_bilinearly, (rng.random((8, 9, 3)), rng.random((40, 2)) * 12 - 2), ()),
    (pass_messages, (rng.integers(-9, 9, (30, 4)).astype(float), rng.integers(0, 30, (64, 2))), ()),
    (bins_of, (rng.random(1000), np.linspace(0, 1, 20)), ()),
]


@pytest.mark.parametrize("library", on_each(EAGER))
@pytest.mark.parametrize(("function", "arrays", "options"), FUNCTIONS, ids=lambda value: getattr(value, "__name__", ""))
def test_equals_numpy(library, function, arrays, options):
    expected = function(*arrays, *options)
    result = function(*map(library.asarray, arrays), *options)
    assert type(result) is type(library.asarray(expected))
    np.testing.assert_allclose(library.asnumpy(result), expected, rtol=1e-12)
