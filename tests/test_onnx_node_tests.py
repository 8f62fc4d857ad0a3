"""ONNX's own node tests, as the installed onnx package has them."""

import warnings

import gatherscatter as gs
import numpy as np
import onnx
import onnx.backend.test.loader
import pytest


def _load():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # onnx computes other operators' expected values while it loads
        cases = onnx.backend.test.loader.load_model_tests(kind="node")
    return {case.name: case for case in cases if case.model.graph.node[0].op_type in OPERATORS}


def _gather_nd(attributes, data, indices):
    return gs.gather_nd(data, indices, batch_dims=attributes.get("batch_dims", 0))


OPERATORS = {"GatherND": _gather_nd}
CASES = _load()


def test_all_are_here():
    assert sorted(CASES) == [
        "test_gathernd_example_float32",
        "test_gathernd_example_int32",
        "test_gathernd_example_int32_batch_dim1",
    ]


@pytest.mark.parametrize("name", CASES)
def test_node(name):
    (node,) = CASES[name].model.graph.node
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    for inputs, (expected,) in CASES[name].data_sets:
        result = OPERATORS[node.op_type](attributes, *inputs)
        np.testing.assert_array_equal(result, expected, strict=True)
