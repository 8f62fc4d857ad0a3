import contextlib

import gatherscatter as gs
import numpy as np
import pytest
from gatherscatter._kernels import gather, scatter
from gatherscatter._kernels.codes import GatherStrategy, ScatterStrategy
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


# Each strategy by name, where it can do the work, and thread counts that cut small work as large work is cut.
FORCED = [
    (1, ScatterStrategy.AUTO, GatherStrategy.AUTO),
    (2, ScatterStrategy.ROWS, GatherStrategy.COLUMNS),
    (3, ScatterStrategy.PARTITION, GatherStrategy.RUNS),
    (4, ScatterStrategy.PRIVATE, GatherStrategy.BLOCKS),
    (5, ScatterStrategy.ROW_PIECES, GatherStrategy.COLUMNS),
    (8, ScatterStrategy.UNITS, GatherStrategy.BLOCKS),
]


@pytest.fixture(params=FORCED, ids=[f"{n}-{scatters.name}-{gathers.name}" for n, scatters, gathers in FORCED])
def forced_threads(request):
    n_threads, scatters, gathers = request.param
    gather.force(gathers, n_threads)
    scatter.force(scatters, n_threads)
    yield n_threads
    gather.force(GatherStrategy.AUTO, 0)
    scatter.force(ScatterStrategy.AUTO, 0)


@pytest.fixture(autouse=True)
def _default_threads():
    yield
    gs.set_num_threads(None)
