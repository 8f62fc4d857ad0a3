"""Eager tensors of TensorFlow as NumPy arrays, and results as tensors."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from gatherscatter import values
from gatherscatter.operators import Operator


def enter(op: Operator, **arguments: Any) -> tuple[list[Any], Callable[[Any], Any]]:
    """The arguments with NumPy arrays in the place of tensors, and what makes a tensor of the result then."""
    tf = sys.modules.get("tensorflow")
    # Without Tensor it is being imported, or is another module of that name.
    loaded = tf is not None and hasattr(tf, "Tensor")
    if loaded and any(isinstance(value, (tf.Tensor, tf.Variable)) for value in arguments.values()):  # type: ignore[union-attr]
        return _on_tensors(tf, op, arguments), _as_tensor
    return list(arguments.values()), _unchanged


def _on_tensors(tf: Any, op: Operator, arguments: dict[str, Any]) -> list[Any]:
    """NumPy arrays on the memory of eager tensors; strings, which TensorFlow keeps in its own form, are copied."""
    result = []
    for position, (argument, given) in enumerate(arguments.items()):
        value: Any = given
        if position == 0 and isinstance(given, values.TYPES) and not isinstance(given, np.generic):
            value = tf.convert_to_tensor(given)  # with TensorFlow's dtype for it
        if isinstance(value, tf.Variable):
            value = value.value()
        if isinstance(value, tf.Tensor):
            if tf.is_symbolic_tensor(value):
                raise NotImplementedError(
                    f"{op.name}: {op.argument(argument)} is a symbolic tensor, which has no values yet; inside of "
                    "tf.function call this through tf.numpy_function or tf.py_function"
                )
            # With a dtype __array__ would copy. For one number of bfloat16 it gives no array.
            value = np.asarray(value) if value.shape.rank else np.asarray(value.numpy(), value.dtype.as_numpy_dtype)
        result.append(value)
    return result


def _unchanged(result: Any) -> Any:
    return result


def _as_tensor(result: Any) -> Any:
    # A copy. TensorFlow takes over memory through DLPack alone, and then ends the process (tensor.cc, IsAligned())
    # at the first operator that wants it aligned as NumPy's is not.
    tf: Any = sys.modules["tensorflow"]
    return tf.convert_to_tensor(result, dtype=tf.string if result.dtype.kind in "OSU" else None)
