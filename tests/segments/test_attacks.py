"""What an adversary found: narrow and lazy ids, byte order, dtypes that NumPy lacks, gradients in out."""

import gatherscatter as gs
import ml_dtypes
import numpy as np
import pytest
from gatherscatter.backends import kernels

DATA = np.array([1.0, 2.0, 4.0, 8.0])


@pytest.fixture
def lazy(dask_in_this_thread):
    da = pytest.importorskip("dask.array")
    return lambda values, dtype="f8": da.from_array(np.array(values, dtype), chunks=2)


@pytest.mark.parametrize(("dtype", "n"), [("i1", 256), ("i1", 257), ("i1", 200), ("i2", 65536), ("u1", 300)])
def test_lazy_ids_of_a_narrow_dtype(lazy, dtype, n):
    ids = np.array([0, 3, 1, 0], dtype) if dtype == "u1" else np.array([0, -1, 1, 0], dtype)
    for reduction in ("add", "mean", "first", "argmax"):
        expected = gs.segment_reduce(DATA, ids, n, reduction=reduction)
        found = gs.segment_reduce(lazy(DATA), lazy(ids, dtype), n, reduction=reduction).compute()
        assert np.array_equal(found, expected, equal_nan=True)


@pytest.mark.parametrize("reduction", ["add", "mean", "count", "first", "argmax"])
def test_a_lazy_id_that_is_the_number_of_segments(lazy, reduction):
    found = gs.segment_reduce(lazy(DATA), lazy([0, 2, 1, -1], "i8"), 2, reduction=reduction)
    with pytest.raises(IndexError, match="an id of 2 is not below num_segments=2; pass num_segments=3 or more"):
        found.compute()
    dropped = gs.segment_reduce(lazy(DATA), lazy([0, 2, 1, -1], "i8"), 2, reduction=reduction, mode="drop")
    assert np.array_equal(dropped.compute(), gs.segment_reduce(DATA, [0, -1, 1, -1], 2, reduction=reduction))


def test_lazy_softmax(lazy):
    with pytest.raises(IndexError, match="an id of 2 is not below"):
        gs.segment_softmax(lazy(DATA), lazy([0, 2, 1, 0], "i8"), 2).compute()
    with pytest.raises(NotImplementedError, match="Dask"):
        gs.segment_reduce(lazy([1, 2, 3, 4], "M8[s]"), [0, 0, 1, 1], reduction="max")


def test_compiled_ids():
    torch = pytest.importorskip("torch")
    call = torch.compile(lambda d, i: gs.segment_reduce(d, i, 2), fullgraph=True, backend="eager")
    data = torch.tensor(DATA)
    assert call(data, torch.tensor([0, -1, 1, 0], dtype=torch.int8)).tolist() == [9, 4]
    with pytest.raises(IndexError):
        call(data, torch.tensor([0, 2, 1, 0], dtype=torch.int8))


@pytest.mark.parametrize("dtype", [">M8[ns]", ">m8[D]", ">f4", ">i2"])
def test_byte_order(dtype):
    native = np.array([3, 0, -2, 7, 5]).astype(np.dtype(dtype).newbyteorder("="))
    if native.dtype.kind in "mM":
        native[1] = "NaT"
    for reduction in ("max", "min", "argmax", "argmin", "first", "last"):
        expected = gs.segment_reduce(native, [0, 0, 1, 1, 1], reduction=reduction)
        found = gs.segment_reduce(native.astype(dtype), [0, 0, 1, 1, 1], reduction=reduction)
        assert found.dtype == expected.dtype
        assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("reduction", ["add", "mean", "var", "std", "logsumexp", "max", "first"])
def test_bfloat16(reduction):
    data, ids = DATA.astype(ml_dtypes.bfloat16), [0, 2, 0, -1]
    expected = gs.segment_reduce(DATA, ids, reduction=reduction, fill_value=3)
    for skipna in (False, True):
        found = gs.segment_reduce(data, ids, reduction=reduction, skipna=skipna, fill_value=3)
        assert found.dtype == data.dtype
        np.testing.assert_allclose(found.astype("f8"), expected, rtol=1e-2)
    assert gs.segment_softmax(data, ids).dtype == data.dtype


