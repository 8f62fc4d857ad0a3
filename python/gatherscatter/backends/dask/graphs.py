"""Task graphs in Dask's plain form: a dictionary of tuples. docs/dask.md has a diagram.

Let n_i be the number of chunks of indices, n_o of owners (chunks of data along the indexed axes), C of columns (chunks
along the free axes), and h of pairs (chunk of indices, owner) in which an index selects from the owner. If indices are
a NumPy array, only these pairs have tasks::

    gather    C·(h picks + n_i merges)
    scatter   C·(h parcels + n_o applies)

If indices are a Dask array::

    gather    n_i·(split, positions) + n_i·n_o buckets + C·(n_i·n_o picks + n_i merges)
              and n_i + 1 + n_o·(bundles) for the barrier, if the result is not larger than data
    scatter   n_i splits + C·(n_i sends + n_i·n_o parcels + n_o·s applies)

The updates of one chunk of data are applied in s steps, so that no task has to hold all of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from functools import partial
from operator import getitem
from typing import Any, NamedTuple

import dask.array as da
import numpy as np
from dask.array.core import normalize_chunks
from dask.array.utils import meta_from_array
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph

from gatherscatter import errors
from gatherscatter.backends.dask import tasks
from gatherscatter.backends.dask.layout import (
    Axes,
    Block,
    Chunks,
    Cuts,
    Layout,
    is_known,
    needs_sequence,
    refined,
)
from gatherscatter.plan import Plan, inverse

Graph = dict[Any, Any]

# Memory limit of updates that wait to be applied to one chunk of data, and of the tuples in a bundle: in units of the
# largest chunk.
WAITING = 2

SET = "at-set"  # the name of the tasks that replace a part of a chunk


def chunked(array: Any) -> Any:
    """A NumPy array as a Dask array."""
    if isinstance(array, da.Array):
        return array
    return da.from_array(array, chunks=auto(array.shape, ("auto",) * array.ndim, array.dtype))  # pyright: ignore[reportArgumentType]


def auto(shape: tuple[int, ...], chunks: tuple[Any, ...], dtype: np.dtype[Any]) -> Chunks:
    """Chunks of the size in Dask's configuration."""
    if 0 in shape:
        return tuple((n,) if c == "auto" else c for n, c in zip(shape, chunks, strict=True))
    if dtype.hasobject or dtype.itemsize == 0:  # Dask does not estimate the size of objects
        dtype = np.dtype(np.intp)
    found: Chunks = normalize_chunks(chunks, shape, dtype=dtype)
    return found


def lay_out(plan: Plan, axes: Axes, data: Any, indices: Any, updates: Any = None) -> tuple[Layout, Any, Any]:
    """The layout of a call, and indices and updates rechunked to it."""
    at = [axes.order.index(axis) for axis in range(axes.n_position_axes)]  # the axes of updates for the positions
    theirs = [updates.chunks[axis] for axis in at] if isinstance(updates, da.Array) else None
    if isinstance(indices, da.Array):
        own = indices.chunks[: axes.n_position_axes]
    elif theirs is not None:
        own = tuple((n,) for n in indices.shape[: axes.n_position_axes])
    else:
        rows = tuple(_at_least(data.chunks[axis]) for axis in axes.free)
        shape = indices.shape[: axes.n_position_axes]
        own = auto(shape + tuple(map(sum, rows)), ("auto",) * len(shape) + rows, data.dtype)[: len(shape)]
    positions = tuple(
        _common_chunks(plan, axis, sizes, theirs and theirs[axis], data.chunks[axis] if axis in axes.shared else None)
        for axis, sizes in enumerate(own)
    )
    sequenced = updates is not None and needs_sequence(axes, positions)
    leading = tuple(data.chunks[axis] for axis in axes.leading)
    layout = Layout(Cuts(plan, axes, leading, positions, sequenced), data.chunks)
    if isinstance(indices, da.Array):
        indices = rechunked(indices, (*positions, *((plan.depth,),) * (indices.ndim - axes.n_position_axes)))
    if theirs is not None:
        wanted = list(layout.result)
        for axis, sizes in enumerate(updates.chunks):
            if is_known(sizes) and is_known(wanted[axis]):
                continue
            if axis not in at and len(sizes) != len(wanted[axis]):
                raise _unknown(plan, data)
            wanted[axis] = sizes
        updates = rechunked(updates, tuple(wanted))
    elif updates is not None:
        if not all(map(is_known, positions)):
            raise errors.unknown_size(plan.operator, "indices", [is_known(sizes) for sizes in positions].index(False))
        if not is_known(plan.data):
            raise _unknown(plan, data)
        updates = da.from_array(updates, chunks=layout.result)  # pyright: ignore[reportArgumentType]
    return layout, indices, updates


