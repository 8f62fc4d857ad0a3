"""Threads that cannot be created, threads with little stack, and more threads than the kernels' tables are made for."""

import sys

import pytest
from fault_hook import hooked, how_it_ended, run_cases, run_python
from gatherscatter._kernels import common as kernel
from libraries import needs

SHOWN = 5
OMP = {"OMP_DYNAMIC": "false"}
parallel = needs(kernel.openmp_version, "this build has no threads")
on_linux = needs(sys.platform == "linux", "the limit holds on Linux alone")


def assert_all_run(threads, creatable="all", n=30_000, **options):
    faults, trials = run_cases("call_all.py", str(threads), str(creatable), str(n), **options)
    assert trials > 30
    assert not faults, "\n\n".join([f"{len(faults)} faults in {trials} calls", *faults[:SHOWN]])


@hooked
@parallel
@pytest.mark.slow
@pytest.mark.parametrize("creatable", [0, 1, 5])
@pytest.mark.parametrize("threads", ["auto", 64])
def test_threads_that_cannot_be_created(threads, creatable):
    """As under a limit of the container's: the call takes those that there are."""
    assert_all_run(threads, creatable, 1_000_000 if threads == "auto" else 30_000, preload=True, OMP_NUM_THREADS="64",
                   **OMP)  # fmt: skip


STACKS = """
import numpy as np
import gatherscatter as gs

indices = np.random.default_rng(0).integers(0, 3_000_000, 3_000_000)
data = np.arange(3_000_000, dtype=np.float32)
assert np.array_equal(gs.gather(data, indices), data[indices])
result = gs.scatter(np.zeros(3_000_000, np.float32), indices, 1, reduction="add")
assert np.array_equal(result, np.bincount(indices, minlength=3_000_000))
"""


@on_linux
@parallel
def test_no_address_space_for_the_stacks_of_threads():
    """64 stacks of 1 GiB where 8 GiB may be mapped."""
    limits = [("RLIMIT_AS", 8 << 30)]
    run = run_python("-c", STACKS, limits=limits, OMP_NUM_THREADS="64", OMP_STACKSIZE="1G", timeout=60, **OMP)
    assert how_it_ended(run) is None


@parallel
@pytest.mark.slow
@pytest.mark.parametrize("stream", ["0", "1"])
@pytest.mark.parametrize("size", ["16K", "64K"])
def test_small_stacks(size, stream):
    """A kernel's buffers on the stack of a thread fit the smallest stack that there can be."""
    environment = {"OMP_STACKSIZE": size, "GATHERSCATTER_STREAM": stream, "OMP_NUM_THREADS": "3"}
    n = 4_300_000 if stream == "1" else 1_500_000  # from 16 MiB on, results are written with non-temporal stores
    assert_all_run("auto", "all", n, **environment, **OMP)
    assert_all_run(3, "all", 30_000, **environment, **OMP)


@parallel
@pytest.mark.slow
@pytest.mark.parametrize("threads", [129, 2000])
def test_large_teams(threads):
    assert_all_run(threads, "all", 30_000, OMP_NUM_THREADS=str(threads), **OMP)
    assert_all_run(threads, "all", 600_000, OMP_NUM_THREADS=str(threads), **OMP)
