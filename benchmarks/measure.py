"""Shared code of the benchmarks: timing, a description of the machine and the versions, and the output files."""

import importlib.metadata
import json
import os
import platform
import subprocess
import textwrap
import time
from pathlib import Path

import gatherscatter as gs


def cpu():
    """The CPU's name, with its family and model: many have the name of their series only."""
    if not Path("/proc/cpuinfo").exists():
        return platform.processor()
    lines = (
        line.partition(":") for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n")[0].splitlines()
    )
    found = {name.strip(): value.strip() for name, _, value in lines}
    name = found.get("model name", platform.processor())
    return f"{name} (family {found['cpu family']}, model {found['model']})" if "cpu family" in found else name


def cpus():
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def thread_counts(most):
    """1, 2, 4 … and the most."""
    return [*(2**i for i in range(most.bit_length()) if 2**i < most), most]


def commit():
    """The commit of the clone that this script is in; none outside a clone."""
    command = ["git", "rev-parse", "--short=9", "HEAD"]
    found = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return [f"commit {found.stdout.strip()}"] if found.returncode == 0 else []


def about(packages, *more):
    """The versions of packages, by the names that they are installed under, and the machine."""
    versions = [f"{package} {importlib.metadata.version(package)}" for package in packages]
    return "; ".join([", ".join(versions), *commit(), f"Python {platform.python_version()}", cpu(), *more])


def seconds(call, repeat=1):
    """Seconds that each of so many calls took."""
    start = time.perf_counter()
    for _ in range(repeat):
        call()
    return (time.perf_counter() - start) / repeat


def enough(call, at_least):
    """How many calls last so many seconds."""
    repeat = 1
    while (taken := seconds(call, repeat) * repeat) < at_least:
        repeat = max(2 * repeat, int(repeat * at_least / max(taken, 1e-9)) + 1)
    return repeat


def at_each(counts, call, repeat=1):
    """Seconds of a call at each number of threads; afterwards the number is the default again."""
    taken = {}
    for count in counts:
        gs.set_num_threads(count)
        call()  # wakes the threads and refills the caches
        taken[count] = seconds(call, repeat)
    gs.set_num_threads(None)
    return taken


def copies(bandwidth):
    """The bandwidth of a copy, in words."""
    return f"a copy beyond the caches moves {bandwidth / 1e9:.1f} GB/s (read + write)"


def paragraph(text):
    """Markdown, in lines of the usual length."""
    return textwrap.fill(text, 118, break_long_words=False, break_on_hyphens=False)


def table(head, rows, left=1, numbers=None):
    """A Markdown table: `left` columns of text, then `numbers` right-aligned ones (default: all others), then text."""
    numbers = len(head) - left if numbers is None else numbers
    rule = "|".join(["---"] * left + ["--:"] * numbers + ["---"] * (len(head) - left - numbers))
    head, *rows = [f"| {' | '.join(cells)} |" for cells in [head, *rows]]
    return "\n".join([head, f"|{rule}|", *rows])


def show(text, folder, name, record=None):
    """Print the tables. With a folder, also write them to name.md, and the figures to name.json.

    The folder is that of a machine; the page docs/benchmarks/name.md has the tables of all machines.
    """
    print(text)
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
        if record:
            (folder / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
