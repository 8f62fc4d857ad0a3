"""Scatters and memory: arrays that overlap, references, results past 2 GiB, and how much is allocated."""

import gc
import sys
import tracemalloc

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits, assert_same_numbers
from constants import FLOAT_REDUCTIONS
from gatherscatter import reference
from gatherscatter.backends import kernels
from pairwise import each_pair, in_turn
from routes import every_route
from scatters import FLAT, along, every


class TestOverlap:
    @every
    @in_turn("reduction", FLOAT_REDUCTIONS)
    def test_out_with_updates(self, flat, reduction, forced_threads):
        for store_slice in (slice(0, 5000), slice(1, 5001), slice(None, None, 2), slice(9999, 4999, -1)):
            store = np.random.default_rng(0).standard_normal(10_000)
            indices = np.random.default_rng(1).integers(0, 5000, 5000)
            data = np.arange(5000.0)
            expected = along(data, indices, store[:5000].copy(), reduction)
            out = store[store_slice]
            assert flat(data, indices, store[:5000], reduction=reduction, out=out) is out
            assert_same_numbers(np.ascontiguousarray(out), expected)

    @every
    @pytest.mark.parametrize("reduction", ["none", "add"])
    def test_out_with_indices(self, flat, reduction, forced_threads):
        for start in (0, 1, 2500):
            store = np.random.default_rng(1).integers(0, 5000, 10_000)
            data, updates = np.arange(5000), np.arange(5000) * 7
            expected = along(data, store[:5000].copy(), updates, reduction)
            out = store[start : start + 5000]
            flat(data, store[:5000], updates, reduction=reduction, out=out)
            assert_same_bits(out, expected)

    @every
    @in_turn("reduction", ["none", "add", "mean"])
    def test_out_with_a_part_of_data(self, flat, reduction, forced_threads):
        indices = np.random.default_rng(1).integers(0, 5000, 6000)
        updates = np.random.default_rng(2).standard_normal(6000)
        for pick in (slice(1, 5001), slice(5000, 10_000), slice(4999, None, -1), slice(None, None, 2)):
            store = np.random.default_rng(0).standard_normal(10_000)
            expected = along(store[:5000].copy(), indices, updates, reduction)
            out = store[pick]
            flat(store[:5000], indices, updates, reduction=reduction, out=out)
            assert_same_bits(np.ascontiguousarray(out), expected)

    def test_data_is_its_own_updates_and_indices(self, forced_threads):
        for flat in FLAT.values():
            data = np.random.default_rng(1).integers(0, 5000, 5000)
            expected = along(data, data.copy(), data.copy(), "add")
            flat(data, data, data, reduction="add", out=data)
            assert_same_bits(data, expected)

    def test_transposed_in_place(self, forced_threads):
        data = np.random.default_rng(0).integers(0, 60, (60, 60))
        expected = reference.scatter_elements(data.T, data.copy(), data.copy(), reduction="add")
        result = gs.scatter_elements(data.T, data, data, reduction="add", out=data)
        assert result is data
        assert_same_bits(data, expected)


class Thing:
    pass


