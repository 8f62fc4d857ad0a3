"""Means of dates and durations, and sums of durations, beside pandas, which computes the means in float64."""

import gatherscatter as gs
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.peers

MOST = 10  # elements of a group
WHOLE = 2520  # what each number up to 10 divides, so that means are whole seconds


def grouped(dates, labels, n):
    codes = pd.Categorical.from_codes(labels, categories=range(n))
    return pd.Series(dates).groupby(codes, observed=False)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["M8[s]", "m8[s]"]), st.integers(1, 8))
def test_means_and_sums(seed, dtype, n_groups):
    """Numbers whose sums float64 holds."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(-1, n_groups), rng.integers(0, MOST + 1, n_groups + 1)))
    dates = (rng.integers(-500_000, 500_000, len(labels)) * WHOLE).view(dtype)
    dates[rng.random(len(dates)) < 0.1] = "NaT"
    groups = grouped(dates, labels, n_groups)
    found = gs.segment_reduce(dates, labels, n_groups, reduction="mean", skipna=True)
    assert np.array_equal(found, groups.mean().to_numpy(), equal_nan=True)
    if dtype == "m8[s]":
        for few in (0, 2):
            found = gs.segment_reduce(dates, labels, n_groups, skipna=True, min_count=few)
            assert np.array_equal(found, groups.sum(min_count=few).to_numpy(), equal_nan=True)


def test_pandas_means_lose_digits():
    """Of dates in nanoseconds: float64 has 53 bits."""
    dates = np.array(["2026-01-01T00:00:00.000000001", "2026-01-01T00:00:00.000000003"], "M8[ns]")
    assert gs.segment_reduce(dates, [0, 0], reduction="mean") - dates[0] == np.timedelta64(1, "ns")
    assert pd.Series(dates).groupby([0, 0]).mean().to_numpy()[0] - dates[0] != np.timedelta64(1, "ns")
