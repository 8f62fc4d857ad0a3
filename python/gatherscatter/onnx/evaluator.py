"""Operator classes for onnx's reference evaluator."""

from collections.abc import Callable
from typing import Any

from onnx.reference.op_run import OpRun

from gatherscatter.onnx import functions

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "Gather": functions.gather,
    "GatherElements": functions.gather_elements,
    "GatherND": functions.gather_nd,
    "Scatter": functions.scatter,
    "ScatterElements": functions.scatter_elements,
    "ScatterND": functions.scatter_nd,
    "TensorScatter": functions.tensor_scatter,
}


def operators(opset: int | None) -> list[type]:
    return [_operator(name, function, opset) for name, function in FUNCTIONS.items()]


def _operator(name: str, function: Callable[..., Any], opset: int | None) -> type:
    def run(self: Any, *inputs: Any, **attributes: Any) -> tuple[Any]:
        version = self.run_params["opsets"][""] if opset is None else opset
        given = {key: value for key, value in attributes.items() if value is not None}
        return (function(*inputs, **given, opset=version),)

    # The evaluator looks up an operator by the name of its class, and default attributes in the schema of that name.
    members = {"__module__": __name__, "__doc__": f"ONNX's {name} on gatherscatter.", "op_domain": "", "_run": run}
    return type(name, (OpRun,), members)
