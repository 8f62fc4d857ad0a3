"""Regression tests of `at`: calls that an adversarial test found to be wrong, and similar calls."""

import threading

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits
from gatherscatter._kernels.gather import true_elements
from gatherscatter.backends import kernels
from pairwise import in_turn

A, B = np.array([0, 2]), np.array([1, 1])


@pytest.mark.parametrize(
    "index",
    [(A, A), (A, slice(None), A), (slice(None), A, A), (A, A, A), (A, B, A), (np.array(1), A)[1:] * 2],
    ids=["two", "apart", "behind a slice", "three", "around another", "repeated tuple"],
)
def test_one_array_for_several_axes(index):
    x = np.arange(27.0).reshape(3, 3, 3)
    np.testing.assert_array_equal(gs.at(x)[index].get(), x[index], strict=True)
    expected = x.copy()
    expected[index] = -1
    np.testing.assert_array_equal(gs.at(x)[index].set(-1.0), expected, strict=True)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("i1", np.int64(300)),
        ("u1", np.uint64(300)),
        ("i8", np.uint64(2**63 + 1)),
        ("f2", np.float32(1e30)),
        ("c8", np.complex128(1e300)),
        ("m8[s]", np.uint64(2**63)),
        ("U3", np.uint64(12345)),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_a_scalar_is_held_unchanged_or_refused(dtype, value):
    x = np.zeros(3, dtype)
    for refuses in (lambda: gs.scatter(x, A, value), lambda: gs.at(x)[A].set(value), lambda: gs.at(x)[1].set(value)):
        with pytest.raises(TypeError, match=r"^(scatter|at): updates"):
            refuses()


@pytest.mark.parametrize(
    ("dtype", "value"),
    [(">f4", 1.5), ("O", 5), ("U3", "abc"), ("S3", b"a")],
    ids=str,
)
def test_lists_take_any_dtype(dtype, value):
    x = np.zeros(3, dtype)
    expected = x.copy()
    expected[[0, 2]] = np.array([value, value], dtype)
    assert gs.at(x)[[0, 2]].set(np.array([value, value], dtype).tolist()).tolist() == expected.tolist()


def test_lists_of_large_integers():
    values = [1, 2**64 - 1]  # which NumPy makes an array of floats
    assert gs.scatter(np.zeros(3, "u8"), A, values).tolist() == [1, 0, 2**64 - 1]
    assert gs.at(np.zeros(3, "u8"))[A].set(values).tolist() == [1, 0, 2**64 - 1]


def test_subtract_from_swapped_numbers():
    x = np.arange(3, dtype=">f4")
    assert gs.at(x)[A].subtract(np.ones(2, ">f4")).tolist() == [-1, 1, 1]
    assert gs.at(x)[A].subtract([1.0, 1.0]).tolist() == [-1, 1, 1]


def test_is_no_sequence():
    x = np.arange(3)
    for loops in (iter, lambda one: one.__contains__(0), reversed):
        with pytest.raises((TypeError, AttributeError)):
            loops(gs.at(x))


@pytest.mark.parametrize(("dtype", "value"), [("U3", "a"), ("S3", b"a"), ("O", 5)])
def test_a_string_of_rank_0_is_a_scalar(dtype, value):
    assert gs.scatter(np.zeros(3, dtype), [1], np.array(value)).tolist()[1] == value


def test_a_numpy_array_of_rank_0_for_a_tensor():
    torch = pytest.importorskip("torch")
    x, rows = torch.zeros(3, dtype=torch.int8), torch.tensor([0, 2])
    assert gs.scatter(x, rows, np.array(3, "i1")).tolist() == [3, 0, 3]
    assert gs.at(x)[rows].set(np.array(3)).tolist() == [3, 0, 3]
    with pytest.raises(TypeError, match=r"^scatter: updates has dtype int64, .*; pass updates.item\(\)"):
        gs.scatter(x, rows, np.array(3))


def test_more_axes_than_numpy_has():
    x = np.zeros((1,) * 64, "i2")
    arrays = tuple(np.zeros((1,) * n, "i8" if n % 2 else ">u2") for n in range(1, 65))
    assert gs.at(x)[arrays].get().shape == (1,) * 64
    assert gs.at(x)[arrays].add(3).reshape(()) == 3
    with pytest.raises(IndexError, match=r"^at: .* out of bounds"):
        gs.at(x)[(*arrays[:-1], np.full((1,) * 64, 2))].get()


@pytest.mark.parametrize("team", [1, 2, 8])
@pytest.mark.parametrize("n", [5, 129, 5000])
@in_turn(("before", "after"), [(0.1, 1), (1, 0.1), (0.5, 0.5), (0, 1), (1, 0)])
def test_a_mask_that_changes_between_counting_and_writing(team, n, before, after):
    rng = np.random.default_rng(0)
    mask, last = rng.random(n) < before, rng.random(n) < after
    counted, guard = int(mask.sum()), 64

    def empty(shape, dtype):
        nonlocal memory
        mask.view("u1")[...] = last * np.uint8(255)
        memory = np.full(shape[0] + 2 * guard, -7, dtype)
        return memory[guard : guard + shape[0]]

    memory = np.empty(0)
    with kernels.forced(team):
        found = true_elements(mask, empty, 0)
    assert found.size == counted
    assert ((found >= 0) & (found < n)).all()
    assert (memory[:guard] == -7).all()
    assert (memory[guard + counted :] == -7).all()


@pytest.mark.slow
@pytest.mark.parametrize("team", [1, 2, 8])
def test_a_mask_that_another_thread_changes(team):
    mask, x, stop = np.ones(1 << 20, bool), np.arange(1 << 20), threading.Event()

    def change():
        while not stop.is_set():
            mask[::2] = True
            mask[...] = False
            mask.view("u1")[...] = 255

    thread = threading.Thread(target=change)
    thread.start()
    try:
        with kernels.forced(team):
            for _ in range(50):
                found = gs.at(x)[mask].get()
                assert ((found >= 0) & (found < x.size)).all()
                gs.at(x)[mask].add(1, out=x.copy())
    finally:
        stop.set()
        thread.join()


SIZES = (0, 1, 7, 8, 9, 63, 64, 65, 127, 128, 129, 1000, 4097)


def check_masks(teams, sizes, densities):
    rng = np.random.default_rng(0)
    for team in teams:
        for n in sizes:
            for density in densities:
                mask = rng.random(n) < density
                with kernels.forced(team):
                    found = true_elements(mask, np.empty, 0)
                assert_same_bits(found, np.flatnonzero(mask).astype(np.int32))


def test_masks_of_any_size():
    check_masks((1, 3), SIZES, (0, 0.02, 0.5, 1))


@pytest.mark.slow
def test_masks_on_any_number_of_threads():
    check_masks((1, 2, 3, 8, 129, 2000), SIZES, (0, 0.001, 0.02, 0.5, 0.98, 1))
