"""gatherscatter.tensorflow compared with TensorFlow on the CPU: values, shapes, and which calls raise an error."""

import os
import warnings
from collections import Counter

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import tensorflow as tf

import gatherscatter.tensorflow as gtf
from gatherscatter import core
from gatherscatter.tensorflow import functions

pytestmark = pytest.mark.peers

POLICIES = ("", "DEFAULT", "ERROR", "IGNORE")
NUMBERS = (
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)
COMBINES = ("add", "sub", "max", "min")

# How many cases ended how: printed by `pytest -m peers -s`.
ENDS = Counter()


@pytest.fixture(scope="module", autouse=True)
def _count():
    yield
    print("\ncases:", dict(ENDS))


def numpy_dtype(name):
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else "O" if name == "string" else name)


def numbers(rng, shape, dtype, with_nan=True):
    """Random values that show rounding, wrapping and, where asked for, NaN and infinities."""
    dtype = numpy_dtype(dtype)
    if dtype.kind == "O":
        return np.array([b"%x" % n for n in rng.integers(0, 999, int(np.prod(shape)))], object).reshape(shape)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    values = rng.standard_normal(shape) * 3
    if dtype.kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    values = np.asarray(values).astype(dtype)
    odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan]).astype(dtype)
    return np.where(rng.random(shape) < 0.15, odd[rng.integers(0, 5 if with_nan else 4, shape)], values)


def some_indices(rng, shape, sizes, dtype, bad):
    """Indices into axes of these sizes; if bad, some are negative, too large or far away."""
    sizes = np.broadcast_to(np.asarray(sizes, np.int64), shape)
    indices = rng.integers(0, np.maximum(sizes, 1))
    if bad:
        wrong = np.stack([-1 - rng.integers(0, np.maximum(sizes, 1)), -sizes - 1, sizes, sizes + 7])
        far = np.full(shape, rng.choice([np.iinfo(dtype).min, np.iinfo(dtype).max]), np.int64)
        wrong = np.concatenate([wrong, far[None]])
        chosen = np.take_along_axis(wrong, rng.integers(0, len(wrong), (1, *shape)), 0)[0]
        indices = np.where(rng.random(shape) < 0.3, chosen, indices)
    return indices.astype(dtype)


def outcome(function, *arguments, **options):
    """The result as an array, or the error."""
    try:
        result = function(*arguments, **options)
    except (IndexError, TypeError, ValueError, tf.errors.OpError) as error:
        return error
    assert isinstance(result, tf.Tensor)
    return as_array(result)


def as_array(tensor):
    # Not by np.asarray(tensor): TensorFlow's __array__ fails for one number of bfloat16.
    return np.asarray(tensor.numpy(), tensor.dtype.as_numpy_dtype)


def agree(name, *arguments, they_refuse=False, they_accept=False, **options):
    """Call ours and theirs on the same tensors. The differences below are the only excuses."""
    theirs = outcome(getattr(tf, name), *arguments, **options)
    ours = outcome(getattr(gtf, name), *arguments, **options)
    case = f"{name}{arguments}{options}: ours {ours!r}, theirs {theirs!r}"
    if isinstance(theirs, Exception) and isinstance(ours, Exception):
        if not they_refuse and "policy" not in str(ours):
            of_index = any(words in str(theirs) for words in ("does not index into", "is not in [0,"))
            assert isinstance(ours, IndexError) == of_index, case
        ENDS[f"{name}: both refuse"] += 1
    elif isinstance(theirs, Exception):
        assert they_refuse, case
        ENDS[f"{name}: they refuse, a named difference"] += 1
    elif isinstance(ours, Exception):
        assert they_accept, case
        ENDS[f"{name}: they accept, a named difference"] += 1
    else:
        assert ours.dtype == theirs.dtype, case
        assert ours.shape == theirs.shape, case
        assert same(ours, theirs), case
        ENDS[f"{name}: the same"] += 1


def same(a, b):
    """Equal bit for bit, except for the payloads of NaNs."""
    if a.dtype.kind == "O":
        return a.tolist() == b.tolist()
    a, b = np.ascontiguousarray(a).reshape(-1), np.ascontiguousarray(b).reshape(-1)
    if a.dtype.kind == "c":
        a, b = a.view(a.real.dtype), b.view(b.real.dtype)
    if a.dtype.kind in "biu":
        return np.array_equal(a, b)
    bits = f"u{a.dtype.itemsize}"
    return bool(np.all((a.view(bits) == b.view(bits)) | ((a != a) & (b != b))))


