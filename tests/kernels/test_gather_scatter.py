"""gather_scatter on NumPy arrays: the two calls' result to the bit, in one pass where it can."""

import gc
import itertools

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits, assert_same_numbers
from constants import REDUCTIONS, reduces
from gatherscatter import reference
from gatherscatter.backends import kernels
from gatherscatter.backends.numpy import NumPyBackend
from pairwise import each_pair, in_turn
from routes import draw

DTYPES = ["f4", "f8", "i4", "i8", "u1", "f2", "F"]
INDEX_DTYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i4"]


def pairs(n_rows, n_source, n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(-n_rows, n_rows, n), rng.integers(-n_source, n_source, n)


def in_two(data, indices, source, source_indices, *, reduction="none", include_self=True, mode="raise", wraps=True):
    """Both steps, one after the other, on one thread."""
    with kernels.forced(1, scatter="direct"):
        words = {"mode": mode, "wrap_negative_indices": wraps}
        updates = gs.gather(source, source_indices, **words)
        return gs.scatter(data, indices, updates, reduction=reduction, include_self=include_self, **words)


def assert_equal(result, expected):
    """Which NaN a sum of two is depends on the machine."""
    (assert_same_numbers if expected.dtype.kind in "fc" else assert_same_bits)(result, expected)


ROWS = [(reduction, include_self) for reduction in REDUCTIONS for include_self in (True, False)]
every_rule = pytest.mark.parametrize(("reduction", "include_self"), ROWS)
every_team = pytest.mark.parametrize("n_threads", [3, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 8, 192))])