def _unknown(plan: Plan, data: Any) -> ValueError:
    return errors.unknown_size(plan.operator, "data", [is_known(sizes) for sizes in data.chunks].index(False))


def _at_least(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Sizes of chunks, or 1 for each if they are unknown: a factor that sizes to be compared have in common."""
    return sizes if is_known(sizes) else (1,) * len(sizes)


def replaced(array: Any, key: tuple[Any, ...], part: Any) -> Any:
    """A copy of an array in which the part that a basic index selects is replaced. One task for each chunk.

    (Dask's assignment copies the graph of the part into each new layer.)
    """
    cuts = [list(_cut(item, sizes)) for item, sizes in zip(key, array.chunks, strict=True)]
    kept = [axis for axis, item in enumerate(key) if not isinstance(item, int)]
    sizes = [tuple(cut[1] for cut in cuts[axis] if cut) for axis in kept]
    pairs = zip(sizes, part.chunks, strict=True)
    part = rechunked(part, tuple(own if is_known(own) else theirs for own, theirs in pairs))
    numbers = [list(itertools.accumulate((cut is not None for cut in along), initial=0)) for along in cuts]
    name = f"{SET}-{tokenize(array, key, part)}"
    graph: Graph = {}
    for block in itertools.product(*(range(len(along)) for along in cuts)):
        chunk = (array.name, *block)
        items = [cut[0] for along, i in zip(cuts, block, strict=True) if (cut := along[i])]
        if len(items) == len(block):
            of_part = (part.name, *(numbers[axis][block[axis]] for axis in kept))
            graph[name, *block] = (partial(tasks.replaced, tuple(items)), chunk, of_part)
        else:
            graph[name, *block] = chunk
    layers = HighLevelGraph.from_collections(name, graph, [array, part])
    return da.Array(layers, name, array.chunks, meta=array._meta)  # pyright: ignore[reportCallIssue]


def by_segments(data: Any, ids: Any, layout: Any, function: Any, lead: tuple[int, ...], n: int, dtype: str) -> Any:
    """A function of blocks that are whole along the axes that ids number. Chunks keep their number of bytes."""
    data, ids = chunked(data), chunked(ids)
    axis, end = layout.axis, layout.axis + layout.depth
    axes, numbered = tuple(range(data.ndim)), tuple(range(axis, end))
    if any(len(data.chunks[d]) > 1 for d in numbered):
        limit = math.prod(map(max, data.chunks)) * data.dtype.itemsize
        chunks = {d: -1 if d in numbered else "auto" for d in axes}
        data = data.rechunk(chunks, block_size_limit=limit) if data.size else rechunked(data, _whole(data.shape))
    ids = rechunked(ids, (*data.chunks[: layout.batch_dims], *_whole(ids.shape[layout.batch_dims :])))
    # The names of axes: data's are their numbers, that of the segments follows, then those that lead.
    segments, leads = data.ndim, tuple(range(data.ndim + 1, data.ndim + 1 + len(lead)))
    result = (*leads, *axes[:axis], segments, *axes[end:])
    return da.blockwise(
        partial(tasks.of_segments, function=function), result, data, axes, ids, (*axes[: layout.batch_dims], *numbered),
        new_axes={segments: n, **dict(zip(leads, lead, strict=True))}, concatenate=True, align_arrays=False,
        dtype=np.dtype(dtype), meta=np.empty((0,) * len(result), dtype),
    )  # fmt: skip


def _whole(shape: tuple[int, ...]) -> Chunks:
    return tuple((n,) for n in shape)


def _cut(item: Any, sizes: tuple[int, ...]) -> Iterator[tuple[Any, int] | None]:
    """For each chunk along an axis, what an item of a basic index selects of it, and how many elements that is."""
    start = 0
    for n in sizes:
        found = item, n  # all, as of any axis of unknown size
        if isinstance(item, int):
            found = item - start, int(0 <= item - start < n)
        elif item.start is not None:
            first = item.start - start
            here = range(first if first >= 0 else first % item.step, min(item.stop - start, n), item.step)
            found = slice(here.start, here.stop, here.step), len(here)
        yield found if found[1] or item == slice(None) else None
        start += n


def rechunked(array: Any, chunks: Chunks) -> Any:
    if array.ndim == 0 or any(n != 0 for n in array.shape):
        return array.rechunk(chunks)
    # Dask leaves an array alone whose sizes are all 0. All its chunks are the same.
    name = f"rechunk-{tokenize(array, chunks)}"
    blocks = itertools.product(*(range(len(sizes)) for sizes in chunks))
    one = (array.name, *(0,) * array.ndim)
    graph = HighLevelGraph.from_collections(name, {(name, *block): one for block in blocks}, [array])
    return da.Array(graph, name, chunks, meta=array._meta)  # pyright: ignore[reportCallIssue]


def _common_chunks(plan: Plan, axis: int, own: Any, theirs: Any, shared: Any) -> tuple[int, ...]:
    """Common chunks of indices, updates and data along an axis of the positions.

    own: chunks of indices; theirs: of updates, or None; shared: of data, or None if the axis is not shared.
    """
    if is_known(own) and (theirs is None or is_known(theirs)):
        return refined(sum(own), *(sizes for sizes in (own, theirs, shared) if sizes is not None))
    # Chunks of unknown sizes cannot be cut. They are paired one by one, and tasks check that their sizes agree.
    if theirs is not None and len(own) != len(theirs):
        raise errors.unknown_chunks(plan.operator, axis, len(own), len(theirs))
    if shared is not None and len(shared) > 1:
        raise errors.unknown_size(plan.operator, "updates", axis)
    return tuple(own)


class _Builder:
    """A graph under construction, with the names that its tasks share."""

    def __init__(self, layout: Layout, *made_from: Any) -> None:
        self.layout = layout
        self.plan = layout.cuts.plan
        self.token = tokenize(self.plan, layout.positions, *made_from)
        self.name = f"{self.plan.operator.name}-{self.token}"
        self.graph: Graph = {}
        self.owners = list(layout.owners())

    def key(self, step: str, *where: int) -> tuple[Any, ...]:
        return (f"{self.plan.operator.name}-{step}-{self.token}", *where)

    def add(self, key: Any, *task: Any) -> Any:
        self.graph[key] = task
        return key

    def array(self, chunks: Chunks, meta: Any, *made_from: Any) -> Any:
        dependencies: Any = [array for array in made_from if isinstance(array, da.Array)]
        graph = HighLevelGraph.from_collections(self.name, self.graph, dependencies)
        return da.Array(graph, self.name, chunks, meta=meta)  # pyright: ignore[reportCallIssue]

    def routes(self, indices: Any) -> Iterator[tuple[Block, tasks.Routes]]:
        """The routes of each chunk of NumPy indices."""
        starts = self.layout.cuts.starts
        for block in self.layout.blocks():
            at = zip(starts, block, strict=True)
            yield block, tasks.route(indices[tuple(slice(ends[i], ends[i + 1]) for ends, i in at)], block, self.cuts)

    @property
    def cuts(self) -> Cuts:
        return self.layout.cuts

    def split(self, indices: Any, how: Any) -> None:
        """Add the tasks that split Dask indices. how: `split_gather` or `split_scatter`."""
        cuts = self.key("cuts")[0]
        blocks = list(self.layout.blocks())
        last = (0,) * (indices.ndim - self.layout.axes.n_position_axes)
        if all(map(is_known, self.layout.positions)):
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
    line = meta_from_array(data._meta, ndim=1)
    merges = [tasks.Merge(plan.operator, line, fill_value, axes.order, layout.row(column)) for column in columns]

    def add(block: Block, positions: Any, buckets: list[tuple[Block, Any]], pick: Any, *waits: Any) -> None:
        shared = layout.shared(block)
        for column, merge in zip(columns, merges, strict=True):
            picks = [
                build.add(
                    build.key("pick", *block, *owner, *column),
                    pick,
                    (data.name, *layout.data_block(shared, owner, column)),
                    bucket,
                    *waits,
                )
                for owner, bucket in buckets
            ]
            build.add((build.name, *layout.result_block(block, column)), merge, positions, picks)

    width = 0 if is_known(plan.data) else len(axes.leading)
    pick = partial(tasks.pick, axes.data_order, width)
    if isinstance(indices, np.ndarray):
        used = False
        for block, routes in build.routes(indices):
            buckets = [(build.owners[n], routes.bucket(a, b)[0]) for n, a, b in routes.runs()]
            if width and not buckets:
                buckets = [(build.owners[0], None)]
            used = used or bool(buckets)
            add(block, routes.positions, buckets, pick)
        return build.array(layout.result, meta, *([data] if used else []))

    build.split(indices, tasks.split_gather)
    for block in layout.blocks():
        split = build.key("split", *block)
        build.add(build.key("positions", *block), getitem, split, 0)
        for at, owner in enumerate(build.owners, start=1):
            build.add(build.key("bucket", *block, *owner), getitem, split, at)

    if _nbytes(layout.result, data.dtype) > data.nbytes:
        # No barrier: data takes less memory than the result, whose chunks are made one after the other.
        for block in layout.blocks():
            buckets = [(owner, build.key("bucket", *block, *owner)) for owner in build.owners]
            add(block, build.key("positions", *block), buckets, pick)
        return build.array(layout.result, meta, data, indices)

    # Barrier: picks wait until all indices are split. Then all picks of a chunk of data can run one after the other,
    # and the chunk can be released. Until then the many small buckets are held in bundles.
    done = [build.add(build.key("done", *block), tasks.done, build.key("split", *block)) for block in layout.blocks()]
    waits = build.add(build.key("all-done")[0], tasks.all_done, done)
    for blocks in _bundles(layout, WAITING * math.prod(map(max, layout.data)) * data.dtype.itemsize):
        for owner in build.owners:
            bundle = [build.key("bucket", *block, *owner) for block in blocks]
            build.add(build.key("bundle", *blocks[0], *owner), list, bundle)
        for n, block in enumerate(blocks):
            buckets = [(owner, build.key("bundle", *blocks[0], *owner)) for owner in build.owners]
            add(
                block, build.key("positions", *block), buckets, partial(tasks.pick_of, axes.data_order, width, n), waits
            )
    return build.array(layout.result, meta, data, indices)


def _bundles(layout: Layout, limit: float) -> Iterator[list[Block]]:
    """Runs of consecutive chunks of indices with the same owners, whose tuples take at most `limit` bytes."""
    tuple_nbytes = layout.cuts.local.itemsize * len(layout.axes.leading)
    bundle: list[Block] = []
    filled, owners = 0.0, None
    for block in layout.blocks():
        nbytes: float = tuple_nbytes * math.prod(sizes[i] for sizes, i in zip(layout.positions, block, strict=True))
        if math.isnan(nbytes):
            nbytes = limit / 4
        if bundle and (filled + nbytes > limit or layout.shared(block) != owners):
            yield bundle
            bundle, filled = [], 0.0
        bundle.append(block)
        filled, owners = filled + nbytes, layout.shared(block)
    yield bundle


def _nbytes(chunks: Chunks, dtype: np.dtype[Any]) -> float:
    return math.prod(map(sum, chunks)) * dtype.itemsize


class _Parcel(NamedTuple):
    """Updates from one chunk of indices to one chunk of data."""

    to: Block
    positions: Block
    content: Any  # or its key
    nbytes: float  # at most


def scatter(layout: Layout, data: Any, indices: Any, updates: Any, scalar: Any) -> Any:
    build = _Builder(layout, data, indices, updates, scalar)
    plan, itemsize = build.plan, data.dtype.itemsize
    largest = [math.prod(max(_at_least(sizes)) for sizes in layout.data)]
    row_nbytes: dict[Block, float] = {
        column: itemsize * math.prod(_at_least(layout.row(column))) for column in layout.columns()
    }
    if updates is None:  # a scalar: only tuples are sent
        row_nbytes = dict.fromkeys(row_nbytes, layout.cuts.local.itemsize * len(layout.axes.leading))
    else:
        largest.append(math.prod(max(sizes) for sizes in layout.result if is_known(sizes)))
    limit = WAITING * max(largest) * itemsize
    apply = tasks.Apply(plan.operator, plan.reduction, plan.include_self, layout.axes.data_order, scalar, limit)

    find = _parcels_of_known if isinstance(indices, np.ndarray) else _parcels
    parcels: dict[Block, list[_Parcel]] = {}
    for parcel in find(build, indices, updates, row_nbytes):
        parcels.setdefault(parcel.to, []).append(parcel)
    for where in itertools.product(*(range(len(sizes)) for sizes in layout.data)):
        state: Any = (data.name, *where)
        steps = _steps(layout, parcels.get(where, []), limit)
        for n, step in enumerate(steps, start=1):
            last = n == len(steps)
            key = (build.name, *where) if last else build.key("apply", *where, n)
            state = build.add(key, apply, state, [parcel.content for parcel in step], last)
        if not steps:
            build.graph[(build.name, *where)] = state
    return build.array(layout.data, data._meta, data, indices, *([updates] if parcels else []))


def _parcels_of_known(
    build: _Builder, indices: Any, updates: Any, row_nbytes: Mapping[Block, float]
) -> Iterator[_Parcel]:
    layout = build.layout
    send = tasks.Send(build.plan.operator, inverse(layout.axes.order), layout.axes.n_position_axes)
    for block, routes in build.routes(indices):
        shared = layout.shared(block)
        for n, start, end in routes.runs():
            bucket = [routes.order[start:end].copy(), *routes.bucket(start, end)]
            for column, nbytes in row_nbytes.items():
                content: Any = [*bucket[1:], None]
                if updates is not None:
                    content = build.add(
                        build.key("parcel", *block, *build.owners[n], *column),
                        send.one,
                        (updates.name, *layout.result_block(block, column)),
                        list(routes.shape),
                        bucket,
                    )
                to = layout.data_block(shared, build.owners[n], column)
                yield _Parcel(to, block, content, (end - start) * nbytes)


def _parcels(build: _Builder, indices: Any, updates: Any, row_nbytes: Mapping[Block, float]) -> Iterator[_Parcel]:
    layout = build.layout
    send = tasks.Send(build.plan.operator, inverse(layout.axes.order), layout.axes.n_position_axes)
    build.split(indices, tasks.split_scatter)
    take: Any = tasks.parcel_of_scalar if updates is None else getitem
    for block in layout.blocks():
        shared, split = layout.shared(block), build.key("split", *block)
        n_tuples = math.prod(sizes[i] for sizes, i in zip(layout.positions, block, strict=True))
        for column, nbytes in row_nbytes.items():
            sent = split
            if updates is not None:
                key = build.key("send", *block, *column)
                sent = build.add(key, send, split, (updates.name, *layout.result_block(block, column)))
            for at, owner in enumerate(build.owners):
                content = build.add(build.key("parcel", *block, *owner, *column), take, sent, at)
                yield _Parcel(layout.data_block(shared, owner, column), block, content, n_tuples * nbytes)


def _steps(layout: Layout, parcels: list[_Parcel], limit: float) -> list[list[_Parcel]]:
    """Parcels in the order of their tuples, grouped in steps of about `limit` bytes.

    Parcels whose tuples interleave in that order stay in one step.
    """
    own = [axis for axis in range(layout.axes.n_position_axes) if axis not in layout.axes.shared]
    own = own[:1] if layout.cuts.sequenced else own

    def place(parcel: _Parcel) -> list[int]:
        return [parcel.positions[axis] for axis in own]

    steps: list[list[_Parcel]] = []
    filled = math.inf
    for _, group in itertools.groupby(sorted(parcels, key=place), key=place):
        found = list(group)
        nbytes = sum(limit / 4 if math.isnan(parcel.nbytes) else parcel.nbytes for parcel in found)
        if filled + nbytes > limit:
            steps.append([])
            filled = 0.0
        steps[-1] += found
        filled += nbytes
    return steps
