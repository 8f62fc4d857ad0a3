"""Ids of segments: what the user gave, checked, as the indices of a scatter."""

from __future__ import annotations

import math
from functools import partial
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
_FEW = 1 << 12  # ids, whose check takes less time than to delay it


class Ids(NamedTuple):
    """The segment of each position: an array of the library.

    mode: "promise_in_bounds" if no id is outside of the segments; "drop" if others mean none; "raise" if negative ones
    do, and too large ones are found later; "unknown" if it takes `checked`, or a pass of the kernels, to know, which
    raises for too large ones if `raises`. has_rest: those of no segment are n, which has a row of its own. counts: how
    many elements each segment has, if that is known. orders: of prepared ids, as in a plan. pointers: of CSR segments
    that are known, checked; then `array` is None, and `expanded` makes it.
    """

    backend: Backend
    layout: Layout
    array: Any
    mode: str
    has_rest: bool = False
    counts: Any = None
    orders: Any = None
    pointers: Any = None
    raises: bool = False


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
    listed = None
    if isinstance(given, values.TYPES):
        listed = values.as_array(op, "indices", given)
        if listed.dtype.kind not in "iu" and (listed.size or listed.dtype.kind in "US"):
            raise messages.not_ids(op, listed.dtype)
    backend, (data, ids) = core.arrays(op, data=data, indices=given)
    if errors.kind_of(ids.dtype) != "int":
        raise messages.not_ids(op, ids.dtype)
    if isinstance(data, np.ndarray) and not data.dtype.isnative:
        data = data.astype(data.dtype.newbyteorder("="))
    shape, sizes = tuple(data.shape), tuple(ids.shape)
    if is_indptr:
        return data, _from_indptr(op, backend, data, ids, num_segments, axis, batch_dims, mode)
    layout = rules.layout(op, shape, sizes, axis, batch_dims, False)
    is_late = listed is None and num_segments is not None and math.prod(sizes) >= _FEW
    if is_late and backend.dtype_name(ids) != "uint64" and backend.readable(op, indices=ids) is not None:
        n = rules.number(op, num_segments)
        return data, Ids(backend, layout._replace(n=n), ids, "unknown", raises=mode == "raise")
    try:
        known = (
            None if listed is None and backend.is_unknown(ids) else backend.extremes(ids if listed is None else listed)
        )
    except RuntimeError:  # PyTorch's vmap
        known = None
    if known is None:
        if num_segments is None:
            raise messages.unknown_number(op)
        return data, _later(op, backend, ids, layout._replace(n=rules.number(op, num_segments)), mode)
    least, greatest = known
    if num_segments is None:
        n = max(greatest, -1) + 1
        if n > _MANY and n > _MANY_PER_ID * math.prod(sizes):
            raise messages.many_segments(op, n, math.prod(sizes))
    else:
        n = rules.number(op, num_segments)
        if mode == "raise" and greatest >= n:
            raise _too_large(op, backend, ids if listed is None else listed, n)
    layout = layout._replace(n=n)
    if backend.name == "PyTorch" and str(ids.dtype).startswith("torch.uint"):  # which have few operators
        ids = backend.astype(ids, backend.dtype_of("int64", ids))
    if least >= 0 and greatest < n:
        return data, Ids(backend, layout, ids, "promise_in_bounds")
    return data, Ids(backend, layout, ids, "drop")


def checked(ids: Ids) -> Ids:
    """The ids, of which it is known whether each is that of a segment."""
    if ids.mode != "unknown":
        return ids
    least, greatest = ids.backend.extremes(ids.array)
    if ids.raises and greatest >= ids.layout.n:
        raise too_large(ids)
    return ids._replace(mode="promise_in_bounds" if least >= 0 and greatest < ids.layout.n else "drop")


def too_large(ids: Ids) -> IndexError:
    """The error for the first id that is not below the number of segments."""
    return _too_large(ids.layout.operator, ids.backend, ids.array, ids.layout.n)


def _later(op: Operator, backend: Backend, ids: Any, layout: Layout, mode: str) -> Ids:
    """Ids that are not known now."""
    n = layout.n
    check = partial(_checked, op=op, n=n, raises=mode == "raise")
    checked = backend.chunked.mapped(ids, check) if backend.chunked else None
    if checked is not None:
        return Ids(backend, layout, checked, "promise_in_bounds", True)
    if mode != "raise":
        return Ids(backend, layout, ids, "drop")
    xp = backend.namespace(ids)
    ids = backend.astype(ids, xp.asarray(0).dtype)
    return Ids(backend, layout, xp.where(ids < 0, n, xp.where(ids >= n, n + 1, ids)), "raise", True)