class TestReferences:
    @every
    def test_counts(self, flat):
        things = [Thing() for _ in range(3)]
        data, updates = np.array([things[0]] * 4, object), np.array([things[1], things[2], things[1]], object)
        start = [sys.getrefcount(thing) for thing in things]

        def more():
            now = [sys.getrefcount(thing) for thing in things]
            return [n - s for n, s in zip(now, start, strict=True)]

        indices = np.array([0, 3, 0])
        result = flat(data, indices, updates)
        assert result.tolist() == [things[1], things[0], things[0], things[2]]
        assert more() == [2, 1, 1]
        flat(data, indices, updates[::-1], out=result)
        assert more() == [2, 1, 1]
        flat(result, np.array([0, 1, 2, 3]), np.array([things[2]] * 4), out=result)
        assert more() == [0, 0, 4]
        with pytest.raises(IndexError):
            flat(result, np.array([0, 1, 4]), updates, out=result)
        assert more() == [0, 0, 4]
        flat(data, np.array([9, 1, 9]), updates, mode="drop", out=result)
        assert more() == [3, 0, 1]
        del result
        gc.collect()
        assert more() == [0, 0, 0]

    @every
    def test_counts_of_many(self, flat):
        """More than NumPy is given at once, with the last of the duplicates in each place."""
        things = [Thing() for _ in range(40_000)]
        updates = np.array(things, object)
        indices = np.random.default_rng(0).integers(0, 1000, 40_000)
        before = [sys.getrefcount(thing) for thing in things]
        result = flat(np.full(1000, None), indices, updates)
        expected = [None] * 1000
        for i, where in enumerate(indices.tolist()):
            expected[where] = things[i]
        assert result.tolist() == expected
        kept = {id(thing) for thing in expected}
        after = [sys.getrefcount(thing) for thing in things]
        del expected
        more = [now - was - 2 * (id(thing) in kept) for now, was, thing in zip(after, before, things, strict=True)]
        assert set(more) == {0}

    @every
    def test_strings_live_on_after_their_arrays(self, flat):
        words = [f"{i} is a string that does not fit into sixteen bytes" for i in range(4)]
        data, updates = np.array(words[:2] * 2, np.dtypes.StringDType()), np.array(words[2:], np.dtypes.StringDType())
        result = flat(data, np.array([3, 0]), updates)
        flat(data, np.array([1, 2]), updates, out=data)
        del updates
        gc.collect()
        assert result.tolist() == [words[3], words[1], words[0], words[2]]
        assert data.tolist() == [words[0], words[2], words[3], words[1]]

    @every
    def test_no_reference_to_the_arguments_is_kept(self, flat):
        data, indices, updates = np.arange(3.0), np.array([1]), np.array([5.0])
        counts = [sys.getrefcount(array) for array in (data, indices, updates)]
        for _ in range(100):
            flat(data, indices, updates, reduction="add")
            with pytest.raises(IndexError):
                flat(data, indices + 9, updates, reduction="add")
        assert [sys.getrefcount(array) for array in (data, indices, updates)] == counts

    def test_objects_of_rank_64(self):
        data = np.full((1,) * 63 + (2,), 10.0, object)
        indices, updates = np.zeros((2, 64), int), np.array([1.0, 2.0], object)
        assert gs.scatter_nd(data, indices, updates).ravel().tolist() == [2.0, 10.0]
        assert gs.gather_nd(data, indices).tolist() == [10.0, 10.0]
        assert gs.gather_nd(np.full((1,) * 64, "a", object), indices).tolist() == ["a", "a"]
        assert gs.gather_nd(data, np.zeros(0, int)).ravel().tolist() == [10.0, 10.0]
        assert gs.gather(data, np.zeros((), int)).shape == (1,) * 62 + (2,)
        with pytest.raises(IndexError):
            gs.gather_nd(np.zeros((2, *(0,) * 63), object), [[2]])
        assert gs.scatter_nd(data, indices, updates, out=data) is data
        assert data.ravel().tolist() == [2.0, 10.0]

    def test_a_mean_of_rank_64(self):
        data = np.full((1,) * 63 + (2,), 10.0)
        gs.scatter_nd(data, np.zeros((2, 64), int), np.array([1.0, 4.0]), reduction="mean", out=data)
        assert data.ravel().tolist() == [5.0, 10.0]


