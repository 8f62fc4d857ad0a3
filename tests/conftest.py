import contextlib

import gatherscatter as gs
import numpy as np
import pytest
from gatherscatter import threads
from hypothesis import settings

with contextlib.suppress(ImportError):
    import jax

    jax.config.update("jax_enable_x64", True)

# The same cases in every run; no deadline, since a first call may be slow on a busy machine.
settings.register_profile("default", deadline=None, derandomize=True, max_examples=200)
settings.load_profile("default")


def assert_same_bits(result, expected):
    """Equal dtype, shape and bytes: NaN equals NaN, and -0.0 does not equal 0.0."""
    assert isinstance(result, np.ndarray)
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    if expected.dtype.hasobject:
        assert result.tolist() == expected.tolist()
    else:
        assert result.tobytes() == expected.tobytes()


def assert_same_numbers(result, expected):
    """As assert_same_bits, but any NaN equals any other: which one arithmetic makes is the machine's choice."""
    assert isinstance(result, np.ndarray)
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    parts = []
    for array in (result, expected):
        flat = np.array(array).reshape(-1)
        flat = flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat
        if flat.dtype.kind not in "biu":
            flat[flat != flat] = np.nan
        parts.append(flat)
    assert parts[0].tobytes() == parts[1].tobytes(), f"{result!r} is not {expected!r}"


@pytest.fixture(params=[1, 2, 3, 4, 8])
def forced_threads(request, monkeypatch):
    """Cut small work for this many threads as large work is cut; 1 is the plain serial call."""
    monkeypatch.setattr(threads, "limit", -request.param if request.param > 1 else 1)
    return request.param


@pytest.fixture(autouse=True)
def _default_threads():
    yield
    gs.set_num_threads(None)
