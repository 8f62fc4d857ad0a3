"""Prepared indices on NumPy arrays: the results, and the errors, of the function that they were prepared for."""

import copy
import gc
import pickle
import re
import weakref
from concurrent.futures import ThreadPoolExecutor

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_refused, assert_same_bits, assert_same_numbers, each_refused
from constants import FLOAT_REDUCTIONS, FUNCTIONS
from gatherscatter._kernels import scatter
from gatherscatter._kernels.common import ScatterRoute
from gatherscatter.backends import kernels
from pairwise import each_pair, in_turn

# name: (shape of data, shape of indices, options)
CASES = {
    "gather": ((7, 3), (5, 2), {}),
    "gather, axis": ((3, 7, 2), (4,), {"axis": 1}),
    "gather, last axis": ((3, 7), (4,), {"axis": -1}),
    "gather, batch": ((3, 2, 7, 2), (3, 4), {"axis": 2, "batch_dims": 1}),
    "gather, one index": ((7, 2), (), {}),
    "gather_nd": ((4, 5, 3), (6, 2), {}),
    "gather_nd, whole": ((4, 5), (3, 2, 2), {}),
    "gather_nd, batch": ((3, 4, 5, 2), (3, 6, 2), {"batch_dims": 1}),
    "gather_nd, no axis": ((3, 4), (2, 0), {}),
    "gather_nd, batch of whole rows": ((3, 4), (3, 2, 0), {"batch_dims": 1}),
    "gather_elements": ((7,), (5,), {}),
    "gather_elements, axis": ((3, 7, 4), (2, 9, 4), {"axis": 1}),
    "no indices": ((4, 3), (0,), {}),
    "gather_nd, no tuples": ((4, 3), (0, 2), {}),
}


def case(name, dtype="f4", seed=0):
    """(the function's suffix, data, indices, updates, options) of a case; some indices are negative."""
    shape, given, options = CASES[name]
    suffix = name.partition(",")[0].removeprefix("gather") if name.startswith("gather") else ""
    rng = np.random.default_rng(seed)
    data = rng.integers(1, 9, shape).astype(dtype)
    if suffix == "_nd":
        batch = options.get("batch_dims", 0)
        sizes = np.array(shape[batch : batch + given[-1]], int)
    else:
        sizes = shape[options.get("axis", 0)]
    indices = rng.integers(-sizes, sizes, given) if np.size(sizes) else np.zeros(given, int)
    result = getattr(gs, f"gather{suffix}")(data, indices, **options)
    return suffix, data, indices, rng.integers(1, 9, result.shape).astype(dtype), options


@in_turn("name", CASES)
@pytest.mark.parametrize("mode", ["raise", "clip", "wrap", "fill", "promise_in_bounds"])
def test_results_are_those_of_the_function(name, mode):
    suffix, data, indices, updates, options = case(name)
    if mode in ("clip", "wrap", "fill") and indices.size:
        indices = indices.copy()
        indices.reshape(-1)[0] = 100
        indices.reshape(-1)[-1] = -100
    for wraps in (True, False):
        if not wraps and mode in ("raise", "promise_in_bounds"):
            indices = abs(indices) % 3 if suffix != "_elements" else abs(indices) % 7
        same = {**options, "wrap_negative_indices": wraps}
        gather, scatter = getattr(gs, f"gather{suffix}"), getattr(gs, f"scatter{suffix}")
        theirs = "drop" if mode == "fill" else mode
        for prepared in (
            gs.prepare(f"gather{suffix}", data.shape, indices, mode=mode, **same),
            pickle.loads(pickle.dumps(gs.prepare(f"scatter{suffix}", data.shape, indices, mode=theirs, **same))),
        ):
            fill = {"fill_value": 7} if mode == "fill" else {}
            assert_same_bits(prepared.gather(data, **fill), gather(data, indices, mode=mode, **same, **fill))
            out = np.empty_like(updates)
            assert prepared.gather(data, out=out) is out
            assert_same_bits(out, gather(data, indices, mode=mode, **same))
            for reduction, include_self in (("none", True), ("add", True), ("max", False), ("mean", False)):
                words = {"reduction": reduction, "include_self": include_self}
                expected = scatter(data, indices, updates, mode=theirs, **same, **words)
                assert_same_bits(prepared.scatter(data, updates, **words), expected)
                changed = data.copy()
                assert prepared.scatter(changed, updates, out=changed, **words) is changed
                assert_same_bits(changed, expected)


