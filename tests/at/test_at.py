"""`at` on NumPy arrays, compared with NumPy's indexing and with a loop over the indexed shape."""

import itertools
import tracemalloc

import gatherscatter as gs
import numpy as np
import pytest
from at_draws import STEPS, indices, laid_out, loop, shapes
from gatherscatter._kernels.gather import true_elements
from gatherscatter.backends import kernels
from hypothesis import given, settings
from hypothesis import strategies as st
from pairwise import in_turn

METHODS = (*STEPS, "mean")
DTYPES = ("f4", "i8", "i2", "u1", "f8")


@st.composite
def calls(draw):
    shape = draw(shapes())
    n = int(np.prod(shape, dtype=int))
    x = (np.arange(n) % 90 + 1).astype(draw(st.sampled_from(DTYPES))).reshape(shape)
    x = laid_out(x, draw(st.sampled_from(("plain", "transposed", "strided", "reversed"))))
    return x, draw(indices(shape))


@given(calls())
def test_get_is_numpys(call):
    x, index = call
    try:
        expected = np.array(x[index])
    except IndexError:
        with pytest.raises(IndexError, match=r"^at: "):
            gs.at(x)[index].get()
        return
    found = gs.at(x)[index].get()
    assert type(found) is np.ndarray
    assert (found.shape, found.dtype) == (expected.shape, x.dtype)
    np.testing.assert_array_equal(found, expected)
    assert not np.shares_memory(found, x)
    out = np.empty_like(expected, order="F")
    assert gs.at(x)[index].get(out=out) is out
    np.testing.assert_array_equal(out, expected)


@given(calls(), st.sampled_from(METHODS), st.booleans(), st.randoms(use_true_random=False))
def test_updates_are_the_loop(call, method, include_self, random):
    x, index = call
    try:
        shape = x[index].shape
    except IndexError:
        return
    updates = (np.arange(int(np.prod(shape, dtype=int))) * 7 % 23 + 1).astype(x.dtype).reshape(shape)
    if shape and random.random() < 0.4:
        updates = updates[:1]
    elif shape and shape[0] and random.random() < 0.4:
        updates = updates[0]
    before = x.copy()
    expected = loop(x, index, updates, method, include_self)
    found = getattr(gs.at(x)[index], method)(updates, include_self=include_self)
    assert (type(found), found.dtype) == (np.ndarray, x.dtype)
    np.testing.assert_array_equal(found, expected, strict=True)
    np.testing.assert_array_equal(x, before)
    for out in (np.empty_like(x), np.empty(x.shape, x.dtype, order="F")):
        assert getattr(gs.at(x)[index], method)(updates, include_self=include_self, out=out) is out
        np.testing.assert_array_equal(out, expected)
    assert getattr(gs.at(x)[index], method)(updates, include_self=include_self, out=x) is x
    np.testing.assert_array_equal(x, expected)


ITEMS = [
    slice(None),
    slice(None, None, -1),
    slice(1, 3),
    0,
    -1,
    [0, -1],
    np.array([2, 0, 2]) % 2,
    np.array([[0], [-1]]),
]


@pytest.mark.parametrize("wrap", [True, False])
@pytest.mark.parametrize("shape", [(4, 4, 4), (1, 4, 1), (4, 1, 4)], ids=str)
def test_slices_and_integers_beside_arrays(shape, wrap):
    """What `grammar.simplified` makes views of, and what it must leave alone."""
    for index in itertools.product(ITEMS, ITEMS, [*ITEMS, ...]):
        x = np.arange(np.prod(shape)).reshape(shape)
        numbers = [item for item in index if isinstance(item, (int, list, np.ndarray))]
        try:
            expected = np.array(x[index])
            if not wrap and any(np.min(number) < 0 for number in numbers):
                raise IndexError
        except IndexError:
            with pytest.raises(IndexError, match=r"^at: "):
                gs.at(x)[index].get(wrap_negative_indices=wrap)
            with pytest.raises(IndexError, match=r"^at: "):
                gs.at(x)[index].add(1, wrap_negative_indices=wrap)
            continue
        np.testing.assert_array_equal(gs.at(x)[index].get(wrap_negative_indices=wrap), expected, strict=True)
        summed = x.copy()
        np.add.at(summed, index, 1000)
        np.testing.assert_array_equal(gs.at(x)[index].add(1000, wrap_negative_indices=wrap), summed, strict=True)
        gs.at(x)[index].add(1000, wrap_negative_indices=wrap, out=x)
        np.testing.assert_array_equal(x, summed)


