"""`at` on Dask arrays: the size of the graphs, unknown sizes and masks."""

import dask.array as da
import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits

pytestmark = pytest.mark.usefixtures("dask_in_this_thread")

A = np.arange(48.0).reshape(6, 4, 2)
KEPT = np.arange(6) % 3 != 1
ALL = slice(None)


def known():
    return da.from_array(A, chunks=(2, 3, 1))


def unknown():
    """A[KEPT], of unknown sizes along axis 0."""
    return known()[da.from_array(KEPT, chunks=2)]


def assert_computes(array, expected):
    assert_same_bits(np.asarray(array.compute()), expected)
    for sizes, n in zip(array.chunks, expected.shape, strict=True):
        assert sum(sizes) in (n, np.nan) or np.isnan(sum(sizes))


def n_keys(array):
    return sum(map(len, array.dask.layers.values()))


@pytest.mark.parametrize("method", ["set", "add"])
def test_keys_grow_linearly(method):
    x, counts = da.zeros(320, chunks=16), []
    for i in range(32):
        x = getattr(gs.at(x)[10 * i : 10 * i + 1], method)(1.0)
        counts.append(n_keys(x))
    per_call = np.diff(counts)
    assert per_call.max() <= 20 + 10  # the chunks of x, and what one call adds
    assert_computes(x, (np.arange(320) % 10 == 0).astype(float))


