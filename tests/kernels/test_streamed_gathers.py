"""Gathers whose results are larger than the caches: into memory of each alignment, and with the fill value."""

import itertools

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits
from gatherscatter.backends import kernels

LARGE = (1 << 24) + 5000  # bytes, of whole rows at least 1 << 24: such results are written with non-temporal stores
CACHE_LINE = 64


def between_guards(shape, dtype, place):
    """Memory for a result that begins `place` bytes after a cache line, and the bytes before and after it."""
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.full(n_bytes + 3 * CACHE_LINE, 171, np.uint8)
    start = CACHE_LINE + (place - memory.ctypes.data) % CACHE_LINE
    result = memory[start : start + n_bytes].view(dtype).reshape(shape)
    return result, [memory[:start], memory[start + n_bytes :]]


def repeated(array, n):
    """n rows, sooner made than as many random ones. Repetitions begin at each place in a cache line."""
    return np.resize(array, (n, *array.shape[1:]))


@pytest.mark.parametrize("mode", ["raise", "fill"])
@pytest.mark.parametrize(
    ("row_bytes", "place"),
    [
        *zip(
            [1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 40, 48, 64, 80, 240, 272, 512, 4096, 4112],
            itertools.cycle([0, 16, 1]),
            strict=False,
        )
    ],
)
def test_rows(row_bytes, mode, place):
    rng = np.random.default_rng(row_bytes)
    n, n_rows = LARGE // row_bytes, 1000
    data = rng.integers(0, 256, (n_rows, row_bytes), np.uint8)
    index_dtype = np.int32 if row_bytes < 4 else np.int64
    some = rng.integers(-n_rows, n_rows + (300 if mode == "fill" else 0), min(n, 50_021), index_dtype)
    padded = np.concatenate([data, np.full((300, row_bytes), 7, np.uint8)])
    indices = repeated(some, n)
    expected = repeated(padded.take(np.where(some < 0, some + n_rows, some), axis=0), n)
    for n_threads in (1, 3):
        with kernels.forced(n_threads):
            out, guards = between_guards(expected.shape, "u1", place)
            gs.gather(data, indices, mode=mode, fill_value=7, out=out)
            assert_same_bits(out, expected)
            assert all((guard == 171).all() for guard in guards)
    assert_same_bits(gs.gather(data, indices, mode=mode, fill_value=7), expected)


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8", "c16"])
def test_elements(dtype):
    """Runs of elements: the first block of a run ends where a cache line of the result ends."""
    rng, size = np.random.default_rng(0), np.dtype(dtype).itemsize
    data = rng.integers(0, 100, 5000).astype(dtype)
    for columns, place in ((100, 0), (1025, 16), (LARGE // size // 3, 1)):
        n = (LARGE // size // columns + 1) * columns
        some = rng.integers(-5000, 5000, min(n, 50_021), np.int32)
        indices, expected = (repeated(one, n).reshape(-1, columns) for one in (some, data.take(some)))
        for n_threads in (1, 3):
            with kernels.forced(n_threads):
                out, guards = between_guards(expected.shape, dtype, place)
                gs.gather(data, indices, out=out)
                assert_same_bits(out, expected)
                assert all((guard == 171).all() for guard in guards)


@pytest.mark.parametrize("dtype", ["f4", "S3", "U3"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_fill_along_each_axis(axis, dtype):
    """Along the later axes, each tuple selects many pieces."""
    rng = np.random.default_rng(axis)
    shape, fill_value = (40, 30, 50), np.array(123).astype(dtype)
    data = rng.integers(0, 100, shape).astype(dtype)
    indices = rng.integers(0, shape[axis] + 20, 3 * 10**5 // (60_000 // shape[axis]))
    for view in (data, data.swapaxes(0, 1), data[:, ::-1, ::2], np.asfortranarray(data)):
        padding = [(0, 20 + shape[axis] - n) if d == axis else (0, 0) for d, n in enumerate(view.shape)]
        padded = np.pad(view, padding, constant_values=fill_value[()])
        expected = np.take(padded, indices, axis)
        for n_threads in (1, 3):
            with kernels.forced(n_threads):
                result = gs.gather(view, indices, axis=axis, mode="fill", fill_value=fill_value[()])
                assert_same_bits(result, expected)


@pytest.mark.parametrize("dtype", ["S5", "S7"])
def test_a_long_row_of_the_fill_value(dtype):
    """One thread writes it in pieces, which begin at whole elements."""
    with kernels.forced(1):
        result = gs.gather(np.empty((1, 12_000_000), dtype), [1], mode="fill", fill_value=b"abc")
    assert (result.view("V" + dtype[1:]) == np.array(b"abc", dtype).view("V" + dtype[1:])).all()
