"""One suite for every array library: each function, mode, reduction and dtype against the scalar loop."""

import gatherscatter as gs
import libraries
import ml_dtypes
import numpy as np
import pytest
from conftest import assert_same_numbers
from gatherscatter import reference
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from libraries import DTYPES, FUNCTIONS, LIBRARIES, REDUCTIONS, numpy_dtype
from strategies import MODES, SCATTER_MODES, gather_calls, numbers, scatter_calls

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


def geometries(library, function):
    found = GEOMETRIES.get(function.partition("_")[2], GEOMETRIES["axis"])
    return found[:1] if library.package == "jax" else found  # which compiles a program for each


def on(library):
    marks = [pytest.mark.gpu] if library.device == "cuda" else []
    reason = libraries.why_not_here(library)
    return [*marks, pytest.mark.skip(reason=reason)] if reason else marks


def cells(functions, reductions):
    for library in LIBRARIES:
        marks = on(library)
        for function in functions:
            for reduction in reductions:
                for dtype in DTYPES:
                    if not libraries.accepted(reduction, dtype) or not libraries.has_dtype(library, dtype):
                        continue
                    reason = libraries.cannot(library, function, reduction, dtype)
                    xfail = [pytest.mark.xfail(raises=NotImplementedError, reason=reason)] if reason else []
                    yield pytest.param(library, function, reduction, dtype, marks=[*marks, *xfail])


def some_indices(shape, sizes, mode, seed):
    rng = np.random.default_rng(seed)
    beyond = 3 if mode in ("clip", "wrap", "fill", "drop") else 0
    sizes = np.broadcast_to(sizes, shape[-1:]) if len(sizes) > 1 else np.array(sizes)
    return rng.integers(-sizes - beyond, sizes + beyond, shape)


def some_numbers(library, shape, dtype, reduction, seed):
    """Numbers that show in which order they met, where the library promises one; else small ones, without rounding."""
    if not libraries.rounds_otherwise(library, reduction, dtype.name):
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


@pytest.mark.parametrize(("library", "function", "reduction", "dtype"), list(cells(FUNCTIONS[:3], ["none"])), ids=str)
def test_gathers(library, function, reduction, dtype):
    for i, (shape, places, options, sizes) in enumerate(geometries(library, function)):
        data = numbers(shape, numpy_dtype(dtype), i)
        for mode in MODES:
            indices = some_indices(places, sizes, mode, seed=i)
            expected = getattr(reference, function)(data, indices, mode=mode, **options)
            assert_agrees(library, function, (data, indices), {"mode": mode, **options}, expected)


@pytest.mark.parametrize(("library", "function", "reduction", "dtype"), list(cells(FUNCTIONS[3:], REDUCTIONS)), ids=str)
def test_scatters(library, function, reduction, dtype):
    for i, (shape, places, options, sizes) in enumerate(geometries(library, function)):
        data = some_numbers(library, shape, numpy_dtype(dtype), reduction, i + 1)
        for mode in SCATTER_MODES:
            indices = some_indices(places, sizes, mode, seed=i)
            read = "gather" + function.removeprefix("scatter")
            named = getattr(reference, read)(data, indices, mode="fill" if mode == "drop" else mode, **options)
            updates = some_numbers(library, named.shape, data.dtype, reduction, i + 2)
            for include_self in (True, False):
                scatter = {"mode": mode, "reduction": reduction, "include_self": include_self, **options}
                expected = getattr(reference, function)(data, indices, updates, **scatter)
                assert_agrees(library, function, (data, indices, updates), scatter, expected)


HERE = [pytest.param(library, marks=on(library), id=library.name) for library in LIBRARIES[1:]]
HOW_MANY = {"jax": 12, "torch": 150, "dask": 40, "array_api_strict": 100, "cupy": 60}


def native(array):
    return np.array(array.astype(array.dtype.newbyteorder("=")), order="C")


@pytest.mark.parametrize("library", HERE)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_drawn_calls(library, function):
    dtypes = [numpy_dtype(name) for name in DTYPES if libraries.has_dtype(library, name)]

    @settings(max_examples=HOW_MANY[library.package], suppress_health_check=list(HealthCheck))
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
                    arrays[i] = some_numbers(library, arrays[i].shape, arrays[i].dtype, options["reduction"], i)
        if libraries.cannot(library, function, options.get("reduction"), arrays[0].dtype.name):
            return
        expected = getattr(reference, function)(*arrays, **options)
        assert_agrees(library, function, arrays, options, expected)

    check()


def test_the_table_is_what_the_suite_declares():
    assert libraries.TABLE.read_text(encoding="utf-8") == libraries.table(), "run python tests/libraries.py"
