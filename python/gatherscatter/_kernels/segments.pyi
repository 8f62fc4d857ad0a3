from typing import Any

from numpy.typing import NDArray

ROUGH_MOMENTS: int

def reduce(
    values: NDArray[Any],
    ids: NDArray[Any],
    are_pointers: bool,
    table: NDArray[Any],
    accumulators: tuple[tuple[int, int], ...],
    type_code: int,
    to_real: bool,
    skips_nan: bool,
    rounds: bool,
    reads_values: bool,
    block: int,
    n_threads: int,
) -> tuple[int, bool, bool]: ...
def softmax(
    values: NDArray[Any],
    ids: NDArray[Any],
    are_pointers: bool,
    table: NDArray[Any],
    out: NDArray[Any],
    type_code: int,
    is_log: bool,
    block: int,
    n_threads: int,
) -> tuple[int, bool]: ...
def extremes(ids: NDArray[Any], n_threads: int) -> tuple[int, int]: ...
def allow_routes(routes: int) -> None: ...
def explain(begins: bool) -> dict[int, dict[int, float]]: ...
def last_route() -> tuple[int, int]: ...