class TestMemory:
    def test_beyond_2_to_the_31_bytes_of_a_file(self, tmp_path):
        """In place: nothing of that size is read, copied or allocated."""
        n = 2**31 + 2**12
        data = np.memmap(tmp_path / "sparse", np.uint8, "w+", shape=(n,))
        places = np.array([0, 2**31 - 1, 2**31, n - 1, 2**31])
        updates = np.array([1, 2, 3, 4, 5], np.uint8)
        for flat in FLAT.values():
            for indices in (places, places - n, places.astype("u8"), places.astype(">u4")):
                for reduction, expected in (("none", [1, 2, 5, 4]), ("add", [1, 2, 8, 4]), ("max", [1, 2, 5, 4])):
                    data[places] = 0
                    tracemalloc.start()
                    assert flat(data, indices, updates, reduction=reduction, out=data) is data
                    assert tracemalloc.get_traced_memory()[1] < 2**26
                    tracemalloc.stop()
                    assert data[places[:4]].tolist() == expected
            flat(data[::-1], n - 1 - places, updates, reduction="add", out=data[::-1])
            assert data[places[:4]].tolist() == [2, 4, 13, 8]
            with pytest.raises(IndexError):
                flat(data, np.append(places[:4], n), updates, out=data)

    def test_beyond_2_to_the_31_bytes_in_two_axes(self, tmp_path):
        shape = (2**15 + 1, 2**16)
        data = np.memmap(tmp_path / "sparse", np.uint8, "w+", shape=shape)
        last = (2**15, 2**16 - 1)
        gs.scatter_nd(data, np.array([last, (0, 0), last], "u2"), np.array([1, 2, 3], "u1"), reduction="add", out=data)
        assert data[last] == 4
        assert data[0, 0] == 2
        gs.scatter(data, np.array([-1, 0]), np.full((2, 2**16), 5, "u1"), reduction="add", out=data)
        assert data[last] == 9
        assert data[0, 0] == 7
        assert data[2**14].max() == 0
        gs.scatter_elements(data, np.array([[-1, 2**15, 0]]), np.full((1, 3), 8, "u1"), reduction="add", out=data)
        assert data[-1, :4].tolist() == [13, 13, 5, 5]
        assert data[0, :4].tolist() == [7, 5, 13, 5]
        gs.scatter_elements(data, np.array([[-1, 2**16 - 1]]), np.full((1, 2), 1, "u1"), axis=1, out=data)
        assert data[0, -1] == 1

    @each_pair(
        name=[*FLAT], reduction=["none", "add", "mean"], destinations=[(100, "i1"), (100, "i8"), (8_000_000, "i4")]
    )
    def test_extra_is_bounded(self, name, reduction, destinations):
        """Beyond the result, 64 MiB and a mean's counts, whatever the number of updates. C memory may not show here."""
        n, (n_destinations, index_dtype) = 8_000_000, destinations
        indices = np.random.default_rng(0).integers(0, n_destinations, n, dtype=index_dtype)
        data, updates = np.zeros(n_destinations, "u1"), np.ones(n, "u1")
        extra = 2**26 + 4 * n_destinations * (reduction == "mean")
        for options, allowed in (({}, data.nbytes + extra), ({"out": data}, extra)):
            tracemalloc.start()
            try:
                FLAT[name](data, indices, updates, reduction=reduction, **options)
                assert tracemalloc.get_traced_memory()[1] < allowed
            finally:
                tracemalloc.stop()

    @every_route
    @pytest.mark.parametrize(
        ("shape", "dtype", "reduction"),
        [((1 << 22,), "u1", "add"), ((1 << 18,), "u1", "mean"), ((1 << 18, 8), "f4", "mean")],
    )
    def test_marks_do_not_grow_with_the_threads(self, route, shape, dtype, reduction):
        data = np.zeros(shape, dtype)
        n = max(len(data) // 8, 1 << 14)
        indices = np.random.default_rng(0).integers(0, len(data), n)
        updates = np.broadcast_to(np.ones((), dtype), (n, *shape[1:]))
        with kernels.forced(64, scatter=route):
            tracemalloc.start()
            try:
                gs.scatter(data, indices, updates, reduction=reduction, include_self=False, out=data)
                assert tracemalloc.get_traced_memory()[1] < 2**26  # less than a table of marks for each thread
            finally:
                tracemalloc.stop()

    @every_route
    def test_sums_with_their_counts_are_few(self, route):
        data = np.zeros((4_500_000, 3), "f4")  # 72 MB with counts
        indices, updates = np.arange(len(data)), np.broadcast_to(np.float32(6), data.shape)
        for n_threads in (1, 2):
            data[...] = 0
            with kernels.forced(n_threads, scatter=route):
                tracemalloc.start()
                try:
                    gs.scatter(data, indices, updates, reduction="mean", out=data)
                    assert tracemalloc.get_traced_memory()[1] < 2**26
                finally:
                    tracemalloc.stop()
            assert (data == 3).all()

    def test_nothing_is_copied_for_its_strides(self):
        data = np.zeros((2**11, 2**13), "u1").T
        indices = np.zeros((500, 2**11), "i1")[::-1, ::-1]
        updates = np.broadcast_to(np.uint8(1), (500, 2**11))
        for call in (
            lambda: gs.scatter(data, indices[:, 0], updates, reduction="add", out=data),
            lambda: gs.scatter_nd(data, indices[:, :1], updates, reduction="add", out=data),
            lambda: gs.scatter_elements(data, indices, updates, reduction="add", out=data),
        ):
            tracemalloc.start()
            try:
                call()
                assert tracemalloc.get_traced_memory()[1] < 2**24  # what a copy of data alone would take
            finally:
                tracemalloc.stop()
        assert data[0].tolist() == [1500 % 256] * 2**11
