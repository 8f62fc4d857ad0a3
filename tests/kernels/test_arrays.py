"""Kind ARRAYS: a tuple of index arrays, one for each of several adjacent axes, of any dtypes and strides."""

import itertools
import re

import numpy as np
import pytest
from arrays import gather, scatter
from assertions import assert_same_bits, assert_same_numbers
from constants import GATHER_MODES, REDUCTIONS, SCATTER_MODES, reduces
from gatherscatter import reference
from gatherscatter._kernels import gather as gather_kernel
from gatherscatter._kernels import scatter as scatter_kernel
from gatherscatter._kernels.common import GatherRoute, ScatterRoute
from gatherscatter.backends import kernels
from hypothesis import given
from hypothesis import strategies as st
from pairwise import in_turn
from strategies import (
    DISTINCT_LAYOUTS,
    INDEX_DTYPES,
    LAYOUTS,
    PLAIN_DTYPES,
    REDUCTION_DTYPES,
    REFERENCE_DTYPES,
    SAME_DTYPE_LAYOUTS,
    WRITABLE_LAYOUTS,
    examples,
    index_values,
    lay_out,
    numbers,
    side_of_axis,
    sides,
    values,
)

GATHERS = [name.lower() for name in GatherRoute.__members__]
SCATTERS = [name.lower() for name in ScatterRoute.__members__]


def tuples_of(data, arrays, axis):
    """Indices of scatter_nd, as Python integers, that select the same elements as the arrays."""
    shape = data.shape[:axis] + arrays[0].shape
    full = np.empty((*shape, axis + len(arrays)), object)
    for d in range(axis):
        full[..., d] = np.arange(data.shape[d]).reshape(-1, *(1,) * (len(shape) - d - 1))
    for j, array in enumerate(arrays):
        full[..., axis + j] = array.astype(object)
    return full


@st.composite
def places(draw, mode):
    """(shape of data, arrays, axis), with arrays of one shape: broadcast, and each of its own dtype and layout."""
    axis = draw(st.integers(0, 2))
    shape = draw(sides(draw(st.integers(0, 3))))
    k = draw(st.sampled_from([1, 2, 2, 2, 3, 4, 5]))
    indexed = tuple(draw(side_of_axis(shape, mode)) for _ in range(k))
    alike = draw(st.booleans())
    dtype, layout = draw(st.sampled_from(INDEX_DTYPES)), draw(st.sampled_from(DISTINCT_LAYOUTS))
    arrays = []
    for size in indexed:
        own = shape
        if not alike:
            dtype, layout = draw(st.sampled_from(INDEX_DTYPES)), draw(st.sampled_from(DISTINCT_LAYOUTS))
            if 0 not in shape:
                own = tuple(draw(st.sampled_from([n, 1])) for n in shape)[draw(st.integers(0, len(shape))) :]
        array = lay_out(draw(index_values(own, (size,), dtype, mode)), layout)
        arrays.append(np.broadcast_to(array, shape))
    return draw(sides(axis)) + indexed + draw(sides(draw(st.integers(0, 2)))), tuple(arrays), axis


@st.composite
def gather_calls(draw, dtypes):
    mode = draw(st.sampled_from(GATHER_MODES))
    shape, arrays, axis = draw(places(mode))
    dtype = draw(st.sampled_from(dtypes))
    data = lay_out(values(shape, dtype, draw(st.integers(0, 99))), draw(st.sampled_from(LAYOUTS)))
    return data, arrays, axis, mode


@st.composite
def scatter_calls(draw, dtypes, reductions):
    mode = draw(st.sampled_from(SCATTER_MODES))
    shape, arrays, axis = draw(places(mode))
    dtype, seed = draw(st.sampled_from(dtypes)), draw(st.integers(0, 99))
    fill = numbers if dtype in REDUCTION_DTYPES else values
    data = lay_out(fill(shape, dtype, seed), draw(st.sampled_from(LAYOUTS)))
    elements = shape[:axis] + arrays[0].shape + shape[axis + len(arrays) :]
    updates = lay_out(fill(elements, data.dtype, seed + 100), draw(st.sampled_from(SAME_DTYPE_LAYOUTS)))
    options = {
        "mode": mode,
        "include_self": draw(st.booleans()),
        "reduction": draw(st.sampled_from([name for name in reductions if reduces(name, dtype.name)])),
    }
    return data, arrays, updates, axis, options


