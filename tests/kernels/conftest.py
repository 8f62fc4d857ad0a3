"""Fixtures of several modules."""

import gatherscatter as gs
import pytest
from gatherscatter.backends import kernels
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

    monkeypatch.setattr(kernels, "ONE_PASS_BYTES", 0)
    monkeypatch.setattr(NumPyBackend, "gather_scatter", watched)
    return made


@pytest.fixture
def small_l2():
    """Bytes of L2, of which kernels assume so few that arrays beyond it are small."""
    before = gs.get_machine()
    gs.set_machine(l2_bytes=1 << 16)
    yield 1 << 16
    gs.set_machine(**before)
