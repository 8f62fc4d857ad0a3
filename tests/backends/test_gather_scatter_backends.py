"""gather_scatter on arrays of every library: the two calls' results, gradients and traces."""

import itertools

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_refused, assert_same_numbers
from constants import REDUCTIONS
from gatherscatter.backends import kernels
from libraries import LIBRARIES, on_each
from pairwise import in_turn

INDICES, ROWS = np.array([3, -1, 0, 3, 5, 3]), np.array([2, 2, -5, 0, 4, 1])
DATA, SOURCE = (
    np.random.default_rng(seed).integers(1, 9, shape).astype("f4") for seed, shape in enumerate([(6, 20), (5, 20)])
)
DROPPED = {
    "u1": ([3, 250, 0, 3, 5, 3], [2, 2, 255, 0, 4, 1]),
    "i1": ([3, -7, 0, 3, 5, 127], [2, 2, -128, 0, 4, 1]),
    "i8": ([3, -(2**63), 0, 3, 5, 3], [2, 2, 2**63 - 1, 0, 2**32, 1]),
    "u8": ([3, 2**64 - 1, 0, 3, 5, 3], [2, 2, 2**63, 0, 2**32, 1]),
}


@pytest.fixture(autouse=True)
def _any_size_takes_one_pass(monkeypatch):
    monkeypatch.setattr(kernels, "ONE_PASS_BYTES", 0)


def in_two(data, indices, source, rows, *, reduction="none", include_self=True):
    return gs.scatter(data, indices, gs.gather(source, rows), reduction=reduction, include_self=include_self)


@pytest.mark.parametrize("library", on_each(LIBRARIES))
class TestEveryLibrary:
    @pytest.mark.parametrize("reduction", ["add", "mul", "max", "min", "mean"])
    @pytest.mark.parametrize("include_self", [True, False])
    def test_values(self, library, reduction, include_self):
        words = {"reduction": reduction, "include_self": include_self}
        expected = in_two(DATA, INDICES, SOURCE, ROWS, **words)
        data, indices, source, rows = map(library.asarray, (DATA, INDICES, SOURCE, ROWS))
        for at, of in itertools.product((indices, INDICES.tolist()), (rows, ROWS.tolist())):
            with library.way():
                found = gs.gather_scatter(data, at, source, of, **words)
            assert type(found) is type(data)
            found = library.asnumpy(found)
            if reduction == "mean" and library.quotient_ulps:
                np.testing.assert_array_max_ulp(found, expected, library.quotient_ulps)
            else:
                assert_same_numbers(found, expected)

    @pytest.mark.parametrize("dtype", DROPPED)
    def test_drop(self, library, dtype):
        if library.package == "torch" and dtype == "u8" and library.device != "cpu":
            return
        to, of = (np.array(values, dtype) for values in DROPPED[dtype])
        wrapped = [
            [int(i) + size if i < 0 else int(i) for i in values]
            for values, size in zip(DROPPED[dtype], (6, 5), strict=True)
        ]
        kept = [k for k in range(6) if 0 <= wrapped[0][k] < 6 and 0 <= wrapped[1][k] < 5]
        assert 0 < len(kept) < 6
        at, rows = (np.array(values)[kept].astype(int) for values in wrapped)
        expected = in_two(DATA, at, SOURCE, rows, reduction="add")
        data, indices, source, rows = map(library.asarray, (DATA, to, SOURCE, of))
        with library.way():
            found = gs.gather_scatter(data, indices, source, rows, reduction="add", mode="drop")
        assert_same_numbers(library.asnumpy(found), expected)

    def test_prepared(self, library):
        expected = in_two(DATA, INDICES, SOURCE, ROWS, reduction="add")
        to, of = gs.prepare("scatter", (6,), INDICES), gs.prepare("gather", (5,), ROWS)
        for _ in range(2):
            with library.way():
                found = gs.gather_scatter(library.asarray(DATA), to, library.asarray(SOURCE), of, reduction="add")
            assert_same_numbers(library.asnumpy(found), expected)


