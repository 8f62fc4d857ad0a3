"""Results of a type checker: for correct uses, for incorrect uses, and for the values of options."""

import inspect
import os
import subprocess
import sys
import typing
from pathlib import Path

import gatherscatter as gs
import pytest
from constants import GATHER_MODES, REDUCTIONS, SCATTER_MODES
from gatherscatter import _typing
from gatherscatter import ndimage as gnd
from gatherscatter import onnx as gonnx
from gatherscatter import openvino as gov
from gatherscatter import tensorflow as gtf
from gatherscatter.onnx import versions
from gatherscatter.openvino import scatters
from gatherscatter.openvino import segments as bags
from gatherscatter.segments import rules
from gatherscatter.segments.aggregations import AGGREGATIONS
from gatherscatter.tensorflow import functions as tensorflow_functions

USES = Path(__file__).parents[1] / "typing"
MODULES = (gs, gnd, gonnx, gov, gtf)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The output of mypy for both files, in one run, because it spends most of its time on the array libraries."""
    where = tmp_path_factory.mktemp("types")
    path = [USES / "stubs"]
    package = Path(gs.__file__).parent
    if package.parent.name not in ("site-packages", "dist-packages"):  # an editable install, which mypy does not see
        path.append(package.parent)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-warn-return-any", "--config-file", os.devnull]
    run = subprocess.run(
        [*command, "--no-error-summary", "--hide-error-context", USES / "good.py", USES / "bad.py"],
        capture_output=True,
        text=True,
        cwd=where,
        env={**os.environ, "MYPYPATH": os.pathsep.join(map(str, path))},
    )
    assert run.returncode in (0, 1), run.stdout + run.stderr
    return run.stdout.splitlines()


@pytest.mark.types
@pytest.mark.parametrize("name", ["good.py", "bad.py"])
def test_uses(report, name):
    """Each line of bad.py is the error that its comment states; a line without an error is an unused `type: ignore`."""
    assert [line for line in report if name in line and ": error: " in line] == []


@pytest.mark.types
def test_nothing_else_is_wrong(report):
    assert [line for line in report if ": error: " in line] == []


@pytest.mark.types
def test_stubs_fit_the_modules(tmp_path):
    modules = (
        "counting",
        "gather_scatters",
        "gathers",
        "prepared.indices",
        "prepared.prepare",
        "scatters",
        "segments.functions",
        "segments.scans",
        "segments.statistics",
    )
    run = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", *(f"gatherscatter.{name}" for name in modules)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_every_function_is_used():
    good = (USES / "good.py").read_text(encoding="utf-8")
    for module in MODULES:
        prefix = "gs." if module is gs else f"gs.{module.__name__.rpartition('.')[2]}."
        for name in module.__all__:
            if inspect.isfunction(getattr(module, name)):
                assert f"{prefix}{name}(" in good, prefix + name


def test_names_of_options_are_those_that_the_functions_take():
    names = typing.get_args
    assert names(_typing.GatherMode) == GATHER_MODES
    assert names(_typing.ScatterMode) == SCATTER_MODES
    assert names(_typing.Reduction) == REDUCTIONS
    assert names(_typing.SegmentMode) == rules.MODES
    assert names(_typing.SegmentReduction) == tuple(AGGREGATIONS)
    assert names(_typing.ONNXReduction) == tuple(versions.REDUCTIONS)
    assert names(_typing.OpenVINONDReduction) == tuple(scatters.ND_REDUCTIONS)
    assert names(_typing.OpenVINOElementsReduction) == tuple(scatters.ELEMENTS_REDUCTIONS)
    assert names(_typing.OpenVINOBagReduction) == bags.BAG_REDUCTIONS
    assert names(_typing.OpenVINOFillMode) == bags.FILL_MODES
    assert names(_typing.TensorFlowPolicy) == tuple(tensorflow_functions.POLICIES)


def test_a_signature_is_readable():
    assert str(inspect.signature(gs.gather_nd)) == (
        "(data: Any, indices: Any, *, batch_dims: int | typing.SupportsIndex = 0, mode: str = 'raise', "
        "fill_value: Any = 0, wrap_negative_indices: bool | numpy.bool = True, out: Any = None) -> Any"
    )
