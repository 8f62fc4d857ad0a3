"""Which warnings fail a test, by filterwarnings in pyproject.toml: this package's, and others' of its code."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

SETTINGS = Path(__file__).parents[2] / "pyproject.toml"
CASES = """
import threading
import types

import gatherscatter as gs
import gatherscatter.threads
import numpy as np


def run_as(name, code, **names):
    module = types.ModuleType(name)
    vars(module).update(names)
    exec(code, vars(module))
    return module


def warning_of(name, stacklevel=1):
    code = f"import warnings\\ndef call(): warnings.warn('old', FutureWarning, stacklevel={stacklevel})"
    return run_as(name, code).call


def test_error_of_a_module_of_the_package():
    warning_of("gatherscatter.backends.example")()


def test_error_of_the_package():
    warning_of("gatherscatter")()


def test_error_as_the_package_calls_what_is_deprecated():
    run_as("gatherscatter.example", "call()", call=warning_of("torch.example", stacklevel=2))


def test_error_of_numpy_s_arithmetic_in_the_package():
    run_as("gatherscatter.example", "np.float32(3e38) * np.float32(3e38)", np=np)


def test_error_that_the_package_attributes_to_its_caller(monkeypatch):
    monkeypatch.setattr(gatherscatter.threads, "_forked", True)
    monkeypatch.setattr(gatherscatter.threads, "_kernel", types.SimpleNamespace(openmp_version="5"))
    gs.set_num_threads(2)


def test_error_in_a_thread():
    thread = threading.Thread(target=lambda: 1 / 0)
    thread.start()
    thread.join()


def test_error_that_nobody_catches():
    run_as("example", "class Broken:\\n    def __del__(self): raise ValueError\\nBroken()")


def test_nothing_of_another_library():
    warning_of("torch.jit.example")()


def test_nothing_as_a_test_calls_what_is_deprecated():
    warning_of("torch.jit.example", stacklevel=2)()


def test_nothing_inside_another_library_that_the_package_calls():
    run_as("gatherscatter.example", "call()", call=warning_of("jax.example"))


def test_nothing_of_a_library_whose_name_begins_alike():
    warning_of("gatherscatter_extra")()
"""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("warnings")
    (folder / "test_cases.py").write_text(CASES, encoding="utf-8")
    settings = ["-c", str(SETTINGS), "--rootdir", str(folder), "-p", "no:cacheprovider", "-p", "no:xdist"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *settings, "-rA", str(folder)], cwd=folder, capture_output=True, text=True
    )
    found = dict(reversed(pair) for pair in re.findall(r"^(PASSED|FAILED) \S*::test_(\w+)", run.stdout, re.MULTILINE))
    assert len(found) == CASES.count("\ndef test_"), run.stdout + run.stderr
    return found


@pytest.mark.parametrize("name", re.findall(r"\ndef test_(\w+)", CASES))
def test_outcome(outcomes, name):
    assert outcomes[name] == ("FAILED" if name.startswith("error") else "PASSED")
