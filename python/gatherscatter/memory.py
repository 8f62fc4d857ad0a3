"""The memory of freed results that is kept for later results, and its limit (src/common/memory.pxi)."""

import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gatherscatter._kernels import common as _kernel
from gatherscatter._typing import IntLike

__all__ = ["empty_cache", "get_cache_limit", "set_cache_limit"]

_DEFAULT_MIB = 512
_VARIABLE = "GATHERSCATTER_KEEP_MIB"

empty: Callable[[tuple[int, ...], np.dtype[Any]], NDArray[Any]] = _kernel.empty
kept: Callable[[], int] = _kernel.kept_bytes  # the number of bytes kept now


def empty_cache() -> None:
    """Return the memory that is kept from freed results to the system.

    The limit does not change: the memory of results that are freed later is kept again.

    See Also
    --------
    set_cache_limit : Set the limit; 0 keeps nothing.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> gs.empty_cache()
    """
    _kernel.empty_cache()


def set_cache_limit(n_bytes: IntLike) -> None:
    """Set how much memory of freed results is kept for later results, for the whole process.

    Kept memory beyond the new limit is returned to the system now. On Linux, only the memory of results of 256 KiB or
    more is kept, and at most 32 MiB of results of less than 4 MiB. On other systems nothing is kept.

    Parameters
    ----------
    n_bytes : int
        The limit in bytes; 0 keeps nothing. The initial limit is 512 MiB, or the value of the environment variable
        ``GATHERSCATTER_KEEP_MIB``.

    Raises
    ------
    TypeError
        If `n_bytes` is not an integer.
    ValueError
        If `n_bytes` is negative, or more than ``sys.maxsize``.

    See Also
    --------
    empty_cache : Return the kept memory to the system.
    get_cache_limit : Return the limit.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> before = gs.get_cache_limit()
    >>> gs.set_cache_limit(64 << 20)
    >>> gs.set_cache_limit(before)
    """
    global _is_chosen
    try:
        number = n_bytes.__index__()
    except (AttributeError, TypeError):  # arrays have the method, but raise unless they are one integer
        raise TypeError(
            f"set_cache_limit: n_bytes={n_bytes!r} is not an integer; pass a number of bytes, 0 to keep nothing"
        ) from None
    if not 0 <= number <= sys.maxsize:
        raise ValueError(f"set_cache_limit: n_bytes={number} is not in [0, {sys.maxsize}]; pass 0 to keep nothing")
    _is_chosen = True
    _keep(number)


def get_cache_limit() -> int:
    """Return the limit on the memory of freed results that is kept for later results.

    Returns
    -------
    int
        The limit in bytes. 0 means that nothing is kept, as on systems other than Linux.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> gs.get_cache_limit() >= 0
    True
    """
    return limit


def keep_less() -> None:
    """Keep nothing from now on, unless the user set a limit."""
    if not _is_chosen:
        _keep(0)


def _keep(n_bytes: int) -> None:
    global limit
    if _kernel.keeps:
        limit = n_bytes
        _kernel.set_limit(n_bytes)


def _initial_limit() -> int:
    """The limit from the environment, in bytes. An invalid value gives a warning, so that the import succeeds."""
    given = os.environ.get(_VARIABLE, "")
    if given.isascii() and given.isdigit() and len(given) <= 1000:  # int() refuses thousands of digits
        return min(int(given) << 20, sys.maxsize)
    if given:
        warnings.warn(
            f"gatherscatter: {_VARIABLE}={given[:60]!r} is not a whole number of mebibytes; {_DEFAULT_MIB} are kept",
            RuntimeWarning,
            stacklevel=2,
        )
    return _DEFAULT_MIB << 20


limit: int = 0  # in bytes
_is_chosen = bool(os.environ.get(_VARIABLE))
_keep(_initial_limit())
