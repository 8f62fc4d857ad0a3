"""Order statistics of groups beside pandas: random columns, labels and options."""

import gatherscatter as gs
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.peers

DTYPES = ("f8", "f4", "i8", "i2", "u1")


@st.composite
def columns(draw):
    """Values, labels and their number; some groups are empty, some values missing or equal."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, n_groups = draw(st.integers(1, 200)), draw(st.integers(1, 12))
    values = rng.integers(-20, 20, n) if draw(st.booleans()) else rng.standard_normal(n) * 100
    values = np.abs(values).astype(draw(st.sampled_from(DTYPES)))
    if values.dtype.kind == "f":
        values[rng.random(n) < draw(st.sampled_from((0, 0.3)))] = np.nan
    return values, rng.integers(-1, n_groups, n), n_groups


def grouped(values, labels, n):
    """By categories, of which pandas has empty ones too."""
    codes = pd.Categorical.from_codes(labels, categories=range(n))
    return pd.Series(values).groupby(codes, observed=False)


@given(columns(), st.sampled_from(("linear", "lower", "higher", "nearest", "midpoint")), st.floats(0, 1))
def test_quantiles(column, method, q):
    values, labels, n = column
    expected = grouped(values.astype("f8"), labels, n).quantile(q, interpolation=method).to_numpy()
    found = gs.segment_quantile(values, q, labels, n, method=method, skipna=True, dtype="f8")
    if method == "nearest":  # between ranks that are equally near, pandas takes the lower one
        lower = gs.segment_quantile(values, max(q - 1e-12, 0), labels, n, method=method, skipna=True, dtype="f8")
        found = np.where(found == expected, found, lower)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@given(columns())
def test_medians_and_distinct_values(column):
    values, labels, n = column
    median, distinct = gs.segment_reduce(values, labels, n, reduction=("median", "nunique"), skipna=True)
    groups = grouped(values, labels, n)
    np.testing.assert_allclose(median, groups.median().to_numpy(), rtol=1e-6 if values.dtype == "f4" else 1e-15)
    assert distinct.tolist() == groups.nunique().tolist()


@given(columns(), st.booleans())
def test_order(column, descending):
    """Of elements that have a group: pandas' rank by order of appearance."""
    values, labels, n = column
    order = gs.segment_argsort(values, labels, n, descending=descending)
    ranks = grouped(values, labels, n).rank(method="first", ascending=not descending, na_option="bottom")
    begins = np.concatenate([[0], np.cumsum(np.bincount(labels[labels >= 0], minlength=n))])
    of_none = labels < 0
    place = np.where(of_none, 0, begins[labels] + ranks.fillna(1).to_numpy().astype(int) - 1)
    assert order[place[~of_none]].tolist() == np.flatnonzero(~of_none).tolist()
    assert order[begins[-1] :].tolist() == np.flatnonzero(of_none).tolist()
