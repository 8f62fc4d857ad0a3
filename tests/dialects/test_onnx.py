"""The ONNX dialect: what each version supports, onnx's own backend tests, and the evaluator's operators."""

import importlib
import pkgutil
import re
import subprocess
import sys
import unittest
import warnings
from unittest import mock

import gatherscatter as gs
import ml_dtypes
import numpy as np
import onnx
import pytest
from assertions import assert_same_bits
from gatherscatter.onnx import backend, versions
from libraries import EAGER, why_not_here
from onnx import TensorProto, helper
from onnx.backend.test import BackendTest, loader
from onnx.reference import ReferenceEvaluator

FUNCTIONS = {
    "Gather": gs.onnx.gather,
    "GatherElements": gs.onnx.gather_elements,
    "GatherND": gs.onnx.gather_nd,
    "Scatter": gs.onnx.scatter,
    "ScatterElements": gs.onnx.scatter_elements,
    "ScatterND": gs.onnx.scatter_nd,
}
# The documents' names of types, and ours.
NAMES = {"float": "float32", "double": "float64", "string": "str"}
VERSIONS = [(name, version) for name, found in versions.VERSIONS.items() for version in found]


def arguments(operator, dtype="float32", indices_dtype="int64"):
    if dtype == "str":
        data = np.array([["a", "b"], ["c", "d"]])
    elif dtype == "bfloat16":
        data = np.arange(4).reshape(2, 2).astype(ml_dtypes.bfloat16)
    else:
        data = np.arange(4).reshape(2, 2).astype(dtype)
    indices = np.array([[1, 0], [0, 1]], indices_dtype)
    updates = {"ScatterND": data[0]}.get(operator, data)
    return (data, indices, updates) if operator.startswith("Scatter") else (data, indices)


