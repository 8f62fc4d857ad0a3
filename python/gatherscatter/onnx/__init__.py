"""ONNX's operators, name for name and version for version, over the core and on every array library.

`opset` is a model's opset: the newest version of the operator that is not newer rules, as in a model. What that
version lacks is refused, though the core can do it. Values follow the core: of duplicates the last wins, NaN stays in
max and min, an index out of bounds is an `IndexError`.

`reference_ops` puts these operators into onnx's own evaluator, and `gatherscatter.onnx.backend` makes an ONNX backend
of that. Only those two need onnx installed.

Source: https://onnx.ai/onnx/operators/
"""

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


def reference_ops(opset: int | None = None) -> list[type]:
    """Operator classes for ``onnx.reference.ReferenceEvaluator(model, new_ops=…)``.

    Parameters
    ----------
    opset : int, optional
        The opset whose versions rule; the model's own if None.

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
