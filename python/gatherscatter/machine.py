"""What a call on the CPU costs: the numbers of the machine, and the choice that is made from them."""

import threading
from collections.abc import Callable
from numbers import Real
from typing import Any

from gatherscatter._kernels import common as _common
from gatherscatter._kernels import gather as _gather
from gatherscatter._kernels import scatter as _scatter
from gatherscatter._kernels import segments as _segments
from gatherscatter._kernels.common import GatherRoute, ScatterRoute

__all__ = ["explain", "get_machine", "set_machine"]

_lock = threading.Lock()


def get_machine() -> dict[str, float]:
    """Return the numbers of this machine from which the CPU kernels estimate the time of a call.

    Returns
    -------
    dict
        "l2_bytes" and "l3_bytes": sizes of the caches that one core can use. "bandwidth": bytes per nanosecond that one
        core reads and writes; n cores move n**"bandwidth_growth" times as many. In nanoseconds: "step_l2", "step_l3"
        and "step_memory", to apply an update to an element there; "resolve", to resolve an index; "place", to
        partition an update; "region" and "region_thread", to start two threads and each further one; "slice", to wait
        for a CPU.

    See Also
    --------
    set_machine : Set some of them.
    explain : The estimates for a call.

    Notes
    -----
    The sizes are read from the system. The times are constants that were measured on several CPUs; they choose how a
    call runs, and never change its result.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> sorted(gs.get_machine())[:3]
    ['bandwidth', 'bandwidth_growth', 'l2_bytes']
    """
    return dict(_common.get_machine())


def set_machine(**numbers: float) -> None:
    """Set numbers of the machine for the whole process, such as those of a machine that was measured.

    Parameters
    ----------
    **numbers : float
        The numbers to set, by the names that `get_machine` returns. Each has limits, which the error names.

    Raises
    ------
    TypeError
        If a number is not a real number.
    ValueError
        If a name is unknown, or a number is not within its limits.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> before = gs.get_machine()
    >>> gs.set_machine(bandwidth=40, step_l3=1.5)
    >>> gs.get_machine()["bandwidth"]
    40.0
    >>> gs.set_machine(**before)
    """
    known = _common.get_machine()
    for name, number in numbers.items():
        if name not in known:
            raise ValueError(f"set_machine: {name!r} is not a number of the machine; pass some of {', '.join(known)}")
        if isinstance(number, bool) or not isinstance(number, Real):
            raise TypeError(f"set_machine: {name}={number!r} is not a number")
    _common.set_machine(numbers)


def explain(function: Callable[..., Any], /, *args: Any, **options: Any) -> dict[str, Any]:
    """Run a call on the CPU; return how it ran and how long each route was expected to take.

    Parameters
    ----------
    function : callable
        A function that gathers, scatters, or reduces groups, such as `gather`, `scatter_nd` or `segment_reduce`.
    *args, **options
        Its arguments. It is called once, and its result is dropped.

    Returns
    -------
    dict
        "route" and "threads": what the last pass over groups of the call took, or without one the last scatter, or
        without one the last gather. "estimates": for each route that was compared, the estimated milliseconds by number
        of threads. The least one of the routes that the settings allow was taken. Small calls take "direct" without
        estimates; theirs are shown all the same.

    Raises
    ------
    ValueError
        If the call ran neither by the CPU kernels.

    See Also
    --------
    get_machine : The numbers from which the estimates are made.

    Notes
    -----
    The routes of scatters are "direct" (one thread applies all updates, or a thread those of some batches), "blocks"
    (sorted or neighbouring indices), "partition" (updates are first partitioned by parts of the result) and "private"
    (few destinations; of groups, blocks of positions have tables of their own). Those of gathers are "direct" (any
    layout; threads have parts of the result), "runs" (short items at indices side by side), "columns" (elements along
    an axis with a long stride) and "tiles" (prepared indices of large data). All give the same bits. The environment
    variable GATHERSCATTER_ROUTES, such as "direct,partition", names those that may be taken besides "direct", which
    always may.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> import numpy as np
    >>> data, indices = np.zeros(8), np.array([1, 1, 2])
    >>> gs.explain(gs.scatter, data, indices, np.ones(3), reduction="add")["route"]
    'direct'
    """
    with _lock:
        kernels = (_segments, ScatterRoute), (_scatter, ScatterRoute), (_gather, GatherRoute)
        for kernel, _ in kernels:
            kernel.explain(True)
        try:
            function(*args, **options)
        finally:
            all_found = [(kernel.explain(False), kernel.last_route(), routes) for kernel, routes in kernels]
    for found, (route, n_threads), routes in all_found:
        if found:
            estimates = {
                routes(code).name.lower(): {threads: ns / 1e6 for threads, ns in by_threads.items()}
                for code, by_threads in found.items()
            }
            return {"route": routes(route).name.lower(), "threads": n_threads, "estimates": estimates}
    name = getattr(function, "__name__", function)
    raise ValueError(f"explain: {name!r} ran no gather or scatter by the CPU kernels")
