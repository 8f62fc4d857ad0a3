"""What an adversary found: narrow and lazy ids, byte order, dtypes that NumPy lacks, gradients in out."""

import gatherscatter as gs
import ml_dtypes
import numpy as np
import pytest
from gatherscatter.backends import kernels
from gatherscatter.segments import rules
from libraries import LIBRARIES, on_each

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


def test_jax_without_64_bits_outside_of_programs():
    """The kernels' sums, which are made in float64, and the dtypes that programs have."""
    jax = pytest.importorskip("jax")
    rng = np.random.default_rng(0)
    data, ids = (2e6 + np.arange(20_000) % 7).astype("f4"), rng.integers(0, 3, 20_000, "i4")
    with jax.enable_x64(False):
        arrays = jax.numpy.asarray(data), jax.numpy.asarray(ids)
        for reduction in ("add", "mean", "var", "count", "argmax", "any"):
            found = gs.segment_reduce(*arrays, 3, reduction=reduction)
            program = jax.jit(lambda d, i, r=reduction: gs.segment_reduce(d, i, 3, reduction=r, mode="drop"))
            assert (type(found), found.dtype) == (type(arrays[0]), program(*arrays).dtype)
            np.testing.assert_array_equal(found, gs.segment_reduce(data, ids, 3, reduction=reduction))


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
    with pytest.raises(ValueError, match="correction is an integer that no float64 holds"):
        gs.segment_reduce(DATA, [0, 1, 0, 1], reduction="var", correction=10**400)
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


def large(library, array):
    """The array in the library; not in the many chunks that Dask's arrays have in these tests."""
    if library.package == "dask":
        return pytest.importorskip("dask.array").from_array(array, chunks=30_000)
    return library.asarray(array)


def size_for(library, n):
    """Fewer elements for the standard's functions, which take a step for each element of a segment."""
    return 400 if library.package == "array_api_strict" else n


# Where arithmetic on ids in their own dtype goes wrong: numbers of segments beyond it.
NARROW = [
    ("i1", 127),
    ("i1", 128),
    ("i1", 1000),
    ("u1", 255),
    ("u1", 256),
    ("u1", 1000),
    ("i2", 32_768),
    ("u2", 65_536),
]


@pytest.mark.parametrize("library", on_each(LIBRARIES))
def test_narrow_ids(library):
    with library.way():
        data = library.asarray(DATA)
        for dtype, n in NARROW[1::7] if library.name == "JAX, XLA" else NARROW:
            ids = np.array([0, 3, 1, 0] if dtype[0] == "u" else [0, -1, 1, 0], dtype)
            wide = ids.astype("i8")
            for mode in ("raise", "drop"):
                found = gs.segment_reduce(data, library.asarray(ids), n, mode=mode)
                np.testing.assert_array_equal(library.asnumpy(found), gs.segment_reduce(DATA, wide, n))
            found = gs.segment_softmax(data, library.asarray(ids), n)
            np.testing.assert_allclose(library.asnumpy(found), gs.segment_softmax(DATA, wide, n))
            prepared, expected = (gs.prepare("segment", (4,), given, n) for given in (ids, wide))
            np.testing.assert_array_equal(library.asnumpy(prepared.reduce(data)), expected.reduce(DATA))
            values = np.arange(n, dtype="f8")
            found = prepared.gather(large(library, values), fill_value=-1)
            np.testing.assert_array_equal(library.asnumpy(found), expected.gather(values, fill_value=-1))
            np.testing.assert_array_equal(prepared.order, expected.order)
            length = {"length": n} if library.package == "dask" else {"minlength": n}
            found = gs.bincount(library.asarray(ids), data, mode="drop", **length)
            np.testing.assert_array_equal(library.asnumpy(found)[:4], gs.bincount(wide, DATA, 4, mode="drop")[:4])
            rows, pairs = (np.zeros(n), np.array([0, 1, 0, 2])), library.asarray(np.array([3, 1, 0, 2], dtype))
            found = gs.gather_scatter(
                large(library, rows[0]), library.asarray(ids), data, pairs, reduction="add", mode="drop"
            )
            expected = gs.gather_scatter(rows[0], wide, DATA, [3, 1, 0, 2], reduction="add", mode="drop")
            np.testing.assert_array_equal(library.asnumpy(found), expected)


