"""Prepared ids of segments: what the plain calls give, on every library, and the order of the elements."""

import pickle

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_refused, assert_same_bits, each_refused
from gatherscatter.backends import kernels
from libraries import LIBRARIES, on_each

REDUCTIONS = ("add", "mul", "max", "min", "mean", "var", "std", "any", "all", "count", "first", "last", "argmax",
              "argmin", "logsumexp", "median", "nunique")  # fmt: skip

# Shapes of data and of the ids, the axis and the number of shared axes.
SHAPES = {
    "elements": ((40,), (40,), 0, 0),
    "rows": ((30, 3), (30,), 0, 0),
    "columns": ((3, 30), (30,), -1, 0),
    "an image": ((5, 6, 2), (5, 6), 0, 0),
    "batches": ((2, 3, 12), (2, 12), 2, 1),
    "nothing": ((0, 2), (0,), 0, 0),
}


def draw(name, least=-1, n=5):
    shape, ids_shape, axis, batch_dims = SHAPES[name]
    rng = np.random.default_rng(0)
    data = rng.standard_normal(shape)
    return data, rng.integers(least, n, ids_shape), {"axis": axis, "batch_dims": batch_dims}


@pytest.mark.parametrize("least", [-1, 0])
@pytest.mark.parametrize("name", SHAPES)
def test_results_are_those_of_the_functions(name, least):
    data, ids, options = draw(name, least)
    prepared = gs.prepare("segment", data.shape, ids, 6, **options)
    for dtype in ("f4", "f8", "i4", "?", ">f4"):
        array = (data * 3).astype(dtype)
        array[array == 1] = 0
        fills = tuple(None if one in ("count", "add", "mean", "nunique") else True for one in REDUCTIONS)
        for skipna in (False, True):
            for min_count in (0, 4):
                settings = {"reduction": REDUCTIONS, "fill_value": (True, *fills[1:]), "skipna": skipna,
                            "min_count": min_count}  # fmt: skip
                expected = gs.segment_reduce(array, ids, 6, **options, **settings)
                for _ in range(2):  # the first call makes the order
                    for found, one in zip(prepared.reduce(array, **settings), expected, strict=True):
                        assert_same_bits(found, one)
        settings = {"reduction": "var", "correction": 1, "dtype": "float32"}
        if dtype != "f8":
            expected = gs.segment_reduce(array, ids, 6, **options, **settings)
            assert_same_bits(prepared.reduce(array, **settings), expected)
        assert_same_bits(prepared.softmax(array), gs.segment_softmax(array, ids, 6, **options))
        assert_same_bits(prepared.log_softmax(array), gs.segment_log_softmax(array, ids, 6, **options))


@pytest.mark.parametrize("n_threads", [1, 2])
def test_sums_of_ordered_rows_give_the_same_bits(n_threads):
    rng = np.random.default_rng(0)
    ids, data = rng.integers(-1, 700, 9000), rng.standard_normal((9000, 64))
    prepared = gs.prepare("segment", data.shape, ids)
    for dtype in ("f4", "f8", "f2"):
        array = data.astype(dtype)
        with kernels.forced(n_threads):
            for reduction in ("add", "max", "mean", "var"):
                expected = gs.segment_reduce(array, ids, reduction=reduction)
                assert_same_bits(prepared.reduce(array, reduction=reduction), expected)


@pytest.mark.parametrize("library", on_each(LIBRARIES))
@pytest.mark.parametrize("name", ["an image", "batches"])
def test_every_library(library, name):
    data, ids, options = draw(name)
    of_ids = [ids.tolist(), *([] if library.package == "dask" else [library.asarray(ids)])]
    of_ids = of_ids[name == "batches" :][:1] if library.name == "JAX, XLA" else of_ids
    some = "add", *REDUCTIONS[1 + (name == "batches") :: 2 if library.name != "JAX, XLA" else 6]
    array, settings = library.asarray(data), {"reduction": some, "fill_value": True}
    with library.way():
        expected = gs.segment_reduce(array, of_ids[-1], 6, **options, **settings)
    for given in of_ids:
        prepared = gs.prepare("segment", data.shape, given, 6, **options)
        with library.way():
            found = prepared.reduce(array, **settings)
            weights, logs = prepared.softmax(array), prepared.log_softmax(array)
            apart = array - prepared.gather(found[0])
        for one, other in zip(found, expected, strict=True):
            assert type(one) is type(array)
            assert_same_bits(library.asnumpy(one), library.asnumpy(other))
        np.testing.assert_allclose(library.asnumpy(weights), gs.segment_softmax(data, ids, 6, **options), 1e-12)
        np.testing.assert_allclose(library.asnumpy(logs), gs.segment_log_softmax(data, ids, 6, **options), 1e-12)
        sums = gs.segment_reduce(data, ids, 6, **options)
        strict = {"mode": "fill", "wrap_negative_indices": False, "fill_value": np.nan}
        np.testing.assert_allclose(
            library.asnumpy(apart), data - gs.gather(sums, ids, **options, **strict), 1e-12, 1e-12
        )


