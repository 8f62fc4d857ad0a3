"""What `prepare` is made of: its operators, the sizes of its `shape`, and tuples from numbers of slices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gatherscatter import errors
from gatherscatter.backends import kernels
from gatherscatter.operators import (
    AXIS,
    ELEMENTS,
    GATHER,
    GATHER_ELEMENTS,
    GATHER_ND,
    ND,
    SCATTER,
    SCATTER_ELEMENTS,
    SCATTER_ND,
    Operator,
)
from gatherscatter.plan import Shape

Array = NDArray[Any]


class Pair(NamedTuple):
    """The gather and the scatter with the same indices."""

    gather: Operator
    scatter: Operator

    def own(self, name: str) -> Operator:
        return self.gather if self.gather.name == name else self.scatter


PAIRS = Pair(GATHER, SCATTER), Pair(GATHER_ND, SCATTER_ND), Pair(GATHER_ELEMENTS, SCATTER_ELEMENTS)
OPERATORS = {op.name: pair for pair in PAIRS for op in pair}

# The operators for resolved indices, among which a negative one is out of bounds.
RESOLVED = {
    (op.name, kind): op.replace(kind=kind, wrap_negative_indices=False, strict=None)
    for pair in PAIRS
    for op in pair
    for kind in (ND, AXIS, ELEMENTS)
}


def sizes_of(op: Operator, shape: Any) -> Shape:
    """The shape as a tuple of sizes."""
    try:
        sizes = tuple([n.__index__() for n in shape])
    except (AttributeError, TypeError):
        raise errors.not_sizes(op, shape) from None
    if min(sizes, default=0) < 0:
        raise errors.not_sizes(op, shape)
    return sizes


def tuples(found: Array, sizes: Shape) -> Array:
    """The tuples of numbers along axes of these sizes. -1, for none, becomes a tuple of -1."""
    result = np.empty((*found.shape, len(sizes)), found.dtype)
    if result.size and 0 not in sizes:
        result[...] = np.stack(np.unravel_index(np.maximum(found, 0), sizes), axis=-1)
    result[found < 0] = -1
    return result


def grouped(ids: Array, counts: Array) -> tuple[Array, Array]:
    """Positions by segment, stable, and where each segment begins. ids: (batches, positions). counts: of each segment.

    An id that is the number of segments means none.
    """
    n_batches, n = len(ids), counts.shape[-1]
    rows = n_batches * n
    if n_batches != 1:  # the segments of all batches get numbers, and rows is that of none
        ids = np.where(ids < n, ids + n * np.arange(n_batches)[:, None], rows)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    if 0 < rows <= np.iinfo(np.int32).max and 0 < ids.size < np.iinfo(np.uint32).max:
        return kernels.grouped(ids.astype(np.int32, copy=False), rows), indptr
    return np.argsort(ids, axis=None, kind="stable")[: indptr[-1]], indptr
