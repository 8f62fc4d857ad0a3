"""Updates in short runs, which are copied first (src/scatter/spread.pxd): the same results as of contiguous ones."""

import itertools

import gatherscatter as gs
import ml_dtypes
import numpy as np
import pytest
from assertions import assert_same_bits
from gatherscatter.backends import kernels
from gatherscatter.backends.numpy import BACKEND as NUMPY
from pairwise import in_turn, pairwise

DTYPES = ["u1", "f2", ml_dtypes.bfloat16, "f4", ">f4", "f8", "c16"]
N = 700  # with the axes below, more positions than are copied at least


def layouts(rng, dtype):
    """Pairs of updates and of the shape of the indices; the rows are the axes after it."""

    def numbers(*shape):
        return rng.integers(0, 100, shape).astype(dtype)

    yield np.broadcast_to(numbers(N, 1, 3), (N, 3, 3)), (N, 3)  # a normal for each corner
    yield np.broadcast_to(numbers(N, 1), (N, 3)), (N, 3)
    yield np.broadcast_to(numbers(1, 2, 1, 5), (N, 2, 3, 5)), (N, 2, 3)
    yield np.broadcast_to(numbers(20, 1, 7, 17), (20, 9, 7, 17)), (20, 9, 7)
    yield numbers(3, N).T, (N,)  # channels first
    yield numbers(3, 2, N).transpose(2, 1, 0), (N, 2)
    yield numbers(N, 3, 4)[:, ::-1], (N, 3)
    yield numbers(N, 6, 4)[:, ::2, 1:], (N, 3)
    yield numbers(2 * N, 3)[::2, :2], (N, 2)


@in_turn(
    ("dtype", "reduction", "n_rows"),
    [case for case in pairwise(DTYPES, ["none", "add", "max", "mean"], [5, 4000]) if case[:2] != ("c16", "max")],
)
def test_layouts(dtype, reduction, n_rows, forced_threads):
    rng = np.random.default_rng(0)
    for updates, shape in layouts(rng, dtype):
        assert not updates.flags.c_contiguous
        indices = rng.integers(0, n_rows, shape)
        data = rng.integers(0, 100, (n_rows, *updates.shape[len(shape) :])).astype(dtype)
        expected = gs.scatter(data, indices, np.ascontiguousarray(updates), reduction=reduction)
        assert_same_bits(gs.scatter(data, indices, updates, reduction=reduction), expected)
        assert_same_bits(gs.scatter_nd(data, indices[..., None], updates, reduction=reduction), expected)
        in_place = data.copy()
        assert gs.scatter(in_place, indices, updates, reduction=reduction, out=in_place) is in_place
        assert_same_bits(in_place, expected)


def test_elements_along_each_axis():
    rng = np.random.default_rng(0)
    data, updates = rng.random((60, 50)), np.broadcast_to(rng.random((60, 1)), (60, 50))
    for axis in (0, 1):
        indices = rng.integers(0, 50, (60, 50))
        expected = gs.scatter_elements(data, indices, updates.copy(), axis=axis, reduction="add")
        assert_same_bits(gs.scatter_elements(data, indices, updates, axis=axis, reduction="add"), expected)
        wide = gs.scatter_elements(
            data.astype("f4"), indices, updates.astype("f4"), axis=axis, reduction="add", accumulate_dtype="float64"
        )
        same = gs.scatter_elements(
            data.astype("f4"), indices, updates.copy().astype("f4"), axis=axis, reduction="add",
            accumulate_dtype="float64",
        )  # fmt: skip
        assert_same_bits(wide, same)


def test_updates_that_are_objects_are_not_copied_without_references():
    data = np.array([None] * 5, object)
    updates = np.broadcast_to(np.array([[object()] for _ in range(N)], object), (N, 3))
    result = gs.scatter(data, np.arange(3 * N).reshape(N, 3) % 5, updates)
    assert result[4] is updates[-1, 0]


@in_turn(
    ("dtype", "reduction"),
    [
        *itertools.product([">f2", ">f4", ">f8", ">i2", ">u8"], ["add", "mul", "max", "min", "mean"]),
        *itertools.product([">c8"], ["add", "mul", "mean"]),
    ],
)
def test_large_scatters_in_another_byte_order(dtype, reduction):
    """They are reduced in native order; signalling NaNs and their payloads stay as they are."""
    rng = np.random.default_rng(0)
    data, updates = (rng.integers(0, 9, (n, 3)).astype(dtype) for n in (50, N))
    if np.dtype(dtype).kind == "f":
        bits = data.view(f">u{np.dtype(dtype).itemsize}")
        bits[49] = np.array(np.inf, dtype).view(bits.dtype) | 5  # of a row without updates
    indices = rng.integers(0, 49, N)
    native = np.dtype(dtype).newbyteorder("=")
    expected = gs.scatter(data.astype(native), indices, updates.astype(native), reduction=reduction)
    result = gs.scatter(data, indices, updates, reduction=reduction)
    assert result.dtype == data.dtype
    assert result.tobytes() == expected.byteswap().tobytes()
    in_place = data.copy()
    gs.scatter(in_place, indices, updates, reduction=reduction, out=in_place)
    assert in_place.tobytes() == result.tobytes()


