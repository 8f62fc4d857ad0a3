"""`bincount`: how often each integer occurs, or the sums of weights. It is a scatter that adds to zeros.

``counting.pyi`` has the overloads for type checkers.
"""

from __future__ import annotations

from typing import Any

from gatherscatter import core, errors
from gatherscatter import plan as plans
from gatherscatter._typing import IntLike
from gatherscatter.backends.base import Backend
from gatherscatter.errors import counting as messages
from gatherscatter.operators import AXIS, Operator
from gatherscatter.reductions import DTYPES, dtype_name, kind_of
from gatherscatter.segments import rules
from gatherscatter.segments.by_scatters import Segments
from gatherscatter.segments.ids import Ids
from gatherscatter.segments.rules import Layout

__all__ = ["bincount"]

_MODES = ("raise", "drop")
_OP = Operator(
    "bincount",
    AXIS,
    scatters=True,
    data="the result",
    indices="x",
    updates="weights",
    wrap_negative_indices=False,
    negatives="negative values have no bin",
    user_modes=_MODES,
)


def bincount(
    x: Any,
    /,
    weights: Any = None,
    minlength: IntLike = 0,
    *,
    length: IntLike | None = None,
    mode: str = "raise",
    dtype: Any = None,
) -> Any:
    """Count how often each integer occurs in `x`, or add up the weights of its occurrences.

    With zeros as the initial result, for every position ``t`` in order::

        result[x[t]] = result[x[t]] + weights[t]

    where ``weights[t]`` is 1 if `weights` is omitted.

    Parameters
    ----------
    x : array of integers, shape (n,)
        Signed or unsigned, 8 to 64 bits; not negative.
    weights : array of numbers, shape (n,), optional
        Integers, floats or complex numbers of any width. A list is allowed.
    minlength : int, default 0
        The smallest size of the result.
    length : int, optional
        The size of the result, in place of ``max(max(x) + 1, minlength)``. It is required if the values of `x` are
        unknown at the call: in a compiled program, and for Dask arrays.
    mode : {"raise", "drop"}, default "raise"
        What to do with negative values, and with values of `length` or more: raise an error, or leave them out. In a
        compiled program of JAX, "drop" is required.
    dtype : dtype, optional
        The result's dtype. By default that of `segment_reduce`: counts, and sums of integers, have at least the width
        of the library's default integer; other sums have weights' dtype.

    Returns
    -------
    array, shape (length,)
        Counts or sums. Integers wrap around. The array belongs to x's library and device.

    Raises
    ------
    IndexError
        If a value is negative, or not less than `length`, and the mode is "raise".
    ValueError
        If `x` has not exactly one axis, `weights` has another shape, or a size is negative.
    TypeError
        If `x` holds other values than integers, or `weights` bools or no numbers, or if `dtype` is of a narrower kind
        than weights'.
    NotImplementedError
        If the values of `x` are unknown at the call and `length` is omitted.

    See Also
    --------
    scatter : Sums of slices, and other reductions.

    Notes
    -----
    `weights` has a gradient in PyTorch and JAX. On the CPU, sums of 16-bit floats are made in float32 and those of
    float32 in float64, in the order of `x`, and rounded once. `numpy.bincount` makes all sums in float64, and leaves
    them so.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> gs.bincount(np.array([1, 3, 1]))
    array([0, 2, 0, 1])
    >>> gs.bincount(np.array([1, 3, 1]), np.array([0.5, 1.0, 2.0]), minlength=5)
    array([0. , 2.5, 0. , 1. , 0. ])
    >>> gs.bincount(np.array([1, 3, -1]), length=2, mode="drop")
    array([0, 1])
    """
    if mode not in _MODES:
        raise errors.unknown_choice(_OP, "mode", plans.string(_OP, "mode", mode), _MODES)
    arguments = {"indices": x} if weights is None else {"indices": x, "updates": weights}
    backend, arrays = core.arrays(_OP, convert_updates=True, **arguments)
    x = arrays[0]
    if errors.kind_of(x.dtype) != "int":
        raise messages.values_dtype(_OP, x.dtype)
    if len(x.shape) != 1:
        raise messages.values_shape(_OP, x.shape)
    if weights is not None:
        weights = arrays[1]
        if errors.kind_of(weights.dtype) not in ("int", "float", "complex"):
            raise messages.weights_dtype(_OP, weights.dtype)
        if tuple(weights.shape) != tuple(x.shape):
            plans.check_known(_OP, "indices", x.shape)
            plans.check_known(_OP, "updates", weights.shape)
            raise messages.weights_shape(_OP, weights.shape, x.shape)
    size = _size(backend, x, _checked("minlength", minlength), length)
    if weights is None:
        xp = backend.namespace(x)
        zeros = xp.zeros((size,), dtype=xp.asarray(0).dtype, device=backend.device(x))
        counts = core.scatter(_OP, zeros, x, 1, reduction="add", mode=mode)
        return counts if dtype is None else backend.astype(counts, backend.dtype_of(_name(dtype), counts))
    segments = Segments(weights, Ids(backend, Layout(_OP, tuple(x.shape), 0, 1, 0, size), x, mode), False)
    name = rules.result_dtype(_OP, "add", segments.name, dtype, segments.defaults, True)
    work, wide = segments.work(name)
    terms = segments.cast(weights, work)
    zeros = backend.zeros((size,), terms)
    sums = core.scatter(_OP, zeros, x, terms, reduction="add", mode=mode, accumulate_dtype=wide or None)
    return segments.cast(sums, name)


def _name(dtype: Any) -> str:
    """The name of a dtype for counts: of real numbers."""
    name = dtype_name(dtype)
    if name not in DTYPES or kind_of(name) not in "iuf":
        raise messages.counts_dtype(_OP, name)
    return name


def _checked(option: str, value: Any) -> int:
    """A size as an int."""
    size = plans.integer(_OP, option, value)
    if size < 0:
        raise messages.negative_size(_OP, option, size)
    if size > plans.MOST:
        raise errors.size_limit(_OP, f"{option}={size}", plans.MOST)
    return size


def _size(backend: Backend, x: Any, minlength: int, length: Any) -> int:
    """The size of the result."""
    if length is not None:
        return _checked("length", length)
    if backend.is_unknown(x):
        raise messages.unknown_size(_OP, backend.unknown_name)
    greatest = backend.extremes(x)[1]
    if greatest >= plans.MOST:
        raise errors.size_limit(_OP, f"max(x)={greatest}", plans.MOST - 1)
    return max(greatest + 1, minlength)
