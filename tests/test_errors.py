"""What a person reads who passed something wrong: one sentence, with the argument, the value and the fix."""

import gatherscatter as gs
import numpy as np
import pytest


class Quantity(np.ndarray):
    """Stands for classes such as astropy's: numbers with a meaning that __array_function__ keeps."""

    def __array_function__(self, func, types, args, kwargs):
        return NotImplemented


class Series:
    """Stands for pandas': no array-API object, but convertible."""

    def to_numpy(self):
        raise AssertionError("not called")


D = np.zeros((4, 5))
I = np.zeros((3, 2), int)  # noqa: E741

WRONG = {
    "out of bounds": (
        lambda: gs.gather_nd(D, np.array([[0, 0]] * 2 + [[2, 9]])),
        IndexError,
        "gather_nd: indices[2] = (2, 9) is out of bounds for data of shape (4, 5): axis 1 has size 5",
    ),
    "out of bounds in a grid": (
        lambda: gs.gather_nd(D, np.array([[[0, 0]] * 2] * 3 + [[[0, 0], [2, 9]]])),
        IndexError,
        "gather_nd: indices[3, 1] = (2, 9) is out of bounds for data of shape (4, 5): axis 1 has size 5",
    ),
    "out of bounds, the only tuple": (
        lambda: gs.gather_nd(D, [-5, 0]),
        IndexError,
        "gather_nd: indices = (-5, 0) is out of bounds for data of shape (4, 5): axis 0 has size 4",
    ),
    "out of bounds in a batch": (
        lambda: gs.gather_nd(D, np.array([[0], [1], [5], [2]]), batch_dims=1),
        IndexError,
        "gather_nd: indices[2] = (5,) is out of bounds for data of shape (4, 5): axis 1 has size 5",
    ),
    "out of bounds, object": (
        lambda: gs.gather_nd(D.astype(object), np.array([[0, 0], [2, -6]])),
        IndexError,
        "gather_nd: indices[1] = (2, -6) is out of bounds for data of shape (4, 5): axis 1 has size 5",
    ),
    "float indices": (
        lambda: gs.gather_nd(D, I.astype(float)),
        TypeError,
        "gather_nd: indices has dtype float64; indices are integers, signed or unsigned, 8 to 64 bits: "
        "convert them with astype",
    ),
    "bool indices": (
        lambda: gs.gather_nd(D, I.astype(bool)),
        TypeError,
        "gather_nd: indices has dtype bool; indices are integers, signed or unsigned, 8 to 64 bits: "
        "convert them with astype",
    ),
    "huge list indices": (
        lambda: gs.gather_nd(D, [[2**70, 0]]),
        TypeError,
        "gather_nd: indices has dtype object; indices are integers, signed or unsigned, 8 to 64 bits: "
        "convert them with astype",
    ),
    "scalar indices": (
        lambda: gs.gather_nd(D, 3),
        ValueError,
        "gather_nd: indices has shape (); it needs a last axis that holds the tuples: pass indices[None]",
    ),
    "tuples too long": (
        lambda: gs.gather_nd(D, np.zeros((2, 3), int)),
        ValueError,
        "gather_nd: indices of shape (2, 3) holds tuples of 3 indices, but data of shape (4, 5) has 2 axes",
    ),
    "tuples too long in a batch": (
        lambda: gs.gather_nd(D, np.zeros((4, 2), int), batch_dims=1),
        ValueError,
        "gather_nd: indices of shape (4, 2) holds tuples of 2 indices, "
        "but data of shape (4, 5) has 1 axes beyond batch_dims=1",
    ),
    "batch_dims too large": (
        lambda: gs.gather_nd(D, I, batch_dims=2),
        ValueError,
        "gather_nd: batch_dims=2 is not in [0, 1] for data of shape (4, 5) and indices of shape (3, 2)",
    ),
    "batch_dims negative": (
        lambda: gs.gather_nd(D, I, batch_dims=-1),
        ValueError,
        "gather_nd: batch_dims=-1 is not in [0, 1] for data of shape (4, 5) and indices of shape (3, 2)",
    ),
    "batch_dims no integer": (
        lambda: gs.gather_nd(D, I, batch_dims=1.0),
        TypeError,
        "gather_nd: batch_dims=1.0 is not an integer",
    ),
    "batch sizes differ": (
        lambda: gs.gather_nd(D, np.zeros((3, 1), int), batch_dims=1),
        ValueError,
        "gather_nd: the first batch_dims=1 axes differ: (4,) of data, (3,) of indices",
    ),
    "mode with a typo": (
        lambda: gs.gather_nd(D, I, mode="rasie"),
        ValueError,
        "gather_nd: mode='rasie' is not one of 'raise', 'clip', 'wrap', 'fill', 'promise_in_bounds'; "
        "did you mean 'raise'?",
    ),
    "mode unlike any": (
        lambda: gs.gather_nd(D, I, mode="xyz"),
        ValueError,
        "gather_nd: mode='xyz' is not one of 'raise', 'clip', 'wrap', 'fill', 'promise_in_bounds'",
    ),
    "mode of scatters": (
        lambda: gs.gather_nd(D, I, mode="drop"),
        ValueError,
        "gather_nd: mode='drop' is not for this operator; use mode='fill'",
    ),
    "mode no string": (
        lambda: gs.gather_nd(D, I, mode=["raise"]),
        TypeError,
        "gather_nd: mode=['raise'] is not a string",
    ),
    "masked data": (
        lambda: gs.gather_nd(np.ma.masked_equal(D, 0), I),
        TypeError,
        "gather_nd: data is a masked array, whose mask would be lost; pass data.filled(...), "
        "or data.data and its mask in two calls",
    ),
    "masked indices": (
        lambda: gs.gather_nd(D, np.ma.masked_equal(I, 7)),
        TypeError,
        "gather_nd: indices is a masked array, whose mask would be lost; pass indices.filled(...), "
        "or indices.data and its mask in two calls",
    ),
    "a subclass with a meaning": (
        lambda: gs.gather_nd(D.view(Quantity), I),
        TypeError,
        "gather_nd: data is a test_errors.Quantity, whose meaning beyond its numbers would be lost; "
        "pass numpy.asarray(data)",
    ),
    "no array": (
        lambda: gs.gather_nd(Series(), I),
        TypeError,
        "gather_nd: data is a test_errors.Series, which is not an array; pass data.to_numpy()",
    ),
    "None": (
        lambda: gs.gather_nd(D, None),
        TypeError,
        "gather_nd: indices is a NoneType, which is not an array; pass numpy.asarray(indices)",
    ),
    "a ragged list": (
        lambda: gs.gather_nd(D, [[1, 2], [3]]),
        ValueError,
        "gather_nd: indices cannot be made an array: setting an array element with a sequence. The requested "
        "array has an inhomogeneous shape after 1 dimensions. The detected shape was (2,) + inhomogeneous part.",
    ),
    "out of another shape": (
        lambda: gs.gather_nd(D, I, out=np.zeros(4)),
        ValueError,
        "gather_nd: out has shape (4,), but the result has shape (3,)",
    ),
    "out of another dtype": (
        lambda: gs.gather_nd(D, I, out=np.zeros(3, "f4")),
        TypeError,
        "gather_nd: out has dtype float32, but the result has data's dtype float64",
    ),
    "out of another byte order": (
        lambda: gs.gather_nd(D, I, out=np.zeros(3, ">f8")),
        TypeError,
        "gather_nd: out has dtype >f8, but the result has data's dtype float64",
    ),
    "out read-only": (
        lambda: gs.gather_nd(D, I, out=np.broadcast_to(np.zeros(1), (3,))),
        ValueError,
        "gather_nd: out is read-only",
    ),
    "out masked": (
        lambda: gs.gather_nd(D, I, out=np.ma.zeros(3)),
        TypeError,
        "gather_nd: out is a numpy.MaskedArray; pass a numpy.ndarray",
    ),
    "out a list": (
        lambda: gs.gather_nd(D, I, out=[0, 0, 0]),
        TypeError,
        "gather_nd: out is a list; pass a numpy.ndarray",
    ),
    "no threads": (
        lambda: gs.set_num_threads(0),
        ValueError,
        "set_num_threads: n=0 is less than 1; pass 1 or more, or None",
    ),
    "threads no integer": (
        lambda: gs.set_num_threads(1.5),
        TypeError,
        "set_num_threads: n=1.5 is not an integer; pass 1 or more, or None",
    ),
    "config mode": (
        lambda: gs.show_config("html"),
        ValueError,
        "show_config: mode='html' is not one of 'stdout', 'dicts'",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_message(name):
    call, kind, message = WRONG[name]
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    assert str(caught.value) == message
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("name", WRONG)
def test_message_again(name):
    """A plan that was refused is not cached as one that holds."""
    test_message(name)
