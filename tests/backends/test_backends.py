"""One suite for every array library: each function, mode, reduction and dtype against the scalar loop."""

import itertools
import re
from functools import cache

import gatherscatter as gs
import libraries
import ml_dtypes
import numpy as np
import pytest
from assertions import assert_same_numbers
from constants import DTYPES, FUNCTIONS, GATHER_MODES, GATHERS, REDUCTIONS, SCATTER_MODES, SCATTERS, reduces
from gatherscatter import reference
from hypothesis import given
from libraries import EAGER, LIBRARIES, on, on_each
from pairwise import in_turn
from strategies import examples, gather_calls, numbers, numpy_dtype, scatter_calls

# A geometry has duplicates, negative indices, batch axes, rows, and an axis in the middle.
# (shape of data, shape of indices, options, sizes of the axes that indices name)
GEOMETRIES = {
    "nd": [((2, 4, 3, 2), (2, 7, 2), {"batch_dims": 1}, (4, 3))],
    "elements": [((3, 5, 2), (2, 8, 2), {"axis": 1}, (5,))],
    "axis": [
        ((2, 5, 3), (2, 8), {"axis": 1, "batch_dims": 1}, (5,)),
        ((2, 5, 3), (4, 2), {"axis": -2}, (5,)),
    ],
}


def geometries(function):
    return GEOMETRIES.get(function.partition("_")[2], GEOMETRIES["axis"])


def numbered(library, function):
    """The numbers of its geometries."""
    return range(1 if library.name.startswith("JAX, ") else len(geometries(function)))  # compiles a program for each


# Which compile programs, make graphs, go through a dispatcher or sort in Python: by default they get the fewest calls.
EXPENSIVE = ("JAX, XLA", "JAX, CUDA", "PyTorch, dispatcher", "Dask", "array-api-strict")
COMPILED = ("JAX, XLA", "JAX, CUDA")
# (mode,), and (mode, include_self)
GATHER_CHOICES = tuple(itertools.product(GATHER_MODES))
SCATTER_CHOICES = tuple(itertools.product(SCATTER_MODES, (True, False)))


def cells(functions, reductions, choices):
    """Parameters: library, function, reduction, dtype, and the choices that it is called with, which are all.

    NumPy gets all. By default other libraries get a third of the cells of scatters, in which any two of function,
    reduction and dtype still meet, and an expensive one so few choices of each cell that each of them still meets any
    of these. Tests marked slow have the rest, of which XLA gets a quarter: it compiles a program for each.
    """
    is_gather = len(reductions) == 1
    combinations = list(itertools.product(*map(enumerate, (functions, reductions, DTYPES))))
    for library, ((i, function), (j, reduction), (n, dtype)) in itertools.product(LIBRARIES, combinations):
        if not reduces(reduction, dtype) or not libraries.has_dtype(library, dtype):
            continue
        reason = libraries.cannot(library, function, reduction, dtype)
        marks = [*on(library), *([pytest.mark.xfail(raises=NotImplementedError, reason=reason)] if reason else [])]
        cell, name = (library, function, reduction, dtype), f"{library}-{function}-{reduction}-{dtype}"
        is_expensive = library.name in EXPENSIVE
        if library.name == "NumPy" or (is_gather and not is_expensive):
            yield pytest.param(*cell, choices, marks=marks, id=name)
            continue
        if is_gather:
            few = choices[(i + n) % 3 :: 3]
        else:  # a second one where few reductions take the dtype
            few = tuple(choices[(3 * j + 2 * n + k) % len(choices)] for k in (0, 3)[: 1 + (dtype[0] in "bc")])
        if is_gather or (i + j + n) % 3 == 0:
            yield pytest.param(*cell, few if is_expensive else choices, marks=marks, id=name)
        rest = choices[(i + j + n) % 4 :: 4] if library.name in COMPILED and not is_gather else choices
        yield pytest.param(*cell, rest, marks=[*marks, pytest.mark.slow], id=f"{name}-every mode")


GATHER_CELLS = list(cells(GATHERS, ["none"], GATHER_CHOICES))
SCATTER_CELLS = list(cells(SCATTERS, REDUCTIONS, SCATTER_CHOICES))
NUMPYS = [one for one in GATHER_CELLS + SCATTER_CELLS if one.values[0].name == "NumPy"]


