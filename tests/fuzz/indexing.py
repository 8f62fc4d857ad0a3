"""Draws calls of `at`: an index of slices, None, `...`, integers, masks and arrays of any dtypes and strides."""

import math

import numpy as np
from constants import GATHER_MODES, SCATTER_MODES
from gatherscatter import reference
from gatherscatter.reductions import REDUCTIONS

from fuzz.elements import INDEX, Type
from fuzz.memory import View

METHODS = {"none": "set", "add": "add", "mul": "multiply", "max": "max", "min": "min", "mean": "mean"}
INT64 = next(type for type in INDEX if type.dtype == np.int64)
BOOL = Type("'?'", random=False)
SIDES = (0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4, 5, 7)
COMMON = ((3,), (3,), (2, 3), (4,), (1,), (2, 1), (), (0,), (2, 2, 2))
MOST = 2000  # elements of x
MOST_PLACES = 400
MOST_OUTSIDE = 8  # axes with indices out of bounds: `places` adds a place to each


def draw_shapes(call, random):
    """The shapes of x and of x[index], and the items of the index: an argument's name, or what it is itself."""
    call.mode = random.choice(("raise", "raise", *(SCATTER_MODES if call.scatters else GATHER_MODES)))
    call.wraps = random.random() < 0.75
    while True:
        _draw_index(call, random)
        if math.prod(call.data) <= MOST and _fits(call):
            return


def _fits(call):
    try:
        found = places(call, call.values, inside=True)
    except IndexError:  # arrays that do not broadcast to one shape
        return False
    call.elements = found.shape
    most = 64 if call.values else 63  # see test_slices_of_64_dimensions
    return found.size <= MOST_PLACES and found.ndim <= most


def _draw_index(call, random):
    many = random.random() < 0.04
    if many:
        shape = [random.choice((1, 1, 1, 1, 1, 1, 2)) for _ in range(random.randrange(6, 65))]
        kinds, weights = ("array", "int", "slice"), (8, 1, 1)
    else:
        shape = [random.choice(SIDES) for _ in range(random.choice((0, 1, 1, 2, 2, 2, 3, 3, 4)))]
        if shape and random.random() < 0.1:
            shape[random.randrange(len(shape))] = random.randrange(1, 300)
        kinds, weights = ("array", "int", "slice", "mask", "..."), (9, 1, 4, 2, 1)
    common = random.choice(COMMON)
    call.columns = ()
    has_blocks = random.random() < 0.1  # more than a block of positions; most are drawn again, as they do not fit
    if has_blocks:
        common = random.choice(((300,), (2, 150), (3, 130)))
    call.data, call.items, call.values, call.types = tuple(shape), [], {}, {}
    axis, n_outside = 0, 0
    while axis < len(shape):
        left = len(shape) - axis
        if not many and random.random() < 0.1:
            call.items.append(None)
        (kind,) = random.choices(kinds, weights)
        size = shape[axis]
        if kind == "slice":
            call.items.append(_slice(random, size))
        elif kind == "int" and size:
            call.items.append(random.randrange(-size if call.wraps else 0, size))
        elif kind == "mask":
            depth = random.randint(1, min(left, 3))
            density = random.choice((0, 0.1, 0.5, 1))
            n = math.prod(shape[axis : axis + depth])
            mask = np.array([random.random() < density for _ in range(n)], bool)
            _add(call, mask.reshape(shape[axis : axis + depth]), BOOL)
            axis += depth - 1
        elif kind == "..." and ... not in call.items:
            call.items.append(...)
            axis += random.randrange(left + 1) - 1
        elif kind in ("array", "int"):
            ones = 0.05 if has_blocks else 0.25
            own = tuple(1 if random.random() < ones else n for n in common[random.randrange(len(common) + 1) :])
            if size == 0 and call.mode in ("raise", "clip", "wrap", "promise_in_bounds") and random.random() < 0.9:
                own = (0,)
            names = [name for name, type in call.types.items() if type is not BOOL]
            if names and random.random() < 0.15:  # one array for several axes
                call.items.append(random.choice(names))
            else:
                type = random.choice(INDEX)
                wide = random.random() < 0.5 and n_outside < MOST_OUTSIDE
                n_outside += wide
                _add(call, _indices(call, random, type.dtype, own, size, wide), type)
        else:
            call.items.append(slice(None))
        axis += 1
        if random.random() < 0.1 and ... not in call.items:
            break
    if random.random() < (0.5 if has_blocks else 0.05):
        _draw_columns(call, random)


