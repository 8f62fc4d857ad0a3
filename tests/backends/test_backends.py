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
from hypothesis import strategies as st
from libraries import EAGER, LIBRARIES, on, on_each
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


# Which compile programs, make graphs, go through a dispatcher or sort in Python: by default they get a selection.
EXPENSIVE = ("JAX, XLA", "JAX, CUDA", "PyTorch, dispatcher", "Dask", "array-api-strict")
COMPILED = ("JAX, XLA", "JAX, CUDA")
# (mode,), and (mode, include_self)
GATHER_CHOICES = tuple(itertools.product(GATHER_MODES))
SCATTER_CHOICES = tuple(itertools.product(SCATTER_MODES, (True, False)))


def cells(functions, reductions, choices):
    """Parameters: library, function, reduction, dtype, and the choices that it is called with, which are all.

    An expensive library gets them in tests marked slow, and by default so few that any two still meet: of scatters a
    third of the cells with 4 choices, of gathers, which have one reduction, all with 2. Where XLA would get all
    of scatters, it gets half: it compiles a program for each.
    """
    third, share = (3, 4) if len(reductions) > 1 else (1, 2)
    combinations = list(itertools.product(*map(enumerate, (functions, reductions, DTYPES))))
    for library, ((i, function), (j, reduction), (n, dtype)) in itertools.product(LIBRARIES, combinations):
        if not reduces(reduction, dtype) or not libraries.has_dtype(library, dtype):
            continue
        reason = libraries.cannot(library, function, reduction, dtype)
        marks = [*on(library), *([pytest.mark.xfail(raises=NotImplementedError, reason=reason)] if reason else [])]
        cell, name = (library, function, reduction, dtype), f"{library}-{function}-{reduction}-{dtype}"
        if library.name not in EXPENSIVE:
            yield pytest.param(*cell, choices, marks=marks, id=name)
            continue
        if (i + j + n) % third == 0:
            first = j + n if len(reductions) > 1 else i + n
            few = tuple(choices[(first + 2 * k) % len(choices)] for k in range(share))
            yield pytest.param(*cell, few, marks=marks, id=name)
        is_compiled = library.name in COMPILED and len(reductions) > 1
        all_choices = choices[(i + j + n) % 2 :: 2] if is_compiled else choices
        yield pytest.param(*cell, all_choices, marks=[*marks, pytest.mark.slow], id=f"{name}-every mode")


GATHER_CELLS = list(cells(GATHERS, ["none"], GATHER_CHOICES))
SCATTER_CELLS = list(cells(SCATTERS, REDUCTIONS, SCATTER_CHOICES))


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


@pytest.mark.parametrize("name", ["JAX, XLA", "PyTorch, dispatcher", "Dask", "array-api-strict"])
@pytest.mark.parametrize(
    ("parameters", "axes", "choices"),
    [
        (GATHER_CELLS, (GATHERS, ("none",), DTYPES), GATHER_CHOICES),
        (SCATTER_CELLS, (SCATTERS, tuple(REDUCTIONS), DTYPES), SCATTER_CHOICES),
    ],
    ids=["gathers", "scatters"],
)
def test_every_pair_is_in_the_default_run(name, parameters, axes, choices):
    """Of function, reduction, dtype and choice any two meet; and what is slow has all."""
    found = [one for one in parameters if one.values[0].name == name]
    default, slow = (
        [one.values[1:] for one in found if (pytest.mark.slow in one.marks) is late] for late in (False, True)
    )
    library = found[0].values[0]
    dtypes = [dtype for dtype in axes[2] if libraries.has_dtype(library, dtype)]
    accepted = [cell for cell in itertools.product(*axes[:2], dtypes) if reduces(*cell[1:])]
    if name not in COMPILED or len(axes[1]) == 1:
        assert slow == [(*cell, choices) for cell in accepted]
    for a, b in itertools.combinations(range(3), 2):  # with each choice
        met = {(cell[a], cell[b], choice) for cell in slow for choice in cell[3]}
        assert met == {(cell[a], cell[b], choice) for cell in accepted for choice in choices}
    for a, b in itertools.combinations(range(3), 2):
        assert {(cell[a], cell[b]) for cell in default} == {(cell[a], cell[b]) for cell in accepted}
    for a in range(3):
        met = {(cell[a], choice) for cell in default for choice in cell[3]}
        assert met == set(itertools.product((*axes[:2], dtypes)[a], choices))


HOW_MANY = {"jax": 12, "torch": 150, "dask": 40, "array_api_strict": 100, "cupy": 60}


def native(array):
    return np.array(array.astype(array.dtype.newbyteorder("=")), order="C")


@pytest.mark.drawn
@pytest.mark.parametrize("library", on_each(LIBRARIES[1:]))
@pytest.mark.parametrize("function", FUNCTIONS)
def test_drawn_calls(library, function):
    dtypes = [numpy_dtype(name) for name in DTYPES if libraries.has_dtype(library, name)]

    @examples(HOW_MANY[library.package])
    @given(draw=st.data())
    def check(draw):
        if function.startswith("gather"):
            *arrays, options = draw.draw(gather_calls(function, dtypes))
            arrays = list(map(native, arrays))
        else:
            *arrays, options = draw.draw(scatter_calls(function, dtypes, REDUCTIONS))
            arrays = list(map(native, arrays))
            if libraries.rounds_otherwise(library, options["reduction"], arrays[0].dtype.name):
                for i in (0, 2):
                    arrays[i] = some_numbers(True, arrays[i].shape, arrays[i].dtype, i)
        if libraries.cannot(library, function, options.get("reduction"), arrays[0].dtype.name):
            return
        expected = getattr(reference, function)(*arrays, **options)
        assert_agrees(library, function, arrays, options, expected)

    check()


@pytest.mark.parametrize("library", on_each(EAGER))
@pytest.mark.parametrize(
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
