from typing import Any

import numpy as np
from numpy.typing import NDArray

def load(
    capsule: Any,
    tensor: type,
    parameter: type,
    storage: type,
    samples: list[tuple[Any, np.dtype[Any]]],
    **functions: Any,
) -> bool: ...
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
) -> Any: ...
