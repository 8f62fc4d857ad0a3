"""gatherscatter.onnx against onnxruntime: values, shapes, and whether a call is an error."""

import warnings
from functools import cache

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from strategies import index_values, sides, values

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import onnxruntime as ort

pytestmark = pytest.mark.peers

FUNCTIONS = {
    "Gather": gs.onnx.gather,
    "GatherElements": gs.onnx.gather_elements,
    "GatherND": gs.onnx.gather_nd,
    "ScatterElements": gs.onnx.scatter_elements,
    "ScatterND": gs.onnx.scatter_nd,
}
TYPES = {
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
    "float16": TensorProto.FLOAT16,
    "int8": TensorProto.INT8,
    "int16": TensorProto.INT16,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "uint8": TensorProto.UINT8,
    "uint16": TensorProto.UINT16,
    "uint32": TensorProto.UINT32,
    "uint64": TensorProto.UINT64,
    "bool": TensorProto.BOOL,
    "str": TensorProto.STRING,
}
# What its CPU kernels have a reduction for.
REDUCED = {
    "ScatterND": ("float32", "float64", "int32", "int64", "int8", "int16", "uint8", "uint16", "uint32", "uint64"),
    "ScatterElements": ("float32", "float64", "int32", "int64", "int8", "int16", "uint8", "uint16", "uint32", "uint64"),
}
OPSETS = {"Gather": (1, 11, 13), "GatherElements": (11, 13), "GatherND": (11, 12, 13),
          "ScatterElements": (11, 13, 16, 18), "ScatterND": (11, 13, 16, 18)}  # fmt: skip


@cache
def session(operator, dtype, indices_dtype, opset, ranks, attributes):
    names = ("data", "indices", "updates")[: len(ranks)]
    kinds = (TYPES[dtype], TYPES[indices_dtype], TYPES[dtype])
    inputs = [
        helper.make_tensor_value_info(name, kind, [f"{name}{d}" for d in range(rank)])
        for name, kind, rank in zip(names, kinds, ranks, strict=False)
    ]
    node = helper.make_node(operator, list(names), ["out"], **dict(attributes))
    out = helper.make_tensor_value_info("out", TYPES[dtype], None)
    graph = helper.make_graph([node], "one", inputs, [out])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", max(opset, 7))], ir_version=8)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run(operator, arrays, opset, **attributes):
    dtype = "str" if arrays[0].dtype.kind in "UO" else arrays[0].dtype.name
    made = session(
        operator, dtype, arrays[1].dtype.name, opset, tuple(a.ndim for a in arrays), tuple(sorted(attributes.items()))
    )
    given_arrays = [a.astype(object) if dtype == "str" and a.dtype.kind == "U" else a for a in arrays]
    return made.run(None, dict(zip(("data", "indices", "updates"), given_arrays, strict=False)))[0]


@st.composite
def cases(draw, operator):
    opset = draw(st.sampled_from(OPSETS[operator]))
    if operator == "GatherND":
        b = draw(st.integers(0, 2)) if opset >= 12 else 0
        tuples = draw(sides(b + draw(st.integers(0, 2))))
        k = draw(st.integers(1, 3))
        indexed = tuple(draw(st.integers(1, 4)) for _ in range(k))
        shape, places = tuples[:b] + indexed + draw(sides(draw(st.integers(0, 2)))), (*tuples, k)
        attributes = {"batch_dims": b} if opset >= 12 else {}
    elif operator == "ScatterND":
        k = draw(st.integers(1, 3))
        indexed = tuple(draw(st.integers(1, 4)) for _ in range(k))
        shape, places, attributes = (
            indexed + draw(sides(draw(st.integers(0, 2)))),
            (*draw(sides(draw(st.integers(0, 2)))), k),
            {},
        )
    else:
        axis = draw(st.integers(0, 2))
        places = draw(sides(axis + 1 + draw(st.integers(0, 1))))
        shape = [n + draw(st.integers(0, 1)) for n in places]
        if operator == "Gather":
            places = draw(sides(draw(st.integers(0, 2))))
        shape[axis] = draw(st.integers(1, 5))
        attributes, indexed = {"axis": axis - draw(st.sampled_from([0, len(shape)]))}, (shape[axis],)
        shape = tuple(shape)
    reductions = ["none"] + ["add", "mul"] * (opset >= 16) + ["max", "min"] * (opset >= 18)
    reduction = draw(st.sampled_from(reductions)) if operator.startswith("Scatter") else "none"
    dtype = draw(st.sampled_from(REDUCED[operator] if reduction != "none" else tuple(TYPES)))
    indices_dtype = (
        np.dtype("int64") if operator.endswith("ND") else np.dtype(draw(st.sampled_from(["int32", "int64"])))
    )
    indices = draw(index_values(places, indexed, indices_dtype, "raise"))
    if indices.size and draw(st.integers(0, 5)) == 0:  # one index out of bounds
        where = draw(st.integers(0, indices.size - 1))
        size = indexed[where % len(indexed)]
        indices.flat[where] = draw(st.sampled_from([size, -size - 1, 10**6, -(10**6)]))
    kind = np.dtype("U5") if dtype == "str" else np.dtype(dtype)
    arrays = [values(shape, kind, draw(st.integers(0, 99))), indices]
    if operator.startswith("Scatter"):
        updates = places[:-1] + shape[places[-1] :] if operator == "ScatterND" else places
        arrays.append(values(updates, kind, 100))
        if reduction == "none":  # whose duplicates the document leaves open
            arrays[2] = np.broadcast_to(values((), kind, 100), updates).copy()
        else:
            attributes["reduction"] = reduction
            arrays[0], arrays[2] = (
                np.asarray(a % 3) for a in (arrays[0], arrays[2])
            )  # no product overflows, no sum rounds
    return arrays, opset, attributes


