"""Gathers of pixels and points at plain index tuples: items of 3, 6 and other bytes, one or two indices."""

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits
from gatherscatter.backends import kernels
from pairwise import in_turn

PIXELS = [("u1", 3), ("u2", 3), ("u1", 6), ("f4", 3), ("f8", 3), ("u1", 5), ("u1", 4)]  # dtype, channels
LENGTHS = [1, 2, 127, 128, 129, 1000]


def image(dtype, channels):
    return np.random.default_rng(0).integers(0, 100, (40, 30, channels)).astype(dtype)


def between_guards(shape, dtype):
    """Memory for a result, and the bytes before and after it."""
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.full(n_bytes + 32, 171, np.uint8)
    return memory[16:-16].view(dtype).reshape(shape), [memory[:16], memory[-16:]]


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("index_dtype", ["i4", "i8"])
@in_turn(("dtype", "channels"), PIXELS)
def test_pairs(dtype, channels, index_dtype, n_threads):
    data, rng = image(dtype, channels), np.random.default_rng(1)
    views = {"whole": data, "reversed": data[::-1, ::-1], "half": data[:, ::2], "transposed": data.swapaxes(0, 1)}
    for n in LENGTHS:
        for name, view in views.items():
            height, width = view.shape[:2]
            y, x = rng.integers(-height, height, n), rng.integers(-width, width, n)
            y[-1], x[-1] = height - 1, width - 1  # the last bytes of data
            out, guards = between_guards((n, channels), dtype)
            with kernels.forced(n_threads):
                gs.gather_nd(view, np.stack([y, x], axis=-1).astype(index_dtype), out=out)
                assert_same_bits(out, view[y, x])
                assert all((guard == 171).all() for guard in guards), name
                assert_same_bits(gs.at(view)[y.astype(index_dtype), x.astype(index_dtype)].get(), view[y, x])


@pytest.mark.parametrize("n_threads", [1, 3])
@in_turn(("dtype", "channels"), PIXELS)
def test_single_indices(dtype, channels, n_threads):
    data, rng = image(dtype, channels).reshape(-1, channels), np.random.default_rng(1)
    for n in LENGTHS:
        i = rng.integers(-len(data), len(data), n)
        i[-1] = -1
        out, guards = between_guards((n, channels), dtype)
        with kernels.forced(n_threads):
            gs.gather(data, i, out=out)
        assert_same_bits(out, data[i])
        assert all((guard == 171).all() for guard in guards)
        columns = np.zeros((n, 2, channels), dtype)
        with kernels.forced(n_threads):
            gs.gather(data, i, out=columns[:, 0])
        assert_same_bits(columns[:, 0], data[i])
        assert not columns[:, 1].any()


@pytest.mark.parametrize("place", [0, 127, 128, 299])
@in_turn(("axis", "value"), [(0, 40), (0, -41), (1, 30), (1, -31), (1, 2**62), (0, -(2**63))])
def test_an_index_out_of_bounds(axis, value, place):
    data, pairs = image("u1", 3), np.random.default_rng(1).integers(-30, 30, (300, 2))
    pairs[place, axis] = value
    with pytest.raises(IndexError, match=rf"indices\[{place}\] = .*axis {axis} has size {data.shape[axis]}"):
        gs.gather_nd(data, pairs)


@pytest.mark.parametrize("dtype", ["u1", "u2"])
def test_a_pixel_that_is_filled(dtype):
    data, pairs = image(dtype, 3), np.random.default_rng(1).integers(0, 50, (300, 2))
    pairs[7] = 39, 29  # the last pixel
    is_in = (pairs < data.shape[:2]).all(axis=1)
    expected = np.where(is_in[:, None], data[tuple((pairs * is_in[:, None]).T)], data.dtype.type(7))
    assert_same_bits(gs.gather_nd(data, pairs, mode="fill", fill_value=7), expected)


@pytest.mark.parametrize("mode", ["raise", "wrap", "fill"])
@pytest.mark.parametrize("index_dtype", ["i2", "i4", "i8"])
@pytest.mark.parametrize(("dtype", "channels"), [("u1", 3), ("u2", 3), ("u1", 4), ("u1", 1)])
def test_images_larger_than_l2(dtype, channels, index_dtype, mode, forced_threads):
    """Tuples are prefetched among the pixels."""
    rng = np.random.default_rng(0)
    data = rng.integers(0, 255, (750, 750, channels)).astype(dtype)
    n = 3001
    for name in ("random", "near", "last"):
        y, x = rng.integers(-750, 750, (2, n))
        if name == "near":
            y, x = np.arange(n) // 100, np.arange(n) % 750
        elif name == "last":
            y, x = np.full(n, 749), np.full(n, -1)
        pairs = np.stack([y, x], axis=-1).astype(index_dtype)
        for view in (data, data[::-1, ::-1], data[:, :, ::-1]):
            assert_same_bits(gs.gather_nd(view, pairs, mode=mode), view[y, x])
            rows = view.swapaxes(0, 1)
            assert_same_bits(gs.gather(rows, x.astype(index_dtype)[:9], axis=0, mode=mode), rows[x[:9]])
        flat = data.reshape(-1, channels)
        if index_dtype != "i2":
            i = (y % 750 * 750 + x % 750).astype(index_dtype)
            assert_same_bits(gs.gather(flat, i, mode=mode), flat[i])