@pytest.mark.parametrize("library", on_each([one for one in LIBRARIES if one.package != "dask"]))
def test_the_order_belongs_to_the_ids_library(library):
    prepared = gs.prepare("segment", (4,), library.asarray(np.array([1, 0, 1, -1])))
    for found, expected in ((prepared.order, [1, 0, 2]), (prepared.indptr, [0, 1, 3]), (prepared.counts, [1, 2])):
        assert type(found) is type(library.asarray(np.zeros(1)))
        assert library.asnumpy(found).tolist() == expected


@pytest.mark.parametrize("dtype", ["i8", "u1"])
@pytest.mark.parametrize("name", SHAPES)
def test_order(name, dtype):
    """The segments of batches follow each other."""
    data, ids, options = draw(name, -1 if dtype == "i8" else 0)
    prepared = gs.prepare("segment", data.shape, ids.astype(dtype), 6, **options)
    batches = ids.reshape(*ids.shape[: options["batch_dims"]], -1) if options["batch_dims"] else ids.reshape(1, -1)
    numbers = np.where(batches < 0, len(batches) * 6, batches + 6 * np.arange(len(batches))[:, None]).reshape(-1)
    assert prepared.order.tolist() == np.argsort(numbers, kind="stable")[: np.sum(ids >= 0)].tolist()
    counts = np.bincount(numbers, minlength=6 * len(batches))[: 6 * len(batches)]
    assert prepared.counts.reshape(-1).tolist() == counts.tolist()
    assert prepared.counts.shape == (*ids.shape[: options["batch_dims"]], 6)
    assert prepared.indptr.tolist() == [0, *np.cumsum(counts).tolist()]
    with pytest.raises(ValueError, match="read-only"):
        prepared.order[...] = 0


def test_no_elements_and_no_segments():
    prepared = gs.prepare("segment", (0,), [], 0)
    assert (prepared.order.tolist(), prepared.indptr.tolist(), prepared.num_segments) == ([], [0], 0)
    assert gs.prepare("segment", (2,), [-1, -1]).order.tolist() == []


def test_pointers():
    data = np.arange(12.0).reshape(2, 6)
    for indptr, batch_dims in (([1, 3, 3, 5], 0), ([[0, 2, 6], [3, 3, 4]], 1)):
        options = {"axis": 1, "batch_dims": batch_dims}
        prepared = gs.prepare("segment", data.shape, indptr=indptr, **options)
        assert_same_bits(prepared.reduce(data), gs.segment_reduce(data, indptr=indptr, **options))
        assert_same_bits(prepared.softmax(data), gs.segment_softmax(data, indptr=indptr, **options))
    assert prepared.order.tolist() == [0, 1, 2, 3, 4, 5, 9]
    assert prepared.indptr.tolist() == [0, 2, 6, 6, 7]


def test_data_of_other_widths_and_into_out():
    prepared = gs.prepare("segment", (4, 2), [1, 0, 1, 0])
    assert prepared.reduce([1.0, 2.0, 3.0, 4.0]).tolist() == [6, 4]
    out = np.zeros((2, 2, 3))
    assert prepared.reduce(np.ones((4, 2, 3)), out=out) is out
    assert (out == 2).all()
    weights = np.zeros(4)
    assert prepared.softmax(np.zeros(4), out=weights) is weights
    assert weights.tolist() == [0.5] * 4


