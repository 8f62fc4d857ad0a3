"""Deliberate differences from array-api-extra: each row of docs/differences.md."""

import re
from pathlib import Path

import gatherscatter as gs
import numpy as np
import pytest
from libraries import LIBRARIES, needs, on_each, to_dask
from pairwise import in_turn

PAGE = Path(__file__).parents[2] / "docs" / "differences.md"
METHODS = ("set", "add", "subtract", "multiply", "divide", "power", "min", "max")


@needs(PAGE.exists(), "the documentation is not here")
def test_each_difference_is_a_row():
    text = PAGE.read_text(encoding="utf-8").partition("## array-api-extra")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    assert sorted(rows) == sorted(name[16:] for name in globals() if name.startswith("test_difference_"))


@pytest.mark.parametrize("library", on_each(LIBRARIES))
@pytest.mark.parametrize("method", METHODS)
def test_difference_a_call_makes_a_copy(library, method):
    x = library.asarray(np.array([1.0, 10.0, 20.0]))
    with library.way():
        for index in (slice(2), library.asarray(np.array([True, True, False]))):
            getattr(gs.at(x, index), method)(2.0)
    assert library.asnumpy(x).tolist() == [1, 10, 20]


@pytest.mark.parametrize("method", METHODS)
def test_difference_dask_arrays_are_not_written_to(method):
    with pytest.raises(
        ValueError, match=r"^at: copy=False, but x, a dask\.array\.Array, cannot be written to; omit copy="
    ):
        getattr(gs.at(to_dask(np.ones(3)))[:2], method)(2.0, copy=False)


@pytest.mark.parametrize("library", on_each(LIBRARIES))
@in_turn("method", [method for method in METHODS if method != "divide"])
def test_difference_values_that_integers_cannot_hold(library, method):
    with pytest.raises(TypeError, match=r"^at: updates=1\.1 cannot be held by x's dtype \S*int64 unchanged"):
        getattr(gs.at(library.asarray(np.array([2, 4])))[:], method)(1.1)


@pytest.mark.parametrize("library", on_each(LIBRARIES))
def test_difference_division_of_integers(library):
    with pytest.raises(TypeError, match=r"^at: divide does not support dtype \S*int64; convert x to floats$"):
        gs.at(library.asarray(np.array([4, 2])), 0).divide(4)


def test_difference_duplicates():
    x, index, by = np.array([8.0, 1.0]), [0, 0], [2.0, 4.0]
    results = {method: getattr(gs.at(x, index), method)(by)[0] for method in METHODS}
    assert results == {
        "set": 4, "add": 14, "subtract": 2, "multiply": 64, "divide": 2, "power": 8**4, "min": 2, "max": 8
    }  # fmt: skip


def test_difference_no_index_or_two():
    x = np.ones(3)
    with pytest.raises(AttributeError, match=r"call gs\.at\(x\)\[index\]\.set"):
        gs.at(x).set(4.0)
    with pytest.raises(TypeError, match="which is not an array; pass"):
        gs.at(x, 0)[0].set(4.0)
