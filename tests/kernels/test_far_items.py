"""Gathers of items of up to 64 bytes from data larger than L2, at simple indices (src/gather/loops/far_items.cpp)."""

import ctypes
import mmap
import sys

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits
from gatherscatter._kernels import gather as gather_kernel
from gatherscatter._kernels.common import GatherRoute
from gatherscatter.backends import kernels
from pairwise import each_pair, in_turn
from test_streamed_gathers import between_guards

AHEAD = 256  # items: see far_items.cpp
STEP = 1 << 18  # items that are moved at a time: see runs.pxd
WIDTHS = [1, 2, 3, 4, 6, 8, 9, 12, 15, 16, 17, 20, 24, 32, 33, 40, 48, 63, 64]  # bytes
LENGTHS = [1024, 1024 + AHEAD, 5003]
FAR = 600_000  # bytes of data
STREAMED = 1 << 24  # bytes of a result


def rows_of(width, rng):
    return rng.integers(0, 256, (FAR // width, width), np.uint8)


def indices_in(n_rows, n, where, rng):
    """n indices, the last one of the last row, which ends where the memory of data does."""
    indices = rng.integers(0, n_rows, n)
    if where == "near":  # into L1
        indices = np.arange(n) % min(n_rows, 1000)
    indices[-1] = n_rows - 1
    return indices


def check(data, indices, expected, *, runs=True, n_threads=(1, 3), places=(0, 1, 16)):
    """Gather to memory that begins so many bytes after a cache line."""
    gather = gs.gather_nd if isinstance(indices, np.ndarray) and indices.ndim == 2 else gs.gather
    for place in places:
        for n in n_threads:
            out, guards = between_guards(expected.shape, "u1", place)
            with kernels.forced(n):
                gather(data, indices, out=out)
            assert_same_bits(out, expected)
            assert all((guard == 171).all() for guard in guards)
            assert (gather_kernel.last_route()[0] == GatherRoute.RUNS) == runs


@pytest.mark.parametrize("where", ["anywhere", "near"])
@pytest.mark.parametrize("index_dtype", ["i4", "i8"])
@in_turn("width", WIDTHS)
def test_single_indices(width, index_dtype, where):
    rng = np.random.default_rng(width)
    data = rows_of(width, rng)
    for n in LENGTHS:
        indices = indices_in(len(data), n, where, rng)
        check(data, indices.astype(index_dtype), data[indices])


@pytest.mark.parametrize("where", ["anywhere", "near"])
@pytest.mark.parametrize("index_dtype", ["i4", "i8"])
@in_turn("width", WIDTHS)
def test_pairs(width, index_dtype, where):
    rng = np.random.default_rng(width)
    data = rows_of(width, rng)
    shape = 50, len(data) // 50
    data = data[: shape[0] * shape[1]].reshape(*shape, width)
    for n in LENGTHS:
        y, x = np.divmod(indices_in(shape[0] * shape[1], n, where, rng), shape[1])
        check(data, np.stack([y, x], axis=-1).astype(index_dtype), data[y, x], places=(0,))
        arrays = y.astype(index_dtype), x.astype(index_dtype)
        assert_same_bits(gs.at(data)[arrays].get(), data[y, x])
        assert gather_kernel.last_route()[0] == GatherRoute.RUNS


@pytest.mark.parametrize("width", [1, 3, 4, 20, 64])
def test_large_results(width):
    """They are written with non-temporal stores, from the first cache line on; pixels are not."""
    rng = np.random.default_rng(width)
    data = rows_of(width, rng)
    n, index_dtype = STREAMED // width + 17, np.int32 if width < 4 else np.int64
    indices = np.resize(rng.integers(0, len(data), min(n, 100_003), index_dtype), n)
    expected = data[indices]
    check(data, indices, expected, n_threads=(1,), places=(0, 60))
    check(data, indices, expected, n_threads=(3,), places=(4,))
    indices[np.resize(rng.random(99_991) < 0.2, n)] = len(data)
    filled = gs.gather(data, indices, mode="fill", fill_value=np.uint8(7))
    assert gather_kernel.last_route()[0] == GatherRoute.RUNS
    assert_same_bits(filled, np.concatenate([data, np.full((1, width), 7, np.uint8)])[indices])
    indices[indices == len(data)] = 0
    # Some stop the loop so late that it would go on without prefetches.
    indices[[5, 700, 701, *(STEP - AHEAD - np.array([10, 20, 30]))]] -= len(data)
    check(data, indices, data[indices], n_threads=(1,), places=(0, 4, 8, 12) if width > 3 else (4,))


@pytest.mark.skipif(sys.platform != "linux", reason="mprotect of libc")
@pytest.mark.parametrize("width", [3, 6, 12, 20, 64])
def test_nothing_beyond_data_is_read(width):
    """After data is a page that must not be read."""
    rows = rows_of(width, np.random.default_rng(0))
    start = -rows.nbytes % mmap.PAGESIZE
    memory = np.frombuffer(mmap.mmap(-1, start + rows.nbytes + mmap.PAGESIZE), np.uint8)
    data = memory[start : start + rows.nbytes].reshape(rows.shape)
    data[:] = rows
    guard = ctypes.c_void_p(memory.ctypes.data + start + rows.nbytes)
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mprotect(guard, ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
    indices = np.full(3000, len(data) - 1)
    for columns in (indices, np.tile(np.array([9, -1, 9]), 1000) + len(data) - 10):
        assert_same_bits(gs.gather(data, columns), rows[columns])
        assert_same_bits(gs.gather(data, columns, mode="fill"), rows[columns])
    pairs = np.stack([indices * 0, indices], axis=-1)
    assert_same_bits(gs.gather_nd(data[None], pairs), rows[indices])
    assert libc.mprotect(guard, ctypes.c_size_t(mmap.PAGESIZE), 3) == 0


@pytest.mark.parametrize("k", [1, 2])
@in_turn("width", [1, 3, 4, 12, 24, 40])
@pytest.mark.parametrize("share", [0.001, 0.02, 0.5, 1])
def test_negative_indices(share, width, k):
    """A few end a group of items; from many on, other loops see to the rest: BLOCKS for rows that are not words."""
    rng = np.random.default_rng(width)
    data = rows_of(width, rng)
    size = len(data)
    if k == 2:
        data = data[: size // 40 * 40].reshape(40, -1, width)
        size = data.shape[1]
    indices = rng.integers(0, size, 20_000)
    indices[rng.random(20_000) < share] -= size
    if k == 2:
        y = rng.integers(0, 40, 20_000)
        y[rng.random(20_000) < share] -= 40
        pairs = np.stack([y, indices], axis=-1)
        check(data, pairs, data[y, indices], runs=width in (1, 4) or share <= 0.001, places=(0,))
    else:
        check(data, indices, data[indices], runs=width in (1, 4) or share <= 0.001, places=(0,))


@pytest.mark.parametrize("width", [1, 3, 4, 24])
@in_turn("place", [0, 15, 16, 700, 1500 - AHEAD - 1, 1500 - AHEAD, 1498, 1499])
def test_an_index_out_of_bounds(place, width):
    rng = np.random.default_rng(0)
    data = rows_of(width, rng)
    n = len(data)
    for value in (n, -n - 1, 2**62, -(2**63)):
        indices = rng.integers(0, n, 1500)
        indices[place] = value
        out = np.full((1500, width), 7, np.uint8)
        for n_threads in (1, 3):
            with kernels.forced(n_threads), pytest.raises(IndexError, match=rf"indices\[{place}\] = {value} "):
                gs.gather(data, indices, out=out)
            with kernels.forced(n_threads), pytest.raises(IndexError, match=rf"indices\[{place}\] = {value} "):
                gs.gather(data, indices)
        assert (out == 7).all()
        with pytest.raises(IndexError, match=rf"indices\[{place}\] = {value} "):
            gs.gather(data, indices, wrap_negative_indices=False)


def test_negative_indices_that_are_out_of_bounds():
    data, indices = np.zeros(FAR, np.uint8), np.zeros(2000, int)
    indices[1234] = -1
    with pytest.raises(IndexError, match=r"indices\[1234\] = -1 "):
        gs.gather(data, indices, wrap_negative_indices=False)


@each_pair(
    item=[*((width, "u1") for width in WIDTHS), (4, "f4"), (12, "f4"), (64, "f4")],
    index_dtype=["i4", "i8"],
    wraps=[True, False],
)
def test_fill(item, index_dtype, wraps):
    """Indices out of bounds select items of the fill value; if negative ones count from the end, few of them are."""
    width, dtype = item
    rng = np.random.default_rng(width)
    data = rows_of(width, rng).view(dtype)
    size = len(data)
    padded = np.concatenate([data, np.full((1, data.shape[1]), 7, dtype)])
    largest = np.iinfo(index_dtype).max
    for n in LENGTHS:
        for share in (0.001, 0.3, 1):
            indices = indices_in(size, n, "anywhere", rng)
            outside = rng.random(n) < share
            indices[outside] = rng.choice([size, size + 1, largest], n)[outside]
            if wraps:
                indices[n // 2 :: 700] = rng.integers(-size - 2, 0)
            else:
                outside &= rng.random(n) < 0.5
                indices[outside] = rng.choice([-1, -size - 1, -largest - 1], n)[outside]
            missing = (indices >= size) | (indices < (-size if wraps else 0))
            named = np.where(missing, size, np.where(indices < 0, indices + size, indices))
            for n_threads, place in ((1, 16), (3, 0)):
                out, guards = between_guards((n, width), "u1", place)
                with kernels.forced(n_threads):
                    gs.gather(
                        data,
                        indices.astype(index_dtype),
                        mode="fill",
                        fill_value=np.asarray(7, dtype)[()],
                        wrap_negative_indices=wraps,
                        out=out.view(dtype),
                    )
                assert gather_kernel.last_route()[0] == GatherRoute.RUNS
                assert_same_bits(out.view(dtype), padded[named])
                assert all((guard == 171).all() for guard in guards)


@in_turn("view", ["reversed", "every other", "transposed", "columns"])
@pytest.mark.parametrize("width", [3, 4, 12, 24])
def test_other_layouts(width, view):
    """Items that are not adjacent, and results that are not contiguous."""
    rng = np.random.default_rng(0)
    data = rng.integers(0, 256, (300, 2 * FAR // width // 300, width), np.uint8)
    data = {"reversed": data[::-1, ::-1], "every other": data[:, ::2], "transposed": data.swapaxes(0, 1),
            "columns": data[:, :, 1:]}[view]  # fmt: skip
    y, x = (rng.integers(-n, n, 3000) for n in data.shape[:2])
    expected = data[y, x]
    assert_same_bits(gs.gather_nd(data, np.stack([y, x], axis=-1)), expected)
    columns = np.zeros((3000, 2, data.shape[2]), np.uint8)
    gs.gather_nd(data, np.stack([y, x], axis=-1), out=columns[:, 1])
    assert_same_bits(columns[:, 1], expected)
    assert not columns[:, 0].any()


@in_turn("width", [1, 2, 4, 8, 16])
@pytest.mark.parametrize(("size", "n"), [(700, 300), (3000, 1500), (5000, 5000), (40_000, 700)])
def test_a_row_for_each_run(size, n, width):
    """While items of a row are moved, the next row is prefetched."""
    rng = np.random.default_rng(width)
    dtype = {1: "u1", 2: "i2", 4: "f4", 8: "f8", 16: "c16"}[width]
    data = rng.integers(0, 100, (3, 4, size)).astype(dtype)
    for views in (data, data[::-1], data[:, ::2], data.swapaxes(0, 1)):
        indices = rng.integers(0, size, (*views.shape[:2], n))
        some = indices.copy()
        some[0, 0, [0, 15, n - 1]] -= size
        some[1] -= size
        for index_dtype in ("i4", "i8"):
            for given in (indices, some):
                with kernels.forced(2):
                    found = gs.gather_elements(views, given.astype(index_dtype), axis=2)
                assert_same_bits(found, np.take_along_axis(views, indices, 2))
                assert gather_kernel.last_route()[0] == GatherRoute.RUNS
        for value in (size, -size - 1):
            bad = indices.copy()
            bad[1, -1, n // 2] = value
            with pytest.raises(IndexError, match=rf"indices\[1, {views.shape[1] - 1}, {n // 2}\] = {value} "):
                gs.gather_elements(views, bad, axis=2)


def test_rows_of_a_large_result():
    rng = np.random.default_rng(0)
    data, indices = rng.random((300, 3000), np.float32), rng.integers(0, 3000, (300, 15_001))
    indices[7, 100::500] -= 3000
    for n_threads in (1, 2):
        with kernels.forced(n_threads):
            assert_same_bits(gs.gather_elements(data, indices, axis=1), np.take_along_axis(data, indices, 1))
    batches = indices[:, :5000, None]
    assert_same_bits(gs.gather_nd(data, batches, batch_dims=1), np.take_along_axis(data, indices[:, :5000], 1))
