"""The public functions of segments: signatures and docstrings."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import repeat
from operator import setitem
from typing import Any

import numpy as np

from gatherscatter import core, errors
from gatherscatter import plan as plans
from gatherscatter._typing import IntLike
from gatherscatter.errors import segments as messages
from gatherscatter.errors.foreign import raises_unexpected
from gatherscatter.reductions import COMPLEX
from gatherscatter.segments import ids as _ids
from gatherscatter.segments import rules
from gatherscatter.segments.aggregations import AGGREGATIONS
from gatherscatter.segments.by_kernels import BY_ONE_SCATTER, few_reduced
from gatherscatter.segments.by_scatters import Segments
from gatherscatter.segments.gradients import segments_of
from gatherscatter.segments.ordering import Ordering

__all__ = ["segment_log_softmax", "segment_reduce", "segment_softmax"]


@raises_unexpected(rules.REDUCE)
def segment_reduce(
    data: Any,
    segment_ids: Any = None,
    num_segments: IntLike | None = None,
    *,
    reduction: str | tuple[str, ...] = "add",
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    indptr: Any = None,
    mode: str = "raise",
    skipna: bool = False,
    min_count: IntLike = 0,
    fill_value: Any = None,
    correction: float = 0,
    dtype: Any = None,
    out: Any = None,
) -> Any:
    """Reduce the elements of each segment (group) along an axis.

    ``segment_ids[i]`` is the number of the segment that position ``i`` along `axis` belongs to; a negative id means
    none. The result has one position for each segment, in the order of their numbers.

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        The elements.
    segment_ids : array of integers, shape ``data.shape[:b] + data.shape[axis:axis + k]``
        The segment of each position, with ``b = batch_dims`` and any rank ``k ≥ 1``: one id for each position along
        `axis`, or labels of several axes, such as a label image. They are not sorted. Exactly one of `segment_ids` and
        `indptr` is given.
    num_segments : int, optional
        The number of segments. By default the greatest id + 1. It must be given where the ids are known only later, as
        in ``jax.jit`` and with Dask.
    reduction : str or tuple of str, default "add"
        ``"add"``, ``"mul"``, ``"max"``, ``"min"``, ``"mean"``, ``"var"``, ``"std"``, ``"any"``, ``"all"``,
        ``"count"`` (of elements), ``"first"``, ``"last"``, ``"argmax"``, ``"argmin"`` (positions along the axis;
        row-major ones for ids of several axes), ``"logsumexp"``, ``"median"`` or ``"nunique"`` (the number of distinct
        values). A tuple of them gives a tuple of results.
    axis : int, default 0
        The first axis of `data` that the ids number. A negative axis counts from the end.
    batch_dims : int, default 0
        Number of leading axes that `data` and the ids share, so that each row of a batch has ids of its own.
    indptr : array of integers, shape ``data.shape[:b] + (n + 1,)``, optional
        For sorted segments: segment ``i`` has the positions from ``indptr[i]`` to ``indptr[i + 1] - 1`` along `axis`,
        as the rows of a CSR matrix.
    mode : {"raise", "drop", "promise_in_bounds"}, default "raise"
        How to treat an id of `num_segments` or more. ``"raise"``: an IndexError; ``"drop"``: such elements belong to
        no segment; ``"promise_in_bounds"``: there are none.
    skipna : bool, default False
        Whether NaN and NaT do not count.
    min_count : int, default 0
        Segments with fewer elements than this have `fill_value`, or NaN.
    fill_value : scalar, optional
        The result of segments that are empty or have fewer than `min_count` elements, except for ``"count"``,
        ``"nunique"``, ``"argmax"`` and ``"argmin"``. For several reductions it may be a tuple, with None for the
        default; a number there is for these, too.
    correction : float, default 0
        For ``"var"`` and ``"std"``: squares are divided by the number of elements less `correction`; 1 for samples.
    dtype : dtype, optional
        The result's dtype, for ``"add"``, ``"mul"``, ``"mean"``, ``"var"``, ``"std"``, ``"logsumexp"`` and
        ``"median"``.
    out : array or tuple of arrays, optional
        Where to write the result or the results.

    Returns
    -------
    array or tuple of arrays, shape ``data.shape[:axis] + (num_segments,) + data.shape[axis + k:]``
        Of data's library and device.

    Raises
    ------
    IndexError
        With ``mode="raise"``, if an id is not below `num_segments`, or a pointer not within data's size.
    ValueError
        If a shape, an option or `indptr` breaks a rule; if a segment has too few elements, no `fill_value` is given,
        and the dtype has no NaN.
    TypeError
        If ids are no integers, or the reduction does not support data's dtype.

    See Also
    --------
    segment_softmax : Softmax of each segment.
    segment_quantile : Quantiles of each segment.
    prepare : Checks and orders ids once, for many calls.
    scatter : Combines updates with initial values.

    Notes
    -----
    An empty segment has 0 for ``"add"``, ``"count"`` and ``"nunique"``, 1 for ``"mul"``, False for ``"any"``, True for
    ``"all"``, −inf for ``"logsumexp"`` and −1 for ``"argmax"`` and ``"argmin"``; for the others NaN, or an error.

    Sums and products of integers have at least the default integer's width. Means, medians, variances and logsumexp of
    integers are floats. Means and medians of dates are dates: the first one plus the mean of the differences from it,
    rounded toward zero, and the lower one of two. On the CPU, sums of 16-bit floats are made in float32 and those of
    float32 in float64, and rounded once. NaN wins in ``"max"``, ``"min"``, ``"argmax"`` and ``"argmin"`` unless
    `skipna`; of equal elements, the first is the greatest. Gradients of ``"max"`` and ``"min"`` are shared equally
    among equals.

    To give each element the value of its segment, as `PreparedSegments.gather` does, call
    ``gs.gather(values, ids, mode="fill", wrap_negative_indices=False, fill_value=nan)``.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> values, labels = np.array([3.0, 1.0, 5.0, 7.0]), np.array([0, 2, 0, -1])
    >>> gs.segment_reduce(values, labels, reduction="mean")
    array([ 4., nan,  1.])
    >>> gs.segment_reduce(values, labels, reduction=("argmax", "count"))
    (array([ 2, -1,  1]), array([2, 0, 1]))
    >>> gs.segment_reduce(values, indptr=[0, 3, 3, 4], reduction="max", fill_value=0)
    array([5., 0., 7.])
    """
    found = _ids.read(rules.REDUCE, data, segment_ids, num_segments, indptr, axis, batch_dims, mode)
    return reduce_segments(*found, reduction, skipna, min_count, fill_value, correction, dtype, out)


def reduce_segments(
    data: Any, ids: _ids.Ids, reduction: Any, skipna: Any, min_count: Any, fill_value: Any, correction: Any, dtype: Any,
    out: Any,
) -> Any:  # fmt: skip
    """`segment_reduce` of an array and ids that have been read."""
    if (
        type(reduction) is str and reduction in BY_ONE_SCATTER and skipna is False
        and type(min_count) is int and min_count < 1 and type(correction) is int and not correction
        and fill_value is None and dtype is None and out is None
    ):  # fmt: skip
        found = few_reduced(data, ids, reduction)
        if found is not None:
            return found
    op = ids.layout.operator
    names = rules.names(op, reduction)
    skipna = plans.boolean(op, "skipna", skipna)
    few = plans.integer(op, "min_count", min_count)
    is_tuple = isinstance(reduction, tuple)
    if is_tuple and isinstance(fill_value, tuple):
        fills = fill_value
    else:  # counts and positions have what says that there is none
        fills = tuple(None if AGGREGATIONS[name].result == "index" else fill_value for name in names)
    if len(fills) != len(names):
        raise messages.fills(op, fill_value, len(names))
    is_ordered = [not AGGREGATIONS[name].state for name in names]
    ids = _ids.checked(ids) if any(is_ordered) else ids
    segments = segments_of(data, ids, skipna)
    segments.correction = _correction(op, correction, names)
    _check_dates(segments)
    dtypes = []
    for name in names:
        rules.check_dtype(op, name, segments.name, data.dtype)
        dtypes.append(rules.result_dtype(op, name, segments.name, dtype, segments.defaults, len(names) == 1))
    outs = _outs(op, segments, out, dtypes, is_tuple)
    segments.expect(
        *([one for one, other in zip(them, is_ordered, strict=True) if not other] for them in (names, dtypes))
    )
    with _silent(segments):
        results = [
            _ordered(segments, skipna, name, kind, fill, few) if ordered else segments.reduce(name, kind, fill, few)
            for name, kind, fill, ordered in zip(names, dtypes, fills, is_ordered, strict=True)
        ]
    results = _delivered(segments, results, outs)
    return tuple(results) if is_tuple else results[0]


def _check_dates(segments: Segments) -> None:
    if segments.is_date and not segments.is_numpy:
        reason = f"compute the array first, or {messages.seconds(segments.name)}"
        raise errors.cannot(segments.backend.name, segments.op, f"data of {segments.data.dtype}", reason)


def _ordered(segments: Segments, skipna: bool, name: str, dtype: str, fill: Any, min_count: int) -> Any:
    """A reduction that needs the elements in order."""
    is_median = name == "median"
    if is_median and fill is None and segments.backend.name == "Dask":
        segments.nan(name, dtype, min_count)
    options = {"reduction": name, "skipna": skipna, "min_count": min_count, "fill_value": fill if is_median else None,
               "correction": 0, "dtype": dtype if is_median else None, "out": None}  # fmt: skip
    found = _by_blocks(segments, reduce_segments, options, (), segments.layout.n, dtype)
    if found is None:
        ordering = Ordering(segments, skipna)
        if is_median:
            return ordering.quantiles((0.5,), name, dtype, fill, min_count)[0, ...]
        found = ordering.distinct()
    if is_median or fill is None:
        return found
    return segments.xp.where(found == 0, segments.full((), segments.element(dtype, fill), found), found)


def _by_blocks(
    segments: Segments, function: Any, options: dict[str, Any], lead: tuple[int, ...], n: int, dtype: str
) -> Any:
    """A function of segments, block by block of data that has whole segments; None: there are no blocks."""
    layout, chunked = segments.layout, segments.backend.chunked
    if not chunked:
        return None
    call = partial(_of_block, function, layout, options)
    return chunked.by_segments(segments.data, segments.ids, layout, call, lead, n, dtype)


def _of_block(function: Any, layout: rules.Layout, options: dict[str, Any], data: Any, ids: Any) -> Any:
    given = _ids.read(layout.operator, data, ids, layout.n, None, layout.axis, layout.batch_dims, "drop")
    return function(*given, **options)


def quantiles_of_segments(
    data: Any, ids: _ids.Ids, q: Any, method: Any, skipna: Any, min_count: Any, fill_value: Any, dtype: Any, out: Any
) -> Any:
    """`segment_quantile` of an array and ids that have been read."""
    op, layout = ids.layout.operator, ids.layout
    method = plans.choice(op, "method", plans.string(op, "method", method, rules.METHODS), rules.METHODS)
    numbers, is_array = _quantiles(op, q)
    skipna = plans.boolean(op, "skipna", skipna)
    few = plans.integer(op, "min_count", min_count)
    segments = segments_of(data, _ids.checked(ids), skipna)
    rules.check_order(op, segments.name, data.dtype, method)
    _check_dates(segments)
    name = rules.quantile_dtype(op, method, segments.name, dtype, segments.defaults)
    lead = (len(numbers),) if is_array else ()
    if out is not None:
        segments.backend.check_out(segments.plan, out, _like(segments, name), (*lead, *layout.shape))
    if fill_value is None and segments.backend.name == "Dask":
        segments.nan(method, name, few)
    options = {"q": numbers if is_array else numbers[0], "method": method, "skipna": skipna, "min_count": few,
               "fill_value": fill_value, "dtype": None if name == segments.name else name, "out": None}  # fmt: skip
    with _silent(segments):
        result = _by_blocks(segments, quantiles_of_segments, options, lead, layout.n, name)
        if result is None:
            result = Ordering(segments, skipna).quantiles(numbers, method, name, fill_value, few)
            result = result if is_array else result[0, ...]
    return _delivered(segments, (result,), (out,))[0]


def _quantiles(op: Any, q: Any) -> tuple[tuple[float, ...], bool]:
    """The numbers, and whether they were in an array. Without arrays if there are none, which torch.compile traces."""
    is_array = not isinstance(q, int | float)
    given = q if isinstance(q, list | tuple) else (q,)
    if not all(isinstance(one, int | float) and not isinstance(one, bool) for one in given):
        if isinstance(q, str | bytes):
            raise messages.q_type(op, q)
        backend, (array,) = core.arrays(op.replace(data="q"), data=q)
        if backend.is_unknown(array):
            raise messages.q_unknown(op, backend.unknown_name)
        found = backend.as_numpy(array)
        if found is None or (found.dtype.kind not in "iuf" and found.dtype.name != "bfloat16"):
            raise messages.q_type(op, q)
        if found.ndim > 1:
            raise messages.q_axes(op, found.shape)
        given, is_array = np.atleast_1d(found).tolist(), found.ndim == 1
    for one in given:
        if not 0 <= one <= 1:
            raise messages.q_range(op, float(one))
    return tuple(map(float, given)), is_array


def order_of_segments(data: Any, ids: _ids.Ids, descending: Any) -> Any:
    """`segment_argsort` of an array and ids that have been read."""
    op = ids.layout.operator
    descending = plans.boolean(op, "descending", descending)
    segments = segments_of(data, _ids.checked(ids), False)
    rules.check_order(op, segments.name, data.dtype)
    _check_dates(segments)
    size = math.prod(ids.layout.numbered)
    found = _by_blocks(segments, order_of_segments, {"descending": descending}, (), size, segments.defaults[0])
    return Ordering(segments, False).order(descending) if found is None else found


def _correction(op: Any, value: Any, names: tuple[str, ...]) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise messages.not_real(op, value)
    if value != 0 and not {"var", "std"} & set(names):
        raise messages.no_correction(op, value)
    try:
        return float(value)
    except OverflowError:
        raise messages.large_correction(op) from None


def _outs(op: Any, segments: Segments, out: Any, dtypes: list[str], is_tuple: bool) -> tuple[Any, ...]:
    """The arrays to write to, checked; Nones if there is none."""
    if out is None:
        return (None,) * len(dtypes)
    outs = out if is_tuple else (out,)
    if not isinstance(outs, tuple) or len(outs) != len(dtypes):
        raise messages.outs(op, out, len(dtypes))
    backend, layout = segments.backend, segments.layout
    for one, dtype in zip(outs, dtypes, strict=True):
        backend.check_out(segments.plan, one, _like(segments, dtype), layout.shape)
    backend.check_memory(op, *outs)
    return outs


def _like(segments: Segments, dtype: str) -> Any:
    """An array of the dtype of a result, which needs a gradient if data does."""
    if dtype == segments.name:
        return segments.data
    none = segments.data[:0]
    is_part = segments.name in COMPLEX and dtype not in COMPLEX
    return segments.cast(segments.xp.real(none) if is_part else none, dtype)


def _delivered(segments: Segments, results: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
    """The results; if there are arrays to write to, these, with the results."""
    if outs[0] is None:
        return results
    targets = [segments.backend.plain(out) for out in outs]
    # Written by C functions alone, between which Ctrl-C is not looked for: all of them, or none.
    deque(map(setitem, targets, repeat(...), results), maxlen=0)
    return outs


@raises_unexpected(rules.SOFTMAX)
def segment_softmax(
    data: Any,
    segment_ids: Any = None,
    num_segments: IntLike | None = None,
    *,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    indptr: Any = None,
    mode: str = "raise",
    dtype: Any = None,
    out: Any = None,
) -> Any:
    """Softmax of each segment: the exponentials of its elements, divided by their sum.

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        The elements: real numbers.
    segment_ids : array of integers, optional
        The segment of each position: see `segment_reduce`, also for the next parameters.
    num_segments : int, optional
        The number of segments.
    axis : int, default 0
        The first axis of `data` that the ids number.
    batch_dims : int, default 0
        Number of leading axes that `data` and the ids share.
    indptr : array of integers, optional
        The pointers of sorted segments, instead of `segment_ids`.
    mode : {"raise", "drop", "promise_in_bounds"}, default "raise"
        How to treat an id of `num_segments` or more.
    dtype : dtype, optional
        The result's dtype: a real floating one. By default data's, or the default float for integers.
    out : array, optional
        Where to write the result.

    Returns
    -------
    array, shape ``data.shape``
        Elements of no segment have 0.

    Raises
    ------
    IndexError, ValueError, TypeError
        As `segment_reduce`.

    See Also
    --------
    segment_log_softmax : Its logarithm.
    segment_reduce : Reductions of each segment.

    Notes
    -----
    The greatest element is subtracted first, so that no exponential overflows. A segment whose elements are all −inf
    has 0; one with a NaN or inf has NaN in all its elements.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> gs.segment_softmax(np.array([1.0, 1.0, 5.0, 2.0]), [0, 0, 1, -1])
    array([0.5, 0.5, 1. , 0. ])
    """
    found = _ids.read(rules.SOFTMAX, data, segment_ids, num_segments, indptr, axis, batch_dims, mode)
    return softmax_of_segments(*found, dtype, out, is_log=False)


@raises_unexpected(rules.LOG_SOFTMAX)
def segment_log_softmax(
    data: Any,
    segment_ids: Any = None,
    num_segments: IntLike | None = None,
    *,
    axis: IntLike = 0,
    batch_dims: IntLike = 0,
    indptr: Any = None,
    mode: str = "raise",
    dtype: Any = None,
    out: Any = None,
) -> Any:
    """Logarithm of the softmax of each segment.

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        The elements: real numbers.
    segment_ids : array of integers, optional
        The segment of each position: see `segment_reduce`, also for the next parameters.
    num_segments : int, optional
        The number of segments.
    axis : int, default 0
        The first axis of `data` that the ids number.
    batch_dims : int, default 0
        Number of leading axes that `data` and the ids share.
    indptr : array of integers, optional
        The pointers of sorted segments, instead of `segment_ids`.
    mode : {"raise", "drop", "promise_in_bounds"}, default "raise"
        How to treat an id of `num_segments` or more.
    dtype : dtype, optional
        The result's dtype: a real floating one. By default data's, or the default float for integers.
    out : array, optional
        Where to write the result.

    Returns
    -------
    array, shape ``data.shape``
        Elements of no segment have −inf.

    Raises
    ------
    IndexError, ValueError, TypeError
        As `segment_reduce`.

    See Also
    --------
    segment_softmax : The softmax itself.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> gs.segment_log_softmax(np.array([0.0, 0.0, 5.0]), [0, 0, 1]).round(3)
    array([-0.693, -0.693,  0.   ])
    """
    found = _ids.read(rules.LOG_SOFTMAX, data, segment_ids, num_segments, indptr, axis, batch_dims, mode)
    return softmax_of_segments(*found, dtype, out, is_log=True)


def softmax_of_segments(data: Any, ids: _ids.Ids, dtype: Any, out: Any, *, is_log: bool) -> Any:
    """`segment_softmax`, or its logarithm, of an array and ids that have been read."""
    op = ids.layout.operator
    segments = segments_of(data, ids, False)
    rules.check_dtype(op, "logsumexp", segments.name, data.dtype)
    name = rules.result_dtype(op, "logsumexp", segments.name, dtype, segments.defaults, False)
    if out is not None:
        segments.backend.check_out(segments.plan, out, _like(segments, name), ids.layout.data)
    with _silent(segments):
        result = segments.softmax(name, is_log)
    return _delivered(segments, (result,), (out,))[0]


def _silent(segments: Segments) -> AbstractContextManager[Any]:
    """Without NumPy's warnings of NaN and infinities, which other libraries do not have."""
    return np.errstate(all="ignore") if segments.backend.name == "NumPy" else nullcontext()