INDICES = [
    1,
    slice(1, 5, 3),
    slice(4, None, -2),
    (ALL, 2, None),
    (..., 1),
    (slice(2, 4), [0, 2]),
    (5, ALL, [1, 0]),
    slice(9),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_a_part_is_replaced_in_chunks_of_any_sizes(index):
    for chunks in ((2, 3, 1), ((0, 1, 0, 5), (4, 0), 2), 6):
        x, expected = da.from_array(A, chunks=chunks), A.copy()
        expected[index] = -1
        assert_computes(gs.at(x)[index].set(-1), expected)
        by = np.arange(A[index].size, dtype=float).reshape(A[index].shape)
        expected = A.copy()
        expected[index] += by
        assert_computes(gs.at(x)[index].add(da.from_array(by, chunks=1)), expected)


def test_arrays_of_rank_0_and_chunks_of_other_libraries():
    torch = pytest.importorskip("torch")
    assert gs.at(da.zeros((), chunks=()))[()].set(3.0).compute() == 3
    x = da.zeros(4, chunks=2).map_blocks(torch.tensor, dtype=float, meta=np.zeros(0))
    blocks = [gs.at(x)[1:3].add(2.0).blocks[i].compute() for i in range(2)]
    assert [block.tolist() for block in blocks] == [[0, 2], [2, 0]]
    assert {type(block) for block in blocks} == {torch.Tensor}


@pytest.mark.parametrize(
    "function", ["gather", "gather_nd", "gather_elements", "scatter", "scatter_nd", "scatter_elements"]
)
def test_graphs_of_empty_indices_are_valid(function):
    data = da.from_array(np.arange(6.0), chunks=2)
    indices = np.zeros((0, 1) if function.endswith("nd") else 0, int)
    for some in (indices, da.from_array(indices, chunks=1)):
        for updates in (np.zeros(0), da.zeros(0, chunks=1), 1.0) if "scatter" in function else (None,):
            result = getattr(gs, function)(data, some, *(() if updates is None else (updates,)))
            result.dask.validate()
            assert_computes(result, np.zeros(0) if updates is None else np.arange(6.0))
    dropped = gs.scatter(data, [9], da.ones(1, chunks=1), mode="drop")
    dropped.dask.validate()
    assert_computes(dropped, np.arange(6.0))


BESIDE = [
    (ALL, 1), (ALL, [0, 2]), (ALL, slice(None, None, 2)), (ALL, slice(None, None, -1)), (None,), (..., 1),
    (ALL, [True, False, True, False]), (ALL, 1, [0, 1]), (ALL, [0, 1], [1, 0]), (ALL, [[0, 1], [3, 2]]),
    (ALL, slice(1, 1)), (ALL, None, 2), (ALL, []),
]  # fmt: skip


@pytest.mark.parametrize("index", BESIDE, ids=str)
def test_axes_beside_one_of_unknown_size(index):
    x, expected = unknown(), A[KEPT].copy()
    chosen = tuple(np.array(item, None if item else int) if isinstance(item, list) else item for item in index)
    part = gs.at(x)[index].get()
    assert_computes(part, expected[chosen])
    expected[chosen] *= 2
    assert_computes(gs.at(x)[index].multiply(2.0), expected)
    assert_computes(gs.at(x)[index].set(2 * part), expected)


def test_functions_beside_an_axis_of_unknown_size():
    x, expected, lazy = unknown(), A[KEPT], da.from_array(np.array([3, 0, 3]), chunks=2)
    for indices in (np.array([3, 0, 3]), lazy):
        assert_computes(gs.gather(x, indices, axis=1), expected[:, [3, 0, 3]])
        assert_computes(gs.gather(x, indices % 2, axis=-1), expected[..., [1, 0, 1]])
        added = expected.copy()
        np.add.at(added, (ALL, [3, 0, 3]), 1)
        assert_computes(gs.scatter(x, indices, 1.0, axis=1, reduction="add"), added)
        updates = gs.gather(x, indices, axis=1)
        np.add.at(added, (ALL, [3, 0, 3]), expected[:, [3, 0, 3]] - 1)
        assert_computes(gs.scatter(x, indices, updates, axis=1, reduction="add"), added)
    outside = gs.gather(x, [9, 9], axis=1, mode="fill", fill_value=7)
    assert_computes(outside, np.full((4, 2, 2), 7.0))
    with pytest.raises(ValueError, match=r"^gather: data has unknown chunk sizes along axis 0"):
        gs.gather(x, [0])
    for updates in (np.zeros(2), np.zeros((4, 2, 2)), da.zeros((4, 2, 2), chunks=1)):
        with pytest.raises(ValueError, match=r"^scatter: data has unknown chunk sizes along axis 0"):
            gs.scatter(x, [0, 1], updates, axis=1)
    for index in ((ALL, 1), (ALL, slice(None, None, -1))):
        with pytest.raises(ValueError, match=r"^at: x has unknown chunk sizes along axis 0"):
            gs.at(x)[index].set(np.zeros(2))
        with pytest.raises(ValueError, match=r"^at: x has unknown chunk sizes along axis 0"):
            gs.at(x)[index].set(gs.at(x)[index].get()[..., :1])


@pytest.mark.parametrize("chunks", [1, 4])
def test_masks_of_dask(chunks):
    x = known()
    rows, columns, every = np.arange(6) % 4 == 1, np.array([True, False, True, True]), A % 5 == 1

    def lazy(mask):
        return da.from_array(mask, chunks=chunks)

    for index, expected in (
        (lazy(rows), A[rows]),
        ((lazy(rows), slice(0, 2)), A[rows, :2]),
        ((ALL, lazy(columns)), A[:, columns]),
        ((..., lazy(columns), slice(None, None, -1)), A[:, columns, ::-1]),
        (lazy(every), A[every]),
        (lazy(rows & False), A[:0]),
    ):
        assert_computes(gs.at(x)[index].get(), expected)
    with pytest.raises(IndexError, match=r"^at: a mask has shape \(4,\)"):
        gs.at(x)[lazy(columns)].get()
    for index in ((lazy(rows), 0), (lazy(rows), None), (lazy(rows), lazy(columns)), lazy(every[..., 0])):
        with pytest.raises(
            NotImplementedError, match=r"^at: the number of elements that a Dask mask selects is unknown"
        ):
            gs.at(x)[index].get()
    with pytest.raises(NotImplementedError, match=r"^at: .* pass a scalar for updates"):
        gs.at(x)[lazy(rows)].set(np.zeros((2, 4, 2)))


def test_parts_of_one_array_that_differ_have_graphs_of_their_own():
    x = da.zeros(6, chunks=2)
    one, two = gs.at(x)[1:3].set(1.0), gs.at(x)[1:3].set(2.0)
    assert one.name != two.name
    np.testing.assert_array_equal((one + 10 * two).compute(), [0, 21, 21, 0, 0, 0])
