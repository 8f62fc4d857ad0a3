"""Every allocation of a call fails in turn: the result is right, or it is a MemoryError and `out` is as before."""

import importlib.util

import fault_calls
import pytest
from fault_hook import hooked, how_it_ended, run_cases, run_python
from libraries import needs

HAS_PYTHON_HOOK = importlib.util.find_spec("_testcapi") is not None
SHOWN = 5


@hooked
@pytest.mark.slow
@pytest.mark.parametrize("lasts", ["once", "on"])
@pytest.mark.parametrize(("function", "strategy"), fault_calls.RECIPES)
def test_allocations_of_the_c_library(function, strategy, lasts):
    """malloc, calloc, realloc, posix_memalign and mmap, but for those of OpenMP, which ends the process."""
    faults, trials = run_cases("fail_allocations.py", "c", lasts, function, strategy, preload=True, timeout=600)
    assert trials > 100
    assert not faults, "\n\n".join([f"{len(faults)} faults in {trials} trials", *faults[:SHOWN]])


@needs(HAS_PYTHON_HOOK, "this Python has no _testcapi")
@pytest.mark.slow
@pytest.mark.parametrize(("function", "strategy"), fault_calls.RECIPES)
def test_allocations_of_python(function, strategy):
    """PyMem_RawMalloc, PyMem_Malloc, PyObject_Malloc and their kin, by the hook of CPython's own tests."""
    faults, trials = run_cases("fail_allocations.py", "python", "once", function, strategy, timeout=600)
    assert trials > 100
    assert not faults, "\n\n".join([f"{len(faults)} faults in {trials} trials", *faults[:SHOWN]])


STRINGS = """
import numpy as np
import gatherscatter as gs
from fault_hook import Hook

hook, strings = Hook(), np.dtypes.StringDType()
indices, updates = np.arange(50)[::-1].copy(), np.array([f"update {i} is long" for i in range(50)], strings)
n_failed, allocations = 0, 10**9
for n in [10**9, *range(10, 200)]:  # first how many there are; NumPy itself may crash in the first of np.empty's
    data, out = np.array([f"element {i} is long" for i in range(50)], strings), np.array(["-"] * 50, strings)
    hook.arm(n, n, b"libgomp")
    try:
        gs.scatter(data, indices, updates, out=out)
    except (MemoryError, SystemError):
        n_failed += 1
    hook.disarm()
    assert out.tolist() in (updates[::-1].tolist(), ["-"] * 50), (n, out.tolist())
assert n_failed
"""


@hooked
@pytest.mark.slow
def test_strings_are_written_to_out_all_or_not_at_all():
    """Each string that out is given is an allocation of NumPy's."""
    assert how_it_ended(run_python("-c", STRINGS, preload=True)) is None
