from typing import Any

import numpy as np
from numpy.typing import NDArray

keeps: bool

def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]: ...
def kept_bytes() -> int: ...
def set_limit(limit: int) -> None: ...
