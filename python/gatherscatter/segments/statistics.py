"""The public functions of segments whose elements are in order: signatures and docstrings."""

from __future__ import annotations

from typing import Any

from gatherscatter._typing import IntLike
from gatherscatter.errors.foreign import raises_unexpected
from gatherscatter.segments import ids as _ids
from gatherscatter.segments import rules
from gatherscatter.segments.functions import order_of_segments, quantiles_of_segments

__all__ = ["segment_argsort", "segment_quantile"]


@raises_unexpected(rules.QUANTILE)
def segment_quantile(
    data: Any,
    q: Any,
    segment_ids: Any = None,
    num_segments: IntLike | None = None,
    *,
    method: str = "linear",
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    indptr: Any = None,
    mode: str = "raise",
    skipna: bool = False,
    min_count: IntLike = 0,
    fill_value: Any = None,
    dtype: Any = None,
    out: Any = None,
) -> Any:
    """Find quantiles of the elements of each segment.

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        The elements: real numbers, bools or dates.
    q : float or array of floats of one axis
        The quantiles, from 0 to 1. They must be known at the call, and have no gradient.
    segment_ids : array of integers, optional
        The segment of each position: see `segment_reduce`, also for other parameters that are not explained here.
    num_segments : int, optional
        The number of segments.
    method : {"linear", "lower", "higher", "nearest", "midpoint"}, default "linear"
        The result, if the quantile lies between two elements: an interpolation by its distance from them, the lower or
        the higher one, the nearest one (of two equally near, that of the even rank), or the mean of both.
    axis : int, default 0
        The first axis of `data` that the ids number.
    batch_dims : int, default 0
        Number of leading axes that `data` and the ids share.
    indptr : array of integers, optional
        The pointers of sorted segments, instead of `segment_ids`.
    mode : {"raise", "drop", "promise_in_bounds"}, default "raise"
        How to treat an id of `num_segments` or more.
    skipna : bool, default False
        Whether NaN and NaT do not count. Otherwise the quantiles of a segment with one are NaN.
    min_count : int, default 0
        Segments with fewer elements than this have `fill_value`, or NaN.
    fill_value : scalar, optional
        The result of segments that are empty or have fewer than `min_count` elements.
    dtype : dtype, optional
        The result's dtype, a floating one. By default data's, or the default float for "linear" and "midpoint" of
        integers.
    out : array, optional
        Where to write the result.

    Returns
    -------
    array, shape ``data.shape[:axis] + (num_segments,) + data.shape[axis + k:]``
        If `q` is an array, the results for each of its numbers, along a first axis more.

    Raises
    ------
    IndexError, ValueError, TypeError
        As `segment_reduce`; a ValueError for a number that is not within 0 to 1.

    See Also
    --------
    segment_reduce : Medians, and other reductions of each segment.
    segment_argsort : The order of the elements.

    Notes
    -----
    The rank is ``q * (n - 1)`` for n elements, as in `numpy.quantile`. On the CPU, ranks and interpolations are made in
    float64 and rounded once. The gradient goes to the elements at both ranks, by their weights.

    On Dask, data is rechunked so that a chunk has all positions along the axes that the ids number.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> values, labels = np.array([3.0, 1.0, 5.0, 7.0]), np.array([0, 2, 0, -1])
    >>> gs.segment_quantile(values, 0.25, labels)
    array([3.5, nan, 1. ])
    >>> gs.segment_quantile(values, [0, 1], labels, method="lower")
    array([[ 3., nan,  1.],
           [ 5., nan,  1.]])
    """
    found = _ids.read(rules.QUANTILE, data, segment_ids, num_segments, indptr, axis, batch_dims, mode)
    return quantiles_of_segments(*found, q, method, skipna, min_count, fill_value, dtype, out)


@raises_unexpected(rules.ARGSORT)
def segment_argsort(
    data: Any,
    segment_ids: Any = None,
    num_segments: IntLike | None = None,
    *,
    descending: bool = False,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    indptr: Any = None,
    mode: str = "raise",
) -> Any:
    """Sort the elements within each segment, and return their positions, segment after segment.

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        The elements: real numbers, bools or dates.
    segment_ids : array of integers, optional
        The segment of each position: see `segment_reduce`, also for the next parameters.
    num_segments : int, optional
        The number of segments.
    descending : bool, default False
        Whether the greatest element of a segment comes first. NaN and NaT come last in any case.
    axis : int, default 0
        The first axis of `data` that the ids number.
    batch_dims : int, default 0
        Number of leading axes that `data` and the ids share.
    indptr : array of integers, optional
        The pointers of sorted segments, instead of `segment_ids`.
    mode : {"raise", "drop", "promise_in_bounds"}, default "raise"
        How to treat an id of `num_segments` or more.

    Returns
    -------
    array of integers, shape ``data.shape[:axis] + (n,) + data.shape[axis + k:]``
        Positions along the axis, ``n = data.shape[axis]`` of them; row-major ones for ids of several axes. Those of the
        elements of no segment are last. Equal elements keep their order.

    Raises
    ------
    IndexError, ValueError, TypeError
        As `segment_reduce`.

    See Also
    --------
    segment_quantile : Quantiles of each segment.
    PreparedSegments.indptr : Where each segment begins in the order.

    Notes
    -----
    On Dask, data is rechunked so that a chunk has all positions along the axes that the ids number.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> values, labels = np.array([3.0, 1.0, 2.0, 7.0]), np.array([0, 1, 0, -1])
    >>> gs.segment_argsort(values, labels)
    array([2, 0, 1, 3])
    >>> gs.segment_argsort(values, labels, descending=True)
    array([0, 2, 1, 3])
    """
    found = _ids.read(rules.ARGSORT, data, segment_ids, num_segments, indptr, axis, batch_dims, mode)
    return order_of_segments(*found, descending)