@each_pair(reduction=FLOAT_REDUCTIONS, n_threads=[1, 3, 192], include_self=[True, False])
def test_ordered_updates_give_the_same_bits(n_threads, reduction, include_self):
    """Rows of 64 bytes or more, whose updates are grouped once: into a new array, into another one, and in place."""
    rng = np.random.default_rng(3)
    for width, n_rows, n in ((16, 1100, 2300), (40, 500, 1300), (200, 90, 200)):
        data, updates = (rng.standard_normal((m, width)).astype("f4") for m in (n_rows, n))
        rows = rng.integers(-n_rows, n_rows, n)
        rows[5] = n_rows + 3
        words = {"reduction": reduction, "include_self": include_self}
        if reduction in ("add", "mul", "mean") and width == 40:
            words["accumulate_dtype"] = "float64"
        prepared = gs.prepare("scatter", data.shape, rows, mode="drop")
        with kernels.forced(1):
            expected = gs.scatter(data, rows, updates, mode="drop", **words)
        with kernels.forced(n_threads, scatter="partition"):
            assert_same_bits(prepared.scatter(data, updates, **words), expected)
            assert scatter.last_route()[0] == ScatterRoute.PARTITION
            for target in (data.copy(), np.empty_like(data), np.empty((n_rows, 2 * width), "f4")[:, ::2]):
                source = target if target[0, 0] == data[0, 0] else data
                assert prepared.scatter(source, updates, out=target, **words) is target
                assert_same_bits(np.ascontiguousarray(target), expected)
            changed = data.copy()
            prepared.scatter(changed, updates, out=changed, **words)
            assert_same_bits(changed, expected)
            # Data that is not contiguous, and updates that broadcast.
            mirrored = prepared.scatter(data[:, ::-1], updates[:, ::-1], **words)
            assert_same_bits(np.ascontiguousarray(mirrored[:, ::-1]), expected)
            assert_same_bits(prepared.scatter(data, 2.0, **words), gs.scatter(data, rows, 2.0, mode="drop", **words))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("reduction", FLOAT_REDUCTIONS)
@pytest.mark.parametrize("include_self", [True, False])
def test_rows_with_many_and_with_no_updates(dtype, reduction, include_self):
    """Rows of 128 bytes, more and less, with up to 700 updates, of which some are NaN or a zero of either sign."""
    rng = np.random.default_rng(4)
    counts = np.zeros(1100, int)  # 64 KiB at least, which are ordered
    counts[:11] = 0, 1, 700, 0, 0, 127, 128, 129, 300, 2, 0
    counts[1090:] = 5
    rows = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    prepared = gs.prepare("scatter", counts.shape, rows)
    for width in (16, 32, 36, 40, 72):
        data, updates = (rng.standard_normal((n, width)).astype(dtype) for n in (len(counts), len(rows)))
        for each in (data, updates):
            each[rng.random(each.shape) < 0.01] = np.nan
            each[rng.random(each.shape) < 0.2] = 0.0
            each[rng.random(each.shape) < 0.2] = -0.0
        for wide in (None, "float64"):
            if wide and (dtype == "f8" or reduction not in ("add", "mul", "mean")):
                continue
            words = {"reduction": reduction, "include_self": include_self, "accumulate_dtype": wide}
            with kernels.forced(1, scatter="direct"):
                expected = gs.scatter(data, rows, updates, **words)
            for n_threads in (1, 3):
                with kernels.forced(n_threads, scatter="partition"):
                    assert_same_bits(prepared.scatter(data, updates, **words), expected)
        assert prepared._orders.by_row is not None


def test_an_order_serves_rows_of_every_width_and_dtype():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 50, 400)
    prepared = gs.prepare("scatter", (50,), rows)
    for shape, dtype in (((50, 16), "f4"), ((50,), "f8"), ((50, 2, 8), "i8"), ((50, 3), "f4"), ((50, 64), "?")):
        data, updates = (rng.integers(0, 2, (n, *shape[1:])).astype(dtype) for n in (50, 400))
        expected = gs.scatter(data, rows, updates, reduction="max")
        assert_same_bits(prepared.scatter(data, updates, reduction="max"), expected)
    swapped = rng.integers(0, 9, (50, 16)).astype(">f4")
    assert_same_numbers(prepared.scatter(swapped, 1, reduction="add"), gs.scatter(swapped, rows, 1, reduction="add"))
    objects = np.full((50, 16), None)
    assert_same_bits(
        prepared.scatter(objects, np.ones((400, 16), object)), gs.scatter(objects, rows, np.ones((400, 16), object))
    )