@pytest.mark.slow
@settings(max_examples=500)
@given(calls())
def test_get_is_numpys_often(call):
    test_get_is_numpys.hypothesis.inner_test(call)


@pytest.mark.slow
@settings(max_examples=500)
@given(calls(), st.sampled_from(METHODS), st.booleans(), st.randoms(use_true_random=False))
def test_updates_are_the_loop_often(call, method, include_self, random):
    test_updates_are_the_loop.hypothesis.inner_test(call, method, include_self, random)


X = np.arange(120).reshape(2, 3, 4, 5)
ROWS, COLUMNS = np.array([0, 2, 2]), np.array([3, 0, 1])


@in_turn(
    "index",
    [
        (slice(None), ROWS, COLUMNS),
        (slice(None), ROWS, slice(None), COLUMNS),
        (0, slice(None), COLUMNS),  # an integer stands apart
        (0, ROWS),
        (slice(1, None), ROWS),
        (slice(None), slice(None, None, -1), ROWS),
        (slice(None), ROWS, ..., COLUMNS),  # `...` for one axis
        (slice(None), ROWS, COLUMNS, ..., 2),
        (slice(None), slice(None), ROWS, ..., COLUMNS),  # `...` for none: apart all the same
        (slice(None), ROWS, None, COLUMNS),
        (None, ROWS % 2, COLUMNS % 3, None),
        (0, None, X[0, :, :, 0] > 20),
        (slice(None), True, ROWS),
        (True, slice(None), ROWS),
        (slice(None), X[0, :, :, 0] > 20),
        (slice(None), X[0, :, :, 0] > 20, ROWS[:1]),
        (ROWS[:2, None] % 2, slice(None), slice(None, None, -1), COLUMNS),
        X > 60,
        (X[..., 0] > 60,),
        np.zeros(X.shape, bool),
        (1, 2, 3, 4),
        (1, -1),
        (..., -1),
        (),
        ...,
        None,
        True,
        False,
        [],
        [[]],
        range(2),
        (ROWS.astype("u1") % 2, COLUMNS.astype("u8") % 3, COLUMNS),
        (slice(5, 0, -2), slice(-1, None)),
        np.int8(1),
        np.array(1),
    ],
)
def test_axes_are_numpys(index):
    np.testing.assert_array_equal(gs.at(X)[index].get(), X[index], strict=True)
    expected = X.copy()
    expected[index] = -1
    np.testing.assert_array_equal(gs.at(X)[index].set(-1), expected)


@pytest.mark.parametrize("index", [(), ..., None, True, False, (True, None), np.array(True)], ids=str)
def test_rank_0(index):
    x = np.array(3.0)
    np.testing.assert_array_equal(gs.at(x)[index].get(), np.array(x[index]), strict=True)
    np.testing.assert_array_equal(gs.at(x)[index].add(1), loop(x, index, 1.0, "add"), strict=True)


def test_lists_are_arrays():
    np.testing.assert_array_equal(gs.at([1, 2, 3])[[2, 0]].get(), [3, 1])
    np.testing.assert_array_equal(gs.at([1, 2, 3])[[True, False, True]].set([7, 8]), [7, 2, 8])
    np.testing.assert_array_equal(gs.at([[1, 2], [3, 4]])[(0, 1), (1, 0)].get(), [2, 3])
    np.testing.assert_array_equal(gs.at(5)[()].add(1), 6)


@pytest.mark.parametrize("dtype", ["U3", "O", "M8[s]", [("a", "i4"), ("b", "f8")]])
def test_any_dtype_is_moved(dtype):
    x = np.zeros((3, 4), dtype)
    x[1:] = np.arange(8).astype("i8").astype(dtype if dtype != "U3" else "U3").reshape(2, 4) if dtype != "O" else "a"
    for index in ((slice(None), [0, 2]), (slice(1, None), 1), ([0, 1], [2, 3]), x == x[0, 0]):
        np.testing.assert_array_equal(gs.at(x)[index].get(), x[index])
        expected = x.copy()
        expected[index] = x[2, 3]
        np.testing.assert_array_equal(gs.at(x)[index].set(np.full((), x[2, 3], x.dtype)), expected)


# Modes


