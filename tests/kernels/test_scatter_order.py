"""Duplicates in scatters: the result is the sequential loop's, however the work is divided."""

import functools

import gatherscatter as gs
import ml_dtypes
import numpy as np
import pytest
from assertions import assert_same_bits, assert_same_numbers
from constants import FLOAT_REDUCTIONS
from pairwise import each_pair, in_turn
from scatters import FLAT, along, every
from strategies import (
    lay_out,
    numbers,
    values,
)


@functools.cache
def sums_that_cancel(dtype, n_destinations, reduction):
    """Operands and the loop's results by include_self, which are not those of another order."""
    rng = np.random.default_rng(n_destinations)
    n = 3000
    large = 10.0 ** rng.integers(-3, 4 if dtype.itemsize == 2 else 12, n)
    updates = (rng.choice([-1.0, 1.0], n) * large * rng.random(n)).astype(dtype)
    data = rng.standard_normal(n_destinations).astype(dtype)
    indices = rng.integers(0, n_destinations, n)
    expected = {}
    for include_self in (True, False):
        expected[include_self] = along(data, indices, updates, reduction, include_self)
        turned = along(data, indices[::-1], updates[::-1], reduction, include_self)
        assert n_destinations == 2000 or (expected[include_self] != turned).any()
    return (data, indices, updates), expected


@functools.cache
def large_sums(n_destinations, n_updates, dtype, reduction):
    data, updates = numbers((n_destinations,), dtype, 3), numbers((n_updates,), dtype, 6)
    indices = np.random.default_rng(0).integers(0, n_destinations, n_updates)
    return data, indices, updates, along(data, indices, updates, reduction)


