"""Which chunks of indices select from which chunks of data: pure arithmetic on chunk sizes.

Data's axes are of three kinds. *Shared* axes are indexed by the position (batch axes; for kind ELEMENTS all axes but
the indexed one), *indexed* axes by the indices, and *free* axes by neither. Indices are cut so that each of their
chunks is within one chunk of data along the shared axes. A chunk of indices may select from all chunks of data along
the indexed axes: its *owners*, in row-major order. A *column* is one combination of chunks along the free axes. Columns
are independent, and share the result of resolving the indices.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gatherscatter.operators import AXIS, ELEMENTS, ND
from gatherscatter.plan import Plan, inverse

# Sizes of the chunks along each axis; NaN where Dask does not know one.
Chunks = tuple[tuple[int, ...], ...]
Block = tuple[int, ...]  # the coordinates of a chunk in the grid of chunks


@dataclass(frozen=True)
class Axes:
    """The kinds of data's axes, and their order in a gather's result or a scatter's updates."""

    shared: tuple[int, ...]  # of data; the same axes of indices
    indexed: tuple[int, ...]
    free: tuple[int, ...]
    n_position_axes: int  # axes of indices, without the last one for kind ND
    order: tuple[int, ...]  # the result's axes as a permutation of (position axes, free axes)

    @classmethod
    def of(cls, plan: Plan, n_index_axes: int) -> Axes:
        r, b = len(plan.data), plan.batch_dims
        indexed = tuple(range(plan.axis, plan.axis + plan.depth))
        n_position_axes = n_index_axes - 1 if plan.kind == ND else n_index_axes
        if plan.kind == ELEMENTS:
            shared = tuple(d for d in range(r) if d != plan.axis)
            return cls(shared, indexed, (), n_position_axes, tuple(range(r)))
        shared = tuple(range(b))
        free = tuple(d for d in range(b, r) if d not in indexed)
        order = tuple(range(n_position_axes + len(free)))
        if plan.kind == AXIS:  # in the result, free axes before the indexed axis precede the axes of indices
            n_before = plan.axis - b
            order = (
                *range(b),
                *range(n_position_axes, n_position_axes + n_before),
                *range(b, n_position_axes),
                *order[n_position_axes + n_before :],
            )
        return cls(shared, indexed, free, n_position_axes, order)

    @cached_property
    def leading(self) -> tuple[int, ...]:
        """The axes of data that local tuples index."""
        return tuple(sorted(self.shared + self.indexed))

    @property
    def data_order(self) -> tuple[int, ...]:
        """Data's axes with the free ones last."""
        return self.leading + self.free


def ends(sizes: Sequence[int]) -> NDArray[np.int64]:
    return np.cumsum(np.array(sizes, np.int64))


def is_known(sizes: Sequence[float]) -> bool:
    return not any(math.isnan(n) for n in sizes)


def refined(n: int, *cuts: Sequence[int]) -> tuple[int, ...]:
    """The coarsest chunks of an axis of size n with a boundary at each boundary of the given chunks."""
    at = {0, n}
    for sizes in cuts:
        at.update(int(end) for end in ends(sizes) if end < n)
    edges = sorted(at)
    return tuple(b - a for a, b in itertools.pairwise(edges)) or (0,)