def check_gather(call, route, n_threads, out_layout):
    data, arrays, axis, mode = call
    expected = reference.gather_nd(data, tuples_of(data, arrays, axis), mode=mode)
    with kernels.forced(n_threads, gather=route):
        assert_same_bits(gather(data, arrays, axis, mode=mode), expected)
        out = lay_out(np.zeros(expected.shape, expected.dtype), out_layout)
        assert gather(data, arrays, axis, mode=mode, out=out) is out
        assert_same_bits(np.asarray(out), expected)


def check_scatter(call, route, n_threads, out_layout):
    data, arrays, updates, axis, options = call
    expected = reference.scatter_nd(data, tuples_of(data, arrays, axis), updates, **options)
    with kernels.forced(n_threads, scatter=route):
        assert_same_numbers(scatter(data, arrays, updates, axis, **options), expected)
        out = lay_out(np.array(data), out_layout)
        assert scatter(out, arrays, updates, axis, out=out, **options) is out
        assert_same_numbers(np.asarray(out), expected)


each_gather = given(
    gather_calls(PLAIN_DTYPES), st.sampled_from(GATHERS), st.sampled_from([1, 2, 8]), st.sampled_from(WRITABLE_LAYOUTS)
)
each_scatter = given(
    scatter_calls(REDUCTION_DTYPES, REDUCTIONS),
    st.sampled_from(SCATTERS),
    st.sampled_from([1, 2, 8]),
    st.sampled_from(WRITABLE_LAYOUTS),
)


@examples(300)
@each_gather
def test_gathers_are_those_of_the_reference(call, route, n_threads, out_layout):
    check_gather(call, route, n_threads, out_layout)


@examples(300)
@each_scatter
def test_scatters_are_those_of_the_reference(call, route, n_threads, out_layout):
    check_scatter(call, route, n_threads, out_layout)


@pytest.mark.slow
@examples(600)
@each_gather
def test_more_gathers(call, route, n_threads, out_layout):
    check_gather(call, route, n_threads, out_layout)


@pytest.mark.slow
@examples(600)
@each_scatter
def test_more_scatters(call, route, n_threads, out_layout):
    check_scatter(call, route, n_threads, out_layout)


@examples(40)
@given(gather_calls(REFERENCE_DTYPES))
def test_gathers_of_references(call):
    data, arrays, axis, mode = call
    if mode != "fill":  # of 0, which StringDType refuses
        assert_same_bits(
            gather(data, arrays, axis, mode=mode), reference.gather_nd(data, tuples_of(data, arrays, axis), mode=mode)
        )


def test_scatters_of_references():
    data, rng = values((4, 5, 2), np.dtype(object), 0), np.random.default_rng(0)
    a, b = np.broadcast_arrays(rng.integers(0, 4, (6, 1)), np.array([[1, 7, 4]], "u1"))
    updates = values((6, 3, 2), np.dtype(object), 1)
    expected = reference.scatter_nd(data, np.stack([a, b], -1), updates, mode="drop")
    assert scatter(data, (a, b), updates, mode="drop").tolist() == expected.tolist()
    with pytest.raises(IndexError, match=r"indices\[0, 1\] = \(\d, 7\) is out of bounds"):
        scatter(data, (a, b), updates, out=data.copy())


# Layouts that the kernels treat in a way of their own, with more tuples than a block has. SIZES are the axes'.

SIZES = (50, 70, 20)