@pytest.mark.filterwarnings("error::DeprecationWarning")  # a NaT without a unit
def test_gather():
    prepared = gs.prepare("segment", (2, 4), [1, 0, -1, 1], axis=1)
    values = np.array([[1, 2], [3, 4]])
    assert prepared.gather(values, fill_value=9).tolist() == [[2, 1, 9, 2], [4, 3, 9, 4]]
    assert prepared.gather(values.astype("c8"))[0, :2].tolist() == [2, 1]
    assert np.isnan(prepared.gather(values.astype("c8"))[0, 2])
    dates = values.astype("datetime64[D]")
    assert prepared.gather(dates)[0].astype(str).tolist() == ["1970-01-03", "1970-01-02", "NaT", "1970-01-03"]
    assert gs.prepare("segment", (2,), [1, 0]).gather([5, 6]).tolist() == [6, 5]


def test_dates():
    dates = np.array(["2020-01-01", "NaT", "2021-01-01"], "datetime64[D]")
    prepared = gs.prepare("segment", (3,), [0, 0, 2])
    for found, expected in zip(
        prepared.reduce(dates, reduction=("max", "first", "count"), skipna=True),
        gs.segment_reduce(dates, [0, 0, 2], reduction=("max", "first", "count"), skipna=True),
        strict=True,
    ):
        assert_same_bits(found, expected)


def test_attributes_and_copies():
    ids = np.array([1, 0, -1])
    prepared = gs.prepare("segment", (3, 2), ids, 3)
    assert repr(prepared) == "<gatherscatter.PreparedSegments: shape=(3, 2), axis=0; 3 segments, 12 bytes>"
    ids[:] = 0
    for one in (prepared, pickle.loads(pickle.dumps(prepared))):
        assert (one.shape, one.num_segments, one.order.tolist()) == ((3, 2), 3, [1, 0])
        assert one.reduce(np.array([1.0, 2.0, 4.0])).tolist() == [2, 1, 0]


def test_pytorch_gradients():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    ids, values = torch.from_numpy(rng.integers(-1, 300, 600)), rng.standard_normal((600, 32))
    prepared = gs.prepare("segment", values.shape, ids)

    def gradient(reduce, softmax, gather):
        data = torch.tensor(values, requires_grad=True)
        sums, deviations, largest = (reduce(data, name) for name in ("add", "std", "max"))
        apart = data - gather(deviations)
        result = torch.nan_to_num(apart) * softmax(data) + torch.nan_to_num(gather(sums * largest))
        return torch.autograd.grad((result * torch.arange(32.0)).sum(), data)[0]

    found = gradient(lambda x, name: prepared.reduce(x, reduction=name), prepared.softmax, prepared.gather)
    strict = {"mode": "fill", "wrap_negative_indices": False, "fill_value": float("nan")}
    expected = gradient(
        lambda x, name: gs.segment_reduce(x, ids, reduction=name),
        lambda x: gs.segment_softmax(x, ids),
        lambda x: gs.gather(x, ids, **strict),
    )
    assert torch.equal(found, expected)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.torch.jit.* is deprecated")
@pytest.mark.filterwarnings("ignore:.*autograd.function.Function.* should not be instantiated:DeprecationWarning")
def test_pytorch_compiles():
    torch = pytest.importorskip("torch")
    prepared = gs.prepare("segment", (4, 2), torch.tensor([1, 0, -1, 1]))
    data = torch.arange(8.0).reshape(4, 2)

    def means(x):
        return prepared.reduce(x, reduction="mean")

    for function in (means, prepared.softmax, lambda x: prepared.gather(x[:2])):
        torch.testing.assert_close(torch.compile(function, fullgraph=True)(data), function(data), equal_nan=True)


def test_jax_traces():
    jax = pytest.importorskip("jax")
    values = np.random.default_rng(0).standard_normal((7, 2))
    ids = jax.numpy.asarray([2, 0, -1, 0, 2, 2, 3])
    prepared = gs.prepare("segment", values.shape, ids)

    def loss(data):
        means = prepared.reduce(data, reduction="mean")
        apart = data - prepared.gather(means, fill_value=0)
        return jax.numpy.nansum(apart * prepared.softmax(data))

    def plain(data):
        means = gs.segment_reduce(data, ids, 4, reduction="mean")
        apart = data - gs.gather(means, ids, mode="fill", wrap_negative_indices=False)
        return jax.numpy.nansum(apart * gs.segment_softmax(data, ids, 4))

    data = jax.numpy.asarray(values)
    expected, gradient = jax.jit(jax.value_and_grad(plain))(data)
    for wrap in (lambda f: f, jax.jit):
        np.testing.assert_allclose(wrap(loss)(data), expected, 1e-5)
        np.testing.assert_allclose(jax.grad(wrap(loss))(data), gradient, 1e-5, 1e-6)
    assert prepared.reduce(data).shape == (4, 2)  # not a constant of the trace