def _draw_columns(call, random):
    """Let two of the index arrays be the columns of one array of pairs."""
    names = [name for name, type in call.types.items() if type is not BOOL and np.can_cast(type.dtype, np.int64)]
    if len(names) < 2:
        return
    call.columns = tuple(random.sample(names, 2))
    for name in call.columns:
        call.types[name], call.values[name] = INT64, call.values[name].astype(np.int64)


def column(block, shape, number):
    """A column of a block's contiguous array of pairs, and how many bytes of the block it needs."""
    pairs = np.empty((*shape, 2), np.int64)
    return View(block, INT64, shape, number * pairs.itemsize, pairs.strides[:-1]), max(pairs.nbytes, 2 * pairs.itemsize)


def _add(call, values, type):
    name = f"i{len(call.values)}"
    call.values[name], call.types[name] = values, type
    call.items.append(name)


def _slice(random, size):
    if random.random() < 0.4:
        return slice(None)
    bounds = [random.choice((None, *range(-size - 2, size + 3))) for _ in range(2)]
    return slice(*bounds, random.choice((None, 1, 2, 3, -1, -2, -3)))


def _indices(call, random, dtype, shape, size, wide):
    info = np.iinfo(dtype)
    low, high = (-size if call.wraps else 0), size - 1
    outside = wide and (call.mode not in ("raise", "promise_in_bounds") or random.random() < 0.03)
    if outside:
        low, high = random.choice(((low - 1, high + 1), (-3 * size - 2, 3 * size + 2), (int(info.min), int(info.max))))
    low, high = max(low, int(info.min)), min(high, int(info.max))
    found = [random.randint(low, max(high, low)) for _ in range(math.prod(shape))]
    return np.array(found, dtype).reshape(shape)


# The places that an index names


def index_of(call, given):
    """The index. given: the arrays by name."""
    items = tuple(given[item] if isinstance(item, str) else item for item in call.items)
    return items[0] if len(items) == 1 and call.is_bare else items


def places(call, given, inside=False):
    """The row-major number in x of each position of x[index], by NumPy's indexing; x's size for those skipped.

    inside: take every index for one in bounds.
    """
    n_axes = sum(_depth(call, item) for item in call.items)
    is_empty = _has_no_positions(call, given)
    items, axis, padded = [], 0, list(call.data)
    for item in call.items:
        size = call.data[axis] if axis < len(call.data) else 0
        if isinstance(item, str) and call.types[item] is not BOOL:
            array = np.asarray(given[item])
            item, is_padded = _resolved(call, array, size, inside or (is_empty and array.ndim > 0))
            padded[axis] += is_padded
            axis += 1
        elif isinstance(item, str):
            axis += given[item].ndim
            item = np.asarray(given[item])
        elif item is Ellipsis:
            axis += len(call.data) - n_axes
        elif item is not None:
            axis += 1
            if isinstance(item, slice):
                item = slice(*item.indices(size)) if item.step is None or item.step > 0 else _backward(item, size)
        items.append(item)
    numbers = np.full(padded, math.prod(call.data))
    numbers[tuple(slice(n) for n in call.data)] = np.arange(math.prod(call.data)).reshape(call.data)
    return np.asarray(numbers[tuple(items)])


def _has_no_positions(call, given):
    """Whether the index arrays broadcast to a shape without positions: then no index is read."""
    arrays = [(np.asarray(given[item]), call.types[item]) for item in call.items if isinstance(item, str)]
    sizes = [0 if type is BOOL and not array.any() else array.size for array, type in arrays]
    return 0 in sizes


