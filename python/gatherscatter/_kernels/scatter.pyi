from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gatherscatter.operators import Operator

def register(
    name: str,
    code: int,
    step: int,
    types: int,
    associative: int,
    divides: bool,
    identities: dict[int, bytes],
) -> None: ...
def scatter(
    kind: int,
    data: NDArray[Any] | None,
    indices: NDArray[Any] | tuple[NDArray[Any], ...],
    updates: NDArray[Any],
    out: NDArray[Any],
    axis: int,
    batch_dims: int,
    mode: int,
    wrap_negative: bool,
    reduction: int,
    type_code: int,
    accumulate: int,
    include_self: bool,
    checks_first: bool,
    n_threads: int,
    source: NDArray[Any] | None = None,
    update_rows: NDArray[np.int32] | None = None,
    prepared: tuple[NDArray[Any], ...] | None = None,
    weights: NDArray[Any] | None = None,
) -> int: ...
def take(
    kind: int,
    data: NDArray[Any],
    indices: NDArray[Any],
    updates: NDArray[Any],
    out: NDArray[Any],
    axis: int,
    batch_dims: int,
    mode: int,
    wrap_negative: bool,
    n_threads: int,
) -> int: ...
def dot_rows(
    a: NDArray[Any],
    numbers_a: NDArray[np.int32],
    b: NDArray[Any],
    numbers_b: NDArray[np.int32],
    out: NDArray[Any],
    n_threads: int,
) -> int: ...
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
    prepared: tuple[NDArray[Any], ...] | None = None,
) -> NDArray[Any] | None: ...
def fail_by(function: Callable[..., None]) -> None: ...
def force(route: int) -> None: ...
def allow_routes(routes: int) -> None: ...
def explain(begins: bool) -> dict[int, dict[int, float]]: ...
def last_route() -> tuple[int, int]: ...
