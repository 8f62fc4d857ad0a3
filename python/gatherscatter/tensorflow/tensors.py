"""Conversion between eager tensors of TensorFlow and NumPy arrays."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from gatherscatter import values
from gatherscatter.operators import Operator


def enter(op: Operator, **arguments: Any) -> tuple[list[Any], Callable[[Any], Any]]:
    """Convert tensors among the arguments to NumPy arrays. Returns these and a function to convert the result back."""
    tf: Any = sys.modules.get("tensorflow")
    # Without the attribute Tensor, the module is partially imported, or is another module of that name.
    classes = (tf.Tensor, tf.Variable) if hasattr(tf, "Tensor") else ()
    given = arguments.get("updates")
    has_tensors = any(isinstance(value, classes) for value in arguments.values())
    if has_tensors:
        arguments = _on_tensors(tf, op, arguments)
    if isinstance(given, np.ndarray) and "data" in arguments:
        arguments = _with_dtype_of_data(op, arguments)
    return list(arguments.values()), _as_tensor if has_tensors else _unchanged


def _with_dtype_of_data(op: Operator, arguments: dict[str, Any]) -> dict[str, Any]:
    """Updates that were passed as a NumPy array, cast to data's dtype if it holds their values.

    TensorFlow casts them without a look at the values. What is not cast here, the backend refuses.
    """
    data, updates = arguments["data"], arguments["updates"]
    if isinstance(data, (list, tuple)):
        data = values.as_array(op, "data", data)
    dtype = getattr(data, "dtype", None)
    if isinstance(dtype, np.dtype) and values.is_number(dtype) and not np.can_cast(updates.dtype, dtype, "equiv"):
        updates = values.cast(updates, dtype)
    return {**arguments, "data": data, "updates": updates}


def _on_tensors(tf: Any, op: Operator, arguments: dict[str, Any]) -> dict[str, Any]:
    """NumPy arrays that share the memory of eager tensors; strings are copied."""
    result = {}
    for position, (argument, given) in enumerate(arguments.items()):
        value: Any = given
        if position == 0 and isinstance(given, values.TYPES) and not isinstance(given, np.generic):
            value = tf.convert_to_tensor(given)  # so that it gets TensorFlow's default dtype
        if isinstance(value, tf.Variable):
            value = value.value()
        if isinstance(value, tf.Tensor):
            if tf.is_symbolic_tensor(value):
                raise NotImplementedError(
                    f"{op.name}: {op.argument(argument)} is a symbolic tensor, which has no values yet; inside "
                    "tf.function call this through tf.numpy_function or tf.py_function"
                )
            # No dtype for np.asarray, since __array__ would then copy. A tensor of rank 0 may give a scalar.
            value = np.asarray(value) if value.shape.rank else np.asarray(value.numpy(), value.dtype.as_numpy_dtype)
        result[argument] = value
    return result


def _unchanged(result: Any) -> Any:
    return result


def _as_tensor(result: Any) -> Any:
    # A copy. Sharing is possible by DLPack only, and then TensorFlow aborts the process (tensor.cc, IsAligned()) at the
    # first operator that requires a larger alignment than NumPy's.
    tf: Any = sys.modules["tensorflow"]
    return tf.convert_to_tensor(result, dtype=tf.string if result.dtype.kind in "OSU" else None)