# Shapes have no, one or a few places along an axis; most arguments fit each other.

sizes = st.sampled_from((*(1, 2, 3, 4) * 8, 0))
seeds = st.integers(0, 2**32 - 1)
wrong = st.sampled_from((False,) * 9 + (True,))


@given(st.data())
@settings(max_examples=900, deadline=None, derandomize=True)
def test_gather_nd(data):
    draw = data.draw
    rng = np.random.default_rng(draw(seeds))
    shape = tuple(draw(st.lists(sizes, max_size=5)))
    r = len(shape)
    b = draw(st.integers(0, max(r - 1, 0))) if draw(st.booleans()) else 0
    k = draw(st.integers(0, r - b + draw(wrong)))
    dtype = draw(st.sampled_from(("int16", "int32", "int64")))
    batch = shape[:b] if not draw(wrong) else shape[1 : b + 1]
    positions = (*batch, *draw(st.lists(sizes, max_size=2)))
    bounds = (*shape[b : b + k], *(1,) * max(b + k - r, 0))
    indices = some_indices(rng, (*positions, k), bounds, dtype, draw(st.booleans()))
    params = tf.constant(numbers(rng, shape, draw(st.sampled_from((*NUMBERS, "bool", "string")))))
    policy = draw(st.sampled_from(POLICIES))
    if draw(st.sampled_from((False,) * 30 + (True,))):
        b, policy = draw(st.sampled_from(((-1, policy), (b, "ignore"))))
    they_refuse = r == 0 or 0 in shape or b >= r
    they_accept = b > 0 and shape[:b] != positions[:b]
    agree(
        "gather_nd",
        params,
        tf.constant(indices),
        b,
        bad_indices_policy=policy,
        they_refuse=they_refuse,
        they_accept=they_accept,
    )


@given(st.data())
@settings(max_examples=900, deadline=None, derandomize=True)
def test_gather(data):
    draw = data.draw
    rng = np.random.default_rng(draw(seeds))
    shape = tuple(draw(st.lists(sizes, min_size=1, max_size=4)))
    r = len(shape)
    b = draw(st.integers(0, r - 1)) if draw(st.booleans()) else 0
    batch = shape[:b] if not draw(wrong) else shape[1 : b + 1]
    positions = (*batch, *draw(st.lists(sizes, max_size=2)))
    q = len(positions)
    axis = draw(st.one_of(st.none(), st.integers(b, r - 1), st.integers(b - r, -1), st.integers(-r - 1, r)))
    given = b if q == 0 or draw(st.booleans()) else b - q
    along = (given if axis is None else axis) % r
    dtype = draw(st.sampled_from(("int16", "int32", "int64")))
    indices = some_indices(rng, positions, shape[along], dtype, draw(st.booleans()))
    params = tf.constant(numbers(rng, shape, draw(st.sampled_from((*NUMBERS, "bool", "string")))))
    if given != 0 and axis == 0:
        return  # test_difference_batch_dims_with_axis_0
    they_accept = 0 in (*shape, *positions)  # test_difference_gather_unchecked
    agree("gather", params, tf.constant(indices), axis=axis, batch_dims=given, they_accept=they_accept)


def scatter_arguments(draw, dtypes, with_nan=True):
    rng = np.random.default_rng(draw(seeds))
    shape = tuple(draw(st.lists(sizes, min_size=1, max_size=5)))
    k = draw(st.integers(int(not draw(wrong)), min(len(shape) + draw(wrong), 5)))
    positions = tuple(draw(st.lists(st.sampled_from((*(1, 2, 5, 9) * 5, 0)), min_size=not draw(wrong), max_size=2)))
    bounds = (*shape[:k], *(1,) * max(k - len(shape), 0))
    indices = some_indices(rng, (*positions, k), bounds, draw(st.sampled_from(("int32", "int64"))), draw(st.booleans()))
    row = shape[k:] if not draw(wrong) else (*shape[k:], 2)
    dtype = draw(st.sampled_from(dtypes))
    updates = numbers(rng, positions + row, dtype, with_nan)
    tensor = numbers(rng, shape, dtype, with_nan)
    they_refuse = k == 0 or 0 in shape or not positions
    return tf.constant(tensor), tf.constant(indices), tf.constant(updates), they_refuse


