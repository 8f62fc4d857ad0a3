"""The setting that makes float sums and products on GPUs reproducible."""

import numpy as np

__all__ = ["are_deterministic_algorithms_enabled", "use_deterministic_algorithms"]

enabled: bool = False


def use_deterministic_algorithms(mode: bool | np.bool) -> None:
    """Set whether sums and products of floats on a GPU are computed in order, for the whole process.

    On the CPU they are always computed in order, and each element has the bits of the sequential loop. On a GPU they
    use atomic operations by default. The device runs these in an unspecified order, so the last bits may differ from
    run to run. With this setting, updates are sorted by destination first and applied to each element one after the
    other, which gives the bits of the sequential loop but takes longer.

    Parameters
    ----------
    mode : bool
        Whether to compute in order. For PyTorch, ``torch.use_deterministic_algorithms(True)`` has the same effect.

    Raises
    ------
    TypeError
        If `mode` is not a bool.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> gs.use_deterministic_algorithms(True)
    >>> gs.are_deterministic_algorithms_enabled()
    True
    >>> gs.use_deterministic_algorithms(False)
    """
    global enabled
    if not isinstance(mode, (bool, np.bool)):
        raise TypeError(f"use_deterministic_algorithms: mode={mode!r} is not a bool; pass True or False")
    enabled = bool(mode)


def are_deterministic_algorithms_enabled() -> bool:
    """Return whether sums and products of floats on a GPU are computed in order.

    Returns
    -------
    bool
        The value set by :func:`use_deterministic_algorithms`. The initial value is False.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> gs.are_deterministic_algorithms_enabled()
    False
    """
    return enabled
