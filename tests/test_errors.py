"""What a person reads who passed something wrong: one sentence, with the argument, the value and the fix."""

import array_api_strict
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
CUBE = np.zeros((3, 4, 5))
POINT = np.array(1.0)
I = np.zeros((3, 2), int)  # noqa: E741
STRICT = array_api_strict.zeros((4, 5))
NUMBERS = "int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64"

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
        "gather_nd: indices is None; pass an array",
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
    "gather: axis out of range": (
        lambda: gs.gather(D, [0], axis=2),
        ValueError,
        "gather: axis=2 is not in [-2, 1] for data of shape (4, 5)",
    ),
    "gather: axis no integer": (
        lambda: gs.gather(D, [0], axis=(0, 1)),
        TypeError,
        "gather: axis=(0, 1) is not an integer",
    ),
    "gather: no axis": (
        lambda: gs.gather(POINT, 0),
        ValueError,
        "gather: data has shape (); it needs an axis to index: pass data[None]",
    ),
    "gather: batch_dims beyond the axis": (
        lambda: gs.gather(D, np.zeros((4, 1), int), batch_dims=1),
        ValueError,
        "gather: batch_dims=1 is not in [0, 0] for data of shape (4, 5) and indices of shape (4, 1)",
    ),
    "gather: batch_dims beyond indices": (
        lambda: gs.gather(CUBE, np.zeros(3, int), axis=2, batch_dims=2),
        ValueError,
        "gather: batch_dims=2 is not in [0, 1] for data of shape (3, 4, 5) and indices of shape (3,)",
    ),
    "gather: batch_dims no integer": (
        lambda: gs.gather(D, [0], batch_dims=None),
        TypeError,
        "gather: batch_dims=None is not an integer",
    ),
    "gather: batch sizes differ": (
        lambda: gs.gather(D, np.zeros((3, 1), int), axis=1, batch_dims=1),
        ValueError,
        "gather: the first batch_dims=1 axes differ: (4,) of data, (3,) of indices",
    ),
    "gather: mode of scatters": (
        lambda: gs.gather(D, [0], mode="drop"),
        ValueError,
        "gather: mode='drop' is not for this operator; use mode='fill'",
    ),
    "gather: mode no string": (
        lambda: gs.gather(D, [0], mode=3),
        TypeError,
        "gather: mode=3 is not a string",
    ),
    "gather: float indices": (
        lambda: gs.gather(D, [0.5]),
        TypeError,
        "gather: indices has dtype float64; indices are integers, signed or unsigned, 8 to 64 bits: "
        "convert them with astype",
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
        "gather: out has shape (3,), but the result has shape (1, 5)",
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
        "gather_elements: axis=-3 is not in [-2, 1] for data of shape (4, 5)",
    ),
    "gather_elements: axis no integer": (
        lambda: gs.gather_elements(D, [[0]], axis="x"),
        TypeError,
        "gather_elements: axis='x' is not an integer",
    ),
    "gather_elements: no axis": (
        lambda: gs.gather_elements(POINT, 0),
        ValueError,
        "gather_elements: data has shape (); it needs an axis to index: pass data[None]",
    ),
    "gather_elements: another rank": (
        lambda: gs.gather_elements(D, [0, 1]),
        ValueError,
        "gather_elements: indices of shape (2,) has 1 axes, but data of shape (4, 5) has 2: they need as many",
    ),
    "gather_elements: longer off the axis": (
        lambda: gs.gather_elements(D, np.zeros((4, 6), int)),
        ValueError,
        "gather_elements: indices of shape (4, 6) is longer than data of shape (4, 5) along axis 1; "
        "only along axis=0 it may be",
    ),
    "gather_elements: mode of scatters": (
        lambda: gs.gather_elements(D, [[0]], mode="drop"),
        ValueError,
        "gather_elements: mode='drop' is not for this operator; use mode='fill'",
    ),
    "gather_elements: bool indices": (
        lambda: gs.gather_elements(D, D == 0),
        TypeError,
        "gather_elements: indices has dtype bool; indices are integers, signed or unsigned, 8 to 64 bits: "
        "convert them with astype",
    ),
    "scatter: out of bounds": (
        lambda: gs.scatter(D, [0, 4], np.zeros((2, 5))),
        IndexError,
        "scatter: indices[1] = 4 is out of bounds for data of shape (4, 5): axis 0 has size 4",
    ),
    "scatter: out of bounds, with out": (
        lambda: gs.scatter(D, [0, 4], 1.0, out=D.copy()),
        IndexError,
        "scatter: indices[1] = 4 is out of bounds for data of shape (4, 5): axis 0 has size 4",
    ),
    "scatter: out of bounds along axis 1": (
        lambda: gs.scatter(D, [[0, 1], [4, -6]], np.zeros((4, 2, 2)), axis=1),
        IndexError,
        "scatter: indices[1, 1] = -6 is out of bounds for data of shape (4, 5): axis 1 has size 5",
    ),
    "scatter: out of bounds in a batch": (
        lambda: gs.scatter(CUBE, np.array([[0, 1], [0, 5], [0, 0]]), 1.0, axis=2, batch_dims=1, reduction="mean"),
        IndexError,
        "scatter: indices[1, 1] = 5 is out of bounds for data of shape (3, 4, 5): axis 2 has size 5",
    ),
    "scatter: out of bounds, object": (
        lambda: gs.scatter(D.astype(object), [0, 4], 1),
        IndexError,
        "scatter: indices[1] = 4 is out of bounds for data of shape (4, 5): axis 0 has size 4",
    ),
    "scatter: nothing to wrap into": (
        lambda: gs.scatter(np.zeros((0, 3)), [0], 1.0, mode="wrap"),
        IndexError,
        "scatter: indices[0] = 0 is out of bounds for data of shape (0, 3): axis 0 has size 0",
    ),
    "scatter: axis out of range": (
        lambda: gs.scatter(D, [0], 1.0, axis=2),
        ValueError,
        "scatter: axis=2 is not in [-2, 1] for data of shape (4, 5)",
    ),
    "scatter: axis no integer": (
        lambda: gs.scatter(D, [0], 1.0, axis=0.0),
        TypeError,
        "scatter: axis=0.0 is not an integer",
    ),
    "scatter: no axis": (
        lambda: gs.scatter(POINT, [0], 1.0),
        ValueError,
        "scatter: data has shape (); it needs an axis to index: pass data[None]",
    ),
    "scatter: batch_dims beyond indices": (
        lambda: gs.scatter(CUBE, [0], 1.0, axis=2, batch_dims=2),
        ValueError,
        "scatter: batch_dims=2 is not in [0, 1] for data of shape (3, 4, 5) and indices of shape (1,)",
    ),
    "scatter: mode of gathers": (
        lambda: gs.scatter(D, [0], 1.0, mode="fill"),
        ValueError,
        "scatter: mode='fill' is not for this operator; use mode='drop'",
    ),
    "scatter: mode with a typo": (
        lambda: gs.scatter(D, [0], 1.0, mode="rase"),
        ValueError,
        "scatter: mode='rase' is not one of 'raise', 'clip', 'wrap', 'drop', 'promise_in_bounds'; "
        "did you mean 'raise'?",
    ),
    "scatter: reduction with a typo": (
        lambda: gs.scatter(D, [0], 1.0, reduction="mena"),
        ValueError,
        "scatter: reduction='mena' is not one of 'none', 'add', 'mul', 'max', 'min', 'mean'; did you mean 'mean'?",
    ),
    "scatter: reduction unlike any": (
        lambda: gs.scatter(D, [0], 1.0, reduction="xyz"),
        ValueError,
        "scatter: reduction='xyz' is not one of 'none', 'add', 'mul', 'max', 'min', 'mean'",
    ),
    "scatter: reduction no string": (
        lambda: gs.scatter(D, [0], 1.0, reduction=np.add),
        TypeError,
        "scatter: reduction=<ufunc 'add'> is not a string",
    ),
    "scatter: strings have no sum": (
        lambda: gs.scatter(np.array(["a", "b"]), [0], "c", reduction="add"),
        TypeError,
        f"scatter: reduction='add' is not for dtype <U1; it takes bool, {NUMBERS}, complex64, complex128",
    ),
    "scatter: longdouble has no sum": (
        lambda: gs.scatter(np.zeros(3, np.longdouble), [0], 1.0, reduction="add"),
        TypeError,
        f"scatter: reduction='add' is not for dtype {np.dtype(np.longdouble)}; "
        f"it takes bool, {NUMBERS}, complex64, complex128",
    ),
    "scatter: objects have no product": (
        lambda: gs.scatter(D.astype(object), [0], 1.0, reduction="mul"),
        TypeError,
        f"scatter: reduction='mul' is not for dtype object; it takes bool, {NUMBERS}, complex64, complex128",
    ),
    "scatter: complex numbers have no order": (
        lambda: gs.scatter(np.zeros(3, complex), [0], 1.0, reduction="max"),
        TypeError,
        f"scatter: reduction='max' is not for dtype complex128; it takes bool, {NUMBERS}",
    ),
    "scatter: bools have no mean": (
        lambda: gs.scatter(np.zeros(3, bool), [0], True, reduction="mean"),
        TypeError,
        f"scatter: reduction='mean' is not for dtype bool; it takes {NUMBERS}, complex64, complex128",
    ),
    "scatter: updates of another shape": (
        lambda: gs.scatter(D, [0], np.zeros(5)),
        ValueError,
        "scatter: updates has shape (5,); pass shape (1, 5), or a Python scalar",
    ),
    "scatter: updates a list of another shape": (
        lambda: gs.scatter(D, [0], [1, 2]),
        ValueError,
        "scatter: updates has shape (2,); pass shape (1, 5), or a Python scalar",
    ),
    "scatter: updates an array without axes": (
        lambda: gs.scatter(D, [0], POINT),
        ValueError,
        "scatter: updates has shape (); pass shape (1, 5), or a Python scalar",
    ),
    "scatter: updates of another dtype": (
        lambda: gs.scatter(D, [0], np.zeros((1, 5), "f4")),
        TypeError,
        "scatter: updates has dtype float32, but data has float64: convert it with astype",
    ),
    "scatter: updates of another byte order": (
        lambda: gs.scatter(D, [0], np.zeros((1, 5), ">f8")),
        TypeError,
        "scatter: updates has dtype >f8, but data has float64: convert it with astype",
    ),
    "scatter: updates a list of another kind": (
        lambda: gs.scatter(np.zeros(3, "i4"), [0], [1.5]),
        TypeError,
        "scatter: updates has dtype float64, but data has int32: convert it with astype",
    ),
    "scatter: updates a ragged list": (
        lambda: gs.scatter(D, [0], [[1], [2, 3]]),
        ValueError,
        "scatter: updates cannot be made an array: setting an array element with a sequence. The requested "
        "array has an inhomogeneous shape after 1 dimensions. The detected shape was (2,) + inhomogeneous part.",
    ),
    "scatter: a scalar out of range": (
        lambda: gs.scatter(np.zeros(3, "i1"), [0], 300),
        TypeError,
        "scatter: updates=300 cannot be held by data's dtype int8 unchanged; pass a value of that dtype",
    ),
    "scatter: a scalar of another kind": (
        lambda: gs.scatter(np.zeros(3, "i4"), [0], 1.5),
        TypeError,
        "scatter: updates=1.5 cannot be held by data's dtype int32 unchanged; pass a value of that dtype",
    ),
    "scatter: updates None": (
        lambda: gs.scatter(D, [0], None),
        TypeError,
        "scatter: updates is None; pass an array",
    ),
    "scatter: updates masked": (
        lambda: gs.scatter(D, [0], np.ma.zeros((1, 5))),
        TypeError,
        "scatter: updates is a masked array, whose mask would be lost; pass updates.filled(...), "
        "or updates.data and its mask in two calls",
    ),
    "scatter: updates of another library": (
        lambda: gs.scatter(D, [0], STRICT[:1, :]),
        TypeError,
        "scatter: data is a numpy.ndarray but updates is a array_api_strict.Array: convert them to one library",
    ),
    "scatter: float indices": (
        lambda: gs.scatter(D, [0.5], 1.0),
        TypeError,
        "scatter: indices has dtype float64; indices are integers, signed or unsigned, 8 to 64 bits: "
        "convert them with astype",
    ),
    "scatter: out of another shape": (
        lambda: gs.scatter(D, [0], 1.0, out=np.zeros(3)),
        ValueError,
        "scatter: out has shape (3,), but the result has shape (4, 5)",
    ),
    "scatter: out read-only": (
        lambda: gs.scatter(D, [0], 1.0, out=np.broadcast_to(0.0, (4, 5))),
        ValueError,
        "scatter: out is read-only",
    ),
    "scatter: array API": (
        lambda: gs.scatter(STRICT * 1j, [0], 1.0, reduction="mean"),
        NotImplementedError,
        "scatter: the array API backend cannot do reduction='mean' of array_api_strict.complex128: "
        "the standard makes no complex number of two parts; scatter those by themselves",
    ),
    "scatter_nd: out of bounds": (
        lambda: gs.scatter_nd(D, [[[0, 0], [0, 1]], [[0, 0], [2, 9]]], 1.0),
        IndexError,
        "scatter_nd: indices[1, 1] = (2, 9) is out of bounds for data of shape (4, 5): axis 1 has size 5",
    ),
    "scatter_nd: out of bounds in a batch": (
        lambda: gs.scatter_nd(D, np.array([[0], [1], [5], [2]]), 1.0, batch_dims=1),
        IndexError,
        "scatter_nd: indices[2] = (5,) is out of bounds for data of shape (4, 5): axis 1 has size 5",
    ),
    "scatter_nd: scalar indices": (
        lambda: gs.scatter_nd(D, 3, 1.0),
        ValueError,
        "scatter_nd: indices has shape (); it needs a last axis that holds the tuples: pass indices[None]",
    ),
    "scatter_nd: tuples too long": (
        lambda: gs.scatter_nd(D, np.zeros((2, 3), int), 1.0),
        ValueError,
        "scatter_nd: indices of shape (2, 3) holds tuples of 3 indices, but data of shape (4, 5) has 2 axes",
    ),
    "scatter_nd: batch_dims too large": (
        lambda: gs.scatter_nd(D, I, 1.0, batch_dims=2),
        ValueError,
        "scatter_nd: batch_dims=2 is not in [0, 1] for data of shape (4, 5) and indices of shape (3, 2)",
    ),
    "scatter_nd: mode of gathers": (
        lambda: gs.scatter_nd(D, I, 1.0, mode="fill"),
        ValueError,
        "scatter_nd: mode='fill' is not for this operator; use mode='drop'",
    ),
    "scatter_nd: reduction with a typo": (
        lambda: gs.scatter_nd(D, I, 1.0, reduction="mull"),
        ValueError,
        "scatter_nd: reduction='mull' is not one of 'none', 'add', 'mul', 'max', 'min', 'mean'; did you mean 'mul'?",
    ),
    "scatter_nd: complex numbers have no order": (
        lambda: gs.scatter_nd(np.zeros(3, "F"), [[0]], 1.0, reduction="min"),
        TypeError,
        f"scatter_nd: reduction='min' is not for dtype complex64; it takes bool, {NUMBERS}",
    ),
    "scatter_nd: updates of another shape": (
        lambda: gs.scatter_nd(D, [[0, 0]], [1.0, 2.0]),
        ValueError,
        "scatter_nd: updates has shape (2,); pass shape (1,), or a Python scalar",
    ),
    "scatter_nd: updates of another dtype": (
        lambda: gs.scatter_nd(D, [[0, 0]], np.zeros(1, "i4")),
        TypeError,
        "scatter_nd: updates has dtype int32, but data has float64: convert it with astype",
    ),
    "scatter_nd: a scalar out of range": (
        lambda: gs.scatter_nd(D.astype("f4"), [[0, 0]], 1e300),
        TypeError,
        "scatter_nd: updates=1e+300 cannot be held by data's dtype float32 unchanged; pass a value of that dtype",
    ),
    "scatter_nd: array API": (
        lambda: gs.scatter_nd(STRICT * 1j, [[0]], 1.0, reduction="mean"),
        NotImplementedError,
        "scatter_nd: the array API backend cannot do reduction='mean' of array_api_strict.complex128: "
        "the standard makes no complex number of two parts; scatter those by themselves",
    ),
    "scatter_elements: out of bounds": (
        lambda: gs.scatter_elements(D, [[0, 1], [2, 4]], 1.0),
        IndexError,
        "scatter_elements: indices[1, 1] = 4 is out of bounds for data of shape (4, 5): axis 0 has size 4",
    ),
    "scatter_elements: out of bounds along axis 1": (
        lambda: gs.scatter_elements(D, [[0, 1], [2, -6]], 1.0, axis=1),
        IndexError,
        "scatter_elements: indices[1, 1] = -6 is out of bounds for data of shape (4, 5): axis 1 has size 5",
    ),
    "scatter_elements: axis out of range": (
        lambda: gs.scatter_elements(D, [[0]], 1.0, axis=2),
        ValueError,
        "scatter_elements: axis=2 is not in [-2, 1] for data of shape (4, 5)",
    ),
    "scatter_elements: axis no integer": (
        lambda: gs.scatter_elements(D, [[0]], 1.0, axis=[0]),
        TypeError,
        "scatter_elements: axis=[0] is not an integer",
    ),
    "scatter_elements: no axis": (
        lambda: gs.scatter_elements(POINT, 0, 1.0),
        ValueError,
        "scatter_elements: data has shape (); it needs an axis to index: pass data[None]",
    ),
    "scatter_elements: another rank": (
        lambda: gs.scatter_elements(D, [0, 1], 1.0),
        ValueError,
        "scatter_elements: indices of shape (2,) has 1 axes, but data of shape (4, 5) has 2: they need as many",
    ),
    "scatter_elements: longer off the axis": (
        lambda: gs.scatter_elements(D, np.zeros((5, 5), int), 1.0, axis=1),
        ValueError,
        "scatter_elements: indices of shape (5, 5) is longer than data of shape (4, 5) along axis 0; "
        "only along axis=1 it may be",
    ),
    "scatter_elements: mode of gathers": (
        lambda: gs.scatter_elements(D, [[0]], 1.0, mode="fill"),
        ValueError,
        "scatter_elements: mode='fill' is not for this operator; use mode='drop'",
    ),
    "scatter_elements: reduction no string": (
        lambda: gs.scatter_elements(D, [[0]], 1.0, reduction=None),
        TypeError,
        "scatter_elements: reduction=None is not a string",
    ),
    "scatter_elements: updates of another shape": (
        lambda: gs.scatter_elements(D, [[0]], [1.0]),
        ValueError,
        "scatter_elements: updates has shape (1,); pass shape (1, 1), or a Python scalar",
    ),
    "scatter_elements: updates of another dtype": (
        lambda: gs.scatter_elements(D, [[0]], np.zeros((1, 1), "f2")),
        TypeError,
        "scatter_elements: updates has dtype float16, but data has float64: convert it with astype",
    ),
    "scatter_elements: bools have no mean": (
        lambda: gs.scatter_elements(np.zeros(3, bool), [0], True, reduction="mean"),
        TypeError,
        f"scatter_elements: reduction='mean' is not for dtype bool; it takes {NUMBERS}, complex64, complex128",
    ),
    "scatter_elements: array API": (
        lambda: gs.scatter_elements(STRICT * 1j, [[0]], 1.0, reduction="mean"),
        NotImplementedError,
        "scatter_elements: the array API backend cannot do reduction='mean' of array_api_strict.complex128: "
        "the standard makes no complex number of two parts; scatter those by themselves",
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
