"""The package besides its functions: docstrings whose examples run, stubs that match, the configuration."""

import doctest
import importlib.util
import inspect
import os
import pkgutil
import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import gatherscatter as gs
import pytest
from gatherscatter import _kernels
from gatherscatter._kernels import common as kernel
from libraries import needs
from packaging.requirements import Requirement
from pairwise import in_turn

ROOT = Path(__file__).parents[2]
CITATION = ROOT / "CITATION.cff"
CHANGELOG = ROOT / "CHANGELOG.md"
PINS = ROOT / "constraints" / "cpu.txt"
# The modules that import more than NumPy.
IMPORTS = {
    "gatherscatter.onnx": "onnx",
    "gatherscatter.torch_scatter": "torch",
    "gatherscatter.integrations.torch_geometric": "torch_geometric",
} | {f"gatherscatter.backends.{name}": name for name in ("torch", "jax", "cupy", "dask")}


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
    "are_deterministic_algorithms_enabled", "use_deterministic_algorithms", "get_machine", "set_machine",
)  # fmt: skip


@in_turn("name", [name for name in gs.__all__ if inspect.isfunction(getattr(gs, name))])
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


@pytest.mark.skipif(not (Path(_kernels.__path__[-1]) / "baseline").is_dir(), reason="one set of kernels")
def test_modules_without_avx2():
    """GATHERSCATTER_AVX2=0 takes the modules for any CPU."""
    code = "import gatherscatter as gs; from gatherscatter._kernels import gather, scatter; "
    code += "print(gs.show_config('dicts')['kernels'], *['baseline' in m.__file__ for m in (gather, scatter)])"
    environment = os.environ | {"GATHERSCATTER_AVX2": "0"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    assert run.stdout.split() == ["baseline", "True", "True"]


def test_config_is_printed(capsys):
    assert gs.show_config() is None
    printed = capsys.readouterr().out
    assert f"gatherscatter    {gs.__version__}\n" in printed
    assert "array-api-strict" in printed


def test_version_is_the_distributions():
    from importlib.metadata import version

    assert version("gatherscatter") == gs.__version__


@needs(CITATION.exists() and CHANGELOG.exists(), "CITATION.cff or CHANGELOG.md is not here")
def test_version_is_that_to_cite_and_has_its_changes():
    cited = dict(re.findall(r"^(version|date-released): (.+)$", CITATION.read_text(encoding="utf-8"), re.MULTILINE))
    assert cited["version"] == gs.__version__
    assert f"\n## [{gs.__version__}] - {cited['date-released']}\n" in CHANGELOG.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "module", [gs, gs.ndimage, gs.onnx, gs.openvino, gs.tensorflow], ids=lambda module: module.__name__
)
def test_tab_completion_shows_what_is_public(module):
    assert dir(module) == sorted(module.__all__)
    for name in module.__all__:
        getattr(module, name)


def test_modules_can_be_imported_by_name():
    """Those that `dir` leaves out too."""
    program = "import gatherscatter as gs, gatherscatter.plan as plan; assert gs.plan is plan"
    subprocess.run([sys.executable, "-c", program], check=True)


@needs(PINS.exists(), "the constraints file is not here")
def test_requirements_have_lower_bounds_alone():
    """What a user installs is not held to a version; what the checks install is, within these bounds."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    wanted = [one for one in map(Requirement, lines) if one.name != "gatherscatter"]
    assert [str(one) for one in wanted if [part.operator for part in one.specifier] != [">="]] == []
    pins = [line for line in PINS.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    for pin in map(Requirement, pins):
        (part,) = pin.specifier
        assert part.operator == "=="
        assert all(one.specifier.contains(part.version) for one in wanted if one.name == pin.name)
        assert pin.name in {one.name for one in wanted}