class TestOrder:
    """Duplicates: the result is the sequential loop's, whatever cuts the work."""

    @each_pair(
        dtype=["f2", ml_dtypes.bfloat16, "f4", "f8", ">f4", "F"],
        n_destinations=[1, 3, 50, 2000],
        flat=[*FLAT.values()],
        reduction=["add", "mean"],
    )
    def test_sums_that_cancel(self, flat, dtype, n_destinations, reduction, forced_threads):
        arrays, expected = sums_that_cancel(np.dtype(dtype), n_destinations, reduction)
        for include_self, wanted in expected.items():
            result = flat(*arrays, reduction=reduction, include_self=include_self)
            assert_same_numbers(result, wanted)

    @every
    @in_turn("dtype", ["u1", "i8", "V3", "D", "V32", object])
    @in_turn("n_destinations", [1, 7, 3000])
    def test_the_last_assignment_wins(self, flat, dtype, n_destinations, forced_threads):
        rng = np.random.default_rng(0)
        data, updates = values((n_destinations,), np.dtype(dtype), 1), values((5000,), np.dtype(dtype), 2)
        indices = rng.integers(-n_destinations, n_destinations, 5000)
        expected = data.copy()
        for i, where in enumerate(indices.tolist()):
            expected[where] = updates[i]
        assert_same_bits(flat(data, indices, updates), expected)

    @in_turn("reduction", FLOAT_REDUCTIONS)
    @in_turn("row", [1, 2, 5, 16, 33, 300])
    @pytest.mark.parametrize("dtype", ["u2", "f4"])
    def test_rows(self, reduction, row, dtype, forced_threads):
        """The rows' elements are independent columns, each with the loop's order."""
        data, updates = numbers((23, row), np.dtype(dtype), 3), numbers((300, row), np.dtype(dtype), 6)
        indices = np.random.default_rng(0).integers(0, 23, 300)
        tail = slice(max(0, row - 2), row)
        parts = [along(data[:, j], indices, updates[:, j], reduction) for j in range(tail.start, row)]
        for result in (
            gs.scatter(data, indices, updates, reduction=reduction),
            gs.scatter_nd(data, indices[:, None], updates, reduction=reduction),
            gs.scatter(data.T, indices, updates.T, axis=1, reduction=reduction).T,
        ):
            assert_same_numbers(np.ascontiguousarray(result[:, tail]), np.stack(parts, axis=1))

    @each_pair(
        reduction=FLOAT_REDUCTIONS,
        shape=[(9000,), (5, 1300), (1300, 5), (3, 40, 50), (50, 3, 40)],
        order=["C", "F", "sliced"],
    )
    def test_elements_along_every_axis(self, reduction, shape, order, forced_threads):
        rng = np.random.default_rng(0)
        data = lay_out(numbers(shape, np.dtype("f4"), 3), order)
        for axis, size in enumerate(shape):
            part = [max(1, n - 2) for n in shape]
            part[axis] = size + 9
            indices = rng.integers(0, max(1, size // 3), part)
            updates = lay_out(numbers(part, np.dtype("f4"), 6), order)
            result = gs.scatter_elements(data, indices, updates, axis=axis, reduction=reduction)
            lines = [
                np.moveaxis(array, axis, -1).reshape(-1, array.shape[axis])
                for array in (data[tuple(slice(n) for n in part)], indices, updates)
            ]
            column = len(lines[1]) - 1
            expected = along(*(line[column] for line in lines), reduction)
            inner = result[tuple(slice(n) if i != axis else slice(None) for i, n in enumerate(part))]
            got = np.moveaxis(inner, axis, -1).reshape(-1, size)[column]
            assert_same_numbers(np.ascontiguousarray(got), expected)
            untouched = np.ones(shape, bool)
            untouched[tuple(slice(n) if i != axis else slice(None) for i, n in enumerate(part))] = False
            assert_same_numbers(result[untouched], data[untouched])

    @each_pair(reduction=FLOAT_REDUCTIONS, flat=[*FLAT.values()], n_destinations=[1000, 200_000])
    def test_large_work_is_parallel_without_being_forced(self, flat, n_destinations, reduction):
        data, indices, updates, expected = large_sums(n_destinations, 300_000, np.dtype("f4"), reduction)
        for n in (1, 2, 3, 4, 8):
            gs.set_num_threads(n)
            assert_same_numbers(flat(data, indices, updates, reduction=reduction), expected)
            in_place = data.copy()
            flat(in_place, indices, updates, reduction=reduction, out=in_place)
            assert_same_numbers(in_place, expected)

    @pytest.mark.parametrize("mode", ["clip", "wrap", "drop"])
    @pytest.mark.parametrize("index_dtype", ["i4", "u8"])
    def test_large_work_with_indices_beyond(self, mode, index_dtype):
        n = 100_000
        data, updates = np.zeros(n), np.random.default_rng(0).standard_normal(300_000)
        indices = np.random.default_rng(1).integers(0, 2 * n, 300_000).astype(index_dtype)
        named = {"clip": np.minimum(indices, n - 1), "wrap": indices % n, "drop": indices[indices < n]}[mode]
        expected = along(data, named, updates[indices < n] if mode == "drop" else updates, "add")
        for threads in (1, 2, 3, 8):
            gs.set_num_threads(threads)
            for call in FLAT.values():
                assert_same_bits(call(data, indices, updates, reduction="add", mode=mode), expected)

    def test_large_rows_and_batches(self):
        rng = np.random.default_rng(0)
        data, updates = rng.standard_normal((2, 3000, 24)), rng.standard_normal((2, 9000, 24))
        indices = rng.integers(0, 3000, (2, 9000))
        indices[:, ::3] = 7
        expected = data.copy()
        for b in range(2):
            for i, row in zip(indices[b].tolist(), updates[b], strict=True):
                expected[b, i] += row
        for n in (1, 2, 3, 4, 8):
            gs.set_num_threads(n)
            options = {"batch_dims": 1, "reduction": "add"}
            assert_same_bits(gs.scatter(data, indices, updates, axis=1, **options), expected)
            assert_same_bits(gs.scatter_nd(data, indices[..., None], updates, **options), expected)
            wide = np.ascontiguousarray(np.broadcast_to(indices[..., None], updates.shape))
            assert_same_bits(gs.scatter_elements(data, wide, updates, axis=1, reduction="add"), expected)


def destinations(kind, n, n_updates):
    rng = np.random.default_rng(0)
    if kind == "one":
        return np.full(n_updates, n - 1)
    if kind == "two":
        return rng.choice([0, n - 1], n_updates)
    if kind == "neighbours":
        return rng.integers(n // 2, n // 2 + 2, n_updates)
    if kind == "power law":
        return np.minimum(rng.zipf(1.3, n_updates), n) - 1
    if kind == "descending":
        return np.sort(rng.integers(0, n, n_updates))[::-1]
    return np.sort(rng.integers(0, n, n_updates))


class TestWorstCases:
    @each_pair(
        kind=["one", "two", "neighbours", "power law", "ascending", "descending"],
        flat=[*FLAT.values()],
        n=[10, 400_000],
    )
    def test_destinations(self, flat, kind, n):
        """Integers, since NumPy's own scatters have the loop's result for these."""
        rng = np.random.default_rng(1)
        indices = destinations(kind, n, 400_000)
        data = rng.integers(-9, 9, n)
        updates = rng.integers(-(2**62), 2**62, 400_000)
        expected = {"none": data.copy(), "add": data.copy(), "max": data.copy(), "mul": data.copy()}
        expected["none"][indices] = updates
        np.add.at(expected["add"], indices, updates)
        np.maximum.at(expected["max"], indices, updates)
        np.multiply.at(expected["mul"], indices, updates)
        for threads in (1, 2, 3, 8):
            gs.set_num_threads(threads)
            for reduction, wanted in expected.items():
                assert_same_bits(flat(data, indices, updates, reduction=reduction), wanted)

    @every
    @in_turn("kind", ["one", "two", "power law"])
    @in_turn("dtype", ["f4", "f2", ml_dtypes.bfloat16])
    def test_float_sums(self, flat, kind, dtype, forced_threads):
        indices = destinations(kind, 5000, 5000)
        data, updates = numbers((5000,), np.dtype(dtype), 3), numbers((5000,), np.dtype(dtype), 6)
        for reduction in ("add", "mean"):
            expected = along(data, indices, updates, reduction)
            assert_same_numbers(flat(data, indices, updates, reduction=reduction), expected)