class TestVersions:
    @pytest.mark.parametrize(("operator", "version"), VERSIONS)
    def test_are_those_of_onnx(self, operator, version):
        assert onnx.defs.get_schema(operator, version).since_version == version
        newest = onnx.defs.get_schema(operator, onnx.defs.onnx_opset_version())
        assert newest.deprecated or newest.since_version == versions.VERSIONS[operator][-1]

    @pytest.mark.parametrize(("operator", "version"), [pair for pair in VERSIONS if pair[0] != "TensorScatter"])
    def test_take_the_types_of_the_document(self, operator, version):
        constraints = {
            t.type_param_str: t.allowed_type_strs for t in onnx.defs.get_schema(operator, version).type_constraints
        }
        documented = {NAMES.get(name[7:-1], name[7:-1]) for name in constraints["T"]}
        for dtype in {*versions.TYPES, "bfloat16", *documented}:
            call = FUNCTIONS[operator], arguments(operator, dtype)
            if dtype in documented:
                call[0](*call[1], opset=version)
            else:
                with pytest.raises(ValueError, match=f"{operator}-{version} has no {dtype}; it was added in"):
                    call[0](*call[1], opset=version)
        integers = {name[7:-1] for name in constraints.get("Tind", ["tensor(int64)"])}
        for dtype in ("int8", "int16", "int32", "int64", "uint8", "uint64"):
            given = arguments(operator, indices_dtype=dtype)
            if dtype in integers:
                FUNCTIONS[operator](*given, opset=version)
            else:
                with pytest.raises(TypeError, match=f"indices has dtype {dtype}, but {operator}-{version} takes int"):
                    FUNCTIONS[operator](*given, opset=version)

    def test_tensor_scatter_takes_the_types_of_the_document(self):
        (constraint,) = onnx.defs.get_schema("TensorScatter", 24).type_constraints
        names = NAMES | {
            "float8e4m3fn": "float8_e4m3fn", "float8e4m3fnuz": "float8_e4m3fnuz", "float8e5m2": "float8_e5m2",
            "float8e5m2fnuz": "float8_e5m2fnuz", "float8e8m0": "float8_e8m0fnu", "float4e2m1": "float4_e2m1fn",
        }  # fmt: skip
        assert {names.get(n[7:-1], n[7:-1]) for n in constraint.allowed_type_strs} == set(versions.CACHE_TYPES)

    @pytest.mark.parametrize(
        ("call", "kind", "message"),
        [
            (
                lambda d, i: gs.onnx.gather_nd(d, i, batch_dims=1, opset=11),
                ValueError,
                "gather_nd: opset 11 (GatherND-11) has no batch_dims; it was added in opset 12",
            ),
            (
                lambda d, i: gs.onnx.gather_nd(d, i, opset=10),
                ValueError,
                "gather_nd: opset 10 has no GatherND; it was added in opset 11",
            ),
            (
                lambda d, i: gs.onnx.scatter_nd(d, i, d[0], reduction="add", opset=13),
                ValueError,
                "scatter_nd: opset 13 (ScatterND-13) has no reduction='add'; it was added in opset 16",
            ),
            (
                lambda d, i: gs.onnx.scatter_nd(d, i, d[0], reduction="max", opset=17),
                ValueError,
                "scatter_nd: opset 17 (ScatterND-16) has no reduction='max'; it was added in opset 18",
            ),
            (
                lambda d, i: gs.onnx.scatter_elements(d, i, d, reduction="mul", opset=15),
                ValueError,
                "scatter_elements: opset 15 (ScatterElements-13) has no reduction='mul'; it was added in opset 16",
            ),
            (
                lambda d, i: gs.onnx.scatter_elements(d, i, d, reduction="mean"),
                ValueError,
                "scatter_elements: reduction='mean' is not one of 'none', 'add', 'mul', 'max', 'min'",
            ),
            (
                lambda d, i: gs.onnx.scatter(d, i, d, opset=11),
                ValueError,
                "scatter: opset 11 has no Scatter any more; call scatter_elements",
            ),
            (
                lambda d, i: gs.onnx.gather_nd(d, i[:, :0]),
                ValueError,
                "gather_nd: indices of shape (2, 0) holds empty tuples, which ONNX does not have; "
                "gatherscatter.gather_nd does",
            ),
            (
                lambda d, i: gs.onnx.gather_nd(np.float32(1), i[:0]),
                ValueError,
                "gather_nd: data has shape (); GatherND-13 takes rank 1 and more: pass data[None]",
            ),
            (
                lambda d, i: gs.onnx.gather(d.astype("M8[s]"), i),
                TypeError,
                "gather: data has dtype datetime64[s], but Gather-13 takes bool, int8, int16, int32, int64, uint8, "
                "uint16, uint32, uint64, float16, float32, float64, complex64, complex128, str, bfloat16: "
                "convert it to one of these",
            ),
            (
                lambda d, i: gs.onnx.gather(d, i, opset="13"),
                TypeError,
                "gather: opset='13' is not an integer; pass opset=13",
            ),
            (
                lambda d, i: gs.onnx.gather_nd(d, [[0, 2]]),
                IndexError,
                "gather_nd: indices[0] = (0, 2) is out of bounds for data of shape (2, 2): axis 1 has size 2",
            ),
        ],
    )  # fmt: skip
    def test_refuse(self, call, kind, message):
        with pytest.raises(kind) as caught:
            call(*arguments("GatherND"))
        assert str(caught.value) == message


