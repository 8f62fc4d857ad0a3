"""Each function, route, dtype, reduction, include_self, mode and width of rows once, on arrays of a few numbers.

As small calls, and as those that need a plan. What larger or special operands make of a combination is in other files.
"""

import itertools

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_numbers
from constants import DTYPES, GATHER_MODES, REDUCTIONS, SCATTER_MODES, reduces
from gatherscatter import reference
from gatherscatter.backends import kernels
from gatherscatter.reductions import REDUCTIONS as RECORDS
from gatherscatter.reductions import wider_dtypes
from pairwise import in_turn
from routes import routes_for
from strategies import PLAIN_DTYPES, numbers, numpy_dtype, values

INDICES = np.array([3, -5, 4, 0, 4, 3, -1, 4, 2, 3])
BEYOND = np.array([3, -5, 4, 0, 9, 3, -1, 4, -8, 5])


def rows_of(dtype):
    """Shapes of rows of up to 16 bytes, and of 3 numbers."""
    return [(), *((n,) for n in (2, 3, 4, 8, 16) if n * dtype.itemsize <= 16 or n == 3)]


def strided(array):
    """The same numbers, apart from each other."""
    wide = np.empty((len(array), 2, *array.shape[1:]), array.dtype)
    wide[:, 0] = array
    return wide[:, 0]


def functions_for(row):
    """All do the same; elements have no rows."""
    yield gs.scatter, gs.gather, lambda indices: indices
    yield gs.scatter_nd, gs.gather_nd, lambda indices: indices[:, None]
    if not row:
        yield gs.scatter_elements, gs.gather_elements, lambda indices: indices


def assert_equal(result, expected):
    if result.tobytes() != expected.tobytes():  # seldom: a NaN has other bits
        assert_same_numbers(np.ascontiguousarray(result), expected)


@pytest.mark.parametrize(
    ("dtype", "reduction"),
    [
        *((name, reduction) for name in DTYPES for reduction in REDUCTIONS if reduces(reduction, name)),
        *((name, "none") for name in ("U1", "U2", "U3", "U4", "S3", "V1", "V2", "V48", "g", "G", "M8[s]")),
    ],
)
def test_scatters(dtype, reduction):
    dtype = numpy_dtype(dtype)
    fill = numbers if dtype.name in DTYPES else values
    wides = [None, *(wider_dtypes(dtype.name) if RECORDS[reduction].rounds else ())]
    teams = [pair for pair in routes_for(reduction, dtype, (1, 2)) if pair[1] == 1 or pair[0] == "private"]
    for row, wide, include_self, mode in itertools.product(rows_of(dtype), wides, (True, False), SCATTER_MODES):
        data, updates = fill((5, *row), dtype, 0), fill((10, *row), dtype, 3)
        if row == (3,):  # in memory from the last one to the first
            updates = updates[::-1].copy()[::-1]
        indices = INDICES if mode in ("raise", "promise_in_bounds") else BEYOND
        words = {"reduction": reduction, "include_self": include_self, "mode": mode}
        words |= {"accumulate_dtype": wide} if wide else {}
        expected = reference.scatter(data, indices, updates, **words)
        some = teams[:1] if wide and mode not in ("raise", "drop") else teams
        for (function, _, shaped), (route, n_threads) in itertools.product(functions_for(row), some):
            with kernels.forced(n_threads, scatter=route), np.errstate(all="ignore"):
                for name in (reduction,) if wide else (reduction, np.str_(reduction)):  # the latter needs a plan
                    words["reduction"] = name
                    assert_equal(function(data, shaped(indices), updates, **words), expected)
                    if route == "direct":
                        assert function(data[:0], shaped(indices[:0]), updates[:0], **words).shape == (0, *row)


@pytest.mark.parametrize("mode", GATHER_MODES)
@in_turn("dtype", {dtype.itemsize: dtype for dtype in PLAIN_DTYPES}.values())
def test_gathers(dtype, mode):
    few = INDICES if mode in ("raise", "promise_in_bounds") else BEYOND
    for row, indices in itertools.product(rows_of(dtype), (few, np.tile(few, 7))):  # 64 or more, for runs
        data = values((5, *row), dtype, 0)
        expected = reference.gather(data, indices, mode=mode)
        for (_, function, shaped), route in itertools.product(functions_for(row), ("auto", "direct", "runs")):
            with kernels.forced(route != "auto", gather=route):
                for out in (None, strided(expected)):
                    assert_equal(function(data, shaped(indices), mode=mode, out=out), expected)
