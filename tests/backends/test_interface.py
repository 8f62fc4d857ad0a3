"""What all backends have in common: the functions that dispatch calls, and their signatures."""

import ast
import inspect
from pathlib import Path

from gatherscatter.backends import array_api
from gatherscatter.backends import dask as dask_backend
from gatherscatter.backends import jax as jax_backend
from gatherscatter.backends import numpy as numpy_backend
from gatherscatter.backends import torch as torch_backend


def test_backends_have_the_same_functions_and_signatures():
    def functions(backend):
        return {
            name: [(p.name, p.kind, p.default) for p in inspect.signature(value).parameters.values()]
            for name, value in vars(backend).items()
            if inspect.isfunction(value) and value.__module__ == backend.__name__ and not name.startswith("_")
        }

    optional = {"try_gather", "try_scatter"}
    expected = functions(numpy_backend)
    assert set(expected) == {"owns", "as_array", "same_library", "gather", "scatter"}
    for backend in (array_api, dask_backend, jax_backend, torch_backend):
        found = functions(backend)
        assert {name: found[name] for name in set(found) - optional} == expected
    # CuPy can't be imported without CUDA: its functions are read.
    source = Path(array_api.__file__).with_name("cupy.py").read_text(encoding="utf-8")
    public = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name[0] != "_"]
    assert {f.name: [a.arg for a in f.args.args] for f in public} == {
        name: [parameter[0] for parameter in parameters] for name, parameters in expected.items()
    }
