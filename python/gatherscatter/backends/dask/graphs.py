"""Which tasks there are: graphs in Dask's plain form, a dictionary of tuples.

n_i chunks of indices meet n_o owners (chunks of data along the indexed axes) in C columns (chunks along the free axes);
h pairs of a chunk of indices and an owner are hit. For indices that are known, only these have tasks::

    gather    C·(h picks + n_i merges)
    scatter   C·(h parcels + n_o applies)

and for Dask's::

    gather    n_i·(split, places) + n_i·n_o buckets + C·(n_i·n_o picks + n_i merges)
              and n_i + 1 to wait, where the result is not larger than data
    scatter   n_i splits + C·(n_i sends + n_i·n_o parcels + n_o·s applies)

The updates that one chunk of data may get are applied in s steps, so that no task has to hold all of them. docs/dask.md
draws it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import partial
from operator import getitem
from typing import Any

import dask.array as da
import numpy as np
from dask.array.core import normalize_chunks
from dask.array.utils import meta_from_array
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph

from gatherscatter import errors
from gatherscatter.backends.dask import tasks
from gatherscatter.backends.dask.layout import Axes, Block, Chunks, Cuts, Layout, is_known, needs_numbers, refined
from gatherscatter.shapes import Plan

Graph = dict[Any, Any]


def chunked(array: Any, chunks: Any = "auto") -> Any:
    """NumPy's array as Dask's."""
    if isinstance(array, da.Array):
        return array
    if chunks == "auto":
        chunks = _auto(array.shape, ("auto",) * array.ndim, array.dtype)
    return da.from_array(array, chunks=chunks)


def _auto(shape: tuple[int, ...], chunks: tuple[Any, ...], dtype: np.dtype[Any]) -> Chunks:
    """Chunks of the size that Dask is configured for."""
    if 0 in shape:
        return tuple((n,) if c == "auto" else c for n, c in zip(shape, chunks, strict=True))
    if dtype.hasobject or dtype.itemsize == 0:  # Dask does not guess what objects take
        dtype = np.dtype(np.intp)
    found: Chunks = normalize_chunks(chunks, shape, dtype=dtype)
    return found


def lay_out(plan: Plan, axes: Axes, data: Any, indices: Any, updates: Any = None) -> tuple[Layout, Any, Any]:
    """How everything is cut, and indices and updates cut so."""
    at = [axes.order.index(axis) for axis in range(axes.n_places)]  # where the places' axes are in updates
    theirs = [updates.chunks[axis] for axis in at] if isinstance(updates, da.Array) else None
    if isinstance(indices, da.Array):
        own = indices.chunks[: axes.n_places]
    elif theirs is not None:
        own = tuple((n,) for n in indices.shape[: axes.n_places])
    else:
        rows = tuple(data.chunks[axis] for axis in axes.free)
        shape = indices.shape[: axes.n_places]
        own = _auto(shape + tuple(map(sum, rows)), ("auto",) * len(shape) + rows, data.dtype)[: len(shape)]
    places = tuple(
        _meeting(plan, axis, sizes, theirs and theirs[axis], data.chunks[axis] if axis in axes.shared else None)
        for axis, sizes in enumerate(own)
    )
    numbered = updates is not None and needs_numbers(axes, places)
    leading = tuple(data.chunks[axis] for axis in axes.leading)
    layout = Layout(Cuts(plan, axes, leading, places, numbered), data.chunks)
    if isinstance(indices, da.Array):
        indices = indices.rechunk((*places, *((plan.depth,),) * (indices.ndim - axes.n_places)))
    if theirs is not None:
        wanted = list(layout.result)
        for axis, sizes in zip(at, theirs, strict=True):
            wanted[axis] = wanted[axis] if is_known(sizes) and is_known(wanted[axis]) else sizes
        updates = updates.rechunk(tuple(wanted))
    elif updates is not None:
        if not all(map(is_known, places)):
            raise errors.unknown_size(plan.operator, "indices", [is_known(sizes) for sizes in places].index(False))
        updates = da.from_array(updates, chunks=layout.result)
    return layout, indices, updates


def _meeting(plan: Plan, axis: int, own: Any, theirs: Any, shared: Any) -> tuple[int, ...]:
    """Chunks of an axis of the places, where those of indices, of updates and of data meet."""
    if is_known(own) and (theirs is None or is_known(theirs)):
        return refined(sum(own), *(sizes for sizes in (own, theirs, shared) if sizes is not None))
    # Unknown sizes can't be cut; that they agree is seen when the chunks meet.
    if theirs is not None and len(own) != len(theirs):
        raise errors.unknown_chunks(plan.operator, axis, len(own), len(theirs))
    if shared is not None and len(shared) > 1:
        raise errors.unknown_size(plan.operator, "updates", axis)
    return tuple(own)


class _Builder:
    """A graph in the making, with what its tasks have in common."""

    def __init__(self, layout: Layout, *made_from: Any) -> None:
        self.layout = layout
        self.plan = layout.cuts.plan
        self.token = tokenize(self.plan, layout.places, *made_from)
        self.name = f"{self.plan.operator}-{self.token}"
        self.graph: Graph = {}
        self.owners = list(layout.owners())

    def key(self, step: str, *where: int) -> tuple[Any, ...]:
        return (f"{self.plan.operator}-{step}-{self.token}", *where)

    def add(self, key: Any, *task: Any) -> Any:
        self.graph[key] = task
        return key

    def array(self, chunks: Chunks, meta: Any, *made_from: Any) -> Any:
        dependencies: Any = [array for array in made_from if isinstance(array, da.Array)]
        graph = HighLevelGraph.from_collections(self.name, self.graph, dependencies)
        return da.Array(graph, self.name, chunks, meta=meta)

    def routes(self, indices: Any) -> Iterator[tuple[Block, tasks.Routes]]:
        """Where known indices go, for each chunk of them."""
        starts = self.layout.cuts.starts
        for block in self.layout.blocks():
            at = zip(starts, block, strict=True)
            yield block, tasks.route(indices[tuple(slice(ends[i], ends[i + 1]) for ends, i in at)], block, self.cuts)

    @property
    def cuts(self) -> Cuts:
        return self.layout.cuts

    def split(self, indices: Any, how: Any) -> None:
        """Tasks that split Dask's indices."""
        cuts = self.key("cuts")[0]
        blocks = list(self.layout.blocks())
        last = (0,) * (indices.ndim - self.layout.axes.n_places)
        if all(map(is_known, self.layout.places)):
            self.graph[cuts] = self.cuts
        else:
            shapes = [
                self.add(self.key("shape", *block), tasks.shape_of, (indices.name, *block, *last)) for block in blocks
            ]
            self.add(cuts, tasks.measure, self.cuts, shapes)
        for block in blocks:
            self.add(self.key("split", *block), partial(how, block), (indices.name, *block, *last), cuts)


