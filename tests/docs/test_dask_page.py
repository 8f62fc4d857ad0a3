"""The examples of docs/dask.md, which are one program."""

import re
from pathlib import Path

import dask.array as da
import gatherscatter as gs
import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("dask_in_this_thread")
PAGE = Path(__file__).parents[2] / "docs" / "dask.md"


def test_the_pages_examples_run():
    names = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL):
        exec(block, names)
    table, ids = names["table"][:, 0].compute(), names["ids"].compute()
    looked_up, counts = names["looked_up"], names["counts"]
    assert looked_up.dims == ("sentence", "position", "feature")
    assert looked_up.shape == (400, 500, 16)
    assert isinstance(looked_up.data, da.Array)
    assert isinstance(counts.data, da.Array)
    assert (counts.to_numpy() == np.bincount(ids, minlength=len(table))).all()
    assert looked_up[:3].to_numpy().sum() == 3 * 500 * 16
    temperature, climatology = names["temperature"], names["climatology"]
    variance, warmest = names["variance"], names["warmest"]
    assert all(isinstance(result.data, da.Array) for result in (climatology, variance, warmest))
    by_month = temperature.compute().groupby("time.month")
    np.testing.assert_allclose(climatology.T.compute(), by_month.mean())
    np.testing.assert_allclose(variance.T.compute(), by_month.var())
    np.testing.assert_array_equal(temperature.to_numpy()[warmest, np.arange(3)[:, None]].T, by_month.max())
    assert (names["warmest_days"].dt.month == np.arange(1, 13)).all()
    np.testing.assert_allclose(names["anomalies"].compute(), by_month - by_month.mean())
    assert names["updated"][:, 0].compute().tolist() == gs.scatter(table, ids, 0.5, reduction="add").tolist()
