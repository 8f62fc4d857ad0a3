"""Error messages of scatters, as in test_errors_gather.py."""

import gatherscatter as gs
import ml_dtypes
import numpy as np
import pytest
from assertions import assert_refused, each_refused

D = np.zeros((4, 5))
CUBE = np.zeros((3, 4, 5))
POINT = np.array(1.0)
I = np.zeros((3, 2), int)  # noqa: E741
NUMBERS = "int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64"

WRONG = {
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
        "scatter: data has shape (), so it has no axis to index; pass reshape(data, (1,))",
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
        "scatter: reduction='add' does not support dtype <U1; convert data and updates to one that it supports: bool, "
        f"{NUMBERS}, complex64, complex128",
    ),
    "scatter: longdouble has no sum": (
        lambda: gs.scatter(np.zeros(3, np.longdouble), [0], 1.0, reduction="add"),
        TypeError,
        f"scatter: reduction='add' does not support dtype {np.dtype(np.longdouble)}; "
        f"convert data and updates to one that it supports: bool, {NUMBERS}, complex64, complex128",
    ),
    "scatter: objects have no product": (
        lambda: gs.scatter(D.astype(object), [0], 1.0, reduction="mul"),
        TypeError,
        "scatter: reduction='mul' does not support dtype object; convert data and updates to one that it supports: "
        f"bool, {NUMBERS}, complex64, complex128",
    ),
    "scatter: complex numbers have no order": (
        lambda: gs.scatter(np.zeros(3, complex), [0], 1.0, reduction="max"),
        TypeError,
        "scatter: reduction='max' does not support dtype complex128; convert data and updates to one that it supports:"
        f" bool, {NUMBERS}",
    ),
    "scatter: bools have no mean": (
        lambda: gs.scatter(np.zeros(3, bool), [0], True, reduction="mean"),
        TypeError,
        "scatter: reduction='mean' does not support dtype bool; convert data and updates to one that it supports: "
        f"{NUMBERS}, complex64, complex128",
    ),
    "scatter: updates of another shape": (
        lambda: gs.scatter(D, [0], np.zeros(4)),
        ValueError,
        "scatter: updates has shape (4,); pass shape (1, 5), or one that broadcasts to it",
    ),
    "scatter: updates a list of another shape": (
        lambda: gs.scatter(D, [0], [1, 2]),
        ValueError,
        "scatter: updates has shape (2,); pass shape (1, 5), or one that broadcasts to it",
    ),
    "scatter: updates of another dtype": (
        lambda: gs.scatter(D.astype("f4"), [0], np.zeros((1, 5))),
        TypeError,
        "scatter: updates has dtype float64, but data has float32; pass updates.astype(data.dtype)",
    ),
    "scatter: updates of wider integers": (
        lambda: gs.scatter(D.astype("f4"), [0], np.zeros((1, 5), "i4")),
        TypeError,
        "scatter: updates has dtype int32, but data has float32; pass updates.astype(data.dtype)",
    ),
    "scatter: updates a list of another kind": (
        lambda: gs.scatter(np.zeros(3, "i4"), [0], [1.5]),
        TypeError,
        "scatter: updates is a list of float64 values that data's dtype int32 cannot hold unchanged; "
        "pass values of that dtype, or data of another dtype",
    ),
    "scatter: updates a list of numbers for a structure": (
        lambda: gs.scatter(np.zeros(3, "i4,f8"), [0], [3]),
        TypeError,
        "scatter: updates is a list of int64 values that data's dtype [('f0', '<i4'), ('f1', '<f8')] "
        "cannot hold unchanged; pass values of that dtype, or data of another dtype",
    ),
    "scatter: updates a list of fractions for a structure": (
        lambda: gs.scatter(np.zeros(3, "i4,f8"), [0], [1.5]),
        TypeError,
        "scatter: updates is a list of float64 values that data's dtype [('f0', '<i4'), ('f1', '<f8')] "
        "cannot hold unchanged; pass values of that dtype, or data of another dtype",
    ),
    "scatter: updates a list of numbers for raw bytes": (
        lambda: gs.scatter(np.zeros(3, "V4"), [0], [3]),
        TypeError,
        "scatter: updates is a list of int64 values that data's dtype |V4 cannot hold unchanged; "
        "pass values of that dtype, or data of another dtype",
    ),
    "scatter: updates a list of numbers for dates": (
        lambda: gs.scatter(np.zeros(3, "M8[D]"), [0], [1]),
        TypeError,
        "scatter: updates is a list of int64 values that data's dtype datetime64[D] cannot hold unchanged; "
        "pass values of that dtype, or data of another dtype",
    ),
    "scatter: updates a list of numbers for strings": (
        lambda: gs.scatter(np.zeros(3, np.dtypes.StringDType()), [0], [3]),
        TypeError,
        "scatter: updates is a list of int64 values that data's dtype StringDType() cannot hold unchanged; "
        "pass values of that dtype, or data of another dtype",
    ),
    "scatter: updates a list past float16": (
        lambda: gs.scatter(np.zeros(3, "f2"), [0], [10**9]),
        TypeError,
        "scatter: updates is a list of int64 values that data's dtype float16 cannot hold unchanged; "
        "pass values of that dtype, or data of another dtype",
    ),
    "scatter: updates a list past int4": (
        lambda: gs.scatter(np.zeros(3, ml_dtypes.int4), [0], [300]),
        TypeError,
        "scatter: updates is a list of int64 values that data's dtype int4 cannot hold unchanged; "
        "pass values of that dtype, or data of another dtype",
    ),
    "scatter: updates a list of fractions for int4": (
        lambda: gs.scatter(np.zeros(3, ml_dtypes.int4), [0], [3.5]),
        TypeError,
        "scatter: updates is a list of float64 values that data's dtype int4 cannot hold unchanged; "
        "pass values of that dtype, or data of another dtype",
    ),
    "scatter: updates a list past float8": (
        lambda: gs.scatter(np.zeros(3, ml_dtypes.float8_e4m3fn), [0], [10**9]),
        TypeError,
        "scatter: updates is a list of int64 values that data's dtype float8_e4m3fn cannot hold unchanged; "
        "pass values of that dtype, or data of another dtype",
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
        "scatter_nd: indices has shape (), so it has no last axis for the tuples; pass reshape(indices, (1,))",
    ),
    "scatter_nd: tuples too long": (
        lambda: gs.scatter_nd(D, np.zeros((2, 3), int), 1.0),
        ValueError,
        "scatter_nd: indices of shape (2, 3) holds tuples of 3 indices, but data of shape (4, 5) has 2 axes; "
        "tuples are along the last axis: pass moveaxis(indices, 0, -1)",
    ),
    "scatter_nd: batch_dims too large": (
        lambda: gs.scatter_nd(D, I, 1.0, batch_dims=2),
        ValueError,
        "scatter_nd: batch_dims=2 is not in [0, 1], since indices of shape (3, 2) has 1 axis before its "
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
        "scatter_nd: reduction='min' does not support dtype complex64; convert data and updates to one that it "
        f"supports: bool, {NUMBERS}",
    ),
    "scatter_nd: updates of another shape": (
        lambda: gs.scatter_nd(D, [[0, 0]], [1.0, 2.0]),
        ValueError,
        "scatter_nd: updates has shape (2,); pass shape (1,), or one that broadcasts to it",
    ),
    "scatter_nd: updates of another dtype": (
        lambda: gs.scatter_nd(D, [[0, 0]], np.zeros(1, "c8")),
        TypeError,
        "scatter_nd: updates has dtype complex64, but data has float64; pass data.astype(updates.dtype)",
    ),
    "scatter_nd: a scalar out of range": (
        lambda: gs.scatter_nd(D.astype("f4"), [[0, 0]], 1e300),
        TypeError,
        "scatter_nd: updates=1e+300 cannot be held by data's dtype float32 unchanged; pass a value of that dtype",
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
        "scatter_elements: data has shape (), so it has no axis to index; pass reshape(data, (1,))",
    ),
    "scatter_elements: another rank": (
        lambda: gs.scatter_elements(D, [0, 1], 1.0),
        ValueError,
        "scatter_elements: indices of shape (2,) has 1 axis, but data of shape (4, 5) has 2; pass the same number, or"
        " call scatter, which accepts any number",
    ),
    "scatter_elements: longer off the axis": (
        lambda: gs.scatter_elements(D, np.zeros((5, 5), int), 1.0, axis=1),
        ValueError,
        "scatter_elements: indices of shape (5, 5) is longer than data of shape (4, 5) along axis 0, but "
        "only axis=1 may be longer; pass shorter indices, or axis=0",
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
        lambda: gs.scatter_elements(D, [[0]], [1.0, 2.0]),
        ValueError,
        "scatter_elements: updates has shape (2,); pass shape (1, 1), or one that broadcasts to it",
    ),
    "scatter_elements: updates of another dtype": (
        lambda: gs.scatter_elements(D.astype("f2"), [[0]], np.zeros((1, 1))),
        TypeError,
        "scatter_elements: updates has dtype float64, but data has float16; pass updates.astype(data.dtype)",
    ),
    "scatter_elements: bools have no mean": (
        lambda: gs.scatter_elements(np.zeros(3, bool), [0], True, reduction="mean"),
        TypeError,
        "scatter_elements: reduction='mean' does not support dtype bool; convert data and updates to one that it "
        f"supports: {NUMBERS}, complex64, complex128",
    ),
}


@each_refused(WRONG)
def test_message(call, kind, message):
    assert_refused(call, kind, message)


def test_a_string_that_does_not_hold_the_updates():
    for update, dtype in (([-100], "i1"), (["abc"], "S3")):
        with pytest.raises(TypeError, match="updates has dtype"):
            gs.scatter(np.zeros(1, "S1"), [0], np.array(update, dtype))
