"""How the tests are selected and run. Shared code is in the other modules of this folder."""

import contextlib
import ctypes
import gc
import importlib.metadata
import importlib.util
import mmap
import os
import re
import sys
import time
from collections import Counter
from pathlib import Path

# The tests use more threads than there are cores: those that wait sleep. Read when the kernels are imported.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import gatherscatter as gs
import pytest
from gatherscatter.backends import kernels
from hypothesis import settings

pytest.register_assert_rewrite("assertions")

with contextlib.suppress(importlib.metadata.PackageNotFoundError):
    # Read when JAX is imported, which takes long: only by files that need it.
    os.environ.setdefault("JAX_ENABLE_X64", "1")
    # XLA makes small programs in a third of the time. With XLA_FLAGS= they are those of users.
    if importlib.metadata.version("jax").split(".")[:2] in (["0", "8"], ["0", "9"], ["0", "10"]):
        # a release that lacks a flag aborts
        os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false")

# The same cases in every run; no deadline, since a first call may be slow on a busy machine.
settings.register_profile("default", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("thorough", parent=settings.get_profile("default"), max_examples=200)
settings.load_profile("default")

ABSENT = pytest.StashKey[Counter]()
RESIDENT = pytest.StashKey[int]()
LIBC = ctypes.CDLL(None) if os.name == "posix" else None
PEERS = Path(__file__).with_name("peers")
OPTIONAL = ("array_api_strict", "cupy", "dask", "jax", "onnx", "pandas", "scipy", "torch", "xarray")


def pytest_configure(config):
    config.stash[ABSENT] = Counter()


def pytest_ignore_collect(collection_path, config):
    """Import no other system that is not asked for, nor one that is not installed."""
    if PEERS not in collection_path.parents or not collection_path.match("test_*.py"):
        return None
    chosen = config.getoption("markexpr")
    if chosen and ("peers" not in chosen or "not peers" in chosen):
        return True
    package = collection_path.stem.removeprefix("test_").partition("_peer")[0]
    if importlib.util.find_spec(package) is None:
        config.stash[ABSENT][f"{package} is not installed"] += 1
        return True
    return None


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Collect nothing from a file that imports an array library that is not installed."""
    report = yield
    missing = re.search(r"No module named '(\w+)", str(report.longrepr)) if report.failed else None
    if missing and missing[1] in OPTIONAL and importlib.util.find_spec(missing[1]) is None:
        report.outcome, report.longrepr, report.result = "passed", None, []
        collector.config.stash[ABSENT][f"{missing[1]} is not installed"] += 1
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item):
    if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
        item.add_marker("drawn")


@pytest.hookimpl(trylast=True)  # what -m and -k leave
def pytest_collection_modifyitems(config, items):
    """Deselect what this machine lacks something for, and remember why."""
    reasons = [next((m.args[0] for m in item.iter_markers("absent") if not m.kwargs["when"]), None) for item in items]
    config.stash[ABSENT].update(reason for reason in reasons if reason)
    config.hook.pytest_deselected(items=[item for item, reason in zip(items, reasons, strict=True) if reason])
    items[:] = [item for item, reason in zip(items, reasons, strict=True) if not reason]


def pytest_collection_finish():
    """Spare what was imported and collected, millions of objects, to the collections of garbage that tests ask for."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session):
    # pytest-xdist: what a worker says to the process that prints the summary.
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["absent"] = dict(session.config.stash[ABSENT])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    absent = getattr(node, "workeroutput", {}).get("absent", {})  # no output: the worker crashed
    node.config.stash[ABSENT] |= Counter(absent)  # each worker collects all tests


def pytest_terminal_summary(terminalreporter, config):
    found = config.stash[ABSENT]
    if found:
        why = "; ".join(f"{n} as {reason}" for reason, n in found.items())
        terminalreporter.write_line(f"not run here: {found.total()} tests or files, {why}")


@pytest.fixture(params=[1, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 3)), 8])
def forced_threads(request):
    """Cut small work for this many threads as large work is cut; 1 is the plain serial call."""
    with kernels.forced(request.param):
        yield request.param


# Hooks and not fixtures, which take longer than many tests.


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    """Of each graph of Dask arrays that a test computes, the layers depend on those that their tasks use."""
    base = sys.modules.get("dask.base")  # which a test before may have imported
    if base is None or hasattr(base, "is_watched"):
        return
    name = "collections_to_expr" if hasattr(base, "collections_to_expr") else "collections_to_dsk"  # older Dask
    convert, base.is_watched = getattr(base, name), True

    def checked(collections, *args, **kwargs):
        for one in collections:
            if hasattr(graph := one.__dask_graph__(), "validate"):
                graph.validate()
        return convert(collections, *args, **kwargs)

    setattr(base, name, checked)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown():
    try:
        return (yield)
    finally:
        gs.set_num_threads(None)


@pytest.fixture
def dask_in_this_thread():
    import dask

    with dask.config.set(scheduler="synchronous"):
        yield


def resident():
    """The bytes of memory that this process has, on Linux; elsewhere more at each call."""
    with contextlib.suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE
    return time.monotonic_ns()


@pytest.fixture(autouse=True, scope="module")
def _little_that_is_compiled_is_kept(request):
    """JAX keeps every program that it compiles, and glibc the memory of those that it let go: gibibytes."""
    before = request.config.stash.setdefault(RESIDENT, resident())
    yield
    has_grown = "jax" in sys.modules and resident() - before > 1 << 29  # what follows takes as long as many tests
    if has_grown:
        sys.modules["jax"].clear_caches()
        gc.unfreeze()
    gc.collect()
    gc.freeze()  # what stays is spared to the collections that tests ask for
    if has_grown:
        if hasattr(LIBC, "malloc_trim"):
            LIBC.malloc_trim(0)
        request.config.stash[RESIDENT] = resident()
