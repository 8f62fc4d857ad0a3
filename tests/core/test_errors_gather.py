"""Error messages of gathers: one sentence with the argument, its value and the fix."""

import gatherscatter as gs
import numpy as np
from assertions import assert_refused, each_refused


class Quantity(np.ndarray):
    """Stands for classes such as astropy's: numbers with a meaning that __array_function__ keeps."""

    def __array_function__(self, func, types, args, kwargs):
        return NotImplemented


class Convertible:
    """Stands for libraries' classes that are no arrays, but can be made one by a method, which is not called."""

    def __init__(self, method):
        setattr(self, method, None)


D = np.zeros((4, 5))
CUBE = np.zeros((3, 4, 5))
POINT = np.array(1.0)
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
        "gather_nd: indices has dtype float64, but indices are integers of 8 to 64 bits; pass indices.astype('int64')",
    ),
    "bool indices": (
        lambda: gs.gather_nd(D, I.astype(bool)),
        TypeError,
        "gather_nd: indices has dtype bool, which makes it a mask; pass the tuples of its true elements, "
        "argwhere(indices)",
    ),
    "huge list indices": (
        lambda: gs.gather_nd(D, [[2**70, 0]]),
        TypeError,
        "gather_nd: indices holds object, but indices are integers; pass integers of 8 to 64 bits",
    ),
    "scalar indices": (
        lambda: gs.gather_nd(D, 3),
        ValueError,
        "gather_nd: indices has shape (), so it has no last axis for the tuples; pass reshape(indices, (1,))",
    ),
    "tuples too long": (
        lambda: gs.gather_nd(D, np.zeros((2, 3), int)),
        ValueError,
        "gather_nd: indices of shape (2, 3) holds tuples of 3 indices, but data of shape (4, 5) has 2 axes; "
        "tuples are along the last axis: pass moveaxis(indices, 0, -1)",
    ),
    "tuples too long in a batch": (
        lambda: gs.gather_nd(D, np.zeros((4, 2), int), batch_dims=1),
        ValueError,
        "gather_nd: indices of shape (4, 2) holds tuples of 2 indices, but data of shape (4, 5) has 1 axis "
        "beyond batch_dims=1; for tuples of 1 index pass indices[..., None]",
    ),
    "batch_dims too large": (
        lambda: gs.gather_nd(D, I, batch_dims=2),
        ValueError,
        "gather_nd: batch_dims=2 is not in [0, 1], since indices of shape (3, 2) has 1 axis before its "
        "tuples; pass 0 to 1",
    ),
    "batch_dims negative": (
        lambda: gs.gather_nd(D, I, batch_dims=-1),
        ValueError,
        "gather_nd: batch_dims=-1 is not in [0, 1], since it is a number of leading axes; pass 0 to 1",
    ),
    "batch_dims no integer": (
        lambda: gs.gather_nd(D, I, batch_dims=1.0),
        TypeError,
        "gather_nd: batch_dims=1.0 is not an integer; pass batch_dims=1",
    ),
    "batch sizes differ": (
        lambda: gs.gather_nd(D, np.zeros((3, 1), int), batch_dims=1),
        ValueError,
        "gather_nd: with batch_dims=1 data and indices share their leading sizes, but data has (4,) and "
        "indices (3,); pass arrays with equal leading sizes, or another batch_dims",
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
        "gather_nd: mode='drop' is for scatters only; use mode='fill'",
    ),
    "mode no string": (
        lambda: gs.gather_nd(D, I, mode=["raise"]),
        TypeError,
        "gather_nd: mode=['raise'] is not a string; did you mean 'raise'?",
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
        "gather_nd: data is a test_errors_gather.Quantity, whose additional information would be lost; "
        "pass numpy.asarray(data)",
    ),
    "no array": (
        lambda: gs.gather_nd(Convertible("to_numpy"), I),
        TypeError,
        "gather_nd: data is a test_errors_gather.Convertible, which is not an array; pass data.to_numpy()",
    ),
    "None": (
        lambda: gs.gather_nd(D, None),
        TypeError,
        "gather_nd: indices is None; pass an array",
    ),
    "a ragged list": (
        lambda: gs.gather_nd(D, [[1, 2], [3]]),
        ValueError,
        "gather_nd: indices is a ragged list; pass lists of equal lengths, padded where need be",
    ),
    "out of another shape": (
        lambda: gs.gather_nd(D, I, out=np.zeros(4)),
        ValueError,
        "gather_nd: out has shape (4,), but the result has shape (3,); pass out of that shape",
    ),
    "out of another dtype": (
        lambda: gs.gather_nd(D, I, out=np.zeros(3, "f4")),
        TypeError,
        "gather_nd: out has dtype float32, but the result has data's dtype float64; pass out of that dtype",
    ),
    "out of another byte order": (
        lambda: gs.gather_nd(D, I, out=np.zeros(3, ">f8")),
        TypeError,
        "gather_nd: out has dtype >f8, but the result has data's dtype float64; pass out of that dtype",
    ),
    "out read-only": (
        lambda: gs.gather_nd(D, I, out=np.broadcast_to(np.zeros(1), (3,))),
        ValueError,
        "gather_nd: out is read-only; pass an array that can be written to",
    ),
    "out masked": (
        lambda: gs.gather_nd(D, I, out=np.ma.zeros(3)),
        TypeError,
        "gather_nd: out is a numpy.ma.MaskedArray; pass a numpy.ndarray",
    ),
    "out a list": (
        lambda: gs.gather_nd(D, I, out=[0, 0, 0]),
        TypeError,
        "gather_nd: out is a list; pass a numpy.ndarray",
    ),
    "gather: out of bounds": (
        lambda: gs.gather(D, [0, 3, 4]),
        IndexError,
        "gather: indices[2] = 4 is out of bounds for data of shape (4, 5): axis 0 has size 4",
    ),
    "gather: out of bounds, the only index": (
        lambda: gs.gather(D, -5),
        IndexError,
        "gather: indices = -5 is out of bounds for data of shape (4, 5): axis 0 has size 4",
    ),
    "gather: out of bounds along axis 1": (
        lambda: gs.gather(D, [[0, 1], [4, -6]], axis=1),
        IndexError,
        "gather: indices[1, 1] = -6 is out of bounds for data of shape (4, 5): axis 1 has size 5",
    ),
    "gather: out of bounds in a batch": (
        lambda: gs.gather(CUBE, np.array([[0, 1], [0, 5], [0, 0]]), axis=2, batch_dims=1),
        IndexError,
        "gather: indices[1, 1] = 5 is out of bounds for data of shape (3, 4, 5): axis 2 has size 5",
    ),
    "gather: out of bounds, object": (
        lambda: gs.gather(D.astype(object), [[0, 1], [4, -6]], axis=1),
        IndexError,
        "gather: indices[1, 1] = -6 is out of bounds for data of shape (4, 5): axis 1 has size 5",
    ),
    "gather: out of bounds in front of nothing": (
        lambda: gs.gather(np.zeros((0, 3)), [5], axis=1),
        IndexError,
        "gather: indices[0] = 5 is out of bounds for data of shape (0, 3): axis 1 has size 3",
    ),
    "gather: nothing to clip to": (
        lambda: gs.gather(np.zeros((3, 0)), [0], axis=1, mode="clip"),
        IndexError,
        "gather: indices[0] = 0 is out of bounds for data of shape (3, 0): axis 1 has size 0",
    ),
    "nothing to clip to behind an index that is clipped": (
        lambda: gs.gather_nd(np.zeros((3, 0)), [[9, 1]], mode="clip"),
        IndexError,
        "gather_nd: indices[0] = (9, 1) is out of bounds for data of shape (3, 0): axis 1 has size 0",
    ),
    "gather: axis out of range": (
        lambda: gs.gather(D, [0], axis=2),
        ValueError,
        "gather: axis=2 is not in [-2, 1] for data of shape (4, 5); pass 0 for its first axis, -1 for its last",
    ),
    "gather: axis no integer": (
        lambda: gs.gather(D, [0], axis=(0, 1)),
        TypeError,
        "gather: axis=(0, 1) is not an integer; pass one axis, or call gather_nd for several",
    ),
    "gather: no axis": (
        lambda: gs.gather(POINT, 0),
        ValueError,
        "gather: data has shape (), so it has no axis to index; pass reshape(data, (1,))",
    ),
    "gather: batch_dims beyond the axis": (
        lambda: gs.gather(D, np.zeros((4, 1), int), batch_dims=1),
        ValueError,
        "gather: batch_dims=1 is not in [0, 0], since batch axes come before axis=0; pass 0, or a later axis",
    ),
    "gather: batch_dims beyond indices": (
        lambda: gs.gather(CUBE, np.zeros(3, int), axis=2, batch_dims=2),
        ValueError,
        "gather: batch_dims=2 is not in [0, 1], since indices of shape (3,) has 1 axis; pass 0 to 1",
    ),
    "gather: batch_dims no integer": (
        lambda: gs.gather(D, [0], batch_dims=None),
        TypeError,
        "gather: batch_dims=None is not an integer; pass an int",
    ),
    "gather: batch sizes differ": (
        lambda: gs.gather(D, np.zeros((3, 1), int), axis=1, batch_dims=1),
        ValueError,
        "gather: with batch_dims=1 data and indices share their leading sizes, but data has (4,) and indices "
        "(3,); pass arrays with equal leading sizes, or another batch_dims",
    ),
    "gather: mode of scatters": (
        lambda: gs.gather(D, [0], mode="drop"),
        ValueError,
        "gather: mode='drop' is for scatters only; use mode='fill'",
    ),
    "gather: mode no string": (
        lambda: gs.gather(D, [0], mode=3),
        TypeError,
        "gather: mode=3 is not a string; pass one of 'raise', 'clip', 'wrap', 'fill', 'promise_in_bounds'",
    ),
    "gather: float indices": (
        lambda: gs.gather(D, [0.5]),
        TypeError,
        "gather: indices holds float64, but indices are integers; pass integers of 8 to 64 bits",
    ),
    "gather: fill_value of another kind": (
        lambda: gs.gather(D.astype("i4"), [9], mode="fill", fill_value=0.5),
        TypeError,
        "gather: fill_value=0.5 cannot be held by data's dtype int32 unchanged; pass a value of that dtype",
    ),
    "gather: fill_value no scalar": (
        lambda: gs.gather(D, [9], mode="fill", fill_value=[1, 2]),
        ValueError,
        "gather: fill_value has shape (2,); pass a scalar",
    ),
    "gather: out of another shape": (
        lambda: gs.gather(D, [0], out=np.zeros(3)),
        ValueError,
        "gather: out has shape (3,), but the result has shape (1, 5); pass out of that shape",
    ),
    "gather_elements: out of bounds": (
        lambda: gs.gather_elements(D, [[0, 1], [2, 4]]),
        IndexError,
        "gather_elements: indices[1, 1] = 4 is out of bounds for data of shape (4, 5): axis 0 has size 4",
    ),
    "gather_elements: out of bounds along axis 1": (
        lambda: gs.gather_elements(CUBE, np.where(np.arange(60).reshape(3, 4, 5) == 33, -9, 0), axis=1),
        IndexError,
        "gather_elements: indices[1, 2, 3] = -9 is out of bounds for data of shape (3, 4, 5): axis 1 has size 4",
    ),
    "gather_elements: axis out of range": (
        lambda: gs.gather_elements(D, [[0]], axis=-3),
        ValueError,
        "gather_elements: axis=-3 is not in [-2, 1] for data of shape (4, 5); pass 0 for its first axis, -1 "
        "for its last",
    ),
    "gather_elements: axis no integer": (
        lambda: gs.gather_elements(D, [[0]], axis="x"),
        TypeError,
        "gather_elements: axis='x' is not an integer; pass an int",
    ),
    "gather_elements: no axis": (
        lambda: gs.gather_elements(POINT, 0),
        ValueError,
        "gather_elements: data has shape (), so it has no axis to index; pass reshape(data, (1,))",
    ),
    "gather_elements: another rank": (
        lambda: gs.gather_elements(D, [0, 1]),
        ValueError,
        "gather_elements: indices of shape (2,) has 1 axis, but data of shape (4, 5) has 2; pass the same number, or "
        "call gather, which accepts any number",
    ),
    "gather_elements: longer off the axis": (
        lambda: gs.gather_elements(D, np.zeros((4, 6), int)),
        ValueError,
        "gather_elements: indices of shape (4, 6) is longer than data of shape (4, 5) along axis 1, but "
        "only axis=0 may be longer; pass shorter indices, or axis=1",
    ),
    "gather_elements: mode of scatters": (
        lambda: gs.gather_elements(D, [[0]], mode="drop"),
        ValueError,
        "gather_elements: mode='drop' is for scatters only; use mode='fill'",
    ),
    "gather_elements: bool indices": (
        lambda: gs.gather_elements(D, D == 0),
        TypeError,
        "gather_elements: indices has dtype bool, which makes it a mask; pass integers, or use where(indices,"
        " ..., ...)",
    ),
}


@each_refused(WRONG)
def test_message(call, kind, message):
    assert_refused(call, kind, message)


def test_an_empty_axis_is_the_reason_not_the_sign():
    for mode in ("clip", "wrap"):
        assert_refused(
            lambda: gs.gather(np.zeros(0), [-1], mode=mode, wrap_negative_indices=False),  # noqa: B023
            IndexError,
            "gather: indices[0] = -1 is out of bounds for data of shape (0,): axis 0 has size 0",
        )
