"""What is shipped beside the functions: documentation that runs, stubs that fit, the configuration."""

import doctest
import importlib.util
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import gatherscatter as gs
import pytest
from gatherscatter._kernels import threads as kernel
from libraries import needs

CITATION = Path(__file__).parents[2] / "CITATION.cff"
# The modules that import more than NumPy.
IMPORTS = {"gatherscatter.onnx": "onnx"} | {
    f"gatherscatter.backends.{name}": name for name in ("torch", "jax", "cupy", "dask")
}


def modules():
    for module in pkgutil.walk_packages(gs.__path__, "gatherscatter.", onerror=lambda name: None):
        imported = next((IMPORTS[name] for name in IMPORTS if f"{module.name}.".startswith(f"{name}.")), "numpy")
        yield pytest.param(module.name, marks=needs(importlib.util.find_spec(imported), f"{imported} is not installed"))


@pytest.mark.parametrize("name", list(modules()))
def test_docstring_examples_run(name):
    failures, _ = doctest.testmod(importlib.import_module(name))
    assert failures == 0


# Functions that only set a value or only return it.
SETTINGS = (
    "get_num_threads", "set_num_threads", "empty_cache", "get_cache_limit", "set_cache_limit",
    "are_deterministic_algorithms_enabled", "use_deterministic_algorithms",
)  # fmt: skip


@pytest.mark.parametrize("name", [name for name in gs.__all__ if inspect.isfunction(getattr(gs, name))])
def test_every_public_function_has_an_example(name):
    document = getattr(gs, name).__doc__
    assert ">>>" in document
    for section in ("Parameters", "Returns"):
        assert section in document or name in SETTINGS


def test_config():
    config = gs.show_config("dicts")
    assert config["gatherscatter"] == gs.__version__
    assert config["openmp"] in (kernel.openmp_version, "none (serial build)")
    assert config["threads"] == gs.get_num_threads()
    assert "array-api-strict" in config["array libraries"]


def test_config_of_a_serial_build(monkeypatch):
    monkeypatch.setattr(kernel, "openmp_version", 0)
    gs.set_num_threads(4)
    config = gs.show_config("dicts")
    assert (config["openmp"], config["threads"]) == ("none (serial build)", 1)


def test_config_is_printed(capsys):
    assert gs.show_config() is None
    printed = capsys.readouterr().out
    assert f"gatherscatter    {gs.__version__}\n" in printed
    assert "array-api-strict" in printed


def test_version_is_the_distributions():
    from importlib.metadata import version

    assert version("gatherscatter") == gs.__version__


@needs(CITATION.exists(), "CITATION.cff is not here")
def test_version_is_that_to_cite():
    cited = re.search(r"^version: (.+)$", CITATION.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert cited[1] == gs.__version__


@pytest.mark.parametrize("module", [gs, gs.onnx, gs.openvino, gs.tensorflow], ids=lambda module: module.__name__)
def test_tab_completion_shows_what_is_public(module):
    assert dir(module) == sorted(module.__all__)
    for name in module.__all__:
        getattr(module, name)


def test_modules_can_be_imported_by_name():
    """Those that `dir` leaves out too."""
    program = "import gatherscatter as gs, gatherscatter.plan as plan; assert gs.plan is plan"
    subprocess.run([sys.executable, "-c", program], check=True)
