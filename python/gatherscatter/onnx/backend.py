"""An ONNX backend: onnx's reference evaluator with the gathers and scatters of this package. Requires onnx.

It follows the ONNX backend API: ``gatherscatter.onnx.backend.prepare(model).run(inputs)``.

Source: https://onnx.ai/onnx/api/backend.html
"""

from collections.abc import Callable, Sequence
from typing import Any

import onnx
from onnx.backend.base import Backend as _Backend
from onnx.backend.base import BackendRep
from onnx.reference import ReferenceEvaluator

from gatherscatter.onnx import reference_ops

__all__ = ["Backend", "Model", "prepare", "run_model", "supports_device"]


class Model(BackendRep):
    """A model that is ready to run."""

    def __init__(self, model: Any) -> None:
        self.evaluator: ReferenceEvaluator = ReferenceEvaluator(model, new_ops=reference_ops())

    def run(self, inputs: Any, **_: Any) -> tuple[Any, ...]:
        """Run the model and return its outputs. inputs: in the model's order, or one array if it has one input."""
        if not isinstance(inputs, Sequence):
            inputs = [inputs]
        return tuple(self.evaluator.run(None, dict(zip(self.evaluator.input_names, inputs, strict=False))))  # pyright: ignore[reportArgumentType]


class Backend(_Backend):
    """The CPU, with gatherscatter's gathers and scatters."""

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> bool:
        """Whether a model can run: any model can, on a supported device."""
        return cls.supports_device(device)

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> Model:
        """Make a model ready to run."""
        if not cls.supports_device(device):
            raise ValueError(f"prepare: device={device!r} is not supported; pass 'CPU'")
        return Model(model)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether models run on a device."""
        return device.partition(":")[0] == "CPU"


prepare: Callable[..., Model] = Backend.prepare
run_model: Callable[..., tuple[Any, ...]] = Backend.run_model
supports_device: Callable[[str], bool] = Backend.supports_device