def some_indices(shape, sizes, mode, seed):
    rng = np.random.default_rng(seed)
    beyond = 3 if mode in ("clip", "wrap", "fill", "drop") else 0
    sizes = np.broadcast_to(sizes, shape[-1:]) if len(sizes) > 1 else np.array(sizes)
    return rng.integers(-sizes - beyond, sizes + beyond, shape)


def some_numbers(is_small, shape, dtype, seed):
    """Numbers that show in which order they met, where the library promises one; else small ones, without rounding."""
    if not is_small:
        return numbers(shape, dtype, seed)
    rng = np.random.default_rng(seed)
    low = -2 if dtype.kind in "ifcV" else 0
    small = rng.integers(low, 3, shape).astype(dtype)
    return small + rng.integers(low, 3, shape).astype(dtype) * dtype.type(1j) if dtype.kind == "c" else small


def assert_agrees(library, function, arrays, options, expected):
    arrays = map(library.asarray, arrays)
    with library.way(), np.errstate(all="ignore"):  # array-api-strict computes with NumPy
        result = getattr(gs, function)(*arrays, **options)
    result = library.asnumpy(result)
    if libraries.rounds_otherwise(library, options.get("reduction"), expected.dtype.name):
        assert result.dtype == expected.dtype
        wide = np.result_type(expected.dtype, np.float32)  # ml_dtypes' have no tolerance of their own
        eps = float(ml_dtypes.finfo(expected.dtype).eps)
        np.testing.assert_allclose(result.astype(wide), expected.astype(wide), rtol=2 * eps)
    else:
        assert_same_numbers(result, expected)


@cache  # by the first library that asks: the loop takes longer than most libraries
def gather_case(function, dtype, i, mode):
    """The arrays, the options, and the result of the loop."""
    shape, places, options, sizes = geometries(function)[i]
    data, indices = numbers(shape, numpy_dtype(dtype), i), some_indices(places, sizes, mode, seed=i)
    options = {"mode": mode, **options}
    return (data, indices), options, getattr(reference, function)(data, indices, **options)


@cache
def scatter_case(function, reduction, dtype, i, mode, include_self, is_small):
    shape, places, options, sizes = geometries(function)[i]
    data = some_numbers(is_small, shape, numpy_dtype(dtype), i + 1)
    indices = some_indices(places, sizes, mode, seed=i)
    read = "gather" + function.removeprefix("scatter")
    named = getattr(reference, read)(data, indices, mode="fill" if mode == "drop" else mode, **options)
    arrays = data, indices, some_numbers(is_small, named.shape, data.dtype, i + 2)
    options = {"mode": mode, "reduction": reduction, "include_self": include_self, **options}
    return arrays, options, getattr(reference, function)(*arrays, **options)


@pytest.mark.parametrize(("library", "function", "reduction", "dtype", "choices"), GATHER_CELLS)
def test_gathers(library, function, reduction, dtype, choices):
    for i, (mode,) in itertools.product(numbered(library, function), choices):
        arrays, options, expected = gather_case(function, dtype, i, mode)
        assert_agrees(library, function, map(np.copy, arrays), options, expected)


@pytest.mark.parametrize(("library", "function", "reduction", "dtype", "choices"), SCATTER_CELLS)
def test_scatters(library, function, reduction, dtype, choices):
    is_small = libraries.rounds_otherwise(library, reduction, dtype)
    for i, (mode, include_self) in itertools.product(numbered(library, function), choices):
        arrays, options, expected = scatter_case(function, reduction, dtype, i, mode, include_self, is_small)
        assert_agrees(library, function, map(np.copy, arrays), options, expected)