class TestPyTorch:
    """Tensors on the CPU: one pass, with its gradients."""

    @property
    def torch(self):
        return pytest.importorskip("torch")

    @pytest.fixture
    def passes(self, monkeypatch):
        """For each call that asked for one pass, whether it was possible."""
        from gatherscatter.backends.torch import operators

        made = []
        run = operators.passed

        def watched(*arguments):
            result = run(*arguments)
            made.append(result is not None)
            return result

        monkeypatch.setattr(operators, "passed", watched)
        return made

    def leaves(self, dtype="float64", n=10):
        torch = self.torch
        made = torch.Generator().manual_seed(0)
        data, source = (
            torch.randn(size, n, generator=made, dtype=torch.float64).to(getattr(torch, dtype)) for size in (6, 5)
        )
        return data.requires_grad_(), torch.tensor(INDICES), source.requires_grad_(), torch.tensor(ROWS)

    @pytest.mark.parametrize("include_self", [True, False])
    @in_turn("reduction", ["none", "add", "mul", "max", "min", "mean"])
    @pytest.mark.parametrize("wanted", [(0,), (1,), (0, 1)])
    def test_gradients(self, passes, reduction, include_self, wanted):
        passes.clear()
        torch = self.torch
        words = {"reduction": reduction, "include_self": include_self}
        data, indices, source, rows = self.leaves()
        tables = [data, source]
        for unwanted in {0, 1} - set(wanted):
            tables[unwanted] = tables[unwanted].detach()
        ours = gs.gather_scatter(tables[0], indices, tables[1], rows, **words)
        theirs = in_two(tables[0], indices, tables[1], rows, **words)
        assert torch.equal(ours, theirs)
        assert passes == ([True] if reduction in ("add", "mean") else [])
        weights = torch.randn(6, 10, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
        given = [tables[i] for i in wanted]
        found, expected = (
            torch.autograd.grad((result.sin() * weights).sum(), given, create_graph=True, allow_unused=True)
            for result in (ours, theirs)
        )
        for one, other in zip(found, expected, strict=True):
            assert torch.equal(one, other)
        if found[-1].requires_grad:
            again = [
                torch.autograd.grad(sum((g**2).sum() for g in each), given, allow_unused=True)
                for each in (found, expected)
            ]
            for one, other in zip(*again, strict=True):
                assert torch.equal(one, other)
        if reduction in ("add", "mean") and 1 in wanted:
            assert len(passes) > 1  # the gradient too

    @pytest.mark.parametrize(
        ("reduction", "include_self", "mode"),
        # By default a third: each reduction with both values of include_self, and in two of the modes.
        [
            pytest.param(reduction, n == 0, mode, marks=[] if (i + j + n) % 3 == 0 else pytest.mark.slow)
            for i, reduction in enumerate(REDUCTIONS)
            for n in range(2)
            for j, mode in enumerate(["raise", "wrap", "drop"])
        ],
    )
    def test_finite_differences(self, reduction, include_self, mode):
        torch = self.torch
        data, indices, source, rows = self.leaves(n=8)
        if mode != "raise":
            rows[1], indices[2] = 77, -50

        def call(data, source):
            return gs.gather_scatter(
                data, indices, source, rows, reduction=reduction, include_self=include_self, mode=mode
            )

        assert torch.autograd.gradcheck(call, (data, source), fast_mode=True)
        assert torch.autograd.gradgradcheck(call, (data, source), fast_mode=True)

    def test_the_gradient_takes_one_pass(self, passes):
        torch = self.torch
        data, indices, source, rows = self.leaves()
        gs.gather_scatter(data, indices, source, rows, reduction="add").sum().backward()
        # sum's gradient is expanded: it is not contiguous before the formula makes it so.
        assert passes == [True, True]
        assert torch.equal(data.grad, torch.ones_like(data))
        assert torch.equal(source.grad[:, 0], torch.bincount(rows % 5, minlength=5).double())

    @pytest.mark.parametrize("reduction", ["add", "mean"])
    def test_prepared_pairs_with_gradients(self, passes, reduction):
        torch = self.torch
        data, indices, source, rows = self.leaves()
        to, of = gs.prepare("scatter", (6,), indices), gs.prepare("gather", (5,), rows)
        for _ in range(3):
            results = [
                gs.gather_scatter(data, to, source, of, reduction=reduction),
                in_two(data, indices, source, rows, reduction=reduction),
            ]
            found, expected = (torch.autograd.grad((result**2).sum(), (data, source)) for result in results)
            for one, other in zip((results[0], *found), (results[1], *expected), strict=True):
                assert torch.equal(one, other)
        assert passes == [True] * 6
        result = gs.gather_scatter(data, to, source, of, reduction=reduction)
        del to, of  # the graph keeps what it needs
        assert all(map(torch.equal, torch.autograd.grad((result**2).sum(), (data, source)), expected))

    @pytest.mark.filterwarnings("ignore:.torch.jit.* is deprecated")
    @pytest.mark.parametrize("reduction", ["add", "mul", "mean"])
    def test_transforms(self, reduction):
        torch = self.torch
        data, indices, source, rows = self.leaves()
        data, source = data.detach(), source.detach()

        def ours(data, source):
            return gs.gather_scatter(data, indices, source, rows, reduction=reduction)

        def theirs(data, source):
            return in_two(data, indices, source, rows, reduction=reduction)

        tangents = torch.randn_like(data), torch.randn_like(source)
        many = torch.randn(3, 6, 10, dtype=torch.float64), torch.randn(3, 5, 10, dtype=torch.float64)
        for call in (
            lambda f: torch.func.jvp(f, (data, source), tangents),
            lambda f: torch.func.vjp(f, data, source)[1](torch.ones_like(data)),
            lambda f: torch.func.vmap(f)(*many),
            lambda f: torch.func.vmap(f, in_dims=(None, 0))(data, many[1]),
            lambda f: torch.func.vmap(torch.func.grad(lambda *given: f(*given).sum(), argnums=(0, 1)))(*many),
            lambda f: torch.func.hessian(lambda s: (f(data, s) ** 2).sum())(source),
        ):
            found, expected = (
                result if isinstance(result, tuple) else (result,) for result in map(call, (ours, theirs))
            )
            for one, other in zip(found, expected, strict=True):
                torch.testing.assert_close(one, other)
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(source, tangents[1])
            parts = [torch.autograd.forward_ad.unpack_dual(f(data, dual)) for f in (ours, theirs)]
            assert torch.equal(parts[0].primal, parts[1].primal)
            torch.testing.assert_close(parts[0].tangent, parts[1].tangent)

    @pytest.mark.filterwarnings("ignore:.torch.jit.* is deprecated")
    @pytest.mark.filterwarnings("ignore:.*autograd.function.Function.* should not be instantiated:DeprecationWarning")
    @pytest.mark.parametrize(
        ("reduction", "mode"),
        [
            ("add", "raise"),
            ("max", "drop"),
            *(pytest.param(*each, marks=pytest.mark.slow) for each in (("add", "drop"), ("max", "raise"))),
        ],
    )
    def test_compile(self, reduction, mode):
        torch = self.torch
        torch.compiler.reset()
        data, indices, source, rows = self.leaves()

        def call(data, indices, source, rows):
            return gs.gather_scatter(data, indices, source, rows, reduction=reduction, mode=mode) * 2

        compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
        results = [f(data, indices, source, rows) for f in (compiled, call)]
        assert torch.equal(*results)
        found, expected = (torch.autograd.grad((result**2).sum(), (data, source)) for result in results)
        assert all(map(torch.equal, found, expected))

    def test_without_gradients(self, passes):
        torch = self.torch
        data, indices, source, rows = self.leaves()
        expected = in_two(data, indices, source, rows, reduction="max").detach()
        with torch.no_grad():
            result = gs.gather_scatter(data, indices, source, rows, reduction="max")
        assert not result.requires_grad
        assert torch.equal(result, expected)
        with torch.inference_mode():
            result = gs.gather_scatter(data, indices, source, rows, reduction="max")
        assert result.is_inference()
        assert torch.equal(result.clone(), expected)
        assert passes == [True, True]

    def test_out(self):
        torch = self.torch
        data, indices, source, rows = self.leaves()
        data, source = data.detach(), source.detach()
        expected = in_two(data, indices, source, rows, reduction="add")
        for out in (torch.zeros_like(data), torch.zeros(6, 20, dtype=torch.float64)[:, ::2], data.clone()):
            version = out._version
            assert gs.gather_scatter(data, indices, source, rows, reduction="add", out=out) is out
            assert out._version > version
            assert torch.equal(out, expected)
        changed, version = data.clone(), data._version
        assert gs.gather_scatter(changed, indices, source, rows, reduction="add", out=changed) is changed
        assert torch.equal(changed, expected)
        assert data._version == version
        memory = torch.cat([data, source])  # source overlaps out
        gs.gather_scatter(memory[:6], indices, memory[6:], rows, reduction="add", out=memory[4:10])
        assert torch.equal(memory[4:10], expected)
        assert torch.equal(memory[:4], data[:4])

    @pytest.mark.parametrize("wanting", ["data", "source", "out"])
    def test_out_has_no_gradient(self, wanting):
        torch = self.torch
        tensors = dict.fromkeys(("data", "source", "out"))
        for name, size in (("data", 6), ("source", 5), ("out", 6)):
            tensors[name] = torch.zeros(size, 16, requires_grad=name == wanting)
        pair = torch.tensor(INDICES), torch.tensor(ROWS)

        def call():
            return gs.gather_scatter(tensors["data"], pair[0], tensors["source"], pair[1], out=tensors["out"])

        with pytest.raises(RuntimeError, match=r"^gather_scatter: .* requires grad, and autograd cannot differentiate"):
            call()
        with torch.no_grad():
            assert call() is tensors["out"]

    @pytest.mark.parametrize("resized", ["data", "source", "indices", "source_indices"])
    def test_a_storage_that_is_too_small_is_refused(self, resized):
        torch = self.torch
        data, indices, source, rows = (tensor.detach() for tensor in self.leaves())
        names = {"data": data, "indices": indices, "source": source, "source_indices": rows}
        names[resized].untyped_storage().resize_(8)
        for out in (None, torch.zeros(6, 10, dtype=torch.float64)):
            with pytest.raises(
                ValueError, match=rf"^gather_scatter: {resized} has shape .* but its storage has only 8"
            ):
                gs.gather_scatter(data, indices, source, rows, out=out)

    @pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8", "int64", "complex64", "bool"])
    def test_dtypes(self, passes, dtype):
        torch = self.torch
        data, indices, source, rows = (tensor.detach() for tensor in self.leaves("float32", 80))
        data, source = ((10 * tensor).to(getattr(torch, dtype)) for tensor in (data, source))
        for reduction in ("none", "add", "mul"):
            result = gs.gather_scatter(data, indices, source, rows, reduction=reduction)
            assert result.dtype is data.dtype
            assert torch.equal(result, in_two(data, indices, source, rows, reduction=reduction))
        assert passes == [True] * 3

    def test_gradients_of_bfloat16(self):
        torch = self.torch
        data, indices, source, rows = self.leaves("bfloat16", 40)
        results = [
            gs.gather_scatter(data, indices, source, rows, reduction="add"),
            in_two(data, indices, source, rows, reduction="add"),
        ]
        found, expected = (torch.autograd.grad((result**2).sum(), (data, source)) for result in results)
        assert all(map(torch.equal, found, expected))

    @pytest.mark.parametrize("reduction", ["add", "max"])
    def test_autocast(self, reduction):
        torch = self.torch
        data, indices, source, rows = self.leaves("float32")
        with torch.autocast("cpu", dtype=torch.bfloat16):
            results = [f(data, indices, source, rows, reduction=reduction) for f in (gs.gather_scatter, in_two)]
            assert results[0].dtype is results[1].dtype
            assert torch.equal(*results)
            loss = [(result @ result.mT).sum() for result in results]
        for one, other in zip(*(torch.autograd.grad(each, (data, source)) for each in loss), strict=True):
            assert torch.equal(one, other)

    def test_autocast_of_two_dtypes(self):
        torch = self.torch
        data, indices, source, rows = self.leaves("float32")
        narrow = source.detach().bfloat16()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            results = [f(data, indices, narrow, rows, reduction="add") for f in (gs.gather_scatter, in_two)]
        assert results[0].dtype is results[1].dtype is torch.float32
        assert torch.equal(*results)
        with pytest.raises(TypeError, match=r"^gather_scatter: source has dtype torch.float32, but data has torch.bf"):
            gs.gather_scatter(data.bfloat16(), indices, source, rows, reduction="add")

    def test_a_bad_index_is_named(self):
        torch = self.torch
        data, indices, source, rows = self.leaves()
        for place, name, size in ((indices, "indices", 6), (rows, "source_indices", 5)):
            bad = place.clone()
            bad[3] = 9
            given = (bad, rows) if place is indices else (indices, bad)
            whole = "data" if place is indices else "source"
            for out in (None, torch.empty(6, 10, dtype=torch.float64)):
                with torch.no_grad():
                    assert_refused(
                        lambda: gs.gather_scatter(data, given[0], source, given[1], out=out),  # noqa: B023
                        IndexError,
                        f"gather_scatter: {name}[3] = 9 is out of bounds for {whole} of shape ({size}, 10): axis 0 has "
                        f"size {size}",
                    )

    def test_arrays_of_two_libraries(self):
        data, indices, source, rows = (tensor.detach() for tensor in self.leaves())
        for given in (
            (data, indices.numpy(), source, rows),
            (data, indices, source, rows.numpy()),
            (data.numpy(), indices, source, rows),
            (data, indices, source.numpy(), rows),
        ):
            with pytest.raises(TypeError) as ours:
                gs.gather_scatter(*given)
            assert str(ours.value).startswith("gather_scatter: ")


class TestJAX:
    @property
    def jax(self):
        return pytest.importorskip("jax")

    @pytest.mark.parametrize(
        "reduction", ["none", "add", *(pytest.param(name, marks=pytest.mark.slow) for name in REDUCTIONS[2:])]
    )
    def test_traces_and_gradients(self, reduction):
        jax = self.jax
        data, indices, source, rows = map(jax.numpy.asarray, (DATA, INDICES, SOURCE, ROWS))

        def ours(data, source):
            return gs.gather_scatter(data, indices, source, rows, reduction=reduction, mode="wrap")

        def theirs(data, source):
            return in_two(data, indices, source, rows, reduction=reduction)

        assert (jax.jit(ours)(data, source) == theirs(data, source)).all()
        derived = [jax.grad(lambda *given, f=f: (f(*given) ** 2).sum(), argnums=(0, 1)) for f in (ours, theirs)]
        for one, other in zip(derived[0](data, source), derived[1](data, source), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6)
        for one, other in zip(jax.jit(derived[0])(data, source), derived[1](data, source), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6)

    def test_padded_edges_under_jit(self):
        """One program for graphs of any number of edges up to the padded one."""
        jax = self.jax
        traced = []

        @jax.jit
        def messages(source, to, of):
            traced.append(1)
            zeros = jax.numpy.zeros((6, 20), "float32")
            return gs.gather_scatter(zeros, to, source, of, reduction="mean", mode="drop")

        def loss(source, *pair):
            return (messages(source, *pair) ** 2).sum()

        for n in (6, 3, 0):
            to, of = np.full(9, 6, "i4"), np.full(9, 2**31 - 1, "i4")
            to[:n], of[:n] = INDICES[:n], ROWS[:n]
            found = messages(SOURCE, to, of)
            expected = in_two(np.zeros_like(DATA), INDICES[:n], SOURCE, ROWS[:n], reduction="mean")
            np.testing.assert_allclose(found, expected, rtol=1e-6)
            assert len(traced) == 1
        to[:], of[:] = 6, 0
        to[:6], of[:6] = INDICES, ROWS
        padded = jax.grad(loss)(jax.numpy.asarray(SOURCE), to, of)
        exact = jax.grad(loss)(jax.numpy.asarray(SOURCE), INDICES.astype("i4"), ROWS.astype("i4"))
        np.testing.assert_allclose(padded, exact, rtol=1e-6)
        assert np.isfinite(padded).all()


class TestDask:
    @property
    def da(self):
        return pytest.importorskip("dask.array")

    @pytest.mark.usefixtures("dask_in_this_thread")
    @pytest.mark.parametrize("mode", ["raise", "drop"])
    def test_lazy_pairs(self, mode):
        expected = in_two(DATA, INDICES, SOURCE, ROWS, reduction="add")
        data, source = self.da.from_array(DATA, chunks=(2, 7)), self.da.from_array(SOURCE, chunks=(3, 5))
        indices, rows = self.da.from_array(INDICES, chunks=4), self.da.from_array(ROWS, chunks=4)
        for at, of in itertools.product((indices, INDICES), (rows, ROWS)):
            found = gs.gather_scatter(data, at, source, of, reduction="add", mode=mode)
            assert isinstance(found, self.da.Array)
            assert_same_numbers(np.asarray(found), expected)


LAYOUTS = {
    "csr": ("source", lambda torch: torch.ones(5, 20).to_sparse_csr()),
    "mkldnn": ("source", lambda torch: torch.ones(5, 20).to_mkldnn()),
    "nested": ("source", lambda torch: torch.nested.nested_tensor([torch.ones(5, 20)] * 2)),
    "data": ("data", lambda torch: torch.ones(6, 20).to_sparse()),
}


@pytest.mark.filterwarnings("ignore:.*(in beta state|in prototype stage):UserWarning")
@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("with_out", [False, True])
def test_layouts_of_torch_are_refused(name, with_out):
    torch = pytest.importorskip("torch")
    argument, make = LAYOUTS[name]
    arrays = {"data": torch.zeros(6, 20), "source": torch.ones(5, 20), argument: make(torch)}
    to, of = torch.from_numpy(INDICES), torch.from_numpy(ROWS)
    out = torch.zeros(6, 20) if with_out else None
    refused = rf"gather_scatter: the PyTorch backend does not support .*{argument}"
    with pytest.raises(NotImplementedError, match=refused):
        gs.gather_scatter(arrays["data"], to, arrays["source"], of, reduction="add", out=out)
