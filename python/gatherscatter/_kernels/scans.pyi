from typing import Any

from numpy.typing import NDArray

def scan(
    values: NDArray[Any],
    ids: NDArray[Any],
    are_pointers: bool,
    n: int,
    words: NDArray[Any],
    states: NDArray[Any] | None,
    out: NDArray[Any],
    type_code: int,
    number_code: int,
    out_code: int,
    reduction: int,
    exclusive: bool,
    reverse: bool,
    skips_nan: bool,
    n_threads: int,
) -> int: ...
