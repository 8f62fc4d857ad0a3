"""What a person reads who passed something wrong: one sentence, with the argument, the value and the fix."""

import re

import array_api_strict
import dask.array
import gatherscatter as gs
import jax
import ml_dtypes
import numpy as np
import pandas
import pytest
import torch


class Quantity(np.ndarray):
    """Stands for classes such as astropy's: numbers with a meaning that __array_function__ keeps."""

    def __array_function__(self, func, types, args, kwargs):
        return NotImplemented


class Convertible:
    """Stands for libraries' classes that are no arrays, but can be made one by a method, which is not called."""

    def __init__(self, method):
        setattr(self, method, None)


def of_module(name, module):
    return type(name, (), {"__module__": module})()


D = np.zeros((4, 5))
CUBE = np.zeros((3, 4, 5))
POINT = np.array(1.0)
I = np.zeros((3, 2), int)  # noqa: E741
STRICT = array_api_strict.zeros((4, 5))
TORCH = torch.zeros(4, 5)
JAX = jax.numpy.zeros((4, 5), "float32")
DASK = dask.array.zeros((4, 5), chunks=2)
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
        "gather_nd: indices has shape () and so no last axis that holds the tuples; pass reshape(indices, (1,))",
    ),
    "tuples too long": (
        lambda: gs.gather_nd(D, np.zeros((2, 3), int)),
        ValueError,
        "gather_nd: indices of shape (2, 3) holds tuples of 3 indices, but data of shape (4, 5) has 2 axes; "
        "tuples stand along the last axis: pass moveaxis(indices, 0, -1)",
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
        "gather_nd: batch_dims=2 is not in [0, 1], since indices of shape (3, 2) has 1 axis in front of its "
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
        "indices (3,); pass arrays that have them in common, or another batch_dims",
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
        "gather_nd: data is a test_errors.Quantity, whose meaning beyond its numbers would be lost; "
        "pass numpy.asarray(data)",
    ),
    "no array": (
        lambda: gs.gather_nd(Convertible("to_numpy"), I),
        TypeError,
        "gather_nd: data is a test_errors.Convertible, which is not an array; pass data.to_numpy()",
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
        "gather: data has shape () and so no axis to index; pass reshape(data, (1,))",
    ),
    "gather: batch_dims beyond the axis": (
        lambda: gs.gather(D, np.zeros((4, 1), int), batch_dims=1),
        ValueError,
        "gather: batch_dims=1 is not in [0, 0], since batch axes stand in front of axis=0; pass 0, or a later axis",
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
        "(3,); pass arrays that have them in common, or another batch_dims",
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
        "gather_elements: data has shape () and so no axis to index; pass reshape(data, (1,))",
    ),
    "gather_elements: another rank": (
        lambda: gs.gather_elements(D, [0, 1]),
        ValueError,
        "gather_elements: indices of shape (2,) has 1 axis, but data of shape (4, 5) has 2; pass as many, or "
        "call gather, which takes any",
    ),
    "gather_elements: longer off the axis": (
        lambda: gs.gather_elements(D, np.zeros((4, 6), int)),
        ValueError,
        "gather_elements: indices of shape (4, 6) is longer than data of shape (4, 5) along axis 1, which "
        "only axis=0 may be; pass shorter indices, or axis=1",
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
        "scatter: axis=2 is not in [-2, 1] for data of shape (4, 5); pass 0 for its first axis, -1 for its last",
    ),
    "scatter: axis no integer": (
        lambda: gs.scatter(D, [0], 1.0, axis=0.0),
        TypeError,
        "scatter: axis=0.0 is not an integer; pass axis=0",
    ),
    "scatter: no axis": (
        lambda: gs.scatter(POINT, [0], 1.0),
        ValueError,
        "scatter: data has shape () and so no axis to index; pass reshape(data, (1,))",
    ),
    "scatter: batch_dims beyond indices": (
        lambda: gs.scatter(CUBE, [0], 1.0, axis=2, batch_dims=2),
        ValueError,
        "scatter: batch_dims=2 is not in [0, 1], since indices of shape (1,) has 1 axis; pass 0 to 1",
    ),
    "scatter: mode of gathers": (
        lambda: gs.scatter(D, [0], 1.0, mode="fill"),
        ValueError,
        "scatter: mode='fill' is for gathers only; use mode='drop'",
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
        "scatter: reduction=<ufunc 'add'> is not a string; did you mean 'add'?",
    ),
    "scatter: strings have no sum": (
        lambda: gs.scatter(np.array(["a", "b"]), [0], "c", reduction="add"),
        TypeError,
        "scatter: reduction='add' is not for dtype <U1; convert data and updates to one that it takes: bool, "
        f"{NUMBERS}, complex64, complex128",
    ),
    "scatter: longdouble has no sum": (
        lambda: gs.scatter(np.zeros(3, np.longdouble), [0], 1.0, reduction="add"),
        TypeError,
        f"scatter: reduction='add' is not for dtype {np.dtype(np.longdouble)}; "
        f"convert data and updates to one that it takes: bool, {NUMBERS}, complex64, complex128",
    ),
    "scatter: objects have no product": (
        lambda: gs.scatter(D.astype(object), [0], 1.0, reduction="mul"),
        TypeError,
        "scatter: reduction='mul' is not for dtype object; convert data and updates to one that it takes: "
        f"bool, {NUMBERS}, complex64, complex128",
    ),
    "scatter: complex numbers have no order": (
        lambda: gs.scatter(np.zeros(3, complex), [0], 1.0, reduction="max"),
        TypeError,
        "scatter: reduction='max' is not for dtype complex128; convert data and updates to one that it takes:"
        f" bool, {NUMBERS}",
    ),
    "scatter: bools have no mean": (
        lambda: gs.scatter(np.zeros(3, bool), [0], True, reduction="mean"),
        TypeError,
        "scatter: reduction='mean' is not for dtype bool; convert data and updates to one that it takes: "
        f"{NUMBERS}, complex64, complex128",
    ),
    "scatter: updates of another shape": (
        lambda: gs.scatter(D, [0], np.zeros(5)),
        ValueError,
        "scatter: updates has shape (5,) and is not broadcast; pass broadcast_to(updates, (1, 5))",
    ),
    "scatter: updates a list of another shape": (
        lambda: gs.scatter(D, [0], [1, 2]),
        ValueError,
        "scatter: updates has shape (2,); pass shape (1, 5), or a Python scalar",
    ),
    "scatter: updates an array without axes": (
        lambda: gs.scatter(D, [0], POINT),
        ValueError,
        "scatter: updates has shape () and is not broadcast; pass broadcast_to(updates, (1, 5))",
    ),
    "scatter: updates of another dtype": (
        lambda: gs.scatter(D, [0], np.zeros((1, 5), "f4")),
        TypeError,
        "scatter: updates has dtype float32, but data has float64; pass updates.astype(data.dtype)",
    ),
    "scatter: updates of another byte order": (
        lambda: gs.scatter(D, [0], np.zeros((1, 5), ">f8")),
        TypeError,
        "scatter: updates has dtype >f8, but data has float64; pass updates.astype(data.dtype)",
    ),
    "scatter: updates a list of another kind": (
        lambda: gs.scatter(np.zeros(3, "i4"), [0], [1.5]),
        TypeError,
        "scatter: updates is a list of float64 values, not all of which data's dtype int32 holds unchanged; "
        "pass values of that dtype, or data of theirs",
    ),
    "scatter: updates a list of numbers for a structure": (
        lambda: gs.scatter(np.zeros(3, "i4,f8"), [0], [3]),
        TypeError,
        "scatter: updates is a list of int64 values, not all of which data's dtype [('f0', '<i4'), ('f1', '<f8')] "
        "holds unchanged; pass values of that dtype, or data of theirs",
    ),
    "scatter: updates a list of fractions for a structure": (
        lambda: gs.scatter(np.zeros(3, "i4,f8"), [0], [1.5]),
        TypeError,
        "scatter: updates is a list of float64 values, not all of which data's dtype [('f0', '<i4'), ('f1', '<f8')] "
        "holds unchanged; pass values of that dtype, or data of theirs",
    ),
    "scatter: updates a list of numbers for raw bytes": (
        lambda: gs.scatter(np.zeros(3, "V4"), [0], [3]),
        TypeError,
        "scatter: updates is a list of int64 values, not all of which data's dtype |V4 holds unchanged; "
        "pass values of that dtype, or data of theirs",
    ),
    "scatter: updates a list of numbers for dates": (
        lambda: gs.scatter(np.zeros(3, "M8[D]"), [0], [1]),
        TypeError,
        "scatter: updates is a list of int64 values, not all of which data's dtype datetime64[D] holds unchanged; "
        "pass values of that dtype, or data of theirs",
    ),
    "scatter: updates a list of numbers for strings": (
        lambda: gs.scatter(np.zeros(3, np.dtypes.StringDType()), [0], [3]),
        TypeError,
        "scatter: updates is a list of int64 values, not all of which data's dtype StringDType() holds unchanged; "
        "pass values of that dtype, or data of theirs",
    ),
    "scatter: updates a list past float16": (
        lambda: gs.scatter(np.zeros(3, "f2"), [0], [10**9]),
        TypeError,
        "scatter: updates is a list of int64 values, not all of which data's dtype float16 holds unchanged; "
        "pass values of that dtype, or data of theirs",
    ),
    "scatter: updates a list past int4": (
        lambda: gs.scatter(np.zeros(3, ml_dtypes.int4), [0], [300]),
        TypeError,
        "scatter: updates is a list of int64 values, not all of which data's dtype int4 holds unchanged; "
        "pass values of that dtype, or data of theirs",
    ),
    "scatter: updates a list of fractions for int4": (
        lambda: gs.scatter(np.zeros(3, ml_dtypes.int4), [0], [3.5]),
        TypeError,
        "scatter: updates is a list of float64 values, not all of which data's dtype int4 holds unchanged; "
        "pass values of that dtype, or data of theirs",
    ),
    "scatter: updates a list past float8": (
        lambda: gs.scatter(np.zeros(3, ml_dtypes.float8_e4m3fn), [0], [10**9]),
        TypeError,
        "scatter: updates is a list of int64 values, not all of which data's dtype float8_e4m3fn holds unchanged; "
        "pass values of that dtype, or data of theirs",
    ),
    "scatter: updates past float8": (
        lambda: gs.scatter(np.zeros(3, ml_dtypes.float8_e4m3fn), [0], 1e9),
        TypeError,
        "scatter: updates=1000000000.0 cannot be held by data's dtype float8_e4m3fn unchanged; "
        "pass a value of that dtype",
    ),
    "scatter: updates a ragged list": (
        lambda: gs.scatter(D, [0], [[1], [2, 3]]),
        ValueError,
        "scatter: updates is a ragged list; pass lists of equal lengths, padded where need be",
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
        "scatter: data is a numpy.ndarray but updates is an array_api_strict.Array; pass numpy.asarray(updates)",
    ),
    "scatter: float indices": (
        lambda: gs.scatter(D, [0.5], 1.0),
        TypeError,
        "scatter: indices holds float64, but indices are integers; pass integers of 8 to 64 bits",
    ),
    "scatter: out of another shape": (
        lambda: gs.scatter(D, [0], 1.0, out=np.zeros(3)),
        ValueError,
        "scatter: out has shape (3,), but the result has shape (4, 5); pass out of that shape",
    ),
    "scatter: out read-only": (
        lambda: gs.scatter(D, [0], 1.0, out=np.broadcast_to(0.0, (4, 5))),
        ValueError,
        "scatter: out is read-only; pass an array that can be written to",
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
        "scatter_nd: indices has shape () and so no last axis that holds the tuples; pass reshape(indices, (1,))",
    ),
    "scatter_nd: tuples too long": (
        lambda: gs.scatter_nd(D, np.zeros((2, 3), int), 1.0),
        ValueError,
        "scatter_nd: indices of shape (2, 3) holds tuples of 3 indices, but data of shape (4, 5) has 2 axes; "
        "tuples stand along the last axis: pass moveaxis(indices, 0, -1)",
    ),
    "scatter_nd: batch_dims too large": (
        lambda: gs.scatter_nd(D, I, 1.0, batch_dims=2),
        ValueError,
        "scatter_nd: batch_dims=2 is not in [0, 1], since indices of shape (3, 2) has 1 axis in front of its "
        "tuples; pass 0 to 1",
    ),
    "scatter_nd: mode of gathers": (
        lambda: gs.scatter_nd(D, I, 1.0, mode="fill"),
        ValueError,
        "scatter_nd: mode='fill' is for gathers only; use mode='drop'",
    ),
    "scatter_nd: reduction with a typo": (
        lambda: gs.scatter_nd(D, I, 1.0, reduction="mull"),
        ValueError,
        "scatter_nd: reduction='mull' is not one of 'none', 'add', 'mul', 'max', 'min', 'mean'; did you mean 'mul'?",
    ),
    "scatter_nd: complex numbers have no order": (
        lambda: gs.scatter_nd(np.zeros(3, "F"), [[0]], 1.0, reduction="min"),
        TypeError,
        "scatter_nd: reduction='min' is not for dtype complex64; convert data and updates to one that it "
        f"takes: bool, {NUMBERS}",
    ),
    "scatter_nd: updates of another shape": (
        lambda: gs.scatter_nd(D, [[0, 0]], [1.0, 2.0]),
        ValueError,
        "scatter_nd: updates has shape (2,); pass shape (1,), or a Python scalar",
    ),
    "scatter_nd: updates of another dtype": (
        lambda: gs.scatter_nd(D, [[0, 0]], np.zeros(1, "i4")),
        TypeError,
        "scatter_nd: updates has dtype int32, but data has float64; pass updates.astype(data.dtype)",
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
        "scatter_elements: axis=2 is not in [-2, 1] for data of shape (4, 5); pass 0 for its first axis, -1 "
        "for its last",
    ),
    "scatter_elements: axis no integer": (
        lambda: gs.scatter_elements(D, [[0]], 1.0, axis=[0]),
        TypeError,
        "scatter_elements: axis=[0] is not an integer; pass one axis, or call scatter_nd for several",
    ),
    "scatter_elements: no axis": (
        lambda: gs.scatter_elements(POINT, 0, 1.0),
        ValueError,
        "scatter_elements: data has shape () and so no axis to index; pass reshape(data, (1,))",
    ),
    "scatter_elements: another rank": (
        lambda: gs.scatter_elements(D, [0, 1], 1.0),
        ValueError,
        "scatter_elements: indices of shape (2,) has 1 axis, but data of shape (4, 5) has 2; pass as many, or"
        " call scatter, which takes any",
    ),
    "scatter_elements: longer off the axis": (
        lambda: gs.scatter_elements(D, np.zeros((5, 5), int), 1.0, axis=1),
        ValueError,
        "scatter_elements: indices of shape (5, 5) is longer than data of shape (4, 5) along axis 0, which "
        "only axis=1 may be; pass shorter indices, or axis=0",
    ),
    "scatter_elements: mode of gathers": (
        lambda: gs.scatter_elements(D, [[0]], 1.0, mode="fill"),
        ValueError,
        "scatter_elements: mode='fill' is for gathers only; use mode='drop'",
    ),
    "scatter_elements: reduction no string": (
        lambda: gs.scatter_elements(D, [[0]], 1.0, reduction=None),
        TypeError,
        "scatter_elements: reduction=None is not a string; did you mean 'none'?",
    ),
    "scatter_elements: updates of another shape": (
        lambda: gs.scatter_elements(D, [[0]], [1.0]),
        ValueError,
        "scatter_elements: updates has shape (1,) and is not broadcast; pass broadcast_to(updates, (1, 1))",
    ),
    "scatter_elements: updates of another dtype": (
        lambda: gs.scatter_elements(D, [[0]], np.zeros((1, 1), "f2")),
        TypeError,
        "scatter_elements: updates has dtype float16, but data has float64; pass updates.astype(data.dtype)",
    ),
    "scatter_elements: bools have no mean": (
        lambda: gs.scatter_elements(np.zeros(3, bool), [0], True, reduction="mean"),
        TypeError,
        "scatter_elements: reduction='mean' is not for dtype bool; convert data and updates to one that it "
        f"takes: {NUMBERS}, complex64, complex128",
    ),
    "scatter_elements: array API": (
        lambda: gs.scatter_elements(STRICT * 1j, [[0]], 1.0, reduction="mean"),
        NotImplementedError,
        "scatter_elements: the array API backend cannot do reduction='mean' of array_api_strict.complex128: "
        "the standard makes no complex number of two parts; scatter those by themselves",
    ),
    "indices of elements, not of tuples": (
        lambda: gs.gather_nd(D, np.array([0, 1, 2])),
        ValueError,
        "gather_nd: indices of shape (3,) holds tuples of 3 indices, but data of shape (4, 5) has 2 axes; for"
        " tuples of 1 index pass indices[:, None]",
    ),
    "scatter_nd: indices of elements, not of tuples": (
        lambda: gs.scatter_nd(np.zeros(3), [0, 2, 0], 1.0, reduction="add"),
        ValueError,
        "scatter_nd: indices of shape (3,) holds tuples of 3 indices, but data of shape (3,) has 1 axis; for "
        "tuples of 1 index pass indices[:, None]",
    ),
    "a grid of indices of elements": (
        lambda: gs.gather_nd(np.zeros(9), np.zeros((3, 3), int)),
        ValueError,
        "gather_nd: indices of shape (3, 3) holds tuples of 3 indices, but data of shape (9,) has 1 axis; for"
        " tuples of 1 index pass indices[..., None]",
    ),
    "what numpy.nonzero returns": (
        lambda: gs.gather_nd(D, np.nonzero(D == 0)),
        ValueError,
        "gather_nd: indices of shape (2, 20) holds tuples of 20 indices, but data of shape (4, 5) has 2 axes;"
        " tuples stand along the last axis: pass moveaxis(indices, 0, -1)",
    ),
    "no axis for a tuple": (
        lambda: gs.gather_nd(POINT, [0]),
        ValueError,
        "gather_nd: indices of shape (1,) holds tuples of 1 index, but data of shape () has 0 axes; pass "
        "reshape(data, (1,))",
    ),
    "no axis left for a tuple": (
        lambda: gs.gather_nd(D, np.zeros((4, 5, 1), int), batch_dims=2),
        ValueError,
        "gather_nd: indices of shape (4, 5, 1) holds tuples of 1 index, but data of shape (4, 5) has 0 axes "
        "beyond batch_dims=2; pass a smaller batch_dims",
    ),
    "a mask": (
        lambda: gs.gather_nd(D, D == 0),
        TypeError,
        "gather_nd: indices has dtype bool, which makes it a mask; pass the tuples of its true elements, "
        "argwhere(indices)",
    ),
    "scatter: a mask": (
        lambda: gs.scatter(D, D[:, 0] == 0, 1.0),
        TypeError,
        "scatter: indices has dtype bool, which makes it a mask; pass the numbers of its true elements, "
        "flatnonzero(indices)",
    ),
    "scatter_elements: a mask": (
        lambda: gs.scatter_elements(D, D == 0, 1.0),
        TypeError,
        "scatter_elements: indices has dtype bool, which makes it a mask; pass integers, or use "
        "where(indices, ..., ...)",
    ),
    "a mask as a list": (
        lambda: gs.gather(D, [True, False, True, True]),
        TypeError,
        "gather: indices has dtype bool, which makes it a mask; pass the numbers of its true elements, "
        "flatnonzero(indices)",
    ),
    "PyTorch: a mask": (
        lambda: gs.gather(TORCH, TORCH[:, 0] == 0),
        TypeError,
        "gather: indices has dtype torch.bool, which makes it a mask; pass the numbers of its true elements, "
        "flatnonzero(indices)",
    ),
    "a set": (
        lambda: gs.gather(D, {0, 1}),
        TypeError,
        "gather: indices is a set, which is not an array; pass list(indices)",
    ),
    "a generator": (
        lambda: gs.gather(D, (i for i in range(2))),
        TypeError,
        "gather: indices is a generator, which is not an array; pass list(indices)",
    ),
    "a range": (
        lambda: gs.gather(D, range(2)),
        TypeError,
        "gather: indices is a range, which is not an array; pass list(indices)",
    ),
    "a map": (
        lambda: gs.gather(D, map(int, "01")),
        TypeError,
        "gather: indices is a map, which is not an array; pass list(indices)",
    ),
    "a dict": (
        lambda: gs.gather({"a": 1.0}, [0]),
        TypeError,
        "gather: data is a dict, which is not an array; pass list(data.values())",
    ),
    "a string": (
        lambda: gs.gather(D, "0"),
        TypeError,
        "gather: indices holds <U1, but indices are integers; pass integers of 8 to 64 bits",
    ),
    "strings": (
        lambda: gs.gather(D, ["a", "b"]),
        TypeError,
        "gather: indices holds <U1, but indices are integers; pass integers of 8 to 64 bits",
    ),
    "a list with None": (
        lambda: gs.gather(D, [None, 1]),
        TypeError,
        "gather: indices holds object, but indices are integers; pass integers of 8 to 64 bits",
    ),
    "a slice": (
        lambda: gs.gather(D, slice(0, 2)),
        TypeError,
        "gather: indices is a slice, which is not an array; pass an array of integers",
    ),
    "Ellipsis": (
        lambda: gs.gather(D, ...),
        TypeError,
        "gather: indices is an ellipsis, which is not an array; pass an array of integers",
    ),
    "a class": (
        lambda: gs.gather(np.ndarray, [0]),
        TypeError,
        "gather: data is a type, which is not an array; pass an array, not its class",
    ),
    "bytes": (
        lambda: gs.gather(bytearray(b"abc"), [0]),
        TypeError,
        "gather: data is a bytearray, which is not an array; pass numpy.asarray(data)",
    ),
    "a whole float": (
        lambda: gs.gather(D, 1.0),
        TypeError,
        "gather: indices holds float64, but indices are integers; pass integers of 8 to 64 bits",
    ),
    "an empty array, of floats": (
        lambda: gs.gather(D, np.array([])),
        TypeError,
        "gather: indices has dtype float64, but indices are integers of 8 to 64 bits; pass indices.astype('int64')",
    ),
    "complex indices": (
        lambda: gs.gather(D, np.array([0j])),
        TypeError,
        "gather: indices has dtype complex128, but indices are integers of 8 to 64 bits; pass indices.astype('int64')",
    ),
    "dates as indices": (
        lambda: gs.gather(D, np.array(["2020-01-01"], "M8[D]")),
        TypeError,
        "gather: indices has dtype datetime64[D], but indices are integers of 8 to 64 bits; pass "
        "indices.astype('int64')",
    ),
    "objects as indices": (
        lambda: gs.gather(D, np.array([0, 1], object)),
        TypeError,
        "gather: indices has dtype object, but indices are integers of 8 to 64 bits; pass indices.astype('int64')",
    ),
    "PyTorch: float indices": (
        lambda: gs.gather(TORCH, torch.tensor([0.0])),
        TypeError,
        "gather: indices has dtype torch.float32, but indices are integers of 8 to 64 bits; pass "
        "indices.to(torch.int64)",
    ),
    "JAX: float indices": (
        lambda: gs.gather(JAX, jax.numpy.asarray([0.0], "float32")),
        TypeError,
        "gather: indices has dtype float32, but indices are integers of 8 to 64 bits; pass indices.astype('int64')",
    ),
    "Dask: float indices": (
        lambda: gs.gather(DASK, np.array([0.0])),
        TypeError,
        "gather: indices has dtype float64, but indices are integers of 8 to 64 bits; pass indices.astype('int64')",
    ),
    "array API: float indices": (
        lambda: gs.gather(STRICT, array_api_strict.asarray([0.0])),
        TypeError,
        "gather: indices has dtype array_api_strict.float64, but indices are integers of 8 to 64 bits; pass "
        "astype(indices, int64)",
    ),
    "PyTorch: a list of floats": (
        lambda: gs.gather(TORCH, [0.0, 1.0]),
        TypeError,
        "gather: indices holds torch.float32, but indices are integers; pass integers of 8 to 64 bits",
    ),
    "PyTorch: a ragged list": (
        lambda: gs.gather(TORCH, [[0], [1, 2]]),
        ValueError,
        "gather: indices is a ragged list; pass lists of equal lengths, padded where need be",
    ),
    "JAX: a ragged list": (
        lambda: gs.gather(JAX, [[0], [1, 2]]),
        ValueError,
        "gather: indices is a ragged list; pass lists of equal lengths, padded where need be",
    ),
    "array API: a ragged list": (
        lambda: gs.gather(STRICT, [[0], [1, 2]]),
        ValueError,
        "gather: indices is a ragged list; pass lists of equal lengths, padded where need be",
    ),
    "Dask: a ragged list": (
        lambda: gs.gather(DASK, [[0], [1, 2]]),
        ValueError,
        "gather: indices is a ragged list; pass lists of equal lengths, padded where need be",
    ),
    "a ragged list of data": (
        lambda: gs.gather([[1.0], [1.0, 2.0]], [0]),
        ValueError,
        "gather: data is a ragged list; pass lists of equal lengths, padded where need be",
    ),
    "swapped": (
        lambda: gs.gather_nd(I, D),
        TypeError,
        "gather_nd: indices has dtype float64, but indices are integers of 8 to 64 bits; pass "
        "indices.astype('int64'), or swap data and indices if they are the wrong way round",
    ),
    "gather: swapped": (
        lambda: gs.gather(np.array([0, 1]), D),
        TypeError,
        "gather: indices has dtype float64, but indices are integers of 8 to 64 bits; pass "
        "indices.astype('int64'), or swap data and indices if they are the wrong way round",
    ),
    "gather_elements: swapped": (
        lambda: gs.gather_elements(np.zeros((4, 5), int), D),
        TypeError,
        "gather_elements: indices has dtype float64, but indices are integers of 8 to 64 bits; pass "
        "indices.astype('int64'), or swap data and indices if they are the wrong way round",
    ),
    "beyond int64, unsigned": (
        lambda: gs.gather(D, np.array([2**63 + 1], "u8")),
        IndexError,
        "gather: indices[0] = 9223372036854775809 is out of bounds for data of shape (4, 5): axis 0 has size 4",
    ),
    "PyTorch: beyond int64, unsigned": (
        lambda: gs.gather(TORCH, torch.tensor([2**63 + 1], dtype=torch.uint64)),
        IndexError,
        "gather: indices[0] = 9223372036854775809 is out of bounds for data of shape (4, 5): axis 0 has size 4",
    ),
    "PyTorch: out of bounds": (
        lambda: gs.gather(TORCH, torch.tensor([7])),
        IndexError,
        "gather: indices[0] = 7 is out of bounds for data of shape (4, 5): axis 0 has size 4",
    ),
    "JAX: out of bounds": (
        lambda: gs.gather(JAX, [7]),
        IndexError,
        "gather: indices[0] = 7 is out of bounds for data of shape (4, 5): axis 0 has size 4",
    ),
    "Dask: out of bounds": (
        lambda: gs.gather(DASK, [7]),
        IndexError,
        "gather: indices[0] = 7 is out of bounds for data of shape (4, 5): axis 0 has size 4",
    ),
    "array API: out of bounds": (
        lambda: gs.gather(STRICT, [7]),
        IndexError,
        "gather: indices[0] = 7 is out of bounds for data of shape (4, 5): axis 0 has size 4",
    ),
    "axis None": (
        lambda: gs.gather(D, [0], axis=None),
        TypeError,
        "gather: axis=None is not an integer; for all elements in one row pass reshape(data, (-1,)) and axis=0",
    ),
    "axis a whole float": (
        lambda: gs.gather(D, [0], axis=1.0),
        TypeError,
        "gather: axis=1.0 is not an integer; pass axis=1",
    ),
    "axis a name": (
        lambda: gs.gather(D, [0], axis="columns"),
        TypeError,
        "gather: axis='columns' is not an integer; pass an int",
    ),
    "axis an array": (
        lambda: gs.gather(D, [0], axis=np.zeros(1000)),
        TypeError,
        "gather: axis=array([0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.... is not an integer; pass an int",
    ),
    "batch_dims beyond data": (
        lambda: gs.gather_nd(np.zeros(3), np.zeros((3, 4, 1), int), batch_dims=2),
        ValueError,
        "gather_nd: batch_dims=2 is not in [0, 1], since data of shape (3,) has 1 axis; pass 0 to 1",
    ),
    "batch_dims with single tuples": (
        lambda: gs.gather_nd(D, np.zeros(4, int), batch_dims=1),
        ValueError,
        "gather_nd: batch_dims=1 is not in [0, 0], since indices of shape (4,) has 0 axes in front of its "
        "tuples; pass 0",
    ),
    "batches are not broadcast": (
        lambda: gs.gather_nd(D, np.zeros((1, 1), int), batch_dims=1),
        ValueError,
        "gather_nd: with batch_dims=1 data and indices share their leading sizes, but data has (4,) and "
        "indices (1,); they are not broadcast: pass broadcast_to(indices, (4, 1))",
    ),
    "updates are not broadcast": (
        lambda: gs.scatter(D, [0, 1], np.zeros(5)),
        ValueError,
        "scatter: updates has shape (5,) and is not broadcast; pass broadcast_to(updates, (2, 5))",
    ),
    "updates are not broadcast from a column": (
        lambda: gs.scatter(D, [0, 1], np.zeros((2, 1))),
        ValueError,
        "scatter: updates has shape (2, 1) and is not broadcast; pass broadcast_to(updates, (2, 5))",
    ),
    "PyTorch: updates are not broadcast": (
        lambda: gs.scatter(TORCH, [0, 1], torch.zeros(5)),
        ValueError,
        "scatter: updates has shape (5,) and is not broadcast; pass broadcast_to(updates, (2, 5))",
    ),
    "updates transposed": (
        lambda: gs.scatter(D, [0, 1], np.zeros((5, 2))),
        ValueError,
        "scatter: updates has shape (5, 2); pass shape (2, 5), which updates.T has",
    ),
    "updates as large as data": (
        lambda: gs.scatter(D, [0], D),
        ValueError,
        "scatter: updates has shape (4, 5); pass shape (1, 5), or a Python scalar",
    ),
    "updates of fractions into integers": (
        lambda: gs.scatter(np.zeros(3, "i4"), [0], np.zeros(1)),
        TypeError,
        "scatter: updates has dtype float64, but data has int32; pass data.astype(updates.dtype)",
    ),
    "PyTorch: updates of another dtype": (
        lambda: gs.scatter(TORCH, [0], torch.zeros((1, 5), dtype=torch.float64)),
        TypeError,
        "scatter: updates has dtype torch.float64, but data has torch.float32; pass updates.to(data.dtype)",
    ),
    "PyTorch: updates of fractions into integers": (
        lambda: gs.scatter(TORCH.int(), [0], torch.zeros((1, 5))),
        TypeError,
        "scatter: updates has dtype torch.float32, but data has torch.int32; pass data.to(updates.dtype)",
    ),
    "array API: updates of another dtype": (
        lambda: gs.scatter(STRICT, [0], array_api_strict.zeros((1, 5), dtype=array_api_strict.float32)),
        TypeError,
        "scatter: updates has dtype array_api_strict.float32, but data has array_api_strict.float64; pass "
        "astype(updates, data.dtype)",
    ),
    "updates a string": (
        lambda: gs.scatter(D, [0], "a"),
        TypeError,
        "scatter: updates='a' cannot be held by data's dtype float64 unchanged; pass a value of that dtype",
    ),
    "updates NaN into integers": (
        lambda: gs.scatter(np.zeros(3, "i4"), [0], float("nan")),
        TypeError,
        "scatter: updates=nan cannot be held by data's dtype int32 unchanged; pass a value of that dtype",
    ),
    "updates a double": (
        lambda: gs.scatter(np.zeros(3, "f4"), [0], np.float64(0.1)),
        TypeError,
        "scatter: updates=np.float64(0.1) cannot be held by data's dtype float32 unchanged; pass float(updates), "
        "without a dtype of its own",
    ),
    "updates a wide integer that does not fit": (
        lambda: gs.scatter(np.zeros(3, "u1"), [0], np.int64(300)),
        TypeError,
        "scatter: updates=np.int64(300) cannot be held by data's dtype uint8 unchanged; pass a value of that dtype",
    ),
    "no tuples, gather": (
        lambda: gs.gather_nd(np.zeros((3, 4)), []),
        ValueError,
        "gather_nd: indices is an empty list, which does not say how long its tuples are; "
        "pass an array of integers of shape (0, 2)",
    ),
    "no tuples, scatter": (
        lambda: gs.scatter_nd(np.zeros((3, 4)), [], 1.0),
        ValueError,
        "scatter_nd: indices is an empty list, which does not say how long its tuples are; "
        "pass an array of integers of shape (0, 2)",
    ),
    'PyTorch\'s "sum"': (
        lambda: gs.scatter(D, [0], 1.0, reduction="sum"),
        ValueError,
        "scatter: reduction='sum' is not one of 'none', 'add', 'mul', 'max', 'min', 'mean'; did you mean 'add'?",
    ),
    'PyTorch\'s "prod"': (
        lambda: gs.scatter(D, [0], 1.0, reduction="prod"),
        ValueError,
        "scatter: reduction='prod' is not one of 'none', 'add', 'mul', 'max', 'min', 'mean'; did you mean 'mul'?",
    ),
    'PyTorch\'s "amax"': (
        lambda: gs.scatter(D, [0], 1.0, reduction="amax"),
        ValueError,
        "scatter: reduction='amax' is not one of 'none', 'add', 'mul', 'max', 'min', 'mean'; did you mean 'max'?",
    ),
    '"assign"': (
        lambda: gs.scatter(D, [0], 1.0, reduction="assign"),
        ValueError,
        "scatter: reduction='assign' is not one of 'none', 'add', 'mul', 'max', 'min', 'mean'; did you mean 'none'?",
    ),
    '"replace"': (
        lambda: gs.scatter(D, [0], 1.0, reduction="replace"),
        ValueError,
        "scatter: reduction='replace' is not one of 'none', 'add', 'mul', 'max', 'min', 'mean'; did you mean 'none'?",
    ),
    '"+"': (
        lambda: gs.scatter(D, [0], 1.0, reduction="+"),
        ValueError,
        "scatter: reduction='+' is not one of 'none', 'add', 'mul', 'max', 'min', 'mean'; did you mean 'add'?",
    ),
    '"ADD"': (
        lambda: gs.scatter(D, [0], 1.0, reduction="ADD"),
        ValueError,
        "scatter: reduction='ADD' is not one of 'none', 'add', 'mul', 'max', 'min', 'mean'; did you mean 'add'?",
    ),
    "Python's max": (
        lambda: gs.scatter(D, [0], 1.0, reduction=max),
        TypeError,
        "scatter: reduction=<built-in function max> is not a string; did you mean 'max'?",
    ),
    '"error"': (
        lambda: gs.gather(D, [0], mode="error"),
        ValueError,
        "gather: mode='error' is not one of 'raise', 'clip', 'wrap', 'fill', 'promise_in_bounds'; did you "
        "mean 'raise'?",
    ),
    "TensorFlow's IGNORE, gather": (
        lambda: gs.gather(D, [0], mode="IGNORE"),
        ValueError,
        "gather: mode='IGNORE' is not one of 'raise', 'clip', 'wrap', 'fill', 'promise_in_bounds'; did you "
        "mean 'fill'?",
    ),
    "TensorFlow's IGNORE, scatter": (
        lambda: gs.scatter(D, [0], 1.0, mode="IGNORE"),
        ValueError,
        "scatter: mode='IGNORE' is not one of 'raise', 'clip', 'wrap', 'drop', 'promise_in_bounds'; did you "
        "mean 'drop'?",
    ),
    'SciPy\'s "constant"': (
        lambda: gs.gather(D, [0], mode="constant"),
        ValueError,
        "gather: mode='constant' is not one of 'raise', 'clip', 'wrap', 'fill', 'promise_in_bounds'; did you "
        "mean 'fill'?",
    ),
    '"zero"': (
        lambda: gs.gather(D, [0], mode="zero"),
        ValueError,
        "gather: mode='zero' is not one of 'raise', 'clip', 'wrap', 'fill', 'promise_in_bounds'; did you mean 'fill'?",
    ),
    '"fil"': (
        lambda: gs.gather(D, [0], mode="fil"),
        ValueError,
        "gather: mode='fil' is not one of 'raise', 'clip', 'wrap', 'fill', 'promise_in_bounds'; did you mean 'fill'?",
    ),
    '"clamp"': (
        lambda: gs.gather(D, [0], mode="clamp"),
        ValueError,
        "gather: mode='clamp' is not one of 'raise', 'clip', 'wrap', 'fill', 'promise_in_bounds'; did you mean 'clip'?",
    ),
    "mode None": (
        lambda: gs.gather(D, [0], mode=None),
        TypeError,
        "gather: mode=None is not a string; pass one of 'raise', 'clip', 'wrap', 'fill', 'promise_in_bounds'",
    ),
    "include_self 0": (
        lambda: gs.scatter(D, [0], 1.0, include_self=0),
        TypeError,
        "scatter: include_self=0 is not a bool; pass True or False",
    ),
    "fill_value NaN for integers": (
        lambda: gs.gather(D.astype("i4"), [9], mode="fill", fill_value=float("nan")),
        TypeError,
        "gather: fill_value=nan cannot be held by data's dtype int32 unchanged; pass a value of that dtype",
    ),
    "fill_value None": (
        lambda: gs.gather(D, [9], mode="fill", fill_value=None),
        TypeError,
        "gather: fill_value=None cannot be held by data's dtype float64 unchanged; pass a value of that dtype",
    ),
    "fill_value negative": (
        lambda: gs.gather(D.astype("u1"), [9], mode="fill", fill_value=-1),
        TypeError,
        "gather: fill_value=-1 cannot be held by data's dtype uint8 unchanged; pass a value of that dtype",
    ),
    "out a tensor": (
        lambda: gs.gather(D, [0], out=TORCH),
        TypeError,
        "gather: out is a torch.Tensor; pass a numpy.ndarray",
    ),
    "PyTorch: out NumPy's": (
        lambda: gs.gather(TORCH, [0], out=D),
        TypeError,
        "gather: out is a numpy.ndarray; pass a torch.Tensor",
    ),
    "PyTorch: out of another shape": (
        lambda: gs.gather(TORCH, [0], out=torch.zeros(5)),
        ValueError,
        "gather: out has shape (5,), but the result has shape (1, 5); pass out of that shape",
    ),
    "JAX: out": (
        lambda: gs.gather(JAX, [0], out=JAX[:1]),
        NotImplementedError,
        "gather: the JAX backend cannot do out=: a jax.Array cannot be written to; use what is returned",
    ),
    "Dask: out": (
        lambda: gs.gather(DASK, [0], out=D),
        NotImplementedError,
        "gather: the Dask backend cannot do out=: a Dask array is computed later; use what is returned",
    ),
    "data a number": (
        lambda: gs.gather(3.0, [0]),
        ValueError,
        "gather: data has shape () and so no axis to index; pass reshape(data, (1,))",
    ),
    "data a string": (
        lambda: gs.gather("text", [0]),
        ValueError,
        "gather: data has shape () and so no axis to index; pass reshape(data, (1,))",
    ),
    "data None": (lambda: gs.gather(None, [0]), TypeError, "gather: data is None; pass an array"),
    "dates have no sum": (
        lambda: gs.scatter(np.zeros(3, "M8[s]"), [0], np.datetime64(1, "s"), reduction="add"),
        TypeError,
        "scatter: reduction='add' is not for dtype datetime64[s]; convert data and updates to one that it "
        f"takes: bool, {NUMBERS}, complex64, complex128",
    ),
    "PyTorch: complex numbers have no order": (
        lambda: gs.scatter(torch.zeros(3, dtype=torch.complex64), [0], 1j, reduction="max"),
        TypeError,
        "scatter: reduction='max' is not for dtype torch.complex64; convert data and updates to one that it "
        f"takes: bool, {NUMBERS}",
    ),
    "a DataFrame": (
        lambda: gs.gather(pandas.DataFrame(D), [0]),
        TypeError,
        "gather: data is a pandas.DataFrame, which is not an array; pass data.to_numpy()",
    ),
    "a Series of data": (
        lambda: gs.gather(pandas.Series([1.0, 2.0]), [0]),
        TypeError,
        "gather: data is a pandas.Series, which is not an array; pass data.to_numpy()",
    ),
    "a Series of indices": (
        lambda: gs.gather(D, pandas.Series([0, 1])),
        TypeError,
        "gather: indices is a pandas.Series, which is not an array; pass indices.to_numpy()",
    ),
    "an Index": (
        lambda: gs.gather(D, pandas.Index([0, 1])),
        TypeError,
        "gather: indices is a pandas.Index, which is not an array; pass indices.to_numpy()",
    ),
    "a column of pandas' own dtype": (
        lambda: gs.gather(D, pandas.array([0, None], dtype="Int64")),
        TypeError,
        "gather: indices is a pandas.IntegerArray, which is not an array; pass indices.to_numpy()",
    ),
    "a Series of updates": (
        lambda: gs.scatter(D[0], [0, 1], pandas.Series([1.0, 2.0])),
        TypeError,
        "scatter: updates is a pandas.Series, which is not an array; pass updates.to_numpy()",
    ),
    "a Series as out": (
        lambda: gs.gather(D[0], [0, 1], out=pandas.Series([1.0, 2.0])),
        TypeError,
        "gather: out is a pandas.Series; pass a numpy.ndarray",
    ),
    "a sparse matrix": (
        lambda: gs.gather(Convertible("toarray"), [0]),
        TypeError,
        "gather: data is a test_errors.Convertible, which is not an array; pass data.toarray()",
    ),
    "Dask's DataFrame": (
        lambda: gs.gather(Convertible("to_dask_array"), [0]),
        TypeError,
        "gather: data is a test_errors.Convertible, which is not an array; pass data.to_dask_array(lengths=True)",
    ),
    "a tf.Tensor": (
        lambda: gs.gather_nd(of_module("EagerTensor", "tensorflow.python.framework.ops"), I),
        TypeError,
        "gather_nd: data is a tensorflow.Tensor, which is not an array; call gatherscatter.tensorflow, or "
        "pass data.numpy()",
    ),
    "xarray's": (
        lambda: gs.gather(of_module("DataArray", "xarray.core.dataarray"), [0]),
        TypeError,
        "gather: data is an xarray.DataArray, which is not an array; pass an array",
    ),
    "NumPy and PyTorch": (
        lambda: gs.gather(D, torch.tensor([0])),
        TypeError,
        "gather: data is a numpy.ndarray but indices is a torch.Tensor; pass numpy.asarray(indices)",
    ),
    "PyTorch and NumPy": (
        lambda: gs.gather(TORCH, np.array([0])),
        TypeError,
        "gather: data is a torch.Tensor but indices is a numpy.ndarray; pass torch.asarray(indices)",
    ),
    "NumPy and JAX": (
        lambda: gs.gather(D, jax.numpy.asarray([0])),
        TypeError,
        "gather: data is a numpy.ndarray but indices is a jax.Array; pass numpy.asarray(indices)",
    ),
    "JAX and NumPy": (
        lambda: gs.gather(JAX, np.array([0])),
        TypeError,
        "gather: data is a jax.Array but indices is a numpy.ndarray; pass jax.numpy.asarray(indices)",
    ),
    "JAX and PyTorch": (
        lambda: gs.gather(JAX, torch.tensor([0])),
        TypeError,
        "gather: data is a jax.Array but indices is a torch.Tensor; pass jax.numpy.asarray(indices)",
    ),
    "PyTorch and JAX": (
        lambda: gs.gather(TORCH, jax.numpy.asarray([0])),
        TypeError,
        "gather: data is a torch.Tensor but indices is a jax.Array; pass torch.asarray(indices)",
    ),
    "array API and NumPy": (
        lambda: gs.gather(STRICT, np.array([0])),
        TypeError,
        "gather: data is an array_api_strict.Array but indices is a numpy.ndarray; pass "
        "array_api_strict.asarray(indices)",
    ),
    "Dask and PyTorch": (
        lambda: gs.gather(DASK, torch.tensor([0])),
        TypeError,
        "gather: data is a dask.array.Array but indices is a torch.Tensor; pass numpy.asarray(indices)",
    ),
    "PyTorch and Dask": (
        lambda: gs.gather(TORCH, dask.array.zeros(3, int)),
        TypeError,
        "gather: data is a torch.Tensor but indices is a dask.array.Array; pass torch.asarray(indices)",
    ),
    "updates of a third library": (
        lambda: gs.scatter(TORCH, [0], JAX[:1]),
        TypeError,
        "scatter: data is a torch.Tensor but updates is a jax.Array; pass torch.asarray(updates)",
    ),
    "PyTorch: another device": (
        lambda: gs.gather(TORCH, torch.zeros(2, dtype=torch.int64, device="meta")),
        ValueError,
        "gather: indices is on meta, but data is on cpu; move it there",
    ),
    "PyTorch: sparse": (
        lambda: gs.gather(TORCH.to_sparse(), [0]),
        NotImplementedError,
        "gather: the PyTorch backend cannot do a tensor of layout torch.sparse_coo: pass tensor.to_dense()",
    ),
    "ONNX: a reduction of PyTorch's": (
        lambda: gs.onnx.scatter_nd(D, I, np.zeros(3), reduction="sum"),
        ValueError,
        "scatter_nd: reduction='sum' is not one of 'none', 'add', 'mul', 'max', 'min'; did you mean 'add'?",
    ),
    "ONNX: float indices": (
        lambda: gs.onnx.gather_nd(D, I.astype(float)),
        TypeError,
        "gather_nd: indices has dtype float64, but GatherND-13 takes int64: convert it to one of these",
    ),
    "OpenVINO: a reduction of NumPy's": (
        lambda: gs.openvino.scatter_elements_update(D, [[0]], [[1.0]], 0, reduction="add"),
        ValueError,
        "openvino.scatter_elements_update: reduction='add' is not one of 'none', 'sum', 'prod', 'min', 'max',"
        " 'mean'; did you mean 'sum'?",
    ),
    "TensorFlow: a policy with a typo": (
        lambda: gs.tensorflow.gather_nd(D, I, bad_indices_policy="INGORE"),
        ValueError,
        "gather_nd: bad_indices_policy='INGORE' is not one of '', 'DEFAULT', 'ERROR', 'IGNORE'; did you mean 'IGNORE'?",
    ),
    "TensorFlow: mixed": (
        lambda: gs.tensorflow.gather_nd(D, torch.zeros((3, 2), dtype=torch.int64)),
        TypeError,
        "gather_nd: params is a numpy.ndarray but indices is a torch.Tensor; pass numpy.asarray(indices)",
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
def test_message_is_one_line_with_a_fix(name):
    _, kind, message = WRONG[name]
    assert "\n" not in message
    assert len(message) <= 300
    assert re.match(r"\w+(\.\w+)?: ", message)
    # An index out of bounds is told the axis and its size.
    fix = (
        r"axis \d+ has size \d"
        if kind is IndexError
        else r"\b(pass|call|convert|move|use|scatter|did you mean|is not one of)\b"
    )
    assert re.search(fix, message)


@pytest.mark.parametrize("name", WRONG)
def test_message_again(name):
    """A plan that was refused is not cached as one that holds."""
    test_message(name)
