"""Random indices of NumPy's grammar, and a scatter by such an index as a loop."""

import numpy as np
from hypothesis import strategies as st

INDEX_DTYPES = ("i1", "i2", "i4", "i8", ">i4")


@st.composite
def shapes(draw):
    return tuple(draw(st.lists(st.sampled_from((0, 1, 2, 3, 4, 5, 2, 3)), max_size=4)))


@st.composite
def indices(draw, shape):
    """An index of an array of that shape; most are right, and all index arrays broadcast in most."""
    common = draw(st.sampled_from([(3,), (2, 3), (1,), (), (0,), (2, 1)]))
    items, axis, seen = [], 0, False
    for _ in range(draw(st.integers(0, len(shape) + 2))):
        left = len(shape) - axis
        kinds = ["none", "bool"] + ["..."] * (not seen)
        if left:
            kinds += ["slice", "slice", "array", "array", "list", "mask"] + ["int"] * bool(shape[axis])
        kind = draw(st.sampled_from(kinds))
        if kind == "none":
            items.append(None)
        elif kind == "bool":
            items.append(draw(st.sampled_from([True, False, np.True_, np.array(True)])))
        elif kind == "...":
            items.append(...)
            seen, axis = True, axis + draw(st.integers(0, left))
        elif kind == "slice":
            bound = st.none() | st.integers(-6, 6)
            items.append(slice(draw(bound), draw(bound), draw(st.sampled_from([None, 1, 2, -1, -2, -3]))))
            axis += 1
        elif kind == "mask":
            n = draw(st.integers(1, min(left, 3)))
            items.append(draw(arrays(st.booleans(), shape[axis : axis + n], bool)))
            axis += n
        else:
            size = shape[axis]
            own = () if kind == "int" else common[draw(st.integers(0, len(common))) :]
            own = tuple(1 if draw(st.booleans()) else n for n in own) if size else (0,)
            dtype = draw(st.sampled_from(INDEX_DTYPES))
            found = draw(arrays(st.integers(-size, max(size - 1, -size)), own, dtype))
            items.append(int(found) if kind == "int" else found.tolist() if kind == "list" else found)
            axis += 1
    if len(items) == 1 and draw(st.booleans()):
        return items[0]
    return tuple(items)


@st.composite
def arrays(draw, elements, shape, dtype):
    n = int(np.prod(shape, dtype=int))
    return np.array(draw(st.lists(elements, min_size=n, max_size=n)), dtype).reshape(shape)


def laid_out(array, how):
    """The same elements with other strides."""
    if how == "transposed":
        return np.ascontiguousarray(array.T).T
    if how == "strided" and array.ndim:
        return np.repeat(array, 2, axis=-1)[..., ::2]
    if how == "reversed" and array.ndim:
        return np.ascontiguousarray(array[::-1])[::-1]
    return array


STEPS = {
    "set": lambda there, update: update,
    "add": lambda there, update: there + update,
    "subtract": lambda there, update: there - update,
    "multiply": lambda there, update: there * update,
    "min": min,
    "max": max,
}


def loop(x, index, updates, method, include_self=True):
    """What a method returns, by the loop over the indexed shape in row-major order."""
    places = np.arange(x.size).reshape(x.shape)[index]
    updates = np.broadcast_to(updates, np.shape(places))
    flat = x.flatten()
    started, counts = np.zeros(x.size, bool), np.zeros(x.size, int)
    step = STEPS.get(method, STEPS["add"])
    with np.errstate(all="ignore"):
        for t in np.ndindex(np.shape(places)):
            place, update = places[t], updates[t]
            if not (include_self or started[place]):
                flat[place] = -update if method == "subtract" else update
            else:
                flat[place] = step(flat[place], update)
            started[place] = True
            counts[place] += 1
        if method == "mean":
            counts += include_self
            found = flat[started]
            flat[started] = found // counts[started] if x.dtype.kind in "iu" else found / counts[started]
    return flat.astype(x.dtype).reshape(x.shape)
