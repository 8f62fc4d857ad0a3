"""Each reduction, dtype and accumulate_dtype, shape, route, team and kind of result, beside a loop of NumPy.

A selection by default, a larger one with the slow tests: what the loop makes of some operands is compared with what
each route does. The loop takes the first update of every row at once, then every second one, and so on.
"""

import itertools
import os
import subprocess
import sys

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_numbers
from constants import REDUCTIONS, reduces
from gatherscatter import reference
from gatherscatter._kernels import uses_avx2
from gatherscatter.backends import kernels
from gatherscatter.reductions import REDUCTIONS as RECORDS
from gatherscatter.reductions import wider_dtypes
from routes import ROUTES, routes_for
from scatters import step
from strategies import numbers, numpy_dtype

DTYPES = ["float32", "float64", "float16", "bfloat16", "int8", "int32", "int64", "uint16", "bool"]
DTYPES += ["complex64", "complex128"]
TEAMS = (1, 2, 3, 64)
# What is drawn, and the kinds of results that there are of it.
FORMS = {"plain": ("new", "out", "in place", "strided", "swapped"), "drop": ("drop",), "repeated": ("repeated",)}
ORDERS = ("any", "sorted", "crowded")

# Name: the function, shapes of data and indices, and the axis; updates have rows of the rest of data's shape.
SHAPES = {
    "elements": ("scatter", (300,), (900,), 0),
    "few elements": ("scatter", (2000,), (60,), 0),
    "few destinations": ("scatter", (5,), (300,), 0),
    "pairs": ("scatter_nd", (20, 30), (700, 2), 0),
    "points of 2": ("scatter", (150, 2), (400,), 0),
    "points of 3": ("scatter", (150, 3), (400,), 0),
    "few points": ("scatter", (900, 3), (40,), 0),
    "rows": ("scatter", (60, 16), (200,), 0),
    "rows of 37": ("scatter", (40, 37), (150,), 0),
    "few rows": ("scatter", (400, 16), (20,), 0),
    "rows of batches": ("scatter", (3, 20, 5), (70,), 1),
    "long rows": ("scatter", (5, 1030), (15,), 0),
    "elements along axis 0": ("scatter_elements", (30, 25), (50, 25), 0),
    "elements along axis 1": ("scatter_elements", (12, 40), (12, 90), 1),
    "some elements along axis 1": ("scatter_elements", (12, 40), (9, 90), 1),
}


