"""The tile order of prepared indices: tiles give the bits of one thread without it, and scatters do too."""

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits
from gatherscatter import memory
from gatherscatter._kernels import gather as gather_kernel
from gatherscatter._kernels.common import GatherRoute
from gatherscatter.backends import kernels

N_SLICES = 100_003  # four tiles, the last of them smaller
N = 200_001  # three chunks
THREADS = [1, 2, 3, 8, 192]

# The dtype and the shape of a slice: of each width that the kernels know.
SLICES = {
    "u1": ("u1", ()),
    "bool": ("?", ()),
    "i2": ("i2", ()),
    "f2": ("f2", ()),
    "f4": ("f4", ()),
    "i4": ("i4", ()),
    "f8": ("f8", ()),
    "i8": ("i8", ()),
    "c8": ("c8", ()),
    "c16": ("c16", ()),
    "three u1": ("u1", (3,)),
    "three i2": ("i2", (3,)),
    "two f4": ("f4", (2,)),
    "three f4": ("f4", (3,)),
    "four f4": ("f4", (4,)),
    "two f8": ("f8", (2, 1)),
}


def numbers(rng, dtype, shape):
    """Floats lie orders of magnitude apart, so that each order of summation rounds to another sum."""
    if np.dtype(dtype).kind in "fc":
        exponents = rng.integers(-6, 7, shape)
        return (rng.standard_normal(shape) * 2.0**exponents).astype(dtype)
    return rng.integers(0, 2 if dtype == "?" else 100, shape).astype(dtype)


def sort(prepared, n_slices):
    prepared._orders.tiles = gather_kernel.sort_by_tile(prepared._indices, n_slices, memory.empty, 0)


