from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gatherscatter.operators import Operator

def gather(
    kind: int,
    data: NDArray[Any],
    indices: NDArray[Any] | tuple[NDArray[Any], ...],
    out: NDArray[Any] | None,
    axis: int,
    batch_dims: int,
    mode: int,
    wrap_negative: bool,
    fill: NDArray[Any] | None,
    checks_first: bool,
    n_threads: int,
    tiles: NDArray[Any] | None = None,
) -> int: ...
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
    tiles: NDArray[Any] | None = None,
) -> NDArray[Any] | None: ...
def fail_by(function: Callable[..., None]) -> None: ...
def resolve(
    kind: int,
    row_ids: NDArray[Any],
    indices: NDArray[Any] | tuple[NDArray[Any], ...],
    axis: int,
    batch_dims: int,
    mode: int,
    wrap_negative: bool,
    start: int,
    rows: NDArray[Any],
    n_threads: int,
) -> int: ...
def strided(shape: tuple[int, ...], strides: tuple[int, ...]) -> NDArray[np.uint8]: ...
def true_elements(mask: NDArray[np.bool], empty: Callable[..., NDArray[Any]], n_threads: int) -> NDArray[Any]: ...
def force(route: int) -> None: ...
def allow_routes(routes: int) -> None: ...
def explain(begins: bool) -> dict[int, dict[int, float]]: ...
def last_route() -> tuple[int, int]: ...
