"""What a segment's elements are reduced to, one segment after the other: the reference of the tests."""

import math

import numpy as np

EMPTY = {"add": 0, "mul": 1, "any": False, "all": True, "argmax": -1, "argmin": -1, "logsumexp": -math.inf}
WIDE = {"float16": "f4", "bfloat16": "f4", "float32": "f8", "complex64": "c16"}


def segment_reduce(
    data, ids, n, reduction, axis=0, batch_dims=0, skipna=False, min_count=0, fill_value=None, correction=0, dtype=None
):
    result = np.empty(result_shape(data, ids, n, axis, batch_dims), result_dtype(reduction, data.dtype, dtype))
    for position, line, places in segments(data, ids, n, axis, batch_dims, skipna):
        options = reduction, line[places], places, min_count, fill_value, correction, result.dtype
        found = reduced(*options)
        result[position] = "NaT" if result.dtype.kind in "mM" and found is math.nan else found
    return result


def segment_softmax(data, ids, n, axis=0, batch_dims=0, is_log=False):
    """In float64."""
    depth, size = ids.ndim - batch_dims, math.prod(ids.shape[batch_dims:])
    result = np.full(data.shape, -math.inf if is_log else 0.0)
    flat = result.reshape(*data.shape[:axis], size, *data.shape[axis + depth :])
    for position, line, places in segments(data, ids, n, axis, batch_dims, False):
        with np.errstate(all="ignore"):
            apart = line[places].astype("f8")
            if len(apart) and apart.max() != -math.inf:
                apart = apart - apart.max()
                apart = apart - np.log(np.exp(apart).sum()) if is_log else np.exp(apart) / np.exp(apart).sum()
                flat[(*position[:axis], places, *position[axis + 1 :])] = apart
    return result


def result_shape(data, ids, n, axis, batch_dims):
    return *data.shape[:axis], n, *data.shape[axis + ids.ndim - batch_dims :]


def segments(data, ids, n, axis, batch_dims, skipna):
    """For each element of a result: its position, the line of data that it is of, and the places in it that count."""
    depth = ids.ndim - batch_dims
    outer, inner = data.shape[:axis], data.shape[axis + depth :]
    flat = data.reshape(*outer, math.prod(ids.shape[batch_dims:]), *inner)
    for before in np.ndindex(*outer):
        own = ids[before[:batch_dims]].reshape(-1)
        of_segments = [np.flatnonzero(own == segment) for segment in range(n)]
        for after in np.ndindex(*inner):
            line = flat[(*before, slice(None), *after)]
            for segment, places in enumerate(of_segments):
                with np.errstate(invalid="ignore"):
                    counted = places[line[places] == line[places]] if skipna else places
                yield (*before, segment, *after), line, counted


def result_dtype(reduction, dtype, asked=None):
    """asked: the option `dtype`, for the reductions that have it."""
    if asked is not None and reduction in ("add", "mul", "mean", "var", "std", "logsumexp", "median"):
        asked = np.dtype(asked)
        return np.zeros(0, asked).real.dtype if reduction in ("var", "std") else asked
    if reduction in ("any", "all"):
        return np.dtype(bool)
    if reduction in ("count", "nunique", "argmax", "argmin"):
        return np.dtype("i8")
    if reduction in ("add", "mul"):
        return {"b": np.dtype("i8"), "i": np.dtype("i8"), "u": np.dtype("u8")}.get(dtype.kind, dtype)
    if reduction in ("mean", "var", "std", "logsumexp", "median"):
        dtype = np.dtype("f8") if dtype.kind in "biu" else dtype
    return np.zeros(0, dtype).real.dtype if reduction in ("var", "std") else dtype


def wide_of(dtype):
    """In what numbers of a dtype are summed."""
    return WIDE.get(dtype.name, dtype)


