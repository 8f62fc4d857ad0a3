"""The public function of scans: its signature and docstring."""

from __future__ import annotations

from typing import Any

from gatherscatter import errors
from gatherscatter import plan as plans
from gatherscatter._typing import IntLike
from gatherscatter.errors import segments as messages
from gatherscatter.errors.foreign import raises_unexpected
from gatherscatter.segments import ids as _ids
from gatherscatter.segments import rules, running
from gatherscatter.segments.aggregations import AGGREGATIONS
from gatherscatter.segments.arguments import defaults
from gatherscatter.segments.doubling import Scan

__all__ = ["segment_scan"]

# The reductions, and names of their scans elsewhere, for messages.
_NAMES = {
    "add": ("cumsum", "cumulative_sum"),
    "mul": ("cumprod", "cumulative_prod"),
    "max": ("cummax",),
    "min": ("cummin",),
    "count": ("cumcount", "rank"),
}
_WITH_DTYPE = ("add", "mul")


@raises_unexpected(rules.SCAN)
def segment_scan(
    data: Any,
    segment_ids: Any = None,
    num_segments: IntLike | None = None,
    *,
    reduction: str = "add",
    exclusive: bool = False,
    reverse: bool = False,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    indptr: Any = None,
    mode: str = "raise",
    skipna: bool = False,
    dtype: Any = None,
    out: Any = None,
) -> Any:
    """Running sum, product, maximum, minimum or count of each segment (group).

    For each position, the reduction of its segment's elements from the first one up to and with it.

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        The elements.
    segment_ids : array of integers, optional
        The segment of each position: see `segment_reduce`, also for `indptr` and `mode`.
    num_segments : int, optional
        The number of segments.
    reduction : {"add", "mul", "max", "min", "count"}, default "add"
        What is made of the elements. ``"count"`` is 1, 2, … in each segment.
    exclusive : bool, default False
        Whether the element itself is left out. The first element of a segment then has 0 for ``"add"`` and
        ``"count"``, 1 for ``"mul"``, and for ``"max"`` and ``"min"`` −inf and inf, or the limit of an integer dtype.
    reverse : bool, default False
        Whether to begin at the last element of each segment.
    axis : int, default 0
        The first axis of `data` that the ids number.
    batch_dims : int, default 0
        Number of leading axes that `data` and the ids share.
    indptr : array of integers, optional
        The pointers of sorted segments, instead of `segment_ids`.
    mode : {"raise", "drop", "promise_in_bounds"}, default "raise"
        How to treat an id of `num_segments` or more.
    skipna : bool, default False
        Whether NaN and NaT are left out. Their own places have NaN or NaT; for ``"count"``, the count so far.
    dtype : dtype, optional
        The result's dtype, for ``"add"`` and ``"mul"``.
    out : array, optional
        Where to write the result.

    Returns
    -------
    array, shape ``data.shape``
        Elements of no segment have NaN or NaT; in dtypes without them 0, and −1 for an exclusive count.

    Raises
    ------
    IndexError
        With ``mode="raise"``, if an id is not below `num_segments`, or a pointer not within data's size.
    ValueError
        If a shape, an option or `indptr` breaks a rule.
    TypeError
        If ids are no integers, or the reduction does not support data's dtype.
    NotImplementedError
        For a gradient of ``"mul"``, and where a library cannot do it.

    See Also
    --------
    segment_reduce : One result for each segment.
    prepare : Checks and orders ids once, for many calls.

    Notes
    -----
    Dtypes are those of `segment_reduce`: sums and products of integers have at least the default integer's width. On
    the CPU, sums and products of 16-bit floats are made in float32 and those of float32 in float64, strictly in order
    of the positions, and each result is rounded once. NaN stays from where it occurs, unless `skipna`. The gradient of
    ``"max"`` and ``"min"`` goes to the first element that had the value.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> values, labels = np.array([3.0, 1.0, 5.0, 7.0, 2.0]), np.array([0, 1, 0, -1, 1])
    >>> gs.segment_scan(values, labels)
    array([ 3.,  1.,  8., nan,  3.])
    >>> gs.segment_scan(values, labels, reduction="max", reverse=True)
    array([ 5.,  2.,  5., nan,  2.])
    >>> gs.segment_scan(values, labels, reduction="count", exclusive=True)
    array([ 0,  0,  1, -1,  1])
    """
    found = _ids.read(rules.SCAN, data, segment_ids, num_segments, indptr, axis, batch_dims, mode)
    return scan_segments(*found, reduction, exclusive, reverse, skipna, dtype, out)


def scan_segments(
    data: Any, ids: _ids.Ids, reduction: Any, exclusive: Any, reverse: Any, skipna: Any, dtype: Any, out: Any
) -> Any:
    """`segment_scan` of an array and ids that have been read."""
    ids = _ids.checked(ids)
    op, backend = ids.layout.operator, ids.backend
    word = plans.string(op, "reduction", reduction, tuple(_NAMES))
    if word not in _NAMES:
        names = {name: (*others, *AGGREGATIONS[name].synonyms) for name, others in _NAMES.items()}
        meant = next((name for name, others in names.items() if word.lower() in (name, *others)), None)
        raise errors.unknown_choice(op, "reduction", word, tuple(_NAMES), meant)
    exclusive = plans.boolean(op, "exclusive", exclusive)
    reverse, skipna = plans.boolean(op, "reverse", reverse), plans.boolean(op, "skipna", skipna)
    name = backend.dtype_name(data)
    is_date = name.startswith(("datetime", "timedelta"))
    if is_date and word == "add":  # of durations, segments have sums
        raise messages.no_segments_of(op, word, data.dtype, "numbers", messages.seconds(name))
    rules.check_dtype(op, word, name, data.dtype)
    if dtype is not None and word not in _WITH_DTYPE:
        raise messages.no_dtype(op, word, dtype, _WITH_DTYPE)
    if is_date:
        if backend.name != "NumPy":
            reason = f"compute the array first, or {messages.seconds(name)}"
            raise errors.cannot(backend.name, op, f"data of {data.dtype}", reason)
        if exclusive and word != "count":
            raise messages.no_exclusive(op, word, name)
    found = rules.result_dtype(op, word, name, dtype, defaults(backend, data), True)
    asked = Scan(word, exclusive, reverse, skipna, found)
    if out is None:
        return running.scan(data, ids, asked)
    plan = plans.Plan(op, op.kind, "drop", False, 0, 1, 0, (), (), ids.layout.data)
    backend.check_out(plan, out, running.like(data, ids, found), ids.layout.data)
    return backend.deliver(plan, running.scan(data, ids, asked), out)
