"""Ids of segments: what the user gave, checked, as the indices of a scatter."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gatherscatter import core, errors, values
from gatherscatter.backends.base import Backend
from gatherscatter.errors import segments as messages
from gatherscatter.operators import Operator
from gatherscatter.plan import unravel
from gatherscatter.segments import rules
from gatherscatter.segments.rules import Layout

# An inferred number of segments beyond both is taken for labels that are no ids.
_MANY, _MANY_PER_ID = 1 << 28, 64


class Ids(NamedTuple):
    """The segment of each position: an array of the library.

    mode: "promise_in_bounds" if no id is outside of the segments; "drop" if others mean none; "raise" if negative ones
    do, and too large ones are found later. has_rest: those of no segment are n, which has a row of its own.
    """

    backend: Backend
    layout: Layout
    array: Any
    mode: str
    has_rest: bool = False


def read(
    op: Operator, data: Any, segment_ids: Any, num_segments: Any, indptr: Any, axis: Any, batch_dims: Any, mode: Any
) -> tuple[Any, Ids]:
    """The array of data, and its ids."""
    if (segment_ids is None) == (indptr is None):
        raise messages.one_of_ids(op.name, segment_ids is not None)
    mode = rules.check_mode(op, mode)
    is_indptr = indptr is not None
    given = indptr if is_indptr else segment_ids
    op = op.replace(indices="indptr") if is_indptr else op
    if isinstance(given, values.TYPES):
        found = values.as_array(op, "indices", given)
        if found.dtype.kind not in "iu" and (found.size or found.dtype.kind in "US"):
            raise messages.not_ids(op, found.dtype)
    backend, (data, ids) = core.arrays(op, data=data, indices=given)
    if errors.kind_of(ids.dtype) != "int":
        raise messages.not_ids(op, ids.dtype)
    shape, sizes = tuple(data.shape), tuple(ids.shape)
    if is_indptr:
        return data, _from_indptr(op, backend, data, ids, num_segments, axis, batch_dims)
    layout = rules.layout(op, shape, sizes, axis, batch_dims, 0, False)
    if backend.is_unknown(ids):
        if num_segments is None:
            raise messages.unknown_number(op)
        layout = layout._replace(n=rules.number(op, num_segments))
        if mode != "raise":
            return data, Ids(backend, layout, ids, "drop")
        return data, Ids(backend, layout, backend.namespace(ids).where(ids < 0, layout.n, ids), "raise", True)
    least, greatest = _range(backend, ids)
    if num_segments is None:
        n = max(greatest, -1) + 1
        if n > _MANY and n > _MANY_PER_ID * math.prod(sizes):
            raise messages.many_segments(op, n, math.prod(sizes))
    else:
        n = rules.number(op, num_segments)
        if mode == "raise" and greatest >= n:
            raise _too_large(op, backend, ids, n)
    layout = layout._replace(n=n)
    if least >= 0 and greatest < n:
        return data, Ids(backend, layout, ids, "promise_in_bounds")
    if backend.name == "NumPy":  # whose kernels take longer to drop updates
        rest = np.where((ids < 0) | (ids >= n), np.int64(n), ids.astype(np.int64, copy=False))
        return data, Ids(backend, layout, rest, "promise_in_bounds", True)
    return data, Ids(backend, layout, ids, "drop")


def _range(backend: Backend, ids: Any) -> tuple[int, int]:
    """The least and the greatest id; (0, -1) if there is none."""
    if 0 in ids.shape:
        return 0, -1
    xp = backend.namespace(ids)
    with backend.constants():
        return int(xp.min(ids)), int(xp.max(ids))


def _too_large(op: Operator, backend: Backend, ids: Any, n: int) -> IndexError:
    xp = backend.namespace(ids)
    with backend.constants():
        outside = xp.reshape(ids >= n, (-1,))
        position = unravel(int(xp.argmax(xp.astype(outside, xp.uint8))), tuple(ids.shape))
        return messages.id_out_of_bounds(op, position, int(ids[position]), n)


def _from_indptr(
    op: Operator, backend: Backend, data: Any, indptr: Any, num_segments: Any, axis: Any, batch_dims: Any
) -> Ids:
    """Of CSR segments: each position has as its id the number of pointers up to it, less one."""
    shape, sizes = tuple(data.shape), tuple(indptr.shape)
    layout = rules.layout(op, shape, sizes, axis, batch_dims, 0, True)
    n, b, size = sizes[-1] - 1, layout.batch_dims, shape[layout.axis]
    if num_segments is not None and rules.number(op, num_segments) != n:
        raise messages.indptr_number(op, rules.number(op, num_segments), n)
    known = None if backend.is_unknown(indptr) else backend.as_numpy(indptr)
    if known is not None:
        _check_indptr(op, known, size)
    xp = backend.namespace(indptr)
    dtype, device = xp.asarray(0).dtype, backend.device(indptr)
    begins = xp.zeros((*sizes[:b], size + 1), dtype=dtype, device=device)
    step = rules.REDUCE.replace(indices="indptr")
    counted = core.scatter_on(backend, step, begins, indptr, 1, b, b, "add", True, "raise", None, None)
    ids = xp.cumulative_sum(counted, axis=b, dtype=dtype)[..., :size] - 1
    return Ids(backend, layout._replace(n=n), ids, "drop")  # n from the last pointer on


def _check_indptr(op: Operator, indptr: values.Array, size: int) -> None:
    outside = (indptr < 0) | (indptr > size)
    if outside.any():
        position = _first(outside)
        raise messages.indptr_range(op, position, int(indptr[position]), size)
    down = indptr[..., 1:] < indptr[..., :-1]
    if down.any():
        *batch, i = _first(down)
        raise messages.indptr_decreases(op, (*batch, i + 1), int(indptr[(*batch, i)]), int(indptr[(*batch, i + 1)]))


def _first(mask: values.Array) -> tuple[int, ...]:
    """The position of the first true element."""
    return unravel(int(np.argmax(mask)), mask.shape)