def indices_of(name, rng):
    """Index arrays, by the name of their layout."""
    n = 700
    y, x, z = (rng.integers(-size, size, n) for size in SIZES)
    pairs = np.stack([y, x], -1)
    runs = pairs.reshape(7, 100, 2)
    misaligned = np.zeros(8 * n + 1, np.uint8)[1:].view(np.int64)
    misaligned[:] = x
    return {
        "one": lambda: (y,),
        "alike": lambda: (y, x),
        "alike, of 4 bytes": lambda: (y.astype("i4"), x.astype("i4")),
        "alike, of 1 byte": lambda: (y.astype("i1"), x.astype("i1")),
        "alike, with a step": lambda: (y[::3], x[::3]),
        "alike, reversed": lambda: (y[::-1], x[::-1]),
        "alike, of rank 3": lambda: (y.reshape(7, 10, 10), x.reshape(7, 10, 10)),
        "alike, transposed": lambda: (y.reshape(7, 100).T, x.reshape(7, 100).T),
        "alike, swapped": lambda: (y.astype(">i8"), x.astype(">i8")),
        "side by side": lambda: (pairs[:, 0], pairs[:, 1]),
        "side by side in one run": lambda: np.broadcast_arrays(runs[:, :, 0], runs[0, :, 1]),
        "overlapping": lambda: (y[:-1], y[1:]),
        "the same": lambda: (y, y),
        "of two dtypes": lambda: (y, x.astype("i2")),
        "of two byte orders": lambda: (y, x.astype(">i8")),
        "of two steps": lambda: (y, x[::-1]),
        "misaligned": lambda: (y, misaligned),
        "unsigned": lambda: (np.abs(y) // 2, (np.abs(x) // 2).astype("u8")),
        "grid": lambda: np.broadcast_arrays(y[:9, None], x[None]),
        "grid of 4 bytes": lambda: np.broadcast_arrays(y[:9, None].astype("i4"), x[None].astype("i4")),
        "grid, by columns": lambda: np.broadcast_arrays(y[None], x[:9, None]),
        "grid, of short rows": lambda: np.broadcast_arrays(y[:, None], x[None, :3]),
        "grid of two dtypes": lambda: np.broadcast_arrays(y[:9, None].astype("u1") % 50, x[None]),
        "constant": lambda: np.broadcast_arrays(y[0], x[0], np.empty(300))[:2],
        "one constant": lambda: np.broadcast_arrays(y[0], x),
        "no axis": lambda: (np.array(y[0]), np.array(x[0])),
        "empty": lambda: (y[:0], x[:0].astype("i4")),
        "three": lambda: (y, x, z),
        "three of three dtypes": lambda: (y, x.astype("i4"), z.astype("i1")),
        "batches": lambda: np.broadcast_arrays(y[:5, None], x[None], z[None]),
        "batches of two dtypes": lambda: np.broadcast_arrays(y[:5, None], x[None].astype("i2"), z[None]),
        "cube": lambda: np.broadcast_arrays(y[:3, None, None], x[:4, None], z),
    }[name]()


NAMES = (
    "one",
    "alike",
    "alike, of 4 bytes",
    "alike, of 1 byte",
    "alike, with a step",
    "alike, reversed",
    "alike, of rank 3",
    "alike, transposed",
    "alike, swapped",
    "side by side",
    "side by side in one run",
    "overlapping",
    "the same",
    "of two dtypes",
    "of two byte orders",
    "of two steps",
    "misaligned",
    "unsigned",
    "grid",
    "grid of 4 bytes",
    "grid, by columns",
    "grid, of short rows",
    "grid of two dtypes",
    "constant",
    "one constant",
    "no axis",
    "empty",
    "three",
    "three of three dtypes",
    "batches",
    "batches of two dtypes",
    "cube",
)
each_layout = pytest.mark.parametrize("name", NAMES)


def check_layout(name, n_threads, gather_route, route, row, axis, reduction):
    rng = np.random.default_rng(NAMES.index(name))
    arrays = tuple(indices_of(name, rng))
    k, where = len(arrays), (slice(None),) * axis
    data = rng.integers(-99, 99, (2, 3)[:axis] + SIZES[:k] + row)
    with kernels.forced(n_threads, gather=gather_route, scatter=route):
        expected = data[(*where, *arrays)]
        assert_same_bits(gather(data, arrays, axis), expected)
        updates = rng.integers(-99, 99, expected.shape)
        expected = data.copy()
        if reduction == "add":
            np.add.at(expected, (*where, *arrays), updates)
        else:
            expected = reference.scatter_nd(data, tuples_of(data, arrays, axis), updates)
        assert_same_bits(scatter(data, arrays, updates, axis, reduction=reduction), expected)
        if arrays[0].size == 0:
            return
        # The first bad index: in a tuple behind the first block, if there is one, and in the last array.
        last = arrays[0].size * 4 // 5
        at = np.unravel_index(last, arrays[0].shape)
        bad = [np.array(array, array.dtype.newbyteorder("=")) for array in arrays]
        bad[-1][at] = SIZES[k - 1]
        for array, start in zip(bad, (0, last + 1, last + 1), strict=False):
            array.reshape(-1)[start + 5 :: 40] = 100 if start else array.flat[0]  # later ones
        shown = tuple(int(array[at]) for array in bad)
        text = f"gather: indices[{', '.join(map(str, at))}]".replace("[]", "") + f" = {shown if k else shown[0]} is out"
        dtypes = [array.dtype for array in arrays]
        laid_out = tuple(array.astype(dtype) for array, dtype in zip(bad, dtypes, strict=True))
        with pytest.raises(IndexError, match=re.escape(text)):
            gather(data, laid_out, axis)
        out = data.copy()
        with pytest.raises(IndexError, match=re.escape(text.replace("gather", "scatter"))):
            scatter(out, laid_out, updates, axis, reduction=reduction, out=out)
        assert_same_bits(out, data)


@each_layout
def test_layouts_of_elements(name):
    check_layout(name, 1, "auto", "auto", (), 0, "add")
    check_layout(name, 2, "runs", "partition", (), 0, "none")


@each_layout
def test_layouts_of_rows(name):
    check_layout(name, 3, "direct", "partition", (3,), 0, "add")
    check_layout(name, 2, "runs", "direct", (2,), 1, "none")
    check_layout(name, 2, "auto", "blocks", (2,), 0, "add")
    check_layout(name, 2, "auto", "private", (2,), 0, "add")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("row", "axis", "reduction"), [((), 0, "none"), ((), 0, "add"), ((), 2, "add"), ((4,), 0, "none"), ((4,), 1, "add")]
)
@each_layout
def test_layouts_with_all_routes(name, reduction, row, axis):
    pairs = itertools.zip_longest(GATHERS, SCATTERS, fillvalue="auto")
    for turn, (gather_route, route) in enumerate(pairs, len(name) + len(reduction) + axis):
        check_layout(name, (1, 2, 3, 8)[turn % 4], gather_route, route, row, axis, reduction)