def prepared_indices(rng, *, mode="raise", n=N):
    """Prepared indices with a tile order, and the indices."""
    indices = rng.integers(-N_SLICES, N_SLICES, n)
    indices[n // 3 :: 5] = 7  # many updates of one slice
    if mode == "drop":
        indices[::11] = N_SLICES
    prepared = gs.prepare("scatter", (N_SLICES,), indices, mode=mode)
    sort(prepared, N_SLICES)
    return prepared, indices


@pytest.mark.parametrize("name", SLICES)
@pytest.mark.parametrize("mode", ["raise", "drop"])
def test_bits(name, mode):
    rng = np.random.default_rng(1)
    dtype, row = SLICES[name]
    data, updates = numbers(rng, dtype, (N_SLICES, *row)), numbers(rng, dtype, (N, *row))
    prepared, indices = prepared_indices(rng, mode=mode)
    names = ["none", "add", "mul"] + ["max", "min"] * (np.dtype(dtype).kind != "c") if mode == "raise" else ["add"]
    for n_threads, reduction in zip(THREADS, names, strict=False):
        with kernels.forced(1):
            expected = gs.scatter(data, indices, updates, reduction=reduction, mode=mode)
        with kernels.forced(n_threads, scatter="partition"):
            assert_same_bits(prepared.scatter(data, updates, reduction=reduction), expected)
            changed = data.copy()
            assert prepared.scatter(changed, updates, reduction=reduction, out=changed) is changed
        assert_same_bits(changed, expected)
    fill_value = dtype == "?" or 1
    expected = gs.gather(data, indices, mode="fill" if mode == "drop" else mode, fill_value=fill_value)
    for n_threads in (1, 192) if mode == "raise" else (2,):
        with kernels.forced(n_threads, gather="tiles"):
            assert_same_bits(prepared.gather(data, fill_value=fill_value), expected)
            assert gather_kernel.last_route()[0] == GatherRoute.TILES
            out = np.empty_like(expected)
            assert prepared.gather(data, fill_value=fill_value, out=out) is out
            assert gather_kernel.last_route()[0] == GatherRoute.TILES
        assert_same_bits(out, expected)


@pytest.mark.parametrize("n_threads", THREADS)
@pytest.mark.parametrize("reduction", ["add", "max"])
def test_threads_and_layouts_of_updates(n_threads, reduction):
    """A scalar, strided and reversed updates; and a strided result."""
    rng = np.random.default_rng(2)
    prepared, indices = prepared_indices(rng)
    data = numbers(rng, "f4", N_SLICES)
    wide = numbers(rng, "f4", (N, 3))
    with kernels.forced(n_threads):
        for updates in (wide[:, 1], wide[::-1, 0], np.float32(1.5)):
            expected = gs.scatter(data, indices, updates, reduction=reduction)
            assert_same_bits(prepared.scatter(data, updates, reduction=reduction), expected)
        out = np.empty((N_SLICES, 2), "f4")[:, 0]
        prepared.scatter(data, wide[:, 1], reduction=reduction, out=out)
    with kernels.forced(1):
        assert_same_bits(out.copy(), gs.scatter(data, indices, wide[:, 1], reduction=reduction))


@pytest.mark.parametrize("words", [{"include_self": False}, {"reduction": "mean"}, {"accumulate_dtype": "float64"}])
def test_other_options_do_without(words):
    rng = np.random.default_rng(3)
    prepared, indices = prepared_indices(rng)
    data, updates = numbers(rng, "f4", N_SLICES), numbers(rng, "f4", N)
    words = {"reduction": "add"} | words
    with kernels.forced(2):
        found = prepared.scatter(data, updates, **words)
    assert_same_bits(found, gs.scatter(data, indices, updates, **words))


def test_when_it_is_made():
    """For large data with indices in no order: at the first gather of short elements."""
    rng = np.random.default_rng(4)
    n_slices, n = 1 << 24, 3 << 20  # float32: 64 MiB, more than any limit for caches
    indices = rng.integers(0, n_slices, n)
    data, updates = np.arange(n_slices, dtype="f4"), np.ones(n, "f4")
    for call, uses in (
        (lambda prepared: prepared.gather(data), True),
        (lambda prepared: prepared.scatter(data, updates, reduction="add"), False),
        (lambda prepared: prepared.gather(data[:, None]), True),
        (lambda prepared: prepared.gather(data.astype("c8")), False),
    ):
        prepared = gs.prepare("gather", (n_slices,), indices)
        call(prepared)
        assert (prepared.nbytes > 4 * n) == uses
    assert_same_bits(prepared.gather(data), data[indices])
    assert gather_kernel.last_route()[0] == GatherRoute.TILES
    assert_same_bits(
        prepared.scatter(data, updates, reduction="add"),
        data + np.bincount(indices, minlength=n_slices).astype("f4"),
    )
    in_order = gs.prepare("gather", (n_slices,), np.sort(indices))
    in_order.scatter(data, updates)
    in_order.gather(data)
    assert in_order.nbytes == 4 * n


def test_one_of_another_size_is_not_used():
    rng = np.random.default_rng(5)
    prepared, indices = prepared_indices(rng)
    data, tiles = numbers(rng, "f4", N_SLICES), prepared._orders.tiles
    with kernels.forced(2, gather="tiles"):
        prepared._orders.tiles = tiles[:-1]
        assert_same_bits(prepared.gather(data), data[indices])
        assert gather_kernel.last_route()[0] != GatherRoute.TILES
        prepared._orders.tiles = tiles
        assert_same_bits(prepared.gather(data), data[indices])
        assert gather_kernel.last_route()[0] == GatherRoute.TILES


def test_without_memory(monkeypatch):
    """Neither for the order nor for the values: the calls are possible without."""
    rng = np.random.default_rng(6)
    prepared, indices = prepared_indices(rng)
    data, updates = numbers(rng, "f4", N_SLICES), numbers(rng, "f4", N)
    expected = gs.scatter(data, indices, updates, reduction="add"), gs.gather(data, indices)
    out, taken = data.copy(), np.empty(N, "f4")

    def empty(*_):
        raise MemoryError

    with monkeypatch.context() as patch, kernels.forced(2, gather="tiles"):
        patch.setattr(gs._kernels.common, "empty", empty)
        prepared.scatter(out, updates, reduction="add", out=out)
        prepared.gather(data, out=taken)
        assert gather_kernel.last_route()[0] != GatherRoute.TILES
    assert_same_bits(out, expected[0])
    assert_same_bits(taken, expected[1])


def test_the_kernel_refuses_other_arrays():
    rows = np.zeros(10, np.int32)
    for wrong, n_slices in ((rows.astype("i8"), 5), (rows[::2], 5), (rows, 0), (rows, 2**26)):
        with pytest.raises(ValueError, match="of dtype int32"):
            gather_kernel.sort_by_tile(wrong, n_slices, memory.empty, 0)


@pytest.mark.parametrize(
    ("dtype", "row", "n_slices"), [("f4", (), 4_300_001), ("f8", (), 2_200_003), ("f4", (3,), 1_500_007)]
)
def test_large_results(dtype, row, n_slices):
    """And of data that are one element."""
    rng = np.random.default_rng(5)
    indices, updates = rng.integers(0, n_slices, N), numbers(rng, dtype, (N, *row))
    prepared = gs.prepare("scatter", (n_slices,), indices)
    sort(prepared, n_slices)
    shape = (n_slices, *row)
    for data in (numbers(rng, dtype, shape), np.broadcast_to(np.array(3, dtype), shape)):
        for n_threads, reduction in ((1, "none"), (3, "add"), (192, "max")):
            with kernels.forced(1):
                expected = gs.scatter(data.copy(), indices, updates, reduction=reduction)
            with kernels.forced(n_threads, scatter="partition"):
                assert_same_bits(prepared.scatter(data, updates, reduction=reduction), expected)
                out = np.zeros(shape, dtype)
                prepared.scatter(data, updates, reduction=reduction, out=out)
            assert_same_bits(out, expected)


@pytest.mark.parametrize(
    ("dtype", "row", "n"), [("f4", (), 4_200_001), ("c16", (), 1_100_001), ("i2", (3,), 2_800_001)]
)
def test_many_values(dtype, row, n):
    """16 MiB or more are written with non-temporal stores, if their memory begins with a cache line."""
    rng = np.random.default_rng(7)
    indices = rng.integers(0, N_SLICES, n)
    indices[::13] = N_SLICES
    data, updates = numbers(rng, dtype, (N_SLICES, *row)), numbers(rng, dtype, (n, *row))
    prepared = gs.prepare("scatter", (N_SLICES,), indices, mode="drop")
    sort(prepared, N_SLICES)
    with kernels.forced(1):
        expected = gs.scatter(data, indices, updates, reduction="add", mode="drop")
        taken = gs.gather(data, indices, mode="fill", fill_value=3)
    with kernels.forced(3, gather="tiles"):
        assert_same_bits(prepared.scatter(data, updates, reduction="add"), expected)
        assert_same_bits(prepared.gather(data, fill_value=3), taken)
        assert gather_kernel.last_route()[0] == GatherRoute.TILES
        out = np.zeros((n + 1, *row), dtype)
        prepared.gather(data, fill_value=3, out=out[1:])
    assert_same_bits(out[1:], taken)
    assert not out[0].any()


def test_runs_of_every_length():
    """Chunks that end within a group of values, tiles without indices, and all indices in one tile."""
    rng = np.random.default_rng(8)
    data = numbers(rng, "f8", N_SLICES)
    for n in (1, 63, 64, 65, 32_767, 32_768, 32_769, 98_305):
        for low, high in ((0, N_SLICES), (40_000, 40_003)):
            indices = rng.integers(low, high, n)
            updates = numbers(rng, "f8", n)
            prepared = gs.prepare("scatter", (N_SLICES,), indices)
            sort(prepared, N_SLICES)
            with kernels.forced(1):
                expected = gs.scatter(data, indices, updates, reduction="add")
            with kernels.forced(2, gather="tiles"):
                assert_same_bits(prepared.scatter(data, updates, reduction="add"), expected)
                assert_same_bits(prepared.gather(data), data[indices])
                # Small gathers do not choose a route.
                assert gather_kernel.last_route()[0] == GatherRoute.TILES or n <= 65