@given(st.data())
@settings(max_examples=700, deadline=None, derandomize=True)
def test_scatter_nd(data):
    tensor, indices, updates, they_refuse = scatter_arguments(data.draw, (*NUMBERS, "bool"))
    shape = tf.constant(np.array(tensor.shape, indices.dtype.as_numpy_dtype))
    policy = data.draw(st.sampled_from(POLICIES))
    agree("scatter_nd", indices, updates, shape, policy, they_refuse=they_refuse)


@given(st.data())
@settings(max_examples=500, deadline=None, derandomize=True)
def test_tensor_scatter_nd_update(data):
    tensor, indices, updates, they_refuse = scatter_arguments(data.draw, (*NUMBERS, "bool", "string"))
    agree("tensor_scatter_nd_update", tensor, indices, updates, they_refuse=they_refuse)


@given(st.data())
@settings(max_examples=1200, deadline=None, derandomize=True)
def test_tensor_scatter_nd_combines(data):
    what = data.draw(st.sampled_from(COMBINES))
    extreme = what in ("max", "min")  # test_difference_nan_in_max_and_min
    dtypes = [name for name in NUMBERS if not (extreme and name.startswith("complex"))]
    tensor, indices, updates, they_refuse = scatter_arguments(data.draw, dtypes, with_nan=not extreme)
    policy = data.draw(st.sampled_from(POLICIES))
    agree(f"tensor_scatter_nd_{what}", tensor, indices, updates, policy, they_refuse=they_refuse)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(("n", "row"), [(100_000, ()), (20_000, (33,))])
def test_sums_of_many_are_in_order(dtype, n, row):
    """A sum whose bits depend on the order of its terms, at a size where both may use threads."""
    rng = np.random.default_rng(0)
    indices = tf.constant(rng.integers(0, 7, (n, 1)))
    updates = tf.constant(np.asarray(rng.standard_normal((n, *row))).astype(numpy_dtype(dtype)))
    shape = tf.constant([7, *row], tf.int64)
    assert same(as_array(gtf.scatter_nd(indices, updates, shape)), as_array(tf.scatter_nd(indices, updates, shape)))


# Tensors in, tensors out


@pytest.mark.parametrize("dtype", [*NUMBERS, "bool"])
def test_tensors_are_read_in_place(monkeypatch, dtype):
    tensor = tf.constant(numbers(np.random.default_rng(0), (5, 3), dtype))
    indices = tf.constant([[1], [4]])
    seen = []
    whole = core.gather
    monkeypatch.setattr(core, "gather", lambda op, *rest: seen.extend(rest[:2]) or whole(op, *rest))
    result = gtf.gather_nd(tensor, indices)
    assert isinstance(result, tf.Tensor)
    assert result.dtype is tensor.dtype
    # memoryview is the way that TensorFlow documents to have no copy; it has no code for bfloat16.
    memory = np.asarray(tensor if dtype == "bfloat16" else memoryview(tensor))
    assert seen[0].ctypes.data == memory.ctypes.data
    assert seen[1].ctypes.data == np.asarray(memoryview(indices)).ctypes.data
    assert same(as_array(result), as_array(tf.gather_nd(tensor, indices)))


def test_strings():
    for tensor in (tf.constant(["a", "b", "c"]), tf.constant([], tf.string)):
        indices = tf.constant([[0], [-1], [9]])
        result = gtf.gather_nd(tensor, indices, bad_indices_policy="IGNORE")
        assert result.dtype is tf.string
        assert result.numpy().tolist() == [b"a" if len(tensor) else b"", b"", b""]
    tensor = tf.constant([["a", "b"], ["c", "d"]])
    result = gtf.tensor_scatter_nd_update(tensor, [[0, 1], [0, 1]], tf.constant(["x", "y"]))
    assert result.numpy().tolist() == [[b"a", b"y"], [b"c", b"d"]]
    assert gtf.gather_nd(tensor, [1, 1]).numpy() == b"d"
    assert gtf.gather(tensor, tf.zeros((0,), tf.int32)).dtype is tf.string