@in_turn(
    ("name", "row", "asked", "runs"),
    [
        ("alike", (), "auto", "runs"),
        ("alike, of 4 bytes", (), "auto", "runs"),
        ("side by side", (), "auto", "runs"),
        ("side by side in one run", (), "runs", "direct"),
        ("overlapping", (), "auto", "runs"),
        ("grid", (), "auto", "runs"),
        ("grid of 4 bytes", (), "auto", "runs"),
        ("batches", (), "auto", "runs"),
        ("of two dtypes", (), "runs", "direct"),
        ("misaligned", (), "runs", "direct"),
        ("alike, swapped", (), "runs", "direct"),
        ("three", (), "runs", "direct"),
        ("constant", (), "runs", "direct"),
        ("alike", (2,), "auto", "runs"),
        ("alike", (3,), "runs", "direct"),
        ("alike", (), "columns", "runs"),
    ],
)
def test_routes_of_gathers(name, row, asked, runs):
    arrays = tuple(indices_of(name, np.random.default_rng(0)))
    data = np.zeros(SIZES[: len(arrays)] + row, "f4" if len(arrays) < 3 else "f8")
    with kernels.forced(1, gather=asked):
        gather(data, arrays)
    assert gather_kernel.last_route()[0] == GatherRoute[runs.upper()]


@pytest.mark.parametrize("route", SCATTERS[1:])
def test_routes_of_scatters(route):
    arrays = tuple(indices_of("of two dtypes", np.random.default_rng(0)))
    for row in ((), (8,)):
        data = np.zeros(SIZES[:2] + row, "i8")
        with kernels.forced(2, scatter=route):
            found = scatter(data, arrays, np.ones((700, *row), "i8"), reduction="add")
        assert ScatterRoute(scatter_kernel.last_route()[0]).name.lower() == route
        np.add.at(data, arrays, 1)
        assert_same_bits(found, data)


def test_as_many_arrays_as_axes():
    rng = np.random.default_rng(0)
    data = rng.integers(0, 99, [2 if d % 6 == 0 else 1 for d in range(63)])
    arrays = tuple(rng.integers(-n, n, 150).astype("i2" if n == 1 else "i8") for n in data.shape)
    assert len(arrays) == 63
    expected = np.array([data[tuple(int(array[i]) for array in arrays)] for i in range(150)])
    assert_same_bits(gather(data, arrays), expected)
    doubled = tuple(np.broadcast_to(array, (2, 150)) for array in arrays)
    assert_same_bits(gather(data, doubled), np.stack([expected, expected]))


def test_arrays_of_the_highest_rank():
    a = np.arange(3).reshape((1,) * 63 + (3,))
    b = np.broadcast_to(np.array([2, 0, 1], "u1"), a.shape)
    data = np.arange(9.0).reshape(3, 3)
    assert_same_bits(gather(data, (a, b)), data[a, b])
    with pytest.raises(ValueError, match="the result has 65 axes, but at most 64 are possible"):
        gather(data[..., None], (a, b))
