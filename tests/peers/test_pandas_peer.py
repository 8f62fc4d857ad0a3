"""Running sums, products, maxima, minima and counts of groups compared with those of pandas."""

import random
from collections import Counter

import gatherscatter as gs
import numpy as np
import pandas as pd
import pytest

pytestmark = pytest.mark.peers

SCANS = {"cumsum": "add", "cumprod": "mul", "cummax": "max", "cummin": "min", "cumcount": "count"}
N_CALLS = 300


def numbers(draw, rng, n):
    """Floats or integers, of which some are equal and some missing."""
    dtype = draw.choice(["f8", "f8", "f4", "i8", "i4", "u1"])
    values = rng.integers(0 if dtype == "u1" else -2, 3, n)
    if dtype[0] != "f":
        return values.astype(dtype)
    values = values * 0.5 if draw.random() < 0.5 else rng.standard_normal(n)
    return np.where(rng.random(n) < draw.choice([0, 0.2]), np.nan, values).astype(dtype)


def test_scans():
    drawn = Counter()
    for number in range(N_CALLS):
        draw, rng = random.Random(number), np.random.default_rng(number)
        n, n_groups = draw.choice([1, 7, 100, 1000]), draw.choice([1, 3, 40])
        values, ids = numbers(draw, rng, n), rng.integers(draw.choice([-1, 0]), n_groups, n)
        ids = np.sort(ids) if draw.random() < 0.3 else ids
        name = draw.choice(list(SCANS))
        options = {"exclusive": True} if name == "cumcount" else {"skipna": True}
        found = gs.segment_scan(values, ids, n_groups, reduction=SCANS[name], **options)
        labels = pd.Series(ids).where(ids >= 0)
        expected = getattr(pd.Series(values).groupby(labels), name)().to_numpy()
        drawn[name, values.dtype.kind] += 1
        inside = ids >= 0
        if found.dtype.kind in "iu":  # those of no group are NaN in pandas, which makes floats of all
            assert (found[~inside] == (-1 if name == "cumcount" else 0)).all()
            found, expected = found[inside], expected[inside]
        else:
            assert np.isnan(expected[~inside]).all()
        exact = values.dtype.kind != "f" or name in ("cummax", "cummin", "cumcount")
        tolerance = 0 if exact else {"float64": 1e-13, "float32": 1e-4}[values.dtype.name]
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance, err_msg=f"{number}: {name}")
    assert len(drawn) == 3 * len(SCANS)
