from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gatherscatter.operators import Operator

def set_up(tensor: type, parameter: type, **functions: Any) -> None: ...
def record_by(gather: Callable[..., Any], scatter: Callable[..., Any]) -> None: ...
def load(capsule: Any, tensor: type, storage: type, samples: list[tuple[Any, np.dtype[Any]]]) -> bool: ...
def fitting_shape(
    kind: int, data: NDArray[Any], indices: NDArray[Any], axis: object, batch_dims: object
) -> tuple[int, ...] | None: ...
def arrays(data: Any, indices: Any, updates: Any) -> tuple[Any, Any, Any] | None: ...
def tensor(array: NDArray[Any], like: Any) -> Any: ...
def try_gather(
    kind: int,
    wrap_negative: object,
    data: object,
    indices: object,
    axis: object,
    batch_dims: object,
    mode: object,
    fill_value: object,
    out: object,
    n_threads: int,
    op: Operator | None = None,
) -> Any: ...
def try_scatter(
    kind: int,
    wrap_negative: object,
    data: object,
    indices: object,
    updates: object,
    axis: object,
    batch_dims: object,
    reduction: object,
    mode: object,
    include_self: object,
    out: object,
    n_threads: int,
    op: Operator | None = None,
) -> Any: ...
