"""Error messages of `at`: invalid indices, indices out of bounds, and updates that do not fit."""

import copy
import operator
import pickle
from functools import partial

import gatherscatter as gs
import numpy as np
import pytest
from gatherscatter.errors.foreign import METHODS
from pairwise import in_turn

X = np.zeros((4, 5))


@in_turn(
    ("index", "message"),
    [
        (1.0, "at: 1.0 is a float, which is not an index; pass 1"),
        (
            "a",
            "at: 'a' is a str, which is not an index; "
            "pass integers, slices, ..., None, and arrays of integers or bools",
        ),
        ({1}, "at: {1} is a set, which is not an index; pass numpy.asarray(...) of it"),
        (
            [0.5],
            "at: an index array holds numbers of dtype float64; pass integers of 8 to 64 bits, or bools for a mask",
        ),
        ((0, 0, 0), "at: the index has items for 3 axes, but x of shape (4, 5) has 2 axes; pass at most 2"),
        ((X > 0, 0), "at: the index has items for 3 axes, but x of shape (4, 5) has 2 axes; pass at most 2"),
        ((..., 0, ...), "at: the index has 2 ellipses (...); pass one, and : for each other axis"),
        (
            np.zeros(3, bool),
            "at: a mask has shape (3,), but axis 0 of x of shape (4, 5) has (4,); pass a mask of shape (4,)",
        ),
        (
            np.zeros((5, 4), bool),
            "at: a mask has shape (5, 4), but axes 0 to 1 of x of shape (4, 5) have (4, 5); "
            "pass a mask of shape (4, 5)",
        ),
        (
            ([0, 1], [0, 1, 2]),
            "at: index arrays of shapes (2,), (3,) do not broadcast to one shape; pass arrays that do, "
            "or numpy.ix_(...) of them for every combination",
        ),
        (-5, "at: index -5 is out of bounds for an array of shape (4, 5): axis 0 has size 4"),
        ((..., 5), "at: index 5 is out of bounds for an array of shape (4, 5): axis 1 has size 5"),
        (10**30, "at: index 1000000000000000000000000000000 is out of bounds for an array of shape (4, 5): axis 0"),
        (
            ([0, 1, 2, 2], [0, 1, 2, 9]),
            "at: index (2, 9) at position (3,) is out of bounds for an array of shape (4, 5): axis 1 has size 5",
        ),
        (
            ([0, 1, 7, 2], [0, 1, 2, 9]),
            "at: index (7, 2) at position (2,) is out of bounds for an array of shape (4, 5): axis 0 has size 4",
        ),
        ([[0], [4]], "at: index 4 at position (1, 0) is out of bounds for an array of shape (4, 5): axis 0 has size 4"),
        (
            (slice(1, None, -1), [5]),
            "at: index 5 at position (0,) is out of bounds for an array of shape (4, 5): axis 1 has size 5",
        ),
        (
            (2, [5]),
            "at: index (2, 5) at position (0,) is out of bounds for an array of shape (4, 5): axis 1 has size 5",
        ),
        (
            ([[0], [1]], None, [0, -6]),
            "at: index (0, -6) at position (0, 1) is out of bounds for an array of shape (4, 5): axis 1 has size 5",
        ),
        (
            (np.array([True, False, True, False]), [0, 5]),
            "at: index 5 at position (1,) is out of bounds for an array of shape (4, 5): axis 1 has size 5",
        ),
    ],
)
def test_indices(index, message):
    for call in (gs.at(X)[index].get, lambda: gs.at(X)[index].add(1.0)):
        with pytest.raises(IndexError) as info:
            call()
        assert str(info.value).startswith(message)


def test_other_kinds_are_numpys_too():
    with pytest.raises(TypeError, match=r"at: slice\(None, 1.5, None\) has a bound that is not an integer"):
        gs.at(X)[:1.5].get()
    with pytest.raises(ValueError, match=r"has the step 0"):
        gs.at(X)[::0].get()
    with pytest.raises(ValueError, match=r"at: index is a ragged list"):
        gs.at(X)[[[0], [1, 2]]].get()
    with pytest.raises(IndexError, match=r"the index has items for 1 axis, but x of shape"):
        gs.at(np.zeros(()))[0].get()
    with pytest.raises(IndexError, match=r"axis 0 has size 0"):
        gs.at(np.zeros(0))[[3]].get(mode="clip")