# What onnxruntime says of an index out of bounds.
WORDS = ("out of bounds", "out of data bounds", "within the inclusive range", "invalid ind", "Out of range value")


def is_outside(operator, arrays, attributes):
    try:
        FUNCTIONS[operator](*arrays, **attributes)
    except IndexError:
        return True
    return False


@pytest.mark.parametrize("operator", FUNCTIONS)
def test_agrees(operator):
    counted = {"values": 0, "errors": 0}

    @settings(max_examples=600, suppress_health_check=list(HealthCheck))
    @given(case=cases(operator))
    def check(case):
        arrays, opset, attributes = case
        try:
            expected = run(operator, arrays, opset, **attributes)
        except Exception as error:  # onnxruntime has classes of its own, none of them public
            if not any(word in str(error) for word in WORDS):
                raise
            with pytest.raises(IndexError):
                FUNCTIONS[operator](*arrays, opset=opset, **attributes)
            counted["errors"] += 1
            return
        if expected.size == 0 and is_outside(operator, arrays, attributes):  # test_difference_empty_results
            return
        if operator == "Gather" and expected.dtype.kind == "O":  # test_difference_rows_of_strings
            expected = np.asarray(np.take(arrays[0], arrays[1], axis=attributes["axis"]), dtype=object)
        result = FUNCTIONS[operator](*arrays, opset=opset, **attributes)
        assert_same_bits(result.astype(expected.dtype), expected)
        counted["values"] += 1

    check()
    print(operator, counted)
    assert counted["errors"] > 20


def test_difference_max_of_nan():
    """onnxruntime keeps or drops a NaN by where it stands; here NaN wins, as in NumPy's maximum."""
    indices = np.array([[0]])
    for first, second in (([np.nan], [1.0]), ([1.0], [np.nan])):
        arrays = np.array(first, np.float32), indices, np.array(second, np.float32)
        ours = gs.onnx.scatter_nd(*arrays, reduction="max")
        assert np.isnan(ours[0])
    pairs = [np.array([[a], [b]], np.float32) for a, b in ((np.nan, 1), (1, np.nan))]
    found = [np.isnan(run("ScatterND", [a, indices, b], 18, reduction="max")[0]) for a, b in pairs]
    assert found[0] != found[1]


def test_difference_rows_of_strings():
    """onnxruntime's Gather copies the first string of each slice and leaves the others empty."""
    data, indices = np.array([["a", "b", "c"], ["d", "e", "f"]]), np.array([1, 0])
    assert run("Gather", [data, indices], 13).tolist() == [["d", "", ""], ["a", "", ""]]
    assert gs.onnx.gather(data, indices).tolist() == [["d", "e", "f"], ["a", "b", "c"]]


def test_difference_empty_results():
    """Where the result has no elements, onnxruntime does not look at the indices; here they are checked."""
    data, indices = np.zeros((1, 0), np.float32), np.array([[1]])
    assert run("GatherND", [data, indices], 13).shape == (1, 0)
    with pytest.raises(IndexError):
        gs.onnx.gather_nd(data, indices)


@pytest.mark.parametrize("operator", ["ScatterND", "ScatterElements"])
def test_difference_strings_add_up(operator):
    """onnxruntime appends strings with "add", and refuses the other reductions of them; here strings have no sum."""
    data, updates = np.array(["a", "b"]), np.array(["x", "y"])
    indices = np.zeros((2, 1) if operator == "ScatterND" else 2, np.int64)
    assert run(operator, [data, indices, updates], 18, reduction="add").tolist() == ["axy", "b"]
    with pytest.raises(Exception, match=r"(?i)string"):
        run(operator, [data, indices, updates], 18, reduction="max")
    with pytest.raises(TypeError, match=r"reduction='add' does not support dtype <U1"):
        FUNCTIONS[operator](data, indices, updates, reduction="add")


@pytest.mark.parametrize("operator", ["ScatterND", "ScatterElements"])
def test_difference_no_float16_reductions(operator):
    """The document allows float16; onnxruntime's CPU has no such reduction."""
    data = np.ones((2, 2), np.float16)
    indices = np.zeros((1, 1) if operator == "ScatterND" else (1, 2), np.int64)
    updates = data[:1]
    assert FUNCTIONS[operator](data, indices, updates, reduction="add")[0].tolist() == [2, 2]
    with pytest.raises(Exception, match=r"(?i)not.?implemented|not supported|float16"):
        run(operator, [data, indices, updates], 18, reduction="add")
