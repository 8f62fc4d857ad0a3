"""What the kernels of segments are called with, what their status says, and the dtypes that a library has."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gatherscatter import errors
from gatherscatter._kernels.common import Status
from gatherscatter.backends.base import Backend
from gatherscatter.errors import segments as messages
from gatherscatter.operators import Operator
from gatherscatter.segments.ids import Ids, expanded
from gatherscatter.segments.rules import Layout
from gatherscatter.values import Array

# Units that the kernels take as columns: so many, each of at most so many numbers.
_FEWEST_UNITS, _MOST_NUMBERS = 64, 64


def kernel_ids(ids: Ids) -> Array:
    """NumPy's ids: (batches, positions). Or pointers: (batches, segments + 1)."""
    layout, pointers = ids.layout, ids.pointers
    n_batches = math.prod(layout.data[: layout.batch_dims])
    if pointers is not None:
        return np.require(pointers.reshape(n_batches, layout.n + 1), np.int64, ["C", "A"])
    # The greatest uint64 become negative, which means the same.
    array = expanded(ids).reshape(n_batches, math.prod(layout.numbered))
    return np.require(array, array.dtype if array.dtype in (np.int32, np.int64) else np.int64, ["C", "A"])


def are_columns(layout: Layout) -> bool:
    """Whether the kernels take units as columns, which takes less time for many of few numbers."""
    numbers = math.prod(layout.numbered) * math.prod(layout.inner)
    return numbers <= _MOST_NUMBERS and math.prod(layout.outer) >= _FEWEST_UNITS and layout.batch_dims == 0


def check_status(op: Operator, status: int) -> None:
    if status == Status.NO_MEMORY:
        raise messages.no_memory(op)
    if status != Status.OK:
        raise errors.changed_meanwhile(op, "the shape, dtype or flags of an array")


def defaults(backend: Backend, data: Any) -> tuple[str, str, str]:
    """The names of the library's integer, unsigned integer and float."""
    xp, name = backend.namespace(data), backend.dtype_name
    if backend.name == "PyTorch":  # without tensors, and uint64 has few operators
        return "int64", "int64", str(xp.get_default_dtype()).removeprefix("torch.")
    signed = name(xp.asarray(0))
    return signed, f"u{signed}", name(xp.asarray(0.0))


def has_float64(backend: Backend, data: Any) -> bool:
    if backend.name == "JAX":
        return defaults(backend, data)[2] == "float64"
    return not str(backend.device(data)).startswith("mps")  # Apple's GPUs
