"""What a segment's elements are reduced to, one segment after the other: the reference of the tests."""

import math

import numpy as np

EMPTY = {"add": 0, "mul": 1, "any": False, "all": True, "count": 0, "argmax": -1, "argmin": -1, "logsumexp": -math.inf}
WIDE = {"float16": "f4", "float32": "f8", "complex64": "c16"}


def segment_reduce(
    data, ids, n, reduction, axis=0, batch_dims=0, skipna=False, min_count=0, fill_value=None, correction=0
):
    depth = ids.ndim - batch_dims
    outer, inner = data.shape[:axis], data.shape[axis + depth :]
    flat = data.reshape(*outer, math.prod(ids.shape[batch_dims:]), *inner)
    result = np.empty((*outer, n, *inner), result_dtype(reduction, data.dtype))
    for before in np.ndindex(*outer):
        own = ids[before[:batch_dims]].reshape(-1)
        for after in np.ndindex(*inner):
            line = flat[(*before, slice(None), *after)]
            for segment in range(n):
                places = np.flatnonzero(own == segment)
                if skipna:
                    places = places[line[places] == line[places]]
                options = reduction, line[places], places, min_count, fill_value, correction, result.dtype
                result[(*before, segment, *after)] = reduced(*options)
    return result


def result_dtype(reduction, dtype):
    if reduction in ("any", "all"):
        return np.dtype(bool)
    if reduction in ("count", "argmax", "argmin"):
        return np.dtype("i8")
    if reduction in ("add", "mul"):
        return {"b": np.dtype("i8"), "i": np.dtype("i8"), "u": np.dtype("u8")}.get(dtype.kind, dtype)
    if reduction in ("mean", "var", "std", "logsumexp"):
        dtype = np.dtype("f8") if dtype.kind in "biu" else dtype
    return np.zeros(0, dtype).real.dtype if reduction in ("var", "std") else dtype


def reduced(reduction, elements, places, min_count, fill_value, correction, dtype):
    if reduction == "count":
        return len(elements)
    if len(elements) < max(min_count, 1):
        if reduction in ("argmax", "argmin"):
            return -1
        empty = EMPTY.get(reduction, math.nan) if len(elements) >= min_count else math.nan
        return empty if fill_value is None else fill_value
    if reduction in ("first", "last", "any", "all"):
        return {"first": elements[0], "last": elements[-1], "any": any(elements), "all": all(elements)}[reduction]
    if reduction in ("max", "min", "argmax", "argmin"):
        best = (np.argmax if reduction.endswith("max") else np.argmin)(elements)  # the first one; NaN wins
        return places[best] if reduction.startswith("arg") else elements[best]
    with np.errstate(all="ignore"):
        wide = elements.astype(WIDE.get(elements.dtype.name, elements.dtype))
        if reduction in ("add", "mul"):
            total = wide.astype(WIDE.get(dtype.name, dtype))[0]
            for element in wide[1:].astype(total.dtype):
                total = total + element if reduction == "add" else total * element
            return total.astype(dtype)
        wide = wide.astype("f8") if wide.dtype.kind in "biu" else wide
        if reduction == "mean":
            return (np.add.accumulate(wide)[-1] / len(wide)).astype(dtype)
        if reduction == "logsumexp":
            return np.logaddexp.reduce(wide)
        degrees = len(wide) - correction
        variance = (np.abs(wide - wide.mean()) ** 2).sum() / degrees if degrees > 0 else math.nan
        return variance if reduction == "var" else np.sqrt(variance)
