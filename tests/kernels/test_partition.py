"""The route partition at its edges: more updates than records fit at a time, and tiles that go past the caches."""

import itertools
import os
import subprocess
import sys
import tracemalloc

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits, assert_same_numbers
from gatherscatter.backends import kernels
from pairwise import pairwise


class TestRounds:
    """Later rounds go on where earlier ones ended."""

    N = 13_000_000  # records of 8 bytes, against 60 MiB

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("route", "reduction", "include_self"),
        [
            *itertools.product(["partition"], ["add", "max", "mean"], [True, False]),
            *itertools.product(["direct", "blocks"], ["add"], [False]),
            *itertools.product(["direct", "blocks"], ["mean"], [True]),
        ],
    )
    def test_more_updates_than_records(self, route, reduction, include_self):
        """Marks last from round to round. All of it needs less than 64 MiB, and a mark or a count for each row."""
        rng = np.random.default_rng(0)
        data, updates = (rng.standard_normal(n).astype("f4") for n in (9_000_000, 13_000_000))
        indices = rng.integers(0, len(data), len(updates))
        indices[: 6 << 20] %= 4096  # one tile has more than there is memory for
        if route == "blocks":  # whose teams would take minutes for indices in random order
            indices.sort()
        marks = len(data) * (4 if reduction == "mean" else 0 if include_self else 1)
        words = {"reduction": reduction, "include_self": include_self}
        for at, teams in ((indices, (1, 3)), (indices % 8_000_000, (3,))):
            with kernels.forced(1, scatter="direct"):
                expected = gs.scatter(data, at, updates, **words)
            for n_threads in teams:
                out = data.copy()
                tracemalloc.start()
                try:
                    with kernels.forced(n_threads, scatter=route):
                        gs.scatter(out, at, updates, out=out, **words)
                    most = tracemalloc.get_traced_memory()[1]
                finally:
                    tracemalloc.stop()
                assert_same_bits(out, expected)
                assert most < (1 << 26) + marks
            with kernels.forced(3, scatter=route):
                assert_same_bits(gs.scatter(data, at, updates, **words), expected)

    @pytest.mark.parametrize(
        ("reduction", "include_self", "n_rows"),
        [
            *(("add", False, 3_000_000), ("mul", False, 3_000_000), ("max", False, 1 << 16), ("min", False, 3_000_000)),
            *(("mean", False, 1 << 16), ("mean", True, 3_000_000), ("add", False, 1 << 16)),
        ],
    )
    def test_sums_of_all_rounds(self, reduction, include_self, n_rows):
        """Whole numbers, so that sums of any order are equal."""
        rng = np.random.default_rng(0)
        row = (32,) if n_rows == 1 << 16 else ()
        n = 4_100_000 if row else 5_500_000
        data = np.full((n_rows, *row), 3.0)
        indices = rng.integers(0, n_rows - 1, n, np.int32)
        indices[-1] = n_rows - 1  # only the last round names the last row
        updates = np.broadcast_to(np.full(row, 2.0), (n, *row))
        with kernels.forced(2, scatter="partition"):
            result = gs.scatter(data, indices, updates, reduction=reduction, include_self=include_self)
        counts = np.bincount(indices, minlength=n_rows)
        start = 3.0 if include_self else 0.0
        with np.errstate(all="ignore"):
            named = {
                "add": counts * 2.0,
                "mul": 2.0**counts,
                "max": np.full(n_rows, 2.0),
                "min": np.full(n_rows, 2.0),
                "mean": (start + counts * 2.0) / (counts + include_self),
            }[reduction]
        expected = np.where(counts > 0, named, 3.0).reshape(-1, *(1,) * len(row))
        assert_same_bits(result, np.ascontiguousarray(np.broadcast_to(expected, data.shape)))

    @pytest.mark.parametrize("reduction", ["none", "add"])
    def test_updates_that_are_one_row(self, reduction):
        """Some 4 M with "add", some 8 M with "none"; all updates are one row in memory."""
        n, n_rows = 8_200_000, 70_000
        indices = np.random.default_rng(0).integers(0, n_rows - 1, n, np.int32)
        indices[-1] = n_rows - 1  # only the last round names the last row
        updates = np.broadcast_to(np.full(64, 3, np.uint8), (n, 64))
        with kernels.forced(2, scatter="partition"):
            found = gs.scatter(np.zeros((n_rows, 64), np.uint8), indices, updates, reduction=reduction)
        count = np.bincount(indices, minlength=n_rows)
        expected = 3 * count % 256 if reduction == "add" else 3 * (count > 0)
        assert_same_bits(found, np.repeat(expected[:, None], 64, 1).astype(np.uint8))

    def test_the_last_round_wins(self):
        rng = np.random.default_rng(0)
        size = 9_000_000
        indices = rng.integers(0, size, self.N, dtype=np.int32)
        updates = np.arange(self.N, dtype=np.int32)
        expected = np.full(size, -1, np.int32)
        np.maximum.at(expected, indices, updates)  # updates grow, so the last is the largest
        with kernels.forced(5, scatter="partition"):
            result = gs.scatter_nd(np.full(size, -1, np.int32), indices[:, None], updates)
        np.testing.assert_array_equal(result, expected)

    def test_a_bad_index_in_the_last_round_leaves_out_as_it_was(self):
        indices = np.arange(self.N)
        indices[-1] = self.N
        data = np.zeros(self.N, np.float32)
        with (
            kernels.forced(2, scatter="partition"),
            pytest.raises(IndexError, match=rf"indices\[{self.N - 1}\] = {self.N} is out of bounds"),
        ):
            gs.scatter(data, indices, 1.0, reduction="add", out=data)
        assert not data.any()