def test_another_byte_order_without_memory_for_copies(monkeypatch):
    def refuse(*arguments):
        raise MemoryError

    rng = np.random.default_rng(0)
    data, updates = (rng.integers(0, 9, n).astype(">f4") for n in (50, N))
    indices = rng.integers(0, 50, N)
    expected = gs.scatter(data, indices, updates, reduction="add")
    monkeypatch.setattr(type(NUMPY), "_scatter_native", refuse)
    assert_same_bits(gs.scatter(data, indices, updates, reduction="add"), expected)


def test_a_new_axis_of_updates_in_another_byte_order_repeats_nothing(monkeypatch):
    called = []
    scatter_native = type(NUMPY)._scatter_native
    monkeypatch.setattr(
        type(NUMPY), "_scatter_native", lambda *given: called.append(given[3].shape) or scatter_native(*given)
    )
    rng = np.random.default_rng(0)
    data, updates = rng.integers(0, 9, (50, 1)).astype(">f4"), rng.integers(0, 9, N).astype(">f4")
    gs.scatter(data, rng.integers(0, 50, N), updates[:, None], reduction="add")
    assert called == [(N, 1)]
    gs.scatter(data, rng.integers(0, 50, N), np.broadcast_to(updates[:1, None], (N, 1)), reduction="add")
    assert called == [(N, 1)]


class TestUpdatesThatSuccessiveTuplesShare:
    """They are applied without copies where one thread applies them in order."""

    @pytest.mark.parametrize("repeats", [2, 3, 4, 63])
    @pytest.mark.parametrize("index_dtype", ["i4", "i8", "i2"])
    def test_bits(self, repeats, index_dtype):
        rng = np.random.default_rng(repeats)
        n = 70_000 // repeats + 1  # more than are applied between two questions for signals
        for row, dtype, n_rows in (((), "f8", 40), ((), "f4", 3000), ((2,), "f4", 40), ((3,), "f4", 9), ((), "i8", 40)):
            data = (rng.standard_normal((n_rows, *row)) * 100).astype(dtype)
            updates = (rng.standard_normal((n, 1, *row)) * 10.0 ** rng.integers(-3, 4, (n, 1, *row))).astype(dtype)
            updates = np.broadcast_to(updates, (n, repeats, *row))
            indices = rng.integers(-n_rows, n_rows, (n, repeats)).astype(index_dtype)
            for reduction in ("add", "none", "max", "mul"):
                with kernels.forced(1):
                    expected = gs.scatter(data, indices, updates.copy(), reduction=reduction)
                for n_threads in (1, 3):
                    with kernels.forced(n_threads):
                        assert_same_bits(gs.scatter(data, indices, updates, reduction=reduction), expected)
                        changed = data.copy()
                        gs.scatter(changed, indices, updates, reduction=reduction, out=changed)
                    assert_same_bits(changed, expected)

    @pytest.mark.parametrize("bad", [0, 1, 5, 3 * 2**16 - 2, 3 * 2**16 + 1, 3 * 70_000 - 1])
    def test_a_bad_index(self, bad):
        indices = np.arange(3 * 70_000).reshape(-1, 3) % 50
        indices.reshape(-1)[bad] = 50
        updates = np.broadcast_to(np.ones((70_000, 1, 3), "f4"), (70_000, 3, 3))
        data = np.zeros((50, 3), "f4")
        with pytest.raises(IndexError) as expected:
            gs.scatter(data, indices, updates.copy(), reduction="add")
        for out in (None, data):
            with pytest.raises(IndexError) as found:
                gs.scatter(data, indices, updates, reduction="add", out=out)
            assert str(found.value) == str(expected.value)
        assert not data.any()

    def test_indices_with_gaps(self):
        """Tuples that are not one stride apart: the updates are copied."""
        rng = np.random.default_rng(0)
        indices = rng.integers(0, 50, (N, 4))[:, :3]
        updates = np.broadcast_to(rng.random((N, 1)), (N, 3))
        data = rng.random(50)
        assert_same_bits(
            gs.scatter(data, indices, updates, reduction="add"),
            gs.scatter(data, indices.copy(), updates.copy(), reduction="add"),
        )


@in_turn("n", [1, 9, 300, N, 30_000])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_tuples_that_share_an_update(k, n, forced_threads):
    """Of several indices, too: few of them are not copied."""
    rng = np.random.default_rng(0)
    for row in ((), (3,)):
        data, updates = rng.random((6, 5, 4)[:k] + row), np.broadcast_to(rng.random((n, 1, *row)), (n, 3, *row))
        indices = rng.integers(-4, 4, (n, 3, k))
        for reduction in ("none", "add", "max"):
            expected = gs.scatter_nd(data, indices, updates.copy(), reduction=reduction)
            assert_same_bits(gs.scatter_nd(data, indices, updates, reduction=reduction), expected)
            in_place = data.copy()
            gs.scatter_nd(in_place, indices, updates, reduction=reduction, out=in_place)
            assert_same_bits(in_place, expected)