class TestOnePass:
    @every_team
    @every_rule
    @in_turn("dtype", DTYPES)
    def test_every_reduction_and_dtype(self, passes, dtype, reduction, include_self, n_threads):
        passes.clear()
        if not reduces(reduction, np.dtype(dtype).name):
            return
        words = {"reduction": reduction, "include_self": include_self}
        width = 100 // np.dtype(dtype).itemsize
        data, source = draw((61, width), dtype, 1), draw((37, width), dtype, 2)
        indices, rows = pairs(61, 37, 500)
        indices[indices % 61 == 7] = 8  # a row without updates keeps its own bits
        with np.errstate(all="ignore"):
            expected = in_two(data, indices, source, rows, **words)
            with kernels.forced(n_threads):
                assert_equal(gs.gather_scatter(data, indices, source, rows, **words), expected)
                out = np.empty_like(data)
                assert gs.gather_scatter(data, indices, source, rows, out=out, **words) is out
                assert_equal(out, expected)
                changed = data.copy()
                assert gs.gather_scatter(changed, indices, source, rows, out=changed, **words) is changed
                assert_equal(changed, expected)
        assert passes == [True] * 3

    @every_rule
    def test_the_reference(self, passes, reduction, include_self):
        words = {"reduction": reduction, "include_self": include_self}
        data, source = draw((5, 16), "f4", 1), draw((4, 16), "f4", 2)
        indices, rows = pairs(5, 4, 30)
        with np.errstate(all="ignore"):
            expected = reference.scatter(data, indices, reference.gather(source, rows), **words)
            assert_same_numbers(gs.gather_scatter(data, indices, source, rows, **words), expected)
        assert passes == [True]

    @every_team
    @each_pair(
        n_bytes=[64, 72, 96, 100, 128, 132, 224, 256, 260, 508, 1000, 2048, 4092],
        reduction=REDUCTIONS,
        include_self=[True, False],
    )
    def test_rows_of_every_length(self, passes, n_bytes, reduction, include_self, n_threads):
        """The parts of a row that are reduced in registers have 256, 128, 64 and 32 bytes, and then one number."""
        passes.clear()
        words = {"reduction": reduction, "include_self": include_self}
        dtypes = [
            name for name in ("f4", "f8", "F", "D", "i4", "u4", "i8", "u8") if reduces(reduction, np.dtype(name).name)
        ]
        for dtype in dtypes:
            width = n_bytes // np.dtype(dtype).itemsize
            data, source = draw((23, width), dtype, 1), draw((9, width), dtype, 2)
            indices, rows = pairs(23, 9, 140)
            expected = in_two(data, indices, source, rows, **words)
            with kernels.forced(n_threads):
                assert_equal(gs.gather_scatter(data, indices, source, rows, **words), expected)
                changed = data.copy()
                gs.gather_scatter(changed, indices, source, rows, out=changed, **words)
                assert_equal(changed, expected)
                # And where the updates are stored.
                updates = gs.gather(source, rows)
                with kernels.forced(n_threads, scatter="partition"):
                    assert_equal(gs.scatter(data, indices, updates, **words), expected)
        assert passes == [True] * 2 * len(dtypes)

    @pytest.mark.parametrize("n_bytes", [56, 60, 4096, 5000])
    def test_other_lengths_take_two_steps(self, passes, n_bytes):
        data, source = draw((9, n_bytes), "u1", 1), draw((5, n_bytes), "u1", 2)
        indices, rows = pairs(9, 5, 40)
        expected = in_two(data, indices, source, rows, reduction="add")
        assert_same_bits(gs.gather_scatter(data, indices, source, rows, reduction="add"), expected)
        assert passes == []

    def test_few_bytes_take_two_steps(self, monkeypatch):
        asked = []
        monkeypatch.setattr(NumPyBackend, "gather_scatter", lambda *_: asked.append(1))
        data, source = np.zeros((50, 64)), np.ones((50, 64))
        for n, n_asked in ((4095, 0), (4096, 1)):
            rows = np.arange(n) % 50
            assert gs.gather_scatter(data, rows, source, rows, reduction="add").sum() == 64 * n
            assert len(asked) == n_asked

    @every_team
    @every_rule
    @in_turn("shape", [(32,), (6, 1, 6), (1, 32)])
    def test_data_that_repeats_a_row(self, passes, shape, reduction, include_self, n_threads):
        """It is read where it is. So is no other data with a stride of 0."""
        passes.clear()
        words = {"reduction": reduction, "include_self": include_self}
        for dtype in ("f4", "i2"):
            source, table = draw((37, *shape), dtype, 2), draw((1, *shape), dtype, 1)
            indices, rows = pairs(61, 37, 200)
            others = np.broadcast_to(table[..., :1], (61, *shape)), np.broadcast_to(table[:, :1], (61, *shape))
            for data in (np.broadcast_to(table, (61, *shape)), *others, np.broadcast_to(table[0, 0], (61, *shape))):
                expected = in_two(data.copy(), indices, source, rows, **words)
                with kernels.forced(n_threads):
                    assert_same_numbers(gs.gather_scatter(data, indices, source, rows, **words), expected)
                    out = np.empty_like(expected)
                    gs.gather_scatter(data, indices, source, rows, out=out, **words)
                    assert_same_numbers(out, expected)
        assert passes == [True] * 16

    @every_team
    def test_large_results_are_streamed(self, n_threads):
        """Without forcing, and with rows that have no updates."""
        rng = np.random.default_rng(0)
        data, source = rng.standard_normal((40_000, 80)), rng.standard_normal((5000, 80))
        indices, rows = rng.integers(0, 30_000, 50_000), rng.integers(0, 5000, 50_000)
        gs.set_num_threads(n_threads)
        for reduction, include_self in (("none", True), ("add", True), ("mean", False), ("max", False)):
            words = {"reduction": reduction, "include_self": include_self}
            expected = in_two(data, indices, source, rows, **words)
            assert_same_bits(gs.gather_scatter(data, indices, source, rows, **words), expected)
            repeated = np.broadcast_to(data[:1], data.shape)
            expected = in_two(repeated.copy(), indices, source, rows, **words)
            assert_same_bits(gs.gather_scatter(repeated, indices, source, rows, **words), expected)

    @every_team
    @pytest.mark.parametrize("reduction", ["add", "mean", "max", "none"])
    def test_thousands_of_updates_of_one_row(self, passes, reduction, n_threads):
        rng = np.random.default_rng(0)
        for n in ((1 << 14) - 1, 1 << 14, (1 << 14) + 1, 40_000):
            data, source = rng.standard_normal((300, 20)).astype("f4"), rng.standard_normal((90, 20)).astype("f4")
            rows = rng.integers(0, 90, n + 200)
            indices = np.concatenate([rng.integers(0, 300, 100), np.full(n, 17), rng.integers(0, 300, 100)])
            for include_self in (True, False):
                words = {"reduction": reduction, "include_self": include_self}
                expected = in_two(data, indices, source, rows, **words)
                with kernels.forced(n_threads):
                    assert_same_bits(gs.gather_scatter(data, indices, source, rows, **words), expected)
                    changed = data.copy()
                    gs.gather_scatter(changed, indices, source, rows, out=changed, **words)
                    assert_same_bits(changed, expected)
        assert passes == [True] * 16

    @pytest.mark.parametrize(
        ("reduction", "include_self"), [("none", True), ("add", True), ("add", False), ("mean", False), ("max", False)]
    )
    def test_more_updates_than_a_round_takes(self, reduction, include_self):
        """Some 4 M, with "none" some 8 M. Whole numbers, so that sums of any order are equal."""
        gs.set_num_threads(2)
        n, n_rows = 8_200_000 if reduction == "none" else 4_200_000, 70_000
        rng = np.random.default_rng(0)
        indices, rows = rng.integers(0, n_rows - 1, n, np.int32), rng.integers(0, 30, n, np.int32)
        indices[-1] = n_rows - 1  # only the last round names the last row
        source = np.repeat(np.arange(30, dtype="i4")[:, None], 16, axis=1)
        data = np.full((n_rows, 16), 1000, "i4")
        found = gs.gather_scatter(data, indices, source, rows, reduction=reduction, include_self=include_self)
        count, start = np.bincount(indices, minlength=n_rows), 1000 * include_self
        total = start + np.bincount(indices, weights=rows, minlength=n_rows).astype(np.int64)
        last = np.zeros(n_rows, np.int32)
        last[indices] = rows
        most = np.zeros(n_rows, np.int32)
        np.maximum.at(most, indices, rows)
        named = {
            "none": last,
            "add": total,
            "mean": total // np.maximum(count + include_self, 1),
            "max": np.maximum(most, start),
        }[reduction]
        expected = np.where(count, named, 1000).astype("i4")
        assert_same_bits(found, np.repeat(expected[:, None], 16, axis=1))

    def test_a_bad_index_of_the_last_round_leaves_out_as_it_was(self):
        n = 4_300_000
        source, data = np.ones((3, 16), "f4"), np.zeros((9, 16), "f4")
        good, bad = np.zeros(n, np.int32), np.zeros(n, np.int32)
        bad[-1] = 9
        with pytest.raises(IndexError, match=rf": indices\[{n - 1}\] = 9 is out of bounds for data"):
            gs.gather_scatter(data, bad, source, good, reduction="add", out=data)
        with pytest.raises(IndexError, match=rf": source_indices\[{n - 1}\] = 9 is out of bounds for source"):
            gs.gather_scatter(data, good, source, bad, reduction="add", out=data)
        assert not data.any()

    @in_turn("n", [1, 3, 10, 300])
    @every_rule
    def test_in_place_with_few_and_with_many_updates(self, passes, n, reduction, include_self, forced_threads):
        words = {"reduction": reduction, "include_self": include_self}
        changed, source = draw((200, 24), "f4", 1), draw((31, 24), "f4", 2)
        indices, rows = pairs(200, 31, n)
        with np.errstate(all="ignore"):
            for _ in range(3):
                expected = in_two(changed, indices, source, rows, **words)
                with kernels.forced(forced_threads):
                    gs.gather_scatter(changed, indices, source, rows, out=changed, **words)
                assert_equal(changed, expected)


