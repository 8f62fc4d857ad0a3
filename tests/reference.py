"""The operators as scalar loops: slow, plain, and the one meaning that every backend is held to.

Nothing but NumPy's basic indexing (integers, one element or slice at a time) is used.
"""

import itertools
import operator

import numpy as np


def place(index, size, mode):
    """Where an index lands on an axis: a position, or None for none (fill, drop)."""
    index = operator.index(index)
    if index < 0:
        index += size
    if 0 <= index < size:
        return index
    if mode in ("fill", "drop"):
        return None
    if mode == "clip" and size:
        return 0 if index < 0 else size - 1
    if mode == "wrap" and size:
        return index % size
    raise IndexError(index)


def positions(shape):
    return itertools.product(*map(range, shape))


def gather_nd(data, indices, *, batch_dims=0, mode="raise", fill_value=0):
    b, k = batch_dims, indices.shape[-1]
    result = np.zeros(indices.shape[:-1] + data.shape[b + k :], data.dtype)
    for t in positions(indices.shape[:-1]):
        where = [place(indices[(*t, j)], data.shape[b + j], mode) for j in range(k)]
        # The Ellipsis makes 0-d arrays of elements, so that nothing is converted on the way.
        if None not in where:
            result[(*t, ...)] = data[(*t[:b], *where, ...)]
        elif not (type(fill_value) is int and fill_value == 0):  # 0 is any dtype's zero, which is there already
            result[(*t, ...)] = fill_value
    return result