def test_updates():
    with pytest.raises(
        ValueError, match=r"at: updates has shape \(3,\), which does not broadcast to the indexed shape \(2, 5\)"
    ):
        gs.at(X)[[0, 1]].set(np.zeros(3))
    with pytest.raises(TypeError, match=r"at: updates of dtype float64 cannot be cast to x's dtype int64 by the rule"):
        gs.at(np.zeros(3, int))[[0, 1]].set(np.zeros(2))
    with pytest.raises(TypeError, match=r"at: updates=2.5 cannot be held by x's dtype int64"):
        gs.at(np.zeros(3, int))[[0, 1]].set(2.5)
    with pytest.raises(TypeError, match=r"at: subtract does not support dtype bool"):
        gs.at(np.zeros(3, bool))[0].subtract(True)
    with pytest.raises(TypeError, match=r"at: reduction='max' does not support dtype complex128"):
        gs.at(np.zeros(3, complex))[0].max(1)
    with pytest.raises(TypeError, match=r"at: reduction='add' does not support dtype"):
        gs.at(np.zeros(3, "U1"))[0].subtract("a")


@pytest.mark.parametrize("index", [[0], ([0], 0), slice(None)], ids=str)
def test_out_whose_elements_share_memory(index):
    x = np.lib.stride_tricks.as_strided(np.zeros(3), (3, 3), (8, 0))
    with pytest.raises(ValueError, match="at: elements of out share memory"):
        gs.at(x)[index].add(1.0, out=x)
    assert not x.any()


def test_slices_of_64_dimensions():
    x = np.zeros((1,) * 63 + (2,))
    for index in (slice(0, 1), ...):
        with pytest.raises(IndexError, match="at: x has 64 dimensions, too many for slices and integers alone"):
            gs.at(x)[index].add(1.0)
    assert gs.at(x)[0].add(1.0).sum() == 2
    assert gs.at(x)[[0]].add(1.0).sum() == 2


@pytest.mark.parametrize("index", [0, [0], ([0], [0]), slice(None), X > 0], ids=str)
def test_options(index):
    call = gs.at(X)[index]
    with pytest.raises(ValueError, match=r"at: mode='clop' is not one of .* did you mean 'clip'"):
        call.get(mode="clop")
    with pytest.raises(ValueError, match=r"at: mode='drop' is for scatters only"):
        call.get(mode="drop")
    with pytest.raises(ValueError, match=r"at: mode='fill' is for gathers only"):
        call.set(0, mode="fill")
    with pytest.raises(TypeError, match=r"at: mode=3 is not a string"):
        call.set(0, mode=3)
    with pytest.raises(TypeError, match=r"at: include_self=1 is not a bool"):
        call.set(0, include_self=1)
    with pytest.raises(TypeError, match=r"at: wrap_negative_indices=1 is not a bool"):
        call.get(wrap_negative_indices=1)
    with pytest.raises(TypeError, match=r"at: fill_value=0.5 cannot be held"):
        gs.at(X.astype(int))[index].get(mode="fill", fill_value=0.5)


INDEXED = gs.at(X)[[0, 1]]