def reduced(reduction, elements, places, min_count, fill_value, correction, dtype):
    """fill_value: in a tuple, as in one for several reductions, it is for counts and positions too."""
    if isinstance(fill_value, tuple):
        (fill_value,) = fill_value
    elif reduction in ("count", "argmax", "argmin", "nunique"):
        fill_value = None
    if reduction == "count":
        return len(elements) if len(elements) or fill_value is None else fill_value
    if reduction == "nunique":
        return distinct(elements) if len(elements) or fill_value is None else fill_value
    if len(elements) < max(min_count, 1):
        if reduction in ("argmax", "argmin"):
            return -1 if fill_value is None else fill_value
        empty = EMPTY.get(reduction, math.nan) if len(elements) >= min_count else math.nan
        return empty if fill_value is None else fill_value
    if reduction == "median" and elements.dtype.kind in "mM":
        return np.quantile(elements, 0.5, method="lower")
    if reduction == "mean" and elements.dtype.kind in "mM":
        if np.isnat(elements).any():
            return math.nan
        first, *ticks = elements.astype("i8").tolist()
        apart = sum(tick - first for tick in ticks)
        mean = first + (apart // len(elements) if apart >= 0 else -(-apart // len(elements)))
        return np.int64(mean).view(elements.dtype.newbyteorder("="))
    if reduction in ("first", "last", "any", "all"):
        return {"first": elements[0], "last": elements[-1], "any": any(elements), "all": all(elements)}[reduction]
    if reduction in ("max", "min", "argmax", "argmin"):
        best = (np.argmax if reduction.endswith("max") else np.argmin)(elements)  # the first one; NaN wins
        return places[best] if reduction.startswith("arg") else elements[best]
    with np.errstate(all="ignore"):
        wide = elements.astype(wide_of(elements.dtype))
        if reduction in ("add", "mul"):
            if dtype.kind in "iu":
                return (np.add if reduction == "add" else np.multiply).reduce(wide.astype(dtype), dtype=dtype)
            wide = wide.astype(dtype if dtype.kind == "b" else np.promote_types(wide.dtype, wide_of(dtype)))
            total = wide[0]
            for element in wide[1:]:
                total = total + element if reduction == "add" else total * element
            return total.astype(dtype)
        wide = wide.astype(np.promote_types(wide.dtype, "f8"))
        if reduction == "median":
            return np.median(wide)
        if reduction == "mean":
            total = np.add.accumulate(wide)[-1:]
            return (total.view(total.real.dtype) / len(wide)).view(total.dtype)[0].astype(dtype)  # part by part
        if reduction == "logsumexp":
            greatest = wide.max()
            return greatest + np.log(np.exp(wide - greatest).sum()) if np.isfinite(greatest) else greatest
        degrees = len(wide) - correction
        variance = (np.abs(wide - wide.mean()) ** 2).sum() / degrees if degrees > 0 else math.nan
        return variance if reduction == "var" else np.sqrt(variance)


def distinct(elements):
    """All NaN are one."""
    counts = elements == elements
    return len(set(elements[counts].tolist())) + (not counts.all())


def segment_quantile(data, ids, n, q, method, axis=0, batch_dims=0, skipna=False, min_count=0, fill_value=None):
    """By NumPy, in float64 where data are floats; equal neighbours give that value."""
    is_float = data.dtype.kind == "f" or method in ("linear", "midpoint")
    wide = data.astype("f8") if is_float else data
    result = np.empty((len(q), *result_shape(data, ids, n, axis, batch_dims)), wide.dtype)
    for position, line, places in segments(wide, ids, n, axis, batch_dims, skipna):
        elements = np.sort(line[places])
        if len(elements) < max(min_count, 1):
            result[:, *position] = math.nan if fill_value is None else fill_value
        else:
            with np.errstate(invalid="ignore"):
                found = np.quantile(elements, q, method=method)
            ranks = np.array(q) * (len(elements) - 1)
            low, high = (elements[way(ranks).astype(int)] for way in (np.floor, np.ceil))
            is_nan = elements[-1] != elements[-1]
            result[:, *position] = np.where((low == high) & (not is_nan), low, found)
    return result.astype(data.dtype) if data.dtype.kind == "f" or not is_float else result


def segment_argsort(data, ids, n, axis=0, batch_dims=0, descending=False):
    """By one sort of tuples."""
    depth, size = ids.ndim - batch_dims, math.prod(ids.shape[batch_dims:])
    flat = data.reshape(*data.shape[:axis], size, *data.shape[axis + depth :])
    result = np.empty(flat.shape, "i8")
    for before in np.ndindex(*data.shape[:axis]):
        own = ids[before[:batch_dims]].reshape(-1)
        own = np.where((own < 0) | (own >= n), n, own)
        for after in np.ndindex(*data.shape[axis + depth :]):
            line = flat[(*before, slice(None), *after)]
            is_nan = line != line
            rank = np.unique(np.where(is_nan, line.dtype.type(0), line), return_inverse=True)[1]
            rank = np.where(is_nan, size, -rank if descending else rank) * (own < n)
            result[(*before, slice(None), *after)] = np.lexsort((rank, own))
    return result
