from typing import Any

import numpy as np
from numpy.typing import NDArray

def scatter(
    kind: int,
    data: NDArray[Any] | None,
    indices: NDArray[Any],
    updates: NDArray[Any],
    out: NDArray[Any],
    axis: int,
    batch_dims: int,
    mode: int,
    reduction: int,
    number: int,
    limit: int,
) -> int: ...
def try_scatter(
    kind: int,
    data: NDArray[Any],
    indices: NDArray[Any],
    updates: NDArray[Any],
    axis: object,
    batch_dims: object,
    reduction: object,
    limit: int,
) -> NDArray[Any] | None: ...
def count_rows(
    kind: int,
    numbering: NDArray[Any],
    indices: NDArray[Any],
    axis: int,
    batch_dims: int,
    mode: int,
    start: int,
    counts: NDArray[np.int64],
) -> int: ...
