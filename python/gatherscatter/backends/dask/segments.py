"""Segments of Dask arrays: each chunk is reduced to the words of states, and these are merged in the chunks' order.

For C chunks along the numbered axes, a chunk of a result takes C reductions, about C / 7 merges of at most 8, and one
task that makes the results' numbers of the words. All results of a call share the first two.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

import dask.array as da
import numpy as np
from dask.array.utils import meta_from_array
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph

from gatherscatter import core
from gatherscatter.backends.dask import graphs, tasks
from gatherscatter.operators import Operator
from gatherscatter.reductions import kind_of
from gatherscatter.segments import rules
from gatherscatter.segments.aggregations import AGGREGATIONS, STATES, Words
from gatherscatter.segments.by_scatters import Segments
from gatherscatter.segments.gradients import segments_of
from gatherscatter.segments.ids import Ids

MERGED = 8  # words of so many chunks are merged by a task

Table = dict[tuple[str, str], Words]  # the words of each state and dtype


class _Call(NamedTuple):
    """What the tasks of a call have in common. wanted: reductions and their dtypes. sizes: of the numbered axes."""

    op: Operator
    axis: int
    depth: int
    batch_dims: int
    sizes: tuple[int, ...]
    wanted: tuple[tuple[str, str], ...]
    skipna: bool
    correction: float

    def layout(self, shape: Sequence[int], n: int) -> rules.Layout:
        return rules.Layout(self.op, tuple(shape), self.axis, self.depth, self.batch_dims, n)


class ChunkedSegments(Segments):
    """The segments of a Dask array."""

    def __init__(self, data: Any, ids: Ids, skipna: bool) -> None:
        super().__init__(graphs.chunked(data), ids, skipna)
        self.skipna = skipna
        self._expected: list[tuple[str, str]] = []
        self._merged: tuple[str, HighLevelGraph] | None = None

    def expect(self, names: Sequence[str], dtypes: Sequence[str]) -> None:
        self._expected += zip(names, dtypes, strict=True)

    def reduce(self, name: str, dtype: str, fill: Any, min_count: int) -> Any:
        self.start(name, dtype, fill, min_count)  # for its errors
        if (name, dtype) not in self._expected or self._merged is None:
            self._merged = self._reduced(tuple(dict.fromkeys([*self._expected, (name, dtype)])))
        merged, graph = self._merged
        layout, own = self.layout, f"{self.op.name}-{tokenize(merged, name, dtype, fill, min_count)}"
        along = [self.data.chunks[axis] for axis in range(self.data.ndim)]
        chunks = (*along[: layout.axis], self._ranges(), *along[layout.axis + layout.depth :])
        finish = partial(_finished, self._call(()), name, dtype, fill, min_count)
        layer: dict[Any, Any] = {}
        for block in itertools.product(*(range(len(sizes)) for sizes in chunks)):
            shape = tuple(sizes[i] for sizes, i in zip(chunks, block, strict=True))
            layer[own, *block] = (finish, shape, (merged, *block))
        layers = HighLevelGraph({**graph.layers, own: layer}, {**graph.dependencies, own: {merged}})  # type: ignore[dict-item]
        like = self.data._meta if kind_of(dtype) == "c" else self.data._meta.real
        meta = meta_from_array(like, ndim=len(chunks), dtype=np.dtype(dtype))
        return da.Array(layers, own, chunks, meta=meta)  # pyright: ignore[reportCallIssue]

    def _call(self, wanted: tuple[tuple[str, str], ...]) -> _Call:
        layout = self.layout
        place = layout.axis, layout.depth, layout.batch_dims, layout.numbered
        return _Call(self.op, *place, wanted, self.skipna, self.correction)

    def _ranges(self) -> tuple[int, ...]:
        """The segments of each chunk of a result."""
        layout, along = self.layout, self.data.chunks
        others = (*along[: layout.axis], *along[layout.axis + layout.depth :])
        most = tuple(max(sizes, default=1) for sizes in others)
        found: tuple[int, ...] = graphs.auto((layout.n, *most), ("auto", *((n,) for n in most)), np.dtype("f8"))[0]
        return found

    def _reduced(self, wanted: tuple[tuple[str, str], ...]) -> tuple[str, HighLevelGraph]:
        """The graph of merged words, and the name of its last tasks, one for each chunk of a result."""
        layout, data, ids = self.layout, self.data, self.ids
        a, b, k = layout.axis, layout.batch_dims, layout.depth
        own = (*data.chunks[:b], *data.chunks[a : a + k])  # the chunks of ids
        if not isinstance(ids, np.ndarray):
            ids = graphs.rechunked(ids, own)
        call = self._call(wanted)
        token = tokenize(data, ids, call, layout.n)
        name = f"{self.op.name}-merged-{token}"
        graph: dict[Any, Any] = {}
        starts = [list(itertools.accumulate(sizes, initial=0)) for sizes in data.chunks]
        bounds = list(itertools.accumulate(self._ranges(), initial=0))
        counts = [range(len(sizes)) for sizes in data.chunks]
        for outer, inner in itertools.product(itertools.product(*counts[:a]), itertools.product(*counts[a + k :])):
            for r in range(len(bounds) - 1):
                keys: list[Any] = []
                for numbered in itertools.product(*counts[a : a + k]):
                    block = (*outer, *numbered, *inner)
                    mine = (*outer[:b], *numbered)
                    if isinstance(ids, np.ndarray):
                        axes = (*range(b), *range(a, a + k))
                        at = tuple(slice(starts[x][i], starts[x][i + 1]) for x, i in zip(axes, mine, strict=True))
                        of_ids: Any = ids[at]
                    else:
                        of_ids = (ids.name, *mine)
                    offsets = tuple(starts[a + x][i] for x, i in enumerate(numbered))
                    step = partial(_words, call, offsets, bounds[r], bounds[r + 1])
                    keys.append((f"{self.op.name}-words-{token}", *block, r))
                    graph[keys[-1]] = (step, (data.name, *block), of_ids)
                level = 0
                while len(keys) > MERGED:
                    groups = [keys[i : i + MERGED] for i in range(0, len(keys), MERGED)]
                    keys = [(f"{self.op.name}-merge{level}-{token}", *outer, r, *inner, i) for i in range(len(groups))]
                    graph.update((key, (_merged, group)) for key, group in zip(keys, groups, strict=True))
                    level += 1
                graph[name, *outer, r, *inner] = (_merged, keys)
        dependencies: Any = [array for array in (data, ids) if isinstance(array, da.Array)]
        return name, HighLevelGraph.from_collections(name, graph, dependencies)


class _MergedSegments(Segments):
    """Words of segments as the segments of an array, whose elements are gone."""

    def __init__(self, like: Any, ids: Ids, table: Table) -> None:
        super().__init__(like, ids, False)
        self._table = table
        self._counts = next(words[0] for (state, _), words in table.items() if state == "count")

    def is_scatter(self, *_: Any) -> bool:
        return False

    def words(self, state: str, dtype: str) -> Words:
        return self._table[state, dtype]


def _words(call: _Call, offsets: tuple[int, ...], start: int, stop: int, data: Any, ids: Any) -> tuple[Any, Table]:
    """A part of the chunk, without elements, and the words of segments start to stop of it."""
    if start:
        ids = ids.astype(np.int64) - start
    backend, (data, ids) = core.arrays(call.op, data=data, indices=tasks.like(tasks.on_host(ids), data))
    segments = segments_of(data, Ids(backend, call.layout(data.shape, stop - start), ids, "drop"), call.skipna)
    names, dtypes = zip(*call.wanted, ("count", segments.defaults[0]), strict=True)
    segments.expect(names, dtypes)
    table: Table = {}
    with np.errstate(all="ignore"):
        for name, dtype in zip(names, dtypes, strict=True):
            state = AGGREGATIONS[name].state
            if (state, dtype) not in table:
                table[state, dtype] = tuple(
                    _placed(segments, call, offsets, word) if kind == "place" else word
                    for word, kind in itertools.zip_longest(segments.words(state, dtype), STATES[state].words)
                )
    return data[:0], table


def _placed(segments: Segments, call: _Call, offsets: tuple[int, ...], places: Any) -> Any:
    """Positions in a chunk as those in the array; -1 stays."""
    xp, rest, found, stride = segments.xp, places, 0, 1
    axes = zip(segments.layout.numbered[::-1], call.sizes[::-1], offsets[::-1], strict=True)
    for n, size, offset in axes:
        found = found + (rest % max(n, 1) + offset) * stride
        rest, stride = rest // max(n, 1), stride * size
    return xp.where(places < 0, places, found)


def _merged(parts: Sequence[tuple[Any, Table]]) -> tuple[Any, Table]:
    def both(one: tuple[Any, Table], later: tuple[Any, Table]) -> tuple[Any, Table]:
        xp = tasks.backend_of(one[0]).namespace(one[0])
        return one[0], {key: STATES[key[0]].merge(xp, words, later[1][key]) for key, words in one[1].items()}

    with np.errstate(all="ignore"):
        return reduce(both, parts)


def _finished(
    call: _Call, name: str, dtype: str, fill: Any, min_count: int, shape: tuple[int, ...], merged: tuple[Any, Table]
) -> Any:
    """A reduction, of merged words. shape: of the result."""
    like, table = merged
    backend, (like,) = core.arrays(call.op, data=like)
    data = (*shape[: call.axis], *[0] * call.depth, *shape[call.axis + 1 :])
    like = backend.namespace(like).zeros(data, dtype=like.dtype, device=backend.device(like))
    ids = Ids(backend, call.layout(data, shape[call.axis]), None, "drop")
    segments = _MergedSegments(like, ids, table)
    segments.correction = call.correction
    with np.errstate(all="ignore"):
        return segments.reduce(name, dtype, fill, min_count)
