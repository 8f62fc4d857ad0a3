"""Every allocation of a call fails in turn: the result is right, or a MemoryError is raised and `out` is unchanged."""

import importlib.util
import sys

import fault_calls
import pytest
import segment_calls
from fault_hook import hooked, run_cases
from libraries import needs

HAS_PYTHON_HOOK = importlib.util.find_spec("_testcapi") is not None
SHOWN = 5
# Large results of segments, and rows times weights: these calls end the process.
CRASHING = [*segment_calls.CRASHING, *fault_calls.WEIGHTED_RECIPES]
RECIPES = [recipe for recipe in (*fault_calls.ALL_RECIPES, *segment_calls.RECIPES) if recipe not in CRASHING]
of_numpy = pytest.mark.xfail(reason="NumPy's buffered iterator raises without the GIL when its allocation fails")
of_python = pytest.mark.xfail(
    sys.version_info < (3, 12), reason="Python 3.11 crashes without memory for a comprehension", strict=False
)


@hooked
@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "recipe", "lasts"),
    [
        *((*recipe, "once") for recipe in RECIPES),
        *((*recipe, "on") for recipe in RECIPES if "prepared" not in recipe[0]),
        *(pytest.param(*recipe, "once", marks=of_numpy) for recipe in CRASHING),
    ],
)
def test_allocations_of_the_c_library(function, recipe, lasts):
    """malloc, calloc, realloc, posix_memalign and mmap, but for those of OpenMP, which ends the process."""
    faults, trials = run_cases("fail_allocations.py", "c", lasts, function, recipe, preload=True, timeout=600)
    print(f"{trials} trials")  # shown by -rP
    assert trials > 70
    assert not faults, "\n\n".join([f"{len(faults)} faults in {trials} trials", *faults[:SHOWN]])


@needs(HAS_PYTHON_HOOK, "this Python has no _testcapi")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "recipe"),
    [pytest.param(*recipe, marks=of_python if recipe[0].startswith("newly") else ()) for recipe in RECIPES],
)
def test_allocations_of_python(function, recipe):
    """PyMem_RawMalloc, PyMem_Malloc, PyObject_Malloc and related functions, by the hook of CPython's own tests."""
    faults, trials = run_cases("fail_allocations.py", "python", "once", function, recipe, timeout=600)
    if (function, recipe) not in fault_calls.RECIPES | fault_calls.WIDE_RECIPES and sys.version_info < (3, 12):
        # Python 3.11 keeps references to the arguments of some calls that it has no memory to enter.
        faults = [fault for fault in faults if "keeps references" not in fault]
    print(f"{trials} trials")  # shown by -rP
    assert trials > 100
    assert not faults, "\n\n".join([f"{len(faults)} faults in {trials} trials", *faults[:SHOWN]])