@in_turn("index", [9, (slice(None), 9), (1, [0, 9, -9]), ([9, 0], [1, -9]), ([0, 1], slice(None), -9)])
@pytest.mark.parametrize("mode", ["clip", "wrap", "fill"])
def test_modes_of_get(index, mode):
    x = np.arange(24).reshape(2, 3, 4)
    found = gs.at(x)[index].get(mode=mode, fill_value=-1)
    sizes = x.shape
    given_items = index if isinstance(index, tuple) else (index,)
    inside, outside = [], np.zeros((), bool)
    for item, size in zip(given_items, sizes, strict=False):
        if isinstance(item, slice):
            inside.append(item)
            continue
        i = np.array(item)
        i = np.where(i < 0, i + size, i)
        outside = outside | (i < 0) | (i >= size)
        inside.append(np.clip(i, 0, size - 1) if mode == "clip" else i % size)
    expected = np.array(x[tuple(inside)])
    if mode == "fill":
        expected[outside] = -1
    np.testing.assert_array_equal(found, expected)


def test_modes_of_updates():
    x = np.arange(6).reshape(2, 3)
    np.testing.assert_array_equal(gs.at(x)[5].set(9, mode="drop"), x)
    np.testing.assert_array_equal(gs.at(x)[5].set(9, mode="clip"), [[0, 1, 2], [9, 9, 9]])
    np.testing.assert_array_equal(gs.at(x)[0, 4].add(9, mode="wrap"), [[0, 10, 2], [3, 4, 5]])
    np.testing.assert_array_equal(gs.at(x)[[0, 7], [1, 1]].add(9, mode="drop"), [[0, 10, 2], [3, 4, 5]])
    np.testing.assert_array_equal(gs.at(x)[[0, 7], 1].mean(9, mode="drop"), [[0, 5, 2], [3, 4, 5]])


def test_negative_indices_are_out_of_bounds_if_asked_for():
    x = np.arange(6).reshape(2, 3)
    np.testing.assert_array_equal(gs.at(x)[[-1, 1]].get(wrap_negative_indices=False, mode="clip"), x[[0, 1]])
    np.testing.assert_array_equal(gs.at(x)[-1:, 1].get(wrap_negative_indices=False), [4])
    np.testing.assert_array_equal(gs.at(x)[-1].set(0, wrap_negative_indices=False, mode="drop"), x)
    for index in (-1, [-1], (0, [-1]), ([0], [-1])):
        with pytest.raises(IndexError, match=r"with wrap_negative_indices=False a negative index is out of bounds"):
            gs.at(x)[index].get(wrap_negative_indices=False)


# Memory


def peak(call):
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_basic_parts_are_views():
    x = np.zeros((64, 64, 64))  # 2 MiB
    for index in ((slice(None), [3]), (slice(None, None, -1), 5, [1, 2]), ([1], slice(None), [2]), (None, ..., [0])):
        assert peak(gs.at(x)[index].get) < x.nbytes // 8
        assert peak(lambda index=index: gs.at(x)[index].add(1.0, out=x)) < x.nbytes // 8


def test_masks_take_memory_for_what_they_pick():
    mask = np.zeros((1000, 1000), bool)
    mask[::100, ::100] = True
    x = np.zeros((1000, 1000), "u1")
    for array, pick in ((x, mask), (x.T, mask.T), (x[:, ::-1], mask), (np.zeros((1000, 1000, 2), "u1")[..., 0], mask)):
        assert peak(gs.at(array)[pick].get) < 100_000
        assert peak(lambda a=array, m=pick: gs.at(a)[m].set(1, out=a)) < 100_000


@pytest.mark.parametrize("index", ["mask", "axis", "slice"])
def test_masks_that_are_copied_piece_by_piece(index, monkeypatch):
    monkeypatch.setattr("gatherscatter.backends.numpy._PIECE", 7)
    x = np.arange(360).reshape(3, 4, 30)
    mask = x[0] % 3 > 0
    mask[:2] = False
    index = {"mask": x % 5 == 0, "axis": (slice(None), mask), "slice": (slice(1, None), 2, mask[3])}[index]
    shape = x[index].shape
    np.testing.assert_array_equal(gs.at(x)[index].get(), x[index], strict=True)
    for updates in (-1, -np.arange(np.prod(shape)).reshape(shape), -np.arange(shape[-1])):
        for method, include_self in (("set", True), ("subtract", True), ("add", False), ("mean", True)):
            found = getattr(gs.at(x)[index], method)(updates, include_self=include_self)
            np.testing.assert_array_equal(found, loop(x, index, updates, method, include_self))
    expected = x.copy()
    expected[index] = x[index][..., ::-1]
    gs.at(x)[index].set(x[index][..., ::-1], out=x)
    np.testing.assert_array_equal(x, expected)
    with pytest.raises(TypeError, match=r"at: updates=0.5 cannot be held"):
        gs.at(x)[np.zeros_like(x, bool)].set(0.5)


