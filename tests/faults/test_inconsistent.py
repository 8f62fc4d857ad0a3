"""Arrays that lie about their shape, and arguments that change the arrays of their own call: an error, or a result."""

import pytest
from fault_hook import run_cases

SHOWN = 5


@pytest.mark.slow
def test_arguments_that_lie_or_change_others():
    faults, trials = run_cases("change_arguments.py", timeout=600)
    assert trials > 1000
    assert not faults, "\n\n".join([f"{len(faults)} faults in {trials} calls", *faults[:SHOWN]])
