"""Scans of segments: a task for each chunk, which gets the states after the one before it along the numbered axes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from operator import getitem
from typing import Any

import dask.array as da
import numpy as np
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph

from gatherscatter import errors


def scan(data: Any, ids: Any, dtype: str, reverse: bool, function: Callable[..., Any]) -> Any:
    """The scan of a Dask array. The others are as in `Chunked.scanned`."""
    layout = ids.layout
    if not isinstance(data._meta, np.ndarray):
        reason = "the states are passed on between NumPy's arrays; convert them, as by data.map_blocks"
        raise errors.cannot("Dask", layout.operator, f"chunks of {type(data._meta).__name__}", reason)
    b, axis = layout.batch_dims, layout.axis
    whole = range(axis + 1, axis + layout.depth)  # so that positions are in order of the chunks
    data = data.rechunk(dict.fromkeys(whole, -1))
    chunks = (*data.chunks[:b], *data.chunks[axis : axis + layout.depth])
    array = ids.array if isinstance(ids.array, da.Array) else da.from_array(ids.array, chunks=chunks)  # pyright: ignore[reportArgumentType]
    array = array.rechunk(chunks)
    name = f"{layout.operator.name}-{tokenize(data, array, layout, function)}"
    graph: dict[Any, Any] = {}
    numbers = [range(len(sizes)) for sizes in data.chunks]
    order = list(numbers[axis])[:: -1 if reverse else 1]
    for outer, inner in itertools.product(itertools.product(*numbers[:axis]), itertools.product(*numbers[axis + 1 :])):
        states = None
        for i in order:
            place = (*outer, i, *inner)
            of_ids = (array.name, *outer[:b], i, *[0] * (layout.depth - 1))
            graph[f"{name}-step", *place] = (function, (data.name, *place), of_ids, states)
            graph[name, *place] = (getitem, (f"{name}-step", *place), 0)
            states = f"{name}-states", *place
            graph[states] = (getitem, (f"{name}-step", *place), 1)
    layers = HighLevelGraph.from_collections(name, graph, [data, array])
    return da.Array(layers, name, data.chunks, meta=np.empty((0,) * data.ndim, np.dtype(dtype)))  # pyright: ignore[reportCallIssue]