def gather(layout: Layout, data: Any, indices: Any, fill_value: Any) -> Any:
    build = _Builder(layout, data, indices, fill_value)
    plan, axes = build.plan, layout.axes
    columns = layout.columns()
    meta = meta_from_array(data._meta, ndim=len(layout.result), dtype=data.dtype)
    merges = []
    for column in columns:
        row = tuple(layout.data[axis][i] for axis, i in zip(axes.free, column, strict=True))
        merges.append(tasks.Merge(plan.operator, meta_from_array(data._meta, ndim=1), fill_value, axes.order, row))
    look = partial(tasks.pick, axes.data_order)

    def add(block: Block, places: Any, buckets: list[tuple[Block, Any]], *waits: Any) -> None:
        shared = layout.shared(block)
        for column, merge in zip(columns, merges, strict=True):
            picks = [
                build.add(
                    build.key("pick", *block, *owner, *column),
                    look,
                    (data.name, *layout.data_block(shared, owner, column)),
                    bucket,
                    *waits,
                )
                for owner, bucket in buckets
            ]
            build.add((build.name, *layout.result_block(block, column)), merge, places, picks)

    if isinstance(indices, np.ndarray):
        for block, routes in build.routes(indices):
            add(block, routes.places, [(build.owners[n], routes.bucket(a, b)[0]) for n, a, b in routes.runs()])
        return build.array(layout.result, meta, data)

    build.split(indices, tasks.split_gather)
    waits = []
    if not _nbytes(layout.result, data.dtype) > data.nbytes:
        # A chunk of data then meets all picks of it at once, and can be let go. Where the result is the larger one, it
        # is data that is better kept, and the result's chunks are made one after the other.
        done = [
            build.add(build.key("done", *block), tasks.done, build.key("split", *block)) for block in layout.blocks()
        ]
        waits.append(build.add(build.key("all-done")[0], tasks.all_done, done))
    for block in layout.blocks():
        split = build.key("split", *block)
        places = build.add(build.key("places", *block), getitem, split, 0)
        buckets = [
            (owner, build.add(build.key("bucket", *block, *owner), getitem, split, at))
            for at, owner in enumerate(build.owners, start=1)
        ]
        add(block, places, buckets, *waits)
    return build.array(layout.result, meta, data, indices)


def _nbytes(chunks: Chunks, dtype: np.dtype[Any]) -> float:
    return math.prod(map(sum, chunks)) * dtype.itemsize