def test_large_masks_with_few_true_elements():
    x = np.arange(1 << 20, dtype="i4")
    mask = np.zeros(1 << 20, bool)
    mask[[0, 5, 70_000, 1_000_000, -1]] = True
    np.testing.assert_array_equal(gs.at(x)[mask].get(), x[mask])
    np.testing.assert_array_equal(np.flatnonzero(gs.at(x)[mask].set(-1) < 0), np.flatnonzero(mask))


def test_updates_may_be_what_a_mask_changes():
    x = np.arange(100)
    mask, expected = x % 2 == 0, x.copy()
    expected[mask] = x[49::-1]
    gs.at(x)[mask].set(x[49::-1], out=x)
    np.testing.assert_array_equal(x, expected)


def test_dense_masks_take_four_bytes_for_each_element():
    x, mask = np.zeros(1 << 20, "u1"), np.ones(1 << 20, bool)
    assert peak(gs.at(x)[mask].get) < 5.5 * 2**20
    assert peak(lambda: gs.at(x)[mask].set(1, out=x)) < 4.5 * 2**20


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@in_turn("size", [0, 1, 7, 8, 9, 63, 64, 1000, 4099])
def test_true_elements(n_threads, size):
    rng = np.random.default_rng(size)
    for share in (0, 0.01, 0.5, 0.99, 1):
        mask = rng.random(size) < share
        with kernels.forced(n_threads):
            found = true_elements(mask, np.empty, 0)
        np.testing.assert_array_equal(found, np.flatnonzero(mask).astype(np.int32), strict=True)
    some = rng.integers(0, 3, size).astype(np.uint8)  # true is any byte but 0
    with kernels.forced(n_threads):
        np.testing.assert_array_equal(true_elements(some.view(bool), np.empty, 0), np.flatnonzero(some))


def test_a_mask_that_changes_between_its_two_passes():
    """No number is written past those that were counted, and none is left unwritten."""
    for before, after in ((0, 1), (1, 0)):
        mask = np.full(1000, bool(before))

        def empty(shape, dtype, mask=mask, after=after):
            mask[:] = after
            guarded = np.full(shape[0] + 16, -7, dtype)
            return guarded[: shape[0]]

        found = true_elements(mask, empty, 1)
        assert len(found) == 1000 * before
        assert (found == 0).all()
        assert (found.base == -7).sum() == 16


def test_a_mask_for_the_kernel_is_contiguous():
    for mask in (np.zeros(4, np.uint8), np.zeros(4, bool)[::2]):
        with pytest.raises(ValueError, match="a mask is an array of bools in C order"):
            true_elements(mask, np.empty, 0)


# Small calls


def test_an_array_may_stand_in_the_index_twice():
    x, i = np.arange(27.0).reshape(3, 3, 3), np.array([0, 2])
    for index in ((i, i), (i, slice(None), i), (slice(None), i, i), (i, i, i)):
        np.testing.assert_array_equal(gs.at(x)[index].get(), x[index], strict=True)
        expected = x.copy()
        expected[index] += 1
        np.testing.assert_array_equal(gs.at(x)[index].add(np.ones(x[index].shape)), expected)


@pytest.mark.parametrize("index", [np.array([1, 2]), (slice(None), np.array([1, 2]))], ids=str)
def test_small_calls_are_not_parsed(index, monkeypatch):
    def parse(*arguments, **options):
        raise AssertionError("parsed")

    monkeypatch.setattr("gatherscatter.indexing.grammar.parse", parse)
    x = np.arange(9.0).reshape(3, 3)
    np.testing.assert_array_equal(gs.at(x)[index].get(), x[index])
    expected = x.copy()
    expected[index] += 1
    np.testing.assert_array_equal(gs.at(x)[index].add(np.ones(x[index].shape)), expected)


@pytest.mark.parametrize("dtype", [object, np.dtypes.StringDType(), "U3", "f8"], ids=str)
def test_one_element(dtype):
    """An index of integers alone, of elements that may have attributes of arrays themselves."""
    items = [np.arange(3), ["a"], None] if dtype is object else ["1", "22", "3"]
    x = np.empty(3, dtype)
    for place, item in enumerate(items):
        x[place] = item
    for array, index, item in (
        (x, 1, x[1]),
        (x, 0, x[0]),
        (x[2:].reshape(()), (), x[2]),
        (x.reshape(1, 3), (0, 2), x[2]),
    ):
        result = gs.at(array)[index].get()
        assert result.shape == ()
        assert result.dtype == x.dtype
        assert result[()] is item or result[()] == item
        update = np.empty((), dtype)
        update[()] = x[1]
        changed = gs.at(array)[index].set(update)
        assert changed.shape == array.shape
        assert changed[index] is x[1] or changed[index] == x[1]