def divided(sums, counts):
    if sums.dtype.kind in "iu":
        wide = np.dtype(f"{sums.dtype.kind}8")
        return (sums.astype(wide) // counts.astype(wide)).astype(sums.dtype)
    if sums.dtype.kind == "c":
        part = sums.real.dtype
        return (sums.view(part) / np.repeat(counts, 2, axis=-1).astype(part)).view(sums.dtype)
    if sums.dtype.itemsize >= 4:
        return sums / counts.astype(sums.dtype)
    return reference.narrow(sums.astype(np.float64) / counts, sums.dtype)


def loop(data, rows, updates, reduction, include_self, wide=None):
    """data (rows, items) after the updates (n, items) of these rows, -1 for none, in their order."""
    keep = rows >= 0
    rows, updates = rows[keep], updates[keep]
    result, updates = (array.astype(wide or data.dtype) for array in (data, updates))
    order = np.argsort(rows, kind="stable")
    starts = np.flatnonzero(np.diff(rows[order], prepend=-1))
    lengths = np.diff(starts, append=len(rows))
    with np.errstate(all="ignore"):
        for turn in range(lengths.max(initial=0)):
            at = order[starts[lengths > turn] + turn]
            row = rows[at]
            replaces = reduction == "none" or (turn == 0 and not include_self)
            result[row] = updates[at] if replaces else step(reduction, result[row], updates[at])
        named = rows[order][starts]
        if reduction == "mean":
            counts = np.repeat((lengths + include_self)[:, None], data.shape[1], axis=1)
            result[named] = divided(np.ascontiguousarray(result[named]), counts)
        found = data.copy()
        found[named] = reference.narrow(result[named], data.dtype)
    return found


def draw_indices(rng, shape, size, order):
    indices = rng.integers(0, size, shape)
    if order == "sorted":
        indices = np.sort(indices, axis=None).reshape(shape)
    elif order == "crowded":
        indices = np.where(rng.random(shape) < 0.8, size // 2, indices)
    return np.where(rng.random(shape) < 0.2, indices - size, indices)


def rows_of(function, data_shape, indices, axis):
    """The row of each update, -1 if it is out of bounds, of the shape of the updates without the rest of a row."""
    sizes = data_shape[axis : axis + 2] if function == "scatter_nd" else (data_shape[axis],)
    tuples = indices if function == "scatter_nd" else indices[..., None]
    inside = np.all((tuples >= -np.array(sizes)) & (tuples < np.array(sizes)), axis=-1)
    flat = np.ravel_multi_index(tuple(np.moveaxis(tuples % np.array(sizes), -1, 0)), sizes)
    if function == "scatter_elements":
        places = list(np.indices(indices.shape))
        places[axis] = flat
        rows = np.ravel_multi_index(tuple(places), data_shape)
    elif axis:
        rows = np.arange(data_shape[0])[:, None] * data_shape[1] + flat
        inside = np.broadcast_to(inside, rows.shape)
    else:
        rows = flat
    return np.where(inside, rows, -1)


def operands(shape, dtype, order, form, seed):
    """The function and its arguments, and of the loop: data, rows and updates."""
    function, data_shape, index_shape, axis = SHAPES[shape]
    rng = np.random.default_rng(seed)
    if function == "scatter_nd":
        columns = [draw_indices(rng, index_shape[0], size, order) for size in data_shape]
        indices = np.stack(columns, axis=-1)
    else:
        indices = draw_indices(rng, index_shape, data_shape[axis], order)
    if form == "drop":
        indices[rng.random(index_shape) < 0.2] = data_shape[axis]
        indices[rng.random(index_shape) < 0.1] = -data_shape[axis] - 1
        indices[: index_shape[0] // 3] = 1000_000
    rows = rows_of(function, data_shape, indices, axis)
    row = () if function == "scatter_elements" else data_shape[axis + (2 if function == "scatter_nd" else 1) :]
    data, updates = numbers(data_shape, dtype, seed), numbers((*rows.shape, *row), dtype, seed + 1)
    if form == "repeated":
        data = np.broadcast_to(data[(0,) * data.ndim], data_shape)
    width = int(np.prod(row))
    index_dtype = ("i8", "i4", "i8", "i2", ">i4")[seed % 5] if form != "drop" else "i8"
    call = function, data, indices.astype(index_dtype), updates, {} if function == "scatter_nd" else {"axis": axis}
    return call, (data.reshape(-1, width).copy(), rows.reshape(-1), updates.reshape(-1, width))


def run(call, form, options):
    """The result, in native byte order; and nothing is written beside it."""
    name, data, indices, updates, axis = call
    function, options, dtype = getattr(gs, name), axis | options, data.dtype
    if form == "drop":
        options["mode"] = "drop"
    if form == "out":
        out = np.empty_like(data)
        assert function(data, indices, updates, out=out, **options) is out
        return out
    if form == "in place":
        out = data.copy()
        function(out, indices, updates, out=out, **options)
        return out
    if form == "strided":
        memory = np.full([2 * n + 1 for n in data.shape], data.dtype.type(1))
        place = tuple(slice(1, None, 2) for _ in data.shape)
        memory[place] = data
        view = memory[place]
        function(view, indices, np.asfortranarray(updates), out=view, **options)
        result = view.copy()
        memory[place] = 1
        assert (memory == 1).all()
        return result
    if form == "swapped":
        swapped = dtype.newbyteorder()
        return function(data.astype(swapped), indices, updates.astype(swapped), **options).astype(dtype)
    return function(data, indices, updates, **options)


def case(dtype, reduction, include_self, wide, shape, drawn, order, seed):
    """The arguments and options of calls, and their result."""
    call, plain = operands(shape, numpy_dtype(dtype), order, drawn, seed)
    expected = loop(*plain, reduction, include_self, wide and numpy_dtype(wide)).reshape(call[1].shape)
    options = {"reduction": reduction, "include_self": include_self}
    return call, options | ({"accumulate_dtype": wide} if wide else {}), expected


def check(call, options, expected, route, n_threads, form):
    dtype = expected.dtype
    if form == "swapped" and (dtype.itemsize == 1 or dtype.name == "bfloat16"):
        form = "new"
    with kernels.forced(n_threads, scatter=route), np.errstate(all="ignore"):
        result = run(call, form, options)
    assert_same_numbers(np.ascontiguousarray(result), expected)


def wide_of(dtype, reduction):
    return [None, *(wider_dtypes(dtype) if RECORDS[reduction].rounds else ())]


each = pytest.mark.parametrize(
    ("dtype", "reduction"), [pair for pair in itertools.product(DTYPES, REDUCTIONS) if reduces(pair[1], pair[0])]
)


@each
def test_some(dtype, reduction):
    """Each shape on each route that can run it, on teams that take turns; the rest is drawn.

    The largest team, which takes long to start, takes one shape on one route.
    """
    first = DTYPES.index(dtype) * len(REDUCTIONS) + REDUCTIONS.index(reduction)
    rng = np.random.default_rng(first)
    wides = wide_of(dtype, reduction)
    for i, shape in enumerate(SHAPES):
        drawn, wide = str(rng.choice([*FORMS, "plain"])), wides[int(rng.integers(9)) % len(wides)]
        include_self, order, seed = bool(rng.integers(2)), str(rng.choice(ORDERS)), int(rng.integers(1000))
        arguments = case(dtype, reduction, include_self, wide, shape, drawn, order, seed)
        for j, route in enumerate(ROUTES):
            largest = (i, j) == (first % len(SHAPES), first % len(ROUTES))
            n_threads = TEAMS[-1] if largest else TEAMS[(first + i + j) % (len(TEAMS) - 1)]
            form = str(rng.choice(FORMS[drawn]))
            if (route, n_threads) in routes_for(reduction, numpy_dtype(dtype), [n_threads]):
                check(*arguments, route, n_threads, form)


@pytest.mark.slow
@each
def test_more(dtype, reduction):
    """Teams and include_self take turns; the largest team takes one form of every second case.

    Of plain results, each route makes every second form, the others for the next shape.
    """
    table = itertools.product(SHAPES, wide_of(dtype, reduction), FORMS)
    for seed, (shape, wide, drawn) in enumerate(table):
        include_self = seed % 2 == 0
        order = ORDERS[(seed + seed // len(FORMS)) % len(ORDERS)]
        call, *more = case(dtype, reduction, include_self, wide, shape, drawn, order, seed)
        turn = seed // len(FORMS)
        for i, form in enumerate(FORMS[drawn]):
            largest = turn % 2 and i == turn % len(FORMS[drawn])
            team = TEAMS[-1] if largest else TEAMS[(turn + i) % 3]
            for j, (route, n_threads) in enumerate(routes_for(reduction, call[1].dtype, [team])):
                if drawn != "plain" or ([*SHAPES].index(shape) + i + j) % 2 == 0:
                    check(call, *more, route, n_threads, form)


@pytest.mark.parametrize("name", SHAPES)
def test_the_loop_is_the_reference(name):
    """What the others compare with, beside the loops of the package."""
    pairs = ("float32", "mean"), ("int32", "mul"), ("float16", "max"), ("complex64", "add")
    for (dtype, reduction), include_self in zip(pairs, (True, False, False, True), strict=True):
        (function, *arrays, axis), plain = operands(name, np.dtype(dtype), "any", "drop", 3)
        options = axis | {"reduction": reduction, "include_self": include_self, "mode": "drop"}
        expected = getattr(reference, function)(*arrays, **options)
        assert_same_numbers(loop(*plain, reduction, include_self).reshape(expected.shape), expected)


@pytest.mark.slow
@pytest.mark.skipif(not uses_avx2, reason="the kernels in use are the baseline")
def test_the_kernels_for_cpus_without_avx2():
    environment = os.environ | {"GATHERSCATTER_AVX2": "0"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    subprocess.run(command, env=environment, check=True, timeout=1200)