@dataclass(frozen=True)
class Cuts:
    """Everything that a task needs to route the tuples of a chunk of indices to their owners."""

    plan: Plan
    axes: Axes
    data: tuple[tuple[int, ...], ...]  # data's chunks along the leading axes
    positions: tuple[tuple[int, ...], ...]  # chunks of the positions; NaN for sizes that only tasks know
    sequenced: bool  # whether tuples carry sequence numbers

    @cached_property
    def ends(self) -> dict[int, NDArray[np.int64]]:
        return {axis: ends(sizes) for axis, sizes in zip(self.axes.leading, self.data, strict=True)}

    @cached_property
    def sizes(self) -> dict[int, tuple[int, ...]]:
        return dict(zip(self.axes.leading, self.data, strict=True))

    @cached_property
    def starts(self) -> list[NDArray[np.int64]]:
        """For each axis of the positions, the starts of its chunks and its size; only [0] if sizes are unknown."""
        return [np.concatenate([[0], ends(sizes if is_known(sizes) else ())]) for sizes in self.positions]

    @property
    def grid(self) -> tuple[int, ...]:
        """The number of owners along each indexed axis."""
        return tuple(len(self.sizes[axis]) for axis in self.axes.indexed)

    @cached_property
    def local(self) -> np.dtype[np.unsignedinteger]:
        """The narrowest dtype for indices into any one chunk."""
        return np.min_scalar_type(max((max(sizes) for sizes in self.data), default=0))  # type: ignore[return-value]

    @cached_property
    def _even(self) -> dict[int, int]:
        """The size of an axis' chunks, for axes with chunks of equal size except for a shorter last one."""
        return {
            axis: sizes[0]
            for axis, sizes in self.sizes.items()
            if sizes[0] and sizes[-1] <= sizes[0] and set(sizes[:-1]) <= {sizes[0]}
        }

    def localize(self, axis: int, index: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The chunk of each index along an axis of data, and the index within it; arbitrary for negative indices."""
        if axis in self._even:
            return np.divmod(index, self._even[axis])
        owner = np.searchsorted(self.ends[axis], index, side="right")
        return owner, index - self._starts[axis][owner]

    @cached_property
    def _starts(self) -> dict[int, NDArray[np.int64]]:
        return {axis: self.ends[axis] - np.array(sizes, np.int64) for axis, sizes in self.sizes.items()}

    def shared_block(self, axis: int, start: int) -> tuple[int, int]:
        """Along a shared axis: the chunk of data that holds a chunk of indices, and the offset of the latter in it.

        start: of the chunk of indices.
        """
        ends = self.ends[axis]
        block = min(int(np.searchsorted(ends, start, side="right")), len(ends) - 1)
        return block, start - int(ends[block] - self.sizes[axis][block])


@dataclass(frozen=True)
class Layout:
    """The chunks of one call."""

    cuts: Cuts
    data: Chunks

    @property
    def axes(self) -> Axes:
        return self.cuts.axes

    @property
    def positions(self) -> Chunks:
        return self.cuts.positions

    def blocks(self) -> Iterator[Block]:
        """Chunks of the indices, in row-major order."""
        return itertools.product(*(range(len(sizes)) for sizes in self.positions))

    def owners(self) -> Iterator[Block]:
        return itertools.product(*map(range, self.cuts.grid))

    def columns(self) -> list[Block]:
        return list(itertools.product(*(range(len(self.data[axis])) for axis in self.axes.free)))

    def row(self, column: Block) -> tuple[int, ...]:
        """Sizes of the chunks of a column."""
        return tuple(self.data[axis][i] for axis, i in zip(self.axes.free, column, strict=True))

    def shared(self, block: Block) -> Block:
        """The coordinates, along the shared axes, of the chunks of data that a chunk of indices may select from."""
        found = []
        for axis in self.axes.shared:
            sizes = self.positions[axis]
            start = 0 if len(sizes) == 1 else int(self.cuts.starts[axis][block[axis]])
            found.append(self.cuts.shared_block(axis, start)[0])
        return tuple(found)

    @cached_property
    def _data_order(self) -> Block:
        return inverse(self.axes.shared + self.axes.indexed + self.axes.free)

    def data_block(self, shared: Block, owner: Block, column: Block) -> Block:
        all_axes = shared + owner + column
        return tuple([all_axes[at] for at in self._data_order])

    def result_block(self, block: Block, column: Block) -> Block:
        both = block + column
        return tuple(both[axis] for axis in self.axes.order)

    @property
    def result(self) -> Chunks:
        """Chunks of a gather's result and of a scatter's updates."""
        both = self.positions + tuple(self.data[axis] for axis in self.axes.free)
        return tuple(both[axis] for axis in self.axes.order)


def needs_sequence(axes: Axes, positions: Sequence[Sequence[float]]) -> bool:
    """Whether the chunks of indices, one after the other, do not have their tuples in row-major order.

    The order along shared axes does not matter: tuples at different positions there have no common destination.
    """
    own = [positions[axis] for axis in range(axes.n_position_axes) if axis not in axes.shared]
    return any(len(sizes) > 1 and any(tuple(front) != (1,) for front in own[:n]) for n, sizes in enumerate(own))
