"""The gather and scatter operators of ONNX, with ONNX's names and versions, for arrays of every library.

`opset` is the opset of a model. As in a model, the latest version of an operator that is not later than `opset`
applies. Dtypes, reductions and `batch_dims` that this version lacks raise an error, even if the functions of
`gatherscatter` support them. Where ONNX does not specify the result, the rules of `gatherscatter` apply: the last of
duplicate updates wins, NaN propagates in "max" and "min", and an index out of bounds raises an `IndexError`.

`reference_ops` returns these operators for onnx's reference evaluator. `gatherscatter.onnx.backend` is an ONNX backend
that uses them. Only these two need onnx to be installed.

Source: https://onnx.ai/onnx/operators/
"""

from importlib import import_module
from types import ModuleType

from gatherscatter.onnx.functions import (
    gather,
    gather_elements,
    gather_nd,
    scatter,
    scatter_elements,
    scatter_nd,
    tensor_scatter,
)

__all__ = [
    "gather",
    "gather_elements",
    "gather_nd",
    "reference_ops",
    "scatter",
    "scatter_elements",
    "scatter_nd",
    "tensor_scatter",
]


def __dir__() -> list[str]:
    return __all__  # tab completion shows what is public, not what the module imports


def reference_ops(opset: int | None = None) -> list[type]:
    """Return operator classes for ``onnx.reference.ReferenceEvaluator(model, new_ops=…)``.

    Parameters
    ----------
    opset : int, optional
        The opset that selects the versions of the operators. By default, the opset of the model.

    Returns
    -------
    list of type
        Subclasses of ``onnx.reference.op_run.OpRun``: Gather, GatherElements, GatherND, Scatter, ScatterElements,
        ScatterND and TensorScatter.

    Raises
    ------
    ImportError
        If onnx is not installed.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> sorted(operator.__name__ for operator in gs.onnx.reference_ops())[:3]
    ['Gather', 'GatherElements', 'GatherND']
    """
    try:
        from gatherscatter.onnx import evaluator
    except ImportError as reason:
        raise ImportError("reference_ops: it needs onnx; pip install onnx") from reason
    return evaluator.operators(opset)


def __getattr__(name: str) -> ModuleType:
    """Import the module `backend`, which needs onnx, when it is asked for."""
    if name != "backend":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("gatherscatter.onnx.backend")