@pytest.mark.parametrize("library", on_each(LIBRARIES))
def test_variances_of_equal_elements(library):
    for number, dtype in ((3674.6620574561293, "f8"), (1e15, "f4")):
        n = size_for(library, 70_001)
        with library.way():
            data, ids = large(library, np.full(n, number, dtype)), large(library, np.arange(n) % 2)
            for result in gs.segment_reduce(data, ids, 2, reduction=("var", "std")):
                found = library.asnumpy(result).astype("f8")
                assert (found >= 0).all()
                assert (found <= 1e-12 * number**2).all()


@pytest.mark.parametrize("block", [None, 1, 2])
def test_variances_of_which_sums_of_squares_overflow(block, monkeypatch):
    if block:
        monkeypatch.setattr(rules, "block_length", lambda layout: block)
    for data in ([9.2e153, 9.9e145, 8.7e-300], [1.2e154, 0.0, 0.0, 0.0], [-9e153, 9e153]):
        for array in (np.array(data), np.array(data) * 1j):
            found = gs.segment_reduce(array, np.zeros(len(data), int), reduction=("var", "std"))
            np.testing.assert_allclose(np.concatenate(found), [np.var(data), np.std(data)], rtol=1e-12)


def test_a_variance_is_not_negative():
    for n, number in ((1_000_003, 3674.6620574561293), (1000, 0.1), (77_777, -1e10 / 3)):
        var, std = gs.segment_reduce(np.full(n, number), np.zeros(n, int), reduction=("var", "std"))
        assert 0 <= var[0] <= 1e-12 * number**2
        assert std[0] == var[0] ** 0.5


@pytest.mark.parametrize("first", [None, 0, 1e30])
@pytest.mark.parametrize("library", on_each(LIBRARIES))
def test_float32_far_from_zero(library, first):
    """Of numbers around 2 000 000, sums in float32 lose what the numbers differ by. first: sentinels."""
    n = size_for(library, 200_000)
    data, ids = (2e6 + np.arange(n) % 7).astype("f4"), np.arange(n) % 4
    if first is not None:
        data[:4] = 0 if first == 0 else np.nan
    options = {"reduction": ("mean", "var"), "skipna": first == 1e30}
    mean, var = gs.segment_reduce(data.astype("f8"), ids, 4, **options)
    with library.way():
        arrays = large(library, data), large(library, ids)
        found = gs.segment_reduce(*arrays, 4, **options)
        found = [library.asnumpy(result).astype("f8") for result in found]
    np.testing.assert_allclose(found[0], mean, atol=1)
    np.testing.assert_allclose(found[1], var, rtol=0.01)


@pytest.mark.parametrize("how", ["jit", "float32", "vmap"])
def test_float32_far_from_zero_without_kernels(how):
    data, ids = (2e6 + np.arange(200_000) % 7).astype("f4"), np.arange(200_000) % 4
    mean, var = gs.segment_reduce(data.astype("f8"), ids, 4, reduction=("mean", "var"))

    def call(d, i):
        return gs.segment_reduce(d, i, 4, reduction=("mean", "var"), mode="drop")

    if how == "vmap":
        torch = pytest.importorskip("torch")
        found = [x[0] for x in torch.func.vmap(call)(torch.tensor(data)[None], torch.tensor(ids)[None])]
    else:
        jax = pytest.importorskip("jax")
        with jax.enable_x64(False):
            run = jax.jit(call) if how == "jit" else call
            found = run(jax.numpy.asarray(data), jax.numpy.asarray(ids, "int32"))
            assert found[0].dtype == np.float32
    np.testing.assert_allclose(np.asarray(found[0], "f8"), mean, atol=1)
    np.testing.assert_allclose(np.asarray(found[1], "f8"), var, rtol=0.01)


def test_outs_that_share_memory():
    torch = pytest.importorskip("torch")
    ids = np.array([0, 2, 1, 0])
    for data, store in (
        (DATA, np.full((4, 2), 7.0)),
        (torch.tensor(DATA), torch.full((4, 2), 7.0, dtype=torch.float64)),
    ):
        own = ids if data is DATA else torch.tensor(ids)
        same = store[:3, 0]
        for outs in ((store[:3, 0], store[1:, 0]), (same, same), (store[:3, 0], store[:3, 0])):
            with pytest.raises(ValueError, match="two arrays of out share memory"):
                gs.segment_reduce(data, own, reduction=("add", "max"), out=outs)
        assert (store == 7).all()
        outs = store[:3, 0], store[:3, 1]
        assert gs.segment_reduce(data, own, reduction=("add", "max"), out=outs) == outs
        assert store.tolist() == [[9, 8], [4, 4], [2, 2], [7, 7]]


