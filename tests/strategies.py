"""Hypothesis strategies: arrays of every dtype, laid out in memory in every awkward way."""

import ml_dtypes
import numpy as np
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
LAYOUTS = ("C", "F", "reversed", "sliced", "broadcast", "unaligned", "swapped", "read-only")


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
        flat = np.frombuffer(rng.bytes(n * dtype.itemsize), dtype)
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


MODES = ("raise", "clip", "wrap", "fill", "promise_in_bounds")


@st.composite
def gather_nd_cases(draw, dtypes):
    """Arguments of gather_nd that follow every rule: (data, indices, options)."""
    b = draw(st.integers(0, 2))
    k = draw(st.integers(0, 3))
    mode = draw(st.sampled_from(MODES))
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