def test_few_updates_in_place_are_not_ordered():
    """The order visits all rows: for few updates in place that takes longer."""
    data = np.zeros((1000, 16))
    prepared = gs.prepare("scatter", data.shape, [3, 5])
    prepared.scatter(data, 1.0, out=data)
    assert prepared.nbytes == 8
    assert np.flatnonzero(data.any(axis=1)).tolist() == [3, 5]


def test_tuples_where_the_axes_cannot_be_viewed_as_one():
    rng = np.random.default_rng(0)
    data = rng.integers(0, 9, (6, 5, 4)).transpose(1, 0, 2)
    tuples = rng.integers(0, 5, (9, 2))
    updates = rng.integers(0, 9, (9, 4))
    tuples[3] = 0, 77
    prepared = gs.prepare("gather_nd", data.shape, tuples, mode="fill")
    gathered = gs.gather_nd(data, tuples, mode="fill", fill_value=-3)
    expected = gs.scatter_nd(data, tuples, updates, reduction="add", mode="drop")
    assert_same_bits(prepared.gather(data, fill_value=-3), gathered)
    assert_same_bits(prepared.scatter(data, updates, reduction="add"), expected)
    for target in (np.empty(data.shape, int), np.empty((5, 4, 6), int).transpose(0, 2, 1)):
        prepared.scatter(data, updates, reduction="add", out=target)
        assert (target == expected).all()
    assert_same_bits(prepared.gather(data.copy(), fill_value=-3), gathered)


def test_the_indices_are_copied():
    indices = np.array([0, 2])
    prepared = gs.prepare("gather", (3,), indices)
    indices[:] = 1
    assert prepared.gather([10, 20, 30]).tolist() == [10, 30]


def test_indices_of_every_dtype():
    data = np.arange(300.0)
    for dtype in ("i1", "u1", "i2", ">i4", "u8", "i8"):
        indices = np.array([3, 100, 0], dtype)
        assert_same_bits(gs.prepare("gather", data.shape, indices[::2]).gather(data), data[[3, 0]])
    assert gs.prepare("gather", (3,), 1).gather([1, 2, 3]) == 2
    huge = np.broadcast_to(np.float32(2), (2**31 + 8,))
    assert gs.prepare("gather", huge.shape, [2**31 + 7, -1]).gather(huge).tolist() == [2, 2]


def test_counts():
    rows = np.array([[0, 2], [2, 2]])
    counts = gs.prepare("scatter", (4, 3), rows).counts
    assert_same_bits(counts, np.bincount(rows.ravel(), minlength=4))
    assert not counts.flags.writeable
    assert gs.prepare("gather", (2, 4, 3), [1, 1], axis=1).counts.tolist() == [[0, 2, 0, 0]] * 2
    assert gs.prepare("gather_nd", (2, 2), [[0, 1], [0, 1], [1, 0]]).counts.tolist() == [[0, 2], [1, 0]]
    assert gs.prepare("scatter_elements", (2, 2), [[1], [1]], axis=1).counts.tolist() == [[0, 1], [0, 1]]
    assert gs.prepare("gather", (2,), [5, 1, -9], mode="fill").counts.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("shape", "indices"),
    [((0,), [[5]]), ((0, 3), [[5, 1], [-1, 0]]), ((2, 0), [[0, 0]]), ((0, 2), np.zeros((0, 2), int))],
)
def test_tuples_that_can_only_be_skipped(shape, indices):
    """There is no slice that they could select."""
    data = np.zeros(shape)
    gather = gs.prepare("gather_nd", shape, indices, mode="fill")
    assert_same_bits(gather.gather(data, fill_value=3), gs.gather_nd(data, indices, mode="fill", fill_value=3))
    scatter = gs.prepare("scatter_nd", shape, indices, mode="drop")
    assert_same_bits(scatter.scatter(data, 1.0, reduction="add"), data)


def test_attributes_and_copies():
    prepared = gs.prepare("scatter", shape=[50, 16], indices=np.arange(100) % 50, axis=-2)
    assert isinstance(prepared, gs.Prepared)
    assert (prepared.operator, prepared.shape, prepared.nbytes) == ("scatter", (50, 16), 400)
    assert repr(prepared) == (
        "<gatherscatter.Prepared: 'scatter', shape=(50, 16), axis=0, mode='raise'; 100 indices, 400 bytes>"
    )
    prepared.scatter(np.zeros((50, 16)), 1.0, reduction="add")
    assert prepared.nbytes == 400  # no order: the data are too small
    prepared.scatter(np.zeros((50, 200)), 1.0, reduction="add")
    assert prepared.nbytes == 400 + 4 * 150
    assert copy.copy(prepared) is copy.deepcopy(prepared) is prepared
    with pytest.raises(AttributeError):
        prepared.shape = (3,)
    assert pickle.loads(pickle.dumps(prepared)).nbytes == 400


