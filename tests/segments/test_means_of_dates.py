"""Means of dates and durations, and sums of durations, compared with Python's integers."""

import random

import gatherscatter as gs
import numpy as np
import pytest

NAT = -(2**63)
LIMITS = (2**63 - 1, 1 - 2**63)


def mean(ticks):
    """The first one and the mean difference from it, rounded toward zero."""
    apart = sum(tick - ticks[0] for tick in ticks)
    return ticks[0] + (apart // len(ticks) if apart >= 0 else -(-apart // len(ticks)))


def total(ticks):
    return (sum(ticks) + 2**63) % 2**64 - 2**63  # which wraps around, as integers do


def draw_ticks(draw, n):
    """Near each other, near the limits, or anywhere."""
    kinds = {
        "near": lambda: 1_700_000_000_000_000_000 + draw.randint(-9, 9),
        "halves": lambda: 2**32 * draw.randint(-3, 3) + draw.randint(-1, 1),
        "limits": lambda: draw.choice(LIMITS),
        "any": lambda: draw.randint(*sorted(LIMITS)),
    }
    kind = draw.choice([*kinds.values(), lambda: draw.choice(list(kinds.values()))()])
    return [NAT if draw.random() < 0.05 else kind() for _ in range(n)]


def expected(ticks, ids, n_groups, reduced, empty, skipna):
    result = []
    for group in range(n_groups):
        own = [tick for tick, one in zip(ticks, ids, strict=True) if one == group and not (skipna and tick == NAT)]
        result.append(NAT if NAT in own else reduced(own) if own else empty)
    return result


@pytest.mark.parametrize("skipna", [False, True])
@pytest.mark.parametrize(("reduction", "dtype"), [("mean", "M8[ns]"), ("mean", "m8[s]"), ("add", "m8[ns]")])
def test_drawn(reduction, dtype, skipna):
    reduced, empty = (mean, NAT) if reduction == "mean" else (total, 0)
    for number in range(400):
        draw = random.Random(number)
        n, n_groups = draw.choice([0, 1, 2, 9, 60]), draw.choice([1, 3, 8])
        ticks, ids = draw_ticks(draw, n), [draw.randint(-1, n_groups - 1) for _ in range(n)]
        dates = np.array(ticks, "i8").view(dtype)
        found = gs.segment_reduce(dates, np.array(ids, int), n_groups, reduction=reduction, skipna=skipna)
        assert found.dtype == dates.dtype
        assert found.view("i8").tolist() == expected(ticks, ids, n_groups, reduced, empty, skipna), number


def test_one_long_segment():
    """Of which the sum of the ticks, and that of their lower halves, exceed 64 and 32 bits."""
    ticks = np.tile([2**63 - 1, 2**63 - 2, 1 - 2**63, 5], 50_000) - np.arange(200_000) % 3
    ticks = ticks[ticks > NAT]
    found = gs.segment_reduce(ticks.view("M8[ns]"), np.zeros(len(ticks), int), reduction="mean")
    assert found.view("i8")[0] == mean(ticks.tolist())


def test_axes_orders_and_prepared():
    days = np.array([["2026-01-01", "2026-01-04"], ["2026-01-02", "NaT"], ["2026-01-09", "2026-01-01"]], "M8[D]")
    ids = [1, 1, -1]
    by_row = np.array([["NaT", "NaT"], ["2026-01-01", "NaT"]], "M8[D]")
    by_column = np.array([["2026-01-02"], ["NaT"], ["2026-01-05"]], "M8[D]")
    for dates in (days, days.astype(">M8[D]"), np.asfortranarray(days)):
        prepared = gs.prepare("segment", dates.shape, ids)
        for found, wanted in (
            (gs.segment_reduce(dates, ids, reduction="mean"), by_row),
            (prepared.reduce(dates, reduction="mean"), by_row),
            (gs.segment_reduce(dates, indptr=[0, 0, 2], reduction="mean"), by_row),
            (gs.segment_reduce(dates, [0, 0], axis=1, reduction="mean"), by_column),
        ):
            assert found.dtype == "<M8[D]"
            assert np.array_equal(found, wanted, equal_nan=True)
    both = gs.segment_reduce(days, np.arange(6).reshape(3, 2) % 2, reduction="mean", skipna=True)
    assert both.astype(str).tolist() == ["2026-01-04", "2026-01-03"]  # 4, and 4 − 3 ÷ 2 toward 4


def test_too_few_elements():
    spans = np.array([4, "NaT", 6], "m8[h]")
    out = np.empty(3, "m8[h]")
    for reduction, few, empty in (("mean", 0, NAT), ("add", 0, 0), ("mean", 2, NAT), ("add", 2, NAT)):
        options = {"reduction": reduction, "skipna": True, "min_count": few}
        found = gs.segment_reduce(spans, [0, 1, 0], 3, **options, out=out)
        assert found is out
        assert out.view("i8").tolist() == [10 if reduction == "add" else 5, empty, empty]
        found = gs.segment_reduce(spans, [0, 1, 0], 3, **options, fill_value=np.timedelta64(7, "h"))
        assert found.view("i8").tolist()[1:] == [7, 7]
