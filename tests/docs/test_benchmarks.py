"""The scripts of benchmarks/ run, on a fraction of their sizes, and print their tables."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SCRIPTS = {
    "growth": ["--largest", "1e3", "--crowd", "1e3", "--rounds", "1"],
    "indexing": ["--quick", "--rounds", "1"],
    "jobs": ["--quick", "--rounds", "1", "group-total", "csr-sum", "histogram", "fixed-graph", "jax"],
    "prepared": ["--quick", "--rounds", "1"],
    "recipes": ["--quick", "--rounds", "1"],
    "threads": ["--rounds", "1", "--threads", "2", "W3"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_run(name, tmp_path):
    write = [] if name == "recipes" else ["--write", str(tmp_path)]
    command = [sys.executable, str(BENCHMARKS / f"{name}.py"), *SCRIPTS[name], *write]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n| ") > (1 if name == "threads" else 5)
    if write:
        assert done.stdout.rstrip("\n").endswith((tmp_path / f"{name}.md").read_text().rstrip("\n"))