def test_an_order_is_deleted_with_its_indices():
    prepared = gs.prepare("scatter", (50, 200), np.arange(100) % 50)
    prepared.scatter(np.zeros((50, 200)), 1.0)
    memory = weakref.ref(prepared._orders.by_row[0])
    del prepared
    gc.collect()
    assert memory() is None


def test_an_order_of_another_size_is_not_used():
    rng = np.random.default_rng(0)
    data, updates, rows = np.zeros((2000, 16)), rng.random((5000, 16)), rng.integers(0, 2000, 5000)
    prepared = gs.prepare("scatter", data.shape, rows)
    expected = prepared.scatter(data, updates, reduction="add")
    end, numbers = prepared._orders.by_row
    with kernels.forced(2, scatter="partition"):
        for order in ((end[:-1], numbers), (end, numbers[:-1]), (numbers, end), (end, numbers, end)):
            prepared._orders.by_row = order
            assert_same_bits(prepared.scatter(data, updates, reduction="add"), expected)
        prepared._orders.by_row = end, numbers[::-1].copy()
        assert (prepared.scatter(data, updates, reduction="add") != expected).any()  # so the order matters


def test_unpickled_indices_are_copied():
    """A buffer of pickle's protocol 5 may be written to later."""
    buffers = []
    prepared = gs.prepare("scatter", (2000, 16), np.arange(5000) % 2000)
    message = pickle.dumps(prepared, protocol=5, buffer_callback=buffers.append)
    memory = [bytearray(buffer.raw()) for buffer in buffers]
    again = pickle.loads(message, buffers=memory)
    for buffer in memory:
        buffer[:] = bytes(len(buffer))
    assert_same_bits(again.scatter(np.zeros((2000, 16)), 1.0, reduction="add").sum(axis=1), 16.0 * prepared.counts)
    assert len(memory) == 1


def test_an_order_without_memory_is_done_without(monkeypatch):
    def group(*_):
        raise MemoryError

    prepared = gs.prepare("scatter", (2000, 16), np.arange(5000) % 2000)
    with monkeypatch.context() as patch:
        patch.setattr("gatherscatter.backends.kernels._gather.group", group)
        result = prepared.scatter(np.zeros((2000, 16)), 1.0, reduction="add")
    assert_same_bits(result[:, 0], prepared.counts.astype(float))
    assert prepared.nbytes == 4 * 5000


def test_many_threads_may_make_the_order():
    rng = np.random.default_rng(0)
    rows, data = rng.integers(0, 2000, 100_000), np.zeros((2000, 16))
    updates = rng.standard_normal((100_000, 16))
    expected = gs.scatter(data, rows, updates, reduction="add")
    prepared = gs.prepare("scatter", data.shape, rows)
    with ThreadPoolExecutor(8) as pool:
        for result in pool.map(lambda _: prepared.scatter(data, updates, reduction="add"), range(16)):
            assert_same_bits(result, expected)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_bad_index_has_the_function_s_error(function):
    suffix = function.removeprefix("gather").removeprefix("scatter")
    for name in (name for name in CASES if name.partition(",")[0] == f"gather{suffix}" and "no axis" not in name):
        _, data, indices, updates, options = case(name)
        if not indices.size:
            continue
        indices = indices.copy()
        indices.reshape(-1)[-1] = 99
        arguments = (data, indices, updates) if "scatter" in function else (data, indices)
        for value in (indices, indices.astype(float)):
            with pytest.raises((IndexError, TypeError)) as expected:
                getattr(gs, function)(arguments[0], value, *arguments[2:], **options)
            assert_refused(
                lambda: gs.prepare(function, data.shape, value, **options),  # noqa: B023
                expected.type,
                str(expected.value).partition(", or swap")[0],
            )


ROWS = gs.prepare("scatter", (3, 2), [0, 2])
PAIRS = gs.prepare("gather_nd", (3, 2), [[0, 1]])
LINES = gs.prepare("gather_elements", (3, 2), [[0, 1]])


