"""The memory of a call without its result: at most 64 MiB and marks, for any number of updates (docs/semantics.md)."""

import json
import sys

import fault_calls
import pytest
from fault_hook import how_it_ended, run_python
from libraries import needs

MIB = 1 << 20
SCRATCH = 64 * MIB
MILLIONS = 9  # items, of which 8 bytes each would be more than SCRATCH


def allowed(call):
    """What docs/semantics.md allows a call: scratch, and for each row of data a mark of 1 byte or a count of 4."""
    if call.is_gather or (call.include_self and call.reduction != "mean"):
        return SCRATCH
    items = 97 if call.recipe == "private" else MILLIONS * 1_000_000
    rows = items // (call.n_items or 1)
    return SCRATCH + rows * (4 if call.reduction == "mean" else 1)


@needs(sys.platform == "linux", "the peak of a process's memory is read on Linux alone")
@pytest.mark.slow
@pytest.mark.parametrize(("function", "recipe"), fault_calls.RECIPES)
def test_at_most_64_mib(function, recipe, record_property):
    """Of 9e6 updates, as the system counts and as tracemalloc does."""
    calls = fault_calls.calls(function, recipe, outs=("new", "in place"), reduced=fault_calls.SOME_REDUCED)
    run = run_python("measure_memory.py", function, recipe, str(MILLIONS))
    assert how_it_ended(run) is None, run.stdout
    found = dict(zip(calls, map(json.loads, run.stdout.splitlines()), strict=True))
    for call, sizes in found.items():
        record_property(str(call), sizes)
        print(f"{call}: {sizes['resident'] / MIB:.1f} MiB resident, {sizes['traced'] / MIB:.1f} MiB traced")
    largest = {call: max(sizes["resident"], sizes["traced"]) for call, sizes in found.items()}
    too_much = {f"{call}: {size / MIB:.1f} MiB" for call, size in largest.items() if size > allowed(call)}
    assert not too_much
    for call, sizes in found.items():
        if call.is_forced:
            assert sizes["route"] == call.route, call
