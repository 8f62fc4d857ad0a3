"""The six functions with NumPy's own indexing, for arrays too large for the scalar loop of the reference.

tests/kernels/test_fuzz.py compares the two.
"""

import numpy as np

STEPS = {"add": np.add, "mean": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
NONE = -1  # the place of an update that is dropped, and of a slice that is filled


def resolve(indices, size, mode):
    """Indices as int64, or NONE."""
    if indices.dtype.kind == "u":
        big = indices > np.uint64((1 << 63) - 1)
        if big.any():  # beyond int64, where only their distance from the end counts
            indices = np.where(big, indices % np.uint64(size) if mode == "wrap" else np.uint64(1 << 62), indices)
    indices = indices.astype(np.int64)
    indices = np.where(indices < 0, indices + size, indices)
    inside = (indices >= 0) & (indices < size)
    if inside.all():
        return indices
    if mode in ("fill", "drop"):
        return np.where(inside, indices, NONE)
    if not size or mode not in ("clip", "wrap"):
        raise IndexError
    return indices.clip(0, size - 1) if mode == "clip" else indices % size


def along(n, axis, rank):
    """The positions along an axis, to be broadcast."""
    return np.arange(n).reshape([n if d == axis else 1 for d in range(rank)])


def rows(data, places):
    """Row-major numbers of elements from their positions along each axis; NONE if one is."""
    number, missing = np.zeros((), np.int64), np.zeros((), bool)
    for n, place in zip(data.shape, places, strict=True):
        number = number * n + place
        missing = missing | (place == NONE)
    return np.where(missing, NONE, number)


def axis_places(data, indices, axis, batch_dims, mode):
    axis, b = axis % data.ndim, batch_dims
    shape = data.shape[:axis] + indices.shape[b:] + data.shape[axis + 1 :]
    rank, q = len(shape), indices.ndim - b
    resolved = resolve(indices, data.shape[axis], mode)
    ones = (1,) * (axis - b), (1,) * (data.ndim - axis - 1)
    resolved = resolved.reshape(indices.shape[:b] + ones[0] + indices.shape[b:] + ones[1])
    places = [along(n, d, rank) for d, n in enumerate(data.shape[:axis])]
    places.append(resolved)
    places += [along(n, axis + q + d, rank) for d, n in enumerate(data.shape[axis + 1 :])]
    return np.broadcast_to(rows(data, places), shape)


def nd_places(data, indices, batch_dims, mode):
    b, k = batch_dims, indices.shape[-1]
    row = data.shape[b + k :]
    shape = indices.shape[:-1] + row
    rank = len(shape)
    places = [along(n, d, rank) for d, n in enumerate(data.shape[:b])]
    for j in range(k):
        resolved = resolve(indices[..., j], data.shape[b + j], mode)
        places.append(resolved.reshape(indices.shape[:-1] + (1,) * len(row)))
    places += [along(n, indices.ndim - 1 + d, rank) for d, n in enumerate(row)]
    return np.broadcast_to(rows(data, places), shape)


def elements_places(data, indices, axis, mode):
    axis %= data.ndim
    places = [along(n, d, data.ndim) for d, n in enumerate(indices.shape)]
    places[axis] = resolve(indices, data.shape[axis], mode)
    return np.broadcast_to(rows(data, places), indices.shape)


def read(data, places, fill_value):
    flat = data.reshape(-1)
    result = flat[places] if len(flat) else np.zeros(places.shape, data.dtype)
    missing = places == NONE
    if missing.any():
        result[missing] = np.zeros((), data.dtype) if type(fill_value) is int and fill_value == 0 else fill_value
    return result


def combine(data, updates, places, reduction, include_self):
    """In the order of the updates: NumPy's ufunc.at goes from the first to the last, and so does an assignment."""
    result = np.array(data, order="C").reshape(-1)
    updates = np.broadcast_to(updates, places.shape).reshape(-1)
    places = places.reshape(-1)
    kept = places != NONE
    updates, places = updates[kept], places[kept]
    if reduction == "none":
        result[places] = updates
        return result.reshape(data.shape)
    counts = np.bincount(places, minlength=result.size) + include_self
    with np.errstate(all="ignore"):
        if not include_self:  # the first update takes the place of data's element
            first = np.unique(places, return_index=True)[1]
            result[places[first]] = updates[first]
            later = np.ones(places.size, bool)
            later[first] = False
            updates, left = updates[later], places[later]
        else:
            left = places
        STEPS[reduction].at(result, left, updates)
        if reduction == "mean":
            named = np.unique(places)
            if result.dtype.kind in "iu":  # a count may be beyond the dtype
                wide = np.dtype(f"{result.dtype.kind}8")
                result[named] = result[named].astype(wide) // counts[named].astype(wide)
            else:
                result[named] /= counts[named].astype(result.dtype)
    return result.reshape(data.shape)


def gather(data, indices, *, axis=0, batch_dims=0, mode="raise", fill_value=0):
    return read(data, axis_places(data, indices, axis, batch_dims, mode), fill_value)


def gather_nd(data, indices, *, batch_dims=0, mode="raise", fill_value=0):
    return read(data, nd_places(data, indices, batch_dims, mode), fill_value)


def gather_elements(data, indices, *, axis=0, mode="raise", fill_value=0):
    return read(data, elements_places(data, indices, axis, mode), fill_value)


def scatter(data, indices, updates, *, axis=0, batch_dims=0, reduction="none", include_self=True, mode="raise"):
    return combine(data, updates, axis_places(data, indices, axis, batch_dims, mode), reduction, include_self)


def scatter_nd(data, indices, updates, *, batch_dims=0, reduction="none", include_self=True, mode="raise"):
    return combine(data, updates, nd_places(data, indices, batch_dims, mode), reduction, include_self)


def scatter_elements(data, indices, updates, *, axis=0, reduction="none", include_self=True, mode="raise"):
    return combine(data, updates, elements_places(data, indices, axis, mode), reduction, include_self)