# Chunks, of the largest size, that updates for one chunk of data may take before they are applied.
WAITING = 2


def scatter(layout: Layout, data: Any, indices: Any, updates: Any, scalar: Any) -> Any:
    build = _Builder(layout, data, indices, updates, scalar)
    plan, axes = build.plan, layout.axes
    largest = [math.prod(max(sizes) for sizes in layout.data) * data.dtype.itemsize]
    if updates is not None:
        largest.append(math.prod(max(sizes) if is_known(sizes) else 1 for sizes in layout.result) * data.dtype.itemsize)
    limit = WAITING * max(largest)
    apply = tasks.Apply(plan.operator, plan.reduction, plan.include_self, axes.data_order, scalar, limit)
    send = tasks.Send(plan.operator, inverse_order(axes), axes.n_places)

    # For each chunk of data the parcels that it gets, where their tuples stand, and how large they may be.
    mail: dict[Block, list[tuple[Block, Any, float]]] = {}
    columns = layout.columns()
    if isinstance(indices, np.ndarray):
        for block, routes in build.routes(indices):
            shared = layout.shared(block)
            for n, start, end in routes.runs():
                bucket = [routes.order[start:end].copy(), *routes.bucket(start, end)]
                for column in columns:
                    size = (end - start) * _row_nbytes(layout, column, data.dtype, scalar)
                    parcel: Any = [*bucket[1:], None]
                    if updates is not None:
                        parcel = build.add(
                            build.key("parcel", *block, *build.owners[n], *column),
                            send.one,
                            (updates.name, *layout.result_block(block, column)),
                            list(routes.shape),
                            bucket,
                        )
                    mail.setdefault(layout.data_block(shared, build.owners[n], column), []).append(
                        (block, parcel, size)
                    )
    else:
        build.split(indices, tasks.split_scatter)
        for block in layout.blocks():
            shared = layout.shared(block)
            n_places = math.prod(layout.places[axis][i] for axis, i in enumerate(block))
            for column in columns:
                size = n_places * _row_nbytes(layout, column, data.dtype, scalar)
                sent = build.key("split", *block)
                if updates is not None:
                    sent = build.add(
                        build.key("send", *block, *column),
                        send,
                        build.key("split", *block),
                        (updates.name, *layout.result_block(block, column)),
                    )
                for at, owner in enumerate(build.owners):
                    key = build.key("parcel", *block, *owner, *column)
                    if updates is not None:
                        parcel = build.add(key, getitem, sent, at)
                    else:
                        parcel = build.add(key, tasks.parcel_of_scalar, sent, at)
                    mail.setdefault(layout.data_block(shared, owner, column), []).append((block, parcel, size))

    for where in itertools.product(*(range(len(sizes)) for sizes in layout.data)):
        state: Any = (data.name, *where)
        steps = _steps(layout, mail.get(where, []), limit)
        for n, parcels in enumerate(steps):
            last = n == len(steps) - 1
            key = (build.name, *where) if last else build.key("apply", *where, n)
            state = build.add(key, apply, state, parcels, last)
        if not steps:
            build.graph[(build.name, *where)] = state
    return build.array(layout.data, data._meta, data, indices, updates)


def inverse_order(axes: Axes) -> tuple[int, ...]:
    return tuple(axes.order.index(axis) for axis in range(len(axes.order)))


def _row_nbytes(layout: Layout, column: Block, dtype: np.dtype[Any], scalar: Any) -> float:
    """What one update takes: its row, or for a scalar the tuple that names it."""
    if scalar is not None:
        return layout.cuts.local.itemsize * len(layout.axes.leading)
    return dtype.itemsize * math.prod(layout.data[axis][i] for axis, i in zip(layout.axes.free, column, strict=True))


def _steps(layout: Layout, parcels: list[tuple[Block, Any, float]], limit: float) -> list[list[Any]]:
    """Parcels in the order of their tuples, in runs of about as much as may wait.

    Where chunks of indices interleave in that order, those that do stay in one run.
    """
    own = [axis for axis in range(layout.axes.n_places) if axis not in layout.axes.shared]
    own = own[:1] if layout.cuts.numbered else own

    def place(parcel: tuple[Block, Any, float]) -> list[int]:
        return [parcel[0][axis] for axis in own]

    steps: list[list[Any]] = []
    filled = math.inf
    for _, slab in itertools.groupby(sorted(parcels, key=place), key=place):
        found = list(slab)
        size = sum(limit / 4 if math.isnan(nbytes) else nbytes for _, _, nbytes in found)
        if filled + size > limit:
            steps.append([])
            filled = 0
        steps[-1] += [parcel for _, parcel, _ in found]
        filled += size
    return steps