def test_dates_to_fill_with():
    days = np.array(["2026-01-01", "2026-01-03"], "M8[D]")
    fill = np.datetime64("2020-01-01")
    for reduction in ("max", "min", "first", "last"):
        assert gs.segment_reduce(days, [1, 1], reduction=reduction, fill_value=fill)[0] == fill


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_unsigned_ids_of_pytorch(dtype):
    torch = pytest.importorskip("torch")
    data, ids = torch.tensor(DATA), torch.tensor([0, 2, 1, 0]).to(getattr(torch, dtype))
    assert gs.segment_reduce(data, ids).tolist() == [9, 4, 2]
    assert gs.segment_softmax(data, ids)[2] == 1
    with pytest.raises(IndexError, match=r"segment_ids\[1\] = 2 is not below num_segments=2"):
        gs.segment_reduce(data, ids, 2)
    assert gs.segment_reduce(data, ids, 2, mode="drop").tolist() == [9, 4]
    assert gs.bincount(ids).tolist() == [2, 1, 1]


def test_out_that_would_take_a_gradient():
    torch = pytest.importorskip("torch")
    data = torch.tensor(DATA, requires_grad=True)
    for call in (gs.segment_softmax, gs.segment_reduce):
        out = torch.zeros(4 if call is gs.segment_softmax else 3, dtype=torch.float64)
        with pytest.raises(RuntimeError, match="requires grad"):
            call(data, torch.tensor([0, 2, 1, 0]), out=out)
        assert out.grad_fn is None
    out = torch.zeros(3)
    with pytest.raises(RuntimeError, match="requires grad"):
        gs.segment_reduce(data, torch.tensor([0, 2, 1, 0]), dtype=torch.float32, out=out)


def test_mapped_ids():
    torch = pytest.importorskip("torch")
    data, ids = torch.tensor(np.stack([DATA, DATA])), torch.tensor([[0, 2, 1, 0], [1, 1, -1, 0]])
    found = torch.func.vmap(lambda d, i: gs.segment_reduce(d, i, 3, mode="drop"))(data, ids)
    assert found.tolist() == [[9, 4, 2], [8, 3, 0]]


def test_traced_pointers():
    jax = pytest.importorskip("jax")
    data, indptr = jax.numpy.asarray(DATA), jax.numpy.array([1, 3, 3, 4])
    found = jax.jit(lambda d, p: gs.segment_reduce(d, indptr=p, mode="drop"))(data, indptr)
    assert found.tolist() == [6, 0, 8]
    listed = jax.jit(lambda d: gs.segment_reduce(d, [0, 0, 1, -1]))(data)
    assert listed.tolist() == [3, 4]


def test_options():
    with pytest.raises(TypeError, match="dtype='complex64' cannot hold"):
        gs.segment_softmax(DATA, [0, 1, 0, 1], dtype="c8")
    for correction in ("a", None, 1j, np.array([1, 2])):
        with pytest.raises(TypeError, match=r"correction=.* is not a real number"):
            gs.segment_reduce(DATA, [0, 1, 0, 1], reduction="var", correction=correction)
    with pytest.raises(ValueError, match="correction=1 is for reduction='var' and 'std'"):
        gs.segment_reduce(DATA, [0, 1, 0, 1], correction=1)
    assert gs.segment_reduce(DATA.astype("u1"), [0, 1, 0, 1], dtype="i8").dtype == np.int64


def test_weights_in_another_byte_order():
    source, weights = DATA.astype(">f8"), np.array([1.0, 2.0, 3.0])
    for factors in (weights, weights.astype(">f8"), weights.tolist()):
        if isinstance(factors, np.ndarray) and factors.dtype != source.dtype:
            continue
        found = gs.gather_scatter(np.zeros(2, ">f8"), [0, 1, 1], source, [3, 0, 1], weights=factors, reduction="add")
        assert found.tolist() == [8, 8]
    spans = np.zeros(3, "m8[s]")
    with pytest.raises(TypeError, match="does not support dtype"):
        gs.gather_scatter(spans, [0], spans, [0], weights=spans[:1])


def test_any_number_of_threads_with_ids_of_none():
    rng = np.random.default_rng(0)
    ids = rng.integers(-3, 50, 5000)
    data = rng.standard_normal(5000).astype("f4")
    results = set()
    for n_threads in (1, 2, 8, 64):
        with kernels.forced(n_threads):
            results.add(gs.segment_reduce(data, ids, 60, mode="drop").tobytes())
    assert len(results) == 1
