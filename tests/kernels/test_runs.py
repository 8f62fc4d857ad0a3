"""Gathers and scatters at the edges of their blocks and runs.

Results are compared with NumPy, update by update, or as sums of integers, which are exact in any order.
"""

import os
import subprocess
import sys
import textwrap

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits
from pairwise import each_pair, in_turn
from scatters import applied

# Around the 64 elements that are resolved ahead, and the 128 of a block.
EDGES = [63, 64, 65, 127, 128, 129, 191, 192, 193, 1000]


class TestPlainTuples:
    """Single indices and pairs of int32 or int64 that name single elements: a loop of their own."""

    @each_pair(n=EDGES, index=["i4", "i8"], dtype=["u1", "f2", "f4", "f8", "c16"])
    def test_runs_of_every_length_and_width(self, forced_threads, n, index, dtype):
        rng = np.random.default_rng(n)
        data = rng.integers(0, 200, (7, 256)).astype(dtype)
        single = rng.integers(-256, 256, (7, n)).astype(index)
        expected = np.take_along_axis(data, single % 256, axis=1)
        assert_same_bits(gs.gather_elements(data, single, axis=1), expected)
        assert_same_bits(gs.gather_nd(data, single[..., None], batch_dims=1), expected)
        pairs = np.stack([rng.integers(-7, 7, n), single[0]], axis=-1).astype(index)
        assert_same_bits(gs.gather_nd(data, pairs), data[pairs[:, 0], pairs[:, 1]])
        # Steps of a whole row, and of two elements: both are powers of two.
        assert_same_bits(gs.gather_nd(data.T, pairs[:, ::-1].copy()), data[pairs[:, 0], pairs[:, 1]])
        assert_same_bits(gs.gather(data[0, ::2], single[0] // 2), data[0, ::2][single[0] // 2])

    @each_pair(
        n=[0, 1, 7, 8, 9, 129],
        index=["i4", "i8"],
        dtype=["f4", "f8", "i4", "i8", "u4", "u8"],
        reduction=["add", "none"],
    )
    def test_few_destinations(self, forced_threads, n, index, dtype, reduction):
        """Which one loop resolves and updates: see direct.pxd."""
        rng = np.random.default_rng(n)
        data, updates = (rng.integers(0, 200, (3, size)).astype(dtype) for size in (40, n))
        if dtype[0] == "f":
            data, updates = data / data.dtype.type(3), updates / data.dtype.type(7)
        indices = rng.integers(-40, 40, (3, n)).astype(index)
        expected = np.stack([applied(*row, reduction) for row in zip(data, indices, updates, strict=True)])
        assert_same_bits(gs.scatter_elements(data, indices, updates, axis=1, reduction=reduction), expected)
        assert_same_bits(gs.scatter(data[0], indices[0], updates[0], reduction=reduction), expected[0])
        alike = applied(data[0], indices[0], np.full(n, 3, dtype), reduction)
        assert_same_bits(gs.scatter(data[0], indices[0], 3, reduction=reduction), alike)
        if n:
            indices[1, n - 1] = -41
            with pytest.raises(IndexError, match=rf"indices\[1, {n - 1}\] = -41 "):
                gs.scatter_elements(data, indices, updates, axis=1, reduction=reduction)

    @each_pair(
        bad=[0, 63, 64, 127, 128, 191, 199], value=[256, -257, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)], k=[1, 2]
    )
    def test_a_bad_index_at_any_place_of_a_run(self, forced_threads, bad, value, k):
        data = np.arange(256 * 256, dtype=np.float32).reshape(256, 256)
        indices = np.zeros((200, k), np.int64 if abs(value) > 2**31 else np.int32)
        for component in range(k):
            indices[bad] = 0
            indices[bad, component] = value
            with pytest.raises(IndexError, match=rf"indices\[{bad}\] = .*axis {component} has size 256"):
                gs.gather_nd(data if k == 2 else data[0], indices)

    @pytest.mark.parametrize("index", ["i4", "i8"])
    def test_indices_that_are_not_aligned(self, forced_threads, index):
        data = np.arange(4096, dtype=np.float32)
        places = np.arange(4000)[::-1].astype(index)
        memory = np.zeros(places.nbytes + 1, np.uint8)
        shifted = memory[1:].view(index)
        shifted[...] = places
        assert not shifted.flags.aligned
        assert_same_bits(gs.gather(data, shifted), data[places])
        grid = memory[1 : 1 + 4000 // 100 * 100 * places.itemsize].view(index).reshape(40, 100)
        assert_same_bits(gs.gather_elements(data.reshape(1, -1).repeat(40, 0), grid, axis=1), data[grid])
        assert_same_bits(gs.gather_elements(np.tile(data[:, None], 100), grid, axis=0), data[grid])

    @in_turn("n", EDGES)
    def test_runs_across_the_axis(self, forced_threads, n):
        rng = np.random.default_rng(n)
        data, indices = rng.random((5, n), np.float32), rng.integers(0, 5, (3, n))
        assert_same_bits(gs.gather_elements(data, indices, axis=0), np.take_along_axis(data, indices, 0))

    @pytest.mark.parametrize("order", ["C", "F", "reversed", "broadcast"])
    def test_data_of_other_steps(self, forced_threads, order):
        rng = np.random.default_rng(0)
        data = np.asarray(rng.random((64, 64), np.float32), order="F" if order == "F" else "C")
        if order == "reversed":
            data = data[::-1, ::-1]
        if order == "broadcast":
            data = np.broadcast_to(data[:1], (64, 64))
        pairs = rng.integers(-64, 64, (500, 2))
        assert_same_bits(gs.gather_nd(data, pairs), data[pairs[:, 0], pairs[:, 1]])
        columns = rng.integers(0, 64, (64, 500))
        assert_same_bits(gs.gather_elements(data, columns, axis=1), np.take_along_axis(data, columns, 1))
        assert_same_bits(gs.gather_elements(data, columns.T, axis=0), np.take_along_axis(data, columns.T, 0))


class TestRows:
    """Rows of a cache line or more."""

    @each_pair(
        row=[(16,), (17,), (100,), (5, 13), (1023,), (1024,), (1500,)],
        n=[1, 30, 129, 700],
        reduction=["none", "add", "max", "mul"],
    )
    def test_against_the_loop(self, forced_threads, row, n, reduction):
        rng = np.random.default_rng(n)
        data = rng.random((40, *row), np.float32)
        indices, updates = rng.integers(-40, 40, n), rng.random((n, *row), np.float32)
        expected = applied(data, indices, updates, reduction)
        assert_same_bits(gs.scatter(data, indices, updates, reduction=reduction), expected)
        assert_same_bits(gs.scatter_nd(data, indices[:, None], updates, reduction=reduction), expected)
        out = np.zeros_like(data)
        gs.scatter(data, indices, updates, reduction=reduction, out=out)
        assert_same_bits(out, expected)
        if len(row) == 1:  # the rows of a matrix behind the indexed axis
            data = data.reshape(1, 40, *row).repeat(3, 0)
            updates = updates.reshape(1, n, *row).repeat(3, 0)
            assert_same_bits(gs.scatter(data, indices, updates, axis=1, reduction=reduction), np.stack([expected] * 3))

    @pytest.mark.parametrize("dtype", ["f8", "i2", "f2", "c8", "u1", "?"])
    def test_dtypes(self, forced_threads, dtype):
        rng = np.random.default_rng(0)
        data = rng.integers(0, 9, (50, 128)).astype(dtype)
        indices, updates = rng.integers(0, 50, 300), rng.integers(0, 9, (300, 128)).astype(dtype)
        for reduction in ("none", "add"):
            expected = applied(data, indices, updates, reduction)
            assert_same_bits(gs.scatter(data, indices, updates, reduction=reduction), expected)

    @pytest.mark.parametrize("n", [20, 3000])
    def test_dropped_all_to_one_and_none_at_all(self, forced_threads, n):
        rng = np.random.default_rng(0)
        data, updates = rng.random((64, 32)), rng.random((n, 32))
        beyond = np.where(rng.random(n) < 0.5, rng.integers(0, 64, n), 64)
        kept = beyond < 64
        for indices in (beyond, np.full(n, 63), np.full(n, 0)):
            kept = indices < 64
            for reduction in ("none", "add"):
                found = gs.scatter(data, indices, updates, reduction=reduction, mode="drop")
                assert_same_bits(found, applied(data, indices[kept], updates[kept], reduction))
        assert_same_bits(gs.scatter(data, np.full(n, 64), updates, reduction="add", mode="drop"), data)

    def test_a_bad_tuple_is_named_by_its_place_in_all(self, forced_threads):
        indices = np.zeros((7, 300), np.int64)
        indices[5, 211] = 64
        message = r"scatter: indices\[5, 211\] = 64 is out of bounds for data of shape \(64, 32\): axis 0 has size 64"
        with pytest.raises(IndexError, match=message):
            gs.scatter(np.zeros((64, 32)), indices, np.ones((7, 300, 32)), reduction="add")


STREAMS = """
    import numpy as np
    import gatherscatter as gs

    rng = np.random.default_rng(0)
    MiB = 1 << 20

    def check(found, expected):
        assert np.array_equal(found, expected) and found.dtype == expected.dtype

    # Results of STREAM_BYTES or more. Rows of whole lines, and of others, into a result that is aligned and not.
    for row in (16, 65):
        n = 17 * MiB // (4 * row)
        data = rng.random((n, row), np.float32)
        indices = rng.integers(-n, n, n)
        expected = data[indices]
        check(gs.gather(data, indices), expected)
        memory = np.zeros(4 * n * row + 68, np.uint8)
        out = memory[4:-64].view(np.float32).reshape(n, row)
        gs.gather(data, indices, out=out)
        check(out, expected)
        assert not memory[:4].any() and not memory[-64:].any()

        updates = rng.integers(0, 9, (n // 2, row)).astype(np.float32)
        data = np.floor(9 * data)
        for indices in (rng.permutation(n)[: n // 2], np.arange(n // 2)):
            expected = data.copy()
            expected[indices] = updates
            check(gs.scatter(data, indices, updates), expected)
            expected = data.copy()
            expected[indices] += updates
            check(gs.scatter(data, indices, updates, reduction="add"), expected)
            gs.scatter(data, indices, updates, reduction="add", out=out)
            check(out, expected)
        # More updates than rows: walked as they lie.
        indices = rng.integers(0, n, 2 * n)
        expected = data + np.bincount(indices, minlength=n).astype(np.float32)[:, None]
        check(gs.scatter(data, indices, np.float32(1), reduction="add"), expected)

    # Elements, in runs whose lines do not begin where the result's do.
    for columns, index in ((1023, "i8"), (9001, "i4")):
        n = 17 * MiB // (4 * columns)
        data = rng.random((n, 500), np.float32)
        indices = rng.integers(-500, 500, (n, columns), index)
        expected = np.take_along_axis(data, indices % 500, 1)
        check(gs.gather_elements(data, indices, axis=1), expected)
        for start in (0, 4):
            memory = np.zeros(4 * n * columns + 64, np.uint8)
            out = memory[start : start + 4 * n * columns].view(np.float32).reshape(n, columns)
            gs.gather_elements(data, indices, axis=1, out=out)
            check(out, expected)
            assert not memory[:start].any() and not memory[start + 4 * n * columns :].any()

    # Units of the result: rows whose elements are scattered within them.
    for columns in (1023, 9000):
        n = 17 * MiB // (4 * columns)
        data = rng.integers(0, 9, (n, columns)).astype(np.float32)
        order = (np.arange(columns) * 7 + rng.integers(0, columns, (n, 1))) % columns  # 7 divides neither
        expected = np.empty_like(data)
        np.put_along_axis(expected, order, data, 1)
        check(gs.scatter_elements(data, order, data, axis=1), expected)
        check(gs.scatter_elements(data, order, data, axis=1, reduction="add"), expected + data)
"""


@pytest.mark.parametrize("stream", ["0", "1"])
def test_results_that_go_past_the_caches(stream):
    environment = {**os.environ, "GATHERSCATTER_STREAM": stream}
    subprocess.run([sys.executable, "-c", textwrap.dedent(STREAMS)], env=environment, check=True, timeout=300)
