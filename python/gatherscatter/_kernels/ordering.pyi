from typing import Any

import numpy as np
from numpy.typing import NDArray

WHAT: dict[str, int]
METHODS: dict[str, int]

def run(
    what: int,
    values: NDArray[Any],
    ids: NDArray[Any],
    are_pointers: bool,
    n: int,
    out: NDArray[Any],
    q: NDArray[np.float64] | None,
    method: int,
    least: int,
    fill: NDArray[Any] | None,
    skips_nan: bool,
    is_date: bool,
    is_reversed: bool,
    n_threads: int,
) -> tuple[int, bool]: ...
def force(by_halves: bool) -> None: ...
