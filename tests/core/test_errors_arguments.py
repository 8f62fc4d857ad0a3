"""Error messages for arguments of the wrong kind, and for option values of other libraries."""

import gatherscatter as gs
import numpy as np
from assertions import assert_refused, each_refused


class Convertible:
    """Stands for libraries' classes that are no arrays, but can be made one by a method, which is not called."""

    def __init__(self, method):
        setattr(self, method, None)


D = np.zeros((4, 5))
POINT = np.array(1.0)
I = np.zeros((3, 2), int)  # noqa: E741
NUMBERS = "int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64"

WRONG = {
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
    "what numpy.nonzero returns, as one array": (
        lambda: gs.gather_nd(D, np.array(np.nonzero(D == 0))),
        ValueError,
        "gather_nd: indices of shape (2, 20) holds tuples of 20 indices, but data of shape (4, 5) has 2 axes;"
        " tuples are along the last axis: pass moveaxis(indices, 0, -1)",
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
        "gather_nd: batch_dims=1 is not in [0, 0], since indices of shape (4,) has 0 axes before its tuples; pass 0",
    ),
    "batches are not broadcast": (
        lambda: gs.gather_nd(D, np.zeros((1, 1), int), batch_dims=1),
        ValueError,
        "gather_nd: with batch_dims=1 data and indices share their leading sizes, but data has (4,) and "
        "indices (1,); they are not broadcast: pass broadcast_to(indices, (4, 1))",
    ),
    "updates that do not broadcast": (
        lambda: gs.scatter(D, [0, 1], np.zeros(2)),
        ValueError,
        "scatter: updates has shape (2,); pass shape (2, 5), or one that broadcasts to it",
    ),
    "updates of more axes than broadcast": (
        lambda: gs.scatter(D, [0, 1], np.zeros((1, 2, 5))),
        ValueError,
        "scatter: updates has shape (1, 2, 5); pass shape (2, 5), or one that broadcasts to it",
    ),
    "updates transposed": (
        lambda: gs.scatter(D, [0, 1], np.zeros((5, 2))),
        ValueError,
        "scatter: updates has shape (5, 2); pass shape (2, 5), which updates.T has",
    ),
    "updates that are not flat": (
        lambda: gs.scatter(np.zeros(5), [0, 1, 2, 3], np.zeros((2, 2))),
        ValueError,
        "scatter: updates has shape (2, 2); pass shape (4,), which updates.reshape(-1) has",
    ),
    "updates as large as data": (
        lambda: gs.scatter(D, [0], D),
        ValueError,
        "scatter: updates has shape (4, 5); pass shape (1, 5), or one that broadcasts to it",
    ),
    "updates of fractions into integers": (
        lambda: gs.scatter(np.zeros(3, "i4"), [0], np.zeros(1)),
        TypeError,
        "scatter: updates has dtype float64, but data has int32; pass data.astype(updates.dtype)",
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
    "updates a double that does not fit": (
        lambda: gs.scatter(np.zeros(3, "f4"), [0], np.float64(1e300)),
        TypeError,
        "scatter: updates=np.float64(1e+300) cannot be held by data's dtype float32 unchanged; "
        "pass a value of that dtype",
    ),
    "updates an array without axes of a wider dtype": (
        lambda: gs.scatter(np.zeros(3, "i1"), [0], np.array(1)),
        TypeError,
        "scatter: updates has dtype int64, but data has int8; pass updates.astype(data.dtype)",
    ),
    "updates a wide integer that does not fit": (
        lambda: gs.scatter(np.zeros(3, "u1"), [0], np.int64(300)),
        TypeError,
        "scatter: updates=np.int64(300) cannot be held by data's dtype uint8 unchanged; pass a value of that dtype",
    ),
    "no tuples, gather": (
        lambda: gs.gather_nd(np.zeros((3, 4)), []),
        ValueError,
        "gather_nd: indices is an empty list, so the length of its tuples is unknown; "
        "pass an array of integers of shape (0, 2)",
    ),
    "no tuples, scatter": (
        lambda: gs.scatter_nd(np.zeros((3, 4)), [], 1.0),
        ValueError,
        "scatter_nd: indices is an empty list, so the length of its tuples is unknown; "
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
    "data a number": (
        lambda: gs.gather(3.0, [0]),
        ValueError,
        "gather: data has shape (), so it has no axis to index; pass reshape(data, (1,))",
    ),
    "data a string": (
        lambda: gs.gather("text", [0]),
        ValueError,
        "gather: data has shape (), so it has no axis to index; pass reshape(data, (1,))",
    ),
    "data None": (lambda: gs.gather(None, [0]), TypeError, "gather: data is None; pass an array"),
    "dates have no sum": (
        lambda: gs.scatter(np.zeros(3, "M8[s]"), [0], np.datetime64(1, "s"), reduction="add"),
        TypeError,
        "scatter: reduction='add' does not support dtype datetime64[s]; convert data and updates to one that it "
        f"supports: bool, {NUMBERS}, complex64, complex128",
    ),
    "a sparse matrix": (
        lambda: gs.gather(Convertible("nnz"), [0]),
        TypeError,
        "gather: data is a test_errors_arguments.Convertible, which is not an array; pass data.data, the elements that "
        "it stores",
    ),
    "Dask's DataFrame": (
        lambda: gs.gather(Convertible("to_dask_array"), [0]),
        TypeError,
        "gather: data is a test_errors_arguments.Convertible, which is not an array; "
        "pass data.to_dask_array(lengths=True)",
    ),
    "a column of Dask's DataFrame": (
        lambda: gs.gather(D, Convertible("to_dask_array")),
        TypeError,
        "gather: indices is a test_errors_arguments.Convertible, which is not an array; pass indices.to_dask_array()",
    ),
    "no threads": (
        lambda: gs.set_num_threads(0),
        ValueError,
        "set_num_threads: n=0 is not in [1, 1024]; pass one of these, or None",
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


@each_refused(WRONG)
def test_message(call, kind, message):
    assert_refused(call, kind, message)
