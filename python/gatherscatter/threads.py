"""The number of threads that the CPU kernels use."""

import os
import threading
import warnings

from gatherscatter._kernels import common as _kernel
from gatherscatter._typing import IntLike

__all__ = ["get_num_threads", "set_num_threads"]

# The maximum number of threads, passed to the kernels; 0: OpenMP's choice at each call (src/common/threads.pxd).
limit: int = 0
_MOST = 1024  # MAX_TASKS in src/common/threads.pxd
_forked = False


def set_num_threads(n: IntLike | None) -> None:
    """Set the maximum number of threads that a CPU kernel uses, for the whole process.

    Results are the same bit for bit at every thread count. A call with little work uses fewer threads or a single one.
    On Linux, a call also uses fewer threads if other processes keep CPUs busy, or if calls run at once on several
    Python threads (``OMP_DYNAMIC=false`` turns this off).

    Parameters
    ----------
    n : int or None
        The maximum, from 1 to 1024. None, the initial setting, leaves the choice to OpenMP: ``OMP_NUM_THREADS`` if set,
        otherwise the number of CPUs that the process may run on.

    Raises
    ------
    TypeError
        If `n` is neither an integer nor None.
    ValueError
        If `n` is less than 1 or more than 1024.

    Warns
    -----
    RuntimeWarning
        In a forked child process, where the kernels always use one thread. OpenMP's threads do not survive a fork, and
        waiting for them would hang. Start workers with "spawn" or "forkserver" instead.

    Notes
    -----
    `n` overrides ``OMP_NUM_THREADS`` and earlier settings of OpenMP. If OpenMP's limit is lowered later, for example by
    ``threadpoolctl.threadpool_limits``, the smaller of the two applies.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> gs.set_num_threads(1)
    >>> gs.get_num_threads()
    1
    >>> gs.set_num_threads(None)
    """
    global limit
    if n is not None:
        try:
            n = n.__index__()
        except (AttributeError, TypeError):  # arrays have the method, but raise unless they are one integer
            raise TypeError(f"set_num_threads: n={n!r} is not an integer; pass 1 or more, or None") from None
        if not 1 <= n <= _MOST:
            raise ValueError(f"set_num_threads: n={n} is not in [1, {_MOST}]; pass one of these, or None")
    if _forked and n != 1 and _kernel.openmp_version:
        warnings.warn(
            "set_num_threads: this process was forked, so its kernels stay on one thread;"
            ' start it with "spawn" or "forkserver" to use more',
            RuntimeWarning,
            stacklevel=2,
        )
    else:
        limit = n or 0
        _kernel.limit_is_set()  # OpenMP's choice may be lowered later


def get_num_threads() -> int:
    """Return the maximum number of threads that a CPU kernel uses.

    Returns
    -------
    int
        The number set by :func:`set_num_threads`, or OpenMP's limit for the calling thread if that was lowered to a
        smaller number later. If no number was set, OpenMP's limit. In a build without OpenMP and in a forked child
        process, 1.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> gs.get_num_threads() >= 1
    True
    """
    if _kernel.openmp_version == 0:
        return 1
    return _kernel.max_threads_within(limit) if limit else _kernel.max_threads()


def _after_fork_in_child() -> None:
    global limit, _forked
    limit, _forked = 1, True
    _kernel.main_thread_is(threading.get_ident())


_kernel.main_thread_is(threading.main_thread().ident or 0)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
