"""The array libraries that the suite runs on: how arrays are converted, and what each library lacks.

`python tests/libraries.py` writes docs/backends-table.md from the same declarations that make the suite's strict
expected failures.
"""

import contextlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import ml_dtypes
import numpy as np
import pytest
from constants import DTYPES, GATHERS, REDUCTIONS, SCATTERS, SEGMENT_REDUCTIONS, reduces

TABLE = Path(__file__).parents[1] / "docs" / "backends-table.md"


@dataclass(frozen=True)
class Library:
    name: str
    package: str  # what to import
    asarray: Callable[[np.ndarray], Any]
    asnumpy: Callable[[Any], np.ndarray]
    device: str = "cpu"
    has_device: Callable[[], bool] = lambda: True
    way: Callable[[], Any] = contextlib.nullcontext  # entered around each call
    in_order: bool = True  # whether updates of one destination meet in order
    quotient_ulps: int = 0  # by how many units of the last place its quotients of float32 may be off

    def __str__(self):
        return self.name

    @property
    def installed(self):
        return importlib.util.find_spec(self.package) is not None


def to_torch(device):
    def convert(array):
        import torch

        if array.dtype == ml_dtypes.bfloat16:
            return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16).to(device)
        return torch.from_numpy(array).to(device)

    return convert


def from_torch(tensor):
    import torch

    tensor = tensor.detach().cpu()
    if tensor.dtype is torch.bfloat16:
        return tensor.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def torch_has_cuda():
    import torch

    return torch.cuda.is_available()


def to_jax(platform):
    def convert(array):
        import jax

        return jax.device_put(array, jax.devices(platform)[0])

    return convert


def jax_has_cuda():
    import jax

    with contextlib.suppress(RuntimeError):
        return bool(jax.devices("cuda"))
    return False


def to_cupy(array):
    import cupy

    return cupy.asarray(array)


def from_cupy(array):
    return array.get()


def cupy_has_device():
    import cupy

    with contextlib.suppress(cupy.cuda.runtime.CUDARuntimeError):
        return cupy.cuda.runtime.getDeviceCount() > 0
    return False


def to_strict(array):
    import array_api_strict

    return array_api_strict.asarray(array)


def to_dask(array):
    import dask.array

    return dask.array.from_array(array, chunks=3)


def from_dask(array):
    return np.asarray(array.compute(scheduler="synchronous"))


@contextlib.contextmanager
def by_primitives():
    """PyTorch's primitives, as on a GPU, in place of the kernels."""
    from gatherscatter.backends.torch import BACKEND, memory

    with (
        mock.patch.object(memory, "as_numpy", return_value=None),
        mock.patch.object(type(BACKEND), "try_gather", return_value=None),
        mock.patch.object(type(BACKEND), "try_scatter", return_value=None),
    ):
        yield


@contextlib.contextmanager
def by_dispatcher():
    """The operators of PyTorch's dispatcher, as in a trace."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Watching(TorchDispatchMode):
        def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
            return operator(*args, **(kwargs or {}))

    with Watching():
        yield


@contextlib.contextmanager
def by_xla():
    """JAX's own operations, as on a GPU and in compiled programs, in place of the kernels."""
    from gatherscatter.backends.jax import eager

    with mock.patch.object(eager, "share", return_value=None):
        yield


LIBRARIES = (
    Library("NumPy", "numpy", lambda array: array, lambda array: array),
    Library("PyTorch", "torch", to_torch("cpu"), from_torch),
    Library("PyTorch, primitives", "torch", to_torch("cpu"), from_torch, way=by_primitives, in_order=False),
    Library("PyTorch, dispatcher", "torch", to_torch("cpu"), from_torch, way=by_dispatcher),
    Library("PyTorch, CUDA", "torch", to_torch("cuda"), from_torch, "cuda", torch_has_cuda, in_order=False),
    Library("JAX", "jax", to_jax("cpu"), np.asarray),
    Library("JAX, XLA", "jax", to_jax("cpu"), np.asarray, way=by_xla),
    Library("JAX, CUDA", "jax", to_jax("cuda"), np.asarray, "cuda", jax_has_cuda, in_order=False, quotient_ulps=1),
    Library("CuPy", "cupy", to_cupy, from_cupy, "cuda", cupy_has_device, in_order=False),
    Library("Dask", "dask", to_dask, from_dask),
    Library("array-api-strict", "array_api_strict", to_strict, np.asarray),
)
# Lazy arrays refuse in compute() what others refuse at the call: tests/backends/test_dask*.py have their tests.
# Other ways of a library come after the checks of a call.
EAGER = tuple(library for library in LIBRARIES if library.package != "dask" and library.way is contextlib.nullcontext)


def needs(condition, reason):
    """A mark: unless the condition holds, the test is deselected, and the summary counts it with the reason."""
    return pytest.mark.absent(reason, when=bool(condition))


def on(library):
    """Marks for a test that runs on the library."""
    reason = why_not_here(library)
    marks = [needs(reason is None, reason)]
    return [pytest.mark.gpu, *marks] if library.device == "cuda" else marks


def on_each(libraries):
    """The libraries as parameters of a test."""
    return [pytest.param(library, marks=on(library), id=library.name) for library in libraries]


def on_devices(package):
    """The CPU and the CUDA device of a package as parameters of a test."""
    marks = next(on(library) for library in LIBRARIES if library.package == package and library.device == "cuda")
    return ["cpu", pytest.param("cuda", marks=marks)]