def test_outs_are_written_all_or_none():
    torch = pytest.importorskip("torch")
    data, ids = torch.tensor(DATA), torch.tensor([0, 2, 1, 0])
    outs = torch.full((3,), 7.0, dtype=torch.float64), torch.full((1,), 7.0, dtype=torch.float64).expand(3)
    with pytest.raises(ValueError, match="elements of out share memory"):
        gs.segment_reduce(data, ids, reduction=("add", "max"), out=outs)
    assert outs[0].tolist() == [7, 7, 7]
    with pytest.raises(ValueError, match="elements of out share memory"):
        gs.segment_reduce(data, ids, out=outs[1])


def laid_out(array, how):
    """The array with another alignment, byte order or strides."""
    if how == "unaligned":
        store = np.zeros(array.nbytes + 1, "u1")[1:].view(array.dtype).reshape(array.shape)
        store[...] = array
        return store
    if how == "swapped":
        return array.astype(array.dtype.newbyteorder())
    return array if how == "plain" else np.repeat(array, 2, axis=-1)[..., ::2]


@pytest.mark.parametrize("how", ["unaligned", "swapped", "strided"])
@pytest.mark.parametrize("dtype", ["i2", "i4", "i8", "u8"])
def test_layouts_of_ids_and_pointers(dtype, how):
    data = np.stack([DATA, -DATA])
    for array, name in ((np.array([0, 2, 1, 0], dtype), "segment_ids"), (np.array([0, 1, 3], dtype), "indptr")):
        for batch_dims, given in ((0, array), (1, np.stack([array, array]))):
            options = {"axis": 1, "batch_dims": batch_dims}
            n = None if name == "indptr" else 3
            expected = gs.segment_reduce(data, **{name: given}, **options)
            ours = laid_out(given, how)
            np.testing.assert_array_equal(gs.segment_reduce(data, **{name: ours}, **options), expected)
            found = gs.segment_reduce(data, **{name: ours}, **options, reduction=("var", "argmax"), fill_value=0)
            np.testing.assert_array_equal(
                found, gs.segment_reduce(data, **{name: given}, **options, reduction=("var", "argmax"), fill_value=0)
            )
            prepared = gs.prepare("segment", data.shape, **{name: ours}, num_segments=n, **options)
            np.testing.assert_array_equal(prepared.reduce(data), expected)
            softmax = gs.segment_softmax(data, **{name: given}, **options)
            np.testing.assert_array_equal(gs.segment_softmax(data, **{name: ours}, **options), softmax)
            np.testing.assert_array_equal(prepared.softmax(data), softmax)


@pytest.mark.parametrize("library", on_each(LIBRARIES))
def test_an_empty_batch(library):
    for shape in ((0, 4), (0, 2, 4))[library.package == "jax" :]:  # compiles a program for each
        options = {"axis": len(shape) - 1, "batch_dims": len(shape) - 1}
        ids, indptr = np.zeros(shape, int), np.zeros((*shape[:-1], 3), int)
        with library.way():
            data = library.asarray(np.zeros(shape))
            every = {"segment_ids": library.asarray(ids), "num_segments": 2}, {"indptr": library.asarray(indptr)}
            for i, reduction in enumerate(("add", "var", "argmax", "first", "logsumexp")):
                for given in every if library.package in ("numpy", "torch") else every[i % 2 :: 2]:
                    found = gs.segment_reduce(data, **given, **options, reduction=reduction)
                    assert tuple(found.shape) == (*shape[:-1], 2)
            assert tuple(gs.segment_softmax(data, indptr=library.asarray(indptr), **options).shape) == shape
        prepared = gs.prepare("segment", shape, ids, 2, **options)
        assert prepared.order.tolist() == []
        assert prepared.indptr.tolist() == [0]
        assert gs.prepare("segment", shape, indptr=indptr, **options).reduce(np.zeros(shape)).shape == (*shape[:-1], 2)