@pytest.mark.parametrize("name", ["PyTorch", "JAX, XLA", "PyTorch, dispatcher", "Dask", "array-api-strict"])
def test_every_pair_is_in_the_default_run(name):
    """Of function, reduction, dtype and each option any two meet; and what is slow has all."""
    for parameters, functions, choices in (
        (GATHER_CELLS, GATHERS, GATHER_CHOICES),
        (SCATTER_CELLS, SCATTERS, SCATTER_CHOICES),
    ):
        found = [one for one in parameters if one.values[0].name == name]
        calls = {False: [], True: []}
        for one in found:
            calls[pytest.mark.slow in one.marks] += [(*one.values[1:4], *choice) for choice in one.values[4]]
        cells = {one.values[1:4] for one in NUMPYS if one.values[1] in functions}
        every = {(*cell, *choice) for cell in cells for choice in choices}
        every = {call for call in every if libraries.has_dtype(found[0].values[0], call[2])}
        slow = set(calls[True]) or every  # gathers that are not expensive have none
        assert slow == every or name in COMPILED
        for some, (a, b) in itertools.product((calls[False], slow), itertools.combinations(range(len(min(every))), 2)):
            assert {(one[a], one[b]) for one in some} == {(one[a], one[b]) for one in every}


HOW_MANY = {"jax": 12, "torch": 150, "dask": 40, "array_api_strict": 100, "cupy": 60}


def native(array):
    return np.array(array.astype(array.dtype.newbyteorder("=")), order="C")


def drawn_for():
    """The libraries that take the same drawn calls: the ways of one package on one device."""
    groups = {}
    for library in LIBRARIES[1:]:
        groups.setdefault((library.package, library.device), []).append(library)
    return [pytest.param(group, marks=on(group[0]), id=group[0].name) for group in groups.values()]


@pytest.mark.drawn
@pytest.mark.parametrize("ways", drawn_for())
@pytest.mark.parametrize("function", FUNCTIONS)
def test_drawn_calls(ways, function):
    """A call is drawn, and its result made by the loop, once for all ways of a package."""
    dtypes = [numpy_dtype(name) for name in DTYPES if libraries.has_dtype(ways[0], name)]
    draw_call = (
        gather_calls(function, dtypes) if function.startswith("gather") else scatter_calls(function, dtypes, REDUCTIONS)
    )

    @examples(HOW_MANY[ways[0].package])
    @given(call=draw_call)
    def check(call):
        *drawn, options = call
        dtype, cases = drawn[0].dtype.name, {}
        for library in ways:
            if libraries.cannot(library, function, options.get("reduction"), dtype):
                continue
            is_small = libraries.rounds_otherwise(library, options.get("reduction"), dtype)
            if is_small not in cases:
                arrays = list(map(native, drawn))
                for i in (0, 2) if is_small else ():
                    arrays[i] = some_numbers(True, arrays[i].shape, arrays[i].dtype, i)
                cases[is_small] = arrays, getattr(reference, function)(*arrays, **options)
            arrays, expected = cases[is_small]
            assert_agrees(library, function, map(np.copy, arrays), options, expected)

    check()


@pytest.mark.parametrize("library", on_each(EAGER))
@in_turn(
    ("function", "shape", "options", "message"),
    [
        ("gather", (2, 2), {"axis": 1}, "indices[1, 0] = 3 is out of bounds for data of shape (2, 3, 4): axis 1"),
        ("gather", (2, 2), {"axis": -1}, "indices[1, 0] = 4 is out of bounds for data of shape (2, 3, 4): axis 2"),
        ("gather", (2, 2), {"axis": 1, "batch_dims": 1}, "indices[1, 0] = 3 is out of bounds for data of shape"),
        ("gather_nd", (2, 2), {"batch_dims": 1}, "indices[1] = (3, 0) is out of bounds for data of shape (2, 3, 4)"),
        ("gather_elements", (2, 2, 1), {"axis": 1}, "indices[1, 0, 0] = 3 is out of bounds for data of shape"),
    ],
)
def test_a_bad_index_is_named(library, function, shape, options, message):
    data, indices = np.zeros((2, 3, 4)), np.zeros(shape, int)
    indices[(1, *(0,) * (len(shape) - 1))] = data.shape[options.get("axis", 1)]
    with library.way(), pytest.raises(IndexError, match=f"^{re.escape(f'{function}: {message}')}"):
        getattr(gs, function)(library.asarray(data), library.asarray(indices), **options)


def test_the_table_is_what_the_suite_declares():
    assert libraries.TABLE.read_text(encoding="utf-8") == libraries.table(), "run python tests/libraries.py"
