"""Scans of segments, one element after the other: the reference of the tests."""

import math

import loop
import numpy as np

STEPS = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum, "count": np.add}


def segment_scan(
    data, ids, n, reduction="add", *, exclusive=False, reverse=False, axis=0, batch_dims=0, skipna=False, dtype=None
):
    size, depth = math.prod(ids.shape[batch_dims:]), ids.ndim - batch_dims
    outer, inner = data.shape[:axis], data.shape[axis + depth :]
    flat = data.reshape(*outer, size, *inner)
    result = np.empty(flat.shape, loop.result_dtype(reduction, data.dtype, dtype))
    none = nothing(reduction, exclusive, result.dtype)
    for before in np.ndindex(*outer):
        own = ids[before[:batch_dims]].reshape(-1)
        for after in np.ndindex(*inner):
            states = {}
            for place in range(size)[:: -1 if reverse else 1]:
                position = (*before, place, *after)
                element = flat[position]
                is_nan = skipna and element != element
                if not 0 <= own[place] < n:
                    result[position] = none
                    continue
                state = states.get(own[place])
                new = state if is_nan else following(reduction, state, element, result.dtype)
                states[own[place]] = new
                shown = state if exclusive else new
                if is_nan and reduction != "count":
                    shown = none
                elif shown is None:
                    shown = identity(reduction, result.dtype)
                with np.errstate(all="ignore"):
                    result[position] = rounded(shown, result.dtype)
    return result.reshape(data.shape)


def rounded(shown, dtype):
    return np.asarray(shown).astype(dtype) if dtype.kind not in "mM" else shown


def following(reduction, state, element, dtype):
    if reduction == "count":
        return (state or 0) + 1
    if dtype.kind in "biu" or element.dtype.kind in "mM":
        element = np.asarray(element).astype(dtype)[()]
    else:
        element = np.asarray(element).astype(np.promote_types(loop.wide_of(element.dtype), loop.wide_of(dtype)))[()]
    if state is None:
        return element
    if reduction in ("max", "min") and element.dtype.kind in "fmM":  # of equals, the first stays; so does NaN
        wins = element > state if reduction == "max" else element < state
        return element if (wins or element != element) and state == state else state
    with np.errstate(all="ignore"):
        return STEPS[reduction](state, element)


def identity(reduction, dtype):
    if reduction in ("add", "mul", "count"):
        return reduction == "mul"
    if dtype.kind == "b":
        return reduction == "min"
    limits = (-np.inf, np.inf) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return limits[reduction == "min"]


def nothing(reduction, exclusive, dtype):
    """What an element of no segment has."""
    if reduction == "count":
        return -1 if exclusive else 0
    return np.array("NaT", dtype) if dtype.kind in "mM" else math.nan if dtype.kind in "fc" else 0
