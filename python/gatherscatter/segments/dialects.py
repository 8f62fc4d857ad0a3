"""Segments by the rules of other systems: what the dialects share."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np

from gatherscatter import core, errors
from gatherscatter import plan as plans
from gatherscatter.backends.base import Backend
from gatherscatter.errors import segments as messages
from gatherscatter.operators import Operator
from gatherscatter.reductions import REDUCTIONS, kind_of
from gatherscatter.segments import ids as _ids
from gatherscatter.segments import rules
from gatherscatter.segments.by_scatters import Segments
from gatherscatter.segments.gradients import segments_of

# The greatest finite number of each floating dtype.
_GREATEST = {
    "float16": 65504.0,
    "bfloat16": (2 - 2.0**-7) * 2.0**127,
    "float32": (2 - 2.0**-23) * 2.0**127,
    "float64": (2 - 2.0**-52) * 2.0**1023,
}


def operator(name: str, source: str, index_dtypes: tuple[str, ...], data_dtypes: tuple[str, ...] = ()) -> Operator:
    """The record of a function of segments, with the dtypes of its source's document."""
    op = rules.operator(name, "segment_ids")
    return op.replace(source=source, index_dtypes=index_dtypes, data_dtypes=data_dtypes)


def read(op: Operator, data: Any, segment_ids: Any, num_segments: Any, mode: str = "raise") -> Segments:
    """The segments of arrays by ids of data's first axes. Ids of rank 0 are for data as a whole."""
    found, shape = tuple(segment_ids.shape), tuple(data.shape)
    plans.check_known(op, "data", shape)
    plans.check_known(op, "indices", found)
    if shape[: len(found)] != found:
        raise messages.prefix(op, found, shape)
    if not found:
        data, segment_ids = data[None], segment_ids[None]
    return segments_of(*_ids.read(op, data, segment_ids, num_segments, None, 0, 0, mode), False)


def read_sorted(
    op: Operator, data: Any, segment_ids: Any, num_segments: Any, mode: str = "raise", unsorted: str = ""
) -> Segments:
    """The segments by sorted ids of data's first axis, as the user passed them.

    unsorted: the function that takes ids in any order, for messages.
    """
    own, (known,) = core.arrays(op, indices=segment_ids)  # of their own library: NumPy's beside lazy data are known
    backend, (data, segment_ids) = core.arrays(op, data=data, indices=segment_ids)
    core.check_source(op, backend, data=data, indices=segment_ids)
    found, shape = tuple(segment_ids.shape), tuple(data.shape)
    if not shape:
        raise errors.no_axis(op)
    plans.check_known(op, "data", shape)
    plans.check_known(op, "indices", found)
    if len(found) != 1:
        raise messages.one_axis(op, found, shape)
    if found != shape[:1]:
        raise messages.prefix(op, found, shape)
    if not own.is_unknown(known):
        with own.constants():
            last = _checked_last(op, own, known, unsorted)
        num_segments = last + 1 if num_segments is None else num_segments
    elif num_segments is None:
        raise messages.unknown_last_id(op, unsorted)
    return read(op, data, segment_ids, num_segments, mode)


def read_offsets(op: Operator, data: Any, offsets: Any) -> Segments:
    """The segments of data's first axis that begin at offsets, each of which ends where the next one begins."""
    backend, (data, offsets) = core.arrays(op, data=data, indices=offsets)
    xp, n, device = backend.namespace(offsets), int(data.shape[0]), backend.device(offsets)
    if backend.is_unknown(offsets) or backend.name == "Dask":  # which has no cumulative_sum
        ids = xp.searchsorted(offsets, xp.arange(n, dtype=offsets.dtype, device=device), side="right") - 1
        return segments_of(*_ids.read(op, data, ids, offsets.shape[0], None, 0, 0, "promise_in_bounds"), False)
    with backend.constants():
        indptr = xp.concat([offsets, xp.full((1,), n, dtype=offsets.dtype, device=device)])
    return segments_of(*_ids.read(op, data, None, None, indptr, 0, 0, "raise"), False)


def _checked_last(op: Operator, backend: Backend, ids: Any, unsorted: str) -> int:
    """The last id, -1 if there is none."""
    if 0 in ids.shape:
        return -1
    xp, down = backend.namespace(ids), ids[1:] < ids[:-1]
    if 0 not in down.shape and bool(xp.any(down)):
        i = int(xp.argmax(backend.astype(down, xp.uint8)))
        raise messages.not_sorted(op, i + 1, int(ids[i]), int(ids[i + 1]), unsorted)
    if int(ids[0]) < 0:
        raise messages.negative_id(op, int(ids[0]))
    return int(ids[-1])


def reduced(segments: Segments, reduction: str, fill: Any = None, dtype: str = "") -> Any:
    """A reduction in data's dtype, or another one. fill: what an empty segment has, if not the identity."""
    name = dtype or segments.name
    segments.expect((reduction,), (name,))
    with np.errstate(all="ignore") if segments.is_numpy else nullcontext():
        return segments.reduce(reduction, name, fill, 0)


def mean_of_integers(segments: Segments) -> Any:
    """The mean in data's dtype, rounded toward zero; 0 for an empty segment."""
    wide = rules.result_dtype(segments.op, "add", segments.name, None, segments.defaults, True)
    sums = reduced(segments, "add", dtype=wide)
    xp = segments.xp
    counts = segments.cast(xp.where(segments.counts > 0, segments.counts, 1), wide)
    down = sums // counts
    toward_zero = xp.where((down < 0) & (down * counts != sums), down + 1, down)
    return segments.cast(toward_zero, segments.name)


def extreme(dtype: str, reduction: str) -> Any:
    """The lowest number of a dtype for "max", the greatest one for "min"."""
    if kind_of(dtype) == "f":
        return -_GREATEST[dtype] if reduction == "max" else _GREATEST[dtype]
    return REDUCTIONS[reduction].identity(dtype)