def test_one_number():
    for dtype in (tf.float32, tf.bfloat16, tf.int64):
        result = gtf.gather_nd(tf.cast(3, dtype), tf.zeros((2, 0), tf.int32))
        assert result.dtype is dtype
        assert result.numpy().tolist() == [3, 3]


def test_mixed_with_arrays_and_lists():
    tensor = tf.constant([1.0, 2.0, 3.0])
    for indices in ([[2], [0]], np.array([[2], [0]]), tf.constant([[2], [0]])):
        result = gtf.tensor_scatter_nd_add(tensor, indices, [10, 20])
        assert isinstance(result, tf.Tensor)
        assert result.dtype is tf.float32
        assert result.numpy().tolist() == [21, 2, 13]
    for updates in (np.array([10.5, 20.1]), np.array([10, 20]), np.array([True, False])):
        for what in ("update", *COMBINES):
            ours, theirs = (getattr(m, f"tensor_scatter_nd_{what}")(tensor, [[2], [0]], updates) for m in (gtf, tf))
            assert ours.dtype is theirs.dtype
            assert same(as_array(ours), as_array(theirs))
    assert refuses(tf.tensor_scatter_nd_add, tensor, [[2]], tf.constant([1.0], tf.float64))
    with pytest.raises(TypeError, match=r"^tensor_scatter_nd_add: updates has dtype float64, but tensor has float32"):
        gtf.tensor_scatter_nd_add(tensor, [[2]], tf.constant([1.0], tf.float64))
    # A list beside a tensor is TensorFlow's to convert.
    assert gtf.gather_nd([1.5, 2.5], tf.constant([[1]])).dtype is tf.float32
    assert gtf.scatter_nd(tf.constant([[1]]), [5], tf.constant([2])).dtype is tf.int32
    assert gtf.gather(tf.Variable([1, 2]), [1], batch_dims=tf.constant(0)).numpy().tolist() == [2]
    table = tf.constant([[1, 2, 3]])
    for gather in (gtf.gather, tf.gather):
        assert gather(table, [1], axis=1, batch_dims=None).numpy().tolist() == [[2]]


def test_symbolic_tensors():
    tensor, indices = tf.constant([1, 2, 3]), tf.constant([[1], [2]])
    message = (
        "gather_nd: params is a symbolic tensor, which has no values yet; inside tf.function call this through "
        "tf.numpy_function or tf.py_function"
    )
    with pytest.raises(NotImplementedError) as caught:
        tf.function(gtf.gather_nd, autograph=False)(tensor, indices)
    assert str(caught.value) == message
    through = tf.function(lambda *arrays: tf.numpy_function(gtf.gather_nd, arrays, tf.int32), autograph=False)
    assert through(tensor, indices).numpy().tolist() == [2, 3]
    through = tf.function(lambda *arrays: tf.py_function(gtf.gather_nd, arrays, tf.int32), autograph=False)
    assert through(tensor, indices).numpy().tolist() == [2, 3]


# Differences: each test shows that one still stands


def refuses(function, *arguments, **options):
    return isinstance(outcome(function, *arguments, **options), Exception)


@pytest.mark.parametrize(("what", "theirs"), [("max", [1.0, 2.0]), ("min", [1.0, 0.0])])
def test_difference_nan_in_max_and_min(what, theirs):
    """Theirs drops an update that is NaN, and keeps one that is there: the result depends on the order of operands.

    Ours: NaN wins from either side, as in numpy.maximum. tensor_scatter_nd_max([1.0], [[0]], [nan]) is [1.0] there.
    """
    nan = float("nan")
    arguments = tf.constant([1.0, 2.0, nan]), [[0], [1], [1], [2]], tf.constant([nan, nan, 0.0, 1.0])
    found = getattr(tf, f"tensor_scatter_nd_{what}")(*arguments).numpy()
    np.testing.assert_array_equal(found, [*theirs, nan])
    np.testing.assert_array_equal(getattr(gtf, f"tensor_scatter_nd_{what}")(*arguments).numpy(), [nan] * 3)