@pytest.mark.parametrize("library", [pytest.param(x, id=x.name) for x in EAGER if why_not_here(x) is None])
def test_every_library(library):
    data, indices = np.arange(6.0).reshape(2, 3), np.array([[2], [0]])
    x, i = library.asarray(data), library.asarray(indices)
    assert library.asnumpy(gs.onnx.gather_nd(x, i, batch_dims=1, opset=12)).tolist() == [2, 3]
    assert library.asnumpy(gs.onnx.gather_elements(x, i, axis=1)).tolist() == [[2], [3]]
    assert library.asnumpy(gs.onnx.gather(x, i, axis=1)).shape == (2, 2, 1)
    result = gs.onnx.scatter_elements(x, i, library.asarray(np.ones((2, 1))), axis=1, reduction="add", opset=16)
    assert library.asnumpy(result).tolist() == [[0, 1, 3], [4, 4, 5]]
    result = gs.onnx.scatter_nd(x, i * 0, library.asarray(np.ones((2, 3))), reduction="max", opset=18)
    assert library.asnumpy(result).tolist() == [[1, 1, 2], [3, 4, 5]]
    result = gs.onnx.tensor_scatter(
        x[:, None, :], library.asarray(np.ones((2, 1, 2))), [1, 2], axis=-1, mode="circular"
    )
    assert library.asnumpy(result).tolist() == [[[0, 1, 1]], [[1, 4, 1]]]


WRITABLE = [library for library in EAGER if library.package != "jax" and why_not_here(library) is None]


