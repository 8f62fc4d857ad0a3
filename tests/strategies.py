"""Hypothesis strategies: arrays of every dtype, with all kinds of memory layouts."""

import math
import tempfile

import ml_dtypes
import numpy as np
from constants import DTYPES, GATHER_MODES, SCATTER_MODES, reduces
from gatherscatter.reductions import REDUCTIONS, wider_dtypes
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

INDEX_DTYPES = [np.dtype(f"{kind}{width}") for kind in "iu" for width in (1, 2, 4, 8)]

# One of every width and kind that is moved as bytes.
PLAIN_DTYPES = [
    np.dtype(spec)
    for spec in (
        "?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "g", "F", "D", "G",
        "M8[D]", "m8[s]", "U3", "U1", "S3", "S5", "V7", ">f4", ">i8", "V24", "V32", "V64", "V48",
        [("r", "u1"), ("g", "u1"), ("b", "u1")],
        [("x", "<f4"), ("y", "<f4"), ("z", "<f4")],
        [("id", "<i8"), ("name", "S5")],
        ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.int4, ml_dtypes.uint4,
    )
]  # fmt: skip
REFERENCE_DTYPES = [
    np.dtype(object),
    np.dtypes.StringDType(),
    np.dtypes.StringDType(na_object=None),
    np.dtype([("n", "i4"), ("o", object)]),
]
LAYOUTS = ("C", "F", "reversed", "sliced", "broadcast", "unaligned", "swapped", "read-only", "memmap")
DISTINCT_LAYOUTS = tuple(name for name in LAYOUTS if name != "broadcast")  # for indices: as they were drawn
SAME_DTYPE_LAYOUTS = tuple(name for name in LAYOUTS if name != "swapped")  # for updates
WRITABLE_LAYOUTS = ("C", "F", "reversed", "sliced", "unaligned", "memmap")  # for out


def numpy_dtype(name):
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


# What is reduced, in either byte order.
REDUCTION_DTYPES = [*map(numpy_dtype, DTYPES), *map(np.dtype, (">f4", ">i8", ">c16", ">f2", ">u2"))]


def examples(n):
    """Settings for n drawn cases under --hypothesis-profile=thorough, and a quarter of them by default."""
    share = settings.default.max_examples / settings.get_profile("thorough").max_examples
    return settings(max_examples=max(5, round(n * share)), suppress_health_check=list(HealthCheck))


def values(shape, dtype, seed):
    """Deterministic contents, different bits in every element."""
    rng = np.random.default_rng(seed)
    n = int(np.prod(shape))
    if dtype.kind == "O":
        flat = np.empty(n, object)
        flat[:] = [f"item {i}" * (i % 3) if i % 2 else [i] for i in range(n)]
    elif dtype.kind == "T":
        words = ["", "short", "a string that does not fit into the sixteen bytes of its element", "ü✓"]
        flat = np.array([words[i % 4] + (str(i) if i % 4 else "") for i in range(n)], dtype=dtype)
    elif dtype.hasobject:
        flat = np.empty(n, dtype)
        for name in dtype.names:
            flat[name] = values((n,), dtype[name], seed)
    elif dtype.kind == "b":
        flat = rng.integers(0, 2, n).astype(bool)
    elif dtype.kind in "iufc":
        flat = rng.integers(0, 100, n).astype(dtype)
    elif dtype.kind in "US":
        flat = np.array([str(i)[: dtype.itemsize] for i in rng.integers(0, 10**6, n)], dtype="U10").astype(dtype)
    elif dtype.kind == "V" and dtype.names is None and dtype.type is not np.void:
        flat = rng.integers(0, 7, n).astype(dtype)  # an ml_dtypes one
    else:
        flat = np.frombuffer(rng.bytes(n * dtype.itemsize), dtype).copy()
    return flat.reshape(shape)