def _depth(call, item):
    if item is None or item is Ellipsis:
        return 0
    return call.values[item].ndim if isinstance(item, str) and call.types[item] is BOOL else 1


def _backward(item, size):
    """A slice of negative step that means the same on a longer axis."""
    start, stop, step = item.indices(size)
    return slice(0, 0) if start < 0 else slice(start, None if stop < 0 else stop, step)


def _resolved(call, array, size, inside):
    """Indices in bounds, or past the end for those that are skipped; and whether there are such."""
    found = [int(i) + size if i < 0 and call.wraps else int(i) for i in array.reshape(-1)]
    if inside:
        found = [0] * len(found)
    if call.mode in ("clip", "wrap") and size:
        found = [i % size if call.mode == "wrap" else min(max(i, 0), size - 1) for i in found]
    outside = [not 0 <= i < size for i in found]
    skips = call.mode in ("fill", "drop") or inside
    if any(outside) and not skips:
        raise IndexError("out of bounds")
    found = [size if out else i for i, out in zip(found, outside, strict=True)]
    return np.array(found, np.int64).reshape(array.shape), any(outside)


# The call


def draw_method(call, random):
    """After the options of a gather or a scatter: the method, and its own options."""
    call.is_bare = random.random() < 0.5
    call.options.pop("axis", None)
    call.options.pop("batch_dims", None)
    call.options.pop("mode", None)
    call.options.pop("wrap_negative_indices", None)
    if call.mode != "raise":
        call.options["mode"] = call.mode
    if not call.wraps:
        call.options["wrap_negative_indices"] = False
    if not call.scatters:
        call.method = "get"
        return
    call.method = METHODS[call.options.pop("reduction", "none")]
    dtype = call.type.dtype
    if call.method == "add" and dtype.kind in "iufc" and dtype.isnative and random.random() < 0.3:
        call.method = "subtract"


def updates_shape(call, random):
    """A shape that broadcasts to x[index]'s."""
    shape = list(call.elements)
    if random.random() < 0.6 or not shape:
        return tuple(shape)
    shape = [1 if random.random() < 0.3 else n for n in shape]
    return tuple(shape[random.randrange(len(shape)) :])


def run(function, call, given, options):
    """The call. function: `gatherscatter.at`."""
    named = function(given["data"])[index_of(call, given)]
    values = [given["updates"]] if call.scatters else []
    return getattr(named, call.method)(*values, **options)


def source(call):
    shown = [item if isinstance(item, str) else "..." if item is Ellipsis else repr(item) for item in call.items]
    index = shown[0] if len(shown) == 1 and call.is_bare else f"({''.join(f'{one}, ' for one in shown)})"
    given = ["updates"] if call.scatters else []
    given += [f"{name}={value!r}" for name, value in call.options.items()]
    given += ["out=out"] if "out" in call.arguments else []
    return f"gs.at(data)[{index}].{call.method}({', '.join(given)})"


def by_loop(call, given, updates):
    """The result, by the loop of the reference over the places in x as an array of one axis."""
    data = given["data"]
    found = places(call, given)
    tuples = found.reshape(-1, 1)  # it may have 64 axes already
    flat = np.array(data, order="C").reshape(-1)
    if not call.scatters:
        gathered = reference.gather_nd(flat, tuples, mode="fill", fill_value=call.options.get("fill_value", 0))
        return gathered.reshape(found.shape)
    options = {name: call.options[name] for name in ("include_self", "accumulate_dtype") if name in call.options}
    if "include_self" in options:
        options["include_self"] = bool(options["include_self"])
    reduction = next((name for name, method in METHODS.items() if method == call.method), "add")
    assert reduction in REDUCTIONS
    updates = np.broadcast_to(updates, call.elements).reshape(-1)
    if call.method == "subtract":
        updates = np.negative(updates)
    return reference.scatter_nd(flat, tuples, updates, mode="drop", reduction=reduction, **options).reshape(data.shape)