class TestTensorScatter:
    cache, update = np.zeros((2, 4, 3)), np.arange(1.0, 13).reshape(2, 2, 3)

    def test_equals_the_documents_loop(self):
        for mode, starts in (("linear", [2, 0]), ("circular", [3, 6])):
            expected = self.cache.copy()
            for b in range(2):
                for s in range(2):
                    expected[b, (starts[b] + s) % 4] = self.update[b, s]
            assert_same_bits(gs.onnx.tensor_scatter(self.cache, self.update, starts, mode=mode), expected)

    @pytest.mark.parametrize("library", [pytest.param(x, id=x.name) for x in EAGER if why_not_here(x) is None])
    def test_extreme_starts(self, library):
        """The rows of the circular mode are those of Python's integers, which do not overflow."""
        update = library.asarray(np.array([[[1], [2]]]))
        for size in (3, 4):
            cache = library.asarray(np.zeros((1, size, 1), int))
            for start in (2**63 - 1, 2**63 - 2, -1, -(2**63), 5):
                expected = [[[0] for _ in range(size)]]
                for i in range(2):
                    expected[0][(start + i) % size] = [i + 1]
                starts = library.asarray(np.array([start]))
                result = gs.onnx.tensor_scatter(cache, update, starts, mode="circular")
                assert library.asnumpy(result).tolist() == expected, (size, start)
                place = rf"write_indices\[0, 0\] = {start} is out of bounds"
                with pytest.raises(IndexError, match=f"^tensor_scatter: {place}"):
                    gs.onnx.tensor_scatter(cache, update, starts)
        with pytest.raises(TypeError, match=r"has dtype \S*uint64, but TensorScatter-24 takes int64"):
            gs.onnx.tensor_scatter(cache, update, library.asarray(np.array([2**63], "u8")), mode="circular")

    @pytest.mark.parametrize("mode", ["linear", "circular"])
    @pytest.mark.parametrize("library", [pytest.param(x, id=x.name) for x in WRITABLE])
    def test_out(self, library, mode):
        starts = [2, 0] if mode == "linear" else [3, 6]
        expected = gs.onnx.tensor_scatter(self.cache, self.update, starts, mode=mode)
        for in_place in (False, True):
            cache, update = library.asarray(self.cache.copy()), library.asarray(self.update)
            out = cache if in_place else library.asarray(self.cache - 1)
            assert gs.onnx.tensor_scatter(cache, update, starts, mode=mode, out=out) is out
            assert_same_bits(library.asnumpy(out), expected)
            assert in_place or not library.asnumpy(cache).any()

    def test_out_is_unchanged_after_an_error(self):
        cache = self.cache.copy()
        with pytest.raises(IndexError, match=r"^tensor_scatter: write_indices\[1, 1\] = 4 is out of bounds"):
            gs.onnx.tensor_scatter(cache, self.update, [0, 3], out=cache)
        assert_same_bits(cache, self.cache)
        for out, kind in ((cache[:1], ValueError), (cache.astype("f4"), TypeError), ([0.0], TypeError)):
            with pytest.raises(kind, match=r"^tensor_scatter: out "):
                gs.onnx.tensor_scatter(cache, self.update, out=out)

    def test_jax_without_int64(self):
        import jax

        with jax.enable_x64(False):
            result = gs.onnx.tensor_scatter(jax.numpy.zeros((1, 3, 1)), jax.numpy.ones((1, 2, 1)))
            assert result.tolist() == [[[1.0], [1.0], [0.0]]]

    def test_a_cache_of_size_0(self):
        empty = np.zeros((1, 0, 2))
        assert gs.onnx.tensor_scatter(empty, empty, [7], mode="circular").shape == (1, 0, 2)

    def test_update_may_be_a_list(self):
        expected = gs.onnx.tensor_scatter(self.cache, self.update, [1, 2])
        assert_same_bits(gs.onnx.tensor_scatter(self.cache, self.update.tolist(), [1, 2]), expected)
        with pytest.raises(TypeError, match=r"^tensor_scatter: update is a list of <U1 values"):
            gs.onnx.tensor_scatter(self.cache, [[["a"] * 3]] * 2)

    def test_without_write_indices(self):
        assert gs.onnx.tensor_scatter(self.cache, self.update)[:, :2].tolist() == self.update.tolist()

    @pytest.mark.parametrize(
        ("call", "kind", "message"),
        [
            (
                lambda c, u: gs.onnx.tensor_scatter(c, u, [-1, 0]),
                IndexError,
                "tensor_scatter: write_indices[0, 0] = -1 is out of bounds for past_cache of shape (2, 4, 3): "
                "axis 1 has size 4, and ONNX's write_indices are not negative",
            ),
            (
                lambda c, u: gs.onnx.tensor_scatter(c, u, [3, 0]),
                IndexError,
                "tensor_scatter: write_indices[0, 1] = 4 is out of bounds for past_cache of shape (2, 4, 3): "
                "axis 1 has size 4",
            ),
            (
                lambda c, u: gs.onnx.tensor_scatter(c, u, axis=0),
                ValueError,
                "tensor_scatter: axis=0 is not one of the axes after the first of past_cache of shape (2, 4, 3)",
            ),
            (
                lambda c, u: gs.onnx.tensor_scatter(c, u, mode="ring"),
                ValueError,
                "tensor_scatter: mode='ring' is not one of 'linear', 'circular'",
            ),
            (
                lambda c, u: gs.onnx.tensor_scatter(c, u, [0]),
                ValueError,
                "tensor_scatter: write_indices has shape (1,); pass one index for each sample, shape (2,)",
            ),
            (
                lambda c, u: gs.onnx.tensor_scatter(u, c),
                ValueError,
                "tensor_scatter: update of shape (2, 4, 3) does not fit past_cache of shape (2, 2, 3); "
                "pass that shape, or a shorter one along axis 1",
            ),
            (
                lambda c, u: gs.onnx.tensor_scatter(c, u, opset=23),
                ValueError,
                "tensor_scatter: opset 23 has no TensorScatter; it was added in opset 24",
            ),
        ],
    )
    def test_refuses(self, call, kind, message):
        with pytest.raises(kind) as caught:
            call(self.cache, self.update)
        assert str(caught.value) == message


# onnx's own tests, through its own runner.


def node_tests():
    def import_ours(package):
        """Instead of the modules of all operators, which compute expected values for seconds."""
        for _, name, _ in pkgutil.iter_modules(package.__path__):
            if "gather" in name or "scatter" in name:
                importlib.import_module(f"{package.__name__}.{name}")

    with warnings.catch_warnings(), mock.patch.object(loader, "import_recursive", import_ours):
        warnings.simplefilter("ignore")
        tests = BackendTest(backend.Backend, __name__).test_cases["OnnxBackendNodeModelTest"]
    ours = re.compile(r"test_(gather|scatter|tensorscatter).*_cpu$")
    return {name: getattr(tests, name) for name in dir(tests) if ours.match(name)}