def lay_out(array, layout):
    """The same values (but for "broadcast", which repeats the first along the first axis) in other memory."""
    if array.ndim == 0:  # NumPy's functions make scalars of it
        return array
    if layout == "F":
        return np.asfortranarray(array)
    if layout == "reversed":
        return np.flip(np.flip(array).copy())
    if layout == "sliced":
        wide = np.zeros([2 * n + 1 for n in array.shape], array.dtype)
        view = wide[tuple(slice(1, None, 2) for _ in array.shape)]
        view[...] = array
        return view
    if layout == "broadcast" and array.ndim and array.shape[0]:
        return np.broadcast_to(array[:1], array.shape)
    if layout == "unaligned" and not array.dtype.hasobject:
        view = np.empty(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
        view[...] = array
        return view
    if layout == "swapped" and array.dtype.byteorder != "|" and array.dtype.kind not in "OTV":
        return array.astype(array.dtype.newbyteorder("S"))
    if layout == "memmap" and array.size and not array.dtype.hasobject:
        with tempfile.TemporaryFile() as file:
            view = np.memmap(file, array.dtype, "w+", shape=array.shape)
        view[...] = array
        return view
    if layout == "read-only":
        array = array.copy()
        array.flags.writeable = False
    return array


@st.composite
def index_values(draw, shape, sizes, dtype, mode):
    """Indices for axes of `sizes` (along the last axis of shape): within bounds, at them, and beyond them."""
    info = np.iinfo(dtype)
    n = int(np.prod(shape))
    beyond = mode not in ("raise", "promise_in_bounds")
    flat = []
    for i in range(n):
        size = sizes[i % len(sizes)]
        low, high = (-2 * size - 3, 2 * size + 3) if beyond else (-size, size - 1)
        flat.append(draw(st.integers(max(low, info.min), min(high, info.max))))
    if beyond and flat and draw(st.booleans()):  # the ends of the dtype
        flat[draw(st.integers(0, n - 1))] = draw(st.sampled_from([info.min, info.max]))
    return np.array(flat, dtype).reshape(shape)


def numbers(shape, dtype, seed):
    """Deterministic numbers that show the order of sums, overflow, and (by seed: no, few, many) specials.

    Floats lie orders of magnitude apart, so that each order of summation rounds to another sum.
    """
    rng = np.random.default_rng(seed)
    n = math.prod(shape)
    if dtype.kind == "b":
        flat = rng.integers(0, 2, n).astype(bool)
    elif dtype.kind in "iu":
        info = np.iinfo(dtype)
        flat = rng.integers(info.min, info.max, n, dtype=dtype.newbyteorder("="), endpoint=True)
        small = rng.random(n) < 0.5
        flat[small] = rng.integers(-3 if info.min else 0, 4, n)[small]
        ends = rng.random(n) < (0, 0.05, 0.3)[seed % 3]
        flat[ends] = rng.choice(np.array([info.min, info.max], flat.dtype), n)[ends]
    elif dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        flat = numbers((2 * n,), part, seed).view(f"c{dtype.itemsize}")
    else:
        flat = rng.standard_normal(n) * 10.0 ** rng.integers(-2, 4, n)
        special = rng.random(n) < (0, 0.03, 0.2)[seed % 3]
        flat[special] = rng.choice([0.0, -0.0, 0.0, -0.0, np.nan, np.inf, -np.inf, 6e4, 1e-7, 3e38], n)[special]
    with np.errstate(all="ignore"):
        return flat.astype(dtype).reshape(shape)


@st.composite
def gather_nd_cases(draw, dtypes):
    """Arguments of gather_nd that follow every rule: (data, indices, options)."""
    b = draw(st.integers(0, 2))
    k = draw(st.integers(0, 3))
    mode = draw(st.sampled_from(GATHER_MODES))
    index_dtype = draw(st.sampled_from(INDEX_DTYPES))
    sides = st.integers(0, 4)
    batch = tuple(draw(sides) for _ in range(b))
    tuples = tuple(draw(sides) for _ in range(draw(st.integers(0, 2))))
    row = tuple(draw(sides) for _ in range(draw(st.integers(0, 2))))
    # An empty axis has no index that is not out of bounds, unless the mode fills.
    lowest = 0 if mode == "fill" or 0 in batch + tuples else 1
    indexed = tuple(draw(st.integers(lowest, 5)) for _ in range(k))
    data = values(batch + indexed + row, draw(st.sampled_from(dtypes)), draw(st.integers(0, 99)))
    indices = draw(index_values((*batch, *tuples, k), indexed or (1,), index_dtype, mode))
    data = lay_out(data, draw(st.sampled_from(LAYOUTS)))
    indices = lay_out(indices, draw(st.sampled_from([name for name in LAYOUTS if name != "broadcast"])))
    return data, indices, {"batch_dims": b, "mode": mode}


SCALARS = {
    "b": [True, False],
    "i": [0, 1, -3, 127],
    "u": [0, 1, 255],
    "f": [1.5, -0.0, float("nan"), float("-inf"), 3],
    "V": [1.5, -0.0, float("nan"), float("-inf"), 3],
    "c": [1 - 2j, 1.5, complex("nan"), -1],
}


@st.composite
def sides(draw, n):
    """Sizes of n axes, few of them empty: an array with an empty axis shows little."""
    low = draw(st.sampled_from([1, 1, 1, 1, 1, 0]))
    return tuple(draw(st.lists(st.integers(low, 4), min_size=n, max_size=n)))


@st.composite
def side_of_axis(draw, indices, mode):
    """The size of an indexed axis; an empty one has no index to give unless the mode fills or drops."""
    return draw(st.integers(0 if mode in ("fill", "drop") or 0 in indices else 1, 5))


@st.composite
def gather_shapes(draw, mode):
    """(data, indices, axis, batch_dims); the axis counts from either end."""
    axis = draw(st.integers(0, 2))
    b = draw(st.integers(0, axis))
    lead = draw(sides(axis))
    trail = draw(sides(draw(st.integers(0, 2))))
    indices = lead[:b] + draw(sides(draw(st.integers(0, 2))))
    data = (*lead, draw(side_of_axis(indices, mode)), *trail)
    return data, indices, axis - draw(st.sampled_from([0, len(data)])), b


@st.composite
def gather_elements_shapes(draw, mode):
    """(data, indices, axis): off the axis, indices may be the smaller one."""
    axis = draw(st.integers(0, 2))
    indices = list(draw(sides(axis + 1 + draw(st.integers(0, 2 - axis)))))
    more = draw(st.sampled_from([0, 0, 1, 3]))
    data = [n + draw(st.integers(0, more)) for n in indices]
    data[axis] = draw(side_of_axis(tuple(indices), mode))
    return tuple(data), tuple(indices), axis - draw(st.sampled_from([0, len(data)]))


@st.composite
def gather_nd_shapes(draw, mode):
    """(data, indices, batch_dims)."""
    b = draw(st.integers(0, 2))
    tuples = draw(sides(b + draw(st.integers(0, 2))))
    k = draw(st.integers(0, 3))
    indexed = tuple(draw(side_of_axis(tuples, mode)) for _ in range(k))
    return tuples[:b] + indexed + draw(sides(draw(st.integers(0, 2)))), (*tuples, k), b


@st.composite
def calls(draw, function, dtypes, modes):
    """(data, indices, options) for the gather or scatter of that name, and the shape of what is read or written."""
    mode = draw(st.sampled_from(modes))
    index_dtype = draw(st.sampled_from(INDEX_DTYPES))
    options = {"mode": mode}
    if mode not in ("raise", "promise_in_bounds") and draw(st.integers(0, 3)) == 0:
        options["wrap_negative_indices"] = False
    if function.endswith("_nd"):
        data, indices, options["batch_dims"] = draw(gather_nd_shapes(mode))
        b, k = options["batch_dims"], indices[-1]
        indexed, elements = data[b : b + k] or (1,), indices[:-1] + data[b + k :]
    elif function.endswith("_elements"):
        data, indices, options["axis"] = draw(gather_elements_shapes(mode))
        indexed, elements = (data[options["axis"]],), indices
    else:
        data, indices, options["axis"], options["batch_dims"] = draw(gather_shapes(mode))
        axis, b = options["axis"] % len(data), options["batch_dims"]
        indexed, elements = (data[axis],), data[:axis] + indices[b:] + data[axis + 1 :]
    dtype = draw(st.sampled_from(dtypes))
    places = draw(index_values(indices, indexed, index_dtype, mode))
    places = lay_out(places, draw(st.sampled_from(DISTINCT_LAYOUTS)))
    return (data, dtype), places, options, elements


@st.composite
def gather_calls(draw, function, dtypes):
    """Arguments of a gather that follow every rule: (data, indices, options)."""
    (shape, dtype), indices, options, _ = draw(calls(function, dtypes, GATHER_MODES))
    data = lay_out(values(shape, dtype, draw(st.integers(0, 99))), draw(st.sampled_from(LAYOUTS)))
    return data, indices, options


@st.composite
def scatter_calls(draw, function, dtypes, reductions=("none",), *, scalars=False):
    """Arguments of a scatter that follow every rule: (data, indices, updates, options)."""
    (shape, dtype), indices, options, elements = draw(calls(function, dtypes, SCATTER_MODES))
    fill = numbers if dtype in REDUCTION_DTYPES else values
    seed = draw(st.integers(0, 99))
    data = lay_out(fill(shape, dtype, seed), draw(st.sampled_from(LAYOUTS)))
    options["reduction"] = draw(st.sampled_from([name for name in reductions if reduces(name, dtype.name)]))
    options["include_self"] = draw(st.booleans())
    wider = wider_dtypes(dtype.name) if REDUCTIONS[options["reduction"]].rounds else ()
    if wider and draw(st.integers(0, 3)) == 0:
        options["accumulate_dtype"] = draw(st.sampled_from(wider))
    if scalars and draw(st.integers(0, 5)) == 0:
        updates = draw(st.sampled_from(SCALARS[dtype.kind]))
    else:
        updates = lay_out(fill(elements, data.dtype, seed + 100), draw(st.sampled_from(SAME_DTYPE_LAYOUTS)))
    return data, indices, updates, options