@each_refused({
    "class": (lambda: gs.Prepared(), TypeError,
              "Prepared: objects of this class are made by gatherscatter.prepare; call that"),
    "operator": (lambda: gs.prepare("gathers", (3,), [0]), ValueError,
                 "prepare: operator='gathers' is not one of 'gather', 'scatter', 'gather_nd', 'scatter_nd', "
                 "'gather_elements', 'scatter_elements', 'segment'; did you mean 'gather'?"),
    "function": (lambda: gs.prepare(gs.gather, (3,), [0]), TypeError,
                 f"prepare: operator={gs.gather!r} is not a string; did you mean 'gather'?"),
    "shape": (lambda: gs.prepare("gather", 3, [0]), TypeError,
              "prepare: shape=3 is not a tuple of sizes; pass data.shape"),
    "data": (lambda: gs.prepare("gather", np.zeros((2, 2)), [0]), TypeError,
             "prepare: shape=array([[0., 0.], [0., 0.]]) is not a tuple of sizes; pass data.shape"),
    "negative": (lambda: gs.prepare("gather", (3, -1), [0]), ValueError,
                 "prepare: shape=(3, -1) is not a tuple of sizes; pass data.shape"),
    "axis": (lambda: gs.prepare("gather_nd", (3,), [[0]], axis=0), TypeError,
             "gather_nd: there is no axis= here: its tuples index the leading axes of data; for one axis call gather, "
             "or gather_elements"),
    "batch": (lambda: gs.prepare("scatter_elements", (3,), [0], batch_dims=0), TypeError,
              "scatter_elements: there is no batch_dims= here: all its axes but axis are shared; omit batch_dims=, or "
              "call scatter"),
    "mode": (lambda: gs.prepare("gather", (3,), [0], mode="drop"), ValueError,
             "gather: mode='drop' is for scatters only; use mode='fill'"),
    "other rows": (lambda: ROWS.scatter(np.zeros((4, 2)), 1.0), ValueError,
                   "scatter: data has shape (4, 2), but the indices were prepared for shape (3, 2); pass data whose "
                   "shape begins with (3,), or call prepare for this shape"),
    "no rows": (lambda: ROWS.gather(5.0), ValueError,
                "gather: data has shape (), but the indices were prepared for shape (3, 2); pass data whose shape "
                "begins with (3,), or call prepare for this shape"),
    "other pairs": (lambda: PAIRS.gather(np.zeros((2, 3))), ValueError,
                    "gather_nd: data has shape (2, 3), but the indices were prepared for shape (3, 2); pass data whose "
                    "shape begins with (3, 2), or call prepare for this shape"),
    "other elements": (lambda: LINES.gather(np.zeros((3, 2, 1))), ValueError,
                       "gather_elements: data has shape (3, 2, 1), but the indices were prepared for shape (3, 2); "
                       "pass data whose shape is (3, 2), or call prepare for this shape"),
    "updates": (lambda: ROWS.scatter(np.zeros((3, 2)), np.ones((3, 2))), ValueError,
                "scatter: updates has shape (3, 2); pass shape (2, 2), or one that broadcasts to it"),
    "out": (lambda: PAIRS.scatter(np.zeros((3, 2)), 1.0, out=np.zeros(6)), ValueError,
            "scatter_nd: out has shape (6,), but the result has shape (3, 2); pass out of that shape"),
})  # fmt: skip
def test_refusals(call, kind, message):
    assert_refused(call, kind, message)


def test_a_refused_scatter_in_place_changes_nothing():
    data = np.arange(6.0).reshape(3, 2)
    with pytest.raises(TypeError):
        ROWS.scatter(data, np.ones((2, 2), "c16"), out=data)
    assert data.tolist() == [[0, 1], [2, 3], [4, 5]]


def test_prepared_indices_in_a_plain_call():
    prepared = gs.prepare("scatter", (3,), [0, 2])
    words = "which is not an array; call one of its methods, indices.gather(data) or indices.scatter(data, updates)"
    for call in (
        lambda: gs.scatter(np.zeros(3), prepared, np.ones(2)),
        lambda: gs.gather(np.zeros(3), prepared),
        lambda: gs.gather(np.zeros(3), prepared, out=np.empty(2)),
    ):
        with pytest.raises(TypeError, match=re.escape(f"indices is a gatherscatter.Prepared, {words}")):
            call()


@pytest.mark.parametrize("dtype", ["U1", "M8[D]", "f8", "c16", "?", "O"])
def test_indices_that_are_no_integers(dtype):
    indices = np.zeros(2, dtype)
    with pytest.raises(TypeError, match="gather: indices has dtype"):
        gs.prepare("gather", (3,), indices)
    with pytest.raises(TypeError, match="segment_reduce: segment_ids has dtype"):
        gs.prepare("segment", (2,), indices)