def test_lazy_ids_are_refused():
    da = pytest.importorskip("dask.array")
    assert_refused(
        lambda: gs.prepare("segment", (3,), da.arange(3)),
        TypeError,
        "segment_reduce: segment_ids is a Dask array, whose elements are unknown at the call; pass one whose elements "
        "are known, or call segment_reduce itself",
    )


def test_too_large_ids():
    with pytest.raises(IndexError, match=r"^segment_reduce: segment_ids\[1\] = 4 is not below num_segments=3; "):
        gs.prepare("segment", (3,), [0, 4, 1], 3)
    prepared = gs.prepare("segment", (3,), [0, 4, 1], 3, mode="drop")
    assert prepared.counts.tolist() == [1, 1, 0]


ROWS = gs.prepare("segment", (3, 2), [1, 0, -1])


@each_refused({
    "class": (lambda: gs.PreparedSegments(), TypeError,
              "PreparedSegments: objects of this class are made by gatherscatter.prepare; call that"),
    "no ids": (lambda: gs.prepare("segment", (3,)), TypeError,
               "segment_reduce: segment_ids and indptr are missing; pass one of them"),
    "ids twice": (lambda: gs.prepare("segment", (3,), [0, 0, 1], segment_ids=[0, 0, 1]), TypeError,
                  "prepare: segment_ids= is given by position too; pass the ids once"),
    "wrapping": (lambda: gs.prepare("segment", (3,), [0, 0, 1], wrap_negative_indices=False), TypeError,
                 "prepare: wrap_negative_indices=False is not for operator='segment', where a negative id means no "
                 "segment; call prepare without it"),
    "ids of a gather": (lambda: gs.prepare("gather", (3,), segment_ids=[0]), TypeError,
                        "prepare: segment_ids is for operator='segment', not 'gather'; pass indices="),
    "pointers of a scatter": (lambda: gs.prepare("scatter", (3,), [0], indptr=[0, 3]), TypeError,
                              "prepare: indptr is for operator='segment', not 'scatter'; pass axis= and other options "
                              "by keyword"),
    "labels": (lambda: gs.prepare("segment", (2,), np.array(["a", "b"])), TypeError,
               "segment_reduce: segment_ids has dtype <U1, but ids are integers of 8 to 64 bits from 0 on; ids of "
               "labels are numpy.unique(labels, return_inverse=True)[1]; pass these"),
    "shape of ids": (lambda: gs.prepare("segment", (3, 2), [0, 1], 3), ValueError,
                     "segment_reduce: segment_ids has shape (2,); with axis=0 and batch_dims=0 it has one id for each "
                     "position of data of shape (3, 2): pass shape (3,)"),
    "shape": (lambda: ROWS.softmax(np.zeros((4, 2))), ValueError,
              "segment_softmax: data has shape (4, 2), but the segment_ids were prepared for shape (3, 2); pass data "
              "whose shape begins with (3,), or call prepare for this shape"),
    "values": (lambda: ROWS.gather(np.zeros(3)), ValueError,
               "gather: values has shape (3,); pass a value for each segment, of a shape that begins with (2,)"),
    "no NaN": (lambda: ROWS.gather([1, 2]), ValueError,
               "gather: element 2 belongs to no segment, and int64 has no NaN to say so; pass fill_value="),
    "reduction": (lambda: ROWS.reduce(np.zeros((3, 2)), reduction="sum"), ValueError,
                  "segment_reduce: reduction='sum' is not one of 'add', 'mul', 'max', 'min', 'mean', 'var', 'std', "
                  "'any', 'all', 'count', 'first', 'last', 'argmax', 'argmin', 'logsumexp', 'median', 'nunique'; "
                  "did you mean 'add'?"),
    "as ids": (lambda: gs.segment_reduce(np.zeros(3), ROWS), TypeError,
               "segment_reduce: segment_ids is a gatherscatter.PreparedSegments, which is not an array; call one of "
               "its methods, such as segment_ids.reduce(data)"),
})  # fmt: skip
def test_refusals(call, kind, message):
    assert_refused(call, kind, message)
