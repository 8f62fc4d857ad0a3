"""The configuration of this installation, for bug reports."""

import os
from typing import Any, Literal, overload

import numpy as np

from gatherscatter import machine, memory, threads
from gatherscatter._kernels import common as _kernel
from gatherscatter._kernels import uses_avx2
from gatherscatter._version import __version__

__all__ = ["show_config"]

# Distributions whose arrays the functions take. Looked up, never imported.
_ARRAY_LIBRARIES = ("torch", "jax", "cupy", "cupy-cuda12x", "cupy-cuda13x", "dask", "array-api-strict")

# Environment variables that change how the kernels run.
_VARIABLES = (
    "GATHERSCATTER_AVX2",
    "GATHERSCATTER_KEEP_MIB",
    "GATHERSCATTER_ROUTES",
    "GATHERSCATTER_STREAM",
    "OMP_NUM_THREADS",
    "OMP_THREAD_LIMIT",
    "OMP_DYNAMIC",
    "OMP_PROC_BIND",
    "OMP_PLACES",
    "OMP_WAIT_POLICY",
    "GOMP_CPU_AFFINITY",
    "KMP_AFFINITY",
)


@overload
def show_config(mode: Literal["stdout"] = "stdout") -> None: ...
@overload
def show_config(mode: Literal["dicts"]) -> dict[str, Any]: ...
def show_config(mode: str = "stdout") -> dict[str, Any] | None:
    """Print or return the version, the build of the kernels, and the installed array libraries.

    Parameters
    ----------
    mode : {"stdout", "dicts"}, default "stdout"
        Whether to print a table or to return the same information as a dictionary.

    Returns
    -------
    dict or None
        With ``mode="dicts"``: keys "gatherscatter", "python", "cpu", "numpy", "compiler", "kernels",
        "openmp", "threads", "machine", "kept memory", "environment" and "array libraries".

    Raises
    ------
    ValueError
        If `mode` is another value.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> gs.show_config("dicts")["gatherscatter"] == gs.__version__
    True
    """
    if mode not in ("stdout", "dicts"):
        raise ValueError(f"show_config: mode={mode!r} is not one of 'stdout', 'dicts'")
    import platform  # as in the functions below: these modules take longer to import than this package
    import textwrap

    libraries = _installed()
    config: dict[str, Any] = {
        "gatherscatter": __version__,
        "python": f"{platform.python_version()}, {platform.platform()}",
        "cpu": _cpu(),
        "numpy": np.__version__,
        "compiler": _kernel.compiler,
        "kernels": "AVX2" if uses_avx2 else "baseline",
        "openmp": _kernel.openmp_version or "none (serial build)",
        "threads": threads.get_num_threads(),
        "machine": machine.get_machine(),
        "kept memory": f"{memory.limit / 2**20:.6g} MiB at most",
        "environment": {name: os.environ[name] for name in _VARIABLES if name in os.environ},
        "array libraries": libraries,
    }
    if mode == "dicts":
        return config
    config["machine"] = ", ".join(f"{name}={number:.12g}" for name, number in config["machine"].items())
    config["environment"] = ", ".join(f"{name}={value}" for name, value in config["environment"].items()) or "none set"
    config["array libraries"] = ", ".join(f"{name} {version}" for name, version in libraries.items()) or "none"
    for name, value in config.items():
        print(textwrap.fill(f"{name:16} {value}", 100, subsequent_indent=" " * 17, break_on_hyphens=False))
    return None


def _cpu() -> str:
    """The CPU's name, the number of CPUs, and the SIMD extensions that NumPy found."""
    import platform

    name = platform.processor() or platform.machine()
    try:  # on Linux
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
        name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), name)
    except OSError:
        pass
    simd = np.show_config(mode="dicts") or {}
    found = simd.get("SIMD Extensions", {})
    return f"{name}, {os.cpu_count()} CPUs, {' '.join([*found.get('baseline', []), *found.get('found', [])])}"


def _installed() -> dict[str, str]:
    from importlib import metadata

    found = {}
    for name in _ARRAY_LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
