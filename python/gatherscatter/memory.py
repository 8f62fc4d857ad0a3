"""The free list of memory for large results, and its limit (src/common/memory.pyx)."""

import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gatherscatter._kernels import memory as _kernel

__all__ = ["empty", "keep", "keep_less", "kept"]

_DEFAULT = 512
_VARIABLE = "GATHERSCATTER_KEEP_MIB"

empty: Callable[[tuple[int, ...], np.dtype[Any]], NDArray[Any]] = _kernel.empty


def keep(mebibytes: int) -> None:
    """Set the limit in MiB, for the whole process; 0 keeps nothing."""
    _kernel.set_limit(mebibytes << 20)


def keep_less() -> None:
    """Keep nothing from now on, unless the user set a limit."""
    global limit
    if _VARIABLE not in os.environ:
        limit = 0
        keep(0)


def kept() -> int:
    """Bytes on the free list now."""
    return _kernel.kept_bytes()


def _initial_limit() -> int:
    given = os.environ.get(_VARIABLE)
    if given is None:
        return _DEFAULT
    if given.isascii() and given.isdigit():
        return int(given)
    warnings.warn(
        f"gatherscatter: {_VARIABLE}={given!r} is not a whole number of mebibytes; {_DEFAULT} are kept",
        RuntimeWarning,
        stacklevel=2,
    )
    return _DEFAULT


limit: int = _initial_limit() if _kernel.keeps else 0
keep(limit)
