from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Empty = Callable[[tuple[int, ...], np.dtype[Any]], NDArray[Any]]

def group(
    rows: NDArray[Any], n_rows: int, empty: _Empty, n_threads: int
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]: ...
def translate(
    end: NDArray[np.uint32],
    updates: NDArray[np.uint32],
    update_rows: NDArray[Any],
    empty: _Empty,
    n_threads: int,
) -> tuple[NDArray[Any], ...] | None: ...
def pays(n_slices: int, slice_bytes: int, n: int) -> bool: ...
def is_scattered(indices: NDArray[Any]) -> bool: ...
def sort_by_tile(indices: NDArray[Any], n_slices: int, empty: _Empty, n_threads: int) -> NDArray[np.uint32]: ...
