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
    return {
        case.name: case
        for case in cases
        if len(case.model.graph.node) == 1 and case.model.graph.node[0].op_type in OPERATORS
    }


def _options(attributes, *names):
    decoded = {name: value.decode() if isinstance(value, bytes) else value for name, value in attributes.items()}
    assert set(decoded) <= set(names)
    return decoded


# TensorScatter writes slices at one position each (a cache's update): another operator, and not here.
OPERATORS = {
    "Gather": lambda attributes, *arrays: gs.gather(*arrays, **_options(attributes, "axis")),
    "GatherElements": lambda attributes, *arrays: gs.gather_elements(*arrays, **_options(attributes, "axis")),
    "GatherND": lambda attributes, *arrays: gs.gather_nd(*arrays, **_options(attributes, "batch_dims")),
    # Deprecated in favour of ScatterElements, which it was renamed to.
    "Scatter": lambda attributes, *arrays: gs.scatter_elements(*arrays, **_options(attributes, "axis")),
    "ScatterElements": lambda attributes, *arrays: gs.scatter_elements(
        *arrays, **_options(attributes, "axis", "reduction")
    ),
    "ScatterND": lambda attributes, *arrays: gs.scatter_nd(*arrays, **_options(attributes, "reduction")),
}
CASES = _load()


def test_all_are_here():
    assert sorted(CASES) == [
        "test_gather_0",
        "test_gather_1",
        "test_gather_2d_indices",
        "test_gather_elements_0",
        "test_gather_elements_1",
        "test_gather_elements_negative_indices",
        "test_gather_negative_indices",
        "test_gathernd_example_float32",
        "test_gathernd_example_int32",
        "test_gathernd_example_int32_batch_dim1",
        "test_scatter_elements_with_axis",
        "test_scatter_elements_with_duplicate_indices",
        "test_scatter_elements_with_negative_indices",
        "test_scatter_elements_with_reduction_max",
        "test_scatter_elements_with_reduction_min",
        "test_scatter_elements_with_reduction_mul",
        "test_scatter_elements_without_axis",
        "test_scatter_with_axis",
        "test_scatter_without_axis",
        "test_scatternd",
        "test_scatternd_add",
        "test_scatternd_max",
        "test_scatternd_max_with_element_indices",
        "test_scatternd_min",
        "test_scatternd_min_with_element_indices",
        "test_scatternd_multiply",
    ]


@pytest.mark.parametrize("name", CASES)
def test_node(name):
    (node,) = CASES[name].model.graph.node
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    for inputs, (expected,) in CASES[name].data_sets:
        result = OPERATORS[node.op_type](attributes, *inputs)
        np.testing.assert_array_equal(result, expected, strict=True)
