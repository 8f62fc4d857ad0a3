from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

known: dict[int, tuple[Callable[[], Any], NDArray[np.uint32], int, int]]
tiled: dict[int, tuple[Callable[[], Any], NDArray[np.uint32], int, int]]
translations: dict[int, tuple[Callable[[], Any], NDArray[np.uint32], NDArray[np.uint32], int]]

def group(
    rows: NDArray[np.int32],
    n_rows: int,
    empty: Callable[[tuple[int, ...], np.dtype[Any]], NDArray[Any]],
    n_threads: int,
) -> int: ...
def translate(
    indices: NDArray[Any],
    update_rows: NDArray[Any],
    empty: Callable[[tuple[int, ...], np.dtype[Any]], NDArray[Any]],
    n_threads: int,
) -> None: ...
def translation_bytes(indices: NDArray[Any]) -> int: ...
def pays(n_slices: int, slice_bytes: int, n: int) -> bool: ...
def is_scattered(indices: NDArray[np.int32]) -> bool: ...
def sort_by_tile(
    indices: NDArray[np.int32],
    n_slices: int,
    empty: Callable[[tuple[int, ...], np.dtype[Any]], NDArray[Any]],
    n_threads: int,
) -> int: ...
def force(n_threads: int) -> None: ...
def main_thread_is(ident: int) -> None: ...