@pytest.mark.parametrize(("reduction", "include_self"), [("add", True), ("add", False), ("max", True), ("mean", False)])
@pytest.mark.parametrize(("dtype", "accumulate_dtype"), [("f4", None), ("f4", "float64"), ("f8", None)])
def test_rows_with_many_updates(dtype, accumulate_dtype, reduction, include_self):
    """The updates of a tile are sorted by row, some thousands at a time, and stay in their order."""
    if accumulate_dtype and reduction == "max":
        return
    words = {"reduction": reduction, "include_self": include_self}
    for width, n_rows, n in pairwise((16, 24, 200, 512), (3, 150), (310, 5000)):
        rng = np.random.default_rng(n)
        data, updates = (rng.standard_normal((m, width)).astype(dtype) for m in (n_rows, n))
        updates[rng.integers(0, n, 5)] = np.nan
        indices = rng.integers(-n_rows, n_rows, n)
        with kernels.forced(1, scatter="direct"):
            expected = gs.scatter(data, indices, updates, accumulate_dtype=accumulate_dtype, **words)
        for n_threads in (1, 2, 5):
            with kernels.forced(n_threads, scatter="partition"):
                found = gs.scatter(data, indices, updates, accumulate_dtype=accumulate_dtype, **words)
                assert_same_numbers(found, expected)
                if accumulate_dtype:
                    continue
                fused = gs.gather_scatter(data, indices, updates[::-1], np.arange(n)[::-1], **words)
            assert_same_numbers(fused, expected)


COMBINED = """
import sys
import gatherscatter as gs
import numpy as np
from gatherscatter.backends import kernels

rng = np.random.default_rng(0)
n = 700_000
indices = rng.integers(-300_000, 330_000, n)  # some are skipped
indices[:60_000] = 77
for dtype in ("f4", "u1"):
    data, updates = rng.integers(0, 99, 300_000).astype(dtype), rng.integers(0, 99, n).astype(dtype)
    for options in ({"reduction": "none"}, {"reduction": "add"}, {"reduction": "add", "include_self": False}):
        with kernels.forced(1, scatter="direct"):
            expected = gs.scatter(data, indices, updates, mode="drop", **options)
        for n_threads in (1, 3) if dtype == "f4" else (2, 192):
            with kernels.forced(n_threads, scatter="partition"):
                result = gs.scatter(data, indices, updates, mode="drop", **options)
            assert result.tobytes() == expected.tobytes(), (dtype, options, n_threads)
bad = indices % 300_000
bad[660_000] = 300_000
before = data.copy()
for n_threads in (1, 3):
    with kernels.forced(n_threads, scatter="partition"):
        try:
            gs.scatter(data, bad, updates, reduction="add", out=data)
        except IndexError as error:
            assert "indices[660000] = 300000 is out of bounds" in str(error), error
        else:
            sys.exit("no error")
    assert data.tobytes() == before.tobytes()
"""


@pytest.mark.parametrize("streams", ["0", "1"])
def test_with_and_without_non_temporal_stores(streams):
    environment = os.environ | {"GATHERSCATTER_STREAM": streams}
    subprocess.run([sys.executable, "-c", COMBINED], env=environment, check=True, timeout=300)