@in_turn(
    ("use", "error", "message"),
    [
        (
            lambda: INDEXED.shape,
            AttributeError,
            "has no attribute 'shape'; call .get() to pick the elements, then .shape",
        ),
        (
            lambda: INDEXED.sum(),
            AttributeError,
            "call .get() to pick the elements, then .sum; to update x call .add(updates)",
        ),
        (lambda: INDEXED.mul(2), AttributeError, "has no attribute 'mul'; did you mean .multiply(updates)?"),
        (lambda: INDEXED.maximum(2), AttributeError, "has no attribute 'maximum'; did you mean .max(updates)?"),
        (lambda: INDEXED.min_(2), AttributeError, "has no attribute 'min_'; did you mean .min(updates)?"),
        (lambda: INDEXED.div(2), AttributeError, "has no attribute 'div'; call .divide(updates)"),
        (lambda: INDEXED.pow(2), AttributeError, "has no attribute 'pow'; call .power(updates)"),
        (lambda: np.asarray(INDEXED), TypeError, "is not an array; call .get() to pick the elements"),
        (lambda: np.zeros(2) + INDEXED, TypeError, "is not an array; call .get() to pick the elements"),
        (
            lambda: gs.gather(INDEXED, [0]),
            TypeError,
            "data is a gatherscatter.At, which is not an array; pass data.get()",
        ),
        (lambda: gs.at(X).add(1), AttributeError, "has no attribute 'add'; call gs.at(x)[index].add(...)"),
        (lambda: gs.at(X).shape, AttributeError, "has no attribute 'shape'; pass an index first: gs.at(x)[index]"),
        (
            lambda: gs.at(X).__setitem__(0, 1),
            TypeError,
            "cannot be assigned to; call gs.at(x)[index].set(updates, out=x)",
        ),
        (
            lambda: operator.iadd(INDEXED, 1),
            TypeError,
            "+= updates does not change x; call gs.at(x)[index].add(updates, out=x)",
        ),
        (
            lambda: operator.isub(INDEXED, 1),
            TypeError,
            "-= updates does not change x; call gs.at(x)[index].subtract(updates, out=x)",
        ),
        (
            lambda: operator.imul(INDEXED, 1),
            TypeError,
            "*= updates does not change x; call gs.at(x)[index].multiply(updates, out=x)",
        ),
        (
            lambda: operator.itruediv(INDEXED, 1),
            TypeError,
            "/= updates does not change x; call gs.at(x)[index].divide(updates, out=x)",
        ),
        (
            lambda: operator.ipow(INDEXED, 1),
            TypeError,
            "**= updates does not change x; call gs.at(x)[index].power(updates, out=x)",
        ),
    ],
)
def test_use_as_an_array_and_other_names_of_methods(use, error, message):
    with pytest.raises(error) as info:
        use()
    assert str(info.value).endswith(message)


@pytest.mark.parametrize("one", [INDEXED, gs.at(X)])
def test_names_with_a_hint_are_no_attributes(one):
    assert not hasattr(one, "shape")
    assert not hasattr(one, "mul")
    assert "shape" not in dir(one)
    assert repr(copy.copy(one)) == repr(pickle.loads(pickle.dumps(one))) == repr(one)
    assert {name for name in dir(INDEXED) if name[0] != "_"} == set(METHODS)


def test_a_fill_value_that_the_mode_ignores():
    note = "fill_value has an effect only with mode='fill'"
    for call in (gs.at(X)[[9]].get, gs.at(X)[[0], [9]].get, partial(gs.gather, X, [9])):
        with pytest.raises(IndexError) as info:
            call(fill_value=-1)
        assert str(info.value).count(note) == 1
        with pytest.raises(IndexError) as info:
            call(fill_value=0)  # the default
        assert note not in str(info.value)


def test_values_that_a_bool_cannot_hold():
    with pytest.raises(TypeError, match=r"updates=1 cannot be held by x's dtype bool unchanged; pass True or False$"):
        gs.at(X > 0)[0].set(1)


def test_masked_arrays_are_refused():
    with pytest.raises(TypeError, match=r"at: x is a masked array"):
        gs.at(np.ma.array([1, 2]))[0].get()
    with pytest.raises(TypeError, match=r"at: out is a"):
        gs.at(np.array([1, 2]))[1:].set(0, out=np.ma.array([1, 2]))


def test_results_that_are_too_large():
    x, i = np.zeros((3, 3)), np.broadcast_to(np.zeros(1, int), (1 << 46,))
    for index in ((i, i), (i,), (slice(1, None), i)):
        with pytest.raises(MemoryError, match=r"^at: no memory for a result of shape"):
            gs.at(x)[index].get()