@cache
def why_not_here(library):
    """Why the suite cannot run on a library on this machine, or None."""
    if not library.installed:
        return f"{library.package} is not installed"
    return None if library.has_device() else f"{library.package} finds no CUDA device"


# What is missing: (library, function, reduction, dtype) → why. A library without the dtype cannot be asked.


def has_dtype(library, dtype):
    if library.package == "array_api_strict":
        return dtype not in ("float16", "bfloat16")
    return True


def cannot(library, function, reduction, dtype):
    """The reason why a backend lacks what other backends support, or None."""
    of_strict = library.package == "array_api_strict" and function != "segment_reduce"
    if of_strict and reduction == "mean" and dtype.startswith("complex"):
        return "the standard cannot make complex numbers from their parts"
    return None


def rounds_otherwise(library, reduction, dtype):
    """Whether a result may differ from the loop's in its last bits: sums in another order, fused products."""
    if reduction in ("add", "mul", "mean") and not library.in_order:
        return dtype.startswith(("float", "bfloat", "complex"))
    in_kernels = library.package in ("numpy", "torch", "dask") or library.name == "JAX"
    return reduction == "mul" and dtype.startswith("complex") and not in_kernels


def has_gradients(library):
    return library.package in ("torch", "jax")


def table():
    """Markdown: for each library and reduction the dtypes that it takes, and why not the others."""
    lines = [
        "# Supported dtypes of each backend",
        "",
        "These tables list the dtypes that each backend supports, for each function and reduction; `all` is bool,",
        "integers, floats and complex numbers. A dtype that [Semantics](semantics.md) allows and a backend lacks",
        "raises a `NotImplementedError`. `python tests/libraries.py` writes this page from the declarations of the",
        "test suite (`tests/backends/test_backends.py`), which compares every function, mode, reduction and dtype with",
        "a scalar loop and fails if a declaration is wrong.",
        "",
        "Results are bit for bit those of the scalar loop, with two exceptions:",
        "",
        "- Sums and products of floats on CUDA are computed in an unspecified order. So are those of PyTorch's",
        "  primitives, which the suite also runs on the CPU.",
        "- Complex products in XLA and in array-API namespaces round as those libraries do.",
        "",
    ]
    for functions, columns in ((GATHERS, {"gathers": "none"}), (SCATTERS, {name: name for name in REDUCTIONS})):
        lines += [
            f"## {', '.join(f'`{name}`' for name in functions)}",
            "",
            "| backend | " + " | ".join(columns) + " |",
            "|---|" + "---|" * len(columns),
        ]
        for library in LIBRARIES:
            cells = [_cell(library, functions, reduction) for reduction in columns.values()]
            lines.append(f"| {library.name} | " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join([*lines, *_segments(), ""])


def _segments():
    """The table of segments, whose reductions have a column for each set of dtypes."""
    columns = {}
    for reduction, dtypes in SEGMENT_REDUCTIONS.items():
        lacking = tuple(cannot(library, "segment_reduce", reduction, "complex64") for library in LIBRARIES)
        columns.setdefault((dtypes, lacking), []).append(reduction)
    lines = [
        "## Segments",
        "",
        "For `segment_reduce`, `segment_quantile`, `segment_argsort`, `segment_scan`, `segment_softmax` and",
        "`segment_log_softmax`. `tests/segments` compares each reduction and dtype with a loop over the segments, to",
        "rounding. Softmax, quantiles and the order take the dtypes of logsumexp, a scan those of its reduction. All",
        "reductions but any, all, count, argmax, argmin and nunique have gradients, where the last column says so; of",
        "scans, those of add, max and min. Sums in any order are in order [with the setting](determinism.md#on-a-gpu),",
        "but for JAX and scans.",
        "",
        "| backend | " + " | ".join(", ".join(names) for names in columns.values()) + " | float sums | gradients |",
        "|---|" + "---|" * (len(columns) + 2),
    ]
    for library in LIBRARIES:
        cells = [_cell(library, ("segment_reduce",), names[0], dtypes) for (dtypes, _), names in columns.items()]
        cells += ["in order" if library.in_order else "in any order", "yes" if has_gradients(library) else "no"]
        lines.append(f"| {library.name} | " + " | ".join(cells) + " |")
    return lines


def _cell(library, functions, reduction, dtypes=None):
    taken, refused = [], {}
    for dtype in dtypes or [one for one in DTYPES if reduces(reduction, one)]:
        if not has_dtype(library, dtype):
            continue
        reasons = {name: cannot(library, name, reduction, dtype) for name in functions}
        found = {reason for reason in reasons.values() if reason}
        if found:
            for reason in found:
                names = [name for name in functions if reasons[name] == reason]
                whose = "" if len(names) == len(functions) else f" ({', '.join(names)})"
                refused.setdefault(f"{reason}{whose}", []).append(dtype)
        if len(found) == 0 or None in reasons.values():
            taken.append(dtype)
    text = _shortened(taken)
    for reason, dtypes in refused.items():
        text += f"; not {', '.join(dtypes)}: {reason}"
    return text


def _shortened(dtypes):
    if len(dtypes) == len(DTYPES):
        return "all"
    text = ", ".join(dtypes)
    for names, short in (
        (DTYPES[1:9], "int8 … uint64"),
        (DTYPES[9:13], "float16, bfloat16, float32, float64"),
    ):
        text = text.replace(", ".join(names), short)
    return text


if __name__ == "__main__":
    TABLE.write_text(table(), encoding="utf-8")
