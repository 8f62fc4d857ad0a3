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

CITATION = Path(__file__).parents[1] / "CITATION.cff"
MODULES = sorted(module.name for module in pkgutil.walk_packages(gs.__path__, "gatherscatter."))
if importlib.util.find_spec("cupy") is None:  # which is no dependency of the tests
    MODULES.remove("gatherscatter.backends.cupy")


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_run(name):
    failures, _ = doctest.testmod(importlib.import_module(name))
    assert failures == 0


@pytest.mark.parametrize("name", [name for name in gs.__all__ if inspect.isfunction(getattr(gs, name))])
def test_every_public_function_has_an_example(name):
    document = getattr(gs, name).__doc__
    assert ">>>" in document
    for section in ("Parameters", "Returns"):
        assert section in document or name in ("get_num_threads", "set_num_threads")


def test_stubs_fit_the_modules(tmp_path):
    allowed = tmp_path / "allowed"
    allowed.write_text(r"gatherscatter\._kernels\..*\.__(test__|pyx_capi__)" + "\n")
    command = [
        sys.executable,
        "-m",
        "mypy.stubtest",
        "gatherscatter._kernels.gather",
        "gatherscatter._kernels.scatter",
        "gatherscatter._kernels.threads",
        *(f"gatherscatter.{name}" for name in ("ops", "onnx", "openvino", "tensorflow")),
    ]
    run = subprocess.run(
        [*command, "--allowlist", str(allowed), "--ignore-unused-allowlist"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_config():
    config = gs.show_config("dicts")
    assert config["gatherscatter"] == gs.__version__
    assert config["openmp"] in (kernel.openmp_version, "none (serial build)")
    assert config["threads"] == gs.get_num_threads()
    assert "array-api-strict" in config["array libraries"]


def test_config_is_printed(capsys):
    assert gs.show_config() is None
    printed = capsys.readouterr().out
    assert f"gatherscatter    {gs.__version__}\n" in printed
    assert "array-api-strict" in printed


def test_version_is_the_distributions():
    from importlib.metadata import version

    assert version("gatherscatter") == gs.__version__


@pytest.mark.skipif(not CITATION.exists(), reason="not a checkout of the repository")
def test_version_is_that_to_cite():
    cited = re.search(r"^version: (.+)$", CITATION.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert cited[1] == gs.__version__