NODE_TESTS = node_tests()
TestOnnxNodes = type("TestOnnxNodes", (unittest.TestCase,), dict(NODE_TESTS))


def test_there_are_29_node_tests():
    assert len(NODE_TESTS) == 29


# The evaluator


def model(operator, opset, *, inputs, **attributes):
    node = helper.make_node(operator, list(inputs), ["out"], **attributes)
    values = [helper.make_tensor_value_info(name, kind, None) for name, kind in inputs.items()]
    out = helper.make_tensor_value_info("out", values[0].type.tensor_type.elem_type, None)
    graph = helper.make_graph([node], "one", values, [out])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


ND = {"data": TensorProto.FLOAT, "indices": TensorProto.INT64}


class TestReferenceOps:
    def test_are_used(self):
        evaluator = ReferenceEvaluator(model("GatherND", 13, inputs=ND, batch_dims=1), new_ops=gs.onnx.reference_ops())
        (node,) = evaluator.rt_nodes_
        assert type(node).__module__ == "gatherscatter.onnx.evaluator"
        feed = {"data": np.arange(6, dtype="f4").reshape(2, 3), "indices": np.array([[2], [-3]])}
        (result,) = evaluator.run(None, feed)
        assert result.tolist() == [2, 3]
        with pytest.raises(IndexError, match=r"^gather_nd: indices\[0\] = \(3,\) is out of bounds"):
            evaluator.run(None, feed | {"indices": np.array([[3], [0]])})

    def test_the_models_opset_rules(self):
        feed = {"data": np.zeros((2, 3), "f4"), "indices": np.array([[2], [0]]), "updates": np.zeros((2, 3), "f4")}
        inputs = ND | {"updates": TensorProto.FLOAT}
        for opset, given in ((16, None), (18, 16)):
            proto = model("ScatterND", opset, inputs=inputs, reduction="max")
            evaluator = ReferenceEvaluator(proto, new_ops=gs.onnx.reference_ops(given))
            with pytest.raises(ValueError, match=r"^scatter_nd: opset 16 \(ScatterND-16\) has no reduction='max'"):
                evaluator.run(None, feed)

    def test_what_the_evaluators_own_cannot(self):
        """Its GatherElements rejects indices that are smaller than data off the axis, as the document allows."""
        proto = model("GatherElements", 13, inputs=ND, axis=1)
        feed = {"data": np.arange(6, dtype="f4").reshape(2, 3), "indices": np.array([[2, 0]])}
        assert ReferenceEvaluator(proto, new_ops=gs.onnx.reference_ops()).run(None, feed)[0].tolist() == [[2, 0]]
        with pytest.raises(ValueError, match="Except for dimension 1, all dimensions"):
            ReferenceEvaluator(proto).run(None, feed)

    def test_strings(self):
        proto = model("Gather", 13, inputs={"data": TensorProto.STRING, "indices": TensorProto.INT64})
        evaluator = ReferenceEvaluator(proto, new_ops=gs.onnx.reference_ops())
        for data in (np.array(["a", "bc"]), np.array(["a", "bc"], object)):
            assert evaluator.run(None, {"data": data, "indices": np.array([1, 1])})[0].tolist() == ["bc", "bc"]


def test_backend_is_imported_when_it_is_asked_for():
    code = "import gatherscatter as gs; assert not hasattr(gs.onnx, 'nothing'); print(gs.onnx.backend.prepare.__name__)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "prepare"


def test_backend_api():
    proto = model("Gather", 13, inputs=ND)
    data, indices = np.arange(3, dtype="f4"), np.array([2])
    assert backend.run_model(proto, [data, indices])[0].tolist() == [2]
    assert backend.prepare(proto).run([data, indices])[0].tolist() == [2]
    assert backend.supports_device("CPU")
    assert not backend.supports_device("CUDA")
    with pytest.raises(ValueError, match="prepare: device='CUDA' is not supported; pass 'CPU'"):
        backend.prepare(proto, "CUDA")
