"""The routes of scatters, for tests that force each of them, and numbers that show the order of updates."""

import numpy as np
import pytest
from gatherscatter._kernels import scatter
from gatherscatter._kernels.common import ScatterRoute
from gatherscatter.reductions import REDUCTIONS, kind_of

ROUTES = [route.name.lower() for route in ScatterRoute if route != ScatterRoute.AUTO]
every_route = pytest.mark.parametrize("route", ROUTES)


def ran():
    """The route of the last scatter. One that cannot run a job leaves it to another."""
    return ScatterRoute(scatter.last_route()[0]).name.lower()


def routes_for(reduction, dtype, teams):
    """The pairs of a route and one of these teams that can run such scatters, of short rows and to new results."""
    name = np.dtype(dtype).name
    kinds = "" if name == "bool" or reduction == "mean" else REDUCTIONS[reduction].associative
    merges = reduction == "none" or kind_of(name) in kinds
    return [(route, n) for route in ROUTES for n in teams if route != "private" or (merges and n > 1)]


def draw(shape, dtype, seed=0):
    """Numbers whose sums depend on the order, with special values among those of floats."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    scale = 10.0 ** rng.integers(-2, 3, shape)
    flat = (scale * rng.standard_normal(shape)).astype(dtype)
    if dtype.kind == "c":
        flat += (1j * rng.standard_normal(shape)).astype(dtype)
    special = rng.random(shape)
    for value, low in ((np.nan, 0.0), (np.inf, 0.01), (-np.inf, 0.02), (-0.0, 0.03), (0.0, 0.04)):
        flat[(special >= low) & (special < low + 0.01)] = value
    return flat
