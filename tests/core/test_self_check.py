"""`python -m gatherscatter`, whose output people paste into bug reports."""

import json
import os
import subprocess
import sys

import gatherscatter as gs
import numpy as np
import pytest
from constants import AXIS, GATHER_MODES, REDUCTIONS, SCATTER_MODES
from gatherscatter import __main__ as command
from gatherscatter import core, gathers, scatters, self_check, threads
from gatherscatter._kernels import common as kernel
from gatherscatter._kernels import scatter as kernels
from gatherscatter.backends import numpy as numpy_backend


@pytest.fixture
def numpy_alone(monkeypatch):
    """The other libraries take seconds."""
    monkeypatch.setattr(self_check, "_LIBRARIES", {})


@pytest.fixture
def few_calls(monkeypatch):
    """And so do all combinations."""
    calls = self_check.calls
    monkeypatch.setattr(self_check, "calls", lambda few: calls(True))


@pytest.mark.parametrize("few", [True, False])
def test_every_function_mode_and_reduction_is_called(few):
    met = set()
    for call in self_check.calls(few):
        options = call.options
        met |= {(call.function, options["mode"]), (call.function, options.get("reduction")), call.arrays[0].dtype.name}
    for function in ("gather", "gather_nd", "gather_elements"):
        assert met >= {(function, mode) for mode in GATHER_MODES}
    for function in ("scatter", "scatter_nd", "scatter_elements"):
        assert met >= {(function, mode) for mode in SCATTER_MODES}
        assert met >= {(function, reduction) for reduction in REDUCTIONS}
    assert met >= {"bool", "float32"}


def test_the_work_is_the_same_in_every_run():
    assert [str(call) for call in self_check.calls(few=True)] == [str(call) for call in self_check.calls(few=True)]


def test_modes_meet_indices_outside():
    for mode in ("clip", "wrap", "fill"):
        calls = [call for call in self_check.calls(few=False) if call.options["mode"] == mode]
        assert any(call.arrays[1].max() >= max(call.arrays[0].shape) for call in calls)


def test_a_broken_kernel_is_found(monkeypatch, capsys, numpy_alone, few_calls):
    whole = kernels.scatter

    def broken(kind, data, indices, updates, *rest):
        return whole(kind, data, indices, updates if kind == AXIS else np.roll(updates, 1), *rest)

    monkeypatch.setattr(kernels, "scatter", broken)
    for module in (scatters, numpy_backend):  # small calls, on another way to the same kernel
        monkeypatch.setattr(module, "try_scatter", lambda *arguments: None)
    assert command.main([]) == 1
    printed = capsys.readouterr().out.splitlines()
    _, _, failed = printed[-1].partition(" checks failed: ")
    assert {"scatter_nd", "scatter_elements"} <= set(failed.split(", "))
    assert "scatter" not in failed.split(", ")
    first = next(i for i, line in enumerate(printed) if line.startswith("first failure, scatter_nd on NumPy: "))
    # What it prints is a call that shows the fault.
    names = {"gs": gs, "np": np}
    shown = eval(printed[first + 1], names)
    monkeypatch.undo()
    assert not np.array_equal(shown, eval(printed[first + 1], names))


def test_a_kernel_that_raises_is_found(monkeypatch, capsys, numpy_alone, few_calls):
    def broken(*arguments, **options):
        raise RuntimeError("planted\nhere")

    monkeypatch.setattr(gathers, "gather_nd", broken)
    assert command.main([]) == 1
    printed = capsys.readouterr().out
    assert "raised RuntimeError: planted here" in printed
    assert "gather_nd" in printed.splitlines()[-1]


def test_a_missing_bounds_check_is_found(monkeypatch, numpy_alone):
    whole = core.gather

    def clipping(op, data, indices, axis, batch_dims=0, mode="raise", *rest):
        if op.name == "gather" and mode == "raise":
            mode = "clip"
        return whole(op, data, indices, axis, batch_dims, mode, *rest)

    monkeypatch.setattr(core, "gather", clipping)
    monkeypatch.setattr(gathers, "try_gather", lambda *arguments: None)
    outcome = self_check.run(lambda line: None, lambda checks, name: checks)
    assert {failure.function for failure in outcome.failures} == {"gather"}
    assert "did not raise IndexError" in outcome.failures[0].what


def test_a_broken_installation_is_reported(monkeypatch, capsys, few_calls):
    def make(module):
        raise ImportError("libfoo.so: cannot open shared object file")
        yield

    monkeypatch.setattr(self_check, "_LIBRARIES", {"array_api_strict": make})
    assert command.main([]) == 1
    printed = capsys.readouterr().out
    assert "libfoo.so" in printed
    assert printed.splitlines()[-1].endswith("checks failed: import array_api_strict")


@pytest.mark.parametrize(
    ("version", "n_threads", "name"),
    [(201511, 4, "NumPy, 4 threads"), (201511, 1, "NumPy, 2 threads"), (0, 4, "NumPy, 1 thread, work cut for 2")],
)
def test_a_serial_build_reports_one_thread(monkeypatch, numpy_alone, few_calls, version, n_threads, name):
    monkeypatch.setattr(kernel, "openmp_version", version)
    monkeypatch.setattr(threads, "limit", n_threads)
    if version:  # else the function says 1
        monkeypatch.setattr(threads, "get_num_threads", lambda: n_threads)
    assert [part.name for part in self_check.parts() if "thread" in part.name] == [name]


def test_json(capsys, numpy_alone):
    assert command.main(["--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["configuration"]["gatherscatter"] == gs.__version__
    assert found["checks"] > 1000
    assert found["failures"] == []
    assert found["verdict"].startswith("all ")


def test_the_configuration_is_that_of_show_config():
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "GATHERSCATTER_KEEP_MIB": "7"}

    def printed(*arguments):
        command = [sys.executable, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout

    text = printed("-m", "gatherscatter", "--no-check")
    assert text == printed("-c", "import gatherscatter as gs; gs.show_config()")
    assert "GATHERSCATTER_KEEP_MIB=7, OMP_NUM_THREADS=2" in text
    assert "self-check" not in text


@pytest.mark.parametrize("unbuffered", ["1", ""])
def test_a_reader_that_is_gone_is_no_error(unbuffered):
    """As in `python -m gatherscatter --no-check | head -1`."""
    reading, writing = os.pipe()
    os.close(reading)
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    command = [sys.executable, "-m", "gatherscatter", "--no-check"]
    try:
        run = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False, env=environment)
    finally:
        os.close(writing)
    assert (run.returncode, run.stderr) == (1, "")


def test_no_bar_where_nobody_looks(capsys):
    assert command._bar([1, 2], "name") == [1, 2]