def _checked(ids: values.Array, op: Operator, n: int, raises: bool) -> values.Array:
    """The ids of a block, settled."""
    if raises and ids.size and int(ids.max()) >= n:
        raise messages.id_out_of_bounds(op, None, int(ids.max()), n)
    return settled(ids, n)


def settled(ids: values.Array, n: int) -> values.Array:
    """The ids, with n for those of no segment."""
    return np.where((ids < 0) | (ids >= n), np.int64(n), ids.astype(np.int64, copy=False))


def _too_large(op: Operator, backend: Backend, ids: Any, n: int) -> IndexError:
    known = ids if isinstance(ids, np.ndarray) else backend.as_numpy(ids)
    if known is None:
        xp = backend.namespace(ids)
        outside = xp.reshape(ids >= n, (-1,))
        position = unravel(int(xp.argmax(xp.astype(outside, xp.uint8))), tuple(ids.shape))
    else:
        position = _first(known >= n)
    return messages.id_out_of_bounds(op, position, int(ids[position]), n)


def _from_indptr(
    op: Operator, backend: Backend, data: Any, indptr: Any, num_segments: Any, axis: Any, batch_dims: Any, mode: str
) -> Ids:
    """Of CSR segments: each position has as its id the number of pointers up to it, less one."""
    shape, sizes = tuple(data.shape), tuple(indptr.shape)
    layout = rules.layout(op, shape, sizes, axis, batch_dims, True)
    n, b, size = sizes[-1] - 1, layout.batch_dims, shape[layout.axis]
    if num_segments is not None and rules.number(op, num_segments) != n:
        raise messages.indptr_number(op, rules.number(op, num_segments), n)
    known = None if backend.is_unknown(indptr) else backend.as_numpy(indptr)
    if known is not None:
        _check_indptr(op, known, size)
        if backend.readable(op, indices=indptr) is not None:
            return Ids(backend, layout._replace(n=n), None, "drop", pointers=indptr)
    xp = backend.namespace(indptr)
    dtype, device = xp.asarray(0).dtype, backend.device(indptr)
    begins = xp.zeros((*sizes[:b], size + 1), dtype=dtype, device=device)
    step = rules.REDUCE.replace(indices="indptr")
    counted = core.scatter_on(backend, step, begins, indptr, 1, b, b, "add", True, mode, None, None)
    ids = xp.cumulative_sum(counted, axis=b, dtype=dtype)[..., :size] - 1
    return Ids(backend, layout._replace(n=n), ids, "drop")  # n from the last pointer on


def expanded(ids: Ids) -> Any:
    """The id of each position: -1 before the first pointer, the number of segments from the last one on."""
    if ids.pointers is None:
        return ids.array
    backend, size = ids.backend, ids.layout.data[ids.layout.axis]
    indptr = np.array(backend.as_numpy(ids.pointers), np.int64)
    _check_indptr(ids.layout.operator, indptr, size)  # the copy: another thread may have changed the pointers
    first = np.zeros((*indptr.shape[:-1], 1), np.int64)
    counts = np.diff(indptr, axis=-1, prepend=first, append=first + size)
    numbers = np.broadcast_to(np.arange(-1, indptr.shape[-1]), counts.shape)
    counts = counts.reshape(-1).astype(np.intp)  # np.repeat takes no int64 where an intp has 32 bits
    found = np.repeat(numbers.reshape(-1), counts).reshape(*indptr.shape[:-1], size)
    return backend.from_numpy(found, backend.astype(ids.pointers, backend.dtype_of("int64", ids.pointers)))


def has_segment(ids: Ids) -> Any:
    """Whether each position has one. Broadcasts to data's shape."""
    layout, array = ids.layout, expanded(ids)
    b, inside, xp = layout.batch_dims, array >= 0, ids.backend.namespace(array)
    if layout.n <= xp.iinfo(array.dtype).max:  # else all ids are below it, and no number of their dtype is it
        inside = inside & (array < layout.n)
    shape = (*layout.data[:b], *[1] * (layout.axis - b), *layout.numbered, *[1] * len(layout.inner))
    return xp.reshape(inside, shape)


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
