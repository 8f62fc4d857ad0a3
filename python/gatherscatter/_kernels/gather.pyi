from typing import Any

import numpy as np
from numpy.typing import NDArray

def gather(
    kind: int,
    data: NDArray[Any],
    indices: NDArray[Any],
    out: NDArray[Any] | None,
    axis: int,
    batch_dims: int,
    mode: int,
    fill: NDArray[Any] | None,
    limit: int,
) -> int: ...
def try_gather(
    kind: int, data: NDArray[Any], indices: NDArray[Any], axis: object, batch_dims: object, limit: int
) -> NDArray[Any] | None: ...
def resolve(
    kind: int,
    numbering: NDArray[Any],
    indices: NDArray[Any],
    axis: int,
    batch_dims: int,
    mode: int,
    start: int,
    rows: NDArray[np.int64],
) -> int: ...
