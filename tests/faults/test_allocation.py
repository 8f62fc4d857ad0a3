"""Every allocation of a call fails in turn: the result is right, or a MemoryError is raised and `out` is unchanged."""

import importlib.util
import sys

import fault_calls
import pytest
from fault_hook import hooked, run_cases
from libraries import needs

HAS_PYTHON_HOOK = importlib.util.find_spec("_testcapi") is not None
SHOWN = 5


@hooked
@pytest.mark.slow
@pytest.mark.parametrize("lasts", ["once", "on"])
@pytest.mark.parametrize(("function", "strategy"), fault_calls.ALL_RECIPES)
def test_allocations_of_the_c_library(function, strategy, lasts):
    """malloc, calloc, realloc, posix_memalign and mmap, but for those of OpenMP, which ends the process."""
    faults, trials = run_cases("fail_allocations.py", "c", lasts, function, strategy, preload=True, timeout=600)
    print(f"{trials} trials")  # shown by -rP
    assert trials > 100
    assert not faults, "\n\n".join([f"{len(faults)} faults in {trials} trials", *faults[:SHOWN]])


@needs(HAS_PYTHON_HOOK, "this Python has no _testcapi")
@pytest.mark.slow
@pytest.mark.parametrize(("function", "strategy"), fault_calls.ALL_RECIPES)
def test_allocations_of_python(function, strategy):
    """PyMem_RawMalloc, PyMem_Malloc, PyObject_Malloc and related functions, by the hook of CPython's own tests."""
    faults, trials = run_cases("fail_allocations.py", "python", "once", function, strategy, timeout=600)
    if (function, strategy) in fault_calls.AT_RECIPES | fault_calls.FUSED_RECIPES and sys.version_info < (3, 12):
        # Python 3.11 keeps references to the arguments of some calls that it has no memory to enter.
        faults = [fault for fault in faults if "keeps references" not in fault]
    print(f"{trials} trials")  # shown by -rP
    assert trials > 100
    assert not faults, "\n\n".join([f"{len(faults)} faults in {trials} trials", *faults[:SHOWN]])
