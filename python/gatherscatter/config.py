"""What this installation is made of."""

import importlib.metadata
import platform
from typing import Any, Literal, overload

import numpy as np

from gatherscatter import memory, threads
from gatherscatter._kernels import threads as _kernel
from gatherscatter._version import __version__

__all__ = ["show_config"]

# Distributions whose arrays the functions take. Looked up, never imported.
_ARRAY_LIBRARIES = ("torch", "jax", "cupy", "cupy-cuda12x", "cupy-cuda13x", "dask", "array-api-strict")


@overload
def show_config(mode: Literal["stdout"] = "stdout") -> None: ...
@overload
def show_config(mode: Literal["dicts"]) -> dict[str, Any]: ...
def show_config(mode: str = "stdout") -> dict[str, Any] | None:
    """Print or return the version, how the kernels were built, and the array libraries that are installed.

    Parameters
    ----------
    mode : {"stdout", "dicts"}, default "stdout"
        Print a table, or return the same as a dictionary.

    Returns
    -------
    dict or None
        With ``mode="dicts"``: keys "gatherscatter", "python", "numpy", "compiler", "openmp", "threads",
        "kept memory" and "array libraries".

    Raises
    ------
    ValueError
        If `mode` is another.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> gs.show_config("dicts")["gatherscatter"] == gs.__version__
    True
    """
    if mode not in ("stdout", "dicts"):
        raise ValueError(f"show_config: mode={mode!r} is not one of 'stdout', 'dicts'")
    libraries = _installed()
    config: dict[str, Any] = {
        "gatherscatter": __version__,
        "python": f"{platform.python_version()}, {platform.platform()}",
        "numpy": np.__version__,
        "compiler": _kernel.compiler,
        "openmp": _kernel.openmp_version or "none (serial build)",
        "threads": threads.get_num_threads(),
        "kept memory": f"{memory.limit} MiB at most",
        "array libraries": libraries,
    }
    if mode == "dicts":
        return config
    config["array libraries"] = ", ".join(f"{name} {version}" for name, version in libraries.items()) or "none"
    for name, value in config.items():
        print(f"{name:16} {value}")
    return None


def _installed() -> dict[str, str]:
    found = {}
    for name in _ARRAY_LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