def test_difference_one_tuple():
    """TensorFlow's scatters reject indices of one axis, which are a single tuple; its gather_nd accepts them."""
    indices, shape = tf.constant([0]), tf.constant([2])
    assert refuses(tf.scatter_nd, indices, tf.constant(7), shape)
    assert gtf.scatter_nd(indices, tf.constant(7), shape).numpy().tolist() == [7, 0]
    assert refuses(tf.tensor_scatter_nd_update, tf.constant([1, 2]), indices, tf.constant(7))
    assert gtf.tensor_scatter_nd_update(tf.constant([1, 2]), indices, tf.constant(7)).numpy().tolist() == [7, 2]


def test_difference_empty_tuples():
    """TensorFlow's scatters reject empty tuples ("updates specified for empty output"); its gather_nd accepts them.

    Ours: an empty tuple names the whole tensor, in scatters too.
    """
    indices, updates = tf.zeros((2, 0), tf.int32), tf.constant([[1, 2], [3, 4]])
    assert tf.gather_nd(tf.constant([1, 2]), indices).numpy().tolist() == [[1, 2], [1, 2]]
    assert refuses(tf.scatter_nd, indices, updates, tf.constant([2]))
    assert gtf.scatter_nd(indices, updates, tf.constant([2])).numpy().tolist() == [4, 6]


def test_difference_scatter_into_nothing():
    """TensorFlow's scatters reject updates without elements (rows of size 0). Ours change nothing."""
    indices, updates, shape = tf.constant([[0], [1]]), tf.zeros((2, 0)), tf.constant([3, 0])
    assert refuses(tf.scatter_nd, indices, updates, shape)
    assert gtf.scatter_nd(indices, updates, shape).shape == (3, 0)


def test_difference_gather_nd_from_nothing():
    """TensorFlow rejects params without elements, even with valid indices or IGNORE. Ours applies the general rule."""
    assert refuses(tf.gather_nd, tf.zeros((2, 0)), [[1]])
    assert gtf.gather_nd(tf.zeros((2, 0)), [[1]]).shape == (1, 0)
    assert refuses(tf.gather_nd, tf.zeros((0,)), [[0]], bad_indices_policy="IGNORE")
    assert gtf.gather_nd(tf.zeros((0,)), [[0]], bad_indices_policy="IGNORE").numpy().tolist() == [0]


def test_difference_gather_unchecked():
    """tf.gather checks no index where the result is empty anyway. Ours checks every index."""
    assert tf.gather(tf.zeros((2, 0)), [5]).shape == (1, 0)
    with pytest.raises(IndexError, match=r"^gather: indices\[0\] = 5 is out of bounds"):
        gtf.gather(tf.zeros((2, 0)), [5])


def test_difference_batch_dims_with_axis_0():
    """tf.gather forgets batch_dims where axis is 0 (array_ops.py passes it on for other axes only)."""
    params, indices = tf.constant([[1, 2], [3, 4]]), tf.constant([[1], [0]])
    assert tf.gather(params, indices, axis=0, batch_dims=1).numpy().tolist() == [[[3, 4]], [[1, 2]]]
    with pytest.raises(ValueError, match=r"^gather: batch_dims=1 is not in \[0, 0\]"):
        gtf.gather(params, indices, axis=0, batch_dims=1)


def test_difference_batch_shapes():
    """tf.gather_nd flattens the batch axes, and does not see that (2, 3) of params is not (3, 2) of indices."""
    params, indices = tf.reshape(tf.range(12), (2, 3, 2)), tf.zeros((3, 2, 1), tf.int32)
    assert tf.gather_nd(params, indices, batch_dims=2).shape == (2, 3)
    with pytest.raises(ValueError, match=r"^gather_nd: with batch_dims=2 params and indices share their leading sizes"):
        gtf.gather_nd(params, indices, batch_dims=2)


def test_difference_no_axes_left():
    """tf.gather_nd rejects params without an axis, and batch_dims of all axes. Ours repeats the element."""
    empty = tf.zeros((2, 0), tf.int32)
    assert refuses(tf.gather_nd, tf.constant(5), empty)
    assert gtf.gather_nd(tf.constant(5), empty).numpy().tolist() == [5, 5]
    assert refuses(tf.gather_nd, tf.constant([5, 6]), empty, batch_dims=1)
    assert gtf.gather_nd(tf.constant([5, 6]), empty, batch_dims=1).numpy().tolist() == [5, 6]


