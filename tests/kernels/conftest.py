"""Fixtures of several modules."""

import pytest
from gatherscatter import fused
from gatherscatter.backends.numpy import NumPyBackend


@pytest.fixture
def passes(monkeypatch):
    """Takes one pass for calls of any size. For each call that asked for it, whether it was possible."""
    made = []
    run = NumPyBackend.gather_scatter

    def watched(*arguments):
        result = run(*arguments)
        made.append(result is not None)
        return result

    monkeypatch.setattr(fused, "_FEWEST_BYTES", 0)
    monkeypatch.setattr(NumPyBackend, "gather_scatter", watched)
    return made