class TestIndices:
    @every_team
    @pytest.mark.parametrize("mode", ["raise", "clip", "wrap", "drop", "promise_in_bounds"])
    @pytest.mark.parametrize("wraps", [True, False])
    def test_modes(self, passes, mode, wraps, n_threads):
        data, source = draw((20, 16), "f4", 1), draw((30, 16), "f4", 2)
        rng = np.random.default_rng(0)
        if mode in ("raise", "promise_in_bounds"):
            indices, rows = pairs(20, 30, 400)
            if not wraps:
                indices, rows = indices % 20, rows % 30
        else:
            indices, rows = rng.integers(-45, 45, 400), rng.integers(-65, 65, 400)
        if mode == "drop":
            low = (-20, -30) if wraps else (0, 0)
            kept = (indices >= low[0]) & (indices < 20) & (rows >= low[1]) & (rows < 30)
            assert 0 < kept.sum() < 400
            expected = in_two(data, indices[kept], source, rows[kept], reduction="add")
        else:
            expected = in_two(data, indices, source, rows, reduction="add", mode=mode, wraps=wraps)
        words = {"reduction": "add", "mode": mode, "wrap_negative_indices": wraps}
        for shape in ((400,), (20, 20), (2, 2, 100), (400, 1)):
            pair = indices.reshape(shape), rows.reshape(shape)
            with kernels.forced(n_threads):
                for out in (None, np.empty_like(data)):
                    found = gs.gather_scatter(data, pair[0], source, pair[1], out=out, **words)
                    assert_same_numbers(found, expected)
        assert passes == [True] * 8

    @in_turn("to", INDEX_DTYPES)
    @pytest.mark.parametrize("of", ["i1", "i4", "u8", ">i4"])
    def test_dtypes(self, passes, to, of, forced_threads):
        passes.clear()
        data, source = draw((120, 16), "f4", 1), draw((90, 16), "f4", 2)
        indices, rows = pairs(120, 90, 300)
        indices = (indices % 120 if "u" in to else indices).astype(to)
        rows = (rows % 90 if "u" in of else rows).astype(of)
        expected = in_two(data, indices, source, rows, reduction="add")
        assert_same_numbers(gs.gather_scatter(data, indices, source, rows, reduction="add"), expected)
        assert passes == [True]

    @pytest.mark.parametrize("dtype", INDEX_DTYPES)
    def test_drop_with_the_limits_of_dtypes(self, dtype):
        """Values that another integer dtype would take for others."""
        info = np.iinfo(dtype)
        indices = np.array([info.min, info.max, 1, 0, 2, 1], dtype)
        rows = np.array([0, 0, 0, info.max, info.min, 1], dtype)
        source = np.array([[1.0], [10.0], [100.0]])
        for wraps in (True, False):
            found = gs.gather_scatter(
                np.zeros((3, 1)), indices, source, rows, reduction="add", mode="drop", wrap_negative_indices=wraps
            )
            # With unsigned indices, the smallest value is 0.
            expected = [[1.0], [11.0], [1.0]] if info.min == 0 else [[0.0], [11.0], [0.0]]
            assert found.tolist() == expected

    @pytest.mark.parametrize("at", [1, -1, 3])
    def test_drop_of_indices_without_axes(self, passes, at):
        data, source = np.zeros((3, 16), "f4"), draw((4, 16), "f4", 2)
        found = gs.gather_scatter(data, np.array(at), source, np.array(2), reduction="add", mode="drop")
        if at < 3:
            data[at] = source[2]
        assert_same_numbers(found, data)
        assert passes == [True]

    def test_layouts_that_cannot_be_read_as_they_are(self, passes, forced_threads):
        data, source = draw((20, 32), "f4", 1), draw((30, 32), "f4", 2)
        indices, rows = pairs(20, 30, 400)
        expected = in_two(data, indices, source, rows, reduction="add")

        def strided(array):
            return np.repeat(array, 2, axis=0)[::2]

        wide = np.repeat(source, 2, axis=1)[:, ::2]
        for at, of in itertools.product((indices, strided(indices)), (rows, strided(rows), np.asfortranarray(rows))):
            assert_same_numbers(gs.gather_scatter(data, at, source, of, reduction="add"), expected)
        assert all(passes)
        passes.clear()
        for table in (np.asfortranarray(data), strided(data), data[:, ::-1].copy()[:, ::-1]):
            assert_same_numbers(gs.gather_scatter(table, indices, source, rows, reduction="add"), expected)
            changed = table.copy(order="K")
            gs.gather_scatter(changed, indices, source, rows, reduction="add", out=changed)
            assert_same_numbers(np.ascontiguousarray(changed), expected)
        for slices in (np.asfortranarray(source), strided(source), wide):
            passes.clear()
            assert_same_numbers(gs.gather_scatter(data, indices, slices, rows, reduction="add"), expected)
            assert passes == [False]
        target = np.empty((20, 64), "f4")[:, ::2]
        assert gs.gather_scatter(data, indices, source, rows, reduction="add", out=target) is target
        assert_same_numbers(np.ascontiguousarray(target), expected)
        swapped = gs.gather_scatter(data.astype(">f4"), indices, source.astype(">f4"), rows, reduction="add")
        assert swapped.dtype == ">f4"
        assert_same_numbers(swapped.astype("f4"), expected)

    def test_the_source_is_the_data(self, passes, forced_threads):
        data = draw((40, 24), "f4")
        indices, rows = pairs(40, 40, 300)
        expected = in_two(data, indices, data, rows, reduction="add")
        assert_same_numbers(gs.gather_scatter(data, indices, data, rows, reduction="add"), expected)
        assert passes == [True]
        # All is gathered before any is scattered.
        assert gs.gather_scatter(data, indices, data, rows, reduction="add", out=data) is data
        assert_same_numbers(data, expected)
        assert passes == [True, False]

    def test_out_that_overlaps(self, passes, forced_threads):
        memory = draw((60, 24), "f4")
        indices, rows = pairs(40, 30, 300)
        places = [((0, 40), (30, 60), (20, 60)), ((0, 40), (0, 30), (1, 41)), ((0, 40), (15, 45), (0, 40))]
        for data, source, out in (map(lambda place: slice(*place), each) for each in places):
            changed = memory.copy()
            expected = in_two(memory[data], indices, memory[source], rows, reduction="add")
            gs.gather_scatter(changed[data], indices, changed[source], rows, reduction="add", out=changed[out])
            assert_same_numbers(changed[out], expected)
        positions = np.arange(24 * 40, dtype=np.int32).reshape(40, 24) % 30
        at = positions[:, 0]  # indices in the memory of out
        expected = in_two(positions, at, positions[:30].copy(), at, reduction="add")
        changed = positions.copy()
        gs.gather_scatter(changed, changed[:, 0], positions[:30].copy(), at, reduction="add", out=changed)
        assert_same_bits(changed, expected)
        assert not any(passes)

    def test_no_pairs(self, passes):
        data = draw((5, 16), "f4")
        for n_source, shape in ((3, (0,)), (0, (0,)), (0, (4, 0))):
            none = np.zeros(shape, np.int64)
            source = np.zeros((n_source, 16), "f4")
            for reduction, mode in (("none", "raise"), ("mean", "clip"), ("add", "drop")):
                found = gs.gather_scatter(data, none, source, none, reduction=reduction, mode=mode)
                assert_same_bits(found, data)
                assert not np.shares_memory(found, data)
        assert gs.gather_scatter(np.zeros((0, 16)), [], np.ones((0, 16)), []).shape == (0, 16)

    @pytest.mark.parametrize("axis", [1, -1, -2])
    def test_other_axes(self, passes, axis):
        data, source = draw((3, 16, 16), "f4", 1), draw((3, 16, 16), "f4", 2)
        indices, rows = pairs(16, 16, 30)
        updates = gs.gather(source, rows, axis=axis)
        expected = gs.scatter(data, indices, updates, axis=axis, reduction="add")
        found = gs.gather_scatter(data, indices, source, rows, axis=axis, reduction="add")
        assert_same_numbers(found, expected)
        pair = indices.reshape(5, 6), np.where(np.arange(30) % 4, rows, 99).reshape(5, 6)
        dropped = gs.gather_scatter(data, pair[0], source, pair[1], axis=axis, reduction="add", mode="drop")
        kept = np.arange(30) % 4 > 0
        expected = gs.scatter(data, indices[kept], gs.gather(source, rows[kept], axis=axis), axis=axis, reduction="add")
        assert_same_numbers(dropped, expected)
        assert passes == []