def test_difference_long_tuples():
    """Theirs has kernels for tuples of at most 7 indices."""
    ones = tf.ones((1,) * 8)
    assert refuses(tf.gather_nd, ones, [[0] * 8])
    assert gtf.gather_nd(ones, [[0] * 8]).numpy().tolist() == [1]
    assert refuses(tf.tensor_scatter_nd_add, ones, [[0] * 8], tf.ones(1))
    assert gtf.tensor_scatter_nd_add(ones, [[0] * 8], tf.ones(1)).numpy().item() == 2


def test_difference_strings_add_up():
    """tf.scatter_nd of strings appends duplicates to each other. Ours adds numbers alone."""
    indices, updates = tf.constant([[1], [1]]), tf.constant(["a", "b"])
    assert tf.scatter_nd(indices, updates, tf.constant([2])).numpy().tolist() == [b"", b"ab"]
    with pytest.raises(TypeError, match=r"^scatter_nd: reduction='add' does not support dtype object"):
        gtf.scatter_nd(indices, updates, tf.constant([2]))


def test_difference_missing_kernels():
    """Some dtypes stand in their definition of an operator and have no kernel on the CPU. Ours takes them."""
    narrow = tf.constant([[1], [1]], tf.int16)
    updates = tf.constant([1, 2])
    assert refuses(tf.scatter_nd, narrow, updates, tf.constant([2], tf.int16))
    assert gtf.scatter_nd(narrow, updates, tf.constant([2], tf.int16)).numpy().tolist() == [0, 3]
    assert refuses(tf.tensor_scatter_nd_update, updates, narrow, updates)
    assert gtf.tensor_scatter_nd_update(updates, narrow, updates).numpy().tolist() == [1, 2]
    truths = tf.constant([True, False])
    assert refuses(tf.tensor_scatter_nd_add, truths, [[1]], truths[:1])
    assert gtf.tensor_scatter_nd_add(truths, [[1]], truths[:1]).numpy().tolist() == [True, True]


def test_difference_casts_of_arrays():
    """Theirs casts NumPy updates as astype does. Ours refuses a cast that loses more than a float's last digits."""
    for dtype, update, theirs in ((tf.int32, 1.5, 1), (tf.uint8, 300, 44), (tf.bool, 7, True)):
        tensor, updates = tf.zeros([1], dtype), np.array([update])
        assert tf.tensor_scatter_nd_update(tensor, [[0]], updates).numpy().tolist() == [theirs]
        with pytest.raises(TypeError, match=r"^tensor_scatter_nd_update: updates has dtype "):
            gtf.tensor_scatter_nd_update(tensor, [[0]], updates)
    # And where the tensor alone is NumPy's, theirs casts that.
    tensor, updates = np.zeros(1), tf.constant([1.5])
    assert tf.tensor_scatter_nd_update(tensor, [[0]], updates).dtype is tf.float32
    with pytest.raises(
        TypeError, match=r"^tensor_scatter_nd_update: updates has dtype float32, but tensor has float64"
    ):
        gtf.tensor_scatter_nd_update(tensor, [[0]], updates)


def test_difference_dtypes_of_lists():
    """TensorFlow converts Python numbers to int32 and float32; ours, in calls without a tensor, as NumPy does."""
    assert tf.gather_nd([1.5, 2.5], [[1]]).dtype is tf.float32
    assert gtf.gather_nd([1.5, 2.5], [[1]]).dtype == np.float64


def test_signatures_are_the_same():
    import inspect

    for name in functions.__all__:
        ours, theirs = (
            [(p.name, p.default) for p in inspect.signature(getattr(module, name)).parameters.values()]
            for module in (gtf, tf.math if "segment" in name else tf)
        )
        assert ours == theirs, name


def test_index_dtypes_are_those_of_the_definitions():
    from tensorflow.python.framework import op_def_registry

    operators = {
        "GatherNd": functions._INDICES,
        "GatherV2": functions._INDICES,
        "ScatterNd": functions._INDICES,
        "TensorScatterUpdate": functions._UPDATE.index_dtypes,
        **{f"TensorScatter{what.title()}": functions._COMBINE_INDICES for what in COMBINES},
    }
    for operator, accepted in operators.items():
        attributes = {a.name: a for a in op_def_registry.get(operator).attr}
        found = [tf.dtypes.as_dtype(number).name for number in attributes["Tindices"].allowed_values.list.type]
        assert sorted(found) == sorted(accepted), operator