class TestPrepared:
    @every_team
    @every_rule
    def test_unsorted_pairs_that_are_reused(self, passes, reduction, include_self, n_threads):
        words = {"reduction": reduction, "include_self": include_self}
        data, source = draw((1100, 24), "f4", 1), draw((700, 24), "f4", 2)
        indices, rows = pairs(1100, 700, 2300)
        expected = in_two(data, indices, source, rows, **words)
        with kernels.forced(n_threads):
            to, of = gs.prepare("scatter", (1100,), indices), gs.prepare("gather", (700,), rows)
            for _ in range(3):
                assert_equal(gs.gather_scatter(data, to, source, of, **words), expected)
                changed = data.copy()
                assert gs.gather_scatter(changed, to, source, of, out=changed, **words) is changed
                assert_equal(changed, expected)
            assert passes == [True] * 6
            assert to.nbytes == 4 * (2300 + 1100 + 2300 + 2300)  # indices; their order; that by rows of source
            # Each serves as the other, as when messages go back along the edges.
            back = in_two(source, rows, data, indices, **words)
            for _ in range(2):
                assert_equal(gs.gather_scatter(source, of, data, to, **words), back)

    def test_an_order_by_rows_of_source_is_for_one_partner(self, passes):
        data, source = draw((1100, 24), "f4", 1), draw((700, 24), "f4", 2)
        indices, rows = pairs(1100, 700, 2300)
        others = np.random.default_rng(1).permutation(rows)
        to = gs.prepare("scatter", (1100,), indices)
        of, other = gs.prepare("gather", (700,), rows), gs.prepare("gather", (700,), others)
        for _ in range(2):
            for partner, at in ((of, rows), (other, others)):
                expected = in_two(data, indices, source, at, reduction="add")
                assert_same_numbers(gs.gather_scatter(data, to, source, partner, reduction="add"), expected)
        assert passes == [True] * 4
        n_bytes = to.nbytes
        del of
        assert to.nbytes == n_bytes
        del other, partner
        gc.collect()
        assert to.nbytes == n_bytes - 4 * 2300

    def test_an_order_by_rows_is_not_used_for_others(self, passes):
        """Not for another order, or for a source with fewer rows."""
        data, source = draw((1100, 24), "f4", 1), draw((700, 24), "f4", 2)
        indices, rows = pairs(1100, 700, 2300)
        to, of = gs.prepare("scatter", (1100,), indices), gs.prepare("gather", (700,), rows)
        expected = gs.gather_scatter(data, to, source, of, reduction="add")
        translated = to._orders._translated
        end, order, n_source, numbers = translated[of._orders]
        assert n_source == rows.max() + 1
        wrong = np.zeros_like(order)
        for planted in (None, (end, wrong[1:], n_source, numbers), (end[1:], wrong, n_source, numbers), (end, wrong)):
            translated[of._orders] = planted
            assert_same_bits(gs.gather_scatter(data, to, source, of, reduction="add"), expected)
        translated[of._orders] = end, wrong, n_source, numbers
        assert (gs.gather_scatter(data, to, source, of, reduction="add") != expected).any()  # so the order matters
        translated[of._orders] = end, order, np.array([701]), numbers
        with pytest.raises(RuntimeError, match="changed"):
            gs.gather_scatter(data, to, source, of, reduction="add")

    def test_sorted_and_shaped_pairs(self, passes, forced_threads):
        data, source = draw((1100, 16), "f8", 1), draw((700, 16), "f8", 2)
        indices, rows = pairs(1100, 700, 2400)
        for at in (np.sort(indices % 1100), indices):
            for shape in ((2400,), (40, 60)):
                pair = at.reshape(shape), rows.reshape(shape)
                expected = in_two(data, *pair[:1], source, *pair[1:], reduction="add")
                to, of = gs.prepare("scatter", data.shape, pair[0]), gs.prepare("gather", source.shape, pair[1])
                for _ in range(2):
                    assert_same_numbers(gs.gather_scatter(data, to, source, of, reduction="add"), expected)
        assert passes == [True] * 8

    def test_modes(self, passes, forced_threads):
        data, source = draw((50, 16), "f4", 1), draw((30, 16), "f4", 2)
        rng = np.random.default_rng(0)
        indices, rows = rng.integers(-90, 90, 400), rng.integers(-60, 60, 400)
        for mode in ("clip", "wrap"):
            to, of = gs.prepare("scatter", (50,), indices, mode=mode), gs.prepare("gather", (30,), rows, mode=mode)
            expected = in_two(data, indices, source, rows, reduction="add", mode=mode)
            assert_same_numbers(gs.gather_scatter(data, to, source, of, reduction="add"), expected)
        assert passes == [True] * 2
        # Each step has its own rule: what is not gathered is 0, and what is not scattered is left out.
        to, of = gs.prepare("scatter", (50,), indices, mode="drop"), gs.prepare("gather", (30,), rows, mode="fill")
        updates = gs.gather(source, rows, mode="fill")
        expected = gs.scatter(data, indices, updates, reduction="max", mode="drop")
        assert_same_numbers(gs.gather_scatter(data, to, source, of, reduction="max"), expected)
        assert passes == [True] * 2

    def test_other_kinds(self, passes):
        data, source = draw((4, 5, 16), "f8", 1), draw((6, 16), "f8", 2)
        to, of = gs.prepare("scatter_nd", (4, 5), [[1, 2], [3, 0]]), gs.prepare("gather", (6,), [5, 0])
        found = gs.gather_scatter(data, to, source, of)
        assert_same_bits(found, gs.scatter_nd(data, [[1, 2], [3, 0]], source[[5, 0]]))
        lines = draw((3, 7), "f8")
        to, of = (gs.prepare(f"{name}_elements", (3, 7), [[0, 2]], axis=1) for name in ("scatter", "gather"))
        gathered = gs.gather_elements(lines, [[0, 2]], axis=1)
        expected = gs.scatter_elements(lines, [[0, 2]], gathered, axis=1, reduction="add")
        assert_same_numbers(gs.gather_scatter(lines, to, lines, of, reduction="add"), expected)
        assert passes == []


def test_a_source_of_another_dtype_is_cast_after_the_gather(passes):
    data, source = draw((4, 16), "f8", 1), draw((6, 16), "f4", 2)
    found = gs.gather_scatter(data, [1, 1, 3], source, [5, 0, 2], reduction="add")
    assert_same_bits(found, in_two(data, [1, 1, 3], source.astype("f8"), [5, 0, 2], reduction="add"))
    to, of = gs.prepare("scatter", (4,), [1, 1, 3]), gs.prepare("gather", (6,), [5, 0, 2])
    assert_same_bits(gs.gather_scatter(data, to, source, of, reduction="add"), found)
    assert passes == []
